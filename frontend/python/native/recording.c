/* `with Recording(graph)`: a function is recorded into the graph, or, without one, into what it is called in.
 * silent=True: for nothing, as to see what it returns, and what it prints is left out. Its methods run no
 * code of Python, where a signal may raise: what was recorded into before is so again. */
#include "frontend/python/native/native.h"

typedef struct recording {
  PyObject_HEAD py_graph *graph; /* NULL: the one of before */
  py_graph *before;              /* inside */
  uint64_t scope;                /* of before, inside */
  bool inside, silent, silent_before;
} recording;

static _Thread_local bool silent;

static void leave(recording *r) {
  if (!r->inside) return;
  r->inside = false;
  silent = r->silent_before;
  py_graph *graph = py_traced_into;
  if (r->graph) {
    py_traced_into = r->before;
    r->before = NULL;
    Py_XDECREF((PyObject *)graph);
  }
  py_scope_end(r->scope);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"graph", "silent", NULL};
  PyObject *graph = NULL;
  int quiet = false;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O!$p", names, py.graph, &graph, &quiet)) return NULL;
  recording *r = (recording *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (r) r->silent = quiet;
  if (r && graph) r->graph = (py_graph *)Py_NewRef(graph);
  return (PyObject *)r;
}

static PyObject *enter(PyObject *self, PyObject *none) {
  (void)none;
  recording *r = (recording *)self;
  if (r->inside) return PyErr_Format(PyExc_RuntimeError, "this is being recorded already");
  r->inside = true;
  r->scope = py_scope_begin();
  r->silent_before = silent;
  silent |= r->silent;
  if (r->graph) {
    r->before = py_traced_into;
    py_traced_into = (py_graph *)Py_NewRef((PyObject *)r->graph);
  }
  return r->graph ? Py_NewRef((PyObject *)r->graph) : Py_NewRef(Py_None);
}

static PyObject *leave_with(PyObject *self, PyObject *error) {
  (void)error;
  leave((recording *)self);
  Py_RETURN_NONE;
}

static void drop(PyObject *self) {
  recording *r = (recording *)self;
  PyTypeObject *type = Py_TYPE(self);
  leave(r);
  Py_XDECREF((PyObject *)r->graph);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

PyObject *py_is_silent(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyBool_FromLong(silent);
}

static PyMethodDef methods[] = {
    PY_METHOD("__enter__", enter, METH_NOARGS, "Begin to record."),
    PY_METHOD("__exit__", leave_with, METH_VARARGS, "End it."),
    {0},
};
static PyType_Slot slots[] = {{Py_tp_new, make}, {Py_tp_dealloc, drop}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec py_recording_spec = {"viewfold._native.Recording", sizeof(recording), 0, Py_TPFLAGS_DEFAULT,
                                 slots};
