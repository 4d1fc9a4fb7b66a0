/* Processes of a mesh, for users of the C API. */
#include "frontend/mesh/processes.h"
#include "frontend/api/mesh/mesh.h"
#include "runtime/mesh/post.h"

vf_status vf_processes_join(vf_context *c, double seconds, vf_error *error) {
  ir_error failure = {0};
  const char *wrong = fe_not(c, FE_CONTEXT);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "processes_join: the context is %s", wrong);
  else fe_processes_join(c->runtime, seconds, &failure);
  return fe_report(error, &failure);
}

static const rt_transport *transport_of(const vf_context *c) {
  rt_post *post = fe_is(c, FE_CONTEXT) ? rt_context_post(c->runtime) : NULL;
  return post ? rt_post_transport(post) : NULL;
}

int64_t vf_process_count(const vf_context *c) {
  const rt_transport *t = transport_of(c);
  return t ? t->processes : 1;
}

int64_t vf_process_number(const vf_context *c) {
  const rt_transport *t = transport_of(c);
  return t ? t->process : 0;
}
