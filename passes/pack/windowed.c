/* Sums over windows that no other operand reuses: their masks are applied, and what they are computed of is
 * converted, in a copy before, and constant weights are copied so that lanes read neighbours. */
#include "choice.h"

#include "passes/index/affine.h"

/* 1 + the last kept axis of several elements, along which the lanes run; 0: there is none. */
static uint32_t behind_lanes(const pass_contraction *c) {
  uint32_t last = c->rank;
  while (last > 0 && (pack_has_axis(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  return last;
}

/* Are the elements that the lanes read apart from one another? */
static bool has_lanes_apart(const pass_contraction *c, const pass_operand *o) {
  uint32_t last = behind_lanes(c);
  return last > 0 && pack_has_axis(o->varies, last - 1) && pack_axis_stride(c, o, last - 1) != 1;
}

/* Do all lanes have the same masks, which then are no loops of their own? */
static bool masks_lanes_alike(const pass_contraction *c, const pass_operand *o) {
  uint32_t last = behind_lanes(c);
  return last > 0 && pack_axis_stride(c, o, last - 1) == 1 &&
         !affine_depends(c->g, o->valid, c->range[last - 1]);
}

/* Does a copy of the window's operand with its masks take less time than what they cost without it? An
 * operand that is computed where it is read, as bytes less their zero point are, counts as one of masks: 32 x
 * 112 x 112, 3 x 3, take 0.24 of the time with the copy, 96 x 112 x 112 with stride 2 0.46, 192 x 28 x 28
 * 0.57, 672 x 14 x 14, 5 x 5, 0.97. Of few terms, which are written out, only results at the edges, loops of
 * their own, have masks: a result there takes as long as BORDER others, most of them alone. By C x H x W of
 * the image, kernel and stride, time with the copy by that without (f32, AVX-512, one thread): 96 x 112 x
 * 112, 3 x 3, 2: 2.4; 144 x 56 x 56, 3 x 3, 1: 1.25; 64 x 57 x 57, 3 x 3, 1: 1.0; 192 x 28 x 28, 3 x 3, 1:
 * 0.8; 384 x 14 x 14, 3 x 3, 1: 0.55; 240 x 28 x 28, 5 x 5, 1: 0.75. */
static bool window_pays(const pass_contraction *c, const pass_operand *o) {
  enum { BORDER = 12 }; /* of the ratios above, 0.8 to 1.25 lie between 8 and 16 */
  double all = (double)pass_contraction_size(c, UINT32_MAX), inside,
         elements = (double)pack_masked_elements(c, o, &inside);
  double copy = (double)PACK_COPY_COST * pack_far_copy(c, elements) * elements + PACK_LAUNCH;
  bool few = pass_contraction_size(c, c->reduced) <= PASS_FEW_TERMS && pack_is_plain(c->g, o);
  if (few && masks_lanes_alike(c, o)) return false;
  return copy < (few ? BORDER * (1 - inside) : PACK_MASKING) * all || (!few && all >= PACK_MUCH);
}

ir_ref pack_windowed_sum(const pass_contraction *c, const bool *constant) {
  ir_ref made[2];
  bool windows = false;
  for (int i = 0; i < 2; i++) {
    const pass_operand *o = &c->operand[i];
    bool window = pack_is_window(c, o);
    made[i] = window && pack_is_masked(c, o) && window_pays(c, o) ? pack_plain(c, o)
              : !window && constant[i] && has_lanes_apart(c, o)   ? pack_in_rows(c, o)
                                                                  : o->value;
    windows |= window;
  }
  return windows ? pack_sum(c, pack_product(c, made[0], made[1]), c->reduced) : c->sum;
}
