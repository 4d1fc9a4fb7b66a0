/* The rows of a tile: which axes of an operand they run along. */
#include "pack.h"

uint32_t pack_tile_axis(const pass_contraction *c, const pass_operand *rows, const pass_operand *columns) {
  enum { ENOUGH = 6 }; /* rows of a whole tile (LOOP_TILE_ROWS) */
  int64_t size = 1, least = INT64_MAX;
  uint32_t axis = IR_MAX_RANK;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (pack_has_axis(c->reduced, i) || !pack_has_axis(rows->varies, i) || pack_has_axis(columns->varies, i))
      continue;
    int64_t height = c->size[i] < ENOUGH ? c->size[i] : ENOUGH, best = size < ENOUGH ? size : ENOUGH,
            step = pack_axis_stride(c, rows, i);
    if (height > best || (height == best && step < least)) size = c->size[i], least = step, axis = i;
  }
  return axis;
}

int64_t pack_rows_along(const pass_contraction *c, const pass_operand *rows, const pass_operand *columns,
                        uint32_t axis, int64_t step) {
  int64_t count = c->size[axis];
  for (uint32_t i = axis; i-- > 0 && step < INT32_MAX;) {
    if (c->size[i] == 1) continue;
    if (pack_has_axis(c->reduced, i) || !pack_has_axis(rows->varies, i) ||
        pack_has_axis(columns->varies, i) || pack_axis_stride(c, rows, i) != pass_times(step, count))
      break;
    count = pass_times(count, c->size[i]);
  }
  return count;
}
