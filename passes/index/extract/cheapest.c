/* The cheapest form of an access: index and validity together. */
#include "cheapest.h"

#include "ir/arith.h"

enum {
  /* quotients of which loops find axes in any form; of more, the form that is printed has to lead back to the
   * canonical one, or is that one */
  FEW = 2,
  /* systems that are solved for one access [30 in tests]: of what comes later nothing is tried */
  PROOFS = 160,
  TIGHTEN = 3 /* values by which an end of an interval is moved inwards, one proof each */
};

static uint32_t quotients_of(const ir_graph *g, ir_ref index) {
  pass_linear sum;
  uint32_t count = 0;
  pass_linear_read(g, index, &sum);
  for (uint32_t i = 0; i < sum.count; i++) count += ir_op_of(g, sum.term[i].atom) == IR_OP_FLOORDIV;
  return count;
}

/* Would loops start from a worse canonical form than that of folding? Quotients ask for axes, so that they
 * have to be the same, or fewer. */
static bool is_worse(const ir_graph *g, ir_ref back, ir_ref canonical) {
  if (back == canonical) return false;
  if (ir_dtype_of(g, back) == IR_INDEX && quotients_of(g, back) >= quotients_of(g, canonical) &&
      quotients_of(g, canonical))
    return true;
  int now = extract_operations(g, &back, 1), before = extract_operations(g, &canonical, 1);
  return now < 0 || now > before;
}

/* Is it what the index that was folded leads back to, though that is another one? */
static bool is_home(cheapest_search *s, ir_ref back) {
  if (!s->home) s->home = cheapest_canonical_index(s->g, s->index, s->valid);
  return back == s->home;
}

/* Has it fewer operations, and no other quotients but of ranges alone, which are axes as they are? */
static bool is_simpler(const ir_graph *g, ir_ref back, ir_ref canonical) {
  pass_linear sum, other;
  pass_linear_read(g, back, &sum), pass_linear_read(g, canonical, &other);
  for (uint32_t i = 0; i < sum.count; i++) {
    ir_ref atom = sum.term[i].atom;
    bool known = ir_op_of(g, atom) != IR_OP_FLOORDIV || pass_linear_coef(&other, atom);
    if (!known && ir_op_of(g, ir_src(g, atom, 0)) != IR_OP_RANGE) return false;
  }
  int now = extract_operations(g, &back, 1);
  return now >= 0 && now < extract_operations(g, &canonical, 1) &&
         quotients_of(g, back) <= quotients_of(g, canonical);
}

/* Does it hold on several intervals of a sum, so that loops would be split at the ends of each? A value that
 * a range leaves out is a cheap one. */
static bool has_intervals(const ir_graph *g, ir_ref valid) {
  const ir_node *n = ir_get(g, valid);
  bool found = n->op == IR_OP_OR || (n->op == IR_OP_NE && ir_op_of(g, n->src[0]) == IR_OP_ADD);
  for (uint32_t i = 0; n->op == IR_OP_AND && i < n->nsrc; i++) found |= has_intervals(g, n->src[i]);
  return found;
}

static int operations_apart(const ir_graph *g, ir_ref index, ir_ref valid) {
  return extract_operations(g, &index, 1) + extract_operations(g, &valid, 1);
}

bool cheapest_keep(cheapest_search *s, ir_ref index, ir_ref valid) {
  ir_ref roots[] = {index, valid}, back;
  int cost = extract_operations(s->g, roots, 2), apart = operations_apart(s->g, index, valid);
  if (cost < 0 || cost > s->cost || (cost == s->cost && apart >= s->apart)) return true;
  if (valid != s->best_valid) {
    if (!(back = cheapest_canonical_validity(s->g, valid))) return false;
    if (is_worse(s->g, back, s->valid) || (has_intervals(s->g, back) && back != s->valid)) return true;
  }
  if (index != s->best_index) {
    if (!(back = cheapest_canonical_index(s->g, index, s->valid))) return false;
    if (is_worse(s->g, back, s->index) && !is_simpler(s->g, back, s->index) && !is_home(s, back))
      return s->home != 0;
  }
  s->best_index = index, s->best_valid = valid, s->cost = cost, s->apart = apart;
  return true;
}

