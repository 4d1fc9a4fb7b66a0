/* Exchanges that go in pieces while a kernel makes their operand, or uses their result: programs on a mesh of
 * slow links, where all exchanges go in pieces, compute what one device computes. So they do in virtual time,
 * where it costs nothing to begin a part of a kernel, so that kernels wait for pieces wherever they may, and
 * where pieces arrive, and devices run, in an order that is drawn. All elements are whole numbers, small
 * enough for sums in any order.
 *
 *   prop_mesh_sends --seed S --count N
 *   prop_mesh_sends --case SEED        one graph again, by the seed in its report */
#include "frontend/api/program.h"
#include "frontend/mesh/sharded.h"
#include "frontend/viewfold.h"
#include "frontend/viewfold_mesh.h"
#include "runtime/context.h"
#include "runtime/program/program.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"
#include "test/lib/simulated.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 2048, MOST = 160, ORDERS = 3, SIZE = (MOST + 8) * MOST };
static const char *const types[] = {"f32", "f64", "i32"};

static vf_context *context, *virtual;
static simulated machine;
static bool show;
static long in_pieces, sending, receiving;

typedef struct drawn {
  char text[TEXT];
  int devices, rows, terms, columns, type;
} drawn;

/* Sizes of tiles, which blocks are known of, and others. */
static int size(uint64_t *state) {
  int any = (int)random_between(state, 1, MOST);
  return random_between(state, 0, 3) ? (any + 15) / 16 * 16 : any;
}

static void draw(drawn *d, uint64_t seed) {
  static const char *const bodies[] = {
      "  %t = permute %a order=[1,0]\n  %g = matmul %t, %b\n  %r = all_reduce %g\n  %y = mul %r, 2\n",
      "  %t = permute %a order=[1,0]\n  %g = matmul %t, %b\n  %y = shard %g to=[x,-]\n",
      "  %t = permute %a order=[1,0]\n  %g = matmul %t, %b\n  %y = shard %g to=[-,x]\n",
      "  %g = relu %b\n  %h = add %g, %b\n  %r = all_gather %h axis=0\n  %y = flip %r axes=[0]\n",
      "  %g = relu %b\n  %h = mul %g, %b\n  %r = shard %h to=[-,x]\n  %y = sum %r axes=[0]\n",
      "  %g = all_gather %a axis=0\n  %t = permute %b order=[1,0]\n  %s = all_gather %t "
      "axis=1\n  %y = matmul %s, %g\n",
      "  %g = all_gather %a axis=0\n  %r = sum %g axes=[1]\n  %e = mul %r, 3\n  %y = sub %r, %e\n",
      "  %t = permute %a order=[1,0]\n  %g = matmul %t, %b\n  %r = all_reduce %g\n  %p = sum %r axes=[1] "
      "keepdims=true\n  %y = sub %r, %p\n",
      "  %g = all_gather %b axis=0\n  %h = pad %g pads=[[3,2],[0,0]]\n  %y = mul %h, 2\n",
      "  %g = flip %b axes=[1]\n  %h = shard %g to=[-,x]\n  %c = cumsum %h axis=0\n  %y = shard %c "
      "to=[-,-]\n"};
  uint64_t state = seed;
  *d = (drawn){.devices = (int)random_between(&state, 2, 4), .type = (int)random_between(&state, 0, 2)};
  d->rows = size(&state), d->terms = size(&state), d->columns = size(&state);
  const char *body = bodies[random_between(&state, 0, sizeof bodies / sizeof *bodies - 1)];
  snprintf(d->text, sizeof d->text,
           "mesh @m [x=%d] latency=[1e-12] bandwidth=[1e9]\n"
           "graph @g(%%a: %s[%d,%d] @m[x,-], %%b: %s[%d,%d] @m[x,-]) {\n%s  return %%y\n}\n",
           d->devices, types[d->type], d->rows, d->terms, types[d->type], d->rows, d->columns, body);
}

static void fill(void *to, int type, int count, uint64_t *state) {
  for (int i = 0; i < count; i++) {
    int64_t n = random_between(state, -4, 4);
    if (type == 0) ((float *)to)[i] = (float)n;
    else if (type == 1) ((double *)to)[i] = (double)n;
    else ((int32_t *)to)[i] = (int32_t)n;
  }
}

