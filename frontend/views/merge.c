/* Merging: the one view that is equal to two consecutive views, or to a longer run of them.
 *
 * The later view maps its index x, within its mask, to p = P + sum t[k]*x[k]; the nearer view splits p into
 * digits d[j] = p//w[j] % s[j], and reads, where every digit is within its mask, at sum d[j]*stride[j].
 *
 * Where is that valid? "Some valid index has x[k] <= c" and "some index of this box has an invalid digit" are
 * questions whether sum t[k]*x[k] - sum w[j]*d[j] reaches -P with every x and d within bounds
 * (integer_solve.c). The first gives, by bisection, the least box around the valid indices; the second says
 * whether all of the box is valid. If not, no view with one mask is equal.
 *
 * Is the index affine there? d[j] = q[j] - s[j]*q[j-1] with q[j] = p//w[j], so the index is a sum of
 * quotients, each of which is an affine function where its remainder stays within [0, w[j]); others must
 * cancel.
 *
 * A run of views of which no two merge may still be one view. It is merged over sub-domains of the last mask
 * (merge_subdomains.c); or view by view, with the axes of later views split where digits end, which makes
 * quotients affine, and a final reshape that undoes the splits; or the index algebra shows the index of the
 * whole run to be affine. */
#include <string.h>

#include "impl.h"
#include "integer_solve.h"
#include "ir/arith.h"

enum { LONGEST_RUN = 8, MANY_VIEWS = 64 };

typedef struct digit {
  int64_t size, weight, stride, begin, end;
} digit;

typedef struct merger {
  pass_view_numbers box; /* the later view; its mask is where the merged view may be valid */
  uint32_t digits;
  digit digit[IR_MAX_RANK]; /* of the nearer view, the most significant first */
  int64_t nearer_offset;
  uint32_t axes_to_split; /* set of axes along which the box may have to be split */
} merger;

/* Read the digits of the nearer view. Adjacent axes are one digit where one stride steps through both and the
 * inner one has no mask. False: a size overflows. */
static bool read_digits(merger *m, const pass_view_numbers *nearer) {
  int64_t weight = 1;
  m->digits = 0;
  m->nearer_offset = nearer->offset;
  for (uint32_t i = nearer->rank; i-- > 0;) {
    digit d = {nearer->shape[i], weight, nearer->stride[i], nearer->begin[i], nearer->end[i]};
    if (d.size == 1) continue;
    if (!ir_mul_ok(weight, d.size, &weight)) return false;
    digit *inner = m->digits ? &m->digit[m->digits - 1] : NULL;
    int64_t whole;
    if (inner && inner->begin == 0 && inner->end == inner->size &&
        ir_mul_ok(inner->size, inner->stride, &whole) && whole == d.stride) {
      d = (digit){d.size * inner->size, inner->weight, inner->stride, d.begin * inner->size,
                  d.end * inner->size};
      *inner = d;
    } else {
      m->digit[m->digits++] = d;
    }
  }
  for (uint32_t i = 0; i < m->digits / 2; i++) {
    digit d = m->digit[i];
    m->digit[i] = m->digit[m->digits - 1 - i];
    m->digit[m->digits - 1 - i] = d;
  }
  return true;
}

static uint32_t spans_of(const merger *m, const pass_view_numbers *box, view_span *out) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < box->rank; k++)
    if (box->stride[k]) out[count++] = (view_span){box->stride[k], box->begin[k], box->end[k] - 1};
  for (uint32_t j = 0; j < m->digits; j++)
    out[count++] = (view_span){-m->digit[j].weight, m->digit[j].begin, m->digit[j].end - 1};
  return count;
}

/* Does some index of the box have all digits within their masks? */
static view_answer some_valid(const merger *m, const pass_view_numbers *box) {
  view_span spans[VIEW_SPANS];
  return view_sum_reaches(spans, spans_of(m, box, spans), -box->offset);
}

static bool is_masked(const merger *m) {
  for (uint32_t j = 0; j < m->digits; j++)
    if (m->digit[j].begin > 0 || m->digit[j].end < m->digit[j].size) return true;
  return false;
}

