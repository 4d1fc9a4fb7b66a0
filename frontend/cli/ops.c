/* `viewfold ops`: prints the registry of operations, in the form of docs/operations.md. */
#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "passes/ops/ops.h"

static const char help_text[] =
    "Usage: viewfold ops [--json]\n"
    "\n"
    "Prints what is known of each operation: its kind, the rules for the dtype "
    "and the shape of its result, how it is\n"
    "batched and differentiated, which axes are sharded together, which operands "
    "may be partial sums, and what it\n"
    "costs; then the compositions, which record other operations. "
    "docs/operations.md says what the words mean.\n"
    "\n"
    "  $ viewfold ops | grep '^| matmul '\n"
    "  | matmul | | contract | sum | matmul | leading | bilinear | `... m k, ... k n "
    "-> ... m n` | one | 2 * products |\n"
    "\n"
    "Options:\n"
    "  --json   print one object per line; lists are words separated by blanks\n";

typedef struct row {
  int op; /* ir_op; IR_OP_ERROR: a composition */
  const char *name, *kind, *dtype, *shape, *batch, *derivative, *sharding, *partial, *cost;
  int weight;
} row;

static const row rows[] = {
#define RECORDED(name, text, operands, cls, level, infix, precedence, attributes, verify, kind, dtype,       \
                 shape, batch, derivative, rule, sharding, partial, cost, weight)                            \
  {IR_OP_##name, NULL, #kind, #dtype, #shape, #batch, #derivative, sharding, #partial, #cost, weight},
#include "ir/ops.def"
#define COMPOSITION(name, dtype, shape)                                                                      \
  {IR_OP_ERROR, #name, NULL, #dtype, #shape, NULL, NULL, NULL, NULL, NULL, 0},
#include "passes/ops/compositions.def"
#undef COMPOSITION
};
enum { ROWS = sizeof rows / sizeof *rows };

enum { FIELDS = 10, FIELD = 128 };

static const char *const titles[FIELDS] = {"operation", "also",       "kind",     "dtype",        "shape",
                                           "batching",  "derivative", "sharding", "partial sums", "cost"};

/* The names of an operation other than the one in ir_ops. */
static void other_names(const row *r, char *out) {
  size_t used = 0;
  ir_op op;
  const char *text;
  for (size_t i = 0; (text = op_name_at(i, &op)); i++) {
    bool own = strcmp(text, ir_ops[r->op].text) == 0;
    if ((int)op != r->op || own || used + strlen(text) + 2 > FIELD) continue;
    used += (size_t)snprintf(out + used, FIELD - used, "%s%s", used ? " " : "", text);
  }
}

static void lower(char *out, const char *word) {
  for (; *word; word++) *out++ = *word == '_' ? ' ' : (char)tolower((unsigned char)*word);
  *out = '\0';
}

static void fill_row(const row *r, char fields[FIELDS][FIELD]) {
  const char *const words[] = {r->kind, r->dtype, r->shape, r->batch, r->derivative};
  memset(fields, 0, FIELDS * FIELD);
  snprintf(fields[0], FIELD, "%s", r->name ? r->name : ir_ops[r->op].text);
  if (!r->name) other_names(r, fields[1]);
  for (int i = 0; i < 5; i++)
    if (words[i]) lower(fields[2 + i], words[i]);
  if (r->name) return;
  snprintf(fields[7], FIELD, "%s", r->sharding);
  lower(fields[8], r->partial);
  if (r->weight == 1) lower(fields[9], r->cost);
  else if (r->weight) lower(fields[9] + snprintf(fields[9], FIELD, "%d * ", r->weight), r->cost);
}

/* Compositions have a name, and rules for dtype and shape. */
static bool shown(const row *r, int field) { return !r->name || field == 0 || field == 3 || field == 4; }

static void print_titles(const row *r) {
  const char *lines[] = {"", "---"};
  for (int line = 0; line < 2; line++) {
    for (int i = 0; i < FIELDS; i++)
      if (shown(r, i)) printf("| %s ", line ? lines[1] : i == 0 && r->name ? "composition" : titles[i]);
    puts("|");
  }
}

static void print_table(void) {
  char fields[FIELDS][FIELD];
  for (int k = 0; k < ROWS; k++) {
    if (k > 0 && rows[k].name && !rows[k - 1].name) putchar('\n');
    if (k == 0 || !rows[k].name != !rows[k - 1].name) print_titles(&rows[k]);
    fill_row(&rows[k], fields);
    for (int i = 0; i < FIELDS; i++)
      if (shown(&rows[k], i)) printf(i == 7 ? "| `%s` " : *fields[i] ? "| %s " : "| ", fields[i]);
    puts("|");
  }
}

static bool print_json(void) {
  char fields[FIELDS][FIELD];
  bool printed = true;
  for (int k = 0; k < ROWS && printed; k++) {
    json_t *object = json_object();
    fill_row(&rows[k], fields);
    printed = object != NULL;
    for (int i = 0; i < FIELDS && printed; i++)
      if (shown(&rows[k], i)) printed = json_object_set_new(object, titles[i], json_string(fields[i])) == 0;
    printed = printed && json_dumpf(object, stdout, JSON_COMPACT) == 0;
    putchar('\n');
    json_decref(object);
  }
  if (!printed) fputs("viewfold ops: out of memory\n", stderr);
  return printed;
}

int cli_ops(int argc, char **argv) {
  bool json;
  int status = cli_read_switch(help_text, "--json", argc, argv, &json);
  if (status != CLI_END) return status;
  if (!json) print_table();
  return !json || print_json() ? CLI_OK : CLI_DEVICE;
}
