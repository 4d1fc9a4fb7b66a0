/* Steps of optimisers, recorded as operations on each weight. */
#include "frontend/api/api.h"
#include "passes/ops/check.h"

static vf_value scaled(vf_value x, double factor) { return vf_mul(x, vf_number(x.graph, factor)); }

/* One of the lists that an optimiser takes. */
typedef struct list {
  const char *name;
  const vf_value *values;
} list;

/* Has value i of each list the shape of the weight? */
static bool shapes_agree(fe_call *c, const list *lists, size_t n, int i) {
  op_words own, other;
  ir_ref weight = lists[0].values[i].id;
  for (size_t k = 0; k < n; k++)
    if (!fe_is_value(c, "value", (size_t)i + 1, lists[k].values[i])) return false;
  for (size_t k = 1; k < n; k++) {
    ir_ref x = lists[k].values[i].id;
    bool same = ir_rank(c->ir, x) == ir_rank(c->ir, weight);
    for (uint32_t d = 0; same && d < ir_rank(c->ir, x); d++)
      same = op_decided(c->ir, IR_OP_EQ, ir_dim(c->ir, x, d), ir_dim(c->ir, weight, d));
    if (same) continue;
    return fe_refuse(c, "%s[%d] has shape %s, weights[%d] %s; both must be equal", lists[k].name, i,
                     op_words_type(c->ir, x, &own), i, op_words_type(c->ir, weight, &other));
  }
  return true;
}

/* Is there a value for each weight in all lists? Else the graph of `rate` notes why not, and the weights
 * become error values. */
static bool check_lists(const char *who, vf_value rate, int count, vf_value *weights, const list *lists,
                        size_t n) {
  fe_call c;
  op_words type;
  bool good = fe_begin(&c, who, &rate, 1) && count >= 0;
  if (count < 0) fe_refuse(&c, "there are %d weights", count);
  if (good && vf_value_rank(rate) != 0)
    good = fe_refuse(&c, "the rate has shape %s; it must be a scalar", op_words_type(c.ir, rate.id, &type));
  for (size_t i = 0; i < n && count > 0; i++)
    if (!lists[i].values) good = fe_refuse(&c, "the list of %s is NULL", lists[i].name);
  for (int i = 0; i < count && good; i++) good = shapes_agree(&c, lists, n, i);
  if (good) return true;
  vf_value failed = fe_end(&c, 0);
  for (int i = 0; i < count && weights; i++) weights[i] = failed;
  return false;
}

/* A momentum needs speeds, which it multiplies. Else as above. */
static bool check_momentum(vf_value rate, int count, vf_value *weights, const vf_value *speeds,
                           double momentum) {
  fe_call c;
  if (speeds || momentum == 0 || count == 0) return true;
  if (fe_begin(&c, "sgd", &rate, 1))
    fe_refuse(&c,
              "the list of speeds is NULL, and the momentum %g; give a speed for each weight, zeros at "
              "first, or a momentum of 0",
              momentum);
  vf_value failed = fe_end(&c, 0);
  for (int i = 0; i < count; i++) weights[i] = failed;
  return false;
}

void vf_sgd(int count, vf_value *weights, const vf_value *gradients, vf_value *speeds, vf_value rate,
            double momentum) {
  const list lists[] = {{"weights", weights}, {"gradients", gradients}, {"speeds", speeds}};
  if (!check_lists("sgd", rate, count, weights, lists, speeds ? 3 : 2)) return;
  if (!check_momentum(rate, count, weights, speeds, momentum)) return;
  for (int i = 0; i < count; i++) {
    vf_value speed = gradients[i];
    if (speeds) speed = speeds[i] = vf_add(scaled(speeds[i], momentum), gradients[i]);
    weights[i] = vf_sub(weights[i], vf_mul(speed, rate));
  }
}

static vf_adam_options settings_of(const vf_adam_options *given) {
  vf_adam_options o = {.size = sizeof o};
  if (given) o = *given;
  if (o.beta1 == 0) o.beta1 = 0.9;
  if (o.beta2 == 0) o.beta2 = 0.999;
  if (o.epsilon == 0) o.epsilon = 1e-8;
  return o;
}

/* Are options and step as documented? Else the graph notes why not, and the weights become error values. */
static bool check_adam(int count, vf_value *weights, vf_value step, const vf_adam_options *options) {
  fe_call c;
  bool good = fe_begin(&c, "adam", &step, 1);
  const ir_node *n = good ? ir_get(c.ir, step.id) : NULL;
  if (good && options && options->size != sizeof *options)
    good = fe_refuse(&c, "the size of options is %zu; it must be sizeof(vf_adam_options)", options->size);
  if (good && n->op == IR_OP_CONST && n->dtype == IR_I64 && n->arg < 1)
    good = fe_refuse(&c, "the step is %lld; steps count from 1", (long long)n->arg);
  if (good) return true;
  vf_value failed = fe_end(&c, 0);
  for (int i = 0; i < count; i++) weights[i] = failed;
  return false;
}

/* 1 - beta^step */
static vf_value correction(vf_value step, double beta) {
  vf_value exponent = vf_cast(step, VF_F32);
  return vf_sub(vf_number(step.graph, 1), vf_pow(vf_full(vf_number(step.graph, beta), VF_ALL), exponent));
}

void vf_adam(int count, vf_value *weights, const vf_value *gradients, vf_value *means, vf_value *squares,
             vf_value rate, vf_value step, const vf_adam_options *options) {
  const list lists[] = {
      {"weights", weights}, {"gradients", gradients}, {"means", means}, {"squares", squares}};
  if (!check_lists("adam", rate, count, weights, lists, 4)) return;
  if (!check_adam(count, weights, step, options)) return;
  vf_adam_options o = settings_of(options);
  vf_value first = correction(step, o.beta1), second = correction(step, o.beta2);
  for (int i = 0; i < count; i++) {
    vf_value g = gradients[i];
    means[i] = vf_add(scaled(means[i], o.beta1), scaled(g, 1 - o.beta1));
    squares[i] = vf_add(scaled(squares[i], o.beta2), scaled(vf_mul(g, g), 1 - o.beta2));
    vf_value root = vf_sqrt(vf_div(squares[i], second));
    vf_value change = vf_div(vf_div(means[i], first), vf_add(root, vf_number(g.graph, o.epsilon)));
    if (o.decay != 0) change = vf_add(change, scaled(weights[i], o.decay));
    weights[i] = vf_sub(weights[i], vf_mul(change, rate));
  }
}
