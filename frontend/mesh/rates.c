#include "frontend/mesh/rates.h"

#include <string.h>

#include "frontend/machine/agree.h"
#include "frontend/mesh/sharded.h"
#include "frontend/report/dump_graph.h"
#include "frontend/text/reader.h"

enum { ROWS = 256 };  /* of a device: 34 million operations, 1 to 2 ms of a core */
enum { ROUNDS = 15 }; /* of which the fastest counts: other work only adds to a time */

/* measuring */

static void put_graph(const ir_mesh *mesh, ir_text *out) {
  ir_mesh_print(mesh, out);
  ir_textf(out, "\ngraph @work(%%a: f32[%d,%d] @%s[", (int)mesh->device_count * ROWS, ROWS, mesh->name);
  for (uint32_t a = 0; a < mesh->axis_count; a++) ir_textf(out, "%s%s", a ? "." : "", mesh->axes[a].name);
  ir_textf(out, ",-], %%b: f32[%d,%d]) {\n  %%y = matmul %%a, %%b\n  return %%y\n}\n", ROWS, ROWS);
}

/* Of the devices of this process the seconds of their fastest run. */
static ir_status time_devices(rt_context *context, ir_graph *g, const ir_module *m, float *arrays,
                              double *seconds, ir_error *error) {
  fe_request request;
  fe_sharded sharded = {0};
  if (!fe_block_request(g, m->graphs, NULL, &request))
    return error->status ? error->status : ir_fail(error, IR_ERR_MEMORY, "calibrate: out of memory");
  ir_status status = fe_sharded_make(context, &request, false, &sharded, error);
  uint32_t devices = ir_graph_mesh(g)->device_count;
  float *b = arrays + (size_t)devices * ROWS * ROWS;
  for (int i = -1; i < ROUNDS && !status; i++) { /* the first time warms up */
    status = fe_sharded_run(&sharded, (void *[]){arrays, b}, (void *[]){b + ROWS * ROWS}, NULL, error);
    for (uint32_t d = 0; d < devices && !status && i >= 0; d++) {
      double took = (double)rt_mesh_took(sharded.devices, d) * 1e-9;
      if (took > 0 && (seconds[d] <= 0 || took < seconds[d])) seconds[d] = took;
    }
  }
  fe_sharded_free(&sharded);
  fe_block_request_free(g, m->graphs, &request);
  return status;
}

static ir_status time_on(rt_context *context, const ir_mesh *mesh, double *seconds, ir_error *error) {
  ir_graph g;
  ir_module m = {0};
  ir_text text;
  size_t bytes = ((size_t)mesh->device_count * 2 + 1) * ROWS * ROWS * sizeof(float);
  if (ir_graph_init(&g, mesh->mem, error) != IR_OK) return error->status;
  float *arrays = ir_alloc(mesh->mem, bytes);
  ir_text_init(&text, mesh->mem);
  g.error = error;
  put_graph(mesh, &text);
  if (text.failed || !arrays) ir_fail(error, IR_ERR_MEMORY, "calibrate: out of memory");
  else fe_parse_graphs(&g, "calibrate", ir_text_get(&text), text.len, &m);
  if (!error->status) {
    memset(arrays, 0, bytes);
    time_devices(context, &g, &m, arrays, seconds, error);
  }
  ir_text_free(&text);
  ir_free(mesh->mem, arrays, bytes);
  ir_module_free(&m);
  ir_graph_free(&g);
  return error->status;
}

/* Each process knows the seconds of its own devices; afterwards all know all. */
static ir_status gather(rt_context *context, const ir_mesh *mesh, double *seconds, ir_error *error) {
  rt_mesh *devices = NULL;
  unsigned char *all = NULL;
  size_t bytes = mesh->device_count * sizeof *seconds;
  if (!rt_context_post(context)) return IR_OK;
  ir_status status = rt_mesh_make(mesh->mem, mesh, false, rt_context_post(context), NULL, &devices, error);
  if (!status) status = fe_gather_rows(devices, mesh->mem, seconds, bytes, &all, error);
  for (uint32_t d = 0; d < mesh->device_count && !status; d++)
    memcpy(&seconds[d], all + d * bytes + d * sizeof *seconds, sizeof *seconds);
  ir_free(mesh->mem, all, mesh->device_count * bytes);
  rt_mesh_free(devices);
  return status;
}

ir_status fe_mesh_rates(rt_context *context, const ir_mesh *mesh, double *rates, ir_error *error) {
  bool unlike = rt_context_post(context) != NULL;
  ir_mesh even;
  for (uint32_t d = 0; d < mesh->device_count; d++) {
    rates[d] = 0;
    unlike |= mesh->devices && strcmp(mesh->devices[d].name, mesh->devices[0].name) != 0;
  }
  if (!unlike) return IR_OK;
  ir_status status =
      ir_mesh_copy(&even, mesh, mesh->mem) ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory");
  for (uint32_t a = 0; a < even.axis_count; a++) ir_axis_free_weights(&even.axes[a], even.mem);
  if (!status) status = time_on(context, &even, rates, error);
  if (!status) status = gather(context, &even, rates, error);
  for (uint32_t d = 0; d < mesh->device_count && !status; d++)
    rates[d] = rates[d] > 0 ? 2.0 * ROWS * ROWS * ROWS / rates[d] : 0;
  ir_mesh_free(&even);
  return status;
}
