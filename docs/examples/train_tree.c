/* A training step of a network of two layers: its parameters are one tree, for vf_grad_tree, and references
 * that a run changes in place. */
#include <stdio.h>
#include <viewfold.h>

enum { SAMPLES = 16, FEATURES = 2, HIDDEN = 8, STEPS = 400, PARAMETERS = 4 };

static vf_program *make_step(vf_context *context, vf_error *error) {
  static const char *const names[] = {"w1", "b1", "w2", "b2"};
  static const int64_t shapes[][2] = {{FEATURES, HIDDEN}, {HIDDEN}, {HIDDEN, 1}, {1}};
  vf_graph *graph = vf_graph_create(context, "step", error);
  vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(SAMPLES, FEATURES));
  vf_value y = vf_input(graph, "y", VF_F32, VF_LIST(SAMPLES, 1));
  vf_ref held[PARAMETERS];
  vf_tree leaves[PARAMETERS], slopes[PARAMETERS];
  vf_tree network = {.count = PARAMETERS, .children = leaves, .keys = names}, gradients = network;
  gradients.children = slopes;
  for (int i = 0; i < PARAMETERS; i++) {
    held[i] = vf_ref_input(graph, names[i], VF_F32, 2 - i % 2, shapes[i]);
    leaves[i] = (vf_tree){.count = VF_LEAF, .value = vf_ref_get(held[i])}, slopes[i] = leaves[i];
  }
  vf_value hidden = vf_tanh(vf_add(vf_matmul(x, leaves[0].value), leaves[1].value));
  vf_value missed = vf_sub(vf_add(vf_matmul(hidden, leaves[2].value), leaves[3].value), y);
  vf_value loss = vf_output(graph, "loss", vf_mean(vf_square(missed), VF_ALL, false));
  vf_grad_tree(loss, &network, &gradients);
  for (int i = 0; i < PARAMETERS; i++)
    vf_ref_set(held[i], vf_sub(leaves[i].value, vf_mul(slopes[i].value, vf_number(graph, 0.3))));
  vf_program *program = vf_compile(graph, error);
  vf_graph_destroy(graph);
  return program;
}

int main(void) {
  float x[SAMPLES][FEATURES], y[SAMPLES], w1[FEATURES][HIDDEN], b1[HIDDEN] = {0}, w2[HIDDEN], b2 = 0,
                                                                loss = 0;
  vf_error error = {0};
  vf_context *context = vf_context_create(NULL, &error);
  vf_program *step = context ? make_step(context, &error) : NULL;
  for (int i = 0; i < SAMPLES; i++) {
    x[i][0] = (float)(i % 4) / 2 - 0.75f, x[i][1] = (float)(i / 4) / 2 - 0.75f;
    y[i] = x[i][0] * x[i][1];
  }
  for (int i = 0; i < HIDDEN; i++) {
    w1[0][i] = (float)(i * 5 % 8) / 4 - 0.9f, w1[1][i] = (float)(i * 3 % 8) / 4 - 0.8f;
    w2[i] = (float)(i * 7 % 8) / 4 - 0.85f;
  }
  for (int i = 0; i < STEPS && step && !error.status; i++)
    vf_program_run(step, (const void *[]){x, y, w1, b1, w2, &b2}, (void *[]){&loss}, NULL, &error);
  if (error.status) fprintf(stderr, "%s\n", error.message);
  printf("%s\n", loss < 0.01f ? "learnt the product" : "learnt nothing");
  vf_program_destroy(step);
  vf_context_destroy(context);
  return error.status != VF_OK;
}
