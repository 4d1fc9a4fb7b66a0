/* Writes and references in C. test/conform/writes.py tries random programs of them. */
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/level.h"
#include "test/lib/unit.h"

#define FOUR VF_LIST(4)

static void check_floats(const float *have, const float *want, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (have[i] != want[i]) fail_msg("element %zu is %g, not %g", i, have[i], want[i]);
}
#define CHECK(have, ...)                                                                                     \
  check_floats((have), (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* A view of a view of a reference, and the reference itself, see each other's updates; what was read before
 * stays what it was. The evaluator and a compiled program leave the same in the caller's memory. */
static void test_views_share(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "share");
  vf_ref a = vf_ref_input(g, "a", VF_F32, VF_LIST(2, 3));
  vf_ref columns = vf_ref_view(a, vf_permute(a.target, VF_LIST(1, 0)));
  vf_ref last = vf_ref_view(columns, vf_point(columns.target, 2, 0));
  vf_output(g, "old", vf_ref_get(last));
  assert_true(vf_ok(vf_ref_update(last, vf_number(g, 10), VF_WRITE_ADD)));
  vf_output(g, "row", vf_ref_get(vf_ref_view(a, vf_point(a.target, 1, 0))));
  assert_true(vf_ok(vf_ref_set(vf_ref_view(columns, vf_point(columns.target, 0, 0)), vf_ref_get(last))));
  api_check_text(context, g);
  vf_program *p = api_compile(g);
  assert_int_equal(vf_port_count(p, VF_OUTPUT), 2);
  for (int compiled = 0; compiled < 2; compiled++) {
    float memory[6] = {1, 2, 3, 4, 5, 6}, old[2], row[3];
    const void *inputs[] = {memory};
    void *outputs[] = {old, row};
    if (compiled) api_run(p, inputs, outputs, NULL);
    else api_evaluate(g, inputs, outputs, NULL);
    CHECK(old, 3, 6);
    CHECK(row, 4, 5, 16);
    CHECK(memory, 13, 2, 13, 16, 5, 16);
  }
}

/* A graph that only changes a reference has no outputs. */
static void test_no_outputs(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "count");
  vf_ref a = vf_ref_input(g, "a", VF_F32, FOUR);
  vf_ref_update(a, vf_number(g, 1), VF_WRITE_ADD);
  vf_program *p = api_compile(g);
  float memory[4] = {0};
  for (int i = 0; i < 3; i++) api_run(p, (const void *[]){memory}, NULL, NULL);
  CHECK(memory, 3, 3, 3, 3);
}

static void check_refused(const vf_program *p, const void *const *inputs, void *const *outputs,
                          const char *message) {
  vf_error error;
  assert_int_equal(vf_program_run(p, inputs, outputs, NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, message);
}

/* Nothing else may lie in the memory of a reference that is written; one that is only read is an input. */
static void test_overlaps(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "both");
  vf_ref a = vf_ref_input(g, "a", VF_F32, FOUR), b = vf_ref_input(g, "b", VF_F32, FOUR);
  vf_ref_update(a, vf_ref_get(b), VF_WRITE_ADD);
  vf_output(g, "y", vf_ref_get(a));
  vf_program *p = api_compile(g);
  float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[4];
  check_refused(p, (const void *[]){memory, memory + 3}, (void *[]){y},
                "program @both: input b overlaps the reference a in memory, which the run changes; give each "
                "memory of its own");
  check_refused(
      p, (const void *[]){memory, memory + 4}, (void *[]){memory + 1},
      "program @both: output y overlaps input a in memory; give each output memory that nothing else "
      "uses; what a run changes in place is a reference, vf_ref_input");
  CHECK(memory, 1, 2, 3, 4, 5, 6, 7, 8);
  api_run(p, (const void *[]){memory, memory + 4}, (void *[]){y}, NULL);
  CHECK(memory, 6, 8, 10, 12, 5, 6, 7, 8);
  CHECK(y, 6, 8, 10, 12);
}

typedef struct refused_case {
  const char *reason;
  vf_value (*record)(vf_graph *g, vf_ref a);
} refused_case;

static vf_value expanded(vf_graph *g, vf_ref a) {
  vf_value target = vf_expand(a.target, VF_LIST(2, 4));
  return vf_ref_set(vf_ref_view(a, target), vf_number(g, 1));
}
static vf_value of_another_graph(vf_graph *g, vf_ref a) {
  vf_ref b = {vf_address(vf_input(g, "b", VF_F32, FOUR)), 5, 0};
  (void)a;
  return vf_ref_get(b);
}
static vf_value no_operation(vf_graph *g, vf_ref a) {
  return vf_ref_update(a, vf_number(g, 1), (vf_write_op)10);
}

