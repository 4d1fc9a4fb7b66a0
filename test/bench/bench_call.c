/* The cost of a call. A one-kernel program on 4 floats, compared with a direct call of the kernel through its
 * pointer; a program with an intermediate; one with a variable; finding a program in the cache, as a warm
 * process does.
 *
 *   make build/bench/bench_call && build/bench/bench_call [DIRECTORY-FOR-THE-CACHE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/timer.h"
#include "runtime/context.h"
#include "runtime/program/program.h"
#include "test/lib/median.h"

static double now(void) { return (double)ir_now_ns(); }

enum { ITERATIONS = 51, CALLS = 20000 };

/* ---- plans: out = a * 2 + 1 over `size` elements, `launches` times one after the other */

static ir_ref param(ir_graph *g, int number, ir_ref size) {
  return ir_make(g, IR_OP_PARAM, IR_F32, number, &size, 1);
}

static ir_ref kernel(ir_graph *g, ir_ref size) {
  bool variable = ir_op_of(g, size) == IR_OP_VAR;
  ir_ref out = param(g, 0, size), in = param(g, 1, size), i = ir_make(g, IR_OP_RANGE, IR_INDEX, 0, &size, 1);
  ir_ref load =
      ir_make(g, IR_OP_LOAD, IR_F32, 0, (ir_ref[]){in, i, ir_bool(g, true), ir_float(g, IR_F32, 0)}, 4);
  ir_ref value =
      ir_binary(g, IR_OP_ADD, ir_binary(g, IR_OP_MUL, load, ir_float(g, IR_F32, 2)), ir_float(g, IR_F32, 1));
  ir_ref store = ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){out, i, value}, 3);
  ir_ref loop = ir_make(g, IR_OP_LOOP, IR_NONE, ir_pack_arg(0, IR_THREAD), (ir_ref[]){i, store}, 2);
  return ir_make(g, IR_OP_KERNEL, IR_NONE, 2, (ir_ref[]){loop, out, in, size}, 3 + variable);
}

enum { MANY = 200 };
static const int64_t worth_threads = 1 << 30; /* as a kernel's work: its loop is split among threads */
static rt_program *build(rt_context *c, const char *key, bool variable, uint32_t launches, int64_t work) {
  ir_error error = {0};
  ir_graph graph, *g = &graph;
  if (ir_graph_init(g, &ir_mem_libc, &error)) exit(1);
  ir_ref size = variable ? ir_var(g, "n", 1, 1, 100, 1) : ir_index(g, work ? 96 : 4);
  ir_ref value = ir_make_tensor(g, IR_OP_INPUT, IR_F32, ir_tuple(g, &size, 1), ir_name(g, "x", 1), &size, 1);
  ir_slot slots[MANY + 1] = {{IR_SLOT_INPUT, value, size}};
  uint32_t places[MANY][2], result = launches;
  ir_step list[MANY];
  for (uint32_t i = 0; i < launches; i++) {
    slots[i + 1] = (ir_slot){i + 1 < launches ? IR_SLOT_TEMP : IR_SLOT_OUTPUT, value, size};
    places[i][0] = i + 1;
    places[i][1] = i;
    list[i] = (ir_step){.kernel = kernel(g, size),
                        .count = size,
                        .work = work ? ir_index(g, work) : size,
                        .slots = places[i],
                        .slot_count = 2};
  }
  ir_plan plan = {.mem = &ir_mem_libc,
                  .slots = slots,
                  .slot_count = launches + 1,
                  .steps = list,
                  .step_count = launches,
                  .results = &result,
                  .result_count = 1};
  rt_program *p;
  if (rt_program_build(c, "bench", g, &plan, key, strlen(key), &p, &error)) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
  ir_graph_free(g);
  return p;
}

/* A scan whose iterations, ITERATIONS_OF_SCAN of them, all run the same kernel on the previous iteration's
 * state. */
