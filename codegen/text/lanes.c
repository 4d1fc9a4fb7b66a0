/* Loops whose iterations are lanes: no loops in the text. Those that yield values combine their lanes
 * pairwise, lane i with lane i + n/2, halving n. */
#include "codegen/text/text.h"

/* One carried value of such a loop: op(carried, body). */
typedef struct fold {
  const cg_loop *loop;
  ir_op op;
  ir_dtype dtype;
  ir_ref init, body;
  const uint64_t *lanes;      /* of the result */
  uint32_t width, subvectors; /* of the result */
  void **unrolled;
} fold;

/* Combines the two halves of a vector until one element is left. */
static tx_value tree_of_elements(tx_emitter *e, const fold *f, tx_value v) {
  uint32_t order[CG_MAX_LANES];
  for (uint32_t i = 0; i < v.width; i++) order[i] = i;
  while (v.width > 1) {
    v = tx_temporary(e, v);
    uint32_t half = v.width / 2;
    tx_value low = half == 1 ? tx_lane(e, f->dtype, v, 0) : e->language->shuffle(e, v, v, order, half);
    tx_value high =
        half == 1 ? tx_lane(e, f->dtype, v, 1) : e->language->shuffle(e, v, v, order + half, half);
    v = tx_combine(e, f->op, f->dtype, low, high);
  }
  return v;
}

/* Combines partial[i] with partial[i + half], and halves until one is left. */
static tx_value tree(tx_emitter *e, const fold *f, tx_value *partial, size_t count) {
  for (size_t half = count / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++)
      partial[i] = tx_temporary(e, tx_combine(e, f->op, f->dtype, partial[i], partial[i + half]));
  return partial[0];
}

static tx_value combine_vector(tx_emitter *e, const fold *f) {
  tx_value partial[CG_MAX_LANES / TX_WIDEST + 1];
  uint32_t lanes = (uint32_t)f->loop->extent, subvectors = tx_subvectors(e, lanes), own = e->subvector;
  for (e->subvector = 0; e->subvector < subvectors; e->subvector++)
    partial[e->subvector] = tx_fetch_value(e, f->body, tx_width(e, lanes));
  e->subvector = own;
  return tree_of_elements(e, f, tree(e, f, partial, subvectors));
}

static tx_value combine_unrolled(tx_emitter *e, const fold *f, uint32_t number) {
  size_t count = (size_t)f->loop->extent;
  tx_value partial[CG_MAX_LANES];
  for (size_t i = 0; i < count; i++) {
    e->order.lane[number] = (int64_t)i;
    partial[i] = tx_fetch_value(e, f->body, tx_width(e, f->width));
  }
  return tree(e, f, partial, count);
}

/* Combines all unrolled values over the work-items at once. */
static void fold_by_items(tx_emitter *e, const fold *f) {
  size_t count = cg_unroll_count(&e->order, f->lanes);
  tx_value *values = ir_alloc(e->nest->mem, count * sizeof *values);
  if (!values) {
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
    return;
  }
  cg_first_lane(&e->order, f->lanes);
  do values[cg_unroll_index(&e->order, f->lanes)] = tx_fetch_value(e, f->body, 1);
  while (cg_next_lane(&e->order, f->lanes));
  e->language->combine_items(e, f->op, f->dtype, (uint32_t)f->loop->extent, values, count);
  tx_begin_node(e, (uint32_t)count);
  cg_first_lane(&e->order, f->lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, f->lanes);
    tx_value *result = f->unrolled[copy];
    e->variable = (uint32_t)copy;
    *result = tx_variable(e, tx_combine(e, f->op, f->dtype, tx_fetch_value(e, f->init, 1), values[copy]));
  } while (cg_next_lane(&e->order, f->lanes) && !e->order.failed);
  ir_free(e->nest->mem, values, count * sizeof *values);
}

static void fold_subvector(tx_emitter *e, const fold *f, uint32_t number, uint32_t variables) {
  size_t copy = cg_unroll_index(&e->order, f->lanes);
  tx_value tree = f->loop->binding == IR_UNROLL ? combine_unrolled(e, f, number) : combine_vector(e, f);
  tx_value init = tx_fetch_value(e, f->init, tx_width(e, f->width)), *values = f->unrolled[copy];
  e->variables = variables, e->variable = (uint32_t)copy * f->subvectors + e->subvector;
  values[e->subvector] = tx_variable(e, tx_combine(e, f->op, f->dtype, init, tree));
}

static void fold_lanes(tx_emitter *e, const fold *f, uint32_t number) {
  uint32_t count = (uint32_t)cg_unroll_count(&e->order, f->lanes);
  for (uint32_t i = 0; i < count; i++)
    if (!(f->unrolled[i] = tx_values(e, f->subvectors))) return;
  if (e->vectors == TX_ITEMS && f->loop->binding == IR_VECTOR) {
    fold_by_items(e, f);
    return;
  }
  tx_begin_node(e, count * f->subvectors);
  cg_first_lane(&e->order, f->lanes);
  do {
    for (e->subvector = 0; e->subvector < f->subvectors && !e->order.failed; e->subvector++)
      fold_subvector(e, f, number, count * f->subvectors);
    e->subvector = 0;
  } while (cg_next_lane(&e->order, f->lanes) && !e->order.failed);
}

void tx_emit_lanes(void *emitter, uint32_t number) {
  tx_emitter *e = emitter;
  const cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  void **results = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    ir_ref last = n->src[1 + loop->carries + i], body = cg_lane_body(e->nest, loop, i);
    if (!body) {
      cg_order_fail(&e->order, IR_ERR_INTERNAL,
                    "compile: a reduction over lanes is not of the form op(carried, body)");
      return;
    }
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    uint32_t width = cg_width_of(&e->order, lanes);
    fold f = {loop,
              ir_op_of(e->g, last),
              ir_dtype_of(e->g, last),
              n->src[1 + i],
              body,
              lanes,
              width,
              tx_subvectors(e, width),
              results[i]};
    fold_lanes(e, &f, number);
  }
  e->order.finals[number] = results;
}
