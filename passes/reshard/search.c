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
  uint64_t effort; /* UINT64_MAX: no way is known */
  bool flat, done;
} node;

typedef struct search {
  const reshard_problem *p;
  node *nodes;
  reshard_heap heap;
  uint32_t *table; /* node + 1, by the hash of its layout; 0: free */
  size_t node_count, node_cap, table_size;
  uint32_t current, target;
  uint64_t work; /* devices and messages looked at */
  bool failed;
} search;

static uint64_t most_work(const reshard_problem *p) { return p->work ? p->work : MOST_WORK; }

reshard_rank reshard_rank_of(const reshard_problem *p, const pass_reshard_cost *cost, uint64_t effort) {
  return (reshard_rank){p->mode == PASS_RESHARD_TIME ? cost->time : cost->recv, cost->total, effort};
}

int reshard_compare(const reshard_rank *a, const reshard_rank *b) {
  if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
  if (a->total != b->total) return a->total < b->total ? -1 : 1;
  return (a->effort > b->effort) - (a->effort < b->effort);
}

void reshard_add(pass_reshard_cost *sum, const pass_reshard_cost *cost) {
  sum->recv += cost->recv, sum->total += cost->total;
  sum->messages += cost->messages, sum->time += cost->time;
  if (cost->peak > sum->peak) sum->peak = cost->peak;
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
  *n = (node){.at = *l, .parent = UINT32_MAX, .effort = UINT64_MAX};
  reshard_bound(s->p, l, &n->estimate);
  s->work += reshard_hop_work(s->p, l, &s->p->to, &n->estimate);
  s->table[k] = (uint32_t)++s->node_count;
  return s->table[k] - 1;
}

/* Is a way of this cost better than what the node has? */
static bool improves(const search *s, const node *n, const pass_reshard_cost *cost, uint64_t effort) {
  reshard_rank now = reshard_rank_of(s->p, &n->cost, n->effort), then = reshard_rank_of(s->p, cost, effort);
  return n->effort == UINT64_MAX || reshard_compare(&then, &now) < 0;
}

uint64_t reshard_effort(const reshard_problem *p, const reshard_layout *to) {
  uint64_t effort = 2 * RESHARD_DIGITS; /* more than all sub-axes of a layout */
  ir_subaxis joined;
  for (uint32_t d = 0; d < p->rank; d++)
    for (uint32_t i = reshard_first(to, d); i < to->ends[d]; i++)
      effort += i == reshard_first(to, d) ||
                !ir_subaxes_join(p->digits[to->order[i - 1]], p->digits[to->order[i]], &joined);
  return effort;
}

/* Is a way of this cost of no use? */
static bool too_dear(const search *s, const pass_reshard_cost *cost, uint64_t effort) {
  if (!improves(s, &s->nodes[s->target], cost, effort)) return true;
  if (!s->p->below) return false;
  reshard_rank below = reshard_rank_of(s->p, s->p->below, 0), rank = reshard_rank_of(s->p, cost, 0);
  return reshard_compare(&rank, &below) >= 0;
}

static bool relax(void *user, const reshard_layout *to, bool flat) {
  search *s = user;
  pass_reshard_cost cost, whole;
  uint32_t index = node_of(s, to);
  if (index == UINT32_MAX) return false;
  uint64_t effort = s->nodes[s->current].effort + reshard_effort(s->p, to);
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
  s->failed = !reshard_heap_push(s->p->mem, &s->heap, reshard_rank_of(s->p, &whole, effort), index);
  return !s->failed && s->work < most_work(s->p);
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
  if (start != s->target) relax(s, &s->p->to, false); /* false also where that is all there is time for */
  if (s->failed) return false;
  const node *end = &s->nodes[s->target];
  reshard_rank least = reshard_rank_of(s->p, &s->nodes[start].estimate, 0);
  reshard_rank direct = reshard_rank_of(s->p, &end->cost, 0);
  if (end->effort != UINT64_MAX && reshard_compare(&direct, &least) <= 0) return true;
  s->failed = !reshard_heap_push(s->p->mem, &s->heap, least, start);
  while (s->heap.count && !s->failed) {
    s->current = reshard_heap_pop(&s->heap);
    node *n = &s->nodes[s->current];
    if (s->current == s->target) break;
    if (n->done || n->depth == PASS_RESHARD_STEPS) continue;
    n->done = true;
    reshard_layout at = n->at; /* nodes may move */
    reshard_neighbours(s->p, &at, relax, s);
    if (s->work < most_work(s->p)) continue;
    *exact = false;
    break;
  }
  return !s->failed;
}

ir_status reshard_search(const reshard_problem *p, reshard_path *out, ir_error *error) {
  search s = {.p = p};
  *out = (reshard_path){.count = 0};
  bool good = run(&s, &out->exact);
  if (good && s.nodes[s.target].effort != UINT64_MAX) {
    out->count = s.nodes[s.target].depth + 1;
    for (uint32_t i = out->count, n = s.target; i--; n = s.nodes[n].parent)
      out->at[i] = s.nodes[n].at, out->flat[i] = s.nodes[n].flat;
  }
  ir_free(p->mem, s.nodes, s.node_cap * sizeof *s.nodes);
  ir_free(p->mem, s.heap.items, s.heap.cap * sizeof *s.heap.items);
  ir_free(p->mem, s.table, s.table_size * sizeof *s.table);
  return good ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "reshard: out of memory");
}
