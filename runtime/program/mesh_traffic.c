/* What the exchanges of a mesh have received. */
#include <string.h>

#include "runtime/program/run_mesh.h"

static bool same_kind(const rt_mesh_traffic *t, const char *name) {
  size_t length = rt_exchange_kind_length(name);
  return strlen(t->kind) == length && memcmp(t->kind, name, length) == 0;
}

static rt_mesh_traffic *entry_of(rt_mesh_traffic *list, size_t *count, size_t room, const char *kind) {
  for (size_t i = 0; i < *count; i++)
    if (same_kind(&list[i], kind)) return &list[i];
  if (*count == room) return NULL;
  list[*count] = (rt_mesh_traffic){0};
  memcpy(list[*count].kind, kind, rt_exchange_kind_length(kind));
  return &list[(*count)++];
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

ir_status rt_mesh_gather_counts(rt_mesh_program *m, ir_error *error) {
  const ir_mem *mem = m->mesh->mem;
  uint32_t devices = rt_mesh_devices(m);
  if (!m->mesh->ranks || !m->exchange_count) return IR_OK;
  int64_t numbers = (int64_t)(m->exchange_count * sizeof(rt_traffic) / sizeof(int64_t));
  size_t bytes = devices * m->exchange_count * sizeof *m->traffic;
  ir_box *boxes = ir_alloc(mem, devices * sizeof *boxes);
  void **parts = ir_alloc(mem, devices * sizeof *parts);
  rt_traffic *all = ir_alloc(mem, bytes);
  ir_free(mem, m->gathered, bytes);
  m->gathered = NULL;
  ir_status status = boxes && parts && all ? IR_OK : rt_mesh_no_memory(m->programs[0], error);
  for (uint32_t d = 0; d < devices && !status; d++) {
    boxes[d] = (ir_box){.rank = 2, .lo = {d}, .hi = {d + 1, numbers}};
    parts[d] = rt_mesh_traffic_of(m, d);
  }
  rt_mesh_array a = {sizeof(int64_t), {.rank = 2, .hi = {devices, numbers}}, boxes, parts, all};
  if (!status) status = rt_mesh_gather(m->mesh, &a, 1, error);
  if (!status) m->gathered = all;
  else ir_free(mem, all, bytes);
  ir_free(mem, boxes, devices * sizeof *boxes);
  ir_free(mem, parts, devices * sizeof *parts);
  return status;
}

void rt_mesh_count(const rt_mesh_program *m, rt_mesh_traffic *out, size_t room, size_t *count, int64_t *most,
                   int64_t *total) {
  *count = 0;
  *most = *total = 0;
  for (uint32_t d = 0; d < rt_mesh_devices(m); d++) {
    const rt_traffic *traffic = rt_mesh_traffic_of(m, d);
    int64_t sum = 0;
    if (!traffic) continue;
    for (size_t i = 0; i < m->exchange_count; i++) {
      const char *kind = rt_mesh_exchange_name(m, i);
      rt_mesh_traffic *entry = entry_of(out, count, room, kind);
      const rt_traffic *t = &traffic[i];
      sum += t->bytes;
      if (!entry) continue;
      entry->messages += t->messages;
      entry->total += t->bytes;
      if (d == 0) entry->times += t->times;
    }
    for (size_t k = 0; k < *count; k++) {
      int64_t own = 0;
      for (size_t i = 0; i < m->exchange_count; i++)
        if (same_kind(&out[k], rt_mesh_exchange_name(m, i))) own += traffic[i].bytes;
      out[k].most = larger(out[k].most, own);
    }
    *most = larger(*most, sum);
    *total += sum;
  }
}

void rt_mesh_count_time(const rt_mesh_program *m, int64_t *comm_ns, int64_t *hidden_ns) {
  *comm_ns = *hidden_ns = 0;
  for (uint32_t d = 0; d < rt_mesh_devices(m); d++) {
    const rt_traffic *traffic = rt_mesh_traffic_of(m, d);
    int64_t comm = 0, hidden = 0;
    for (size_t i = 0; i < m->exchange_count && traffic; i++) {
      comm += traffic[i].comm_ns;
      hidden += traffic[i].hidden_ns;
    }
    if (comm > *comm_ns) *comm_ns = comm, *hidden_ns = hidden;
  }
}

void rt_mesh_count_anew(rt_mesh_program *m) {
  ir_free(m->mesh->mem, m->gathered, rt_mesh_devices(m) * m->exchange_count * sizeof *m->gathered);
  m->gathered = NULL;
  memset(m->traffic, 0, m->exchange_count * m->own_count * sizeof *m->traffic);
}
