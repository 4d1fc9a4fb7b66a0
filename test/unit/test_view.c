/* Views as (shape; strides; offset; mask): canonical forms, movement, reshape, chains. */
#include "frontend/views/view.h"

#include "frontend/text/chain.h"
#include "test/lib/graph.h"
#include "test/lib/unit.h"

#define LIST(...)                                                                                            \
  (const int64_t[]) { __VA_ARGS__ }

static void expect_view(const test_graph *b, const pass_view *v, const char *expected) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  pass_view_print(&b->g, v, &text);
  assert_string_equal(ir_text_get(&text), expected);
  ir_text_free(&text);
}

static const ir_ref *refs(test_graph *b, ir_ref *out, uint32_t rank, const int64_t *numbers) {
  for (uint32_t i = 0; i < rank && numbers; i++) out[i] = ir_index(&b->g, numbers[i]);
  return numbers ? out : NULL;
}

static pass_view_status create(test_graph *b, uint32_t rank, const int64_t *shape, const int64_t *strides,
                               int64_t offset, const int64_t *begin, const int64_t *end, pass_view *out) {
  ir_ref list[4][IR_MAX_RANK];
  return pass_view_create(&b->g, rank, refs(b, list[0], rank, shape), refs(b, list[1], rank, strides),
                          ir_index(&b->g, offset), refs(b, list[2], rank, begin), refs(b, list[3], rank, end),
                          out);
}

static pass_view made(test_graph *b, uint32_t rank, const int64_t *shape, const int64_t *strides,
                      int64_t offset, const int64_t *begin, const int64_t *end) {
  pass_view v;
  assert_int_equal(create(b, rank, shape, strides, offset, begin, end, &v), PASS_VIEW_DONE);
  return v;
}

static void expect_made(uint32_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                        const int64_t *begin, const int64_t *end, bool contiguous, const char *expected) {
  test_graph *b = test_graph_begin();
  pass_view v = made(b, rank, shape, strides, offset, begin, end);
  expect_view(b, &v, expected);
  assert_int_equal(pass_view_contiguous(&b->g, &v), contiguous);
}

static void test_default_strides_are_row_major(void **state) {
  expect_made(2, LIST(2, 2), LIST(2, 1), 0, NULL, NULL, true, "V((2,2);(2,1);0)");
  expect_made(3, LIST(2, 3, 4), NULL, 0, NULL, NULL, true, "V((2,3,4);(12,4,1);0)");
  expect_made(3, LIST(2, 1, 4), NULL, 0, NULL, NULL, true, "V((2,1,4);(4,0,1);0)");
  expect_made(1, LIST(1), NULL, 0, NULL, NULL, true, "V((1,);(0,);0)");
  expect_made(0, LIST(0), NULL, 0, NULL, NULL, true, "V(();();0)");
  expect_made(0, LIST(0), NULL, 5, NULL, NULL, false, "V(();();5)");
}

static void test_sizes_of_one_and_zero(void **state) {
  expect_made(2, LIST(3, 1), LIST(7, 9), 0, NULL, NULL, false, "V((3,1);(7,0);0)");
  expect_made(3, LIST(2, 0, 3), LIST(9, 9, 9), 4, LIST(0, 0, 1), LIST(2, 0, 2), true, "V((2,0,3);(0,0,0);0)");
}

static void test_masks_become_canonical(void **state) {
  expect_made(2, LIST(2, 6), NULL, 0, LIST(0, 0), LIST(2, 6), true, "V((2,6);(6,1);0)");
  expect_made(1, LIST(4), LIST(3), 5, LIST(2), LIST(3), false, "V((4,);(0,);11;((2,3),))");
  expect_made(2, LIST(4, 6), NULL, 0, LIST(1, 0), LIST(2, 6), false, "V((4,6);(0,1);6;((1,2),(0,6)))");
  expect_made(2, LIST(2, 6), NULL, 3, LIST(2, 0), LIST(2, 6), false, "V((2,6);(0,0);0;((0,0),(0,0)))");
}

/* The views that pass_view_chain_of makes of a chain expression, one per line. */
typedef struct chain_case {
  const char *chain, *views;
} chain_case;

