/* Elementwise builders: promote, convert, broadcast, record. The registry row says which dtypes an operation
 * takes. */
#include "passes/ops/check.h"

typedef struct dtype_demand {
  bool bools, integers, floats; /* accepted */
  const char *broken, *remedy;  /* message otherwise */
} dtype_demand;

static const dtype_demand demands[] = {
    [OP_DTYPE_NUMBER] = {false, true, true, "there is no arithmetic on bool",
                         "cast to an integer or float dtype, or use and, or, not"},
    [OP_DTYPE_ROUND] = {false, true, true, "there is no arithmetic on bool",
                        "cast to an integer or float dtype"},
    [OP_DTYPE_FLOAT] = {true, true, true, "", ""},
    [OP_DTYPE_FLOAT_ONLY] = {false, false, true, "it rounds once, so it takes floats",
                             "cast to a float dtype"},
    [OP_DTYPE_BITS] = {true, true, false, "floats have no bitwise operations",
                       "takes bool or integers: cast, or bitcast"},
    [OP_DTYPE_INTEGER] = {false, true, false, "it moves the bits of integers", "cast to an integer dtype"},
    [OP_DTYPE_PROMOTED] = {true, true, true, "", ""},
    [OP_DTYPE_COMPARE] = {true, true, true, "", ""},
};

/* The dtype to compute in, from the operands' common one; IR_NONE after failing. */
static ir_dtype computed(ir_graph *g, ir_op op, ir_dtype common, ir_ref x) {
  if (common == IR_NONE) return IR_NONE;
  op_dtype_rule rule = (op_dtype_rule)op_registry[op].dtype;
  const dtype_demand *d = &demands[rule];
  bool taken = common == IR_BOOL ? d->bools : ir_is_float(common) ? d->floats : d->integers;
  if (taken) return rule == OP_DTYPE_FLOAT ? op_float_result(common) : common;
  if (op_registry[op].kind == OP_KIND_UNARY)
    op_refuse(g, "%s: %s; x has shape %s; %s", ir_ops[op].text, d->broken, OP_TYPE(x), d->remedy);
  else
    op_refuse(g, "%s: %s; the operands promote to %s; %s", ir_ops[op].text, d->broken, ir_dtypes[common].name,
              d->remedy);
  return IR_NONE;
}

static ir_ref elementwise(ir_graph *g, ir_op op, ir_dtype dtype, ir_ref *x, size_t n) {
  ir_ref dims[IR_MAX_RANK];
  size_t rank;
  if (!op_broadcast(g, ir_ops[op].text, x, n, dims, &rank)) return 0;
  return op_make(g, op, dtype, dims, rank, 0, x, n);
}

static ir_ref not_of_kind(ir_graph *g, ir_op op, const char *kind) {
  ir_fail(g->error, IR_ERR_INTERNAL, "%s is no %s operation", op < IR_OP_COUNT ? ir_ops[op].text : "?", kind);
  return 0;
}

ir_ref op_unary(ir_graph *g, ir_op op, ir_ref x) {
  if (op >= IR_OP_COUNT || op_registry[op].kind != OP_KIND_UNARY || op_registry[op].dtype == OP_DTYPE_GIVEN)
    return not_of_kind(g, op, "unary");
  x = op_default_dtype(g, x);
  if (!op_tensors(g, ir_ops[op].text, &x, 1)) return 0;
  ir_dtype dtype = computed(g, op, ir_dtype_of(g, x), x);
  if (dtype == IR_NONE) return 0;
  if (op_registry[op].dtype == OP_DTYPE_ROUND && !ir_is_float(dtype)) return x;
  x = op_convert(g, ir_ops[op].text, x, dtype);
  return x ? elementwise(g, op, dtype, &x, 1) : 0;
}

/* A constant operand's value as an integer, when it is an integer constant. */
static bool int_const(const ir_graph *g, ir_ref x, int64_t *value) {
  if (!op_is_const(g, x) || ir_is_float(ir_dtype_of(g, x)) || ir_dtype_of(g, x) == IR_U64) return false;
  *value = ir_const_value(g, x).i;
  return true;
}

/* A shift count past the width shifts all bits out, so a larger literal, which may not fit the dtype, is
 * replaced by the width. */
