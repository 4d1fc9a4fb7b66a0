/* A pending sum that becomes known in pieces is joined in pieces.
 *
 * Gradients of weights that are parts of one array are padded to its size and added up, or joined. The sum
 * over the devices of such an array could begin when the last of them is known; here it is cut where they
 * meet, and each piece is exchanged when it is known, while the others are computed. Messages that are ready
 * while a link is busy go together (as in merged gradients, Shi et al. 2019): messages.c. */
#include "messages.h"

#include <string.h>

enum { OPERATIONS_PER_US = 48000 }; /* a quarter of the peak: steps of a small network took 37000 */
enum { MOST_VISITS = 4096 }; /* of nodes while cuts are looked for: shared sums are visited for each use */

/* cutting */

static bool size_of(const ir_graph *g, ir_ref x, uint32_t d, int64_t *out) {
  return ir_is_const(g, ir_dim(g, x, d), out);
}

/* The first element of the operand of a PAD along d. */
static bool pad_before(const ir_graph *g, ir_ref x, uint32_t d, int64_t *out) {
  return ir_arg_mode(ir_get(g, x)) == IR_PAD_CONSTANT && ir_is_const(g, ir_src(g, x, 2 + 2 * d), out);
}

typedef struct cuts {
  int64_t at[SHARD_CUTS];
  uint32_t count, visits; /* visits above MOST_VISITS: nothing is cut */
} cuts;

static void add_cut(cuts *c, int64_t at, int64_t size) {
  uint32_t i = 0;
  while (i < c->count && c->at[i] < at) i++;
  if (at <= 0 || at >= size || c->count == SHARD_CUTS || (i < c->count && c->at[i] == at)) return;
  memmove(&c->at[i + 1], &c->at[i], (c->count - i) * sizeof *c->at);
  c->at[i] = at, c->count++;
}

/* Adds the places where the sums and joins that x consists of meet, in elements of `all`, where it begins at
 * `from`. */
static void find_cuts(const ir_graph *g, ir_ref x, uint32_t d, int64_t from, int64_t all, cuts *c) {
  while (c->visits++ < MOST_VISITS) { /* sums are long chains */
    ir_op op = ir_op_of(g, x);
    int64_t before, size;
    if (op == IR_OP_PAD && pad_before(g, x, d, &before) && size_of(g, ir_src(g, x, 0), d, &size)) {
      add_cut(c, from + before, all), add_cut(c, from + before + size, all);
      x = ir_src(g, x, 0), from += before;
    } else if (op == IR_OP_CONCAT && (uint32_t)ir_arg_int(ir_get(g, x)) == d) {
      for (uint32_t i = 0; i < ir_get(g, x)->nsrc && size_of(g, ir_src(g, x, i), d, &size); i++)
        add_cut(c, from += size, all);
      return;
    } else if (op == IR_OP_ADD) {
      if (ir_op_of(g, ir_src(g, x, 1)) != IR_OP_ADD) find_cuts(g, ir_src(g, x, 1), d, from, all, c);
      x = ir_src(g, x, 0);
    } else {
      return;
    }
  }
}

/* restricting */

static bool is_zero(const ir_graph *g, ir_ref x) {
  while (ir_op_of(g, x) == IR_OP_EXPAND || ir_op_of(g, x) == IR_OP_RESHAPE) x = ir_src(g, x, 0);
  if (ir_op_of(g, x) != IR_OP_CONST) return false;
  ir_value v = ir_const_value(g, x), zero = {0};
  return ir_is_float(ir_dtype_of(g, x)) ? !memcmp(&v.f, &zero.f, sizeof v.f) : v.i == 0;
}

static ir_ref cut(ir_graph *g, ir_ref x, uint32_t d, int64_t lo, int64_t hi) {
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    bounds[2 * i] = ir_index(g, i == d ? lo : 0),
               bounds[2 * i + 1] = i == d ? ir_index(g, hi) : ir_dim(g, x, i);
  return op_shrink_known(g, x, bounds);
}

static ir_ref of_interval(ir_graph *g, ir_ref x, uint32_t d, int64_t lo, int64_t hi);

