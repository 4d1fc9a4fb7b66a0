/* The text forms: what is printed, that it parses back to the same nodes, and the messages of bad input. */
#include "frontend/text/reader.h"
#include "ir/print/print.h"
#include "ir/regions.h"
#include "passes/ops/foreign.h"
#include "passes/ops/ops.h"
#include "test/lib/level.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

#include <limits.h>
#include <pthread.h>

enum { SMALL_STACK = 256 * 1024, LONG = 100000 };

typedef struct bench {
  test_budget count;
  ir_mem mem;
  ir_error error;
  ir_graph g;
  ir_module module;
  ir_text text;
} bench;

static bool bench_start(bench *b, long budget) {
  *b = (bench){.count = {budget < 0 ? LONG_MAX : budget, 0}};
  b->mem = (ir_mem){test_budget_hook, &b->count};
  b->module.mem = &b->mem;
  ir_text_init(&b->text, &b->mem);
  return ir_graph_init(&b->g, &b->mem, &b->error) == IR_OK;
}

static void bench_stop(bench *b) {
  ir_module_free(&b->module);
  ir_text_free(&b->text);
  ir_graph_free(&b->g);
  assert_int_equal(b->count.live, 0);
}

static void bench_end(void *b) {
  bench_stop(b);
  free(b);
}

static bench *bench_begin(void) {
  bench *b = malloc(sizeof *b);
  assert_true(b && bench_start(b, -1));
  return unit_keep(b, bench_end);
}

static const char head[] =
    "graph @g(%x: f32[4,4], %y: f32[4,4], %b: f32[4], %p: bool[4,4], %i: i32[2], %j: i32[4,4],"
    " %u: f32[2,4], %v: f32[1], %image: f32[1,3,8,8], %kernel: f32[4,3,3,3], %q: f32[1,2,4,8],"
    " %k: f32[1,2,4,8], %w: f32[1,2,4,8], %seed: i32[]) {\n";

/* Each row of foreign.def is written so that it is read, and names nothing that is a name here. */
static void test_foreign_names(void **state) {
  const char *names, *written, *instead;
  for (size_t row = 0; (names = op_foreign_row(row, &written, &instead)); row++) {
    assert_true(!written != !instead);
    for (const char *at = names; *at; at += strspn(at, " ")) {
      size_t length = strcspn(at, " ");
      char name[64] = "";
      assert_in_range(length, 1, 31);
      memcpy(name, at, length);
      if (op_known(name, length)) fail_msg("%s is a name here", name);
      at += length;
    }
    if (!written) continue;
    bench *b = bench_begin();
    char text[2000];
    strcpy(text, head);
    for (char *at = text + strlen(text); (*at = *written); at++, written++)
      if (*at == ';') *at = '\n';
    strcat(text, "\nreturn %z\n}\n");
    fe_parse_graphs(&b->g, "t.vf", text, strlen(text), &b->module);
    if (b->error.status) fail_msg("%s: %s", names, b->error.text);
  }
}

/* An attribute that is left out is what defaults.def says. */
static void test_defaults(void **state) {
  const char *operations, *attribute, *value, *written;
  for (size_t row = 0; (operations = op_default_row(row, &attribute, &value, &written)); row++)
    for (const char *at = operations; *at; at += strspn(at, " ")) {
      int length = (int)strcspn(at, " ");
      char printed[2][2000];
      for (int given = 0; given < 2; given++) {
        bench *b = bench_begin();
        char text[2000];
        snprintf(text, sizeof text, "%s  %%z = %.*s %s %s%s%s\n  return %%z\n}\n", head, length, at, written,
                 given ? attribute : "", given ? "=" : "", given ? value : "");
        fe_parse_graphs(&b->g, "t.vf", text, strlen(text), &b->module);
        if (b->error.status) fail_msg("%s", b->error.text);
        ir_print_parsed(&b->g, &b->module.graphs[b->module.count - 1], &b->text);
        snprintf(printed[given], sizeof printed[given], "%s", ir_text_get(&b->text));
      }
      assert_string_equal(printed[0], printed[1]);
      at += length;
    }
}

static ir_status read_text(bench *b, const char *text, size_t length) {
  const ir_builder builder = {.expr = ir_expr_raw, .apply = fe_builder.apply};
  return ir_parse_module(&b->g, &builder, "t.vf", text, length, &b->module);
}

/* text in, listing out; the listing parses back to the same node and prints the same text */
static void check_fixed(const char *text, const char *printed) {
  bench *b = bench_begin();
  read_text(b, text, strlen(text));
  assert_string_equal(b->error.text, "");
  ir_ref root = b->module.graphs[0].root;
  ir_print_parsed(&b->g, &b->module.graphs[0], &b->text);
  assert_string_equal(ir_text_get(&b->text), printed);
  ir_module_free(&b->module);
  for (int named = 0; named < 2; named++) {
    read_text(b, b->text.data, b->text.len);
    assert_string_equal(b->error.text, "");
    assert_int_equal(b->module.graphs[0].root, root);
    ir_text again;
    ir_text_init(&again, &b->mem);
    ir_print_graph(&b->g, b->module.graphs[0].name, root, &again);
    ir_module_free(&b->module);
    ir_text_free(&b->text);
    b->text = again;
  }
  assert_int_equal(ir_verify(&b->g, root, printed[0] == 'g' ? IR_LEVEL_TENSOR : IR_LEVEL_LOOP, &b->error),
                   IR_OK);
}

static void check_same(const char *text) { check_fixed(text, text); }

