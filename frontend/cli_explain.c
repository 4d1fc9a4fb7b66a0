/* `viewfold explain`: why kernels are what they are. */
#include <stdio.h>

#include "frontend/cli.h"
#include "frontend/cli_graph.h"
#include "frontend/cli_options.h"
#include "frontend/dump.h"
#include "runtime/target.h"

static const char help_text[] =
    "Usage: viewfold explain [OPTIONS] FILE.vf|CHAIN\n"
    "\n"
    "Says of each kernel of a graph what it computes, why it is a kernel of its own, what was fused into it, "
    "how many\n"
    "bytes and operations it takes, how its loops run, and which divisions and masks are left in them, and "
    "where.\n"
    "Nothing is run. FILE.vf `-` is standard input. `viewfold index --explain CHAIN` explains an index.\n"
    "\n"
    "Options:\n"
    "  --graph NAME       this graph of the file; otherwise all that no other calls\n"
    "  --target SETTINGS  compile for another machine, as `viewfold dump` does\n"
    "\n"
    "Exit status: 0; 2 when the input is wrong; 3 when it cannot be compiled.\n";

static int explain_all(cli_graph *s, const char *word, const char *name, const ir_target *target,
                       ir_text *out) {
  fe_dump_options options = {.stage = FE_STAGE_KERNELS, .target = target, .why = true};
  int status = CLI_OK;
  const ir_parsed_graph *only = name ? cli_graph_pick(s, word, name) : NULL;
  if (name && !only) return CLI_BAD_INPUT;
  for (size_t i = 0; i < s->module.count && !status; i++) {
    const ir_parsed_graph *block = &s->module.graphs[i];
    if (block->kind != IR_BLOCK_GRAPH || (only ? block != only : block->called)) continue;
    if (fe_dump(&s->g, block, &options, out, &s->error) != IR_OK) status = cli_failure("explain", &s->error);
  }
  return status;
}

int cli_explain(int argc, char **argv) {
  enum { NAME, TARGET, OPTIONS };
  static const cli_option options[OPTIONS] = {{"--graph", "a name"}, {"--target", "settings"}};
  const char *given[OPTIONS] = {NULL}, *word = NULL;
  cli_args args = {.argc = argc, .at = 1, .argv = argv, .options = options, .count = OPTIONS};
  for (int next; (next = cli_next(&args)) != CLI_END;) {
    if (next == CLI_WRONG) return CLI_BAD_INPUT;
    if (next == CLI_HELP) {
      fputs(help_text, stdout);
      return CLI_OK;
    }
    if (next >= 0) given[next] = args.value;
    else if (word) return cli_usage("explain", "one file at a time, found '%s' as well", args.value);
    else word = args.value;
  }
  if (!word) return cli_usage("explain", "no file given; for example: viewfold explain blur.vf");
  ir_error error = {0};
  ir_target target;
  if (rt_target_host(&target, &error) != IR_OK ||
      (given[TARGET] && rt_target_override(&target, given[TARGET], &error) != IR_OK))
    return cli_failure("explain", &error);
  cli_graph s;
  ir_text out;
  ir_text_init(&out, &ir_mem_libc);
  int status = cli_graph_open(&s, "explain", word, false);
  if (!status) status = explain_all(&s, word, given[NAME], &target, &out);
  if (out.len) fwrite(out.data, 1, out.len, stdout);
  ir_text_free(&out);
  cli_graph_close(&s);
  return status;
}