enum { ITERATIONS_OF_SCAN = 1000 };
static rt_program *build_scan(rt_context *c) {
  ir_error error = {0};
  ir_graph graph, *g = &graph;
  if (ir_graph_init(g, &ir_mem_libc, &error)) exit(1);
  ir_ref size = ir_index(g, 4), iterations = ir_index(g, ITERATIONS_OF_SCAN);
  ir_ref value = ir_make_tensor(g, IR_OP_INPUT, IR_F32, ir_tuple(g, &size, 1), ir_name(g, "x", 1), &size, 1);
  ir_slot slots[5] = {{IR_SLOT_INPUT, value, size},
                      {IR_SLOT_ALIAS, value, size},
                      {IR_SLOT_ALIAS, value, size},
                      {IR_SLOT_OUTPUT, value, size},
                      {IR_SLOT_TEMP, value, size}};
  uint32_t carry[5] = {0, 1, 2, 3, 4}, buffers[2] = {2, 1}, result = 3;
  ir_step list[2] = {
      {.kind = IR_STEP_SCAN, .count = iterations, .work = ir_index(g, 0), .slots = carry, .slot_count = 5},
      {.kernel = kernel(g, size), .count = size, .work = size, .slots = buffers, .slot_count = 2}};
  list[0].carries = list[0].function_steps[0] = 1;
  ir_plan plan = {.mem = &ir_mem_libc,
                  .slots = slots,
                  .slot_count = 5,
                  .steps = list,
                  .step_count = 2,
                  .results = &result,
                  .result_count = 1};
  rt_program *p;
  if (rt_program_build(c, "bench", g, &plan, "scan", 4, &p, &error)) {
    fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
  ir_graph_free(g);
  return p;
}

static void empty(void *const *buffers, const int64_t *vars, int64_t begin, int64_t end, void *scratch) {
  __asm__ volatile("" : : "r"(buffers), "r"(vars), "r"(begin), "r"(end), "r"(scratch) : "memory");
}

static double time_direct(cg_kernel f, void **buffers) {
  double times[ITERATIONS];
  for (int r = 0; r < ITERATIONS; r++) {
    double start = now();
    for (int i = 0; i < CALLS; i++) {
      __asm__ volatile("" : "+r"(f));
      f(buffers, NULL, 0, 4, NULL);
    }
    times[r] = (now() - start) / CALLS;
  }
  return median(times, ITERATIONS);
}

static double time_program(const rt_program *p, void **in, void **out, const int64_t *vars, int calls) {
  double times[ITERATIONS];
  ir_error error = {0};
  for (int r = 0; r < ITERATIONS; r++) {
    double start = now();
    for (int i = 0; i < calls; i++)
      if (rt_program_run(p, in, out, vars, &error)) exit(1);
    times[r] = (now() - start) / calls;
  }
  return median(times, ITERATIONS);
}

static double time_find(const char *directory, bool fresh) {
  double times[ITERATIONS];
  ir_error error = {0};
  rt_options options = {.cache_dir = directory, .no_compile = true};
  rt_context *c = NULL;
  for (int r = 0; r < ITERATIONS; r++) {
    rt_program *p = NULL;
    double start = now();
    if (fresh && rt_context_create(&ir_mem_libc, &options, &c, &error)) exit(1);
    if (!fresh && !c && rt_context_create(&ir_mem_libc, &options, &c, &error)) exit(1);
    if (!fresh) rt_context_target(c, &error), rt_memo_free(&c->programs);
    if (!fresh) start = now();
    if (rt_program_find(c, "one", 3, &p, &error) || !p) exit(1);
    times[r] = now() - start;
    rt_program_release(p);
    if (fresh) rt_context_destroy(c);
  }
  if (!fresh) rt_context_destroy(c);
  return median(times, ITERATIONS);
}

int main(int argc, char **argv) {
  ir_error error = {0};
  char directory[] = "/tmp/viewfold-bench-XXXXXX";
  const char *cache = argc > 1 ? argv[1] : mkdtemp(directory);
  rt_options options = {.cache_dir = cache};
  rt_context *c;
  if (rt_context_create(&ir_mem_libc, &options, &c, &error)) return 1;
  double start = now();
  rt_program *one = build(c, "one", false, 1, 0);
  double cold = now() - start, compile = (double)rt_program_stats(one).compile_ns;
  start = now();
  rt_program *three = build(c, "three", false, 3, 0);
  double known = now() - start;
  rt_program *sized = build(c, "sized", true, 1, 0), *many = build(c, "many", false, MANY, 0),
             *split = build(c, "split", false, MANY, worth_threads), *scan = build_scan(c);
  float x[100] = {1, 2, 3, 4}, y[100];
  int64_t status = 0, n = 4;
  void *buffers[] = {y, x, &status}, *in[] = {x}, *out[] = {y};
  double call = time_direct(empty, buffers), direct = time_direct(one->frame.steps[0].function, buffers);
  double plain = time_program(one, in, out, NULL, CALLS);
  printf("indirect call of an empty function      %7.1f ns\n", call);
  printf("the kernel through its pointer          %7.1f ns\n", direct);
  printf("rt_program_run, one kernel, 4 floats    %7.1f ns   %.1f times the empty call\n", plain,
         plain / call);
  printf("rt_program_run, three kernels in a row  %7.1f ns\n", time_program(three, in, out, NULL, CALLS));
  printf("each of 200 kernels in a row            %7.1f ns\n",
         time_program(many, in, out, NULL, CALLS / MANY) / MANY);
  printf("each of 200, on 96, among %d threads     %7.1f ns\n", rt_context_threads(c),
         time_program(split, in, out, NULL, CALLS / MANY) / MANY);
  printf("rt_program_run, one kernel, a variable  %7.1f ns\n", time_program(sized, in, out, &n, CALLS));
  printf("one round of a scan of that kernel      %7.1f ns\n",
         time_program(scan, in, out, NULL, CALLS / ITERATIONS_OF_SCAN) / ITERATIONS_OF_SCAN);
  rt_program_release(one);
  rt_program_release(scan);
  rt_program_release(many);
  rt_program_release(split);
  rt_program_release(three);
  rt_program_release(sized);
  rt_context_destroy(c);
  printf("rt_program_build, all cold              %7.1f us   of which %.1f us compile and link\n", cold / 1e3,
         compile / 1e3);
  printf("rt_program_build of known kernels       %7.1f us\n", known / 1e3);
  printf("rt_program_find on disk                 %7.1f us\n", time_find(cache, false) / 1e3);
  printf("the same from a new context             %7.1f us\n", time_find(cache, true) / 1e3);
  if (argc > 1) return 0;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command);
}
