/* What an operation would cost if it were divided otherwise, while all that it reads, and its result, stay as
 * they are. */
#include "impl.h"

#include <string.h>

static const ir_spec *spec_of(const ir_graph *g, ir_ref node, ir_spec *whole) {
  const ir_spec *spec = ir_shape(g, node) ? ir_spec_of(g, node) : NULL;
  ir_spec_init(whole, ir_shape(g, node) ? ir_rank(g, node) : 0);
  return spec ? spec : whole;
}

/* Bringing a term from what is there, or to what is read. Negative after failing. */
static double term_time(auto_model *m, const autoshard_other *o, const auto_variable *v, uint32_t term,
                        uint32_t spec) {
  bool result = term + 1 == v->terms;
  ir_ref x = result ? v->node : m->uses[v->first_use + term].node;
  ir_spec whole;
  if (!x || !ir_shape(m->g, x)) return 0;
  const ir_spec *own = spec_of(m->g, x, &whole);
  uint32_t there = auto_spec(m, result && o->result ? o->result : own),
           array = result ? auto_array_of(m, x, true) : auto_term_array(m, v, x);
  if (there == UINT32_MAX || array == UINT32_MAX) return -1;
  return auto_move_time(m, array, result ? spec : there, result ? there : spec);
}

/* One round of it. */
static double time_of(auto_model *m, const autoshard_other *o, const auto_variable *v, const uint32_t *specs,
                      double work) {
  double sum = work / (m->weight[v->node] > 0 ? m->weight[v->node] : 1);
  for (uint32_t t = 0; t < v->terms; t++) {
    double more = term_time(m, o, v, t, specs[t]);
    if (more < 0) return -1;
    sum += more;
  }
  return sum;
}

/* The strategy of these specs; UINT32_MAX: none. */
static uint32_t find(const auto_variable *v, const uint32_t *specs) {
  for (uint32_t i = 0; i < v->count; i++)
    if (!memcmp(v->specs + (size_t)i * v->terms, specs, v->terms * sizeof *specs)) return i;
  return UINT32_MAX;
}

static bool answer(auto_model *m, autoshard_other *o) {
  uint32_t number = o->node < m->nodes ? m->operation[o->node] - 1 : UINT32_MAX, specs[AUTO_TERMS],
           best = UINT32_MAX;
  o->known = false;
  if (number == UINT32_MAX || m->variables[number].stored || m->variables[number].terms != o->terms)
    return true;
  const auto_variable *v = &m->variables[number];
  for (uint32_t t = 0; t < o->terms; t++)
    if ((specs[t] = auto_spec(m, &o->specs[t])) == UINT32_MAX) return false;
  uint32_t now = find(v, specs);
  o->now = time_of(m, o, v, specs, now == UINT32_MAX ? 0 : v->cost[now]);
  if (o->now >= 0 && o->now < time_of(m, o, v, specs, 0) + o->inside)
    o->now = time_of(m, o, v, specs, 0) + o->inside;
  o->next = CHOICE_NEVER;
  for (uint32_t i = 0; i < v->count && o->now >= 0; i++) {
    const uint32_t *own = v->specs + (size_t)i * v->terms;
    double seconds =
        memcmp(own, specs, v->terms * sizeof *own) ? time_of(m, o, v, own, v->cost[i]) : CHOICE_NEVER;
    if (seconds < 0) return false;
    if (seconds < o->next) o->next = seconds, best = i;
  }
  if (o->now < 0) return false;
  o->known = best != UINT32_MAX && o->next < CHOICE_NEVER && o->now < CHOICE_NEVER;
  for (uint32_t t = 0; t < o->terms && o->known; t++)
    o->specs[t] = m->specs.items[v->specs[(size_t)best * v->terms + t]];
  return true;
}

bool pass_autoshard_others(ir_graph *g, const autoshard_request *request, autoshard_other *others,
                           size_t count) {
  auto_model m;
  bool good = auto_model_make(&m, g, request);
  for (size_t i = 0; i < count && good; i++) good = answer(&m, &others[i]);
  auto_model_free(&m);
  return good;
}