static void test_graphs(void **state) {
  check_fixed("# a blur\ngraph @blur(%x: f32[480,640]) {\n  %p = pad %x pads=[[1,1],[0,0]]  # rows\n"
              "  %s = add %p, %p : f32[482,640]\n  %h = mul %s, 0.5\n  return %h, %x\n}\n",
              "graph @blur(%x: f32[480,640]) {\n  %0 = pad %x pads=[[1,1],[0,0]] : f32[482,640]\n"
              "  %1 = add %0, %0 : f32[482,640]\n  %h = mul %1, 0.5 : f32[482,640]\n  return %h, %x\n}\n");
  check_same("graph @f(%x: f32[n=4..64:4,m=0..3], %unused: i8[]) {\n  %0 = reshape %x shape=[m,(n//4),4] : "
             "f32[m,(n//4),4]\n  return %0\n}\n");
  check_same("graph @max(%x: f32[2,3]) {\n  %0 = max %x axes=[1] : f32[2]\n  %1 = max %0, 2.0 : f32[2]\n"
             "  %2 = sum %x axes=[0,1] keepdims=true : f32[1,1]\n  return %1, %2\n}\n");
  check_same("graph @pads(%x: f32[2]) {\n  %0 = pad %x value=-0.5 pads=[[1,0]] : f32[3]\n"
             "  %1 = pad %x value=nan pads=[[1,0]] : f32[3]\n  %2 = pad %x value=-inf pads=[[1,0]] : f32[3]\n"
             "  %3 = pad %x pads=[[1,0]] mode=edge : f32[3]\n  return %0, %1, %2, %3\n}\n");
  check_same("graph @loose(%x: f32[], %\"a b\": f32[]) {\n  return %x, %\"a b\", true\n}\n");
  check_same("graph @vars(%x: f32[n=1..8]) {\n  %0 = cast ((n*2)+1) dtype=f32 : f32[]\n  return %0\n}\n");
  check_same(
      "graph @numbers(%1: f32[2]) {\n  %0 = neg %1 : f32[2]\n  %2 = neg %0 : f32[2]\n  return %2\n}\n");
}

static void test_constants(void **state) {
  check_same(
      "graph @c(%x: f32[2]) {\n  %0 = const value=0.1 dtype=f32 : f32[]\n  %1 = const value=-0.0 dtype=f64 : "
      "f64[]\n"
      "  %2 = const value=1e-45 dtype=f32 : f32[]\n  %3 = const value=nan(0xfff8000000000000) dtype=f64 : "
      "f64[]\n"
      "  %4 = const value=18446744073709551615 dtype=u64 : u64[]\n"
      "  %5 = const value=-9223372036854775808 dtype=i64 : i64[]\n  %6 = const value=0.1 dtype=f16 : f16[]\n"
      "  %7 = mul %x, 0.1 : f32[2]\n  %8 = lt %7, inf : bool[2]\n  %9 = where true, %x, 16777216.0 : f32[2]\n"
      "  return %0, %1, %2, %3, %4, %5, %6, %8, %9\n}\n");
  check_same("graph @d() {\n  %0 = data shape=[2,2] dtype=u8 values=[1,2,3,255] : u8[2,2]\n"
             "  %1 = data shape=[2] dtype=f32 values=[0.5,-inf] : f32[2]\n  %2 = data shape=[0] dtype=i64 "
             "values=[] : i64[0]\n"
             "  %3 = buffer shape=[3] dtype=bool serial=7 : bool[3]\n  return %0, %1, %2, %3\n}\n");
}

static void test_modules(void **state) {
  static const char text[] =
      "graph @f(%x: f32[2]) { %a, %b = split %x parts=2 axis=0 : f32[1], f32[1]\n return %b, 1.5, %x }\n"
      "graph @g(%x: f32[2], %y: i32[k=1..4, l=2..8:2], %p: bool[]) {\n  %z, %c, %d = cond %p, %x then=@f "
      "else=@f\n"
      "  return %z\n}\n";
  bench *b = bench_begin();
  assert_int_equal(read_text(b, text, sizeof text - 1), IR_OK);
  assert_int_equal(b->module.count, 2);
  const ir_parsed_graph *f = ir_module_find(&b->module, "f"), *g = ir_module_find(&b->module, "g");
  assert_int_equal(f->param_count, 1);
  assert_string_equal(f->params[0].name, "x");
  assert_int_equal(f->result_count, 3);
  assert_string_equal(f->results[0].name, "b");
  assert_string_equal(f->results[1].name, "1");
  assert_int_equal(f->results[2].ref, f->params[0].ref);
  assert_true(ir_get(&b->g, f->results[1].ref)->weak);
  assert_int_equal(g->var_count, 2);
  assert_string_equal(ir_name_text(&b->g, ir_get(&b->g, g->vars[1])->arg), "l");
  assert_null(ir_module_find(&b->module, "h"));
}

static void test_kernels(void **state) {
  check_same("kernel @copy(n=4..64:4, p0: f32[(n*2)], p1: f32[480]) {\n  for ridx0 in 0..(n//4) thread {\n"
             "    %0 = (ridx0*8) : index\n    for ridx1 in 0..8 vector {\n"
             "      %1 = load p1[(%0+ridx1)] if ((%0+ridx1)<480) else f32(0.5) : f32\n"
             "      %2 = mul %1, f32(2.0) : f32\n      store p0[(%0+ridx1)] = %2\n    }\n  }\n}\n");
  check_same("kernel @add(p0: f32[12], p1: i32[3], p2: f32[9]) {\n  for ridx0 in 0..3 thread {\n"
             "    for ridx1 in 0..3 {\n      %0 = load p1[ridx1] : i32\n"
             "      %1 = bound %0, (4), true mode=fill : index\n      %2 = load p2[((ridx1*3)+ridx0)] : f32\n"
             "      update p0[((%1*3)+ridx0)] add %2 if (%1>=2) over ridx1\n"
             "      update p0[ridx0] = f32(0.0)\n    }\n  }\n}\n");
  check_same("kernel @sum(p0: f32[4], p1: f32[4096]) {\n  for ridx0 in 0..4 thread {\n    %0 = (ridx0*1024) "
             ": index\n"
             "    %1 = for ridx1 in 0..16 vector with %2 = f32(0.0) {\n"
             "      %3 = for ridx2 in 0..64 with %4 = f32(0.0) {\n"
             "        %5 = load p1[(%0+(ridx2*16)+ridx1)] : f32\n        %6 = add %4, %5 : f32\n        next "
             "%6\n      }\n"
             "      %7 = add %2, %3 : f32\n      next %7\n    }\n    store p0[ridx0] = %1\n  }\n}\n");
  check_same(
      "kernel @two(p0: f32[4], p1: i64[4]) {\n  for ridx0 in 0..4 {\n"
      "    %0 = for ridx1 in 0..3 with %1 = f32(-inf), %2 = i64(0) {\n      %3 = cast (ridx1) dtype=f32 : "
      "f32\n"
      "      %4 = max %1, %3 : f32\n      %5 = cast (ridx1+ridx0) dtype=i64 : i64\n      next %4, %5\n    }\n"
      "    store p0[ridx0] = %0\n    %6 = get %0 slot=1 dtype=i64 : i64\n    store p1[ridx0] = %6\n  }\n}\n");
  check_same("kernel @staged(p0: f32[8], p1: f32[64]) {\n  for ridx0 in 0..8 vector {\n"
             "    %0 = for ridx1 in 0..2 with %1 = f32(0.0) {\n      local l0: f32[32] over ridx1\n"
             "      %2 = (ridx1*32) : index\n      for ridx2 in 0..32 vector {\n"
             "        %3 = load p1[(%2+ridx2)] : f32\n        store l0[ridx2] = %3\n      }\n"
             "      %4 = for ridx3 in 0..4 with %5 = %1 {\n        %6 = load l0[((ridx3*8)+ridx0)] : f32\n"
             "        %7 = add %5, %6 : f32\n        next %7\n      }\n      next %4\n    }\n"
             "    store p0[ridx0] = %0\n  }\n}\n");
  check_same("index @r(n=1..9, p0: f32[n], p1: f32[99], p2: i32[4]) {\n  range ridx0 in 0..n\n"
             "  %0 = load p2[(ridx0%4)] : i32\n  %1 = bound %0, (99), true mode=clip : index\n"
             "  range ridx1 in 0..9\n  %2 = load p1[min((%1+ridx1), 98)] if ((ridx0<4)&!(ridx1==2)) : f32\n"
             "  %3 = reduce max %2 over ridx1 : f32\n  store p0[ridx0] = %3\n}\n");
}

