/* Bytes that a device holds: its parts of inputs all the time, and those of other values from where they are
 * computed until they are read for the last time. As if nothing were fused: kernels that are need less. */
#include "impl.h"

#include <string.h>

static bool is_view(const auto_model *m, ir_ref node) {
  ir_op op = ir_op_of(m->g, node);
  return ir_ops[op].cls == IR_CLASS_VIEW || ir_only_divides(op);
}

static bool is_kept(const auto_model *m, ir_ref node) {
  ir_op op = ir_op_of(m->g, node);
  return op == IR_OP_INPUT || op == IR_OP_BUFFER;
}

static bool holds(const auto_model *m, ir_ref node) {
  return ir_shape(m->g, node) && auto_source(m, node) != UINT32_MAX && !is_view(m, node);
}

bool auto_lives(auto_model *m) {
  const ir_mem *mem = m->g->mem;
  size_t *last = ir_alloc(mem, m->nodes * sizeof *last); /* by node: the place behind its last reader */
  m->lives = ir_alloc(mem, (m->live_count + 1) * sizeof *m->lives);
  if (!last || !m->lives) {
    if (last) ir_free(mem, last, m->nodes * sizeof *last);
    return auto_no_memory(m);
  }
  memset(last, 0, m->nodes * sizeof *last);
  for (size_t i = m->live_count; i-- > 0;) { /* readers of a view read what it is a view of */
    ir_ref node = m->live[i];
    const ir_node *n = ir_get(m->g, node);
    size_t at = is_view(m, node) && last[node] > i + 1 ? last[node] : i + 1;
    for (uint32_t k = 0; k < n->nsrc; k++)
      if (at > last[n->src[k]]) last[n->src[k]] = at;
    m->lives[i] = (auto_life){node, (uint32_t)i, (uint32_t)(last[node] > i ? last[node] : i + 1)};
    if (!is_kept(m, node)) continue;
    m->lives[i].first = 0, m->lives[i].behind = (uint32_t)m->live_count;
  }
  ir_free(mem, last, m->nodes * sizeof *last);
  return true;
}

double auto_held(const auto_model *m, size_t number, uint32_t strategy) {
  ir_ref node = m->lives[number].node;
  uint32_t v = auto_source(m, node);
  return auto_part_bytes(m, node, &m->specs.items[auto_result_spec(m, v, strategy)]);
}

double auto_peak(const auto_model *m, const uint32_t *chosen, double *room, size_t *worst) {
  size_t at = 0;
  double now = 0, most = 0;
  memset(room, 0, (m->live_count + 2) * sizeof *room);
  for (size_t i = 0; i < m->live_count; i++) {
    if (!holds(m, m->lives[i].node)) continue;
    double bytes = auto_held(m, i, chosen[auto_source(m, m->lives[i].node)]);
    room[m->lives[i].first] += bytes, room[m->lives[i].behind] -= bytes;
  }
  for (size_t i = 0; i < m->live_count; i++)
    if ((now += room[i]) > most) most = now, at = i;
  *worst = at;
  return most;
}
