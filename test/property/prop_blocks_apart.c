/* No two thread blocks of a kernel store the same element.
 *
 *   prop_blocks_apart --seed S --count N [--moves M]
 *
 * Each case is a graph of products, sums, softmax or attention, with sizes around those of tiles and of rows
 * that groups have at a time, compiled for a random machine, and again with M schedules of the neighbourhood.
 * The test's own interpreter runs the loops of each kernel, without its values, and notes which block stores
 * each element. Stores whose index is data, to locals, and updates are not looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/text/reader.h"
#include "passes/passes.h"
#include "runtime/cpu/target.h"
#include "test/lib/options.h"
#include "test/lib/random_graph.h"
#include "test/lib/random_moves.h"

enum { TEXT = 1024, SLOTS = 64, MOST = 1 << 21 };

static ir_error error;

/* What an expression needs, in order; NULL: it is data. */
typedef struct needed {
  bool known, data;
  ir_ref *list;
  size_t count, cap;
} needed;

typedef struct machine {
  ir_graph *g;
  int64_t *value; /* by node, like the next */
  needed *needs;
  int32_t *owner[SLOTS]; /* by element: the block that stores it, plus 1 */
  int64_t size[SLOTS], block, stores;
} machine;

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static bool is_computed(ir_op op) {
  static const ir_op known[] = {IR_OP_CONST,    IR_OP_RANGE, IR_OP_ADD, IR_OP_MUL,
                                IR_OP_FLOORDIV, IR_OP_MOD,   IR_OP_MIN, IR_OP_MAX};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (op == known[i]) return true;
  return false;
}

static int64_t compute(const machine *m, ir_ref ref) {
  const ir_node *n = ir_get(m->g, ref);
  int64_t a = n->nsrc > 0 ? m->value[n->src[0]] : 0, b = n->nsrc > 1 ? m->value[n->src[1]] : 0;
  switch ((int)n->op) {
  case IR_OP_CONST: return n->arg;
  case IR_OP_RANGE: return m->value[ref];
  case IR_OP_FLOORDIV: return floor_div(a, b);
  case IR_OP_MOD: return a - b * floor_div(a, b);
  }
  for (uint32_t i = 1; i < n->nsrc; i++) {
    b = m->value[n->src[i]];
    a = n->op == IR_OP_ADD ? a + b : n->op == IR_OP_MUL ? a * b : (n->op == IR_OP_MIN) == (a < b) ? a : b;
  }
  return a;
}

static needed *needs_of(machine *m, ir_ref root) {
  needed *x = &m->needs[root];
  if (x->known) return x;
  x->known = true;
  if (ir_reachable(m->g, &root, 1, &x->list, &x->count, &x->cap) != IR_OK) exit(77);
  for (size_t i = 0; i < x->count; i++) x->data |= !is_computed(ir_op_of(m->g, x->list[i]));
  return x;
}

/* False where the value is data. */
static bool evaluate(machine *m, ir_ref root, int64_t *value) {
  needed *x = needs_of(m, root);
  for (size_t i = 0; i < x->count && !x->data; i++) m->value[x->list[i]] = compute(m, x->list[i]);
  *value = m->value[root];
  return !x->data;
}

static bool store(machine *m, const ir_node *n) {
  const ir_node *param = ir_get(m->g, n->src[0]);
  int64_t at, slot = ir_arg_int(param);
  if (param->op != IR_OP_PARAM || !evaluate(m, n->src[1], &at)) return true;
  if (!m->owner[slot]) {
    if (!ir_is_const(m->g, param->src[0], &m->size[slot])) exit(77);
    m->owner[slot] = calloc((size_t)m->size[slot] + 1, sizeof *m->owner[slot]);
  }
  if (at < 0 || at >= m->size[slot])
    return ir_fail(&error, IR_ERR_INTERNAL, "a store outside of p%d", (int)slot), false;
  int32_t *owner = &m->owner[slot][at];
  m->stores++;
  if (*owner && *owner != m->block + 1) {
    ir_fail(&error, IR_ERR_INTERNAL, "blocks %d and %" PRId64 " store element %" PRId64 " of p%d", *owner - 1,
            m->block, at, (int)slot);
    return false;
  }
  *owner = (int32_t)m->block + 1;
  return true;
}

