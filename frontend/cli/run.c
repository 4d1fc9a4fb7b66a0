/* `viewfold run`: compiles a graph of a file and runs it on arrays.
 *
 * Only the graph and its inputs are read before the cache is searched. Either all output files are written or
 * none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/arrays.h"
#include "frontend/cli/buffers.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/files.h"
#include "frontend/cli/options.h"
#include "frontend/cli/explain/profile.h"
#include "frontend/cli/progress.h"
#include "frontend/cli/mesh/auto.h"
#include "frontend/cli/mesh/part_files.h"
#include "frontend/cli/mesh/processes.h"
#include "frontend/cli/mesh/run.h"
#include "frontend/cli/test_data.h"
#include "frontend/cli/trace.h"
#include "frontend/profile/profile.h"
#include "frontend/report/summary.h"
#include "frontend/report/times.h"
#include "frontend/text/loop_schedule.h"

enum { MOST_TIMES = 1 << 16, LEAST_RUNS = 3, MEASURED_NS = 200000000 };

static const char help_text[] =
    "Usage: viewfold run FILE.vf|MODEL.onnx [--in NAME=VALUE]... [--out NAME=FILE.npy]... [OPTIONS]\n"
    "\n"
    "Compiles a graph, or takes it compiled from the cache, and runs it. FILE.vf holds graphs as text:\n"
    "\n"
    "  graph @blur(%x: f32[480,640]) {\n"
    "    %p = pad %x pads=[[1,1],[0,0]]\n"
    "    %a = shrink %p bounds=[[0,480],[0,640]]\n"
    "    %b = shrink %p bounds=[[2,482],[0,640]]\n"
    "    %s = add %a, %b\n"
    "    %h = mul %s, 0.5\n"
    "    return %h\n"
    "  }\n"
    "\n"
    "  $ viewfold run blur.vf --in x=x.npy --out h=h.npy\n"
    "\n"
    "Results that are not written are summarised on standard output: all elements of a small array, "
    "otherwise minimum,\n"
    "maximum, mean and the first elements. `-` reads the graph from standard input; a chain expression such "
    "as\n"
    "'f32[3,2].permute(1,0)' stands for a graph with parameter x and result y.\n"
    "\n"
    "Constants of a graph may be in files beside it, of safetensors, .npz, .npy or GGUF; they are mapped:\n"
    "\n"
    "  %w = data file=\"w.safetensors\" name=\"encoder.weight\"\n"
    "\n"
    "Options:\n"
    "  --in NAME=VALUE     the parameter's value: a .npy file of its dtype and shape, an array of another "
    "file, as\n"
    "                      x.npz:NAME, x.safetensors:NAME or x.gguf:NAME, or the array itself, as in --in "
    "s=3.5 or\n"
    "                      --in 'x=[[1,2],[3,4]]'. Sizes that are variables follow from the shapes given\n"
    "  --out NAME=FILE     write this value as .npy, a result or any other that the graph names; either all "
    "files are\n"
    "                      written or none. `-` is standard output; all\n"
    "                      else that is said then goes to standard error\n"
    "  --size NAME=VALUE   the value of a size variable that no input tells\n"
    "  --graph NAME        which graph, if the file holds several\n"
    "  --check [FOLDER]    FOLDER is test data of a model, of input_0.pb, ... and output_0.pb, ...: take the "
    "inputs, and\n"
    "                      compare with the outputs, within 1e-7 + 1e-3 of each. Without a folder, compare "
    "with "
    "the reference\n"
    "                      evaluator: bit by bit where no float sum is involved, "
    "otherwise\n"
    "                      within a tolerance that is printed. Slow; exit status 1 if they differ\n"
    "  --time              run repeatedly for 0.2 s and print a line of JSON: cold_ms from the start of the "
    "command to\n"
    "                      the first result, compile_ms of it for compiling (0: from the cache), ms the "
    "median and min_ms the\n"
    "                      fastest run after that, bytes of all buffers and flops of one run\n"
    "  --profile[=FORM]    run repeatedly for 0.2 s and print where the time goes: of each kernel time, "
    "share, bytes, "
    "operations,\n"
    "                      and how much of the machine's limit it reaches. FORM is text (the default), json, "
    "or trace, which\n"
    "                      Perfetto and speedscope open; of these two all else goes to standard error\n"
    "  --mesh AXES         run on a mesh of devices, as in x=2,y=4, or x=3:1 of weights: threads of this "
    "process, with --device "
    "opencl that\n"
    "                      device, or those named as in '[x=2] devices=[\"cpu\",\"opencl:0\"]'. Values are\n"
    "                      divided among them as specs in the text or --shard say, and results put together. "
    "With\n"
    "                      --time, \"collectives\" tells by kind how often devices exchanged parts, \"recv\" "
    "the "
    "bytes\n"
    "                      that one device received at most, and \"total\" those of all, in one run; "
    "\"comm_ms\" how\n"
    "                      long they were on their way, and \"hidden_ms\" how long of that the device "
    "computed\n"
    "  --shard NAME=SPEC   how a value is divided, as in h=[x,-]: axis 0 along x, axis 1 whole\n"
    "  --auto              choose how all other values are divided, with the least predicted time\n"
    "  --wire              hold messages back as latency and bandwidth of the mesh's axes in the text say\n"
    "  --schedule FILE     shape the kernels' loops as this says, in lines that `viewfold dump "
    "--stage=loops` prints\n"
    "  --device DEVICE     cpu (the default), c, opencl, opencl:N or opencl:PART OF NAME; see `viewfold "
    "devices`\n"
    "  --threads N         how many threads may be used\n"
    "  --target SETTINGS   compile for another machine, as `viewfold dump` does, if this one can run that "
    "code\n"
    "\n"
    "Environment: VIEWFOLD_CACHE_DIR where compiled kernels and packed weights are kept, "
    "VIEWFOLD_CACHE_BYTES how many\n"
    "bytes of them (256M); VIEWFOLD_COMPILE=0 fails instead of compiling,\n"
    "inprocess compiles without a process of its own; VIEWFOLD_COMPILE_SECONDS and VIEWFOLD_COMPILE_BYTES "
    "limit that one;\n"
    "VIEWFOLD_PRECISION=relaxed computes convolutions of 3 x 3 in fewer multiplications, with errors that "
    "are "
    "relative to\n"
    "the largest result, and products of bf16 by instructions that take subnormal numbers as zeros;\n"
    "VIEWFOLD_DEVICE and VIEWFOLD_THREADS in place of the options; VIEWFOLD_DEBUG=time tells on standard "
    "error how long each\n"
    "part of compiling took.\n"
    "\n"
    "Exit status: 0; 1 when --check finds a difference; 2 when the graph or the inputs are wrong, indices to "
    "gather out\n"
    "of range included; 3 when the graph cannot be compiled or the device fails.\n";

typedef struct runner {
  int64_t started;
  const char *word, *name, *device, *threads, *target, *schedule_file, *check, *time, *profile, *mesh, *wire,
      *choose;
  cli_pairs in, out, sizes, specs;
  fe_sharded sharded; /* with --mesh */
  cli_graph s;
  ir_parsed_graph *block;
  ir_ref results;
  cli_binding inputs;
  cli_test_data given, expected; /* of the folder of --check */
  rt_context *context;
  rt_program *program;
  cli_buffers buffers;
  cli_files files;           /* one for each --out */
  cli_part_files part_files; /* of these, with several processes: written by all */
  FILE *says;                /* for other output: standard output, unless an array goes there */
  bool speaks;               /* this process writes results, and says what they are */
  ir_text schedule;
  int64_t compile_ns, cold_ns;
  double *times;
  fe_times phases; /* of the compilation, where VIEWFOLD_DEBUG asks for them */
  bool wants_phases;
  unsigned watched; /* rt_watch.kinds */
} runner;

