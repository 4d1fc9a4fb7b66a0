/* Arrays with strides, as views of the elements that they lie among. */
#include "frontend/api/api.h"
#include "ir/arith.h"
#include "passes/ops/ops.h"

/* An axis that strides over elements: of size 2 or more, and a stride that is not 0. */
typedef struct stepping {
  int axis;
  int64_t size, step; /* step: the stride without its sign */
} stepping;

typedef struct layout {
  stepping axes[IR_MAX_RANK]; /* the largest step first */
  int count;
  int64_t extent, first;
  bool overlaps, repeats;
} layout;

static void insert(layout *l, stepping s) {
  int at = l->count++;
  for (; at > 0 && l->axes[at - 1].step < s.step; at--) l->axes[at] = l->axes[at - 1];
  l->axes[at] = s;
}

/* Is each step longer than all that the smaller ones reach? */
static bool overlap(const layout *l) {
  int64_t reach = 1;
  for (int i = l->count; i-- > 0; reach += (l->axes[i].size - 1) * l->axes[i].step)
    if (l->axes[i].step < reach) return true;
  return false;
}

static bool lay_out(int rank, const int64_t *shape, const int64_t *strides, layout *l) {
  bool empty = false;
  *l = (layout){.extent = 1};
  if (rank < 0 || rank > IR_MAX_RANK || (rank && (!shape || !strides))) return false;
  for (int i = 0; i < rank; i++) {
    int64_t step = strides[i] < 0 ? -strides[i] : strides[i], reach;
    if (shape[i] < 0 || strides[i] == INT64_MIN) return false;
    empty |= shape[i] == 0;
    l->repeats |= shape[i] > 1 && step == 0;
    if (shape[i] < 2 || step == 0) continue;
    if (!ir_mul_ok(shape[i] - 1, step, &reach) || !ir_add_ok(l->extent, reach, &l->extent)) return false;
    if (strides[i] < 0) l->first += reach;
    insert(l, (stepping){i, shape[i], step});
  }
  if (empty) l->extent = l->first = 0;
  l->overlaps = overlap(l);
  return true;
}

int64_t vf_strided_extent(int rank, const int64_t *shape, const int64_t *strides, int64_t *first) {
  layout l;
  bool good = lay_out(rank, shape, strides, &l);
  if (first) *first = good ? l.first : 0;
  return good ? l.extent : -1;
}

/* x, of the sizes of l->axes, and one element at each index: the last axis of what is left of x is as long as
 * a step; cut or filled to a whole number of the next smaller steps, it splits into these. */
static vf_value split_steps(vf_value x, const layout *l) {
  int64_t shape[IR_MAX_RANK + 1] = {0}, left = l->extent, bounds[2 * IR_MAX_RANK + 2] = {0};
  for (int k = 0; k < l->count && vf_ok(x); k++) {
    int64_t whole = l->axes[k].size * l->axes[k].step;
    for (int i = 0; i < k; i++) bounds[2 * i] = 0, bounds[2 * i + 1] = shape[i];
    bounds[2 * k] = 0, bounds[2 * k + 1] = whole;
    if (whole < left) x = vf_shrink(x, 2 * (k + 1), bounds);
    for (int i = 0; i < k; i++) bounds[2 * i + 1] = 0;
    bounds[2 * k + 1] = whole - left;
    if (whole > left) x = vf_pad(x, 2 * (k + 1), bounds);
    shape[k] = l->axes[k].size;
    shape[k + 1] = left = l->axes[k].step;
    x = vf_reshape(x, k + 2, shape);
  }
  for (int i = 0; i < l->count; i++) bounds[2 * i] = 0, bounds[2 * i + 1] = shape[i];
  bounds[2 * l->count] = 0, bounds[2 * l->count + 1] = 1;
  return vf_reshape(vf_shrink(x, 2 * (l->count + 1), bounds), l->count, shape);
}