static void expect_chains(const chain_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    test_graph *t = test_graph_begin();
    ir_graph *g = &t->g;
    ir_ref node = fe_chain_parse(g, "chain", cases[i].chain, strlen(cases[i].chain));
    if (!node) fail_msg("%s", t->error.text);
    pass_view_chain views;
    if (!pass_view_chain_of(g, node, &views)) fail_msg("%s: %s", cases[i].chain, t->error.text);
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    for (size_t k = 0; k < views.count; k++) {
      ir_text_str(&text, k ? " " : "");
      pass_view_print(g, &views.views[k], &text);
    }
    if (strcmp(ir_text_get(&text), cases[i].views) != 0)
      fail_msg("%s\n  is       %s\n  expected %s", cases[i].chain, ir_text_get(&text), cases[i].views);
    ir_text_free(&text);
    pass_view_chain_free(&views);
  }
}
#define EXPECT_CHAINS(cases) expect_chains(cases, sizeof(cases) / sizeof *(cases))

static void test_movement(void **state) {
  static const chain_case cases[] = {
      {"f32[3,4].permute(1,0)", "V((4,3);(1,4);0)"},
      {"f32[3,1].expand(3,4)", "V((3,4);(1,0);0)"},
      {"f32[1,1].pad((0,0),(1,0)).shrink((0,1),(0,1)).expand(4,1)", "V((4,1);(0,0);0;((0,0),(0,0)))"},
      {"f32[1,2].pad((0,0),(1,0)).expand(5,3)", "V((5,3);(0,1);-1;((0,5),(1,3)))"},
      {"f32[1,3].expand(0,3)", "V((0,3);(0,0);0)"},
      {"f32[2,3].pad((1,1),(0,2)).shrink((1,3),(0,3))", "V((2,3);(3,1);0)"},
      {"f32[2,3].pad((0,2),(0,0)).shrink((2,4),(0,3))", "V((2,3);(0,0);0;((0,0),(0,0)))"},
      {"f32[4,6].shrink((1,3),(2,6))", "V((2,4);(6,1);8)"},
      {"f32[4,6].shrink((1,1),(2,6))", "V((0,4);(0,0);0)"},
      {"f32[3].pad((2,1))", "V((6,);(1,);-2;((2,5),))"},
      {"f32[3].pad((0,0))", "V((3,);(1,);0)"},
      {"f32[2,3].pad((1,1),(1,1)).pad((1,0),(0,0))", "V((5,5);(3,1);-7;((2,4),(1,4)))"},
      {"f32[0,3].pad((1,1),(0,0))", "V((2,3);(0,0);0;((0,0),(0,0)))"},
      {"f32[5].stride(2)", "V((3,);(2,);0)"},
      {"f32[5].stride(-2)", "V((3,);(-2,);4)"},
      {"f32[6].stride(-2)", "V((3,);(-2,);5)"},
      {"f32[6].stride(-4)", "V((2,);(-4,);5)"},
      {"f32[3].pad((1,2)).stride(-2)", "V((3,);(-2,);4;((1,3),))"},
      {"f32[0].stride(-1)", "V((0,);(0,);0)"},
      {"f32[3,4].flip(0,1)", "V((3,4);(-4,-1);11)"},
      {"f32[3,4].flip(0).flip(0)", "V((3,4);(4,1);0)"},
      {"f32[3,4].point(0,1)", "V((4,);(1,);4)"},
      {"f32[3,4].unsqueeze(1).squeeze(1)", "V((3,4);(4,1);0)"},
  };
  EXPECT_CHAINS(cases);
}

static void test_reshape_of_strided_views(void **state) {
  static const chain_case cases[] = {
      {"f32[2,3,4].reshape(24)", "V((24,);(1,);0)"},
      {"f32[2,3,4].reshape(4,6)", "V((4,6);(6,1);0)"},
      {"f32[3,2].permute(1,0).reshape(3,2)", "V((2,3);(1,2);0) V((3,2);(2,1);0)"},
      {"f32[2,2,2].permute(2,1,0).reshape(4,2)", "V((2,2,2);(1,2,4);0) V((4,2);(2,1);0)"},
      {"f32[4,6].permute(1,0).reshape(2,3,4)", "V((2,3,4);(3,1,6);0)"},
      {"f32[2,1].expand(2,3).reshape(6)", "V((2,3);(1,0);0) V((6,);(1,);0)"},
      {"f32[1,4].expand(3,4).reshape(3,2,2)", "V((3,2,2);(0,2,1);0)"},
      {"f32[1].expand(6).reshape(2,3)", "V((2,3);(0,0);0)"},
      {"f32[6,4].stride(2,1).reshape(3,2,2)", "V((3,2,2);(8,2,1);0)"},
      {"f32[12].stride(-1).reshape(3,4)", "V((3,4);(-4,-1);11)"},
      {"f32[1,5].flip(1).reshape(5)", "V((5,);(-1,);4)"},
      {"f32[1].reshape()", "V(();();0)"},
      {"f32[3].shrink((1,2)).reshape()", "V(();();1)"},
  };
  EXPECT_CHAINS(cases);
}

