/* Messages on facts about sizes that could not be decided: what is needed, what is known, and which
 * declaration of a variable would decide it. */
#include "check.h"

enum {
  NEED_BYTES = 200,  /* of the fact in a message; the remedy has the rest of its room */
  MAX_VARIABLES = 4, /* of a fact for which a remedy is looked for; those past the limit are not tried */
  SMALL_FACTOR = 64, /* divisors that are tried: all up to this one, which are what sizes are multiples of, */
  /* and its doubles up to this one; a remedy by another divisor is not found, or said */
  LARGE_FACTOR = 1 << 16
};

/* a cmp b; IR_OP_MOD stands for a % b == 0 */
typedef struct fact {
  ir_graph *g;
  ir_op cmp;
  ir_ref a, b;
} fact;

/* A variable and its declaration, actual or proposed. */
typedef struct declaration {
  ir_ref var;
  int64_t lo, hi, div;
} declaration;

static bool fact_holds(const fact *f, ir_ref a, ir_ref b) {
  return f->cmp == IR_OP_MOD ? pass_divides(f->g, b, a) : op_decided(f->g, f->cmp, a, b);
}

static bool decides(const fact *f, const declaration *d) {
  ir_graph *g = f->g;
  int64_t name = ir_get(g, d->var)->arg;
  if (d->lo > d->hi || ir_floor_div(d->hi, d->div) * d->div < d->lo) return false; /* no value is left */
  ir_ref other = ir_var(g, ir_name_text(g, name), ir_name_length(g, name), d->lo, d->hi, d->div);
  ir_ref a = other ? pass_substitute(g, f->a, &d->var, &other, 1) : 0;
  ir_ref b = other ? pass_substitute(g, f->b, &d->var, &other, 1) : 0;
  return a && b && fact_holds(f, a, b);
}

/* Raises the least value (or lowers the largest) as little as possible, by bisection, if that decides the
 * fact. */
static bool narrower(const fact *f, declaration *d, bool raise) {
  declaration most = *d;
  int64_t bad = raise ? d->lo : d->hi, good = raise ? d->hi : d->lo;
  *(raise ? &most.lo : &most.hi) = good;
  if (!decides(f, &most)) return false;
  while (good - bad > 1 || bad - good > 1) {
    int64_t middle = bad + (good - bad) / 2;
    *(raise ? &most.lo : &most.hi) = middle;
    if (decides(f, &most)) good = middle;
    else bad = middle;
  }
  *(raise ? &d->lo : &d->hi) = (raise ? -ir_floor_div(-good, d->div) : ir_floor_div(good, d->div)) * d->div;
  return true;
}

static bool divided(const fact *f, declaration *d) {
  declaration more = *d;
  for (int64_t by = 2; by <= LARGE_FACTOR; by = by < SMALL_FACTOR ? by + 1 : 2 * by) {
    if (!ir_mul_ok(d->div, by, &more.div) || more.div > d->hi) return false;
    if (!decides(f, &more)) continue;
    int64_t last = ir_floor_div(d->hi, more.div) * more.div;
    declaration only = {d->var, last, last, 1};
    *d = last - more.div < d->lo && decides(f, &only) ? only : more;
    return true;
  }
  return false;
}

/* a - b where the variable is `value`; false where that is no number. */
static bool difference_at(const fact *f, ir_ref var, int64_t value, int64_t *out) {
  ir_ref number = ir_index(f->g, value);
  ir_ref a = number ? pass_substitute(f->g, f->a, &var, &number, 1) : 0;
  ir_ref b = number ? pass_substitute(f->g, f->b, &var, &number, 1) : 0;
  ir_ref apart = a && b ? pass_sub(f->g, a, b) : 0;
  return apart && ir_is_const(f->g, apart, out);
}

/* The value of the variable that makes both sides equal, by bisection: right where their difference is
 * monotone. */
static bool single(const fact *f, declaration *d) {
  int64_t lo = -ir_floor_div(-d->lo, d->div), hi = ir_floor_div(d->hi, d->div), at_lo, at, found;
  if (lo > hi || !difference_at(f, d->var, lo * d->div, &at_lo)) return false;
  if (at_lo == 0) hi = lo;
  while (lo < hi) { /* the sign at lo changes at or before hi */
    int64_t middle = lo + (hi - lo) / 2;
    if (!difference_at(f, d->var, middle * d->div, &at)) return false;
    if (at == 0 || (at < 0) != (at_lo < 0)) hi = middle;
    else lo = middle + 1;
  }
  found = lo * d->div;
  declaration only = {d->var, found, found, 1};
  if (!decides(f, &only)) return false;
  *d = only;
  return true;
}

