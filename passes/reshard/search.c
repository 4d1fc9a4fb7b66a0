/* The cheapest way from one layout to another: A* over layouts, with the bound as its estimate. */
#include <string.h>

#include "impl.h"

enum {
  MOST_WORK = 1 << 24 /* about a second; beyond, the best way so far is taken */
};

typedef struct node {
  reshard_layout at;
  pass_reshard_cost cost, estimate; /* from the start; and at least from there to the end */
  uint32_t parent, depth;
  uint32_t effort; /* of ways of equal cost, the least: steps, then sub-axes in the layouts; UINT32_MAX: no
                      way is known */
  bool flat, done;
} node;

typedef struct queued {
  pass_reshard_cost cost;
  uint32_t node, effort;
} queued;

typedef struct search {
  const reshard_problem *p;
  node *nodes;
  queued *heap;
  uint32_t *table; /* node + 1, by the hash of its layout; 0: free */
  size_t node_count, node_cap, heap_count, heap_cap, table_size;
  uint32_t current, target;
  uint64_t work; /* devices and messages looked at */
  bool failed;
} search;

int reshard_compare(const reshard_problem *p, const pass_reshard_cost *a, const pass_reshard_cost *b) {
  uint64_t x = p->mode == PASS_RESHARD_TIME ? a->time : a->recv;
  uint64_t y = p->mode == PASS_RESHARD_TIME ? b->time : b->recv;
  if (x != y) return x < y ? -1 : 1;
  return a->total != b->total ? (a->total < b->total ? -1 : 1) : 0;
}

void reshard_add(pass_reshard_cost *sum, const pass_reshard_cost *cost) {
  sum->recv += cost->recv, sum->total += cost->total;
  sum->messages += cost->messages, sum->time += cost->time;
  if (cost->peak > sum->peak) sum->peak = cost->peak;
}

static int compare_queued(const search *s, const queued *a, const queued *b) {
  int order = reshard_compare(s->p, &a->cost, &b->cost);
  return order ? order : (a->effort > b->effort) - (a->effort < b->effort);
}

static void push(search *s, uint32_t index) {
  const node *n = &s->nodes[index];
  queued q = {n->cost, index, n->effort};
  reshard_add(&q.cost, &n->estimate);
  if (!IR_RESERVE(s->p->mem, s->heap, s->heap_cap, s->heap_count + 1)) {
    s->failed = true;
    return;
  }
  size_t i = s->heap_count++;
  for (; i && compare_queued(s, &q, &s->heap[(i - 1) / 2]) < 0; i = (i - 1) / 2)
    s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = q;
}

static uint32_t pop(search *s) {
  uint32_t top = s->heap[0].node;
  queued last = s->heap[--s->heap_count];
  size_t i = 0, child;
  while ((child = 2 * i + 1) < s->heap_count) {
    if (child + 1 < s->heap_count && compare_queued(s, &s->heap[child + 1], &s->heap[child]) < 0) child++;
    if (compare_queued(s, &last, &s->heap[child]) <= 0) break;
    s->heap[i] = s->heap[child], i = child;
  }
  s->heap[i] = last;
  return top;
}

static uint32_t hash(const reshard_layout *l) { /* FNV-1a */
  const uint8_t *bytes = (const uint8_t *)l;
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < sizeof *l; i++) h = (h ^ bytes[i]) * 16777619u;
  return h;
}

static bool grow_table(search *s) {
  if (2 * (s->node_count + 1) <= s->table_size) return true;
  size_t size = s->table_size ? 2 * s->table_size : 64;
  uint32_t *table = ir_alloc(s->p->mem, size * sizeof *table);
  if (!table) return false;
  memset(table, 0, size * sizeof *table);
  for (uint32_t i = 0; i < s->node_count; i++) {
    size_t k = hash(&s->nodes[i].at) & (size - 1);
    while (table[k]) k = (k + 1) & (size - 1);
    table[k] = i + 1;
  }
  ir_free(s->p->mem, s->table, s->table_size * sizeof *table);
  s->table = table, s->table_size = size;
  return true;
}

