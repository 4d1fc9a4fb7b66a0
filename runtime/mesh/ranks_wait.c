/* Waiting for packets, and for processes that may be gone. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "ir/timer.h"
#include "runtime/mesh/ranks_impl.h"
#include "runtime/mesh/route.h"

/* A device sleeps between two looks at the transport, which nobody rings: first for as long as a sleep takes
 * at least, then twice as long each time, up to what a late packet may cost. */
enum { SLEEP_NS = 50000, LONGEST_SLEEP_NS = 1000000 };
/* 20 MB: a sleep is not much beside more. Messages of 32 MiB take 12.0 ms with 1 ms of it as with 100. */
enum { MOST_YIELD_NS = 10000000 };
/* How long a device waits before it asks the one that it waits for, and between two questions; but no longer
 * than an eighth of the time after which a silent process is gone. */
enum { ASK_NS = 100000000 };

void rt_ranks_ring(rt_ranks *r) {
  for (uint32_t i = 0; i <= r->count; i++) rt_bell_ring(&r->devices[i].bell);
}

void rt_ranks_fail(rt_ranks *r, const ir_error *why, bool told) {
  pthread_mutex_lock(&r->lock);
  if (!atomic_load(&r->cancelled)) {
    r->failure = *why;
    r->told = told;
    atomic_store(&r->cancelled, true);
  }
  pthread_mutex_unlock(&r->lock);
  rt_ranks_ring(r);
}

/* sending */

rt_packet *rt_ranks_packet(const rt_ranks *r, rt_kind kind, uint32_t from, uint32_t to, size_t bytes) {
  rt_packet *packet = rt_packet_make(r->packets, bytes);
  if (packet)
    packet->header =
        (rt_header){.run = r->run, .program = r->program, .kind = (uint32_t)kind, .from = from, .to = to};
  return packet;
}

ir_status rt_ranks_send(rt_ranks *r, uint32_t process, rt_packet *packet, ir_error *error) {
  if (process != r->process) return rt_post_send(r->post, process, packet, error);
  packet->sender = process;
  r->receiver.accept(&r->receiver, packet);
  return IR_OK;
}

void rt_ranks_tell(rt_ranks *r) {
  pthread_mutex_lock(&r->lock);
  bool told = r->told;
  r->told = true;
  pthread_mutex_unlock(&r->lock);
  for (uint32_t i = 0; i < r->processes && !told; i++) {
    ir_error own = {0};
    rt_packet *packet =
        i == r->process ? NULL : rt_ranks_packet(r, RT_PACKET_FAILED, 0, 0, sizeof r->failure);
    if (!packet) continue;
    memcpy(packet->data, &r->failure, sizeof r->failure);
    rt_ranks_send(r, i, packet, &own);
  }
}

/* asking */

typedef struct patience {
  uint32_t missing;
  int64_t since_ns, asked_ns;
} patience;

static ir_status fail_gone(const rank_device *d, const rank_want *want, uint32_t process, bool left,
                           ir_error *error) {
  const rt_ranks *r = d->all;
  char text[RT_DEVICE_TEXT];
  rt_device_text(r->mesh, want->missing, text);
  if (left)
    return ir_fail(error, IR_ERR_DEVICE,
                   "exchange %llu (%s): process %u, which has device %s, has left the mesh",
                   (unsigned long long)want->number, want->kind, process, text);
  return ir_fail(error, IR_ERR_DEVICE,
                 "exchange %llu (%s): process %u, which has device %s, has not been heard of for %.3g s",
                 (unsigned long long)want->number, want->kind, process, text,
                 (double)rt_post_timeout(r->post) * 1e-9);
}

/* Asks the device that is missing how far it is, from time to time, and gives up when its process is gone. */
static ir_status ask(rank_device *d, const rank_want *want, patience *p, ir_error *error) {
  rt_ranks *r = d->all;
  int64_t now = ir_now_ns(), timeout = rt_post_timeout(r->post);
  int64_t interval = ASK_NS < timeout / 8 ? ASK_NS : timeout / 8;
  uint32_t process = rank_process_of(r, want->missing);
  bool left;
  if (!p->since_ns || p->missing != want->missing)
    *p = (patience){.missing = want->missing, .since_ns = now, .asked_ns = now};
  if (process == r->process || now - p->asked_ns < interval) return IR_OK;
  int64_t heard = rt_post_heard(r->post, process, &left);
  if (left || now - (heard > p->since_ns ? heard : p->since_ns) > timeout)
    return fail_gone(d, want, process, left, error);
  p->asked_ns = now;
  rt_packet *packet = rt_ranks_packet(r, RT_PACKET_ASK, d->endpoint.device, want->missing, 0);
  return packet ? rt_ranks_send(r, process, packet, error) : IR_OK; /* short of memory: asked next time */
}

/* waiting */

/* How long it looks before it sleeps: no shorter than the message takes at 2 GB/s. Nobody rings when it has
 * been read: two that slept meanwhile would read in turns, each while the other sleeps. */
static int64_t yield_ns(int64_t bytes) {
  int64_t more = bytes / 2;
  return RT_YIELD_NS + (more < MOST_YIELD_NS ? more : MOST_YIELD_NS);
}

ir_status rt_rank_wait(rank_device *d, rank_advance advance, void *user, ir_error *error) {
  rt_ranks *r = d->all;
  int64_t first_ns = ir_now_ns(), sleep = SLEEP_NS;
  patience patience = {0};
  for (;;) {
    rank_want want = {0};
    bool done;
    uint64_t rings = rt_bell_rings(&d->bell);
    ir_status status = advance(d, user, &done, &want, error);
    if (status || done) return status;
    rt_post_progress(r->post, false);
    if (rings != rt_bell_rings(&d->bell)) continue;
    if (r->spins && rt_bell_look_again(ir_now_ns() - first_ns, RT_SPIN_NS, yield_ns(want.bytes))) continue;
    status = ask(d, &want, &patience, error);
    if (status && rings == rt_bell_rings(&d->bell)) return status;
    if (status) { /* what it sent before it left has come just now */
      ir_error_clear(error);
      continue;
    }
    rt_bell_sleep(&d->bell, rings, ir_now_ns() + sleep);
    sleep = 2 * sleep < LONGEST_SLEEP_NS ? 2 * sleep : LONGEST_SLEEP_NS;
  }
}
