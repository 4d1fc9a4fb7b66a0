/* rulec RULES OUTPUT: compiles rewrite rules to a C matcher and a table of their text. docs/rules.md describes the
 * language. A tool of the build: it reports FILE:LINE: error and exits with 1.
 *
 * Each rule becomes one function: nested tests and loops that bind variables (a sum tries every choice of terms), then the
 * side condition, then the right side through the canonical builders. Arithmetic on constants is checked; a rule whose
 * constants leave int64 does not fire. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, RULES = 512, GOALS = 64 };

/* ---------------------------------------------------------------------------------------------------- expressions */

typedef enum kind {
  NUMBER, TRUTH, CONSTANT, EXPRESSION, /* leaves: literal, True or False, constant variable, expression variable */
  ADD, SUB, MUL, EXACT, DIV, MOD, LT, LE, GT, GE, EQ, NE, AND, OR, NOT, MIN, MAX, WHERE, GCD, LO, HI, KNOWN
} kind;

static const struct { const char *text, *op; int arity; } kinds[] = {
    [NUMBER] = {"", "", 0}, [TRUTH] = {"", "", 0}, [CONSTANT] = {"", "", 0}, [EXPRESSION] = {"", "", 0},
    [ADD] = {"+", "ADD", 2}, [SUB] = {"-", "SUB", 2}, [MUL] = {"*", "MUL", 2}, [EXACT] = {"/", "", 2},
    [DIV] = {"//", "FLOORDIV", 2}, [MOD] = {"%", "MOD", 2}, [LT] = {"<", "LT", 2}, [LE] = {"<=", "LE", 2},
    [GT] = {">", "GT", 2}, [GE] = {">=", "GE", 2}, [EQ] = {"==", "EQ", 2}, [NE] = {"!=", "NE", 2},
    [AND] = {"&", "AND", 2}, [OR] = {"|", "OR", 2}, [NOT] = {"!", "NOT", 1}, [MIN] = {"min", "MIN", 2},
    [MAX] = {"max", "MAX", 2}, [WHERE] = {"where", "WHERE", 3}, [GCD] = {"gcd", "", 2}, [LO] = {"lo", "", 1},
    [HI] = {"hi", "", 1}, [KNOWN] = {"known", "", 2}};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct expr {
  kind kind;
  long long value; /* NUMBER, TRUTH; the letter of a variable */
  char *text;      /* of a constant expression already computed */
  struct expr *arg[3];
} expr;

typedef struct rule {
  char name[64], left[LINE], right[LINE], condition[LINE], witness[LINE], reason[LINE];
  expr *lhs, *rhs, *cond;
  int line;
} rule;

static const char *file;
static int line_number;
static rule rules[RULES], measures[RULES];
static int rule_count, measure_count;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s:%d: error: ", file, line_number);
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  exit(1);
}

/* --------------------------------------------------------------------------------------------------------- parser */

static const char *at; /* the next character */

static expr *make(kind k, expr *a, expr *b, expr *c) {
  expr *e = calloc(1, sizeof *e);
  if (!e) fail("out of memory");
  *e = (expr){k, 0, NULL, {a, b, c}};
  return e;
}

static void space(void) {
  while (isspace((unsigned char)*at)) at++;
}

static bool accept(const char *token) {
  space();
  size_t n = strlen(token);
  if (strncmp(at, token, n) != 0) return false;
  char after = at[n];
  if (n == 1 && ((*token == '/' && after == '/') || (strchr("<>!", *token) && after == '='))) return false;
  at += n;
  return true;
}

static void expect(const char *token) {
  if (!accept(token)) fail("expected '%s' before '%s'", token, *at ? at : "end of line");
}

static expr *parse(int level);

/* Variables are single letters: a-k constants, p-r conditions, s-z expressions. */
static expr *variable(char letter) {
  if (strchr("lmno", letter)) fail("'%c' is no variable: a-k are constants, p-r conditions, s-z expressions", letter);
  expr *e = make(letter <= 'k' ? CONSTANT : EXPRESSION, NULL, NULL, NULL);
  e->value = letter;
  return e;
}

