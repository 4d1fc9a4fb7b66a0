/* Objects built ahead of time against programs.
 *
 *   prop_object --seed S --count N
 *   prop_object --case SEED          one case again, by the seed in its report
 *   prop_object --text SEED          the text of a graph with control flow, for objects_random.py
 *
 * Each case records a random graph (test/lib/random_graph.h: sizes that are variables, constants among its
 * inputs), or one with control flow (test/lib/random_control.h), builds it as an object for one of several
 * processors, links the object as an image, which may refer to nothing outside itself, and runs it twice.
 * With VIEWFOLD_DEVICE=c it is built as C, which the C
 * compiler compiles. Every element of its results must have the bits that the program computes, NaNs as a
 * class. The arena is of the size that the object asks for, at any address; nothing around it may change. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/build/build.h"
#include "passes/ops/ops.h"
#include "test/lib/cases.h"
#include "test/lib/object.h"
#include "test/lib/random_control.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

enum { MAX_RESULTS = 3, BYTES = 1 << 20, EACH_CONTROL = 5, EACH_CONSTANT = 4 };

static const char *const processors[] = {"x86-64-v3", "x86-64-v2", "x86-64-v4", "native"};
enum { PROCESSORS = sizeof processors / sizeof *processors };

static struct {
  rt_context *here, *ahead[PROCESSORS]; /* NULL: this machine cannot run its code */
  vf_context *api;
  long objects, sized, constants, control, refused, bytes;
  rt_constant *kept[RANDOM_INPUTS];
  size_t kept_count;
} the;

static bool report(uint64_t seed, const char *what, const char *why) {
  fprintf(stderr, "%s: %s\nagain: prop_object --case %" PRIu64 "\n", what, why, seed);
  return false;
}

/* random graphs */

/* Are all elements the same, with NaNs as a class? Otherwise shows the graph, and the first that is not. */
static bool check_result(uint64_t seed, random_graph *r, ir_ref root, size_t processor,
                         const unsigned char *want, const unsigned char *got, size_t bytes) {
  ir_dtype dtype = ir_dtype_of(&r->g, root);
  size_t each = ir_dtypes[dtype].bytes, i = 0;
  char why[120];
  ir_text text;
  while (i < bytes && trial_same(want + i, got + i, dtype)) i += each;
  if (i >= bytes) return true;
  snprintf(why, sizeof why, "for %s, element %zu of %zu", processors[processor], i / each, bytes / each);
  ir_text_init(&text, &ir_mem_libc);
  ir_print_graph(&r->g, "failing", ir_tuple(&r->g, &root, 1), &text);
  fputs(ir_text_get(&text), stderr);
  ir_text_free(&text);
  return report(seed, "a result differs", why);
}

static ir_ref constant_for(random_graph *r, int number, ir_ref plain) {
  ir_error error = {0};
  ir_ref dims[IR_MAX_RANK];
  uint32_t rank = ir_rank(&r->g, plain);
  uint64_t state = r->state;
  size_t bytes;
  (void)number;
  for (uint32_t i = 0; i < rank; i++)
    if (!ir_is_const(&r->g, dims[i] = ir_dim(&r->g, plain, i), NULL)) return plain;
  void *data = random_graph_data(r, plain, NULL, &bytes);
  rt_constant *constant = NULL;
  rt_constant_copy(the.here, data, bytes, &constant, &error);
  free(data);
  r->state = state;
  if (!constant) return plain;
  the.kept[the.kept_count++] = constant;
  return op_resource(&r->g, ir_dtype_of(&r->g, plain), dims, rank, rt_constant_name(constant), bytes);
}

typedef struct graph_case {
  random_graph r;
  ir_ref roots[MAX_RESULTS];
  size_t count;
  ir_named inputs[RANDOM_INPUTS], outputs[MAX_RESULTS];
  fe_request request;
} graph_case;

