#include "test/lib/plans.h"

#include <pthread.h>

#include "test/lib/unit.h"

/* ---- contexts whose compilations are counted and cached */

typedef struct objects {
  pthread_mutex_t lock;
  rt_module module;
  int compiled;
  int count;
  struct {
    char symbol[RT_SYMBOL], *bytes;
    size_t size;
    uint64_t scratch;
    uint32_t in_place;
  } made[64];
} objects;
static objects all = {.lock = PTHREAD_MUTEX_INITIALIZER};
static char place[64];

/* Compiles each kernel once per test run, so that hundreds of failing builds do not take minutes. */
ir_status p_compile(void *user, const ir_graph *graph, ir_ref kernel, const char *symbol,
                    const ir_target *target, cg_blob *object, ir_error *error) {
  pthread_mutex_lock(&all.lock);
  ir_status status = IR_OK;
  all.compiled++;
  int i = 0;
  while (i < all.count && strcmp(all.made[i].symbol, symbol)) i++;
  if (i == all.count) {
    cg_blob made;
    ir_error own = {0};
    ir_graph copy;
    ir_graph_init(&copy, &ir_mem_libc, &own);
    ir_graph_copy(&copy, graph, &kernel, 1, NULL);
    status = rt_module_compile(&all.module, &copy, kernel, symbol, target, CG_OBJECT, &made, &own);
    ir_graph_free(&copy);
    if (status == IR_OK) {
      snprintf(all.made[i].symbol, RT_SYMBOL, "%s", symbol);
      all.made[i].bytes = malloc(made.size);
      all.made[i].size = made.size;
      all.made[i].scratch = made.scratch;
      all.made[i].in_place = made.in_place;
      memcpy(all.made[i].bytes, made.bytes, made.size);
      all.count++;
      cg_blob_free(&made);
    } else {
      ir_fail(error, status, "%s", own.text);
    }
  }
  if (status == IR_OK) {
    *object = (cg_blob){.mem = graph->mem,
                        .bytes = ir_alloc(graph->mem, all.made[i].size + 1),
                        .size = all.made[i].size,
                        .scratch = all.made[i].scratch,
                        .in_place = all.made[i].in_place};
    if (object->bytes) memcpy(object->bytes, all.made[i].bytes, all.made[i].size);
    else status = ir_fail(error, IR_ERR_MEMORY, "out of memory");
  }
  pthread_mutex_unlock(&all.lock);
  return status;
}

int p_set_up(void **state) {
  snprintf(place, sizeof place, "/tmp/viewfold-test-XXXXXX");
  ir_error error = {0};
  return mkdtemp(place) && rt_module_init(&all.module, NULL, &error) == IR_OK ? 0 : 1;
}
const char *p_place(void) { return place; }
int p_compilations(void) { return all.compiled; }
int p_tear_down(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", place);
  for (int i = 0; i < all.count; i++) free(all.made[i].bytes);
  rt_module_free(&all.module);
  return system(command);
}
void p_empty_cache(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s/*", place);
  assert_int_equal(system(command), 0);
}

static void destroy_context(void *context) { rt_context_destroy(context); }

rt_context *p_context_with(rt_options options) {
  ir_error error = {0};
  rt_context *c;
  options.cache_dir = place;
  if (!options.compile) options.compile = p_compile;
  if (rt_context_create(&ir_mem_libc, &options, &c, &error)) fail_msg("%s", error.text);
  return unit_keep(c, destroy_context);
}

/* ---- plans by hand */

static void end(void *maker) {
  p_maker *m = maker;
  ir_plan_free(&m->p);
  ir_graph_free(&m->g);
  free(m);
}

p_maker *p_begin(void) {
  p_maker *m = calloc(1, sizeof *m);
  assert_non_null(m);
  assert_int_equal(ir_graph_init(&m->g, &ir_mem_libc, &m->error), IR_OK);
  m->p.mem = &ir_mem_libc;
  return unit_keep(m, end);
}

uint32_t p_slot(p_maker *m, ir_slot_kind kind, const char *name, ir_dtype dtype, ir_ref size) {
  ir_ref value = ir_make_tensor(&m->g, IR_OP_INPUT, dtype, ir_tuple(&m->g, &size, 1),
                                ir_name(&m->g, name, strlen(name)), &size, 1);
  assert_true(IR_RESERVE(m->p.mem, m->p.slots, m->p.slot_cap, m->p.slot_count + 1));
  m->p.slots[m->p.slot_count] = (ir_slot){kind, value, size};
  return (uint32_t)m->p.slot_count++;
}

void p_launch(p_maker *m, ir_ref kernel, ir_ref count, ir_ref work, const uint32_t *slots, uint32_t n) {
  assert_true(IR_RESERVE(m->p.mem, m->p.steps, m->p.step_cap, m->p.step_count + 1));
  ir_step *l = &m->p.steps[m->p.step_count++];
  *l = (ir_step){
      .kernel = kernel, .count = count, .work = work, .slots = malloc(n * sizeof *slots), .slot_count = n};
  memcpy(l->slots, slots, n * sizeof *slots);
}

void p_results(p_maker *m, const uint32_t *slots, size_t n) {
  m->p.results = malloc(n * sizeof *slots);
  memcpy(m->p.results, slots, n * sizeof *slots);
  m->p.result_count = n;
}

ir_ref p_param(p_maker *m, int number, ir_dtype dtype, ir_ref size) {
  return ir_make(&m->g, IR_OP_PARAM, dtype, number, &size, 1);
}

/* out[i] = a[i] * factor + (b ? b[i] : 0), over a size that may be a variable */
void p_scale_add(p_maker *m, uint32_t out, uint32_t a, int b, double factor, ir_ref size) {
  ir_graph *g = &m->g;
  ir_ref p[3] = {p_param(m, 0, IR_F32, size), p_param(m, 1, IR_F32, size),
                 b >= 0 ? p_param(m, 2, IR_F32, size) : 0};
  ir_ref i = k_range(g, size, 0),
         value = ir_binary(g, IR_OP_MUL, k_load(g, p[1], i), ir_float(g, IR_F32, factor));
  if (b >= 0) value = ir_binary(g, IR_OP_ADD, value, k_load(g, p[2], i));
  uint32_t count = b >= 0 ? 3 : 2;
  ir_ref kernel = k_kernel_of(g, k_loop(g, i, IR_THREAD, k_store(g, p[0], i, value)), p, count,
                              ir_op_of(g, size) == IR_OP_VAR ? size : 0);
  p_launch(m, kernel, size, k_times(g, size, 16), (uint32_t[]){out, a, (uint32_t)b}, count);
}

/* out = (x * 2) * 3 + y, the product an intermediate */
void p_two_kernels(p_maker *m, ir_ref size) {
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, size), y = p_slot(m, IR_SLOT_INPUT, "y", IR_F32, size);
  uint32_t out = p_slot(m, IR_SLOT_OUTPUT, "out", IR_F32, size),
           t = p_slot(m, IR_SLOT_TEMP, "t", IR_F32, size);
  p_scale_add(m, t, x, -1, 2, size);
  p_scale_add(m, out, t, (int)y, 3, size);
  p_results(m, &out, 1);
}

