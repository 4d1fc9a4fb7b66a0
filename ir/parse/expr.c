/* Parsing of index expressions, types and declarations of variables.
 *
 * Expressions are read with two explicit stacks, values and pending operators, so parentheses may nest as
 * deep as memory allows. a+b+c becomes one node with three sources, (a+b)+c two nodes; likewise for *, & and
 * |. */
#include "ir/arith.h"
#include "ir/parse/impl.h"

#include <string.h>

enum { PRECEDENCE_PREFIX = 9 };

static const char expected_operand[] = "a number, a variable, a range, '-', '!' or '('";

ir_ref ir_expr_raw(void *user, ir_graph *g, ir_op op, const ir_ref *src, uint32_t n) {
  (void)user;
  ir_dtype dtype = ir_dtype_of(g, src[op == IR_OP_WHERE]);
  return ir_make(g, op, ir_ops[op].cls == IR_CLASS_COMPARE ? IR_BOOL : dtype, 0, src, n);
}

const ir_builder ir_builder_raw = {.expr = ir_expr_raw};

bool ir_range_axis(const char *text, size_t length, int64_t *axis) {
  if (length < 5 || length > 14 || memcmp(text, "ridx", 4) != 0 || (text[4] == '0' && length > 5))
    return false;
  *axis = 0;
  for (size_t i = 4; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    *axis = *axis * 10 + text[i] - '0';
  }
  return *axis <= INT32_MAX;
}

