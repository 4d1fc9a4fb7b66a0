/* Proves comparisons of sizes by enumeration: where the variables of both sides have few values in total,
 * both sides are evaluated for every assignment. Other rules may have rewritten a form by the few values of
 * its variable, (n+3)//8 as n//5 for example, so that it shares no terms with the other side. */
#include "impl.h"

#include "ir/eval/eval.h"

enum {
  TRIAL_VARIABLES = 3, /* sizes of both sides [1 in the tests]: of more, the comparison stays undecided */
  TRIALS = 128,        /* assignments: at most about a millisecond, spent only where no other rule decided */
  TRIAL_NODES = 128    /* of both sides [17 in the tests]: evaluated once for each assignment */
};

typedef struct trial {
  ir_graph *g;
  ir_var_value var[TRIAL_VARIABLES];
  int64_t lo[TRIAL_VARIABLES], step[TRIAL_VARIABLES], values[TRIAL_VARIABLES];
  size_t count;
} trial;

static bool add_variable(trial *t, ir_ref var, int64_t *all) {
  ir_bounds in = ir_bounds_of(t->g, var);
  int64_t step = in.div > 0 ? in.div : 1, width;
  if (t->count == TRIAL_VARIABLES || !ir_sub_ok(in.hi, in.lo, &width)) return false;
  t->var[t->count].ref = var;
  t->lo[t->count] = in.lo;
  t->step[t->count] = step;
  t->values[t->count] = width / step + 1;
  return ir_mul_ok(*all, t->values[t->count++], all) && *all <= TRIALS;
}

/* The value of a side; false where evaluation fails. */
static bool value_of(const trial *t, ir_ref x, int64_t *out) {
  ir_error error = {0};
  ir_status status = ir_eval_index(t->g, x, t->var, t->count, NULL, 0, out, &error);
  if (ir_gives_up(status)) ir_fail(t->g->error, status, "%s", error.text);
  return status == IR_OK;
}

/* The variables of both sides, and the number of assignments. False where there are too many, or the sides
 * contain anything but sizes and conditions on them. */
static bool read_variables(trial *t, ir_ref x, ir_ref y, int64_t *all) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  ir_status status = ir_reachable(t->g, (ir_ref[]){x, y}, 2, &live, &count, &cap);
  bool few = status == IR_OK && count <= TRIAL_NODES;
  if (status == IR_ERR_MEMORY) ir_fail(t->g->error, status, "out of memory comparing sizes");
  for (size_t i = 0; i < count && few; i++) {
    ir_op op = ir_op_of(t->g, live[i]);
    if (op == IR_OP_VAR) few = add_variable(t, live[i], all);
    else
      few = op != IR_OP_RANGE &&
            (ir_dtype_of(t->g, live[i]) == IR_INDEX || ir_dtype_of(t->g, live[i]) == IR_BOOL);
  }
  ir_free(t->g->mem, live, cap * sizeof *live);
  return few && t->count > 0;
}

bool pass_never_above(ir_graph *g, ir_ref x, ir_ref y, bool strictly) {
  trial t = {.g = g};
  int64_t all = 1;
  bool holds = read_variables(&t, x, y, &all);
  for (int64_t i = 0; i < all && holds; i++) {
    int64_t left = i, a, b;
    for (size_t k = 0; k < t.count; left /= t.values[k], k++)
      t.var[k].value = t.lo[k] + left % t.values[k] * t.step[k];
    holds = value_of(&t, x, &a) && value_of(&t, y, &b) && (strictly ? a < b : a <= b);
  }
  return holds;
}
