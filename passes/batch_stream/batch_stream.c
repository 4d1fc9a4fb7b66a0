/* Batch streaming: a large product of which one batch element is needed at a time is computed one batch
 * element at a time.
 *
 * The projection of a transformer layer to queries, keys and values is three times as large as its input, and
 * attention needs one batch element at a time, but all rows of it: no loop over rows
 * (passes/fuse/row_group.c) keeps the projection out of memory. So the values between such a product and a
 * smaller value that everything computed from it goes into become the function of a SCAN over the batch,
 * without carried values. They take memory for one batch element, which also stays in the caches.
 *
 *   begin    a contraction of many bytes, with so much work in each iteration that it is worth all threads
 *   end      the first value behind it that everything computed from it goes into and that is in memory in
 *            any case, at most half as large, with the batch as its first axis
 *   region   the nodes between them, and nodes that only these use (region.c). The batch stays one axis
 *            throughout
 *
 * Values that are stored inside the function are stored without it, too, so that the kernels are the same,
 * for one batch element. Products add up their terms in the same order; other sums in the order of their own,
 * smaller shapes. Copies that packing has made for all batch elements stay outside. */
#include "batch_stream.h"

#include "ir/arith.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <string.h>

enum {
  MAX_STEPS = 1024, /* nodes between a product and its end, twice those of a region: a product without an end
                       there is computed as a whole */
  /* ends that are tried for one product [2 in the workloads]: each time its region is collected anew */
  MAX_TRIES = 3,
  MAX_ELEMENTS = 64, /* of the batch: of more, iterations are so short that launching their kernels shows */
  MIN_ELEMENTS = 4,  /* of the batch: of fewer, memory for one is too large a share of that for all */
  TABLES = 4,        /* arrays by node: those of batch_stream_uses and a byte table */
  MIN_WORK = 8 /* multiplications in an iteration for each byte of streamer.bytes: of 2 MiB, 16 M of them are
                  100 us and more, of which an iteration's launches are a few percent */
};

typedef struct streamer {
  batch_stream_search search;
  int64_t bytes; /* least size of a product that is streamed, in bytes */
  ir_ref *live;
  size_t count, cap;
  batch_stream_region *regions;
  size_t region_count, region_cap;
} streamer;

/* Bytes of a tensor; 0 where its size is not known. */
static int64_t bytes_of(const ir_graph *g, ir_ref tensor) {
  int64_t bytes = ir_dtypes[ir_dtype_of(g, tensor)].bytes, size;
  for (uint32_t i = 0; i < ir_rank(g, tensor); i++)
    if (!ir_is_const(g, ir_dim(g, tensor, i), &size) || size < 1 || !ir_mul_ok(bytes, size, &bytes)) return 0;
  return bytes;
}

static bool is_large(const ir_graph *g, ir_ref node, int64_t bytes) {
  return ir_op_of(g, node) == IR_OP_SUM && ir_rank(g, node) > 1 && bytes_of(g, node) >= bytes;
}

bool batch_stream_in_memory(const batch_stream_search *s, ir_ref node, bool repeated) {
  ir_op op = ir_op_of(s->g, node);
  ir_ref last = s->uses.last[node];
  if (op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_DATA || op == IR_OP_RESOURCE ||
      op == IR_OP_RESULT || op == IR_OP_STORED || op == IR_OP_ASSIGN ||
      (last && (last == s->results || ir_has_results(ir_op_of(s->g, last)))))
    return true;
  bool reduced = ir_ops[op].cls == IR_CLASS_REDUCE || s->epilogues[node] & PASS_EPILOGUE;
  return reduced && (repeated || s->uses.count[node] > 1);
}

/* finding */

static void count_uses(streamer *p) {
  for (size_t i = 0; i < p->count; i++) {
    const ir_node *n = ir_get(p->search.g, p->live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++)
      p->search.uses.count[n->src[k]]++, p->search.uses.last[n->src[k]] = p->live[i];
  }
}

/* Is the value in memory, and does it pay to compute the product in as many iterations as its first axis has
 * indices? */
static bool may_end(streamer *p, ir_ref end) {
  ir_graph *g = p->search.g;
  ir_ref product = p->search.begin;
  int64_t bytes = bytes_of(g, end), count;
  return batch_stream_in_memory(&p->search, end, false) && bytes && bytes <= bytes_of(g, product) / 2 &&
         ir_rank(g, end) > 0 && ir_is_const(g, ir_dim(g, end, 0), &count) && count >= MIN_ELEMENTS &&
         count <= MAX_ELEMENTS &&
         pass_elements(g, ir_src(g, product, 0)) / (double)count / MIN_WORK >= (double)p->bytes;
}

typedef enum { UNKNOWN, PRODUCT, OTHER } begin_kind;

/* Is the region's first value a contraction that reuses its operands? *kind: UNKNOWN before that has been
 * found out, which takes longer than to find out that a value may be an end. */
