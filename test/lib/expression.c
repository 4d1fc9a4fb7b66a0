#include "test/lib/expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BEYOND = -987654321 }; /* result of a look-up outside its list: nothing valid may depend on it */
enum { NUMBER = 256, RANGE, VARIABLE, LOOK_UP, FLOOR_DIV, LE, GE, EQ, NE, MIN, MAX, WHERE, NEGATE };

typedef struct reader {
  expression *e;
  const char *at;
  int depth;
} reader;

static bool emit(reader *r, int op, int64_t value) {
  if (r->e->length == EXPRESSION_CODE) return false;
  r->e->code[r->e->length].op = op;
  r->e->code[r->e->length++].value = value;
  return true;
}

static bool accept(reader *r, const char *text) {
  size_t length = strlen(text);
  if (strncmp(r->at, text, length) != 0) return false;
  r->at += length;
  return true;
}

static bool operand(reader *r);

static bool call(reader *r, int op, int operands) {
  for (int i = 0; i < operands; i++)
    if ((i && !accept(r, ", ")) || !operand(r)) return false;
  return accept(r, ")") && emit(r, op, 0);
}

/* `[2,0,2][expression]` */
static bool look_up(reader *r) {
  int count = 0;
  do {
    char *end;
    int64_t value = strtoll(r->at, &end, 10);
    if (end == r->at || !emit(r, NUMBER, value)) return false;
    r->at = end;
    count++;
  } while (accept(r, ","));
  return accept(r, "][") && operand(r) && accept(r, "]") && emit(r, LOOK_UP, count);
}

static int infix(reader *r) {
  static const struct {
    const char *text;
    int op;
  } table[] = {{"//", FLOOR_DIV}, {"<=", LE}, {">=", GE}, {"==", EQ}, {"!=", NE}, {"+", '+'}, {"-", '-'},
               {"*", '*'},        {"%", '%'}, {"<", '<'}, {">", '>'}, {"&", '&'}, {"|", '|'}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (accept(r, table[i].text)) return table[i].op;
  return 0;
}

static bool parenthesis(reader *r) {
  if (r->at[0] == '-' && !isdigit((unsigned char)r->at[1])) {
    r->at++;
    return operand(r) && accept(r, ")") && emit(r, NEGATE, 0);
  }
  if (!operand(r)) return false;
  while (!accept(r, ")")) {
    int op = infix(r);
    if (!op || !operand(r) || !emit(r, op, 0)) return false;
  }
  return true;
}

static bool number(reader *r, int op) {
  char *end;
  int64_t value = strtoll(r->at, &end, 10);
  if (end == r->at) return false;
  r->at = end;
  return emit(r, op, value);
}

static bool operand(reader *r) {
  if (++r->depth > 2000) return false;
  bool good = accept(r, "True")     ? emit(r, NUMBER, 1)
              : accept(r, "False")  ? emit(r, NUMBER, 0)
              : accept(r, "min(")   ? call(r, MIN, 2)
              : accept(r, "max(")   ? call(r, MAX, 2)
              : accept(r, "where(") ? call(r, WHERE, 3)
              : accept(r, "ridx")   ? isdigit((unsigned char)*r->at) && number(r, RANGE)
              : accept(r, "n")      ? emit(r, VARIABLE, 0)
              : accept(r, "[")      ? look_up(r)
              : accept(r, "(")      ? parenthesis(r)
              : accept(r, "!")      ? operand(r) && emit(r, '!', 0)
                                    : (*r->at == '-' || isdigit((unsigned char)*r->at)) && number(r, NUMBER);
  r->depth--;
  return good;
}

bool expression_read(expression *e, const char *text) {
  e->length = 0;
  reader r = {e, text, 0};
  return operand(&r) && *r.at == '\0';
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static bool binary(int op, int64_t a, int64_t b, int64_t *out) {
  bool divides = op == FLOOR_DIV || op == '%';
  if (divides && b < 1) return false;
  switch (op) {
  case '+': *out = a + b; break;
  case '-': *out = a - b; break;
  case '*': *out = a * b; break;
  case FLOOR_DIV: *out = floor_div(a, b); break;
  case '%': *out = a - b * floor_div(a, b); break;
  case '<': *out = a < b; break;
  case '>': *out = a > b; break;
  case LE: *out = a <= b; break;
  case GE: *out = a >= b; break;
  case EQ: *out = a == b; break;
  case NE: *out = a != b; break;
  case '&': *out = a & b; break;
  case '|': *out = a | b; break;
  case MIN: *out = a < b ? a : b; break;
  case MAX: *out = a > b ? a : b; break;
  default: return false;
  }
  return true;
}

bool expression_eval(const expression *e, const int64_t *ranges, int64_t n, int64_t *out) {
  int64_t stack[EXPRESSION_STACK], value;
  int top = 0;
  for (int i = 0; i < e->length; i++) {
    int op = e->code[i].op;
    int64_t arg = e->code[i].value;
    if (top >= EXPRESSION_STACK) return false;
    switch (op) {
    case NUMBER: stack[top++] = arg; continue;
    case RANGE: stack[top++] = ranges[arg]; continue;
    case VARIABLE: stack[top++] = n; continue;
    case NEGATE: stack[top - 1] = -stack[top - 1]; continue;
    case '!': stack[top - 1] = !stack[top - 1]; continue;
    case WHERE:
      top -= 2;
      stack[top - 1] = stack[top - 1] ? stack[top] : stack[top + 1];
      continue;
    case LOOK_UP:
      value = stack[--top];
      top -= (int)arg;
      stack[top] = value >= 0 && value < arg ? stack[top + value] : BEYOND;
      top++;
      continue;
    default:
      top--;
      if (!binary(op, stack[top - 1], stack[top], &value)) return false;
      stack[top - 1] = value;
    }
  }
  *out = stack[0];
  return top == 1;
}
