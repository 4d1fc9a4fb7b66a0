/* The predicted time of a kernel: what must take longer than what, how it grows with trip counts, the bytes
 * that leave a cache, and what happens where memory is short. */
#include "passes/cost/kernel_time.h"
#include "test/lib/kernels.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static const ir_target target = {.triple = "x86_64-unknown-linux-gnu",
                                 .features = "+avx512f,+avx512vl,+avx512dq,+avx2,+fma,+f16c",
                                 .vector_bytes = 64,
                                 .registers = 32,
                                 .has_fma = true,
                                 .has_f16c = true,
                                 .has_masks = true,
                                 .l1_bytes = 32 << 10,
                                 .l2_bytes = 1 << 20,
                                 .l3_bytes = 16 << 20};

static pass_kernel_time time_of(const char *text, const int64_t *numbers, const char *const *words) {
  pass_kernel_time time;
  assert_true(pass_kernel_time_of(&k_graph, k_parse(text, numbers, words), &target, &time));
  assert_true(time.ns > 0 && time.computing_ns > 0);
  return time;
}

/* $0 iterations of sixteen lanes; p1 has 4096 elements, of which these use few enough to stay in the L1
 * cache. */
static double computing(const char *body, int64_t trips) {
  static const char text[] = "kernel @k(p0: f32[4096], p1: f32[4096], p2: i32[4096], p3: f64[4096]) {\n"
                             "  for ridx0 in 0..$0 {\n    for ridx1 in 0..16 vector {\n$a    }\n  }\n}\n";
  return time_of(text, &trips, &body).computing_ns;
}

#define STORE     " store p0[ridx0*16+ridx1] = %v\n"
#define COPY      " %v = load p1[ridx0*16+ridx1] : f32\n" STORE
#define UNARY(op) " %x = load p1[ridx0*16+ridx1] : f32\n %v = " op " : f32\n" STORE

static void orders_of_accesses(void **state) {
  double contiguous = computing(COPY, 64),
         strided = computing(" %v = load p1[ridx0*32+ridx1*2] : f32\n" STORE, 64),
         far = computing(" %v = load p1[ridx0+ridx1*64] : f32\n" STORE, 64),
         gathered =
             computing(" %i = load p2[ridx0*16+ridx1] : i32\n %j = bound %i, (4096), true mode=clip : index\n"
                       " %v = load p1[%j] : f32\n" STORE,
                       64),
         scattered = computing(" %v = load p1[ridx0*16+ridx1] : f32\n store p0[ridx0+ridx1*64] = %v\n", 64);
  assert_true(contiguous < strided && strided < far && far <= gathered && contiguous < scattered);
}

static void orders_of_operations(void **state) {
  double add = computing(UNARY("add %x, %x"), 64), fma = computing(UNARY("fma %x, %x, %x"), 64),
         divide = computing(UNARY("div %x, %x"), 64), root = computing(UNARY("sqrt %x"), 64),
         wide = computing(" %x = load p3[ridx0*16+ridx1] : f64\n %d = div %x, %x : f64\n"
                          " %v = cast %d dtype=f32 : f32\n" STORE,
                          64);
  assert_true(computing(COPY, 64) <= add && add < divide && divide <= root && divide < wide);
  assert_true(add == fma);
}

/* As many elements one by one, and in lanes. */
static void lanes_are_faster(void **state) {
  static const char scalar[] =
      "kernel @k(p0: f32[4096], p1: f32[4096]) {\n  for ridx0 in 0..4096 {\n"
      " %x = load p1[ridx0] : f32\n %v = fma %x, %x, %x : f32\n store p0[ridx0] = %v\n}\n}\n";
  double one_by_one = time_of(scalar, NULL, NULL).computing_ns,
         lanes = computing(UNARY("fma %x, %x, %x"), 256);
  assert_true(one_by_one > 4 * lanes && one_by_one < 64 * lanes);
}

