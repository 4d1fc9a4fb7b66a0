/* The folder passes/batch_stream. Large products of which one element of a batch is needed at a time.
 *
 *   in      a lowered graph
 *   out     one in which such a product, and what uses it, is a scan over the batch
 *   holds   each element is computed as before, those of one position of the batch together */

/* Inside computing in parts: what is computed so (batch_stream.c, region.c), and the scan that does it
 * (scan.c). */
#ifndef VIEWFOLD_PASSES_BATCH_STREAM_BATCH_STREAM_H
#define VIEWFOLD_PASSES_BATCH_STREAM_BATCH_STREAM_H

#include "ir/ir.h"
#include "ir/target.h"

/* batch_stream.c: large products of which one element of a batch is needed at a time become scans over the
 * batch. Returns the new TUPLE of results; 0 after failing. */
ir_ref pass_batch_stream(ir_graph *g, ir_ref results, const ir_target *target);

enum { BATCH_STREAM_NODES = 512, BATCH_STREAM_NO_AXIS = -1 }; /* a region has so many nodes at most */

/* One node of a region: computed in each part, or given to it. */
typedef struct batch_stream_node {
  ir_ref node;
  int8_t axis; /* the one along which it is cut, or BATCH_STREAM_NO_AXIS: the same in all parts; given: 0 or
                  that */
  bool given;  /* in memory before the first part */
} batch_stream_node;

/* What lies between values in memory and `end`, all of which is computed in `count` parts: nodes first..first
 * + size of a list, ascending; the last one is the end. */
typedef struct batch_stream_region {
  size_t first, size;
  ir_ref end;
  int64_t count;
} batch_stream_region;

/* Nodes of the graph, by ref: */
typedef struct batch_stream_uses {
  uint32_t *count, *last; /* how often a node is used, and by which node last */
  uint32_t *walk;         /* the search that found it to depend on the value that it began with */
} batch_stream_uses;

typedef struct batch_stream_search {
  ir_graph *g;
  batch_stream_uses uses;
  uint8_t *epilogues; /* as pass_epilogues leaves them */
  ir_ref results;     /* of the graph */
  uint32_t walk;
  ir_ref begin, end;
  int64_t count;
  batch_stream_node *nodes; /* found so far, for all regions */
  size_t node_count, node_cap;
} batch_stream_search;

/* Will scheduling have the value in memory, whatever is done in parts? again: it is used at repeated
 * positions, or inside a reduction. */
bool batch_stream_in_memory(const batch_stream_search *s, ir_ref node, bool repeated);

/* Appends the nodes between end and what it is made of, begin among them. False when they cannot be computed
 * in parts, or need not be (then nothing is appended), or after failing, which the graph's error says. */
bool batch_stream_trace(batch_stream_search *s);

/* The value of the region's end, computed in parts. map: what nodes of the graph have become. 0 after
 * failing. */
ir_ref batch_stream_make(ir_graph *g, const batch_stream_region *region, const batch_stream_node *nodes,
                         const ir_ref *map);

/* Of a tensor of known size; 0: of any other. */
int64_t batch_stream_bytes(const ir_graph *g, ir_ref tensor);

#endif