/* The same by positions, where steps overlap. */
static vf_value gather_steps(vf_value x, const layout *l) {
  int64_t shape[IR_MAX_RANK];
  for (int i = 0; i < l->count; i++) shape[i] = l->axes[i].size;
  vf_value at = vf_integer(x.graph, 0);
  for (int i = 0; i < l->count; i++)
    at = vf_add(at,
                vf_mul(vf_iota(x.graph, VF_I64, l->count, shape, i), vf_integer(x.graph, l->axes[i].step)));
  return vf_gather(x, at, 0, VF_GATHER_CLIP);
}

/* From the axes of the layout to those of the array. */
static vf_value arrange(vf_value x, const layout *l, int rank, const int64_t *shape, const int64_t *strides) {
  int64_t order[IR_MAX_RANK] = {0}, sizes[IR_MAX_RANK], backwards[IR_MAX_RANK];
  int count = 0, flips = 0;
  for (int i = 0; i < rank; i++) {
    int at = 0;
    while (at < l->count && l->axes[at].axis != i) at++;
    sizes[i] = at < l->count ? shape[i] : 1;
    if (at == l->count) continue;
    order[count++] = at;
    if (strides[i] < 0) backwards[flips++] = i;
  }
  x = vf_reshape(vf_permute(x, count, order), rank, sizes);
  if (flips) x = vf_flip(x, flips, backwards);
  return vf_expand(x, rank, shape);
}

static vf_value strided(vf_value x, const layout *l, int rank, const int64_t *shape, const int64_t *strides) {
  if (l->extent == 0) return vf_reshape(x, rank, shape);
  return arrange(l->overlaps ? gather_steps(x, l) : split_steps(x, l), l, rank, shape, strides);
}

/* Notes why the operands are refused. Always the error value. */
static vf_value refuse(fe_call *c, const char *format, long long number) {
  fe_refuse(c, format, number);
  return fe_end(c, 0);
}

#define BAD_LAYOUT                                                                                           \
  "the rank is none of 0..%lld, a size is negative, or sizes and strides reach beyond 64 bits"

vf_value vf_strided(vf_value x, int rank, const int64_t *shape, const int64_t *strides) {
  fe_call c;
  layout l;
  bool good = lay_out(rank, shape, strides, &l),
       fits = vf_value_rank(x) == 1 && vf_value_size(x, 0) == l.extent;
  if (good && fits) return strided(x, &l, rank, shape, strides);
  if (!fe_begin(&c, "strided", &x, 1)) return fe_end(&c, 0);
  if (!good) return refuse(&c, BAD_LAYOUT, IR_MAX_RANK);
  return refuse(&c, "sizes and strides reach over %lld elements; takes an array of one axis with as many",
                l.extent);
}

vf_value vf_input_strided(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape,
                          const int64_t *strides) {
  fe_call c;
  layout l;
  if (lay_out(rank, shape, strides, &l))
    return strided(vf_input(g, name, dtype, 1, &l.extent), &l, rank, shape, strides);
  return fe_begin_in(&c, "input", g) ? refuse(&c, BAD_LAYOUT, IR_MAX_RANK) : fe_end(&c, 0);
}

vf_ref vf_ref_input_strided(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *strides) {
  fe_call c;
  layout l;
  bool good = lay_out(rank, shape, strides, &l), apart = l.extent == 0 || !(l.overlaps || l.repeats);
  if (good && apart) {
    vf_ref made = vf_ref_input(g, name, dtype, 1, &l.extent);
    return vf_ok(made.target) ? vf_ref_view(made, strided(made.target, &l, rank, shape, strides)) : made;
  }
  if (!fe_begin_in(&c, "ref_input", g)) fe_end(&c, 0);
  else if (!good) refuse(&c, BAD_LAYOUT, IR_MAX_RANK);
  else
    refuse(&c, "axes of the %lld elements overlap or repeat; give each element memory of its own", l.extent);
  return (vf_ref){{g, 0, 0}, -1, 0};
}
