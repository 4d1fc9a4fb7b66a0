/* `viewfold check`: compares compiled results with those of the reference evaluator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/arrays.h"
#include "frontend/cli/buffers.h"
#include "frontend/cli/check/shrink.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"
#include "ir/print/print.h"

#define MOST_BYTES ((size_t)2 << 30)

static const char help_text[] =
    "Usage: viewfold check [OPTIONS] FILE.vf|MODEL.onnx|CHAIN\n"
    "\n"
    "Compiles a graph, runs it on pseudorandom inputs, the same every time, and compares each result with "
    "that of "
    "the\n"
    "reference evaluator, as `viewfold run --check` does. Where one differs, smaller graphs are tried: the "
    "first "
    "value that\n"
    "differs, computed from as few operations as still differ. The smallest one is printed as text.\n"
    "\n"
    "Options:\n"
    "  --graph NAME       this graph of the file; otherwise all that no other calls\n"
    "  --in NAME=VALUE    a parameter's value, as for `viewfold run`; others are made up\n"
    "  --size NAME=VALUE  the value of a size variable that no input tells\n"
    "  --threads N        how many threads may be used\n"
    "  --device DEVICE    as for `viewfold run`\n"
    "\n"
    "Exit status: 0 when all results agree, 1 when one differs, 2 when the input is wrong, 3 when it cannot "
    "be "
    "compiled.\n";

typedef struct check {
  const char *word, *name, *threads, *device;
  cli_pairs in, sizes;
  cli_graph s;
  rt_context *context;
  const ir_parsed_graph *block; /* that is made smaller */
} check;

/* Compiles, runs and compares. The exit status; what is to be said is appended. */
static int compare(check *x, const ir_parsed_graph *block, ir_text *out) {
  cli_binding inputs = {0};
  cli_buffers buffers = {0};
  rt_program *program = NULL;
  char why[CLI_WHY];
  ir_ref results = cli_graph_results(&x->s, block);
  if (!results) return CLI_BAD_INPUT;
  int status = cli_bind_seeded(&x->s, block, results, &x->in, &x->sizes, MOST_BYTES, &inputs, why);
  if (!status && *why) {
    fprintf(stderr, "viewfold check: graph @%s: %s\n", block->name, why);
    status = CLI_BAD_INPUT;
  }
  if (!status) {
    fe_request request = cli_request(&x->s, block, results, &inputs);
    if (fe_compile(x->context, &request, &program, &x->s.error) == IR_OK &&
        cli_buffers_open(&buffers, program, block, &inputs, &x->s.error) == IR_OK)
      rt_program_run(program, buffers.in, buffers.out, inputs.values, &x->s.error);
    status = x->s.error.status ? cli_failure("check", &x->s.error)
                               : cli_check(&x->s, x->context, block, results, &inputs, buffers.outputs, out);
  }
  cli_buffers_close(&buffers);
  rt_program_release(program);
  cli_binding_free(&inputs);
  ir_error_clear(&x->s.error);
  return status;
}

/* The block with this one result. */
static ir_parsed_graph block_of(const check *x, const check_graph *g, ir_named *result) {
  ir_parsed_graph block = *x->block;
  *result = (ir_named){.name = "y", .length = 1, .ref = g->result};
  block.params = g->params;
  block.param_count = g->count;
  block.results = result;
  block.result_count = 1;
  return block;
}

static bool differs(void *user, const check_graph *g) {
  check *x = user;
  ir_named result;
  ir_parsed_graph block = block_of(x, g, &result);
  ir_text ignored;
  ir_text_init(&ignored, &ir_mem_libc);
  int status = compare(x, &block, &ignored);
  ir_text_free(&ignored);
  return status == CLI_CHECK_FAILED;
}

/* Each result by itself, until one still differs alone. */
static void put_smallest(check *x, ir_text *out) {
  const ir_parsed_graph *from = x->block;
  check_graph g = {0};
  if (!IR_RESERVE(&ir_mem_libc, g.params, g.cap, from->param_count + 1)) return;
  bool found = false;
  for (size_t i = 0; i < from->result_count && !found; i++) {
    if (from->param_count) memcpy(g.params, from->params, from->param_count * sizeof *g.params);
    g.count = from->param_count;
    g.result = from->results[i].ref;
    found = differs(x, &g);
  }
  if (found && check_shrink(&x->s.g, &g, differs, x)) {
    ir_named result;
    ir_parsed_graph block = block_of(x, &g, &result);
    ir_text_str(out, "\nthe smallest graph that differs on made-up inputs:\n\n");
    ir_print_parsed(&x->s.g, &block, out);
  } else {
    ir_text_str(out, "no result differs when it is computed alone\n");
  }
  ir_free(&ir_mem_libc, g.params, g.cap * sizeof *g.params);
}

static int check_all(check *x) {
  int worst = CLI_OK;
  const ir_parsed_graph *only = x->name ? cli_graph_pick(&x->s, x->word, x->name) : NULL;
  if (x->name && !only) return CLI_BAD_INPUT;
  for (size_t i = 0; i < x->s.module.count && worst <= CLI_CHECK_FAILED; i++) {
    const ir_parsed_graph *block = &x->s.module.graphs[i];
    ir_text out;
    if (block->kind != IR_BLOCK_GRAPH || (only ? block != only : block->called)) continue;
    ir_text_init(&out, &ir_mem_libc);
    int status = compare(x, block, &out);
    x->block = block;
    if (status == CLI_CHECK_FAILED) put_smallest(x, &out);
    if (status > worst) worst = status;
    if (out.len) fputs(ir_text_get(&out), stdout);
    ir_text_free(&out);
  }
  return worst;
}

static int run(check *x) {
  rt_options options;
  ir_error error = {0};
  int status = cli_context_options("check", x->threads, x->device, &options);
  if (status) return status;
  cli_work_show();
  if (rt_context_create(&ir_mem_libc, &options, &x->context, &error) != IR_OK)
    return cli_failure("check", &error);
  status = cli_graph_open(&x->s, "check", x->word, false, &x->in);
  if (!status) status = check_all(x);
  cli_work_hide();
  return status;
}

int cli_check_command(int argc, char **argv) {
  check x = {0};
  x.s.module.mem = x.s.g.mem = &ir_mem_libc;
  const cli_option options[] = {{"--graph", "a name", cli_last, &x.name},
                                {"--in", "NAME=VALUE", cli_pairs_add, &x.in},
                                {"--size", "NAME=VALUE", cli_pairs_add, &x.sizes},
                                {"--threads", "a number", cli_last, &x.threads},
                                {"--device", "a device", cli_last, &x.device}};
  int status = cli_read_word(help_text, options, sizeof options / sizeof *options, &x.word,
                             "one file at a time, found '%s' as well", argc, argv);
  if (status == CLI_END && !x.word)
    status = cli_usage("check", "no file given; for example: viewfold check blur.vf");
  if (status == CLI_END) status = run(&x);
  rt_context_destroy(x.context);
  cli_graph_close(&x.s);
  cli_pairs_free(&x.in);
  cli_pairs_free(&x.sizes);
  return status;
}
