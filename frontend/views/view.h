/* The folder frontend/views. The algebra of views as (shape; strides; offset; mask).
 *
 *   in      views and operations on them
 *   out     views, chains of views, index expressions
 *   holds   on no compile path: it answers vf_view, `viewfold index` and `viewfold show` */

/* Views as (shape; strides; offset; mask), and chains of them.
 *
 * A view sends position i to offset + sum(i[k]*stride[k]) where begin[k] <= i[k] < end[k] on every axis
 * (masks are half-open); other positions read nothing. In a chain the first view addresses the buffer, each
 * later one the elements of the view before it in row-major order. All fields are index expressions of one
 * graph, so that sizes, strides, the offset and the ends of masks may depend on variables; numbers are the
 * usual case.
 *
 * Views are values in canonical form: axes of size 1, and axes of which the mask leaves one position, have
 * stride 0; a mask that leaves everything is none; one that leaves nothing has strides, offset and ranges of
 * 0; a view without elements is the plain one of its shape. So two views of numbers have equal fields exactly
 * when they read the same elements. What depends on variables is canonical as far as it can be decided.
 *
 * Operations answer DONE, or FAILED with the reason in the graph's error: the operation, the shapes, the rule
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
  PASS_VIEW_NONE,  /* no single view does this, or none that can be shown to */
  PASS_VIEW_FAILED /* the graph's error says why */
} pass_view_status;

/* view.c. strides NULL: row-major; offset 0 (the error value): none; begin and end NULL: no mask. Sizes are
 * >= 0, masks lie inside them. */
pass_view_status pass_view_create(ir_graph *g, uint32_t rank, const ir_ref *shape, const ir_ref *strides,
                                  ir_ref offset, const ir_ref *begin, const ir_ref *end, pass_view *out);
bool pass_view_contiguous(ir_graph *g, const pass_view *view); /* its elements in order from 0, all of them */
bool pass_view_consecutive(ir_graph *g, const pass_view *view); /* likewise from any offset on */
bool pass_view_empty(const ir_graph *g, const pass_view *view); /* a size is 0 */
bool pass_view_void(const ir_graph *g, const pass_view *view);  /* the mask leaves nothing */
bool pass_view_equal(const pass_view *a, const pass_view *b);
ir_ref pass_view_size(ir_graph *g, const pass_view *view); /* product of its sizes; of variables, the most */
/* The elements of the most that a view of these sizes has, for ordering: shape, strides, offset, mask. */
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
                          pass_view_numbers *out); /* false: one varies */

/* move.c */
pass_view_status pass_view_permute(ir_graph *g, const pass_view *v, const int64_t *order, uint32_t count,
                                   pass_view *out);
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
/* Axes that are walked as one: size positions, stride apart, of which only the last `real` differ. From the
 * left, an axis joins when one step of what is on its left is all of the axis, or when that has a single
 * position to offer. Returns how many there are. */
typedef struct pass_view_block {
  ir_ref size, stride, real;
} pass_view_block;
uint32_t pass_view_blocks(ir_graph *g, const pass_view *v, pass_view_block out[IR_MAX_RANK]);
pass_view_status pass_view_minify(ir_graph *g, const pass_view *v, pass_view *out); /* one axis per block */

/* merge.c. `later` addresses the elements of `nearer`: the one view that does what both do. For views of
 * numbers NONE means that there is none, or that the search for a proof gave up. */
pass_view_status pass_view_merge(ir_graph *g, const pass_view *nearer, const pass_view *later,
                                 pass_view *out);

/* why.c: append the reasons why the two are not one view, a line each: axes, strides, sizes that do not
 * nest, masks. */
void pass_view_why(ir_graph *g, const pass_view *nearer, const pass_view *later, ir_text *out);
/* Why floor((constant + sum of step*x) / divisor), each x counting from 0 below count, is no sum of steps:
 * where along which axis it changes. begin: the axis's own position of x = 0. */
