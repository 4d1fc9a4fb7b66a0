/* Calls of functions in a batch. A function is of single elements; here it becomes one of the whole batch.
 *
 * Operands that have no batch stay without one, and so does what follows from these alone: a counter, the
 * length of a loop. The others have the whole batch of the node, b. A parameter p that is bound to one of
 * them gets the type [b|p]; the body is rebuilt on it and made physical as any graph is. Of a state that is
 * so only after a round the first value is repeated along b.
 *
 * Where a predicate has the batch each element goes its own way:
 *
 *   cond        both branches are computed, and each element chooses;
 *   while_loop  the rounds go on while any element is active; the state gains a mask, active, and keeps its
 *               value where that is false:  next = where(active, body(state), state);
 *               active' = active and condition(next). An element stops for good, as a state that stays leaves
 *               its condition as it is.
 *
 * Functions that are computed for elements that do not count are guarded (guard.c). A scan slices its
 * operands along the first axis behind the batch, which is moved to the front for it, and back in the stacks.
 */
#include "batch.h"
#include "passes/autodiff/control.h"
#include "passes/ops/check.h"
#include "physicalize.h"

#include <string.h>

typedef struct lifting {
  physical *p;
  ir_graph *g;
  pass_control c; /* its functions without batches of their own; varies, reached: with the batch */
  pass_refs x, results;
  ir_ref predicate;
  bool masked;
} lifting;

/* types */

/* The sizes of the batch, then those of x, which has none. */
static uint32_t batched_dims(const physical *p, const ir_ref *own, uint32_t rank, ir_ref *dims) {
  memcpy(dims, ir_get(p->g, p->batch)->src, p->rank * sizeof *dims);
  if (rank) memcpy(dims + p->rank, own, rank * sizeof *dims);
  return p->rank + rank;
}

static ir_ref grown(const physical *p, ir_ref x, const ir_ref *own, uint32_t rank) {
  ir_ref dims[2 * IR_MAX_RANK];
  if (!x) return 0;
  uint32_t count = batched_dims(p, own, rank, dims);
  return count > IR_MAX_RANK ? 0 : op_grow(p->g, x, dims, count);
}

/* A mask of the batch, for values of this physical rank. */
static ir_ref wide_mask(const physical *p, ir_ref mask, uint32_t rank) {
  ir_ref dims[IR_MAX_RANK];
  if (!mask) return 0;
  for (uint32_t i = 0; i < rank; i++) dims[i] = i < p->rank ? ir_dim(p->g, mask, i) : ir_index(p->g, 1);
  return op_reshape_known(p->g, mask, dims, rank);
}

static ir_ref chosen(const physical *p, ir_ref mask, ir_ref a, ir_ref b) {
  if (!mask || !a || !b) return 0;
  return a == b ? a : op_where(p->g, wide_mask(p, mask, ir_rank(p->g, a)), a, b);
}

/* functions */

/* The function with these parameters in the batch, all physical; and where it is wanted the results are, too.
 */
static ir_ref lifted(lifting *l, ir_ref func, const uint8_t *varies, const uint8_t *wanted) {
  ir_graph *g = l->g;
  ir_function f = ir_function_of(g, func);
  size_t n = f.result_count, all = n + f.param_count, count = 0;
  pass_refs roots = {.g = g}, from = {.g = g}, to = {.g = g};
  uint8_t *batched = ir_alloc(g->mem, n + 1);
  ir_ref made = 0;
  for (size_t i = 0; i < n; i++) pass_refs_add(&roots, f.results[i]);
  for (uint32_t i = 0; i < f.param_count; i++) {
    ir_ref param = f.params[i];
    if (varies[i]) {
      pass_refs_add(&from, param);
      param =
          ir_leaf(g, IR_OP_BUFFER, ir_dtype_of(g, param), l->p->batch, ir_shape(g, param), g->next_serial++);
      pass_refs_add(&to, param);
    }
    pass_refs_add(&roots, param);
  }
  bool good = batched && !roots.failed && !from.failed && !to.failed &&
              ir_replace(g, from.at, to.at, from.count, roots.at, n) == IR_OK;
  for (size_t i = 0; i < n && good; i++) batched[i] = ir_batch(g, roots.at[i]) != 0;
  good = good && pass_physicalize(g, roots.at, all);
  for (size_t i = 0; i < n && good; i++) {
    count += batched[i] && !wanted[i];
    if (wanted[i] && !batched[i])
      good =
          (roots.at[i] = grown(l->p, roots.at[i], op_dims(g, f.results[i]), ir_rank(g, f.results[i]))) != 0;
  }
  if (count) ir_fail(g->error, IR_ERR_INTERNAL, "%s: a result has a batch that nothing gives it", l->c.who);
  else if (good) made = ir_func(g, roots.at, (uint32_t)n, roots.at + n, f.param_count);
  pass_refs_free(&roots), pass_refs_free(&from), pass_refs_free(&to);
  ir_free(g->mem, batched, n + 1);
  return made;
}

