/* Batch axes become ordinary axes: a node of batch (b0, b1) and shape (d0, d1) becomes one of shape (b0, b1,
 * d0, d1), and later passes know of no batches.
 *
 * Operands of another batch are aligned first: axes of size 1 are added in front, then expanded. A table says
 * by an attribute's name how it gains the batch axes; a second table has rules for the operations for which
 * that is not enough. A graph without a batch stays the same, node for node; batches inside of functions are
 * made physical, too. */
#include "batch.h"

#include "passes/ops/build/control.h"
#include "passes/ops/check.h"
#include "passes/ops/mesh.h"
#include "ir/mesh/sharding.h"
#include "physicalize.h"

#include <string.h>

/* A view of x with its axes permuted, resized, or changed in number. */
static ir_ref view(ir_graph *g, ir_op op, ir_ref x, const ir_ref *dims, uint32_t rank, const ir_ref *list,
                   uint32_t count) {
  ir_ref src[1 + IR_MAX_RANK] = {x};
  if (count) memcpy(src + 1, list, count * sizeof *src);
  return x ? ir_make_tensor(g, op, ir_dtype_of(g, x), ir_tuple(g, dims, rank), 0, src, 1 + count) : 0;
}

/* The sizes of p->batch, then the shape of the node, which has that batch or is to have it. */
static ir_ref shape_of(const physical *p, ir_ref node) {
  ir_ref dims[2 * IR_MAX_RANK];
  uint32_t rank = ir_rank(p->g, node);
  if (p->rank) memcpy(dims, ir_get(p->g, p->batch)->src, p->rank * sizeof *dims);
  if (rank) memcpy(dims + p->rank, ir_get(p->g, ir_shape(p->g, node))->src, rank * sizeof *dims);
  return ir_tuple(p->g, dims, p->rank + rank);
}

ir_ref pass_physical_aligned(const physical *p, ir_ref x) {
  ir_graph *g = p->g;
  ir_ref dims[2 * IR_MAX_RANK], made = p->map[x];
  if (ir_batch(g, x) == p->batch) return made;
  memcpy(dims, ir_get(g, p->batch)->src, p->rank * sizeof *dims);
  if (ir_rank(g, x)) memcpy(dims + p->rank, ir_get(g, ir_shape(g, x))->src, ir_rank(g, x) * sizeof *dims);
  return op_grow(g, made, dims, p->rank + ir_rank(g, x));
}

/* attributes */

typedef enum batch_rule {
  BATCH_RULE_NONE,
  BATCH_RULE_AXES,   /* axes: increased by the number of batch axes */
  BATCH_RULE_ORDER,  /* the same, after the batch axes in their order */
  BATCH_RULE_SIZES,  /* the batch sizes come first */
  BATCH_RULE_ONES,   /* 1 for each batch axis */
  BATCH_RULE_WHOLE,  /* pairs: [0, size] for each batch axis */
  BATCH_RULE_ZEROS,  /* 0 for each batch axis */
  BATCH_RULE_NO_PADS /* pairs: [0, 0] for each batch axis */
} batch_rule;

static const struct {
  const char *name;
  batch_rule rule;
} batch_rules[] = {
    {"axis", BATCH_RULE_AXES},    {"axes", BATCH_RULE_AXES},   {"order", BATCH_RULE_ORDER},
    {"shape", BATCH_RULE_SIZES},  {"steps", BATCH_RULE_ONES},  {"bounds", BATCH_RULE_WHOLE},
    {"pads", BATCH_RULE_NO_PADS}, {"start", BATCH_RULE_ZEROS}, {"at", BATCH_RULE_ZEROS},
};
/* Attributes of these kinds do not concern axes. */
static const char *const axis_free_kinds[] = {"bool",        "dtype",    "value",  "expr", "pad_mode",
                                              "gather_mode", "write_op", "string", "spec"};

static bool find_batch_rule(const char *name, const char *kind, batch_rule *out) {
  *out = BATCH_RULE_NONE;
  for (size_t i = 0; i < sizeof axis_free_kinds / sizeof *axis_free_kinds; i++)
    if (strcmp(axis_free_kinds[i], kind) == 0) return true;
  for (size_t i = 0; i < sizeof batch_rules / sizeof *batch_rules; i++)
    if (strcmp(batch_rules[i].name, name) == 0) {
      *out = batch_rules[i].rule;
      return true;
    }
  return false;
}

