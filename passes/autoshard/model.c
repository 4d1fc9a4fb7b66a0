/* From a graph to variables and pairs. */
#include "impl.h"

#include <string.h>

auto_variable *auto_variable_of(auto_model *m, ir_ref node, bool stored, uint32_t terms) {
  if (!IR_RESERVE(m->g->mem, m->variables, m->variable_cap, m->variable_count + 1))
    return auto_no_memory(m), NULL;
  auto_variable *v = &m->variables[m->variable_count++];
  *v = (auto_variable){.node = node, .stored = stored, .terms = terms, .first_use = m->use_count};
  (stored ? m->stored : m->operation)[node] = (uint32_t)m->variable_count;
  return v;
}

bool auto_use_of(auto_model *m, ir_ref node, double weight, bool tied) {
  if (!IR_RESERVE(m->g->mem, m->uses, m->use_cap, m->use_count + 1)) return auto_no_memory(m);
  m->uses[m->use_count++] = (auto_use){node, weight, tied};
  return true;
}

uint32_t auto_source(const auto_model *m, ir_ref node) {
  if (node >= m->nodes) return UINT32_MAX;
  return (m->stored[node] ? m->stored[node] : m->operation[node]) - 1; /* none: 0 - 1 */
}

uint32_t auto_result_spec(const auto_model *m, uint32_t variable, uint32_t strategy) {
  const auto_variable *v = &m->variables[variable];
  return v->specs[(size_t)strategy * v->terms + v->terms - 1];
}

static bool is_leaf(const auto_model *m, ir_ref node) {
  ir_op op = ir_op_of(m->g, node);
  return (op == IR_OP_INPUT || op == IR_OP_BUFFER) && !m->is_param[node];
}

static bool is_call(const auto_model *m, ir_ref node) {
  return ir_ops[ir_op_of(m->g, node)].cls == IR_CLASS_CONTROL;
}

static bool is_call_result(const auto_model *m, ir_ref node) {
  return ir_op_of(m->g, node) == IR_OP_RESULT && is_call(m, ir_src(m->g, node, 0));
}

/* ---- operations */

static bool add_operation(auto_model *m, ir_ref node) {
  const ir_node *n = ir_get(m->g, node);
  uint32_t operands = ir_only_divides((ir_op)n->op) ? 1 : ir_operand_count(n);
  if (operands >= AUTO_TERMS) operands = 0, m->truncated = true; /* done on whole operands */
  auto_variable *v = auto_variable_of(m, node, false, operands + 1);
  if (!v) return false;
  for (uint32_t i = 0; i < operands; i++) {
    bool place = n->op == IR_OP_ASSIGN && i == 1; /* positions in a part are its own */
    if (!auto_use_of(m, place ? 0 : n->src[i], m->weight[node], false)) return false;
  }
  return auto_strategies(m, v);
}

/* ---- stored values */

typedef struct storing {
  auto_model *m;
  auto_variable *v;
} storing;

/* Of specs that take equally long the one of which a device holds less: a millionth of reading that. */
static double holding(const auto_model *m, ir_ref node, uint32_t spec) {
  return 1e-6 * auto_part_bytes(m, node, &m->specs.items[spec]) / m->rates.bytes;
}

static bool add_stored(void *user, const ir_spec *spec) {
  storing *s = user;
  uint32_t at = auto_spec(s->m, spec);
  return at != UINT32_MAX && auto_add_strategy(s->m, s->v, &at, holding(s->m, s->v->node, at));
}

/* Whole, as the operation leaves it, and as its readers want it. */
static bool add_wanted(auto_model *m, ir_ref node, uint32_t number, bool complete) {
  uint32_t own = m->operation[node];
  for (uint32_t r = m->reader[node]; r <= m->reader[node + 1]; r++) {
    bool last = r == m->reader[node + 1]; /* the operation that makes it, behind those that read it */
    uint32_t i = last ? own - 1 : m->operation[m->read_by[r]] - 1;
    storing s = {m, &m->variables[number]};
    if (!last && is_call(m, m->read_by[r]) && !auto_wanted_inside(m, m->read_by[r], node, add_stored, &s))
      return false;
    if (i == UINT32_MAX) continue;
    const auto_variable *o = &m->variables[i];
    for (uint32_t t = 0; t < o->terms; t++) {
      bool result = t + 1 == o->terms;
      if (result != last || (!result && m->uses[o->first_use + t].node != node)) continue;
      for (uint32_t k = 0; k < m->variables[i].count; k++) {
        uint32_t spec = m->variables[i].specs[(size_t)k * o->terms + t];
        if (complete && ir_spec_count(&m->specs.items[spec], IR_PLACE_PENDING)) spec = auto_finished(m, spec);
        if (spec == UINT32_MAX || !auto_add_strategy(m, &m->variables[number], &spec, holding(m, node, spec)))
          return false;
      }
    }
  }
  ir_spec whole;
  ir_spec_init(&whole, ir_rank(m->g, node));
  return add_stored(&(storing){m, &m->variables[number]}, &whole);
}

