#include "runtime/mesh/post.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "ir/timer.h"
#include "runtime/system/stack.h"

/* How often the thread looks for packets: while a run is in progress, so that what devices that compute are
 * to receive or to answer waits no longer than this; and where none is. A look takes about a microsecond. */
enum { LOOK_NS = 1000000, LOOK_IDLE_NS = 20000000 };
enum { FAREWELL_NS = 100000000 }; /* because processes of one program end within some milliseconds */

/* Messages of fewer bytes are sent in no more time than it takes to wait for who reads them. An all_reduce
 * between two processes whose messages are offered, and sent: 64 KiB 99 and 81 us, 128 KiB 180 and 160, 256
 * KiB 352 and 313, 512 KiB 352 and 605, 8 MiB 3.3 and 9.8 ms (Open MPI, EPYC). */
enum { OFFERED_BYTES = 256 << 10 };

typedef struct peer {
  atomic_int_fast64_t heard_ns;
  atomic_bool left;
} peer;

struct rt_post {
  const ir_mem *mem;
  rt_transport *transport;
  int64_t timeout_ns;
  rt_memory_name memory;
  size_t offered_bytes;
  pthread_mutex_t transport_lock; /* one call of the transport at a time; taken before `lock` */
  pthread_mutex_t run_lock;       /* one run at a time */
  pthread_mutex_t lock;           /* guards what follows */
  pthread_cond_t bell;            /* of the thread */
  uint64_t run;                   /* the last that has begun */
  rt_receiver *receiver;          /* NULL: none is in progress */
  rt_packet *early, **last;       /* of runs that have not begun, in the order in which they arrived */
  bool quit;
  atomic_bool broken; /* the transport */
  atomic_int state;   /* rt_post_state */
  ir_error failure;   /* why */
  pthread_t thread;
  peer peers[];
};

void rt_post_note(rt_post *p, rt_post_state state) {
  if (atomic_load(&p->state) != RT_POST_GONE) atomic_store(&p->state, (int)state);
}
const rt_transport *rt_post_transport(const rt_post *p) { return p->transport; }
int64_t rt_post_timeout(const rt_post *p) { return p->timeout_ns; }
const rt_memory_name *rt_post_memory(const rt_post *p) { return &p->memory; }
size_t rt_post_offered_bytes(const rt_post *p) { return p->offered_bytes; }
void rt_post_offer_from(rt_post *p, size_t bytes) { p->offered_bytes = bytes; }

/* The transport has failed. With both locks. */
static void give_up(rt_post *p, const ir_error *why) {
  if (atomic_load(&p->broken)) return;
  p->failure = *why;
  atomic_store(&p->broken, true);
  if (p->receiver) p->receiver->fail(p->receiver, why);
}

/* With the transport's lock. */
static void break_transport(rt_post *p, const ir_error *why) {
  pthread_mutex_lock(&p->lock);
  give_up(p, why);
  pthread_mutex_unlock(&p->lock);
}

ir_status rt_post_send(rt_post *p, uint32_t to, rt_packet *packet, ir_error *error) {
  ir_error own = {0};
  pthread_mutex_lock(&p->transport_lock);
  if (atomic_load(&p->broken)) {
    rt_packet_free(p->mem, packet);
    own = p->failure;
  } else if (p->transport->send(p->transport, to, packet, &own)) {
    break_transport(p, &own);
  }
  pthread_mutex_unlock(&p->transport_lock);
  return own.status ? ir_fail(error, own.status, "%s", own.text) : IR_OK;
}

/* With both locks: tells device `from` of another process how far the device is that it waits for. */
static void answer(rt_post *p, const rt_packet *asked) {
  rt_packet *packet = rt_packet_make(p->mem, 0);
  ir_error own = {0};
  bool ended = asked->header.run < p->run;
  if (!packet) return; /* it asks again */
  packet->header = asked->header;
  packet->header.kind = RT_PACKET_ANSWER;
  packet->header.from = asked->header.to;
  packet->header.to = asked->header.from;
  packet->header.exchange = 0;
  if (asked->header.run == p->run && p->receiver)
    packet->header.exchange = p->receiver->progress(p->receiver, asked->header.to, &ended);
  else if (asked->header.run == p->run) ended = true;
  packet->header.step = ended;
  if (p->transport->send(p->transport, asked->sender, packet, &own)) give_up(p, &own);
}

/* With both locks. */
static void bring(rt_post *p, rt_packet *packet) {
  uint64_t run = packet->header.run;
  atomic_store(&p->peers[packet->sender].heard_ns, ir_now_ns());
  packet->next = NULL;
  if (packet->header.kind == RT_PACKET_LEAVE) {
    atomic_store(&p->peers[packet->sender].left, true);
  } else if (packet->header.kind == RT_PACKET_ASK) {
    answer(p, packet);
  } else if (run == p->run && p->receiver) {
    p->receiver->accept(p->receiver, packet);
    return;
  } else if (run > p->run) {
    *p->last = packet;
    p->last = &packet->next;
    return;
  }
  rt_packet_free(p->mem, packet); /* handled; or of a run that has failed and ended here */
}

void rt_post_progress(rt_post *p, bool all) {
  if (pthread_mutex_trylock(&p->transport_lock)) return;
  for (bool more = true; more && !atomic_load(&p->broken); more = all) {
    rt_packet *packet = NULL;
    ir_error own = {0};
    if (p->transport->receive(p->transport, &packet, &own)) break_transport(p, &own);
    if (!packet) break;
    pthread_mutex_lock(&p->lock);
    bring(p, packet);
    pthread_mutex_unlock(&p->lock);
  }
  pthread_mutex_unlock(&p->transport_lock);
}

