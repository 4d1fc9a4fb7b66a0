/* The choices for GPUs. What each field means is said in passes/strategy.h. */
#include "gpu.h"

static int lanes_of_terms(const loop_nest *n, int bytes) {
  (void)bytes;
  return loop_group_size(n);
}

/* Other work-items run while one waits for memory. */
static ir_ref read_ahead(const loop_nest *n, ir_ref body, ir_ref range) {
  (void)n, (void)range;
  return body;
}

static int64_t lanes_of_remainder(int64_t elements) { return elements; }

static int64_t max_lanes_together(const ir_target *target) { return target->group_items; }

/* Each number has its unit in passes/strategy.h, and its reason here. */
const pass_strategy pass_on_gpu = {
    .steps = PASS_GPU,

    /* Eight groups for each of 128 compute units; chunks of 4 Ki elements, and of 2 Ki terms of one result,
     * eight for each of 256 work-items; 32 results are read by work-items in lockstep. Not of the machine at
     * hand, as they decide the order of additions. */
    .chunks = {.enough_grains = 1024,
               .max_chunks = 1024,
               .min_chunk = 1 << 12,
               .min_terms = 1 << 11,
               .contiguous_results = 32},
    .transposed_rows_bytes = 0, /* scattered accesses are staged through locals (shared_memory.c) */
    .panel_columns = NULL,      /* what a group reads again it keeps in its locals (staged_product.c) */

    .separates_functions = false,            /* what they pass on would take locals, and a barrier for each */
    .never_fused = PASS_CONTRACTION_KERNELS, /* a product's tiles fill the locals of a group */
    .unlimited_locals = PASS_GROUP_BYTES,    /* then they are memory behind caches */
    .choose_rows = loop_choose_group_rows,
    .choose_elements = NULL,      /* the work-items of a group are a number */
    .choose_block_rows = NULL,    /* what a group does not keep of a long row it reads again from a cache */
    .transposed_locals_bytes = 0, /* there are no products in groups */

    /* On an H200 a test costs nothing that memory would not: images padded by one element take 0.036 ms with
     * it and 0.075 without, a stencil of five points 0.214 and 0.261, sixteen tensors joined along rows 0.43
     * and 0.63; joined along columns, where whole groups are in one of them, 0.45 and 0.33. */
    .crops_innermost = false,
    .choose_lanes = loop_choose_group,
    .bind_outermost = loop_bind_groups,
    .lanes_of_terms = lanes_of_terms,
    .exchange_bytes = loop_exchange_bytes,
    .inner_terms = 0,   /* the device's compiler unrolls */
    .spilled_terms = 1, /* a work-item's sums stay in its registers */
    .read_ahead = read_ahead,
    .stage_product = loop_staged_product,

    .overlaps_last = loop_groups_overlap_last,
    .overlaps_blocks = true, /* a group more costs less than one of twice the work */
    .shift_last = loop_shift_last,
    .place_uncounted = loop_place_narrowing,
    .lanes_of_remainder = lanes_of_remainder, /* a group may have any number of work-items */

    .moves = {.max_vector_levels = MAX_LEVELS,
              .max_lanes = PASS_FAR_TOO_MANY, /* what a group has limits those of all levels */
              .max_lanes_together = max_lanes_together,
              /* of a vector load of a local (codegen/opencl/local_vector.c) */
              .max_contiguous = 4},
};
