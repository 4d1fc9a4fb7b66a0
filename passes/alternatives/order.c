/* In what order kernels add up floats, and whether an alternative keeps it.
 *
 * A sum of the graph has the same terms wherever it is computed. Shaping reports of each in what order it
 * takes them (passes/loops/reduce.c): the lanes, the accumulators and the blocks follow from the extents and
 * a few choices that depend on what the terms read. The kernels of an alternative have the sums of the kernel
 * in whose place they are. So they keep the order of each if all that they report of reductions of some
 * extents is what the kernel reports of reductions of these, and if that is one and the same order. */
#include "alternatives.h"

void alternatives_order_add(alternatives_order *o, pass_sum_order sum) {
  for (size_t i = 0; i < o->count; i++)
    if (o->sums[i].terms == sum.terms && o->sums[i].order == sum.order) return;
  if (o->count == ALTERNATIVES_SUMS) o->failed = true;
  else o->sums[o->count++] = sum;
}

/* The only order of the terms; 0: there is none, or there are several. */
static uint64_t only_order(const alternatives_order *o, uint64_t terms) {
  uint64_t found = 0;
  for (size_t i = 0; i < o->count; i++) {
    if (o->sums[i].terms != terms) continue;
    if (found || !o->sums[i].order) return 0;
    found = o->sums[i].order;
  }
  return found;
}

bool alternatives_order_keeps(const alternatives_order *fused, const alternatives_order *alternative) {
  bool keeps = !fused->failed && !alternative->failed;
  for (size_t i = 0; i < alternative->count && keeps; i++) {
    uint64_t order = alternative->sums[i].order;
    keeps = order && only_order(fused, alternative->sums[i].terms) == order;
  }
  return keeps;
}
