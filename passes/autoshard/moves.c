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
  for (uint32_t d = 0; d < a->rank; d++) bytes *= (double)ir_part_size(a->shape[d], ir_spec_parts(to, d));
  for (uint32_t i = 0; i < m->mesh->axis_count; i++) {
    latency = fmax(latency, m->mesh->axes[i].latency);
    slowest = fmax(slowest, m->mesh->axes[i].bandwidth > 0 ? 1 / m->mesh->axes[i].bandwidth : 0);
  }
  return latency + bytes * slowest;
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
  bool sums = from->joined_by == IR_OP_ADD || from->joined_by == IR_OP_MUL;
  pass_reshard_ask ask = {.mesh = m->mesh,
                          .shape = a->shape,
                          .item = a->item,
                          .from = from,
                          .to = to,
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

const double *auto_move_table(auto_model *m, uint32_t array, const uint32_t *rows, uint32_t row_count,
                              const uint32_t *columns, uint32_t column_count) {
  for (size_t i = 0; i < m->table_count; i++) {
    const auto_table *t = &m->tables[i];
    if (t->array == array && t->rows == row_count && t->columns == column_count &&
        !memcmp(t->lists, rows, row_count * sizeof *rows) &&
        !memcmp(t->lists + row_count, columns, column_count * sizeof *columns))
      return t->cost;
  }
  size_t lists = (size_t)row_count + column_count, entries = (size_t)row_count * column_count;
  if (!IR_RESERVE(m->g->mem, m->tables, m->table_cap, m->table_count + 1)) return auto_no_memory(m), NULL;
  auto_table *t = &m->tables[m->table_count++];
  *t = (auto_table){array, row_count, column_count, ir_alloc(m->g->mem, lists * sizeof *t->lists),
                    ir_alloc(m->g->mem, entries * sizeof *t->cost)};
  if (!t->lists || !t->cost) return auto_no_memory(m), NULL;
  memcpy(t->lists, rows, row_count * sizeof *rows);
  memcpy(t->lists + row_count, columns, column_count * sizeof *columns);
  for (uint32_t i = 0; i < row_count; i++)
    for (uint32_t k = 0; k < column_count; k++)
      if ((t->cost[(size_t)i * column_count + k] = auto_move_time(m, array, rows[i], columns[k])) < 0)
        return NULL;
  return t->cost;
}

void auto_moves_free(auto_model *m) {
  const ir_mem *mem = m->g->mem;
  for (size_t i = 0; i < m->table_count; i++) {
    const auto_table *t = &m->tables[i];
    ir_free(mem, t->lists, ((size_t)t->rows + t->columns) * sizeof *t->lists);
    ir_free(mem, t->cost, (size_t)t->rows * t->columns * sizeof *t->cost);
  }
  ir_free(mem, m->tables, m->table_cap * sizeof *m->tables);
  ir_free(mem, m->moves, m->move_cap * sizeof *m->moves);
}
