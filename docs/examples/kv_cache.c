/* A key-value cache: attention of one position after the other over all that came before. Each run writes one
 * row of the keys and one of the values, at a position that is an input; one program serves all positions,
 * and what it writes does not depend on how many there are. The last position is compared with attention over
 * whole arrays. */
#include <math.h>
#include <stdio.h>
#include <viewfold.h>

enum { POSITIONS = 256, CHANNELS = 16 };

static vf_value position;

/* Row `position` of a cache of [POSITIONS, CHANNELS]. */
static vf_ref row(vf_ref cache) {
  return vf_ref_view(cache, vf_gather(cache.target, position, 0, VF_GATHER_CHECK));
}

static vf_program *advance(vf_context *context, vf_error *error) {
  vf_graph *g = vf_graph_create(context, "advance", error);
  vf_ref keys = vf_ref_input(g, "keys", VF_F32, VF_LIST(POSITIONS, CHANNELS));
  vf_ref values = vf_ref_input(g, "values", VF_F32, VF_LIST(POSITIONS, CHANNELS));
  vf_value query = vf_input(g, "query", VF_F32, VF_LIST(1, CHANNELS));
  vf_value key = vf_input(g, "key", VF_F32, VF_LIST(1, CHANNELS));
  vf_value value = vf_input(g, "value", VF_F32, VF_LIST(1, CHANNELS));
  position = vf_input(g, "position", VF_I64, VF_LIST(1));
  vf_ref_set(row(keys), key);
  vf_ref_set(row(values), value);
  vf_value known = vf_le(vf_iota(g, VF_I64, VF_LIST(1, POSITIONS), 1), position); /* [1, POSITIONS] */
  vf_output(g, "y", vf_attention(query, vf_ref_get(keys), vf_ref_get(values), known, 0, false));
  vf_program *program = vf_compile(g, error);
  vf_graph_destroy(g);
  return program;
}

/* Some numbers in -1..1 */
static float number(int kind, int p, int c) { return sinf((float)(kind * 31 + p * 7 + c * c)); }

static float reference(const float *query, int channel) {
  double total = 0, sum = 0;
  for (int p = 0; p < POSITIONS; p++) {
    double score = 0;
    for (int c = 0; c < CHANNELS; c++) score += (double)query[c] * number(1, p, c);
    double weight = exp(score / sqrt(CHANNELS));
    total += weight, sum += weight * number(2, p, channel);
  }
  return (float)(sum / total);
}

int main(void) {
  static float keys[POSITIONS * CHANNELS], values[POSITIONS * CHANNELS];
  float query[CHANNELS], key[CHANNELS], value[CHANNELS], y[CHANNELS], apart = 0;
  int64_t at = 0;
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_program *program = advance(context, &error);
  if (!program) return fprintf(stderr, "%s\n", error.message), 1;
  const void *inputs[] = {keys, values, query, key, value, &at};
  for (; at < POSITIONS; at++) {
    for (int c = 0; c < CHANNELS; c++)
      query[c] = number(0, (int)at, c), key[c] = number(1, (int)at, c), value[c] = number(2, (int)at, c);
    if (vf_program_run(program, inputs, (void *[]){y}, NULL, &error) != VF_OK)
      return fprintf(stderr, "%s\n", error.message), 1;
  }
  for (int c = 0; c < CHANNELS; c++) apart = fmaxf(apart, fabsf(y[c] - reference(query, c)));
  printf("%d positions, the last one within 1e-5: %s\n", POSITIONS, apart < 1e-5F ? "yes" : "no");
  /* one more is refused, and changes nothing */
  float before = keys[(POSITIONS - 1) * CHANNELS];
  if (vf_program_run(program, inputs, (void *[]){y}, NULL, &error) == VF_ERR_RANGE)
    printf("%s\n%s\n", error.message, keys[(POSITIONS - 1) * CHANNELS] == before ? "unchanged" : "changed");
  vf_program_destroy(program), vf_context_destroy(context);
  return 0;
}
