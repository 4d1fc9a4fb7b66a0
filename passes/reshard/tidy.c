/* The steps of a way that was found: as few as cost no more, and each of one kind. */
#include "impl.h"

void reshard_path_cost(const reshard_problem *p, const reshard_path *path, uint32_t i,
                       pass_reshard_cost *cost) {
  (path->flat[i] ? reshard_flat : reshard_hop)(p, &path->at[i - 1], &path->at[i], cost);
}

static bool dearer(const reshard_problem *p, const pass_reshard_cost *a, const pass_reshard_cost *b) {
  reshard_rank x = reshard_rank_of(p, a, 0), y = reshard_rank_of(p, b, 0);
  return reshard_compare(&x, &y) > 0;
}

/* Joins neighbouring steps where one costs no more than both. */
static void join_steps(const reshard_problem *p, reshard_path *path) {
  for (uint32_t i = 1; i + 1 < path->count;) {
    pass_reshard_cost two, second, one;
    reshard_path_cost(p, path, i, &two);
    reshard_path_cost(p, path, i + 1, &second);
    reshard_hop(p, &path->at[i - 1], &path->at[i + 1], &one);
    reshard_add(&two, &second);
    reshard_path joined = *path;
    for (uint32_t k = i; k + 1 < path->count; k++)
      joined.at[k] = path->at[k + 1], joined.flat[k] = path->flat[k + 1];
    joined.flat[i] = false;
    joined.count--;
    if (dearer(p, &one, &two) || one.peak > two.peak ||
        reshard_path_received(p, &joined) > reshard_path_received(p, path)) {
      i++;
      continue;
    }
    *path = joined;
    i = 1;
  }
}

/* The layout between a slice and the remainder of a hop that finishes sums: with those new digits that are
 * not of the sums, where they come first. False where there is none. */
static bool slice_first(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                        reshard_layout *between) {
  uint32_t sums = from->pending & ~to->pending;
  *between = *from;
  for (uint32_t d = 0; d < p->rank && sums; d++)
    for (uint32_t i = reshard_first(to, d) + from->ends[d] - reshard_first(from, d); i < to->ends[d]; i++) {
      if (sums >> to->order[i] & 1) break;
      reshard_append(between, p->rank, d, to->order[i]);
    }
  return sums && !reshard_equal(between, from);
}

/* A slice before a reduce_scatter is a step of its own, so that each is of one kind. */
static void split_slices(const reshard_problem *p, reshard_path *path) {
  for (uint32_t i = 1; i < path->count && path->count <= PASS_RESHARD_STEPS; i++) {
    reshard_layout between;
    pass_reshard_cost cost, slice, remainder;
    uint32_t moved;
    reshard_path_cost(p, path, i, &cost);
    if (path->flat[i] ||
        reshard_kind(p, &path->at[i - 1], &path->at[i], &cost, &moved) != PASS_RESHARD_REDUCE_SCATTER ||
        !slice_first(p, &path->at[i - 1], &path->at[i], &between))
      continue;
    reshard_hop(p, &path->at[i - 1], &between, &slice);
    reshard_hop(p, &between, &path->at[i], &remainder);
    reshard_add(&slice, &remainder);
    if (dearer(p, &slice, &cost) || slice.peak > cost.peak) continue;
    for (uint32_t k = path->count++; k > i; k--)
      path->at[k] = path->at[k - 1], path->flat[k] = path->flat[k - 1];
    path->at[i] = between, path->flat[i++] = false;
  }
}

void reshard_tidy(const reshard_problem *p, reshard_path *path) {
  join_steps(p, path);
  split_slices(p, path);
}
