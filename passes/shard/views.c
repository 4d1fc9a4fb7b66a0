/* Views that read elements of other parts: flipped, sliced, strided, padded, joined axes, windows, and
 * reshapes whose digits do not nest.
 *
 * Such a view is deferred until something other than a view reads it. Then the index of the whole chain of
 * views, at the indices of the part that is wanted, tells the box of each array below that the part reads
 * (interval.c). One EXCHANGE brings that box. The chain itself is done again on the box, padded to the sizes
 * of the array, and cut to the part: so views mean on a device what they mean elsewhere, and all of this
 * folds into the index of one access. */
#include "impl.h"
#include "passes/view/index_map.h"
#include "passes/view/interval.h"

#include <string.h>

enum { MOST_READ = 64 /* arrays and views below one part */ };

/* ---- which views */

static bool is_joined(ir_op op) { return op == IR_OP_CONCAT || op == IR_OP_STACK; }

/* Does the rule take an operand otherwise than it is divided? Of joined ones, along the axis that is joined.
 */
static bool loses_axes(const op_sharding *rule, ir_op op, const ir_spec *const *specs,
                       const shard_choice *choice) {
  for (uint32_t i = 0; i < rule->operands; i++)
    for (uint32_t d = 0; d < specs[i]->rank; d++) {
      if (!ir_spec_count(specs[i], d)) continue;
      bool same = ir_spec_count(&choice->operands[i], d) == ir_spec_count(specs[i], d) &&
                  shard_is_prefix(specs[i], &choice->operands[i], d);
      if (is_joined(op) ? !rule->terms[i].axes[d].count : !same) return true;
    }
  return false;
}

bool shard_defers_view(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *const *specs,
                       const shard_choice *choice) {
  const ir_node *n = ir_get(s->g, node);
  bool below = false, pending = false;
  if (ir_ops[n->op].cls != IR_CLASS_VIEW) return false;
  for (uint32_t i = 0; i < rule->operands; i++) {
    below |= s->deferred[n->src[i]] && !s->local[n->src[i]];
    pending |= ir_spec_count(specs[i], IR_PLACE_PENDING) > 0;
  }
  bool stays = ir_spec_count(&choice->operands[0], IR_PLACE_PENDING) > 0 && rule->operands == 1;
  return (!pending || stays) && (below || loses_axes(rule, (ir_op)n->op, specs, choice));
}

/* ---- walking down a chain */

/* A chain, and the arrays that it is a view of. */
typedef struct chain {
  shard_state *s;
  view_interval ranges[IR_MAX_RANK]; /* of the indices of the part */
  pass_point guards;                 /* indices that have to be 0 where an operand is read at all */
  uint32_t steps;
  shard_pending kept;
  const ir_spec *to;
  ir_spec *from;
  ir_ref *exchange;
} chain;

static pass_point point_of(ir_graph *g, ir_ref node) {
  pass_point p = {.rank = ir_rank(g, node)};
  view_ranges(g, op_dims(g, node), p.rank, p.at);
  return p;
}

/* The point of operand i that a point of a joined array reads, if it reads that operand. */
static void point_of_joined(ir_graph *g, ir_ref node, uint32_t i, pass_point *p, pass_point *guards) {
  const ir_node *n = ir_get(g, node);
  uint32_t axis = (uint32_t)ir_arg_int(n);
  if (n->op == IR_OP_STACK) {
    if (guards->rank < IR_MAX_RANK) guards->at[guards->rank++] = pass_add_int(g, p->at[axis], -(int64_t)i);
    p->rank--;
    for (uint32_t d = axis; d < p->rank; d++) p->at[d] = p->at[d + 1];
    return;
  }
  for (uint32_t k = 0; k < i; k++) p->at[axis] = pass_sub(g, p->at[axis], ir_dim(g, n->src[k], axis));
}

static bool is_deferred(const shard_state *s, ir_ref node) { return s->deferred[node] && !s->local[node]; }

/* ---- the spec of a view */

/* Down to the array with the most bytes. */
static ir_ref main_array(shard_state *s, ir_ref node, pass_point *p) {
  ir_graph *g = s->g;
  pass_point guards = {0};
  while (is_deferred(s, node)) {
    const ir_node *n = ir_get(g, node);
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0; i < ir_operand_count(n) && is_joined((ir_op)n->op); i++) {
      double bytes = ir_spec_is_whole(ir_spec_of(g, n->src[i])) ? 0 : shard_bytes(g, n->src[i]);
      if (bytes > most) best = i, most = bytes;
    }
    if (is_joined((ir_op)n->op)) point_of_joined(g, node, best, p, &guards);
    else if (!pass_view_index(g, &pass_canonical, node, p)) return 0;
    node = n->src[best];
  }
  return node;
}

