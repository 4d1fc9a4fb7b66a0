#include "passes/pipeline/made_kernels.h"

#include <string.h>

/* Knuth's multiplicative hash: consecutive nodes spread over the table. */
static size_t place_of(const made_kernels *m, ir_ref effect) {
  return (effect * 2654435761u >> 8) & (m->table_cap - 1);
}

/* The place of the kernel that was made of the effect, or the empty one where it belongs. */
static uint32_t *look_up(const made_kernels *m, ir_ref effect, bool once) {
  size_t at = place_of(m, effect);
  for (; m->table[at]; at = (at + 1) & (m->table_cap - 1)) {
    const made_kernel *k = &m->all[m->table[at] - 1];
    if (k->effect == effect && k->once == once) break;
  }
  return &m->table[at];
}

const made_kernel *made_kernels_find(const made_kernels *m, ir_ref effect, bool once) {
  uint32_t found = m->table_cap ? *look_up(m, effect, once) : 0;
  return found ? &m->all[found - 1] : NULL;
}

static bool grow_table(made_kernels *m) {
  enum { LEAST = 64 /* places at first: kernels of a few layers; it doubles */ };
  size_t cap = m->table_cap ? 2 * m->table_cap : LEAST;
  uint32_t *table = ir_alloc(m->mem, cap * sizeof *table);
  if (!table) return false;
  memset(table, 0, cap * sizeof *table);
  ir_free(m->mem, m->table, m->table_cap * sizeof *table);
  m->table = table, m->table_cap = cap;
  for (size_t i = 0; i < m->count; i++) *look_up(m, m->all[i].effect, m->all[i].once) = (uint32_t)i + 1;
  return true;
}

void made_kernels_add(made_kernels *m, ir_ref effect, bool once, const ir_step *step, made_sums *sums) {
  if (sums->failed || !IR_RESERVE(m->mem, m->all, m->cap, m->count + 1)) return;
  if (2 * (m->count + 1) > m->table_cap && !grow_table(m)) return;
  uint32_t *params = ir_alloc(m->mem, step->slot_count * sizeof *params);
  if (!params) return;
  memcpy(params, step->slots, step->slot_count * sizeof *params);
  m->all[m->count++] = (made_kernel){.effect = effect,
                                     .once = once,
                                     .kernel = step->kernel,
                                     .count = step->count,
                                     .work = step->work,
                                     .flops = step->flops,
                                     .magnitude = step->magnitude,
                                     .params = params,
                                     .param_count = step->slot_count,
                                     .sums = *sums};
  *sums = (made_sums){0};
  *look_up(m, effect, once) = (uint32_t)m->count;
}

void made_kernels_free(made_kernels *m) {
  for (size_t i = 0; i < m->count; i++) {
    made_sums_free(m->mem, &m->all[i].sums);
    ir_free(m->mem, m->all[i].params, m->all[i].param_count * sizeof *m->all[i].params);
  }
  ir_free(m->mem, m->all, m->cap * sizeof *m->all);
  ir_free(m->mem, m->table, m->table_cap * sizeof *m->table);
}

void made_sums_add(const ir_mem *mem, made_sums *sums, pass_sum_order order) {
  if (!IR_RESERVE(mem, sums->orders, sums->cap, sums->count + 1)) sums->failed = true;
  else sums->orders[sums->count++] = order;
}

void made_sums_free(const ir_mem *mem, made_sums *sums) {
  ir_free(mem, sums->orders, sums->cap * sizeof *sums->orders);
}
