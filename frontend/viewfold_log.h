/* What a context notices besides failures; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_LOG_H
#define VIEWFOLD_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/* What goes on otherwise than one would expect, at the cost of time or memory, fails no call and is not seen:
 * a cache that is not used, a call that is compiled for its sizes alone, kernels that the C compiler compiles
 * because LLVM is not there. A context tells it to whoever asks. */
typedef enum vf_log_level {
  VF_LOG_NONE = 0,
  VF_LOG_WARNING = 1, /* holds until something is put right, which the text names */
  VF_LOG_INFO = 2 /* happened once: an entry of the cache was damaged, could not be stored or was removed */
} vf_log_level;

/* text: one line, without its end, valid during the call. It begins with the part that speaks ("cache: ",
 * "compiler: ", "code: ", "jit: "); words behind that may change with any version. Called in the thread that
 * notices it, in several at once where several work. It must not use the context. */
typedef void (*vf_log_function)(void *user, vf_log_level level, const char *text);
/* Tell log what happens in the context from now on, of levels up to `most`; NULL or VF_LOG_NONE: nobody. In
 * the beginning VIEWFOLD_DEBUG has it printed on standard error: `log` all, `cache` what the cache says.
 * Nothing in the context may be in progress. */
VF_API void vf_set_log(vf_context *context, vf_log_level most, vf_log_function log, void *user);

#ifdef __cplusplus
}
#endif

#endif
