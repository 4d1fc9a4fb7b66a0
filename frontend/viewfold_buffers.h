/* Arrays in the memory of others, strides included, and arrays handed to others; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_BUFFERS_H
#define VIEWFOLD_BUFFERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------- tensors */

/* A realised tensor whose elements stay where they are, dense and row-major, at an address that is a multiple
 * of the size of one element. Nobody may change them until release(elements, user) is called, once: when the
 * session needs them no longer, which it notices when it realises something, collects (vf_session_collect) or
 * ends; or before this call returns, where it fails. It is called in the thread that uses the session then;
 * NULL: it is not. Nothing writes to these elements. NULL after failing: a bad shape, dtype or address
 * (VF_ERR_INVALID), no memory. */
VF_API vf_tensor *vf_tensor_adopt(vf_context *context, vf_dtype dtype, int rank, const int64_t *shape,
                                  const void *elements, vf_release release, void *user, vf_error *error);

/* Of the functions of tensors, vf_tensor_retain and vf_tensor_release alone may be called from any thread at
 * any time, as collectors of garbage do. A tensor that was released is freed when its context is used next.
 */

/* --------------------------------------------------------------------------------------- strides */
/* The elements of an array that is not dense: element (i, j, ...) is i * strides[0] + j * strides[1] + ...
 * elements from the one at (0, 0, ...). Strides may be 0 (an axis that repeats) and negative (one that runs
 * backwards). Such an array is a view of the elements between the one at the lowest address and the one at
 * the highest, which are the buffer of a run: its address is that of the element at the lowest address.
 * Kernels read and write there; nothing is copied. */

/* How many elements that buffer has; 0 where a size is 0, -1 where 64 bits do not hold it, or an argument is
 * bad. *first: the index in it of the element at (0, 0, ...); NULL: not wanted. */
VF_API int64_t vf_strided_extent(int rank, const int64_t *shape, const int64_t *strides, int64_t *first);
/* The view of x, an array of one axis and vf_strided_extent elements. Of vf_address(x), or the target of a
 * reference, it is a target. Axes that overlap, as those of sliding windows, gather: they are read only. */
VF_API vf_value vf_strided(vf_value x, int rank, const int64_t *shape, const int64_t *strides);
/* vf_strided of an input of that name. */
VF_API vf_value vf_input_strided(vf_graph *graph, const char *name, vf_dtype dtype, int rank,
                                 const int64_t *shape, const int64_t *strides);
/* An output with strides: a reference (vf_ref_input) to such a buffer, seen through vf_strided, which
 * vf_ref_set stores to. What lies between its elements stays as it is. Axes neither overlap nor repeat.
 *
 * Donation, an output in the memory of an input, is a reference too: what vf_ref_get gives before the first
 * update is the input, and vf_ref_set stores the output in its place. Kernels write there directly where
 * nothing needs the old elements any more, and where something does, a copy is made first. */
VF_API vf_ref vf_ref_input_strided(vf_graph *graph, const char *name, vf_dtype dtype, int rank,
                                   const int64_t *shape, const int64_t *strides);

/* ---------------------------------------------------------------------------------------- DLPack */
/* Arrays of other libraries, by the structures of DLPack (dlpack.h), old and versioned (major version 1). */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* The elements of such an array as a realised tensor, by vf_tensor_adopt where they are dense; otherwise a
 * tensor that is a view of them, and not realised. The array belongs to the tensor from now on: its deleter
 * is called once, when the elements are not needed any more, or before this call returns, where it fails.
 * VF_ERR_INVALID: elements that are not aligned; VF_ERR_UNSUPPORTED: memory that is not the host's, a dtype
 * that viewfold lacks (complex numbers, several lanes, less than a byte), another major version, whose
 * deleter is then all that is looked at. */
VF_API vf_tensor *vf_tensor_from_dlpack(vf_context *context, struct DLManagedTensor *array, vf_error *error);
VF_API vf_tensor *vf_tensor_from_dlpack_versioned(vf_context *context, struct DLManagedTensorVersioned *array,
                                                  vf_error *error);
/* The elements of the tensor, which is realised, for others: dense, with strides, in the host's memory. The
 * array has a use of the tensor until its deleter is called, from any thread. Nobody may write to the
 * elements, as the flag of the versioned structure says; the old one cannot say it. NULL after failing. */
VF_API struct DLManagedTensor *vf_tensor_to_dlpack(vf_tensor *tensor, vf_error *error);
VF_API struct DLManagedTensorVersioned *vf_tensor_to_dlpack_versioned(vf_tensor *tensor, vf_error *error);

#ifdef __cplusplus
}
#endif
#endif
