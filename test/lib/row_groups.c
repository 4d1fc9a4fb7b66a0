#include "test/lib/row_groups.h"

#include "passes/passes.h"
#include "test/lib/reads_back.h"

enum { MOST_FUSED = 600 };

static bool is_in_memory(const ir_plan *plan, ir_ref node) {
  for (size_t i = 0; i < plan->stored_count; i++)
    if (plan->stored[i].node == node) return true;
  return false;
}

/* Is there a sum of products among the nodes that compute the value from memory and from other values of the
 * fused row group? */
static bool has_product(const ir_graph *g, const ir_plan *plan, const ir_row_group *row_group, ir_ref value) {
  ir_ref todo[MOST_FUSED] = {value};
  uint32_t count = 1;
  for (uint32_t next = 0; next < count; next++) {
    const ir_node *n = ir_get(g, todo[next]);
    bool stops = next && is_in_memory(plan, todo[next]);
    for (uint32_t i = 0; i < row_group->count && next; i++) stops |= row_group->values[i].value == todo[next];
    if (stops) continue;
    const ir_node *term = n->op == IR_OP_SUM ? ir_get(g, n->src[0]) : NULL;
    bool of_two =
        term && term->nsrc > 1 && term->src[0] != term->src[1] && ir_op_of(g, term->src[1]) != IR_OP_CONST;
    if (of_two && (term->op == IR_OP_FMA || term->op == IR_OP_MUL || term->op == IR_OP_DOT2 ||
                   term->op == IR_OP_DOT4 || term->op == IR_OP_FMA2))
      return true;
    for (uint32_t i = 0; i < ir_operand_count(n) && count < MOST_FUSED; i++) todo[count++] = n->src[i];
  }
  return false;
}

static uint32_t products(const ir_graph *g, const ir_plan *plan, const ir_row_group *row_group) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < row_group->count; i++)
    count += has_product(g, plan, row_group, row_group->values[i].value);
  return count;
}

static bool has_transposed(const ir_row_group *row_group) {
  bool any = false;
  for (uint32_t i = 0; i < row_group->count; i++) any |= row_group->values[i].transposed;
  return any;
}

row_group_counts row_groups_of(trial *t) {
  ir_plan plan;
  row_group_counts counts = {0};
  if (!trial_plan(t, 0, &plan)) return counts;
  for (size_t i = 0; i < plan.step_count; i++) {
    const ir_step *step = &plan.steps[i];
    uint32_t here = products(&t->g, &plan, &step->row_group);
    if (here > counts.products) counts.products = here;
    counts.kernels += step->kind == IR_STEP_KERNEL;
    counts.row_groups += step->row_group.count > 0;
    counts.transposed += has_transposed(&step->row_group);
    if (step->row_group.count && !*t->wrong) reads_back(&t->g, "k", step->kernel, t->wrong, sizeof t->wrong);
  }
  ir_plan_free(&plan);
  return counts;
}
