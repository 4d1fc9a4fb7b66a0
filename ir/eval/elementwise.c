/* Elementwise operations with NumPy broadcasting. Each combination of operation and dtypes is compiled once
 * per run to a list of primitive steps for one element: the operation itself, or the expansion of an
 * elementary function, built in a scratch graph. */
#include "impl.h"

#include "ir/elementary/elementary.h"
#include "ir/mesh/sharding.h"

#include <string.h>

enum { OPERANDS = 3 };

/* The operation on placeholders, expanded if it is an elementary function. */
static ir_ref scratch_expression(ir_graph *scratch, const ir_scalar_program *p, uint32_t operands) {
  ir_ref src[OPERANDS];
  for (uint32_t i = 0; i < operands; i++)
    src[i] = ir_make(scratch, IR_OP_INPUT, (ir_dtype)p->from[i], i, NULL, 0);
  ir_ref node = ir_make(scratch, (ir_op)p->op, (ir_dtype)p->type, 0, src, operands);
  /* a remainder is exact, so the C library's needs no expansion; FLOORDIV is computed from it */
  bool divides = p->op == IR_OP_FLOORDIV || p->op == IR_OP_MOD;
  return node && !divides ? ir_elementary(scratch, node) : node;
}

static bool add_steps(ir_eval_run *run, ir_scalar_program *p, const ir_graph *scratch, const ir_ref *order,
                      size_t count, uint32_t *slot_of) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(scratch, order[i]);
    if (n->op == IR_OP_TUPLE) continue;
    uint32_t slot = n->op == IR_OP_INPUT ? (uint32_t)n->arg : (uint32_t)(OPERANDS + i);
    slot_of[order[i]] = p->root = slot;
    p->values[slot] = (ir_value){.i = n->arg};
    if (n->op == IR_OP_INPUT || n->op == IR_OP_CONST) continue;
    if (!IR_RESERVE(run->mem, p->steps, p->step_cap, p->step_count + 1)) return false;
    ir_scalar_step *step = &p->steps[p->step_count++];
    *step = (ir_scalar_step){
        .op = n->op, .type = n->dtype, .from = (uint8_t)ir_dtype_of(scratch, n->src[0]), .result = slot};
    for (uint32_t s = 0; s < n->nsrc; s++) step->arg[s] = slot_of[n->src[s]];
  }
  return true;
}

static ir_status compile_scalar(ir_eval_run *run, ir_ref ref, ir_scalar_program *p, uint32_t operands) {
  ir_graph scratch;
  ir_error quiet = {0}; /* only memory can be short here */
  if (ir_graph_init(&scratch, run->mem, &quiet)) return ir_eval_no_memory(run, ref);
  ir_ref root = scratch_expression(&scratch, p, operands), *order = NULL;
  size_t count = 0, cap = 0, table = scratch.count * sizeof(uint32_t);
  uint32_t *slot_of = ir_alloc(run->mem, table);
  bool ok = root && slot_of && ir_reachable(&scratch, &root, 1, &order, &count, &cap) == IR_OK;
  if (ok) {
    p->value_count = OPERANDS + count;
    ok = (p->values = ir_alloc(run->mem, p->value_count * sizeof *p->values)) != NULL;
  }
  if (ok) memset(p->values, 0, p->value_count * sizeof *p->values);
  ok = ok && add_steps(run, p, &scratch, order, count, slot_of);
  ir_free(run->mem, slot_of, table);
  ir_free(run->mem, order, cap * sizeof *order);
  ir_graph_free(&scratch);
  /* if memory was short on the way, the expression may be incomplete */
  return ok && !quiet.status ? IR_OK : ir_eval_no_memory(run, ref);
}

static ir_status program_for(ir_eval_run *run, ir_ref ref, const ir_slot *const *operand, uint32_t operands,
                             ir_scalar_program **out) {
  const ir_node *n = ir_get(run->g, ref);
  ir_scalar_program key = {.op = n->op, .type = n->dtype};
  for (uint32_t i = 0; i < operands; i++) key.from[i] = (uint8_t)operand[i]->dtype;
  for (size_t i = 0; i < run->program_count; i++) {
    ir_scalar_program *p = &run->programs[i];
    if (p->op == key.op && p->type == key.type && memcmp(p->from, key.from, sizeof key.from) == 0)
      return *out = p, IR_OK;
  }
  if (!IR_RESERVE(run->mem, run->programs, run->program_cap, run->program_count + 1))
    return ir_eval_no_memory(run, ref);
  *out = &run->programs[run->program_count++];
  **out = key;
  ir_status status = compile_scalar(run, ref, *out, operands);
  if (status) (*out)->op = IR_OP_ERROR; /* no key matches it */
  return status;
}

void ir_eval_free_programs(ir_eval_run *run) {
  for (size_t i = 0; i < run->program_count; i++) {
    ir_scalar_program *p = &run->programs[i];
    ir_free(run->mem, p->steps, p->step_cap * sizeof *p->steps);
    ir_free(run->mem, p->values, p->value_count * sizeof *p->values);
  }
  ir_free(run->mem, run->programs, run->program_cap * sizeof *run->programs);
}