/* In whatever order a kernel is written, its listing computes each value in the outermost possible loop. */
static void test_placement(void **state) {
  check_fixed("kernel @k(p0: f32[64], p1: f32[64]) { for ridx0 in 0..8 {\n for ridx1 in 0..8 {\n %a = load "
              "p1[0] : f32\n"
              " %b = load p1[ridx0//2] : f32\n %c = load p1[ridx1] : f32\n %d = add %a, %b : f32\n %e = add "
              "%d, %c : f32\n"
              " store p0[ridx0*8+ridx1] = %e\n}\n}\n}\n",
              "kernel @k(p0: f32[64], p1: f32[64]) {\n  %0 = load p1[0] : f32\n  for ridx0 in 0..8 {\n"
              "    %1 = (ridx0*8) : index\n    %2 = load p1[(ridx0//2)] : f32\n    %3 = add %0, %2 : f32\n"
              "    for ridx1 in 0..8 {\n      %4 = load p1[ridx1] : f32\n      %5 = add %3, %4 : f32\n"
              "      store p0[(%1+ridx1)] = %5\n    }\n  }\n}\n");
  /* the inner sum depends on ridx0 only through its second load, and not on ridx1 */
  check_fixed(
      "kernel @h(p0: f32[64], p1: f32[64]) { for ridx0 in 0..8 {\n for ridx1 in 0..8 {\n"
      " %s = for ridx2 in 0..4 with %c = f32(0.0) {\n %t = for ridx3 in 0..2 with %d = %c {\n"
      " %v = load p1[ridx3+ridx2+ridx0] : f32\n %w = add %d, %v : f32\n next %w\n }\n next %t\n }\n"
      " store p0[ridx0*8+ridx1] = %s\n}\n}\n}\n",
      "kernel @h(p0: f32[64], p1: f32[64]) {\n  for ridx0 in 0..8 {\n    %0 = (ridx0*8) : index\n"
      "    %1 = for ridx2 in 0..4 with %2 = f32(0.0) {\n      %3 = for ridx3 in 0..2 with %4 = %2 {\n"
      "        %5 = load p1[(ridx3+ridx2+ridx0)] : f32\n        %6 = add %4, %5 : f32\n        next %6\n     "
      " }\n"
      "      next %3\n    }\n    for ridx1 in 0..8 {\n      store p0[(%0+ridx1)] = %1\n    }\n  }\n}\n");
}

static ir_ref parse_one(bench *b, const char *text) {
  ir_parser p;
  ir_parser_init(&p, &b->g, &ir_builder_raw, "e", text, strlen(text));
  ir_ref ref = ir_parse_expression(&p);
  if (ref && p.lex.token.kind != IR_TOKEN_END) ir_lex_fail(&p.lex, "trailing text", "an operator");
  ir_parser_free(&p);
  return b->error.status ? 0 : ref;
}

static void test_expressions(void **state) {
  static const struct {
    const char *text, *printed;
  } cases[] = {
      {"n=1..8 + 2*n", "(n+(2*n))"},
      {"n=1..8 - 1 - n", "((n-1)-n)"},
      {"(n=1..8+-2)", "(n+-2)"},
      {"n=-4..8:4 // 2 % 3 * 4", "(((n//2)%3)*4)"},
      {"n=1..8 + 1 + n*2 + 3", "(((n+1)+(n*2))+3)"},
      {"(n=1..8<5)&((n<2)!=True)", "((n<5)&((n<2)!=True))"},
      {"n=1..8 < 3 | n >= 4 & n == 5", "((n<3)|((n>=4)&(n==5)))"},
      {"!(n=1..8 < 3)", "!(n<3)"},
      {"-(n=1..8)*3", "((-n)*3)"},
      {"neg(3)", "neg(3)"},
      {"max(n=1..8, min(3, n))", "max(n, min(3, n))"},
      {"where(n=1..8<2, n, -9223372036854775808)", "where((n<2), n, -9223372036854775808)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bench *b = bench_begin();
    ir_ref ref = parse_one(b, cases[i].text);
    assert_string_equal(b->error.text, "");
    ir_print_expr(&b->g, ref, &b->text);
    assert_string_equal(ir_text_get(&b->text), cases[i].printed);
  }
}

static void test_expression_errors(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"1+", "e:1:3: error: bad expression, found the end of the text, expected a number, a variable, a "
             "range, '-', '!' or '('"},
      {"(1+2", "e:1:5: error: bad expression, found the end of the text, expected an operator or ')'"},
      {"1)", "e:1:2: error: trailing text, found ')', expected an operator"},
      {"k+1", "e:1:1: error: unknown name in an expression, found 'k', expected a variable declared before, "
              "as in n=1..8, or a value with its %, as in %x"},
      {"ridx0", "e:1:1: error: unknown range, found 'ridx0', expected a range of an enclosing loop"},
      {"9223372036854775808",
       "e:1:1: error: integer out of range, found 9223372036854775808, expected a value of index"},
      {"99999999999999999999", "e:1:1: error: integer too large, found '99999999999999999999', expected at "
                               "most 18446744073709551615"},
      {"n=8..4", "e:1:2: error: bad bounds of a variable, found 8..4:1, expected low <= high, a divisor >= 1 "
                 "and a multiple of it between them"},
      {"n=5..7:4", "e:1:2: error: bad bounds of a variable, found 5..7:4, expected low <= high, a divisor >= "
                   "1 and a multiple of it between them"},
      {"n=1..4+(n=1..5)",
       "e:1:9: error: variable declared again with other bounds, found 'n', expected its name alone"},
      {"f32=1..4", "e:1:1: error: reserved name, found 'f32', expected a variable's name"},
      {"3//0", "e:1:2: error: bad operands of floordiv, found index first, expected a divisor >= 1"},
      {"(1<2)+1", "e:1:6: error: bad operands of add, found bool first, expected operands of one dtype"},
      {"1&2", "e:1:2: error: bad operands of and, found index first, expected truth values"},
      {"min(1)", "e:1:1: error: wrong number of operands of min, found 1, expected 2"},
      {"foo(1)",
       "e:1:1: error: unknown function in an expression, found 'foo', expected min, max, where or "
       "another elementwise operation; an operation on arrays has a line of its own, as in %t = neg %x"},
      {"1 $ 2", "e:1:3: error: unexpected character, found '$', expected '%', with which the name of a value "
                "begins, as in %x"},
      {"\x80",
       "e:1:1: error: unexpected character, found '\\x80', expected text; is this a file of another kind?"},
      {"12ab", "e:1:1: error: malformed number, found '12' followed by a letter, expected digits"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bench *b = bench_begin();
    assert_int_equal(parse_one(b, cases[i].text), 0);
    assert_string_equal(b->error.text, cases[i].message);
  }
}

