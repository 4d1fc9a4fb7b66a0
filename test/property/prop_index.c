/* Index algebra against plain evaluation.
 *
 *   prop_index --seed S --count N [--from CASE]
 *
 * Each case makes a random expression over a few ranges and variables twice, once from plain nodes and once
 * through the canonical builders, and evaluates both for every assignment of these. It checks that the facts
 * of every node (interval, congruence) contain every value seen, that simplifying a simplified form gives the
 * same node and makes no new one (and counts the forms that the builders alone left to simplify), that
 * simplifying the plain form gives the canonical node, that every statement reported as proven is true, and
 * that an index simplified under a validity is unchanged wherever that validity holds. On failure the
 * smallest failing sub-expression is printed. A rule that no case of a long run fires is a failure too. */
#include "ir/ir.h"
#include "passes/index/index.h"
#include "passes/index/rule.h"
#include "test/lib/random_graph.h"
#include "test/lib/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 5, LANES = 1024, PAIRS = 256, NODES = 4096 };

typedef struct pair {
  ir_ref plain, canon;
} pair;

typedef struct world {
  uint64_t state;
  ir_graph g;
  ir_error error;
  pair leaf[LEAVES], extent[LEAVES], made[PAIRS]; /* extent: of a range; made: in order of creation */
  int leaves, count, lanes;
  int64_t lane[LANES][LEAVES];
  int64_t *value[NODES]; /* by ref, one value per assignment; NULL when not evaluated */
} world;

static uint64_t next(world *w) { return random_next(&w->state); }
static int64_t pick(world *w, int64_t lo, int64_t hi) {
  return lo + (int64_t)(next(w) % (uint64_t)(hi - lo + 1));
}

/* ------------------------------------------------------------------------------------------------------
 * evaluation */

static int64_t floor_div(int64_t a, int64_t d) { return d < 1 ? 0 : a / d - (a % d < 0); }

static int64_t apply(ir_op op, int64_t a, int64_t b) {
  switch (op) {
  case IR_OP_ADD: return a + b;
  case IR_OP_SUB: return a - b;
  case IR_OP_MUL: return a * b;
  case IR_OP_FLOORDIV: return floor_div(a, b);
  case IR_OP_MOD: return a - b * floor_div(a, b);
  case IR_OP_MIN: return a < b ? a : b;
  case IR_OP_MAX: return a > b ? a : b;
  case IR_OP_EQ: return a == b;
  case IR_OP_NE: return a != b;
  case IR_OP_LT: return a < b;
  case IR_OP_LE: return a <= b;
  case IR_OP_GT: return a > b;
  case IR_OP_GE: return a >= b;
  case IR_OP_AND: return a & b;
  case IR_OP_OR: return a | b;
  default: fprintf(stderr, "no evaluation for %s\n", ir_ops[op].text); exit(1);
  }
}

static int leaf_of(const world *w, ir_ref ref) {
  for (int i = 0; i < w->leaves; i++)
    if (w->leaf[i].plain == ref) return i;
  return -1;
}

static void evaluate_node(world *w, ir_ref ref) {
  const ir_node *n = ir_get(&w->g, ref);
  int leaf = leaf_of(w, ref);
  if (n->op == IR_OP_TUPLE || w->value[ref]) return;
  int64_t *v = w->value[ref] = malloc(sizeof *v * (size_t)w->lanes);
  for (int l = 0; l < w->lanes; l++) {
    if (leaf >= 0) v[l] = w->lane[l][leaf];
    else if (n->op == IR_OP_CONST) v[l] = n->arg;
    else if (n->op == IR_OP_NEG) v[l] = -w->value[n->src[0]][l];
    else if (n->op == IR_OP_NOT) v[l] = !w->value[n->src[0]][l];
    else if (n->op == IR_OP_WHERE) v[l] = w->value[n->src[w->value[n->src[0]][l] ? 1 : 2]][l];
    else if (n->nsrc >= 2) {
      v[l] = w->value[n->src[0]][l];
      for (uint32_t i = 1; i < n->nsrc; i++) v[l] = apply((ir_op)n->op, v[l], w->value[n->src[i]][l]);
    } else {
      v[l] = 0;
    }
  }
}

