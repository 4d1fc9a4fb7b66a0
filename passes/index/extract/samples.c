/* An access at some points of its ranges. What fails at one of them needs no proof that it holds: most of
 * what the search for the cheapest access asks is refuted there, at a hundredth of a proof's price. */
#include "cheapest.h"

#include <string.h>

enum {
  POINTS = 64,   /* as many as the bits of a mask */
  FIRST = 16,    /* of them: anywhere; the others are next to those of them that are valid */
  NODES = 40,    /* nodes that are evaluated [30 in tests]: nothing is known of a larger access */
  ALL = 1024,    /* points that are evaluated in place of a proof: about its price */
  MOST = 1 << 30 /* of a range: products with coefficients of an access fit an int64_t */
};

struct access_samples {
  ir_graph *g;
  uint32_t nodes, ranges;
  uint64_t seed;
  ir_ref node[NODES];   /* operands before what uses them */
  uint8_t range[NODES]; /* which of the nodes are ranges */
  int64_t value[NODES][POINTS];
};

static int place_of(const access_samples *s, ir_ref node) {
  for (uint32_t i = 0; i < s->nodes; i++)
    if (s->node[i] == node) return (int)i;
  return -1;
}

static bool is_evaluated(ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  int64_t by;
  switch ((ir_op)n->op) {
  case IR_OP_CONST:
  case IR_OP_ADD:
  case IR_OP_MUL:
  case IR_OP_LT:
  case IR_OP_GE:
  case IR_OP_EQ:
  case IR_OP_AND: return true;
  case IR_OP_RANGE: return ir_is_const(g, n->src[0], &by) && by >= 1 && by <= MOST;
  case IR_OP_FLOORDIV: return ir_is_const(g, n->src[1], &by);
  default: return false;
  }
}

/* Lists the node after its operands; false where it, or one of them, is not evaluated. */
static bool add_node(access_samples *s, ir_ref ref) {
  const int64_t most = INT64_MAX / 2;
  const ir_node *n = ir_get(s->g, ref);
  if (place_of(s, ref) >= 0) return true;
  bool index = n->dtype == IR_INDEX;
  ir_bounds in = index ? ir_bounds_of(s->g, ref) : (ir_bounds){0};
  if (!is_evaluated(s->g, ref) || in.lo < -most || in.hi > most) return false;
  for (uint32_t i = 0; i < n->nsrc && n->op != IR_OP_RANGE; i++)
    if (!add_node(s, n->src[i])) return false;
  if (s->nodes == NODES) return false;
  if (n->op == IR_OP_RANGE) s->range[s->ranges++] = (uint8_t)s->nodes;
  s->node[s->nodes++] = ref;
  return true;
}

static uint64_t next_random(access_samples *s) {
  s->seed = s->seed * 0x5851f42d4c957f2du + 0x14057b7ef767814fu; /* of Knuth's MMIX, and an odd increment */
  return s->seed >> 33;
}

/* Any value of a range; its ends, where most conditions are decided, more often. */
static int64_t random_value(access_samples *s, int64_t size) {
  switch (next_random(s) % 3) {
  case 0: return 0;
  case 1: return size - 1;
  default: return (int64_t)(next_random(s) % (uint64_t)size);
  }
}

/* Evaluates an operation at the points from `begin` up to `end`. Sums and products of parts that do not fit
 * wrap around and back: their values fit. */