/* The node of a layout, which is made if it is new; UINT32_MAX when memory is short. */
static uint32_t node_of(search *s, const reshard_layout *l) {
  if (!grow_table(s) || !IR_RESERVE(s->p->mem, s->nodes, s->node_cap, s->node_count + 1)) {
    s->failed = true;
    return UINT32_MAX;
  }
  size_t k = hash(l) & (s->table_size - 1);
  for (; s->table[k]; k = (k + 1) & (s->table_size - 1))
    if (reshard_equal(&s->nodes[s->table[k] - 1].at, l)) return s->table[k] - 1;
  node *n = &s->nodes[s->node_count];
  *n = (node){.at = *l, .parent = UINT32_MAX, .effort = UINT32_MAX};
  reshard_bound(s->p, l, &n->estimate);
  s->work += reshard_hop_work(s->p, l, &s->p->to, &n->estimate);
  s->table[k] = (uint32_t)++s->node_count;
  return s->table[k] - 1;
}

static bool improves(const search *s, const node *n, const pass_reshard_cost *cost, uint32_t effort) {
  int order = n->effort == UINT32_MAX ? -1 : reshard_compare(s->p, cost, &n->cost);
  return order < 0 || (order == 0 && effort < n->effort);
}

/* Of a step: more than all sub-axes of its layout. */
static uint32_t effort_of(const reshard_problem *p, const reshard_layout *to) {
  uint32_t effort = 2 * RESHARD_DIGITS;
  ir_subaxis joined;
  for (uint32_t d = 0; d < p->rank; d++)
    for (uint32_t i = reshard_first(to, d); i < to->ends[d]; i++)
      effort += i == reshard_first(to, d) ||
                !ir_subaxes_join(p->digits[to->order[i - 1]], p->digits[to->order[i]], &joined);
  return effort;
}

/* Is a way of this cost of no use? */
static bool too_dear(const search *s, const pass_reshard_cost *cost, uint32_t effort) {
  return (s->p->below && reshard_compare(s->p, cost, s->p->below) >= 0) ||
         !improves(s, &s->nodes[s->target], cost, effort);
}

static bool relax(void *user, const reshard_layout *to, bool flat) {
  search *s = user;
  pass_reshard_cost cost, whole;
  uint32_t index = node_of(s, to), effort = s->nodes[s->current].effort + effort_of(s->p, to);
  if (index == UINT32_MAX) return false;
  const node *from = &s->nodes[s->current];
  node *n = &s->nodes[index];
  whole = n->estimate;
  reshard_add(&whole, &from->cost);
  if (n->done || too_dear(s, &whole, effort)) return true;
  (flat ? reshard_flat : reshard_hop_at_least)(s->p, &from->at, to, &cost);
  s->work += reshard_hop_work(s->p, &from->at, to, &cost);
  if (s->p->limit && cost.peak > s->p->limit) return true;
  whole = cost;
  reshard_add(&whole, &from->cost);
  if (!improves(s, n, &whole, effort)) return true;
  reshard_add(&whole, &n->estimate);
  if (too_dear(s, &whole, effort)) return true;
  if (!flat) reshard_hop(s->p, &from->at, to, &cost);
  reshard_add(&cost, &from->cost);
  whole = cost;
  reshard_add(&whole, &n->estimate);
  if (!improves(s, n, &cost, effort) || too_dear(s, &whole, effort)) return true;
  n->cost = cost, n->parent = s->current, n->effort = effort, n->flat = flat, n->depth = from->depth + 1;
  push(s, index);
  return !s->failed && s->work < MOST_WORK;
}

static bool run(search *s, bool *exact) {
  s->target = node_of(s, &s->p->to);
  uint32_t start = s->failed ? UINT32_MAX : node_of(s, &s->p->from);
  if (s->failed) return false;
  pass_reshard_cost kept;
  reshard_hop(s->p, &s->p->from, &s->p->from, &kept);
  *exact = true;
  if (s->p->limit && kept.peak / 2 > s->p->limit) return true;
  s->nodes[start].effort = 0;
  s->current = start;
  if (start != s->target && !relax(s, &s->p->to, false)) return false;
  const node *end = &s->nodes[s->target];
  if (end->effort != UINT32_MAX && reshard_compare(s->p, &end->cost, &s->nodes[start].estimate) <= 0)
    return true;
  push(s, start);
  while (s->heap_count && !s->failed) {
    s->current = pop(s);
    node *n = &s->nodes[s->current];
    if (s->current == s->target) break;
    if (n->done || n->depth == PASS_RESHARD_STEPS) continue;
    n->done = true;
    reshard_layout at = n->at; /* nodes may move */
    reshard_neighbours(s->p, &at, relax, s);
    if (s->work < MOST_WORK) continue;
    *exact = false;
    break;
  }
  return !s->failed;
}

