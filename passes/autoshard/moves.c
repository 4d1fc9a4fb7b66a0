/* What redistributions take. Plans are not kept: there are very many pairs of specs, of which few are used.
 */
#include "impl.h"
#include "passes/reshard/reshard.h"

#include <math.h>
#include <string.h>

static size_t place_of(uint32_t array, uint32_t from, uint32_t to, size_t cap) {
  uint64_t h = ((uint64_t)array * 1000003u + from) * 1000003u + to;
  h *= 0x9e3779b97f4a7c15u; /* of the golden ratio: spreads neighbouring numbers */
  return (size_t)(h >> 32) & (cap - 1);
}

static auto_move *find(auto_model *m, uint32_t array, uint32_t from, uint32_t to) {
  size_t at = place_of(array, from, to, m->move_cap);
  for (; m->moves[at].known; at = (at + 1) & (m->move_cap - 1)) {
    const auto_move *k = &m->moves[at];
    if (k->array == array && k->from == from && k->to == to) break;
  }
  return &m->moves[at];
}

static bool grow(auto_model *m) {
  auto_move *old = m->moves;
  size_t cap = m->move_cap;
  if (2 * m->move_count < cap) return true;
  m->move_cap = cap ? 2 * cap : 1024;
  if (!(m->moves = ir_alloc(m->g->mem, m->move_cap * sizeof *m->moves))) {
    m->moves = old, m->move_cap = cap;
    return auto_no_memory(m);
  }
  memset(m->moves, 0, m->move_cap * sizeof *m->moves);
  for (size_t i = 0; i < cap; i++)
    if (old[i].known) *find(m, old[i].array, old[i].from, old[i].to) = old[i];
  ir_free(m->g->mem, old, cap * sizeof *old);
  return true;
}

/* Removes what is pending in *to, but not in `from`. False: there was none. */
static bool drop_begun(const ir_spec *from, ir_spec *to) {
  uint32_t n, k, kept = 0;
  ir_spec all = *to;
  const ir_subaxis *x = ir_spec_axes(from, IR_PLACE_PENDING, &n);
  const ir_subaxis *y = ir_spec_axes(&all, IR_PLACE_PENDING, &k);
  ir_spec_clear(to, IR_PLACE_PENDING);
  for (uint32_t i = 0; i < k && from->joined_by == all.joined_by; i++)
    for (uint32_t j = 0; j < n; j++)
      if (ir_subaxes_equal(x[j], y[i])) kept += ir_spec_push(to, IR_PLACE_PENDING, y[i]);
  to->joined_by = kept ? all.joined_by : (uint8_t)IR_OP_ADD;
  return kept < k;
}

/* One exchange of a whole part, where the planner has no digits for both. */
static double one_exchange(const auto_model *m, const auto_array *a, const ir_spec *to) {
  double bytes = a->item, latency = 0, slowest = 0;
  for (uint32_t d = 0; d < a->rank; d++) bytes *= (double)auto_most_of(m, to, d, a->shape[d]);
  for (uint32_t i = 0; i < m->mesh->axis_count; i++) {
    latency = fmax(latency, m->mesh->axes[i].latency);
    slowest = fmax(slowest, m->mesh->axes[i].bandwidth > 0 ? 1 / m->mesh->axes[i].bandwidth : 0);
  }
  return latency + bytes * slowest;
}

/* The spec on a mesh of those axes alone that are `kept`; others are in none of the specs. */
static void put_kept(const ir_spec *spec, const uint8_t *kept, ir_spec *out) {
  ir_spec_init(out, spec->rank);
  out->joined_by = spec->joined_by;
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n;
    const ir_subaxis *x = ir_spec_axes(spec, p, &n);
    for (uint32_t i = 0; i < n; i++) {
      ir_subaxis renamed = x[i];
      renamed.axis = kept[x[i].axis];
      ir_spec_push(out, p, renamed);
    }
  }
}

/* On large meshes devices along axes that no spec names do the same, each group by itself. */
static void leave_axes(const ir_mesh *mesh, const ir_spec *from, const ir_spec *to, ir_mesh *small,
                       ir_spec *specs) {
  uint8_t kept[IR_MESH_AXES] = {0};
  ir_mesh_init(small, mesh->mem);
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    if (mesh->device_count > AUTO_PLANNED && !auto_is_named(from, i) && !auto_is_named(to, i)) continue;
    kept[i] = (uint8_t)small->axis_count;
    small->axes[small->axis_count++] = mesh->axes[i];
    small->device_count *= (uint32_t)mesh->axes[i].size;
  }
  put_kept(from, kept, &specs[0]), put_kept(to, kept, &specs[1]);
}

