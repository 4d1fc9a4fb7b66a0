/* Programs of random functions, called by nested cond, while_loop and scan operations, give exactly what the
 * evaluator gives. All elements are integers, so that every result is exact. Among the cases are bodies with
 * values that are stored to memory, results that are parameters or other results, results that are never
 * read, loops of length 0 and of symbolic length.
 *
 *   prop_steps --seed S --count N
 *   prop_steps --case SEED         one case again, by the seed in its report */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/eval/eval.h"
#include "ir/print/print.h"
#include "test/lib/cases.h"
#include "test/lib/flow.h"
#include "test/lib/random_graph.h"
#include "test/lib/options.h"

enum { WIDTH = 4, MOST_ROWS = 3, POOL = 24, DEPTH = 3, MOST = 8, RESULTS = 4 };
typedef enum type { NUMBER, VECTOR, MATRIX, TYPES } type;

typedef struct maker {
  flow f;
  uint64_t state;
  ir_ref rows, shapes[TYPES];
  int budget; /* operations that may still be recorded */
} maker;

typedef struct pool {
  ir_ref values[POOL];
  type types[POOL];
  int count;
} pool;

static int draw(maker *m, int lo, int hi) { return (int)random_between(&m->state, lo, hi); }

static void keep(maker *m, pool *p, ir_ref value, type t) {
  int at = p->count < POOL ? p->count++ : draw(m, 0, POOL - 1);
  p->values[at] = value;
  p->types[at] = t;
}

/* types */

static ir_ref sum_first(maker *m, ir_ref x, type t) {
  return ir_make_tensor(&m->f.g, IR_OP_SUM, IR_I32, m->shapes[t], 0, (ir_ref[]){x, ir_index(&m->f.g, 0)}, 2);
}

/* Converts a value to another type: summed, or expanded. */
static ir_ref as(maker *m, ir_ref x, type from, type to) {
  ir_graph *g = &m->f.g;
  for (; from > to; from--) x = sum_first(m, x, (type)(from - 1));
  if (from == to) return x;
  if (from == NUMBER) x = flow_expand(&m->f, x, m->shapes[VECTOR]);
  if (to == VECTOR) return x;
  ir_ref one = ir_index(g, 1), width = ir_index(g, WIDTH);
  x = ir_make_tensor(g, IR_OP_RESHAPE, IR_I32, ir_tuple(g, (ir_ref[]){one, width}, 2), 0,
                     (ir_ref[]){x, one, width}, 3);
  return ir_make_tensor(g, IR_OP_EXPAND, IR_I32, m->shapes[MATRIX], 0, (ir_ref[]){x, m->rows, width}, 3);
}

static ir_ref pick(maker *m, const pool *p, type t) {
  int same[POOL], count = 0, any = draw(m, 0, p->count - 1);
  for (int i = 0; i < p->count; i++)
    if (p->types[i] == t) same[count++] = i;
  if (count && draw(m, 0, 3)) return p->values[same[draw(m, 0, count - 1)]];
  return as(m, p->values[any], p->types[any], t);
}

/* A comparison, as one bool. */
static ir_ref less(maker *m, const pool *p) {
  ir_ref a = pick(m, p, NUMBER), b = pick(m, p, NUMBER);
  return ir_binary(&m->f.g, IR_OP_LT, a, b);
}

/* functions */

static void fill(maker *m, pool *p, int operations, int depth);

/* A function that is being recorded: its parameters, and the values computed so far. */
typedef struct inner {
  pool p;
  ir_ref given[MOST];
  int count;
} inner;

static void open_function(maker *m, inner *in, const type *params, int count, int depth) {
  *in = (inner){.count = count};
  for (int i = 0; i < count; i++)
    keep(m, &in->p, in->given[i] = flow_param(&m->f, IR_I32, m->shapes[params[i]]), params[i]);
  fill(m, &in->p, draw(m, 0, 4), depth + 1);
}

/* Closes the function with random results of these types; count < 0: with one bool, for the test of a
 * loop. */
