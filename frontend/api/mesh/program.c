/* Programs on the devices of a mesh, for users of the C API. */
#include <string.h>

#include "frontend/api/mesh/mesh.h"
#include "frontend/api/program.h"
#include "frontend/mesh/sharded.h"

/* The graph's mesh, or the given one for a graph without. */
static bool choose_mesh(vf_graph *g, const vf_mesh *given, ir_error *error) {
  const ir_mesh *own = ir_graph_mesh(&g->ir), *mesh = given ? fe_mesh_axes(given) : NULL;
  if (!own && !mesh)
    return ir_fail(error, IR_ERR_INVALID, "compile: neither the graph @%.60s nor the call has a mesh",
                   g->name) == IR_OK;
  if (own && mesh && !ir_mesh_equal(own, mesh))
    return ir_fail(error, IR_ERR_INVALID,
                   "compile: the mesh is another one than that of graph @%.60s; specs name the axes of the "
                   "graph's",
                   g->name) == IR_OK;
  return own || ir_graph_set_mesh(&g->ir, mesh) ||
         ir_fail(error, IR_ERR_MEMORY, "compile: out of memory for a mesh") == IR_OK;
}

static bool finds_sizes(vf_graph *g, const fe_request *r, ir_error *error) {
  fe_found found;
  bool known =
      fe_found_list(&g->ir, r->results, r->inputs, r->input_count, r->vars, r->var_count, &found, error);
  if (known && found.count)
    ir_fail(error, IR_ERR_UNSUPPORTED,
            "compile: graph @%.60s finds sizes out while it runs; on a mesh give them as variables", g->name);
  fe_found_free(&found);
  return error->status != IR_OK;
}

static vf_program *compile(vf_graph *g, const fe_request *r, unsigned flags, ir_error *error) {
  const ir_mem *mem = &g->context->mem;
  if (finds_sizes(g, r, error)) return NULL;
  fe_sharded *s = ir_alloc(mem, sizeof *s);
  if (!s) {
    ir_fail(error, IR_ERR_MEMORY, "compile: out of memory for a mesh");
    return NULL;
  }
  fe_request named = *r;
  named.statements = &g->statements;
  if (fe_sharded_make(g->context->runtime, &named, (flags & VF_MESH_WIRE) != 0, s, error) == IR_OK) {
    rt_program_retain(s->program);
    return fe_program_make(g, r, s->program, s, error);
  }
  fe_sharded_free(s);
  ir_free(mem, s, sizeof *s);
  return NULL;
}

vf_program *vf_compile_on(vf_graph *g, const vf_mesh *mesh, unsigned flags, vf_error *error) {
  ir_error failure = {0};
  vf_program *p = NULL;
  fe_request request;
  if (fe_not(g, FE_GRAPH)) {
    ir_fail(&failure, IR_ERR_INVALID, "compile: the graph is %s", fe_not(g, FE_GRAPH));
  } else if (mesh && fe_not(mesh, FE_MESH)) {
    ir_fail(&failure, IR_ERR_INVALID, "compile: the mesh is %s", fe_not(mesh, FE_MESH));
  } else if (choose_mesh(g, mesh, &failure) && fe_graph_request(g, &request, &failure)) {
    unsigned failures = fe_failures(g->context);
    p = compile(g, &request, flags, &failure);
    fe_graph_request_free(g, &request);
    fe_report_as_memory(g->context, failures, &failure);
  }
  fe_report(error, &failure);
  return p;
}

int64_t vf_program_device_count(const vf_program *p) {
  return fe_is(p, FE_PROGRAM) && p->sharded ? rt_mesh_axes(p->sharded->mesh)->device_count : 1;
}

static bool same_box(const ir_box *a, const ir_box *b) {
  size_t bytes = a->rank * sizeof *a->lo;
  return memcmp(a->lo, b->lo, bytes) == 0 && memcmp(a->hi, b->hi, bytes) == 0;
}