static void test_reshape_of_masked_views(void **state) {
  static const chain_case cases[] = {
      /* whole rows of padding: one view where the edge of the padding is an edge of the result */
      {"f32[2,3].pad((1,1),(0,0)).reshape(12)", "V((12,);(1,);-3;((3,9),))"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(4,3,1)", "V((4,3,1);(3,1,0);-3;((1,3),(0,3),(0,1)))"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(1,4,3)", "V((1,4,3);(0,3,1);-3;((0,1),(1,3),(0,3)))"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(4,1,3)", "V((4,1,3);(3,0,1);-3;((1,3),(0,1),(0,3)))"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(2,2,3)", "V((4,3);(3,1);-3;((1,3),(0,3))) V((2,2,3);(6,3,1);0)"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(2,6)", "V((4,3);(3,1);-3;((1,3),(0,3))) V((2,6);(6,1);0)"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(6,2)", "V((4,3);(3,1);-3;((1,3),(0,3))) V((6,2);(2,1);0)"},
      {"f32[2,3].pad((1,1),(0,0)).reshape(3,4)", "V((4,3);(3,1);-3;((1,3),(0,3))) V((3,4);(4,1);0)"},
      /* columns of padding */
      {"f32[2,3].pad((0,0),(1,1)).reshape(10)", "V((2,5);(3,1);-1;((0,2),(1,4))) V((10,);(1,);0)"},
      {"f32[2,3].pad((0,0),(1,1)).reshape(5,2)", "V((2,5);(3,1);-1;((0,2),(1,4))) V((5,2);(2,1);0)"},
      {"f32[2,3].pad((0,0),(1,1)).reshape(2,5,1)", "V((2,5,1);(3,1,0);-1;((0,2),(1,4),(0,1)))"},
      {"f32[2,3].pad((0,0),(1,1)).reshape(1,2,5)", "V((1,2,5);(0,3,1);-1;((0,1),(0,2),(1,4)))"},
      /* one row among rows of padding */
      {"f32[1,4].pad((1,1),(0,0))", "V((3,4);(0,1);0;((1,2),(0,4)))"},
      {"f32[1,4].pad((1,1),(0,0)).reshape(12)", "V((12,);(1,);-4;((4,8),))"},
      {"f32[1,4].pad((1,1),(0,0)).reshape(6,2)", "V((6,2);(2,1);-4;((2,4),(0,2)))"},
      {"f32[6].pad((6,0)).reshape(2,6)", "V((2,6);(0,1);0;((1,2),(0,6)))"},
      {"f32[6].pad((6,0)).reshape(4,3)", "V((4,3);(3,1);-6;((2,4),(0,3)))"},
      {"f32[6].pad((6,0)).reshape(3,4)", "V((12,);(1,);-6;((6,12),)) V((3,4);(4,1);0)"},
      {"f32[1,10,1].pad((0,4),(0,0),(1,0)).reshape(5,5,2,2)",
       "V((5,5,2,2);(0,2,1,0);0;((0,1),(0,5),(0,2),(1,2)))"},
      {"f32[1,1,4].pad((3,6),(0,0),(1,5)).reshape(100)", "V((100,);(1,);-31;((31,35),))"},
      {"f32[5,10,5,10].permute(1,0,3,2).pad((0,0),(0,5),(0,0),(0,5)).reshape(10,2,5,10,2,5)",
       "V((10,2,5,10,2,5);(50,0,500,1,0,10);0;((0,10),(0,1),(0,5),(0,10),(0,1),(0,5)))"},
      /* strides that merge under a mask that does not */
      {"f32[1,1].expand(2,3).pad((0,0),(1,1)).reshape(10)", "V((2,5);(0,0);0;((0,2),(1,4))) V((10,);(1,);0)"},
      {"f32[2,10].shrink((0,2),(0,3)).pad((0,0),(0,7)).reshape(20)",
       "V((2,10);(10,1);0;((0,2),(0,3))) V((20,);(1,);0)"},
      {"f32[2,10].shrink((0,1),(0,3)).pad((0,1),(0,7)).reshape(20)", "V((20,);(1,);0;((0,3),))"},
      /* only padding */
      {"f32[2].pad((0,4)).shrink((2,6)).reshape(2,2)", "V((2,2);(0,0);0;((0,0),(0,0)))"},
      {"f32[1].pad((0,1)).shrink((1,2)).reshape()", "V((1,);(0,);0;((0,0),)) V(();();0)"},
  };
  EXPECT_CHAINS(cases);
}

