/* The text that each step of the pipeline leaves, read back.
 *
 *   prop_pass_text --seed S --count N
 *   ... --case SEED                   one graph again, by the seed in its report
 *   ... --keep 1                      goes on behind failures, and prints a table of them by step
 *   ... --file F                      the graphs of a file instead of random ones
 *
 * Each random graph (test/lib/random_graph.h) is compiled for each of MACHINES. What a step leaves, as
 * `viewfold dump --print-after` shows it, must print the same once it has been read (text), and reading what
 * is there before a step and running the step alone, as `viewfold pass` does, must print what it leaves when
 * compiling (step).
 *
 * A text holds no bounds that passes have proven while they built an expression of sizes, where the operands
 * that proved them are in it no more. So one graph in GRAPHS_PER_BOUND may have steps that do otherwise [2 of
 * 24,000 graphs, 11 of 4,600,000 steps]. */
#include "frontend/report/dump.h"
#include "frontend/report/dump_pass.h"
#include "frontend/text/reader.h"
#include "ir/print/print.h"
#include "runtime/cpu/target.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINES = 4, MAX_ROWS = 64, MAX_RESULTS = 3, GRAPHS_PER_BOUND = 2000 };
static const char *const machines[MACHINES] = {
    "vector_bytes=16 registers=16 lanes=0 masks=0 dot2=0 l1=8192 l3=65536",
    "vector_bytes=32 registers=16 lanes=0 masks=0", "vector_bytes=16 lanes=32 local=65536",
    "vector_bytes=64 registers=32 lanes=0 masks=1 dot2=1"};

typedef struct tally {
  long texts, text_faults, steps, step_faults;
} tally;
static tally tallies[MAX_ROWS], all; /* by row of pass_table */
static long differing;               /* graphs with a fault */
static ir_target targets[MACHINES];
static bool keep;
static const char *file;

static const pass_info *row_named(const char *name, size_t length) {
  for (size_t i = 0; i < pass_count; i++)
    if (strlen(pass_table[i].name) == length && memcmp(pass_table[i].name, name, length) == 0)
      return &pass_table[i];
  return NULL;
}

/* Adds a text without comments and empty lines. */
static void add_lines(const char *text, ir_text *out) {
  for (const char *line = text, *end; *line; line = end) {
    end = strchr(line, '\n') + 1;
    if (*line != '#' && *line != '\n') ir_text_add(out, line, (size_t)(end - line));
  }
}

/* Reads a text and prints it, or what the step makes of it. */
static bool again(const char *text, const pass_info *step, const ir_target *target, ir_text *out,
                  ir_error *error) {
  ir_graph g;
  ir_module module = {0};
  ir_text printed;
  ir_text_init(&printed, &ir_mem_libc);
  *error = (ir_error){0};
  bool done = ir_graph_init(&g, &ir_mem_libc, error) == IR_OK &&
              fe_parse_graphs(&g, "text", text, strlen(text), &module) == IR_OK;
  for (size_t i = 0; done && i < module.count; i++) {
    const ir_parsed_graph *block = &module.graphs[i];
    if (block->called) continue;
    if (step) done = fe_dump_pass(&g, block, step, target, NULL, &printed, error) == IR_OK;
    else ir_print_parsed(&g, block, &printed);
  }
  add_lines(ir_text_get(&printed), out);
  ir_text_free(&printed);
  ir_module_free(&module);
  ir_graph_free(&g);
  return done;
}

/* step NULL: the text is read and printed. */
static bool compare(const pass_info *row, const pass_info *step, const char *before, const char *expected,
                    const ir_target *target) {
  ir_text out;
  ir_error error;
  ir_text_init(&out, &ir_mem_libc);
  bool done = again(before, step, target, &out, &error);
  bool same = done && strcmp(ir_text_get(&out), expected) == 0;
  if (!same)
    fprintf(stderr, "%s %s: %s\n--- before\n%s--- expected\n%s--- found\n%s", step ? "step" : "text",
            row->name, done ? "other text" : error.text, before, expected, ir_text_get(&out));
  ir_text_free(&out);
  return same;
}

static bool check_reading(const pass_info *row, const char *text, const ir_target *target) {
  tally *t = &tallies[row - pass_table];
  bool same = compare(row, NULL, text, text, target);
  t->texts++, t->text_faults += !same;
  all.texts++, all.text_faults += !same;
  return same;
}

static bool check_step(const pass_info *row, const char *before, const char *text, const ir_target *target) {
  tally *t = &tallies[row - pass_table];
  bool same = compare(row, row, before, text, target);
  t->steps++, t->step_faults += !same;
  all.steps++, all.step_faults += !same;
  return same;
}

/* Checks what compiling prints, sections `# after NAME`. A step that reads the plan takes the last text of
 * the graph and leaves all kernels; other steps take the text before theirs. */
