/* Linear forms together with relations between their atoms.
 *
 * A quotient q = N//d is no free variable: N - d*q lies in [0, d-1]. For two quotients of one numerator by d1
 * and d2 = k*d1, the second is the first divided by k, so first - k*second lies in [0, k-1]. A validity adds
 * facts of the same kind: a linear form that lies between two numbers. All of these are rows of one small
 * system, which also has the intervals of the atoms. It answers two questions.
 *
 * How large can the form become? By Lagrangian relaxation, for any multipliers m of the rows,
 *   max(form) <= max over the intervals of (form - sum m*row) + sum of (m > 0 ? m*hi : m*lo),
 * a convex function of each multiplier whose slope changes only where a coefficient vanishes: each row in
 * turn gets the best such multiplier.
 *
 * Which digits does it consist of? Rows with a pivot, if possible an atom of coefficient +-1, eliminate the
 * pivots from the form one after the other: form = sum of coefficient * digit, where the digits are row forms
 * (x - 4*(x//4), the low digit of x) and the remaining atoms, each within its own interval and independent of
 * the others where sizes nest. */
#include "impl.h"

#include <string.h>

/* columns */

int pass_column_of(const pass_system *s, ir_ref atom) {
  for (uint32_t i = 0; i < s->atoms; i++)
    if (s->atom[i] == atom) return (int)i;
  return -1;
}

/* The atom's column, made if new; -1 when there is no room. */
static int column(pass_build *b, pass_system *s, ir_ref atom) {
  int at = pass_column_of(s, atom);
  if (at >= 0) return at;
  if (s->atoms == PASS_COLUMNS) return -1;
  uint32_t operand_depth = b->operand_depth;
  b->operand_depth = PASS_OPERAND_DEPTH; /* its operands' relations are rows */
  ir_bounds in = pass_bounds(b, atom);
  b->operand_depth = operand_depth;
  at = (int)s->atoms++;
  s->atom[at] = atom;
  s->in[at] = (pass_interval){in.lo, in.hi};
  s->form[at] = 0;
  for (uint32_t r = 0; r < s->rows; r++) s->row[r].coef[at] = 0;
  return at;
}

static pass_row *new_row(pass_system *s) {
  if (s->rows == PASS_ROWS) return NULL;
  pass_row *row = &s->row[s->rows];
  for (uint32_t i = 0; i < s->atoms; i++) row->coef[i] = 0;
  row->pivot = -1;
  row->quotient = 0;
  row->multiplier = 0;
  return row;
}

/* row += scale * form; the constant is moved into the interval */
static bool into_row(pass_build *b, pass_system *s, pass_row *row, const pass_linear *form, int64_t scale) {
  int64_t shift;
  for (uint32_t i = 0; i < form->count; i++) {
    int64_t c;
    uint32_t before = s->atoms;
    int at = column(b, s, form->term[i].atom);
    if (at < 0 || !ir_mul_ok(form->term[i].coef, scale, &c)) return false;
    if (s->atoms > before) row->coef[at] = 0;
    if (!ir_add_ok(row->coef[at], c, &row->coef[at])) return false;
  }
  return ir_mul_ok(form->constant, scale, &shift) && ir_sub_ok(row->in.lo, shift, &row->in.lo) &&
         ir_sub_ok(row->in.hi, shift, &row->in.hi);
}

/* Completes the row under construction and appends it to the order. */
static void close_row(pass_system *s, uint32_t place) {
  pass_row *row = &s->row[s->rows];
  row->used = 0;
  for (uint32_t i = 0; i < s->atoms; i++)
    if (row->coef[i] != 0) row->at[row->used++] = (uint8_t)i;
  s->order[s->rows++] = place;
}

/* quotients */

