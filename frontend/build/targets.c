/* The targets of an object, from text. */
#include "frontend/build/build.h"

#include <ctype.h>
#include <string.h>

/* Where a target of the list ends: at a comma that no feature follows, as `features=+avx2,+fma` has them. */
static size_t length_of(const char *text) {
  size_t length = strcspn(text, ",");
  while (text[length] && (text[length + 1] == '+' || text[length + 1] == '-'))
    length += 1 + strcspn(text + length + 1, ",");
  return length;
}

static size_t feature_count(rt_context *context) {
  ir_error error = {0};
  const ir_target *target = rt_context_target(context, &error);
  size_t count = 0;
  for (const char *at = target ? target->features : ""; *at; at++) count += *at == '+';
  return count;
}

/* Behind those that have as many features, or more. */
static void insert(fe_targets *targets, rt_context *made) {
  size_t at = targets->count++;
  for (; at > 0 && feature_count(targets->contexts[at - 1]) < feature_count(made); at--)
    targets->contexts[at] = targets->contexts[at - 1];
  targets->contexts[at] = made;
}

static ir_status open_one(const rt_context *like, const char *text, size_t length, fe_targets *out,
                          ir_error *error) {
  rt_context *made = NULL;
  ir_text one;
  if (out->count == RT_MOST_FORMS)
    return ir_fail(error, IR_ERR_INVALID, "build: more than %d targets for one object", RT_MOST_FORMS);
  while (length && isspace((unsigned char)*text)) text++, length--;
  while (length && isspace((unsigned char)text[length - 1])) length--;
  if (!length)
    return ir_fail(error, IR_ERR_INVALID, "build: an empty target in the list '%.200s'", out->text);
  ir_text_init(&one, rt_context_mem(like));
  ir_textf(&one, "%.*s", (int)length, text);
  if (one.failed) ir_fail(error, IR_ERR_MEMORY, "build: out of memory for the target");
  else if (rt_context_create_ahead(like, ir_text_get(&one), &made, error) == IR_OK) insert(out, made);
  ir_text_free(&one);
  return error->status;
}

ir_status fe_targets_open(const rt_context *like, const char *text, fe_targets *out, ir_error *error) {
  *out = (fe_targets){.text = text};
  if (!text) {
    if (rt_context_create_ahead(like, NULL, &out->contexts[0], error) == IR_OK) out->count = 1;
    return error->status;
  }
  for (;;) {
    size_t length = length_of(text);
    if (open_one(like, text, length, out, error) != IR_OK || !text[length]) return error->status;
    text += length + 1;
  }
}

void fe_targets_close(fe_targets *targets) {
  for (size_t i = 0; i < targets->count; i++) rt_context_destroy(targets->contexts[i]);
  targets->count = 0;
}
