/* Calls of functions in a batch. A function is written for single elements; here it is rebuilt for the whole
 * batch.
 *
 * Operands without a batch stay without one, and so does all that is computed from these alone: a counter,
 * the length of a loop. The others have the whole batch of the node, b. A parameter p that is bound to one of
 * them gets the type [b|p]; the body is rebuilt on it and made physical as any graph is. If a carried value
 * gains the batch in an iteration only, its initial value is repeated along b.
 *
 * If a predicate has the batch, each element has its own control flow:
 *
 *   cond        both branches are computed, and each element selects one;
 *   while_loop  iterates while any element is active; the state gains a mask, active, and keeps its value
 *               where that is false:  next = where(active, body(state), state);
 *               active' = active and condition(next). An element stops for good, as an unchanged state
 *               leaves its condition unchanged.
 *
 * Functions that are also computed for inactive elements are guarded (guard.c). A scan slices its operands
 * along the first axis after the batch, so that axis is moved to the front for the scan, and back in stacked
 * results. */
#include "batch.h"
#include "passes/autodiff/control.h"
#include "passes/ops/check.h"
#include "physicalize.h"

#include <string.h>

typedef struct batched_call {
  physical *p;
  ir_graph *g;
  pass_control c; /* functions without batches of their own; varies, reached: has the batch */
  pass_refs x, results;
  ir_ref predicate;
  bool masked;
} batched_call;

/* types */

/* x with the batch sizes, then the sizes `own` of a value without a batch. */
static ir_ref expand_to_batch(const physical *p, ir_ref x, const ir_ref *own, uint32_t rank) {
  ir_ref dims[2 * IR_MAX_RANK];
  if (!x) return 0;
  uint32_t count = p->rank + rank;
  memcpy(dims, ir_get(p->g, p->batch)->src, p->rank * sizeof *dims);
  if (rank) memcpy(dims + p->rank, own, rank * sizeof *dims);
  return count > IR_MAX_RANK ? 0 : op_grow(p->g, x, dims, count);
}

/* Reshapes a mask of the batch to broadcast over values of this physical rank. */
static ir_ref broadcast_mask(const physical *p, ir_ref mask, uint32_t rank) {
  ir_ref dims[IR_MAX_RANK];
  if (!mask) return 0;
  for (uint32_t i = 0; i < rank; i++) dims[i] = i < p->rank ? ir_dim(p->g, mask, i) : ir_index(p->g, 1);
  return op_reshape_known(p->g, mask, dims, rank);
}

static ir_ref select_values(const physical *p, ir_ref mask, ir_ref a, ir_ref b) {
  if (!mask || !a || !b) return 0;
  return a == b ? a : op_where(p->g, broadcast_mask(p, mask, ir_rank(p->g, a)), a, b);
}

/* functions */

/* The function, made physical, with the batch on the parameters that vary and on the results that are
 * wanted. */
static ir_ref batch_function(batched_call *l, ir_ref func, const uint8_t *varies, const uint8_t *wanted) {
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
      good = (roots.at[i] = expand_to_batch(l->p, roots.at[i], op_dims(g, f.results[i]),
                                            ir_rank(g, f.results[i]))) != 0;
  }
  if (count)
    ir_fail(g->error, IR_ERR_INTERNAL,
            "%s: a result of a function has batch axes that its call does not have", l->c.who);
  else if (good) made = ir_func(g, roots.at, (uint32_t)n, roots.at + n, f.param_count);
  pass_refs_free(&roots), pass_refs_free(&from), pass_refs_free(&to);
  ir_free(g->mem, batched, n + 1);
  return made;
}

/* Appends the function's results for these operands. */
static bool append_inlined(pass_refs *list, ir_ref func, const ir_ref *x) {
  ir_function f = ir_function_of(list->g, func);
  size_t first = list->count;
  for (uint32_t i = 0; i < f.result_count; i++) pass_refs_add(list, f.results[i]);
  return !list->failed &&
         ir_replace(list->g, f.params, x, f.param_count, list->at + first, f.result_count) == IR_OK;
}

/* which values have the batch */

static bool begin_batched_call(batched_call *l, physical *p, ir_ref node) {
  ir_graph *g = p->g;
  *l = (batched_call){.p = p, .g = g, .x = {.g = g}, .results = {.g = g}};
  pass_control *c = &l->c;
  if (!pass_control_begin(c, g, ir_ops[ir_op_of(g, node)].text, node)) return false;
  c->whole = true;
  c->func = p->map[c->func];
  if (c->second_func) c->second_func = p->map[c->second_func];
  for (uint32_t i = 0; i < c->operand_count; i++) c->varies[i] = ir_batch(g, c->operands[i]) != 0;
  if (c->op != IR_OP_COND) return true;
  l->predicate = ir_src(g, node, 0);
  l->masked = ir_batch(g, l->predicate) != 0;
  l->predicate = l->masked ? pass_physical_aligned(p, l->predicate) : p->map[l->predicate];
  if (l->masked) memset(c->reached, 1, c->result_count);
  return l->predicate != 0;
}

