/* The table of values and operations. */
#include "impl.h"
#include "ir/custom.h"
#include "passes/ops/custom.h"
#include "passes/view/index_map.h"
#include "passes/view/interval.h"

#include <stdio.h>
#include <string.h>

static bool no_memory(propagate_state *s) {
  return ir_fail(s->g->error, IR_ERR_MEMORY, "propagation: out of memory") == IR_OK;
}

/* ---- values */

static bool add_value(propagate_state *s, ir_ref node) {
  ir_graph *g = s->g;
  const ir_spec *given = ir_spec_of(g, node);
  if (!IR_RESERVE(g->mem, s->values, s->value_cap, s->value_count + 1)) return no_memory(s);
  propagate_value *v = &s->values[s->value_count++];
  *v = (propagate_value){.node = node, .bytes = ir_dtypes[ir_dtype_of(g, node)].bytes};
  for (uint32_t d = 0; d < ir_rank(g, node); d++) v->bytes *= (double)ir_bounds_of(g, ir_dim(g, node, d)).hi;
  const ir_node *n = ir_get(g, node); /* a view that repeats elements is made again of what it is a view of */
  if (n->op == IR_OP_EXPAND || n->op == IR_OP_RESHAPE || n->op == IR_OP_PERMUTE || n->op == IR_OP_PAD) {
    double below = s->values[s->value_of[n->src[0]] - 1].bytes;
    if (below < v->bytes) v->bytes = below;
  }
  s->value_of[node] = (uint32_t)s->value_count;
  if (given) {
    ir_spec_canonical(given, &v->spec);
  } else if (ir_op_of(g, node) == IR_OP_SHARD) {
    ir_spec asked;
    if (!ir_shard_spec(g, node, &asked)) return no_memory(s);
    ir_spec_canonical(&asked, &v->spec);
  } else {
    ir_spec_init(&v->spec, ir_rank(g, node));
    if (ir_only_divides(ir_op_of(g, node))) return true; /* a collective says itself */
    memset(v->spec.open, true, sizeof v->spec.open);
  }
  return true;
}

/* ---- operations */

static bool add_term(propagate_state *s, ir_ref node) {
  ir_graph *g = s->g;
  uint32_t rank = ir_rank(g, node);
  if (!IR_RESERVE(g->mem, s->terms, s->term_cap, s->term_count + 1) ||
      !IR_RESERVE(g->mem, s->dims, s->dim_cap, s->dim_count + rank))
    return no_memory(s);
  s->terms[s->term_count++] = (propagate_term){s->value_of[node] - 1, (uint32_t)s->dim_count, (uint8_t)rank};
  for (uint32_t d = 0; d < rank; d++) s->dims[s->dim_count++] = (propagate_dim){0};
  return true;
}

/* A new factor of the operation that is being added; -1 after failing, or where there are too many. */
static int add_factor(propagate_state *s, propagate_op *op, const char *name, ir_ref size) {
  propagate_factor f = {0};
  if (op->factors == OP_FACTORS_MAX) return -1;
  if (!IR_RESERVE(s->g->mem, s->factors, s->factor_cap, s->factor_count + 1)) return no_memory(s), -1;
  if (!size || !ir_is_const(s->g, size, &f.size)) f.size = 0;
  snprintf(f.name, sizeof f.name, "%s", name);
  s->factors[s->factor_count++] = f;
  return op->factors++;
}

/* Positions of updates that replace each other in order stay whole. */
static bool is_divided(const ir_graph *g, ir_ref node, const op_sharding *rule, uint32_t term,
                       uint32_t axis) {
  const ir_node *n = ir_get(g, node);
  const op_split *split = &rule->terms[term].axes[axis];
  for (uint32_t d = (uint32_t)ir_arg_small(n); n->op == IR_OP_SCATTER && d < rule->terms[1].rank; d++)
    for (uint32_t k = 0; k < rule->terms[1].axes[d].count; k++)
      for (uint32_t i = 0; i < split->count; i++)
        if (rule->terms[1].axes[d].factors[k] == split->factors[i]) return false;
  return true;
}

static bool put_rule(propagate_state *s, propagate_op *op, const op_sharding *rule) {
  ir_graph *g = s->g;
  for (uint32_t i = 0; i < rule->factor_count; i++)
    if (add_factor(s, op, rule->factors[i].name, rule->factors[i].size) < 0) return false;
  for (uint32_t t = 0; t < op->terms; t++) {
    const propagate_term *term = &s->terms[op->first_term + t];
    for (uint32_t d = 0; d < term->rank; d++) {
      const op_split *split = &rule->terms[t].axes[d];
      propagate_dim *dim = &s->dims[term->first + d];
      if (split->count > sizeof dim->factors || !is_divided(g, op->node, rule, t, d)) continue;
      dim->count = split->count;
      for (uint32_t i = 0; i < split->count; i++) {
        dim->factors[i] = split->factors[i];
        s->factors[op->first_factor + split->factors[i]].even |= split->count > 1;
        if (op_is_one(g, rule->factors[split->factors[i]].size)) dim->count = 0;
      }
    }
  }
  return true;
}

