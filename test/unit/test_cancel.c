/* Progress and cancelling: wherever a call is cancelled, it says so, and what it used can be used again. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/lib/api.h"
#include "test/lib/level.h"
#include "test/lib/unit.h"

static vf_error error;

/* An allocator that cancels whatever its context does, at a chosen allocation. */
typedef struct trigger {
  _Atomic(vf_context *) context; /* NULL: none is cancelled */
  atomic_long allocations, at;
} trigger;

static void *pull(void *user, void *ptr, size_t old_size, size_t new_size) {
  trigger *t = user;
  (void)old_size;
  if (new_size && atomic_fetch_add(&t->allocations, 1) + 1 == atomic_load(&t->at)) vf_cancel(t->context);
  if (new_size) return realloc(ptr, new_size);
  free(ptr);
  return NULL;
}

static vf_context *newest; /* of these */

static vf_context *triggered(trigger *t, int threads, int mode) {
  *t = (trigger){0};
  return newest = t->context = api_context_with((vf_options){.size = sizeof(vf_options),
                                                             .allocator = pull,
                                                             .allocator_user = t,
                                                             .threads = threads,
                                                             .flags = VF_NO_DISK,
                                                             .compile_mode = mode});
}

static const char text[] = "graph @step(%s: f32[4], %x: f32[4]) {\n"
                           "  %n = add %s, %x\n"
                           "  %y = mul %n, 2.0\n"
                           "  return %n, %y\n"
                           "}\n"
                           "graph @net(%a: f32[8,4], %b: f32[4,4], %i: i32[3]) {\n"
                           "  %h = matmul %a, %b\n"
                           "  %p = softmax %h axis=-1\n"
                           "  %z = sum %p axes=[0]\n"
                           "  %c, %ys = scan %z, %p do=@step\n"
                           "  %t = take %ys, %i axis=0\n"
                           "  return %p, %c, %t\n"
                           "}\n";

typedef struct run {
  float p[32], c[4], t[12];
} run;

static const float a[32] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 2, 4, 5, 1, 1, 0},
                   b[16] = {1, 0, 2, 0, 1, 3, 0, 1, 1};
static const int32_t indices[3] = {0, 7, -1};
static const void *const inputs[3] = {a, b, indices};

static run evaluated(vf_graph *g) {
  run r;
  memset(&r, 0, sizeof r);
  api_evaluate(g, inputs, (void *[]){r.p, r.c, r.t}, NULL);
  return r;
}

static void check_close(const run *got, const run *want) {
  const float *x = (const float *)got, *y = (const float *)want;
  for (size_t i = 0; i < sizeof *got / sizeof *x; i++)
    assert_true(x[i] - y[i] < 1e-4f && y[i] - x[i] < 1e-4f);
}

/* Each thing that may take long: true when it was done. */
typedef bool (*work)(vf_graph *g, run *out);

static bool compile_and_run(vf_graph *g, run *out) {
  vf_program *p = vf_compile(g, &error);
  bool done = p && vf_program_run(p, inputs, (void *[]){out->p, out->c, out->t}, NULL, &error) == VF_OK;
  vf_program_destroy(p);
  return done;
}

static bool evaluate(vf_graph *g, run *out) {
  return vf_evaluate(g, inputs, (void *[]){out->p, out->c, out->t}, NULL, &error) == VF_OK;
}

static bool dump_loops(vf_graph *g, run *out) {
  char *made = vf_graph_dump(g, "loops", &error);
  bool done = made != NULL;
  if (done) *out = evaluated(g);
  vf_text_free(newest, made);
  return done;
}

static bool profile(vf_graph *g, run *out) {
  vf_program *p = vf_compile(g, &error);
  vf_profile *profile = p ? vf_program_profile(p, g, &error) : NULL;
  bool done =
      profile && vf_profile_run(profile, inputs, (void *[]){out->p, out->c, out->t}, NULL, &error) == VF_OK;
  vf_profile_destroy(profile);
  vf_program_destroy(p);
  return done;
}

