/* The table of functions by which other libraries take arrays without calls of Python: DLPack 1.3. */
#include "frontend/python/native/native.h"

#include <stdlib.h>

enum { MAJOR = 1, MINOR = 3, HOST = 1, READ_ONLY = 1 /* bit of the flags */ };

/* DLManagedTensorVersioned, and behind it what is ours. */
typedef struct managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct managed *self);
  uint64_t flags;
  py_dlpack_tensor tensor;
  py_block *block;
  vf_tensor *kept;
  int64_t shape[PY_RANK], strides[PY_RANK];
} managed;

typedef void (*set_error)(void *context, const char *kind, const char *message);

typedef struct table {
  uint32_t major, minor;
  const struct table *older;
  int (*allocate)(const py_dlpack_tensor *like, managed **out, void *context, set_error report);
  int (*from_object)(void *object, managed **out);
  int (*to_object)(managed *given, void **out);
  int (*describe)(void *object, py_dlpack_tensor *out);
  int (*stream)(int device_type, int32_t device_id, void **out);
} table;

/* From any thread. */
static void drop(managed *m) {
  py_block_release(m->block);
  vf_tensor_release(m->kept);
  free(m);
}

/* Describes dense elements; shape and strides are the caller's, of which the strides are written here. */
static py_dlpack_tensor describe_dense(const void *data, int dtype, int rank, int64_t *shape,
                                       int64_t *strides) {
  enum { SIGNED = 0, UNSIGNED = 1, FLOAT = 2, BFLOAT = 4, BOOL = 6 };
  static const uint8_t codes[] = {
      [VF_BOOL] = BOOL,   [VF_I8] = SIGNED,    [VF_U8] = UNSIGNED, [VF_I16] = SIGNED,   [VF_U16] = UNSIGNED,
      [VF_I32] = SIGNED,  [VF_U32] = UNSIGNED, [VF_I64] = SIGNED,  [VF_U64] = UNSIGNED, [VF_F16] = FLOAT,
      [VF_BF16] = BFLOAT, [VF_F32] = FLOAT,    [VF_F64] = FLOAT};
  int64_t stride = 1;
  for (int k = rank; k-- > 0; stride *= shape[k] ? shape[k] : 1) strides[k] = stride;
  return (py_dlpack_tensor){.data = (void *)(uintptr_t)data,
                            .device_type = HOST,
                            .ndim = rank,
                            .code = codes[dtype],
                            .bits = (uint8_t)(8 * vf_dtype_bytes((vf_dtype)dtype)),
                            .lanes = 1,
                            .shape = shape,
                            .strides = strides};
}

static managed *new_managed(const void *data, int dtype, int rank, const int64_t *shape, uint64_t flags) {
  managed *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  for (int k = 0; k < rank; k++) m->shape[k] = shape[k];
  m->major = MAJOR;
  m->minor = MINOR;
  m->deleter = drop;
  m->flags = flags;
  m->tensor = describe_dense(data, dtype, rank, m->shape, m->strides);
  return m;
}

/* The object as an array with elements; NULL with an exception. */
static py_array *with_elements(void *object, const void **data) {
  if (!py_is_array(object)) {
    PyErr_Format(PyExc_TypeError, "the exchange table of viewfold.Array is given a %R", Py_TYPE(object));
    return NULL;
  }
  return (*data = py_array_data(object)) ? object : NULL;
}

static int from_object(void *object, managed **out) {
  const void *data;
  py_array *a = with_elements(object, &data);
  if (!a) return -1;
  if (!(*out = new_managed(data, a->dtype, a->rank, a->shape, READ_ONLY))) {
    PyErr_NoMemory();
    return -1;
  }
  if (a->block) {
    atomic_fetch_add_explicit(&a->block->uses, 1, memory_order_relaxed);
    (*out)->block = a->block;
  } else {
    vf_tensor_retain(a->tensor);
    (*out)->kept = a->tensor;
  }
  return 0;
}

static int to_object(managed *given, void **out) {
  PyObject *capsule = PyCapsule_New(given, "dltensor_versioned", NULL);
  *out = capsule ? py_from_dlpack(NULL, capsule) : NULL;
  Py_XDECREF(capsule);
  return *out ? 0 : -1;
}

/* The description is good as long as the array exists and stands for the same elements. */
static int describe(void *object, py_dlpack_tensor *out) {
  const void *data;
  py_array *a = with_elements(object, &data);
  if (!a) return -1;
  if (!a->steps && !(a->steps = PyMem_Malloc(PY_RANK * sizeof *a->steps))) {
    PyErr_NoMemory();
    return -1;
  }
  *out = describe_dense(data, a->dtype, a->rank, a->shape, a->steps);
  return 0;
}

/* New memory, written by whoever asked. May be called without the GIL. */
static int allocate(const py_dlpack_tensor *like, managed **out, void *context, set_error report) {
  int dtype = py_dtype_of_dlpack(like, &(size_t){0});
  if (like->device_type != HOST || dtype == VF_NONE || like->ndim > PY_RANK) {
    report(context, "ValueError", "viewfold has host memory, at most 16 axes, and no complex numbers");
    return -1;
  }
  size_t bytes = vf_dtype_bytes((vf_dtype)dtype);
  for (int k = 0; k < like->ndim; k++)
    if (__builtin_mul_overflow(bytes, (size_t)like->shape[k], &bytes)) bytes = SIZE_MAX;
  PyGILState_STATE held = PyGILState_Ensure();
  py_block *block = py_block_make(bytes);
  PyErr_Clear();
  PyGILState_Release(held);
  *out = block ? new_managed(block->data, dtype, like->ndim, like->shape, 0) : NULL;
  if (*out) (*out)->block = block;
  else py_block_release(block);
  if (!*out) report(context, "MemoryError", "out of memory for the elements of an array");
  return *out ? 0 : -1;
}

/* The host has no streams. */
static int stream(int device_type, int32_t device_id, void **out) {
  (void)device_type, (void)device_id;
  *out = NULL;
  return 0;
}

PyObject *py_exchange_table(PyObject *module, PyObject *none) {
  static const table ours = {MAJOR, MINOR, NULL, allocate, from_object, to_object, describe, stream};
  (void)module, (void)none;
  return PyCapsule_New((void *)(uintptr_t)&ours, "dlpack_exchange_api", NULL);
}