/* The least (or, `upper`, the greatest) x[k] of a valid index; there is one. False: unknown. */
static bool end_of_valid(const merger *m, uint32_t k, bool upper, int64_t *end) {
  int64_t lo = m->box.begin[k], hi = m->box.end[k] - 1; /* bounds of the result */
  for (bool first = true; lo < hi; first = false) {     /* test the end of the box first */
    int64_t middle = !first ? lo + (hi - lo) / 2 + upper : upper ? hi : lo;
    pass_view_numbers part = m->box;
    if (upper) part.begin[k] = middle;
    else part.end[k] = middle + 1;
    view_answer found = some_valid(m, &part);
    if (found == VIEW_UNKNOWN) return false;
    bool keeps_low = (found == VIEW_YES) != upper; /* is the result in the lower half? */
    if (keeps_low) hi = upper ? middle - 1 : middle;
    else lo = upper ? middle : middle + 1;
  }
  *end = lo;
  return true;
}

/* Shrink the box to the least one around the valid indices. False: unknown. */
static bool tighten_box(merger *m) {
  for (uint32_t k = 0; k < m->box.rank; k++) {
    int64_t last;
    if (!m->box.stride[k]) continue;
    if (!end_of_valid(m, k, false, &m->box.begin[k]) || !end_of_valid(m, k, true, &last)) return false;
    m->box.end[k] = last + 1;
  }
  return true;
}

/* Does some index of the box have digit j in [begin, end), whatever its other digits? */
static view_answer some_digit(const merger *m, uint32_t j, int64_t begin, int64_t end) {
  merger free = *m;
  for (uint32_t i = 0; i < m->digits; i++) free.digit[i].begin = 0, free.digit[i].end = m->digit[i].size;
  free.digit[j].begin = begin, free.digit[j].end = end;
  return some_valid(&free, &m->box);
}

static view_answer some_invalid(const merger *m) {
  for (uint32_t j = 0; j < m->digits; j++) {
    const digit *d = &m->digit[j];
    view_answer below = d->begin ? some_digit(m, j, 0, d->begin) : VIEW_NO;
    view_answer above = below == VIEW_NO && d->end < d->size ? some_digit(m, j, d->end, d->size) : VIEW_NO;
    if (below != VIEW_NO) return below;
    if (above != VIEW_NO) return above;
  }
  return VIEW_NO;
}

static bool address(const merger *m, int64_t place, int64_t *out) {
  *out = m->nearer_offset;
  for (uint32_t j = 0; j < m->digits; j++) {
    int64_t step, at = place / m->digit[j].weight % m->digit[j].size;
    if (!ir_mul_ok(at, m->digit[j].stride, &step) || !ir_add_ok(*out, step, out)) return false;
  }
  return true;
}

/* Least and greatest of constant + sum rate[k]*x[k] for 0 <= x[k] < size[k]. */
static bool extent(int64_t constant, uint32_t axes, const int64_t *rate, const int64_t *size, int64_t *lo,
                   int64_t *hi) {
  *lo = *hi = constant;
  for (uint32_t k = 0; k < axes; k++) {
    int64_t most;
    if (!ir_mul_ok(rate[k], size[k] - 1, &most)) return false;
    if (!ir_add_ok(most < 0 ? *lo : *hi, most, most < 0 ? lo : hi)) return false;
  }
  return true;
}

/* Is floor(p / weight) proven to be an affine function over the box? */
static bool affine_quotient(int64_t start, const view_quotients *q, const int64_t *rate, int64_t weight) {
  int64_t lo, hi, rest[VIEW_AXES], step;
  for (uint32_t k = 0; k < q->axes; k++) {
    rest[k] = 0;
    if (q->size[k] == 1) continue;
    int64_t slope = ir_floor_div(start + rate[k], weight) - ir_floor_div(start, weight);
    if (!ir_mul_ok(slope, weight, &step)) return false;
    rest[k] = rate[k] - step;
  }
  return extent(ir_floor_mod(start, weight), q->axes, rest, q->size, &lo, &hi) && lo >= 0 && hi < weight;
}

/* Over the box, all of which is valid: *out is the view that agrees with both views at the first index and
 * its successors along each axis. YES: it agrees everywhere. */
