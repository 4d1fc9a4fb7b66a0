/* Wrong calls beside those of builders (test_builder_misuse.c): each returns a message that says why in full,
 * and what it was given can be used afterwards. Null pointers are in test_nulls.c. */
#include "test/lib/api.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

enum { MANY = 65, WEIGHTS = 512 };

typedef struct made {
  vf_context *context, *other;
  vf_graph *graph; /* %y = add (exp %x) %w, of f32[512] */
  vf_value x, w;
  vf_program *program, *meshed; /* meshed: the same on a mesh of two devices */
  vf_value meshed_w;
  vf_graph *meshed_graph;
  vf_arrays *arrays; /* of one array */
  vf_tensor *tensor; /* f32[2,3] */
  vf_data_view *view, *put, *elsewhere, *many, *classes,
      *list;       /* put has the tensor as "bf", the first has nothing */
  vf_graph *sized; /* %y = exp %x, of f32[n=1..8] */
  vf_value n;
  vf_graph *wide_graph;
  vf_value wide; /* 1 to 2^62 */
  vf_view chain; /* of x */
} made;

static const float elements[WEIGHTS];
static float out[WEIGHTS];

/* functions that make wrong calls */

typedef struct inside {
  const made *m;
  vf_tensor *lazy; /* not computed yet */
  vf_error *error;
} inside;
static void collect(void *user, const vf_value *in, vf_value *results) {
  const inside *i = user;
  vf_session_collect(i->m->context, i->error);
  results[0] = in[0];
}
static void realise(void *user, const vf_value *in, vf_value *results) {
  const inside *i = user;
  vf_tensor_realise(&i->lazy, 1, i->error);
  results[0] = in[0];
}
static void keep(void *user, const vf_value *in, vf_value *results) {
  const inside *i = user;
  vf_tensor_release(vf_tensor_keep(vf_neg(in[0]), i->error));
  results[0] = in[0];
}
static void recording(const made *m, vf_function f, vf_error *e) {
  vf_value x = vf_full(vf_number(vf_session(m->context, NULL), 1), VF_LIST(2)), last;
  vf_tensor *lazy = vf_tensor_keep(vf_neg(vf_tensor_value(m->tensor)), NULL);
  vf_scan(f, &(inside){m, lazy, e}, 1, &x, 0, NULL, 0, 3, false, &last, NULL);
  vf_graph_clear_error(vf_session(m->context, NULL));
  vf_tensor_release(lazy);
}

static void same(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *results) {
  (void)user, (void)g, (void)statics;
  results[0] = in[0];
}
static void batched(void *user, vf_graph *g, const vf_value *in, const vf_static *statics,
                    vf_value *results) {
  (void)user, (void)g, (void)statics;
  results[0] = vf_rebatch(in[0], 1);
}
typedef struct again {
  vf_jit *jit;
  vf_tensor *in;
  vf_error *error;
} again;
static void call_again(void *user, vf_graph *g, const vf_value *in, const vf_static *statics,
                       vf_value *results) {
  const again *a = user;
  vf_tensor *result;
  (void)g, (void)statics;
  vf_jit_call(a->jit, &a->in, NULL, &result, a->error);
  results[0] = in[0];
}
static void call_jit(const made *m, vf_traced f, bool batch, int axis, vf_error *e) {
  vf_error own;
  const vf_dynamic dynamic = {.name = "n", .input = 0, .axis = axis, .lo = 1, .hi = 8, .divisor = 1};
  again user = {NULL, m->tensor, e};
  const vf_jit_options options = {.size = sizeof options,
                                  .function = f,
                                  .user = &user,
                                  .inputs = 1,
                                  .results = 1,
                                  .dynamic_count = axis >= 0,
                                  .dynamic = &dynamic};
  vf_tensor *in = m->tensor, *result = NULL;
  user.jit = vf_jit_create(m->context, &options, &own);
  if (!user.jit) fail_msg("%s", own.message);
  if (batch) in = vf_tensor_keep(vf_rebatch(vf_tensor_value(in), 1), &own);
  vf_jit_call(user.jit, &in, NULL, &result, f == call_again ? &own : e);
  vf_tensor_release(result);
  if (batch) vf_tensor_release(in);
  vf_jit_destroy(user.jit);
}

