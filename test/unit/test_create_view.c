/* Views by index descriptors in C. test/conform/create_view.py has the cases of the specification. */
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

static void check_floats(const float *have, const float *want, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (have[i] != want[i]) fail_msg("element %zu is %g, not %g", i, have[i], want[i]);
}
#define CHECK(have, ...)                                                                                     \
  check_floats((have), (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))
#define INDICES(...)                                                                                         \
  sizeof((vf_index[]){__VA_ARGS__}) / sizeof(vf_index), (vf_index[]) { __VA_ARGS__ }

static const float counted[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* Every builder; the encoded form is what they make. spec: I1 I2 I3 I4 I5 I9 I76 */
static void test_builders(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "builders");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3, 4)), k = vf_input(g, "k", VF_I64, VF_ALL);
  vf_value d = vf_input(g, "d", VF_I64, VF_LIST(7));
  vf_index point = vf_index_point(-1), interval = vf_index_interval(1, 4, 2, true);
  assert_memory_equal(point.numbers, ((int64_t[]){0, 1, 1, -1, 1}), 5 * sizeof(int64_t));
  assert_memory_equal(interval.numbers, ((int64_t[]){1, 2, 1, 1, 4, 2, 1}), 7 * sizeof(int64_t));
  assert_int_equal(vf_index_all().numbers[0], 2);
  assert_int_equal(vf_index_new_axis().numbers[0], 3);
  vf_value known = vf_create_view(x, INDICES(point, vf_index_new_axis(), vf_index_interval(3, 0, -2, false)));
  vf_value encoded = vf_create_view(x, INDICES(vf_index_encoded(4, (int64_t[]){2, 0, 1, 0}),
                                               vf_index_encoded(5, (int64_t[]){0, 9, 9, 2, 0})));
  vf_value varies = vf_create_view(x, INDICES(vf_index_point_at(k), vf_index_window(k, 2, 1)));
  vf_value apart = vf_create_view(
      x, INDICES(vf_index_interval_at(k, vf_add(k, vf_integer(g, 2)), 1, false), vf_index_point(0)));
  vf_value given =
      vf_create_view(x, INDICES(vf_index_all(), vf_index_given(d, VF_INDEX_INTERVAL, vf_integer(g, 2))));
  int64_t shape[VF_MAX_RANK];
  assert_int_equal(vf_value_shape(known, shape), 2);
  assert_int_equal(shape[0], 1);
  assert_int_equal(shape[1], 2);
  vf_output(g, "known", known);
  vf_output(g, "encoded", encoded);
  vf_output(g, "varies", varies);
  vf_output(g, "apart", apart);
  vf_output(g, "given", given);
  api_check_text(context, g);
  vf_program *p = api_compile(g);
  for (int compiled = 0; compiled < 2; compiled++) {
    float a[2], b[3], c[2], e[2], f[6];
    int64_t one = 1, numbers[7] = {1, 2, 1, -1, -3, -2, 1};
    const void *inputs[] = {counted, &one, numbers};
    void *outputs[] = {a, b, c, e, f};
    if (compiled) api_run(p, inputs, outputs, NULL);
    else api_evaluate(g, inputs, outputs, NULL);
    CHECK(a, 11, 9);
    CHECK(b, 2, 6, 10);
    CHECK(c, 5, 6);
    CHECK(e, 4, 8);
    CHECK(f, 3, 1, 7, 5, 11, 9);
  }
}

/* Views of views of a reference, permuted between, reach its memory; a read before a write keeps what it was.
 * spec: I20 I27 I28 I75 */
static void test_references(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "views");
  vf_ref a = vf_ref_input(g, "a", VF_F32, VF_LIST(3, 4));
  vf_value k = vf_input(g, "k", VF_I64, VF_ALL);
  vf_ref rows = vf_ref_create_view(a, INDICES(vf_index_window(k, 2, 1)));
  vf_ref columns = vf_ref_view(rows, vf_permute(rows.target, VF_LIST(1, 0)));
  vf_ref last = vf_ref_create_view(columns, INDICES(vf_index_point(-1)));
  vf_output(g, "old", vf_ref_get(last));
  assert_true(vf_ok(vf_ref_update(last, vf_number(g, 10), VF_WRITE_MUL)));
  vf_output(g, "row", vf_ref_get(vf_ref_create_view(a, INDICES(vf_index_point_at(k)))));
  api_check_text(context, g);
  vf_program *p = api_compile(g);
  for (int compiled = 0; compiled < 2; compiled++) {
    float memory[12], old[2], row[4];
    int64_t at = 1;
    memcpy(memory, counted, sizeof memory);
    const void *inputs[] = {memory, &at};
    void *outputs[] = {old, row};
    if (compiled) api_run(p, inputs, outputs, NULL);
    else api_evaluate(g, inputs, outputs, NULL);
    CHECK(old, 7, 11);
    CHECK(row, 4, 5, 6, 70);
    CHECK(memory, 0, 1, 2, 3, 4, 5, 6, 70, 8, 9, 10, 110);
  }
}