#define BODY(statement) "graph @f(%x: f32[2]) {\n  " statement "\n  return %x\n}\n"

static void test_graph_errors(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"",
       "t.vf:1:1: error: nothing to read, found the end of the text, expected 'graph @NAME(...) { ... }'"},
      {"grap @f() {}",
       "t.vf:1:1: error: unexpected text, found 'grap', expected 'graph', 'kernel', 'index' or 'mesh'"},
      {"graph f", "t.vf:1:7: error: missing name, found 'f', expected @NAME"},
      {"graph @f(%x: f33[2]) {",
       "t.vf:1:14: error: unknown dtype, found 'f33', expected a type as in f32[2,3], of one of bool i8 u8 "
       "i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64"},
      {"graph @f(%x: f32[-2]) {", "t.vf:1:18: error: bad size, found a negative number, expected one >= 0; a "
                                  "size that varies is a variable with its bounds, as in n=1..8"},
      {"graph @f(%x: f32[2], %x: f32[2]) {",
       "t.vf:1:22: error: name defined twice, found '%x', expected a new name"},
      {BODY("%a = neg %y"), "t.vf:2:12: error: unknown value, found '%y', expected a parameter or the result "
                            "of a statement above"},
      {BODY("%x = neg %x"), "t.vf:2:3: error: name defined twice, found '%x', expected a new name; a "
                            "parameter that is written is a reference, as in %x: ref f32[2]"},
      {BODY("%a = neg %x,"), "t.vf:2:15: error: bad operand, found the end of the line, expected %NAME, a "
                             "number, true, false or an index expression in parentheses"},
      {BODY("%a = neg %x %x"), "t.vf:2:15: error: operands without a comma, found '%', expected ',' between "
                               "them, as in add %x, %y"},
      {BODY("%a neg %x"), "t.vf:2:6: error: bad statement, found 'neg', expected '='"},
      {BODY("%a ="),
       "t.vf:2:7: error: bad statement, found the end of the line, expected the name of an operation"},
      {BODY("%a = frob %x"),
       "t.vf:2:3: error: frob: there is no such operation; docs/operations.md and `viewfold ops` list them"},
      {BODY("%a = neg %x axis=1 axis=2"),
       "t.vf:2:22: error: attribute given twice, found 'axis' again, expected each once"},
      {BODY("%a = neg %x then=@g"),
       "t.vf:2:20: error: unknown graph, found '@g', expected a graph defined above"},
      {BODY("%a = neg %x shape=[1,2"), "t.vf:3:3: error: bad list, found 'return', expected ',' or ']'"},
      {BODY("%a = neg %x shape=[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1"),
       "t.vf:2:53: error: lists nested too deep, found '[', expected at most 32 levels"},
      {BODY("%a = neg %x mode=\"edge"),
       "t.vf:2:20: error: unfinished string, found the end of the line, expected '\"'"},
      {BODY("%a = neg %x : f32[3]"), "t.vf:2:17: error: wrong type of '%a', found f32[3], expected f32[2]"},
      {BODY("%a, %b, %c = split %x parts=2 axis=0"),
       "t.vf:2:3: error: wrong number of results of split, found 3 names, expected 2, as in "
       "%a, %b = split"},
      {"graph @f(%x: f32[2]) {\n}\n",
       "t.vf:2:1: error: missing return, found '}', expected '%NAME = ...' or 'return'"},
      {"graph @f(%x: f32[2]) {\n  return %x\n",
       "t.vf:3:1: error: a graph without an end, found the end of the text, expected '}'"},
      {BODY("") "junk",
       "t.vf:5:1: error: unexpected text, found 'junk', expected 'graph', 'kernel', 'index' or 'mesh'"},
      {BODY("") BODY(""), "t.vf:5:7: error: name of a graph used twice, found '@f', expected a new name"},
      {"kernel @k(p0: f32[4]) {\n  store p1[0] = f32(0.0)\n}\n",
       "t.vf:2:9: error: unknown parameter, found 'p1', expected one from the list above"},
      {"kernel @k(p0: f32[4]) {\n  %a = neg f32(0.0)\n}\n",
       "t.vf:2:20: error: missing dtype, found the end of the line, expected ': dtype'"},
      {"kernel @k(p0: f32[4]) {\n  next f32(0.0)\n}\n",
       "t.vf:2:3: error: next outside a loop of carried values, found 'next', expected a statement or '}'"},
      {"kernel @k(p0: f32[8]) {\n  for ridx0 in 0..8 {\n for ridx0 in 0..2 {\n }\n }\n}\n",
       "t.vf:3:6: error: name declared twice, found 'ridx0', expected a new one"},
      {"kernel @k(p0: f32[8], p0: f32[8]) {\n}\n",
       "t.vf:1:23: error: name declared twice, found 'p0', expected a new one"},
      {"kernel @k(p0: f32[8], p1: i32[8]) {\n  for ridx0 in 0..8 {\n    store p0[(1<2)] = f32(0.0)\n  }\n}\n",
       "t.vf:3:14: error: bad expression, found dtype bool, expected index"},
      {"kernel @k(p0: f32[8]) {\n  local l0: f32[2,2]\n}\n",
       "t.vf:2:9: error: bad local, found 2 sizes, expected one"},
      {"kernel @k(p0: f32[2,4]) {\n}\n", "t.vf:1:11: error: bad parameter, found 2 sizes, expected one"},
      {"kernel @k(p0: f32[8], p1: i32[8]) {\n  for ridx0 in 0..8 {\n    %0 = load p1[ridx0] : i32\n    %1 = "
       "bound %0, (4), true mode=3 : index\n  }\n}\n",
       "t.vf:4:35: error: bad value of attribute mode, found another kind, expected gather_mode"},
      {"kernel @k(p0: f32[8], p1: i32[8]) {\n  for ridx0 in 0..8 {\n    %0 = load p1[ridx0] : i32\n    %1 = "
       "bound %0, (4), true axis=0 : index\n  }\n}\n",
       "t.vf:4:35: error: unknown attribute of bound, found axis, expected those of the operation: "
       "mode:gather_mode"},
      {"kernel @k(p0: f32[8], p1: i32[8]) {\n  for ridx0 in 0..8 {\n    %0 = load p0[ridx0] : f32\n    %1 = "
       "sum %0 : f32\n  }\n}\n",
       "t.vf:4:10: error: unknown operation, found 'sum' of 1 operands, expected an operation of kernels"},
      {"kernel @k(p0: f32[8], p1: i32[8]) {\n  for ridx0 in 0..8 {\n    %0 = (ridx0*2) : f32\n  }\n}\n",
       "t.vf:3:10: error: wrong dtype of an expression, found f32, expected index"},
      {"kernel @k(p0: f32[8]) {\n  %0 = for ridx0 in 0..8 with %1 = f32(0.0) {\n    next %1, %1\n  }\n}\n",
       "t.vf:2:3: error: wrong number of next values, found 2, expected 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bench *b = bench_begin();
    assert_int_equal(read_text(b, cases[i].text, strlen(cases[i].text)), IR_ERR_INVALID);
    assert_string_equal(b->error.text, cases[i].message);
    assert_int_equal(b->module.count, 0);
  }
}

