/* Elements of other libraries, and for them: buffers of Python, and capsules of DLPack. */
#include "frontend/python/native/native.h"

#include <string.h>

/* formats of buffers */

typedef struct format_row {
  int dtype;
  const char *format;
} format_row;
static const format_row formats[] = {
    {VF_BOOL, "?"}, {VF_I8, "b"},  {VF_U8, "B"},  {VF_I16, "h"}, {VF_U16, "H"}, {VF_I32, "i"}, {VF_U32, "I"},
    {VF_I64, "q"},  {VF_U64, "Q"}, {VF_F16, "e"}, {VF_F32, "f"}, {VF_F64, "d"}, {VF_I64, "l"}, {VF_U64, "L"}};
enum { FORMATS = sizeof formats / sizeof *formats };

int py_dtype_of_format(const char *format, Py_ssize_t item) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') format++;
  for (int i = 0; i < FORMATS; i++)
    if (format[0] == formats[i].format[0] && !format[1] &&
        (size_t)item == vf_dtype_bytes((vf_dtype)formats[i].dtype))
      return formats[i].dtype;
  return VF_NONE;
}

static const char *format_of(int dtype) {
  for (int i = 0; i < FORMATS; i++)
    if (formats[i].dtype == dtype) return formats[i].format;
  return NULL;
}

/* buffers to others */

int py_array_get_buffer(PyObject *self, Py_buffer *out, int flags) {
  py_array *a = (py_array *)self;
  const char *format = format_of(a->dtype);
  out->obj = NULL;
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError,
                    "elements of an array are not written to from outside; use a vf.Ref, or "
                    "numpy.array(x) for a copy");
    return -1;
  }
  if (!format) {
    PyErr_SetString(PyExc_BufferError,
                    "buffers of Python have no bfloat16; use x.astype(vf.float32), or DLPack");
    return -1;
  }
  const void *data = py_array_data(a);
  py_array *lent = data ? py_array_share(a) : NULL;
  if (lent && !(lent->strides = PyMem_Malloc(PY_RANK * sizeof *lent->strides))) {
    Py_DECREF((PyObject *)lent);
    PyErr_NoMemory();
    lent = NULL;
  }
  if (!lent) return -1;
  Py_ssize_t item = (Py_ssize_t)vf_dtype_bytes((vf_dtype)a->dtype), stride = item;
  for (int i = a->rank; i-- > 0; stride *= a->shape[i] ? (Py_ssize_t)a->shape[i] : 1)
    lent->strides[i] = stride;
  *out = (Py_buffer){.buf = (void *)(uintptr_t)data,
                     .obj = (PyObject *)lent,
                     .len = (Py_ssize_t)py_array_bytes(a),
                     .itemsize = item,
                     .readonly = 1,
                     .ndim = a->rank,
                     .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL,
                     .shape = flags & PyBUF_ND ? (Py_ssize_t *)lent->shape : NULL,
                     .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? lent->strides : NULL};
  return 0;
}

/* buffers from others */

static bool is_dense(const Py_buffer *b) {
  Py_ssize_t stride = b->itemsize;
  for (int i = b->ndim; i-- > 0;) {
    if (b->shape[i] != 1 && b->strides[i] != stride) return b->len == 0;
    stride *= b->shape[i];
  }
  return true;
}

/* A block that is the buffer, or a copy of it. The buffer is released, or the block's. NULL with an
 * exception. */
static py_block *block_of(Py_buffer *b, bool copy) {
  size_t align = (size_t)b->itemsize;
  py_block *block = py_block_make(copy ? (size_t)b->len : 0);
  if (block && copy && PyBuffer_ToContiguous(block->data, b, b->len, 'C') < 0) {
    py_block_release(block);
    block = NULL;
  }
  Py_buffer *kept = block && !copy ? PyMem_Malloc(sizeof *kept) : NULL;
  if (kept && (uintptr_t)b->buf % align == 0) {
    *kept = *b;
    block->lent = kept;
    block->data = b->buf;
    block->bytes = (size_t)b->len;
    return block;
  }
  PyMem_Free(kept);
  PyBuffer_Release(b);
  return block;
}

