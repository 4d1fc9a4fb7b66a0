/* Evaluation of index and bool expressions over variables and ranges, compiled to a list of steps over
 * numbered slots. */
#include "impl.h"

#include "ir/arith.h"

#include <string.h>

struct ir_index_step {
  uint8_t op, is_index;
  uint32_t slot, first_arg, arg_count; /* RANGE: arg_count 0, first_arg its axis */
};

static bool fold_op(ir_op op, int64_t a, int64_t b, int64_t *out) {
  switch ((int)op) {
  case IR_OP_ADD: return ir_add_ok(a, b, out);
  case IR_OP_SUB: return ir_sub_ok(a, b, out);
  case IR_OP_MUL: return ir_mul_ok(a, b, out);
  case IR_OP_MIN: *out = a < b ? a : b; return true;
  case IR_OP_MAX: *out = a > b ? a : b; return true;
  case IR_OP_AND: *out = a & b; return true;
  case IR_OP_OR: *out = a | b; return true;
  case IR_OP_XOR: *out = a ^ b; return true;
  case IR_OP_FLOORDIV: *out = b >= 1 ? ir_floor_div(a, b) : 0; return b >= 1;
  case IR_OP_MOD: *out = b >= 1 ? ir_floor_mod(a, b) : 0; return b >= 1;
  case IR_OP_EQ: *out = a == b; return true;
  case IR_OP_NE: *out = a != b; return true;
  case IR_OP_LT: *out = a < b; return true;
  case IR_OP_LE: *out = a <= b; return true;
  case IR_OP_GT: *out = a > b; return true;
  default: *out = a >= b; return true;
  }
}

bool ir_index_supported(ir_op op, uint32_t count) {
  switch ((int)op) {
  case IR_OP_ADD:
  case IR_OP_MUL:
  case IR_OP_MIN:
  case IR_OP_MAX:
  case IR_OP_AND:
  case IR_OP_OR:
  case IR_OP_XOR: return count >= 1;
  case IR_OP_NEG:
  case IR_OP_NOT: return count == 1;
  case IR_OP_WHERE: return count == 3;
  case IR_OP_SUB:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return count == 2;
  default: return ir_ops[op].cls == IR_CLASS_COMPARE && count == 2;
  }
}

ir_status ir_index_apply(ir_op op, bool is_index, const int64_t *v, uint32_t count, int64_t *out,
                         ir_error *error) {
  int64_t acc = v[0];
  if (op == IR_OP_WHERE) return *out = v[0] ? v[1] : v[2], IR_OK;
  if (op == IR_OP_NOT) return *out = is_index ? ~acc : !acc, IR_OK;
  if (op == IR_OP_NEG)
    return *out = 0,
           ir_sub_ok(0, acc, out)
               ? IR_OK
               : ir_fail(error, IR_ERR_INVALID, "index expression: -%lld overflows 64 bits", (long long)acc);
  for (uint32_t i = 1; i < count; i++) {
    int64_t before = acc;
    if (fold_op(op, before, v[i], &acc)) continue;
    const char *text = ir_ops[op].infix;
    if (op == IR_OP_FLOORDIV || op == IR_OP_MOD)
      return ir_fail(error, IR_ERR_INVALID,
                     "index expression: %lld %s %lld has a divisor below 1; divisors must be at least 1",
                     (long long)before, text, (long long)v[i]);
    return ir_fail(error, IR_ERR_INVALID, "index expression: %lld %s %lld overflows 64 bits",
                   (long long)before, text, (long long)v[i]);
  }
  *out = acc;
  return IR_OK;
}

