/* Functions closed over recorded values: values from outside become parameters. */
#include "control.h"

#include "ir/custom.h"
#include "passes/ops/check.h"

#include <string.h>

/* Of a constant that a function computes again; larger ones become operands. */
enum {
  SMALL_NODES = 16, /* each of one instruction for an element */
  SMALL_BYTES = 256 /* of data: four cache lines */
};
enum {
  DEPENDS = 1,    /* on a parameter */
  MAY_FAIL = 2,   /* has checked indices, calls a function, or has an effect */
  NEEDED = 4,     /* for the results */
  SEES_BATCH = 8, /* depends on a value from outside that has a batch */
  TARGET = 16     /* of a write: positions of what it writes, views of which are what makes it a target */
};

typedef struct closing {
  ir_graph *g;
  const op_recorded *f;
  op_captured *captured;
  bool hoist;
  ir_ref *nodes; /* nodes reached from the results down to the floor, and those just below it */
  size_t count, cap;
  uint8_t *flags;
} closing;

/* Is it a few nodes over constants alone? They are cheaper to recompute than to pass as an operand. */
static bool is_small_constant(const ir_graph *g, ir_ref root) {
  ir_ref list[SMALL_NODES] = {root};
  size_t count = 1;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, list[i]);
    int cls = ir_ops[n->op].cls;
    if (ir_batch(g, list[i])) return false;
    bool leaf = n->op == IR_OP_CONST || n->op == IR_OP_IOTA ||
                (n->op == IR_OP_DATA && ir_name_length(g, n->arg) <= SMALL_BYTES);
    bool plain = cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE ||
                 cls == IR_CLASS_TERNARY || cls == IR_CLASS_VIEW;
    if (!leaf && !plain) return false;
    for (uint32_t s = 0; s < (leaf ? 0 : ir_operand_count(n)); s++) {
      if (!ir_shape(g, n->src[s])) continue; /* an expression of sizes */
      if (count == SMALL_NODES) return false;
      list[count++] = n->src[s];
    }
  }
  return true;
}

static bool is_param(const closing *c, ir_ref ref) {
  for (uint32_t i = 0; i < c->f->param_count; i++)
    if (c->f->params[i] == ref) return true;
  return false;
}

/* Does the node belong to a vmap inside of the function? It was recorded there, or before, when another vmap
 * had the same operand. */
static bool is_inner(const closing *c, ir_ref ref) {
  const ir_node *n = ir_get(c->g, ref);
  bool inner = ir_batch_rank(c->g, ref) > c->f->level;
  for (uint32_t i = 0; ir_has_results((ir_op)n->op) && i < ir_operand_count(n) && !inner; i++)
    inner = ir_batch_rank(c->g, n->src[i]) > c->f->level;
  return inner;
}

/* Is the node outside of the function? Inputs and resources always are, even those that the function
 * declares. */
static bool is_outside(const closing *c, ir_ref ref) {
  bool older = ref < c->f->floor || ir_op_of(c->g, ref) == IR_OP_INPUT ||
               ir_op_of(c->g, ref) == IR_OP_RESOURCE ||
               (ir_op_of(c->g, ref) == IR_OP_RESULT && ir_src(c->g, ref, 0) < c->f->floor);
  return older && !is_inner(c, ref);
}

/* A view that turns the batch of an outside value into axes. Inside the function there is no such batch. */
static bool takes_outer_batch(const closing *c, const ir_node *n) {
  return n->op == IR_OP_REBATCH || (n->op == IR_OP_UNBATCH && (uint32_t)ir_arg_mode(n) <= c->f->level);
}

