/* The module: its context, exceptions, and functions. */
#include "frontend/python/native/native.h"

#include <string.h>

py_state py;

/* exceptions */

/* Raises that a function which a run called has failed, with its exception as the cause. */
static void raise_because(PyObject *type, PyObject *cause) {
  PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(cause), "__name__"), *value, *trace;
  PyErr_Format(type,
               "a function that the run calls, by vf.callback, has raised %U: %S; the traceback above is its",
               own, cause);
  Py_XDECREF(own);
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value) PyException_SetCause(value, cause); /* takes the cause over */
  else Py_DECREF(cause);
  PyErr_Restore(type, value, trace);
}

PyObject *py_raise(vf_status status, const char *message) {
  if (status == VF_ERR_CANCELLED && PyErr_Occurred()) return NULL; /* what has cancelled it */
  PyObject *type = status > VF_OK && status <= VF_ERR_VALUE ? py.errors[status] : NULL;
  PyObject *cause = status == VF_ERR_DEVICE ? py_callback_raised(message) : NULL;
  if (!cause) PyErr_SetString(type ? type : PyExc_RuntimeError, message);
  else raise_because(type, cause);
  return NULL;
}

PyObject *py_raise_error(const vf_error *error) { return py_raise(error->status, error->message); }

PyObject *py_raise_graph(vf_graph *graph) {
  if (!PyErr_Occurred()) py_raise(vf_graph_status(graph), vf_graph_message(graph));
  vf_graph_clear_error(graph);
  return NULL;
}

/* the context */

/* What was raised where nobody is to whom it could be raised: it ends the work, or is raised after it. */
static PyObject *raised[3];

static int raise_again(void *unused) {
  (void)unused;
  if (!raised[0]) return 0;
  PyErr_Restore(raised[0], raised[1], raised[2]);
  memset(raised, 0, sizeof raised);
  return -1;
}

static void raise_later(void) {
  for (int i = 0; i < 3; i++) Py_CLEAR(raised[i]);
  PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
  Py_AddPendingCall(raise_again, NULL);
}

/* What vf_tap and vf_print show goes to the function that Python has set. */
static void report(void *user, const vf_tapped *tapped) {
  (void)user;
  PyGILState_STATE held = PyGILState_Ensure();
  if (py.report) {
    size_t bytes = vf_dtype_bytes(tapped->dtype);
    for (int i = 0; i < tapped->rank; i++) bytes *= (size_t)tapped->shape[i];
    py_block *block = py_block_make(bytes);
    if (block && bytes) memcpy(block->data, tapped->elements, bytes);
    PyObject *array = block ? py_array_of_block(block, tapped->dtype, tapped->rank, tapped->shape) : NULL;
    PyObject *result =
        array ? PyObject_CallFunction(py.report, "szO", tapped->name, tapped->text, array) : NULL;
    if (!result && !PyErr_ExceptionMatches(PyExc_Exception)) raise_later(); /* it is interrupted */
    else if (!result) PyErr_WriteUnraisable(py.report);
    Py_XDECREF(result);
    Py_XDECREF(array);
  }
  PyGILState_Release(held);
}

/* Work goes on: signals are handled, and the function that Python has set is called, in the main thread
 * alone. What either raises ends the work. */
static int work_goes_on(void *user, const char *what, int64_t done, int64_t total) {
  (void)user;
  if (PyThread_get_thread_ident() != py.main) return 0;
  PyGILState_STATE held = PyGILState_Ensure();
  bool ends = raise_again(NULL) < 0 || PyErr_CheckSignals() < 0;
  if (!ends && py.progress) {
    PyObject *result = PyObject_CallFunction(py.progress, "sLL", what, (long long)done, (long long)total);
    py.told = true;
    ends = result == NULL;
    Py_XDECREF(result);
  }
  PyGILState_Release(held);
  return ends;
}

void py_end_work(void) {
  PyObject *type, *value, *trace, *result;
  py.told = false;
  PyErr_Fetch(&type, &value, &trace);
  result = py.progress ? PyObject_CallFunction(py.progress, NULL) : NULL;
  if (!result && py.progress) raise_later();
  Py_XDECREF(result);
  PyErr_Restore(type, value, trace);
}

