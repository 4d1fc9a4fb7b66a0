/* Which accesses are non-temporal (bypass the caches), in a kernel that moves more than the last-level cache
 * holds.
 *
 * Stores: those of a large output. The lines of ordinary stores would be evicted before anything reads them,
 * and each would have been fetched from memory first. An output that fits stays where the next kernel finds
 * it, even if the inputs do not fit; of one that does not, a quarter stays there if little is read that could
 * evict it (a tenth less time with two threads; a tenth more where much is read).
 *
 * Loads, where the target reads past the caches: of a large parameter whose elements a sum, or another
 * reduction by value, reads in sequence and nothing else in the kernel reads. A non-temporal prefetch evicts
 * nothing else from the caches, and with a victim cache evictions are traffic, too: sums over 256 MiB take 3
 * to 7 % less time on Zen 5. On Sapphire Rapids, whose L2 cache the prefetch bypasses, and with it the
 * prefetchers there, they take twice the time: so it is measured. Not where the store is non-temporal as
 * well, since rows are short there; nor down columns, which takes a quarter more; nor before a search
 * (argmax, argmin), which prefetches further ahead. */
#include "cpu.h"

#include "ir/arith.h"
#include "passes/index/index.h"

enum {
  MAX_KERNEL_NODES = 1024, /* parameters, and loads, of a kernel [9 in the workloads]: of more loads none is
                              non-temporal; of more parameters some do not count */
  AHEAD_BYTES = 2 << 10    /* from a load to what it prefetches: 32 lines, what memory delivers to one
                              processor, at 20 GB/s, in its latency of 100 ns */
};

/* A lower bound of the parameter's bytes. */
static int64_t bytes_of(ir_graph *g, ir_ref param) {
  int64_t count = ir_bounds_of(g, ir_src(g, param, 0)).lo;
  return count > 0 && count < INT64_MAX / 64 ? count * ir_dtypes[ir_dtype_of(g, param)].bytes : 0;
}

/* A lower bound of the bytes that the stores put there: a write through a view changes few of a large array.
 */
static int64_t stored_bytes(ir_graph *g, const loop_stores *stores, ir_ref param) {
  int64_t all = bytes_of(g, param), bytes = 0;
  for (uint32_t i = 0; i < stores->count && bytes < all; i++) {
    ir_ref ranges[MAX_FOUND_RANGES];
    if (ir_src(g, stores->store[i], 0) != param) continue;
    ir_ref index = ir_src(g, stores->store[i], 1);
    int64_t points = ir_dtypes[ir_dtype_of(g, param)].bytes;
    for (uint32_t k = affine_find_range(g, index, IR_OP_RANGE, ranges, MAX_FOUND_RANGES); k-- > 0;)
      if (!ir_mul_ok(points, ir_bounds_of(g, ir_src(g, ranges[k], 0)).lo, &points)) return all;
    bytes += points < all ? points : all;
  }
  return bytes < all ? bytes : all;
}

static bool is_stored(const ir_graph *g, const loop_stores *stores, ir_ref param) {
  bool stored = false;
  for (uint32_t i = 0; i < stores->count; i++) stored |= ir_src(g, stores->store[i], 0) == param;
  return stored;
}

/* Does the store read of what it stores to? Lines that were read are in the caches. */
static bool reads_output(ir_graph *g, ir_ref store) {
  ir_ref loads[LOOP_MAX_LOADS];
  uint32_t count = affine_find_range(g, store, IR_OP_LOAD, loads, LOOP_MAX_LOADS);
  for (uint32_t i = 0; i < count; i++)
    if (ir_src(g, loads[i], 0) == ir_src(g, store, 0)) return true;
  return false;
}

/* How a kernel that moves more than the last-level cache holds stores an output. */
static int64_t mode_of(const ir_target *target, int64_t output, int64_t inputs) {
  if (output <= target->l3_bytes / 2) return IR_NO_STREAM;
  bool stays = inputs <= target->l3_bytes / 4 && output / 4 <= target->l3_bytes / 2;
  return stays ? IR_STREAM_MOST : IR_STREAM;
}

/* Is the range the last one of a reduction by value, not argmax or argmin? */
static bool is_summed(ir_graph *g, ir_ref store, ir_ref range) {
  ir_ref found[MAX_KERNEL_NODES];
  uint32_t count = affine_find_range(g, store, IR_OP_REDUCE, found, MAX_KERNEL_NODES);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *r = ir_get(g, found[i]);
    bool is_index_reduction = ir_arg_int(r) == IR_OP_ARGMAX || ir_arg_int(r) == IR_OP_ARGMIN;
    if (!is_index_reduction && r->src[r->nsrc - 1] == range) return true;
  }
  return false;
}

