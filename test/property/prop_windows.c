/* Shifted copies of an image, stacked, compiled, against the same computed element by element, for several
 * machines.
 *
 *   prop_windows --seed S --count N
 *   prop_windows --case SEED         one case again, by the seed in its report
 *
 * A case shifts an image, mostly one of short rows, by a few rows and columns, fills the uncovered elements,
 * may apply an elementwise operation, and stacks several such results, so that masks cut off a column or two
 * of each row. On machines with small caches, stores are non-temporal. */
#include "passes/ops/ops.h"
#include "test/lib/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 5, RANK = 3, MOST_WINDOWS = 4, MOST_MOVED = 3, MOST_FILL = 100 };

static const case_machine machines[CONTEXTS] = {{1, NULL},
                                                {2, "l1=4096 l2=32768 l3=65536"},
                                                {1, "vector_bytes=32 l1=4096 l2=8192 l3=16384"},
                                                {2, "vector_bytes=32 masks=0"},
                                                {1, "vector_bytes=16 registers=16 masks=0"}};
static long elements;

typedef enum work { MOVED, NEGATED, ADDED, WORKS } work; /* shifted; negated, too; plus the unshifted image */

typedef struct problem {
  trial t;
  ir_dtype dtype;
  int64_t size[RANK], down[MOST_WINDOWS], along[MOST_WINDOWS], fill;
  int windows, axis; /* of the stack */
  work work;
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static ir_ref constant(problem *p, int64_t value) {
  bool floats = ir_is_float(p->dtype);
  return ir_const(&p->t.g, p->dtype, floats ? (ir_value){.f = (double)value} : (ir_value){.i = value});
}

/* The image shifted: element [c, i, j] is [c, i+down, j+along] of the image, the fill outside. */
static ir_ref moved(problem *p, int64_t down, int64_t along) {
  ir_graph *g = &p->t.g;
  ir_ref pads[2 * RANK], bounds[2 * RANK];
  int64_t by[RANK] = {0, down, along};
  for (int a = 0; a < RANK; a++) {
    int64_t before = by[a] < 0 ? -by[a] : 0, after = by[a] > 0 ? by[a] : 0;
    pads[2 * a] = ir_index(g, before), pads[2 * a + 1] = ir_index(g, after);
    bounds[2 * a] = ir_index(g, after), bounds[2 * a + 1] = ir_index(g, after + p->size[a]);
  }
  return op_shrink(g, op_pad(g, p->t.input[0], pads, RANK, constant(p, p->fill), IR_PAD_CONSTANT), bounds,
                   RANK);
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_I32, IR_F64, IR_I64, IR_I16, IR_U8};
  static const int64_t widths[] = {14, 16, 24, 28, 40, 48, 56, 57, 64, 80, 112, 224};
  ir_ref dims[RANK], made[MOST_WINDOWS];
  p->dtype = dtypes[pick(p, 0, 6)];
  p->size[0] = pick(p, 1, 3), p->size[1] = pick(p, 1, 60);
  p->size[2] = pick(p, 0, 2) ? widths[pick(p, 0, 11)] : pick(p, 1, 120);
  for (int a = 0; a < RANK; a++) dims[a] = ir_index(&p->t.g, p->size[a]);
  p->t.input_count = p->t.result_count = 1;
  p->t.input[0] = op_input(&p->t.g, "x", 1, p->dtype, dims, RANK);
  p->windows = (int)pick(p, 1, MOST_WINDOWS), p->axis = (int)pick(p, 0, 2);
  p->work = p->dtype == IR_U8 ? MOVED : (work)pick(p, 0, WORKS - 1);
  p->fill = pick(p, 0, 1) ? 0 : pick(p, 0, MOST_FILL);
  for (int k = 0; k < p->windows; k++) {
    p->down[k] = pick(p, -MOST_MOVED, MOST_MOVED), p->along[k] = pick(p, -MOST_MOVED, MOST_MOVED);
    made[k] = moved(p, p->down[k], p->along[k]);
    if (p->work == NEGATED) made[k] = op_unary(&p->t.g, IR_OP_NEG, made[k]);
    if (p->work == ADDED) made[k] = op_binary(&p->t.g, IR_OP_ADD, made[k], p->t.input[0]);
  }
  p->t.result[0] = op_stack(&p->t.g, made, (size_t)p->windows, p->axis);
  snprintf(p->t.what, sizeof p->t.what,
           "%d windows of [%" PRId64 ",%" PRId64 ",%" PRId64 "], first by %" PRId64 ", %" PRId64
           ", work %d, dtype %d, axis %d",
           p->windows, p->size[0], p->size[1], p->size[2], p->down[0], p->along[0], p->work, p->dtype,
           p->axis);
  return p->t.result[0] != 0;
}

