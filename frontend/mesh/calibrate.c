/* Calibrating: programs that send messages around an axis, timed.
 *
 * A program of `hops` permutations one after the other takes a start, s, and hops times a message, m(bytes).
 * Two programs that differ in their hops alone tell m: s goes. Two sizes of messages tell latency and
 * bandwidth: m(bytes) = latency + bytes / bandwidth. */
#include "frontend/mesh/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/machine/machine.h"
#include "frontend/machine/agree.h"
#include "frontend/machine/mesh_costs.h"
#include "frontend/mesh/rates.h"
#include "frontend/mesh/sharded.h"
#include "frontend/report/dump_graph.h"
#include "frontend/text/reader.h"

enum {
  FEW_HOPS = 1,  /* at least one: a program without exchanges starts no messages */
  MANY_HOPS = 9, /* 8 more, so that the noise of a start counts an eighth */
  ROUNDS = 31,   /* runs of each program, of which the fastest counts: 150 ms for large messages */
  SMALL = 1,     /* elements of f32: the latency is the time */
  LARGE =
      1024 *
      1024 /* 4 MiB: 400 us at 10 GB/s; smaller arenas have no huge pages, and processes read them slower */
};

/* One of the programs, and its arrays. */
typedef struct sender {
  ir_graph graph;
  ir_module module;
  fe_request request;
  fe_sharded sharded;
  bool has_graph, has_request;
  double seconds[ROUNDS];
} sender;

/* graph @send(%a: f32[N] @m[x]): each device along the axis has `elements`, and sends them to the next. */
static void put_graph(const ir_mesh *mesh, uint32_t axis, int64_t elements, int hops, ir_text *out) {
  const ir_mesh_axis *a = &mesh->axes[axis];
  ir_mesh_print(mesh, out);
  ir_textf(out, "\ngraph @send(%%a0: f32[%lld] @%s[%s]) {\n", (long long)elements * a->size, mesh->name,
           a->name);
  for (int h = 0; h < hops; h++) {
    ir_textf(out, "  %%a%d = ppermute %%a%d axis=0 over=[%s] pairs=[", h + 1, h, a->name);
    for (int32_t i = 0; i < a->size; i++) ir_textf(out, "%s[%d,%d]", i ? "," : "", i, (i + 1) % a->size);
    ir_text_str(out, "]\n");
  }
  ir_textf(out, "  return %%a%d\n}\n", hops);
}

static ir_status make_sender(sender *s, rt_context *context, const ir_mesh *mesh, uint32_t axis,
                             int64_t elements, int hops, ir_error *error) {
  ir_text text;
  s->has_graph = ir_graph_init(&s->graph, mesh->mem, error) == IR_OK;
  if (!s->has_graph) return error->status;
  ir_text_init(&text, mesh->mem);
  s->graph.error = error;
  put_graph(mesh, axis, elements, hops, &text);
  if (text.failed) ir_fail(error, IR_ERR_MEMORY, "calibrate: out of memory");
  else fe_parse_graphs(&s->graph, "calibrate", ir_text_get(&text), text.len, &s->module);
  ir_text_free(&text);
  if (error->status) return error->status;
  s->has_request = true;
  if (!fe_block_request(&s->graph, s->module.graphs, NULL, &s->request) && !error->status)
    ir_fail(error, IR_ERR_MEMORY, "calibrate: out of memory");
  return error->status ? error->status : fe_sharded_make(context, &s->request, false, &s->sharded, error);
}

static void free_sender(sender *s) {
  fe_sharded_free(&s->sharded);
  if (s->has_request) fe_block_request_free(&s->graph, s->module.graphs, &s->request);
  ir_module_free(&s->module);
  if (s->has_graph) ir_graph_free(&s->graph);
}

static ir_status time_run(sender *s, void *in, void *out, double *seconds, ir_error *error) {
  int64_t start = ir_now_ns();
  ir_status status = fe_sharded_run(&s->sharded, &in, &out, NULL, error);
  *seconds = (double)(ir_now_ns() - start) * 1e-9;
  return status;
}

/* Other work on the machine only adds to a time. */
static double least_of(const sender *s) {
  double least = s->seconds[0];
  for (int i = 1; i < ROUNDS; i++)
    if (s->seconds[i] < least) least = s->seconds[i];
  return least;
}

/* The time of a message of so many elements along the axis, in seconds. */
static ir_status time_message(rt_context *context, const ir_mesh *mesh, uint32_t axis, int64_t elements,
                              double *out, ir_error *error) {
  sender few = {0}, many = {0};
  size_t bytes = (size_t)elements * (size_t)mesh->axes[axis].size * sizeof(float);
  unsigned char *arrays = ir_alloc(mesh->mem, 2 * bytes);
  if (!arrays) return ir_fail(error, IR_ERR_MEMORY, "calibrate: out of memory");
  memset(arrays, 0, 2 * bytes);
  bool good = make_sender(&few, context, mesh, axis, elements, FEW_HOPS, error) == IR_OK &&
              make_sender(&many, context, mesh, axis, elements, MANY_HOPS, error) == IR_OK;
  for (int i = -1; i < ROUNDS && good; i++) { /* the first time warms up */
    int at = i < 0 ? 0 : i;
    good = time_run(&few, arrays, arrays + bytes, &few.seconds[at], error) == IR_OK &&
           time_run(&many, arrays, arrays + bytes, &many.seconds[at], error) == IR_OK;
  }
  if (good) *out = (least_of(&many) - least_of(&few)) / (MANY_HOPS - FEW_HOPS);
  free_sender(&few);
  free_sender(&many);
  ir_free(mesh->mem, arrays, 2 * bytes);
  return error->status;
}

ir_status fe_mesh_calibrate(rt_context *context, ir_mesh *mesh, double *rates, ir_error *error) {
  enum { RESOLUTION_PS = 1000 }; /* a message is not faster than a nanosecond, which the clock tells apart */
  double latency[IR_MESH_AXES] = {0}, bandwidth[IR_MESH_AXES] = {0}, least = RESOLUTION_PS * 1e-12;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    double small, large;
    if (mesh->axes[a].size == 1) continue;
    if (time_message(context, mesh, a, SMALL, &small, error) != IR_OK ||
        time_message(context, mesh, a, LARGE, &large, error) != IR_OK)
      return error->status;
    latency[a] = small > least ? small : least;
    bandwidth[a] =
        (double)((LARGE - SMALL) * sizeof(float)) / (large - small > least ? large - small : least);
  }
  if (fe_mesh_agree(context, mesh, latency, sizeof latency, error) != IR_OK ||
      fe_mesh_agree(context, mesh, bandwidth, sizeof bandwidth, error) != IR_OK)
    return error->status;
  for (uint32_t a = 0; a < mesh->axis_count; a++) {
    mesh->axes[a].latency = fe_two_digits(latency[a]);
    mesh->axes[a].bandwidth = fe_two_digits(bandwidth[a]);
  }
  ir_status status = fe_mesh_rates(context, mesh, rates, error);
  if (!status) fe_mesh_keep(context, mesh, rates);
  return status;
}
