/* Kept axes of a contraction that follow one another, and along which each operand either does not vary or
 * has its elements in one row, are one axis: the height and width of an image in a 1 x 1 convolution are the
 * columns of one product of matrices. A tile then has as many columns as fill its vectors, whatever the
 * width. */
#include "pack.h"

#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"

/* Do the axis and the one behind it walk one row of the operand's elements? */
static bool is_one_row(const pass_contraction *c, const pass_operand *o, uint32_t axis, uint32_t behind) {
  int64_t step, inner;
  if (pack_has_axis(o->varies, axis) != pack_has_axis(o->varies, behind)) return false;
  if (!pack_has_axis(o->varies, axis)) return true;
  return ir_is_true(c->g, o->valid) && affine_stride(c->g, o->index, c->range[axis], &step) &&
         affine_stride(c->g, o->index, c->range[behind], &inner) && step == inner * c->size[behind];
}

static bool is_known(const pass_contraction *c, uint32_t axis) {
  return ir_is_const(c->g, ir_dim(c->g, c->operand[0].value, axis), NULL);
}

static bool merges(const pass_contraction *c, uint32_t axis) {
  uint32_t behind = axis + 1;
  if (behind == c->rank || pack_has_axis(c->reduced, axis) || pack_has_axis(c->reduced, behind)) return false;
  if (c->size[axis] == 1 || c->size[behind] == 1 || !is_known(c, behind)) return false;
  return is_one_row(c, &c->operand[0], axis, behind) && is_one_row(c, &c->operand[1], axis, behind);
}

/* The operand, with each axis of the set in one axis with the one behind it. */
static ir_ref with_merged(const pass_contraction *c, ir_ref x, uint32_t set) {
  ir_ref dims[IR_MAX_RANK] = {0}, size = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < c->rank; i++) {
    size = size ? pass_mul(c->g, size, ir_dim(c->g, x, i)) : ir_dim(c->g, x, i);
    if (pack_has_axis(set, i)) continue;
    dims[count++] = size;
    size = 0;
  }
  ir_ref shape = ir_tuple(c->g, dims, count), src[IR_MAX_RANK + 1] = {x};
  for (uint32_t i = 0; i < count; i++) src[1 + i] = dims[i];
  return ir_make_tensor(c->g, IR_OP_RESHAPE, ir_dtype_of(c->g, src[0]), shape, 0, src, count + 1);
}

/* The last kept axis of more than one element, whose number is known, if it fills no whole number of panels,
 * and those before it that merge with it, as one variable number with it: but for the last of them, a set.
 * Other axes stay: fused row groups and scans go over them. */
static uint32_t axes_of_columns(const pass_contraction *c) {
  uint32_t set = 0, last = c->rank;
  while (last > 0 && (pack_has_axis(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  if (last < 2 || c->size[last - 1] % PACK_TILE_COLUMNS == 0) return 0;
  for (uint32_t i = last - 1; i-- > 0 && merges(c, i);) set |= (uint32_t)1 << i;
  return set;
}

ir_ref pack_merge_axes(const pass_contraction *c) {
  uint32_t set = axes_of_columns(c), at = 0, reduced = 0;
  if (!set) return c->sum;
  pass_contraction merged = {.g = c->g, .sum = c->sum, .dtype = c->dtype, .term = c->term};
  for (uint32_t i = 0; i < c->rank; i++) {
    if (pack_has_axis(set, i)) continue;
    reduced |= (uint32_t)pack_has_axis(c->reduced, i) << at++;
  }
  merged.rank = at;
  ir_ref a = with_merged(c, c->operand[0].value, set), b = with_merged(c, c->operand[1].value, set);
  return a && b ? pack_sum(&merged, pack_product(&merged, a, b), reduced) : 0;
}

/* Does the operand have the elements of both axes at constant distances, but not in one row, and each of them
 * about once? Windows read theirs several times, and a copy would too. */
static bool is_apart(const pass_contraction *c, const pass_operand *o, uint32_t axis, uint32_t behind) {
  int64_t step, inner;
  return pack_has_axis(o->varies, axis) && pack_has_axis(o->varies, behind) && ir_is_true(c->g, o->valid) &&
         affine_stride(c->g, o->index, c->range[axis], &step) &&
         affine_stride(c->g, o->index, c->range[behind], &inner) && step != inner * c->size[behind] &&
         pack_elements(c->g, o->base) >= pass_contraction_size(c, o->varies) / 2;
}

ir_ref pack_join_rows(const pass_contraction *c) {
  /* The width of an image fills a third to nine tenths of its vectors. 512 to 1024 channels, 1 x 1 with
   * stride 2, from 28 x 28 positions: 2.12 ms, 1.54 with the copy, which takes 0.08 (f32, AVX-512, one
   * thread) */
  enum {
    MIN_USES = 128, /* multiplications of an element: copying one takes as long as 20 (pack.c) */
    MUCH = 1 << 20  /* of the product, about 10 us, of which a launch is a small part */
  };
  uint32_t last = c->rank;
  while (last > 0 && (pack_has_axis(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  if (last-- < 2 || c->size[last] % PACK_TILE_COLUMNS == 0) return c->sum;
  uint32_t before = last - 1;
  if (pack_has_axis(c->reduced, before) || c->size[before] == 1 || !is_known(c, before) ||
      !is_known(c, last) || pass_contraction_size(c, UINT32_MAX) < MUCH)
    return c->sum;
  for (int i = 0; i < 2; i++) {
    const pass_operand *o = &c->operand[i], *other = &c->operand[!i];
    bool alone = !pack_has_axis(other->varies, before) && !pack_has_axis(other->varies, last);
    if (!alone || !is_apart(c, o, before, last) ||
        pass_contraction_size(c, ~c->reduced & ~o->varies) < MIN_USES)
      continue;
    ir_ref copy = pack_in_rows(c, o),
           product = pack_product(c, i ? other->value : copy, i ? copy : other->value);
    return copy ? pack_sum(c, product, c->reduced) : 0;
  }
  return c->sum;
}

/* Results along an axis of neither operand are all the same. */
ir_ref pack_without_repeats(const pass_contraction *c) {
  ir_graph *g = c->g;
  ir_ref bounds[2 * IR_MAX_RANK];
  bool any = false;
  for (uint32_t i = 0; i < c->rank; i++) {
    bool repeats =
        !pack_has_axis(c->reduced | c->operand[0].varies | c->operand[1].varies, i) && c->size[i] > 1;
    bounds[2 * i] = ir_index(g, 0);
    bounds[2 * i + 1] = repeats ? ir_index(g, 1) : ir_dim(g, c->operand[0].value, i);
    any |= repeats;
  }
  if (!any) return c->sum;
  ir_ref a = op_shrink_known(g, c->operand[0].value, bounds),
         b = op_shrink_known(g, c->operand[1].value, bounds);
  return pack_sum(c, pack_product(c, a, b), c->reduced);
}