static vf_value nothing(vf_graph *g, vf_ref a) {
  (void)a;
  return vf_ref_get((vf_ref){{g, 0, 0}, -1, 0});
}
static vf_value target_of_values(vf_graph *g, vf_ref a) {
  (void)g;
  return vf_ref_get(vf_ref_view(a, vf_ref_get(a)));
}
static vf_value positions_of_another(vf_graph *g, vf_ref a) {
  return vf_ref_get(vf_ref_view(a, vf_address(vf_input(g, "b", VF_F32, VF_LIST(3)))));
}
static vf_value wider(vf_graph *g, vf_ref a) { return vf_ref_set(a, vf_input(g, "b", VF_F64, FOUR)); }
static vf_value longer(vf_graph *g, vf_ref a) { return vf_ref_set(a, vf_input(g, "b", VF_F32, VF_LIST(5))); }
static vf_value bits(vf_graph *g, vf_ref a) { return vf_ref_update(a, vf_number(g, 1), VF_WRITE_XOR); }
static vf_value repeated(vf_graph *g, vf_ref a) {
  vf_value two = vf_data(g, VF_I64, VF_LIST(2), (int64_t[]){1, 1});
  return vf_ref_update(vf_ref_view(a, vf_gather(a.target, two, 0, VF_GATHER_CHECK)), vf_number(g, 2),
                       VF_WRITE_MUL);
}
static vf_value outside(vf_graph *g, vf_ref a) {
  return vf_ref_set(vf_ref_view(a, vf_shrink(a.target, VF_LIST(2, 6))), vf_number(g, 2));
}
static vf_value a_size(vf_graph *g, vf_ref a) { return vf_ref_set(a, vf_variable(g, "n", 1, 9, 1)); }

static const refused_case refused[] = {
    {"ref_get: there is no such reference; a reference is what vf_ref_input, vf_ref_create or vf_ref_view "
     "returned",
     nothing},
    {"read: the target f32[4] is made by assign; a target is a chain of views of the positions of x: address "
     "%x, then views of that",
     target_of_values},
    {"read: the target counts 3 positions; x has shape f32[4], 4 elements; begin with address %x, of x "
     "itself",
     positions_of_another},
    {"ref_set: the update has shape f64[4]; the reference has shape f32[4], and keeps its dtype; cast the "
     "update to f32",
     wider},
    {"ref_set: the update has shape f32[5]; the reference has shape f32[4], of which [4] is replaced; an "
     "update "
     "broadcasts to that",
     longer},
    {"ref_update: x has shape f32[4]; op=xor takes integers or truth values", bits},
    {"ref_update: the target gathers, and may name an element of x, of shape f32[4], several times; op=mul "
     "takes "
     "a target without a gather; through one, op is set, add or sub",
     repeated},
    {"shrink: bounds [2,6] do not fit axis 0; x has shape i64[4]; takes 0 <= begin <= end <= 4", outside},
    {"ref_set: operand 3 is the index expression n, not a tensor; its value as one is the sum of ones: "
     "%o = ones shape=[n] dtype=i64; %s = sum %o",
     a_size},
    {"ref_set: the target expands [1,4] to [2,4], so that [0,0] and [1,0] of it name one element; a target "
     "names "
     "each element once: write to the view without the expand, to which a value broadcasts",
     expanded},
    {"ref_get: there is no such reference; a reference is what vf_ref_input, vf_ref_create or vf_ref_view "
     "returned",
     of_another_graph},
    {"ref_update: there is no operation 10; takes one of vf_write_op, such as VF_WRITE_ADD", no_operation},
};

static void test_refused(void **state) {
  (void)state;
  vf_context *context = api_context();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    vf_graph *g = api_graph(context, "refused");
    vf_ref a = vf_ref_input(g, "a", VF_F32, FOUR);
    vf_ref_update(a, vf_number(g, 1), VF_WRITE_ADD);
    assert_false(vf_ok(refused[i].record(g, a)));
    api_check_reason(vf_graph_message(g), refused[i].reason);
    float memory[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}; /* which nothing changes now */
    const void *inputs[] = {memory, memory + 4};
    vf_error error;
    assert_null(vf_compile(g, &error));
    assert_int_equal(vf_evaluate(g, inputs, NULL, NULL, &error), VF_ERR_INVALID);
    CHECK(memory, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }
}

/* a[1:3] = a[0:2], then the second column += u: in place, but for what the first one reads. */
static vf_graph *record(vf_context *context, vf_error *error) {
  vf_graph *g = vf_graph_create(context, "moved", error);
  vf_ref a = vf_ref_input(g, "a", VF_F32, VF_LIST(3, 2));
  vf_value u = vf_input(g, "u", VF_F32, VF_LIST(3));
  vf_value above = vf_shrink(vf_ref_get(a), VF_LIST(0, 2, 0, 2));
  vf_ref_set(vf_ref_view(a, vf_shrink(a.target, VF_LIST(1, 3, 0, 2))), above);
  vf_ref_update(vf_ref_view(a, vf_point(a.target, 1, 1)), u, VF_WRITE_ADD);
  if (!g || !vf_graph_status(g)) return g;
  error->status = vf_graph_status(g);
  vf_graph_destroy(g);
  return NULL;
}

