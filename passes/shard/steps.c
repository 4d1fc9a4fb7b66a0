/* From one division of a value to another, in the steps that passes/reshard plans. */
#include "impl.h"
#include "ir/mesh/link.h"

#include <string.h>

enum {
  USUAL = 4096,        /* elements of a dimension of any size, that all devices divide */
  WORK = 1 << 24,      /* of a plan, over the devices: as the planner by itself on one */
  LEAST_WORK = 1 << 12 /* one exchange of uneven parts on 4096 devices: as a graph has hundreds of plans */
};

/* A size to plan for: the size, or one that a variable may have. */
static int64_t planned_size(shard_state *s, ir_ref dim) {
  int64_t size = (int64_t)s->mesh->device_count * USUAL;
  if (ir_is_const(s->g, dim, &size)) return size;
  ir_bounds b = ir_bounds_of(s->g, dim);
  return size < b.lo ? b.lo : size > b.hi ? b.hi : size;
}

bool shard_mesh_is_calibrated(const ir_mesh *mesh) {
  bool known = true, any = false; /* along an axis of one device nothing moves */
  for (uint32_t i = 0; i < mesh->axis_count; i++) {
    if (mesh->axes[i].size == 1) continue;
    known &= mesh->axes[i].latency > 0 && mesh->axes[i].bandwidth > 0;
    any = true;
  }
  return known && any;
}

/* Where the planner has no digits for both specs: one exchange. */
static void one_exchange(const ir_spec *to, pass_reshard_plan *out) {
  *out = (pass_reshard_plan){.count = 1};
  out->steps[0] = (pass_reshard_step){.kind = PASS_RESHARD_EXCHANGE, .to = *to};
  ir_spec_init(&out->steps[0].on, 1);
}

/* A plan that was made, and what for. */
struct shard_planned {
  int64_t shape[IR_MAX_RANK];
  ir_spec from, to;
  uint64_t item;
  bool at_once;
  pass_reshard_plan plan;
};
enum { MOST_PLANS = 128 /* that are kept: of 35 KB each; graphs of alike layers have few */ };

static const pass_reshard_plan *planned(const shard_state *s, const pass_reshard_ask *ask) {
  for (size_t i = 0; i < s->planned_count; i++) {
    const struct shard_planned *p = &s->planned[i];
    if (p->item == (uint64_t)ask->item && p->at_once == ask->at_once && ir_spec_equal(&p->from, ask->from) &&
        ir_spec_equal(&p->to, ask->to) && !memcmp(p->shape, ask->shape, ask->from->rank * sizeof *ask->shape))
      return &p->plan;
  }
  return NULL;
}

static bool keep(shard_state *s, const pass_reshard_ask *ask, const pass_reshard_plan *plan) {
  if (s->planned_count == MOST_PLANS) return true;
  if (!IR_RESERVE(s->g->mem, s->planned, s->planned_cap, s->planned_count + 1))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
  struct shard_planned *p = &s->planned[s->planned_count++];
  *p = (struct shard_planned){.from = *ask->from,
                              .to = *ask->to,
                              .item = (uint64_t)ask->item,
                              .at_once = ask->at_once,
                              .plan = *plan};
  memcpy(p->shape, ask->shape, ask->from->rank * sizeof *ask->shape);
  return true;
}

void shard_plans_free(shard_state *s) { ir_free(s->g->mem, s->planned, s->planned_cap * sizeof *s->planned); }

static bool plan(shard_state *s, ir_dtype dtype, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                 pass_reshard_plan *out) {
  int64_t shape[IR_MAX_RANK];
  for (uint32_t d = 0; d < from->rank; d++) shape[d] = planned_size(s, dims[d]);
  bool rounds = ir_is_float(dtype) && (from->joined_by == IR_OP_ADD || from->joined_by == IR_OP_MUL);
  pass_reshard_ask ask = {.mesh = s->mesh,
                          .shape = shape,
                          .item = ir_dtypes[dtype].bytes,
                          .from = from,
                          .to = to,
                          .at_once = rounds,
                          .work = s->mesh->device_count < WORK / LEAST_WORK ? WORK / s->mesh->device_count
                                                                            : LEAST_WORK,
                          .mode = shard_mesh_is_calibrated(s->mesh) ? PASS_RESHARD_TIME : PASS_RESHARD_BYTES};
  const pass_reshard_plan *known = planned(s, &ask);
  if (known) return *out = *known, true;
  ir_status status = pass_reshard(s->g->mem, &ask, out, s->g->error);
  if (status != IR_OK && status != IR_ERR_UNSUPPORTED) return false;
  if (status != IR_OK) ir_error_clear(s->g->error), one_exchange(to, out);
  return keep(s, &ask, out);
}

