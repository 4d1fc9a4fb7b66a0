/* The folder frontend/session. Tensors that are computed on demand, and functions of them.
 *
 *   in      operations on values of the session
 *   out     the elements of a tensor, when asked for
 *   holds   a realised value is computed once; equal iterations of a user's loop share one program */

/* The session: a graph that never ends, whose tensors are computed on demand.
 *
 * A realised node is noted together with the BUFFER that holds its elements; later programs, and every move
 * to a fresh graph, start from the BUFFER. Dead nodes and storages, which no tensor needs, stay until they
 * are about as many as the live ones; then the live ones are copied to a fresh graph, and the old graph is
 * freed. A program is found by the text of its graph, in which leaves are numbered in the order in which a
 * walk from the results meets them, so equal iterations of a user's loop have the same program.
 *
 * Whatever is realised, the pending writes of references are, too, by the same program. A reference is
 * changed in its memory where no tensor has the elements that are there; tensors that are still to be
 * computed from them are realised with it. Its memory then belongs to a new BUFFER. */
#ifndef VIEWFOLD_FRONTEND_SESSION_LAZY_H
#define VIEWFOLD_FRONTEND_SESSION_LAZY_H

#include "frontend/api/session_state.h"

/* Frees the elements and tables of the session, which has no tensors any more or was never used, and clears
 * context->lazy. The context's runtime must still exist; its graph stays. */
void fe_lazy_free(struct vf_context *context);
/* Frees the tensors that have been released, by whatever thread. */
void fe_lazy_sweep(struct vf_context *context);
/* The BUFFER that holds the value of node, or node itself when it is not realised. */
ir_ref fe_lazy_resolve(const fe_lazy *lazy, ir_ref node);
/* The elements of a node, or NULL: it has none. Valid until another BUFFER is made. */
rt_memory *fe_lazy_memory(const fe_lazy *lazy, ir_ref node);
/* Make room for notes of all nodes of the session. False when memory is short. */
bool fe_lazy_reserve_notes(struct vf_context *context);
/* A new BUFFER in memory that is adopted (rt_memory_adopt). 0 after failing: release was not called. */
ir_ref fe_lazy_adopt(struct vf_context *context, ir_dtype dtype, const ir_ref *shape, size_t rank,
                     const void *elements, rt_release release, void *user, ir_error *error);
/* Bytes of the elements of a node of the session, whose shapes are constant. */
size_t fe_lazy_bytes(const ir_graph *g, ir_ref node);
/* A new BUFFER with a copy of elements, which are unset where `elements` is NULL. 0 after failing. */
ir_ref fe_lazy_buffer(struct vf_context *context, ir_dtype dtype, const ir_ref *shape, size_t rank,
                      const void *elements, ir_error *error);
/* Realise the tensors, and the writes that are pending; tensors that need none of that are left alone. */
ir_status fe_lazy_realise(struct vf_context *context, struct vf_tensor *const *tensors, size_t count,
                          ir_error *error);
ir_status fe_lazy_collect(struct vf_context *context, ir_error *error);

#endif
