/* Axes of the mesh in their prime digits, while shardings are chosen: of four devices along an axis two and
 * two may do different things, as where there are two rows and two columns of work. A mesh with an axis for
 * each digit stands in place of the graph's; what was chosen is then said in digits of the graph's own axes.
 */
#include "impl.h"

#include <stdio.h>

enum {
  DIGITS = 3 /* because each digit has several times the strategies; more axes are taken as they are */
};

/* The axis of the refined mesh that the digit is. AXES: none. */
static uint32_t axis_of(const auto_refined *r, ir_subaxis digit) {
  uint32_t i = 0;
  while (i < r->count && !ir_subaxes_equal(r->digits[i], digit)) i++;
  return i < r->count ? i : IR_MESH_AXES;
}

/* In axes of the refined mesh. False: the spec has digits that are no axes there. */
static bool refined(const auto_refined *r, const ir_spec *spec, ir_spec *out) {
  ir_spec primes = *spec;
  if (!ir_spec_to_primes(spec, &primes)) return false;
  *out = *spec;
  for (uint32_t p = 0; p < IR_PLACES; p++) ir_spec_clear(out, p);
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n;
    const ir_subaxis *x = ir_spec_axes(&primes, p, &n);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t axis = axis_of(r, x[i]);
      if (axis == IR_MESH_AXES || !ir_spec_push(out, p, ir_whole_axis(&r->mesh, axis))) return false;
    }
  }
  return true;
}

static void restored(const auto_refined *r, const ir_spec *spec, ir_spec *out) {
  *out = *spec;
  for (uint32_t p = 0; p < IR_PLACES; p++) ir_spec_clear(out, p);
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n;
    const ir_subaxis *x = ir_spec_axes(spec, p, &n);
    for (uint32_t i = 0; i < n; i++) ir_spec_add(out, p, r->digits[x[i].axis]);
  }
}

/* The mesh of digits. False: it is the same, or has too many axes. */
static bool refine_mesh(const ir_mesh *mesh, auto_refined *r) {
  ir_error ignored = {0};
  bool some = false;
  ir_mesh_init(&r->mesh, mesh->mem);
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    ir_subaxis primes[IR_SUBAXES];
    uint32_t n = ir_subaxis_primes(ir_whole_axis(mesh, a), primes);
    some |= n > 1;
    for (uint32_t i = 0; i < n; i++) {
      char name[IR_MESH_NAME];
      if (r->count == DIGITS) return false;
      int length = snprintf(name, sizeof name, "d%u", (unsigned)r->count);
      if (!ir_mesh_add(&r->mesh, name, (size_t)length, primes[i].size, &ignored)) return false;
      if (!ir_axis_copy_weights(&r->mesh.axes[r->count], &mesh->axes[a], mesh->mem)) return false;
      r->mesh.axes[r->count].latency = mesh->axes[a].latency;
      r->mesh.axes[r->count].bandwidth = mesh->axes[a].bandwidth;
      r->digits[r->count++] = primes[i];
    }
  }
  r->mesh.memory = mesh->memory;
  return some;
}

static bool is_collective(ir_op op) { return ir_only_divides(op) && op != IR_OP_SHARD; }

/* May all specs be said in digits, and does no node name an axis of its own? */
static bool all_refine(ir_graph *g, const auto_refined *r, size_t nodes) {
  for (ir_ref i = 1; i < nodes; i++) {
    const ir_spec *spec = ir_spec_of(g, i);
    ir_spec out, asked;
    if (is_collective(ir_op_of(g, i)) || (spec && !refined(r, spec, &out))) return false;
    if (!spec && ir_op_of(g, i) == IR_OP_SHARD && (!ir_shard_spec(g, i, &asked) || !refined(r, &asked, &out)))
      return false;
  }
  return true;
}

bool auto_refine_begin(ir_graph *g, ir_ref root, auto_refined *r) {
  *r = (auto_refined){.nodes = (size_t)root + 1};
  if (!ir_mesh_copy(&r->before, ir_graph_mesh(g), g->mem)) return auto_short(g);
  if (!refine_mesh(&r->before, r) || !all_refine(g, r, r->nodes)) return true;
  bool good = true;
  for (ir_ref i = 1; i < r->nodes && good; i++) {
    const ir_spec *spec = ir_spec_of(g, i);
    ir_spec out, asked;
    if (!spec && (ir_op_of(g, i) != IR_OP_SHARD || !ir_shard_spec(g, i, &asked))) continue;
    refined(r, spec ? spec : &asked, &out);
    good = ir_set_spec(g, i, &out);
  }
  r->used = true;
  good = good && ir_graph_set_mesh(g, &r->mesh);
  return good || auto_short(g);
}

bool auto_refine_end(ir_graph *g, auto_refined *r) {
  bool good = !r->used || ir_graph_set_mesh(g, &r->before);
  for (ir_ref i = 1; i < r->nodes && r->used && good; i++) {
    const ir_spec *spec = ir_spec_of(g, i);
    ir_spec out;
    if (!spec) continue;
    restored(r, spec, &out);
    good = ir_set_spec(g, i, &out);
  }
  ir_mesh_free(&r->before);
  ir_mesh_free(&r->mesh);
  return good || auto_short(g);
}
