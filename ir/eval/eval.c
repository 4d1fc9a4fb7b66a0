/* The reference evaluator's driver: sizes, order, memory, leaves, results. */
#include "impl.h"

#include "ir/arith.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* sizes and coordinates */

const char *ir_eval_shape_text(const int64_t *shape, uint32_t rank, char *text) {
  int used = snprintf(text, IR_SHAPE_TEXT, "[");
  for (uint32_t k = 0; k < rank; k++)
    used += snprintf(text + used, (size_t)(IR_SHAPE_TEXT - used), "%s%" PRId64, k ? "," : "", shape[k]);
  snprintf(text + used, (size_t)(IR_SHAPE_TEXT - used), "]");
  return text;
}

ir_status ir_eval_count(const int64_t *shape, uint32_t rank, size_t element, int64_t *count) {
  int64_t bytes;
  *count = 1;
  for (uint32_t k = 0; k < rank; k++)
    if (shape[k] == 0) return *count = 0, IR_OK;
  for (uint32_t k = 0; k < rank; k++)
    if (!ir_mul_ok(*count, shape[k], count)) return IR_ERR_INVALID;
  return ir_mul_ok(*count, (int64_t)element, &bytes) && (uint64_t)bytes <= PTRDIFF_MAX ? IR_OK
                                                                                       : IR_ERR_INVALID;
}

void ir_eval_strides(const int64_t *shape, uint32_t rank, int64_t *strides) {
  int64_t step = 1;
  for (uint32_t k = rank; k-- > 0; step *= shape[k]) strides[k] = step;
}

bool ir_eval_next(int64_t *coord, const int64_t *shape, uint32_t rank) {
  for (uint32_t k = rank; k-- > 0;) {
    if (++coord[k] < shape[k]) return true;
    coord[k] = 0;
  }
  return false;
}

ir_status ir_eval_no_memory(ir_eval_run *run, ir_ref ref) {
  return ir_fail(run->error, IR_ERR_MEMORY, "%s: out of memory evaluating node %u",
                 ir_ops[ir_op_of(run->g, ref)].text, ref);
}

ir_status ir_eval_attribute(ir_eval_run *run, ir_ref ref, uint32_t source, int64_t *out) {
  const ir_node *n = ir_get(run->g, ref);
  if (source < n->nsrc && run->index_known[n->src[source]]) return *out = run->index[n->src[source]], IR_OK;
  return ir_fail(run->error, IR_ERR_INTERNAL, "%s: attribute %u of node %u is no index expression",
                 ir_ops[n->op].text, source, ref);
}

static ir_status recorded_shape(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const char *text = ir_ops[ir_op_of(run->g, ref)].text;
  ir_ref tuple = ir_shape(run->g, ref);
  const ir_node *shape = ir_get(run->g, tuple);
  if (!tuple || shape->nsrc > IR_MAX_RANK)
    return ir_fail(run->error, IR_ERR_INTERNAL, "%s: node %u has %s", text, ref,
                   tuple ? "too many axes" : "no shape");
  out->rank = shape->nsrc;
  for (uint32_t k = 0; k < shape->nsrc; k++) {
    if (!run->index_known[shape->src[k]])
      return ir_fail(run->error, IR_ERR_INTERNAL, "%s: axis %u of node %u has no known size", text, k, ref);
    out->shape[k] = run->index[shape->src[k]];
    if (out->shape[k] < 0)
      return ir_fail(run->error, IR_ERR_INVALID,
                     "%s: axis %u has the negative size %" PRId64 "; sizes must be at least 0", text, k,
                     out->shape[k]);
  }
  return IR_OK;
}

