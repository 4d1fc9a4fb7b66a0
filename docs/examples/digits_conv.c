/* A convolutional network learns to read handwritten digits, from the file to the share that it reads right.
 *
 *   digits_conv [digits.pgm [loss.svg [devices [mpi]]]]
 *
 * All weights are one vector, of which each layer takes a view, so that training has one state and one
 * gradient: a program takes the vector and the two moments of Adam (Kingma, Ba 2015) and gives the next ones.
 * Two sets of arrays take turns as its inputs and outputs. The images stay where they are; a step is told
 * which ones to take. With several devices, threads of this process, each takes its share of a step's images:
 * the graph is the same, with a mesh, and one line that says how images are divided. `mpi`: the devices are
 * those of all processes that mpirun has started. */
#include "digits/digits.h"

enum { BATCH = 48, EPOCHS = 12, STEPS = EPOCHS * (TRAINED / BATCH) };

/* Each layer's weights, and how many products make up one of its results: their variance is 2 / fan_in (He et
 * al. 2015), 0 of a bias. */
typedef struct part {
  int rank;
  int64_t shape[4];
  int fan_in;
} part;
static const part parts[] = {
    {4, {16, 1, 3, 3}, 9},    {1, {16}, 0},      /* 8 x 8 pixels, 16 features each */
    {4, {32, 16, 3, 3}, 144}, {1, {32}, 0},      /* 32 features, then the greatest of 2 x 2 pixels */
    {4, {32, 32, 3, 3}, 288}, {1, {32}, 0},      /* once more, which leaves 2 x 2 pixels */
    {2, {128, 10}, 128},      {1, {CLASSES}, 0}, /* a score for each class */
};
enum { PARTS = sizeof parts / sizeof *parts };

static int64_t elements(const part *p) {
  int64_t n = 1;
  for (int i = 0; i < p->rank; i++) n *= p->shape[i];
  return n;
}

static int64_t weight_count(void) {
  int64_t n = 0;
  for (int i = 0; i < PARTS; i++) n += elements(&parts[i]);
  return n;
}

/* The scores [n, 10] of images [n, 64]. In training a quarter of the features is left out each time (dropout,
 * Srivastava et al. 2014), chosen by the seed; {0} for none. All errors stay in the graph until it is
 * compiled. */
static vf_value network(vf_value images, vf_value weights, vf_value seed) {
  vf_value w[PARTS];
  int64_t at = 0, n = vf_value_size(images, 0), pads[] = {1, 1}, window[] = {2, 2};
  for (int i = 0; i < PARTS; i++) {
    int64_t end = at + elements(&parts[i]);
    w[i] = vf_reshape(vf_shrink(weights, VF_LIST(at, end)), parts[i].rank, parts[i].shape);
    at = end;
  }
  vf_value x = vf_reshape(images, VF_LIST(n, 1, SIDE, SIDE));
  x = vf_relu(vf_conv(x, w[0], w[1], 2, NULL, pads, NULL, 1));
  x = vf_relu(vf_conv(x, w[2], w[3], 2, NULL, pads, NULL, 1));
  x = vf_max_pool(x, 2, window, NULL, NULL, NULL);
  x = vf_relu(vf_conv(x, w[4], w[5], 2, NULL, pads, NULL, 1));
  x = vf_max_pool(x, 2, window, NULL, NULL, NULL);
  x = vf_reshape(x, VF_LIST(n, 128));
  if (seed.graph) {
    vf_value kept = vf_mul(x, vf_number(x.graph, 1 / 0.75));
    x = vf_where(vf_bernoulli(seed, VF_LIST(n, 128), 0.75), kept, vf_number(x.graph, 0));
  }
  return vf_add(vf_matmul(x, w[6]), w[7]);
}

/* Images and labels of the digits that a run asks for. */
static void taken(vf_graph *graph, int count, vf_value *images, vf_value *labels) {
  vf_value all = vf_input(graph, "images", VF_F32, VF_LIST(DIGITS, PIXELS));
  vf_value said = vf_input(graph, "labels", VF_I32, VF_LIST(DIGITS));
  vf_value which = vf_input(graph, "which", VF_I32, VF_LIST(count));
  *images = vf_gather(all, which, 0, VF_GATHER_CHECK);
  *labels = vf_gather(said, which, 0, VF_GATHER_CHECK);
}

