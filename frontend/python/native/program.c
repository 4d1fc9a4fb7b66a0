/* Compiled programs. */
#include "frontend/python/native/native.h"

#include <string.h>
#include <time.h>

/* A run of about 10 us: below that, letting other threads of Python run costs more than it gives. */
enum { LONG_BYTES = 200000, LONG_FLOPS = 400000, LONG_NS = 10000 };
/* What costs do not tell (sorting, gathers), the clock does: the first runs are timed, and then each 64th; so
 * many in a row, as one may have been interrupted, and the first finds nothing in the processor's caches. */
enum { TIMED_FIRST = 4, TIMED_EACH = 64, IN_A_ROW = 3 };

static bool is_long(const py_program *p) {
  vf_cost cost = {.size = sizeof cost};
  if (vf_program_device_count(p->program) > 1) return true; /* other threads may call functions of Python */
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
  p->until_timed = 1;
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

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A run that is timed: the first ones, and then one of so many. */
__attribute__((noinline, cold)) static vf_status run_timed(const py_run *r, void *const *outputs) {
  py_program *p = r->program;
  int64_t begin = now_ns();
  vf_status status = vf_program_run(p->program, r->inputs, outputs, r->variables, NULL);
  p->slow = now_ns() - begin > LONG_NS ? p->slow + 1 : 0;
  if (p->slow == IN_A_ROW) p->long_runs = true;
  p->until_timed = ++p->timed < TIMED_FIRST ? 1 : TIMED_EACH;
  return status;
}

bool py_program_run(const py_run *r, void *const *outputs) {
  py_program *p = r->program;
  vf_error error;
  if (!r->lets_go) {
    vf_status status = --p->until_timed ? vf_program_run(p->program, r->inputs, outputs, r->variables, NULL)
                                        : run_timed(r, outputs);
    if (py.told) py_end_work();
    if (status == VF_OK) return true;
    if (PyErr_Occurred()) return false; /* it was interrupted */
    /* the message is written only where it is wanted: once more, which fails again */
    if (vf_program_run(p->program, r->inputs, outputs, r->variables, &error) == VF_OK) return true;
  } else {
    vf_status status;
    PY_BEGIN_WORK;
    status = vf_program_run(p->program, r->inputs, outputs, r->variables, &error);
    PY_END_WORK;
    if (status == VF_OK) return true;
  }
  return py_raise_error(&error) != NULL;
}

/* Arrays with memory for the outputs; how many were made. Fewer than there are: with an exception. */
static int make_outputs(const py_program *p, const int64_t *variables, PyObject **arrays, void **outputs) {
  vf_error error = {.status = VF_OK};
  for (int i = 0; i < p->outputs; i++) {
    int64_t sized[PY_RANK], *shape = p->shapes + i * PY_RANK;
    size_t bytes = p->bytes[i];
    if (p->variables) {
      if (vf_port_shape(p->program, VF_OUTPUT, i, variables, sized, &error)) {
        py_raise_error(&error);
        return i;
      }
      shape = sized;
      bytes = (size_t)vf_port_bytes(p->program, VF_OUTPUT, i, variables, &error);
    }
    py_block *block = py_block_make(bytes);
    int number = p->inputs + i;
    if (!block || !(arrays[i] = py_array_of_block(block, p->dtypes[number], p->ranks[number], shape)))
      return i;
    outputs[i] = block->data;
  }
  return p->outputs;
}

PyObject *py_program_results(const py_run *r, bool single) {
  enum { FEW = 8 };
  const py_program *p = r->program;
  PyObject *few_arrays[FEW], **arrays = few_arrays, *result = NULL;
  void *few_outputs[FEW], **outputs = few_outputs;
  int made = 0;
  if (p->outputs > FEW) {
    arrays = PyMem_Calloc((size_t)p->outputs, sizeof *arrays);
    outputs = PyMem_Calloc((size_t)p->outputs, sizeof *outputs);
  }
  if (!arrays || !outputs) PyErr_NoMemory();
  else made = make_outputs(p, r->variables, arrays, outputs);
  if (arrays && outputs && made == p->outputs && py_program_run(r, outputs)) {
    if (single) result = Py_NewRef(arrays[0]);
    else if ((result = PyTuple_New(p->outputs)))
      for (int i = 0; i < p->outputs; i++) PyTuple_SetItem(result, i, Py_NewRef(arrays[i]));
  }
  while (made-- > 0) Py_DECREF(arrays[made]);
  if (arrays != few_arrays) PyMem_Free(arrays);
  if (outputs != few_outputs) PyMem_Free(outputs);
  return result;
}

/* Does an argument lie as `at` says: its rank, its sizes, its strides in elements? -1: any. */
static bool lies_as(const py_argument *a, const int64_t *at) {
  int64_t item = (int64_t)vf_dtype_bytes((vf_dtype)a->dtype), dense = 1;
  if (a->rank != at[0]) return false;
  for (int k = a->rank; k-- > 0; dense *= a->shape[k]) {
    int64_t size = at[1 + k], stride = at[1 + a->rank + k];
    if (size >= 0 && a->shape[k] != size) return false;
    if (stride >= 0 && a->shape[k] != 1 && (a->strides ? a->strides[k] : dense * item) != stride * item)
      return false;
  }
  return true;
}

typedef struct port_list {
  PyObject *items;
  Py_ssize_t count;
  py_access access;
} port_list;

/* Addresses of the elements. layouts: how each array must lie, or NULL. -1, the number of the first that does
 * not, or -2 with an exception. */
static Py_ssize_t read_ports(const port_list *list, const int64_t *layouts, py_argument *arguments,
                             void **data) {
  for (Py_ssize_t i = 0; i < list->count; i++) {
    PyObject *item = PySequence_GetItem(list->items, i);
    bool good = item && py_argument_read(item, &arguments[i], list->access);
    Py_XDECREF(item); /* the list holds it */
    if (!good && arguments[i].odd && layouts) return i;
    if (!good) {
      if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s %d has no %s here", list->access == PY_WRITE ? "output" : "input",
                     (int)i, arguments[i].odd ? "aligned elements" : "elements in memory");
      return -2;
    }
    if (layouts && !lies_as(&arguments[i], layouts)) return i;
    if (layouts) layouts += 1 + 2 * layouts[0];
    data[i] = (void *)(uintptr_t)arguments[i].data;
  }
  return -1;
}

