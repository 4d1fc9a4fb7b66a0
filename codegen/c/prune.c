/* Variables that nothing reads: emission makes each value that an access may need, and some accesses write
 * the same number out. Uses come behind declarations, so that one pass from the last line to the first finds
 * all of them; a line that is left out uses nothing. */
#include "codegen/c/c.h"

#include <string.h>

/* Names v0, v1, v2_0, ... that are used: digests, a table with open addressing. */
typedef struct names {
  uint64_t *at;
  size_t cap;
} names;

/* The length of the name at `text`; 0: there is none. */
static size_t name_length(const char *text, const char *begin) {
  size_t length = 1;
  if (text[0] != 'v' || text[1] < '0' || text[1] > '9') return 0;
  if (text > begin && tx_is_name((char[]){text[-1], '\0'})) return 0;
  while (text[length] == '_' || (text[length] >= '0' && text[length] <= '9')) length++;
  return length;
}

static uint64_t digest_of(const char *text, size_t length) {
  uint64_t digest = 1; /* the digits of a number in base 11, of which _ is one more */
  for (size_t i = 1; i < length; i++)
    digest = digest * 11 + (text[i] == '_' ? 10 : (uint64_t)(text[i] - '0'));
  return digest;
}

static size_t place_of(const names *n, uint64_t digest) {
  size_t at = (size_t)(digest * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n->cap - 1);
  while (n->at[at] && n->at[at] != digest) at = (at + 1) & (n->cap - 1);
  return at;
}

static void use_all(names *n, const char *from, const char *end, const char *begin) {
  for (const char *at = from; at < end;) {
    size_t length = name_length(at, begin);
    if (length) {
      uint64_t digest = digest_of(at, length);
      n->at[place_of(n, digest)] = digest;
    }
    at += length ? length : 1;
  }
}

/* `TYPE NAME = ` or `TYPE NAME;`: where the name is; NULL: the line declares no variable. */
static const char *declared(const char *line, const char *end, const char *begin, size_t *length) {
  const char *at = line;
  while (at < end && *at == ' ') at++;
  while (at < end && *at != ' ' && *at != '(') at++;
  if (at >= end || *at != ' ' || at == line || at[-1] == '=') return NULL;
  *length = name_length(at + 1, begin);
  return *length && !strncmp(at + 1 + *length, " = ", 3) ? at + 1 : NULL;
}

static size_t count_names(const char *text) {
  size_t count = 0;
  for (const char *at = text; (at = strchr(at, 'v')); at++) count += name_length(at, text) != 0;
  return count;
}

void cc_prune(tx_emitter *e, ir_text *text) {
  const char *begin = ir_text_get(text), *end = begin + text->len;
  names n = {.cap = 16};
  while (n.cap < 2 * count_names(begin) + 2) n.cap *= 2;
  char *kept = ir_alloc(e->nest->mem, text->len + 1);
  n.at = ir_alloc(e->nest->mem, n.cap * sizeof *n.at);
  if (kept && n.at && !text->failed) {
    char *to = kept + text->len;
    memset(n.at, 0, n.cap * sizeof *n.at);
    for (const char *next = end, *line; next > begin; next = line) {
      for (line = next - 1; line > begin && line[-1] != '\n';) line--;
      size_t length = 0;
      const char *name = declared(line, next, begin, &length);
      if (name && !n.at[place_of(&n, digest_of(name, length))]) continue;
      use_all(&n, name ? name + length : line, next, begin);
      to -= next - line;
      memcpy(to, line, (size_t)(next - line));
    }
    ir_text_add(&cc_of(e)->file->body, to, (size_t)(kept + text->len - to));
  } else {
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  }
  if (n.at) ir_free(e->nest->mem, n.at, n.cap * sizeof *n.at);
  if (kept) ir_free(e->nest->mem, kept, text->len + 1);
}