static void evaluate(world *w, ir_ref root) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable(&w->g, &root, 1, &live, &count, &cap) != IR_OK || root >= NODES) exit(1);
  for (size_t i = 0; i < count; i++) evaluate_node(w, live[i]);
  ir_free(w->g.mem, live, cap * sizeof *live);
}

/* -------------------------------------------------------------------------------------------------------
 * generation */

static pair keep(world *w, ir_ref plain, ir_ref canon) {
  pair p = {plain, canon};
  if (w->count < PAIRS) w->made[w->count++] = p;
  return p;
}

static pair number(world *w, int64_t value) {
  ir_ref r = ir_index(&w->g, value);
  return (pair){r, r};
}

static pair combine(world *w, ir_op op, pair a, pair b) {
  ir_graph *g = &w->g;
  ir_ref plain = ir_binary(g, op, a.plain, b.plain), canon = 0;
  switch (op) {
  case IR_OP_ADD: canon = pass_add(g, a.canon, b.canon); break;
  case IR_OP_SUB: canon = pass_sub(g, a.canon, b.canon); break;
  case IR_OP_MUL: canon = pass_mul(g, a.canon, b.canon); break;
  case IR_OP_FLOORDIV: canon = pass_div(g, a.canon, b.canon); break;
  case IR_OP_MOD: canon = pass_mod(g, a.canon, b.canon); break;
  case IR_OP_MIN: canon = pass_min(g, a.canon, b.canon); break;
  case IR_OP_MAX: canon = pass_max(g, a.canon, b.canon); break;
  case IR_OP_AND: canon = pass_and(g, a.canon, b.canon); break;
  case IR_OP_OR: canon = pass_or(g, a.canon, b.canon); break;
  default: canon = pass_compare(g, op, a.canon, b.canon);
  }
  return keep(w, plain, canon);
}

static int64_t constant(world *w) {
  static const int64_t useful[] = {1, 2, 3, 4, 6, 8, 12, 24, 5, 7, 9, 10};
  int64_t c = useful[next(w) % 12];
  return next(w) % 5 == 0 ? -c : c;
}

static pair divisor(world *w) { /* proven at least 1 */
  uint64_t kind = next(w) % 8;
  if (kind >= 2) return number(w, 1 + (int64_t)(next(w) % 12));
  for (int tries = 0; tries < 4; tries++) {
    pair p = w->extent[next(w) % (uint64_t)w->leaves];
    if (p.plain && ir_bounds_of(&w->g, p.canon).lo >= 1)
      return kind ? p : combine(w, IR_OP_MUL, p, number(w, pick(w, 1, 3)));
  }
  return number(w, pick(w, 1, 12));
}

static pair truth(world *w, int depth);

static pair choose(world *w, pair c, pair a, pair b) {
  return keep(w, ir_where(&w->g, c.plain, a.plain, b.plain), pass_where(&w->g, c.canon, a.canon, b.canon));
}

static pair index_of(world *w, int depth) {
  uint64_t kind = depth <= 0 ? next(w) % 4 : 4 + next(w) % 20;
  if (kind == 0) return number(w, constant(w));
  if (kind < 4) return w->leaf[next(w) % (uint64_t)w->leaves];
  if (kind < 9) {
    pair a = index_of(w, depth - 1), b = index_of(w, depth - 1);
    return combine(w, kind == 8 ? IR_OP_SUB : IR_OP_ADD, a, b);
  }
  if (kind < 13) {
    pair a = index_of(w, depth - 1);
    return combine(w, IR_OP_MUL, a, kind == 12 && depth <= 2 ? index_of(w, 0) : number(w, constant(w)));
  }
  if (kind < 21) {
    pair a = index_of(w, depth - 1);
    return combine(w, kind < 17 ? IR_OP_FLOORDIV : IR_OP_MOD, a, divisor(w));
  }
  if (kind < 23) {
    pair a = index_of(w, depth - 1), b = next(w) % 2 ? index_of(w, depth - 1) : number(w, pick(w, -4, 20));
    if (next(w) % 4 == 0) b = combine(w, next(w) % 2 ? IR_OP_MIN : IR_OP_MAX, a, b);
    return combine(w, kind == 21 ? IR_OP_MIN : IR_OP_MAX, a, b);
  }
  pair c = truth(w, depth - 2), a = index_of(w, depth - 1), b = index_of(w, depth - 1);
  if (next(w) % 3 == 0) a = choose(w, c, a, b); /* the condition again inside */
  if (next(w) % 6 == 0) c = keep(w, ir_unary(&w->g, IR_OP_NOT, c.plain), pass_not(&w->g, c.canon));
  if (next(w) % 3 == 0) b = choose(w, c, a, b);
  return choose(w, c, a, b);
}

