/* The ways to divide an operation. */
#include "impl.h"
#include "passes/shard/strategy.h"

#include <math.h>
#include <string.h>

enum { AUTO_TRIED = 1 << 16 }; /* because a rule of 6 factors on 5 axes has 8^5 assignments: all */

bool auto_add_strategy(auto_model *m, auto_variable *v, const uint32_t *specs, double cost) {
  const ir_mem *mem = m->g->mem;
  cost *= m->weight[v->node];
  for (uint32_t i = 0; i < v->count; i++) /* of two ways with the same specs, the cheaper */
    if (!memcmp(v->specs + (size_t)i * v->terms, specs, v->terms * sizeof *specs)) {
      if (cost < v->cost[i]) v->cost[i] = cost;
      return true;
    }
  if (!IR_RESERVE(mem, v->specs, v->cap, ((size_t)v->count + 1) * v->terms) ||
      !IR_RESERVE(mem, v->cost, v->cost_cap, (size_t)v->count + 1))
    return auto_no_memory(m);
  memcpy(v->specs + (size_t)v->count * v->terms, specs, v->terms * sizeof *specs);
  v->cost[v->count++] = cost;
  return true;
}

typedef struct dividing {
  auto_model *m;
  auto_variable *v;
  const op_sharding *rule;
  shard_strategy way;
  ir_shares shares[OP_FACTORS_MAX]; /* of the axes that a factor has */
  uint32_t moved;                   /* factors from this one on: axes that elements move along */
  bool extremum[OP_FACTORS_MAX];    /* each part needs an element */
  uint32_t tried;
} dividing;

/* Are there so many parts that some have no elements, or, where each needs one, may have none? */
static bool is_too_fine(const dividing *d, uint32_t factor) {
  ir_ref size = d->rule->factors[factor].size;
  int64_t n = auto_size(d->m, size);
  if (d->shares[factor].total / d->shares[factor].most > n) return true;
  return d->extremum[factor] && (!ir_is_const(d->m->g, size, NULL) || ir_least_of(&d->shares[factor], n) < 1);
}

/* A mean is divided by the number of elements when its sum is complete. */
static double finish_mean(auto_model *m, ir_ref node, ir_spec *result) {
  if (ir_op_of(m->g, node) != IR_OP_MEAN || !ir_spec_count(result, IR_PLACE_PENDING)) return 0;
  uint32_t from = auto_spec(m, result), to = auto_finished(m, from), array = auto_array_of(m, node, false);
  ir_spec_clear(result, IR_PLACE_PENDING);
  result->joined_by = IR_OP_ADD;
  return to == UINT32_MAX || array == UINT32_MAX ? -1 : auto_move_time(m, array, from, to);
}

/* Axes of the same number that no factor divides, along which elements only move, are factors as well. */
static void add_moved(auto_model *m, ir_ref node, op_sharding *rule) {
  ir_graph *g = m->g;
  if (!op_moves(ir_op_of(g, node))) return;
  for (uint32_t d = 0; d < ir_rank(g, node) && rule->factor_count < OP_FACTORS_MAX; d++) {
    bool free = true;
    for (uint32_t t = 0; t <= rule->operands; t++) {
      ir_ref x = t < rule->operands ? ir_src(g, node, t) : node;
      free &= d < rule->terms[t].rank && !rule->terms[t].axes[d].count && auto_size(m, ir_dim(g, x, d)) > 1;
    }
    if (!free) continue;
    uint8_t number = (uint8_t)rule->factor_count;
    rule->factors[rule->factor_count++] = (op_factor){"moved", ir_dim(g, node, d)};
    for (uint32_t t = 0; t <= rule->operands; t++) rule->terms[t].axes[d] = (op_split){1, {number}};
  }
}

/* Which part of the elements of a part are others' at most. Cutting off or adding some moves positions by as
 * many, and parts begin elsewhere by as many; a stride rounds the beginning of each part. Of what
 * accumulates, there are the totals of the other parts, one element each along that axis. */
static double received(const dividing *d, uint32_t factor) {
  const auto_model *m = d->m;
  ir_ref node = d->v->node, x = ir_src(m->g, node, 0);
  const op_term *result = &d->rule->terms[d->rule->operands];
  uint32_t axis = 0;
  while (result->axes[axis].count != 1 || result->axes[axis].factors[0] != factor) axis++;
  int64_t size = auto_size(m, ir_dim(m->g, node, axis)), parts = d->shares[factor].total;
  double part = (double)ir_most_of(&d->shares[factor], size),
         more = (double)(auto_size(m, ir_dim(m->g, x, axis)) - size);
  switch ((int)ir_op_of(m->g, node)) {
  case IR_OP_SHRINK:
  case IR_OP_PAD: return fmin(1, 2 * fabs(more) / part);
  case IR_OP_STRIDE: return fmin(1, (double)parts / part);
  case IR_OP_FLIP:
  case IR_OP_CONCAT: return 1;
  default: return (double)(parts - 1) / part;
  }
}

