/* The folder frontend/views. The algebra of views as (shape; strides; offset; mask).
 *
 *   in      views and operations on them
 *   out     views, chains of views, index expressions
 *   holds   it is on no compile path: it serves vf_view, `viewfold index` and `viewfold show` */

/* Views as (shape; strides; offset; mask), and chains of them.
 *
 * A view maps index i to offset + sum(i[k]*stride[k]) where begin[k] <= i[k] < end[k] on every axis (masks
 * are half-open); other indices read nothing. In a chain the first view addresses the buffer, each later one
 * the elements of the view before it in row-major order. All fields are index expressions of one graph, so
 * that sizes, strides, the offset and the ends of masks may depend on variables; numbers are the usual case.
 *
 * Views are values in canonical form: axes of size 1, and axes along which the mask leaves one index, have
 * stride 0; a mask that leaves everything is dropped; with a mask that leaves nothing, strides, offset and
 * mask are 0; a view without elements has strides and offset 0 and no mask. So two views of numbers have
 * equal fields exactly when they read the same elements. Fields with variables are canonical as far as
 * relations between them can be proven.
 *
 * Operations return DONE, or FAILED with the reason in the graph's error: the operation, the shapes, the rule
 * broken and what would satisfy it. The result may be the operand itself. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_VIEW_H
#define VIEWFOLD_FRONTEND_VIEWS_VIEW_H

#include "ir/ir.h"

typedef struct pass_view {
  uint32_t rank;
  bool masked; /* otherwise begin is 0 and end is the size everywhere */
  ir_ref shape[IR_MAX_RANK], stride[IR_MAX_RANK], begin[IR_MAX_RANK], end[IR_MAX_RANK];
  ir_ref offset;
} pass_view;

typedef enum pass_view_status {
  PASS_VIEW_DONE,
  PASS_VIEW_NONE,  /* no single view is the result, or none is proven to be */
  PASS_VIEW_FAILED /* the graph's error says why */
} pass_view_status;

/* view.c. strides NULL: row-major; offset 0 (the error value): none; begin and end NULL: no mask. Sizes are
 * >= 0, masks lie inside them. */
pass_view_status pass_view_create(ir_graph *g, uint32_t rank, const ir_ref *shape, const ir_ref *strides,
                                  ir_ref offset, const ir_ref *begin, const ir_ref *end, pass_view *out);
bool pass_view_contiguous(ir_graph *g,
                          const pass_view *view); /* all elements are read, in order, from element 0 on */
bool pass_view_consecutive(ir_graph *g, const pass_view *view);      /* the same from any offset on */
bool pass_view_empty(const ir_graph *g, const pass_view *view);      /* a size is 0 */
bool pass_view_all_masked(const ir_graph *g, const pass_view *view); /* the mask leaves nothing */
bool pass_view_equal(const pass_view *a, const pass_view *b);
ir_ref pass_view_size(ir_graph *g, const pass_view *view); /* the product of its sizes */
/* < 0, 0, > 0: an order for sorting, by shape, strides, offset, mask. */
int pass_view_compare(const ir_graph *g, const pass_view *a, const pass_view *b);
/* `V((4,3);(3,1);-3;((1,3),(0,3)))`; a missing mask is left out */
void pass_view_print(const ir_graph *g, const pass_view *view, ir_text *out);

/* A view whose fields are all numbers. */
typedef struct pass_view_numbers {
  uint32_t rank;
  int64_t shape[IR_MAX_RANK], stride[IR_MAX_RANK], begin[IR_MAX_RANK], end[IR_MAX_RANK];
  int64_t offset;
} pass_view_numbers;
bool pass_view_numbers_of(const ir_graph *g, const pass_view *view,
                          pass_view_numbers *out); /* false: some field is no number */

/* move.c */
/* Axis i of the result is axis order[i] of v, from the end where negative. count: the rank. */
pass_view_status pass_view_permute(ir_graph *g, const pass_view *v, const int64_t *order, uint32_t count,
                                   pass_view *out);
/* Axes of size 1 get the size in `shape`, which has those of the other axes too. count: the rank. */
pass_view_status pass_view_expand(ir_graph *g, const pass_view *v, const ir_ref *shape, uint32_t count,
                                  pass_view *out);
/* count: axes, each with a pair */
pass_view_status pass_view_shrink(ir_graph *g, const pass_view *v, const ir_ref *begin, const ir_ref *end,
                                  uint32_t count, pass_view *out);
pass_view_status pass_view_pad(ir_graph *g, const pass_view *v, const ir_ref *before, const ir_ref *after,
                               uint32_t count, pass_view *out);
pass_view_status pass_view_stride(ir_graph *g, const pass_view *v, const int64_t *steps, uint32_t count,
                                  pass_view *out); /* -1 flips */
pass_view_status pass_view_reduce(ir_graph *g, const pass_view *v, uint32_t axes, pass_view *out);

/* reshape.c. NONE: the result is no single view. */
pass_view_status pass_view_reshape(ir_graph *g, const pass_view *v, uint32_t rank, const ir_ref *shape,
                                   pass_view *out);
/* Blocks of adjacent axes that one stride steps through: `size` indices at a distance of `stride`, of which
 * only the last `real` read different elements. From the left, an axis joins the block before it when the
 * stride of the block is size * stride of the axis, or when the mask leaves a single index of the axis
 * before. Returns the number of blocks. */
