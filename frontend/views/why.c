/* Why two views do not merge, and why a quotient stays.
 *
 * Merging is tried again with simpler views in place of the nearer one: one for each axis, which gives only
 * the number of the row in which an element lies, and one for each mask alone. Each of these that does not
 * merge with the later view is a reason. */
#include <string.h>

#include "impl.h"
#include "ir/arith.h"

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* The first x > 0 at which floor((constant + step*x) / divisor) differs from its value at x = 0. */
static int64_t first_change(int64_t constant, int64_t step, int64_t divisor) {
  int64_t rest = ir_floor_mod(constant, divisor);
  return step > 0 ? (divisor - rest - 1) / step + 1 : rest / -step + 1;
}

static void put_change_along_axis(ir_text *out, const pass_slope *s, int64_t constant, int64_t divisor) {
  int64_t step = s->step % divisor, first = first_change(constant, step, divisor), every;
  if (divisor % magnitude(step)) {
    ir_textf(
        out,
        "    along axis %u (%lld elements) it changes at unequal distances, as %lld does not divide %lld\n",
        s->axis, (long long)s->count, (long long)magnitude(step), (long long)divisor);
    return;
  }
  every = divisor / magnitude(step);
  ir_textf(out, "    along axis %u (%lld elements) it changes at index %lld", s->axis, (long long)s->count,
           (long long)(s->begin + first));
  if (first + every < s->count) ir_textf(out, " and every %lld from there", (long long)every);
  if (s->begin == 0 && first == every && s->count % every == 0)
    ir_textf(out, "; with the axis split into %lld x %lld, it would change along the first alone\n",
             (long long)(s->count / every), (long long)every);
  else ir_text_str(out, "; that does not divide the axis into equal intervals\n");
}

void pass_quotient_why(ir_text *out, const pass_slope *slopes, uint32_t count, int64_t constant,
                       int64_t divisor) {
  bool alone = false;
  for (uint32_t k = 0; k < count; k++) {
    const pass_slope *s = &slopes[k];
    int64_t step = s->step % divisor;
    if (step == 0 || s->count <= 1 || first_change(constant, step, divisor) >= s->count) continue;
    put_change_along_axis(out, s, constant, divisor);
    alone = true;
  }
  if (alone) return;
  ir_textf(
      out,
      "    along each axis alone it is constant, but along several at once it passes a multiple of %lld\n",
      (long long)divisor);
}

static bool is_one(const pass_view_numbers *nearer, const pass_view_numbers *later) {
  pass_view_numbers made;
  uint32_t split;
  int64_t worst;
  view_merged merged = view_merge_core(nearer, later, &made, &split, &worst);
  return merged == VIEW_ONE || merged == VIEW_VOID;
}

/* The nearer view with its mask along one axis only, and no strides. */
static pass_view_numbers mask_of(const pass_view_numbers *v, uint32_t axis) {
  pass_view_numbers probe = *v;
  probe.offset = 0;
  for (uint32_t i = 0; i < v->rank; i++) {
    probe.stride[i] = 0;
    if (i != axis) probe.begin[i] = 0, probe.end[i] = v->shape[i];
  }
  return probe;
}

/* A view without mask that maps an element of v to the number of its row: its index on axes 0..axis,
 * row-major. */
static pass_view_numbers rows_of(const pass_view_numbers *v, uint32_t axis) {
  pass_view_numbers probe = mask_of(v, v->rank);
  int64_t rows = 1;
  for (uint32_t i = axis + 1; i-- > 0; rows *= v->shape[i]) probe.stride[i] = rows;
  return probe;
}

typedef struct explanation {
  const pass_view_numbers *nearer, *later;
  pass_slope slopes[IR_MAX_RANK];
  int64_t start; /* the element of nearer that later reads at its first valid index */
  ir_text *out;
  bool any;
} explanation;

/* False: numbers too large for an explanation. */
static bool read_slopes(explanation *a) {
  const pass_view_numbers *v = a->later;
  int64_t elements = 1, step;
  a->start = v->offset;
  for (uint32_t i = 0; i < a->nearer->rank; i++)
    if (!ir_mul_ok(elements, a->nearer->shape[i], &elements)) return false;
  for (uint32_t k = 0; k < v->rank; k++) {
    a->slopes[k] = (pass_slope){k, v->begin[k], v->end[k] - v->begin[k], v->stride[k]};
    if (!ir_mul_ok(v->begin[k], v->stride[k], &step) || !ir_add_ok(a->start, step, &a->start)) return false;
  }
  return true;
}

/* Rows of `unit` elements are the axes behind `axis`. Where they end matters unless one stride steps through
 * `axis` and the next one. */
static void row_reason(explanation *a, uint32_t axis, int64_t unit) {
  const pass_view_numbers *v = a->nearer;
  pass_view_numbers probe = rows_of(v, axis);
  int64_t row;
  bool matters = !ir_mul_ok(v->shape[axis + 1], v->stride[axis + 1], &row) || v->stride[axis] != row;
  if (unit == 1 || !matters || is_one(&probe, a->later)) return;
  ir_textf(a->out,
           "    rows of %lld elements (axis %u of the view above, of size %lld) end within the view below; "
           "the number of the row:\n",
           (long long)unit, axis + 1, (long long)v->shape[axis + 1]);
  ir_text_str(a->out, "  ");
  pass_quotient_why(a->out, a->slopes, a->later->rank, a->start, unit);
  a->any = true;
}

static void mask_reason(explanation *a, uint32_t axis) {
  const pass_view_numbers *v = a->nearer;
  pass_view_numbers probe = mask_of(v, axis);
  if ((v->begin[axis] == 0 && v->end[axis] == v->shape[axis]) || is_one(&probe, a->later)) return;
  ir_textf(a->out,
           "    mask (%lld,%lld) of axis %u of the view above, of size %lld, is no box-shaped mask of the "
           "view below\n",
           (long long)v->begin[axis], (long long)v->end[axis], axis, (long long)v->shape[axis]);
  a->any = true;
}

void pass_view_why(ir_graph *g, const pass_view *nearer, const pass_view *later, ir_text *out) {
  pass_view_numbers first, second;
  explanation a = {.nearer = &first, .later = &second, .out = out};
  if (!pass_view_numbers_of(g, nearer, &first) || !pass_view_numbers_of(g, later, &second)) {
    ir_text_str(
        out, "    sizes are variables, and their bounds and divisors do not prove that rows and masks fit\n");
    return;
  }
  int64_t unit = 1;
  for (uint32_t i = read_slopes(&a) ? first.rank : 0; i-- > 0;) {
    if (i + 1 < first.rank) row_reason(&a, i, unit);
    mask_reason(&a, i);
    unit *= first.shape[i];
  }
  if (!a.any) ir_text_str(out, "    each row and each mask alone would merge, their combination does not\n");
}