ir_status ir_eval_alloc(ir_eval_run *run, ir_ref ref, ir_slot *out, bool tainted) {
  char left[IR_SHAPE_TEXT], right[IR_SHAPE_TEXT];
  const char *text = ir_ops[ir_op_of(run->g, ref)].text;
  ir_slot recorded;
  ir_status status = recorded_shape(run, ref, &recorded);
  if (status) return status;
  if (recorded.rank != out->rank || memcmp(recorded.shape, out->shape, out->rank * sizeof *out->shape) != 0)
    return ir_fail(run->error, IR_ERR_INVALID, "%s: the result has shape %s, but %s is recorded for node %u",
                   text, ir_eval_shape_text(out->shape, out->rank, left),
                   ir_eval_shape_text(recorded.shape, recorded.rank, right), ref);
  size_t element = ir_dtypes[out->dtype].bytes;
  if (ir_eval_count(out->shape, out->rank, element > 4 ? element : 4, &out->count))
    return ir_fail(run->error, IR_ERR_INVALID,
                   "%s: a result of type %s%s is larger than memory can be addressed", text,
                   ir_dtypes[out->dtype].name, ir_eval_shape_text(out->shape, out->rank, left));
  size_t bytes = (size_t)out->count * element;
  if (!(out->data = ir_alloc(run->mem, bytes))) return ir_eval_no_memory(run, ref);
  out->bytes = bytes;
  if (!tainted) return IR_OK;
  if (!(out->taint = ir_alloc(run->mem, (size_t)out->count * sizeof *out->taint)))
    return ir_eval_no_memory(run, ref);
  memset(out->taint, 0, (size_t)out->count * sizeof *out->taint);
  return IR_OK;
}

void ir_eval_release(ir_eval_run *run, ir_slot *slot) {
  for (uint32_t i = 0; slot->results && i < slot->result_count; i++) {
    ir_slot *result = &slot->results[i]; /* a result has no results of its own */
    ir_free(run->mem, result->data, result->bytes);
    ir_free(run->mem, result->taint, (size_t)result->count * sizeof *result->taint);
  }
  ir_free(run->mem, slot->results, slot->result_count * sizeof *slot->results);
  slot->results = NULL;
  if (slot->data && !slot->borrowed) ir_free(run->mem, slot->data, slot->bytes);
  ir_free(run->mem, slot->taint, (size_t)slot->count * sizeof *slot->taint);
  slot->data = NULL;
  slot->taint = NULL;
}

/* leaves */

static ir_status eval_input(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_node *n = ir_get(run->g, ref);
  char shape[IR_SHAPE_TEXT];
  size_t element = ir_dtypes[out->dtype].bytes, i = 0;
  ir_function f = run->func ? ir_function_of(run->g, run->func) : (ir_function){0};
  for (uint32_t k = 0; k < f.param_count; k++)
    if (f.params[k] == ref) return ir_eval_param(run, ref, run->params[k], out);
  while (i < run->input_count && run->inputs[i].ref != ref) i++;
  bool named = n->op == IR_OP_INPUT;
  if (ir_eval_count(out->shape, out->rank, element, &out->count))
    return ir_fail(run->error, IR_ERR_INVALID, "%s: %s%s is larger than memory can be addressed",
                   ir_ops[n->op].text, ir_dtypes[out->dtype].name,
                   ir_eval_shape_text(out->shape, out->rank, shape));
  if (i == run->input_count || (!run->inputs[i].data && out->count))
    return ir_fail(run->error, IR_ERR_INVALID,
                   "%s %s%s of type %s%s has no data; bind every input that a result depends on",
                   ir_ops[n->op].text, named ? "%" : "", named ? ir_name_text(run->g, n->arg) : "",
                   ir_dtypes[out->dtype].name, ir_eval_shape_text(out->shape, out->rank, shape));
  out->data = (unsigned char *)run->inputs[i].data; /* borrowed: never written */
  out->bytes = (size_t)out->count * element;
  out->borrowed = (uintptr_t)out->data % element == 0;
  if (out->borrowed) return IR_OK;
  unsigned char *copy = ir_alloc(run->mem, out->bytes); /* constants lie in files at any address */
  if (copy) memcpy(copy, out->data, out->bytes);
  out->data = copy;
  return copy ? IR_OK : ir_eval_no_memory(run, ref);
}

static ir_status eval_data(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  ir_status status = ir_eval_alloc(run, ref, out, false);
  if (status) return status;
  int64_t name = ir_get(run->g, ref)->arg;
  if (ir_name_length(run->g, name) != out->bytes)
    return ir_fail(run->error, IR_ERR_INVALID, "data: %zu bytes are given for %zu",
                   ir_name_length(run->g, name), out->bytes);
  if (out->bytes) memcpy(out->data, ir_name_text(run->g, name), out->bytes);
  return IR_OK;
}

