/* Rewriting whole expressions: every node reachable from a root is rebuilt once, sources first, in the order
 * of refs. */
#include "impl.h"

#include "affine.h"

#include <string.h>

typedef struct rewrite {
  ir_graph *g;
  ir_ref *live, *scratch;
  size_t count, cap, scratch_cap;
  ir_ref *map; /* by ref - floor, map_size entries: the new node, 0 before it is made; only those of live
                  nodes are set */
  size_t map_size;
  ir_ref floor;   /* ref of map[0]; older nodes stay */
  bool *replaced; /* of map_size entries: the node contains a replaced one; NULL: not needed */
} rewrite;

/* Of nodes older than `oldest`, those alone are listed that others are made of. */
static bool rewrite_begin(rewrite *w, ir_graph *g, ir_ref root, ir_ref oldest) {
  *w = (rewrite){.g = g};
  if (!root || ir_reachable_above(g, &root, 1, oldest, NULL, 0, &w->live, &w->count, &w->cap) != IR_OK)
    return false;
  w->map_size = (size_t)root + 1;
  w->map = ir_alloc(g->mem, w->map_size * sizeof *w->map);
  if (!w->map) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory rewriting an expression");
    return false;
  }
  for (size_t i = 0; i < w->count; i++) w->map[w->live[i]] = 0;
  return true;
}

static void rewrite_end(rewrite *w) {
  ir_free(w->g->mem, w->live, w->cap * sizeof *w->live);
  ir_free(w->g->mem, w->scratch, w->scratch_cap * sizeof *w->scratch);
  ir_free(w->g->mem, w->map, w->map_size * sizeof *w->map);
  ir_free(w->g->mem, w->replaced, w->replaced ? w->map_size * sizeof *w->replaced : 0);
}

/* Is `sum` the node plus other terms? Facts then only added terms that are 0. */
static bool is_term_of(const ir_graph *g, ir_ref sum, ir_ref node) {
  pass_linear form;
  if (sum == node || ir_dtype_of(g, sum) != IR_INDEX) return false;
  pass_linear_read(g, sum, &form);
  return pass_linear_coef(&form, node) != 0;
}

/* Rebuilds one node from its new sources, under a limit of steps of its own. */
static ir_ref rebuild_node(rewrite *w, ir_ref node, const pass_facts *facts) {
  const ir_node *n = ir_get(w->g, node);
  if (!IR_RESERVE(w->g->mem, w->scratch, w->scratch_cap, n->nsrc)) {
    ir_fail(w->g->error, IR_ERR_MEMORY, "out of memory rewriting an expression");
    return 0;
  }
  for (uint32_t i = 0; i < n->nsrc; i++)
    w->scratch[i] = n->src[i] < w->floor ? n->src[i] : w->map[n->src[i] - w->floor];
  bool divides = n->dtype == IR_INDEX && (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD);
  /* A divisor must be >= 1 also where the facts do not hold. */
  if (facts && divides && ir_bounds_of(w->g, w->scratch[1]).lo < 1) w->scratch[1] = n->src[1];
  pass_build b = pass_begin(w->g);
  b.facts = facts;
  ir_ref result = pass_make_node(&b, node, w->scratch, n->nsrc);
  return facts && divides && result && is_term_of(w->g, result, node) ? node : result;
}

/* Loops, and ranges and parameters whose extents are not constant, are identified by their nodes wherever
 * their values are used: two different ones of the same number must not arise. One that contains no replaced
 * node stays the same node, even where rebuilding would change its sources. */
static bool keeps_identity(const ir_graph *g, ir_ref ref) {
  ir_op op = ir_op_of(g, ref);
  bool sized = op == IR_OP_RANGE || op == IR_OP_PARAM;
  return op == IR_OP_LOOP || (sized && !ir_is_const(g, ir_src(g, ref, 0), NULL));
}

/* Finds the nodes that contain replaced ones, if any node keeps its identity; false when memory is short. */
static bool find_replaced(rewrite *w) {
  ir_graph *g = w->g;
  size_t first = 0;
  while (first < w->count && !keeps_identity(g, w->live[first])) first++;
  if (first == w->count) return true;
  if (!(w->replaced = ir_alloc(g->mem, w->map_size * sizeof *w->replaced))) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory rewriting an expression");
    return false;
  }
  for (size_t i = 0; i < w->count; i++) {
    const ir_node *n = ir_get(g, w->live[i]);
    bool replaced = w->map[w->live[i]] != 0;
    for (uint32_t s = 0; s < n->nsrc && !replaced; s++) replaced = w->replaced[n->src[s]];
    w->replaced[w->live[i]] = replaced;
  }
  return true;
}

