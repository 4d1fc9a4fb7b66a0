/* The step of training that goes with a model: the mean of the squares of its result is the loss, and every
 * input but the first is a weight of Adam.
 *
 *   training_step FILE.vf
 *
 * Prints the graph. The new value of input `w` is the result `next_w`; `mean_w` and `square_w` are likewise.
 */
#include "frontend/viewfold.h"
#include "frontend/viewfold_model.h"
#include "frontend/viewfold_operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS = 1024, NAME = 32 };

/* The names of the parameters in the text: %NAME: */
static int read_names(const char *text, char names[][NAME]) {
  int count = 0;
  const char *at = strchr(text, '('), *end = at ? strstr(at, ") {") : NULL;
  while (end && (at = strchr(at, '%')) && at < end && count < WEIGHTS) {
    size_t length = strcspn(++at, ":");
    if (length < NAME) memcpy(names[count], at, length), names[count++][length] = 0;
  }
  return count;
}

static vf_value like(vf_graph *g, const char *kind, const char *name, vf_value x) {
  char text[2 * NAME];
  int64_t shape[8];
  snprintf(text, sizeof text, "%s_%s", kind, name);
  return vf_input(g, text, VF_F32, vf_value_shape(x, shape), shape);
}

static void put(vf_graph *g, const char *kind, const char *name, vf_value x) {
  char text[2 * NAME];
  snprintf(text, sizeof text, "next_%s%s", kind, name);
  vf_output(g, text, x);
}

/* The loss of the only result, and what Adam makes of it. */
static void add_step(vf_graph *g, vf_value result, char names[][NAME], int count) {
  static vf_value w[WEIGHTS], d[WEIGHTS], m[WEIGHTS], s[WEIGHTS];
  vf_value loss = vf_mean(vf_square(result), VF_ALL, false);
  for (int i = 0; i < count; i++) {
    w[i] = vf_graph_find(g, names[i]);
    m[i] = like(g, "mean", names[i], w[i]), s[i] = like(g, "square", names[i], w[i]);
  }
  vf_value step = vf_input(g, "step", VF_I32, 0, NULL);
  vf_grad(loss, count, w, d);
  vf_output(g, "loss", loss);
  vf_adam(count, w, d, m, s, vf_number(g, 1e-3), step, NULL);
  for (int i = 0; i < count; i++)
    put(g, "", names[i], w[i]), put(g, "mean_", names[i], m[i]), put(g, "square_", names[i], s[i]);
}

int main(int argc, char **argv) {
  static char text[1 << 20], names[WEIGHTS][NAME];
  vf_error error = {0};
  vf_context *context = vf_context_create(NULL, &error);
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file || !context) return fputs("training_step FILE.vf\n", stderr), 2;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  int count = read_names(text, names);
  const char *result = strstr(text, "return %");
  vf_graph *g = vf_graph_parse(context, text, length, argv[1], NULL, &error);
  char name[NAME] = {0}, *made = NULL;
  if (g && result && sscanf(result, "return %%%31[a-z0-9_]", name) == 1) {
    add_step(g, vf_graph_find(g, name), names + 1, count - 1);
    if (vf_graph_status(g) == VF_OK) made = vf_graph_text(g, &error);
    else fprintf(stderr, "%s\n", vf_graph_message(g));
  }
  char *first = made ? strstr(made, "return %") : NULL, *second = first ? strstr(first, ", ") : NULL;
  if (second) memmove(first + 7, second + 2, strlen(second + 2) + 1); /* the result is none any more */
  if (made) fputs(made, stdout);
  else fprintf(stderr, "%s\n", error.message);
  vf_text_free(context, made);
  vf_graph_destroy(g);
  vf_context_destroy(context);
  return !made;
}
