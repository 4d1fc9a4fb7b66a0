/* Prefetching in fused row groups. The statements of a group go over the same rows one after the other: the
 * first one that reads a row of a parameter waits for memory, those after it compute on what the cache holds
 * by then, and memory idles meanwhile. So where a row is read a second time, the same place some rows further
 * on is prefetched. Lines that hardware prefetchers would have reached anyway are not fetched twice; a
 * prefetch past the end does nothing.
 *
 * Measured on a softmax of rows of 4 KiB: a quarter less time with two rows ahead. Where a group stores no
 * rows the L1 cache has room for nearly as many again: for variances of blocks of 12 KiB, 1 3/4 blocks ahead
 * take a tenth less time than one; three, which evict one another, take a fifth more; and 1 3/4 take a tenth
 * less than where the first reader prefetches as well.
 *
 * Where the second reader stores past the caches, what is on its way to memory leaves less room for what
 * comes from there. If the first reader computes long enough for each line, as it does where it sums up the
 * blocks of a scan, it prefetches in place of the second one: scans of rows of 4 and 16 KiB in 64 MiB take 12
 * to 16 % less time, those of 32 KiB the same; of 1 KiB 4 % more, as do scaled rows, whose sums take no time.
 *
 * Loops that sweep over memory once gain nothing while they compute little: the processor looks many elements
 * ahead by itself. Of a long chain of operations it sees only the next few elements, and the loop prefetches
 * what memory delivers during its latency: a tanh takes 8 % less on Zen 5, eight operations on two arrays,
 * with a square root, 14 to 19 % on Sapphire Rapids (MIN_AHEAD of lanes.c).
 *
 * A search for an index ends each row with a long chain of comparisons between lanes, during which nothing
 * more is asked of memory: it prefetches, too, a tenth less time for rows of 16 KiB. Sums of long rows read
 * two of them at a time, and prefetch (choose_streams of lanes.c). */
#include "cpu.h"

#include "passes/index/index.h"

/* Half and twice MIN_ROW_BYTES and MAX_ROW_BYTES change no workload's loops. */
enum {
  MIN_ROW_BYTES = 512, /* of shorter rows hardware prefetchers reach the next ones: 8 lines of a page of 64 */
  MAX_ROW_BYTES = 32 << 10, /* an L1 cache: a longer row would push itself out */
  /* from a load to what it prefetches, in whole rows: two rows of 4 KiB, as measured above */
  AHEAD_BYTES = 8 << 10,
  /* where memory is swept: 32 lines, what it delivers to one processor, at 20 GB/s, in its latency of 100 ns.
   * With 8 KiB a tanh of 64 MiB takes 9.3 ms on Sapphire Rapids, with 2 KiB 5.8, with 1 KiB 6.3; a sum of 256
   * MiB 18.2, 16.1, and 15.4 */
  SWEEP_BYTES = 2 << 10
};

/* The index in all iterations but a last one that begins further back, so that it has as many rows. */
static ir_ref unless_last(ir_graph *g, ir_ref index, ir_ref range) {
  ir_ref least;
  if (affine_find_range(g, index, IR_OP_MIN, &least, 1) == 0) return index;
  ir_ref first = ir_src(g, least, affine_depends(g, ir_src(g, least, 0), range) ? 0 : 1);
  return pass_substitute(g, index, &least, &first, 1);
}

/* Bytes from a row to the next one; 0: nothing is prefetched. */
static int64_t row_bytes_of(const loop_nest *n, ir_ref load) {
  ir_graph *g = n->g;
  const ir_node *l = ir_get(g, load);
  int64_t row, bytes = ir_dtypes[l->dtype].bytes;
  if (ir_op_of(g, l->src[0]) != IR_OP_PARAM || l->arg != 0) return 0;
  ir_ref range = n->axes[n->axis_count - 1].range;
  if (!affine_stride(g, unless_last(g, l->src[1], range), range, &row) || row <= 0) return 0;
  return row > MAX_ROW_BYTES || row * bytes < MIN_ROW_BYTES || row * bytes > MAX_ROW_BYTES ? 0 : row * bytes;
}