static ir_status part_of(const vf_program *p, vf_port port, int number, int64_t device,
                         const int64_t *variables, ir_box *out, int64_t *same, ir_error *error) {
  bool result = port == VF_OUTPUT;
  ir_status status =
      fe_sharded_part(p->sharded, result, (size_t)number, (uint32_t)device, variables, out, error);
  for (*same = 0; *same < device && !status; ++*same) {
    ir_box other;
    status = fe_sharded_part(p->sharded, result, (size_t)number, (uint32_t)*same, variables, &other, error);
    if (same_box(out, &other)) break;
  }
  return status;
}

vf_status vf_port_part(const vf_program *p, vf_port port, int number, int64_t device,
                       const int64_t *variables, int64_t *shape, int64_t *offset, int64_t *same,
                       vf_error *error) {
  ir_error failure = {0};
  const fe_port *found = fe_find_port(p, port, number);
  ir_box box;
  int64_t first = 0;
  if (!found) {
    fe_refuse_port(p, "part", port, number, &failure);
  } else if ((!shape || !offset) && found->rank) {
    ir_fail(&failure, IR_ERR_INVALID, "part: an array for its sizes is NULL");
  } else if (!p->sharded) {
    ir_fail(&failure, IR_ERR_INVALID, "part: program @%.60s has no mesh; compile it with vf_compile_on",
            rt_program_name(p->program));
  } else if (device < 0 || device >= vf_program_device_count(p)) {
    ir_fail(&failure, IR_ERR_INVALID, "part: there is no device %lld; the mesh has devices 0 to %lld",
            (long long)device, (long long)vf_program_device_count(p) - 1);
  } else if (fe_check_values(p, variables, &failure) &&
             part_of(p, port, number, device, variables, &box, &first, &failure) == IR_OK) {
    for (uint32_t k = 0; k < box.rank; k++) shape[k] = box.hi[k] - box.lo[k], offset[k] = box.lo[k];
    if (same) *same = first;
  }
  return fe_report(error, &failure);
}

/* References lie where the inputs do: their entries among the results of a device are those of its inputs. */
static void run_parts(const vf_program *p, const void *const *inputs, void *const *outputs,
                      const int64_t *variables, ir_error *error) {
  const ir_mem *mem = &p->context->mem;
  size_t devices = (size_t)vf_program_device_count(p), given = p->counts[VF_OUTPUT],
         results = given + p->reference_count;
  void **all = ir_alloc(mem, devices * results * sizeof *all);
  if (!all) {
    ir_fail(error, IR_ERR_MEMORY, "run: out of memory");
    return;
  }
  for (size_t d = 0; d < devices; d++)
    for (size_t i = 0; i < results; i++)
      all[d * results + i] =
          i < given ? outputs[d * given + i]
                    : (void *)(uintptr_t)inputs[d * p->counts[VF_INPUT] + p->references[i - given]];
  fe_sharded_run_parts(p->sharded, (void *const *)(uintptr_t)inputs, all, variables, error);
  ir_free(mem, all, devices * results * sizeof *all);
}

vf_status vf_program_run_parts(const vf_program *p, const void *const *inputs, void *const *outputs,
                               const int64_t *variables, vf_error *error) {
  ir_error failure = {0};
  const char *wrong = fe_not(p, FE_PROGRAM);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "run: the program is %s", wrong);
  else if (!inputs || !outputs)
    ir_fail(&failure, IR_ERR_INVALID, "run: the list of %s is NULL", inputs ? "outputs" : "inputs");
  else if (!p->sharded)
    ir_fail(&failure, IR_ERR_INVALID, "run: program @%.60s has no mesh; compile it with vf_compile_on",
            rt_program_name(p->program));
  else if (fe_check_values(p, variables, &failure)) run_parts(p, inputs, outputs, variables, &failure);
  return fe_report(error, &failure);
}

void vf_program_received(const vf_program *p, int64_t *most, int64_t *total) {
  size_t count;
  int64_t received[2] = {0};
  if (fe_is(p, FE_PROGRAM) && p->sharded)
    rt_mesh_count(p->sharded->devices, NULL, 0, &count, &received[0], &received[1]);
  if (most) *most = received[0];
  if (total) *total = received[1];
}
