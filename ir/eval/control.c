/* Control flow in the reference evaluator: functions run with their parameters bound to values. */
#include "impl.h"

#include <inttypes.h>
#include <string.h>

/* values */

static ir_status copy_slot(ir_eval_run *run, ir_ref ref, const ir_slot *from, ir_slot *out) {
  *out = *from;
  out->borrowed = false;
  out->results = NULL;
  out->taint = NULL;
  if (!(out->data = ir_alloc(run->mem, from->bytes))) return ir_eval_no_memory(run, ref);
  if (from->bytes) memcpy(out->data, from->data, from->bytes);
  if (!from->taint) return IR_OK;
  size_t bytes = (size_t)from->count * sizeof *from->taint;
  if (!(out->taint = ir_alloc(run->mem, bytes))) return ir_eval_no_memory(run, ref);
  memcpy(out->taint, from->taint, bytes);
  return IR_OK;
}

static void release_slots(ir_eval_run *run, ir_slot *slots, uint32_t count) {
  for (uint32_t i = 0; slots && i < count; i++) ir_eval_release(run, &slots[i]);
}

static ir_slot *new_slots(ir_eval_run *run, ir_ref ref, uint32_t count) {
  ir_slot *made = ir_alloc(run->mem, count * sizeof *made);
  if (made) memset(made, 0, count * sizeof *made);
  else ir_eval_no_memory(run, ref);
  return made;
}

/* Makes every element depend on range error `number`, unless number is 0. */
static ir_status taint_all(ir_eval_run *run, ir_ref ref, ir_slot *slot, uint32_t number) {
  if (!number) return IR_OK;
  if (!slot->taint && !(slot->taint = ir_alloc(run->mem, (size_t)slot->count * sizeof *slot->taint)))
    return ir_eval_no_memory(run, ref);
  for (int64_t i = 0; i < slot->count; i++) slot->taint[i] = number;
  return IR_OK;
}

ir_status ir_eval_param(ir_eval_run *run, ir_ref ref, const ir_slot *given, ir_slot *out) {
  char left[IR_SHAPE_TEXT], right[IR_SHAPE_TEXT];
  if (given->dtype != out->dtype || given->rank != out->rank ||
      memcmp(given->shape, out->shape, out->rank * sizeof *out->shape) != 0)
    return ir_fail(run->error, IR_ERR_INTERNAL, "func: a parameter of type %s%s is bound to %s%s",
                   ir_dtypes[out->dtype].name, ir_eval_shape_text(out->shape, out->rank, left),
                   ir_dtypes[given->dtype].name, ir_eval_shape_text(given->shape, given->rank, right));
  out->count = given->count;
  out->bytes = given->bytes;
  out->data = given->data; /* borrowed: never written */
  out->borrowed = true;
  if (!given->taint) return IR_OK;
  size_t bytes = (size_t)given->count * sizeof *given->taint;
  if (!(out->taint = ir_alloc(run->mem, bytes))) return ir_eval_no_memory(run, ref);
  memcpy(out->taint, given->taint, bytes);
  return IR_OK;
}

/* calls */

static ir_eval_run *run_of(ir_eval_run *run, ir_ref func) {
  for (size_t i = 0; i < run->call_count; i++)
    if (run->calls[i]->func == func) return run->calls[i];
  ir_function f = ir_function_of(run->g, func);
  ir_eval_run *made = ir_alloc(run->mem, sizeof *made);
  if (made)
    *made = (ir_eval_run){.g = run->g,
                          .mem = run->mem,
                          .error = run->error,
                          .vars = run->vars,
                          .var_count = run->var_count,
                          .fault = run->fault,
                          .at_once = run->at_once,
                          .observer = run->observer,
                          .mesh = run->mesh,
                          .func = func};
  if (!made || !IR_RESERVE(run->mem, run->calls, run->call_cap, run->call_count + 1) ||
      !(made->params = ir_alloc(run->mem, f.param_count * sizeof *made->params))) {
    ir_eval_no_memory(run, func);
    ir_free(run->mem, made, sizeof *made);
    return NULL;
  }
  run->calls[run->call_count++] = made;
  return ir_eval_prepare(made, f.results, f.result_count) == IR_OK ? made : NULL;
}