bool ir_variable_name_ok(const char *name, size_t length) {
  static const char *const reserved[] = {"True", "False", "true", "false", "inf", "nan", "index", "none"};
  int64_t axis;
  if (length == 0 || (name[0] >= '0' && name[0] <= '9')) return false;
  for (size_t i = 0; i < length; i++) {
    char c = name[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  }
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (strlen(reserved[i]) == length && memcmp(reserved[i], name, length) == 0) return false;
  return ir_dtype_parse(name, length) == IR_NONE && !ir_range_axis(name, length, &axis);
}

ir_dtype ir_parse_dtype_word(const ir_token *word) {
  return ir_token_is(word, "none") ? IR_NONE : ir_dtype_parse(word->text, word->length);
}

ir_op ir_op_find(const char *text, size_t length, uint32_t operands) {
  ir_op found = IR_OP_ERROR;
  for (int op = 1; op < IR_OP_COUNT; op++) {
    if (strlen(ir_ops[op].text) != length || memcmp(ir_ops[op].text, text, length) != 0) continue;
    if (ir_ops[op].operands < 0 || (uint32_t)ir_ops[op].operands == operands) return (ir_op)op;
  }
  return found;
}

static bool elementwise(ir_op op) {
  int cls = ir_ops[op].cls;
  return (cls == IR_CLASS_UNARY && op != IR_OP_CAST && op != IR_OP_BITCAST) || cls == IR_CLASS_BINARY ||
         cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY;
}

static bool any_count(ir_op op) {
  return op == IR_OP_ADD || op == IR_OP_MUL || op == IR_OP_AND || op == IR_OP_OR;
}

static ir_op infix_op(const ir_lexer *lx) {
  if (lx->token.kind != IR_TOKEN_SIGN) return IR_OP_ERROR;
  for (int op = 1; op < IR_OP_COUNT; op++) {
    const char *s = ir_ops[op].infix;
    int cls = ir_ops[op].cls;
    if (s[0] && (cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE) && lx->token.sign == IR_SIGN2(s[0], s[1]))
      return (ir_op)op;
  }
  return IR_OP_ERROR;
}

static bool push_value(ir_parser *p, ir_ref ref) {
  if (!ref) return p->lex.error->status ? false : ir_parse_memory(p);
  if (!IR_RESERVE(p->graph->mem, p->values, p->value_cap, p->value_count + 1)) return ir_parse_memory(p);
  p->values[p->value_count++] = ref;
  return true;
}

static bool push_operator(ir_parser *p, ir_pending kind, ir_op op) {
  if (!IR_RESERVE(p->graph->mem, p->operators, p->operator_cap, p->operator_count + 1))
    return ir_parse_memory(p);
  p->operators[p->operator_count++] =
      (ir_operator){kind, op, kind == PENDING_INFIX, p->lex.token.line, p->lex.token.column};
  return true;
}

static bool is_logic(ir_op op) {
  return op == IR_OP_AND || op == IR_OP_OR || op == IR_OP_XOR || op == IR_OP_NOT;
}

static bool is_index_arithmetic(ir_op op) {
  switch ((int)op) {
  case IR_OP_NEG:
  case IR_OP_ABS:
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
  case IR_OP_MIN:
  case IR_OP_MAX:
  case IR_OP_WHERE: return true;
  default: return ir_ops[op].cls == IR_CLASS_COMPARE;
  }
}

const char ir_parse_own_line[] = "; an operation on arrays has a line of its own, as in %t = neg %x";

/* an error text if the operands do not suit the operation, or NULL */
static const char *misuse(const ir_graph *g, ir_op op, const ir_ref *src, uint32_t n) {
  ir_dtype first = ir_dtype_of(g, src[0]), want = op == IR_OP_WHERE ? ir_dtype_of(g, src[1]) : first;
  if (op == IR_OP_WHERE && first != IR_BOOL) return "expected a truth value as condition";
  for (uint32_t i = op == IR_OP_WHERE; i < n; i++)
    if (ir_dtype_of(g, src[i]) != want) return "expected operands of one dtype";
  if (want != IR_INDEX && want != IR_BOOL) return "expected index numbers or truth values";
  if (want == IR_INDEX && !is_index_arithmetic(op))
    return is_logic(op) ? "expected truth values" : "expected index arithmetic: + - * // % min max where";
  if (want == IR_BOOL && !is_logic(op) && op != IR_OP_WHERE && op != IR_OP_EQ && op != IR_OP_NE)
    return "expected numbers, not truth values";
  int64_t divisor;
  if ((op == IR_OP_FLOORDIV || op == IR_OP_MOD) && ir_is_const(g, src[1], &divisor) && divisor < 1)
    return "expected a divisor >= 1";
  return NULL;
}

static ir_ref make_expr(const ir_parser *p, ir_op op, const ir_ref *src, uint32_t n) {
  const ir_builder *b = p->builder;
  if (!p->as_written) return b->expr(b->user, p->graph, op, src, n);
  ir_ref made = ir_expr_raw(NULL, p->graph, op, src, n);
  if (made && b->learn) b->learn(b->user, p->graph, made);
  return made;
}

/* replaces the topmost n values by the operation on them */
static bool apply_operator(ir_parser *p, const ir_operator *o, uint32_t n) {
  const ir_ref *src = p->values + p->value_count - n;
  const char *wrong = misuse(p->graph, o->op, src, n);
  if (wrong) {
    const char *dtype = ir_dtypes[ir_dtype_of(p->graph, src[0])].name;
    bool array = ir_dtype_of(p->graph, src[0]) != IR_INDEX && ir_dtype_of(p->graph, src[0]) != IR_BOOL;
    if (array)
      return ir_lex_fail_at(&p->lex, o->line, o->column, "%s of an array of %s within a statement%s",
                            ir_ops[o->op].text, dtype, ir_parse_own_line);
    return ir_lex_fail_at(&p->lex, o->line, o->column, "bad operands of %s, found %s first, %s",
                          ir_ops[o->op].text, dtype, wrong);
  }
  ir_ref ref = make_expr(p, o->op, src, n);
  if (!ref) return ir_lex_prefix_error(&p->lex, o->line, o->column);
  p->value_count -= n;
  p->values[p->value_count++] = ref;
  return true;
}

static int precedence(const ir_operator *o) {
  return o->kind == PENDING_INFIX    ? ir_ops[o->op].precedence
         : o->kind == PENDING_PREFIX ? PRECEDENCE_PREFIX
                                     : 0;
}

/* applies the pending operators above `base` that bind at least as tightly as `bound` */
static bool reduce_pending(ir_parser *p, size_t base, int bound) {
  while (p->operator_count > base && precedence(&p->operators[p->operator_count - 1]) >= bound) {
    ir_operator o = p->operators[--p->operator_count];
    if (!apply_operator(p, &o, o.kind == PENDING_INFIX ? o.operands + 1 : 1)) return false;
  }
  return true;
}

static bool infix(ir_parser *p, size_t base, ir_op op) {
  if (!reduce_pending(p, base, ir_ops[op].precedence + 1)) return false;
  ir_operator *top = p->operator_count > base ? &p->operators[p->operator_count - 1] : NULL;
  if (top && top->kind == PENDING_INFIX && top->op == op && any_count(op)) {
    top->operands++;
  } else {
    if (!reduce_pending(p, base, ir_ops[op].precedence)) return false;
    if (!push_operator(p, PENDING_INFIX, op)) return false;
  }
  ir_lex_next(&p->lex);
  return true;
}

bool ir_parse_declare(ir_parser *p, const ir_token *name, ir_ref var) {
  int64_t id = ir_parse_intern(p, name);
  if (id < 0) return ir_parse_memory(p);
  ir_symbol *s = &p->symbols[id];
  if (s->var_epoch == p->epoch && s->var != var)
    return ir_lex_fail_at(&p->lex, name->line, name->column,
                          "variable declared again with other bounds, found '%.*s', expected its name alone",
                          (int)(name->length > 40 ? 40 : name->length), name->text);
  if (s->var_epoch != p->epoch) {
    if (!IR_RESERVE(p->graph->mem, p->vars, p->var_cap, p->var_count + 1)) return ir_parse_memory(p);
    p->vars[p->var_count++] = var;
  }
  s->var = var;
  s->var_epoch = p->epoch;
  return true;
}

static ir_ref declare_variable(ir_parser *p, const ir_token *name) {
  int64_t lo, hi, divisor = 1, id = ir_parse_intern(p, name);
  int line = p->lex.token.line, column = p->lex.token.column;
  ir_lex_next(&p->lex);
  if (id < 0) return ir_parse_memory(p);
  if (!ir_variable_name_ok(name->text, name->length))
    return ir_lex_fail_at(&p->lex, name->line, name->column,
                          "reserved name, found '%.*s', expected a variable's name",
                          (int)(name->length > 40 ? 40 : name->length), name->text);
  if (!ir_parse_int(p, &lo, "bad bounds of a variable") ||
      !(ir_lex_accept(&p->lex, IR_SIGN2('.', '.')) ||
        ir_lex_fail(&p->lex, "bad bounds of a variable",
                    name->length > 1
                        ? "'..' and the largest value, as in n=1..8; what an axis of one size is called "
                          "is one letter, as in b=2"
                        : "'..' and the largest value, as in n=1..8")) ||
      !ir_parse_int(p, &hi, "bad bounds of a variable"))
    return 0;
  if (ir_lex_accept(&p->lex, ':') && !ir_parse_int(p, &divisor, "bad divisor of a variable")) return 0;
  int64_t over = divisor >= 1 ? ir_floor_mod(hi, divisor) : 0; /* hi - over is the largest multiple <= hi */
  if (lo > hi || divisor < 1 || (uint64_t)hi - (uint64_t)lo < (uint64_t)over)
    return ir_lex_fail_at(
        &p->lex, line, column,
        "bad bounds of a variable, found %lld..%lld:%lld, expected low <= high, a divisor >= 1 and a "
        "multiple of it between them",
        (long long)lo, (long long)hi, (long long)divisor);
  ir_ref var = ir_var(p->graph, name->text, name->length, lo, hi, divisor);
  return var && ir_parse_declare(p, name, var) ? var : 0;
}

/* What may have been meant by a name that is no variable. */
static const char *expected_of(const ir_parser *p, const ir_token *word) {
  const char *end = p->lex.text + p->lex.length, *behind = word->text + word->length;
  if (word->text > p->lex.text && word->text[-1] == '%') return "operands before attributes";
  if (end - behind >= 2 && behind[0] == '-' && behind[1] == '>') return "a text in quotes";
  if (end - behind >= 2 && behind[0] == ' ' && behind[1] == '%' && !p->in_sizes)
    return "a value; an operation on arrays has a line of its own, as in %t = neg %x";
  return p->in_sizes ? "a number, or a variable, which has its bounds where it stands first, as in n=1..8"
                     : "a variable declared before, as in n=1..8, or a value with its %, as in %x";
}

static ir_ref lookup_word(ir_parser *p, const ir_token *word, ir_ref range, bool is_range) {
  int64_t id = ir_parse_intern(p, word);
  int shown = (int)(word->length > 40 ? 40 : word->length);
  if (id < 0) return ir_parse_memory(p);
  if (is_range && range) return range;
  if (!is_range && p->symbols[id].var_epoch == p->epoch) return p->symbols[id].var;
  return ir_lex_fail_at(&p->lex, word->line, word->column, "unknown %s, found '%.*s', expected %s",
                        is_range ? "range" : "name in an expression", shown, word->text,
                        is_range ? "a range of an enclosing loop" : expected_of(p, word));
}

ir_ref ir_parse_range_lookup(ir_parser *p, const ir_token *word) {
  int64_t id = ir_parse_intern(p, word);
  if (id < 0) return ir_parse_memory(p);
  return lookup_word(p, word, p->symbols[id].range_epoch == p->epoch ? p->symbols[id].range : 0, true);
}

static bool word_operand(ir_parser *p, bool *complete) {
  ir_token word = p->lex.token;
  int64_t axis;
  if (ir_token_is(&word, "True") || ir_token_is(&word, "False")) {
    ir_lex_next(&p->lex);
    return push_value(p, ir_bool(p->graph, word.text[0] == 'T'));
  }
  if (ir_range_axis(word.text, word.length, &axis)) {
    ir_lex_next(&p->lex);
    return push_value(p, ir_parse_range_lookup(p, &word));
  }
  ir_operator call = {.kind = PENDING_CALL, .line = word.line, .column = word.column};
  ir_lex_next(&p->lex);
  if (ir_lex_is(&p->lex, '=')) return push_value(p, declare_variable(p, &word));
  if (!ir_lex_is(&p->lex, '(')) return push_value(p, lookup_word(p, &word, 0, false));
  for (uint32_t n = 1; n <= 3 && !call.op; n++) { /* any variant; close_paren chooses by operand count */
    ir_op op = ir_op_find(word.text, word.length, n);
    if (op && elementwise(op)) call.op = op;
  }
  if (!call.op)
    return ir_lex_fail_at(
        &p->lex, word.line, word.column,
        "unknown function in an expression, found '%.*s', expected min, max, where or another "
        "elementwise operation%s",
        (int)(word.length > 40 ? 40 : word.length), word.text, ir_parse_own_line);
  if (!push_operator(p, PENDING_CALL, call.op)) return false;
  p->operators[p->operator_count - 1] = call;
  ir_lex_next(&p->lex);
  *complete = false;
  return true;
}

/* At the start of an operand: reads it, or the sign before it. *complete: an operand has been read. */
static bool operand(ir_parser *p, bool *complete) {
  ir_lexer *lx = &p->lex;
  *complete = true;
  if (lx->token.kind == IR_TOKEN_INT) {
    int64_t value;
    return ir_parse_int(p, &value, "bad operand") && push_value(p, ir_index(p->graph, value));
  }
  if (lx->token.kind == IR_TOKEN_WORD) return word_operand(p, complete);
  if (ir_lex_is(lx, '%')) {
    ir_token name;
    return ir_parse_name(p, '%', &name, "bad operand") && push_value(p, ir_parse_lookup(p, &name));
  }
  *complete = false;
  if (ir_lex_is(lx, '(')) {
    if (!push_operator(p, PENDING_PAREN, IR_OP_ERROR)) return false;
  } else if (ir_lex_is(lx, '!')) {
    if (!push_operator(p, PENDING_PREFIX, IR_OP_NOT)) return false;
  } else if (ir_lex_is(lx, '-')) {
    if (!push_operator(p, PENDING_PREFIX, IR_OP_NEG)) return false;
    ir_lex_next(lx);
    if (lx->token.kind != IR_TOKEN_INT) return true;
    ir_literal l = {
        .negative = true, .magnitude = lx->token.integer, .line = lx->token.line, .column = lx->token.column};
    ir_value value;
    p->operator_count--;
    ir_lex_next(lx);
    *complete = true;
    return ir_literal_value(p, &l, IR_INDEX, &value) && push_value(p, ir_index(p->graph, value.i));
  } else {
    return ir_lex_fail(lx, "bad expression", expected_operand);
  }
  ir_lex_next(lx);
  return true;
}

/* At the ')' of a parenthesis or call that was opened above base. */
static bool close_paren(ir_parser *p, size_t base) {
  if (!reduce_pending(p, base, 1)) return false;
  ir_operator o = p->operators[--p->operator_count];
  ir_lex_next(&p->lex);
  if (o.kind == PENDING_PAREN) return true;
  uint32_t n = o.operands + 1;
  ir_op op = ir_op_find(ir_ops[o.op].text, strlen(ir_ops[o.op].text), n);
  if (op == IR_OP_ERROR && any_count(o.op) && n >= 2) op = o.op;
  if (op == IR_OP_ERROR || !elementwise(op))
    return ir_lex_fail_at(&p->lex, o.line, o.column, "wrong number of operands of %s, found %u, expected %d",
                          ir_ops[o.op].text, n, ir_ops[o.op].operands);
  o.op = op;
  return apply_operator(p, &o, n);
}

static bool innermost_open(const ir_parser *p, size_t base, ir_pending *kind) {
  for (size_t i = p->operator_count; i > base; i--) {
    *kind = p->operators[i - 1].kind;
    if (*kind == PENDING_PAREN || *kind == PENDING_CALL) return true;
  }
  return false;
}

static bool expression(ir_parser *p, size_t base) {
  size_t open = 0;
  bool by_line = p->lex.by_line;
  for (bool complete = false;;) {
    p->lex.by_line = by_line && open == 0;
    if (!complete) {
      size_t before = p->operator_count;
      if (p->lex.by_line && p->lex.token.first)
        return ir_lex_fail(&p->lex, "bad expression", expected_operand);
      if (!operand(p, &complete)) return false;
      ir_pending kind = p->operator_count > before ? p->operators[before].kind : PENDING_INFIX;
      open += kind == PENDING_PAREN || kind == PENDING_CALL;
      continue;
    }
    if (p->lex.by_line && p->lex.token.first) break;
    ir_op op = infix_op(&p->lex);
    if (op == IR_OP_OR && p->in_sizes && open == 0) break;
    ir_pending kind;
    if (op != IR_OP_ERROR) {
      if (!infix(p, base, op)) return false;
      complete = false;
    } else if (open && ir_lex_is(&p->lex, ')')) {
      if (!close_paren(p, base)) return false;
      open--;
    } else if (open && ir_lex_is(&p->lex, ',') && reduce_pending(p, base, 1) &&
               innermost_open(p, base, &kind) && kind == PENDING_CALL) {
      p->operators[p->operator_count - 1].operands++;
      ir_lex_next(&p->lex);
      complete = false;
    } else {
      break;
    }
  }
  p->lex.by_line = by_line;
  if (p->lex.error->status) return false;
  if (open && ir_lex_is(&p->lex, ','))
    return ir_lex_fail(&p->lex, "a list in parentheses", "brackets around it, as in shape=[2,3]");
  if (open) return ir_lex_fail(&p->lex, "bad expression", "an operator or ')'");
  return reduce_pending(p, base, 1);
}

ir_ref ir_parse_expression(ir_parser *p) {
  size_t values = p->value_count, operators = p->operator_count;
  bool by_line = p->lex.by_line;
  ir_ref result = expression(p, operators) ? p->values[p->value_count - 1] : 0;
  p->lex.by_line = by_line;
  p->value_count = values;
  p->operator_count = operators;
  return result;
}

#define SIZE_THAT_VARIES "a size that varies is a variable with its bounds, as in n=1..8"

static bool parse_size(ir_parser *p, ir_ref *size) {
  int line = p->lex.token.line, column = p->lex.token.column;
  int64_t value;
  bool wrong = p->lex.token.kind == IR_TOKEN_FLOAT;
  for (const char *sign = "?:*."; *sign; sign++) wrong |= ir_lex_is(&p->lex, *sign);
  if (wrong) return ir_lex_fail(&p->lex, "bad size", "a whole number; " SIZE_THAT_VARIES);
  p->in_sizes = true;
  *size = ir_parse_expression(p);
  p->in_sizes = false;
  if (!*size) return false;
  bool is_index = ir_dtype_of(p->graph, *size) == IR_INDEX;
  if (is_index && !(ir_is_const(p->graph, *size, &value) && value < 0)) return true;
  return ir_lex_fail_at(
      &p->lex, line, column,
      is_index ? "bad size, found a negative number, expected one >= 0; " SIZE_THAT_VARIES
               : "bad size, found another dtype, expected an index expression that is not negative");
}

/* Is `b=` the letter of an axis, as in `b=8` and `b=n=4..64`, and not a variable, as in `b=4..64`? */
static bool is_letter(const ir_lexer *lx) {
  const ir_token *t = &lx->token;
  const char *c = t->text + 1, *end = lx->text + lx->length;
  if (t->kind != IR_TOKEN_WORD || t->length != 1) return false;
  while (c < end && *c == ' ') c++;
  if (c == end || *c++ != '=') return false;
  while (c < end && (*c == ' ' || *c == '-' || (*c >= '0' && *c <= '9'))) c++;
  return end - c < 2 || c[0] != '.' || c[1] != '.';
}

/* The letter that stands before a size; false after an error. */
static bool read_letter(ir_parser *p, char *letter) {
  ir_token t = p->lex.token;
  *letter = 0;
  if (!is_letter(&p->lex)) return true;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++)
    if (p->letters.axis[i] == t.text[0] || p->letters.batch[i] == t.text[0])
      return ir_lex_fail_at(&p->lex, t.line, t.column,
                            "letter of an axis twice, found '%c=', expected another", t.text[0]);
  *letter = t.text[0];
  ir_lex_next(&p->lex);
  return ir_lex_expect(&p->lex, '=', "bad letter of an axis");
}