static int fail_run(runner *r) { return cli_failure("run", &r->s.error); }
static int no_memory(runner *r) {
  ir_fail(&r->s.error, IR_ERR_MEMORY, "out of memory");
  return fail_run(r);
}

/* Compiling. */

static int compile_graph(runner *r) {
  rt_options options;
  int status = cli_context_options("run", r->threads, r->device, &options);
  if (status) return status;
  options.target = r->target;
  options.timer = r->wants_phases ? &r->phases.timer : NULL;
  cli_work_show();
  fe_request request = cli_request(&r->s, r->block, r->results, &r->inputs);
  request.observer = fe_watch_observer(&r->s.watch);
  request.statements = r->s.statements;
  if (r->schedule_file) request.schedule = ir_text_get(&r->schedule);
  int64_t before = ir_now_ns();
  if (rt_context_create(&ir_mem_libc, &options, &r->context, &r->s.error) == IR_OK &&
      (!r->target || rt_context_runs_here(r->context, &r->s.error) == IR_OK) &&
      (!r->mesh || cli_processes_join(r->context, &r->s.error) == IR_OK)) {
    if (r->choose && (status = cli_mesh_auto(&r->s, r->context, r->block, NULL))) return status;
    if (!r->mesh) fe_compile(r->context, &request, &r->program, &r->s.error);
    else if (fe_sharded_make(r->context, &request, r->wire != NULL, &r->sharded, &r->s.error) == IR_OK)
      rt_program_retain(r->program = r->sharded.program);
  }
  cli_work_hide();
  if (r->s.error.status) return fail_run(r);
  r->compile_ns = rt_program_stats(r->program).compiled ? ir_now_ns() - before : 0;
  r->speaks = cli_process_speaks(r->context);
  return CLI_OK;
}