/* What to do with elements of a format that has no dtype. */
static const char *advice(const char *format) {
  static const struct {
    const char *letters, *text;
  } kinds[] = {
      {"ws", "these are strings: give numbers that stand for them"},
      {"O", "these are objects of Python: give a.astype('float32')"},
      {"Z", "these are complex: give a.real and a.imag"},
      {"g", "these are long doubles: give a.astype('float64')"},
      {"T", "these are records: give a field, a['name']"},
      {"><!",
       "these are in the order of bytes of another machine: give a.astype(a.dtype.newbyteorder('='))"}};
  format += strspn(format, "@=0123456789");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && *format; i++)
    if (strchr(kinds[i].letters, *format)) return kinds[i].text;
  return "takes at most 16 axes, and bool, integers and floats of 8 to 64 bits";
}

static void refuse_format(const Py_buffer *b) {
  const char *format = b->format ? b->format : "";
  PyErr_Format(PyExc_TypeError, "an array of %d axes and elements of the format '%s' (%zd bytes); %s",
               b->ndim, format, b->itemsize, advice(format));
}

PyObject *py_array_of_buffer(PyObject *object, bool copy) {
  PyObject *plain = py_check_plain(NULL, object);
  Py_buffer *b = plain ? PyMem_Malloc(sizeof *b) : NULL;
  Py_XDECREF(plain);
  if (!plain) return NULL;
  if (!b) return PyErr_NoMemory();
  if (!PyObject_CheckBuffer(object) || PyObject_GetBuffer(object, b, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
    PyMem_Free(b);
    PyErr_Clear();
    return NULL;
  }
  PyObject *made = NULL;
  int64_t shape[PY_RANK];
  int dtype = py_dtype_of_format(b->format, b->itemsize), rank = b->ndim;
  for (int i = 0; i < rank && i < PY_RANK; i++) shape[i] = b->shape[i];
  if (dtype == VF_NONE || rank > PY_RANK) {
    refuse_format(b);
    PyBuffer_Release(b);
  } else {
    bool aligned = (uintptr_t)b->buf % (size_t)b->itemsize == 0;
    py_block *block = block_of(b, copy || !aligned || !is_dense(b));
    if (block) made = py_array_of_block(block, dtype, rank, shape);
  }
  PyMem_Free(b);
  return made;
}

PyObject *py_from_buffer(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *object;
  int copy = 1;
  if (!PyArg_ParseTuple(args, "O|p", &object, &copy)) return NULL;
  PyObject *made = py_array_of_buffer(object, copy);
  if (made || PyErr_Occurred()) return made;
  Py_RETURN_NONE;
}

PyObject *py_from_bytes(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer bytes;
  PyObject *sizes;
  int dtype;
  int64_t shape[PY_RANK];
  if (!PyArg_ParseTuple(args, "y*iO!", &bytes, &dtype, &PyTuple_Type, &sizes)) return NULL;
  Py_ssize_t rank = PyTuple_Size(sizes);
  size_t expected = vf_dtype_bytes((vf_dtype)dtype);
  for (Py_ssize_t i = 0; i < rank && i < PY_RANK; i++) {
    shape[i] = PyLong_AsLongLong(PyTuple_GetItem(sizes, i));
    expected *= (size_t)shape[i];
  }
  py_block *block = NULL;
  if (PyErr_Occurred()) block = NULL;
  else if (rank > PY_RANK || expected != (size_t)bytes.len)
    PyErr_Format(PyExc_ValueError, "%zd bytes of elements; the shape takes %zu", bytes.len, expected);
  else block = py_block_make(expected);
  if (block && expected) memcpy(block->data, bytes.buf, expected);
  PyBuffer_Release(&bytes);
  return block ? py_array_of_block(block, dtype, (int)rank, shape) : NULL;
}

/* DLPack */

#define OLD            "dltensor"
#define VERSIONED      "dltensor_versioned"
#define USED_OLD       "used_dltensor"
#define USED_VERSIONED "used_dltensor_versioned"

/* Both structures end in a way that only their own deleter knows: found by position, after the tensor (old),
 * or after version and context (versioned). */
typedef struct old_head {
  char tensor[48];
  void *context;
  void (*deleter)(void *self);
} old_head;
typedef struct versioned_head {
  uint32_t major, minor;
  void *context;
  void (*deleter)(void *self);
  uint64_t flags;
} versioned_head;
enum { IS_COPIED = 2 }; /* flags: the elements are nobody else's, and may be written to */

static void drop_capsule(PyObject *capsule) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  old_head *old = PyCapsule_IsValid(capsule, OLD) ? PyCapsule_GetPointer(capsule, OLD) : NULL;
  versioned_head *versioned =
      PyCapsule_IsValid(capsule, VERSIONED) ? PyCapsule_GetPointer(capsule, VERSIONED) : NULL;
  if (old) old->deleter(old);
  if (versioned) versioned->deleter(versioned);
  PyErr_Restore(type, value, trace);
}