static void trips_are_counted(void **state) {
  double few = computing(UNARY("div %x, %x"), 32), many = computing(UNARY("div %x, %x"), 256);
  assert_true(many > 7.9 * few && many < 8.1 * few);
  static const char triangle[] =
      "kernel @k(p0: f32[4096], p1: f32[4096]) {\n  for ridx0 in 0..64 {\n    for ridx1 in 0..$a {\n"
      " %x = load p1[ridx0*64+ridx1] : f32\n %v = div %x, %x : f32\n store p0[ridx0*64+ridx1] = "
      "%v\n}\n}\n}\n";
  const char *whole = "64", *half = "(ridx0+1)";
  double all = time_of(triangle, NULL, &whole).computing_ns,
         lower = time_of(triangle, NULL, &half).computing_ns;
  assert_true(lower > 0.4 * all && lower < 0.6 * all);

  /* the mean over the outer loop: blocks of 16 of six rows of 196 elements; a part that runs once in four */
  static const char blocks[] = "kernel @k(p0: f32[4096], p1: f32[4096]) {\n  for ridx0 in 0..78 {\n"
                               "    for ridx1 in 0..$a {\n %x = load p1[ridx0*16+ridx1] : f32\n"
                               " %v = div %x, %x : f32\n store p0[ridx0*16+ridx1] = %v\n}\n}\n}\n";
  const char *full = "16", *rows = "min(ridx0*-16+(ridx0//13)*208+196, 16)",
             *part = "max(min(ridx0*-1+20, 1), 0)*16";
  all = time_of(blocks, NULL, &full).computing_ns;
  double mean = time_of(blocks, NULL, &rows).computing_ns, some = time_of(blocks, NULL, &part).computing_ns;
  assert_true(mean > 0.85 * all && mean < all && some > 0.2 * all && some < 0.3 * all);
}

/* Of two loops of which only one runs, whatever the size is, that one counts. */
static void loops_exclude_each_other(void **state) {
  static const char text[] = "kernel @k(n=57..64, p0: f32[4096], p1: f32[4096]) {\n  for ridx0 in 0..$a {\n"
                             " %x = load p1[ridx0] : f32\n %v = div %x, %x : f32\n store p0[ridx0] = %v\n}\n"
                             "  for ridx1 in 0..$b {\n %y = load p1[ridx1] : f32\n %w = div %y, %y : f32\n"
                             " store p0[ridx1] = %w\n}\n}\n";
  const char *one[] = {"1000", "0"}, *both[] = {"1000", "1000"},
             *either[] = {"where(n<65&n>56,1000,0)", "where(n<57|n>=65,1000,0)"},
             *sized[] = {"where(n<60,1000,0)", "where(n<60,0,1000)"};
  double once = time_of(text, NULL, one).computing_ns, twice = time_of(text, NULL, both).computing_ns;
  assert_true(twice > 1.9 * once);
  assert_true(time_of(text, NULL, either).computing_ns < 1.1 * once);
  assert_true(time_of(text, NULL, sized).computing_ns < 1.1 * once);
}

/* A sum in one accumulator waits for each addition; sums in eight do not. */
static void chains_wait(void **state) {
  static const char text[] =
      "kernel @k(p0: f32[16], p1: f32[4096]) {\n  for ridx0 in 0..$1 unroll {\n"
      " %s = for ridx1 in 0..$0 with %c = f32(0.0) {\n  %x = load p1[ridx0*512+ridx1] : f32\n"
      "  %n = add %c, %x : f32\n  next %n\n }\n store p0[ridx0] = %s\n}\n}\n";
  double one = time_of(text, (const int64_t[]){4096, 1}, NULL).computing_ns,
         eight = time_of(text, (const int64_t[]){512, 8}, NULL).computing_ns;
  assert_true(one > 2 * eight);
}

/* Chains of operations on vectors of 8, 4 and 2 elements, one behind the other in each iteration: as many as
 * are not in sight together wait for each other. */
