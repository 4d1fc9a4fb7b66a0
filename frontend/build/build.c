/* From a graph to an object and its header. */
#include "frontend/build/build.h"

#include <string.h>

typedef struct builder {
  const ir_mem *mem;
  const fe_ports *ports;
  rt_program *program;
  ir_error *error;
  fe_member *members; /* inputs, then outputs */
  size_t member_count;
  ir_text *variables; /* their names */
  cg_variable *bounds;
  uint32_t *inputs, *outputs, *numbers; /* as in rt_object_request */
} builder;

static const fe_request *request_of(const builder *b) { return b->ports->request; }

/* names */

static bool is_taken(const builder *b, size_t before, const char *name) {
  for (size_t i = 0; i < before; i++)
    if (!strcmp(ir_text_get(&b->members[i].name), name)) return true;
  return false;
}

/* Two ports of one name, or of names that differ in characters that C has not, get numbers. */
static void name_member(builder *b, size_t number, const ir_named *port, bool is_output) {
  fe_member *m = &b->members[number];
  m->port = port;
  m->is_output = is_output;
  m->is_reference = !is_output && port->reference;
  m->is_used = is_output;
  fe_identifier(port->name, &m->name);
  size_t length = m->name.len;
  if (is_output && is_taken(b, number, ir_text_get(&m->name))) ir_text_str(&m->name, "_out");
  for (unsigned k = 2; is_taken(b, number, ir_text_get(&m->name)) && !m->name.failed; k++) {
    m->name.len = length;
    ir_textf(&m->name, "_%u", k);
  }
}

static void name_all(builder *b) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; i < b->member_count; i++) {
    bool is_output = i >= r->input_count;
    name_member(b, i, is_output ? &b->ports->outputs[i - r->input_count] : &b->ports->inputs[i], is_output);
  }
  for (size_t i = 0; i < r->var_count; i++)
    fe_identifier(ir_name_text(r->graph, ir_get(r->graph, r->vars[i])->arg), &b->variables[i]);
}

/* what the program calls them */

static ir_status not_declared(builder *b, const char *what, const char *name) {
  return ir_fail(b->error, IR_ERR_INVALID, "build: graph @%.60s depends on %s %.60s, which is not declared",
                 request_of(b)->name, what, name);
}

static ir_status match_inputs(builder *b) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; i < rt_program_input_count(b->program); i++) {
    const char *name = rt_program_input(b->program, i).name;
    size_t k = 0;
    while (k < r->input_count && strcmp(b->ports->inputs[k].name, name)) k++;
    if (k == r->input_count) return not_declared(b, "input", name);
    b->inputs[i] = (uint32_t)k;
    b->members[k].is_used = true;
  }
  return IR_OK;
}

/* Results that are references lie where the inputs do. */
static void match_outputs(builder *b) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; i < b->ports->output_count; i++) b->outputs[i] = (uint32_t)(r->input_count + i);
  for (size_t i = 0; i < r->reference_count; i++) {
    b->outputs[r->references[i].result] = r->references[i].input;
    b->members[r->references[i].input].is_used = true;
  }
}

static ir_status match_variables(builder *b) {
  const fe_request *r = request_of(b);
  for (size_t k = 0; k < r->var_count; k++) b->bounds[k] = (cg_variable){INT64_MIN, INT64_MAX, 1};
  for (size_t i = 0; i < rt_program_variable_count(b->program); i++) {
    rt_variable v = rt_program_variable(b->program, i);
    size_t k = 0;
    while (k < r->var_count && strcmp(ir_name_text(r->graph, ir_get(r->graph, r->vars[k])->arg), v.name)) k++;
    if (k == r->var_count) return not_declared(b, "variable", v.name);
    b->bounds[k] = (cg_variable){v.lo, v.hi, v.divisor};
    b->numbers[i] = (uint32_t)k;
  }
  return IR_OK;
}

/* building */

