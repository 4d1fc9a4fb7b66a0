/* Loops and conditions. What is inside of their functions is chosen with all else, and costs as much as
 * it runs: once for each round. A parameter is divided in one way, to which the operand of the call is
 * brought, once; the carried value of a round is brought there in every round, and what comes out is divided
 * like that. Results that a scan stacks are divided as those of its function are, and so are those of a
 * condition, to which one of the branches may have to be brought. The axis along which a scan takes slices,
 * or stacks, is whole. */
#include "impl.h"
#include "passes/shard/strategy.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 16 }; /* because no count is known: enough that rounds outweigh one move of operands */

/* ---- the order of nodes, with those of functions before the call */

static double rounds_of(const auto_model *m, ir_ref call) {
  const ir_node *n = ir_get(m->g, call);
  int64_t count = -1;
  if (n->op == IR_OP_COND) return 1;
  if (!ir_is_const(m->g, n->src[n->nsrc - 1], &count) && n->op == IR_OP_SCAN)
    count = auto_size(m, n->src[n->nsrc - 1]);
  return count > 0 ? (double)count : n->op == IR_OP_SCAN ? 1 : ROUNDS;
}

static bool bind(auto_model *m, auto_binding b) {
  if (!IR_RESERVE(m->g->mem, m->bindings, m->binding_cap, m->binding_count + 1)) return auto_no_memory(m);
  m->bindings[m->binding_count++] = b;
  return true;
}

/* What each parameter of the functions stands for. */
static bool bind_call(auto_model *m, ir_ref call, double outside, double inside) {
  const ir_node *n = ir_get(m->g, call);
  uint32_t first = n->op == IR_OP_COND, carries = 0, sliced = 0;
  if (n->op == IR_OP_WHILE) carries = (uint32_t)ir_arg_int(n);
  if (n->op == IR_OP_SCAN) carries = ir_scan_of(n).carries, sliced = ir_scan_of(n).sliced;
  for (uint32_t k = 0; k < ir_called_count(n); k++) {
    ir_function f = ir_function_of(m->g, ir_called(m->g, call, k));
    bool asks = n->op == IR_OP_WHILE && k == 0; /* of the values of a round as they are */
    for (uint32_t i = 0; i < f.param_count; i++) {
      bool slice = i >= carries && i < carries + sliced, carried = !first && i < carries;
      auto_binding b = {call, f.params[i], n->src[first + i], outside, slice, false};
      m->is_param[f.params[i]] = 1;
      if (asks) b.operand = ir_function_of(m->g, ir_called(m->g, call, 1)).params[i], b.tied = true;
      if (!bind(m, b)) return false;
      b.operand = f.results && carried && !asks ? f.results[i] : 0, b.weight = inside;
      if (b.operand && !bind(m, b)) return false;
    }
  }
  return true;
}

static bool order(auto_model *m, const ir_ref *roots, size_t count, double weight) {
  const ir_mem *mem = m->g->mem;
  ir_ref *list = NULL;
  size_t n = 0, cap = 0;
  bool good = ir_reachable(m->g, roots, count, &list, &n, &cap) == IR_OK;
  for (size_t i = 0; i < n && good; i++) {
    ir_ref node = list[i];
    if (ir_op_of(m->g, node) == IR_OP_FUNC) continue;
    bool seen = m->weight[node] > 0;
    m->weight[node] += weight;
    if (ir_ops[ir_op_of(m->g, node)].cls == IR_CLASS_CONTROL) {
      double inside = weight * rounds_of(m, node);
      m->begins[node] = (uint32_t)m->live_count;
      if (!seen) good = bind_call(m, node, weight, inside);
      for (uint32_t k = 0; k < ir_called_count(ir_get(m->g, node)) && good; k++) {
        ir_function f = ir_function_of(m->g, ir_called(m->g, node, k));
        good = order(m, f.results, f.result_count, inside) && order(m, f.params, f.param_count, 0);
      }
    }
    if (seen || !good) continue;
    good = IR_RESERVE(mem, m->live, m->live_cap, m->live_count + 1) || auto_no_memory(m);
    if (good) m->live[m->live_count++] = node;
  }
  ir_free(mem, list, cap * sizeof *list);
  return good;
}

