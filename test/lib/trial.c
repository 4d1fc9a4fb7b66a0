#include "test/lib/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/compile.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "test/lib/random_graph.h"

static const trial_property *the;
static rt_context *contexts[TRIAL_MACHINES];
static bool shows;

int64_t trial_pick(trial *t, int64_t lo, int64_t hi) { return random_between(&t->state, lo, hi); }

ir_dtype trial_dtype(trial *t) {
  static const ir_dtype dtypes[] = {IR_BOOL, IR_I8,  IR_U8,  IR_I16,  IR_U16, IR_I32, IR_U32,
                                    IR_I64,  IR_U64, IR_F16, IR_BF16, IR_F32, IR_F64};
  return dtypes[trial_pick(t, 0, 12)];
}

const ir_target *trial_target(int machine) {
  ir_error error = {0};
  return rt_context_target(contexts[machine], &error);
}

size_t trial_elements(const trial *t, ir_ref tensor, int64_t n) {
  size_t count = 1;
  for (uint32_t a = 0; a < ir_rank(&t->g, tensor); a++) {
    int64_t size = n;
    ir_is_const(&t->g, ir_dim(&t->g, tensor, a), &size);
    count *= (size_t)size;
  }
  return count;
}

ir_ref trial_input(trial *t, ir_dtype dtype, const ir_ref *shape, size_t rank) {
  char name = (char)('a' + t->input_count);
  return t->input[t->input_count++] = op_input(&t->g, &name, 1, dtype, shape, rank);
}

ir_ref trial_results(trial *t) { return ir_tuple(&t->g, t->result, t->result_count); }

bool trial_same(const void *a, const void *b, ir_dtype dtype) {
  if (memcmp(a, b, ir_dtypes[dtype].bytes) == 0) return true;
  return ir_is_float(dtype) && isnan(ir_value_load(a, dtype).f) && isnan(ir_value_load(b, dtype).f);
}

static void fail(trial *t, const ir_error *error) {
  snprintf(t->wrong, sizeof t->wrong, "%.150s", error->text);
}

bool trial_plan(trial *t, int machine, ir_plan *plan) { return trial_plan_shaped(t, machine, NULL, plan); }

bool trial_plan_shaped(trial *t, int machine, pass_shaping *shaping, ir_plan *plan) {
  ir_error error = {0};
  pass_options options = {.target = trial_target(machine),
                          .inputs = t->input,
                          .input_count = t->input_count,
                          .verify = true,
                          .shaping = shaping};
  if (options.target && pass_pipeline(&t->g, trial_results(t), &options, plan, &error) == IR_OK) return true;
  fail(t, &error);
  return false;
}

double trial_sum_bound(int64_t terms) { return (double)terms * 0x1p-24 * (1 + 1e-6); }

static rt_program *compile(trial *t, int machine, pass_shaping *shaping) {
  rt_program *program = NULL;
  ir_error error = {0};
  fe_request request = {.graph = &t->g,
                        .results = trial_results(t),
                        .inputs = t->input,
                        .input_count = t->input_count,
                        .vars = &t->var,
                        .var_count = t->var != 0,
                        .name = the->name,
                        .shaping = shaping};
  if (fe_compile(contexts[machine], &request, &program, &error) != IR_OK) fail(t, &error);
  return program;
}

rt_program *trial_compile(trial *t, int machine) { return compile(t, machine, NULL); }

void trial_run_on(trial *t, int machine, void *const *inputs, void *const *outputs) {
  trial_run_shaped(t, machine, NULL, inputs, outputs);
}

void trial_run_shaped(trial *t, int machine, pass_shaping *shaping, void *const *inputs,
                      void *const *outputs) {
  ir_error error = {0};
  rt_program *program = compile(t, machine, shaping);
  if (!program) return;
  if (rt_program_run(program, inputs, outputs, NULL, &error) != IR_OK) fail(t, &error);
  rt_program_release(program);
}

/* against the evaluator */

void trial_sprinkle(trial *t, const trial_data *data, const double *numbers, int64_t n) {
  for (int64_t k = trial_pick(t, 0, 2); k > 0 && data->count; k--) {
    size_t at = (size_t)trial_pick(t, 0, (int64_t)data->count - 1) * ir_dtypes[data->dtype].bytes;
    ir_value_store(data->elements + at, data->dtype, (ir_value){.f = numbers[trial_pick(t, 0, n - 1)]});
  }
}

static void *make_data(trial *t, const trial_check *check, ir_ref input, int64_t n) {
  ir_dtype dtype = ir_dtype_of(&t->g, input);
  size_t size = ir_dtypes[dtype].bytes;
  trial_data data = {input, dtype, trial_elements(t, input, n), NULL};
  data.elements = calloc(data.count + 1, size);
  for (size_t i = 0; i < data.count; i++)
    ir_value_store(data.elements + i * size, dtype, check->element(t, dtype));
  if (check->change) check->change(t, &data);
  return data.elements;
}

static bool is_as_evaluated(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i,
                            const void *got) {
  const ir_eval_result *w = &want[result];
  if (t->bound == 0)
    return trial_same((const unsigned char *)w->data + (size_t)i * ir_dtypes[w->dtype].bytes, got, w->dtype);
  double y = ir_value_load(got, want->dtype).f, exact = ((const double *)want[1].data)[i];
  return fabs(y - exact) <= t->bound * ((const double *)want[2].data)[i];
}

static bool same_bits(const unsigned char *a, const unsigned char *b, const ir_eval_result *type) {
  size_t size = ir_dtypes[type->dtype].bytes;
  if (memcmp(a, b, type->bytes) == 0) return true;
  for (size_t i = 0; i < type->bytes; i += size)
    if (!trial_same(a + i, b + i, type->dtype)) return false;
  return true;
}