static void make_graph(graph_case *c, uint64_t seed) {
  random_graph *r = &c->r;
  the.kept_count = 0;
  random_graph_make_with(r, seed, 6, seed % EACH_CONSTANT ? NULL : constant_for, NULL);
  size_t n = (size_t)random_between(&r->state, 1, MAX_RESULTS);
  c->count = 0;
  for (int i = r->value_count - 1; i >= 0 && c->count < n; i--) c->roots[c->count++] = r->values[i].ref;
  for (int i = 0; i < r->input_count; i++)
    c->inputs[i] =
        (ir_named){.name = ir_name_text(&r->g, ir_get(&r->g, r->inputs[i])->arg), .ref = r->inputs[i]};
  static const char *const names[MAX_RESULTS] = {"r0", "r1", "r2"};
  for (size_t i = 0; i < c->count; i++) c->outputs[i] = (ir_named){.name = names[i], .ref = c->roots[i]};
  c->request = (fe_request){.graph = &r->g,
                            .results = ir_tuple(&r->g, c->roots, (uint32_t)c->count),
                            .inputs = r->inputs,
                            .input_count = (size_t)r->input_count,
                            .vars = r->vars,
                            .var_count = (size_t)r->var_count,
                            .constants = the.here,
                            .name = "random"};
  ir_error_clear(&r->error);
}

static size_t bytes_of(const rt_program *program, size_t result, const int64_t *vars) {
  ir_error error = {0};
  int64_t dims[2 * IR_MAX_RANK];
  rt_port port = rt_program_output(program, result);
  size_t bytes = ir_dtypes[port.dtype].bytes;
  if (rt_program_output_shape(program, result, vars, dims, &error) != IR_OK) return 0;
  for (uint32_t i = 0; i < port.rank; i++) bytes *= (size_t)dims[i];
  return bytes;
}

/* Runs both on the same data. */
static bool run_graph(graph_case *c, uint64_t seed, uint64_t data, const rt_program *program,
                      const built_object *object, int64_t arena) {
  random_graph *r = &c->r;
  int64_t vars[RANDOM_VARS] = {0}, ordered[RANDOM_VARS] = {0};
  ir_error error = {0};
  void *arrays[RANDOM_INPUTS + MAX_RESULTS], *want[MAX_RESULTS];
  size_t bytes, sizes[MAX_RESULTS];
  r->state = data;
  random_graph_sizes(r, vars);
  for (int i = 0; i < r->input_count; i++) arrays[i] = random_graph_data(r, r->inputs[i], vars, &bytes);
  for (size_t i = 0; i < rt_program_variable_count(program); i++)
    ordered[i] = vars[rt_program_variable(program, i).name[0] == 'n' ? 0 : 1];
  for (size_t i = 0; i < c->count; i++) {
    sizes[i] = bytes_of(program, i, ordered);
    arrays[(size_t)r->input_count + i] = calloc(1, sizes[i] + 1);
    want[i] = calloc(1, sizes[i] + 1);
  }
  void *few[RANDOM_INPUTS];
  for (size_t i = 0; i < rt_program_input_count(program); i++)
    for (int k = 0; k < r->input_count; k++)
      if (!strcmp(rt_program_input(program, i).name, c->inputs[k].name)) few[i] = arrays[k];
  int expected = rt_program_run(program, few, want, ordered, &error);
  int status = built_object_run(object, arrays, vars, arena, (size_t)(seed % 3) * 5);
  bool good = status == expected || report(seed, "statuses differ", error.text);
  for (size_t i = 0; i < c->count && good && !expected; i++) {
    the.bytes += (long)sizes[i];
    good = check_result(seed, r, c->roots[i], seed / EACH_CONTROL % PROCESSORS, want[i],
                        arrays[(size_t)r->input_count + i], sizes[i]);
  }
  for (int i = 0; i < r->input_count; i++) free(arrays[i]);
  for (size_t i = 0; i < c->count; i++) free(arrays[(size_t)r->input_count + i]), free(want[i]);
  return good;
}

