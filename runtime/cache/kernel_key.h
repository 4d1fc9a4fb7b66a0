/* A kernel as canonical bytes, and back.
 *
 * The bytes list the kernel's nodes in the order in which the KERNEL node needs them, sources as distances
 * back in that list, variables by number instead of name. Kernels that differ only in naming, or in the graph
 * around them, give the same bytes. Code is made from a graph made from these bytes, so the bytes are all
 * that code generation can read of a kernel: with the target and the versions of the tools they are a
 * complete cache key. */
#ifndef VIEWFOLD_RUNTIME_CACHE_KERNEL_KEY_H
#define VIEWFOLD_RUNTIME_CACHE_KERNEL_KEY_H

#include "ir/ir.h"

enum { RT_SYMBOL = 96 };

typedef struct rt_kernel_key {
  uint8_t *bytes;
  size_t size, cap;
  char symbol[RT_SYMBOL]; /* of the function: a few of its operations, its result's dtype, a digest of the
                             bytes */
} rt_kernel_key;

/* IR_ERR_INTERNAL when the node is no KERNEL or holds nodes that a kernel may not hold. */
ir_status rt_kernel_key_make(const ir_mem *mem, const ir_graph *graph, ir_ref kernel, rt_kernel_key *out,
                             ir_error *error);
/* The same of what a kernel is made of before its loops are shaped: a STORE, an UPDATE or a SEQ of them. */
ir_status rt_effect_key_make(const ir_mem *mem, const ir_graph *graph, ir_ref effect, rt_kernel_key *out,
                             ir_error *error);
void rt_kernel_key_free(const ir_mem *mem, rt_kernel_key *key);

/* Make the kernel again in an empty graph. */
ir_status rt_kernel_key_read(const rt_kernel_key *key, ir_graph *graph, ir_ref *kernel, ir_error *error);

#endif
