/* Bytes that a device holds: its parts of inputs all the time, and those of other values from where they are
 * computed until they are read for the last time. As if nothing were fused: kernels that are need less. */
#include "impl.h"

#include <string.h>

static bool is_view(const auto_model *m, ir_ref node) {
  ir_op op = ir_op_of(m->g, node);
  return ir_ops[op].cls == IR_CLASS_VIEW || ir_only_divides(op);
}

static bool is_call(const auto_model *m, ir_ref node) {
  return ir_ops[ir_op_of(m->g, node)].cls == IR_CLASS_CONTROL;
}

static bool is_kept(const auto_model *m, ir_ref node) {
  ir_op op = ir_op_of(m->g, node);
  return (op == IR_OP_INPUT || op == IR_OP_BUFFER) && !m->is_param[node];
}

bool auto_holds(const auto_model *m, size_t number) {
  ir_ref node = m->lives[number].node;
  return ir_shape(m->g, node) && auto_source(m, node) != UINT32_MAX && !is_view(m, node) &&
         !m->is_param[node];
}

bool auto_lives(auto_model *m) {
  const ir_mem *mem = m->g->mem;
  size_t *last = ir_alloc(mem, m->nodes * sizeof *last); /* by node: the place behind its last reader */
  m->lives = ir_alloc(mem, (m->live_count + 1) * sizeof *m->lives);
  m->place = ir_alloc(mem, m->nodes * sizeof *m->place);
  if (!last || !m->lives || !m->place) {
    if (last) ir_free(mem, last, m->nodes * sizeof *last);
    return auto_no_memory(m);
  }
  memset(last, 0, m->nodes * sizeof *last);
  for (size_t i = m->live_count; i-- > 0;) { /* readers of a view read what it is a view of */
    ir_ref node = m->live[i];
    const ir_node *n = ir_get(m->g, node);
    m->place[node] = (uint32_t)i;
    size_t at = is_view(m, node) && last[node] > i + 1 ? last[node] : i + 1;
    for (uint32_t k = 0; k < n->nsrc; k++)
      if (at > last[n->src[k]]) last[n->src[k]] = at;
    for (uint32_t k = 0; is_call(m, node) && k < ir_called_count(n); k++) { /* what comes out is read here */
      ir_function f = ir_function_of(m->g, ir_called(m->g, node, k));
      for (uint32_t r = 0; r < f.result_count; r++)
        if (i + 1 > last[f.results[r]]) last[f.results[r]] = i + 1;
    }
    bool made = n->op == IR_OP_RESULT && is_call(m, n->src[0]); /* round by round */
    m->lives[i] = (auto_life){node, made ? m->begins[n->src[0]] : (uint32_t)i,
                              (uint32_t)(last[node] > i ? last[node] : i + 1)};
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

/* Is every part of `to` within that of `from`, so that it is a view? */
static bool is_within(const ir_spec *from, const ir_spec *to) {
  if (ir_spec_count(from, IR_PLACE_PENDING)) return false;
  for (uint32_t d = 0; d < from->rank; d++) {
    uint32_t n, k;
    const ir_subaxis *x = ir_spec_axes(from, d, &n), *y = ir_spec_axes(to, d, &k);
    for (uint32_t i = 0; i < n; i++)
      if (i >= k || !ir_subaxes_equal(x[i], y[i])) return false;
  }
  return true;
}

static bool is_from(const auto_model *m, const auto_use *use, uint32_t variable) {
  return use->node && auto_source(m, use->node) == variable;
}

double auto_copied(const auto_model *m, const choice_pair *pair, uint32_t i, uint32_t k, size_t *place) {
  const auto_variable *a = &m->variables[pair->a], *b = &m->variables[pair->b];
  uint32_t term = 0;
  *place = m->place[b->node];
  while (!b->stored && term + 2 < b->terms && !is_from(m, &m->uses[b->first_use + term], pair->a)) term++;
  const ir_spec *from = &m->specs.items[auto_result_spec(m, pair->a, i)];
  const ir_spec *to = &m->specs.items[b->specs[(size_t)k * b->terms + term]];
  if (from == to || is_within(from, to)) return 0;
  return auto_part_bytes(m, a->node, b->stored ? from : to);
}

double auto_peak(const auto_model *m, const uint32_t *chosen, double *room, size_t *worst) {
  size_t at = 0, places = m->live_count + 2;
  double now = 0, most = 0, *copies = room + places;
  memset(room, 0, 2 * places * sizeof *room);
  for (size_t i = 0; i < m->live_count; i++) {
    if (!auto_holds(m, i)) continue;
    double bytes = auto_held(m, i, chosen[auto_source(m, m->lives[i].node)]);
    room[m->lives[i].first] += bytes, room[m->lives[i].behind] -= bytes;
  }
  for (size_t e = 0; e < m->pair_count; e++) {
    size_t place;
    double bytes = auto_copied(m, &m->pairs[e], chosen[m->pairs[e].a], chosen[m->pairs[e].b], &place);
    copies[place] += bytes;
  }
  for (size_t i = 0; i < m->live_count; i++) {
    now += room[i];
    if (now + copies[i] > most) most = now + copies[i], at = i;
  }
  *worst = at;
  return most;
}
