/* Sizes of a program as instructions. Those that do not depend on variables are constants. */
#include "codegen/llvm/program.h"
#include "ir/arith.h"

#include <string.h>

static LLVMValueRef truth(const cg_runner *r, bool value) { return LLVMConstInt(r->i1, value, 0); }

static bool is_number(LLVMValueRef v, int64_t *out) {
  if (!LLVMIsAConstantInt(v)) return false;
  *out = LLVMConstIntGetSExtValue(v);
  return true;
}

static LLVMValueRef either(const cg_runner *r, LLVMValueRef a, LLVMValueRef b) {
  int64_t n;
  if (is_number(a, &n)) return n ? a : b;
  if (is_number(b, &n)) return n ? b : a;
  return LLVMBuildOr(r->b, a, b, "");
}

static LLVMValueRef compare(const cg_runner *r, LLVMIntPredicate how, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(r->b, how, a, b, "");
}

/* ADD, SUB or MUL of values that are no constants, which may overflow. */
static cg_sized checked(const cg_runner *r, const char *name, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef args[] = {a, b};
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(r->module, id, (LLVMTypeRef *)&r->i64, 1);
  LLVMValueRef both = LLVMBuildCall2(r->b, LLVMGlobalGetValueType(function), function, args, 2, "");
  return (cg_sized){LLVMBuildExtractValue(r->b, both, 0, ""), LLVMBuildExtractValue(r->b, both, 1, "")};
}

static cg_sized arithmetic(const cg_runner *r, ir_op op, LLVMValueRef a, LLVMValueRef b) {
  int64_t x, y, made = 0;
  bool add = op == IR_OP_ADD, sub = op == IR_OP_SUB;
  if (!is_number(a, &x) || !is_number(b, &y))
    return checked(r,
                   add   ? "llvm.sadd.with.overflow"
                   : sub ? "llvm.ssub.with.overflow"
                         : "llvm.smul.with.overflow",
                   a, b);
  bool good = add ? ir_add_ok(x, y, &made) : sub ? ir_sub_ok(x, y, &made) : ir_mul_ok(x, y, &made);
  return (cg_sized){cg_number(r, made), truth(r, !good)};
}

/* Floor division, or its remainder: the truncated one, and one more step where that is negative. */
static cg_sized divided(const cg_runner *r, ir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef none = compare(r, LLVMIntSLT, b, cg_number(r, 1));
  b = LLVMBuildSelect(r->b, none, cg_number(r, 1), b, "");
  LLVMValueRef remainder = LLVMBuildSRem(r->b, a, b, "");
  LLVMValueRef below = compare(r, LLVMIntSLT, remainder, cg_number(r, 0));
  LLVMValueRef made =
      op == IR_OP_MOD
          ? LLVMBuildSelect(r->b, below, LLVMBuildAdd(r->b, remainder, b, ""), remainder, "")
          : LLVMBuildSub(r->b, LLVMBuildSDiv(r->b, a, b, ""), LLVMBuildZExt(r->b, below, r->i64, ""), "");
  return (cg_sized){made, none};
}

static LLVMValueRef as_number(const cg_runner *r, LLVMValueRef condition) {
  return LLVMBuildZExt(r->b, condition, r->i64, "");
}

static LLVMValueRef is_true(const cg_runner *r, LLVMValueRef v) {
  return compare(r, LLVMIntNE, v, cg_number(r, 0));
}

