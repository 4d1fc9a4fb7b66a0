/* Forward mode (JVP) through functions: a node that calls functions gets a second call, of functions that
 * compute the tangents of their results from those of their parameters. These functions recompute the values
 * that the tangents need. */
#include "control.h"

#include <string.h>

#include "passes/ops/derivative/derivative.h"

/* lists */

void pass_refs_add(pass_refs *l, ir_ref ref) {
  if (ref && !l->failed && IR_RESERVE(l->g->mem, l->at, l->cap, l->count + 1)) {
    l->at[l->count++] = ref;
    return;
  }
  if (ref && !l->failed) ir_fail(l->g->error, IR_ERR_MEMORY, "out of memory deriving a function");
  l->failed = true;
}

void pass_refs_free(pass_refs *l) { ir_free(l->g->mem, l->at, l->cap * sizeof *l->at); }

/* one node */

bool pass_control_begin(pass_control *c, ir_graph *g, const char *who, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  uint32_t skip = n->op == IR_OP_COND;
  *c = (pass_control){.g = g, .who = who, .node = node, .op = (ir_op)n->op, .operands = n->src + skip};
  c->operand_count = ir_operand_count(n) - skip;
  c->result_count = ir_result_count(g, node);
  if (n->op == IR_OP_SCAN) c->state = ir_scan_of(n);
  if (n->op == IR_OP_WHILE) c->state.carries = c->result_count;
  c->func = ir_called(g, node, n->op == IR_OP_WHILE ? 1 : 0);
  if (n->op != IR_OP_SCAN) c->second_func = ir_called(g, node, n->op == IR_OP_WHILE ? 0 : 1);
  if (n->op != IR_OP_COND) c->length = n->src[n->nsrc - 1];
  c->room = (size_t)c->operand_count + c->result_count;
  c->varies = ir_alloc(g->mem, c->room);
  c->reached = ir_alloc(g->mem, c->room);
  c->tangents = ir_alloc(g->mem, c->room * sizeof *c->tangents);
  if (!c->varies || !c->reached || !c->tangents) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", who);
    return false;
  }
  memset(c->varies, 0, c->room), memset(c->reached, 0, c->room);
  memset(c->tangents, 0, c->room * sizeof *c->tangents);
  return true;
}

void pass_control_end(pass_control *c) {
  ir_free(c->g->mem, c->varies, c->room);
  ir_free(c->g->mem, c->reached, c->room);
  ir_free(c->g->mem, c->tangents, c->room * sizeof *c->tangents);
}

/* data flow */

bool pass_flow(ir_graph *g, ir_ref func, bool whole, const uint8_t *varies, uint8_t *reached) {
  ir_function f = ir_function_of(g, func);
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  bool walked = ir_reachable(g, f.results, f.result_count, &nodes, &count, &cap) == IR_OK;
  uint8_t *active = walked ? ir_alloc(g->mem, count) : NULL;
  if (active) memset(active, 0, count);
  else ir_fail(g->error, IR_ERR_MEMORY, "out of memory deriving a function");
  for (uint32_t i = 0; i < f.param_count && active; i++) {
    size_t at = ir_find_ref(nodes, count, f.params[i]);
    if (at < count && nodes[at] == f.params[i]) active[at] = varies[i];
  }
  for (size_t i = 0; i < count && active; i++) {
    const ir_node *n = ir_get(g, nodes[i]);
    for (uint32_t k = 0; k < ir_operand_count(n) && (whole || pass_differentiation_varies(n)); k++)
      active[i] |= active[ir_find_ref(nodes, count, n->src[k])];
  }
  for (uint32_t i = 0; i < f.result_count && active; i++)
    reached[i] |= active[ir_find_ref(nodes, count, f.results[i])];
  bool good = active != NULL;
  ir_free(g->mem, active, count);
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return good;
}

