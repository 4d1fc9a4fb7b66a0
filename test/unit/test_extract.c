/* The extracted form: one row for each way in which an expression becomes cheaper, as texts before and after;
 * limits and memory. test/property/prop_extract.c checks that values are unchanged. */
#include "ir/parse/parse.h"
#include "passes/index/extract/extract.h"
#include "test/lib/memory.h"
#include "test/lib/graph.h"
#include "test/lib/unit.h"

enum { TOGETHER = 3 };

/* Expressions extracted together; NULL: no more. */
typedef struct row {
  const char *written[TOGETHER], *expected[TOGETHER];
} row;

static uint32_t parse(ir_graph *g, const char *declared, const char *const *written, ir_ref *roots) {
  char text[512];
  uint32_t count = 0, at = (uint32_t)snprintf(text, sizeof text, "%s", declared);
  for (; count < TOGETHER && written[count]; count++)
    at += (uint32_t)snprintf(text + at, sizeof text - at, ", %s", written[count]);
  ir_parser p;
  if (ir_parser_init(&p, g, &ir_builder_raw, "test", text, strlen(text)) != IR_OK) return 0;
  ir_ref all[16] = {0};
  uint32_t n = 0;
  while (p.lex.token.kind != IR_TOKEN_END && n < 16 && (all[n] = ir_parse_expression(&p)) != 0) {
    n++;
    ir_lex_accept(&p.lex, ',');
  }
  ir_parser_free(&p);
  if (g->error->status != IR_OK || n < count) return 0;
  memcpy(roots, all + n - count, count * sizeof *roots);
  return count;
}

static void check_rows(const char *declared, const pass_extract_costs *costs, const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    test_graph *t = test_graph_begin();
    ir_graph *g = &t->g;
    ir_ref roots[TOGETHER];
    uint32_t n = parse(g, declared, rows[i].written, roots);
    if (n == 0) fail_msg("%s: %s", rows[i].written[0], t->error.text);
    assert_true(pass_extract(g, costs, roots, n));
    for (uint32_t k = 0; k < n; k++) {
      ir_text t;
      ir_text_init(&t, &ir_mem_libc);
      ir_print_expr(g, roots[k], &t);
      if (strcmp(ir_text_get(&t), rows[i].expected[k]) != 0)
        fail_msg("%s became %s, expected %s", rows[i].written[k], ir_text_get(&t), rows[i].expected[k]);
      ir_text_free(&t);
    }
  }
}
#define ROWS(declared, costs, rows) check_rows(declared, costs, rows, sizeof rows / sizeof *rows)

static void test_digits(void **state) {
  static const row rows[] = {
      {{"i-i//10*10"}, {"(i%10)"}},                   /* a remainder alone */
      {{"i//10%10*3+i//100*30"}, {"((i//10)*3)"}},    /* adjacent digits are merged */
      {{"i%4*250+i//4"}, {"((i*250)-((i//4)*999))"}}, /* one division for two digits */
      {{"i//4-i//20*5+i%4*5"}, {"(((i-(i//20))*5)-((i//4)*19))"}},
      {{"i//20+(i+10)//20"}, {"(i//10)"}}, /* two quotients by 20 are one by 10 */
      {{"(i//10-i//30*3)//2*2+i//30"}, {"((((i+((i//30)*10))//20)*2)-((i//30)*3))"}},
  };
  ROWS("i=0..999", &pass_print_costs, rows);
}

static void test_choices(void **state) {
  static const row rows[] = {
      {{"(j+7)%9"}, {"(j+where((j<2), 7, -2))"}}, /* a roll */
      {{"j//5*12+j"}, {"(j+where((j<5), 0, 12))"}},
      {{"j//4*7"}, {"where((j<4), 0, where((j<8), 7, 14))"}},
      {{"j//2*7"}, {"((j//2)*7)"}}, /* too many values */
  };
  pass_extract_costs costs = pass_print_costs;
  costs.choice = costs.compare;
  ROWS("j=0..8", &costs, rows);
}

