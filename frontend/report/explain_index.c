#include <string.h>

#include "frontend/report/explain.h"
#include "frontend/views/view.h"
#include "passes/index/extract/extract.h"
#include "passes/index/index.h"

enum { DIVISION_COST = 4, MOST_SPLITS = 16 };

typedef struct explanation {
  ir_graph *g;
  ir_text *out;
  ir_ref chain, index, valid;
  ir_ref *live; /* nodes of index and valid, sources first */
  size_t count, cap;
} explanation;

static void expr(explanation *e, ir_ref ref) { ir_print_expr(e->g, ref, e->out); }
static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

static bool gather_nodes(explanation *e) {
  ir_ref roots[] = {e->index, e->valid};
  return ir_reachable(e->g, roots, 2, &e->live, &e->count, &e->cap) == IR_OK;
}
static void release_nodes(explanation *e) {
  ir_free(e->g->mem, e->live, e->cap * sizeof *e->live);
  e->live = NULL, e->count = e->cap = 0;
}

static bool is_division(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  return n->dtype == IR_INDEX && (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD);
}

/* Count operations and divisions: one of n operands is n - 1; constants, ranges and variables are free. */
static void cost_of(const explanation *e, unsigned *operations, unsigned *divisions) {
  *operations = *divisions = 0;
  for (size_t i = 0; i < e->count; i++) {
    const ir_node *n = ir_get(e->g, e->live[i]);
    ir_class cls = (ir_class)ir_ops[n->op].cls;
    if (cls != IR_CLASS_BINARY && cls != IR_CLASS_COMPARE && cls != IR_CLASS_TERNARY && cls != IR_CLASS_UNARY)
      continue;
    *operations += n->nsrc > 1 && cls == IR_CLASS_BINARY ? n->nsrc - 1 : 1;
    *divisions += is_division(e->g, e->live[i]);
  }
}

/* views */

static void put_views(explanation *e) {
  pass_view_chain all, merged = {.mem = e->g->mem};
  bool listed = pass_view_chain_unmerged(e->g, e->chain, &all) && pass_view_chain_copy(e->g, &all, &merged) &&
                pass_view_chain_simplify(e->g, &merged);
  if (!listed) {
    ir_textf(e->out, "views: none; %s\n", e->g->error->text);
    if (!ir_gives_up(e->g->error->status)) ir_error_clear(e->g->error);
  } else {
    ir_textf(e->out, "views: %zu", merged.count);
    if (all.count > merged.count)
      ir_textf(e->out, "; %zu reshape%s needed another view, of which %zu merged", all.count - 1,
               plural((int64_t)all.count - 1), all.count - merged.count);
    ir_text_str(e->out, "\n");
    for (size_t i = 0; i < merged.count; i++) {
      if (i > 0) {
        ir_text_str(e->out, "  which does not merge with the next:\n");
        pass_view_why(e->g, &merged.views[i - 1], &merged.views[i], e->out);
      }
      ir_text_str(e->out, "  ");
      pass_view_print(e->g, &merged.views[i], e->out);
      ir_text_str(e->out, "\n");
    }
  }
  pass_view_chain_free(&all);
  pass_view_chain_free(&merged);
}

/* masks */

/* Is the clause a constant bound of a single range? */
static bool is_bound(const ir_graph *g, ir_ref clause, const ir_node **range) {
  const ir_node *n = ir_get(g, clause);
  if (n->nsrc != 2 || ir_op_of(g, n->src[0]) != IR_OP_RANGE || !ir_is_const(g, n->src[1], NULL)) return false;
  *range = ir_get(g, n->src[0]);
  return n->op == IR_OP_LT || n->op == IR_OP_GE || n->op == IR_OP_EQ;
}

static void put_clause(explanation *e, ir_ref clause) {
  const ir_node *range, *n = ir_get(e->g, clause);
  int64_t bound = 0, size;
  ir_text_str(e->out, "  ");
  expr(e, clause);
  if (!is_bound(e->g, clause, &range)) {
    ir_text_str(e->out, ": not a bound of a single axis, so it is tested in the loop\n");
    return;
  }
  ir_is_const(e->g, n->src[1], &bound);
  ir_textf(e->out, ": axis %lld ", (long long)ir_arg_int(range));
  bool sized = ir_is_const(e->g, range->src[0], &size);
  if (n->op == IR_OP_EQ) ir_textf(e->out, "reads index %lld only", (long long)bound);
  else if (n->op == IR_OP_GE)
    ir_textf(e->out, "begins with %lld element%s of padding", (long long)bound, plural(bound));
  else if (sized)
    ir_textf(e->out, "ends with %lld element%s of padding", (long long)(size - bound), plural(size - bound));
  else ir_textf(e->out, "is padding from index %lld on", (long long)bound);
  ir_text_str(e->out, "; a bound of its loop\n");
}