/* Says the message which call was cancelled, and what to do? */
static bool says_cancelled(const char *message) {
  static const char *const all[] = {
      "graph @net: cancelled while it was compiled; compile it again to go on",
      "graph @net: cancelled while it was evaluated; outputs are unspecified",
      "graph @net: cancelled while its stage 'loops' was made; ask for it again"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(message, all[i]) == 0) return true;
  return false;
}

/* Cancels the work at every `step`-th allocation, until it is no longer reached. */
static void cancel_everywhere(work does, int threads, int mode, int step) {
  trigger t;
  vf_graph *reference = api_parse(api_context(), text);
  const run want = evaluated(reference);
  int cancelled = 0;
  for (long at = 1, used = at; used >= at; at += step) {
    run got = {{0}, {0}, {0}};
    vf_graph *g = api_parse(triggered(&t, threads, mode), text);
    long before = atomic_load(&t.allocations);
    atomic_store(&t.at, before + at);
    bool done = does(g, &got);
    if (!done && error.status != VF_ERR_CANCELLED) fail_msg("allocation %ld: %s", at, error.message);
    if (!done && !says_cancelled(error.message)) fail_msg("allocation %ld: %s", at, error.message);
    cancelled += !done;
    used = atomic_load(&t.allocations) - before;
    assert_int_equal(vf_graph_status(g), VF_OK);
    if (!done && !does(g, &got)) fail_msg("again, after allocation %ld: %s", at, error.message);
    check_close(&got, &want);
    unit_release(g);
    unit_release(t.context);
  }
  assert_true(cancelled > 0);
}

static void test_compiling(void **state) {
  (void)state;
  cancel_everywhere(compile_and_run, 1, VF_COMPILE_IN_PROCESS, level_step(397));
  cancel_everywhere(compile_and_run, 2, VF_COMPILE_IN_PROCESS, level_step(1999));
}

static void test_compiler_process(void **state) {
  (void)state;
  cancel_everywhere(compile_and_run, 2, VF_COMPILE_PROCESS, level_step(1201));
}

static void test_evaluating(void **state) {
  (void)state;
  cancel_everywhere(evaluate, 1, VF_COMPILE_DEFAULT, level_step(17));
}

static void test_dumping(void **state) {
  (void)state;
  cancel_everywhere(dump_loops, 1, VF_COMPILE_DEFAULT, level_step(997));
}

static void test_profiling(void **state) {
  (void)state;
  cancel_everywhere(profile, 1, VF_COMPILE_DEFAULT, level_step(1999));
}

/* A tensor that was not realised can be realised later; a jitted function can be called again. */
static void test_session(void **state) {
  (void)state;
  trigger t;
  int cancelled = 0, step = level_step(97);
  for (long at = 1, used = at; used >= at; at += step) {
    vf_context *c = triggered(&t, 1, VF_COMPILE_DEFAULT);
    vf_tensor *in = vf_tensor_create(c, VF_F32, VF_LIST(8, 4), a, &error);
    vf_value x = vf_tensor_value(in);
    vf_tensor *y = vf_tensor_keep(vf_softmax(vf_mul(x, x), -1), &error),
              *z = vf_tensor_keep(vf_exp(x), &error);
    long before = atomic_load(&t.allocations);
    atomic_store(&t.at, before + at);
    bool done = vf_tensor_realise(&y, 1, &error) == VF_OK;
    if (!done) assert_int_equal(error.status, VF_ERR_CANCELLED);
    cancelled += !done;
    used = atomic_load(&t.allocations) - before;
    const float *again = vf_tensor_data(y, &error), *other = vf_tensor_data(z, &error);
    if (!again || !other) fail_msg("%s", error.message);
    assert_true(again[0] + again[1] + again[2] + again[3] - 1 < 1e-5f);
    assert_true(other[31] == 1);
    vf_tensor_release(in), vf_tensor_release(y), vf_tensor_release(z);
    unit_release(c);
  }
  assert_true(cancelled > 0);
}

/* runs */

typedef struct tapped {
  vf_context *context;
  int seen, stop_at;
  bool by_signal;
} tapped;

static vf_context *signalled;
static void on_signal(int number) {
  (void)number;
  vf_cancel(signalled);
}

