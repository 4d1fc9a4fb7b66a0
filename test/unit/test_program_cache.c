/* Programs and kernels kept in memory and on disk: found by every context that asks for the same, shared
 * between graphs, refused when damaged; their keys; failing allocations. */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/cache/entry.h"
#include "runtime/cache/identity.h"
#include "test/lib/plans.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static void graphs_share_kernels(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_context *c = p_context_with((rt_options){0});
  unit_release(p_build(c, m, "first"));
  rt_program *p = p_build(c, m, "second");
  assert_int_equal(rt_program_stats(p).from_memory, 2);
  unit_release(p);
  unit_release(c);

  m = p_begin(); /* the same kernels in a graph with other names, with other nodes before them, one of them
                    twice */
  ir_float(&m->g, IR_F32, 3);
  ir_ref n = ir_var(&m->g, "width", 5, 4, 64, 4);
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "a", IR_F32, n), y = p_slot(m, IR_SLOT_INPUT, "b", IR_F32, n);
  uint32_t t = p_slot(m, IR_SLOT_TEMP, "c", IR_F32, n), out = p_slot(m, IR_SLOT_OUTPUT, "d", IR_F32, n);
  p_scale_add(m, t, y, (int)x, 3, n);
  p_scale_add(m, out, x, (int)t, 3, n);
  p_results(m, &out, 1);
  c = p_context_with((rt_options){.no_compile = true});
  p = p_build(c, m, "third");
  assert_int_equal(rt_program_stats(p).from_disk, 1);
  assert_int_equal(rt_program_stats(p).kernels, 1);
  unit_release(p);
  p_scale_add(m, out, x, (int)t, 4, n);
  ir_error error = {0};
  assert_int_equal(rt_program_build(c, "other", &m->g, &m->p, "fourth", 6, &p, &error), IR_ERR_COMPILE);
  assert_null(p);
  assert_non_null(strstr(error.text,
                         "VIEWFOLD_COMPILE=0: graph @other needs 1 kernel that the cache does not hold, the "
                         "first is vf_mul_add_f32_"));
  assert_null(p_find(c, "fourth"));
}

static void another_target_is_another_key(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, 8));
  rt_context *c = p_context_with((rt_options){0});
  unit_release(p_build(c, m, "key"));
  unit_release(c);
  c = p_context_with((rt_options){.target = "l2=65536"});
  assert_null(p_find(c, "key"));
  unit_release(c);
  c = p_context_with((rt_options){0});
  rt_program *p = p_find(c, "key");
  assert_non_null(p);
}

static void canonical_bytes_make_the_same_kernel(void **state) {
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_kernel_key key[2], again;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(rt_kernel_key_make(&ir_mem_libc, &m->g, m->p.steps[i].kernel, &key[i], &m->error),
                     IR_OK);
    ir_graph copy;
    ir_ref kernel;
    assert_int_equal(ir_graph_init(&copy, &ir_mem_libc, &m->error), IR_OK);
    assert_int_equal(rt_kernel_key_read(&key[i], &copy, &kernel, &m->error), IR_OK);
    assert_int_equal(rt_kernel_key_make(&ir_mem_libc, &copy, kernel, &again, &m->error), IR_OK);
    assert_int_equal(again.size, key[i].size);
    assert_memory_equal(again.bytes, key[i].bytes, again.size);
    assert_string_equal(again.symbol, key[i].symbol);
    rt_kernel_key_free(&ir_mem_libc, &again);
    for (size_t k = 0; k < key[i].size; k++) { /* a damaged key is refused or read, and does no harm */
      ir_graph other;
      ir_error error = {0};
      assert_int_equal(ir_graph_init(&other, &ir_mem_libc, &error), IR_OK);
      key[i].bytes[k] ^= 0x55;
      rt_kernel_key_read(&key[i], &other, &kernel, &error);
      key[i].bytes[k] ^= 0x55;
      ir_graph_free(&other);
    }
    ir_graph_free(&copy);
  }
  assert_string_not_equal(key[0].symbol, key[1].symbol);
  for (int i = 0; i < 2; i++) rt_kernel_key_free(&ir_mem_libc, &key[i]);
}

