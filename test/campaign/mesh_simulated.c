/* Steps of training on meshes of many devices, in virtual time.
 *
 *   mesh_simulated [--devices N] [--orders N] [--scaling]
 *   mesh_simulated --graph FILE.vf [--operations N]
 *
 * A network of layers with a matrix each learns for a step: its examples are divided along x and y of a mesh
 * [x,y,z], its features along z, so that there are sums of activations along z, of gradients along x and y,
 * and of the loss over all. All elements are small whole numbers, so that what a device has is what one
 * device computes, bit for bit. --devices: the largest mesh, a cube. --orders: how many times messages
 * arrive, and devices run, in an order that is drawn. --scaling: times of 1 to 8 devices with examples as
 * many (strong), and of 1 to 64 with as many each (weak), against the larger of computing and moving.
 * --graph: how long exchanges of a graph with a mesh are in progress, and how much of that is hidden, where a
 * device does so many thousand million operations in a second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/viewfold.h"
#include "frontend/viewfold_mesh.h"
#include "runtime/context.h"
#include "runtime/mesh/box.h"
#include "test/lib/options.h"
#include "test/lib/simulated.h"

enum { LAYERS = 4, INPUTS = LAYERS + 1, MOST = 8 };

typedef struct network {
  int64_t examples, width;
  const char *mesh; /* with latency and bandwidth */
  bool features;    /* divided along z */
} network;

static simulated machine;
static vf_context *context;

static vf_value layer(vf_value x, vf_value w, const char *along) {
  vf_value y = vf_matmul(x, w);
  return along ? vf_shard(y, along) : y;
}

/* loss = sum of what comes out; outputs are the loss and the weights less their gradients. */
static vf_program *compile(const network *n, bool whole, vf_error *error) {
  vf_graph *g = vf_graph_create(context, "step", error);
  vf_mesh *mesh = whole ? NULL : vf_mesh_create(context, n->mesh, error);
  if (mesh) vf_graph_set_mesh(g, mesh, error);
  const char *rows = n->features ? "[x.y,-]" : "[x,-]";
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(n->examples, n->width)), w[LAYERS], d[LAYERS];
  if (mesh) x = vf_shard(x, rows);
  vf_value h = x;
  for (int i = 0; i < LAYERS; i++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", i);
    w[i] = vf_input(g, name, VF_F32, VF_LIST(n->width, n->width));
    if (mesh && n->features) w[i] = vf_shard(w[i], i % 2 ? "[z,-]" : "[-,z]");
    h = layer(h, w[i], mesh && n->features && i % 2 ? rows : NULL);
  }
  vf_value loss = vf_sum(h, VF_ALL, false);
  vf_grad(loss, LAYERS, w, d);
  vf_output(g, "loss", loss);
  for (int i = 0; i < LAYERS; i++) {
    char name[8];
    snprintf(name, sizeof name, "n%d", i);
    vf_output(g, name, vf_sub(w[i], vf_mul(d[i], vf_number(g, 0.5))));
  }
  vf_program *p = mesh ? vf_compile_on(g, NULL, 0, error) : vf_compile(g, error);
  vf_mesh_destroy(mesh);
  vf_graph_destroy(g);
  return p;
}

typedef struct arrays {
  float *in[INPUTS], *out[INPUTS];
} arrays;

/* Weights have few ones, so that sums stay small. */
static void make(arrays *a, const network *n) {
  for (int i = 0; i < INPUTS; i++) {
    int64_t rows = i ? n->width : n->examples, count = rows * n->width;
    a->in[i] = calloc((size_t)count, sizeof(float));
    a->out[i] = calloc((size_t)(i ? count : 1), sizeof(float));
    for (int64_t k = 0; k < count; k++)
      a->in[i][k] = i ? (float)((k / n->width + i) % n->width == k % n->width) : (float)(k % 3 - 1);
  }
}
static void drop(arrays *a) {
  for (int i = 0; i < INPUTS; i++) free(a->in[i]), free(a->out[i]);
}

static bool run(vf_program *p, arrays *a, vf_error *error) {
  const void *in[INPUTS];
  void *out[INPUTS];
  for (int i = 0; i < INPUTS; i++) in[i] = a->in[i], out[i] = a->out[i];
  return vf_program_run(p, in, out, NULL, error) == VF_OK;
}

static bool same(const arrays *a, const arrays *b, const network *n) {
  if (memcmp(a->out[0], b->out[0], sizeof(float)) != 0) return false;
  for (int i = 1; i < INPUTS; i++)
    if (memcmp(a->out[i], b->out[i], (size_t)(n->width * n->width) * sizeof(float)) != 0) return false;
  return true;
}

static bool failed(const char *what, const network *n, const char *why) {
  printf("FAIL %s on %s: %s\n", what, n->mesh, why);
  return false;
}

