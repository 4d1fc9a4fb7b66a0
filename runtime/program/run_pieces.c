/* Kernels whose operand comes, or whose result goes, in pieces: they run over the blocks of iterations of one
 * piece after the other (exchange_pieces.c). */
#include "runtime/context.h"
#include "runtime/mesh/pieces.h"
#include "runtime/mesh/route.h"
#include "runtime/program/run.h"

#include <string.h>

enum { TIMES_LEAST = 4 }; /* because rt_step.least_ns counts 1,024 of work for what took 150 to 250 */
enum { DONE = UINT8_MAX };

/* A kernel that runs so. */
typedef struct runner {
  const rt_run_context *r;
  const rt_step *s;
  uint8_t *scratch;
  int64_t *word;
  cg_blocks blocks;               /* in which it runs */
  uint32_t exchange;              /* whose result it reads; UINT32_MAX: none in pieces */
  uint32_t there;                 /* pieces of it that have arrived */
  int64_t all, ran;               /* blocks */
  uint8_t needs[CG_MOST_READING]; /* by block: how many pieces it waits for; DONE: it has run */
} runner;

/* The exchange in progress whose result comes in pieces while the kernel runs; UINT32_MAX: none. */
static uint32_t receiving(const rt_run_context *r, uint32_t step) {
  uint32_t exchange = r->program->receives[step];
  bool some = exchange != UINT32_MAX && rt_piece_count(r->endpoint, exchange) > 1 && !r->watch;
  return some ? exchange : UINT32_MAX;
}

static uint32_t sending(const rt_run_context *r, uint32_t step) {
  const rt_program *p = r->program;
  uint32_t exchange = p->sends[step];
  if (exchange == UINT32_MAX || rt_piece_count(r->endpoint, exchange) < 2) return UINT32_MAX;
  bool own = p->sources[p->plan.steps[exchange].slots] >> RT_SOURCE_SHIFT == IR_SLOT_TEMP;
  return own ? exchange : UINT32_MAX;
}

bool rt_takes_over(const rt_run_context *r, uint32_t wait) {
  uint32_t kernel = r->program->receives[wait];
  return kernel != UINT32_MAX && !r->program->is_hoisted[kernel] && receiving(r, kernel) != UINT32_MAX;
}

bool rt_has_pieces(const rt_run_context *r, const rt_step *s) {
  return sending(r, s->number) != UINT32_MAX || receiving(r, s->number) != UINT32_MAX;
}

/* waiting */

static ir_status wait_for(runner *u, uint32_t pieces) {
  u->there = pieces;
  return rt_exchange_finish(u->r, u->exchange, pieces);
}

/* Those that have arrived by themselves count, too: the blocks of several pieces are one launch then. */
static ir_status look(runner *u, uint32_t count) {
  ir_status status = IR_OK;
  for (bool there = true; u->there < count && there && !status; u->there += there)
    status = rt_exchange_look(u->r, u->exchange, u->there, &there);
  return status;
}

/* Does it pay? What runs behind the last piece takes a launch for each run of blocks; waiting for all, the
 * whole kernel. */
static bool pays(const runner *u, uint32_t last) {
  int64_t late = 0, runs = 0, takes = u->s->least_ns * TIMES_LEAST;
  for (int64_t b = 0; b < u->all; b++) {
    if (u->needs[b] != last) continue;
    late++;
    runs += b == 0 || u->needs[b - 1] != last;
  }
  return runs * u->r->endpoint->launch_ns <= takes - takes * late / u->all;
}

/* running */

static void launch(runner *u, int64_t from, int64_t to) {
  const rt_run_context *r = u->r;
  rt_launch_blocks(r->program, u->s, r->buffers, u->scratch, r->pace, u->blocks, from, to);
  u->ran += to - from;
  r->endpoint->share = (double)u->ran / (double)u->all;
}

static bool has_ended(const runner *u) { return *u->word || (u->s->grain && rt_pace_ended(u->r->pace)); }

/* Runs the blocks [from, to) as soon as what they read is there, unless the run ends before. */
static ir_status run_blocks(runner *u, int64_t from, int64_t to) {
  uint32_t count = u->exchange == UINT32_MAX ? 0 : rt_piece_count(u->r->endpoint, u->exchange);
  if (!count) {
    if (from < to) launch(u, from, to);
    return IR_OK;
  }
  while (!has_ended(u)) {
    uint8_t least = DONE;
    for (int64_t b = from; b < to; b++)
      if (u->needs[b] < least) least = u->needs[b];
    if (least == DONE) break;
    ir_status status = least > u->there ? wait_for(u, least) : IR_OK;
    if (!status) status = look(u, count);
    if (status) return status;
    for (int64_t b = from, end; b < to; b = end) {
      bool ready = u->needs[b] <= u->there;
      for (end = b; end < to && (u->needs[end] <= u->there) == ready; end++) continue;
      if (ready && !has_ended(u)) launch(u, b, end);
      if (ready) memset(u->needs + b, DONE, (size_t)(end - b));
    }
  }
  return IR_OK;
}

