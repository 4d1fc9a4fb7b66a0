#include "frontend/session/reference.h"

#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "passes/ops/ops.h"

static bool is_of_session(vf_ref r) { return r.target.graph && r.target.graph->is_session; }

ir_ref *fe_session_newest(fe_lazy *l, int number) {
  bool known = number >= 0 && (size_t)number < l->ref_count;
  return known && l->refs[number].newest ? &l->refs[number].newest : NULL;
}

/* targets */

int fe_session_keep_target(vf_context *c, ir_ref target) {
  fe_lazy *l = &c->lazy;
  const ir_graph *g = &c->session->ir;
  if (target < l->note_cap && l->notes[target].target) return (int)l->notes[target].target;
  if (op_target_gathers(g, target) || !fe_lazy_reserve_notes(c) ||
      !IR_RESERVE(&c->mem, l->targets, l->target_cap, l->target_count + 1))
    return 0;
  l->targets[l->target_count++] = target;
  l->notes[target].target = (uint32_t)l->target_count;
  return (int)l->target_count;
}

void fe_session_update_target(vf_ref *r) {
  vf_graph *g = r->target.graph;
  if (!g || !g->is_session || r->target.epoch == g->epoch) return;
  const fe_lazy *l = &g->context->lazy;
  if (r->view > 0 && (size_t)r->view <= l->target_count)
    r->target = (vf_value){g, l->targets[r->view - 1], g->epoch};
}

vf_value vf_ref_target(vf_ref r) {
  fe_session_update_target(&r);
  return r.target;
}

/* Without references nothing asks for their targets. */
static void forget_targets(fe_lazy *l) {
  for (size_t i = 0; i < l->target_count; i++) l->notes[l->targets[i]].target = 0;
  l->target_count = 0;
}

/* lifetime */

/* A reference whose memory holds the elements of a BUFFER. False when memory is short. */
static bool add_reference(vf_context *c, ir_ref buffer, vf_ref *out, ir_error *error) {
  fe_lazy *l = &c->lazy;
  vf_graph *g = c->session;
  g->ir.error = error;
  ir_ref target = op_address(&g->ir, op_dims(&g->ir, buffer), ir_rank(&g->ir, buffer));
  g->ir.error = &g->error;
  int view = target ? fe_session_keep_target(c, target) : 0;
  if (!view || l->ref_count == INT32_MAX || !IR_RESERVE(&c->mem, l->refs, l->ref_cap, l->ref_count + 1)) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory making a reference");
    return false;
  }
  l->refs[l->ref_count++] = (fe_session_ref){buffer, buffer};
  l->live_refs++;
  *out = (vf_ref){{g, target, g->epoch}, (int)l->ref_count - 1, view};
  return true;
}

vf_ref vf_ref_create(vf_context *c, vf_dtype dtype, int rank, const int64_t *shape, const void *elements,
                     vf_error *error) {
  ir_error failure = {0};
  vf_ref made = {{c ? c->session : NULL, 0, 0}, -1, 0};
  /* the tensor goes, and leaves its elements to the reference */
  vf_tensor *t = fe_tensor_make(c, dtype, rank, shape, elements, &failure);
  if (t && !elements && !fe_tensor_clear(t, &failure)) failure.status = IR_ERR_MEMORY;
  if (t && !failure.status && add_reference(c, t->node, &made, &failure)) fe_context_retain(c);
  vf_tensor_release(t);
  fe_report(error, &failure);
  return made;
}

void vf_ref_release(vf_ref r) {
  if (!is_of_session(r)) return;
  vf_context *c = r.target.graph->context;
  if (!fe_session_newest(&c->lazy, r.number)) return;
  c->lazy.refs[r.number] = (fe_session_ref){0, 0};
  if (--c->lazy.live_refs == 0) forget_targets(&c->lazy);
  fe_context_release(c);
}

/* elements */

/* The context of a reference that has not been released. The session's first failure becomes the caller's. */
static vf_context *context_of(const char *who, vf_ref r, ir_error *error) {
  if (!is_of_session(r)) {
    ir_fail(error, IR_ERR_INVALID,
            "%s: the reference %s; a reference of the session has elements, which vf_ref_create gave it", who,
            r.target.graph ? "is an input, whose elements are the caller's memory" : "is none");
    return NULL;
  }
  vf_graph *g = r.target.graph;
  if (!fe_session_newest(&g->context->lazy, r.number)) {
    ir_fail(error, IR_ERR_INVALID, "%s: the reference has been released", who);
    return NULL;
  }
  if (!g->error.status) return g->context;
  *error = g->error;
  vf_graph_clear_error(g);
  return NULL;
}

static bool realise(vf_context *c, ir_error *error) {
  unsigned failures = fe_failures(c);
  fe_lazy_realise(c, NULL, 0, error);
  if (error->status) fe_report_as_memory(c, failures, error);
  return !error->status;
}

vf_status vf_ref_realise(vf_ref r, vf_error *error) {
  ir_error failure = {0};
  vf_context *c = context_of("ref_realise", r, &failure);
  if (c) realise(c, &failure);
  return fe_report(error, &failure);
}

const void *vf_ref_data(vf_ref r, vf_error *error) {
  ir_error failure = {0};
  const void *data = NULL;
  vf_context *c = context_of("ref_data", r, &failure);
  if (c && realise(c, &failure))
    data = rt_memory_read(c->runtime, fe_lazy_memory(&c->lazy, c->lazy.refs[r.number].newest), &failure);
  fe_report(error, &failure);
  return data;
}
