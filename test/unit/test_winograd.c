/* Convolutions in graphs that say precision=relaxed, against sums over windows in plain loops. */
#include "frontend/viewfold.h"
#include "test/lib/unit.h"

#include <math.h>

typedef struct shape {
  int64_t images, channels, results, height, width, padding[2], groups,
      stride;    /* height 0: one axis of space */
  bool filtered; /* is Winograd's form taken? */
} shape;

static const shape shapes[] = {
    {1, 64, 48, 8, 8, {1, 1}, 1, 1, true},     {2, 64, 48, 7, 9, {1, 1}, 1, 1, true},
    {1, 40, 96, 13, 12, {0, 0}, 1, 1, true},   {3, 96, 32, 14, 5, {0, 2}, 1, 1, true},
    {1, 256, 128, 0, 301, {0, 1}, 1, 1, true}, {2, 128, 256, 0, 150, {0, 0}, 1, 1, true},
    {1, 4, 4, 30, 30, {1, 1}, 1, 1, false},    {1, 96, 96, 2, 3, {1, 1}, 1, 1, false},
    {1, 64, 48, 9, 9, {1, 1}, 2, 1, false},    {1, 64, 48, 17, 17, {1, 1}, 1, 2, false},
    {1, 40, 40, 8, 8, {1, 1}, 1, 1, false} /* saves a hundredth */};

enum { SHAPES = sizeof shapes / sizeof *shapes, EXACT = 0, BY_ATTRIBUTE = 1, BY_CONTEXT = 2 };

static int64_t rows_of(const shape *s) { return s->height ? s->height : 1; }
static int64_t along(const shape *s, int64_t size, int axis) {
  return (size + 2 * s->padding[axis] - 3) / s->stride + 1;
}
static int64_t places_of(const shape *s) {
  return (s->height ? along(s, s->height, 0) : 1) * along(s, s->width, 1);
}
static size_t image_count(const shape *s) {
  return (size_t)(s->images * s->channels * rows_of(s) * s->width);
}
static size_t weight_count(const shape *s) {
  return (size_t)(s->results * s->channels / s->groups * (s->height ? 9 : 3));
}
static size_t result_count(const shape *s) { return (size_t)(s->images * s->results * places_of(s)); }

/* The sum for result number n, and that of the magnitudes of its terms. */
static double sum_of(const shape *s, const double *x, const double *w, int64_t n, double *magnitudes) {
  int64_t columns = along(s, s->width, 1), place = n % places_of(s), of = n / places_of(s) % s->results,
          image = n / places_of(s) / s->results, own = s->channels / s->groups, taps = s->height ? 3 : 1;
  double sum = *magnitudes = 0;
  for (int64_t c = 0; c < own; c++)
    for (int64_t i = 0; i < taps; i++)
      for (int64_t j = 0; j < 3; j++) {
        int64_t row = s->height ? place / columns * s->stride + i - s->padding[0] : 0;
        int64_t column = place % columns * s->stride + j - s->padding[1];
        if (row < 0 || row >= rows_of(s) || column < 0 || column >= s->width) continue;
        int64_t channel = of / (s->results / s->groups) * own + c;
        double a = x[((image * s->channels + channel) * rows_of(s) + row) * s->width + column];
        double b = w[((of * own + c) * taps + i) * 3 + j];
        sum += a * b, *magnitudes += fabs(a * b);
      }
  return sum;
}

static vf_graph *record(const shape *s, vf_dtype dtype, int how, vf_context **context) {
  vf_options options = {.size = sizeof options, .threads = 1, .flags = VF_NO_DISK};
  if (how == BY_CONTEXT) options.flags |= VF_RELAXED;
  *context = vf_context_create(&options, NULL);
  vf_graph *g = vf_graph_create(*context, "convolve", NULL);
  int rank = s->height ? 4 : 3;
  int64_t image[] = {s->images, s->channels, s->height ? s->height : s->width, s->width},
          weight[] = {s->results, s->channels / s->groups, 3, 3};
  vf_value x = vf_input(g, "x", dtype, rank, image), w = vf_input(g, "w", dtype, rank, weight);
  char padding[32], text[128];
  snprintf(padding, sizeof padding, s->height ? "%2$d,%1$d" : "%1$d", (int)s->padding[1], (int)s->padding[0]);
  snprintf(text, sizeof text, "padding=[%s] stride=%d groups=%d%s", padding, (int)s->stride, (int)s->groups,
           how == BY_ATTRIBUTE ? " precision=relaxed" : "");
  vf_output(g, "y", vf_apply(g, "conv", (vf_value[]){x, w}, 2, text));
  assert_string_equal(vf_graph_message(g), "");
  return g;
}