/* The forms that the parser reads itself. A builder, when there is one, is asked first, as it may know
 * others. */
static void test_literal_errors(void **state) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {BODY("%a = const value=300 dtype=u8"),
       "t.vf:2:20: error: integer out of range, found 300, expected a value of u8"},
      {BODY("%a = const value=0.5 dtype=i8"),
       "t.vf:2:20: error: literal does not suit its dtype, found a float, expected a literal of i8"},
      {BODY("%a = data shape=[2] dtype=i8 values=[1]"),
       "t.vf:2:8: error: wrong number of values, found 1, expected 2 as the shape says"},
      {BODY("%a = data shape=[n=1..4] dtype=i8 values=[1]"),
       "t.vf:2:8: error: bad shape of data, found a size that varies, expected sizes that are numbers"},
      {BODY("%a = data shape=[4294967296,4294967296] dtype=i8 values=[1]"),
       "t.vf:2:8: error: too much data, found a shape of 2^63 bytes or more, expected fewer"},
      {BODY("%a = neg %x"), "t.vf:2:8: error: no tensor operations here, found 'neg', expected a literal"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bench *b = bench_begin();
    assert_int_equal(
        ir_parse_module(&b->g, &ir_builder_raw, "t.vf", cases[i].text, strlen(cases[i].text), &b->module),
        IR_ERR_INVALID);
    assert_string_equal(b->error.text, cases[i].message);
  }
}

/* the verifier names the line and the rule */
static void check_broken(const char *text, int level, const char *message) {
  bench *b = bench_begin();
  read_text(b, text, strlen(text));
  assert_string_equal(b->error.text, "");
  assert_int_equal(ir_verify(&b->g, b->module.graphs[0].root, level, &b->error), IR_ERR_INTERNAL);
  assert_string_equal(b->error.text, message);
}

#define LOOP0 "kernel @k(p0: f32[8], p1: f32[8]) {\n  for ridx0 in 0..8 {\n"