bool pass_flow_all(pass_control *c) {
  bool more = true, good = true;
  while (more && good) {
    more = false;
    good = pass_flow(c->g, c->func, c->whole, c->varies, c->reached) &&
           (c->op != IR_OP_COND || pass_flow(c->g, c->second_func, c->whole, c->varies, c->reached));
    for (uint32_t i = 0; i < c->state.carries && good; i++) {
      if (c->reached[i] && !c->varies[i]) c->varies[i] = 1, more = true;
      if (c->varies[i]) c->reached[i] = 1; /* the loop may have no iterations */
    }
  }
  return good;
}

ir_ref pass_param_like(ir_graph *g, ir_ref x) {
  return op_buffer(g, ir_dtype_of(g, x), op_dims(g, x), ir_rank(g, x));
}

/* tangents of a function */

typedef struct tangents {
  const pass_control *c;
  pass_refs params, results; /* one for each that varies (params) or is reached (results), in order */
} tangents;

static void tangents_free(tangents *t) { pass_refs_free(&t->params), pass_refs_free(&t->results); }

static bool tangents_of(tangents *t, const pass_control *c, ir_ref func) {
  ir_graph *g = c->g;
  ir_function f = ir_function_of(g, func);
  pass_refs inputs = {.g = g}, outputs = {.g = g};
  *t = (tangents){.c = c, .params = {.g = g}, .results = {.g = g}};
  for (uint32_t i = 0; i < f.param_count; i++) {
    if (!c->varies[i]) continue;
    pass_refs_add(&inputs, f.params[i]);
    pass_refs_add(&t->params, pass_param_like(g, f.params[i]));
  }
  for (uint32_t i = 0; i < f.result_count; i++) {
    if (!c->reached[i]) continue;
    pass_refs_add(&outputs, f.results[i]);
    pass_refs_add(&t->results, f.results[i]); /* replaced by its tangent */
  }
  bool good = !inputs.failed && !outputs.failed && !t->params.failed && !t->results.failed;
  pass_derivative of = {.who = c->who,
                        .outputs = outputs.at,
                        .output_count = outputs.count,
                        .inputs = inputs.at,
                        .input_count = inputs.count};
  good = good && pass_jvp(g, &of, t->params.at, t->results.at);
  pass_refs_free(&inputs), pass_refs_free(&outputs);
  return good;
}

/* Appends all[from..to), then the tangents of those that vary, from parts[*next] on. */
static void add_with_tangents(pass_refs *list, const ir_ref *all, uint32_t from, uint32_t to,
                              const uint8_t *varies, const ir_ref *parts, size_t *next) {
  for (uint32_t i = from; i < to; i++) pass_refs_add(list, all[i]);
  for (uint32_t i = from; i < to; i++)
    if (varies[i]) pass_refs_add(list, parts[(*next)++]);
}

/* The three ranges of a list of operands: the state, the sliced ones, the invariant ones. */
static void operand_range(const pass_control *c, int part, uint32_t *from, uint32_t *to) {
  uint32_t sliced = c->state.carries + c->state.sliced;
  *from = part == 0 ? 0 : part == 1 ? c->state.carries : sliced;
  *to = part == 0 ? c->state.carries : part == 1 ? sliced : c->operand_count;
}

static ir_ref with_tangents(const pass_control *c, const ir_ref *params, const ir_ref *more,
                            pass_refs *results) {
  pass_refs all = {.g = c->g};
  size_t next = 0;
  for (int part = 0; part < 3; part++) {
    uint32_t from, to;
    operand_range(c, part, &from, &to);
    add_with_tangents(&all, params, from, to, c->varies, more, &next);
  }
  ir_ref made = all.failed || results->failed
                    ? 0
                    : ir_func(c->g, results->at, (uint32_t)results->count, all.at, (uint32_t)all.count);
  pass_refs_free(&all);
  return made;
}

/* The function with tangents. It returns the next state, if there is a state, then the tangents of its
 * results. */
