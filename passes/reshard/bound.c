/* What has to move, whatever the way.
 *
 * Bytes without sums. A device holds after a hop what it held and received, so it receives each element that
 * it needs and does not hold.
 *
 * Bytes with sums, of P summands. A device that needs an element receives it, or another summand of it. And
 * of one element, some device is the first that knows all summands: P - 1 messages, one from the summands of
 * each other kind, were sent before; every other device that needs the element has to receive a message after
 * that. So all devices together receive an element P - 2 times more often than there are devices that need
 * it, and some device receives at least the mean.
 *
 * Time. A device knows its own part; a message adds no more than the sender knows, so each message doubles,
 * at best, the number of parts of which it knows something. It needs parts of m other devices: ceil(log2(m +
 * 1)) messages, which may be in flight at once. Where hops are even, the device that receives most bytes
 * receives most messages, too, and both times add up; elsewhere these may be different devices, and the
 * longer time is what is sure. */
#include "impl.h"

static uint64_t elements(const reshard_problem *p) {
  uint64_t n = p->apart;
  for (uint32_t d = 0; d < p->rank; d++) n *= (uint64_t)p->shape[d];
  return n;
}

static uint64_t summands(const reshard_problem *p, uint32_t digits) {
  uint64_t n = 1;
  for (uint32_t k = 0; k < p->digit_count; k++)
    if (digits >> k & 1) n *= (uint64_t)p->digits[k].size;
  return n;
}

/* With `held` empty: the bytes that devices need, the most and all together. */
static void needs(const reshard_problem *p, pass_reshard_cost *out) {
  pass_reshard_cost most;
  uint64_t n = 1;
  reshard_hop_at_least(p, &p->to, &p->to, &most);
  out->recv = most.peak / 2;
  for (uint32_t d = 0; d < p->rank; d++) n *= (uint64_t)p->shape[d];
  out->total = n * p->item * (p->devices / summands(p, reshard_used(&p->to, p->rank)));
}

static uint64_t doublings(uint64_t messages) {
  uint64_t n = 0;
  while (n < 63 && (uint64_t)1 << n < messages + 1) n++;
  return n;
}

void reshard_bound(const reshard_problem *p, const reshard_layout *from, pass_reshard_cost *out) {
  uint32_t sums = from->pending & ~p->to.pending;
  reshard_hop_at_least(p, from, &p->to, out);
  if (sums) {
    uint64_t messages = out->messages;
    needs(p, out);
    out->total += (summands(p, sums) - 2) * elements(p) * p->item;
    uint64_t mean = out->total / p->devices + (out->total % p->devices != 0);
    if (mean > out->recv) out->recv = mean;
    out->messages = messages;
  }
  uint64_t messages = doublings(out->messages), one = out->recv > 0;
  double apart = reshard_least_time(p, one, out->recv), doubled = reshard_least_time(p, messages, 0);
  out->time = (uint64_t)(p->even           ? reshard_least_time(p, messages, out->recv)
                         : apart > doubled ? apart
                                           : doubled);
  out->messages = messages;
  out->peak = 0;
}
