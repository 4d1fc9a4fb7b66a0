#include "test/lib/simulated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "ir/mesh/link.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/route.h"
#include "runtime/mesh/threads.h"
#include "runtime/program/run_mesh.h"
#include "test/lib/random_graph.h"

enum {
  STACK = 256 << 10
}; /* of a coroutine: steps of a plan take a few KiB; pages not touched cost nothing */

typedef struct packet {
  struct packet *next;
  uint32_t from, to, exchange;
  uint64_t number;
  int64_t due_ns;
  size_t bytes;
  unsigned char data[];
} packet;

typedef enum state { READY, BLOCKED, ENDED } state;

typedef struct device {
  rt_endpoint endpoint; /* first */
  struct world *world;
  ucontext_t context;
  void *stack;
  state state;
  int64_t now_ns; /* its clock */
  ir_line line;
  int64_t busy_ns, compute_ns, comm_ns, exposed_ns;
  uint64_t number;
  uint32_t next_step; /* of the plan: those before it have been counted, */
  double share;       /* and so much of it */
  int64_t *values;    /* of the plan's index expressions, where steps are counted */
  packet *arrived, **last;
  size_t held;           /* bytes in `arrived` */
  uint32_t wants;        /* BLOCKED: the device that it waits for, */
  uint64_t wants_number; /* and its exchange */
  ir_status status;
  ir_error error;
} device;

typedef struct world {
  simulated *s;
  const ir_mesh *mesh;
  ir_status (*work)(void *user, rt_endpoint *endpoint, ir_error *error);
  void *user;
  ucontext_t scheduler;
  device *devices;
  uint32_t *heap, heap_count; /* devices that are READY, the earliest first; any order: as they come */
  packet **flying;            /* any order: messages that have not arrived */
  size_t flying_count, flying_cap;
  bool failed;
} world;

static device *device_of(rt_endpoint *endpoint) { return (device *)endpoint; }

/* ready devices */

/* At the same time, who has sent less: so pieces of one device do not stand in the way of those of others. */
static bool before(const world *w, uint32_t a, uint32_t b) {
  const device *x = &w->devices[w->heap[a]], *y = &w->devices[w->heap[b]];
  if (x->now_ns != y->now_ns) return x->now_ns < y->now_ns;
  return x->number != y->number ? x->number < y->number : w->heap[a] < w->heap[b];
}
static void exchange_places(world *w, uint32_t a, uint32_t b) {
  uint32_t t = w->heap[a];
  w->heap[a] = w->heap[b];
  w->heap[b] = t;
}

static void make_ready(world *w, device *d) {
  uint32_t at = w->heap_count++;
  d->state = READY;
  w->heap[at] = d->endpoint.device;
  for (; at && before(w, at, (at - 1) / 2); at = (at - 1) / 2) exchange_places(w, at, (at - 1) / 2);
}

static device *take_first(world *w) {
  device *first = &w->devices[w->heap[0]];
  w->heap[0] = w->heap[--w->heap_count];
  for (uint32_t at = 0, child; (child = 2 * at + 1) < w->heap_count; at = child) {
    if (child + 1 < w->heap_count && before(w, child + 1, child)) child++;
    if (!before(w, child, at)) break;
    exchange_places(w, at, child);
  }
  return first;
}

static device *take_any(world *w) {
  uint32_t at = (uint32_t)random_between(&w->s->seed, 0, (int64_t)w->heap_count - 1);
  device *d = &w->devices[w->heap[at]];
  w->heap[at] = w->heap[--w->heap_count];
  return d;
}

/* Lets others go first. */
static void yield(device *d) { swapcontext(&d->context, &d->world->scheduler); }

/* the model of steps */

/* Seconds that a kernel or a copy takes. */
static double seconds_of(device *d, uint32_t number) {
  const simulated *s = d->world->s;
  const rt_mesh_program *m = d->world->user;
  const rt_program *p = m->programs[d->endpoint.device];
  const int64_t *vars = m->arguments[d->endpoint.device].vars;
  const rt_plan_step *step = &p->plan.steps[number];
  rt_step_cost cost = {0};
  ir_error error = {0};
  double bytes = 0;
  if (step->kind != IR_STEP_KERNEL && step->kind != IR_STEP_COPY) return 0;
  if (!d->values) {
    d->values = calloc(p->plan.head->values + 1, sizeof *d->values);
    rt_values_evaluate(p->plan.values, p->plan.head->values, vars, d->values);
  }
  for (uint32_t i = 0; i < step->slot_count; i++) {
    const rt_plan_slot *slot = &p->plan.slots[p->plan.step_slots[step->slots + i]];
    bytes += (double)(d->values[slot->elements] * ir_dtypes[slot->dtype].bytes);
  }
  rt_program_step_cost(p, vars, number, &cost, &error);
  double computes = (double)cost.flops / s->operations, moves = bytes / s->bytes;
  return computes > moves ? computes : moves;
}