vf_context *py_context(void) {
  vf_error error;
  vf_options options = {.size = sizeof options, .tap = report, .flags = py.flags};
  if (py.context) return py.context;
  if (!(py.context = vf_context_create(&options, &error))) py_raise_error(&error);
  vf_set_progress(py.context, work_goes_on, NULL);
  return py.context;
}

/* The lock is held by a thread that uses the session; `owner` is that thread. It enters again where objects
 * are freed while it records, but not while a program runs. */
static PyThread_type_lock session_lock;
static unsigned long session_owner;
static int session_depth;
static bool session_running;

bool py_session_enter(void) {
  unsigned long self = PyThread_get_thread_ident();
  if (session_owner == self && session_running) {
    PyErr_SetString(PyExc_RuntimeError,
                    "arrays are computed just now, and a function that is called meanwhile "
                    "may not use other arrays");
    return false;
  }
  if (session_owner != self && !PyThread_acquire_lock(session_lock, NOWAIT_LOCK)) {
    Py_BEGIN_ALLOW_THREADS;
    PyThread_acquire_lock(session_lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
  }
  session_owner = self;
  session_depth++;
  return true;
}

void py_session_leave(void) {
  if (--session_depth) return;
  session_owner = 0;
  PyThread_release_lock(session_lock);
}

void py_session_adopts(void) {
  enum { KEPT_AT_MOST = 64 };
  static int adopted;
  if (++adopted < KEPT_AT_MOST || session_depth != 1) return;
  adopted = 0;
  vf_session_collect(py.context, NULL); /* what fails is tried again */
}

/* Of elements of floats with so many bits and bits of the fraction: the index of the first that is no number,
 * or an infinity, as the flags of the context want it; -1: there is none. */
static int64_t find_unusual(const void *elements, int64_t count, int bits, int fraction) {
  const uint64_t most = bits == 64 ? UINT64_MAX >> 1 : (UINT64_C(1) << (bits - 1)) - 1;
  const uint64_t infinity = most >> fraction << fraction;
  for (int64_t i = 0; i < count; i++) {
    uint64_t x = bits == 64   ? ((const uint64_t *)elements)[i]
                 : bits == 32 ? ((const uint32_t *)elements)[i]
                              : ((const uint16_t *)elements)[i];
    x &= most;
    if ((x > infinity && py.flags & VF_STOP_AT_NAN) || (x == infinity && py.flags & VF_STOP_AT_INF)) return i;
  }
  return -1;
}

/* Runs of tensors are not looked at by the library: what was asked for is. False with an exception. */
static bool check_numbers(vf_tensor *tensor, const void *elements, const char *expression) {
  static const struct {
    int dtype, bits, fraction;
  } floats[] = {{VF_F16, 16, 10}, {VF_BF16, 16, 7}, {VF_F32, 32, 23}, {VF_F64, 64, 52}};
  int64_t shape[PY_RANK], count = 1, found = -1;
  int rank = vf_tensor_shape(tensor, shape);
  for (int i = 0; i < rank; i++) count *= shape[i];
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    if (vf_tensor_dtype(tensor) == (vf_dtype)floats[i].dtype)
      found = find_unusual(elements, count, floats[i].bits, floats[i].fraction);
  if (found >= 0)
    PyErr_Format(py.errors[VF_ERR_VALUE],
                 "element %lld (in row-major order) of the array that is computed by `%s` is no finite "
                 "number; in a function "
                 "of vf.jit the operation that makes it is told",
                 (long long)found, expression ? expression : "");
  return found < 0;
}

const void *py_session_compute(vf_tensor *tensor) {
  vf_error error;
  const void *data;
  char *expression = NULL;
  if (vf_tensor_is_realised(tensor)) {
    data = vf_tensor_data(tensor, &error);
  } else {
    if (py.flags & (VF_STOP_AT_NAN | VF_STOP_AT_INF)) expression = vf_value_text(vf_tensor_value(tensor));
    session_running = true;
    PY_BEGIN_WORK;
    data = vf_tensor_data(tensor, &error);
    PY_END_WORK;
    session_running = false;
    if (data && py.flags & (VF_STOP_AT_NAN | VF_STOP_AT_INF) && !check_numbers(tensor, data, expression))
      data = NULL;
    vf_text_free(py.context, expression);
    if (!data && PyErr_Occurred()) return NULL;
  }
  return data ? data : py_raise_error(&error);
}

/* functions */

static PyObject *set_up(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *class, *errors, *dtypes, *inside;
  if (!PyArg_ParseTuple(args, "OO!O!O", &class, &PyTuple_Type, &errors, &PyTuple_Type, &dtypes, &inside))
    return NULL;
  for (Py_ssize_t i = 0; i < PyTuple_Size(errors) && i <= VF_ERR_VALUE; i++)
    py.errors[i] = Py_NewRef(PyTuple_GetItem(errors, i));
  for (Py_ssize_t i = 0; i < PyTuple_Size(dtypes) && i <= VF_INDEX; i++)
    py.dtypes[i] = Py_NewRef(PyTuple_GetItem(dtypes, i));
  py.array_class = Py_NewRef(class);
  py.inside = Py_NewRef(inside);
  if (!py.files && !(py.files = PyDict_New())) return NULL;
  Py_RETURN_NONE;
}

static PyObject *set_report(PyObject *module, PyObject *function) {
  (void)module;
  PyObject *before = py.report;
  py.report = Py_NewRef(function);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

static PyObject *set_progress(PyObject *module, PyObject *function) {
  (void)module;
  PyObject *before = py.progress;
  py.progress = function == Py_None ? NULL : Py_NewRef(function);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

/* Another context, with these flags: for arrays that are made from now on. */
static PyObject *set_flags(PyObject *module, PyObject *flags) {
  (void)module;
  unsigned long given = PyLong_AsUnsignedLong(flags);
  if (PyErr_Occurred()) return NULL;
  if (given != py.flags) {
    vf_context_destroy(py.context);
    py.context = NULL;
    py.session_on_mesh = false;
    py.flags = (uint32_t)given;
  }
  Py_RETURN_NONE;
}

static PyObject *collect(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  vf_error error;
  if (!py_context() || !py_session_enter()) return NULL;
  vf_status status = vf_session_collect(py.context, &error);
  py_session_leave();
  if (status) return py_raise_error(&error);
  Py_RETURN_NONE;
}

static PyObject *statistics(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  vf_cache_stats s = {.size = sizeof s};
  if (!py_context()) return NULL;
  vf_cache_statistics(py.context, &s);
  return Py_BuildValue("{s:L,s:L,s:L,s:L}", "memory_hits", (long long)s.memory_hits, "disk_hits",
                       (long long)s.disk_hits, "misses", (long long)s.misses, "programs",
                       (long long)s.programs);
}

static PyMethodDef functions[] = {
    PY_METHOD("set_up", set_up, METH_VARARGS,
              "The class of arrays, exceptions by status, dtypes, our folder."),
    PY_METHOD("set_report", set_report, METH_O, "What is called with (name, text, array) of taps."),
    PY_METHOD("set_progress", set_progress, METH_O,
              "What is called with (what, done, total) of work, with () when it has ended; or None."),
    PY_METHOD("set_flags", set_flags, METH_O, "Flags of the context."),
    PY_METHOD("collect", collect, METH_NOARGS, "Free what no array needs."),
    PY_METHOD("statistics", statistics, METH_NOARGS, "Counts of programs that were found and compiled."),
    PY_METHOD("apply", py_apply, METH_FASTCALL, "apply(name, operands, attributes, results): an operation."),
    PY_METHOD("from_buffer", py_from_buffer, METH_VARARGS, "from_buffer(object, copy): its elements."),
    PY_METHOD("from_bytes", py_from_bytes, METH_VARARGS, "from_bytes(bytes, dtype, shape): a copy."),
    PY_METHOD("exchange_table", py_exchange_table, METH_NOARGS, "DLPack's table for arrays."),
    PY_METHOD(
        "check_aligned", py_check_aligned, METH_O,
        "The object, which is no matrix and has no mask; a BufferError where its elements are not aligned."),
    PY_METHOD("from_dlpack", py_from_dlpack, METH_O, "The array of a capsule of DLPack, which is consumed."),
    PY_METHOD("tap", py_tap, METH_VARARGS, "tap(array, name or None, text or None): shown in runs."),
    PY_METHOD("callback", py_callback, METH_VARARGS,
              "callback(function, arrays, dtype, shape, gradient): called in runs."),
    PY_METHOD("parse", py_parse, METH_VARARGS, "parse(text, file): the graph of a text."),
    PY_METHOD("import_onnx", py_import_onnx, METH_O, "The graph of a model."),
    PY_METHOD("xla_handler", py_xla_handler, METH_NOARGS, "What XLA calls to run a program, as a capsule."),
    PY_METHOD("read_arrays", py_read_arrays, METH_O, "The arrays of a file, by name."),
    PY_METHOD("write_arrays", py_write_arrays, METH_VARARGS, "write_arrays(path, names, arrays)."),
    PY_METHOD("run_into", py_run_into, METH_FASTCALL, "run_into(program, inputs, sizes, outputs, layouts)."),
    PY_METHOD("graph", py_graph_make, METH_O, "An empty graph of that name."),
    PY_METHOD("tracing", py_tracing, METH_NOARGS, "What operations record into, or None."),
    PY_METHOD("is_silent", py_is_silent, METH_NOARGS, "Is a function recorded for nothing?"),
    PY_METHOD("scope", py_scope_now, METH_NOARGS, "The number of the function that is recorded."),
    PY_METHOD("mesh", py_mesh_make, METH_O, "The mesh of a text."),
    PY_METHOD("set_mesh", py_set_mesh, METH_O, "The mesh of arrays outside of functions."),
    PY_METHOD("leave", py_leave, METH_NOARGS, "Give up the context, and leave other processes."),
    PY_METHOD("on_mesh", py_on_mesh, METH_NOARGS, "Have operations that are recorded now a mesh?"),
    PY_METHOD("processes", py_processes, METH_VARARGS, "processes([seconds]): count and number; joins them."),
    PY_METHOD("vjp", py_vjp, METH_VARARGS, "vjp(outputs, cotangents, inputs): gradients."),
    PY_METHOD("jvp", py_jvp, METH_VARARGS, "jvp(outputs, inputs, tangents): how the outputs vary."),
    PY_METHOD("vmap", py_vmap, METH_VARARGS,
              "vmap(function, arguments, in_axes, results, out_axes, size, over)."),
    PY_METHOD("scan", py_scan, METH_VARARGS, "scan(body, init, xs, ys_count, length, reverse)."),
    PY_METHOD("cond", py_cond, METH_VARARGS, "cond(predicate, then, otherwise, operands, results)."),
    PY_METHOD("while_loop", py_while_loop, METH_VARARGS, "while_loop(condition, body, init, max_trips)."),
    PY_METHOD("checkpoint", py_checkpoint, METH_VARARGS, "checkpoint(function, operands, results)."),
    PY_METHOD("reference", py_reference_make, METH_VARARGS, "reference(array[, name, dtype, shape])."),
    {0},
};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name) {
  PyObject *type = PyType_FromSpec(spec);
  if (type && PyModule_AddObjectRef(module, name, type) < 0) Py_CLEAR(type);
  return (PyTypeObject *)type;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "viewfold._native",
                                        "The C API of viewfold.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__native(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module || !(session_lock = PyThread_allocate_lock())) return NULL;
  py.array = add_type(module, &py_array_spec, "Array");
  py.graph = add_type(module, &py_graph_spec, "Graph");
  py.program = add_type(module, &py_program_spec, "Program");
  py.dispatcher = add_type(module, &py_dispatcher_spec, "Dispatcher");
  py.reference = add_type(module, &py_reference_spec, "Reference");
  py.mesh = add_type(module, &py_mesh_spec, "Mesh");
  PyObject *recording = (PyObject *)add_type(module, &py_recording_spec, "Recording");
  Py_XDECREF(recording);
  py.main = PyThread_get_thread_ident();
  PyModule_AddStringConstant(module, "version", vf_version());
  if (py.array && py.graph && py.program && py.dispatcher && py.reference && py.mesh) {
    py.array_class = Py_NewRef((PyObject *)py.array);
    return module;
  }
  Py_DECREF(module);
  return NULL;
}