static ir_ref padded(ir_graph *g, ir_ref x, uint32_t d, int64_t lo, int64_t hi) {
  ir_ref inner = ir_src(g, x, 0), pads[2 * IR_MAX_RANK];
  int64_t before, size;
  if (!pad_before(g, x, d, &before) || !size_of(g, inner, d, &size)) return cut(g, x, d, lo, hi);
  int64_t from = lo > before ? lo - before : 0, to = hi < before + size ? hi - before : size;
  if (from >= to) { /* nothing of it */
    ir_ref dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < ir_rank(g, x); i++) dims[i] = i == d ? ir_index(g, hi - lo) : ir_dim(g, x, i);
    return op_full(g, ir_src(g, x, 1), dims, ir_rank(g, x));
  }
  ir_ref part = of_interval(g, inner, d, from, to);
  for (uint32_t i = 0; i < 2 * ir_rank(g, x); i++) pads[i] = ir_src(g, x, 2 + i);
  pads[2 * d] = ir_index(g, before + from - lo), pads[2 * d + 1] = ir_index(g, hi - before - to);
  return part ? op_pad_known(g, part, pads, ir_src(g, x, 1)) : 0;
}

static ir_ref joined(ir_graph *g, ir_ref x, uint32_t d, int64_t lo, int64_t hi) {
  ir_ref parts[SHARD_CUTS + 1];
  uint32_t count = 0, n = ir_get(g, x)->nsrc;
  int64_t from = 0, size;
  for (uint32_t i = 0; i < n; i++, from += size) {
    if (!size_of(g, ir_src(g, x, i), d, &size)) return cut(g, x, d, lo, hi);
    int64_t first = lo > from ? lo - from : 0, last = hi < from + size ? hi - from : size;
    if (first >= last) continue;
    if (count > SHARD_CUTS) return cut(g, x, d, lo, hi);
    parts[count++] = of_interval(g, ir_src(g, x, i), d, first, last);
  }
  return op_concat(g, parts, count, d);
}

/* x + 0, where both are of the interval: only -0 changes, and not twice. */
static ir_ref added(ir_graph *g, ir_ref a, ir_ref b) {
  if (a && b && is_zero(g, b) &&
      (is_zero(g, a) || (ir_op_of(g, a) == IR_OP_ADD && is_zero(g, ir_src(g, a, 1)))))
    return a;
  if (a && b && is_zero(g, a)) return op_binary(g, IR_OP_ADD, b, a);
  return op_binary(g, IR_OP_ADD, a, b);
}

/* Elements [lo, hi) of x along d, of no more than what they are computed from. It goes where find_cuts goes,
 * which bounds how much that is. */
static ir_ref of_interval(ir_graph *g, ir_ref x, uint32_t d, int64_t lo, int64_t hi) {
  ir_ref chain[SHARD_CUTS], made;
  uint32_t count = 0;
  int64_t size;
  if (!x || (size_of(g, x, d, &size) && lo == 0 && hi == size)) return x;
  while (ir_op_of(g, x) == IR_OP_ADD && count < SHARD_CUTS) chain[count++] = x, x = ir_src(g, x, 0);
  ir_op op = ir_op_of(g, x);
  if (op == IR_OP_PAD) made = padded(g, x, d, lo, hi);
  else if (op == IR_OP_CONCAT && (uint32_t)ir_arg_int(ir_get(g, x)) == d) made = joined(g, x, d, lo, hi);
  else made = cut(g, x, d, lo, hi);
  while (count-- && made) {
    ir_ref other = ir_src(g, chain[count], 1);
    bool sum = ir_op_of(g, other) == IR_OP_ADD;
    made = added(g, made, sum ? cut(g, other, d, lo, hi) : of_interval(g, other, d, lo, hi));
  }
  return made;
}

/* when pieces are known */

/* Picoseconds of the nodes up to `last` of those in the list. */
static uint64_t time_until(ir_graph *g, const ir_ref *live, size_t count, ir_ref last) {
  double operations = 0;
  int64_t flops;
  for (size_t i = 0; i < count && live[i] <= last; i++)
    if (ir_shape(g, live[i]) && ir_is_const(g, op_flops(g, live[i]), &flops)) operations += (double)flops;
  return (uint64_t)(operations * 1e6 / OPERATIONS_PER_US);
}

/* The last node that counts of those that x is computed from. False: out of memory. */
static bool last_needed(ir_graph *g, ir_ref x, ir_ref before, ir_ref *out) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable(g, &x, 1, &live, &count, &cap) == IR_OK;
  *out = 0;
  for (size_t i = 0; i < count && good && live[i] < before; i++) {
    int64_t flops = 0;
    if (ir_shape(g, live[i]) && ir_is_const(g, op_flops(g, live[i]), &flops) && flops) *out = live[i];
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}

