/* What is refused after recording, when a graph is compiled or its program runs: each message whole. Wrong
 * calls of builders are in test_builder_misuse.c. */
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

/* functions of recorded graphs, and of operations */

enum { MANY_AXES = 16 };
static void grow_and_shrink(void *user, const vf_value *in, vf_value *results) {
  (void)user;
  vf_value x = in[0];
  for (int i = 0; i < MANY_AXES; i++) x = vf_unsqueeze(x, 0);
  for (int i = 0; i < MANY_AXES; i++) x = vf_squeeze(x, VF_LIST(0));
  results[0] = x;
}
static void three_times(void *user, const vf_value *in, vf_value *results) {
  vf_scan((vf_function)(uintptr_t)user, NULL, 1, in, 0, NULL, 0, 3, false, results, NULL);
}

typedef void (*any_function)(void);
static void nothing(void) {}
static void add_op(vf_context *c, const char *name, vf_op_description d) {
  d.size = sizeof d, d.name = name, d.function = nothing;
  if (!d.operands) d.operands = 1;
  d.results = 1;
  if (vf_register_op(c, &d, &error) != VF_OK) fail_msg("%s", error.message);
}

static const vf_op_attribute number = {"number", VF_I64, false, {.i = 0}};

static void add_ops(vf_context *c) {
  char rule[1000] = "", *at = rule;
  for (int axis = 0; axis < MANY_AXES; axis++) { /* 5 factors for each axis */
    for (int k = 0; k < 5; k++) at += sprintf(at, "%s%c%c", k ? " " : "(", 'a' + axis, 'a' + k);
    at += sprintf(at, ") ");
  }
  sprintf(at, "-> 1");
  add_op(c, "small",
         (vf_op_description){
             .attributes = &number, .attribute_count = 1, .signature = "void(in0, out0, i8 number)"});
  add_op(c, "few", (vf_op_description){.signature = "void(in0, out0, i8 in0.count)"});
  add_op(c, "distribute", (vf_op_description){.signature = "void(in0, out0)", .sharding = rule});
}

/* cases: a graph as text, what it is run with, and what is said where */

static struct {
  float out[400], elements[400]; /* in this order: one case says that the latter are very many */
} memory;

typedef struct run_case {
  const char *text, *says;
  int64_t variable;
  bool meshed;
} run_case;

static const run_case cases[] = {
    {.text = "graph @g(%x: f32[2]) {\n  %y = small %x number=300\n  return %y\n}\n",
     .says = "graph @g: small: the value 300 of an attribute does not fit the i8 of its signature"},
    {.text = "graph @g(%x: f32[200]) {\n  %y = few %x\n  return %y\n}\n",
     .says = "graph @g: few: the size 200 does not fit the i8 of its signature"},
    {.text = "graph @g() {\n  %w = resource shape=[2] dtype=f32 of=\"9f3c-2400/1\"\n  %y = neg %w\n"
             "  return %y\n}\n",
     .says =
         "graph @g: this context has no constant of the digest 9f3c-2400/1; a graph that holds it must exist "
         "while this one is compiled"},
    {.text = "graph @g(n=0..6, %x: f32[8]) {\n  %i = iota dtype=i64 shape=[n] axis=0\n  %e = sum %i\n"
             "  %d = index_interval 0, %e, 1, false\n  %y = create_view %x, %d lengths=[n]\n  return %y\n}\n",
     .says = "the size n, which a run is to find out, is computed of a value whose own size is n, or another "
             "that "
             "depends on it; compute it of sizes that are known before"},
    {.text =
         "graph @g(n=1..1152921504606846976, %x: i8[n]) {\n  %b = cumsum %x axis=0\n  %c = cumsum %b axis=0\n"
         "  %d = cumsum %c axis=0\n  %e = add %b, %c\n  %f = add %d, %e\n  %s = sum %f\n  return %s\n}\n",
     .says = "graph @g: its intermediates take more bytes than memory can hold",
     .variable = (int64_t)1 << 60},
    {.text = "mesh @m [x=2]\ngraph @g(%x: f32[4] @m[-]+x) {\n  %y = neg %x\n  return %y\n}\n",
     .says = "input 0, %x is a pending reduction, of which each device has a summand, and no whole array; "
             "run on parts "
             "(vf_program_run_parts), or give it a spec without `+`",
     .meshed = true},
    {.text = "mesh @m [x=2]\ngraph @g(%x: f32[2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] "
             "@m[x,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-]) "
             "{\n  %y = distribute %x\n  return %y\n}\n",
     .says = "distribute: a sharding rule has at most 64 factors",
     .meshed = true},
};

