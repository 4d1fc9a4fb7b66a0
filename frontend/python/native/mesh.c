/* Meshes of devices, and processes. */
#include "frontend/python/native/native.h"

typedef struct py_mesh {
  PyObject_HEAD vf_mesh *mesh;
} py_mesh;

PyObject *py_mesh_make(PyObject *module, PyObject *text) {
  (void)module;
  vf_error error;
  const char *axes = PyUnicode_AsUTF8AndSize(text, NULL);
  if (!axes || !py_context()) return NULL;
  vf_mesh *mesh = vf_mesh_create(py.context, axes, &error);
  if (!mesh) return py_raise_error(&error);
  py_mesh *m = (py_mesh *)((allocfunc)PyType_GetSlot(py.mesh, Py_tp_alloc))(py.mesh, 0);
  if (m) m->mesh = mesh;
  else vf_mesh_destroy(mesh);
  return (PyObject *)m;
}

static void mesh_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  vf_mesh_destroy(((py_mesh *)self)->mesh);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

const vf_mesh *py_mesh_of(PyObject *object) {
  if (PyObject_TypeCheck(object, py.mesh)) return ((py_mesh *)object)->mesh;
  PyErr_Format(PyExc_TypeError, "takes a mesh");
  return NULL;
}

/* ((name, size), ...) */
static PyObject *mesh_axes(PyObject *self, PyObject *none) {
  (void)none;
  const vf_mesh *mesh = ((py_mesh *)self)->mesh;
  int count = vf_mesh_axis_count(mesh);
  PyObject *all = PyTuple_New(count);
  for (int i = 0; i < count && all; i++) {
    const char *name = vf_mesh_axis_name(mesh, i);
    PyObject *one = Py_BuildValue("sL", name, (long long)vf_mesh_axis_size(mesh, name));
    if (!one) Py_CLEAR(all);
    else PyTuple_SetItem(all, i, one);
  }
  return all;
}

static PyObject *mesh_coordinate(PyObject *self, PyObject *args) {
  long long device;
  const char *axis;
  if (!PyArg_ParseTuple(args, "Ls", &device, &axis)) return NULL;
  return PyLong_FromLongLong(vf_mesh_coordinate(((py_mesh *)self)->mesh, device, axis));
}

/* Half-open ranges, as a tuple of slices. */
static PyObject *slices(const int64_t *begin, const int64_t *end, int rank) {
  PyObject *all = PyTuple_New(rank);
  for (int i = 0; i < rank && all; i++) {
    PyObject *from = PyLong_FromLongLong(begin[i]), *to = PyLong_FromLongLong(end[i]);
    PyObject *one = from && to ? PySlice_New(from, to, NULL) : NULL;
    Py_XDECREF(from);
    Py_XDECREF(to);
    if (!one) Py_CLEAR(all);
    else PyTuple_SetItem(all, i, one);
  }
  return all;
}

static PyObject *mesh_part(PyObject *self, PyObject *args) {
  const char *spec;
  PyObject *shape;
  long long device;
  int64_t sizes[PY_RANK], begin[PY_RANK], end[PY_RANK];
  vf_error error;
  if (!PyArg_ParseTuple(args, "sO!L", &spec, &PyTuple_Type, &shape, &device)) return NULL;
  Py_ssize_t rank = PyTuple_Size(shape);
  if (rank > PY_RANK) return PyErr_Format(PyExc_ValueError, "an array has at most %d axes", PY_RANK);
  if (!py_read_integers(shape, sizes, (int)rank)) return NULL;
  if (vf_mesh_part(((py_mesh *)self)->mesh, spec, (int)rank, sizes, device, begin, end, &error))
    return py_raise_error(&error);
  return slices(begin, end, (int)rank);
}

PyObject *py_array_part(PyObject *self, PyObject *device) {
  const py_array *a = (py_array *)self;
  int64_t begin[PY_RANK] = {0}, end[PY_RANK];
  vf_error error = {0};
  long long number = PyLong_AsLongLong(device);
  if (PyErr_Occurred() || !py_array_data((py_array *)self)) return NULL;
  for (int i = 0; i < a->rank; i++) end[i] = a->shape[i];
  if (a->tensor) {
    if (!py_session_enter()) return NULL;
    vf_tensor_part(a->tensor, number, begin, end, &error);
    py_session_leave();
  }
  return error.status ? py_raise_error(&error) : slices(begin, end, a->rank);
}

PyObject *py_set_mesh(PyObject *module, PyObject *mesh) {
  (void)module;
  vf_error error;
  vf_status status;
  const vf_mesh *given = py_mesh_of(mesh);
  if (!given || !py_context() || !py_session_enter()) return NULL;
  vf_graph *session = vf_session(py.context, &error);
  status = session ? vf_graph_set_mesh(session, given, &error) : error.status;
  py_session_leave();
  if (status) return py_raise_error(&error);
  py.session_on_mesh = true;
  Py_RETURN_NONE;
}

PyObject *py_on_mesh(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyBool_FromLong(py_traced_into ? py_traced_into->mesh != NULL : py.session_on_mesh);
}

/* processes() and processes(seconds): (how many there are, number of this one). The second joins them. */
PyObject *py_processes(PyObject *module, PyObject *args) {
  (void)module;
  double seconds = -1;
  vf_error error;
  vf_status status = VF_OK;
  if (!PyArg_ParseTuple(args, "|d", &seconds) || !py_context()) return NULL;
  if (seconds >= 0) {
    PY_BEGIN_WORK;
    status = vf_processes_join(py.context, seconds, &error);
    PY_END_WORK;
  }
  if (status) return py_raise_error(&error);
  return Py_BuildValue("LL", (long long)vf_process_count(py.context),
                       (long long)vf_process_number(py.context));
}

static PyMethodDef methods[] = {
    PY_METHOD("axes", mesh_axes, METH_NOARGS, "Pairs of name and size."),
    PY_METHOD("coordinate", mesh_coordinate, METH_VARARGS, "coordinate(device, axis); -1: there is none."),
    PY_METHOD("part", mesh_part, METH_VARARGS, "part(spec, shape, device): a slice for each axis."),
    {0},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, mesh_free}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec py_mesh_spec = {"viewfold._native.Mesh", sizeof(py_mesh), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
