/* The description of a program for the code generator (codegen/program.h), and its memory. */
#ifndef VIEWFOLD_RUNTIME_OBJECT_DESCRIBE_H
#define VIEWFOLD_RUNTIME_OBJECT_DESCRIBE_H

#include "runtime/object/object.h"
#include "runtime/program/program.h"

typedef struct rt_describer {
  const ir_mem *mem;
  const rt_program *p; /* the form's */
  const rt_object_form *form;
  const rt_object_request *request;
  cg_program program;
  int64_t arena_bytes; /* -1: they depend on variables */

  rt_value_list values; /* the sizes: those of the plan, then others */
  uint32_t *bytes;      /* by slot: a size */
  uint32_t *offsets;    /* by temporary: a size, of those with memory of their own */
  uint32_t *placed;     /* temporaries in the order in which they were placed */
  /* the tables of `program` */
  cg_size *sizes;
  cg_source *kernels;
  ir_graph *graphs; /* of the kernels; graph_count of them are made */
  size_t graph_count;
  cg_bytes *data;
  cg_buffer *buffers, *copies;
  cg_step *steps;
  uint32_t *limited, *known, *dims, *step_variables;
  cg_equal *equal;
  bool weights;        /* they are beside the object: */
  uint64_t *weight_at; /* by number of data: UINT64_MAX: it is in the object; 0: nothing reads it; else the
                          place in the file, and CG_ARENA_ALIGN more */
  uint64_t weight_bytes;
  void *memory; /* of all tables but for the sizes */
  size_t memory_size, size_room;
} rt_describer;

/* Fills everything but for the kernels. After failing, rt_describe_free is called as well. */
ir_status rt_describe(rt_describer *d, const rt_object_form *form, const rt_object_request *request,
                      ir_error *error);
void rt_describe_free(rt_describer *d);

/* Defined in arena.c: the offsets of temporaries, and the bytes of the arena. False: they are more than
 * memory can hold. */
bool rt_describe_arena(rt_describer *d);

/* Defined in weights.c: where the request wants weights beside the object, their places; then writes them to
 * weight_bytes zero bytes. */
void rt_describe_weights(rt_describer *d);
void rt_copy_weights(const rt_describer *d, uint8_t *to);

#endif
