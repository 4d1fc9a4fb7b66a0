/* The index algebra: the canonical forms of expressions, as a user reads them. Each row is a text of
 * declarations (`i=0..2`) and an expression, and the text of its canonical form. */
#include "ir/parse/parse.h"
#include "passes/index/index.h"
#include "passes/index/rule.h"
#include "test/lib/graph.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

typedef struct row {
  const char *written, *expected;
} row;

/* The last expression of the text, as written. */
static ir_ref parse(test_graph *b, const char *text) {
  ir_parser p;
  ir_ref r = 0;
  assert_int_equal(ir_parser_init(&p, &b->g, &ir_builder_raw, "test", text, strlen(text)), IR_OK);
  while (p.lex.token.kind != IR_TOKEN_END) {
    r = ir_parse_expression(&p);
    if (!r) fail_msg("%s: %s", text, b->error.text);
    ir_lex_accept(&p.lex, ',');
  }
  ir_parser_free(&p);
  return r;
}

static void assert_text(test_graph *b, ir_ref ref, const char *written, const char *expected) {
  ir_text t;
  ir_text_init(&t, &ir_mem_libc);
  ir_print_expr(&b->g, ref, &t);
  if (!ref || strcmp(ir_text_get(&t), expected) != 0)
    fail_msg("%s became %s, expected %s", written, ref ? ir_text_get(&t) : b->error.text, expected);
  ir_text_free(&t);
}

static void check_rows(const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    test_graph *b = test_graph_begin();
    ir_ref r = pass_simplify(&b->g, parse(b, rows[i].written));
    assert_text(b, r, rows[i].written, rows[i].expected);
    assert_int_equal(pass_simplify(&b->g, r), r);
  }
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof rows / sizeof *rows)

static void test_sums(void **state) {
  static const row rows[] = {
      {"x=0..999 x+0", "x"},
      {"x=0..999 x*1", "x"},
      {"x=0..999 x*0", "0"},
      {"x=0..999 2*x+3+x*4-1", "((x*6)+2)"},
      {"x=0..999 y=0..9 x+y-x", "y"},
      {"x=0..999 y=0..9 (x+y)*3-y*3", "(x*3)"},
      {"x=0..999 y=0..9 (x+2)*y", "((y*2)+(x*y))"},
      {"x=0..999, -(-x)", "x"},
  };
  CHECK_ROWS(rows);
}

static void test_division_and_modulo(void **state) {
  static const row rows[] = {
      {"x=1..999 x//1", "x"},
      {"x=1..999 x//x", "1"},
      {"x=0..999 x%1", "0"},
      {"(-3)//5", "-1"},
      {"(-3)%5", "2"},
      {"x=-3..-2 x//5", "-1"},
      {"x=-3..-2 x%5", "(x+5)"},
      {"i=0..2 j=0..3 (i*4+j)//4", "i"},
      {"i=0..2 j=0..3 (i*4+j)%4", "j"},
      {"i=0..2 j=0..3 ((i*4+j)//2)%2", "(j//2)"},
      {"k=0..11 (k//3)//2", "(k//6)"},
      {"k=0..11 k%12", "k"},
      {"k=0..11 k//12", "0"},
      {"k=0..11 (k*6+3)%4", "(((k*-2)+((k//2)*4))+3)"},
      {"k=0..11 (k%6)%3", "(k+((k//3)*-3))"},
      {"k=0..11 i=0..2 (k*4+i)//12", "(k//3)"},
      {"k=0..11 k//4+(k+1)//4+(k+2)//4+(k+3)//4", "k"},
      {"x=0..999 ((x//3)+5)//4", "(((x+3)//12)+1)"},
      {"x=0..999 y=0..9 (x*8+y*4+3)//4", "((x*2)+y)"},
      {"x=0..999 (x%12)//4", "((x//4)+((x//12)*-3))"},
      {"x=0..7 (7-x)//4", "(((x//4)*-1)+1)"},
      {"x=0..7 (7-x)%4", "(((x*-1)+((x//4)*4))+3)"},
      {"x=0..999 (x%12)%4", "(x+((x//4)*-4))"},
      {"x=0..999 y=0..9 ((x%12)*2+y)%8", "(((x*2)+y)+((((x*2)+y)//8)*-8))"},
  };
  CHECK_ROWS(rows);
}