static view_answer affine_over_box(merger *m, pass_view_numbers *out) {
  const pass_view_numbers *box = &m->box;
  view_quotients q = {.axes = box->rank};
  int64_t start = box->offset, base, there, step;
  for (uint32_t k = 0; k < box->rank; k++) {
    q.size[k] = box->end[k] - box->begin[k];
    if (!ir_mul_ok(box->begin[k], box->stride[k], &step) || !ir_add_ok(start, step, &start))
      return VIEW_UNKNOWN;
  }
  *out = *box;
  if (!address(m, start, &base)) return VIEW_UNKNOWN;
  out->offset = base;
  for (uint32_t k = 0; k < box->rank; k++) {
    out->stride[k] = 0;
    if (q.size[k] == 1) continue;
    if (!address(m, start + box->stride[k], &there) || !ir_sub_ok(there, base, &out->stride[k]) ||
        !ir_mul_ok(out->stride[k], box->begin[k], &step) || !ir_sub_ok(out->offset, step, &out->offset))
      return VIEW_UNKNOWN;
  }
  for (uint32_t j = 0; j + 1 < m->digits; j++) {
    const digit *d = &m->digit[j], *inner = d + 1;
    int64_t coef;
    if (!ir_mul_ok(inner->size, inner->stride, &coef) || !ir_sub_ok(d->stride, coef, &coef))
      return VIEW_UNKNOWN;
    if (coef == 0 || affine_quotient(start, &q, box->stride, d->weight)) continue;
    if (!view_quotients_add(&q, coef, start, box->stride, d->weight)) return VIEW_UNKNOWN;
    for (uint32_t k = 0; k < box->rank; k++)
      if (box->stride[k] % d->weight && q.size[k] > 1) m->axes_to_split |= 1u << k;
  }
  return view_quotients_affine(&q);
}

/* Does the later view read only elements that the nearer view has? NO: *worst is one that it does not have.
 * UNKNOWN: numbers too large. */
static view_answer stays_inside(const merger *m, const pass_view_numbers *nearer, int64_t *worst) {
  int64_t lo, hi, start = m->box.offset, step, all = 1, size[IR_MAX_RANK];
  for (uint32_t k = 0; k < m->box.rank; k++) {
    size[k] = m->box.end[k] - m->box.begin[k];
    if (!ir_mul_ok(m->box.begin[k], m->box.stride[k], &step) || !ir_add_ok(start, step, &start))
      return VIEW_UNKNOWN;
  }
  for (uint32_t i = 0; i < nearer->rank; i++)
    if (!ir_mul_ok(all, nearer->shape[i], &all)) return VIEW_UNKNOWN;
  if (!extent(start, m->box.rank, m->box.stride, size, &lo, &hi)) return VIEW_UNKNOWN;
  *worst = lo < 0 ? lo : hi;
  return lo >= 0 && hi < all ? VIEW_YES : VIEW_NO;
}

view_merged view_merge_core(const pass_view_numbers *nearer, const pass_view_numbers *later,
                            pass_view_numbers *out, uint32_t *split, int64_t *worst) {
  merger m = {.box = *later};
  *split = 0;
  for (uint32_t k = 0; k < later->rank; k++) *split |= later->stride[k] ? 1u << k : 0;
  view_answer inside = stays_inside(&m, nearer, worst);
  if (inside == VIEW_NO) return VIEW_OUTSIDE;
  if (inside == VIEW_UNKNOWN || !read_digits(&m, nearer)) return VIEW_NOT_ONE;
  if (is_masked(&m)) {
    view_answer valid = some_valid(&m, &m.box);
    if (valid == VIEW_NO) return VIEW_VOID;
    if (valid == VIEW_UNKNOWN || !tighten_box(&m) || some_invalid(&m) != VIEW_NO) return VIEW_NOT_ONE;
  }
  if (affine_over_box(&m, out) == VIEW_YES) return VIEW_ONE;
  if (m.axes_to_split) *split = m.axes_to_split;
  return VIEW_NOT_ONE;
}

static pass_view_status nothing_valid(ir_graph *g, const pass_view *shape_of, pass_view *out) {
  pass_view v = *shape_of;
  if (v.rank == 0) return PASS_VIEW_NONE; /* a view without axes has no mask to say so */
  view_mask_everything(g, &v);
  *out = v;
  return PASS_VIEW_DONE;
}

