/* Reverse mode (VJP) through functions.
 *
 * cond: a branch is recomputed where its cotangents are pulled back. scan: each iteration is recomputed, too,
 * from its initial state, or from values that are smaller (saved.c). A first scan repeats the iterations and
 * stacks these; a second scan in the opposite direction carries the cotangents of the state and sums those of
 * the invariant operands. No other memory depends on the length. while_loop: the same with scans of as many
 * iterations as its bound allows, of which those after the last one do nothing, in either direction. */
#include "control.h"

#include <string.h>

#include "passes/autodiff/saved.h"
#include "passes/ops/derivative/derivative.h"

/* cotangents of a function */

typedef struct cotangents {
  ir_ref *given;     /* by result: a parameter for its cotangent, 0 if it has none */
  ir_ref *gradients; /* by parameter: 0 if it is zero or not wanted */
  size_t results, params;
} cotangents;

static void cotangents_free(const ir_graph *g, cotangents *t) {
  ir_free(g->mem, t->given, t->results * sizeof *t->given);
  ir_free(g->mem, t->gradients, t->params * sizeof *t->gradients);
}

/* Gradients of the parameters that vary, from cotangents of the results that are reached. */
static bool cotangents_of(cotangents *t, const pass_control *c, ir_ref func) {
  ir_graph *g = c->g;
  ir_function f = ir_function_of(g, func);
  pass_refs inputs = {.g = g}, outputs = {.g = g}, with = {.g = g}, made = {.g = g};
  *t = (cotangents){.results = f.result_count, .params = f.param_count};
  t->given = ir_alloc(g->mem, t->results * sizeof *t->given);
  t->gradients = ir_alloc(g->mem, t->params * sizeof *t->gradients);
  bool good = t->given && t->gradients;
  if (!good) ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", c->who);
  for (uint32_t i = 0; i < f.result_count && good; i++) {
    t->given[i] = c->reached[i] ? pass_param_like(g, f.results[i]) : 0;
    if (!c->reached[i]) continue;
    pass_refs_add(&outputs, f.results[i]);
    pass_refs_add(&with, t->given[i]);
  }
  for (uint32_t i = 0; i < f.param_count && good; i++) {
    t->gradients[i] = 0;
    if (!c->varies[i]) continue;
    pass_refs_add(&inputs, f.params[i]);
    pass_refs_add(&made, f.params[i]); /* replaced by its gradient */
  }
  good = good && !inputs.failed && !outputs.failed && !with.failed && !made.failed;
  pass_derivative of = {.who = c->who,
                        .outputs = outputs.at,
                        .output_count = outputs.count,
                        .inputs = inputs.at,
                        .input_count = inputs.count,
                        .sparse = true};
  good = good && pass_vjp(g, &of, with.at, made.at);
  for (uint32_t i = 0, next = 0; i < f.param_count && good; i++)
    if (c->varies[i]) t->gradients[i] = made.at[next++];
  pass_refs_free(&inputs), pass_refs_free(&outputs), pass_refs_free(&with), pass_refs_free(&made);
  return good;
}

static ir_ref func_of(const pass_refs *results, const pass_refs *params) {
  if (results->failed || params->failed) return 0;
  return ir_func(results->g, results->at, (uint32_t)results->count, params->at, (uint32_t)params->count);
}

/* cond */

/* A branch that returns the gradients of those operands that have one in either branch. */
static ir_ref branch(const pass_control *c, ir_ref func, const cotangents *own, const cotangents *other) {
  ir_function f = ir_function_of(c->g, func);
  pass_refs results = {.g = c->g}, params = {.g = c->g};
  for (uint32_t i = 0; i < f.param_count; i++) pass_refs_add(&params, f.params[i]);
  for (uint32_t i = 0; i < f.result_count; i++)
    if (own->given[i]) pass_refs_add(&params, own->given[i]);
  for (uint32_t i = 0; i < f.param_count; i++)
    if (own->gradients[i] || other->gradients[i])
      pass_refs_add(&results, own->gradients[i] ? own->gradients[i] : op_zeros_like(c->g, f.params[i]));
  ir_ref made = func_of(&results, &params);
  pass_refs_free(&results), pass_refs_free(&params);
  return made;
}