static double plan(auto_model *m, uint32_t array, const ir_spec *from, const ir_spec *asked) {
  const auto_array *a = &m->arrays[array];
  pass_reshard_plan plan;
  ir_spec end = *asked, *to = &end;
  if (drop_begun(from, to) && !a->begins) return CHOICE_NEVER;
  if (ir_spec_same_parts(from, to)) return 0;
  double seconds;
  int rough = auto_axis_steps(m, array, from, to, &seconds);
  if (rough) return rough < 0 ? -1 : seconds;
  ir_mesh small;
  ir_spec specs[2];
  leave_axes(m->mesh, from, to, &small, specs);
  bool sums = from->joined_by == IR_OP_ADD || from->joined_by == IR_OP_MUL;
  pass_reshard_ask ask = {.mesh = &small,
                          .shape = a->shape,
                          .item = a->item,
                          .from = &specs[0],
                          .to = &specs[1],
                          .mode = PASS_RESHARD_TIME,
                          .at_once = a->rounds && sums};
  ir_status status = pass_reshard(m->g->mem, &ask, &plan, m->g->error);
  if (status == IR_OK) return (double)plan.cost.time * 1e-12;
  if (status != IR_ERR_UNSUPPORTED && status != IR_ERR_INVALID) return -1;
  ir_error_clear(m->g->error);
  return one_exchange(m, a, to);
}

/* By way of an equivalent one, if there is one. Negative after failing. */
static double time_of(auto_model *m, uint32_t array, uint32_t from, uint32_t to) {
  auto_array other;
  ir_spec specs[2];
  if (!auto_equivalent(m, &m->arrays[array], &m->specs.items[from], &m->specs.items[to], &other, specs))
    return plan(m, array, &m->specs.items[from], &m->specs.items[to]);
  uint32_t number = auto_array_number(m, &other), a = auto_spec(m, &specs[0]), b = auto_spec(m, &specs[1]);
  if (number == UINT32_MAX || a == UINT32_MAX || b == UINT32_MAX) return -1;
  if (number == array && a == from && b == to)
    return plan(m, array, &m->specs.items[from], &m->specs.items[to]);
  return auto_move_time(m, number, a, b);
}

double auto_move_time(auto_model *m, uint32_t array, uint32_t from, uint32_t to) {
  if (from == to) return 0;
  if (!grow(m)) return -1;
  const auto_move *known = find(m, array, from, to);
  if (known->known) return known->seconds;
  double seconds = time_of(m, array, from, to);
  if (seconds < 0 || !grow(m)) return -1;
  *find(m, array, from, to) = (auto_move){array, from, to, true, seconds};
  m->move_count++;
  return seconds;
}

static bool write_list(auto_model *m, const uint32_t *specs, uint32_t count) {
  bool good = choice_word(&m->lists, count);
  for (uint32_t i = 0; i < count && good; i++) good = choice_word(&m->lists, specs[i]);
  return good;
}

const double *auto_move_table(auto_model *m, uint32_t array, const auto_use *use, const uint32_t *rows,
                              uint32_t row_count, const uint32_t *columns, uint32_t column_count) {
  bool fresh, good = choice_word(&m->lists, array) && choice_words_of(&m->lists, &use->weight, 1) &&
                     choice_word(&m->lists, use->tied) && write_list(m, rows, row_count) &&
                     write_list(m, columns, column_count);
  size_t entries = (size_t)row_count * column_count;
  uint32_t entry = good ? choice_make(&m->lists, entries * sizeof(double), &fresh) : UINT32_MAX;
  if (entry == UINT32_MAX) return auto_no_memory(m), NULL;
  double *cost = m->lists.items[entry].value;
  for (uint32_t i = 0; i < row_count && fresh; i++)
    for (uint32_t k = 0; k < column_count; k++) {
      double once =
          use->tied && rows[i] != columns[k] ? CHOICE_NEVER : auto_move_time(m, array, rows[i], columns[k]);
      if (once < 0) return NULL;
      cost[(size_t)i * column_count + k] = once < CHOICE_NEVER ? use->weight * once : CHOICE_NEVER;
    }
  return cost;
}

void auto_moves_free(auto_model *m) {
  const ir_mem *mem = m->g->mem;
  choice_store_free(&m->lists);
  ir_free(mem, m->moves, m->move_cap * sizeof *m->moves);
}
