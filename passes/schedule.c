/* Scheduling: which values live in memory. Every value that does is computed by one kernel, a scatter by two;
 * all others are fused into the kernels that use them.
 *
 *   results and what the caller supplies    in memory
 *   views                                   never: they are index arithmetic in their users; but a chain of
 * very many reshapes, pads and joins is cut, lest its index outgrow the copy it saves elementwise fused;
 * stored when costly and used by several kernels or at repeated positions, or when the fused expression grows
 * past a limit reductions fused with elementwise users that need each element once; stored when used twice,
 * inside another reduction, under a mask, or at repeated positions
 *   scatters                                always: one launch fills the buffer with the first operand, the
 * next one updates it. It has few threads, so that what is dear in its other operands is stored before
 *
 * One pass from users to operands collects how each value is used, one from operands to users bounds the size
 * of fused expressions. Launches follow node order, which is a topological order. */
#include "passes.h"

#include "index.h"
#include "ir/elementary.h"

#include <string.h>

enum {
  MAX_FUSED = 192,
  MAX_REMAPS = 10,
  COSTLY = 12,
  ELEMENTARY_COST = 12,
  REDUCTION_COST = 16,
  MAX_RECOMPUTE = 24,
  WIDE_JOIN = 32
};
enum { REPEATED = 1, MASKED = 2, IN_REDUCTION = 4, SHARED = 8, STORED = 16 };

typedef struct scheduler {
  ir_graph *g;
  ir_plan *plan;
  ir_ref *live;
  size_t count, cap;
  uint8_t *flags;   /* by node */
  uint16_t *cost;   /* operations fused into one element of the value, saturating */
  uint16_t *remaps; /* views among them that may leave divisions, masks or choices in the index, saturating */
  uint8_t *uses;    /* saturating at 2 */
  size_t nodes;
  bool failed;
} scheduler;

static bool is_stored_leaf(ir_op op) { return op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_DATA; }

static bool is_elementwise(const ir_node *n) {
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY: return true;
  default: return false;
  }
}

static bool is_tensor(const scheduler *s, ir_ref r) { return ir_shape(s->g, r) != 0; }

static int own_cost(const ir_node *n) {
  switch ((int)n->op) {
  case IR_OP_RELU: return 2;
  case IR_OP_DIV:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
  case IR_OP_SQRT: return 4;
  default: break;
  }
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE) return REDUCTION_COST;
  return ir_is_elementary((ir_op)n->op) ? ELEMENTARY_COST : is_elementwise(n);
}

/* Does the view read an element of its operand at several positions? */
static bool repeats(const scheduler *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  return n->op == IR_OP_EXPAND || (n->op == IR_OP_PAD && ir_arg_mode(n) != IR_PAD_CONSTANT) ||
         n->op == IR_OP_GATHER;
}

static bool scatters(const ir_node *n) { return n->op == IR_OP_SCATTER || n->op == IR_OP_SCATTER_ADD; }

static bool masks(const ir_node *n) {
  return n->op == IR_OP_PAD || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK;
}

/* Views that can leave more than sums and products in an index. */
static bool remaps(const ir_node *n) { return n->op == IR_OP_RESHAPE || masks(n); }

static uint16_t saturated(unsigned count) { return (uint16_t)(count > UINT16_MAX ? UINT16_MAX : count); }

/* How r uses its operands, given how r itself is used. */
static uint8_t flags_below(const scheduler *s, ir_ref r) {
  const ir_node *n = ir_get(s->g, r);
  uint8_t below = s->flags[r] & STORED ? 0 : s->flags[r] & (REPEATED | MASKED | IN_REDUCTION);
  if (repeats(s, r)) below |= REPEATED;
  if (masks(n)) below |= MASKED;
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE) below |= IN_REDUCTION;
  return below;
}