/* Every allocation fails in turn: the call says so, the reference holds its old elements, and nothing leaks.
 */
static void test_short_memory(void **state) {
  (void)state;
  long step = level_step(7), failures = 1;
  for (long fail_at = 1; failures; fail_at += step) {
    test_memory memory = {.fail_at = fail_at};
    float a[6] = {1, 2, 3, 4, 5, 6}, u[3] = {10, 20, 30};
    vf_error error = {0};
    vf_context *context = test_memory_context(&memory);
    vf_graph *g = context ? record(context, &error) : NULL;
    vf_program *p = g ? vf_compile(g, &error) : NULL;
    vf_status status = p ? vf_program_run(p, (const void *[]){a, u}, NULL, NULL, &error) : VF_ERR_MEMORY;
    if (g && p) assert_true(status == VF_OK || status == VF_ERR_MEMORY);
    else if (context) assert_int_equal(error.status, VF_ERR_MEMORY);
    if (status == VF_OK) CHECK(a, 1, 12, 1, 22, 3, 34);
    else CHECK(a, 1, 2, 3, 4, 5, 6);
    if (status == VF_OK && g && vf_evaluate(g, (const void *[]){a, u}, NULL, NULL, &error) == VF_OK)
      CHECK(a, 1, 22, 1, 32, 1, 52);
    vf_program_destroy(p);
    vf_graph_destroy(g);
    vf_context_destroy(context);
    failures = atomic_load(&memory.allocations) >= fail_at;
    assert_int_equal(atomic_load(&memory.live), 0);
  }
}

/* A run of writes in place allocates nothing. */
static void test_allocates_nothing(void **state) {
  (void)state;
  vf_context *context = api_counted_context();
  vf_graph *g = api_parse(context, "graph @g(%a: ref f32[512,512], %u: f32[64,64]) {\n"
                                   "%p = address %a\n%s = shrink %p bounds=[[3,67],[5,69]]\n"
                                   "%a = assign %a, %s, %u op=add\nreturn\n}\n");
  vf_program *p = api_compile(g);
  static float a[512 * 512], u[64 * 64];
  for (int i = 0; i < 64 * 64; i++) u[i] = 1;
  api_run(p, (const void *[]){a, u}, NULL, NULL);
  long before = atomic_load(&api_memory.allocations);
  for (int i = 0; i < 3; i++) api_run(p, (const void *[]){a, u}, NULL, NULL);
  assert_int_equal(atomic_load(&api_memory.allocations), before);
  vf_cost cost = {.size = sizeof cost};
  assert_int_equal(vf_program_cost(p, NULL, &cost, NULL), VF_OK);
  assert_int_equal(cost.temp_bytes, 0);
  for (int i = 0; i < 512 * 512; i++) {
    bool inside = i / 512 >= 3 && i / 512 < 67 && i % 512 >= 5 && i % 512 < 69;
    if (a[i] != (inside ? 4 : 0)) fail_msg("element %d is %g", i, a[i]);
  }
}

/* Where an index is out of range, a reference is changed at those in range alone. spec: I29 */
static void test_out_of_range(void **state) {
  (void)state;
  static const struct {
    const char *update; /* of the reference a, by u = [10,20,30] at i = [1,4,-5], or of its rows */
    float want[4];
  } cases[] = {
      {"%a = scatter %a, %i, %u", {1, 10, 3, 4}},
      {"%a = scatter_add %a, %i, %u", {1, 12, 3, 4}},
      {"%a = scatter_add_along_axis %a, %i, %u axis=0", {1, 12, 3, 4}},
      {"%p = address %a\n%t = gather %p, %i axis=0\n%a = assign %a, %t, %u op=sub", {1, -8, 3, 4}},
      {"%j = mul %i, 1\n%a = scatter_add %a, %j, %u", {1, 12, 3, 4}},
  };
  vf_context *context = api_context();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[400];
    snprintf(text, sizeof text, "graph @g(%%a: ref f32[4], %%i: i32[3], %%u: f32[3]) {\n%s\nreturn\n}\n",
             cases[k].update);
    vf_program *p = api_compile(api_parse(context, text));
    float memory[6] = {7, 1, 2, 3, 4, 7}; /* one element on either side, which nothing changes */
    vf_error error;
    assert_int_equal(
        vf_program_run(p, (const void *[]){memory + 1, (int32_t[]){1, 4, -5}, (float[]){10, 20, 30}}, NULL,
                       NULL, &error),
        VF_ERR_RANGE);
    check_floats(memory + 1, cases[k].want, 4);
    assert_true(memory[0] == 7 && memory[5] == 7);
  }
}

UNIT_TESTS(test_out_of_range, test_views_share, test_no_outputs, test_overlaps, test_refused,
           test_short_memory, test_allocates_nothing)
