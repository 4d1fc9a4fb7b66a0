/* Sizes of a program as C. Those that do not depend on variables are numbers. */
#include "codegen/c/program.h"
#include "ir/arith.h"

#include <stdio.h>

static bool is_unary(uint32_t op) { return op == IR_OP_NEG || op == IR_OP_NOT || op == IR_OP_ABS; }

static cc_size number(int64_t value, bool good) { return (cc_size){true, !good, value}; }

/* The operation on numbers. */
static cc_size folded(cc_runner *r, uint32_t op, int64_t a, int64_t b) {
  int64_t v = 0;
  switch (op) {
  case IR_OP_ADD: return ir_add_ok(a, b, &v) ? number(v, true) : number(0, false);
  case IR_OP_SUB: return ir_sub_ok(a, b, &v) ? number(v, true) : number(0, false);
  case IR_OP_MUL: return ir_mul_ok(a, b, &v) ? number(v, true) : number(0, false);
  case IR_OP_FLOORDIV: return b < 1 ? number(0, false) : number(a / b - (a % b < 0), true);
  case IR_OP_MOD: return b < 1 ? number(0, false) : number(a % b + (a % b < 0 ? b : 0), true);
  case IR_OP_NEG: return ir_sub_ok(0, a, &v) ? number(v, true) : number(0, false);
  case IR_OP_ABS: return ir_sub_ok(0, a, &v) ? number(a < 0 ? v : a, true) : number(0, false);
  case IR_OP_MIN: return number(a < b ? a : b, true);
  case IR_OP_MAX: return number(a > b ? a : b, true);
  case IR_OP_EQ: return number(a == b, true);
  case IR_OP_NE: return number(a != b, true);
  case IR_OP_LT: return number(a < b, true);
  case IR_OP_LE: return number(a <= b, true);
  case IR_OP_GT: return number(a > b, true);
  case IR_OP_GE: return number(a >= b, true);
  case IR_OP_NOT: return number(a == 0, true);
  case IR_OP_AND: return number(a && b, true);
  case IR_OP_OR: return number(a || b, true);
  default:
    ir_fail(r->error, IR_ERR_INTERNAL, "compile: a size is made with '%s', which is no index arithmetic",
            op < IR_OP_COUNT ? ir_ops[op].text : "?");
    return number(0, true);
  }
}

cc_size_text cc_size_of(const cc_runner *r, uint32_t size) {
  cc_size_text text;
  const cc_size *s = &r->sizes[size];
  if (!s->known) snprintf(text.text, sizeof text.text, "s%u", size);
  else if (s->number == INT64_MIN) snprintf(text.text, sizeof text.text, "INT64_MIN");
  else if (s->number > INT32_MAX || s->number < -INT32_MAX)
    snprintf(text.text, sizeof text.text, "INT64_C(%lld)", (long long)s->number);
  else snprintf(text.text, sizeof text.text, "%lld", (long long)s->number);
  return text;
}

static cc_size_text refused_of(const cc_runner *r, uint32_t size) {
  cc_size_text text;
  const cc_size *s = &r->sizes[size];
  if (!s->known) snprintf(text.text, sizeof text.text, "r%u", size);
  else snprintf(text.text, sizeof text.text, "%s", s->refused ? "true" : "false");
  return text;
}

/* How the operations on variables are written: `a op b`, or by a function of the prelude that says whether
 * there is no value. */
static const struct {
  uint32_t op;
  const char *infix, *function;
} forms[] = {{IR_OP_ADD, NULL, "vf_size_add"}, {IR_OP_SUB, NULL, "vf_size_sub"},
             {IR_OP_MUL, NULL, "vf_size_mul"}, {IR_OP_FLOORDIV, NULL, "vf_size_div"},
             {IR_OP_MOD, NULL, "vf_size_mod"}, {IR_OP_NEG, NULL, "vf_size_neg"},
             {IR_OP_ABS, NULL, "vf_size_abs"}, {IR_OP_MIN, NULL, "min_i64"},
             {IR_OP_MAX, NULL, "max_i64"},     {IR_OP_EQ, "==", NULL},
             {IR_OP_NE, "!=", NULL},           {IR_OP_LT, "<", NULL},
             {IR_OP_LE, "<=", NULL},           {IR_OP_GT, ">", NULL},
             {IR_OP_GE, ">=", NULL},           {IR_OP_NOT, "==", NULL},
             {IR_OP_AND, "&&", NULL},          {IR_OP_OR, "||", NULL}};

