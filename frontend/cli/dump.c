/* `viewfold dump`: prints a graph at a stage of compilation. */
#include <stdio.h>
#include <string.h>

#include "frontend/cli/bind.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/mesh/auto.h"
#include "frontend/cli/options.h"
#include "frontend/cli/pass.h"
#include "frontend/cli/progress.h"
#include "frontend/report/dump.h"
#include "frontend/text/loop_schedule.h"
#include "frontend/text/nearest.h"

static bool is_step(size_t i) { return strcmp(pass_table[i].name, pass_table[i].pass) != 0; }

static void help(void) {
  fputs("Usage: viewfold dump --stage=STAGE [OPTIONS] FILE.vf|CHAIN\n"
        "       viewfold dump --print-after=PASS|all [OPTIONS] FILE.vf|CHAIN\n"
        "\n"
        "Prints a graph as it stands at a stage of compilation. Nothing is run. FILE.vf `-` is standard "
        "input.\n"
        "\n"
        "  $ viewfold dump --stage=index 'f32[3,2].permute(1,0)'\n"
        "  index @chain_0(p0: f32[6], p1: f32[6]) {\n"
        "    range ridx0 in 0..2\n"
        "    range ridx1 in 0..3\n"
        "    %0 = load p1[(ridx0+(ridx1*2))] : f32\n"
        "    store p0[((ridx0*3)+ridx1)] = %0\n"
        "  }\n"
        "\n"
        "Stages:\n",
        stdout);
  for (int i = 0; i < FE_STAGES; i++) printf("  %-8s %s\n", fe_stage_table[i].name, fe_stage_table[i].says);
  static const char *const machines[] = {[PASS_CPU] = "cpu", [PASS_GPU] = "gpu", [PASS_BOTH] = ""};
  fputs("\nPasses, in order (for which devices, if not for all, and what each leaves):\n", stdout);
  for (size_t i = 0; i < pass_count; i++)
    printf("  %s%-*s %-3s  %s\n", is_step(i) ? "  " : "", is_step(i) ? 11 : 13, pass_table[i].name,
           machines[pass_table[i].machines], pass_table[i].establishes);
  fputs("Indented ones are steps of the pass that follows them.\n", stdout);
  fputs(
      "\n"
      "Options:\n"
      "  --graph NAME       this graph of the file; otherwise all that no other calls\n"
      "  --target SETTINGS  compile for another machine: `name=value` settings separated by blanks, such as\n"
      "                     'vector_bytes=32 registers=16'; the machine's own are in `viewfold devices`\n"
      "  --device DEVICE    compile for this one; as for `viewfold run`\n"
      "  --schedule FILE    shape loops as this says, in the form of the lines `# kernel ...` of "
      "--stage=loops\n"
      "  --in NAME=VALUE    the value of a model's input that the importer must know, such as a shape\n"
      "  --auto             of a graph on a mesh: choose how open values are divided, with the least "
      "predicted time\n"
      "  --trace-rules      show each rewrite of an index expression on standard error: its number, the rule "
      "or\n"
      "                     function, before => after\n"
      "\n"
      "Exit status: 0; 2 when the input is wrong; 3 when it cannot be compiled.\n",
      stdout);
}

typedef struct dump {
  cli_graph s;
  fe_dump_options options;
  rt_context *context;
  ir_text out, schedule;
  cli_pairs *given;
  const char *choose; /* --auto */
} dump;

/* d->out holds the text that was made before a failure too. */
static int one_graph(dump *d, const ir_parsed_graph *block) {
  int chosen = d->choose ? cli_mesh_auto(&d->s, d->context, block, NULL) : CLI_OK;
  if (chosen) return chosen;
  d->options.statements = d->s.statements;
  ir_status status = fe_dump(&d->s.g, block, &d->options, &d->out, &d->s.error);
  return status ? cli_failure("dump", &d->s.error) : CLI_OK;
}

static int all_graphs(dump *d, const char *word, const char *name) {
  bool as_read = !d->options.after && d->options.stage == FE_STAGE_GRAPH;
  if (name) {
    const ir_parsed_graph *block = cli_graph_pick(&d->s, word, name);
    return block ? one_graph(d, block) : CLI_BAD_INPUT;
  }
  int status = CLI_OK;
  for (size_t i = 0; i < d->s.module.count && !status; i++) {
    const ir_parsed_graph *block = &d->s.module.graphs[i];
    if (block->called) continue; /* it is printed with the graphs that call it */
    if (block->kind == IR_BLOCK_GRAPH || as_read) status = one_graph(d, block);
  }
  return status;
}