/* Expressions of the same map, written differently, become the same node. */
static void test_equal_maps_are_one_node(void **state) {
  static const row rows[] = {
      {"k=0..11 (k*6+3)//4", "k=0..11 (k*3+1)//2"},
      {"k=0..99 (k*7)//4", "k=0..99 k+(k*3)//4"},
      {"k=0..99 (-k)//4", "k=0..99, -((k+3)//4)"},
      {"k=0..99 (k//2)//5", "k=0..99 (k//5)//2"},
      {"k=0..99 k//4%3", "k=0..99 k//4-(k//12)*3"},
      {"k=0..99 k<5", "k=0..99 !(k>=5)"},
      {"k=0..99 m=0..9 (k+m)*(k-m)", "k=0..99 m=0..9 k*k-m*m"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    test_graph *b = test_graph_begin();
    ir_ref x = pass_simplify(&b->g, parse(b, rows[i].written)),
           y = pass_simplify(&b->g, parse(b, rows[i].expected));
    if (x != y) fail_msg("%s and %s are two nodes", rows[i].written, rows[i].expected);
  }
}

static void test_recombination(void **state) {
  static const row rows[] = {
      {"x=0..999 x%7+(x//7)*7", "x"},
      {"x=0..999 (x%7)*3+(x//7)*21", "(x*3)"},
      {"x=0..999 x-(x//4)*4", "(x+((x//4)*-4))"},
      {"x=0..999 x%4+((x//4)%3)*4", "(x+((x//12)*-12))"},
      {"x=0..999 x%4+((x//4)%3)*4+(x//12)*12", "x"},
      {"x=0..999 y=0..9 y+x%7+(x//7)*7", "(x+y)"},
  };
  CHECK_ROWS(rows);
}

static void test_comparisons(void **state) {
  static const row rows[] = {
      {"k=0..11 k*2<7", "(k<4)"},
      {"k=0..11 k+3<5", "(k<2)"},
      {"k=0..11 7>k*2", "(k<4)"},
      {"k=0..11 k<12", "True"},
      {"k=0..11 k<0", "False"},
      {"k=0..11 10-k<3", "(k>=8)"},
      {"k=0..11 i=0..2 j=0..3 i*4+j<8", "(i<2)"},
      {"k=0..11 k//4<2", "(k<8)"},
      {"k=0..99 k//4>=2", "(k>=8)"},
      {"k=0..99 k*2==7", "False"},
      {"k=0..99 k*2!=7", "True"},
      {"k=0..99 k==0", "(k<1)"},
      {"k=0..99 max(k,5)<9", "(k<9)"},
  };
  CHECK_ROWS(rows);
}

static void test_connectives(void **state) {
  static const row rows[] = {
      {"x=0..99 (x<5)&(x<3)", "(x<3)"},
      {"x=0..99 (x>=3)&(x>=4)", "(x>=4)"},
      {"x=0..99 (x<5)&(x>=5)", "False"},
      {"x=0..99 (x<5)|(x>=5)", "True"},
      {"x=0..99 (x<3)|(x<5)", "(x<5)"},
      {"x=0..99 (x>=4)&(x<5)", "(x==4)"},
      {"x=0..99 (x<5)&True", "(x<5)"},
      {"x=0..99 (x<5)&False", "False"},
      {"x=0..99 y=0..99 (x<5)&(y<5)&(x+y<10)", "((x<5)&(y<5))"},
      {"x=0..99 y=0..99 !((x<5)&(y<5))", "((x>=5)|(y>=5))"},
  };
  CHECK_ROWS(rows);
}

static void test_choices(void **state) {
  static const row rows[] = {
      {"x=0..99 min(x,100)", "x"},
      {"x=0..99 max(x,100)", "100"},
      {"x=0..99 min(min(x,7),5)", "min(x, 5)"},
      {"x=0..99 y=0..99 max(min(x,y),x)", "x"},
      {"x=0..99 where(x<100,x,0)", "x"},
      {"x=0..99 where(x<5,x,x)", "x"},
      {"x=0..99 where(x>=5,1,2)", "where((x<5), 2, 1)"},
      {"x=0..99 where(x<5,where(x<5,1,2),3)", "where((x<5), 1, 3)"},
  };
  CHECK_ROWS(rows);
}

/* Symbolic sizes, of which only divisibility and bounds are known. */
static void test_symbolic_sizes(void **state) {
  static const row rows[] = {
      {"n=4..64:4 (n//4)*4", "n"},
      {"n=4..64:4 (n//4)*128", "(n*32)"},
      {"n=4..64:4 n%4", "0"},
      {"n=4..64:4 x=0..9 (n+x)%4", "(x+((x//4)*-4))"},
      {"n=4..64:4 x=0..9 (n+x)//4", "((n//4)+(x//4))"},
      {"n=4..64:4 n==6", "False"},
      {"n=1..64 x=0..9 (x*n)//n", "x"},
      {"n=1..64 x=0..9 (x*n)%n", "0"},
      {"n=1..64 n*2-n<n+1", "True"},
  };
  CHECK_ROWS(rows);
}

/* Products of sizes, multiplied out; and products that may be negative. */
static void test_products_of_sizes(void **state) {
  static const row rows[] = {
      {"n=2..64 m=2..64 n*m-2*n-2*m+4>=0", "True"},
      {"n=2..64 n*n-n*(n//2)*2+(n//2)*(n//2)>=0", "True"},
      {"n=2..64 n*n-n*(n//2)*2+(n//2)*(n//2)>=1", "True"},
      {"n=2..64 n*n-n*(n//2)*2+(n//2)*(n//2)+n-n//2-2>=0", "True"},
      {"n=3..64 4*n-n*n<4", "True"},
      {"n=5..64 m=1..64 n*n*m-10*n*m+25*m>=0", "True"},
      {"n=1..64 m=2..64 n*m-2*n-2*m+4<0", "((((m*2)+(n*2))+((m*n)*-1))>=5)"},
      {"n=2..64 n*n-n*(n//2)*2+(n//2)*(n//2)<2", "((((n*n)+((n*(n//2))*-2))+((n//2)*(n//2)))<2)"},
      {"n=-9..9 m=-9..9 n*m+81<1", "((m*n)<-80)"},
  };
  CHECK_ROWS(rows);
}

static ir_ref range(test_graph *b, ir_ref extent, int axis) {
  return ir_make(&b->g, IR_OP_RANGE, IR_INDEX, axis, &extent, 1);
}

static void test_symbolic_ranges(void **state) {
  test_graph *b = test_graph_begin();
  ir_graph *g = &b->g;
  ir_ref n = ir_var(g, "n", 1, 1, 64, 1), m = ir_var(g, "m", 1, 1, 64, 1), nm = pass_mul(g, n, m);
  ir_ref i = range(b, n, 0), j = range(b, m, 1), flat = pass_add(g, pass_mul(g, i, m), j);
  assert_int_equal(pass_div(g, flat, m), i);
  assert_int_equal(pass_mod(g, flat, m), j);
  assert_int_equal(pass_div(g, flat, nm), ir_index(g, 0));
  assert_int_equal(pass_mod(g, flat, nm), flat);
  assert_true(ir_is_true(g, pass_compare(g, IR_OP_LT, flat, nm)));
  assert_true(pass_proves(g, IR_OP_LT, i, n));
  assert_false(pass_proves(g, IR_OP_LT, i, m));
  ir_ref k = range(b, nm, 2), high = pass_div(g, k, m), low = pass_mod(g, k, m); /* split into digits */
  assert_int_equal(pass_add(g, pass_mul(g, high, m), low), k);
  assert_int_equal(pass_mod(g, high, n), high);
  assert_true(pass_proves(g, IR_OP_LT, high, n));
  ir_ref wide = pass_add_int(g, n, 2), w = range(b, wide, 3), x = range(b, ir_index(g, 9), 4);
  ir_ref padded = pass_add(g, pass_mul(g, x, wide), w); /* the divisor is a sum */
  assert_int_equal(pass_div(g, padded, wide), x);
  assert_int_equal(pass_mod(g, padded, wide), w);
  assert_true(pass_divides(g, m, nm));
  assert_false(pass_divides(g, n, m));
}

/* A transpose flattened, and a pixel layout. */
static void test_views(void **state) {
  static const row rows[] = {
      {"r=0..2 s=0..1 ((r*2+s)%3)*2+((r*2+s)//3)", "(((r*-1)+(s*2))+((((r+(s*-1))+2)//3)*5))"},
      {"r=0..1 s=0..11 ((r*12+s)//4)%6+((r*12+s)%4)*6", "(((r*3)+(s*6))+((s//4)*-23))"},
  };
  CHECK_ROWS(rows);
}

static void test_index_given_its_validity(void **state) {
  static const row rows[] = {
      {"x=0..15 x%12", "x<12"},
      {"x=0..13 (x+10)%12", "x>=2"},
      {"r=0..6 s=0..12 (r*13+s)%70", "r*13+s<70"},
      {"r=0..6 s=0..12 (r*13+s)//70", "r*13+s<70"},
      {"x=0..15 y=0..3 (x*4+y)%16", "(x>=3)&(x<4)"},
      {"x=0..15 x//4", "x==9"},
      {"x=0..15 x+1", "False"},
  };
  static const char *const expected[] = {"x", "(x+-2)", "((r*13)+s)", "0", "(y+12)", "2", "0"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    test_graph *b = test_graph_begin();
    char text[256];
    const char *last = strrchr(rows[i].written, ' ');
    snprintf(text, sizeof text, "%.*s %s", (int)(last - rows[i].written), rows[i].written, rows[i].expected);
    ir_ref index = pass_simplify(&b->g, parse(b, rows[i].written)),
           valid = pass_simplify(&b->g, parse(b, text));
    ir_ref given = pass_simplify_given(&b->g, index, valid);
    assert_text(b, given, rows[i].written, expected[i]);
  }
}

/* Constants that do not fit int64 are never computed: the expression stays as written. */
static void test_overflow(void **state) {
  test_graph *b = test_graph_begin();
  ir_graph *g = &b->g;
  ir_ref x = range(b, ir_index(g, 10), 0), big = ir_index(g, INT64_MAX);
  ir_ref twice = pass_mul(g, pass_mul(g, x, big), big);
  assert_int_equal(ir_op_of(g, twice), IR_OP_MUL);
  assert_int_equal(pass_simplify(g, twice), twice);
  ir_ref sum = pass_add_int(g, big, 1);
  assert_int_equal(ir_op_of(g, sum), IR_OP_ADD);
  assert_int_equal(ir_bounds_of(g, sum).hi, INT64_MAX);
  assert_true(ir_bounds_of(g, sum).lo < INT64_MAX);
  ir_ref quotient = pass_div(g, pass_div(g, x, big), big); /* the product of the divisors does not fit */
  assert_int_equal(quotient, ir_index(g, 0));
}

static void test_bad_divisor(void **state) {
  test_graph *b = test_graph_begin();
  ir_ref n = ir_var(&b->g, "n", 1, 0, 9, 1), x = range(b, ir_index(&b->g, 10), 0);
  assert_int_equal(pass_div(&b->g, x, n), 0);
  assert_int_equal(b->error.status, IR_ERR_INVALID);
  assert_string_equal(b->error.text,
                      "floordiv: the divisor's lower bound is 0, but an index divisor must be proven >= 1");
  assert_int_equal(pass_add(&b->g, 0, x), 0); /* the error value passes through every builder */
}

/* Sums, products and conjunctions beyond the limits stay correct, and 100,000 nested operations need no deep
 * stack. */
static void test_size(void **state) {
  test_graph *b = test_graph_begin();
  ir_graph *g = &b->g;
  ir_ref all = ir_bool(g, true), sum = ir_index(g, 0), product = ir_index(g, 1);
  for (int i = 0; i < 100; i++) {
    ir_ref x = range(b, ir_index(g, 100), i);
    all = pass_and(g, all, pass_compare(g, IR_OP_LT, x, ir_index(g, 50)));
    sum = pass_add(g, sum, x);
    product = pass_mul(g, product, x);
  }
  assert_true(all && sum && product);
  assert_int_equal(ir_bounds_of(g, sum).hi, 9900);
  ir_ref deep = range(b, ir_index(g, 1 << 20), 0);
  for (int i = 0; i < 100000; i++) {
    int64_t by = 3;
    ir_ref step = ir_make(g, IR_OP_FLOORDIV, IR_INDEX, 0, (ir_ref[]){deep, ir_index(g, by)}, 2);
    deep = ir_make(g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){step, ir_index(g, i & 3)}, 2);
  }
  assert_true(ir_bounds_of(g, deep).lo >= 0);
  assert_true(pass_simplify(g, deep) != 0);
}

