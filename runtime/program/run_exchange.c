/* Steps that exchange boxes of distributed arrays with other devices. */
#include "ir/timer.h"
#include "runtime/context.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/route.h"
#include "runtime/program/run.h"
#include "runtime/program/staged.h"

#include <string.h>

/* The end of an axis that is beyond 64 bits, or not known, is INT64_MIN: the box is not sound. */
static ir_box box_of(const rt_program *p, const int64_t *values, uint32_t slot, uint64_t first) {
  const rt_plan_slot *s = &p->plan.slots[slot];
  ir_box box = {.rank = s->rank};
  for (uint32_t k = 0; k < s->rank; k++) {
    int64_t lo = values[p->plan.dims[first + k]], size = values[p->plan.dims[s->dims + k]], hi;
    bool known = lo != RT_NO_VALUE && size >= 0 && !__builtin_add_overflow(lo, size, &hi);
    box.lo[k] = lo;
    box.hi[k] = known ? hi : INT64_MIN;
  }
  return box;
}

void rt_exchange_boxes(const rt_program *p, const int64_t *values, uint32_t step, ir_box *needed,
                       ir_box *own) {
  const rt_plan_step *s = &p->plan.steps[step];
  const uint32_t *slots = p->plan.step_slots + s->slots;
  *needed = box_of(p, values, slots[0], s->attributes);
  *own = box_of(p, values, slots[1], s->attributes + needed->rank);
}

/* Are the ends of all axes known, and is the number of elements that of the sizes? */
static bool is_sound(const ir_box *box, int64_t elements) {
  int64_t count = 1;
  bool some = true;
  for (uint32_t k = 0; k < box->rank; k++) {
    if (box->hi[k] < box->lo[k]) return false;
    some &= box->hi[k] > box->lo[k];
  }
  for (uint32_t k = 0; k < box->rank && some; k++)
    if (__builtin_mul_overflow(count, box->hi[k] - box->lo[k], &count)) return false;
  return elements == (some ? count : 0);
}

bool rt_exchange_fits(const rt_program *p, const int64_t *values, uint32_t step) {
  const uint32_t *slots = p->plan.step_slots + p->plan.steps[step].slots;
  ir_box needed, own;
  rt_exchange_boxes(p, values, step, &needed, &own);
  return is_sound(&needed, values[p->plan.slots[slots[0]].elements]) &&
         is_sound(&own, values[p->plan.slots[slots[1]].elements]);
}

/* On one device alone: the box lies in its own part. */
static ir_status copy_box(const rt_run_context *r, const rt_step *s, const char *kind) {
  const rt_program *p = r->program;
  ir_box needed, own, remainder[2 * IR_MAX_RANK];
  rt_exchange_boxes(p, r->frame->values, s->number, &needed, &own);
  if (rt_box_subtract(&needed, &own, remainder))
    return ir_fail(
        r->error, IR_ERR_INVALID,
        "graph @%s: exchange %s: no device holds all of what is asked for, and this one runs alone; "
        "run the program on the mesh that it was made for",
        rt_program_name(p), kind);
  size_t bytes = rt_exchange_bytes(p, s->number);
  if (p->remote) {
    rt_staged *staged = rt_staged_fetch(r, s, 0, true);
    if (!staged) return r->error->status;
    rt_box_copy(&needed, bytes, &own, staged->part, &needed, staged->box);
    return rt_staged_deliver(r, s->number, staged);
  }
  rt_box_copy(&needed, bytes, &own, rt_address(r->bases, s->sources[1]), &needed,
              rt_address(r->bases, s->sources[0]));
  return IR_OK;
}

/* A transfer of a step is done, or has failed. Counts how long it was in progress beside other steps, until
 * somebody waited for it. */
static ir_status end(const rt_run_context *r, rt_transfer *t, int64_t before, ir_status status,
                     const ir_error *why) {
  rt_endpoint *endpoint = r->endpoint;
  t->routes = NULL;
  if (status) return ir_fail(r->error, status, "graph @%s: %s", rt_program_name(r->program), why->text);
  int64_t from = rt_counts_from(endpoint, t), comm = t->arrived_ns - from;
  int64_t beside = before > from ? before - from : 0;
  rt_traffic *traffic = &endpoint->traffic[t->exchange];
  traffic->comm_ns += comm > 0 ? comm : 0;
  traffic->hidden_ns += comm <= 0 ? 0 : comm < beside ? comm : beside;
  return r->program->remote ? rt_staged_deliver(r, t->step, &r->run->staged[t - endpoint->transfers]) : IR_OK;
}

