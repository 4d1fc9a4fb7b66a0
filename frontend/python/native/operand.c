/* What operations take, and operations by name. */
#include "frontend/python/native/native.h"

#include <string.h>

/* reading */

bool py_operand_read(PyObject *object, py_operand *out) {
  *out = (py_operand){.kind = PY_ARRAY};
  if (py_is_array(object)) {
    out->array = (py_array *)Py_NewRef(object);
    return true;
  }
  if (PyBool_Check(object)) {
    out->kind = PY_BOOLEAN;
    out->integer = object == Py_True;
  } else if (PyLong_Check(object)) {
    out->kind = PY_INTEGER;
    out->integer = PyLong_AsLongLong(object);
  } else if (PyFloat_Check(object)) {
    out->kind = PY_REAL;
    out->real = PyFloat_AsDouble(object);
  } else {
    out->array = (py_array *)py_array_of_buffer(object, true);
    if (!out->array && !PyErr_Occurred())
      PyErr_Format(PyExc_TypeError,
                   "an operation takes arrays and numbers, and got %R; lists become arrays by vf.array, "
                   "and r[...] is the array of a vf.Ref",
                   (PyObject *)Py_TYPE(object));
  }
  return !PyErr_Occurred();
}

void py_operand_clear(py_operand *operand) { Py_CLEAR(operand->array); }

/* values */

static void drop_reference(const void *elements, void *object) {
  (void)elements;
  PyGILState_STATE held = PyGILState_Ensure();
  Py_DECREF((PyObject *)object);
  PyGILState_Release(held);
}

/* A computed array in a graph: small ones are literals, others constants that stay where they are. */
static bool constant_value(py_array *a, py_graph *graph, vf_value *out) {
  enum { LITERAL_BYTES = 1024 };
  const void *data = py_array_data(a);
  if (!data) return false;
  py_array *kept = py_array_bytes(a) > LITERAL_BYTES ? py_array_share(a) : NULL;
  if (!kept && PyErr_Occurred()) return false;
  if (!kept) *out = vf_data(graph->graph, (vf_dtype)a->dtype, a->rank, a->shape, data);
  else
    *out =
        vf_constant_borrow(graph->graph, (vf_dtype)a->dtype, a->rank, a->shape, data, drop_reference, kept);
  return true;
}

static bool session_value(py_array *a, vf_value *out) {
  vf_error error;
  if (!a->tensor && a->block && py_context()) {
    atomic_fetch_add_explicit(&a->block->uses, 1, memory_order_relaxed);
    a->tensor = vf_tensor_adopt(py.context, (vf_dtype)a->dtype, a->rank, a->shape, a->block->data,
                                py_block_given_back, a->block, &error);
    if (!a->tensor) py_raise_error(&error);
  }
  if (!a->tensor) return false;
  *out = vf_tensor_value(a->tensor);
  return true;
}

bool py_operand_value(const py_operand *o, py_graph *graph, vf_value *out) {
  vf_graph *g = graph ? graph->graph : vf_session(py.context, NULL);
  switch (o->kind) {
  case PY_INTEGER: *out = vf_integer(g, o->integer); return true;
  case PY_REAL: *out = vf_number(g, o->real); return true;
  case PY_BOOLEAN: *out = vf_boolean(g, o->integer != 0); return true;
  case PY_ARRAY: break;
  }
  if (o->array->graph == graph && graph && !py_scope_is_open(o->array->scope)) {
    PyErr_SetString(PyExc_TypeError, "an array that a function of a loop, a condition or a map made is used "
                                     "outside of it, where it has no "
                                     "value (each iteration has its own); return it, and use the result");
    return false;
  } else if (o->array->graph == graph && graph) *out = o->array->value;
  else if (o->array->graph) {
    PyErr_SetString(PyExc_TypeError,
                    "an array of a function that was traced is used outside of that function, where "
                    "it has no value; return it");
    return false;
  } else if (graph) return constant_value(o->array, graph, out);
  else return session_value(o->array, out);
  return true;
}

