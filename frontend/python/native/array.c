/* Arrays. */
#include "frontend/python/native/native.h"

#include <stdlib.h>
#include <structmember.h>
#include <string.h>

/* blocks */

enum { ALIGN = 64 };

/* malloc and not aligned_alloc: malloc keeps small blocks at hand for each thread. */
py_block *py_block_make(size_t bytes) {
  py_block *b = bytes < PTRDIFF_MAX / 2 ? malloc(sizeof *b + ALIGN - 1 + bytes) : NULL;
  if (!b) {
    PyErr_Format(PyExc_MemoryError, "out of memory for %zu bytes of elements", bytes);
    return NULL;
  }
  atomic_init(&b->uses, 1);
  b->data = (char *)(((uintptr_t)(b + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
  b->bytes = bytes;
  b->lent = NULL;
  return b;
}

/* From any thread. */
void py_block_release(py_block *b) {
  if (!b || atomic_fetch_sub_explicit(&b->uses, 1, memory_order_acq_rel) != 1) return;
  if (b->lent) {
    PyGILState_STATE held = PyGILState_Ensure();
    PyBuffer_Release(b->lent);
    PyMem_Free(b->lent);
    PyGILState_Release(held);
  }
  free(b);
}

void py_block_given_back(const void *elements, void *block) {
  (void)elements;
  py_block_release(block);
}

/* making */

py_array *py_array_new(int dtype, int rank, const int64_t *shape) {
  static allocfunc allocate;
  static PyObject *class;
  if (class != py.array_class) {
    class = py.array_class;
    allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)class, Py_tp_alloc);
  }
  py_array *a = (py_array *)allocate((PyTypeObject *)class, 0); /* all zero */
  if (!a) return NULL;
  a->dtype = dtype;
  a->rank = rank;
  if (atomic_load_explicit(&py_scoped_threads, memory_order_relaxed)) a->scope = py_scope;
  for (int i = 0; i < rank; i++) a->shape[i] = shape[i];
  return a;
}

py_array *py_array_share(const py_array *a) {
  py_array *made = py_array_new(a->dtype, a->rank, a->shape);
  if (!made) return NULL;
  if (a->block) atomic_fetch_add_explicit(&a->block->uses, 1, memory_order_relaxed);
  vf_tensor_retain(a->tensor);
  made->block = a->block;
  made->tensor = a->tensor;
  return made;
}

PyObject *py_array_of_block(py_block *block, int dtype, int rank, const int64_t *shape) {
  py_array *a = py_array_new(dtype, rank, shape);
  if (a) a->block = block;
  else py_block_release(block);
  return (PyObject *)a;
}

PyObject *py_array_of_tensor(vf_tensor *tensor) {
  int64_t shape[PY_RANK];
  int rank = vf_tensor_shape(tensor, shape);
  py_array *a = py_array_new(vf_tensor_dtype(tensor), rank, shape);
  if (a) a->tensor = tensor;
  else vf_tensor_release(tensor);
  return (PyObject *)a;
}

PyObject *py_array_of_value(vf_value value, py_graph *graph) {
  if (!graph) {
    vf_error error;
    vf_tensor *tensor = vf_tensor_keep(value, &error);
    return tensor ? py_array_of_tensor(tensor) : py_raise_error(&error);
  }
  if (!vf_ok(value)) return py_raise_graph(graph->graph);
  int64_t shape[PY_RANK];
  int rank = vf_value_shape(value, shape);
  py_array *a = py_array_new(vf_value_dtype(value), rank, shape);
  if (!a) return NULL;
  a->graph = (py_graph *)Py_NewRef((PyObject *)graph);
  a->value = value;
  return (PyObject *)a;
}

static void array_free(PyObject *self) {
  py_array *a = (py_array *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (a->weak) PyObject_ClearWeakRefs(self);
  Py_XDECREF(a->whole);
  py_block_release(a->block);
  vf_tensor_release(a->tensor);
  Py_XDECREF((PyObject *)a->graph);
  PyMem_Free(a->strides);
  PyMem_Free(a->steps);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

/* elements */

size_t py_array_bytes(const py_array *a) {
  size_t bytes = vf_dtype_bytes(a->dtype);
  for (int i = 0; i < a->rank; i++) bytes *= (size_t)a->shape[i];
  return bytes;
}

const void *py_array_data(py_array *a) {
  if (a->block) return a->block->data;
  if (a->graph) {
    PyErr_SetString(
        PyExc_TypeError,
        a->graph != py_traced_into
            ? "an array of a function that was traced is used outside of that function, where it has no "
              "value; "
              "return it"
            : "an array inside of a function that is being traced has no elements; use vf.where, vf.cond "
              "or vf.while_loop in place of if and while, or make the argument static");
    return NULL;
  }
  if (!a->tensor || !py_session_enter()) {
    if (!a->tensor) PyErr_SetString(PyExc_ValueError, "the array was never made");
    return NULL;
  }
  const void *data = py_session_compute(a->tensor);
  py_session_leave();
  return data;
}

/* questions */

static PyObject *get_shape(PyObject *self, void *unused) {
  (void)unused;
  py_array *a = (py_array *)self;
  PyObject *shape = PyTuple_New(a->rank);
  for (int i = 0; shape && i < a->rank; i++) PyTuple_SetItem(shape, i, PyLong_FromLongLong(a->shape[i]));
  return shape;
}

static PyObject *get_dtype(PyObject *self, void *unused) {
  (void)unused;
  PyObject *dtype = py.dtypes[((py_array *)self)->dtype];
  return dtype ? Py_NewRef(dtype) : PyErr_Format(PyExc_RuntimeError, "the package is not set up");
}

static PyObject *get_rank(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(((py_array *)self)->rank);
}

/* "traced", "recorded", "computed" */
static PyObject *get_state(PyObject *self, void *unused) {
  (void)unused;
  const py_array *a = (py_array *)self;
  bool computed = a->block || (a->tensor && vf_tensor_is_realised(a->tensor));
  return PyUnicode_FromString(a->graph ? "traced" : computed ? "computed" : "recorded");
}

/* The letters of the axes, _ where one has none; None where no axis has one. */
static PyObject *get_axes(PyObject *self, void *unused) {
  (void)unused;
  py_array *a = (py_array *)self;
  char letters[PY_RANK + 1];
  if (!a->graph && !a->tensor) Py_RETURN_NONE;
  if (!a->graph && !py_session_enter()) return NULL;
  int rank = vf_value_letters(a->graph ? a->value : vf_tensor_value(a->tensor), letters);
  if (!a->graph) py_session_leave();
  if (rank < 0 || (int)strspn(letters, "_") == rank) Py_RETURN_NONE;
  return PyUnicode_FromString(letters);
}

/* The operation that makes the value, on one line; None where it has elements alone. */
static PyObject *get_expression(PyObject *self, void *unused) {
  (void)unused;
  py_array *a = (py_array *)self;
  if (!a->graph && !a->tensor) Py_RETURN_NONE;
  if (!a->graph && !py_session_enter()) return NULL;
  vf_value value = a->graph ? a->value : vf_tensor_value(a->tensor);
  char *text = vf_value_text(value);
  PyObject *result = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
  vf_text_free(py.context, text);
  if (!a->graph) py_session_leave();
  return result;
}

/* The expression of a size, as text: "n//4". */
static PyObject *size_text(PyObject *self, PyObject *number) {
  py_array *a = (py_array *)self;
  long axis = PyLong_AsLong(number);
  if (PyErr_Occurred()) return NULL;
  if (!a->graph || axis < 0 || axis >= a->rank)
    return PyErr_Format(PyExc_IndexError, "there is no axis %ld", axis);
  char *text = vf_value_text(vf_op_size(a->value, (int)axis));
  PyObject *result = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
  vf_text_free(py.context, text);
  return result;
}

static PyObject *realise(PyObject *self, PyObject *none) {
  (void)none;
  return py_array_data((py_array *)self) ? Py_NewRef(self) : NULL;
}

static PyObject *to_bytes(PyObject *self, PyObject *none) {
  (void)none;
  const void *data = py_array_data((py_array *)self);
  return data ? PyBytes_FromStringAndSize(data, (Py_ssize_t)py_array_bytes((py_array *)self)) : NULL;
}

/* Another array of what this one stands for: `a[i] = b` on one of them leaves the other. */
/* The array that a view was made of, borrowed; NULL: there is none, or it is gone. */
static PyObject *whole_of(const py_array *a) {
  PyObject *whole = a->whole ? PyWeakref_GetObject(a->whole) : NULL;
  return whole == Py_None ? NULL : whole;
}

void py_array_is_view(PyObject *view, py_array *of) {
  py_array *a = (py_array *)view;
  PyObject *whole = whole_of(of);
  a->whole = PyWeakref_NewRef(whole ? whole : (PyObject *)of, NULL);
  if (!a->whole) PyErr_Clear(); /* nothing is told then */
}

static PyObject *get_whole(PyObject *self, void *closure) {
  (void)closure;
  PyObject *whole = whole_of((py_array *)self);
  return Py_NewRef(whole ? whole : Py_None);
}

static PyObject *another(PyObject *self, PyObject *none) {
  (void)none;
  py_array *a = (py_array *)self, *made = py_array_share(a);
  if (made && a->graph) {
    made->graph = (py_graph *)Py_NewRef((PyObject *)a->graph);
    made->value = a->value;
  }
  return (PyObject *)made;
}

/* The array becomes what another one is: for `a[i] = b`. */
static PyObject *become(PyObject *self, PyObject *other) {
  if (!py_is_array(other)) return PyErr_Format(PyExc_TypeError, "takes an array");
  py_array *to = (py_array *)self, *from = (py_array *)other;
  if (to->scope < py_scope)
    return PyErr_Format(PyExc_TypeError,
                        "an array is written in a function that is traced (of jit, of a loop, a condition, "
                        "a map) and did not get it as an argument; make it one, and return it: "
                        "a loop passes its carry on so, a = vf.fori_loop(0, n, body, a)");
  py_block *block = to->block;
  vf_tensor *tensor = to->tensor;
  py_graph *graph = to->graph;
  if (from->block) atomic_fetch_add_explicit(&from->block->uses, 1, memory_order_relaxed);
  vf_tensor_retain(from->tensor);
  Py_XINCREF((PyObject *)from->graph);
  memcpy(&to->block, &from->block, offsetof(py_array, strides) - offsetof(py_array, block));
  py_block_release(block);
  vf_tensor_release(tensor);
  Py_XDECREF((PyObject *)graph);
  Py_CLEAR(to->whole);
  Py_RETURN_NONE;
}

static PyObject *array_make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)type, (void)args, (void)kwargs;
  return PyErr_Format(PyExc_TypeError, "arrays are made by vf.array, vf.zeros and other functions");
}

static PyGetSetDef questions[] = {
    {"_sizes", get_shape, NULL, "The sizes, -1 where one is known in runs alone.", NULL},
    {"dtype", get_dtype, NULL, "The dtype of the elements.", NULL},
    {"ndim", get_rank, NULL, "How many axes there are.", NULL},
    {"_state", get_state, NULL, "traced, recorded or computed.", NULL},
    {"axes", get_axes, NULL, "The letters of the axes, as vf.name_axes gives them; None: no axis has one.",
     NULL},
    {"_whole", get_whole, NULL, "The array of which this is a view, while there is one.", NULL},
    {"_expression", get_expression, NULL, "The operation that makes the value.", NULL},
    {0},
};

static PyMethodDef methods[] = {
    PY_METHOD("_size_text", size_text, METH_O, "The size of an axis, as an expression of variables."),
    PY_METHOD("_another", another, METH_NOARGS, "Another array of the same elements."),
    PY_METHOD("realise", realise, METH_NOARGS, "Compute the elements now. Returns the array."),
    PY_METHOD("tobytes", to_bytes, METH_NOARGS, "The elements as bytes, in row-major order."),
    PY_METHOD("_become", become, METH_O, "Stand for what another array is."),
    PY_METHOD("_part", py_array_part, METH_O, "The part that a device has, as slices."),
    PY_METHOD("__dlpack__", py_array_dlpack, METH_VARARGS | METH_KEYWORDS,
              "The elements for another library."),
    {0},
};

static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(py_array, weak), READONLY, NULL},
                                {0}};

static PyType_Slot slots[] = {{Py_tp_dealloc, array_free},
                              {Py_tp_new, array_make},
                              {Py_tp_getset, questions},
                              {Py_tp_members, members},
                              {Py_tp_methods, methods},
                              {Py_bf_getbuffer, py_array_get_buffer},
                              {0, NULL}};
PyType_Spec py_array_spec = {"viewfold._native.Array", sizeof(py_array), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