bool cheapest_offer(cheapest_search *s, ir_ref index, ir_ref valid) {
  ir_ref roots[] = {index, valid};
  if (!index || !valid || !pass_extract(s->g, &pass_print_costs, roots, 2))
    return s->g->error->status == IR_OK;
  return cheapest_keep(s, roots[0], roots[1]);
}

/* Do the ends differ by `most` or more, even if moved inwards by so many values? */
static bool is_wide(pass_interval r, int64_t moved, int64_t most) {
  int64_t apart;
  return ir_sub_ok(r.hi, r.lo, &apart) && apart - moved >= most;
}

pass_interval cheapest_bounds(pass_build *b, const pass_linear *form, pass_interval taken, int64_t most) {
  pass_interval r;
  if (cheapest_every_point(b, form, &r)) return r;
  r = pass_linear_bounds(b, form);
  if (!b->facts || r.lo == INT64_MIN || r.hi == INT64_MAX || is_wide(r, 2 * TIGHTEN, most)) return r;
  for (int k = 0; k < TIGHTEN && r.lo < r.hi && r.lo != taken.lo && pass_linear_never(b, form, r.lo, r.lo);
       k++)
    r.lo++;
  if (is_wide(r, TIGHTEN, most)) return r;
  for (int k = 0; k < TIGHTEN && r.lo < r.hi && r.hi != taken.hi && pass_linear_never(b, form, r.hi, r.hi);
       k++)
    r.hi--;
  return r;
}

/* Has the index fewer quotients, all of which are in the other one, too? */
static bool drops_quotients(const ir_graph *g, ir_ref index, ir_ref other) {
  pass_linear sum, more;
  pass_linear_read(g, index, &sum), pass_linear_read(g, other, &more);
  for (uint32_t i = 0; i < sum.count; i++)
    if (ir_op_of(g, sum.term[i].atom) == IR_OP_FLOORDIV && !pass_linear_coef(&more, sum.term[i].atom))
      return false;
  return quotients_of(g, index) < quotients_of(g, other);
}

/* Extracts the pair as it was folded, and sets what the search begins from. *open: a search may follow, since
 * what was extracted leads back to what was folded. Where it leads to an index with fewer quotients, that is
 * begun from: each time there are fewer, so this ends. */
static bool begin(cheapest_search *s, bool *open) {
  ir_graph *g = s->g;
  ir_ref back = 0;
  for (;; s->index = back, s->home = 0) {
    ir_ref roots[] = {s->index, s->valid};
    if (!pass_extract(g, &pass_print_costs, roots, 2)) return false;
    *open = quotients_of(g, s->index) <= FEW;
    if (!*open) {
      if (!(back = cheapest_canonical_index(g, roots[0], s->valid))) return false;
      *open = back == s->index || is_home(s, back);
    }
    s->best_index = *open ? roots[0] : s->index, s->best_valid = *open ? roots[1] : s->valid;
    if (*open || !drops_quotients(g, back, s->index)) break;
  }
  s->cost = extract_operations(g, (ir_ref[]){s->best_index, s->best_valid}, 2);
  s->apart = operations_apart(g, s->best_index, s->best_valid);
  return *open || s->home;
}

bool pass_extract_access(ir_graph *g, ir_ref *index, ir_ref *valid) {
  cheapest_search s = {.g = g, .index = *index, .valid = *valid, .implied = *valid, .proofs = PROOFS};
  bool open;
  pass_index_begin(g);
  if (!begin(&s, &open)) return false;
  bool trivial = !open || s.cost <= 1; /* or too long to be counted */
  if (!trivial) s.samples = cheapest_samples(g, s.index, *valid, &s.sampled_valid);
  bool done = trivial || (cheapest_values(&s) && cheapest_clauses(&s) && cheapest_quotients(&s));
  for (int cost = s.cost + 1; done && s.cost < cost && open;) {
    cost = s.cost;
    done = cheapest_offer(&s, s.best_index, s.best_valid);
  }
  cheapest_samples_free(g, s.samples);
  *index = s.best_index;
  *valid = s.best_valid;
  return done;
}
