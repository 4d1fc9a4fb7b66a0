/* How many bytes of its parameters a kernel reads: of each parameter the distinct elements that its loads
 * touch, which are fewer than all elements after a shrink, a stride, a gather or a point.
 *
 * An index that is affine in a range takes the values of an arithmetic progression over that range: `count`
 * elements at a distance of `stride`. A progression that continues another one (the levels of a split axis,
 * the window of a convolution over it) is joined with it. The elements that a load touches are then a box:
 * from a first element, all sums of one term of each progression. The box counts once for each iteration of
 * the other ranges on which the index depends (those of a gathered index, for example).
 *
 * Two boxes that differ along one progression, and touch or overlap there, are merged (sub-domains of an
 * axis, of which the last may overlap the one before; the taps of a stencil). Elements that other boxes have
 * in common are counted twice; the count is at most the distance between the least and the greatest index,
 * and at most the size of the parameter. */
#include "frontend/report/explain_kernels.h"
#include "ir/eval/eval.h"
#include "ir/regions.h"
#include "passes/index/index.h"
#include "passes/loops/loops.h"

enum { MAX_PROGRESSIONS = 16, MAX_BOXES = 64 };
#define MOST ((int64_t)1 << 48) /* elements, with room to multiply by strides */

typedef struct progression {
  int64_t stride, count; /* at least 1, at least 2 */
} progression;

typedef struct box {
  ir_ref remainder;                           /* the index without its progressions and constant term */
  int64_t first, other_trip_count;            /* first element; trip count of ranges that are not affine */
  progression progressions[MAX_PROGRESSIONS]; /* by ascending stride */
  uint32_t count;
} box;

/* The elements of one parameter that loads touch. */
typedef struct touched {
  ir_ref sum;     /* elements of loads without a box; 0: unknown */
  int64_t lo, hi; /* of all indices */
  uint32_t count;
  box boxes[MAX_BOXES];
} touched;

typedef struct reader {
  const fe_explained *e;
  const ir_regions *r;
} reader;

static int64_t times_at_most(int64_t a, int64_t b) { return a > MOST / b ? MOST : a * b; }

static int64_t box_elements(const box *b) {
  int64_t product = b->other_trip_count;
  for (uint32_t i = 0; i < b->count; i++) product = times_at_most(product, b->progressions[i].count);
  return product;
}

/* Insert a progression by its stride. */
static void add_progression(box *b, progression p) {
  uint32_t at = b->count++;
  for (; at > 0 && p.stride < b->progressions[at - 1].stride; at--)
    b->progressions[at] = b->progressions[at - 1];
  b->progressions[at] = p;
}

/* Join progressions p and q where p continues q: its stride is a multiple of q's, and at most q's extent. */
static void join_progressions(box *b) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < b->count; i++) {
    progression p = b->progressions[i];
    uint32_t into = 0;
    for (; into < kept; into++) {
      progression *q = &b->progressions[into];
      int64_t steps = p.stride / q->stride;
      if (p.stride % q->stride || steps > q->count || p.count > MOST / steps) continue;
      q->count += steps * (p.count - 1);
      break;
    }
    if (into == kept) b->progressions[kept++] = p;
  }
  b->count = kept;
}

/* Move the constant term of the index from b->remainder to b->first. */
static void split_first(ir_graph *g, box *b) {
  const ir_node *n = ir_get(g, b->remainder);
  ir_ref last = n->op == IR_OP_ADD ? n->src[n->nsrc - 1] : b->remainder;
  if (ir_is_const(g, last, &b->first)) b->remainder = pass_sub(g, b->remainder, last);
}

/* The box of the elements at this index. False: an extent is no number, or there are too many
 * progressions. */
static bool find_box(const reader *x, ir_ref index, box *b) {
  ir_graph *g = x->e->g;
  *b = (box){.remainder = index, .other_trip_count = 1};
  for (size_t i = 0; i < x->r->count; i++) {
    ir_ref range = x->r->order[i];
    int64_t stride = 0, extent;
    if (ir_op_of(g, range) != IR_OP_RANGE || !affine_depends(g, index, range)) continue;
    if (!ir_is_const(g, affine_most_extent(g, range), &extent) || b->count == MAX_PROGRESSIONS) return false;
    bool affine = affine_stride(g, index, range, &stride) && stride > -MOST && stride < MOST;
    if (affine) b->remainder = pass_sub(g, b->remainder, pass_mul_int(g, range, stride));
    if (extent < 2 || (affine && !stride)) continue;
    if (!affine) b->other_trip_count = times_at_most(b->other_trip_count, extent);
    else if (stride > 0) add_progression(b, (progression){stride, extent});
    else {
      add_progression(b, (progression){-stride, extent});
      b->first = extent < MOST / -stride ? b->first + stride * (extent - 1) : 0;
    }
  }
  int64_t behind = b->first;
  b->first = 0;
  split_first(g, b);
  b->first += behind;
  join_progressions(b);
  return true;
}

