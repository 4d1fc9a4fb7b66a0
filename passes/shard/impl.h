/* What the files of the sharding pass share. */
#ifndef VIEWFOLD_PASSES_SHARD_IMPL_H
#define VIEWFOLD_PASSES_SHARD_IMPL_H

#include "passes/ops/sharding/sharding.h"
#include "shard.h"

/* A list of sub-axes, the major first. */
typedef struct shard_axes {
  uint32_t count;
  ir_subaxis axes[IR_SUBAXES];
} shard_axes;

/* The size of a part that has a variable. */
typedef struct shard_part {
  ir_ref size, var;
  shard_axes axes;
} shard_part;

typedef struct shard_state {
  ir_graph *g;
  const ir_mesh *mesh;
  shard_program *program;
  int64_t device;                   /* SHARD_ALL, or the one that the program is for */
  ir_ref coordinates[IR_MESH_AXES]; /* 0: not used so far */
  shard_part *parts;
  size_t part_count, part_cap;
  ir_ref *local;  /* by node: its part */
  uint8_t *given; /* by node: did it have a spec before the pass? */
  size_t nodes;
} shard_state;

/* parts.c: positions and sizes of parts, as index expressions. 0 after failing. */
ir_ref shard_position(shard_state *s, const ir_subaxis *axes, uint32_t count);
ir_ref shard_size(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count);
ir_ref shard_start(shard_state *s, ir_ref size, const ir_subaxis *axes, uint32_t count);
/* Has each part the same number of elements, whatever the values of variables? */
bool shard_divides(shard_state *s, ir_ref size, int64_t parts);
/* Sizes of the part of a value, and its first index along each axis; false after failing. */
bool shard_local_shape(shard_state *s, const ir_ref *dims, const ir_spec *spec, ir_ref *out);
bool shard_local_start(shard_state *s, const ir_ref *dims, const ir_spec *spec, ir_ref *out);
/* Are the axes of a place in another spec all there, in that order, or the first of them? */
bool shard_is_prefix(const ir_spec *a, const ir_spec *b, uint32_t place);

/* The pending axes of two specs: those that are joined, those that stay, and those that begin. */
typedef struct shard_pending {
  shard_axes joined, kept, begun;
  ir_op by;
} shard_pending;

/* move.c: x, the part under `from` of an array of these sizes, as the part under `to`, by at most one
 * EXCHANGE, *exchange, which is called `kind`; 0: a view. 0 after failing. */
ir_ref shard_step(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                  const char *kind, ir_ref *exchange);
void shard_sort_pending(const ir_spec *from, const ir_spec *to, shard_pending *out);
/* The reduction of an axis by an operation of pending reductions, in the dtype that x has. 0 after failing.
 */
ir_ref shard_join(ir_graph *g, ir_op by, ir_ref x, uint32_t axis);

/* flat.c: an all_reduce of chunks of the parts as flat arrays, by two EXCHANGEs, of which *exchange is the
 * last. `from` and `to` divide alike. 0 after failing. */
ir_ref shard_flat_reduce(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                         ir_ref *exchange);

/* steps.c: the same as shard_step in the cheapest steps: of fewest bytes, or of least time where the mesh
 * says the latency and bandwidth of its axes. Each gets a row in program->collectives, of the next note. */
ir_ref shard_move(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                  ir_ref *exchange);

/* collective.c: the spec that a collective gives its operand, which has the spec `from`. False after
 * failing. */
bool shard_collective_spec(shard_state *s, ir_ref node, const ir_spec *from, ir_spec *out);

/* known_gather.c: is the node a gather of known indices along an axis that `spec`, of its first operand,
 * divides, and does each device need one box of that? Then the result has the same spec, and its part is
 * *made, of the part `local` of the operand; 0 after failing. */
bool shard_known_gather(shard_state *s, ir_ref node, const ir_spec *spec, ir_ref local, ir_ref *made);

/* assign.c: which axes of the mesh divide which factors of an operation. */
typedef struct shard_choice {
  ir_spec operands[32]; /* what each operand has to be */
  ir_spec result;       /* what the result is then */
} shard_choice;
enum { SHARD_OPERANDS = 32 }; /* an operation of more is done on whole operands */
/* specs[]: of the operands; wanted: of the result, or NULL. False after failing. */
bool shard_choose(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                  const ir_spec *wanted, shard_choice *out);

/* local.c: the operation on the parts of its operands, which are those of `choice`. 0 after failing. */
ir_ref shard_local(shard_state *s, ir_ref node, const op_sharding *rule, const shard_choice *choice,
                   const ir_ref *operands);
/* A MEAN: the sum of the elements of a part, in the dtype that adds them up, and the mean of the whole sum.
 */
ir_ref shard_mean_sum(shard_state *s, ir_ref node, ir_ref x);
ir_ref shard_mean_of_sum(shard_state *s, ir_ref node, ir_ref sum);

#endif
