/* Parser of the patterns of rearrange. */
#include "rearrange_parse.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
  ir_graph *g;
  rearrange_pattern *p;
  const char *at, *end;
  bool in_group;
} reader;

static bool refuse_pattern(const reader *r, const char *reason) {
  op_refuse(r->g,
            "rearrange: %s '%.*s': %s; a pattern is like 'bhwc', 'b(hw)c', 'b(hp=2)c' or '...c', each letter "
            "once",
            r->p->name, r->p->length, r->p->text, reason);
  return false;
}

const char *rearrange_axis_text(const rearrange_axis *axis, char text[24]) {
  if (axis->kind == REARRANGE_LETTER) snprintf(text, 24, "'%c'", axis->which);
  else if (axis->kind == REARRANGE_NUMBER) snprintf(text, 24, "%lld", (long long)axis->size);
  else snprintf(text, 24, "...");
  return text;
}

int rearrange_find(const rearrange_pattern *p, const rearrange_axis *axis) {
  for (uint32_t i = 0; i < p->count; i++) {
    const rearrange_axis *a = &p->axis[i];
    if (a->kind == axis->kind && a->which == axis->which &&
        (a->kind != REARRANGE_NUMBER || a->size == axis->size))
      return (int)i;
  }
  return -1;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool read_size(reader *r, int64_t *size) {
  *size = 0;
  if (r->at == r->end || !is_digit(*r->at)) return refuse_pattern(r, "a size is a number");
  for (; r->at < r->end && is_digit(*r->at); r->at++) {
    *size = *size * 10 + (*r->at - '0');
    if (*size > OP_MOST_ELEMENTS) return refuse_pattern(r, "a size is too large");
  }
  return true;
}

static bool add(reader *r, rearrange_axis axis) {
  rearrange_pattern *p = r->p;
  if (p->count == IR_MAX_RANK) return refuse_pattern(r, "it has more axes than a tensor has");
  axis.item = r->in_group ? p->items - 1 : p->items++;
  p->axis[p->count++] = axis;
  return true;
}

static bool read_letter(reader *r) {
  rearrange_axis axis = {.kind = REARRANGE_LETTER, .which = *r->at++, .size = -1};
  if (rearrange_find(r->p, &axis) >= 0) {
    char reason[] = "letter '?' stands twice";
    *strchr(reason, '?') = (char)axis.which;
    return refuse_pattern(r, reason);
  }
  if (r->at < r->end && *r->at == '=') {
    r->at++;
    if (!read_size(r, &axis.size)) return false;
  }
  return add(r, axis);
}

static bool read_number(reader *r) {
  rearrange_axis axis = {.kind = REARRANGE_NUMBER};
  if (!read_size(r, &axis.size)) return false;
  while (rearrange_find(r->p, &axis) >= 0) axis.which++;
  return add(r, axis);
}

static bool read_spare(reader *r, uint32_t spare) {
  if (r->p->ellipsis) return refuse_pattern(r, "it has more than one ...");
  r->p->ellipsis = true;
  r->at += 3;
  for (uint32_t k = 0; k < spare; k++)
    if (!add(r, (rearrange_axis){.kind = REARRANGE_SPARE, .which = (int32_t)k, .size = -1})) return false;
  return true;
}

static bool read_parenthesis(reader *r) {
  bool opens = *r->at++ == '(';
  if (opens == r->in_group) return refuse_pattern(r, opens ? "groups are not nested" : "a ) without a (");
  if (opens && r->p->items == IR_MAX_RANK) return refuse_pattern(r, "it has more axes than a tensor has");
  if (opens) r->p->items++;
  r->in_group = opens;
  return true;
}

bool rearrange_parse(ir_graph *g, const char *name, const char *text, size_t length, uint32_t spare,
                     rearrange_pattern *p) {
  enum { MOST_SHOWN = 100 /* characters of a pattern in a message: about a line */ };
  *p = (rearrange_pattern){.name = name, .text = text};
  p->length = length < MOST_SHOWN ? (int)length : MOST_SHOWN;
  reader r = {g, p, text, text + length, false};
  bool good = true;
  while (good && r.at < r.end) {
    char c = *r.at;
    if (c == ' ') r.at++;
    else if (c == '(' || c == ')') good = read_parenthesis(&r);
    else if (is_letter(c)) good = read_letter(&r);
    else if (is_digit(c)) good = read_number(&r);
    else if (r.end - r.at >= 3 && memcmp(r.at, "...", 3) == 0) good = read_spare(&r, spare);
    else good = refuse_pattern(&r, "axes are letters, numbers, groups in ( ), and ...");
  }
  return good && (!r.in_group || refuse_pattern(&r, "a ( without a )"));
}
