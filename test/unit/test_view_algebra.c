/* The algebra of views through the public API: each row is a view, an operation on it and the result.
 * Expected views are worked out by hand or checked by enumeration in the test. */
#include "frontend/viewfold.h"
#include "test/lib/api.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

#define NUMBERS(...)                                                                                         \
  (const int64_t[]) { __VA_ARGS__ }

static vf_context *context;
static vf_graph *graph;

static int start(void **state) {
  context = vf_context_create(&(vf_options){.size = sizeof(vf_options), .flags = VF_NO_DISK}, NULL);
  graph = vf_graph_create(context, "g", NULL);
  return graph ? 0 : -1;
}

static int finish(void **state) {
  vf_graph_destroy(graph);
  vf_context_destroy(context);
  return 0;
}

static void expect(vf_view v, const char *expected) {
  vf_error error;
  char *text = vf_view_text(v, &error);
  if (!text) fail_msg("%s: %s", expected, *vf_graph_message(graph) ? vf_graph_message(graph) : error.message);
  assert_string_equal(text, expected);
  vf_text_free(context, text);
}

static void expect_index(vf_view v, int count, const vf_value *at, const char *expected) {
  vf_error error;
  char *text = vf_view_index(v, count, at, &error);
  if (!text) fail_msg("%s", error.message);
  assert_string_equal(text, expected);
  vf_text_free(context, text);
}

static void expect_refused(vf_view v, const char *message) {
  assert_false(vf_view_ok(v));
  assert_int_equal(vf_graph_status(graph), VF_ERR_INVALID);
  api_check_reason(vf_graph_message(graph), message);
  vf_graph_clear_error(graph);
}

static vf_view plain(int rank, const int64_t *shape) {
  return vf_view_create(graph, rank, shape, NULL, 0, NULL);
}
static vf_view made(int rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                    const int64_t *mask) {
  return vf_view_create(graph, rank, shape, strides, offset, mask);
}

/* The buffer index of each element of a chain of known sizes, row-major; -1: none. Returns the number of
 * elements. */
static int enumerate(vf_view v, int64_t out[4096]) {
  int64_t shape[16], stride[16], offset, mask[32], count = 1;
  int last = vf_view_count(v) - 1, rank = vf_view_get(v, last, shape, NULL, NULL, NULL);
  assert_true(rank >= 0);
  for (int i = 0; i < rank; i++) count *= shape[i];
  assert_true(count <= 4096);
  for (int64_t n = 0; n < count; n++) {
    int64_t place = n;
    for (int k = last; k >= 0 && place >= 0; k--) {
      int64_t rest = place;
      rank = vf_view_get(v, k, shape, stride, &offset, mask);
      place = offset;
      for (int i = rank; i-- > 0; rest /= shape[i]) {
        int64_t x = rest % shape[i];
        if (x < mask[2 * i] || x >= mask[2 * i + 1]) place = INT64_MIN / 2;
        place += x * stride[i];
      }
    }
    out[n] = place < 0 ? -1 : place;
  }
  return (int)count;
}

/* creation */

static void test_creation_is_canonical(void **state) {
  expect(made(2, NUMBERS(2, 2), NUMBERS(2, 1), 0, NULL), "V((2,2);(2,1);0)");
  expect(plain(3, NUMBERS(2, 3, 4)), "V((2,3,4);(12,4,1);0)");
  expect(plain(3, NUMBERS(2, 1, 4)), "V((2,1,4);(4,0,1);0)");
  expect(plain(0, NULL), "V(();();0)");
  expect(made(2, NUMBERS(3, 1), NUMBERS(7, 9), 0, NULL), "V((3,1);(7,0);0)");
  expect(made(3, NUMBERS(2, 0, 3), NUMBERS(9, 9, 9), 4, NUMBERS(0, 1, 0, 0, 1, 2)), "V((2,0,3);(0,0,0);0)");
  expect(made(2, NUMBERS(2, 6), NULL, 0, NUMBERS(0, 2, 0, 6)), "V((2,6);(6,1);0)");
  expect(made(1, NUMBERS(4), NUMBERS(3), 5, NUMBERS(2, 3)), "V((4,);(0,);11;((2,3),))");
  expect(made(2, NUMBERS(4, 6), NULL, 0, NUMBERS(1, 2, 0, 6)), "V((4,6);(0,1);6;((1,2),(0,6)))");
  expect(made(2, NUMBERS(2, 6), NULL, 3, NUMBERS(2, 2, 0, 6)), "V((2,6);(0,0);0;((0,0),(0,0)))");
  assert_true(vf_view_contiguous(plain(2, NUMBERS(2, 2))));
  assert_true(vf_view_contiguous(plain(2, NUMBERS(2, 0))));
  assert_false(vf_view_contiguous(made(0, NULL, NULL, 5, NULL)));
  assert_false(vf_view_contiguous(made(2, NUMBERS(3, 1), NUMBERS(7, 9), 0, NULL)));
  assert_true(vf_view_consecutive(made(1, NUMBERS(4), NULL, 5, NULL)));
  assert_false(vf_view_consecutive(made(1, NUMBERS(4), NULL, 0, NUMBERS(1, 3))));
}

