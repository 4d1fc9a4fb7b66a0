/* Storage of a graph: nodes in chunks that never move, sources and names in blocks, one hash table for
 * identity.
 *
 * Making a node first reserves everything that it needs (node, sources, hash bucket, side-table entry) and
 * commits last, so a failed allocation leaves the graph as it was. */
#include "cause.h"
#include "ir.h"
#include "letters.h"
#include "mesh/sharding.h"
#include "node_table.h"

#include <string.h>

/* With IR_HARD every node allocates a block, so that a test's allocator can fail at each of them. */
#ifdef IR_HARD
enum { BLOCK_PER_NODE = true, BLOCK_BYTES = 0 };
#else
enum { BLOCK_PER_NODE = false, BLOCK_BYTES = 16 * 1024 };
#endif
enum { CHUNK = 1 << IR_CHUNK_BITS };
/* The nodes of a chunk, and then their causes. */
enum { CHUNK_BYTES = CHUNK * (sizeof(ir_node) + sizeof(ir_cause)) };

struct ir_block {
  struct ir_block *next;
  size_t size, used; /* of bytes[] */
  _Alignas(8) unsigned char bytes[];
};
struct ir_name {
  size_t length;
  uint32_t hash, next;
  char text[];
};

static void *block_alloc(ir_graph *g, size_t size) {
  size = (size + 7) & ~(size_t)7;
  struct ir_block *b = g->blocks;
  if (!b || b->size - b->used < size || BLOCK_PER_NODE) {
    size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct ir_block *fresh = ir_alloc(g->mem, sizeof *fresh + room);
    if (!fresh) return NULL;
    *fresh = (struct ir_block){.size = room, .next = b};
    g->blocks = b = fresh;
  }
  void *place = b->bytes + b->used;
  b->used += size;
  return place;
}

static ir_ref out_of_memory(ir_graph *g) {
  ir_fail(g->error, IR_ERR_MEMORY, "out of memory at node %u of the graph", g->count);
  return 0;
}

static uint32_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(h >> 32 ^ h);
}

/* A node that may exist: all but its order. False: a source is 0. */
static inline bool node_like(ir_node *out, ir_op op, ir_dtype dtype, bool weak, int64_t arg,
                             const ir_ref *src, uint32_t nsrc) {
  uint32_t h = mix((uint64_t)op << 24 ^ (uint64_t)dtype << 16 ^ (uint64_t)weak << 8, (uint64_t)arg);
  for (uint32_t i = 0; i < nsrc; i++) {
    if (src[i] == 0) return false;
    h = mix((uint64_t)h << 32 | nsrc, src[i]);
  }
  *out = (ir_node){.op = (uint8_t)op,
                   .dtype = (uint8_t)dtype,
                   .weak = weak,
                   .nsrc = nsrc,
                   .src = src,
                   .arg = arg,
                   .hash = h};
  return true;
}

/* Is there room for one more node without an allocation? */
static inline bool has_room(const ir_graph *g) {
  return g->count >> IR_CHUNK_BITS < g->chunk_count && g->count < g->shapes_cap && ir_table_has_room(g) &&
         !BLOCK_PER_NODE;
}

static bool reserve_node(ir_graph *g) {
  if (g->count == UINT32_MAX) return false;
  if (g->count >> IR_CHUNK_BITS >= g->chunk_count) {
    if (!IR_RESERVE(g->mem, g->chunks, g->chunk_cap, g->chunk_count + 1)) return false;
    ir_node *chunk = ir_alloc(g->mem, CHUNK_BYTES);
    if (!chunk) return false;
    g->chunks[g->chunk_count++] = chunk;
  }
  size_t known = g->shapes_cap;
  if (!IR_RESERVE(g->mem, g->shapes, g->shapes_cap, (size_t)g->count + 1)) return false;
  memset(g->shapes + known, 0, (g->shapes_cap - known) * sizeof *g->shapes);
  return ir_table_has_room(g) || ir_table_grow(g);
}

/* The sources of node 0. Code that reads a source of a node that could not be made, such as the extent of a
 * range, gets node 0 again. Attributes that an operation has at a fixed place lie within its first
 * IR_ERROR_SOURCES. */
static const ir_ref error_sources[IR_ERROR_SOURCES];

