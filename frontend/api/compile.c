/* From a request to a program: the key, the look-up, and on a miss the passes on a copy of the graph. */
#include "frontend/api/compile.h"

#include <string.h>

#include "frontend/api/tuned.h"
#include "frontend/text/loop_schedule.h"
#include "frontend/weights/weights.h"
#include "ir/letters.h"
#include "ir/mesh/sharding.h"
#include "ir/print/print.h"
#include "passes/patterns/constant_values.h"
#include "runtime/program/tuned.h"
#include "runtime/system/stack.h"

/* the key */

/* List the request's inputs and then the other INPUT nodes as parameters, so that the text of the graph has
 * their order and all their types. A constant is a parameter by its number: its elements are no part of the
 * text. */
static bool list_params(const fe_request *r, ir_named **list, size_t *n, size_t *cap) {
  const ir_graph *g = r->graph;
  ir_ref *nodes = NULL;
  size_t count = 0, node_cap = 0, place;
  bool good = ir_reachable(g, &r->results, 1, &nodes, &count, &node_cap) == IR_OK;
  uint8_t *listed =
      good ? ir_alloc(g->mem, count) : NULL; /* indexed as `nodes`: is it among the request's inputs? */
  good = listed != NULL;
  if (good) memset(listed, 0, count);
  for (size_t i = 0; i < r->input_count && good; i++)
    if ((place = ir_find_ref(nodes, count, r->inputs[i])) < count && nodes[place] == r->inputs[i])
      listed[place] = 1;
  for (size_t i = 0; i < r->input_count + count && good; i++) {
    ir_ref ref = i < r->input_count ? r->inputs[i] : nodes[i - r->input_count];
    const ir_node *node = ir_get(g, ref);
    bool constant = node->op == IR_OP_RESOURCE;
    if ((node->op != IR_OP_INPUT && !constant) || (i >= r->input_count && listed[i - r->input_count]))
      continue;
    good = IR_RESERVE(g->mem, *list, *cap, *n + 1);
    if (!good) break;
    (*list)[(*n)++] = constant ? (ir_named){.ref = ref}
                               : (ir_named){.name = ir_name_text(g, node->arg),
                                            .length = ir_name_length(g, node->arg),
                                            .ref = ref};
  }
  ir_free(g->mem, listed, count);
  ir_free(g->mem, nodes, node_cap * sizeof *nodes);
  return good;
}

static void put_variables(const fe_request *r, ir_text *out) {
  const ir_graph *g = r->graph;
  ir_text_str(out, "variables");
  for (size_t i = 0; i < r->var_count; i++) {
    const ir_node *n = ir_get(g, r->vars[i]);
    ir_textf(out, " %s=%lld..%lld:%lld", ir_name_text(g, n->arg), (long long)ir_get(g, n->src[0])->arg,
             (long long)ir_get(g, n->src[1])->arg, (long long)ir_get(g, n->src[2])->arg);
  }
  ir_text_str(out, "\n");
}

/* The canonical text that identifies the request, without the letters of axes. */
static void put_request(const fe_request *r, ir_text *out) {
  ir_graph plain = *r->graph; /* for printing only */
  plain.letters_cap = 0, plain.sharding = NULL;
  const ir_mem *mem = r->graph->mem;
  const ir_node *tuple = ir_get(r->graph, r->results);
  ir_named *params = NULL, *results = ir_alloc(mem, tuple->nsrc * sizeof *results);
  size_t count = 0, cap = 0;
  if (results && list_params(r, &params, &count, &cap)) {
    for (uint32_t i = 0; i < tuple->nsrc; i++) results[i] = (ir_named){.ref = tuple->src[i]};
    ir_print_named(&plain, "g", 1, params, count, results, tuple->nsrc, out);
    if (r->var_count) put_variables(r, out);
    for (size_t i = 0; i < r->reference_count; i++)
      ir_textf(out, "reference %u %u\n", r->references[i].input, r->references[i].result);
    if (r->graph->relaxed) ir_text_str(out, "relaxed\n");
    if (r->schedule) ir_textf(out, "schedule\n%s\n", r->schedule);
    if (r->link.byte > 0)
      ir_textf(out, "link %.17g %.17g %.17g\n", r->link.flight, r->link.work, r->link.byte);
  } else {
    out->failed = true;
  }
  ir_free(mem, params, cap * sizeof *params);
  ir_free(mem, results, tuple->nsrc * sizeof *results);
}

/* the copy */

