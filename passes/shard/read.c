/* The part of a deferred view: what it reads is brought, and the views are done again on that. */
#include "impl.h"
#include "passes/view/interval.h"

#include <string.h>

enum { MOST_READ = 256 /* arrays and views below one part */ };

/* A chain, and the arrays that it is a view of. */
typedef struct chain {
  shard_state *s;
  view_interval ranges[IR_MAX_RANK]; /* of the indices of the part */
  pass_point guards;                 /* indices that have to be 0 where an operand is read at all */
  uint32_t steps;
  shard_pending kept;
  const ir_spec *to;
  ir_spec *from;
  ir_ref *exchange;
  ir_op *summed;
} chain;

static pass_point point_of(ir_graph *g, ir_ref node) {
  pass_point p = {.rank = ir_rank(g, node)};
  view_ranges(g, op_dims(g, node), p.rank, p.at);
  return p;
}

/* The point of operand i that a point of a joined array reads, if it reads that operand. */
void shard_joined_point(ir_graph *g, ir_ref node, uint32_t i, pass_point *p, pass_point *guards) {
  const ir_node *n = ir_get(g, node);
  uint32_t axis = (uint32_t)ir_arg_int(n);
  if (n->op == IR_OP_STACK) {
    if (guards->rank < IR_MAX_RANK) guards->at[guards->rank++] = pass_add_int(g, p->at[axis], -(int64_t)i);
    p->rank--;
    for (uint32_t d = axis; d < p->rank; d++) p->at[d] = p->at[d + 1];
    return;
  }
  for (uint32_t k = 0; k < i; k++) p->at[axis] = pass_sub(g, p->at[axis], ir_dim(g, n->src[k], axis));
}

/* Is the expression a sum of multiples of variables? Others are variables of their own, so that kernels
 * compute them once. */
static bool is_linear(const ir_graph *g, ir_ref e) {
  const ir_node *n = ir_get(g, e);
  bool linear = n->op == IR_OP_CONST || n->op == IR_OP_VAR || n->op == IR_OP_ADD || n->op == IR_OP_MUL;
  for (uint32_t i = 0; i < n->nsrc && linear && n->op != IR_OP_VAR; i++) linear = is_linear(g, n->src[i]);
  return linear;
}

static ir_ref simple(shard_state *s, ir_ref e, const char *name) {
  if (!e || is_linear(s->g, e)) return e;
  ir_bounds b = ir_bounds_of(s->g, e);
  return shard_name(s, e, name, b.lo > 0 ? b.lo : 0, b.hi);
}

/* May nothing be read, though axes that are read are not empty? Then its size is 0. */
static ir_ref nothing_unless(chain *c, ir_ref size, ir_ref node) {
  ir_graph *g = c->s->g;
  for (uint32_t i = 0; i < c->guards.rank && size; i++) {
    view_interval at = view_interval_of(g, c->guards.at[i], c->ranges);
    ir_ref zero = ir_index(g, 0);
    ir_ref is_read =
        pass_and(g, pass_compare(g, IR_OP_LE, at.lo, zero), pass_compare(g, IR_OP_GE, at.hi, zero));
    size = pass_where(g, is_read, size, zero);
  }
  for (uint32_t d = 0; d < ir_rank(g, node) && size; d++) {
    ir_ref part = pass_add_int(g, pass_sub(g, c->ranges[d].hi, c->ranges[d].lo), 1);
    if (!part || ir_bounds_of(g, part).lo >= 1) continue;
    size = pass_where(g, pass_compare(g, IR_OP_GE, part, ir_index(g, 1)), size, ir_index(g, 0));
  }
  return size;
}

/* Has the device all that it needs? */
static bool is_owned(ir_graph *g, ir_ref own, const ir_ref *at, const ir_ref *start, const ir_ref *shape,
                     uint32_t rank) {
  bool owned = true;
  for (uint32_t d = 0; d < rank && owned; d++) {
    ir_ref end = pass_add(g, start[d], shape[d]), own_end = pass_add(g, at[d], ir_dim(g, own, d));
    owned = end && own_end && (start[d] == at[d] || pass_proves(g, IR_OP_GE, start[d], at[d])) &&
            (end == own_end || pass_proves(g, IR_OP_LE, end, own_end));
  }
  return owned;
}