static expr *call(const char *name) {
  for (int k = MIN; k <= KNOWN; k++) {
    if (strcmp(kinds[k].text, name) != 0) continue;
    expr *e = make((kind)k, NULL, NULL, NULL);
    for (int i = 0; i < kinds[k].arity; i++) {
      expect(i ? "," : "(");
      e->arg[i] = parse(0);
    }
    expect(")");
    return e;
  }
  fail("unknown function '%s'", name);
}

static expr *primary(void) {
  space();
  if (isdigit((unsigned char)*at)) {
    expr *e = make(NUMBER, NULL, NULL, NULL);
    e->value = strtoll(at, (char **)&at, 10);
    return e;
  }
  if (accept("(")) {
    expr *e = parse(0);
    expect(")");
    return e;
  }
  if (accept("!")) return make(NOT, primary(), NULL, NULL);
  char name[16];
  size_t n = 0;
  while (isalpha((unsigned char)*at) && n + 1 < sizeof name) name[n++] = *at++;
  name[n] = '\0';
  if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0) {
    expr *e = make(TRUTH, NULL, NULL, NULL);
    e->value = *name == 'T';
    return e;
  }
  if (n == 1 && islower((unsigned char)*name)) return variable(*name);
  if (n == 0) fail("expected an expression before '%s'", *at ? at : "end of line");
  return call(name);
}

static expr *parse(int level) {
  static const kind by_level[][7] = {{OR}, {AND}, {LE, GE, EQ, NE, LT, GT}, {ADD, SUB}, {MUL, DIV, EXACT, MOD}};
  if (level == 5) return primary();
  expr *left = parse(level + 1);
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < 7 && by_level[level][i] && !again; i++) {
      kind k = by_level[level][i];
      space();
      if (strncmp(at, "=>", 2) == 0 || !accept(kinds[k].text)) continue;
      left = make(k, left, parse(level + 1), NULL);
      again = true;
    }
  }
  return left;
}

static expr *parse_all(const char *text, const char *what) {
  at = text;
  expr *e = parse(0);
  space();
  if (*at) fail("unexpected '%s' after the %s", at, what);
  return e;
}

/* --------------------------------------------------------------------------------------------------------- checks */

static bool equal(const expr *a, const expr *b) {
  if (!a || !b) return a == b;
  if (a->kind != b->kind || a->value != b->value) return false;
  for (int i = 0; i < 3; i++)
    if (!equal(a->arg[i], b->arg[i])) return false;
  return true;
}

static bool is_constant(const expr *e) { /* an expression of constants */
  if (e->kind == LO || e->kind == HI || e->kind == KNOWN) return true;
  if (e->kind == EXPRESSION || e->kind == TRUTH || e->kind >= WHERE) return e->kind == GCD;
  for (int i = 0; i < kinds[e->kind].arity; i++)
    if (!is_constant(e->arg[i])) return false;
  return e->kind < LT || e->kind == MIN || e->kind == MAX;
}

static bool mentions(const expr *e, int letter) {
  if (!e) return false;
  if (e->kind == CONSTANT || e->kind == EXPRESSION) return e->value == letter;
  return mentions(e->arg[0], letter) || mentions(e->arg[1], letter) || mentions(e->arg[2], letter);
}

static void check_bound(const expr *e, const expr *left, const char *where) {
  if (!e) return;
  if ((e->kind == CONSTANT || e->kind == EXPRESSION) && !mentions(left, (int)e->value))
    fail("variable '%c' of the %s is not bound by the left side", (int)e->value, where);
  for (int i = 0; i < 3; i++) check_bound(e->arg[i], left, where);
}

static bool leaf_constant(const expr *e) { return e->kind == CONSTANT || e->kind == NUMBER; }
static bool is_compare(kind k) { return k >= LT && k <= NE; }

/* Terms of a sum, left to right. */
static int flatten(expr *e, expr **out, int n) {
  if (e->kind != ADD) {
    if (n < GOALS) out[n] = e;
    return n + 1;
  }
  return flatten(e->arg[1], out, flatten(e->arg[0], out, n));
}