static ir_value run_scalar(ir_scalar_program *p) {
  for (size_t i = 0; i < p->step_count; i++) {
    const ir_scalar_step *s = &p->steps[i];
    ir_value v[OPERANDS] = {p->values[s->arg[0]], p->values[s->arg[1]], p->values[s->arg[2]]};
    p->values[s->result] = ir_scalar_apply((ir_op)s->op, (ir_dtype)s->type, (ir_dtype)s->from, v);
  }
  return p->values[p->root];
}

static ir_status broadcast_shape(ir_eval_run *run, ir_ref ref, const ir_slot *const *operand,
                                 uint32_t operands, ir_slot *out) {
  char left[IR_SHAPE_TEXT], right[IR_SHAPE_TEXT];
  out->rank = 0;
  for (uint32_t i = 0; i < operands; i++)
    out->rank = operand[i]->rank > out->rank ? operand[i]->rank : out->rank;
  for (uint32_t k = 0; k < out->rank; k++) out->shape[k] = 1;
  for (uint32_t i = 0; i < operands; i++)
    for (uint32_t k = 0; k < operand[i]->rank; k++) {
      int64_t size = operand[i]->shape[k], *have = &out->shape[k + out->rank - operand[i]->rank];
      if (*have == 1) *have = size;
      if (size != 1 && size != *have)
        return ir_fail(
            run->error, IR_ERR_INVALID, "%s: shapes %s and %s do not broadcast; sizes must be equal or 1",
            ir_ops[ir_op_of(run->g, ref)].text, ir_eval_shape_text(operand[0]->shape, operand[0]->rank, left),
            ir_eval_shape_text(operand[i]->shape, operand[i]->rank, right));
    }
  return IR_OK;
}

/* Strides of an operand over the result's axes: 0 where it is broadcast. */
static void operand_strides(const ir_slot *operand, const ir_slot *out, int64_t *strides) {
  int64_t own[IR_MAX_RANK];
  uint32_t missing = out->rank - operand->rank;
  ir_eval_strides(operand->shape, operand->rank, own);
  for (uint32_t k = 0; k < out->rank; k++)
    strides[k] = k < missing || operand->shape[k - missing] == 1 ? 0 : own[k - missing];
}

/* BITCAST, STORED and FOUND copy bits, so that every NaN keeps its payload. */
static ir_status eval_copy(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  const ir_slot *from = ir_eval_operand(run, ref, 0);
  if (ir_dtypes[from->dtype].bytes != ir_dtypes[out->dtype].bytes)
    return ir_fail(run->error, IR_ERR_INVALID, "bitcast: %s and %s differ in size",
                   ir_dtypes[from->dtype].name, ir_dtypes[out->dtype].name);
  out->rank = from->rank;
  memcpy(out->shape, from->shape, sizeof out->shape);
  ir_status status = ir_eval_alloc(run, ref, out, from->taint != NULL);
  if (status) return status;
  if (out->bytes) memcpy(out->data, from->data, out->bytes);
  if (out->taint && out->count) memcpy(out->taint, from->taint, (size_t)out->count * sizeof *out->taint);
  for (size_t i = 0; out->dtype == IR_BOOL && i < out->bytes; i++) out->data[i] = out->data[i] != 0;
  return IR_OK;
}

ir_status ir_eval_elementwise(ir_eval_run *run, ir_ref ref, ir_slot *out) {
  ir_op op = ir_op_of(run->g, ref);
  if (op == IR_OP_BITCAST || op == IR_OP_STORED || ir_only_divides(op) || op == IR_OP_FOUND)
    return eval_copy(run, ref, out);
  const ir_slot *operand[OPERANDS];
  int64_t strides[OPERANDS][IR_MAX_RANK], coord[IR_MAX_RANK] = {0};
  uint32_t operands = ir_operand_count(ir_get(run->g, ref));
  bool tainted = false;
  for (uint32_t k = 0; k < operands; k++) {
    operand[k] = ir_eval_operand(run, ref, k);
    tainted |= operand[k]->taint != NULL;
  }
  ir_scalar_program *program = NULL;
  ir_status status = broadcast_shape(run, ref, operand, operands, out);
  if (!status) status = ir_eval_alloc(run, ref, out, tainted);
  if (!status) status = program_for(run, ref, operand, operands, &program);
  if (status) return status;
  for (uint32_t k = 0; k < operands; k++) operand_strides(operand[k], out, strides[k]);
  for (int64_t i = 0; i < out->count; i++, ir_eval_next(coord, out->shape, out->rank)) {
    for (uint32_t k = 0; k < operands; k++) {
      int64_t at = 0;
      for (uint32_t a = 0; a < out->rank; a++) at += coord[a] * strides[k][a];
      program->values[k] = ir_value_load(operand[k]->data + (size_t)at * ir_dtypes[operand[k]->dtype].bytes,
                                         operand[k]->dtype);
      if (operand[k]->taint && !out->taint[i]) out->taint[i] = operand[k]->taint[at];
    }
    ir_value_store(out->data + (size_t)i * ir_dtypes[out->dtype].bytes, out->dtype, run_scalar(program));
  }
  return IR_OK;
}