/* An array like x, of which only what the part reads at the point is there; own, from: of the device. */
static ir_ref read_array(chain *c, ir_ref node, ir_ref x, ir_ref own, const ir_spec *from,
                         const pass_point *p) {
  shard_state *s = c->s;
  ir_graph *g = s->g;
  uint32_t rank = ir_rank(g, x);
  ir_ref shape[IR_MAX_RANK], start[IR_MAX_RANK], at[IR_MAX_RANK];
  shard_lattice lattice;
  bool whole = true;
  for (uint32_t d = 0; d < rank; d++) whole &= !ir_spec_count(from, d);
  if (whole) return own;
  if (!shard_local_start(s, op_dims(g, x), from, at)) return 0;
  shard_lattice_of(g, p, op_dims(g, x), &lattice);
  if (!(own = shard_lattice_part(s, own, &lattice, at))) return 0;
  for (uint32_t d = 0; d < rank; d++) {
    view_interval all = view_interval_of(g, p->at[d], c->ranges);
    if (!all.lo || !all.hi) return 0;
    ir_ref lo = shard_lattice_index(g, &lattice, d, all.lo, true), size = lattice.size[d];
    ir_ref end = pass_add_int(g, shard_lattice_index(g, &lattice, d, all.hi, false), 1);
    lo = pass_min(g, pass_max(g, lo, ir_index(g, 0)), size), end = pass_min(g, end, size);
    ir_ref count = pass_max(g, pass_sub(g, end, lo), ir_index(g, 0));
    if (d == 0) count = nothing_unless(c, count, node);
    start[d] = simple(s, lo, "from"), shape[d] = simple(s, count, "size");
    if (!start[d] || !shape[d]) return 0;
  }
  if (is_owned(g, own, at, start, shape, rank)) return shard_lattice_whole(s, own, &lattice, at);
  *c->from = *from;
  ir_ref begin[IR_MAX_RANK];
  memcpy(begin, start, rank * sizeof *start);
  ir_ref box = shard_bring(s, own, &c->kept, rank, shape, start, at, "exchange", c->exchange);
  if (!box || !shard_note_exchange(s, from, c->to, *c->exchange)) return 0;
  return shard_lattice_whole(s, box, &lattice, begin);
}

static ir_ref read_view(chain *c, ir_ref root, ir_ref node, pass_point p);

/* A padded array whose padding repeats the other end: the array read at three places along each such axis. */
static ir_ref read_wrapped(chain *c, ir_ref root, ir_ref node, pass_point p, uint32_t axis) {
  ir_graph *g = c->s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref x = n->src[0];
  if (axis == p.rank) return read_view(c, root, x, p);
  ir_ref low = n->src[2 + 2 * axis], high = n->src[3 + 2 * axis], size = ir_dim(g, x, axis), pieces[3];
  ir_ref zero = ir_index(g, 0), at = pass_sub(g, p.at[axis], low);
  if (low == zero && high == zero) return read_wrapped(c, root, node, p, axis + 1);
  for (int i = 0; i < 3; i++) {
    p.at[axis] = i == 0 ? pass_add(g, at, size) : i == 1 ? at : pass_sub(g, at, size);
    ir_ref piece = read_wrapped(c, root, node, p, axis + 1), bounds[2 * IR_MAX_RANK];
    if (!piece) return 0;
    for (uint32_t d = 0; d < p.rank; d++) bounds[2 * d] = zero, bounds[2 * d + 1] = ir_dim(g, piece, d);
    if (i == 0) bounds[2 * axis] = pass_sub(g, size, low);
    if (i == 2) bounds[2 * axis + 1] = high;
    if (!(pieces[i] = op_shrink_known(g, piece, bounds))) return 0;
  }
  return op_concat(g, pieces, 3, axis);
}