/* run_into(program, inputs, sizes, outputs, layouts): lists of arrays, of which the outputs are writable and
 * as the program makes them; layouts: bytes, of each input its rank, sizes and strides as 64 bits each. The
 * number of the first input that does not lie so, or is not aligned, and nothing was run; or None. */
PyObject *py_run_into(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  (void)module;
  if (count != 5 || Py_TYPE(args[0]) != py.program || !PyBytes_Check(args[4])) {
    PyErr_SetString(PyExc_TypeError, "run_into takes a program, inputs, sizes, outputs and layouts");
    return NULL;
  }
  py_program *p = (py_program *)args[0];
  const port_list in = {args[1], p->inputs, PY_LOOK}, out = {args[3], p->outputs, PY_WRITE};
  int64_t variables[PY_VARIABLES];
  if (PySequence_Size(in.items) != in.count || PySequence_Size(out.items) != out.count ||
      PySequence_Size(args[2]) != p->variables || p->variables > PY_VARIABLES)
    return PyErr_Format(PyExc_ValueError, "the program takes %d arrays and %d sizes, and gives %d", p->inputs,
                        p->variables, p->outputs);
  if (!py_read_integers(args[2], variables, p->variables)) return NULL;
  size_t ports = (size_t)(in.count + out.count) + 1;
  void **data = PyMem_Calloc(ports, sizeof *data);
  py_argument *arguments = PyMem_Calloc(ports, sizeof *arguments);
  PyObject *result = NULL;
  if (!data || !arguments) PyErr_NoMemory();
  else {
    Py_ssize_t other = read_ports(&in, (const int64_t *)PyBytes_AsString(args[4]), arguments, data);
    if (other >= 0) result = PyLong_FromSsize_t(other);
    else if (other == -1 && read_ports(&out, NULL, arguments + in.count, data + in.count) == -1 &&
             py_program_run(&(py_run){p, (const void *const *)data, variables, p->long_runs},
                            data + in.count))
      result = Py_NewRef(Py_None);
  }
  if (arguments) py_arguments_release(arguments, (Py_ssize_t)ports);
  PyMem_Free(arguments);
  PyMem_Free(data);
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
  py_argument *arguments = PyMem_Calloc((size_t)p->inputs + 1, sizeof *arguments);
  bool good = inputs && outputs && arguments;
  for (int i = 0; i < p->inputs && good; i++)
    if ((good = py_argument_read(PyTuple_GetItem(list, i), &arguments[i], PY_READ)))
      inputs[i] = py_argument_lowest(&arguments[i]);
  for (int i = 0; i < p->outputs && good; i++) good = (outputs[i] = PyMem_Malloc(p->bytes[i] + 1)) != NULL;
  vf_profile *profile = good ? vf_program_profile(p->program, ((py_graph *)graph)->graph, &error) : NULL;
  if (good && !profile) py_raise_error(&error);
  for (int i = 0; i < runs && profile && good; i++)
    if (vf_profile_run(profile, inputs, outputs, NULL, &error)) good = py_raise_error(&error) != NULL;
  char *made = profile && good ? vf_profile_text(profile, form, &error) : NULL;
  if (made) text = PyUnicode_FromString(made);
  else if (profile && good) py_raise_error(&error);
  vf_text_free(py.context, made);
  vf_profile_destroy(profile);
  for (int i = 0; i < p->outputs && outputs; i++) PyMem_Free(outputs[i]);
  if (arguments) py_arguments_release(arguments, p->inputs);
  PyMem_Free(arguments);
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

/* (of the device that received most, of all together) */
static PyObject *program_received(PyObject *self, PyObject *none) {
  (void)none;
  int64_t most, total;
  vf_program_received(((py_program *)self)->program, &most, &total);
  return Py_BuildValue("LL", (long long)most, (long long)total);
}

static PyMethodDef methods[] = {
    PY_METHOD("received", program_received, METH_NOARGS, "Bytes that devices received: most, total."),
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