/* A call of one input and one static. */
static void call_static(const made *m, void *input, int kind, vf_error *e) {
  vf_error own;
  const vf_jit_options options = {
      .size = sizeof options, .function = same, .inputs = 1, .statics = 1, .results = 1};
  vf_jit *jit = vf_jit_create(m->context, &options, &own);
  vf_tensor *in = input, *result = NULL;
  if (!jit) fail_msg("%s", own.message);
  vf_jit_call(jit, &in, &(vf_static){.kind = (vf_static_kind)kind}, &result, e);
  vf_jit_destroy(jit);
}

static void options_of(size_t size, int byte, int64_t compile_bytes, int mode, vf_error *e) {
  union {
    vf_options options;
    unsigned char bytes[sizeof(vf_options) + 8];
  } u = {.options = {.size = size, .compile_bytes = compile_bytes, .compile_mode = (vf_compile_mode)mode}};
  if (byte) u.bytes[sizeof(vf_options) + 3] = 1;
  vf_context_destroy(vf_context_create(&u.options, e));
}

static void profile_mesh(const made *m, vf_error *e) {
  vf_error own = {0};
  vf_profile *profile = vf_program_profile(m->meshed, m->meshed_graph, &own);
  if (!profile) {
    *e = own;
    return;
  }
  vf_profile_run(profile, (const void *[]){elements}, (void *[]){out}, NULL, e);
  vf_profile_destroy(profile);
}

/* Of a graph that has got another output since. */
static void profile_other(const made *m, vf_error *e) {
  vf_error own = {0};
  vf_graph *g = vf_graph_create(m->context, "growing", &own);
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(WEIGHTS));
  vf_output(g, "y", vf_exp(x));
  vf_program *program = vf_compile(g, &own);
  vf_output(g, "z", vf_sum(vf_mul(x, x), VF_ALL, false));
  vf_profile *profile = vf_program_profile(program, g, e);
  if (profile) vf_profile_run(profile, (const void *[]){elements}, (void *[]){out, out}, NULL, e);
  vf_profile_destroy(profile), vf_program_destroy(program), vf_graph_destroy(g);
}

static void failed_before(const made *m, vf_error *e) {
  vf_value x = vf_tensor_value(m->tensor);
  vf_full(x, VF_LIST(2));
  vf_data_put(m->view, "bf", x, e);
  vf_graph_clear_error(x.graph);
}

static void gradient_of_classes(const made *m, vf_error *e) {
  vf_error own;
  vf_value ids = vf_data(vf_session(m->context, NULL), VF_I64, VF_LIST(2), (int64_t[]){0, 1});
  vf_data_set_classes(m->classes, 3, NULL, &own);
  if (vf_data_put(m->classes, "b", ids, &own)) fail_msg("%s", own.message);
  vf_value hot = vf_data_get(m->classes, "bf", VF_F32, &own);
  if (!vf_ok(hot)) fail_msg("%s", own.message);
  vf_data_backward_put(m->classes, "bf", hot, e);
  if (!e->status) vf_data_backward_get(m->classes, NULL, VF_NONE, e);
}

static void size_put(const made *m, vf_error *e) {
  vf_data_view *view = vf_data_view_create(m->sized, NULL);
  vf_data_put(view, "bf", m->n, e);
  vf_data_view_destroy(view);
}

#define CASE(name, call)                                                                                     \
  static void name(const made *m, vf_error *e) { (void)m, (void)(call); }
#define DO(name, call)                                                                                       \
  static void name(const made *m, vf_error *e) { call; }
