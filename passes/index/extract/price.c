/* Operations of printed expressions. */
#include "cheapest.h"

enum {
  NODES = 256, /* that are counted [60 in tests] */
  DIVISION = 5 /* operations that one division or remainder counts as */
};

static bool is_leaf(const ir_graph *g, const ir_node *n) {
  if (n->op == IR_OP_CONST || n->op == IR_OP_RANGE || n->op == IR_OP_VAR || n->op == IR_OP_BOUND || !n->nsrc)
    return true;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    ir_dtype type = ir_dtype_of(g, n->src[i]);
    if (type != IR_INDEX && type != IR_BOOL) return true;
  }
  return false;
}

static int operations_of(const ir_graph *g, const ir_node *n) {
  int64_t by;
  switch ((ir_op)n->op) {
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return DIVISION;
  case IR_OP_NOT: return 0; /* of a comparison it is the opposite one */
  case IR_OP_MUL: return (int)n->nsrc - 1 - (n->nsrc == 2 && ir_is_const(g, n->src[1], &by) && by == 1);
  default: return n->nsrc < 2 ? 1 : n->op == IR_OP_WHERE ? 1 : (int)n->nsrc - 1;
  }
}

int extract_operations(const ir_graph *g, const ir_ref *roots, uint32_t count) {
  ir_ref seen[NODES];
  uint32_t nodes = 0;
  int sum = 0;
  for (uint32_t i = 0, at = 0; i < count || at < nodes;) {
    ir_ref found[1] = {i < count ? roots[i] : 0};
    const ir_node *n = i < count ? NULL : ir_get(g, seen[at]);
    uint32_t many = n ? is_leaf(g, n) ? 0 : n->nsrc : 1;
    if (n && many) sum += operations_of(g, n);
    for (uint32_t k = 0; k < many; k++) {
      ir_ref ref = n ? n->src[k] : found[0];
      uint32_t j = 0;
      while (j < nodes && seen[j] != ref) j++;
      if (j < nodes) continue;
      if (nodes == NODES) return -1;
      seen[nodes++] = ref;
    }
    if (n) at++;
    else i++;
  }
  return sum;
}

int extract_form_operations(const pass_linear *form) {
  int sum = (form->count ? (int)form->count - 1 : 0) + (form->constant != 0 && form->count);
  for (uint32_t i = 0; i < form->count; i++) sum += form->term[i].coef != 1 && form->term[i].coef != -1;
  return sum;
}