bool shard_view_spec(shard_state *s, ir_ref node, ir_spec *out) {
  ir_graph *g = s->g;
  uint32_t taken = 0;
  pass_index_begin(g);
  pass_point p = point_of(g, node);
  ir_ref below = main_array(s, node, &p);
  if (!below) return false;
  const ir_spec *from = ir_spec_of(g, below);
  ir_spec spec = *from;
  ir_spec_init(out, ir_rank(g, node));
  for (int other = 0; other < 2; other++) /* along the same index first, then along any other */
    for (uint32_t k = 0; k < spec.rank; k++) {
      uint32_t count;
      const ir_subaxis *axes = ir_spec_axes(&spec, k, &count);
      int to = -1;
      for (uint32_t j = 0; j < spec.rank && count && to < 0; j++)
        if ((j == k) == !other) to = view_followed(g, p.at[j], op_dims(g, node), out->rank, taken);
      if (to < 0) continue;
      taken |= 1u << to;
      for (uint32_t i = 0; i < count; i++) ir_spec_push(out, (uint32_t)to, axes[i]);
      ir_spec_clear(&spec, k);
    }
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(&spec, IR_PLACE_PENDING, &count);
  for (uint32_t i = 0; i < count; i++) ir_spec_push(out, IR_PLACE_PENDING, axes[i]);
  out->joined_by = spec.joined_by;
  return g->error->status == IR_OK;
}

uint32_t shard_sink(shard_state *s, ir_ref x, ir_ref kept[SHARD_SUNK]) {
  ir_graph *g = s->g;
  double least = shard_bytes(g, x);
  uint32_t count = 0, best = 0;
  ir_ref below = x;
  while (count < SHARD_SUNK && s->local[below] && ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW &&
         !is_joined(ir_op_of(g, below)) && s->local[ir_src(g, below, 0)]) {
    bool pending = ir_spec_count(ir_spec_of(g, below), IR_PLACE_PENDING) > 0;
    ir_ref next = ir_src(g, below, 0);
    if (pending != (ir_spec_count(ir_spec_of(g, next), IR_PLACE_PENDING) > 0)) break;
    kept[count++] = s->local[below];
    double bytes = shard_bytes(g, below = next);
    if (bytes < least) least = bytes, best = count;
  }
  below = x;
  for (uint32_t i = 0; i < best; i++, below = ir_src(g, below, 0))
    s->local[below] = 0, s->deferred[below] = 1;
  return best;
}

void shard_unsink(shard_state *s, ir_ref x, const ir_ref *kept, uint32_t count) {
  for (uint32_t i = 0; i < count; i++, x = ir_src(s->g, x, 0)) s->local[x] = kept[i];
}

/* ---- the part of a view */

/* Is the expression a sum of multiples of variables? Others are variables of their own, so that kernels
 * compute them once. */
static bool is_linear(const ir_graph *g, ir_ref e) {
  const ir_node *n = ir_get(g, e);
  bool linear = n->op == IR_OP_CONST || n->op == IR_OP_VAR || n->op == IR_OP_ADD || n->op == IR_OP_MUL;
  for (uint32_t i = 0; i < n->nsrc && linear && n->op != IR_OP_VAR; i++) linear = is_linear(g, n->src[i]);
  return linear;
}

static ir_ref simple(shard_state *s, ir_ref e, const char *name) {
  if (!e || is_linear(s->g, e)) return e;
  ir_bounds b = ir_bounds_of(s->g, e);
  return shard_name(s, e, name, b.lo > 0 ? b.lo : 0, b.hi);
}

/* May nothing be read, though axes that are read are not empty? Then its size is 0. */
static ir_ref nothing_unless(chain *c, ir_ref size, ir_ref node) {
  ir_graph *g = c->s->g;
  for (uint32_t i = 0; i < c->guards.rank && size; i++) {
    view_interval at = view_interval_of(g, c->guards.at[i], c->ranges);
    ir_ref zero = ir_index(g, 0);
    ir_ref is_read =
        pass_and(g, pass_compare(g, IR_OP_LE, at.lo, zero), pass_compare(g, IR_OP_GE, at.hi, zero));
    size = pass_where(g, is_read, size, zero);
  }
  for (uint32_t d = 0; d < ir_rank(g, node) && size; d++) {
    ir_ref part = pass_add_int(g, pass_sub(g, c->ranges[d].hi, c->ranges[d].lo), 1);
    if (!part || ir_bounds_of(g, part).lo >= 1) continue;
    size = pass_where(g, pass_compare(g, IR_OP_GE, part, ir_index(g, 1)), size, ir_index(g, 0));
  }
  return size;
}

