/* Measuring what messages between the devices of a mesh cost, in C. */
#include "frontend/mesh/calibrate.h"

#include <string.h>

#include "frontend/api/mesh/mesh.h"

vf_status vf_mesh_calibrate(vf_mesh *m, vf_error *out) {
  ir_error error = {0};
  const char *wrong = fe_not(m, FE_MESH);
  if (wrong) {
    ir_fail(&error, IR_ERR_INVALID, "mesh: it is %s", wrong);
    return fe_report(out, &error);
  }
  vf_context *context = fe_mesh_context(m);
  unsigned failures = fe_failures(context);
  ir_mesh *axes = fe_mesh_own_axes(m);
  double *rates = ir_alloc(axes->mem, axes->device_count * sizeof *rates);
  if (!rates) ir_fail(&error, IR_ERR_MEMORY, "out of memory");
  else fe_mesh_calibrate(context->runtime, axes, rates, &error);
  if (error.status) fe_report_as_memory(context, failures, &error);
  ir_free(axes->mem, rates, axes->device_count * sizeof *rates);
  return fe_report(out, &error);
}

/* The axis of that name; NULL: there is none. */
static const ir_mesh_axis *axis_of(const vf_mesh *m, const char *axis) {
  int at = fe_mesh_axis(m, axis);
  return at < 0 ? NULL : &fe_mesh_axes(m)->axes[at];
}

double vf_mesh_latency(const vf_mesh *m, const char *axis) {
  const ir_mesh_axis *a = axis_of(m, axis);
  return a ? a->latency : -1;
}

double vf_mesh_bandwidth(const vf_mesh *m, const char *axis) {
  const ir_mesh_axis *a = axis_of(m, axis);
  return a ? a->bandwidth : -1;
}