/* Bytes from a row to the one that is prefetched. */
static int64_t bytes_ahead(int64_t row) { return row * ((AHEAD_BYTES + row - 1) / row); }

/* The loads of each store of a group. */
typedef struct group_loads {
  ir_ref load[MAX_STORES][LOOP_MAX_LOADS];
  uint32_t count[MAX_STORES];
} group_loads;

/* How many of the stores before number `at` read the parameter. */
static uint32_t readers_before(const ir_graph *g, const group_loads *all, uint32_t at, ir_ref param) {
  uint32_t readers = 0;
  for (uint32_t i = 0; i < at; i++) {
    uint32_t k = 0;
    while (k < all->count[i] && ir_src(g, all->load[i][k], 0) != param) k++;
    readers += k < all->count[i];
  }
  return readers;
}

ir_ref loop_load_ahead(ir_graph *g, ir_ref load, int64_t elements, int64_t stream) {
  const ir_node *l = ir_get(g, load);
  return ir_make(g, IR_OP_LOAD, (ir_dtype)l->dtype, ir_pack_arg(elements, stream),
                 (ir_ref[]){l->src[0], l->src[1], l->src[2], l->src[3]}, 4);
}

/* Does a store write more than one value for each iteration of the shared loops? */
static bool write_rows(const loop_nest *n, const ir_ref *stores, uint32_t count) {
  ir_graph *g = n->g;
  ir_ref ranges[MAX_FOUND_RANGES];
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *s = ir_get(g, stores[i]);
    uint32_t found = ir_op_of(g, s->src[0]) == IR_OP_PARAM
                         ? affine_find_range(g, s->src[1], IR_OP_RANGE, ranges, MAX_FOUND_RANGES)
                         : 0;
    for (uint32_t k = 0; k < found; k++) {
      bool shared = false;
      for (uint32_t a = 0; a < n->axis_count; a++) shared |= n->axes[a].range == ranges[k];
      for (uint32_t b = 0; b < n->bound_count; b++) shared |= n->bound[b] == ranges[k];
      if (!shared) return true;
    }
  }
  return false;
}

/* Has the value of a store a reduction of a few terms, which lanes add up again and again? */
static bool sums_blocks(ir_graph *g, ir_ref store) {
  ir_ref reduces[LOOP_MAX_NODES];
  uint32_t count = affine_find_range(g, store, IR_OP_REDUCE, reduces, LOOP_MAX_NODES);
  bool blocks = false;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *r = ir_get(g, reduces[i]);
    blocks |= ir_bounds_of(g, ir_src(g, r->src[r->nsrc - 1], 0)).hi <= PASS_FEW_TERMS;
  }
  return blocks;
}

/* Do the loads of store number `at` prefetch rows of a parameter? The second store that reads it does, but
 * where that one stores past the caches, and the first one sums up blocks of long rows, the first. */
static bool is_prefetcher(ir_graph *g, const group_loads *all, const ir_ref *stores, uint32_t count,
                          uint32_t at, ir_ref param, int64_t row_bytes) {
  uint32_t second = 0, first = 0;
  while (second < count && readers_before(g, all, second + 1, param) < 2) second++;
  while (first < second && readers_before(g, all, first + 1, param) < 1) first++;
  bool early = second < count && row_bytes >= IR_PAGE_BYTES &&
               ir_arg_mode(ir_get(g, stores[second])) != IR_NO_STREAM && sums_blocks(g, stores[first]);
  return at == (early ? first : second);
}

/* The loads of store number `at` prefetch rows further on along the last axis of the nest that all stores
 * share. */
static ir_ref fetch_ahead(const loop_nest *n, const group_loads *all, const ir_ref *stores, uint32_t count,
                          uint32_t at, bool only_reads) {
  ir_graph *g = n->g;
  ir_ref loads[LOOP_MAX_LOADS], made[LOOP_MAX_LOADS];
  uint32_t used = 0;
  for (uint32_t i = 0; i < all->count[at]; i++) {
    ir_ref load = all->load[at][i];
    int64_t row = row_bytes_of(n, load);
    if (!row || !is_prefetcher(g, all, stores, count, at, ir_src(g, load, 0), row)) continue;
    int64_t bytes = bytes_ahead(row), elements = bytes / ir_dtypes[ir_dtype_of(g, load)].bytes;
    if (only_reads && 2 * bytes <= n->target->l1_bytes) elements += elements / 4 * 3;
    loads[used] = load;
    made[used++] = loop_load_ahead(g, load, elements, IR_NO_STREAM);
  }
  return used ? pass_substitute(g, stores[at], loads, made, used) : stores[at];
}