static void check(vf_context *c, const run_case *k) {
  vf_graph *g = vf_graph_parse(c, k->text, strlen(k->text), "test", NULL, &error);
  const void *inputs[] = {memory.elements};
  void *outputs[] = {memory.out};
  vf_program *p = NULL;
  if (!g) fail_msg("%s", error.message);
  error.message[0] = 0;
  if ((p = k->meshed ? vf_compile_on(g, NULL, 0, &error) : vf_compile(g, &error)))
    vf_program_run(p, inputs, outputs, &k->variable, &error);
  if (strcmp(error.message, k->says) != 0) fail_msg("%s%s", k->text, error.message);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void test_cases(void **state) {
  (void)state;
  vf_context *c = api_context();
  add_ops(c);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(c, &cases[i]);
}

/* Functions are recorded without the axes that vmap adds to them. */
static void many_elements(void *user, const vf_value *in, vf_value *results) {
  (void)user;
  results[0] = vf_sum(vf_expand(vf_unsqueeze(in[0], 0), VF_LIST((int64_t)1 << 59)), VF_LIST(0), false);
}

static void refuse_batch(vf_function body, const char *says) {
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(16)), y;
  vf_map map = {.size = sizeof map, .arguments = 1, .results = 1, .axis_size = -1};
  vf_vmap(g, &map, three_times, (void *)(uintptr_t)body, &x, &y);
  vf_output(g, "y", y);
  assert_null(vf_compile(g, &error));
  assert_string_equal(error.message, says);
}

static void test_axes_of_batches(void **state) {
  (void)state;
  refuse_batch(
      grow_and_shrink,
      "unsqueeze: f32[16|1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] has 17 axes, those that vmap adds included; a "
      "tensor has at most 16");
  refuse_batch(many_elements,
               "expand: f32[16|576460752303423488] may have 2^63 bytes or more with the axes that vmap "
               "adds; a tensor has fewer");
}

static void test_no_compiler(void **state) {
  (void)state;
  vf_context *c = api_context_with((vf_options){.size = sizeof(vf_options),
                                                .compile_mode = VF_COMPILE_PROCESS,
                                                .compile_program = "/nowhere/viewfold-compile",
                                                .flags = VF_NO_DISK});
  vf_graph *g = api_graph(c, "g");
  vf_output(g, "y", vf_neg(vf_input(g, "x", VF_F32, VF_LIST(3))));
  assert_null(vf_compile(g, &error));
  assert_string_equal(
      error.message,
      "graph @g: compile: there is no program /nowhere/viewfold-compile, which compile_program names; name "
      "one that is "
      "there, leave it out for the one that is installed with the library, or compile in the process itself "
      "(VIEWFOLD_COMPILE=inprocess)");
}

static void test_sizes_are_no_tensors(void **state) {
  (void)state;
  vf_context *c = api_context();
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(3), NULL, &error);
  assert_null(vf_tensor_keep(vf_op_size(vf_tensor_value(t), 0), &error));
  api_check_reason(error.message,
                   "keep: the value is a size, as vf_op_size gives it, not a tensor; it stands in shapes "
                   "alone");
  vf_tensor_release(t);
}

UNIT_TESTS(test_cases, test_axes_of_batches, test_no_compiler, test_sizes_are_no_tensors)