DO(options_byte, (void)m; options_of(sizeof(vf_options) + 8, 1, 0, 0, e))
DO(options_bytes, (void)m; options_of(sizeof(vf_options), 0, 1000, 0, e))
DO(options_mode, (void)m; options_of(sizeof(vf_options), 0, 0, 7, e))
CASE(npy_name, vf_npy_write(m->tensor, "x.txt", e))
CASE(arrays_number, vf_arrays_read(m->arrays, 9, out, sizeof out, e))
CASE(register_size, vf_register_op(m->context, &(vf_op_description){.size = 3}, e))
CASE(import_size, vf_import_onnx(m->context, "m.onnx", &(vf_import_options){.size = 8}, e))
CASE(constant_none, vf_program_set_constant(m->program, m->x, elements, NULL, NULL, e))
CASE(constant_elements, vf_program_set_constant(m->program, m->w, NULL, NULL, NULL, e))
CASE(constant_mesh, vf_program_set_constant(m->meshed, m->meshed_w, elements, NULL, NULL, e))
CASE(port_number, vf_port_bytes(m->program, VF_INPUT, 9, NULL, e))
CASE(port_kind, vf_port_bytes(m->program, (vf_port)7, 0, NULL, e))
CASE(port_sizes, vf_port_shape(m->program, VF_INPUT, 0, NULL, NULL, e))
CASE(part_sizes, vf_port_part(m->meshed, VF_INPUT, 0, 0, NULL, NULL, NULL, NULL, e))
CASE(cost_size, vf_program_cost(m->program, NULL, &(vf_cost){.size = 3}, e))
CASE(
    build_targets,
    vf_build(m->sized,
             &(vf_build_options){
                 .size = sizeof(vf_build_options),
                 .target =
                     "x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-"
                     "v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3,x86-64-v3"},
             e))
CASE(compile_context, vf_compile((vf_graph *)(void *)m->context, e))
CASE(compile_session, vf_compile(vf_session(m->context, NULL), e))
CASE(evaluate_program, vf_evaluate((vf_graph *)(void *)m->program, NULL, NULL, NULL, e))
CASE(graph_tensor, vf_graph_create((vf_context *)(void *)m->tensor, "g", e))
CASE(run_graph, vf_program_run((const vf_program *)(void *)m->graph, NULL, NULL, NULL, e))
CASE(data_graph, vf_tensor_data((vf_tensor *)(void *)m->graph, e))
CASE(text_view, vf_graph_text((vf_graph *)(void *)m->view, e))
CASE(build_null, vf_build(NULL, NULL, e))
CASE(dlpack_null, vf_tensor_from_dlpack(m->context, NULL, e))
DO(profile, profile_mesh(m, e))
DO(collect_inside, recording(m, collect, e))
DO(realise_inside, recording(m, realise, e))
DO(keep_inside, recording(m, keep, e))
CASE(tensor_rank, vf_tensor_create(m->context, VF_F32, 17, (int64_t[17]){1}, elements, e))
CASE(tensor_shape, vf_tensor_create(m->context, VF_F32, 1, NULL, elements, e))
DO(jit_batch, call_jit(m, same, true, -1, e))
DO(jit_rank, call_jit(m, same, false, 2, e))
DO(jit_result, call_jit(m, batched, false, -1, e))
DO(jit_static, call_static(m, m->tensor, 9, e))
DO(jit_graph, call_static(m, m->graph, VF_STATIC_INTEGER, e))
DO(jit_again, call_jit(m, call_again, false, -1, e))
CASE(view_error, vf_view_real_size((vf_view){.graph = m->graph}, e))
CASE(view_bits, vf_view_real_size(vf_view_create_sized(m->wide_graph, 1, &m->wide, NULL, m->wide, NULL), e))
DO(profile_changed, profile_other(m, e))
CASE(data_null, vf_data_sub(NULL, 0, 1, NULL, e))
CASE(view_index, vf_view_index(m->chain, 1, &m->x, e))
DO(data_failed, failed_before(m, e))
DO(data_size, size_put(m, e))
CASE(data_axes, vf_data_put(m->view, "abcdefghijklmnopq", vf_tensor_value(m->tensor), e))
CASE(data_axes_dtype, vf_data_get(m->put, "abcdefghijklmnopq:f32", VF_NONE, e))
CASE(data_axes_part, vf_data_put_all(m->list, "abcdefghijklmnopqabcdefghijklmnopq,bf", 2,
                                     (vf_value[]){vf_tensor_value(m->tensor), vf_tensor_value(m->tensor)}, e))