static cg_sized operation(cg_runner *r, const cg_size *s, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = cg_number(r, 0), made;
  switch (s->op) {
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL: return arithmetic(r, (ir_op)s->op, a, b);
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return divided(r, (ir_op)s->op, a, b);
  case IR_OP_NEG: return arithmetic(r, IR_OP_SUB, zero, a);
  case IR_OP_ABS: {
    cg_sized negated = arithmetic(r, IR_OP_SUB, zero, a);
    LLVMValueRef below = compare(r, LLVMIntSLT, a, zero);
    return (cg_sized){LLVMBuildSelect(r->b, below, negated.value, a, ""), negated.refused};
  }
  case IR_OP_MIN: made = LLVMBuildSelect(r->b, compare(r, LLVMIntSLT, a, b), a, b, ""); break;
  case IR_OP_MAX: made = LLVMBuildSelect(r->b, compare(r, LLVMIntSGT, a, b), a, b, ""); break;
  case IR_OP_EQ: made = as_number(r, compare(r, LLVMIntEQ, a, b)); break;
  case IR_OP_NE: made = as_number(r, compare(r, LLVMIntNE, a, b)); break;
  case IR_OP_LT: made = as_number(r, compare(r, LLVMIntSLT, a, b)); break;
  case IR_OP_LE: made = as_number(r, compare(r, LLVMIntSLE, a, b)); break;
  case IR_OP_GT: made = as_number(r, compare(r, LLVMIntSGT, a, b)); break;
  case IR_OP_GE: made = as_number(r, compare(r, LLVMIntSGE, a, b)); break;
  case IR_OP_NOT: made = as_number(r, compare(r, LLVMIntEQ, a, zero)); break;
  case IR_OP_AND: made = as_number(r, LLVMBuildAnd(r->b, is_true(r, a), is_true(r, b), "")); break;
  case IR_OP_OR: made = as_number(r, LLVMBuildOr(r->b, is_true(r, a), is_true(r, b), "")); break;
  default:
    ir_fail(r->error, IR_ERR_INTERNAL, "compile: a size is made with '%s', which is no index arithmetic",
            s->op < IR_OP_COUNT ? ir_ops[s->op].text : "?");
    made = zero;
  }
  return (cg_sized){made, truth(r, false)};
}

static bool is_unary(uint32_t op) { return op == IR_OP_NEG || op == IR_OP_NOT || op == IR_OP_ABS; }

static cg_sized emit_size(cg_runner *r, const cg_size *s) {
  if (s->op == IR_OP_CONST)
    return (cg_sized){cg_number(r, (int64_t)((uint64_t)s->c << 32 | s->b)), truth(r, false)};
  if (s->op == IR_OP_VAR) {
    LLVMValueRef at = cg_behind(r, r->given_sizes, cg_number(r, 8 * (int64_t)s->a));
    return (cg_sized){LLVMBuildLoad2(r->b, r->i64, at, ""), truth(r, false)};
  }
  const cg_sized *a = &r->sizes[s->a], *b = is_unary(s->op) ? a : &r->sizes[s->b];
  if (s->op == IR_OP_WHERE) {
    const cg_sized *c = &r->sizes[s->c];
    LLVMValueRef yes = is_true(r, a->value);
    return (cg_sized){LLVMBuildSelect(r->b, yes, b->value, c->value, ""),
                      either(r, a->refused, LLVMBuildSelect(r->b, yes, b->refused, c->refused, ""))};
  }
  cg_sized made = operation(r, s, a->value, b->value);
  made.refused = either(r, made.refused, either(r, a->refused, b->refused));
  return made;
}

void cg_emit_sizes(cg_runner *r) {
  for (size_t i = 0; i < r->p->size_count; i++) r->sizes[i] = emit_size(r, &r->p->sizes[i]);
}

static LLVMValueRef variable_refused(const cg_runner *r, size_t i) {
  const cg_variable *v = &r->p->variables[i];
  LLVMValueRef at = cg_behind(r, r->given_sizes, cg_number(r, 8 * (int64_t)i));
  LLVMValueRef given = LLVMBuildLoad2(r->b, r->i64, at, "");
  LLVMValueRef bad = either(r, compare(r, LLVMIntSLT, given, cg_number(r, v->lo)),
                            compare(r, LLVMIntSGT, given, cg_number(r, v->hi)));
  if (v->divisor == 1) return bad;
  LLVMValueRef remainder = LLVMBuildSRem(r->b, given, cg_number(r, v->divisor), "");
  return either(r, bad, is_true(r, remainder));
}

LLVMValueRef cg_sizes_refused(cg_runner *r) {
  const cg_program *p = r->p;
  LLVMValueRef bad = truth(r, false);
  for (size_t i = 0; i < p->variable_count; i++) bad = either(r, bad, variable_refused(r, i));
  for (size_t i = 0; i < p->known_count; i++) bad = either(r, bad, r->sizes[p->known[i]].refused);
  for (size_t i = 0; i < p->limited_count; i++) { /* as large as an address may be, or negative */
    const cg_sized *s = &r->sizes[p->limited[i]];
    bad = either(r, bad, either(r, s->refused, compare(r, LLVMIntSLT, s->value, cg_number(r, 0))));
  }
  for (size_t i = 0; i < p->equal_count; i++)
    bad = either(r, bad, compare(r, LLVMIntNE, r->sizes[p->equal[i].a].value, r->sizes[p->equal[i].b].value));
  return bad;
}