static void test_creation_refuses(void **state) {
  expect_refused(plain(2, NUMBERS(-1, 2)),
                 "view: negative dimension -1 at axis 0 of shape [-1,2]; sizes are >= 0");
  expect_refused(
      made(1, NUMBERS(4), NULL, 0, NUMBERS(1, 5)),
      "view: mask (1,5) at axis 0 of shape [4]; a mask is begin, end (half-open) with 0 <= begin and "
      "end <= 4");
  expect_refused(plain(17, NUMBERS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
                 "view: rank 17; views have at most 16 axes");
}

static void test_size_and_order(void **state) {
  vf_value i = vf_variable(graph, "i", 1, 10, 1);
  vf_view v =
      vf_view_create_sized(graph, 2, (vf_value[]){i, vf_integer(graph, 4)}, NULL, (vf_value){0}, NULL);
  expect(v, "V((i,4);(4,1);0)");
  assert_int_equal(vf_view_size(v), 40);
  assert_int_equal(vf_view_size(plain(2, NUMBERS(3, 0))), 0);
  vf_view a = plain(2, NUMBERS(2, 3)), b = plain(2, NUMBERS(2, 4)), c = made(2, NUMBERS(2, 3), NULL, 1, NULL);
  assert_true(vf_view_compare(a, b) < 0 && vf_view_compare(b, a) > 0 && vf_view_compare(a, c) < 0);
  assert_int_equal(vf_view_compare(a, made(2, NUMBERS(2, 3), NUMBERS(3, 1), 0, NUMBERS(0, 2, 0, 3))), 0);
  assert_true(vf_view_equal(a, made(2, NUMBERS(2, 3), NUMBERS(3, 1), 0, NUMBERS(0, 2, 0, 3))));
  assert_false(vf_view_equal(a, b));
}

/* movement */

static void test_movement(void **state) {
  expect(vf_view_permute(plain(2, NUMBERS(3, 4)), VF_LIST(1, 0)), "V((4,3);(1,4);0)");
  expect(vf_view_expand(plain(2, NUMBERS(3, 1)), VF_LIST(3, 4)), "V((3,4);(1,0);0)");
  vf_view padding =
      vf_view_shrink(vf_view_pad(plain(2, NUMBERS(1, 1)), VF_LIST(0, 0, 1, 0)), VF_LIST(0, 1, 0, 1));
  expect(vf_view_expand(padding, VF_LIST(4, 1)), "V((4,1);(0,0);0;((0,0),(0,0)))");
  vf_view padded = vf_view_pad(plain(2, NUMBERS(3, 4)), VF_LIST(1, 2, 0, 3));
  expect(vf_view_shrink(padded, VF_LIST(1, 4, 0, 4)), "V((3,4);(4,1);0)");
  vf_view outside = vf_view_shrink(padded, VF_LIST(4, 6, 0, 4));
  expect(outside, "V((2,4);(0,0);0;((0,0),(0,0)))");
  expect_index(outside, 0, NULL, "0\nvalid: False");
  expect(vf_view_pad(plain(1, NUMBERS(3)), VF_LIST(2, 1)), "V((6,);(1,);-2;((2,5),))");
  expect(vf_view_pad(plain(1, NUMBERS(3)), VF_LIST(0, 0)), "V((3,);(1,);0)");
  expect(vf_view_pad(vf_view_pad(plain(2, NUMBERS(2, 3)), VF_LIST(1, 1, 1, 1)), VF_LIST(1, 0, 0, 0)),
         "V((5,5);(3,1);-7;((2,4),(1,4)))");
  static const struct {
    int64_t size, step;
    const char *view;
  } strides[] = {{5, 2, "V((3,);(2,);0)"},
                 {5, -2, "V((3,);(-2,);4)"},
                 {6, -2, "V((3,);(-2,);5)"},
                 {6, -4, "V((2,);(-4,);5)"},
                 {5, -1, "V((5,);(-1,);4)"}};
  for (size_t k = 0; k < sizeof strides / sizeof *strides; k++)
    expect(vf_view_stride(plain(1, &strides[k].size), 1, &strides[k].step), strides[k].view);
  expect(vf_view_stride(vf_view_pad(plain(1, NUMBERS(3)), VF_LIST(1, 2)), VF_LIST(-2)),
         "V((3,);(-2,);4;((1,3),))");
  expect(vf_view_reduce(vf_view_permute(plain(2, NUMBERS(3, 4)), VF_LIST(1, 0)), VF_LIST(-1)),
         "V((4,1);(1,0);0)");
}

static void test_movement_refuses(void **state) {
  vf_view v = plain(2, NUMBERS(3, 4));
  expect_refused(vf_view_permute(v, VF_LIST(0, 0)),
                 "permute: axis 0 in entry 1 of the order; the view has shape [3,4]; an order lists each of "
                 "the axes 0..1 exactly once");
  expect_refused(vf_view_permute(v, VF_LIST(0)),
                 "permute: 1 axes for a view of shape [3,4]; one for each of its 2 axes is needed");
  expect_refused(vf_view_expand(v, VF_LIST(6, 4)),
                 "expand: size 3 cannot become 6 at axis 0; the view has shape [3,4], the result [6,4]; only "
                 "sizes of 1 can be expanded, to sizes >= 0");
  expect_refused(vf_view_expand(v, VF_LIST(1, 3, 4)),
                 "expand: 3 sizes for a view of shape [3,4]; one for each of its 2 axes is needed");
  expect_refused(
      vf_view_shrink(v, VF_LIST(0, 3, 2, 5)),
      "shrink: bounds (2,5) at axis 1; the view has shape [3,4]; bounds are half-open, 0 <= begin <= end "
      "<= 4");
  expect_refused(vf_view_shrink(v, VF_LIST(0, 3, 2)),
                 "shrink: the list of bounds has 3 numbers; each axis takes two");
  expect_refused(
      vf_view_pad(v, VF_LIST(0, 0, -1, 0)),
      "pad: (-1,0) at axis 1; the view has shape [3,4]; numbers of elements before and after an axis are "
      ">= 0");
  expect_refused(vf_view_stride(v, VF_LIST(1, 0)),
                 "stride: step 0 at axis 1; the view has shape [3,4]; a step is any number but 0");
  expect_refused(
      vf_view_reshape(v, VF_LIST(5, 2)),
      "reshape: shape [5,2] has 10 elements; the view has shape [3,4], 12 elements; a reshape keeps their "
      "number");
  expect_refused(vf_view_reshape(v, VF_LIST(-3, -4)),
                 "reshape: negative dimension -3 at axis 0 of shape [-3,-4]; sizes are >= 0");
  expect_refused(vf_view_reduce(v, VF_LIST(2)), "reduce: there is no axis 2; the view has 2 axes");
  expect_refused(
      vf_view_chain(v, made(1, NUMBERS(4), NUMBERS(4), 0, NULL)),
      "merge: the later view reads element 12, which the view before it does not have; a view in a chain "
      "reads elements of the one before it");
}

/* blocks */

static void test_minify(void **state) {
  expect(vf_view_minify(plain(3, NUMBERS(2, 3, 4))), "V((24,);(1,);0)");
  expect(vf_view_minify(made(3, NUMBERS(2, 3, 4), NUMBERS(1, 8, 2), 0, NULL)), "V((2,12);(1,2);0)");
  expect(vf_view_minify(made(2, NUMBERS(3, 4), NULL, 0, NUMBERS(1, 3, 0, 4))), "V((12,);(1,);0;((4,12),))");
  expect(vf_view_minify(made(2, NUMBERS(2, 3), NUMBERS(1, 2), 0, NULL)), "V((2,3);(1,2);0)");
}

/* chains */

static void test_chains_merge(void **state) {
  vf_view t = vf_view_permute(plain(2, NUMBERS(2, 3)), VF_LIST(1, 0));
  expect(vf_view_chain(plain(2, NUMBERS(2, 3)), t), "V((3,2);(1,3);0)");
  expect(vf_view_chain(t, plain(2, NUMBERS(3, 2))), "V((3,2);(1,3);0)");
  expect(vf_view_chain(made(2, NUMBERS(2, 3), NUMBERS(6, 2), 0, NULL), plain(1, NUMBERS(6))),
         "V((6,);(2,);0)");
  expect(vf_view_chain(made(2, NUMBERS(3, 4), NUMBERS(1, 3), 0, NULL),
                       made(2, NUMBERS(5, 4), NUMBERS(4, 1), -4, NUMBERS(1, 4, 0, 4))),
         "V((5,4);(1,3);-1;((1,4),(0,4)))");
  /* the stride 35 of a view of three axes, where carries cancel by accident */
  expect(vf_view_chain(made(3, NUMBERS(10, 9, 4), NUMBERS(140, 11, 13), 0, NULL),
                       made(1, NUMBERS(6), NUMBERS(9), 0, NULL)),
         "V((6,);(35,);0)");
  /* only an earlier pair merges */
  vf_view four = vf_view_chain(made(2, NUMBERS(2, 3), NUMBERS(6, 2), 0, NULL),
                               made(1, NUMBERS(6), NUMBERS(-1), 5, NULL));
  four = vf_view_chain(four, made(2, NUMBERS(2, 3), NUMBERS(1, 2), 0, NULL));
  four = vf_view_chain(four, made(2, NUMBERS(3, 2), NUMBERS(2, 1), 0, NULL));
  assert_int_equal(vf_view_count(four), 2);
  vf_view transposed =
      vf_view_reshape(vf_view_permute(plain(2, NUMBERS(3, 2)), VF_LIST(1, 0)), VF_LIST(3, 2));
  expect(transposed, "V((2,3);(1,2);0)\nV((3,2);(2,1);0)");
  assert_false(vf_view_contiguous(transposed));
}

/* No two adjacent views merge, yet the whole chain is one view. */
static void test_runs_merge(void **state) {
  vf_view v = plain(1, NUMBERS(8)), once = v; /* three transposes of 2x4 in a row are the identity */
  for (int k = 0; k < 3; k++) {
    v = vf_view_reshape(vf_view_permute(vf_view_reshape(v, VF_LIST(2, 4)), VF_LIST(1, 0)), VF_LIST(8));
    if (k == 0) once = v;
  }
  assert_int_equal(vf_view_count(once), 2);
  expect(v, "V((8,);(1,);0)");
  v = plain(1, NUMBERS(1 << 21)); /* and of 2^7 x 2^14 */
  for (int k = 0; k < 3; k++)
    v = vf_view_reshape(vf_view_permute(vf_view_reshape(v, VF_LIST(128, 16384)), VF_LIST(1, 0)),
                        VF_LIST(1 << 21));
  expect(v, "V((2097152,);(1,);0)");
  v = plain(1, NUMBERS(6)); /* rotated by 2, then by 4 */
  for (int turn = 2; turn <= 4; turn += 2) {
    v = vf_view_reshape(vf_view_expand(vf_view_reshape(v, VF_LIST(1, 6)), VF_LIST(2, 6)), VF_LIST(12));
    v = vf_view_shrink(v, VF_LIST(turn, turn + 6));
  }
  expect(v, "V((6,);(1,);0)");
}

/* inverses */

static void expect_inverse(vf_view v, int rank, const int64_t *shape, const char *expected) {
  vf_view back = vf_view_invert(v, rank, shape);
  int64_t there[4096];
  if (!expected) {
    assert_false(vf_view_ok(back));
    assert_int_equal(vf_graph_status(graph), VF_OK);
    return;
  }
  expect(back, expected);
  int count = enumerate(vf_view_chain(v, back), there);
  for (int n = 0; n < count; n++) assert_int_equal(there[n], n);
}

static void test_inverses_lead_back(void **state) {
  vf_view v = made(2, NUMBERS(3, 2), NUMBERS(1, 3), 0, NULL);
  expect_inverse(v, VF_LIST(2, 3), "V((2,3);(1,2);0)");
  expect_inverse(vf_view_stride(plain(1, NUMBERS(5)), VF_LIST(-1)), VF_LIST(5), "V((5,);(-1,);4)");
  expect_inverse(vf_view_pad(plain(1, NUMBERS(3)), VF_LIST(1, 1)), VF_LIST(3), "V((3,);(1,);1)");
  expect_inverse(vf_view_expand(plain(2, NUMBERS(3, 1)), VF_LIST(3, 4)), VF_LIST(3, 1), NULL);
  expect_inverse(vf_view_shrink(plain(1, NUMBERS(5)), VF_LIST(1, 4)), VF_LIST(5), NULL);
  /* the same number of elements, but not the same ones */
  expect_inverse(vf_view_stride(plain(1, NUMBERS(6)), VF_LIST(2)), VF_LIST(3), NULL);
  v = vf_view_reshape(vf_view_permute(plain(2, NUMBERS(3, 2)), VF_LIST(1, 0)), VF_LIST(3, 2));
  v = vf_view_stride(v, VF_LIST(-1, 1));
  expect_inverse(v, VF_LIST(3, 2), "V((3,2);(-2,1);4)\nV((3,2);(1,3);0)");
}

/* queries */

static void expect_strides(vf_view v, bool ignore_valid, int rank, const int64_t *expected) {
  enum { UNKNOWN = -99 };
  int64_t strides[16];
  bool known[16];
  vf_error error;
  assert_int_equal(vf_view_real_strides(v, ignore_valid, strides, known, &error), VF_OK);
  for (int k = 0; k < rank; k++) assert_int_equal(known[k] ? strides[k] : UNKNOWN, expected[k]);
}

static void test_real_strides(void **state) {
  enum { NO = -99 };
  vf_view padded = vf_view_pad(plain(2, NUMBERS(3, 4)), VF_LIST(0, 0, 1, 0));
  expect_strides(padded, false, 2, NUMBERS(4, NO));
  expect_strides(padded, true, 2, NUMBERS(4, 1));
  vf_view t = vf_view_reshape(vf_view_permute(plain(2, NUMBERS(3, 2)), VF_LIST(1, 0)), VF_LIST(3, 2));
  expect_strides(t, false, 2, NUMBERS(NO, NO));
  expect_strides(vf_view_reshape(vf_view_permute(plain(2, NUMBERS(4, 6)), VF_LIST(1, 0)), VF_LIST(2, 12)),
                 false, 2, NUMBERS(3, NO));
  vf_view wide = vf_view_reshape(vf_view_pad(plain(1, NUMBERS(512)), VF_LIST(0, 1536)), VF_LIST(16, 32, 4));
  expect_strides(wide, false, 3, NUMBERS(NO, 4, 1));
  assert_int_equal(vf_view_unit_axes(padded, false, NULL), 0);
  assert_int_equal(vf_view_unit_axes(padded, true, NULL), 2);
  vf_view split = vf_view_reshape(vf_view_permute(plain(2, NUMBERS(4, 6)), VF_LIST(1, 0)), VF_LIST(3, 2, 4));
  assert_int_equal(vf_view_unit_axes(split, false, NULL), 2);
  assert_int_equal(vf_view_masked_axes(padded, NULL), 2);
  assert_int_equal(vf_view_masked_axes(split, NULL), 0);
}

static void test_real_size_is_tight(void **state) {
  vf_view padded = vf_view_pad(plain(2, NUMBERS(3, 4)), VF_LIST(0, 0, 1, 0));
  assert_int_equal(vf_view_real_size(padded, NULL), 12);
  assert_int_equal(vf_view_real_size(vf_view_pad(plain(1, NUMBERS(3)), VF_LIST(2, 1)), NULL), 3);
  assert_int_equal(vf_view_real_size(plain(2, NUMBERS(3, 0)), NULL), 0);
  assert_int_equal(vf_view_real_size(made(1, NUMBERS(3), NULL, 7, NUMBERS(1, 1)), NULL), 0);
  assert_int_equal(vf_view_real_size(made(2, NUMBERS(3, 4), NUMBERS(-8, 2), 16, NULL), NULL), 23);
  vf_view two = vf_view_reshape(vf_view_permute(padded, VF_LIST(1, 0)), VF_LIST(3, 5));
  assert_int_equal(vf_view_count(two), 2);
  assert_int_equal(vf_view_real_size(two, NULL), 12);
}

static void test_lowering(void **state) {
  expect_index(plain(2, NUMBERS(2, 2)), 0, NULL, "((ridx0*2)+ridx1)");
  expect_index(vf_view_pad(plain(1, NUMBERS(3)), VF_LIST(2, 1)), 0, NULL,
               "(ridx0+-2)\nvalid: ((ridx0>=2)&(ridx0<5))");
  vf_view t = vf_view_reshape(vf_view_permute(plain(2, NUMBERS(3, 2)), VF_LIST(1, 0)), VF_LIST(3, 2));
  static const char *const addresses[] = {"0", "2", "4", "1", "3", "5"};
  for (int n = 0; n < 6; n++) /* numbers give one address */
    expect_index(t, 2, (vf_value[]){vf_integer(graph, n / 2), vf_integer(graph, n % 2)}, addresses[n]);
  vf_value j = vf_variable(graph, "j", 0, 3, 1);
  expect_index(vf_view_permute(plain(2, NUMBERS(2, 4)), VF_LIST(1, 0)), 2,
               (vf_value[]){j, vf_integer(graph, 1)}, "(j+4)");
  expect_index(vf_view_pad(plain(1, NUMBERS(2)), VF_LIST(1, 1)), 1, &j, "(j+-1)\nvalid: ((j>=1)&(j<3))");
  vf_error error;
  assert_null(vf_view_index(t, 1, &j, &error));
  assert_string_equal(error.message,
                      "view: the number of indices is 1, that of axes 2; takes one for each axis");
  /* windows of 3 of 4 elements: repeated, split into rows one longer, and shrunk */
  vf_view pool = vf_view_reshape(vf_view_expand(plain(2, NUMBERS(1, 4)), VF_LIST(3, 4)), VF_LIST(12));
  pool = vf_view_reshape(vf_view_shrink(vf_view_reshape(vf_view_shrink(pool, VF_LIST(0, 10)), VF_LIST(2, 5)),
                                        VF_LIST(0, 2, 0, 3)),
                         VF_LIST(2, 3));
  expect(pool, "V((2,3);(1,1);0)");
  expect_index(pool, 0, NULL, "(ridx0+ridx1)");
}

/* variables */

static void test_sizes_may_vary(void **state) {
  vf_value n = vf_variable(graph, "n", 4, 64, 4), four = vf_integer(graph, 4);
  vf_value quarter = vf_floordiv(n, four), found[4];
  vf_view v = vf_view_create_sized(graph, 2, (vf_value[]){n, four}, NULL, (vf_value){0}, NULL);
  expect(vf_view_permute(v, VF_LIST(1, 0)), "V((4,n);(1,4);0)");
  expect(vf_view_stride(v, VF_LIST(-1, 1)), "V((n,4);(-4,1);((n*4)+-4))");
  vf_view wide = vf_view_reshape_sized(v, 2, (vf_value[]){quarter, vf_integer(graph, 16)});
  expect(wide, "V(((n//4),16);(16,1);0)");
  expect(vf_view_shrink(wide, VF_LIST(0, 1, 2, 6)), "V((1,4);(0,1);2)");
  vf_view padded = vf_view_pad_sized(v, 4, (vf_value[]){n, quarter, four, four});
  assert_int_equal(vf_view_variables(padded, 4, found), 1);
  assert_int_equal(found[0].id, n.id);
  vf_view bound = vf_view_bind(padded, 1, &n, NUMBERS(8));
  expect(bound, "V((18,12);(4,1);-36;((8,16),(4,8)))");
  assert_int_equal(vf_view_variables(bound, 4, found), 0);
  expect_refused(vf_view_bind(padded, 1, &n, NUMBERS(6)),
                 "bind: 6 is no value of variable 1; takes 4..64 in steps of 4");
  expect_refused(vf_view_bind(padded, 2, (vf_value[]){n, n}, NUMBERS(8, 4)),
                 "bind: variables 1 and 2 are the same, bound to 8 and 4; one has one value");
  expect_refused(
      vf_view_reshape_sized(v, 1, &n),
      "reshape: shape [n] has n elements; the view has shape [n,4], (n*4) elements; a reshape keeps their "
      "number");
  vf_view column = vf_view_create_sized(graph, 2, (vf_value[]){four, n},
                                        (vf_value[]){vf_integer(graph, 1), four}, (vf_value){0}, NULL);
  expect(vf_view_reshape_sized(column, 2, (vf_value[]){n, four}), "V((4,n);(1,4);0)\nV((n,4);(4,1);0)");
  vf_view row = vf_view_create_sized(graph, 2, (vf_value[]){n, vf_integer(graph, 6)},
                                     (vf_value[]){vf_integer(graph, 9), vf_integer(graph, 1)}, quarter, NULL);
  expect(vf_view_reshape_sized(row, 3, (vf_value[]){n, vf_integer(graph, 2), vf_integer(graph, 3)}),
         "V((n,2,3);(9,3,1);(n//4))");
}

static void test_views_of_values(void **state) {
  vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(3, 4));
  expect(vf_view_of(vf_flip(vf_permute(x, VF_LIST(1, 0)), VF_LIST(0))), "V((4,3);(-1,4);3)");
  assert_false(vf_view_ok(vf_view_of(vf_pad_with(x, VF_LIST(1, 1, 0, 0), VF_PAD_WRAP, (vf_value){0}))));
  assert_int_equal(vf_graph_status(graph), VF_ERR_UNSUPPORTED);
  vf_graph_clear_error(graph);
  assert_int_equal(vf_view_count((vf_view){0}), -1);
  assert_int_equal(vf_view_rank((vf_view){0}), -1);
  assert_int_equal(vf_view_size((vf_view){0}), -1);
  assert_null(vf_view_text((vf_view){0}, NULL));
}

