/* Views of data by named axes; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_DATA_H
#define VIEWFOLD_DATA_H

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------- views of data */
/* One array, seen by each consumer in the axes and the dtype that it asks for, and the gradients that the
 * consumers give back, seen by the producer in its own. A producer puts an array and says what its axes are,
 * a letter for each: b the examples of a batch, f features, t classes of an example, c channels, h height, w
 * width, d depth, and any other, each once. A conversion records a view and costs nothing before somebody
 * reads it; another dtype is a cast in the kernel that reads.
 *
 * The classes differ in what they convert to. NULL and "default" stand for the axes as they were put; the
 * order of the features of `bf` is that of the array after its first axis and b have changed places.
 *
 *   data      any axes with b     bf, an example in each row; b, where there is one feature
 *   image     b, c, h, w, or d    any order of them, bf
 *   sequence  b, w, c             any order of them, bf
 *   class     b, bt or tb         b, the first class of each example; bt; tb; bf: 1 where an example has the
 *                                 class, else 0, of classes 1 to the number of vf_data_set_classes
 *   list      those of its components
 *
 * Functions return a status, or an error value or NULL after failing, with the reason in *error; they then
 * leave the view as it was, and nothing is noted in the graph. Values belong to one graph, or to the session,
 * in which a view keeps its array from one batch to the next. Positions count from 0, ranges are half-open.
 */
typedef struct vf_data_view vf_data_view;

/* A view without an array, of values of the graph, which the caller destroys. NULL after failing: the graph
 * is NULL, or memory is short. */
VF_API vf_data_view *vf_data_view_create(vf_graph *graph, vf_error *error);
VF_API vf_data_view *vf_image_view_create(vf_graph *graph, vf_error *error);
VF_API vf_data_view *vf_sequence_view_create(vf_graph *graph, vf_error *error);
VF_API vf_data_view *vf_class_view_create(vf_graph *graph, vf_error *error);
/* A view with the array x, of the graph of x, which is put with these axes. */
VF_API vf_data_view *vf_data_view_of(const char *axes, vf_value x, vf_error *error);
VF_API vf_data_view *vf_image_view_of(const char *axes, vf_value x, vf_error *error);
VF_API vf_data_view *vf_sequence_view_of(const char *axes, vf_value x, vf_error *error);
VF_API vf_data_view *vf_class_view_of(const char *axes, vf_value x, vf_error *error);
/* A view of several, which stay the caller's and live as long as it; they may be lists. Where functions take
 * axes, these are for all components, or for one each, separated by commas: "bhwc,bf". A list is a data set:
 * inputs and targets, of which vf_data_index and vf_data_sub take the same examples. */
VF_API vf_data_view *vf_list_view_create(int count, vf_data_view *const *components, vf_error *error);
VF_API void vf_data_view_destroy(vf_data_view *view); /* NULL: nothing */

/* Forwards. Put: x has the axes, and becomes the array; gradients and what consumers have got are forgotten.
 * Get: the array in these axes and this dtype (VF_NONE: its own), which may stand behind the axes instead,
 * "bchw:f32". Forward puts x, or gets where x is the error value; dtype is for getting. The functions with
 * _all are for lists: a value for each component, those of inner lists in their place; `count` is the number
 * of values, or the room for them. */
VF_API vf_status vf_data_put(vf_data_view *view, const char *axes, vf_value x, vf_error *error);
VF_API vf_value vf_data_get(vf_data_view *view, const char *axes, vf_dtype dtype, vf_error *error);
VF_API vf_value vf_data_forward(vf_data_view *view, const char *axes, vf_value x, vf_dtype dtype,
                                vf_error *error);
VF_API vf_status vf_data_put_all(vf_data_view *view, const char *axes, int count, const vf_value *x,
                                 vf_error *error);
VF_API vf_status vf_data_get_all(vf_data_view *view, const char *axes, vf_dtype dtype, int count, vf_value *x,
                                 vf_error *error);
/* The array is a reference, whose newest version is what consumers get and which vf_data_replace changes. */
VF_API vf_status vf_data_put_ref(vf_data_view *view, const char *axes, vf_ref ref, vf_error *error);

/* Backwards. Put: a gradient of what was got in these axes and in its dtype. Get: the sum of all that were
 * put since the array was, each led back, in the axes and the dtype of the array; axes and dtype, where
 * given, must be those. Put again or got again, gradients add up again. Backward puts g, or gets where g is
 * the error value. */
VF_API vf_status vf_data_backward_put(vf_data_view *view, const char *axes, vf_value g, vf_error *error);
VF_API vf_value vf_data_backward_get(vf_data_view *view, const char *axes, vf_dtype dtype, vf_error *error);
VF_API vf_value vf_data_backward(vf_data_view *view, const char *axes, vf_value g, vf_dtype dtype,
                                 vf_error *error);
