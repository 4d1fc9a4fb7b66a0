/* Times of a graph's kernels: the limit, the expected and the measured time.
 *
 * The limit is the roofline (Williams, Waterman, Patterson, 2009) of all threads: the time to move the
 * kernel's bytes at the bandwidth of that footprint, or to do its multiply-adds, whichever is longer. The
 * rate of multiply-adds is that of f32, for integers as well; of elements twice as wide, half as many fit in
 * a vector. The expected time is that of the loops as they are, by passes/cost/kernel_time.h with the
 * measured rates: how long ago its operands were touched follows from the steps between. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/explain/explain.h"
#include "frontend/profile/median.h"
#include "ir/timer.h"
#include "passes/cost/kernel_time.h"

enum { LEAST_RUNS = 5, MOST_RUNS = 101, MEASURED_NS = 200000000 };
enum { MOST_PARAMS = 32 }; /* of a kernel whose last uses are told */
#define MOST_BYTES ((size_t)2 << 30)
#define LAUNCH_MS  0.0003
#define RUN_MS     10000.0 /* a graph that takes longer is not run */

/* running */

/* Can a run take at most RUN_MS? Its least time is that of launching its steps one after another, or of its
 * operations at the machine's limit. False with r->why or error set. */
static bool is_affordable(explain_run *r, ir_error *error) {
  rt_cost cost;
  if (rt_program_cost(r->program, r->inputs.values, &cost, error) != IR_OK) return false;
  double ms = (double)cost.steps * LAUNCH_MS;
  if (r->known) {
    const fe_roofline *all = fe_machine_limits(&r->machine, rt_context_threads(r->context));
    ms = fmax(ms, (double)cost.flops / all->gflops * 1e-6);
  }
  if (ms <= RUN_MS) return true;
  snprintf(r->why, sizeof r->why, "a run takes at least %.3g s, more than the %.0f s that are spent on one",
           ms * 1e-3, RUN_MS * 1e-3);
  return false;
}

/* Run repeatedly; r->ns receives the median time of each step. */
static ir_status measure_steps(explain_run *r, const cli_buffers *b, ir_error *error) {
  size_t steps = rt_program_step_count(r->program), runs = 0;
  int64_t *all = calloc(steps * MOST_RUNS + 1, sizeof *all), *one = calloc(steps + 1, sizeof *one);
  int64_t start = ir_now_ns(), column[MOST_RUNS];
  r->ns = calloc(steps + 1, sizeof *r->ns);
  if (!all || !one || !r->ns) ir_fail(error, IR_ERR_MEMORY, "out of memory");
  if (!error->status) rt_program_run(r->program, b->in, b->out, r->inputs.values, error);
  for (; !error->status && runs < MOST_RUNS && (runs < LEAST_RUNS || ir_now_ns() - start < MEASURED_NS);
       runs++) {
    rt_program_run_timed(r->program, b->in, b->out, r->inputs.values, one, error);
    memcpy(all + runs * steps, one, steps * sizeof *one);
  }
  for (size_t i = 0; i < steps && !error->status; i++) {
    for (size_t k = 0; k < runs; k++) column[k] = all[k * steps + i];
    r->ns[i] = fe_median(column, runs);
  }
  free(all);
  free(one);
  return error->status;
}

/* Does the program exchange parts with other devices? Then it does not run here alone. *found is so. False
 * when memory is short. */
static bool find_exchange(ir_graph *g, ir_ref results, bool *found) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable(g, &results, 1, &live, &count, &cap) == IR_OK;
  *found = false;
  for (size_t i = 0; i < count && good; i++) *found |= ir_op_of(g, live[i]) == IR_OP_EXCHANGE;
  ir_free(g->mem, live, cap * sizeof *live);
  return good;
}