static void check_sum(expr *e) {
  expr *term[GOALS];
  int n = flatten(e, term, 0);
  if (n > 4) fail("a sum in a left side has at most four terms");
  for (int i = 0; i < n; i++) {
    bool last = i == n - 1;
    if (leaf_constant(term[i]) && !last) fail("left side is not in canonical form: the constant of a sum comes last");
    bool alone = n == 2 && i == 0 && leaf_constant(term[1]); /* x + c */
    if (term[i]->kind == EXPRESSION && !last && !alone)
      fail("left side is not in canonical form: a bare variable in a sum stands for the rest and comes last");
  }
}

static void check_canonical(expr *e) {
  kind k = e->kind;
  if (k == SUB) fail("left side is not in canonical form: there is no subtraction, write x + y*a with a constant a");
  if (k == LE || k == GT) fail("left side is not in canonical form: comparisons are < >= == !=");
  if (k == EXACT || k >= GCD) fail("left side is not in canonical form: '%s' is for constants", kinds[k].text);
  if (k >= ADD && is_constant(e)) fail("left side is not in canonical form: constants fold");
  if (k == ADD) check_sum(e);
  if (k == MUL && !leaf_constant(e->arg[1])) fail("left side is not in canonical form: a product is x * constant");
  if (k == MUL && (e->arg[0]->kind == MUL || e->arg[0]->kind == ADD))
    fail("left side is not in canonical form: constants distribute over sums and products");
  if (is_compare(k) && !leaf_constant(e->arg[1])) fail("left side is not in canonical form: the right of a comparison is constant");
  if (k == NOT && (is_compare(e->arg[0]->kind) || e->arg[0]->kind == NOT))
    fail("left side is not in canonical form: ! of a comparison is the opposite comparison");
  if (k == AND || k == OR) fail("left side is not in canonical form: connectives are simplified as a whole");
  for (int i = 0; i < kinds[k].arity; i++) check_canonical(e->arg[i]);
}

/* The same up to the names of variables: to[] maps letters of a to letters of b. */
static bool alike(const expr *a, const expr *b, char *to, char *from) {
  if (a->kind != b->kind) return false;
  if (a->kind == CONSTANT || a->kind == EXPRESSION) {
    if (!to[a->value] && !from[b->value]) to[a->value] = (char)b->value, from[b->value] = (char)a->value;
    return to[a->value] == b->value && from[b->value] == a->value;
  }
  if (a->value != b->value) return false;
  for (int i = 0; i < kinds[a->kind].arity; i++)
    if (!alike(a->arg[i], b->arg[i], to, from)) return false;
  return true;
}

static void check_rule(rule *r) {
  if (r->lhs->kind < ADD) fail("the left side is a single variable or constant");
  if (r->lhs->kind == ADD || r->lhs->kind == MUL) fail("sums and products are normalised before rules are tried: no rule may start with one");
  check_canonical(r->lhs);
  check_bound(r->rhs, r->lhs, "right side");
  if (r->cond) check_bound(r->cond, r->lhs, "condition");
  if (equal(r->lhs, r->rhs)) fail("both sides of '%s' are the same", r->name);
  for (rule *o = rules; o < r; o++) {
    char to[128] = {0}, from[128] = {0};
    if (strcmp(o->name, r->name) == 0) fail("rule '%s' is already defined on line %d", r->name, o->line);
    if (!alike(o->lhs, r->lhs, to, from)) continue;
    if (!o->cond) fail("'%s' is shadowed by '%s' on line %d, which has the same left side", r->name, o->name, o->line);
    if (r->cond && alike(o->cond, r->cond, to, from)) fail("'%s' repeats '%s' on line %d", r->name, o->name, o->line);
  }
}

/* -------------------------------------------------------------------------------------------------------- reading */

/* Cut `text` at the word or sign `mark`; the part after it, or NULL. */
static char *cut(char *text, const char *mark) {
  size_t n = strlen(mark);
  for (char *p = text; *p; p++)
    if (strncmp(p, mark, n) == 0) {
      *p = '\0';
      return p + n;
    }
  return NULL;
}

