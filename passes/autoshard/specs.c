/* Specs by number, and all that an open one may become. */
#include "impl.h"

#include <string.h>

bool auto_no_memory(auto_model *m) { return auto_short(m->g); }

bool auto_short(ir_graph *g) {
  return ir_fail(g->error, IR_ERR_MEMORY, "automatic choice: out of memory") == IR_OK;
}

static uint32_t hash_of(const ir_spec *s) {
  uint32_t h = s->rank * 31u + s->joined_by;
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n;
    const ir_subaxis *x = ir_spec_axes(s, p, &n);
    for (uint32_t i = 0; i < n && p != IR_PLACE_REPLICATED; i++)
      h = (h ^ (p * 7919u + x[i].axis * 131u + (uint32_t)x[i].pre * 17u + (uint32_t)x[i].size)) * 16777619u;
  }
  return h ^ h >> 15;
}

static bool grow(auto_specs *s, const ir_mem *mem) {
  size_t cap = s->table_cap ? 2 * s->table_cap : 256;
  uint32_t *table = ir_alloc(mem, cap * sizeof *table);
  if (!table) return false;
  memset(table, 0, cap * sizeof *table);
  for (size_t i = 0; i < s->count; i++) {
    size_t at = hash_of(&s->items[i]) & (cap - 1);
    while (table[at]) at = (at + 1) & (cap - 1);
    table[at] = (uint32_t)i + 1;
  }
  ir_free(mem, s->table, s->table_cap * sizeof *table);
  s->table = table, s->table_cap = cap;
  return true;
}

/* The parts alone: closed, of no priority, nothing replicated on purpose. */
static void bare(const ir_spec *spec, ir_spec *out) {
  ir_spec_canonical(spec, out);
  ir_spec_clear(out, IR_PLACE_REPLICATED);
  memset(out->open, 0, sizeof out->open);
  memset(out->priority, 0, sizeof out->priority);
  if (!ir_spec_count(out, IR_PLACE_PENDING)) out->joined_by = IR_OP_ADD;
}

uint32_t auto_spec(auto_model *m, const ir_spec *spec) {
  auto_specs *s = &m->specs;
  ir_spec own;
  bare(spec, &own);
  if (2 * s->count >= s->table_cap && !grow(s, m->g->mem)) return auto_no_memory(m), UINT32_MAX;
  size_t at = hash_of(&own) & (s->table_cap - 1);
  for (; s->table[at]; at = (at + 1) & (s->table_cap - 1)) {
    const ir_spec *other = &s->items[s->table[at] - 1];
    if (other->rank == own.rank && other->joined_by == own.joined_by && ir_spec_same_parts(other, &own))
      return s->table[at] - 1;
  }
  if (!IR_RESERVE(m->g->mem, s->items, s->cap, s->count + 1)) return auto_no_memory(m), UINT32_MAX;
  s->items[s->count++] = own;
  s->table[at] = (uint32_t)s->count;
  return (uint32_t)s->count - 1;
}

uint32_t auto_finished(auto_model *m, uint32_t spec) {
  ir_spec done = m->specs.items[spec];
  ir_spec_clear(&done, IR_PLACE_PENDING);
  return auto_spec(m, &done);
}

void auto_specs_free(auto_model *m) {
  ir_free(m->g->mem, m->specs.items, m->specs.cap * sizeof *m->specs.items);
  ir_free(m->g->mem, m->specs.table, m->specs.table_cap * sizeof *m->specs.table);
}

bool auto_is_named(const ir_spec *spec, uint32_t axis) {
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t n;
    const ir_subaxis *x = ir_spec_axes(spec, p, &n);
    for (uint32_t i = 0; i < n; i++)
      if (x[i].axis == axis) return true;
  }
  return false;
}

static bool each_from(auto_model *m, const ir_spec *spec, uint32_t axis, bool pending, auto_visit *visit,
                      void *user) {
  while (axis < m->mesh->axis_count && auto_is_named(spec, axis)) axis++;
  if (axis == m->mesh->axis_count) return visit(user, spec);
  ir_subaxis x = ir_whole_axis(m->mesh, axis);
  for (uint32_t place = 0; place <= spec->rank; place++) {
    ir_spec more = *spec;
    if (place < spec->rank ? !spec->open[place] : !pending) continue;
    ir_spec_add(&more, place < spec->rank ? place : (uint32_t)IR_PLACE_PENDING, x);
    if (!each_from(m, &more, axis + 1, pending, visit, user)) return false;
  }
  return each_from(m, spec, axis + 1, pending, visit, user);
}

bool auto_each_spec(auto_model *m, const ir_spec *given, bool pending, auto_visit *visit, void *user) {
  return each_from(m, given, 0, pending, visit, user);
}
