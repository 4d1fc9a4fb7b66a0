/* Scan fusion: scans with the same operands, state and trip count become one, inside functions as well.
 *
 * Reverse-mode differentiation stacks the states of a scan by a second scan, of the same operands and with
 * the same next state; the values that were wanted anyway come from the first. Both functions have the same
 * parameters, so a function that returns the results of both replaces them. Scans are compared by their
 * operands as recorded; if these agree, so does what they become. */
#include "lower.h"

#include <string.h>

#include "passes/ops/build/control.h"

enum { NONE = UINT32_MAX }; /* in place of a place in a list: there is none */

/* One list of nodes, of the graph or of a function, in ascending order; map and leader are by place in it. */
typedef struct scope {
  ir_graph *g;
  ir_ref *done; /* by FUNC: its replacement */
  ir_ref *nodes, *map;
  uint32_t *leader; /* place of the first scan of its group; NONE: no group */
  size_t count, cap;
} scope;

static size_t index_in_scope(const scope *s, ir_ref ref) { return ir_find_ref(s->nodes, s->count, ref); }

static bool same_iterations(const ir_graph *g, ir_ref a, ir_ref b) {
  const ir_node *x = ir_get(g, a), *y = ir_get(g, b);
  uint32_t operands = ir_operand_count(x);
  if (x->arg != y->arg || x->nsrc != y->nsrc || x->src[operands + 1] != y->src[operands + 1] ||
      memcmp(x->src, y->src, operands * sizeof *x->src) != 0)
    return false;
  ir_function f = ir_function_of(g, ir_called(g, a, 0)), h = ir_function_of(g, ir_called(g, b, 0));
  return f.param_count == h.param_count &&
         memcmp(f.params, h.params, f.param_count * sizeof *f.params) == 0 &&
         memcmp(f.results, h.results, ir_scan_of(x).carries * sizeof *f.results) == 0;
}

/* Sets leader[]. True if there are functions at all. map[], not needed yet, lists scans without earlier
 * leaders. */
static bool group(scope *s) {
  size_t scans = 0;
  bool any = false;
  for (size_t i = 0; i < s->count; i++) {
    s->leader[i] = NONE;
    any |= ir_ops[ir_op_of(s->g, s->nodes[i])].cls == IR_CLASS_CONTROL;
    if (ir_op_of(s->g, s->nodes[i]) != IR_OP_SCAN) continue;
    size_t k = 0;
    while (k < scans && !same_iterations(s->g, s->nodes[s->map[k]], s->nodes[i])) k++;
    if (k == scans) s->map[scans++] = (uint32_t)i;
    else s->leader[i] = s->leader[s->map[k]] = s->map[k];
  }
  return any;
}

/* The results of a fused function: the state, then each different value that one of its scans stacks. */
typedef struct fused_scan {
  ir_ref *results;
  uint32_t count;
  size_t cap;
} fused_scan;

static uint32_t add_result(const ir_graph *g, fused_scan *u, uint32_t carries, ir_ref result) {
  for (uint32_t i = carries; i < u->count; i++)
    if (u->results[i] == result) return i;
  if (!IR_RESERVE(g->mem, u->results, u->cap, (size_t)u->count + 1)) return NONE;
  u->results[u->count] = result;
  return u->count++;
}

/* Lists all results of the group led by the node at `place`. *slot: that of result `number` of `scan`. */
static bool list_results(const scope *s, size_t place, ir_ref scan, uint32_t number, fused_scan *u,
                         uint32_t *slot) {
  uint32_t carries = ir_scan_of(ir_get(s->g, s->nodes[place])).carries;
  *slot = number;
  for (size_t i = place; i < s->count; i++) {
    if (s->leader[i] != place) continue;
    ir_function f = ir_function_of(s->g, ir_called(s->g, s->nodes[i], 0));
    for (uint32_t k = 0; k < f.result_count; k++) {
      bool state = k < carries;
      uint32_t at = state && u->count > k ? k : add_result(s->g, u, state ? u->count : carries, f.results[k]);
      if (at == NONE) return false;
      if (s->nodes[i] == scan && k == number) *slot = at;
    }
  }
  return true;
}

static ir_ref fuse_function(ir_graph *g, ir_ref func, ir_ref *done);

/* The node with its sources replaced; `func`, if not 0, is fused in place of its function. */
static ir_ref rebuild_node(scope *s, ir_ref node, ir_ref func) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref few[8], *src = few, made = 0;
  if (n->nsrc > sizeof few / sizeof *few && !(src = ir_alloc(g->mem, n->nsrc * sizeof *src))) return 0;
  bool good = true;
  for (uint32_t i = 0; i < n->nsrc && good; i++) {
    bool is_function = ir_op_of(g, n->src[i]) == IR_OP_FUNC;
    src[i] = !is_function ? s->map[index_in_scope(s, n->src[i])]
             : func       ? fuse_function(g, func, s->done)
                          : fuse_function(g, n->src[i], s->done);
    good = src[i] != 0;
  }
  if (good) made = ir_remake(g, node, src, n->nsrc);
  if (src != few) ir_free(g->mem, src, n->nsrc * sizeof *src);
  return made;
}

