/* Emission of nodes: each unrolled value and subvector of a node is an expression or a named variable. Index
 * expressions are written where they are used, as in a listing, unless they are long or an inner loop adds to
 * them; everything else is a variable. */
#include "codegen/text/text.h"

#include <string.h>

#include "ir/print/print.h"

/* Subvectors are as wide as possible: 28 lanes are 16, 8 and 4. */
static uint32_t widest_within(uint32_t lanes) {
  uint32_t width = TX_WIDEST;
  while (width > lanes) width /= 2;
  return width;
}

uint32_t tx_first_lane(const tx_emitter *e, uint32_t lanes) {
  uint32_t first = 0;
  for (uint32_t subvector = 0; subvector < e->subvector; subvector++) first += widest_within(lanes - first);
  return first;
}

uint32_t tx_width(const tx_emitter *e, uint32_t lanes) {
  if (e->vectors == TX_WHOLE) return lanes;
  return e->vectors == TX_ITEMS ? 1 : widest_within(lanes - tx_first_lane(e, lanes));
}

uint32_t tx_subvectors(const tx_emitter *e, uint32_t lanes) {
  uint32_t subvectors = lanes / TX_WIDEST;
  for (uint32_t remainder = lanes % TX_WIDEST; remainder; remainder &= remainder - 1) subvectors++;
  return e->vectors == TX_SUBVECTORS ? subvectors : 1;
}

tx_value *tx_values(tx_emitter *e, uint32_t count) {
  /* pointers that take as many bytes as a value, rounded up: cg_array counts in these */
  enum { POINTERS = (sizeof(tx_value) + sizeof(void *) - 1) / sizeof(void *) };
  return cg_array(&e->order, (size_t)count * POINTERS);
}

tx_value tx_at(tx_emitter *e, ir_ref ref) {
  void **unrolled = e->order.values[ref];
  if (!unrolled)
    return tx_fail(e, IR_ERR_INTERNAL, "compile: node %u (%s) is used outside the loops that define it", ref,
                   ir_ops[ir_op_of(e->g, ref)].text);
  const tx_value *subvectors = unrolled[cg_unroll_index(&e->order, cg_lanes(e->nest, ref))];
  return subvectors[tx_subvectors(e, e->nest->width[ref]) > 1 ? e->subvector : 0];
}

void tx_begin_node(tx_emitter *e, uint32_t variables) {
  e->number = 0;
  e->variables = variables;
  e->variable = 0;
}

void tx_define_name(tx_emitter *e, ir_ref ref, unsigned kind, const char *name) {
  void **unrolled = cg_array(&e->order, 1);
  tx_value *value = tx_values(e, 1);
  if (!unrolled || !value) return;
  *value = (tx_value){.text = name, .kind = (uint8_t)kind, .level = TX_ATOM, .width = 1};
  *unrolled = value;
  cg_define(&e->order, ref, unrolled);
}

bool tx_has_threads(const cg_nest *nest) {
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (nest->loops[l].binding == IR_THREAD) return true;
  return false;
}

static bool stays_inline(tx_emitter *e, ir_ref ref, tx_value v) {
  if (v.literal && (v.width == 1 || e->language->repeats_literals)) return true;
  if (v.level == TX_ATOM && tx_is_name(v.text)) return true; /* a name already */
  if (v.width > 1 || e->nest->freeze[ref] || !ir_is_expression(e->g, ref)) return false;
  return strlen(v.text) <= CG_INLINE_CHARACTERS;
}

static tx_value named(tx_emitter *e, ir_ref ref, tx_value v) {
  return e->language->named ? e->language->named(e, ref, v) : tx_variable(e, v);
}

void tx_emit_unrolled(void *emitter, ir_ref ref, void *out) {
  tx_emitter *e = emitter;
  void **unrolled = out;
  ir_op op = ir_op_of(e->g, ref);
  if (op == IR_OP_RARE) {
    e->language->rare(e, ref, unrolled);
    return;
  }
  if (op == IR_OP_LOAD && e->language->load_unrolled(e, ref, unrolled)) return;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t subvectors = tx_subvectors(e, e->nest->width[ref]);
  tx_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes) * subvectors);
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    tx_value *values = unrolled[copy] = tx_values(e, subvectors);
    if (!values) return;
    for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++) {
      e->variable = (uint32_t)copy * subvectors + e->subvector;
      tx_value v = tx_emit_value(e, ref);
      values[e->subvector] = stays_inline(e, ref, v) ? v : named(e, ref, v);
    }
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}