ir_status fe_request_copy(const fe_request *r, fe_copy *out, ir_error *error) {
  const ir_mem *mem = r->graph->mem;
  *out = (fe_copy){.request = *r};
  if (ir_graph_init(&out->graph, mem, error) != IR_OK) return error->status;
  out->graph.observer = r->observer;
  out->graph.task = r->graph->task;
  if (r->causes) ir_causes_open(&out->causes, &out->graph);
  out->count = 1 + r->input_count + r->var_count;
  out->refs = ir_alloc(mem, out->count * sizeof *out->refs);
  if (!out->refs) {
    fe_copy_free(out);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory copying a graph");
  }
  out->refs[0] = r->results;
  if (r->input_count) memcpy(out->refs + 1, r->inputs, r->input_count * sizeof *r->inputs);
  if (r->var_count) memcpy(out->refs + 1 + r->input_count, r->vars, r->var_count * sizeof *r->vars);
  if (ir_graph_copy(&out->graph, r->graph, out->refs, out->count, NULL) != IR_OK) {
    fe_copy_free(out);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory copying a graph");
  }
  ir_letters_forget(&out->graph); /* which kernels have no use for */
  ir_sharding_forget(&out->graph);
  out->request.graph = &out->graph;
  out->request.results = out->refs[0];
  out->request.inputs = out->refs + 1;
  out->request.vars = out->refs + 1 + r->input_count;
  return IR_OK;
}

void fe_copy_free(fe_copy *c) {
  ir_free(c->graph.mem, c->refs, c->count * sizeof *c->refs);
  ir_causes_free(&c->causes);
  ir_graph_free(&c->graph);
}

pass_options fe_pass_options(const fe_request *r, const ir_target *target) {
  pass_options options = {.target = target,
                          .inputs = r->inputs,
                          .input_count = r->input_count,
                          .references = r->references,
                          .reference_count = r->reference_count,
                          .link = r->link};
#ifdef IR_CHECK
  options.verify = true;
#endif
  return options;
}

/* programs */

static ir_status build_program(rt_context *context, const fe_request *r, const ir_text *key,
                               rt_program **program, ir_error *error) {
  const ir_target *target = rt_context_target(context, error);
  fe_copy copy;
  int64_t start = ir_timer_start(rt_context_timer(context));
  if (!target) return ir_fail(error, IR_ERR_MEMORY, "out of memory describing the processor");
  if (rt_context_accepts(context, r->name, r->graph, r->results, r->inputs, r->input_count, error))
    return error->status;
  if (fe_request_copy(r, &copy, error) != IR_OK) return error->status;
  pass_options options = fe_pass_options(&copy.request, target);
  ir_plan plan = {.mem = copy.graph.mem};
  fe_schedule schedule = {.mem = copy.graph.mem};
  fe_tuned tuned;
  fe_tuned_init(&tuned, context, copy.graph.mem);
  if (r->schedule) fe_schedule_read(&schedule, copy.graph.mem, r->schedule, error);
  if (r->shaping) options.shaping = r->shaping;
  else if (r->schedule) options.shaping = &schedule.shaping, options.verify = true;
  else if (tuned.context) options.shaping = &tuned.shaping;
  options.timer = rt_context_timer(context);
  ir_timer_lap(options.timer, &start, "copy", -1, NULL);
  /* an analysis that runs out of memory sets the error and answers "unknown"; the program is then dropped */
  if (!error->status && pass_pipeline(&copy.graph, copy.request.results, &options, &plan, error) == IR_OK &&
      !error->status && fe_schedule_check(&schedule, error) == IR_OK)
    rt_program_build(context, r->name, &copy.graph, &plan, key->data, key->len, program, error);
  fe_schedule_free(&schedule);
  fe_tuned_free(&tuned);
  ir_plan_free(&plan);
  fe_copy_free(&copy);
  return error->status;
}

typedef struct building {
  rt_context *context;
  const fe_request *request;
  const ir_text *key;
  rt_program **program;
  ir_error *error;
} building;

static void build_here(void *user) {
  const building *b = user;
  build_program(b->context, b->request, b->key, b->program, b->error);
}

/* A program that may use tuned kernels has their stamp in its key. */
static void put_stamp(rt_context *context, const fe_request *r, ir_text *key) {
  uint64_t stamp = r->schedule ? 0 : rt_tuned_stamp(context);
  if (stamp) ir_textf(key, "tuned %016llx\n", (unsigned long long)stamp);
}

/* constants */

/* The request with the constants that its results depend on behind its inputs, in the order of the graph. */
typedef struct bound_request {
  fe_request request;
  ir_ref *inputs;     /* of `room` */
  size_t room, first; /* index of the first constant */
} bound_request;

