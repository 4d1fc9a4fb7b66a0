/* Calls of compiled functions: the program of a signature is found, and run, without Python code. */
#include "frontend/python/native/native.h"

#include <structmember.h>
#include <string.h>

/* Part of the stable ABI of 3.11, whose limited headers lack its name. */
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
#define NARGS(n) ((Py_ssize_t)((n) & ~((size_t)1 << (8 * sizeof(size_t) - 1))))

typedef PyObject *(*vectorcall)(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

enum { MOST_ARGUMENTS = 32, KEPT = 64 };

/* What an argument must be. A size below 0 is variable -1 - size. strides NULL: dense. */
typedef struct expected {
  int dtype, rank;
  int64_t shape[PY_RANK];
  bool strided;
  int64_t strides[PY_RANK]; /* in bytes */
} expected;

typedef struct bounds {
  int64_t lo, hi, divisor;
} bounds;

/* The program of a signature. */
typedef struct entry {
  py_program *program;
  int arguments, variables;
  bool single;
  bounds bounds[PY_VARIABLES];
  expected expected[];
} entry;

typedef struct dispatcher {
  PyObject_HEAD vectorcall call;
  PyObject *dict, *weak;
  PyObject *miss; /* called with the arguments where no entry fits */
  entry *entries[KEPT];
  int count;
} dispatcher;

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "sizes of buffers are read as 64 bits");

/* Is the argument dense, but for strides of axes of one element? */
static inline bool is_dense(const py_argument *a) {
  if (!a->strides) return true;
  Py_ssize_t stride = (Py_ssize_t)vf_dtype_bytes((vf_dtype)a->dtype);
  for (int k = a->rank; k-- > 0; stride *= a->shape[k])
    if (a->strides[k] != stride && a->shape[k] != 1) return false;
  return true;
}

/* Does the argument have the strides that are expected? */
static inline bool strides_fit(const py_argument *a, const expected *e) {
  if (!e->strided) return is_dense(a);
  for (int k = 0; k < a->rank; k++)
    if (!a->strides || (a->strides[k] != e->strides[k] && a->shape[k] != 1)) return false;
  return true;
}

static inline bool fits(const py_argument *a, const expected *e, const entry *entry, int64_t *variables) {
  if (a->dtype != e->dtype || a->rank != e->rank) return false;
  for (int k = 0; k < a->rank; k++) {
    if (a->shape[k] == e->shape[k]) continue;
    if (e->shape[k] >= 0) return false;
    int64_t v = -1 - e->shape[k], size = a->shape[k];
    const bounds *b = &entry->bounds[v];
    if (variables[v] >= 0 && variables[v] != size) return false;
    if (size < b->lo || size > b->hi || size % b->divisor) return false;
    variables[v] = size;
  }
  return strides_fit(a, e);
}

static entry *find(dispatcher *d, const py_argument *arguments, Py_ssize_t count, int64_t *variables) {
  for (int i = 0; i < d->count; i++) {
    entry *e = d->entries[i];
    if (e->arguments != count) continue;
    for (int v = 0; v < e->variables; v++) variables[v] = -1;
    Py_ssize_t k = 0;
    while (k < count && fits(&arguments[k], &e->expected[k], e, variables)) k++;
    if (k < count) continue;
    if (i) { /* the one that is used comes first */
      memmove(d->entries + 1, d->entries, (size_t)i * sizeof *d->entries);
      d->entries[0] = e;
    }
    return e;
  }
  return NULL;
}

/* Where the elements of an argument begin: the lowest address, of one with negative strides. */
static const void *lowest(const py_argument *a, const expected *e) {
  const char *at = a->data;
  for (int k = 0; k < a->rank && e->strided; k++)
    if (e->strides[k] < 0) at += (a->shape[k] - 1) * e->strides[k];
  return at;
}

/* Is it what the only result of the program is, and dense? */
static bool is_result(const py_argument *a, const py_program *p, const int64_t *variables) {
  int64_t sized[PY_RANK];
  const int64_t *shape = p->shapes;
  int rank = p->ranks[p->inputs];
  if (a->dtype != p->dtypes[p->inputs] || a->rank != rank) return false;
  if (p->variables) {
    if (vf_port_shape(p->program, VF_OUTPUT, 0, variables, sized, NULL)) return false;
    shape = sized;
  }
  for (int k = 0; k < rank; k++)
    if (a->shape[k] != shape[k]) return false;
  return is_dense(a);
}

