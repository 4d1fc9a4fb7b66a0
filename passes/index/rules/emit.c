/* Emits rules as C: one function each, a dispatcher by operation, and the table of their text.
 *
 * A function consists of nested tests and loops that bind variables (a sum tries every choice of terms), then
 * the side condition and the constants of the right side, all in checked arithmetic, then the right side
 * through the canonical builders, one statement per node so that every C compiler makes the nodes in the same
 * order. */
#include "rulec.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static int depth, fresh; /* open braces; next number of a temporary */
static bool bound[128];
static struct {
  int letter, sum;
  char pick[4][16];
  int picks;
} rest[8]; /* variables that stand for the remaining terms of a sum */
static int rest_count;

static void emit_line(const char *end, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void emit_line(const char *end, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(out, "%*s", 2 * depth, "");
  vfprintf(out, format, args);
  fputs(end, out);
  va_end(args);
}
#define emit_code(...)  emit_line("\n", __VA_ARGS__)
#define open_block(...) (emit_line(" {\n", __VA_ARGS__), depth++)
static void close_to(int level) {
  while (depth > level) {
    depth--;
    emit_code("}");
  }
}

static void emit_match(const expr *p, const char *node);

static void match_variable(const expr *p, const char *node) {
  int letter = (int)p->value;
  if (p->kind == CONSTANT) {
    int t = fresh++;
    emit_code("int64_t k%d;", t);
    if (bound[letter]) open_block("if (ir_is_const(g, %s, &k%d) && k%d == v_%c)", node, t, t, letter);
    else {
      open_block("if (ir_is_const(g, %s, &k%d))", node, t);
      emit_code("const int64_t v_%c = k%d;", letter, t);
    }
  } else if (bound[letter]) {
    open_block("if (%s == v_%c)", node, letter);
  } else {
    emit_code("const ir_ref v_%c = %s;", letter, node);
  }
  bound[letter] = true;
}

static void match_coefficient(const expr *p, const char *value) {
  if (p->kind == NUMBER) open_block("if (%s == %lld)", value, p->value);
  else if (bound[p->value]) open_block("if (%s == v_%c)", value, (int)p->value);
  else {
    emit_code("const int64_t v_%c = %s;", (int)p->value, value);
    bound[p->value] = true;
  }
}

static void match_sum(const expr *p, const char *node) {
  expr *term[RULEC_TERMS];
  int n = rulec_terms((expr *)p, term, 0), id = fresh++, picks = n - 1;
  const expr *last = term[n - 1];
  emit_code("pass_linear sum%d;", id);
  emit_code("pass_linear_read(g, %s, &sum%d);", node, id);
  if (rulec_is_leaf_constant(last)) {
    char value[32];
    snprintf(value, sizeof value, "sum%d.constant", id);
    open_block("if (sum%d.constant != 0 && sum%d.count > 0)", id, id);
    match_coefficient(last, value);
    if (n == 2 && term[0]->kind == EXPRESSION) picks = 0;
    else open_block("if (sum%d.count == %d)", id, picks);
  } else if (last->kind != EXPRESSION) {
    picks = n;
    open_block("if (sum%d.constant == 0 && sum%d.count == %d)", id, id, picks);
  }
  for (int i = 0; i < picks; i++) {
    open_block("for (uint32_t t%d_%d = 0; t%d_%d < sum%d.count; t%d_%d++)", id, i, id, i, id, id, i);
    for (int j = 0; j < i; j++) emit_code("if (t%d_%d == t%d_%d) continue;", id, i, id, j);
    char atom[32], value[64];
    snprintf(atom, sizeof atom, "atom%d_%d", id, i);
    emit_code("const ir_ref %s = sum%d.term[t%d_%d].atom;", atom, id, id, i);
    snprintf(value, sizeof value, "sum%d.term[t%d_%d].coef", id, id, i);
    const expr *factor = term[i];
    if (factor->kind == MUL) {
      match_coefficient(factor->arg[1], value);
      factor = factor->arg[0];
    } else {
      open_block("if (%s == 1)", value);
    }
    emit_match(factor, atom);
  }
  const expr *others = last->kind == EXPRESSION ? last : picks == 0 ? term[0] : NULL;
  if (!others) return;
  if (bound[others->value])
    rulec_fail("the remaining terms of a sum must be a fresh variable, not '%c'", (int)others->value);
  bound[others->value] = true;
  rest[rest_count].letter = (int)others->value;
  rest[rest_count].sum = id;
  rest[rest_count].picks = picks == 0 ? -1 : picks;
  rest_count++;
}

static void match_operands(const expr *p, const char *node) {
  int id = fresh++, arity = rulec_kinds[p->kind].arity;
  bool any_order = p->kind == MIN || p->kind == MAX;
  if (any_order) open_block("for (int o%d = 0; o%d < 2; o%d++)", id, id, id);
  for (int i = 0; i < arity; i++) {
    if (any_order) emit_code("const ir_ref s%d_%d = %s[o%d ^ %d];", id, i, node, id, i);
    else emit_code("const ir_ref s%d_%d = %s[%d];", id, i, node, i);
  }
  for (int i = 0; i < arity; i++) {
    char operand[32];
    snprintf(operand, sizeof operand, "s%d_%d", id, i);
    emit_match(p->arg[i], operand);
  }
}

static void emit_match(const expr *p, const char *node) {
  switch (p->kind) {
  case NUMBER: {
    int t = fresh++;
    emit_code("int64_t k%d;", t);
    open_block("if (ir_is_const(g, %s, &k%d) && k%d == %lld)", node, t, t, p->value);
    return;
  }
  case TRUTH: open_block("if (%s(g, %s))", p->value ? "ir_is_true" : "ir_is_false", node); return;
  case CONSTANT:
  case EXPRESSION: match_variable(p, node); return;
  case ADD: match_sum(p, node); return;
  case MUL: {
    int id = fresh++;
    char value[32], atom[32];
    emit_code("pass_linear one%d;", id);
    emit_code("pass_linear_read(g, %s, &one%d);", node, id);
    open_block("if (one%d.count == 1 && one%d.constant == 0 && one%d.term[0].coef != 1)", id, id, id);
    snprintf(value, sizeof value, "one%d.term[0].coef", id);
    snprintf(atom, sizeof atom, "one%d.term[0].atom", id);
    match_coefficient(p->arg[1], value);
    emit_match(p->arg[0], atom);
    return;
  }
  default: {
    char sources[64];
    const char *type = p->kind == NOT || rulec_is_compare(p->kind) ? "BOOL" : NULL;
    if (p->kind == WHERE) open_block("if (ir_op_of(g, %s) == IR_OP_WHERE)", node);
    else
      open_block("if (ir_op_of(g, %s) == IR_OP_%s && ir_dtype_of(g, %s) == IR_%s)", node,
                 rulec_kinds[p->kind].op, node, type ? type : "INDEX");
    if (rulec_is_compare(p->kind)) open_block("if (ir_dtype_of(g, ir_src(g, %s, 0)) == IR_INDEX)", node);
    snprintf(sources, sizeof sources, "ir_get(g, %s)->src", node);
    match_operands(p, sources);
  }
  }
}

/* Emits a constant expression as checked arithmetic, each operation opening a block; returns its C text. */
static const char *emit_constant_expr(const expr *e) {
  static char text[16][64];
  static int next;
  char *result = text[next++ % 16];
  if (e->kind == NUMBER) snprintf(result, 64, "INT64_C(%lld)", e->value);
  if (e->kind == CONSTANT) snprintf(result, 64, "v_%c", (int)e->value);
  if (e->kind == NUMBER || e->kind == CONSTANT) return result;
  int t;
  char a[64] = "", b[64] = "";
  if (e->kind == LO || e->kind == HI || e->kind == KNOWN) {
    if (e->arg[0]->kind != EXPRESSION)
      rulec_fail("the first argument of '%s' must be a variable", rulec_kinds[e->kind].text);
    if (e->kind == KNOWN) snprintf(b, 64, "%s", emit_constant_expr(e->arg[1]));
    emit_code("int64_t k%d;", t = fresh++);
    if (e->kind == KNOWN) open_block("if (pass_residue(b, v_%c, %s, &k%d))", (int)e->arg[0]->value, b, t);
    else open_block("if (rule_%s(b, v_%c, &k%d))", rulec_kinds[e->kind].text, (int)e->arg[0]->value, t);
  } else {
    static const char *const names[KINDS] = {[ADD] = "ir_add_ok",  [SUB] = "ir_sub_ok", [MUL] = "ir_mul_ok",
                                             [EXACT] = "rule_div", [DIV] = "rule_div",  [MOD] = "rule_mod",
                                             [GCD] = "rule_gcd",   [MIN] = "rule_min",  [MAX] = "rule_max"};
    if (!names[e->kind]) rulec_fail("'%s' is no operation on constants", rulec_kinds[e->kind].text);
    snprintf(a, 64, "%s", emit_constant_expr(e->arg[0]));
    snprintf(b, 64, "%s", emit_constant_expr(e->arg[1]));
    emit_code("int64_t k%d;", t = fresh++);
    open_block("if (%s(%s, %s, &k%d))", names[e->kind], a, b, t);
  }
  snprintf(result, 64, "k%d", t);
  return result;
}

/* Emits the condition as nested tests; each comparison is between constants. */
static void condition(const expr *e) {
  if (e->kind == AND) {
    condition(e->arg[0]);
    condition(e->arg[1]);
  } else if (rulec_is_compare(e->kind)) {
    char a[64], b[64];
    snprintf(a, 64, "%s", emit_constant_expr(e->arg[0]));
    snprintf(b, 64, "%s", emit_constant_expr(e->arg[1]));
    open_block("if (%s %s %s)", a, rulec_kinds[e->kind].text, b);
  } else if (e->kind == OR && rulec_is_compare(e->arg[0]->kind) && rulec_is_compare(e->arg[1]->kind)) {
    char c[4][64];
    for (int i = 0; i < 4; i++) snprintf(c[i], 64, "%s", emit_constant_expr(e->arg[i / 2]->arg[i % 2]));
    open_block("if (%s %s %s || %s %s %s)", c[0], rulec_kinds[e->arg[0]->kind].text, c[1], c[2],
               rulec_kinds[e->arg[1]->kind].text, c[3]);
  } else {
    rulec_fail("a condition is a conjunction of comparisons (or of two joined by |) between constants");
  }
}

/* Emits the right side: one statement per node, so that every C compiler makes the nodes in the same
 * order. */
static void emit_right_side(const expr *e, char *name) {
  char arg[3][32];
  if (e->kind == EXPRESSION) {
    snprintf(name, 32, "v_%c", (int)e->value);
    return;
  }
  if (rulec_is_constant(e)) {
    const char *value = e->text ? e->text : emit_constant_expr(e);
    snprintf(name, 32, "r%d", fresh++);
    emit_code("ir_ref %s = ir_index(g, %s);", name, value);
    return;
  }
  for (int i = 0; i < rulec_kinds[e->kind].arity; i++) emit_right_side(e->arg[i], arg[i]);
  snprintf(name, 32, "r%d", fresh++);
  switch (e->kind) {
  case TRUTH: emit_code("ir_ref %s = ir_bool(g, %s);", name, e->value ? "true" : "false"); return;
  case ADD: emit_code("ir_ref %s = pass_make_add(b, %s, %s);", name, arg[0], arg[1]); return;
  case SUB: emit_code("ir_ref %s = pass_make_sub(b, %s, %s);", name, arg[0], arg[1]); return;
  case MUL: emit_code("ir_ref %s = pass_make_mul(b, %s, %s);", name, arg[0], arg[1]); return;
  case DIV: emit_code("ir_ref %s = pass_make_div(b, %s, %s);", name, arg[0], arg[1]); return;
  case MOD: emit_code("ir_ref %s = pass_make_mod(b, %s, %s);", name, arg[0], arg[1]); return;
  case NOT: emit_code("ir_ref %s = pass_make_not(b, %s);", name, arg[0]); return;
  case WHERE: emit_code("ir_ref %s = pass_make_where(b, %s, %s, %s);", name, arg[0], arg[1], arg[2]); return;
  case MIN:
  case MAX:
    emit_code("ir_ref %s = pass_make_minmax(b, IR_OP_%s, %s, %s);", name, rulec_kinds[e->kind].op, arg[0],
              arg[1]);
    return;
  case AND:
  case OR:
    emit_code("ir_ref %s = pass_make_junction(b, IR_OP_%s, (ir_ref[]){%s, %s}, 2);", name,
              rulec_kinds[e->kind].op, arg[0], arg[1]);
    return;
  default:
    if (!rulec_is_compare(e->kind))
      rulec_fail("'%s' is not allowed in a right side", rulec_kinds[e->kind].text);
    emit_code("ir_ref %s = pass_make_compare(b, IR_OP_%s, %s, %s);", name, rulec_kinds[e->kind].op, arg[0],
              arg[1]);
  }
}

/* Emits the constants of the right side before any node is made, since their tests may refuse the rule. */
static void precompute(expr *e) {
  if (!e) return;
  bool asks = false;
  for (int i = 0; i < rest_count; i++) asks = asks || rulec_mentions(e, rest[i].letter);
  if (rulec_is_constant(e) && !asks) {
    e->text = strdup(emit_constant_expr(e));
    if (!e->text) rulec_fail("out of memory");
    return;
  }
  for (int i = 0; i < 3; i++) precompute(e->arg[i]);
}

/* Emits the node for the remaining terms of a sum, after the constants have passed their tests. */
static void build_rest(int i) {
  emit_code("pass_linear rest%d = sum%d;", i, rest[i].sum);
  if (rest[i].picks < 0) emit_code("rest%d.constant = 0;", i);
  for (int j = 0; j < rest[i].picks; j++)
    emit_code("pass_linear_term(b->g, &rest%d, atom%d_%d, -sum%d.term[t%d_%d].coef);", i, rest[i].sum, j,
              rest[i].sum, rest[i].sum, j);
  emit_code("const ir_ref v_%c = pass_linear_node(b, &rest%d);", rest[i].letter, i);
}

static void conditions(const expr *e, bool late) { /* conditions on the remaining terms of a sum come late */
  if (e->kind == AND) {
    conditions(e->arg[0], late);
    conditions(e->arg[1], late);
    return;
  }
  bool asks = false;
  for (int i = 0; i < rest_count; i++) asks = asks || rulec_mentions(e, rest[i].letter);
  if (asks == late) condition(e);
}

static void emit_rule(const rule *r) {
  char name[32];
  rulec_line = r->line;
  memset(bound, 0, sizeof bound);
  depth = fresh = rest_count = 0;
  emit_code("/* %s */", r->left);
  open_block("static ir_ref rule_%s(pass_build *b, const ir_ref *src)", r->name);
  emit_code("ir_graph *g = b->g;");
  match_operands(r->lhs, "src");
  if (r->cond) conditions(r->cond, false);
  precompute(r->rhs);
  for (int i = 0; i < rest_count; i++) build_rest(i);
  if (r->cond) conditions(r->cond, true);
  emit_right_side(r->rhs, name);
  emit_code("if (%s && pass_allowed(b, \"%s\", IR_OP_%s, src, %d, %s)) return %s;", name, r->name,
            rulec_kinds[r->lhs->kind].op, rulec_kinds[r->lhs->kind].arity, name, name);
  close_to(1);
  emit_code("(void)g;");
  emit_code("return 0;");
  close_to(0);
  emit_code("%s", "");
}

static void emit_string(const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

static void emit_dispatch(const rule_file *set_of, const char *set) {
  depth = 0;
  open_block("ir_ref pass_%s_rules(pass_build *b, ir_op op, const ir_ref *src, uint32_t nsrc)", set);
  emit_code("ir_ref r = 0;");
  emit_code("(void)nsrc;");
  open_block("switch (op)");
  for (int k = ADD; k <= WHERE; k++) {
    bool any = false;
    for (int i = 0; i < set_of->rule_count; i++) {
      if (set_of->rules[i].lhs->kind != (kind)k) continue;
      if (!any) emit_code("case IR_OP_%s:", rulec_kinds[k].op);
      any = true;
      emit_code("  if ((r = rule_%s(b, src))) return r;", set_of->rules[i].name);
    }
    if (any) emit_code("  return 0;");
  }
  emit_code("default: return 0;");
  close_to(0);
}

static void emit_table(const rule_file *set_of, const char *set) {
  fprintf(out, "\nstatic const pass_rule table[] = {\n");
  for (int i = 0; i < set_of->rule_count; i++) {
    const char *const columns[] = {set_of->rules[i].name,    set_of->rules[i].left,
                                   set_of->rules[i].right,   set_of->rules[i].condition,
                                   set_of->rules[i].witness, set_of->rules[i].reason};
    fprintf(out, "    {");
    for (int j = 0; j < 6; j++) {
      if (j) fputs(", ", out);
      emit_string(columns[j]);
    }
    fprintf(out, "},\n");
  }
  fprintf(out, "};\nstatic const pass_measure measures[] = {\n");
  for (int i = 0; i < set_of->measure_count; i++) {
    fprintf(out, "    {");
    emit_string(set_of->measures[i].left);
    fputs(", ", out);
    emit_string(set_of->measures[i].right);
    fprintf(out, "},\n");
  }
  if (set_of->measure_count == 0) fprintf(out, "    {NULL, NULL},\n");
  fprintf(out, "};\nconst pass_rule_set pass_%s_rule_set = {\"%s\", table, %d, measures, %d};\n", set, set,
          set_of->rule_count, set_of->measure_count);
}

static const char *const prelude =
    "#include \"passes/index/impl.h\"\n#include \"passes/index/rule.h\"\n\n"
    "#if defined(__GNUC__)\n#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n#endif\n\n"
    "static bool rule_div(int64_t a, int64_t d, int64_t *r) {\n  if (d < 1) return false;\n  *r = "
    "ir_floor_div(a, d);\n  return true;\n}\n"
    "static bool rule_mod(int64_t a, int64_t d, int64_t *r) {\n  if (d < 1) return false;\n  *r = "
    "ir_floor_mod(a, d);\n  return true;\n}\n"
    "static bool rule_gcd(int64_t a, int64_t c, int64_t *r) {\n  *r = ir_gcd(a, c);\n  return true;\n}\n"
    "static bool rule_min(int64_t a, int64_t c, int64_t *r) {\n  *r = a < c ? a : c;\n  return true;\n}\n"
    "static bool rule_max(int64_t a, int64_t c, int64_t *r) {\n  *r = a > c ? a : c;\n  return true;\n}\n"
    "static bool rule_lo(pass_build *b, ir_ref x, int64_t *r) {\n  *r = pass_bounds(b, x).lo;\n  return *r "
    "!= INT64_MIN;\n}\n"
    "static bool rule_hi(pass_build *b, ir_ref x, int64_t *r) {\n  *r = pass_bounds(b, x).hi;\n  return *r "
    "!= INT64_MAX;\n}\n\n";

void rulec_emit(const rule_file *rules, const char *set, FILE *to) {
  out = to;
  fprintf(out, "/* Generated from %s by rulec. */\n%s", rules->name, prelude);
  for (int i = 0; i < rules->rule_count; i++) emit_rule(&rules->rules[i]);
  emit_dispatch(rules, set);
  emit_table(rules, set);
}
