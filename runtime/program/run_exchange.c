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

/* Waits for the transfer of a step, and counts how long it was in progress beside other steps. */
static ir_status finish(const rt_run_context *r, rt_transfer *t) {
  rt_endpoint *endpoint = r->endpoint;
  ir_error own = {0};
  int64_t before = ir_now_ns();
  ir_status status = endpoint->engine->wait(endpoint, t, &own);
  t->routes = NULL;
  if (status) return ir_fail(r->error, status, "graph @%s: %s", rt_program_name(r->program), own.text);
  int64_t from = rt_counts_from(endpoint, t), comm = t->arrived_ns - from;
  int64_t beside = before > from ? before - from : 0;
  rt_traffic *traffic = &endpoint->traffic[t->exchange];
  traffic->comm_ns += comm > 0 ? comm : 0;
  traffic->hidden_ns += comm <= 0 ? 0 : comm < beside ? comm : beside;
  return r->program->remote ? rt_staged_deliver(r, t->step, &r->run->staged[t - endpoint->transfers]) : IR_OK;
}

/* Does anybody read the device's part, itself included? */
static bool is_read(const rt_route *route, uint32_t device) {
  bool own = false;
  for (uint32_t i = 0; i < route->receive_count; i++) own |= route->receives[i].peer == device;
  return own || route->send_count;
}

static const rt_pieces *pieces_of(const rt_endpoint *endpoint, uint32_t step) {
  return endpoint->pieces ? &endpoint->pieces[endpoint->exchange_of[step]] : NULL;
}
static uint32_t piece_count(const rt_endpoint *endpoint, uint32_t step) {
  const rt_pieces *pieces = pieces_of(endpoint, step);
  return pieces && pieces->count > 1 ? pieces->count : 1;
}

/* On a device of a mesh: the piece, or, of one, all. making: the step that makes the operand, or UINT32_MAX.
 */
static ir_status start(const rt_run_context *r, const rt_step *s, const char *kind, uint32_t piece,
                       uint32_t making) {
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
                     .kind = kind,
                     .piece = piece,
                     .pieces = piece_count(endpoint, s->number),
                     .making = making};
  if (endpoint->words) t->kind = endpoint->words[t->exchange];
  const rt_routes *routes =
      t->pieces > 1 ? &pieces_of(endpoint, s->number)->routes[piece] : &endpoint->routes[t->exchange];
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

ir_status rt_run_wait(const rt_run_context *r, const rt_step *s) {
  uint32_t exchange = (uint32_t)r->program->plan.steps[s->number].attributes;
  ir_status status = IR_OK;
  for (uint64_t i = 1; r->endpoint && i <= RT_TRANSFERS && !status; i++) { /* in their order */
    rt_transfer *t = &r->endpoint->transfers[(r->endpoint->started + i) % RT_TRANSFERS];
    if (t->routes && t->step == exchange) status = finish(r, t);
  }
  return status;
}

size_t rt_exchange_bytes(const rt_program *p, uint32_t step) {
  return ir_dtypes[p->plan.slots[p->plan.step_slots[p->plan.steps[step].slots]].dtype].bytes;
}

static const char *kind_of(const rt_program *p, uint32_t step) {
  return p->plan.names + p->plan.steps[step].kernel;
}

ir_status rt_run_exchange(const rt_run_context *r, const rt_step *s) {
  const char *kind = kind_of(r->program, s->number);
  rt_endpoint *endpoint = r->endpoint;
  ir_status status = IR_OK;
  if (!endpoint) return copy_box(r, s, kind);
  for (uint32_t i = endpoint->begun; i < piece_count(endpoint, s->number) && !status; i++)
    status = start(r, s, kind, i, UINT32_MAX);
  endpoint->begun = 0;
  return status;
}

/* kernels that send */

bool rt_sends_pieces(const rt_run_context *r, const rt_step *s) {
  const rt_program *p = r->program;
  uint32_t exchange = p->sends[s->number];
  if (exchange == UINT32_MAX || piece_count(r->endpoint, exchange) < 2) return false;
  return p->sources[p->plan.steps[exchange].slots] >> RT_SOURCE_SHIFT == IR_SLOT_TEMP;
}

ir_status rt_run_sender(const rt_run_context *r, const rt_step *s, int64_t *word) {
  const rt_program *p = r->program;
  uint32_t exchange = p->sends[s->number], count = piece_count(r->endpoint, exchange);
  const rt_pieces *pieces = pieces_of(r->endpoint, exchange);
  const ir_box *own = &rt_route_of(&pieces->routes[0], r->endpoint->device)->own;
  rt_step as = {.number = exchange, .sources = p->sources + p->plan.steps[exchange].slots};
  cg_blocks blocks = rt_blocks_of(p, s->number);
  int64_t done = 0, all = cg_block_count(blocks), line = 1;
  uint8_t *scratch = s->scratch_each ? r->run->block.base + s->scratch : NULL;
  ir_status status = IR_OK;
  for (uint32_t k = pieces->axis + 1; k < own->rank; k++) line *= own->hi[k] - own->lo[k];
  for (uint32_t i = 0; i < s->params; i++) r->buffers[i] = rt_address(r->bases, s->sources[i]);
  r->buffers[s->params] = word;
  for (uint32_t i = 0; i < count && !status; i++) {
    int64_t lo, hi;
    rt_piece_interval(own, pieces->axis, i, count, &lo, &hi);
    int64_t end = ((hi - own->lo[pieces->axis]) * line + blocks.elements - 1) / blocks.elements;
    if (end > all || i + 1 == count) end = all;
    if (end > done) rt_launch_blocks(p, s, r->buffers, scratch, r->pace, blocks, done, end);
    if (end > done) done = end;
    if (*word || (s->grain && rt_pace_ended(r->pace))) return IR_OK; /* the caller says so */
    status = start(r, &as, kind_of(p, exchange), i, s->number);
  }
  r->endpoint->begun = count;
  return status;
}
