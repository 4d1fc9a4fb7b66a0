/* Constant masks over vector lanes, which code generators implement by shuffles.
 *
 *   prop_masks --seed S --count N
 *   prop_masks --case SEED           one case again, by the seed in its report
 *
 * A case casts short rows once or twice, keeps the elements whose bits are set in a constant and replaces the
 * others by a constant or by other elements. No mask is a comparison with a bound, as that would only split
 * the loop's domain. Every element must be the evaluator's. */
#include "passes/ops/ops.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <stdio.h>
#include <stdlib.h>

enum { CONTEXTS = 4, MOST_ROWS = 7, MOST_CASTS = 2 };

static const case_machine machines[CONTEXTS] = {
    {1, NULL}, {1, "vector_bytes=32"}, {1, "vector_bytes=16 registers=16"}, {1, "lanes=64"}};
static const ir_dtype dtypes[] = {IR_BOOL, IR_U8,  IR_I8,  IR_U16, IR_I16,  IR_U32, IR_I32,
                                  IR_U64,  IR_I64, IR_I64, IR_F16, IR_BF16, IR_F32, IR_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };
static long elements;

static ir_ref cast_of(trial *t, ir_ref x) {
  for (int64_t k = trial_pick(t, 1, MOST_CASTS); k > 0; k--)
    x = op_cast(&t->g, x, dtypes[trial_pick(t, 0, DTYPES - 1)]);
  return x;
}

/* Is the bit set whose number is the element's index in the row? */
static ir_ref mask_of(trial *t, const ir_ref *shape, int64_t bits) {
  ir_graph *g = &t->g;
  ir_ref lane = op_iota(g, IR_I64, shape, 2, 1), all = op_const(g, IR_I64, (ir_value){.i = bits});
  ir_ref bit = op_binary(g, IR_OP_AND, op_binary(g, IR_OP_SHR, all, lane), op_literal_int(g, 1));
  return op_binary(g, IR_OP_NE, bit, op_literal_int(g, 0));
}

static bool record(trial *t) {
  static const int64_t lengths[] = {2, 3, 4, 4, 4, 8, 8, 16, 16, 32};
  ir_graph *g = &t->g;
  int64_t rows = trial_pick(t, 1, MOST_ROWS),
          length = trial_pick(t, 0, 3) ? lengths[trial_pick(t, 0, 9)] : trial_pick(t, 1, 40);
  int64_t bits =
      trial_pick(t, 0, 1) ? ((int64_t)1 << trial_pick(t, 0, length)) - 1 : (int64_t)random_next(&t->state);
  ir_ref shape[] = {ir_index(g, rows), ir_index(g, length)}, swapped[] = {ir_index(g, 1), ir_index(g, 0)};
  t->input_count = t->result_count = 1;
  t->input[0] = op_input(g, "x", 1, dtypes[trial_pick(t, 0, DTYPES - 1)], shape, 2);
  ir_ref kept = cast_of(t, t->input[0]);
  ir_ref rest =
      trial_pick(t, 0, 2) ? op_const(g, ir_dtype_of(g, kept), (ir_value){0}) : cast_of(t, t->input[0]);
  rest = op_cast(g, rest, ir_dtype_of(g, kept));
  ir_ref mask = mask_of(t, shape, bits);
  ir_ref y = trial_pick(t, 0, 4) ? op_where(g, mask, kept, rest) : op_where(g, mask, rest, kept);
  t->result[0] = trial_pick(t, 0, 3) ? y : op_permute(g, y, swapped, 2);
  return t->result[0] != 0;
}

static ir_value element(trial *t, ir_dtype dtype) {
  ir_value v = {.i = (int64_t)(random_next(&t->state) | 1) >> trial_pick(t, 0, 60)};
  if (dtype == IR_BOOL) v.i &= 1;
  if (ir_is_float(dtype)) v.f = (double)trial_pick(t, -2000, 2000) / 8;
  elements++;
  return v;
}

static void run(trial *t) { trial_evaluate(t, &(trial_check){1, element, NULL, NULL}); }

static void tell(const cases *c) { printf("%ld masks, %ld elements", c->done, elements); }

TRIAL_MAIN("masks", 300, machines, CONTEXTS, sizeof(trial), record, run, tell, NULL)
