/* A node may be for several statements: the padded image that two convolutions read belongs to both. In a
 * kernel, it counts for those statements that what reads it there is for, and for all if nothing else reads
 * it; where it is for none of these, it is a value by itself, and counts for the statements that have it as a
 * result, with those whose derivative it is for these, or, where there are none, for all of its own. */
#include "frontend/report/kernel_statements.h"

#include <string.h>

void fe_kernel_statements_close(fe_kernel_statements *k) {
  if (k->g) ir_free(k->g->mem, k->live, k->count);
  *k = (fe_kernel_statements){0};
}

enum { NEEDED = 1, COMPUTES = 2 };

/* Is it a view, or a number beside one? */
static bool is_view(const ir_graph *g, ir_ref node) {
  ir_op op = ir_op_of(g, node);
  return ir_ops[op].cls == IR_CLASS_VIEW || (ir_ops[op].cls == IR_CLASS_LEAF && op != IR_OP_IOTA);
}

static bool note_live(fe_kernel_statements *k, ir_ref node, ir_cause_items *items) {
  items->count = 0;
  bool good = ir_cause_list(k->g->causes, ir_cause_of(k->g, node), items);
  for (size_t i = 0; i < items->count && good; i++) {
    const ir_cause_item *at = &items->list[i];
    if (at->by || at->statement >= k->count || !ir_shape(k->g, node)) continue;
    k->live[at->statement] |= (at->result ? NEEDED : 0) | (is_view(k->g, node) ? 0 : COMPUTES);
  }
  return good;
}

bool fe_kernel_statements_open(fe_kernel_statements *k, const ir_graph *g, ir_ref results) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  ir_cause_items items = {0};
  *k = (fe_kernel_statements){.g = g};
  if (!g->causes) return true;
  k->count = (size_t)g->causes->statements + 1;
  if (!(k->live = ir_alloc(g->mem, k->count))) return false;
  memset(k->live, 0, k->count);
  bool good = ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) good = note_live(k, live[i], &items);
  ir_cause_items_free(g->mem, &items);
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}

static bool is_live(const fe_kernel_statements *k, const ir_cause_item *item) {
  uint32_t number = item->by ? item->by : item->statement;
  return number < k->count && k->live[number] & NEEDED;
}

/* The statements of a node that are needed. */
static bool list_live(const fe_kernel_statements *k, ir_ref node, ir_cause_items *out) {
  size_t kept = 0;
  out->count = 0;
  if (!ir_cause_list(k->g->causes, ir_cause_of(k->g, node), out)) return false;
  for (size_t i = 0; i < out->count; i++)
    if (is_live(k, &out->list[i])) out->list[kept++] = out->list[i];
  out->count = kept;
  return true;
}

/* one kernel: sets of statements as bits, a row of words for each node and kind */

typedef struct kernel {
  const fe_kernel_statements *k;
  fe_refs nodes;      /* that it computes, sources first */
  ir_cause_items all; /* statements of any of them, whose places are the bits */
  size_t words;
  uint64_t *own, *results,
      *counted; /* of a node: its statements; those it is a result of; those it counts for */
} kernel;

static bool is_empty(const uint64_t *set, size_t words) {
  uint64_t any = 0;
  for (size_t w = 0; w < words; w++) any |= set[w];
  return !any;
}

/* Adds the statements of what reads a node that has none, or of what reads that in turn. Recursive, as deep
 * as it is told. */
static bool add_readers(const fe_kernel_statements *k, const fe_walk *walk, ir_ref node, unsigned depth,
                        ir_cause_items *out) {
  ir_cause_items items = {0};
  bool good = true;
  for (uint32_t u = walk->first_user[node]; u < walk->first_user[node + 1] && good && depth; u++) {
    good = list_live(k, walk->users[u], &items);
    for (size_t i = 0; i < items.count && good; i++) good = ir_cause_add(k->g->mem, items.list[i], out);
    if (good && !items.count) good = add_readers(k, walk, walk->users[u], depth - 1, out);
  }
  ir_cause_items_free(k->g->mem, &items);
  return good;
}
enum {
  MOST_DEPTH = 8
}; /* of shared parts between a value and the statements that share them [3 in variances] */

