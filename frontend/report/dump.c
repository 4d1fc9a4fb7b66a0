/* Dumps: run the pipeline on a copy of the graph and print what it makes. */
#include "frontend/report/dump.h"

#include <string.h>

#include "frontend/api/compile.h"
#include "frontend/api/tuned.h"
#include "frontend/report/dump_code.h"
#include "frontend/report/dump_graph.h"
#include "frontend/report/dump_kernels.h"
#include "frontend/report/mesh/dump_shard.h"
#include "frontend/report/dump_steps.h"
#include "frontend/text/loop_schedule.h"
#include "ir/print/print.h"
#include "passes/batch/batch.h"
#include "passes/ops/ops.h"

const fe_stage_info fe_stage_table[FE_STAGES] = {
    [FE_STAGE_GRAPH] = {"graph", "the graph as it was read: operations, attributes, types"},
    [FE_STAGE_SHARD] = {"shard", "the graph with how each value is divided over the mesh, and what moves"},
    [FE_STAGE_SPMD] = {"spmd",
                       "the program that each device of the mesh runs on its parts; rank:N, that of one"},
    [FE_STAGE_KERNELS] = {"kernels",
                          "the kernels that it is grouped into: what each computes, fuses and reads"},
    [FE_STAGE_INDEX] = {"index", "each kernel with its views folded away: one expression over ranges, with "
                                 "the index of every access"},
    [FE_STAGE_LOOPS] = {"loops", "each kernel as loops: order, lanes, unrolling, threads"},
    [FE_STAGE_LLVM] = {"llvm", "LLVM IR of each kernel"},
    [FE_STAGE_ASM] = {"asm", "assembler of each kernel"},
    [FE_STAGE_OPENCL] = {"opencl", "OpenCL C of all kernels, as one program"},
    [FE_STAGE_C] = {"c", "C of all kernels, as one file"},
};

/* The pass after which a stage is printed; NULL: the stage is not the result of one pass. */
static const char *const pass_of_stage[FE_STAGES] = {[FE_STAGE_INDEX] = "index", [FE_STAGE_LOOPS] = "loops"};

/* `rank:N`; false where it is something else */
static bool find_rank(const char *name, fe_dump_options *options) {
  int64_t device = 0;
  if (strncmp(name, "rank:", 5) != 0 || !name[5] || strlen(name) > 5 + 7) return false;
  for (const char *c = name + 5; *c; c++) {
    if (*c < '0' || *c > '9') return false;
    device = device * 10 + (*c - '0');
  }
  options->stage = FE_STAGE_SPMD, options->one_device = true, options->device = device;
  return true;
}

ir_status fe_stage_find(const char *name, fe_dump_options *options, ir_error *error) {
  int s = 0;
  while (s < FE_STAGES && strcmp(fe_stage_table[s].name, name) != 0) s++;
  if (s == FE_STAGES && find_rank(name, options)) return IR_OK;
  options->stage = (fe_stage)s;
  if (s == FE_STAGES)
    return ir_fail(
        error, IR_ERR_INVALID,
        "dump: no stage '%.40s'; the stages are graph, shard, spmd, rank:N, kernels, index, loops, "
        "llvm, asm, opencl, c",
        name);
  return IR_OK;
}

typedef struct dump {
  const fe_dump_options *options;
  const ir_parsed_graph *block; /* for its names; its refs are of the original graph, */
  ir_graph *home;               /* which is this one */
  fe_copy copy;
  ir_plan plan;
  fe_kernels kernels;
  fe_schedule schedule;
  fe_tuned tuned;
  ir_text moves; /* of the current kernel */
  ir_text *out;
  ir_error *error;
} dump;

static void put_separator(ir_text *out) {
  if (out->len) ir_text_str(out, "\n");
}

/* what a pass leaves */

static void note_moves(void *user, uint32_t kernel, uint32_t nest, const char *moves) {
  dump *d = user;
  ir_textf(&d->moves, "# kernel %u nest %u:%s%s\n", kernel, nest, *moves ? " " : "", moves);
  d->out->failed |= d->moves.failed;
}

static const char *given_moves(void *user, uint32_t kernel, uint32_t nest) {
  dump *d = user;
  return d->options->schedule ? fe_schedule_moves(&d->schedule, kernel, nest)
                              : fe_tuned_moves(&d->tuned, nest);
}

static void find_tuned(void *user, uint32_t kernel, const ir_graph *g, ir_ref effect) {
  dump *d = user;
  (void)kernel;
  fe_tuned_enter(&d->tuned, g, effect);
}

static void refused_moves(void *user, uint32_t kernel, ir_error *error) {
  dump *d = user;
  if (d->options->schedule) fe_schedule_refused(&d->schedule, kernel, error);
}

static void put_pass(dump *d, const char *pass, ir_ref root, int kernel) {
  put_separator(d->out);
  if (d->options->after) ir_textf(d->out, "# after %s\n", pass);
  if (kernel < 0) {
    fe_put_graph(d->block, &d->copy, root, d->out);
    return;
  }
  fe_put_place(&d->plan, (size_t)kernel, d->out);
  if (strcmp(pass, "loops") == 0) { /* the kernel's moves, in the form of a schedule */
    if (d->moves.len) ir_text_add(d->out, d->moves.data, d->moves.len);
    d->moves.len = 0;
  }
  fe_put_kernel(d->block, &d->plan, &d->copy.graph, (size_t)kernel, root, d->out);
}