/* Nodes that facts may simplify: arithmetic of dtype index and bool; not loads and the extents of ranges. */
static bool is_arithmetic(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  uint8_t cls = ir_ops[n->op].cls;
  return (n->dtype == IR_INDEX || n->dtype == IR_BOOL) &&
         (cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE ||
          cls == IR_CLASS_TERNARY);
}

/* Is nothing replaced in the node? */
static bool is_untouched(const rewrite *w, ir_ref node) {
  const ir_node *n = ir_get(w->g, node);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (w->map[n->src[i]] != n->src[i]) return false;
  return true;
}

/* The same; but indices with quotients may be simplified further all the same. */
static bool is_kept(const rewrite *w, ir_ref node) {
  const ir_node *n = ir_get(w->g, node);
  if ((n->dtype == IR_INDEX || n->dtype == IR_BOOL) && n->holds & IR_HOLDS_DIVISION) return false;
  return is_untouched(w, node);
}

/* What a substitution does to the nodes in which nothing is replaced. */
typedef enum extent {
  EVERYWHERE,    /* simplifies them once more, where n is 0 or they have quotients */
  IN_ARITHMETIC, /* the same, and replaces nothing but in index arithmetic and its tests */
  ALONE          /* leaves them alone */
} extent;

static bool stays(const rewrite *w, ir_ref node, extent where, bool replaces) {
  if (where == ALONE) return is_untouched(w, node);
  if (where == IN_ARITHMETIC && !is_arithmetic(w->g, node)) return true;
  if (replaces && is_kept(w, node)) return true;
  return w->replaced && !w->replaced[node] && keeps_identity(w->g, node);
}

/* floor: no node below it contains a replaced one. */
static ir_ref substitute(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n,
                         ir_ref floor, extent where) {
  rewrite w;
  ir_ref result = 0;
  if (rewrite_begin(&w, g, root, floor)) {
    for (size_t i = 0; i < n; i++)
      if (from[i] <= root) w.map[from[i]] = to[i];
    bool failed = where != ALONE && !find_replaced(&w);
    for (size_t i = 0; i < w.count && !failed; i++) {
      ir_ref node = w.live[i];
      if (w.map[node]) continue;
      if (node < floor || stays(&w, node, where, n > 0)) w.map[node] = node;
      else failed = (w.map[node] = rebuild_node(&w, node, NULL)) == 0;
    }
    result = failed ? 0 : w.map[root];
  }
  rewrite_end(&w);
  return result;
}

ir_ref pass_substitute(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n) {
  return substitute(g, root, from, to, n, 0, EVERYWHERE);
}

ir_ref pass_substitute_valid(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n) {
  return substitute(g, root, from, to, n, 0, IN_ARITHMETIC);
}

/* May the root, as far as its operations tell, contain one of the nodes? */
static bool may_contain(const ir_graph *g, ir_ref root, const ir_ref *nodes, size_t n) {
  uint8_t holds = ir_get(g, root)->holds;
  for (size_t i = 0; i < n; i++)
    if (nodes[i] <= root && holds & ir_holds_bit(ir_op_of(g, nodes[i]))) return true;
  return false;
}

ir_ref pass_substitute_alone(ir_graph *g, ir_ref root, const ir_ref *from, const ir_ref *to, size_t n) {
  if (!may_contain(g, root, from, n)) return root;
  ir_ref oldest = root;
  for (size_t i = 0; i < n; i++) oldest = from[i] < oldest ? from[i] : oldest;
  return substitute(g, root, from, to, n, oldest, ALONE);
}

/* Simplifies the nodes reachable from root with refs >= floor. No others are visited: time is proportional to
 * root - floor. */