/* The number-th of the strides of both boxes, and the count of its progression in each box, 1 where a box has
 * none. False: there are fewer strides. */
static bool pair_along(const box *a, const box *b, uint32_t number, int64_t *stride, int64_t counts[2]) {
  uint32_t i = 0, j = 0;
  for (;; number--) {
    int64_t of_a = i < a->count ? a->progressions[i].stride : INT64_MAX,
            of_b = j < b->count ? b->progressions[j].stride : INT64_MAX;
    if (of_a == INT64_MAX && of_b == INT64_MAX) return false;
    *stride = of_a < of_b ? of_a : of_b;
    counts[0] = of_a == *stride ? a->progressions[i++].count : 1;
    counts[1] = of_b == *stride ? b->progressions[j++].count : 1;
    if (!number) return true;
  }
}

/* Merge b into a: along the one progression in which they differ, or else along the one of largest stride in
 * which they touch. False where the union is not known to be a box. */
static bool merge_boxes(box *a, const box *b) {
  int64_t apart = b->first - a->first, stride, counts[2], from = 0, to = 0, along = 0;
  bool differ = false;
  if (a->remainder != b->remainder || a->other_trip_count != b->other_trip_count) return false;
  for (uint32_t i = 0; pair_along(a, b, i, &stride, counts); i++) {
    bool here = counts[0] != counts[1];
    if (here && differ) return false;
    if (!here && (differ || apart % stride)) continue;
    int64_t at = apart / stride;
    bool meet = apart % stride == 0 && at <= counts[0] && -at <= counts[1];
    differ |= here;
    if (here && !meet) return false;
    if (!meet) continue;
    along = stride, from = at < 0 ? at : 0, to = at + counts[1] > counts[0] ? at + counts[1] : counts[0];
  }
  if (!along) return apart == 0 && !differ;
  uint32_t i = 0;
  while (i < a->count && a->progressions[i].stride != along) i++;
  if (i == a->count && a->count == MAX_PROGRESSIONS) return false;
  a->first += from * along;
  if (i < a->count) a->progressions[i].count = to - from;
  else if (to - from > 1) add_progression(a, (progression){along, to - from});
  join_progressions(a);
  return true;
}

static void merge_all_boxes(touched *t) {
  for (bool found = true; found;) {
    found = false;
    for (uint32_t i = 0; i < t->count; i++)
      for (uint32_t k = i + 1; k < t->count; k++)
        if (merge_boxes(&t->boxes[i], &t->boxes[k])) {
          t->boxes[k--] = t->boxes[--t->count];
          found = true;
        }
  }
}

/* The product of the extents of the ranges that the index depends on; 0 where an extent depends on a
 * range. */
static ir_ref trip_count_of(const reader *x, ir_ref index) {
  ir_graph *g = x->e->g;
  ir_ref product = ir_index(g, 1), other;
  for (size_t i = 0; i < x->r->count; i++) {
    ir_ref range = x->r->order[i];
    if (ir_op_of(g, range) != IR_OP_RANGE || !affine_depends(g, index, range)) continue;
    if (affine_find_range(g, ir_src(g, range, 0), IR_OP_RANGE, &other, 1)) return 0;
    product = pass_mul(g, product, ir_src(g, range, 0));
  }
  return product;
}

static void touch_load(const reader *x, ir_ref load, touched *t) {
  ir_graph *g = x->e->g;
  ir_ref index = ir_src(g, load, 1);
  ir_bounds b = ir_bounds_of(g, index);
  if (t->count < MAX_BOXES && find_box(x, index, &t->boxes[t->count])) {
    t->count++;
  } else {
    ir_ref count = trip_count_of(x, index);
    t->sum = t->sum && count ? pass_add(g, t->sum, count) : 0;
  }
  if (b.lo < t->lo) t->lo = b.lo;
  if (b.hi > t->hi) t->hi = b.hi;
}

