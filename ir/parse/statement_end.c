/* What may stand behind a statement or in its place, and what is written there by people who know other
 * languages. */
#include "ir/parse/impl.h"

#include <stdio.h>
#include <string.h>

#include "ir/lex/nearest.h"

static int character_behind(const ir_parser *p, size_t skipped) {
  const char *at = p->lex.token.text + p->lex.token.length + skipped, *end = p->lex.text + p->lex.length;
  return at < end ? (unsigned char)*at : '\n';
}

/* Does a value or a number stand behind the sign? */
static bool before_number(const ir_parser *p) {
  int next = character_behind(p, character_behind(p, 0) == ' ');
  return next == '%' || (next >= '0' && next <= '9');
}

/* Fails at a sign that other languages have for an operation; false where there is none. */
static bool refuse_sign(ir_parser *p) {
  static const char *const operations[][2] = {
      {"//", "floordiv"}, {"% ", "mod"}, {"**", "pow"},  {"<<", "shl"}, {">>", "shr"}, {"<=", "le"},
      {">=", "ge"},       {"==", "eq"},  {"!=", "ne"},   {"&&", "and"}, {"||", "or"},  {"+", "add"},
      {"-", "sub"},       {"*", "mul"},  {"/", "div"},   {"<", "lt"},   {">", "gt"},   {"&", "and"},
      {"|", "or"},        {"^", "xor"},  {"@", "matmul"}};
  const ir_token *t = &p->lex.token;
  const char *end = p->lex.text + p->lex.length;
  for (size_t i = 0; i < sizeof operations / sizeof *operations && t->kind == IR_TOKEN_SIGN; i++) {
    const char *sign = operations[i][0], *operation = operations[i][1];
    if ((size_t)(end - t->text) < strlen(sign) || memcmp(t->text, sign, strlen(sign)) != 0) continue;
    int length = (int)strcspn(sign, " ");
    if (i == 0 && !before_number(p)) return false;                   /* a comment */
    if (*sign == '@' && character_behind(p, 0) != ' ') return false; /* a graph */
    return !ir_lex_fail_at(&p->lex, t->line, t->column,
                           "an operation is a word before its operands, found '%.*s', expected the end of "
                           "the line; what is %%x %.*s %%y elsewhere is %s %%x, %%y",
                           length, sign, length, sign, operation);
  }
  return false;
}

bool ir_parse_before_value(const ir_parser *p) {
  int next = character_behind(p, 1);
  return character_behind(p, 0) == ' ' && (next == '%' || next == '@');
}

bool ir_parse_refuse_text(ir_parser *p) {
  const ir_token *t = &p->lex.token;
  bool file = false; /* has it a dot behind a letter, or a slash? */
  for (size_t i = 1; i < t->length && t->text[0] != ' '; i++)
    file |=
        (t->text[i] == '.' || t->text[i] == '/') && t->text[i - 1] != ' ' && !memchr(t->text, ' ', t->length);
  if (file)
    return ir_lex_fail(&p->lex, "a text in place of an operand",
                       "%NAME or a number; an array of a file is a constant, as in %w = data file=\"w.npy\"");
  return ir_parse_about_attributes(
      p, ir_lex_fail(&p->lex, "a text in place of an operand",
                     "%NAME or a number; a text is an attribute, as in equation=\"ij,jk->ik\" of einsum, "
                     "and from=\"a(bc=2)\" to=\"abc\" of rearrange"));
}

/* True where a result stands; false, with an error, at what other languages return. */
bool ir_parse_at_result(ir_parser *p) {
  const ir_token *t = &p->lex.token;
  bool word = t->kind == IR_TOKEN_WORD && !t->first && !ir_parse_at_literal(p);
  bool called = word && character_behind(p, 0) == '(' && ir_parse_dtype_word(t) == IR_NONE;
  if (!called && !(word && ir_parse_before_value(p))) return true;
  return ir_lex_fail(
      &p->lex, "an operation in place of a result",
      "%NAME; an operation has a line of its own before, as in %y = neg %x, and then return %y");
}

