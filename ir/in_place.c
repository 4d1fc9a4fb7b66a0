/* Which parameters may share the memory of the output p0 (in_place.h has the contract).
 *
 * The index of a store is read as constant + sum of factor * range. Different iterations store to different
 * elements if every loop around the store contributes a term and the terms are digits of a mixed-radix
 * number: each factor exceeds the largest sum of the terms with smaller factors. For two stores, the terms
 * that both indices have are the high digits; the other terms of each index form one low digit, and the
 * intervals of these two low digits must be disjoint.
 *
 * Loads for a store to a local follow another rule. All stores lie in one common loop, and in its body the
 * stores to locals come first. Such a load may read any element that the same iteration of the common loop
 * stores to p0, but none that another iteration stores. That holds if over the ranges of the common loop and
 * of the loops around it both indices have the same terms, and these terms are the high digits of a number
 * whose low digit is the other terms of either index. */
#include "ir/in_place.h"

#include <stdlib.h>
#include <string.h>

#include "ir/arith.h"
#include "ir/regions.h"

enum { MOST_TERMS = 24, MOST_STORES = 8, MOST_LOCAL_STORES = 64, MOST_PENDING = 64 };

typedef struct term {
  ir_ref range;
  int64_t factor, hi; /* 0 <= range <= hi */
} term;

typedef struct access {
  ir_ref store, index;
  term terms[MOST_TERMS];
  uint32_t count;
  int64_t constant;
} access;

typedef struct finder {
  ir_graph *g;
  ir_regions regions;
  access stores[MOST_STORES]; /* of stores to p0 */
  uint32_t count;
  ir_ref local_stores[MOST_LOCAL_STORES];
  uint32_t local_count;
  bool items;              /* iterations of vector loops are work-items */
  bool local_after_output; /* some store to a local comes after a store to p0 */
  ir_ref common_loop;      /* the innermost loop around all stores; 0: none */
} finder;

/* Factors and sums are bounded so that no arithmetic below overflows. */
static bool is_small(int64_t x) { return x > -(INT64_MAX >> 8) && x < INT64_MAX >> 8; }

static bool add_term(finder *f, access *p, ir_ref range, int64_t factor) {
  int64_t hi = ir_bounds_of(f->g, range).hi, most;
  uint32_t i = 0;
  if (hi < 0) hi = 0; /* the loop has no iterations */
  while (i < p->count && p->terms[i].range != range) i++;
  if (i == p->count) {
    if (p->count == MOST_TERMS) return false;
    p->terms[p->count++] = (term){range, 0, hi};
  }
  p->terms[i].factor += factor;
  return !f->regions.shared[range] && is_small(p->terms[i].factor) &&
         ir_mul_ok(p->terms[i].factor, hi, &most) && is_small(most);
}

/* Reads the index as constant + sum of factor * range. False if it is not affine, or too large. */
static bool read_affine(finder *f, access *p) {
  struct {
    ir_ref ref;
    int64_t factor;
  } pending[MOST_PENDING] = {{p->index, 1}};
  for (size_t count = 1; count > 0;) {
    ir_ref ref = pending[--count].ref;
    int64_t factor = pending[count].factor, number = 0;
    const ir_node *n = ir_get(f->g, ref);
    if (ir_is_const(f->g, ref, &number)) {
      if (!is_small(number) || !ir_mul_ok(number, factor, &number) || !is_small(number)) return false;
      p->constant += number;
      if (!is_small(p->constant)) return false;
    } else if (n->op == IR_OP_RANGE) {
      if (!add_term(f, p, ref, factor)) return false;
    } else if (n->op == IR_OP_ADD) {
      if (count + n->nsrc > MOST_PENDING) return false;
      for (uint32_t i = 0; i < n->nsrc; i++) pending[count].ref = n->src[i], pending[count++].factor = factor;
    } else if (n->op == IR_OP_MUL) {
      ir_ref other = 0;
      for (uint32_t i = 0; i < n->nsrc; i++) {
        if (!ir_is_const(f->g, n->src[i], &number)) {
          if (other) return false;
          other = n->src[i];
        } else if (!ir_mul_ok(factor, number, &factor) || !is_small(factor)) {
          return false;
        }
      }
      pending[count].ref = other, pending[count++].factor = factor;
    } else {
      return false;
    }
  }
  return true;
}

/* Does every loop around the store that may have two iterations have a term? */
static bool moves_with_loops(const finder *f, const access *p) {
  for (ir_ref loop = f->regions.region[p->store]; loop; loop = f->regions.region[loop]) {
    ir_ref range = ir_src(f->g, loop, 0);
    uint32_t i = 0;
    while (i < p->count && (p->terms[i].range != range || !p->terms[i].factor)) i++;
    if (i == p->count && ir_bounds_of(f->g, range).hi > 0) return false;
  }
  return true;
}

static int by_factor(const void *a, const void *b) {
  int64_t x = llabs(((const term *)a)->factor), y = llabs(((const term *)b)->factor);
  return (x > y) - (x < y);
}

