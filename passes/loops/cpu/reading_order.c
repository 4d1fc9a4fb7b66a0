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

void loop_read_in_order(loop_nest *n, const loop_axis *vector) {
  enum {
    STREAMS = 32,   /* that prefetchers follow: 16 of 4096 x 64 f32 take 1.25 times as long, 32 0.7 times */
    MIN_APART = 256 /* bytes from a piece to the next: nearer ones are in neighbouring lines */
  };
  int64_t stride[MAX_NEST], size;
  ir_ref load = may_reorder(n, vector) ? only_load(n) : 0;
  uint32_t lanes = (uint32_t)(vector - n->axes), last = n->axis_count - 1;
  if (!load || n->axis_count < 3 || lanes != last || !ir_is_const(n->g, vector->extent, &size)) return;
  int bytes = ir_dtypes[ir_dtype_of(n->g, load)].bytes;
  for (uint32_t a = 0; a <= last; a++) {
    if (!affine_stride(n->g, ir_src(n->g, load, 1), n->axes[a].range, &stride[a])) return;
    if (stride[a] < 0) stride[a] = -stride[a];
  }
  if (stride[last] != 1 || size * bytes > IR_PAGE_BYTES / 2 || stride[last - 1] < MIN_APART / bytes ||
      ir_bounds_of(n->g, n->axes[last - 1].extent).hi < STREAMS)
    return;
  for (uint32_t i = 0; i < last; i++) {
    uint32_t a = n->order[i], at = i;
    for (; at > 0 && stride[n->order[at - 1]] < stride[a]; at--) n->order[at] = n->order[at - 1];
    n->order[at] = a;
  }
}
