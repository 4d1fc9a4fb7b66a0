/* Compiled graphs against the reference evaluator.
 *
 *   prop_graph --seed S --count N
 *   ... --moves N                     N random steps of moves (4); fewer where compiling takes long
 *   prop_graph --case SEED            one case again, by the seed in its report
 *   prop_graph --show SEED            its graph as text, not compiled
 *
 * Each case records a random graph (test/lib/random_graph.h), compiles its last values, runs the program for
 * two choices of its symbolic sizes and compares every element of every result bit for bit, NaNs as a class.
 * Every fourth case is repeated with other moves for its loops, a few random steps from the cost model's.
 * Every third one is compiled for a target with work-items. In every fifth one, inputs of constant shapes are
 * constants instead, so that kernels that read nothing else run when the program is bound. The printed graph
 * must parse back to the same text. On failure the earliest wrong value of the graph is printed with
 * everything that it depends on. */
#include "frontend/api/compile.h"
#include "frontend/text/reader.h"
#include "ir/eval/eval.h"
#include "passes/ops/ops.h"
#include "test/lib/reads_back.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"
#include "test/lib/random_moves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 3, MACHINES = 2, CASES_OF_CONSTANTS = 5 };
static const case_machine machines[MACHINES] = {{0, NULL}, {0, "vector_bytes=16 lanes=16 local=4096"}};

typedef struct checker {
  rt_context *contexts[MACHINES], *context; /* of all machines; the one of this case */
  random_graph r;
  const char *problem; /* NULL while all is well */
  char detail[2048];
  long steps;  /* random steps of moves; 0: the cost model's moves alone */
  bool moving; /* loops are shaped by given moves */
  random_moves moves;
  long elements, programs, bound;        /* bound: programs that read constants */
  rt_constant *constants[RANDOM_INPUTS]; /* in place of inputs, and their nodes */
  ir_ref constant_refs[RANDOM_INPUTS];
  size_t constant_count;
  uint64_t seed; /* of the case */
} checker;

static void compare(checker *c, size_t number, const ir_eval_result *want, const unsigned char *got) {
  size_t size = ir_dtypes[want->dtype].bytes;
  for (int64_t i = 0; i < want->count && !c->problem; i++) {
    const unsigned char *w = (const unsigned char *)want->data + (size_t)i * size,
                        *g = got + (size_t)i * size;
    if (trial_same(w, g, want->dtype)) continue;
    c->problem = "a wrong element";
    ir_value v = ir_value_load(w, want->dtype), u = ir_value_load(g, want->dtype);
    if (ir_is_float(want->dtype))
      snprintf(c->detail, sizeof c->detail, "result %zu, element %" PRId64 ": %a (%.9g), expected %a (%.9g)",
               number, i, u.f, u.f, v.f, v.f);
    else
      snprintf(c->detail, sizeof c->detail, "result %zu, element %" PRId64 ": %" PRId64 ", expected %" PRId64,
               number, i, u.i, v.i);
  }
  c->elements += want->count;
}

static void fail(checker *c, const char *problem, const char *detail) {
  if (c->problem) return;
  c->problem = problem;
  snprintf(c->detail, sizeof c->detail, "%s", detail);
}

