/* Graphs compiled ahead of time; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_BUILD_H
#define VIEWFOLD_BUILD_H

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------ ahead of time */

/* All zero but for size is the default. */
typedef struct vf_build_options {
  size_t size;        /* sizeof(vf_build_options) */
  const char *name;   /* a C identifier that public names begin with; default: made from the graph's name */
  const char *target; /* as for `viewfold build --target`: a processor, such as "x86-64-v3" or "aarch64", and
                         settings; or several of x86-64 with commas between, of which the object runs that
                         for the processor it is on; default: this machine */
  bool assembler;     /* text instead of an object */
  bool threads; /* the function takes a struct with a parallel_for of the caller's, by whose threads loops are
                   shared */
  bool weights; /* the graph's constants are not in the object but in a file beside it (vf_object_weights),
                   whose address in memory the function takes */
  bool c; /* C11 text instead of an object, for one target: one file, which is compiled with optimisation
             and without contraction (cc -O2 -march=native -ffp-contract=off). It calls
             at most functions of <math.h> and <string.h> */
} vf_build_options;

/* An object file and the C header that declares what is in it. */
typedef struct vf_object vf_object;

/* The outputs of the graph as an object file, of the target's format (ELF on Linux): relocatable and position
 * independent. It needs no other code, not even the C library, allocates nothing and has no state; the
 * graph's constants are in it. It computes the bits that vf_program_run does for the same target. Nothing is
 * run but what depends on constants alone.
 *
 * NULL after failing: VF_ERR_INVALID (the graph has an error or no outputs, or the name or the target is
 * none), VF_ERR_UNSUPPORTED (a custom operation in a batch, where it would run for each element; a mesh of
 * several devices; a target that is big-endian or has pointers of 32 bits; an operation that the target
 * cannot do; several targets that are not all of x86-64, or with a feature of which it is not known how a
 * processor says that it has it), VF_ERR_COMPILE, VF_ERR_RANGE (what is computed from constants has an index
 * out of range), VF_ERR_MEMORY. */
VF_API vf_object *vf_build(vf_graph *graph, const vf_build_options *options, vf_error *error);
VF_API void vf_object_destroy(vf_object *object); /* accepts NULL */

/* The file, of *size bytes; it belongs to the object. size may be NULL. */
VF_API const void *vf_object_bytes(const vf_object *object, size_t *size);
/* The file of weights, of *size bytes, where it was asked for; else NULL. It belongs to the object. */
VF_API const void *vf_object_weights(const vf_object *object, size_t *size);
/* The text of the header: C99, C17 and C++17. It belongs to the object. */
VF_API const char *vf_object_header(const vf_object *object);

#ifdef __cplusplus
}
#endif

#endif