static pass_view_status merge_numbers(ir_graph *g, const pass_view_numbers *nearer,
                                      const pass_view_numbers *later, const pass_view *shape_of,
                                      pass_view *out) {
  pass_view_numbers made;
  uint32_t split;
  int64_t worst = 0;
  switch (view_merge_core(nearer, later, &made, &split, &worst)) {
  case VIEW_ONE: return view_of_numbers(g, &made, out);
  case VIEW_VOID: return nothing_valid(g, shape_of, out);
  case VIEW_UNDECIDED:
  case VIEW_NOT_ONE: break;
  case VIEW_OUTSIDE:
    return view_refuse(g,
                       "merge: the later view reads element %lld, which the view before it does not have; a "
                       "view in a chain reads elements of the one before it",
                       (long long)worst);
  }
  return PASS_VIEW_NONE;
}

/* Merge by the index algebra, where fields are not all numbers. */
static pass_view_status merge_expressions(ir_graph *g, const pass_view *views, size_t count, pass_view *out) {
  pass_view_chain pair = {.mem = g->mem, .views = (pass_view *)views, .count = count};
  const pass_view *last = &views[count - 1];
  ir_ref index, valid;
  if (!pass_view_chain_lower(g, &pair, NULL, &index, &valid)) return PASS_VIEW_FAILED;
  return pass_view_recognise(g, last->rank, last->shape, index, valid, out);
}

pass_view_status pass_view_merge(ir_graph *g, const pass_view *nearer, const pass_view *later,
                                 pass_view *out) {
  pass_view_numbers a, b;
  if (pass_view_empty(g, later) || pass_view_all_masked(g, later)) {
    *out = *later;
    return PASS_VIEW_DONE;
  }
  if (pass_view_all_masked(g, nearer)) return nothing_valid(g, later, out);
  if (pass_view_numbers_of(g, nearer, &a) && pass_view_numbers_of(g, later, &b))
    return merge_numbers(g, &a, &b, later, out);
  if (pass_view_contiguous(g, nearer)) {
    *out = *later;
    return PASS_VIEW_DONE;
  }
  return merge_expressions(g, (pass_view[]){*nearer, *later}, 2, out);
}

/* runs */

/* Split one axis wherever a digit of the nearer view ends. out receives the sizes of the new axes except the
 * innermost. Returns how many there are in out. */
static uint32_t split_axis(int64_t size, int64_t stride, const pass_view_numbers *nearer, int64_t *out) {
  int64_t breaks[IR_MAX_RANK], weight = 1;
  uint32_t break_count = 0, part_count = 0;
  if (stride == INT64_MIN) stride = 0;
  for (uint32_t j = nearer->rank; j-- > 1 && stride;) {
    if (!ir_mul_ok(weight, nearer->shape[j], &weight)) break;
    int64_t length = weight / (stride < 0 ? -stride : stride);
    if (weight % stride || length <= 1 || length >= size || size % length) continue;
    if (break_count && (length == breaks[break_count - 1] || length % breaks[break_count - 1])) continue;
    breaks[break_count++] = length;
  }
  for (int64_t outer = size; break_count-- > 0; outer = breaks[break_count])
    out[part_count++] = outer / breaks[break_count];
  return part_count;
}

/* Merge nearer and later after the axes of the later view are split by split_axis. */
static pass_view_status merge_refined(ir_graph *g, const pass_view *nearer, const pass_view *later,
                                      pass_view *out) {
  pass_view_numbers a, b;
  ir_ref shape[2 * IR_MAX_RANK + 1];
  uint32_t rank = 0;
  pass_view split;
  if (!pass_view_numbers_of(g, nearer, &a) || !pass_view_numbers_of(g, later, &b)) return PASS_VIEW_NONE;
  for (uint32_t k = 0; k < b.rank; k++) {
    int64_t part_size[IR_MAX_RANK], rest = b.shape[k];
    uint32_t part_count = split_axis(b.shape[k], b.stride[k], &a, part_size);
    if (rank + part_count + 1 > IR_MAX_RANK) return PASS_VIEW_NONE;
    for (uint32_t i = 0; i < part_count; rest /= part_size[i++]) shape[rank++] = ir_index(g, part_size[i]);
    shape[rank++] = ir_index(g, rest);
  }
  if (rank == b.rank) return PASS_VIEW_NONE;
  pass_view_status status = pass_view_reshape(g, later, rank, shape, &split);
  return status == PASS_VIEW_DONE ? pass_view_merge(g, nearer, &split, out) : status;
}

