/* A lazily recorded loop runs in constant memory and computes what C does.
 *
 *   prop_lazy [--seed N] [--count N | --steps N]
 *
 * Each step computes new values from two vectors by one of a few forms (chosen by the seed), records some
 * operations whose results are never read as well, realises one result, and compares it bit by bit with the
 * same operations in C. Memory is what the context has allocated; after the first tenth of the steps its peak
 * may not grow by more than the memory used between two clearances of a session. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/timer.h"
#include "frontend/viewfold.h"
#include "test/lib/memory.h"
#include "test/lib/options.h"

enum { N = 24, FORMS = 5, SLACK = 1 << 15 };

typedef struct loop {
  vf_context *context;
  vf_tensor *tensor[2]; /* the two vectors, newest last */
  float wanted[2][N];
  uint64_t random;
} loop;

static uint32_t draw(loop *l, uint32_t below) { /* xorshift64* */
  l->random ^= l->random >> 12;
  l->random ^= l->random << 25;
  l->random ^= l->random >> 27;
  return (uint32_t)((l->random * 0x2545f4914f6cdd1du) >> 33) % below;
}

static vf_value record(int form, vf_value a, vf_value b) {
  vf_graph *g = a.graph;
  vf_value half = vf_number(g, 0.5);
  switch (form) {
  case 0: return vf_mul(vf_add(a, b), half);
  case 1: return vf_sub(vf_flip(a, VF_LIST(0)), vf_mul(b, half));
  case 2: return vf_flatten(vf_permute(vf_reshape(a, VF_LIST(4, 6)), VF_LIST(1, 0)), 0, 1);
  case 3: return vf_min(vf_pad(vf_shrink(b, VF_LIST(3, N)), VF_LIST(0, 3)), vf_mul(a, vf_number(g, 0.75)));
  default: return vf_where(vf_lt(a, b), vf_relu(a), vf_mul(b, vf_number(g, -0.25)));
  }
}

static void compute(int form, const float *a, const float *b, float *out) {
  for (int i = 0; i < N; i++) {
    float shifted = i + 3 < N ? b[i + 3] : 0, low = a[i] * 0.75f;
    switch (form) {
    case 0: out[i] = (a[i] + b[i]) * 0.5f; break;
    case 1: out[i] = a[N - 1 - i] - b[i] * 0.5f; break;
    case 2: out[i] = a[i % 4 * 6 + i / 4]; break;
    case 3: out[i] = shifted < low || (shifted == low && signbit(shifted)) ? shifted : low; break;
    default: out[i] = a[i] < b[i] ? (a[i] > 0 ? a[i] : 0) : b[i] * -0.25f; break;
    }
  }
}

static bool step(loop *l, long number, vf_error *error) {
  int form = (int)draw(l, FORMS);
  float fresh[N];
  vf_value a = vf_tensor_value(l->tensor[0]), b = vf_tensor_value(l->tensor[1]);
  if (draw(l, 4) == 0) vf_exp(vf_add(a, vf_number(a.graph, (double)number)));
  vf_tensor *next = vf_tensor_keep(record(form, a, b), error);
  const float *data = next ? vf_tensor_data(next, error) : NULL;
  compute(form, l->wanted[0], l->wanted[1], fresh);
  bool good = data != NULL;
  for (int i = 0; i < N && good; i++)
    if (data[i] != fresh[i]) {
      snprintf(error->message, sizeof error->message, "form %d: element %d is %.9g, not %.9g", form, i,
               data[i], fresh[i]);
      good = false;
    }
  vf_tensor_release(l->tensor[0]);
  l->tensor[0] = l->tensor[1];
  l->tensor[1] = next;
  memcpy(l->wanted[0], l->wanted[1], sizeof fresh);
  memcpy(l->wanted[1], fresh, sizeof fresh);
  if (number % 16 == 15 && good) { /* repeated steps make the values degenerate: new ones from outside */
    for (int i = 0; i < N; i++) l->wanted[1][i] = (float)((int)draw(l, 4096) - 2048) / 64;
    vf_tensor_release(next);
    l->tensor[1] = vf_tensor_create(l->context, VF_F32, VF_LIST(N), l->wanted[1], error);
    good = l->tensor[1] != NULL;
  }
  return good;
}

static double seconds(void) { return (double)ir_now_ns() * 1e-9; }

int main(int argc, char **argv) {
  long steps = 1000, seed = 1, done = 0;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &steps), OPTION("--steps", &steps));
  test_memory memory = {0};
  vf_options options = {.size = sizeof options, .allocator = test_memory_hook, .allocator_user = &memory};
  vf_error error = {VF_OK, ""};
  loop l = {.random = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1,
            .context = vf_context_create(&options, &error)};
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < N; i++) l.wanted[k][i] = (float)((int)draw(&l, 4096) - 2048) / 64;
    l.tensor[k] = vf_tensor_create(l.context, VF_F32, VF_LIST(N), l.wanted[k], &error);
  }
  bool good = l.tensor[0] && l.tensor[1];
  double start = seconds();
  size_t warm = 0;
  for (; done < steps && good; done++) {
    if (done == (steps < 10000 ? steps / 2 : steps / 10)) warm = atomic_load(&memory.peak);
    good = step(&l, done, &error);
  }
  double took = seconds() - start;
  size_t peak = atomic_load(&memory.peak);
  vf_tensor_release(l.tensor[0]);
  vf_tensor_release(l.tensor[1]);
  vf_context_destroy(l.context);
  if (!good)
    printf("step %ld: %s\nrepeat: prop_lazy --seed %ld --steps %ld\n", done, error.message, seed, done);
  if (good && peak > warm + SLACK) {
    printf("memory grew from %zu to %zu bytes\nrepeat: prop_lazy --seed %ld --steps %ld\n", warm, peak, seed,
           steps);
    good = false;
  }
  if (good && (atomic_load(&memory.live) || atomic_load(&memory.wrong_sizes))) {
    printf("%zu bytes were not given back\nrepeat: prop_lazy --seed %ld --steps %ld\n",
           atomic_load(&memory.live), seed, steps);
    good = false;
  }
  if (good)
    printf("prop_lazy: seed %ld, %ld steps, %.1f us each, never more than %zu bytes\n", seed, steps,
           1e6 * took / (double)steps, peak);
  return good ? 0 : 1;
}
