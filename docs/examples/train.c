/* Learns y = x w + b from samples, with weights that a run changes in place: a training step is one program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <viewfold.h>

enum { SAMPLES = 32, FEATURES = 3, STEPS = 200 };

/* One step of gradient descent with momentum on the references w, b and their speeds. */
static vf_program *make_step(vf_context *context, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "step", error);
  vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(SAMPLES, FEATURES));
  vf_value y = vf_input(graph, "y", VF_F32, VF_LIST(SAMPLES));
  vf_ref held[4] = {vf_ref_input(graph, "w", VF_F32, VF_LIST(FEATURES)),
                    vf_ref_input(graph, "b", VF_F32, VF_ALL),
                    vf_ref_input(graph, "w_speed", VF_F32, VF_LIST(FEATURES)),
                    vf_ref_input(graph, "b_speed", VF_F32, VF_ALL)};
  vf_value now[4], gradients[2];
  for (int i = 0; i < 4; i++) now[i] = vf_ref_get(held[i]);
  vf_value error_of = vf_sub(vf_add(vf_matmul(x, now[0]), now[1]), y);
  vf_value loss = vf_output(graph, "loss", vf_mean(vf_mul(error_of, error_of), VF_ALL, false));
  vf_grad(loss, 2, now, gradients);
  vf_sgd(2, now, gradients, now + 2, vf_number(graph, 0.05), 0.9);
  for (int i = 0; i < 4; i++) vf_ref_set(held[i], now[i]);
  vf_program *program = vf_compile(graph, error);
  vf_graph_destroy(graph);
  return program;
}

int main(void) {
  float x[SAMPLES * FEATURES], y[SAMPLES], w[FEATURES] = {0}, b = 0, w_speed[FEATURES] = {0}, b_speed = 0,
                                           loss = 0;
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_program *step = context ? make_step(context, &error) : NULL;
  for (int i = 0; i < SAMPLES * FEATURES; i++) x[i] = (float)(i * 37 % 64) / 32 - 1;
  for (int i = 0; i < SAMPLES; i++) y[i] = 2 * x[i * 3] - x[i * 3 + 1] + 0.5f * x[i * 3 + 2] + 3;
  for (int i = 0; i < STEPS && step; i++)
    if (vf_program_run(step, (const void *[]){x, y, w, &b, w_speed, &b_speed}, (void *[]){&loss}, NULL,
                       &error))
      break;
  if (!step || error.status) fprintf(stderr, "%s\n", error.message);
  printf("w = %.2f %.2f %.2f, b = %.2f, loss %.4f\n", w[0], w[1], w[2], b, loss);
  vf_program_destroy(step);
  vf_context_destroy(context);
  return !step || error.status;
}
