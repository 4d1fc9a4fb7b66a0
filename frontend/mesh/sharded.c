/* From a graph with a mesh to a program on its devices. */
#include "frontend/mesh/sharded.h"

#include <string.h>

#include "frontend/machine/agree.h"
#include "frontend/machine/mesh_costs.h"
#include "ir/mesh/link.h"
#include "passes/batch/batch.h"
#include "runtime/mesh/post.h"

static ir_status no_memory(const fe_request *r, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "graph @%.60s: out of memory for a mesh", r->name);
}

static ir_status check_mesh(const rt_context *context, const fe_request *r, ir_error *error) {
  const ir_mesh *mesh = ir_graph_mesh(r->graph);
  if (!mesh)
    return ir_fail(error, IR_ERR_INVALID,
                   "graph @%.60s has no mesh; a text declares one, as in mesh @m [x=2,y=4]", r->name);
  bool joined = rt_context_post(context) != NULL;
  for (uint32_t d = 0; mesh->devices && d < mesh->device_count; d++) {
    const ir_mesh_device *at = &mesh->devices[d];
    if (!rt_device_is_name(at->name))
      return ir_fail(
          error, IR_ERR_INVALID,
          "graph @%.60s: device %u of the mesh is \"%s\"; there are cpu, c, opencl, opencl:NUMBER and "
          "opencl:PART OF NAME",
          r->name, d, at->name);
    if (at->rank && !joined)
      return ir_fail(
          error, IR_ERR_UNSUPPORTED,
          "graph @%.60s: device %u of the mesh is %s of process %u; this process has joined no others",
          r->name, d, at->name, at->rank);
  }
  return IR_OK;
}

static const char *device_name(const ir_mesh *mesh, uint32_t device) {
  return mesh->devices ? mesh->devices[device].name : NULL;
}

static bool has_unlike_devices(const ir_mesh *mesh) {
  bool unlike = false;
  for (uint32_t d = 1; mesh->devices && d < mesh->device_count; d++)
    unlike |= strcmp(mesh->devices[d].name, mesh->devices[0].name) != 0;
  return unlike;
}

/* The copy, batches physical, and the program of a device in it. */
static ir_status divide(fe_sharded *s, const fe_request *r, ir_error *error) {
  const ir_mem *mem = r->graph->mem;
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
  if (fe_mesh_take_kept(s->context, &s->graph, NULL, error) != IR_OK) return error->status;
  bool good = pass_physicalize(&s->graph, s->refs, 1 + s->input_count);
  shard_request of = {.root = s->refs[0],
                      .inputs = s->refs + 1,
                      .input_count = s->input_count,
                      .references = s->references,
                      .reference_count = s->reference_count,
                      .device = SHARD_ALL,
                      .divides_constants = true,
                      .numbers = has_unlike_devices(ir_graph_mesh(&s->graph)),
                      .tells = true};
  if (!good || !pass_shard(&s->graph, &of, &s->parts))
    return error->status ? error->status : no_memory(r, error);
  fe_sharded_find_words(s, r);
  return error->status;
}

/* The same, with the causes of nodes, by which what asks for exchanges is found. */
static ir_status make_program(fe_sharded *s, const fe_request *r, ir_error *error) {
  ir_causes causes = {0};
  if (ir_graph_init(&s->graph, r->graph->mem, error) != IR_OK) return error->status;
  if (r->statements && r->graph->causes) ir_causes_open(&causes, &s->graph);
  ir_status status = divide(s, r, error);
  ir_causes_free(&causes);
  s->graph.causes = NULL;
  return status;
}

/* The constants that a device's program is bound to. */
typedef struct finding {
  const fe_sharded *s;
  const char *name; /* of the graph */
  rt_context *context;
  rt_constant *const *wholes; /* by constant of parts.constants */
  uint32_t device;
} finding;