static bool by_number(const ir_graph *g, ir_ref atom, ir_ref *numerator, int64_t *d) {
  const ir_node *n = ir_get(g, atom);
  if (n->op != IR_OP_FLOORDIV || n->dtype != IR_INDEX || !ir_is_const(g, n->src[1], d) || *d < 2)
    return false;
  *numerator = n->src[0];
  return true;
}

/* The column of the quotient of this numerator by the largest proper divisor of d, -1: none; *factor = d /
 * divisor. */
static int parent_of(const ir_graph *g, const pass_system *s, ir_ref numerator, int64_t d, int64_t *factor) {
  int best = -1;
  int64_t most = 1, c;
  ir_ref x;
  for (uint32_t i = 0; i < s->atoms; i++)
    if (by_number(g, s->atom[i], &x, &c) && x == numerator && c < d && c > most && d % c == 0)
      best = (int)i, most = c;
  *factor = d / most;
  return best;
}

/* Makes the row of the quotient in this column. */
static void relate_quotient(pass_build *b, pass_system *s, uint32_t at, ir_ref numerator, int64_t d) {
  int64_t k;
  pass_linear form;
  int parent = parent_of(b->g, s, numerator, d, &k);
  pass_row *row = new_row(s);
  if (!row) return;
  row->in = (pass_interval){0, k - 1};
  row->quotient = s->atom[at];
  row->coef[at] = -k;
  if (parent >= 0) {
    row->coef[parent] = 1;
    row->pivot = parent;
  } else {
    pass_linear_read(b->g, numerator, &form);
    if (!into_row(b, s, row, &form, 1)) return;
    for (uint32_t i = 0; i < form.count; i++) /* the last atom with coefficient +-1, otherwise the first */
      if (form.term[i].coef == 1 || form.term[i].coef == -1 || i == 0)
        row->pivot = pass_column_of(s, form.term[i].atom);
  }
  close_row(s, s->rows);
}

/* Numerators may contain further quotients, so all columns are made before parents are searched for. */
static void relate_quotients(pass_build *b, pass_system *s) {
  ir_ref numerator;
  int64_t d;
  pass_linear form;
  for (uint32_t i = 0; i < s->atoms; i++) {
    if (!by_number(b->g, s->atom[i], &numerator, &d)) continue;
    pass_linear_read(b->g, numerator, &form);
    for (uint32_t k = 0; k < form.count; k++)
      if (column(b, s, form.term[k].atom) < 0) return;
  }
  for (uint32_t i = 0; i < s->atoms; i++)
    if (by_number(b->g, s->atom[i], &numerator, &d)) relate_quotient(b, s, i, numerator, d);
}

/* Orders the rows so that no later one reintroduces the pivot of an earlier one, and lets each column be the
 * pivot of one row only. In a cycle the first row loses its pivot. */
static void order_rows(pass_system *s) {
  for (uint32_t i = 0; i < s->rows; i++)
    for (uint32_t j = 0; j < i; j++)
      if (s->row[i].pivot >= 0 && s->row[i].pivot == s->row[j].pivot) s->row[i].pivot = -1;
  uint32_t done = 0;
  bool taken[PASS_ROWS] = {false};
  while (done < s->rows) {
    uint32_t pick = PASS_ROWS, first = PASS_ROWS;
    for (uint32_t i = 0; i < s->rows && pick == PASS_ROWS; i++) {
      if (taken[i]) continue;
      if (first == PASS_ROWS) first = i;
      bool free = true;
      for (uint32_t j = 0; j < s->rows && free && s->row[i].pivot >= 0; j++)
        free = j == i || taken[j] || s->row[j].pivot < 0 || s->row[j].coef[s->row[i].pivot] == 0;
      if (free) pick = i;
    }
    if (pick == PASS_ROWS) s->row[pick = first].pivot = -1;
    taken[pick] = true;
    s->order[done++] = pick;
  }
}

