/* The folder passes/shard. The program of one device of a mesh.
 *
 *   in      a graph, its mesh, and specs of some of its values
 *   out     a graph that every device runs on its parts, with exchanges between them
 *   holds   the parts of the results make the results of the graph on one device */

/* Sharding: graph -> graph. Each value is replaced by the part of it that one device holds; where an
 * operation needs another part than its operands have, an EXCHANGE brings it. One graph serves all devices: a
 * device's coordinates are size variables, and so are sizes of parts that are not the same everywhere.
 *
 * Which axes of the mesh divide a value follows from its spec, if it has one, else from the specs of the
 * operands by the factor rule of the operation (passes/ops/sharding). What a rule never splits is gathered
 * before the operation, and noted. Contracted factors leave a pending reduction, which stays where the
 * operations that read it allow that (op_defers), and is carried out where a spec asks for it, or at a
 * result. */
#ifndef VIEWFOLD_PASSES_SHARD_SHARD_H
#define VIEWFOLD_PASSES_SHARD_SHARD_H

#include "ir/mesh/sharding.h"
#include "passes/passes.h"
#include "passes/propagate/propagate.h"
#include "passes/reshard/reshard.h"

/* A size variable that a device gives a value: of coordinates, of weights, or of the size of a part. */
typedef enum shard_variable_kind {
  SHARD_COORDINATE,
  SHARD_WEIGHT_BEFORE, /* the sum of the weights of the devices before, along the axis */
  SHARD_WEIGHT,
  SHARD_VALUE
} shard_variable_kind;
typedef struct shard_variable {
  ir_ref var;
  shard_variable_kind kind;
  ir_ref value;  /* SHARD_VALUE: an index expression of those before and of the graph's own variables */
  uint32_t axis; /* of others: the axis of the mesh */
} shard_variable;

/* A value of the program: of which array it is a part, and which part. */
typedef struct shard_value {
  ir_ref local;  /* the INPUT, or the result, of the program of a device */
  ir_ref global; /* the value of the graph */
  ir_spec spec;
} shard_value;

/* Why data moves. */
typedef enum shard_reason {
  SHARD_ASKED,    /* the value was given a spec */
  SHARD_WHOLE,    /* the operation never splits that axis */
  SHARD_READS,    /* a part reads elements of other parts */
  SHARD_TOTALS,   /* parts are combined by what they give */
  SHARD_OTHERS,   /* another operand, or the result, is divided otherwise */
  SHARD_QUOTIENT, /* a mean is divided when its sum is known */
  SHARD_PENDING,  /* the operation does not commute with the pending reduction */
  SHARD_RESULT    /* a result has no pending reduction unless its spec says so */
} shard_reason;
typedef struct shard_note {
  ir_ref node; /* of the graph: the operation that needs it otherwise */
  int operand; /* -1: its result */
  shard_reason reason;
  ir_spec from, to;
  ir_ref exchange; /* the last EXCHANGE of the program; 0: each device has what it needs */
} shard_note;
/* An EXCHANGE by its number, and the note that asks for it. */
typedef struct shard_exchange_note {
  ir_ref plain; /* the node without a number; 0: with `numbers` */
  size_t note;  /* beyond the last: there is none */
} shard_exchange_note;
/* One step of how that is done (passes/reshard). */
typedef struct shard_collective {
  size_t note; /* what asks for it */
  pass_reshard_kind kind;
  ir_spec from, to, on;   /* on: in dimension 0, the axes that take part */
  pass_reshard_cost cost; /* where sizes are variables, of such as they may be */
  ir_ref exchange;        /* the last EXCHANGE of the step; 0: a view */
  bool planned;           /* by passes/reshard; else its cost is known after shard_count_costs */
} shard_collective;

/* The part of a constant, a RESOURCE of the program, which is to be bound to the part that the device has. */
typedef struct shard_constant {
  ir_ref local, global;
  ir_spec spec;
} shard_constant;

enum { SHARD_ALL = -1 /* in place of the number of a device: all of them */ };
typedef struct shard_program {
  const ir_mem *mem;
  ir_ref root; /* TUPLE of the results' parts */
  shard_value *inputs, *results;
  size_t input_count, result_count;
  shard_variable *variables;
  size_t variable_count, variable_cap;
  shard_note *notes;
  size_t note_count, note_cap;
  propagate_notes conflicts; /* of propagation */
  shard_constant *constants; /* with shard_request.divides_constants */
  size_t constant_count, constant_cap;
  shard_value
      *sums; /* values of floats that are added or multiplied up in another order than on one device */
  size_t sum_count, sum_cap;
  shard_exchange_note *exchanges; /* by their number, with shard_request.numbers or .tells */
  size_t exchange_count, exchange_cap;
  shard_collective *collectives; /* in the order of their notes */
  size_t collective_count, collective_cap;
  uint64_t recv; /* bytes that one device receives at most, by all of them; after shard_count_costs */
} shard_program;

/* What a program is made of. */
typedef struct shard_request {
  ir_ref root;          /* a TUPLE of tensors without batch axes */
  const ir_ref *inputs; /* its INPUT and BUFFER nodes, in the caller's order */
  size_t input_count;
  const pass_reference *references; /* inputs that a run changes: their results are divided as they are */
  size_t reference_count;
  int64_t device;         /* SHARD_ALL, or one of them, whose coordinates are then numbers */
  bool divides_constants; /* a constant of which each device reads a part of one size is a RESOURCE of that
                             part */
  bool numbers; /* EXCHANGEs are called by kind and number, all_reduce#0, all_gather#1: so those of programs
                   that   are compiled for unlike devices are told apart */
  bool tells;   /* otherwise: by kind and number behind @, so that who runs them can say what asks for them */
} shard_request;

/* Makes the program of a device in the graph itself. Specs are those of ir/mesh/sharding.h; nodes that have
 * none are given the spec that they turn out to have. False after failing (g->error), with *out empty; free
 * *out in any case. */
bool pass_shard(ir_graph *g, const shard_request *request, shard_program *out);
void shard_program_free(shard_program *program);
/* Fills in the bytes of exchanges that were not planned, of all devices, and what a device receives by all.
 * False after failing. */
bool shard_count_costs(ir_graph *g, shard_program *program);
/* Are the latency and the bandwidth of every axis known? Then steps take least time, else they move fewest
 * bytes. */
bool shard_mesh_is_calibrated(const ir_mesh *mesh);
/* The values of the variables for a device, in the order of program->variables; vars, values: of the graph's
 * own variables. False after failing. */
bool shard_variable_values(ir_graph *g, const shard_program *program, int64_t device, const ir_ref *vars,
                           const int64_t *values, size_t count, int64_t *out);

#endif
