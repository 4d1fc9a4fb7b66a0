/* Meshes and specs: the worked numbers of the specification, text that reads back, refusals, and parts
 * against an enumeration of all elements. */
#include "ir/mesh/spec.h"
#include "test/lib/random_graph.h"
#include "test/lib/unit.h"

#include <math.h>

static ir_error error;

static ir_mesh mesh_of(const char *text) {
  ir_mesh m;
  ir_error_clear(&error);
  ir_mesh_init(&m, &ir_mem_libc);
  if (!ir_mesh_parse(&m, text, strlen(text), &error)) fail_msg("%s", error.text);
  return m;
}
static ir_spec spec_of(const ir_mesh *m, const char *text) {
  ir_spec s;
  ir_error_clear(&error);
  if (!ir_spec_parse(m, text, strlen(text), &s, &error)) fail_msg("%s: %s", text, error.text);
  return s;
}
static ir_subaxis sub_of(const ir_mesh *m, const char *text) {
  ir_lexer lx;
  ir_subaxis s;
  ir_error_clear(&error);
  ir_lex_start(&lx, &error, "s", text, strlen(text));
  if (!ir_subaxis_read(&lx, m, &s)) fail_msg("%s", error.text);
  return s;
}

/* spec: M1 M2 */
static void test_coordinates(void **state) {
  (void)state;
  ir_mesh m = mesh_of("x=2,y=4");
  assert_int_equal(m.device_count, 8);
  assert_int_equal(ir_mesh_coordinate(&m, 6, 0), 1);
  assert_int_equal(ir_mesh_coordinate(&m, 6, 1), 2);
  ir_mesh_device two[2] = {{"cpu", 0}, {"opencl:1", 1}};
  assert_false(ir_mesh_place(&m, two, 2, &error));
  assert_string_equal(error.text, "a mesh requires 8 devices, the product of its axes, but got 2");
  ir_mesh same = mesh_of("x2,y4"), other = mesh_of("y=4,x=2");
  assert_true(ir_mesh_equal(&m, &same));
  assert_false(ir_mesh_equal(&m, &other));
}

/* spec: M3 M4 */
static void test_subaxes(void **state) {
  (void)state;
  ir_mesh m = mesh_of("x=8");
  static const int major[] = {0, 0, 0, 0, 1, 1, 1, 1}, minor[] = {0, 1, 2, 3, 0, 1, 2, 3};
  for (int d = 0; d < 8; d++) {
    assert_int_equal(ir_subaxis_coordinate(&m, d, sub_of(&m, "x:(1)2")), major[d]);
    assert_int_equal(ir_subaxis_coordinate(&m, d, sub_of(&m, "x:(2)4")), minor[d]);
  }
  assert_true(ir_subaxes_overlap(sub_of(&m, "x:(1)4"), sub_of(&m, "x:(2)4")));
  assert_false(ir_subaxes_overlap(sub_of(&m, "x:(1)2"), sub_of(&m, "x:(2)4")));
  ir_subaxis both;
  assert_true(ir_subaxes_join(sub_of(&m, "x:(1)2"), sub_of(&m, "x:(2)4"), &both));
  assert_true(ir_subaxes_equal(both, ir_whole_axis(&m, 0)));
  assert_false(ir_subaxes_join(sub_of(&m, "x:(2)4"), sub_of(&m, "x:(1)2"), &both));
  m = mesh_of("x=12");
  ir_subaxis primes[20];
  assert_int_equal(ir_subaxis_primes(ir_whole_axis(&m, 0), primes), 3);
  for (int i = 0; i < 3; i++)
    both = i ? both : primes[0], assert_true(i == 0 || ir_subaxes_join(both, primes[i], &both));
  assert_true(ir_subaxes_equal(both, ir_whole_axis(&m, 0)));
}

/* spec: M5 M6 M7 M8 M12 */
static void test_text(void **state) {
  (void)state;
  static const char *const texts[] = {
      "[]",      "[-]",     "[x,?,x1.y?]", "[x?,-]",     "[x:(1)2 p1,y]",   "[? p2,-]",    "[x?p1]",
      "[x,-]!y", "[x,-]+y", "[-]+x.y",     "[-]+max(x)", "[y]+all(x:(2)2)", "[y.x,-]!x1+z"};
  static const char *const want[] = {
      "[]",      "[-]",     "[x,?,x1.y?]", "[x?,-]",     "[x:(1)2 p1,y]",   "[? p2,-]",    "[x? p1]",
      "[x,-]!y", "[x,-]+y", "[-]+x.y",     "[-]+max(x)", "[y]+all(x:(2)2)", "[y.x,-]!x1+z"};
  ir_mesh m = mesh_of("x=4,y=2,x1=2,z=1");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ir_spec s = spec_of(&m, texts[i]);
    ir_text out;
    ir_text_init(&out, &ir_mem_libc);
    ir_spec_print(&m, &s, &out);
    assert_string_equal(ir_text_get(&out), want[i]);
    ir_spec again = spec_of(&m, ir_text_get(&out));
    assert_true(ir_spec_equal(&s, &again));
    ir_text_free(&out);
  }
}