/* Makes every query of the graph's views; false after a failure, which must be one of memory. */
static bool use_views(vf_graph *g, vf_context *c) {
  vf_error error = {VF_OK, ""};
  vf_value n = vf_variable(g, "n", 4, 64, 4);
  vf_view v = vf_view_create_sized(g, 2, (vf_value[]){n, vf_integer(g, 6)}, NULL, (vf_value){0}, NULL);
  v = vf_view_pad(vf_view_permute(v, VF_LIST(1, 0)), VF_LIST(1, 0, 0, 0));
  vf_view b = vf_view_bind(v, 1, &n, NUMBERS(8));
  b = vf_view_minify(vf_view_reshape(b, VF_LIST(8, 7)));
  vf_view back = vf_view_invert(vf_view_stride(vf_view_of(vf_input(g, "x", VF_F32, VF_LIST(4))), VF_LIST(-1)),
                                VF_LIST(4));
  int64_t strides[16], size = 0;
  bool known[16];
  bool good = vf_view_ok(b) && vf_view_ok(back);
  good = good && vf_view_real_strides(b, true, strides, known, &error) == VF_OK;
  good = good && (size = vf_view_real_size(b, &error)) >= 0;
  char *text = good ? vf_view_text(b, &error) : NULL,
       *index = text ? vf_view_index(b, 0, NULL, &error) : NULL;
  if (index) assert_string_equal(text, "V((7,8);(1,6);-1;((1,7),(0,8)))\nV((56,);(1,);0)");
  if (index) assert_int_equal(size, 48);
  if (!index) assert_true(vf_graph_status(g) == VF_ERR_MEMORY || error.status == VF_ERR_MEMORY);
  vf_text_free(c, text);
  vf_text_free(c, index);
  return index != NULL;
}

static void test_every_allocation_may_fail(void **state) {
  long allocations = 1, failed = 0;
  for (long k = 0; k <= allocations; k++) {
    test_memory memory = {0};
    vf_context *c = test_memory_context(&memory);
    vf_graph *g = vf_graph_create(c, "g", NULL);
    atomic_store(&memory.allocations, 0);
    memory.fail_at = k;
    failed += !use_views(g, c);
    if (k == 0) allocations = atomic_load(&memory.allocations);
    vf_graph_destroy(g);
    vf_context_destroy(c);
    assert_int_equal(atomic_load(&memory.live), 0);
    assert_int_equal(atomic_load(&memory.wrong_sizes), 0);
  }
  assert_true(allocations > 20 && failed > allocations / 2);
}

UNIT_TESTS_BETWEEN(start, finish, test_creation_is_canonical, test_creation_refuses, test_size_and_order,
                   test_movement, test_movement_refuses, test_minify, test_chains_merge, test_runs_merge,
                   test_inverses_lead_back, test_real_strides, test_real_size_is_tight, test_lowering,
                   test_sizes_may_vary, test_views_of_values, test_every_allocation_may_fail)
