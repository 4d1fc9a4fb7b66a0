/* Which part of a tensor a device of the session's mesh has. */
#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "ir/mesh/sharding.h"

vf_status vf_tensor_part(const vf_tensor *t, int64_t device, int64_t *begin, int64_t *end, vf_error *out) {
  ir_error error = {0};
  ir_box box;
  int64_t shape[IR_MAX_RANK];
  int rank = vf_tensor_shape(t, shape);
  const char *wrong = fe_not(t, FE_TENSOR);
  const ir_graph *g = wrong ? NULL : &t->context->session->ir;
  const ir_mesh *mesh = g ? ir_graph_mesh(g) : NULL;
  if (!mesh)
    ir_fail(&error, IR_ERR_INVALID, "part: the %s%s",
            wrong ? "tensor is " : "session has no mesh; vf_graph_set_mesh gives it one", wrong ? wrong : "");
  else if (device < 0 || device >= mesh->device_count)
    ir_fail(&error, IR_ERR_INVALID, "part: no device %lld; there are %u", (long long)device,
            (unsigned)mesh->device_count);
  else if (rank > 0 && (!begin || !end))
    ir_fail(&error, IR_ERR_INVALID, "part: the list of first or last positions is NULL");
  if (error.status) return fe_report(out, &error);
  const ir_spec *found = ir_spec_of(g, fe_lazy_resolve(&t->context->lazy, t->node));
  ir_spec spec;
  if (found) spec = *found;
  else ir_spec_init(&spec, (uint32_t)rank);
  ir_spec_box(mesh, &spec, shape, device, &box);
  for (int i = 0; i < rank; i++) begin[i] = box.lo[i], end[i] = box.hi[i];
  return VF_OK;
}
