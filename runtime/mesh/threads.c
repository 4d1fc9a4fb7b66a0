/* A device publishes its part and the number of the exchange; who needs some of it copies it from there, and
 * the last reader lets the device go on. A device sleeps on a bell of its own, which is rung by whoever has
 * done something that it may wait for. */
#include "runtime/mesh/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "ir/plan.h"
#include "ir/timer.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/route.h"
#include "runtime/mesh/team.h"
#include "runtime/system/pool.h"

/* How long a device looks for what it waits for before it sleeps, where each device has a processor: sleeping
 * and waking take about as long (runtime/system/pool.c). */
enum { SPIN_NS = 20000, CACHE_LINE = 64 };

typedef struct device {
  rt_endpoint endpoint; /* first: an endpoint is its device */
  rt_threads *all;
  uint64_t number; /* exchanges that it has started */
  /* of the exchange `published`, for those that read it */
  const void *part;
  int64_t published_ns;
  _Alignas(CACHE_LINE) atomic_uint_fast64_t published;
  atomic_uint readers; /* devices that have not got what they need of the part */
  atomic_uint pins;    /* devices that are reading it */
  atomic_bool ended;   /* it has run to its end */
  pthread_mutex_t lock;
  pthread_cond_t bell;
  uint64_t rings;
} device;

struct rt_threads {
  const ir_mem *mem;
  void *raw; /* the memory that it is in, from its first multiple of CACHE_LINE on */
  const ir_mesh *mesh;
  bool slow;
  int64_t spin_ns;
  rt_team *team;
  rt_device_work work;
  void *user;
  atomic_bool cancelled;
  pthread_mutex_t lock; /* guards the rest */
  ir_error failure;     /* of the device `failed`, the first that failed */
  uint32_t failed;
  bool waited; /* device `waiting` waited, in exchange `number` of that kind, for the device `missing` */
  uint32_t waiting, missing;
  uint64_t waiting_number;
  char waiting_kind[64];
  device devices[];
};

static device *device_of(rt_endpoint *endpoint) { return (device *)endpoint; }

static void ring(device *d) {
  pthread_mutex_lock(&d->lock);
  d->rings++;
  pthread_cond_signal(&d->bell);
  pthread_mutex_unlock(&d->lock);
}

static void ring_all(rt_threads *t) {
  for (uint32_t i = 0; i < t->mesh->device_count; i++) ring(&t->devices[i]);
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
    t->waiting_number = d->number;
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
      (unsigned long long)d->number, transfer->kind,
      rt_device_text(d->endpoint.mesh, other->endpoint.device, text),
      atomic_load(&other->ended) ? "ended before" : "come to another one");
}

/* the wire */

/* Nanoseconds that a message takes. */
static int64_t delay_of(const rt_threads *t, uint32_t from, uint32_t to, int64_t bytes) {
  double latency = 0, bandwidth = 0;
  for (uint32_t a = 0; a < t->mesh->axis_count; a++) {
    const ir_mesh_axis *axis = &t->mesh->axes[a];
    if (ir_mesh_coordinate(t->mesh, from, a) == ir_mesh_coordinate(t->mesh, to, a)) continue;
    if (axis->latency > latency) latency = axis->latency;
    if (axis->bandwidth > 0 && (bandwidth == 0 || axis->bandwidth < bandwidth)) bandwidth = axis->bandwidth;
  }
  double seconds = latency + (bandwidth > 0 ? (double)bytes / bandwidth : 0);
  return seconds < 1e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 4;
}

/* exchanging */

/* What a device publishes: the number of the exchange, and which step it is. Who finds the stamp of its own
 * exchange at another device is one of its readers, if it needs some of its part. */
enum { STEP_BITS = 17 };
_Static_assert(IR_MAX_STEPS <= 1 << STEP_BITS, "a stamp has room for any step");
static uint64_t stamp_of(const device *d, const rt_transfer *transfer) {
  return d->number << STEP_BITS | transfer->step;
}
static uint64_t number_of(const device *other) { return atomic_load(&other->published) >> STEP_BITS; }

static void copy_message(const rt_transfer *transfer, const rt_message *m, const ir_box *own,
                         const void *part, const ir_box *needed) {
  ir_box piece;
  for (uint32_t i = 0; i < m->count; i++) {
    rt_route_piece(transfer->routes, m->first + i, &piece);
    rt_box_copy(&piece, transfer->bytes, own, part, needed, transfer->box);
  }
}

