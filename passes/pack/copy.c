/* The copies that packing makes: STORED nodes, into which the views below them fold, and views that read them
 * in the operand's shape. */
#include "pack.h"

#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/ops/ops.h"
#include "passes/patterns/epilogue.h"
#include "passes/view/index_map.h"

#include <string.h>

ir_ref pack_permuted(ir_graph *g, ir_ref x, const uint32_t *order, uint32_t rank) {
  ir_ref axes[IR_MAX_RANK];
  bool same = true;
  for (uint32_t i = 0; i < rank; i++) same &= order[i] == i, axes[i] = ir_index(g, order[i]);
  return !x || same ? x : op_permute(g, x, axes, rank);
}

ir_ref pack_permuted_back(ir_graph *g, ir_ref x, const uint32_t *order, uint32_t rank) {
  uint32_t back[IR_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) back[order[i]] = i;
  return pack_permuted(g, x, back, rank);
}

ir_ref pack_unexpanded(const pass_contraction *c, const pass_operand *o) {
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < c->rank; i++) {
    bounds[2 * i] = ir_index(c->g, 0);
    bounds[2 * i + 1] = pack_has_axis(o->varies, i) ? ir_dim(c->g, o->value, i) : ir_index(c->g, 1);
  }
  return op_shrink_known(c->g, o->value, bounds);
}

static ir_ref expanded(const pass_contraction *c, const pass_operand *o, ir_ref x) {
  const ir_node *shape = ir_get(c->g, ir_shape(c->g, o->value));
  return x ? op_grow(c->g, x, shape->src, shape->nsrc) : 0;
}

static ir_ref mark_stored(ir_graph *g, ir_ref x) { return x ? ir_unary(g, IR_OP_STORED, x) : 0; }

/* The order of axes in memory: kept ones, then those summed over; `column` last of the kept ones. */
static void order_in_memory(const pass_contraction *c, uint32_t column, uint32_t *order) {
  uint32_t count = 0;
  for (int reduced = 0; reduced < 2; reduced++) {
    for (uint32_t i = 0; i < c->rank; i++)
      if (pack_has_axis(c->reduced, i) == (reduced == 1) && i != column) order[count++] = i;
    if (!reduced && column < c->rank) order[count++] = column;
  }
}

/* The views on top of the base, those nearest to the base first; PASS_MAX_VIEWS: there may be more. */
static uint32_t views_above(ir_graph *g, const pass_operand *o, ir_ref views[PASS_MAX_VIEWS]) {
  uint32_t count = 0;
  for (ir_ref r = o->value; r != o->base && count < PASS_MAX_VIEWS; r = ir_src(g, r, 0)) views[count++] = r;
  for (uint32_t i = 0; i < count / 2; i++) {
    ir_ref swap = views[i];
    views[i] = views[count - 1 - i], views[count - 1 - i] = swap;
  }
  return count;
}

int64_t pack_elements(ir_graph *g, ir_ref x) {
  int64_t count = 1;
  for (uint32_t i = 0; i < ir_rank(g, x); i++) {
    int64_t size = ir_bounds_of(g, ir_dim(g, x, i)).hi;
    count = size > 0 && count > INT64_MAX / size ? INT64_MAX : count * size;
  }
  return count;
}

ir_ref pack_view_on(ir_graph *g, ir_ref view, ir_ref x) {
  const ir_node *n = ir_get(g, view);
  ir_ref src[2 * IR_MAX_RANK + 2];
  if (!x) return 0;
  memcpy(src, n->src, n->nsrc * sizeof *src);
  src[0] = x;
  return ir_remake(g, view, src, n->nsrc);
}

/* The views from number `from` on, applied to `made`. */
static ir_ref views_on(ir_graph *g, ir_ref made, const ir_ref *views, uint32_t from, uint32_t count) {
  for (uint32_t i = from; i < count; i++) made = pack_view_on(g, views[i], made);
  return made;
}

/* The operand with its base stored, if the base is computed elementwise from several tensors. A copy changes
 * the memory order of one tensor; several are combined first, in the order that they have. */
static pass_operand materialized(const pass_contraction *c, const pass_operand *o) {
  ir_ref views[PASS_MAX_VIEWS];
  pass_operand made = *o;
  if (o->epilogue || !pass_is_elementwise(ir_get(c->g, o->base)) || !pack_of_several(c->g, o->base) ||
      pack_elements(c->g, o->base) > pass_contraction_size(c, o->varies))
    return made;
  uint32_t count = views_above(c->g, o, views);
  if (count == PASS_MAX_VIEWS) return made;
  made.base = mark_stored(c->g, o->base);
  made.value = views_on(c->g, made.base, views, 0, count);
  return made;
}

