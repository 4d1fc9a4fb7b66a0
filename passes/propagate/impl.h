/* What the files of propagation share. */
#ifndef VIEWFOLD_PASSES_PROPAGATE_IMPL_H
#define VIEWFOLD_PASSES_PROPAGATE_IMPL_H

#include "passes/ops/sharding/sharding.h"
#include "propagate.h"

enum { PROPAGATE_TERMS = 33 /* operands and result of one operation; one of more is left out */ };

/* What is propagated first. */
typedef enum propagate_class {
  PROPAGATE_PASSES,    /* elementwise operations, views, constraints */
  PROPAGATE_CONTRACTS, /* contractions */
  PROPAGATE_REDUCES,   /* reductions */
  PROPAGATE_MOVES,     /* all others */
  PROPAGATE_CLASSES
} propagate_class;

typedef struct propagate_value {
  ir_ref node;
  double bytes;          /* of the whole value */
  ir_spec spec;          /* as far as propagation has come */
  uint32_t first, count; /* its operations: state->readers[first ..] */
  bool changed;
} propagate_value;

/* The dimensions of a term are state->dims[first .. first + rank), each the factors of an axis. */
typedef struct propagate_term {
  uint32_t value, first;
  uint8_t rank;
} propagate_term;
typedef struct propagate_dim {
  uint8_t count, factors[7]; /* the outer first; an axis of more factors is left out */
} propagate_dim;
typedef struct propagate_factor {
  int64_t size; /* 0: not known */
  char name[16];
  bool even; /* only equal parts: an axis has it beside others */
} propagate_factor;
typedef struct propagate_op {
  ir_ref node;
  propagate_class cls;
  uint32_t first_term, first_factor; /* in state->terms and state->factors; the result is the last term */
  uint8_t terms, factors;
  bool queued, noted; /* a note for each operation at most */
} propagate_op;

typedef struct propagate_state {
  ir_graph *g;
  const ir_mesh *mesh;
  propagate_notes *notes;
  uint32_t *value_of; /* by node: its number + 1 */
  size_t nodes;
  propagate_value *values;
  propagate_op *ops;
  propagate_term *terms;
  propagate_dim *dims;
  propagate_factor *factors;
  uint32_t *readers, *queue;
  size_t value_count, value_cap, op_count, op_cap, term_count, term_cap, dim_count, dim_cap, factor_count,
      factor_cap, reader_cap, queue_cap;
  size_t head, queued; /* of the ring `queue` */
} propagate_state;

/* table.c: values, operations and their factors. False after failing. */
bool propagate_table(propagate_state *s, ir_ref root, const propagate_pair *alike, size_t alike_count);

/* Axes of one factor: a list, the major first. */
typedef struct propagate_axes {
  uint8_t count;
  ir_subaxis axes[IR_SUBAXES];
} propagate_axes;

/* expand.c: the axes of a dimension as axes of its factors; out[] by the place of the factor in it. */
void propagate_expand(const propagate_state *s, const propagate_op *op, const propagate_dim *dim,
                      const ir_subaxis *axes, uint32_t count, propagate_axes *out);
/* The contrary. Returns the number of axes. */
uint32_t propagate_join(const propagate_state *s, const propagate_op *op, const propagate_dim *dim,
                        const propagate_axes *of, ir_subaxis *out);

/* step.c: one step of an operation. most: dimensions of a larger priority do not count. False after failing.
 */
bool propagate_step(propagate_state *s, propagate_op *op, uint32_t most);
/* propagate.c: the value has changed: its operations are queued. */
void propagate_changed(propagate_state *s, uint32_t value);
/* table.c: an operation that has the axes of both, one by one, from the given ones on. False after failing.
 */
bool propagate_alike(propagate_state *s, ir_ref a, uint32_t first_a, ir_ref b, uint32_t first_b);

/* calls.c: of a node of the class CONTROL its operands, and of its RESULT that. False after failing. */
bool propagate_call(propagate_state *s, ir_ref node);
bool propagate_call_result(propagate_state *s, ir_ref result);

#endif