/* The entries of a list attribute for batch axis i; returns their number. */
static uint32_t put_batch_rule(physical *p, batch_rule how, uint32_t i, ir_ref *out) {
  ir_graph *g = p->g;
  ir_ref size = ir_src(g, p->batch, i), zero = ir_index(g, 0);
  switch (how) {
  case BATCH_RULE_ORDER: out[0] = ir_index(g, i); return 1;
  case BATCH_RULE_SIZES: out[0] = size; return 1;
  case BATCH_RULE_ONES: out[0] = ir_index(g, 1); return 1;
  case BATCH_RULE_ZEROS: out[0] = zero; return 1;
  case BATCH_RULE_WHOLE: out[0] = zero, out[1] = size; return 2;
  case BATCH_RULE_NO_PADS: out[0] = zero, out[1] = zero; return 2;
  case BATCH_RULE_NONE:
  case BATCH_RULE_AXES: break;
  }
  return 0;
}

/* Appends the list attribute that is the sources [at, end) of the node; returns the number of sources so far.
 */
static uint32_t put_list(physical *p, ir_ref node, batch_rule how, uint32_t at, uint32_t end,
                         uint32_t count) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  for (uint32_t i = 0; i < p->rank; i++) count += put_batch_rule(p, how, i, p->src + count);
  for (; at < end; at++) {
    bool is_axis = how == BATCH_RULE_AXES || how == BATCH_RULE_ORDER;
    p->src[count++] = is_axis ? ir_index(g, ir_get(g, n->src[at])->arg + p->rank) : n->src[at];
  }
  return count;
}

/* The same operation on aligned operands and attributes that have gained the batch axes. */
static ir_ref by_attributes(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  uint32_t operands = ir_operand_count(n), at = operands, count = operands;
  int64_t arg = n->arg;
  char name[16], kind[16];
  ir_ref *src = p->src, made = 0;
  if (operands > 4 && !(src = ir_alloc(g->mem, n->nsrc * sizeof *src)))
    return ir_fail(g->error, IR_ERR_MEMORY, "out of memory making batch axes ordinary"), 0;
  bool scalars = op_registry[n->op].shape == OP_SHAPE_BROADCAST, good = true;
  for (uint32_t i = 0; i < operands && good; i++) {
    src[i] = scalars && op_is_const(g, n->src[i]) ? n->src[i] : pass_physical_aligned(p, n->src[i]);
    good = src[i] != 0;
  }
  for (const char *column = ir_ops[n->op].attributes;
       good && ir_next_attribute(&column, name, kind, sizeof name);) {
    batch_rule how = BATCH_RULE_NONE;
    if (!(good = find_batch_rule(name, kind, &how))) break;
    if (strcmp(kind, "int") == 0 && how == BATCH_RULE_AXES)
      arg = ir_pack_arg(ir_arg_int(n) + p->rank, ir_arg_mode(n));
    else if (strcmp(kind, "value") == 0 || strcmp(kind, "expr") == 0) src[count++] = n->src[at++];
    else if (kind[0] == '[') {
      uint32_t end = ir_list_end(n, at);
      count = put_list(p, node, how, at, end, count);
      at = end;
    }
  }
  if (good) made = ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, shape_of(p, node), arg, src, count);
  else
    ir_fail(g->error, IR_ERR_INTERNAL, "%s: no rule makes the batch axes of its result, %s, ordinary ones",
            ir_ops[n->op].text, OP_TYPE(node));
  if (src != p->src) ir_free(g->mem, src, n->nsrc * sizeof *src);
  return made;
}

/* operations for which that is not enough */

static ir_ref mapped_source(physical *p, ir_ref node) { return p->map[ir_src(p->g, node, 0)]; }

ir_ref pass_physical_moved(ir_graph *g, ir_ref x, uint32_t from, uint32_t to) {
  ir_ref order[IR_MAX_RANK], dims[IR_MAX_RANK];
  if (!x || from == to) return x;
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0, next = 0; i < rank; i++) {
    if (next == from) next++;
    uint32_t axis = i == to ? from : next++;
    order[i] = ir_index(g, axis);
    dims[i] = ir_dim(g, x, axis);
  }
  return view(g, IR_OP_PERMUTE, x, dims, rank, order, rank);
}