static bool add_store(auto_model *m, ir_ref node, bool result) {
  if (m->stored[node] || m->is_param[node]) return true;
  const ir_spec *given = ir_spec_of(m->g, node);
  if (ir_only_divides(ir_op_of(m->g, node))) given = NULL; /* its strategies say so */
  bool leaf = is_leaf(m, node);
  if (!ir_shape(m->g, node) || (!leaf && !given && !result && m->reader[node + 1] - m->reader[node] < 2))
    return true;
  if (!auto_variable_of(m, node, true, 1)) return false;
  uint32_t number = (uint32_t)m->variable_count - 1;
  storing s = {m, &m->variables[number]};
  if (given) {
    ir_spec spec = *given;
    return auto_each_spec(m, &spec, false, add_stored, &s);
  }
  return add_wanted(m, node, number, leaf || result);
}

bool auto_store(auto_model *m, ir_ref node) { return add_store(m, node, true); }

/* ---- pairs */

/* The specs of one term of all strategies. NULL after failing; to be freed. */
static uint32_t *list_of(auto_model *m, uint32_t variable, uint32_t term) {
  const auto_variable *v = &m->variables[variable];
  uint32_t *list = ir_alloc(m->g->mem, v->count * sizeof *list);
  if (!list) return auto_no_memory(m), NULL;
  for (uint32_t i = 0; i < v->count; i++) list[i] = v->specs[(size_t)i * v->terms + term];
  return list;
}

uint32_t auto_term_array(auto_model *m, const auto_variable *v, ir_ref x) {
  return auto_array_of(m, x, v->stored || ir_only_divides(ir_op_of(m->g, v->node)));
}

/* What one variable leaves is moved to what a term of the other needs. */
static bool add_pair(auto_model *m, const auto_use *use, uint32_t from, uint32_t to, uint32_t term) {
  uint32_t array = auto_term_array(m, &m->variables[to], use->node);
  if (array == UINT32_MAX || !IR_RESERVE(m->g->mem, m->pairs, m->pair_cap, m->pair_count + 1))
    return array == UINT32_MAX ? false : auto_no_memory(m);
  const auto_variable *a = &m->variables[from], *b = &m->variables[to];
  uint32_t *rows = list_of(m, from, a->terms - 1), *columns = rows ? list_of(m, to, term) : NULL;
  const double *cost = columns ? auto_move_table(m, array, use, rows, a->count, columns, b->count) : NULL;
  if (cost) m->pairs[m->pair_count++] = (choice_pair){from, to, cost};
  if (rows) ir_free(m->g->mem, rows, a->count * sizeof *rows);
  if (columns) ir_free(m->g->mem, columns, b->count * sizeof *columns);
  return cost != NULL;
}

static bool add_pairs(auto_model *m) {
  for (uint32_t i = 0; i < m->variable_count; i++) {
    const auto_variable *v = &m->variables[i];
    ir_ref node = v->node;
    if (v->stored) {
      auto_use own = {node, m->weight[node], false};
      if (m->operation[node] && !add_pair(m, &own, m->operation[node] - 1, i, 0)) return false;
      continue;
    }
    for (uint32_t t = 0; t + 1 < m->variables[i].terms; t++) {
      const auto_use *use = &m->uses[m->variables[i].first_use + t];
      uint32_t from = use->node ? auto_source(m, use->node) : UINT32_MAX;
      if (from == UINT32_MAX || from == i || !ir_shape(m->g, use->node)) continue;
      if (!add_pair(m, use, from, i, t)) return false;
    }
  }
  for (size_t r = 0; r < m->request->reference_count; r++) {
    const pass_reference *at = &m->request->references[r];
    auto_use result = {ir_src(m->g, m->request->root, at->result), 1, false};
    ir_ref input = m->request->inputs[at->input];
    uint32_t from = auto_source(m, result.node), to = auto_source(m, input);
    if (from == to || from == UINT32_MAX || to == UINT32_MAX) continue;
    if (!add_pair(m, &result, from, to, 0)) return false;
  }
  return true;
}

/* ---- the model */

/* reader[x]: where the readers of node x begin in read_by; one that reads it twice stands there twice. */
static bool find_readers(auto_model *m) {
  if (!auto_order(m)) return false;
  for (size_t i = 0; i < m->live_count; i++) {
    const ir_node *n = ir_get(m->g, m->live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++) m->reader[n->src[k] + 2]++;
    m->read_count += n->nsrc;
  }
  m->read_by = ir_alloc(m->g->mem, m->read_count * sizeof *m->read_by);
  if (!m->read_by) return auto_no_memory(m);
  for (size_t i = 2; i < m->nodes + 2; i++) m->reader[i] += m->reader[i - 1];
  for (size_t i = 0; i < m->live_count; i++) {
    const ir_node *n = ir_get(m->g, m->live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++) m->read_by[m->reader[n->src[k] + 1]++] = m->live[i];
  }
  return true;
}