/* list += the function's results for these operands */
static bool inlined(pass_refs *list, ir_ref func, const ir_ref *x) {
  ir_function f = ir_function_of(list->g, func);
  size_t first = list->count;
  for (uint32_t i = 0; i < f.result_count; i++) pass_refs_add(list, f.results[i]);
  return !list->failed &&
         ir_replace(list->g, f.params, x, f.param_count, list->at + first, f.result_count) == IR_OK;
}

/* what has the batch */

static bool begin(lifting *l, physical *p, ir_ref node) {
  ir_graph *g = p->g;
  *l = (lifting){.p = p, .g = g, .x = {.g = g}, .results = {.g = g}};
  pass_control *c = &l->c;
  if (!pass_control_begin(c, g, ir_ops[ir_op_of(g, node)].text, node)) return false;
  c->whole = true;
  c->func = p->map[c->func];
  if (c->other) c->other = p->map[c->other];
  for (uint32_t i = 0; i < c->operands; i++) c->varies[i] = ir_batch(g, c->x[i]) != 0;
  if (c->op != IR_OP_COND) return true;
  l->predicate = ir_src(g, node, 0);
  l->masked = ir_batch(g, l->predicate) != 0;
  l->predicate = l->masked ? pass_physical_aligned(p, l->predicate) : p->map[l->predicate];
  if (l->masked) memset(c->reached, 1, c->results);
  return l->predicate != 0;
}

static bool find_flow(lifting *l) {
  pass_control *c = &l->c;
  uint8_t truth = 0;
  if (!pass_flow_all(c)) return false;
  if (c->op != IR_OP_WHILE) return true;
  if (!pass_flow(l->g, c->other, true, c->varies, &truth)) return false;
  if (!truth) return true;
  ir_function body = ir_function_of(l->g, c->func);
  for (uint32_t i = 0; i < c->s.carries; i++) c->varies[i] |= body.results[i] != body.params[i];
  l->masked = true;
  return pass_flow_all(c);
}

static bool take_operands(lifting *l) {
  const pass_control *c = &l->c;
  for (uint32_t i = 0; i < c->operands; i++) {
    bool sliced = i >= c->s.carries && i < c->s.carries + c->s.sliced;
    ir_ref x = c->varies[i] ? pass_physical_aligned(l->p, c->x[i]) : l->p->map[c->x[i]];
    pass_refs_add(&l->x, x && sliced && c->varies[i] ? pass_physical_moved(l->g, x, l->p->rank, 0) : x);
  }
  return !l->x.failed;
}

static bool take_results(lifting *l, ir_ref all) {
  for (uint32_t i = 0; all && i < l->c.results; i++) pass_refs_add(&l->results, ir_src(l->g, all, i));
  return all && !l->results.failed;
}

/* cond */

static bool call_cond(lifting *l) {
  const pass_control *c = &l->c;
  ir_ref then = lifted(l, c->func, c->varies, c->reached),
         other = then ? lifted(l, c->other, c->varies, c->reached) : 0;
  return other && take_results(l, op_cond(l->g, l->predicate, l->x.at, l->x.count, then, other));
}