static ir_status cost_of(runner *r, rt_cost *out) {
  return r->mesh ? fe_sharded_cost(&r->sharded, r->inputs.values, out, &r->s.error)
                 : rt_program_cost(r->program, r->inputs.values, out, &r->s.error);
}

static void print_phases(runner *r) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  rt_cost cost;
  fe_times_print(&r->phases, &text);
  if (cost_of(r, &cost) == IR_OK)
    ir_textf(&text, "%lld bytes of memory for intermediates\n", (long long)cost.temp_bytes);
  fputs(ir_text_get(&text), stderr);
  ir_text_free(&text);
}

static size_t result_of(const runner *r, const cli_pair *pair) {
  size_t i = 0;
  while (i < r->buffers.output_count && !cli_is_called(pair, r->block->results[i].name)) i++;
  return i;
}

static int write_files(runner *r) {
  if (cli_part_files_agree(&r->part_files, &r->sharded, &r->s.error) != IR_OK) return fail_run(r);
  for (size_t i = 0; i < r->files.count; i++) {
    size_t result = result_of(r, &r->out.items[i]);
    const fe_array *a = &r->buffers.outputs[result];
    if (r->mesh && r->part_files.takes[result]) continue;
    if (fe_npy_put(&r->files.list[i], a->dtype, a->rank, a->shape, a->data, &r->s.error) != IR_OK)
      return fail_run(r);
  }
  return cli_files_commit(&r->files, &r->s.error) != IR_OK ? fail_run(r) : CLI_OK;
}

/* Running. */

