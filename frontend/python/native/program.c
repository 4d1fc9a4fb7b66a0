/* Compiled programs. */
#include "frontend/python/native/native.h"

#include <string.h>

/* A run of about 10 us: below that, letting other threads of Python run costs more than it gives. */
enum { LONG_BYTES = 200000, LONG_FLOPS = 400000 };

static bool is_long(const py_program *p) {
  vf_cost cost = {.size = sizeof cost};
  if (py.callbacks || p->variables || vf_program_cost(p->program, NULL, &cost, NULL)) return true;
  return cost.bytes > LONG_BYTES || cost.flops > LONG_FLOPS;
}

static bool describe(py_program *p) {
  int ports = p->inputs + p->outputs;
  p->dtypes = PyMem_Calloc((size_t)ports + 1, sizeof *p->dtypes);
  p->ranks = PyMem_Calloc((size_t)ports + 1, sizeof *p->ranks);
  p->shapes = PyMem_Calloc((size_t)p->outputs * PY_RANK + 1, sizeof *p->shapes);
  p->bytes = PyMem_Calloc((size_t)p->outputs + 1, sizeof *p->bytes);
  if (!p->dtypes || !p->ranks || !p->shapes || !p->bytes) return PyErr_NoMemory() != NULL;
  for (int i = 0; i < ports; i++) {
    vf_port port = i < p->inputs ? VF_INPUT : VF_OUTPUT;
    int number = i < p->inputs ? i : i - p->inputs;
    p->dtypes[i] = vf_port_dtype(p->program, port, number);
    p->ranks[i] = vf_port_rank(p->program, port, number);
  }
  for (int i = 0; i < p->outputs && !p->variables; i++) {
    vf_error error;
    vf_port_shape(p->program, VF_OUTPUT, i, NULL, p->shapes + i * PY_RANK, &error);
    p->bytes[i] = (size_t)vf_port_bytes(p->program, VF_OUTPUT, i, NULL, &error);
    if (error.status) return py_raise_error(&error) != NULL;
  }
  p->long_runs = is_long(p);
  return true;
}

PyObject *py_program_of(vf_program *program) {
  py_program *p = (py_program *)((allocfunc)PyType_GetSlot(py.program, Py_tp_alloc))(py.program, 0);
  if (!p) {
    vf_program_destroy(program);
    return NULL;
  }
  p->program = program;
  p->inputs = vf_port_count(program, VF_INPUT);
  p->outputs = vf_port_count(program, VF_OUTPUT);
  p->variables = vf_variable_count(program);
  if (!describe(p)) Py_CLEAR(p);
  return (PyObject *)p;
}

