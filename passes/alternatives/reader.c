/* The kernel that is left when a value inside of it is in memory. A row group computes some values only to
 * compute others of them: what was needed for that value alone is not computed any more, and of one value
 * that is left it is a kernel of its own. */
#include "alternatives.h"

/* Sets `kept` of what the kernel needs when the value is in memory. */
static void find_kept(pass_alternatives *a, ir_ref stored) {
  alternatives_fused *f = &a->fused;
  for (uint32_t i = 0; i < f->count; i++) {
    a->mark[f->nodes[i].node] = i + 1;
    f->nodes[i].kept = f->nodes[i].root && !f->nodes[i].local;
  }
  for (uint32_t i = 0; i < f->count; i++) {
    const alternatives_node *at = &f->nodes[i];
    const ir_node *n = ir_get(a->g, at->node);
    for (uint32_t k = 0; k < ir_operand_count(n) && at->kept && !at->leaf && at->node != stored; k++) {
      uint32_t below = ir_shape(a->g, n->src[k]) ? a->mark[n->src[k]] : 0;
      if (below) f->nodes[below - 1].kept = true;
    }
  }
}

bool alternatives_reader_of(pass_alternatives *a, const ir_step *from, const ir_stored *value, ir_step *to) {
  ir_fused_value *values = from->row_group.values;
  uint32_t count = from->row_group.count, kept = 0;
  if (!count) return alternatives_copy_step(a, from, value, to);
  size_t bytes = count * sizeof *values;
  ir_fused_value *left = ir_alloc(a->g->mem, bytes);
  if (!left) return false;
  find_kept(a, value->node);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = a->mark[values[i].value];
    if (!at || a->fused.nodes[at - 1].kept) left[kept++] = values[i];
  }
  for (uint32_t i = 0; i < a->fused.count; i++) a->mark[a->fused.nodes[i].node] = 0;
  ir_step reader = *from;
  reader.row_group.values = left, reader.row_group.count = kept;
  if (kept == 1) {
    reader.row_group = (ir_row_group){0};
    reader.kernel = left[0].value;
  }
  bool copied = alternatives_copy_step(a, &reader, value, to);
  ir_free(a->g->mem, left, bytes);
  return copied;
}
