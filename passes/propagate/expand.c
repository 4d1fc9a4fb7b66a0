/* Axes of a dimension and of its factors.
 *
 * Of an axis with several factors the outer ones are divided first, and the next one only where those before
 * it are divided into single indices; an axis of the mesh is cut into digits where that makes it so. */
#include "impl.h"

#include <string.h>

/* Parts of one size, or shares of the weights, divide a size of which this is a divisor. */
static int64_t total_of(const propagate_state *s, ir_subaxis x) {
  return ir_shares_of(ir_graph_mesh(s->g), &x, 1).total;
}

static const propagate_factor *factor_at(const propagate_state *s, const propagate_op *op, uint32_t number) {
  return &s->factors[op->first_factor + number];
}

void propagate_expand(const propagate_state *s, const propagate_op *op, const propagate_dim *dim,
                      const ir_subaxis *axes, uint32_t count, propagate_axes *out) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < dim->count; i++) out[i].count = 0;
  if (dim->count == 1) {
    out[0].count = (uint8_t)count;
    memcpy(out[0].axes, axes, count * sizeof *axes);
    return;
  }
  ir_subaxis next = count ? axes[0] : (ir_subaxis){0};
  for (uint32_t i = 0; i < dim->count && at < count; i++) {
    int64_t size = factor_at(s, op, dim->factors[i])->size, left = size;
    while (at < count && left > 1) {
      ir_subaxis x = next;
      int64_t total = total_of(s, x);
      bool whole = left % total == 0;
      if (!whole && (x.weighted || x.size % left != 0)) return;
      if (!whole) x.size = (int32_t)(total = left);
      out[i].axes[out[i].count++] = x;
      left /= total;
      if (whole) next = ++at < count ? axes[at] : next;
      else next = (ir_subaxis){.axis = x.axis, .pre = (int32_t)(x.pre * x.size), .size = next.size / x.size};
    }
    if (left != 1 || ir_is_weighted(out[i].axes, out[i].count)) return;
  }
}

uint32_t propagate_join(const propagate_state *s, const propagate_op *op, const propagate_dim *dim,
                        const propagate_axes *of, ir_subaxis *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < dim->count; i++) {
    const propagate_axes *a = &of[dim->factors[i]];
    const propagate_factor *f = factor_at(s, op, dim->factors[i]);
    int64_t parts = 1;
    for (uint32_t k = 0; k < a->count && n < IR_SUBAXES; k++) {
      if ((dim->count > 1 || f->even) && (!f->size || f->size % (parts * total_of(s, a->axes[k])))) break;
      parts *= total_of(s, a->axes[k]);
      if (n && ir_subaxes_join(out[n - 1], a->axes[k], &out[n - 1])) continue;
      out[n++] = a->axes[k];
    }
    if (parts != f->size || ir_is_weighted(a->axes, a->count)) break;
  }
  return n;
}
