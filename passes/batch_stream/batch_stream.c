/* Parts: a large product that is needed element by element of a batch is computed so.
 *
 * The projection of a transformer layer to queries, keys and values is three times as large as what it is
 * made of, and attention needs one element of the batch at a time, but of that one all rows: no loop over
 * rows (passes/fuse/row_group.c) keeps it out of memory. So what lies between such a product and a smaller
 * value that all of it goes into becomes the function of a SCAN over the batch, without a state: memory is
 * needed for one element, which also stays in the caches.
 *
 *   begin   a contraction of many bytes and of much work in each part, so that each is worth all threads
 *   end     the first value behind it that everything made of it goes into and that lies in memory anyway, at
 *           most half as large, its first axis the batch
 *   region  what is between them, with what only it uses (region.c). The batch stays one axis throughout
 *
 * What comes to lie in memory does so anyway, so that the kernels are those that there would be in one go, of
 * one element. Products add up their terms in the same order; other sums in that of their own, smaller
 * shapes. Copies that packing has made for all parts stay outside. */
#include "batch_stream.h"

#include "ir/arith.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <string.h>

enum {
  MOST_STEPS = 1024, /* nodes between a product and its end */
  MOST_TRIES = 3,    /* ends of one product */
  MOST_PARTS = 64,
  LEAST_PARTS = 4,
  TABLES = 4,
  WORK = 8 /* multiplications in each part, for each byte that the whole has at least */
};

typedef struct parter {
  parts_search search;
  int64_t bytes; /* least size of what is computed in parts */
  ir_ref *live;
  size_t count, cap;
  parts_region *regions;
  size_t region_count, region_cap;
} parter;

int64_t parts_bytes(const ir_graph *g, ir_ref tensor) {
  int64_t bytes = ir_dtypes[ir_dtype_of(g, tensor)].bytes, size;
  for (uint32_t i = 0; i < ir_rank(g, tensor); i++)
    if (!ir_is_const(g, ir_dim(g, tensor, i), &size) || size < 1 || !ir_mul_ok(bytes, size, &bytes)) return 0;
  return bytes;
}

static bool is_large(const ir_graph *g, ir_ref node, int64_t bytes) {
  return ir_op_of(g, node) == IR_OP_SUM && ir_rank(g, node) > 1 && parts_bytes(g, node) >= bytes;
}

bool parts_in_memory(const parts_search *s, ir_ref node, bool again) {
  ir_op op = ir_op_of(s->g, node);
  ir_ref last = s->uses.last[node];
  if (op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_DATA || op == IR_OP_RESULT ||
      op == IR_OP_STORED || ir_scatters(op) ||
      (last && (last == s->results || ir_has_results(ir_op_of(s->g, last)))))
    return true;
  bool reduced = ir_ops[op].cls == IR_CLASS_REDUCE || s->tails[node] & PASS_TAIL;
  return reduced && (again || s->uses.count[node] > 1);
}

/* finding */

static void count_uses(parter *p) {
  for (size_t i = 0; i < p->count; i++) {
    const ir_node *n = ir_get(p->search.g, p->live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++)
      p->search.uses.count[n->src[k]]++, p->search.uses.last[n->src[k]] = p->live[i];
  }
}

/* Does the value lie in memory, and does it pay to compute the product in as many parts as its first axis has
 * positions? */
static bool may_end(parter *p, const pass_contraction *c, ir_ref end) {
  const ir_graph *g = p->search.g;
  int64_t bytes = parts_bytes(g, end), count;
  return parts_in_memory(&p->search, end, false) && bytes && bytes <= parts_bytes(g, c->sum) / 2 &&
         ir_rank(g, end) > 0 && ir_is_const(g, ir_dim(g, end, 0), &count) && count >= LEAST_PARTS &&
         count <= MOST_PARTS && pass_contraction_size(c, UINT32_MAX) / count / WORK >= p->bytes;
}

static bool add_region(parter *p, ir_ref end) {
  parts_search *s = &p->search;
  size_t first = s->node_count;
  s->end = end;
  ir_is_const(s->g, ir_dim(s->g, end, 0), &s->count);
  if (!parts_trace(s) || !IR_RESERVE(s->g->mem, p->regions, p->region_cap, p->region_count + 1)) return false;
  p->regions[p->region_count++] = (parts_region){first, s->node_count - first, s->end, s->count};
  return true;
}