/* Does the padding of the node repeat the other end, once at most? */
static bool wraps(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  bool once = n->op == IR_OP_PAD && ir_arg_mode(n) == IR_PAD_WRAP;
  for (uint32_t d = 0; d < ir_rank(g, node) && once; d++)
    for (int side = 0; side < 2; side++)
      once = once && pass_proves(g, IR_OP_LE, n->src[2 + 2 * d + (uint32_t)side], ir_dim(g, n->src[0], d));
  return once;
}

static ir_ref read_view(chain *c, ir_ref root, ir_ref node, pass_point p) {
  ir_graph *g = c->s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref src[SHARD_OPERANDS + 4 * IR_MAX_RANK];
  if (!shard_is_deferred(c->s, node)) {
    ir_ref kept[SHARD_SUNK];
    uint32_t sunk = shard_sink(c->s, node, kept);
    if (!sunk) return read_array(c, root, node, c->s->local[node], ir_spec_of(g, node), &p);
    ir_ref made = read_view(c, root, node, p);
    shard_unsink(c->s, node, kept, sunk);
    return made;
  }
  const shard_reversed *reversed = shard_reversed_of(c->s, node);
  if (reversed) { /* the list may grow below */
    shard_reversed of = *reversed;
    ir_ref flip = shard_view_of(c->s, node), flipped[1 + IR_MAX_RANK];
    memcpy(flipped, ir_get(g, flip)->src, ir_get(g, flip)->nsrc * sizeof *flipped);
    if (!pass_view_index(g, &pass_canonical, flip, &p)) return 0;
    flipped[0] = read_array(c, root, flipped[0], of.local, &of.spec, &p);
    *c->summed = of.by;
    return flipped[0] ? ir_remake(g, flip, flipped, ir_get(g, flip)->nsrc) : 0;
  }
  if (++c->steps > MOST_READ)
    return op_refuse(
        g,
        "shard: a part of %s is read through more than %d views and arrays; store a value in between, "
        "as in %%y = stored %%x",
        OP_TYPE(root), MOST_READ);
  if (wraps(g, node)) return read_wrapped(c, root, node, p, 0);
  uint32_t operands = ir_operand_count(n), guards = c->guards.rank;
  memcpy(src, n->src, n->nsrc * sizeof *src);
  for (uint32_t i = 0; i < operands; i++) {
    pass_point below = p;
    if (shard_is_joined((ir_op)n->op)) shard_joined_point(g, node, i, &below, &c->guards);
    else if (!pass_view_index(g, &pass_canonical, node, &below)) return 0;
    src[i] = read_view(c, root, n->src[i], below);
    c->guards.rank = guards;
    if (!src[i]) return 0;
  }
  return ir_remake(g, node, src, n->nsrc);
}

ir_ref shard_view_part(shard_state *s, ir_ref node, const ir_spec *to, ir_spec *from, ir_ref *exchange,
                       ir_op *summed) {
  ir_graph *g = s->g;
  const ir_ref *dims = op_dims(g, node);
  ir_ref start[IR_MAX_RANK], size[IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  chain c = {.s = s, .to = to, .from = from, .exchange = exchange, .summed = summed};
  *exchange = 0, *summed = IR_OP_MAX;
  *from = *to;
  pass_index_begin(g);
  if (!shard_local_start(s, dims, to, start) || !shard_local_shape(s, dims, to, size)) return 0;
  for (uint32_t d = 0; d < to->rank; d++) {
    bounds[2 * d] = start[d], bounds[2 * d + 1] = pass_add(g, start[d], size[d]);
    c.ranges[d] = (view_interval){start[d], pass_add_int(g, bounds[2 * d + 1], -1)};
  }
  shard_sort_pending(to, to, &c.kept);
  ir_ref all = read_view(&c, node, node, point_of(g, node));
  return op_shrink_known(g, all, bounds);
}
