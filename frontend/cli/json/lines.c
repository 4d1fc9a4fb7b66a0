/* One JSON object per line of standard input, one answer per line of standard output. */
#include "frontend/cli/json/lines.h"

#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/files/text_file.h"

enum { MAX_LINE = 1 << 26, REAL_DIGITS = 9 };

static const char *kind_of(const json_t *j) {
  static const char *const names[] = {"an object", "a list", "a string", "an integer",
                                      "a float",   "true",   "false",    "null"};
  return j ? names[json_typeof(j)] : "nothing";
}

bool cli_json_expected(ir_error *error, const char *what, const json_t *found, const char *expected) {
  ir_fail(error, IR_ERR_INVALID, "%.60s%sfound %s, expected %s", what, *what ? ": " : "", kind_of(found),
          expected);
  return false;
}

/* A message as a JSON string. It may quote bytes that are not UTF-8: they become `?`. */
static json_t *message(char *text) {
  json_t *made = json_string(text);
  for (char *c = text; !made && *c; c++)
    if (*c & 0x80) *c = '?';
  return made ? made : json_string(text);
}

/* False when the line was bad. */
static bool answer_line(const cli_json_command *c, const char *text, size_t length, FILE *out) {
  json_error_t where;
  ir_error error = {0};
  json_t *line = NULL, *result = json_object();
  if (length > MAX_LINE)
    ir_fail(&error, IR_ERR_INVALID, "line: found %zu bytes, expected at most %d", length, MAX_LINE);
  else if (!(line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where)))
    ir_fail(&error, IR_ERR_INVALID, "not JSON: column %d: %s", where.column, where.text);
  json_t *key = json_object_get(line, c->key);
  if (key && !c->any_key && !json_is_string(key)) key = NULL;
  json_object_set_new(result, c->key, key ? json_incref(key) : json_null());
  bool good = line && c->answer(c->user, line, result, &error);
  if (!good) {
    json_object_clear(result);
    json_object_set_new(result, c->key, key ? json_incref(key) : json_null());
    json_object_set_new(result, "error", message(error.text));
  }
  if (json_dumpf(result, out, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) != 0)
    fprintf(out, "{\"%s\":null,\"error\":\"out of memory\"}", c->key), good = false;
  fputc('\n', out);
  json_decref(result);
  json_decref(line);
  return good;
}

int cli_json_lines(const cli_json_command *c, FILE *in, FILE *out) {
  ir_text line;
  size_t length = 0;
  bool good = true;
  fe_line kind = FE_LINE_READ;
  ir_text_init(&line, &ir_mem_libc);
  while (!ferror(out) && !line.failed && kind != FE_LINE_ENDLESS &&
         (kind = fe_line_read(in, MAX_LINE, &line, &length)) != FE_LINE_END) {
    if (kind == FE_LINE_READ && strspn(ir_text_get(&line), " \t\r") >= length) continue;
    good &= !line.failed && answer_line(c, ir_text_get(&line), length, out);
    fflush(out);
  }
  if (ferror(in)) fprintf(stderr, "viewfold %s: ", c->name), perror("reading standard input");
  if (line.failed) fprintf(stderr, "viewfold %s: not enough memory for a line of standard input\n", c->name);
  if (kind == FE_LINE_ENDLESS)
    fprintf(stderr, "viewfold %s: a line of standard input has no end within %zu bytes\n", c->name,
            FE_GRAPH_MOST);
  good &= !ferror(in) && !line.failed && kind != FE_LINE_ENDLESS;
  ir_text_free(&line);
  return good ? CLI_OK : CLI_BAD_INPUT;
}