static ir_ref fuse_scan(scope *s, size_t place) {
  fused_scan u = {0};
  uint32_t slot;
  ir_ref made = 0, node = s->nodes[place];
  if (s->leader[place] != place) return s->map[s->leader[place]];
  if (list_results(s, place, node, 0, &u, &slot)) {
    ir_function f = ir_function_of(s->g, ir_called(s->g, node, 0));
    ir_ref func = ir_func(s->g, u.results, u.count, f.params, f.param_count);
    if (func) made = rebuild_node(s, node, func);
  }
  ir_free(s->g->mem, u.results, u.cap * sizeof *u.results);
  return made;
}

static ir_ref fuse_result(scope *s, ir_ref node) {
  ir_ref scan = ir_src(s->g, node, 0);
  size_t place = index_in_scope(s, scan);
  uint32_t slot;
  fused_scan u = {0};
  if (s->leader[place] == NONE) return rebuild_node(s, node, 0);
  bool good = list_results(s, s->leader[place], scan, (uint32_t)ir_arg_int(ir_get(s->g, node)), &u, &slot);
  ir_free(s->g->mem, u.results, u.cap * sizeof *u.results);
  return good ? op_result(s->g, s->map[place], slot) : 0;
}

static bool fuse_nodes(scope *s) {
  for (size_t i = 0; i < s->count; i++) {
    ir_ref node = s->nodes[i];
    ir_op op = ir_op_of(s->g, node);
    ir_cause before = ir_cause_enter(s->g, node);
    if (op == IR_OP_FUNC) s->map[i] = node; /* replaced in the nodes that call it */
    else if (op == IR_OP_SCAN && s->leader[i] != NONE) s->map[i] = fuse_scan(s, i);
    else if (op == IR_OP_RESULT) s->map[i] = fuse_result(s, node);
    else s->map[i] = rebuild_node(s, node, 0);
    if (!ir_cause_leave(s->g, before, node, s->map[i])) return false;
  }
  return true;
}

static bool fuse_roots(ir_graph *g, ir_ref *done, ir_ref *roots, uint32_t n) {
  scope s = {.g = g, .done = done};
  bool good = ir_reachable(g, roots, n, &s.nodes, &s.count, &s.cap) == IR_OK;
  s.map = good ? ir_alloc(g->mem, s.count * sizeof *s.map) : NULL;
  s.leader = good ? ir_alloc(g->mem, s.count * sizeof *s.leader) : NULL;
  good = s.map && s.leader;
  bool any = good && group(&s);
  if (any) good = fuse_nodes(&s);
  for (uint32_t i = 0; i < n && any && good; i++) roots[i] = s.map[index_in_scope(&s, roots[i])];
  ir_free(g->mem, s.map, s.count * sizeof *s.map);
  ir_free(g->mem, s.leader, s.count * sizeof *s.leader);
  ir_free(g->mem, s.nodes, s.cap * sizeof *s.nodes);
  return good;
}

/* The function with its scans fused. done[] has room for the functions that were there at first (done[0] is
 * the number of nodes then): those made since are few, and not met a second time. */
static ir_ref fuse_function(ir_graph *g, ir_ref func, ir_ref *done) {
  ir_function f = ir_function_of(g, func);
  bool noted = func < done[0];
  if (noted && done[func]) return done[func];
  ir_ref *results = ir_alloc(g->mem, f.result_count * sizeof *results), made = 0;
  if (!results) return 0;
  memcpy(results, f.results, f.result_count * sizeof *results);
  if (fuse_roots(g, done, results, f.result_count))
    made = ir_func(g, results, f.result_count, f.params, f.param_count);
  ir_free(g->mem, results, f.result_count * sizeof *results);
  if (noted) done[func] = made;
  return made;
}

ir_ref pass_fuse_scans(ir_graph *g, ir_ref results) {
  uint32_t count = g->count;
  ir_ref *done = ir_alloc(g->mem, count * sizeof *done);
  bool good = done != NULL;
  if (good) {
    memset(done, 0, count * sizeof *done);
    done[0] = count;
    good = fuse_roots(g, done, &results, 1);
  }
  ir_free(g->mem, done, count * sizeof *done);
  if (!good) ir_fail(g->error, IR_ERR_MEMORY, "out of memory fusing scans");
  return good ? results : 0;
}
