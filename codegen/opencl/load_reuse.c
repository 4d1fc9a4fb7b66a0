/* Reuse of loads, in work-item style: loads of input elements with the same text read the same element, and
 * share one variable while the block that declares it is open. So a row that several sums and stores go over
 * is loaded once. An input that shares the output's memory keeps its elements until all that reads them is
 * done (ir/in_place.h). */
#include "codegen/opencl/opencl.h"

#include <string.h>

void oc_find_outputs(tx_emitter *e, const ir_ref *live, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(e->g, live[i]);
    if ((n->op != IR_OP_STORE && n->op != IR_OP_UPDATE) || cg_local_of(e->g, live[i]) >= 0) continue;
    int64_t slot = ir_arg_int(ir_get(e->g, n->src[0]));
    if (slot < 64) oc_of(e)->outputs |= (uint64_t)1 << slot;
  }
}

static bool is_reusable_load(const tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (!oc_are_items(e) || n->op != IR_OP_LOAD || cg_local_of(e->g, ref) >= 0) return false;
  int64_t slot = ir_arg_int(ir_get(e->g, n->src[0]));
  return slot < 64 && !(oc_of(e)->outputs >> slot & 1);
}

static const char *reused_load(const tx_emitter *e, const char *text) {
  for (uint32_t i = 0; i < OC_READS; i++)
    if (oc_of(e)->read[i].text && !strcmp(oc_of(e)->read[i].text, text)) return oc_of(e)->read[i].name;
  return NULL;
}

tx_value oc_named(tx_emitter *e, ir_ref ref, tx_value v) {
  bool reusable = is_reusable_load(e, ref);
  const char *text = v.text, *before = reusable ? reused_load(e, text) : NULL;
  if (before) return tx_make(e, v.kind, v.width, TX_ATOM, "%s", before);
  v = tx_variable(e, v);
  if (reusable) oc_of(e)->read[oc_of(e)->reads++ % OC_READS] = (oc_read){text, v.text, e->depth};
  return v;
}

void oc_forget_loads(tx_emitter *e) {
  for (uint32_t i = 0; i < OC_READS; i++)
    if (oc_of(e)->read[i].depth > e->depth) oc_of(e)->read[i].text = NULL;
}
