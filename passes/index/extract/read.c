/* Reads expressions: every index node as a form over atoms, every quotient in lowest terms. */
#include "impl.h"

#include <string.h>

static uint32_t slot_of(const extraction *x, ir_ref node) {
  uint32_t at = node * 0x9e3779b1u >> 23;
  while (x->slot[at] && x->item[x->slot[at] - 1].node != node) at = (at + 1) % EXTRACT_SLOTS;
  return at;
}

extract_item *extract_find(extraction *x, ir_ref node) {
  uint32_t at = x->slot[slot_of(x, node)];
  return at ? &x->item[at - 1] : NULL;
}

int extract_need_of(const extraction *x, int form, int compare) {
  for (uint32_t i = 0; i < x->needs; i++)
    if (x->need[i].form == form && x->need[i].compare == compare) return (int)i;
  return -1;
}

static bool need(extraction *x, int form, int compare) {
  if (form < 0) return false;
  if (extract_need_of(x, form, compare) >= 0) return true;
  if (x->needs == EXTRACT_NEEDS) return false;
  x->need[x->needs++] = (extract_need){(int16_t)form, (uint8_t)compare};
  return true;
}

/* collecting nodes */

static bool in_expression(const ir_graph *g, ir_ref ref) {
  ir_dtype type = ir_dtype_of(g, ref);
  return type == IR_INDEX || type == IR_BOOL;
}

/* A node whose sources are not part of the expression. */
static bool is_leaf(const ir_graph *g, const ir_node *n) {
  if (n->op == IR_OP_RANGE || n->op == IR_OP_VAR || n->op == IR_OP_BOUND || n->nsrc == 0) return true;
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (!in_expression(g, n->src[i])) return true;
  return false;
}

static bool note_node(extraction *x, ir_ref node) {
  uint32_t at = slot_of(x, node);
  if (x->slot[at] || ir_op_of(x->g, node) == IR_OP_CONST) return true;
  if (x->items == EXTRACT_ITEMS || !in_expression(x->g, node)) return false;
  x->item[x->items++] = (extract_item){.node = node, .form = -1, .atom = -1};
  x->slot[at] = (uint8_t)x->items;
  return true;
}

static void sort_items(extraction *x,
                       bool (*before)(const ir_graph *g, const extract_item *a, const extract_item *b)) {
  for (uint32_t i = 1; i < x->items; i++) {
    extract_item moved = x->item[i];
    uint32_t j = i;
    for (; j > 0 && before(x->g, &moved, &x->item[j - 1]); j--) x->item[j] = x->item[j - 1];
    x->item[j] = moved;
  }
  memset(x->slot, 0, sizeof x->slot);
  for (uint32_t i = 0; i < x->items; i++) x->slot[slot_of(x, x->item[i].node)] = (uint8_t)(i + 1);
}

/* operands before their users */
static bool lies_before(const ir_graph *g, const extract_item *a, const extract_item *b) {
  return ir_compare(g, a->node, b->node) < 0;
}

/* By level, then divisor: nothing depends on which node was made first. */
static bool lies_below(const ir_graph *g, const extract_item *a, const extract_item *b) {
  if (a->level != b->level) return a->level < b->level;
  return a->by != b->by ? a->by < b->by : lies_before(g, a, b);
}

static void find_levels(extraction *x) {
  for (uint32_t i = 0; i < x->items; i++) {
    extract_item *item = &x->item[i];
    const ir_node *n = ir_get(x->g, item->node);
    bool quotient = n->dtype == IR_INDEX && (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) &&
                    ir_is_const(x->g, n->src[1], &item->by);
    if (!quotient) item->by = INT64_MAX;
    for (uint32_t j = 0; !is_leaf(x->g, n) && j < n->nsrc; j++) {
      const extract_item *operand = extract_find(x, n->src[j]);
      if (operand && operand->level + quotient > item->level)
        item->level = (uint8_t)(operand->level + quotient);
    }
  }
}

/* All nodes below the roots, operands before their users. */
bool extract_collect(extraction *x, const ir_ref *roots, uint32_t count) {
  memset(x->slot, 0, sizeof x->slot);
  x->items = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!note_node(x, roots[i])) return false;
  for (uint32_t i = 0; i < x->items; i++) {
    const ir_node *n = ir_get(x->g, x->item[i].node);
    for (uint32_t j = 0; !is_leaf(x->g, n) && j < n->nsrc; j++)
      if (!note_node(x, n->src[j])) return false;
  }
  sort_items(x, lies_before);
  find_levels(x);
  sort_items(x, lies_below);
  return true;
}

