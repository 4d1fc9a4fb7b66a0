/* The folder frontend/mesh. Graphs on a mesh of devices.
 *
 *   in      a graph with a mesh, and arrays or parts of them
 *   out     one program, run on all devices of the mesh; its results as arrays or parts
 *   holds   the results are those of the graph on one device */
#ifndef VIEWFOLD_FRONTEND_MESH_SHARDED_H
#define VIEWFOLD_FRONTEND_MESH_SHARDED_H

#include <pthread.h>

#include "frontend/api/compile.h"
#include "passes/shard/shard.h"
#include "runtime/mesh_run.h"

/* The program of the devices of one name. */
typedef struct fe_device_program {
  const char *name; /* as the mesh calls them; NULL: the context's device */
  rt_context *context;
  rt_program *program;  /* of the first of them */
  int32_t *input_of;    /* by input of the program: the request's input that it is a part of */
  int32_t *variable_of; /* by variable of the program: of the request, or behind those of `parts` */
  size_t inputs, vars;
} fe_device_program;

enum { FE_EXCHANGE_WORDS = 120 /* bytes; of longer ones the end is missing */ };
/* A compiled graph of a mesh. */
typedef struct fe_sharded {
  rt_context *context;
  ir_graph graph; /* a copy of the request's, and the program of a device */
  ir_ref *refs;   /* the copies of the request's results, inputs and variables */
  size_t ref_count, input_count, var_count;
  shard_program parts;
  fe_device_program *programs; /* of the devices of this process; those of others count as the first */
  uint32_t program_count;
  rt_program **bound;   /* by device: that program, bound to its parts of constants */
  uint32_t *program_of; /* by device */
  rt_program *program;  /* the first */
  rt_mesh *mesh;
  rt_mesh_program *devices;
  pass_reference *references; /* a copy of the request's */
  size_t reference_count;
  size_t most_inputs, most_vars; /* of a program */
  pthread_mutex_t lock;          /* one run at a time */
  bool has_lock;
  char (*words)[FE_EXCHANGE_WORDS]; /* what asks for each of parts.exchanges; "": not known */
} fe_sharded;

/* The program that a device runs. */
static inline const fe_device_program *fe_sharded_program(const fe_sharded *sharded, uint32_t device) {
  return &sharded->programs[sharded->program_of[device]];
}

/* Compiles the request, whose graph has a mesh (ir/mesh/sharding.h), for its devices: once for all of one
 * name. A mesh that names none has the context's device everywhere. slow: as in rt_mesh_make.
 * IR_ERR_UNSUPPORTED: the mesh has too many devices, or some of processes that there are not. IR_ERR_INVALID,
 * IR_ERR_DEVICE: no device is called so, or it is not there. Free *out in any case. */
ir_status fe_sharded_make(rt_context *context, const fe_request *request, bool slow, fe_sharded *out,
                          ir_error *error);
void fe_sharded_free(fe_sharded *sharded); /* accepts one that is all zero */

/* Sizes of the whole array that input or result `number` of the request is, with `values` of its variables.
 */
ir_status fe_sharded_shape(fe_sharded *sharded, bool result, size_t number, const int64_t *values,
                           uint32_t *rank, int64_t *dims, ir_error *error);
/* Its part on a device: which box of the whole array. */
ir_status fe_sharded_part(fe_sharded *sharded, bool result, size_t number, uint32_t device,
                          const int64_t *values, ir_box *out, ir_error *error);

/* The functions below may be called from several threads: one of them runs at a time.
 *
 * Runs on whole arrays, given and returned in the request's order. Devices read and write where these are, as
 * far as their parts are contiguous there; others are copied. Inputs that no result depends on may be NULL.
 * References are changed where the inputs lie; outputs have an entry for each, which is not looked at.
 * IR_ERR_UNSUPPORTED: an input or a result is a pending reduction, which is no whole array. */
ir_status fe_sharded_run(fe_sharded *sharded, void *const *inputs, void *const *outputs,
                         const int64_t *values, ir_error *error);
/* Takes results of a run in parts, instead of a whole array. */
typedef struct fe_part_taker {
  const bool
      *takes; /* by result of the request, that is no reference; the entry of outputs is not looked at */
  /* NULL: nobody wants them. Of parts that several devices have, that of the first is taken, in its process
   */
  ir_status (*take)(void *user, size_t result, const ir_box *box, const void *part, ir_error *error);
  void *user;
} fe_part_taker;
ir_status fe_sharded_run_taking(fe_sharded *sharded, void *const *inputs, void *const *outputs,
                                const int64_t *values, const fe_part_taker *taker, ir_error *error);
/* Runs on parts: inputs[device * input_count + i] is the part of input i, outputs likewise. Parts of
 * references are changed: each device has memory of its own for them. */
ir_status fe_sharded_run_parts(fe_sharded *sharded, void *const *inputs, void *const *outputs,
                               const int64_t *values, ir_error *error);

/* Values of the variables of the device's program; `out` has room for most_vars. */
ir_status fe_sharded_variables(fe_sharded *sharded, uint32_t device, const int64_t *values, int64_t *out,
                               ir_error *error);
/* The cost of a run on device 0. */
ir_status fe_sharded_cost(fe_sharded *sharded, const int64_t *values, rt_cost *out, ir_error *error);
/* exchange_words.c: finds what asks for each exchange, in `words`; without memory nothing is known of it. */
void fe_sharded_find_words(fe_sharded *sharded, const fe_request *request);

#endif
