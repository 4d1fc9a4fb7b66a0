/* The folder passes/pack. Packing.
 *
 *   in      contractions whose operands have a memory order that does not suit their register tiles
 *   out     STORED copies in the order in which tiles read, and the contraction of these
 *   holds   a copy is made where it saves more than it costs */

/* Internal to packing: what to copy (pack.c, choice.h), and the copies (copy.c). Functions that return nodes
 * return 0 on failure. */
#ifndef VIEWFOLD_PASSES_PACK_PACK_H
#define VIEWFOLD_PASSES_PACK_PACK_H

#include "ir/cause.h"
#include "passes/passes.h"
#include "passes/patterns/contraction.h"
#include "passes/strategy.h"

/* Steps of the pipeline; they return the new TUPLE of results. */
/* pack.c: copies operands of contractions into the order in which their tiles read them, where that pays. */
ir_ref pass_pack_copies(ir_graph *g, ir_ref results, const ir_target *target, const pass_strategy *strategy);
/* invariants.c: computes before a loop what its functions store of operands that no iteration changes. */
ir_ref pass_hoist_invariants(ir_graph *g, ir_ref results);
/* constants.c: stores what is computed from constants alone, where others read it. */
ir_ref pass_store_constants(ir_graph *g, ir_ref results, const ir_target *target);
/* reuse.c: where packing has stored a value as it is, all its users read it from memory; sums are stored
 * whose axes their users take apart. */
ir_ref pass_pack_reuse(ir_graph *g, ir_ref results, const pass_strategy *strategy);

/* reuse.c: rebuilds the live nodes, users after sources, with each value that is marked PACK_STORED stored;
 * all users then read it from memory. map: by node, what has become of it. False when memory is short. */
enum { PACK_STORED = 1 }; /* a mark */
/* apart.c: marks sums of products that are stored since what is computed of them takes their innermost axis
 * apart. Is there any? */
bool pack_mark_apart(ir_graph *g, const ir_ref *live, size_t count, uint8_t *stored);
bool pack_store_values(ir_graph *g, const ir_ref *live, size_t count, const uint8_t *stored, ir_ref *map);

/* elements: neighbours so far apart, two of f32 and four of f16, share a cache line */
enum { PACK_MAX_STRIDE = 8 };

/* Prices, in multiplications. */
enum {
  /* vectorized multiplications that take as long as copying an element: 32 of f32 in a cycle, so that 8 are a
   * quarter of one, in which an L2 cache delivers and takes about the eight bytes of the copy */
  PACK_COPY_COST = 8,
  /* multiplications of a product, about 10 us, of which a copy with its launch is a small part: one of fewer
   * is packed only where that saves more than it costs */
  PACK_MUCH = 1 << 20,
  PACK_LAUNCH = 1 << 14, /* 0.2 us, in multiplications */
  PACK_MASKING = 4       /* a mask, a conversion or an addition on an element, at least */
};
/* price.c: how much longer than from cache to cache it takes to copy so many elements. */
double pack_far_copy(const pass_contraction *c, double elements);

/* tile_rows.c */
/* The axis along which tiles have their rows, as passes/loops/accesses.c chooses it: of the kept axes of the
 * rows' operand, those long enough for a tile if there are any, the one with the smallest stride. Should
 * loops run over another one, panels are of a width that suits it less. IR_MAX_RANK: there is none. */
uint32_t pack_tile_axis(const pass_contraction *c, const pass_operand *rows, const pass_operand *columns);
/* Rows along the axis and those that continue them, `step` elements apart: their loops become one
 * (passes/domain/refine.c), as those over height and width of an image of a 1 x 1 convolution do. */
int64_t pack_rows_along(const pass_contraction *c, const pass_operand *rows, const pass_operand *columns,
                        uint32_t axis, int64_t step);

/* Is the axis in the set? */
static inline bool pack_has_axis(uint32_t set, uint32_t axis) { return set >> axis & 1; }
/* memory_order.c */
/* The stride along the axis, in elements; INT64_MAX where it is not constant. */
int64_t pack_axis_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis);
/* copy.c: the stride of the axis in what the operand's base is computed from element by element, as a
 * conversion of a view is; that of the base, where it is in memory or made of several tensors. */
int64_t pack_memory_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis);
bool pack_is_plain(const ir_graph *g, const pass_operand *o); /* is its base in memory? */
/* Do its views have edges: masks, or pads that repeat elements of the base, so that the index is no sum of
 * strides? */
bool pack_has_edges(const pass_contraction *c, const pass_operand *o);
/* Does the operand read most elements of its base several times? */
bool pack_is_window(const pass_contraction *c, const pass_operand *o);

/* windowed.c: the sum for a window whose elements are not reused by another operand (a convolution of each
 * channel, or with one result channel): masks of the window are applied in a copy before. constant: by
 * operand, it depends on constants alone. */
ir_ref pack_windowed_sum(const pass_contraction *c, const bool *constant);

/* Copies of an operand, as views of the operand's shape. */
ir_ref pack_rows(const pass_contraction *c, const pass_operand *o);    /* [kept..., summed...] */
ir_ref pack_in_rows(const pass_contraction *c, const pass_operand *o); /* [summed..., kept...] */
/* masks and elementwise work done */
ir_ref pack_plain(const pass_contraction *c, const pass_operand *o);
/* Elements of a plain copy. *inside: which share of those of the padded base lie as far from its edges as the
 * padding is wide, so that windows there have no masks; 0 where that is not known. */