static pass_view_status merge_refining(ir_graph *g, const pass_view *views, size_t count, pass_view *out) {
  const pass_view *last = &views[count - 1];
  pass_view all = views[0];
  pass_view_status status = PASS_VIEW_DONE;
  for (size_t i = 1; i < count && status == PASS_VIEW_DONE; i++) {
    status = pass_view_merge(g, &all, &views[i], &all);
    if (status == PASS_VIEW_NONE) status = merge_refined(g, &all, &views[i], &all);
  }
  return status == PASS_VIEW_DONE ? pass_view_reshape(g, &all, last->rank, last->shape, out) : status;
}

/* Merge a run of views. Views of numbers are merged over sub-domains of the mask; where these are too many,
 * over split axes; then, like other views, by the index algebra. */
static pass_view_status merge_run(ir_graph *g, const pass_view *views, size_t count, pass_view *out) {
  pass_view_numbers numbers[LONGEST_RUN] = {0}, made;
  bool known = true;
  for (size_t i = 0; i < count; i++) {
    if (pass_view_all_masked(g, &views[i])) return nothing_valid(g, &views[count - 1], out);
    known &= pass_view_numbers_of(g, &views[i], &numbers[i]);
  }
  if (!known) return merge_expressions(g, views, count, out);
  switch (view_merge_subdomains(g->mem, numbers, count, &made)) {
  case VIEW_ONE: return view_of_numbers(g, &made, out);
  case VIEW_VOID: return nothing_valid(g, &views[count - 1], out);
  case VIEW_NOT_ONE: return PASS_VIEW_NONE;
  default: break;
  }
  pass_view_status status = merge_refining(g, views, count, out);
  return status == PASS_VIEW_NONE ? merge_expressions(g, views, count, out) : status;
}

/* No two consecutive views among the first *settled ones merge. Append v to them, merged with as many as
 * possible. */
static bool merge_into_chain(ir_graph *g, pass_view_chain *c, size_t *settled, pass_view v) {
  pass_view_status status = PASS_VIEW_DONE;
  while (*settled > 0 && (status = pass_view_merge(g, &c->views[*settled - 1], &v, &v)) == PASS_VIEW_DONE)
    --*settled;
  c->views[(*settled)++] = v;
  return status != PASS_VIEW_FAILED;
}

static bool merge_pairs(ir_graph *g, pass_view_chain *c) {
  size_t settled = 0;
  for (size_t i = 0; i < c->count; i++)
    if (!merge_into_chain(g, c, &settled, c->views[i])) return false;
  c->count = settled;
  return true;
}

/* Merge the longest run that is one view, the first of that length. NONE: there is no such run. */
static pass_view_status merge_some_run(ir_graph *g, pass_view_chain *c) {
  if (c->count > MANY_VIEWS) return PASS_VIEW_NONE;
  for (size_t length = c->count < LONGEST_RUN ? c->count : LONGEST_RUN; length >= 2; length--)
    for (size_t i = 0; i + length <= c->count; i++) {
      pass_view_status status = merge_run(g, c->views + i, length, &c->views[i]);
      if (status == PASS_VIEW_NONE) continue;
      memmove(c->views + i + 1, c->views + i + length, (c->count - i - length) * sizeof *c->views);
      c->count -= length - 1;
      return status;
    }
  return PASS_VIEW_NONE;
}

bool pass_view_chain_simplify(ir_graph *g, pass_view_chain *c) {
  pass_view_status status;
  do {
    if (!merge_pairs(g, c)) return false;
    status = c->count > 1 ? merge_some_run(g, c) : PASS_VIEW_NONE;
  } while (status == PASS_VIEW_DONE);
  return status == PASS_VIEW_NONE;
}