static void program_free(PyObject *self) {
  py_program *p = (py_program *)self;
  PyTypeObject *type = Py_TYPE(self);
  vf_program_destroy(p->program);
  PyMem_Free(p->dtypes);
  PyMem_Free(p->ranks);
  PyMem_Free(p->shapes);
  PyMem_Free(p->bytes);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

bool py_program_run(const py_program *p, const void *const *inputs, void *const *outputs,
                    const int64_t *variables) {
  vf_error error;
  if (!p->long_runs) {
    if (vf_program_run(p->program, inputs, outputs, variables, NULL) == VF_OK) return true;
    /* the message is written only where it is wanted: once more, which fails again */
    if (vf_program_run(p->program, inputs, outputs, variables, &error) == VF_OK) return true;
  } else {
    vf_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = vf_program_run(p->program, inputs, outputs, variables, &error);
    Py_END_ALLOW_THREADS;
    if (status == VF_OK) return true;
  }
  return py_raise_error(&error) != NULL;
}

/* Arrays with memory for the outputs. False with an exception. */
static bool make_outputs(const py_program *p, const int64_t *variables, PyObject **arrays, void **outputs) {
  vf_error error = {0};
  for (int i = 0; i < p->outputs; i++) {
    int64_t sized[PY_RANK], *shape = p->shapes + i * PY_RANK;
    size_t bytes = p->bytes[i];
    if (p->variables) {
      if (vf_port_shape(p->program, VF_OUTPUT, i, variables, sized, &error))
        return py_raise_error(&error) != NULL;
      shape = sized;
      bytes = (size_t)vf_port_bytes(p->program, VF_OUTPUT, i, variables, &error);
    }
    py_block *block = py_block_make(bytes);
    int number = p->inputs + i;
    if (!block || !(arrays[i] = py_array_of_block(block, p->dtypes[number], p->ranks[number], shape)))
      return false;
    outputs[i] = block->data;
  }
  return true;
}

PyObject *py_program_results(const py_program *p, const void *const *inputs, const int64_t *variables,
                             bool single) {
  enum { FEW = 8 };
  PyObject *few_arrays[FEW] = {0}, **arrays = few_arrays, *result = NULL;
  void *few_outputs[FEW], **outputs = few_outputs;
  if (p->outputs > FEW) {
    arrays = PyMem_Calloc((size_t)p->outputs, sizeof *arrays);
    outputs = PyMem_Calloc((size_t)p->outputs, sizeof *outputs);
  }
  if (!arrays || !outputs) PyErr_NoMemory();
  else if (make_outputs(p, variables, arrays, outputs) && py_program_run(p, inputs, outputs, variables)) {
    if (single) result = Py_NewRef(arrays[0]);
    else if ((result = PyTuple_New(p->outputs)))
      for (int i = 0; i < p->outputs; i++) PyTuple_SetItem(result, i, Py_NewRef(arrays[i]));
  }
  for (int i = 0; i < p->outputs && arrays; i++) Py_XDECREF(arrays[i]);
  if (arrays != few_arrays) PyMem_Free(arrays);
  if (outputs != few_outputs) PyMem_Free(outputs);
  return result;
}

/* run_into(program, inputs, variables, outputs): the caller vouches for dtypes, sizes and strides. Lists or
 * tuples of arrays; the outputs are of others, and writable. */
PyObject *py_run_into(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  (void)module;
  enum { FEW = 64, MOST_VARIABLES = 16 };
  if (count != 4 || (PyTypeObject *)Py_TYPE(args[0]) != py.program) {
    PyErr_SetString(PyExc_TypeError, "run_into takes a program, inputs, sizes and outputs");
    return NULL;
  }
  py_program *p = (py_program *)args[0];
  PyObject *lists[2] = {args[1], args[3]}, *result = NULL;
  int64_t variables[MOST_VARIABLES];
  Py_ssize_t ports = p->inputs + p->outputs, read = 0, sizes = PySequence_Size(args[2]);
  if (PySequence_Size(lists[0]) != p->inputs || PySequence_Size(lists[1]) != p->outputs ||
      sizes != p->variables || sizes > MOST_VARIABLES)
    return PyErr_Format(PyExc_ValueError, "the program takes %d arrays and %d sizes, and gives %d", p->inputs,
                        p->variables, p->outputs);
  void *few[FEW], **data = ports <= FEW ? few : PyMem_Calloc((size_t)ports, sizeof *data);
  py_argument *arguments = PyMem_Calloc((size_t)ports + 1, sizeof *arguments);
  bool good = data && arguments;
  if (!good) PyErr_NoMemory();
  for (Py_ssize_t v = 0; v < sizes && good; v++) {
    PyObject *size = PySequence_GetItem(args[2], v);
    variables[v] = size ? PyLong_AsLongLong(size) : -1;
    Py_XDECREF(size);
    good = !PyErr_Occurred();
  }
  for (; read < ports && good; read++) {
    bool writable = read >= p->inputs;
    PyObject *item = PySequence_GetItem(lists[writable], writable ? read - p->inputs : read);
    good = item && py_argument_read(item, &arguments[read], writable); /* the lists hold it */
    Py_XDECREF(item);
    if (good) data[read] = (void *)(uintptr_t)arguments[read].data;
    else if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "%s %d has no elements in memory here", writable ? "output" : "input",
                   (int)(writable ? read - p->inputs : read));
  }
  if (good && py_program_run(p, (const void *const *)data, data + p->inputs, variables))
    result = Py_NewRef(Py_None);
  if (arguments) py_arguments_release(arguments, read);
  PyMem_Free(arguments);
  if (data != few) PyMem_Free(data);
  return result;
}

/* looking */

static PyObject *program_statistics(PyObject *self, PyObject *none) {
  (void)none;
  py_program *p = (py_program *)self;
  vf_stats s = {.size = sizeof s};
  vf_program_stats(p->program, &s);
  return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I}", "launches", s.launches, "kernels", s.kernels, "compiled",
                       s.compiled, "from_memory", s.from_memory, "from_disk", s.from_disk);
}