/* Does a kernel of some device send, and does more travel than a message for each exchange and pair? */
static void count(const vf_program *p) {
  const rt_mesh_program *m = p->sharded->devices;
  const rt_program *first = rt_mesh_program_of(m, 0);
  rt_mesh_traffic kinds[8];
  int64_t most, total, messages = 0, times = 0;
  size_t found = 0;
  bool sends = false, receives = false;
  for (uint32_t i = 0; i < first->plan.head->steps; i++) {
    sends |= first->sends[i] != UINT32_MAX;
    receives |= first->receives[i] != UINT32_MAX;
  }
  rt_mesh_count(m, kinds, 8, &found, &most, &total);
  int64_t devices = rt_mesh_axes(p->sharded->mesh)->device_count;
  for (size_t i = 0; i < found; i++) messages += kinds[i].messages, times += kinds[i].times;
  in_pieces += messages > times * devices * (devices - 1);
  sending += sends && messages > times * devices * (devices - 1);
  receiving += receives && messages > times * devices * (devices - 1);
}

/* In virtual time, and in orders that are drawn. */
static bool same_in_any_order(const drawn *d, const void **in, const void *one, size_t bytes, uint64_t seed) {
  static double many[SIZE];
  vf_error error = {0};
  vf_graph *g = vf_graph_parse(virtual, d->text, strlen(d->text), "t", NULL, &error);
  vf_program *p = g ? vf_compile_on(g, NULL, 0, &error) : NULL;
  bool good = p != NULL;
  for (int i = 0; i <= ORDERS && good; i++) {
    memset(many, 0, sizeof many);
    machine.any_order = i > 0;
    machine.seed = seed + (uint64_t)i;
    good = vf_program_run(p, in, (void *[]){many}, NULL, &error) == VF_OK;
    if (good && memcmp(one, many, bytes) != 0) {
      snprintf(error.message, sizeof error.message, "results differ in order %d", i);
      good = false;
    }
  }
  if (!good) fprintf(stderr, "in virtual time: %s\n", error.message);
  vf_program_destroy(p), vf_graph_destroy(g);
  return good;
}

static bool same(const drawn *d, const vf_graph *whole, const vf_graph *divided, uint64_t seed) {
  static double a[MOST * MOST], b[MOST * MOST], one[SIZE], many[SIZE];
  const void *in[] = {a, b};
  vf_error error = {0};
  uint64_t state = seed + 1;
  fill(a, d->type, d->rows * d->terms, &state), fill(b, d->type, d->rows * d->columns, &state);
  memset(one, 0, sizeof one), memset(many, 0, sizeof many);
  vf_program *p = vf_compile((vf_graph *)(uintptr_t)whole, &error),
             *q = p ? vf_compile_on((vf_graph *)(uintptr_t)divided, NULL, 0, &error) : NULL;
  bool good = q && vf_program_run(p, in, (void *[]){one}, NULL, &error) == VF_OK;
  for (int i = 0; i < 2 && good; i++) good = vf_program_run(q, in, (void *[]){many}, NULL, &error) == VF_OK;
  if (!good) fprintf(stderr, "%s\n", error.message);
  if (good && memcmp(one, many, sizeof one) != 0) {
    fprintf(stderr, "results differ\n");
    good = false;
  }
  if (good) count(q);
  vf_program_destroy(p), vf_program_destroy(q);
  return good && same_in_any_order(d, in, one, sizeof one, seed);
}

static bool one_case(uint64_t seed) {
  drawn d;
  vf_error error = {0};
  draw(&d, seed);
  vf_graph *g = vf_graph_parse(context, d.text, strlen(d.text), "t", NULL, &error);
  vf_graph *h = g ? vf_graph_parse(context, d.text, strlen(d.text), "t", NULL, &error) : NULL;
  bool good = h && same(&d, g, h, seed);
  if (!h) fprintf(stderr, "%s\n", error.message);
  if (!good || show) fprintf(stderr, "%s(prop_mesh_sends --case %" PRIu64 ")\n", d.text, seed);
  vf_graph_destroy(g), vf_graph_destroy(h);
  return good;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 60);
  vf_error error = {0};
  show = given.show;
  context = vf_context_create(&(vf_options){.size = sizeof(vf_options), .threads = 2}, &error);
  virtual = context ? vf_context_create(&(vf_options){.size = sizeof(vf_options), .threads = 1}, &error)
                    : NULL;
  if (!virtual) return fprintf(stderr, "%s\n", error.message), 2;
  simulated_init(&machine);
  machine.operations = 1e9, machine.bytes = 1e9;
  virtual->runtime->simulation = &machine.simulation;
  cases_run(&given, one_case);
  vf_context_destroy(virtual), vf_context_destroy(context);
  printf("prop_mesh_sends: %ld graphs, %ld with exchanges in pieces, of them %ld while a kernel makes them "
         "and %ld "
         "while one uses them, %ld failed, seed %" PRIu64 "\n",
         given.done, in_pieces, sending, receiving, given.failed, given.seed);
  long least = !given.repeat && given.done >= 60 ? given.done / 16 : 0;
  return given.failed != 0 || sending < least || receiving < least;
}