/* If this view of the operand were a copy, would its index be affine in all axes, with a stride of at most
 * PACK_MAX_STRIDE along some summed axis? */
static bool suits_tile(const pass_contraction *c, const pass_operand *o, ir_ref view) {
  ir_graph *g = c->g;
  pass_point p = {.rank = c->rank};
  for (uint32_t i = 0; i < c->rank; i++) p.at[i] = c->range[i];
  for (ir_ref r = o->value; r != view; r = ir_src(g, r, 0)) {
    ir_ref valid = pass_view_index(g, &pass_canonical, r, &p);
    if (!valid || !ir_is_true(g, pass_finalize_clauses(g, valid))) return false;
  }
  ir_ref index = pass_flatten(g, &pass_canonical, ir_shape(g, view), &p);
  int64_t step;
  bool near = false;
  for (uint32_t i = 0; i < c->rank && index; i++) {
    if (!pack_has_axis(o->varies, i) || c->size[i] == 1) continue;
    if (!affine_stride(g, index, c->range[i], &step)) return false;
    near |= pack_has_axis(c->reduced, i) && step >= -PACK_MAX_STRIDE && step <= PACK_MAX_STRIDE;
  }
  return index && near;
}

/* A copy of the view nearest to the base that lies well, so that views above it do not fold into the copy; 0:
 * there is none. */
static ir_ref rows_between(const pass_contraction *c, const pass_operand *o) {
  ir_ref views[PASS_MAX_VIEWS];
  uint32_t count = views_above(c->g, o, views);
  for (uint32_t i = 0; i < count && count < PASS_MAX_VIEWS; i++)
    if (pack_elements(c->g, views[i]) <= pass_contraction_size(c, o->varies) && suits_tile(c, o, views[i]))
      return views_on(c->g, mark_stored(c->g, views[i]), views, i + 1, count);
  return 0;
}

ir_ref pack_rows(const pass_contraction *c, const pass_operand *o) {
  uint32_t order[IR_MAX_RANK];
  pass_operand from = materialized(c, o);
  ir_ref between = from.value ? rows_between(c, &from) : 0;
  if (between) return between;
  order_in_memory(c, UINT32_MAX, order);
  ir_ref x = mark_stored(c->g, pack_permuted(c->g, pack_unexpanded(c, &from), order, c->rank));
  return expanded(c, o, pack_permuted_back(c->g, x, order, c->rank));
}

ir_ref pack_in_rows(const pass_contraction *c, const pass_operand *o) {
  uint32_t order[IR_MAX_RANK], count = 0;
  for (int kept = 0; kept < 2; kept++)
    for (uint32_t i = 0; i < c->rank; i++)
      if (pack_has_axis(c->reduced, i) == !kept) order[count++] = i;
  ir_ref x = mark_stored(c->g, pack_permuted(c->g, pack_unexpanded(c, o), order, c->rank));
  return expanded(c, o, pack_permuted_back(c->g, x, order, c->rank));
}

ir_ref pack_columns(const pass_contraction *c, const pass_operand *o, uint32_t column) {
  uint32_t order[IR_MAX_RANK], count = 0;
  for (int reduced = 0; reduced < 2; reduced++)
    for (uint32_t i = 0; i < c->rank; i++)
      if (pack_has_axis(c->reduced, i) == (reduced == 1) && i != column) order[count++] = i;
  order[count] = column;
  pass_operand from = materialized(c, o);
  ir_ref x = mark_stored(c->g, pack_permuted(c->g, pack_unexpanded(c, &from), order, c->rank));
  return expanded(c, o, pack_permuted_back(c->g, x, order, c->rank));
}

ir_ref pack_reshaped(ir_graph *g, ir_ref x, uint32_t at, int64_t outer, int64_t inner, bool split) {
  ir_ref dims[IR_MAX_RANK + 1];
  uint32_t count = 0, rank = x ? ir_rank(g, x) : 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (i != at) {
      dims[count++] = ir_dim(g, x, i);
      continue;
    }
    dims[count++] = ir_index(g, split ? outer : outer * inner);
    if (split) dims[count++] = ir_index(g, inner);
    else i++;
  }
  return x ? op_reshape_known(g, x, dims, count) : 0;
}