static ir_status start(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error) {
  device *d = device_of(endpoint);
  const rt_route *route = &transfer->routes->of[endpoint->device];
  (void)error;
  d->number++;
  d->part = transfer->part;
  d->published_ns = transfer->received_ns = d->all->slow ? ir_now_ns() : 0;
  transfer->received = 0;
  atomic_store(&d->readers, route->send_count);
  atomic_store(&d->published, stamp_of(d, transfer));
  for (uint32_t i = 0; i < route->send_count; i++) ring(&d->all->devices[route->sends[i].peer]);
  return IR_OK;
}

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
  if (t->slow) {
    int64_t sent = from->published_ns, free = transfer->received_ns;
    int64_t at = (sent > free ? sent : free) + delay_of(t, m->peer, d->endpoint.device, m->bytes);
    if (ir_now_ns() < at) return want->until_ns = at, false;
    transfer->received_ns = at;
  }
  atomic_fetch_add(&from->pins, 1); /* seen by a device that fails, or sees that it has */
  if (!atomic_load(&t->cancelled))
    copy_message(transfer, m, &routes[m->peer].own, from->part, &routes[d->endpoint.device].needed);
  atomic_fetch_sub(&from->pins, 1);
  if (atomic_fetch_sub(&from->readers, 1) == 1) ring(from);
  if (d->endpoint.traffic) {
    d->endpoint.traffic[transfer->step].messages++;
    d->endpoint.traffic[transfer->step].bytes += m->bytes;
  }
  return true;
}

/* As test; where it is not done, *want is what is missing. */
static ir_status advance(device *d, rt_transfer *transfer, bool *done, want *want, ir_error *error) {
  rt_threads *t = d->all;
  const rt_route *route = &transfer->routes->of[d->endpoint.device];
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
    uint64_t stamp = atomic_load(&from->published);
    if (stamp >> STEP_BITS < d->number && !ended) return IR_OK;
    if (stamp != stamp_of(d, transfer)) return fail_apart(d, transfer, from, error);
    if (!take(d, transfer, m, want)) return IR_OK;
  }
  *done = atomic_load(&d->readers) == 0;
  for (uint32_t i = 0; i < route->send_count && !*done; i++) {
    device *to = &t->devices[route->sends[i].peer];
    bool ended = atomic_load(&to->ended);
    *want = (struct want){.missing = route->sends[i].peer};
    if (atomic_load(&t->cancelled)) return fail_cancelled(d, transfer, want->missing, error);
    if (ended && number_of(to) < d->number) return fail_apart(d, transfer, to, error);
  }
  if (*done && d->endpoint.traffic) d->endpoint.traffic[transfer->step].times++;
  return IR_OK;
}

static ir_status test(rt_endpoint *endpoint, rt_transfer *transfer, bool *done, ir_error *error) {
  want want;
  return advance(device_of(endpoint), transfer, done, &want, error);
}

static struct timespec time_of(int64_t ns) {
  return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* Until the bell is rung again, or until the given time. */
static void sleep_until(device *d, uint64_t rings, int64_t until_ns) {
  struct timespec until = time_of(until_ns);
  pthread_mutex_lock(&d->lock);
  while (d->rings == rings)
    if (!until_ns) pthread_cond_wait(&d->bell, &d->lock);
    else if (pthread_cond_timedwait(&d->bell, &d->lock, &until)) break;
  pthread_mutex_unlock(&d->lock);
}

static uint64_t rings_of(device *d) {
  pthread_mutex_lock(&d->lock);
  uint64_t rings = d->rings;
  pthread_mutex_unlock(&d->lock);
  return rings;
}

/* A device that fails leaves when nobody reads its part any more. */
static ir_status leave(device *d, const ir_error *error) {
  cancel(&d->endpoint, error);
  while (atomic_load(&d->pins)) sched_yield();
  return error->status;
}

static ir_status wait_until_done(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error) {
  device *d = device_of(endpoint);
  int64_t spin_end = d->all->spin_ns ? ir_now_ns() + d->all->spin_ns : 0;
  for (;;) {
    want want = {0};
    bool done;
    uint64_t rings = rings_of(d);
    ir_status status = advance(d, transfer, &done, &want, error);
    if (status) return leave(d, error);
    if (done) return IR_OK;
    if (spin_end && !want.until_ns) {
      if (ir_now_ns() < spin_end) continue;
      spin_end = 0;
    }
    sleep_until(d, rings, want.until_ns);
  }
}

const rt_engine rt_thread_engine = {start, test, wait_until_done, cancel};

/* the engine as a whole */

static void free_devices(rt_threads *t, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    pthread_cond_destroy(&t->devices[i].bell);
    pthread_mutex_destroy(&t->devices[i].lock);
  }
}

