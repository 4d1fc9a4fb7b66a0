/* Batch axes: how the batches of operands align, and the views that move axes into a batch and out of it.
 * Views of physical axes remove the batch (rebatch to 0), work on all axes alike, and restore it. */
#include "passes/ops/check.h"

#include <string.h>

/* Merges the batch of one operand into dims, aligned at the end; false after failing. */
static bool align_one(ir_graph *g, const char *who, const ir_ref *x, size_t at, ir_ref *dims, uint32_t rank) {
  const ir_node *own = ir_batch(g, x[at]) ? ir_get(g, ir_batch(g, x[at])) : NULL;
  for (uint32_t k = 0; own && k < own->nsrc; k++) {
    ir_ref *size = &dims[rank - own->nsrc + k];
    if (*size == own->src[k] || op_is_one(g, own->src[k])) continue;
    if (op_is_one(g, *size)) *size = own->src[k];
    if (op_decided(g, IR_OP_EQ, own->src[k], *size)) continue;
    size_t earlier = 0;
    while (earlier + 1 < at && !ir_batch(g, x[earlier])) earlier++;
    op_refuse(g,
              "%s: batches of %s and %s do not align: size %s meets %s; batch axes align at the end (the "
              "innermost vmap comes first), and their sizes must be equal or 1%s",
              who, OP_TYPE(x[earlier]), OP_TYPE(x[at]), OP_EXPR(*size), OP_EXPR(own->src[k]),
              OP_FACT(IR_OP_EQ, *size, own->src[k]));
    return false;
  }
  return true;
}

bool op_batches_align(ir_graph *g, const char *who, const ir_ref *x, uint32_t count) {
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < count; i++)
    if (ir_batch_rank(g, x[i]) > rank) rank = ir_batch_rank(g, x[i]);
  if (rank == 0 || count == 1) return true;
  for (uint32_t k = 0; k < rank; k++)
    if (!(dims[k] = ir_index(g, 1))) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!align_one(g, who, x, i, dims, rank)) return false;
  return true;
}

bool op_batches_fit(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *dims, size_t rank, int64_t arg,
                    const ir_ref *src, size_t nsrc) {
  bool makes = op == IR_OP_REBATCH || op == IR_OP_BATCH || op == IR_OP_INPUT || op == IR_OP_BUFFER;
  const char *who = ir_ops[op].text;
  ir_ref batch = 0, all[2 * IR_MAX_RANK];
  if (!g->batches_cap && !makes) return true;
  for (size_t i = 0; i < nsrc; i++)
    if (src[i] == 0) return false;
  uint32_t operands = ir_operands_of(op, (uint32_t)nsrc);
  if (!op_batches_align(g, who, src, operands) || !ir_batch_of(g, op, arg, src, (uint32_t)nsrc, &batch))
    return false;
  if (!batch) return true;
  size_t lead = ir_get(g, batch)->nsrc;
  memcpy(all, ir_get(g, batch)->src, lead * sizeof *all);
  if (rank) memcpy(all + lead, dims, rank * sizeof *all);
  if (lead + rank > IR_MAX_RANK) {
    op_refuse(g, "%s: the result has %zu batch axes and %zu others; a tensor has at most %d axes in all", who,
              lead, rank, IR_MAX_RANK);
    return false;
  }
  if (op_bytes_fit(g, dtype, all, lead + rank)) return true;
  op_refuse(g, "%s: a result of shape %s in a batch of %s is too large; its bytes must number less than 2^63",
            who, OP_LIST(dims, rank), OP_LIST(all, lead));
  return false;
}

/* views */

static ir_ref add_batch_axes(ir_graph *g, ir_ref x, uint32_t count) {
  ir_ref dims[IR_MAX_RANK];
  if (!x || count == ir_batch_rank(g, x)) return x;
  if (ir_op_of(g, x) == IR_OP_REBATCH) return add_batch_axes(g, ir_src(g, x, 0), count);
  uint32_t rank = ir_physical(g, x, dims);
  return op_make(g, IR_OP_REBATCH, ir_dtype_of(g, x), dims + count, rank - count, ir_pack_arg(count, 0), &x,
                 1);
}

ir_ref op_rebatch(ir_graph *g, ir_ref x, int64_t batch_dims) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "rebatch", &x, 1)) return 0;
  int64_t rank = (int64_t)ir_batch_rank(g, x) + ir_rank(g, x);
  if (batch_dims < 0 || batch_dims > rank)
    return op_refuse(
        g, "rebatch: batch_dims=%lld is out of range; x has shape %s, %lld physical axes; takes 0..%lld",
        (long long)batch_dims, OP_TYPE(x), (long long)rank, (long long)rank);
  return add_batch_axes(g, x, (uint32_t)batch_dims);
}

