/* How much results change where each number of the inputs is replaced by a neighbour of it
 * (frontend/cli/arrays.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/arrays.h"

/* Up or down by turns that no stride of an array meets: Weyl's sequence of the golden ratio. */
static bool goes_up(int64_t i) { return (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15) >> 63; }

/* Infinities, NaN and zeros stay, and so does what is no float. */
static void move_element(void *at, ir_dtype t, bool up) {
  size_t size = ir_dtypes[t].bytes;
  uint64_t bits = 0, sign;
  double value = ir_value_load(at, t).f;
  if (value == 0 || !isfinite(value)) return;
  memcpy(&bits, at, size);
  sign = UINT64_C(1) << (8 * size - 1);
  uint64_t moved = bits + (up == !(bits & sign) ? 1 : UINT64_MAX); /* of magnitudes, as bits are ordered */
  memcpy(at, &moved, size);
  if (!isfinite(ir_value_load(at, t).f)) memcpy(at, &bits, size);
}

void *cli_moved_reduction(const ir_eval_result *value, const ir_eval_result *magnitude, double factor) {
  size_t size = ir_dtypes[value->dtype].bytes;
  char *copy = malloc((size_t)value->count * size + 1);
  for (int64_t i = 0; i < value->count && copy; i++) {
    ir_value v = ir_value_load((const char *)value->data + (size_t)i * size, value->dtype);
    double by = factor / CLI_DERIVED * fabs(((const double *)magnitude->data)[i]);
    v.f += goes_up(i) ? by : -by;
    ir_value_store(copy + (size_t)i * size, value->dtype, v);
  }
  return copy;
}

static void *moved_copy(const void *data, ir_dtype t, int64_t count) {
  size_t size = ir_dtypes[t].bytes;
  char *copy = malloc((size_t)count * size + 1);
  if (!copy) return NULL;
  memcpy(copy, data, (size_t)count * size);
  for (int64_t i = 0; i < count; i++) move_element(copy + (size_t)i * size, t, goes_up(i));
  return copy;
}

static cli_change change_of(const ir_eval_result *from, const ir_eval_result *to, double allowed) {
  cli_change c = {0};
  for (int64_t i = 0; i < from->count && ir_is_float(from->dtype) && from->count == to->count; i++) {
    size_t at = (size_t)i * ir_dtypes[from->dtype].bytes;
    double d = fabs(ir_value_load((const char *)from->data + at, from->dtype).f -
                    ir_value_load((const char *)to->data + at, from->dtype).f);
    if (isfinite(d)) c.most = fmax(c.most, d);
    c.count += d > allowed;
  }
  return c;
}

static int64_t elements_of(ir_graph *g, ir_ref tensor, const ir_var_value *vars, size_t var_count) {
  ir_error ignored = {0};
  int64_t count = 1, size = 0;
  for (uint32_t axis = 0; axis < ir_rank(g, tensor); axis++) {
    if (ir_eval_index(g, ir_dim(g, tensor, axis), vars, var_count, NULL, 0, &size, &ignored) != IR_OK)
      return 0;
    count *= size;
  }
  return count;
}

/* One evaluation of the first `count` inputs, of which so many are moved. */
static bool evaluate(ir_graph *g, const cli_evaluation *e, size_t moves, size_t count, ir_eval_result *got) {
  ir_binding_input *moved = calloc(count + 1, sizeof *moved);
  ir_error error = {0};
  bool good = moved != NULL;
  for (size_t i = 0; i < count && good; i++) {
    ir_dtype t = ir_dtype_of(g, e->inputs[i].ref);
    moved[i] = e->inputs[i];
    if (i >= moves || !ir_is_float(t) || !moved[i].data) continue;
    moved[i].data = moved_copy(moved[i].data, t, elements_of(g, moved[i].ref, e->vars, e->var_count));
    good = moved[i].data != NULL;
  }
  good =
      good && ir_eval(g, e->roots, e->root_count, moved, count, e->vars, e->var_count, got, &error) == IR_OK;
  for (size_t i = 0; moved && i < count; i++)
    if (moved[i].data != e->inputs[i].data) free((void *)moved[i].data);
  free(moved);
  return good;
}

bool cli_neighbours_find(ir_graph *g, const cli_evaluation *e, const ir_eval_result *want,
                         const double *allowed, cli_change *out) {
  ir_eval_result *got = calloc(e->root_count + 1, sizeof *got);
  const size_t moves[] = {e->input_count, 0},
               counts[] = {e->input_count, e->input_count + e->reduction_count};
  bool good = got != NULL;
  for (size_t k = 0; k < 2 && good; k++) {
    good = evaluate(g, e, moves[k], counts[k], got);
    for (size_t i = 0; i < e->root_count && good; i++) {
      cli_change c = change_of(&want[i], &got[i], allowed[i]);
      out[i].most = fmax(out[i].most, c.most);
      out[i].count = c.count > out[i].count ? c.count : out[i].count;
    }
    if (good) ir_eval_free(g, got, e->root_count);
  }
  free(got);
  return good;
}
