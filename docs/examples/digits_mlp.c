/* A network of two layers learns to read handwritten digits with lazy tensors: each step records what is to
 * be computed, asks for its gradient and realises the results. The first step is compiled; all others find
 * its program.
 *
 *   digits_mlp [digits.pgm [loss.svg]] */
#include "digits/digits.h"

enum { HIDDEN = 128, BATCH = 48, EPOCHS = 40, STEPS = EPOCHS * (TRAINED / BATCH), PARAMETERS = 4 };

typedef struct model {
  vf_tensor *weight[PARAMETERS], *speed[PARAMETERS];
} model;

/* Weights at random, so that results have about the variance of what they come from (He et al. 2015); biases
 * and speeds 0. */
static bool model_make(model *m, vf_context *context, vf_error *error) {
  static const struct {
    int rank;
    int64_t shape[2];
    double std;
  } parameters[PARAMETERS] = {
      {2, {PIXELS, HIDDEN}, 0.18}, {1, {HIDDEN}, 0}, {2, {HIDDEN, CLASSES}, 0.12}, {1, {CLASSES}, 0}};
  vf_graph *session = vf_session(context, error);
  for (int i = 0; i < PARAMETERS; i++) {
    int rank = parameters[i].rank;
    const int64_t *shape = parameters[i].shape;
    m->weight[i] =
        vf_tensor_keep(vf_normal(vf_integer(session, i), VF_F32, rank, shape, 0, parameters[i].std), error);
    m->speed[i] = vf_tensor_keep(vf_zeros(session, VF_F32, rank, shape), error);
    if (!m->weight[i] || !m->speed[i]) return false;
  }
  return true;
}

static void model_free(model *m) {
  for (int i = 0; i < PARAMETERS; i++) vf_tensor_release(m->weight[i]), vf_tensor_release(m->speed[i]);
}

/* The scores [n, 10] of images [n, 64] */
static vf_value network(vf_value images, const vf_value w[PARAMETERS]) {
  vf_value hidden = vf_relu(vf_add(vf_matmul(images, w[0]), w[1]));
  return vf_add(vf_matmul(hidden, w[2]), w[3]);
}

/* Some of the digits: `which` holds their numbers. */
typedef struct sample {
  vf_tensor *images, *labels, *which;
} sample;
static vf_value images_of(const sample *s) {
  return vf_gather(vf_tensor_value(s->images), vf_tensor_value(s->which), 0, VF_GATHER_CHECK);
}
static vf_value labels_of(const sample *s) {
  return vf_gather(vf_tensor_value(s->labels), vf_tensor_value(s->which), 0, VF_GATHER_CHECK);
}

/* One step of gradient descent with momentum: the speed is 0.9 of what it was, less the gradient's share. The
 * model becomes the next one. False after failing, with the model as it was. */
static bool step(model *m, const sample *s, float *loss, vf_error *error) {
  enum { ALL = 2 * PARAMETERS + 1 };
  vf_value w[PARAMETERS], gradient[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) w[i] = vf_tensor_value(m->weight[i]);
  vf_value wrong = digits_loss(network(images_of(s), w), labels_of(s));
  vf_grad(wrong, PARAMETERS, w, gradient);
  vf_tensor *next[ALL] = {vf_tensor_keep(wrong, error)};
  for (int i = 0; i < PARAMETERS; i++) {
    vf_value kept = vf_mul(vf_tensor_value(m->speed[i]), vf_number(wrong.graph, 0.9));
    vf_value speed = vf_sub(kept, vf_mul(gradient[i], vf_number(wrong.graph, 0.05)));
    next[1 + 2 * i] = vf_tensor_keep(vf_add(w[i], speed), error);
    next[2 + 2 * i] = vf_tensor_keep(speed, error);
  }
  bool good = true;
  for (int i = 0; i < ALL; i++) good = good && next[i];
  good = good && vf_tensor_realise(next, ALL, error) == VF_OK;
  if (good) *loss = *(const float *)vf_tensor_data(next[0], NULL);
  for (int i = 0; i < PARAMETERS && good; i++) {
    vf_tensor *old[2] = {m->weight[i], m->speed[i]};
    m->weight[i] = next[1 + 2 * i], m->speed[i] = next[2 + 2 * i];
    next[1 + 2 * i] = old[0], next[2 + 2 * i] = old[1];
  }
  for (int i = 0; i < ALL; i++) vf_tensor_release(next[i]);
  return good;
}

/* Train on the digits of order[0..TRAINED), which is shuffled again and again. */
static bool train(vf_context *context, model *m, sample *s, int32_t *order, float *loss, vf_error *error) {
  vf_program *shuffler = digits_shuffler(context, TRAINED, error);
  bool good = shuffler != NULL;
  for (int i = 0; i < STEPS && good; i++) {
    int batch = i % (STEPS / EPOCHS);
    if (batch == 0) good = digits_shuffle(shuffler, (uint64_t)i, order, TRAINED, error);
    s->which = vf_tensor_create(context, VF_I32, VF_LIST(BATCH), order + batch * BATCH, error);
    good = good && s->which && step(m, s, &loss[i], error);
    vf_tensor_release(s->which);
    digits_progress(i + 1, STEPS, loss[i]);
  }
  vf_program_destroy(shuffler);
  return good;
}

/* How many of the digits held out are read right; -1 after failing. */
static int test(vf_context *context, const model *m, sample *s, const int32_t *which, vf_error *error) {
  vf_value w[PARAMETERS];
  s->which = vf_tensor_create(context, VF_I32, VF_LIST(HELD_OUT), which, error);
  for (int i = 0; i < PARAMETERS; i++) w[i] = vf_tensor_value(m->weight[i]);
  vf_value read = vf_argmax(network(images_of(s), w), 1, false);
  vf_tensor *right = vf_tensor_keep(vf_sum(vf_eq(read, labels_of(s)), VF_ALL, false), error);
  const int32_t *data = vf_tensor_data(right, error);
  int count = data ? *data : -1;
  vf_tensor_release(right), vf_tensor_release(s->which);
  return count;
}

int main(int count, char **argument) {
  static digits d;
  static float loss[STEPS];
  int32_t order[DIGITS];
  int right = -1;
  vf_error error = {VF_OK, ""};
  if (!digits_read(count > 1 ? argument[1] : "docs/examples/digits/digits.pgm", &d)) return 1;
  for (int i = 0; i < DIGITS; i++) order[i] = i;
  vf_context *context = vf_context_create(NULL, &error);
  vf_program *shuffler = digits_shuffler(context, DIGITS, &error);
  model m = {{NULL}, {NULL}};
  sample s = {vf_tensor_create(context, VF_F32, VF_LIST(DIGITS, PIXELS), d.image, &error),
              vf_tensor_create(context, VF_I32, VF_LIST(DIGITS), d.label, &error), NULL};
  if (shuffler && s.images && s.labels && digits_shuffle(shuffler, 2024, order, DIGITS, &error) &&
      model_make(&m, context, &error) && train(context, &m, &s, order, loss, &error))
    right = test(context, &m, &s, order + TRAINED, &error);
  model_free(&m), vf_tensor_release(s.images), vf_tensor_release(s.labels);
  vf_program_destroy(shuffler), vf_context_destroy(context);
  if (right < 0) return fprintf(stderr, "%s\n", error.message), 1;
  if (count > 2 && !digits_draw(argument[2], loss, STEPS)) return 1;
  printf("%d steps: %d of %d digits held out are read right, %.1f %%\n", STEPS, right, HELD_OUT,
         100.0 * right / HELD_OUT);
  return 100 * right >= 97 * HELD_OUT ? 0 : 1;
}