static void evaluate(access_samples *s, uint32_t at, int begin, int end) {
  const ir_node *n = ir_get(s->g, s->node[at]);
  int64_t *to = s->value[at], by = 1;
  const int64_t *x = n->nsrc && n->op != IR_OP_RANGE ? s->value[place_of(s, n->src[0])] : NULL;
  if (ir_is_const(s->g, s->node[at], &by)) {
    for (int p = begin; p < end; p++) to[p] = by;
  } else if (n->op == IR_OP_FLOORDIV) {
    ir_is_const(s->g, n->src[1], &by);
    for (int p = begin; p < end; p++) to[p] = ir_floor_div(x[p], by);
  } else if (x) {
    for (int p = begin; p < end; p++) to[p] = x[p];
    for (uint32_t i = 1; i < n->nsrc; i++) {
      const int64_t *y = s->value[place_of(s, n->src[i])];
      for (int p = begin; p < end; p++) switch ((ir_op)n->op) {
        case IR_OP_ADD: to[p] = (int64_t)((uint64_t)to[p] + (uint64_t)y[p]); break;
        case IR_OP_MUL: to[p] = (int64_t)((uint64_t)to[p] * (uint64_t)y[p]); break;
        case IR_OP_LT: to[p] = to[p] < y[p]; break;
        case IR_OP_GE: to[p] = to[p] >= y[p]; break;
        case IR_OP_EQ: to[p] = to[p] == y[p]; break;
        default: to[p] &= y[p]; break;
        }
    }
  }
}

static int64_t size_of(const access_samples *s, uint32_t range) {
  int64_t size = 1;
  ir_is_const(s->g, ir_src(s->g, s->node[s->range[range]], 0), &size);
  return size;
}

static void evaluate_all(access_samples *s, int begin, int end) {
  for (uint32_t i = 0; i < s->nodes; i++) evaluate(s, i, begin, end);
}

/* Each further point is a valid one but for one of its ranges, which takes another value. */
static void add_neighbours(access_samples *s, uint64_t valid) {
  for (int p = FIRST; p < POINTS; p++) {
    int from = (int)(next_random(s) % FIRST);
    for (int k = 0; k < FIRST && !(valid >> from & 1); k++) from = (from + 1) % FIRST;
    for (uint32_t r = 0; r < s->ranges; r++) s->value[s->range[r]][p] = s->value[s->range[r]][from];
    if (!s->ranges) continue;
    uint32_t r = (uint32_t)p % s->ranges;
    int64_t *value = &s->value[s->range[r]][p], size = size_of(s, r), step = next_random(s) % 2 ? 1 : -1;
    if (next_random(s) % 2 && *value + step >= 0 && *value + step < size) *value += step;
    else *value = random_value(s, size);
  }
}

/* The points up to `end` at which a bool expression holds. */
static uint64_t points_of(const access_samples *s, ir_ref valid, int end) {
  uint64_t where = 0;
  for (int p = 0; p < end; p++) where |= (uint64_t)s->value[place_of(s, valid)][p] << p;
  return where;
}

access_samples *cheapest_samples(ir_graph *g, ir_ref index, ir_ref valid, uint64_t *where_valid) {
  access_samples *s = ir_alloc(g->mem, sizeof *s);
  if (!s) return NULL;
  s->g = g, s->nodes = s->ranges = 0, s->seed = 1;
  bool known = add_node(s, index) && add_node(s, valid);
  if (!known) {
    cheapest_samples_free(g, s);
    return NULL;
  }
  for (uint32_t r = 0; r < s->ranges; r++)
    for (int p = 0; p < FIRST; p++) /* every other one inside a box, as far as chance goes */
      s->value[s->range[r]][p] =
          p % 2 ? random_value(s, size_of(s, r)) : (int64_t)(next_random(s) % (uint64_t)size_of(s, r));
  evaluate_all(s, 0, FIRST);
  add_neighbours(s, points_of(s, valid, FIRST));
  evaluate_all(s, FIRST, POINTS);
  *where_valid = points_of(s, valid, POINTS);
  return s;
}

void cheapest_samples_free(ir_graph *g, access_samples *s) { ir_free(g->mem, s, s ? sizeof *s : 0); }

