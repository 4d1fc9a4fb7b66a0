/* The choices for processors. What each field means is said in passes/strategy.h. */
#include "cpu.h"

#include "passes/loops/reduce.h"

static int lanes_of_terms(const loop_nest *n, int bytes) {
  (void)n;
  return REDUCE_LANE_BYTES / bytes;
}

static int64_t exchange_bytes(const ir_target *target) {
  (void)target;
  return 0;
}

static ir_ref stage_product(loop_place *p, ir_ref reduce, const ir_ref *at) {
  (void)p, (void)reduce, (void)at;
  return 0;
}

static ir_ref shift_last(loop_place *p, uint32_t d, ir_ref start, ir_ref left) {
  (void)p, (void)d, (void)start, (void)left;
  return 0;
}

/* AVX2 has masked stores of elements of 4 and 8 bytes, AVX-512, whose vectors have 64, of all. */
static bool masks_stores(const ir_target *target, int bytes) {
  return target->has_masks && (bytes >= 4 || target->vector_bytes >= 64);
}

static int64_t max_lanes_together(const ir_target *target) {
  (void)target;
  return PASS_FAR_TOO_MANY;
}

/* Each number has its unit in passes/strategy.h, and its reason here. */
const pass_strategy pass_on_cpu = {
    .steps = PASS_CPU,

    /* Two units of work for each of 16 threads; chunks of 8 Ki elements, 32 KiB of f32; 256 results are a row
     * of 16 of the widest vectors. Not of the machine at hand, as they decide the order of additions. */
    .chunks = {.enough_grains = 32,
               .max_chunks = 64,
               .min_chunk = 1 << 13,
               .min_terms = 1,
               .contiguous_results = 256,
               .in_sequence = true},
    /* of an L2 cache, of 256 KiB on older processors, 1 or 2 MiB on others */
    .transposed_rows_bytes = 256 << 10,
    .panel_columns = loop_panel_columns,

    .separates_functions = true,
    .never_fused = PASS_MASKED_KERNELS, /* they are split where masks begin and end (passes/domain/peel.c) */
    .unlimited_locals = PASS_FAR_TOO_MANY,
    .choose_rows = loop_choose_cache_rows,
    .choose_elements = loop_choose_row_elements,
    .choose_block_rows = loop_choose_block_rows,
    /* of an L2 cache of 1 MiB they leave a quarter to the weights that stream through it. The workloads reach
     * 673 KiB */
    .transposed_locals_bytes = 768 << 10,

    .crops_innermost = true, /* without masks a loop has whole vectors, and no instruction for the test */
    .transposes_vectors = true,
    .choose_lanes = loop_choose_vectors,
    .bind_outermost = loop_bind_threads,
    .orders_around_blocks = true,
    .lanes_of_terms = lanes_of_terms,
    .combines_prefixes = true,
    .exchange_bytes = exchange_bytes,
    /* a load and a store for eight additions that load: 17.3 ms for R3 with four, 16.8 with eight */
    .spilled_terms = 8,
    .inner_terms = LOOP_INNER_TERMS,
    .read_ahead = loop_search_ahead,
    .stage_product = stage_product, /* they are packed before, and caches hold what tiles read again */

    .overlaps_last = loop_vectors_overlap_last,
    .shift_last = shift_last,
    .place_uncounted = loop_place_single,
    .masks_stores = masks_stores,
    .lanes_of_remainder = loop_power_below,

    .moves = {.max_vector_levels = 1, /* a vector has lanes along one axis */
              .max_lanes = LOOP_MAX_LANES,
              .max_lanes_together = max_lanes_together,
              .max_contiguous = 0}, /* unrolled elements are vectors, not elements of a lane */
};