/* For one device, or for those of the graph's mesh. */
static vf_program *finish(vf_graph *graph, int devices, vf_error *error) {
  vf_program *program = devices > 1 ? vf_compile_on(graph, NULL, 0, error) : vf_compile(graph, error);
  vf_graph_destroy(graph);
  return program;
}

static vf_program *compile_start(vf_context *context, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "start", error);
  vf_value w[PARTS];
  for (int i = 0; i < PARTS; i++) {
    double std = parts[i].fan_in ? sqrt(2.0 / parts[i].fan_in) : 0;
    w[i] = vf_normal(vf_integer(graph, i), VF_F32, VF_LIST(elements(&parts[i])), 0, std);
  }
  vf_output(graph, "weights", vf_concat(w, PARTS, 0));
  return finish(graph, 1, error);
}

/* share of old, and the rest of new */
static vf_value mixed(vf_value old, double share, vf_value new_value) {
  vf_graph *graph = old.graph;
  return vf_add(vf_mul(vf_number(graph, share), old), vf_mul(vf_number(graph, 1 - share), new_value));
}

/* Divides the images and labels of a step among so many devices. */
static void divide(vf_context *context, vf_graph *graph, int devices, vf_value *images, vf_value *labels,
                   vf_error *error) {
  char axes[32];
  snprintf(axes, sizeof axes, "batch=%d", devices);
  vf_mesh *mesh = vf_mesh_create(context, axes, error);
  if (mesh && vf_graph_set_mesh(graph, mesh, error) == VF_OK) {
    *images = vf_shard(*images, "[batch,-]");
    *labels = vf_shard(*labels, "[batch]");
  }
  vf_mesh_destroy(mesh);
}

/* A step of Adam: the mean of gradients, over the root of the mean of their squares. */
static vf_program *compile_step(vf_context *context, int devices, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "step", error);
  vf_value images, labels, gradient;
  taken(graph, BATCH, &images, &labels);
  if (devices > 1) divide(context, graph, devices, &images, &labels, error);
  vf_value rate = vf_input(graph, "rate", VF_F32, VF_ALL);
  vf_value seed = vf_input(graph, "seed", VF_I32, VF_ALL);
  vf_value weights = vf_input(graph, "weights", VF_F32, VF_LIST(weight_count()));
  vf_value first = vf_input(graph, "first", VF_F32, VF_LIST(weight_count()));
  vf_value second = vf_input(graph, "second", VF_F32, VF_LIST(weight_count()));
  vf_value loss = digits_loss(network(images, weights, seed), labels);
  vf_grad(loss, 1, &weights, &gradient);
  first = mixed(first, 0.9, gradient);
  second = mixed(second, 0.999, vf_square(gradient));
  vf_value way = vf_div(first, vf_add(vf_sqrt(second), vf_number(graph, 1e-8)));
  vf_output(graph, "loss", loss);
  vf_output(graph, "next_weights", vf_sub(weights, vf_mul(rate, way)));
  vf_output(graph, "next_first", first);
  vf_output(graph, "next_second", second);
  return finish(graph, devices, error);
}

static vf_program *compile_test(vf_context *context, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "test", error);
  vf_value images, labels;
  taken(graph, HELD_OUT, &images, &labels);
  vf_value weights = vf_input(graph, "weights", VF_F32, VF_LIST(weight_count()));
  vf_value read = vf_argmax(network(images, weights, (vf_value){0}), 1, false);
  vf_output(graph, "right", vf_sum(vf_eq(read, labels), VF_ALL, false));
  return finish(graph, 1, error);
}

/* Adam's rate at a step from 1 on: its two moments begin at 0, which this makes up for; falling to 0 like a
 * cosine. */
