/* Loop jamming. Where a kernel reduces the same rows in several ways, none of which needs another, their
 * loops become one loop that carries all results: each element is then read once for all of them, and what
 * their terms have in common is computed once. The order in which the terms of each are combined stays.
 *
 * Two loops are jammed if they have the same binding and extent, stand at the same place, and read a buffer
 * in common; then so are the loops inside them, as far as the same holds of these. */
#include "loops.h"

#include "passes/index/index.h"

enum {
  MAX_LOOPS = 24, /* loops at one place [11 in the workloads]: where there are more, all stay as they are */
  /* values carried by one loop: with the REDUCE_UNROLL accumulators of each they fill 32 vector registers;
   * loops that would carry more stay apart */
  MAX_CARRIED = 8
};

/* Values or effects at one place, outside of all loops that they contain. */
typedef struct loop_site {
  ir_graph *g;
  ir_ref *values;
  uint32_t count;
  ir_ref loops[MAX_LOOPS]; /* loops of the values that stand at this place */
  uint32_t of[MAX_LOOPS];  /* the number of the first value that contains loops[i] */
  uint32_t loop_count;
} loop_site;

static uint32_t carries_of(const ir_graph *g, ir_ref loop) { return (uint32_t)ir_arg_int(ir_get(g, loop)); }

static bool depends_on(ir_graph *g, ir_ref root, ir_ref node) {
  if (node >= root) return false;
  ir_ref found[MAX_LOOPS];
  uint32_t count = affine_find_range(g, root, IR_OP_LOOP, found, MAX_LOOPS);
  for (uint32_t i = 0; i < count; i++)
    if (found[i] == node) return true;
  return count == MAX_LOOPS;
}

/* A loop inside a loop that is an effect stays there, since that one may have trip count 0. */
static bool may_change(const ir_graph *g, ir_ref value) {
  ir_op op = ir_op_of(g, value);
  return ir_dtype_of(g, value) != IR_NONE || op == IR_OP_STORE || op == IR_OP_UPDATE;
}

/* False where there are more than MAX_LOOPS loops, or fewer than two at this place. */
static bool find_loops(loop_site *p) {
  ir_ref all[MAX_LOOPS];
  uint32_t count = 0, of[MAX_LOOPS];
  for (uint32_t v = 0; v < p->count; v++) {
    ir_ref found[MAX_LOOPS + 1];
    if (!may_change(p->g, p->values[v])) continue;
    uint32_t n = affine_find_range(p->g, p->values[v], IR_OP_LOOP, found, MAX_LOOPS + 1);
    for (uint32_t i = 0; i < n; i++) {
      bool known = false;
      for (uint32_t k = 0; k < count; k++) known |= all[k] == found[i];
      if (known) continue;
      if (count == MAX_LOOPS) return false;
      of[count] = v, all[count++] = found[i];
    }
  }
  p->loop_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool inside = false;
    for (uint32_t k = 0; k < count && !inside; k++)
      inside = depends_on(p->g, all[k], all[i]) && affine_depends(p->g, all[i], ir_src(p->g, all[k], 0));
    if (inside) continue;
    p->of[p->loop_count] = of[i];
    p->loops[p->loop_count++] = all[i];
  }
  return p->loop_count > 1;
}

/* Do values [from, to) store to the local? True if there are too many stores to tell. */
static bool is_stored(const loop_site *p, ir_ref local, uint32_t from, uint32_t to) {
  for (uint32_t v = from; v < to; v++) {
    ir_ref stores[LOOP_MAX_LOADS];
    uint32_t count = affine_find_range(p->g, p->values[v], IR_OP_STORE, stores, LOOP_MAX_LOADS);
    count += affine_find_range(p->g, p->values[v], IR_OP_UPDATE, stores + count, LOOP_MAX_LOADS - count);
    for (uint32_t i = 0; i < count; i++)
      if (ir_src(p->g, stores[i], 0) == local) return true;
    if (count == LOOP_MAX_LOADS) return true;
  }
  return false;
}

/* Do loops a and b read a buffer in common, and may b be computed where a is? */
static bool may_read_together(const loop_site *p, uint32_t a, uint32_t b) {
  ir_graph *g = p->g;
  ir_ref of_a[LOOP_MAX_LOADS], of_b[LOOP_MAX_LOADS], carries[LOOP_MAX_LOADS];
  uint32_t loads_a = affine_find_range(g, p->loops[a], IR_OP_LOAD, of_a, LOOP_MAX_LOADS),
           loads_b = affine_find_range(g, p->loops[b], IR_OP_LOAD, of_b, LOOP_MAX_LOADS);
  bool common = false;
  if (loads_a == LOOP_MAX_LOADS || loads_b == LOOP_MAX_LOADS) return false;
  /* jammed() has room for as many carried values below b */
  if (affine_find_range(g, p->loops[b], IR_OP_CARRY, carries, LOOP_MAX_LOADS) == LOOP_MAX_LOADS) return false;
  for (uint32_t i = 0; i < loads_b; i++) {
    ir_ref buffer = ir_src(g, of_b[i], 0);
    bool local = ir_op_of(g, buffer) == IR_OP_LOCAL;
    if (local && is_stored(p, buffer, p->of[a], p->of[b])) return false;
    for (uint32_t k = 0; k < loads_a; k++) common |= ir_src(g, of_a[k], 0) == buffer;
  }
  return common;
}

