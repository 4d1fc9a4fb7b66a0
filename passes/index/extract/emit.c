/* Makes the nodes of a plan. Atoms are made in the order of their numbers, each followed by the temporaries
 * whose operands exist then. */
#include "impl.h"

typedef struct emission {
  extraction *x;
  const extract_plan *p;
  uint32_t atoms; /* made so far */
  ir_ref atom[EXTRACT_WIDTH];
} emission;

static ir_ref make_binary(emission *e, ir_op op, ir_ref a, ir_ref b) {
  return ir_make(e->x->g, op, IR_INDEX, 0, (ir_ref[]){a, b}, 2);
}

static ir_ref scaled(emission *e, ir_ref atom, int64_t by) {
  return by == 1 ? atom : make_binary(e, IR_OP_MUL, atom, ir_index(e->x->g, by));
}

/* The sum of the magnitudes of the terms of one sign; 0: none, or out of memory */
static ir_ref terms_of(emission *e, const int64_t *c, bool negative) {
  ir_ref src[EXTRACT_WIDTH];
  uint32_t n = 0;
  for (uint32_t i = 1; i < e->x->atoms + e->p->temps; i++) {
    if (c[i] == 0 || (c[i] < 0) != negative) continue;
    if (!(src[n++] = scaled(e, e->atom[i], negative ? -c[i] : c[i]))) return 0;
  }
  if (n < 2) return n ? src[0] : 0;
  return ir_make(e->x->g, IR_OP_ADD, IR_INDEX, 0, src, n);
}

/* The term to start a sum of negative terms with, preferably one that is multiplied anyway; 0: none. */
static uint32_t first_negative(const emission *e, const int64_t *c) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < e->x->atoms + e->p->temps; i++)
    if (c[i] < 0 && (!first || (c[first] == -1 && c[i] != -1))) first = i;
  return first;
}

static ir_ref sum_of(emission *e, const int64_t *c) {
  ir_graph *g = e->x->g;
  uint32_t width = e->x->atoms + e->p->temps, begun = 0;
  int64_t constant = c[0];
  ir_ref src[EXTRACT_WIDTH + 1], sum = 0;
  uint32_t n = 0, negative = 0;
  for (uint32_t i = 1; i < width; i++) {
    negative += c[i] < 0;
    if (c[i] > 0 && !(src[n++] = scaled(e, e->atom[i], c[i]))) return 0;
  }
  if (n == 0 && negative == 0) return ir_index(g, constant);
  if (n == 0 && constant > 0) src[n++] = ir_index(g, constant), constant = 0;
  if (n == 0) {
    begun = first_negative(e, c);
    if (!(src[n++] = scaled(e, e->atom[begun], c[begun]))) return 0;
  }
  if (constant && negative == (begun != 0)) src[n++] = ir_index(g, constant), constant = 0;
  sum = n == 1 ? src[0] : ir_make(g, IR_OP_ADD, IR_INDEX, 0, src, n);
  for (uint32_t i = 1; i < width && sum; i++)
    if (c[i] < 0 && i != begun) {
      ir_ref term = scaled(e, e->atom[i], -c[i]);
      sum = term ? make_binary(e, IR_OP_SUB, sum, term) : 0;
    }
  return sum && constant ? make_binary(e, IR_OP_ADD, sum, ir_index(g, constant)) : sum;
}

/* scale*s + rest `op` 0, for s an index node, as s `op` bound */
typedef struct bound {
  ir_op op;
  int64_t at;
  bool never; /* an equality that cannot hold */
} bound;

static bool bound_of(ir_op op, int64_t scale, int64_t rest, bound *out) {
  int64_t size = scale < 0 ? -scale : scale, at = ir_floor_div(rest, size);
  *out = (bound){op, 0, false};
  if (op == IR_OP_EQ || op == IR_OP_NE) {
    out->never = rest % size != 0;
    return rest != INT64_MIN && ir_mul_ok(at, scale < 0 ? 1 : -1, &out->at);
  }
  if (scale > 0) return ir_mul_ok(at, -1, &out->at);
  out->op = op == IR_OP_LT ? IR_OP_GE : IR_OP_LT;
  return ir_add_ok(at, 1, &out->at);
}