ir_status ir_graph_init(ir_graph *g, const ir_mem *mem, ir_error *error) {
  *g = (ir_graph){.mem = mem, .error = error};
  if (!reserve_node(g)) {
    ir_graph_free(g);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory making a graph");
  }
  *(ir_node *)ir_get(g, 0) = (ir_node){.op = IR_OP_ERROR, .src = error_sources};
  g->count = 1;
  return IR_OK;
}

void ir_graph_free(ir_graph *g) {
  if (!g->mem) return;
  for (size_t i = 0; i < g->chunk_count; i++) ir_free(g->mem, g->chunks[i], CHUNK_BYTES);
  for (struct ir_block *b = g->blocks, *next; b; b = next) {
    next = b->next;
    ir_free(g->mem, b, sizeof *b + b->size);
  }
  ir_free(g->mem, g->chunks, g->chunk_cap * sizeof *g->chunks);
  ir_table_free(g);
  ir_free(g->mem, g->names, g->name_cap * sizeof *g->names);
  ir_free(g->mem, g->name_buckets, g->name_bucket_count * sizeof *g->name_buckets);
  ir_free(g->mem, g->shapes, g->shapes_cap * sizeof *g->shapes);
  ir_free(g->mem, g->batches, g->batches_cap * sizeof *g->batches);
  ir_letters_forget(g);
  ir_sharding_forget(g);
  ir_free(g->mem, g->bounds, g->bounds_cap * sizeof *g->bounds);
  ir_free(g->mem, g->bounds_known, g->bounds_cap);
  ir_walk_free(g);
  *g = (ir_graph){.mem = g->mem, .error = g->error};
}

static inline bool is_equal(const ir_node *a, const ir_node *b) {
  if (a->hash != b->hash || a->arg != b->arg || a->op != b->op || a->dtype != b->dtype ||
      a->weak != b->weak || a->nsrc != b->nsrc)
    return false;
  uint32_t i = 0;
  while (i < a->nsrc && a->src[i] == b->src[i]) i++;
  return i == a->nsrc;
}

/* ir_node.holds of a node with these sources. */
static uint8_t holds_of(const ir_graph *g, ir_op op, const ir_ref *src, uint32_t nsrc) {
  uint8_t holds = ir_holds_bit(op);
  for (uint32_t i = 0; i < nsrc && op != IR_OP_FUNC; i++) holds |= ir_get(g, src[i])->holds;
  return holds;
}

/* Adds the node, which the graph does not have yet. */
static ir_ref add_node(ir_graph *g, const ir_node *like) {
  ir_ref *copy = NULL;
  if (ir_task_ends(g->task)) return ir_cancelled(g->error), 0;
  if ((!has_room(g) && !reserve_node(g)) ||
      ((like->nsrc || BLOCK_PER_NODE) && !(copy = block_alloc(g, like->nsrc * sizeof *copy))))
    return out_of_memory(g);
  for (uint32_t i = 0; i < like->nsrc; i++) copy[i] = like->src[i];
  ir_ref ref = g->count++;
  ir_table_add(g, like->hash, ref);
  ir_node *node = &g->chunks[ref >> IR_CHUNK_BITS][ref & (CHUNK - 1)];
  *node = *like;
  node->src = copy;
  node->order = ir_order_of(g, (ir_op)like->op, like->arg, copy, like->nsrc);
  node->holds = holds_of(g, (ir_op)like->op, copy, like->nsrc);
  if (g->causes) *ir_cause_at(g, ref) = g->causes->current;
  return ref;
}

/* The node that is like this one, added if there is none. */
static ir_ref intern(ir_graph *g, const ir_node *like) {
  uint8_t tag = ir_table_tag(like->hash);
  for (uint32_t at = like->hash & g->table_mask;; at = (at + 1) & g->table_mask) {
    const struct ir_table_line *line = &g->table[at];
    for (uint32_t like_it = ir_table_like(line, tag); like_it; like_it &= like_it - 1) {
      ir_ref ref = line->refs[ir_lowest_bit(like_it)];
      if (is_equal(ir_get(g, ref), like)) return ref;
    }
    if (line->used < IR_LINE_NODES) return add_node(g, like);
  }
}