/* Reshapes x to the physical shape of the node. */
static ir_ref reshaped(ir_graph *g, ir_ref x, ir_ref node) {
  ir_ref dims[2 * IR_MAX_RANK];
  uint32_t rank = ir_physical(g, node, dims);
  if (!x || ir_tuple(g, dims, rank) == ir_shape(g, x)) return x;
  return view(g, IR_OP_RESHAPE, x, dims, rank, dims, rank);
}

static ir_ref batch(physical *p, ir_ref node) {
  ir_ref x = ir_src(p->g, node, 0);
  uint32_t axis = ir_batch_rank(p->g, x) + (uint32_t)ir_arg_int(ir_get(p->g, node));
  return reshaped(p->g, pass_physical_moved(p->g, p->map[x], axis, 0), node);
}

static ir_ref unbatch(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  ir_ref x = n->src[0], dims[2 * IR_MAX_RANK], made = p->map[x];
  uint32_t lead = ir_batch_rank(g, x), axis = (uint32_t)ir_arg_int(n), rank = ir_physical(g, x, dims);
  if (lead < (uint32_t)ir_arg_mode(n)) { /* it has no axis of that level: add one in front */
    memmove(dims + 1, dims, rank++ * sizeof *dims);
    lead++;
  }
  dims[0] = n->src[1];
  made = op_grow(g, made, dims, rank);
  return reshaped(g, pass_physical_moved(g, made, 0, lead - 1 + axis), node);
}

/* A gather whose indices have a batch and whose data has none: the result has the batch axes at the gathered
 * axis, from where they are moved to the front. */
static ir_ref gather_anywhere(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  uint32_t axis = (uint32_t)ir_arg_int(n), count = 0, rank = ir_rank(g, n->src[0]);
  ir_ref dims[2 * IR_MAX_RANK], src[2] = {p->map[n->src[0]], p->map[n->src[1]]}, places[2 * IR_MAX_RANK];
  uint32_t width = ir_physical(g, n->src[1], places);
  for (uint32_t i = 0; i < axis; i++) dims[count++] = ir_dim(g, n->src[0], i);
  for (uint32_t i = 0; i < width; i++) dims[count++] = places[i];
  for (uint32_t i = axis + 1; i < rank; i++) dims[count++] = ir_dim(g, n->src[0], i);
  ir_ref made = ir_make_tensor(g, IR_OP_GATHER, (ir_dtype)n->dtype, ir_tuple(g, dims, count), n->arg, src, 2);
  for (uint32_t i = 0; i < p->rank; i++) made = pass_physical_moved(g, made, axis + i, i);
  return made;
}

/* If the indices are the same for every element of the batch, only data (and updates) have the batch axes.
 * Otherwise indices and data share them, in addition to the leading axes that they share already. */
static ir_ref indirect(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  bool shared = ir_batch(g, n->src[1]) != 0 || ir_arg_small(n) > 0;
  bool own = ir_batch(g, n->src[0]) || p->target; /* has the data the batch axes? */
  if (n->op == IR_OP_GATHER && shared && !own && ir_arg_small(n) == 0) return gather_anywhere(p, node);
  ir_ref src[3];
  for (uint32_t i = 0; i < n->nsrc && i < 3; i++)
    src[i] = i == 1 && !shared ? p->map[n->src[i]] : pass_physical_aligned(p, n->src[i]);
  int64_t arg =
      ir_pack_args(ir_arg_int(n) + p->rank, ir_arg_mode(n), shared ? ir_arg_small(n) + (int)p->rank : 0);
  return ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, shape_of(p, node), arg, src, n->nsrc);
}

/* The views of a target, the last applied first, and the IOTA below them. */
static bool list_target(const physical *p, ir_ref at, ir_ref **list, size_t *count, size_t *cap) {
  for (;; at = ir_src(p->g, at, 0)) {
    if (!IR_RESERVE(p->g->mem, *list, *cap, *count + 1))
      return ir_fail(p->g->error, IR_ERR_MEMORY, "out of memory making batch axes ordinary") == IR_OK;
    (*list)[(*count)++] = at;
    if (ir_op_of(p->g, at) == IR_OP_IOTA) return true;
  }
}

