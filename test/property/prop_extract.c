/* The extracted form against plain evaluation.
 *
 *   prop_extract --seed S --count N
 *
 * Each case is either a random chain of views, whose elements plain loops give, or a few random index
 * expressions that are extracted together, whose values the expressions as written give. A chain is extracted
 * as the access that it is, where costs are those of printing. Both are printed
 * before and after extraction, read back by the test's own evaluator and compared at every point (an index
 * only where it is valid). Extraction must never raise the cost of the graph, as counted here, and extracting
 * a second time must change no text. Two cost tables are used in turn. */
#include "passes/index/extract/extract.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/text/chain.h"
#include "frontend/views/access.h"
#include "passes/fold/fold.h"
#include "passes/index/index.h"
#include "test/lib/cases.h"
#include "test/lib/expression.h"
#include "test/lib/random_graph.h"
#include "test/lib/view_model.h"

enum { ROOTS = 4, RANGES = 4 };

static int64_t pick(uint64_t *state, int64_t lo, int64_t hi) {
  return lo + (int64_t)(random_next(state) % (uint64_t)(hi - lo + 1));
}

/* The roots: as given, extracted, and extracted twice. */
typedef struct subject {
  ir_graph g;
  ir_error error;
  uint32_t count;
  ir_ref root[3][ROOTS];
  ir_text text[3][ROOTS];
} subject;

static uint64_t cheaper, before_all, after_all; /* how many roots changed; operations before and after */

static bool complain(const subject *s, uint32_t root, const char *what) {
  printf("%s\n", what);
  for (uint32_t i = 0; i < s->count; i++)
    printf("  %s given     %s\n    extracted %s\n    again     %s\n", i == root ? "*" : " ",
           ir_text_get(&s->text[0][i]), ir_text_get(&s->text[1][i]), ir_text_get(&s->text[2][i]));
  return false;
}

/* -------------------------------------------------------------------------------------------------------------
 * cost: the distinct operations below some roots, in units of a printed operation; a division is five */

static int operations_of(const ir_node *n, bool below_sum) {
  switch ((ir_op)n->op) {
  case IR_OP_CONST:
  case IR_OP_RANGE:
  case IR_OP_VAR: return 0;
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return 5;
  case IR_OP_NEG: return !below_sum;
  case IR_OP_NOT: return 0;
  default: return n->nsrc < 2 ? 1 : ir_ops[n->op].cls == IR_CLASS_TERNARY ? 1 : (int)n->nsrc - 1;
  }
}

/* A node without printed operands: the extent of a range is not printed. */
static bool is_leaf(const ir_node *n) {
  return n->op == IR_OP_RANGE || n->op == IR_OP_VAR || n->op == IR_OP_BOUND || n->nsrc == 0;
}

static uint64_t operations(const subject *s, const ir_ref *roots) {
  enum { LIVE = 1, SUMMED = 2 };
  uint64_t sum = 0;
  uint8_t *mark = calloc(s->g.count, 1);
  if (!mark) exit(77);
  for (uint32_t i = 0; i < s->count; i++) mark[roots[i]] = LIVE;
  for (ir_ref r = s->g.count; r-- > 1;) {
    const ir_node *n = ir_get(&s->g, r);
    for (uint32_t j = 0; mark[r] && !is_leaf(n) && j < n->nsrc; j++)
      mark[n->src[j]] |= LIVE | (n->op == IR_OP_ADD ? SUMMED : 0);
    int64_t by;
    bool negation = n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(&s->g, n->src[1], &by) && by == -1;
    if (mark[r] && !is_leaf(n))
      sum += negation ? !(mark[r] & SUMMED) : (uint64_t)operations_of(n, mark[r] & SUMMED);
  }
  free(mark);
  return sum;
}

static bool extract(subject *s, const pass_extract_costs *costs, bool canonical, bool access) {
  for (int step = 0; step < 3; step++) {
    if (step) {
      memcpy(s->root[step], s->root[step - 1], sizeof s->root[step]);
      bool done = access && step == 1 ? pass_extract_access(&s->g, &s->root[step][0], &s->root[step][1])
                                      : pass_extract(&s->g, costs, s->root[step], s->count);
      if (!done) return complain(s, 0, "extraction failed");
    }
    for (uint32_t i = 0; i < s->count; i++) ir_print_expr(&s->g, s->root[step][i], &s->text[step][i]);
  }
  for (uint32_t i = 0; i < s->count; i++) {
    if (canonical && !access && strcmp(ir_text_get(&s->text[1][i]), ir_text_get(&s->text[2][i])) != 0)
      return complain(s, i, "extracting again changes it");
    cheaper += s->root[1][i] != s->root[0][i];
  }
  uint64_t before = operations(s, s->root[0]), after = operations(s, s->root[1]);
  before_all += before;
  after_all += after;
  return costs != &pass_print_costs || after <= before || complain(s, 0, "the extracted form costs more");
}