/* spec: M1 */
static void test_mesh_text(void **state) {
  (void)state;
  static const char text[] =
      "mesh @m [x=2,y=2] devices=[\"cpu\",\"cpu\",\"opencl:1\",\"cpu@3\"] latency=[1e-06,2e-06] "
      "bandwidth=[10000000000.0,1000000000.0] memory=8000000000.0";
  ir_mesh m, copy;
  ir_lexer lx;
  ir_text out;
  ir_error_clear(&error);
  ir_mesh_init(&m, &ir_mem_libc);
  strcpy(m.name, "m");
  ir_lex_start(&lx, &error, "t", text + strlen("mesh @m "), strlen(text) - strlen("mesh @m "));
  if (!ir_mesh_read(&lx, &m)) fail_msg("%s", error.text);
  assert_true(ir_mesh_copy(&copy, &m, &ir_mem_libc));
  assert_true(ir_mesh_equal(&m, &copy));
  ir_text_init(&out, &ir_mem_libc);
  ir_mesh_print(&copy, &out);
  assert_string_equal(ir_text_get(&out), text);
  ir_text_free(&out);
  ir_mesh_free(&m), ir_mesh_free(&copy);
}

/* Weights stand in place of a size: what they have in common is gone, and so are they where all are equal. */
static void test_weights_text(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"x=3:1", "x=3:1"},
                                        {"x=6:2,y=2", "x=3:1,y=2"},
                                        {"x=5:5", "x=2"},
                                        {"[y=2,x=1:2:4]", "y=2,x=1:2:4"},
                                        {"x=2:0004:2", "x=1:2:1"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_mesh m = mesh_of(rows[i][0]), copy;
    strcpy(m.name, "m");
    assert_true(ir_mesh_copy(&copy, &m, &ir_mem_libc));
    ir_text out;
    ir_text_init(&out, &ir_mem_libc);
    ir_mesh_print(&copy, &out);
    char want[64];
    snprintf(want, sizeof want, "mesh @m [%s]", rows[i][1]);
    assert_string_equal(ir_text_get(&out), want);
    ir_mesh again = mesh_of(ir_text_get(&out) + strlen("mesh @m "));
    assert_true(ir_mesh_equal(&again, &m));
    ir_text_free(&out);
    ir_mesh_free(&m), ir_mesh_free(&copy), ir_mesh_free(&again);
  }
  ir_mesh a = mesh_of("x=3:1"), b = mesh_of("x=1:3"), c = mesh_of("x=2");
  assert_false(ir_mesh_equal(&a, &b) || ir_mesh_equal(&a, &c) || ir_mesh_equal(&c, &a));
  ir_subaxis primes[20];
  ir_mesh d = mesh_of("x=1:1:1:3");
  assert_int_equal(ir_subaxis_primes(ir_whole_axis(&d, 0), primes), 1); /* has no digits */
  ir_mesh_free(&a), ir_mesh_free(&b), ir_mesh_free(&d);
}