CASE(data_none, vf_data_put(m->view, "", vf_tensor_value(m->tensor), e))
CASE(data_dtype, vf_data_type(m->put, VF_NONE, e))
CASE(data_iterate, vf_data_iterate(m->view, 2, &(int64_t){0}, m->put, e))
CASE(class_count, vf_data_set_classes(m->classes, -1, NULL, e))
DO(class_gradient, gradient_of_classes(m, e))
CASE(list_context, vf_list_view_create(2, (vf_data_view *[]){m->view, m->elsewhere}, e))
CASE(list_gradient, vf_data_backward_get(m->many, NULL, VF_NONE, e))
CASE(list_components, vf_data_put_all(m->many, "bf", MANY, (vf_value[MANY]){{0}}, e))

static const struct {
  void (*call)(const made *, vf_error *);
  vf_status status;
  const char *message; /* up to the number of the call, where there is one */
} misuses[] = {
    {options_byte, VF_ERR_INVALID,
     "options: byte 107 is set, which this version (0.1.0) does not know; set size to sizeof(vf_options) of "
     "this version's header, and what is not used to 0"},
    {options_bytes, VF_ERR_INVALID,
     "options: compile_bytes is 1000; LLVM needs 33554432, and 0 stands for no limit"},
    {options_mode, VF_ERR_INVALID,
     "options: compile_mode is 7; it must be VF_COMPILE_DEFAULT, VF_COMPILE_IN_PROCESS or "
     "VF_COMPILE_PROCESS"},
    {npy_name, VF_ERR_INVALID, "npy: 'x.txt' does not end in .npy"},
    {arrays_number, VF_ERR_INVALID, "arrays: there is no array 9; there are 1, which count from 0"},
    {register_size, VF_ERR_INVALID,
     "register: the size of the description is 3; set it to sizeof(vf_op_description)"},
    {import_size, VF_ERR_INVALID, "import: the options have size 8; takes 64"},
    {constant_none, VF_ERR_INVALID,
     "program @g: the value is none of the 1 constants that its outputs depend on; arrays of at most 1024 "
     "bytes are literals, which cannot be replaced"},
    {constant_elements, VF_ERR_INVALID, "set_constant: the elements are NULL"},
    {constant_mesh, VF_ERR_UNSUPPORTED,
     "program @meshed: constants of a program on a mesh cannot be replaced; make it an input"},
    {port_number, VF_ERR_INVALID, "bytes: there is no input 9; @g has 1, numbered from 0"},
    {port_kind, VF_ERR_INVALID, "bytes: a port is VF_INPUT or VF_OUTPUT, and got 7"},
    {port_sizes, VF_ERR_INVALID, "shape: the array for its sizes is NULL"},
    {part_sizes, VF_ERR_INVALID, "part: an array for its sizes is NULL"},
    {cost_size, VF_ERR_INVALID, "cost: size is 3; it must be sizeof(vf_cost)"},
    {build_targets, VF_ERR_INVALID, "build: more than 16 targets for one object"},
    {compile_context, VF_ERR_INVALID, "compile: the graph is a context"},
    {compile_session, VF_ERR_INVALID,
     "the session is compiled as its tensors are asked for, by vf_tensor_data or vf_tensor_realise; for a "
     "program of one's own record into a graph of vf_graph_create"},
    {evaluate_program, VF_ERR_INVALID, "evaluate: the graph is a program"},
    {graph_tensor, VF_ERR_INVALID, "graph: the context is a tensor"},
    {run_graph, VF_ERR_INVALID, "run: the program is a graph"},
    {data_graph, VF_ERR_INVALID, "data: the tensor is a graph"},
    {text_view, VF_ERR_INVALID, "text: the graph is no handle of viewfold, or one that was destroyed"},
    {build_null, VF_ERR_INVALID,
     "build: the graph is NULL, as vf_graph_create, _parse and vf_import_onnx give where they fail: their "
     "error says why"},
    {dlpack_null, VF_ERR_INVALID, "from_dlpack: the array is NULL"},
    {profile, VF_ERR_UNSUPPORTED, "program @meshed: a profile is of one device, not of a mesh"},
    {collect_inside, VF_ERR_INVALID, "session: a function is being recorded; collect before or after it"},
    {realise_inside, VF_ERR_INVALID,
     "realise: a function is being recorded, whose values have no elements; realise before or after it"},
    {keep_inside, VF_ERR_INVALID,
     "keep: a function is being recorded, and only its results can be used outside it; keep those"},
    {tensor_rank, VF_ERR_INVALID, "tensor: the shape has a bad rank; it lies in 0..16"},
    {tensor_shape, VF_ERR_INVALID, "tensor: the shape is NULL"},
    {jit_batch, VF_ERR_INVALID, "jit @jit: input 0 has batch axes; make them ordinary ones (vf_rebatch)"},
    {jit_rank, VF_ERR_INVALID,
     "jit @jit: input 0 has rank 2; its axis 2 was declared to be dynamic, so it takes rank 3 or more"},
    {jit_result, VF_ERR_INVALID, "jit @jit: result 0 has batch axes; make them ordinary ones (vf_rebatch)"},
    {jit_static, VF_ERR_INVALID,
     "jit @jit: static 0 has kind 9; takes VF_STATIC_INTEGER, VF_STATIC_REAL or VF_STATIC_TEXT"},
    {jit_graph, VF_ERR_INVALID, "jit @jit: input 0 is a graph in place of a tensor"},
    {jit_again, VF_ERR_INVALID, "jit @jit: called while it traces its function; call the function"},
    {view_error, VF_ERR_INVALID, "view: the error value of an earlier failure"},
    {view_bits, VF_ERR_UNSUPPORTED, "view: the size of its buffer exceeds 64 bits"},
    {profile_changed, VF_ERR_INVALID, "profile: graph @growing has changed since the program was compiled"},
    {data_null, VF_ERR_INVALID, "data_sub: the view is NULL"},
    {view_index, VF_ERR_INVALID,
     "view: index 0 is no size of the view's graph; takes variables, integers and expressions of them"},
    {data_failed, VF_ERR_INVALID,
     "data_put: the graph has failed before: full: the value has shape f32[2,3]; a fill value has rank 0"},
    {data_size, VF_ERR_INVALID, "data_put: x is a size; a view is of a tensor"},
    {data_axes, VF_ERR_INVALID, "data_put: view 'abcdefghijklmnopq' has more axes than a tensor, 16"},
    {data_axes_dtype, VF_ERR_INVALID,
     "data_get: view 'abcdefghijklmnopq:f32' has more axes than a tensor, 16"},
    {data_axes_part, VF_ERR_INVALID,
     "data_put: component 0: view 'abcdefghijklmnopqabcdefghijklmnopq,bf' has more axes than a tensor, 16"},
    {data_none, VF_ERR_INVALID, "data_put: there are no axes; say what those of the array are, as 'bf'"},
    {data_dtype, VF_ERR_INVALID, "data_type: there is no dtype; say which one, as VF_F32"},
    {data_iterate, VF_ERR_INVALID,
     "data_iterate: the number of examples is not known: nothing has been put, or it varies"},
    {class_count, VF_ERR_INVALID, "data_set_classes: there are -1 classes; their number is 0 or more"},
    {class_gradient, VF_ERR_INVALID, "data_backward_put: view 'bf' of classes has no gradient"},
    {list_context, VF_ERR_INVALID, "list_view: component 1 belongs to another context than component 0"},
    {list_gradient, VF_ERR_INVALID,
     "data_backward_get: a list view has several arrays; use vf_data_backward_get_all"},
    {list_components, VF_ERR_INVALID, "data_put: the list has 65 components; at most 64"},
};

