/* Two networks learn to read handwritten digits from one data set, which each sees in its own axes: a
 * convolutional network images of planes ("bchw"), a dense one rows of pixels ("bf"). The first is told which
 * digit it is, the second also whether the digit is odd.
 *
 *   digits_views [digits.pgm]
 *
 * The data set is a list of views: images, and a list of two targets. A part of it trains, the remainder is
 * held out, and a batch is an index view of the part: the same examples of all arrays, whose numbers a
 * sampler gives to each run. The last batch of an epoch is shorter; one program serves both lengths. Nothing
 * is copied on the way: the kernels of the networks read the images where they are. */
#include "digits/digits.h"

enum { BATCH = 48, EPOCHS = 12, HIDDEN = 96, PARITIES = 2 };

/* Arrays that training changes in place. Scale 0 is that of a bias. */
typedef struct part {
  const char *name;
  int rank;
  int64_t shape[4];
  int fan_in; /* products of one result: the variance is 2 / fan_in (He et al. 2015) */
} part;
static const part parts[] = {
    {"conv1", 4, {16, 1, 3, 3}, 9},
    {"conv1_bias", 1, {16}, 0},
    {"conv2", 4, {32, 16, 3, 3}, 144},
    {"conv2_bias", 1, {32}, 0},
    {"read", 2, {128, CLASSES}, 128},
    {"read_bias", 1, {CLASSES}, 0},
    {"hidden", 2, {PIXELS, HIDDEN}, 64},
    {"hidden_bias", 1, {HIDDEN}, 0},
    {"both", 2, {HIDDEN, CLASSES + PARITIES}, HIDDEN},
    {"both_bias", 1, {CLASSES + PARITIES}, 0},
};
enum { PARTS = sizeof parts / sizeof *parts };

static int64_t elements(const part *p) {
  int64_t n = 1;
  for (int i = 0; i < p->rank; i++) n *= p->shape[i];
  return n;
}

/* What the networks ask for, of one batch. */
typedef struct batch {
  vf_value planes, rows, digits, parities;
} batch;

/* Pixels as networks like them: about 0 on average, and 1 in size. */
static vf_value normalised(vf_value pixels) {
  vf_value mean = vf_number(pixels.graph, 0.305), deviation = vf_number(pixels.graph, 0.376);
  return vf_div(vf_sub(pixels, mean), deviation);
}

/* The examples `which` of those from start on, before stop. Calls after one that failed fail too, and are
 * looked at once, at the end. */
static bool serve(vf_value images, vf_value labels, vf_value which, int64_t start, int64_t stop, batch *out,
                  vf_error *error) {
  static const char *const names[CLASSES] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  static const char *const parities[PARITIES] = {"even", "odd"};
  vf_graph *graph = images.graph;
  vf_value one = vf_integer(graph, 1), odd = vf_mod(labels, vf_integer(graph, PARITIES));
  vf_data_view *image = vf_image_view_of("bhwc", images, error);
  vf_data_view *targets[] = {vf_class_view_of("b", vf_add(labels, one), error), /* class ids count from 1 */
                             vf_class_view_of("b", vf_add(odd, one), error)};
  vf_data_set_classes(targets[0], CLASSES, names, error);
  vf_data_set_classes(targets[1], PARITIES, parities, error);
  vf_data_view *both = vf_list_view_create(2, targets, error);
  vf_data_view *all = vf_list_view_create(2, (vf_data_view *[]){image, both}, error);
  vf_data_view *used = vf_data_sub(all, start, stop, NULL, error);
  vf_data_view *taken = vf_data_index(used, which, NULL, error);
  /* a step of preparation: what a view gives, changed, is led back through it */
  vf_data_view *pixels = vf_data_component(taken, 0);
  vf_value ink = vf_data_get(pixels, "bf", VF_F32, error);
  bool good = vf_ok(ink) && vf_data_replace(pixels, "bf", normalised(ink), error) == VF_OK;
  vf_value asked[3];
  good = good && vf_data_get_all(taken, "bchw,bf,bf", VF_NONE, 3, asked, error) == VF_OK;
  if (good) *out = (batch){asked[0], vf_data_get(pixels, "bf", VF_NONE, error), asked[1], asked[2]};
  vf_data_view_destroy(taken), vf_data_view_destroy(used), vf_data_view_destroy(all);
  vf_data_view_destroy(both), vf_data_view_destroy(image);
  vf_data_view_destroy(targets[0]), vf_data_view_destroy(targets[1]);
  return good;
}