static ir_ref simplify_above(ir_graph *g, ir_ref root, ir_ref floor) {
  if (!root || root < floor) return root;
  rewrite w = {.g = g, .floor = floor, .map_size = (size_t)root - floor + 1};
  w.map = ir_alloc(g->mem, w.map_size * sizeof *w.map);
  bool failed = !w.map;
  if (failed) ir_fail(g->error, IR_ERR_MEMORY, "out of memory rewriting an expression");
  else memset(w.map, 0, w.map_size * sizeof *w.map);
  for (size_t i = w.map_size; i-- > 0 && !failed;) { /* mark the reachable nodes, users first */
    const ir_node *n = ir_get(g, floor + (ir_ref)i);
    if (i + 1 < w.map_size && !w.map[i]) continue;
    w.map[i] = floor + (ir_ref)i;
    for (uint32_t k = 0; k < n->nsrc; k++)
      if (n->src[k] >= floor) w.map[n->src[k] - floor] = n->src[k];
  }
  for (size_t i = 0; i < w.map_size && !failed; i++) {
    ir_ref node = floor + (ir_ref)i;
    if (w.map[i] && keeps_identity(g, node)) w.map[i] = node;
    else if (w.map[i]) failed = (w.map[i] = rebuild_node(&w, node, NULL)) == 0;
  }
  ir_ref result = failed ? 0 : w.map[w.map_size - 1];
  rewrite_end(&w);
  return result;
}

static ir_ref simplify_once(ir_graph *g, ir_ref root) { return pass_substitute(g, root, NULL, NULL, 0); }

/* A node that the facts pin to one value is that value. */
static ir_ref pinned(pass_build *b, ir_ref node) {
  if (ir_dtype_of(b->g, node) != IR_INDEX || ir_op_of(b->g, node) == IR_OP_CONST) return node;
  ir_bounds r = pass_bounds(b, node);
  return r.lo == r.hi && r.lo != INT64_MIN && r.hi != INT64_MAX ? ir_index(b->g, r.lo) : node;
}

/* The sum with the values that the facts fix substituted, and with quotients replaced whose sum is affine. */
static ir_ref finalize_sum(ir_graph *g, const pass_facts *facts, ir_ref index) {
  pass_build b = pass_begin(g);
  pass_linear sum;
  b.facts = facts->count ? facts : NULL;
  pass_linear_read(g, index, &sum);
  if (facts->count) pass_linear_substitute_facts(&b, &sum);
  for (uint32_t i = 0; i < sum.count && pass_linear_affine(&b, &sum); i++) {}
  return pass_linear_node(&b, &sum);
}

/* Once the budget is exhausted, facts are applied only to expressions of at most this many nodes [154 in the
 * tests]: others stay as they are, so that a long chain of views takes linear time. */
enum { MAX_EXHAUSTED_NODES = 1000 };

static ir_ref simplify_given(ir_graph *g, ir_ref index, ir_ref valid) {
  pass_build b = pass_begin(g);
  pass_facts facts;
  if (!index || !valid) return 0;
  pass_facts_read(&b, valid, &facts);
  if (facts.never) return ir_dtype_of(g, index) == IR_INDEX ? ir_index(g, 0) : index;
  rewrite w = {.g = g};
  ir_ref result = facts.count ? 0 : index;
  if (facts.count && rewrite_begin(&w, g, index, 0)) {
    bool failed = false;
    bool left = pass_budget_exhausted(g) && w.count > MAX_EXHAUSTED_NODES;
    if (left) facts.count = 0, w.map[index] = index;
    for (size_t i = 0; i < w.count && !failed && !left; i++) {
      ir_ref node = w.live[i];
      if (is_arithmetic(g, node)) node = rebuild_node(&w, node, &facts);
      b = pass_begin(g);
      b.facts = &facts;
      w.map[w.live[i]] = node ? pinned(&b, node) : 0;
      failed = !w.map[w.live[i]];
    }
    result = failed ? 0 : w.map[index];
  }
  rewrite_end(&w);
  return result && ir_dtype_of(g, result) == IR_INDEX ? finalize_sum(g, &facts, result) : result;
}

/* One step of a simplification. `given`: the validity or the floor that the step needs, or 0. */
typedef ir_ref (*step)(ir_graph *g, ir_ref expression, ir_ref given);

/* Repeats `next` until nothing changes or until an earlier expression returns, since one step may undo
 * another; at most ITERATIONS times. Of the expressions in a cycle, the first in the order of ir_compare is
 * returned. */
static ir_ref to_fixed_point(ir_graph *g, ir_ref root, ir_ref given, step next) {
  enum { ITERATIONS = 8 }; /* cycles are as long at most; the workloads and the tests are done after two */
  ir_ref seen[ITERATIONS];
  uint32_t length = 0, back = 0;
  for (; length < ITERATIONS; length++) {
    seen[length] = root;
    root = next(g, root, given);
    if (!root || root == seen[length]) return root;
    for (back = 0; back <= length && seen[back] != root; back++) {}
    if (back <= length) break;
  }
  for (; back < length; back++)
    if (ir_compare(g, seen[back + 1], root) < 0) root = seen[back + 1];
  return root;
}