static void put_masks(explanation *e) {
  const ir_node *n = ir_get(e->g, e->valid);
  if (ir_is_true(e->g, e->valid)) {
    ir_text_str(e->out, "masks: none, every index is valid\n");
  } else if (ir_is_false(e->g, e->valid)) {
    ir_text_str(e->out, "masks: no index is valid, the result is all padding\n");
  } else {
    ir_text_str(e->out, "masks:\n");
    bool many = n->op == IR_OP_AND;
    for (uint32_t i = 0; i < (many ? n->nsrc : 1); i++) put_clause(e, many ? n->src[i] : e->valid);
  }
}

/* divisions */

/* The range of a term coef * range; NULL when the term is something else. */
static const ir_node *range_term(const ir_graph *g, ir_ref term, int64_t *coef) {
  const ir_node *n = ir_get(g, term);
  *coef = 1;
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], coef)) n = ir_get(g, n->src[0]);
  return n->op == IR_OP_RANGE ? n : NULL;
}

/* How many iterations of a range with this coefficient increase the quotient by one; 0 when the coefficient
 * does not divide the divisor. */
static int64_t steps_of(int64_t coef, int64_t divisor) {
  int64_t step = coef < 0 ? -coef : coef;
  return step > 0 && divisor % step == 0 ? divisor / step : 0;
}

static void put_division(explanation *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref), *sum = ir_get(e->g, n->src[0]);
  bool added = sum->op == IR_OP_ADD, plain = true;
  pass_slope slopes[IR_MAX_RANK];
  int64_t divisor, coef, size, constant = 0, part;
  uint32_t count = 0;
  ir_text_str(e->out, "  ");
  expr(e, ref);
  ir_text_str(e->out, "\n");
  if (!ir_is_const(e->g, n->src[1], &divisor)) {
    ir_text_str(e->out, "    its divisor is not a constant\n");
    return;
  }
  for (uint32_t i = 0; i < (added ? sum->nsrc : 1); i++) {
    ir_ref term = added ? sum->src[i] : n->src[0];
    const ir_node *range = range_term(e->g, term, &coef);
    if (ir_is_const(e->g, term, &part)) constant = part;
    else if (range && count < IR_MAX_RANK && ir_is_const(e->g, range->src[0], &size))
      slopes[count++] = (pass_slope){(uint32_t)ir_arg_int(range), 0, size, coef};
    else plain = false;
  }
  if (plain) pass_quotient_why(e->out, slopes, count, constant, divisor);
  else ir_text_str(e->out, "    its dividend contains a variable size or another quotient\n");
}

static void put_divisions(explanation *e) {
  unsigned operations, divisions;
  cost_of(e, &operations, &divisions);
  if (divisions == 0) ir_text_str(e->out, "divisions: none\n");
  else ir_textf(e->out, "divisions: %u\n", divisions);
  for (size_t i = 0; i < e->count; i++)
    if (is_division(e->g, e->live[i])) put_division(e, e->live[i]);
  ir_textf(e->out, "cost: %u operation%s", operations, plural(operations));
  if (divisions == 1)
    ir_textf(e->out, ", one of them a division, which counts %d more: %u", DIVISION_COST,
             operations + DIVISION_COST);
  if (divisions > 1)
    ir_textf(e->out, ", %u of them divisions, which count %d more each: %u", divisions, DIVISION_COST,
             operations + DIVISION_COST * divisions);
  ir_text_str(e->out, "\n");
}

/* loop axes */

typedef struct axis_splits {
  int64_t split[MOST_SPLITS]; /* ascending, each divides the next, the last divides the size */
  uint32_t count;
} axis_splits;

static void add_split(axis_splits *splits, int64_t size, int64_t length) {
  uint32_t at = 0;
  if (length <= 1 || length >= size || size % length || splits->count == MOST_SPLITS) return;
  while (at < splits->count && splits->split[at] < length) at++;
  bool fits = (at == 0 || length % splits->split[at - 1] == 0) &&
              (at == splits->count || (splits->split[at] != length && splits->split[at] % length == 0));
  if (!fits) return;
  for (uint32_t i = splits->count++; i > at; i--) splits->split[i] = splits->split[i - 1];
  splits->split[at] = length;
}

static void find_splits(explanation *e, axis_splits *splits) {
  for (size_t i = 0; i < e->count; i++) {
    const ir_node *n = ir_get(e->g, e->live[i]);
    int64_t divisor, coef, size;
    if (!is_division(e->g, e->live[i]) || !ir_is_const(e->g, n->src[1], &divisor)) continue;
    const ir_node *sum = ir_get(e->g, n->src[0]);
    bool added = sum->op == IR_OP_ADD;
    for (uint32_t k = 0; k < (added ? sum->nsrc : 1); k++) {
      const ir_node *range = range_term(e->g, added ? sum->src[k] : n->src[0], &coef);
      if (range && ir_arg_int(range) < IR_MAX_RANK && ir_is_const(e->g, range->src[0], &size))
        add_split(&splits[ir_arg_int(range)], size, steps_of(coef, divisor));
    }
  }
}