static void wrong_result(const py_program *p, const int64_t *variables) {
  int64_t shape[PY_RANK];
  int rank = p->ranks[p->inputs];
  PyObject *sizes =
      vf_port_shape(p->program, VF_OUTPUT, 0, variables, shape, NULL) ? NULL : PyTuple_New(rank);
  for (int k = 0; k < rank && sizes; k++) PyTuple_SetItem(sizes, k, PyLong_FromLongLong(shape[k]));
  if (sizes)
    PyErr_Format(PyExc_ValueError,
                 "out must be a dense, writable array of shape %R and dtype %R, in row-major order", sizes,
                 py.dtypes[p->dtypes[p->inputs]]);
  Py_XDECREF(sizes);
}

/* The one result into the array `out`, which has its dtype and shape, and is dense. */
static PyObject *run_into(const py_run *r, PyObject *out) {
  const py_program *p = r->program;
  py_argument a;
  PyObject *made = NULL;
  if (py_argument_read(out, &a, PY_WRITE) && is_result(&a, p, r->variables)) {
    if (py_program_run(r, (void *[]){(void *)(uintptr_t)a.data})) made = Py_NewRef(out);
  } else if (py_is_array(out)) {
    PyErr_SetString(PyExc_TypeError,
                    "out is an array of viewfold, which does not change; give a NumPy array, or use "
                    "the result");
  } else if (!PyErr_Occurred()) {
    wrong_result(p, r->variables);
  }
  py_arguments_release(&a, 1);
  return made;
}

static PyObject *run(const py_run *r, bool single, PyObject *out) {
  return out ? run_into(r, out) : py_program_results(r, single);
}

/* Runs the program of an entry; out may be NULL. While other threads of Python run, the entry may go, and
 * arrays may come to stand for others: program and elements are held. */
static PyObject *run_entry(const entry *e, PyObject *const *args, Py_ssize_t count, const void *const *inputs,
                           const int64_t *variables, PyObject *out) {
  py_program *p = e->program;
  const py_run r = {p, inputs, variables, p->long_runs};
  bool single = e->single;
  if (!r.lets_go) return run(&r, single, out);
  py_array *held[MOST_ARGUMENTS];
  Py_ssize_t n = 0;
  bool good = true;
  for (; n < count && good; n++) {
    held[n] = py_is_array(args[n]) ? py_array_share((py_array *)args[n]) : NULL;
    good = held[n] || !PyErr_Occurred();
  }
  Py_INCREF((PyObject *)p);
  PyObject *result = good ? run(&r, single, out) : NULL;
  Py_DECREF((PyObject *)p);
  while (n-- > 0) Py_XDECREF((PyObject *)held[n]);
  return result;
}

static PyObject *call_miss(dispatcher *d, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  PyObject *positional = PyTuple_New(count), *keywords = names ? PyDict_New() : NULL, *result = NULL;
  for (Py_ssize_t i = 0; i < count && positional; i++) PyTuple_SetItem(positional, i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; keywords && i < PyTuple_Size(names); i++)
    PyDict_SetItem(keywords, PyTuple_GetItem(names, i), args[count + i]);
  if (positional && (keywords || !names)) result = PyObject_Call(d->miss, positional, keywords);
  Py_XDECREF(positional);
  Py_XDECREF(keywords);
  return result;
}

/* Is `out` the only keyword? Each place of a call has its own tuple of names: mostly it is the last one
 * again.
 */
static bool is_out(PyObject *names) {
  static PyObject *known;
  if (names == known) return true;
  if (PyTuple_Size(names) != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "out"))
    return false;
  PyObject *old = known;
  known = Py_NewRef(names);
  Py_XDECREF(old);
  return true;
}

static PyObject *dispatch(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
  dispatcher *d = (dispatcher *)self;
  Py_ssize_t count = NARGS(nargsf), read = 0;
  py_argument arguments[MOST_ARGUMENTS];
  const void *inputs[MOST_ARGUMENTS];
  int64_t variables[PY_VARIABLES];
  PyObject *result = NULL;
  bool into = names && is_out(names);
  if (names && !into && PyTuple_Size(names) == 0) names = NULL;
  if (py_traced_into || count > MOST_ARGUMENTS || !d->count || (names && !into))
    return call_miss(d, args, count, names);
  bool good = true;
  for (; read < count && good; read++) good = py_argument_read(args[read], &arguments[read], PY_READ);
  entry *e = good ? find(d, arguments, count, variables) : NULL;
  if (e) {
    for (Py_ssize_t i = 0; i < count; i++) inputs[i] = lowest(&arguments[i], &e->expected[i]);
    if (!names) result = run_entry(e, args, count, inputs, variables, NULL);
    else if (e->single) result = run_entry(e, args, count, inputs, variables, args[count]);
    else PyErr_Format(PyExc_ValueError, "out is for functions with one result");
  }
  py_arguments_release(arguments, read);
  return e || PyErr_Occurred() ? result : call_miss(d, args, count, names);
}

