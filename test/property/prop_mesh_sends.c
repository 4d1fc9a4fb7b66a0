/* Exchanges that go in pieces while a kernel makes their operand: programs on a mesh of slow links, where all
 * exchanges go in pieces, compute what one device computes. All elements are whole numbers, small enough for
 * sums in any order.
 *
 *   prop_mesh_sends --seed S --count N
 *   prop_mesh_sends --case SEED        one graph again, by the seed in its report */
#include "frontend/api/program.h"
#include "frontend/mesh/sharded.h"
#include "frontend/viewfold.h"
#include "frontend/viewfold_mesh.h"
#include "runtime/program/program.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 2048, MOST = 160 };
static const char *const types[] = {"f32", "f64", "i32"};

static vf_context *context;
static bool show;
static long in_pieces, sending;

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
  bool sends = false;
  for (uint32_t i = 0; i < first->plan.head->steps; i++) sends |= first->sends[i] != UINT32_MAX;
  rt_mesh_count(m, kinds, 8, &found, &most, &total);
  int64_t devices = rt_mesh_axes(p->sharded->mesh)->device_count;
  for (size_t i = 0; i < found; i++) messages += kinds[i].messages, times += kinds[i].times;
  in_pieces += messages > times * devices * (devices - 1);
  sending += sends && messages > times * devices * (devices - 1);
}

static bool same(const drawn *d, const vf_graph *whole, const vf_graph *divided, uint64_t seed) {
  static double a[MOST * MOST], b[MOST * MOST], one[MOST * MOST], many[MOST * MOST];
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
  return good;
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
  if (!context) return fprintf(stderr, "%s\n", error.message), 2;
  cases_run(&given, one_case);
  vf_context_destroy(context);
  printf("prop_mesh_sends: %ld graphs, %ld with exchanges in pieces, %ld of them while a kernel runs, %ld "
         "failed, seed %" PRIu64 "\n",
         given.done, in_pieces, sending, given.failed, given.seed);
  return given.failed != 0 || (!given.repeat && given.done >= 60 && sending < given.done / 16);
}