static void compute(device *d, double seconds) {
  d->now_ns += (int64_t)(seconds * 1e9);
  d->compute_ns += (int64_t)(seconds * 1e9);
}

/* The kernels and copies before this step of the plan, whose loops count once. */
static void count_steps(device *d, uint32_t end) {
  double seconds = 0;
  for (; d->next_step < end && d->world->s->operations > 0; d->next_step++) {
    seconds += seconds_of(d, d->next_step) * (1 - d->share);
    d->share = 0;
  }
  d->next_step = end > d->next_step ? end : d->next_step;
  compute(d, seconds);
}

/* The same until now, within the kernel that runs in parts; false: there is none. */
static bool count_parts(device *d) {
  const rt_endpoint *e = &d->endpoint;
  if (e->running == UINT32_MAX) return false;
  count_steps(d, e->running);
  if (d->next_step > e->running || d->world->s->operations <= 0) return true;
  compute(d, seconds_of(d, e->running) * (e->share - d->share));
  d->share = e->share;
  return true;
}

static uint32_t wait_of(const device *d, uint32_t exchange) {
  const rt_mesh_program *m = d->world->user;
  const rt_plan *plan = &m->programs[d->endpoint.device]->plan;
  uint32_t at = d->next_step;
  while (at < plan->head->steps &&
         (plan->steps[at].kind != IR_STEP_WAIT || plan->steps[at].attributes != exchange))
    at++;
  return at < plan->head->steps ? at : d->next_step;
}

/* messages */

static void arrive(world *w, packet *p) {
  device *to = &w->devices[p->to];
  p->next = NULL;
  *to->last = p;
  to->last = &p->next;
  to->held += p->bytes;
  if (to->held > w->s->most_packets) w->s->most_packets = to->held;
  if (to->state == BLOCKED && to->wants == p->from && to->wants_number == p->number) make_ready(w, to);
}

static void send(world *w, device *d, packet *p) {
  device *to = &w->devices[p->to];
  ir_link link = ir_link_between(w->mesh, p->from, p->to);
  p->due_ns = ir_line_pass(&to->line, link, d->now_ns, (int64_t)p->bytes);
  to->busy_ns += ir_link_ns(link.work + (double)p->bytes * link.byte);
  w->s->messages++;
  w->s->message_bytes += (int64_t)p->bytes;
  if (!w->s->any_order) {
    arrive(w, p);
    return;
  }
  if (w->flying_count == w->flying_cap) {
    w->flying_cap = 2 * w->flying_cap + 64;
    w->flying = realloc(w->flying, w->flying_cap * sizeof *w->flying);
  }
  w->flying[w->flying_count++] = p;
}

static void copy_pieces(const rt_transfer *t, const rt_message *m, const ir_box *from, const void *source,
                        const ir_box *to, void *target, unsigned char *packed, bool packs) {
  ir_box piece;
  for (uint32_t i = 0; i < m->count; i++) {
    rt_route_piece(t->routes, m->first + i, &piece);
    size_t bytes = (size_t)ir_box_elements(&piece) * t->bytes;
    if (!packed) rt_box_copy(&piece, t->bytes, from, source, to, target);
    else if (packs) rt_box_copy(&piece, t->bytes, from, source, &piece, packed);
    else rt_box_copy(&piece, t->bytes, &piece, packed, to, target);
    packed = packed ? packed + bytes : NULL;
  }
}

static ir_status start(rt_endpoint *endpoint, rt_transfer *t, ir_error *error) {
  device *d = device_of(endpoint);
  const rt_route *route = rt_route_of(t->routes, endpoint->device);
  if (!count_parts(d)) count_steps(d, t->step);
  make_ready(d->world, d); /* who is earlier sends first */
  yield(d);
  t->number = ++d->number;
  t->received = 0;
  t->started_ns = t->arrived_ns = d->now_ns;
  for (uint32_t i = 0; i < route->send_count; i++) {
    const rt_message *m = &route->sends[i];
    packet *p = malloc(sizeof *p + (size_t)m->bytes);
    if (!p) return ir_fail(error, IR_ERR_MEMORY, "out of memory");
    *p = (packet){.from = endpoint->device,
                  .to = m->peer,
                  .exchange = t->exchange,
                  .number = t->number,
                  .bytes = (size_t)m->bytes};
    copy_pieces(t, m, &route->own, t->part, NULL, NULL, p->data, true);
    send(d->world, d, p);
  }
  return IR_OK;
}