static double remainders(int vectors) {
  enum { OPERATIONS = 160 }; /* half of what a processor looks ahead */
  char text[1 << 15] = "kernel @k(p0: f32[4096], p1: f32[4096]) {\n for ridx0 in 0..64 {\n";
  size_t at = strlen(text);
  for (int v = 0; v < vectors; v++) {
    at += (size_t)snprintf(text + at, sizeof text - at,
                           "for ridx%d in 0..%d vector {\n %%v%d_0 = load p1[ridx0*64+%d+ridx%d] : f32\n",
                           v + 1, 8 >> v, v, v * 8, v + 1);
    for (int i = 0; i < OPERATIONS; i++)
      at += (size_t)snprintf(text + at, sizeof text - at,
                             "%%v%d_%d = fma %%v%d_%d, f32(0.5), f32(0.25) : f32\n", v, i + 1, v, i);
    at += (size_t)snprintf(text + at, sizeof text - at, "store p0[ridx0*64+%d+ridx%d] = %%v%d_%d\n}\n", v * 8,
                           v + 1, v, OPERATIONS);
  }
  snprintf(text + at, sizeof text - at, "}\n}\n");
  return time_of(text, NULL, NULL).computing_ns;
}

static void chains_in_sequence_wait(void **state) {
  double one = remainders(1), three = remainders(3);
  assert_true(three > 2.5 * one && three < 3.5 * one);
}

static void rare_values_are_free(void **state) {
  static const char rare[] =
      " %x = load p1[ridx0*16+ridx1] : f32\n %c = lt %x, f32(0.0) : bool\n"
      " %a = div %x, %x : f32\n %b = div %a, %x : f32\n %v = $ %c, %b, %x : f32\n" STORE;
  char always[sizeof rare + 8], seldom[sizeof rare + 8];
  const char *at = strchr(rare, '$');
  snprintf(always, sizeof always, "%.*swhere%s", (int)(at - rare), rare, at + 1);
  snprintf(seldom, sizeof seldom, "%.*srare%s", (int)(at - rare), rare, at + 1);
  assert_true(computing(always, 64) > 2 * computing(seldom, 64));
}

/* Bytes that come from beyond the L1 cache: $0 is the number of rows of 64 KiB. */
static void bytes_leave_the_cache(void **state) {
  static const char copy[] = "kernel @k(p0: f32[$1], p1: f32[$1]) {\n  for ridx0 in 0..$0 thread {\n"
                             "    for ridx1 in 0..1024 {\n      for ridx2 in 0..16 vector {\n"
                             " %v = load p1[ridx0*16384+ridx1*16+ridx2] : f32\n"
                             " store p0[ridx0*16384+ridx1*16+ridx2] = %v\n}\n}\n}\n}\n";
  pass_kernel_time large = time_of(copy, (const int64_t[]){1024, 1024 * 16384}, NULL);
  assert_true(large.bytes == 2.0 * 1024 * 65536);
  pass_kernel_time fits = time_of(copy, (const int64_t[]){4, 4 * 16384}, NULL);
  assert_true(large.memory_ns > 256 * fits.memory_ns); /* more a byte: from memory, not the L2 cache */

  /* rows that every iteration reads again: once where they fit into the L1 cache, else each time */
  static const char again[] = "kernel @k(p0: f32[64], p1: f32[$0], p2: f32[64]) {\n  for ridx0 in 0..64 {\n "
                              "%y = load p2[ridx0] : f32\n"
                              " %s = for ridx1 in 0..$0 with %c = f32(0.0) {\n  %x = load p1[ridx1] : f32\n"
                              "  %n = fma %x, %y, %c : f32\n  next %n\n }\n store p0[ridx0] = %s\n}\n}\n";
  pass_kernel_time held = time_of(again, (const int64_t[]){2048}, NULL),
                   lost = time_of(again, (const int64_t[]){32768}, NULL);
  assert_true(held.bytes < 2 * 2048 * 4 && lost.bytes > 60.0 * 32768 * 4);
}

