/* `viewfold explain`: why kernels are what they are, and how fast they run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/explain/explain.h"
#include "frontend/cli/bench/settings.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/mesh/auto.h"
#include "frontend/cli/mesh/processes.h"
#include "frontend/cli/options.h"
#include "frontend/cli/progress.h"
#include "frontend/machine/hosts.h"
#include "frontend/report/dump.h"
#include "runtime/cpu/target.h"

static const char help_text[] =
    "Usage: viewfold explain [OPTIONS] FILE.vf|CHAIN\n"
    "\n"
    "Where the sizes are known and the arrays fit, the graph is run, and a table says of each kernel, the "
    "dearest\n"
    "first, how long it took, how long its code should take (expected), the least time that this machine "
    "could take\n"
    "(limit), what that is bound by, and what would help most. --kernel N says what is behind row N, "
    "--kernel all\n"
    "what is behind all of them. A graph that is not run has no table, but all that is known of its "
    "kernels.\n"
    "\n"
    "Behind a row are: what the kernel computes, why it is a kernel of its own, what was fused into it, how "
    "many\n"
    "bytes it moves, how its loops run, which divisions and masks are left in them and where, what a copy of "
    "a view\n"
    "that is read often would cost and save, what prevents more vector lanes or threads, and three times: "
    "`limit`,\n"
    "`expects`, and `took`, the median of the runs. Of each reference that the graph changes it says what "
    "reads and\n"
    "writes it where, and what was ordered or saved for that. The last line says how much memory a run "
    "needs.\n"
    "\n"
    "What the machine can do is measured once (see `viewfold devices`). What takes more than 10 s at the "
    "least is\n"
    "not run. FILE.vf `-` is standard input. `viewfold index --explain CHAIN` explains an index.\n"
    "\n"
    "Options:\n"
    "  --graph NAME       this graph of the file; otherwise all that no other calls\n"
    "  --kernel N         what is behind row N of the table; `all`: behind all of them\n"
    "  --mesh             of a graph on a mesh: every collective, with the bytes that a device receives at "
    "most, "
    "those\n"
    "                     that all receive and the most that a device holds, under what asks for it; nothing "
    "is "
    "run\n"
    "  --no-run           run and measure nothing\n"
    "  --code FORM        also what the machine code does in each iteration of each loop, for x86-64; as "
    "text "
    "with\n"
    "                     what is behind the rows, or as JSON alone, a line for each kernel\n"
    "  --in NAME=VALUE    a parameter's value, as for `viewfold run`; others are made up\n"
    "  --size NAME=VALUE  the value of a size variable that no input tells\n"
    "  --threads N        how many threads may be used\n"
    "  --device DEVICE    as for `viewfold run`\n"
    "  --target SETTINGS  compile for another machine, as `viewfold dump` does; nothing is run then\n"
    "\n"
    "Exit status: 0; 2 when the input is wrong; 3 when it cannot be compiled.\n";

typedef struct explainer {
  const char *word, *name, *mesh, *choose, *no_run, *code, *threads, *settings, *device;
  const char *kernel; /* whose details are asked for: its number, or "all"; NULL: those of all, where no table
                         can be made */
  size_t only;        /* its number; FE_NO_KERNEL: all */
  bool found;         /* a graph has it */
  cli_pairs in, sizes;
  cli_graph s;
  rt_context *context;
  fe_hosts hosts; /* of the devices of a mesh */
  bool silent;    /* another process says it */
  ir_target target;
  ir_text out;
} explainer;

/* The first line of the details, the table, and all other details. */
static void put_all(explain_run *run, const ir_text *details, bool table, ir_text *out) {
  const char *text = ir_text_get(details);
  size_t first = strcspn(text, "\n");
  table &= run->row_count > 0;
  if (out->len) ir_text_str(out, "\n");
  ir_text_add(out, text, first);
  ir_text_str(out, table ? "\n\n" : "");
  if (table) explain_run_table(run, out);
  if (table && details->len > first) first++; /* the table ends its line */
  ir_text_add(out, text + first, details->len - first);
  explain_run_memory(run, out);
}