/* Scores [n, 10] of planes [n, 1, 8, 8] */
static vf_value convolutional(vf_value planes, const vf_value *w) {
  const int64_t pads[] = {1, 1}, window[] = {2, 2};
  vf_value x = vf_relu(vf_conv(planes, w[0], w[1], 2, NULL, pads, NULL, 1));
  x = vf_max_pool(x, 2, window, NULL, NULL, NULL);
  x = vf_relu(vf_conv(x, w[2], w[3], 2, NULL, pads, NULL, 1));
  x = vf_max_pool(x, 2, window, NULL, NULL, NULL);
  return vf_add(vf_matmul(vf_rearrange(x, "bchw", "b(chw)"), w[4]), w[5]);
}

/* Scores [n, 12] of rows [n, 64]: of the digits, then of even and odd */
static vf_value dense(vf_value rows, const vf_value *w) {
  vf_value hidden = vf_relu(vf_add(vf_matmul(rows, w[6]), w[7]));
  return vf_add(vf_matmul(hidden, w[8]), w[9]);
}

static vf_value columns(vf_value x, int64_t begin, int64_t end) {
  return vf_gather(x, vf_arange(x.graph, VF_I32, begin, end, 1), 1, VF_GATHER_CHECK);
}

/* The mean of -log p of the classes of targets [n, classes], 1 where an example has the class. */
static vf_value loss_of(vf_value scores, vf_value targets) {
  return vf_neg(
      vf_mean(vf_sum(vf_mul(targets, vf_log_softmax(scores, 1)), VF_LIST(1), false), VF_ALL, false));
}

/* The inputs that say what the examples are. */
typedef struct given {
  vf_value images, labels, which;
} given;
static given inputs(vf_graph *graph, int64_t most) {
  vf_value n = vf_variable(graph, "n", 1, most, 1);
  return (given){vf_input(graph, "images", VF_F32, VF_LIST(DIGITS, SIDE, SIDE, 1)),
                 vf_input(graph, "labels", VF_I32, VF_LIST(DIGITS)),
                 vf_input_sized(graph, "which", VF_I64, 1, &n)};
}
typedef bool (*server)(vf_value images, vf_value labels, vf_value which, int64_t start, int64_t stop,
                       batch *out, vf_error *error);

/* A step of gradient descent with momentum: a speed is 0.9 of what it was, less the gradient's share. Weights
 * and speeds are the caller's arrays, changed in place. */
static vf_graph *record_step(vf_context *context, server serves, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "step", error);
  given in = inputs(graph, BATCH);
  vf_value rate = vf_input(graph, "rate", VF_F32, VF_ALL), w[PARTS], gradients[PARTS];
  vf_ref weights[PARTS], speeds[PARTS];
  batch x;
  for (int i = 0; i < PARTS; i++) {
    char name[40];
    snprintf(name, sizeof name, "%s_speed", parts[i].name);
    weights[i] = vf_ref_input(graph, parts[i].name, VF_F32, parts[i].rank, parts[i].shape);
    speeds[i] = vf_ref_input(graph, name, VF_F32, parts[i].rank, parts[i].shape);
    w[i] = vf_ref_get(weights[i]);
  }
  if (!serves(in.images, in.labels, in.which, 0, TRAINED, &x, error)) return vf_graph_destroy(graph), NULL;
  vf_value scores = dense(x.rows, w);
  vf_value first = loss_of(convolutional(x.planes, w), x.digits);
  vf_value second = vf_add(loss_of(columns(scores, 0, CLASSES), x.digits),
                           loss_of(columns(scores, CLASSES, CLASSES + PARITIES), x.parities));
  vf_grad(vf_add(first, second), PARTS, w, gradients);
  for (int i = 0; i < PARTS; i++) {
    vf_value kept = vf_mul(vf_ref_get(speeds[i]), vf_number(graph, 0.9));
    vf_ref_set(speeds[i], vf_sub(kept, vf_mul(gradients[i], rate)));
    vf_ref_set(weights[i], vf_add(w[i], vf_ref_get(speeds[i])));
  }
  vf_output(graph, "convolutional_loss", first);
  vf_output(graph, "dense_loss", second);
  return graph;
}

/* How many digits each network reads right. */
static vf_graph *record_test(vf_context *context, server serves, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "test", error);
  given in = inputs(graph, HELD_OUT);
  vf_value w[PARTS];
  batch x;
  for (int i = 0; i < PARTS; i++)
    w[i] = vf_input(graph, parts[i].name, VF_F32, parts[i].rank, parts[i].shape);
  if (!serves(in.images, in.labels, in.which, TRAINED, DIGITS, &x, error))
    return vf_graph_destroy(graph), NULL;
  vf_value scores[] = {convolutional(x.planes, w), columns(dense(x.rows, w), 0, CLASSES)};
  vf_value digit = vf_argmax(x.digits, 1, false);
  for (int i = 0; i < 2; i++)
    vf_output(graph, i ? "dense" : "convolutional",
              vf_sum(vf_eq(vf_argmax(scores[i], 1, false), digit), VF_ALL, false));
  return graph;
}

