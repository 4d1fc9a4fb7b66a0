/* Which parameters of a kernel may share the buffer that it stores to: which ones are proven, and which are
 * refused because a store would change an element that is read later, or an element would be computed
 * twice. */
#include "ir/in_place.h"

#include "ir/parse/parse.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static uint32_t shown(const char *text, bool items) {
  ir_error error = {0};
  ir_graph g;
  ir_module m = {.mem = &ir_mem_libc};
  uint32_t set = 0;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  g.error = &error;
  if (ir_parse_module(&g, &ir_builder_raw, "k", text, strlen(text), &m)) fail_msg("%s", error.text);
  assert_int_equal(m.count, 1);
  assert_int_equal(ir_in_place(&g, m.graphs[0].root, items, &set, &error), IR_OK);
  assert_int_equal(error.status, IR_OK);
  ir_module_free(&m);
  ir_graph_free(&g);
  return set;
}

static uint32_t in_place(const char *text) { return shown(text, false); }

/* Parameters as bits. */
enum { P1 = 2, P2 = 4, P3 = 8 };

typedef struct example {
  uint32_t set;
  const char *text;
} example;

static void check(const example *examples, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (in_place(examples[i].text) != examples[i].set)
      fail_msg("%x where %x is right:\n%s", in_place(examples[i].text), examples[i].set, examples[i].text);
}
#define CHECK(examples) check(examples, sizeof examples / sizeof *examples)

#define BEGIN "kernel @k(p0: f32[64], p1: f32[64], p2: f32[64], p3: f64[64]) {\n"

static void what_is_read_where_it_is_stored(void **state) {
  static const example examples[] = {
      {P1, BEGIN " for ridx0 in 0..64 thread {\n %a = load p1[ridx0] : f32\n store p0[ridx0] = %a\n}\n}\n"},
      {P1 | P2, BEGIN " for ridx0 in 0..64 {\n %a = load p1[ridx0] : f32\n %b = load p2[ridx0] : f32\n"
                      " %c = add %a, %b : f32\n store p0[ridx0] = %c\n}\n}\n"},
      {P1, /* p2 is read at another index than the store's */
       BEGIN " for ridx0 in 0..64 {\n %a = load p1[ridx0] : f32\n %b = load p2[63+-1*ridx0] : f32\n"
             " %c = add %a, %b : f32\n store p0[ridx0] = %c\n}\n}\n"},
      {0, /* p1 is read at the store's index and at another */
       BEGIN " for ridx0 in 0..63 {\n %a = load p1[ridx0] : f32\n %b = load p1[ridx0+1] : f32\n"
             " %c = add %a, %b : f32\n store p0[ridx0] = %c\n}\n}\n"},
      {0, /* elements of another size */
       BEGIN " for ridx0 in 0..64 {\n %a = load p3[ridx0] : f64\n %b = cast %a dtype=f32 : f32\n"
             " store p0[ridx0] = %b\n}\n}\n"},
      {P1, /* p1, which holds indices, is read at the store's index; p2 is read at any index */
       BEGIN " for ridx0 in 0..64 {\n %a = load p1[ridx0] : f32\n %i = cast %a dtype=i32 : i32\n"
             " %j = bound %i, (64), true mode=clip : index\n %b = load p2[%j] : f32\n"
             " store p0[ridx0] = %b\n}\n}\n"},
      {P1, /* read in several iterations, all before the store */
       BEGIN " for ridx0 in 0..64 {\n %s = for ridx1 in 0..4 with %c = f32(0.0) {\n"
             " %a = load p1[ridx0] : f32\n %b = load p2[ridx1*16] : f32\n %d = fma %a, %b, %c : f32\n"
             " next %d\n }\n store p0[ridx0] = %s\n}\n}\n"},
  };
  CHECK(examples);
}