static void collect_uses(scheduler *s) {
  for (size_t i = s->count; i-- > 0;) {
    ir_ref r = s->live[i];
    const ir_node *n = ir_get(s->g, r);
    if (!is_tensor(s, r)) continue;
    bool reduction = ir_ops[n->op].cls == IR_CLASS_REDUCE;
    if (n->op == IR_OP_STORED) s->flags[r] |= STORED;
    if (reduction && (s->uses[r] > 1 || s->flags[r] & (REPEATED | MASKED | IN_REDUCTION | SHARED)))
      s->flags[r] |= STORED;
    if (scatters(n)) s->flags[r] |= STORED;
    uint8_t below = flags_below(s, r);
    bool passes_on = !(s->flags[r] & STORED) && (s->flags[r] & SHARED || s->uses[r] > 1);
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      ir_ref operand = n->src[k];
      s->flags[operand] |= below | (passes_on ? SHARED : 0) | (scatters(n) && k > 0 ? REPEATED : 0);
      if (s->uses[operand] < 2) s->uses[operand]++;
    }
  }
}

static void bound_fusion(scheduler *s) {
  for (size_t i = 0; i < s->count; i++) {
    ir_ref r = s->live[i];
    const ir_node *n = ir_get(s->g, r);
    if (!is_tensor(s, r)) continue;
    unsigned cost = (unsigned)own_cost(n), views = remaps(n);
    for (uint32_t k = 0; k < ir_operand_count(n); k++)
      if (!(s->flags[n->src[k]] & STORED)) cost += s->cost[n->src[k]], views += s->remaps[n->src[k]];
    bool again = s->flags[r] & (REPEATED | SHARED) || s->uses[r] > 1;
    if (is_elementwise(n) &&
        (cost > MAX_FUSED || (again && cost > MAX_RECOMPUTE) || (s->flags[r] & REPEATED && cost >= COSTLY)))
      s->flags[r] |= STORED;
    bool wide = masks(n) && ir_operand_count(n) >= WIDE_JOIN; /* lowering joins very many parts in steps */
    if ((views > MAX_REMAPS || wide) && !is_stored_leaf((ir_op)n->op)) s->flags[r] |= STORED;
    s->cost[r] = saturated(cost);
    s->remaps[r] = saturated(views);
  }
}

/* the plan */

static ir_ref elements_of(ir_graph *g, ir_ref node) {
  const ir_node *shape = ir_get(g, ir_shape(g, node));
  ir_ref count = ir_index(g, 1);
  for (uint32_t i = 0; i < shape->nsrc; i++) count = pass_mul(g, count, shape->src[i]);
  return count;
}

static uint32_t add_slot(scheduler *s, ir_slot_kind kind, ir_ref value) {
  ir_plan *p = s->plan;
  ir_ref elements = elements_of(s->g, value);
  if (!elements || !IR_RESERVE(p->mem, p->slots, p->slot_cap, p->slot_count + 1)) {
    s->failed = true;
    return 0;
  }
  p->slots[p->slot_count] = (ir_slot){kind, value, elements};
  return (uint32_t)p->slot_count++;
}

static void add_launch(scheduler *s, ir_ref value, uint32_t target) {
  ir_plan *p = s->plan;
  uint32_t *slots = ir_alloc(p->mem, sizeof *slots);
  if (!slots || !IR_RESERVE(p->mem, p->launches, p->launch_cap, p->launch_count + 1)) {
    ir_free(p->mem, slots, sizeof *slots);
    s->failed = true;
    return;
  }
  slots[0] = target;
  p->launches[p->launch_count++] = (ir_launch){.kernel = value, .slots = slots, .slot_count = 1};
}

/* What computes the value: a scatter's first operand comes first. */
static void add_launches(scheduler *s, ir_ref value, uint32_t target) {
  const ir_node *n = ir_get(s->g, value);
  if (scatters(n)) add_launch(s, n->src[0], target);
  if (!s->failed) add_launch(s, value, target);
}

