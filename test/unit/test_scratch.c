/* Scratch memory: a kernel's stated need is its own memory, in any thread, run or loop, and costs a run no
 * allocation. The kernels are C functions of this file; generated code is patched to jump to them. */
#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>

#include "test/lib/level.h"
#include "test/lib/plans.h"
#include "test/lib/unit.h"

enum { NEEDED = 1000, COUNT = 64 };

/* out[i] = in[i] * 2 where the scratch memory kept the values put there, else -1 */
static atomic_int calls, unaligned;
static void keeps(void *const *buffers, const int64_t *vars, int64_t begin, int64_t end, void *scratch) {
  float *out = buffers[0];
  const float *in = buffers[1];
  atomic_fetch_add(&calls, 1);
  if ((uintptr_t)scratch % CG_SCRATCH_ALIGN) atomic_fetch_add(&unaligned, 1);
  for (int64_t i = begin; i < end; i++) {
    volatile uint8_t *own = scratch;
    bool kept = true;
    for (int iteration = 0; iteration < 20; iteration += level_step(5)) {
      uint8_t mark = (uint8_t)(in[i] * 7 + (float)iteration);
      for (int k = 0; k < NEEDED; k++) own[k] = mark;
      for (int k = 0; k < NEEDED; k++) kept &= own[k] == mark;
    }
    out[i] = kept ? in[i] * 2 : -1;
  }
}

/* A jump to the address that is put at ADDRESS_AT. */
#if defined(__aarch64__)
enum { ADDRESS_AT = 8 };
static const uint8_t far_jump[16] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6}; /* ldr x16, .+8; br x16 */
#else
enum { ADDRESS_AT = 2 };
static const uint8_t far_jump[12] = {0x48, 0xb8, [10] = 0xff, 0xe0}; /* movabs rax, imm64; jmp rax */
#endif

/* Puts a jump to `keeps` in place of the object's code, which has no relocations. */
static bool divert(cg_blob *object) {
  uint8_t jump[sizeof far_jump];
  uint64_t to = (uintptr_t)keeps;
  Elf64_Ehdr head;
  memcpy(jump, far_jump, sizeof jump);
  memcpy(jump + ADDRESS_AT, &to, sizeof to);
  memcpy(&head, object->bytes, sizeof head);
  for (int i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr s;
    memcpy(&s, object->bytes + head.e_shoff + (size_t)i * sizeof s, sizeof s);
    if (s.sh_type != SHT_PROGBITS || !(s.sh_flags & SHF_EXECINSTR) || s.sh_size < sizeof jump) continue;
    memcpy(object->bytes + s.sh_offset, jump, sizeof jump);
    return true;
  }
  return false;
}

static ir_status compile_diverted(void *user, const ir_graph *graph, ir_ref kernel, const char *symbol,
                                  const ir_target *target, cg_blob *object, ir_error *error) {
  ir_status status = p_compile(NULL, graph, kernel, symbol, target, object, error);
  if (status == IR_OK && !divert(object)) status = ir_fail(error, IR_ERR_COMPILE, "no code to divert");
  object->scratch = *(const uint64_t *)user;
  return status;
}

static rt_context *context(int threads, uint64_t *needed) {
#if !defined(__x86_64__) && !defined(__aarch64__)
  skip(); /* the jump is in this machine's code */
#endif
  return p_context_with(
      (rt_options){.threads = threads, .compile = compile_diverted, .compile_user = needed});
}

/* out = the kernel above of x, `work` per element; for `pair` with a temporary in between. */
static ir_status build(rt_context *c, const char *key, bool pair, int64_t work, rt_program **made,
                       ir_error *error) {
  p_maker *m = p_begin();
  ir_graph *g = &m->g;
  ir_ref size = ir_index(g, COUNT), param[2] = {p_param(m, 0, IR_F32, size), p_param(m, 1, IR_F32, size)};
  ir_ref i = k_range(g, size, 0), store = k_store(g, param[0], i, k_load(g, param[1], i));
  ir_ref kernel = k_kernel(g, k_loop(g, i, IR_THREAD, store), param, 2);
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, size),
           out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, size);
  uint32_t between = pair ? p_slot(m, IR_SLOT_TEMP, "t", IR_F32, size) : x;
  if (pair) p_launch(m, kernel, size, ir_index(g, work), (uint32_t[]){between, x}, 2);
  p_launch(m, kernel, size, ir_index(g, work), (uint32_t[]){out, between}, 2);
  p_results(m, &out, 1);
  return rt_program_build(c, "test", &m->g, &m->p, key, strlen(key), made, error);
}