/* ---- damage */

static void damaged_plans_are_refused(void **state) {
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_plan_bytes made;
  assert_int_equal(rt_plan_make(&ir_mem_libc, "test", &m->g, &m->p, &made, &m->error), IR_OK);
  rt_plan plan;
  uint8_t *copy = aligned_alloc(64, made.size);
  for (size_t size = 0; size < made.size; size++) { /* exact buffers: a sanitizer sees reads past them */
    uint8_t *cut = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    memcpy(cut, made.bytes, size);
    assert_false(rt_plan_read(cut, size, &plan));
    free(cut);
  }
  int refused = 0;
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  for (size_t i = 0; i < made.size * 3; i++) {
    static const uint8_t flips[3] = {1, 0x80, 0xff};
    memcpy(copy, made.bytes, made.size);
    copy[i / 3] ^= flips[i % 3];
    refused += !rt_plan_read(copy, made.size, &plan);
    rt_code code = {0};
    rt_program *p;
    ir_error error = {0};
    if (!rt_program_make(c, copy, made.size, &code, &p, &error)) rt_program_release(p);
  }
  assert_true(refused > 300);
  static const char *const says[] = {"a plan and its code do not belong together", "a plan is damaged"};
  for (int damaged = 0; damaged < 2; damaged++) {
    memcpy(copy, made.bytes, made.size);
    copy[0] ^= (uint8_t)damaged;
    rt_code code = {0};
    rt_program *p;
    ir_error error = {0};
    assert_int_equal(rt_program_make(c, copy, made.size, &code, &p, &error), IR_ERR_INVALID);
    assert_string_equal(error.text, says[damaged]);
  }
  free(copy);
  rt_plan_bytes_free(&ir_mem_libc, &made);
}

static void damaged_entries_are_misses(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_context *c = p_context_with((rt_options){0});
  unit_release(p_build(c, m, "victim"));
  unit_release(c);
  char path[256];
  p_cache_file("plan", path);
  static uint8_t bytes[1 << 16];
  int fd = open(path, O_RDONLY);
  ssize_t size = read(fd, bytes, sizeof bytes);
  close(fd);
  assert_true(size > 1000 && size < (ssize_t)sizeof bytes);
  rt_disk_head head;
  memcpy(&head, bytes, sizeof head);
  ssize_t key_end = (ssize_t)(sizeof head + head.key_size), payload = size - (ssize_t)head.payload_size;
  for (ssize_t i = 0; i < size; i++) {
    if (i == key_end) i = payload; /* between them is padding that is never read */
    bytes[i] ^= 0x10;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, (size_t)size), size);
    close(fd);
    bytes[i] ^= 0x10;
    c = p_context_with((rt_options){.no_compile = true});
    assert_null(p_find(c, "victim"));
    unit_release(c);
  }
}

/* Entries with a right digest that are no plans: also misses, which are removed and written anew. */
static void entries_that_are_no_plans_are_misses(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_context *c = p_context_with((rt_options){0});
  rt_full_key key;
  ir_error error = {0};
  assert_int_equal(rt_full_key_make(c, "victim", 6, &key, &error), IR_OK);
  static const char junk[400] = "junk";
  assert_true(rt_disk_put(rt_context_disk(c, &error), "plan", key.bytes, key.size, junk, sizeof junk));
  char path[256];
  p_cache_file("plan", path);
  assert_null(p_find(c, "victim"));
  assert_int_equal(access(path, F_OK), -1);
  p_build(c, m, "victim"); /* written anew */
  assert_int_equal(access(path, F_OK), 0);
  rt_full_key_free(&key);
}

/* ---- threads, many programs */

static void *find_and_build(void *argument) {
  p_worker *w = argument;
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  w->good = true;
  for (int k = 0; k < 20 && w->good; k++) {
    char key[16];
    snprintf(key, sizeof key, "k%d", k);
    rt_program *p = NULL;
    ir_error error = {0};
    w->good = !rt_program_find(w->context, key, strlen(key), &p, &error);
    if (w->good && !p)
      w->good = !rt_program_build(w->context, "test", &m->g, &m->p, key, strlen(key), &p, &error);
    w->good = w->good && p_run_some(p, w->number, 10);
    rt_program_release(p);
  }
  return NULL;
}

