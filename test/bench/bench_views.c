/* What views of data cost: a call that records something new, and one that has been made before; and an epoch
 * of docs/examples/digits_views.c beside the same networks with permutes written by hand, in turns.
 *
 *   build/bench/bench_views [EPOCHS]
 *
 * Times of calls are the median of 21 rounds of 1,000, for one thread. */
#define main example_main
#include "docs/examples/digits_views.c"
#undef main

#include "ir/timer.h"
#include "test/lib/median.h"

enum { CALLS = 1000, ROUNDS = 21, EXAMPLES = 4096 };

typedef struct subject {
  vf_graph *graph;
  vf_data_view *view[CALLS], *all, *part; /* one array each; one of all examples */
  vf_value array[CALLS], indices[CALLS], gradient;
} subject;

static vf_error error;

static void make(subject *s, vf_context *context) {
  s->graph = vf_graph_create(context, "calls", &error);
  for (int i = 0; i < CALLS; i++) {
    char name[24];
    snprintf(name, sizeof name, "x%d", i);
    s->array[i] = vf_input(s->graph, name, VF_F32, VF_LIST(32, 8, 8, 3));
    snprintf(name, sizeof name, "at%d", i);
    s->indices[i] = vf_input(s->graph, name, VF_I64, VF_LIST(32));
    s->view[i] = vf_image_view_create(s->graph, &error);
  }
  s->gradient = vf_input(s->graph, "g", VF_F32, VF_LIST(32, 3, 8, 8));
  s->all = vf_image_view_of("bhwc", vf_input(s->graph, "all", VF_F32, VF_LIST(EXAMPLES, 8, 8, 3)), &error);
  s->part = vf_image_view_create(s->graph, &error);
}
static void free_subject(subject *s) {
  for (int i = 0; i < CALLS; i++) vf_data_view_destroy(s->view[i]);
  vf_data_view_destroy(s->all), vf_data_view_destroy(s->part), vf_graph_destroy(s->graph);
}

static bool put(subject *s, int i) { return vf_data_put(s->view[i], "bhwc", s->array[i], &error) == VF_OK; }
static bool get(subject *s, int i) { return vf_ok(vf_data_get(s->view[i], "bchw", VF_NONE, &error)); }
static bool get_rows(subject *s, int i) { return vf_ok(vf_data_get(s->view[i], "bf", VF_F16, &error)); }
static bool give(subject *s, int i) {
  return vf_data_backward_put(s->view[i], "bchw", s->gradient, &error) == VF_OK;
}
static bool take(subject *s, int i) { return vf_ok(vf_data_backward_get(s->view[i], NULL, VF_NONE, &error)); }
static bool sub(subject *s, int i) { return vf_data_sub(s->all, i, i + 32, s->part, &error) != NULL; }
static bool pick(subject *s, int i) { return vf_data_index(s->all, s->indices[i], s->part, &error) != NULL; }

static const struct {
  const char *name;
  bool (*call)(subject *s, int i);
} calls[] = {{"put", put},           {"get bchw", get},      {"get bf, cast", get_rows},
             {"backward_put", give}, {"backward_get", take}, {"sub", sub},
             {"index", pick}};
enum { KINDS = sizeof calls / sizeof *calls };

static double timed(subject *s, int kind) {
  int64_t start = ir_now_ns();
  bool good = true;
  for (int i = 0; i < CALLS; i++) good = calls[kind].call(s, i) && good;
  if (!good) fprintf(stderr, "%s: %s\n", calls[kind].name, error.message), exit(1);
  return (double)(ir_now_ns() - start) / CALLS;
}

static void time_calls(vf_context *context) {
  static double first[KINDS][ROUNDS], again[KINDS][ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    static subject s;
    make(&s, context);
    for (int k = 0; k < KINDS; k++) {
      first[k][round] = timed(&s, k);
      again[k][round] = k == 3 ? 0 : timed(&s, k); /* a gradient put again is one more */
    }
    free_subject(&s);
  }
  printf("%-14s %10s %10s   ns for a call: median, least\n", "", "first", "again");
  for (int k = 0; k < KINDS; k++) {
    double one = median(first[k], ROUNDS), two = median(again[k], ROUNDS);
    printf("%-14s %5.0f %4.0f %5.0f %4.0f\n", calls[k].name, one, first[k][0], two, again[k][0]);
  }
}

