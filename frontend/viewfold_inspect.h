/* Looking inside a run; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_INSPECT_H
#define VIEWFOLD_INSPECT_H

#ifdef __cplusplus
extern "C" {
#endif

/* x; each time that a program computes it, the function `tap` of the context's options is called with its
 * elements, and vf_evaluate does the same. In a loop that is once for each iteration, in their order; in a
 * branch where the branch is taken; in a batch once for all elements, whose axes come first (vf_evaluate runs
 * loops and branches for each element by itself). It is called
 * whether or not anything needs the returned value, except in a session, and in a batch inside of a function
 * that is in a batch itself. x is kept in memory for it, and not fused. Of equal taps of one value one is
 * called. Taps that do not depend on each other may come in any order. Derivatives are those of the identity;
 * what derivatives compute once more (vf_checkpoint) is tapped once more. name: at most 127 bytes. */
VF_API vf_value vf_tap(vf_value x, const char *name);
/* x, whose elements go to the function `tap` of the context's options as a text, each time that a program
 * computes it, as with vf_tap. Without such a function nothing is shown. {} in the text stands for the
 * elements; without {} they are put behind it. Of more than 16 elements the text has minimum, maximum, mean
 * and the first few. */
VF_API vf_value vf_print(vf_value x, const char *text);

/* Progress. What may take long (compiling, runs, vf_evaluate, imports, dumps, vf_build) tells how far it is,
 * and can be ended: then it fails with VF_ERR_CANCELLED, as soon as the kernel that is being compiled, the
 * node that is being evaluated, or a part of the kernel that runs (some milliseconds) is done. Nothing is
 * broken: graphs, programs, tensors and caches are as before and can be used again, and kernels that were
 * done are kept. Of a run that was ended, outputs, and references that it changes, hold some of what it
 * computed; a session drops writes of references that were in progress. */

/* what: a few words, as "compiling kernels", valid during the call; done of total are done, total 0 where
 * nobody knows. Called now and then, at most 50 times a second, in a thread that works, never in two at once.
 * It must not use the context, but for vf_cancel. Not 0: the call that works is ended. */
typedef int (*vf_progress_function)(void *user, const char *what, int64_t done, int64_t total);
/* NULL: nobody is told, as in the beginning. Nothing in the context may be in progress. */
VF_API void vf_set_progress(vf_context *context, vf_progress_function progress, void *user);
/* End all that is in progress in the context; what begins later is not affected. May be called from any
 * thread, and in a signal handler. */
VF_API void vf_cancel(vf_context *context);

/* In a context with VF_STOP_AT_NAN or VF_STOP_AT_INF, vf_program_run fails with VF_ERR_VALUE where an
 * operation makes a NaN, or an infinity, from operands that have none of the kind, and says which operation,
 * at which index, from which elements. It looks at what each kernel writes, and where it finds one it
 * computes the graph once more by the reference evaluator, which is slow. References (vf_ref_input) then hold
 * what they held before; outputs are unspecified. What comes from inputs and constants is no fault, nor what
 * nothing takes over, as of the branch of vf_where that is not chosen. Values that are made and lost inside
 * of one kernel are not seen. Programs keep a copy of their graph for this. Runs of tensors and of vf_jit are
 * not looked at. */

/* Variables that a run finds out, as the number of elements of an interval whose numbers vary: their entries
 * in the list of a run are not read. Set them here, to know the shapes of outputs before the run.
 * VF_ERR_RANGE: what is found was not declared; the run itself says the same. */
VF_API vf_status vf_program_find_sizes(const vf_program *program, const void *const *inputs,
                                       int64_t *variables, vf_error *error);

/* Where the program came from. */
typedef struct vf_stats {
  size_t size;                               /* sizeof(vf_stats), set by the caller */
  uint32_t launches;                         /* kernels of one run; those in a loop or a branch count once */
  uint32_t kernels;                          /* different ones */
  uint32_t compiled, from_memory, from_disk; /* of the different ones */
  int64_t compile_ns;
} vf_stats;
VF_API bool vf_program_stats(const vf_program *program,
                             vf_stats *stats); /* false when an argument is NULL or size too small */

/* What one run costs: bytes of all buffers of all kernels, operations on floats (a fused multiply-add is
 * two), bytes of intermediates and of memory private to threads. The body of a scan counts once for each
 * iteration; of a cond the more expensive branch counts; a while loop counts max_trips iterations, and one
 * where it has no bound. */
typedef struct vf_cost {
  size_t size; /* sizeof(vf_cost), set by the caller */
  int64_t bytes, flops, temp_bytes;
} vf_cost;
VF_API vf_status vf_program_cost(const vf_program *program, const int64_t *variables, vf_cost *cost,
                                 vf_error *error);

/* Where the time of a program's runs goes. Runs that no profile makes know nothing of it.
 *
 *   vf_profile *profile = vf_program_profile(program, graph, &error);
 *   for (int i = 0; i < 10; i++) vf_profile_run(profile, inputs, outputs, NULL, &error);
 *   puts(text = vf_profile_text(profile, "text", &error));
 *
 * One thread at a time may use a profile; others may run the program meanwhile. */
typedef struct vf_profile vf_profile;
/* graph: what the program was compiled from, unchanged since: from it come the names, bytes, operations and
 * limits of kernels; NULL: they are not known. The limits are those of VIEWFOLD_MACHINE, or as `viewfold
 * devices --measure` keeps them in the cache on disk; else there are none. Program and graph must outlive the
 * profile. NULL after failing: the graph is another one (VF_ERR_INVALID), no memory. */
VF_API vf_profile *vf_program_profile(const vf_program *program, vf_graph *graph, vf_error *error);
VF_API void vf_profile_destroy(vf_profile *profile);
/* vf_program_run, measured step by step. */
VF_API vf_status vf_profile_run(vf_profile *profile, const void *const *inputs, void *const *outputs,
                                const int64_t *variables, vf_error *error);
/* The runs so far: "text", a table with the dearest step first; "json"; "trace", events with their times, of
 * the first runs, which Perfetto and speedscope open. Free with vf_text_free. NULL after failing. */
VF_API char *vf_profile_text(const vf_profile *profile, const char *form, vf_error *error);

/* A step of the program in all runs so far. What is inside of a loop or a branch counts to it, too. */
typedef struct vf_profile_step {
  size_t size;          /* sizeof(vf_profile_step), set by the caller */
  int64_t kernel;       /* its number in vf_graph_dump's "kernels"; -1: it is a copy, a loop, ... */
  const char *name;     /* what a kernel writes: "%y", "temporary 3"; of others: "copy"; until destroyed */
  const char *computes; /* the operations of a kernel: "exp, sum"; "" where not known */
  int64_t times, ns;    /* how often it ran, and how long in all */
  int64_t bytes_read, bytes_written, operations; /* in all; 0: not known */
  int64_t limit_ns;                              /* the least time for these; 0: not known */
} vf_profile_step;
/* How many steps there are; 0 for NULL. */
VF_API int vf_profile_count(const vf_profile *profile);
/* False when there is no step of that number, or size is too small. */
VF_API bool vf_profile_get(const vf_profile *profile, int number, vf_profile_step *step);

#ifdef __cplusplus
}
#endif
#endif