static void dump_pass(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel) {
  dump *d = user;
  const char *after = d->options->after, *wanted = after ? after : pass_of_stage[d->options->stage];
  if (wanted && (strcmp(wanted, pass) == 0 || (after && strcmp(after, "all") == 0)))
    put_pass(d, pass, root, kernel);
  if (!after && d->options->stage == FE_STAGE_KERNELS &&
      !fe_kernels_note(&d->kernels, pass, g, &d->plan, root, kernel))
    d->out->failed = true;
}

/* code */

/* Print the code of a kernel. */
static void put_code(dump *d, ir_ref kernel) {
  const ir_mem *mem = d->copy.graph.mem;
  rt_kernel_key key;
  ir_text text;
  if (rt_kernel_key_make(mem, &d->copy.graph, kernel, &key, d->error) != IR_OK) return;
  ir_text_init(&text, mem);
  if (fe_put_code(&key, mem, d->options->stage, d->options->target, d->options->module, &text, d->error) ==
      IR_OK) {
    put_separator(d->out);
    ir_text_add(d->out, ir_text_get(&text), text.len);
    d->out->failed |= text.failed;
  }
  ir_text_free(&text);
  rt_kernel_key_free(mem, &key);
}

static void put_all_code(dump *d) {
  if (d->options->stage == FE_STAGE_OPENCL) cg_opencl_prelude(d->options->target, d->out);
  for (size_t k = 0; k < d->plan.step_count && !d->error->status; k++)
    if (d->plan.steps[k].kind == IR_STEP_KERNEL) put_code(d, d->plan.steps[k].kernel);
}

static void put_c(dump *d) {
  const ir_mem *mem = d->copy.graph.mem;
  size_t most = d->plan.step_count + 1, count = 0;
  rt_kernel_key *keys = ir_alloc(mem, most * sizeof *keys);
  if (!keys) ir_fail(d->error, IR_ERR_MEMORY, "dump: out of memory for the code of %zu steps", most);
  for (size_t k = 0; k < d->plan.step_count && !d->error->status; k++)
    if (d->plan.steps[k].kind == IR_STEP_KERNEL &&
        rt_kernel_key_make(mem, &d->copy.graph, d->plan.steps[k].kernel, &keys[count], d->error) == IR_OK)
      count++;
  if (!d->error->status) fe_put_c(keys, count, mem, d->options->target, d->out, d->error);
  for (size_t k = 0; k < count; k++) rt_kernel_key_free(mem, &keys[k]);
  if (keys) ir_free(mem, keys, most * sizeof *keys);
}

/* one graph */

static void run_pipeline(dump *d) {
  pass_options options = fe_pass_options(&d->copy.request, d->options->target);
  options.observer = dump_pass;
  options.user = d;
  options.verify = true;
  pass_shaping shaping = {
      .user = d, .enter = find_tuned, .given = given_moves, .chosen = note_moves, .refused = refused_moves};
  options.shaping = &shaping;
  if (!fe_kernel_statements_open(&d->kernels.statements, &d->copy.graph, d->copy.request.results)) {
    d->out->failed = true;
    return;
  }
  if (pass_pipeline(&d->copy.graph, d->copy.request.results, &options, &d->plan, d->error) != IR_OK ||
      fe_schedule_check(&d->schedule, d->error) != IR_OK || d->options->after)
    return;
  switch (d->options->stage) {
  case FE_STAGE_KERNELS:
    put_separator(d->out);
    if (!fe_kernels_settle(&d->kernels, &d->plan)) d->out->failed = true;
    if (!d->out->failed)
      fe_kernels_print(&d->kernels, &d->copy.graph, d->home, d->block, &d->plan, d->out, d->options);
    break;
  case FE_STAGE_LLVM:
  case FE_STAGE_ASM:
  case FE_STAGE_OPENCL: put_all_code(d); break;
  case FE_STAGE_C: put_c(d); break;
  default: break;
  }
}

static void dump_compiled(ir_graph *g, dump *d) {
  fe_request request;
  ir_error *noted = g->error;
  g->error = d->error; /* a failure here is no error of recording */
  if (!fe_block_request(g, d->block, d->options->observer, &request)) {
    ir_fail(d->error, IR_ERR_MEMORY, "out of memory dumping graph @%.60s", d->block->name);
  } else if (fe_schedule_read(&d->schedule, g->mem, d->options->schedule, d->error) == IR_OK &&
             fe_request_copy(&request, &d->copy, d->error) == IR_OK) {
    run_pipeline(d);
    ir_plan_free(&d->plan);
    fe_copy_free(&d->copy);
  }
  fe_schedule_free(&d->schedule);
  fe_tuned_free(&d->tuned);
  ir_text_free(&d->moves);
  fe_kernels_free(&d->kernels);
  fe_block_request_free(g, d->block, &request);
  g->error = noted;
}

ir_status fe_dump(ir_graph *g, const ir_parsed_graph *block, const fe_dump_options *options, ir_text *out,
                  ir_error *error) {
  if (!options->after && options->stage == FE_STAGE_GRAPH) {
    put_separator(out);
    ir_print_parsed(g, block, out);
  } else if (!options->after && (options->stage == FE_STAGE_SHARD || options->stage == FE_STAGE_SPMD)) {
    put_separator(out);
    fe_dump_shard(g, block, options, out, error);
  } else {
    dump d = {.options = options,
              .block = block,
              .home = g,
              .kernels = {.mem = g->mem},
              .out = out,
              .error = error};
    ir_text_init(&d.moves, g->mem);
    fe_tuned_init(&d.tuned, options->context, g->mem);
    dump_compiled(g, &d);
  }
  if (out->failed) ir_fail(error, IR_ERR_MEMORY, "out of memory dumping graph @%.60s", block->name);
  return error->status;
}