ir_status ir_var_lookup(const ir_graph *g, ir_ref ref, const ir_var_value *vars, size_t count, int64_t *out,
                        ir_error *error) {
  const ir_node *n = ir_get(g, ref);
  const char *name = ir_name_text(g, n->arg);
  for (size_t i = 0; i < count; i++) {
    if (vars[i].ref != ref) continue;
    int64_t value = *out = vars[i].value, lo, hi, divisor;
    if (n->nsrc != 3 || !ir_is_const(g, n->src[0], &lo) || !ir_is_const(g, n->src[1], &hi) ||
        !ir_is_const(g, n->src[2], &divisor))
      return IR_OK;
    if (value < lo || value > hi)
      return ir_fail(error, IR_ERR_INVALID, "variable %s = %lld is outside its declared range %lld..%lld",
                     name, (long long)value, (long long)lo, (long long)hi);
    if (divisor > 1 && value % divisor != 0)
      return ir_fail(error, IR_ERR_INVALID,
                     "variable %s = %lld is not a multiple of its declared divisor %lld", name,
                     (long long)value, (long long)divisor);
    return IR_OK;
  }
  return ir_fail(error, IR_ERR_INVALID,
                 "variable %s has no value; bind every variable that a size depends on", name);
}

static ir_status out_of_memory(ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "out of memory compiling an index expression");
}

/* The number of sources that are evaluated: neither the extent of a RANGE nor the bounds of a VAR. */
static uint32_t operands_of(const ir_node *n) {
  return n->op == IR_OP_RANGE || n->op == IR_OP_VAR ? 0 : n->nsrc;
}

/* The nodes reachable from the roots, ascending, and the slot of each that is needed. Time depends on their
 * number, not on the size of the graph. */
typedef struct reached {
  ir_ref *nodes;
  size_t count, cap;
  uint32_t *slot_of; /* same indices as nodes */
} reached;

static uint32_t *slot_of(const reached *r, ir_ref ref) {
  return &r->slot_of[ir_find_ref(r->nodes, r->count, ref)];
}

static ir_status add_step(ir_index_program *p, const ir_graph *g, ir_ref ref, uint32_t slot, const reached *r,
                          const ir_var_value *vars, size_t var_count, ir_error *error) {
  const ir_node *n = ir_get(g, ref);
  ir_op op = (ir_op)n->op;
  uint32_t count = operands_of(n);
  if (op == IR_OP_CONST && !ir_is_float((ir_dtype)n->dtype)) return p->slots[slot] = n->arg, IR_OK;
  if (op == IR_OP_VAR) return ir_var_lookup(g, ref, vars, var_count, &p->slots[slot], error);
  if (op != IR_OP_RANGE && (!ir_index_supported(op, count) || (n->dtype != IR_INDEX && n->dtype != IR_BOOL)))
    return ir_fail(error, IR_ERR_UNSUPPORTED,
                   "index expression: %s of %s cannot be evaluated from variables and ranges alone",
                   ir_ops[op].text, ir_dtypes[n->dtype].name);
  if (!IR_RESERVE(p->mem, p->steps, p->step_cap, p->step_count + 1) ||
      !IR_RESERVE(p->mem, p->args, p->arg_cap, p->arg_count + count))
    return out_of_memory(error);
  p->steps[p->step_count++] = (struct ir_index_step){.op = (uint8_t)op,
                                                     .is_index = n->dtype == IR_INDEX,
                                                     .slot = slot,
                                                     .first_arg = op == IR_OP_RANGE ? (uint32_t)ir_arg_int(n)
                                                                                    : (uint32_t)p->arg_count,
                                                     .arg_count = count};
  for (uint32_t i = 0; i < count; i++) p->args[p->arg_count++] = *slot_of(r, n->src[i]);
  if (count > p->scratch_count) p->scratch_count = count;
  return IR_OK;
}

/* Marks the nodes that the roots need; extents of ranges and bounds of variables are not needed. Returns
 * their number. */
static uint32_t mark_needed(const ir_graph *g, const reached *r) {
  uint32_t count = 0;
  for (size_t i = r->count; i-- > 0;) {
    if (!r->slot_of[i]) continue;
    count++;
    const ir_node *n = ir_get(g, r->nodes[i]);
    for (uint32_t k = 0; k < operands_of(n); k++) *slot_of(r, n->src[k]) = 1;
  }
  return count;
}