/* The one kernel, where this graph has it. */
static void put_one(const ir_text *details, explainer *x) {
  size_t first = strcspn(ir_text_get(details), "\n") + 1; /* which is about the graph */
  if (details->len <= first) return;
  if (x->out.len) ir_text_str(&x->out, "\n");
  ir_text_add(&x->out, ir_text_get(details), details->len);
  x->found = true;
}

static int explain_one(explainer *x, const ir_parsed_graph *block) {
  static const size_t none = FE_NO_KERNEL;
  explain_run run = {.context = x->context, .in = &x->in, .sizes = &x->sizes};
  fe_dump_options options = {.stage = FE_STAGE_KERNELS,
                             .target = &x->target,
                             .context = x->settings ? NULL : x->context,
                             .why = true,
                             .module = x->code ? rt_context_codegen(x->context) : NULL,
                             .statements = x->s.statements,
                             .explain_callback = explain_run_more,
                             .explain_user = &run};
  int status = x->no_run || x->settings ? CLI_OK : explain_run_open(&run, &x->s, block);
  bool one = x->only != FE_NO_KERNEL, table = run.ns && run.known && !one;
  if (one) options.only = &x->only;
  else if (table && !x->kernel) options.only = &none;
  ir_text details, code;
  ir_text_init(&details, &ir_mem_libc), ir_text_init(&code, &ir_mem_libc);
  bool json = x->code && !strcmp(x->code, "json");
  if (json) options.code = &code;
  if (!status && fe_dump(&x->s.g, block, &options, &details, &x->s.error) != IR_OK)
    status = cli_failure("explain", &x->s.error);
  if (!status && json) ir_text_add(&x->out, ir_text_get(&code), code.len), x->found = true;
  else if (!status && one) put_one(&details, x);
  else if (!status) put_all(&run, &details, table, &x->out);
  ir_text_free(&details), ir_text_free(&code);
  explain_run_close(&run);
  return status;
}

/* What moves between the devices of a mesh. */
static int explain_mesh(explainer *x, const ir_parsed_graph *block) {
  fe_dump_options options = {.stage = FE_STAGE_SHARD, .context = x->context, .why = true, .hosts = &x->hosts};
  ir_text predicted;
  ir_text_init(&predicted, x->s.g.mem);
  int status = x->choose ? cli_mesh_auto(&x->s, x->context, block, &predicted) : CLI_OK;
  if (!status && fe_dump(&x->s.g, block, &options, &x->out, &x->s.error) != IR_OK)
    status = cli_failure("explain", &x->s.error);
  if (!status) ir_text_add(&x->out, ir_text_get(&predicted), predicted.len);
  ir_text_free(&predicted);
  return status;
}

static int explain_all(explainer *x) {
  int status = CLI_OK;
  const ir_parsed_graph *only = x->name ? cli_graph_pick(&x->s, x->word, x->name) : NULL;
  if (x->name && !only) return CLI_BAD_INPUT;
  for (size_t i = 0; i < x->s.module.count && !status; i++) {
    const ir_parsed_graph *block = &x->s.module.graphs[i];
    if (block->kind != IR_BLOCK_GRAPH || (only ? block != only : block->called)) continue;
    status = x->mesh ? explain_mesh(x, block) : explain_one(x, block);
  }
  if (!status && x->only != FE_NO_KERNEL && !x->found)
    return cli_usage("explain", "--kernel: there is no kernel %zu; without it, the table lists them",
                     x->only);
  return status;
}

/* The graphs of the file, and what is printed of them. */
static int explain_file(explainer *x) {
  int status = cli_graph_open(&x->s, "explain", x->word, false, &x->in);
  if (!status) status = explain_all(x);
  return status;
}