typedef struct pass_view_block {
  ir_ref size, stride, real;
} pass_view_block;
uint32_t pass_view_blocks(ir_graph *g, const pass_view *v, pass_view_block out[IR_MAX_RANK]);
pass_view_status pass_view_minify(ir_graph *g, const pass_view *v, pass_view *out); /* one axis per block */

/* merge.c. The one view that is equal to both, where `later` addresses the elements of `nearer`. For views of
 * numbers NONE means that there is none, or that the search for a proof gave up. */
pass_view_status pass_view_merge(ir_graph *g, const pass_view *nearer, const pass_view *later,
                                 pass_view *out);

/* why.c: append the reasons why the two are not one view, a line each: axes, strides, sizes that do not
 * nest, masks. */
void pass_view_why(ir_graph *g, const pass_view *nearer, const pass_view *later, ir_text *out);
/* Append the reason why floor((constant + sum of step*x) / divisor), with 0 <= x < count on each axis, is not
 * affine: along which axis and where it changes. begin: the index on the axis where x = 0. */
typedef struct pass_slope {
  uint32_t axis;
  int64_t begin, count, step;
} pass_slope;
void pass_quotient_why(ir_text *out, const pass_slope *slopes, uint32_t count, int64_t constant,
                       int64_t divisor);

/* to_index.c. The view of this shape that reads element `index` where `valid` holds, both over the ranges
 * ridx0, ridx1, ... of its axes. NONE unless index is a sum of ranges times expressions without ranges, and
 * valid a conjunction of bounds of single ranges. */
pass_view_status pass_view_recognise(ir_graph *g, uint32_t rank, const ir_ref *shape, ir_ref index,
                                     ir_ref valid, pass_view *out);

/* chain.c */
typedef struct pass_view_chain {
  const ir_mem *mem;
  pass_view *views;
  size_t count, cap;
} pass_view_chain;

/* The views of a chain of view operations, from its leaf to the node, merged as far as possible. False after
 * an error: pads that repeat elements, gathers, numbers beyond int64. Free in any case. */
bool pass_view_chain_of(ir_graph *g, ir_ref node, pass_view_chain *out);
/* The same without merging: each reshape that one view cannot express has a separate view. */
bool pass_view_chain_unmerged(ir_graph *g, ir_ref node, pass_view_chain *out);
bool pass_view_chain_add(ir_graph *g, pass_view_chain *chain, const pass_view *view); /* at its end */
bool pass_view_chain_copy(ir_graph *g, const pass_view_chain *chain, pass_view_chain *out);
/* Reshape the last view, or append another view where that is no single view. */
bool pass_view_chain_reshape(ir_graph *g, pass_view_chain *chain, uint32_t rank, const ir_ref *shape);
void pass_view_chain_free(pass_view_chain *chain);
void pass_view_chain_print(const ir_graph *g, const pass_view_chain *chain, ir_text *out); /* one per line */
static inline pass_view *pass_view_last(const pass_view_chain *c) { return &c->views[c->count - 1]; }

/* merge.c: merge consecutive views, and runs of more than two, until nothing merges. False after an error. */
bool pass_view_chain_simplify(ir_graph *g, pass_view_chain *chain);

/* to_index.c: index and validity of the whole chain at an index of its last view: `at` has an expression per
 * axis; NULL: ranges ridx0, ridx1, .... Nothing valid: index 0, valid False. */
bool pass_view_chain_lower(ir_graph *g, const pass_view_chain *chain, const ir_ref *at, ir_ref *index,
                           ir_ref *valid);

/* query.c. */
/* The distance in the buffer of one step along each axis of the last view; 0 (the error value) for an axis
 * where that depends on the index, or, unless ignore_valid, on which the validity depends. */
bool pass_view_real_strides(ir_graph *g, const pass_view_chain *chain, bool ignore_valid,
                            ir_ref out[IR_MAX_RANK]);
/* Axes of real stride 1, as a set of bits. */
bool pass_view_unit_axes(ir_graph *g, const pass_view_chain *chain, bool ignore_valid, uint32_t *axes);
/* Axes on which the validity depends, as a set of bits. */
bool pass_view_masked_axes(ir_graph *g, const pass_view_chain *chain, uint32_t *axes);
/* How many elements a buffer must have for all valid reads; 0 when nothing is read. */
bool pass_view_real_size(ir_graph *g, const pass_view_chain *chain, int64_t *size);
/* The variables in any field, ascending. Free with ir_free; count is its capacity as well. */
bool pass_view_variables(ir_graph *g, const pass_view_chain *chain, ir_ref **out, size_t *count);
/* Replace the variables from[i] in every field by to[i], numbers or other expressions. */
bool pass_view_bind(ir_graph *g, pass_view_chain *chain, const ir_ref *from, const ir_ref *to, size_t count);

/* invert.c: the inverse chain: `chain` followed by it reads every element of an array of this shape in order.
 * NONE when there is none, such as for a chain that repeats or leaves out elements. */
pass_view_status pass_view_invert(ir_graph *g, const pass_view_chain *chain, uint32_t rank,
                                  const ir_ref *shape, pass_view_chain *out);

#endif
