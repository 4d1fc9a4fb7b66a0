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
/* The same with a text, in which {} stands for the elements; without {} they are put behind it. Of more than
 * 16 elements the text has minimum, maximum, mean and the first few. */
VF_API vf_value vf_print(vf_value x, const char *text);

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

#ifdef __cplusplus
}
#endif
#endif