/* One network by one device, on the mesh in time, and in any order. */
static bool try_orders(const network *n, long orders) {
  vf_error error = {0};
  arrays one, many;
  make(&one, n), make(&many, n);
  machine.any_order = false;
  vf_program *plain = compile(n, true, &error), *p = compile(n, false, &error);
  bool good = plain && p && run(plain, &one, &error);
  for (long i = -1; i < orders && good; i++) {
    machine.any_order = i >= 0;
    machine.seed = (uint64_t)i + 1;
    good = run(p, &many, &error) && (same(&one, &many, n) || failed("results", n, "they differ"));
    if (good && i < 0)
      printf("%lld devices: %lld messages, %lld bytes, virtual %.3f ms, a device has at most %zu bytes of "
             "messages\n",
             (long long)machine.devices, (long long)machine.messages, (long long)machine.message_bytes,
             (double)machine.end_ns * 1e-6, machine.most_packets);
  }
  if (good && orders > 0) printf("  in %ld other orders: the same\n", orders);
  if (!good) failed("a step", n, error.message);
  vf_program_destroy(plain), vf_program_destroy(p);
  drop(&one), drop(&many);
  return good;
}

/* Times against the larger of what the last device computes and what a link moves. */
static bool try_scaling(const char *what, const char *link, int64_t devices, int64_t examples) {
  char mesh[128];
  vf_error error = {0};
  snprintf(mesh, sizeof mesh, "[x=%lld] %s", (long long)devices, link);
  network n = {examples, 512, mesh, false};
  arrays a;
  make(&a, &n);
  machine.any_order = false;
  vf_program *p = compile(&n, false, &error);
  bool good = p && run(p, &a, &error);
  int64_t bound = machine.compute_ns > machine.link_ns ? machine.compute_ns : machine.link_ns;
  if (good)
    printf("%s %lld, %s: %.3f ms, computing %.3f, a link %.3f; %.3f of the larger\n", what,
           (long long)devices, link, (double)machine.end_ns * 1e-6, (double)machine.compute_ns * 1e-6,
           (double)machine.link_ns * 1e-6, (double)machine.end_ns / (double)bound);
  if (!good) failed(what, &n, error.message);
  vf_program_destroy(p);
  drop(&a);
  return good && (double)machine.end_ns <= 1.1 * (double)bound;
}

/* A graph of a file, on zeros. */
static bool try_graph(const char *path) {
  vf_error error = {0};
  static char text[1 << 20];
  FILE *file = fopen(path, "r");
  size_t length = file ? fread(text, 1, sizeof text, file) : 0;
  if (file) fclose(file);
  vf_graph *g = vf_graph_parse(context, text, length, path, NULL, &error);
  vf_program *p = g ? vf_compile_on(g, NULL, 0, &error) : NULL;
  enum { PORTS = 64, BYTES = 1 << 29 };
  const void *in[PORTS];
  void *out[PORTS];
  char *zeros = calloc(1, BYTES);
  bool good = p && vf_port_count(p, VF_INPUT) <= PORTS && vf_port_count(p, VF_OUTPUT) <= PORTS;
  for (int i = 0; i < PORTS; i++) in[i] = zeros;
  for (int i = 0; i < PORTS; i++) out[i] = malloc(BYTES / PORTS);
  good = good && vf_program_run(p, in, out, NULL, &error) == VF_OK;
  double moving = (double)machine.comm_ns, waiting = (double)machine.exposed_ns;
  if (good)
    printf("%s: %.3f ms, computing %.3f, exchanges in progress %.3f, waited for %.3f: %.1f %% hidden\n", path,
           (double)machine.end_ns * 1e-6, (double)machine.compute_ns * 1e-6, moving * 1e-6, waiting * 1e-6,
           100 * (1 - waiting / moving));
  else printf("FAIL %s: %s\n", path, error.message);
  vf_program_destroy(p), vf_graph_destroy(g);
  for (int i = 0; i < PORTS; i++) free(out[i]);
  free(zeros);
  return good;
}

int main(int argc, char **argv) {
  const char *graph = NULL;
  long operations = 24; /* of one processor */
  long devices = 64, orders = 20;
  bool scaling = false;
  vf_error error = {0};
  OPTIONS_READ(argc, argv, OPTION("--devices", &devices), OPTION("--orders", &orders),
               OPTION("--scaling", &scaling), {"--graph", OPTION_TEXT, &graph},
               OPTION("--operations", &operations));
  simulated_init(&machine);
  machine.operations = (double)operations * 1e9, machine.bytes = 15e9;
  context = vf_context_create(&(vf_options){.size = sizeof(vf_options), .threads = 1}, &error);
  if (!context) return fprintf(stderr, "%s\n", error.message), 2;
  context->runtime->simulation = &machine.simulation;
  bool good = !graph || try_graph(graph);
  for (long side = 2; side * side * side <= devices && good && !graph; side *= 2) {
    char mesh[160];
    snprintf(mesh, sizeof mesh, "[x=%ld,y=%ld,z=%ld] latency=[1e-5,5e-6,1e-6] bandwidth=[1e9,5e9,1e10]", side,
             side, side);
    network n = {2 * side * side, 2 * side, mesh, true};
    good = try_orders(&n, side * 4 > 4 * devices ? 0 : orders);
  }
  static const char *const links[] = {"latency=[1e-5] bandwidth=[1e10]", "latency=[1e-4] bandwidth=[1e9]"};
  for (int i = 0; i < 2 && scaling; i++) {
    for (long d = 1; d <= 8; d *= 2) good &= try_scaling("strong", links[i], d, 4096);
    for (long d = 1; d <= 64; d *= 2) good &= try_scaling("weak", links[i], d, 512 * d);
  }
  vf_context_destroy(context);
  printf("mesh_simulated: %s\n", good ? "0 failed" : "failed");
  return !good;
}
