/* Compiled programs for users of the C API. A user's list of inputs and variables may hold more than the
 * results depend on; it is mapped to the runtime's list, which does not. */
#include "frontend/api/program.h"

#include <string.h>

#include "frontend/api/overlap.h"
#include "frontend/mesh/sharded.h"
#include "frontend/profile/profile.h"
#include "ir/arith.h"
/* making */

static size_t port_count(const vf_program *p) { return p->counts[0] + p->counts[1]; }

static bool allocate_arrays(vf_program *p) {
  const ir_mem *mem = &p->context->mem;
  p->ports = ir_alloc(mem, port_count(p) * sizeof *p->ports);
  p->variables = ir_alloc(mem, p->variable_count * sizeof *p->variables);
  p->inputs_from = ir_alloc(mem, p->runtime_inputs * sizeof *p->inputs_from);
  p->variables_from = ir_alloc(mem, p->runtime_variables * sizeof *p->variables_from);
  p->dims = ir_alloc(mem, p->dim_count * sizeof *p->dims);
  p->names = ir_alloc(mem, p->names_size);
  p->constants = ir_alloc(mem, p->constant_count * sizeof *p->constants);
  p->bytes = ir_alloc(mem, port_count(p) * sizeof *p->bytes);
  p->references = ir_alloc(mem, p->counts[VF_INPUT] * sizeof *p->references);
  p->good = fe_good_lists_make(mem, port_count(p) + p->variable_count);
  return p->good && p->references && p->bytes && p->constants && p->ports && p->variables && p->inputs_from &&
         p->variables_from && p->dims && p->names;
}

static void free_program(vf_program *p) {
  const ir_mem *mem = &p->context->mem;
  ir_free(mem, p->ports, port_count(p) * sizeof *p->ports);
  ir_free(mem, p->bytes, port_count(p) * sizeof *p->bytes);
  ir_free(mem, p->references, p->counts[VF_INPUT] * sizeof *p->references);
  fe_good_lists_free(p->good, mem, port_count(p) + p->variable_count);
  ir_free(mem, p->variables, p->variable_count * sizeof *p->variables);
  ir_free(mem, p->inputs_from, p->runtime_inputs * sizeof *p->inputs_from);
  ir_free(mem, p->variables_from, p->runtime_variables * sizeof *p->variables_from);
  ir_free(mem, p->dims, p->dim_count * sizeof *p->dims);
  ir_free(mem, p->names, p->names_size);
  ir_free(mem, p->constants, p->constant_count * sizeof *p->constants);
  ir_free(mem, p->sizes.ops, p->sizes.cap * sizeof *p->sizes.ops);
  fe_found_free(&p->found);
  fe_witness_free(p->witness, mem);
  rt_program_release(p->program);
  if (p->sharded) fe_sharded_free(p->sharded);
  ir_free(mem, p->sharded, sizeof *p->sharded);
  ir_free(mem, p, sizeof *p);
}

static void measure_names(vf_program *p, const ir_graph *g, const ir_named *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    p->names_size += list[i].length + 1;
    p->dim_count += ir_batch_rank(g, list[i].ref) + ir_rank(g, list[i].ref);
  }
}

static const char *keep_name(char **at, const ir_named *named) {
  char *name = *at;
  memcpy(name, named->name, named->length);
  name[named->length] = '\0';
  *at += named->length + 1;
  return name;
}

static bool add_variables(vf_program *p, const vf_graph *g, uint32_t *number_of, char **names) {
  for (size_t i = 0; i < g->variable_count; i++) {
    const ir_node *n = ir_get(&g->ir, g->variables[i].ref);
    p->variables[i] = (rt_variable){keep_name(names, &g->variables[i]), ir_get(&g->ir, n->src[0])->arg,
                                    ir_get(&g->ir, n->src[1])->arg, ir_get(&g->ir, n->src[2])->arg};
    number_of[g->variables[i].ref] = rt_value_add(&p->sizes, IR_OP_VAR, (uint32_t)i, 0, 0) + 1;
  }
  return !p->sizes.failed;
}

