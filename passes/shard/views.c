/* Views that read elements of other parts: flipped, sliced, strided, padded, joined axes, windows, and
 * reshapes whose digits do not nest.
 *
 * Such a view is deferred until something other than a view reads it. Then the index of the whole chain of
 * views, at the indices of the part that is wanted, tells the box of each array below that the part reads
 * (interval.c). One EXCHANGE brings that box. The chain itself is done again on the box, padded to the sizes
 * of the array, and cut to the part: so views mean on a device what they mean elsewhere, and all of this
 * folds into the index of one access. */
#include "impl.h"
#include "passes/view/interval.h"

#include <string.h>

/* ---- which views */

bool shard_is_joined(ir_op op) { return op == IR_OP_CONCAT || op == IR_OP_STACK; }

/* Does the rule take an operand otherwise than it is divided? Of joined ones, along the axis that is joined.
 */
static bool loses_axes(const op_sharding *rule, ir_op op, const ir_spec *const *specs,
                       const shard_choice *choice) {
  for (uint32_t i = 0; i < rule->operands; i++)
    for (uint32_t d = 0; d < specs[i]->rank; d++) {
      if (!ir_spec_count(specs[i], d)) continue;
      bool same = ir_spec_count(&choice->operands[i], d) == ir_spec_count(specs[i], d) &&
                  shard_is_prefix(specs[i], &choice->operands[i], d);
      if (shard_is_joined(op) ? !rule->terms[i].axes[d].count : !same) return true;
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

bool shard_is_deferred(const shard_state *s, ir_ref node) { return s->deferred[node] && !s->local[node]; }

/* ---- the spec of a view */

ir_ref shard_view_of(const shard_state *s, ir_ref node) {
  return shard_reversed_of(s, node) ? ir_src(s->g, node, 0) : node;
}

/* Down to the spec of the array with the most bytes. */
static const ir_spec *main_array(shard_state *s, ir_ref node, pass_point *p) {
  ir_graph *g = s->g;
  pass_point guards = {0};
  const shard_reversed *reversed = NULL;
  while (!reversed && shard_is_deferred(s, node)) {
    reversed = shard_reversed_of(s, node), node = shard_view_of(s, node);
    const ir_node *n = ir_get(g, node);
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0; i < ir_operand_count(n) && shard_is_joined((ir_op)n->op); i++) {
      double bytes = ir_spec_is_whole(ir_spec_of(g, n->src[i])) ? 0 : shard_bytes(g, n->src[i]);
      if (bytes > most) best = i, most = bytes;
    }
    if (shard_is_joined((ir_op)n->op)) shard_joined_point(g, node, best, p, &guards);
    else if (!pass_view_index(g, &pass_canonical, node, p)) return NULL;
    node = n->src[best];
  }
  return reversed ? &reversed->spec : ir_spec_of(g, node);
}

bool shard_view_spec(shard_state *s, ir_ref node, ir_spec *out) {
  ir_graph *g = s->g;
  uint32_t taken = 0;
  pass_index_begin(g);
  pass_point p = {.rank = ir_rank(g, node)};
  view_ranges(g, op_dims(g, node), p.rank, p.at);
  const ir_spec *from = main_array(s, node, &p);
  if (!from) return false;
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

bool shard_same_pending(const ir_spec *a, const ir_spec *b) {
  uint32_t n, m;
  const ir_subaxis *x = ir_spec_axes(a, IR_PLACE_PENDING, &n), *y = ir_spec_axes(b, IR_PLACE_PENDING, &m);
  bool same = n == m && a->joined_by == b->joined_by;
  for (uint32_t i = 0; i < n && same; i++) same = ir_subaxes_equal(x[i], y[i]);
  return same;
}

uint32_t shard_sink(shard_state *s, ir_ref x, ir_ref kept[SHARD_SUNK]) {
  ir_graph *g = s->g;
  double least = shard_bytes(g, x);
  uint32_t count = 0, best = 0;
  ir_ref below = x;
  while (count < SHARD_SUNK && s->local[below] && ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW &&
         !shard_is_joined(ir_op_of(g, below)) && s->local[ir_src(g, below, 0)]) {
    ir_ref next = ir_src(g, below, 0);
    if (!shard_same_pending(ir_spec_of(g, below), ir_spec_of(g, next))) break;
    kept[count++] = s->local[below];
    double bytes = ir_spec_is_whole(ir_spec_of(g, next)) ? 0 : shard_bytes(g, next);
    below = next;
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