static int by_param(const void *x, const void *y) {
  const auto_binding *a = x, *b = y;
  if (a->param != b->param) return a->param < b->param ? -1 : 1;
  if (a->call != b->call) return a->call < b->call ? -1 : 1;
  return a->weight != b->weight ? (a->weight < b->weight ? -1 : 1)
                                : (a->operand > b->operand) - (a->operand < b->operand);
}

bool auto_order(auto_model *m) {
  if (!order(m, &m->request->root, 1, 1)) return false;
  if (m->binding_count) qsort(m->bindings, m->binding_count, sizeof *m->bindings, by_param);
  return true;
}

/* ---- parameters */

typedef struct binding {
  auto_model *m;
  const auto_binding *of; /* those of one parameter */
  uint32_t count, variable;
} binding;

/* The parameter under that spec: what each operand has to be then. */
static bool add_param(void *user, const ir_spec *spec) {
  binding *b = user;
  uint32_t numbers[AUTO_TERMS];
  for (uint32_t i = 0; i <= b->count; i++) {
    ir_spec stacked;
    if (i < b->count && b->of[i].slice) shard_insert_axis(spec, 0, &stacked);
    numbers[i] = auto_spec(b->m, i < b->count && b->of[i].slice ? &stacked : spec);
    if (numbers[i] == UINT32_MAX) return false;
  }
  return auto_add_strategy(b->m, &b->m->variables[b->variable], numbers, 0);
}

/* As the variable has it, without what is pending; drop: without the first axis. */
static bool add_as(binding *b, uint32_t variable, uint32_t term, bool drop) {
  for (uint32_t k = 0; k < b->m->variables[variable].count; k++) {
    const auto_variable *v = &b->m->variables[variable];
    ir_spec spec = b->m->specs.items[v->specs[(size_t)k * v->terms + term]], inside;
    ir_spec_clear(&spec, IR_PLACE_PENDING), spec.joined_by = IR_OP_ADD;
    if (drop && ir_spec_count(&spec, 0)) continue;
    if (drop) shard_drop_axis(&spec, 0, &inside);
    if (!add_param(b, drop ? &inside : &spec)) return false;
  }
  return true;
}

/* As the operations want it that read it, and as the operands are. */
static bool add_wishes(binding *b, ir_ref param) {
  auto_model *m = b->m;
  for (uint32_t r = m->reader[param]; r < m->reader[param + 1]; r++) {
    uint32_t i = m->operation[m->read_by[r]] - 1;
    if (i == UINT32_MAX) continue;
    for (uint32_t t = 0; t + 1 < m->variables[i].terms; t++)
      if (m->uses[m->variables[i].first_use + t].node == param && !add_as(b, i, t, false)) return false;
  }
  for (uint32_t r = m->reader[param]; r < m->reader[param + 1]; r++)
    if (!auto_wanted_inside(m, m->read_by[r], param, add_param, b)) return false;
  for (uint32_t k = 0; k < b->count; k++) {
    uint32_t i = m->operation[b->of[k].operand] - 1;
    if (i != UINT32_MAX && !add_as(b, i, m->variables[i].terms - 1, b->of[k].slice)) return false;
  }
  return true;
}

static bool bind_param(auto_model *m, const auto_binding *of, uint32_t count) {
  ir_ref param = of->param;
  const ir_spec *given = ir_spec_of(m->g, param);
  bool many = count >= AUTO_TERMS; /* called at so many places: divided as it is, whatever that costs */
  m->truncated |= many;
  binding b = {m, of, many ? 0 : count, (uint32_t)m->variable_count};
  if (!auto_variable_of(m, param, false, b.count + 1)) return false;
  for (uint32_t i = 0; i < b.count; i++)
    if (!auto_use_of(m, of[i].operand, of[i].weight, of[i].tied)) return false;
  ir_spec whole;
  ir_spec_init(&whole, ir_rank(m->g, param));
  if (many) return add_param(&b, given ? given : &whole);
  if (given) {
    ir_spec spec = *given;
    return auto_each_spec(m, &spec, false, add_param, &b);
  }
  return add_wishes(&b, param) && add_param(&b, &whole);
}