static void test_verify_kernels(void **state) {
  check_broken(
      "index @k(p0: f32[8]) {\n  range ridx0 in 0..8\n  %0 = neg i32(1) : f32\n  store p0[ridx0] = %0\n}\n",
      IR_LEVEL_LOOP,
      "broken neg: `%0 = neg i32(1) : f32`: neg must have operands and result of one dtype, not bool");
  check_broken("kernel @k(p0: f32[8]) {\n  range ridx0 in 0..8\n  store p0[ridx0] = f32(0.0)\n}\n",
               IR_LEVEL_LOOP, "broken range: `range ridx0 in 0..8`: no loop binds it");
  check_broken("kernel @k(p0: f32[8]) {\n  %0 = for ridx0 in 0..6 vector with %1 = f32(0.0) {\n"
               "    %2 = load p0[ridx0] : f32\n    %3 = add %1, %2 : f32\n    next %3\n  }\n"
               "  store p0[0] = %0\n}\n",
               IR_LEVEL_LOOP,
               "broken loop: `%0 = for ridx0 in 0..6 vector with %1 = f32(0.0) {`: the extent of an unroll "
               "or vector loop with carried values must be a power of two");
  check_broken("kernel @k(p0: f32[8]) {\n  %0 = for ridx0 in 0..8 unroll with %1 = f32(0.0) {\n"
               "    store p0[ridx0] = f32(1.0)\n    %2 = add %1, f32(1.0) : f32\n    next %2\n  }\n"
               "  store p0[0] = %0\n}\n",
               IR_LEVEL_LOOP,
               "broken loop: `%0 = for ridx0 in 0..8 unroll with %1 = f32(0.0) {`: only an effect may follow "
               "the next values, and only in a serial loop");
  check_broken("kernel @k(p0: f32[8]) {\n  for ridx0 in 0..8 vector {\n    for ridx1 in 0..4 vector {\n"
               "      store p0[ridx0] = f32(0.0)\n    }\n  }\n}\n",
               IR_LEVEL_LOOP,
               "broken loop: `for ridx1 in 0..4 vector {`: a vector loop must not be nested in another");
  check_broken("kernel @k(p0: f32[8]) {\n  %0 = for ridx0 in 0..8 with %1 = f32(0.0) {\n    next %1\n  }\n"
               "  store p0[0] = %1\n}\n",
               IR_LEVEL_LOOP, "broken carry: `carry(ridx0, slot=0, dtype=f32)`: no loop binds its range");
  check_broken(
      "kernel @k(p0: f32[8]) {\n  %0 = for ridx0 in 0..8 vector with %1 = f32(0.0) {\n    next %1\n  }\n"
      "  store p0[0] = %0\n}\n",
      IR_LEVEL_LOOP,
      "broken loop: `%0 = for ridx0 in 0..8 vector with %1 = f32(0.0) {`: next value 0 of an unroll or "
      "vector loop must combine the carried value with one that does not depend on it, by add, mul, min, "
      "max, and, or");
  check_broken("index @k(p0: bool[8]) {\n  range ridx0 in 0..8\n  update p0[ridx0] add true over ridx0\n}\n",
               IR_LEVEL_LOOP,
               "broken update: `update p0[ridx0] add true over ridx0`: an update must store its value, or "
               "add it, and then it must not be bool");
  check_broken(
      "index @k(p0: f32[8]) {\n  range ridx0 in 0..8\n  update p0[ridx0] = f32(0.0) over (ridx0+1)\n}\n",
      IR_LEVEL_LOOP,
      "broken update: `update p0[ridx0] = f32(0.0) over (ridx0+1)`: source 4 is a add, not a range");
  check_broken(
      LOOP0 "    %0 = load p1[ridx0] : f32\n    %1 = reduce add %0 over ridx0 : f32\n"
            "    store p0[ridx0] = %1\n  }\n}\n",
      IR_LEVEL_LOOP,
      "broken reduce: `%1 = reduce add %0 over ridx0 : f32`: a kernel must hold loops, not reductions");
  check_broken(LOOP0 "    %0 = load p1[ridx0] : f32\n    %1 = prefix add %0, f32(0.0) over ridx0 : f32\n"
                     "    store p0[ridx0] = %1\n  }\n}\n",
               IR_LEVEL_LOOP,
               "broken prefix: `%1 = prefix add %0, f32(0.0) over ridx0 : f32`: its range must be that of a "
               "vector loop");
  check_broken(
      "kernel @k(p0: f32[8], p1: f32[8]) {\n  for ridx0 in 0..8 vector {\n    %0 = load p1[ridx0] : f32\n"
      "    %1 = suffix sub %0, f32(0.0) over ridx0 : f32\n    store p0[ridx0] = %1\n  }\n}\n",
      IR_LEVEL_LOOP,
      "broken prefix: `%1 = suffix sub %0, f32(0.0) over ridx0 : f32`: it must combine by add, mul, min, "
      "max, "
      "and, or");
  check_broken(LOOP0 "    store p0[ridx0//(ridx0-1)] = f32(0.0)\n  }\n}\n", IR_LEVEL_LOOP,
               "broken floordiv: `(ridx0//(ridx0-1))`: a divisor must be proven >= 1, but this one may be as "
               "low as -1");
  check_broken("kernel @k(p0: f32[8]) {\n  for ridx0 in 0..8 {\n    store p0[ridx0] = i32(0)\n  }\n}\n",
               IR_LEVEL_LOOP, "broken store: `store p0[ridx0] = i32(0)`: source 2 has dtype i32, not f32");
  check_broken(
      "kernel @k(p0: f32[8], p1: f32[8]) {\n  store p0[0] = f32(0.0)\n  for ridx0 in 0..8 {\n  }\n  store "
      "p0[ridx0] = f32(1.0)\n}\n",
      IR_LEVEL_LOOP,
      "broken store: `store p0[ridx0] = f32(1.0)`: it uses `ridx0` outside the loop in which that is "
      "computed");
  check_broken(
      LOOP0
      "    store p0[ridx0] = f32(1.0)\n    for ridx1 in 0..2 thread {\n      store p0[ridx0] = f32(0.0)\n    "
      "}\n  }\n}\n",
      IR_LEVEL_LOOP,
      "broken loop: `for ridx1 in 0..2 thread {`: only the outermost loop of a kernel, but for serial ones "
      "that "
      "run nothing else, may be a thread loop");
}

#define KEPT "kernel @k(p0: f32[8]) {\n  local l0: f32[2] kept\n  store l0[1] = f32(0.0)\n"

static void test_verify_locals(void **state) {
  check_broken("kernel @k(p0: f32[8]) {\n  local l0: f32[2]\n  %0 = load l0[1] : f32\n  store p0[0] = %0\n"
               "  store l0[1] = f32(0.0)\n}\n",
               IR_LEVEL_LOOP,
               "broken load: `%0 = load l0[1] : f32`: it loads from a local before any store to that local");
  check_broken("kernel @k(p0: f32[8]) {\n  local l0: f32[2]\n  store l0[1] = f32(0.0)\n"
               "  %0 = load l0[1] : f32\n  store p0[0] = %0\n  store l0[0] = f32(0.0)\n}\n",
               IR_LEVEL_LOOP,
               "broken store: `store l0[0] = f32(0.0)`: it stores to a local after a load from that local, "
               "which is not kept");
  check_broken(KEPT "  %0 = load l0[1] : f32\n  for ridx0 in 0..8 {\n    %1 = add %0, f32(1.0) : f32\n"
                    "    store l0[0] = %1\n    store p0[ridx0] = %1\n  }\n}\n",
               IR_LEVEL_LOOP,
               "broken store: `store l0[0] = %1`: it uses, in a loop that stores to a kept local, a value "
               "loaded from that local outside the loop");
  bench *b = bench_begin();
  const char *text = KEPT "  for ridx0 in 0..8 {\n    %0 = load l0[((ridx0+1)%2)] : f32\n"
                          "    %1 = add %0, f32(1.0) : f32\n    store l0[(ridx0%2)] = %1\n"
                          "    store p0[ridx0] = %1\n  }\n}\n";
  read_text(b, text, strlen(text));
  assert_int_equal(ir_verify(&b->g, b->module.graphs[0].root, IR_LEVEL_LOOP, &b->error), IR_OK);
}

static void check_broken_node(bench *b, ir_ref node, const char *message) {
  assert_int_not_equal(node, 0);
  ir_error_clear(&b->error);
  assert_int_equal(ir_verify(&b->g, ir_tuple(&b->g, &node, 1), IR_LEVEL_TENSOR, &b->error), IR_ERR_INTERNAL);
  assert_string_equal(b->error.text, message);
}