ir_ref op_incr_batch_dims(ir_graph *g, ir_ref x) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "incr_batch_dims", &x, 1)) return 0;
  if (ir_rank(g, x) == 0)
    return op_refuse(g,
                     "incr_batch_dims: x has shape %s, which has no axis to become a batch axis; takes a "
                     "logical rank of at least 1",
                     OP_TYPE(x));
  return add_batch_axes(g, x, ir_batch_rank(g, x) + 1);
}

ir_ref op_decr_batch_dims(ir_graph *g, ir_ref x) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "decr_batch_dims", &x, 1)) return 0;
  if (!ir_batch(g, x))
    return op_refuse(
        g,
        "decr_batch_dims: cannot decrement batch_dims below 0; x has shape %s; takes at least one "
        "batch axis",
        OP_TYPE(x));
  return add_batch_axes(g, x, ir_batch_rank(g, x) - 1);
}

ir_ref op_move_axis_to_batch_dims(ir_graph *g, ir_ref x, int64_t axis) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "move_axis_to_batch_dims", &x, 1)) return 0;
  int64_t at = op_axis(g, "move_axis_to_batch_dims", x, axis, ir_rank(g, x));
  return at < 0 ? 0 : op_batch(g, x, at, (int64_t)ir_batch_rank(g, x) + 1);
}

ir_ref op_move_axis_from_batch_dims(ir_graph *g, ir_ref x, int64_t batch_axis, int64_t logical_destination) {
  const char *who = "move_axis_from_batch_dims";
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  int64_t lead = ir_batch_rank(g, x);
  if (lead == 0)
    return op_refuse(g, "%s: no batch dims to move from; x has shape %s; takes at least one batch axis", who,
                     OP_TYPE(x));
  if (batch_axis < -lead || batch_axis >= lead)
    return op_refuse(g,
                     "%s: batch_axis %lld is out of range; x has shape %s; the axis must lie in %lld..%lld",
                     who, (long long)batch_axis, OP_TYPE(x), (long long)-lead, (long long)lead - 1);
  int64_t from = batch_axis < 0 ? batch_axis + lead : batch_axis;
  int64_t to = op_axis(g, who, x, logical_destination, (int64_t)ir_rank(g, x) + 1);
  if (to < 0) return 0;
  return add_batch_axes(g, op_move_axis(g, add_batch_axes(g, x, 0), from, lead - 1 + to), (uint32_t)lead - 1);
}

ir_ref op_broadcast_batch_dims(ir_graph *g, ir_ref x, const ir_ref *batch_shape, size_t rank) {
  const char *who = "broadcast_batch_dims";
  ir_ref dims[2 * IR_MAX_RANK];
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1) || !op_sizes(g, who, batch_shape, rank, dims)) return 0;
  size_t own = ir_batch_rank(g, x), count = rank + ir_rank(g, x);
  if (own > rank || count > IR_MAX_RANK)
    return op_refuse(g, "%s: batch_shape %s has %zu axes; x has shape %s; takes %zu..%u", who,
                     OP_LIST(batch_shape, rank), rank, OP_TYPE(x), own, IR_MAX_RANK - ir_rank(g, x));
  for (size_t i = rank - own; i < rank; i++) {
    ir_ref size = ir_src(g, ir_batch(g, x), (uint32_t)(i - (rank - own)));
    if (op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, dims[i])) continue;
    return op_refuse(
        g,
        "%s: batch_shape %s asks for %s where x, of shape %s, has %s; batches align at the end, and "
        "only sizes of 1 can be expanded%s",
        who, OP_LIST(batch_shape, rank), OP_EXPR(dims[i]), OP_TYPE(x), OP_EXPR(size),
        OP_FACT(IR_OP_EQ, size, dims[i]));
  }
  if (ir_rank(g, x)) memcpy(dims + rank, op_dims(g, x), ir_rank(g, x) * sizeof *dims);
  x = add_batch_axes(g, x, 0);
  return x ? add_batch_axes(g, op_grow(g, x, dims, count), (uint32_t)rank) : 0;
}

/* physical axes */

ir_ref op_unsqueeze_physical(ir_graph *g, ir_ref x, int64_t axis) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "unsqueeze_physical", &x, 1)) return 0;
  ir_ref all = add_batch_axes(g, x, 0);
  int64_t at = all ? op_axis(g, "unsqueeze_physical", all, axis, (int64_t)ir_rank(g, all) + 1) : -1;
  return at < 0 ? 0 : add_batch_axes(g, op_unsqueeze(g, all, at), ir_batch_rank(g, x));
}