static int compile_and_run(explain_run *r, cli_graph *s, const ir_parsed_graph *block, ir_ref results) {
  cli_buffers buffers = {0};
  fe_request request = cli_request(s, block, results, &r->inputs);
  bool exchanges;
  if (!find_exchange(&s->g, results, &exchanges)) ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  else if (exchanges) {
    snprintf(r->why, sizeof r->why, "it exchanges parts with other devices");
    if (cli_machine_find(r->context, &r->machine, &r->known, &s->error) == IR_OK)
      fe_compile(r->context, &request, &r->program, &s->error);
    return s->error.status ? cli_failure("explain", &s->error) : CLI_OK;
  }
  if (cli_machine_find(r->context, &r->machine, &r->known, &s->error) == IR_OK &&
      fe_compile(r->context, &request, &r->program, &s->error) == IR_OK && is_affordable(r, &s->error) &&
      cli_buffers_open(&buffers, r->program, block, &r->inputs, &s->error) == IR_OK)
    measure_steps(r, &buffers, &s->error);
  cli_buffers_close(&buffers);
  return s->error.status ? cli_failure("explain", &s->error) : CLI_OK;
}

int explain_run_open(explain_run *r, cli_graph *s, const ir_parsed_graph *block) {
  ir_ref results = cli_graph_results(s, block);
  if (!results) return CLI_BAD_INPUT;
  r->graph = &s->g;
  int status = cli_bind_seeded(s, block, results, r->in, r->sizes, MOST_BYTES, &r->inputs, r->why);
  return status || *r->why ? status : compile_and_run(r, s, block, results);
}

void explain_run_close(explain_run *r) {
  rt_program_release(r->program);
  cli_binding_free(&r->inputs);
  free(r->ns);
  fe_sizes_free(&ir_mem_libc, &r->values);
  free(r->iterations);
  free(r->step_bytes);
  free(r->places);
  ir_free(&ir_mem_libc, r->rows, r->row_cap * sizeof *r->rows);
  r->program = NULL, r->ns = NULL, r->iterations = NULL;
  r->step_bytes = NULL, r->places = NULL, r->rows = NULL, r->row_count = r->row_cap = 0;
}

/* The graph that is explained is a copy. Once: all variables are in it before passes add nodes to it. */
static bool find_sizes(explain_run *r, ir_graph *copy) {
  return r->values.list || fe_sizes_find(&ir_mem_libc, copy, r->program, r->inputs.values, &r->values);
}

/* lines */

typedef struct prediction {
  double read, written, operations; /* of one run of the kernel */
  double limit_ms, memory_ms, predicted_ms;
  int threads;
} prediction;

/* What is read again of a footprint takes a time between that of the L3 cache and that of memory: the share
 * that comes from memory. */
static void set_lost_shares(const fe_roofline *l, double within_l3, pass_rates *rates) {
  const double *read = l->gbs[FE_STREAM_READ];
  double near = 1 / rates->read[PASS_LEVEL_L3], far = 1 / rates->read[PASS_LEVEL_MEMORY], least = 0;
  if (far <= near) return;
  rates->lost_count = 0;
  for (int i = 0; i < FE_FOOTPRINTS && i < PASS_MAX_LOST; i++) {
    if (fe_footprints[i] < within_l3) continue;
    least = fmin(fmax((1 / read[i] - near) / (far - near), least), 1);
    rates->lost[rates->lost_count].bytes = fe_footprints[i];
    rates->lost[rates->lost_count++].share = least;
  }
}

/* Loops wait where a row or a page begins, which no prefetch foresees: where units are halves (Zen 4), with
 * fewer loads on the way. Of kernels of nine networks 94 % are within a factor of 1.5 with it, 92 % without;
 * of 60 random graphs 74 and 70 %. */
static const double BARE_SHARE = 0.25;

/* The rates of one core as measured, for the prediction of its time; with several threads the memory's are
 * those of all. A core does two multiply-adds of a vector in each cycle, or, if its units have half of that,
 * one. */
