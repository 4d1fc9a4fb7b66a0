/* Exchanges: packets are packed when an exchange starts, and unpacked when they have arrived; large messages
 * are offered (ranks_offer.c). */
#include "runtime/mesh/ranks.h"

#include <string.h>

#include "ir/timer.h"
#include "runtime/mesh/box.h"
#include "runtime/mesh/ranks_impl.h"
#include "runtime/mesh/route.h"

/* failures */

static void cancel(rt_endpoint *endpoint, const ir_error *why) {
  rank_device *d = rank_device_of(endpoint);
  if (why) {
    ir_error named = {0};
    char text[RT_DEVICE_TEXT];
    ir_fail(&named, why->status, "device %s of process %u: %.800s",
            rt_device_text(endpoint->mesh, endpoint->device, text), d->all->process, why->text);
    rt_ranks_fail(d->all, &named, false);
    rt_ranks_tell(d->all);
  } else {
    atomic_store(&d->ended, true);
    rt_ranks_ring(d->all);
  }
}

/* Fails, since another device has: notes the first that waited, and for what. */
static ir_status fail_cancelled(rank_device *d, const rt_transfer *transfer, uint32_t missing,
                                ir_error *error) {
  rt_ranks *r = d->all;
  pthread_mutex_lock(&r->lock);
  if (!r->waited) {
    r->waited = true;
    r->waiting = d->endpoint.device;
    r->missing = missing;
    r->waiting_number = transfer->number;
    strncpy(r->waiting_kind, transfer->kind, sizeof r->waiting_kind - 1);
  }
  pthread_mutex_unlock(&r->lock);
  return ir_fail(error, IR_ERR_DEVICE, "another device has failed");
}

static ir_status fail_apart(const rank_device *d, const rt_transfer *transfer, uint32_t other, bool ended,
                            ir_error *error) {
  char text[RT_DEVICE_TEXT];
  return ir_fail(
      error, IR_ERR_INVALID,
      "exchange %llu (%s): device %s has %s; what decides about exchanges must be the same on all devices",
      (unsigned long long)transfer->number, transfer->kind, rt_device_text(d->endpoint.mesh, other, text),
      ended ? "ended before" : "come to another one");
}

/* packing */

static size_t bytes_of(const ir_box *box, size_t element) {
  return rt_box_is_empty(box) ? 0 : (size_t)ir_box_elements(box) * element;
}

static void pack(const rt_transfer *t, const rt_message *m, const ir_box *own, unsigned char *data) {
  ir_box piece;
  for (uint32_t i = 0; i < m->count; i++) {
    rt_route_piece(t->routes, m->first + i, &piece);
    rt_box_copy(&piece, t->bytes, own, t->part, &piece, data);
    data += bytes_of(&piece, t->bytes);
  }
}

static void unpack(const rt_transfer *t, const rt_message *m, const ir_box *needed,
                   const unsigned char *data) {
  ir_box piece;
  for (uint32_t i = 0; i < m->count; i++) {
    rt_route_piece(t->routes, m->first + i, &piece);
    rt_box_copy(&piece, t->bytes, &piece, data, needed, t->box);
    data += bytes_of(&piece, t->bytes);
  }
}

static void copy_own(const rt_transfer *t, const rt_message *m, const rt_route *route) {
  ir_box piece;
  for (uint32_t i = 0; i < m->count; i++) {
    rt_route_piece(t->routes, m->first + i, &piece);
    rt_box_copy(&piece, t->bytes, &route->own, t->part, &route->needed, t->box);
  }
}

/* exchanging */

static ir_status send_message(rank_device *d, const rt_transfer *transfer, const rt_message *m,
                              ir_error *error) {
  rt_ranks *r = d->all;
  rt_packet *packet = rt_ranks_packet(r, RT_PACKET_DATA, d->endpoint.device, m->peer, (size_t)m->bytes);
  if (!packet)
    return ir_fail(error, IR_ERR_MEMORY, "exchange %llu (%s): out of memory for %lld bytes to be sent",
                   (unsigned long long)transfer->number, transfer->kind, (long long)m->bytes);
  packet->header.exchange = transfer->number;
  packet->header.step = transfer->exchange;
  pack(transfer, m, &rt_route_of(transfer->routes, d->endpoint.device)->own, packet->data);
  return rt_ranks_send(r, rank_process_of(r, m->peer), packet, error);
}

static ir_status start(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error) {
  rank_device *d = rank_device_of(endpoint);
  const rt_route *route = rt_route_of(transfer->routes, endpoint->device);
  ir_status status = IR_OK;
  transfer->received = 0;
  transfer->refused = false;
  transfer->number = ++d->number;
  transfer->started_ns = transfer->arrived_ns = ir_now_ns();
  for (uint32_t i = 0; i < route->send_count && !status; i++) {
    const rt_message *m = &route->sends[i];
    status = rt_rank_offers(d, transfer, m, &route->own) ? rt_rank_offer(d, transfer, m, &route->own, error)
                                                         : send_message(d, transfer, m, error);
  }
  for (uint32_t i = 0; i < route->receive_count && !status; i++) /* while what was sent is on its way */
    if (route->receives[i].peer == endpoint->device) copy_own(transfer, &route->receives[i], route);
  if (status) cancel(endpoint, error);
  else atomic_store(&d->sent, d->number);
  return status;
}

/* Takes the packet of device `from` in this exchange off the list; NULL: it has not arrived. */
static rt_packet *take(rank_device *d, uint32_t from, uint64_t number) {
  pthread_mutex_lock(&d->lock);
  rt_packet **at = &d->arrived, *found;
  while (*at && ((*at)->header.from != from || (*at)->header.exchange != number)) at = &(*at)->next;
  found = *at;
  if (found) *at = found->next;
  pthread_mutex_unlock(&d->lock);
  return found;
}

