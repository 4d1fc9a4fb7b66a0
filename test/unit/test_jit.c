/* Functions compiled when they are called: which calls share a program, which programs are dropped, what is
 * refused; and the keys of programs. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;
static int traces; /* calls of the functions below */

static vf_context *context(void) {
  traces = 0;
  return api_counted_context();
}

static void release_tensor(void *t) { vf_tensor_release(t); }
static void destroy_jit(void *j) { vf_jit_destroy(j); }

/* Released when the running test ends, as what make() gives. */
static vf_tensor *counting(vf_context *c, int rows, int columns) {
  float elements[64];
  for (int i = 0; i < 64; i++) elements[i] = (float)i;
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(rows, columns), elements, &error);
  assert_non_null(t);
  return unit_keep(t, release_tensor);
}

/* the sum of rows, times a static number */
static void scaled_sum(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {
  traces++;
  out[0] = vf_mul(vf_sum(in[0], VF_LIST(0), false), vf_number(g, statics[0].real));
}

static void add(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {
  traces++;
  out[0] = vf_add(in[0], in[1]);
}

static vf_jit *make(vf_context *c, vf_jit_options options) {
  options.size = sizeof options;
  vf_jit *j = vf_jit_create(c, &options, &error);
  if (!j) print_error("%s\n", error.message);
  assert_non_null(j);
  return unit_keep(j, destroy_jit);
}

static vf_jit_stats stats_of(const vf_jit *j) {
  vf_jit_stats s = {.size = sizeof s};
  assert_true(vf_jit_statistics(j, &s));
  return s;
}

/* One call of a function of one tensor and one real number; checks the first element. */
static void expect(vf_jit *j, vf_tensor *x, double scale, float first, int axis_size) {
  vf_static s = {.kind = VF_STATIC_REAL, .real = scale};
  vf_tensor *y;
  if (vf_jit_call(j, &x, &s, &y, &error) != VF_OK) print_error("%s\n", error.message);
  assert_non_null(y);
  int64_t shape[1];
  assert_int_equal(vf_tensor_shape(y, shape), 1);
  assert_int_equal(shape[0], axis_size);
  assert_true(((const float *)vf_tensor_data(y, &error))[0] == first);
  vf_tensor_release(y);
}

/* Elements are not in a key. spec: H2 H5 H6 */
static void test_signatures(void **state) {
  vf_context *c = context();
  vf_jit *j = make(c, (vf_jit_options){.function = scaled_sum, .inputs = 1, .statics = 1, .results = 1});
  vf_tensor *x = counting(c, 2, 3), *wider = counting(c, 2, 4);
  expect(j, x, 2, 2 * (0 + 3), 3);
  expect(j, x, 2, 2 * (0 + 3), 3);
  assert_int_equal(traces, 1);
  expect(j, wider, 2, 2 * (0 + 4), 4); /* another shape */
  assert_int_equal(traces, 2);
  expect(j, x, 0.5, 1.5, 3); /* another static value */
  assert_int_equal(traces, 3);
  expect(j, wider, 2, 8, 4);
  vf_jit_stats s = stats_of(j);
  assert_int_equal(s.hits, 2);
  assert_int_equal(s.misses, 3);
  assert_int_equal(s.fallbacks, 0);
  assert_int_equal(s.evictions, 0);
  assert_int_equal(s.entries, 3);
  assert_true(s.compile_ns > 0 && s.run_ns > 0);
}

/* spec: H5 H6 */
static void test_least_recently_used(void **state) {
  vf_context *c = context();
  vf_jit *j = make(
      c, (vf_jit_options){.function = scaled_sum, .inputs = 1, .statics = 1, .results = 1, .capacity = 2});
  vf_tensor *x = counting(c, 2, 3);
  expect(j, x, 1, 3, 3);
  expect(j, x, 2, 6, 3);
  expect(j, x, 1, 3, 3); /* now 2 is the least recently used */
  expect(j, x, 3, 9, 3);
  assert_int_equal(traces, 3);
  expect(j, x, 1, 3, 3);
  assert_int_equal(traces, 3);
  expect(j, x, 2, 6, 3);
  assert_int_equal(traces, 4);
  vf_jit_stats s = stats_of(j);
  assert_int_equal(s.evictions, 2);
  assert_int_equal(s.entries, 2);
}

/* spec: H5 */
static void test_sixty_four_are_kept(void **state) {
  vf_context *c = context();
  vf_jit *j = make(c, (vf_jit_options){.function = scaled_sum, .inputs = 1, .statics = 1, .results = 1});
  vf_tensor *x = counting(c, 2, 1);
  for (int i = 0; i < 65; i++) expect(j, x, i, (float)i, 1);
  vf_jit_stats s = stats_of(j);
  assert_int_equal(s.entries, 64);
  assert_int_equal(s.evictions, 1);
}

static void test_dynamic(void **state) {
  vf_context *c = context();
  vf_dynamic rows = {.input = 0, .axis = 0, .name = "n", .lo = 2, .hi = 8, .divisor = 2};
  vf_jit *j = make(c, (vf_jit_options){.function = scaled_sum,
                                       .inputs = 1,
                                       .statics = 1,
                                       .results = 1,
                                       .dynamic_count = 1,
                                       .dynamic = &rows});
  for (int n = 2; n <= 8; n += 2) { /* the first column: 0, 3, 6, ... */
    vf_tensor *x = counting(c, n, 3);
    expect(j, x, 1, (float)(3 * n * (n - 1) / 2), 3);
  }
  assert_int_equal(traces, 1);
  assert_int_equal(stats_of(j).hits, 3);
  int outside[] = {3, 10, 3}; /* no multiple of 2, too large, the first column again */
  for (int i = 0; i < 3; i++) {
    vf_tensor *x = counting(c, outside[i], 3);
    expect(j, x, 1, (float)(3 * outside[i] * (outside[i] - 1) / 2), 3);
  }
  assert_int_equal(traces, 3);
  assert_int_equal(stats_of(j).fallbacks, 2);
  assert_int_equal(stats_of(j).hits, 4);
}

static void test_one_name_one_size(void **state) {
  vf_context *c = context();
  vf_dynamic rows[2] = {{.input = 0, .axis = 0, .name = "n", .lo = 1, .hi = 8},
                        {.input = 1, .axis = 0, .name = "n", .lo = 1, .hi = 8}};
  vf_jit *j = make(
      c, (vf_jit_options){
             .name = "sum", .function = add, .inputs = 2, .results = 1, .dynamic_count = 2, .dynamic = rows});
  vf_tensor *in[2] = {counting(c, 4, 2), counting(c, 3, 2)}, *y;
  assert_int_equal(vf_jit_call(j, in, NULL, &y, &error), VF_ERR_INVALID);
  assert_null(y);
  assert_string_equal(error.message,
                      "jit @sum: n is 4, and 3 along axis 0 of input 1; axes of one name must have one size");
  vf_tensor *same[2] = {in[0], in[0]};
  assert_int_equal(vf_jit_call(j, same, NULL, &y, &error), VF_OK);
  assert_true(((const float *)vf_tensor_data(y, &error))[5] == 10);
  vf_tensor_release(y);
}

static void nothing(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {}
static void wrong(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {
  out[0] = vf_add(in[0], vf_zeros(g, VF_F32, VF_LIST(7)));
}
static void traces_itself(void *user, vf_graph *g, const vf_value *in, const vf_static *statics,
                          vf_value *out) {
  vf_tensor **mine = user, *y;
  vf_error inner = {0};
  vf_jit_call(*(vf_jit **)mine[1], mine, NULL, &y, &inner);
  assert_int_equal(inner.status, VF_ERR_INVALID);
  assert_non_null(strstr(inner.message, "called while it traces"));
  out[0] = in[0];
}

/* A function that declares an input, an output or a variable, which a call cannot supply. */
static void declares(void *user, vf_graph *g, const vf_value *in, const vf_static *statics, vf_value *out) {
  const char *what = user;
  vf_value n;
  out[0] = vf_neg(in[0]);
  if (strcmp(what, "input") == 0) out[0] = vf_add(out[0], vf_input(g, "more", VF_F32, VF_LIST(2, 3)));
  if (strcmp(what, "output") == 0) vf_output(g, "more", out[0]);
  if (strcmp(what, "variable") == 0)
    n = vf_variable(g, "more", 1, 4, 1), out[0] = vf_full_sized(vf_number(g, 1), 1, &n);
}

static void test_declarations_refused(void **state) {
  char kinds[][12] = {"input", "output", "variable"};
  vf_context *c = context();
  vf_tensor *x = counting(c, 2, 3), *y = x;
  for (int i = 0; i < 3; i++) {
    char want[200];
    snprintf(
        want, sizeof want,
        "jit @f: the function declares %s more; a call has the inputs and results of the options, and the "
        "variables of dynamic axes",
        kinds[i]);
    vf_jit *j = make(
        c, (vf_jit_options){.name = "f", .function = declares, .user = kinds[i], .inputs = 1, .results = 1});
    assert_int_equal(vf_jit_call(j, &x, NULL, &y, &error), VF_ERR_INVALID);
    assert_null(y);
    assert_string_equal(error.message, want);
  }
}

static void test_errors(void **state) {
  vf_context *c = context();
  vf_tensor *x = counting(c, 2, 3), *y = x;
  vf_jit *j = make(c, (vf_jit_options){.name = "f", .function = nothing, .inputs = 1, .results = 1});
  assert_int_equal(vf_jit_call(j, &x, NULL, &y, &error), VF_ERR_INVALID);
  assert_null(y);
  assert_string_equal(error.message, "jit @f: the function did not give its result 0");
  assert_int_equal(vf_jit_call(j, NULL, NULL, &y, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "jit @f: the list of inputs is NULL");
  vf_tensor *none = NULL;
  assert_int_equal(vf_jit_call(j, &none, NULL, &y, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "jit @f: input 0 is NULL");
  j = make(c, (vf_jit_options){.function = wrong, .inputs = 1, .results = 1});
  assert_int_equal(vf_jit_call(j, &x, NULL, &y, &error), VF_ERR_INVALID);
  api_check_reason(error.message, "add: shapes f32[2,3] and f32[7] do not broadcast: size 3 meets 7 at "
                                  "axis -1; sizes must be equal or 1");
  assert_int_equal(stats_of(j).entries, 0);
  vf_tensor *mine[2] = {x, NULL};
  j = make(c, (vf_jit_options){.function = traces_itself, .user = mine, .inputs = 1, .results = 1});
  mine[1] = (vf_tensor *)&j;
  assert_int_equal(vf_jit_call(j, &x, NULL, &y, &error), VF_OK);
  vf_tensor_release(y);
  vf_dynamic uneven[2] = {{.input = 0, .axis = 0, .name = "n", .lo = 1, .hi = 8},
                          {.input = 0, .axis = 1, .name = "n", .lo = 1, .hi = 9}};
  vf_jit_options bad = {.size = sizeof bad,
                        .function = nothing,
                        .inputs = 1,
                        .results = 1,
                        .dynamic_count = 2,
                        .dynamic = uneven};
  assert_null(vf_jit_create(c, &bad, &error));
  assert_string_equal(
      error.message, "jit @jit: n is declared as 1..8:1 and as 1..9:1; axes of one name must have one range");
  uneven[1].input = 5;
  assert_null(vf_jit_create(c, &bad, &error));
  assert_string_equal(error.message, "jit: dynamic[1].input is 5; there are 1 inputs, which count from 0");
  uneven[0].name = NULL;
  assert_null(vf_jit_create(c, &bad, &error));
  assert_string_equal(error.message, "jit: a dynamic axis has a name and counts from 0");
  bad.dynamic_count = 0, bad.results = 0;
  assert_null(vf_jit_create(c, &bad, &error));
  assert_string_equal(error.message, "jit: results is 0; takes 1 or more");
  assert_null(vf_jit_create(NULL, &bad, &error));
}

/* Every allocation of a call may fail, with all that follow; afterwards the call can be made again. Alone,
 * some may fail unnoticed: those of statements, which only name things. */
static void test_memory_fails(void **state) {
  vf_context *c = context();
  vf_jit *j = make(c, (vf_jit_options){.function = add, .inputs = 2, .results = 1});
  vf_tensor *x = counting(c, 2, 3), *in[2] = {x, x}, *y = NULL;
  long failed = 0;
  api_memory.fail_after = true;
  for (long at = 1; !y; at++) {
    api_memory.fail_at = atomic_load(&api_memory.allocations) + at;
    vf_status status = vf_jit_call(j, in, NULL, &y, &error);
    assert_true(status == (y ? VF_OK : VF_ERR_MEMORY));
    failed += !y;
  }
  api_memory.fail_at = 0;
  api_memory.fail_after = false;
  assert_true(failed > 20);
  assert_true(((const float *)vf_tensor_data(y, &error))[5] == 10);
  vf_tensor_release(y);
}

/* keys: a program compiled for one graph serves another only where both compute the same function of the same
 * leaves */

static uint32_t compiled(vf_context *c, const char *text, int64_t *hits) {
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "t", NULL, &error);
  if (!g) print_error("%s\n", error.message);
  assert_non_null(g);
  vf_cache_stats before = {.size = sizeof before}, after = before;
  assert_true(vf_cache_statistics(c, &before));
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  assert_true(vf_cache_statistics(c, &after));
  *hits = after.memory_hits - before.memory_hits;
  assert_int_equal(after.misses - before.misses, 1 - *hits);
  vf_stats s = {.size = sizeof s};
  vf_program_stats(p, &s);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  return s.launches;
}

/* spec: H1 H2 H2.U H3 H6 */
static void test_keys(void **state) {
  static const struct {
    const char *text;
    bool hit; /* was it compiled before, under another name? */
  } rows[] = {
      {"graph @a(%x: f32[4], %y: f32[4]) {\n%r = add %x, %y\nreturn %r\n}", false},
      {"graph @b(%x: f32[4], %y: f32[4]) {\n%s = add %x, %y\nreturn %s\n}",
       true}, /* names of values are not in the key */
      {"graph @c(%x: f32[4], %y: f32[4]) {\n%r = add %x, %x\nreturn %r\n}", false}, /* another leaf */
      {"graph @d(%x: f32[5], %y: f32[5]) {\n%r = add %x, %y\nreturn %r\n}", false}, /* another shape */
      {"graph @e(%x: f64[4], %y: f64[4]) {\n%r = add %x, %y\nreturn %r\n}", false}, /* another dtype */
      {"graph @f(%x: f32[4,4]) {\n%r = sum %x axes=[0]\nreturn %r\n}", false},
      {"graph @g(%x: f32[4,4]) {\n%r = sum %x axes=[1]\nreturn %r\n}", false}, /* another attribute */
      {"graph @h(%x: f32[4,4]) {\n%r = sum %x axes=[-1]\nreturn %r\n}",
       true}, /* the same, written differently */
      {"graph @k(%x: f32[2|3]) {\n%r = sum %x\nreturn %r\n}", false},
      {"graph @l(%x: f32[3|3]) {\n%r = sum %x\nreturn %r\n}", false}, /* another batch of the same shape */
      {"graph @n(%x: f32[4]) {\n%r = neg %x\nreturn %r\n}", false},
      {"graph @o(%x: f32[4]) {\n%r = abs %x\nreturn %r\n}", false}, /* another operation */
      {"graph @p(%x: f32[3,3]) {\n%r = sub %x, 1\nreturn %r\n}", false},
      {"graph @q(%x: f32[3,3]) {\n%r = sub 1, %x\nreturn %r\n}", false}, /* another order of operands */
      {"graph @i(%x: f32[4]) {\n%a = add %x, 1\n%b = mul %x, 2\nreturn %a, %b\n}", false},
      {"graph @j(%x: f32[4]) {\n%a = add %x, 1\n%b = mul %x, 2\nreturn %b, %a\n}", false}, /* another order */
  };
  vf_context *c = context();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t hits;
    compiled(c, rows[i].text, &hits);
    if (hits != rows[i].hit) print_error("%s\n", rows[i].text);
    assert_int_equal(hits, rows[i].hit);
  }
  vf_cache_stats s = {.size = sizeof s};
  assert_true(vf_cache_statistics(c, &s));
  assert_int_equal(s.memory_hits, 2);
  assert_int_equal(s.programs, 14);
  assert_true(s.kernels > 0 && s.invalidations == 0 && s.disk_hits == 0);
}

/* The shards of f32[10,6] split in four, three of which have one shape, need two different kernels.
 *
 * spec: H5.shard */
static void test_shards_share_kernels(void **state) {
  static const char text[] = "graph @parts(%a: f32[3,6], %b: f32[3,6], %c: f32[3,6], %d: f32[1,6]) {\n"
                             "%p = exp %a\n%q = exp %b\n%r = exp %c\n%s = exp %d\nreturn %p, %q, %r, %s\n}";
  vf_context *c = context();
  vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "t", NULL, &error);
  assert_non_null(g);
  vf_program *p = vf_compile(g, &error);
  assert_non_null(p);
  vf_stats s = {.size = sizeof s};
  assert_true(vf_program_stats(p, &s));
  assert_int_equal(s.launches, 4);
  assert_int_equal(s.kernels, 2);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

UNIT_TESTS(test_signatures, test_least_recently_used, test_sixty_four_are_kept, test_dynamic,
           test_one_name_one_size, test_errors, test_declarations_refused, test_memory_fails, test_keys,
           test_shards_share_kernels)