static pass_rates measured_rates(const explain_run *r, const ir_target *t, int threads) {
  const fe_roofline *one = fe_machine_limits(&r->machine, 1), *own = fe_machine_limits(&r->machine, threads);
  double within[] = {[PASS_LEVEL_L2] = (double)t->l2_bytes / 4,
                     [PASS_LEVEL_L3] = (double)t->l2_bytes * 4,
                     [PASS_LEVEL_MEMORY] = fe_footprints[FE_FOOTPRINTS - 1]};
  pass_rates rates = pass_rates_of(t);
  double two = one->gflops / (double)t->vector_bytes;
  rates.ghz = one->ghz > 0 ? one->ghz : two;
  rates.halves = t->vector_bytes >= 64 && two < 0.75 * rates.ghz; /* about 1/2, against 1 */
  for (int i = 0; i < PASS_LEVELS; i++) {
    rates.read[i] = fe_roofline_gbs(own, FE_STREAM_READ, within[i]);
    rates.write[i] = fe_roofline_gbs(own, FE_STREAM_FILL, within[i]);
  }
  rates.bare_share = rates.halves ? BARE_SHARE : 0;
  for (int i = 0; i < PASS_LEVELS; i++) { /* beyond the time in sequence */
    double line_ns = fe_roofline_line_ns(own, within[i]);
    rates.lines = line_ns > 0;
    if (line_ns > 0) rates.jump_ns[i] = fmax(line_ns - IR_CACHE_LINE_BYTES / rates.read[i], 0);
  }
  set_lost_shares(own, within[PASS_LEVEL_L3], &rates);
  return rates;
}

static bool is_constant(const fe_explained *e, uint32_t slot) {
  bool constant = e->plan->slots[slot].kind == IR_SLOT_RESOURCE;
  for (size_t i = 0; i < e->plan->step_count && !constant; i++)
    constant = e->once[i] && e->plan->steps[i].slot_count && e->plan->steps[i].slots[0] == slot;
  return constant;
}

static size_t find_param_states(const explain_run *r, const fe_explained *e, size_t number,
                                pass_param_state *params) {
  const ir_step *step = &e->plan->steps[number];
  size_t count = step->slot_count < MOST_PARAMS ? step->slot_count : MOST_PARAMS;
  for (size_t p = 0; p < count; p++) {
    uint32_t slot = step->slots[p];
    bool used = e->plan->slots[slot].kind != IR_SLOT_TEMP;
    for (size_t i = number + 1; i < e->plan->step_count && !used; i++)
      used = explain_touches(&e->plan->steps[i], slot);
    params[p] = (pass_param_state){.between = explain_touched_since(r, e, number, slot),
                                   .constant = is_constant(e, slot),
                                   .dies = !used};
  }
  return count;
}

static prediction predict_limits(const explain_run *r, const fe_explained *e, size_t number,
                                 const fe_sizes *s) {
  fe_kernel_cost c = fe_kernel_cost_of(e, r->program, r->inputs.values, number, s);
  prediction x = {.read = c.read, .written = c.written, .operations = c.operations, .threads = c.threads};
  const fe_roofline *all = fe_machine_limits(&r->machine, rt_context_threads(r->context));
  double bytes = x.read + x.written;
  x.memory_ms = bytes > 0 ? fe_roofline_ms(all, x.read, x.written, 0) : 0;
  x.limit_ms = fmax(x.memory_ms, c.at_best / all->gflops * 1e-6);
  pass_rates rates = measured_rates(r, e->target, x.threads);
  pass_param_state params[MOST_PARAMS];
  pass_time_request request = {.rates = &rates, .vars = s->list, .var_count = s->count, .params = params};
  request.param_count = find_param_states(r, e, number, params);
  pass_kernel_time time;
  if (pass_kernel_time_on(e->g, e->plan->steps[number].kernel, e->target, &request, &time)) {
    /* rates that were measured at different times may say that it is faster than anything can be */
    x.predicted_ms = fmax(LAUNCH_MS + pass_time_together(&time, x.threads) * 1e-6, x.memory_ms);
  }
  return x;
}

