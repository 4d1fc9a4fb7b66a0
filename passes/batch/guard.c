/* Functions that are computed for inactive elements, too: elements for which another branch is taken, or
 * whose loop has ended.
 *
 * Inactive elements must not cause a report of an out-of-range index, nor an endless loop. So checked indices
 * become 0 for them, and conditions of loops without a bound false. (Along an axis of size 0 the index 0 is
 * out of range like any other.) */
#include "passes/ops/ops.h"
#include "physicalize.h"

#include <string.h>

typedef struct guard {
  ir_graph *g;
  ir_ref active;
  ir_ref *nodes, *map; /* map[i] replaces nodes[i] */
  size_t count, cap;
  ir_ref *src;
  size_t src_cap;
} guard;

static bool is_checked(const ir_node *n) {
  bool indexed = ir_ops[n->op].cls == IR_CLASS_INDIRECT && n->op != IR_OP_ASSIGN;
  return indexed && ir_arg_mode(n) == IR_GATHER_CHECK;
}

static bool is_endless(const ir_graph *g, const ir_node *n) {
  return n->op == IR_OP_WHILE && ir_get(g, n->src[n->nsrc - 1])->arg < 0;
}

/* *needed: is anything inside to be guarded? False on failure. */
static bool find_need(ir_graph *g, const ir_ref *roots, size_t n, bool *needed) {
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable_inside(g, roots, n, &nodes, &count, &cap) == IR_OK;
  *needed = false;
  for (size_t i = 0; i < count && good && !*needed; i++)
    *needed = is_checked(ir_get(g, nodes[i])) || is_endless(g, ir_get(g, nodes[i]));
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return good;
}

static ir_ref mapped(const guard *w, ir_ref ref) { return w->map[ir_find_ref(w->nodes, w->count, ref)]; }

static bool map_sources(guard *w, const ir_node *n) {
  if (!IR_RESERVE(w->g->mem, w->src, w->src_cap, (size_t)n->nsrc + 1)) return false;
  for (uint32_t i = 0; i < n->nsrc; i++) w->src[i] = mapped(w, n->src[i]);
  return true;
}

/* Guards the functions that a node calls; the node and its functions then have one more operand, `active`.
 * *extended: is that so? */
static bool guard_call(guard *w, const ir_node *n, bool *extended) {
  ir_graph *g = w->g;
  uint32_t operands = ir_operand_count(n), called = ir_called_count(n);
  *extended = is_endless(g, n);
  for (uint32_t i = 0; i < called && !*extended; i++)
    if (!find_need(g, &n->src[operands + i], 1, extended)) return false;
  if (!*extended) return true;
  memmove(w->src + operands + 1, w->src + operands, (n->nsrc - operands) * sizeof *w->src);
  w->src[operands] = w->active;
  for (uint32_t i = 0; i < called; i++) {
    ir_ref *func = &w->src[operands + 1 + i], own = *func;
    if (!(*func = pass_guard(g, own))) return false;
    ir_function f = ir_function_of(g, *func);
    bool has_active = f.param_count > ir_function_of(g, own).param_count;
    ir_ref *params = ir_alloc(g->mem, ((size_t)f.param_count + 1) * sizeof *params), holds = 0;
    if (!params) return false;
    if (f.param_count) memcpy(params, f.params, f.param_count * sizeof *params);
    if (!has_active) params[f.param_count] = op_buffer(g, IR_BOOL, NULL, 0);
    uint32_t count = f.param_count + !has_active;
    bool condition = n->op == IR_OP_WHILE && i == 0 && is_endless(g, n);
    if (condition) holds = op_binary(g, IR_OP_AND, params[count - 1], f.results[0]);
    *func = !params[count - 1] || (condition && !holds)
                ? 0
                : ir_func(g, condition ? &holds : f.results, f.result_count, params, count);
    ir_free(g->mem, params, ((size_t)f.param_count + 1) * sizeof *params);
    if (!*func) return false;
  }
  return true;
}

static ir_ref rebuild_node(guard *w, ir_ref ref) {
  ir_graph *g = w->g;
  const ir_node *n = ir_get(g, ref);
  bool calls = ir_ops[n->op].cls == IR_CLASS_CONTROL, more = false;
  if (n->op == IR_OP_FUNC) return ref;
  if (!map_sources(w, n)) return 0;
  if (is_checked(n)) { /* index 0 for an inactive element */
    ir_ref zero = ir_int(g, ir_dtype_of(g, w->src[1]), 0);
    if (!(w->src[1] = op_where(g, w->active, w->src[1], zero))) return 0;
  }
  if (calls && !guard_call(w, n, &more)) return 0;
  return ir_remake(g, ref, w->src, n->nsrc + more);
}

static ir_ref guarded(guard *w, const ir_function *f) {
  ir_graph *g = w->g;
  size_t room = (size_t)f->result_count + f->param_count + 1;
  ir_ref made = 0, *all = ir_alloc(g->mem, room * sizeof *all);
  bool good = all && (w->active = op_buffer(g, IR_BOOL, NULL, 0)) &&
              ir_reachable(g, f->results, f->result_count, &w->nodes, &w->count, &w->cap) == IR_OK &&
              (w->map = ir_alloc(g->mem, w->count * sizeof *w->map));
  for (size_t i = 0; i < w->count && good; i++) {
    ir_cause before = ir_cause_enter(g, w->nodes[i]);
    w->map[i] = ir_cause_leave(g, before, w->nodes[i], rebuild_node(w, w->nodes[i]));
    good = w->map[i] != 0;
  }
  if (good) {
    ir_ref *params = all + f->result_count;
    for (uint32_t i = 0; i < f->result_count; i++) all[i] = mapped(w, f->results[i]);
    if (f->param_count) memcpy(params, f->params, f->param_count * sizeof *params);
    params[f->param_count] = w->active;
    made = ir_func(g, all, f->result_count, params, f->param_count + 1);
  }
  if (w->map) ir_free(g->mem, w->map, w->count * sizeof *w->map);
  ir_free(g->mem, w->nodes, w->cap * sizeof *w->nodes);
  ir_free(g->mem, w->src, w->src_cap * sizeof *w->src);
  ir_free(g->mem, all, room * sizeof *all);
  return made;
}

ir_ref pass_guard(ir_graph *g, ir_ref func) {
  ir_function f = ir_function_of(g, func);
  guard w = {.g = g};
  bool needed;
  ir_ref made = 0;
  if (find_need(g, f.results, f.result_count, &needed)) made = needed ? guarded(&w, &f) : func;
  if (!made) ir_fail(g->error, IR_ERR_MEMORY, "out of memory making batch axes ordinary");
  return made;
}
