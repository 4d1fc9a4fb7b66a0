/* Index expressions as lists of operations: built from a graph, and evaluated with checks for overflow. */
#include "runtime/program/values.h"

#include "ir/arith.h"

int rt_value_operands(uint32_t op) {
  switch (op) {
  case IR_OP_CONST:
  case IR_OP_VAR: return 0;
  case IR_OP_NEG:
  case IR_OP_NOT:
  case IR_OP_ABS: return 1;
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
  case IR_OP_MIN:
  case IR_OP_MAX:
  case IR_OP_AND:
  case IR_OP_OR: return 2;
  case IR_OP_WHERE: return 3;
  default: return op < IR_OP_COUNT && ir_ops[op].cls == IR_CLASS_COMPARE ? 2 : -1;
  }
}

static int64_t number_of(rt_value v) { return (int64_t)((uint64_t)v.c << 32 | v.b); }

static int64_t evaluate_binary(uint32_t op, int64_t a, int64_t b) {
  int64_t r;
  switch (op) {
  case IR_OP_ADD: return ir_add_ok(a, b, &r) ? r : RT_NO_VALUE;
  case IR_OP_SUB: return ir_sub_ok(a, b, &r) ? r : RT_NO_VALUE;
  case IR_OP_MUL: return ir_mul_ok(a, b, &r) ? r : RT_NO_VALUE;
  case IR_OP_FLOORDIV: return b >= 1 ? ir_floor_div(a, b) : RT_NO_VALUE;
  case IR_OP_MOD: return b >= 1 ? ir_floor_mod(a, b) : RT_NO_VALUE;
  case IR_OP_MIN: return a < b ? a : b;
  case IR_OP_MAX: return a > b ? a : b;
  case IR_OP_EQ: return a == b;
  case IR_OP_NE: return a != b;
  case IR_OP_LT: return a < b;
  case IR_OP_LE: return a <= b;
  case IR_OP_GT: return a > b;
  case IR_OP_GE: return a >= b;
  case IR_OP_AND: return a && b;
  default: return a || b; /* OR */
  }
}

void rt_values_evaluate(const rt_value *list, size_t count, const int64_t *vars, int64_t *out) {
  for (size_t i = 0; i < count; i++) {
    const rt_value v = list[i];
    switch (v.op) {
    case IR_OP_CONST: out[i] = number_of(v); break;
    case IR_OP_VAR: out[i] = vars[v.a]; break;
    case IR_OP_NEG: out[i] = out[v.a] == RT_NO_VALUE ? RT_NO_VALUE : -out[v.a]; break;
    case IR_OP_ABS: out[i] = out[v.a] == RT_NO_VALUE || out[v.a] >= 0 ? out[v.a] : -out[v.a]; break;
    case IR_OP_NOT: out[i] = out[v.a] == RT_NO_VALUE ? RT_NO_VALUE : !out[v.a]; break;
    case IR_OP_WHERE: out[i] = out[v.a] == RT_NO_VALUE ? RT_NO_VALUE : out[v.a] ? out[v.b] : out[v.c]; break;
    default:
      out[i] = out[v.a] == RT_NO_VALUE || out[v.b] == RT_NO_VALUE ? RT_NO_VALUE
                                                                  : evaluate_binary(v.op, out[v.a], out[v.b]);
    }
  }
}

uint32_t rt_value_add(rt_value_list *list, ir_op op, uint32_t a, uint32_t b, uint32_t c) {
  if (list->count >= UINT32_MAX - 1 || !IR_RESERVE(list->mem, list->ops, list->cap, list->count + 1)) {
    list->failed = true;
    return 0;
  }
  list->ops[list->count] = (rt_value){(uint32_t)op, a, b, c};
  return (uint32_t)list->count++;
}

uint32_t rt_value_number(rt_value_list *list, int64_t number) {
  return rt_value_add(list, IR_OP_CONST, 0, (uint32_t)(uint64_t)number, (uint32_t)((uint64_t)number >> 32));
}

/* Append a node whose sources are in the list already. */
static bool append_node(rt_value_list *list, const ir_node *n, ir_ref ref, uint32_t *number_of) {
  int operands = rt_value_operands(n->op);
  bool chain = n->op == IR_OP_ADD || n->op == IR_OP_MUL || n->op == IR_OP_AND || n->op == IR_OP_OR;
  if (n->op == IR_OP_CONST) {
    number_of[ref] = rt_value_number(list, n->arg) + 1;
    return !ir_is_float((ir_dtype)n->dtype);
  }
  if (operands < 1 || (chain ? n->nsrc < 1 : n->nsrc != (uint32_t)operands)) return false;
  uint32_t s[3] = {0, 0, 0};
  for (uint32_t i = 0; i < n->nsrc; i++) {
    if (number_of[n->src[i]] == 0) return false;
    if (i < 3) s[i] = number_of[n->src[i]] - 1;
  }
  uint32_t made = s[0];
  if (!chain) made = rt_value_add(list, (ir_op)n->op, s[0], s[1], s[2]);
  for (uint32_t i = 1; chain && i < n->nsrc; i++)
    made = rt_value_add(list, (ir_op)n->op, made, number_of[n->src[i]] - 1, 0);
  number_of[ref] = made + 1;
  return true;
}

ir_status rt_values_append(rt_value_list *list, const ir_graph *graph, const ir_ref *roots, size_t n,
                           uint32_t *number_of, ir_error *error) {
  ir_ref *all = NULL;
  size_t count = 0, cap = 0;
  ir_status status = ir_reachable(graph, roots, n, &all, &count, &cap);
  if (status) ir_fail(error, status, "out of memory making a plan");
  for (size_t i = 0; i < count && !status; i++) {
    const ir_node *node = ir_get(graph, all[i]);
    if (number_of[all[i]] || append_node(list, node, all[i], number_of)) continue;
    status = ir_fail(error, IR_ERR_INTERNAL, "plan: a size is made with '%s', which is no index arithmetic",
                     ir_ops[node->op].text);
  }
  if (!status && list->failed) status = ir_fail(error, IR_ERR_MEMORY, "out of memory making a plan");
  ir_free(graph->mem, all, cap * sizeof *all);
  return status;
}
