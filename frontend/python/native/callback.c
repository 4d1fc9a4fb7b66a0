/* Functions of Python as operations: a compiled program calls them with the elements. */
#include "frontend/python/native/native.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 6, MESSAGE = 256, NAME = 32 };

typedef struct port {
  int dtype, rank;
  int64_t shape[PY_RANK];
} port;

/* One use of a function: what it is called with, and gives. */
typedef struct use {
  PyObject *function, *gradient; /* gradient NULL: it has none */
  int count;
  port operands[MOST_OPERANDS], result;
  char name[NAME]; /* of the operation */
} use;

static size_t bytes_of(const port *p) {
  size_t bytes = vf_dtype_bytes((vf_dtype)p->dtype);
  for (int i = 0; i < p->rank; i++) bytes *= (size_t)p->shape[i];
  return bytes;
}

/* The arrays of a call, as a tuple of copies. NULL with an exception. */
static PyObject *copy_operands(const use *u, const void *const *elements) {
  PyObject *all = PyTuple_New(u->count);
  for (int i = 0; i < u->count && all; i++) {
    const port *p = &u->operands[i];
    py_block *block = py_block_make(bytes_of(p));
    if (block && bytes_of(p)) memcpy(block->data, elements[i], bytes_of(p));
    PyObject *array = block ? py_array_of_block(block, p->dtype, p->rank, p->shape) : NULL;
    if (!array) Py_CLEAR(all);
    else PyTuple_SetItem(all, i, array);
  }
  return all;
}

static bool copy_result(const use *u, PyObject *returned, void *out) {
  const port *p = &u->result;
  const py_array *a = (const py_array *)returned;
  bool fits = py_is_array(returned) && a->dtype == p->dtype && a->rank == p->rank;
  for (int i = 0; i < p->rank && fits; i++) fits = a->shape[i] == p->shape[i];
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "the function gives another shape or dtype than it was declared with");
    return false;
  }
  const void *data = py_array_data((py_array *)returned);
  if (data && bytes_of(p)) memcpy(out, data, bytes_of(p));
  return data != NULL;
}

/* The last exception that a function has raised in a run, with its traceback, and the name of the operation;
 * NULL: none, or it has been raised by the run as well. */
static struct {
  PyObject *value;
  char operation[NAME];
} kept;

PyObject *py_callback_raised(const char *message) {
  PyObject *value = kept.value;
  if (!value || !strstr(message, kept.operation)) return NULL;
  kept.value = NULL;
  return value;
}

/* The exception, on one line; it is kept as well. */
static void say_exception(const use *u, char *message) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *text = value ? PyUnicode_FromFormat("%R", value) : NULL;
  const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  strncpy(message, bytes ? bytes : "an exception", MESSAGE - 1);
  message[MESSAGE - 1] = '\0';
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(kept.value);
  kept.value = value;
  memcpy(kept.operation, u->name, NAME);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  PyErr_Clear();
}

static int call(const void *const *elements, void *out, const use *u, char *message) {
  PyGILState_STATE held = PyGILState_Ensure();
  PyObject *arrays = copy_operands(u, elements);
  PyObject *returned = arrays ? PyObject_CallObject(u->function, arrays) : NULL;
  bool good = returned && copy_result(u, returned, out);
  if (!good) say_exception(u, message);
  Py_XDECREF(returned);
  Py_XDECREF(arrays);
  PyGILState_Release(held);
  return good ? 0 : 1;
}

/* Functions of C of each number of operands, as their signatures say. */
#define E const void *
#define CALL(name, parameters, ...)                                                                          \
  static int name(parameters, void *out, void *user, char *message) {                                        \
    return call((E[]){__VA_ARGS__}, out, user, message);                                                     \
  }
#define LIST(...) __VA_ARGS__
CALL(call_1, LIST(E a), a)
CALL(call_2, LIST(E a, E b), a, b)
CALL(call_3, LIST(E a, E b, E c), a, b, c)
CALL(call_4, LIST(E a, E b, E c, E d), a, b, c, d)
CALL(call_5, LIST(E a, E b, E c, E d, E e), a, b, c, d, e)
CALL(call_6, LIST(E a, E b, E c, E d, E e, E f), a, b, c, d, e, f)
static void (*const calls[])(void) = {(void (*)(void))call_1, (void (*)(void))call_2, (void (*)(void))call_3,
                                      (void (*)(void))call_4, (void (*)(void))call_5, (void (*)(void))call_6};

