/* The session: a graph that never ends, whose tensors are computed on demand.
 *
 * A realised node is remembered together with the BUFFER that holds its elements: whatever is compiled later,
 * and every move to a fresh arena, starts from the BUFFER. Nodes and storages that no tensor needs stay until
 * they are about as many as those needed; then what is needed moves to a fresh graph and the rest goes at
 * once. A program is found by the text of what it computes, in which leaves are numbered in the order in
 * which a walk from the results meets them: equal steps of a loop are one program. */
#ifndef VIEWFOLD_FRONTEND_SESSION_LAZY_H
#define VIEWFOLD_FRONTEND_SESSION_LAZY_H

#include "ir/ir.h"
#include "runtime/runtime.h"

struct vf_context;
struct vf_graph;
struct vf_tensor;

/* Elements of a BUFFER. */
typedef struct fe_storage {
  ir_ref buffer;
  rt_memory memory;
} fe_storage;

/* What is known about a node; all zero at first. */
typedef struct fe_note {
  ir_ref buffer;    /* holds the value of the node: of the BUFFER itself too */
  uint32_t storage; /* of a BUFFER: number + 1 */
} fe_note;

typedef struct fe_frame {
  ir_ref ref;
  uint32_t next; /* source to visit; the shape comes first */
} fe_frame;

typedef struct fe_lazy {
  struct vf_tensor *tensors; /* all of them, linked */
  fe_storage *storages;
  size_t storage_count, storage_cap;
  fe_note *notes; /* by node; nodes beyond the capacity have none */
  size_t note_cap;
  size_t bytes;                  /* of all storages */
  size_t live_nodes, live_bytes; /* after the last move to a fresh graph */
  bool running;                  /* a program, which may call functions of the user's */
  /* room for one walk, kept from one to the next */
  ir_ref *map, *roots, *leaves;
  fe_frame *frames;
  void **pointers;
  size_t map_cap, root_cap, leaf_cap, frame_cap, pointer_cap;
} fe_lazy;

struct vf_tensor {
  struct vf_context *context;
  struct vf_tensor *previous, *next;
  unsigned uses;
  ir_ref node;
};

void fe_lazy_free(struct vf_context *context);
/* The BUFFER that holds the value of node, or node itself when it is not realised. */
ir_ref fe_lazy_resolve(const fe_lazy *lazy, ir_ref node);
/* The elements of a node, or NULL: it has none. Valid until a further one is made. */
rt_memory *fe_lazy_memory(const fe_lazy *lazy, ir_ref node);
/* Bytes of the elements of a node of the session, whose shapes are constant. */
size_t fe_lazy_bytes(const ir_graph *g, ir_ref node);
/* A new BUFFER with a copy of elements; NULL: not set yet. 0 after failing. */
ir_ref fe_lazy_buffer(struct vf_context *context, ir_dtype dtype, const ir_ref *shape, size_t rank,
                      const void *elements, ir_error *error);
ir_status fe_lazy_realise(struct vf_context *context, struct vf_tensor *const *tensors, size_t count,
                          ir_error *error);
ir_status fe_lazy_collect(struct vf_context *context, ir_error *error);

#endif
