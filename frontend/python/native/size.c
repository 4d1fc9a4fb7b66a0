/* Sizes as Python writes them: a number, a variable, or (a+b) with one of + - * // % between any two of them.
 */
#include "frontend/python/native/native.h"

#include <stdlib.h>
#include <string.h>

enum { NESTED = 64 }; /* parentheses inside of parentheses that are read, as each is a call */

static vf_value size_at(vf_graph *g, const char **at, int depth);

/* Behind the first parenthesis. */
static vf_value read_pair(vf_graph *g, const char **at, int depth) {
  vf_value a = size_at(g, at, depth), b;
  char sign = **at;
  *at += sign == '/' && (*at)[1] == '/' ? 2 : sign != 0;
  b = size_at(g, at, depth);
  if (**at == ')') ++*at;
  switch (sign) {
  case '+': return vf_add(a, b);
  case '-': return vf_sub(a, b);
  case '*': return vf_mul(a, b);
  case '/': return vf_floordiv(a, b);
  case '%': return vf_mod(a, b);
  default: return vf_graph_find(g, ""); /* an error value: what takes it refuses */
  }
}

static vf_value size_at(vf_graph *g, const char **at, int depth) {
  char name[128], *end;
  if (**at == '(' && depth < NESTED) return ++*at, read_pair(g, at, depth + 1);
  if (**at >= '0' && **at <= '9') {
    vf_value made = vf_integer(g, strtoll(*at, &end, 10));
    return *at = end, made;
  }
  size_t length = strcspn(*at, "()+-*/%");
  bool fits = length < sizeof name;
  memcpy(name, *at, fits ? length : 0);
  name[fits ? length : 0] = 0;
  *at += length;
  return vf_graph_find(g, name);
}

vf_value py_size_read(vf_graph *g, const char *text) {
  vf_value made = size_at(g, &text, 0);
  return *text ? vf_graph_find(g, "") : made;
}
