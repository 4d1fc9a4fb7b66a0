/* Wrong calls of builders: each notes a message that says why in full, and when it is cleared the graph
 * records, runs and gives what it does without the call. */
#include "test/lib/api.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

typedef struct made {
  vf_context *context;
  vf_graph *graph, *session, *meshed; /* the last has the mesh x=2 */
  vf_value x, n;                      /* of the graph: f32[4], n=1..8 */
  vf_value batched;                   /* f32[4] in a batch of 2 */
  vf_value words;                     /* u32[] */
  vf_value place;                     /* f32[4] of the graph with a mesh */
  vf_ref ref;                         /* f32[4] */
  vf_arrays *arrays;                  /* a file that another context opened */
} made;

static void identity(void *user, const vf_value *in, vf_value *out) {
  (void)user;
  out[0] = in[0];
}
static void negate_tree(void *user, const vf_tree *in, vf_tree *out) {
  (void)user;
  out->value = vf_neg(in->value);
}

/* A vmap inside of a vmap, until it is refused. */
static void map_again(void *user, const vf_value *in, vf_value *out) {
  const made *m = user;
  const int axes[] = {VF_NOT_MAPPED};
  const vf_map map = {sizeof map, 1, 1, axes, NULL, 1, NULL};
  vf_vmap(m->graph, &map, map_again, user, in, out);
}

static void realise_inside(void *user, const vf_value *in, vf_value *out) {
  const made *m = user;
  vf_error error;
  vf_tensor *t = vf_tensor_create(m->context, VF_F32, VF_LIST(1), (float[]){1}, &error);
  vf_tensor *kept = vf_tensor_keep(vf_neg(vf_tensor_value(t)), &error);
  vf_tensor_realise(&kept, 1, &error);
  vf_tensor_release(t), vf_tensor_release(kept);
  out[0] = in[0];
}

static void write_ref(void *user, const vf_value *in, vf_value *out) {
  const made *m = user;
  vf_ref_set(m->ref, in[0]);
  out[0] = in[0];
}

static void exponential(void *user, const vf_value *in, vf_value *out) {
  (void)user;
  out[0] = vf_exp(in[0]);
}
/* Of values from outside of the vmap: the second from the first. */
static void differentiate(void *user, const vf_value *in, vf_value *out) {
  const vf_value *outer = user;
  vf_grad(vf_mul(vf_sum(outer[1], VF_ALL, false), in[0]), 1, outer, out);
}

static void add_full(void *user, const vf_value *in, vf_value *out) {
  out[0] = vf_add(in[0], *(vf_value *)user);
}
/* Of the captured value, whose batch becomes an axis, and the state. */
static void take_view(void *user, const vf_value *in, vf_value *out) {
  const vf_value *pair = user;
  out[0] = vf_sum(vf_rebatch(vf_add(pair[0], in[0]), 0), VF_LIST(0), false);
}
/* The gradient of what has the batch of the vmap among its axes. */
static void physical_gradient(void *user, const vf_value *in, vf_value *out) {
  const made *m = user;
  vf_value seen = vf_rebatch(m->batched, 0);
  vf_grad(vf_sum(vf_mul(vf_sum(seen, VF_ALL, false), in[0]), VF_ALL, false), 1, &m->batched, out);
}

#define CASE(name, call)                                                                                     \
  static void name(const made *m) { (void)m, (void)(call); }
#define SPLIT(name, ...)                                                                                     \
  static void name(const made *m) {                                                                          \
    vf_value out[4] = {{0}};                                                                                 \
    (void)m, (void)out;                                                                                      \
    __VA_ARGS__;                                                                                             \
  }
