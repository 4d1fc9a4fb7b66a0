/* A pointer that is NULL where it may not be is refused, with a message that says which. */
#include "frontend/viewfold.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

typedef struct made {
  vf_context *context;
  vf_graph *graph; /* %y = exp %x, of f32[2] */
  vf_program *program;
  vf_graph *sized; /* the same of f32[n=1..8] */
  vf_program *of_size;
  vf_mesh *mesh;
  vf_tensor *tensor;
} made;

static const float in[8] = {0};
static float out[8];

#define CASE(name, call)                                                                                     \
  static void name(const made *m, vf_error *e) { (void)m, (void)(call); }
CASE(dump_graph, vf_graph_dump(NULL, "loops", e))
CASE(dump_stage, vf_graph_dump(m->graph, NULL, e))
CASE(graph_context, vf_graph_create(NULL, "g", e))
CASE(text_graph, vf_graph_text(NULL, e))
CASE(evaluate_graph, vf_evaluate(NULL, NULL, NULL, NULL, e))
CASE(evaluate_inputs, vf_evaluate(m->graph, NULL, (void *[]){out}, NULL, e))
CASE(evaluate_variables, vf_evaluate(m->sized, (const void *[]){in}, (void *[]){out}, NULL, e))
CASE(run_program, vf_program_run(NULL, (const void *[]){in}, (void *[]){out}, NULL, e))
CASE(run_variables, vf_program_run(m->of_size, (const void *[]){in}, (void *[]){out}, NULL, e))
CASE(run_parts, vf_program_run_parts(NULL, NULL, NULL, NULL, e))
CASE(run_part_lists, vf_program_run_parts(m->program, NULL, NULL, NULL, e))
CASE(parse_text, vf_graph_parse(m->context, NULL, 8, "g.vf", NULL, e))
CASE(arrays_context, vf_arrays_write(NULL, "x.npz", 0, NULL, e))
CASE(mesh_context, vf_mesh_create(NULL, "x=2", e))
CASE(mesh_text, vf_mesh_create(m->context, NULL, e))
CASE(mesh_arrays, vf_mesh_part(m->mesh, "[x]", VF_LIST(8), 0, NULL, NULL, e))
CASE(set_mesh, vf_graph_set_mesh(m->graph, NULL, e))
CASE(tensor_part, vf_tensor_part(m->tensor, 0, NULL, NULL, e))
CASE(sizes_program, vf_program_find_sizes(NULL, NULL, NULL, e))
CASE(sizes_list, vf_program_find_sizes(m->program, NULL, NULL, e))
CASE(cost_program, vf_program_cost(NULL, NULL, NULL, e))
CASE(cost_result, vf_program_cost(m->program, NULL, NULL, e))
CASE(import_path, vf_import_onnx(m->context, NULL, NULL, e))
CASE(register_description, vf_register_op(m->context, NULL, e))
CASE(constant_program, vf_program_set_constant(NULL, (vf_value){0}, in, NULL, NULL, e))
CASE(view_graph, vf_data_view_create(NULL, e))
CASE(jit_context, vf_jit_create(NULL, NULL, e))
CASE(jit_options, vf_jit_create(m->context, NULL, e))
CASE(jit_options_size, vf_jit_create(m->context, &(vf_jit_options){.size = 8}, e))
CASE(jit_self, vf_jit_call(NULL, NULL, NULL, NULL, e))
CASE(npy_tensor, vf_npy_write(NULL, "x.npy", e))
CASE(data_tensor, vf_tensor_data(NULL, e))
CASE(realise_tensor, vf_tensor_realise((vf_tensor *[]){NULL}, 1, e))
CASE(profile_self, vf_profile_run(NULL, NULL, NULL, NULL, e))
CASE(import_context, vf_import_onnx(NULL, "m.onnx", NULL, e))
CASE(register_context, vf_register_op(NULL, NULL, e))
CASE(session_context, vf_tensor_create(NULL, VF_F32, VF_LIST(2), in, e))