/* Gives the array a tensor, for functions that take one. */
static bool ensure_tensor(py_array *a) {
  if (a->tensor) return true;
  if (!a->block) return py_array_data(a) != NULL;
  py_operand operand = {.kind = PY_ARRAY, .array = a};
  vf_value value;
  if (!py_session_enter()) return false;
  py_session_adopts();
  bool good = py_operand_value(&operand, NULL, &value);
  py_session_leave();
  return good;
}

PyObject *py_array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &version, &device, &copy))
    return NULL;
  int64_t major = 0, kind = 1;
  if ((version != Py_None && !py_read_integers(version, &major, 1)) ||
      (device != Py_None && !py_read_integers(device, &kind, 1)))
    return NULL;
  if (kind != 1) return PyErr_Format(PyExc_BufferError, "arrays are in the host's memory, device (1, 0)");
  PyObject *made = NULL;
  vf_error error;
  py_array *a = (py_array *)self;
  if (copy == Py_True) {
    py_block *block = py_array_data(a) ? py_block_make(py_array_bytes(a)) : NULL;
    if (!block) return NULL;
    memcpy(block->data, py_array_data(a), py_array_bytes(a));
    if (!(made = py_array_of_block(block, a->dtype, a->rank, a->shape))) return NULL;
    a = (py_array *)made;
  }
  PyObject *capsule = NULL;
  if (ensure_tensor(a) && py_array_data(a) && py_session_enter()) {
    void *given = major >= 1 ? (void *)vf_tensor_to_dlpack_versioned(a->tensor, &error)
                             : (void *)vf_tensor_to_dlpack(a->tensor, &error);
    py_session_leave();
    if (given && made && major >= 1) ((versioned_head *)given)->flags = IS_COPIED;
    if (!given) py_raise_error(&error);
    else capsule = PyCapsule_New(given, major >= 1 ? VERSIONED : OLD, drop_capsule);
  }
  Py_XDECREF(made);
  return capsule;
}

PyObject *py_from_dlpack(PyObject *module, PyObject *capsule) {
  (void)module;
  vf_error error;
  bool versioned = PyCapsule_IsValid(capsule, VERSIONED);
  void *given = PyCapsule_GetPointer(capsule, versioned ? VERSIONED : OLD);
  if (!given || !py_context() || !py_session_enter()) return NULL;
  PyCapsule_SetName(capsule, versioned ? USED_VERSIONED : USED_OLD);
  py_session_adopts();
  vf_tensor *tensor = versioned ? vf_tensor_from_dlpack_versioned(py.context, given, &error)
                                : vf_tensor_from_dlpack(py.context, given, &error);
  PyObject *made = tensor ? py_array_of_tensor(tensor) : py_raise_error(&error);
  py_session_leave();
  return made;
}
