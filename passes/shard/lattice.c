/* Indices that reach only every second element, or third, and so on.
 *
 * Where an index is r + m g for integers m, the elements that it can reach are a lattice: element k of it is
 * element r + k g of the array. Parts of the lattice are exchanged, and spread again where they arrive. */
#include "impl.h"

#include <stdlib.h>

static int64_t divisor_of(int64_t a, int64_t b) {
  while (b) {
    int64_t left = a % b;
    a = b, b = left;
  }
  return a < 0 ? -a : a;
}

/* Of a term of a sum: what all its values are multiples of. */
static int64_t multiple_of(const ir_graph *g, ir_ref term) {
  const ir_node *n = ir_get(g, term);
  int64_t value = 1;
  if (n->op == IR_OP_CONST) return n->arg;
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], &value)) return value;
  return 1;
}

void shard_lattice_of(ir_graph *g, const pass_point *p, const ir_ref *dims, shard_lattice *out) {
  out->rank = p->rank;
  for (uint32_t d = 0; d < p->rank; d++) {
    const ir_node *n = ir_get(g, p->at[d]);
    int64_t step = 0, first = 0;
    if (n->op == IR_OP_ADD)
      for (uint32_t i = 0; i < n->nsrc; i++)
        if (!ir_is_const(g, n->src[i], &first)) step = divisor_of(step, multiple_of(g, n->src[i]));
    if (n->op != IR_OP_ADD) step = ir_is_const(g, p->at[d], NULL) ? 1 : llabs(multiple_of(g, p->at[d]));
    out->step[d] = step > 0 ? step : 1;
    out->first[d] = (first % out->step[d] + out->step[d]) % out->step[d];
    out->whole[d] = dims[d];
    out->size[d] = shard_lattice_index(g, out, d, dims[d], true);
  }
}

ir_ref shard_lattice_index(ir_graph *g, const shard_lattice *l, uint32_t d, ir_ref at, bool up) {
  int64_t step = l->step[d];
  return step == 1 ? at : pass_div_int(g, pass_add_int(g, at, (up ? step - 1 : 0) - l->first[d]), step);
}

static bool is_all(const shard_lattice *l) {
  bool all = true;
  for (uint32_t d = 0; d < l->rank; d++) all &= l->step[d] == 1;
  return all;
}

ir_ref shard_lattice_part(shard_state *s, ir_ref x, const shard_lattice *l, ir_ref *at) {
  ir_graph *g = s->g;
  ir_ref pads[2 * IR_MAX_RANK], bounds[2 * IR_MAX_RANK], steps[IR_MAX_RANK], zero = ir_index(g, 0);
  if (is_all(l)) return x;
  for (uint32_t d = 0; d < l->rank; d++) {
    int64_t step = l->step[d];
    ir_ref size = ir_dim(g, x, d), begin = shard_lattice_index(g, l, d, at[d], true);
    ir_ref end = shard_lattice_index(g, l, d, pass_add(g, at[d], size), true);
    ir_ref first = pass_add_int(g, pass_mul_int(g, begin, step), l->first[d]);
    steps[d] = ir_index(g, step);
    pads[2 * d] = zero, pads[2 * d + 1] = ir_index(g, step - 1);
    bounds[2 * d] = step == 1 ? zero : pass_sub(g, first, at[d]);
    ir_ref length = pass_mul_int(g, pass_sub(g, end, begin), step);
    bounds[2 * d + 1] = step == 1 ? size : pass_add(g, bounds[2 * d], length);
    at[d] = begin;
    if (!bounds[2 * d + 1]) return 0;
  }
  x = op_shrink_known(g, op_pad_known(g, x, pads, 0), bounds);
  return x ? op_stride(g, x, steps, l->rank) : 0;
}

ir_ref shard_lattice_whole(shard_state *s, ir_ref x, const shard_lattice *l, const ir_ref *start) {
  ir_graph *g = s->g;
  ir_ref pads[2 * IR_MAX_RANK], bounds[2 * IR_MAX_RANK], zero = ir_index(g, 0);
  for (uint32_t d = 0; d < l->rank && x; d++) {
    int64_t step = l->step[d];
    ir_ref dims[IR_MAX_RANK + 1], spread[2 * IR_MAX_RANK + 2];
    if (step == 1) continue;
    x = op_unsqueeze(g, x, d + 1);
    for (uint32_t k = 0; x && k < 2 * ir_rank(g, x); k++) spread[k] = zero;
    spread[2 * d + 3] = ir_index(g, step - 1);
    ir_ref size = x ? pass_mul_int(g, ir_dim(g, x, d), step) : 0;
    x = x ? op_pad_known(g, x, spread, 0) : 0;
    for (uint32_t k = 0; x && k < l->rank; k++) dims[k] = k == d ? size : ir_dim(g, x, k < d ? k : k + 1);
    x = x ? op_reshape_known(g, x, dims, l->rank) : 0;
  }
  for (uint32_t d = 0; d < l->rank && x; d++) {
    int64_t step = l->step[d], more = step == 1 ? 0 : step;
    ir_ref size = ir_dim(g, x, d);
    pads[2 * d] = pass_add_int(g, pass_mul_int(g, start[d], step), l->first[d]);
    pads[2 * d + 1] = pass_add_int(g, pass_sub(g, l->whole[d], pass_add(g, pads[2 * d], size)), more);
    bounds[2 * d] = zero, bounds[2 * d + 1] = l->whole[d];
    if (!pads[2 * d + 1]) return 0;
  }
  return x ? op_shrink_known(g, op_pad_known(g, x, pads, 0), bounds) : 0;
}