/* A fact about the same form as a row narrows the interval of the row. */
static void narrow_rows_by_facts(pass_build *b, pass_system *s) {
  pass_linear form;
  for (uint32_t f = 0; f < b->facts->count; f++) {
    pass_linear_read(b->g, b->facts->fact[f].node, &form);
    for (uint32_t r = 0; r < s->rows && form.count > 1; r++) {
      pass_row *row = &s->row[r];
      uint32_t same = 0, used = 0;
      for (uint32_t i = 0; i < s->atoms; i++) used += row->coef[i] != 0;
      for (uint32_t k = 0; k < form.count; k++) {
        int at = pass_column_of(s, form.term[k].atom);
        same += at >= 0 && row->coef[at] == form.term[k].coef;
      }
      if (same != form.count || used != same) continue;
      if (b->facts->fact[f].in.lo > row->in.lo) row->in.lo = b->facts->fact[f].in.lo;
      if (b->facts->fact[f].in.hi < row->in.hi) row->in.hi = b->facts->fact[f].in.hi;
    }
  }
}

/* Makes columns for quotients in facts about sums: they split numerators into digits that the form alone
 * would not. */
static void fact_columns(pass_build *b, pass_system *s) {
  pass_linear form;
  ir_ref numerator;
  int64_t d;
  for (uint32_t f = 0; f < b->facts->count; f++) {
    pass_linear_read(b->g, b->facts->fact[f].node, &form);
    for (uint32_t k = 0; k < form.count && form.count > 1; k++)
      if (by_number(b->g, form.term[k].atom, &numerator, &d) && column(b, s, form.term[k].atom) < 0) return;
  }
}

bool pass_system_of(pass_build *b, const pass_linear *in, pass_system *s) {
  s->atoms = s->rows = 0;
  s->constant = in->constant;
  b->g->budget_spent += 4 * (uint64_t)in->count;
  for (uint32_t i = 0; i < in->count; i++) {
    int at = column(b, s, in->term[i].atom);
    if (at < 0) return false;
    s->form[at] = in->term[i].coef;
  }
  if (pass_budget_exhausted(b->g)) return true;
  if (b->facts) fact_columns(b, s);
  relate_quotients(b, s);
  if (b->facts) narrow_rows_by_facts(b, s);
  order_rows(s);
  b->g->budget_spent += (uint64_t)s->rows * s->atoms;
  return true;
}

/* Adds each fact about a sum as a row without a pivot. */
static void add_facts(pass_build *b, pass_system *s) {
  pass_linear form;
  for (uint32_t i = 0; b->facts && i < b->facts->count; i++) {
    pass_linear_read(b->g, b->facts->fact[i].node, &form);
    pass_row *row = form.count > 1 ? new_row(s) : NULL; /* facts about single atoms are in their bounds */
    if (!row) continue;
    row->in = b->facts->fact[i].in;
    if (into_row(b, s, row, &form, 1)) close_row(s, s->rows);
  }
}

/* bounds */

typedef struct extent {
  bool finite;
  int64_t value;
} extent;

static extent plus(extent a, extent c) {
  extent r = {a.finite && c.finite, 0};
  r.finite = r.finite && ir_add_ok(a.value, c.value, &r.value);
  return r;
}

/* coef * (the end of the interval that maximizes it) */
static extent most_of(pass_interval in, int64_t coef) {
  int64_t end = coef > 0 ? in.hi : in.lo;
  extent r = {true, 0};
  if (coef == 0) return r;
  r.finite = end != (coef > 0 ? INT64_MAX : INT64_MIN) && ir_mul_ok(end, coef, &r.value) &&
             r.value != INT64_MIN; /* so that it may be negated */
  return r;
}

/* The part of the bound that depends on this row, with its multiplier changed by m. */
static extent bound_after_move(const pass_system *s, const pass_row *row, const int64_t *form, int64_t m) {
  int64_t to, scaled, c;
  if (!ir_add_ok(row->multiplier, m, &to)) return (extent){0};
  extent sum = most_of(row->in, to);
  for (uint32_t k = 0; k < row->used && sum.finite; k++) {
    uint32_t i = row->at[k];
    if (!ir_mul_ok(row->coef[i], m, &scaled) || !ir_sub_ok(form[i], scaled, &c)) return (extent){0};
    sum = plus(sum, most_of(s->in[i], c));
  }
  return sum;
}