CASE(constant_file, vf_arrays_constant(m->graph, NULL, "w"))
CASE(constant_context, vf_arrays_constant(m->graph, m->arrays, NULL))
CASE(constant_element, vf_constant(m->graph, VF_F32, NULL))
CASE(input_dtype, vf_input(m->graph, "y", VF_INDEX, VF_LIST(2)))
CASE(input_mesh, vf_input_sharded(m->graph, "y", VF_F32, VF_LIST(4), "[x]"))
CASE(output_name, vf_output(m->graph, "", m->x))
CASE(output_session, vf_output(m->session, "y", vf_number(m->session, 1)))
CASE(variable_session, vf_variable(m->session, "k", 1, 8, 1))
CASE(apply_name, vf_apply(m->graph, NULL, &m->x, 1, ""))
CASE(full_value, vf_full(m->x, VF_LIST(2, 4)))
CASE(einsum_equation, vf_einsum(NULL, &m->x, 1))
CASE(norm_weight, vf_layer_norm(m->x, (vf_value){0}, m->x, 0, 1e-5))
CASE(letters, vf_name_axes(m->x, "1"))
CASE(gather_mode, vf_gather(m->x, m->x, 0, (vf_gather_mode)7))
CASE(pad_mode, vf_pad_with(m->x, VF_LIST(1, 1), (vf_pad_mode)9, (vf_value){0}))
CASE(pad_entry, vf_pad_sized(m->x, 2, (vf_value[]){m->x, m->n}))
CASE(pool_axes, vf_max_pool(m->x, 0, NULL, NULL, NULL, NULL))
CASE(concat_size, vf_concat((vf_value[]){vf_zeros(m->graph, VF_BOOL, VF_LIST((int64_t)1 << 62)),
                                         vf_ones(m->graph, VF_BOOL, VF_LIST((int64_t)1 << 62))},
                            2, 0))
CASE(batch_lack, vf_apply(m->graph, "move_axis_from_batch_dims", &m->x, 1, ""))
CASE(batch_shape, vf_broadcast_batch_dims(m->batched, VF_LIST(3)))
CASE(batch_sizes, vf_apply(m->graph, "unbatch", &m->batched, 1, "level=1 size=[2,2]"))
CASE(found_sizes, vf_apply(m->graph, "found", &m->words, 1, "size=[n,n]"))
CASE(found_shape, vf_apply(m->graph, "found", &m->x, 1, "size=[n]"))
CASE(reduction, vf_all_reduce_blocks(m->place, 0, "[x]", "avg"))
CASE(reduction_none, vf_apply(m->meshed, "all_reduce", &m->place, 1, "axis=0 over=\"[x]\" reduce=none"))
CASE(reduction_over, vf_all_reduce_blocks(m->place, 0, NULL, "sum"))
CASE(broadcast_over, vf_apply(m->meshed, "distributed_broadcast", &m->place, 1, "over=\"[x]\""))
CASE(index_over, vf_axis_index(m->meshed, NULL))
CASE(shard_mesh, vf_shard(m->x, "[x]"))
SPLIT(exchange_derivative,
      vf_value y = vf_apply(m->graph, "exchange", &m->x, 1, "shape=[4] start=[0] at=[0]");
      vf_grad(vf_sum(y, VF_ALL, false), 1, &m->x, out))
SPLIT(cond_results,
      vf_cond(vf_eq(m->words, vf_integer(m->graph, 1)), 1, &m->x, identity, identity, NULL, 0, NULL))
SPLIT(map_ended, vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL}; vf_value outer[2] = {m->x};
      vf_vmap(m->graph, &map, exponential, NULL, &m->x, &outer[1]);
      vf_vmap(m->graph, &map, differentiate, outer, &m->x, out))