/* Where views overlap, their gradients add up. spec: I30 I61 I77 */
static void test_gradients(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "gradients");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3, 4)), k = vf_input(g, "k", VF_I64, VF_ALL), dx, d2;
  vf_value left = vf_create_view(x, INDICES(vf_index_all(), vf_index_window(k, 3, 1)));
  vf_value right = vf_create_view(x, INDICES(vf_index_point_at(k), vf_index_interval(1, 4, 1, false)));
  vf_value sum = vf_sum(vf_mul(left, right), VF_ALL, false);
  vf_grad(sum, 1, &x, &dx);
  vf_grad(vf_sum(vf_mul(dx, dx), VF_ALL, false), 1, &x, &d2);
  vf_output(g, "dx", dx);
  vf_output(g, "d2", d2);
  vf_program *p = api_compile(g);
  float have[2][12], want[2][12] = {{0}};
  int64_t at = 1;
  /* dx = right in each row of columns 1..3, and in row 1 the sum of the columns of left; then the derivative
   * of the sum of squares: twice dx through the same */
  for (int r = 0; r < 3; r++)
    for (int c = 1; c < 4; c++) want[0][4 * r + c] += counted[4 + c], want[0][4 + c] += counted[4 * r + c];
  for (int r = 0; r < 3; r++)
    for (int c = 1; c < 4; c++)
      want[1][4 + c] += 2 * want[0][4 * r + c], want[1][4 * r + c] += 2 * want[0][4 + c];
  api_run(p, (const void *[]){counted, &at}, (void *[]){have[0], have[1]}, NULL);
  check_floats(have[0], want[0], 12);
  check_floats(have[1], want[1], 12);
}

/* Under vmap each element of the batch has a position of its own. */
static void at_position(void *user, const vf_value *arguments, vf_value *results) {
  (void)user;
  vf_index window = vf_index_window(arguments[1], 2, 1);
  vf_value row = vf_create_view(arguments[0], INDICES(window));
  results[0] = vf_assign(arguments[0], vf_create_view(vf_address(arguments[0]), INDICES(window)),
                         vf_mul(row, vf_number(arguments[0].graph, 10)), VF_WRITE_ADD);
}
static void test_vmap(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "batch");
  vf_value in[] = {vf_input(g, "x", VF_F32, VF_LIST(3, 4)), vf_input(g, "k", VF_I64, VF_LIST(3))}, out;
  int axes[] = {0, 0}, axis = 0;
  vf_map map = {sizeof map, 2, 1, axes, &axis, -1, NULL};
  assert_true(vf_vmap(g, &map, at_position, NULL, in, &out));
  vf_output(g, "y", out);
  vf_program *p = api_compile(g);
  for (int compiled = 0; compiled < 2; compiled++) {
    float y[12];
    int64_t at[3] = {0, 2, -3};
    const void *inputs[] = {counted, at};
    if (compiled) api_run(p, inputs, (void *[]){y}, NULL);
    else api_evaluate(g, inputs, (void *[]){y}, NULL);
    CHECK(y, 0, 11, 2, 3, 4, 5, 66, 77, 8, 99, 110, 11);
  }
}

/* A position out of range fails the run before anything is stored through the view. spec: I9 I74 */
static void test_nothing_is_stored(void **state) {
  (void)state;
  static const struct {
    int64_t at;
    const char *message;
  } wrong[] = {
      {3, "graph @checked: create_view %a, i64[]: descriptor 0 is an interval of 2 elements from 3 on, which "
          "leaves axis 0, of 4 elements"},
      {-1, "from -1 on"},
      {-5, "from -5 on"},
      {INT64_MAX, "from 288230376151711744 on"},
      {INT64_MIN, "from -288230376151711744 on"},
  };
  vf_context *context = api_context();
  vf_graph *g = api_graph(context, "checked");
  vf_ref a = vf_ref_input(g, "a", VF_F32, VF_LIST(4, 3));
  vf_value k = vf_input(g, "k", VF_I64, VF_ALL);
  vf_ref rows = vf_ref_create_view(a, INDICES(vf_index_window(k, 2, 1)));
  vf_ref_update(rows, vf_number(g, 1), VF_WRITE_ADD);
  vf_output(g, "y", vf_ref_get(rows));
  vf_program *p = api_compile(g);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    float memory[12], y[6];
    vf_error error;
    memcpy(memory, counted, sizeof memory);
    assert_int_equal(vf_program_run(p, (const void *[]){memory, &wrong[i].at}, (void *[]){y}, NULL, &error),
                     VF_ERR_RANGE);
    if (i) assert_non_null(strstr(error.message, wrong[i].message));
    check_floats(memory, counted, 12);
  }
}

typedef struct refused_case {
  const char *message;
  vf_value (*record)(vf_graph *g, vf_value x);
} refused_case;

#define VIEW(...)                                                                                            \
  (void)g;                                                                                                   \
  return vf_create_view(x, INDICES(__VA_ARGS__))
