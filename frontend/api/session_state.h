/* The state of the session, a member of vf_context; frontend/session/lazy.h has its functions. */
#ifndef VIEWFOLD_FRONTEND_API_SESSION_STATE_H
#define VIEWFOLD_FRONTEND_API_SESSION_STATE_H

#include <stdatomic.h>

#include "ir/ir.h"
#include "runtime/runtime.h"

struct vf_context;
struct vf_graph;
struct vf_tensor;

/* The memory that holds the elements of a BUFFER. */
typedef struct fe_storage {
  ir_ref buffer;
  rt_memory memory;
} fe_storage;

/* What is known about a node; all zero at first. */
typedef struct fe_note {
  ir_ref buffer;    /* the BUFFER with the node's value; 0: none. A BUFFER names itself */
  uint32_t storage; /* of a BUFFER: its index in storages + 1 */
  uint32_t target;  /* of the target of a reference: its index in targets + 1 */
} fe_note;

/* A reference of the session. Writes make new versions; realising them changes the memory of `held`. */
typedef struct fe_session_ref {
  ir_ref newest; /* 0: released */
  ir_ref held;   /* the BUFFER whose elements its memory holds, from which the newest version is made */
} fe_session_ref;

/* A reference whose newest version is being realised. */
typedef struct fe_written {
  size_t ref, root; /* indices in refs, and in roots */
  bool in_place;    /* in the memory of `held`; otherwise in new memory, since a tensor has those elements */
} fe_written;

typedef struct fe_frame {
  ir_ref ref;
  uint32_t next; /* source to visit; the shape comes first */
} fe_frame;

typedef struct fe_lazy {
  struct vf_tensor *tensors;            /* all of them, linked */
  _Atomic(struct vf_tensor *) released; /* those of them that were released, linked by next_released */
  fe_storage *storages;
  size_t storage_count, storage_cap;
  fe_note *notes; /* by node; nodes beyond the capacity have none */
  size_t note_cap;
  size_t bytes;                  /* of all storages */
  size_t live_nodes, live_bytes; /* after the last move to a fresh graph */
  bool running;                  /* a program runs, which may call the user's functions */
  fe_session_ref *refs;          /* by number; a number is not given again */
  size_t ref_count, ref_cap, live_refs;
  ir_ref *
      targets; /* of views of references: those that depend on no elements, kept while there are references */
  size_t target_count, target_cap;
  bool lost; /* a run failed that changed references: tensors that needed their old elements have none */
  /* scratch arrays of a traversal, kept for the next one */
  ir_ref *map, *roots, *leaves;
  fe_frame *frames;
  void **pointers;
  fe_written *written;
  size_t written_count, written_cap;
  size_t map_cap, root_cap, leaf_cap, frame_cap, pointer_cap;
} fe_lazy;

struct vf_tensor {
  uint32_t kind; /* fe_kind */
  struct vf_context *context;
  struct vf_tensor *previous, *next, *next_released;
  atomic_uint uses;
  ir_ref node;
};

#endif