static void count_taps(void *user, const vf_tapped *shown) {
  tapped *t = user;
  (void)shown;
  if (++t->seen != t->stop_at) return;
  if (t->by_signal) raise(SIGUSR1);
  else vf_cancel(t->context);
}

static void always(void *user, const vf_value *in, vf_value *out) {
  (void)user;
  out[0] = vf_boolean(in[0].graph, true);
}
static void add_one(void *user, const vf_value *in, vf_value *out) {
  (void)user;
  out[0] = vf_tap(vf_add(in[0], vf_number(in[0].graph, 1)), "state");
}

/* x + 1 + 1 ..., without an end where trips is -1. */
static vf_program *counting(vf_context *c, int64_t trips) {
  vf_graph *g = api_graph(c, "counting");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(16)), y;
  vf_while_loop(always, add_one, NULL, 1, &x, trips, &y);
  vf_output(g, "y", y);
  return api_compile(g);
}

/* An endless loop ends at the iteration that cancels it; the next run does not, until it is cancelled too. */
static void test_loops(void **state) {
  (void)state;
  signal(SIGUSR1, on_signal);
  for (int threads = 1; threads <= 2; threads++) {
    tapped t = {.stop_at = 3};
    float x[16] = {0}, y[16];
    t.context = signalled =
        api_context_with((vf_options){.threads = threads, .tap = count_taps, .tap_user = &t});
    vf_program *endless = counting(t.context, -1), *five = counting(t.context, 5);
    for (int way = 0; way < 4; way++) {
      t.seen = 0, t.stop_at = 3 + way, t.by_signal = way % 2;
      assert_int_equal(vf_program_run(endless, (const void *[]){x}, (void *[]){y}, NULL, &error),
                       VF_ERR_CANCELLED);
      assert_string_equal(error.message,
                          "graph @counting: the run was cancelled; its results are unspecified");
      assert_int_equal(t.seen, 3 + way);
      t.stop_at = 0;
      api_run(five, (const void *[]){x}, (void *[]){y}, NULL);
      assert_true(y[0] == 5 && y[15] == 5);
    }
  }
}

/* telling */

typedef struct listener {
  vf_context *context;
  atomic_int calls, inside;
  int stop_at; /* the call that answers that it is enough; 0: none */
  bool saw_total, wrong;
  char what[64];
} listener;

static int listen(void *user, const char *what, int64_t done, int64_t total) {
  listener *l = user;
  l->wrong |= atomic_fetch_add(&l->inside, 1) != 0 || done < 0 || total < 0;
  l->saw_total |= total > 0;
  snprintf(l->what, sizeof l->what, "%s", what);
  int call = atomic_fetch_add(&l->calls, 1) + 1;
  atomic_fetch_sub(&l->inside, 1);
  return call == l->stop_at;
}

static void test_telling_of_runs(void **state) {
  (void)state;
  listener l = {.stop_at = 2};
  float x[16] = {0}, y[16];
  l.context = api_context();
  vf_program *endless = counting(l.context, -1), *five = counting(l.context, 5);
  vf_set_progress(l.context, listen, &l);
  assert_int_equal(vf_program_run(endless, (const void *[]){x}, (void *[]){y}, NULL, &error),
                   VF_ERR_CANCELLED);
  assert_int_equal(l.calls, 2);
  assert_string_equal(l.what, "running");
  assert_false(l.wrong);
  api_run(five, (const void *[]){x}, (void *[]){y}, NULL);
  assert_true(y[0] == 5);
  vf_set_progress(l.context, NULL, NULL);
  api_run(five, (const void *[]){x}, (void *[]){y}, NULL);
  assert_int_equal(l.calls, 2);
}

/* A product of n x n, which the listener ends at its first call; false if it took less time than passes until
 * that call. Without an end, it is computed. */
