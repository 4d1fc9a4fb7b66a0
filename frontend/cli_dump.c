/* `viewfold dump`: a graph as it stands at a stage of compilation. */
#include "frontend/cli_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli.h"
#include "frontend/cli_options.h"
#include "frontend/nearest.h"
#include "ir/print.h"
#include "runtime/kernel_key.h"
#include "runtime/target.h"

typedef enum stage { GRAPH, KERNELS, INDEX, LOOPS, LLVM, ASM, OPENCL, AFTER } stage;
enum { STAGES = AFTER, PASSES_MOST = 32 };
static const struct {
  const char *name, *says;
} stages[STAGES] = {
    {"graph", "the graph as it was read: operations, attributes, types"},
    {"kernels", "the kernels that it is grouped into: what each computes, fuses and reads"},
    {"index",
     "each kernel with its views folded away: one expression over ranges, with the index of every access"},
    {"loops", "each kernel as loops: order, lanes, unrolling, threads"},
    {"llvm", "LLVM IR of each kernel"},
    {"asm", "assembler of each kernel"},
    {"opencl", "OpenCL C of each kernel (not in this build)"},
};

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
  for (int i = 0; i < STAGES; i++) printf("  %-8s %s\n", stages[i].name, stages[i].says);
  fputs("\nPasses, in order (each with what it leaves):\n", stdout);
  for (size_t i = 0; i < pass_count; i++)
    printf("  %-10s %s\n", pass_table[i].name, pass_table[i].establishes);
  fputs(
      "\n"
      "Options:\n"
      "  --graph NAME       this graph of the file; otherwise all, one after the other\n"
      "  --target SETTINGS  compile for another machine: `name=value` settings separated by blanks, such as\n"
      "                     'vector_bytes=32 registers=16'; the machine's own are in `viewfold devices`\n"
      "\n"
      "Exit status: 0; 2 when the input is wrong; 3 when it cannot be compiled.\n",
      stdout);
}

typedef struct dump {
  cli_graph s;
  stage stage;
  const char *after; /* a pass, or "all" */
  ir_target target;
  ir_text out;
  const ir_parsed_graph *block;
  ir_plan plan;
  cli_kernels kernels;
} dump;

static void put_pass(dump *d, const char *pass, ir_ref root, int kernel) {
  char name[80];
  if (d->out.len) ir_text_str(&d->out, "\n");
  if (d->stage == AFTER) ir_textf(&d->out, "# after %s\n", pass);
  if (kernel >= 0) {
    snprintf(name, sizeof name, "%.60s_%d", d->block->name, kernel);
    ir_print_graph(&d->s.g, name, root, &d->out);
    return;
  }
  size_t count = d->block->result_count;
  ir_named *results = malloc(count * sizeof *results);
  for (size_t i = 0; results && i < count; i++) {
    results[i] = d->block->results[i];
    results[i].ref = ir_src(&d->s.g, root, (uint32_t)i);
  }
  if (results)
    ir_print_named(&d->s.g, d->block->name, d->block->name_length, d->block->params, d->block->param_count,
                   results, count, &d->out);
  free(results);
}

static void observe(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel) {
  dump *d = user;
  bool wanted = false;
  switch (d->stage) {
  case KERNELS:
    if (!cli_kernels_note(&d->kernels, pass, g, &d->plan, root, kernel)) d->out.failed = true;
    break;
  case INDEX: wanted = strcmp(pass, "fold") == 0; break;
  case LOOPS: wanted = strcmp(pass, "loops") == 0; break;
  case AFTER: wanted = strcmp(d->after, "all") == 0 || strcmp(pass, d->after) == 0; break;
  default: break;
  }
  if (wanted) put_pass(d, pass, root, kernel);
}

/* The kernel as the runtime compiles it: with the names that its code has in a debugger. */
static ir_status put_code(dump *d, rt_module *module, ir_ref kernel) {
  rt_kernel_key key;
  ir_graph g;
  ir_ref copy = 0;
  cg_blob text = {0};
  ir_error *error = &d->s.error;
  if (rt_kernel_key_make(&ir_mem_libc, &d->s.g, kernel, &key, error) != IR_OK) return error->status;
  if (ir_graph_init(&g, &ir_mem_libc, error) == IR_OK && rt_kernel_key_read(&key, &g, &copy, error) == IR_OK)
    rt_module_compile(module, &g, copy, key.symbol, &d->target, d->stage == LLVM ? CG_LLVM : CG_ASM, &text,
                      error);
  if (text.bytes) {
    if (d->out.len) ir_text_str(&d->out, "\n");
    ir_text_add(&d->out, text.bytes, text.size);
    cg_blob_free(&text);
  }
  ir_graph_free(&g);
  rt_kernel_key_free(&ir_mem_libc, &key);
  return error->status;
}

static ir_status put_all_code(dump *d) {
  rt_module module;
  if (rt_module_init(&module, &d->s.error) != IR_OK) return d->s.error.status;
  for (size_t i = 0; i < d->plan.launch_count && !d->s.error.status; i++)
    put_code(d, &module, d->plan.launches[i].kernel);
  rt_module_free(&module);
  return d->s.error.status;
}