/* Is the device known to be past this exchange, so that what it has sent for it has arrived? */
static bool is_past(rank_device *d, uint32_t device, uint64_t number, bool *ended) {
  rt_ranks *r = d->all;
  uint64_t sent;
  if (r->own[device] != UINT32_MAX) {
    const rank_device *other = &r->devices[r->own[device]];
    *ended = atomic_load(&other->ended);
    return atomic_load(&other->sent) >= number || *ended;
  }
  pthread_mutex_lock(&d->lock);
  *ended = d->answer_of == device && d->answer_ended;
  sent = d->answer_of == device ? d->answer_sent : 0;
  pthread_mutex_unlock(&d->lock);
  return *ended || sent >= number;
}

static ir_status receive(rank_device *d, rt_transfer *t, const rt_message *m, bool *done, ir_error *error) {
  rt_ranks *r = d->all;
  bool ended = false,
       past = is_past(d, m->peer, t->number, &ended); /* before looking: it sends before it is past */
  rt_packet *packet = take(d, m->peer, t->number);
  ir_status status = IR_OK;
  *done = packet != NULL;
  if (!packet) return past && !t->refused ? fail_apart(d, t, m->peer, ended, error) : IR_OK;
  bool offered = packet->header.kind == RT_PACKET_OFFER;
  int64_t bytes = offered ? rt_rank_offered_bytes(packet) : (int64_t)packet->bytes;
  bool same = packet->header.step == t->exchange && bytes == m->bytes;
  if (packet->arrived_ns > t->arrived_ns) t->arrived_ns = packet->arrived_ns;
  if (same && offered) status = rt_rank_take(d, t, m, packet, done, error);
  else if (same) unpack(t, m, &rt_route_of(t->routes, d->endpoint.device)->needed, packet->data);
  rt_packet_free(r->packets, packet);
  if (!same) return fail_apart(d, t, m->peer, false, error);
  if (*done && d->endpoint.traffic) {
    d->endpoint.traffic[t->exchange].messages++;
    d->endpoint.traffic[t->exchange].bytes += m->bytes;
  }
  return status;
}

/* Takes what has arrived. *done: all has; otherwise *want is missing. */
static ir_status receive_all(rank_device *d, rt_transfer *t, bool *done, rank_want *want, ir_error *error) {
  const rt_route *route = rt_route_of(t->routes, d->endpoint.device);
  *done = false;
  for (; t->received < route->receive_count; t->received++, t->refused = false) {
    const rt_message *m = &route->receives[t->received];
    bool here = false;
    if (m->peer == d->endpoint.device) continue;
    *want = (rank_want){m->peer, t->number, t->kind, m->bytes};
    if (atomic_load(&d->all->cancelled)) return fail_cancelled(d, t, m->peer, error);
    ir_status status = receive(d, t, m, &here, error);
    if (status || !here) return status;
  }
  *done = true;
  return IR_OK;
}

/* Sends what was offered in vain, in whatever exchange: none is done before its offers are answered. */
static ir_status send_refused(rank_device *d, ir_error *error) {
  rank_offer offer;
  ir_status status = IR_OK;
  while (!status && rt_rank_next_refused(d, &offer))
    status = send_message(d, offer.transfer, offer.message, error);
  return status;
}

/* A device that waits for the readers of its part takes what others offer it meanwhile in other exchanges:
 * they may wait for that first. */
static ir_status receive_others(rank_device *d, const rt_transfer *t, ir_error *error) {
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < RT_TRANSFERS && !status; i++) {
    rt_transfer *other = &d->endpoint.transfers[i];
    rank_want want;
    bool done;
    if (other != t && other->routes) status = receive_all(d, other, &done, &want, error);
  }
  return status;
}

/* Has the part been read by all that it was offered? */
static ir_status check_readers(rank_device *d, const rt_transfer *t, bool *done, rank_want *want,
                               ir_error *error) {
  const rt_message *m = rt_rank_offered(d, t->number);
  bool ended = false;
  *done = !m;
  if (*done) return IR_OK;
  *want = (rank_want){m->peer, t->number, t->kind, m->bytes};
  if (atomic_load(&d->all->cancelled)) return fail_cancelled(d, t, m->peer, error);
  is_past(d, m->peer, t->number, &ended); /* before looking again: it says that it has read before it ends */
  if (ended && rt_rank_offered(d, t->number) == m) return fail_apart(d, t, m->peer, true, error);
  return IR_OK;
}

static ir_status advance(rank_device *d, void *user, bool *done, rank_want *want, ir_error *error) {
  rt_transfer *t = user;
  ir_status status = receive_all(d, t, done, want, error);
  if (!status && *done) status = check_readers(d, t, done, want, error);
  if (!status && !*done) status = send_refused(d, error);
  if (!status && !*done) status = receive_others(d, t, error);
  if (!status && *done && d->endpoint.traffic) d->endpoint.traffic[t->exchange].times += rt_is_last_piece(t);
  return status;
}

static ir_status test(rt_endpoint *endpoint, rt_transfer *transfer, bool *done, ir_error *error) {
  rank_device *d = rank_device_of(endpoint);
  rank_want want;
  rt_post_progress(d->all->post, true);
  return advance(d, transfer, done, &want, error);
}

static ir_status wait_until_done(rt_endpoint *endpoint, rt_transfer *transfer, ir_error *error) {
  ir_status status = rt_rank_wait(rank_device_of(endpoint), advance, transfer, error);
  if (status) cancel(endpoint, error);
  return status;
}

const rt_engine rt_rank_engine = {start, test, wait_until_done, cancel};
