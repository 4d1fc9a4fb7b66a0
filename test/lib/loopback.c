#include "test/lib/loopback.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/mesh/post.h"
#include "test/lib/random_graph.h"

typedef struct queue {
  rt_packet *first;
} queue;

typedef struct end {
  rt_transport transport; /* first: a transport is its end */
  struct loopback *all;
  bool is_cut;
} end;

struct loopback {
  pthread_mutex_t lock;
  uint32_t processes;
  uint64_t state, sent;
  queue *queues; /* by sender and receiver */
  end ends[];
};

static ir_status send_packet(rt_transport *transport, uint32_t to, rt_packet *packet, ir_error *error) {
  end *e = (end *)transport;
  struct loopback *w = e->all;
  (void)error;
  pthread_mutex_lock(&w->lock);
  rt_packet **last = &w->queues[transport->process * w->processes + to].first;
  while (*last) last = &(*last)->next;
  packet->next = NULL;
  packet->sender = transport->process;
  w->sent += packet->header.kind != RT_PACKET_ASK && packet->header.kind != RT_PACKET_ANSWER;
  if (e->is_cut || w->ends[to].is_cut) rt_packet_free(transport->mem, packet);
  else *last = packet;
  pthread_mutex_unlock(&w->lock);
  return IR_OK;
}

static ir_status receive_packet(rt_transport *transport, rt_packet **out, ir_error *error) {
  struct loopback *w = ((end *)transport)->all;
  (void)error;
  *out = NULL;
  pthread_mutex_lock(&w->lock);
  uint32_t from = (uint32_t)(random_next(&w->state) % w->processes);
  for (uint32_t i = 0; i < w->processes && !*out; i++, from = (from + 1) % w->processes) {
    queue *q = &w->queues[from * w->processes + transport->process];
    *out = q->first;
    if (q->first) q->first = q->first->next;
  }
  pthread_mutex_unlock(&w->lock);
  return IR_OK;
}

static bool is_idle(rt_transport *transport) {
  (void)transport;
  return true;
}

static void close_end(rt_transport *transport, bool broken) {
  (void)transport;
  (void)broken;
}

loopback *loopback_make(uint32_t processes, uint64_t seed) {
  loopback *w = calloc(1, sizeof *w + processes * sizeof *w->ends);
  w->processes = processes;
  w->state = seed;
  w->queues = calloc((size_t)processes * processes, sizeof *w->queues);
  pthread_mutex_init(&w->lock, NULL);
  for (uint32_t i = 0; i < processes; i++)
    w->ends[i] = (end){.transport = {.mem = &ir_mem_libc,
                                     .name = "threads",
                                     .process = i,
                                     .processes = processes,
                                     .send = send_packet,
                                     .receive = receive_packet,
                                     .is_idle = is_idle,
                                     .close = close_end},
                       .all = w};
  return w;
}

void loopback_free(loopback *w) {
  for (size_t i = 0; i < (size_t)w->processes * w->processes; i++)
    for (rt_packet *next, *list = w->queues[i].first; list; list = next) {
      next = list->next;
      rt_packet_free(&ir_mem_libc, list);
    }
  pthread_mutex_destroy(&w->lock);
  free(w->queues);
  free(w);
}

rt_transport *loopback_of(loopback *w, uint32_t process) { return &w->ends[process].transport; }

void loopback_cut(loopback *w, uint32_t process) {
  pthread_mutex_lock(&w->lock);
  w->ends[process].is_cut = true;
  pthread_mutex_unlock(&w->lock);
}

uint64_t loopback_sent(loopback *w) {
  pthread_mutex_lock(&w->lock);
  uint64_t sent = w->sent;
  pthread_mutex_unlock(&w->lock);
  return sent;
}