static void keep(char *to, const char *from, size_t size) {
  while (isspace((unsigned char)*from)) from++;
  size_t n = strlen(from);
  while (n && isspace((unsigned char)from[n - 1])) n--;
  if (n >= size) fail("line too long");
  memcpy(to, from, n);
  to[n] = '\0';
}

static void read_rule(char *text) {
  if (rule_count == RULES) fail("more than %d rules", RULES);
  rule *r = &rules[rule_count];
  r->line = line_number;
  char *reason = cut(text, ";"), *right = cut(text, "=>");
  if (!right) fail("expected '=>'");
  char *witness = cut(right, " by "), *condition = cut(right, " if ");
  size_t n = strcspn(text, " \t");
  if (n == 0 || n >= sizeof r->name) fail("expected the name of a rule");
  for (size_t i = 0; i < n; i++)
    if (!islower((unsigned char)text[i]) && text[i] != '_') fail("a rule's name is of lower-case letters and underscores");
  memcpy(r->name, text, n);
  if (!reason) fail("rule '%s' gives no reason: write '; why' at its end", r->name);
  keep(r->left, text + n, LINE);
  keep(r->right, right, LINE);
  keep(r->condition, condition ? condition : "", LINE);
  keep(r->witness, witness ? witness : "", LINE);
  keep(r->reason, reason, LINE);
  if (!*r->reason) fail("rule '%s' gives no reason: write '; why' at its end", r->name);
  r->lhs = parse_all(r->left, "left side");
  r->rhs = parse_all(r->right, "right side");
  r->cond = condition ? parse_all(r->condition, "condition") : NULL;
  if (witness) check_bound(parse_all(r->witness, "witness"), r->lhs, "witness");
  check_rule(r);
  rule_count++;
}

static void read_measure(char *text) { /* measure x // y = polynomial */
  if (measure_count == RULES) fail("more than %d measures", RULES);
  rule *m = &measures[measure_count++];
  char *weight = cut(text, "=");
  if (!weight) fail("expected '='");
  keep(m->left, text, LINE);
  keep(m->right, weight, LINE);
  m->lhs = parse_all(m->left, "operation");
  m->rhs = parse_all(m->right, "weight");
  check_bound(m->rhs, m->lhs, "weight");
}

static void read_file(FILE *in) {
  char line[LINE];
  while (fgets(line, sizeof line, in)) {
    line_number++;
    if (!strchr(line, '\n') && !feof(in)) fail("line too long");
    char *start = line + strspn(line, " \t\r\n");
    start[strcspn(start, "\r\n")] = '\0';
    if (*start == '\0' || *start == '#') continue;
    if (strncmp(start, "measure ", 8) == 0) read_measure(start + 8);
    else read_rule(start);
  }
}

/* ------------------------------------------------------------------------------------------------------- emission */

static FILE *out;
static int depth, fresh; /* open braces; numbers of temporaries */
static bool bound[128];
static struct { int letter, sum; char pick[4][16]; int picks; } rest[8]; /* variables that stand for the rest of a sum */
static int rest_count;