static bool depends(const parts_search *s, ir_ref node) {
  const ir_node *n = ir_get(s->g, node);
  for (uint32_t k = 0; k < n->nsrc; k++)
    if (s->uses.walk[n->src[k]] == s->walk) return true;
  return node == s->begin;
}

/* The region that begins with the product at that place, if there is one. An end is used later than all that
 * depends on the product and comes before it. */
static bool find_region(parter *p, size_t place, const pass_contraction *c) {
  parts_search *s = &p->search;
  size_t stop = p->count - place < MOST_STEPS ? p->count : place + MOST_STEPS;
  ir_ref latest = 0;
  s->walk++;
  s->begin = p->live[place];
  for (int tries = 0; place < stop && tries < MOST_TRIES; place++) {
    ir_ref node = p->live[place];
    if (!depends(s, node)) continue;
    if (!ir_shape(s->g, node)) return false;
    s->uses.walk[node] = s->walk;
    if (node != s->begin && latest <= node && may_end(p, c, node)) {
      if (add_region(p, node)) return true;
      tries++;
    }
    if (s->uses.last[node] > latest) latest = s->uses.last[node];
  }
  return false;
}

static void find_regions(parter *p) {
  ir_graph *g = p->search.g;
  pass_contraction c;
  ir_ref end = 0;
  for (size_t i = 0; i < p->count && !g->error->status; i++) {
    if (p->live[i] <= end || !is_large(g, p->live[i], p->bytes) || !pass_contraction_of(g, p->live[i], &c) ||
        !pass_contraction_reuses(&c))
      continue;
    if (find_region(p, i, &c)) end = p->search.end;
  }
}

/* making */

static bool make_all(parter *p, ir_ref *map) {
  ir_graph *g = p->search.g;
  const parts_region *next = p->regions, *last = next + p->region_count;
  ir_ref *src = NULL;
  size_t src_cap = 0;
  bool good = true;
  for (size_t i = 0; i < p->count && good; i++) {
    ir_ref node = p->live[i];
    if (next < last && next->end == node) {
      good = (map[node] = parts_make(g, next++, p->search.nodes, map)) != 0;
      continue;
    }
    const ir_node *n = ir_get(g, node);
    if (!(good = IR_RESERVE(g->mem, src, src_cap, n->nsrc))) break;
    for (uint32_t k = 0; k < n->nsrc; k++) src[k] = map[n->src[k]];
    good = (map[node] = ir_remake(g, node, src, n->nsrc)) != 0;
  }
  ir_free(g->mem, src, src_cap * sizeof *src);
  return good;
}

static ir_ref in_parts(parter *p, ir_ref results, uint32_t *tables, size_t nodes) {
  ir_graph *g = p->search.g;
  memset(tables, 0, TABLES * nodes * sizeof *tables);
  p->search.uses = (parts_uses){tables, tables + nodes, tables + 2 * nodes};
  p->search.tails = (uint8_t *)(tables + 3 * nodes);
  p->search.results = results;
  if (ir_reachable(g, &results, 1, &p->live, &p->count, &p->cap) != IR_OK) return 0;
  pass_tails(g, p->live, p->count, NULL, 0, p->search.tails);
  count_uses(p);
  find_regions(p);
  if (g->error->status) return 0;
  if (!p->region_count) return results;
  ir_ref *map = tables;                                  /* uses are not needed any more */
  for (size_t i = 0; i < nodes; i++) map[i] = (ir_ref)i; /* functions, which are not listed, stay */
  return make_all(p, map) ? map[results] : 0;
}

ir_ref pass_parts(ir_graph *g, ir_ref results, const ir_target *target) {
  parter p = {.search = {.g = g}, .bytes = target->part_bytes};
  size_t nodes = (size_t)results + 1;
  ir_ref r = 1;
  if (!p.bytes || target->lanes) return results;
  while (r < results && !is_large(g, r, p.bytes)) r++;
  if (r == results) return results;
  uint32_t *tables = ir_alloc(g->mem, TABLES * nodes * sizeof *tables);
  ir_ref made = tables ? in_parts(&p, results, tables, nodes) : 0;
  if (!made) ir_fail(g->error, IR_ERR_MEMORY, "out of memory computing a product in parts");
  ir_free(g->mem, tables, tables ? TABLES * nodes * sizeof *tables : 0);
  ir_free(g->mem, p.live, p.cap * sizeof *p.live);
  ir_free(g->mem, p.regions, p.region_cap * sizeof *p.regions);
  ir_free(g->mem, p.search.nodes, p.search.node_cap * sizeof *p.search.nodes);
  return made;
}
