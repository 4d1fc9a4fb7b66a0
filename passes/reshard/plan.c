/* From a question in specs to a plan in specs. */
#include "impl.h"

static void sum_of(const reshard_problem *p, const reshard_path *path, pass_reshard_cost *sum) {
  *sum = (pass_reshard_cost){.recv = 0};
  for (uint32_t i = 1; i < path->count; i++) {
    pass_reshard_cost cost;
    reshard_path_cost(p, path, i, &cost);
    reshard_add(sum, &cost);
  }
}

static void write_plan(const reshard_problem *p, const reshard_path *path, pass_reshard_plan *out) {
  pass_reshard_cost bound;
  out->count = path->count - 1;
  out->exact = path->exact && (p->prime || (p->mode == PASS_RESHARD_BYTES && !p->from.pending));
  for (uint32_t i = 1; i < path->count; i++) {
    pass_reshard_step *step = &out->steps[i - 1];
    uint32_t moved;
    reshard_path_cost(p, path, i, &step->cost);
    step->kind = reshard_kind(p, &path->at[i - 1], &path->at[i], &step->cost, &moved);
    step->flat = path->flat[i];
    reshard_spec_of(p, &path->at[i], &step->to);
    ir_spec on;
    ir_spec_init(&on, 1);
    for (uint32_t k = 0; k < p->digit_count; k++)
      if (moved >> k & 1) ir_spec_push(&on, 0, p->digits[k]);
    ir_spec_canonical(&on, &step->on);
  }
  sum_of(p, path, &out->cost);
  out->cost.recv = reshard_path_received(p, path);
  if (!out->count) { /* the part as it is */
    reshard_hop(p, &p->from, &p->from, &out->cost);
    out->cost.peak /= 2;
  }
  reshard_bound(p, &p->from, &bound);
  out->bound = bound.recv;
}

ir_status pass_reshard(const ir_mem *mem, const pass_reshard_ask *ask, pass_reshard_plan *out,
                       ir_error *error) {
  reshard_problem problems[2];
  reshard_path paths[2];
  pass_reshard_cost costs[2];
  int best = -1;
  for (int i = 0; i < 2; i++) {
    reshard_problem *p = &problems[i];
    if (!reshard_problem_make(mem, ask, i == 1, p, error)) return error->status;
    p->below = best < 0 ? NULL : &costs[best];
    ir_status status = reshard_search(p, &paths[i], error);
    if (status != IR_OK) return status;
    if (paths[i].count) {
      sum_of(p, &paths[i], &costs[i]);
      best = i;
    }
    if (p->ordered || (i == 0 && paths[0].count == 2 && p->mode == PASS_RESHARD_BYTES && !p->from.pending))
      break;
  }
  if (best < 0) {
    pass_reshard_cost direct;
    reshard_hop(&problems[0], &problems[0].from, &problems[0].to, &direct);
    return ir_fail(error, IR_ERR_INVALID,
                   "reshard: no way keeps within %llu bytes on each device; one exchange needs %llu",
                   (unsigned long long)ask->limit, (unsigned long long)direct.peak);
  }
  ir_status status = reshard_even_out(&problems[best], &paths[best], error);
  if (status != IR_OK) return status;
  reshard_tidy(&problems[best], &paths[best]);
  write_plan(&problems[best], &paths[best], out);
  return IR_OK;
}