static void rates_and_sizes_are_given(void **state) {
  static const char text[] =
      "kernel @k(n=1..100000, p0: f32[n], p1: f32[n]) {\n  for ridx0 in 0..n {\n"
      " %x = load p1[ridx0] : f32\n %v = div %x, %x : f32\n store p0[ridx0] = %v\n}\n}\n";
  ir_ref kernel = k_parse(text, NULL, NULL), n = 0;
  for (ir_ref ref = 1; ref < k_graph.count; ref++)
    if (ir_op_of(&k_graph, ref) == IR_OP_VAR) n = ref;
  pass_rates rates = pass_rates_of(&target);
  pass_kernel_time small, large, slow;
  ir_var_value value = {n, 1000};
  pass_time_request request = {.vars = &value, .var_count = 1, .rates = &rates};
  assert_true(pass_kernel_time_on(&k_graph, kernel, &target, &request, &small));
  value.value = 10000;
  assert_true(pass_kernel_time_on(&k_graph, kernel, &target, &request, &large));
  rates.ghz /= 2;
  assert_true(pass_kernel_time_on(&k_graph, kernel, &target, &request, &slow));
  assert_true(large.computing_ns > 9 * small.computing_ns && slow.computing_ns == 2 * large.computing_ns);
}

/* Where units have 32 bytes, products of 64 take twice as many cycles as those of 32.
 */
static void units_are_halves(void **state) {
  static const char text[] = "kernel @k(p0: f32[4096], p1: f32[4096]) {\n  for ridx0 in 0..64 {\n"
                             "    for ridx1 in 0..$0 vector {\n %x = load p1[ridx0*16+ridx1] : f32\n"
                             " %a = mul %x, %x : f32\n %b = mul %x, %a : f32\n %c = mul %a, %b : f32\n"
                             " %d = mul %b, %c : f32\n %e = mul %c, %d : f32\n %f = mul %d, %e : f32\n"
                             " %v = mul %e, %f : f32\n %w = mul %f, %v : f32\n"
                             " store p0[ridx0*16+ridx1] = %w\n}\n}\n}\n";
  pass_rates rates = pass_rates_of(&target);
  pass_time_request request = {.rates = &rates};
  double ns[2][2];
  for (int half = 0; half < 2; half++)
    for (int halves = 0; halves < 2; halves++) {
      pass_kernel_time time;
      rates.halves = halves;
      ir_ref kernel = k_parse(text, (const int64_t[]){half ? 8 : 16}, NULL);
      assert_true(pass_kernel_time_on(&k_graph, kernel, &target, &request, &time));
      ns[half][halves] = time.computing_ns;
    }
  assert_true(ns[0][1] > 1.6 * ns[0][0] && ns[1][1] < 1.6 * ns[1][0] && ns[1][1] < 0.6 * ns[0][1]);
}

/* There a product of integers is one instruction, where it is three of wider units. */
static void integer_products_of_halves(void **state) {
  static const char text[] = "kernel @k(p0: i64[4096], p1: i64[4096]) {\n  for ridx0 in 0..64 {\n"
                             "    for ridx1 in 0..8 vector {\n %x = load p1[ridx0*8+ridx1] : i64\n"
                             " %a = mul %x, %x : i64\n %b = mul %x, %a : i64\n %c = mul %a, %b : i64\n"
                             " %d = mul %b, %c : i64\n %e = mul %c, %d : i64\n %f = mul %d, %e : i64\n"
                             " store p0[ridx0*8+ridx1] = %f\n}\n}\n}\n";
  ir_ref kernel = k_parse(text, NULL, NULL);
  pass_rates rates = pass_rates_of(&target);
  pass_time_request request = {.rates = &rates};
  pass_kernel_time whole, halves;
  assert_true(pass_kernel_time_on(&k_graph, kernel, &target, &request, &whole));
  rates.halves = true;
  assert_true(pass_kernel_time_on(&k_graph, kernel, &target, &request, &halves));
  assert_true(halves.computing_ns < 0.8 * whole.computing_ns);
}