static bool find_flow(batched_call *l) {
  pass_control *c = &l->c;
  uint8_t truth = 0;
  if (!pass_flow_all(c)) return false;
  if (c->op != IR_OP_WHILE) return true;
  if (!pass_flow(l->g, c->second_func, true, c->varies, &truth)) return false;
  if (!truth) return true;
  ir_function body = ir_function_of(l->g, c->func);
  for (uint32_t i = 0; i < c->state.carries; i++) c->varies[i] |= body.results[i] != body.params[i];
  l->masked = true;
  return pass_flow_all(c);
}

static bool align_operands(batched_call *l) {
  const pass_control *c = &l->c;
  for (uint32_t i = 0; i < c->operand_count; i++) {
    bool sliced = i >= c->state.carries && i < c->state.carries + c->state.sliced;
    ir_ref x = c->varies[i] ? pass_physical_aligned(l->p, c->operands[i]) : l->p->map[c->operands[i]];
    pass_refs_add(&l->x, x && sliced && c->varies[i] ? pass_physical_moved(l->g, x, l->p->rank, 0) : x);
  }
  return !l->x.failed;
}

static bool add_results(batched_call *l, ir_ref all) {
  for (uint32_t i = 0; all && i < l->c.result_count; i++) pass_refs_add(&l->results, ir_src(l->g, all, i));
  return all && !l->results.failed;
}

/* cond */

static bool call_cond(batched_call *l) {
  const pass_control *c = &l->c;
  ir_ref then = batch_function(l, c->func, c->varies, c->reached),
         other = then ? batch_function(l, c->second_func, c->varies, c->reached) : 0;
  return other && add_results(l, op_cond(l->g, l->predicate, l->x.at, l->x.count, then, other));
}

/* Appends the results of a branch; they are valid where `active` holds. */
static bool compute_branch(batched_call *l, ir_ref func, ir_ref active, pass_refs *list) {
  ir_graph *g = l->g;
  size_t room = (size_t)l->c.operand_count + 1;
  ir_ref guarded = active ? pass_guard(g, func) : 0, made = 0;
  uint8_t *varies = guarded ? ir_alloc(g->mem, room) : NULL;
  ir_ref *x = varies ? ir_alloc(g->mem, room * sizeof *x) : NULL;
  if (x) {
    if (l->c.operand_count) {
      memcpy(varies, l->c.varies, l->c.operand_count);
      memcpy(x, l->x.at, l->c.operand_count * sizeof *x);
    }
    varies[l->c.operand_count] = 1, x[l->c.operand_count] = active;
    made = batch_function(l, guarded, varies, l->c.reached);
  }
  bool good = made && append_inlined(list, made, x);
  ir_free(g->mem, x, room * sizeof *x);
  ir_free(g->mem, varies, room);
  return good;
}

static bool choose_branch(batched_call *l) {
  ir_graph *g = l->g;
  pass_refs then = {.g = g}, other = {.g = g};
  bool good = compute_branch(l, l->c.func, l->predicate, &then) &&
              compute_branch(l, l->c.second_func, op_unary(g, IR_OP_NOT, l->predicate), &other);
  for (uint32_t i = 0; i < l->c.result_count && good; i++)
    pass_refs_add(&l->results, select_values(l->p, l->predicate, then.at[i], other.at[i]));
  pass_refs_free(&then), pass_refs_free(&other);
  return good && !l->results.failed;
}

/* while_loop */

static int64_t bound_of(const batched_call *l) { return ir_get(l->g, l->c.length)->arg; }

static bool call_while(batched_call *l) {
  const pass_control *c = &l->c;
  ir_ref body = batch_function(l, c->func, c->varies, c->reached);
  uint8_t truth = 0;
  ir_ref condition = body ? batch_function(l, c->second_func, c->varies, &truth) : 0;
  return condition &&
         add_results(l, op_while(l->g, l->x.at, l->x.count, c->result_count, condition, body, bound_of(l)));
}

/* The results of an iteration: the next state, then the mask. x: the operands, then the mask. */
static bool masked_iteration(batched_call *l, ir_ref body, ir_ref condition, const ir_ref *x,
                             pass_refs *results) {
  const pass_control *c = &l->c;
  ir_graph *g = l->g;
  ir_ref active = x[c->operand_count];
  pass_refs next = {.g = g}, state = {.g = g}, truth = {.g = g};
  bool good = append_inlined(&next, body, x);
  for (uint32_t i = 0; i < c->operand_count && good; i++)
    pass_refs_add(&state, i >= c->state.carries ? x[i]
                          : c->varies[i]        ? select_values(l->p, active, next.at[i], x[i])
                                                : x[i]);
  good = good && !state.failed && append_inlined(&truth, condition, state.at);
  for (uint32_t i = 0; i < c->state.carries && good; i++) pass_refs_add(results, state.at[i]);
  if (good) pass_refs_add(results, op_binary(g, IR_OP_AND, active, truth.at[0]));
  pass_refs_free(&next), pass_refs_free(&state), pass_refs_free(&truth);
  return good && !results->failed;
}

