/* Operators whose results have sizes that depend on data: of inputs that are known. */
#include <math.h>
#include <stdlib.h>

#include "frontend/onnx/import.h"

/* The bits by which elements are compared. */
typedef union element_bits {
  double real;
  int64_t whole;
} element_bits;

/* NULL after an error: where the elements are not numbers. */
static element_bits *elements_of(onnx_node *n, const onnx_known *k) {
  element_bits *all = k ? wire_alloc(&n->m->arena, (k->count + 1) * sizeof *all) : NULL;
  for (size_t i = 0; all && i < k->count; i++) {
    if (ir_is_float(k->dtype)) all[i].real = k->elements[i].real;
    else if (!onnx_known_int(n->m, k, i, &all[i].whole)) {
      onnx_lacks(n, "the elements depend on symbolic sizes; takes numbers");
      return NULL;
    }
  }
  return all;
}

/* Unique: slices of the input along an axis, or its elements. */

typedef struct slices {
  const element_bits *elements;
  bool real;
  size_t outer, count, inner; /* element e of slice s, e < outer * inner: [e / inner][s][e % inner] */
} slices;

static int compare_elements(const slices *s, element_bits a, element_bits b) {
  if (s->real && (isnan(a.real) || isnan(b.real)))
    return isnan(a.real) - isnan(b.real); /* NaN last, and equal */
  if (s->real) return (a.real > b.real) - (a.real < b.real);
  return (a.whole > b.whole) - (a.whole < b.whole);
}

static int compare_slices(const slices *s, size_t a, size_t b) {
  int order = 0;
  for (size_t e = 0; e < s->outer * s->inner && !order; e++) {
    size_t base = e / s->inner * s->count * s->inner + e % s->inner;
    order = compare_elements(s, s->elements[base + a * s->inner], s->elements[base + b * s->inner]);
  }
  return order;
}

/* Merges the sorted halves of order[0..count); equal slices stay in their order. */
static void sort_slices(const slices *s, size_t *order, size_t *room, size_t count) {
  if (count < 2) return;
  size_t half = count / 2, a = 0, b = half, used = 0;
  sort_slices(s, order, room, half);
  sort_slices(s, order + half, room, count - half);
  while (a < half || b < count) {
    bool left = b == count || (a < half && compare_slices(s, order[a], order[b]) <= 0);
    room[used++] = left ? order[a++] : order[b++];
  }
  for (size_t i = 0; i < count; i++) order[i] = room[i];
}

/* The distinct slices: first[g], where group g occurs first, how many it has, and the group of each slice.
 * Returns how many groups there are, in ascending order, or in that of their first slices. */
static size_t group_slices(const slices *s, bool sorted, size_t *order, size_t *first, size_t *sizes,
                           size_t *group) {
  size_t groups = 0, *room = first;
  for (size_t i = 0; i < s->count; i++) order[i] = i;
  sort_slices(s, order, room, s->count);
  for (size_t i = 0; i < s->count; i++) {
    if (i == 0 || compare_slices(s, order[i - 1], order[i])) sizes[groups] = 0, group[order[i]] = groups++;
    else group[order[i]] = group[order[i - 1]];
    sizes[group[order[i]]]++;
  }
  for (size_t i = s->count; i-- > 0;) first[group[i]] = i;
  if (sorted) return groups;
  size_t *renamed = order, *kept = sizes + s->count; /* the order is not needed any more */
  size_t used = 0;
  for (size_t i = 0; i < s->count; i++)
    if (first[group[i]] == i) renamed[group[i]] = used++;
  for (size_t g = 0; g < groups; g++) kept[renamed[g]] = sizes[g];
  for (size_t g = 0; g < groups; g++) sizes[g] = kept[g];
  for (size_t i = 0; i < s->count; i++) group[i] = renamed[group[i]];
  for (size_t i = s->count; i-- > 0;) first[group[i]] = i;
  return groups;
}