static bool is_value(const auto_model *m, ir_ref node) {
  return ir_shape(m->g, node) || ir_has_results(ir_op_of(m->g, node));
}

static bool is_result(const auto_model *m, ir_ref node) {
  const ir_node *root = ir_get(m->g, m->request->root);
  for (uint32_t i = 0; i < root->nsrc; i++)
    if (root->src[i] == node) return true;
  return false;
}

bool auto_model_make(auto_model *m, ir_graph *g, const autoshard_request *request) {
  *m = (auto_model){.g = g, .mesh = ir_graph_mesh(g), .request = request, .nodes = (size_t)request->root + 1};
  m->lists.mem = m->classes.mem = g->mem;
  m->rates =
      (autoshard_rates){request->rates.flops > 0 ? request->rates.flops : autoshard_default_rates.flops,
                        request->rates.bytes > 0 ? request->rates.bytes : autoshard_default_rates.bytes};
  m->operation = ir_alloc(g->mem, m->nodes * sizeof *m->operation);
  m->stored = ir_alloc(g->mem, m->nodes * sizeof *m->stored);
  m->reader = ir_alloc(g->mem, (m->nodes + 2) * sizeof *m->reader);
  m->weight = ir_alloc(g->mem, m->nodes * sizeof *m->weight);
  m->is_param = ir_alloc(g->mem, m->nodes);
  m->begins = ir_alloc(g->mem, m->nodes * sizeof *m->begins);
  if (!m->operation || !m->stored || !m->reader || !m->weight || !m->is_param || !m->begins)
    return auto_no_memory(m);
  memset(m->weight, 0, m->nodes * sizeof *m->weight);
  memset(m->is_param, 0, m->nodes);
  memset(m->begins, 0, m->nodes * sizeof *m->begins);
  memset(m->operation, 0, m->nodes * sizeof *m->operation);
  memset(m->stored, 0, m->nodes * sizeof *m->stored);
  memset(m->reader, 0, (m->nodes + 2) * sizeof *m->reader);
  bool good = find_readers(m);
  for (size_t i = 0; i < m->live_count && good; i++) {
    ir_ref node = m->live[i];
    bool later = is_call_result(m, node) || m->is_param[node];
    if (is_call(m, node)) good = auto_predicate(m, node);
    else if (is_value(m, node) && !is_leaf(m, node) && !later) good = add_operation(m, node);
  }
  good = good && auto_params(m);
  for (size_t i = 0; i < m->live_count && good; i++)
    if (is_call_result(m, m->live[i])) good = auto_call_result(m, m->live[i]);
  for (size_t i = 0; i < m->live_count && good; i++)
    if (is_value(m, m->live[i])) good = add_store(m, m->live[i], is_result(m, m->live[i]));
  return good && add_pairs(m) && auto_lives(m);
}

void auto_model_free(auto_model *m) {
  const ir_mem *mem = m->g->mem;
  for (size_t i = 0; i < m->variable_count; i++) {
    ir_free(mem, m->variables[i].specs, m->variables[i].cap * sizeof *m->variables[i].specs);
    ir_free(mem, m->variables[i].cost, m->variables[i].cost_cap * sizeof *m->variables[i].cost);
  }
  auto_moves_free(m);
  auto_axis_steps_free(m);
  choice_store_free(&m->classes);
  auto_specs_free(m);
  ir_free(mem, m->variables, m->variable_cap * sizeof *m->variables);
  ir_free(mem, m->pairs, m->pair_cap * sizeof *m->pairs);
  ir_free(mem, m->arrays, m->array_cap * sizeof *m->arrays);
  if (m->place) ir_free(mem, m->place, m->nodes * sizeof *m->place);
  if (m->lives) ir_free(mem, m->lives, (m->live_count + 1) * sizeof *m->lives);
  ir_free(mem, m->live, m->live_cap * sizeof *m->live);
  if (m->operation) ir_free(mem, m->operation, m->nodes * sizeof *m->operation);
  if (m->stored) ir_free(mem, m->stored, m->nodes * sizeof *m->stored);
  if (m->reader) ir_free(mem, m->reader, (m->nodes + 2) * sizeof *m->reader);
  if (m->weight) ir_free(mem, m->weight, m->nodes * sizeof *m->weight);
  if (m->is_param) ir_free(mem, m->is_param, m->nodes);
  if (m->begins) ir_free(mem, m->begins, m->nodes * sizeof *m->begins);
  ir_free(mem, m->uses, m->use_cap * sizeof *m->uses);
  ir_free(mem, m->bindings, m->binding_cap * sizeof *m->bindings);
  ir_free(mem, m->read_by, m->read_count * sizeof *m->read_by);
}