/* Seconds of the exchanges along such axes. */
static double moving_time(const dividing *d, const ir_spec *result) {
  const auto_model *m = d->m;
  double seconds = 0;
  for (uint32_t i = d->moved; i < d->rule->factor_count; i++) {
    double latency = 0, slowest = 0;
    if (d->shares[i].total < 2) continue;
    double bytes = auto_part_bytes(m, d->v->node, result) * received(d, i);
    for (uint32_t a = 0; a < m->mesh->axis_count; a++) {
      if (d->way.factor_of[a] != (int8_t)i) continue;
      latency = fmax(latency, auto_latency(&m->mesh->axes[a]));
      slowest = fmax(slowest, 1 / auto_bandwidth(&m->mesh->axes[a]));
    }
    seconds += latency + bytes * slowest;
  }
  return seconds;
}

static bool add_way(dividing *d) {
  auto_model *m = d->m;
  ir_spec terms[AUTO_TERMS];
  uint32_t numbers[AUTO_TERMS];
  const op_sharding *rule = d->rule;
  ir_ref node = d->v->node;
  if (!shard_strategy_specs(m->g, node, rule, &d->way, terms, &terms[rule->operands]))
    return m->g->error->status == IR_OK;
  double cost = auto_work(m, node, rule, d->shares, terms),
         more = finish_mean(m, node, &terms[rule->operands]);
  if (more < 0) return false;
  more += moving_time(d, &terms[rule->operands]);
  for (uint32_t i = 0; i <= rule->operands; i++)
    if ((numbers[i] = auto_spec(m, &terms[i])) == UINT32_MAX) return false;
  return auto_add_strategy(m, d->v, numbers, cost + more);
}

/* Axes of the mesh from `axis` on: to each factor, pending as operands are, or nowhere. */
static bool divide_from(dividing *d, uint32_t axis) {
  const ir_mesh *mesh = d->m->mesh;
  if (axis == mesh->axis_count) return add_way(d);
  int64_t size = mesh->axes[axis].size;
  ir_subaxis whole = ir_whole_axis(mesh, axis);
  ir_shares own = ir_shares_of(mesh, &whole, 1);
  bool full = d->v->count >= AUTO_STRATEGIES || d->tried >= AUTO_TRIED;
  d->m->truncated |= full && size > 1;
  for (uint32_t i = 0; i < d->rule->factor_count && size > 1 && !full; i++) {
    d->way.factor_of[axis] = (int8_t)i;
    ir_shares before = d->shares[i], *s = &d->shares[i];
    *s = (ir_shares){s->weighted || own.weighted, s->total * own.total, s->least * own.least,
                     s->most * own.most};
    d->tried++;
    bool good = is_too_fine(d, i) || divide_from(d, axis + 1);
    *s = before;
    if (!good) return false;
  }
  d->way.factor_of[axis] = SHARD_LATE;
  if (d->way.late && size > 1 && !full && !divide_from(d, axis + 1)) return false;
  d->way.factor_of[axis] = SHARD_NOWHERE;
  return divide_from(d, axis + 1);
}

static void find_extrema(dividing *d) {
  ir_op op = ir_op_of(d->m->g, d->v->node);
  const op_term *result = &d->rule->terms[d->rule->operands];
  bool searches = op == IR_OP_REDUCE_MAX || op == IR_OP_REDUCE_MIN;
  for (uint32_t i = 0; i < d->rule->factor_count; i++)
    d->extremum[i] = searches, d->shares[i] = (ir_shares){false, 1, 1, 1};
  for (uint32_t a = 0; a < result->rank; a++)
    for (uint32_t k = 0; k < result->axes[a].count; k++) d->extremum[result->axes[a].factors[k]] = false;
}

/* Operands that may be pending together: one of them, or all. */
static bool divide(auto_model *m, auto_variable *v, op_sharding *rule) {
  dividing d = {.m = m, .v = v, .rule = rule, .moved = rule->factor_count};
  add_moved(m, v->node, rule);
  find_extrema(&d);
  for (uint32_t k = 0; k <= rule->operands + 1u; k++) {
    bool partial[AUTO_TERMS] = {0};
    if (k == rule->operands + 1u && rule->operands < 2) break;
    for (uint32_t i = 0; i < rule->operands; i++) partial[i] = k == rule->operands + 1u || k == i + 1;
    if (k && !op_defers(m->g, v->node, partial)) continue;
    d.way.late = k == rule->operands + 1u ? (uint32_t)((UINT64_C(1) << rule->operands) - 1)
                 : k                      ? 1u << (k - 1)
                                          : 0;
    if (!divide_from(&d, 0)) return false;
  }
  return true;
}

/* Operands and results whole, on every device. */
bool auto_all_whole(auto_model *m, auto_variable *v) {
  uint32_t numbers[AUTO_TERMS];
  for (uint32_t i = 0; i < v->terms; i++) {
    ir_ref x = i + 1 == v->terms ? v->node : m->uses[v->first_use + i].node;
    ir_spec spec;
    ir_spec_init(&spec, x && ir_shape(m->g, x) ? ir_rank(m->g, x) : 0);
    if ((numbers[i] = auto_spec(m, &spec)) == UINT32_MAX) return false;
  }
  return auto_add_strategy(m, v, numbers, auto_work(m, v->node, NULL, NULL, NULL));
}