static bool put_list(onnx_node *n, int output, const size_t *list, size_t count) {
  int64_t size = (int64_t)count;
  onnx_known *k = onnx_known_make(n->m, IR_I64, 1, &size);
  for (size_t i = 0; k && i < count; i++)
    if (!(k->elements[i].size = ir_index(n->g, (int64_t)list[i]))) return false;
  return onnx_put_known(n, output, k);
}

static bool put_slices(onnx_node *n, const onnx_known *from, const slices *s, int axis, const size_t *first,
                       size_t groups) {
  int64_t shape[IR_MAX_RANK], all = (int64_t)groups;
  for (int i = 0; axis >= 0 && i < from->rank; i++) shape[i] = i == axis ? all : from->shape[i];
  onnx_known *k = onnx_known_make(n->m, from->dtype, axis < 0 ? 1 : from->rank, axis < 0 ? &all : shape);
  for (size_t i = 0; k && i < k->count; i++) {
    size_t inner = i % s->inner, g = i / s->inner % groups, outer = i / s->inner / groups;
    k->elements[i] = from->elements[(outer * s->count + first[g]) * s->inner + inner];
  }
  return onnx_put_known(n, 0, k);
}

static bool unique(onnx_node *n) {
  const onnx_known *k = onnx_need(n, 0, "the input");
  slices s = {.elements = elements_of(n, k), .outer = 1, .inner = 1};
  int axis = -1;
  if (!s.elements) return false;
  if (onnx_attribute_of(n, "axis") && (axis = onnx_axis(n, "axis", 0, k->rank)) < 0) return false;
  s.real = ir_is_float(k->dtype);
  s.count = axis < 0 ? k->count : (size_t)k->shape[axis];
  for (int i = 0; axis >= 0 && i < k->rank; i++)
    if (i != axis) *(i < axis ? &s.outer : &s.inner) *= (size_t)k->shape[i];
  size_t *room = wire_alloc(&n->m->arena, (5 * s.count + 1) * sizeof *room);
  if (!room) return false;
  size_t *order = room, *first = room + s.count, *group = room + 2 * s.count, *sizes = room + 3 * s.count;
  size_t groups = group_slices(&s, onnx_int(n, "sorted", 1) != 0, order, first, sizes, group);
  return put_slices(n, k, &s, axis, first, groups) && put_list(n, 1, first, groups) &&
         put_list(n, 2, group, s.count) && put_list(n, 3, sizes, groups);
}

/* NonMaxSuppression */

typedef struct box {
  double low[2], high[2];
} box;

static box box_of(const onnx_element *e, bool centred) {
  box b;
  for (int i = 0; i < 2; i++) {
    double p = e[i].real, q = e[i + 2].real;
    if (centred) b.low[i] = p - q / 2, b.high[i] = p + q / 2; /* centre and size */
    else b.low[i] = fmin(p, q), b.high[i] = fmax(p, q);
  }
  return b;
}

static double area(box b) { return (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]); }

static bool overlaps(box a, box b, double threshold) {
  box common;
  for (int i = 0; i < 2; i++) {
    common.low[i] = fmax(a.low[i], b.low[i]), common.high[i] = fmin(a.high[i], b.high[i]);
    if (common.high[i] <= common.low[i]) return false;
  }
  double shared = area(common), both = area(a) + area(b) - shared;
  return both > 0 && shared / both > threshold;
}

/* A known input of one number. */
static bool option(onnx_node *n, int input, const char *what, double *out) {
  if (!onnx_has(n, input)) return true;
  const onnx_known *k = onnx_need(n, input, what);
  int64_t whole;
  if (!k) return false;
  if (k->count != 1) return onnx_refuse(n, "%s has %zu elements; takes one", what, k->count);
  if (ir_is_float(k->dtype)) *out = k->elements[0].real;
  else if (onnx_known_int(n->m, k, 0, &whole)) *out = (double)whole;
  return true;
}