/* list += what a branch gives where `active` holds */
static bool compute_branch(lifting *l, ir_ref func, ir_ref active, pass_refs *list) {
  ir_graph *g = l->g;
  size_t room = (size_t)l->c.operands + 1;
  ir_ref guarded = active ? pass_guard(g, func) : 0, made = 0;
  uint8_t *varies = guarded ? ir_alloc(g->mem, room) : NULL;
  ir_ref *x = varies ? ir_alloc(g->mem, room * sizeof *x) : NULL;
  if (x) {
    if (l->c.operands) {
      memcpy(varies, l->c.varies, l->c.operands);
      memcpy(x, l->x.at, l->c.operands * sizeof *x);
    }
    varies[l->c.operands] = 1, x[l->c.operands] = active;
    made = lifted(l, guarded, varies, l->c.reached);
  }
  bool good = made && inlined(list, made, x);
  ir_free(g->mem, x, room * sizeof *x);
  ir_free(g->mem, varies, room);
  return good;
}

static bool choose_branch(lifting *l) {
  ir_graph *g = l->g;
  pass_refs then = {.g = g}, other = {.g = g};
  bool good = compute_branch(l, l->c.func, l->predicate, &then) &&
              compute_branch(l, l->c.other, op_unary(g, IR_OP_NOT, l->predicate), &other);
  for (uint32_t i = 0; i < l->c.results && good; i++)
    pass_refs_add(&l->results, chosen(l->p, l->predicate, then.at[i], other.at[i]));
  pass_refs_free(&then), pass_refs_free(&other);
  return good && !l->results.failed;
}

/* while_loop */

static int64_t bound_of(const lifting *l) { return ir_get(l->g, l->c.length)->arg; }

static bool call_while(lifting *l) {
  const pass_control *c = &l->c;
  ir_ref body = lifted(l, c->func, c->varies, c->reached);
  uint8_t truth = 0;
  ir_ref condition = body ? lifted(l, c->other, c->varies, &truth) : 0;
  return condition &&
         take_results(l, op_while(l->g, l->x.at, l->x.count, c->results, condition, body, bound_of(l)));
}

/* The next state, then the mask: results of a round. x: operands, and behind them the mask. */
static bool masked_round(lifting *l, ir_ref body, ir_ref condition, const ir_ref *x, pass_refs *results) {
  const pass_control *c = &l->c;
  ir_graph *g = l->g;
  ir_ref active = x[c->operands];
  pass_refs next = {.g = g}, state = {.g = g}, truth = {.g = g};
  bool good = inlined(&next, body, x);
  for (uint32_t i = 0; i < c->operands && good; i++)
    pass_refs_add(&state, i >= c->s.carries ? x[i]
                          : c->varies[i]    ? chosen(l->p, active, next.at[i], x[i])
                                            : x[i]);
  good = good && !state.failed && inlined(&truth, condition, state.at);
  for (uint32_t i = 0; i < c->s.carries && good; i++) pass_refs_add(results, state.at[i]);
  if (good) pass_refs_add(results, op_binary(g, IR_OP_AND, active, truth.at[0]));
  pass_refs_free(&next), pass_refs_free(&state), pass_refs_free(&truth);
  return good && !results->failed;
}

/* Behind the state of `all`, which has the mask at its end, put the mask. */
static void add_in_order(const lifting *l, pass_refs *list, const ir_ref *all) {
  uint32_t carries = l->c.s.carries, operands = l->c.operands;
  for (uint32_t i = 0; i < carries; i++) pass_refs_add(list, all[i]);
  pass_refs_add(list, all[operands]);
  for (uint32_t i = carries; i < operands; i++) pass_refs_add(list, all[i]);
}

/* While any element is active. */
static ir_ref any_active(const lifting *l, const pass_refs *params) {
  ir_ref any = op_reduce(l->g, IR_OP_ANY, params->at[l->c.s.carries], NULL, 0, false);
  return any ? ir_func(l->g, &any, 1, params->at, (uint32_t)params->count) : 0;
}