static bool check_built(graph_case *c, uint64_t seed, const rt_program *program, const ir_target *target,
                        const fe_built *built) {
  ir_error error = {0};
  built_object object;
  int64_t arena =
      built_object_constant(ir_text_get((ir_text *)(uintptr_t)&built->header), "random_ARENA_BYTES");
  bool good = built_object_link(built->object.bytes, built->object.size, "random", target, &object, &error) ||
              report(seed, "linking", error.text);
  for (uint64_t k = 0; k < 2 && good; k++)
    good = run_graph(c, seed, seed + 7919 * k, program, &object, arena);
  rt_image_unmap(&object.code);
  the.objects++;
  the.sized += arena < 0;
  the.constants += rt_program_constant_count(program) > 0;
  return good;
}

static bool check_graph(uint64_t seed) {
  graph_case c;
  rt_program *program = NULL;
  fe_built built = {0};
  ir_error error = {0};
  size_t processor = (size_t)(seed / EACH_CONTROL % PROCESSORS);
  rt_context *ahead = the.ahead[processor] ? the.ahead[processor] : the.ahead[PROCESSORS - 1];
  make_graph(&c, seed);
  fe_ports ports = {&c.request, c.inputs, c.outputs, c.count};
  fe_targets targets = {.contexts = {ahead}, .count = 1};
  fe_build_options how = {.want = built_as_c() ? CG_C : CG_OBJECT, .mem = &ir_mem_libc};
  bool good =
      fe_compile(the.here, &c.request, &program, &error) == IR_OK || report(seed, "compiling", error.text);
  if (good && fe_build(&targets, &ports, &how, &built, &error) != IR_OK) {
    bool lacks = error.status == IR_ERR_UNSUPPORTED || error.status == IR_ERR_RANGE;
    the.refused += lacks;
    good = lacks || report(seed, "building", error.text);
  } else if (good) {
    good = check_built(&c, seed, program, rt_context_target(ahead, &error), &built);
  }
  fe_built_free(&built);
  rt_program_release(program);
  ir_graph_free(&c.r.g);
  for (size_t i = 0; i < the.kept_count; i++) rt_constant_release(the.kept[i]);
  return good;
}

/* control flow */

static vf_graph *record_control(const control_case *t) {
  vf_graph *g = vf_graph_create(the.api, "control", NULL);
  vf_value in[INPUTS], out[OUTPUTS];
  int64_t shape[2] = {t->length, WIDTH}, row[1] = {WIDTH};
  for (int i = 0; i < INPUTS; i++) {
    const control_input *x = &control_inputs[i];
    in[i] = vf_input(g, x->name, x->dtype, x->rank, x->rank == 2 ? shape : row);
  }
  int count = control_record(t, false, in, out);
  for (int i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "o%d", i);
    vf_output(g, name, out[i]);
  }
  return g;
}

static bool run_control(uint64_t seed, uint64_t *state, const control_case *t, const vf_program *program,
                        const vf_object *built) {
  double data[INPUTS][ELEMENTS], want[OUTPUTS][ELEMENTS] = {{0}}, got[OUTPUTS][ELEMENTS] = {{0}};
  int32_t trips = t->trips;
  void *arrays[INPUTS + OUTPUTS], *outputs[OUTPUTS];
  const void *inputs[INPUTS];
  vf_error error;
  ir_error failure = {0};
  built_object object;
  int count = control_record_count(t);
  size_t size;
  for (int i = 0; i < INPUTS; i++) {
    for (int k = 0; k < ELEMENTS; k++) data[i][k] = (double)random_between(state, -999, 999) / 700;
    inputs[i] = arrays[i] = i == TRIPS ? (void *)&trips : data[i];
  }
  for (int i = 0; i < count; i++) outputs[i] = want[i], arrays[INPUTS + i] = got[i];
  const void *bytes = vf_object_bytes(built, &size);
  int64_t arena = built_object_constant(vf_object_header(built), "control_ARENA_BYTES");
  if (vf_program_run(program, inputs, outputs, NULL, &error) != VF_OK)
    return report(seed, "running", error.message);
  if (!built_object_link(bytes, size, "control", NULL, &object, &failure))
    return report(seed, "linking", failure.text);
  int status = built_object_run(&object, arrays, NULL, arena, 0);
  rt_image_unmap(&object.code);
  the.control++;
  if (status) return report(seed, "running the object", "it failed");
  return !memcmp(want, got, sizeof want) || report(seed, "a result differs", control_kinds[t->kind]);
}