static pair truth(world *w, int depth) {
  uint64_t kind = depth <= 0 ? 0 : next(w) % 9;
  if (kind < 4) {
    static const ir_op ops[] = {IR_OP_LT, IR_OP_GE, IR_OP_LT, IR_OP_GE,
                                IR_OP_LE, IR_OP_GT, IR_OP_EQ, IR_OP_NE};
    pair a = index_of(w, depth - 1), b = next(w) % 4 ? number(w, pick(w, -4, 30)) : index_of(w, depth - 1);
    return combine(w, ops[next(w) % 8], a, b);
  }
  if (kind < 7) {
    pair a = truth(w, depth - 1), b = truth(w, depth - 1);
    return combine(w, kind < 6 ? IR_OP_AND : IR_OP_OR, a, b);
  }
  pair a = truth(w, depth - 1);
  if (kind == 8) {
    ir_ref yes = ir_bool(&w->g, next(w) % 2), no = ir_bool(&w->g, next(w) % 2);
    return next(w) % 2 ? choose(w, a, (pair){yes, yes}, (pair){no, no})
                       : choose(w, a, truth(w, depth - 1), (pair){no, no});
  }
  return keep(w, ir_unary(&w->g, IR_OP_NOT, a.plain), pass_not(&w->g, a.canon));
}

static void make_leaves(world *w) {
  w->count = 0;
  w->leaves = 2 + (int)(next(w) % 3);
  int variables = next(w) % 3 == 0 ? 1 + (int)(next(w) % 2) : 0;
  for (int i = 0; i < w->leaves; i++) {
    pair p;
    w->extent[i] = (pair){0, 0};
    if (i < variables) {
      int64_t divisor = pick(w, 1, 3), lo = pick(w, 1, 3);
      ir_ref v = ir_var(&w->g, i ? "m" : "n", 1, lo, lo + divisor + pick(w, 0, 5), divisor);
      p = (pair){v, v};
      w->extent[i] = p;
    } else {
      pair extent = number(w, pick(w, 1, next(w) % 4 ? 7 : 16));
      if (variables && next(w) % 2) extent = w->leaf[next(w) % (uint64_t)variables];
      if (variables && next(w) % 6 == 0) extent = combine(w, IR_OP_ADD, extent, number(w, pick(w, 0, 2)));
      ir_ref r = ir_make(&w->g, IR_OP_RANGE, IR_INDEX, i, &extent.canon, 1);
      p = (pair){r, r};
      w->extent[i] = extent;
    }
    w->leaf[i] = p;
  }
}

/* the value of an extent: a constant, a variable, or a sum of the two */
static int64_t extent_value(const world *w, ir_ref ref, const int64_t *at) {
  const ir_node *n = ir_get(&w->g, ref);
  int64_t sum = 0;
  if (n->op == IR_OP_CONST) return n->arg;
  for (uint32_t i = 0; i < n->nsrc && n->op == IR_OP_ADD; i++) sum += extent_value(w, n->src[i], at);
  return n->op == IR_OP_VAR ? at[leaf_of(w, ref)] : sum;
}

/* the values of one leaf, given those before it: lo, lo + step, ... hi */
static int64_t leaf_values(const world *w, int leaf, const int64_t *at, int64_t *lo, int64_t *hi) {
  const ir_node *n = ir_get(&w->g, w->leaf[leaf].plain);
  if (n->op == IR_OP_RANGE) {
    *lo = 0;
    *hi = extent_value(w, w->extent[leaf].plain, at) - 1;
    return 1;
  }
  int64_t step = ir_const_value(&w->g, n->src[2]).i;
  *lo = (ir_const_value(&w->g, n->src[0]).i + step - 1) / step * step;
  *hi = ir_const_value(&w->g, n->src[1]).i;
  return step;
}