/* An observer sees each rewrite by name and may refuse it. */
static bool refuse_all(void *user, ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                       uint32_t nsrc, ir_ref result) {
  ++*(int *)user;
  return false;
}

static void test_observer(void **state) {
  test_graph *b = test_graph_begin();
  int seen = 0;
  ir_observer observer = {.user = &seen, .rewrite = refuse_all};
  ir_ref x = range(b, ir_index(&b->g, 1000), 0), half = pass_div_int(&b->g, x, 2);
  b->g.observer = &observer;
  ir_ref kept = pass_div_int(&b->g, half, 5);
  assert_true(seen > 0);
  assert_text(b, kept, "(x//2)//5", "((ridx0//2)//5)");
  b->g.observer = NULL;
  assert_text(b, pass_div_int(&b->g, half, 5), "(x//2)//5", "(ridx0//10)");
}

/* Every allocation may fail: the result is 0 with an error, or correct. */
static void test_memory_runs_out(void **state) {
  bool finished = false;
  for (int allowed = 0; allowed < 200 && !finished; allowed++) {
    test_budget s = {allowed, 0};
    ir_mem mem = {test_budget_hook, &s};
    ir_error error = {IR_OK, ""};
    ir_graph g;
    if (ir_graph_init(&g, &mem, &error) != IR_OK) continue;
    ir_ref e = ir_index(&g, 1000), x = e ? ir_make(&g, IR_OP_RANGE, IR_INDEX, 0, &e, 1) : 0;
    ir_ref r = pass_add(&g, pass_mod_int(&g, x, 7), pass_mul_int(&g, pass_div_int(&g, x, 7), 7));
    ir_ref v = pass_and(&g, pass_compare(&g, IR_OP_LT, r, ir_index(&g, 9)),
                        pass_compare(&g, IR_OP_GE, x, ir_index(&g, 2)));
    ir_ref given = pass_simplify_given(&g, pass_mod_int(&g, x, 9), v);
    if (given) finished = true;
    else assert_int_equal(error.status, IR_ERR_MEMORY);
    ir_graph_free(&g);
  }
  assert_true(finished);
}

