/* The part of an array that a device holds. */
#include "spec.h"

int64_t ir_part_size(int64_t size, int64_t parts) { return size / parts + (size % parts != 0); }

int64_t ir_spec_position(const ir_mesh *mesh, const ir_spec *spec, uint32_t place, int64_t device) {
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
  int64_t position = 0;
  for (uint32_t i = 0; i < count; i++)
    position = position * axes[i].size + ir_subaxis_coordinate(mesh, device, axes[i]);
  return position;
}

/* p c <= n + c n / S, and S is at most IR_MESH_DEVICES: nothing overflows before 2^62 elements of a dimension
 */
static void chunk(int64_t size, int64_t parts, int64_t position, int64_t *lo, int64_t *hi) {
  int64_t c = ir_part_size(size, parts);
  *lo = c && position > size / c ? size : position * c;
  if (*lo > size) *lo = size;
  *hi = size - *lo < c ? size : *lo + c;
}

void ir_part_of(const ir_mesh *mesh, const ir_subaxis *axes, uint32_t count, int64_t size, int64_t position,
                int64_t *lo, int64_t *hi) {
  int64_t parts = 1, before = 0, own = 1, total = 1;
  for (uint32_t i = 0; i < count; i++) parts *= axes[i].size;
  if (!ir_is_weighted(axes, count)) {
    chunk(size, parts, position, lo, hi);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    parts /= axes[i].size;
    int64_t c = position / parts % axes[i].size, of_axis = ir_weight_before(mesh, axes[i], axes[i].size);
    before = before * of_axis + own * ir_weight_before(mesh, axes[i], c);
    own *= ir_weight_of(mesh, axes[i], c), total *= of_axis;
  }
  *lo = ir_share_end(size, before, total), *hi = ir_share_end(size, before + own, total);
}

void ir_spec_box(const ir_mesh *mesh, const ir_spec *spec, const int64_t *shape, int64_t device,
                 ir_box *out) {
  out->rank = spec->rank;
  for (uint32_t d = 0; d < spec->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
    ir_part_of(mesh, axes, count, shape[d], ir_spec_position(mesh, spec, d, device), &out->lo[d],
               &out->hi[d]);
  }
}

bool ir_box_meet(const ir_box *a, const ir_box *b, ir_box *out) {
  bool some = true;
  out->rank = a->rank;
  for (uint32_t d = 0; d < a->rank; d++) {
    out->lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
    out->hi[d] = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];
    some = some && out->lo[d] < out->hi[d];
  }
  return some;
}

int64_t ir_box_elements(const ir_box *box) {
  int64_t count = 1;
  for (uint32_t d = 0; d < box->rank; d++) count *= box->hi[d] - box->lo[d];
  return count;
}

int64_t ir_spec_global_size(const ir_mesh *mesh, const ir_spec *spec, uint32_t dim, const int64_t *parts,
                            size_t step) {
  int64_t of_parts = ir_spec_parts(spec, dim), sum = 0, lo, hi;
  uint32_t count;
  const ir_subaxis *axes = ir_spec_axes(spec, dim, &count);
  for (int64_t d = 0; d < mesh->device_count; d++) sum += parts[(size_t)d * step];
  int64_t size = sum / (mesh->device_count / of_parts);
  for (int64_t d = 0; d < mesh->device_count; d++) {
    ir_part_of(mesh, axes, count, size, ir_spec_position(mesh, spec, dim, d), &lo, &hi);
    if (parts[(size_t)d * step] != hi - lo) return -1;
  }
  return size;
}