static float rate_at(int step) {
  double rate = 0.002 * (1 + cos(3.14159265358979 * step / STEPS));
  return (float)(rate * sqrt(1 - pow(0.999, step)) / (1 - pow(0.9, step)));
}

/* Weights and both moments, twice: a step reads one set and writes the other. */
typedef struct state {
  float *set[2][3];
} state;

static bool state_make(state *s) {
  bool good = true;
  for (int i = 0; i < 6; i++) {
    s->set[i / 3][i % 3] = calloc((size_t)weight_count(), sizeof(float));
    good = good && s->set[i / 3][i % 3];
  }
  return good;
}

static void state_free(state *s) {
  for (int i = 0; i < 6; i++) free(s->set[i / 3][i % 3]);
}

/* Train, leaving the loss of each step; the weights are then in set 0. */
static bool train(vf_context *context, int devices, const digits *d, int32_t *order, state *s, float *loss,
                  vf_error *error) {
  vf_program *start = compile_start(context, error), *step = compile_step(context, devices, error);
  vf_program *shuffler = digits_shuffler(context, TRAINED, error);
  bool good = start && step && shuffler &&
              vf_program_run(start, NULL, (void *[]){s->set[0][0]}, NULL, error) == VF_OK;
  for (int32_t i = 0; i < STEPS && good; i++) {
    int batch = i % (STEPS / EPOCHS);
    float rate = rate_at(i + 1), **now = s->set[i % 2], **next = s->set[(i + 1) % 2];
    if (batch == 0) good = digits_shuffle(shuffler, (uint64_t)i, order, TRAINED, error);
    const void *in[] = {d->image, d->label, order + batch * BATCH, &rate, &i, now[0], now[1], now[2]};
    void *out[] = {&loss[i], next[0], next[1], next[2]};
    good = good && vf_program_run(step, in, out, NULL, error) == VF_OK;
    digits_progress(i + 1, STEPS, loss[i]);
  }
  vf_program_destroy(start), vf_program_destroy(step), vf_program_destroy(shuffler);
  return good;
}

/* How many of the digits held out are read right; -1 after failing. */
static int test(vf_context *context, const digits *d, const int32_t *which, const float *weights,
                vf_error *error) {
  int32_t right = -1;
  vf_program *program = compile_test(context, error);
  if (program)
    vf_program_run(program, (const void *[]){d->image, d->label, which, weights}, (void *[]){&right}, NULL,
                   error);
  vf_program_destroy(program);
  return right;
}

int main(int count, char **argument) {
  static digits d;
  static float loss[STEPS];
  int32_t order[DIGITS], right = -1;
  state s;
  vf_error error = {VF_OK, ""};
  if (!digits_read(count > 1 ? argument[1] : "docs/examples/digits/digits.pgm", &d)) return 1;
  for (int i = 0; i < DIGITS; i++) order[i] = i;
  vf_context *context = vf_context_create(NULL, &error);
  if (context && count > 4 && vf_processes_join(context, 0, &error) != VF_OK)
    return fprintf(stderr, "%s\n", error.message), 1;
  bool speaks = vf_process_number(context) == 0;
  vf_program *shuffler = digits_shuffler(context, DIGITS, &error);
  if (state_make(&s) && shuffler && digits_shuffle(shuffler, 2024, order, DIGITS, &error) &&
      train(context, count > 3 ? atoi(argument[3]) : 1, &d, order, &s, loss, &error))
    right = test(context, &d, order + TRAINED, s.set[STEPS % 2][0], &error);
  vf_program_destroy(shuffler), vf_context_destroy(context), state_free(&s);
  if (right < 0) return fprintf(stderr, "%s\n", error.message), 1;
  if (!speaks) return 100 * right >= 97 * HELD_OUT ? 0 : 1;
  if (count > 2 && !digits_draw(argument[2], loss, STEPS)) return 1;
  printf("%lld weights, %d steps: %d of %d digits held out are read right, %.1f %%\n",
         (long long)weight_count(), STEPS, right, HELD_OUT, 100.0 * right / HELD_OUT);
  return 100 * right >= 97 * HELD_OUT ? 0 : 1;
}
