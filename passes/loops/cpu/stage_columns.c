/* Which columns of a product are staged (passes/loops/staged_columns.c), and when. */
#include "cpu.h"

#include "passes/index/index.h"

/* Time by that of a known number of columns, which panels hold, with and without copies (f32, Zen 4, one
 * thread), rows x terms x columns of at most 4096: 197 x 768 x 500 1.04 and 1.15, 32 x 4096 x 777 1.0 and
 * 1.5, 32 x 4096 x 2048 1.16 and 2.8, 100 x 8000 x 300 0.6 and 0.8. */
enum {
  MANY = 128, /* rows, each of which reads a copy again: of 64, 64 x 64 x 384 takes 1.07 times as long so */
  FEW = 32,   /* rows, of columns as follows: the fewest measured */
  FAR_TERMS = 128,     /* pages whose addresses are translated without delay */
  FAR_BYTES = 1 << 10, /* from a row of columns to the next: of 256 32 x 4096 x 64 takes 1.2 times so */
  MOST_BYTES = 4 << 20 /* of a copy: of 2 MB 32 x 16000 x 300 takes 1.3 times, without 1.9 */
};

/* Terms of the sum, at most. */
static int64_t terms_of(ir_graph *g, ir_ref reduce) {
  const ir_node *r = ir_get(g, reduce);
  int64_t terms = 1;
  for (uint32_t i = 1; i < r->nsrc; i++)
    terms = pass_times(terms, ir_bounds_of(g, ir_src(g, r->src[i], 0)).hi);
  return terms;
}

/* The only load along the columns; 0: there are several. */
static ir_ref load_of_columns(const loop_nest *n, const loop_axis *vector, const ir_ref *loads,
                              uint32_t count) {
  ir_ref found = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!affine_depends(n->g, loads[i], vector->range)) continue;
    if (found) return 0;
    found = loads[i];
  }
  return found;
}

/* Does the load read each element of a parameter once at most, for all that moves it? Those of windows are
 * read again. */
static bool reads_once(loop_nest *n, ir_ref reduce, ir_ref load) {
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce), *l = ir_get(g, load);
  int64_t read = 1, all = ir_bounds_of(g, ir_src(g, l->src[0], 0)).hi;
  for (uint32_t a = 0; a < n->axis_count; a++)
    if (affine_depends(g, load, n->axes[a].range))
      read = pass_times(read, ir_bounds_of(g, n->axes[a].extent).hi);
  for (uint32_t i = 1; i < r->nsrc; i++) {
    if (!affine_depends(g, load, r->src[i])) return false;
    read = pass_times(read, ir_bounds_of(g, ir_src(g, r->src[i], 0)).hi);
  }
  return read <= all;
}

static ir_ref at_least(ir_graph *g, ir_ref size, int64_t least) {
  return pass_compare(g, IR_OP_GE, size, ir_index(g, least));
}

void loop_stage_columns(loop_nest *n, const loop_axis *vector, const loop_axis *row, ir_ref reduce,
                        const ir_ref *loads, uint32_t count) {
  ir_graph *g = n->g;
  const ir_node *r = ir_get(g, reduce);
  ir_ref load = load_of_columns(n, vector, loads, count), sums[2];
  int64_t stride, terms = terms_of(g, reduce), width = (int64_t)vector->unroll * vector->lanes;
  if (!load || terms < 1 || ir_is_const(g, vector->extent, NULL) ||
      affine_find_range(g, n->store, IR_OP_REDUCE, sums, 2) != 1 || ir_bounds_of(g, row->extent).hi < FEW)
    return;
  const ir_node *l = ir_get(g, load);
  int64_t bytes = ir_dtypes[l->dtype].bytes;
  if (l->arg != 0 || ir_op_of(g, l->src[0]) != IR_OP_PARAM || !ir_is_true(g, l->src[2]) ||
      affine_depends(g, load, row->range) || !affine_stride(g, l->src[1], vector->range, &stride) ||
      stride != 1 || pass_times(terms, width * bytes) > MOST_BYTES || !reads_once(n, reduce, load))
    return;
  ir_ref apart = loop_distance_along(g, l->src[1], r->src[r->nsrc - 1]),
         many = at_least(g, row->extent, MANY);
  if (!apart) return;
  ir_ref far = pass_and(g, at_least(g, row->extent, FEW), at_least(g, apart, FAR_BYTES / bytes));
  ir_ref when = terms < FAR_TERMS ? many : pass_or(g, many, far);
  if (!when || ir_is_false(g, when)) return;
  n->staged = load, n->staged_axis = (uint32_t)(vector - n->axes), n->staged_when = when;
}