/* Is another element read at each iteration point of the store's ranges, in sequence along a sum? */
static bool is_swept(ir_graph *g, ir_ref store, ir_ref load) {
  ir_ref ranges[MAX_FOUND_RANGES];
  uint32_t count = affine_find_range(g, store, IR_OP_RANGE, ranges, MAX_FOUND_RANGES);
  bool swept = false;
  for (uint32_t i = 0; i < count; i++) {
    int64_t stride;
    if (!affine_stride(g, ir_src(g, load, 1), ranges[i], &stride) || stride == 0) return false;
    swept |= stride == 1 && is_summed(g, store, ranges[i]);
  }
  return swept && count < MAX_FOUND_RANGES;
}

/* all: loads of all stores */
static bool is_only_reader(ir_graph *g, const ir_ref *all, uint32_t count, ir_ref load) {
  uint32_t readers = 0;
  for (uint32_t i = 0; i < count; i++) readers += ir_src(g, all[i], 0) == ir_src(g, load, 0);
  return readers == 1;
}

/* The store, with non-temporal prefetches of large parameters that it sums up. */
static ir_ref fetch_past(ir_graph *g, const ir_target *target, ir_ref store, const ir_ref *all,
                         uint32_t count) {
  ir_ref loads[LOOP_MAX_LOADS], made[LOOP_MAX_LOADS];
  uint32_t found = affine_find_range(g, store, IR_OP_LOAD, loads, LOOP_MAX_LOADS), used = 0;
  for (uint32_t i = 0; i < found; i++) {
    const ir_node *l = ir_get(g, loads[i]);
    if (ir_op_of(g, l->src[0]) != IR_OP_PARAM || bytes_of(g, l->src[0]) <= target->l3_bytes / 2) continue;
    if (!is_only_reader(g, all, count, loads[i]) || !is_swept(g, store, loads[i])) continue;
    loads[used] = loads[i];
    made[used++] = loop_load_ahead(g, loads[i], AHEAD_BYTES / ir_dtypes[l->dtype].bytes, IR_STREAM);
  }
  return used ? pass_substitute(g, store, loads, made, used) : store;
}

static bool fetch_all_past(ir_graph *g, const ir_target *target, ir_ref effect, loop_stores *stores) {
  ir_ref loads[MAX_KERNEL_NODES];
  if (!target->reads_past) return true;
  uint32_t count = affine_find_range(g, effect, IR_OP_LOAD, loads, MAX_KERNEL_NODES);
  for (uint32_t i = 0; i < stores->count && count < MAX_KERNEL_NODES; i++) {
    if (ir_arg_mode(ir_get(g, stores->store[i])) != IR_NO_STREAM) continue;
    if (!(stores->store[i] = fetch_past(g, target, stores->store[i], loads, count))) return false;
  }
  return true;
}

ir_ref loop_stream(ir_graph *g, ir_ref effect, const ir_target *target) {
  ir_ref params[MAX_KERNEL_NODES];
  uint32_t count = affine_find_range(g, effect, IR_OP_PARAM, params, MAX_KERNEL_NODES);
  int64_t moved = 0, inputs = 0;
  loop_stores stores;
  if (!loop_list_stores(g, effect, &stores)) return 0;
  for (uint32_t i = 0; i < count; i++) {
    bool stored = is_stored(g, &stores, params[i]);
    int64_t bytes = stored ? stored_bytes(g, &stores, params[i]) : bytes_of(g, params[i]);
    moved += bytes;
    if (!stored) inputs += bytes;
  }
  if (moved <= target->l3_bytes) return effect;
  for (uint32_t i = 0; i < stores.count; i++) {
    const ir_node *n = ir_get(g, stores.store[i]);
    int64_t mode = IR_NO_STREAM;
    if (n->op == IR_OP_STORE && !reads_output(g, stores.store[i]))
      mode = mode_of(target, stored_bytes(g, &stores, n->src[0]), inputs);
    if (mode == IR_NO_STREAM) continue;
    if (!(stores.store[i] = ir_make(g, IR_OP_STORE, IR_NONE, ir_pack_arg(0, mode), n->src, n->nsrc)))
      return 0;
  }
  return fetch_all_past(g, target, effect, &stores) ? loop_sequence(g, stores.store, stores.count) : 0;
}
