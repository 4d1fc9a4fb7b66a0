/* `viewfold index --json`: one chain per line of standard input, one answer per line of standard output.
 *
 *   {"name":"t","base":[3,2],"ops":[["permute",[1,0]],["reshape",[3,2]]]}
 *   {"name":"t","shape":[3,2],"index":"EXPR","valid":"EXPR"}     or     {"name":"t","error":"message"}
 *
 * Each line has a separate graph. Any bytes are accepted. */
#include "frontend/cli/index.h"

#include <jansson.h>
#include <string.h>

#include "frontend/cli/json/lines.h"
#include "frontend/text/chain.h"
#include "passes/ops/ops.h"

enum { MAX_ENTRIES = 2 * IR_MAX_RANK };

typedef struct asked {
  bool raw;
  const ir_observer *observer;
} asked;

typedef struct answer {
  ir_graph g;
  ir_text index, valid;
  ir_ref tensor;
} answer;

static bool fail_expected(ir_graph *g, const char *what, const json_t *found, const char *expected) {
  return cli_json_expected(g->error, what, found, expected);
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

static bool fold_line(answer *a, const json_t *line, const asked *how, ir_error *error) {
  ir_ref index, valid;
  if (ir_graph_init(&a->g, &ir_mem_libc, error) != IR_OK) return false;
  if (!read_chain(&a->g, line, &a->tensor)) return false;
  a->g.observer = how->observer;
  return cli_index_fold(&a->g, a->tensor, how->raw, &index, &valid) &&
         cli_index_print(&a->g, index, true, &a->index) && cli_index_print(&a->g, valid, true, &a->valid);
}

static json_t *shape_of(const answer *a) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < ir_rank(&a->g, a->tensor); i++)
    json_array_append_new(list, json_integer(ir_get(&a->g, ir_dim(&a->g, a->tensor, i))->arg));
  return list;
}

static bool answer_line(void *user, const json_t *line, json_t *result, ir_error *error) {
  answer a = {.g = {.mem = &ir_mem_libc}};
  ir_text_init(&a.index, &ir_mem_libc);
  ir_text_init(&a.valid, &ir_mem_libc);
  bool good = fold_line(&a, line, user, error);
  if (good) {
    json_object_set_new(result, "shape", shape_of(&a));
    json_object_set_new(result, "index", json_stringn(ir_text_get(&a.index), a.index.len));
    json_object_set_new(result, "valid", json_stringn(ir_text_get(&a.valid), a.valid.len));
  }
  ir_text_free(&a.index);
  ir_text_free(&a.valid);
  ir_graph_free(&a.g);
  return good;
}

int cli_index_json(FILE *in, FILE *out, bool raw, const ir_observer *observer) {
  asked how = {raw, observer};
  const cli_json_command command = {"index", "name", false, answer_line, &how};
  return cli_json_lines(&command, in, out);
}
