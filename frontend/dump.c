/* Dumps: the pipeline run on a copy of the graph, and what it made printed. */
#include "frontend/dump.h"

#include <stdio.h>
#include <string.h>

typedef struct dump {
  rt_context *context;
  fe_copy copy;
  pass_options options;
  ir_plan plan;
  ir_text *out;
  ir_error *error;
  const char *pass; /* print what this pass leaves */
} dump;

static bool out_of_memory(dump *d) {
  ir_fail(d->error, IR_ERR_MEMORY, "out of memory dumping graph @%.60s", d->copy.request.name);
  return false;
}

static void kernel_name(char *name, size_t size, size_t number) { snprintf(name, size, "kernel%zu", number); }

/* Tensor graphs of the launches: a copy of what each value is made of, down to the values in memory. */

typedef struct cutter {
  ir_graph *g;
  uint32_t *slot_of; /* slot + 1 by node */
  ir_ref *made, *live, *src;
  size_t limit, live_count, live_cap, src_cap;
} cutter;

static ir_ref parameter(cutter *c, ir_ref ref) {
  const ir_node *n = ir_get(c->g, ref);
  if (n->op == IR_OP_INPUT || n->op == IR_OP_DATA) return ref;
  char name[24];
  int length = snprintf(name, sizeof name, "slot%u", c->slot_of[ref] - 1);
  const ir_node *dims = ir_get(c->g, ir_shape(c->g, ref));
  int64_t id = ir_name(c->g, name, (size_t)length);
  return id < 0 ? 0
                : ir_make_tensor(c->g, IR_OP_INPUT, (ir_dtype)n->dtype, ir_shape(c->g, ref), id, dims->src,
                                 dims->nsrc);
}

static ir_ref rebuilt(cutter *c, ir_ref ref) {
  const ir_node *n = ir_get(c->g, ref);
  bool same = true;
  if (!IR_RESERVE(c->g->mem, c->src, c->src_cap, n->nsrc)) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    c->src[i] = c->made[n->src[i]];
    same &= c->src[i] == n->src[i];
  }
  if (same) return ref;
  return ir_make_tensor(c->g, (ir_op)n->op, (ir_dtype)n->dtype, ir_shape(c->g, ref), n->arg, c->src, n->nsrc);
}

static ir_ref cut(cutter *c, ir_ref root) {
  if (ir_reachable(c->g, &root, 1, &c->live, &c->live_count, &c->live_cap) != IR_OK) return 0;
  for (size_t i = 0; i < c->live_count; i++) {
    ir_ref ref = c->live[i];
    bool stored = ref != root && c->slot_of[ref];
    if (!(c->made[ref] = stored ? parameter(c, ref) : rebuilt(c, ref))) return 0;
  }
  return c->made[root];
}

static void put_kernels(dump *d, cutter *c) {
  const ir_plan *p = &d->plan;
  for (size_t i = p->slot_count; i-- > 0;) c->slot_of[p->slots[i].value] = (uint32_t)i + 1;
  for (size_t k = 0; k < p->launch_count && !d->error->status; k++) {
    char name[32];
    kernel_name(name, sizeof name, k);
    ir_ref root = cut(c, p->launches[k].kernel), results = root ? ir_tuple(c->g, &root, 1) : 0;
    if (results) ir_print_graph(c->g, name, results, d->out);
    else out_of_memory(d);
  }
}

static void dump_kernels(dump *d) {
  ir_graph *g = &d->copy.graph;
  ir_ref lowered = pass_lower(g, d->copy.request.results);
  if (!lowered ||
      pass_schedule(g, lowered, d->options.inputs, d->options.input_count, &d->plan, d->error) != IR_OK) {
    out_of_memory(d);
    return;
  }
  cutter c = {.g = g, .limit = g->count};
  c.slot_of = ir_alloc(g->mem, c.limit * sizeof *c.slot_of);
  c.made = ir_alloc(g->mem, c.limit * sizeof *c.made);
  if (c.slot_of && c.made) {
    memset(c.slot_of, 0, c.limit * sizeof *c.slot_of);
    put_kernels(d, &c);
  } else {
    out_of_memory(d);
  }
  ir_free(g->mem, c.slot_of, c.limit * sizeof *c.slot_of);
  ir_free(g->mem, c.made, c.limit * sizeof *c.made);
  ir_free(g->mem, c.live, c.live_cap * sizeof *c.live);
  ir_free(g->mem, c.src, c.src_cap * sizeof *c.src);
}

/* what a pass leaves of each kernel */

static void observe(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel) {
  dump *d = user;
  char name[32];
  if (kernel < 0 || strcmp(pass, d->pass) != 0) return;
  kernel_name(name, sizeof name, (size_t)kernel);
  ir_print_graph(g, name, root, d->out);
}

static void run_pipeline(dump *d) {
  pass_pipeline(&d->copy.graph, d->copy.request.results, &d->options, &d->plan, d->error);
}

static void dump_pass(dump *d, const char *pass) {
  d->pass = pass;
  d->options.observer = observe;
  d->options.user = d;
  run_pipeline(d);
}
static void dump_index(dump *d) { dump_pass(d, "fold"); }
static void dump_loops(dump *d) { dump_pass(d, "loops"); }

/* code */

static void dump_code(dump *d, cg_output want) {
  run_pipeline(d);
  for (size_t k = 0; k < d->plan.launch_count && !d->error->status; k++) {
    char name[32];
    cg_blob code;
    kernel_name(name, sizeof name, k);
    if (rt_module_compile(rt_context_codegen(d->context), &d->copy.graph, d->plan.launches[k].kernel, name,
                          d->options.target, want, &code, d->error) != IR_OK)
      return;
    ir_text_add(d->out, code.bytes, code.size);
    cg_blob_free(&code);
  }
}
static void dump_llvm(dump *d) { dump_code(d, CG_LLVM); }
static void dump_asm(dump *d) { dump_code(d, CG_ASM); }

static void dump_graph(dump *d) {
  const fe_request *r = &d->copy.request;
  ir_print_graph(r->graph, r->name, r->results, d->out);
}

static const struct {
  const char *name;
  void (*run)(dump *);
} stages[] = {
    {"graph", dump_graph}, {"kernels", dump_kernels}, {"index", dump_index},
    {"loops", dump_loops}, {"llvm", dump_llvm},       {"asm", dump_asm},
};

ir_status fe_dump(rt_context *context, const fe_request *request, const char *stage, ir_text *out,
                  ir_error *error) {
  size_t s = 0;
  while (s < sizeof stages / sizeof *stages && strcmp(stages[s].name, stage) != 0) s++;
  if (s == sizeof stages / sizeof *stages)
    return ir_fail(error, IR_ERR_INVALID,
                   "dump: no stage '%.40s'; the stages are graph, kernels, index, loops, llvm, asm", stage);
  dump d = {.context = context, .out = out, .error = error};
  const ir_target *target = rt_context_target(context, error);
  if (!target) return ir_fail(error, IR_ERR_MEMORY, "out of memory describing the processor");
  ir_error *noted = request->graph->error;
  request->graph->error = error;
  if (fe_request_copy(request, &d.copy, error) == IR_OK) {
    d.options = fe_pass_options(&d.copy.request, target);
    stages[s].run(&d);
    ir_plan_free(&d.plan);
    fe_copy_free(&d.copy);
  }
  request->graph->error = noted;
  if (out->failed) ir_fail(error, IR_ERR_MEMORY, "out of memory dumping a graph");
  return error->status;
}
