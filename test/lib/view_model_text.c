/* Prints chains of the model as chain expressions. The text of each size that varies is tracked through the
 * steps. */
#include "test/lib/view_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
  char *text;
  size_t used;
  model_shape shape;
  char size[MODEL_RANK + 1][256]; /* text of each size */
} writer;

static void put(writer *w, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(w->text + w->used, MODEL_TEXT - w->used, format, args);
  va_end(args);
  w->used += (size_t)length;
  if (w->used >= MODEL_TEXT) w->used = MODEL_TEXT - 1;
}

static bool is_number(const char *text) { return text[strspn(text, "0123456789")] == '\0'; }

static void name_size(writer *w, int axis, const char *format, ...) {
  char made[256];
  va_list args;
  va_start(args, format);
  vsnprintf(made, sizeof made, format, args);
  va_end(args);
  memcpy(w->size[axis], made, sizeof made);
}

/* Updates the sizes after a step with result `next`: axis i of the result has the size of axis from[i] of the
 * operand, or is a number (-1). */
static void follow(writer *w, const model_shape *next, const int *from) {
  char old[MODEL_RANK + 1][256];
  memcpy(old, w->size, sizeof old);
  for (int i = 0; i < next->rank; i++) {
    if (from[i] >= 0 && !is_number(old[from[i]])) memcpy(w->size[i], old[from[i]], sizeof old[0]);
    else name_size(w, i, "%d", next->size[i]);
  }
}

/* The size of an axis changed; its text is `text` if it varies. */
static void change(writer *w, const model_shape *next, int axis, const char *text) {
  if (is_number(w->size[axis])) name_size(w, axis, "%d", next->size[axis]);
  else name_size(w, axis, "%s", text);
}

static void reshape(writer *w, const model_step *s, const model_shape *next) {
  int axis = s->a[0], from[MODEL_RANK + 1];
  char made[600];
  bool merge = s->kind == MODEL_MERGE;
  bool varies = !is_number(w->size[axis]) || (merge && !is_number(w->size[axis + 1]));
  if (merge) snprintf(made, sizeof made, "(%s*%s)", w->size[axis], w->size[axis + 1]);
  else snprintf(made, sizeof made, "(%s//%d)", w->size[axis], s->b[0]);
  for (int i = 0; i < next->rank; i++)
    from[i] = i < axis ? i : merge ? (i == axis ? -1 : i + 1) : i <= axis + 1 ? -1 : i - 1;
  follow(w, next, from);
  if (varies) name_size(w, axis, "%.250s", made);
  put(w, "reshape(");
  bool infer = model_elements(next) > 0 && next->size[axis] % 2 == 1;
  for (int i = 0; i < next->rank; i++) put(w, "%s%s", i ? "," : "", infer && i == axis ? "-1" : w->size[i]);
}

static void windows(writer *w, const model_step *s, const model_shape *next) {
  static const char *const modes[] = {"", ",mode=edge", ",mode=reflect", ",mode=wrap"};
  bool pad = s->kind == MODEL_PAD;
  put(w, pad ? "pad(" : "shrink(");
  for (int i = 0; i < next->rank; i++) {
    char made[600];
    if (pad) put(w, "%s(%d,%d)", i ? "," : "", s->a[i], s->b[i]);
    else if (is_number(w->size[i])) put(w, "%s(%d,%d)", i ? "," : "", s->a[i], w->shape.size[i] - s->b[i]);
    else put(w, "%s(%d,%s-%d)", i ? "," : "", s->a[i], w->size[i], s->b[i]);
    snprintf(made, sizeof made, pad ? "(%s+%d)" : "(%s-%d)", w->size[i], s->a[i] + s->b[i]);
    if (s->a[i] + s->b[i]) change(w, next, i, made);
  }
  if (pad && next->rank) put(w, "%s", modes[s->mode]);
}

static void plain_list(writer *w, const char *name, const int *items, int n) {
  put(w, "%s(", name);
  for (int i = 0; i < n; i++) put(w, "%s%d", i ? "," : "", items[i]);
}

static void step(writer *w, const model_step *s) {
  model_shape next;
  int axis = s->a[0], rank = w->shape.rank, from[MODEL_RANK + 1];
  if (!model_shape_after(&w->shape, s, &next)) return;
  put(w, ".");
  for (int i = 0; i <= MODEL_RANK; i++) from[i] = i;
  switch ((model_kind)s->kind) {
  case MODEL_PERMUTE:
    plain_list(w, "permute", s->a, rank);
    for (int i = 0; i < rank; i++) from[i] = s->a[i];
    follow(w, &next, from);
    break;
  case MODEL_RESHAPE:
    plain_list(w, "reshape", s->a, s->n);
    for (int i = 0; i <= MODEL_RANK; i++) from[i] = -1;
    follow(w, &next, from);
    break;
  case MODEL_MERGE:
  case MODEL_SPLIT: reshape(w, s, &next); break;
  case MODEL_EXPAND:
    put(w, "expand(");
    for (int i = 0; i < rank; i++) from[i] = next.size[i] == w->shape.size[i] ? i : -1;
    follow(w, &next, from);
    for (int i = 0; i < rank; i++) put(w, "%s%s", i ? "," : "", w->size[i]);
    break;
  case MODEL_SHRINK:
  case MODEL_PAD: windows(w, s, &next); break;
  case MODEL_FLIP: plain_list(w, "flip", s->a, s->n); break;
  case MODEL_STRIDE:
    plain_list(w, "stride", s->a, rank);
    for (int i = 0; i < rank; i++) {
      char made[600];
      int by = s->a[i] < 0 ? -s->a[i] : s->a[i];
      snprintf(made, sizeof made, "((%s+%d)//%d)", w->size[i], by - 1, by);
      if (by > 1) change(w, &next, i, made);
    }
    break;
  case MODEL_UNSQUEEZE:
    put(w, "unsqueeze(%d", axis);
    for (int i = 0; i < next.rank; i++) from[i] = i < axis ? i : i == axis ? -1 : i - 1;
    follow(w, &next, from);
    break;
  case MODEL_SQUEEZE:
  case MODEL_POINT:
    if (s->kind == MODEL_SQUEEZE) put(w, "squeeze(%d", axis);
    else put(w, "point(%d,%d", axis, s->b[0]);
    for (int i = 0; i < next.rank; i++) from[i] = i < axis ? i : i + 1;
    follow(w, &next, from);
    break;
  case MODEL_GATHER:
    put(w, "gather(%d,[", axis);
    for (int i = 0; i < s->n; i++) put(w, "%s%d", i ? "," : "", s->b[i]);
    put(w, "]");
    name_size(w, axis, "%d", s->n);
    break;
  case MODEL_KINDS: break;
  }
  put(w, ")");
  w->shape = next;
}

void model_print(const model_chain *c, char text[MODEL_TEXT]) {
  writer w = {.text = text, .shape = c->base};
  unsigned seen = 0;
  put(&w, "f32[");
  for (int i = 0; i < c->base.rank; i++) {
    bool varies = c->varies >> i & 1;
    put(&w, i ? "," : "");
    if (!varies) put(&w, "%d", c->base.size[i]);
    else if (seen) put(&w, "n");
    else put(&w, c->divisor > 1 ? "n=%d..%d:%d" : "n=%d..%d", c->lo, c->hi, c->divisor);
    seen |= varies;
    name_size(&w, i, varies ? "n" : "%d", c->base.size[i]);
  }
  put(&w, "]");
  for (int i = 0; i < c->count; i++) step(&w, &c->steps[i]);
}