static vf_value of_no_kind(vf_graph *g, vf_value x) { VIEW(vf_index_encoded(4, (int64_t[]){4, 0, 1, 1})); }
static vf_value too_short(vf_graph *g, vf_value x) {
  VIEW(vf_index_all(), vf_index_encoded(6, (int64_t[]){1, 2, 1, 0, 1, 1}));
}
static vf_value too_long(vf_graph *g, vf_value x) { VIEW(vf_index_encoded(8, (int64_t[8]){0})); }
static vf_value too_many(vf_graph *g, vf_value x) { VIEW(vf_index_all(), vf_index_all(), vf_index_all()); }
static vf_value outside(vf_graph *g, vf_value x) { VIEW(vf_index_all(), vf_index_point(4)); }
static vf_value no_stride(vf_graph *g, vf_value x) { VIEW(vf_index_interval(0, 2, 0, false)); }
static vf_value leaving(vf_graph *g, vf_value x) { VIEW(vf_index_interval(1, 3, 1, true)); }
static vf_value not_given(vf_graph *g, vf_value x) { VIEW(vf_index_point_at((vf_value){0})); }
static vf_value of_a_float(vf_graph *g, vf_value x) { VIEW(vf_index_point_at(vf_number(g, 1))); }
static vf_value unknown_kind(vf_graph *g, vf_value x) {
  VIEW(vf_index_given(vf_input(g, "d", VF_I64, VF_LIST(7)), (vf_index_kind)-1, (vf_value){0}));
}
static vf_value unknown_length(vf_graph *g, vf_value x) {
  VIEW(vf_index_given(vf_input(g, "d", VF_I64, VF_LIST(7)), VF_INDEX_INTERVAL, (vf_value){0}));
}
static vf_value long_window(vf_graph *g, vf_value x) {
  VIEW(vf_index_window(vf_input(g, "k", VF_I64, VF_ALL), 4, 1));
}
static vf_value no_window(vf_graph *g, vf_value x) {
  VIEW(vf_index_window(vf_input(g, "k", VF_I64, VF_ALL), 0, 1));
}
static vf_value no_list(vf_graph *g, vf_value x) {
  (void)g;
  return vf_create_view(x, 2, NULL);
}

/* spec: I7 I25 I72 I78 */
static const refused_case refused[] = {
    {"create_view: descriptor 0 has the kind 4; kinds are 0 (point), 1 (interval), 2 (all) and 3 (new axis)",
     of_no_kind},
    {"create_view: descriptor 1 (interval) has 6 numbers; takes 7", too_short},
    {"create_view: descriptor 0 has 8 numbers; takes 4 to 7", too_long},
    {"create_view: 3 descriptors take an axis each; x has shape f32[3,4], with 2", too_many},
    {"create_view: descriptor 1: point 4 is out of range of axis 1; x has shape f32[3,4]; takes -4 <= "
     "position "
     "< 4",
     outside},
    {"create_view: descriptor 0: the stride of an interval is 0; takes a step other than 0", no_stride},
    {"create_view: descriptor 0: interval 1 to 3 inclusive by 1 names 3 elements, of which some are out of "
     "range of axis 0; x has shape f32[3,4]; positions are -3 to 2",
     leaving},
    {"create_view: descriptor 0 is no value; a value is what a builder returned, one that was given operands "
     "of a graph",
     not_given},
    {"index_point: the position has shape f32[]; takes a scalar of an integer dtype that i64 holds",
     of_a_float},
    {"create_view: the kind of descriptor 0, of shape i64[7], is not known when recorded; numbers of a "
     "descriptor may vary, its kind may not: declare it (kinds=[1] in text graphs, vf_index_given in C)",
     unknown_kind},
    {"create_view: the number of elements of descriptor 0, an interval whose numbers vary, is not known when "
     "recorded; take start and end a known distance apart, or declare its length (lengths=[4] in text "
     "graphs, vf_index_given in C)",
     unknown_length},
    {"create_view: descriptor 0: an interval of 4 elements with stride 1 does not fit axis 0; x has shape "
     "f32[3,4]",
     long_window},
    {"index_window: -1 elements with stride 1; takes 1 element or more, and a stride other than 0",
     no_window},
    {"create_view: 2 descriptors given as NULL; takes a list of at most 32", no_list},
};

static void test_refused(void **state) {
  (void)state;
  vf_context *context = api_context();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    vf_graph *g = api_graph(context, "refused");
    vf_value made = refused[i].record(g, vf_input(g, "x", VF_F32, VF_LIST(3, 4)));
    assert_false(vf_ok(made));
    size_t length = strlen(refused[i].message);
    if (strncmp(vf_graph_message(g), refused[i].message, length) ||
        (vf_graph_message(g)[length] && strncmp(vf_graph_message(g) + length, " (call ", 7)))
      fail_msg("case %zu: %s", i, vf_graph_message(g));
  }
}

UNIT_TESTS(test_builders, test_references, test_gradients, test_vmap, test_nothing_is_stored, test_refused)
