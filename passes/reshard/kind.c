/* What a hop is called: by which digits leave a dimension, and which come. */
#include "impl.h"

const char *const pass_reshard_names[] = {
    [PASS_RESHARD_SLICE] = "slice",           [PASS_RESHARD_ALL_GATHER] = "all_gather",
    [PASS_RESHARD_ALL_TO_ALL] = "all_to_all", [PASS_RESHARD_REDUCE_SCATTER] = "reduce_scatter",
    [PASS_RESHARD_ALL_REDUCE] = "all_reduce", [PASS_RESHARD_PERMUTE] = "permute",
    [PASS_RESHARD_EXCHANGE] = "exchange",
};

pass_reshard_kind reshard_kind(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                               const pass_reshard_cost *cost, uint32_t *moved) {
  uint32_t leaves = 0, comes = 0, sums = from->pending & ~to->pending;
  for (uint32_t d = 0; d < p->rank; d++) {
    uint32_t i = reshard_first(from, d), k = reshard_first(to, d);
    while (i < from->ends[d] && k < to->ends[d] && from->order[i] == to->order[k]) i++, k++;
    for (; i < from->ends[d]; i++) leaves |= 1u << from->order[i];
    for (; k < to->ends[d]; k++) comes |= 1u << to->order[k];
  }
  *moved = leaves | comes | sums;
  if (sums) {
    if (!leaves && !comes) return PASS_RESHARD_ALL_REDUCE;
    return !leaves && (comes & sums) == sums ? PASS_RESHARD_REDUCE_SCATTER : PASS_RESHARD_EXCHANGE;
  }
  if (cost->total == 0) return PASS_RESHARD_SLICE;
  if (!comes) return PASS_RESHARD_ALL_GATHER;
  /* one part comes whole: it has half the bytes of the parts before and after */
  if (cost->messages <= 1 && cost->peak == 2 * cost->recv) return PASS_RESHARD_PERMUTE;
  return leaves == comes ? PASS_RESHARD_ALL_TO_ALL : PASS_RESHARD_EXCHANGE;
}
