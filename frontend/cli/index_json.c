/* `viewfold index --json`: one chain per line of standard input, one answer per line of standard output.
 *
 *   {"name":"t","base":[3,2],"ops":[["permute",[1,0]],["reshape",[3,2]]]}
 *   {"name":"t","shape":[3,2],"index":"EXPR","valid":"EXPR"}     or     {"name":"t","error":"message"}
 *
 * Each line has a separate graph. Any bytes are accepted. */
#include "frontend/cli/index.h"

#include <jansson.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/files/text_file.h"
#include "frontend/text/chain.h"
#include "passes/ops/ops.h"

enum { MAX_ENTRIES = 2 * IR_MAX_RANK, MAX_LINE = 1 << 26 };

typedef struct answer {
  ir_graph g;
  ir_error error;
  ir_text index, valid;
  ir_ref tensor;
} answer;

static const char *kind_of(const json_t *j) {
  static const char *const names[] = {"an object", "a list", "a string", "an integer",
                                      "a float",   "true",   "false",    "null"};
  return j ? names[json_typeof(j)] : "nothing";
}

/* what: the place, printed with a colon behind it; "" where the caller adds the place */
static bool fail_expected(ir_graph *g, const char *what, const json_t *found, const char *expected) {
  ir_fail(g->error, IR_ERR_INVALID, "%.60s%sfound %s, expected %s", what, *what ? ": " : "", kind_of(found),
          expected);
  return false;
}

static bool read_base(ir_graph *g, const json_t *base, ir_ref *x) {
  ir_ref dims[IR_MAX_RANK];
  size_t rank = json_array_size(base);
  if (!json_is_array(base)) return fail_expected(g, "base", base, "a list of sizes");
  if (rank > IR_MAX_RANK) {
    ir_fail(g->error, IR_ERR_INVALID, "base: found %zu sizes, expected at most %d", rank, IR_MAX_RANK);
    return false;
  }
  for (size_t i = 0; i < rank; i++) {
    const json_t *size = json_array_get(base, i);
    if (!json_is_integer(size)) return fail_expected(g, "base", size, "a list of integers");
    dims[i] = ir_index(g, json_integer_value(size));
  }
  return (*x = op_input(g, "x", 1, IR_F32, dims, rank)) != 0;
}

/* Read one entry of a step's list as an attribute of an operation. pair: room for the two entries of a pair;
 * NULL where pairs are not allowed. */
static bool read_entry(ir_graph *g, const char *name, const json_t *j, ir_attr *out, ir_attr *pair) {
  *out = (ir_attr){.name = "", .kind = IR_ATTR_EXPR};
  if (json_is_integer(j)) return (out->expr = ir_index(g, json_integer_value(j))) != 0;
  if (!json_is_array(j) || !pair) return fail_expected(g, name, j, "integers");
  if (json_array_size(j) != 2) {
    ir_fail(g->error, IR_ERR_INVALID, "%s: found a list of %zu, expected a pair", name, json_array_size(j));
    return false;
  }
  *out = (ir_attr){.name = "", .kind = IR_ATTR_LIST, .items = pair, .count = 2};
  return read_entry(g, name, json_array_get(j, 0), &pair[0], NULL) &&
         read_entry(g, name, json_array_get(j, 1), &pair[1], NULL);
}

static bool fail_unknown_view(ir_graph *g, const char *name, const fe_step *other) {
  const char *near = other ? NULL : fe_step_nearest(name, strlen(name));
  if (near) ir_fail(g->error, IR_ERR_INVALID, "unknown view '%.40s'; did you mean %s?", name, near);
  else
    ir_fail(g->error, IR_ERR_INVALID,
            "%s view '%.40s', expected permute, reshape, expand, pad, shrink, flip or stride",
            other ? "unsupported" : "unknown", name);
  return false;
}

