/* Arrays of other libraries as tensors, and tensors as arrays for them, by the structures of DLPack. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/session/dlpack_layout.h"
#include "frontend/session/lazy.h"

/* dtypes */

typedef struct dtype_row {
  uint8_t code, bits;
  vf_dtype dtype;
} dtype_row;
static const dtype_row dtypes[] = {
    {DLPACK_BOOL, 8, VF_BOOL},  {DLPACK_INT, 8, VF_I8},       {DLPACK_UINT, 8, VF_U8},
    {DLPACK_INT, 16, VF_I16},   {DLPACK_UINT, 16, VF_U16},    {DLPACK_INT, 32, VF_I32},
    {DLPACK_UINT, 32, VF_U32},  {DLPACK_INT, 64, VF_I64},     {DLPACK_UINT, 64, VF_U64},
    {DLPACK_FLOAT, 16, VF_F16}, {DLPACK_BFLOAT, 16, VF_BF16}, {DLPACK_FLOAT, 32, VF_F32},
    {DLPACK_FLOAT, 64, VF_F64}};
enum { COMPLEX = 5 }; /* kDLComplex of DLPack */
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static vf_dtype dtype_of(const dlpack_tensor *t) {
  for (int i = 0; i < DTYPES; i++)
    if (t->lanes == 1 && dtypes[i].code == t->code && dtypes[i].bits == t->bits) return dtypes[i].dtype;
  return VF_NONE;
}

static bool is_of_host(int32_t device) {
  return device == DLPACK_CPU || device == DLPACK_CUDA_HOST || device == DLPACK_ROCM_HOST;
}

/* from others */

static bool good_array(const dlpack_tensor *t, vf_error *error) {
  ir_error failure = {0};
  if (!is_of_host(t->device_type))
    ir_fail(&failure, IR_ERR_UNSUPPORTED,
            "from_dlpack: the array is on device %d:%d of DLPack; copy it to the host's memory (1:0) first",
            (int)t->device_type, (int)t->device_id);
  else if (dtype_of(t) == VF_NONE)
    ir_fail(&failure, IR_ERR_UNSUPPORTED,
            "from_dlpack: elements of code %d%s, %d bits and %d lanes; takes bool, integers and floats of 8 "
            "to 64 "
            "bits and one lane",
            t->code, t->code == COMPLEX ? ", which is complex numbers" : "", t->bits, t->lanes);
  else if (t->ndim < 0 || t->ndim > IR_MAX_RANK || (t->ndim && !t->shape))
    ir_fail(&failure, IR_ERR_INVALID, "from_dlpack: %d axes; takes 0 to %d, with their sizes", (int)t->ndim,
            IR_MAX_RANK);
  return fe_report(error, &failure) == VF_OK;
}

static bool is_dense(const dlpack_tensor *t) {
  int64_t expected = 1;
  bool dense = true;
  for (int i = t->ndim; t->strides && i-- > 0;) {
    dense &= t->shape[i] == 1 || t->strides[i] == expected;
    expected *= t->shape[i];
  }
  for (int i = 0; i < t->ndim; i++) dense |= t->shape[i] == 0;
  return dense;
}

/* A tensor of the array, which release(.., user) gives back. */
static vf_tensor *adopt_array(vf_context *c, const dlpack_tensor *t, vf_release release, void *user,
                              vf_error *error) {
  vf_dtype dtype = dtype_of(t);
  const uint8_t *at = t->data ? (const uint8_t *)t->data + t->byte_offset : NULL;
  if (is_dense(t)) return vf_tensor_adopt(c, dtype, t->ndim, t->shape, at, release, user, error);
  int64_t first, extent = vf_strided_extent(t->ndim, t->shape, t->strides, &first);
  if (at) at -= first * (int64_t)vf_dtype_bytes(dtype);
  vf_tensor *flat = vf_tensor_adopt(c, dtype, 1, &extent, at, release, user, error);
  if (!flat) return NULL;
  vf_tensor *made = vf_tensor_keep(vf_strided(vf_tensor_value(flat), t->ndim, t->shape, t->strides), error);
  vf_tensor_release(flat);
  return made;
}

static void release_old(const void *elements, void *user) {
  struct DLManagedTensor *array = user;
  (void)elements;
  if (array->deleter) array->deleter(array);
}

