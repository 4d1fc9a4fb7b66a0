/* The choice, and what becomes of it: specs in the graph, and a report. */
#include "impl.h"

#include <string.h>

bool auto_problem_make(auto_model *m, choice_problem *p) {
  const ir_mem *mem = m->g->mem;
  size_t count = m->variable_count;
  uint32_t *counts = ir_alloc(mem, count * sizeof *counts);
  const double **cost = ir_alloc(mem, count * sizeof *cost);
  *p = (choice_problem){mem, counts, cost, count, m->pairs, m->pair_count};
  if (!counts || !cost) return auto_no_memory(m);
  for (size_t i = 0; i < count; i++) counts[i] = m->variables[i].count, cost[i] = m->variables[i].cost;
  return true;
}

void auto_problem_free(const auto_model *m, choice_problem *p) {
  ir_free(m->g->mem, p->counts, p->count * sizeof *p->counts);
  ir_free(m->g->mem, (void *)p->cost, p->count * sizeof *p->cost);
}

/* Views that a part reads otherwise than it is divided are made where they are read: their specs follow. */
static bool follows(const auto_model *m, ir_ref node) {
  return ir_ops[ir_op_of(m->g, node)].cls == IR_CLASS_VIEW && !m->stored[node];
}

static bool set_specs(auto_model *m, const uint32_t *chosen) {
  for (size_t i = 0; i < m->live_count; i++) {
    ir_ref node = m->live[i];
    uint32_t v = auto_source(m, node);
    const ir_spec *given = ir_spec_of(m->g, node);
    if (v == UINT32_MAX || !ir_shape(m->g, node) || follows(m, node)) continue;
    ir_spec spec = m->specs.items[auto_result_spec(m, v, chosen[v])];
    if (ir_only_divides(ir_op_of(m->g, node)) && ir_op_of(m->g, node) != IR_OP_SHARD) continue;
    for (uint32_t k = 0, n = given ? ir_spec_count(given, IR_PLACE_REPLICATED) : 0; k < n; k++)
      ir_spec_add(&spec, IR_PLACE_REPLICATED, ir_spec_axes(given, IR_PLACE_REPLICATED, &n)[k]);
    if (!ir_set_spec(m->g, node, &spec)) return auto_no_memory(m);
  }
  return true;
}

static bool fill_report(auto_model *m, const uint32_t *chosen, const choice_result *result,
                        autoshard_report *out) {
  *out = (autoshard_report){.seconds = result->cost, .bound = result->bound};
  out->exact = result->exact && !m->truncated;
  for (size_t i = 0; i < m->variable_count; i++) {
    out->choices += m->variables[i].count > 1;
    out->computing += m->variables[i].cost[chosen[i]];
  }
  out->moving = out->seconds - out->computing;
  size_t worst;
  double *room = ir_alloc(m->g->mem, 2 * (m->live_count + 2) * sizeof *room);
  if (!room) return auto_no_memory(m);
  out->memory = auto_peak(m, chosen, room, &worst);
  ir_free(m->g->mem, room, 2 * (m->live_count + 2) * sizeof *room);
  return true;
}

/* Parts of the time that whole axes take: more is not worth specs in digits, which are hard to read, because
 * predictions are not better than that. */
static const double worth_digits = 0.95;

/* The specs are given to the values if that takes less than `most` seconds. */
static bool choose(ir_graph *g, const autoshard_request *request, double most, autoshard_report *report) {
  auto_model m;
  choice_problem p = {0};
  choice_result result;
  bool good = auto_model_make(&m, g, request) && auto_problem_make(&m, &p);
  uint32_t *chosen = good ? ir_alloc(g->mem, p.count * sizeof *chosen) : NULL;
  if (good && !chosen) good = auto_no_memory(&m);
  double limit = request->memory > 0 ? request->memory : ir_graph_mesh(g)->memory;
  size_t entries = request->entries ? request->entries : AUTOSHARD_ENTRIES;
  good = good && auto_choose(&m, &p, entries, limit, chosen, &result);
  good = good && fill_report(&m, chosen, &result, report);
  if (good && report->seconds < most) good = set_specs(&m, chosen);
  if (chosen) ir_free(g->mem, chosen, p.count * sizeof *chosen);
  auto_problem_free(&m, &p);
  auto_model_free(&m);
  return good;
}

/* In digits of the axes, where that is so much better. *done: so it is. */
static bool choose_digits(ir_graph *g, const autoshard_request *request, bool *done,
                          autoshard_report *report) {
  autoshard_report whole, digits;
  auto_refined r;
  *done = false;
  if (!auto_refine_begin(g, request->root, &r)) return auto_refine_end(g, &r) && false;
  if (!r.used) return auto_refine_end(g, &r);
  if (!auto_refine_end(g, &r)) return false;
  bool fits = choose(g, request, 0, &whole); /* or nothing does, in whole axes */
  if (!fits && g->error->status == IR_ERR_MEMORY) return false;
  ir_error_clear(g->error);
  double most = fits ? worth_digits * whole.seconds : CHOICE_NEVER;
  bool good = auto_refine_begin(g, request->root, &r) && choose(g, request, most, &digits);
  *done = good && digits.seconds < most;
  if (*done) *report = digits;
  good = auto_refine_end(g, &r) && (good || g->error->status != IR_ERR_MEMORY);
  if (good) ir_error_clear(g->error);
  return good;
}

bool pass_autoshard(ir_graph *g, const autoshard_request *request, autoshard_report *report) {
  bool done;
  autoshard_report own;
  if (!report) report = &own;
  if (!ir_graph_mesh(g))
    return ir_fail(g->error, IR_ERR_INVALID, "automatic choice: the graph has no mesh") == IR_OK;
  return choose_digits(g, request, &done, report) && (done || choose(g, request, CHOICE_NEVER, report));
}