static bool add_ports(vf_program *p, const vf_graph *g, uint32_t *number_of, char **names, ir_error *error) {
  uint32_t dim = 0;
  for (size_t i = 0; i < port_count(p); i++) {
    const ir_named *named = i < g->input_count ? &g->inputs[i] : &g->outputs[i - g->input_count];
    ir_ref sizes[2 * IR_MAX_RANK];
    uint32_t rank = ir_physical(&g->ir, named->ref, sizes);
    ir_dtype dtype = ir_dtype_of(&g->ir, named->ref);
    p->ports[i] =
        (fe_port){keep_name(names, named), dtype, rank, dim, false, (uint8_t)(ir_dtypes[dtype].bytes - 1)};
    if (rank && rt_values_append(&p->sizes, &g->ir, sizes, rank, number_of, error) != IR_OK) return false;
    for (uint32_t k = 0; k < rank; k++) p->dims[dim++] = number_of[sizes[k]] - 1;
  }
  return true;
}

/* Which ports the outputs depend on, and the constants that they do. */
static bool mark_used(vf_program *p, const vf_graph *g) {
  const ir_mem *mem = &p->context->mem;
  ir_ref *roots = ir_alloc(mem, (g->output_count + g->reference_count) * sizeof *roots), *live = NULL;
  size_t count = 0, cap = 0, n = 0;
  for (size_t i = 0; roots && i < g->output_count; i++) roots[n++] = g->outputs[i].ref;
  for (size_t i = 0; roots && i < g->reference_count; i++) roots[n++] = g->references[i].ref;
  bool good = roots && ir_reachable(&g->ir, roots, n, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < port_count(p) && good; i++) {
    p->ports[i].used = i >= g->input_count;
    for (size_t k = 0; k < count && !p->ports[i].used; k++) p->ports[i].used = live[k] == g->inputs[i].ref;
  }
  for (size_t k = 0, n = 0; k < count && good && n < p->constant_count; k++)
    if (ir_op_of(&g->ir, live[k]) == IR_OP_RESOURCE) p->constants[n++] = live[k];
  ir_free(mem, roots, (g->output_count + g->reference_count) * sizeof *roots);
  ir_free(mem, live, cap * sizeof *live);
  return good;
}

/* The bytes of the ports that are used, for these values of the variables, by the caller's array of the
 * values of p->sizes. Sizes that are too large are the runtime's to refuse. */
static void measure_ports(const vf_program *p, const int64_t *variables, int64_t *values, size_t *bytes) {
  rt_values_evaluate(p->sizes.ops, p->sizes.count, variables, values);
  for (size_t i = 0; i < port_count(p); i++) {
    int64_t product = p->ports[i].used ? ir_dtypes[p->ports[i].dtype].bytes : 0;
    for (uint32_t k = 0; k < p->ports[i].rank; k++) {
      int64_t size = values[p->dims[p->ports[i].dims + k]];
      if (size < 0 || !ir_mul_ok(product, size, &product)) product = 0;
    }
    bytes[i] = (size_t)product;
  }
}

/* For the case without variables: once. */
static bool measure_fixed(vf_program *p) {
  if (p->variable_count) return true;
  int64_t *values = ir_alloc(&p->context->mem, p->sizes.count * sizeof *values);
  if (values) measure_ports(p, NULL, values, p->bytes);
  ir_free(&p->context->mem, values, p->sizes.count * sizeof *values);
  return values != NULL;
}

/* Sizes, names and ports from the graph. */
static bool describe_program(vf_program *p, vf_graph *g, ir_error *error) {
  const ir_mem *mem = &p->context->mem;
  size_t nodes = g->ir.count;
  uint32_t *number_of = ir_alloc(mem, nodes * sizeof *number_of);
  char *names = p->names;
  bool good = number_of != NULL;
  if (good) memset(number_of, 0, nodes * sizeof *number_of);
  g->ir.error = error;
  good = good && add_variables(p, g, number_of, &names) && add_ports(p, g, number_of, &names, error) &&
         mark_used(p, g) && measure_fixed(p);
  g->ir.error = &g->error;
  ir_free(mem, number_of, nodes * sizeof *number_of);
  if (!good) ir_fail(error, IR_ERR_MEMORY, "out of memory making program @%.60s", g->name);
  return good;
}

