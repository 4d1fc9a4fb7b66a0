#include "frontend/api/tuned.h"

#include <stdio.h>
#include <string.h>

#include "runtime/program/tuned.h"

void fe_tuned_read(fe_tuned *t, const rt_kernel_key *key) {
  t->text.len = 0;
  if (!t->context || !rt_tuned_get(t->context, key, &t->text) || t->text.failed) t->text.len = 0;
  for (size_t i = 0; i < t->text.len; i++)
    if (t->text.data[i] == '\n') t->text.data[i] = '\0';
}

void fe_tuned_enter(fe_tuned *t, const ir_graph *g, ir_ref effect) {
  rt_kernel_key key;
  t->text.len = 0;
  if (!t->context || rt_effect_key_make(t->text.mem, g, effect, &key, NULL) != IR_OK) return;
  fe_tuned_read(t, &key);
  rt_kernel_key_free(t->text.mem, &key);
}

bool fe_tuned_next(const fe_tuned *t, size_t *at, uint32_t *nest, const char **moves) {
  while (*at < t->text.len) {
    const char *line = t->text.data + *at;
    unsigned number;
    int length = 0;
    *at += strlen(line) + 1;
    if (sscanf(line, "nest %u: %n", &number, &length) != 1 || length == 0) continue;
    *nest = number;
    *moves = line + length;
    return true;
  }
  return false;
}

const char *fe_tuned_moves(const fe_tuned *t, uint32_t nest) {
  size_t at = 0;
  uint32_t number;
  const char *moves;
  while (fe_tuned_next(t, &at, &number, &moves))
    if (number == nest) return moves;
  return NULL;
}

static void enter_kernel(void *user, uint32_t kernel, const ir_graph *g, ir_ref effect) {
  (void)kernel;
  fe_tuned_enter(user, g, effect);
}

static const char *given_moves(void *user, uint32_t kernel, uint32_t nest) {
  (void)kernel;
  return fe_tuned_moves(user, nest);
}

void fe_tuned_init(fe_tuned *t, rt_context *context, const ir_mem *mem) {
  *t = (fe_tuned){.context = context && rt_tuned_stamp(context) ? context : NULL};
  t->shaping = (pass_shaping){.user = t, .enter = enter_kernel, .given = given_moves};
  ir_text_init(&t->text, mem);
}

void fe_tuned_free(fe_tuned *t) { ir_text_free(&t->text); }
