/* vmap: record a function once, on values that have one axis more than the function sees.
 *
 * The mapped axis of each argument becomes a batch axis, at a level above those of the enclosing vmaps (see
 * op_batch). Then the function is called, and the axis moves from the batch of each result to where out_axes
 * says. An argument that is not mapped has no such batch axis; operations repeat it where they need it. */

#include "frontend/api/tree.h"
#include "passes/ops/check.h"
#include "passes/ops/mesh.h"

#include <string.h>

typedef struct mapping {
  fe_call call;
  vf_graph *graph;
  const char *over; /* axes of the mesh along which the mapped axis is divided; NULL: none */
  int64_t asked;    /* axis_size as given; negative: none */
  ir_ref size;
  uint32_t level;
} mapping;

static const char *type_of(mapping *m, ir_ref x, op_words *out) { return op_words_type(m->call.ir, x, out); }

/* arguments */

static bool check_axis_size(mapping *m, size_t number, ir_ref x, int axis) {
  ir_graph *g = m->call.ir;
  op_words type, one, other, fact;
  int64_t rank = ir_rank(g, x);
  if (rank == 0)
    return fe_refuse(
        &m->call,
        "argument %zu has shape %s, a scalar, which has no axis to map; its entry of in_axes may be "
        "VF_NOT_MAPPED",
        number + 1, type_of(m, x, &type));
  if (axis < -rank || axis >= rank)
    return fe_refuse(
        &m->call, "axis %d of argument %zu is out of range; it has shape %s; the axis must lie in %lld..%lld",
        axis, number + 1, type_of(m, x, &type), (long long)-rank, (long long)rank - 1);
  ir_ref size = ir_dim(g, x, (uint32_t)(axis < 0 ? axis + rank : axis));
  if (!m->size) m->size = size;
  if (op_decided(g, IR_OP_EQ, m->size, size)) return true;
  if (m->asked >= 0)
    return fe_refuse(
        &m->call,
        "axis %d of argument %zu, of shape %s, has size %s, and axis_size is %lld; -1 takes it from "
        "the arguments",
        axis, number + 1, type_of(m, x, &type), op_words_expr(g, size, &one), (long long)m->asked);
  return fe_refuse(&m->call,
                   "axis %d of argument %zu, of shape %s, has size %s, the arguments before say %s; mapped "
                   "sizes must be equal%s",
                   axis, number + 1, type_of(m, x, &type), op_words_expr(g, size, &one),
                   op_words_expr(g, m->size, &other), op_words_fact(g, IR_OP_EQ, m->size, size, &fact));
}

/* Check that the leaf is a tensor of the graph, and make it firm (op_default_dtype). */
static bool check_leaf(mapping *m, const char *what, size_t number, vf_value *leaf) {
  if (!fe_is_value(&m->call, what, number + 1, *leaf)) return false;
  if (!ir_shape(m->call.ir, leaf->id))
    return fe_refuse(&m->call, "%s %zu is an expression of sizes, not a tensor", what, number + 1);
  return (leaf->id = op_default_dtype(m->call.ir, leaf->id)) != 0;
}

/* x, with the mapped axis divided along the axes of the mesh. */
static ir_ref divided(mapping *m, ir_ref x, int64_t axis) {
  return op_collective(m->call.ir, IR_OP_REDUCE_SCATTER, x, (op_over){m->over, strlen(m->over)}, &axis, 1);
}

static bool batch_arguments(mapping *m, const fe_leaves *leaves, int64_t axis_size) {
  ir_graph *g = m->call.ir;
  if (leaves->count == 0) return fe_refuse(&m->call, "there are no arguments; takes at least one");
  m->asked = axis_size;
  if (axis_size >= 0 && !(m->size = ir_index(g, axis_size))) return false;
  m->level = m->graph->level > m->graph->explicit_batch ? m->graph->level : m->graph->explicit_batch;
  for (size_t i = 0; i < leaves->count; i++) {
    const fe_leaf *leaf = &leaves->items[i];
    if (!check_leaf(m, "argument", i, leaf->value)) return false;
    ir_ref x = leaf->value->id;
    if (leaf->axis != VF_NOT_MAPPED && !check_axis_size(m, i, x, leaf->axis)) return false;
    if (ir_batch_rank(g, x) > m->level) m->level = ir_batch_rank(g, x);
  }
  if (!m->size)
    return fe_refuse(&m->call, "no argument is mapped, so the size of the axis is unknown; give axis_size");
  if (++m->level > IR_MAX_RANK)
    return fe_refuse(&m->call, "there would be %u batch axes; a tensor has at most %d axes", m->level,
                     IR_MAX_RANK);
  for (size_t i = 0; i < leaves->count; i++) {
    const fe_leaf *leaf = &leaves->items[i];
    if (leaf->axis == VF_NOT_MAPPED) continue;
    if (m->over && !(leaf->value->id = divided(m, leaf->value->id, leaf->axis))) return false;
    if (!(leaf->value->id = op_batch(g, leaf->value->id, leaf->axis, m->level))) return false;
  }
  return true;
}