static ir_ref intern_node(ir_graph *g, ir_op op, ir_dtype dtype, bool weak, int64_t arg, const ir_ref *src,
                          uint32_t nsrc) {
  ir_node like;
  return node_like(&like, op, dtype, weak, arg, src, nsrc) ? intern(g, &like) : 0;
}

void ir_graph_rewind(ir_graph *g, uint32_t count) {
  if (g->finalized_end > count) {
    memset(g->finalized, 0, sizeof g->finalized);
    g->finalized_end = 0;
  }
  while (g->count > count) {
    ir_ref last = g->count - 1;
    ir_table_remove_last(g, last);
    g->shapes[last] = 0;
    if (last < g->batches_cap) g->batches[last] = 0;
    if (last < g->letters_cap) g->letters[last] = (ir_letters){{0}, {0}, {0}};
    if (last < g->bounds_cap) g->bounds_known[last] = 0;
    ir_sharding_drop(g, last);
    g->count = last;
  }
}

ir_ref ir_make(ir_graph *g, ir_op op, ir_dtype dtype, int64_t arg, const ir_ref *src, uint32_t nsrc) {
  return intern_node(g, op, dtype, false, arg, src, nsrc);
}

ir_ref ir_index(ir_graph *g, int64_t value) {
  ir_ref *recent = &g->indices[(uint64_t)value % IR_RECENT];
  const ir_node *n = ir_get(g, *recent); /* any node, where the graph was rewound since */
  if (n->arg == value && n->op == IR_OP_CONST && n->dtype == IR_INDEX && !n->weak && *recent < g->count)
    return *recent;
  return *recent = ir_make(g, IR_OP_CONST, IR_INDEX, value, NULL, 0);
}

/* Makes room for the batch of the next node. Not needed for a node without a batch, unless its operation
 * removes one. */
static bool reserve_batch(ir_graph *g, ir_op op, ir_ref batch) {
  size_t known = g->batches_cap;
  if (!batch && op != IR_OP_REBATCH && op != IR_OP_UNBATCH) return true;
  if (!IR_RESERVE(g->mem, g->batches, g->batches_cap, (size_t)g->count + 1)) return out_of_memory(g) != 0;
  memset(g->batches + known, 0, (g->batches_cap - known) * sizeof *g->batches);
  return true;
}

ir_ref ir_make_tensor(ir_graph *g, ir_op op, ir_dtype dtype, ir_ref shape, int64_t arg, const ir_ref *src,
                      uint32_t nsrc) {
  ir_ref batch = 0;
  ir_node like;
  if (!shape || !node_like(&like, op, dtype, false, arg, src, nsrc)) return 0;
  ir_table_prefetch(g, like.hash);
  if (!ir_batch_of(g, op, arg, src, nsrc, &batch) || !reserve_batch(g, op, batch)) return 0;
  if (g->letters_cap && !ir_letters_reserve(g)) return out_of_memory(g);
  uint32_t count = g->count;
  ir_ref ref = intern(g, &like);
  if (ref) g->shapes[ref] = shape;
  if (ref && batch) g->batches[ref] = batch;
  if (ref < count && ref && g->causes && ir_cause_is_part(*ir_cause_at(g, ref)) && !ir_cause_is_given(op))
    ir_cause_again(g, ref);
  if (ref >= count && g->letters_cap) ir_letters_derive(g, ref);
  return ref;
}

ir_ref ir_remake(ir_graph *g, ir_ref node, const ir_ref *src, uint32_t nsrc) {
  const ir_node *n = ir_get(g, node);
  ir_ref shape = ir_shape(g, node);
  if (n->nsrc == nsrc && (nsrc == 0 || memcmp(n->src, src, nsrc * sizeof *src) == 0)) return node;
  if (!shape) return ir_make(g, (ir_op)n->op, (ir_dtype)n->dtype, n->arg, src, nsrc);
  ir_cause before = ir_cause_enter(g, node);
  ir_ref made = ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, shape, n->arg, src, nsrc);
  return ir_cause_leave(g, before, node, made);
}

