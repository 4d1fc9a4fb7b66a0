/* Loop-invariant values: what the functions of a scan or a while loop store or reduce, such as copies of
 * weights in the order in which products read them, and compute from operands that no iteration changes, is
 * computed once, before the loop, of which it becomes another operand. Elementwise work and views of it stay
 * where they are read: they fold into the kernels that read them.
 * Operands that no function reads any more are none any more. */
#include "pack.h"

#include "passes/ops/check.h"
#include "passes/ops/ops.h"
#include "passes/patterns/constant_values.h"

#include <string.h>

/* A function of a loop. */
typedef struct body {
  ir_graph *g;
  ir_function f;
  uint32_t changing; /* parameters before the invariant ones: state, and slices */
  ir_ref *nodes;     /* reachable from its results */
  size_t count, cap;
  uint8_t *flags; /* by place in nodes */
} body;
enum {
  INVARIANT = 1, /* no iteration changes it */
  NEEDED = 2,    /* for the results, inside of the function */
  HOISTED = 4    /* computed before the loop */
};

/* Values that are computed before the loop, and what they become in its functions. */
typedef struct hoisted {
  ir_ref *inside, *before, *fresh;
  size_t count, cap[3];
} hoisted;

/* Can it neither fail nor have an effect, so that it may be computed even if no iteration needs it? */
static bool is_pure(const ir_node *n) {
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY:
  case IR_CLASS_VIEW:
  case IR_CLASS_REDUCE: return true;
  default: return n->op == IR_OP_STORED || n->op == IR_OP_CONST || n->op == IR_OP_DATA || n->op == IR_OP_IOTA;
  }
}

static bool is_invariant(const body *b, ir_ref ref) {
  const ir_node *n = ir_get(b->g, ref);
  if (n->op == IR_OP_BUFFER)
    for (uint32_t i = b->changing; i < b->f.param_count; i++)
      if (b->f.params[i] == ref) return true;
  if (!is_pure(n)) return false;
  for (uint32_t i = 0; i < ir_operand_count(n); i++)
    if (ir_shape(b->g, n->src[i]) && !(b->flags[ir_find_ref(b->nodes, b->count, n->src[i])] & INVARIANT))
      return false;
  return true;
}

static bool is_worth_memory(const ir_node *n) {
  return n->op == IR_OP_STORED || ir_ops[n->op].cls == IR_CLASS_REDUCE;
}

static bool note(const ir_graph *g, hoisted *h, ir_ref value) {
  for (size_t i = 0; i < h->count; i++)
    if (h->inside[i] == value) return true;
  if (!IR_RESERVE(g->mem, h->inside, h->cap[0], h->count + 1) ||
      !IR_RESERVE(g->mem, h->before, h->cap[1], h->count + 1) ||
      !IR_RESERVE(g->mem, h->fresh, h->cap[2], h->count + 1))
    return false;
  h->inside[h->count++] = value;
  return true;
}

/* Marks the outermost invariant values of the function that are worth their memory. */
static bool mark_invariant(body *b) {
  ir_graph *g = b->g;
  bool good = ir_reachable(g, b->f.results, b->f.result_count, &b->nodes, &b->count, &b->cap) == IR_OK;
  b->flags = good ? ir_alloc(g->mem, b->count) : NULL;
  if (!b->flags) return false;
  memset(b->flags, 0, b->count);
  for (size_t i = 0; i < b->count; i++)
    if (is_invariant(b, b->nodes[i])) b->flags[i] = INVARIANT;
  for (uint32_t i = 0; i < b->f.result_count; i++)
    b->flags[ir_find_ref(b->nodes, b->count, b->f.results[i])] |= NEEDED;
  for (size_t i = b->count; i-- > 0;) {
    const ir_node *n = ir_get(g, b->nodes[i]);
    if (!(b->flags[i] & NEEDED)) continue;
    if (b->flags[i] & INVARIANT && is_worth_memory(n)) b->flags[i] |= HOISTED;
    for (uint32_t s = 0; s < ir_operand_count(n) && !(b->flags[i] & HOISTED); s++)
      b->flags[ir_find_ref(b->nodes, b->count, n->src[s])] |= NEEDED;
  }
  return true;
}