/* Blocks of rows that begin in the same set of a cache fill the sets between; rows that do are too many. */
static void rows_fill_sets(void **state) {
  static const char text[] =
      "kernel @k(p0: f32[$0], p1: f32[$0]) {\n  for ridx0 in 0..512 {\n    for ridx1 in 0..$1 {\n"
      "      for ridx2 in 0..3 {\n        for ridx3 in 0..16 vector {\n"
      " %v = load p1[ridx0*$2+ridx1*96+ridx2*16+ridx3] : f32\n"
      " store p0[ridx0*$2+ridx1*96+ridx2*16+ridx3] = %v\n}\n}\n}\n}\n}\n";
  assert_true(time_of(text, (const int64_t[]){512 * 6144, 64, 6144}, NULL).jumps_ns == 0);
  assert_true(time_of(text, (const int64_t[]){512 * 6144, 1, 6144}, NULL).jumps_ns > 0);
}

/* What the last cache still holds after so many bytes were touched comes from it, as measured. */
static void the_last_cache_loses_a_share(void **state) {
  static const char text[] = "kernel @k(p0: f32[262144], p1: f32[262144]) {\n  for ridx0 in 0..16384 {\n"
                             "    for ridx1 in 0..16 vector {\n %v = load p1[ridx0*16+ridx1] : f32\n"
                             " store p0[ridx0*16+ridx1] = %v\n}\n}\n}\n";
  pass_rates rates = pass_rates_of(&target);
  rates.lost[0].bytes = 4 << 20, rates.lost[0].share = 0;
  rates.lost[1].bytes = 36 << 20, rates.lost[1].share = 1;
  double ns[3], between[] = {0, 18 << 20, 1 << 30};
  for (int i = 0; i < 3; i++) {
    pass_param_state params[] = {{.between = between[i]}, {.between = between[i]}};
    pass_time_request request = {.rates = &rates, .params = params, .param_count = 2};
    pass_kernel_time time;
    assert_true(pass_kernel_time_on(&k_graph, k_parse(text, NULL, NULL), &target, &request, &time));
    ns[i] = time.memory_ns;
  }
  double half = (ns[0] + ns[2]) / 2;
  assert_true(ns[2] > 1.2 * ns[0] && ns[1] > 0.99 * half && ns[1] < 1.01 * half);
}

/* Of a row that is anywhere the first line is waited for, the others are on their way by then. */
static void rows_that_are_anywhere_wait_once(void **state) {
  static const char text[] =
      "kernel @k(p0: f32[524288], p1: i32[4096], p2: f32[8388608]) {\n  for ridx0 in 0..4096 {\n"
      " %i = load p1[ridx0] : i32\n %j = bound %i, ($0), true mode=clip : index\n"
      "    for ridx1 in 0..$1 vector {\n %v = load p2[%j*$1+ridx1] : f32\n store p0[ridx0*$1+ridx1] = %v\n"
      "}\n}\n}\n";
  pass_param_state params[3] = {{.between = 1 << 30}, {.between = 1 << 30}, {.between = 1 << 30}};
  pass_rates rates = pass_rates_of(&target);
  rates.lines = true;
  pass_time_request request = {.rates = &rates, .params = params, .param_count = 3};
  pass_kernel_time line, row;
  ir_ref lines = k_parse(text, (const int64_t[]){524288, 16}, NULL);
  assert_true(pass_kernel_time_on(&k_graph, lines, &target, &request, &line));
  ir_ref rows = k_parse(text, (const int64_t[]){131072, 64}, NULL);
  assert_true(pass_kernel_time_on(&k_graph, rows, &target, &request, &row));
  assert_true(line.jumps_ns > 0 && row.jumps_ns == line.jumps_ns);
}

