#include "frontend/machine/mesh_costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/machine/agree.h"
#include "runtime/mesh/ranks.h"

static const char kind[] = "mesh";

/* What travels between processes. */
typedef struct costs {
  double latency[IR_MESH_AXES], bandwidth[IR_MESH_AXES], pace;
  int64_t known;
} costs;

/* What the numbers depend on: the machine, how many processes, the sizes of the axes, and the devices. */
static bool put_key(rt_context *c, const ir_mesh *m, ir_text *key) {
  rt_post *post = rt_context_post(c);
  ir_error ignored = {0};
  if (rt_devices_text(c, key, &ignored) != IR_OK) return false;
  ir_textf(key, "\nprocesses=%u axes=", post ? (unsigned)rt_post_transport(post)->processes : 1u);
  for (uint32_t a = 0; a < m->axis_count; a++) ir_textf(key, "%s%d", a ? "," : "", (int)m->axes[a].size);
  for (uint32_t d = 0; m->devices && d < m->device_count; d++)
    ir_textf(key, "%s%s@%u", d ? "," : " devices=", m->devices[d].name, (unsigned)m->devices[d].rank);
  return !key->failed;
}

void fe_mesh_keep(rt_context *c, const ir_mesh *m, const double *rates) {
  rt_disk *disk = rt_context_disk(c, NULL);
  ir_text key, text;
  ir_text_init(&key, &ir_mem_libc);
  ir_text_init(&text, &ir_mem_libc);
  for (uint32_t a = 0; a < m->axis_count; a++)
    ir_textf(&text, "%.17g %.17g\n", m->axes[a].latency, m->axes[a].bandwidth);
  for (uint32_t d = 0; d < m->device_count && rates[0] > 0; d++) ir_textf(&text, "%.6g\n", rates[d]);
  if (disk && put_key(c, m, &key) && !text.failed)
    rt_disk_put(disk, kind, key.data, key.len, text.data, text.len);
  ir_text_free(&key);
  ir_text_free(&text);
}

/* A line for each device. */
static bool read_rates(const char *text, const ir_mesh *m, costs *out) {
  double *rates = ir_alloc(m->mem, m->device_count * sizeof *rates);
  bool good = rates != NULL;
  for (uint32_t d = 0; d < m->device_count && good; d++) {
    char *end;
    rates[d] = strtod(text, &end);
    good = end > text && *end == '\n' && rates[d] > 0;
    text = end + good;
  }
  good = good && !*text;
  if (good) out->pace = ir_mesh_pace(m, rates);
  ir_free(m->mem, rates, m->device_count * sizeof *rates);
  return good;
}

/* A line for each axis, and then, where they were measured, the rates. */
static bool read_costs(const char *text, const ir_mesh *m, costs *out) {
  for (uint32_t a = 0; a < m->axis_count; a++) {
    int length = 0;
    if (sscanf(text, "%lf %lf\n%n", &out->latency[a], &out->bandwidth[a], &length) != 2 || !length)
      return false;
    if (!(out->latency[a] >= 0) || !(out->bandwidth[a] >= 0)) return false;
    text += length;
  }
  return !*text || read_rates(text, m, out);
}

static void find_costs(rt_context *c, const ir_mesh *m, costs *out) {
  rt_disk *disk = rt_context_disk(c, NULL);
  rt_found found;
  ir_text key, text;
  ir_text_init(&key, &ir_mem_libc);
  ir_text_init(&text, &ir_mem_libc);
  if (disk && put_key(c, m, &key) && rt_disk_get(disk, kind, key.data, key.len, &found)) {
    ir_text_add(&text, (const char *)found.payload, found.size);
    rt_disk_release(&found);
    out->known = !text.failed && read_costs(ir_text_get(&text), m, out);
  }
  ir_text_free(&key);
  ir_text_free(&text);
}

static bool declares_costs(const ir_mesh *m) {
  bool any = false;
  for (uint32_t a = 0; a < m->axis_count; a++) any |= m->axes[a].latency > 0 || m->axes[a].bandwidth > 0;
  return any;
}

ir_status fe_mesh_take_kept(rt_context *c, ir_graph *g, bool *taken, ir_error *error) {
  const char *setting = getenv("VIEWFOLD_MESH_COSTS");
  const ir_mesh *m = ir_graph_mesh(g);
  costs kept = {.known = false};
  if (taken) *taken = false;
  bool none = setting && strcmp(setting, "none") == 0,
       keeps = !setting || !*setting || !strcmp(setting, "kept");
  if (!c || !m) return IR_OK;
  if (!none && !keeps)
    return ir_fail(
        error, IR_ERR_INVALID,
        "VIEWFOLD_MESH_COSTS is %.40s; it is kept, as without it: what viewfold mesh calibrate measured "
        "counts; or none: it does not",
        setting);
  if (declares_costs(m)) return IR_OK;
  if (keeps) find_costs(c, m, &kept);
  if (fe_mesh_agree(c, m, &kept, sizeof kept, error) != IR_OK) return error->status;
  ir_mesh_axis *axes = g->sharding->mesh.axes;
  for (uint32_t a = 0; a < m->axis_count && kept.known; a++)
    axes[a].latency = kept.latency[a], axes[a].bandwidth = kept.bandwidth[a];
  if (kept.known) g->sharding->mesh.pace = kept.pace;
  if (taken) *taken = kept.known;
  return IR_OK;
}
