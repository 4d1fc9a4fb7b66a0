/* Results, limits and history of `viewfold bench`. The oracles of its workloads are compared with the
 * reference evaluator where that is fast enough; the command compares all of them with compiled programs. */
#include <math.h>
#include <unistd.h>

#include "frontend/cli/bench/bench.h"
#include "test/lib/unit.h"

typedef struct evaluated {
  vf_context *context;
  bench_case c; /* compiled for its inputs and outputs alone; the results are the evaluator's */
  bench_inputs in;
  float *results;
  size_t count;
} evaluated;

static void evaluate(evaluated *e, const bench_workload *w) {
  ir_error error = {0};
  vf_error failure = {0};
  void *outputs[8];
  *e = (evaluated){.context = vf_context_create(NULL, NULL)};
  assert_int_equal(bench_case_compile(&e->c, e->context, w->id, w->text, strlen(w->text), &error), IR_OK);
  assert_int_equal(bench_seed_inputs(w, e->c.program, &e->in, &error), IR_OK);
  int count = vf_port_count(e->c.program, VF_OUTPUT);
  for (int i = 0; i < count; i++)
    e->count += (size_t)vf_port_bytes(e->c.program, VF_OUTPUT, i, NULL, NULL) / sizeof(float);
  e->results = malloc(e->count * sizeof(float));
  assert_non_null(e->results);
  float *at = e->results;
  for (int i = 0; i < count; i++) {
    outputs[i] = at;
    at += vf_port_bytes(e->c.program, VF_OUTPUT, i, NULL, NULL) / (int64_t)sizeof(float);
  }
  const void *inputs[16];
  for (size_t i = 0; i < e->in.count; i++) inputs[i] = e->in.list[i].a.data;
  assert_int_equal(vf_evaluate(e->c.graph, inputs, outputs, NULL, &failure), VF_OK);
}

static void forget(evaluated *e) {
  bench_inputs_free(&e->in);
  bench_case_close(&e->c);
  vf_context_destroy(e->context);
  free(e->results);
}

static void oracles_agree_with_the_evaluator(void **state) {
  static const char *const ids[] = {"L2chain", "L2softmax", "V11", "T2", "M1_512"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    const bench_workload *w = bench_workload_find(ids[i]);
    evaluated e;
    evaluate(&e, w);
    assert_true(bench_error(w, &e.in, e.results, e.count, 2) <= w->tolerance);
    forget(&e);
  }
}

static void a_wrong_result_is_an_error(void **state) {
  const bench_workload *w = bench_workload_find("L2chain");
  evaluated e;
  evaluate(&e, w);
  double before = bench_error(w, &e.in, e.results, e.count, 1);
  float kept = e.results[40000];
  e.results[40000] += 0.5F;
  assert_true(bench_error(w, &e.in, e.results, e.count, 1) > 0.1);
  e.results[40000] = NAN;
  assert_true(isinf(bench_error(w, &e.in, e.results, e.count, 2)));
  e.results[40000] = INFINITY;
  assert_true(isinf(bench_error(w, &e.in, e.results, e.count, 2)));
  e.results[40000] = kept;
  assert_true(bench_error(w, &e.in, e.results, e.count, 2) == before);
  assert_true(isinf(bench_error(w, &e.in, e.results, e.count - 1, 1)));
  assert_true(isinf(bench_error(w, &e.in, e.results, 0, 1)));
  forget(&e);
}

/* Inputs of every workload match its graph, differ from element to element, and are the same each time. */
static void inputs_are_seeded(void **state) {
  static const char *const ids[] = {"L2softmax", "T1", "T2"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    const bench_workload *w = bench_workload_find(ids[i]);
    vf_context *context = vf_context_create(NULL, NULL);
    bench_case c;
    bench_inputs first, second;
    ir_error error = {0};
    assert_int_equal(bench_case_compile(&c, context, w->id, w->text, strlen(w->text), &error), IR_OK);
    assert_int_equal(bench_seed_inputs(w, c.program, &first, &error), IR_OK);
    assert_int_equal(bench_seed_inputs(w, c.program, &second, &error), IR_OK);
    for (size_t k = 0; k < first.count; k++) {
      const fe_array *a = &first.list[k].a;
      assert_memory_equal(a->data, second.list[k].a.data, a->bytes);
      assert_memory_not_equal(a->data, (const char *)a->data + a->bytes / 8 * 4, a->bytes / 8 * 4);
      assert_true((uintptr_t)a->data % 64 == 0);
    }
    bench_inputs_free(&first);
    bench_inputs_free(&second);
    bench_case_close(&c);
    vf_context_destroy(context);
  }
}