static ir_status build(builder *b, rt_context *context, const fe_build_options *options, fe_built *out) {
  const fe_request *r = request_of(b);
  bool sized = rt_program_variable_count(b->program) != 0;
  name_all(b);
  if (options->name) ir_text_str(&out->name, options->name);
  else fe_identifier(r->name, &out->name);
  if (match_inputs(b) || match_variables(b)) return b->error->status;
  match_outputs(b);
  rt_object_request request = {.name = ir_text_get(&out->name),
                               .want = options->want,
                               .mem = options->mem,
                               .inputs = b->inputs,
                               .outputs = b->outputs,
                               .variables = b->numbers,
                               .bounds = b->bounds,
                               .variable_count = r->var_count,
                               .shares = options->threads,
                               .weights = options->weights,
                               .shown = b->ports->output_count};
  rt_object object;
  rt_object_build(b->program, &request, &object, b->error);
  out->object = object.code;
  out->weights = object.weights;
  if (b->error->status) return b->error->status;
  fe_header header = {.name = ir_text_get(&out->name),
                      .graph = r->name,
                      .g = r->graph,
                      .target = rt_context_target(context, b->error),
                      .members = b->members,
                      .member_count = b->member_count,
                      .variables = b->variables,
                      .bounds = b->bounds,
                      .variable_count = sized ? r->var_count : 0,
                      .arena_bytes = object.arena_bytes,
                      .worker_bytes = object.worker_bytes,
                      .threads = options->threads || rt_object_call(b->program, 0),
                      .program = b->program,
                      .weight_bytes = options->weights ? (int64_t)object.weights.size : -1};
  fe_header_put(&header, &out->header);
  if (out->header.failed || out->name.failed)
    return ir_fail(b->error, IR_ERR_MEMORY, "build: out of memory for the header of @%.60s", r->name);
  return IR_OK;
}

static bool open_builder(builder *b) {
  const fe_request *r = request_of(b);
  size_t results = ir_get(r->graph, r->results)->nsrc;
  b->member_count = r->input_count + b->ports->output_count;
  b->members = ir_alloc(b->mem, b->member_count * sizeof *b->members);
  b->variables = ir_alloc(b->mem, r->var_count * sizeof *b->variables);
  b->bounds = ir_alloc(b->mem, r->var_count * sizeof *b->bounds);
  b->inputs = ir_alloc(b->mem, r->input_count * sizeof *b->inputs);
  b->outputs = ir_alloc(b->mem, results * sizeof *b->outputs);
  b->numbers = ir_alloc(b->mem, r->var_count * sizeof *b->numbers);
  for (size_t i = 0; b->members && i < b->member_count; i++) {
    b->members[i] = (fe_member){0};
    ir_text_init(&b->members[i].name, b->mem);
  }
  for (size_t i = 0; b->variables && i < r->var_count; i++) ir_text_init(&b->variables[i], b->mem);
  return b->members && b->variables && b->bounds && b->inputs && b->outputs && b->numbers;
}

static void close_builder(builder *b) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; b->members && i < b->member_count; i++) ir_text_free(&b->members[i].name);
  for (size_t i = 0; b->variables && i < r->var_count; i++) ir_text_free(&b->variables[i]);
  ir_free(b->mem, b->members, b->member_count * sizeof *b->members);
  ir_free(b->mem, b->variables, r->var_count * sizeof *b->variables);
  ir_free(b->mem, b->bounds, r->var_count * sizeof *b->bounds);
  ir_free(b->mem, b->inputs, r->input_count * sizeof *b->inputs);
  ir_free(b->mem, b->outputs, ir_get(r->graph, r->results)->nsrc * sizeof *b->outputs);
  ir_free(b->mem, b->numbers, r->var_count * sizeof *b->numbers);
  rt_program_release(b->program);
}

ir_status fe_build(rt_context *context, const fe_ports *ports, const fe_build_options *options, fe_built *out,
                   ir_error *error) {
  builder b = {.mem = rt_context_mem(context), .ports = ports, .error = error};
  *out = (fe_built){0};
  ir_text_init(&out->header, options->mem);
  ir_text_init(&out->name, options->mem);
  if (open_builder(&b)) {
    if (fe_compile(context, ports->request, &b.program, error) == IR_OK) build(&b, context, options, out);
  } else {
    ir_fail(error, IR_ERR_MEMORY, "build: out of memory for graph @%.60s", ports->request->name);
  }
  close_builder(&b);
  return error->status;
}

void fe_built_free(fe_built *built) {
  if (!built->header.mem) return; /* nothing was built */
  if (built->object.mem) cg_blob_free(&built->object);
  if (built->weights.mem) cg_blob_free(&built->weights);
  ir_text_free(&built->header);
  ir_text_free(&built->name);
}
