/* Arrays as one line of text. */
#include "frontend/report/summary.h"

#include <math.h>

#include "ir/lex/lex.h"

enum { WHOLE = 16, FIRST = 6 }; /* elements */
#define WRITTEN_OUT 1e15

static int64_t count_of(const fe_array *a) { return (int64_t)(a->bytes / ir_dtypes[a->dtype].bytes); }

static ir_value element(const fe_array *a, int64_t i) {
  return ir_value_load((const char *)a->data + (size_t)i * ir_dtypes[a->dtype].bytes, a->dtype);
}

static double element_as_double(const fe_array *a, int64_t i) {
  ir_value v = element(a, i);
  if (ir_is_float(a->dtype)) return v.f;
  return a->dtype == IR_U64 ? (double)(uint64_t)v.i : (double)v.i;
}

/* Print as in text graphs, except that integral floats below WRITTEN_OUT have no exponent and each NaN is
 * `nan`. */
static void put_element(const fe_array *a, int64_t i, ir_text *out) {
  ir_value v = element(a, i);
  bool is_float = ir_is_float(a->dtype);
  if (is_float && isnan(v.f)) ir_text_str(out, "nan");
  else if (is_float && fabs(v.f) < WRITTEN_OUT && v.f == trunc(v.f)) ir_textf(out, "%.1f", v.f);
  else ir_print_value(out, v, a->dtype);
}

/* The number of axes before the first one of size 0, or of all axes if there is none; *nonempty_axes: the
 * product of their sizes. Stops where the product exceeds WHOLE. */
static int axes_with_elements(const fe_array *a, int64_t *nonempty_axes) {
  int axes = 0;
  for (*nonempty_axes = 1; axes < a->rank && a->shape[axes] > 0 && *nonempty_axes <= WHOLE; axes++)
    *nonempty_axes *= a->shape[axes];
  return axes;
}

/* [[0.0, 1.0], [2.0, 3.0]]; [[], []] for shape [2,0]. nonempty_axes, from axes_with_elements, is at most
 * WHOLE. */
static void put_whole(const fe_array *a, int axes, int64_t nonempty_axes, ir_text *out) {
  int64_t index[FE_MAX_RANK] = {0};
  for (int k = 0; k < axes; k++) ir_text_str(out, "[");
  for (int64_t i = 0; i < nonempty_axes; i++) {
    if (axes < a->rank) ir_text_str(out, "[]");
    else put_element(a, i, out);
    int axis = axes - 1;
    while (axis >= 0 && ++index[axis] == a->shape[axis]) {
      index[axis--] = 0;
      ir_text_str(out, "]");
    }
    if (i + 1 == nonempty_axes) return;
    ir_text_str(out, ", ");
    for (; axis < axes - 1; axis++) ir_text_str(out, "[");
  }
}

static void put_statistics(const fe_array *a, ir_text *out) {
  int64_t count = count_of(a), least = -1, most = -1, nans = 0;
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    double x = element_as_double(a, i);
    if (isnan(x)) {
      nans++;
      continue;
    }
    sum += x;
    if (least < 0 || x < element_as_double(a, least)) least = i;
    if (most < 0 || x > element_as_double(a, most)) most = i;
  }
  if (nans) ir_textf(out, "nan %lld of %lld ", (long long)nans, (long long)count);
  if (least >= 0) {
    ir_text_str(out, "min ");
    put_element(a, least, out);
    ir_text_str(out, " max ");
    put_element(a, most, out);
    ir_textf(out, " mean %.6g ", sum / (double)(count - nans));
  }
  ir_text_str(out, "first");
  for (int64_t i = 0; i < FIRST; i++) {
    ir_text_str(out, " ");
    put_element(a, i, out);
  }
  ir_text_str(out, " ...");
}

void fe_summary_elements(const fe_array *a, ir_text *out) {
  int64_t nonempty_axes;
  int axes = axes_with_elements(a, &nonempty_axes);
  if (nonempty_axes <= WHOLE) put_whole(a, axes, nonempty_axes, out);
  else if (count_of(a) == 0) ir_text_str(out, "without elements");
  else put_statistics(a, out);
}

void fe_summary(const char *name, const fe_array *a, ir_text *out) {
  int64_t nonempty_axes;
  ir_textf(out, "%s: %s[", name, ir_dtypes[a->dtype].name);
  for (int i = 0; i < a->rank; i++) ir_textf(out, i ? ",%lld" : "%lld", (long long)a->shape[i]);
  axes_with_elements(a, &nonempty_axes);
  ir_text_str(out, nonempty_axes <= WHOLE ? "] = " : "] ");
  fe_summary_elements(a, out);
  ir_text_str(out, "\n");
}