ir_ref ir_remake_mapped(ir_graph *g, ir_ref node, const ir_ref *map) {
  enum { FEW = 8 }; /* rows of joins and tuples have more */
  const ir_node *n = ir_get(g, node);
  uint32_t count = n->nsrc;
  ir_ref few[FEW] = {0}, *src = count > FEW ? ir_alloc(g->mem, count * sizeof *src) : few;
  if (!src) return out_of_memory(g);
  for (uint32_t k = 0; k < count; k++) src[k] = map[n->src[k]];
  ir_ref made = ir_remake(g, node, src, count);
  if (src != few) ir_free(g->mem, src, count * sizeof *src);
  return made;
}

ir_ref ir_make_weak(ir_graph *g, ir_dtype dtype, ir_value value) {
  ir_ref shape = ir_tuple(g, NULL, 0), ref = intern_node(g, IR_OP_CONST, dtype, true, value.i, NULL, 0);
  if (ref) g->shapes[ref] = shape;
  return shape ? ref : 0;
}

/* names */

static bool name_table_grow(ir_graph *g) {
  size_t grown = g->name_bucket_count ? g->name_bucket_count * 2 : 64;
  uint32_t *fresh = ir_alloc(g->mem, grown * sizeof *fresh);
  if (!fresh) return false;
  memset(fresh, 0, grown * sizeof *fresh);
  for (uint32_t i = 0; i < g->name_count; i++) {
    uint32_t *head = &fresh[g->names[i]->hash & (grown - 1)];
    g->names[i]->next = *head;
    *head = i + 1;
  }
  ir_free(g->mem, g->name_buckets, g->name_bucket_count * sizeof *g->name_buckets);
  g->name_buckets = fresh;
  g->name_bucket_count = grown;
  return true;
}

int64_t ir_name(ir_graph *g, const char *bytes, size_t length) {
  uint32_t hash = mix(length, 0);
  for (size_t i = 0; i < length; i++) hash = mix(hash, (unsigned char)bytes[i] + 1u);
  for (uint32_t i = g->name_bucket_count ? g->name_buckets[hash & (g->name_bucket_count - 1)] : 0; i;
       i = g->names[i - 1]->next)
    if (g->names[i - 1]->hash == hash && g->names[i - 1]->length == length &&
        memcmp(g->names[i - 1]->text, bytes, length) == 0)
      return i - 1;
  struct ir_name *name = NULL;
  if (g->name_count >= INT32_MAX || length > PTRDIFF_MAX ||
      !IR_RESERVE(g->mem, g->names, g->name_cap, g->name_count + 1) ||
      (g->name_count >= g->name_bucket_count && !name_table_grow(g)) ||
      !(name = block_alloc(g, sizeof *name + length + 1))) {
    out_of_memory(g);
    return -1;
  }
  uint32_t *head = &g->name_buckets[hash & (g->name_bucket_count - 1)];
  *name = (struct ir_name){.length = length, .hash = hash, .next = *head};
  memcpy(name->text, bytes, length);
  name->text[length] = '\0';
  g->names[g->name_count] = name;
  *head = (uint32_t)++g->name_count;
  return (int64_t)g->name_count - 1;
}

const char *ir_name_text(const ir_graph *g, int64_t name) {
  return name >= 0 && (size_t)name < g->name_count ? g->names[name]->text : "";
}

size_t ir_name_length(const ir_graph *g, int64_t name) {
  return name >= 0 && (size_t)name < g->name_count ? g->names[name]->length : 0;
}

/* copying */

static bool arg_is_name(ir_op op) {
  return op == IR_OP_INPUT || op == IR_OP_VAR || op == IR_OP_DATA || op == IR_OP_RESOURCE ||
         op == IR_OP_CUSTOM || op == IR_OP_EXCHANGE || ir_only_divides(op);
}

static ir_ref copy_node(ir_graph *dst, const ir_graph *src, ir_ref ref, const ir_ref *map, ir_ref **scratch,
                        size_t *cap) {
  const ir_node *n = ir_get(src, ref);
  if (!IR_RESERVE(dst->mem, *scratch, *cap, n->nsrc)) return out_of_memory(dst);
  for (uint32_t i = 0; i < n->nsrc; i++) (*scratch)[i] = map[n->src[i]];
  int64_t arg = n->arg;
  if (n->op == IR_OP_RESHAPE && arg) /* letters.c */
    arg = 1 + ir_name(dst, ir_name_text(src, arg - 1), ir_name_length(src, arg - 1));
  if (arg_is_name((ir_op)n->op)) arg = ir_name(dst, ir_name_text(src, arg), ir_name_length(src, arg));
  return intern_node(dst, (ir_op)n->op, (ir_dtype)n->dtype, n->weak, arg, *scratch, n->nsrc);
}