static int run_once(runner *r) {
  fe_watched_run watched = {.program = r->program,
                            .kinds = r->watched,
                            .inputs = r->buffers.in,
                            .outputs = r->buffers.out,
                            .values = r->inputs.values};
  if (r->mesh)
    fe_sharded_run_taking(&r->sharded, r->buffers.in, r->buffers.out, r->inputs.values, &r->part_files.taker,
                          &r->s.error);
  else if (r->watched) cli_run_watched(&r->s, r->block, r->results, &r->inputs, &watched);
  else rt_program_run(r->program, r->buffers.in, r->buffers.out, r->inputs.values, &r->s.error);
  if (r->s.error.status == IR_ERR_RANGE) cli_blame_index(&r->s, r->block, r->results, &r->inputs);
  return r->s.error.status ? fail_run(r) : CLI_OK;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The processes of a mesh run as often as each other: as often as the slowest can in the time. */
static int runs_of_mesh(runner *r, size_t *most) {
  int64_t start = ir_now_ns();
  int status = run_once(r);
  int64_t longest = ir_now_ns() - start;
  if (!status && cli_processes_most(&r->sharded, &longest, &r->s.error) != IR_OK) status = fail_run(r);
  int64_t count = MEASURED_NS / (longest + 1);
  *most = count < LEAST_RUNS ? LEAST_RUNS : count < MOST_TIMES ? (size_t)count : MOST_TIMES;
  return status;
}

static int measure_runs(runner *r, size_t *count) {
  int64_t start = ir_now_ns(), before = start;
  r->times = malloc(MOST_TIMES * sizeof *r->times);
  if (!r->times) return no_memory(r);
  size_t most = MOST_TIMES, least = LEAST_RUNS;
  int status = r->mesh ? runs_of_mesh(r, &least) : CLI_OK;
  if (r->mesh) most = least;
  for (*count = 0; *count < most && !status && (*count < least || before - start < MEASURED_NS); ++*count) {
    status = run_once(r);
    if (status) break;
    int64_t after = ir_now_ns();
    r->times[*count] = (double)(after - before) * 1e-6;
    before = after;
  }
  qsort(r->times, *count, sizeof *r->times, ascending);
  return status;
}

static int print_times(runner *r) {
  size_t count = 0;
  rt_cost cost;
  int status = measure_runs(r, &count);
  if (status) return status;
  if (cost_of(r, &cost) != IR_OK) return fail_run(r);
  ir_text name, traffic;
  ir_text_init(&name, &ir_mem_libc);
  ir_text_init(&traffic, &ir_mem_libc);
  fe_put_json_string(r->block->name, &name);
  if (r->mesh) {
    ir_text_str(&traffic, ",");
    status = cli_mesh_count(&r->sharded, &r->buffers, &r->inputs, &r->part_files.taker, &traffic,
                            &r->s.error) != IR_OK
                 ? fail_run(r)
                 : CLI_OK;
  }
  if (!status && r->speaks)
    fprintf(r->says,
            "{\"graph\":%s,\"cold_ms\":%.3f,\"compile_ms\":%.3f,\"ms\":%.6f,\"min_ms\":%.6f,\"bytes\":%lld,"
            "\"flops\":%lld%s}\n",
            ir_text_get(&name), (double)r->cold_ns * 1e-6, (double)r->compile_ns * 1e-6, r->times[count / 2],
            r->times[0], (long long)cost.bytes, (long long)cost.flops, ir_text_get(&traffic));
  ir_text_free(&name);
  ir_text_free(&traffic);
  return status;
}

static int print_profile(runner *r, FILE *to) {
  const cli_profiled profiled = {r->context,      r->program,    &r->s.g,        r->block,
                                 r->s.statements, r->buffers.in, r->buffers.out, r->inputs.values};
  return cli_profile(&profiled, r->profile, to, &r->s.error) != IR_OK ? fail_run(r) : CLI_OK;
}

/* Print summaries of the results that are not written to files, then the findings of --check. */
static int print_report(runner *r) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  for (size_t i = 0; i < r->buffers.output_count; i++)
    if (!cli_pairs_find(&r->out, r->block->results[i].name))
      fe_summary(r->block->results[i].name, &r->buffers.outputs[i], &text);
  int status = CLI_OK;
  if (r->check && *r->check) {
    if (!cli_test_data_compare(&r->expected, r->block, r->buffers.outputs, &text, &r->s.error))
      status = r->s.error.status ? fail_run(r) : CLI_CHECK_FAILED;
  } else if (r->check) {
    cli_taps()->function = NULL; /* the run has shown them */
    status = cli_check(&r->s, r->context, r->block, r->results, &r->inputs, r->buffers.outputs, &text);
  }
  if (r->speaks) fputs(ir_text_get(&text), r->says);
  if (text.failed && !status) status = no_memory(r);
  ir_text_free(&text);
  return status;
}

/* The folder of --check, if it has one. */
static int open_test_data(runner *r) {
  ir_error error = {0};
  if (!r->check || !*r->check) return CLI_OK;
  if (cli_test_data_open(&r->given, r->check, "input", &error) != IR_OK ||
      cli_test_data_open(&r->expected, r->check, "output", &error) != IR_OK ||
      cli_test_data_inputs(&r->given, &r->in, &error) != IR_OK)
    return cli_failure("run", &error);
  return r->expected.count ? CLI_OK : cli_usage("run", "--check: %s holds no output_0.pb", r->check);
}