static bool add_constants(const fe_request *r, bound_request *out) {
  const ir_graph *g = r->graph;
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  *out = (bound_request){.request = *r, .first = r->input_count};
  if (!pass_has_constants(g, r->results)) return true;
  bool good = ir_reachable(g, &r->results, 1, &nodes, &count, &cap) == IR_OK &&
              IR_RESERVE(g->mem, out->inputs, out->room, r->input_count + count);
  if (good) {
    size_t n = r->input_count;
    if (n) memcpy(out->inputs, r->inputs, n * sizeof *out->inputs);
    for (size_t i = 0; i < count; i++)
      if (ir_op_of(g, nodes[i]) == IR_OP_RESOURCE) out->inputs[n++] = nodes[i];
    out->request.inputs = out->inputs;
    out->request.input_count = n;
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return good;
}

/* The constant of a node: one that the context has, or one from the file that the node names. */
static ir_status find_constant(fe_weights *weights, const char *graph, const ir_graph *g, ir_ref ref,
                               rt_constant **out, ir_error *error) {
  ir_origin origin;
  const char *name = ir_name_text(g, ir_get(g, ref)->arg);
  if ((*out = rt_constant_find(weights->context, name))) return IR_OK;
  if (ir_resource_origin(g, ref, &origin)) return fe_weights_resolve(weights, g, ref, out, error);
  return ir_fail(error, IR_ERR_INVALID,
                 "graph @%.60s: this context has no constant of the digest %.60s; a graph that holds it must "
                 "exist while this one is compiled",
                 graph, name);
}

ir_status fe_find_constants(rt_context *context, const char *graph, const ir_graph *g,
                            const ir_ref *resources, size_t count, rt_constant **out, ir_error *error) {
  fe_weights weights;
  fe_weights_init(&weights, rt_context_mem(context), context);
  memset(out, 0, count * sizeof *out);
  ir_status status = IR_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = find_constant(&weights, graph, g, resources[i], &out[i], error);
  fe_weights_close(&weights);
  return status;
}

/* Gives the context the constants that it lacks and that of the request has. `out` holds a use of each. */
static ir_status share_constants(rt_context *context, const bound_request *b, size_t count, rt_constant **out,
                                 ir_error *error) {
  const ir_graph *g = b->request.graph;
  for (size_t i = 0; i < count && !error->status; i++) {
    const char *name = ir_name_text(g, ir_get(g, b->request.inputs[b->first + i])->arg);
    if ((out[i] = rt_constant_find(context, name))) continue;
    rt_constant *other = rt_constant_find(b->request.constants, name);
    if (other) rt_constant_share(context, other, &out[i], error);
    rt_constant_release(other);
  }
  return error->status;
}

/* Replaces the program by one that is bound to the request's constants, if it has any. */
static ir_status bind_program(rt_context *context, const bound_request *b, rt_program **program,
                              ir_error *error) {
  const ir_mem *mem = rt_context_mem(context);
  size_t count = b->request.input_count - b->first;
  if (!count) return IR_OK;
  rt_constant **constants = ir_alloc(mem, count * sizeof *constants);
  if (!constants)
    return ir_fail(error, IR_ERR_MEMORY, "graph @%.60s: out of memory for its constants", b->request.name);
  memset(constants, 0, count * sizeof *constants);
  rt_constant **shared = b->request.constants ? ir_alloc(mem, count * sizeof *shared) : NULL;
  if (shared) memset(shared, 0, count * sizeof *shared);
  if (shared) share_constants(context, b, count, shared, error);
  rt_program *base = *program;
  const ir_ref *resources = b->request.inputs + b->first;
  const fe_request *r = &b->request;
  if (!error->status && r->find) r->find(r->find_user, resources, count, constants, error);
  else if (!error->status) fe_find_constants(context, r->name, r->graph, resources, count, constants, error);
  if (!error->status) rt_program_bind(base, constants, count, r->of_parts, program, error);
  if (*program != base) rt_program_release(base);
  for (size_t i = 0; i < count; i++) rt_constant_release(constants[i]);
  for (size_t i = 0; shared && i < count; i++) rt_constant_release(shared[i]);
  if (shared) ir_free(mem, shared, count * sizeof *shared);
  ir_free(mem, constants, count * sizeof *constants);
  return error->status;
}

ir_status fe_compile(rt_context *context, const fe_request *request, rt_program **program, ir_error *error) {
  ir_error *noted = request->graph->error;
  ir_text key;
  bound_request bound;
  *program = NULL;
  if (error->status) return error->status;
  int64_t start = ir_timer_start(rt_context_timer(context));
  request->graph->error = error; /* a failure to compile is no error of recording */
  if (!add_constants(request, &bound))
    ir_fail(error, IR_ERR_MEMORY, "graph @%.60s: out of memory listing its constants", request->name);
  const fe_request *r = &bound.request;
  ir_text_init(&key, r->graph->mem);
  if (!r->shaping && !error->status) put_request(r, &key), put_stamp(context, r, &key);
  ir_timer_lap(rt_context_timer(context), &start, "print", -1, NULL);
  if (key.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory printing graph @%.60s", r->name);
  if (!error->status && !r->shaping) rt_program_find(context, key.data, key.len, program, error);
  ir_timer_lap(rt_context_timer(context), &start, "find", -1, NULL);
  if (!error->status && !*program)
    rt_stack_run(build_here, &(building){context, r, &key, program, error}, error);
  if (!error->status) bind_program(context, &bound, program, error);
  ir_say_cancelled(error, "graph @%.60s: cancelled while it was compiled; compile it again to go on",
                   r->name);
  if (error->status) { /* it may have been set although there is a program */
    rt_program_release(*program);
    *program = NULL;
  }
  r->graph->error = noted;
  ir_text_free(&key);
  ir_free(request->graph->mem, bound.inputs, bound.room * sizeof *bound.inputs);
  return error->status;
}
