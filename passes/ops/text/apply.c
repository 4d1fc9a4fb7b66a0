/* Operations by name: looks the name up, sorts the attributes, calls the builder. */
#include "args.h"
#include "passes/ops/foreign.h"
#include "passes/ops/custom.h"

#include <stdio.h>
#include <string.h>

enum { MANY = -1 }; /* most operands of an operation: any number */

typedef struct name_row {
  const char *text;
  op_form form;
  ir_op op;
  int fewest, most;
  const char *operands;
} name_row;

static const name_row names[] = {
#define NAME(text, form, op, fewest, most, operands, accepted, required)                                     \
  {text, op_form_##form, IR_OP_##op, fewest, most, operands},
#include "passes/ops/names.def"
#undef NAME
};

/* The attributes that each row accepts and requires, one table per 64-bit word of the sets. */
#define NAME(text, form, op, fewest, most, operands, accepted, required) {accepted, required},
#define A(name)                                                          (OP_ATTR_##name < 64 ? (uint64_t)1 << OP_ATTR_##name % 64 : 0)
static const uint64_t first_words[][2] = {
#include "passes/ops/names.def"
};
#undef A
#define A(name) (OP_ATTR_##name >= 64 ? (uint64_t)1 << OP_ATTR_##name % 64 : 0)
static const uint64_t second_words[][2] = {
#include "passes/ops/names.def"
};
#undef A
#undef NAME

enum { ACCEPTED, REQUIRED };
static op_attr_set attributes_of(const name_row *row, int which) {
  return (op_attr_set){{first_words[row - names][which], second_words[row - names][which]}};
}

enum { NAME_COUNT = sizeof names / sizeof *names, NAME_BYTES = 32 /* because none is longer */ };

static const name_row *look_up(const char *name, size_t length) {
  for (int i = 0; i < NAME_COUNT; i++)
    if (strlen(names[i].text) == length && memcmp(names[i].text, name, length) == 0) return &names[i];
  return NULL;
}

const char *op_name_at(size_t number, ir_op *op) {
  if (number >= NAME_COUNT) return NULL;
  *op = names[number].op;
  return names[number].text;
}

/* How many operands it takes, and their names: `3 or 4: q, k, v, perhaps mask`. */
static void put_takes(const name_row *row, ir_text *out) {
  if (row->most == MANY) ir_textf(out, "at least %d", row->fewest);
  else if (row->fewest == row->most) ir_textf(out, "%d", row->most);
  else ir_textf(out, "%d %s %d", row->fewest, row->most - row->fewest == 1 ? "or" : "to", row->most);
  if (row->most == MANY) ir_textf(out, ": %s", row->operands);
  const char *at = row->operands;
  for (int i = 0; row->most != MANY && *at; i++, at += strspn(at, " ")) {
    int length = (int)strcspn(at, " ");
    ir_textf(out, "%s%s%.*s", i ? ", " : ": ", i >= row->fewest ? "perhaps " : "", length, at);
    at += length;
  }
}

typedef struct default_row {
  const char *operations;
  int attribute;
  const char *value, *written;
} default_row;
static const default_row defaults[] = {
#define DEFAULT(operations, attribute, value, written) {operations, OP_ATTR_##attribute, value, written},
#include "passes/ops/defaults.def"
#undef DEFAULT
};

const char *op_default_row(size_t number, const char **attribute, const char **value, const char **written) {
  if (number >= sizeof defaults / sizeof *defaults) return NULL;
  *attribute = op_attr_name(defaults[number].attribute);
  *value = defaults[number].value;
  *written = defaults[number].written;
  return defaults[number].operations;
}

/* What an attribute is that is left out; NULL: there is no row. */
static const char *default_of(const name_row *row, int attribute) {
  size_t length = strlen(row->text);
  for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
    if (defaults[i].attribute != attribute) continue;
    for (const char *at = defaults[i].operations; *at; at += strspn(at, " ")) {
      if (strcspn(at, " ") == length && !memcmp(at, row->text, length)) return defaults[i].value;
      at += strcspn(at, " ");
    }
  }
  return NULL;
}

bool op_describe(const char *name, ir_text *out) {
  const name_row *row = look_up(name, strlen(name));
  if (!row) return false;
  ir_text_str(out, "operands    ");
  put_takes(row, out);
  ir_text_str(out, "\n");
  op_attr_set accepted = attributes_of(row, ACCEPTED), required = attributes_of(row, REQUIRED);
  const char *title = "attributes";
  for (int k = 0; k < OP_ATTR_COUNT; k++) {
    if (!op_attr_in(&accepted, k)) continue;
    const char *left_out = default_of(row, k);
    ir_textf(out, "%-11s %s", title, op_attr_name(k));
    if (left_out) ir_textf(out, " (%s if left out)", left_out);
    else if (!op_attr_in(&required, k)) ir_text_str(out, " (may be left out)");
    ir_textf(out, ": %s\n", op_attr_takes(k));
    title = "";
  }
  return true;
}