static ir_ref make_comparison(emission *e, ir_op op, ir_ref a, ir_ref b) {
  return a && b ? ir_make(e->x->g, op, IR_BOOL, 0, (ir_ref[]){a, b}, 2) : 0;
}

static bool sign_satisfies(ir_op op, int64_t value) {
  return op == IR_OP_LT ? value < 0 : op == IR_OP_GE ? value >= 0 : (value == 0) == (op == IR_OP_EQ);
}

static ir_ref compare_use(emission *e, ir_op op, const extract_use *use, int64_t rest, bool splits) {
  bound to;
  int64_t c[EXTRACT_WIDTH], scale = use->scale;
  bool plus = false, minus = false;
  uint32_t width = e->x->atoms + e->p->temps;
  for (uint32_t i = 0; i < width; i++) {
    c[i] = e->p->sum[use->sum].c[i];
    plus |= c[i] > 0;
    minus |= c[i] < 0;
  }
  if (!plus && !minus) return ir_bool(e->x->g, sign_satisfies(op, rest));
  for (uint32_t i = 0; i < width && !plus; i++) c[i] = -c[i];
  if (!bound_of(op, plus ? scale : -scale, rest, &to)) return 0;
  if (to.never) return ir_bool(e->x->g, op == IR_OP_NE);
  if (!splits) return make_comparison(e, to.op, sum_of(e, c), ir_index(e->x->g, to.at));
  ir_ref positive = terms_of(e, c, false), negative = terms_of(e, c, true);
  if (to.at == 0) return make_comparison(e, to.op, positive, negative);
  return make_comparison(e, to.op == IR_OP_LT ? IR_OP_GE : IR_OP_LT, negative,
                         positive); /* p < n+1 is n >= p */
}

/* Nested WHEREs: lo*scale + offset below the first threshold, and so on. */
static ir_ref choice(emission *e, uint32_t quotient) {
  const extract_alternative *alternative = &e->x->quotient[quotient].alternative[e->p->alternative[quotient]];
  const extract_use *use = &e->p->quotient[quotient];
  ir_graph *g = e->x->g;
  int64_t value, threshold, rest;
  ir_ref node = 0;
  for (int64_t v = alternative->hi; v >= alternative->lo; v--) {
    if (!ir_mul_ok(v, alternative->scale, &value) || !ir_add_ok(value, e->p->offset[quotient], &value))
      return 0;
    ir_ref here = ir_index(g, value);
    if (v == alternative->hi) {
      node = here;
      continue;
    }
    if (!ir_mul_ok(v + 1, alternative->by, &threshold) || !ir_sub_ok(use->rest, threshold, &rest)) return 0;
    ir_ref below = compare_use(e, IR_OP_LT, use, rest, extract_choice_splits(e->x, e->p, quotient));
    node = below && node ? ir_make(g, IR_OP_WHERE, IR_INDEX, 0, (ir_ref[]){below, here, node}, 3) : 0;
  }
  return node;
}

static ir_ref need_of(emission *e, int form) {
  int need = extract_need_of(e->x, form, 0);
  return need < 0 ? 0 : sum_of(e, e->p->sum[e->p->need[need].sum].c);
}

/* An operation taken as it is, on the extracted forms of its operands. */
static ir_ref rebuilt(emission *e, const extract_item *item) {
  extraction *x = e->x;
  ir_ref few[EXTRACT_ITEMS];
  const ir_node *n = ir_get(x->g, item->node);
  bool same = true;
  if (n->nsrc > EXTRACT_ITEMS) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    const extract_item *operand = extract_find(x, n->src[i]);
    few[i] = !operand                                   ? n->src[i]
             : ir_dtype_of(x->g, n->src[i]) == IR_INDEX ? need_of(e, operand->form)
                                                        : operand->made;
    if (!few[i]) return 0;
    same = same && few[i] == n->src[i];
  }
  return same ? item->node : ir_make(x->g, (ir_op)n->op, (ir_dtype)n->dtype, n->arg, few, n->nsrc);
}

