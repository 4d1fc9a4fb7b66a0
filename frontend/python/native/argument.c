/* Arguments of calls, read where they lie: arrays of ours and of NumPy, of libraries with the exchange table
 * of DLPack, and buffers. None of these takes a use of the object: the caller of the call has one. */
#include "frontend/python/native/native.h"

#include <string.h>

/* NumPy */

/* The beginning of an array and of its dtype in memory: fixed by NumPy's C API, whose macros read these
 * members. It has had two binary versions with this layout, which the first entry of its table of functions
 * tells. */
typedef struct numpy_dtype {
  PyObject_HEAD PyObject *scalar;
  char kind, letter, byte_order, reserved;
  int number;
} numpy_dtype;
typedef struct numpy_array {
  PyObject_HEAD void *data;
  int rank;
  Py_ssize_t *shape, *strides;
  PyObject *base;
  numpy_dtype *dtype;
  int flags;
} numpy_array;
enum { NUMPY_1 = 0x01000009, NUMPY_2 = 0x02000000 };
enum { NUMPY_DENSE = 1, NUMPY_ALIGNED = 0x100, NUMPY_WRITABLE = 0x400 };
/* by NumPy's number of a dtype */
static const uint8_t numpy_dtypes[] = {VF_BOOL, VF_I8,  VF_U8,  VF_I16, VF_U16, VF_I32, VF_U32,
                                       VF_I64,  VF_U64, VF_I64, VF_U64, VF_F32, VF_F64};
enum { NUMPY_HALF = 23 };

static PyTypeObject *numpy_type; /* NULL: NumPy is not loaded, or unknown */

static void find_numpy(void) {
  static bool looked;
  PyObject *modules = looked ? NULL : PyImport_GetModuleDict();
  PyObject *numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;
  if (!numpy) return;
  looked = true;
  PyObject *core = PyDict_GetItemString(modules, "numpy._core._multiarray_umath");
  if (!core) core = PyDict_GetItemString(modules, "numpy.core._multiarray_umath");
  PyObject *table = core ? PyObject_GetAttrString(core, "_ARRAY_API") : NULL;
  void **functions = table ? PyCapsule_GetPointer(table, NULL) : NULL;
  unsigned version = functions ? ((unsigned (*)(void))functions[0])() : 0;
  if (version == NUMPY_1 || version == NUMPY_2)
    numpy_type = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
  Py_XDECREF(table);
  PyErr_Clear();
}

static bool read_numpy(const numpy_array *n, py_argument *a, py_access access) {
  unsigned number = (unsigned)n->dtype->number;
  if (number < sizeof numpy_dtypes) a->dtype = numpy_dtypes[number];
  else if (number == NUMPY_HALF) a->dtype = VF_F16;
  else return false;
  if (!(n->flags & NUMPY_ALIGNED) || n->dtype->byte_order == '>' || n->rank > PY_RANK) return false;
  if (access == PY_WRITE && !(n->flags & NUMPY_WRITABLE)) return false;
  a->data = n->data;
  a->rank = n->rank;
  a->shape = (const int64_t *)n->shape;
  a->strides = n->flags & NUMPY_DENSE ? NULL : n->strides;
  return true;
}

/* DLPack's exchange table */

/* The table of functions that a type has in a capsule, as the specification of DLPack 1.3 lays it out. The
 * function that describes an object gives away no use of it. */
typedef struct exchange_table {
  uint32_t major, minor;
  const struct exchange_table *older;
  void *allocate, *from_object, *to_object;
  py_describe *describe;
} exchange_table;

/* A type with a table, and where it is torch's, how it tells what DLPack does not say: whether derivatives
 * are taken of a tensor, and whether it stands for the negated elements. */
typedef struct exchanging {
  PyTypeObject *type;
  py_describe *describe;
  const PyGetSetDef *derived;
  const PyMethodDef *negated;
} exchanging;

/* The last types that were met: tensors and parameters come in one call. */
enum { KNOWN = 4 };
static exchanging known[KNOWN];

static const PyGetSetDef *find_getter(PyTypeObject *type, const char *name) {
  for (; type; type = PyType_GetSlot(type, Py_tp_base)) {
    const PyGetSetDef *row = PyType_GetSlot(type, Py_tp_getset);
    for (; row && row->name; row++)
      if (strcmp(row->name, name) == 0) return row;
  }
  return NULL;
}