static bool run(machine *m, ir_ref effect) {
  const ir_node *n = ir_get(m->g, effect);
  bool good = true;
  int64_t extent;
  if (n->op == IR_OP_STORE) return m->stores > MOST || store(m, n);
  if (n->op == IR_OP_SEQ)
    for (uint32_t i = 0; i < n->nsrc && good; i++) good = run(m, n->src[i]);
  if (n->op != IR_OP_LOOP || n->dtype != IR_NONE || !evaluate(m, ir_src(m->g, n->src[0], 0), &extent))
    return good;
  bool thread = ir_arg_mode(n) == IR_THREAD;
  for (int64_t i = 0; i < extent && good; i++) {
    m->value[n->src[0]] = i;
    if (thread) m->block = i;
    good = run(m, n->src[1]);
  }
  return good;
}

static bool run_kernel(ir_graph *g, ir_ref kernel, int64_t *stores) {
  machine m = {.g = g, .value = calloc(g->count, sizeof(int64_t)), .needs = calloc(g->count, sizeof(needed))};
  bool good = m.value && m.needs && run(&m, ir_src(g, kernel, 0));
  *stores += m.stores;
  for (uint32_t i = 0; i < g->count && m.needs; i++)
    ir_free(g->mem, m.needs[i].list, m.needs[i].cap * sizeof(ir_ref));
  for (int i = 0; i < SLOTS; i++) free(m.owner[i]);
  free(m.value), free(m.needs);
  return good;
}

static const char *const graphs[] = {
    "graph @t(%%x: f32[%d,%d], %%y: f32[%d,%d]) {\n  %%z = matmul %%x, %%y\n  return %%z\n}\n",
    "graph @t(%%x: f32[%d,%d], %%y: f32[%d,%d]) {\n  %%z = matmul %%x, %%y\n  %%a = relu %%z\n"
    "  %%b = softmax %%a axis=-1\n  return %%b\n}\n",
    "graph @t(%%x: f32[%d,%d], %%y: f32[%d,%d]) {\n  %%n = layer_norm %%x axis=-1 eps=1e-5\n"
    "  %%z = matmul %%n, %%y\n  %%a = gelu %%z\n  return %%a, %%n\n}\n",
    "graph @t(%%x: f32[%d,%d], %%y: f32[%d,%d]) {\n  %%p = permute %%y order=[1,0]\n  %%e = exp %%p\n"
    "  %%s = sum %%x axes=[1]\n  %%c = sum %%x axes=[0]\n  return %%e, %%s, %%c\n}\n",
    "graph @t(%%x: f32[%d,%d], %%y: f32[%d,%d]) {\n  %%z = matmul %%x, %%y\n  %%p = permute %%z order=[1,0]\n"
    "  %%n = layer_norm %%p axis=-1 eps=1e-5\n  return %%n, %%z\n}\n",
};
static const char *const batched[] = {
    "graph @t(%%x: f32[%d,%d,%d], %%y: f32[%d,%d,%d]) {\n  %%z = matmul %%x, %%y\n  return %%z\n}\n",
    "graph @t(%%x: f32[%d,%d,%d], %%y: f32[%d,%d,%d]) {\n  %%z = matmul %%x, %%y\n  %%b = softmax %%z "
    "axis=-1\n"
    "  return %%b\n}\n",
    "graph @t(%%x: f32[%d,%d,%d], %%y: f32[%d,%d,%d]) {\n  %%k = permute %%y order=[0,2,1]\n"
    "  %%z = attention %%x, %%k, %%k\n  return %%z\n}\n",
};
enum { GRAPHS = sizeof graphs / sizeof *graphs, BATCHED = sizeof batched / sizeof *batched };