/* A value depends on an argument of a function, outside of it: says which statement needs it. */
static void refuse_escaped(vf_graph *g, ir_error *error) {
  ir_ref *roots = ir_alloc(g->ir.mem, g->output_count * sizeof *roots), *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t user = 0;
  ir_text text;
  for (size_t i = 0; i < g->output_count && roots; i++) roots[i] = g->outputs[i].ref;
  if (roots && ir_reachable(&g->ir, roots, g->output_count, &live, &count, &cap) != IR_OK) count = 0;
  for (size_t i = 0; i < count && !user; i++) {
    const ir_node *n = ir_get(&g->ir, live[i]);
    for (uint32_t s = 0; s < ir_operand_count(n) && !user; s++)
      if (ir_op_of(&g->ir, n->src[s]) == IR_OP_BUFFER) user = fe_statements_first_of(&g->ir, live[i]);
  }
  ir_text_init(&text, g->ir.mem);
  if (user) {
    ir_text_str(&text, "; it is needed by ");
    fe_put_statement(&g->statements, &g->ir, user, &text);
  }
  ir_fail(error, IR_ERR_INVALID, "graph @%.60s: " FE_ESCAPED "%s", g->name, ir_text_get(&text));
  ir_text_free(&text);
  ir_free(g->ir.mem, live, cap * sizeof *live);
  ir_free(g->ir.mem, roots, g->output_count * sizeof *roots);
}

/* Find each input and variable of the runtime by name in the caller's lists. */
static bool match_inputs(vf_program *p, vf_graph *g, ir_error *error) {
  bool same = p->runtime_inputs == p->counts[VF_INPUT] && p->runtime_variables == p->variable_count &&
              (!p->variable_count || FE_NOTES_VALUES);
  for (size_t i = 0; i < p->runtime_inputs; i++) {
    const char *name = rt_program_input(p->program, i).name;
    size_t k = 0;
    while (k < p->counts[VF_INPUT] && strcmp(p->ports[k].name, name) != 0) k++;
    if (k == p->counts[VF_INPUT]) {
      if (*name)
        ir_fail(error, IR_ERR_INTERNAL, "graph @%.60s reads %s, which is no input of it", g->name, name);
      else refuse_escaped(g, error);
      return false;
    }
    p->inputs_from[i] = (uint32_t)k;
    same &= k == i;
  }
  for (size_t i = 0; i < p->runtime_variables; i++) {
    const char *name = rt_program_variable(p->program, i).name;
    size_t k = 0;
    while (k < p->variable_count && strcmp(p->variables[k].name, name) != 0) k++;
    if (k == p->variable_count) {
      ir_fail(error, IR_ERR_INTERNAL, "graph @%.60s depends on %s, which is no variable of it", g->name,
              name);
      return false;
    }
    p->variables_from[i] = (uint32_t)k;
    same &= k == i;
  }
  p->direct = same;
  return true;
}

/* The request lists them in the order of the inputs, as the graph does. */
static void list_references(vf_program *p, const fe_request *request) {
  for (size_t i = 0; i < request->reference_count; i++) p->references[i] = request->references[i].input;
  p->reference_count = request->reference_count;
  p->watched = p->witness && p->witness->watched;
  p->direct &= !p->reference_count && !p->watched && !p->sharded;
  for (size_t i = 0; i < p->reference_count; i++) p->ports[p->references[i]].used = true;
}

vf_program *fe_program_make(vf_graph *g, const fe_request *request, rt_program *program,
                            struct fe_sharded *sharded, ir_error *error) {
  vf_program *p = ir_alloc(&g->context->mem, sizeof *p);
  if (!p) {
    rt_program_release(program);
    if (sharded) fe_sharded_free(sharded);
    ir_free(&g->context->mem, sharded, sizeof *sharded);
    ir_fail(error, IR_ERR_MEMORY, "out of memory making program @%.60s", g->name);
    return NULL;
  }
  *p = (vf_program){.kind = FE_PROGRAM,
                    .context = g->context,
                    .program = program,
                    .sharded = sharded,
                    .variable_count = g->variable_count,
                    .graph = g,
                    .epoch = g->epoch};
  p->sizes.mem = &g->context->mem;
  p->counts[VF_INPUT] = g->input_count;
  p->counts[VF_OUTPUT] = g->output_count;
  p->runtime_inputs = rt_program_input_count(program);
  p->runtime_variables = sharded ? 0 : rt_program_variable_count(program); /* a mesh gives its devices' */
  p->constant_count = rt_program_constant_count(program);
  measure_names(p, &g->ir, g->inputs, g->input_count);
  measure_names(p, &g->ir, g->outputs, g->output_count);
  measure_names(p, &g->ir, g->variables, g->variable_count);
  if (!allocate_arrays(p)) ir_fail(error, IR_ERR_MEMORY, "out of memory making program @%.60s", g->name);
  if (!error->status) p->witness = fe_witness_make(g, error);
  if (!error->status && describe_program(p, g, error) && match_inputs(p, g, error)) {
    list_references(p, request);
    fe_context_retain(g->context);
    return p;
  }
  free_program(p);
  return NULL;
}

