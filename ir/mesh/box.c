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

void ir_spec_box(const ir_mesh *mesh, const ir_spec *spec, const int64_t *shape, int64_t device,
                 ir_box *out) {
  out->rank = spec->rank;
  for (uint32_t d = 0; d < spec->rank; d++)
    chunk(shape[d], ir_spec_parts(spec, d), ir_spec_position(mesh, spec, d, device), &out->lo[d],
          &out->hi[d]);
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
  for (int64_t d = 0; d < mesh->device_count; d++) sum += parts[(size_t)d * step];
  int64_t size = sum / (mesh->device_count / of_parts);
  for (int64_t d = 0; d < mesh->device_count; d++) {
    chunk(size, of_parts, ir_spec_position(mesh, spec, dim, d), &lo, &hi);
    if (parts[(size_t)d * step] != hi - lo) return -1;
  }
  return size;
}
