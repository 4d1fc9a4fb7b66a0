#define _GNU_SOURCE /* sched_getcpu */
/* A device publishes its part and the number of the exchange; who needs some of it copies it from there, and
 * the last reader lets the device go on. A device sleeps on a bell of its own, which is rung by whoever has
 * done something that it may wait for. */
#include "runtime/mesh/threads.h"

#include <sched.h>
#include <string.h>

#include "ir/plan.h"
#include "ir/timer.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/route.h"
#include "runtime/mesh/threads_impl.h"

typedef thread_device device;

static device *device_of(rt_endpoint *endpoint) { return (device *)endpoint; }

static void ring_all(rt_threads *t) {
  for (uint32_t i = 0; i < t->mesh->device_count; i++) rt_bell_ring(&t->devices[i].bell);
}

/* failures */

static void cancel(rt_endpoint *endpoint, const ir_error *why) {
  device *d = device_of(endpoint);
  rt_threads *t = d->all;
  if (why) {
    pthread_mutex_lock(&t->lock);
    if (!atomic_load(&t->cancelled)) {
      t->failure = *why;
      t->failed = endpoint->device;
      atomic_store(&t->cancelled, true);
    }
    pthread_mutex_unlock(&t->lock);
  } else {
    atomic_store(&d->ended, true);
  }
  ring_all(t);
  while (why && atomic_load(&d->pins)) sched_yield();
}

/* Fails, since another device has: notes what this one waited for, unless a device is known that waited for
 * the one that failed. */
static ir_status fail_cancelled(device *d, const rt_transfer *transfer, uint32_t missing, ir_error *error) {
  rt_threads *t = d->all;
  pthread_mutex_lock(&t->lock);
  if (!t->waited || (t->missing != t->failed && missing == t->failed)) {
    t->waited = true;
    t->waiting = d->endpoint.device;
    t->missing = missing;
    t->waiting_number = transfer->number;
    strncpy(t->waiting_kind, transfer->kind, sizeof t->waiting_kind - 1);
  }
  pthread_mutex_unlock(&t->lock);
  return ir_fail(error, IR_ERR_DEVICE, "another device has failed");
}

static ir_status fail_apart(const device *d, const rt_transfer *transfer, const device *other,
                            ir_error *error) {
  char text[RT_DEVICE_TEXT];
  return ir_fail(
      error, IR_ERR_INVALID,
      "exchange %llu (%s): device %s has %s; what decides about exchanges must be the same on all devices",
      (unsigned long long)transfer->number, transfer->kind,
      rt_device_text(d->endpoint.mesh, other->endpoint.device, text),
      atomic_load(&other->ended) ? "ended before" : "come to another one");
}

/* the wire */

/* When a message has arrived; *line: the device's link afterwards. */
static int64_t arrival_of(const device *d, const rt_message *m, int64_t sent_ns, ir_line *line) {
  *line = d->line;
  return ir_line_pass(line, ir_link_between(d->all->mesh, m->peer, d->endpoint.device), sent_ns, m->bytes);
}

/* exchanging */

/* What a device publishes: the number of the exchange, and which exchange of the
 * program it is. Who finds the stamp of its own exchange at another device is one of its readers, if it needs
 * some of its part. */
enum { STEP_BITS = 17 };
_Static_assert(IR_MAX_STEPS <= 1 << STEP_BITS, "a stamp has room for any step");
static uint64_t stamp_of(const rt_transfer *transfer) {
  return transfer->number << STEP_BITS | transfer->exchange;
}
static published_part *part_of(device *d, const rt_transfer *transfer) {
  return &d->parts[transfer->number % RT_TRANSFERS];
}

static void copy_message(const rt_transfer *transfer, const rt_message *m, const ir_box *own,
                         const void *part, const ir_box *needed) {
  ir_box piece;
  for (uint32_t i = 0; i < m->count; i++) {
    rt_route_piece(transfer->routes, m->first + i, &piece);
    rt_box_copy(&piece, transfer->bytes, own, part, needed, transfer->box);
  }
}

static size_t bytes_of(const rt_transfer *transfer, const ir_box *box) {
  return rt_box_is_empty(box) ? 0 : (size_t)ir_box_elements(box) * transfer->bytes;
}

/* Copies a small part, so that others may read it later than the device needs its memory. */
static void copy_part(device *d, published_part *own, const rt_transfer *transfer, const rt_route *route) {
  const ir_mem *mem = d->all->mem;
  size_t bytes = route->send_count ? bytes_of(transfer, &route->own) : SIZE_MAX;
  own->part = transfer->part;
  own->copied = false;
  if (bytes > d->all->copied_bytes) return;
  if (bytes > own->copy_room) {
    ir_free(mem, own->copy, own->copy_room);
    own->copy = ir_alloc(mem, bytes);
    own->copy_room = own->copy ? bytes : 0;
  }
  if (!own->copy) return;
  own->part = memcpy(own->copy, transfer->part, bytes);
  own->copied = true;
}

/* Two devices may be on one processor, although there is another one, where that has other work. */
static int note_processor(device *d) {
  int processor = sched_getcpu();
  if (processor != atomic_load_explicit(&d->processor, memory_order_relaxed))
    atomic_store_explicit(&d->processor, processor, memory_order_relaxed);
  return processor;
}
static int processor_of(const device *d, uint32_t other) {
  return atomic_load_explicit(&d->all->devices[other].processor, memory_order_relaxed);
}