static packet *take(device *d, uint32_t from, uint64_t number) {
  packet **at = &d->arrived, *found;
  while (*at && ((*at)->from != from || (*at)->number != number)) at = &(*at)->next;
  found = *at;
  if (!found) return NULL;
  if (d->last == &found->next) d->last = at;
  *at = found->next;
  d->held -= found->bytes;
  return found;
}

/* Takes what has arrived; false: *t waits for more. */
static ir_status advance(device *d, rt_transfer *t, bool *done, ir_error *error) {
  const rt_route *route = rt_route_of(t->routes, d->endpoint.device);
  for (*done = false; t->received < route->receive_count; t->received++) {
    const rt_message *m = &route->receives[t->received];
    if (m->peer == d->endpoint.device) {
      copy_pieces(t, m, &route->own, t->part, &route->needed, t->box, NULL, false);
      continue;
    }
    packet *p = take(d, m->peer, t->number);
    d->wants = m->peer;
    d->wants_number = t->number;
    if (!p) return IR_OK;
    bool same = p->exchange == t->exchange && p->bytes == (size_t)m->bytes;
    if (same) copy_pieces(t, m, NULL, NULL, &route->needed, t->box, p->data, false);
    if (p->due_ns > t->arrived_ns) t->arrived_ns = p->due_ns;
    free(p);
    if (!same) return ir_fail(error, IR_ERR_INVALID, "a message of another exchange");
    if (d->endpoint.traffic) {
      d->endpoint.traffic[t->exchange].messages++;
      d->endpoint.traffic[t->exchange].bytes += m->bytes;
    }
  }
  *done = true;
  return IR_OK;
}

/* An exchange that is done has been in progress. */
static void count_exchange(device *d, const rt_transfer *t) {
  int64_t from = rt_counts_from(&d->endpoint, t);
  d->comm_ns += t->arrived_ns > from ? t->arrived_ns - from : 0;
  if (d->endpoint.traffic) d->endpoint.traffic[t->exchange].times += rt_is_last_piece(t);
}

static ir_status test(rt_endpoint *endpoint, rt_transfer *t, bool *done, ir_error *error) {
  device *d = device_of(endpoint);
  count_parts(d);
  ir_status status = advance(d, t, done, error);
  *done &= d->world->s->any_order || t->arrived_ns <= d->now_ns;
  if (*done) count_exchange(d, t);
  return status;
}

static ir_status wait_until_done(rt_endpoint *endpoint, rt_transfer *t, ir_error *error) {
  device *d = device_of(endpoint);
  bool done;
  if (!count_parts(d)) count_steps(d, wait_of(d, t->step));
  for (;;) {
    ir_status status = advance(d, t, &done, error);
    if (status) return status;
    if (done) break;
    if (d->world->failed) return ir_fail(error, IR_ERR_DEVICE, "another device has failed");
    d->state = BLOCKED;
    yield(d);
  }
  count_exchange(d, t);
  if (t->arrived_ns > d->now_ns) {
    d->exposed_ns += t->arrived_ns - d->now_ns;
    d->now_ns = t->arrived_ns;
  }
  return IR_OK;
}

static void cancel(rt_endpoint *endpoint, const ir_error *why) {
  if (why) device_of(endpoint)->world->failed = true;
}

static const rt_engine engine = {start, test, wait_until_done, cancel};

/* running */

static world *running; /* for coroutines, which take no pointers */
static uint32_t entering;

static void enter(void) {
  world *w = running;
  device *d = &w->devices[entering];
  d->status = w->work(w->user, &d->endpoint, &d->error);
  if (!d->status)
    count_steps(d, (uint32_t)((rt_mesh_program *)w->user)->programs[d->endpoint.device]->plan.head->steps);
  if (d->status) w->failed = true;
  d->state = ENDED;
  swapcontext(&d->context, &w->scheduler);
}