/* atoms */

static int add_atom(extraction *x, int item, int quotient, int64_t lo, int64_t hi) {
  if (x->atoms == EXTRACT_ATOMS) return -1;
  x->atom[x->atoms] = (extract_atom){(int16_t)item, (int16_t)quotient, lo, hi};
  return (int)x->atoms++;
}

/* Makes the item an atom. */
static bool as_atom(extraction *x, extract_item *item) {
  ir_bounds in = ir_bounds_of(x->g, item->node);
  int form = extract_form_new(x), atom = add_atom(x, (int)(item - x->item), -1, in.lo, in.hi);
  if (form < 0 || atom < 0) return false;
  x->form[form].c[atom] = 1;
  item->form = (int16_t)form;
  item->atom = (int16_t)atom;
  return true;
}

/* to += scale * node */
static bool add_node(extraction *x, int64_t *to, ir_ref node, int64_t scale) {
  int64_t value;
  if (ir_is_const(x->g, node, &value))
    return ir_mul_ok(value, scale, &value) && ir_add_ok(to[0], value, &to[0]);
  const extract_item *item = extract_find(x, node);
  return item && item->form >= 0 && extract_form_add(x, to, x->form[item->form].c, scale);
}

/* quotients */

/* old n = d*out + new n, with coefficients of n in (-d/2, d/2] and its constant in [0, d) */
static void extract_multiples(const extraction *x, int64_t *n, int64_t d, int64_t *out) {
  for (uint32_t i = 0; i < x->atoms; i++) {
    out[i] = ir_floor_div(n[i], d);
    n[i] = ir_floor_mod(n[i], d);
    if (i && n[i] > d - n[i]) n[i] -= d, out[i]++;
  }
}

/* (g*m + s)//(g*b) = (m + k)//b where s always lies in [k*g, (k+1)*g): terms too small to matter are dropped.
 * s consists of the terms that g does not divide and, unless digit is NULL, of the digit k*(m - a*(m//a)). */
static bool drop_small(const extraction *x, int64_t *n, int64_t *d, int64_t g, const extract_quotient *digit,
                       int64_t k) {
  int64_t small[EXTRACT_ATOMS] = {0}, lo, hi;
  bool some = false;
  int64_t apart;
  if (digit && (!extract_form_add(x, small, x->form[digit->of].c, k) ||
                !ir_mul_ok(k, -digit->by, &small[digit->atom])))
    return false;
  for (uint32_t i = 1; i < x->atoms; i++) {
    if (!ir_sub_ok(n[i], small[i], &apart)) return false;
    if (apart % g) small[i] = n[i];
    some |= small[i] != 0;
  }
  small[0] = n[0];
  if (!some || !extract_form_range(x, small, &lo, &hi) || ir_floor_div(lo, g) != ir_floor_div(hi, g))
    return false;
  for (uint32_t i = 1; i < x->atoms; i++) n[i] = (n[i] - small[i]) / g;
  n[0] = ir_floor_div(lo, g);
  *d /= g;
  return true;
}

static bool drop_any(const extraction *x, int64_t *n, int64_t *d) {
  for (uint32_t i = 1; i < x->atoms; i++) {
    int64_t g = ir_gcd(n[i], *d);
    if (n[i] && g > 1 && drop_small(x, n, d, g, NULL, 0)) return true;
  }
  for (uint32_t i = 0; i < x->quotients; i++) {
    const extract_quotient *q = &x->quotient[i];
    const int64_t *m = x->form[q->of].c;
    uint32_t first = 1;
    while (first < x->atoms && m[first] == 0) first++;
    if (n[q->atom] == 0 || n[first] == 0 || n[first] % m[first]) continue;
    int64_t k = n[first] / m[first], left;
    if (!ir_mul_ok(k, q->by, &left) || !ir_add_ok(left, n[q->atom], &left)) continue;
    int64_t g = ir_gcd(left, *d);
    if (g > 1 && drop_small(x, n, d, g, q, k)) return true;
  }
  return false;
}

/* Moves a quotient out of the numerator: (m//a + r)//b = (m + a*r)//(a*b), and since -(m//a) = (a-1 - m)//a,
 * (r - m//a)//b = (a*r + a-1 - m)//(a*b). */