static bool is_tighter(extent a, extent than) { return a.finite && (!than.finite || a.value < than.value); }

/* Moves the row's multiplier to its best value; true when it moved. */
static bool improve_multiplier(const pass_system *s, pass_row *row, int64_t *form) {
  int64_t best = 0;
  extent least = bound_after_move(s, row, form, 0);
  for (uint32_t k = 0; k < row->used; k++) {
    uint32_t i = row->at[k];
    if (row->coef[i] == -1 && form[i] == INT64_MIN) continue;
    int64_t whole = form[i] / row->coef[i];
    for (int64_t m = whole - 1; m <= whole + 1; m++) { /* if not an integer, both neighbours */
      if (m != whole && form[i] % row->coef[i] == 0) continue;
      extent e = bound_after_move(s, row, form, m);
      if (is_tighter(e, least)) least = e, best = m;
    }
  }
  extent none = bound_after_move(s, row, form, -row->multiplier);
  if (is_tighter(none, least)) best = -row->multiplier;
  if (best == 0) return false;
  for (uint32_t k = 0; k < row->used; k++)
    form[row->at[k]] -= best * row->coef[row->at[k]]; /* fits: bound_after_move() computed it */
  row->multiplier += best;
  return true;
}

/* Multipliers are integers. Scaling the form by a common multiple of the rows' coefficients makes them fine
 * enough. */
static int64_t common_scale(const pass_system *s) {
  const int64_t most = 1 << 20;
  int64_t scale = 1;
  for (uint32_t r = 0; r < s->rows; r++)
    for (uint32_t k = 0; k < s->row[r].used; k++) {
      int64_t c = ir_gcd(s->row[r].coef[s->row[r].at[k]], 0);
      if (c <= 1 || c > most) continue;
      int64_t times = c / ir_gcd(scale, c);
      if (times <= most / scale) scale *= times;
    }
  return scale;
}

static int64_t upper_bound(pass_system *s, int64_t scale, int sign) {
  enum { SWEEPS = 3 }; /* over all rows [3 in the workloads]: the bound holds after each */
  int64_t form[PASS_COLUMNS];
  extent sum = {true, 0};
  for (uint32_t i = 0; i < s->atoms; i++)
    if (!ir_mul_ok(s->form[i], sign * scale, &form[i])) return INT64_MAX;
  for (uint32_t r = 0; r < s->rows; r++) s->row[r].multiplier = 0;
  bool changed = true;
  for (int sweep = 0; sweep < SWEEPS && changed; sweep++) {
    changed = false;
    for (uint32_t r = 0; r < s->rows; r++)
      changed = improve_multiplier(s, &s->row[s->order[r]], form) || changed;
  }
  for (uint32_t r = 0; r < s->rows; r++) sum = plus(sum, most_of(s->row[r].in, s->row[r].multiplier));
  for (uint32_t i = 0; i < s->atoms; i++) sum = plus(sum, most_of(s->in[i], form[i]));
  return sum.finite ? ir_floor_div(sum.value, scale) : INT64_MAX;
}

