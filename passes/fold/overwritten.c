/* May a write change the memory of its first operand? It computes what it stores from older elements, and is
 * free to do so where each of these is the element that the same value replaces, or one that nothing
 * replaces, or one that a later iteration replaces (order.c).
 *
 * That a store and a load never meet is read off their indices, as constant + sum of factor * term, each term
 * within its bounds and independent of all others: either one index is below the other throughout; or there
 * is a modulus, one of the factors, for which the terms that it does not divide leave disjoint residues. The
 * latter holds of columns of a matrix (modulo its width), and of every second element (modulo 2). */
#include "fold.h"

#include <string.h>

#include "ir/arith.h"
#include "passes/fold/order.h"

enum { MOST_TERMS = 24 }; /* as many as ir/in_place.c reads */

typedef struct term {
  int64_t factor, lo, hi;
} term;

typedef struct sum {
  int64_t constant;
  term terms[MOST_TERMS];
  uint32_t count;
} sum;

/* Factors and bounds are such that no sum of them overflows. */
static bool is_small(int64_t x) { return x > -(INT64_MAX >> 8) && x < INT64_MAX >> 8; }

static bool add_term(ir_graph *g, ir_ref ref, sum *out) {
  int64_t factor = 1, number;
  const ir_node *n = ir_get(g, ref);
  if (ir_is_const(g, ref, &number)) return is_small(out->constant += number);
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], &factor)) ref = n->src[0];
  ir_bounds b = ir_bounds_of(g, ref);
  int64_t lo, hi;
  if (out->count == MOST_TERMS || !is_small(factor) || factor == INT64_MIN || !is_small(b.lo) ||
      !is_small(b.hi) || !ir_mul_ok(factor, b.lo, &lo) || !ir_mul_ok(factor, b.hi, &hi) || !is_small(lo) ||
      !is_small(hi))
    return false;
  out->terms[out->count++] = (term){factor, factor < 0 ? hi : lo, factor < 0 ? lo : hi};
  return true;
}

static bool read_sum(ir_graph *g, ir_ref index, sum *out) {
  const ir_node *n = ir_get(g, index);
  *out = (sum){0};
  if (n->op != IR_OP_ADD) return add_term(g, index, out);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (!add_term(g, n->src[i], out)) return false;
  return true;
}

typedef struct interval {
  int64_t lo, hi;
} interval;

/* The sum without terms that the modulus divides; modulus 0 divides none. */
static interval without(const sum *s, int64_t modulus) {
  interval x = {s->constant, s->constant};
  for (uint32_t i = 0; i < s->count; i++)
    if (!modulus || s->terms[i].factor % modulus) x.lo += s->terms[i].lo, x.hi += s->terms[i].hi;
  return x;
}

static bool have_other_residues(const sum *a, const sum *b, int64_t modulus) {
  interval x = without(a, modulus), y = without(b, modulus);
  return ir_floor_mod(y.lo - x.lo, modulus) > x.hi - x.lo && ir_floor_mod(x.lo - y.lo, modulus) > y.hi - y.lo;
}

static bool never_meet(ir_graph *g, ir_ref store, ir_ref load) {
  sum a, b;
  if (!read_sum(g, store, &a) || !read_sum(g, load, &b)) return false;
  interval x = without(&a, 0), y = without(&b, 0);
  if (x.hi < y.lo || y.hi < x.lo) return true;
  for (uint32_t i = 0; i < a.count + b.count; i++) {
    int64_t factor = i < a.count ? a.terms[i].factor : b.terms[i - a.count].factor;
    if (factor < 0) factor = -factor;
    if (factor > 1 && have_other_residues(&a, &b, factor)) return true;
  }
  return false;
}

uint32_t fold_loads_replaced(ir_graph *g, ir_ref effect, ir_ref *loads) {
  const ir_node *n = ir_get(g, effect);
  ir_ref index = n->src[1], *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t found = 0;
  bool ordered = n->op == IR_OP_UPDATE && n->nsrc > 4;
  if (ir_reachable(g, n->src + 1, n->nsrc - 1, &live, &count, &cap) != IR_OK) found = FOLD_MOST_LOADS + 1;
  for (size_t i = 0; i < count && found <= FOLD_MOST_LOADS; i++) {
    const ir_node *load = ir_get(g, live[i]);
    if (load->op != IR_OP_LOAD || load->src[0] != n->src[0]) continue;
    if ((load->src[1] == index && !ordered) || never_meet(g, index, load->src[1])) continue;
    if (found < FOLD_MOST_LOADS) loads[found] = live[i];
    found++;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

static bool loads_are_harmless(ir_graph *g, ir_ref effect) {
  ir_ref loads[FOLD_MOST_LOADS];
  uint32_t count = fold_loads_replaced(g, effect, loads);
  return count <= FOLD_MOST_LOADS && fold_is_in_order(g, effect, loads, count);
}

bool fold_only_overwritten(ir_graph *g, ir_ref write, uint32_t target, pass_slots *slots, uint32_t *slot_of) {
  ir_ref x = ir_src(g, write, 0);
  uint32_t own = slot_of[x];
  folder f = {.g = g, .slots = slots, .output = write};
  slots->param_count = 0;
  slot_of[x] = target + 1;
  ir_ref param = fold_param(&f, write, target);
  ir_ref effect = fold_assign(&f, write, param);
  slot_of[x] = own;
  folder_free(&f);
  return effect && loads_are_harmless(g, effect);
}