static size_t size_of(uint32_t devices) { return sizeof(rt_threads) + devices * sizeof(device); }
static size_t room_of(uint32_t devices) { return size_of(devices) + CACHE_LINE; }

ir_status rt_threads_make(const ir_mem *mem, const ir_mesh *mesh, bool slow, rt_threads **out,
                          ir_error *error) {
  *out = NULL;
  if (mesh->device_count > RT_THREAD_DEVICES)
    return ir_fail(error, IR_ERR_UNSUPPORTED, "a mesh of %u devices: one process has at most %d as threads",
                   mesh->device_count, RT_THREAD_DEVICES);
  void *raw = ir_alloc(mem, room_of(mesh->device_count));
  rt_team *team = raw ? rt_team_make(mem, mesh->device_count) : NULL;
  if (!team) {
    ir_free(mem, raw, room_of(mesh->device_count));
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh of %u devices", mesh->device_count);
  }
  rt_threads *t = (rt_threads *)(((uintptr_t)raw + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
  memset(t, 0, size_of(mesh->device_count));
  t->mem = mem;
  t->raw = raw;
  t->mesh = mesh;
  t->slow = slow;
  t->team = team;
  t->spin_ns = mesh->device_count <= (uint32_t)rt_pool_default_threads() ? SPIN_NS : 0;
  pthread_mutex_init(&t->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  for (uint32_t i = 0; i < mesh->device_count; i++) {
    device *d = &t->devices[i];
    d->endpoint = (rt_endpoint){.engine = &rt_thread_engine, .mesh = mesh, .device = i};
    d->all = t;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->bell, &monotonic);
  }
  pthread_condattr_destroy(&monotonic);
  *out = t;
  return IR_OK;
}

void rt_threads_free(rt_threads *t) {
  if (!t) return;
  rt_team_free(t->team);
  free_devices(t, t->mesh->device_count);
  pthread_mutex_destroy(&t->lock);
  ir_free(t->mem, t->raw, room_of(t->mesh->device_count));
}

static void run_device(void *user, uint32_t number) {
  rt_threads *t = user;
  device *d = &t->devices[number];
  ir_error own = {0};
  ir_status status = t->work(t->user, &d->endpoint, &own);
  cancel(&d->endpoint, status ? &own : NULL);
}

static void report(rt_threads *t, ir_error *error) {
  char failed[RT_DEVICE_TEXT], waiting[RT_DEVICE_TEXT], missing[RT_DEVICE_TEXT];
  rt_device_text(t->mesh, t->failed, failed);
  if (t->waited)
    ir_fail(
        error, t->failure.status, "device %s: %.600s; device %s waited for device %s in exchange %llu (%s)",
        failed, t->failure.text, rt_device_text(t->mesh, t->waiting, waiting),
        rt_device_text(t->mesh, t->missing, missing), (unsigned long long)t->waiting_number, t->waiting_kind);
  else ir_fail(error, t->failure.status, "device %s: %.800s", failed, t->failure.text);
}

ir_status rt_threads_run(rt_threads *t, rt_device_work work, void *user, ir_error *error) {
  t->work = work;
  t->user = user;
  t->waited = false;
  memset(t->waiting_kind, 0, sizeof t->waiting_kind);
  atomic_store(&t->cancelled, false);
  for (uint32_t i = 0; i < t->mesh->device_count; i++) {
    device *d = &t->devices[i];
    d->number = 0;
    atomic_store(&d->published, 0);
    atomic_store(&d->readers, 0);
    atomic_store(&d->ended, false);
  }
  ir_status status = rt_team_run(t->team, run_device, t, error);
  if (status || !atomic_load(&t->cancelled)) return status;
  report(t, error);
  return error->status;
}
