/* `viewfold ops`: prints the registry of operations, in the form of docs/operations.md. */
#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "passes/ops/foreign.h"
#include "passes/ops/ops.h"

static const char help_text[] =
    "Usage: viewfold ops [--json | NAME]\n"
    "\n"
    "With the name of an operation: its operands, its attributes and what they accept, and an example, a "
    "graph that "
    "`viewfold\n"
    "run` and `viewfold check` take.\n"
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

/* one operation */

typedef struct example {
  const char *name, *graphs, *params, *statement;
} example;
static const example examples[] = {
#define EXAMPLE(name, graphs, params, statement) {#name, graphs, params, statement},
#include "frontend/cli/examples.def"
#undef EXAMPLE
};

static void put_graph(const example *e, ir_text *out) {
  const char *last = strrchr(e->statement, '\n');
  const char *results_of = last ? last + strspn(last, "\n ") : e->statement;
  size_t results = strcspn(results_of, "=");
  ir_textf(out, "%sgraph @%s(%s) {\n  %s\n  return %.*s\n}\n", e->graphs, e->name, e->params, e->statement,
           (int)results - 1, results_of);
}

/* Of an elementwise operation: operands of the first dtype that it accepts. */
static bool put_elementwise(const char *name, ir_op op, ir_text *out) {
  static const char *const types[] = {"f32[2,3]", "i32[2,3]", "bool[2,3]"};
  unsigned count = ir_ops[op].cls == IR_CLASS_UNARY ? 1 : ir_ops[op].cls == IR_CLASS_TERNARY ? 3 : 2;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const char *first = op == IR_OP_WHERE ? "bool[2,3]" : types[t];
    ir_graph g;
    ir_error error = {0};
    ir_ref x[3] = {0}, dims[2];
    if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return false;
    dims[0] = ir_index(&g, 2), dims[1] = ir_index(&g, 3);
    ir_ref shape = ir_tuple(&g, dims, 2);
    for (unsigned i = 0; i < count; i++) {
      const char *type = i ? types[t] : first;
      x[i] = ir_leaf(&g, IR_OP_BUFFER, ir_dtype_parse(type, strcspn(type, "[")), 0, shape, i);
    }
    bool made = op_apply(&g, name, strlen(name), x, count, NULL, 0) != 0;
    ir_graph_free(&g);
    if (!made) continue;
    ir_textf(out, "graph @%s(%%a: %s", name, first);
    for (unsigned i = 1; i < count; i++) ir_textf(out, ", %%%c: %s", 'a' + (char)i, types[t]);
    ir_textf(out, ") {\n  %%y = %s %%a%s%s\n  return %%y\n}\n", name, count > 1 ? ", %b" : "",
             count > 2 ? ", %c" : "");
    return true;
  }
  return false;
}

static ir_op op_of_name(const char *name) {
  ir_op op = IR_OP_ERROR;
  const char *text;
  for (size_t i = 0; (text = op_name_at(i, &op)); i++)
    if (strcmp(text, name) == 0) return op;
  return IR_OP_ERROR;
}

static void put_example(const char *name, ir_op op, ir_text *out) {
  const char *own = op == IR_OP_ERROR ? name : ir_ops[op].text; /* an alias has the operation's example */
  size_t before = out->len;
  ir_text_str(out, "\nexample:\n");
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
    if (strcmp(examples[i].name, own) == 0) {
      put_graph(&examples[i], out);
      return;
    }
  ir_class cls = (ir_class)ir_ops[op].cls;
  bool elementwise = op == IR_OP_ERROR || cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY ||
                     cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY;
  if (elementwise && put_elementwise(own, op == IR_OP_ERROR ? IR_OP_NEG : op, out)) return;
  out->len = before;
  out->data[before] = '\0';
}

static int unknown_operation(const char *name) {
  ir_text instead;
  ir_text_init(&instead, &ir_mem_libc);
  op_put_instead(name, strlen(name), &instead);
  int status = cli_usage("ops", "no operation '%s'; %s", name, ir_text_get(&instead));
  ir_text_free(&instead);
  return status;
}

/* Operations that show their operand, which are calls in programs and have no row. */
static const struct {
  const char *name, *attribute, *takes, *value;
} shows[] = {
    {"tap", "name", "a text in quotes, by which receivers know the value", "state"},
    {"print", "text", "a text in quotes, in which {} stands for the elements", "x = {}"},
};

static bool print_show(const char *name) {
  for (size_t i = 0; i < sizeof shows / sizeof *shows; i++) {
    if (strcmp(shows[i].name, name) != 0) continue;
    printf(
        "operation   %s\n"
        "operands    1: x\n"
        "attributes  %s: %s\n"
        "gives       x, whose elements are shown whenever it is computed: in each round of a loop, in the\n"
        "            branch that is taken, also where nothing reads what it gives\n"
        "\nexample:\n"
        "graph @%s(%%x: f32[2,3]) {\n"
        "  %%q = %s %%x %s=\"%s\"\n"
        "  %%y = neg %%q\n"
        "  return %%y\n"
        "}\n",
        name, shows[i].attribute, shows[i].takes, name, name, shows[i].attribute, shows[i].value);
    return true;
  }
  return false;
}

static int print_one(const char *name) {
  if (print_show(name)) return CLI_OK;
  ir_text out;
  ir_text_init(&out, &ir_mem_libc);
  ir_textf(&out, "operation   %s\n", name);
  bool known = op_describe(name, &out), failed = out.failed;
  ir_op op = op_of_name(name);
  char fields[FIELDS][FIELD];
  for (int k = 0; k < ROWS && known; k++) {
    const char *own = rows[k].name ? rows[k].name : ir_ops[rows[k].op].text;
    if (strcmp(own, op == IR_OP_ERROR ? name : ir_ops[op].text) != 0) continue;
    fill_row(&rows[k], fields);
    if (strcmp(own, name) != 0) ir_textf(&out, "%-11s %s\n", "the same as", own);
    for (int i = 1; i < FIELDS; i++)
      if (shown(&rows[k], i) && *fields[i]) ir_textf(&out, "%-11s %s\n", titles[i], fields[i]);
    break;
  }
  if (known) put_example(name, op, &out);
  if (known) fputs(ir_text_get(&out), stdout);
  ir_text_free(&out);
  if (failed) return fputs("viewfold ops: out of memory\n", stderr), CLI_DEVICE;
  return known ? CLI_OK : unknown_operation(name);
}

int cli_ops(int argc, char **argv) {
  const char *json = NULL, *name = NULL;
  const cli_option options[] = {{"--json", NULL, cli_last, &json}};
  int status =
      cli_read_word(help_text, options, 1, &name, "one operation at a time, found '%s' as well", argc, argv);
  if (status != CLI_END) return status;
  if (name && json)
    return cli_usage("ops", "--json lists all operations; it takes no name, found '%s'", name);
  if (name) return print_one(name);
  if (!json) print_table();
  return !json || print_json() ? CLI_OK : CLI_DEVICE;
}
