/* Views as (shape; strides; offset; mask), and chains of them.
 *
 * A view sends position i to offset + sum(i[k]*stride[k]) where begin[k] <= i[k] < end[k] on every axis;
 * other positions read nothing. In a chain the first view addresses the buffer, each later one the elements
 * of the view before it in row-major order. Sizes are numbers here; symbolic ones have only their index
 * expressions.
 *
 * Views are values in canonical form: axes of size 1, and axes of which the mask leaves one position, have
 * stride 0; a mask that leaves everything is none; one that leaves nothing has strides, offset and ranges of
 * 0; a view without elements is the plain one of its shape. */
#ifndef VIEWFOLD_PASSES_VIEW_H
#define VIEWFOLD_PASSES_VIEW_H

#include "ir/ir.h"

typedef struct pass_view {
  uint32_t rank;
  bool masked; /* otherwise begin is 0 and end is the size everywhere */
  int64_t shape[IR_MAX_RANK], stride[IR_MAX_RANK], begin[IR_MAX_RANK], end[IR_MAX_RANK];
  int64_t offset;
} pass_view;

typedef enum pass_view_status {
  PASS_VIEW_DONE,
  PASS_VIEW_NONE,     /* no single view does this */
  PASS_VIEW_TOO_LARGE /* a stride or an offset leaves int64 */
} pass_view_status;

/* strides NULL: row-major; begin and end NULL: no mask. Sizes are >= 0, masks lie inside them. */
pass_view_status pass_view_create(uint32_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                                  const int64_t *begin, const int64_t *end, pass_view *out);
bool pass_view_contiguous(const pass_view *view); /* reads its elements in order from 0, all of them */
bool pass_view_equal(const pass_view *a, const pass_view *b);

/* Movement of one view, with arguments as recording has checked them. out may be the view itself. */
pass_view_status pass_view_permute(const pass_view *v, const uint32_t *order, pass_view *out);
pass_view_status pass_view_expand(const pass_view *v, const int64_t *shape, pass_view *out);
pass_view_status pass_view_shrink(const pass_view *v, const int64_t *begin, const int64_t *end,
                                  pass_view *out);
pass_view_status pass_view_pad(const pass_view *v, const int64_t *lo, const int64_t *hi, pass_view *out);
pass_view_status pass_view_stride(const pass_view *v, const int64_t *steps, pass_view *out); /* -1 flips */
/* NONE where the result is no single view, or not found to be one. */
pass_view_status pass_view_reshape(const pass_view *v, uint32_t rank, const int64_t *shape, pass_view *out);

/* `V((4,3);(3,1);-3;((1,3),(0,3)))`; a missing mask is left out */
void pass_view_print(const pass_view *view, ir_text *out);

typedef struct pass_view_chain {
  const ir_mem *mem;
  pass_view *views;
  size_t count, cap;
} pass_view_chain;

/* The views of a chain of view operations, from its leaf to the node. False after an error: sizes that vary,
 * pads that repeat elements, gathers, numbers beyond int64. Free in any case. */
bool pass_view_chain_of(ir_graph *g, ir_ref node, pass_view_chain *out);
void pass_view_chain_free(pass_view_chain *chain);

#endif