static void test_sharing(void **state) {
  static const row rows[] = {
      {{"5*i+5*j+k-6"}, {"((k+((i+j)*5))+-6)"}}, /* a common factor */
      {{"5*i+k+5*j-6", "i+j>=1", "i+j<6"}, {"((k+((i+j)*5))+-6)", "((i+j)>=1)", "((i+j)<6)"}},
      {{"12*i+4*j+k", "3*i+j<9"}, {"(k+(((i*3)+j)*4))", "(((i*3)+j)<9)"}}, /* a multiple */
      {{"i-j<0"}, {"(i<j)"}},                                              /* a difference compared with 0 */
      {{"13*i+k//2", "(26*i+k)//30"},                                      /* a common flat index */
       {"(((i*26)+k)//2)", "(((i*26)+k)//30)"}},
      {{"-4*i-k+35"}, {"((35-(i*4))-k)"}},
      {{"(i+22)//24*4-4"}, {"(((i+-2)//24)*4)"}}, /* a constant moves inside the quotient */
  };
  ROWS("i=0..99, j=0..99, k=0..99", &pass_print_costs, rows);
}

static void test_machine_costs(void **state) {
  static const row rows[] = {
      {{"i//8+i%8*9"}, {"((i//8)+((i%8)*9))"}}, /* a shift and a mask */
      {{"i//11*12"}, {"where((i<11), 0, where((i<22), 12, 24))"}},
  };
  ROWS("i=0..31", &pass_machine_costs, rows);
}

static void test_limits_leave_alone(void **state) {
  ir_graph *g = &test_graph_begin()->g;
  ir_ref sum = ir_index(g, 0);
  for (int i = 0; i < 300; i++) {
    ir_ref extent = ir_index(g, i + 2), range = ir_make(g, IR_OP_RANGE, IR_INDEX, i, &extent, 1);
    sum = ir_binary(g, IR_OP_ADD, sum, ir_binary(g, IR_OP_MOD, range, ir_index(g, 2)));
  }
  ir_ref root = sum;
  uint32_t before = g->count;
  assert_true(pass_extract(g, &pass_print_costs, &root, 1));
  assert_int_equal(root, sum);
  assert_int_equal(g->count, before);
}

/* Without the remainder a division would be saved, but i*3000000000000000000 does not fit in 64 bits. */
static void test_numbers_stay_machine_integers(void **state) {
  static const row rows[] = {
      {{"i%2*3000000000000000000+i//2"}, {"(((i%2)*3000000000000000000)+(i//2))"}},
      {{"i%2*3000000000+i//2"}, {"((i*3000000000)-((i//2)*5999999999))"}},
  };
  ROWS("i=0..999", &pass_print_costs, rows);
}

/* Each allocation fails in turn. */
static void test_failing_memory(void **state) {
  const char *const written[TOGETHER] = {"i//10%10*3+i//100*30+(j+7)%9+5*i", "i+j<9", NULL};
  for (long fail_at = 1;; fail_at++) {
    test_memory memory = {0};
    ir_mem mem = {test_memory_hook, &memory};
    ir_error error = {0};
    ir_graph g;
    ir_ref roots[TOGETHER];
    assert_int_equal(ir_graph_init(&g, &mem, &error), IR_OK);
    uint32_t n = parse(&g, "i=0..999, j=0..8", written, roots);
    assert_int_equal(n, 2);
    memory.fail_at = memory.allocations + fail_at;
    bool done = pass_extract(&g, &pass_print_costs, roots, n), all = memory.allocations < memory.fail_at;
    assert_true(done || error.status == IR_ERR_MEMORY);
    ir_graph_free(&g);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.wrong_sizes, 0);
    if (all) break;
  }
}

UNIT_TESTS(test_digits, test_choices, test_sharing, test_machine_costs, test_limits_leave_alone,
           test_numbers_stay_machine_integers, test_failing_memory)
