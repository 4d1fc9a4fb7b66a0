/* Graphs that functions are traced into. */
#include "frontend/python/native/native.h"

#include <string.h>

_Thread_local py_graph *py_traced_into;
_Thread_local uint64_t py_scope;

atomic_int py_scoped_threads;
enum { OPEN = 64 }; /* scopes inside of scopes that are known; deeper ones are not checked */
static _Thread_local uint64_t open_scopes[OPEN];
static _Thread_local int depth;

uint64_t py_scope_begin(void) {
  static _Atomic uint64_t begun;
  uint64_t before = py_scope;
  if (!before) atomic_fetch_add_explicit(&py_scoped_threads, 1, memory_order_relaxed);
  py_scope = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed) + 1;
  if (depth++ < OPEN) open_scopes[depth - 1] = py_scope;
  return before;
}

bool py_scope_is_open(uint64_t scope) {
  bool open = !scope || depth > OPEN;
  for (int i = 0; i < depth && !open; i++) open = open_scopes[i] == scope;
  return open;
}

void py_scope_end(uint64_t before) {
  if (depth) depth--;
  if (py_scope && !before) atomic_fetch_sub_explicit(&py_scoped_threads, 1, memory_order_relaxed);
  py_scope = before;
}

PyObject *py_scope_now(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyLong_FromUnsignedLongLong(py_scope);
}

PyObject *py_graph_make(PyObject *module, PyObject *name) {
  (void)module;
  vf_error error;
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text || !py_context()) return NULL;
  vf_graph *graph = vf_graph_create(py.context, text, &error);
  if (!graph) return py_raise_error(&error);
  py_graph *g = (py_graph *)((allocfunc)PyType_GetSlot(py.graph, Py_tp_alloc))(py.graph, 0);
  if (g) g->graph = graph;
  else vf_graph_destroy(graph);
  return (PyObject *)g;
}

static void graph_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  vf_graph_destroy(((py_graph *)self)->graph);
  Py_XDECREF(((py_graph *)self)->kept);
  Py_XDECREF(((py_graph *)self)->mesh);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

PyObject *py_tracing(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return Py_NewRef(py_traced_into ? (PyObject *)py_traced_into : Py_None);
}

/* Sizes of a tuple, of which strings are expressions of variables. False with an exception. */
static bool read_sizes(vf_graph *g, PyObject *shape, vf_value *sizes, int *rank) {
  Py_ssize_t n = PyTuple_Check(shape) ? PyTuple_Size(shape) : -1;
  if (n < 0 || n > PY_RANK) {
    PyErr_Format(PyExc_ValueError, "a shape is a tuple of at most %d sizes", PY_RANK);
    return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *size = PyTuple_GetItem(shape, i);
    const char *text = PyUnicode_Check(size) ? PyUnicode_AsUTF8AndSize(size, NULL) : NULL;
    if (text) sizes[i] = py_size_read(g, text);
    else if (!PyErr_Occurred()) sizes[i] = vf_integer(g, PyLong_AsLongLong(size));
    if (PyErr_Occurred()) return false;
  }
  *rank = (int)n;
  return true;
}

static PyObject *graph_input(PyObject *self, PyObject *args) {
  py_graph *g = (py_graph *)self;
  const char *name;
  int dtype, rank;
  PyObject *shape, *strides = NULL;
  vf_value sizes[PY_RANK], made;
  if (!PyArg_ParseTuple(args, "siO|O", &name, &dtype, &shape, &strides) ||
      !read_sizes(g->graph, shape, sizes, &rank))
    return NULL;
  if (strides && strides != Py_None) {
    int64_t numbers[PY_RANK], steps[PY_RANK];
    for (int i = 0; i < rank; i++) {
      numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
      steps[i] = PyLong_AsLongLong(PyTuple_GetItem(strides, i));
    }
    if (PyErr_Occurred()) return NULL;
    made = vf_input_strided(g->graph, name, (vf_dtype)dtype, rank, numbers, steps);
  } else made = vf_input_sized(g->graph, name, (vf_dtype)dtype, rank, sizes);
  return py_array_of_value(made, g);
}

static PyObject *graph_variable(PyObject *self, PyObject *args) {
  py_graph *g = (py_graph *)self;
  const char *name;
  long long lo, hi, divisor = 1;
  if (!PyArg_ParseTuple(args, "sLL|L", &name, &lo, &hi, &divisor)) return NULL;
  if (!vf_ok(vf_variable(g->graph, name, lo, hi, divisor))) return py_raise_graph(g->graph);
  Py_RETURN_NONE;
}