ir_ref p_variable(p_maker *m) { return ir_var(&m->g, "n", 1, 4, 64, 4); }

static void release_program(void *program) { rt_program_release(program); }
rt_program *p_keep(rt_program *program) { return unit_keep(program, release_program); }

rt_program *p_build(rt_context *c, p_maker *m, const char *key) {
  ir_error error = {0};
  rt_program *p;
  if (rt_program_build(c, "test", &m->g, &m->p, key, strlen(key), &p, &error)) fail_msg("%s", error.text);
  return p_keep(p);
}
rt_program *p_find(rt_context *c, const char *key) {
  ir_error error = {0};
  rt_program *p;
  if (rt_program_find(c, key, strlen(key), &p, &error)) fail_msg("%s", error.text);
  return p ? p_keep(p) : NULL;
}

void p_run(const rt_program *p, void *const *in, void *const *out, const int64_t *vars) {
  ir_error error = {0};
  if (rt_program_run(p, in, out, vars, &error)) fail_msg("%s", error.text);
}

void p_check_two_kernels(const rt_program *p, int64_t n, const int64_t *vars, float shift) {
  float x[P_MOST], y[P_MOST], out[P_MOST + 1];
  for (int i = 0; i < P_MOST; i++) x[i] = (float)i + shift, y[i] = (float)(i % 7), out[i] = -1;
  out[n] = -1;
  p_run(p, (void *[]){x, y}, (void *[]){out}, vars);
  for (int64_t i = 0; i < n; i++) assert_true(out[i] == x[i] * 6 + y[i]);
  assert_true(out[n] == -1);
}

bool p_run_some(const rt_program *p, int number, int iterations) {
  bool good = true;
  for (int k = 0; k < iterations && good; k++) {
    int64_t n = 4 * (1 + (number + k / 4) % 16);
    float x[64], y[64], out[64];
    for (int i = 0; i < n; i++) x[i] = (float)(i + number * 100 + k), y[i] = (float)(i % 7);
    good = rt_program_run(p, (void *[]){x, y}, (void *[]){out}, &n, NULL) == IR_OK;
    for (int i = 0; i < n; i++) good &= out[i] == x[i] * 6 + y[i];
  }
  return good;
}

void p_cache_file(const char *kind, char path[256]) {
  char command[128];
  snprintf(command, sizeof command, "find %s -name '*.%s'", p_place(), kind);
  FILE *list = popen(command, "r");
  assert_non_null(list);
  assert_non_null(fgets(path, 256, list));
  path[strcspn(path, "\n")] = 0;
  pclose(list);
}

void p_work_in_threads(void *(*work)(void *), rt_context *context, const rt_program *program) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  p_worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (p_worker){context, program, i, false};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_true(workers[i].good);
  }
}