static ir_status find_part(const finding *f, size_t number, rt_constant **out, ir_error *error) {
  const ir_graph *g = &f->s->graph;
  const shard_constant *c = &f->s->parts.constants[number];
  ir_box whole = {.rank = ir_rank(g, c->global)}, part, room;
  for (uint32_t k = 0; k < whole.rank; k++) ir_is_const(g, ir_dim(g, c->global, k), &whole.hi[k]);
  ir_spec_box(ir_graph_mesh(g), &c->spec, whole.hi, f->device, &part);
  room = part;
  for (uint32_t k = 0; k < whole.rank; k++) {
    ir_is_const(g, ir_dim(g, c->local, k), &room.hi[k]);
    room.hi[k] += room.lo[k];
  }
  return rt_constant_part(f->context, f->wholes[number], &whole, &part, &room,
                          ir_dtypes[ir_dtype_of(g, c->global)].bytes, out, error);
}

static ir_status find_constants(void *user, const ir_ref *resources, size_t count, rt_constant **out,
                                ir_error *error) {
  const finding *f = user;
  const shard_program *p = &f->s->parts;
  ir_status status = IR_OK;
  for (size_t i = 0; i < count && !status; i++) {
    size_t k = 0;
    while (k < p->constant_count && p->constants[k].local != resources[i]) k++;
    status = k < p->constant_count
                 ? find_part(f, k, &out[i], error)
                 : fe_find_constants(f->context, f->name, &f->s->graph, &resources[i], 1, &out[i], error);
  }
  return status;
}

/* Compiles the program for a device, or finds it compiled, and binds it to the device's constants. Its inputs
 * are the parts, its variables those of the graph, coordinates and sizes of parts. */
static ir_status compile(fe_sharded *s, const fe_request *r, finding *f, rt_program **out, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  size_t vars = s->var_count + s->parts.variable_count;
  ir_ref *list = ir_alloc(mem, (s->input_count + vars) * sizeof *list);
  if (!list) return no_memory(r, error);
  for (size_t i = 0; i < s->input_count; i++) list[i] = s->parts.inputs[i].local;
  ir_ref *of_vars = list + s->input_count;
  for (size_t i = 0; i < s->var_count; i++) of_vars[i] = s->refs[1 + s->input_count + i];
  for (size_t i = 0; i < s->parts.variable_count; i++) of_vars[s->var_count + i] = s->parts.variables[i].var;
  const ir_mesh *mesh = ir_graph_mesh(&s->graph);
  fe_request own = *r;
  own.graph = &s->graph;
  own.results = s->parts.root;
  own.inputs = list;
  own.vars = of_vars;
  own.var_count = vars;
  if (!has_unlike_devices(mesh) && shard_mesh_is_calibrated(mesh)) own.link = ir_link_slowest(mesh);
  if (f->context != s->context) own.constants = s->context;
  if (s->parts.constant_count) {
    own.find = find_constants;
    own.find_user = f;
    own.of_parts = mesh->device_count;
  }
  ir_status status = fe_compile(f->context, &own, out, error);
  ir_free(mem, list, (s->input_count + vars) * sizeof *list);
  return status;
}

static const char *var_name(const fe_sharded *s, ir_ref var) {
  return ir_name_text(&s->graph, ir_get(&s->graph, var)->arg);
}

