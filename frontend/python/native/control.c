/* Conditions and loops whose functions are Python's, in the graph that is traced. */
#include "frontend/python/native/native.h"

void py_call_recorded(void *user, const vf_value *arguments, vf_value *results) {
  py_recorded *r = user;
  if (PyErr_Occurred()) return;
  uint64_t before = py_scope_begin();
  PyObject *arrays = py_arrays_of_values(arguments, r->arguments, py_traced_into);
  PyObject *returned = arrays ? PyObject_CallObject(r->function, arrays) : NULL;
  vf_value *values = NULL;
  Py_ssize_t count = 0;
  if (returned && py_values(returned, &values, &count)) {
    if (count != r->results)
      PyErr_Format(PyExc_ValueError,
                   "a function of a condition or of a loop returns %zd array%s, where %zd %s needed; the "
                   "functions of a condition return equally many, and that of a loop its whole state",
                   count, count == 1 ? "" : "s", r->results, r->results == 1 ? "is" : "are");
    for (Py_ssize_t i = 0; i < count && i < r->results; i++) results[i] = values[i];
  }
  py_scope_end(before);
  PyMem_Free(values);
  Py_XDECREF(returned);
  Py_XDECREF(arrays);
}

/* The arrays that the builder has made, or the exception of a function, or the graph's error. */
static PyObject *finish(const vf_value *values, Py_ssize_t count) {
  vf_graph *g = py_traced_into->graph;
  py_place(g, (vf_value){0});
  if (PyErr_Occurred() || vf_graph_status(g)) return py_raise_graph(g);
  return py_arrays_of_values(values, count, py_traced_into);
}

PyObject *py_scan(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *body, *init, *xs, *result = NULL;
  int ys, reverse;
  long long length;
  vf_value *state = NULL, *slices = NULL;
  Py_ssize_t state_count, xs_count;
  if (!PyArg_ParseTuple(args, "OOOiLp", &body, &init, &xs, &ys, &length, &reverse)) return NULL;
  if (py_values(init, &state, &state_count) && py_values(xs, &slices, &xs_count)) {
    py_recorded r = {body, state_count + xs_count, state_count + ys};
    vf_value *values = py_new_values(r.results);
    if (values) {
      py_traced_into->loops = true;
      vf_scan(py_call_recorded, &r, (int)state_count, state, (int)xs_count, slices, ys, length, reverse,
              values, values + state_count);
      result = finish(values, r.results);
    }
    PyMem_Free(values);
  }
  PyMem_Free(state);
  PyMem_Free(slices);
  return result;
}

typedef struct pair {
  py_recorded first, second;
} pair;
static void call_first(void *user, const vf_value *arguments, vf_value *results) {
  py_call_recorded(&((pair *)user)->first, arguments, results);
}
static void call_second(void *user, const vf_value *arguments, vf_value *results) {
  py_call_recorded(&((pair *)user)->second, arguments, results);
}

PyObject *py_cond(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *predicate, *then, *otherwise, *list, *result = NULL;
  int results;
  vf_value *operands = NULL, *which = NULL;
  Py_ssize_t count, one;
  if (!PyArg_ParseTuple(args, "OOOOi", &predicate, &then, &otherwise, &list, &results)) return NULL;
  PyObject *single = PyTuple_Pack(1, predicate);
  if (single && py_values(single, &which, &one) && py_values(list, &operands, &count)) {
    pair p = {{then, count, results}, {otherwise, count, results}};
    vf_value *values = py_new_values(results);
    if (values) {
      vf_cond(which[0], (int)count, operands, call_first, call_second, &p, results, values);
      result = finish(values, results);
    }
    PyMem_Free(values);
  }
  Py_XDECREF(single);
  PyMem_Free(which);
  PyMem_Free(operands);
  return result;
}

PyObject *py_while_loop(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *condition, *body, *init, *result = NULL;
  long long trips;
  vf_value *state = NULL;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OOOL", &condition, &body, &init, &trips)) return NULL;
  if (py_values(init, &state, &count)) {
    pair p = {{condition, count, 1}, {body, count, count}};
    vf_value *values = py_new_values(count);
    if (values) {
      py_traced_into->loops = true;
      vf_while_loop(call_first, call_second, &p, (int)count, state, trips, values);
      result = finish(values, count);
    }
    PyMem_Free(values);
  }
  PyMem_Free(state);
  return result;
}

PyObject *py_checkpoint(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *function, *list, *result = NULL;
  int results;
  vf_value *operands = NULL;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OOi", &function, &list, &results)) return NULL;
  if (py_values(list, &operands, &count)) {
    py_recorded r = {function, count, results};
    vf_value *values = py_new_values(results);
    if (values) {
      vf_checkpoint(py_call_recorded, &r, (int)count, operands, results, values);
      result = finish(values, results);
    }
    PyMem_Free(values);
  }
  PyMem_Free(operands);
  return result;
}