vf_program *vf_compile(vf_graph *g, vf_error *error) {
  ir_error failure = {0};
  vf_program *p = NULL;
  fe_request request;
  if (fe_not(g, FE_GRAPH)) {
    ir_fail(&failure, IR_ERR_INVALID, "compile: the graph is %s", fe_not(g, FE_GRAPH));
  } else if (fe_graph_request(g, &request, &failure)) {
    unsigned failures = fe_failures(g->context);
    rt_program *program;
    fe_found found;
    if (fe_found_list(&g->ir, request.results, request.inputs, request.input_count, request.vars,
                      request.var_count, &found, &failure) &&
        fe_found_compile(g->context->runtime, &request, &found, &failure) &&
        fe_compile(g->context->runtime, &request, &program, &failure) == IR_OK)
      p = fe_program_make(g, &request, program, NULL, &failure);
    if (p) p->found = found, p->direct &= !found.count;
    else fe_found_free(&found);
    fe_graph_request_free(g, &request);
    fe_report_as_memory(g->context, failures, &failure);
  }
  fe_report(error, &failure);
  return p;
}

void vf_program_destroy(vf_program *p) {
  if (!fe_is(p, FE_PROGRAM)) return;
  vf_context *c = p->context;
  free_program(p);
  fe_context_release(c);
}

vf_status vf_program_set_constant(vf_program *p, vf_value constant, const void *elements, vf_release release,
                                  void *user, vf_error *error) {
  ir_error failure = {0};
  size_t number = 0;
  bool taken = false;
  const char *wrong = fe_not(p, FE_PROGRAM);
  bool mine = !wrong && constant.graph == p->graph && constant.epoch == p->epoch;
  while (!wrong && number < p->constant_count && (!mine || p->constants[number] != constant.id)) number++;
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "set_constant: the program is %s", wrong);
  else if (number == p->constant_count)
    ir_fail(&failure, IR_ERR_INVALID,
            "program @%.60s: the value is none of the %zu constants that its outputs depend on; arrays of at "
            "most "
            "1024 bytes are literals, which cannot be replaced",
            rt_program_name(p->program), p->constant_count);
  else if (p->sharded)
    ir_fail(&failure, IR_ERR_UNSUPPORTED,
            "program @%.60s: constants of a program on a mesh cannot be replaced; make it an input",
            rt_program_name(p->program));
  else if (!elements && rt_program_constant_bytes(p->program, number))
    ir_fail(&failure, IR_ERR_INVALID, "set_constant: the elements are NULL");
  else {
    unsigned failures = fe_failures(p->context);
    rt_program *made;
    size_t bytes = rt_program_constant_bytes(p->program, number);
    rt_constant *given = fe_constant_borrow(p->context, elements, bytes, release, user, &failure);
    taken = given != NULL;
    if (taken && rt_program_rebind(p->program, number, given, &made, &failure) == IR_OK) {
      rt_program *old = p->program;
      p->program = made;
      rt_program_release(old); /* which may call the owner of elements that nothing uses any more */
    }
    rt_constant_release(given);
    fe_report_as_memory(p->context, failures, &failure);
  }
  if (!taken && release) release(elements, user);
  return fe_report(error, &failure);
}

/* running */

typedef struct run_way {
  bool placed;         /* on addresses of the device */
  fe_profile *profile; /* that is to note the run; or NULL */
} run_way;