static bool is_product(streamer *p, begin_kind *kind) {
  pass_contraction c;
  if (*kind == UNKNOWN) {
    bool product = pass_contraction_of(p->search.g, p->search.begin, &c) && pass_contraction_reuses(&c);
    *kind = product ? PRODUCT : OTHER;
  }
  return *kind == PRODUCT;
}

static bool add_region(streamer *p, ir_ref end) {
  batch_stream_search *s = &p->search;
  size_t first = s->node_count;
  s->end = end;
  ir_is_const(s->g, ir_dim(s->g, end, 0), &s->count);
  if (!batch_stream_trace(s) || !IR_RESERVE(s->g->mem, p->regions, p->region_cap, p->region_count + 1))
    return false;
  p->regions[p->region_count++] = (batch_stream_region){first, s->node_count - first, s->end, s->count};
  return true;
}

static bool depends(const batch_stream_search *s, ir_ref node) {
  const ir_node *n = ir_get(s->g, node);
  for (uint32_t k = 0; k < n->nsrc; k++)
    if (s->uses.walk[n->src[k]] == s->walk) return true;
  return node == s->begin;
}

/* Adds the region that begins with the product at that place of the list, if there is one. An end comes no
 * earlier than the last use of every node before it that depends on the product. */
static bool find_region(streamer *p, size_t place) {
  batch_stream_search *s = &p->search;
  size_t stop = p->count - place < MAX_STEPS ? p->count : place + MAX_STEPS;
  ir_ref latest = 0;
  begin_kind kind = UNKNOWN;
  s->walk++;
  s->begin = p->live[place];
  for (int tries = 0; place < stop && tries < MAX_TRIES; place++) {
    ir_ref node = p->live[place];
    if (!depends(s, node)) continue;
    if (!ir_shape(s->g, node)) return false;
    s->uses.walk[node] = s->walk;
    if (node != s->begin && latest <= node && may_end(p, node)) {
      if (!is_product(p, &kind)) return false;
      if (add_region(p, node)) return true;
      tries++;
    }
    if (s->uses.last[node] > latest) latest = s->uses.last[node];
  }
  return false;
}

static void find_regions(streamer *p) {
  ir_graph *g = p->search.g;
  ir_ref end = 0;
  for (size_t i = 0; i < p->count && !g->error->status; i++)
    if (p->live[i] > end && is_large(g, p->live[i], p->bytes) && find_region(p, i)) end = p->search.end;
}

/* making */

static bool make_all(streamer *p, ir_ref *map) {
  ir_graph *g = p->search.g;
  const batch_stream_region *next = p->regions, *last = next + p->region_count;
  ir_ref *src = NULL;
  size_t src_cap = 0;
  bool good = true;
  for (size_t i = 0; i < p->count && good; i++) {
    ir_ref node = p->live[i];
    if (next < last && next->end == node) {
      ir_cause before = ir_cause_enter(g, node);
      ir_ref made = batch_stream_make(g, next++, p->search.nodes, map);
      good = (map[node] = ir_cause_leave(g, before, node, made)) != 0;
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

static ir_ref stream_regions(streamer *p, ir_ref results, uint32_t *tables, size_t nodes) {
  ir_graph *g = p->search.g;
  memset(tables, 0, TABLES * nodes * sizeof *tables);
  p->search.uses = (batch_stream_uses){tables, tables + nodes, tables + 2 * nodes};
  p->search.epilogues = (uint8_t *)(tables + 3 * nodes);
  p->search.results = results;
  if (ir_reachable(g, &results, 1, &p->live, &p->count, &p->cap) != IR_OK) return 0;
  pass_epilogues(g, p->live, p->count, NULL, 0, p->search.epilogues);
  count_uses(p);
  find_regions(p);
  if (g->error->status) return 0;
  if (!p->region_count) return results;
  ir_ref *map = tables;                                  /* uses are not needed any more */
  for (size_t i = 0; i < nodes; i++) map[i] = (ir_ref)i; /* functions, which are not listed, stay */
  return make_all(p, map) ? map[results] : 0;
}

ir_ref pass_batch_stream(ir_graph *g, ir_ref results, const ir_target *target) {
  streamer p = {.search = {.g = g}, .bytes = target->batch_stream_threshold};
  size_t nodes = (size_t)results + 1;
  ir_ref r = 1;
  if (!p.bytes) return results;
  while (r < results && !is_large(g, r, p.bytes)) r++;
  if (r == results) return results;
  uint32_t *tables = ir_alloc(g->mem, TABLES * nodes * sizeof *tables);
  ir_ref made = tables ? stream_regions(&p, results, tables, nodes) : 0;
  if (!made) ir_fail(g->error, IR_ERR_MEMORY, "out of memory streaming a product over its batch");
  ir_free(g->mem, tables, tables ? TABLES * nodes * sizeof *tables : 0);
  ir_free(g->mem, p.live, p.cap * sizeof *p.live);
  ir_free(g->mem, p.regions, p.region_cap * sizeof *p.regions);
  ir_free(g->mem, p.search.nodes, p.search.node_cap * sizeof *p.search.nodes);
  return made;
}
