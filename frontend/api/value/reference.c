/* References: inputs with a newest version, which the graph knows while it records. */
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/ops.h"

/* The reference's entry in the graph; NULL after failing. */
static ir_named *find(fe_call *c, vf_ref r) {
  vf_graph *g = c->graph;
  if (r.number >= 0 && (size_t)r.number < g->reference_count) return &g->references[r.number];
  fe_refuse(c, "there is no such reference; a reference is what vf_ref_input or vf_ref_view returned");
  return NULL;
}

static bool begin(fe_call *c, const char *who, vf_ref r, const vf_value *operand) {
  return fe_begin(c, who, (vf_value[]){r.target, operand ? *operand : r.target}, operand ? 2 : 1);
}

vf_ref vf_ref_input(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape) {
  vf_ref made = {{g, 0, 0}, -1};
  vf_value input = (vf_input)(g, name, dtype, rank, shape);
  if (!vf_ok(input)) return made;
  ir_named *declared = &g->inputs[g->input_count - 1];
  declared->reference = true;
  if (!fe_graph_add(g, &g->references, &g->reference_count, &g->reference_cap, declared->name,
                    declared->length, declared->ref))
    return made;
  g->references[g->reference_count - 1].reference = true;
  made.target = (vf_address)(input);
  made.number = (int)g->reference_count - 1;
  return made;
}

vf_ref vf_ref_view(vf_ref r, vf_value target) {
  fe_call c;
  ir_named *reference = begin(&c, "ref_view", r, &target) ? find(&c, r) : NULL;
  /* reading through it checks nothing that a write must have: vf_ref_update does */
  r.target = fe_end(&c, reference ? target.id : 0);
  return r;
}

vf_value vf_ref_get(vf_ref r) {
  fe_call c;
  ir_named *reference = begin(&c, "ref_get", r, NULL) ? find(&c, r) : NULL;
  ir_ref made = reference ? op_read(c.ir, r.target.id, reference->ref) : 0;
  return fe_end(&c, made);
}

/* A function has values of its own, and is called for each element of a batch, or several times. */
static bool may_write(fe_call *c) {
  if (!c->graph->recording && !c->graph->level) return true;
  return fe_refuse(c,
                   "a reference is not written inside of the function of a condition, a loop or vmap; pass "
                   "its value to the function, return the next one and write that");
}

vf_value vf_ref_update(vf_ref r, vf_value u, vf_write_op op) {
  fe_call c;
  ir_ref made = 0;
  ir_named *reference = begin(&c, "ref_update", r, &u) ? find(&c, r) : NULL;
  if (reference && may_write(&c) &&
      ((unsigned)op < OP_WRITE_COUNT || fe_refuse(&c, "there is no operation %d", (int)op)))
    made = op_assign(c.ir, reference->ref, r.target.id, u.id, (op_write)op);
  if (made && ir_batch(c.ir, made) != ir_batch(c.ir, reference->ref)) {
    fe_refuse(&c, "the value has batch axes that the reference lacks; sum or unbatch it first");
    made = 0;
  }
  if (made) reference->ref = made;
  return fe_end(&c, made);
}

vf_value vf_ref_set(vf_ref r, vf_value u) { return vf_ref_update(r, u, VF_WRITE_SET); }