/* The array x, of which only what the part reads at the point is there. */
static ir_ref read_array(chain *c, ir_ref node, ir_ref x, const pass_point *p) {
  shard_state *s = c->s;
  ir_graph *g = s->g;
  const ir_spec *from = ir_spec_of(g, x);
  uint32_t rank = ir_rank(g, x);
  ir_ref shape[IR_MAX_RANK], start[IR_MAX_RANK], at[IR_MAX_RANK], pads[2 * IR_MAX_RANK],
      zero = ir_index(g, 0);
  bool whole = true;
  for (uint32_t d = 0; d < rank; d++) whole &= !ir_spec_count(from, d);
  if (whole) return s->local[x];
  if (!shard_local_start(s, op_dims(g, x), from, at)) return 0;
  for (uint32_t d = 0; d < rank; d++) {
    ir_ref size = ir_dim(g, x, d);
    view_interval all = view_interval_of(g, p->at[d], c->ranges);
    if (!all.lo || !all.hi) return 0;
    ir_ref lo = pass_min(g, pass_max(g, all.lo, zero), size);
    ir_ref end = pass_min(g, pass_add_int(g, all.hi, 1), size);
    ir_ref count = pass_max(g, pass_sub(g, end, lo), zero);
    if (d == 0) count = nothing_unless(c, count, node);
    start[d] = simple(s, lo, "from"), shape[d] = simple(s, count, "size");
    if (!start[d] || !shape[d]) return 0;
    pads[2 * d] = start[d];
    pads[2 * d + 1] = pass_sub(g, size, pass_add(g, start[d], shape[d]));
  }
  bool owned = true;
  for (uint32_t d = 0; d < rank; d++) owned &= start[d] == at[d] && shape[d] == ir_dim(g, s->local[x], d);
  *c->from = *from;
  ir_ref box = owned ? s->local[x]
                     : shard_bring(s, s->local[x], &c->kept, rank, shape, start, at, "exchange", c->exchange);
  if (!owned && box && !shard_note_exchange(s, from, c->to, *c->exchange)) return 0;
  return op_pad_known(g, box, pads, 0);
}

static ir_ref read_view(chain *c, ir_ref root, ir_ref node, pass_point p) {
  ir_graph *g = c->s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref src[SHARD_OPERANDS + 4 * IR_MAX_RANK];
  if (!is_deferred(c->s, node)) return read_array(c, root, node, &p);
  if (++c->steps > MOST_READ)
    return op_refuse(g, "shard: more than %d views are read by one part", MOST_READ);
  uint32_t operands = ir_operand_count(n), guards = c->guards.rank;
  memcpy(src, n->src, n->nsrc * sizeof *src);
  for (uint32_t i = 0; i < operands; i++) {
    pass_point below = p;
    if (is_joined((ir_op)n->op)) point_of_joined(g, node, i, &below, &c->guards);
    else if (!pass_view_index(g, &pass_canonical, node, &below)) return 0;
    src[i] = read_view(c, root, n->src[i], below);
    c->guards.rank = guards;
    if (!src[i]) return 0;
  }
  return ir_remake(g, node, src, n->nsrc);
}

ir_ref shard_view_part(shard_state *s, ir_ref node, const ir_spec *to, ir_spec *from, ir_ref *exchange) {
  ir_graph *g = s->g;
  const ir_ref *dims = op_dims(g, node);
  ir_ref start[IR_MAX_RANK], size[IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  chain c = {.s = s, .to = to, .from = from, .exchange = exchange};
  *exchange = 0;
  *from = *to;
  pass_index_begin(g);
  if (!shard_local_start(s, dims, to, start) || !shard_local_shape(s, dims, to, size)) return 0;
  for (uint32_t d = 0; d < to->rank; d++) {
    bounds[2 * d] = start[d], bounds[2 * d + 1] = pass_add(g, start[d], size[d]);
    c.ranges[d] = (view_interval){start[d], pass_add_int(g, bounds[2 * d + 1], -1)};
  }
  shard_sort_pending(to, to, &c.kept);
  ir_ref all = read_view(&c, node, node, point_of(g, node));
  return op_shrink_known(g, all, bounds);
}