void ir_eval_free_calls(ir_eval_run *run) {
  for (size_t i = 0; i < run->call_count; i++) {
    ir_eval_run *call = run->calls[i];
    ir_function f = ir_function_of(run->g, call->func);
    ir_eval_run_free(call);
    ir_free(run->mem, call->params, f.param_count * sizeof *call->params);
    ir_free(run->mem, call, sizeof *call);
  }
  ir_free(run->mem, run->calls, run->call_cap * sizeof *run->calls);
}

/* Copies the results of func to out[]; the caller releases them, after a failure too. The list of range
 * errors moves to the inner run for the call and back. */
static ir_status call_function(ir_eval_run *run, ir_ref ref, ir_ref func, const ir_slot *const *given,
                               ir_slot *out) {
  ir_function f = ir_function_of(run->g, func);
  ir_eval_run *inner = run_of(run, func);
  if (!inner) return run->error->status;
  memcpy(inner->params, given, f.param_count * sizeof *given);
  inner->range_errors = run->range_errors;
  inner->range_error_count = run->range_error_count, inner->range_error_cap = run->range_error_cap;
  ir_status status = ir_eval_nodes(inner, f.results, f.result_count);
  run->range_errors = inner->range_errors;
  run->range_error_count = inner->range_error_count, run->range_error_cap = inner->range_error_cap;
  inner->range_errors = NULL;
  inner->range_error_count = inner->range_error_cap = 0;
  for (uint32_t i = 0; i < f.result_count && !status; i++)
    status = copy_slot(run, ref, &inner->slots[inner->slot_number[f.results[i]]], &out[i]);
  return status;
}

/* one node */

typedef struct control {
  ir_eval_run *run;
  ir_ref ref;
  const ir_slot **given; /* argument for each parameter */
  ir_slot *next;         /* results of a call */
  ir_slot *out;          /* results of the node */
} control;

/* The value of a condition, and the range error on which it depends. */
static ir_status evaluate_condition(control *c, ir_ref func, bool *holds, uint32_t *taint) {
  ir_slot condition = {0};
  ir_status status = call_function(c->run, c->ref, func, c->given, &condition);
  if (!status) {
    *holds = condition.data[0] != 0;
    if (condition.taint && !*taint) *taint = condition.taint[0];
  }
  ir_eval_release(c->run, &condition);
  return status;
}

static ir_status eval_cond(control *c, const ir_node *n, uint32_t results) {
  const ir_slot *predicate = ir_eval_operand(c->run, c->ref, 0);
  ir_status status = IR_OK;
  for (uint32_t i = 1; i < ir_operand_count(n); i++) c->given[i - 1] = ir_eval_operand(c->run, c->ref, i);
  status = call_function(c->run, c->ref, ir_called(c->run->g, c->ref, predicate->data[0] ? 0 : 1), c->given,
                         c->out);
  for (uint32_t i = 0; i < results && !status && predicate->taint; i++)
    status = taint_all(c->run, c->ref, &c->out[i], predicate->taint[0]);
  return status;
}

/* Replaces the state in out[] by what a call returned. */
static void replace_state(control *c, uint32_t carries) {
  release_slots(c->run, c->out, carries);
  memcpy(c->out, c->next, carries * sizeof *c->out);
  memset(c->next, 0, carries * sizeof *c->next);
}

static ir_status start_state(control *c, const ir_node *n, uint32_t carries) {
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < ir_operand_count(n) && !status; i++) {
    c->given[i] = i < carries ? &c->out[i] : ir_eval_operand(c->run, c->ref, i);
    if (i < carries) status = copy_slot(c->run, c->ref, ir_eval_operand(c->run, c->ref, i), &c->out[i]);
  }
  return status;
}