/* Runs the program and the evaluator once on the same data. */
static void run_once(checker *c, const rt_program *program, const ir_ref *roots, size_t n, uint64_t seed) {
  random_graph *r = &c->r;
  ir_error error = {0}, run_error = {0};
  int64_t vars[RANDOM_VARS] = {0};
  r->state = seed;
  random_graph_sizes(r, vars);
  void *inputs[RANDOM_INPUTS];
  ir_binding_input bound[2 * RANDOM_INPUTS];
  ir_var_value values[RANDOM_VARS];
  for (int i = 0; i < r->input_count; i++) {
    size_t bytes;
    inputs[i] = random_graph_data(r, r->inputs[i], vars, &bytes);
    bound[i] = (ir_binding_input){r->inputs[i], inputs[i]};
  }
  for (size_t i = 0; i < c->constant_count; i++)
    bound[(size_t)r->input_count + i] =
        (ir_binding_input){c->constant_refs[i], rt_constant_bytes(c->constants[i])};
  for (int i = 0; i < r->var_count; i++) values[i] = (ir_var_value){r->vars[i], vars[i]};
  ir_eval_result want[MAX_RESULTS] = {0};
  void *outputs[MAX_RESULTS] = {0};
  ir_status status = ir_eval(&r->g, roots, n, bound, (size_t)r->input_count + c->constant_count, values,
                             (size_t)r->var_count, want, &error);
  if (status != IR_OK && status != IR_ERR_RANGE) fail(c, "the evaluator failed", error.text);
  for (size_t i = 0; i < n && status == IR_OK; i++) outputs[i] = calloc(1, want[i].bytes + 1);
  if (status == IR_OK) {
    int64_t ordered[RANDOM_VARS] = {0};
    for (size_t i = 0; i < rt_program_variable_count(program); i++)
      ordered[i] = vars[rt_program_variable(program, i).name[0] == 'n' ? 0 : 1];
    if (rt_program_run(program, inputs, outputs, ordered, &run_error) != IR_OK)
      fail(c, "the program failed", run_error.text);
    for (size_t i = 0; i < n && !c->problem; i++) compare(c, i, &want[i], outputs[i]);
  }
  if (status == IR_OK) ir_eval_free(&r->g, want, n);
  for (size_t i = 0; i < n; i++) free(outputs[i]);
  for (int i = 0; i < r->input_count; i++) free(inputs[i]);
}

static void check_roots(checker *c, const ir_ref *roots, size_t n, uint64_t seed) {
  random_graph *r = &c->r;
  fe_request request = {.graph = &r->g,
                        .results = ir_tuple(&r->g, roots, (uint32_t)n),
                        .inputs = r->inputs,
                        .input_count = (size_t)r->input_count,
                        .vars = r->vars,
                        .var_count = (size_t)r->var_count,
                        .shaping = c->moving ? &c->moves.shaping : NULL,
                        .name = "random"};
  rt_program *program = NULL;
  ir_error error = {0};
  ir_error_clear(&r->error);
  if (fe_compile(c->context, &request, &program, &error) != IR_OK) {
    if (c->moving && error.status == IR_ERR_INVALID)
      return; /* refused: not every neighbour of a schedule is possible */
    fail(c, "compilation failed", error.text);
    return;
  }
  c->programs++;
  c->bound += rt_program_constant_count(program) > 0;
  for (uint64_t k = 0; k < 2 && !c->problem; k++) run_once(c, program, roots, n, seed + 7919 * k);
  rt_program_release(program);
}

/* Compiles with the cost model's moves, and then after each random step. */
static void check_moves(checker *c, const ir_ref *roots, size_t n, uint64_t seed) {
  random_moves_begin(&c->moves, seed);
  c->moving = true;
  for (int step = 0; step <= c->steps && !c->problem; step++) {
    check_roots(c, roots, n, seed);
    if (!c->problem) random_moves_step(&c->moves);
  }
  c->moving = false;
}

/* print -> parse -> print is the identity */
static void check_text(checker *c, const ir_ref *roots, size_t n) {
  char wrong[1000];
  if (reads_back(&c->r.g, "random", ir_tuple(&c->r.g, roots, (uint32_t)n), wrong, sizeof wrong))
    fail(c, "reading back", wrong);
}

static void report(checker *c, uint64_t case_seed, int64_t max_size) {
  const char *problem = c->problem;
  ir_ref wrong = 0;
  for (int i = 0; i < c->r.value_count && !wrong; i++) { /* the earliest value that is wrong by itself */
    c->problem = NULL;
    check_roots(c, &c->r.values[i].ref, 1, case_seed);
    if (c->problem) wrong = c->r.values[i].ref, problem = c->problem;
  }
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_ref root =
      wrong ? ir_tuple(&c->r.g, &wrong, 1) : ir_tuple(&c->r.g, &c->r.values[c->r.value_count - 1].ref, 1);
  ir_print_graph(&c->r.g, "failing", root, &text);
  fprintf(stderr, "%s: %s\n%s(case seed %" PRIu64 ", largest size %" PRId64 "%s)\n", problem, c->detail,
          ir_text_get(&text), case_seed, max_size, wrong ? "" : "; wrong only together");
  ir_text_free(&text);
}

static void report_moves(checker *c, const ir_ref *roots, size_t n, uint64_t case_seed) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_graph(&c->r.g, "failing", ir_tuple(&c->r.g, roots, (uint32_t)n), &text);
  random_moves_print(&c->moves, &text);
  fprintf(stderr, "%s with other moves: %s\n%s(case seed %" PRIu64 ")\n", c->problem, c->detail,
          ir_text_get(&text), case_seed);
  ir_text_free(&text);
}