/* [kept..., N/W, summed..., W], the last panel filled up with zeros */
ir_ref pack_panels(const pass_contraction *c, const pass_operand *o, uint32_t column, int64_t width) {
  ir_graph *g = c->g;
  uint32_t order[IR_MAX_RANK], count = 0, col = column, rank = c->rank + 1;
  int64_t size = c->size[col];
  int64_t panels = (size + width - 1) / width;
  ir_ref edges[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  for (uint32_t i = 0; i < 2 * c->rank; i++) edges[i] = zero;
  edges[2 * col + 1] = ir_index(g, panels * width - size);
  for (int reduced = 0; reduced < 2; reduced++)
    for (uint32_t i = 0; i < c->rank; i++)
      if (pack_has_axis(c->reduced, i) == (reduced == 1)) order[count++] = i + (i > col);
  order[count] = col + 1;
  pass_operand from = materialized(c, o);
  ir_ref x = pack_reshaped(g, op_pad_known(g, pack_unexpanded(c, &from), edges, 0), col, panels, width, true);
  x = pack_permuted(g, x, order, rank);
  x = x ? ir_make_tensor(g, IR_OP_STORED, ir_dtype_of(g, x), ir_shape(g, x), PASS_PANELS, &x, 1) : 0;
  x = pack_permuted_back(g, x, order, rank);
  x = pack_reshaped(g, x, col, panels, width, false);
  for (uint32_t i = 0; i < c->rank && x; i++) edges[2 * i] = zero, edges[2 * i + 1] = ir_dim(g, x, i);
  edges[2 * col + 1] = ir_index(g, size);
  return expanded(c, o, x ? op_shrink_known(g, x, edges) : 0);
}

/* Copies the operand as a whole in the order of its base, as far as the axis goes whose elements are
 * neighbours there: that one is last. 0: there is none among the kept axes. */
static ir_ref whole_in_order(const pass_contraction *c, const pass_operand *o) {
  uint32_t order[IR_MAX_RANK], last = c->rank, count = 0;
  int64_t step;
  for (uint32_t i = 0; i < c->rank; i++)
    if (pack_has_axis(o->varies & ~c->reduced, i) && c->size[i] > 1 &&
        affine_stride(c->g, o->index, c->range[i], &step) && step == 1)
      last = i;
  if (last == c->rank) return 0;
  for (uint32_t i = 0; i < c->rank; i++)
    if (i != last) order[count++] = i;
  order[count] = last;
  ir_ref x = mark_stored(c->g, pack_permuted(c->g, pack_unexpanded(c, o), order, c->rank));
  return expanded(c, o, pack_permuted_back(c->g, x, order, c->rank));
}

/* The value that a copy of the base with its edges holds: the pad nearest to the base, whose views above it
 * stay. views: as views_above lists them; *above: the number of those below it, and the value itself. 0: the
 * operand as a whole is smaller. */
static ir_ref masked_base(const pass_contraction *c, const pass_operand *o, ir_ref views[PASS_MAX_VIEWS],
                          uint32_t *count, uint32_t *above) {
  ir_graph *g = c->g;
  ir_ref made = o->base;
  *count = views_above(g, o, views), *above = 0;
  if (pack_has_edges(c, o)) {
    while (*above < *count && ir_op_of(g, views[*above]) != IR_OP_PAD) made = views[(*above)++];
    if (*above < *count) made = views[(*above)++];
  }
  return *count == PASS_MAX_VIEWS || pack_elements(g, made) > pass_contraction_size(c, o->varies) ? 0 : made;
}

int64_t pack_masked_elements(const pass_contraction *c, const pass_operand *o, double *inside) {
  ir_graph *g = c->g;
  ir_ref views[PASS_MAX_VIEWS];
  uint32_t count, above;
  ir_ref made = masked_base(c, o, views, &count, &above);
  *inside = 0;
  if (!made) return pass_contraction_size(c, o->varies);
  if (ir_op_of(g, made) != IR_OP_PAD) return pack_elements(g, made);
  *inside = 1;
  for (uint32_t i = 0; i < ir_rank(g, made); i++) {
    int64_t from = ir_bounds_of(g, ir_dim(g, ir_src(g, made, 0), i)).hi,
            to = ir_bounds_of(g, ir_dim(g, made, i)).hi;
    *inside *= to < 2 * from ? (double)(2 * from - to) / (double)from : 0;
  }
  return pack_elements(g, made);
}

int64_t pack_memory_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  ir_graph *g = c->g;
  pass_point p = {.rank = c->rank};
  ir_ref r = o->value;
  int64_t step;
  for (uint32_t i = 0; i < c->rank; i++) p.at[i] = c->range[i];
  for (;;) {
    const ir_node *n = ir_get(g, r);
    uint32_t tensors = 0, through = 0;
    if (ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK) {
      if (!pass_view_index(g, &pass_canonical, r, &p)) return pack_axis_stride(c, o, axis);
    } else {
      for (uint32_t k = 0; k < ir_operand_count(n) && pass_is_elementwise(n); k++)
        if (ir_rank(g, n->src[k])) tensors++, through = k;
      if (tensors != 1 || n->op == IR_OP_STORED) break;
    }
    r = n->src[through];
  }
  ir_ref index = pass_flatten(g, &pass_canonical, ir_shape(g, r), &p);
  return index && affine_stride(g, index, c->range[axis], &step) ? step < 0 ? -step : step : INT64_MAX;
}