static void destroy_graph(void *graph) { vf_graph_destroy(graph); }
static void destroy_program(void *program) { vf_program_destroy(program); }
static void destroy_mesh(void *mesh) { vf_mesh_destroy(mesh); }
static void destroy_view(void *view) { vf_data_view_destroy(view); }
static void close_arrays(void *arrays) { vf_arrays_close(arrays); }
static void release_tensor(void *tensor) { vf_tensor_release(tensor); }

static vf_data_view *data_view(vf_context *context) {
  return unit_keep(vf_data_view_create(vf_session(context, NULL), NULL), destroy_view);
}

static void make_programs(made *m) {
  vf_error error;
  m->graph = unit_keep(vf_graph_create(m->context, "g", &error), destroy_graph);
  m->meshed_graph = unit_keep(vf_graph_create(m->context, "meshed", &error), destroy_graph);
  vf_mesh *mesh = unit_keep(vf_mesh_create(m->context, "x=2", &error), destroy_mesh);
  if (vf_graph_set_mesh(m->meshed_graph, mesh, &error)) fail_msg("%s", error.message);
  m->x = vf_input(m->graph, "x", VF_F32, VF_LIST(WEIGHTS));
  m->w = vf_constant_borrow(m->graph, VF_F32, VF_LIST(WEIGHTS), elements, NULL, NULL);
  vf_output(m->graph, "y", vf_add(vf_exp(m->x), m->w));
  vf_value x = vf_input_sharded(m->meshed_graph, "x", VF_F32, VF_LIST(WEIGHTS), "[x]");
  m->meshed_w = vf_constant_borrow(m->meshed_graph, VF_F32, VF_LIST(WEIGHTS), elements, NULL, NULL);
  vf_output(m->meshed_graph, "y", vf_add(vf_exp(x), m->meshed_w));
  m->program = api_compile(m->graph);
  m->meshed = unit_keep(vf_compile_on(m->meshed_graph, mesh, 0, &error), destroy_program);
  m->wide_graph = unit_keep(vf_graph_create(m->context, "wide", &error), destroy_graph);
  m->wide = vf_variable(m->wide_graph, "k", 1, (int64_t)1 << 62, 1);
  m->chain = vf_view_of(m->x);
  m->sized = unit_keep(vf_graph_create(m->context, "sized", &error), destroy_graph);
  m->n = vf_variable(m->sized, "n", 1, 8, 1);
  vf_output(m->sized, "y", vf_exp(vf_input_sized(m->sized, "x", VF_F32, 1, &m->n)));
}

