/* From a graph to an object and its header. */
#include "frontend/build/build.h"

#include <string.h>

#include "ir/mesh/sharding.h"

/* The program of one target. */
typedef struct form {
  rt_program *program;
  uint32_t *inputs, *outputs, *numbers; /* as in rt_object_form */
} form;

typedef struct builder {
  const ir_mem *mem;
  const fe_targets *targets;
  const fe_ports *ports;
  ir_error *error;
  form forms[RT_MOST_FORMS];
  fe_member *members; /* inputs, then outputs */
  size_t member_count;
  ir_text *variables; /* their names */
  cg_variable *bounds;
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

static ir_status match_inputs(builder *b, form *f) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; i < rt_program_input_count(f->program); i++) {
    const char *name = rt_program_input(f->program, i).name;
    size_t k = 0;
    while (k < r->input_count && strcmp(b->ports->inputs[k].name, name)) k++;
    if (k == r->input_count) return not_declared(b, "input", name);
    f->inputs[i] = (uint32_t)k;
    b->members[k].is_used = true;
  }
  return IR_OK;
}

/* Results that are references lie where the inputs do. */
static void match_outputs(builder *b, form *f) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; i < b->ports->output_count; i++) f->outputs[i] = (uint32_t)(r->input_count + i);
  for (size_t i = 0; i < r->reference_count; i++) {
    f->outputs[r->references[i].result] = r->references[i].input;
    b->members[r->references[i].input].is_used = true;
  }
}

/* The bounds are those of all targets, which are the same. */
static ir_status match_variables(builder *b, form *f) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; i < rt_program_variable_count(f->program); i++) {
    rt_variable v = rt_program_variable(f->program, i);
    size_t k = 0;
    while (k < r->var_count && strcmp(ir_name_text(r->graph, ir_get(r->graph, r->vars[k])->arg), v.name)) k++;
    if (k == r->var_count) return not_declared(b, "variable", v.name);
    b->bounds[k] = (cg_variable){v.lo, v.hi, v.divisor};
    f->numbers[i] = (uint32_t)k;
  }
  return IR_OK;
}

/* Custom operations are members of one struct, in one order. */
static bool has_same_calls(const rt_program *a, const rt_program *b) {
  for (size_t i = 0;; i++) {
    const char *name = rt_object_call(a, i), *other = rt_object_call(b, i);
    if (!name || !other) return name == other;
    if (strcmp(name, other)) return false;
  }
}

static ir_status compile(builder *b, size_t number) {
  form *f = &b->forms[number];
  if (fe_compile(b->targets->contexts[number], request_of(b), &f->program, b->error) || match_inputs(b, f) ||
      match_variables(b, f))
    return b->error->status;
  match_outputs(b, f);
  if (has_same_calls(f->program, b->forms[0].program)) return IR_OK;
  return ir_fail(
      b->error, IR_ERR_UNSUPPORTED,
      "build: graph @%.60s runs its custom operations in another order on one of several targets; build "
      "an object for each",
      request_of(b)->name);
}

/* An object runs on one device. */
static ir_status check_devices(const builder *b) {
  const fe_request *r = request_of(b);
  const ir_mesh *mesh = ir_graph_mesh(r->graph);
  if (!mesh || mesh->device_count == 1) return IR_OK;
  return ir_fail(b->error, IR_ERR_UNSUPPORTED,
                 "build: graph @%.60s is divided among the %u devices of a mesh, and an object runs on one "
                 "device; leave out the mesh and what is divided among its axes",
                 r->name, mesh->device_count);
}

/* building */

static ir_status compile_all(builder *b, rt_object_form *forms) {
  const fe_request *r = request_of(b);
  for (size_t k = 0; k < r->var_count; k++) b->bounds[k] = (cg_variable){INT64_MIN, INT64_MAX, 1};
  for (size_t i = 0; i < b->targets->count; i++) {
    const form *f = &b->forms[i];
    if (compile(b, i)) return b->error->status;
    forms[i] = (rt_object_form){f->program, f->inputs, f->outputs, f->numbers};
  }
  return IR_OK;
}

