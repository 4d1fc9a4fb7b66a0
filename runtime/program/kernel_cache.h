/* The code of kernels: from memory, from disk (kind "code"), or compiled. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_KERNEL_CACHE_H
#define VIEWFOLD_RUNTIME_PROGRAM_KERNEL_CACHE_H

#include "runtime/cache/kernel_key.h"
#include "runtime/image/image.h"
#include "runtime/runtime.h"

/* Gets the image of each of `count` different kernels, allocated from the context's memory: images[i] is for
 * keys[i]. Missing ones are compiled, each as one job, on as many threads as there are. `name` is the
 * graph's, for messages. On failure all images are freed. Once the task ends, no further kernel is begun:
 * IR_ERR_CANCELLED; those that are done are kept. Adds to stats. */
ir_status rt_kernels_get(rt_context *context, const char *name, ir_task *task, const rt_kernel_key *keys,
                         size_t count, rt_flat *images, rt_stats *stats, ir_error *error);

/* Frees a value of the table of kernels in memory. */
void rt_kernel_drop(void *kernel);

#endif