static bool decided_by(const fact *f, declaration *d) {
  bool equality = f->cmp == IR_OP_EQ || f->cmp == IR_OP_MOD;
  if (equality && (divided(f, d) || (f->cmp == IR_OP_EQ && single(f, d)))) return true;
  return !equality && (narrower(f, d, true) || narrower(f, d, false) || divided(f, d));
}

/* The variables of the fact, at most MAX_VARIABLES. */
static uint32_t variables(const fact *f, declaration *out) {
  ir_graph *g = f->g;
  ir_ref roots[2] = {f->a, f->b}, *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t found = 0;
  ir_status status = ir_reachable(g, roots, 2, &live, &count, &cap);
  for (size_t i = 0; i < count && status == IR_OK && found < MAX_VARIABLES; i++) {
    const ir_node *n = ir_get(g, live[i]);
    declaration *d = &out[found];
    if (n->op != IR_OP_VAR || n->nsrc != 3) continue;
    d->var = live[i];
    found += ir_is_const(g, n->src[0], &d->lo) && ir_is_const(g, n->src[1], &d->hi) &&
             ir_is_const(g, n->src[2], &d->div);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

static void remedy(const fact *f, ir_text *text) {
  declaration d[MAX_VARIABLES];
  ir_graph *g = f->g;
  ir_error before = *g->error; /* a failure in a trial is none */
  uint32_t count = variables(f, d), i = 0;
  while (i < count && !decided_by(f, &d[i])) i++;
  *g->error = before;
  if (i < count) {
    ir_text_str(text, "; declare ");
    ir_print_expr(g, d[i].var, text);
    ir_textf(text, "=%lld..%lld", (long long)d[i].lo, (long long)d[i].hi);
    if (d[i].div > 1) ir_textf(text, ":%lld", (long long)d[i].div);
  } else if (f->cmp == IR_OP_EQ && ir_op_of(g, f->a) == IR_OP_VAR && ir_op_of(g, f->b) == IR_OP_VAR) {
    ir_text_str(text, "; use one variable for both");
  }
}

static void add_known(ir_graph *g, ir_ref a, const char *lead, ir_text *text) {
  if (ir_is_const(g, a, NULL)) return;
  ir_bounds b = ir_bounds_of(g, a);
  ir_text_str(text, lead);
  if (b.lo != INT64_MIN) ir_textf(text, "%lld <= ", (long long)b.lo);
  ir_print_expr(g, a, text);
  if (b.hi != INT64_MAX) ir_textf(text, " <= %lld", (long long)b.hi);
  if (b.div > 1 && b.rem == 0) ir_textf(text, " in steps of %lld", (long long)b.div);
}

static bool disproved(const fact *f) {
  static const uint8_t opposite[IR_OP_COUNT] = {
      [IR_OP_EQ] = IR_OP_NE, [IR_OP_NE] = IR_OP_EQ, [IR_OP_LT] = IR_OP_GE,
      [IR_OP_GE] = IR_OP_LT, [IR_OP_LE] = IR_OP_GT, [IR_OP_GT] = IR_OP_LE};
  if (f->cmp == IR_OP_MOD) return ir_is_const(f->g, f->a, NULL) && ir_is_const(f->g, f->b, NULL);
  return pass_proves(f->g, (ir_op)opposite[f->cmp], f->a, f->b);
}

const char *op_words_fact(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b, op_words *out) {
  fact f = {g, cmp, a, b};
  ir_text text, more;
  if (!a || !b || disproved(&f)) return "";
  ir_text_init(&text, g->mem), ir_text_init(&more, g->mem);
  ir_text_str(&text, cmp == IR_OP_MOD ? "; needs (" : "; needs ");
  ir_print_expr(g, a, &text);
  ir_textf(&text, cmp == IR_OP_MOD ? "%s" : " %s ", ir_ops[cmp].infix);
  ir_print_expr(g, b, &text);
  if (cmp == IR_OP_MOD) ir_text_str(&text, ") == 0");
  add_known(g, a, ", known: ", &text);
  add_known(g, b, ir_is_const(g, a, NULL) ? ", known: " : ", ", &text);
  remedy(&f, &more);
  op_words_join(&text, NEED_BYTES, &more, out);
  return out->text;
}
