/* Meshes in C, and values that are divided among their devices. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/api/mesh/mesh.h"
#include "ir/mesh/sharding.h"
#include "passes/ops/mesh.h"

struct vf_mesh {
  uint32_t kind; /* FE_MESH */
  vf_context *context;
  ir_mesh mesh;
};

vf_mesh *vf_mesh_create(vf_context *context, const char *text, vf_error *out) {
  ir_error error = {0};
  const char *wrong = fe_not(context, FE_CONTEXT);
  vf_mesh *m = wrong || !text ? NULL : ir_alloc(&context->mem, sizeof *m);
  if (!m) {
    if (wrong) ir_fail(&error, IR_ERR_INVALID, "mesh: the context is %s", wrong);
    else if (!text)
      ir_fail(&error, IR_ERR_INVALID, "mesh: the text of the axes is NULL; it is as in \"x=2,y=4\"");
    else ir_fail(&error, IR_ERR_MEMORY, "mesh: out of memory");
    fe_report(out, &error);
    return NULL;
  }
  m->kind = FE_MESH;
  m->context = context;
  ir_mesh_init(&m->mesh, &context->mem);
  bool good = ir_mesh_parse(&m->mesh, text, strlen(text), &error);
  strcpy(m->mesh.name, "m");
  fe_context_retain(context);
  if (good) return m;
  fe_report(out, &error);
  vf_mesh_destroy(m);
  return NULL;
}

const ir_mesh *fe_mesh_axes(const vf_mesh *m) { return &m->mesh; }
ir_mesh *fe_mesh_own_axes(vf_mesh *m) { return &m->mesh; }
vf_context *fe_mesh_context(const vf_mesh *m) { return m->context; }

void vf_mesh_destroy(vf_mesh *m) {
  if (!fe_is(m, FE_MESH)) return;
  vf_context *c = m->context;
  ir_mesh_free(&m->mesh);
  fe_handle_ends(m);
  ir_free(&c->mem, m, sizeof *m);
  fe_context_release(c);
}

int64_t vf_mesh_device_count(const vf_mesh *m) { return fe_is(m, FE_MESH) ? m->mesh.device_count : 0; }
int vf_mesh_axis_count(const vf_mesh *m) { return fe_is(m, FE_MESH) ? (int)m->mesh.axis_count : 0; }

const char *vf_mesh_axis_name(const vf_mesh *m, int axis) {
  return axis >= 0 && axis < vf_mesh_axis_count(m) ? m->mesh.axes[axis].name : NULL;
}

int fe_mesh_axis(const vf_mesh *m, const char *axis) {
  return axis && fe_is(m, FE_MESH) ? ir_mesh_find(&m->mesh, axis, strlen(axis)) : -1;
}

int64_t vf_mesh_axis_size(const vf_mesh *m, const char *axis) {
  int at = fe_mesh_axis(m, axis);
  return at < 0 ? -1 : m->mesh.axes[at].size;
}

int64_t vf_mesh_axis_weight(const vf_mesh *m, const char *axis, int64_t place) {
  int at = fe_mesh_axis(m, axis);
  bool there = at >= 0 && place >= 0 && place < m->mesh.axes[at].size;
  return there ? ir_weight_of(&m->mesh, ir_whole_axis(&m->mesh, (uint32_t)at), place) : -1;
}

int64_t vf_mesh_coordinate(const vf_mesh *m, int64_t device, const char *axis) {
  int at = fe_mesh_axis(m, axis);
  bool there = at >= 0 && device >= 0 && device < m->mesh.device_count;
  return there ? ir_mesh_coordinate(&m->mesh, device, (uint32_t)at) : -1;
}