/* Is sum >= all for a few small and large values of the variables? Then `all` is printed, not their
 * minimum. */
static bool reads_all_sampled(ir_graph *g, ir_ref sum, ir_ref all) {
  enum { MAX_VARS = 16 };
  static const int64_t steps[] = {0, 1, 7, 1000, 4096};
  ir_ref vars[MAX_VARS];
  ir_var_value values[MAX_VARS];
  uint32_t count = affine_find_range(g, pass_min(g, sum, all), IR_OP_VAR, vars, MAX_VARS);
  if (count == MAX_VARS) return false;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    int64_t a = 0, b = 0;
    ir_error ignored = {0};
    for (uint32_t v = 0; v < count; v++) {
      const ir_node *n = ir_get(g, vars[v]); /* sources: least, most, divisor */
      int64_t lo = 1, hi = 1, divisor = 1;
      ir_is_const(g, n->src[0], &lo), ir_is_const(g, n->src[1], &hi), ir_is_const(g, n->src[2], &divisor);
      int64_t least = (lo + divisor - 1) / divisor, room = hi / divisor - least;
      values[v] = (ir_var_value){vars[v], (least + (steps[i] < room ? steps[i] : room)) * divisor};
    }
    if (ir_eval_index(g, sum, values, count, NULL, 0, &a, &ignored) != IR_OK ||
        ir_eval_index(g, all, values, count, NULL, 0, &b, &ignored) != IR_OK || a < b)
      return false;
  }
  return true;
}

/* How many elements of parameter `number` loads touch. */
static ir_ref elements_read(const reader *x, uint32_t number, ir_ref elements, touched *t) {
  ir_graph *g = x->e->g;
  t->sum = ir_index(g, 0), t->lo = INT64_MAX, t->hi = -1, t->count = 0;
  for (size_t i = 0; i < x->r->count; i++) {
    ir_ref load = x->r->order[i];
    if (ir_op_of(g, load) != IR_OP_LOAD) continue;
    const ir_node *from = ir_get(g, ir_src(g, load, 0));
    if (from->op == IR_OP_PARAM && ir_arg_int(from) == number) touch_load(x, load, t);
  }
  if (!t->sum) return elements;
  merge_all_boxes(t);
  ir_ref sum = t->sum;
  for (uint32_t i = 0; i < t->count; i++) sum = pass_add_int(g, sum, box_elements(&t->boxes[i]));
  if (t->lo < 0) t->lo = 0;
  if (t->lo <= t->hi && t->hi < MOST) sum = pass_min(g, sum, ir_index(g, t->hi - t->lo + 1));
  return reads_all_sampled(g, sum, elements) ? elements : pass_min(g, sum, elements);
}

/* Does the kernel load elements of what it writes, as writes in place do? */
static bool is_loaded(const reader *x, uint32_t number) {
  ir_graph *g = x->e->g;
  for (size_t i = 0; i < x->r->count; i++) {
    ir_ref load = x->r->order[i];
    if (ir_op_of(g, load) != IR_OP_LOAD) continue;
    const ir_node *from = ir_get(g, ir_src(g, load, 0));
    if (from->op == IR_OP_PARAM && ir_arg_int(from) == number) return true;
  }
  return false;
}

ir_ref fe_bytes_read(const fe_explained *e, size_t number) {
  const ir_step *step = &e->plan->steps[number];
  ir_regions regions;
  ir_ref total = ir_index(e->g, 0);
  touched *t = ir_alloc(e->g->mem, sizeof *t);
  if (!t || ir_regions_find(e->g, step->kernel, &regions) != IR_OK) {
    ir_free(e->g->mem, t, t ? sizeof *t : 0);
    e->out->failed = true;
    return total;
  }
  const reader x = {e, &regions};
  for (uint32_t i = 0; i < step->slot_count; i++) {
    if (i < ir_written_slots(step) && !is_loaded(&x, i)) continue;
    const ir_slot *slot = &e->plan->slots[step->slots[i]];
    int64_t bytes = ir_dtypes[ir_dtype_of(e->g, slot->value)].bytes;
    total = pass_add(e->g, total, pass_mul_int(e->g, elements_read(&x, i, slot->elements, t), bytes));
  }
  ir_regions_free(&regions);
  ir_free(e->g->mem, t, sizeof *t);
  return total;
}