static int dump_all(dump *d, const char *word, const char *name, bool trace) {
  ir_text_init(&d->out, &ir_mem_libc);
  int status = cli_graph_no_values("dump", word, d->given);
  if (status) return status;
  status = cli_graph_open(&d->s, "dump", word, trace, d->given);
  d->options.observer = fe_watch_observer(&d->s.watch);
  cli_work_show();
  if (!status) status = all_graphs(d, word, name);
  cli_work_hide();
  if (d->out.len) fwrite(d->out.data, 1, d->out.len, stdout);
  ir_text_free(&d->out);
  cli_graph_close(&d->s);
  return status;
}

static int find_stage(const char *word, fe_dump_options *out) {
  const char *names[FE_STAGES];
  ir_error error = {0};
  if (fe_stage_find(word, out, &error) == IR_OK) return CLI_OK;
  if (error.status != IR_ERR_INVALID) return cli_failure("dump", &error);
  for (int i = 0; i < FE_STAGES; i++) names[i] = fe_stage_table[i].name;
  const char *near = fe_nearest(word, strlen(word), names, FE_STAGES);
  char all[200] = "";
  size_t at = 0;
  for (int i = 0; i < FE_STAGES && at < sizeof all; i++)
    at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", i ? ", " : "", names[i]);
  return cli_usage("dump", "unknown stage '%s'; %s%s%she stages are %s", word, near ? "did you mean " : "",
                   near ? near : "", near ? "? T" : "t", all);
}

static int check_pass(const char *word) {
  return strcmp(word, "all") == 0 || cli_find_pass("dump", word) ? CLI_OK : CLI_BAD_INPUT;
}

/* The stages llvm and asm show kernels of the processor, also where VIEWFOLD_DEVICE names another device. */
static int choose_device(fe_stage stage, const char **device) {
  if (stage != FE_STAGE_LLVM && stage != FE_STAGE_ASM) return CLI_OK;
  if (*device && strcmp(*device, "cpu") != 0)
    return cli_usage(
        "dump",
        "--stage=%s is of the processor's kernels, found device '%s'; --stage=opencl shows those of OpenCL "
        "devices",
        fe_stage_table[stage].name, *device);
  *device = "cpu";
  return CLI_OK;
}

static int dump_command(int argc, char **argv, cli_pairs *given) {
  const char *word = NULL, *stage = NULL, *after = NULL, *name = NULL, *target = NULL, *device = NULL,
             *schedule = NULL, *trace = NULL, *choose = NULL;
  const cli_option options[] = {{"--stage",
                                 "graph, shard, spmd, rank:N, kernels, index, loops, llvm, asm, opencl, c",
                                 cli_last, &stage},
                                {"--print-after", "a pass, or all", cli_last, &after},
                                {"--graph", "a name", cli_last, &name},
                                {"--target", "settings", cli_last, &target},
                                {"--device", "a device", cli_last, &device},
                                {"--schedule", "a file", cli_last, &schedule},
                                {"--in", "NAME=VALUE", cli_pairs_add, given},
                                {"--auto", NULL, cli_last, &choose},
                                {"--trace-rules", NULL, cli_last, &trace}};
  const cli_syntax syntax = {.put_help = help,
                             .options = options,
                             .option_count = sizeof options / sizeof *options,
                             .words = &word,
                             .most = 1,
                             .more = "one file at a time, found '%s' as well"};
  int status = cli_read(&syntax, argc, argv);
  if (status != CLI_END) return status;
  if (!stage == !after)
    return cli_usage("dump", "exactly one of --stage and --print-after is needed, as in --stage=kernels");
  dump d = {.options = {.after = after}, .given = given, .choose = choose};
  status = stage ? find_stage(stage, &d.options) : check_pass(after);
  rt_options settings;
  if (!status) status = choose_device(d.options.stage, &device);
  if (!status) status = cli_context_options("dump", NULL, device, &settings);
  if (status) return status;
  if (!word) return cli_usage("dump", "no file given; for example: viewfold dump --stage=loops blur.vf");
  ir_error error = {0};
  settings.target = target;
  if (rt_context_create(&ir_mem_libc, &settings, &d.context, &error) == IR_OK)
    d.options.target = rt_context_target(d.context, &error);
  if (!d.options.target) {
    rt_context_destroy(d.context);
    return cli_failure("dump", &error);
  }
  d.options.module = rt_context_codegen(d.context);
  d.options.context = d.context;
  ir_text_init(&d.schedule, &ir_mem_libc);
  if (schedule && fe_schedule_load(schedule, &d.schedule, &error) != IR_OK)
    status = cli_failure("dump", &error);
  if (schedule) d.options.schedule = ir_text_get(&d.schedule);
  if (!status) status = dump_all(&d, word, name, trace != NULL);
  ir_text_free(&d.schedule);
  rt_context_destroy(d.context);
  return status;
}

int cli_dump(int argc, char **argv) {
  cli_pairs given = {0};
  int status = dump_command(argc, argv, &given);
  cli_pairs_free(&given);
  return status;
}
