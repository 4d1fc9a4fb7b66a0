/* The places of calls: each builder, called by its name, tells the graph the file and line of the call, for
 * messages such as
 *
 *   matmul: ... (call 3: matmul %x, %w, at model.c:12)
 *
 * Part of viewfold.h, unless VF_NO_PLACES is defined before that is included. A place takes up to 8 bytes for
 * each value of a graph, those of references more. What is called through a pointer, or as (vf_add)(a, b),
 * has no place; nor have views. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_PLACES_H
#define VIEWFOLD_PLACES_H

#ifdef __cplusplus
extern "C" {
#endif

/* The value, of which the place is noted where the graph has none for it; of the error value: the place is
 * added to the graph's message, if the latest call failed. What has the same pointer as the file of the call
 * before is taken for the same file: a path stays where it is, as __FILE__ does, while the graph lives. */
VF_API vf_value vf_at(vf_value value, const char *file, int line);
/* The second half of that, for builders that return no value. graph may be NULL. */
VF_API void vf_call_place(vf_graph *graph, const char *file, int line);

#ifndef VF_NO_PLACES

/* The graph of a list; NULL where it has no entries. Then each builder that returns no value, with its place.
 */
static inline vf_graph *vf_graph_of_list(int count, const vf_value *list) {
  return list && count > 0 ? list[0].graph : NULL;
}
static inline int vf_apply_all_at(const char *file, int line, vf_graph *graph, const char *operation,
                                  const vf_value *operands, int count, const char *attributes, int room,
                                  vf_value *results) {
  int made = vf_apply_all(graph, operation, operands, count, attributes, room, results);
  vf_call_place(graph, file, line);
  return made;
}
static inline bool vf_vmap_at(const char *file, int line, vf_graph *graph, const vf_map *map,
                              vf_function function, void *user, const vf_value *arguments,
                              vf_value *results) {
  bool made = vf_vmap(graph, map, function, user, arguments, results);
  vf_call_place(graph, file, line);
  return made;
}
static inline bool vf_vmap_tree_at(const char *file, int line, vf_graph *graph, vf_tree_function function,
                                   void *user, const vf_tree *arguments, const vf_axes *in_axes,
                                   const vf_axes *out_axes, int64_t axis_size, vf_tree *results) {
  bool made = vf_vmap_tree(graph, function, user, arguments, in_axes, out_axes, axis_size, results);
  vf_call_place(graph, file, line);
  return made;
}
static inline void vf_cond_at(const char *file, int line, vf_value predicate, int operand_count,
                              const vf_value *operands, vf_function then, vf_function otherwise, void *user,
                              int result_count, vf_value *results) {
  vf_cond(predicate, operand_count, operands, then, otherwise, user, result_count, results);
  vf_call_place(predicate.graph, file, line);
}
static inline void vf_sgd_at(const char *file, int line, int count, vf_value *weights,
                             const vf_value *gradients, vf_value *speeds, vf_value rate, double momentum) {
  vf_sgd(count, weights, gradients, speeds, rate, momentum);
  vf_call_place(rate.graph, file, line);
}
static inline void vf_adam_at(const char *file, int line, int count, vf_value *weights,
                              const vf_value *gradients, vf_value *means, vf_value *squares, vf_value rate,
                              vf_value step, const vf_adam_options *options) {
  vf_adam(count, weights, gradients, means, squares, rate, step, options);
  vf_call_place(rate.graph, file, line);
}
static inline void vf_while_loop_at(const char *file, int line, vf_function condition, vf_function body,
                                    void *user, int count, const vf_value *init, int64_t max_trips,
                                    vf_value *results) {
  vf_while_loop(condition, body, user, count, init, max_trips, results);
  vf_call_place(vf_graph_of_list(count, init), file, line);
}
static inline void vf_scan_at(const char *file, int line, vf_function body, void *user, int carry_count,
                              const vf_value *init, int xs_count, const vf_value *xs, int ys_count,
                              int64_t length, bool reverse, vf_value *carries, vf_value *ys) {
  vf_scan(body, user, carry_count, init, xs_count, xs, ys_count, length, reverse, carries, ys);
  vf_call_place(carry_count > 0 ? vf_graph_of_list(carry_count, init) : vf_graph_of_list(xs_count, xs), file,
                line);
}
static inline void vf_checkpoint_at(const char *file, int line, vf_function f, void *user, int operand_count,
                                    const vf_value *operands, int result_count, vf_value *results) {
  vf_checkpoint(f, user, operand_count, operands, result_count, results);
  vf_call_place(vf_graph_of_list(operand_count, operands), file, line);
}
static inline void vf_vjp_at(const char *file, int line, int output_count, const vf_value *outputs,
                             const vf_value *cotangents, int input_count, const vf_value *inputs,
                             vf_value *gradients) {
  vf_vjp(output_count, outputs, cotangents, input_count, inputs, gradients);
  vf_call_place(vf_graph_of_list(output_count, outputs), file, line);
}
static inline void vf_jvp_at(const char *file, int line, int output_count, const vf_value *outputs,
                             int input_count, const vf_value *inputs, const vf_value *tangents,
                             vf_value *results) {
  vf_jvp(output_count, outputs, input_count, inputs, tangents, results);
  vf_call_place(vf_graph_of_list(output_count, outputs), file, line);
}
static inline void vf_grad_at(const char *file, int line, vf_value output, int input_count,
                              const vf_value *inputs, vf_value *gradients) {
  vf_grad(output, input_count, inputs, gradients);
  vf_call_place(output.graph, file, line);
}
static inline bool vf_grad_tree_at(const char *file, int line, vf_value output, const vf_tree *parameters,
                                   vf_tree *gradients) {
  bool made = vf_grad_tree(output, parameters, gradients);
  vf_call_place(output.graph, file, line);
  return made;
}
static inline int vf_topk_at(const char *file, int line, vf_value x, int k, int axis, bool largest,
                             vf_value *results) {
  int made = vf_topk(x, k, axis, largest, results);
  vf_call_place(x.graph, file, line);
  return made;
}
static inline int vf_split_at(const char *file, int line, vf_value x, int parts, int axis,
                              vf_value *results) {
  int made = vf_split(x, parts, axis, results);
  vf_call_place(x.graph, file, line);
  return made;
}
static inline int vf_chunk_at(const char *file, int line, vf_value x, int chunks, int axis,
                              vf_value *results) {
  int made = vf_chunk(x, chunks, axis, results);
  vf_call_place(x.graph, file, line);
  return made;
}
static inline int vf_unbind_at(const char *file, int line, vf_value x, int axis, int room,
                               vf_value *results) {
  int made = vf_unbind(x, axis, room, results);
  vf_call_place(x.graph, file, line);
  return made;
}
static inline int vf_minmax_at(const char *file, int line, vf_value x, int count, const int64_t *axes,
                               bool keepdims, vf_value *results) {
  int made = vf_minmax(x, count, axes, keepdims, results);
  vf_call_place(x.graph, file, line);
  return made;
}
static inline int vf_threefry2x32_at(const char *file, int line, const vf_value *key, const vf_value *counter,
                                     vf_value *words) {
  int made = vf_threefry2x32(key, counter, words);
  vf_call_place(vf_graph_of_list(2, key), file, line);
  return made;
}