/* Each is refused, with these words. spec: M3 M4 M5 M6 */
static void test_refusals(void **state) {
  (void)state;
  static const char *const meshes[][2] = {
      {"x=0", "sizes are at least 1"},
      {"x=2,x=3", "the mesh has an axis of that name"},
      {"x", "missing size of an axis"},
      {"a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2,i=2", "at most 8 axes"},
      {"a=1024,b=1024,c=2", "at most 1048576 devices"},
      {"x=2;", "unexpected character"},
      {"x=3:0", "axis x of a mesh: weights are at least 1"},
      {"x=3:", "missing weight of a device, found the end of the text, expected a number"},
      {"x=3:1,x=2", "the mesh has an axis of that name"},
      {"x=1000000007:1000000009",
       "the sums of the weights of all axes, multiplied, are more than 1073741824"},
      {"x=536870912:1,y=2", "the sums of the weights of all axes, multiplied, are more than 1073741824"},
  };
  static const char *const specs[][2] = {
      {"[z]", "no axis of the mesh, found 'z', expected one of x y"},
      {"[x,x]", "sharding: x and x overlap: an axis stands once in all of a spec"},
      {"[x]+x", "overlap"},
      {"[x]!x", "overlap"},
      {"[x:(1)4,x:(2)4]", "sharding: x:(1)4 and x:(2)4 overlap"},
      {"[x:(3)2]", "no sub-axis of a mesh, found x:(3)2, expected (m)k whose product divides x=8"},
      {"[x:2]", "wrong sub-axis of a mesh, found '2', expected x:(m)k, as in x:(1)2: part 2 of x, behind m"},
      {"[- p1]", "dimension 0 has priority 1, but it is closed and has no axis"},
      {"[x p1000]", "p0 to p999"},
      {"[x", "missing ',' or ']' of a spec"},
      {"[]+min(x", "missing end of the axes of a pending reduction"},
      {"[,]", "a dimension has axes of the mesh, '-' or '?'"},
      {"[-] x", "more behind a spec"},
      {"[-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-]", "too many dimensions"},
  };
  ir_mesh m;
  ir_spec s;
  for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
    ir_error_clear(&error);
    ir_mesh_init(&m, &ir_mem_libc);
    assert_false(ir_mesh_parse(&m, meshes[i][0], strlen(meshes[i][0]), &error));
    if (!strstr(error.text, meshes[i][1])) fail_msg("%s: '%s'", meshes[i][0], error.text);
    ir_mesh_free(&m);
  }
  m = mesh_of("x=1:1:1:3");
  ir_error_clear(&error);
  assert_false(ir_spec_parse(&m, "[x:(1)2]", strlen("[x:(1)2]"), &s, &error));
  assert_non_null(
      strstr(error.text, "no sub-axis of a mesh, found x:(1)2, expected x as a whole, since it has weights"));
  ir_mesh_free(&m);
  m = mesh_of("x=8,y=2");
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    ir_error_clear(&error);
    assert_false(ir_spec_parse(&m, specs[i][0], strlen(specs[i][0]), &s, &error));
    if (!strstr(error.text, specs[i][1])) fail_msg("%s: '%s'", specs[i][0], error.text);
  }
}