static void threads_share_a_context(void **state) {
  p_empty_cache();
  rt_context *c = p_context_with((rt_options){0});
  p_work_in_threads(find_and_build, c, NULL);
}

static void many_programs_are_forgotten_in_time(void **state) {
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *first = p_build(c, m, "0");
  for (int k = 1; k < 1100; k++) {
    char key[16];
    snprintf(key, sizeof key, "%d", k);
    unit_release(p_build(c, m, key));
  }
  assert_int_equal(c->programs.count, 1024);
  assert_null(p_find(c, "0"));
  p_check_two_kernels(first, 8, &(int64_t){8}, 1); /* its user still holds it */
  unit_release(first);
  rt_program *last = p_find(c, "1099");
  assert_non_null(last);
}

/* ---- memory that runs out */

static void memory_may_run_out_anywhere(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  long allocations = 0;
  for (int warm = 0; warm < 2; warm++) {
    bool done = false;
    for (long left = 0; !done; left++) {
      if (!warm) p_empty_cache();
      test_budget b = {left, 0};
      const ir_mem mem = {test_budget_hook, &b};
      rt_options options = {.cache_dir = p_place(), .compile = p_compile, .threads = 1};
      rt_context *c;
      rt_program *p = NULL;
      ir_error error = {0};
      ir_status status = rt_context_create(&mem, &options, &c, &error);
      if (!status) status = rt_program_find(c, "key", 3, &p, &error);
      if (!status && !p) status = rt_program_build(c, "test", &m->g, &m->p, "key", 3, &p, &error);
      float x[8] = {1}, y[8] = {2}, out[8];
      if (!status) status = rt_program_run(p, (void *[]){x, y}, (void *[]){out}, &(int64_t){8}, &error);
      if (status) assert_int_equal(status, IR_ERR_MEMORY);
      if (status) assert_true(error.text[0] != 0);
      else assert_true(out[0] == 8);
      done = !status && atomic_load(&b.left) > 0;
      allocations = left;
      rt_program_release(p);
      rt_context_destroy(c);
      assert_int_equal(atomic_load(&b.live), 0);
    }
    assert_true(allocations > (warm ? 5 : 50));
  }
}

/* ---- identity, devices */

static void identity_names_sources_and_llvm(void **state) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  rt_identity_text(&text);
  char source[64], llvm[160];
  assert_int_equal(sscanf(ir_text_get(&text), "source=%63s llvm=%159s", source, llvm), 2);
  assert_int_equal(strspn(source, "0123456789abcdef"), 32);
  assert_in_range(strspn(llvm, "0123456789abcdef"), 16, 128);
  char hex[129];
  assert_false(rt_build_id("/nonexistent", hex, sizeof hex));
  assert_false(rt_build_id("Makefile", hex, sizeof hex));
  assert_false(rt_build_id("/dev/null", hex, sizeof hex));
  ir_text_free(&text);
}

static void devices_are_described(void **state) {
  rt_context *c =
      p_context_with((rt_options){.no_disk = true, .threads = 3, .target = "features=+avx2,+fma l2=65536"});
  ir_text text;
  ir_error error = {0};
  ir_text_init(&text, &ir_mem_libc);
  assert_int_equal(rt_devices_text(c, &text, &error), IR_OK);
  assert_int_equal(strncmp(ir_text_get(&text), "cpu", 3), 0);
  assert_non_null(strstr(ir_text_get(&text), "\n  features   avx2 fma\n"));
  assert_non_null(strstr(ir_text_get(&text), ", L2 64 KiB,"));
  assert_non_null(strstr(ir_text_get(&text), "of which 3 run threads\n"));
  ir_text_free(&text);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, graphs_share_kernels, another_target_is_another_key,
                   canonical_bytes_make_the_same_kernel, damaged_plans_are_refused,
                   damaged_entries_are_misses, entries_that_are_no_plans_are_misses, threads_share_a_context,
                   many_programs_are_forgotten_in_time, memory_may_run_out_anywhere,
                   identity_names_sources_and_llvm, devices_are_described)
