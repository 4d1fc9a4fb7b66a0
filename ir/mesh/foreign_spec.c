/* Specs as other systems write them, for messages: P(None, 'x') of JAX, [{"x"}, {}] of Shardy, (x, None),
 * x,-. */
#include <stdio.h>
#include <string.h>

#include "spec.h"

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
static bool is_open(char c) { return c == '[' || c == '(' || c == '{'; }
static bool is_close(char c) { return c == ']' || c == ')' || c == '}'; }

/* Words elsewhere for a dimension that is not divided. */
static bool is_whole_word(const char *word, size_t length) {
  static const char *const words[] = {"None", "none", "null", "replicated", "Replicate", "UNCONSTRAINED"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) return true;
  return false;
}

/* Where the list begins behind a name such as P or PartitionSpec and its bracket; the text itself where it
 * has none. */
static const char *list_of(const ir_mesh *mesh, const char *at, const char *end, bool *bracket) {
  const char *c = at;
  *bracket = false;
  while (c < end && (is_word(*c) || *c == '.' || *c == ' ')) c++;
  if (c == end || !is_open(*c)) return at;
  if (c > at && ir_mesh_find(mesh, at, (size_t)(c - at)) >= 0) return at;
  *bracket = true;
  return c + 1;
}

bool ir_spec_meant(const ir_mesh *mesh, const char *text, size_t length, char out[IR_SPEC_MEANT]) {
  const char *end = text + length;
  size_t used = 0;
  int depth = 0;
  bool bracket, named = false; /* has the dimension an axis? */
  const char *at = list_of(mesh, text, end, &bracket);
  out[used++] = '[';
  for (; at < end && *at != '\n' && used < IR_SPEC_MEANT - 40; at++) {
    if (is_word(*at)) {
      const char *word = at;
      while (at + 1 < end && is_word(at[1])) at++;
      size_t size = (size_t)(at + 1 - word);
      if (is_whole_word(word, size)) continue;
      if (ir_mesh_find(mesh, word, size) < 0) return false;
      used += (size_t)snprintf(out + used, IR_SPEC_MEANT - used, "%s%.*s", named ? "." : "", (int)size, word);
      named = true;
    } else if (*at == ',' && depth == 0) {
      const char *next = at + 1 + strspn(at + 1, " ");
      if (bracket && next < end && is_close(*next)) continue; /* ('x',) */
      used += (size_t)snprintf(out + used, IR_SPEC_MEANT - used, named ? "," : "-,");
      named = false;
    } else if (is_open(*at)) {
      depth++;
    } else if (is_close(*at)) {
      if (depth-- == 0) break;
    } else if (!strchr(" ,.'\"-*?", *at)) {
      return false;
    }
  }
  if (bracket && (at == end || !is_close(*at))) return false;
  snprintf(out + used, IR_SPEC_MEANT - used, named ? "]" : "-]");
  return true;
}
