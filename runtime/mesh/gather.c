#include "runtime/mesh/gather.h"

#include <string.h>

#include "runtime/mesh/ranks_impl.h"
#include "runtime/mesh/route.h"

typedef struct gather {
  const rt_mesh_array *arrays;
  rt_routes *routes; /* of each */
  size_t count;
} gather;

/* A scalar is an array of one element: so that a box of it can be empty. */
static ir_box ranked(ir_box box) {
  if (box.rank == 0) box = (ir_box){.rank = 1, .hi = {1}};
  return box;
}

/* The first device of each process takes all of it. */
static ir_status find_routes(const rt_ranks *ranks, const rt_mesh_array *a, rt_routes *out, ir_error *error) {
  const ir_mesh *mesh = ranks->mesh;
  const ir_mem *mem = ranks->mem;
  uint32_t devices = mesh->device_count;
  rt_route *all = ir_alloc(mem, devices * sizeof *all);
  ir_status status = all ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory gathering results");
  if (!status)
    status = rt_routes_make_own(mem, devices, ranks->own, ranks->count, ranked(a->box).rank, out, error);
  for (uint32_t d = 0; d < devices && !status; d++) {
    uint32_t before = d ? rt_process_of(mesh, ranks->processes, d - 1) : UINT32_MAX;
    all[d] = (rt_route){.own = ranked(a->boxes[d]), .needed = ranked(a->box)};
    if (rt_process_of(mesh, ranks->processes, d) == before) all[d].needed.hi[0] = all[d].needed.lo[0];
    if (rt_ranks_have(ranks, d)) *rt_route_of(out, d) = all[d];
  }
  if (!status) status = rt_routes_find_own(mesh, mem, a->bytes, all, out, error);
  ir_free(mem, all, devices * sizeof *all);
  return status;
}

static ir_status work(void *user, rt_endpoint *endpoint, ir_error *error) {
  const gather *g = user;
  ir_status status = IR_OK;
  endpoint->traffic = NULL; /* these are of the program that ran before */
  memset(endpoint->transfers, 0, sizeof endpoint->transfers);
  for (size_t i = 0; i < g->count && !status; i++) {
    rt_transfer transfer = {.routes = &g->routes[i],
                            .part = g->arrays[i].parts[endpoint->device],
                            .box = g->arrays[i].whole,
                            .bytes = g->arrays[i].bytes,
                            .exchange = (uint32_t)i,
                            .kind = "results"};
    status = endpoint->engine->start(endpoint, &transfer, error);
    if (!status) status = endpoint->engine->wait(endpoint, &transfer, error);
  }
  return status;
}

ir_status rt_ranks_gather(rt_ranks *ranks, const rt_mesh_array *arrays, size_t count, ir_error *error) {
  const ir_mem *mem = ranks->mem;
  gather g = {arrays, ir_alloc(mem, count * sizeof *g.routes), count};
  ir_status status = g.routes ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory gathering results");
  if (g.routes) memset(g.routes, 0, count * sizeof *g.routes);
  for (size_t i = 0; i < count && !status; i++) status = find_routes(ranks, &arrays[i], &g.routes[i], error);
  status = rt_ranks_run(ranks, count, work, &g, status, error);
  for (size_t i = 0; i < count && g.routes; i++) rt_routes_free(mem, &g.routes[i]);
  ir_free(mem, g.routes, count * sizeof *g.routes);
  return status;
}