/* Matches the program's inputs and variables by name. */
static ir_status match(const fe_sharded *s, const fe_request *r, fe_device_program *p, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  p->inputs = rt_program_input_count(p->program);
  p->vars = rt_program_variable_count(p->program);
  p->input_of = ir_alloc(mem, p->inputs * sizeof *p->input_of);
  p->variable_of = ir_alloc(mem, p->vars * sizeof *p->variable_of);
  if (!p->input_of || !p->variable_of) return no_memory(r, error);
  for (size_t i = 0; i < p->inputs; i++) {
    const char *name = rt_program_input(p->program, i).name;
    size_t k = 0;
    while (k < s->input_count && strcmp(name, var_name(s, s->parts.inputs[k].local)) != 0) k++;
    p->input_of[i] = (int32_t)k;
    if (k == s->input_count)
      return ir_fail(error, IR_ERR_INTERNAL, "graph @%.60s: its program has an input %%%s of its own",
                     r->name, name);
  }
  for (size_t i = 0; i < p->vars; i++) {
    const char *name = rt_program_variable(p->program, i).name;
    size_t k = 0, all = s->var_count + s->parts.variable_count;
    for (; k < all; k++) {
      ir_ref var =
          k < s->var_count ? s->refs[1 + s->input_count + k] : s->parts.variables[k - s->var_count].var;
      if (strcmp(name, var_name(s, var)) == 0) break;
    }
    p->variable_of[i] = (int32_t)k;
    if (k == all)
      return ir_fail(error, IR_ERR_INVALID, "graph @%.60s: the size %s is not declared", r->name, name);
  }
  return IR_OK;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* A program for the devices of that name, of which `device` is the first. */
static ir_status add_program(fe_sharded *s, const fe_request *r, const char *name, finding *f,
                             ir_error *error) {
  fe_device_program *p = &s->programs[s->program_count++];
  *p = (fe_device_program){.name = name, .context = s->context};
  ir_status status = name ? rt_context_beside(s->context, name, &p->context, error) : IR_OK;
  f->context = p->context;
  if (!status) status = compile(s, r, f, &p->program, error);
  if (!status) status = match(s, r, p, error);
  s->most_inputs = larger(s->most_inputs, p->inputs);
  s->most_vars = larger(s->most_vars, p->vars);
  if (!status) rt_program_retain(s->bound[f->device] = p->program);
  return status;
}

static bool same_name(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* The program of each device of this process. */
static ir_status add_programs(fe_sharded *s, const fe_request *r, rt_constant *const *wholes,
                              ir_error *error) {
  const ir_mesh *mesh = rt_mesh_axes(s->mesh);
  ir_status status = IR_OK;
  for (uint32_t d = 0; d < mesh->device_count && !status; d++) {
    const char *name = device_name(mesh, d);
    finding f = {s, r->name, NULL, wholes, d};
    uint32_t k = 0;
    if (!rt_mesh_has(s->mesh, d)) continue;
    while (k < s->program_count && !same_name(s->programs[k].name, name)) k++;
    s->program_of[d] = k;
    if (k == s->program_count) {
      status = add_program(s, r, name, &f, error);
    } else if (s->parts.constant_count) {
      f.context = s->programs[k].context;
      status = compile(s, r, &f, &s->bound[d], error);
    } else {
      rt_program_retain(s->bound[d] = s->programs[k].program);
    }
  }
  if (!status) s->program = s->programs[0].program;
  return status;
}

static ir_status make_programs(fe_sharded *s, const fe_request *r, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  const shard_program *p = &s->parts;
  uint32_t devices = rt_mesh_axes(s->mesh)->device_count;
  s->programs = ir_alloc(mem, devices * sizeof *s->programs);
  s->program_of = ir_alloc(mem, devices * sizeof *s->program_of);
  s->bound = ir_alloc(mem, devices * sizeof *s->bound);
  if (s->bound) memset(s->bound, 0, devices * sizeof *s->bound);
  if (s->program_of) memset(s->program_of, 0, devices * sizeof *s->program_of);
  rt_constant **wholes = ir_alloc(mem, p->constant_count * sizeof *wholes);
  ir_ref *resources = ir_alloc(mem, p->constant_count * sizeof *resources);
  ir_status status = IR_OK;
  if (!s->programs || !s->program_of || !s->bound || !wholes || !resources) status = no_memory(r, error);
  for (size_t i = 0; i < p->constant_count && resources; i++) resources[i] = p->constants[i].global;
  bool found = !status && p->constant_count;
  if (found)
    status = fe_find_constants(s->context, r->name, &s->graph, resources, p->constant_count, wholes, error);
  if (!status) status = add_programs(s, r, wholes, error);
  for (size_t i = 0; i < p->constant_count && found; i++) rt_constant_release(wholes[i]);
  ir_free(mem, wholes, p->constant_count * sizeof *wholes);
  ir_free(mem, resources, p->constant_count * sizeof *resources);
  return status;
}

static ir_status make_devices(fe_sharded *s, const fe_request *r, ir_error *error) {
  const ir_mem *mem = s->graph.mem;
  uint32_t devices = rt_mesh_axes(s->mesh)->device_count;
  rt_program **programs = ir_alloc(mem, devices * sizeof *programs);
  if (!programs) return no_memory(r, error);
  for (uint32_t d = 0; d < devices; d++) programs[d] = s->bound[d] ? s->bound[d] : s->program;
  ir_status status = rt_mesh_program_make(s->mesh, programs, &s->devices, error);
  ir_free(mem, programs, devices * sizeof *programs);
  for (size_t i = 0; i < s->parts.exchange_count && s->words && !status; i++)
    if (*s->words[i]) rt_mesh_program_say(s->devices, i, s->words[i]);
  return status;
}

/* Of several processes, 0 compiles first: others that share its cache find its kernels there. */
static ir_status make_in_turn(fe_sharded *s, const fe_request *r, ir_error *error) {
  rt_post *post = rt_context_post(s->context);
  bool first = !post || rt_post_transport(post)->process == 0;
  unsigned char nothing = 0;
  ir_status status = first ? make_programs(s, r, error) : IR_OK;
  if (post && status) return rt_mesh_fail(s->mesh, error);
  if (post) status = fe_first_row(s->context, s->mesh, s->graph.mem, &nothing, 1, error);
  return first || status ? status : make_programs(s, r, error);
}

ir_status fe_sharded_make(rt_context *context, const fe_request *r, bool slow, fe_sharded *s,
                          ir_error *error) {
  const ir_mem *mem = r->graph->mem;
  *s = (fe_sharded){.context = context, .graph.mem = mem};
  ir_status status = check_mesh(context, r, error);
  if (!status && pthread_mutex_init(&s->lock, NULL) != 0) status = no_memory(r, error);
  s->has_lock = !status;
  if (!status) status = make_program(s, r, error);
  if (!status)
    status = rt_mesh_make(mem, ir_graph_mesh(&s->graph), slow, rt_context_post(context),
                          rt_context_simulation(context), &s->mesh, error);
  if (!status) status = make_in_turn(s, r, error);
  if (!status) status = make_devices(s, r, error);
  s->graph.error = NULL; /* runs evaluate its expressions, and tell errors of their own */
  return status;
}

static void free_programs(fe_sharded *s) {
  const ir_mem *mem = s->graph.mem;
  for (uint32_t i = 0; i < s->program_count; i++) {
    fe_device_program *p = &s->programs[i];
    rt_program_release(p->program);
    ir_free(mem, p->input_of, p->inputs * sizeof *p->input_of);
    ir_free(mem, p->variable_of, p->vars * sizeof *p->variable_of);
  }
  uint32_t devices = s->mesh ? rt_mesh_axes(s->mesh)->device_count : 0;
  for (uint32_t d = 0; d < devices && s->bound; d++) rt_program_release(s->bound[d]);
  ir_free(mem, s->bound, devices * sizeof *s->bound);
  ir_free(mem, s->programs, devices * sizeof *s->programs);
  ir_free(mem, s->program_of, devices * sizeof *s->program_of);
}

void fe_sharded_free(fe_sharded *s) {
  const ir_mem *mem = s->graph.mem;
  if (!mem) return;
  rt_mesh_program_free(s->devices);
  free_programs(s);
  rt_mesh_free(s->mesh);
  ir_free(mem, s->refs, s->ref_count * sizeof *s->refs);
  ir_free(mem, s->references, s->reference_count * sizeof *s->references);
  if (s->words) ir_free(mem, s->words, s->parts.exchange_count * sizeof *s->words);
  shard_program_free(&s->parts);
  ir_graph_free(&s->graph);
  if (s->has_lock) pthread_mutex_destroy(&s->lock);
  *s = (fe_sharded){0};
}