static bool shape_of(const vf_op_call *c, vf_op_type *results) {
  const use *u = c->user;
  results->dtype = (vf_dtype)u->result.dtype;
  results->rank = u->result.rank;
  for (int i = 0; i < u->result.rank; i++) results->shape[i] = vf_integer(c->graph, u->result.shape[i]);
  return true;
}

/* gradient(*operands, result, cotangent) records what each operand's cotangent is. */
static bool derive(const vf_op_call *c, const vf_value *results, const vf_value *cotangents,
                   vf_value *gradients) {
  const use *u = c->user;
  vf_value given[MOST_OPERANDS + 2], *made = NULL;
  Py_ssize_t count = 0;
  memcpy(given, c->operands, (size_t)u->count * sizeof *given);
  given[u->count] = results[0];
  given[u->count + 1] = cotangents[0];
  PyObject *arrays = py_arrays_of_values(given, u->count + 2, py_traced_into);
  PyObject *returned = arrays ? PyObject_CallObject(u->gradient, arrays) : NULL;
  if (returned && py_values(returned, &made, &count) && count != u->count)
    PyErr_Format(
        PyExc_ValueError,
        "the gradient of a function of Python gives %zd arrays; it gives one for each of %d operands", count,
        u->count);
  bool good = made && count == u->count;
  if (good) memcpy(gradients, made, (size_t)count * sizeof *gradients);
  PyMem_Free(made);
  Py_XDECREF(returned);
  Py_XDECREF(arrays);
  return good;
}

static void release(void *user) {
  use *u = user;
  PyGILState_STATE held = PyGILState_Ensure();
  Py_DECREF(u->function);
  Py_XDECREF(u->gradient);
  PyGILState_Release(held);
  free(u);
}

/* Registers the use, under a new name. False with an exception; the use is then still the caller's. */
static bool add(use *u) {
  static unsigned count;
  vf_error error;
  char signature[96] = "int(";
  for (int i = 0; i < u->count; i++) PyOS_snprintf(signature + strlen(signature), 8, "in%d, ", i);
  strcat(signature, "out0, user, message)");
  PyOS_snprintf(u->name, NAME, "python_%u", count++);
  vf_op_description d = {.size = sizeof d,
                         .name = u->name,
                         .operands = u->count,
                         .results = 1,
                         .user = u,
                         .release = release,
                         .shape = shape_of,
                         .function = calls[u->count - 1],
                         .vjp = u->gradient ? derive : NULL,
                         .signature = signature};
  return vf_register_op(py.context, &d, &error) == VF_OK || py_raise_error(&error) != NULL;
}

/* callback(function, operands, dtype, shape, gradient or None): in the graph that is traced, what the
 * function of these arrays gives. */
PyObject *py_callback(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *function, *list, *shape, *gradient;
  int dtype;
  if (!PyArg_ParseTuple(args, "OO!iO!O", &function, &PyTuple_Type, &list, &dtype, &PyTuple_Type, &shape,
                        &gradient))
    return NULL;
  Py_ssize_t count = PyTuple_Size(list), rank = PyTuple_Size(shape);
  if (count < 1 || count > MOST_OPERANDS || rank > PY_RANK)
    return PyErr_Format(PyExc_ValueError, "a function is called with 1 to %d arrays", MOST_OPERANDS);
  use *u = calloc(1, sizeof *u);
  if (!u) return PyErr_NoMemory();
  *u = (use){.function = function,
             .gradient = gradient == Py_None ? NULL : gradient,
             .count = (int)count,
             .result = {.dtype = dtype, .rank = (int)rank}};
  for (Py_ssize_t i = 0; i < rank; i++) u->result.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
  bool good = !PyErr_Occurred();
  for (Py_ssize_t i = 0; i < count && good; i++) {
    const py_array *a = (const py_array *)PyTuple_GetItem(list, i);
    u->operands[i] = (port){.dtype = a->dtype, .rank = a->rank};
    for (int k = 0; k < a->rank; k++) good &= (u->operands[i].shape[k] = a->shape[k]) >= 0;
    if (!good)
      PyErr_SetString(PyExc_ValueError, "sizes of what a function of Python is called with are numbers");
  }
  good = good && add(u);
  if (!good) {
    free(u);
    return NULL;
  }
  Py_INCREF(function);
  Py_XINCREF(u->gradient);
  py.callbacks = true;
  PyObject *text = PyUnicode_FromString(u->name), *made = NULL;
  if (text) made = py_apply(NULL, (PyObject *[]){text, list}, 2);
  Py_XDECREF(text);
  return made;
}