static rt_program *program(rt_context *c, const char *key, bool pair, int64_t work) {
  ir_error error = {0};
  rt_program *p;
  if (build(c, key, pair, work, &p, &error)) fail_msg("%s", error.text);
  return p_keep(p);
}

/* Is every run of the program right? Without cmocka: for threads. */
static bool run(const rt_program *p, float factor, int iterations) {
  bool good = true;
  float in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; i++) in[i] = (float)i;
  for (int k = 0; k < iterations && good; k++) {
    good = rt_program_run(p, (void *[]){in}, (void *[]){out}, NULL, NULL) == IR_OK;
    for (int i = 0; i < COUNT; i++) good &= out[i] == in[i] * factor;
  }
  return good;
}

enum { HEAVY = 1 << 30 };

static void threads_of_a_loop_have_their_own(void **state) {
  uint64_t needed = NEEDED;
  for (int threads = 1; threads <= 4; threads++) {
    p_empty_cache();
    rt_context *c = context(threads, &needed);
    rt_program *one = program(c, "one", false, HEAVY), *two = program(c, "two", true, HEAVY);
    calls = 0;
    assert_true(run(one, 2, 50));
    assert_true(threads > 1 ? calls > 50 : calls == 50);
    assert_true(run(two, 4, 50));
    assert_int_equal(unaligned, 0);
  }
}

static void *run_often(void *argument) {
  p_worker *w = argument;
  w->good = run(w->program, 4, 50);
  return NULL;
}

static void runs_at_one_time_have_their_own(void **state) {
  uint64_t needed = NEEDED;
  p_empty_cache();
  rt_context *c = context(3, &needed);
  rt_program *p = program(c, "p", true, HEAVY);
  p_worker workers[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    workers[i] = (p_worker){.program = p};
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &workers[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_true(workers[i].good);
  }
}

static void the_cache_remembers_how_much(void **state) {
  uint64_t needed = NEEDED;
  p_empty_cache();
  for (int from_disk = 0; from_disk < 2; from_disk++) {
    rt_context *c = context(2, &needed);
    rt_program *p = from_disk ? p_find(c, "kept") : program(c, "kept", false, 1);
    assert_non_null(p);
    assert_int_equal(rt_program_stats(p).from_disk, from_disk);
    assert_true(run(p, 2, 3));
    unit_release(p);
    needed = 0; /* the kernel's cache entry has the need as well, for another plan */
    p = program(c, from_disk ? "other" : "another", true, 1);
    assert_int_equal(rt_program_stats(p).compiled, 0);
    assert_true(run(p, 4, 3));
    unit_release(p);
    unit_release(c);
  }
}

static void a_size_that_nothing_holds_is_refused(void **state) {
  float in[COUNT] = {0}, out[COUNT];
  uint64_t needed = PTRDIFF_MAX / 2 - 200; /* for each of three threads */
  ir_error error = {0};
  p_empty_cache();
  rt_context *c = context(3, &needed);
  rt_program *p;
  assert_int_equal(build(c, "too large", false, 1, &p, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, "more bytes than memory can hold"));
  unit_release(c);
  p_empty_cache();
  needed = PTRDIFF_MAX / 4;
  c = context(3, &needed);
  p = program(c, "large", false, 1);
  for (int k = 0; k < 2; k++) {
    error = (ir_error){0};
    assert_int_equal(rt_program_run(p, (void *[]){in}, (void *[]){out}, NULL, &error), IR_ERR_MEMORY);
    assert_non_null(strstr(error.text, "out of memory"));
  }
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, threads_of_a_loop_have_their_own, runs_at_one_time_have_their_own,
                   the_cache_remembers_how_much, a_size_that_nothing_holds_is_refused)
