/* Lazy tensors: a line through points by gradient descent. Each step records a few operations and realises
 * its results; from the second on, it runs a program that is there already. */
#include <stdio.h>
#include <viewfold.h>

enum { POINTS = 64 };

/* The slope's and the offset's next values. False after failing. */
static bool step(vf_tensor *x, vf_tensor *y, vf_tensor *line[2], vf_error *error) {
  vf_value a = vf_tensor_value(line[0]), b = vf_tensor_value(line[1]), at = vf_tensor_value(x);
  vf_value rate = vf_number(a.graph, 0.5);
  vf_value wrong = vf_sub(vf_add(vf_mul(a, at), b), vf_tensor_value(y));
  vf_tensor *next[2] = {
      vf_tensor_keep(vf_sub(a, vf_mul(rate, vf_mean(vf_mul(wrong, at), VF_ALL, false))), error),
      vf_tensor_keep(vf_sub(b, vf_mul(rate, vf_mean(wrong, VF_ALL, false))), error),
  };
  bool good = next[0] && next[1] && vf_tensor_realise(next, 2, error) == VF_OK;
  for (int i = 0; i < 2; i++) {
    vf_tensor_release(good ? line[i] : next[i]);
    if (good) line[i] = next[i];
  }
  return good;
}

int main(void) {
  float xs[POINTS], ys[POINTS], start = 0;
  for (int i = 0; i < POINTS; i++) xs[i] = (float)i / POINTS, ys[i] = 3 * xs[i] - 1;
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_tensor *x = vf_tensor_create(context, VF_F32, VF_LIST(POINTS), xs, &error);
  vf_tensor *y = vf_tensor_create(context, VF_F32, VF_LIST(POINTS), ys, &error);
  vf_tensor *line[2] = {vf_tensor_create(context, VF_F32, VF_ALL, &start, &error),
                        vf_tensor_create(context, VF_F32, VF_ALL, &start, &error)};
  bool good = x && y && line[0] && line[1];
  for (int i = 0; i < 1000 && good; i++) good = step(x, y, line, &error);
  if (good)
    printf("y = %.3f x + %.3f\n", *(const float *)vf_tensor_data(line[0], NULL),
           *(const float *)vf_tensor_data(line[1], NULL));
  else fprintf(stderr, "%s\n", error.message);
  vf_tensor_release(x), vf_tensor_release(y), vf_tensor_release(line[0]), vf_tensor_release(line[1]);
  vf_context_destroy(context);
  return good ? 0 : 1;
}