/* Are the terms the digits of a mixed-radix number, above a lowest digit in [0, low]? Sorts them by
 * factor. */
static bool are_digits(term *terms, uint32_t count, int64_t low) {
  qsort(terms, count, sizeof *terms, by_factor);
  for (uint32_t i = 0; i < count; i++) {
    if (terms[i].hi == 0) continue;
    if (llabs(terms[i].factor) <= low || !is_small(low)) return false;
    low += llabs(terms[i].factor) * terms[i].hi;
  }
  return true;
}

static bool is_common(const access *b, const term *t) {
  for (uint32_t i = 0; i < b->count; i++)
    if (b->terms[i].range == t->range) return b->terms[i].factor == t->factor;
  return false;
}

typedef struct interval {
  int64_t lo, hi;
} interval;

/* The interval of a's index without the terms that b's index has as well; these terms go to common[]. False
 * if a value is too large. */
static bool other_terms(const access *a, const access *b, term *common, uint32_t *common_count,
                        interval *out) {
  *out = (interval){a->constant, a->constant};
  *common_count = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    const term *t = &a->terms[i];
    if (is_common(b, t)) {
      common[(*common_count)++] = *t;
      continue;
    }
    *(t->factor < 0 ? &out->lo : &out->hi) += t->factor * t->hi;
    if (!is_small(out->lo) || !is_small(out->hi)) return false;
  }
  return true;
}

static bool are_disjoint(const access *a, const access *b) {
  term common[MOST_TERMS];
  uint32_t count;
  interval x, y;
  if (!other_terms(b, a, common, &count, &y) || !other_terms(a, b, common, &count, &x)) return false;
  if (x.hi >= y.lo && y.hi >= x.lo) return false;
  return are_digits(common, count, (x.hi > y.hi ? x.hi : y.hi) - (x.lo < y.lo ? x.lo : y.lo));
}

static bool each_element_once(finder *f) {
  for (uint32_t i = 0; i < f->count; i++) {
    access *p = &f->stores[i];
    if (!read_affine(f, p) || !moves_with_loops(f, p)) return false;
    term sorted[MOST_TERMS];
    memcpy(sorted, p->terms, p->count * sizeof *sorted);
    if (!are_digits(sorted, p->count, 0)) return false;
    for (uint32_t k = 0; k < i; k++)
      if (!are_disjoint(p, &f->stores[k])) return false;
  }
  return true;
}

/* Collects the stores, if every effect is a store to p0 or to a local. Returns the element size of p0 in
 * bytes, or 0 if there are other effects, or too many stores. */
static size_t find_stores(finder *f) {
  size_t bytes = 0;
  for (size_t i = 0; i < f->regions.count; i++) {
    ir_ref ref = f->regions.order[i];
    const ir_node *n = ir_get(f->g, ref);
    if (n->op == IR_OP_SEQ || n->op == IR_OP_LOOP || n->op == IR_OP_KERNEL || n->dtype != IR_NONE) continue;
    if (n->op != IR_OP_STORE || f->count == MOST_STORES) return 0;
    const ir_node *buffer = ir_get(f->g, n->src[0]);
    if (buffer->op == IR_OP_LOCAL) {
      if (f->local_count == MOST_LOCAL_STORES) return 0;
      f->local_stores[f->local_count++] = ref;
      f->local_after_output |= f->count > 0;
      continue;
    }
    if (buffer->op != IR_OP_PARAM || ir_arg_int(buffer) != 0) return 0;
    bytes = ir_dtypes[buffer->dtype].bytes;
    f->stores[f->count++] = (access){.store = ref, .index = n->src[1]};
  }
  return bytes;
}

static bool is_effect(const ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  return n->op == IR_OP_SEQ || n->op == IR_OP_STORE || (n->op == IR_OP_LOOP && ir_loop_carries(g, ref) == 0);
}

/* Does each effect have one user? `met` has regions.limit zeros, before and after. */
static bool have_one_user(const finder *f, uint8_t *met) {
  bool alone = true;
  for (size_t i = 0; i < f->regions.count; i++) {
    const ir_node *n = ir_get(f->g, f->regions.order[i]);
    for (uint32_t k = 0; k < n->nsrc; k++) {
      if (!is_effect(f->g, n->src[k])) continue;
      alone &= !met[n->src[k]];
      met[n->src[k]] = 1;
    }
  }
  memset(met, 0, f->regions.limit);
  return alone;
}

/* loads for locals */

static bool stands_in(const finder *f, ir_ref loop, ir_ref outer) {
  while (loop && loop != outer) loop = f->regions.region[loop];
  return loop == outer;
}

static void find_common_loop(finder *f) {
  ir_ref loop = f->regions.region[f->stores[0].store];
  for (uint32_t i = 1; i < f->count; i++)
    while (!stands_in(f, f->regions.region[f->stores[i].store], loop)) loop = f->regions.region[loop];
  for (uint32_t i = 0; i < f->local_count; i++)
    while (!stands_in(f, f->regions.region[f->local_stores[i]], loop)) loop = f->regions.region[loop];
  f->common_loop = loop;
}