static bool pull_cond(pass_differentiation *w, pass_control *c) {
  ir_graph *g = c->g;
  cotangents then = {0}, otherwise = {0};
  pass_refs x = {.g = g};
  bool good = cotangents_of(&then, c, c->func) && cotangents_of(&otherwise, c, c->second_func), any = false;
  for (uint32_t i = 0; i < c->operand_count && good; i++) {
    any |= then.gradients[i] || otherwise.gradients[i];
    pass_refs_add(&x, c->operands[i]);
  }
  for (uint32_t i = 0; i < c->result_count && good; i++)
    if (c->reached[i]) pass_refs_add(&x, c->tangents[i]);
  ir_ref first = good && any ? branch(c, c->func, &then, &otherwise) : 0;
  ir_ref second = first ? branch(c, c->second_func, &otherwise, &then) : 0, all = 0;
  if (second && !x.failed) all = op_cond(g, ir_src(g, c->node, 0), x.at, x.count, first, second);
  for (uint32_t i = 0, next = 0; i < c->operand_count && all && good; i++)
    if (then.gradients[i] || otherwise.gradients[i])
      good = pass_differentiation_add(w, c->operands[i], ir_src(g, all, next++));
  cotangents_free(g, &then), cotangents_free(g, &otherwise);
  pass_refs_free(&x);
  return good && (all || !any);
}

/* scan */

typedef struct reverse {
  pass_differentiation *w;
  pass_control *c;
  ir_function f;
  cotangents t;
  uint8_t *wanted; /* by operand: is its cotangent needed after the loop? */
  uint8_t *used;   /* by parameter: do the gradients depend on its value? */
  bool single;     /* the length is 1: nothing is summed */
  ir_ref holds;    /* of a while_loop: does an iteration take place? In terms of parameters */
  ir_ref held;     /* parameter of the backward scan: did it? */
  pass_refs kept;  /* values of an iteration that are kept in place of states */
  pass_refs given; /* parameters that stand for them in the gradients */
  /* TUPLE: the final state, then of each iteration the parts of the state that are used at its start, and
   * what is kept */
  ir_ref stacks;
  /* the backward scan: parameters, operands (both by state, sliced, invariant), results (state, stacked) */
  pass_refs params[3], x[3], results[2];
} reverse;

/* Cotangents of the state reach other parts of the state in the iteration before; repeats until no more are
 * reached. */
static bool reach_state(reverse *r) {
  pass_control *c = r->c;
  for (bool more = true; more;) {
    more = false;
    cotangents_free(c->g, &r->t);
    if (!cotangents_of(&r->t, c, c->func)) return false;
    for (uint32_t i = 0; i < c->state.carries; i++)
      if (r->t.gradients[i] && !c->reached[i]) c->reached[i] = 1, more = true;
  }
  return true;
}

static bool is_param(const ir_function *f, ir_ref ref) {
  uint32_t i = 0;
  while (i < f->param_count && f->params[i] != ref) i++;
  return i < f->param_count;
}

