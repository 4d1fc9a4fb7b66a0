/* Emission of nodes: each unrolled value and subvector of a node is an expression or a named variable. Index
 * expressions are written where they are used, as in a listing, unless they are long or an inner loop adds to
 * them; everything else is a variable. */
#include "codegen/opencl/opencl.h"

#include <string.h>

#include "ir/print/print.h"

/* Subvectors are as wide as possible: 28 lanes are 16, 8 and 4. */
static uint32_t widest_within(uint32_t lanes) {
  uint32_t width = OC_WIDEST;
  while (width > lanes) width /= 2;
  return width;
}

uint32_t oc_first_lane(const oc_emitter *e, uint32_t lanes) {
  uint32_t first = 0;
  for (uint32_t subvector = 0; subvector < e->subvector; subvector++) first += widest_within(lanes - first);
  return first;
}

uint32_t oc_width(const oc_emitter *e, uint32_t lanes) {
  return e->lanes_are_items ? 1 : widest_within(lanes - oc_first_lane(e, lanes));
}

uint32_t oc_subvectors(const oc_emitter *e, uint32_t lanes) {
  uint32_t subvectors = lanes / OC_WIDEST;
  for (uint32_t rest = lanes % OC_WIDEST; rest; rest &= rest - 1) subvectors++;
  return e->lanes_are_items ? 1 : subvectors;
}

oc_value *oc_values(oc_emitter *e, uint32_t count) {
  /* pointers that take as many bytes as a value, rounded up: cg_array counts in these */
  enum { POINTERS = (sizeof(oc_value) + sizeof(void *) - 1) / sizeof(void *) };
  return cg_array(&e->order, (size_t)count * POINTERS);
}

oc_value oc_at(oc_emitter *e, ir_ref ref) {
  void **unrolled = e->order.values[ref];
  if (!unrolled)
    return oc_fail(e, IR_ERR_INTERNAL, "compile: node %u (%s) is used outside the loops that define it", ref,
                   ir_ops[ir_op_of(e->g, ref)].text);
  const oc_value *subvectors = unrolled[cg_unroll_index(&e->order, cg_lanes(e->nest, ref))];
  return subvectors[oc_subvectors(e, e->nest->width[ref]) > 1 ? e->subvector : 0];
}

void oc_begin_node(oc_emitter *e, uint32_t variables) {
  e->number = 0;
  e->variables = variables;
  e->variable = 0;
}

static bool stays_inline(oc_emitter *e, ir_ref ref, oc_value v) {
  if (v.literal) return true;
  if (v.level == OC_ATOM && strcspn(v.text, "(.[") == strlen(v.text)) return true; /* a name already */
  if (v.width > 1 || e->nest->freeze[ref] || !ir_is_expression(e->g, ref)) return false;
  return strlen(v.text) <= CG_INLINE_CHARACTERS;
}

static oc_value named(oc_emitter *e, ir_ref ref, oc_value v) {
  const char *text = v.text, *before = oc_is_reusable_load(e, ref) ? oc_reused_load(e, text) : NULL;
  if (before) return oc_make(e, v.kind, v.width, OC_ATOM, "%s", before);
  v = oc_variable(e, v);
  if (oc_is_reusable_load(e, ref)) oc_remember_load(e, text, v.text);
  return v;
}

void oc_emit_unrolled(void *emitter, ir_ref ref, void *out) {
  oc_emitter *e = emitter;
  void **unrolled = out;
  if (ir_op_of(e->g, ref) == IR_OP_RARE) {
    oc_emit_rare(e, ref, unrolled);
    return;
  }
  if (ir_op_of(e->g, ref) == IR_OP_LOAD &&
      (oc_emit_tile(e, ref, unrolled) || oc_emit_local_vectors(e, ref, unrolled) ||
       oc_emit_vector_loads(e, ref, unrolled)))
    return;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t subvectors = oc_subvectors(e, e->nest->width[ref]);
  oc_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes) * subvectors);
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    oc_value *values = oc_values(e, subvectors);
    if (!values) return;
    unrolled[copy] = values;
    for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++) {
      e->variable = (uint32_t)copy * subvectors + e->subvector;
      oc_value v = oc_emit_value(e, ref);
      values[e->subvector] = stays_inline(e, ref, v) ? v : named(e, ref, v);
    }
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}
