/* `viewfold pass`: runs one step of the pipeline on a text. */
#include <stdio.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/options.h"
#include "frontend/cli/pass.h"
#include "frontend/report/dump_pass.h"
#include "frontend/text/nearest.h"

enum {
  PASSES_MOST = 64
}; /* names that a misspelt one is compared with; of the table, twice as many as it has */

static void help(void) {
  fputs("Usage: viewfold pass [OPTIONS] NAME FILE.vf|CHAIN\n"
        "\n"
        "Runs one step of compiling on each tensor graph, or each kernel (`index @...`), of a text, and "
        "prints\n"
        "what it leaves as text that can be read back. `viewfold dump --help` lists the steps. Of the plan\n"
        "of a graph there is no text: schedule, regroup and alternatives, which make it, leave the graph as\n"
        "it is, and views, which reads it, takes the graph and prints all kernels.\n"
        "\n"
        "  $ viewfold dump --print-after=fold 'f32[4].pad((1,1))' > folded.vf\n"
        "  $ viewfold pass crop folded.vf\n"
        "\n"
        "Options:\n"
        "  --target SETTINGS  for another machine; as for `viewfold dump`\n"
        "  --trace-rules      show each rewrite of an index expression; as for `viewfold dump`\n"
        "\n"
        "Exit status: 0; 2 when the input is wrong; 3 when the step fails.\n",
        stdout);
}

const pass_info *cli_find_pass(const char *command, const char *name) {
  const char *names[PASSES_MOST] = {0};
  size_t count = 0;
  for (size_t i = 0; i < pass_count; i++)
    if (strcmp(pass_table[i].name, name) == 0) return &pass_table[i];
  for (size_t i = 0; i < pass_count && count < PASSES_MOST; i++) names[count++] = pass_table[i].name;
  const char *near = fe_nearest(name, strlen(name), names, count);
  char all[800] = "";
  size_t at = 0;
  for (size_t i = 0; i < count && at < sizeof all; i++)
    at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", names[i]);
  if (near) cli_usage(command, "unknown pass '%s'; did you mean %s?", name, near);
  else cli_usage(command, "unknown pass '%s'; the passes are %s", name, all);
  return NULL;
}

static int run_step(const pass_info *step, const ir_target *target, const char *word, bool trace) {
  cli_graph s;
  ir_text out;
  ir_text_init(&out, &ir_mem_libc);
  int status = cli_graph_open(&s, "pass", word, trace, NULL);
  for (size_t i = 0; !status && i < s.module.count; i++) {
    const ir_parsed_graph *block = &s.module.graphs[i];
    if (block->called) continue; /* it is printed with the graphs that call it */
    if (fe_dump_pass(&s.g, block, step, target, fe_watch_observer(&s.watch), &out, &s.error) != IR_OK)
      status = cli_failure("pass", &s.error);
  }
  if (out.len) fwrite(out.data, 1, out.len, stdout);
  ir_text_free(&out);
  cli_graph_close(&s);
  return status;
}

static int run_for(const char *settings, const pass_info *step, const char *word, bool trace) {
  rt_options options;
  rt_context *context = NULL;
  const ir_target *target = NULL;
  ir_error error = {0};
  int status = cli_context_options("pass", NULL, NULL, &options);
  if (status) return status;
  options.target = settings;
  if (rt_context_create(&ir_mem_libc, &options, &context, &error) == IR_OK)
    target = rt_context_target(context, &error);
  status = target ? run_step(step, target, word, trace) : cli_failure("pass", &error);
  rt_context_destroy(context);
  return status;
}

int cli_pass(int argc, char **argv) {
  const char *settings = NULL, *trace = NULL, *words[2] = {NULL};
  const cli_option options[] = {{"--target", "settings", cli_last, &settings},
                                {"--trace-rules", NULL, cli_last, &trace}};
  const cli_syntax syntax = {.put_help = help,
                             .options = options,
                             .option_count = sizeof options / sizeof *options,
                             .words = words,
                             .most = 2,
                             .more = "one file at a time, found '%s' as well"};
  int status = cli_read(&syntax, argc, argv);
  if (status != CLI_END) return status;
  if (!words[1])
    return cli_usage("pass", "the name of a pass and a file are needed, as in viewfold pass lower FILE.vf");
  const pass_info *step = cli_find_pass("pass", words[0]);
  return step ? run_for(settings, step, words[1], trace != NULL) : CLI_BAD_INPUT;
}