static ir_status eval_iota(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  int64_t axis = ir_arg_int(ir_get(run->g, ref)), coord[IR_MAX_RANK] = {0};
  ir_status status = ir_eval_alloc(run, ref, out, false);
  if (status) return status;
  if (axis < 0 || axis >= out->rank)
    return ir_fail(run->error, IR_ERR_INVALID, "iota: axis %" PRId64 " of a shape of rank %u", axis,
                   out->rank);
  size_t element = ir_dtypes[out->dtype].bytes;
  for (int64_t i = 0; i < out->count; i++, ir_eval_next(coord, out->shape, out->rank))
    ir_value_store(out->data + (size_t)i * element, out->dtype,
                   ir_value_cast((ir_value){.i = coord[axis]}, IR_I64, out->dtype));
  return IR_OK;
}

static ir_status eval_const(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  ir_status status = ir_eval_alloc(run, ref, out, false);
  if (status) return status;
  ir_value value = ir_const_value(run->g, ref);
  for (int64_t i = 0; i < out->count; i++)
    ir_value_store(out->data + (size_t)i * ir_dtypes[out->dtype].bytes, out->dtype, value);
  return IR_OK;
}

/* An index expression used as an operand: a scalar. */
static ir_status eval_index_scalar(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  if (!run->index_known[ref])
    return ir_fail(run->error, IR_ERR_UNSUPPORTED, "%s: node %u is no tensor operation",
                   ir_ops[ir_op_of(run->g, ref)].text, ref);
  bool is_bool = out->dtype == IR_BOOL;
  out->dtype = is_bool ? IR_BOOL : IR_I64;
  out->count = 1;
  out->bytes = ir_dtypes[out->dtype].bytes;
  if (!(out->data = ir_alloc(run->mem, out->bytes))) return ir_eval_no_memory(run, ref);
  ir_value_store(out->data, out->dtype, (ir_value){.i = run->index[ref]});
  return IR_OK;
}

static ir_status eval_one(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  ir_op op = ir_op_of(run->g, ref);
  out->dtype = ir_dtype_of(run->g, ref);
  ir_status status = recorded_shape(run, ref, out); /* leaves keep it; others compute a shape and compare */
  if (status) return status;
  switch (ir_ops[op].cls) {
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY: return ir_eval_elementwise(run, ref, out);
  case IR_CLASS_VIEW: return ir_eval_view(run, ref, out);
  case IR_CLASS_REDUCE: return ir_eval_reduce(run, ref, out);
  case IR_CLASS_CONTRACT: return ir_eval_matmul(run, ref, out);
  case IR_CLASS_INDIRECT:
    if (op == IR_OP_ASSIGN) return ir_eval_assign(run, ref, out);
    return op == IR_OP_GATHER ? ir_eval_gather(run, ref, out) : ir_eval_scatter(run, ref, out);
  case IR_CLASS_ORDERED: return ir_eval_ordered(run, ref, out);
  case IR_CLASS_EXCHANGE: return ir_eval_exchange(run, ref, out);
  case IR_CLASS_LEAF:
  case IR_CLASS_META: break;
  default:
    return ir_fail(run->error, IR_ERR_UNSUPPORTED, "%s: node %u is no tensor operation", ir_ops[op].text,
                   ref);
  }
  switch ((int)op) {
  case IR_OP_CONST: return eval_const(run, ref, out);
  case IR_OP_INPUT:
  case IR_OP_BUFFER:
  case IR_OP_RESOURCE:
    status = ir_eval_physical(run, ref, out);
    return status ? status : eval_input(run, ref, out);
  case IR_OP_DATA: return eval_data(run, ref, out);
  case IR_OP_IOTA: return eval_iota(run, ref, out);
  case IR_OP_RESULT:
    status = ir_eval_physical(run, ref, out);
    return status ? status : ir_eval_result_of(run, ref, out);
  default:
    return ir_fail(run->error, IR_ERR_UNSUPPORTED, "%s: node %u is no tensor operation", ir_ops[op].text,
                   ref);
  }
}