static bool read_step(ir_graph *g, const json_t *op, ir_ref *x) {
  const char *name = json_string_value(json_array_get(op, 0));
  const json_t *list = json_array_get(op, 1);
  if (!json_is_array(op) || json_array_size(op) != 2 || !name)
    return fail_expected(g, "", op, "[\"name\",[...]]");
  const fe_step *step = fe_step_find(name, strlen(name));
  if (!step || step->form == FE_FORM_EACH) return fail_unknown_view(g, name, step);
  if (!json_is_array(list)) return fail_expected(g, name, list, "a list");
  ir_attr entries[MAX_ENTRIES], pairs[2 * MAX_ENTRIES];
  size_t count = json_array_size(list);
  if (count > MAX_ENTRIES) {
    ir_fail(g->error, IR_ERR_INVALID, "%s: found a list of %zu, expected at most %d", name, count,
            IR_MAX_RANK);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (!read_entry(g, name, json_array_get(list, i), &entries[i],
                    step->form == FE_FORM_PAIRS ? &pairs[2 * i] : NULL))
      return false;
  ir_attr attr = {.name = step->params[0], .kind = IR_ATTR_LIST, .items = entries, .count = count};
  attr.name_length = strlen(attr.name);
  return (*x = fe_step_apply(g, step, *x, &attr, 1)) != 0;
}

static bool read_chain(ir_graph *g, const json_t *line, ir_ref *x) {
  const json_t *ops = json_object_get(line, "ops"), *name = json_object_get(line, "name");
  if (!json_is_object(line)) return fail_expected(g, "line", line, "an object with name, base and ops");
  if (name && !json_is_string(name)) return fail_expected(g, "name", name, "a string");
  if (!read_base(g, json_object_get(line, "base"), x)) return false;
  if (!json_is_array(ops)) return fail_expected(g, "ops", ops, "a list of [\"name\",[...]]");
  for (size_t i = 0; i < json_array_size(ops); i++) {
    if (read_step(g, json_array_get(ops, i), x)) continue;
    ir_error inner = *g->error;
    ir_error_clear(g->error);
    ir_fail(g->error, inner.status, "ops[%zu]: %.960s", i, inner.text);
    return false;
  }
  return true;
}

static bool fold_line(answer *a, const json_t *line, bool raw, const ir_observer *observer) {
  ir_ref index, valid;
  if (ir_graph_init(&a->g, &ir_mem_libc, &a->error) != IR_OK) return false;
  if (!read_chain(&a->g, line, &a->tensor)) return false;
  a->g.observer = observer;
  return cli_index_fold(&a->g, a->tensor, raw, &index, &valid) &&
         cli_index_print(&a->g, index, true, &a->index) && cli_index_print(&a->g, valid, true, &a->valid);
}

/* A message as a JSON string. It may quote bytes that are not UTF-8: they become `?`. */
static json_t *message(char *text) {
  json_t *made = json_string(text);
  for (char *c = text; !made && *c; c++)
    if (*c & 0x80) *c = '?';
  return made ? made : json_string(text);
}

static json_t *shape_of(const answer *a) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < ir_rank(&a->g, a->tensor); i++)
    json_array_append_new(list, json_integer(ir_get(&a->g, ir_dim(&a->g, a->tensor, i))->arg));
  return list;
}

/* False when the line was bad. */
static bool answer_line(const char *text, size_t length, bool raw, const ir_observer *observer, FILE *out) {
  answer a = {.g = {.mem = &ir_mem_libc}};
  ir_text_init(&a.index, &ir_mem_libc);
  ir_text_init(&a.valid, &ir_mem_libc);
  json_error_t where;
  json_t *line = NULL, *name = NULL, *result = json_object();
  if (length > MAX_LINE)
    ir_fail(&a.error, IR_ERR_INVALID, "line: found %zu bytes, expected at most %d", length, MAX_LINE);
  else if (!(line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where)))
    ir_fail(&a.error, IR_ERR_INVALID, "not JSON: column %d: %s", where.column, where.text);
  bool good = line && fold_line(&a, line, raw, observer);
  if (json_is_string(json_object_get(line, "name"))) name = json_incref(json_object_get(line, "name"));
  json_object_set_new(result, "name", name ? name : json_null());
  if (good) {
    json_object_set_new(result, "shape", shape_of(&a));
    json_object_set_new(result, "index", json_stringn(ir_text_get(&a.index), a.index.len));
    json_object_set_new(result, "valid", json_stringn(ir_text_get(&a.valid), a.valid.len));
  } else {
    json_object_set_new(result, "error", message(a.error.text));
  }
  if (json_dumpf(result, out, JSON_COMPACT) != 0)
    fputs("{\"name\":null,\"error\":\"out of memory\"}", out), good = false;
  fputc('\n', out);
  json_decref(result);
  json_decref(line);
  ir_text_free(&a.index);
  ir_text_free(&a.valid);
  ir_graph_free(&a.g);
  return good;
}

int cli_index_json(FILE *in, FILE *out, bool raw, const ir_observer *observer) {
  ir_text line;
  size_t length = 0;
  bool good = true;
  fe_line kind = FE_LINE_READ;
  ir_text_init(&line, &ir_mem_libc);
  while (!ferror(out) && !line.failed && kind != FE_LINE_ENDLESS &&
         (kind = fe_line_read(in, MAX_LINE, &line, &length)) != FE_LINE_END) {
    if (kind == FE_LINE_READ && strspn(ir_text_get(&line), " \t\r") >= length) continue;
    good &= !line.failed && answer_line(ir_text_get(&line), length, raw, observer, out);
    fflush(out);
  }
  if (ferror(in)) perror("viewfold index: reading standard input");
  if (line.failed) fputs("viewfold index: not enough memory for a line of standard input\n", stderr);
  if (kind == FE_LINE_ENDLESS)
    fprintf(stderr, "viewfold index: a line of standard input has no end within %zu bytes\n", FE_GRAPH_MOST);
  good &= !ferror(in) && !line.failed && kind != FE_LINE_ENDLESS;
  ir_text_free(&line);
  return good ? CLI_OK : CLI_BAD_INPUT;
}