SPLIT(map_rank, vf_value full = vf_input(m->graph, "full", VF_F32, 16,
                                         (int64_t[16]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
      vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
      vf_vmap(m->graph, &map, add_full, &full, &m->x, out))
SPLIT(scan_view, vf_value pair[] = {m->batched, m->x};
      vf_scan(take_view, pair, 1, &m->x, 0, NULL, 0, 3, false, out, NULL))
SPLIT(map_physical, vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
      vf_vmap(m->graph, &map, physical_gradient, (void *)m, &m->x, out))
CASE(view_size, vf_view_of(m->n).id)
CASE(
    view_bound,
    vf_view_bind(vf_view_of(m->x), 1, (vf_value[]){vf_add(m->n, vf_integer(m->graph, 1))}, (int64_t[]){1}).id)
SPLIT(random_counter, vf_threefry2x32((vf_value[]){m->words, m->words}, NULL, out))
SPLIT(scan_count, vf_scan(identity, NULL, 1, &m->x, -1, NULL, 0, 3, false, out, NULL))
SPLIT(vjp_count, vf_vjp(1, &m->x, NULL, -1, NULL, out))
SPLIT(vjp_results, vf_vjp(1, &m->x, NULL, 1, &m->x, NULL))
SPLIT(map_null, vf_vmap(m->graph, NULL, identity, NULL, &m->x, out))
SPLIT(map_size, vf_map map = {8, 1, 1, NULL, NULL, -1, NULL};
      vf_vmap(m->graph, &map, identity, NULL, &m->x, out))
SPLIT(map_counts, vf_map map = {sizeof map, -1, 1, NULL, NULL, -1, NULL};
      vf_vmap(m->graph, &map, identity, NULL, &m->x, out))
SPLIT(map_levels, map_again((void *)m, &m->x, out))
SPLIT(map_list, vf_tree result = {.count = VF_LEAF};
      vf_vmap_tree(m->graph, negate_tree, NULL, &(vf_tree){.count = 2}, NULL, NULL, -1, &result))
SPLIT(map_prefix, vf_tree result = {.count = VF_LEAF};
      vf_axes inner[] = {{.count = VF_LEAF}, {.count = VF_LEAF}};
      vf_vmap_tree(m->graph, negate_tree, NULL, &(vf_tree){.count = VF_LEAF, .value = m->x},
                   &(vf_axes){.count = 2, .children = inner}, NULL, -1, &result))
SPLIT(map_realised, vf_value one = vf_full(vf_number(m->session, 1), VF_LIST(3));
      vf_map map = {sizeof map, 1, 1, NULL, NULL, -1, NULL};
      vf_vmap(m->session, &map, realise_inside, (void *)m, &one, out))
CASE(other_handle,
     vf_output(m->graph, "z", vf_input((vf_graph *)(void *)m->context, "z", VF_F32, VF_LIST(2))))
CASE(unset_value, vf_neg((vf_value){m->graph, 0x5a5a5a5a, 0x5a5a5a5a}))
CASE(pool_kernel, vf_max_pool(m->x, 1, NULL, NULL, NULL, NULL))
CASE(half_number, vf_mul(vf_cast(m->x, VF_F16), vf_number(m->graph, 1e6)))
CASE(ref_shape, vf_ref_set(m->ref, vf_input(m->graph, "five", VF_F32, VF_LIST(5))))
CASE(write_batch, vf_ref_update(m->ref, m->batched, VF_WRITE_ADD))
SPLIT(scan_writes, vf_scan(write_ref, (void *)m, 1, &m->batched, 0, NULL, 0, 3, false, out, NULL))
SPLIT(prod_size, vf_value big = vf_expand(m->x, VF_LIST((int64_t)1 << 54, 4));
      vf_grad(vf_prod(big, VF_ALL, false), 1, &m->x, out))
SPLIT(reflect_size, vf_value some = vf_input_sized(m->graph, "s", VF_F32, 1, &m->n);
      vf_value y = vf_pad_with(some, VF_LIST(1, 1), VF_PAD_REFLECT, (vf_value){0});
      vf_grad(vf_sum(y, VF_ALL, false), 1, &some, out))

typedef enum place { GRAPH, MESHED, SESSION } place;
static const struct {
  void (*call)(const made *);
  place graph;
  const char *message;
} misuses[] = {
    {constant_file, GRAPH, "constant: the file of arrays is NULL (call 7: constant)"},
    {constant_context, GRAPH, "constant: the file was opened in another context (call 7: constant)"},
    {constant_element, GRAPH, "const: the element is NULL (call 7: const)"},
    {input_dtype, GRAPH,
     "input: %y has no dtype of a tensor; use bool, an integer or a float dtype (call 7: input)"},
    {input_mesh, GRAPH, "input: the graph has no mesh; vf_graph_set_mesh gives it one (call 8: input %y)"},
    {output_name, GRAPH, "output: the output has no name (call 7: output %x)"},
    {output_session, SESSION,
     "output: the session has no outputs; keep the value with vf_tensor_keep (call 2: output 1.0)"},
    {variable_session, SESSION,
     "variable: the session has no inputs and variables; sizes of tensors are numbers (call 1: variable)"},
    {apply_name, GRAPH, "apply: the name of the operation is NULL (call 7: apply)"},
    {full_value, GRAPH, "full: the value has shape f32[4]; a fill value has rank 0 (call 7: full %x)"},
    {einsum_equation, GRAPH, "einsum: the equation is NULL (call 7: einsum %x)"},
    {norm_weight, GRAPH,
     "layer_norm: a bias is given without a weight; give both, or add it (call 7: layer_norm %x)"},
    {letters, GRAPH, "name_axes: '1' has '1'; axes are letters, or _ for none (call 7: name_axes %x)"},
    {gather_mode, GRAPH,
     "gather: there is no mode 7; takes VF_GATHER_CHECK, _CLIP or _FILL (call 7: gather %x, %x)"},
    {pad_mode, GRAPH,
     "pad: there is no mode 9; takes VF_PAD_CONSTANT, _EDGE, _REFLECT or _WRAP (call 7: pad %x)"},
    {pad_entry, GRAPH,
     "pad: entry 0 of the list of pads is a tensor; takes variables, integers and expressions of them (call "
     "7: pad %x, %x, %n)"},
    {pool_axes, GRAPH, "max_pool: 0 spatial axes; takes at least 1 and at most 16 (call 7: max_pool %x)"},
    {concat_size, GRAPH,
     "concat: the sizes of axis 0 add up to 2^63 or more (call 9: concat bool[4611686018427387904], "
     "bool[4611686018427387904])"},
    {batch_lack, GRAPH,
     "move_axis_from_batch_dims: no batch dims to move from; x has shape f32[4]; takes at least one batch "
     "axis (call 7: move_axis_from_batch_dims %x)"},
    {batch_shape, GRAPH,
     "broadcast_batch_dims: batch_shape [3] asks for 3 where x, of shape f32[2|4], has 2; batches align at "
     "the end, and only sizes of 1 can be expanded (call 7: broadcast_batch_dims %xs)"},
    {batch_sizes, GRAPH, "unbatch: 2 sizes are given; takes one (call 7: unbatch %xs)"},
    {found_sizes, GRAPH, "found: 2 sizes are given; takes one (call 7: found %w)"},
    {found_shape, GRAPH,
     "found: x has shape f32[4]; the value of a size is an integer of rank 0 (call 7: found %x)"},
    {other_handle, GRAPH,
     "output: operand 1 is no value; a value is what a builder returned, one that was given operands of a "
     "graph; the builder that returned it was given a value of what is no graph (call 7: output)"},
    {unset_value, GRAPH,
     "neg: operand 1 is no value that a builder of @g returned; is the variable set before it is used? "
     "(call 7: "
     "neg)"},
    {pool_kernel, GRAPH,
     "max_pool: the list of the kernel's sizes is NULL; takes one for each spatial axis (call 7: max_pool "
     "%x)"},
    {half_number, GRAPH,
     "mul: the value 1000000.0 does not fit f16, which holds -65504..65504; use a value in that range or "
     "cast "
     "the other operand (call 9: mul f16[4], 1000000.0)"},
    {ref_shape, GRAPH,
     "ref_set: the update has shape f32[5]; the reference has shape f32[4], of which [4] is replaced; an "
     "update "
     "broadcasts to that (call 8: ref_set %r, %five)"},
    {reduction, MESHED,
     "all_reduce: reduce is 'avg'; it is sum, mean, max, min, prod, any or all (call 2: all_reduce %x)"},
    {reduction_none, MESHED,
     "all_reduce: reduce is none; blocks are combined by one of sum mean max min prod any all (call 2: "
     "all_reduce %x)"},
    {reduction_over, MESHED,
     "all_reduce: over is missing; it names the axes of the mesh whose devices have the blocks (call 2: "
     "all_reduce %x)"},
    {broadcast_over, MESHED,
     "distributed_broadcast: over without an axis; the first block of an axis is sent, or all of x (call 2: "
     "distributed_broadcast %x)"},
    {index_over, MESHED, "axis_index: over is missing; it names axes of the mesh (call 2: axis_index)"},
    {shard_mesh, GRAPH,
     "shard: the graph has no mesh; vf_graph_set_mesh gives it one, or in a text mesh @m [x=2,y=4] (call 7: "
     "shard %x)"},
    {exchange_derivative, GRAPH,
     "exchange: it has no derivative; a graph is differentiated before it is split over a mesh (call 9: grad "
     "f32[], %x)"},
    {cond_results, GRAPH,
     "cond: there are no results; a function has at least one (call 9: cond bool[], %x)"},
    {map_ended, GRAPH,
     "grad: inside a vmap, an output depends on an input through another vmap, which has ended; pass the "
     "input to this vmap as an argument and compute the dependence inside (call 14: grad f32[4,1|], %x)"},
    {map_rank, GRAPH,
     "reshape: the result has 2 batch axes and 16 others; a tensor has at most 16 axes in all (call 10: add "
     "f32[4,1|], %full)"},
    {scan_view, GRAPH,
     "rebatch: inside a function, whose values have no batch axes, f32[2|4] depends on a parameter and on a "
     "captured value with batch axes, which cannot become ordinary axes there; pass the captured value as an "
     "operand, or take the view outside (call 7: scan %x)"},
    {map_physical, GRAPH,
     "rebatch: inside a vmap, a view of the physical axes of f32[2,4] cannot be differentiated along the "
     "batch of f32[4,1|2,4]; broadcast the value to the batch before (broadcast_batch_dims) (call 13: grad "
     "f32[4,1|], %xs)"},
    {view_size, GRAPH, "view: a size has no views; takes a tensor (call 7: view %n)"},
    {view_bound, GRAPH,
     "bind: operand 1 is no variable; only variables are bound (call 10: bind tuple(tuple(False, 0, 4, 1, 0, "
     "4)), (n+1))"},
    {random_counter, GRAPH, "threefry2x32: the counter is NULL (call 7: threefry2x32 %w, %w)"},
    {scan_count, GRAPH, "scan: there are -1 operands to slice; takes 0 to 65535 (call 7: scan %x)"},
    {vjp_count, GRAPH, "vjp: 1 outputs and -1 inputs are given; a list has 0 entries or more"},
    {vjp_results, GRAPH, "vjp: the list for its 1 results is NULL"},
    {map_null, GRAPH, "vmap: the map is NULL (call 7: vmap)"},
    {map_size, GRAPH, "vmap: the map's size is 8; it must be sizeof(vf_map) (call 7: vmap)"},
    {map_counts, GRAPH, "vmap: there are -1 arguments and 1 results; counts are at least 0 (call 7: vmap)"},
    {map_levels, GRAPH,
     "vmap: there would be 17 batch axes; a tensor has at most 16 axes (call 38: vmap %x)"},
    {map_list, GRAPH, "vmap: a tree of 2 children has no list of them (call 7: vmap)"},
    {map_prefix, GRAPH,
     "vmap: in_axes has 2 entries where there is a single value; it is a prefix of the tree (call 7: vmap)"},
    {map_realised, SESSION,
     "vmap: the function realised a tensor; its values are not known yet: realise before, or the results "
     "(call 4: vmap f32[3])"},
    {write_batch, GRAPH,
     "ref_update: the value has batch axes that the reference lacks; sum or unbatch it first (call 7: "
     "ref_update %r, %xs)"},
    {scan_writes, GRAPH,
     "scan: a function writes a reference, which has no batch axes, and the operands have; each element of "
     "the batch would leave another version: write the reference outside (call 7: scan %xs)"},
    {prod_size, GRAPH,
     "prod: a size of 72057594037927936 elements is too large to differentiate (call 9: grad f32[], %x)"},
    {reflect_size, GRAPH,
     "pad: mode=reflect of axis 0, of size n, can be differentiated where the size is known to be 1, or at "
     "least 2; needs n >= 2, known: 1 <= n <= 8; declare n=2..8 (call 10: grad f32[], %s)"},
};

static void destroy_graph(void *g) { vf_graph_destroy(g); }
static void destroy_mesh(void *mesh) { vf_mesh_destroy(mesh); }
static void close_arrays(void *arrays) { vf_arrays_close(arrays); }

static const float four[] = {1, -2, 3, -4};

/* A file of one array, of f32[4]. */
static vf_arrays *opened(vf_context *context) {
  static char folder[200], path[300];
  vf_error error;
  const int64_t shape[] = {4};
  const vf_named_array array = {"w", VF_F32, 1, shape, four};
  assert_true(test_folder_make(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/w.npy", folder);
  if (vf_arrays_write(context, path, 1, &array, &error)) fail_msg("%s", error.message);
  vf_arrays *arrays = vf_arrays_open(context, path, &error);
  if (!arrays) fail_msg("%s", error.message);
  unit_keep(arrays, close_arrays);
  test_folder_remove(folder);
  return arrays;
}

/* A new context and graphs for each call, since messages number the calls of a graph. */
static made begin(vf_context *context, vf_arrays *arrays) {
  made m = {.context = context, .arrays = arrays};
  vf_error error;
  m.graph = unit_keep(vf_graph_create(context, "g", &error), destroy_graph);
  m.x = vf_input(m.graph, "x", VF_F32, VF_LIST(4));
  m.n = vf_variable(m.graph, "n", 1, 8, 1);
  m.batched = vf_input_batched(m.graph, "xs", VF_F32, VF_LIST(2), VF_LIST(4));
  m.words = vf_input(m.graph, "w", VF_U32, VF_ALL);
  m.ref = vf_ref_input(m.graph, "r", VF_F32, VF_LIST(4));
  m.meshed = unit_keep(vf_graph_create(context, "meshed", &error), destroy_graph);
  vf_mesh *mesh = unit_keep(vf_mesh_create(context, "x=2", &error), destroy_mesh);
  if (vf_graph_set_mesh(m.meshed, mesh, &error)) fail_msg("%s", error.message);
  m.place = vf_input(m.meshed, "x", VF_F32, VF_LIST(4));
  m.session = vf_session(context, &error);
  return m;
}

/* The graph gives what it would have given. */
static void check_usable(const made *m, place where) {
  float out[4], reference[4] = {0};
  vf_error error;
  const float *given = out;
  if (where == SESSION) {
    vf_tensor *x = vf_tensor_create(m->context, VF_F32, VF_LIST(4), four, &error);
    vf_tensor *y = vf_tensor_keep(vf_neg(vf_tensor_value(x)), &error);
    if (!y || !(given = vf_tensor_data(y, &error))) fail_msg("%s", error.message);
    memcpy(out, given, sizeof out);
    vf_tensor_release(x), vf_tensor_release(y);
  } else {
    vf_graph *g = where == GRAPH ? m->graph : m->meshed;
    const void *inputs[8] = {four, NULL, NULL, reference};
    vf_output(g, "usable", vf_neg(where == GRAPH ? m->x : m->place));
    if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
    api_evaluate(g, inputs, (void *[]){out}, (int64_t[]){1});
  }
  for (int i = 0; i < 4; i++) assert_true(out[i] == -four[i]);
}

static void test_misused(void **state) {
  (void)state;
  const vf_options alone = {.threads = 1, .flags = VF_NO_DISK};
  vf_arrays *arrays = opened(api_context_with(alone));
  for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
    made m = begin(api_context_with(alone), arrays);
    vf_graph *g = misuses[i].graph == GRAPH ? m.graph : misuses[i].graph == MESHED ? m.meshed : m.session;
    misuses[i].call(&m);
    assert_string_equal(vf_graph_message(g), misuses[i].message);
    assert_int_equal(vf_graph_status(g), VF_ERR_INVALID);
    vf_graph_clear_error(g);
    check_usable(&m, misuses[i].graph);
  }
}

UNIT_TESTS(test_misused)