static ir_status run_in_order(const vf_program *p, run_way way, const void *const *inputs,
                              void *const *outputs, const int64_t *variables, ir_error *error) {
  const ir_mem *mem = &p->context->mem;
  void *few_inputs[FE_FEW_BUFFERS], **in = few_inputs, *few_outputs[FE_FEW_BUFFERS], **out = few_outputs;
  size_t results = p->reference_count ? p->counts[VF_OUTPUT] + p->reference_count : 0;
  int64_t few_variables[FE_FEW_BUFFERS], *values = few_variables;
  if (p->runtime_inputs > FE_FEW_BUFFERS) in = ir_alloc(mem, p->runtime_inputs * sizeof *in);
  if (p->runtime_variables > FE_FEW_BUFFERS) values = ir_alloc(mem, p->runtime_variables * sizeof *values);
  if (results > FE_FEW_BUFFERS) out = ir_alloc(mem, results * sizeof *out);
  if (in && values && out) {
    for (size_t i = 0; i < results; i++) /* references lie where the inputs do */
      out[i] = i < p->counts[VF_OUTPUT] ? outputs[i]
                                        : (void *)(uintptr_t)inputs[p->references[i - p->counts[VF_OUTPUT]]];
    for (size_t i = 0; i < p->runtime_inputs; i++) in[i] = (void *)(uintptr_t)inputs[p->inputs_from[i]];
    for (size_t i = 0; i < p->runtime_variables; i++) values[i] = variables[p->variables_from[i]];
    void *const *to = results ? out : outputs;
    fe_watched_run watched = {.program = p->program, .inputs = in, .outputs = to, .values = values};
    if (p->sharded && way.profile)
      ir_fail(error, IR_ERR_UNSUPPORTED, "program @%.60s: a profile is of one device, not of a mesh",
              rt_program_name(p->program));
    else if (p->sharded) fe_sharded_run(p->sharded, (void *const *)(uintptr_t)inputs, to, variables, error);
    else if (way.profile) fe_profile_run(way.profile, in, to, values, error);
    else if (p->watched && !way.placed) fe_witness_run(p->witness, p, &watched, inputs, variables, error);
    else (way.placed ? rt_program_run_placed : rt_program_run)(p->program, in, to, values, error);
  } else {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for a run");
  }
  if (in != few_inputs) ir_free(mem, in, p->runtime_inputs * sizeof *in);
  if (out != few_outputs) ir_free(mem, out, results * sizeof *out);
  if (values != few_variables) ir_free(mem, values, p->runtime_variables * sizeof *values);
  return error->status;
}

/* Is a buffer NULL, or not aligned as the port's elements? Such a one may be good all the same. */
static inline bool doubtful(const fe_port *port, const void *buffer) {
  return !buffer | (((uintptr_t)buffer & port->below) != 0);
}
static bool any_doubtful(const fe_port *ports, const void *const *list, size_t count) {
  bool found = false;
  for (size_t i = 0; i < count; i++) found |= doubtful(&ports[i], list[i]);
  return found;
}

/* A buffer may be NULL, or at any address, only for a port of no bytes, or for an input that no result
 * depends on. */
static bool check_buffer(const vf_program *p, vf_port which, size_t i, const void *buffer,
                         const int64_t *variables, ir_error *error) {
  const fe_port *port = &p->ports[which * p->counts[VF_INPUT] + i];
  if (!doubtful(port, buffer) || !port->used || vf_port_bytes(p, which, (int)i, variables, NULL) == 0)
    return true;
  const char *what = which == VF_INPUT ? "input" : "output";
  if (!buffer)
    ir_fail(error, IR_ERR_INVALID, "program @%.60s: the buffer of %s %.60s is NULL",
            rt_program_name(p->program), what, port->name);
  else
    ir_fail(
        error, IR_ERR_INVALID,
        "program @%.60s: the buffer of %s %.60s is at address 0x%llx; elements of %s lie at multiples of %d "
        "bytes, as in memory of malloc: copy them there",
        rt_program_name(p->program), what, port->name, (unsigned long long)(uintptr_t)buffer,
        ir_dtypes[port->dtype].name, port->below + 1);
  return false;
}

static bool check_buffers(const vf_program *p, const void *const *inputs, void *const *outputs,
                          const int64_t *variables, ir_error *error) {
  bool good = true;
  for (size_t i = 0; i < p->runtime_inputs && good; i++)
    good = check_buffer(p, VF_INPUT, p->inputs_from[i], inputs[p->inputs_from[i]], variables, error);
  for (size_t i = 0; i < p->counts[VF_OUTPUT] && good; i++)
    good = check_buffer(p, VF_OUTPUT, i, outputs[i], variables, error);
  return good;
}

static bool refuse_overlap(const vf_program *p, const fe_overlap_pair *o, ir_error *error) {
  ir_fail(
      error, IR_ERR_INVALID,
      "program @%.60s: output %.60s overlaps %s %.60s in memory; give each output memory that nothing else "
      "uses%s",
      rt_program_name(p->program), vf_port_name(p, VF_OUTPUT, (int)o->output),
      o->with_input ? "input" : "output",
      vf_port_name(p, o->with_input ? VF_INPUT : VF_OUTPUT, (int)o->first),
      o->with_input ? "; what a run changes in place is a reference, vf_ref_input" : "");
  return false;
}