/* The same batches without views. */
static bool serve_by_hand(vf_value images, vf_value labels, vf_value which, int64_t start, int64_t stop,
                          batch *out, vf_error *e) {
  (void)e;
  vf_graph *g = images.graph;
  vf_value x =
      vf_gather(vf_shrink(images, VF_LIST(start, stop, 0, SIDE, 0, SIDE, 0, 1)), which, 0, VF_GATHER_CHECK);
  vf_value n = vf_graph_find(g, "n"), pixels = vf_integer(g, PIXELS), side = vf_integer(g, SIDE);
  x = normalised(vf_reshape_sized(x, 2, (vf_value[]){n, pixels}));
  vf_value y = vf_gather(vf_shrink(labels, VF_LIST(start, stop)), which, 0, VF_GATHER_CHECK);
  vf_value classes = vf_iota(g, VF_I32, VF_LIST(CLASSES), 0), parities = vf_iota(g, VF_I32, VF_LIST(2), 0);
  vf_value odd = vf_mod(y, vf_integer(g, PARITIES));
  out->rows = x;
  out->planes =
      vf_permute(vf_reshape_sized(x, 4, (vf_value[]){n, side, side, vf_integer(g, 1)}), VF_LIST(0, 3, 1, 2));
  out->digits = vf_cast(vf_eq(vf_unsqueeze(y, 1), classes), VF_F32);
  out->parities = vf_cast(vf_eq(vf_unsqueeze(odd, 1), parities), VF_F32);
  return vf_graph_status(g) == VF_OK;
}

static void time_epochs(vf_context *context, const digits *d, int epochs) {
  const server servers[] = {serve, serve_by_hand};
  double *ns[2], *ratios = malloc((size_t)epochs * sizeof *ratios);
  float *weights[2][PARTS], *speeds[2][PARTS], loss[2][2];
  vf_program *step[2];
  vf_sampler *samplers[2];
  for (int k = 0; k < 2; k++) {
    ns[k] = malloc((size_t)epochs * sizeof **ns);
    step[k] = compiled(record_step(context, servers[k], &error), &error);
    samplers[k] = vf_shuffled_sampler_create(context, TRAINED, BATCH, 1, &error);
    if (!step[k] || !samplers[k] || !begin(context, weights[k], speeds[k], &error))
      fprintf(stderr, "%s\n", error.message), exit(1);
  }
  for (int i = 0; i < 2 * epochs; i++) {
    int k = (i + i / 2) % 2; /* views, hand, hand, views, ... */
    int64_t start = ir_now_ns();
    if (!epoch(step[k], samplers[k], d, 0.02f, weights[k], speeds[k], loss[k], &error)) exit(1);
    ns[k][i / 2] = (double)(ir_now_ns() - start);
  }
  for (int i = 0; i < epochs; i++) ratios[i] = ns[0][i] / ns[1][i];
  double ratio = median(ratios, (size_t)epochs), views = median(ns[0], (size_t)epochs);
  double hand = median(ns[1], (size_t)epochs);
  vf_stats stats[2] = {{.size = sizeof *stats}, {.size = sizeof *stats}};
  for (int k = 0; k < 2; k++) vf_program_stats(step[k], &stats[k]);
  printf("epoch by views %.2f ms (least %.2f), by hand %.2f ms (least %.2f), ratio %.3f, of the least %.3f; "
         "%u and %u kernels; losses %g and %g\n",
         views / 1e6, ns[0][0] / 1e6, hand / 1e6, ns[1][0] / 1e6, ratio, ns[0][0] / ns[1][0],
         stats[0].launches, stats[1].launches, loss[0][0], loss[1][0]);
  for (int k = 0; k < 2; k++) {
    vf_program_destroy(step[k]), vf_sampler_destroy(samplers[k]), free(ns[k]);
    for (int i = 0; i < PARTS; i++) free(weights[k][i]), free(speeds[k][i]);
  }
  free(ratios);
}

int main(int count, char **argument) {
  static digits d;
  int epochs = count > 1 ? atoi(argument[1]) : 21;
  vf_options options = {.size = sizeof options, .threads = 1};
  vf_context *context = vf_context_create(&options, &error);
  if (!context || epochs < 1 || !digits_read("docs/examples/digits/digits.pgm", &d)) return 1;
  time_calls(context);
  time_epochs(context, &d, epochs);
  vf_context_destroy(context);
  return 0;
}