static ir_status eval_while(control *c, const ir_node *n, uint32_t carries) {
  int64_t bound = -1;
  uint32_t taint = 0;
  bool more = true;
  ir_status status = ir_eval_attribute(c->run, c->ref, ir_operand_count(n) + 2, &bound);
  if (!status) status = start_state(c, n, carries);
  for (int64_t iteration = 0; !status && more && (bound < 0 || iteration < bound); iteration++) {
    status = evaluate_condition(c, ir_called(c->run->g, c->ref, 0), &more, &taint);
    if (status || !more) break;
    status = call_function(c->run, c->ref, ir_called(c->run->g, c->ref, 1), c->given, c->next);
    if (!status) replace_state(c, carries);
  }
  for (uint32_t i = 0; i < carries && !status; i++) status = taint_all(c->run, c->ref, &c->out[i], taint);
  return status;
}

/* Element `at` along the first axis, borrowed. */
static void slice_at(const ir_slot *whole, int64_t at, ir_slot *out) {
  *out = *whole;
  out->rank = whole->rank - 1;
  memmove(out->shape, whole->shape + 1, out->rank * sizeof *out->shape);
  out->count = whole->shape[0] ? whole->count / whole->shape[0] : 0;
  out->bytes = (size_t)out->count * ir_dtypes[whole->dtype].bytes;
  out->data = whole->data + (size_t)at * out->bytes;
  if (whole->taint) out->taint = whole->taint + at * out->count;
}

/* Allocates the stack of result `number`: `length` times what the function returns. */
static ir_status start_stack(control *c, uint32_t number, int64_t length) {
  ir_eval_run *run = c->run;
  ir_ref func = ir_called(run->g, c->ref, 0), like = ir_function_of(run->g, func).results[number];
  ir_eval_run *inner = run_of(run, func);
  ir_slot *out = &c->out[number];
  const ir_node *dims = ir_get(run->g, ir_shape(run->g, like));
  if (!inner) return run->error->status;
  out->dtype = ir_dtype_of(run->g, like);
  out->rank = dims->nsrc + 1;
  out->shape[0] = length;
  for (uint32_t k = 0; k < dims->nsrc; k++) out->shape[k + 1] = inner->index[dims->src[k]];
  size_t element = ir_dtypes[out->dtype].bytes;
  if (ir_eval_count(out->shape, out->rank, element > 4 ? element : 4, &out->count))
    return ir_fail(run->error, IR_ERR_INVALID, "scan: result %u is larger than memory can be addressed",
                   number + 1);
  out->bytes = (size_t)out->count * element;
  return (out->data = ir_alloc(run->mem, out->bytes)) ? IR_OK : ir_eval_no_memory(run, c->ref);
}

static ir_status stack_at(control *c, uint32_t number, int64_t at) {
  ir_slot *out = &c->out[number], *value = &c->next[number];
  if (value->bytes) memcpy(out->data + (size_t)at * value->bytes, value->data, value->bytes);
  if (!value->taint) return IR_OK;
  size_t bytes = (size_t)out->count * sizeof *out->taint;
  if (!out->taint) {
    if (!(out->taint = ir_alloc(c->run->mem, bytes))) return ir_eval_no_memory(c->run, c->ref);
    memset(out->taint, 0, bytes);
  }
  memcpy(out->taint + at * value->count, value->taint, (size_t)value->count * sizeof *value->taint);
  return IR_OK;
}

