/* Models: constants, which are the weights of one; part of viewfold.h. */
#ifndef VIEWFOLD_MODEL_H
#define VIEWFOLD_MODEL_H

#include "viewfold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- constants */
/* A constant is an array whose elements belong to somebody: the context, for vf_data of more than 1,024
 * bytes, or the caller of vf_constant_borrow. A graph has only a digest of them, so printing and compiling it
 * take the same time whatever its size, and programs of graphs that differ in elements alone are the same
 * code. Each call makes a constant of its own; equal elements are kept once in a context. */

/* As vf_data, of elements that stay where they are: weights that are mapped from a file, an array of another
 * library. They are read once now, for a digest. Nobody may change them until release(elements, user) is
 * called, once: when no graph and no program uses them any more, or before this call returns, where the
 * context holds equal elements already and where it fails. On any thread; it may be NULL. The elements are
 * aligned as their dtype requires. */
typedef void (*vf_release)(const void *elements, void *user);
VF_API vf_value vf_constant_borrow(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape,
                                   const void *elements, vf_release release, void *user);

/* Other elements, of the same dtype and shape, for a constant of the graph that the program was compiled
 * from: a value of vf_data (of more than 1,024 bytes) or vf_constant_borrow. Nothing is compiled. They belong
 * to the program from now on, as vf_constant_borrow says. No run of the program may be in progress. */
VF_API vf_status vf_program_set_constant(vf_program *program, vf_value constant, const void *elements,
                                         vf_release release, void *user, vf_error *error);

#ifdef __cplusplus
}
#endif

#endif