static PyObject *program_cost(PyObject *self, PyObject *none) {
  (void)none;
  vf_cost c = {.size = sizeof c};
  vf_error error;
  if (vf_program_cost(((py_program *)self)->program, NULL, &c, &error)) return py_raise_error(&error);
  return Py_BuildValue("{s:L,s:L,s:L}", "bytes", (long long)c.bytes, "flops", (long long)c.flops,
                       "temp_bytes", (long long)c.temp_bytes);
}

/* profile(graph, inputs, form, runs): the profile of so many runs with these arrays, as text. */
static PyObject *program_profile(PyObject *self, PyObject *args) {
  py_program *p = (py_program *)self;
  PyObject *graph, *list, *text = NULL;
  const char *form;
  int runs;
  vf_error error;
  if (!PyArg_ParseTuple(args, "O!O!si", py.graph, &graph, &PyTuple_Type, &list, &form, &runs)) return NULL;
  if (PyTuple_Size(list) != p->inputs || p->variables)
    return PyErr_Format(PyExc_ValueError, "a profile takes as many arrays as the program, of fixed sizes");
  const void **inputs = PyMem_Calloc((size_t)p->inputs + 1, sizeof *inputs);
  void **outputs = PyMem_Calloc((size_t)p->outputs + 1, sizeof *outputs);
  bool good = inputs && outputs;
  for (int i = 0; i < p->inputs && good; i++)
    good = (inputs[i] = py_array_data((py_array *)PyTuple_GetItem(list, i))) != NULL;
  for (int i = 0; i < p->outputs && good; i++) good = (outputs[i] = PyMem_Malloc(p->bytes[i] + 1)) != NULL;
  vf_profile *profile = good ? vf_program_profile(p->program, ((py_graph *)graph)->graph, &error) : NULL;
  if (good && !profile) py_raise_error(&error);
  for (int i = 0; i < runs && profile && good; i++)
    if (vf_profile_run(profile, inputs, outputs, NULL, &error)) good = py_raise_error(&error) != NULL;
  char *made = profile && good ? vf_profile_text(profile, form, &error) : NULL;
  if (made) text = PyUnicode_FromString(made);
  vf_text_free(py.context, made);
  vf_profile_destroy(profile);
  for (int i = 0; i < p->outputs && outputs; i++) PyMem_Free(outputs[i]);
  PyMem_Free(inputs);
  PyMem_Free(outputs);
  if (!text && !PyErr_Occurred()) PyErr_NoMemory();
  return text;
}

/* names(port), and port(port, number): (dtype, shape). Port 0: inputs, 1: outputs. */
static PyObject *program_names(PyObject *self, PyObject *which) {
  const py_program *p = (py_program *)self;
  vf_port port = PyLong_AsLong(which) ? VF_OUTPUT : VF_INPUT;
  int count = vf_port_count(p->program, port);
  PyObject *all = PyTuple_New(count);
  for (int i = 0; i < count && all; i++)
    PyTuple_SetItem(all, i, PyUnicode_FromString(vf_port_name(p->program, port, i)));
  return all;
}

static PyObject *program_port(PyObject *self, PyObject *args) {
  const py_program *p = (py_program *)self;
  int which, number;
  int64_t shape[PY_RANK];
  vf_error error;
  if (!PyArg_ParseTuple(args, "ii", &which, &number)) return NULL;
  vf_port port = which ? VF_OUTPUT : VF_INPUT;
  if (vf_port_shape(p->program, port, number, NULL, shape, &error)) return py_raise_error(&error);
  int rank = vf_port_rank(p->program, port, number);
  PyObject *sizes = PyTuple_New(rank);
  for (int i = 0; i < rank && sizes; i++) PyTuple_SetItem(sizes, i, PyLong_FromLongLong(shape[i]));
  return sizes ? Py_BuildValue("iN", (int)vf_port_dtype(p->program, port, number), sizes) : NULL;
}

static PyMethodDef methods[] = {
    PY_METHOD("names", program_names, METH_O, "names(port)."),
    PY_METHOD("port", program_port, METH_VARARGS, "port(port, number): dtype and shape."),
    PY_METHOD("statistics", program_statistics, METH_NOARGS, "Where its kernels come from."),
    PY_METHOD("cost", program_cost, METH_NOARGS, "Bytes and operations of a run."),
    PY_METHOD("profile", program_profile, METH_VARARGS, "profile(graph, arrays, form, runs): text."),
    {0},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, program_free}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec py_program_spec = {"viewfold._native.Program", sizeof(py_program), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
