/* Redistributions that cost the same. Where all sizes divide, what counts are the number of elements and
 * which axes of the mesh go from where to where, not which dimension of which size that is. So dimensions
 * that nothing goes to or from are one, which nothing divides; axes that stay in front are gone; and the
 * others are numbered in the order of their appearance. Of axes of the mesh that are alike the first ones
 * take part. Layers of many shapes have few such questions. */
#include "impl.h"

#include <string.h>

/* The product of all axes of the mesh that the specs name. */
static int64_t named(const auto_model *m, const ir_spec *from, const ir_spec *to) {
  int64_t product = 1;
  for (uint32_t a = 0; a < m->mesh->axis_count; a++) {
    bool there = false;
    for (uint32_t p = 0; p < IR_PLACES; p++)
      for (int side = 0; side < 2; side++) {
        uint32_t n;
        const ir_subaxis *x = ir_spec_axes(side ? to : from, p, &n);
        for (uint32_t i = 0; i < n; i++) there |= x[i].axis == a;
      }
    if (there) product *= m->mesh->axes[a].size;
  }
  return product;
}

/* How many axes, from the major one on, divide the dimension before and after. */
static uint32_t common(const ir_spec *from, const ir_spec *to, uint32_t d) {
  uint32_t n, k, same = 0;
  const ir_subaxis *x = ir_spec_axes(from, d, &n), *y = ir_spec_axes(to, d, &k);
  while (same < n && same < k && ir_subaxes_equal(x[same], y[same])) same++;
  return same;
}

static void put_axes(const ir_spec *spec, uint32_t place, uint32_t skipped, ir_spec *out, uint32_t to) {
  uint32_t n;
  const ir_subaxis *x = ir_spec_axes(spec, place, &n);
  for (uint32_t i = skipped; i < n; i++) ir_spec_push(out, to, x[i]);
}

static bool alike(const ir_mesh_axis *a, const ir_mesh_axis *b) {
  return a->size == b->size && a->latency == b->latency && a->bandwidth == b->bandwidth;
}

/* Which axis of the mesh takes the place of each, from 1, in the order of their appearance. */
static void rename_axes(const ir_mesh *mesh, const ir_spec *spec, uint32_t *name, uint32_t *taken) {
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n, first = 0;
    const ir_subaxis *x = ir_spec_axes(spec, p, &n);
    for (uint32_t i = 0; i < n; i++, first = 0) {
      if (name[x[i].axis]) continue;
      while (taken[first] || !alike(&mesh->axes[first], &mesh->axes[x[i].axis])) first++;
      taken[first] = 1, name[x[i].axis] = first + 1;
    }
  }
}

static void put_renamed(ir_spec *spec, const uint32_t *name) {
  ir_spec old = *spec;
  ir_spec_init(spec, old.rank);
  spec->joined_by = old.joined_by;
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n;
    const ir_subaxis *x = ir_spec_axes(&old, p, &n);
    for (uint32_t i = 0; i < n; i++) {
      ir_subaxis renamed = x[i];
      renamed.axis = (uint8_t)(name[x[i].axis] - 1);
      ir_spec_push(spec, p, renamed);
    }
  }
}

bool auto_equivalent(const auto_model *m, const auto_array *a, const ir_spec *from, const ir_spec *to,
                     auto_array *array, ir_spec *specs) {
  int64_t product = named(m, from, to), elements = 1;
  if (ir_mesh_is_weighted(m->mesh)) return false; /* nothing divides by weights */
  uint32_t moved[IR_MAX_RANK], skipped[IR_MAX_RANK], count = 0;
  for (uint32_t d = 0; d < a->rank; d++) {
    uint32_t same = common(from, to, d), n;
    const ir_subaxis *x = ir_spec_axes(from, d, &n);
    int64_t size = a->shape[d];
    if (n + ir_spec_count(to, d) && (size == 0 || size % product)) return false;
    for (uint32_t i = 0; i < same; i++) size /= x[i].size;
    elements *= size;
    if (n + ir_spec_count(to, d) == 2 * same) continue;
    skipped[count] = same, moved[count++] = d;
  }
  *array = (auto_array){.rank = count + 1, .item = a->item, .rounds = a->rounds, .begins = a->begins};
  for (uint32_t i = 0; i < count; i++) {
    if (elements % product) return false;
    elements /= product, array->shape[i] = product;
  }
  if (count == IR_MAX_RANK || elements == 0) return false;
  array->shape[count] = elements;
  ir_spec_init(&specs[0], count + 1), ir_spec_init(&specs[1], count + 1);
  for (uint32_t i = 0; i < count; i++) {
    put_axes(from, moved[i], skipped[i], &specs[0], i);
    put_axes(to, moved[i], skipped[i], &specs[1], i);
  }
  put_axes(from, IR_PLACE_PENDING, 0, &specs[0], IR_PLACE_PENDING);
  put_axes(to, IR_PLACE_PENDING, 0, &specs[1], IR_PLACE_PENDING);
  specs[0].joined_by = from->joined_by, specs[1].joined_by = to->joined_by;
  uint32_t name[IR_MESH_AXES] = {0}, taken[IR_MESH_AXES] = {0};
  rename_axes(m->mesh, &specs[0], name, taken), rename_axes(m->mesh, &specs[1], name, taken);
  put_renamed(&specs[0], name), put_renamed(&specs[1], name);
  return true;
}