/* Results for values that --out names and the graph does not return; they stand before references. */
static int add_wanted(runner *r) {
  ir_parsed_graph *b = r->block;
  size_t room = b->result_count + r->out.count, at = 0;
  if (!IR_RESERVE(r->s.module.mem, b->results, b->result_cap, room)) return no_memory(r);
  while (at < b->result_count && !b->results[at].reference) at++;
  for (size_t i = 0; i < r->out.count; i++) {
    const cli_pair *pair = &r->out.items[i];
    if (cli_named(b->results, b->result_count, pair)) continue;
    const ir_defined *value = ir_defined_find(b, pair->name, pair->length);
    const ir_named *param = cli_named(b->params, b->param_count, pair);
    if (!value && !param) return cli_unknown_value("run", "--out", pair, &r->s.module, b);
    memmove(b->results + at + 1, b->results + at, (b->result_count++ - at) * sizeof *b->results);
    b->results[at++] = (ir_named){.name = value ? value->name : param->name,
                                  .length = pair->length,
                                  .ref = value ? value->ref : param->ref};
  }
  return CLI_OK;
}

/* Results that are compared are whole in each process. */
static int open_part_files(runner *r) {
  static const cli_pairs none;
  if (cli_part_files_open(&r->part_files, &r->sharded, r->block, r->check ? &none : &r->out, &r->files,
                          r->buffers.outputs, &r->s.error) != IR_OK ||
      cli_mesh_fill(&r->buffers, r->block, &r->inputs, r->part_files.takes, &r->s.error) != IR_OK)
    return fail_run(r);
  return CLI_OK;
}

static int run_command(runner *r) {
  bool machine_form = r->profile && *r->profile && strcmp(r->profile, "text") != 0;
  if (r->profile && cli_profile_check(r->profile)) return CLI_BAD_INPUT;
  r->says = cli_files_claim_stdout(&r->out) || machine_form ? stderr : stdout;
  int64_t start = ir_now_ns();
  int status = open_test_data(r);
  if (!status) status = cli_graph_open(&r->s, "run", r->word, false, &r->in);
  if (r->wants_phases) ir_timer_lap(&r->phases.timer, &start, "read", -1, NULL);
  if (!status) status = cli_files_apart("run", &r->out, &r->in, r->word);
  if (status) return status;
  r->block = cli_graph_pick(&r->s, r->word, r->name);
  if (!r->block || (status = add_wanted(r))) return status ? status : CLI_BAD_INPUT;
  status =
      cli_pairs_check(&r->out, "run", "--out", r->block->results, r->block->result_count, r->block, "value");
  if (!status && !(r->results = cli_graph_results(&r->s, r->block))) status = CLI_BAD_INPUT;
  if (!status && r->schedule_file && fe_schedule_load(r->schedule_file, &r->schedule, &r->s.error) != IR_OK) {
    if (r->s.error.status == IR_ERR_IO) cli_error_add(&r->s.error, "; --schedule takes a file");
    status = fail_run(r);
  }
  if (!status && r->mesh) status = cli_mesh_declare(&r->s, r->block, r->mesh, &r->specs);
  if (!status)
    status =
        (r->mesh ? cli_bind_mapped : cli_bind)(&r->s, r->block, r->results, &r->in, &r->sizes, &r->inputs);
  if (!status) status = compile_graph(r);
  if (!status && r->wants_phases) print_phases(r);
  if (!status &&
      (r->mesh ? cli_mesh_buffers(&r->buffers, &r->sharded, r->block, &r->inputs, &r->s.error)
               : cli_buffers_open(&r->buffers, r->program, r->block, &r->inputs, &r->s.error)) != IR_OK)
    status = fail_run(r);
  if (!status && r->speaks) status = cli_files_open(&r->files, "run", &r->out, &r->s.error);
  if (!status && r->mesh) status = open_part_files(r);
  cli_work_show();
  if (!status) status = run_once(r);
  cli_work_hide();
  r->cold_ns = ir_now_ns() - r->started;
  if (!status && cli_binding_check(&r->inputs, &r->s.error) != IR_OK) status = fail_run(r);
  r->part_files.taker.take = NULL; /* later runs are measured */
  if (!status) status = print_report(r);
  int written = status == CLI_OK || status == CLI_CHECK_FAILED ? write_files(r) : CLI_OK;
  if (!status) status = written;
  if (!status && r->time) status = print_times(r);
  if (!status && r->profile) status = print_profile(r, machine_form ? stdout : r->says);
  return status;
}

