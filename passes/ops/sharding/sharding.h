/* The folder passes/ops/sharding. Sharding rules.
 *
 *   in      a recorded node
 *   out     which axes of operands and results are split together
 *   holds   the rule follows from the row of the operation, the shapes and the attributes */

/* What sharding asks the registry: which axes of an operation's operands and results are split together,
 * whether a sum over devices may be deferred until after it, and how many operations it computes.
 *
 * A rule names the factors of every axis, operands first: `m k, k n -> m n`. Axes with a common factor are
 * split alike. A factor of operands that no result has is contracted: results are partial sums over it. A
 * factor of size 1 is never split.
 *   name    one axis, with this factor
 *   (a b)   one axis with several factors, the outer first
 *   1       one axis that is never split; a term without axes is written `1` as well
 *   ...     leading axes: b0, b1, and so on, as many as the tensor has beyond the term's other axes
 * Rows hold templates, which stand for the rule of any rank. They also have
 *   d[:]      all axes: d0, d1, and so on;  d[:a] d[a:] d[a+1:]  before, from and after the attribute `axis`
 *   d[~]      all axes, with 1 for those that the attributes change: flipped, sliced, padded, searched
 *   d[-]      all axes except those, which are removed or, if kept, 1
 *   d[1]      all axes, never split
 *   d[order]  all axes in the order of the attribute
 *   d[bcast]  all axes aligned with the last ones of the result; one that grows has a factor of its own
 *   d[refine] axes of a reshape: the digits that both sides have in common
 *   *         the term before it, repeated for each further operand
 * and `...` are the batch axes that a node shares between its operands. d counts the axes of the first
 * operand that has any (with [bcast], or without operands, of the result), i those of the second operand,
 * both from the first axis after the batch axes.
 *
 * The shard of a split factor computes the operation on the shards of its operands; sizes and windows among
 * the attributes are those of the shard. An operand without the factor is present as a whole. In addition,
 *   - an iota counts indices of the whole axis;
 *   - gather and scatters, where the indexed axis is split, ignore indices that lie in other shards: there a
 *     gather gives 0, and a scatter stores nothing;
 *   - scatter_add with split indices has the data in the first shard, and zeros in the others;
 *   - positions of an assign are split as its updates, and those in other shards of the array are nowhere;
 *   - a mean over a split axis divides by the size of the whole axis.
 * test/lib/sharded.h tests these. */
#ifndef VIEWFOLD_PASSES_OPS_SHARDING_SHARDING_H
#define VIEWFOLD_PASSES_OPS_SHARDING_SHARDING_H

#include "passes/ops/check.h"

enum {
  OP_FACTORS_MAX = 64,       /* of one rule, four for each of IR_MAX_RANK axes; a rule of more is refused */
  OP_SHARDING_OPERANDS = 32, /* an operation of more is done on whole operands */
  OP_FACTOR_NAME = 16        /* bytes of a name, of letters and a number; a longer one is refused */
};

typedef struct op_factor {
  char name[OP_FACTOR_NAME];
  ir_ref size; /* an index expression */
} op_factor;
typedef struct op_split {
  uint8_t count, factors[IR_MAX_RANK]; /* the outer first; count 0: never split */
} op_split;
typedef struct op_term {
  uint32_t rank;
  op_split axes[IR_MAX_RANK];
} op_term;
typedef struct op_sharding {
  op_term *terms; /* of operands, then of results */
  uint32_t operands, results, factor_count;
  op_factor factors[OP_FACTORS_MAX];
  const ir_mem *mem;
} op_sharding;

/* The operation that a rule is made for. */
typedef struct op_sharding_ask {
  const char *who, *rule; /* the rule or template */
  const ir_ref *shapes;   /* TUPLEs of sizes: of operands, then of results */
  uint32_t operands, results;
  uint32_t axis, batch; /* the attribute, and the number of shared leading axes */
  uint32_t changed;     /* the axes of `~` and `-`, as bits */
  bool kept;            /* those axes become 1 instead of being removed */
  const ir_ref *order;
} op_sharding_ask;

/* sharding.c, node_rule.c. False after failing; a rule that was made must be freed. */
bool op_sharding_make(ir_graph *g, const op_sharding_ask *ask, op_sharding *out);
bool op_sharding_of(ir_graph *g, ir_ref node, op_sharding *out); /* by its row and attributes */
/* Is the operation done in parts by its rule? Leaves, control flow, custom operations and those of very many
 * operands are not. */
bool op_sharding_known(const ir_graph *g, ir_ref node);
/* Does the operation only move elements along axes that its rule does not divide, or accumulate there, so
 * that the result may be divided into parts of its own size where the operands are divided into theirs? */
bool op_moves(ir_op op);
void op_sharding_free(op_sharding *rule);
/* The operation that combines the shards' results of a contracted factor: ADD, MUL, MAX, MIN, OR or AND. */
ir_op op_sharding_joined_by(ir_op op);
void op_sharding_print(const op_sharding *rule, ir_text *out);
/* write_factors.c: completes the rule of an ASSIGN by axes of the updates that are axes of the array, index
 * for index. False after failing. */
bool op_sharding_write(ir_graph *g, ir_ref node, op_sharding *rule);
/* reshape_factors.c: d[refine] of both sides; true also where they have no factor in common */
bool op_sharding_refine(ir_graph *g, op_sharding *rule, ir_ref from, ir_ref to);
/* factor_sizes.c: false after failing */
bool op_sharding_solve(ir_graph *g, const op_sharding_ask *ask, op_sharding *rule);
/* The factor of that name and size, new or not; -1 after failing: too many, or it has another size. */
int op_sharding_factor(ir_graph *g, const char *who, op_sharding *rule, const char *name, size_t length,
                       ir_ref size);

/* cost.c */
/* May the sum over devices be deferred until after the node, if these of its operands are partial? */
bool op_defers(ir_graph *g, ir_ref node, const bool *partial);
/* The number of operations of the node, an index expression; 0 after failing. */
ir_ref op_flops(ir_graph *g, ir_ref node);

#endif