/* In a function of its own: getcontext may return twice, which leaves variables of a loop unknown. */
static bool set_up_device(world *w, uint32_t number) {
  device *d = &w->devices[number];
  d->endpoint = (rt_endpoint){.engine = &engine, .mesh = w->mesh, .device = number};
  d->world = w;
  d->last = &d->arrived;
  d->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (d->stack == MAP_FAILED) return d->stack = NULL, false;
  getcontext(&d->context);
  d->context.uc_stack.ss_sp = d->stack;
  d->context.uc_stack.ss_size = STACK;
  makecontext(&d->context, enter, 0);
  make_ready(w, d);
  return true;
}

static bool set_up(world *w) {
  uint32_t count = w->mesh->device_count, i = 0;
  w->devices = calloc(count, sizeof *w->devices);
  w->heap = calloc(count + 1, sizeof *w->heap);
  while (w->devices && w->heap && i < count && set_up_device(w, i)) i++;
  return i == count && w->devices && w->heap;
}

static void deliver_any(world *w) {
  size_t at = (size_t)random_between(&w->s->seed, 0, (int64_t)w->flying_count - 1);
  packet *p = w->flying[at];
  w->flying[at] = w->flying[--w->flying_count];
  arrive(w, p);
}

static void run_all(world *w) {
  while (w->heap_count || w->flying_count) {
    if (w->flying_count && (!w->heap_count || random_between(&w->s->seed, 0, 1))) {
      deliver_any(w);
      continue;
    }
    device *d = w->s->any_order ? take_any(w) : take_first(w);
    running = w;
    entering = d->endpoint.device;
    swapcontext(&w->scheduler, &d->context);
  }
}

/* Devices that wait when nothing moves any more: follows one to the next, up to the first that comes twice.
 */
static void tell_circle(world *w) {
  char text[RT_DEVICE_TEXT];
  uint32_t at = 0, used = 0;
  while (at < w->mesh->device_count && w->devices[at].state != BLOCKED) at++;
  if (at == w->mesh->device_count || w->s->what[0]) return;
  for (uint32_t i = 0; i < 8 && w->devices[at].state == BLOCKED && used + 100 < sizeof w->s->what; i++) {
    used += (uint32_t)snprintf(w->s->what + used, sizeof w->s->what - used,
                               "%sdevice %s waits in its exchange %llu for", i ? ", which is: " : "",
                               rt_device_text(w->mesh, at, text),
                               (unsigned long long)w->devices[at].wants_number);
    at = w->devices[at].wants;
  }
  snprintf(w->s->what + used, sizeof w->s->what - used, " device %u", at);
}

static void count(world *w) {
  simulated *s = w->s;
  for (uint32_t i = 0; i < w->mesh->device_count; i++) {
    device *d = &w->devices[i];
    if (d->now_ns > s->end_ns || !i) {
      s->end_ns = d->now_ns;
      s->compute_ns = d->compute_ns;
      s->comm_ns = d->comm_ns;
      s->exposed_ns = d->exposed_ns;
    }
    if (d->busy_ns > s->link_ns) s->link_ns = d->busy_ns;
    if (d->arrived && !s->what[0] && !w->failed)
      snprintf(s->what, sizeof s->what, "device %u is sent something by device %u that it does not take", i,
               d->arrived->from);
  }
}

static ir_status tear_down(world *w, ir_error *error) {
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < w->mesh->device_count && w->devices; i++) {
    device *d = &w->devices[i];
    if (d->status && !status) status = ir_fail(error, d->status, "device %u: %.800s", i, d->error.text);
    for (packet *next, *p = d->arrived; p; p = next) next = p->next, free(p);
    if (d->stack) munmap(d->stack, STACK);
    free(d->values);
  }
  free(w->devices), free(w->heap), free(w->flying);
  return status;
}

static ir_status run(rt_simulation *simulation, const ir_mesh *mesh,
                     ir_status (*work)(void *user, rt_endpoint *endpoint, ir_error *error), void *user,
                     ir_error *error) {
  simulated *s = (simulated *)simulation;
  world w = {.s = s, .mesh = mesh, .work = work, .user = user};
  s->devices = mesh->device_count;
  s->messages = s->message_bytes = s->end_ns = s->link_ns = 0;
  s->most_packets = 0;
  s->what[0] = '\0';
  ir_status status =
      set_up(&w) ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory for %u devices", mesh->device_count);
  if (!status) {
    run_all(&w);
    count(&w);
    tell_circle(&w);
  }
  ir_status ended = tear_down(&w, error); /* a coroutine that is left holds what its run had */
  if (!status) status = ended;
  return !status && s->what[0] ? ir_fail(error, IR_ERR_INTERNAL, "%s", s->what) : status;
}

void simulated_init(simulated *s) { *s = (simulated){.simulation = {run}}; }