static bool may_jam(const loop_site *p, uint32_t a, uint32_t b) {
  ir_graph *g = p->g;
  const ir_node *x = ir_get(g, p->loops[a]), *y = ir_get(g, p->loops[b]);
  if (ir_arg_mode(x) != ir_arg_mode(y) || ir_src(g, x->src[0], 0) != ir_src(g, y->src[0], 0)) return false;
  if (carries_of(g, p->loops[a]) + carries_of(g, p->loops[b]) > MAX_CARRIED) return false;
  return !depends_on(g, p->loops[a], p->loops[b]) && !depends_on(g, p->loops[b], p->loops[a]) &&
         may_read_together(p, a, b);
}

static bool jam_at(loop_site *p);

/* A load that also prefetches replaces the same load that does not. */
static bool fetch_once(ir_graph *g, ir_ref *values, uint32_t count) {
  ir_ref plain[LOOP_MAX_LOADS], ahead[LOOP_MAX_LOADS], loads[LOOP_MAX_LOADS];
  uint32_t all = 0, used = 0;
  for (uint32_t v = 0; v < count; v++)
    all += affine_find_range(g, values[v], IR_OP_LOAD, loads + all, LOOP_MAX_LOADS - all);
  for (uint32_t i = 0; i < all; i++)
    for (uint32_t k = 0; k < all; k++) {
      const ir_node *x = ir_get(g, loads[i]), *y = ir_get(g, loads[k]);
      bool same = x->arg == 0 && y->arg != 0 && x->dtype == y->dtype;
      for (int s = 0; s < 4; s++) same = same && x->src[s] == y->src[s];
      if (same) plain[used] = loads[i], ahead[used++] = loads[k];
      if (same) break;
    }
  for (uint32_t v = 0; v < count && used; v++)
    if (!(values[v] = pass_substitute(g, values[v], plain, ahead, used))) return false;
  return true;
}

/* The loop that carries what a carries, then what b carries; 0 on failure. */
static ir_ref jammed(ir_graph *g, ir_ref a, ir_ref b) {
  uint32_t first = carries_of(g, a), second = carries_of(g, b), all = first + second, count;
  ir_ref range = ir_src(g, a, 0), src[1 + 2 * MAX_CARRIED] = {range}, *initial = src + 1,
         *next = initial + all, found[LOOP_MAX_LOADS], from[1 + LOOP_MAX_LOADS] = {ir_src(g, b, 0)},
         to[1 + LOOP_MAX_LOADS] = {range};
  uint32_t renamed = 1;
  for (uint32_t i = 0; i < second; i++) {
    count = affine_find_range(g, ir_src(g, b, 1 + second + i), IR_OP_CARRY, found, LOOP_MAX_LOADS);
    for (uint32_t k = 0; k < count && renamed < 1 + LOOP_MAX_LOADS; k++) {
      const ir_node *carry = ir_get(g, found[k]);
      if (carry->src[0] != from[0]) continue;
      int64_t slot = ir_pack_arg((int64_t)first + ir_arg_int(carry), 0);
      from[renamed] = found[k];
      to[renamed++] = ir_make(g, IR_OP_CARRY, (ir_dtype)carry->dtype, slot, &range, 1);
    }
  }
  for (uint32_t i = 0; i < first; i++)
    initial[i] = ir_src(g, a, 1 + i), next[i] = ir_src(g, a, 1 + first + i);
  for (uint32_t i = 0; i < second; i++) {
    initial[first + i] = ir_src(g, b, 1 + i);
    next[first + i] = pass_substitute(g, ir_src(g, b, 1 + second + i), from, to, renamed);
    if (!next[first + i]) return 0;
  }
  loop_site inside = {.g = g, .values = next, .count = all};
  if (!fetch_once(g, next, all) || !jam_at(&inside)) return 0;
  int64_t arg = ir_pack_arg(all, ir_arg_mode(ir_get(g, a)));
  return ir_make(g, IR_OP_LOOP, ir_dtype_of(g, a), arg, src, 1 + 2 * all);
}

/* Replaces loops a and b of the place by the jammed loop. */
static bool jam_two(loop_site *p, uint32_t a, uint32_t b) {
  ir_graph *g = p->g;
  ir_ref x = p->loops[a], y = p->loops[b], made = jammed(g, x, y);
  ir_ref from[2 + MAX_CARRIED] = {x, y}, to[2 + MAX_CARRIED] = {made};
  uint32_t first = carries_of(g, x), second = carries_of(g, y), count = 2;
  if (!made) return false;
  for (uint32_t i = 0; i < second; i++) {
    ir_dtype t = ir_dtype_of(g, ir_src(g, y, 1 + i));
    ir_ref now = ir_make(g, IR_OP_GET, t, ir_pack_arg(first + i, 0), &made, 1);
    if (i == 0) to[1] = now;
    from[count] = ir_make(g, IR_OP_GET, t, ir_pack_arg(i, 0), &y, 1);
    to[count++] = now;
  }
  for (uint32_t v = 0; v < p->count; v++)
    if (!(p->values[v] = pass_substitute(g, p->values[v], from, to, count))) return false;
  return true;
}

static bool jam_at(loop_site *p) {
  bool any = true;
  while (any && find_loops(p)) {
    any = false;
    for (uint32_t a = 0; a < p->loop_count && !any; a++)
      for (uint32_t b = 0; b < p->loop_count && !any; b++) {
        if (a == b || p->of[a] > p->of[b] || (p->of[a] == p->of[b] && a > b) || !may_jam(p, a, b)) continue;
        if (!jam_two(p, a, b)) return false;
        any = true;
      }
  }
  return true;
}

bool loop_jam(ir_graph *g, ir_ref *effects, uint32_t count) {
  loop_site p = {.g = g, .values = effects, .count = count};
  return jam_at(&p);
}
