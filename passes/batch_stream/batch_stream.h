/* The folder passes/batch_stream. Large products of which one batch element is needed at a time.
 *
 *   in      a lowered graph
 *   out     one in which such a product, and what uses it, is a scan over the batch
 *   holds   each element is computed as before; an iteration computes those of one index of the batch */

/* Internal to batch streaming: which regions are streamed (batch_stream.c, region.c), and the scan that
 * computes one (scan.c). */
#ifndef VIEWFOLD_PASSES_BATCH_STREAM_BATCH_STREAM_H
#define VIEWFOLD_PASSES_BATCH_STREAM_BATCH_STREAM_H

#include "ir/cause.h"
#include "ir/target.h"

/* batch_stream.c: turns large products of which one batch element is needed at a time into scans over the
 * batch. Returns the new TUPLE of results; 0 after failing. */
ir_ref pass_batch_stream(ir_graph *g, ir_ref results, const ir_target *target);

enum {
  /* of one region [62 in the workloads]: where there are more, nothing is streamed */
  BATCH_STREAM_NODES = 512,
  BATCH_STREAM_NO_AXIS = -1 /* in place of a batch axis */
};

/* A node of a region: computed in each iteration, or given to it. */
typedef struct batch_stream_node {
  ir_ref node;
  int8_t axis; /* its batch axis, 0 in given nodes; BATCH_STREAM_NO_AXIS: the same in all iterations */
  bool given;  /* in memory before the first iteration */
} batch_stream_node;

/* A region: the nodes between values in memory and `end`, computed in `count` iterations, one for each index
 * of the batch. They are nodes first..first + size - 1 of a list, ascending; the last one is the end. */
typedef struct batch_stream_region {
  size_t first, size;
  ir_ref end;
  int64_t count;
} batch_stream_region;

/* Uses of the graph's nodes, by ref. */
typedef struct batch_stream_uses {
  uint32_t *count, *last; /* how often a node is used, and its last user */
  uint32_t *walk;         /* the last search that found it to depend on the search's `begin` */
} batch_stream_uses;

typedef struct batch_stream_search {
  ir_graph *g;
  batch_stream_uses uses;
  uint8_t *epilogues; /* as pass_epilogues leaves them */
  ir_ref results;     /* the graph's results */
  uint32_t walk;
  ir_ref begin, end;
  int64_t count;
  batch_stream_node *nodes; /* found so far, for all regions */
  size_t node_count, node_cap;
} batch_stream_search;

/* Will scheduling keep the value in memory, whether or not it is streamed? repeated: it is used at repeated
 * indices, or inside a reduction. */
bool batch_stream_in_memory(const batch_stream_search *s, ir_ref node, bool repeated);

/* Appends the nodes between `end` and the values in memory that it is computed from, `begin` among them.
 * False where they cannot be computed one batch element at a time, or need not be (then nothing is appended),
 * or after failing, which the graph's error says. */
bool batch_stream_trace(batch_stream_search *s);

/* The value of the region's end as the result of a scan. map: by ref, what nodes of the graph have become. 0
 * after failing. */
ir_ref batch_stream_make(ir_graph *g, const batch_stream_region *region, const batch_stream_node *nodes,
                         const ir_ref *map);

#endif
