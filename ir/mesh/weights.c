/* Weights of the devices along an axis, and the shares of a dimension that follow from them. */
#include "spec.h"

#include <string.h>

bool ir_axis_copy_weights(ir_mesh_axis *to, const ir_mesh_axis *from, const ir_mem *mem) {
  size_t bytes = ((size_t)from->size + 1) * sizeof *from->before;
  to->before = NULL;
  if (!from->before) return true;
  if (!(to->before = ir_alloc(mem, bytes))) return false;
  memcpy(to->before, from->before, bytes);
  return true;
}

void ir_axis_free_weights(ir_mesh_axis *axis, const ir_mem *mem) {
  if (axis->before) ir_free(mem, axis->before, ((size_t)axis->size + 1) * sizeof *axis->before);
  axis->before = NULL;
}

bool ir_same_weights(const ir_mesh_axis *a, const ir_mesh_axis *b) {
  if (a->size != b->size || !a->before != !b->before) return false;
  return !a->before || !memcmp(a->before, b->before, ((size_t)a->size + 1) * sizeof *a->before);
}

bool ir_mesh_is_weighted(const ir_mesh *mesh) {
  bool some = false;
  for (uint32_t i = 0; i < mesh->axis_count; i++) some |= mesh->axes[i].before != NULL;
  return some;
}

const char ir_mesh_too_heavy[] = "the sums of the weights of all axes, multiplied, are more than 1073741824";

static int64_t common_divisor(const int64_t *weights, size_t count) {
  int64_t common = 0;
  for (size_t i = 0; i < count; i++)
    for (int64_t a = weights[i]; a;) {
      int64_t left = common % a;
      common = a, a = left;
    }
  return common;
}

/* The sums of the weights of the first axes, multiplied. */
static int64_t total_of(const ir_mesh *mesh, uint32_t axes) {
  int64_t total = 1;
  for (uint32_t i = 0; i < axes; i++) {
    const ir_mesh_axis *a = &mesh->axes[i];
    total *= a->before ? a->before[a->size] : a->size;
  }
  return total;
}

bool ir_mesh_has_room(const ir_mesh *mesh, int64_t size) {
  return !ir_mesh_is_weighted(mesh) || size <= IR_MESH_WEIGHTS / total_of(mesh, mesh->axis_count);
}

bool ir_mesh_weigh(ir_mesh *mesh, const int64_t *weights, size_t count, ir_error *error) {
  ir_mesh_axis *axis = &mesh->axes[mesh->axis_count - 1];
  int64_t sum = 0, most = IR_MESH_WEIGHTS / total_of(mesh, mesh->axis_count - 1);
  const char *wrong = NULL;
  bool equal = true;
  for (size_t i = 0; i < count; i++)
    if (weights[i] < 1) wrong = "weights are at least 1";
  int64_t common = wrong ? 1 : common_divisor(weights, count);
  for (size_t i = 0; i < count && !wrong; i++) {
    equal &= weights[i] == weights[0];
    if (weights[i] / common > most - sum) wrong = ir_mesh_too_heavy;
    sum += wrong ? 0 : weights[i] / common;
  }
  if (wrong) {
    ir_fail(error, IR_ERR_INVALID, "axis %s of a mesh: %s", axis->name, wrong);
    return false;
  }
  ir_axis_free_weights(axis, mesh->mem);
  if (equal) return true;
  if (!(axis->before = ir_alloc(mesh->mem, (count + 1) * sizeof *axis->before))) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for the weights of a mesh");
    return false;
  }
  axis->before[0] = 0;
  for (size_t i = 0; i < count; i++) axis->before[i + 1] = axis->before[i] + (int32_t)(weights[i] / common);
  return true;
}

bool ir_is_weighted(const ir_subaxis *axes, uint32_t count) {
  bool some = false;
  for (uint32_t i = 0; i < count; i++) some |= axes[i].weighted;
  return some;
}

int64_t ir_weight_before(const ir_mesh *mesh, ir_subaxis s, int64_t c) {
  return s.weighted ? mesh->axes[s.axis].before[c] : c;
}

int64_t ir_weight_of(const ir_mesh *mesh, ir_subaxis s, int64_t c) {
  return ir_weight_before(mesh, s, c + 1) - ir_weight_before(mesh, s, c);
}

ir_shares ir_shares_of(const ir_mesh *mesh, const ir_subaxis *axes, uint32_t count) {
  ir_shares out = {ir_is_weighted(axes, count), 1, 1, 1};
  for (uint32_t i = 0; i < count; i++) {
    int64_t least = 1, most = 1;
    for (int32_t c = 0; c < axes[i].size && axes[i].weighted; c++) {
      int64_t w = ir_weight_of(mesh, axes[i], c);
      if (!c || w < least) least = w;
      if (w > most) most = w;
    }
    out.total *= ir_weight_before(mesh, axes[i], axes[i].size), out.least *= least, out.most *= most;
  }
  return out;
}

/* size = q total + r: nothing is above size, and 2 r before, below 2^61, is added to total. */
int64_t ir_share_end(int64_t size, int64_t before, int64_t total) {
  return size / total * before + (2 * (size % total) * before + total) / (2 * total);
}

/* The whole numbers next to two that differ by d differ by floor(d) or by ceil(d). */
int64_t ir_most_of(const ir_shares *s, int64_t size) {
  int64_t left = size % s->total * s->most;
  return size / s->total * s->most + left / s->total + (left % s->total != 0);
}

int64_t ir_least_of(const ir_shares *s, int64_t size) {
  if (s->weighted) return size / s->total * s->least + size % s->total * s->least / s->total;
  int64_t left = size - (s->total - 1) * ir_part_size(size, s->total);
  return left > 0 ? left : 0;
}