/* Lists the statements of all nodes, and of those that read one that has none. */
static bool list_all(kernel *n, const fe_walk *walk, ir_cause_items *items) {
  for (size_t i = 0; i < n->nodes.count; i++) {
    ir_ref node = n->nodes.list[i];
    if (!list_live(n->k, node, items)) return false;
    if (!items->count && !add_readers(n->k, walk, node, MOST_DEPTH, items)) return false;
    for (size_t j = 0; j < items->count; j++)
      if (!ir_cause_add(n->k->g->mem, items->list[j], &n->all)) return false;
  }
  n->words = n->all.count / 64 + 1;
  size_t bytes = 3 * n->nodes.count * n->words * sizeof *n->own;
  if (!(n->own = ir_alloc(n->k->g->mem, bytes))) return false;
  memset(n->own, 0, bytes);
  n->results = n->own + n->nodes.count * n->words;
  n->counted = n->results + n->nodes.count * n->words;
  return true;
}

/* Is the node of these items a result of the item's statement, or is it a result of the one that asks for
 * this derivative? */
static bool is_result(const ir_cause_items *items, const ir_cause_item *item) {
  bool result = item->result;
  for (size_t i = 0; i < items->count && item->by && !result; i++)
    result = items->list[i].result && items->list[i].statement == item->by;
  return result;
}

static bool set_own(kernel *n, ir_cause_items *items) {
  for (size_t i = 0; i < n->nodes.count; i++) {
    if (!list_live(n->k, n->nodes.list[i], items)) return false;
    for (size_t j = 0, bit = 0; j < items->count; j++) {
      const ir_cause_item *at = &items->list[j];
      while (n->all.list[bit].statement != at->statement || n->all.list[bit].by != at->by) bit++;
      n->own[i * n->words + bit / 64] |= (uint64_t)1 << (bit & 63);
      if (is_result(items, at)) n->results[i * n->words + bit / 64] |= (uint64_t)1 << (bit & 63);
    }
  }
  return true;
}

static void add_set(uint64_t *to, const uint64_t *from, size_t words) {
  for (size_t w = 0; w < words; w++) to[w] |= from[w];
}

/* Does one value of the plan alone read the node? */
static bool has_one_reader(const fe_walk *walk, ir_ref node) {
  unsigned readers = 0;
  for (uint32_t u = walk->first_user[node]; u < walk->first_user[node + 1]; u++)
    readers += walk->planned[walk->users[u]];
  return readers == 1;
}

/* A node that counts for `reader` reads node number i. What nothing else reads counts for all its own. */
static void count_for(kernel *n, const fe_walk *walk, size_t i, const uint64_t *reader) {
  bool lone = has_one_reader(walk, n->nodes.list[i]);
  uint64_t *own = n->own + i * n->words, *to = n->counted + i * n->words, shared = 0;
  for (size_t w = 0; w < n->words; w++) shared |= own[w] & reader[w];
  if (is_empty(own, n->words)) add_set(to, reader, n->words);
  else if (!shared)
    add_set(to, is_empty(n->results + i * n->words, n->words) ? own : n->results + i * n->words, n->words);
  for (size_t w = 0; w < n->words && shared; w++) to[w] |= lone ? own[w] : own[w] & reader[w];
}

/* A stored part that several statements share counts for those that have a value which reads it. */
static void count_for_readers(kernel *n, const fe_walk *walk, ir_ref node, uint64_t *counted) {
  ir_cause_items items = {0};
  if (!add_readers(n->k, walk, node, MOST_DEPTH, &items)) items.count = 0;
  for (size_t j = 0; j < items.count; j++)
    for (size_t bit = 0; bit < n->all.count; bit++)
      if (n->all.list[bit].statement == items.list[j].statement && n->all.list[bit].by == items.list[j].by)
        counted[bit / 64] |= (uint64_t)1 << (bit & 63);
  ir_cause_items_free(n->k->g->mem, &items);
}