/* Elements that are anywhere in a table come from the cache that holds the table, however often each does. */
static void elements_that_are_anywhere_come_again(void **state) {
  static const char text[] =
      "kernel @k(p0: f32[1048576], p1: i32[1048576], p2: f32[$0]) {\n  for ridx0 in 0..1048576 {\n"
      " %i = load p1[ridx0] : i32\n %j = bound %i, ($0), true mode=clip : index\n"
      " %v = load p2[%j] : f32\n store p0[ridx0] = %v\n}\n}\n";
  pass_rates rates = pass_rates_of(&target);
  rates.lines = true;
  pass_time_request request = {.rates = &rates};
  pass_kernel_time small, large;
  ir_ref few = k_parse(text, (const int64_t[]){2048}, NULL);
  assert_true(pass_kernel_time_on(&k_graph, few, &target, &request, &small));
  ir_ref many = k_parse(text, (const int64_t[]){65536}, NULL);
  assert_true(pass_kernel_time_on(&k_graph, many, &target, &request, &large));
  assert_true(large.bytes - small.bytes > 60.0 * 1048576 && large.jumps_ns > 10 * small.jumps_ns);
}

/* Each allocation fails once. */
static void memory_is_short(void **state) {
  static const char text[] = "kernel @k(p0: f32[64], p1: f32[64]) {\n  for ridx0 in 0..64 {\n"
                             " %x = load p1[ridx0] : f32\n store p0[ridx0] = %x\n}\n}\n";
  ir_ref kernel = k_parse(text, NULL, NULL);
  ir_mem libc = *k_graph.mem;
  test_memory memory = {0};
  ir_mem counted = {.fn = test_memory_hook, .user = &memory};
  pass_kernel_time time;
  bool done = false;
  for (long at = 1; !done; at++) {
    assert_true(at < 100);
    memory = (test_memory){.fail_at = at};
    k_graph.mem = &counted;
    done = pass_kernel_time_of(&k_graph, kernel, &target, &time);
    k_graph.mem = &ir_mem_libc;
    assert_true(done || k_graph.error->status == IR_ERR_MEMORY);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.wrong_sizes, 0);
    *k_graph.error = (ir_error){0};
  }
  assert_ptr_equal(k_graph.mem->fn, libc.fn);
}

/* Allocations do not grow with the kernel, apart from arrays that double. */
static void few_allocations(void **state) {
  long counts[2];
  for (int large = 0; large < 2; large++) {
    ir_text body;
    ir_text_init(&body, &ir_mem_libc);
    ir_text_str(&body, " %a0 = load p1[ridx0*16+ridx1] : f32\n");
    int last = large ? 2000 : 20;
    for (int i = 1; i <= last; i++)
      ir_textf(&body, " %%a%d = fma %%a%d, %%a0, %%a%d : f32\n", i, i - 1, i - 1);
    ir_textf(&body, " store p0[ridx0*16+ridx1] = %%a%d\n", last);
    const char *word = ir_text_get(&body);
    ir_ref kernel = k_parse("kernel @k(p0: f32[1024], p1: f32[1024]) {\n  for ridx0 in 0..64 {\n"
                            "    for ridx1 in 0..16 vector {\n$a}\n}\n}\n",
                            NULL, &word);
    ir_text_free(&body);
    test_memory memory = {0};
    ir_mem counted = {.fn = test_memory_hook, .user = &memory};
    pass_kernel_time time;
    k_graph.mem = &counted;
    assert_true(pass_kernel_time_of(&k_graph, kernel, &target, &time));
    k_graph.mem = &ir_mem_libc;
    counts[large] = memory.allocations;
  }
  assert_true(counts[1] < counts[0] + 40);
}

UNIT_TESTS_EACH(k_enter, k_leave, orders_of_accesses, orders_of_operations, lanes_are_faster,
                trips_are_counted, loops_exclude_each_other, chains_wait, chains_in_sequence_wait,
                rare_values_are_free, bytes_leave_the_cache, rates_and_sizes_are_given, units_are_halves,
                integer_products_of_halves, rows_fill_sets, the_last_cache_loses_a_share,
                rows_that_are_anywhere_wait_once, elements_that_are_anywhere_come_again, memory_is_short,
                few_allocations)