/* A method without arguments. */
static const PyMethodDef *find_method(PyTypeObject *type, const char *name) {
  for (; type; type = PyType_GetSlot(type, Py_tp_base)) {
    const PyMethodDef *row = PyType_GetSlot(type, Py_tp_methods);
    for (; row && row->ml_name; row++)
      if (strcmp(row->ml_name, name) == 0) return row->ml_flags == METH_NOARGS ? row : NULL;
  }
  return NULL;
}

/* What is known of the type of the object; NULL: it has no table. */
static const exchanging *find_exchanging(PyObject *object) {
  static unsigned next;
  PyTypeObject *type = Py_TYPE(object);
  for (int i = 0; i < KNOWN; i++)
    if (known[i].type == type) return &known[i];
  PyObject *capsule = PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
  const exchange_table *table = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  while (table && table->major != 1) table = table->older;
  PyErr_Clear();
  Py_XDECREF(capsule);
  if (!table) return NULL;
  exchanging *e = &known[next++ % KNOWN];
  Py_XDECREF((PyObject *)e->type);
  *e = (exchanging){(PyTypeObject *)Py_NewRef((PyObject *)type), py_torch_describe(object, table->describe),
                    find_getter(type, "requires_grad"), find_method(type, "is_neg")};
  return e;
}

/* torch reads and writes such tensors unrecorded where it records nothing. An answer is True or False, which
 * stay. */
static bool is_recorded(const exchanging *e, PyObject *object) {
  if (!e->derived) return false;
  PyObject *derived = e->derived->get(object, e->derived->closure);
  Py_XDECREF(derived);
  return derived != Py_False && py_torch_records();
}

static bool is_negated(const exchanging *e, PyObject *object) {
  PyObject *negated = e->negated ? e->negated->ml_meth(object, NULL) : NULL;
  Py_XDECREF(negated);
  return negated && negated != Py_False;
}

/* by DLPack's code of a kind and, of the bytes of an element, the logarithm; 0: VF_NONE */
enum { DLPACK_KINDS = 7, DLPACK_MOST_BITS = 64 };
static const uint8_t dlpack_dtypes[DLPACK_KINDS][4] = {[0] = {VF_I8, VF_I16, VF_I32, VF_I64},
                                                       [1] = {VF_U8, VF_U16, VF_U32, VF_U64},
                                                       [2] = {VF_NONE, VF_F16, VF_F32, VF_F64},
                                                       [4] = {VF_NONE, VF_BF16},
                                                       [6] = {VF_BOOL}};

int py_dtype_of_dlpack(const py_dlpack_tensor *t, size_t *item) {
  unsigned bits = t->bits;
  if (t->lanes != 1 || t->code >= DLPACK_KINDS || bits < 8 || bits > DLPACK_MOST_BITS || (bits & (bits - 1)))
    return VF_NONE;
  *item = bits / 8;
  return dlpack_dtypes[t->code][__builtin_ctz((unsigned)*item)];
}

/* Whether a tensor is negated takes torch 50 ns to say. They are made of the imaginary parts of complex
 * numbers, which are 2 elements apart, or one. */
static inline bool read_exchange(const exchanging *e, PyObject *object, py_argument *a, py_access access) {
  py_dlpack_tensor t;
  size_t item = 0;
  if (access != PY_LOOK && is_recorded(e, object)) {
    if (access == PY_WRITE)
      PyErr_SetString(PyExc_ValueError,
                      "out is a tensor that requires a gradient, which would not be of what is written; "
                      "out=t.detach(), or call it inside of `with torch.no_grad():`");
    return false;
  }
  if (e->describe(object, &t) != 0) {
    PyErr_Clear();
    return false;
  }
  a->dtype = py_dtype_of_dlpack(&t, &item);
  if (t.device_type != 1 || a->dtype == VF_NONE || t.ndim > PY_RANK) return false;
  a->data = (const char *)t.data + t.byte_offset;
  if ((a->odd = ((uintptr_t)a->data & (item - 1)) != 0)) return false;
  a->rank = t.ndim;
  a->shape = t.shape;
  a->strides = NULL;
  int64_t stride = 1;
  for (int k = t.ndim; k-- > 0 && t.strides; stride *= t.shape[k])
    if (t.strides[k] != stride && t.shape[k] != 1) {
      for (int i = 0; i < t.ndim; i++) a->bytes[i] = t.strides[i] * (Py_ssize_t)item;
      a->strides = a->bytes;
      break;
    }
  return (!a->strides && stride != 1) || !is_negated(e, object);
}