/* A run changes the memory of references: no other input may lie there. */
static bool check_references(const vf_program *p, const void *const *inputs, const size_t *bytes,
                             ir_error *error) {
  for (size_t r = 0; r < p->reference_count; r++) {
    uint32_t own = p->references[r];
    size_t i = 0;
    while (i < p->counts[VF_INPUT] && (i == own || !fe_overlap(inputs[own], bytes[own], inputs[i], bytes[i])))
      i++;
    if (i == p->counts[VF_INPUT]) continue;
    ir_fail(error, IR_ERR_INVALID,
            "program @%.60s: input %.60s overlaps the reference %.60s in memory, which the run changes; give "
            "each memory of its own",
            rt_program_name(p->program), p->ports[i].name, p->ports[own].name);
    return false;
  }
  return true;
}

static inline bool check_overlaps(const vf_program *p, const void *const *inputs, void *const *outputs,
                                  const size_t *bytes, ir_error *error) {
  fe_overlap_pair found;
  return (!fe_overlap_find(inputs, p->counts[VF_INPUT], outputs, p->counts[VF_OUTPUT], bytes, &found) ||
          refuse_overlap(p, &found, error)) &&
         (!p->reference_count || check_references(p, inputs, bytes, error));
}

/* The same where sizes follow from variables. */
static bool check_sized(const vf_program *p, const void *const *inputs, void *const *outputs,
                        const int64_t *variables, ir_error *error) {
  if (!p->variable_count) return check_overlaps(p, inputs, outputs, p->bytes, error);
  const ir_mem *mem = &p->context->mem;
  int64_t few_values[2 * FE_FEW_BUFFERS], *values = few_values;
  size_t few_bytes[FE_FEW_BUFFERS], *bytes = few_bytes;
  if (p->sizes.count > 2 * FE_FEW_BUFFERS) values = ir_alloc(mem, p->sizes.count * sizeof *values);
  if (port_count(p) > FE_FEW_BUFFERS) bytes = ir_alloc(mem, port_count(p) * sizeof *bytes);
  if (values && bytes) {
    measure_ports(p, variables, values, bytes);
    check_overlaps(p, inputs, outputs, bytes, error);
  } else {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for a run");
  }
  if (values != few_values) ir_free(mem, values, p->sizes.count * sizeof *values);
  if (bytes != few_bytes) ir_free(mem, bytes, port_count(p) * sizeof *bytes);
  return !error->status;
}

/* The general case; vf_program_run handles the common one: lists that are known to be good. */
static void run_checked(const vf_program *p, run_way way, const void *const *inputs, void *const *outputs,
                        const int64_t *variables, ir_error *error) {
  const char *wrong = fe_not(p, FE_PROGRAM);
  if (wrong) ir_fail(error, IR_ERR_INVALID, "run: the program is %s", wrong);
  else if ((!outputs && p->counts[VF_OUTPUT]) || (!inputs && p->counts[VF_INPUT]))
    ir_fail(error, IR_ERR_INVALID, "program @%.60s: the list of %s is NULL", rt_program_name(p->program),
            outputs || !p->counts[VF_OUTPUT] ? "inputs" : "outputs");
  else if (fe_check_values(p, variables, error) && check_buffers(p, inputs, outputs, variables, error) &&
           check_sized(p, inputs, outputs, variables, error))
    run_in_order(p, way, inputs, outputs, variables, error);
}

/* The values of all variables, in `values`: of those that the run finds out after it has found them. */
static bool find_sizes(const vf_program *p, const void *const *inputs, const int64_t *variables,
                       int64_t *values, ir_error *error) {
  for (size_t i = 0; i < p->variable_count; i++) {
    if (!p->found.is_found[i] && !variables) return fe_check_values(p, NULL, error);
    values[i] = p->found.is_found[i] ? p->variables[i].lo : variables[i];
  }
  return fe_check_values(p, values, error) && (!inputs || fe_found_run(&p->found, inputs, values, error));
}

