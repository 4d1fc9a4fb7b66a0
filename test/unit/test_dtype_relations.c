/* The verifier's relations between the dtypes of operands and results: for each operation, every pair of the
 * dtypes below is offered, and accepted exactly where docs/ir.md says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ir/attr.h"
#include "ir/ir.h"
#include "ir/verify/verify.h"

static const ir_dtype tried[] = {IR_BOOL, IR_U8, IR_I32, IR_I64, IR_F16, IR_F32};
enum { TRIED = sizeof tried / sizeof *tried };

/* Operations by what they take and give: a the dtype of the first operand, t of the result. A second operand
 * has dtype a too, unless it is an index; of where the first operand is the condition, the others have
 * dtype a. */
static const struct {
  char relation;
  const char *operations;
} table[] = {
    {'s', "stored shard all_reduce all_gather reduce_scatter all_to_all found min max permute expand reshape "
          "unsqueeze squeeze shrink stride flip point pad "
          "concat "
          "stack "
          "rebatch batch unbatch cummax cummin sort"},
    {'s', "exchange"},
    {'n', "neg abs relu add sub mul floordiv mod pow sum prod matmul cumsum cumprod"},
    {'f', "sqrt rsqrt exp exp2 log log2 sin cos tanh erf sigmoid expm1 log1p tan asin acos atan sinh cosh "
          "asinh acosh "
          "atanh erfinv gelu_erf gelu_tanh floor ceil trunc round div fma mean"},
    {'b', "not and or xor"},
    {'i', "shl shr dot2 dot4"},
    {'c', "eq ne lt le gt ge"},
    {'w', "where"},
    {'p', "fma2"},
    {'v', "cast"},
    {'z', "bitcast"},
    {'t', "any all"},
    {'x', "argmax argmin argsort"},
    {'g', "gather scatter assign"},
    {'a', "scatter_add"},
};

static bool accepts(char relation, ir_dtype a, ir_dtype t) {
  static const int bytes[] = {
      [IR_BOOL] = 1, [IR_U8] = 1, [IR_I32] = 4, [IR_U32] = 4, [IR_I64] = 8, [IR_F16] = 2, [IR_F32] = 4};
  bool floats = t == IR_F16 || t == IR_F32;
  switch (relation) {
  case 's':
  case 'g':
  case 'w': return a == t;
  case 'a':
  case 'n': return a == t && t != IR_BOOL;
  case 'f': return a == t && floats;
  case 'b': return a == t && !floats;
  case 'i': return a == t && !floats && t != IR_BOOL;
  case 'c': return t == IR_BOOL;
  case 'p': return a == IR_U32 && t == IR_F32;
  case 'v': return true;
  case 'z': return bytes[a] == bytes[t];
  case 't': return a == IR_BOOL && t == IR_BOOL;
  default: return t == IR_I64; /* x */
  }
}

/* The operations named "max" and "min" are those with two operands, or reductions. */
static char relation_of(ir_op op) {
  size_t length = strlen(ir_ops[op].text);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    for (const char *at = table[i].operations; (at = strstr(at, ir_ops[op].text)); at += length)
      if ((at == table[i].operations || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
        return table[i].relation;
  return 0;
}

static bool has_relation(ir_op op) {
  int cls = ir_ops[op].cls;
  if (!(ir_ops[op].level & IR_LEVEL_TENSOR)) return false; /* rare, whose relation is that of where */
  return cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE ||
         cls == IR_CLASS_TERNARY || cls == IR_CLASS_VIEW || cls == IR_CLASS_REDUCE ||
         cls == IR_CLASS_CONTRACT || cls == IR_CLASS_INDIRECT || cls == IR_CLASS_ORDERED ||
         cls == IR_CLASS_EXCHANGE;
}

/* Does the verifier refuse the node for its dtypes? The graph is of one node; its attributes are those of two
 * elements. */
static bool refused(ir_op op, char relation, ir_dtype a, ir_dtype t) {
  ir_graph g;
  ir_error error = {0};
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  ir_ref two = ir_index(&g, 2), shape = ir_tuple(&g, &two, 1), src[8];
  uint32_t count = ir_ops[op].operands < 0 ? 2 : (uint32_t)ir_ops[op].operands;
  for (uint32_t i = 0; i < count; i++) {
    bool index = (relation == 'g' || relation == 'a') && i == 1;
    ir_dtype dtype = index                       ? (op == IR_OP_ASSIGN ? IR_I64 : IR_I32)
                     : relation == 'w' && i == 0 ? IR_BOOL
                     : relation == 'p' && i == 2 ? t
                                                 : a;
    src[i] = ir_leaf(&g, IR_OP_INPUT, dtype, 0, shape, ir_name(&g, &"xyz"[i], 1));
  }
  int64_t level = op == IR_OP_BATCH || op == IR_OP_UNBATCH ? ir_pack_arg(0, 1) : 0;
  char name[16], kind[16];
  for (const char *column = ir_ops[op].attributes; ir_next_attribute(&column, name, kind, sizeof name);) {
    bool pair = strcmp(kind, "[[]]") == 0, size = strcmp(name, "shape") == 0 || strcmp(name, "size") == 0;
    if (pair || strcmp(kind, "[]") == 0 || strcmp(kind, "expr") == 0)
      src[count++] = size ? two : ir_index(&g, 0);
    if (pair) src[count++] = strcmp(name, "bounds") == 0 ? two : ir_index(&g, 0);
  }
  if (op == IR_OP_STRIDE) src[count - 1] = ir_index(&g, 1);
  if (op == IR_OP_PAD) { /* the fill value precedes the pads */
    memmove(src + 2, src + 1, (count - 1) * sizeof *src);
    src[1] = ir_const(&g, t, (ir_value){0}), count++;
  }
  ir_ref node = ir_make_tensor(&g, op, t, shape, level, src, count);
  ir_status status = node ? ir_verify(&g, ir_tuple(&g, &node, 1), IR_LEVEL_TENSOR, &error) : IR_OK;
  bool by_dtype = status != IR_OK && strstr(error.text, " must have ") && !strstr(error.text, "sources");
  ir_graph_free(&g);
  return by_dtype;
}

static void dtypes_of_each_operation(void **state) {
  for (int op = 0; op < IR_OP_COUNT; op++) {
    if (!has_relation((ir_op)op)) continue;
    char relation = relation_of((ir_op)op);
    bool follows =
        ir_ops[op].level == IR_LEVEL_BOTH; /* elementwise: the relation follows from the rule of its row */
    if (!relation && !follows) fail_msg("%s is in no row of the test's table", ir_ops[op].text);
    for (int i = 0; i < TRIED && relation; i++)
      for (int k = 0; k < TRIED; k++)
        if (refused((ir_op)op, relation, tried[i], tried[k]) == accepts(relation, tried[i], tried[k]))
          fail_msg("%s of %s with a result %s is %s", ir_ops[op].text, ir_dtypes[tried[i]].name,
                   ir_dtypes[tried[k]].name, accepts(relation, tried[i], tried[k]) ? "refused" : "accepted");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(dtypes_of_each_operation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