/* buffers */

/* The class by this name of a module that is loaded; NULL: there is none. */
static PyObject *loaded_class(const char *module, const char *name) {
  PyObject *found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  PyObject *class = found ? PyObject_GetAttrString(found, name) : NULL;
  PyErr_Clear();
  return class;
}

bool py_buffer_is_plain(PyObject *object) {
  static const struct {
    const char *module, *name, *advice;
  } kinds[] = {
      {"numpy.ma", "MaskedArray",
       "a masked array of NumPy has no elements where it is masked; give a.filled(0), and use "
       "vf.where(mask, x, y)"},
      {"numpy", "matrix",
       "numpy.matrix has operators of its own; give numpy.asarray(a), of which a @ b is the product"}};
  static PyTypeObject *plain; /* the last type that was asked */
  PyTypeObject *type = Py_TYPE(object);
  if (!numpy_type || type == plain || type == numpy_type || !PyType_IsSubtype(type, numpy_type)) return true;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    PyObject *class = loaded_class(kinds[i].module, kinds[i].name);
    bool is = class && PyObject_TypeCheck(object, (PyTypeObject *)class);
    Py_XDECREF(class);
    if (!is) continue;
    PyErr_SetString(PyExc_TypeError, kinds[i].advice);
    return false;
  }
  PyTypeObject *old = plain;
  plain = (PyTypeObject *)Py_NewRef((PyObject *)type);
  Py_XDECREF((PyObject *)old);
  return true;
}

PyObject *py_check_plain(PyObject *module, PyObject *object) {
  (void)module;
  if (!numpy_type) find_numpy();
  return py_buffer_is_plain(object) ? Py_NewRef(object) : NULL;
}

/* all of them */

static bool read_array(py_array *array, py_argument *a, py_access access) {
  if (array->graph || access == PY_WRITE) return false;
  if (!(a->data = array->block ? array->block->data : py_array_data(array))) return false;
  a->dtype = array->dtype;
  a->rank = array->rank;
  a->shape = array->shape;
  a->strides = NULL;
  return true;
}

static bool read_buffer(PyObject *object, py_argument *a, py_access access) {
  if (!py_buffer_is_plain(object)) return false;
  int flags = PyBUF_STRIDES | PyBUF_FORMAT | (access == PY_WRITE ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object, &a->buffer, flags) < 0) {
    PyErr_Clear();
    return false;
  }
  const Py_buffer *b = &a->buffer;
  a->held = true;
  a->data = b->buf;
  a->rank = b->ndim;
  a->shape = (const int64_t *)b->shape;
  a->strides = b->strides;
  a->dtype = py_dtype_of_format(b->format, b->itemsize);
  a->odd = a->dtype != VF_NONE && (uintptr_t)b->buf % (size_t)b->itemsize != 0;
  return a->dtype != VF_NONE && a->rank <= PY_RANK && !a->odd;
}

PyObject *py_check_aligned(PyObject *module, PyObject *object) {
  (void)module;
  py_argument a = {.odd = false};
  if (!numpy_type) find_numpy();
  if (PyObject_CheckBuffer(object)) read_buffer(object, &a, PY_LOOK);
  py_arguments_release(&a, 1);
  if (!PyErr_Occurred() && a.odd) PyErr_SetString(PyExc_BufferError, "its elements are not aligned");
  return PyErr_Occurred() ? NULL : Py_NewRef(object);
}

/* The types that are usual are told by their address. */
bool py_argument_read(PyObject *object, py_argument *a, py_access access) {
  PyTypeObject *type = Py_TYPE(object);
  a->held = a->odd = false;
  if ((PyObject *)type == py.array_class) return read_array((py_array *)object, a, access);
  if (!numpy_type) find_numpy();
  if (type == numpy_type) return read_numpy((const numpy_array *)object, a, access);
  if (type == known->type) return read_exchange(known, object, a, access);
  if (py_is_array(object)) return read_array((py_array *)object, a, access);
  if (PyObject_CheckBuffer(object)) return read_buffer(object, a, access);
  const exchanging *e = find_exchanging(object);
  return e && read_exchange(e, object, a, access);
}

const void *py_argument_lowest(const py_argument *a) {
  const char *at = a->data;
  for (int k = 0; k < a->rank && a->strides; k++)
    if (a->strides[k] < 0) at += (a->shape[k] - 1) * a->strides[k];
  return at;
}