/* elements, whatever their dtype */

static int64_t read_at(const problem *p, const void *data, size_t i) {
  switch (p->dtype) {
  case IR_F32: return (int64_t)((const float *)data)[i];
  case IR_F64: return (int64_t)((const double *)data)[i];
  case IR_I64: return ((const int64_t *)data)[i];
  case IR_I32: return ((const int32_t *)data)[i];
  case IR_I16: return ((const int16_t *)data)[i];
  default: return ((const uint8_t *)data)[i];
  }
}

static void write_at(const problem *p, void *data, size_t i, int64_t value) {
  switch (p->dtype) {
  case IR_F32: ((float *)data)[i] = (float)value; break;
  case IR_F64: ((double *)data)[i] = (double)value; break;
  case IR_I64: ((int64_t *)data)[i] = value; break;
  case IR_I32: ((int32_t *)data)[i] = (int32_t)value; break;
  case IR_I16: ((int16_t *)data)[i] = (int16_t)value; break;
  default: ((uint8_t *)data)[i] = (uint8_t)value;
  }
}

static int64_t image_at(const problem *p, const void *x, int64_t c, int64_t i, int64_t j) {
  if (i < 0 || i >= p->size[1] || j < 0 || j >= p->size[2]) return p->fill;
  return read_at(p, x, (size_t)((c * p->size[1] + i) * p->size[2] + j));
}

/* The index in the result of element `at` of window k. */
static size_t place_of(const problem *p, int64_t k, const int64_t *at) {
  size_t place = 0;
  for (int a = 0; a < RANK; a++) {
    if (a == p->axis) place = place * (size_t)p->windows + (size_t)k;
    place = place * (size_t)p->size[a] + (size_t)at[a];
  }
  return place;
}

static bool is_right(const problem *p, const void *x, const void *y) {
  for (int64_t k = 0; k < p->windows; k++)
    for (int64_t c = 0; c < p->size[0]; c++)
      for (int64_t i = 0; i < p->size[1]; i++)
        for (int64_t j = 0; j < p->size[2]; j++) {
          int64_t want = image_at(p, x, c, i + p->down[k], j + p->along[k]);
          if (p->work == NEGATED) want = -want;
          if (p->work == ADDED) want += image_at(p, x, c, i, j);
          if (read_at(p, y, place_of(p, k, (int64_t[]){c, i, j})) != want) return false;
        }
  return true;
}

static void run(trial *t) {
  problem *p = (problem *)t;
  size_t count = trial_elements(t, t->input[0], 0), bytes = (size_t)ir_dtypes[p->dtype].bytes;
  void *x = malloc(count * bytes), *y = malloc(count * (size_t)p->windows * bytes);
  for (size_t i = 0; i < count; i++) write_at(p, x, i, pick(p, 0, MOST_FILL));
  for (int k = 0; k < CONTEXTS && !*t->wrong; k++) {
    memset(y, 0xa5, count * (size_t)p->windows * bytes);
    trial_run_on(t, k, (void *[]){x}, (void *[]){y});
    if (!*t->wrong && !is_right(p, x, y))
      snprintf(t->wrong, sizeof t->wrong, "wrong with %s",
               machines[k].target ? machines[k].target : "this machine");
  }
  elements += (long)count * p->windows;
  free(x);
  free(y);
}

static void tell(const cases *c) { printf("%ld cases, %ld elements", c->done, elements); }

TRIAL_MAIN("windows", 100, machines, CONTEXTS, sizeof(problem), record, run, tell, NULL)