static bool prefetch_group(const loop_nest *n, ir_ref *stores, uint32_t count) {
  group_loads all;
  bool only_reads = !write_rows(n, stores, count);
  for (uint32_t i = 0; i < count; i++)
    all.count[i] = affine_find_range(n->g, stores[i], IR_OP_LOAD, all.load[i], LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++)
    if (!(stores[i] = fetch_ahead(n, &all, stores, count, i, only_reads))) return false;
  return true;
}

/* Recursive: each group inside another one has axes of its own, of MAX_FOUND_RANGES in all. */
static bool prefetch_in(const loop_nest *around, ir_ref *stores, uint32_t count) {
  loop_group group;
  for (uint32_t i = 0; i < count; i += group.count) {
    ir_ref bound[MAX_FOUND_RANGES];
    loop_nest base = *around, *n = &group.nest;
    if (!loop_read_group(&base, stores + i, count - i, &group)) return false;
    if (group.count == 1) continue;
    if (n->has_locals && !prefetch_group(n, stores + i, group.count)) return false;
    if (around->bound_count + n->axis_count > MAX_FOUND_RANGES) continue;
    base.bound = bound, base.bound_count = 0;
    for (uint32_t b = 0; b < around->bound_count; b++) bound[base.bound_count++] = around->bound[b];
    for (uint32_t a = 0; a < n->axis_count; a++) bound[base.bound_count++] = n->axes[a].range;
    if (!prefetch_in(&base, stores + i, group.count)) return false;
  }
  return true;
}

ir_ref loop_prefetch_rows(ir_graph *g, ir_ref effect, const ir_target *target) {
  loop_stores stores;
  ir_ref local;
  loop_nest base = {.g = g, .target = target, .strategy = &pass_on_cpu};
  if (!affine_find_range(g, effect, IR_OP_LOCAL, &local, 1)) return effect;
  if (!loop_list_stores(g, effect, &stores) || !prefetch_in(&base, stores.store, stores.count)) return 0;
  return loop_sequence(g, stores.store, stores.count);
}

bool loop_is_swept(const loop_nest *n, ir_ref range, ir_ref load) {
  ir_graph *g = n->g;
  const ir_node *l = ir_get(g, load);
  int64_t stride, bytes = ir_dtypes[l->dtype].bytes;
  return ir_op_of(g, l->src[0]) == IR_OP_PARAM && l->arg == 0 &&
         affine_stride(g, l->src[1], range, &stride) && stride == 1 &&
         ir_bounds_of(g, ir_src(g, l->src[0], 0)).lo > n->target->l2_bytes / bytes;
}

/* body, with loads that prefetch what comes `bytes` later along the range. */
static ir_ref sweep_ahead(const loop_nest *n, ir_ref body, ir_ref range, int64_t bytes) {
  ir_graph *g = n->g;
  ir_ref loads[LOOP_MAX_LOADS], made[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(g, body, IR_OP_LOAD, loads, LOOP_MAX_LOADS), used = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!loop_is_swept(n, range, loads[i])) continue;
    loads[used] = loads[i];
    made[used++] =
        loop_load_ahead(g, loads[i], bytes / ir_dtypes[ir_dtype_of(g, loads[i])].bytes, IR_NO_STREAM);
  }
  return used ? pass_substitute(g, body, loads, made, used) : body;
}

ir_ref loop_sweep_ahead(const loop_nest *n, ir_ref body, ir_ref range) {
  return sweep_ahead(n, body, range, SWEEP_BYTES);
}

ir_ref loop_search_ahead(const loop_nest *n, ir_ref body, ir_ref range) {
  return sweep_ahead(n, body, range, AHEAD_BYTES);
}