/* spec: M9 M10 */
static void test_parts(void **state) {
  (void)state;
  static const struct {
    const char *mesh, *spec;
    int64_t shape[2], sizes[8][2];
  } rows[] = {
      {"x=4", "[x]", {10}, {{3}, {3}, {3}, {1}}},
      {"x=4", "[x]", {5}, {{2}, {2}, {1}, {0}}},
      {"x=4", "[x]", {3}, {{1}, {1}, {1}, {0}}},
      {"x=2,y=4", "[x,y]", {8, 6}, {{4, 2}, {4, 2}, {4, 2}, {4, 0}, {4, 2}, {4, 2}, {4, 2}, {4, 0}}},
      {"x=2,y=2", "[y.x]", {4}, {{1}, {1}, {1}, {1}}},
      {"x=4", "[x]", {0}, {{0}, {0}, {0}, {0}}},
      {"x=3:1", "[x]", {8}, {{6}, {2}}},
      {"x=3:1", "[x]", {10}, {{8}, {2}}}, /* 7.5, upwards */
      {"x=3:1", "[x]", {1}, {{1}, {0}}},
      {"x=1:3", "[x]", {1}, {{0}, {1}}},
      {"x=1:2:4", "[x]", {9}, {{1}, {3}, {5}}},           /* ends at 9/7, 27/7 */
      {"x=3:1,y=2", "[x.y]", {10}, {{4}, {4}, {1}, {1}}}, /* ends at 3.75, 7.5, 8.75 */
      {"x=3:1,y=2", "[y.x]", {9}, {{3}, {3}, {2}, {1}}},  /* y=0: 3.375 and 4.5; y=1: 7.875 and 9 */
      {"x=3:1,y=2", "[x,y]", {4, 5}, {{3, 3}, {3, 2}, {1, 3}, {1, 2}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_mesh m = mesh_of(rows[i].mesh);
    ir_spec s = spec_of(&m, rows[i].spec);
    int64_t locals[8][2] = {{0}};
    for (uint32_t d = 0; d < m.device_count; d++) {
      ir_box box;
      ir_spec_box(&m, &s, rows[i].shape, d, &box);
      for (uint32_t k = 0; k < s.rank; k++)
        assert_int_equal(locals[d][k] = box.hi[k] - box.lo[k], rows[i].sizes[d][k]);
    }
    for (uint32_t k = 0; k < s.rank; k++)
      assert_int_equal(ir_spec_global_size(&m, &s, k, &locals[0][k], 2), rows[i].shape[k]);
    ir_mesh_free(&m);
  }
  ir_mesh m = mesh_of("x=4");
  ir_spec s = spec_of(&m, "[x]");
  assert_int_equal(ir_spec_global_size(&m, &s, 0, (int64_t[]){3, 2, 3, 1}, 1), -1);
}

/* The boxes of the devices hold each element once for each group of replicas, in the order of the axes: what
 * `[y.x]` gives to a device is the part with that number. */
static void test_boxes_cover(void **state) {
  (void)state;
  static const char *const meshes[] = {"x=2",   "x=3",     "x=2,y=3",   "x=2,y=2,z=2", "x=4,y=1",
                                       "x=3:1", "x=1:5:1", "x=2:1,y=3", "x=2:1,y=1:4", "y=2,x=7:1"};
  uint64_t seed = 5;
  long boxes = 0;
  for (int i = 0; i < 2000; i++) {
    ir_mesh m = mesh_of(meshes[random_next(&seed) % 10]);
    ir_spec s;
    ir_spec_init(&s, 2);
    for (uint32_t a = 0; a < m.axis_count; a++) {
      uint32_t place = (uint32_t)(random_next(&seed) % 3);
      if (place < 2) assert_true(ir_spec_add(&s, place, ir_whole_axis(&m, a)));
    }
    int64_t shape[2] = {(int64_t)(random_next(&seed) % 9), (int64_t)(random_next(&seed) % 9)};
    int count[8][8] = {{0}};
    for (uint32_t d = 0; d < m.device_count; d++, boxes++) {
      ir_box box, meet;
      ir_spec_box(&m, &s, shape, d, &box);
      for (int64_t r = box.lo[0]; r < box.hi[0]; r++)
        for (int64_t c = box.lo[1]; c < box.hi[1]; c++) count[r][c]++;
      assert_int_equal(ir_box_meet(&box, &box, &meet), ir_box_elements(&box) > 0);
    }
    int64_t replicas = m.device_count / (ir_spec_parts(&s, 0) * ir_spec_parts(&s, 1));
    for (int64_t r = 0; r < shape[0]; r++)
      for (int64_t c = 0; c < shape[1]; c++) assert_int_equal(count[r][c], replicas);
    ir_mesh_free(&m);
  }
  assert_true(boxes > 8000);
}

/* A part of weights differs from its share by less than one, whatever the size, and those of [x.y] are within
 * those of [x]. */
static void test_shares(void **state) {
  (void)state;
  static const int64_t x[] = {3, 1, 2}, most = INT64_MAX / 2;
  ir_mesh m = mesh_of("x=3:1:2,y=4");
  ir_spec outer = spec_of(&m, "[x]"), both = spec_of(&m, "[x.y]");
  for (int i = 0; i < 400; i++) {
    int64_t size = i < 300 ? i : most - i, before = 0;
    for (int64_t d = 0; d < 12; d++) {
      ir_box a, b;
      ir_spec_box(&m, &outer, &size, d, &a), ir_spec_box(&m, &both, &size, d, &b);
      assert_true(a.lo[0] <= b.lo[0] && b.lo[0] <= b.hi[0] && b.hi[0] <= a.hi[0]);
      assert_true(b.lo[0] == before);
      before = b.hi[0];
      long double share = (long double)size * (long double)x[d / 4] / 6;
      assert_true(fabsl((long double)(a.hi[0] - a.lo[0]) - share) < 1);
    }
    assert_true(before == size);
    ir_shares s = ir_shares_of(&m, outer.axes, 1);
    for (int64_t d = 0; d < 12; d += 4) {
      ir_box a;
      ir_spec_box(&m, &outer, &size, d, &a);
      assert_true(ir_least_of(&s, size) <= a.hi[0] - a.lo[0] && a.hi[0] - a.lo[0] <= ir_most_of(&s, size));
    }
  }
  ir_mesh_free(&m);
}

/* spec: M11 M4 */
static void test_same(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    bool same;
  } rows[] = {
      {"[x]", "[x?]", true},          {"[x]", "[x p3]", true},      {"[x]!y", "[x]", true},
      {"[x]", "[y]", false},          {"[x]", "[x]+y", false},      {"[x,-]", "[-,x]", false},
      {"[-]+y", "[-]+max(y)", false}, {"[x.y]", "[y.x]", false},    {"[x:(1)2.x:(2)4]", "[x]", true},
      {"[x.z]", "[x]", true},         {"[-]+x.y", "[-]+y.x", true},
  };
  ir_mesh m = mesh_of("x=8,y=2,z=1");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_spec a = spec_of(&m, rows[i].a), b = spec_of(&m, rows[i].b), primes, joined;
    assert_int_equal(ir_spec_same_parts(&a, &b), rows[i].same);
    assert_true(ir_spec_to_primes(&a, &primes));
    ir_spec_canonical(&primes, &joined);
    assert_true(ir_spec_same_parts(&a, &joined) && ir_spec_same_parts(&primes, &joined));
  }
}

UNIT_TESTS(test_coordinates, test_subaxes, test_text, test_mesh_text, test_weights_text, test_refusals,
           test_parts, test_boxes_cover, test_shares, test_same)