static bool check_control(uint64_t seed) {
  uint64_t state;
  control_case t = control_case_make(seed, &state);
  vf_graph *g = record_control(&t);
  vf_error error = {0};
  vf_build_options how = {.size = sizeof how, .c = built_as_c()};
  bool good = true;
  if (vf_graph_status(g) == VF_OK) {
    vf_program *program = vf_compile(g, &error);
    vf_object *object = program ? vf_build(g, &how, &error) : NULL;
    good = object ? run_control(seed, &state, &t, program, object) : report(seed, "building", error.message);
    vf_object_destroy(object);
    vf_program_destroy(program);
  } else {
    the.refused++;
  }
  vf_graph_destroy(g);
  return good;
}

static bool check(uint64_t seed) { return seed % EACH_CONTROL ? check_graph(seed) : check_control(seed); }

static bool open_contexts(void) {
  rt_options options = cases_options();
  ir_error error = {0};
  bool good = rt_context_create(&ir_mem_libc, &options, &the.here, &error) == IR_OK;
  for (int i = 0; i < PROCESSORS && good; i++) {
    rt_context *plain;
    options.target = processors[i];
    good = rt_context_create(&ir_mem_libc, &options, &plain, &error) == IR_OK &&
           rt_context_create_ahead(the.here, processors[i], &the.ahead[i], &error) == IR_OK;
    ir_error lacks = {0};
    if (good && rt_context_runs_here(plain, &lacks) != IR_OK) {
      rt_context_destroy(the.ahead[i]);
      the.ahead[i] = NULL;
    }
    rt_context_destroy(plain);
  }
  if (!good) fprintf(stderr, "prop_object: %s\n", error.text);
  return good &&
         (the.api = vf_context_create(&(vf_options){.size = sizeof(vf_options), .flags = VF_NO_DISK}, NULL));
}

/* Nothing where the graph is not recorded. */
static int write_control(const char *seed) {
  uint64_t state;
  control_case t = control_case_make(strtoull(seed, NULL, 10), &state);
  vf_graph *g = record_control(&t);
  char *text = vf_graph_status(g) == VF_OK ? vf_graph_text(g, NULL) : NULL;
  if (text) fputs(text, stdout);
  vf_text_free(the.api, text);
  vf_graph_destroy(g);
  vf_context_destroy(the.api);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "--text")) {
    the.api = vf_context_create(&(vf_options){.size = sizeof(vf_options), .flags = VF_NO_DISK}, NULL);
    return the.api ? write_control(argv[2]) : 1;
  }
  cases given = cases_read(argc, argv, 200);
  if (!open_contexts()) return 1;
  cases_run(&given, check);
  for (int i = 0; i < PROCESSORS; i++) rt_context_destroy(the.ahead[i]);
  rt_context_destroy(the.here);
  vf_context_destroy(the.api);
  printf(
      "prop_object: %ld objects of graphs, %ld of them with variable sizes, %ld with constants, and %ld with "
      "control flow; %ld bytes; %ld refused, %ld failed, seed %" PRIu64 "\n",
      the.objects, the.sized, the.constants, the.control, the.bytes, the.refused, given.failed, given.seed);
  if (given.done > 100 && (!the.sized || !the.constants || !the.control || the.refused > given.done / 3))
    return 1;
  return given.failed != 0;
}