static PyObject *graph_output(PyObject *self, PyObject *args) {
  py_graph *g = (py_graph *)self;
  const char *name;
  PyObject *object;
  py_operand operand;
  vf_value value;
  if (!PyArg_ParseTuple(args, "sO", &name, &object) || !py_operand_read(object, &operand)) return NULL;
  bool good = py_operand_value(&operand, g, &value);
  py_operand_clear(&operand);
  if (!good) return NULL;
  if (!vf_ok(vf_output(g->graph, name, value))) return py_raise_graph(g->graph);
  Py_RETURN_NONE;
}

/* constants(path): the arrays of a file as values of the graph, by name. */
static PyObject *graph_constants(PyObject *self, PyObject *path) {
  py_graph *g = (py_graph *)self;
  vf_error error;
  const char *file = PyUnicode_AsUTF8AndSize(path, NULL);
  vf_arrays *arrays = file ? vf_arrays_open(py.context, file, &error) : NULL;
  if (!arrays) return file ? py_raise_error(&error) : NULL;
  PyObject *all = PyDict_New();
  for (size_t i = 0; i < vf_arrays_count(arrays) && all; i++) {
    const char *name = vf_arrays_name(arrays, i);
    vf_value value = vf_arrays_constant(g->graph, arrays, name);
    PyObject *one = vf_ok(value) ? py_array_of_value(value, g) : py_raise_graph(g->graph);
    if (!one || PyDict_SetItemString(all, name, one) < 0) Py_CLEAR(all);
    Py_XDECREF(one);
  }
  vf_arrays_close(arrays);
  return all;
}

static PyObject *graph_name(PyObject *self, PyObject *args) {
  const char *name;
  PyObject *array;
  if (!PyArg_ParseTuple(args, "O!s", py.array, &array, &name)) return NULL;
  if (((py_array *)array)->graph == (py_graph *)self) vf_name(((py_array *)array)->value, name);
  Py_RETURN_NONE;
}

/* set_mesh(mesh): refused where it has another one. */
static PyObject *graph_set_mesh(PyObject *self, PyObject *mesh) {
  py_graph *g = (py_graph *)self;
  vf_error error;
  const vf_mesh *given = py_mesh_of(mesh);
  if (!given) return NULL;
  if (g->mesh == mesh) Py_RETURN_NONE;
  if (g->mesh)
    return PyErr_Format(PyExc_ValueError, "a function on one mesh is called inside of one on another; both "
                                          "take the same vf.Mesh");
  if (vf_graph_set_mesh(g->graph, given, &error)) return py_raise_error(&error);
  g->mesh = Py_NewRef(mesh);
  Py_RETURN_NONE;
}

static PyObject *graph_compile(PyObject *self, PyObject *none) {
  (void)none;
  py_graph *g = (py_graph *)self;
  vf_error error;
  vf_program *program;
  PY_BEGIN_WORK;
  program = g->mesh ? vf_compile_on(g->graph, NULL, 0, &error) : vf_compile(g->graph, &error);
  PY_END_WORK;
  py_program *made = (py_program *)(program ? py_program_of(program) : py_raise_error(&error));
  if (made) made->long_runs |= g->loops;
  return (PyObject *)made;
}

static PyObject *text_of(char *text, const vf_error *error) {
  if (!text) return py_raise_error(error);
  PyObject *made = PyUnicode_FromString(text);
  vf_text_free(py.context, text);
  return made;
}

static PyObject *graph_text(PyObject *self, PyObject *none) {
  (void)none;
  vf_error error;
  char *text = vf_graph_text(((py_graph *)self)->graph, &error);
  return text_of(text, &error);
}

static PyObject *graph_dump(PyObject *self, PyObject *stage) {
  vf_error error;
  const char *name = PyUnicode_AsUTF8AndSize(stage, NULL);
  if (!name) return NULL;
  char *text = vf_graph_dump(((py_graph *)self)->graph, name, &error);
  return text_of(text, &error);
}

static PyMethodDef methods[] = {
    PY_METHOD("input", graph_input, METH_VARARGS, "input(name, dtype, shape[, strides]): an array."),
    PY_METHOD("variable", graph_variable, METH_VARARGS, "variable(name, lo, hi[, divisor]): a size of runs."),
    PY_METHOD("output", graph_output, METH_VARARGS, "output(name, array)."),
    PY_METHOD("constants", graph_constants, METH_O, "constants(path): the arrays of a file, by name."),
    PY_METHOD("name", graph_name, METH_VARARGS, "name(array, name), for messages."),
    PY_METHOD("set_mesh", graph_set_mesh, METH_O, "The mesh of its programs."),
    PY_METHOD("compile", graph_compile, METH_NOARGS, "The program of the outputs."),
    PY_METHOD("text", graph_text, METH_NOARGS, "The graph as text."),
    PY_METHOD("dump", graph_dump, METH_O, "dump(stage): graph, kernels, index, loops, llvm or asm."),
    {0},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, graph_free}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec py_graph_spec = {"viewfold._native.Graph", sizeof(py_graph), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