pass_interval pass_linear_bounds(pass_build *b, const pass_linear *in) {
  pass_interval r = {in->constant, in->constant};
  bool related = b->facts != NULL;
  extent lo = {true, in->constant}, hi = lo;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_bounds x = pass_bounds(b, in->term[i].atom);
    pass_interval at = {x.lo, x.hi};
    extent down = in->term[i].coef == INT64_MIN ? (extent){0} : most_of(at, -in->term[i].coef);
    down.value = -down.value;
    lo = plus(lo, down), hi = plus(hi, most_of(at, in->term[i].coef));
    related = related || (ir_op_of(b->g, in->term[i].atom) == IR_OP_FLOORDIV && in->count > 1);
    if (in->term[i].coef == INT64_MIN) related = false;
  }
  r.lo = lo.finite ? lo.value : INT64_MIN;
  r.hi = hi.finite ? hi.value : INT64_MAX;
  pass_system s;
  if (!related || pass_budget_exhausted(b->g) || !pass_system_of(b, in, &s)) return r;
  add_facts(b, &s);
  if (s.rows == 0) return r;
  b->g->budget_spent += (uint64_t)s.rows * s.rows * s.atoms;
  int64_t scale = common_scale(&s), top = upper_bound(&s, scale, 1), bottom = upper_bound(&s, scale, -1), end;
  if (top != INT64_MAX && ir_add_ok(top, in->constant, &end) && end < r.hi) r.hi = end;
  if (bottom != INT64_MAX && ir_sub_ok(in->constant, bottom, &end) && end > r.lo) r.lo = end;
  return r;
}

/* intervals of the atoms */

/* Bounds of a row's form: the sums of the finite contributions, and the number of infinite ones on each
 * side. */
typedef struct row_bounds {
  int64_t least, most;
  uint32_t endless_below, endless_above;
} row_bounds;

static bool contribution_of(pass_interval in, int64_t coef, extent *least, extent *most) {
  if (coef == INT64_MIN) return false;
  *most = most_of(in, coef);
  *least = most_of(in, -coef);
  least->value = -least->value;
  return true;
}

static bool reach_of(const pass_system *s, const pass_row *row, row_bounds *out) {
  *out = (row_bounds){0};
  for (uint32_t k = 0; k < row->used; k++) {
    extent least, most;
    if (!contribution_of(s->in[row->at[k]], row->coef[row->at[k]], &least, &most)) return false;
    if (least.finite ? !ir_add_ok(out->least, least.value, &out->least) : (out->endless_below++, false))
      return false;
    if (most.finite ? !ir_add_ok(out->most, most.value, &out->most) : (out->endless_above++, false))
      return false;
  }
  return true;
}

/* Bounds propagation: coef * atom = row - other terms gives the atom's interval, in integers. True when it
 * shrank. */
static bool narrow(pass_system *s, const pass_row *row, const row_bounds *all, uint32_t at) {
  int64_t coef = row->coef[at], lo = INT64_MIN, hi = INT64_MAX, rest, end;
  extent least, most;
  if (!contribution_of(s->in[at], coef, &least, &most)) return false;
  bool below = all->endless_below == !least.finite,
       above = all->endless_above == !most.finite; /* the other terms are finite */
  if (row->in.hi != INT64_MAX && below && ir_sub_ok(all->least, least.finite ? least.value : 0, &rest) &&
      ir_sub_ok(row->in.hi, rest, &end) && end != INT64_MIN) {
    if (coef > 0) hi = ir_floor_div(end, coef);
    else lo = -ir_floor_div(end, -coef);
  }
  if (row->in.lo != INT64_MIN && above && ir_sub_ok(all->most, most.finite ? most.value : 0, &rest) &&
      ir_sub_ok(row->in.lo, rest, &end) && end != INT64_MIN) {
    if (coef > 0) lo = -ir_floor_div(-end, coef);
    else hi = ir_floor_div(-end, -coef);
  }
  bool smaller = lo > s->in[at].lo || hi < s->in[at].hi;
  if (lo > s->in[at].lo) s->in[at].lo = lo;
  if (hi < s->in[at].hi) s->in[at].hi = hi;
  return smaller;
}

/* Narrows all atoms by all rows until nothing changes, at most ITERATIONS times. False: some atom has no
 * value left. */