static bool find_times(ir_graph *g, ir_ref x, uint32_t d, shard_piece *pieces, uint32_t count) {
  ir_ref *live = NULL, before = g->count, last;
  size_t n = 0, cap = 0;
  bool good = ir_reachable(g, &x, 1, &live, &n, &cap) == IR_OK;
  for (uint32_t i = 0; i < count && good; i++) {
    good = last_needed(g, of_interval(g, x, d, pieces[i].lo, pieces[i].hi), before, &last);
    pieces[i].ready = time_until(g, live, n, last);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}

/* messages */

static ir_ref operand_of(const shard_cutting *c, uint32_t message, int64_t *elements) {
  ir_ref parts[SHARD_CUTS + 1];
  uint32_t count = 0;
  *elements = 0;
  for (uint32_t i = 0; i < c->count; i++) {
    if (c->pieces[i].message != message) continue;
    int64_t lo = c->pieces[i].lo;
    while (i + 1 < c->count && c->pieces[i + 1].message == message) i++;
    parts[count++] = of_interval(c->s->g, c->x, c->d, lo, c->pieces[i].hi);
    *elements += c->pieces[i].hi - lo;
  }
  return count == 1 ? parts[0] : op_concat(c->s->g, parts, count, c->d);
}

/* Each message by itself, and the results together again. */
static ir_ref move_messages(const shard_cutting *c, ir_ref *exchange) {
  ir_ref made[SHARD_MOST_MESSAGES], parts[SHARD_CUTS + 1], dims[IR_MAX_RANK];
  int64_t elements, at[SHARD_MOST_MESSAGES] = {0};
  uint32_t count = 0;
  for (uint32_t m = 0; m < c->messages; m++) {
    ir_ref operand = operand_of(c, m, &elements);
    shard_sizes_of(c, elements, dims);
    made[m] = operand ? shard_move(c->s, operand, dims, c->from, c->to, exchange) : 0;
    if (!made[m]) return 0;
  }
  for (uint32_t i = 0; i < c->count; i++) {
    uint32_t m = c->pieces[i].message;
    int64_t lo = c->pieces[i].lo, from = at[m];
    while (i + 1 < c->count && c->pieces[i + 1].message == m) i++;
    at[m] += c->pieces[i].hi - lo;
    parts[count++] = of_interval(c->s->g, made[m], c->d, from, at[m]);
  }
  return op_concat(c->s->g, parts, count, c->d);
}

/* The dimension that is whole before and after, and in which there are places to cut. */
static bool find_dimension(shard_cutting *c) {
  const ir_graph *g = c->s->g;
  for (c->d = 0; c->d < c->to->rank; c->d++) {
    cuts found = {.count = 0};
    int64_t size;
    if (ir_spec_count(c->from, c->d) || ir_spec_count(c->to, c->d) || !size_of(g, c->x, c->d, &size))
      continue;
    find_cuts(g, c->x, c->d, 0, size, &found);
    if (found.visits > MOST_VISITS) return false;
    c->count = 0;
    for (uint32_t i = 0; i <= found.count; i++)
      c->pieces[c->count++] =
          (shard_piece){.lo = i ? found.at[i - 1] : 0, .hi = i < found.count ? found.at[i] : size};
    if (found.count) return true;
  }
  return false;
}

ir_ref shard_move_pieces(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                         ir_ref *exchange) {
  shard_cutting c = {.s = s, .x = x, .dims = dims, .from = from, .to = to};
  uint64_t ready = 0, whole, ends;
  shard_rounds rounds;
  shard_pending p;
  shard_sort_pending(from, to, &p);
  if (!p.joined.count || !shard_mesh_is_calibrated(s->mesh) || !find_dimension(&c))
    return shard_move(s, x, dims, from, to, exchange);
  if (!find_times(s->g, x, c.d, c.pieces, c.count)) return 0;
  for (uint32_t i = 0; i < c.count; i++)
    if (c.pieces[i].ready > ready) ready = c.pieces[i].ready;
  if (!shard_move_rounds(s, ir_dtype_of(s->g, x), dims, from, to, &rounds) ||
      !shard_choose_messages(&c, &ends))
    return 0;
  whole = ready + rounds.time;
  if (c.messages < 2 || ends >= whole || whole - ends < rounds.time / SHARD_WORTH)
    return shard_move(s, x, dims, from, to, exchange);
  return move_messages(&c, exchange);
}