/* Are the item's sources no part of the expression? */
static bool is_leaf(const extraction *x, const extract_item *item) {
  const ir_node *n = ir_get(x->g, item->node);
  return n->nsrc == 0 || n->op == IR_OP_RANGE || n->op == IR_OP_VAR || n->op == IR_OP_BOUND ||
         (item->form < 0 && ir_dtype_of(x->g, n->src[0]) != IR_INDEX &&
          ir_dtype_of(x->g, n->src[0]) != IR_BOOL);
}

static bool make_atom(emission *e, uint32_t i) {
  extraction *x = e->x;
  const extract_atom *a = &x->atom[i];
  ir_ref made = 0;
  if (a->item >= 0) {
    made = is_leaf(x, &x->item[a->item]) ? x->item[a->item].node : rebuilt(e, &x->item[a->item]);
  } else {
    const extract_alternative *alternative =
        &x->quotient[a->quotient].alternative[e->p->alternative[a->quotient]];
    const extract_use *use = &e->p->quotient[a->quotient];
    if (use->sum < 0) return true; /* not used */
    if (alternative->how == EXTRACT_CHOICE) {
      made = choice(e, (uint32_t)a->quotient);
    } else {
      ir_ref of = sum_of(e, e->p->sum[use->sum].c);
      made = of ? make_binary(e, alternative->how == EXTRACT_REMAINDER ? IR_OP_MOD : IR_OP_FLOORDIV, of,
                              ir_index(x->g, alternative->by))
                : 0;
    }
  }
  return (e->atom[i] = made) != 0;
}

static bool make_atoms(emission *e, uint32_t limit) {
  uint32_t first_temp = e->p->sums - e->p->temps;
  for (; e->atoms < limit; e->atoms++) {
    uint32_t i = e->atoms;
    if (!make_atom(e, i)) return false;
    for (uint32_t t = 0; t < e->p->temps; t++)
      if (e->p->rank[t] == i && !(e->atom[e->x->atoms + t] = sum_of(e, e->p->sum[first_temp + t].c)))
        return false;
  }
  return true;
}

static ir_ref make_bool(emission *e, const extract_item *item) {
  extraction *x = e->x;
  if (item->form < 0) return is_leaf(x, item) ? item->node : rebuilt(e, item);
  ir_op op = ir_op_of(x->g, item->node);
  op = op == IR_OP_GT ? IR_OP_LT : op == IR_OP_LE ? IR_OP_GE : op;
  int need = extract_need_of(x, item->form, op);
  if (need < 0) return 0;
  const extract_use *use = &e->p->need[need];
  return compare_use(e, op, use, use->rest, extract_need_splits(x, e->p, (uint32_t)need));
}

bool extract_emit(extraction *x, const extract_plan *p, ir_ref *roots, uint32_t count) {
  emission e = {.x = x, .p = p, .atoms = 1};
  for (uint32_t i = 0; i < x->items; i++) {
    extract_item *item = &x->item[i];
    if (!make_atoms(&e, item->atoms)) return false;
    if (ir_dtype_of(x->g, item->node) == IR_BOOL && !(item->made = make_bool(&e, item))) return false;
  }
  ir_ref made[EXTRACT_NEEDS];
  for (uint32_t i = 0; i < count; i++) {
    const extract_item *item = extract_find(x, roots[i]);
    made[i] = !item                                    ? roots[i]
              : ir_dtype_of(x->g, roots[i]) == IR_BOOL ? item->made
                                                       : need_of(&e, item->form);
    if (!made[i]) return false;
  }
  for (uint32_t i = 0; i < count; i++) roots[i] = made[i];
  return true;
}