/* All assignments, in odometer order; false when there are more than LANES. */
static bool make_lanes(world *w) {
  int64_t at[LEAVES], lo[LEAVES], hi[LEAVES], step[LEAVES];
  w->lanes = 0;
  int i = 0;
  step[0] = leaf_values(w, 0, at, &lo[0], &hi[0]);
  at[0] = lo[0];
  while (i >= 0) {
    if (at[i] > hi[i]) {
      if (--i >= 0) at[i] += step[i];
    } else if (i + 1 < w->leaves) {
      i++;
      step[i] = leaf_values(w, i, at, &lo[i], &hi[i]);
      at[i] = lo[i];
    } else {
      if (w->lanes == LANES) return false;
      memcpy(w->lane[w->lanes++], at, sizeof at);
      at[i] += step[i];
    }
  }
  return true;
}

/* -----------------------------------------------------------------------------------------------------------
 * checks */

static void show(world *w, const char *what, ir_ref ref) {
  ir_text t;
  ir_text_init(&t, &ir_mem_libc);
  ir_print_expr(&w->g, ref, &t);
  printf("  %s: %s\n", what, ir_text_get(&t));
  ir_text_free(&t);
}

static void show_lane(world *w, int lane) {
  printf("  at");
  for (int i = 0; i < w->leaves; i++) {
    const ir_node *n = ir_get(&w->g, w->leaf[i].plain);
    if (n->op == IR_OP_VAR) printf(" %s=%" PRId64, ir_name_text(&w->g, n->arg), w->lane[lane][i]);
    else printf(" ridx%" PRId64 "=%" PRId64, n->arg, w->lane[lane][i]);
  }
  printf("\n");
  for (int i = 0; i < w->leaves; i++)
    if (w->extent[i].plain) show(w, "extent", w->extent[i].plain);
}

static bool check_equal(world *w, pair p, const char *what) {
  for (int l = 0; l < w->lanes; l++)
    if (w->value[p.plain][l] != w->value[p.canon][l]) {
      printf("%s: values differ, %" PRId64 " became %" PRId64 "\n", what, w->value[p.plain][l],
             w->value[p.canon][l]);
      show(w, "written", p.plain);
      show(w, "built", p.canon);
      show_lane(w, l);
      return false;
    }
  return true;
}

static bool check_bounds(world *w, ir_ref ref) {
  ir_bounds b = ir_bounds_of(&w->g, ref);
  for (int l = 0; l < w->lanes; l++) {
    int64_t v = w->value[ref][l];
    bool congruent = b.div == 0 ? v == b.rem : ((v - b.rem) % b.div == 0);
    if (v >= b.lo && v <= b.hi && congruent) continue;
    printf("bounds [%" PRId64 ", %" PRId64 "], %" PRId64 " mod %" PRId64 " do not hold %" PRId64 "\n", b.lo,
           b.hi, b.rem, b.div, v);
    show(w, "expression", ref);
    show_lane(w, l);
    return false;
  }
  return true;
}

static uint64_t further; /* forms that simplify further than their builders did */

static bool check_pair(world *w, pair p) {
  ir_graph *g = &w->g;
  if (!p.canon || !p.plain) {
    printf("no node was built: %s\n", w->error.text);
    if (p.plain) show(w, "written", p.plain);
    return false;
  }
  evaluate(w, p.plain);
  evaluate(w, p.canon);
  if (!check_equal(w, p, "canonical form") || !check_bounds(w, p.plain) || !check_bounds(w, p.canon))
    return false;
  pair once = {p.plain, pass_simplify(g, p.canon)};
  further += once.canon != p.canon;
  evaluate(w, once.canon);
  if (!check_equal(w, once, "simplified form")) return false;
  uint32_t before = g->count;
  ir_ref again = pass_simplify(g, once.canon);
  if (again != once.canon || g->count != before) {
    show(w, "written", p.plain);
    printf(again != once.canon ? "not idempotent\n" : "simplifying a canonical form made %u nodes\n",
           g->count - before);
    for (ir_ref made = before; made < g->count; made++) show(w, "made", made);
    show(w, "once", once.canon);
    show(w, "twice", again);
    return false;
  }
  return true;
}

