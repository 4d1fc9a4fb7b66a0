/* The hash table that finds a node by its operation, dtype, arg and sources. Its lines are as large as a
 * cache line and hold up to 12 nodes each: looking for a node that does not exist reads one of them, in most
 * cases, and no node.
 *
 * A node is in the line that its hash names, or, where that is full, in the next one that is not. Nodes are
 * removed in the opposite order of making them (ir_graph_rewind), so that a line that is not full has never
 * sent a node on, and the last entry of a line is its latest. */
#ifndef VIEWFOLD_IR_NODE_TABLE_H
#define VIEWFOLD_IR_NODE_TABLE_H

#include "ir.h"

#include <string.h>

enum { IR_LINE_NODES = 12 };
struct ir_table_line {
  uint8_t tags[IR_LINE_NODES]; /* of each node, a byte of its hash */
  uint32_t used;
  ir_ref refs[IR_LINE_NODES];
};

/* The number of the lowest bit that is set. */
static inline unsigned ir_lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
  return (unsigned)__builtin_ctzll(bits);
#else
  unsigned at = 0;
  for (; !(bits & 1); bits >>= 1) at++;
  return at;
#endif
}

/* The byte of a hash that is kept in the line. */
static inline uint8_t ir_table_tag(uint32_t hash) { return (uint8_t)(hash >> 24); }

/* A bit for each entry of the line that has the tag. An empty entry has node 0, which is like no other. */
static inline uint32_t ir_table_like(const struct ir_table_line *line, uint8_t tag) {
#if defined(__GNUC__) && defined(__SSE2__)
  typedef char bytes __attribute__((vector_size(16)));
  bytes tags;
  memcpy(&tags, line, sizeof tags); /* and `used` behind them */
  return (uint32_t)__builtin_ia32_pmovmskb128((bytes)(tags == (char)tag)) & ((1u << IR_LINE_NODES) - 1);
#else
  uint32_t like = 0;
  for (unsigned i = 0; i < IR_LINE_NODES; i++) like |= (uint32_t)(line->tags[i] == tag) << i;
  return like;
#endif
}

/* Is there room for one more node? */
static inline bool ir_table_has_room(const ir_graph *g) { return g->count < g->table_room; }
/* Make room. False when memory is short: the table is then as it was. */
bool ir_table_grow(ir_graph *graph);
void ir_table_free(ir_graph *graph);
/* Removes the latest node. */
void ir_table_remove_last(ir_graph *graph, ir_ref last);

/* Adds a node, for which there is room. */
static inline void ir_table_add(ir_graph *g, uint32_t hash, ir_ref ref) {
  uint32_t at = hash & g->table_mask;
  while (g->table[at].used == IR_LINE_NODES) at = (at + 1) & g->table_mask;
  struct ir_table_line *line = &g->table[at];
  uint32_t entry = line->used++;
  line->tags[entry] = ir_table_tag(hash);
  line->refs[entry] = ref;
}

/* The line of the hash is about to be read. */
static inline void ir_table_prefetch(const ir_graph *g, uint32_t hash) {
#if defined(__GNUC__)
  if (g->table) __builtin_prefetch(&g->table[hash & g->table_mask], 1);
#else
  (void)g, (void)hash;
#endif
}

#endif