/* Is it no leaf, but bound to elements, which stand in place of what it computes? */
static bool is_replaced(const ir_eval_run *run, ir_ref ref) {
  if (run->func || ir_ops[ir_op_of(run->g, ref)].cls == IR_CLASS_LEAF) return false;
  for (size_t i = 0; i < run->input_count; i++)
    if (run->inputs[i].ref == ref) return true;
  return false;
}

static ir_status eval_node(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  out->dtype = ir_dtype_of(run->g, ref);
  if (is_replaced(run, ref)) {
    ir_status known = recorded_shape(run, ref, out);
    if (!known) known = ir_eval_physical(run, ref, out);
    return known ? known : eval_input(run, ref, out);
  }
  if (ir_ops[ir_op_of(run->g, ref)].cls == IR_CLASS_CONTROL)
    return ir_eval_call(run, ref, ir_eval_control, out);
  if (ir_op_of(run->g, ref) == IR_OP_CUSTOM) return ir_eval_custom(run, ref, out);
  if (!ir_shape(run->g, ref)) return eval_index_scalar(run, ref, out);
  if (!ir_eval_is_batched(run, ref)) return eval_one(run, ref, out);
  ir_status status = recorded_shape(run, ref, out);
  if (!status && ir_op_of(run->g, ref) == IR_OP_RESULT) {
    status = ir_eval_physical(run, ref, out);
    return status ? status : ir_eval_result_of(run, ref, out);
  }
  return status ? status : ir_eval_batched(run, ref, eval_one, out);
}

/* preparation */

/* Evaluates every index expression below the roots, in shapes too, in one pass in ascending order. */
static ir_status eval_indices(ir_eval_run *run) {
  const ir_graph *g = run->g;
  ir_ref *seeds = NULL, *all = NULL;
  int64_t *args = NULL;
  size_t seed_cap = 0, all_count = 0, all_cap = 0, arg_cap = 0, k = 0;
  ir_status status = IR_OK;
  if (!IR_RESERVE(run->mem, seeds, seed_cap, 3 * run->live_count + 1)) status = ir_eval_no_memory(run, 0);
  for (size_t i = 0; i < run->live_count && !status; i++) {
    seeds[k++] = run->live[i];
    if (ir_shape(g, run->live[i])) seeds[k++] = ir_shape(g, run->live[i]);
    if (ir_batch(g, run->live[i])) seeds[k++] = ir_batch(g, run->live[i]);
  }
  if (!status && ir_reachable(g, seeds, k, &all, &all_count, &all_cap) != IR_OK)
    status = ir_eval_no_memory(run, 0);
  for (size_t i = 0; i < all_count && !status; i++) {
    ir_ref ref = all[i];
    const ir_node *n = ir_get(g, ref);
    bool known = n->dtype == IR_INDEX || n->dtype == IR_BOOL;
    if (known && n->op == IR_OP_CONST) run->index[ref] = n->arg;
    else if (n->op == IR_OP_VAR)
      status = ir_var_lookup(g, ref, run->vars, run->var_count, &run->index[ref], run->error);
    else if ((known = known && ir_index_supported((ir_op)n->op, n->nsrc))) {
      if (!IR_RESERVE(run->mem, args, arg_cap, n->nsrc)) status = ir_eval_no_memory(run, ref);
      for (uint32_t s = 0; s < n->nsrc && known && !status; s++)
        if ((known = run->index_known[n->src[s]])) args[s] = run->index[n->src[s]];
      if (known && !status)
        status =
            ir_index_apply((ir_op)n->op, n->dtype == IR_INDEX, args, n->nsrc, &run->index[ref], run->error);
    }
    run->index_known[ref] = known && !status;
  }
  ir_free(run->mem, seeds, seed_cap * sizeof *seeds);
  ir_free(run->mem, all, all_cap * sizeof *all);
  ir_free(run->mem, args, arg_cap * sizeof *args);
  return status;
}

/* The number of sources whose elements the node reads. */
static uint32_t read_count(const ir_node *n) {
  if (ir_ops[n->op].cls == IR_CLASS_LEAF || n->op == IR_OP_TUPLE) return 0;
  uint32_t count = ir_operand_count(n) + (n->op == IR_OP_PAD);
  return count < n->nsrc ? count : n->nsrc;
}