static ir_status finish(const rt_run_context *r, rt_transfer *t) {
  ir_error own = {0};
  int64_t before = ir_now_ns();
  ir_status status = r->endpoint->engine->wait(r->endpoint, t, &own);
  return end(r, t, before, status, &own);
}

/* Does anybody read the device's part, itself included? */
static bool is_read(const rt_route *route, uint32_t device) {
  bool own = false;
  for (uint32_t i = 0; i < route->receive_count; i++) own |= route->receives[i].peer == device;
  return own || route->send_count;
}

static const char *kind_of(const rt_program *p, uint32_t step) {
  return p->plan.names + p->plan.steps[step].kernel;
}

ir_status rt_exchange_start(const rt_run_context *r, const rt_step *s, uint32_t piece) {
  const rt_program *p = r->program;
  rt_endpoint *endpoint = r->endpoint;
  uint32_t number = ++endpoint->started % RT_TRANSFERS;
  rt_transfer *t = &endpoint->transfers[number];
  ir_error own = {0};
  ir_status status = t->routes ? finish(r, t) : IR_OK;
  if (status) return status;
  *t = (rt_transfer){.part = rt_address(r->bases, s->sources[1]),
                     .box = rt_address(r->bases, s->sources[0]),
                     .bytes = rt_exchange_bytes(p, s->number),
                     .step = s->number,
                     .exchange = endpoint->exchange_of[s->number],
                     .kind = kind_of(p, s->number),
                     .piece = piece,
                     .pieces = rt_piece_count(endpoint, s->number)};
  if (endpoint->words) t->kind = endpoint->words[t->exchange];
  const rt_routes *routes =
      t->pieces > 1 ? &rt_pieces_of(endpoint, s->number)->routes[piece] : &endpoint->routes[t->exchange];
  if (p->remote) {
    rt_staged *staged =
        rt_staged_fetch(r, s, number, is_read(rt_route_of(routes, endpoint->device), endpoint->device));
    if (!staged) return r->error->status;
    t->part = staged->part;
    t->box = staged->box;
  }
  t->routes = routes;
  status = endpoint->engine->start(endpoint, t, &own);
  if (status) t->routes = NULL;
  return status ? ir_fail(r->error, status, "graph @%s: %s", rt_program_name(p), own.text) : IR_OK;
}

ir_status rt_exchange_finish(const rt_run_context *r, uint32_t exchange, uint32_t pieces) {
  rt_endpoint *endpoint = r->endpoint;
  ir_status status = IR_OK;
  bool all = pieces >= rt_piece_count(endpoint, exchange);
  for (uint64_t i = 1; i <= RT_TRANSFERS && !status; i++) { /* in their order */
    rt_transfer *t = &endpoint->transfers[(endpoint->started + i) % RT_TRANSFERS];
    if (!t->routes || t->step != exchange || t->piece >= pieces) continue;
    if (all || rt_route_of(t->routes, endpoint->device)->receive_count) status = finish(r, t);
  }
  return status;
}

ir_status rt_exchange_look(const rt_run_context *r, uint32_t exchange, uint32_t piece, bool *there) {
  rt_endpoint *endpoint = r->endpoint;
  *there = true;
  for (uint32_t i = 0; i < RT_TRANSFERS; i++) {
    rt_transfer *t = &endpoint->transfers[i];
    ir_error own = {0};
    if (!t->routes || t->step != exchange || t->piece != piece) continue;
    ir_status status = endpoint->engine->test(endpoint, t, there, &own);
    return status || *there ? end(r, t, ir_now_ns(), status, &own) : IR_OK;
  }
  return IR_OK;
}

ir_status rt_run_wait(const rt_run_context *r, const rt_step *s) {
  uint32_t exchange = (uint32_t)r->program->plan.steps[s->number].attributes;
  return !r->endpoint || rt_takes_over(r, s->number) ? IR_OK : rt_exchange_finish(r, exchange, RT_PIECES);
}

size_t rt_exchange_bytes(const rt_program *p, uint32_t step) {
  return ir_dtypes[p->plan.slots[p->plan.step_slots[p->plan.steps[step].slots]].dtype].bytes;
}

ir_status rt_run_exchange(const rt_run_context *r, const rt_step *s) {
  rt_endpoint *endpoint = r->endpoint;
  ir_status status = IR_OK;
  if (!endpoint) return copy_box(r, s, kind_of(r->program, s->number));
  for (uint32_t i = endpoint->begun; i < rt_piece_count(endpoint, s->number) && !status; i++)
    status = rt_exchange_start(r, s, i);
  endpoint->begun = 0;
  return status;
}