/* Removes the nodes made since the graph had `count` where they led to no change. */
static ir_ref rewind_if_unchanged(ir_graph *g, uint32_t count, ir_ref before, ir_ref after) {
  if (after == before) ir_graph_rewind(g, count);
  return after;
}

static ir_ref simplify_step(ir_graph *g, ir_ref root, ir_ref valid) {
  (void)valid;
  return simplify_once(g, root);
}

static ir_ref resimplify(ir_graph *g, ir_ref root) { return to_fixed_point(g, root, 0, simplify_step); }

ir_ref pass_simplify(ir_graph *g, ir_ref root) {
  uint32_t count = g->count;
  return rewind_if_unchanged(g, count, root, resimplify(g, root));
}

ir_ref pass_simplify_new(ir_graph *g, ir_ref root, uint32_t floor) {
  if (!root) return 0;
  uint32_t count = g->count;
  ir_ref made = pass_rebuild(g, root, ir_get(g, root)->src, ir_get(g, root)->nsrc);
  return rewind_if_unchanged(g, count, root,
                             made == root ? root : to_fixed_point(g, made, floor, simplify_above));
}

/* A comparison of a sum, or a disjunction that may contain one. */
static bool may_hold_sums(const ir_graph *g, ir_ref clause) {
  const ir_node *n = ir_get(g, clause);
  return n->op == IR_OP_OR || (n->nsrc == 2 && ir_op_of(g, n->src[0]) == IR_OP_ADD);
}

/* Clauses about sums that were simplified together may take another form when each is rebuilt alone, so the
 * result is simplified to a fixed point. */
static ir_ref finalize_clauses(ir_graph *g, ir_ref valid) {
  ir_ref all = pass_and(g, valid, valid);
  if (!all || ir_op_of(g, all) != IR_OP_AND) return all && may_hold_sums(g, all) ? resimplify(g, all) : all;
  bool sums = false;
  for (uint32_t i = 0; i < ir_get(g, all)->nsrc && !sums; i++) sums = may_hold_sums(g, ir_src(g, all, i));
  return sums ? resimplify(g, all) : all;
}

/* The masks of a padded convolution are asked for by each of six steps, which trace its operands again. */
ir_ref pass_finalize_clauses(ir_graph *g, ir_ref valid) {
  ir_finalized *recent = &g->finalized[valid % IR_RECENT];
  if (recent->condition == valid) return recent->result;
  ir_ref result = finalize_clauses(g, valid);
  if (!result || pass_budget_exhausted(g)) return result; /* later, there may be steps left for more */
  *recent = (ir_finalized){valid, result};
  ir_ref end = (valid > result ? valid : result) + 1;
  if (end > g->finalized_end) g->finalized_end = end;
  return result;
}

/* Is a further simplification worthwhile? Several quotients may have come together when the steps of a
 * builder call were used up, and under a validity a quotient is split into other digits. */
static bool has_quotients(const ir_graph *g, ir_ref index, ir_ref valid) {
  pass_linear sum;
  uint32_t quotients = 0, others = 0;
  pass_linear_read(g, index, &sum);
  for (uint32_t i = 0; i < sum.count; i++) {
    ir_op op = ir_op_of(g, sum.term[i].atom);
    quotients += op == IR_OP_FLOORDIV;
    others += op != IR_OP_FLOORDIV && op != IR_OP_RANGE;
  }
  return ir_is_true(g, valid) ? quotients > 1 : quotients + others > 0;
}

static ir_ref simplify_given_once(ir_graph *g, ir_ref index, ir_ref valid) {
  ir_ref result = simplify_given(g, index, valid);
  return result && has_quotients(g, result, valid) ? resimplify(g, result) : result;
}

ir_ref pass_simplify_given(ir_graph *g, ir_ref index, ir_ref valid) {
  uint32_t count = g->count;
  ir_ref after = ir_is_true(g, valid) ? simplify_given_once(g, index, valid)
                                      : to_fixed_point(g, index, valid, simplify_given_once);
  return rewind_if_unchanged(g, count, index, after);
}

bool pass_about_stride(ir_graph *g, ir_ref index, ir_ref range, int64_t *elements) {
  if (affine_stride(g, index, range, elements)) return true;
  ir_ref next = pass_add_int(g, range, 1), then = pass_substitute(g, index, &range, &next, 1);
  ir_bounds step = then ? ir_bounds_of(g, pass_sub(g, then, index)) : (ir_bounds){0};
  *elements = step.hi;
  return step.lo > 0 && step.hi < 2 * step.lo;
}
