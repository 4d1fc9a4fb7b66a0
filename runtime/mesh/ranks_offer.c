/* Large messages: a device offers its part, who needs some of it reads it from there, if the system lets it,
 * and says so. A device waits for those that it has offered something, as do devices that are threads. */
#include <string.h>

#include "ir/timer.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/peer_memory.h"
#include "runtime/mesh/ranks_impl.h"
#include "runtime/mesh/route.h"

enum { LEAST_RUN = 1024 }; /* bytes: a run takes the system 0.5 us, in which it reads 4 KiB at most */

typedef struct offered_part {
  rt_memory_name memory;
  uint64_t address;
  int64_t bytes; /* of the message */
  ir_box box;    /* of the part */
} offered_part;

/* offering */

static size_t least_run(const rt_transfer *t, const rt_message *m, const ir_box *own) {
  size_t least = SIZE_MAX;
  for (uint32_t i = 0; i < m->count; i++) {
    ir_box piece;
    rt_box_runs runs;
    rt_route_piece(t->routes, m->first + i, &piece);
    rt_box_runs_begin(&runs, &piece, t->bytes, own, &piece);
    if (runs.bytes < least) least = runs.bytes;
  }
  return least;
}

bool rt_rank_offers(const rank_device *d, const rt_transfer *t, const rt_message *m, const ir_box *own) {
  const rt_ranks *r = d->all;
  return (size_t)m->bytes >= r->offered_bytes &&
         !atomic_load(&r->knowledge[rank_process_of(r, m->peer)].refuses) &&
         (r->offered_bytes < LEAST_RUN || least_run(t, m, own) >= LEAST_RUN);
}

ir_status rt_rank_offer(rank_device *d, const rt_transfer *t, const rt_message *m, const ir_box *own,
                        ir_error *error) {
  rt_ranks *r = d->all;
  offered_part part = {.address = (uintptr_t)t->part, .bytes = m->bytes, .box = *own};
  rt_packet *packet = rt_ranks_packet(r, RT_PACKET_OFFER, d->endpoint.device, m->peer, sizeof part);
  pthread_mutex_lock(&d->lock);
  bool good = packet && IR_RESERVE(r->mem, d->offers, d->offer_cap, d->offer_count + 1);
  if (good) d->offers[d->offer_count++] = (rank_offer){.number = t->number, .transfer = t, .message = m};
  pthread_mutex_unlock(&d->lock);
  if (!good) {
    rt_packet_free(r->packets, packet);
    return ir_fail(error, IR_ERR_MEMORY, "exchange %llu (%s): out of memory", (unsigned long long)t->number,
                   t->kind);
  }
  part.memory = *rt_post_memory(r->post);
  memcpy(packet->data, &part, sizeof part);
  packet->header.exchange = t->number;
  packet->header.step = t->exchange;
  return rt_ranks_send(r, rank_process_of(r, m->peer), packet, error);
}

void rt_rank_note_taken(rank_device *d, const rt_header *h) {
  bool refused = h->kind == RT_PACKET_REFUSED;
  if (refused && h->step) /* it can never read from here */
    atomic_store(&d->all->knowledge[rank_process_of(d->all, h->from)].refuses, true);
  pthread_mutex_lock(&d->lock);
  for (uint32_t i = 0; i < d->offer_count; i++) {
    rank_offer *o = &d->offers[i];
    if (o->number != h->exchange || o->message->peer != h->from) continue;
    if (refused) o->refused = true;
    else *o = d->offers[--d->offer_count];
    break;
  }
  pthread_mutex_unlock(&d->lock);
  rt_bell_ring(&d->bell);
}

bool rt_rank_next_refused(rank_device *d, rank_offer *out) {
  bool found = false;
  pthread_mutex_lock(&d->lock);
  for (uint32_t i = 0; i < d->offer_count && !found; i++) {
    found = d->offers[i].refused;
    if (!found) continue;
    *out = d->offers[i];
    d->offers[i] = d->offers[--d->offer_count];
  }
  pthread_mutex_unlock(&d->lock);
  return found;
}

const rt_message *rt_rank_offered(rank_device *d, uint64_t number) {
  const rt_message *found = NULL;
  pthread_mutex_lock(&d->lock);
  for (uint32_t i = 0; i < d->offer_count && !found; i++)
    if (d->offers[i].number == number) found = d->offers[i].message;
  pthread_mutex_unlock(&d->lock);
  return found;
}

/* taking */

int64_t rt_rank_offered_bytes(const rt_packet *packet) {
  offered_part part;
  if (packet->bytes != sizeof part) return -1;
  memcpy(&part, packet->data, sizeof part);
  return part.bytes;
}

static bool is_readable(rt_ranks *r, uint32_t process, const rt_memory_name *memory) {
  atomic_uchar *known = &r->knowledge[process].memory;
  if (atomic_load(known) == RANK_MEMORY_UNKNOWN)
    atomic_store(known, rt_memory_is_readable(rt_post_memory(r->post), memory) ? RANK_MEMORY_READABLE
                                                                               : RANK_MEMORY_CLOSED);
  return atomic_load(known) == RANK_MEMORY_READABLE;
}

static bool read_part(const rt_transfer *t, const rt_message *m, const ir_box *needed,
                      const offered_part *part) {
  bool good = true;
  for (uint32_t i = 0; i < m->count && good; i++) {
    ir_box piece;
    rt_route_piece(t->routes, m->first + i, &piece);
    good = rt_memory_read_box(&part->memory, &piece, t->bytes, &part->box, part->address, needed, t->box);
  }
  return good;
}

ir_status rt_rank_take(rank_device *d, rt_transfer *t, const rt_message *m, const rt_packet *packet,
                       bool *taken, ir_error *error) {
  rt_ranks *r = d->all;
  offered_part part;
  uint32_t process = rank_process_of(r, m->peer);
  memcpy(&part, packet->data, sizeof part);
  bool readable = is_readable(r, process, &part.memory);
  *taken = readable && read_part(t, m, &rt_route_of(t->routes, d->endpoint.device)->needed, &part);
  if (*taken) t->arrived_ns = ir_now_ns();
  else t->refused = true;
  rt_packet *answer =
      rt_ranks_packet(r, *taken ? RT_PACKET_TAKEN : RT_PACKET_REFUSED, d->endpoint.device, m->peer, 0);
  if (!answer)
    return ir_fail(error, IR_ERR_MEMORY, "exchange %llu (%s): out of memory", (unsigned long long)t->number,
                   t->kind);
  answer->header.exchange = t->number;
  answer->header.step = !readable;
  return rt_ranks_send(r, process, answer, error);
}