int64_t rt_post_heard(rt_post *p, uint32_t process, bool *left) {
  *left = atomic_load(&p->peers[process].left);
  return atomic_load(&p->peers[process].heard_ns);
}

/* runs */

void rt_post_begin(rt_post *p, rt_receiver *receiver, uint64_t *run) {
  pthread_mutex_lock(&p->run_lock);
  pthread_mutex_lock(&p->lock);
  rt_packet *list = p->early, *next;
  *run = ++p->run;
  p->receiver = receiver;
  p->early = NULL;
  p->last = &p->early;
  if (atomic_load(&p->broken)) receiver->fail(receiver, &p->failure);
  for (; list; list = next) {
    next = list->next;
    list->next = NULL;
    if (list->header.run == p->run) {
      receiver->accept(receiver, list);
    } else {
      *p->last = list;
      p->last = &list->next;
    }
  }
  pthread_cond_signal(&p->bell);
  pthread_mutex_unlock(&p->lock);
}

void rt_post_end(rt_post *p) {
  pthread_mutex_lock(&p->lock);
  p->receiver = NULL;
  pthread_mutex_unlock(&p->lock);
  pthread_mutex_unlock(&p->run_lock);
}

/* the thread */

static struct timespec after(int64_t ns) {
  int64_t at = ir_now_ns() + ns;
  return (struct timespec){.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
}

static void *thread_main(void *argument) {
  rt_post *p = argument;
  pthread_mutex_lock(&p->lock);
  while (!p->quit) {
    struct timespec until = after(p->receiver ? LOOK_NS : LOOK_IDLE_NS);
    pthread_cond_timedwait(&p->bell, &p->lock, &until);
    pthread_mutex_unlock(&p->lock);
    rt_post_progress(p, true);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static void free_post(rt_post *p) {
  for (rt_packet *next, *list = p->early; list; list = next) {
    next = list->next;
    rt_packet_free(p->mem, list);
  }
  pthread_cond_destroy(&p->bell);
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->run_lock);
  pthread_mutex_destroy(&p->transport_lock);
  ir_free(p->mem, p, sizeof *p + p->transport->processes * sizeof *p->peers);
}

ir_status rt_post_open(rt_transport *transport, int64_t timeout_ns, rt_post **out, ir_error *error) {
  *out = NULL;
  size_t size = sizeof(rt_post) + transport->processes * sizeof(peer);
  rt_post *p = ir_alloc(transport->mem, size);
  if (!p) {
    transport->close(transport, false);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for a mesh of processes");
  }
  memset(p, 0, size);
  p->mem = transport->mem;
  p->transport = transport;
  p->timeout_ns = timeout_ns;
  p->offered_bytes = OFFERED_BYTES;
  rt_memory_name_own(&p->memory);
  p->last = &p->early;
  pthread_mutex_init(&p->transport_lock, NULL);
  pthread_mutex_init(&p->run_lock, NULL);
  pthread_mutex_init(&p->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&p->bell, &monotonic);
  pthread_condattr_destroy(&monotonic);
  if (!rt_thread_start(&p->thread, thread_main, p)) {
    free_post(p);
    transport->close(transport, false);
    return ir_fail(error, IR_ERR_DEVICE, "the system starts no thread for a mesh of processes");
  }
  *out = p;
  return IR_OK;
}

/* What has begun to be sent goes while it is asked for, as long as the other processes take it. After a run
 * only words of leaving are on their way, which a process that lives takes in no time: one that is gone is
 * not waited for as long as where something is needed of it. */
static void drain(rt_post *p) {
  int64_t end = ir_now_ns() + p->timeout_ns / 8;
  while (!atomic_load(&p->broken) && !p->transport->is_idle(p->transport) && ir_now_ns() < end) {
    struct timespec pause = {.tv_nsec = LOOK_NS / 10};
    nanosleep(&pause, NULL);
  }
  if (atomic_load(&p->state) != RT_POST_GOOD && !p->transport->is_idle(p->transport))
    atomic_store(&p->broken, true);
}

static bool have_left(rt_post *p) {
  for (uint32_t i = 0; i < p->transport->processes; i++)
    if (i != p->transport->process && !atomic_load(&p->peers[i].left)) return false;
  return true;
}

/* What others have sent is received up to their last word, so that MPI finds nothing when it is finalised;
 * and launchers end a job that has failed when its first process has left. */
static void wait_for_others(rt_post *p) {
  bool failed = atomic_load(&p->state) == RT_POST_FAILED;
  int64_t most = p->timeout_ns / 8, end = ir_now_ns() + (failed || most < FAREWELL_NS ? most : FAREWELL_NS);
  while (!atomic_load(&p->broken) && !have_left(p) && ir_now_ns() < end) {
    struct timespec pause = {.tv_nsec = LOOK_NS / 10};
    rt_post_progress(p, true);
    nanosleep(&pause, NULL);
  }
}

void rt_post_close(rt_post *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->quit = true;
  pthread_cond_signal(&p->bell);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  for (uint32_t i = 0; i < p->transport->processes; i++) {
    ir_error own = {0};
    rt_packet *packet = i == p->transport->process ? NULL : rt_packet_make(p->mem, 0);
    if (!packet) continue;
    packet->header.kind = RT_PACKET_LEAVE;
    rt_post_send(p, i, packet, &own);
  }
  drain(p);
  if (atomic_load(&p->state) != RT_POST_GONE) wait_for_others(p);
  rt_transport *transport = p->transport;
  bool broken = atomic_load(&p->broken) || atomic_load(&p->state) != RT_POST_GOOD;
  free_post(p);
  transport->close(transport, broken);
}
