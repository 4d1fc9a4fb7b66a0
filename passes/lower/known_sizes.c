/* Size variables that have one value become it.
 *
 * A graph may declare n=1..1, as the part that a device has of a short axis: every later choice, that of the
 * order of a sum's terms above all, is then that of the graph with the number. Ports keep the variable, so
 * that the caller names its value as before (frontend/api/program.c). */
#include "lower.h"

#include "passes/index/index.h"

#include <string.h>

typedef struct known_sizes {
  ir_graph *g;
  ir_ref *map; /* by node: the new one */
  ir_ref *scratch;
  size_t cap;
} known_sizes;

static bool is_known(ir_graph *g, ir_ref ref) {
  return ir_op_of(g, ref) == IR_OP_VAR && ir_bounds_of(g, ref).lo == ir_bounds_of(g, ref).hi;
}

bool pass_has_known_sizes(ir_graph *g) {
  bool any = false;
  for (ir_ref r = 1; r < g->count && !any; r++) any = is_known(g, r);
  return any;
}

static ir_ref rebuild(known_sizes *k, ir_ref node) {
  ir_graph *g = k->g;
  ir_ref shape = ir_shape(g, node), dims[IR_MAX_RANK];
  const ir_node *n = ir_get(g, node);
  if (is_known(g, node)) return ir_index(g, ir_bounds_of(g, node).lo);
  if (!IR_RESERVE(g->mem, k->scratch, k->cap, n->nsrc)) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory replacing sizes");
    return 0;
  }
  uint32_t count = n->nsrc, rank = shape ? ir_rank(g, node) : 0;
  bool same = true;
  for (uint32_t i = 0; i < count; i++) same &= (k->scratch[i] = k->map[n->src[i]]) == n->src[i];
  if (!shape) return same ? node : pass_rebuild(g, node, k->scratch, count);
  for (uint32_t i = 0; i < rank; i++) {
    ir_ref dim = ir_dim(g, node, i);
    dims[i] = k->map[dim];
    same &= dims[i] == dim;
  }
  return same ? node
              : ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, ir_tuple(g, dims, rank), n->arg,
                               k->scratch, count);
}

/* The nodes inside of the roots and the sizes of their shapes. */
static bool list_nodes(ir_graph *g, const ir_ref *roots, size_t n, ir_ref **live, size_t *count,
                       size_t *cap) {
  ir_ref *all = NULL;
  size_t used = 0, all_cap = 0;
  bool good = ir_reachable_inside(g, roots, n, live, count, cap) == IR_OK &&
              IR_RESERVE(g->mem, all, all_cap, 2 * *count);
  for (size_t i = 0; i < *count && good; i++) {
    all[used++] = (*live)[i];
    if (ir_shape(g, (*live)[i])) all[used++] = ir_shape(g, (*live)[i]);
  }
  good = good && ir_reachable_inside(g, all, used, live, count, cap) == IR_OK;
  ir_free(g->mem, all, all_cap * sizeof *all);
  return good;
}

bool pass_known_sizes(ir_graph *g, ir_ref *roots, size_t n) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, size = g->count;
  known_sizes k = {.g = g, .map = ir_alloc(g->mem, size * sizeof *k.map)};
  if (!k.map) return ir_fail(g->error, IR_ERR_MEMORY, "out of memory replacing sizes") == IR_OK;
  memset(k.map, 0, size * sizeof *k.map);
  bool good = list_nodes(g, roots, n, &live, &count, &cap);
  for (size_t i = 0; i < count && good; i++) {
    ir_cause before = ir_cause_enter(g, live[i]);
    k.map[live[i]] = ir_cause_leave(g, before, live[i], rebuild(&k, live[i]));
    good = k.map[live[i]] != 0;
  }
  for (size_t i = 0; i < n && good; i++) roots[i] = k.map[roots[i]];
  ir_free(g->mem, k.map, size * sizeof *k.map);
  ir_free(g->mem, k.scratch, k.cap * sizeof *k.scratch);
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}