bool ir_parse_statement_end(ir_parser *p) {
  if (ir_lex_is(&p->lex, '[') && !p->lex.token.first)
    return ir_lex_fail(
        &p->lex, "a value has no brackets",
        "the end of the line; slice takes a part, as in slice %x start=[0] size=[2], and point "
        "one index");
  if (!p->lex.token.first && refuse_sign(p)) return false;
  if (ir_lex_is(&p->lex, '.') && !p->lex.token.first)
    return ir_lex_fail(&p->lex, "a value has no members",
                       "the end of the line; what is %x.sum() elsewhere is sum %x, and %x.T transpose %x");
  if (ir_lex_is(&p->lex, IR_SIGN2('/', '/')))
    return ir_lex_fail(&p->lex, "no comment", "'#', with which a comment begins");
  if (ir_lex_is(&p->lex, '@') && p->lex.token.text[1] != ' ' && !p->lex.token.first)
    return ir_lex_fail(&p->lex, "a graph in place of an operand", "operands, and then graphs as in do=@f");
  if (ir_lex_is(&p->lex, '%') && !p->lex.token.first)
    return ir_lex_fail(&p->lex, "values without a comma", "',' between them, or the end of the line");
  return p->lex.token.first || ir_lex_is(&p->lex, '}') ||
         ir_lex_fail(&p->lex, "unexpected text after a statement", "the end of the line");
}

/* The line in which %NAME is a parameter or a result, and whether it belongs to the graph around `at`; 0:
 * none. */
static int defined_in(const ir_parser *p, const ir_token *name, bool *here) {
  const char *end = p->lex.text + p->lex.length;
  int line = 1, found = 0;
  bool behind = false; /* is the end of the graph around the name behind us? */
  for (const char *c = p->lex.text; c < end; c++) {
    line += *c == '\n';
    behind |= *c == '}' && c > name->text;
    if (*c == '}' && c < name->text) found = 0, *here = true; /* of a graph that has ended */
    if (*c != '%' || (size_t)(end - c) < name->length + 2 || memcmp(c + 1, name->text, name->length))
      continue;
    const char *next = c + 1 + name->length;
    next += strspn(next, " ");
    if (*next != ':' && *next != '=') continue;
    if (!found) *here = !behind, found = line;
  }
  return found;
}

/* The id of the value in scope whose name is nearest to one that there is not; -1: none is near. */
static int64_t nearest_value(const ir_parser *p, const ir_token *name) {
  int64_t found = -1;
  unsigned best = (unsigned)name->length / 3 + 1;
  for (size_t i = 0; i < p->symbol_cap && name->length > 2; i++) {
    if (p->symbols[i].value_epoch != p->epoch) continue;
    unsigned d = ir_name_distance(name->text, name->length, ir_name_text(p->graph, (int64_t)i),
                                  ir_name_length(p->graph, (int64_t)i));
    if (d < best) best = d, found = (int64_t)i;
  }
  return found;
}

void ir_parse_say_defined(const ir_parser *p, const ir_token *name, bool is_graph, char *out, size_t size) {
  bool here = true;
  int line = name->quoted ? 0 : defined_in(p, name, &here);
  int used = snprintf(out, size, "a parameter or the result of a statement above");
  if (used < 0 || (size_t)used >= size) return;
  if (is_graph) snprintf(out + used, size - (size_t)used, "; a graph is named by @, as in do=@f");
  else if (line && here) snprintf(out + used, size - (size_t)used, "; it is in line %d, below", line);
  else if (line)
    snprintf(out + used, size - (size_t)used,
             "; that of line %d is a value of another graph: give it to this one as an operand", line);
  int64_t near = line ? -1 : nearest_value(p, name);
  if (near >= 0)
    snprintf(out + used, size - (size_t)used, "; near to it: %%%.*s",
             (int)(ir_name_length(p->graph, near) > 40 ? 40 : ir_name_length(p->graph, near)),
             ir_name_text(p->graph, near));
}

/* Does a word with "->" in it stand around the token? */
bool ir_parse_in_equation(const ir_parser *p) {
  const char *at = p->lex.token.text, *end = p->lex.text + p->lex.length;
  for (; end - at >= 2 && !strchr(" =\"\n", *at); at++)
    if (at[0] == '-' && at[1] == '>') return true;
  return false;
}

