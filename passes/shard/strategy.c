/* The specs of a given way to divide an operation. */
#include "strategy.h"
#include "factors.h"

/* Each factor gets its axes, in the order of the mesh. False: it cannot have them. */
static bool divide_factors(shard_factors *f, const shard_strategy *w) {
  const ir_mesh *mesh = f->s->mesh;
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    ir_subaxis x = ir_whole_axis(mesh, i);
    if (w->factor_of[i] == SHARD_LATE) f->late.axes[f->late.count++] = x;
    if (w->factor_of[i] < 0) continue;
    uint32_t factor = (uint32_t)w->factor_of[i];
    shard_axes *a = &f->axes[factor];
    if (f->whole[factor]) return false;
    a->axes[a->count++] = x;
    if (f->even[factor] && !shard_divides(f->s, f->rule->factors[factor].size, a->axes, a->count))
      return false;
  }
  return shard_drop_inner(f);
}

/* Operands stay pending, if the operation lets them. */
static bool keep_pending(shard_factors *f, ir_ref node, const shard_strategy *w, shard_choice *out) {
  ir_spec pending[SHARD_OPERANDS];
  const ir_spec *specs[SHARD_OPERANDS];
  uint32_t before = ir_spec_count(&out->result, IR_PLACE_PENDING);
  if (before) return false; /* one joins in parts of sums */
  for (uint32_t i = 0; i < f->rule->operands; i++) {
    ir_spec_init(&pending[i], f->rule->terms[i].rank);
    for (uint32_t k = 0; k < f->late.count && w->late >> i & 1; k++)
      ir_spec_add(&pending[i], IR_PLACE_PENDING, f->late.axes[k]);
    specs[i] = &pending[i];
  }
  shard_choose_pending(f, node, specs, out);
  return ir_spec_count(&out->result, IR_PLACE_PENDING) > 0;
}

bool shard_strategy_specs(ir_graph *g, ir_ref node, const op_sharding *rule, const shard_strategy *w,
                          ir_spec *operands, ir_spec *result) {
  shard_state s = {.g = g, .mesh = ir_graph_mesh(g)};
  shard_factors f = {.s = &s, .rule = rule};
  shard_choice choice;
  shard_find_whole(&f, node, false);
  if (!divide_factors(&f, w)) return false;
  for (uint32_t i = 0; i < rule->operands; i++) shard_spec_of_term(&f, &rule->terms[i], &choice.operands[i]);
  shard_spec_of_term(&f, &rule->terms[rule->operands], &choice.result);
  choice.result.joined_by = IR_OP_ADD;
  for (uint32_t i = 0; i < rule->factor_count; i++)
    for (uint32_t k = 0; k < f.axes[i].count && f.contracted[i]; k++) {
      choice.result.joined_by = (uint8_t)shard_joined_by(g, node);
      if (!ir_spec_add(&choice.result, IR_PLACE_PENDING, f.axes[i].axes[k])) return false;
    }
  if (f.late.count && !keep_pending(&f, node, w, &choice)) return false;
  for (uint32_t i = 0; i < rule->operands; i++) ir_spec_canonical(&choice.operands[i], &operands[i]);
  ir_spec_canonical(&choice.result, result);
  return g->error->status == IR_OK;
}

bool shard_strategy_collective(ir_graph *g, ir_ref node, const ir_spec *from, ir_spec *result) {
  shard_state s = {.g = g, .mesh = ir_graph_mesh(g)};
  return shard_collective_spec(&s, node, from, result);
}
