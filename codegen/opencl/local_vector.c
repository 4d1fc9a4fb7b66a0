/* Work-item style: unrolled values of a load that are contiguous in a local are loaded at once, four elements
 * or 16 bytes of them, whichever is less. A local begins at a multiple of 16 bytes; all terms of the index
 * but the unrolled lane must be multiples of the number of elements. */
#include "codegen/opencl/opencl.h"

typedef struct local_vector {
  uint32_t loop, count; /* `count` unrolled values along this loop at once */
} local_vector;

static bool local_vector_of(const tx_emitter *e, ir_ref load, local_vector *out) {
  enum {
    MAX_BYTES = 16,  /* of one load: the most that a work-item reads of a local at once */
    MAX_ELEMENTS = 4 /* of one load: VF_LOAD takes vectors of two and of four */
  };
  const ir_node *n = ir_get(e->g, load);
  uint32_t bytes = tx_bytes(tx_storage_of(e, ir_dtype_of(e->g, n->src[0])));
  const uint64_t *lanes = cg_lanes(e->nest, load);
  if (!oc_are_items(e) || cg_local_of(e->g, load) < 0 || oc_is_private(e, n->src[0]) ||
      !ir_is_true(e->g, n->src[2]))
    return false;
  out->count = MAX_BYTES / bytes < MAX_ELEMENTS ? MAX_BYTES / bytes : MAX_ELEMENTS;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &e->nest->loops[l];
    int64_t stride;
    if (loop->binding != IR_UNROLL || loop->extent % out->count != 0 ||
        !cg_stride(e->nest, n->src[1], (uint32_t)l, &stride) || stride != 1 ||
        !cg_is_multiple(e->g, n->src[1], loop->range, out->count))
      continue;
    out->loop = (uint32_t)l;
    return true;
  }
  return false;
}

/* The w->count unrolled values from the current lanes on. */
static void read_wide(tx_emitter *e, ir_ref load, const local_vector *w, void **unrolled) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  tx_value all = tx_temporary(e, oc_read_aligned(e, n->src[0], n->src[1], w->count));
  for (uint32_t k = 0; k < w->count && !e->order.failed; k++, e->order.lane[w->loop]++) {
    tx_value *values = unrolled[cg_unroll_index(&e->order, lanes)] = tx_values(e, 1);
    if (values) *values = tx_temporary(e, tx_from_storage(e, dtype, tx_element(e, all, k)));
  }
  e->order.lane[w->loop] -= w->count;
}

bool oc_emit_local_vectors(tx_emitter *e, ir_ref load, void **unrolled) {
  const uint64_t *lanes = cg_lanes(e->nest, load);
  local_vector w;
  if (!local_vector_of(e, load, &w)) return false;
  cg_first_lane(&e->order, lanes);
  do
    if (e->order.lane[w.loop] % w.count == 0) read_wide(e, load, &w, unrolled);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}