bool ir_parse_after_attributes(ir_parser *p, bool attributes) {
  const ir_token *t = &p->lex.token;
  if (t->first || ir_lex_is(&p->lex, ':') || ir_lex_is(&p->lex, '}')) return true;
  if (attributes && ir_parse_in_equation(p))
    return ir_lex_fail(&p->lex, "a text without quotes", IR_PARSE_EQUATION);
  if (ir_lex_is(&p->lex, ',') && attributes)
    return ir_lex_fail(&p->lex, "bad attribute",
                       "a blank before the next one; several values are a list, as in axes=[0,1]");
  if (attributes && ir_lex_is(&p->lex, '%'))
    return ir_lex_fail(&p->lex, "an operand behind attributes", "operands first, as in sum %x axes=[0]");
  if (ir_lex_is(&p->lex, '-') && p->lex.token.text[1] == '-')
    return ir_lex_fail(&p->lex, "no comment", "'#', with which a comment begins");
  if (ir_lex_is(&p->lex, '%'))
    return ir_lex_fail(&p->lex, "operands without a comma", "',' between them, as in add %x, %y");
  if (ir_parse_at_literal(p))
    return ir_parse_about_attributes(
        p, ir_lex_fail(&p->lex, "operands without a comma",
                       "',' between them, as in add %x, %y; an attribute has its name, as in axis=0"));
  if (ir_lex_is(&p->lex, '[') && p->operand_count && p->lex.token.text[-1] == ' ')
    return ir_parse_about_attributes(
        p, ir_lex_fail(&p->lex, "a list without a name", "an attribute, as in shape=[2,3]"));
  if (ir_lex_is(&p->lex, '[') && p->operand_count == 0)
    return ir_parse_about_attributes(
        p, ir_lex_fail(
               &p->lex, "a list in place of operands",
               "operands without brackets, as in concat %x, %y; a list is an attribute, as in values=[1,2]"));
  if (ir_lex_is(&p->lex, '.'))
    return ir_lex_fail(&p->lex, "bad number", "digits on both sides of the point, as in 0.5 and 5.0");
  if (t->kind == IR_TOKEN_STRING) return ir_parse_refuse_text(p);
  return ir_parse_statement_end(p);
}

bool ir_parse_refuse_names(ir_parser *p, const ir_token *at, const ir_token *op, const ir_attr *attrs,
                           size_t attr_count, ir_name_count n) {
  const ir_attr *called = NULL; /* the last graph, whose results are those of the operation */
  char why[128] = "";
  for (size_t i = 0; i < attr_count && op->length; i++)
    if (attrs[i].kind == IR_ATTR_GRAPH) called = &attrs[i];
  const char *own = p->builder->result_names ? p->builder->result_names(op->text, op->length) : NULL;
  char names[64];
  snprintf(names, sizeof names, "%s", own ? own : "%a, %b");
  for (uint32_t i = 2; !own && i < n.results && i < 6; i++)
    snprintf(names + strlen(names), sizeof names - strlen(names), i < 5 ? ", %%%c" : ", ...", (int)('a' + i));
  if (n.references) snprintf(why, sizeof why, "; references have their names already");
  else if (called)
    snprintf(why, sizeof why, ", as many as %.*s returns",
             called->word_length > 60 ? 60 : (int)called->word_length, called->word);
  else if (n.results > 1 && op->length)
    snprintf(why, sizeof why, ", as in %s = %.*s", names, op->length > 40 ? 40 : (int)op->length, op->text);
  return ir_lex_fail_at(&p->lex, at->line, at->column,
                        "wrong number of results of %.*s, found %zu name%s, expected %u%s",
                        !op->length       ? 7
                        : op->length > 40 ? 40
                                          : (int)op->length,
                        op->length ? op->text : "a value", n.names, n.names == 1 ? "" : "s", n.results, why);
}

void ir_parse_say_attributes(ir_parser *p, const ir_token *op) {
  ir_error *error = p->lex.error;
  ir_text names;
  ir_text_init(&names, p->graph->mem);
  if (p->about_attributes && error->status == IR_ERR_INVALID && p->builder->put_attributes)
    p->builder->put_attributes(op->text, op->length, &names);
  size_t used = strlen(error->text);
  bool none = names.len && strcmp(ir_text_get(&names), "none") == 0;
  if (names.len)
    snprintf(error->text + used, sizeof error->text - used,
             none ? "; %.*s has no attributes" : "; those of %.*s: %s",
             (int)(op->length > 40 ? 40 : op->length), op->text, ir_text_get(&names));
  ir_text_free(&names);
}

bool ir_parse_refuse_no_operation(ir_parser *p, const ir_token *op, const ir_token *at) {
  int64_t id = ir_parse_intern(p, op);
  if (id < 0) return true;
  int length = (int)(op->length > 40 ? 40 : op->length);
  static const char graph[] = "a graph, which is called by its name, as in %y = call %x do=@";
  const char *is = p->symbols[id].value_epoch == p->epoch ? "a value: %" : NULL;
  for (size_t i = 0; p->module && i < p->module->count; i++)
    if (p->module->graphs[i].name_length == op->length &&
        memcmp(p->module->graphs[i].name, op->text, op->length) == 0)
      is = graph;
  return is &&
         !ir_lex_fail_at(&p->lex, at->line, at->column, "%.*s: there is no such operation; it is %s%.*s",
                         length, op->text, is, length, op->text);
}