static bool copy_batches(ir_graph *dst, const ir_graph *src, const ir_ref *all, size_t count,
                         const ir_ref *map) {
  size_t known = dst->batches_cap;
  if (!IR_RESERVE(dst->mem, dst->batches, dst->batches_cap, (size_t)dst->count)) return false;
  memset(dst->batches + known, 0, (dst->batches_cap - known) * sizeof *dst->batches);
  for (size_t i = 0; i < count; i++)
    if (ir_batch(src, all[i])) dst->batches[map[all[i]]] = map[ir_batch(src, all[i])];
  return true;
}

static bool copy_letters(ir_graph *dst, const ir_graph *src, const ir_ref *all, size_t count,
                         const ir_ref *map) {
  for (size_t i = 0; i < count; i++)
    if (ir_has_letters(src, all[i]) && !ir_letters_set(dst, map[all[i]], &src->letters[all[i]])) return false;
  return true;
}

ir_status ir_graph_copy(ir_graph *dst, const ir_graph *src, ir_ref *roots, size_t n, ir_ref **map_out) {
  ir_ref *live = NULL, *scratch = NULL, *map = ir_alloc(dst->mem, src->count * sizeof *map), *all = NULL;
  size_t live_count = 0, live_cap = 0, scratch_cap = 0, all_cap = 0, all_count = 0;
  bool failed = !map || ir_reachable_inside(src, roots, n, &live, &live_count, &live_cap) != IR_OK;
  /* shapes and batches are not sources: walk again from the nodes together with their shapes and batches */
  if (!failed && IR_RESERVE(dst->mem, scratch, scratch_cap, 3 * live_count + 1)) {
    size_t k = 0;
    for (size_t i = 0; i < live_count; i++) {
      scratch[k++] = live[i];
      if (src->shapes[live[i]]) scratch[k++] = src->shapes[live[i]];
      if (ir_batch(src, live[i])) scratch[k++] = ir_batch(src, live[i]);
    }
    failed = ir_reachable_inside(src, scratch, k, &all, &all_count, &all_cap) != IR_OK;
  } else {
    failed = true;
  }
  if (map) memset(map, 0, src->count * sizeof *map);
  /* a shape may have a larger ref than its node, so nodes come first and shapes are attached afterwards */
  for (size_t i = 0; i < all_count && !failed; i++)
    failed = (map[all[i]] = copy_node(dst, src, all[i], map, &scratch, &scratch_cap)) == 0;
  for (size_t i = 0; i < all_count && !failed; i++)
    if (all[i] < src->bounds_cap && src->bounds_known[all[i]] > 1) /* tightened: cannot be derived again */
      ir_bounds_tighten(dst, map[all[i]], src->bounds[all[i]].lo, src->bounds[all[i]].hi);
  for (size_t i = 0; i < all_count && !failed; i++)
    if (src->shapes[all[i]]) dst->shapes[map[all[i]]] = map[src->shapes[all[i]]];
  if (src->batches_cap) failed = failed || !copy_batches(dst, src, all, all_count, map);
  if (!failed) ir_causes_copy(dst, src, map, src->count);
  if (src->letters_cap) failed = failed || !copy_letters(dst, src, all, all_count, map);
  failed = failed || !ir_sharding_copy(dst, src, map, src->count);
  for (size_t i = 0; i < n && !failed; i++) roots[i] = map[roots[i]];
  dst->customs = src->customs;
  dst->relaxed = src->relaxed;
  if (dst->next_serial < src->next_serial) dst->next_serial = src->next_serial;
  ir_free(src->mem, live, live_cap * sizeof *live);
  ir_free(src->mem, all, all_cap * sizeof *all);
  ir_free(dst->mem, scratch, scratch_cap * sizeof *scratch);
  if (map_out && !failed) *map_out = map;
  else ir_free(dst->mem, map, src->count * sizeof *map);
  return failed ? ir_fail(dst->error, IR_ERR_MEMORY, "out of memory copying a graph") : IR_OK;
}