static ir_ref close_function(maker *m, const inner *in, const type *results, int count) {
  ir_ref made[MOST];
  for (int i = 0; i < count; i++) made[i] = pick(m, &in->p, results[i]);
  if (count < 0) made[0] = less(m, &in->p);
  return ir_func(&m->f.g, made, count < 0 ? 1 : (uint32_t)count, in->given, (uint32_t)in->count);
}

static ir_ref function(maker *m, const type *params, int param_count, const type *results, int result_count,
                       int depth) {
  inner in;
  open_function(m, &in, params, param_count, depth);
  return close_function(m, &in, results, result_count);
}

static int draw_types(maker *m, type *out, int least, int most) {
  int count = draw(m, least, most);
  for (int i = 0; i < count; i++) out[i] = (type)draw(m, 0, TYPES - 1);
  return count;
}

static void keep_results(maker *m, pool *p, ir_ref node, const type *types, int count) {
  for (int i = 0; i < count; i++)
    if (draw(m, 0, 3)) keep(m, p, flow_result(&m->f, node, (uint32_t)i), types[i]);
}

static void add_cond(maker *m, pool *p, int depth) {
  type params[MOST], results[MOST];
  int taken = draw_types(m, params, 1, 3), count = draw_types(m, results, 1, 3);
  ir_ref operands[MOST + 1] = {less(m, p)};
  for (int i = 0; i < taken; i++) operands[i + 1] = pick(m, p, params[i]);
  inner in;
  open_function(m, &in, params, taken, depth);
  ir_ref then = close_function(m, &in, results, count), other;
  if (draw(m, 0, 1)) { /* the other branch has the same parameters and shares some values */
    fill(m, &in.p, draw(m, 0, 2), depth + 1);
    other = close_function(m, &in, results, count);
  } else {
    other = function(m, params, taken, results, count, depth);
  }
  keep_results(m, p, flow_cond(&m->f, then, other, operands, (size_t)taken + 1), results, count);
}

static void add_while(maker *m, pool *p, int depth) {
  type params[MOST];
  int taken = draw_types(m, params, 1, 4), carries = draw(m, 1, taken);
  ir_ref operands[MOST];
  for (int i = 0; i < taken; i++) operands[i] = pick(m, p, params[i]);
  ir_ref test = function(m, params, taken, NULL, -1, depth),
         body = function(m, params, taken, params, carries, depth);
  keep_results(m, p, flow_while(&m->f, test, body, draw(m, 0, 3), (uint32_t)carries, operands, (size_t)taken),
               params, carries);
}

/* The body's slices of a matrix are vectors. The vectors that it stacks make a matrix, or, for another
 * length, are summed at once. */
static void add_scan(maker *m, pool *p, int depth) {
  ir_graph *g = &m->f.g;
  type params[MOST], results[MOST], whole[MOST];
  int carries = draw_types(m, params, 0, 2), sliced = draw(m, 0, 2), stacked = draw(m, carries ? 0 : 1, 2);
  int taken = carries + sliced;
  for (int i = carries; i < taken; i++) params[i] = VECTOR;
  taken += draw_types(m, params + taken, taken ? 0 : 1, 2);
  bool rows = sliced || draw(m, 0, 1);
  ir_ref operands[MOST], length = rows ? m->rows : ir_index(g, draw(m, 0, 3));
  for (int i = 0; i < taken; i++)
    operands[i] = pick(m, p, i >= carries && i < carries + sliced ? MATRIX : params[i]);
  for (int i = 0; i < carries + stacked; i++) results[i] = whole[i] = i < carries ? params[i] : VECTOR;
  ir_ref body = function(m, params, taken, results, carries + stacked, depth);
  ir_scan_state state = {(uint32_t)carries, (uint32_t)sliced, draw(m, 0, 1)};
  ir_ref node = flow_scan(&m->f, body, length, state, operands, (size_t)taken);
  keep_results(m, p, node, whole, carries);
  for (int i = carries; i < carries + stacked; i++) {
    ir_ref all = flow_result(&m->f, node, (uint32_t)i);
    if (draw(m, 0, 3)) keep(m, p, rows ? all : sum_first(m, all, VECTOR), rows ? MATRIX : VECTOR);
  }
}

