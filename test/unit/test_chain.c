/* Chain expressions: the meaning of each step, other spellings of it, and failing allocations. The messages
 * of bad chains are in test/text/index. */
#include "frontend/text/chain.h"

#include "frontend/text/nearest.h"
#include "frontend/views/access.h"
#include "frontend/views/textbook.h"
#include "test/lib/graph.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static ir_ref parse(test_graph *w, const char *text) {
  return fe_chain_parse(&w->g, "chain", text, strlen(text));
}

typedef struct pair {
  const char *left, *right;
} pair;

static void test_types(void **state) {
  static const pair cases[] = {
      {"f32[]", "f32[]"},
      {" f32 [ 3 , 2 ] . permute ( 1 , 0 ) ", "f32[2,3]"},
      {"bf16[3,2].reshape(-1)", "bf16[6]"},
      {"u8[4].pad((1,2))", "u8[7]"},
      {"i64[6,6].shrink((1,5),(0,3))", "i64[4,3]"},
      {"bool[8].stride(-3)", "bool[3]"},
      {"f64[2,1].expand(2,5)", "f64[2,5]"},
      {"f32[3].broadcast_to(2,3)", "f32[2,3]"},
      {"f32[2,3].unsqueeze(-1).unsqueeze(0)", "f32[1,2,3,1]"},
      {"f32[1,2,1].squeeze()", "f32[2]"},
      {"f32[1,2,1].squeeze(0)", "f32[2,1]"},
      {"f32[3,4].point(-1,2)", "f32[3]"},
      {"f32[3,4].gather(1,[3,0,-1])", "f32[3,3]"},
      {"f32[3,4].gather(0,[[0,1],[2,2]])", "f32[2,2,4]"},
      {"f32[3,4].gather(0,[])", "f32[0,4]"},
      {"f32[2,3,4].moveaxis(0,2)", "f32[3,4,2]"},
      {"f32[2,3,4].flatten(1)", "f32[2,12]"},
      {"f32[n=4..64:4,32].reshape(n//4,128)", "f32[(n//4),128]"},
      {"f32[n=4..64,32].shrink((1,n-1),(0,32))", "f32[(n+-2),32]"},
      {"f32[n=4..64,n].reshape(n*n)", "f32[(n*n)]"},
      {"f32[n=1..8].unsqueeze(0).expand(m=2..3,n)", "f32[m,n]"},
      {"f16[4].pad((2,1),value=1.5)", "f16[7]"},
      {"f16[4].pad((2,1),mode=edge)", "f16[7]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_graph *w = test_graph_begin();
    ir_ref x = parse(w, cases[i].left);
    if (!x) fail_msg("%s", w->error.text);
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_type(&w->g, x, &text);
    assert_string_equal(ir_text_get(&text), cases[i].right);
    ir_text_free(&text);
  }
}

static void test_spellings_of_one_chain_are_one_node(void **state) {
  static const pair cases[] = {
      {"f32[3,2].permute(1,0)", "f32[3,2].permute(-1,-2)"},
      {"f32[3,2].permute(1,0)", "f32[3,2].permute([1,0])"},
      {"f32[3,2].permute(1,0)", "f32[3,2].permute(order=[1,0])"},
      {"f32[3,2].permute(1,0)", "f32[3,2].swap_axes(0,1)"},
      {"f32[3,2].permute(1,0)", "f32[3,2].transpose(axis1=1,axis2=0)"},
      {"f32[3,2].reshape(2,3)", "f32[3,2].reshape(1+1,-1)"},
      {"f32[4].pad((1,2))", "f32[4].pad(pads=[[1,2]],value=0,mode=constant)"},
      {"f32[4].pad((1,2))", "f32[4].pad((1,2),value=0.0)"},
      {"f32[6].shrink((1,5))", "f32[6].slice((1,5))"},
      {"f32[2,1].expand(2,5)", "f32[2,1].broadcast_to(2,5)"},
      {"f32[3,4].point(0,2)", "f32[3,4].point(-2,-1)"},
      {"f32[3,4].gather(0,[2,0])", "f32[3,4].gather(axis=-2,indices=[-1,0])"},
      {"f32[3,4].take(0,[2,0])", "f32[3,4].gather(0,[2,0])"},
      {"f32[3,4]", "f32[3,4].permute(0,1).reshape(3,-1).flip().pad((0,0),(0,0))"},
      {"f32[n=2..9].reshape(n,1)", "f32[n=2..9].reshape((n+2)-2,n//n)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_graph *w = test_graph_begin();
    ir_ref left = parse(w, cases[i].left), right = parse(w, cases[i].right);
    if (!left || !right) fail_msg("%s", w->error.text);
    if (left != right) fail_msg("%s is not %s", cases[i].left, cases[i].right);
  }
}

static void test_bad_bytes_are_errors(void **state) {
  static const char bytes[] = "f32[2]\0.permute(0)\xff";
  for (size_t length = 0; length < sizeof bytes; length++) {
    test_graph *w = test_graph_begin();
    ir_ref x = fe_chain_parse(&w->g, "chain", bytes, length);
    assert_int_equal(x != 0, length == 6);
    assert_int_equal(w->error.status, x ? IR_OK : IR_ERR_INVALID);
  }
}

static void test_deep_nesting_and_long_chains(void **state) {
  enum { DEEP = 100000 };
  test_graph *w = test_graph_begin();
  char *text = malloc(8 * DEEP + 64);
  size_t used = (size_t)sprintf(text, "f32[");
  memset(text + used, '(', DEEP);
  text[used + DEEP] = '2';
  memset(text + used + DEEP + 1, ')', DEEP);
  strcpy(text + used + 2 * DEEP + 1, "]");
  assert_true(parse(w, text));
  used = (size_t)sprintf(text, "f32[2,3]");
  for (int i = 0; i < DEEP; i++) used += (size_t)sprintf(text + used, ".flip(0)");
  ir_ref x = parse(w, text), index, valid;
  assert_true(x && pass_access(&w->g, &pass_canonical, x, &index, &valid) && ir_is_true(&w->g, valid));
  free(text);
}

static void test_any_allocation_may_fail(void **state) {
  static const char text[] = "f32[n=4..64:4,6].pad((1,2),(0,0),mode=edge).gather(1,[2,0,-1]).reshape(-1)."
                             "shrink((2,n)).flip(0).stride(-2)";
  bool done = false;
  for (long budget = 0; !done; budget++) {
    test_budget p = {budget, 0};
    ir_mem mem = {test_budget_hook, &p};
    test_graph w = {0};
    ir_ref index = 0, valid = 0, x = 0;
    if (ir_graph_init(&w.g, &mem, &w.error) == IR_OK) x = fe_chain_parse(&w.g, "chain", text, strlen(text));
    done = x && pass_access(&w.g, &pass_canonical, x, &index, &valid) &&
           pass_access(&w.g, &pass_textbook, x, &index, &valid);
    /* an analysis without memory answers "unknown", so a size may also be refused as unproven */
    if (!done) assert_true(w.error.status == IR_ERR_MEMORY || strstr(w.error.text, "not known"));
    ir_graph_free(&w.g);
    assert_int_equal(p.live, 0);
    assert_true(budget < 5000);
  }
}

static void test_suggestions(void **state) {
  static const char *const words[] = {"permute", "reshape", "pad", "flip"};
  assert_string_equal(fe_nearest("premute", 7, words, 4), "permute");
  assert_string_equal(fe_nearest("reshap", 6, words, 4), "reshape");
  assert_string_equal(fe_nearest("filp", 4, words, 4), "flip");
  assert_null(fe_nearest("convolve", 8, words, 4));
  assert_null(fe_nearest("permutepermutepermutepermutepermute", 35, words, 4));
}

UNIT_TESTS(test_types, test_spellings_of_one_chain_are_one_node, test_bad_bytes_are_errors,
           test_deep_nesting_and_long_chains, test_any_allocation_may_fail, test_suggestions)
