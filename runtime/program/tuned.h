/* Moves that tuning found for kernels, as text, kept on disk (kind "tuned") beside their code.
 *
 * A kernel is known by the bytes of what it computes before its loops are shaped, so that other graphs find
 * it, joined like all keys with the target and the build. A stamp, an entry by itself, says that something
 * was ever tuned, and changes whenever that changes: it is part of what programs are kept under. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_TUNED_H
#define VIEWFOLD_RUNTIME_PROGRAM_TUNED_H

#include "runtime/cache/kernel_key.h"
#include "runtime/runtime.h"

/* 0: nothing is tuned, or there is no cache on disk. Looked up once, then kept: of a context that lives long
 * it says what was so at its first compilation, or after its own rt_tuned_put and rt_tuned_forget. */
uint64_t rt_tuned_stamp(rt_context *context);

/* The text that was put for this kernel (rt_effect_key_make) is appended; false where there is none. */
bool rt_tuned_get(rt_context *context, const rt_kernel_key *key, ir_text *out);
bool rt_tuned_put(rt_context *context, const rt_kernel_key *key, const char *text);
bool rt_tuned_forget(rt_context *context, const rt_kernel_key *key); /* false: there was none */

/* Every text that is kept, for this build and target or for others. False when the cache cannot be read. */
bool rt_tuned_list(rt_context *context, void (*visit)(void *user, const char *text), void *user);
bool rt_tuned_forget_all(rt_context *context, uint64_t *count);

#endif