static void add_plain(maker *m, pool *p) {
  static const ir_op ops[] = {IR_OP_ADD, IR_OP_SUB, IR_OP_MUL, IR_OP_MIN};
  ir_graph *g = &m->f.g;
  type t = (type)draw(m, 0, TYPES - 1);
  ir_ref a = pick(m, p, t), b = pick(m, p, t), made;
  switch (draw(m, 0, 8)) {
  case 4: { /* stored in two steps */
    ir_op op = draw(m, 0, 1) ? IR_OP_SCATTER : IR_OP_SCATTER_ADD;
    ir_ref x = as(m, a, t, VECTOR), at = pick(m, p, VECTOR), by = pick(m, p, VECTOR);
    made = ir_make_tensor(g, op, IR_I32, m->shapes[VECTOR], ir_pack_arg(0, IR_GATHER_CLIP),
                          (ir_ref[]){x, at, by}, 3);
    t = VECTOR;
    break;
  }
  case 3: { /* computed from constants: the same node in every function */
    ir_ref width = ir_index(g, WIDTH);
    made = ir_make_tensor(g, IR_OP_IOTA, IR_I32, m->shapes[VECTOR], 0, &width, 1);
    t = VECTOR;
    if (draw(m, 0, 1)) made = as(m, ir_binary(g, IR_OP_MUL, made, made), VECTOR, t = NUMBER);
    break;
  }
  case 0: made = ir_where(g, ir_binary(g, IR_OP_LT, a, b), pick(m, p, t), b); break;
  case 1: made = ir_binary(g, IR_OP_ADD, a, ir_int(g, IR_I32, draw(m, -3, 3))); break;
  case 2: made = as(m, as(m, a, t, NUMBER), NUMBER, t); break; /* a sum that every element reads */
  default: made = ir_binary(g, ops[draw(m, 0, 3)], a, b); break;
  }
  keep(m, p, made, t);
}

static void fill(maker *m, pool *p, int operations, int depth) {
  for (int i = 0; i < operations && m->budget > 0; i++) {
    int kind = depth < DEPTH ? draw(m, 0, 6) : 6;
    m->budget--;
    if (kind == 0) add_cond(m, p, depth);
    else if (kind == 1) add_while(m, p, depth);
    else if (kind < 4) add_scan(m, p, depth);
    else add_plain(m, p);
  }
}

/* one case */

static int32_t inputs[TYPES][MOST_ROWS * WIDTH];

static bool same_results(maker *m, rt_program *p, const ir_ref *results, int count, int64_t rows, char *why) {
  ir_binding_input given[TYPES];
  ir_eval_result want[RESULTS];
  ir_error error = {0};
  bool symbolic = ir_op_of(&m->f.g, m->rows) == IR_OP_VAR;
  ir_var_value var = {m->rows, rows};
  void *in[TYPES], *out[RESULTS];
  size_t ports = rt_program_input_count(p);
  for (size_t i = 0; i < TYPES; i++) given[i] = (ir_binding_input){m->f.inputs[i], inputs[i]};
  for (size_t i = 0; i < ports; i++) in[i] = inputs[i];
  if (ir_eval(&m->f.g, results, (size_t)count, given, TYPES, &var, symbolic, want, &error)) {
    snprintf(why, 300, "the evaluator: %.250s", error.text);
    return false;
  }
  for (int i = 0; i < count; i++) out[i] = memset(malloc(want[i].bytes + 1), 0x5a, want[i].bytes + 1);
  bool good = ports == TYPES;
  const int64_t *vars = rt_program_variable_count(p) ? &rows : NULL;
  for (int again = 0; again < 2 && good; again++)
    if (rt_program_run(p, in, out, vars, &error)) {
      snprintf(why, 300, "%.290s", error.text);
      good = false;
    }
  for (int i = 0; i < count; i++) {
    if (good &&
        (memcmp(out[i], want[i].data, want[i].bytes) != 0 || ((char *)out[i])[want[i].bytes] != 0x5a)) {
      snprintf(why, 300, "result %d differs with %d rows", i, (int)rows);
      good = false;
    }
    free(out[i]);
  }
  ir_eval_free(&m->f.g, want, (size_t)count);
  return good;
}