bool auto_params(auto_model *m) {
  for (size_t end = m->binding_count, i; end > 0; end = i) { /* those inside of others first */
    for (i = end; i > 0 && m->bindings[i - 1].param == m->bindings[end - 1].param;) i--;
    if (!bind_param(m, &m->bindings[i], (uint32_t)(end - i))) return false;
  }
  return true;
}

/* ---- results */

/* A result of the call, which is what comes out of one function or of two. */
static bool add_result(auto_model *m, ir_ref result, const ir_ref *from, uint32_t count, double weight,
                       bool stacked) {
  uint32_t number = (uint32_t)m->variable_count;
  if (!auto_variable_of(m, result, false, count + 1)) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!auto_use_of(m, from[i], weight, stacked)) return false;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t source = auto_source(m, from[i]);
    for (uint32_t k = 0; source != UINT32_MAX && k < m->variables[source].count; k++) {
      uint32_t numbers[3], spec = auto_finished(m, auto_result_spec(m, source, k));
      if (spec == UINT32_MAX) return false;
      ir_spec outside = m->specs.items[spec], inside = outside;
      if (stacked) shard_insert_axis(&inside, 0, &outside);
      for (uint32_t t = 0; t < count; t++) numbers[t] = spec;
      if ((numbers[count] = auto_spec(m, &outside)) == UINT32_MAX ||
          !auto_add_strategy(m, &m->variables[number], numbers, 0))
        return false;
    }
  }
  return m->variables[number].count > 0 || auto_all_whole(m, &m->variables[number]);
}

bool auto_call_result(auto_model *m, ir_ref result) {
  ir_ref call = ir_src(m->g, result, 0), from[2];
  const ir_node *n = ir_get(m->g, call);
  uint32_t slot = (uint32_t)ir_arg_int(ir_get(m->g, result));
  bool stacked = n->op == IR_OP_SCAN && slot >= ir_scan_of(n).carries;
  if (n->op != IR_OP_COND && !stacked) { /* as the carried value is */
    ir_function f = ir_function_of(m->g, ir_called(m->g, call, n->op == IR_OP_WHILE));
    m->operation[result] = m->operation[f.params[slot]];
    return true;
  }
  for (uint32_t k = 0; k < ir_called_count(n); k++) {
    from[k] = ir_function_of(m->g, ir_called(m->g, call, k)).results[slot];
    if (!m->stored[from[k]] && !m->is_param[from[k]] && !auto_store(m, from[k])) return false;
  }
  return add_result(m, result, from, ir_called_count(n), m->weight[call] * rounds_of(m, call), stacked);
}

/* What decides on the way is whole. */
bool auto_predicate(auto_model *m, ir_ref call) {
  const ir_node *n = ir_get(m->g, call);
  if (n->op == IR_OP_SCAN) return true;
  bool loop = n->op == IR_OP_WHILE;
  ir_ref x = loop ? ir_function_of(m->g, ir_called(m->g, call, 0)).results[0] : n->src[0];
  uint32_t number = (uint32_t)m->variable_count, numbers[2];
  ir_spec whole;
  ir_spec_init(&whole, 0);
  numbers[0] = numbers[1] = auto_spec(m, &whole);
  return numbers[0] != UINT32_MAX && auto_variable_of(m, call, false, 2) &&
         auto_use_of(m, x, m->weight[call] * (loop ? rounds_of(m, call) : 1), false) &&
         auto_add_strategy(m, &m->variables[number], numbers, 0);
}

/* What the functions' parameters want of the operand of a call. */
bool auto_wanted_inside(auto_model *m, ir_ref call, ir_ref operand, auto_visit *visit, void *user) {
  for (size_t k = 0; k < m->binding_count; k++) {
    const auto_binding *b = &m->bindings[k];
    uint32_t i = m->operation[b->param] - 1;
    if (b->call != call || b->operand != operand || i == UINT32_MAX) continue;
    for (uint32_t s = 0; s < m->variables[i].count; s++) {
      ir_spec spec = m->specs.items[auto_result_spec(m, i, s)], stacked;
      if (b->slice) shard_insert_axis(&spec, 0, &stacked);
      if (!visit(user, b->slice ? &stacked : &spec)) return false;
    }
  }
  return true;
}