static void elements_stored_once(void **state) {
  static const example examples[] = {
      {P1, BEGIN " for ridx0 in 0..4 thread {\n for ridx1 in 0..16 vector {\n"
                 " %a = load p1[ridx0*16+ridx1] : f32\n store p0[ridx0*16+ridx1] = %a\n}\n}\n}\n"},
      {P1, BEGIN " for ridx0 in 0..4 thread {\n for ridx1 in 0..16 vector {\n" /* in reverse order */
                 " %a = load p1[-16*ridx0+48+ridx1] : f32\n store p0[-16*ridx0+48+ridx1] = %a\n}\n}\n}\n"},
      {0, BEGIN " for ridx0 in 0..4 thread {\n for ridx1 in 0..17 {\n" /* the 17th is the next row's first */
                " %a = load p1[ridx0*16+ridx1] : f32\n store p0[ridx0*16+ridx1] = %a\n}\n}\n}\n"},
      {0, BEGIN " for ridx0 in 0..4 {\n for ridx1 in 0..16 {\n" /* each element four times */
                " %a = load p1[ridx1] : f32\n store p0[ridx1] = %a\n}\n}\n}\n"},
      {P1, BEGIN " for ridx0 in 0..1 {\n for ridx1 in 0..16 {\n" /* each element once */
                 " %a = load p1[ridx1] : f32\n store p0[ridx1] = %a\n}\n}\n}\n"},
      {0, BEGIN " for ridx0 in 0..64 {\n" /* two iterations for one element */
                " %a = load p1[ridx0//2] : f32\n store p0[ridx0//2] = %a\n}\n}\n"},
      {0, BEGIN " for ridx0 in 0..64 {\n" /* overlaps, as where the last vector begins early */
                " %a = load p1[min(ridx0, 60)] : f32\n store p0[min(ridx0, 60)] = %a\n}\n}\n"},
  };
  CHECK(examples);
}

static void several_stores(void **state) {
  static const example examples[] = {
      {P1, /* two adjacent sub-domains */
       BEGIN " for ridx0 in 0..60 {\n %a = load p1[ridx0] : f32\n store p0[ridx0] = %a\n}\n"
             " for ridx1 in 0..4 {\n %b = load p1[60+ridx1] : f32\n store p0[60+ridx1] = %b\n}\n}\n"},
      {0, /* the sub-domains overlap */
       BEGIN " for ridx0 in 0..60 {\n %a = load p1[ridx0] : f32\n store p0[ridx0] = %a\n}\n"
             " for ridx1 in 0..8 {\n %b = load p1[56+ridx1] : f32\n store p0[56+ridx1] = %b\n}\n}\n"},
      {P1, /* two sub-domains of each row */
       BEGIN " for ridx0 in 0..4 thread {\n"
             " for ridx1 in 0..12 {\n %a = load p1[ridx0*16+ridx1] : f32\n store p0[ridx0*16+ridx1] = %a\n}\n"
             " for ridx2 in 0..4 {\n %b = load p1[ridx0*16+ridx2+12] : f32\n"
             " store p0[ridx0*16+ridx2+12] = %b\n}\n}\n}\n"},
      {0, /* the second one reaches into the next row */
       BEGIN " for ridx0 in 0..3 thread {\n"
             " for ridx1 in 0..12 {\n %a = load p1[ridx0*16+ridx1] : f32\n store p0[ridx0*16+ridx1] = %a\n}\n"
             " for ridx2 in 0..5 {\n %b = load p1[ridx0*16+ridx2+12] : f32\n"
             " store p0[ridx0*16+ridx2+12] = %b\n}\n}\n}\n"},
      {0, /* the second sub-domain reads what the first has stored */
       BEGIN " for ridx0 in 0..32 {\n %a = load p1[ridx0] : f32\n store p0[ridx0] = %a\n}\n"
             " for ridx1 in 0..32 {\n %b = load p1[ridx1] : f32\n store p0[32+ridx1] = %b\n}\n}\n"},
      {0, /* two results: one might be stored before the other is read */
       BEGIN " for ridx0 in 0..64 {\n %a = load p2[ridx0] : f32\n store p0[ridx0] = %a\n"
             " store p1[ridx0] = %a\n}\n}\n"},
      {0, /* an update reads the element it updates */
       BEGIN
       " for ridx0 in 0..64 {\n %a = load p1[ridx0] : f32\n update p0[ridx0] add %a over ridx0\n}\n}\n"},
  };
  CHECK(examples);
}

/* Rows of 16, each an iteration of the loop over ridx0: FIRST is the index, over ridx0 and ridx1, of the load
 * for the local. */
#define ITERATION(TRIPS, FIRST, THEN)                                                                        \
  BEGIN " for ridx0 in 0.." TRIPS " thread {\n local l0: f32[16] over ridx0\n"                               \
        " for ridx1 in 0..16 {\n %a = load p1[" FIRST "] : f32\n store l0[ridx1] = %a\n}\n"                  \
        " for ridx2 in 0..16 {\n %b = load l0[15+-1*ridx2] : f32\n" THEN                                     \
        " store p0[ridx0*16+ridx2] = %c\n}\n}\n}\n"
#define REVERSED " %c = neg %b : f32\n"