/* One graph; what was made before a failure is printed all the same. */
static int one_graph(dump *d) {
  if (d->stage == GRAPH) {
    if (d->out.len) ir_text_str(&d->out, "\n");
    ir_print_parsed(&d->s.g, d->block, &d->out);
    return CLI_OK;
  }
  ir_ref results = cli_graph_results(&d->s, d->block);
  ir_ref *inputs = malloc((d->block->param_count + 1) * sizeof *inputs);
  if (!results || !inputs) {
    free(inputs);
    return CLI_DEVICE;
  }
  for (size_t i = 0; i < d->block->param_count; i++) inputs[i] = d->block->params[i].ref;
  pass_options options = {.target = &d->target,
                          .inputs = inputs,
                          .input_count = d->block->param_count,
                          .observer = observe,
                          .user = d,
                          .verify = true};
  ir_status status = pass_pipeline(&d->s.g, results, &options, &d->plan, &d->s.error);
  free(inputs);
  if (status == IR_OK) {
    if (d->stage == KERNELS && d->out.len) ir_text_str(&d->out, "\n");
    if (d->stage == KERNELS) cli_kernels_print(&d->kernels, &d->s.g, d->block, &d->plan, &d->out);
    if (d->stage == LLVM || d->stage == ASM) status = put_all_code(d);
    ir_plan_free(&d->plan);
  }
  cli_kernels_free(&d->kernels);
  return status ? cli_failure("dump", &d->s.error) : CLI_OK;
}

static int all_graphs(dump *d, const char *word, const char *name) {
  if (name) {
    d->block = cli_graph_pick(&d->s, word, name);
    return d->block ? one_graph(d) : CLI_BAD_INPUT;
  }
  int status = CLI_OK;
  for (size_t i = 0; i < d->s.module.count && !status; i++) {
    d->block = &d->s.module.graphs[i];
    if (d->block->kind == IR_BLOCK_GRAPH || d->stage == GRAPH) status = one_graph(d);
  }
  return status;
}

static int find_stage(const char *word, stage *out) {
  const char *names[STAGES];
  for (int i = 0; i < STAGES; i++) {
    names[i] = stages[i].name;
    if (strcmp(word, names[i]) == 0) {
      *out = (stage)i;
      return CLI_OK;
    }
  }
  const char *near = fe_nearest(word, strlen(word), names, STAGES);
  return cli_usage("dump", near ? "unknown stage '%s'; did you mean %s?" : "unknown stage '%s'", word, near);
}

static int check_pass(const char *word) {
  const char *names[PASSES_MOST] = {"all"};
  size_t count = 1;
  for (size_t i = 0; i < pass_count && count < PASSES_MOST; i++) names[count++] = pass_table[i].name;
  for (size_t i = 0; i < count; i++)
    if (strcmp(word, names[i]) == 0) return CLI_OK;
  const char *near = fe_nearest(word, strlen(word), names, count);
  return cli_usage("dump", near ? "unknown pass '%s'; did you mean %s?" : "unknown pass '%s'", word, near);
}

int cli_dump(int argc, char **argv) {
  enum { STAGE, PRINT_AFTER, NAME, TARGET, OPTIONS };
  static const cli_option options[OPTIONS] = {{"--stage", "graph, kernels, index, loops, llvm, asm"},
                                              {"--print-after", "a pass, or all"},
                                              {"--graph", "a name"},
                                              {"--target", "settings"}};
  const char *given[OPTIONS] = {NULL}, *word = NULL;
  cli_args args = {.argc = argc, .at = 1, .argv = argv, .options = options, .count = OPTIONS};
  for (int next; (next = cli_next(&args)) != CLI_END;) {
    if (next == CLI_WRONG) return CLI_BAD_INPUT;
    if (next == CLI_HELP) {
      help();
      return CLI_OK;
    }
    if (next >= 0) given[next] = args.value;
    else if (word) return cli_usage("dump", "one file at a time, found '%s' as well", args.value);
    else word = args.value;
  }
  dump d = {.stage = AFTER, .after = given[PRINT_AFTER]};
  if (!given[STAGE] == !given[PRINT_AFTER])
    return cli_usage("dump", "exactly one of --stage and --print-after is needed");
  int status = given[STAGE] ? find_stage(given[STAGE], &d.stage) : check_pass(d.after);
  if (status) return status;
  if (!word) return cli_usage("dump", "no file given; for example: viewfold dump --stage=loops blur.vf");
  if (d.stage == OPENCL) {
    fputs("viewfold dump: OpenCL is not in this build; the stages for the CPU end with llvm and asm\n",
          stderr);
    return CLI_DEVICE;
  }
  ir_error error = {0};
  if (rt_target_host(&d.target, &error) != IR_OK) return cli_failure("dump", &error);
  if (given[TARGET] && rt_target_override(&d.target, given[TARGET], &error) != IR_OK)
    return cli_failure("dump", &error);
  ir_text_init(&d.out, &ir_mem_libc);
  status = cli_graph_open(&d.s, "dump", word);
  if (!status) status = all_graphs(&d, word, given[NAME]);
  if (d.out.len) fwrite(d.out.data, 1, d.out.len, stdout);
  if (d.out.failed && !status) {
    ir_fail(&d.s.error, IR_ERR_MEMORY, "out of memory");
    status = cli_failure("dump", &d.s.error);
  }
  ir_text_free(&d.out);
  cli_graph_close(&d.s);
  return status;
}