vf_status vf_mesh_part(const vf_mesh *m, const char *text, int rank, const int64_t *shape, int64_t device,
                       int64_t *begin, int64_t *end, vf_error *out) {
  ir_error error = {0};
  ir_spec spec;
  ir_box box;
  if (fe_not(m, FE_MESH)) {
    ir_fail(&error, IR_ERR_INVALID, "mesh: it is %s", fe_not(m, FE_MESH));
    return fe_report(out, &error);
  }
  if (!text) text = "";
  if (ir_spec_parse(&m->mesh, text, strlen(text), &spec, &error)) {
    if (spec.rank != rank)
      ir_fail(&error, IR_ERR_INVALID, "mesh: spec %.60s has %u dimensions; the shape has %d", text,
              (unsigned)spec.rank, rank);
    else if (rank > 0 && (!shape || !begin || !end))
      ir_fail(&error, IR_ERR_INVALID, "mesh: an array for %d numbers is NULL", rank);
    if (device < 0 || device >= m->mesh.device_count)
      ir_fail(&error, IR_ERR_INVALID, "mesh: no device %lld; there are %u", (long long)device,
              (unsigned)m->mesh.device_count);
    for (int i = 0; i < rank && !error.status; i++)
      if (shape[i] < 0)
        ir_fail(&error, IR_ERR_INVALID, "mesh: size %lld of axis %d; sizes are at least 0",
                (long long)shape[i], i);
  }
  if (error.status) return fe_report(out, &error);
  ir_spec_box(&m->mesh, &spec, shape, device, &box);
  for (int i = 0; i < rank; i++) begin[i] = box.lo[i], end[i] = box.hi[i];
  return VF_OK;
}

vf_status vf_graph_set_mesh(vf_graph *g, const vf_mesh *m, vf_error *out) {
  ir_error error = {0};
  const char *wrong = fe_not(g, FE_GRAPH);
  if (wrong || fe_not(m, FE_MESH)) {
    ir_fail(&error, IR_ERR_INVALID, "set_mesh: the %s is %s", wrong ? "graph" : "mesh",
            wrong ? wrong : fe_not(m, FE_MESH));
    return fe_report(out, &error);
  }
  if (g->ir.sharding && g->ir.sharding->spec_count)
    ir_fail(&error, IR_ERR_INVALID,
            "mesh: values of the graph are divided over its mesh @%s already; a mesh is set before the first "
            "of them",
            g->ir.sharding->mesh.name);
  else if (!ir_graph_set_mesh(&g->ir, &m->mesh)) ir_fail(&error, IR_ERR_MEMORY, "mesh: out of memory");
  return error.status ? fe_report(out, &error) : VF_OK;
}

vf_value vf_shard(vf_value x, const char *spec) {
  fe_call c;
  if (!fe_begin(&c, "shard", &x, 1)) return fe_end(&c, 0);
  return fe_end(&c, op_shard(c.ir, x.id, spec ? spec : "", spec ? strlen(spec) : 0));
}

/* The input x, divided as the spec says. */
static vf_value divided(vf_value x, const char *name, const char *text) {
  fe_call c;
  ir_error why = {0};
  ir_spec spec;
  if (!fe_begin(&c, "input", &x, 1)) return fe_end(&c, 0);
  const ir_mesh *mesh = ir_graph_mesh(c.ir);
  if (!mesh) {
    fe_refuse(&c, "the graph has no mesh; vf_graph_set_mesh gives it one");
    return fe_end(&c, 0);
  }
  if (!ir_spec_parse(mesh, text ? text : "", text ? strlen(text) : 0, &spec, &why)) {
    fe_refuse(&c, "%s", why.text);
    return fe_end(&c, 0);
  }
  if (spec.rank != ir_rank(c.ir, x.id)) {
    fe_refuse(&c, "the spec %.60s has %u dimensions; %.60s has %u", text, (unsigned)spec.rank, name,
              (unsigned)ir_rank(c.ir, x.id));
    return fe_end(&c, 0);
  }
  if (!ir_set_spec(c.ir, x.id, &spec)) ir_fail(c.ir->error, IR_ERR_MEMORY, "input: out of memory");
  return fe_end(&c, c.ir->error->status ? 0 : x.id);
}

vf_value vf_input_sharded(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape,
                          const char *spec) {
  return divided(vf_input(g, name, dtype, rank, shape), name, spec);
}

vf_ref vf_ref_input_sharded(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape,
                            const char *spec) {
  vf_ref made = vf_ref_input(g, name, dtype, rank, shape);
  if (!vf_ok(made.target)) return made;
  vf_value input = {g, g->inputs[g->input_count - 1].ref, made.target.epoch};
  if (!vf_ok(divided(input, name, spec))) made.target.id = 0;
  return made;
}