ir_ref op_squeeze_physical(ir_graph *g, ir_ref x, int64_t axis) {
  const char *who = "squeeze_physical";
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  ir_ref all = add_batch_axes(g, x, 0), one = ir_index(g, 1);
  int64_t at = all ? op_axis(g, who, all, axis, ir_rank(g, all)) : -1;
  if (at < 0) return 0;
  ir_ref size = ir_dim(g, all, (uint32_t)at), place = ir_index(g, at);
  if (!op_is_one(g, size))
    return op_refuse(g, "%s: axis %lld has size %s; x has shape %s; only an axis of size 1 can be removed%s",
                     who, (long long)at, OP_EXPR(size), OP_TYPE(all), OP_FACT(IR_OP_EQ, size, one));
  if (ir_rank(g, all) == ir_batch_rank(g, x))
    return op_refuse(
        g,
        "%s: x has shape %s, only batch axes, whose number this operation keeps; use decr_batch_dims first",
        who, OP_TYPE(x));
  return add_batch_axes(g, op_squeeze(g, all, &place, 1), ir_batch_rank(g, x));
}

ir_ref op_broadcast_to_physical(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank) {
  const char *who = "broadcast_to_physical";
  ir_ref dims[IR_MAX_RANK], middle[IR_MAX_RANK];
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1) || !op_sizes(g, who, shape, rank, dims)) return 0;
  ir_ref all = add_batch_axes(g, x, 0);
  uint32_t lead = ir_batch_rank(g, x), own = all ? ir_rank(g, all) : 0;
  if (!all) return 0;
  if (own > rank)
    return op_refuse(
        g, "%s: shape %s has rank %zu; x has shape %s, %u physical axes; broadcasting never lowers the rank",
        who, OP_LIST(shape, rank), rank, OP_TYPE(x), own);
  for (uint32_t i = 0; i < rank; i++) { /* new axes come after the batch */
    bool fresh = i >= lead && i < lead + (rank - own);
    ir_ref size = middle[i] =
        fresh ? ir_index(g, 1) : ir_dim(g, all, i < lead ? i : i - (uint32_t)(rank - own));
    if (!size) return 0;
    if (op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, dims[i])) continue;
    return op_refuse(g,
                     "%s: shape %s asks for %s at axis %u; x has shape %s, %s there; only sizes of 1 can be "
                     "expanded, others must be equal%s",
                     who, OP_LIST(shape, rank), OP_EXPR(dims[i]), i, OP_TYPE(x), OP_EXPR(size),
                     OP_FACT(IR_OP_EQ, size, dims[i]));
  }
  all = op_reshape_known(g, all, middle, rank);
  return all ? add_batch_axes(g, op_grow(g, all, dims, rank), lead) : 0;
}

ir_ref op_moveaxis_physical(ir_graph *g, ir_ref x, int64_t source, int64_t destination) {
  const char *who = "moveaxis_physical";
  x = op_default_dtype(g, x);
  if (!op_tensors(g, who, &x, 1)) return 0;
  ir_ref all = add_batch_axes(g, x, 0);
  int64_t from = all ? op_axis(g, who, all, source, ir_rank(g, all)) : -1;
  int64_t to = from < 0 ? -1 : op_axis(g, who, all, destination, ir_rank(g, all));
  return to < 0 ? 0 : add_batch_axes(g, op_move_axis(g, all, from, to), ir_batch_rank(g, x));
}

/* levels */

ir_ref op_batch(ir_graph *g, ir_ref x, int64_t axis, int64_t level) {
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "batch", &x, 1)) return 0;
  int64_t at = op_axis(g, "batch", x, axis, ir_rank(g, x));
  if (at < 0) return 0;
  if (level <= ir_batch_rank(g, x) || level > IR_MAX_RANK)
    return op_refuse(g, "batch: level %lld is out of range; x has shape %s; takes %u..%d", (long long)level,
                     OP_TYPE(x), ir_batch_rank(g, x) + 1, IR_MAX_RANK);
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (i != at) dims[rank++] = ir_dim(g, x, i);
  return op_make(g, IR_OP_BATCH, ir_dtype_of(g, x), dims, rank, ir_pack_arg(at, (int)level), &x, 1);
}