static void compare(trial *t, const trial_check *check, const ir_eval_result *want, uint32_t result,
                    unsigned char *const got[TRIAL_MACHINES]) {
  const case_machine *machines = the->machines;
  const ir_eval_result *w = &want[result];
  size_t size = ir_dtypes[w->dtype].bytes;
  for (int k = 1; k < the->machine_count && !*t->wrong; k++)
    if (cases_same_order(machines, &machines[k]) && !same_bits(got[0], got[k], w))
      cases_tell_bits(&machines[k], t->wrong, sizeof t->wrong);
  for (int k = 0; k < the->machine_count; k++) {
    if (k && cases_same_order(machines, &machines[k])) continue;
    for (int64_t i = 0; i < w->count && !*t->wrong; i++) {
      const unsigned char *at = got[k] + (size_t)i * size,
                          *expected = (const unsigned char *)w->data + (size_t)i * size;
      if ((check->is_right ? check->is_right : is_as_evaluated)(t, want, result, i, at)) continue;
      ir_value a = ir_value_load(at, w->dtype), b = ir_value_load(expected, w->dtype);
      bool real = ir_is_float(w->dtype);
      snprintf(t->wrong, sizeof t->wrong, "element %" PRId64 " of %" PRId64 " is %.9g, expected %.9g%s%s", i,
               w->count, real ? a.f : (double)a.i, real ? b.f : (double)b.i, k ? " with " : "",
               k ? machines[k].target : "");
    }
  }
}

static int64_t run_once(trial *t, const trial_check *check, rt_program *const *programs) {
  ir_error error = {0};
  ir_eval_result want[TRIAL_RESULTS] = {{0}};
  ir_binding_input bound[TRIAL_INPUTS];
  void *inputs[TRIAL_INPUTS];
  unsigned char *out[TRIAL_RESULTS][TRIAL_MACHINES] = {{NULL}};
  uint32_t all = t->result_count + t->exact_count;
  int64_t n = 0, elements = 0;
  if (t->var) n = trial_pick(t, ir_bounds_of(&t->g, t->var).lo, ir_bounds_of(&t->g, t->var).hi);
  ir_var_value value = {t->var, n};
  for (uint32_t i = 0; i < t->input_count; i++)
    bound[i] = (ir_binding_input){t->input[i], inputs[i] = make_data(t, check, t->input[i], n)};
  ir_eval(&t->g, t->result, all, bound, t->input_count, &value, t->var != 0, want, &error);
  for (int k = 0; k < the->machine_count && !error.status; k++) {
    void *outputs[TRIAL_RESULTS];
    for (uint32_t i = 0; i < t->result_count; i++) outputs[i] = out[i][k] = calloc(1, want[i].bytes + 1);
    rt_program_run(programs[k], inputs, outputs, &n, &error);
  }
  if (error.status) fail(t, &error);
  for (uint32_t i = 0; i < t->result_count; elements += want[i++].count)
    if (!error.status) compare(t, check, want, i, out[i]);
  ir_eval_free(&t->g, want, all);
  for (uint32_t i = 0; i < t->input_count; i++) free(inputs[i]);
  for (uint32_t i = 0; i < t->result_count; i++)
    for (int k = 0; k < the->machine_count; k++) free(out[i][k]);
  return elements;
}

int64_t trial_evaluate(trial *t, const trial_check *check) {
  rt_program *programs[TRIAL_MACHINES] = {NULL};
  int64_t elements = 0;
  for (int k = 0; k < the->machine_count && !*t->wrong; k++) programs[k] = trial_compile(t, k);
  for (int i = 0; i < check->runs && !*t->wrong; i++) elements += run_once(t, check, programs);
  for (int k = 0; k < the->machine_count; k++)
    if (programs[k]) rt_program_release(programs[k]);
  return elements;
}

/* the program */

static void print_graph(trial *t, FILE *out) {
  ir_text text;
  ir_text_init(&text, t->g.mem);
  ir_print_graph(&t->g, the->name, trial_results(t), &text);
  fputs(ir_text_get(&text), out);
  ir_text_free(&text);
}

static void report(trial *t, uint64_t seed) {
  if (*t->what) fprintf(stderr, "%s: ", t->what);
  else if (!t->error.status) print_graph(t, stderr);
  fprintf(stderr, "%s\n(prop_%s --case %" PRIu64 ")\n", t->wrong, the->name, seed);
}

static bool check(uint64_t seed) {
  trial *t = calloc(1, the->size);
  t->state = seed;
  ir_graph_init(&t->g, &ir_mem_libc, &t->error);
  if (!the->record(t)) snprintf(t->wrong, sizeof t->wrong, "refused: %.150s", t->error.text);
  else if (shows) print_graph(t, stdout);
  else the->run(t);
  bool good = !*t->wrong;
  if (!good) report(t, seed);
  ir_graph_free(&t->g);
  free(t);
  return good;
}

int trial_main(int argc, char **argv, const trial_property *property) {
  cases c = cases_read(argc, argv, property->count);
  the = property, shows = c.show;
  if (!cases_open(property->machines, property->machine_count, contexts)) return 1;
  cases_run(&c, check);
  bool enough = shows || !property->enough || property->enough(&c);
  cases_close(contexts, property->machine_count);
  printf("prop_%s: ", property->name);
  property->report(&c);
  printf(", %ld failed, seed %" PRIu64 "\n", c.failed, c.seed);
  return c.failed != 0 || !enough;
}