bool ir_parse_dims(ir_parser *p, ir_ref *batch, ir_ref *shape, uint64_t *unchecked) {
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = 0, lead = 0;
  bool by_line = p->lex.by_line, bar = false;
  p->lex.by_line = false;
  p->letters = (ir_letters){{0}, {0}, {0}};
  if (batch) *batch = 0;
  if (!ir_lex_is(&p->lex, '['))
    return ir_lex_fail(&p->lex, "missing shape", "'[', as in f32[2,3], or f32[] for one number");
  if (!ir_lex_expect(&p->lex, '[', "missing shape")) return false;
  while (!ir_lex_is(&p->lex, ']')) {
    if (batch && rank && !bar && ir_lex_accept(&p->lex, '|')) {
      bar = true, lead = rank;
      memcpy(p->letters.batch, p->letters.axis, sizeof p->letters.batch);
      memset(p->letters.axis, 0, sizeof p->letters.axis);
      continue;
    }
    if (rank && !(bar && rank == lead) && !ir_lex_accept(&p->lex, ','))
      return ir_lex_is(&p->lex, ':')
                 ? ir_lex_fail(&p->lex, "bad shape",
                               "'..' between the bounds of a size that varies, as in n=1..8")
                 : ir_lex_fail(&p->lex, "bad shape", "',' or ']', as in f32[2,3]");
    if (rank == IR_MAX_RANK) return ir_lex_fail(&p->lex, "rank too high", "at most 16 sizes");
    char letter;
    if (!read_letter(p, &letter)) return false;
    p->letters.axis[rank - lead] = letter;
    if (unchecked && ir_lex_accept(&p->lex, '?')) {
      *unchecked |= (uint64_t)1 << rank;
      if (!(dims[rank++] = ir_index(p->graph, 0))) return false;
      continue;
    }
    if (!parse_size(p, &dims[rank])) return false;
    rank++;
  }
  p->lex.by_line = by_line;
  ir_lex_next(&p->lex);
  if (lead && !(*batch = ir_tuple(p->graph, dims, lead))) return false;
  return (*shape = ir_tuple(p->graph, dims + lead, rank - lead)) != 0;
}

bool ir_parse_type(ir_parser *p, ir_dtype *dtype, ir_ref *batch, ir_ref *shape) {
  return ir_parse_dtype(p, dtype) && ir_parse_dims(p, batch, shape, NULL);
}