static void convolve(const shape *s, vf_dtype dtype, int how, const void *x, const void *w, void *out) {
  vf_context *c;
  vf_error error;
  vf_graph *g = record(s, dtype, how, &c);
  vf_program *p = vf_compile(g, &error);
  if (!p) fail_msg("%s", error.message);
  assert_int_equal(vf_program_run(p, (const void *[]){x, w}, (void *[]){out}, NULL, &error), VF_OK);
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
}

static double *random_numbers(size_t n, int whole) {
  double *x = unit_keep(malloc(n * sizeof *x), free);
  for (size_t i = 0; i < n; i++)
    x[i] = whole ? rand() % (2 * whole + 1) - whole : (float)(rand() / (double)RAND_MAX - 0.5);
  return x;
}
static float *narrowed(const double *x, size_t n) {
  float *made = unit_keep(malloc(n * sizeof *made), free);
  for (size_t i = 0; i < n; i++) made[i] = (float)x[i];
  return made;
}

/* Small whole numbers: every sum, of halves and quarters too, is exact, so all bits are known. */
static void whole_numbers(void **state) {
  for (size_t i = 0; i < SHAPES; i++) {
    const shape *s = &shapes[i];
    double *x = random_numbers(image_count(s), 4), *w = random_numbers(weight_count(s), 4), magnitudes;
    size_t n = result_count(s);
    float *out = unit_keep(malloc(n * sizeof *out), free);
    convolve(s, VF_F32, i % 2 ? BY_ATTRIBUTE : BY_CONTEXT, narrowed(x, image_count(s)),
             narrowed(w, weight_count(s)), out);
    for (size_t k = 0; k < n; k++)
      if (out[k] != sum_of(s, x, w, (int64_t)k, &magnitudes))
        fail_msg("shape %zu, element %zu: %g", i, k, out[k]);
  }
}

/* Errors are relative to the largest sum of magnitudes: sums of 4 and of 16 elements are rounded besides. */
static void rounded(void **state) {
  for (size_t i = 0; i < SHAPES; i++) {
    const shape *s = &shapes[i];
    double *x = random_numbers(image_count(s), 0), *w = random_numbers(weight_count(s), 0), most = 0,
           worst[2] = {0};
    size_t n = result_count(s);
    float *single = unit_keep(malloc(n * sizeof *single), free);
    double *wide = unit_keep(malloc(n * sizeof *wide), free);
    convolve(s, VF_F32, BY_CONTEXT, narrowed(x, image_count(s)), narrowed(w, weight_count(s)), single);
    convolve(s, VF_F64, BY_ATTRIBUTE, x, w, wide);
    for (size_t k = 0; k < n; k++) {
      double magnitudes, sum = sum_of(s, x, w, (int64_t)k, &magnitudes);
      most = fmax(most, magnitudes);
      worst[0] = fmax(worst[0], fabs(single[k] - sum)), worst[1] = fmax(worst[1], fabs(wide[k] - sum));
    }
    assert_true(worst[0] < 1e-6 * most && worst[1] < 1e-15 * most);
  }
}

static void taken_where_it_pays(void **state) {
  for (size_t i = 0; i < SHAPES; i++) {
    char *text[3];
    vf_context *c[3];
    vf_graph *g[3];
    for (int how = EXACT; how <= BY_CONTEXT; how++) {
      g[how] = record(&shapes[i], VF_F32, how, &c[how]);
      text[how] = vf_graph_text(g[how], NULL);
    }
    assert_int_equal(strcmp(text[EXACT], text[BY_CONTEXT]) != 0, shapes[i].filtered);
    assert_string_equal(text[BY_ATTRIBUTE], text[BY_CONTEXT]);
    for (int how = EXACT; how <= BY_CONTEXT; how++)
      vf_text_free(c[how], text[how]), vf_graph_destroy(g[how]), vf_context_destroy(c[how]);
  }
}

UNIT_TESTS(whole_numbers, rounded, taken_where_it_pays)
