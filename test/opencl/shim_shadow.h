/* What Oclgrind knows of the bytes of buffers, whether somebody wrote them, put right where it errs (seen
 * in 21.10):
 *
 *  - It keeps what it knew of a buffer when that is released, and takes it for the next one in its place:
 * such a buffer is too short or written already. So no buffer is released; a process has to end before its
 * memory does.
 *  - It forgets what it knew of a whole buffer when the host writes or copies a part. So a copy is a kernel,
 * which also copies what is known: bytes that nobody wrote stay that. What the host writes, it has to write
 * whole.
 */
#ifndef VIEWFOLD_TEST_SHIM_SHADOW_H
#define VIEWFOLD_TEST_SHIM_SHADOW_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

/* clEnqueueCopyBuffer, of which nobody waits for an event. */
cl_int shim_shadow_copy(const cl_icd_dispatch *real, cl_command_queue queue, cl_mem from, cl_mem to,
                        size_t from_offset, size_t to_offset, size_t size);

/* The program's text with that done; NULL: memory is short. */
char *shim_shadow_text(const char *text);

#endif
