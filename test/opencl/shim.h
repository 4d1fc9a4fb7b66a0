/* The shim between the OpenCL loader and a real driver (shim_icd.c), as seen by a test in the same process.
 *
 * The variable VF_SHIM holds settings, words separated by blanks. It is read again at every call, and where
 * it has changed all counts begin at zero (a word like `run=7`, which means nothing, makes it another text).
 *
 *   fail=CALL:N:CODE     the N-th CALL gives CODE instead of being done; N+ for that and all later ones.
 *                        CALL: a function without its `cl`, or a class of them: enqueue, wait, allocate,
 *                        make, all
 *   devices=0            the platform has no device
 *   gpu                  the device says that it is a GPU whose memory is its own, and refuses the caller's
 *                        memory as a buffer
 *   group=N local=N      the most work-items of a group, bytes of local memory; for kernels, too
 *   max_alloc=N memory=N the largest buffer, and all buffers together; refused beyond
 *   no_fp64 no_rounding  without doubles, of which its compiler knows nothing; without correctly rounded
 *                        division and square root of f32
 *   log=TEXT             every build fails with this log, `_` for blanks
 *   no_binaries          refuses a program's binary
 *   plant=WHAT           begins every kernel with a mistake: bounds, a write out of bounds; race, every
 *                        work-item writes to one place; unwritten, it reads what it is to write
 *   shadow               what Oclgrind knows of memory is put right (shim_shadow.h)
 *
 * VF_SHIM_DRIVER names the driver's library, "libpocl.so.2.10.0" when unset; it is opened with the platform.
 */
#ifndef VIEWFOLD_TEST_SHIM_H
#define VIEWFOLD_TEST_SHIM_H

/* Settings in place of those in the environment, which a process with threads cannot change. */
typedef void shim_set_function(const char *settings);
#define SHIM_SET_NAME "vf_shim_set"
/* Calls of a function or class since the settings changed; -1: no such name. Exported by the shim. */
typedef long shim_count_function(const char *call);
#define SHIM_COUNT_NAME "vf_shim_count"
/* Buffers alive, and their bytes together. */
typedef void shim_alive_function(long *buffers, long *bytes);
#define SHIM_ALIVE_NAME "vf_shim_alive"

#endif