static ir_status compile_index(ir_index_program *p, const ir_graph *g, const ir_ref *roots, size_t n,
                               const reached *r, const ir_var_value *vars, size_t var_count,
                               ir_error *error) {
  for (size_t i = 0; i < n; i++) *slot_of(r, roots[i]) = 1;
  p->slot_count = mark_needed(g, r);
  p->slots = ir_alloc(p->mem, p->slot_count * sizeof *p->slots);
  p->roots = ir_alloc(p->mem, n * sizeof *p->roots);
  if (!p->slots || !p->roots) return out_of_memory(error);
  uint32_t slot = 0;
  for (size_t i = 0; i < r->count; i++) {
    if (!r->slot_of[i]) continue;
    r->slot_of[i] = slot;
    ir_status status = add_step(p, g, r->nodes[i], slot++, r, vars, var_count, error);
    if (status) return status;
  }
  for (size_t i = 0; i < n; i++) p->roots[i] = *slot_of(r, roots[i]);
  p->scratch = ir_alloc(p->mem, p->scratch_count * sizeof *p->scratch);
  return p->scratch ? IR_OK : out_of_memory(error);
}

ir_status ir_index_compile(const ir_graph *g, const ir_ref *roots, size_t n, const ir_var_value *vars,
                           size_t var_count, ir_index_program *out, ir_error *error) {
  *out = (ir_index_program){.mem = g->mem, .root_count = n};
  reached r = {0};
  for (size_t i = 0; i < n; i++)
    if (roots[i] == 0)
      return ir_fail(error, IR_ERR_INVALID, "index expression: the error value has no value");
  bool known = ir_reachable(g, roots, n, &r.nodes, &r.count, &r.cap) == IR_OK;
  r.slot_of = known ? ir_alloc(g->mem, r.count * sizeof *r.slot_of) : NULL;
  ir_status status = IR_OK;
  if (r.slot_of) {
    memset(r.slot_of, 0, r.count * sizeof *r.slot_of);
    status = compile_index(out, g, roots, n, &r, vars, var_count, error);
  } else {
    status = out_of_memory(error);
  }
  ir_free(g->mem, r.slot_of, r.count * sizeof *r.slot_of);
  ir_free(g->mem, r.nodes, r.cap * sizeof *r.nodes);
  if (status) ir_index_free(out);
  return status;
}

ir_status ir_index_run(const ir_index_program *p, const int64_t *ranges, size_t range_count, int64_t *out,
                       ir_error *error) {
  for (size_t i = 0; i < p->step_count; i++) {
    const struct ir_index_step *s = &p->steps[i];
    if (s->op == IR_OP_RANGE) {
      if (s->first_arg >= range_count)
        return ir_fail(error, IR_ERR_INVALID,
                       "index expression: the range of axis %u has no value, only %zu are given",
                       s->first_arg, range_count);
      p->slots[s->slot] = ranges[s->first_arg];
      continue;
    }
    for (uint32_t k = 0; k < s->arg_count; k++) p->scratch[k] = p->slots[p->args[s->first_arg + k]];
    ir_status status =
        ir_index_apply((ir_op)s->op, s->is_index, p->scratch, s->arg_count, &p->slots[s->slot], error);
    if (status) return status;
  }
  for (size_t i = 0; i < p->root_count; i++) out[i] = p->slots[p->roots[i]];
  return IR_OK;
}

void ir_index_free(ir_index_program *p) {
  if (!p->mem) return;
  ir_free(p->mem, p->steps, p->step_cap * sizeof *p->steps);
  ir_free(p->mem, p->args, p->arg_cap * sizeof *p->args);
  ir_free(p->mem, p->slots, p->slot_count * sizeof *p->slots);
  ir_free(p->mem, p->scratch, p->scratch_count * sizeof *p->scratch);
  ir_free(p->mem, p->roots, p->root_count * sizeof *p->roots);
  *p = (ir_index_program){.mem = p->mem};
}

ir_status ir_eval_index(const ir_graph *g, ir_ref expr, const ir_var_value *vars, size_t var_count,
                        const int64_t *ranges, size_t range_count, int64_t *out, ir_error *error) {
  ir_index_program program;
  ir_status status = ir_index_compile(g, &expr, 1, vars, var_count, &program, error);
  if (status) return status;
  status = ir_index_run(&program, ranges, range_count, out, error);
  ir_index_free(&program);
  return status;
}