bool py_values(PyObject *list, vf_value **out, Py_ssize_t *count) {
  Py_ssize_t n = PySequence_Size(list);
  vf_value *values = n < 0 ? NULL : PyMem_Calloc((size_t)n + 1, sizeof *values);
  if (n >= 0 && !values) PyErr_NoMemory();
  bool good =
      values != NULL && (py_traced_into || !PyErr_Format(PyExc_RuntimeError, "no function is being traced"));
  for (Py_ssize_t i = 0; i < n && good; i++) {
    PyObject *item = PySequence_GetItem(list, i);
    py_operand operand = {0};
    good = item && py_operand_read(item, &operand) && py_operand_value(&operand, py_traced_into, &values[i]);
    py_operand_clear(&operand);
    Py_XDECREF(item);
  }
  if (!good) {
    PyMem_Free(values);
    return false;
  }
  *out = values;
  *count = n;
  return true;
}

/* places */

/* The first frame whose file is not of the package; NULL: there is none. A new reference. */
static PyObject *users_frame(void) {
  PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
  while (frame) {
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *file = PyObject_GetAttrString((PyObject *)code, "co_filename");
    Py_DECREF((PyObject *)code);
    bool ours = file && py.inside && PyUnicode_Tailmatch(file, py.inside, 0, PY_SSIZE_T_MAX, -1) == 1;
    Py_XDECREF(file);
    if (!ours) return frame;
    PyObject *back = PyObject_GetAttrString(frame, "f_back");
    Py_DECREF(frame);
    frame = back == Py_None ? NULL : back;
    if (back == Py_None) Py_DECREF(back);
  }
  PyErr_Clear();
  return NULL;
}

/* A file's path. It stays where it is: statements take what has the same pointer for the same file. NULL:
 * there is none, or no memory. */
static const char *path_of(PyObject *file) {
  PyObject *bytes = py.files && file ? PyDict_GetItemWithError(py.files, file) : NULL;
  if (bytes) return PyBytes_AsString(bytes);
  bytes = py.files && file ? PyUnicode_EncodeFSDefault(file) : NULL;
  const char *path = bytes && PyDict_SetItem(py.files, file, bytes) == 0 ? PyBytes_AsString(bytes) : NULL;
  Py_XDECREF(bytes);
  return path;
}

void py_place(vf_graph *graph, vf_value value) {
  if (PyErr_Occurred()) return;
  PyObject *frame = users_frame();
  if (!frame) return;
  PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
  PyObject *file = PyObject_GetAttrString((PyObject *)code, "co_filename");
  const char *path = path_of(file);
  const char *name = path ? strrchr(path, '/') : NULL;
  int line = PyFrame_GetLineNumber((PyFrameObject *)frame);
  if (path && vf_ok(value)) vf_at(value, name ? name + 1 : path, line);
  else if (path) vf_call_place(graph, path, line);
  Py_XDECREF(file);
  Py_DECREF((PyObject *)code);
  Py_DECREF(frame);
  PyErr_Clear();
}

/* operations */

enum { FEW = 8 };

PyObject *py_arrays_of_values(const vf_value *values, Py_ssize_t count, py_graph *graph) {
  PyObject *all = PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count && all; i++) {
    PyObject *one = py_array_of_value(values[i], graph);
    if (!one) Py_CLEAR(all);
    else PyTuple_SetItem(all, i, one);
  }
  return all;
}

/* The arrays of values of the session, which are kept before anything else: whatever Python frees or calls
 * meanwhile may compute arrays, after which values are stale. */
static PyObject *keep_results(vf_graph *g, const vf_value *values, vf_tensor **tensors, Py_ssize_t count) {
  vf_error error;
  for (Py_ssize_t i = 0; i < count; i++) {
    if ((tensors[i] = vf_tensor_keep(values[i], &error))) continue;
    while (i-- > 0) vf_tensor_release(tensors[i]);
    return py_raise_error(&error);
  }
  py_place(g, values[0]);
  if (count == 1) return py_array_of_tensor(tensors[0]);
  PyObject *all = PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *one = all ? py_array_of_tensor(tensors[i]) : NULL;
    if (!all) vf_tensor_release(tensors[i]);
    else if (!one) Py_CLEAR(all);
    else PyTuple_SetItem(all, i, one);
  }
  return all;
}

