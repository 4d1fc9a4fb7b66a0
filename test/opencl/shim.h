/* The shim between the OpenCL loader and a real driver (shim_icd.c), as seen by a test in the same process.
 *
 * The variable VF_SHIM holds settings, words separated by blanks. It is read at every call; when it has
 * changed, all counts begin at zero (so an unknown word like `run=7` resets them).
 *
 *   fail=CALL:N:CODE     the N-th CALL returns CODE without being done; N+ for that and all later ones.
 *                        CALL: a function without its `cl`, or a class of them: enqueue, wait, allocate,
 *                        make, all
 *   devices=0            the platform has no device
 *   gpu                  the device reports that it is a GPU with its own memory, and refuses the caller's
 *                        memory as a buffer
 *   group=N local=N      the limits of work-items of a group and bytes of local memory; for kernels, too
 *   max_alloc=N memory=N the limits of one buffer, and of all buffers together; larger ones are refused
 *   no_fp64 no_rounding  without doubles, also in its compiler; without correctly rounded division and
 *                        square root of f32
 *   log=TEXT             every build fails with this log, `_` for blanks
 *   no_binaries          refuses a program's binary
 *   plant=WHAT           begins every kernel with a mistake: bounds, a write out of bounds; race, every
 *                        work-item writes to one place; unwritten, it reads memory that it has yet to write
 *   shadow               corrects Oclgrind's knowledge of initialized memory (shim_shadow.h)
 *
 * VF_SHIM_DRIVER names the driver's library, "libpocl.so.2.10.0" when unset; it is opened with the
 * platform. */
#ifndef VIEWFOLD_TEST_SHIM_H
#define VIEWFOLD_TEST_SHIM_H

/* Replaces the settings of the environment, which a process with threads cannot change. */
typedef void shim_set_function(const char *settings);
#define SHIM_SET_NAME "vf_shim_set"
/* Calls of a function or class since the settings changed; -1: no such name. Exported by the shim. */
typedef long shim_count_function(const char *call);
#define SHIM_COUNT_NAME "vf_shim_count"
/* Live buffers, and their total size in bytes. */
typedef void shim_alive_function(long *buffers, long *bytes);
#define SHIM_ALIVE_NAME "vf_shim_alive"

#endif