static void count_all(kernel *n, const fe_walk *walk, const ir_step *step, ir_ref value) {
  const ir_graph *g = n->k->g;
  for (size_t i = n->nodes.count; i-- > 0;) {
    ir_ref node = n->nodes.list[i];
    uint64_t *counted = n->counted + i * n->words;
    bool stored = node == value && !step->row_group.count;
    for (uint32_t r = 0; r < step->row_group.count; r++)
      stored |= step->row_group.values[r].value == node && step->row_group.values[r].slot != UINT32_MAX;
    if (stored || is_empty(counted, n->words)) add_set(counted, n->own + i * n->words, n->words);
    if (stored && is_empty(n->own + i * n->words, n->words)) count_for_readers(n, walk, node, counted);
    for (uint32_t s = 0; s < ir_operand_count(ir_get(g, node)); s++) {
      ir_ref source = ir_src(g, node, s);
      size_t at = ir_find_ref(n->nodes.list, n->nodes.count, source);
      if (at < n->nodes.count && n->nodes.list[at] == source) count_for(n, walk, at, counted);
    }
  }
}

/* Is the kernel for the statement of this bit? Of a statement that computes something elsewhere, a view of
 * that is not enough, unless the kernel is for nothing else. */
static bool counts(const kernel *n, size_t bit, bool views) {
  const ir_cause_item *item = &n->all.list[bit];
  bool any = false, works = views || item->by || !(n->k->live[item->statement] & COMPUTES);
  for (size_t i = 0; i < n->nodes.count; i++) {
    if (!(n->counted[i * n->words + bit / 64] >> (bit & 63) & 1)) continue;
    any = true;
    works |= !is_view(n->k->g, n->nodes.list[i]);
  }
  return any && works;
}

static bool kernel_statements(const fe_kernel_statements *k, fe_walk *walk, const ir_step *step, ir_ref value,
                              ir_cause_items *out) {
  kernel n = {.k = k};
  ir_cause_items items = {0};
  const ir_mem *mem = k->g->mem;
  bool good = fe_walk_fused(walk, step, value, ir_is_scatter(ir_op_of(k->g, value)), &n.nodes) &&
              list_all(&n, walk, &items) && set_own(&n, &items);
  if (good) count_all(&n, walk, step, value);
  for (int views = 0; views < 2 && good && !out->count; views++)
    for (size_t bit = 0; bit < n.all.count && good; bit++)
      if (counts(&n, bit, views)) good = ir_cause_add(mem, n.all.list[bit], out);
  if (n.own) ir_free(mem, n.own, 3 * n.nodes.count * n.words * sizeof *n.own);
  ir_cause_items_free(mem, &items);
  ir_cause_items_free(mem, &n.all);
  fe_refs_free(walk, &n.nodes);
  return good;
}

/* The value that a step which is no kernel has first among its results. */
static ir_ref result_of(const ir_plan *plan, const ir_step *s) {
  enum { CARRIED_RESULT = 3 }; /* its place among the slots of a carried value */
  uint32_t at = s->kind == IR_STEP_COND                 ? 1
                : s->kind == IR_STEP_WHILE              ? 1 + CARRIED_RESULT
                : s->kind == IR_STEP_SCAN && s->carries ? CARRIED_RESULT
                : s->kind == IR_STEP_SCAN               ? s->slot_count - 2 /* the last stack */
                                                        : 0;
  return at < s->slot_count ? plan->slots[s->slots[at]].value : 0;
}

bool fe_step_statements(const fe_kernel_statements *k, fe_walk *walk, const ir_plan *plan, size_t number,
                        ir_ref value, ir_cause_items *out) {
  const ir_step *s = &plan->steps[number];
  if (!k->g || !k->g->causes) return true;
  if (s->kind == IR_STEP_KERNEL) return kernel_statements(k, walk, s, value, out);
  ir_cause_items items = {0};
  ir_ref result = result_of(plan, s);
  bool good = !result || list_live(k, result, &items);
  for (size_t i = 0; i < items.count && good; i++) good = ir_cause_add(k->g->mem, items.list[i], out);
  ir_cause_items_free(k->g->mem, &items);
  return good;
}