static void record(maker *m, uint64_t seed, int budget) {
  static const char *const names[TYPES] = {"number", "vector", "matrix"};
  ir_graph *g = &m->f.g;
  m->state = seed;
  m->budget = budget;
  flow_init(&m->f);
  int rows = draw(m, 0, MOST_ROWS + 2);
  m->rows = rows > MOST_ROWS ? ir_var(g, "n", 1, 0, MOST_ROWS, 1) : ir_index(g, rows);
  ir_ref width = ir_index(g, WIDTH);
  m->shapes[NUMBER] = ir_tuple(g, NULL, 0);
  m->shapes[VECTOR] = ir_tuple(g, &width, 1);
  m->shapes[MATRIX] = ir_tuple(g, (ir_ref[]){m->rows, width}, 2);
  for (int t = 0; t < TYPES; t++) flow_input(&m->f, names[t], IR_I32, m->shapes[t]);
}

static size_t kinds[IR_STEP_KINDS];

static bool try_case(rt_context *c, uint64_t seed, int budget, char *why, bool print) {
  maker m;
  pool p = {.count = 0};
  ir_ref results[RESULTS];
  rt_program *program = NULL;
  ir_error error = {0};
  record(&m, seed, budget);
  for (int t = 0; t < TYPES; t++) keep(&m, &p, m.f.inputs[t], (type)t);
  fill(&m, &p, 3 + budget / 3, 0);
  int count = draw(&m, 1, RESULTS);
  for (int i = 0; i < count; i++) results[i] = pick(&m, &p, (type)draw(&m, 0, TYPES - 1));
  if (print) {
    ir_text text;
    ir_text_init(&text, &ir_mem_libc);
    ir_print_graph(&m.f.g, "case", ir_tuple(&m.f.g, results, (uint32_t)count), &text);
    printf("%s", ir_text_get(&text));
    ir_text_free(&text);
  }
  bool good = flow_try(&m.f, c, NULL, results, (size_t)count, &program, &error) == IR_OK;
  if (!good) snprintf(why, 300, "%.290s", error.text);
  int64_t size, least, most;
  if (ir_is_const(&m.f.g, m.rows, &size)) least = most = size;
  else least = 0, most = MOST_ROWS;
  for (size = least; size <= most && good; size++)
    good = same_results(&m, program, results, count, size, why);
  for (size_t i = 0; i < m.f.plan.step_count; i++) kinds[m.f.plan.steps[i].kind]++;
  rt_program_release(program);
  flow_end(&m.f);
  return good;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, only = 0;
  long cases = 50;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &cases), OPTION("--case", &only));
  ir_error error = {0};
  rt_context *c;
  rt_options options = cases_options();
  if (rt_context_create(&ir_mem_libc, &options, &c, &error)) return printf("prop_steps: %s\n", error.text), 1;
  uint64_t state = seed, draws = 1;
  for (int t = 0; t < TYPES; t++)
    for (int i = 0; i < MOST_ROWS * WIDTH; i++) inputs[t][i] = (int32_t)random_between(&draws, -9, 9);
  char why[300] = "";
  for (long i = 0; i < (only ? 1 : cases); i++) {
    uint64_t one = only ? only : random_next(&state) | 1;
    int budget = only ? 40 : 4 + (int)(i % 37);
    if (try_case(c, one, budget, why, false)) continue;
    int least = 0; /* the fewest operations with which the case fails */
    while (least < budget && try_case(c, one, least, why, false)) least++;
    try_case(c, one, least, why, true);
    printf("prop_steps: %s; again with --case %llu\n", why, (unsigned long long)one);
    return 1;
  }
  rt_context_destroy(c);
  printf("prop_steps: seed %llu, %ld programs: %zu kernels, %zu copies, %zu choices, %zu while loops, %zu "
         "scans\n",
         (unsigned long long)seed, cases, kinds[IR_STEP_KERNEL], kinds[IR_STEP_COPY], kinds[IR_STEP_COND],
         kinds[IR_STEP_WHILE], kinds[IR_STEP_SCAN]);
  return 0;
}