static void release_versioned(const void *elements, void *user) {
  struct DLManagedTensorVersioned *array = user;
  (void)elements;
  if (array->deleter) array->deleter(array);
}

static bool is_given(const void *array, vf_error *error) {
  ir_error failure = {0};
  if (!array) ir_fail(&failure, IR_ERR_INVALID, "from_dlpack: the array is NULL");
  return fe_report(error, &failure) == VF_OK;
}

vf_tensor *vf_tensor_from_dlpack(vf_context *c, struct DLManagedTensor *array, vf_error *error) {
  if (!is_given(array, error)) return NULL;
  if (good_array(&array->tensor, error)) return adopt_array(c, &array->tensor, release_old, array, error);
  release_old(NULL, array);
  return NULL;
}

vf_tensor *vf_tensor_from_dlpack_versioned(vf_context *c, struct DLManagedTensorVersioned *array,
                                           vf_error *error) {
  ir_error failure = {0};
  if (!is_given(array, error)) return NULL;
  if (array->major != DLPACK_MAJOR)
    ir_fail(&failure, IR_ERR_UNSUPPORTED, "from_dlpack: the array is of version %u.%u of DLPack; takes %d",
            (unsigned)array->major, (unsigned)array->minor, DLPACK_MAJOR);
  if (fe_report(error, &failure) == VF_OK && good_array(&array->tensor, error))
    return adopt_array(c, &array->tensor, release_versioned, array, error);
  release_versioned(NULL, array);
  return NULL;
}

/* to others */

/* What is handed out: one of the two structures, and the lists that it points to. */
typedef struct handed {
  union {
    struct DLManagedTensor old;
    struct DLManagedTensorVersioned versioned;
  };
  vf_tensor *tensor;
  int64_t shape[IR_MAX_RANK], strides[IR_MAX_RANK];
} handed;

static void give_back(handed *h) {
  vf_tensor *tensor = h->tensor;
  vf_context *c = tensor->context;
  ir_free(&c->mem, h, sizeof *h); /* before the tensor, with which its context may go */
  vf_tensor_release(tensor);
}

static void delete_old(struct DLManagedTensor *self) { give_back(self->context); }
static void delete_versioned(struct DLManagedTensorVersioned *self) { give_back(self->context); }

static handed *hand_out(vf_tensor *tensor, dlpack_tensor *out, vf_error *error) {
  const void *data = vf_tensor_data(tensor, error);
  if (!data) return NULL;
  handed *h = ir_alloc(&tensor->context->mem, sizeof *h);
  if (!h) {
    ir_error failure = {0};
    ir_fail(&failure, IR_ERR_MEMORY, "out of memory for an array of DLPack");
    fe_report(error, &failure);
    return NULL;
  }
  int rank = vf_tensor_shape(tensor, h->shape);
  int64_t stride = 1;
  for (int i = rank; i-- > 0; stride *= h->shape[i]) h->strides[i] = stride;
  vf_dtype dtype = vf_tensor_dtype(tensor);
  const dtype_row *row = dtypes;
  while (row->dtype != dtype) row++;
  *out = (dlpack_tensor){.data = (void *)(uintptr_t)data,
                         .device_type = DLPACK_CPU,
                         .ndim = rank,
                         .code = row->code,
                         .bits = row->bits,
                         .lanes = 1,
                         .shape = h->shape,
                         .strides = h->strides};
  h->tensor = tensor;
  vf_tensor_retain(tensor);
  return h;
}

struct DLManagedTensor *vf_tensor_to_dlpack(vf_tensor *tensor, vf_error *error) {
  dlpack_tensor described;
  handed *h = hand_out(tensor, &described, error);
  if (!h) return NULL;
  h->old = (struct DLManagedTensor){described, h, delete_old};
  return &h->old;
}

struct DLManagedTensorVersioned *vf_tensor_to_dlpack_versioned(vf_tensor *tensor, vf_error *error) {
  dlpack_tensor described;
  handed *h = hand_out(tensor, &described, error);
  if (!h) return NULL;
  h->versioned = (struct DLManagedTensorVersioned){DLPACK_MAJOR,     DLPACK_MINOR,     h,
                                                   delete_versioned, DLPACK_READ_ONLY, described};
  return &h->versioned;
}