static void count_uses(ir_eval_run *run, const ir_ref *roots, size_t n) {
  for (size_t i = 0; i < n; i++) {
    ir_slot *slot = &run->slots[run->slot_number[roots[i]]];
    slot->needed = true;
    slot->uses++;
  }
  for (size_t i = run->live_count; i-- > 0;) {
    const ir_node *node = ir_get(run->g, run->live[i]);
    for (uint32_t s = 0; s < read_count(node) && run->slots[i].needed; s++) {
      ir_slot *source = &run->slots[run->slot_number[node->src[s]]];
      source->needed = true;
      source->uses++;
    }
  }
}

ir_status ir_eval_prepare(ir_eval_run *run, const ir_ref *roots, size_t n) {
  const ir_graph *g = run->g;
  for (size_t i = 0; i < n; i++)
    if (roots[i] == 0 || !ir_shape(g, roots[i]))
      return ir_fail(run->error, IR_ERR_INVALID, "evaluate: result %zu is %s, not a tensor", i,
                     roots[i] ? ir_ops[ir_op_of(g, roots[i])].text : "the error value");
  if (ir_reachable(g, roots, n, &run->live, &run->live_count, &run->live_cap) != IR_OK)
    return ir_eval_no_memory(run, 0);
  run->table_count = g->count;
  run->slot_number = ir_alloc(run->mem, run->table_count * sizeof *run->slot_number);
  run->index = ir_alloc(run->mem, run->table_count * sizeof *run->index);
  run->index_known = ir_alloc(run->mem, run->table_count);
  run->slots = ir_alloc(run->mem, run->live_count * sizeof *run->slots);
  if (run->slots) /* ir_eval_run_free frees them by content, after a failure too */
    memset(run->slots, 0, run->live_count * sizeof *run->slots);
  if (!run->slot_number || !run->index || !run->index_known || !run->slots) return ir_eval_no_memory(run, 0);
  memset(run->index_known, 0, run->table_count);
  for (size_t i = 0; i < run->live_count; i++) run->slot_number[run->live[i]] = (uint32_t)i;
  return eval_indices(run);
}

/* results */

ir_status ir_eval_range_fails(ir_eval_run *run, const ir_eval_fault *o) {
  const char *who = ir_ops[ir_op_of(run->g, o->node)].text;
  char value[32];
  snprintf(value, sizeof value, o->is_unsigned ? "%" PRIu64 : "%" PRId64, o->index);
  if (run->fault) *run->fault = *o;
  if (o->size == 0)
    return ir_fail(run->error, IR_ERR_RANGE,
                   "%s: index %s is out of range: axis %u has size 0, so that no index is valid", who, value,
                   o->axis);
  return ir_fail(run->error, IR_ERR_RANGE,
                 "%s: index %s is out of range for axis %u of size %" PRId64 "; it must be in %" PRId64
                 "..%" PRId64,
                 who, value, o->axis, o->size, -o->size, o->size - 1);
}

static ir_status check_taint(ir_eval_run *run, const ir_slot *slot) {
  for (int64_t i = 0; slot->taint && i < slot->count; i++)
    if (slot->taint[i]) return ir_eval_range_fails(run, &run->range_errors[slot->taint[i] - 1]);
  return IR_OK;
}

static ir_status copy_result(ir_eval_run *run, ir_ref root, ir_eval_result *out) {
  const ir_slot *slot = &run->slots[run->slot_number[root]];
  ir_status status = check_taint(run, slot);
  if (status) return status;
  *out =
      (ir_eval_result){.dtype = slot->dtype, .rank = slot->rank, .count = slot->count, .bytes = slot->bytes};
  memcpy(out->shape, slot->shape, sizeof out->shape);
  if (!(out->data = ir_alloc(run->mem, out->bytes))) return ir_eval_no_memory(run, root);
  if (out->bytes) memcpy(out->data, slot->data, out->bytes);
  return IR_OK;
}

static bool is_among(const ir_ref *list, size_t n, ir_ref ref) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == ref) return true;
  return false;
}