ir_ref pack_plain(const pass_contraction *c, const pass_operand *o) {
  ir_ref views[PASS_MAX_VIEWS];
  uint32_t count, above;
  ir_ref made = masked_base(c, o, views, &count, &above);
  if (made) return views_on(c->g, mark_stored(c->g, made), views, above, count);
  ir_ref whole = whole_in_order(c, o);
  return whole ? whole : pack_rows(c, o);
}

bool pack_plain_in_order(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  ir_graph *g = c->g;
  ir_ref views[PASS_MAX_VIEWS], index = o->index;
  pass_point p = {.rank = c->rank};
  uint32_t count, above;
  int64_t step;
  ir_ref made = masked_base(c, o, views, &count, &above);
  if (made && made != o->base) {
    for (uint32_t i = 0; i < c->rank; i++) p.at[i] = c->range[i];
    for (ir_ref r = o->value; r != made; r = ir_src(g, r, 0))
      if (!pass_view_index(g, &pass_canonical, r, &p)) return false;
    index = pass_flatten(g, &pass_canonical, ir_shape(g, made), &p);
  }
  return index && affine_stride(g, index, c->range[axis], &step) && step == 1;
}

ir_ref pack_product(const pass_contraction *c, ir_ref a, ir_ref b) {
  ir_graph *g = c->g;
  if (!a || !b) return 0;
  if (!ir_is_float(c->dtype)) return ir_binary(g, c->term, a, b);
  return ir_make_tensor(g, c->term == IR_OP_FMA2 ? IR_OP_FMA2 : IR_OP_FMA, c->dtype, ir_shape(g, a), 0,
                        (ir_ref[]){a, b, ir_float(g, c->dtype, 0)}, 3);
}

/* The sum over the axes of `reduced`, in their order. */
ir_ref pack_sum(const pass_contraction *c, ir_ref product, uint32_t reduced) {
  ir_graph *g = c->g;
  ir_ref src[IR_MAX_RANK + 1] = {product}, kept[IR_MAX_RANK];
  uint32_t count = 1, rank = 0;
  for (uint32_t i = 0; i < c->rank && product; i++) {
    if (pack_has_axis(reduced, i)) src[count++] = ir_index(g, i);
    else kept[rank++] = ir_dim(g, product, i);
  }
  if (!product) return 0;
  return ir_make_tensor(g, IR_OP_SUM, c->dtype, ir_tuple(g, kept, rank), ir_get(g, c->sum)->arg, src, count);
}

/* The sum is stored with the column as the last kept axis; views transpose it back. */
ir_ref pack_transposed_sum(const pass_contraction *c, uint32_t column, ir_ref a, ir_ref b) {
  ir_graph *g = c->g;
  uint32_t order[IR_MAX_RANK], kept[IR_MAX_RANK], place[IR_MAX_RANK], rank = 0, reduced = 0;
  order_in_memory(c, column, order);
  for (uint32_t i = 0; i < c->rank; i++)
    if (!pack_has_axis(c->reduced, i)) place[i] = rank++;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (pack_has_axis(c->reduced, order[i])) reduced |= (uint32_t)1 << i;
    else kept[i] = place[order[i]]; /* kept axes come first */
  }
  ir_ref product = pack_product(c, pack_permuted(g, a, order, c->rank), pack_permuted(g, b, order, c->rank));
  return pack_permuted_back(g, mark_stored(g, pack_sum(c, product, reduced)), kept, rank);
}
