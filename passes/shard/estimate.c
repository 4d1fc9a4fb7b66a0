/* What it costs about to bring a value from one division to another, for the comparison of choices. */
#include "impl.h"

static uint32_t common_axes(const ir_spec *a, const ir_spec *b, uint32_t place) {
  uint32_t n, m, same = 0;
  const ir_subaxis *x = ir_spec_axes(a, place, &n), *y = ir_spec_axes(b, place, &m);
  while (same < n && same < m && ir_subaxes_equal(x[same], y[same])) same++;
  return same;
}

static double parts_from(const ir_spec *spec, uint32_t place, uint32_t first) {
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
  double parts = 1;
  for (uint32_t i = first; i < count; i++) parts *= axes[i].size;
  return parts;
}

/* Do the dimensions of the spec have the axis? */
static bool divides_along(const ir_spec *spec, ir_subaxis x) {
  for (uint32_t d = 0; d < spec->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
    for (uint32_t i = 0; i < count; i++)
      if (ir_subaxes_overlap(axes[i], x)) return true;
  }
  return false;
}

/* A part of `to` is met by one of `from` as far as they agree, and elsewhere by chance. Summands come from
 * each device; where the new parts are not divided along the summands, their sums are gathered as well. */
double shard_move_bytes(ir_graph *g, ir_ref x, const ir_spec *from, const ir_spec *to) {
  double part = shard_least_bytes(g, x), met = 1, summands = 1;
  bool scattered = true;
  for (uint32_t d = 0; d < to->rank; d++) {
    part /= parts_from(to, d, 0);
    met /= parts_from(from, d, common_axes(from, to, d));
  }
  uint32_t count;
  const ir_subaxis *pending = ir_spec_axes(from, IR_PLACE_PENDING, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (divides_along(to, pending[i])) summands *= pending[i].size;
    else if (!ir_spec_count(to, IR_PLACE_PENDING)) summands *= pending[i].size, scattered = false;
  }
  if (summands == 1) return part * (1 - met);
  return scattered ? part * (summands - met) : part * 2 * (summands - 1) / summands;
}

double shard_bytes(ir_graph *g, ir_ref x) {
  double bytes = ir_dtypes[ir_dtype_of(g, x)].bytes;
  for (uint32_t d = 0; d < ir_rank(g, x); d++) bytes *= (double)ir_bounds_of(g, ir_dim(g, x, d)).hi;
  return bytes;
}

double shard_least_bytes(ir_graph *g, ir_ref x) {
  double least = shard_bytes(g, x);
  while (ir_op_of(g, x) == IR_OP_EXPAND || ir_op_of(g, x) == IR_OP_RESHAPE ||
         ir_op_of(g, x) == IR_OP_PERMUTE) {
    double bytes = shard_bytes(g, x = ir_src(g, x, 0));
    if (bytes < least) least = bytes;
  }
  return least;
}