/* clang-format off */
#define vf_apply_all(...) vf_apply_all_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_vmap(...) vf_vmap_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_vmap_tree(...) vf_vmap_tree_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_sgd(...) vf_sgd_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_adam(...) vf_adam_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_cond(...) vf_cond_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_while_loop(...) vf_while_loop_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_scan(...) vf_scan_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_checkpoint(...) vf_checkpoint_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_vjp(...) vf_vjp_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_jvp(...) vf_jvp_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_grad(...) vf_grad_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_grad_tree(...) vf_grad_tree_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_topk(...) vf_topk_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_split(...) vf_split_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_chunk(...) vf_chunk_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_unbind(...) vf_unbind_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_minmax(...) vf_minmax_at(__FILE__, __LINE__, __VA_ARGS__)
#define vf_threefry2x32(...) vf_threefry2x32_at(__FILE__, __LINE__, __VA_ARGS__)

/* from the declarations (update: test/style.sh --derived) */
#define vf_output(...) vf_at(vf_output(__VA_ARGS__), __FILE__, __LINE__)
#define vf_input(...) vf_at(vf_input(__VA_ARGS__), __FILE__, __LINE__)
#define vf_input_sized(...) vf_at(vf_input_sized(__VA_ARGS__), __FILE__, __LINE__)
#define vf_variable(...) vf_at(vf_variable(__VA_ARGS__), __FILE__, __LINE__)
#define vf_number(...) vf_at(vf_number(__VA_ARGS__), __FILE__, __LINE__)
#define vf_integer(...) vf_at(vf_integer(__VA_ARGS__), __FILE__, __LINE__)
#define vf_boolean(...) vf_at(vf_boolean(__VA_ARGS__), __FILE__, __LINE__)
#define vf_constant(...) vf_at(vf_constant(__VA_ARGS__), __FILE__, __LINE__)
#define vf_data(...) vf_at(vf_data(__VA_ARGS__), __FILE__, __LINE__)
#define vf_iota(...) vf_at(vf_iota(__VA_ARGS__), __FILE__, __LINE__)
#define vf_full(...) vf_at(vf_full(__VA_ARGS__), __FILE__, __LINE__)
#define vf_apply(...) vf_at(vf_apply(__VA_ARGS__), __FILE__, __LINE__)
#define vf_input_batched(...) vf_at(vf_input_batched(__VA_ARGS__), __FILE__, __LINE__)
#define vf_rebatch(...) vf_at(vf_rebatch(__VA_ARGS__), __FILE__, __LINE__)
#define vf_incr_batch_dims(...) vf_at(vf_incr_batch_dims(__VA_ARGS__), __FILE__, __LINE__)
#define vf_decr_batch_dims(...) vf_at(vf_decr_batch_dims(__VA_ARGS__), __FILE__, __LINE__)
#define vf_move_axis_to_batch_dims(...) vf_at(vf_move_axis_to_batch_dims(__VA_ARGS__), __FILE__, __LINE__)
#define vf_move_axis_from_batch_dims(...) vf_at(vf_move_axis_from_batch_dims(__VA_ARGS__), __FILE__, __LINE__)
#define vf_broadcast_batch_dims(...) vf_at(vf_broadcast_batch_dims(__VA_ARGS__), __FILE__, __LINE__)
#define vf_unsqueeze_physical(...) vf_at(vf_unsqueeze_physical(__VA_ARGS__), __FILE__, __LINE__)
#define vf_squeeze_physical(...) vf_at(vf_squeeze_physical(__VA_ARGS__), __FILE__, __LINE__)
#define vf_broadcast_to_physical(...) vf_at(vf_broadcast_to_physical(__VA_ARGS__), __FILE__, __LINE__)
#define vf_moveaxis_physical(...) vf_at(vf_moveaxis_physical(__VA_ARGS__), __FILE__, __LINE__)
#define vf_stop_gradient(...) vf_at(vf_stop_gradient(__VA_ARGS__), __FILE__, __LINE__)
#define vf_neg(...) vf_at(vf_neg(__VA_ARGS__), __FILE__, __LINE__)
#define vf_abs(...) vf_at(vf_abs(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sqrt(...) vf_at(vf_sqrt(__VA_ARGS__), __FILE__, __LINE__)
#define vf_rsqrt(...) vf_at(vf_rsqrt(__VA_ARGS__), __FILE__, __LINE__)
#define vf_exp(...) vf_at(vf_exp(__VA_ARGS__), __FILE__, __LINE__)
#define vf_exp2(...) vf_at(vf_exp2(__VA_ARGS__), __FILE__, __LINE__)
#define vf_log(...) vf_at(vf_log(__VA_ARGS__), __FILE__, __LINE__)
#define vf_log2(...) vf_at(vf_log2(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sin(...) vf_at(vf_sin(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cos(...) vf_at(vf_cos(__VA_ARGS__), __FILE__, __LINE__)
#define vf_tanh(...) vf_at(vf_tanh(__VA_ARGS__), __FILE__, __LINE__)
#define vf_erf(...) vf_at(vf_erf(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sigmoid(...) vf_at(vf_sigmoid(__VA_ARGS__), __FILE__, __LINE__)
#define vf_expm1(...) vf_at(vf_expm1(__VA_ARGS__), __FILE__, __LINE__)
#define vf_log1p(...) vf_at(vf_log1p(__VA_ARGS__), __FILE__, __LINE__)
#define vf_tan(...) vf_at(vf_tan(__VA_ARGS__), __FILE__, __LINE__)
#define vf_asin(...) vf_at(vf_asin(__VA_ARGS__), __FILE__, __LINE__)
#define vf_acos(...) vf_at(vf_acos(__VA_ARGS__), __FILE__, __LINE__)
#define vf_atan(...) vf_at(vf_atan(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sinh(...) vf_at(vf_sinh(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cosh(...) vf_at(vf_cosh(__VA_ARGS__), __FILE__, __LINE__)
#define vf_asinh(...) vf_at(vf_asinh(__VA_ARGS__), __FILE__, __LINE__)
#define vf_acosh(...) vf_at(vf_acosh(__VA_ARGS__), __FILE__, __LINE__)
#define vf_atanh(...) vf_at(vf_atanh(__VA_ARGS__), __FILE__, __LINE__)
#define vf_erfinv(...) vf_at(vf_erfinv(__VA_ARGS__), __FILE__, __LINE__)
#define vf_relu(...) vf_at(vf_relu(__VA_ARGS__), __FILE__, __LINE__)
#define vf_floor(...) vf_at(vf_floor(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ceil(...) vf_at(vf_ceil(__VA_ARGS__), __FILE__, __LINE__)
#define vf_trunc(...) vf_at(vf_trunc(__VA_ARGS__), __FILE__, __LINE__)
#define vf_round(...) vf_at(vf_round(__VA_ARGS__), __FILE__, __LINE__)
#define vf_bit_not(...) vf_at(vf_bit_not(__VA_ARGS__), __FILE__, __LINE__)
#define vf_add(...) vf_at(vf_add(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sub(...) vf_at(vf_sub(__VA_ARGS__), __FILE__, __LINE__)
#define vf_mul(...) vf_at(vf_mul(__VA_ARGS__), __FILE__, __LINE__)
#define vf_div(...) vf_at(vf_div(__VA_ARGS__), __FILE__, __LINE__)
#define vf_floordiv(...) vf_at(vf_floordiv(__VA_ARGS__), __FILE__, __LINE__)
#define vf_mod(...) vf_at(vf_mod(__VA_ARGS__), __FILE__, __LINE__)
#define vf_pow(...) vf_at(vf_pow(__VA_ARGS__), __FILE__, __LINE__)
#define vf_min(...) vf_at(vf_min(__VA_ARGS__), __FILE__, __LINE__)
#define vf_max(...) vf_at(vf_max(__VA_ARGS__), __FILE__, __LINE__)
#define vf_eq(...) vf_at(vf_eq(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ne(...) vf_at(vf_ne(__VA_ARGS__), __FILE__, __LINE__)
#define vf_lt(...) vf_at(vf_lt(__VA_ARGS__), __FILE__, __LINE__)
#define vf_le(...) vf_at(vf_le(__VA_ARGS__), __FILE__, __LINE__)
#define vf_gt(...) vf_at(vf_gt(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ge(...) vf_at(vf_ge(__VA_ARGS__), __FILE__, __LINE__)
#define vf_bit_and(...) vf_at(vf_bit_and(__VA_ARGS__), __FILE__, __LINE__)
#define vf_bit_or(...) vf_at(vf_bit_or(__VA_ARGS__), __FILE__, __LINE__)
#define vf_bit_xor(...) vf_at(vf_bit_xor(__VA_ARGS__), __FILE__, __LINE__)
#define vf_shl(...) vf_at(vf_shl(__VA_ARGS__), __FILE__, __LINE__)
#define vf_shr(...) vf_at(vf_shr(__VA_ARGS__), __FILE__, __LINE__)
#define vf_where(...) vf_at(vf_where(__VA_ARGS__), __FILE__, __LINE__)
#define vf_fma(...) vf_at(vf_fma(__VA_ARGS__), __FILE__, __LINE__)
#define vf_stored(...) vf_at(vf_stored(__VA_ARGS__), __FILE__, __LINE__)
#define vf_logical_and(...) vf_at(vf_logical_and(__VA_ARGS__), __FILE__, __LINE__)
#define vf_logical_or(...) vf_at(vf_logical_or(__VA_ARGS__), __FILE__, __LINE__)
#define vf_logical_xor(...) vf_at(vf_logical_xor(__VA_ARGS__), __FILE__, __LINE__)
#define vf_logical_not(...) vf_at(vf_logical_not(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cast(...) vf_at(vf_cast(__VA_ARGS__), __FILE__, __LINE__)
#define vf_bitcast(...) vf_at(vf_bitcast(__VA_ARGS__), __FILE__, __LINE__)
#define vf_permute(...) vf_at(vf_permute(__VA_ARGS__), __FILE__, __LINE__)
#define vf_transpose(...) vf_at(vf_transpose(__VA_ARGS__), __FILE__, __LINE__)
#define vf_swap_axes(...) vf_at(vf_swap_axes(__VA_ARGS__), __FILE__, __LINE__)
#define vf_move_axis(...) vf_at(vf_move_axis(__VA_ARGS__), __FILE__, __LINE__)
#define vf_reshape(...) vf_at(vf_reshape(__VA_ARGS__), __FILE__, __LINE__)
#define vf_flatten(...) vf_at(vf_flatten(__VA_ARGS__), __FILE__, __LINE__)
#define vf_expand(...) vf_at(vf_expand(__VA_ARGS__), __FILE__, __LINE__)
#define vf_unsqueeze(...) vf_at(vf_unsqueeze(__VA_ARGS__), __FILE__, __LINE__)
#define vf_squeeze(...) vf_at(vf_squeeze(__VA_ARGS__), __FILE__, __LINE__)
#define vf_shrink(...) vf_at(vf_shrink(__VA_ARGS__), __FILE__, __LINE__)
#define vf_slice(...) vf_at(vf_slice(__VA_ARGS__), __FILE__, __LINE__)
#define vf_stride(...) vf_at(vf_stride(__VA_ARGS__), __FILE__, __LINE__)
#define vf_flip(...) vf_at(vf_flip(__VA_ARGS__), __FILE__, __LINE__)
#define vf_point(...) vf_at(vf_point(__VA_ARGS__), __FILE__, __LINE__)
#define vf_pad(...) vf_at(vf_pad(__VA_ARGS__), __FILE__, __LINE__)
#define vf_pad_with(...) vf_at(vf_pad_with(__VA_ARGS__), __FILE__, __LINE__)
#define vf_concat(...) vf_at(vf_concat(__VA_ARGS__), __FILE__, __LINE__)
#define vf_stack(...) vf_at(vf_stack(__VA_ARGS__), __FILE__, __LINE__)
#define vf_reshape_sized(...) vf_at(vf_reshape_sized(__VA_ARGS__), __FILE__, __LINE__)
#define vf_expand_sized(...) vf_at(vf_expand_sized(__VA_ARGS__), __FILE__, __LINE__)
#define vf_shrink_sized(...) vf_at(vf_shrink_sized(__VA_ARGS__), __FILE__, __LINE__)
#define vf_pad_sized(...) vf_at(vf_pad_sized(__VA_ARGS__), __FILE__, __LINE__)
#define vf_full_sized(...) vf_at(vf_full_sized(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sum(...) vf_at(vf_sum(__VA_ARGS__), __FILE__, __LINE__)
#define vf_prod(...) vf_at(vf_prod(__VA_ARGS__), __FILE__, __LINE__)
#define vf_mean(...) vf_at(vf_mean(__VA_ARGS__), __FILE__, __LINE__)
#define vf_reduce_max(...) vf_at(vf_reduce_max(__VA_ARGS__), __FILE__, __LINE__)
#define vf_reduce_min(...) vf_at(vf_reduce_min(__VA_ARGS__), __FILE__, __LINE__)
#define vf_any(...) vf_at(vf_any(__VA_ARGS__), __FILE__, __LINE__)
#define vf_all(...) vf_at(vf_all(__VA_ARGS__), __FILE__, __LINE__)
#define vf_argmax(...) vf_at(vf_argmax(__VA_ARGS__), __FILE__, __LINE__)
#define vf_argmin(...) vf_at(vf_argmin(__VA_ARGS__), __FILE__, __LINE__)
#define vf_matmul(...) vf_at(vf_matmul(__VA_ARGS__), __FILE__, __LINE__)
#define vf_gather(...) vf_at(vf_gather(__VA_ARGS__), __FILE__, __LINE__)
#define vf_gather_batched(...) vf_at(vf_gather_batched(__VA_ARGS__), __FILE__, __LINE__)
#define vf_scatter(...) vf_at(vf_scatter(__VA_ARGS__), __FILE__, __LINE__)
#define vf_scatter_add(...) vf_at(vf_scatter_add(__VA_ARGS__), __FILE__, __LINE__)
#define vf_address(...) vf_at(vf_address(__VA_ARGS__), __FILE__, __LINE__)
#define vf_assign(...) vf_at(vf_assign(__VA_ARGS__), __FILE__, __LINE__)
#define vf_read(...) vf_at(vf_read(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ref_get(...) vf_at(vf_ref_get(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ref_set(...) vf_at(vf_ref_set(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ref_update(...) vf_at(vf_ref_update(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ref_target(...) vf_at(vf_ref_target(__VA_ARGS__), __FILE__, __LINE__)
#define vf_create_view(...) vf_at(vf_create_view(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cumsum(...) vf_at(vf_cumsum(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cumprod(...) vf_at(vf_cumprod(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cummax(...) vf_at(vf_cummax(__VA_ARGS__), __FILE__, __LINE__)
#define vf_cummin(...) vf_at(vf_cummin(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sort(...) vf_at(vf_sort(__VA_ARGS__), __FILE__, __LINE__)
#define vf_argsort(...) vf_at(vf_argsort(__VA_ARGS__), __FILE__, __LINE__)
#define vf_softmax(...) vf_at(vf_softmax(__VA_ARGS__), __FILE__, __LINE__)
#define vf_log_softmax(...) vf_at(vf_log_softmax(__VA_ARGS__), __FILE__, __LINE__)
#define vf_logsumexp(...) vf_at(vf_logsumexp(__VA_ARGS__), __FILE__, __LINE__)
#define vf_silu(...) vf_at(vf_silu(__VA_ARGS__), __FILE__, __LINE__)
#define vf_gelu(...) vf_at(vf_gelu(__VA_ARGS__), __FILE__, __LINE__)
#define vf_softplus(...) vf_at(vf_softplus(__VA_ARGS__), __FILE__, __LINE__)
#define vf_leaky_relu(...) vf_at(vf_leaky_relu(__VA_ARGS__), __FILE__, __LINE__)
#define vf_elu(...) vf_at(vf_elu(__VA_ARGS__), __FILE__, __LINE__)
#define vf_reciprocal(...) vf_at(vf_reciprocal(__VA_ARGS__), __FILE__, __LINE__)
#define vf_square(...) vf_at(vf_square(__VA_ARGS__), __FILE__, __LINE__)
#define vf_sign(...) vf_at(vf_sign(__VA_ARGS__), __FILE__, __LINE__)
#define vf_clip(...) vf_at(vf_clip(__VA_ARGS__), __FILE__, __LINE__)
#define vf_attention(...) vf_at(vf_attention(__VA_ARGS__), __FILE__, __LINE__)
#define vf_var(...) vf_at(vf_var(__VA_ARGS__), __FILE__, __LINE__)
#define vf_std(...) vf_at(vf_std(__VA_ARGS__), __FILE__, __LINE__)
#define vf_layer_norm(...) vf_at(vf_layer_norm(__VA_ARGS__), __FILE__, __LINE__)
#define vf_rms_norm(...) vf_at(vf_rms_norm(__VA_ARGS__), __FILE__, __LINE__)
#define vf_take_along_axis(...) vf_at(vf_take_along_axis(__VA_ARGS__), __FILE__, __LINE__)
#define vf_scatter_along_axis(...) vf_at(vf_scatter_along_axis(__VA_ARGS__), __FILE__, __LINE__)
#define vf_scatter_add_along_axis(...) vf_at(vf_scatter_add_along_axis(__VA_ARGS__), __FILE__, __LINE__)
#define vf_slice_update(...) vf_at(vf_slice_update(__VA_ARGS__), __FILE__, __LINE__)
#define vf_zeros(...) vf_at(vf_zeros(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ones(...) vf_at(vf_ones(__VA_ARGS__), __FILE__, __LINE__)
#define vf_arange(...) vf_at(vf_arange(__VA_ARGS__), __FILE__, __LINE__)
#define vf_arange_real(...) vf_at(vf_arange_real(__VA_ARGS__), __FILE__, __LINE__)
#define vf_linspace(...) vf_at(vf_linspace(__VA_ARGS__), __FILE__, __LINE__)
#define vf_eye(...) vf_at(vf_eye(__VA_ARGS__), __FILE__, __LINE__)
#define vf_tril(...) vf_at(vf_tril(__VA_ARGS__), __FILE__, __LINE__)
#define vf_triu(...) vf_at(vf_triu(__VA_ARGS__), __FILE__, __LINE__)
#define vf_uniform(...) vf_at(vf_uniform(__VA_ARGS__), __FILE__, __LINE__)
#define vf_normal(...) vf_at(vf_normal(__VA_ARGS__), __FILE__, __LINE__)
#define vf_bernoulli(...) vf_at(vf_bernoulli(__VA_ARGS__), __FILE__, __LINE__)
#define vf_einsum(...) vf_at(vf_einsum(__VA_ARGS__), __FILE__, __LINE__)
#define vf_name_axes(...) vf_at(vf_name_axes(__VA_ARGS__), __FILE__, __LINE__)
#define vf_rearrange(...) vf_at(vf_rearrange(__VA_ARGS__), __FILE__, __LINE__)
#define vf_rearrange_reduce(...) vf_at(vf_rearrange_reduce(__VA_ARGS__), __FILE__, __LINE__)
#define vf_conv(...) vf_at(vf_conv(__VA_ARGS__), __FILE__, __LINE__)
#define vf_conv_transpose(...) vf_at(vf_conv_transpose(__VA_ARGS__), __FILE__, __LINE__)
#define vf_max_pool(...) vf_at(vf_max_pool(__VA_ARGS__), __FILE__, __LINE__)
#define vf_avg_pool(...) vf_at(vf_avg_pool(__VA_ARGS__), __FILE__, __LINE__)
#define vf_constant_borrow(...) vf_at(vf_constant_borrow(__VA_ARGS__), __FILE__, __LINE__)
#define vf_arrays_constant(...) vf_at(vf_arrays_constant(__VA_ARGS__), __FILE__, __LINE__)
#define vf_tap(...) vf_at(vf_tap(__VA_ARGS__), __FILE__, __LINE__)
#define vf_print(...) vf_at(vf_print(__VA_ARGS__), __FILE__, __LINE__)
#define vf_input_sharded(...) vf_at(vf_input_sharded(__VA_ARGS__), __FILE__, __LINE__)
#define vf_shard(...) vf_at(vf_shard(__VA_ARGS__), __FILE__, __LINE__)
#define vf_all_reduce(...) vf_at(vf_all_reduce(__VA_ARGS__), __FILE__, __LINE__)
#define vf_all_gather(...) vf_at(vf_all_gather(__VA_ARGS__), __FILE__, __LINE__)
#define vf_reduce_scatter(...) vf_at(vf_reduce_scatter(__VA_ARGS__), __FILE__, __LINE__)
#define vf_all_to_all(...) vf_at(vf_all_to_all(__VA_ARGS__), __FILE__, __LINE__)
#define vf_gather_all_axes(...) vf_at(vf_gather_all_axes(__VA_ARGS__), __FILE__, __LINE__)
#define vf_transfer_to(...) vf_at(vf_transfer_to(__VA_ARGS__), __FILE__, __LINE__)
#define vf_pmean(...) vf_at(vf_pmean(__VA_ARGS__), __FILE__, __LINE__)
#define vf_all_reduce_blocks(...) vf_at(vf_all_reduce_blocks(__VA_ARGS__), __FILE__, __LINE__)
#define vf_ppermute(...) vf_at(vf_ppermute(__VA_ARGS__), __FILE__, __LINE__)
#define vf_all_to_all_stacked(...) vf_at(vf_all_to_all_stacked(__VA_ARGS__), __FILE__, __LINE__)
#define vf_distributed_broadcast(...) vf_at(vf_distributed_broadcast(__VA_ARGS__), __FILE__, __LINE__)
#define vf_axis_index(...) vf_at(vf_axis_index(__VA_ARGS__), __FILE__, __LINE__)
#define vf_strided(...) vf_at(vf_strided(__VA_ARGS__), __FILE__, __LINE__)
#define vf_input_strided(...) vf_at(vf_input_strided(__VA_ARGS__), __FILE__, __LINE__)
/* end of these rows */
/* clang-format on */

#endif

#ifdef __cplusplus
}
#endif
#endif