static void close_all(runner *r) {
  cli_part_files_close(&r->part_files);
  cli_files_close(&r->files);
  cli_buffers_close(&r->buffers);
  free(r->times);
  ir_text_free(&r->schedule);
  rt_program_release(r->program);
  fe_sharded_free(&r->sharded);
  rt_context_destroy(r->context);
  if (r->wants_phases) fe_times_free(&r->phases);
  cli_binding_free(&r->inputs);
  cli_graph_close(&r->s);
  cli_test_data_close(&r->given);
  cli_test_data_close(&r->expected);
  cli_pairs_free(&r->in);
  cli_pairs_free(&r->out);
  cli_pairs_free(&r->sizes);
  cli_pairs_free(&r->specs);
}

/* CLI_END when everything was read and there is a graph to run; otherwise the exit status. */
static int read_options(runner *r, int argc, char **argv) {
  const cli_option options[] = {{"--in", "NAME=VALUE", cli_pairs_add, &r->in},
                                {"--out", "NAME=FILE", cli_pairs_add, &r->out},
                                {"--size", "NAME=VALUE", cli_pairs_add, &r->sizes},
                                {"--graph", "a name", cli_last, &r->name},
                                {"--device", "a device", cli_last, &r->device},
                                {"--threads", "a number", cli_last, &r->threads},
                                {"--target", "settings", cli_last, &r->target},
                                {"--mesh", "axes", cli_last, &r->mesh},
                                {"--shard", "NAME=SPEC", cli_pairs_add, &r->specs},
                                {"--wire", NULL, cli_last, &r->wire},
                                {"--auto", NULL, cli_last, &r->choose},
                                {"--schedule", "a file", cli_last, &r->schedule_file},
                                {"--check", "[a folder]", cli_last, &r->check},
                                {"--time", NULL, cli_last, &r->time},
                                {"--profile", "[a form]", cli_last, &r->profile}};
  int status = cli_read_word(
      help_text, options, sizeof options / sizeof *options, &r->word,
      "one graph at a time, found '%s' as well; arrays are given by name, as in --in x=x.npy", argc, argv);
  if (status != CLI_END) return status;
  if (r->mesh && r->profile) return cli_usage("run", "--profile: takes one device; leave out --mesh");
  if (!r->mesh && (r->specs.count || r->wire || r->choose))
    return cli_usage("run", "--%s takes a mesh; for example: --mesh x=2,y=4",
                     r->wire     ? "wire"
                     : r->choose ? "auto"
                                 : "shard");
  return r->word ? CLI_END
                 : cli_usage("run",
                             "no file given; for example: viewfold run blur.vf --in x=x.npy --out h=h.npy");
}

int cli_run(int argc, char **argv) {
  runner r = {.started = ir_now_ns()};
  r.s.module.mem = r.s.g.mem = &ir_mem_libc;
  ir_text_init(&r.schedule, &ir_mem_libc);
  int status = read_options(&r, argc, argv);
  fe_debug debug = {0};
  if (status == CLI_END && cli_debug("run", &debug) != CLI_OK) status = CLI_BAD_INPUT;
  r.watched = (debug.nan ? RT_WATCH_NAN : 0) | (debug.inf ? RT_WATCH_INF : 0);
  r.wants_phases = debug.time && fe_times_init(&r.phases, &ir_mem_libc);
  if (status == CLI_END) status = run_command(&r);
  close_all(&r);
  return status;
}