/* For callers without vectorcall. */
static PyObject *dispatch_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  dispatcher *d = (dispatcher *)self;
  if (kwargs && PyDict_Size(kwargs)) return PyObject_Call(d->miss, args, kwargs);
  PyObject *list[MOST_ARGUMENTS];
  Py_ssize_t count = PyTuple_Size(args);
  if (count > MOST_ARGUMENTS) return PyObject_Call(d->miss, args, kwargs);
  for (Py_ssize_t i = 0; i < count; i++) list[i] = PyTuple_GetItem(args, i);
  return dispatch(self, list, (size_t)count, NULL);
}

/* making */

static PyObject *dispatcher_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  PyObject *miss;
  if (!PyArg_ParseTuple(args, "O", &miss)) return NULL;
  dispatcher *d = (dispatcher *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (!d) return NULL;
  d->call = dispatch;
  d->miss = Py_NewRef(miss);
  return (PyObject *)d;
}

static void free_entry(entry *e) {
  Py_XDECREF((PyObject *)e->program);
  PyMem_Free(e);
}

static int dispatcher_visit(PyObject *self, visitproc visit, void *arg) {
  dispatcher *d = (dispatcher *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(d->dict);
  Py_VISIT(d->miss);
  return 0;
}

static int dispatcher_clear(PyObject *self) {
  dispatcher *d = (dispatcher *)self;
  Py_CLEAR(d->dict);
  Py_CLEAR(d->miss);
  return 0;
}

static void dispatcher_free(PyObject *self) {
  dispatcher *d = (dispatcher *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (d->weak) PyObject_ClearWeakRefs(self);
  dispatcher_clear(self);
  for (int i = 0; i < d->count; i++) free_entry(d->entries[i]);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

bool py_read_integers(PyObject *list, int64_t *out, int count) {
  for (int i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(list, i);
    out[i] = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
  }
  return !PyErr_Occurred();
}

/* (dtype, shape, strides in bytes or None) */
static bool read_expected(PyObject *described, expected *e) {
  PyObject *shape, *strides;
  *e = (expected){0};
  if (!PyArg_ParseTuple(described, "iO!O", &e->dtype, &PyTuple_Type, &shape, &strides)) return false;
  e->rank = (int)PyTuple_Size(shape);
  e->strided = strides != Py_None;
  return e->rank <= PY_RANK && py_read_integers(shape, e->shape, e->rank) &&
         (!e->strided || py_read_integers(strides, e->strides, e->rank));
}

/* add(program, signature, bounds, single): the signature is a tuple of what read_expected takes; bounds of
 * (lo, hi, divisor) for each variable of the program. The one that was not used for longest goes. */
static PyObject *dispatcher_add(PyObject *self, PyObject *args) {
  dispatcher *d = (dispatcher *)self;
  PyObject *program, *signature, *limits;
  int single;
  if (!PyArg_ParseTuple(args, "O!O!O!p", py.program, &program, &PyTuple_Type, &signature, &PyTuple_Type,
                        &limits, &single))
    return NULL;
  Py_ssize_t count = PyTuple_Size(signature), variables = PyTuple_Size(limits);
  if (count > MOST_ARGUMENTS || variables > PY_VARIABLES) Py_RETURN_NONE; /* such calls take the slow way */
  entry *e = PyMem_Calloc(1, sizeof *e + (size_t)count * sizeof *e->expected);
  if (!e) return PyErr_NoMemory();
  bool good = true;
  for (Py_ssize_t i = 0; i < count && good; i++)
    good = read_expected(PyTuple_GetItem(signature, i), &e->expected[i]);
  for (Py_ssize_t i = 0; i < variables && good; i++)
    good = PyArg_ParseTuple(PyTuple_GetItem(limits, i), "LLL", &e->bounds[i].lo, &e->bounds[i].hi,
                            &e->bounds[i].divisor);
  if (!good) {
    PyMem_Free(e);
    return NULL;
  }
  e->program = (py_program *)Py_NewRef(program);
  e->arguments = (int)count;
  e->variables = (int)variables;
  e->single = single;
  if (d->count == KEPT) free_entry(d->entries[--d->count]);
  memmove(d->entries + 1, d->entries, (size_t)d->count * sizeof *d->entries);
  d->entries[0] = e;
  d->count++;
  Py_RETURN_NONE;
}

static PyObject *dispatcher_clear_entries(PyObject *self, PyObject *none) {
  (void)none;
  dispatcher *d = (dispatcher *)self;
  while (d->count) free_entry(d->entries[--d->count]);
  Py_RETURN_NONE;
}

/* _run(program, arrays, variables, out=None): a tuple of results, or the only one into out; for the slow way.
 */
static PyObject *dispatcher_run(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *program, *list, *sizes, *out = Py_None;
  if (!PyArg_ParseTuple(args, "O!O!O!|O", py.program, &program, &PyTuple_Type, &list, &PyTuple_Type, &sizes,
                        &out))
    return NULL;
  Py_ssize_t count = PyTuple_Size(list), variables = PyTuple_Size(sizes);
  py_program *p = (py_program *)program;
  if (count != p->inputs || variables != p->variables)
    return PyErr_Format(PyExc_ValueError, "the program takes %d arrays and %d sizes", p->inputs,
                        p->variables);
  py_argument *arguments = PyMem_Calloc((size_t)count + 1, sizeof *arguments);
  const void **inputs = PyMem_Calloc((size_t)count + 1, sizeof *inputs);
  PyObject *held = PyTuple_New(count); /* as run_entry does */
  int64_t values[PY_VARIABLES];
  PyObject *result = NULL;
  bool good = arguments && inputs && held && variables <= PY_VARIABLES &&
              py_read_integers(sizes, values, (int)variables);
  for (Py_ssize_t i = 0; i < count && good; i++) {
    PyObject *item = PyTuple_GetItem(list, i);
    if (py_is_array(item) && py_array_data((py_array *)item))
      item = (PyObject *)py_array_share((py_array *)item);
    else Py_INCREF(item);
    good = item && PyTuple_SetItem(held, i, item) == 0 && py_argument_read(item, &arguments[i], PY_READ);
    if (good) inputs[i] = py_argument_lowest(&arguments[i]);
  }
  const py_run r = {p, inputs, values, p->long_runs};
  if (good && out != Py_None && p->outputs == 1) result = run_into(&r, out);
  else if (good) result = py_program_results(&r, false);
  else if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an argument of the run has no elements");
  if (arguments) py_arguments_release(arguments, count);
  PyMem_Free(arguments);
  PyMem_Free(inputs);
  Py_XDECREF(held);
  return result;
}

/* A method of a class, where the function was written in one. */
static PyObject *dispatcher_bind(PyObject *self, PyObject *object, PyObject *type) {
  (void)type;
  if (!object || object == Py_None) return Py_NewRef(self);
  PyObject *types = PyImport_ImportModule("types");
  PyObject *method = types ? PyObject_CallMethod(types, "MethodType", "OO", self, object) : NULL;
  Py_XDECREF(types);
  return method;
}

static PyMethodDef methods[] = {
    PY_METHOD("_add", dispatcher_add, METH_VARARGS, "_add(program, signature, bounds, single)."),
    PY_METHOD("_forget", dispatcher_clear_entries, METH_NOARGS, "Forget all programs."),
    PY_METHOD("_run", dispatcher_run, METH_VARARGS, "_run(program, arrays, variables)."),
    {0},
};
static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(dispatcher, call), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(dispatcher, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(dispatcher, weak), READONLY, NULL},
    {0},
};
static PyGetSetDef attributes[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
                                   {0}};

static PyType_Slot slots[] = {{Py_tp_dealloc, dispatcher_free},   {Py_tp_new, dispatcher_make},
                              {Py_tp_traverse, dispatcher_visit}, {Py_tp_clear, dispatcher_clear},
                              {Py_tp_call, dispatch_call},        {Py_tp_descr_get, dispatcher_bind},
                              {Py_tp_methods, methods},           {Py_tp_members, members},
                              {Py_tp_getset, attributes},         {0, NULL}};
PyType_Spec py_dispatcher_spec = {"viewfold._native.Dispatcher", sizeof(dispatcher), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                                  slots};
