/* The structures of DLPack, as its specification (version 1.1) lays them out in memory. They have the names
 * there, which its own header typedefs, too. */
#ifndef VIEWFOLD_FRONTEND_SESSION_DLPACK_LAYOUT_H
#define VIEWFOLD_FRONTEND_SESSION_DLPACK_LAYOUT_H

#include <stdint.h>

enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 1 };

/* Kinds of devices whose memory the host reads: its own, and pinned memory of CUDA and ROCm. */
enum { DLPACK_CPU = 1, DLPACK_CUDA_HOST = 3, DLPACK_ROCM_HOST = 11 };

/* Codes of a dtype. */
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BFLOAT = 4, DLPACK_BOOL = 6 };

/* Flags of the versioned structure. */
enum { DLPACK_READ_ONLY = 1, DLPACK_IS_COPIED = 2 };

typedef struct dlpack_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides; /* strides in elements; NULL: dense and row-major */
  uint64_t byte_offset;     /* from data to the element at (0, 0, ...) */
} dlpack_tensor;

struct DLManagedTensor {
  dlpack_tensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  dlpack_tensor tensor;
};

#endif