/* (size, stride, real) of each group of adjacent axes that can be merged */
static void test_blocks(void **state) {
  static const struct {
    uint32_t rank;
    int64_t shape[3], strides[3], begin[3], end[3];
    uint32_t count;
    int64_t blocks[2][3];
  } rows[] = {
      {2, {2, 3}, {3, 1}, {0, 0}, {2, 3}, 1, {{6, 1, 6}}},
      {2, {2, 3}, {1, 2}, {0, 0}, {2, 3}, 2, {{2, 1, 2}, {3, 2, 3}}},
      {3, {2, 3, 4}, {0, 4, 1}, {0, 0, 0}, {2, 3, 4}, 2, {{2, 0, 0}, {12, 1, 12}}},
      {3, {2, 3, 4}, {0, 0, 1}, {0, 0, 0}, {2, 3, 4}, 2, {{6, 0, 0}, {4, 1, 4}}},
      {3, {2, 3, 4}, {12, 4, 0}, {0, 0, 0}, {2, 3, 4}, 2, {{6, 4, 6}, {4, 0, 4}}},
      {2, {3, 4}, {4, 1}, {1, 0}, {2, 4}, 1, {{12, 1, 4}}},
  };
  test_graph *b = test_graph_begin();
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    pass_view v = made(b, rows[k].rank, rows[k].shape, rows[k].strides, 0, rows[k].begin, rows[k].end);
    pass_view_block blocks[IR_MAX_RANK];
    assert_int_equal(pass_view_blocks(&b->g, &v, blocks), rows[k].count);
    for (uint32_t i = 0; i < rows[k].count; i++) {
      assert_int_equal(blocks[i].size, ir_index(&b->g, rows[k].blocks[i][0]));
      assert_int_equal(blocks[i].stride, ir_index(&b->g, rows[k].blocks[i][1]));
      assert_int_equal(blocks[i].real, ir_index(&b->g, rows[k].blocks[i][2]));
    }
  }
}

static void test_what_has_no_views_is_refused(void **state) {
  static const chain_case cases[] = {
      {"f32[4].pad((1,1),mode=wrap)",
       "pad: padding by elements is no view of fixed strides; its index expression says where it "
       "reads"},
      {"f32[4].gather(0,[1,2])",
       "gather: this is no view of one buffer; its index expression says where it reads"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_graph *t = test_graph_begin();
    ir_graph *g = &t->g;
    pass_view_chain views;
    ir_ref node = fe_chain_parse(g, "chain", cases[i].chain, strlen(cases[i].chain));
    assert_false(pass_view_chain_of(g, node, &views));
    assert_string_equal(t->error.text, cases[i].views);
    pass_view_chain_free(&views);
  }
}

static void test_numbers_beyond_64_bits_are_noticed(void **state) {
  int64_t big = (int64_t)1 << 40;
  test_graph *b = test_graph_begin();
  pass_view v = made(b, 2, LIST(2, 4), (const int64_t[]){big, big}, 0, NULL, NULL), out;
  ir_ref zero = ir_index(&b->g, 0), huge = ir_index(&b->g, big);
  assert_int_equal(pass_view_stride(&b->g, &v, LIST(1, 3), 2, &out), PASS_VIEW_DONE);
  assert_int_equal(pass_view_pad(&b->g, &v, (ir_ref[]){huge, zero}, (ir_ref[]){zero, zero}, 2, &out),
                   PASS_VIEW_FAILED);
  assert_string_equal(b->error.text, "pad: a stride or an offset of its view exceeds 64 bits");
  ir_error_clear(&b->error);
  assert_int_equal(create(b, 2, (const int64_t[]){INT64_MAX, 2}, NULL, 0, NULL, NULL, &out),
                   PASS_VIEW_FAILED);
}

static void test_equality_is_of_canonical_forms(void **state) {
  test_graph *n = test_graph_begin();
  pass_view a = made(n, 2, LIST(3, 1), LIST(1, 9), 0, NULL, NULL),
            b = made(n, 2, LIST(3, 1), LIST(1, 4), 0, LIST(0, 0), LIST(3, 1));
  assert_true(pass_view_equal(&a, &b));
  b = made(n, 2, LIST(3, 1), LIST(1, 4), 1, NULL, NULL);
  assert_false(pass_view_equal(&a, &b));
}

UNIT_TESTS(test_default_strides_are_row_major, test_sizes_of_one_and_zero, test_masks_become_canonical,
           test_movement, test_reshape_of_strided_views, test_reshape_of_masked_views, test_blocks,
           test_what_has_no_views_is_refused, test_numbers_beyond_64_bits_are_noticed,
           test_equality_is_of_canonical_forms)
