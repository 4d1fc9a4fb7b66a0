/* What one element of a value costs, for choices that are made before there are loops. */
#include "cost.h"

#include "ir/elementary/elementary.h"
#include "passes/patterns/epilogue.h"

/* Half and twice REDUCTION_COST changes no workload's loops. */
enum {
  REDUCTION_COST = 16 /* of a reduction's value, for what is added to it by fusing */
};

/* Elementary functions: the polynomial and the reduction of its argument. Measured on 8,192 elements in a
 * cache, AVX-512 of a Zen 4, beyond the time of `neg`, with an addition to a vector in registers as unit; f64
 * has half the elements in a vector, and longer polynomials. Of f16 and bf16 f32's are computed. */
static const struct elementary_cost {
  uint8_t op, f32, f64;
} elementary[] = {
    {IR_OP_EXP, 12, 21},     {IR_OP_EXP2, 12, 13},   {IR_OP_LOG, 16, 32},       {IR_OP_LOG2, 18, 47},
    {IR_OP_SIN, 17, 36},     {IR_OP_COS, 21, 44},    {IR_OP_TANH, 23, 34},      {IR_OP_ERF, 34, 87},
    {IR_OP_SIGMOID, 23, 34}, {IR_OP_EXPM1, 21, 32},  {IR_OP_LOG1P, 29, 48},     {IR_OP_TAN, 123, 93},
    {IR_OP_ASIN, 18, 35},    {IR_OP_ACOS, 24, 41},   {IR_OP_ATAN, 23, 57},      {IR_OP_SINH, 41, 61},
    {IR_OP_COSH, 25, 39},    {IR_OP_ASINH, 88, 137}, {IR_OP_ACOSH, 117, 161},   {IR_OP_ATANH, 50, 63},
    {IR_OP_RSQRT, 22, 38},   {IR_OP_GELU, 58, 92},   {IR_OP_GELU_TANH, 29, 44}, {IR_OP_POW, 190, 162}};
enum { OTHER_ELEMENTARY = 12 }; /* as exp: of erfinv and rounded quotients, which are not measured */

static int cost_of_elementary(const ir_node *n) {
  for (size_t i = 0; i < sizeof elementary / sizeof *elementary; i++)
    if (elementary[i].op == n->op) return n->dtype == IR_F64 ? elementary[i].f64 : elementary[i].f32;
  return OTHER_ELEMENTARY;
}

/* Results of arithmetic in f16 and bf16 are computed in f32 and rounded. */
enum {
  ROUNDED_F16 = 5,  /* measured as above: three operations take 0.14 ns an element more than of f32 */
  ROUNDED_BF16 = 10 /* measured as above: 0.37 ns more */
};

static int cost_of_rounding(const ir_node *n) {
  bool computed =
      n->op == IR_OP_CAST || ((ir_ops[n->op].cls == IR_CLASS_BINARY || ir_ops[n->op].cls == IR_CLASS_UNARY) &&
                              n->op != IR_OP_NEG && n->op != IR_OP_ABS);
  return !computed ? 0 : n->dtype == IR_F16 ? ROUNDED_F16 : n->dtype == IR_BF16 ? ROUNDED_BF16 : 0;
}

static int cost_of_operation(const ir_node *n) {
  bool elementary = ir_is_elementary((ir_op)n->op, (ir_dtype)n->dtype);
  switch ((int)n->op) {
  case IR_OP_RELU: return 2;
  case IR_OP_DIV:
  case IR_OP_SQRT: return 4;
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return elementary ? OTHER_ELEMENTARY : 4;
  default: break;
  }
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE) return REDUCTION_COST;
  return elementary ? cost_of_elementary(n) : pass_is_elementwise(n);
}

int pass_element_cost(const ir_node *n) { return cost_of_operation(n) + cost_of_rounding(n); }