static vf_program *compiled(vf_graph *graph, vf_error *error) {
  vf_program *program = graph ? vf_compile(graph, error) : NULL;
  vf_graph_destroy(graph);
  return program;
}

/* Weights at random, speeds 0. */
static bool begin(vf_context *context, float *weights[PARTS], float *speeds[PARTS], vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "begin", error);
  bool good = graph != NULL;
  for (int i = 0; i < PARTS && good; i++) {
    size_t n = (size_t)elements(&parts[i]);
    weights[i] = calloc(n, sizeof(float)), speeds[i] = calloc(n, sizeof(float));
    good = weights[i] && speeds[i];
    double std = parts[i].fan_in ? sqrt(2.0 / parts[i].fan_in) : 0;
    vf_output(graph, parts[i].name,
              vf_normal(vf_integer(graph, i), VF_F32, parts[i].rank, parts[i].shape, 0, std));
  }
  vf_program *program = compiled(graph, error);
  good = good && program && vf_program_run(program, NULL, (void **)weights, NULL, error) == VF_OK;
  vf_program_destroy(program);
  return good;
}

/* An epoch: every example once, in the order of the sampler. */
static bool epoch(const vf_program *step, vf_sampler *sampler, const digits *d, float rate,
                  float *weights[PARTS], float *speeds[PARTS], float loss[2], vf_error *error) {
  const int64_t *which;
  int64_t n;
  while ((n = vf_sampler_next(sampler, &which, error)) > 0) {
    const void *in[4 + 2 * PARTS] = {d->image, d->label, which, &rate};
    for (int i = 0; i < PARTS; i++) in[4 + 2 * i] = weights[i], in[5 + 2 * i] = speeds[i];
    if (vf_program_run(step, in, (void *[]){&loss[0], &loss[1]}, &n, error) != VF_OK) return false;
  }
  return n == 0;
}

static bool learn(vf_context *context, const digits *d, int32_t right[2], vf_error *error) {
  static int64_t held_out[HELD_OUT];
  float *weights[PARTS] = {NULL}, *speeds[PARTS] = {NULL}, loss[2];
  vf_program *step = compiled(record_step(context, serve, error), error);
  vf_program *test = compiled(record_test(context, serve, error), error);
  vf_sampler *sampler = vf_shuffled_sampler_create(context, TRAINED, BATCH, 2024, error);
  bool good = step && test && sampler && begin(context, weights, speeds, error);
  for (int i = 0; i < EPOCHS && good; i++) {
    float rate = (float)(0.025 * (1 + cos(3.14159265358979 * i / EPOCHS)));
    good = epoch(step, sampler, d, rate, weights, speeds, loss, error);
    digits_progress(i + 1, EPOCHS, loss[0]);
  }
  for (int i = 0; i < HELD_OUT; i++) held_out[i] = i;
  const void *in[3 + PARTS] = {d->image, d->label, held_out};
  for (int i = 0; i < PARTS; i++) in[3 + i] = weights[i];
  good = good &&
         vf_program_run(test, in, (void *[]){&right[0], &right[1]}, (int64_t[]){HELD_OUT}, error) == VF_OK;
  for (int i = 0; i < PARTS; i++) free(weights[i]), free(speeds[i]);
  vf_sampler_destroy(sampler), vf_program_destroy(step), vf_program_destroy(test);
  return good;
}

int main(int count, char **argument) {
  static digits d;
  int32_t right[2];
  vf_error error = {VF_OK, ""};
  if (!digits_read(count > 1 ? argument[1] : "docs/examples/digits/digits.pgm", &d)) return 1;
  vf_context *context = vf_context_create(NULL, &error);
  bool good = context && learn(context, &d, right, &error);
  vf_context_destroy(context);
  if (!good) return fprintf(stderr, "%s\n", error.message), 1;
  printf("%d epochs; of %d digits held out, images %d right, %.1f %%, rows %d right, %.1f %%\n", EPOCHS,
         HELD_OUT, right[0], 100.0 * right[0] / HELD_OUT, right[1], 100.0 * right[1] / HELD_OUT);
  return 100 * right[0] >= 90 * HELD_OUT && 100 * right[1] >= 90 * HELD_OUT ? 0 : 1;
}
