/* Derivatives, and functions that are mapped over an axis, in the graph that is traced. */
#include "frontend/python/native/native.h"

/* The arrays of values that a builder has made in the graph that is traced, or its error. */
static PyObject *made(vf_value *values, Py_ssize_t count) {
  vf_graph *g = py_traced_into->graph;
  py_place(g, (vf_value){0});
  return vf_graph_status(g) ? py_raise_graph(g) : py_arrays_of_values(values, count, py_traced_into);
}

PyObject *py_vjp(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *list, *given, *at, *result = NULL;
  vf_value *outputs = NULL, *cotangents = NULL, *inputs = NULL;
  Py_ssize_t output_count, cotangent_count, input_count;
  if (!PyArg_ParseTuple(args, "OOO", &list, &given, &at)) return NULL;
  bool good = py_values(list, &outputs, &output_count) && py_values(at, &inputs, &input_count);
  if (good && given != Py_None)
    good = py_values(given, &cotangents, &cotangent_count) &&
           (cotangent_count == output_count ||
            !PyErr_Format(PyExc_ValueError, "%zd cotangents for %zd outputs", cotangent_count, output_count));
  vf_value *gradients = good ? py_new_values(input_count) : NULL;
  if (gradients) {
    vf_vjp((int)output_count, outputs, cotangents, (int)input_count, inputs, gradients);
    result = made(gradients, input_count);
  }
  PyMem_Free(gradients);
  PyMem_Free(outputs);
  PyMem_Free(cotangents);
  PyMem_Free(inputs);
  return result;
}

PyObject *py_jvp(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *list, *at, *along, *result = NULL;
  vf_value *outputs = NULL, *inputs = NULL, *tangents = NULL;
  Py_ssize_t output_count, input_count, tangent_count;
  if (!PyArg_ParseTuple(args, "OOO", &list, &at, &along)) return NULL;
  bool good = py_values(list, &outputs, &output_count) && py_values(at, &inputs, &input_count) &&
              py_values(along, &tangents, &tangent_count) &&
              (tangent_count == input_count ||
               !PyErr_Format(PyExc_ValueError, "%zd tangents for %zd inputs", tangent_count, input_count));
  vf_value *varied = good ? py_new_values(output_count) : NULL;
  if (varied) {
    vf_jvp((int)output_count, outputs, (int)input_count, inputs, tangents, varied);
    result = made(varied, output_count);
  }
  PyMem_Free(varied);
  PyMem_Free(outputs);
  PyMem_Free(inputs);
  PyMem_Free(tangents);
  return result;
}

/* vmap(function, arguments, in_axes, results, out_axes, size, over) */

PyObject *py_vmap(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *function, *list, *in_axes, *out_axes, *result = NULL;
  int results;
  long long size;
  vf_value *arguments = NULL;
  Py_ssize_t count;
  const char *over;
  if (!PyArg_ParseTuple(args, "OOO!iO!Lz", &function, &list, &PyTuple_Type, &in_axes, &results, &PyTuple_Type,
                        &out_axes, &size, &over) ||
      !py_values(list, &arguments, &count))
    return NULL;
  py_recorded call = {function, count, results};
  int in[64], out[64];
  if (count > 64 || results > 64 || PyTuple_Size(in_axes) != count || PyTuple_Size(out_axes) != results) {
    PyMem_Free(arguments);
    return PyErr_Format(PyExc_ValueError, "vmap: as many axes as arguments and results, and at most 64");
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *axis = PyTuple_GetItem(in_axes, i);
    in[i] = axis == Py_None ? VF_NOT_MAPPED : (int)PyLong_AsLong(axis);
  }
  for (Py_ssize_t i = 0; i < results; i++) {
    PyObject *axis = PyTuple_GetItem(out_axes, i);
    out[i] = axis == Py_None ? VF_NOT_MAPPED : (int)PyLong_AsLong(axis);
  }
  vf_map map = {sizeof map, (int)count, results, in, out, size, over};
  vf_value *values = py_new_values(results);
  if (values && !PyErr_Occurred()) {
    vf_vmap(py_traced_into->graph, &map, py_call_recorded, &call, arguments, values);
    if (PyErr_Occurred()) vf_graph_clear_error(py_traced_into->graph);
    else result = made(values, results);
  }
  PyMem_Free(values);
  PyMem_Free(arguments);
  return result;
}
