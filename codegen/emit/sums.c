/* Rewrites a kernel's sums and products of indices, and its conjunctions and disjunctions, to operations of
 * two operands, those of outer loops first. Every partial sum can then be computed in the outermost loop
 * where its terms are known, and accesses that differ by a constant share all but the constant. */
#include "codegen/emit/nest.h"

#include <string.h>

/* The sort key of a term of a sum: the depth of the innermost loop that it depends on, so that partial sums
 * leave inner loops (within a depth, terms without unroll lanes first); then terms that are a constant in
 * each lane, which cost nothing; then terms along the vector lanes. The last two keys, PER_LANE and
 * IN_VECTOR, are above twice any depth: loops nest far less than 2^19 deep. */
enum { PER_LANE = 1 << 20, IN_VECTOR = 1 << 21 };

static bool is_lane_constant(const cg_nest *nest, const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  if (n->op == IR_OP_MUL) {
    for (uint32_t i = 0; i < n->nsrc; i++)
      if (ir_op_of(g, n->src[i]) != IR_OP_CONST && ir_op_of(g, n->src[i]) != IR_OP_RANGE) return false;
  } else if (n->op != IR_OP_CONST && n->op != IR_OP_RANGE) {
    return false;
  }
  return cg_set_next(nest, cg_deps(nest, ref), -1) < 0;
}

static uint32_t sort_key(const cg_nest *nest, const ir_graph *g, ir_ref ref) {
  if (nest->width[ref] > 1) return IN_VECTOR;
  if (is_lane_constant(nest, g, ref)) return PER_LANE;
  uint32_t depth = 0;
  for (int64_t l = -1; (l = cg_set_next(nest, cg_deps(nest, ref), l)) >= 0;)
    if (nest->loops[l].depth > depth) depth = nest->loops[l].depth;
  return depth * 2 + (cg_set_next(nest, cg_lanes(nest, ref), -1) >= 0);
}

typedef struct rewriter {
  const cg_nest *old;
  const ir_graph *from;
  ir_graph *to;
  ir_ref *map;
  ir_ref *terms, *made;
  size_t terms_cap, made_cap;
} rewriter;

/* n's operation on a and b, or b alone where a is 0. */
static ir_ref binary_of(rewriter *w, const ir_node *n, ir_ref a, ir_ref b) {
  return a && b ? ir_make(w->to, (ir_op)n->op, (ir_dtype)n->dtype, 0, (ir_ref[]){a, b}, 2) : b;
}

/* OP over n's sources, outermost first, two at a time. Terms along the vector lanes are combined among
 * themselves first, since they are the part of an access that a vector must hold. */
static ir_ref chain_of(rewriter *w, const ir_node *n) {
  if (!IR_RESERVE(w->to->mem, w->terms, w->terms_cap, n->nsrc)) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) { /* insertion sort: sums are short, and it is stable */
    uint32_t place = sort_key(w->old, w->from, n->src[i]), at = i;
    for (; at > 0 && sort_key(w->old, w->from, w->terms[at - 1]) > place; at--)
      w->terms[at] = w->terms[at - 1];
    w->terms[at] = n->src[i];
  }
  enum { RUNNING, LANES, VECTOR, TERM_GROUPS };
  ir_ref group[TERM_GROUPS] = {0}, all = 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    uint32_t place = sort_key(w->old, w->from, w->terms[i]);
    int kind = place == IN_VECTOR ? VECTOR : place == PER_LANE ? LANES : RUNNING;
    if (!(group[kind] = binary_of(w, n, group[kind], w->map[w->terms[i]]))) return 0;
  }
  for (int kind = 0; kind < TERM_GROUPS; kind++)
    if (group[kind] && !(all = binary_of(w, n, all, group[kind]))) return 0;
  return all;
}

static ir_ref rewritten(rewriter *w, ir_ref ref) {
  const ir_node *n = ir_get(w->from, ref);
  bool associative = n->dtype == IR_INDEX ? n->op == IR_OP_ADD || n->op == IR_OP_MUL
                                          : n->dtype == IR_BOOL && (n->op == IR_OP_AND || n->op == IR_OP_OR);
  if (associative && n->nsrc) return chain_of(w, n);
  if (!IR_RESERVE(w->to->mem, w->made, w->made_cap, n->nsrc)) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) w->made[i] = w->map[n->src[i]];
  int64_t arg = n->arg;
  if (n->op == IR_OP_VAR) arg = ir_name(w->to, ir_name_text(w->from, arg), ir_name_length(w->from, arg));
  return ir_make(w->to, (ir_op)n->op, (ir_dtype)n->dtype, arg, w->made, n->nsrc);
}

ir_status cg_nest_rewrite(cg_nest *nest, const cg_nest *old, const ir_graph *g, ir_ref kernel,
                          ir_error *error) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  rewriter w = {.old = old, .from = g, .to = &nest->graph};
  ir_status status = ir_graph_init(&nest->graph, nest->mem, error);
  if (status != IR_OK) return status;
  w.map = ir_alloc(nest->mem, g->count * sizeof *w.map);
  if (!w.map || ir_reachable(g, &kernel, 1, &live, &count, &cap) != IR_OK)
    status = ir_fail(error, IR_ERR_MEMORY, "out of memory preparing a kernel for code generation");
  if (w.map) memset(w.map, 0, g->count * sizeof *w.map);
  for (size_t i = 0; i < count && status == IR_OK; i++)
    if (!(w.map[live[i]] = rewritten(&w, live[i])))
      status = ir_fail(error, IR_ERR_MEMORY, "out of memory preparing a kernel for code generation");
  if (status == IR_OK) nest->kernel = w.map[kernel];
  ir_free(nest->mem, live, cap * sizeof *live);
  ir_free(nest->mem, w.map, g->count * sizeof *w.map);
  ir_free(nest->mem, w.terms, w.terms_cap * sizeof *w.terms);
  ir_free(nest->mem, w.made, w.made_cap * sizeof *w.made);
  return status;
}