/* results */

static bool unbatch_result(mapping *m, size_t number, const fe_leaf *leaf) {
  ir_graph *g = m->call.ir;
  op_words type;
  if (leaf->value->graph == m->graph && !leaf->value->id)
    return fe_refuse(&m->call, "result %zu was not given; a function sets all its results", number + 1);
  if (!check_leaf(m, "result", number, leaf->value)) return false;
  ir_ref x = leaf->value->id;
  int64_t rank = ir_rank(g, x);
  uint32_t lead = ir_batch_rank(g, x);
  if (lead > m->level)
    return fe_refuse(&m->call,
                     "result %zu has shape %s, %u batch axes, where there are %u; a value inside a nested "
                     "vmap cannot be a result: use the results of that vmap",
                     number + 1, type_of(m, x, &type), lead, m->level);
  if (leaf->axis == VF_NOT_MAPPED)
    return lead < m->level ||
           fe_refuse(
               &m->call,
               "result %zu has shape %s and may differ along the mapped axis, but its entry of out_axes is "
               "VF_NOT_MAPPED; give the axis of the result, or reduce over it outside",
               number + 1, type_of(m, x, &type));
  if (leaf->axis < -rank - 1 || leaf->axis > rank)
    return fe_refuse(
        &m->call,
        "out axis %d of result %zu is out of range; it has shape %s; the axis must lie in %lld..%lld",
        leaf->axis, number + 1, type_of(m, x, &type), (long long)-rank - 1, (long long)rank);
  leaf->value->id = op_unbatch(g, x, m->size, leaf->axis, m->level);
  if (m->over && leaf->value->id && lead == m->level)
    leaf->value->id = divided(m, leaf->value->id, leaf->axis < 0 ? leaf->axis + rank + 1 : leaf->axis);
  *leaf->value = fe_vmap_value(m->graph, leaf->value->id);
  return leaf->value->id != 0;
}

static bool unbatch_results(mapping *m, vf_tree *results, const vf_axes *out_axes) {
  fe_leaves leaves;
  bool good = fe_tree_leaves(&m->call, "out_axes", results, out_axes, &leaves);
  for (size_t i = 0; i < leaves.count && good; i++) good = unbatch_result(m, i, &leaves.items[i]);
  fe_leaves_free(m->call.ir, &leaves);
  return good;
}

/* Set all results to error values. */
static bool set_errors(mapping *m, vf_tree *results) {
  fe_leaves leaves;
  bool good = fe_tree_leaves(&m->call, "results", results, NULL, &leaves);
  for (size_t i = 0; i < leaves.count; i++) *leaves.items[i].value = (vf_value){.graph = m->graph};
  fe_leaves_free(m->call.ir, &leaves);
  return good;
}

/* Is no result a value of another vmap, which has ended? Results that were not set are found later. */
static bool results_are_own(mapping *m, vf_tree *results) {
  fe_leaves leaves;
  bool good = fe_tree_leaves(&m->call, "results", results, NULL, &leaves);
  for (size_t i = 0; i < leaves.count && good; i++)
    good = !leaves.items[i].value->id || check_leaf(m, "result", i, leaves.items[i].value);
  fe_leaves_free(m->call.ir, &leaves);
  return good;
}

/* Call the function at the level of this vmap. leaves: of `arguments`. */
static bool call_mapped(mapping *m, vf_tree_function f, void *user, vf_tree *arguments,
                        const fe_leaves *leaves, vf_tree *results) {
  vf_graph *g = m->graph;
  uint32_t level = g->level, levels = g->levels, epoch = g->epoch;
  g->level = m->level;
  g->levels = levels | 1u << (m->level - 1);
  g->level_sizes[m->level] = m->size;
  uint32_t around = g->vmap_values.at_level[m->level];
  g->vmap_values.at_level[m->level] = ++g->vmap_values.begun;
  for (size_t i = 0; i < leaves->count; i++)
    *leaves->items[i].value = fe_vmap_value(g, leaves->items[i].value->id);
  f(user, arguments, results);
  fe_resume(&m->call);
  bool good = !g->error.status;
  if (good && g->epoch != epoch)
    good = fe_refuse(&m->call, "the function realised a tensor; its values are not known yet: "
                               "realise before, or the results");
  good = good && results_are_own(m, results);
  g->vmap_values.at_level[m->level] = around;
  g->level = level;
  g->levels = levels;
  return good;
}

static bool map_tree(mapping *m, vf_tree_function f, void *user, const vf_tree *arguments,
                     const vf_axes *in_axes, const vf_axes *out_axes, int64_t axis_size, vf_tree *results) {
  fe_leaves leaves;
  bool good = fe_tree_leaves(&m->call, "in_axes", (vf_tree *)arguments, in_axes, &leaves);
  size_t nodes = leaves.nodes;
  fe_leaves_free(m->call.ir, &leaves);
  vf_tree *own = good ? ir_alloc(m->call.ir->mem, nodes * sizeof *own) : NULL;
  if (!own) return false;
  fe_tree_copy(arguments, own, nodes);
  good = fe_tree_leaves(&m->call, "in_axes", own, in_axes, &leaves) &&
         batch_arguments(m, &leaves, axis_size) && call_mapped(m, f, user, own, &leaves, results);
  fe_leaves_free(m->call.ir, &leaves);
  ir_free(m->call.ir->mem, own, nodes * sizeof *own);
  return good && unbatch_results(m, results, out_axes);
}

