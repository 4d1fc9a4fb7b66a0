/* Index descriptors, which say what a view takes of one axis, as INT64 arrays of one axis:
 *
 *   point      0, 1, 1, position, inclusive
 *   interval   1, 2, 1, start, end, stride, inclusive
 *   all        2, 0, 1, inclusive
 *   new axis   3, 1, 10, inclusive; or 3, 1, 1, 0, inclusive
 *
 * Those of ND4J and SameDiff (ADR 0021), of which elements 1 and 2 are not looked at, and `inclusive` only by
 * intervals. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_DESCRIPTOR_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_DESCRIPTOR_H

#include "passes/ops/ops.h"

typedef enum op_index_kind {
  OP_INDEX_POINT,
  OP_INDEX_INTERVAL,
  OP_INDEX_ALL,
  OP_INDEX_NEW_AXIS,
  OP_INDEX_KINDS,
  OP_INDEX_READ = -1 /* the kind is read off the descriptor */
} op_index_kind;
enum { OP_INDEX_MOST = 2 * IR_MAX_RANK /* descriptors of a view: an axis each, taken or new */ };

typedef struct op_descriptor {
  ir_ref value;
  int kind;
  ir_ref length; /* of an interval whose numbers vary, an index expression; 0: read off its numbers */
} op_descriptor;

/* create_view.c: the part of x that the descriptors take, which walk its axes from left to right; axes that
 * no descriptor is left for are taken whole. The kind of each descriptor, and the length of each interval,
 * are known when recorded; other numbers may be values of the graph. Positions count from the end where they
 * are negative. A view of `address` of an array is a target of op_assign. */
ir_ref op_create_view(ir_graph *g, ir_ref x, const op_descriptor *descriptors, size_t n);

/* descriptor.c: descriptors of scalars, constants or integer values of the graph; of constants alone a
 * constant. */
ir_ref op_index_point(ir_graph *g, ir_ref position);
ir_ref op_index_interval(ir_graph *g, ir_ref start, ir_ref end, ir_ref stride, ir_ref inclusive);
/* `length` elements from start on, `stride` apart. */
ir_ref op_index_window(ir_graph *g, ir_ref start, int64_t length, int64_t stride);
ir_ref op_index_all(ir_graph *g);
ir_ref op_index_new_axis(ir_graph *g);

/* An element of a descriptor: a constant, or a scalar of the graph, which may be a constant more than
 * another. */
typedef struct op_index_number {
  bool known;
  int64_t value;
  ir_ref node; /* i64, rank 0 */
  ir_ref base; /* where not known: node = base + offset */
  int64_t offset;
} op_index_number;
/* False after failing. */
bool op_index_element(ir_graph *g, ir_ref descriptor, uint32_t at, op_index_number *out);

/* What the index of a check that failed says: a position as it was given, or why there is none. */
typedef enum op_index_reason {
  OP_INDEX_OUTSIDE, /* the start of an interval, or a point, which is given as it is */
  OP_INDEX_OTHER_KIND,
  OP_INDEX_NO_STRIDE,
  OP_INDEX_OTHER_LENGTH,
  OP_INDEX_REASONS
} op_index_reason;
/* dynamic_view.c. The reason and the number of a failed check, whose index this is. */
op_index_reason op_index_why(int64_t index, int64_t *number);

/* A view being made. */
typedef struct op_index_view {
  ir_graph *g;
  ir_ref x, made;
  const op_descriptor *descriptors;
} op_index_view;
/* dynamic_view.c: the axis of `made`, of the size of x along it, at the numbers of descriptor `at`, of which
 * some vary: gone, or with as many elements as the interval has. 0 after failing. */
ir_ref op_index_dynamic_point(const op_index_view *v, uint32_t at, uint32_t axis);
ir_ref op_index_dynamic_interval(const op_index_view *v, uint32_t at, uint32_t axis);

#endif