/* The context is asked what messages cost (frontend/machine/mesh_costs.h); nothing is compiled. */
static int explain_on_mesh(explainer *x) {
  rt_options options;
  ir_error error = {0};
  int status = cli_context_options("explain", x->threads, x->device, &options);
  if (status) return status;
  if (rt_context_create(&ir_mem_libc, &options, &x->context, &error) != IR_OK ||
      cli_processes_join(x->context, &error) != IR_OK ||
      fe_hosts_find(x->context, "", &x->hosts, &error) != IR_OK)
    return cli_failure("explain", &error);
  x->silent = !cli_process_speaks(x->context);
  return explain_file(x);
}

static int explain(explainer *x) {
  rt_options options;
  ir_error error = {0};
  int status = cli_context_options("explain", x->threads, x->device, &options);
  if (status) return status;
  const ir_target *target = NULL;
  if (!x->no_run && !x->settings && bench_settings_ready(&options, &error) != IR_OK)
    return cli_failure("explain", &error);
  cli_work_show();
  if (rt_context_create(&ir_mem_libc, &options, &x->context, &error) == IR_OK)
    target = rt_context_target(x->context, &error);
  if (target) x->target = *target;
  if (!target || (x->settings && rt_target_override(&x->target, x->settings, &error) != IR_OK))
    return cli_failure("explain", &error);
  status = explain_file(x);
  cli_work_hide();
  return status;
}

/* CLI_END when there is something to explain; otherwise the exit status. */
static int read_options(explainer *x, int argc, char **argv) {
  const cli_option options[] = {{"--graph", "a name", cli_last, &x->name},
                                {"--no-run", NULL, cli_last, &x->no_run},
                                {"--code", "text or json", cli_last, &x->code},
                                {"--in", "NAME=VALUE", cli_pairs_add, &x->in},
                                {"--size", "NAME=VALUE", cli_pairs_add, &x->sizes},
                                {"--threads", "a number", cli_last, &x->threads},
                                {"--target", "settings", cli_last, &x->settings},
                                {"--device", "a device", cli_last, &x->device},
                                {"--kernel", "a number, or all", cli_last, &x->kernel},
                                {"--mesh", NULL, cli_last, &x->mesh},
                                {"--auto", NULL, cli_last, &x->choose}};
  int status = cli_read_word(help_text, options, sizeof options / sizeof *options, &x->word,
                             "one file at a time, found '%s' as well", argc, argv);
  if (status != CLI_END) return status;
  x->only = FE_NO_KERNEL;
  if (x->kernel && strcmp(x->kernel, "all") != 0) {
    char *end;
    unsigned long long number = strtoull(x->kernel, &end, 10);
    if (*x->kernel < '0' || *x->kernel > '9' || *end || number >= FE_NO_KERNEL)
      return cli_usage("explain", "--kernel takes the number of a kernel, or all, found '%s'", x->kernel);
    x->only = (size_t)number;
  }
  if (x->code && strcmp(x->code, "text") && strcmp(x->code, "json"))
    return cli_usage("explain", "--code takes text or json, found '%s'", x->code);
  if (x->choose && !x->mesh)
    return cli_usage("explain", "--auto: takes --mesh, of which it says what is predicted");
  return x->word ? CLI_END : cli_usage("explain", "no file given; for example: viewfold explain blur.vf");
}

int cli_explain(int argc, char **argv) {
  explainer x = {0};
  x.s.module.mem = x.s.g.mem = &ir_mem_libc;
  ir_text_init(&x.out, &ir_mem_libc);
  int status = read_options(&x, argc, argv);
  if (status == CLI_END) status = x.mesh ? explain_on_mesh(&x) : explain(&x);
  if (x.out.len && !x.silent) fwrite(x.out.data, 1, x.out.len, stdout);
  ir_text_free(&x.out);
  fe_hosts_free(&x.hosts);
  rt_context_destroy(x.context);
  cli_graph_close(&x.s);
  cli_pairs_free(&x.in);
  cli_pairs_free(&x.sizes);
  return status;
}
