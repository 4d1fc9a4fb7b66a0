/* The order of emission, which code generators share: what of a kernel is emitted when, and which values are
 * known where.
 *
 * Whatever an effect or a loop is about to need is visited, and of that is emitted, in ascending order of
 * refs, what the loops already open suffice for. Before a loop opens, that is done for its body too: code is
 * hoisted as far out as it can go by the way it is placed, and never moved. When a loop closes, the values
 * made inside are forgotten.
 *
 * A node's value is an array with one entry per combination of its unroll lanes, its copies; what an entry
 * is, a pointer of some kind, is the generator's affair. Values are made for one combination at a time:
 * `digit` says which lane of each loop. Nothing here recurses but through the nesting of loops and of rare
 * values. */
#ifndef VIEWFOLD_CODEGEN_EMIT_EMISSION_ORDER_H
#define VIEWFOLD_CODEGEN_EMIT_EMISSION_ORDER_H

#include "codegen/emit/nest.h"

enum { CG_MAX_NESTING = 64 }; /* of loops, and of rare values, in each other */

typedef struct cg_order cg_order;

/* What a generator does. `emitter` is its own. */
typedef struct cg_emits {
  void (*unrolled)(void *emitter, ir_ref ref,
                   void *unrolled);              /* fills in the copies of a node that is no loop */
  void (*running)(void *emitter, uint32_t loop); /* leaves the final values in finals[loop] */
  void (*lanes)(void *emitter, uint32_t loop);   /* of a value loop that is lanes: likewise */
  void (*before)(void *emitter, ir_ref effect);  /* of a store or update: NULL for nothing to do */
  void (*store)(void *emitter, ir_ref store);    /* all its copies */
  void (*update)(void *emitter, ir_ref update);  /* at the current digits */
  /* Visits what a node is made of in place of its sources; false: of these. NULL: always. */
  bool (*instead)(void *emitter, ir_ref ref, void (*visit)(void *user, ir_ref operand), void *user);
  bool threads_run; /* each call of a kernel does a round at least of its loop over threads */
} cg_emits;

struct cg_order {
  cg_nest *nest;
  ir_graph *g; /* the nest's */
  ir_error *error;
  bool failed;
  const cg_emits *emits;
  void *emitter;

  void **values;        /* by ref: its copies; NULL where the node has no value in the current scope */
  void ***finals;       /* by loop, by carry: copies of the final values */
  bool *open;           /* by loop that runs: emission is inside it */
  uint64_t written;     /* locals, by number, that a store was emitted to */
  int64_t *lane;        /* by loop that is lanes: the lane being emitted */
  uint32_t nesting;     /* of loops and rare values that are open */
  size_t log_count;     /* values made so far: where a scope begins */
  ir_ref *log;          /* refs in the order in which they got values: what a scope forgets at its end */
  ir_ref *stack, *list; /* visited; to be emitted */
  size_t log_cap, stack_count, stack_cap, list_count, list_cap;
  uint32_t *mark, stamp;
  struct cg_block *blocks; /* memory for value arrays */
};

/* False, with the error recorded, when memory is short; cg_order_close is due all the same. */
bool cg_order_open(cg_order *o, cg_nest *nest, const cg_emits *emits, void *emitter, ir_error *error);
void cg_order_close(cg_order *o);
void cg_order_fail(cg_order *o, ir_status status, const char *format, ...) IR_PRINTF(3, 4);

/* effects and visits */
void cg_emit_effect(cg_order *o, ir_ref effect);
void cg_begin_visit(cg_order *o);
void cg_visit(void *order, ir_ref ref); /* a node that is needed */
/* Emits, sources first, what the visited nodes need and the open loops suffice for. If `reads`, what reads
 * memory too, but then nothing that only the body of a loop needs that may not run; otherwise nothing that
 * reads memory. */
void cg_emit_visited(cg_order *o, bool reads);
void cg_need(cg_order *o, ir_ref ref);                       /* what an effect needs */
void cg_hoist(cg_order *o, const cg_loop *loop, bool reads); /* what a loop's body needs, but not the loop */
void cg_need_next(cg_order *o, const cg_loop *loop);         /* the carried values of the next round */
bool cg_surely_runs(const cg_order *o, const cg_loop *loop); /* at least once */
/* Opens a loop: what it needs itself, then what its body needs, as far as that may be computed if the loop
 * does not run. False after a failure. */
bool cg_before_loop(cg_order *o, const cg_loop *loop);

/* values */
void *cg_array(cg_order *o, size_t count); /* of pointers; NULL when memory is short */
void **cg_carried_arrays(cg_order *o,
                         const cg_loop *loop);           /* for each carried value an array of its copies */
void cg_define(cg_order *o, ir_ref ref, void *unrolled); /* until the end of the scope */
void cg_forget_since(cg_order *o, size_t log_count);     /* the end of a scope */

/* copies: combinations of unroll lanes, the last loop fastest */
size_t cg_unroll_count(const cg_order *o, const uint64_t *lanes);
size_t cg_unroll_index(const cg_order *o, const uint64_t *lanes); /* of the current digits */
uint32_t cg_width_of(const cg_order *o, const uint64_t *lanes);
void cg_first_lane(cg_order *o, const uint64_t *lanes);
bool cg_next_lane(cg_order *o, const uint64_t *lanes); /* false after the last combination */

static inline const uint64_t *cg_carry_lanes(const cg_order *o, const cg_loop *loop, uint32_t slot) {
  return loop->carry_lanes + (size_t)slot * o->nest->words;
}

#endif
