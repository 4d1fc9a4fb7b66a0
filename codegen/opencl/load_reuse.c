/* Reuse of loads, in work-item style: loads of input elements with the same text read the same element, and
 * share one variable while the block that declares it is open. So a row that several sums and stores go over
 * is loaded once. An input that shares the output's memory keeps its elements until all that reads them is
 * done (ir/in_place.h). */
#include "codegen/opencl/opencl.h"

#include <string.h>

void oc_find_outputs(oc_emitter *e, const ir_ref *live, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(e->g, live[i]);
    if ((n->op != IR_OP_STORE && n->op != IR_OP_UPDATE) || cg_local_of(e->g, live[i]) >= 0) continue;
    int64_t slot = ir_arg_int(ir_get(e->g, n->src[0]));
    if (slot < 64) e->outputs |= (uint64_t)1 << slot;
  }
}

bool oc_is_reusable_load(const oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (!e->lanes_are_items || n->op != IR_OP_LOAD || cg_local_of(e->g, ref) >= 0) return false;
  int64_t slot = ir_arg_int(ir_get(e->g, n->src[0]));
  return slot < 64 && !(e->outputs >> slot & 1);
}

const char *oc_reused_load(const oc_emitter *e, const char *text) {
  for (uint32_t i = 0; i < OC_READS; i++)
    if (e->read[i].text && !strcmp(e->read[i].text, text)) return e->read[i].name;
  return NULL;
}

void oc_remember_load(oc_emitter *e, const char *text, const char *name) {
  e->read[e->reads++ % OC_READS] = (oc_read){text, name, e->depth};
}

void oc_forget_loads(oc_emitter *e) {
  for (uint32_t i = 0; i < OC_READS; i++)
    if (e->read[i].depth > e->depth) e->read[i].text = NULL;
}