static PyObject *record_into(py_graph *graph, const char *name, const py_operand *operands, Py_ssize_t count,
                             const char *attributes, Py_ssize_t room) {
  vf_graph *g = graph ? graph->graph : vf_session(py.context, NULL);
  union {
    vf_value value;
    vf_tensor *tensor;
  } few[3 * FEW], *scratch = few; /* values of the operands, of the results, and their tensors */
  Py_ssize_t needed = count + 2 * room;
  if (needed > 3 * FEW && !(scratch = PyMem_Calloc((size_t)needed, sizeof *scratch))) return PyErr_NoMemory();
  vf_value *values = &scratch[0].value, *results = &scratch[count].value;
  _Static_assert(sizeof *few == sizeof(vf_value), "lists of values are lists of these");
  bool good = true;
  for (Py_ssize_t i = 0; i < count && good; i++) good = py_operand_value(&operands[i], graph, &values[i]);
  if (good && room == 1) results[0] = vf_apply(g, name, values, (int)count, attributes);
  else if (good) vf_apply_all(g, name, values, (int)count, attributes, (int)room, results);
  PyObject *made = NULL;
  if (good && vf_graph_status(g)) {
    py_place(g, (vf_value){0});
    py_raise_graph(g);
  } else if (good && !graph) {
    made = keep_results(g, results, (vf_tensor **)&scratch[count + room], room);
  } else if (good) {
    py_place(g, results[0]);
    made = room == 1 ? py_array_of_value(results[0], graph) : py_arrays_of_values(results, room, graph);
  }
  if (scratch != few) PyMem_Free(scratch);
  return made;
}

static PyObject *record(const char *name, const py_operand *operands, Py_ssize_t count,
                        const char *attributes, Py_ssize_t room) {
  py_graph *graph = py_traced_into;
  for (Py_ssize_t i = 0; i < count && !graph; i++)
    if (operands[i].kind == PY_ARRAY) graph = operands[i].array->graph;
  if (graph && graph != py_traced_into)
    return PyErr_Format(PyExc_TypeError,
                        "an array of a function that was traced is used outside of that function, "
                        "where it has no value; return it");
  return record_into(graph, name, operands, count, attributes, room);
}

/* Operations whose results are views where arrays share memory, as NumPy's do. */
static bool makes_view(const char *name) {
  static const char *const views[] = {"shrink",  "reshape",   "permute",     "stride",   "unsqueeze",
                                      "squeeze", "swap_axes", "flip",        "moveaxis", "expand",
                                      "slice",   "transpose", "broadcast_to"};
  for (size_t i = 0; i < sizeof views / sizeof *views; i++)
    if (strcmp(views[i], name) == 0) return true;
  return false;
}

/* apply(name, operands, attributes=None, results=1) */
PyObject *py_apply(PyObject *module, PyObject *const *args, Py_ssize_t count) {
  (void)module;
  const char *name = count >= 2 ? PyUnicode_AsUTF8AndSize(args[0], NULL) : NULL, *attributes = NULL;
  long room = 1;
  if (!name)
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "apply takes a name and operands");
  if (count > 2 && args[2] != Py_None && !(attributes = PyUnicode_AsUTF8AndSize(args[2], NULL))) return NULL;
  if (count > 3 && (room = PyLong_AsLong(args[3])) < 1)
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "results is a count");
  if (!py_context()) return NULL;
  Py_ssize_t n = PySequence_Size(args[1]), read = 0;
  py_operand few[FEW], *operands = n > FEW ? PyMem_Calloc((size_t)n, sizeof *operands) : few;
  if (n < 0 || !operands) return n < 0 ? NULL : PyErr_NoMemory();
  bool good = true;
  for (; read < n && good; read++) {
    PyObject *item = PySequence_GetItem(args[1], read);
    good = item && py_operand_read(item, &operands[read]);
    Py_XDECREF(item);
  }
  PyObject *made = NULL;
  bool session = !py_traced_into;
  if (good && (!session || py_session_enter())) {
    made = record(name, operands, n, attributes, room);
    if (made && n == 1 && room == 1 && operands->kind == PY_ARRAY && makes_view(name))
      py_array_is_view(made, operands->array);
    if (session) py_session_leave();
  }
  for (Py_ssize_t i = 0; i < read; i++) py_operand_clear(&operands[i]);
  if (operands != few) PyMem_Free(operands);
  return made;
}

/* tap(array, name, text): vf_tap where the text is None, else vf_print. */
PyObject *py_tap(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *array;
  const char *name, *text;
  if (!PyArg_ParseTuple(args, "O!zz", py.array, &array, &name, &text)) return NULL;
  py_array *a = (py_array *)array;
  if (!a->graph || a->graph != py_traced_into)
    return PyErr_Format(PyExc_TypeError, "takes an array of the function that is being traced");
  vf_value made = text ? vf_print(a->value, text) : vf_tap(a->value, name);
  py_place(a->graph->graph, made);
  return py_array_of_value(made, a->graph);
}
