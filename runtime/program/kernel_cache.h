/* Code of kernels: kept in memory, kept on disk (kind "code"), or compiled. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_KERNEL_CACHE_H
#define VIEWFOLD_RUNTIME_PROGRAM_KERNEL_CACHE_H

#include "runtime/cache/kernel_key.h"
#include "runtime/image/image.h"
#include "runtime/runtime.h"

/* The image of each of `count` different kernels, allocated from the context's memory: images[i] is for
 * keys[i]. What is missing is compiled, each kernel in one piece, on as many threads as there are. `name` is
 * the graph's. On failure all images are freed. Adds to stats. */
ir_status rt_kernels_get(rt_context *context, const char *name, const rt_kernel_key *keys, size_t count,
                         rt_flat *images, rt_stats *stats, ir_error *error);

/* Frees what the table of kernels in memory holds. */
void rt_kernel_drop(void *kernel);

#endif