static bool values_of(const access_samples *s, const pass_linear *form, int64_t *out) {
  for (int p = 0; p < POINTS; p++) out[p] = form->constant;
  for (uint32_t i = 0; i < form->count; i++) {
    int at = place_of(s, form->term[i].atom);
    int64_t part;
    if (at < 0) return false;
    for (int p = 0; p < POINTS; p++)
      if (!ir_mul_ok(form->term[i].coef, s->value[at][p], &part) || !ir_add_ok(out[p], part, &out[p]))
        return false;
  }
  return true;
}

uint64_t cheapest_sampled(const access_samples *s, const pass_linear *form, pass_interval in) {
  int64_t value[POINTS];
  uint64_t inside = 0;
  if (!s || !values_of(s, form, value)) return 0;
  for (int p = 0; p < POINTS; p++) inside |= (uint64_t)(value[p] >= in.lo && value[p] <= in.hi) << p;
  return inside;
}

bool cheapest_sampled_interval(const access_samples *s, const pass_linear *form, uint64_t at,
                               pass_interval *out) {
  int64_t value[POINTS];
  *out = (pass_interval){INT64_MAX, INT64_MIN};
  if (!s || !at || !values_of(s, form, value)) return false;
  for (int p = 0; p < POINTS; p++) {
    if (!(at >> p & 1)) continue;
    if (value[p] < out->lo) out->lo = value[p];
    if (value[p] > out->hi) out->hi = value[p];
  }
  return true;
}

/* Lists the atoms of the form and what the facts are about; the number of points of their ranges, 0: more
 * than are evaluated, or some are not. */
static int64_t list_all(access_samples *s, const pass_linear *form, const pass_facts *facts) {
  int64_t points = 1;
  bool known = true;
  for (uint32_t i = 0; i < form->count && known; i++) known = add_node(s, form->term[i].atom);
  for (uint32_t i = 0; facts && i < facts->count && known; i++) known = add_node(s, facts->fact[i].node);
  for (uint32_t r = 0; r < s->ranges && points <= ALL; r++)
    points *= size_of(s, r) > ALL ? ALL + 1 : size_of(s, r);
  return known && points <= ALL ? points : 0;
}

/* Evaluates the points from `first` on; which of them the facts allow. */
static uint64_t evaluate_from(access_samples *s, int64_t first, int count, const pass_facts *facts) {
  uint64_t inside = count == POINTS ? UINT64_MAX : ((uint64_t)1 << count) - 1;
  for (int p = 0; p < POINTS; p++) {
    int64_t left = first + (p < count ? p : 0);
    for (uint32_t r = 0; r < s->ranges; left /= size_of(s, r), r++)
      s->value[s->range[r]][p] = left % size_of(s, r);
  }
  evaluate_all(s, 0, POINTS);
  for (uint32_t i = 0; facts && i < facts->count; i++) {
    const int64_t *value = s->value[place_of(s, facts->fact[i].node)];
    for (int p = 0; p < count; p++)
      if (value[p] < facts->fact[i].in.lo || value[p] > facts->fact[i].in.hi) inside &= ~((uint64_t)1 << p);
  }
  return inside;
}

bool cheapest_every_point(pass_build *b, const pass_linear *form, pass_interval *out) {
  access_samples *s = ir_alloc(b->g->mem, sizeof *s);
  if (!s) return false;
  s->g = b->g, s->nodes = s->ranges = 0;
  int64_t points = list_all(s, form, b->facts);
  bool known = points > 0;
  *out = (pass_interval){INT64_MAX, INT64_MIN};
  for (int64_t first = 0; first < points && known; first += POINTS) {
    pass_interval in;
    int count = points - first < POINTS ? (int)(points - first) : POINTS;
    uint64_t inside = evaluate_from(s, first, count, b->facts);
    if (!inside) continue;
    if (!(known = cheapest_sampled_interval(s, form, inside, &in))) break;
    if (in.lo < out->lo) out->lo = in.lo;
    if (in.hi > out->hi) out->hi = in.hi;
  }
  cheapest_samples_free(b->g, s);
  return known && out->lo <= out->hi;
}
