/* The order of emission, which all code generators share: when each node of a kernel is emitted, and where
 * its value is available.
 *
 * Before an effect or a loop is emitted, the nodes that it needs are visited; of these, the ones whose loops
 * are all open are emitted, in ascending order of refs. Before a loop opens, the same is done for its body:
 * loop-invariant code is thereby placed as far out as possible when it is emitted, and is never moved. When a
 * loop closes, the values made inside it are forgotten.
 *
 * A node's value is an array of unrolled values, one entry per combination of its unroll lanes; an entry is a
 * pointer, whose meaning is the generator's. Values are made for one combination at a time, the current
 * lanes: `lane` holds the lane of each loop. Recursion follows only the nesting of loops and of rare
 * values. */
#ifndef VIEWFOLD_CODEGEN_EMIT_EMISSION_ORDER_H
#define VIEWFOLD_CODEGEN_EMIT_EMISSION_ORDER_H

#include "codegen/emit/nest.h"

/* Of loops and rare values in one another [6 in the workloads], as emission recurses; more are refused. */
enum { CG_MAX_NESTING = 64 };

typedef struct cg_order cg_order;

/* The generator's callbacks. `emitter` is the generator's own state. */
typedef struct cg_emits {
  /* fills in the unrolled values of a node that is no loop */
  void (*unrolled)(void *emitter, ir_ref ref, void *unrolled);
  /* emits a loop that runs; leaves its final values in finals[loop] */
  void (*serial_loop)(void *emitter, uint32_t loop);
  /* emits a reduction over lanes; leaves its values in finals[loop] */
  void (*lane_loop)(void *emitter, uint32_t loop);
  /* called before the operands of a store or update are emitted; may be NULL */
  void (*before)(void *emitter, ir_ref effect);
  void (*store)(void *emitter, ir_ref store);   /* emits all its unrolled values */
  void (*update)(void *emitter, ir_ref update); /* emits the update of the current lanes */
  /* Visits the operands of a node that is emitted from other operands than its sources; false: it is emitted
   * from its sources. NULL: all nodes are. */
  bool (*visit_operands)(void *emitter, ir_ref ref, void (*visit)(void *user, ir_ref operand), void *user);
  /* Are a node's unrolled values better emitted one by one, each with those of the same lanes of other nodes,
   * of which the largest number is `unrolled`? If `store` is not 0: can they be, and those of this store with
   * them? NULL: no node's are. */
  bool (*is_by_lane)(void *emitter, ir_ref ref, size_t unrolled, ir_ref store);
  void (*after_lanes)(void *emitter, ir_ref ref); /* emits what comes after the values of all lanes */
  void (*lane)(void *emitter, ir_ref ref); /* emits the value of the current lanes, into the node's array */
  void (*end_lane)(void *emitter); /* where no store ends them: keeps what lanes load in the order of lanes */
  void (*store_lane)(void *emitter, ir_ref store); /* emits the store of the current lanes */
  /* Emits the prefetches of all lanes of a load, which `unrolled`, `lane` and `after_lanes` then leave out
   * (cg_order.prefetched). NULL: they are emitted with the load. */
  void (*ahead)(void *emitter, ir_ref load);
  uint32_t (*registers)(void *emitter); /* vectors that registers hold; NULL: not known */
  bool threads_run;                     /* each call does at least one iteration of the loop over threads */
} cg_emits;

struct cg_order {
  cg_nest *nest;
  ir_graph *g; /* the nest's */
  ir_error *error;
  bool failed;
  const cg_emits *emits;
  void *emitter;

  void **values;        /* by ref: its unrolled values; NULL where it has no value in the current scope */
  void ***finals;       /* by loop, by carry: the unrolled final values */
  bool *open;           /* by loop that runs: emission is inside it */
  bool prefetched;      /* what the loads prefetch that are emitted now has been prefetched before them */
  uint64_t written;     /* set of locals, by number, to which a store was emitted */
  int64_t *lane;        /* by lane loop: the current lane */
  uint32_t nesting;     /* open loops and rare values */
  size_t log_count;     /* length of the log; a scope begins at the length that it finds */
  ir_ref *log;          /* refs in the order in which they got their values */
  ir_ref *stack, *list; /* visited refs; refs to be emitted */
  size_t log_cap, stack_count, stack_cap, list_count, list_cap;
  uint32_t *mark, stamp;
  struct cg_block *blocks; /* memory for value arrays */
};

/* False, with the error recorded, when memory is short. In either case call cg_order_close at the end. */
bool cg_order_open(cg_order *o, cg_nest *nest, const cg_emits *emits, void *emitter, ir_error *error);
void cg_order_close(cg_order *o);
void cg_order_fail(cg_order *o, ir_status status, const char *format, ...) IR_PRINTF(3, 4);

/* effects and visits */
/* Emits a store, an update, a loop that runs for its effect, or a sequence of effects, each with the values
 * that it needs. A failure is recorded in o->error and sets o->failed, like those of all functions here. */
void cg_emit_effect(cg_order *o, ir_ref effect);
/* From now on no node is visited. */
void cg_begin_visit(cg_order *o);
void cg_visit(void *order, ir_ref ref); /* marks a node as needed */
/* Emits, sources first, the visited nodes and their operands, as far as all loops that they depend on are
 * open. Without `reads`, no node that reads memory or may report an error is emitted. With it these are
 * emitted as well, but nothing that is needed only by the body of a loop that may run zero times. */
void cg_emit_visited(cg_order *o, bool reads);
void cg_hoist(cg_order *o, const cg_loop *loop, bool reads); /* emits the invariant operands of its body */
void cg_need_next(cg_order *o, const cg_loop *loop);         /* emits the loop's next carried values */
bool cg_surely_runs(const cg_order *o, const cg_loop *loop); /* does it run at least once? */
/* Before a loop: emits the operands of the loop, then the invariant operands of its body; those that read
 * memory only if the loop surely runs. Adds 1 to o->nesting, which the caller subtracts after the loop.
 * False after a failure. */
bool cg_before_loop(cg_order *o, const cg_loop *loop);

/* values */
/* Of pointers, NULL at first, until cg_order_close; itself NULL when memory is short. */
void *cg_array(cg_order *o, size_t count);
void **cg_carried_arrays(cg_order *o, const cg_loop *loop); /* the unrolled values of each */
void cg_define(cg_order *o, ir_ref ref, void *unrolled);    /* gives ref a value until the end of the scope */
void cg_forget_since(cg_order *o, size_t log_count);        /* ends a scope */

/* unrolled values: one per combination of the unroll lanes, the last loop fastest */
size_t cg_unroll_count(const cg_order *o, const uint64_t *lanes);
size_t cg_unroll_index(const cg_order *o, const uint64_t *lanes); /* of the current lanes */
uint32_t cg_width_of(const cg_order *o, const uint64_t *lanes);
void cg_first_lane(cg_order *o, const uint64_t *lanes);
bool cg_next_lane(cg_order *o, const uint64_t *lanes); /* false after the last combination */
/* Does the innermost open loop step by as many elements as a vector that is stored? */
bool cg_in_sequence(const cg_order *o, ir_ref store);

/* The set of the lane loops of carried value `slot` of a loop or, if it is a lane loop, of its result; the
 * nest owns it. */
static inline const uint64_t *cg_carry_lanes(const cg_order *o, const cg_loop *loop, uint32_t slot) {
  return loop->carry_lanes + (size_t)slot * o->nest->words;
}

#endif