static void flatten(const extraction *x, int64_t *n, int64_t *d) {
  for (uint32_t i = x->quotients; i-- > 0;) {
    const extract_quotient *q = &x->quotient[i];
    int64_t up[EXTRACT_ATOMS] = {0}, by, sign = n[q->atom];
    if ((sign != 1 && sign != -1) || !ir_mul_ok(*d, q->by, &by) || by > INT32_MAX) continue;
    n[q->atom] = 0;
    bool fits = extract_form_add(x, up, x->form[q->of].c, sign) && extract_form_add(x, up, n, q->by) &&
                ir_add_ok(up[0], sign < 0 ? q->by - 1 : 0, &up[0]);
    n[q->atom] = sign;
    if (!fits) continue;
    memcpy(n, up, x->atoms * sizeof *up);
    *d = by;
    return;
  }
}

/* Makes the first coefficient positive: n//d = -1 - (-1 - n)//d. True when it was negated. */
static bool mirror(const extraction *x, int64_t *n) {
  uint32_t first = 1;
  while (first < x->atoms && n[first] == 0) first++;
  if (first == x->atoms || n[first] > 0) return false;
  for (uint32_t i = 0; i < x->atoms; i++) n[i] = -n[i];
  n[0]--;
  return true;
}

/* Reduces scale * (n//d) to lowest terms: its value is the form added to out plus the new *scale * (n // *d).
 * False on overflow. */
static bool reduce_quotient(const extraction *x, int64_t *n, int64_t *d, int64_t *out, int64_t *scale) {
  int64_t rest[EXTRACT_ATOMS];
  for (int iteration = 0; iteration < 4; iteration++) {
    flatten(x, n, d);
    extract_multiples(x, n, *d, rest);
    if (!extract_form_add(x, out, rest, *scale)) return false;
    int64_t common = *d;
    for (uint32_t i = 1; i < x->atoms; i++) common = ir_gcd(common, n[i]);
    for (uint32_t i = 0; i < x->atoms && common > 1; i++) n[i] = ir_floor_div(n[i], common);
    *d /= common;
    if (!drop_any(x, n, d)) break;
  }
  extract_multiples(x, n, *d, rest);
  if (!extract_form_add(x, out, rest, *scale)) return false;
  if (*d == 1 || !mirror(x, n)) return true;
  if (!ir_sub_ok(out[0], *scale, &out[0])) return false;
  *scale = -*scale;
  extract_multiples(x, n, *d, rest);
  return extract_form_add(x, out, rest, *scale);
}

/* out += scale * of//d */
static bool read_quotient(extraction *x, ir_ref of, int64_t d, int64_t *out, int64_t scale) {
  int64_t n[EXTRACT_ATOMS] = {0}, by = d, lo, hi;
  int given = extract_form_new(x);
  if (given < 0 || !add_node(x, n, of, 1)) return false;
  memcpy(x->form[given].c, n, x->atoms * sizeof *n);
  if (!reduce_quotient(x, n, &d, out, &scale)) return false;
  bool known = extract_form_range(x, n, &lo, &hi);
  lo = known ? ir_floor_div(lo, d) : INT64_MIN, hi = known ? ir_floor_div(hi, d) : INT64_MAX;
  if (known && lo == hi) return ir_mul_ok(lo, scale, &lo) && ir_add_ok(out[0], lo, &out[0]);
  for (uint32_t i = 0; i < x->quotients; i++) {
    extract_quotient *q = &x->quotient[i];
    if (q->by == d && extract_form_equal(x, x->form[q->of].c, n))
      return ir_add_ok(out[q->atom], scale, &out[q->atom]);
  }
  int form = extract_form_new(x), atom = form < 0 ? -1 : add_atom(x, -1, (int)x->quotients, lo, hi);
  if (atom < 0 || x->quotients == EXTRACT_QUOTIENTS) return false;
  memcpy(x->form[form].c, n, x->atoms * sizeof *n);
  if (by != d || extract_form_equal(x, x->form[given].c, n)) given = -1;
  x->quotient[x->quotients++] =
      (extract_quotient){.atom = (uint8_t)atom, .of = (int16_t)form, .given = (int16_t)given, .by = d};
  out[atom] = scale;
  return true;
}

/* items */