/* Each box is compared with all of its class: at most so many comparisons, about a second. */
enum { COMPARED_MOST = 1 << 28 };

typedef struct suppression {
  const onnx_known *boxes, *scores;
  double most, overlap, least; /* boxes of a class; the greatest share of an overlap; the least score */
  bool has_least, centred;
  int64_t *chosen; /* triples: batch, class, box */
  size_t count;
} suppression;

/* The boxes of a class from the greatest score down, but those that overlap one that was taken. */
static void suppress(suppression *s, size_t batch, size_t class, size_t classes, size_t spots) {
  const onnx_element *scores = s->scores->elements + (batch * classes + class) * spots,
                     *boxes = s->boxes->elements + batch * spots * 4;
  size_t begin = s->count;
  double last = INFINITY;
  size_t previous = 0;
  for (size_t step = 0; step < spots && (double)(s->count - begin) < s->most; step++) {
    size_t best = spots;
    for (size_t i = 0; i < spots; i++) { /* the next one, of equal scores the first */
      double score = scores[i].real;
      bool behind = score < last || (score == last && step && i > previous);
      if ((behind || !step) && (best == spots || score > scores[best].real)) best = i;
    }
    if (best == spots || (s->has_least && !(scores[best].real > s->least))) return;
    last = scores[best].real, previous = best;
    bool free = true;
    for (size_t i = begin; i < s->count && free; i++)
      free = !overlaps(box_of(boxes + 4 * best, s->centred),
                       box_of(boxes + 4 * s->chosen[3 * i + 2], s->centred), s->overlap);
    if (!free) continue;
    int64_t *out = s->chosen + 3 * s->count++;
    out[0] = (int64_t)batch, out[1] = (int64_t) class, out[2] = (int64_t)best;
  }
}

static bool non_max_suppression(onnx_node *n) {
  suppression s = {.boxes = onnx_need(n, 0, "the list of boxes"), .has_least = onnx_has(n, 4)};
  if (!s.boxes || !(s.scores = onnx_need(n, 1, "the list of scores"))) return false;
  if (!option(n, 2, "the number of boxes", &s.most) || !option(n, 3, "the overlap", &s.overlap) ||
      !option(n, 4, "the least score", &s.least))
    return false;
  s.centred = onnx_int(n, "center_point_box", 0) != 0;
  const int64_t *b = s.boxes->shape, *c = s.scores->shape;
  if (s.boxes->rank != 3 || s.scores->rank != 3 || b[2] != 4 || b[0] != c[0] || b[1] != c[2] ||
      !ir_is_float(s.boxes->dtype) || !ir_is_float(s.scores->dtype))
    return onnx_refuse(n, "takes boxes [batch, spots, 4] and scores [batch, classes, spots], of floats");
  size_t spots = (size_t)b[1], classes = (size_t)c[1];
  if (spots && s.scores->count > COMPARED_MOST / spots)
    return onnx_lacks(n, "%zu scores of %zu boxes; takes at most %d as their product", s.scores->count, spots,
                      COMPARED_MOST);
  s.chosen = wire_alloc(&n->m->arena, (3 * s.scores->count + 1) * sizeof *s.chosen);
  if (!s.chosen) return false;
  for (size_t batch = 0; batch < (size_t)b[0]; batch++)
    for (size_t class = 0; class < classes; class ++) suppress(&s, batch, class, classes, spots);
  onnx_known *k = onnx_known_make(n->m, IR_I64, 2, (const int64_t[]){(int64_t)s.count, 3});
  for (size_t i = 0; k && i < k->count; i++)
    if (!(k->elements[i].size = ir_index(n->g, s.chosen[i]))) return false;
  return onnx_put_known(n, 0, k);
}

const onnx_operator onnx_dependent[] = {
    {"Unique", unique, NULL, 0, 1, 1}, {"NonMaxSuppression", non_max_suppression, NULL, 0, 2, 5}, {0}};