void op_put_attributes(const char *name, size_t length, ir_text *out) {
  const name_row *row = look_up(name, length);
  if (!row) return;
  op_attr_set accepted = attributes_of(row, ACCEPTED);
  op_attr_put_names(&accepted, out);
}

const char *op_result_names(const char *name, size_t length) {
  static const char *const rows[][2] = {
      {"topk", "%values, %indices"}, {"minmax", "%least, %greatest"}, {"threefry2x32", "%low, %high"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strlen(rows[i][0]) == length && memcmp(rows[i][0], name, length) == 0) return rows[i][1];
  return NULL;
}

const char *op_other_with(const op_args *a, int attr) {
  for (int i = 0; i < NAME_COUNT && a->op != IR_OP_ERROR; i++) {
    op_attr_set accepted = attributes_of(&names[i], ACCEPTED);
    if (names[i].op == a->op && (size_t)names[i].fewest == a->n && op_attr_in(&accepted, attr))
      return names[i].text;
  }
  return NULL;
}

bool op_known(const char *name, size_t length) { return look_up(name, length) != NULL; }

static ir_ref refuse_unknown_operation(ir_graph *g, const char *name, size_t length, const ir_attr *attrs,
                                       size_t attr_count) {
  ir_text instead;
  ir_text_init(&instead, g->mem);
  op_put_instead(name, length, &instead);
  for (size_t i = 0; i < attr_count; i++)
    op_put_instead_attribute(name, length, attrs[i].name, attrs[i].name_length, &instead);
  op_refuse(g, "%.*s: there is no such operation; %s", length > 60 ? 60 : (int)length, name,
            ir_text_get(&instead));
  ir_text_free(&instead);
  return 0;
}

static bool count_fits(ir_graph *g, const name_row *row, size_t n) {
  if (n >= (size_t)row->fewest && (row->most == MANY || n <= (size_t)row->most)) return true;
  op_attr_set accepted = attributes_of(row, ACCEPTED);
  ir_text takes;
  ir_text_init(&takes, g->mem);
  put_takes(row, &takes);
  static const op_attr_set none;
  if (n > (size_t)row->fewest &&
      memcmp(&accepted, &none, sizeof none) != 0) { /* is one an attribute's value? */
    ir_text_str(&takes, "; attributes: ");
    op_attr_put_names(&accepted, &takes);
  }
  if (row->most > 2) ir_textf(&takes, "; `viewfold ops %s` shows how", row->text); /* names alone do not */
  op_refuse(g, "%s: %zu operand%s given; takes %s", row->text, n, n == 1 ? "" : "s", ir_text_get(&takes));
  ir_text_free(&takes);
  return false;
}

void op_rename_error(ir_error *error, const char *who) {
  size_t length = strcspn(error->text, ":");
  if (error->status != IR_ERR_INVALID || !op_known(error->text, length)) return;
  char rest[sizeof error->text];
  memcpy(rest, error->text + length, sizeof error->text - length);
  snprintf(error->text, sizeof error->text, "%s%.*s", who, (int)sizeof error->text - NAME_BYTES, rest);
}

ir_ref op_apply(ir_graph *g, const char *name, size_t length, const ir_ref *operands, size_t n,
                const ir_attr *attrs, size_t attr_count) {
  if (g->error->status != IR_OK) return 0;
  const name_row *row = look_up(name, length);
  const op_custom *custom = row ? NULL : op_custom_find(g, name, length);
  if (custom) return op_custom_apply(g, custom, operands, n, attrs, attr_count);
  if (!row) return refuse_unknown_operation(g, name, length, attrs, attr_count);
  op_args args = {.g = g, .who = row->text, .op = row->op, .x = operands, .n = n};
  op_attr_set accepted = attributes_of(row, ACCEPTED), required = attributes_of(row, REQUIRED);
  if (!count_fits(g, row, n) || !op_args_collect(&args, attrs, attr_count, &accepted, &required)) return 0;
  for (size_t i = 0; i < n; i++)
    if (operands[i] == 0) return 0;
  ir_ref made = row->form(&args);
  if (!made) op_rename_error(g->error, row->text); /* the user may have written another name */
  return made;
}
