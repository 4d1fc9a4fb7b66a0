/* Steps of optimisers, recorded as operations on each weight. */
#include "frontend/api/api.h"

static vf_value scaled(vf_value x, double factor) { return vf_mul(x, vf_number(x.graph, factor)); }

void vf_sgd(int count, vf_value *weights, const vf_value *gradients, vf_value *speeds, vf_value rate,
            double momentum) {
  for (int i = 0; i < count; i++) {
    vf_value speed = gradients[i];
    if (speeds) speed = speeds[i] = vf_add(scaled(speeds[i], momentum), gradients[i]);
    weights[i] = vf_sub(weights[i], vf_mul(speed, rate));
  }
}

static vf_adam_options settings_of(const vf_adam_options *given) {
  vf_adam_options o = {.size = sizeof o};
  if (given && given->size >= sizeof o) o = *given;
  if (o.beta1 == 0) o.beta1 = 0.9;
  if (o.beta2 == 0) o.beta2 = 0.999;
  if (o.epsilon == 0) o.epsilon = 1e-8;
  return o;
}

/* 1 - beta^step */
static vf_value correction(vf_value step, double beta) {
  vf_value exponent = vf_cast(step, VF_F32);
  return vf_sub(vf_number(step.graph, 1), vf_pow(vf_full(vf_number(step.graph, beta), VF_ALL), exponent));
}

void vf_adam(int count, vf_value *weights, const vf_value *gradients, vf_value *means, vf_value *squares,
             vf_value rate, vf_value step, const vf_adam_options *options) {
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