/* From operands to users: marks the nodes that depend on parameters, and those that may fail. */
static void mark_dependence(closing *c) {
  for (size_t i = 0; i < c->count; i++) {
    const ir_node *n = ir_get(c->g, c->nodes[i]);
    if (is_outside(c, c->nodes[i]) && ir_batch(c->g, c->nodes[i])) c->flags[i] = SEES_BATCH;
    if (is_outside(c, c->nodes[i]) || n->op == IR_OP_FUNC) continue;
    c->flags[i] = is_param(c, c->nodes[i]) ? DEPENDS : 0;
    if (ir_ops[n->op].cls == IR_CLASS_INDIRECT || ir_ops[n->op].cls == IR_CLASS_CONTROL ||
        (n->op == IR_OP_CUSTOM && ir_custom_has_effect(c->g, c->nodes[i])))
      c->flags[i] |= MAY_FAIL;
    for (uint32_t s = 0; s < n->nsrc; s++)
      c->flags[i] |= c->flags[ir_find_ref(c->nodes, c->count, n->src[s])] & (DEPENDS | MAY_FAIL | SEES_BATCH);
  }
}

/* Refuses views that turn an outer batch into axes where they depend on parameters; the others are
 * captured. */
static bool refuse_views(const closing *c) {
  ir_graph *g = c->g;
  for (size_t i = 0; i < c->count; i++) {
    const ir_node *n = ir_get(g, c->nodes[i]);
    if (is_outside(c, c->nodes[i]) || !takes_outer_batch(c, n) || (~c->flags[i] & (DEPENDS | SEES_BATCH)))
      continue;
    op_refuse(g,
              "%s: inside a function, whose values have no batch axes, %s depends on a parameter and on a "
              "captured value with batch axes, which cannot become ordinary axes there; pass the captured "
              "value as an operand, or take the view outside",
              ir_ops[n->op].text, OP_TYPE(n->src[0]));
    return false;
  }
  return true;
}

static bool capture_value(closing *c, ir_ref ref) {
  op_captured *all = c->captured;
  for (size_t i = 0; i < all->count; i++)
    if (all->x[i] == ref) return true;
  if (!IR_RESERVE(c->g->mem, all->x, all->cap, all->count + 1)) return false;
  all->x[all->count++] = ref;
  return true;
}

/* Targets of writes stay inside, whatever they are made of: a parameter is no chain of views. */
static void keep_targets(closing *c) {
  for (size_t i = 0; i < c->count; i++) {
    if (ir_op_of(c->g, c->nodes[i]) != IR_OP_ASSIGN || is_outside(c, c->nodes[i])) continue;
    ir_ref at = ir_src(c->g, c->nodes[i], 1);
    for (; at >= c->f->floor || !is_small_constant(c->g, at); at = ir_src(c->g, at, 0)) {
      c->flags[ir_find_ref(c->nodes, c->count, at)] |= TARGET;
      if (ir_op_of(c->g, at) == IR_OP_IOTA) break;
    }
  }
}

/* From the results to operands: captures the needed values from outside and, with hoist, the nodes that do
 * not depend on parameters and cannot fail. */
static bool capture_all(closing *c) {
  for (uint32_t i = 0; i < c->f->result_count; i++)
    c->flags[ir_find_ref(c->nodes, c->count, c->f->results[i])] |= NEEDED;
  for (size_t i = c->count; i-- > 0;) {
    ir_ref ref = c->nodes[i];
    const ir_node *n = ir_get(c->g, ref);
    bool inside = !is_outside(c, ref), keep = inside && (!c->hoist || c->flags[i] & (DEPENDS | MAY_FAIL));
    if (inside && is_inner(c, ref)) keep = true;
    if (takes_outer_batch(c, n) && c->flags[i] & SEES_BATCH) keep = false;
    if (c->flags[i] & TARGET) keep = true;
    if (!(c->flags[i] & NEEDED) || n->op == IR_OP_CONST || is_param(c, ref)) continue;
    if (!keep) {
      if (ir_shape(c->g, ref) && !is_small_constant(c->g, ref) && !capture_value(c, ref)) return false;
      continue;
    }
    if (n->op == IR_OP_BUFFER && !capture_value(c, ref))
      return false; /* a buffer of a function that has ended */
    for (uint32_t s = 0; s < ir_operand_count(n); s++)
      if (ir_shape(c->g, n->src[s]) || ir_has_results(ir_op_of(c->g, n->src[s])))
        c->flags[ir_find_ref(c->nodes, c->count, n->src[s])] |= NEEDED;
  }
  return true;
}