/* Runs it as a sender: each piece of `exchange` starts when its blocks have run. */
static ir_status run_sending(runner *u, uint32_t exchange) {
  const rt_run_context *r = u->r;
  const rt_program *p = r->program;
  uint32_t count = rt_piece_count(r->endpoint, exchange);
  const rt_pieces *pieces = rt_pieces_of(r->endpoint, exchange);
  const ir_box *own = &rt_route_of(&pieces->routes[0], r->endpoint->device)->own;
  rt_step as = {.number = exchange, .sources = p->sources + p->plan.steps[exchange].slots};
  int64_t done = 0, line = 1, elements = u->blocks.elements;
  ir_status status = IR_OK;
  for (uint32_t k = pieces->axis + 1; k < own->rank; k++) line *= own->hi[k] - own->lo[k];
  for (uint32_t i = 0; i < count && !status; i++) {
    int64_t lo, hi;
    rt_piece_interval(own, pieces->axis, i, count, &lo, &hi);
    int64_t end = ((hi - own->lo[pieces->axis]) * line + elements - 1) / elements;
    if (end > u->all || i + 1 == count) end = u->all;
    status = run_blocks(u, done, end);
    if (end > done) done = end;
    if (status || has_ended(u)) return status; /* the caller says so */
    status = rt_exchange_start(r, &as, i);
  }
  r->endpoint->begun = count;
  return status;
}

/* Does the kernel write where what is sent lies? Results may be what was given. */
static bool writes_operand(const runner *u) {
  const rt_run_context *r = u->r;
  const rt_program *p = r->program;
  const rt_plan_step *exchange = &p->plan.steps[u->exchange], *s = &p->plan.steps[u->s->number];
  uintptr_t from = (uintptr_t)rt_address(r->bases, p->sources[exchange->slots + 1]);
  uintptr_t end = from + r->frame->bytes[p->plan.step_slots[exchange->slots + 1]];
  for (uint32_t k = 0; k < s->written; k++) {
    uintptr_t at = (uintptr_t)r->buffers[k];
    if (at < end && from < at + r->frame->bytes[p->plan.step_slots[s->slots + k]]) return true;
  }
  return false;
}

static bool same_blocks(cg_blocks a, cg_reads b) {
  return a.divisor == b.divisor && a.period == b.period && a.first == b.first;
}

/* The blocks in which it runs: those of what it sends, or else of what it reads. Where these differ all that
 * it reads is waited for first. */
static ir_status choose_blocks(runner *u, bool sends) {
  const rt_run_context *r = u->r;
  const rt_program *p = r->program;
  u->blocks = rt_uses_of(p, u->s->number).stores;
  u->all = cg_block_count(u->blocks);
  if (u->exchange == UINT32_MAX) return IR_OK;
  cg_reads reads = rt_reads_of(p, u->s->number, p->plan.step_slots[p->plan.steps[u->exchange].slots]);
  bool apart = sends && !same_blocks(u->blocks, reads);
  if (!sends) u->blocks = (cg_blocks){1, reads.divisor, reads.period, reads.first};
  u->all = cg_block_count(u->blocks);
  if (apart || writes_operand(u)) {
    ir_status status = wait_for(u, RT_PIECES);
    u->exchange = UINT32_MAX;
    return status;
  }
  rt_pieces_needed(rt_pieces_of(r->endpoint, u->exchange), r->endpoint->device, reads, u->needs);
  uint8_t last = 0;
  for (int64_t b = 0; b < u->all; b++) last = u->needs[b] > last ? u->needs[b] : last;
  if (!pays(u, last)) memset(u->needs, last, (size_t)u->all);
  return IR_OK;
}

ir_status rt_run_in_pieces(const rt_run_context *r, const rt_step *s, int64_t *word) {
  uint32_t sent = sending(r, s->number), read = receiving(r, s->number);
  runner u = {.r = r, .s = s, .word = word, .exchange = read};
  u.scratch = s->scratch_each ? r->run->block.base + s->scratch : NULL;
  for (uint32_t i = 0; i < s->params; i++) r->buffers[i] = rt_address(r->bases, s->sources[i]);
  r->buffers[s->params] = word;
  r->endpoint->running = s->number;
  r->endpoint->share = 0;
  ir_status status = choose_blocks(&u, sent != UINT32_MAX);
  if (!status) status = sent == UINT32_MAX ? run_blocks(&u, 0, u.all) : run_sending(&u, sent);
  if (!status && u.exchange != UINT32_MAX && !has_ended(&u)) status = wait_for(&u, RT_PIECES);
  r->endpoint->running = UINT32_MAX;
  return status;
}