static void test_rule_table(void **state) {
  const pass_rule_set *set = &pass_index_rule_set;
  assert_string_equal(set->name, "index");
  assert_true(set->rule_count > 30);
  for (size_t i = 0; i < set->rule_count; i++) {
    assert_true(*set->rules[i].name && *set->rules[i].left && *set->rules[i].right && *set->rules[i].reason);
  }
}

/* carried or (a or b), substituted into another loop: the carried value stays a separate operand of the
 * disjunction. */
static void test_carried(void **state) {
  test_graph *b = test_graph_begin();
  ir_graph *g = &b->g;
  ir_ref size = ir_index(g, 4), range[2], carry[2], param = ir_make(g, IR_OP_PARAM, IR_I64, 0, &size, 1);
  for (int i = 0; i < 2; i++) {
    range[i] = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &size, 1);
    carry[i] = ir_make(g, IR_OP_CARRY, IR_BOOL, 0, &range[i], 1);
  }
  ir_ref src[] = {param, range[0], ir_bool(g, true), ir_int(g, IR_I64, 0)};
  ir_ref load = ir_make(g, IR_OP_LOAD, IR_I64, 0, src, 4);
  ir_ref either = ir_binary(g, IR_OP_OR, ir_binary(g, IR_OP_LT, load, ir_int(g, IR_I64, 3)),
                            ir_binary(g, IR_OP_LT, ir_int(g, IR_I64, 5), load));
  ir_ref next = ir_make(g, IR_OP_OR, IR_BOOL, 0, (ir_ref[]){carry[0], either}, 2);
  ir_ref from[] = {range[0], carry[0]}, to[] = {range[1], carry[1]};
  ir_ref made = pass_substitute(g, next, from, to, 2);
  assert_int_not_equal(made, 0);
  assert_int_equal(ir_op_of(g, made), IR_OP_OR);
  assert_int_equal(ir_get(g, made)->nsrc, 2);
  assert_true(ir_src(g, made, 0) == carry[1] || ir_src(g, made, 1) == carry[1]);
}

UNIT_TESTS(test_sums, test_division_and_modulo, test_equal_maps_are_one_node, test_recombination,
           test_comparisons, test_connectives, test_choices, test_symbolic_sizes, test_products_of_sizes,
           test_symbolic_ranges, test_views, test_index_given_its_validity, test_overflow, test_bad_divisor,
           test_carried, test_size, test_observer, test_memory_runs_out, test_rule_table)