static ir_status build(builder *b, const fe_build_options *options, fe_built *out) {
  const fe_request *r = request_of(b);
  rt_object_form forms[RT_MOST_FORMS];
  if (check_devices(b)) return b->error->status;
  name_all(b);
  if (options->name) ir_text_str(&out->name, options->name);
  else fe_identifier(r->name, &out->name);
  if (compile_all(b, forms)) return b->error->status;
  const rt_program *first = forms->program;
  rt_object_request request = {.name = ir_text_get(&out->name),
                               .want = options->want,
                               .mem = options->mem,
                               .forms = forms,
                               .form_count = b->targets->count,
                               .bounds = b->bounds,
                               .variable_count = r->var_count,
                               .shares = options->threads,
                               .weights = options->weights,
                               .shown = b->ports->output_count};
  rt_object object;
  rt_object_build(&request, &object, b->error);
  out->object = object.code;
  out->weights = object.weights;
  out->sized = rt_program_variable_count(first) != 0;
  if (b->error->status) return b->error->status;
  fe_header header = {.name = ir_text_get(&out->name),
                      .graph = r->name,
                      .g = r->graph,
                      .target = rt_context_target(b->targets->contexts[0], b->error),
                      .several = b->targets->count > 1 ? b->targets->text : NULL,
                      .members = b->members,
                      .member_count = b->member_count,
                      .variables = b->variables,
                      .bounds = b->bounds,
                      .variable_count = out->sized ? r->var_count : 0,
                      .arena_bytes = object.arena_bytes,
                      .worker_bytes = object.worker_bytes,
                      .threads = options->threads || rt_object_call(first, 0),
                      .program = first,
                      .weight_bytes = options->weights ? (int64_t)object.weights.size : -1};
  fe_header_put(&header, &out->header);
  if (out->header.failed || out->name.failed)
    return ir_fail(b->error, IR_ERR_MEMORY, "build: out of memory for the header of @%.60s", r->name);
  return IR_OK;
}

static bool open_form(builder *b, form *f) {
  const fe_request *r = request_of(b);
  f->inputs = ir_alloc(b->mem, r->input_count * sizeof *f->inputs);
  f->outputs = ir_alloc(b->mem, ir_get(r->graph, r->results)->nsrc * sizeof *f->outputs);
  f->numbers = ir_alloc(b->mem, r->var_count * sizeof *f->numbers);
  return f->inputs && f->outputs && f->numbers;
}

static void close_form(builder *b, form *f) {
  const fe_request *r = request_of(b);
  ir_free(b->mem, f->inputs, r->input_count * sizeof *f->inputs);
  ir_free(b->mem, f->outputs, ir_get(r->graph, r->results)->nsrc * sizeof *f->outputs);
  ir_free(b->mem, f->numbers, r->var_count * sizeof *f->numbers);
  rt_program_release(f->program);
}

static bool open_builder(builder *b) {
  const fe_request *r = request_of(b);
  bool good = true;
  b->member_count = r->input_count + b->ports->output_count;
  b->members = ir_alloc(b->mem, b->member_count * sizeof *b->members);
  b->variables = ir_alloc(b->mem, r->var_count * sizeof *b->variables);
  b->bounds = ir_alloc(b->mem, r->var_count * sizeof *b->bounds);
  for (size_t i = 0; i < b->targets->count; i++) good &= open_form(b, &b->forms[i]);
  for (size_t i = 0; b->members && i < b->member_count; i++) {
    b->members[i] = (fe_member){0};
    ir_text_init(&b->members[i].name, b->mem);
  }
  for (size_t i = 0; b->variables && i < r->var_count; i++) ir_text_init(&b->variables[i], b->mem);
  return good && b->members && b->variables && b->bounds;
}

static void close_builder(builder *b) {
  const fe_request *r = request_of(b);
  for (size_t i = 0; b->members && i < b->member_count; i++) ir_text_free(&b->members[i].name);
  for (size_t i = 0; b->variables && i < r->var_count; i++) ir_text_free(&b->variables[i]);
  ir_free(b->mem, b->members, b->member_count * sizeof *b->members);
  ir_free(b->mem, b->variables, r->var_count * sizeof *b->variables);
  ir_free(b->mem, b->bounds, r->var_count * sizeof *b->bounds);
  for (size_t i = 0; i < b->targets->count; i++) close_form(b, &b->forms[i]);
}

ir_status fe_build(const fe_targets *targets, const fe_ports *ports, const fe_build_options *options,
                   fe_built *out, ir_error *error) {
  builder b = {
      .mem = rt_context_mem(targets->contexts[0]), .targets = targets, .ports = ports, .error = error};
  *out = (fe_built){0};
  ir_text_init(&out->header, options->mem);
  ir_text_init(&out->name, options->mem);
  if (open_builder(&b)) build(&b, options, out);
  else ir_fail(error, IR_ERR_MEMORY, "build: out of memory for graph @%.60s", ports->request->name);
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