static bool map_over(vf_graph *graph, const char *over, vf_tree_function f, void *user,
                     const vf_tree *arguments, const vf_axes *in_axes, const vf_axes *out_axes,
                     int64_t axis_size, vf_tree *results) {
  mapping m = {.graph = graph, .over = over};
  bool good = fe_begin_in(&m.call, "vmap", graph);
  if (good && (!f || !arguments || !results))
    good = fe_refuse(&m.call, "the %s NULL",
                     !f           ? "function is"
                     : !arguments ? "arguments are"
                                  : "results are");
  if (good && axis_size < -1)
    good = fe_refuse(&m.call, "axis_size is %lld; takes a size, or -1", (long long)axis_size);
  good = good && set_errors(&m, results) &&
         map_tree(&m, f, user, arguments, in_axes, out_axes, axis_size, results);
  if (!good && graph && results) set_errors(&m, results);
  if (!good) fe_end(&m.call, 0); /* notes an error where none was noted */
  return good;
}

bool vf_vmap_tree(vf_graph *graph, vf_tree_function f, void *user, const vf_tree *arguments,
                  const vf_axes *in_axes, const vf_axes *out_axes, int64_t axis_size, vf_tree *results) {
  return map_over(graph, NULL, f, user, arguments, in_axes, out_axes, axis_size, results);
}

/* lists of values are trees of one level */

typedef struct flat {
  vf_function function;
  void *user;
  vf_value *arguments, *results;
} flat;

static void call_flat(void *user, const vf_tree *arguments, vf_tree *results) {
  flat *l = user;
  for (int i = 0; i < arguments->count; i++) l->arguments[i] = arguments->children[i].value;
  for (int i = 0; i < results->count; i++) l->results[i] = results->children[i].value;
  l->function(l->user, l->arguments, l->results);
  for (int i = 0; i < results->count; i++) results->children[i].value = l->results[i];
}

static bool map_list(fe_call *c, flat *l, const vf_map *map, const vf_value *given, vf_value *results) {
  const ir_mem *mem = c->ir->mem;
  int n = map->arguments, m = map->results;
  size_t count = (size_t)n + (size_t)m,
         bytes = count * (sizeof(vf_tree) + sizeof(vf_axes) + sizeof(vf_value));
  vf_tree *trees = ir_alloc(mem, bytes);
  if (!trees) return false;
  vf_axes *axes = (vf_axes *)(trees + count);
  l->arguments = (vf_value *)(axes + count);
  l->results = l->arguments + n;
  for (int i = 0; i < n + m; i++) {
    const int *list = i < n ? map->in_axes : map->out_axes;
    trees[i] = (vf_tree){.count = VF_LEAF};
    if (i < n) trees[i].value = given[i];
    axes[i] = (vf_axes){.count = VF_LEAF, .axis = list ? list[i < n ? i : i - n] : 0};
  }
  vf_tree in = {.count = n, .children = trees}, out = {.count = m, .children = trees + n};
  vf_axes in_axes = {.count = n, .children = axes}, out_axes = {.count = m, .children = axes + n};
  bool good = map_over(c->graph, map->over, call_flat, l, &in, &in_axes, &out_axes, map->axis_size, &out);
  for (int i = 0; i < m; i++) results[i] = trees[n + i].value;
  ir_free(mem, trees, bytes);
  return good;
}

bool vf_vmap(vf_graph *graph, const vf_map *map, vf_function f, void *user, const vf_value *arguments,
             vf_value *results) {
  flat l = {f, user, NULL, NULL};
  fe_call c;
  bool good = fe_begin_in(&c, "vmap", graph);
  if (good && !map) good = fe_refuse(&c, "the map is NULL");
  if (good && map->size != sizeof *map)
    good = fe_refuse(&c, "the map's size is %zu; it must be sizeof(vf_map)", map->size);
  if (good && (map->arguments < 0 || map->results < 0))
    good = fe_refuse(&c, "there are %d arguments and %d results; counts are at least 0", map->arguments,
                     map->results);
  if (good && (!f || (!arguments && map->arguments) || (!results && map->results)))
    good = fe_refuse(&c, "the %s NULL", !f ? "function is" : !results ? "results are" : "arguments are");
  bool known = map && map->size == sizeof *map && results;
  for (int i = 0; known && i < map->results; i++) results[i] = (vf_value){.graph = graph};
  good = good && map_list(&c, &l, map, arguments, results);
  if (!good) fe_end(&c, 0);
  return good;
}
