/* Convolutions of which most terms are of padding alone: those with dilations near the size of the image.
 *
 * Element q of the window meets an element of x at the places of a box, and padding at all others. The sum
 * over the channels at that element is a convolution of extent 1 of the part of x that it meets. Their
 * results, with zeros at all other places, are added one after the other, in the order of the elements: no
 * term is of padding, and x is not copied with its padding.
 */
#include "conv.h"

/* Which form is taken changes the bits of the result, so it follows from the shapes alone, and these are
 * numbers of one machine, not of the machine at hand. */
enum { MOST_TAPS = 25 }; /* because 5 x 5 on 7 x 7 gains a sixth for 25 kernels, 7 x 7 would be 49 */
enum { ADDED = 12 };     /* because an element that is stored and added takes 0.2 ns, at 57 G/s (Zen 4) */
enum { MOST_LEFT = 14 }; /* sixteenths of all terms, because with 15 a convolution gains 4 % at most */
enum { LEAST_SAVED = 32000000 }; /* because ResNet-18 gains 2 % by 18 million, and compiles 0.6 s longer */
enum { FEW_PLACES = 4 };   /* because 3 x 3 on 3 x 3, of 4 places and more, gains a third; 2 x 2 loses */
enum { COST_OF_FEW = 64 }; /* because 1 x 512 by 512 x 512 takes 0.28 ms, as 64 rows should */

/* The places [*first, *end) of `count` whose window has an element of the `size` of x at index q. */
static void met(const op_window *w, int64_t size, int64_t count, int64_t q, int64_t *first, int64_t *end) {
  int64_t offset = q * w->dilation - w->before;
  *first = offset < 0 ? (-offset + w->stride - 1) / w->stride : 0;
  *end = offset < size ? (size - 1 - offset) / w->stride + 1 : 0;
  if (*end > count) *end = count;
  if (*end < *first) *end = *first;
}

static int64_t places(const op_window *w, int64_t size) {
  return (size + w->before + w->after - (w->extent - 1) * w->dilation - 1) / w->stride + 1;
}

/* The places that meet x at element `tap` of the window, row-major. */
static double met_by_tap(ir_graph *g, const op_convolution *c, int64_t tap) {
  double all = 1;
  for (size_t i = c->axes; i-- > 0;) {
    const op_window *w = &c->w[i];
    int64_t size = 0, first, end;
    ir_is_const(g, ir_dim(g, c->x, (uint32_t)(2 + i)), &size);
    met(w, size, places(w, size), tap % w->extent, &first, &end);
    all *= (double)(end - first), tap /= w->extent;
  }
  return all;
}

bool op_conv_is_taps(ir_graph *g, const op_convolution *c) {
  double all = 1, cost = 0, seen = 0;
  int64_t size, channels, results, batch = 1, taps = 1;
  if (!ir_is_const(g, ir_dim(g, c->weight, 1), &channels) ||
      !ir_is_const(g, ir_dim(g, c->weight, 0), &results))
    return false;
  ir_is_const(g, ir_dim(g, c->x, 0), &batch); /* of a symbolic batch: one image */
  for (size_t i = 0; i < c->axes; i++) {
    const op_window *w = &c->w[i];
    if (!ir_is_const(g, ir_dim(g, c->x, (uint32_t)(2 + i)), &size) || w->extent > MOST_TAPS ||
        size + w->before + w->after <= (w->extent - 1) * w->dilation)
      return false;
    all *= (double)places(w, size) * (double)w->extent, taps *= w->extent;
    if (taps > MOST_TAPS) return false;
  }
  for (int64_t tap = 0; tap < taps; tap++) {
    double here = met_by_tap(g, c, tap);
    seen += here, cost += here > 0 && here < FEW_PLACES ? COST_OF_FEW : here;
  }
  double direct = all * (double)channels, apart = cost * (double)channels + ADDED * all;
  return seen > 0 && 16 * apart < MOST_LEFT * direct &&
         (direct - apart) * (double)results * (double)batch >= LEAST_SAVED;
}

/* The sum over the channels at element `tap` of the window, row-major, at all places; *none: no place has an
 * element of x there. 0 after failing. */
static ir_ref tap_sum(ir_graph *g, const op_convolution *given, size_t tap, bool *none) {
  op_convolution c = *given;
  ir_ref x[2 * IR_MAX_RANK], steps[IR_MAX_RANK], weight[2 * IR_MAX_RANK], pads[2 * IR_MAX_RANK];
  uint32_t rank = ir_rank(g, c.x);
  ir_ref zero = ir_index(g, 0), one = ir_index(g, 1);
  *none = false;
  for (uint32_t k = 0; k < 2; k++) {
    x[2 * k] = weight[2 * k] = pads[2 * k] = pads[2 * k + 1] = zero, steps[k] = one;
    x[2 * k + 1] = ir_dim(g, c.x, k), weight[2 * k + 1] = ir_dim(g, c.weight, k);
  }
  for (uint32_t k = rank - 1; k >= 2; k--) {
    op_window *w = &c.w[k - 2];
    int64_t size = 0, first, end, q = (int64_t)(tap % (size_t)w->extent);
    tap /= (size_t)w->extent;
    ir_is_const(g, ir_dim(g, c.x, k), &size);
    int64_t count = places(w, size), offset = q * w->dilation - w->before;
    met(w, size, count, q, &first, &end);
    *none |= first == end;
    x[2 * k] = ir_index(g, first * w->stride + offset);
    x[2 * k + 1] = ir_index(g, (end - 1) * w->stride + offset + 1);
    steps[k] = ir_index(g, w->stride);
    weight[2 * k] = ir_index(g, q), weight[2 * k + 1] = ir_index(g, q + 1);
    pads[2 * k] = ir_index(g, first), pads[2 * k + 1] = ir_index(g, count - end);
    *w = (op_window){.extent = 1, .stride = 1, .dilation = 1};
  }
  if (*none) return 0;
  c.x = op_shrink(g, c.x, x, rank), c.weight = op_shrink(g, c.weight, weight, rank);
  c.x = c.x ? op_stride(g, c.x, steps, rank) : 0;
  ir_ref y = c.x && c.weight ? op_conv_correlate(g, &c) : 0;
  return y ? op_pad_known(g, y, pads, 0) : 0;
}

ir_ref op_conv_taps(ir_graph *g, const op_convolution *c) {
  size_t taps = 1;
  ir_ref y = 0;
  for (size_t i = 0; i < c->axes; i++) taps *= (size_t)c->w[i].extent;
  for (size_t tap = 0; tap < taps; tap++) {
    bool none;
    ir_ref term = tap_sum(g, c, tap, &none);
    if (none) continue;
    if (!term) return 0;
    y = y ? op_add(g, y, term) : term;
  }
  return y;
}