static ir_ref loop_of(lifting *l, ir_ref body, ir_ref condition, const ir_ref *x) {
  ir_graph *g = l->g;
  const pass_control *c = &l->c;
  pass_refs fresh = {.g = g}, params = {.g = g}, given = {.g = g}, results = {.g = g};
  ir_ref made = 0, round = 0, any = 0;
  for (uint32_t i = 0; i <= c->operands; i++) pass_refs_add(&fresh, pass_param_like(g, x[i]));
  bool good = !fresh.failed && masked_round(l, body, condition, fresh.at, &results);
  if (good) add_in_order(l, &params, fresh.at), add_in_order(l, &given, x);
  good = good && !params.failed && !given.failed;
  if (good) round = ir_func(g, results.at, (uint32_t)results.count, params.at, (uint32_t)params.count);
  if (round) any = any_active(l, &params);
  if (any) made = op_while(g, given.at, given.count, results.count, any, round, bound_of(l));
  pass_refs_free(&fresh), pass_refs_free(&params), pass_refs_free(&given), pass_refs_free(&results);
  return made;
}

static bool mask_while(lifting *l) {
  const pass_control *c = &l->c;
  ir_graph *g = l->g;
  size_t room = (size_t)c->operands + 1;
  const uint8_t whole = 1;
  ir_ref body = pass_guard(g, c->func), all = 0;
  uint8_t *varies = ir_alloc(g->mem, room);
  pass_refs x = {.g = g};
  if (!varies) ir_fail(g->error, IR_ERR_MEMORY, "out of memory making a batch physical");
  if (varies && c->operands) memcpy(varies, c->varies, c->operands);
  if (varies) varies[c->operands] = 1;
  body = body && varies ? lifted(l, body, varies, c->reached) : 0;
  ir_ref condition = body ? lifted(l, c->other, c->varies, &whole) : 0;
  for (uint32_t i = 0; i < c->operands; i++) pass_refs_add(&x, l->x.at[i]);
  if (condition && !x.failed && inlined(&x, condition, l->x.at)) all = loop_of(l, body, condition, x.at);
  bool good = take_results(l, all);
  pass_refs_free(&x);
  ir_free(g->mem, varies, room);
  return good;
}

/* scan */

static bool call_scan(lifting *l) {
  const pass_control *c = &l->c;
  ir_ref body = lifted(l, c->func, c->varies, c->reached);
  if (!body || !take_results(l, op_scan(l->g, l->x.at, l->x.count, c->s, body, c->length))) return false;
  for (uint32_t i = c->s.carries; i < c->results; i++)
    if (c->reached[i] && !(l->results.at[i] = pass_physical_moved(l->g, l->results.at[i], 0, l->p->rank)))
      return false;
  return true;
}

/* any of them */

/* All results in the whole batch. */
static ir_ref finish(lifting *l) {
  ir_graph *g = l->g;
  pass_refs *r = &l->results;
  for (uint32_t i = 0; i < l->c.results; i++) {
    ir_ref *x = &r->at[i];
    if (!l->c.reached[i]) *x = grown(l->p, *x, op_dims(g, *x), ir_rank(g, *x));
    if (!*x) return 0;
  }
  return ir_tuple(g, r->at, l->c.results);
}

ir_ref pass_physical_call(physical *p, ir_ref node) {
  lifting l;
  bool good = begin(&l, p, node) && find_flow(&l) && take_operands(&l);
  if (good)
    good = l.c.op == IR_OP_SCAN   ? call_scan(&l)
           : l.c.op == IR_OP_COND ? (l.masked ? choose_branch(&l) : call_cond(&l))
                                  : (l.masked ? mask_while(&l) : call_while(&l));
  ir_ref made = good ? finish(&l) : 0;
  pass_refs_free(&l.x), pass_refs_free(&l.results);
  pass_control_end(&l.c);
  return made;
}
