/* Sub-axes: digits of a coordinate. */
#include "mesh.h"

ir_subaxis ir_whole_axis(const ir_mesh *mesh, uint32_t axis) {
  return (ir_subaxis){(uint8_t)axis, 1, mesh->axes[axis].size, mesh->axes[axis].before != NULL};
}

int64_t ir_subaxis_coordinate(const ir_mesh *mesh, int64_t device, ir_subaxis s) {
  int64_t behind = mesh->axes[s.axis].size / ((int64_t)s.pre * s.size);
  return ir_mesh_coordinate(mesh, device, s.axis) / behind % s.size;
}

bool ir_subaxis_fits(const ir_mesh *mesh, ir_subaxis s) {
  if (s.axis >= mesh->axis_count || s.pre < 1 || s.size < 1) return false;
  const ir_mesh_axis *axis = &mesh->axes[s.axis];
  return axis->size % ((int64_t)s.pre * s.size) == 0 && (!axis->before || s.size == axis->size);
}

bool ir_subaxes_equal(ir_subaxis a, ir_subaxis b) {
  return a.axis == b.axis && a.pre == b.pre && a.size == b.size;
}

bool ir_subaxes_overlap(ir_subaxis a, ir_subaxis b) {
  if (ir_subaxes_equal(a, b)) return true; /* of size 1 as well: named twice */
  return a.axis == b.axis && a.pre < (int64_t)b.pre * b.size && b.pre < (int64_t)a.pre * a.size;
}

bool ir_subaxes_join(ir_subaxis major, ir_subaxis minor, ir_subaxis *out) {
  if (major.axis != minor.axis || (int64_t)major.pre * major.size != minor.pre) return false;
  *out = (ir_subaxis){.axis = major.axis, .pre = major.pre, .size = major.size * minor.size};
  return true;
}

uint32_t ir_subaxis_primes(ir_subaxis s, ir_subaxis *out) {
  uint32_t count = 0;
  int32_t primes[20], left = s.size;
  if (s.weighted) return *out = s, 1;
  for (int32_t p = 2; left > 1; p++) {
    if ((int64_t)p * p > left) p = left;
    for (; left % p == 0; left /= p) primes[count++] = p;
  }
  for (uint32_t i = 0, pre = (uint32_t)s.pre; i < count; i++) {
    int32_t size = primes[count - 1 - i];
    out[i] = (ir_subaxis){.axis = s.axis, .pre = (int32_t)pre, .size = size};
    pre *= (uint32_t)size;
  }
  return count;
}

int ir_subaxes_compare(ir_subaxis a, ir_subaxis b) {
  return a.axis != b.axis ? (a.axis < b.axis ? -1 : 1) : (a.pre > b.pre) - (a.pre < b.pre);
}