/* A run of whatever program. Says which index was out of range. */
static void run_any(const vf_program *p, run_way way, const void *const *inputs, void *const *outputs,
                    const int64_t *variables, ir_error *error) {
  if (fe_not(p, FE_PROGRAM) || !p->found.count) {
    run_checked(p, way, inputs, outputs, variables, error);
    if (error->status == IR_ERR_RANGE && p->witness) fe_witness_blame(p->witness, inputs, variables, error);
    return;
  }
  int64_t *values = ir_alloc(&p->context->mem, p->variable_count * sizeof *values);
  if (!values) ir_fail(error, IR_ERR_MEMORY, "out of memory for a run");
  else if (find_sizes(p, inputs, variables, values, error))
    run_checked(p, way, inputs, outputs, values, error);
  if (error->status == IR_ERR_RANGE && p->witness) fe_witness_blame(p->witness, inputs, values, error);
  ir_free(&p->context->mem, values, p->variable_count * sizeof *values);
}

vf_status vf_program_find_sizes(const vf_program *p, const void *const *inputs, int64_t *variables,
                                vf_error *error) {
  ir_error failure = {0};
  const char *wrong = fe_not(p, FE_PROGRAM);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "find_sizes: the program is %s", wrong);
  else if (!inputs || !variables)
    ir_fail(&failure, IR_ERR_INVALID, "find_sizes: the list of %s is NULL", inputs ? "variables" : "inputs");
  else if (p->found.count) find_sizes(p, inputs, variables, variables, &failure);
  return fe_report(error, &failure);
}

ir_status fe_program_run_placed(const vf_program *p, const void *const *inputs, void *const *outputs,
                                const int64_t *variables, ir_error *error) {
  if (fe_check_values(p, variables, error))
    run_in_order(p, (run_way){.placed = true}, inputs, outputs, variables, error);
  return error->status;
}

bool fe_check_buffers(const vf_program *p, const void *const *inputs, void *const *outputs, ir_error *error) {
  return !any_doubtful(p->ports, inputs, p->counts[VF_INPUT]) &&
         !any_doubtful(p->ports + p->counts[VF_INPUT], (const void *const *)outputs, p->counts[VF_OUTPUT]) &&
         check_overlaps(p, inputs, outputs, p->bytes, error);
}

static inline fe_run_list list_of(const vf_program *p, const void *const *inputs, void *const *outputs,
                                  const int64_t *variables) {
  return (fe_run_list){inputs,           outputs, variables, p->counts[VF_INPUT], p->counts[VF_OUTPUT],
                       p->variable_count};
}

/* A run with a list that is not known to be good, and is noted if it is. */
static void run_direct(const vf_program *p, const void *const *inputs, void *const *outputs,
                       const int64_t *variables, ir_error *error) {
  if (!p->variable_count && fe_check_buffers(p, inputs, outputs, error)) {
    fe_good_lists_note(p->good, list_of(p, inputs, outputs, NULL));
    rt_program_run(p->program, (void *const *)(uintptr_t)inputs, outputs, NULL, error);
  } else if (!error->status) {
    run_checked(p, (run_way){0}, inputs, outputs, variables, error);
    if (!error->status) fe_good_lists_note(p->good, list_of(p, inputs, outputs, variables));
  }
}

vf_status vf_program_run(const vf_program *p, const void *const *inputs, void *const *outputs,
                         const int64_t *variables, vf_error *error) {
  ir_error failure;
  failure.status = IR_OK; /* the text is written only when something failed */
  bool direct =
      p && p->kind == FE_PROGRAM && p->direct && inputs && outputs && (variables || !p->variable_count);
  if (direct) {
    if (fe_good_lists_know(p->good, list_of(p, inputs, outputs, variables)))
      rt_program_run(p->program, (void *const *)(uintptr_t)inputs, outputs, variables, &failure);
    else run_direct(p, inputs, outputs, variables, &failure);
    if (failure.status == IR_ERR_RANGE && p->witness)
      fe_witness_blame(p->witness, inputs, variables, &failure);
  } else run_any(p, (run_way){0}, inputs, outputs, variables, &failure);
  return failure.status || error ? fe_report(error, &failure) : VF_OK;
}

ir_status fe_program_run_profiled(const vf_program *p, fe_profile *profile, const void *const *inputs,
                                  void *const *outputs, const int64_t *variables, ir_error *error) {
  run_any(p, (run_way){.profile = profile}, inputs, outputs, variables, error);
  return error->status;
}

vf_context *fe_program_context(const vf_program *p) { return p->context; }
const rt_program *fe_program_runtime(const vf_program *p) { return p->program; }
bool fe_program_is_of(const vf_program *p, const vf_graph *g) {
  return p->graph == g && p->epoch == g->epoch;
}