static bool note(shard_state *s, const pass_reshard_step *step, const ir_spec *from, ir_ref exchange) {
  shard_program *p = s->program;
  if (!IR_RESERVE(p->mem, p->collectives, p->collective_cap, p->collective_count + 1))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
  p->collectives[p->collective_count++] =
      (shard_collective){p->note_count, step->kind, *from, step->to, step->on, step->cost, exchange, true};
  return true;
}

/* A row for a step that is one exchange, which the planner does not know. */
bool shard_note_exchange(shard_state *s, const ir_spec *from, const ir_spec *to, ir_ref exchange) {
  shard_program *p = s->program;
  if (!IR_RESERVE(p->mem, p->collectives, p->collective_cap, p->collective_count + 1))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
  shard_collective *c = &p->collectives[p->collective_count++];
  *c = (shard_collective){.note = p->note_count, .kind = PASS_RESHARD_EXCHANGE, .from = *from, .to = *to};
  c->exchange = exchange;
  ir_spec_init(&c->on, 1);
  for (uint32_t d = 0; d < from->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(from, d, &count);
    for (uint32_t i = 0; i < count; i++) ir_spec_push(&c->on, 0, axes[i]);
  }
  return true;
}

/* What is pending in `to`, but not in `from`, begins on each device by itself. */
static void without_begun(const ir_spec *from, const ir_spec *to, ir_spec *out) {
  shard_pending p;
  *out = *to;
  shard_sort_pending(from, to, &p);
  ir_spec_clear(out, IR_PLACE_PENDING);
  for (uint32_t i = 0; i < p.kept.count; i++) ir_spec_add(out, IR_PLACE_PENDING, p.kept.axes[i]);
  out->joined_by = p.kept.count ? from->joined_by : IR_OP_ADD;
}

/* Of a step as a round; a flat all_reduce is two, of as many bytes. */
static void add_rounds(const shard_state *s, const pass_reshard_step *step, shard_rounds *out) {
  uint32_t axes, rounds = step->flat ? 2 : 1;
  const ir_subaxis *on = ir_spec_axes(&step->on, 0, &axes);
  double flight = 0;
  if (!step->cost.time) return;
  for (uint32_t i = 0; i < axes; i++) {
    double own = ir_link_make(s->mesh->axes[on[i].axis].latency, 0).flight;
    if (own > flight) flight = own;
  }
  uint64_t flies = (uint64_t)(flight * 1e12), all = rounds * flies, time = step->cost.time;
  for (uint32_t i = 0; i < rounds; i++) {
    uint32_t at = out->count < SHARD_ROUNDS ? out->count++ : SHARD_ROUNDS - 1;
    out->flight[at] += flies;
    out->passes[at] += time > all ? (time - all) / rounds : 0;
  }
  out->time += time;
}

bool shard_move_rounds(shard_state *s, ir_dtype dtype, const ir_ref *dims, const ir_spec *from,
                       const ir_spec *to, shard_rounds *out) {
  pass_reshard_plan steps;
  ir_spec end;
  *out = (shard_rounds){0};
  without_begun(from, to, &end);
  if (!plan(s, dtype, dims, from, &end, &steps)) return false;
  for (uint32_t i = 0; i < steps.count; i++) add_rounds(s, &steps.steps[i], out);
  return true;
}

ir_ref shard_move(shard_state *s, ir_ref x, const ir_ref *dims, const ir_spec *from, const ir_spec *to,
                  ir_ref *made) {
  pass_reshard_plan steps;
  ir_spec at = *from, end;
  *made = 0;
  without_begun(from, to, &end);
  if (!plan(s, ir_dtype_of(s->g, x), dims, from, &end, &steps)) return 0;
  for (uint32_t i = 0; i < steps.count && x; i++) {
    const pass_reshard_step *step = &steps.steps[i];
    ir_ref exchange;
    if (step->flat) x = shard_flat_reduce(s, x, dims, &at, &step->to, &exchange);
    else x = shard_step(s, x, dims, &at, &step->to, pass_reshard_names[step->kind], &exchange);
    if (!x || !note(s, step, &at, exchange)) return 0;
    if (exchange) *made = exchange;
    at = step->to;
  }
  ir_ref none;
  return x ? shard_step(s, x, dims, &at, to, "", &none) : 0;
}