/* Split an axis into ranges with the next numbers, and print their sizes. Returns the axis as a sum over the
 * ranges. */
static ir_ref split_axis(explanation *e, int64_t size, const axis_splits *splits, int64_t *number) {
  ir_graph *g = e->g;
  ir_ref sum = ir_index(g, 0);
  int64_t outer = size;
  for (uint32_t i = splits->count + 1; i-- > 0;) {
    int64_t unit = i ? splits->split[i - 1] : 1;
    ir_ref extent = ir_index(g, outer / unit);
    ir_ref range = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg((*number)++, 0), &extent, 1);
    ir_textf(e->out, "%s%lld", i == splits->count ? "" : " x ", (long long)(outer / unit));
    sum = pass_add(g, sum, pass_mul_int(g, range, unit));
    outer = unit;
  }
  return sum;
}

/* If the last view is contiguous, the result is stored in order, so that the loops may have the axes of the
 * view before it. Then *walked is that view, and e->index and e->valid are over its axes. */
static bool before_reshape(explanation *e, pass_view *walked) {
  pass_view_chain views;
  bool listed = pass_view_chain_of(e->g, e->chain, &views);
  bool found = listed && views.count > 1 && pass_view_contiguous(e->g, pass_view_last(&views));
  if (found) {
    views.count--;
    *walked = *pass_view_last(&views);
    found = pass_view_chain_lower(e->g, &views, NULL, &e->index, &e->valid);
  }
  pass_view_chain_free(&views);
  if (!listed && !ir_gives_up(e->g->error->status)) ir_error_clear(e->g->error);
  return found;
}

static bool put_split_index(explanation *e) {
  unsigned operations, divisions;
  if (!gather_nodes(e)) return false;
  cost_of(e, &operations, &divisions);
  ir_text_str(e->out, "  over these axes, numbered in order, the index is ");
  expr(e, e->index);
  ir_text_str(e->out, "\n");
  if (!ir_is_true(e->g, e->valid)) {
    ir_text_str(e->out, "  where ");
    expr(e, e->valid);
    ir_text_str(e->out, "\n");
  }
  if (divisions) ir_textf(e->out, "  with %u division%s left\n", divisions, plural(divisions));
  else ir_text_str(e->out, "  without any division\n");
  release_nodes(e);
  return true;
}

static bool put_axes(const explanation *of) {
  explanation e = {.g = of->g, .out = of->out, .chain = of->chain, .index = of->index, .valid = of->valid};
  ir_graph *g = e.g;
  axis_splits splits[IR_MAX_RANK] = {0};
  ir_ref from[IR_MAX_RANK], to[IR_MAX_RANK];
  pass_view walked = {.rank = ir_rank(g, e.chain)};
  uint32_t count = 0;
  int64_t number = 0, size;
  bool changed = false;
  for (uint32_t k = 0; k < walked.rank; k++) walked.shape[k] = ir_dim(g, e.chain, k);
  unsigned operations, divisions;
  cost_of(of, &operations, &divisions);
  if (!pass_canonical_access(g, &e.index, &e.valid)) return false;
  if (divisions) changed = before_reshape(&e, &walked);
  if (!gather_nodes(&e)) return false;
  find_splits(&e, splits);
  release_nodes(&e);
  ir_text_str(e.out, changed ? "loop axes: those before the last reshape, as the result is stored in order: "
                             : "loop axes: ");
  for (uint32_t k = 0; k < walked.rank; k++) {
    ir_ref dim = walked.shape[k];
    ir_text_str(e.out, k ? ", " : "");
    if (!ir_is_const(g, dim, &size) || size <= 1) {
      expr(&e, dim);
      continue;
    }
    from[count] = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(k, 0), &dim, 1);
    to[count] = split_axis(&e, size, &splits[k], &number);
    changed |= splits[k].count > 0;
    count++;
  }
  ir_text_str(e.out, changed ? "\n" : walked.rank ? ", as they are\n" : "none\n");
  if (!changed) return true;
  e.index = pass_substitute(g, e.index, from, to, count);
  e.valid = pass_substitute(g, e.valid, from, to, count);
  return e.index && e.valid && put_split_index(&e);
}

bool fe_explain_chain(ir_graph *g, ir_ref chain, ir_ref index, ir_ref valid, ir_text *out) {
  explanation e = {.g = g, .out = out, .chain = chain, .index = index, .valid = valid};
  if (!gather_nodes(&e)) return false;
  ir_text_str(out, "index: ");
  expr(&e, index);
  ir_text_str(out, "\n");
  put_views(&e);
  put_masks(&e);
  put_divisions(&e);
  bool done = put_axes(&e);
  release_nodes(&e);
  if (out->failed) ir_fail(g->error, IR_ERR_MEMORY, "out of memory explaining");
  return done && !out->failed && g->error->status == IR_OK;
}