static bool check_proofs(world *w, pair a, pair b) {
  static const ir_op ops[] = {IR_OP_EQ, IR_OP_NE, IR_OP_LT, IR_OP_LE, IR_OP_GT, IR_OP_GE};
  for (int i = 0; i < 6; i++) {
    if (!pass_proves(&w->g, ops[i], a.canon, b.canon)) continue;
    for (int l = 0; l < w->lanes; l++)
      if (!apply(ops[i], w->value[a.plain][l], w->value[b.plain][l])) {
        printf("'%s' was proven and is false\n", ir_ops[ops[i]].infix);
        show(w, "left", a.plain);
        show(w, "right", b.plain);
        show_lane(w, l);
        return false;
      }
  }
  return true;
}

static bool check_given(world *w, pair index, pair valid) {
  ir_ref given = pass_simplify_given(&w->g, index.canon, valid.canon);
  if (!given) return false;
  uint32_t before = w->g.count;
  ir_ref again = pass_simplify_given(&w->g, given, valid.canon);
  if (again != given || w->g.count != before) {
    printf(again != given ? "simplifying under a validity is not idempotent\n"
                          : "simplifying under a validity again made %u nodes\n",
           w->g.count - before);
    show(w, "index", index.canon);
    show(w, "valid", valid.canon);
    show(w, "once", given);
    show(w, "twice", again);
    return false;
  }
  evaluate(w, given);
  for (int l = 0; l < w->lanes; l++)
    if (w->value[valid.plain][l] && w->value[given][l] != w->value[index.plain][l]) {
      printf("simplified under a validity: %" PRId64 " became %" PRId64 "\n", w->value[index.plain][l],
             w->value[given][l]);
      show(w, "index", index.canon);
      show(w, "valid", valid.canon);
      show(w, "given", given);
      show_lane(w, l);
      return false;
    }
  return true;
}

static bool check_case(world *w) {
  do make_leaves(w);
  while (!make_lanes(w));
  int depth = 1 + (int)(next(w) % 5);
  pair a = index_of(w, depth), v = truth(w, 1 + (int)(next(w) % 4)), b = index_of(w, 2);
  for (int i = 0; i < w->count;
       i++) /* children come before their users: the first failure is a smallest one */
    if (!check_pair(w, w->made[i])) return false;
  if (!check_pair(w, a) || !check_pair(w, v) || !check_pair(w, b)) return false;
  if (pass_simplify(&w->g, a.plain) != a.canon) {
    printf("simplifying what was written gives another node\n");
    show(w, "written", a.plain);
    show(w, "built", a.canon);
    show(w, "simplified", pass_simplify(&w->g, a.plain));
    return false;
  }
  return check_proofs(w, a, b) && check_given(w, a, v);
}

enum { RULES = 256, LONG_RUN = 200000 };
static uint64_t fired[RULES];

static bool count_rule(void *user, ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                       uint32_t nsrc, ir_ref result) {
  for (size_t i = 0; i < pass_index_rule_set.rule_count && i < RULES; i++)
    if (strcmp(pass_index_rule_set.rules[i].name, rule) == 0) fired[i]++;
  return true;
}

static int report_idle_rules(void) {
  int idle = 0;
  for (size_t i = 0; i < pass_index_rule_set.rule_count && i < RULES; i++)
    if (!fired[i] && ++idle) printf("rule %s never fired\n", pass_index_rule_set.rules[i].name);
  return idle;
}

int main(int argc, char **argv) {
  const ir_observer observer = {.rewrite = count_rule};
  uint64_t seed = 1, from = 0, count = 1000, failed = 0;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--from", &from), OPTION("--count", &count));
  static world w;
  for (uint64_t i = from; i < from + count && failed < 10; i++) {
    w.state = seed * 0x100000001b3u + i;
    w.count = 0;
    w.error.status = IR_OK;
    if (ir_graph_init(&w.g, &ir_mem_libc, &w.error) != IR_OK) return 1;
    if (i < LONG_RUN) w.g.observer = &observer;
    if (!check_case(&w)) {
      failed++;
      printf("  case %" PRIu64 " of seed %" PRIu64 "\n", i, seed);
    }
    for (uint32_t r = 0; r < w.g.count && r < NODES; r++) {
      free(w.value[r]);
      w.value[r] = NULL;
    }
    ir_graph_free(&w.g);
  }
  if (count >= LONG_RUN && report_idle_rules()) failed++;
  printf("prop_index: %" PRIu64 " cases, %" PRIu64 " failed, seed %" PRIu64 "; %" PRIu64
         " built forms simplified further\n",
         count, failed, seed, further);
  return failed != 0;
}