static void limits_follow_bytes_or_operations(void **state) {
  fe_roofline l = {.gflops = 100};
  for (int f = 0; f < FE_FOOTPRINTS; f++) {
    l.gbs[FE_STREAM_READ][f] = 40;
    l.gbs[FE_STREAM_COPY][f] = 20;
    l.gbs[FE_STREAM_FILL][f] = 10;
  }
  assert_float_equal(fe_roofline_ms(&l, 40e6, 0, 0), 1, 1e-9);
  assert_float_equal(fe_roofline_ms(&l, 10e6, 10e6, 0), 1, 1e-9);
  assert_float_equal(fe_roofline_ms(&l, 0, 10e6, 0), 1, 1e-9);
  assert_float_equal(fe_roofline_ms(&l, 30e6, 10e6, 0), 1.5, 1e-9); /* halfway from reading to copying */
  assert_float_equal(fe_roofline_ms(&l, 40e6, 0, 300e6), 3, 1e-9);
  l.gbs[FE_STREAM_READ][0] = 400;
  assert_float_equal(fe_roofline_ms(&l, 1024, 0, 0), 1024 / 400e9 * 1e3, 1e-12); /* below all footprints */
  assert_float_equal(fe_roofline_ms(&l, 1e9, 0, 0), 25, 1e-9);                   /* above all */
}

static void limits_only_rise(void **state) {
  fe_roofline l = {.gflops = 100}, seen = {.gflops = 90};
  assert_false(fe_roofline_raise(&l, &seen));
  seen.gflops = 101; /* too small a change for a line in the history */
  assert_false(fe_roofline_raise(&l, &seen));
  seen.gbs[FE_STREAM_COPY][3] = 5;
  assert_true(fe_roofline_raise(&l, &seen));
  seen.gflops = 50;
  assert_false(fe_roofline_raise(&l, &seen));
  assert_float_equal(l.gflops, 101, 1e-9);
  assert_float_equal(l.gbs[FE_STREAM_COPY][3], 5, 1e-9);
}

static void history_remembers_the_best(void **state) {
  char path[] = "/tmp/viewfold-test-history-XXXXXX";
  const bench_workload *w = bench_workload_find("R4");
  bench_result r = {.workload = w, .ms = 2, .min_ms = 1.9};
  bench_history h;
  ir_error error = {0};
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "no JSON\n{\"workload\":3}\n[]\n", 26), 26);
  close(fd);
  assert_int_equal(bench_history_open(&h, path, 1, &error), IR_OK);
  assert_true(h.limits.gflops == 0);
  assert_false(bench_history_slower(&h, &r)); /* nothing to compare with */
  for (int s = 0; s < FE_STREAMS; s++)
    for (int f = 0; f < FE_FOOTPRINTS; f++) h.limits.gbs[s][f] = s + f + 1;
  h.limits.gflops = 7;
  assert_int_equal(bench_history_put_limits(&h, "abc", &error), IR_OK);
  assert_int_equal(bench_history_put(&h, &r, "abc", &error), IR_OK);
  r.ms = 3;
  assert_int_equal(bench_history_put(&h, &r, "def", &error), IR_OK);
  bench_history_close(&h);

  assert_int_equal(bench_history_open(&h, path, 1, &error), IR_OK);
  const bench_entry *best = &h.best[w - bench_workload_at(0)];
  assert_float_equal(h.limits.gflops, 7, 1e-9);
  assert_float_equal(h.limits.gbs[FE_STREAM_FILL][2], 5, 1e-9);
  assert_float_equal(best->ms, 2, 1e-9);
  assert_string_equal(best->commit, "abc");
  r.ms = 2.15, r.min_ms = 2.12;
  assert_false(bench_history_slower(&h, &r));
  r.ms = 2.3; /* but the fastest repetition was as fast as before */
  r.min_ms = 1.9;
  assert_false(bench_history_slower(&h, &r));
  r.min_ms = 2.2;
  assert_true(bench_history_slower(&h, &r));
  bench_history_close(&h);

  assert_int_equal(bench_history_open(&h, path, 2, &error), IR_OK); /* other threads, other results */
  assert_true(h.limits.gflops == 0);
  assert_false(bench_history_slower(&h, &r));
  bench_history_close(&h);
  unlink(path);
}

UNIT_TESTS(oracles_agree_with_the_evaluator, a_wrong_result_is_an_error, inputs_are_seeded,
           limits_follow_bytes_or_operations, limits_only_rise, history_remembers_the_best)
