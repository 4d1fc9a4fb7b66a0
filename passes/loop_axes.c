/* Axes of a kernel: merging those that every access walks as one, and choosing which gets the vector lanes.
 */
#include "loops.h"

#include "index.h"

#include <string.h>

enum { MAX_FOUND = 512, MIN_LANES = 2 };

uint32_t loop_find(ir_graph *g, ir_ref root, ir_op op, ir_ref *out, uint32_t room) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t found = 0;
  if (ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count && found < room; i++)
      if (ir_op_of(g, live[i]) == op) out[found++] = live[i];
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

static bool depends_on(ir_graph *g, ir_ref root, ir_ref range) {
  if (root == range) return true;
  ir_ref found[MAX_FOUND];
  uint32_t count = loop_find(g, root, IR_OP_RANGE, found, MAX_FOUND);
  for (uint32_t i = 0; i < count; i++)
    if (found[i] == range) return true;
  return false;
}

bool loop_stride(ir_graph *g, ir_ref index, ir_ref range, int64_t *stride) {
  const ir_node *n = ir_get(g, index);
  const ir_ref *terms = n->op == IR_OP_ADD ? n->src : &index;
  uint32_t count = n->op == IR_OP_ADD ? n->nsrc : 1;
  *stride = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *t = ir_get(g, terms[i]);
    int64_t factor;
    if (terms[i] == range) *stride += 1;
    else if (t->op == IR_OP_MUL && t->nsrc == 2 && t->src[0] == range && ir_is_const(g, t->src[1], &factor))
      *stride += factor;
    else if (depends_on(g, terms[i], range)) return false;
  }
  return true;
}

ir_ref loop_fresh_range(loop_nest *n, ir_ref extent) {
  return ir_make(n->g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(n->next_range++, 0), &extent, 1);
}

bool loop_find_axes(loop_nest *n) {
  ir_ref found[MAX_FOUND], reduces[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_RANGE, found, MAX_FOUND);
  uint32_t reduce_count = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, MAX_FOUND);
  if (count == MAX_FOUND || reduce_count == MAX_FOUND) {
    ir_fail(n->g->error, IR_ERR_UNSUPPORTED, "a kernel has %d or more axes and reductions", MAX_FOUND);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool reduced = false;
    for (uint32_t k = 0; k < reduce_count; k++) {
      const ir_node *r = ir_get(n->g, reduces[k]);
      for (uint32_t s = 1; s < r->nsrc; s++) reduced |= r->src[s] == found[i];
    }
    int64_t number = ir_arg_int(ir_get(n->g, found[i]));
    if (number >= n->next_range) n->next_range = number + 1;
    if (reduced || n->axis_count == IR_MAX_RANK) continue;
    uint32_t at = n->axis_count++;
    for (; at > 0 && ir_arg_int(ir_get(n->g, n->axes[at - 1].range)) > number; at--)
      n->axes[at] = n->axes[at - 1];
    n->axes[at] = (loop_axis){found[i], ir_src(n->g, found[i], 0), 1, 1};
  }
  return true;
}

/* merging */

/* Divisions and remainders, as far as they can be counted. */
static uint32_t divisions(ir_graph *g, ir_ref root) {
  ir_ref found[MAX_FOUND];
  return loop_find(g, root, IR_OP_FLOORDIV, found, MAX_FOUND) +
         loop_find(g, root, IR_OP_MOD, found, MAX_FOUND);
}

static bool more_divisions(ir_graph *g, ir_ref after, ir_ref before) {
  uint32_t count = divisions(g, after);
  return count >= MAX_FOUND || count > divisions(g, before);
}

/* outer and inner as one range over both; *merged is that range. Returns what root becomes. */
static ir_ref merged_root(ir_graph *g, ir_ref root, ir_ref outer, ir_ref inner, ir_ref *merged) {
  ir_ref size = ir_src(g, inner, 0), extent = pass_mul(g, ir_src(g, outer, 0), size);
  if (ir_bounds_of(g, size).lo < 1) return 0;
  *merged = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_get(g, outer)->arg, &extent, 1);
  return pass_substitute(g, root, (ir_ref[]){outer, inner},
                         (ir_ref[]){pass_div(g, *merged, size), pass_mod(g, *merged, size)}, 2);
}

static void merge_reduced(loop_nest *n) {
  ir_graph *g = n->g;
  ir_ref reduces[MAX_FOUND];
  uint32_t count = loop_find(g, n->store, IR_OP_REDUCE, reduces, MAX_FOUND);
  for (uint32_t k = 0; k < count; k++) {
    ir_node r = *ir_get(g, reduces[k]);
    ir_ref src[IR_MAX_RANK + 2];
    memcpy(src, r.src, r.nsrc * sizeof *src);
    bool positional = ir_arg_int(&r) == IR_OP_ARGMAX || ir_arg_int(&r) == IR_OP_ARGMIN;
    for (uint32_t i = positional ? r.nsrc : 1; i + 1 < r.nsrc;) {
      ir_ref merged, body = merged_root(g, src[0], src[i], src[i + 1], &merged);
      if (!body || more_divisions(g, body, src[0])) {
        i++;
        continue;
      }
      src[0] = body, src[i] = merged;
      memmove(src + i + 1, src + i + 2, (--r.nsrc - i - 1) * sizeof *src);
    }
    ir_ref made = ir_make(g, IR_OP_REDUCE, (ir_dtype)r.dtype, r.arg, src, r.nsrc);
    ir_ref root = pass_substitute(g, n->store, &reduces[k], &made, 1);
    if (root) n->store = root;
  }
}

