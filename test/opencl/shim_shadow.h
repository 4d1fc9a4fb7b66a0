/* Corrections to Oclgrind's shadow memory, which records the bytes of buffers that were written, where it
 * errs (seen in 21.10):
 *
 * - It keeps the record of a released buffer, and uses it for the next one at the same address: that buffer
 *   appears too short or written already. So no buffer is released; a process has to end before its memory
 *   does.
 * - It forgets the record of a whole buffer when the host writes or copies a part of it. So a copy is a
 *   kernel, which also copies the record: unwritten bytes stay unwritten. A write by the host must cover the
 *   whole buffer. */
#ifndef VIEWFOLD_TEST_SHIM_SHADOW_H
#define VIEWFOLD_TEST_SHIM_SHADOW_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

/* clEnqueueCopyBuffer, for callers that do not wait for an event. */
cl_int shim_shadow_copy(const cl_icd_dispatch *real, cl_command_queue queue, cl_mem from, cl_mem to,
                        size_t from_offset, size_t to_offset, size_t size);

/* The program's text with its shuffles rewritten; NULL: out of memory. */
char *shim_shadow_text(const char *text);

#endif
