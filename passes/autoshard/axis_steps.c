/* The time of a redistribution on many devices, where a plan in digits takes too long to look for: shortest
 * ways on which each step moves one whole axis of the mesh to another place. Places are the dimensions, one
 * that nothing else divides, the pending ones, and none. Of one axis of n devices, where a device holds b
 * bytes before:
 *   from none to a dimension        nothing moves
 *   from a dimension to none        (n - 1) b
 *   from a dimension to another     (n - 1) b / n
 *   from pending to a dimension     (n - 1) b / n
 *   from pending to none            2 (n - 1) b / n
 * and in flight once, or twice where pending ones end, with as many messages as n can be halved, or one
 * (ir/mesh/link.h). The order of axes within a dimension does not count. */
#include "impl.h"
#include "ir/mesh/link.h"

#include <math.h>
#include <string.h>

enum {
  STATES = 1 << 12,              /* places of all axes: of 4 axes with 8 places each */
  ASSUMED_BANDWIDTH = 1000000000 /* of passes/reshard are 10 GB/s: ten of these */
};

typedef struct steps {
  const ir_mesh *mesh;
  uint32_t axes, axis[IR_MESH_AXES]; /* of the mesh, that the specs name */
  uint32_t places;                   /* dimensions, pending, none */
  uint32_t count;                    /* states */
  double bytes;                      /* of the whole array */
} steps;

double auto_latency(const ir_mesh_axis *a) {
  return a->latency > 0 ? a->latency : 1e-6;
} /* as passes/reshard */

double auto_bandwidth(const ir_mesh_axis *a) {
  return a->bandwidth > 0 ? a->bandwidth : 10.0 * ASSUMED_BANDWIDTH;
}

static uint32_t place_in(const steps *s, const ir_spec *spec, uint32_t axis) {
  for (uint32_t d = 0; d <= spec->rank; d++) {
    uint32_t n, place = d < spec->rank ? d : (uint32_t)IR_PLACE_PENDING;
    const ir_subaxis *x = ir_spec_axes(spec, place, &n);
    for (uint32_t i = 0; i < n; i++)
      if (x[i].axis == axis) return d < spec->rank ? d : s->places - 2;
  }
  return s->places - 1;
}

static uint32_t state_of(const steps *s, const ir_spec *spec) {
  uint32_t state = 0;
  for (uint32_t i = s->axes; i-- > 0;) state = state * s->places + place_in(s, spec, s->axis[i]);
  return state;
}

static uint32_t digit(const steps *s, uint32_t state, uint32_t i) {
  while (i--) state /= s->places;
  return state % s->places;
}

/* The axis number i goes from one place to another. */
static double step_time(const steps *s, uint32_t state, uint32_t i, uint32_t to) {
  const ir_mesh_axis *a = &s->mesh->axes[s->axis[i]];
  uint32_t from = digit(s, state, i), none = s->places - 1, pending = s->places - 2;
  double n = a->size, held = s->bytes;
  for (uint32_t k = 0; k < s->axes; k++)
    if (digit(s, state, k) < pending) held /= s->mesh->axes[s->axis[k]].size;
  if (to == pending) return CHOICE_NEVER;
  if (from == none) return 0;
  double share = from == pending ? to == none ? 2 / n : 1 / n : to == none ? 1 : 1 / n;
  ir_link l = ir_link_make(auto_latency(a), 1 / auto_bandwidth(a));
  return (l.flight + fmax(log2(n), 1) * l.work) * (from == pending && to == none ? 2 : 1) +
         share * (n - 1) * held * l.byte;
}

/* Dijkstra's, to all states, which are so few that the next one is looked for among all. */
static void find_all(const steps *s, uint32_t from, double *least) {
  uint8_t done[STATES] = {0};
  for (uint32_t i = 0; i < s->count; i++) least[i] = CHOICE_NEVER;
  least[from] = 0;
  for (;;) {
    uint32_t at = s->count;
    for (uint32_t i = 0; i < s->count; i++)
      if (!done[i] && least[i] < CHOICE_NEVER && (at == s->count || least[i] < least[at])) at = i;
    if (at == s->count) return;
    done[at] = 1;
    for (uint32_t i = 0, weight = 1; i < s->axes; i++, weight *= s->places)
      for (uint32_t p = 0; p < s->places; p++) {
        uint32_t own = digit(s, at, i), next = at + p * weight - own * weight;
        double cost = p == own ? CHOICE_NEVER : least[at] + step_time(s, at, i, p);
        if (cost < least[next]) least[next] = cost;
      }
  }
}

/* Do few devices along few axes take part? */
static bool are_few(const steps *s, const ir_spec *from, const ir_spec *to) {
  int64_t devices = 1;
  uint32_t axes = 0;
  for (uint32_t i = 0; i < s->axes; i++)
    if (auto_is_named(from, s->axis[i]) || auto_is_named(to, s->axis[i]))
      devices *= s->mesh->axes[s->axis[i]].size, axes++;
  return devices <= AUTO_PLANNED && axes <= AUTO_PLANNED_AXES;
}

int auto_axis_steps(auto_model *m, uint32_t array, const ir_spec *from, const ir_spec *to, double *seconds) {
  const ir_mem *mem = m->g->mem;
  auto_array *a = &m->arrays[array];
  steps s = {.mesh = m->mesh, .places = a->rank + 2, .count = 1, .bytes = a->item};
  for (uint32_t d = 0; d < a->rank; d++) s.bytes *= (double)a->shape[d];
  for (uint32_t i = 0; i < m->mesh->axis_count; i++) {
    if (m->mesh->axes[i].size == 1) continue;
    if ((uint64_t)s.count * s.places > STATES) return 0;
    s.axis[s.axes++] = i, s.count *= s.places;
  }
  if (are_few(&s, from, to)) return 0;
  if (!a->ways) {
    if (!(a->ways = ir_alloc(mem, s.count * sizeof *a->ways))) return auto_no_memory(m) - 1;
    memset(a->ways, 0, s.count * sizeof *a->ways);
    a->way_count = s.count;
  }
  double **row = &a->ways[state_of(&s, from)];
  if (!*row) {
    if (!(*row = ir_alloc(mem, s.count * sizeof **row))) return auto_no_memory(m) - 1;
    find_all(&s, state_of(&s, from), *row);
  }
  *seconds = (*row)[state_of(&s, to)];
  return 1;
}

void auto_axis_steps_free(auto_model *m) {
  const ir_mem *mem = m->g->mem;
  for (size_t i = 0; i < m->array_count; i++) {
    auto_array *a = &m->arrays[i];
    for (size_t k = 0; k < a->way_count; k++) ir_free(mem, a->ways[k], a->way_count * sizeof **a->ways);
    ir_free(mem, a->ways, a->way_count * sizeof *a->ways);
  }
}