static void iterations_with_locals(void **state) {
  static const example examples[] = {
      {P1, ITERATION("4", "ridx0*16+ridx1", REVERSED)},
      {P1, ITERATION("4", "ridx0*16+15+-1*ridx1", REVERSED)},
      {0, ITERATION("3", "ridx0*16+ridx1+1", REVERSED)},   /* also reads the next iteration's first element */
      {0, ITERATION("4", "48+-16*ridx0+ridx1", REVERSED)}, /* reads another iteration's row */
      {0, ITERATION("4", "ridx1", REVERSED)},              /* always reads the first row */
      {0, ITERATION("2", "ridx0*32+ridx1", REVERSED)},
      {P1, ITERATION("4", "ridx0*16+ridx1", /* also read at the store's index */
                     " %d = load p1[ridx0*16+ridx2] : f32\n %c = add %b, %d : f32\n")},
      {0, ITERATION("4", "ridx0*16+ridx1", /* also read at another index in the storing loop */
                    " %d = load p1[ridx0*16+15+-1*ridx2] : f32\n %c = add %b, %d : f32\n")},
      {P1 | P2,
       ITERATION("4", "ridx0*16+ridx1", " %d = load p2[ridx0*16+ridx2] : f32\n %c = add %b, %d : f32\n")},
      {0, /* the local is filled after the iteration has begun to store */
       BEGIN " for ridx0 in 0..4 {\n local l0: f32[16] over ridx0\n"
             " for ridx1 in 0..8 {\n %a = load p1[ridx0*16+ridx1] : f32\n store p0[ridx0*16+ridx1] = %a\n}\n"
             " for ridx2 in 0..16 {\n %b = load p1[ridx0*16+ridx2] : f32\n store l0[ridx2] = %b\n}\n"
             " for ridx3 in 0..8 {\n %c = load l0[ridx3] : f32\n store p0[ridx0*16+ridx3+8] = %c\n}\n}\n}\n"},
  };
  CHECK(examples);
}

static void sizes_that_come_with_the_run(void **state) {
  static const example examples[] = {
      {P1, "kernel @k(n=1..100, p0: f32[n*16], p1: f32[n*16]) {\n for ridx0 in 0..n thread {\n"
           " for ridx1 in 0..16 vector {\n %a = load p1[ridx0*16+ridx1] : f32\n"
           " store p0[ridx0*16+ridx1] = %a\n}\n}\n}\n"},
      {0, /* an unknown factor: not proven */
       "kernel @k(n=1..100, p0: f32[n*16], p1: f32[n*16]) {\n for ridx0 in 0..16 thread {\n"
       " for ridx1 in 0..n {\n %a = load p1[ridx0*n+ridx1] : f32\n"
       " store p0[ridx0*n+ridx1] = %a\n}\n}\n}\n"},
  };
  CHECK(examples);
}

/* One work-item may have stored already when another reads for its local. */
static void iterations_of_work_items(void **state) {
  static const char alone[] =
      BEGIN " for ridx0 in 0..64 vector {\n %a = load p1[ridx0] : f32\n store p0[ridx0] = %a\n}\n}\n";
  static const char iteration[] = ITERATION("4", "ridx0*16+ridx1", REVERSED);
  assert_int_equal(shown(alone, true), P1);
  assert_int_equal(shown(iteration, false), P1);
  assert_int_equal(shown(iteration, true), 0);
}

static void short_of_memory(void **state) {
  static const char text[] =
      BEGIN " for ridx0 in 0..64 {\n %a = load p1[ridx0] : f32\n store p0[ridx0] = %a\n}\n}\n";
  test_budget budget = {1 << 20, 0};
  ir_mem mem = {test_budget_hook, &budget};
  ir_error error = {0};
  ir_graph g;
  ir_module m = {.mem = &mem};
  assert_int_equal(ir_graph_init(&g, &mem, &error), IR_OK);
  g.error = &error;
  assert_int_equal(ir_parse_module(&g, &ir_builder_raw, "k", text, strlen(text), &m), IR_OK);
  uint32_t set = 0;
  for (int k = 0; k < 100 && set != P1; k++) { /* allocation k fails: an error, or less is proven */
    ir_error own = {0};
    budget.left = k;
    g.error = &own;
    ir_status status = ir_in_place(&g, m.graphs[0].root, false, &set, &own);
    assert_true(status == IR_OK || status == IR_ERR_MEMORY);
    assert_int_equal(own.status, status);
    assert_true(set == 0 || (set == P1 && k > 0 && status == IR_OK));
  }
  assert_int_equal(set, P1);
  budget.left = 1 << 20;
  ir_module_free(&m);
  ir_graph_free(&g);
}

UNIT_TESTS(what_is_read_where_it_is_stored, elements_stored_once, several_stores, iterations_with_locals,
           iterations_of_work_items, sizes_that_come_with_the_run, short_of_memory)