static const struct {
  void (*call)(const made *, vf_error *);
  const char *message;
} cases[] = {
    {dump_graph, "dump: the graph is NULL, as vf_graph_create, _parse and vf_import_onnx give where they "
                 "fail: their error says why"},
    {dump_stage, "dump: the stage is NULL"},
    {graph_context,
     "graph: the context is NULL, as vf_context_create gives where it fails: its error says why"},
    {text_graph, "text: the graph is NULL, as vf_graph_create, _parse and vf_import_onnx give where they "
                 "fail: their error says why"},
    {evaluate_graph, "evaluate: the graph is NULL, as vf_graph_create, _parse and vf_import_onnx give where "
                     "they fail: their error says why"},
    {evaluate_inputs, "evaluate: a list of inputs is NULL"},
    {evaluate_variables, "evaluate: a list of variables is NULL"},
    {run_program, "run: the program is NULL, as vf_compile gives where it fails: its error, or "
                  "vf_graph_message of the graph, says why"},
    {run_variables, "program @sized: the list of variables is NULL; it has the value of n"},
    {run_parts, "run: the program is NULL, as vf_compile gives where it fails: its error, or "
                "vf_graph_message of the graph, says why"},
    {run_part_lists, "run: the list of inputs is NULL"},
    {parse_text, "g.vf: the text is NULL"},
    {arrays_context,
     "arrays: the context is NULL, as vf_context_create gives where it fails: its error says why"},
    {mesh_context,
     "mesh: the context is NULL, as vf_context_create gives where it fails: its error says why"},
    {mesh_text, "mesh: the text of the axes is NULL; it is as in \"x=2,y=4\""},
    {mesh_arrays, "mesh: an array for 1 numbers is NULL"},
    {set_mesh, "set_mesh: the mesh is NULL, as vf_mesh_create gives where it fails: its error says why"},
    {tensor_part, "part: the list of first or last positions is NULL"},
    {sizes_program, "find_sizes: the program is NULL, as vf_compile gives where it fails: its error, or "
                    "vf_graph_message of the graph, says why"},
    {sizes_list, "find_sizes: the list of inputs is NULL"},
    {cost_program, "cost: the program is NULL, as vf_compile gives where it fails: its error, or "
                   "vf_graph_message of the graph, says why"},
    {cost_result, "cost: the result is NULL"},
    {import_path, "import: the path is NULL"},
    {register_description, "register: the description is NULL"},
    {constant_program, "set_constant: the program is NULL, as vf_compile gives where it fails: its error, or "
                       "vf_graph_message of the graph, says why"},
    {view_graph, "data_view: the graph is NULL, as vf_graph_create, _parse and vf_import_onnx give where "
                 "they fail: their error says why"},
    {jit_context, "jit: the context is NULL, as vf_context_create gives where it fails: its error says why"},
    {jit_options, "jit: options are NULL"},
    {jit_options_size, "jit: the size of options is not sizeof(vf_jit_options)"},
    {jit_self, "jit: it is NULL, as vf_jit_create gives where it fails: its error says why"},
    {npy_tensor,
     "npy: the tensor is NULL, as vf_tensor_create and others give where they fail: their error says why"},
    {data_tensor,
     "data: the tensor is NULL, as vf_tensor_create and others give where they fail: their error says why"},
    {realise_tensor, "realise: a tensor is NULL, destroyed, or of another context than the first"},
    {profile_self, "profile: it is NULL, as vf_program_profile gives where it fails: its error says why"},
    {import_context,
     "import: the context is NULL, as vf_context_create gives where it fails: its error says why"},
    {register_context,
     "register: the context is NULL, as vf_context_create gives where it fails: its error says why"},
    {session_context,
     "session: the context is NULL, as vf_context_create gives where it fails: its error says why"},
};

static void test_messages(void **state) {
  (void)state;
  made m = {.context = api_context()};
  m.graph = vf_graph_create(m.context, "fixed", NULL);
  vf_output(m.graph, "y", vf_exp(vf_input(m.graph, "x", VF_F32, VF_LIST(2))));
  m.sized = vf_graph_create(m.context, "sized", NULL);
  vf_value n = vf_variable(m.sized, "n", 1, 8, 1);
  vf_output(m.sized, "y", vf_exp(vf_input_sized(m.sized, "x", VF_F32, 1, &n)));
  m.program = api_compile(m.graph), m.of_size = api_compile(m.sized);
  m.mesh = vf_mesh_create(m.context, "x=2", NULL);
  vf_graph_set_mesh(vf_session(m.context, NULL), m.mesh, NULL);
  m.tensor = vf_tensor_create(m.context, VF_F32, VF_LIST(2), in, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vf_error error = {0};
    cases[i].call(&m, &error);
    assert_string_equal(error.message, cases[i].message);
    assert_int_equal(error.status, VF_ERR_INVALID);
  }
  vf_tensor_release(m.tensor);
  vf_mesh_destroy(m.mesh);
  vf_graph_destroy(m.sized);
  vf_graph_destroy(m.graph);
}

/* Lists of builders: the graph says which, where another list or value tells the graph; without any, the
 * results are error values. */

static void refused(const made *m, vf_value result, const char *message) {
  assert_false(vf_ok(result));
  api_check_reason(vf_graph_message(m->graph), message);
  vf_graph_clear_error(m->graph);
}

static void same(void *user, const vf_value *x, vf_value *y) {
  (void)user;
  y[0] = x[0];
}

static void test_lists(void **state) {
  (void)state;
  made m = {.context = api_context()};
  m.graph = vf_graph_create(m.context, "lists", NULL);
  vf_value x = vf_input(m.graph, "x", VF_F32, VF_LIST(2)), rate = vf_number(m.graph, 0.5), w = x, y = x;
  vf_sgd(1, &w, NULL, NULL, rate, 0);
  refused(&m, w, "sgd: the list of gradients is NULL");
  vf_sgd(1, NULL, &x, NULL, rate, 0);
  refused(&m, (vf_value){0}, "sgd: the list of weights is NULL");
  w = x;
  vf_sgd(-1, &w, &x, NULL, rate, 0);
  refused(&m, (vf_value){0}, "sgd: there are -1 weights");
  assert_true(vf_ok(w));
  vf_sgd(0, NULL, NULL, NULL, rate, 0);
  assert_int_equal(vf_graph_status(m.graph), VF_OK);
  vf_adam(1, &w, &x, NULL, &y, rate, rate, NULL);
  refused(&m, w, "adam: the list of means is NULL");
  w = x;
  vf_adam(1, &w, &x, &y, NULL, rate, rate, NULL);
  refused(&m, w, "adam: the list of squares is NULL");
  int64_t axes[VF_MOST_AXES];
  assert_ptr_equal(vf_axes_by(x, NULL, axes), axes);
  refused(&m, (vf_value){0}, "axes_by: the letters are NULL");
  assert_int_equal(vf_letter_count(NULL), 0);
  vf_while_loop(same, same, NULL, 1, NULL, 3, &y);
  assert_false(vf_ok(y));
  y = x;
  vf_checkpoint(same, NULL, 1, NULL, 1, &y);
  assert_false(vf_ok(y));
  vf_value words[2] = {x, x};
  vf_threefry2x32(NULL, (vf_value[]){x, x}, words);
  assert_false(vf_ok(words[0]) || vf_ok(words[1]));
  assert_int_equal(vf_graph_status(m.graph), VF_OK);
  vf_graph_destroy(m.graph);
}

UNIT_TESTS(test_messages, test_lists)