static void write_graph(uint64_t *state, char *text) {
  int which = (int)random_between(state, 0, GRAPHS + BATCHED - 1), batch = (int)random_between(state, 2, 5);
  int most = which < GRAPHS ? 400 : 150;
  int rows = (int)random_between(state, 1, most), terms = (int)random_between(state, 1, 100),
      columns = (int)random_between(state, 1, most);
  if (which < GRAPHS) snprintf(text, TEXT, graphs[which], rows, terms, terms, columns);
  else snprintf(text, TEXT, batched[which - GRAPHS], batch, rows, terms, batch, terms, columns);
}

static bool random_target(uint64_t *state, ir_target *target) {
  static const char *const settings[] = {
      "", "triple=x86_64-unknown-linux-gnu vector_bytes=64 registers=32 fma=1",
      "triple=x86_64-unknown-linux-gnu vector_bytes=32 registers=16 fma=1",
      "triple=x86_64-unknown-linux-gnu vector_bytes=16 registers=16 fma=0"};
  rt_target_host(target);
  return rt_target_override(target, settings[random_between(state, 0, 3)], &error) == IR_OK &&
         rt_target_override(target, random_between(state, 0, 1) ? "l3=4096" : "l3=33554432", &error) == IR_OK;
}

static bool try_schedule(const char *text, const ir_target *target, pass_shaping *shaping, int64_t *stores) {
  ir_graph g;
  ir_module module = {0};
  ir_plan plan;
  error = (ir_error){0};
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return false;
  pass_options options = {.target = target, .verify = true, .shaping = shaping};
  bool good = fe_parse_graphs(&g, "t", text, strlen(text), &module) == IR_OK;
  if (!good) error = *g.error;
  bool made = good && pass_pipeline(&g, module.graphs[0].root, &options, &plan, &error) == IR_OK;
  /* a neighbour may split the loop that a local belongs to, which is refused */
  good = made || (good && shaping->given && strncmp(error.text, "moves: ", 7) == 0);
  if (made) {
    for (size_t i = 0; i < plan.step_count && good; i++)
      if (plan.steps[i].kind == IR_STEP_KERNEL) good = run_kernel(&g, plan.steps[i].kernel, stores);
    ir_plan_free(&plan);
  }
  ir_module_free(&module);
  ir_graph_free(&g);
  return good;
}

static bool try_case(uint64_t seed, uint64_t moves, int64_t *stores) {
  static random_moves m;
  char text[TEXT];
  uint64_t state = seed;
  ir_target target;
  write_graph(&state, text);
  bool good = random_target(&state, &target);
  random_moves_begin(&m, random_next(&state));
  for (uint64_t i = 0; i <= moves && good; i++, random_moves_step(&m))
    good = try_schedule(text, &target, &m.shaping, stores);
  if (good) return true;
  ir_text out;
  ir_text_init(&out, &ir_mem_libc);
  random_moves_print(&m, &out);
  printf("%s  vectors of %d bytes: %s\n%s", text, target.vector_bytes, error.text, ir_text_get(&out));
  ir_text_free(&out);
  return false;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 100, moves = 2, k;
  int64_t stores = 0;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count), OPTION("--moves", &moves));
  for (k = 0; k < count; k++)
    if (!try_case(seed * 0x9e3779b97f4a7c15u + k, moves, &stores)) break;
  if (k < count)
    return printf("again: prop_blocks_apart --seed %" PRIu64 " --count %" PRIu64 "\n", seed, k + 1), 1;
  printf("prop_blocks_apart: %" PRIu64 " graphs, %" PRId64 " stores, none by two blocks, seed %" PRIu64 "\n",
         count, stores, seed);
  return 0;
}