/* The positions of all arrays of the batch together: its axes, then one that counts in each array. */
static ir_ref all_positions(const physical *p, ir_ref iota) {
  ir_graph *g = p->g;
  ir_ref dims[IR_MAX_RANK + 1];
  memcpy(dims, ir_get(g, p->batch)->src, p->rank * sizeof *dims);
  dims[p->rank] = ir_dim(g, iota, 0);
  ir_ref count = op_numel(g, dims, p->rank + 1), made = count ? op_iota(g, IR_I64, &count, 1, 0) : 0;
  return made ? op_reshape_known(g, made, dims, p->rank + 1) : 0;
}

/* A write: its target is made again of positions in the array of the whole batch, whatever batch it has. */
static ir_ref assign(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  ir_ref *list = NULL, *own = NULL, at = 0;
  size_t count = 0, cap = 0, own_cap = 0;
  bool good = list_target(p, n->src[1], &list, &count, &cap) && IR_RESERVE(g->mem, own, own_cap, count);
  for (size_t i = 0; i < count && good; i++) own[i] = p->map[list[i]];
  p->target = true;
  for (size_t i = count; i-- > 0 && good;) {
    ir_op op = ir_op_of(g, list[i]);
    at = op == IR_OP_IOTA ? all_positions(p, list[i])
                          : (op == IR_OP_GATHER ? indirect : by_attributes)(p, list[i]);
    good = (p->map[list[i]] = at) != 0;
  }
  p->target = false;
  ir_ref x = pass_physical_aligned(p, n->src[0]), u = pass_physical_aligned(p, n->src[2]);
  for (size_t i = 0; i < count && own; i++) p->map[list[i]] = own[i];
  ir_free(g->mem, list, cap * sizeof *list);
  ir_free(g->mem, own, own_cap * sizeof *own);
  if (!good || !x || !u) return 0;
  return ir_make_tensor(g, IR_OP_ASSIGN, (ir_dtype)n->dtype, shape_of(p, node), n->arg, (ir_ref[]){x, at, u},
                        3);
}

ir_ref pass_physical_leaf(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_ref dims[2 * IR_MAX_RANK];
  uint32_t rank = ir_physical(g, node, dims);
  return ir_batch(g, node) ? ir_leaf(g, (ir_op)n->op, (ir_dtype)n->dtype, 0, ir_tuple(g, dims, rank), n->arg)
                           : node;
}

static ir_ref leaf(physical *p, ir_ref node) { return pass_physical_leaf(p->g, node); }

static bool is_of_batches(ir_op op) {
  return op == IR_OP_REBATCH || op == IR_OP_BATCH || op == IR_OP_UNBATCH;
}

/* Rebuilds a node that has no batch, and no sources with one, on the new sources. */
static ir_ref without_batch(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  ir_ref *src = ir_alloc(g->mem, n->nsrc * sizeof *src), made;
  if (!src) return ir_fail(g->error, IR_ERR_MEMORY, "out of memory making batch axes ordinary"), 0;
  for (uint32_t i = 0; i < n->nsrc; i++) src[i] = p->map[n->src[i]];
  made = ir_remake(g, node, src, n->nsrc);
  ir_free(g->mem, src, n->nsrc * sizeof *src);
  return made;
}

static ir_ref result(physical *p, ir_ref node) {
  const ir_node *n = ir_get(p->g, node);
  return ir_src(p->g, p->map[n->src[0]], (uint32_t)ir_arg_int(n));
}

/* A spec of the logical axes, with the batch axes in front, which are open. */
static void with_batch(const physical *p, const ir_spec *spec, ir_spec *out) {
  ir_spec_init(out, p->rank + spec->rank);
  for (uint32_t d = 0; d < p->rank; d++) out->open[d] = true;
  for (uint32_t place = 0; place < IR_PLACES; place++) {
    uint32_t count, to = place < spec->rank ? p->rank + place : place;
    const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
    for (uint32_t i = 0; i < count; i++) ir_spec_push(out, to, axes[i]);
    if (place >= spec->rank) continue;
    out->open[to] = spec->open[place];
    out->priority[to] = spec->priority[place];
  }
  out->joined_by = spec->joined_by;
}

static ir_ref shard(physical *p, ir_ref node) {
  ir_spec logical, spec;
  ir_text text;
  ir_ref x = mapped_source(p, node), made = 0;
  if (!x || !ir_shard_spec(p->g, node, &logical)) return 0;
  with_batch(p, &logical, &spec);
  ir_text_init(&text, p->g->mem);
  ir_spec_print(ir_graph_mesh(p->g), &spec, &text);
  if (!text.failed) made = op_shard(p->g, x, ir_text_get(&text), text.len);
  ir_text_free(&text);
  return made;
}