static bool read_sum(extraction *x, extract_item *item, const ir_node *n) {
  int64_t c = 0, out[EXTRACT_ATOMS] = {0};
  const pass_extract_costs *costs = x->costs;
  bool done = true;
  switch ((ir_op)n->op) {
  case IR_OP_ADD:
    for (uint32_t i = 0; i < n->nsrc && done; i++) done = add_node(x, out, n->src[i], 1);
    x->cost += (int)(n->nsrc - 1) * costs->add;
    break;
  case IR_OP_SUB:
    done = add_node(x, out, n->src[0], 1) && add_node(x, out, n->src[1], -1);
    x->cost += costs->add;
    break;
  case IR_OP_NEG:
    done = add_node(x, out, n->src[0], -1);
    x->cost += costs->minus;
    break;
  case IR_OP_MUL:
    if (ir_is_const(x->g, n->src[1], &c)) done = add_node(x, out, n->src[0], c);
    else done = ir_is_const(x->g, n->src[0], &c) && add_node(x, out, n->src[1], c);
    x->cost += (c < 0 ? costs->minus : 0) + (c == -1 ? 0 : extract_cost_mul(costs, c));
    break;
  default:
    ir_is_const(x->g, n->src[1], &c);
    if (n->op == IR_OP_MOD) done = ir_mul_ok(-1, c, &c) && add_node(x, out, n->src[0], 1), c = -c;
    done = done && read_quotient(x, n->src[0], c, out, n->op == IR_OP_MOD ? -c : 1);
    x->cost += extract_cost_div(costs, c, n->op == IR_OP_MOD);
  }
  int form = done ? extract_form_new(x) : -1;
  if (form < 0) return false;
  memcpy(x->form[form].c, out, x->atoms * sizeof *out);
  item->form = (int16_t)form;
  return true;
}

static bool is_sum(const ir_graph *g, const ir_node *n) {
  int64_t c;
  if (n->dtype != IR_INDEX) return false;
  if (n->op == IR_OP_ADD || n->op == IR_OP_SUB || n->op == IR_OP_NEG) return true;
  if (n->nsrc == 2 && n->op == IR_OP_MUL && ir_is_const(g, n->src[0], &c)) return true;
  if (n->nsrc != 2 || !ir_is_const(g, n->src[1], &c)) return false;
  return n->op == IR_OP_MUL || ((n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) && c >= 1);
}

/* A comparison of indices as form < 0, >= 0, == 0 or != 0; returns which, or 0. */
static int read_compare(extraction *x, extract_item *item, const ir_node *n) {
  int64_t out[EXTRACT_ATOMS] = {0};
  bool swapped = n->op == IR_OP_GT || n->op == IR_OP_LE;
  int op = n->op == IR_OP_GT ? IR_OP_LT : n->op == IR_OP_LE ? IR_OP_GE : n->op;
  if (!add_node(x, out, n->src[swapped], 1) || !add_node(x, out, n->src[!swapped], -1)) return 0;
  int form = extract_form_new(x);
  if (form < 0) return 0;
  memcpy(x->form[form].c, out, x->atoms * sizeof *out);
  item->form = (int16_t)form;
  return op;
}

static bool read_item(extraction *x, extract_item *item) {
  const ir_node *n = ir_get(x->g, item->node);
  if (is_leaf(x->g, n)) return true;
  if (is_sum(x->g, n)) return read_sum(x, item, n);
  if (ir_ops[n->op].cls == IR_CLASS_COMPARE && ir_dtype_of(x->g, n->src[0]) == IR_INDEX) {
    int op = read_compare(x, item, n);
    return op && need(x, item->form, op);
  }
  /* Taken as it is, over operands that must be computed. */
  for (uint32_t i = 0; i < n->nsrc; i++) {
    const extract_item *operand = extract_find(x, n->src[i]);
    if (operand && ir_dtype_of(x->g, n->src[i]) == IR_INDEX && !need(x, operand->form, 0)) return false;
  }
  return n->dtype == IR_BOOL || as_atom(x, item);
}

bool extract_read(extraction *x, const ir_ref *roots, uint32_t count) {
  x->forms = x->quotients = x->needs = 0;
  x->cost = 0;
  x->atoms = 1;
  if (!extract_collect(x, roots, count)) return false;
  for (uint32_t i = 0; i < x->items; i++)
    if (ir_dtype_of(x->g, x->item[i].node) == IR_INDEX && is_leaf(x->g, ir_get(x->g, x->item[i].node)) &&
        !as_atom(x, &x->item[i]))
      return false;
  for (uint32_t i = 0; i < x->items; i++) {
    if (!read_item(x, &x->item[i])) return false;
    x->item[i].atoms = (uint8_t)x->atoms;
  }
  for (uint32_t i = 0; i < count; i++) {
    const extract_item *item = extract_find(x, roots[i]);
    if (item && ir_dtype_of(x->g, roots[i]) == IR_INDEX && !need(x, item->form, 0)) return false;
  }
  return true;
}