/* Axes that the rule does not split, and that an operation only moves or accumulates along: along them the
 * result is divided as the operands are, into parts of its own size. */
static bool put_moved(propagate_state *s, propagate_op *op) {
  ir_graph *g = s->g;
  ir_op kind = ir_op_of(g, op->node);
  for (uint32_t d = 0; op_moves(kind) && d < ir_rank(g, op->node); d++) {
    bool none = true;
    for (uint32_t t = 0; t < op->terms; t++) {
      const propagate_term *term = &s->terms[op->first_term + t];
      none &= !s->dims[term->first + d].count && !op_is_one(g, ir_dim(g, s->values[term->value].node, d));
    }
    if (!none) continue;
    char name[16];
    snprintf(name, sizeof name, "moved%u", (unsigned)d);
    int factor = add_factor(s, op, name, 0);
    if (factor < 0) return false;
    for (uint32_t t = 0; t < op->terms; t++)
      s->dims[s->terms[op->first_term + t].first + d] = (propagate_dim){1, {(uint8_t)factor}};
  }
  return true;
}

static propagate_class class_of(const ir_graph *g, ir_ref node) {
  switch ((int)ir_ops[ir_op_of(g, node)].cls) {
  case IR_CLASS_CONTRACT: return PROPAGATE_CONTRACTS;
  case IR_CLASS_REDUCE: return PROPAGATE_REDUCES;
  case IR_CLASS_INDIRECT:
  case IR_CLASS_EXCHANGE: return PROPAGATE_MOVES;
  default: return PROPAGATE_PASSES;
  }
}

static propagate_op *begin_op(propagate_state *s, ir_ref node) {
  if (!IR_RESERVE(s->g->mem, s->ops, s->op_cap, s->op_count + 1)) return no_memory(s), NULL;
  propagate_op *op = &s->ops[s->op_count++];
  *op = (propagate_op){.node = node,
                       .cls = class_of(s->g, node),
                       .first_term = (uint32_t)s->term_count,
                       .first_factor = (uint32_t)s->factor_count};
  return op;
}

static bool add_op(propagate_state *s, ir_ref node) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  uint32_t operands = ir_operand_count(n);
  op_sharding rule;
  if (!op_sharding_known(g, node) || operands + 1 > PROPAGATE_TERMS || operands == 0) return true;
  if (ir_only_divides((ir_op)n->op) && n->op != IR_OP_SHARD) return true;
  for (uint32_t i = 0; i < operands; i++)
    if (!s->value_of[n->src[i]]) return true;
  if (!op_sharding_of(g, node, &rule)) return false;
  propagate_op *op = begin_op(s, node);
  bool good = op != NULL;
  if (good) op->terms = (uint8_t)(operands + 1);
  for (uint32_t i = 0; i <= operands && good; i++) good = add_term(s, i < operands ? n->src[i] : node);
  good = good && put_rule(s, op, &rule) && put_moved(s, op);
  op_sharding_free(&rule);
  return good;
}

/* A result of a custom operation, with the terms of the operands and of this result. */
static bool add_custom_result(propagate_state *s, ir_ref result) {
  ir_graph *g = s->g;
  ir_ref node = ir_src(g, result, 0);
  ir_custom_call call;
  op_sharding rule;
  if (!op_custom_divides(g, node)) return true;
  ir_custom_of(g, node, &call);
  for (uint32_t i = 0; i < call.operands; i++)
    if (!s->value_of[ir_src(g, node, i)]) return true;
  if (!op_sharding_of(g, node, &rule)) return false;
  rule.terms[call.operands] = rule.terms[call.operands + (uint32_t)ir_arg_int(ir_get(g, result))];
  propagate_op *op = begin_op(s, result);
  bool good = op != NULL;
  if (good) op->terms = (uint8_t)(call.operands + 1);
  for (uint32_t i = 0; i <= call.operands && good; i++)
    good = add_term(s, i < call.operands ? ir_src(g, node, i) : result);
  good = good && put_rule(s, op, &rule);
  op_sharding_free(&rule);
  return good;
}

static bool add_result(propagate_state *s, ir_ref result) {
  ir_op of = ir_op_of(s->g, ir_src(s->g, result, 0));
  return ir_ops[of].cls == IR_CLASS_CONTROL ? propagate_call_result(s, result) : add_custom_result(s, result);
}

/* ---- chains of views */

static bool is_view(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK &&
         op_sharding_known(g, node);
}

/* A chain that merges an axis into one that was repeated, as windows do: what its views pass on one by one is
 * lost, but the index of the whole chain follows an axis. reader[]: by node, the one that reads it; 0:
 * several do. */