/* -------------------------------------------------------------------------------------------------------------
 * chains */

static bool chain_holds(subject *s, const model_array *want, int64_t n) {
  static expression index, valid;
  if (!expression_read(&index, ir_text_get(&s->text[1][0])) ||
      !expression_read(&valid, ir_text_get(&s->text[1][1])))
    return complain(s, 0, "no expression");
  int64_t at[MODEL_RANK] = {0}, place = -1, inside;
  for (int k = 0; k < want->count; k++) {
    bool right = expression_eval(&valid, at, n, &inside) && inside == (want->at[k] >= 0);
    if (right && inside) right = expression_eval(&index, at, n, &place) && place == want->at[k];
    if (!right) {
      printf("element %d of the result is element %" PRId64 "\n", k, (int64_t)want->at[k]);
      return complain(s, 0, "the chain is extracted wrongly");
    }
    for (int i = want->shape.rank; i-- > 0;) {
      if (++at[i] < want->shape.size[i]) break;
      at[i] = 0;
    }
  }
  return true;
}

static bool chain_case(subject *s, uint64_t *state, const pass_extract_costs *costs) {
  static model_chain c;
  static model_array want;
  char text[MODEL_TEXT];
  int64_t n = 0;
  model_random(state, &c);
  if (!model_run(&c, &want)) return true;
  for (int i = 0; i < c.base.rank; i++)
    if (c.varies >> i & 1) n = c.base.size[i];
  model_print(&c, text);
  ir_ref node = fe_chain_parse(&s->g, "<chain>", text, strlen(text));
  if (!node) return true; /* a symbolic size leaves a requirement undecided; prop_sizes tests recording */
  s->count = 2;
  bool folded = pass_has_gather(&s->g, node)
                    ? pass_access(&s->g, &pass_canonical, node, &s->root[0][0], &s->root[0][1])
                    : pass_fold_chain(&s->g, node, &s->root[0][0], &s->root[0][1]);
  if (folded && extract(s, costs, true, costs == &pass_print_costs) && chain_holds(s, &want, n)) return true;
  printf("%s\n", text);
  return false;
}

/* -------------------------------------------------------------------------------------------------------------
 * expressions */

typedef struct makings {
  subject *s;
  uint64_t *state;
  ir_ref leaf[RANGES + 1], made[64];
  int64_t size[RANGES], n;
  int leaves, count;
} makings;

static ir_ref some(makings *m) {
  uint64_t k = random_next(m->state);
  if (m->count && k % 3) return m->made[(k >> 8) % (uint64_t)m->count];
  return m->leaf[(k >> 8) % (uint64_t)m->leaves];
}

static ir_ref number(makings *m) {
  static const int64_t useful[] = {1, 2, 3, 4, 6, 8, 12, 24, 5, 7, 9, 10, -1, -2, -4, -6};
  return ir_index(&m->s->g, useful[random_next(m->state) % 16]);
}

static ir_ref step(makings *m) {
  ir_graph *g = &m->s->g;
  ir_ref a = some(m), b = some(m);
  switch (random_next(m->state) % 16) {
  case 0: return ir_binary(g, IR_OP_SUB, a, b);
  case 1: return ir_binary(g, random_next(m->state) % 2 ? IR_OP_MIN : IR_OP_MAX, a, b);
  case 2: return ir_where(g, ir_binary(g, IR_OP_LT, a, number(m)), b, some(m));
  case 3: return ir_binary(g, IR_OP_MUL, m->leaf[0], some(m));
  case 4: return ir_binary(g, IR_OP_ADD, a, number(m));
  case 5:
  case 6:
  case 7: return ir_binary(g, IR_OP_ADD, ir_binary(g, IR_OP_MUL, a, number(m)), b);
  case 8:
  case 9:
  case 10: return ir_binary(g, IR_OP_MUL, a, number(m));
  case 11: return ir_binary(g, IR_OP_ADD, a, b);
  case 12:
  case 13: return ir_binary(g, IR_OP_MOD, a, ir_index(g, pick(m->state, 1, 12)));
  default: return ir_binary(g, IR_OP_FLOORDIV, a, ir_index(g, pick(m->state, 1, 12)));
  }
}