static bool check_sections(const char *dumped, const char *source, const ir_target *target) {
  enum { GRAPH, BEFORE, HERE, KERNELS, TEXTS };
  static const char after[] = "# after ";
  const pass_info *of_kernels = NULL;
  ir_text t[TEXTS];
  bool good = true;
  for (int i = 0; i < TEXTS; i++) ir_text_init(&t[i], &ir_mem_libc);
  add_lines(source, &t[BEFORE]);
  for (const char *section = strstr(dumped, after), *end; section; section = end) {
    const char *name = section + strlen(after), *line = strchr(name, '\n');
    end = strstr(line, after);
    const pass_info *row = row_named(name, (size_t)(line - name));
    ir_text part;
    ir_text_init(&part, &ir_mem_libc);
    ir_text_add(&part, line, end ? (size_t)(end - line) : strlen(line));
    add_lines(ir_text_get(&part), &t[HERE]);
    ir_text_free(&part);
    const char *here = ir_text_get(&t[HERE]);
    good &= check_reading(row, here, target);
    if (row->scope == (PASS_ON_KERNEL | PASS_OF_PLAN)) of_kernels = row, ir_text_str(&t[KERNELS], here);
    else good &= check_step(row, ir_text_get(&t[BEFORE]), here, target);
    ir_text spare = t[BEFORE];
    t[BEFORE] = t[HERE], t[HERE] = spare;
    t[HERE].len = 0;
    if (!(row->scope & PASS_ON_GRAPH)) continue;
    t[GRAPH].len = 0;
    ir_text_str(&t[GRAPH], ir_text_get(&t[BEFORE]));
  }
  if (of_kernels) good &= check_step(of_kernels, ir_text_get(&t[GRAPH]), ir_text_get(&t[KERNELS]), target);
  for (int i = 0; i < TEXTS; i++) ir_text_free(&t[i]);
  return good;
}

static bool check_block(ir_graph *g, const ir_parsed_graph *block, const ir_target *target) {
  fe_dump_options options = {.after = "all", .target = target};
  ir_text dumped, source;
  ir_error error = {0};
  ir_text_init(&dumped, &ir_mem_libc), ir_text_init(&source, &ir_mem_libc);
  bool good = fe_dump(g, block, &options, &dumped, &error) == IR_OK;
  if (good) {
    ir_print_parsed(g, block, &source);
    good = check_sections(ir_text_get(&dumped), ir_text_get(&source), target);
  } else {
    fprintf(stderr, "compilation failed: %s\n", error.text);
  }
  ir_text_free(&dumped), ir_text_free(&source);
  return good;
}

static bool check_module(ir_graph *g, const ir_module *module) {
  bool good = true;
  for (size_t i = 0; i < module->count; i++)
    for (int m = 0; m < MACHINES; m++)
      if (!module->graphs[i].called && !check_block(g, &module->graphs[i], &targets[m])) {
        fprintf(stderr, "(@%s for %s)\n", module->graphs[i].name, machines[m]);
        good = false;
      }
  return good;
}

/* The graphs of a text, or of the file if there is one. */
static bool check_graphs(const char *text, size_t length) {
  ir_graph g;
  ir_error error = {0};
  ir_module module = {0};
  bool good = ir_graph_init(&g, &ir_mem_libc, &error) == IR_OK &&
              (file ? fe_read_graphs(&g, file, NULL, &module)
                    : fe_parse_graphs(&g, "random", text, length, &module)) == IR_OK &&
              check_module(&g, &module);
  if (error.status) fprintf(stderr, "%s\n", error.text);
  ir_module_free(&module);
  ir_graph_free(&g);
  return good;
}

static bool check_case(uint64_t seed) {
  static random_graph r;
  ir_ref roots[MAX_RESULTS];
  size_t count = 0;
  ir_text text;
  random_graph_make(&r, seed, seed % 50 == 0 ? 70 : 6);
  size_t wanted = (size_t)random_between(&r.state, 1, MAX_RESULTS);
  for (int i = r.value_count - 1; i >= 0 && count < wanted; i--) roots[count++] = r.values[i].ref;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_graph(&r.g, "random", ir_tuple(&r.g, roots, (uint32_t)count), &text);
  bool good = check_graphs(ir_text_get(&text), text.len);
  if (!good) fprintf(stderr, "(prop_pass_text --case %" PRIu64 ")\n", seed);
  ir_text_free(&text);
  ir_graph_free(&r.g);
  differing += !good;
  return !all.text_faults || keep;
}

static void print_table(void) {
  for (size_t i = 0; i < pass_count; i++)
    printf("%-12s %6ld texts, %4ld other; %6ld steps, %4ld other\n", pass_table[i].name, tallies[i].texts,
           tallies[i].text_faults, tallies[i].steps, tallies[i].step_faults);
}

int main(int argc, char **argv) {
  const option more[] = {OPTION("--keep", &keep), OPTION("--file", &file)};
  cases c = cases_read_with(argc, argv, 20, more, 2);
  ir_error error = {0};
  if (pass_count > MAX_ROWS) {
    fprintf(stderr, "%zu passes, of which %d are counted\n", pass_count, MAX_ROWS);
    return 1;
  }
  for (int m = 0; m < MACHINES; m++) {
    rt_target_host(&targets[m]);
    if (rt_target_override(&targets[m], machines[m], &error) != IR_OK) {
      fprintf(stderr, "%s\n", error.text);
      return 1;
    }
  }
  if (file) c.failed = !check_graphs(NULL, 0), c.done = 1;
  else cases_run(&c, check_case);
  if (keep) print_table();
  printf("prop_pass_text: %ld graphs for %d machines, %ld texts read, %ld steps alone, %ld and %ld differ, "
         "seed %" PRIu64 "\n",
         c.done, MACHINES, all.texts, all.steps, all.text_faults, all.step_faults, c.seed);
  return c.failed || all.text_faults || differing > c.done / GRAPHS_PER_BOUND;
}