void loop_merge_axes(loop_nest *n) {
  for (uint32_t i = 0; i + 1 < n->axis_count;) {
    ir_ref merged, root = merged_root(n->g, n->store, n->axes[i].range, n->axes[i + 1].range, &merged);
    if (!root || more_divisions(n->g, root, n->store)) {
      i++;
      continue;
    }
    n->store = root;
    n->axes[i] = (loop_axis){merged, ir_src(n->g, merged, 0), 1, 1};
    memmove(n->axes + i + 1, n->axes + i + 2, (--n->axis_count - i - 1) * sizeof *n->axes);
  }
  merge_reduced(n);
}

/* lanes */

/* How well lanes along range suit the loads below root: contiguous good, uniform fair, gathered bad. */
static int lane_score(loop_nest *n, ir_ref root, ir_ref range) {
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, root, IR_OP_LOAD, loads, MAX_FOUND);
  int score = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t stride;
    if (!loop_stride(n->g, ir_src(n->g, loads[i], 1), range, &stride)) score -= 4;
    else score += stride == 0 ? 1 : stride == 1 || stride == -1 ? 4 : -4;
  }
  return score;
}

static int widest_bytes(loop_nest *n) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  int widest = 1;
  if (ir_reachable(n->g, &n->store, 1, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++) {
      int bytes = ir_dtypes[ir_dtype_of(n->g, live[i])].bytes;
      widest = bytes > widest ? bytes : widest;
    }
  ir_free(n->g->mem, live, cap * sizeof *live);
  return widest;
}

/* The tile of a contraction: `unroll` vectors along the lanes and as many rows as accumulators fit in
 * registers. */
static void choose_tile(loop_nest *n, loop_axis *vector, ir_ref body) {
  int columns = n->target->registers >= 32 ? 4 : 2, rows = 6;
  while (columns > 1 && (int64_t)vector->lanes * columns > ir_bounds_of(n->g, vector->extent).hi)
    columns /= 2;
  vector->unroll = columns;
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, body, IR_OP_LOAD, loads, MAX_FOUND);
  for (uint32_t i = 0; i < count; i++) { /* a load that the lanes share is worth reusing over rows */
    int64_t stride, size;
    if (!loop_stride(n->g, ir_src(n->g, loads[i], 1), vector->range, &stride) || stride != 0) continue;
    for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
      if (a == vector || !depends_on(n->g, loads[i], a->range)) continue;
      bool known = ir_is_const(n->g, a->extent, &size);
      while (rows > 4 && known && size % rows != 0) rows--;
      a->unroll = ir_bounds_of(n->g, a->extent).hi >= rows ? rows : 1;
      return;
    }
  }
}

/* Lanes that gather along one axis what lies side by side along another (a transpose): copies along that
 * other axis use the cache lines again that the first one fetched. */
static void choose_copies(loop_nest *n, const loop_axis *vector) {
  enum { COPIES = 8 };
  ir_ref loads[MAX_FOUND];
  uint32_t count = loop_find(n->g, n->store, IR_OP_LOAD, loads, MAX_FOUND);
  for (uint32_t i = 0; i < count; i++) {
    ir_ref index = ir_src(n->g, loads[i], 1);
    int64_t stride;
    if (loop_stride(n->g, index, vector->range, &stride) && stride >= -1 && stride <= 1) continue;
    for (loop_axis *a = n->axes; a < n->axes + n->axis_count; a++) {
      if (a == vector || !loop_stride(n->g, index, a->range, &stride) || (stride != 1 && stride != -1))
        continue;
      if (ir_bounds_of(n->g, a->extent).hi >= COPIES) a->unroll = COPIES;
      return;
    }
  }
}

void loop_choose_lanes(loop_nest *n) {
  ir_ref reduces[MAX_FOUND], target = ir_src(n->g, n->store, 1);
  uint32_t reduce_count = loop_find(n->g, n->store, IR_OP_REDUCE, reduces, MAX_FOUND);
  loop_axis *last = NULL;
  for (uint32_t i = 0; i < n->axis_count; i++) {
    int64_t stride;
    if (loop_stride(n->g, target, n->axes[i].range, &stride) && stride == 1) last = &n->axes[i];
  }
  int best = last ? -1000 : -100000;
  for (uint32_t k = 0; k < reduce_count; k++) {
    const ir_node *r = ir_get(n->g, reduces[k]);
    if (ir_arg_int(r) == IR_OP_ARGMAX || ir_arg_int(r) == IR_OP_ARGMIN) continue;
    int along_output = last ? lane_score(n, r->src[0], last->range) : -100000;
    int along_reduced = lane_score(n, r->src[0], r->src[r->nsrc - 1]);
    if (along_output > best) best = along_output;
    if (along_reduced > along_output) n->lanes_in_reduction = true;
  }
  if (!last || n->lanes_in_reduction) return;
  int lanes = n->target->vector_bytes / widest_bytes(n);
  while (lanes > ir_bounds_of(n->g, last->extent).hi) lanes /= 2;
  if (lanes < MIN_LANES) return;
  last->lanes = lanes;
  if (reduce_count) choose_tile(n, last, ir_src(n->g, reduces[0], 0));
  else choose_copies(n, last);
}