static bool mark_used(reverse *r) {
  ir_graph *g = r->c->g;
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  pass_refs roots = {.g = g};
  for (uint32_t i = 0; i < r->f.param_count; i++)
    if (r->t.gradients[i]) pass_refs_add(&roots, r->t.gradients[i]);
  bool good = !roots.failed && ir_reachable(g, roots.at, roots.count, &nodes, &count, &cap) == IR_OK;
  for (uint32_t i = 0; i < r->f.param_count && good; i++) {
    size_t at = ir_find_ref(nodes, count, r->f.params[i]);
    r->used[i] = at < count && nodes[at] == r->f.params[i];
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  pass_refs_free(&roots);
  return good;
}

/* Where less than a used state will do, the gradients are computed from that. */
static bool keep_less(reverse *r) {
  ir_graph *g = r->c->g;
  pass_refs gradients = {.g = g}, cotangents = {.g = g}, states = {.g = g}, cut = {.g = g};
  for (uint32_t i = 0; i < r->f.param_count; i++)
    if (r->t.gradients[i]) pass_refs_add(&gradients, r->t.gradients[i]);
  for (uint32_t i = 0; i < r->c->state.carries; i++)
    if (r->used[i]) pass_refs_add(&states, r->f.params[i]);
  for (uint32_t i = 0; i < r->f.result_count; i++)
    if (r->t.given[i]) pass_refs_add(&cotangents, r->t.given[i]);
  bool good = !gradients.failed && !cotangents.failed && !states.failed &&
              pass_saved_values(&gradients, &cotangents, &states, &cut);
  for (size_t i = 0; i < cut.count && good; i++) {
    if (is_param(&r->f, cut.at[i])) continue;
    pass_refs_add(&r->kept, cut.at[i]);
    pass_refs_add(&r->given, pass_param_like(g, cut.at[i]));
  }
  good = good && !r->kept.failed && !r->given.failed;
  if (good && r->kept.count) {
    good = ir_replace(g, r->kept.at, r->given.at, r->kept.count, gradients.at, gradients.count) == IR_OK;
    for (uint32_t i = 0, next = 0; i < r->f.param_count && good; i++)
      if (r->t.gradients[i]) r->t.gradients[i] = gradients.at[next++];
    good = good && mark_used(r);
  }
  pass_refs_free(&gradients), pass_refs_free(&cotangents), pass_refs_free(&states), pass_refs_free(&cut);
  return good;
}

/* A function of params with the results of `func` where `holds` does. Otherwise the first results are the
 * first params, and the others zero; `also`, if not 0, is a further result in any case. */
static ir_ref guarded(ir_graph *g, ir_ref holds, ir_ref func, uint32_t kept, const pass_refs *params,
                      ir_ref also) {
  ir_function f = ir_function_of(g, func);
  pass_refs own = {.g = g}, stay = {.g = g}, all = {.g = g};
  for (size_t i = 0; i < params->count; i++) pass_refs_add(&own, pass_param_like(g, params->at[i]));
  own.failed |= params->failed; /* then some are missing */
  for (uint32_t i = 0; i < f.result_count && !own.failed; i++)
    pass_refs_add(&stay, i < kept ? own.at[i] : op_zeros_like(g, f.results[i]));
  ir_ref otherwise = func_of(&stay, &own), made = 0;
  ir_ref results = otherwise ? op_cond(g, holds, params->at, params->count, func, otherwise) : 0;
  for (uint32_t i = 0; results && i < ir_get(g, results)->nsrc; i++)
    pass_refs_add(&all, ir_src(g, results, i));
  if (also) pass_refs_add(&all, also);
  if (results) made = func_of(&all, params);
  pass_refs_free(&own), pass_refs_free(&stay), pass_refs_free(&all);
  return made;
}

/* Repeats the iterations and stacks the states that they begin with, and what is kept of them. */
static bool stack_states(reverse *r) {
  pass_control *c = r->c;
  ir_graph *g = c->g;
  pass_refs results = {.g = g};
  bool any = r->kept.count > 0 || r->holds;
  for (uint32_t i = 0; i < c->state.carries; i++) pass_refs_add(&results, r->f.results[i]);
  for (uint32_t i = 0; i < c->state.carries; i++) {
    if (r->used[i]) pass_refs_add(&results, r->f.params[i]);
    any |= r->used[i];
  }
  for (size_t i = 0; i < r->kept.count; i++) pass_refs_add(&results, r->kept.at[i]);
  if (any && !results.failed) {
    ir_ref func = ir_func(g, results.at, (uint32_t)results.count, r->f.params, r->f.param_count);
    pass_refs params = {.g = g};
    for (uint32_t i = 0; i < r->f.param_count && r->holds; i++) pass_refs_add(&params, r->f.params[i]);
    if (func && r->holds) func = guarded(g, r->holds, func, c->state.carries, &params, r->holds);
    pass_refs_free(&params);
    if (func) r->stacks = op_scan(g, c->operands, c->operand_count, c->state, func, c->length);
  }
  pass_refs_free(&results);
  return !any || r->stacks;
}

static void add_param(reverse *r, int part, ir_ref param, ir_ref x) {
  pass_refs_add(&r->params[part], param);
  pass_refs_add(&r->x[part], x);
}

static ir_ref wide(ir_graph *g, ir_ref x) { return op_cast(g, x, op_wide(ir_dtype_of(g, x))); }

/* The state of the backward scan: cotangents of the state, and sums of the cotangents of invariant
 * operands. */
static void add_state(reverse *r) {
  pass_control *c = r->c;
  ir_graph *g = c->g;
  for (uint32_t i = 0; i < c->state.carries; i++) {
    if (!c->reached[i]) continue;
    ir_ref next = r->t.gradients[i] ? r->t.gradients[i] : op_zeros_like(g, r->f.params[i]);
    add_param(r, 0, r->t.given[i], c->tangents[i] ? c->tangents[i] : op_zeros_like(g, c->operands[i]));
    pass_refs_add(&r->results[0], next);
  }
  for (uint32_t i = c->state.carries + c->state.sliced; i < c->operand_count && !r->single; i++) {
    if (!r->t.gradients[i] || !r->wanted[i]) continue;
    ir_ref zero = op_zeros_like(g, c->operands[i]);
    zero = zero ? wide(g, zero) : 0;
    ir_ref sum = zero ? pass_param_like(g, zero) : 0;
    add_param(r, 0, sum, zero);
    pass_refs_add(&r->results[0], sum ? op_binary(g, IR_OP_ADD, sum, wide(g, r->t.gradients[i])) : 0);
  }
}

static void add_slices_and_invariants(reverse *r) {
  pass_control *c = r->c;
  uint32_t others = c->state.carries + c->state.sliced, next = c->state.carries;
  for (uint32_t i = 0; i < c->operand_count; i++) {
    if (r->used[i])
      add_param(r, i < others ? 1 : 2, r->f.params[i],
                i < c->state.carries ? ir_src(c->g, r->stacks, next++) : c->operands[i]);
    if (r->t.gradients[i] && r->wanted[i] && (i < others || r->single) && i >= c->state.carries)
      pass_refs_add(&r->results[1], r->t.gradients[i]);
  }
  for (size_t i = 0; i < r->kept.count; i++) add_param(r, 1, r->given.at[i], ir_src(c->g, r->stacks, next++));
  if (r->holds) add_param(r, 1, r->held = pass_param_like(c->g, r->holds), ir_src(c->g, r->stacks, next));
  for (uint32_t i = c->state.carries; i < c->result_count; i++)
    if (c->reached[i]) add_param(r, 1, r->t.given[i], c->tangents[i]);
}

static void concat_refs(pass_refs *all, const pass_refs *parts, int count) {
  for (int part = 0; part < count; part++) {
    for (size_t i = 0; i < parts[part].count; i++) pass_refs_add(all, parts[part].at[i]);
    all->failed |= parts[part].failed;
  }
}

static ir_ref scan_back(reverse *r) {
  pass_control *c = r->c;
  pass_refs params = {.g = c->g}, x = {.g = c->g}, results = {.g = c->g};
  ir_scan_state s = {(uint32_t)r->x[0].count, (uint32_t)r->x[1].count, !c->state.reverse};
  concat_refs(&params, r->params, 3), concat_refs(&x, r->x, 3), concat_refs(&results, r->results, 2);
  ir_ref func = x.failed ? 0 : func_of(&results, &params), all = 0;
  if (func && r->held) func = guarded(c->g, r->held, func, s.carries, &params, 0);
  if (func) all = op_scan(c->g, x.at, x.count, s, func, c->length);
  pass_refs_free(&params), pass_refs_free(&x), pass_refs_free(&results);
  return all;
}

/* Adds the results of the backward scan to the sums of the operands, in the order of add_state and
 * add_slices_and_invariants. */
static bool scatter_results(reverse *r, ir_ref all) {
  pass_control *c = r->c;
  ir_graph *g = c->g;
  uint32_t next = 0, others = c->state.carries + c->state.sliced;
  bool good = all != 0;
  for (uint32_t i = 0; i < c->state.carries && good; i++) {
    if (!c->reached[i]) continue;
    ir_ref part = ir_src(g, all, next++);
    if (r->wanted[i]) good = pass_differentiation_add(r->w, c->operands[i], part);
  }
  for (uint32_t i = others; i < c->operand_count && good && !r->single; i++)
    if (r->t.gradients[i] && r->wanted[i])
      good = pass_differentiation_add(r->w, c->operands[i],
                                      op_cast(g, ir_src(g, all, next++), ir_dtype_of(g, c->operands[i])));
  for (uint32_t i = c->state.carries; i < c->operand_count && good; i++) {
    if (!r->t.gradients[i] || !r->wanted[i] || (i >= others && !r->single)) continue;
    ir_ref part = ir_src(g, all, next++);
    if (i >= others) part = op_point(g, part, ir_index(g, 0), 0);
    good = pass_differentiation_add(r->w, c->operands[i], part);
  }
  return good;
}

/* Adds the cotangents of the operands of c, given those of its results in c->tangents. holds: as in reverse,
 * or 0. */
static bool pull_scan(pass_differentiation *w, pass_control *c, uint8_t *wanted, ir_ref holds) {
  ir_graph *g = c->g;
  int64_t length;
  reverse r = {.w = w, .c = c, .f = ir_function_of(g, c->func), .wanted = wanted, .holds = holds};
  r.single = ir_is_const(g, c->length, &length) && length == 1 && !holds;
  for (int i = 0; i < 3; i++) r.params[i].g = r.x[i].g = g;
  for (int i = 0; i < 2; i++) r.results[i].g = g;
  r.kept.g = r.given.g = g;
  r.used = ir_alloc(g->mem, r.f.param_count);
  bool good = r.used != NULL, any = false;
  if (!good) ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", c->who);
  good = good && reach_state(&r) && mark_used(&r) && keep_less(&r);
  for (uint32_t i = 0; i < c->operand_count && good; i++)
    any |= wanted[i] && (i < c->state.carries ? c->reached[i] : r.t.gradients[i] != 0);
  if (good && any && (good = stack_states(&r))) {
    add_state(&r);
    add_slices_and_invariants(&r);
    good = scatter_results(&r, scan_back(&r));
  }
  for (int i = 0; i < 3; i++) pass_refs_free(&r.params[i]), pass_refs_free(&r.x[i]);
  for (int i = 0; i < 2; i++) pass_refs_free(&r.results[i]);
  pass_refs_free(&r.kept), pass_refs_free(&r.given);
  cotangents_free(g, &r.t);
  ir_free(g->mem, r.used, r.f.param_count);
  return good;
}

/* while_loop */

static bool pull_while(pass_differentiation *w, pass_control *c, uint8_t *wanted) {
  ir_graph *g = c->g;
  if (ir_get(g, c->length)->arg < 0)
    return op_refuse(g,
                     "%s: while_loop has no declared bound; its reverse-mode derivative keeps the state of "
                     "each iteration, so it needs one: declare the largest number of iterations, "
                     "max_trips, which is bound=N in text",
                     c->who) != 0;
  ir_function body = ir_function_of(g, c->func), condition = ir_function_of(g, c->second_func);
  ir_ref holds = condition.results[0];
  return ir_replace(g, condition.params, body.params, condition.param_count, &holds, 1) == IR_OK &&
         pull_scan(w, c, wanted, holds);
}

/* Here c.varies are the operands that depend on an input in some iteration, and c.reached the results that
 * have a cotangent and depend on these. */
bool pass_pull_control(pass_differentiation *w, ir_ref control) {
  ir_graph *g = w->g;
  pass_control c;
  bool good = pass_control_begin(&c, g, w->of->who, control), any = false;
  uint8_t *wanted = good ? ir_alloc(g->mem, c.operand_count) : NULL;
  if (good && !wanted) ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory", c.who);
  good = wanted != NULL;
  for (uint32_t i = 0; i < c.operand_count && good; i++)
    c.varies[i] = wanted[i] =
        w->active[pass_differentiation_leaf(w, c.operands[i])] && ir_is_float(ir_dtype_of(g, c.operands[i]));
  good = good && pass_flow_all(&c);
  for (uint32_t i = 0; i < c.result_count && good; i++) {
    ir_ref result = op_result(g, control, i);
    bool live = result && result < w->nodes && pass_differentiation_leaf(w, result) == result;
    good = result != 0;
    if (live && c.reached[i]) c.tangents[i] = w->sums[result];
    c.reached[i] = c.tangents[i] != 0;
    any |= c.reached[i];
  }
  if (good && any)
    good = c.op == IR_OP_COND   ? pull_cond(w, &c)
           : c.op == IR_OP_SCAN ? pull_scan(w, &c, wanted, 0)
                                : pull_while(w, &c, wanted);
  ir_free(g->mem, wanted, c.operand_count);
  pass_control_end(&c);
  return good;
}