/* Notes what is marked, in an order that does not depend on when nodes were made. */
static bool note_marked(const body *b, hoisted *h) {
  ir_ref *order = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable_in_order(b->g, b->f.results, b->f.result_count, &order, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++)
    if (b->flags[ir_find_ref(b->nodes, b->count, order[i])] & HOISTED) good = note(b->g, h, order[i]);
  ir_free(b->g->mem, order, cap * sizeof *order);
  return good;
}

static void free_body(body *b) {
  ir_free(b->g->mem, b->flags, b->flags ? b->count : 0);
  ir_free(b->g->mem, b->nodes, b->cap * sizeof *b->nodes);
}

/* The values from number `from` on in terms of the operands, and parameters in their place, one for equal
 * values. */
static bool make_before(ir_graph *g, const ir_node *loop, ir_function f, hoisted *h, size_t from) {
  memcpy(h->before + from, h->inside + from, (h->count - from) * sizeof *h->before);
  if (ir_replace(g, f.params, loop->src, f.param_count, h->before + from, h->count - from) != IR_OK)
    return false;
  for (size_t i = from; i < h->count; i++) {
    ir_ref x = h->inside[i];
    size_t k = 0;
    while (h->before[k] != h->before[i]) k++;
    h->fresh[i] = k < i ? h->fresh[k] : op_buffer(g, ir_dtype_of(g, x), op_dims(g, x), ir_rank(g, x));
    if (!h->fresh[i]) return false;
  }
  return true;
}

/* Is it the first of equal values, which is the operand for all of them? */
static bool is_operand(const hoisted *h, size_t i) {
  size_t k = 0;
  while (h->before[k] != h->before[i]) k++;
  return k == i;
}

/* A loop whose operands change: which of its invariant ones are kept, and what comes behind them. */
typedef struct rebuilt {
  ir_graph *g;
  const hoisted *h;
  const ir_node *loop;
  uint32_t changing, functions;
  ir_ref results[2]; /* by function: a TUPLE of its results, with parameters in place of what is hoisted */
  bool *kept;        /* by operand */
} rebuilt;

static bool replace_inside(rebuilt *r) {
  for (uint32_t k = 0; k < r->functions; k++) {
    ir_function f = ir_function_of(r->g, r->loop->src[ir_operand_count(r->loop) + k]);
    r->results[k] = ir_tuple(r->g, f.results, f.result_count);
    if (!r->results[k] ||
        ir_replace(r->g, r->h->inside, r->h->fresh, r->h->count, &r->results[k], 1) != IR_OK)
      return false;
  }
  return true;
}

/* Finds which operands a function still reads; the others are computed for nothing. *all: it is all. */
static bool find_read(rebuilt *r, bool *all) {
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  uint32_t operands = ir_operand_count(r->loop);
  bool good = ir_reachable(r->g, r->results, r->functions, &nodes, &count, &cap) == IR_OK;
  *all = true;
  for (uint32_t i = 0; i < operands && good; i++) {
    r->kept[i] = i < r->changing;
    for (uint32_t k = 0; k < r->functions && !r->kept[i]; k++) {
      ir_ref param = ir_function_of(r->g, r->loop->src[operands + k]).params[i];
      size_t at = ir_find_ref(nodes, count, param);
      r->kept[i] = at < count && nodes[at] == param;
    }
    *all &= r->kept[i];
  }
  ir_free(r->g->mem, nodes, cap * sizeof *nodes);
  return good;
}

/* Appends to the kept ones of a list those that are new. */
static uint32_t put_list(const rebuilt *r, const ir_ref *old, const ir_ref *fresh, ir_ref *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < ir_operand_count(r->loop); i++)
    if (r->kept[i]) out[count++] = old[i];
  for (size_t i = 0; i < r->h->count; i++)
    if (is_operand(r->h, i)) out[count++] = fresh[i];
  return count;
}