/* A load has no attribute bits beyond its mode. */
static void test_verify_load_attributes(void **state) {
  bench *b = bench_begin();
  const char *text = LOOP0 "    %0 = load p1[ridx0] : f32\n    store p0[ridx0] = %0\n  }\n}\n";
  read_text(b, text, strlen(text));
  ir_ref root = b->module.graphs[0].root, *live = NULL;
  size_t count = 0, cap = 0;
  assert_int_equal(ir_verify(&b->g, root, IR_LEVEL_LOOP, &b->error), IR_OK);
  assert_int_equal(ir_reachable(&b->g, &root, 1, &live, &count, &cap), IR_OK);
  for (size_t i = 0; i < count; i++) {
    ir_node *n = (ir_node *)ir_get(&b->g, live[i]);
    if (n->op == IR_OP_LOAD) n->arg = ir_pack_args(0, 0, 1);
  }
  assert_int_equal(ir_verify(&b->g, root, IR_LEVEL_LOOP, &b->error), IR_ERR_INTERNAL);
  ir_free(b->g.mem, live, cap * sizeof *live);
}

static void test_verify_tensors(void **state) {
  bench *b = bench_begin();
  ir_graph *g = &b->g;
  ir_ref two = ir_index(g, 2), shape = ir_tuple(g, &two, 1), n = ir_var(g, "n", 1, 0, 8, 1),
         three = ir_index(g, 3);
  ir_ref x = ir_make_tensor(g, IR_OP_INPUT, IR_F32, shape, ir_name(g, "x", 1), &two, 1);
  ir_ref y = ir_make_tensor(g, IR_OP_INPUT, IR_I32, shape, ir_name(g, "y", 1), &two, 1);
  ir_ref z = ir_make_tensor(g, IR_OP_INPUT, IR_F32, ir_tuple(g, &three, 1), ir_name(g, "z", 1), &three, 1);
  ir_ref xy[] = {x, y}, xz[] = {x, z};
  assert_int_equal(ir_verify(g, ir_tuple(g, &x, 1), IR_LEVEL_TENSOR, &b->error), IR_OK);
  check_broken_node(
      b, ir_make_tensor(g, IR_OP_ADD, IR_F32, shape, 0, xy, 2),
      "broken add: `%0 = add %x, %y : f32[2]`: add must have operands and result of one dtype, not bool");
  check_broken_node(
      b, ir_make_tensor(g, IR_OP_LT, IR_F32, shape, 0, (ir_ref[]){x, x}, 2),
      "broken lt: `%0 = lt %x, %x : f32[2]`: lt must have operands of one dtype and a bool result");
  check_broken_node(b, ir_make_tensor(g, IR_OP_ADD, IR_F32, shape, 0, xz, 2),
                    "broken add: `%0 = add %x, %z : f32[2]`: operand 2 must have the shape of the result, or "
                    "be a constant of rank 0");
  check_broken_node(
      b, ir_make_tensor(g, IR_OP_SQRT, IR_I32, shape, 0, &y, 1),
      "broken sqrt: `%0 = sqrt %y : i32[2]`: sqrt must have operands and result of one float dtype");
  check_broken_node(b, ir_make(g, IR_OP_NEG, IR_F32, 0, &x, 1),
                    "broken neg: `%0 = neg %x : f32`: a tensor must have a shape");
  check_broken_node(
      b, ir_make_tensor(g, IR_OP_PERMUTE, IR_F32, shape, 0, (ir_ref[]){x, two}, 2),
      "broken permute: `%0 = permute %x order=[2] : f32[2]`: order must hold axes of the operand");
  check_broken_node(
      b, ir_make_tensor(g, IR_OP_PAD, IR_F32, shape, 0, (ir_ref[]){x, ir_int(g, IR_I32, 1), two, two}, 4),
      "broken pad: `%0 = pad %x value=1 pads=[[2,2]] : f32[2]`: value must be a constant of the node's "
      "dtype");
  check_broken_node(b, ir_make_tensor(g, IR_OP_SHRINK, IR_F32, shape, 0, xy, 1),
                    "broken shrink: `%0 = shrink %x bounds=[] : f32[2]`: shrink must have 3 sources with its "
                    "attributes, not 1");
  ir_ref quotient = ir_make(g, IR_OP_FLOORDIV, IR_INDEX, 0, (ir_ref[]){two, n}, 2);
  check_broken_node(
      b, ir_make_tensor(g, IR_OP_RESHAPE, IR_F32, shape, 0, (ir_ref[]){x, quotient}, 2),
      "broken floordiv: `(2//n)`: a divisor must be proven >= 1, but this one may be as low as 0");
  check_broken_node(b, ir_make(g, IR_OP_STORE, IR_NONE, 0, NULL, 0),
                    "broken store: `%0 = store : none`: store may not appear in a tensor graph");
  ir_ref twin = ir_make_tensor(g, IR_OP_INPUT, IR_I8, shape, ir_name(g, "x", 1), &two, 1);
  check_broken_node(b, ir_make_tensor(g, IR_OP_CONCAT, IR_F32, shape, 0, (ir_ref[]){x, twin}, 2),
                    "broken input: `%x: i8[2]`: another one has the same name");
}

static void *deep_texts(void *arg) {
  bench *b = arg;
  /* 100,000 statements */
  ir_text t;
  ir_text_init(&t, &b->mem);
  ir_text_str(&t, "graph @deep(%x: f32[2]) {\n  %0 = neg %x : f32[2]\n");
  for (int i = 1; i < LONG; i++)
    ir_textf(&t, "  %%%d = %s %%%d : f32[2]\n", i, i % 2 ? "relu" : "neg", i - 1);
  ir_textf(&t, "  return %%%d\n}\n", LONG - 1);
  read_text(b, t.data, t.len);
  if (b->error.status) return "parse";
  ir_ref root = b->module.graphs[0].root;
  ir_print_graph(&b->g, "deep", root, &b->text);
  if (strcmp(ir_text_get(&b->text), t.data) != 0) return "print";
  if (ir_verify(&b->g, root, IR_LEVEL_TENSOR, &b->error) != IR_OK) return "verify";
  ir_module_free(&b->module);
  ir_text_free(&t);
  ir_text_free(&b->text);
  /* an expression in 100,000 parentheses, with a sum of as many nested terms */
  for (int i = 0; i < LONG; i++) ir_text_str(&t, "(");
  ir_text_str(&t, "n=1..8");
  for (int i = 0; i < LONG; i++) ir_text_str(&t, "-1)");
  ir_ref ref = parse_one(b, t.data);
  if (!ref) return "parse expression";
  ir_print_expr(&b->g, ref, &b->text);
  if (b->text.len != 1 + (size_t)LONG * 4) return "print expression";
  ir_text_free(&t);
  ir_text_free(&b->text);
  /* nested loops, and a chain of values in the innermost */
  ir_text_str(&t, "kernel @deep(p0: f32[2]) {\n");
  for (int i = 0; i < 2000; i++) ir_textf(&t, "for ridx%d in 0..2 {\n", i);
  ir_text_str(&t, "%0 = cast (ridx0) dtype=f32 : f32\n");
  for (int i = 1; i < LONG; i++) ir_textf(&t, "%%%d = add %%%d, f32(%d.0) : f32\n", i, i - 1, i);
  ir_textf(&t, "store p0[ridx1999] = %%%d\n", LONG - 1);
  for (int i = 0; i < 2000; i++) ir_text_str(&t, "}\n");
  ir_text_str(&t, "}\n");
  read_text(b, t.data, t.len);
  if (b->error.status) return "parse kernel";
  root = b->module.graphs[0].root;
  if (ir_verify(&b->g, root, IR_LEVEL_LOOP, &b->error) != IR_OK) return "verify kernel";
  ir_print_graph(&b->g, "deep", root, &b->text);
  ir_text_free(&t);
  return b->text.failed ? "print kernel" : NULL;
}

