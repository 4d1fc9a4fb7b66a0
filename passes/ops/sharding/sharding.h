/* The folder passes/ops/sharding. Sharding rules.
 *
 *   in      a recorded node
 *   out     which axes of operands and results are split together
 *   holds   it follows from the row of the operation, the shapes and the attributes */

/* What sharding asks the registry: which axes of an operation's operands and results are split together,
 * whether a sum over devices may be taken after it, and how much it computes.
 *
 * A rule names the factors of every axis, operands first: `m k, k n -> m n`. Axes with a factor in common are
 * split alike. A factor of operands that no result has is contracted: results are partial sums over it. One
 * of size 1 is never split.
 *   name    one axis, with this factor
 *   (a b)   one axis with several factors, the outer first
 *   1       one axis that is never split; a term without axes is written `1` as well
 *   ...     axes in front: b0, b1, and so on, as many as the term has beyond its other axes
 * Rows hold templates, which stand for the rule of any rank. In them also
 *   d[:]      all axes: d0, d1, and so on;  d[:a] d[a:] d[a+1:]  before, from and behind the attribute `axis`
 *   d[~]      all axes, with 1 for those that the attributes change: flipped, cut, padded, searched
 *   d[-]      all axes but those, which are gone or, if kept, 1
 *   d[1]      all axes, never split
 *   d[order]  all axes in the order of the attribute
 *   d[bcast]  all axes aligned with the last ones of the result; one that grows has a factor of its own
 *   d[refine] axes of a reshape: the digits that both sides have in common
 *   *         the term before it, once more for each further operand
 * and `...` are the batch axes that a node shares between its operands. d counts the axes of the first
 * operand that has any (with [bcast], or without operands, of the result), i those of the second operand,
 * from the batch axes on.
 *
 * A part of a split factor computes the operation on the parts of its operands, sizes and windows among the
 * attributes being those of the part; an operand without the factor is there as a whole. Beyond that
 *   - an iota counts positions of the whole axis;
 *   - gather and scatters, where the axis that positions count along is split, leave out positions that other
 *     parts hold: there a gather gives 0, and a scatter stores nothing;
 *   - scatter_add over split positions has the data in the first part, and zeros in the others;
 *   - a mean over a split axis divides by the size of the whole one.
 * test/lib/sharded.h tries it. */
#ifndef VIEWFOLD_PASSES_OPS_SHARDING_SHARDING_H
#define VIEWFOLD_PASSES_OPS_SHARDING_SHARDING_H

#include "passes/ops/check.h"

enum { OP_FACTORS_MAX = 64, OP_FACTOR_NAME = 16 };

typedef struct op_factor {
  char name[OP_FACTOR_NAME];
  ir_ref size; /* an index expression */
} op_factor;
typedef struct op_split {
  uint8_t count, factors[IR_MAX_RANK]; /* the outer first; none: never split */
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

/* What a rule is made for. */
typedef struct op_sharding_ask {
  const char *who, *rule; /* the rule or template */
  const ir_ref *shapes;   /* TUPLEs: of operands, then of results */
  uint32_t operands, results;
  uint32_t axis, batch; /* the attribute, and how many leading axes are shared */
  uint32_t changed;     /* the axes of `~` and `-`, as bits */
  bool kept;            /* those axes become 1 instead of going */
  const ir_ref *order;
} op_sharding_ask;

/* sharding.c, node_rule.c. False after failing; a rule that was made is to be freed. */
bool op_sharding_make(ir_graph *g, const op_sharding_ask *ask, op_sharding *out);
bool op_sharding_of(ir_graph *g, ir_ref node, op_sharding *out); /* by its row and attributes */
void op_sharding_free(op_sharding *rule);
/* How what the parts of a contracted factor give is put together: ADD, MUL, MAX, MIN, OR or AND. */
ir_op op_sharding_joined_by(ir_op op);
void op_sharding_print(const op_sharding *rule, ir_text *out);
/* reshape_factors.c: d[refine] of both sides; true also where nothing is in common */
bool op_sharding_refine(ir_graph *g, op_sharding *rule, ir_ref from, ir_ref to);
/* factor_sizes.c: false after failing */
bool op_sharding_solve(ir_graph *g, const op_sharding_ask *ask, op_sharding *rule);
/* The factor of that name and size, new or not; -1 after failing: too many, or it has another size. */
int op_sharding_factor(ir_graph *g, const char *who, op_sharding *rule, const char *name, size_t length,
                       ir_ref size);

/* cost.c */
/* May the sum over devices wait until after the node, if these of its operands are partial? */
bool op_defers(ir_graph *g, ir_ref node, const bool *partial);
/* Operations that the node computes, an index expression; 0 after failing. */
ir_ref op_flops(ir_graph *g, ir_ref node);

#endif