/* Is it the range of the common loop, or of a loop around it? */
static bool is_outer(const finder *f, ir_ref range) {
  for (ir_ref loop = f->common_loop; loop; loop = f->regions.region[loop])
    if (ir_src(f->g, loop, 0) == range) return true;
  return false;
}

/* The terms of outer ranges; *others is extended by the interval of all other terms. False if a value is too
 * large. */
static bool outer_terms(const finder *f, const access *p, term *outer, uint32_t *count, interval *others) {
  interval x = {p->constant, p->constant};
  *count = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    const term *t = &p->terms[i];
    if (t->hi == 0 || t->factor == 0) continue;
    if (is_outer(f, t->range)) {
      outer[(*count)++] = *t;
      continue;
    }
    *(t->factor < 0 ? &x.lo : &x.hi) += t->factor * t->hi;
    if (!is_small(x.lo) || !is_small(x.hi)) return false;
  }
  if (x.lo < others->lo) others->lo = x.lo;
  if (x.hi > others->hi) others->hi = x.hi;
  return true;
}

/* Is it certain that no other iteration of the common loop stores what this one loads here? */
static bool loads_in_iteration(finder *f, ir_ref load) {
  access from = {.store = load, .index = ir_src(f->g, load, 1)};
  if (f->items || !f->common_loop || f->local_after_output || !read_affine(f, &from)) return false;
  for (uint32_t k = 0; k < f->count; k++) {
    term a[MOST_TERMS], b[MOST_TERMS];
    uint32_t a_count, b_count;
    interval others = {INT64_MAX, INT64_MIN};
    const access *to = &f->stores[k];
    if (!outer_terms(f, &from, a, &a_count, &others) || !outer_terms(f, to, b, &b_count, &others))
      return false;
    for (uint32_t i = 0; i < a_count; i++)
      if (!is_common(to, &a[i])) return false;
    if (a_count != b_count || !are_digits(a, a_count, others.hi - others.lo)) return false;
  }
  return true;
}

static uint32_t bit_of(const finder *f, ir_ref param) {
  int64_t slot = ir_arg_int(ir_get(f->g, param));
  return ir_op_of(f->g, param) == IR_OP_PARAM && slot > 0 && slot < 32 ? 1u << slot : 0;
}

/* The set of parameters all of whose loads are legal: a load for a store to p0 has the index of that store, a
 * load for a store to a local reads an element of the same iteration. `used` has regions.limit zeros. */
static ir_status sort_loads(finder *f, size_t bytes, uint8_t *used, uint32_t *set) {
  uint32_t good = 0, bad = 0;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  ir_status status = IR_OK;
  for (uint32_t k = 0; k < f->count + f->local_count && !status; k++) {
    bool local = k >= f->count;
    ir_ref store = local ? f->local_stores[k - f->count] : f->stores[k].store;
    status = ir_reachable(f->g, ir_get(f->g, store)->src + 1, 2, &live, &count, &cap);
    for (size_t i = 0; i < count && !status; i++) {
      const ir_node *n = ir_get(f->g, live[i]);
      used[live[i]] = 1;
      if (n->op != IR_OP_LOAD || !bit_of(f, n->src[0])) continue;
      if (local ? !loads_in_iteration(f, live[i]) : n->src[1] != f->stores[k].index)
        bad |= bit_of(f, n->src[0]);
    }
  }
  for (size_t i = 0; i < f->regions.count; i++) { /* loads with another use, such as an extent */
    const ir_node *n = ir_get(f->g, f->regions.order[i]);
    if (n->op != IR_OP_LOAD) continue;
    bool fits = used[f->regions.order[i]] && ir_dtypes[n->dtype].bytes == bytes;
    *(fits ? &good : &bad) |= bit_of(f, n->src[0]);
  }
  ir_free(f->g->mem, live, cap * sizeof *live);
  *set = good & ~bad;
  return status;
}

static ir_status check_loads(finder *f, size_t bytes, uint32_t *set, ir_error *error) {
  uint8_t *marks = ir_alloc(f->g->mem, f->regions.limit);
  ir_status status = marks ? IR_OK : IR_ERR_MEMORY;
  if (marks) memset(marks, 0, f->regions.limit);
  if (marks && have_one_user(f, marks)) {
    find_common_loop(f);
    status = sort_loads(f, bytes, marks, set);
  }
  ir_free(f->g->mem, marks, f->regions.limit);
  if (!status) return IR_OK;
  *set = 0;
  return ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
}

ir_status ir_in_place(ir_graph *g, ir_ref kernel, bool items, uint32_t *set, ir_error *error) {
  finder f = {.g = g, .items = items};
  *set = 0;
  if (ir_regions_find(g, kernel, &f.regions) != IR_OK)
    return ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
  size_t bytes = f.regions.escape ? 0 : find_stores(&f);
  ir_status status = IR_OK;
  if (bytes && each_element_once(&f)) status = check_loads(&f, bytes, set, error);
  ir_regions_free(&f.regions);
  return status;
}