int64_t pack_masked_elements(const pass_contraction *c, const pass_operand *o, double *inside);
bool pack_plain_in_order(const pass_contraction *c, const pass_operand *o,
                         uint32_t axis); /* neighbours along it? */
/* [kept..., summed..., N], for a column axis of any size */
ir_ref pack_columns(const pass_contraction *c, const pass_operand *o, uint32_t column);
/* [kept..., panels, summed..., width], for a column axis of known size */
ir_ref pack_panels(const pass_contraction *c, const pass_operand *o, uint32_t column, int64_t width);

bool pack_of_several(const ir_graph *g, ir_ref value); /* is it computed elementwise from several tensors? */

int64_t pack_elements(ir_graph *g, ir_ref tensor); /* at most; saturating */

/* narrow_pairs.c: the same sum with two products in each term (DOT2), where both operands hold integers of 16
 * bits: an element is then a word of two of them. The sum as it is where they do not. */
ir_ref pack_pairs(const pass_contraction *c);
/* The longest summed axis of known size along which both operands vary; false where it is shorter than
 * `least`. */
bool pack_longest_axis(const pass_contraction *c, int64_t least, uint32_t *axis);
/* The operand with `parts` terms along the axis in each word of 32 bits; those that are missing are 0. The
 * words lie in the order in which the operand lies in memory. Of floats, which hold bf16, the first term is
 * in the upper half: FMA2 begins with that. */
ir_ref pack_words(const pass_contraction *c, const pass_operand *o, uint32_t axis, int parts);
/* The value with `parts` elements along the axis, of that size, in each word of 32 bits; the first one is the
 * lowest, or the uppermost. */
ir_ref pack_words_along(ir_graph *g, ir_ref x, uint32_t axis, int64_t size, int parts, bool first_on_top);
/* bf16_pairs.c: the same sum with two products in each term (FMA2), where both operands hold bf16. The sum as
 * it is where they do not, and where FMA2 is not one instruction and the order would be the same. */
ir_ref pack_bf16_pairs(const pass_contraction *c, bool one_instruction);
ir_ref pack_bf16_bits(ir_graph *g, ir_ref x); /* the bits of an f32 that holds bf16, as a u32 below 2^16 */
/* narrow_windows.c: the same for an operand of windows, whose views stand behind the words; `shift` is
 * subtracted before. Only if there are views that leave the axis as it is. */
bool pack_has_window_words(const pass_contraction *c, ir_ref value, uint32_t axis, int parts);
ir_ref pack_window_words(const pass_contraction *c, ir_ref value, int64_t shift, uint32_t axis, int parts);
/* narrow_quads.c: a sum with four products in each term (DOT4), where both operands hold integers of 8 bits
 * and what does not vary along the terms, such as zero points. *more: what has to be added to it, of its
 * shape; 0: nothing. constant: by operand, does it depend on constants alone? The sum as it is where they do
 * not. */
ir_ref pack_quads(const pass_contraction *c, const bool constant[2], ir_ref *more);

enum { PACK_TILE_COLUMNS = 64 }; /* four of the widest vectors of f32 */

/* merge_axes.c: the same sum with its last kept axes, where they are one row of both operands, as one axis;
 * the sum as it is where there are none. The results are the same, in the same order. */
ir_ref pack_merge_axes(const pass_contraction *c);
/* merge_axes.c: the same sum, with a copy of the operand whose strides keep its last kept axes from being
 * one; the sum as it is where there is no such operand, or little use of a copy. */
ir_ref pack_join_rows(const pass_contraction *c);
/* merge_axes.c: the sum with one result along each kept axis of neither operand; the sum as it is where there
 * is no such axis. */
ir_ref pack_without_repeats(const pass_contraction *c);

/* pad_columns.c: the sum with so many columns, those behind the operand's own of zeros; and of the result of
 * that, which is stored, the columns that there were. */
ir_ref pack_wide_sum(const pass_contraction *c, uint32_t column, int64_t size);
ir_ref pack_narrow_result(const pass_contraction *c, uint32_t column, ir_ref wide);

/* The operand with size 1 along each axis that it does not vary along. */
ir_ref pack_unexpanded(const pass_contraction *c, const pass_operand *o);
/* Splits axis `at` of x into axes of sizes `outer` and `inner`, or merges two such axes at `at`. */
/* The view, of another operand than its own; 0 of 0. */
ir_ref pack_view_on(ir_graph *g, ir_ref view, ir_ref x);
/* Axis i of the result is axis order[i] of x; and what pack_permuted makes of it is x. */
ir_ref pack_permuted(ir_graph *g, ir_ref x, const uint32_t *order, uint32_t rank);
ir_ref pack_permuted_back(ir_graph *g, ir_ref x, const uint32_t *order, uint32_t rank);
ir_ref pack_reshaped(ir_graph *g, ir_ref x, uint32_t at, int64_t outer, int64_t inner, bool split);

/* The terms, and their sum over a set of axes. Terms of floats have one rounding each. */
ir_ref pack_product(const pass_contraction *c, ir_ref a, ir_ref b);
ir_ref pack_sum(const pass_contraction *c, ir_ref product, uint32_t reduced);
/* The sum of products of a and b, stored with `column` as the last kept axis; views transpose it back. */
ir_ref pack_transposed_sum(const pass_contraction *c, uint32_t column, ir_ref a, ir_ref b);

#endif