static ir_status scan_iterations(control *c, const ir_node *n, uint32_t results, int64_t length,
                                 ir_slot *slices) {
  ir_scan_state s = ir_scan_of(n);
  ir_status status = IR_OK;
  for (int64_t iteration = 0; iteration < length && !status; iteration++) {
    int64_t at = s.reverse ? length - 1 - iteration : iteration;
    for (uint32_t i = 0; i < s.sliced; i++)
      slice_at(ir_eval_operand(c->run, c->ref, s.carries + i), at, &slices[i]);
    status = call_function(c->run, c->ref, ir_called(c->run->g, c->ref, 0), c->given, c->next);
    for (uint32_t i = s.carries; i < results && !status; i++) status = stack_at(c, i, at);
    if (!status) replace_state(c, s.carries);
    release_slots(c->run, c->next, results);
    memset(c->next, 0, results * sizeof *c->next);
  }
  return status;
}

static ir_status eval_scan(control *c, const ir_node *n, uint32_t results) {
  ir_scan_state s = ir_scan_of(n);
  int64_t length = 0;
  ir_status status = ir_eval_attribute(c->run, c->ref, ir_operand_count(n) + 1, &length);
  ir_slot *slices = new_slots(c->run, c->ref, s.sliced);
  if (!slices) status = c->run->error->status;
  if (!status) status = start_state(c, n, s.carries);
  for (uint32_t i = 0; i < s.sliced && !status; i++) {
    const ir_slot *whole = ir_eval_operand(c->run, c->ref, s.carries + i);
    c->given[s.carries + i] = &slices[i];
    if (!whole->rank || whole->shape[0] != length)
      status = ir_fail(c->run->error, IR_ERR_INVALID,
                       "scan: operand %u does not have %" PRId64 " elements along its first axis",
                       s.carries + i + 1, length);
  }
  for (uint32_t i = s.carries; i < results && !status; i++) status = start_stack(c, i, length);
  if (!status) status = scan_iterations(c, n, results, length, slices);
  ir_free(c->run->mem, slices, s.sliced * sizeof *slices);
  return status;
}

ir_status ir_eval_control(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  uint32_t results = ir_result_count(run->g, ref), operands = ir_operand_count(n);
  control c = {.run = run, .ref = ref};
  c.given = ir_alloc(run->mem, operands * sizeof *c.given);
  c.next = new_slots(run, ref, results);
  out->results = c.out = new_slots(run, ref, results);
  out->result_count = c.out ? results : 0;
  ir_status status = c.given && c.next && c.out ? IR_OK : ir_eval_no_memory(run, ref);
  if (!status)
    status = n->op == IR_OP_COND    ? eval_cond(&c, n, results)
             : n->op == IR_OP_WHILE ? eval_while(&c, n, results)
                                    : eval_scan(&c, n, results);
  release_slots(run, c.next, results);
  ir_free(run->mem, c.next, results * sizeof *c.next);
  ir_free(run->mem, c.given, operands * sizeof *c.given);
  return status;
}

ir_status ir_eval_result_of(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  ir_slot *all = &run->slots[run->slot_number[n->src[0]]], *value = NULL;
  int64_t number = ir_arg_int(n);
  if (all->results && number >= 0 && number < all->result_count) value = &all->results[number];
  if (value && !value->data && ir_batch(run->g, ref)) { /* nothing was called for a batch without elements */
    *value = *out;
    bool fits = ir_eval_count(out->shape, out->rank, ir_dtypes[out->dtype].bytes, &value->count) == IR_OK;
    value->bytes = 0;
    value->data = fits && value->count == 0 ? ir_alloc(run->mem, 0) : NULL;
  }
  if (!value || !value->data || value->dtype != out->dtype || value->rank != out->rank ||
      memcmp(value->shape, out->shape, out->rank * sizeof *out->shape) != 0)
    return ir_fail(run->error, IR_ERR_INTERNAL, "result: node %u is not result %" PRId64 " of its source",
                   ref, number);
  uint32_t uses = out->uses;
  *out = *value;
  out->uses = uses;
  out->needed = true;
  *value = (ir_slot){0};
  return IR_OK;
}
