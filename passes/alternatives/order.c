/* In what order a kernel adds up floats. Sums are loops that carry a value (passes/loops/reduce.c): blocks of
 * terms, lanes along them, accumulators. What an order is made of, bindings and trip counts from the outermost
 * loop of a sum inwards and what combines the values, is a hash for each sum; the sums of one value are the
 * same in two kernels where the hashes are.
 *
 * Few terms are added up one after the other, in a loop or written out (PASS_FEW_TERMS): these count as no
 * loop. Maxima and minima, and whatever integers are combined by, are the same in any order. */
#include "alternatives.h"

#include "passes/index/affine.h"
#include "passes/passes.h"

#include <stdlib.h>

typedef struct walk {
  const ir_graph *g;
  alternatives_order *out;
} walk;

/* FNV-1a, of whole words. */
static uint64_t mixed(uint64_t hash, uint64_t word) { return (hash ^ word) * UINT64_C(0x100000001b3); }

static int64_t trips_of(const ir_graph *g, ir_ref loop) {
  return ir_bounds_of((ir_graph *)g, ir_src(g, ir_src(g, loop, 0), 0)).hi;
}

static bool is_order_free(ir_op op) { return op == IR_OP_MAX || op == IR_OP_MIN; }

/* The loop, and the number of its value, that the node is; false: it is none. */
static bool loop_value(const ir_graph *g, ir_ref node, ir_ref *loop, uint32_t *slot) {
  const ir_node *n = ir_get(g, node);
  *loop = n->op == IR_OP_LOOP ? node : n->op == IR_OP_GET ? n->src[0] : 0;
  *slot = n->op == IR_OP_GET ? (uint32_t)ir_arg_int(n) : 0;
  return *loop && ir_arg_int(ir_get(g, *loop)) > 0;
}

/* The hash of a value that a loop carries, with those of the loops inside that it is combined from; *terms: how
 * many terms one iteration of all has, or 0 where not all of the loops are serial. */
static uint64_t order_of(const ir_graph *g, ir_ref loop, uint32_t slot, int64_t *terms) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  *terms = 1;
  for (bool more = true; more;) {
    const ir_node *l = ir_get(g, loop);
    ir_ref initial = l->src[1 + slot], next = l->src[1 + (uint32_t)ir_arg_int(l) + slot], inner = 0;
    int64_t trips = trips_of(g, loop);
    uint32_t inner_slot = 0;
    *terms = ir_arg_mode(l) != IR_SERIAL || trips > PASS_FEW_TERMS ? 0 : *terms * trips;
    hash = mixed(mixed(hash, (uint64_t)ir_arg_mode(l)), (uint64_t)trips);
    hash = mixed(hash, ir_op_of(g, initial));
    more = loop_value(g, next, &inner, &inner_slot);
    if (!more) {
      const ir_node *n = ir_get(g, next);
      hash = mixed(mixed(hash, n->op), n->dtype);
      for (uint32_t k = 0; k < n->nsrc && !more; k++) more = loop_value(g, n->src[k], &inner, &inner_slot);
    }
    loop = inner, slot = inner_slot;
  }
  return hash;
}

static bool add_orders(alternatives_order *o, const ir_graph *g, ir_ref loop) {
  const ir_node *l = ir_get(g, loop);
  uint32_t carried = (uint32_t)ir_arg_int(l);
  for (uint32_t slot = 0; slot < carried; slot++) {
    ir_ref next = l->src[1 + carried + slot];
    int64_t terms;
    if (!ir_is_float(ir_dtype_of(g, next)) || is_order_free(ir_op_of(g, next))) continue;
    uint64_t order = order_of(g, loop, slot, &terms);
    if (terms > 0 && terms <= PASS_FEW_TERMS) continue;
    if (!IR_RESERVE(o->mem, o->orders, o->cap, o->count + 1)) return false;
    size_t at = o->count;
    while (at > 0 && o->orders[at - 1] > order) at--;
    if (at > 0 && o->orders[at - 1] == order) continue;
    for (size_t k = o->count++; k > at; k--) o->orders[k] = o->orders[k - 1];
    o->orders[at] = order;
  }
  return true;
}

bool alternatives_order_add(alternatives_order *o, const ir_graph *g, ir_ref kernel) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable(g, &kernel, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++)
    if (ir_op_of(g, live[i]) == IR_OP_LOOP) good = add_orders(o, g, live[i]);
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}

bool alternatives_order_equal(const alternatives_order *a, const alternatives_order *b) {
  size_t i = 0;
  while (i < a->count && i < b->count && a->orders[i] == b->orders[i]) i++;
  return i == a->count && i == b->count;
}

void alternatives_order_free(alternatives_order *o) {
  ir_free(o->mem, o->orders, o->cap * sizeof *o->orders);
  *o = (alternatives_order){.mem = o->mem};
}
