/* Elements of f16 and bf16 by pairs, where lanes are work-items and the target has matrix instructions: what
 * a slab takes goes from an input to a local 32 bits at a time, and as it lies in memory. */
#include "codegen/opencl.h"

#include <string.h>

/* The loop of copies of which two lie side by side from an even element on, or -1. */
static int64_t pair_loop(const oc_emitter *e, ir_ref access, ir_op space) {
  const ir_node *n = ir_get(e->g, access);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  const uint64_t *lanes = cg_lanes(e->nest, access);
  if (!e->by_lanes || !e->target->matrix || (dtype != IR_F16 && dtype != IR_BF16) ||
      ir_op_of(e->g, n->src[0]) != space)
    return -1;
  for (int64_t l = -1; (l = cg_set_next(e->nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &e->nest->loops[l];
    int64_t stride;
    if (loop->binding == IR_UNROLL && loop->extent % 2 == 0 &&
        cg_stride(e->nest, n->src[1], (uint32_t)l, &stride) && stride == 1 &&
        cg_is_multiple(e->g, n->src[1], loop->range, 2))
      return l;
  }
  return -1;
}

/* The pairs of all copies, each into its variable. */
static void read_pairs(oc_emitter *e, ir_ref load, int64_t loop, uint32_t first, const char *how) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  cg_first_lane(&e->order, lanes);
  do
    if (e->order.digit[loop] % 2 == 0)
      oc_line(e, "v%u = %s(%s)", first++, how, oc_address(e, n->src[0], n->src[1]));
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

/* What a buffer begins with may lie across two words; then all pairs do. */
bool oc_emit_pairs(oc_emitter *e, ir_ref load, void **copies) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  int64_t loop = ir_is_true(e->g, n->src[2]) ? pair_loop(e, load, IR_OP_PARAM) : -1;
  if (loop < 0) return false;
  uint32_t first = e->last_number, count = (uint32_t)cg_copies(&e->order, lanes) / 2;
  for (uint32_t i = 0; i < count; i++) oc_line(e, "uint v%u", e->last_number++);
  oc_open(e, "if (VF_IN_WORDS(%s))", oc_at(e, n->src[0]).text);
  read_pairs(e, load, loop, first, "VF_WORD");
  oc_close(e);
  oc_open(e, "else");
  read_pairs(e, load, loop, first, "VF_TWO");
  oc_close(e);
  cg_first_lane(&e->order, lanes);
  do {
    if (e->order.digit[loop] % 2 != 0) continue;
    for (int k = 0; k < 2 && !e->order.failed; k++, e->order.digit[loop]++) {
      oc_value *value = copies[cg_copy_at(&e->order, lanes)] = oc_values(e, 1);
      if (!value) return true;
      oc_value stored = oc_make(e, OC_USHORT, 1, OC_ATOM, "as_ushort2(v%u).s%d", first, k);
      *value = oc_from_storage(e, (ir_dtype)n->dtype, stored);
    }
    e->order.digit[loop] -= 2;
    first++;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}

/* The value of a load, or anything, as it lies in memory: of vf_from_bf16_ushort(x) that is x. */
static const char *stored(oc_emitter *e, ir_ref ref, ir_dtype dtype) {
  oc_value v = oc_at(e, ref);
  const char *from = dtype == IR_F16 ? "vf_from_f16_ushort(" : "vf_from_bf16_ushort(";
  size_t length = strlen(v.text), before = strlen(from);
  if (ir_op_of(e->g, ref) == IR_OP_LOAD && ir_dtype_of(e->g, ref) == dtype && !strncmp(v.text, from, before))
    return oc_text(e, "%.*s", (int)(length - before - 1), v.text + before);
  return oc_to_storage(e, dtype, v).text;
}

bool oc_store_pairs(oc_emitter *e, ir_ref store) {
  const ir_node *n = ir_get(e->g, store);
  const uint64_t *lanes = cg_lanes(e->nest, store);
  int64_t loop = pair_loop(e, store, IR_OP_LOCAL);
  if (loop < 0 || oc_is_own(e, n->src[0]) || oc_is_ahead(e, store) || e->nest->width[store] != e->group)
    return false;
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  cg_first_lane(&e->order, lanes);
  do {
    if (e->order.digit[loop] % 2 != 0) continue;
    const char *to = oc_address(e, n->src[0], n->src[1]);
    const char *low = stored(e, n->src[2], dtype);
    e->order.digit[loop]++;
    const char *high = stored(e, n->src[2], dtype);
    e->order.digit[loop]--;
    oc_line(e, "*(local ushort2 *)(%s) = (ushort2)(%s, %s)", to, low, high);
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}
