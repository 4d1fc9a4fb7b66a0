/* Views as values, without an array; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_VIEW_H
#define VIEWFOLD_VIEW_H

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------- the view algebra */
/* A vf_view says where the elements of an array are, independently of any array: one or more views (shape;
 * strides; offset; mask), the one next to the buffer first, each later one addressing the elements of the one
 * before in row-major order. A view reads, at index i[0], i[1], ..., element offset + sum(i[k] * strides[k])
 * where begin[k] <= i[k] < end[k] on every axis, and nothing elsewhere. Strides and offsets count elements;
 * masks are half-open pairs. Sizes, strides, offsets and masks may be expressions of the graph's variables.
 *
 * A chain that is equal to one view becomes that view, in canonical form: axes of size 1 and axes along which
 * the mask leaves one index have stride 0, a mask that leaves everything is dropped, and with a mask that
 * leaves nothing strides, offset and mask are 0. So two views of numbers are equal exactly when they read the
 * same elements. The algebra is that of tinygrad's ShapeTracker; that every chain that is equal to one view
 * becomes that view is viewfold's.
 *
 * A vf_view is a value of its graph, like vf_value: builders note errors in the graph and pass the error
 * value on; nothing is freed. */
typedef struct vf_view {
  vf_graph *graph;
  uint32_t id;
  uint32_t epoch;
} vf_view;

/* strides NULL: row-major. mask: begin, end of each axis, 0 <= begin, end <= size; NULL: none. Refuses
 * negative sizes, ranks above 16, strides and offsets that can leave 64 bits. */
VF_API vf_view vf_view_create(vf_graph *graph, int rank, const int64_t *shape, const int64_t *strides,
                              int64_t offset, const int64_t *mask);
/* A view as of vf_view_create, of expressions of variables; an offset that is the error value stands for 0.
 */
VF_API vf_view vf_view_create_sized(vf_graph *graph, int rank, const vf_value *shape, const vf_value *strides,
                                    vf_value offset, const vf_value *mask);
/* The views of a recorded value, from the array that they start from, batch axes first. Refuses pads by
 * elements and gathers. */
VF_API vf_view vf_view_of(vf_value x);

/* As vf_permute, vf_expand (of the same rank), ... do, and with their errors. */
VF_API vf_view vf_view_permute(vf_view view, int count, const int64_t *order);
VF_API vf_view vf_view_expand(vf_view view, int rank, const int64_t *shape);
VF_API vf_view vf_view_reshape(vf_view view, int rank, const int64_t *shape);
VF_API vf_view vf_view_shrink(vf_view view, int count, const int64_t *bounds);
VF_API vf_view vf_view_pad(vf_view view, int count, const int64_t *pads);
VF_API vf_view vf_view_stride(vf_view view, int count, const int64_t *steps); /* -1 flips */
VF_API vf_view vf_view_expand_sized(vf_view view, int rank, const vf_value *shape);
VF_API vf_view vf_view_reshape_sized(vf_view view, int rank, const vf_value *shape);
VF_API vf_view vf_view_shrink_sized(vf_view view, int count, const vf_value *bounds);
VF_API vf_view vf_view_pad_sized(vf_view view, int count, const vf_value *pads);
/* A row-major view of the same shape except for size 1 on these axes: the shape after a reduction over
 * them. */
VF_API vf_view vf_view_reduce(vf_view view, int count, const int64_t *axes);

/* later addresses the elements of nearer, in row-major order. Refuses elements that nearer does not have. */
VF_API vf_view vf_view_chain(vf_view nearer, vf_view later);
/* The last view, with adjacent axes merged where one axis with one stride reads the same elements in the same
 * order. */
VF_API vf_view vf_view_minify(vf_view view);
/* The inverse: vf_view_chain(view, inverse) reads an array of this shape in order, which is checked. An error
 * value (that notes no error) when there is none: elements are repeated or left out. */
VF_API vf_view vf_view_invert(vf_view view, int rank, const int64_t *shape);
/* Replace variables by values. Refuses values outside their bounds, and two values for one variable. */
VF_API vf_view vf_view_bind(vf_view view, int count, const vf_value *variables, const int64_t *values);

VF_API bool vf_view_ok(vf_view view);   /* false for the error value */
VF_API int vf_view_count(vf_view view); /* views in the chain; -1 of the error value */
VF_API int vf_view_rank(vf_view view);  /* axes of the last one; -1 of the error value */
/* The number-th view from the buffer: returns its rank, or -1 when there is none or it depends on variables.
 * Pointers that are not NULL have room for 16 entries, mask for 32. */
VF_API int vf_view_get(vf_view view, int number, int64_t *shape, int64_t *strides, int64_t *offset,
                       int64_t *mask);
VF_API bool vf_view_equal(vf_view a, vf_view b); /* of one graph */
/* < 0, 0, > 0: an order for sorting, by shape, strides, offset, mask. */
VF_API int vf_view_compare(vf_view a, vf_view b);
VF_API bool vf_view_contiguous(vf_view view);  /* every element in order, from the first on */
VF_API bool vf_view_consecutive(vf_view view); /* the same, from any offset on */
VF_API int64_t
vf_view_size(vf_view view); /* elements, with variables the largest number; -1 of the error value */
/* How many elements the buffer must have for all that are read; 0 where none is read. -1 after failing. */
VF_API int64_t vf_view_real_size(vf_view view, vf_error *error);
/* The distance in the buffer of one step along each axis. known[k] is false where that depends on the index,
 * on variables, or, unless ignore_valid, where axis k decides whether anything is read. */
VF_API vf_status vf_view_real_strides(vf_view view, bool ignore_valid, int64_t *strides, bool *known,
                                      vf_error *error);
/* Sets of axes, bit k for axis k: those of real stride 1; those that decide whether anything is read. */
VF_API uint32_t vf_view_unit_axes(vf_view view, bool ignore_valid, vf_error *error);
VF_API uint32_t vf_view_masked_axes(vf_view view, vf_error *error);
/* The first `room` variables of the view; returns how many there are, -1 after failing. */
VF_API int vf_view_variables(vf_view view, int room, vf_value *variables);
/* `V((4,3);(3,1);-3;((1,3),(0,3)))`, one line for each view; free with vf_text_free. */
VF_API char *vf_view_text(vf_view view, vf_error *error);
/* The element that is read at an index, as `viewfold index` prints it: an expression, and a line `valid: ...`
 * unless something is always read. at: `count` sizes, one for each axis; NULL: ranges ridx0, ridx1, .... Free
 * with vf_text_free. */
VF_API char *vf_view_index(vf_view view, int count, const vf_value *at, vf_error *error);

#ifdef __cplusplus
}
#endif
#endif