static const char *cache_level_name(const ir_target *t, double bytes) {
  return bytes <= (double)t->l1_bytes   ? "the L1 cache"
         : bytes <= (double)t->l2_bytes ? "the L2 cache"
         : bytes <= (double)t->l3_bytes ? "the L3 cache"
                                        : "memory";
}

static void put_limit(const prediction *x, const fe_explained *e) {
  double bytes = x->read + x->written, gbs = x->memory_ms > 0 ? bytes / x->memory_ms * 1e-6 : 0;
  ir_textf(e->out, "  limit   %.4g ms, by ", x->limit_ms);
  if (x->limit_ms > x->memory_ms)
    ir_textf(e->out, "arithmetic: %.4g million operations of its loops at %.4g GFLOP/s\n",
             x->operations * 1e-6, x->operations / x->limit_ms * 1e-6);
  else ir_textf(e->out, "%s: %.4g MB at %.3g GB/s\n", cache_level_name(e->target, bytes), bytes * 1e-6, gbs);
}

static void put_share(const char *name, double ms, double limit_ms, ir_text *out) {
  ir_textf(out, "  %-7s %.4g ms, %.0f %% of the limit", name, ms, 100 * limit_ms / ms);
}

/* Set r->step_bytes: what each step reads and writes in a run; what runs once touches nothing then. */
static bool count_bytes(explain_run *r, const fe_explained *e) {
  size_t count = e->plan->step_count;
  if (r->step_bytes) return true;
  if (!(r->step_bytes = calloc(count + 1, sizeof *r->step_bytes))) return false;
  for (size_t i = 0; i < count; i++) {
    if (e->plan->steps[i].kind != IR_STEP_KERNEL || e->once[i]) continue;
    fe_kernel_work work = fe_work_of(e, i);
    r->step_bytes[i] =
        fe_number_of(e->g, work.read, &r->values) + fe_number_of(e->g, work.written, &r->values);
  }
  return true;
}

/* Set r->iterations: how often a run of the graph executes each step; 0: not known, inside a while loop. */
static bool count_iterations(explain_run *r, const fe_explained *e) {
  size_t count = e->plan->step_count;
  if (r->iterations) return true;
  if (!(r->iterations = malloc((count + 1) * sizeof *r->iterations))) return false;
  for (size_t i = 0; i < count; i++) r->iterations[i] = 1;
  for (size_t i = 0; i < count; i++) {
    const ir_step *s = &e->plan->steps[i];
    double times = s->kind == IR_STEP_SCAN    ? fe_number_of(e->g, s->count, &r->values)
                   : s->kind == IR_STEP_WHILE ? 0
                                              : 1;
    size_t inside = s->function_steps[0] + s->function_steps[1]; /* nested at most 64 deep */
    for (size_t k = 1; k <= inside && times != 1; k++) r->iterations[i + k] *= times;
  }
  return true;
}

#define CERTAINLY_LESS 0.8 /* of a limit, whose measurement repeats within some 10 % on an idle machine */

static void put_time(double ms, double iterations, double limit_ms, bool once, ir_text *out) {
  if (ms <= 0 && once) ir_text_str(out, "  took    no time: it ran when the program was made");
  else if (ms <= 0) ir_text_str(out, "  took    no time: it did not run");
  else if (iterations < 1) ir_textf(out, "  took    %.4g ms in all iterations", ms);
  else put_share("took", ms / iterations, limit_ms, out);
  if (ms > 0 && iterations > 1) ir_textf(out, ", in each of %.0f iterations", iterations);
  if (ms > 0 && iterations >= 1 && ms / iterations < CERTAINLY_LESS * limit_ms)
    ir_text_str(out, ", so that the limit is too high: viewfold devices --measure");
  ir_text_str(out, "\n");
}

/* The one thing that would help most: the longest part of the time that a kernel took. What it took is its
 * limit on all threads, what waits for the threads that it does not use, the launch, what its loops take
 * beyond these, and what is not predicted. */