static ir_status start(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error) {
  device *d = device_of(endpoint);
  const rt_route *route = rt_route_of(transfer->routes, endpoint->device);
  (void)error;
  transfer->number = d->number + 1;
  for (;;) { /* until nobody reads what the memory of this transfer had before; after a failure nobody begins
              */
    uint64_t rings = rt_bell_rings(&d->bell);
    if (atomic_load(&part_of(d, transfer)->readers) == 0) break;
    if (atomic_load(&d->all->cancelled)) break;
    rt_bell_sleep(&d->bell, rings, 0);
  }
  while (atomic_load(&d->all->cancelled) && atomic_load(&d->pins)) sched_yield();
  note_processor(d);
  transfer->number = ++d->number;
  transfer->started_ns = transfer->arrived_ns = ir_now_ns();
  transfer->received = 0;
  published_part *own = part_of(d, transfer);
  copy_part(d, own, transfer, route);
  own->published_ns = transfer->started_ns;
  atomic_store(&own->readers, route->send_count);
  atomic_store(&own->stamp, stamp_of(transfer));
  for (uint32_t i = 0; i < route->send_count; i++) rt_bell_ring(&d->all->devices[route->sends[i].peer].bell);
  return IR_OK;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* What a device waits for. */
typedef struct want {
  uint32_t missing; /* the device */
  int64_t until_ns; /* when its message arrives; 0: not known */
} want;

/* Takes the message from the device that has published it. False: it arrives later. */
static bool take(device *d, rt_transfer *transfer, const rt_message *m, want *want) {
  rt_threads *t = d->all;
  const rt_route *routes = transfer->routes->of;
  device *from = &t->devices[m->peer];
  published_part *part = part_of(from, transfer);
  if (t->slow) {
    ir_line line;
    int64_t at = arrival_of(d, m, part->published_ns, &line);
    if (ir_now_ns() < at) return want->until_ns = at, false;
    d->line = line;
    transfer->arrived_ns = later(transfer->arrived_ns, at);
  }
  atomic_fetch_add(&from->pins, 1); /* seen by a device that fails, or sees that it has */
  if (!atomic_load(&t->cancelled))
    copy_message(transfer, m, &routes[m->peer].own, part->part, &routes[d->endpoint.device].needed);
  atomic_fetch_sub(&from->pins, 1);
  if (!t->slow) transfer->arrived_ns = ir_now_ns();
  if (atomic_fetch_sub(&part->readers, 1) == 1) rt_bell_ring(&from->bell);
  if (d->endpoint.traffic) {
    d->endpoint.traffic[transfer->exchange].messages++;
    d->endpoint.traffic[transfer->exchange].bytes += m->bytes;
  }
  return true;
}

/* As test; where it is not done, *want is what is missing. */
static ir_status advance(device *d, rt_transfer *transfer, bool *done, want *want, ir_error *error) {
  rt_threads *t = d->all;
  const rt_route *route = rt_route_of(transfer->routes, d->endpoint.device);
  *done = false;
  for (; transfer->received < route->receive_count; transfer->received++) {
    const rt_message *m = &route->receives[transfer->received];
    device *from = &t->devices[m->peer];
    *want = (struct want){.missing = m->peer};
    if (atomic_load(&t->cancelled)) return fail_cancelled(d, transfer, m->peer, error);
    if (from == d) {
      copy_message(transfer, m, &route->own, transfer->part, &route->needed);
      continue;
    }
    bool ended = atomic_load(&from->ended); /* before the next line: it may publish, and then end */
    uint64_t stamp = atomic_load(&part_of(from, transfer)->stamp);
    if (stamp >> STEP_BITS < transfer->number && !ended) return IR_OK;
    if (stamp != stamp_of(transfer)) return fail_apart(d, transfer, from, error);
    if (!take(d, transfer, m, want)) return IR_OK;
  }
  *done = part_of(d, transfer)->copied || atomic_load(&part_of(d, transfer)->readers) == 0;
  for (uint32_t i = 0; i < route->send_count && !*done; i++) {
    device *to = &t->devices[route->sends[i].peer];
    bool ended = atomic_load(&to->ended);
    *want = (struct want){.missing = route->sends[i].peer};
    if (atomic_load(&t->cancelled)) return fail_cancelled(d, transfer, want->missing, error);
    if (ended && atomic_load(&part_of(to, transfer)->stamp) >> STEP_BITS < transfer->number)
      return fail_apart(d, transfer, to, error);
  }
  if (*done && d->endpoint.traffic)
    d->endpoint.traffic[transfer->exchange].times += rt_is_last_piece(transfer);
  return IR_OK;
}

static ir_status test(rt_endpoint *endpoint, rt_transfer *transfer, bool *done, ir_error *error) {
  want want;
  return advance(device_of(endpoint), transfer, done, &want, error);
}

static ir_status wait_until_done(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error) {
  device *d = device_of(endpoint);
  int64_t first_ns = ir_now_ns(), most_ns = d->all->spins ? RT_YIELD_NS : RT_SHORT_NS;
  for (;;) {
    want want = {0};
    bool done;
    uint64_t rings = rt_bell_rings(&d->bell);
    ir_status status = advance(d, transfer, &done, &want, error);
    if (status) return cancel(endpoint, error), status;
    if (done) return IR_OK;
    if (first_ns && !want.until_ns) {
      bool alone = d->all->spins && note_processor(d) != processor_of(d, want.missing);
      if (rt_bell_look_again(ir_now_ns() - first_ns, alone ? RT_SPIN_NS : 0, most_ns)) continue;
      first_ns = 0;
    }
    rt_bell_sleep(&d->bell, rings, want.until_ns);
  }
}

const rt_engine rt_thread_engine = {start, test, wait_until_done, cancel};