static bool add_chain(propagate_state *s, ir_ref end, const ir_ref *reader) {
  ir_graph *g = s->g;
  pass_point p = {.rank = ir_rank(g, end)};
  ir_ref below = end;
  bool repeats = false, merges = false;
  for (ir_ref at = end; is_view(g, at) && (at == end || reader[at]); at = ir_src(g, at, 0)) {
    merges |= ir_op_of(g, at) == IR_OP_RESHAPE;
    repeats |= ir_op_of(g, at) == IR_OP_EXPAND && merges;
  }
  if (!repeats || !merges) return true;
  pass_index_begin(g);
  view_ranges(g, op_dims(g, end), p.rank, p.at);
  for (; is_view(g, below) && (below == end || reader[below]); below = ir_src(g, below, 0))
    if (!pass_view_index(g, &pass_canonical, below, &p)) return g->error->status == IR_OK;
  propagate_op *op = begin_op(s, end);
  if (!op || !s->value_of[below] || !add_term(s, below) || !add_term(s, end)) return op != NULL;
  op->terms = 2;
  const propagate_term *from = &s->terms[op->first_term], *to = from + 1;
  uint32_t taken = 0;
  for (uint32_t k = 0; k < p.rank; k++) {
    int d =
        op_is_one(g, ir_dim(g, below, k)) ? -1 : view_followed(g, p.at[k], op_dims(g, end), to->rank, taken);
    char name[16];
    snprintf(name, sizeof name, "moved%u", (unsigned)k);
    if (d < 0) continue;
    int factor = add_factor(s, op, name, 0);
    if (factor < 0) return false;
    taken |= 1u << d;
    s->dims[from->first + k] = s->dims[to->first + (uint32_t)d] = (propagate_dim){1, {(uint8_t)factor}};
  }
  return g->error->status == IR_OK;
}

/* ---- who has a value */

static bool add_readers(propagate_state *s) {
  if (!IR_RESERVE(s->g->mem, s->readers, s->reader_cap, s->term_count + 1)) return no_memory(s);
  for (size_t i = 0; i < s->term_count; i++) s->values[s->terms[i].value].count++;
  uint32_t at = 0;
  for (size_t i = 0; i < s->value_count; i++) {
    s->values[i].first = at, at += s->values[i].count;
    s->values[i].count = 0;
  }
  for (size_t o = 0; o < s->op_count; o++)
    for (uint32_t t = 0; t < s->ops[o].terms; t++) {
      propagate_value *v = &s->values[s->terms[s->ops[o].first_term + t].value];
      s->readers[v->first + v->count++] = (uint32_t)o;
    }
  return true;
}

bool propagate_alike(propagate_state *s, ir_ref a, uint32_t first_a, ir_ref b, uint32_t first_b) {
  if (a == b || !s->value_of[a] || !s->value_of[b]) return true;
  propagate_op *op = begin_op(s, b);
  if (!op || !add_term(s, a) || !add_term(s, b)) return false;
  op->terms = 2;
  op->cls = PROPAGATE_PASSES;
  const propagate_term *from = &s->terms[op->first_term], *to = from + 1;
  for (uint32_t d = 0; d + first_a < from->rank; d++) {
    char name[16];
    snprintf(name, sizeof name, "d%u", (unsigned)d);
    int factor = add_factor(s, op, name, ir_dim(s->g, a, d + first_a));
    if (factor < 0) return false;
    s->dims[from->first + first_a + d] = s->dims[to->first + first_b + d] =
        (propagate_dim){1, {(uint8_t)factor}};
  }
  return true;
}

bool propagate_table(propagate_state *s, ir_ref root, const propagate_pair *alike, size_t alike_count) {
  ir_graph *g = s->g;
  ir_ref *live = NULL, *reader = ir_alloc(g->mem, s->nodes * sizeof *reader);
  size_t count = 0, cap = 0;
  bool good = reader != NULL || no_memory(s);
  if (good) memset(reader, 0, s->nodes * sizeof *reader);
  good = good && ir_reachable_inside(g, &root, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) {
    const ir_node *n = ir_get(g, live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++) {
      ir_ref *of = &reader[n->src[k]];
      *of = *of ? root : live[i]; /* several: in place of the one */
    }
  }
  for (size_t i = 0; i < count && good; i++) /* kept: the only reader, where it is a view */
    if (reader[live[i]] && (reader[live[i]] == root || !is_view(g, reader[live[i]]))) reader[live[i]] = 0;
  for (size_t i = 0; i < count && good; i++) {
    if (ir_ops[ir_op_of(g, live[i])].cls == IR_CLASS_CONTROL) good = propagate_call(s, live[i]);
    if (!ir_shape(g, live[i]) || ir_has_results(ir_op_of(g, live[i]))) continue;
    bool result = ir_op_of(g, live[i]) == IR_OP_RESULT;
    good = good && add_value(s, live[i]) && (result ? add_result(s, live[i]) : add_op(s, live[i]));
    if (good && is_view(g, live[i]) && !reader[live[i]]) good = add_chain(s, live[i], reader);
  }
  for (size_t i = 0; i < alike_count && good; i++) good = propagate_alike(s, alike[i].a, 0, alike[i].b, 0);
  good = good && add_readers(s);
  if (reader) ir_free(g->mem, reader, s->nodes * sizeof *reader);
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}