static void put_operation(cc_runner *r, uint32_t i, const cg_size *s) {
  size_t row = 0;
  while (row < sizeof forms / sizeof *forms && forms[row].op != s->op) row++;
  if (row == sizeof forms / sizeof *forms) {
    folded(r, s->op, 0, 0); /* fails */
    return;
  }
  uint32_t second = is_unary(s->op) ? s->a : s->b;
  const cc_size_text a = cc_size_of(r, s->a), b = cc_size_of(r, second);
  const char *function = forms[row].function;
  bool fails = function && function[0] == 'v';
  if (s->op == IR_OP_NOT) cc_say(r, "i64 s%u = %s == 0", i, a.text);
  else if (forms[row].infix) cc_say(r, "i64 s%u = %s %s %s", i, a.text, forms[row].infix, b.text);
  else if (!fails) cc_say(r, "i64 s%u = %s(%s, %s)", i, function, a.text, b.text);
  else {
    cc_say(r, "i64 s%u", i);
    cc_say(r, "bool r%u = %s(%s, %s, &s%u) || %s || %s", i, function, a.text, b.text, i,
           refused_of(r, s->a).text, refused_of(r, second).text);
    return;
  }
  cc_say(r, "bool r%u = %s || %s", i, refused_of(r, s->a).text, refused_of(r, second).text);
}

static void put_choice(cc_runner *r, uint32_t i, const cg_size *s) {
  const cc_size *a = &r->sizes[s->a];
  if (a->known) {
    uint32_t chosen = a->number ? s->b : s->c;
    cc_size got = r->sizes[chosen];
    got.refused |= a->refused;
    r->sizes[i] = got;
    if (got.known) return;
    cc_say(r, "i64 s%u = %s", i, cc_size_of(r, chosen).text);
    cc_say(r, "bool r%u = %s || %s", i, refused_of(r, s->a).text, refused_of(r, chosen).text);
    return;
  }
  const cc_size_text which = cc_size_of(r, s->a);
  cc_say(r, "i64 s%u = %s ? %s : %s", i, which.text, cc_size_of(r, s->b).text, cc_size_of(r, s->c).text);
  cc_say(r, "bool r%u = %s || (%s ? %s : %s)", i, refused_of(r, s->a).text, which.text,
         refused_of(r, s->b).text, refused_of(r, s->c).text);
}

static void put_size(cc_runner *r, uint32_t i) {
  const cg_size *s = &r->p->sizes[i];
  r->sizes[i] = (cc_size){0};
  if (s->op == IR_OP_CONST) {
    r->sizes[i] = number((int64_t)((uint64_t)s->c << 32 | s->b), true);
  } else if (s->op == IR_OP_VAR) {
    cc_say(r, "i64 s%u = sizes[%u]", i, s->a);
    cc_say(r, "bool r%u = false", i);
  } else if (s->op == IR_OP_WHERE) {
    put_choice(r, i, s);
  } else {
    const cc_size *a = &r->sizes[s->a], *b = is_unary(s->op) ? a : &r->sizes[s->b];
    if (a->known && b->known) {
      cc_size made = folded(r, s->op, a->number, b->number);
      made.refused |= a->refused || b->refused;
      r->sizes[i] = made;
      return;
    }
    put_operation(r, i, s);
  }
  if (!r->sizes[i].known) cc_say(r, "(void)s%u, (void)r%u", i, i);
}

void cc_put_sizes(cc_runner *r, const char *otherwise) {
  const cg_program *p = r->p;
  for (size_t i = 0; i < p->variable_count; i++) {
    const cg_variable *v = &p->variables[i];
    if (v->lo != INT64_MIN)
      cc_say(r, "if (sizes[%zu] < INT64_C(%lld) || sizes[%zu] > INT64_C(%lld)) return %s", i,
             (long long)v->lo, i, (long long)v->hi, otherwise);
    if (v->divisor > 1)
      cc_say(r, "if (sizes[%zu] %% INT64_C(%lld) != 0) return %s", i, (long long)v->divisor, otherwise);
  }
  for (uint32_t i = 0; i < p->size_count; i++) put_size(r, i);
  for (size_t i = 0; i < p->known_count; i++) {
    const cc_size *s = &r->sizes[p->known[i]];
    if (!s->known || s->refused) cc_say(r, "if (%s) return %s", refused_of(r, p->known[i]).text, otherwise);
  }
  for (size_t i = 0; i < p->limited_count; i++) { /* as large as an address may be, or negative */
    const cc_size *s = &r->sizes[p->limited[i]];
    if (!s->known || s->refused || s->number < 0)
      cc_say(r, "if (%s || %s < 0) return %s", refused_of(r, p->limited[i]).text,
             cc_size_of(r, p->limited[i]).text, otherwise);
  }
  for (size_t i = 0; i < p->equal_count; i++) {
    const cc_size *a = &r->sizes[p->equal[i].a], *b = &r->sizes[p->equal[i].b];
    if (!a->known || !b->known || a->number != b->number)
      cc_say(r, "if (%s != %s) return %s", cc_size_of(r, p->equal[i].a).text,
             cc_size_of(r, p->equal[i].b).text, otherwise);
  }
}