static void cost_of(const reshard_problem *p, const reshard_path *path, uint32_t i, pass_reshard_cost *cost) {
  (path->flat[i] ? reshard_flat : reshard_hop)(p, &path->at[i - 1], &path->at[i], cost);
}

/* Joins neighbouring steps where one costs no more than both. */
static void join_steps(const reshard_problem *p, reshard_path *path) {
  for (uint32_t i = 1; i + 1 < path->count;) {
    pass_reshard_cost two, second, one;
    cost_of(p, path, i, &two);
    cost_of(p, path, i + 1, &second);
    reshard_hop(p, &path->at[i - 1], &path->at[i + 1], &one);
    reshard_add(&two, &second);
    if (reshard_compare(p, &one, &two) > 0 || one.peak > two.peak) {
      i++;
      continue;
    }
    for (uint32_t k = i; k + 1 < path->count; k++)
      path->at[k] = path->at[k + 1], path->flat[k] = path->flat[k + 1];
    path->flat[i] = false;
    path->count--;
    i = 1;
  }
}

/* The layout between a slice and the rest of a hop that finishes sums: with those new digits that are not of
 * the sums, where they come first. False where there is none. */
static bool slice_first(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                        reshard_layout *between) {
  uint32_t sums = from->pending & ~to->pending;
  *between = *from;
  for (uint32_t d = 0; d < p->rank && sums; d++)
    for (uint32_t i = reshard_first(to, d) + from->ends[d] - reshard_first(from, d); i < to->ends[d]; i++) {
      if (sums >> to->order[i] & 1) break;
      reshard_append(between, p->rank, d, to->order[i]);
    }
  return sums && !reshard_equal(between, from);
}

/* A slice before a reduce_scatter is a step of its own, so that each is of one kind. */
static void split_slices(const reshard_problem *p, reshard_path *path) {
  for (uint32_t i = 1; i < path->count && path->count <= PASS_RESHARD_STEPS; i++) {
    reshard_layout between;
    pass_reshard_cost cost, slice, rest;
    uint32_t moved;
    cost_of(p, path, i, &cost);
    if (path->flat[i] ||
        reshard_kind(p, &path->at[i - 1], &path->at[i], &cost, &moved) != PASS_RESHARD_REDUCE_SCATTER ||
        !slice_first(p, &path->at[i - 1], &path->at[i], &between))
      continue;
    reshard_hop(p, &path->at[i - 1], &between, &slice);
    reshard_hop(p, &between, &path->at[i], &rest);
    reshard_add(&slice, &rest);
    if (reshard_compare(p, &slice, &cost) > 0 || slice.peak > cost.peak) continue;
    for (uint32_t k = path->count++; k > i; k--)
      path->at[k] = path->at[k - 1], path->flat[k] = path->flat[k - 1];
    path->at[i] = between, path->flat[i++] = false;
  }
}

ir_status reshard_search(const reshard_problem *p, reshard_path *out, ir_error *error) {
  search s = {.p = p};
  *out = (reshard_path){.count = 0};
  bool good = run(&s, &out->exact);
  if (good && s.nodes[s.target].effort != UINT32_MAX) {
    out->count = s.nodes[s.target].depth + 1;
    for (uint32_t i = out->count, n = s.target; i--; n = s.nodes[n].parent)
      out->at[i] = s.nodes[n].at, out->flat[i] = s.nodes[n].flat;
    join_steps(p, out);
    split_slices(p, out);
  }
  ir_free(p->mem, s.nodes, s.node_cap * sizeof *s.nodes);
  ir_free(p->mem, s.heap, s.heap_cap * sizeof *s.heap);
  ir_free(p->mem, s.table, s.table_size * sizeof *s.table);
  return good ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "reshard: out of memory");
}