static ir_ref clause(makings *m) {
  static const ir_op ops[] = {IR_OP_LT, IR_OP_GE, IR_OP_LE, IR_OP_GT, IR_OP_EQ, IR_OP_NE};
  ir_graph *g = &m->s->g;
  ir_ref right = random_next(m->state) % 3 ? ir_index(g, pick(m->state, -6, 30)) : some(m);
  return ir_binary(g, ops[random_next(m->state) % 6], some(m), right);
}

static bool expressions_hold(makings *m) {
  static expression before[ROOTS], after[ROOTS];
  subject *s = m->s;
  for (uint32_t i = 0; i < s->count; i++)
    if (!expression_read(&before[i], ir_text_get(&s->text[0][i])) ||
        !expression_read(&after[i], ir_text_get(&s->text[1][i])))
      return true; /* written out as a tree, the expression is too long for the reader */
  int64_t at[RANGES] = {0}, x, y;
  for (int axis = 0; axis >= 0;) {
    for (uint32_t i = 0; i < s->count; i++)
      if (expression_eval(&before[i], at, m->n, &x) &&
          (!expression_eval(&after[i], at, m->n, &y) || x != y)) {
        printf("at %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ", n=%" PRId64 ": %" PRId64
               " became %" PRId64 "\n",
               at[0], at[1], at[2], at[3], m->n, x, y);
        return complain(s, i, "values differ");
      }
    for (axis = m->leaves - 2; axis >= 0; axis--) { /* leaf 0 is n, the others are ranges */
      if (++at[axis] < m->size[axis]) break;
      at[axis] = 0;
    }
  }
  return true;
}

static bool expressions_case(subject *s, uint64_t *state, const pass_extract_costs *costs) {
  makings m = {.s = s, .state = state};
  ir_graph *g = &s->g;
  m.leaf[m.leaves++] = ir_var(g, "n", 1, 2, 5, 1);
  m.n = pick(state, 2, 5);
  for (int i = 0, ranges = (int)pick(state, 1, RANGES - 1); i < ranges; i++) {
    m.size[i] = pick(state, 1, 13);
    ir_ref extent = ir_index(g, m.size[i]);
    m.leaf[m.leaves++] = ir_make(g, IR_OP_RANGE, IR_INDEX, i, &extent, 1);
  }
  for (int64_t steps = pick(state, 1, 14); steps-- > 0; m.count++) m.made[m.count] = step(&m);
  s->count = (uint32_t)pick(state, 1, ROOTS);
  bool canonical = random_next(state) % 2;
  for (uint32_t i = 0; i < s->count; i++) {
    ir_ref root = i == 0 ? m.made[m.count - 1] : i == 1 ? clause(&m) : some(&m);
    if (i == 1)
      for (int64_t more = pick(state, 0, 3); more-- > 0;)
        root = ir_binary(g, random_next(state) % 4 ? IR_OP_AND : IR_OP_OR, root, clause(&m));
    s->root[0][i] = canonical ? pass_simplify(g, root) : root;
    if (!s->root[0][i]) return complain(s, 0, s->error.text);
  }
  return extract(s, costs, canonical, false) && expressions_hold(&m);
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 1000);
  uint64_t seed = given.seed, count = (uint64_t)given.count, failed = 0;
  static subject s;
  for (uint64_t k = 0; k < count && failed < 10; k++) {
    uint64_t state = seed * 0x100000001b3u + k;
    memset(&s, 0, sizeof s);
    if (ir_graph_init(&s.g, &ir_mem_libc, &s.error) != IR_OK) return 1;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < ROOTS; j++) ir_text_init(&s.text[i][j], &ir_mem_libc);
    bool chain = k % 2, machine = k % 8 >= 6;
    const pass_extract_costs *costs = machine ? &pass_machine_costs : &pass_print_costs;
    if (!(chain ? chain_case : expressions_case)(&s, &state, costs)) {
      failed++;
      printf("  case %" PRIu64 " of seed %" PRIu64 "\n", k, seed);
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < ROOTS; j++) ir_text_free(&s.text[i][j]);
    ir_graph_free(&s.g);
  }
  if (count >= 1000 && cheaper == 0) printf("nothing ever became cheaper\n"), failed++;
  printf("prop_extract: %" PRIu64 " cases, %" PRIu64 " failed, %" PRIu64 " roots changed, operations %" PRIu64
         " to %" PRIu64 ", seed %" PRIu64 "\n",
         count, failed, cheaper, before_all, after_all, seed);
  return failed != 0;
}