typedef struct constrained {
  auto_model *m;
  auto_variable *v;
} constrained;

static bool add_constraint(void *user, const ir_spec *spec) {
  constrained *c = user;
  uint32_t numbers[2], at = auto_spec(c->m, spec);
  numbers[0] = numbers[1] = at;
  return at != UINT32_MAX && auto_add_strategy(c->m, c->v, numbers, 0);
}

static bool add_collective(void *user, const ir_spec *from) {
  constrained *c = user;
  ir_spec to;
  if (!shard_strategy_collective(c->m->g, c->v->node, from, &to)) {
    ir_error_clear(c->m->g->error); /* not of such an operand */
    return true;
  }
  uint32_t numbers[2] = {auto_spec(c->m, from), auto_spec(c->m, &to)},
           array = auto_array_of(c->m, c->v->node, false);
  if (numbers[0] == UINT32_MAX || numbers[1] == UINT32_MAX || array == UINT32_MAX) return false;
  double cost = auto_move_time(c->m, array, numbers[0], numbers[1]);
  return cost >= 0 && auto_add_strategy(c->m, c->v, numbers, cost);
}

/* What only divides its operand. */
static bool constrain(auto_model *m, auto_variable *v) {
  ir_spec given;
  constrained c = {m, v};
  if (ir_op_of(m->g, v->node) == IR_OP_SHARD) {
    const ir_spec *spec = ir_spec_of(m->g, v->node);
    if (!spec && !ir_shard_spec(m->g, v->node, &given)) return auto_no_memory(m);
    return auto_each_spec(m, spec ? spec : &given, false, add_constraint, &c);
  }
  ir_spec_init(&given, ir_rank(m->g, v->node));
  memset(given.open, true, sizeof given.open);
  return auto_each_spec(m, &given, true, add_collective, &c);
}

/* ---- operations that are alike */

/* All of an operand that strategies and their costs depend on: its type, the smallest array that it is a
 * view of, and the constant that it is (shard_choose_pending). */
static bool write_operand(auto_model *m, ir_ref x) {
  ir_graph *g = m->g;
  choice_store *c = &m->classes;
  ir_spec whole;
  if (!ir_shape(g, x)) return choice_word(c, x);
  ir_spec_init(&whole, ir_rank(g, x));
  double bytes = auto_part_bytes(m, x, &whole);
  bool good =
      choice_word(c, ir_shape(g, x)) && choice_word(c, ir_dtype_of(g, x)) && choice_words_of(c, &bytes, 1);
  while (ir_op_of(g, x) == IR_OP_RESHAPE || ir_op_of(g, x) == IR_OP_EXPAND) x = ir_src(g, x, 0);
  return good && choice_word(c, ir_op_of(g, x) == IR_OP_CONST ? x : 0);
}

/* The strategies of an operation, or those of one that is alike. */
static bool divide_once(auto_model *m, auto_variable *v) {
  const ir_node *n = ir_get(m->g, v->node);
  bool good = choice_word(&m->classes, n->op) && choice_word(&m->classes, (uint64_t)n->arg) &&
              choice_words_of(&m->classes, &m->weight[v->node], 1) && write_operand(m, v->node),
       fresh;
  for (uint32_t i = 0; i < n->nsrc && good; i++) good = write_operand(m, n->src[i]);
  uint32_t entry = good ? choice_make(&m->classes, sizeof v->node, &fresh) : UINT32_MAX;
  if (entry == UINT32_MAX) return auto_no_memory(m);
  if (fresh) {
    op_sharding rule;
    uint32_t number = (uint32_t)(v - m->variables);
    memcpy(m->classes.items[entry].value, &number, sizeof number);
    if (!op_sharding_of(m->g, v->node, &rule)) return false;
    good = divide(m, v, &rule);
    op_sharding_free(&rule);
    return good;
  }
  uint32_t number;
  memcpy(&number, m->classes.items[entry].value, sizeof number);
  const auto_variable *same = &m->variables[number];
  if (!IR_RESERVE(m->g->mem, v->specs, v->cap, (size_t)same->count * v->terms) ||
      !IR_RESERVE(m->g->mem, v->cost, v->cost_cap, same->count))
    return auto_no_memory(m);
  memcpy(v->specs, same->specs, (size_t)same->count * v->terms * sizeof *v->specs);
  memcpy(v->cost, same->cost, same->count * sizeof *v->cost);
  v->count = same->count;
  return true;
}

bool auto_strategies(auto_model *m, auto_variable *v) {
  ir_graph *g = m->g;
  const ir_node *n = ir_get(g, v->node);
  if (ir_only_divides((ir_op)n->op)) return constrain(m, v);
  if (!op_sharding_known(g, v->node) || v->terms != ir_operand_count(n) + 1) return auto_all_whole(m, v);
  if (n->op != IR_OP_ASSIGN) return divide_once(m, v);
  op_sharding rule; /* of a write the rule follows the chain of its target */
  if (!op_sharding_of(g, v->node, &rule)) return false;
  bool good = divide(m, v, &rule);
  op_sharding_free(&rule);
  return good;
}