static bool narrow_all(pass_system *s) {
  /* [6 in the workloads]: intervals hold after each, and shaving goes on from there */
  enum { ITERATIONS = 6 };
  bool changed = true;
  for (int iteration = 0; iteration < ITERATIONS && changed; iteration++) {
    changed = false;
    for (uint32_t r = 0; r < s->rows; r++) {
      const pass_row *row = &s->row[r];
      row_bounds all;
      s->work -= row->used < s->work ? row->used : s->work;
      if (!reach_of(s, row, &all)) continue;
      for (uint32_t k = 0; k < row->used; k++) {
        if (!narrow(s, row, &all, row->at[k])) continue;
        if (s->in[row->at[k]].lo > s->in[row->at[k]].hi) return false;
        changed = true;
        if (!reach_of(s, row, &all)) break;
      }
    }
  }
  return true;
}

/* Is it shown that there is no solution with this atom in [lo, hi]? */
static bool contradicts(pass_system *s, uint32_t at, int64_t lo, int64_t hi) {
  pass_interval kept[PASS_COLUMNS];
  memcpy(kept, s->in, s->atoms * sizeof *kept);
  s->in[at] = (pass_interval){lo, hi};
  bool none = !narrow_all(s);
  memcpy(s->in, kept, s->atoms * sizeof *kept);
  return none;
}

/* Shaving: removes values at one end of an atom's interval that admit no solution. Steps double after a
 * success and restart at 1 after a failure. */
static bool shave(pass_system *s, uint32_t at, bool top) {
  /* of one end [12 in the workloads]: doubling steps remove up to 2^12 values; the interval holds after each
   */
  enum { TRIES = 12 };
  bool changed = false;
  int64_t step = 1;
  for (int i = 0; i < TRIES && s->work > 0; i++) {
    pass_interval *in = &s->in[at];
    if (in->lo == INT64_MIN || in->hi == INT64_MAX || in->lo >= in->hi) return changed;
    uint64_t span = (uint64_t)in->hi - (uint64_t)in->lo;
    if ((uint64_t)step > span) step = (int64_t)span;
    bool none =
        top ? contradicts(s, at, in->hi - step + 1, in->hi) : contradicts(s, at, in->lo, in->lo + step - 1);
    if (!none && step == 1) return changed;
    if (none) {
      if (top) in->hi -= step;
      else in->lo += step;
      changed = true;
    }
    step = none ? step * 2 : 1;
  }
  return changed;
}

/* Bounds propagation, then shaving of all atoms. False: there is no solution. */
static bool solve_system(pass_system *s) {
  enum {
    ITERATIONS = 2, /* of shaving all atoms: the second one finds what the first one's ends imply */
    /* looks at a coefficient while shaving, less than 100 us; the intervals hold after any number */
    MAX_WORK = 4000
  };
  bool changed = true;
  s->work = MAX_WORK;
  if (!narrow_all(s)) return false;
  for (int iteration = 0; iteration < ITERATIONS && changed && s->rows > 1; iteration++) {
    changed = false;
    for (uint32_t i = 0; i < s->atoms; i++) changed = shave(s, i, true) || shave(s, i, false) || changed;
    if (!narrow_all(s)) return false;
  }
  return true;
}

/* Makes columns for the atoms of all facts. False: no room, or no fact is about a sum. */
static bool system_of_facts(pass_build *b, pass_system *s) {
  pass_linear form;
  bool several = false;
  s->atoms = s->rows = s->work = 0;
  for (uint32_t i = 0; i < b->facts->count; i++) {
    pass_linear_read(b->g, b->facts->fact[i].node, &form);
    several = several || form.count > 1;
    for (uint32_t k = 0; k < form.count; k++)
      if (column(b, s, form.term[k].atom) < 0) return false;
  }
  return several;
}