static ir_ref rebuild_function(const rebuilt *r, uint32_t number, ir_ref *scratch) {
  ir_function f = ir_function_of(r->g, r->loop->src[ir_operand_count(r->loop) + number]);
  uint32_t params = put_list(r, f.params, r->h->fresh, scratch);
  return ir_func(r->g, ir_get(r->g, r->results[number])->src, f.result_count, scratch, params);
}

static ir_ref rebuild_loop(rebuilt *r) {
  const ir_node *n = r->loop;
  uint32_t operands = ir_operand_count(n);
  size_t room = (size_t)n->nsrc + r->h->count;
  ir_ref *src = ir_alloc(r->g->mem, 2 * room * sizeof *src), made = 0;
  if (!src) return 0;
  uint32_t count = put_list(r, n->src, r->h->before, src);
  bool good = true;
  for (uint32_t k = 0; k < r->functions && good; k++)
    good = (src[count++] = rebuild_function(r, k, src + room)) != 0;
  src[count++] = n->src[operands + r->functions];
  if (good) made = ir_make(r->g, (ir_op)n->op, IR_NONE, n->arg, src, count);
  ir_free(r->g->mem, src, 2 * room * sizeof *src);
  return made;
}

static ir_ref rebuild(ir_graph *g, ir_ref loop, const hoisted *h, uint32_t changing) {
  const ir_node *n = ir_get(g, loop);
  rebuilt r = {.g = g, .h = h, .loop = n, .changing = changing, .functions = ir_called_count(n)};
  r.kept = ir_alloc(g->mem, n->nsrc);
  bool all, good = r.kept && replace_inside(&r) && find_read(&r, &all);
  ir_ref made = !good ? 0 : all && !h->count ? loop : rebuild_loop(&r);
  ir_free(g->mem, r.kept, r.kept ? n->nsrc : 0);
  return made;
}

static ir_ref hoist_from(ir_graph *g, ir_ref loop) {
  hoisted h = {0};
  const ir_node *n = ir_get(g, loop);
  uint32_t changing = pass_changing_operands(n);
  bool good = true;
  for (uint32_t k = 0; k < ir_called_count(n) && good; k++) {
    body b = {.g = g, .f = ir_function_of(g, ir_called(g, loop, k)), .changing = changing};
    size_t from = h.count;
    good = mark_invariant(&b) && note_marked(&b, &h) && (h.count == from || make_before(g, n, b.f, &h, from));
    free_body(&b);
  }
  ir_ref made = good ? rebuild(g, loop, &h, changing) : 0;
  ir_free(g->mem, h.inside, h.cap[0] * sizeof *h.inside);
  ir_free(g->mem, h.before, h.cap[1] * sizeof *h.before);
  ir_free(g->mem, h.fresh, h.cap[2] * sizeof *h.fresh);
  return made;
}

ir_ref pass_hoist_invariants(ir_graph *g, ir_ref results) {
  ir_ref *live = NULL, *map = ir_alloc(g->mem, ((size_t)results + 1) * sizeof *map), root = 0;
  size_t count = 0, cap = 0;
  bool good = map && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK, any = false;
  for (size_t i = 0; i < count && good && !any; i++)
    any = ir_op_of(g, live[i]) == IR_OP_SCAN || ir_op_of(g, live[i]) == IR_OP_WHILE;
  for (size_t i = 0; i < count && good && any; i++) {
    ir_cause before = ir_cause_enter(g, live[i]);
    ir_ref made = ir_remake_mapped(g, live[i], map);
    ir_op op = ir_op_of(g, live[i]);
    if (made && (op == IR_OP_SCAN || op == IR_OP_WHILE) && !pass_runs_once(g, ir_get(g, made)))
      made = hoist_from(g, made);
    good = (map[live[i]] = ir_cause_leave(g, before, live[i], made)) != 0;
  }
  if (good) root = any ? map[results] : results;
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory hoisting values out of loops");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? ((size_t)results + 1) * sizeof *map : 0);
  return root;
}