/* A constant in place of an input of constant shape, or the input. */
static ir_ref constant_for(random_graph *r, int number, ir_ref plain) {
  checker *c = r->user;
  uint64_t state = r->state;
  ir_ref dims[IR_MAX_RANK], made;
  uint32_t rank = ir_rank(&r->g, plain);
  ir_error error = {0};
  if (c->seed >> (8 + number) & 1) return plain; /* graphs of both */
  for (uint32_t i = 0; i < rank; i++)
    if (!ir_is_const(&r->g, dims[i] = ir_dim(&r->g, plain, i), NULL)) return plain;
  size_t bytes;
  void *data = random_graph_data(r, plain, NULL, &bytes);
  r->state = state; /* the graph is that of inputs */
  rt_constant *constant;
  if (rt_constant_copy(c->context, data, bytes, &constant, &error) != IR_OK) return free(data), plain;
  free(data);
  made = op_resource(&r->g, ir_dtype_of(&r->g, plain), dims, rank, rt_constant_name(constant), bytes);
  c->constants[c->constant_count] = constant;
  c->constant_refs[c->constant_count++] = made;
  return made;
}

/* Makes the graph of a case and chooses the values to compile together. Returns the largest size of an
 * axis. */
static int64_t make_case(checker *c, uint64_t case_seed, ir_ref roots[MAX_RESULTS], size_t *have) {
  random_graph *r = &c->r;
  c->seed = case_seed;
  int64_t max_size =
      case_seed % 50 == 0 ? 70 : 6; /* now and then large enough for vector steps and a remainder */
  random_graph_make_with(r, case_seed, max_size, case_seed % CASES_OF_CONSTANTS ? NULL : constant_for, c);
  size_t n = (size_t)random_between(&r->state, 1, MAX_RESULTS);
  *have = 0;
  for (int i = r->value_count - 1; i >= 0 && *have < n; i--) roots[(*have)++] = r->values[i].ref;
  return max_size;
}

static void show_case(checker *c, uint64_t case_seed) {
  random_graph *r = &c->r;
  ir_ref roots[MAX_RESULTS];
  size_t have;
  ir_text text;
  make_case(c, case_seed, roots, &have);
  ir_text_init(&text, &ir_mem_libc);
  ir_print_graph(&r->g, "shown", ir_tuple(&r->g, roots, (uint32_t)have), &text);
  fputs(ir_text_get(&text), stdout);
  ir_text_free(&text);
  ir_graph_free(&r->g);
}

static bool one_case(checker *c, uint64_t case_seed) {
  ir_ref roots[MAX_RESULTS];
  size_t have;
  c->problem = NULL;
  c->context = c->contexts[case_seed % 3 == 0];
  int64_t max_size = make_case(c, case_seed, roots, &have);
  check_text(c, roots, have);
  if (!c->problem) check_roots(c, roots, have, case_seed);
  bool moved = !c->problem && c->steps > 0 && case_seed % 4 == 0;
  if (moved) check_moves(c, roots, have, case_seed);
  bool passed = !c->problem;
  if (!passed && moved) report_moves(c, roots, have, case_seed);
  else if (!passed) report(c, case_seed, max_size);
  ir_graph_free(&c->r.g);
  for (size_t i = 0; i < c->constant_count; i++) rt_constant_release(c->constants[i]);
  c->constant_count = 0;
  return passed;
}

static checker the = {.steps = 4};
static bool check(uint64_t seed) { return one_case(&the, seed); }

int main(int argc, char **argv) {
  const option moves = OPTION("--moves", &the.steps);
  cases given = cases_read_with(argc, argv, 200, &moves, 1);
  if (!cases_open(machines, MACHINES, the.contexts)) return 1;
  the.context = the.contexts[0];
  if (given.show) return show_case(&the, given.seed), 0;
  cases_run(&given, check);
  cases_close(the.contexts, MACHINES);
  printf("prop_graph: %ld graphs, %ld programs, %ld of them with constants, %ld elements, %ld failed, seed "
         "%" PRIu64 "\n",
         given.done, the.programs, the.bound, the.elements, given.failed, given.seed);
  return given.failed != 0;
}