ir_status ir_eval_nodes(ir_eval_run *run, const ir_ref *roots, size_t n) {
  for (size_t i = 0; i < run->live_count; i++) {
    ir_eval_release(run, &run->slots[i]);
    run->slots[i] = (ir_slot){0};
  }
  count_uses(run, roots, n);
  for (size_t i = 0; i < run->live_count; i++) {
    if (!run->slots[i].needed) continue;
    ir_ref ref = run->live[i];
    if (!ir_task_tell(run->g->task, "evaluating", (int64_t)i, (int64_t)run->live_count))
      return ir_cancelled(run->error);
    ir_status status = eval_node(run, ref, &run->slots[i]);
    const ir_node *node = ir_get(run->g, ref);
    if (!status && run->observer) status = ir_eval_show(run, ref, read_count(node), is_among(roots, n, ref));
    if (status) return status;
    for (uint32_t s = 0; s < read_count(node); s++) {
      ir_slot *source = &run->slots[run->slot_number[node->src[s]]];
      if (--source->uses == 0) ir_eval_release(run, source);
    }
  }
  return IR_OK;
}

void ir_eval_run_free(ir_eval_run *run) {
  for (size_t i = 0; run->slots && i < run->live_count; i++) ir_eval_release(run, &run->slots[i]);
  ir_eval_free_calls(run);
  ir_eval_free_programs(run);
  ir_free(run->mem, run->slots, run->live_count * sizeof *run->slots);
  ir_free(run->mem, run->live, run->live_cap * sizeof *run->live);
  ir_free(run->mem, run->slot_number, run->table_count * sizeof *run->slot_number);
  ir_free(run->mem, run->index, run->table_count * sizeof *run->index);
  ir_free(run->mem, run->index_known, run->table_count);
  ir_free(run->mem, run->range_errors, run->range_error_cap * sizeof *run->range_errors);
}

/* Evaluates what the run describes. */
static ir_status evaluate(ir_eval_run *run, const ir_ref *roots, size_t n, ir_eval_result *out) {
  for (size_t i = 0; i < n; i++) out[i] = (ir_eval_result){0};
  ir_status status = ir_eval_prepare(run, roots, n);
  if (!status) status = ir_eval_nodes(run, roots, n);
  for (size_t i = 0; i < n && !status; i++) status = copy_result(run, roots[i], &out[i]);
  ir_eval_run_free(run);
  if (status) ir_eval_free(run->g, out, n);
  return status;
}

ir_status ir_eval_finding(const ir_graph *g, const ir_ref *roots, size_t n, const ir_binding_input *inputs,
                          size_t input_count, const ir_var_value *vars, size_t var_count, bool at_once,
                          ir_eval_result *out, ir_eval_fault *fault, ir_error *error) {
  ir_error unused = {0};
  ir_eval_run run = {.g = g, .mem = g->mem, .error = error ? error : &unused, .inputs = inputs, .vars = vars};
  run.input_count = input_count;
  run.var_count = var_count;
  run.fault = fault;
  run.at_once = at_once;
  if (fault) *fault = (ir_eval_fault){0};
  return evaluate(&run, roots, n, out);
}

ir_status ir_eval_on(const ir_graph *g, const ir_ref *roots, size_t n, const ir_eval_device *device,
                     ir_eval_mesh *mesh, ir_eval_result *out, ir_error *error) {
  ir_eval_run run = {.g = g,
                     .mem = g->mem,
                     .error = error,
                     .inputs = device->inputs,
                     .vars = device->vars,
                     .input_count = device->input_count,
                     .var_count = device->var_count,
                     .mesh = mesh};
  return evaluate(&run, roots, n, out);
}

ir_status ir_eval(const ir_graph *g, const ir_ref *roots, size_t n, const ir_binding_input *inputs,
                  size_t input_count, const ir_var_value *vars, size_t var_count, ir_eval_result *out,
                  ir_error *error) {
  return ir_eval_finding(g, roots, n, inputs, input_count, vars, var_count, false, out, NULL, error);
}

void ir_eval_free(const ir_graph *g, ir_eval_result *results, size_t n) {
  for (size_t i = 0; i < n; i++) {
    ir_free(g->mem, results[i].data, results[i].bytes);
    results[i] = (ir_eval_result){0};
  }
}