static bool shift_count(ir_graph *g, ir_op op, const ir_ref *x, ir_ref *count) {
  int64_t value;
  if (!int_const(g, *count, &value)) return true;
  if (value < 0) {
    op_refuse(
        g,
        "%s: the count %lld is negative; x has shape %s; a count is >= 0: shift the other way by %s instead",
        ir_ops[op].text, (long long)value, OP_TYPE(*x), op == IR_OP_SHL ? "shr" : "shl");
    return false;
  }
  int64_t width = 8 * ir_dtypes[ir_dtype_of(g, *x)].bytes;
  if (ir_get(g, *count)->weak && !ir_get(g, *x)->weak && ir_is_data_int(ir_dtype_of(g, *x)) && value > width)
    *count = op_literal_int(g, width);
  return *count != 0;
}

static bool power_exponent(ir_graph *g, ir_dtype dtype, ir_ref exponent) {
  int64_t value;
  if (ir_is_float(dtype) || !int_const(g, exponent, &value) || value >= 0) return true;
  op_refuse(g,
            "pow: %s to the power %lld is no integer; an exponent of integers is >= 0: cast the base to a "
            "float dtype",
            ir_dtypes[dtype].name, (long long)value);
  return false;
}

ir_ref op_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  if (op >= IR_OP_COUNT || op_registry[op].kind != OP_KIND_BINARY) return not_of_kind(g, op, "binary");
  const char *who = ir_ops[op].text;
  ir_ref x[2] = {a, b};
  if (!op_tensors(g, who, x, 2)) return 0;
  if ((op == IR_OP_SHL || op == IR_OP_SHR) && !shift_count(g, op, &x[0], &x[1])) return 0;
  ir_dtype dtype = computed(g, op, op_common(g, who, x, 2), x[0]);
  if (dtype == IR_NONE || (op == IR_OP_POW && !power_exponent(g, dtype, x[1]))) return 0;
  for (int i = 0; i < 2; i++)
    if (!(x[i] = op_convert(g, who, x[i], dtype))) return 0;
  return elementwise(g, op, op_registry[op].dtype == OP_DTYPE_COMPARE ? IR_BOOL : dtype, x, 2);
}

ir_ref op_logical_not(ir_graph *g, ir_ref x) { return op_unary(g, IR_OP_NOT, op_cast(g, x, IR_BOOL)); }

ir_ref op_logical(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  if (op != IR_OP_AND && op != IR_OP_OR && op != IR_OP_XOR) return not_of_kind(g, op, "logical");
  if (!op_tensors(g, ir_ops[op].text, (ir_ref[]){a, b}, 2)) return 0;
  return op_binary(g, op, op_cast(g, a, IR_BOOL), op_cast(g, b, IR_BOOL));
}

static ir_ref of_words(ir_graph *g, ir_op op, ir_ref *x) {
  const char *who = ir_ops[op].text;
  for (int i = 0; i < 2; i++)
    if (ir_dtype_of(g, x[i]) != IR_U32)
      return op_refuse(g, "%s: an operand has shape %s; words of two bf16 are u32: bitcast it", who,
                       OP_TYPE(op_default_dtype(g, x[i])));
  return (x[2] = op_convert(g, who, x[2], IR_F32)) ? elementwise(g, op, IR_F32, x, 3) : 0;
}

ir_ref op_ternary(ir_graph *g, ir_op op, ir_ref a, ir_ref b, ir_ref c) {
  if (op >= IR_OP_COUNT || op_registry[op].kind != OP_KIND_TERNARY) return not_of_kind(g, op, "ternary");
  const char *who = ir_ops[op].text;
  ir_ref x[3] = {a, b, c};
  bool branches = op_registry[op].dtype == OP_DTYPE_BRANCHES;
  if (!op_tensors(g, who, x, 3)) return 0;
  if (op_registry[op].dtype == OP_DTYPE_WORDS) return of_words(g, op, x);
  if (branches && ir_dtype_of(g, a) != IR_BOOL)
    return op_refuse(
        g, "%s: the condition has shape %s; a condition must be bool: compare it, or cast it to bool", who,
        OP_TYPE(op_default_dtype(g, a)));
  ir_dtype dtype = op_common(g, who, x + branches, 3 - branches);
  if (!branches) dtype = computed(g, op, dtype, x[0]);
  if (dtype == IR_NONE) return 0;
  for (int i = branches; i < 3; i++)
    if (!(x[i] = op_convert(g, who, x[i], dtype))) return 0;
  return elementwise(g, op, dtype, x, 3);
}

ir_ref op_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b) {
  return op_ternary(g, IR_OP_WHERE, condition, a, b);
}

ir_ref op_fma(ir_graph *g, ir_ref a, ir_ref b, ir_ref c) { return op_ternary(g, IR_OP_FMA, a, b, c); }