typedef struct pass_slope {
  uint32_t axis;
  int64_t begin, count, step;
} pass_slope;
void pass_quotient_why(ir_text *out, const pass_slope *slopes, uint32_t count, int64_t constant,
                       int64_t divisor);

/* to_index.c. The view of these sizes that reads at index where valid holds, over ridx0..: NONE unless
 * index is a sum of ranges times what does not vary along an axis and valid a conjunction of bounds of single
 * ranges. */
pass_view_status pass_view_recognise(ir_graph *g, uint32_t rank, const ir_ref *shape, ir_ref index,
                                     ir_ref valid, pass_view *out);

/* chain.c */
typedef struct pass_view_chain {
  const ir_mem *mem;
  pass_view *views;
  size_t count, cap;
} pass_view_chain;

/* The views of a chain of view operations, from its leaf to the node, merged as far as they go. False after
 * an error: pads that repeat elements, gathers, numbers beyond int64. Free in any case. */
bool pass_view_chain_of(ir_graph *g, ir_ref node, pass_view_chain *out);
/* The same, with a view of its own for each reshape that is no single view. */
bool pass_view_chain_unmerged(ir_graph *g, ir_ref node, pass_view_chain *out);
bool pass_view_chain_add(ir_graph *g, pass_view_chain *chain, const pass_view *view); /* at its end */
bool pass_view_chain_copy(ir_graph *g, const pass_view_chain *chain, pass_view_chain *out);
/* A reshape of its last view, or a further view. */
bool pass_view_chain_reshape(ir_graph *g, pass_view_chain *chain, uint32_t rank, const ir_ref *shape);
void pass_view_chain_free(pass_view_chain *chain);
void pass_view_chain_print(const ir_graph *g, const pass_view_chain *chain, ir_text *out); /* one per line */
static inline pass_view *pass_view_last(const pass_view_chain *c) { return &c->views[c->count - 1]; }

/* merge.c: merge any neighbours, and runs of more than two, until nothing merges. */
bool pass_view_chain_simplify(ir_graph *g, pass_view_chain *chain);

/* to_index.c: index and validity of the whole chain over its positions: `at` gives an expression per axis,
 * or NULL for ranges ridx0... Nothing valid: index 0, valid False. */
bool pass_view_chain_lower(ir_graph *g, const pass_view_chain *chain, const ir_ref *at, ir_ref *index,
                           ir_ref *valid);

/* query.c. */
/* How far one step along each axis of the last view moves in the buffer; 0 (the error value) for an axis of
 * which that depends on the position, or, unless ignore_valid, on which the validity depends. */
bool pass_view_real_strides(ir_graph *g, const pass_view_chain *chain, bool ignore_valid,
                            ir_ref out[IR_MAX_RANK]);
/* Axes of real stride 1, as a set of bits. */
bool pass_view_unit_axes(ir_graph *g, const pass_view_chain *chain, bool ignore_valid, uint32_t *axes);
/* Axes on which the validity depends, as a set of bits. */
bool pass_view_masked_axes(ir_graph *g, const pass_view_chain *chain, uint32_t *axes);
/* How many elements a buffer must have for what is read where it is valid; 0 when nothing is. */
bool pass_view_real_size(ir_graph *g, const pass_view_chain *chain, int64_t *size);
/* The variables in any field, ascending. Free with ir_free; count is its capacity as well. */
bool pass_view_variables(ir_graph *g, const pass_view_chain *chain, ir_ref **out, size_t *count);
/* Every field with variables from[i] replaced by to[i], numbers or other expressions. */
bool pass_view_bind(ir_graph *g, pass_view_chain *chain, const ir_ref *from, const ir_ref *to, size_t count);

/* invert.c: the chain that leads back: following `chain` it reads every element of an array of this
 * shape in order. NONE when there is none, which includes whatever repeats or loses elements. */
pass_view_status pass_view_invert(ir_graph *g, const pass_view_chain *chain, uint32_t rank,
                                  const ir_ref *shape, pass_view_chain *out);

#endif
