/* About how large indices are, and so how often loops run: a variable has the value that is given, or a
 * typical one, and a loop is in its middle. */
#include "passes/cost/kernel_walk.h"

#include <math.h>

enum { TYPICAL_SIZE = 64 }; /* of a variable that nothing is known of */

static double variable_value(const kernel_walk *w, ir_ref ref) {
  for (size_t i = 0; i < w->request->var_count; i++)
    if (w->request->vars[i].ref == ref) return (double)w->request->vars[i].value;
  ir_bounds b = ir_bounds_of(w->g, ref);
  return (double)(b.lo > TYPICAL_SIZE ? b.lo : b.hi < TYPICAL_SIZE ? b.hi : TYPICAL_SIZE);
}

/* One of two values: the one that is taken where the condition is the same in the whole kernel, so that of
 * two loops, of which one runs, the other one counts nothing; else the larger one. */
static double selected(const kernel_node *condition, double x, double y) {
  return condition->varies ? fmax(x, y) : condition->value != 0 ? x : y;
}

double kernel_index_value(const kernel_walk *w, ir_ref ref) {
  const ir_node *n = ir_get(w->g, ref);
  double x = n->nsrc ? w->nodes[n->src[0]].value : 0, y = n->nsrc > 1 ? w->nodes[n->src[1]].value : 0;
  switch ((int)n->op) {
  case IR_OP_CONST: return ir_is_float((ir_dtype)n->dtype) ? 0 : (double)n->arg;
  case IR_OP_VAR: return variable_value(w, ref);
  case IR_OP_RANGE:
    if (w->nodes[ref].loop && !w->nodes[ref].is_lane) x = w->loops[w->nodes[ref].loop].trips;
    return x > 1 ? (x - 1) / 2 : 0;
  case IR_OP_ADD:
    for (uint32_t i = 1; i < n->nsrc; i++) x += w->nodes[n->src[i]].value;
    return x;
  case IR_OP_MUL:
    for (uint32_t i = 1; i < n->nsrc; i++) x *= w->nodes[n->src[i]].value;
    return x;
  case IR_OP_SUB: return x - y;
  case IR_OP_NEG: return -x;
  case IR_OP_FLOORDIV: return y > 0 ? floor(x / y) : x;
  case IR_OP_MOD: return w->nodes[n->src[0]].varies ? fmin(x, (y - 1) / 2) : y > 0 ? x - y * floor(x / y) : x;
  case IR_OP_AND: /* of bools, as are those below */
  case IR_OP_MIN:
    for (uint32_t i = 1; i < n->nsrc; i++) x = fmin(x, w->nodes[n->src[i]].value);
    return x;
  case IR_OP_OR:
  case IR_OP_MAX:
    for (uint32_t i = 1; i < n->nsrc; i++) x = fmax(x, w->nodes[n->src[i]].value);
    return x;
  case IR_OP_NOT: return x == 0;
  case IR_OP_EQ: return x == y;
  case IR_OP_NE: return x != y;
  case IR_OP_LT: return x < y;
  case IR_OP_LE: return x <= y;
  case IR_OP_GT: return x > y;
  case IR_OP_GE: return x >= y;
  case IR_OP_WHERE: return selected(&w->nodes[n->src[0]], y, w->nodes[n->src[2]].value);
  case IR_OP_BOUND:
  case IR_OP_CAST: return x;
  default: return 0;
  }
}
