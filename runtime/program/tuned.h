/* Schedules that tuning found for kernels, as the text of moves, kept in the cache on disk under the kind
 * "tuned".
 *
 * A kernel is identified by its canonical bytes before its loop nest is chosen, so other graphs with the same
 * kernel find the entry; as for all keys, the target and the versions of the tools are part of it. A stamp,
 * an entry of its own, changes whenever a tuned schedule changes. It is part of the keys of programs. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_TUNED_H
#define VIEWFOLD_RUNTIME_PROGRAM_TUNED_H

#include "runtime/cache/kernel_key.h"
#include "runtime/runtime.h"

/* The stamp; 0: nothing is tuned, or there is no cache on disk. A context reads it once, at its first
 * compilation, and afterwards sees only its own rt_tuned_put and rt_tuned_forget. */
uint64_t rt_tuned_stamp(rt_context *context);

/* Append the text that was stored for this kernel (rt_effect_key_make) to *out; false where there is none. */
bool rt_tuned_get(rt_context *context, const rt_kernel_key *key, ir_text *out);
bool rt_tuned_put(rt_context *context, const rt_kernel_key *key, const char *text);
bool rt_tuned_forget(rt_context *context, const rt_kernel_key *key); /* false: there was none */

/* Visit every stored text, for this build and target and for others. False when the cache cannot be read. */
bool rt_tuned_list(rt_context *context, void (*visit)(void *user, const char *text), void *user);
bool rt_tuned_forget_all(rt_context *context, uint64_t *count);

#endif
