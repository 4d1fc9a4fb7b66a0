/* Values of OpenCL C: a node's copies and pieces, and which of them get names. Index expressions are written
 * where they are used, as a listing writes them, unless they are long or an inner loop adds to them;
 * everything else is a variable. */
#include "codegen/opencl/opencl.h"

#include <string.h>

#include "ir/print/print.h"

enum { LONG_EXPRESSION = 40 };

/* Pieces are as wide as they can be: of 28 lanes 16, 8 and 4. */
static uint32_t widest_within(uint32_t lanes) {
  uint32_t width = OC_WIDEST;
  while (width > lanes) width /= 2;
  return width;
}

uint32_t oc_first_lane(const oc_emitter *e, uint32_t lanes) {
  uint32_t first = 0;
  for (uint32_t piece = 0; piece < e->piece; piece++) first += widest_within(lanes - first);
  return first;
}

uint32_t oc_width(const oc_emitter *e, uint32_t lanes) {
  return e->by_lanes ? 1 : widest_within(lanes - oc_first_lane(e, lanes));
}

uint32_t oc_pieces(const oc_emitter *e, uint32_t lanes) {
  uint32_t pieces = lanes / OC_WIDEST;
  for (uint32_t rest = lanes % OC_WIDEST; rest; rest &= rest - 1) pieces++;
  return e->by_lanes ? 1 : pieces;
}

oc_value *oc_values(oc_emitter *e, uint32_t count) {
  enum { POINTERS = (sizeof(oc_value) + sizeof(void *) - 1) / sizeof(void *) };
  return cg_array(&e->order, (size_t)count * POINTERS);
}

oc_value oc_at(oc_emitter *e, ir_ref ref) {
  void **copies = e->order.values[ref];
  if (!copies)
    return oc_fail(e, IR_ERR_INTERNAL, "compile: node %u (%s) is used outside the loops that define it", ref,
                   ir_ops[ir_op_of(e->g, ref)].text);
  const oc_value *pieces = copies[cg_copy_at(&e->order, cg_lanes(e->nest, ref))];
  return pieces[oc_pieces(e, e->nest->width[ref]) > 1 ? e->piece : 0];
}

void oc_begin_node(oc_emitter *e, uint32_t variables) {
  e->number = 0;
  e->variables = variables;
  e->variable = 0;
}

static bool stays_inline(oc_emitter *e, ir_ref ref, oc_value v) {
  if (v.literal) return true;
  if (v.level == OC_ATOM && strcspn(v.text, "(.[") == strlen(v.text)) return true; /* a name already */
  if (v.width > 1 || e->nest->anchor[ref] || !ir_is_expression(e->g, ref)) return false;
  return strlen(v.text) <= LONG_EXPRESSION;
}

static oc_value named(oc_emitter *e, ir_ref ref, oc_value v) {
  const char *text = v.text, *before = oc_may_repeat(e, ref) ? oc_read_before(e, text) : NULL;
  if (before) return oc_make(e, v.kind, v.width, OC_ATOM, "%s", before);
  v = oc_variable(e, v);
  if (oc_may_repeat(e, ref)) oc_has_read(e, text, v.text);
  return v;
}

void oc_emit_copies(void *emitter, ir_ref ref, void *out) {
  oc_emitter *e = emitter;
  void **copies = out;
  if (ir_op_of(e->g, ref) == IR_OP_RARE) {
    oc_emit_rare(e, ref, copies);
    return;
  }
  if (ir_op_of(e->g, ref) == IR_OP_LOAD &&
      (oc_emit_tile(e, ref, copies) || oc_emit_wide(e, ref, copies) || oc_emit_runs(e, ref, copies)))
    return;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t pieces = oc_pieces(e, e->nest->width[ref]);
  oc_begin_node(e, (uint32_t)cg_copies(&e->order, lanes) * pieces);
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_copy_at(&e->order, lanes);
    oc_value *values = oc_values(e, pieces);
    if (!values) return;
    copies[copy] = values;
    for (e->piece = 0; e->piece < pieces && !e->order.failed; e->piece++) {
      e->variable = (uint32_t)copy * pieces + e->piece;
      oc_value v = oc_emit_value(e, ref);
      values[e->piece] = stays_inline(e, ref, v) ? v : named(e, ref, v);
    }
    e->piece = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}