static ir_ref push_function(const pass_control *c, ir_ref func) {
  ir_function f = ir_function_of(c->g, func);
  pass_refs results = {.g = c->g};
  tangents t;
  ir_ref made = 0;
  if (tangents_of(&t, c, func)) {
    for (uint32_t i = 0; i < c->state.carries; i++) pass_refs_add(&results, f.results[i]);
    for (size_t i = 0; i < t.results.count; i++) pass_refs_add(&results, t.results.at[i]);
    made = with_tangents(c, f.params, t.params.at, &results);
  }
  pass_refs_free(&results);
  tangents_free(&t);
  return made;
}

/* The condition, with parameters for a state that includes tangents. */
static ir_ref push_condition(const pass_control *c) {
  ir_function f = ir_function_of(c->g, c->second_func);
  pass_refs results = {.g = c->g}, fresh = {.g = c->g};
  pass_refs_add(&results, f.results[0]);
  for (uint32_t i = 0; i < f.param_count; i++)
    if (c->varies[i]) pass_refs_add(&fresh, pass_param_like(c->g, f.params[i]));
  ir_ref made = fresh.failed ? 0 : with_tangents(c, f.params, fresh.at, &results);
  pass_refs_free(&results), pass_refs_free(&fresh);
  return made;
}

static ir_ref push_call(pass_control *c) {
  ir_graph *g = c->g;
  pass_refs x = {.g = g}, given = {.g = g};
  uint32_t states = c->state.carries, slices = c->state.sliced;
  for (uint32_t i = 0; i < c->operand_count; i++) {
    if (!c->varies[i]) continue;
    pass_refs_add(&given, c->tangents[i] ? c->tangents[i] : op_zeros_like(g, c->operands[i]));
    states += i < c->state.carries;
    slices += i >= c->state.carries && i < c->state.carries + c->state.sliced;
  }
  size_t next = 0;
  for (int part = 0; part < 3 && !given.failed; part++) {
    uint32_t from, to;
    operand_range(c, part, &from, &to);
    add_with_tangents(&x, c->operands, from, to, c->varies, given.at, &next);
  }
  ir_ref func = x.failed || given.failed ? 0 : push_function(c, c->func), made = 0, other = 0;
  if (func && c->op == IR_OP_COND) other = push_function(c, c->second_func);
  if (func && c->op == IR_OP_WHILE) other = push_condition(c);
  int64_t bound = -1;
  if (c->op == IR_OP_WHILE) bound = ir_get(g, c->length)->arg;
  if (c->op == IR_OP_SCAN && func)
    made = op_scan(g, x.at, x.count, (ir_scan_state){states, slices, c->state.reverse}, func, c->length);
  else if (c->op == IR_OP_COND && other) made = op_cond(g, ir_src(g, c->node, 0), x.at, x.count, func, other);
  else if (other) made = op_while(g, x.at, x.count, states, other, func, bound);
  pass_refs_free(&x), pass_refs_free(&given);
  return made;
}

bool pass_push_control(pass_differentiation *w, ir_ref control) {
  ir_graph *g = w->g;
  pass_control c;
  bool good = pass_control_begin(&c, g, w->of->who, control), any = false;
  for (uint32_t i = 0; i < c.operand_count && good; i++) {
    c.tangents[i] = w->sums[pass_differentiation_leaf(w, c.operands[i])];
    c.varies[i] = c.tangents[i] != 0;
  }
  good = good && pass_flow_all(&c);
  for (uint32_t i = 0; i < c.result_count && good; i++) any |= c.reached[i];
  ir_ref all = good && any ? push_call(&c) : 0;
  uint32_t next = c.state.carries; /* the results of tangents come after the state */
  for (uint32_t i = 0; i < c.result_count && all && good; i++) {
    if (!c.reached[i]) continue;
    ir_ref tangent = ir_src(g, all, next++), result = op_result(g, control, i);
    good = result != 0;
    if (result && result < w->nodes && pass_differentiation_leaf(w, result) == result)
      good = pass_differentiation_add(w, result, tangent);
  }
  pass_control_end(&c);
  return good && (all || !any);
}
