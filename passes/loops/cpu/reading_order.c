/* The order of the loops of a copy whose rows are short pieces of a large parameter. In the order of what is
 * stored, pieces of many rows follow one another: prefetchers, rows of memory and, where rows are pages,
 * translations of addresses serve a few lines each. In the order of what is read the stores lie apart
 * instead, which whole lines bear better: copying 4096 x 4096 f32 into panels of 32 columns takes 0.45 of the
 * time so, 777 x 7777 0.4, 16 x 512 x 12 x 64 with the middle axes exchanged 0.42 (Zen 4, one thread). */
#include "cpu.h"

#include "passes/index/index.h"

/* The only load in what the store computes, if it is one of a large parameter; 0: it is not. */
static ir_ref only_load(loop_nest *n) {
  enum { LARGE = 4 }; /* L2 caches: of 1 MiB, 1024 x 16 x 64 f32 take 1.2 times as long, 2048 x 16 x 64 0.8 */
  ir_ref loads[2];
  if (affine_find_range(n->g, n->store, IR_OP_LOAD, loads, 2) != 1) return 0;
  const ir_node *l = ir_get(n->g, loads[0]);
  bool large = ir_op_of(n->g, l->src[0]) == IR_OP_PARAM && l->arg == 0 &&
               ir_bounds_of(n->g, ir_src(n->g, l->src[0], 0)).lo >
                   LARGE * n->target->l2_bytes / ir_dtypes[l->dtype].bytes;
  return large ? loads[0] : 0;
}

/* May the loops over all axes have any order, with none unrolled but that of the lanes? */
static bool may_reorder(loop_nest *n, const loop_axis *vector) {
  if (ir_op_of(n->g, n->store) != IR_OP_STORE || n->shares || n->has_locals) return false;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (loop_bounds_another(n, a) || loop_is_ordered(n, a) || n->axes[a].block ||
        (&n->axes[a] != vector && n->axes[a].unroll > 1))
      return false;
  return true;
}

enum { STREAMS = 32 };    /* of prefetchers: 16 of 4096 x 64 f32 take 1.25 times as long, 32 0.7 times */
enum { MIN_APART = 256 }; /* bytes from a piece to the next: nearer ones are in neighbouring lines */

/* By how many elements each axis steps in what is loaded, without sign; false: not by the same everywhere. */
static bool strides_of(loop_nest *n, ir_ref load, int64_t *stride) {
  for (uint32_t a = 0; a < n->axis_count; a++) {
    if (!affine_stride(n->g, ir_src(n->g, load, 1), n->axes[a].range, &stride[a])) return false;
    if (stride[a] < 0) stride[a] = -stride[a];
  }
  return true;
}

/* Orders the first `count` loops by falling strides. */
static void order_by(loop_nest *n, const int64_t *stride, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t a = n->order[i], at = i;
    for (; at > 0 && stride[n->order[at - 1]] < stride[a]; at--) n->order[at] = n->order[at - 1];
    n->order[at] = a;
  }
}

void loop_read_in_order(loop_nest *n, const loop_axis *vector) {
  int64_t stride[MAX_NEST], size;
  ir_ref load = may_reorder(n, vector) ? only_load(n) : 0;
  uint32_t lanes = (uint32_t)(vector - n->axes), last = n->axis_count - 1;
  if (!load || n->axis_count < 3 || lanes != last || !ir_is_const(n->g, vector->extent, &size)) return;
  int bytes = ir_dtypes[ir_dtype_of(n->g, load)].bytes;
  if (strides_of(n, load, stride) && stride[last] == 1 && size * bytes <= IR_PAGE_BYTES / 2 &&
      stride[last - 1] >= MIN_APART / bytes && ir_bounds_of(n->g, n->axes[last - 1].extent).hi >= STREAMS)
    order_by(n, stride, last);
}

/* Sums of f32[1808,88,74] over the last axis, stored as [88,1808], take 0.34 of the time. The results of
 * pieces that follow one another lie in lines apart, in each of which more are stored before long. */
void loop_reduce_in_order(loop_nest *n, ir_ref reduce) {
  enum { CACHE = 2 }; /* as few results as half an L2 cache has lines: the other half is for what is read */
  int64_t stride[MAX_NEST], along, size, results = 1;
  const ir_node *r = ir_get(n->g, reduce);
  ir_ref load = n->axis_count > 1 && may_reorder(n, NULL) ? only_load(n) : 0, range = r->src[r->nsrc - 1];
  if (!load || !ir_is_const(n->g, ir_src(n->g, range, 0), &size)) return;
  int bytes = ir_dtypes[ir_dtype_of(n->g, load)].bytes;
  bool piece = size * bytes <= IR_PAGE_BYTES / 2 &&
               affine_stride(n->g, ir_src(n->g, load, 1), range, &along) && along == 1;
  if (!piece || !strides_of(n, load, stride) || stride[n->axis_count - 1] < MIN_APART / bytes) return;
  for (uint32_t a = 0; a < n->axis_count; a++) {
    bool inner = stride[a] < stride[n->axis_count - 1];
    results = inner ? loop_times(results, ir_bounds_of(n->g, n->axes[a].extent).hi) : results;
  }
  if (results <= n->target->l2_bytes / CACHE / IR_CACHE_LINE_BYTES) order_by(n, stride, n->axis_count);
}