static bool close_over(closing *c, ir_ref floor) {
  const op_recorded *f = c->f;
  return ir_reachable_above(c->g, f->results, f->result_count, floor, NULL, 0, &c->nodes, &c->count,
                            &c->cap) == IR_OK;
}

/* Is it a write inside, whose target was made outside? */
static bool has_older_target(const closing *c, ir_ref ref) {
  const ir_node *n = ir_get(c->g, ref);
  if (n->op != IR_OP_ASSIGN || ref < c->f->floor) return false;
  ir_ref at = n->src[1];
  while (at >= c->f->floor && ir_op_of(c->g, at) != IR_OP_IOTA) at = ir_src(c->g, at, 0);
  return at < c->f->floor && !is_small_constant(c->g, at);
}

/* Collects the nodes down to the floor, and all older ones where a node of a vmap inside, or of a target, is
 * older than the floor. */
static bool walk_inside(closing *c) {
  bool good = close_over(c, c->f->floor), older = false;
  for (size_t i = 0; i < c->count && good; i++)
    older |= (c->g->batches_cap && c->nodes[i] < c->f->floor && is_inner(c, c->nodes[i])) ||
             has_older_target(c, c->nodes[i]);
  return good && (!older || close_over(c, 0));
}

static bool find_captured(ir_graph *g, const op_recorded *f, bool hoist, op_captured *captured) {
  closing c = {.g = g, .f = f, .captured = captured, .hoist = hoist};
  bool good = walk_inside(&c);
  c.flags = good ? ir_alloc(g->mem, c.count) : NULL;
  good = c.flags != NULL;
  if (good) {
    memset(c.flags, 0, c.count);
    mark_dependence(&c);
    keep_targets(&c);
    good = refuse_views(&c) && capture_all(&c);
  }
  ir_free(g->mem, c.flags, c.count);
  ir_free(g->mem, c.nodes, c.cap * sizeof *c.nodes);
  return good;
}

/* The function with an additional parameter for each captured value. */
static ir_ref close_one(ir_graph *g, const op_recorded *f, const op_captured *captured) {
  size_t params = f->param_count + captured->count, room = params + f->result_count;
  ir_ref *all = ir_alloc(g->mem, room * sizeof *all), made = 0;
  if (!all) return 0;
  ir_ref *results = all + params, *fresh = all + f->param_count;
  bool good = true;
  if (f->param_count) memcpy(all, f->params, f->param_count * sizeof *all);
  if (f->result_count) memcpy(results, f->results, f->result_count * sizeof *results);
  for (size_t i = 0; i < captured->count && good; i++) {
    ir_ref x = captured->x[i]; /* the parameter is a single element of the batch */
    good = (fresh[i] = op_buffer(g, ir_dtype_of(g, x), op_dims(g, x), ir_rank(g, x))) != 0;
  }
  if (good && ir_replace(g, captured->x, fresh, captured->count, results, f->result_count) == IR_OK)
    made = ir_func(g, results, f->result_count, all, (uint32_t)params);
  ir_free(g->mem, all, room * sizeof *all);
  return made;
}

bool op_close(ir_graph *g, const op_recorded *recorded, size_t n, bool hoist, ir_ref *funcs,
              op_captured *captured) {
  bool good = true;
  *captured = (op_captured){0};
  for (size_t i = 0; i < n && good; i++) good = find_captured(g, &recorded[i], hoist, captured);
  for (size_t i = 0; i < n && good; i++) good = (funcs[i] = close_one(g, &recorded[i], captured)) != 0;
  if (!good) ir_fail(g->error, IR_ERR_MEMORY, "out of memory recording a function");
  return good;
}