VF_API vf_status vf_data_backward_put_all(vf_data_view *view, const char *axes, int count, const vf_value *g,
                                          vf_error *error);
VF_API vf_status vf_data_backward_get_all(vf_data_view *view, int count, vf_value *g, vf_error *error);

/* Parts of a batch, as views of the same class: the examples at these indices, of any integer dtype and one
 * axis, negative ones from the end; those from `start` on, before `stop`. reuse: a view to become the part,
 * of the same class and axes; NULL: a new one, which the caller destroys. Returns the part, NULL after
 * failing. */
VF_API vf_data_view *vf_data_index(vf_data_view *view, vf_value indices, vf_data_view *reuse,
                                   vf_error *error);
VF_API vf_data_view *vf_data_sub(vf_data_view *view, int64_t start, int64_t stop, vf_data_view *reuse,
                                 vf_error *error);
/* One batch after the other: lets `part` be the examples from *at on, as many as `batch`, fewer at the end,
 * and adds their number to *at. Returns the number, 0 at the end, -1 after failing. */
VF_API int64_t vf_data_iterate(vf_data_view *view, int64_t batch, int64_t *at, vf_data_view *part,
                               vf_error *error);

/* The order in which examples are taken, batch by batch: each epoch takes every one of `examples` once, of
 * which the last batch may be shorter. vf_sampler_create: one after the other. vf_shuffled_sampler_create: in
 * an order that depends on the seed, the number of the epoch and that of the examples alone: that of
 * vf_uniform in f64 with the seed that vf_threefry2x32 gives of the words of both, on every backend. */
typedef struct vf_sampler vf_sampler;
VF_API vf_sampler *vf_sampler_create(vf_context *context, int64_t examples, int64_t batch, vf_error *error);
VF_API vf_sampler *vf_shuffled_sampler_create(vf_context *context, int64_t examples, int64_t batch,
                                              uint64_t seed, vf_error *error);
VF_API void vf_sampler_destroy(vf_sampler *sampler); /* NULL: nothing */
/* The next batch: its examples, valid until the next call, as an input of a program whose graph has an index
 * view. Returns their number; 0 where the epoch is over, and the call after begins another; -1 after failing.
 */
VF_API int64_t vf_sampler_next(vf_sampler *sampler, const int64_t **indices, vf_error *error);
/* The next batch of a sampler in the session, where `part`, a view of the class of the view, becomes that of
 * its examples, a window of the view where they are in order. Returns as vf_sampler_next. */
VF_API int64_t vf_data_sample(vf_data_view *view, vf_sampler *sampler, vf_data_view *part, vf_error *error);

/* The array becomes one that consumers see as x in these axes, which they have got before: in place where it
 * is a reference. Refused while gradients are pending, and where the axes leave something of the array out.
 */
VF_API vf_status vf_data_replace(vf_data_view *view, const char *axes, vf_value x, vf_error *error);
VF_API vf_status vf_data_replace_all(vf_data_view *view, const char *axes, int count, const vf_value *x,
                                     vf_error *error); /* of a list, or of none of it */
VF_API void vf_data_flush(vf_data_view *view);         /* forgets the array, gradients, what was got */
VF_API vf_value vf_data_input(vf_data_view *view, vf_error *error); /* the array as it was put */
/* Another array with the same axes; gradients and what was got are forgotten. */
VF_API vf_status vf_data_set_input(vf_data_view *view, vf_value x, vf_error *error);
/* The array with its axes in another order. */
VF_API vf_value vf_data_transpose(vf_data_view *view, const char *axes, vf_error *error);
/* The array itself becomes one of another dtype. */
VF_API vf_status vf_data_type(vf_data_view *view, vf_dtype dtype, vf_error *error);
VF_API vf_data_view *vf_data_clone(vf_data_view *view, vf_error *error);
/* Examples, and elements of each: -1 where there is no array, or where they vary. */
VF_API int64_t vf_data_sample_count(const vf_data_view *view);
VF_API int64_t vf_data_sample_size(const vf_data_view *view);
VF_API const char *vf_data_axes(const vf_data_view *view); /* as put; "" before, and of a list */
VF_API int vf_data_components(const vf_data_view *view);   /* of a list; else 0 */
VF_API vf_data_view *vf_data_component(const vf_data_view *view, int number); /* NULL: there is none */

/* Of a class view: the number of classes, and a label for each, of which copies are kept; NULL: none. */
VF_API vf_status vf_data_set_classes(vf_data_view *view, int count, const char *const *labels,
                                     vf_error *error);
VF_API int vf_data_classes(const vf_data_view *view);
/* The label of class id, 1 to the number of classes; NULL where there is none. */
VF_API const char *vf_data_label(const vf_data_view *view, int64_t id);

#ifdef __cplusplus
}
#endif

#endif
