/* References: arrays with an identity, which writes change in place. */
#include "frontend/python/native/native.h"

typedef struct py_reference {
  PyObject_HEAD vf_ref ref;
  py_graph *graph; /* that it is an input of; NULL: of the session */
  PyObject *whole; /* of a view: the reference; it is released with that */
} py_reference;

static py_reference *new_reference(vf_ref ref, py_graph *graph, PyObject *whole) {
  py_reference *r = (py_reference *)((allocfunc)PyType_GetSlot(py.reference, Py_tp_alloc))(py.reference, 0);
  if (!r) return NULL;
  r->ref = ref;
  r->graph = (py_graph *)Py_XNewRef((PyObject *)graph);
  r->whole = Py_XNewRef(whole);
  return r;
}

static bool enter(const py_reference *r) { return r->graph || py_session_enter(); }
static void leave(const py_reference *r) {
  if (!r->graph) py_session_leave();
}
static vf_graph *graph_of(const py_reference *r) {
  return r->graph ? r->graph->graph : vf_session(py.context, NULL);
}

/* reference(array): of the session, with a copy of the elements.
 * reference(graph, name, dtype, shape): an input that runs change. */
PyObject *py_reference_make(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *first, *shape = NULL;
  const char *name = NULL;
  int dtype = 0;
  if (!PyArg_ParseTuple(args, "O|siO!", &first, &name, &dtype, &PyTuple_Type, &shape)) return NULL;
  if (!name) {
    vf_error error;
    py_array *a = (py_array *)first;
    const void *data =
        py_is_array(first) ? py_array_data(a) : PyErr_Format(PyExc_TypeError, "takes an array");
    if (!data || !py_context() || !py_session_enter()) return NULL;
    vf_ref made = vf_ref_create(py.context, (vf_dtype)a->dtype, a->rank, a->shape, data, &error);
    py_session_leave();
    return vf_ok(made.target) ? (PyObject *)new_reference(made, NULL, NULL) : py_raise_error(&error);
  }
  if (!PyObject_TypeCheck(first, py.graph) || !shape)
    return PyErr_Format(PyExc_TypeError, "takes a graph and a shape");
  int64_t sizes[PY_RANK];
  int rank = (int)PyTuple_Size(shape);
  for (int i = 0; i < rank && i < PY_RANK; i++) sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
  if (PyErr_Occurred()) return NULL;
  py_graph *g = (py_graph *)first;
  vf_ref made = vf_ref_input(g->graph, name, (vf_dtype)dtype, rank, sizes);
  return vf_ok(made.target) ? (PyObject *)new_reference(made, g, NULL) : py_raise_graph(g->graph);
}

static void reference_free(PyObject *self) {
  py_reference *r = (py_reference *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (!r->graph && !r->whole) {
    PyObject *error, *value, *trace;
    PyErr_Fetch(&error, &value, &trace);
    if (py_session_enter()) { /* else it stays until the context ends */
      vf_ref_release(r->ref);
      py_session_leave();
    }
    PyErr_Restore(error, value, trace);
  }
  Py_XDECREF((PyObject *)r->graph);
  Py_XDECREF(r->whole);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

/* What it holds now. */
static PyObject *get(PyObject *self, PyObject *none) {
  (void)none;
  py_reference *r = (py_reference *)self;
  if (!enter(r)) return NULL;
  vf_value value = vf_ref_get(r->ref);
  PyObject *made = vf_ok(value) ? py_array_of_value(value, r->graph) : py_raise_graph(graph_of(r));
  leave(r);
  return made;
}

/* The positions that it names, for view. */
static PyObject *target(PyObject *self, PyObject *none) {
  (void)none;
  py_reference *r = (py_reference *)self;
  if (!enter(r)) return NULL;
  PyObject *made = py_array_of_value(vf_ref_target(r->ref), r->graph);
  leave(r);
  return made;
}

/* view(positions): the reference to these, a view of target(). */
static PyObject *view(PyObject *self, PyObject *positions) {
  py_reference *r = (py_reference *)self;
  py_operand operand;
  vf_value value;
  if (!py_operand_read(positions, &operand)) return NULL;
  PyObject *made = NULL;
  if (enter(r)) {
    if (py_operand_value(&operand, r->graph, &value)) {
      vf_ref viewed = vf_ref_view(r->ref, value);
      made = vf_ok(viewed.target) ? (PyObject *)new_reference(viewed, r->graph, r->whole ? r->whole : self)
                                  : py_raise_graph(graph_of(r));
    }
    leave(r);
  }
  py_operand_clear(&operand);
  return made;
}

/* update(value, operation): a number of vf_write_op. */
static PyObject *update(PyObject *self, PyObject *args) {
  py_reference *r = (py_reference *)self;
  PyObject *object;
  int operation;
  py_operand operand;
  vf_value value;
  if (!PyArg_ParseTuple(args, "Oi", &object, &operation) || !py_operand_read(object, &operand)) return NULL;
  bool good = enter(r);
  if (good) {
    good = py_operand_value(&operand, r->graph, &value);
    if (good && !vf_ok(vf_ref_update(r->ref, value, (vf_write_op)operation))) {
      py_place(graph_of(r), (vf_value){0});
      py_raise_graph(graph_of(r));
      good = false;
    }
    leave(r);
  }
  py_operand_clear(&operand);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    PY_METHOD("get", get, METH_NOARGS, "What it holds now."),
    PY_METHOD("target", target, METH_NOARGS, "The positions that it names."),
    PY_METHOD("view", view, METH_O, "view(positions)."),
    PY_METHOD("update", update, METH_VARARGS, "update(value, operation)."),
    {0},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, reference_free}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec py_reference_spec = {"viewfold._native.Reference", sizeof(py_reference), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