static void make_views(made *m) {
  vf_error error;
  m->tensor =
      unit_keep(vf_tensor_create(m->context, VF_F32, VF_LIST(2, 3), elements, &error), release_tensor);
  m->view = data_view(m->context), m->put = data_view(m->context), m->elsewhere = data_view(m->other);
  m->classes = unit_keep(vf_class_view_create(vf_session(m->context, NULL), &error), destroy_view);
  vf_data_view *all[MANY];
  for (int i = 0; i < MANY; i++) all[i] = data_view(m->context);
  m->many = unit_keep(vf_list_view_create(MANY, all, &error), destroy_view);
  m->list = unit_keep(vf_list_view_create(2, all, &error), destroy_view);
  if (vf_data_put(m->put, "bf", vf_tensor_value(m->tensor), &error)) fail_msg("%s", error.message);
}

static void open_arrays(made *m) {
  char folder[200], path[300];
  vf_error error;
  const int64_t shape[] = {4};
  const vf_named_array array = {"w", VF_F32, 1, shape, elements};
  assert_true(test_folder_make(folder, sizeof folder));
  snprintf(path, sizeof path, "%s/w.npy", folder);
  if (vf_arrays_write(m->context, path, 1, &array, &error)) fail_msg("%s", error.message);
  vf_arrays *arrays = vf_arrays_open(m->context, path, &error);
  if (!arrays) fail_msg("%s", error.message);
  m->arrays = unit_keep(arrays, close_arrays);
  test_folder_remove(folder);
}

/* The program runs, the tensor is computed with, the view gives what was put. */
static void check_usable(const made *m) {
  vf_error error;
  api_run(m->program, (const void *[]){elements}, (void *[]){out}, NULL);
  assert_true(out[0] == 1 && out[WEIGHTS - 1] == 1);
  api_evaluate(m->graph, (const void *[]){elements}, (void *[]){out}, NULL);
  vf_tensor *t = vf_tensor_keep(vf_data_get(m->put, "bf", VF_NONE, &error), &error);
  if (!t || !vf_tensor_data(t, &error)) fail_msg("%s", error.message);
  vf_tensor_release(t);
}

static void test_misused(void **state) {
  (void)state;
  const vf_options options = {.threads = 1, .flags = VF_NO_DISK};
  made m = {.context = api_context_with(options), .other = api_context_with(options)};
  make_programs(&m), make_views(&m), open_arrays(&m);
  for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
    vf_error error = {0};
    misuses[i].call(&m, &error);
    api_check_reason(error.message, misuses[i].message);
    assert_int_equal(error.status, misuses[i].status);
    check_usable(&m);
  }
}

UNIT_TESTS(test_misused)