static void test_deep(void **state) {
  bench *b = bench_begin();
  pthread_attr_t attributes;
  pthread_t thread;
  void *failure;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, deep_texts, b), 0);
  pthread_join(thread, &failure);
  pthread_attr_destroy(&attributes);
  assert_string_equal(b->error.text, "");
  if (failure) fail_msg("%s", (char *)failure);
}

/* A size as it is written, and as op_iota simplifies it */
static bool any_size(ir_graph *g, ir_ref a, ir_ref b) { return true; }

/* n doublings: as a tree 2^n terms, as a graph n lines */
static void test_shared(void **state) {
  bench *b = bench_begin();
  ir_ref sum = ir_var(&b->g, "n", 1, 1, 8, 1);
  for (int i = 0; i < 40; i++)
    sum = ir_make(&b->g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){sum, sum, ir_index(&b->g, i)}, 3);
  ir_print_expr(&b->g, sum, &b->text);
  assert_true(b->text.len > 1 << 20 && b->text.len < (1 << 20) + 1000);
  assert_string_equal(b->text.data + b->text.len - 3, "...");
  ir_text_free(&b->text);
  ir_ref x = ir_make_tensor(&b->g, IR_OP_CAST, IR_F32, ir_tuple(&b->g, NULL, 0), 0, &sum, 1);
  ir_ref sized = ir_make_tensor(&b->g, IR_OP_IOTA, IR_F32, ir_tuple(&b->g, &sum, 1), 0, &sum, 1);
  ir_ref root = ir_tuple(&b->g, (ir_ref[]){x, sized}, 2);
  ir_print_graph(&b->g, "shared", root, &b->text);
  assert_true(b->text.len < 20000);
  const ir_builder builder = {.expr = ir_expr_raw, .apply = fe_builder.apply, .same_size = any_size};
  ir_parse_module(&b->g, &builder, "t.vf", b->text.data, b->text.len, &b->module);
  assert_string_equal(b->error.text, "");
  assert_int_equal(ir_src(&b->g, b->module.graphs[0].root, 0), x);
}

static const char sample[] =
    "graph @f(%x: f32[n=4..64:4,2], %y: f32[2]) {\n  %a = pad %y pads=[[1,1]] mode=\"edge\"\n"
    "  %b = reshape %x shape=[n//4,4,2] : f32[n//4,?,2]\n  %c = data shape=[2] dtype=i8 "
    "values=[1,2]\n"
    "  %d = lt %y, 0.25\n  %e = cast (max(2,n%3)) dtype=f32\n  return %a, %b, %c, %d, %e, 1\n}\n"
    "kernel @k(p0: f32[8], p1: f32[8]) {\n  for ridx0 in 0..8 thread {\n"
    "    %0 = for ridx1 in 0..4 vector with %1 = f32(0.0) {\n      %2 = load p1[(ridx0+ridx1)] if (ridx1<3) "
    ": f32\n"
    "      %3 = add %1, %2 : f32\n      next %3\n    }\n    store p0[ridx0] = %0\n  }\n}\n";

/* every allocation fails once: an error, and nothing leaks */
static void test_short_memory(void **state) {
  for (long budget = 0;; budget++) {
    bench b;
    bool done = bench_start(&b, budget) && read_text(&b, sample, sizeof sample - 1) == IR_OK;
    for (size_t i = 0; i < b.module.count; i++) ir_print_parsed(&b.g, &b.module.graphs[i], &b.text);
    done = done && !b.text.failed &&
           ir_verify(&b.g, b.module.graphs[0].root, IR_LEVEL_TENSOR, &b.error) == IR_OK &&
           ir_verify(&b.g, b.module.graphs[1].root, IR_LEVEL_LOOP, &b.error) == IR_OK;
    if (!done && b.error.status != IR_ERR_MEMORY) assert_true(b.text.failed);
    bench_stop(&b);
    if (done) return;
    assert_true(budget < 5000);
  }
}

/* Damaged text is refused, or read; it never does harm. */
static void test_damage(void **state) {
  uint64_t seed = 1;
  char text[sizeof sample];
  for (int iteration = 0; iteration < 20000; iteration += level_step(2)) {
    memcpy(text, sample, sizeof sample);
    for (int hits = 1 + iteration % 3; hits > 0; hits--) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      size_t at = (size_t)(seed >> 33) % (sizeof sample - 1),
             from = (size_t)(seed >> 13) % (sizeof sample - 1);
      text[at] = iteration % 2 ? sample[from] : (char)(seed >> 40);
    }
    bench *b = bench_begin();
    if (read_text(b, text, sizeof sample - 1) == IR_OK) {
      for (size_t i = 0; i < b->module.count; i++) {
        ir_print_parsed(&b->g, &b->module.graphs[i], &b->text);
        ir_verify(&b->g, b->module.graphs[i].root,
                  b->module.graphs[i].kind == IR_BLOCK_GRAPH ? IR_LEVEL_TENSOR : IR_LEVEL_LOOP, &b->error);
      }
      assert_false(b->text.failed);
    } else {
      assert_true(strncmp(b->error.text, "t.vf:", 5) == 0 && strstr(b->error.text, ": error: "));
    }
  }
}

UNIT_TESTS(test_foreign_names, test_defaults, test_graphs, test_constants, test_modules, test_kernels,
           test_placement, test_expressions, test_expression_errors, test_graph_errors, test_literal_errors,
           test_verify_kernels, test_verify_locals, test_verify_load_attributes, test_verify_tensors,
           test_deep, test_shared, test_short_memory, test_damage)
