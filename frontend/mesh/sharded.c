/* From a graph with a mesh to a program on its devices. */
#include "frontend/mesh/sharded.h"

#include <string.h>

#include "passes/batch/batch.h"

static ir_status no_memory(const fe_request *r, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "graph @%.60s: out of memory for a mesh", r->name);
}

static ir_status check_mesh(const rt_context *context, const fe_request *r, ir_error *error) {
  const ir_mesh *mesh = ir_graph_mesh(r->graph);
  if (!mesh)
    return ir_fail(error, IR_ERR_INVALID,
                   "graph @%.60s has no mesh; a text declares one, as in mesh @m [x=2,y=4]", r->name);
  bool joined = rt_context_post(context) != NULL;
  for (uint32_t d = 0; mesh->devices && d < mesh->device_count; d++)
    if (strcmp(mesh->devices[d].name, "cpu") != 0 || (mesh->devices[d].rank && !joined))
      return ir_fail(
          error, IR_ERR_UNSUPPORTED,
          "graph @%.60s: device %u of the mesh is %s of process %u; the devices of a run are threads of one "
          "process, cpu",
          r->name, d, mesh->devices[d].name, mesh->devices[d].rank);
  return IR_OK;
}

/* The copy, batches physical, and the program of a device in it. */
static ir_status make_program(fe_sharded *s, const fe_request *r, ir_error *error) {
  const ir_mem *mem = r->graph->mem;
  if (ir_graph_init(&s->graph, mem, error) != IR_OK) return error->status;
  s->graph.customs = r->graph->customs;
  s->input_count = r->input_count;
  s->var_count = r->var_count;
  s->ref_count = 1 + r->input_count + r->var_count;
  s->refs = ir_alloc(mem, s->ref_count * sizeof *s->refs);
  s->references = ir_alloc(mem, r->reference_count * sizeof *s->references);
  if (!s->refs || !s->references) return no_memory(r, error);
  s->reference_count = r->reference_count;
  if (r->reference_count) memcpy(s->references, r->references, r->reference_count * sizeof *s->references);
  s->refs[0] = r->results;
  if (r->input_count) memcpy(s->refs + 1, r->inputs, r->input_count * sizeof *s->refs);
  if (r->var_count) memcpy(s->refs + 1 + r->input_count, r->vars, r->var_count * sizeof *s->refs);
  if (ir_graph_copy(&s->graph, r->graph, s->refs, s->ref_count, NULL) != IR_OK) return no_memory(r, error);
  bool good = pass_physicalize(&s->graph, s->refs, 1 + s->input_count);
  shard_request of = {.root = s->refs[0],
                      .inputs = s->refs + 1,
                      .input_count = s->input_count,
                      .references = s->references,
                      .reference_count = s->reference_count,
                      .device = SHARD_ALL};
  if (good && pass_shard(&s->graph, &of, &s->parts)) return error->status;
  return error->status ? error->status : no_memory(r, error);
}

/* Compiles the program of a device: its inputs are the parts, its variables those of the graph, coordinates
 * and sizes of parts. */
static ir_status compile(fe_sharded *s, const fe_request *r, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  size_t vars = s->var_count + s->parts.variable_count;
  ir_ref *list = ir_alloc(mem, (s->input_count + vars) * sizeof *list);
  if (!list) return no_memory(r, error);
  for (size_t i = 0; i < s->input_count; i++) list[i] = s->parts.inputs[i].local;
  ir_ref *of_vars = list + s->input_count;
  for (size_t i = 0; i < s->var_count; i++) of_vars[i] = s->refs[1 + s->input_count + i];
  for (size_t i = 0; i < s->parts.variable_count; i++) of_vars[s->var_count + i] = s->parts.variables[i].var;
  fe_request own = *r;
  own.graph = &s->graph;
  own.results = s->parts.root;
  own.inputs = list;
  own.vars = of_vars;
  own.var_count = vars;
  ir_status status = fe_compile(s->context, &own, &s->program, error);
  ir_free(mem, list, (s->input_count + vars) * sizeof *list);
  return status;
}