static bool product_is_ended(listener *l, int n) {
  size_t count = (size_t)n * (size_t)n;
  float *m = calloc(3 * count, sizeof *m);
  assert_non_null(m);
  vf_graph *g = api_graph(l->context, "product");
  vf_value p = vf_input(g, "p", VF_F32, VF_LIST(n, n)), q = vf_input(g, "q", VF_F32, VF_LIST(n, n));
  vf_output(g, "y", vf_matmul(p, q));
  vf_program *product = api_compile(g);
  const void *in[] = {m, m + count};
  void *out[] = {m + 2 * count};
  l->calls = 0;
  l->stop_at = 1;
  vf_status status = vf_program_run(product, in, out, NULL, &error);
  bool told = l->calls > 0;
  assert_int_equal(status, told ? VF_ERR_CANCELLED : VF_OK);
  assert_int_equal(l->calls, told);
  l->stop_at = 0;
  api_run(product, in, out, NULL);
  free(m);
  return told;
}

/* One kernel that takes several times as long as calls are apart is ended between its parts. */
static void test_telling_of_a_kernel(void **state) {
  (void)state;
  for (int threads = 1; threads <= 2; threads++) {
    listener l = {.context = api_context_with((vf_options){.threads = threads})};
    vf_set_progress(l.context, listen, &l);
    int n = 2048; /* larger on a machine that is faster */
    while (!product_is_ended(&l, n) && n < 8192) n *= 2;
    assert_true(l.saw_total);
  }
}

static void *cancel_when_told(void *user) {
  listener *l = user;
  while (!atomic_load(&l->calls)) usleep(1000);
  vf_cancel(l->context);
  return NULL;
}

static void test_another_thread(void **state) {
  (void)state;
  listener l = {0};
  pthread_t other;
  float x[16] = {0}, y[16];
  l.context = api_context();
  vf_program *endless = counting(l.context, -1);
  vf_set_progress(l.context, listen, &l);
  assert_int_equal(pthread_create(&other, NULL, cancel_when_told, &l), 0);
  assert_int_equal(vf_program_run(endless, (const void *[]){x}, (void *[]){y}, NULL, &error),
                   VF_ERR_CANCELLED);
  pthread_join(other, NULL);
}

/* Layers whose kernels are all different: no number is there twice. */
static vf_graph *deep_graph(vf_context *c, int layers, double number) {
  vf_graph *g = api_graph(c, "deep");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(31, 31));
  for (int i = 0; i < layers; i++)
    x = vf_softmax(vf_matmul(x, vf_mul(vf_permute(x, VF_LIST(1, 0)), vf_number(g, number + i))), i % 2);
  vf_output(g, "y", x);
  return g;
}

/* A graph that takes longer to compile than calls are apart tells of its kernels; what is cancelled by the
 * function is compiled on the next call. */
static void test_telling_of_compiling(void **state) {
  (void)state;
  listener l = {0};
  l.context = api_context_with((vf_options){.flags = VF_NO_DISK});
  vf_set_progress(l.context, listen, &l);
  for (int layers = 16; l.calls < 2 || !l.saw_total; layers *= 2) {
    assert_true(layers < 1 << 16);
    l = (listener){.context = l.context, .stop_at = 1};
    vf_graph *g = deep_graph(l.context, layers, 2.0 * layers);
    vf_program *p = vf_compile(g, &error);
    vf_program_destroy(p);
    if (p) continue;
    assert_int_equal(error.status, VF_ERR_CANCELLED);
    assert_non_null(strstr(error.message, "graph @deep"));
    assert_int_equal(vf_graph_status(g), VF_OK);
    l.stop_at = 0;
    api_compile(g);
  }
  assert_false(l.wrong);
}

static void test_nothing(void **state) {
  (void)state;
  vf_cancel(NULL);
  vf_set_progress(NULL, listen, NULL);
  assert_string_equal(vf_status_text(VF_ERR_CANCELLED), "cancelled");
  trigger t;
  vf_context *c = triggered(&t, 1, VF_COMPILE_DEFAULT);
  run got;
  vf_cancel(c); /* of what is in progress: nothing is */
  assert_true(compile_and_run(api_parse(c, text), &got));
}

UNIT_TESTS(test_compiling, test_compiler_process, test_evaluating, test_dumping, test_profiling, test_session,
           test_loops, test_telling_of_runs, test_telling_of_a_kernel, test_another_thread,
           test_telling_of_compiling, test_nothing)