static void emit(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void emit(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(out, "%*s", 2 * depth, "");
  vfprintf(out, format, args);
  fprintf(out, "\n");
  va_end(args);
}
static void open_block(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void open_block(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(out, "%*s", 2 * depth, "");
  vfprintf(out, format, args);
  fprintf(out, " {\n");
  va_end(args);
  depth++;
}
static void close_to(int level) {
  while (depth > level) {
    depth--;
    emit("}");
  }
}

static void match(const expr *p, const char *node);

static void match_variable(const expr *p, const char *node) {
  int letter = (int)p->value;
  if (p->kind == CONSTANT) {
    int t = fresh++;
    emit("int64_t k%d;", t);
    if (bound[letter]) open_block("if (ir_is_const(g, %s, &k%d) && k%d == v_%c)", node, t, t, letter);
    else {
      open_block("if (ir_is_const(g, %s, &k%d))", node, t);
      emit("const int64_t v_%c = k%d;", letter, t);
    }
  } else if (bound[letter]) {
    open_block("if (%s == v_%c)", node, letter);
  } else {
    emit("const ir_ref v_%c = %s;", letter, node);
  }
  bound[letter] = true;
}

static void match_coefficient(const expr *p, const char *value) {
  if (p->kind == NUMBER) open_block("if (%s == %lld)", value, p->value);
  else if (bound[p->value]) open_block("if (%s == v_%c)", value, (int)p->value);
  else {
    emit("const int64_t v_%c = %s;", (int)p->value, value);
    bound[p->value] = true;
  }
}

static void match_sum(const expr *p, const char *node) {
  expr *term[GOALS];
  int n = flatten((expr *)p, term, 0), id = fresh++, picks = n - 1;
  const expr *last = term[n - 1];
  emit("pass_linear sum%d;", id);
  emit("pass_linear_read(g, %s, &sum%d);", node, id);
  if (leaf_constant(last)) {
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
    for (int j = 0; j < i; j++) emit("if (t%d_%d == t%d_%d) continue;", id, i, id, j);
    char atom[32], value[64];
    snprintf(atom, sizeof atom, "atom%d_%d", id, i);
    emit("const ir_ref %s = sum%d.term[t%d_%d].atom;", atom, id, id, i);
    snprintf(value, sizeof value, "sum%d.term[t%d_%d].coef", id, id, i);
    const expr *factor = term[i];
    if (factor->kind == MUL) {
      match_coefficient(factor->arg[1], value);
      factor = factor->arg[0];
    } else {
      open_block("if (%s == 1)", value);
    }
    match(factor, atom);
  }
  const expr *others = last->kind == EXPRESSION ? last : picks == 0 ? term[0] : NULL;
  if (!others) return;
  if (bound[others->value]) fail("the rest of a sum must be a fresh variable, not '%c'", (int)others->value);
  bound[others->value] = true;
  rest[rest_count].letter = (int)others->value;
  rest[rest_count].sum = id;
  rest[rest_count].picks = picks == 0 ? -1 : picks;
  rest_count++;
}

static void match_operands(const expr *p, const char *node) {
  int id = fresh++, arity = kinds[p->kind].arity;
  bool any_order = p->kind == MIN || p->kind == MAX;
  if (any_order) open_block("for (int o%d = 0; o%d < 2; o%d++)", id, id, id);
  for (int i = 0; i < arity; i++) {
    if (any_order) emit("const ir_ref s%d_%d = %s[o%d ^ %d];", id, i, node, id, i);
    else emit("const ir_ref s%d_%d = %s[%d];", id, i, node, i);
  }
  for (int i = 0; i < arity; i++) {
    char operand[32];
    snprintf(operand, sizeof operand, "s%d_%d", id, i);
    match(p->arg[i], operand);
  }
}

static void match(const expr *p, const char *node) {
  switch (p->kind) {
  case NUMBER: {
    int t = fresh++;
    emit("int64_t k%d;", t);
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
    emit("pass_linear one%d;", id);
    emit("pass_linear_read(g, %s, &one%d);", node, id);
    open_block("if (one%d.count == 1 && one%d.constant == 0 && one%d.term[0].coef != 1)", id, id, id);
    snprintf(value, sizeof value, "one%d.term[0].coef", id);
    snprintf(atom, sizeof atom, "one%d.term[0].atom", id);
    match_coefficient(p->arg[1], value);
    match(p->arg[0], atom);
    return;
  }
  default: {
    char sources[64];
    const char *type = p->kind == NOT || is_compare(p->kind) ? "BOOL" : NULL;
    if (p->kind == WHERE) open_block("if (ir_op_of(g, %s) == IR_OP_WHERE)", node);
    else open_block("if (ir_op_of(g, %s) == IR_OP_%s && ir_dtype_of(g, %s) == IR_%s)", node, kinds[p->kind].op, node, type ? type : "INDEX");
    if (is_compare(p->kind)) open_block("if (ir_dtype_of(g, ir_src(g, %s, 0)) == IR_INDEX)", node);
    snprintf(sources, sizeof sources, "ir_get(g, %s)->src", node);
    match_operands(p, sources);
  }
  }
}

/* A constant expression: statements of checked arithmetic, each opening a block; its C text. */
static const char *constant(const expr *e) {
  static char text[16][64];
  static int next;
  char *result = text[next++ % 16];
  if (e->kind == NUMBER) snprintf(result, 64, "INT64_C(%lld)", e->value);
  if (e->kind == CONSTANT) snprintf(result, 64, "v_%c", (int)e->value);
  if (e->kind == NUMBER || e->kind == CONSTANT) return result;
  int t;
  char a[64] = "", b[64] = "";
  if (e->kind == LO || e->kind == HI || e->kind == KNOWN) {
    if (e->arg[0]->kind != EXPRESSION) fail("'%s' asks about a variable", kinds[e->kind].text);
    if (e->kind == KNOWN) snprintf(b, 64, "%s", constant(e->arg[1]));
    emit("int64_t k%d;", t = fresh++);
    if (e->kind == KNOWN) open_block("if (pass_residue(b, v_%c, %s, &k%d))", (int)e->arg[0]->value, b, t);
    else open_block("if (rule_%s(b, v_%c, &k%d))", kinds[e->kind].text, (int)e->arg[0]->value, t);
  } else {
    static const char *const names[KINDS] = {[ADD] = "ir_add_ok", [SUB] = "ir_sub_ok", [MUL] = "ir_mul_ok",
        [EXACT] = "rule_div", [DIV] = "rule_div", [MOD] = "rule_mod", [GCD] = "rule_gcd", [MIN] = "rule_min", [MAX] = "rule_max"};
    if (!names[e->kind]) fail("'%s' is no operation on constants", kinds[e->kind].text);
    snprintf(a, 64, "%s", constant(e->arg[0]));
    snprintf(b, 64, "%s", constant(e->arg[1]));
    emit("int64_t k%d;", t = fresh++);
    open_block("if (%s(%s, %s, &k%d))", names[e->kind], a, b, t);
  }
  snprintf(result, 64, "k%d", t);
  return result;
}

/* The condition as nested tests: conjunctions nest, each comparison is of constants. */
static void condition(const expr *e) {
  if (e->kind == AND) {
    condition(e->arg[0]);
    condition(e->arg[1]);
  } else if (is_compare(e->kind)) {
    char a[64], b[64];
    snprintf(a, 64, "%s", constant(e->arg[0]));
    snprintf(b, 64, "%s", constant(e->arg[1]));
    open_block("if (%s %s %s)", a, kinds[e->kind].text, b);
  } else if (e->kind == OR && is_compare(e->arg[0]->kind) && is_compare(e->arg[1]->kind)) {
    char c[4][64];
    for (int i = 0; i < 4; i++) snprintf(c[i], 64, "%s", constant(e->arg[i / 2]->arg[i % 2]));
    open_block("if (%s %s %s || %s %s %s)", c[0], kinds[e->arg[0]->kind].text, c[1], c[2], kinds[e->arg[1]->kind].text, c[3]);
  } else {
    fail("a condition is a conjunction of comparisons (or of two joined by |) between constants");
  }
}

/* The right side: one statement per node, in order, so that every compiler makes the nodes in the same order. */
static void build(const expr *e, char *name) {
  char arg[3][32];
  if (e->kind == EXPRESSION) {
    snprintf(name, 32, "v_%c", (int)e->value);
    return;
  }
  if (is_constant(e)) {
    const char *value = e->text ? e->text : constant(e);
    snprintf(name, 32, "r%d", fresh++);
    emit("ir_ref %s = ir_index(g, %s);", name, value);
    return;
  }
  for (int i = 0; i < kinds[e->kind].arity; i++) build(e->arg[i], arg[i]);
  snprintf(name, 32, "r%d", fresh++);
  switch (e->kind) {
  case TRUTH: emit("ir_ref %s = ir_bool(g, %s);", name, e->value ? "true" : "false"); return;
  case ADD: emit("ir_ref %s = pass_make_add(b, %s, %s);", name, arg[0], arg[1]); return;
  case SUB: emit("ir_ref %s = pass_make_sub(b, %s, %s);", name, arg[0], arg[1]); return;
  case MUL: emit("ir_ref %s = pass_make_mul(b, %s, %s);", name, arg[0], arg[1]); return;
  case DIV: emit("ir_ref %s = pass_make_div(b, %s, %s);", name, arg[0], arg[1]); return;
  case MOD: emit("ir_ref %s = pass_make_mod(b, %s, %s);", name, arg[0], arg[1]); return;
  case NOT: emit("ir_ref %s = pass_make_not(b, %s);", name, arg[0]); return;
  case WHERE: emit("ir_ref %s = pass_make_where(b, %s, %s, %s);", name, arg[0], arg[1], arg[2]); return;
  case MIN:
  case MAX: emit("ir_ref %s = pass_make_minmax(b, IR_OP_%s, %s, %s);", name, kinds[e->kind].op, arg[0], arg[1]); return;
  case AND:
  case OR: emit("ir_ref %s = pass_make_junction(b, IR_OP_%s, (ir_ref[]){%s, %s}, 2);", name, kinds[e->kind].op, arg[0], arg[1]); return;
  default:
    if (!is_compare(e->kind)) fail("'%s' cannot stand in a right side", kinds[e->kind].text);
    emit("ir_ref %s = pass_make_compare(b, IR_OP_%s, %s, %s);", name, kinds[e->kind].op, arg[0], arg[1]);
  }
}

/* The constants of the right side, which may refuse the rule, before any node is made. */
static void precompute(expr *e) {
  if (!e) return;
  bool asks = false;
  for (int i = 0; i < rest_count; i++) asks = asks || mentions(e, rest[i].letter);
  if (is_constant(e) && !asks) {
    e->text = strdup(constant(e));
    if (!e->text) fail("out of memory");
    return;
  }
  for (int i = 0; i < 3; i++) precompute(e->arg[i]);
}

/* Rests of sums become nodes only after the constants have passed their tests. */
static void build_rest(int i) {
  emit("pass_linear rest%d = sum%d;", i, rest[i].sum);
  if (rest[i].picks < 0) emit("rest%d.constant = 0;", i);
  for (int j = 0; j < rest[i].picks; j++)
    emit("pass_linear_term(&rest%d, atom%d_%d, -sum%d.term[t%d_%d].coef);", i, rest[i].sum, j, rest[i].sum, rest[i].sum, j);
  emit("const ir_ref v_%c = pass_linear_node(b, &rest%d);", rest[i].letter, i);
}

static void conditions(const expr *e, bool late) { /* those that ask about a rest come late */
  if (e->kind == AND) {
    conditions(e->arg[0], late);
    conditions(e->arg[1], late);
    return;
  }
  bool asks = false;
  for (int i = 0; i < rest_count; i++) asks = asks || mentions(e, rest[i].letter);
  if (asks == late) condition(e);
}

static void emit_rule(const rule *r) {
  char name[32];
  line_number = r->line;
  memset(bound, 0, sizeof bound);
  depth = fresh = rest_count = 0;
  emit("/* %s */", r->left);
  open_block("static ir_ref rule_%s(pass_build *b, const ir_ref *src)", r->name);
  emit("ir_graph *g = b->g;");
  match_operands(r->lhs, "src");
  if (r->cond) conditions(r->cond, false);
  precompute(r->rhs);
  for (int i = 0; i < rest_count; i++) build_rest(i);
  if (r->cond) conditions(r->cond, true);
  build(r->rhs, name);
  emit("if (%s && pass_allowed(b, \"%s\", IR_OP_%s, src, %d, %s)) return %s;", name, r->name, kinds[r->lhs->kind].op,
       kinds[r->lhs->kind].arity, name, name);
  close_to(1);
  emit("(void)g;");
  emit("return 0;");
  close_to(0);
  emit("%s", "");
}

static void emit_string(const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

static void emit_dispatch(const char *set) {
  depth = 0;
  open_block("ir_ref pass_%s_rules(pass_build *b, ir_op op, const ir_ref *src, uint32_t nsrc)", set);
  emit("ir_ref r = 0;");
  emit("(void)nsrc;");
  open_block("switch (op)");
  for (int k = ADD; k <= WHERE; k++) {
    bool any = false;
    for (int i = 0; i < rule_count; i++) {
      if (rules[i].lhs->kind != (kind)k) continue;
      if (!any) emit("case IR_OP_%s:", kinds[k].op);
      any = true;
      emit("  if ((r = rule_%s(b, src))) return r;", rules[i].name);
    }
    if (any) emit("  return 0;");
  }
  emit("default: return 0;");
  close_to(0);
}

static void emit_table(const char *set) {
  fprintf(out, "\nstatic const pass_rule table[] = {\n");
  for (int i = 0; i < rule_count; i++) {
    const char *const columns[] = {rules[i].name, rules[i].left, rules[i].right, rules[i].condition, rules[i].witness, rules[i].reason};
    fprintf(out, "    {");
    for (int j = 0; j < 6; j++) {
      if (j) fputs(", ", out);
      emit_string(columns[j]);
    }
    fprintf(out, "},\n");
  }
  fprintf(out, "};\nstatic const pass_measure measures[] = {\n");
  for (int i = 0; i < measure_count; i++) {
    fprintf(out, "    {");
    emit_string(measures[i].left);
    fputs(", ", out);
    emit_string(measures[i].right);
    fprintf(out, "},\n");
  }
  if (measure_count == 0) fprintf(out, "    {NULL, NULL},\n");
  fprintf(out, "};\nconst pass_rule_set pass_%s_rule_set = {\"%s\", table, %d, measures, %d};\n", set, set, rule_count, measure_count);
}

static const char *const prelude =
    "#include \"passes/index_impl.h\"\n#include \"passes/rule.h\"\n\n"
    "#if defined(__GNUC__)\n#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
    "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n#endif\n\n"
    "static bool rule_div(int64_t a, int64_t d, int64_t *r) {\n  if (d < 1) return false;\n  *r = ir_floor_div(a, d);\n  return true;\n}\n"
    "static bool rule_mod(int64_t a, int64_t d, int64_t *r) {\n  if (d < 1) return false;\n  *r = ir_floor_mod(a, d);\n  return true;\n}\n"
    "static bool rule_gcd(int64_t a, int64_t c, int64_t *r) {\n  *r = ir_gcd(a, c);\n  return true;\n}\n"
    "static bool rule_min(int64_t a, int64_t c, int64_t *r) {\n  *r = a < c ? a : c;\n  return true;\n}\n"
    "static bool rule_max(int64_t a, int64_t c, int64_t *r) {\n  *r = a > c ? a : c;\n  return true;\n}\n"
    "static bool rule_lo(pass_build *b, ir_ref x, int64_t *r) {\n  *r = pass_bounds(b, x).lo;\n  return *r != INT64_MIN;\n}\n"
    "static bool rule_hi(pass_build *b, ir_ref x, int64_t *r) {\n  *r = pass_bounds(b, x).hi;\n  return *r != INT64_MAX;\n}\n\n";

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: rulec RULES OUTPUT\n");
    return 2;
  }
  file = argv[1];
  FILE *in = fopen(file, "r");
  if (!in) fail("cannot be read");
  read_file(in);
  fclose(in);
  char set[64];
  const char *base = strrchr(file, '/');
  snprintf(set, sizeof set, "%s", base ? base + 1 : file);
  set[strcspn(set, ".")] = '\0';
  out = fopen(argv[2], "w");
  if (!out) fail("cannot write %s", argv[2]);
  fprintf(out, "/* Generated from %s by rulec. */\n%s", file, prelude);
  for (int i = 0; i < rule_count; i++) emit_rule(&rules[i]);
  emit_dispatch(set);
  emit_table(set);
  bool written = fclose(out) == 0;
  if (!written) remove(argv[2]);
  return written ? 0 : 1;
}