void pass_facts_propagate(pass_build *b, pass_facts *facts, bool try_ends) {
  pass_system s;
  pass_build under = *b;
  under.facts = facts;
  if (facts->never || pass_budget_exhausted(b->g) || !system_of_facts(&under, &s)) return;
  relate_quotients(&under, &s);
  order_rows(&s);
  add_facts(&under, &s);
  b->g->budget_spent += (uint64_t)s.rows * s.atoms * (try_ends ? 40 : 4);
  facts->never = !(try_ends ? solve_system(&s) : narrow_all(&s));
  for (uint32_t i = 0; i < s.atoms && !facts->never; i++) {
    ir_bounds natural = ir_bounds_of(b->g, s.atom[i]);
    if (s.in[i].lo > natural.lo || s.in[i].hi < natural.hi)
      pass_facts_add(b, facts, s.atom[i], s.in[i].lo, s.in[i].hi);
  }
}

bool pass_linear_never(pass_build *b, const pass_linear *in, int64_t lo, int64_t hi) {
  pass_system s;
  if (pass_budget_exhausted(b->g) || !pass_system_of(b, in, &s)) return false;
  if (b->facts) {
    pass_system facts;
    if (system_of_facts(b, &facts))
      for (uint32_t i = 0; i < facts.atoms; i++)
        if (column(b, &s, facts.atom[i]) < 0) return false;
  }
  pass_row *row = new_row(&s);
  if (!row) return false;
  row->in = (pass_interval){lo, hi};
  if (!into_row(b, &s, row, in, 1)) return false;
  close_row(&s, s.rows);
  add_facts(b, &s);
  b->g->budget_spent += 40 * (uint64_t)s.rows * s.atoms;
  return !solve_system(&s);
}

/* digits */

/* Eliminates the pivot of row r from the form: the row's multiple becomes a digit. */
static bool eliminate_pivot(pass_digits *d, uint32_t r) {
  pass_system *s = &d->system;
  const pass_row *row = &s->row[r];
  int64_t m, scaled;
  if (row->pivot < 0 || s->form[row->pivot] == 0 || s->form[row->pivot] % row->coef[row->pivot] != 0)
    return true;
  m = s->form[row->pivot] / row->coef[row->pivot];
  for (uint32_t i = 0; i < s->atoms; i++)
    if (!ir_mul_ok(row->coef[i], m, &scaled) || !ir_sub_ok(s->form[i], scaled, &s->form[i])) return false;
  d->digit[d->count++] = (pass_digit){m, row->in, (int)r, -1};
  return true;
}

bool pass_digits_of(pass_build *b, const pass_linear *in, pass_digits *out) {
  pass_system *s = &out->system;
  out->count = 0;
  out->constant = in->constant;
  if (!pass_system_of(b, in, s)) return false;
  for (uint32_t r = 0; r < s->rows; r++)
    if (!eliminate_pivot(out, s->order[r])) return false;
  for (uint32_t i = 0; i < s->atoms; i++) {
    if (s->form[i] == 0) continue;
    if (out->count == PASS_DIGITS) return false;
    out->digit[out->count++] = (pass_digit){s->form[i], s->in[i], -1, (int)i};
  }
  return true;
}

bool pass_digits_sum(const ir_graph *g, const pass_digits *of, const int64_t *weight, int64_t constant,
                     pass_linear *out) {
  const pass_system *s = &of->system;
  int64_t sum[PASS_COLUMNS] = {0}, c;
  for (uint32_t k = 0; k < of->count; k++) {
    const pass_digit *digit = &of->digit[k];
    if (weight[k] == 0) continue;
    if (digit->row < 0 && !ir_add_ok(sum[digit->column], weight[k], &sum[digit->column])) return false;
    for (uint32_t i = 0; digit->row >= 0 && i < s->atoms; i++)
      if (!ir_mul_ok(s->row[digit->row].coef[i], weight[k], &c) || !ir_add_ok(sum[i], c, &sum[i]))
        return false;
  }
  pass_linear_const(out, constant);
  for (uint32_t i = 0; i < s->atoms; i++)
    if (!pass_linear_term(g, out, s->atom[i], sum[i])) return false;
  return true;
}