static const char *var_name(const fe_sharded *s, ir_ref var) {
  return ir_name_text(&s->graph, ir_get(&s->graph, var)->arg);
}

/* Matches the program's inputs and variables by name. */
static ir_status match(fe_sharded *s, const fe_request *r, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  s->program_inputs = rt_program_input_count(s->program);
  s->program_vars = rt_program_variable_count(s->program);
  s->input_of = ir_alloc(mem, s->program_inputs * sizeof *s->input_of);
  s->variable_of = ir_alloc(mem, s->program_vars * sizeof *s->variable_of);
  if (!s->input_of || !s->variable_of) return no_memory(r, error);
  for (size_t i = 0; i < s->program_inputs; i++) {
    const char *name = rt_program_input(s->program, i).name;
    size_t k = 0;
    while (k < s->input_count && strcmp(name, var_name(s, s->parts.inputs[k].local)) != 0) k++;
    s->input_of[i] = (int32_t)k;
    if (k == s->input_count)
      return ir_fail(error, IR_ERR_INTERNAL, "graph @%.60s: its program has an input %%%s of its own",
                     r->name, name);
  }
  for (size_t i = 0; i < s->program_vars; i++) {
    const char *name = rt_program_variable(s->program, i).name;
    size_t k = 0, all = s->var_count + s->parts.variable_count;
    for (; k < all; k++) {
      ir_ref var =
          k < s->var_count ? s->refs[1 + s->input_count + k] : s->parts.variables[k - s->var_count].var;
      if (strcmp(name, var_name(s, var)) == 0) break;
    }
    s->variable_of[i] = (int32_t)k;
    if (k == all)
      return ir_fail(error, IR_ERR_INVALID, "graph @%.60s: the size %s is not declared", r->name, name);
  }
  return IR_OK;
}

static ir_status make_devices(fe_sharded *s, const fe_request *r, bool slow, ir_error *error) {
  const ir_mesh *mesh = ir_graph_mesh(&s->graph);
  const ir_mem *mem = s->graph.mem;
  size_t bytes = mesh->device_count * sizeof(rt_program *);
  ir_status status = rt_mesh_make(mem, mesh, slow, rt_context_post(s->context), &s->mesh, error);
  rt_program **programs = status ? NULL : ir_alloc(mem, bytes);
  if (!status && !programs) status = no_memory(r, error);
  for (uint32_t d = 0; d < mesh->device_count && programs; d++) programs[d] = s->program;
  if (!status) status = rt_mesh_program_make(s->mesh, programs, &s->devices, error);
  ir_free(mem, programs, bytes);
  return status;
}

ir_status fe_sharded_make(rt_context *context, const fe_request *r, bool slow, fe_sharded *s,
                          ir_error *error) {
  *s = (fe_sharded){.context = context, .graph.mem = r->graph->mem};
  ir_status status = check_mesh(context, r, error);
  if (!status && pthread_mutex_init(&s->lock, NULL) != 0) status = no_memory(r, error);
  s->has_lock = !status;
  if (!status) status = make_program(s, r, error);
  if (!status) status = compile(s, r, error);
  if (!status) status = match(s, r, error);
  if (!status) status = make_devices(s, r, slow, error);
  s->graph.error = NULL; /* runs evaluate its expressions, and tell errors of their own */
  return status;
}

void fe_sharded_free(fe_sharded *s) {
  const ir_mem *mem = s->graph.mem;
  if (!mem) return;
  rt_mesh_program_free(s->devices);
  rt_mesh_free(s->mesh);
  rt_program_release(s->program);
  ir_free(mem, s->input_of, s->program_inputs * sizeof *s->input_of);
  ir_free(mem, s->variable_of, s->program_vars * sizeof *s->variable_of);
  ir_free(mem, s->refs, s->ref_count * sizeof *s->refs);
  ir_free(mem, s->references, s->reference_count * sizeof *s->references);
  shard_program_free(&s->parts);
  ir_graph_free(&s->graph);
  if (s->has_lock) pthread_mutex_destroy(&s->lock);
  *s = (fe_sharded){0};
}