bool ir_parse_at_assignment(ir_parser *p) {
  if (ir_lex_is(&p->lex, '-') && p->lex.token.text[-1] != ' ')
    return ir_lex_fail(&p->lex, "bad name", "'='; a name with '-' in it has quotes, as in %\"a-b\"");
  if (ir_lex_is(&p->lex, '[') || ir_lex_is(&p->lex, '.'))
    return ir_lex_fail(&p->lex, "bad statement",
                       "'='; a part is written by a new value, as in %y = slice_update %x, %u start=[1,0]");
  if (ir_lex_is(&p->lex, ':'))
    return ir_lex_fail(&p->lex, "bad statement",
                       "'='; the type of a result stands behind it, as in %y = neg %x : f32[2,3]");
  return true;
}

static const char *expected_statement(const ir_lexer *lex) {
  if (ir_lex_is_word(lex, "ret") || ir_lex_is_word(lex, "Return") || ir_lex_is_word(lex, "yield") ||
      ir_lex_is_word(lex, "output"))
    return "return, as in return %y";
  if (ir_lex_is(lex, IR_SIGN2('/', '/'))) return "'#', with which a comment begins";
  if (ir_lex_is_word(lex, "for") || ir_lex_is_word(lex, "while"))
    return "'%NAME = ...' or 'return'; a loop is %y = scan or %y = while_loop, of graphs above this one";
  if (ir_lex_is_word(lex, "if"))
    return "'%NAME = ...' or 'return'; a condition is %y = cond %p, %x then=@f else=@g, or where for each "
           "element";
  return "'%NAME = ...' or 'return'";
}

/* A word with an operand behind it, as in `print %x`. */
static bool at_nameless(const ir_parser *p) {
  const ir_token *t = &p->lex.token;
  return t->kind == IR_TOKEN_WORD && !ir_lex_is_word(&p->lex, "return") && !ir_lex_is_word(&p->lex, "if") &&
         !ir_lex_is_word(&p->lex, "for") && !ir_lex_is_word(&p->lex, "while") && t->text[t->length] == ' ' &&
         t->text[t->length + 1] == '%';
}

static bool refuse_nameless(ir_parser *p) {
  const ir_token *t = &p->lex.token;
  static const char *const declarations[] = {"let", "var", "const", "val", "auto"};
  for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
    if (ir_token_is(t, declarations[i]))
      return ir_lex_fail(&p->lex, "bad statement", "the name alone, as in %y = neg %x");
  bool shows = ir_lex_is_word(&p->lex, "print") || ir_lex_is_word(&p->lex, "tap");
  return ir_lex_fail_at(&p->lex, t->line, t->column,
                        "bad statement, found '%.*s', expected a name for what it gives, as in %s%.*s %%x%s",
                        (int)(t->length > 40 ? 40 : t->length), t->text,
                        shows ? "%q = " : "%y = ", (int)(t->length > 40 ? 40 : t->length), t->text,
                        !shows            ? ""
                        : *t->text == 'p' ? " text=\"x = {}\", which is %x again"
                                          : " name=\"x\", which is %x again");
}

bool ir_parse_refuse_statement(ir_parser *p) {
  if (at_nameless(p) && *expected_statement(&p->lex) == '\'') return refuse_nameless(p);
  return ir_lex_fail(&p->lex, ir_lex_is(&p->lex, '}') ? "missing return" : "bad statement",
                     expected_statement(&p->lex));
}

const char *ir_parse_new_name(const ir_parser *p, const ir_symbol *s) {
  bool parameter = p->lex.by_line && s->reference_epoch != p->epoch && s->value &&
                   ir_op_of(p->graph, s->value) == IR_OP_INPUT;
  return parameter ? "a new name; a parameter that is written is a reference, as in %x: ref f32[2]"
                   : "a new name";
}

const char *ir_parse_behind_return(const ir_parser *p) {
  return p->lex.token.kind == IR_TOKEN_END ? "a graph without an end" : "unexpected text after return";
}

const char *ir_parse_behind_parameter(const ir_parser *p) {
  return ir_lex_is(&p->lex, '=') ? "',' or ')'; a parameter is given when the graph runs, as in --in x=0"
                                 : "',' and another one, or ')'";
}
