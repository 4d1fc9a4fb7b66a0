#include "frontend/session/jit_mesh.h"

#include <string.h>

#include "ir/mesh/sharding.h"

static bool read_spec(fe_jit_mesh *m, int input, const char *text, ir_error *error) {
  ir_error why = {0};
  if (!(m->given[input] = text != NULL)) return true;
  return ir_spec_parse(&m->mesh, text, strlen(text), &m->specs[input], &why) ||
         ir_fail(error, why.status, "jit: spec of input %d: %s", input, why.text) == IR_OK;
}

ir_status fe_jit_mesh_make(const vf_mesh *mesh, const char *const *specs, int inputs, unsigned flags,
                           const ir_mem *mem, fe_jit_mesh *out, ir_error *error) {
  *out = (fe_jit_mesh){.mem = mem, .inputs = inputs, .flags = flags};
  out->specs = ir_alloc(mem, (size_t)inputs * sizeof *out->specs);
  out->given = ir_alloc(mem, (size_t)inputs * sizeof *out->given);
  bool good = out->specs && out->given && ir_mesh_copy(&out->mesh, fe_mesh_axes(mesh), mem);
  if (!good) ir_fail(error, IR_ERR_MEMORY, "jit: out of memory for a mesh");
  for (int i = 0; i < inputs && good; i++) good = read_spec(out, i, specs ? specs[i] : NULL, error);
  if (!good) fe_jit_mesh_free(out);
  return error->status;
}

void fe_jit_mesh_free(fe_jit_mesh *m) {
  if (!m->mem) return;
  ir_mesh_free(&m->mesh);
  ir_free(m->mem, m->specs, (size_t)m->inputs * sizeof *m->specs);
  ir_free(m->mem, m->given, (size_t)m->inputs * sizeof *m->given);
  *m = (fe_jit_mesh){0};
}

void fe_jit_mesh_begin(const fe_jit_mesh *m, vf_graph *g) {
  if (m->mem && !ir_graph_set_mesh(&g->ir, &m->mesh))
    ir_fail(&g->error, IR_ERR_MEMORY, "jit: out of memory for a mesh");
}

void fe_jit_mesh_divide(const fe_jit_mesh *m, const char *jit, vf_graph *g, int input, vf_value x) {
  if (!m->mem || !m->given[input] || !vf_ok(x)) return;
  const ir_spec *spec = &m->specs[input];
  if (spec->rank != ir_rank(&g->ir, x.id))
    ir_fail(&g->error, IR_ERR_INVALID,
            "jit @%.60s: the spec of input %d has %u dimensions; the tensor has %u", jit, input,
            (unsigned)spec->rank, (unsigned)ir_rank(&g->ir, x.id));
  else if (!ir_set_spec(&g->ir, x.id, spec))
    ir_fail(&g->error, IR_ERR_MEMORY, "jit: out of memory for a spec");
}