/* Appends `all`, moving its last entry, the mask, to the place after the state. */
static void add_in_order(const batched_call *l, pass_refs *list, const ir_ref *all) {
  uint32_t carries = l->c.state.carries, operands = l->c.operand_count;
  for (uint32_t i = 0; i < carries; i++) pass_refs_add(list, all[i]);
  pass_refs_add(list, all[operands]);
  for (uint32_t i = carries; i < operands; i++) pass_refs_add(list, all[i]);
}

/* The condition of the loop: is any element active? */
static ir_ref any_active(const batched_call *l, const pass_refs *params) {
  ir_ref any = op_reduce(l->g, IR_OP_ANY, params->at[l->c.state.carries], NULL, 0, false);
  return any ? ir_func(l->g, &any, 1, params->at, (uint32_t)params->count) : 0;
}

static ir_ref loop_of(batched_call *l, ir_ref body, ir_ref condition, const ir_ref *x) {
  ir_graph *g = l->g;
  const pass_control *c = &l->c;
  pass_refs fresh = {.g = g}, params = {.g = g}, given = {.g = g}, results = {.g = g};
  ir_ref made = 0, iteration = 0, any = 0;
  for (uint32_t i = 0; i <= c->operand_count; i++) pass_refs_add(&fresh, pass_param_like(g, x[i]));
  bool good = !fresh.failed && masked_iteration(l, body, condition, fresh.at, &results);
  if (good) add_in_order(l, &params, fresh.at), add_in_order(l, &given, x);
  good = good && !params.failed && !given.failed;
  if (good) iteration = ir_func(g, results.at, (uint32_t)results.count, params.at, (uint32_t)params.count);
  if (iteration) any = any_active(l, &params);
  if (any) made = op_while(g, given.at, given.count, results.count, any, iteration, bound_of(l));
  pass_refs_free(&fresh), pass_refs_free(&params), pass_refs_free(&given), pass_refs_free(&results);
  return made;
}

static bool mask_while(batched_call *l) {
  const pass_control *c = &l->c;
  ir_graph *g = l->g;
  size_t room = (size_t)c->operand_count + 1;
  const uint8_t whole = 1;
  ir_ref body = pass_guard(g, c->func), all = 0;
  uint8_t *varies = ir_alloc(g->mem, room);
  pass_refs x = {.g = g};
  if (!varies) ir_fail(g->error, IR_ERR_MEMORY, "out of memory making a batch physical");
  if (varies && c->operand_count) memcpy(varies, c->varies, c->operand_count);
  if (varies) varies[c->operand_count] = 1;
  body = body && varies ? batch_function(l, body, varies, c->reached) : 0;
  ir_ref condition = body ? batch_function(l, c->second_func, c->varies, &whole) : 0;
  for (uint32_t i = 0; i < c->operand_count; i++) pass_refs_add(&x, l->x.at[i]);
  if (condition && !x.failed && append_inlined(&x, condition, l->x.at))
    all = loop_of(l, body, condition, x.at);
  bool good = add_results(l, all);
  pass_refs_free(&x);
  ir_free(g->mem, varies, room);
  return good;
}

/* scan */

static bool call_scan(batched_call *l) {
  const pass_control *c = &l->c;
  ir_ref body = batch_function(l, c->func, c->varies, c->reached);
  if (!body || !add_results(l, op_scan(l->g, l->x.at, l->x.count, c->state, body, c->length))) return false;
  for (uint32_t i = c->state.carries; i < c->result_count; i++)
    if (c->reached[i] && !(l->results.at[i] = pass_physical_moved(l->g, l->results.at[i], 0, l->p->rank)))
      return false;
  return true;
}

/* any of these nodes */

/* The TUPLE of results, each grown to the whole batch. */
static ir_ref finish_batched_call(batched_call *l) {
  ir_graph *g = l->g;
  pass_refs *r = &l->results;
  for (uint32_t i = 0; i < l->c.result_count; i++) {
    ir_ref *x = &r->at[i];
    if (!l->c.reached[i]) *x = expand_to_batch(l->p, *x, op_dims(g, *x), ir_rank(g, *x));
    if (!*x) return 0;
  }
  return ir_tuple(g, r->at, l->c.result_count);
}

ir_ref pass_physical_call(physical *p, ir_ref node) {
  batched_call l;
  bool good = begin_batched_call(&l, p, node) && find_flow(&l) && align_operands(&l);
  if (good)
    good = l.c.op == IR_OP_SCAN   ? call_scan(&l)
           : l.c.op == IR_OP_COND ? (l.masked ? choose_branch(&l) : call_cond(&l))
                                  : (l.masked ? mask_while(&l) : call_while(&l));
  ir_ref made = good ? finish_batched_call(&l) : 0;
  pass_refs_free(&l.x), pass_refs_free(&l.results);
  pass_control_end(&l.c);
  return made;
}
