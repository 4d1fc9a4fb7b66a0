/* Measured times for the page: what `--profile` names.
 *
 * A profile is an object of JSON with "kernels", a list of objects with "kernel", a number as
 * `viewfold dump --stage=kernels` gives them, and "ns", its time in a run, and maybe "graph", a name: then it
 * is of that graph alone. Whatever else there is is not looked at. */
#include "frontend/cli/show/show.h"

#include <stdio.h>
#include <string.h>

#define WRITTEN "; `viewfold run --profile=json FILE.vf > PROFILE` writes one"

bool show_profile_read(show *s, const char *path, ir_error *error) {
  json_error_t where;
  const char *why = NULL;
  size_t i;
  json_t *one, *list;
  s->profile = json_load_file(path, 0, &where);
  if (!s->profile) {
    if (where.line > 0)
      ir_fail(error, IR_ERR_INVALID, "%.200s: no profile: line %d: %.160s" WRITTEN, path, where.line,
              where.text);
    else ir_fail(error, IR_ERR_IO, "%.160s" WRITTEN, where.text);
    return false;
  }
  list = json_object_get(s->profile, "kernels");
  if (!json_is_array(list)) why = "it has no list \"kernels\"";
  json_array_foreach(list, i, one) {
    if (!json_is_integer(json_object_get(one, "kernel"))) why = "a kernel has no number \"kernel\"";
    else if (!json_is_number(json_object_get(one, "ns"))) why = "a kernel has no time \"ns\"";
  }
  if (why) ir_fail(error, IR_ERR_INVALID, "%.200s: no profile: %s" WRITTEN, path, why);
  return !why;
}

void show_put_profile(show *s, const ir_parsed_graph *block, size_t kernels, json_t *out) {
  const char *graph = json_string_value(json_object_get(s->profile, "graph"));
  size_t i;
  json_t *one, *made;
  if (!s->profile || (graph && strcmp(graph, block->name) != 0)) return;
  made = json_object();
  json_array_foreach(json_object_get(s->profile, "kernels"), i, one) {
    json_int_t number = json_integer_value(json_object_get(one, "kernel"));
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    if (number >= 0 && (size_t)number < kernels)
      show_set(s, made, key, json_real(json_number_value(json_object_get(one, "ns"))));
  }
  show_set(s, out, "times", made);
}