ir_ref op_unbatch(ir_graph *g, ir_ref x, ir_ref size, int64_t axis, int64_t level) {
  ir_ref dims[IR_MAX_RANK + 1];
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "unbatch", &x, 1) || !op_sizes(g, "unbatch", &size, 1, dims)) return 0;
  uint32_t lead = ir_batch_rank(g, x), rank = ir_rank(g, x);
  int64_t at = op_axis(g, "unbatch", x, axis, (int64_t)rank + 1);
  if (at < 0) return 0;
  if (level < lead || level < 1 || level > IR_MAX_RANK)
    return op_refuse(g, "unbatch: level %lld is out of range; x has shape %s; takes %u..%d", (long long)level,
                     OP_TYPE(x), lead ? lead : 1, IR_MAX_RANK);
  ir_ref own = lead == level ? ir_src(g, ir_batch(g, x), 0) : ir_index(g, 1), given = dims[0];
  if (!op_is_one(g, own) && !op_decided(g, IR_OP_EQ, own, given))
    return op_refuse(
        g, "unbatch: size %s of the axis; x has shape %s, %s at level %lld; sizes must be equal or 1%s",
        OP_EXPR(given), OP_TYPE(x), OP_EXPR(own), (long long)level, OP_FACT(IR_OP_EQ, own, given));
  for (uint32_t i = 0; i <= rank; i++) dims[i] = i == at ? given : ir_dim(g, x, i > at ? i - 1 : i);
  return op_make(g, IR_OP_UNBATCH, ir_dtype_of(g, x), dims, rank + 1, ir_pack_arg(at, (int)level),
                 (ir_ref[]){x, given}, 2);
}

/* derivatives */

/* Plan for one batch level. made: the size of its axis before a sum or after a repetition, 0: no axis. */
typedef struct level_plan {
  ir_ref made;
  bool summed;
} level_plan;

/* Turns the levels low..high into ordinary axes, sums or repeats them, and turns the remaining ones into
 * batch axes again. It works by levels, so that it also holds for single elements of batches outside of these
 * levels. */
static ir_ref change_levels(ir_graph *g, ir_ref x, const level_plan *plan, uint32_t low, uint32_t high) {
  ir_ref axes[IR_MAX_RANK];
  uint32_t count = 0, place = 0;
  ir_dtype dtype = ir_dtype_of(g, x);
  for (uint32_t level = high; level >= low && x; level--)
    if (plan[level].made) x = op_unbatch(g, x, plan[level].made, 0, level);
  for (uint32_t level = low; level <= high; level++) {
    if (plan[level].summed) axes[count++] = ir_index(g, place);
    place += plan[level].made != 0;
  }
  if (count && x) x = op_cast(g, op_reduce(g, IR_OP_SUM, x, axes, count, false), dtype);
  for (uint32_t level = low; level <= high && x; level++)
    if (plan[level].made && !plan[level].summed) x = op_batch(g, x, 0, level);
  return x;
}

static void own_levels(const ir_graph *g, ir_ref x, ir_ref *sizes) {
  uint32_t lead = ir_batch_rank(g, x);
  memset(sizes, 0, (IR_MAX_RANK + 1) * sizeof *sizes);
  for (uint32_t level = 1; level <= lead; level++) sizes[level] = ir_src(g, ir_batch(g, x), lead - level);
}

/* Sums x over the batch axes that `like` does not have, except for the levels in `keep`. */
static ir_ref sum_batch(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep) {
  uint32_t low = 0, lead = ir_batch_rank(g, x);
  ir_ref own[IR_MAX_RANK + 1], wanted[IR_MAX_RANK + 1];
  level_plan plan[IR_MAX_RANK + 1];
  own_levels(g, x, own), own_levels(g, like, wanted);
  for (uint32_t level = lead; level >= 1; level--) {
    bool there = wanted[level] && (wanted[level] == own[level] || !op_is_one(g, wanted[level]));
    bool summed = !there && !(keep >> (level - 1) & 1);
    plan[level] = (level_plan){own[level], summed};
    if (summed) low = level;
  }
  return low ? change_levels(g, x, plan, low, lead) : x;
}

ir_ref op_repeat_batch(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep) {
  uint32_t low = 0, lead = ir_batch_rank(g, x), high = lead;
  ir_ref own[IR_MAX_RANK + 1], wanted[IR_MAX_RANK + 1];
  level_plan plan[IR_MAX_RANK + 1];
  own_levels(g, x, own), own_levels(g, like, wanted);
  for (uint32_t level = IR_MAX_RANK; level >= 1; level--) {
    bool grows = wanted[level] && !op_is_one(g, wanted[level]) && (!own[level] || op_is_one(g, own[level])) &&
                 !(keep >> (level - 1) & 1);
    plan[level] = (level_plan){grows ? wanted[level] : own[level], false};
    if (!grows) continue;
    low = level;
    if (level > high) high = level;
  }
  return low ? change_levels(g, x, plan, low, high) : x;
}

ir_ref op_in_batch_of(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep) {
  if (!x || ir_batch(g, x) == ir_batch(g, like)) return x;
  x = sum_batch(g, x, like, keep);
  return x && ir_batch(g, like) ? op_repeat_batch(g, x, like, keep) : x;
}