/* The spec that the node was given. */
static bool keep_spec(physical *p, ir_ref node, ir_ref made) {
  const ir_spec *given = ir_spec_of(p->g, node);
  ir_spec spec;
  if (!given || made == node) return true;
  with_batch(p, given, &spec);
  return ir_set_spec(p->g, made, &spec);
}

typedef ir_ref (*rule)(physical *p, ir_ref node);
static const rule rules[IR_OP_COUNT] = {
    [IR_OP_INPUT] = leaf,
    [IR_OP_BUFFER] = leaf,
    [IR_OP_REBATCH] = mapped_source,
    [IR_OP_BATCH] = batch,
    [IR_OP_UNBATCH] = unbatch,
    [IR_OP_GATHER] = indirect,
    [IR_OP_SCATTER] = indirect,
    [IR_OP_SCATTER_ADD] = indirect,
    [IR_OP_ASSIGN] = assign,
    [IR_OP_COND] = pass_physical_call,
    [IR_OP_WHILE] = pass_physical_call,
    [IR_OP_SCAN] = pass_physical_call,
    [IR_OP_CUSTOM] = pass_physical_custom,
    [IR_OP_RESULT] = result,
    [IR_OP_SHARD] = shard,
};

bool pass_batches_by_rule(ir_op op) { return rules[op] != NULL; }

/* Sets the batch of the node, or of its results. False on failure: too many axes, or too many bytes, in
 * functions as well, which were recorded without the batch. */
static bool read_batch(physical *p, ir_ref node) {
  ir_graph *g = p->g;
  const ir_node *n = ir_get(g, node);
  ir_ref dims[2 * IR_MAX_RANK];
  p->batch = ir_shape(g, node) ? ir_batch(g, node) : 0;
  if (n->op == IR_OP_FUNC && !op_is_function(g, "func", node)) return false;
  if (ir_has_results((ir_op)n->op) && !ir_batch_of(g, IR_OP_RESULT, 0, &node, 1, &p->batch)) return false;
  p->rank = p->batch ? ir_get(g, p->batch)->nsrc : 0;
  if (!p->batch || !ir_shape(g, node)) return true;
  uint32_t rank = ir_physical(g, node, dims);
  if (rank <= IR_MAX_RANK && op_bytes_fit(g, (ir_dtype)n->dtype, dims, rank)) return true;
  if (rank > IR_MAX_RANK)
    op_refuse(g, "%s: %s has %u axes, those that vmap adds included; a tensor has at most %d",
              ir_ops[n->op].text, OP_TYPE(node), rank, IR_MAX_RANK);
  else
    op_refuse(g, "%s: %s may have 2^63 bytes or more with the axes that vmap adds; a tensor has fewer",
              ir_ops[n->op].text, OP_TYPE(node));
  return false;
}

static ir_ref make_physical(physical *p, ir_ref node) {
  ir_op op = ir_op_of(p->g, node);
  if (!read_batch(p, node)) return 0;
  if (p->rank == 0 && !is_of_batches(op)) return without_batch(p, node);
  return rules[op] ? rules[op](p, node) : by_attributes(p, node);
}

bool pass_physicalize(ir_graph *g, ir_ref *roots, size_t n) {
  ir_ref *live = NULL, top = 0;
  size_t count = 0, cap = 0;
  if (!g->batches_cap) return true;
  for (size_t i = 0; i < n; i++) top = roots[i] > top ? roots[i] : top;
  physical p = {.g = g, .map_size = (size_t)top + 1};
  p.map = ir_alloc(g->mem, p.map_size * sizeof *p.map);
  if (!p.map) return ir_fail(g->error, IR_ERR_MEMORY, "out of memory making batch axes ordinary") == IR_OK;
  memset(p.map, 0, p.map_size * sizeof *p.map);
  bool good = ir_reachable_inside(g, roots, n, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) {
    ir_cause before = ir_cause_enter(g, live[i]);
    p.map[live[i]] = ir_cause_leave(g, before, live[i], make_physical(&p, live[i]));
    good = p.map[live[i]] != 0 && keep_spec(&p, live[i], p.map[live[i]]);
  }
  for (size_t i = 0; i < n && good; i++) roots[i] = p.map[roots[i]];
  ir_free(g->mem, p.map, p.map_size * sizeof *p.map);
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}