static bool is_listed(const ir_ref *list, size_t count, ir_ref r) {
  size_t k = 0;
  while (k < count && list[k] != r) k++;
  return k < count;
}

static void build_plan(scheduler *s, const ir_node *results, const ir_ref *inputs, size_t input_count) {
  ir_plan *p = s->plan;
  p->results = ir_alloc(p->mem, results->nsrc * sizeof *p->results);
  if (!p->results) {
    s->failed = true;
    return;
  }
  p->result_count = results->nsrc;
  for (size_t i = 0; i < input_count && !s->failed; i++) add_slot(s, IR_SLOT_INPUT, inputs[i]);
  for (size_t i = 0; i < s->count && !s->failed; i++) { /* other leaves in node order */
    ir_op op = ir_op_of(s->g, s->live[i]);
    if (is_stored_leaf(op) && !is_listed(inputs, input_count, s->live[i]))
      add_slot(s, op == IR_OP_DATA ? IR_SLOT_DATA : IR_SLOT_INPUT, s->live[i]);
  }
  for (uint32_t k = 0; k < results->nsrc && !s->failed; k++) {
    uint32_t same = 0;
    while (same < k && results->src[same] != results->src[k]) same++;
    p->results[k] = same < k ? p->results[same] : add_slot(s, IR_SLOT_OUTPUT, results->src[k]);
  }
  for (size_t i = 0; i < s->count && !s->failed; i++) {
    ir_ref r = s->live[i];
    uint32_t k = 0;
    while (k < results->nsrc && results->src[k] != r) k++;
    if (k < results->nsrc) add_launches(s, r, p->results[k]);
    else if (is_tensor(s, r) && s->flags[r] & STORED) add_launches(s, r, add_slot(s, IR_SLOT_TEMP, r));
  }
}

static bool scheduler_init(scheduler *s, ir_ref results) {
  const ir_mem *mem = s->g->mem;
  s->nodes = (size_t)results + 1;
  s->flags = ir_alloc(mem, s->nodes * sizeof *s->flags);
  s->cost = ir_alloc(mem, s->nodes * sizeof *s->cost);
  s->remaps = ir_alloc(mem, s->nodes * sizeof *s->remaps);
  s->uses = ir_alloc(mem, s->nodes * sizeof *s->uses);
  if (!s->flags || !s->cost || !s->remaps || !s->uses) return false;
  memset(s->flags, 0, s->nodes * sizeof *s->flags);
  memset(s->cost, 0, s->nodes * sizeof *s->cost);
  memset(s->remaps, 0, s->nodes * sizeof *s->remaps);
  memset(s->uses, 0, s->nodes * sizeof *s->uses);
  return ir_reachable(s->g, &results, 1, &s->live, &s->count, &s->cap) == IR_OK;
}

ir_status pass_schedule(ir_graph *g, ir_ref results, const ir_ref *inputs, size_t input_count, ir_plan *plan,
                        ir_error *error) {
  scheduler s = {.g = g, .plan = plan};
  *plan = (ir_plan){.mem = g->mem};
  s.failed = !scheduler_init(&s, results);
  if (!s.failed) {
    const ir_node *n = ir_get(g, results);
    for (uint32_t i = 0; i < n->nsrc; i++) s.flags[n->src[i]] |= STORED;
    collect_uses(&s);
    bound_fusion(&s);
    build_plan(&s, n, inputs, input_count);
  }
  ir_free(g->mem, s.flags, s.nodes * sizeof *s.flags);
  ir_free(g->mem, s.cost, s.nodes * sizeof *s.cost);
  ir_free(g->mem, s.remaps, s.nodes * sizeof *s.remaps);
  ir_free(g->mem, s.uses, s.nodes * sizeof *s.uses);
  ir_free(g->mem, s.live, s.cap * sizeof *s.live);
  if (!s.failed) return IR_OK;
  ir_plan_free(plan);
  return ir_fail(error, IR_ERR_MEMORY, "out of memory scheduling a graph");
}