static const char *advice_of(const explain_run *r, const prediction *x, double took_ms, bool once) {
  if (once) return "nothing: it runs once";
  if (took_ms <= 0) return "nothing: it did not run";
  double all = rt_context_threads(r->context), expected = x->predicted_ms > 0 ? x->predicted_ms : x->limit_ms,
         unused = (expected - LAUNCH_MS) * (1 - x->threads / all);
  const struct {
    double ms;
    const char *advice;
  } parts[] = {
      {x->limit_ms, x->limit_ms > x->memory_ms ? "fewer operations, or a narrower dtype"
                                               : "fewer bytes: fusion, or a narrower dtype"},
      {LAUNCH_MS, "more work in one launch: it is short"},
      {unused, "more rows to share: it uses one thread of several"},
      {expected - LAUNCH_MS - unused - x->limit_ms, "other loops: see what its indices and masks cost"},
      {took_ms - expected, "viewfold tune: it takes longer than its loops should"}};
  size_t longest = 0;
  for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].ms > parts[longest].ms) longest = i;
  return parts[longest].advice;
}

static void add_row(explain_run *r, const fe_explained *e, size_t number, const prediction *x) {
  double took_ms = (double)r->ns[number] * 1e-6, times = r->iterations[number];
  double each = times > 0 ? took_ms / times : took_ms;
  if (!IR_RESERVE(&ir_mem_libc, r->rows, r->row_cap, r->row_count + 1)) return;
  explain_row *row = &r->rows[r->row_count++];
  *row = (explain_row){.kernel = e->kernel,
                       .iterations = times,
                       .predicted_ms = x->predicted_ms,
                       .took_ms = took_ms,
                       .limit_ms = x->limit_ms};
  memcpy(row->brief, e->brief, sizeof row->brief);
  row->bound = x->limit_ms > x->memory_ms ? "arithmetic" : cache_level_name(e->target, x->read + x->written);
  row->advice = advice_of(r, x, each, e->once[number]);
}

void explain_run_more(void *run, const struct fe_explained *e, size_t number) {
  explain_run *r = run;
  if (!r->ns) {
    if (r->program && r->known && find_sizes(r, e->g) && count_iterations(r, e) && count_bytes(r, e) &&
        explain_find_places(r, e)) {
      prediction x = predict_limits(r, e, number, &r->values);
      put_limit(&x, e);
      put_share("expects", x.predicted_ms, x.limit_ms, e->out);
      ir_textf(e->out, ", by %d thread%s\n", x.threads, x.threads == 1 ? "" : "s");
    }
    if (*r->why) ir_textf(e->out, "  took    not run: %s\n", r->why);
    return;
  }
  if (!r->known) {
    ir_textf(e->out, "  took    %.4g ms\n", (double)r->ns[number] * 1e-6);
  } else if (find_sizes(r, e->g) && count_iterations(r, e) && count_bytes(r, e) &&
             explain_find_places(r, e)) {
    prediction x = predict_limits(r, e, number, &r->values);
    add_row(r, e, number, &x);
    put_limit(&x, e);
    put_share("expects", x.predicted_ms, x.limit_ms, e->out);
    ir_textf(e->out, ", by %d thread%s\n", x.threads, x.threads == 1 ? "" : "s");
    put_time((double)r->ns[number] * 1e-6, r->iterations[number], x.limit_ms, e->once[number], e->out);
  } else {
    e->out->failed = true;
  }
}

void explain_run_memory(const explain_run *r, ir_text *out) {
  rt_cost cost;
  ir_error ignored = {0};
  if (!r->ns || rt_program_cost(r->program, r->inputs.values, &cost, &ignored) != IR_OK) return;
  double given = (double)cost.caller_bytes, temps = (double)cost.temp_bytes;
  int threads = rt_context_threads(r->context);
  ir_textf(out, "\nmemory: %.4g MB of inputs and results, %.4g MB of intermediates with %d thread%s",
           given * 1e-6, temps * 1e-6, threads, threads == 1 ? "" : "s");
  if (given > 0) ir_textf(out, "; in all %.2f times the inputs and results", (given + temps) / given);
  ir_text_str(out, "\n");
}
