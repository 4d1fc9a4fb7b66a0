/* A kernel as canonical bytes, and back.
 *
 * The bytes list the kernel's nodes, sources before users. A source is written as its distance back in that
 * list, a variable as a number instead of its name. Kernels that differ only in names, or in the graph around
 * them, have the same bytes. Code is generated from a graph that was built from these bytes, so they are all
 * that code generation can read of a kernel: together with the target and the versions of the tools they are
 * a complete cache key. */
#ifndef VIEWFOLD_RUNTIME_CACHE_KERNEL_KEY_H
#define VIEWFOLD_RUNTIME_CACHE_KERNEL_KEY_H

#include "ir/ir.h"

enum { RT_SYMBOL = 96 };

typedef struct rt_kernel_key {
  uint8_t *bytes;
  size_t size, cap;
  char symbol[RT_SYMBOL]; /* the function's name: a few of its operations, its result's dtype, a digest of the
                             bytes */
} rt_kernel_key;

/* IR_ERR_INTERNAL when the node is not a KERNEL, or needs nodes that a kernel may not hold. */
ir_status rt_kernel_key_make(const ir_mem *mem, const ir_graph *graph, ir_ref kernel, rt_kernel_key *out,
                             ir_error *error);
/* The same for the contents of a kernel before its loop nest is chosen: a STORE, an UPDATE or a SEQ of
 * them. */
ir_status rt_effect_key_make(const ir_mem *mem, const ir_graph *graph, ir_ref effect, rt_kernel_key *out,
                             ir_error *error);
void rt_kernel_key_free(const ir_mem *mem, rt_kernel_key *key);

/* Rebuild the kernel in an empty graph. */
ir_status rt_kernel_key_read(const rt_kernel_key *key, ir_graph *graph, ir_ref *kernel, ir_error *error);

#endif
