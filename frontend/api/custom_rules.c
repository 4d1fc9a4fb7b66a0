/* Adapters through which the registry calls the user's functions of a description: operands become values,
 * and the values that a function returns become refs. */
#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"

_Static_assert(sizeof(vf_op_scalar) == sizeof(ir_value), "attributes are handed over as they are");

/* The vf_graph of which ir is a member: only graphs of the C API are recorded into. */
static vf_graph *graph_of(ir_graph *ir) { return (vf_graph *)((char *)ir - offsetof(vf_graph, ir)); }

/* One call of a user's function. */
typedef struct visit {
  const fe_custom *custom;
  vf_graph *graph;
  vf_value operands[IR_CUSTOM_MAX], first[IR_CUSTOM_MAX], second[IR_CUSTOM_MAX], made[IR_CUSTOM_MAX];
  vf_op_call call;
} visit;

static void wrap(vf_graph *g, const ir_ref *refs, uint32_t count, vf_value *out) {
  for (uint32_t i = 0; i < count; i++) out[i] = fe_vmap_value(g, refs[i]);
}

/* False, with a reason, where the user's functions call each other without end. */
static bool begin_visit(visit *v, const op_custom_site *site, char *why) {
  memset(v, 0, sizeof *v);
  v->custom = (const fe_custom *)site->custom;
  v->graph = graph_of(site->g);
  wrap(v->graph, site->operands, site->custom->base.operands, v->operands);
  v->call =
      (vf_op_call){v->graph, v->custom->given.user, v->operands, (const vf_op_scalar *)site->values, why};
  if (v->graph->visits >= IR_MAX_DEPTH) {
    snprintf(why, OP_CUSTOM_WHY,
             "its functions use operations whose functions are nested more than %d deep; an operation is not "
             "composed, nor derived, of itself",
             IR_MAX_DEPTH);
    return false;
  }
  v->graph->visits++;
  return true;
}

static bool end_visit(const visit *v, bool good) {
  v->graph->visits--;
  return good;
}

/* The values that the function made as refs, 0 for an error value. False, with a reason unless the graph has
 * an error, where one is no tensor of this graph. */
static bool unwrap(const visit *v, const char *what, uint32_t count, ir_ref *out, char *why) {
  if (v->graph->error.status) return false;
  for (uint32_t i = 0; i < count; i++) {
    const vf_value *made = &v->made[i];
    out[i] = made->graph ? made->id : 0;
    if (!out[i]) continue;
    if (made->graph == v->graph && made->epoch == v->graph->epoch && made->id < v->graph->ir.count &&
        ir_shape(&v->graph->ir, made->id))
      continue;
    snprintf(why, OP_CUSTOM_WHY, "%s %u is no tensor of this graph", what, i + 1);
    return false;
  }
  return true;
}

static bool types(const op_custom_site *site, ir_dtype *dtypes, uint32_t *ranks, ir_ref (*dims)[IR_MAX_RANK],
                  char *why) {
  visit v;
  vf_op_type results[IR_CUSTOM_MAX] = {{VF_NONE, 0, {{NULL, 0, 0}}}};
  uint32_t in[IR_CUSTOM_MAX];
  ir_dtype in_dtypes[IR_CUSTOM_MAX];
  ir_graph *g = site->g;
  const ir_custom *c = &site->custom->base;
  if (!begin_visit(&v, site, why)) return false;
  for (uint32_t i = 0; i < c->operands; i++) {
    in[i] = ir_rank(g, site->operands[i]);
    in_dtypes[i] = ir_dtype_of(g, site->operands[i]);
  }
  if (v.custom->given.shape) {
    if (!end_visit(&v, v.custom->given.shape(&v.call, results)) || g->error->status) return false;
    for (uint32_t i = 0; i < c->results; i++) {
      if (results[i].rank < 0 || results[i].rank > IR_MAX_RANK) {
        snprintf(why, OP_CUSTOM_WHY, "its function for shapes sets result %u to rank %d", i + 1,
                 results[i].rank);
        return false;
      }
      dtypes[i] = (ir_dtype)results[i].dtype;
      ranks[i] = (uint32_t)results[i].rank;
      for (uint32_t k = 0; k < ranks[i]; k++) {
        const vf_value *size = &results[i].shape[k];
        bool ours =
            size->graph == v.graph && size->epoch == v.graph->epoch && size->id && size->id < g->count;
        dims[i][k] = ours ? fe_as_size(g, size->id) : 0;
        if (dims[i][k] || g->error->status) continue;
        snprintf(why, OP_CUSTOM_WHY, "its function for shapes sets no size for axis %u of result %u", k,
                 i + 1);
        return false;
      }
    }
  } else {
    end_visit(&v, true);
    for (uint32_t i = 0; i < c->results; i++) {
      dtypes[i] = ir_dtype_of(g, site->operands[0]);
      ranks[i] = in[0];
      for (uint32_t k = 0; k < ranks[i]; k++) dims[i][k] = ir_dim(g, site->operands[0], k);
    }
  }
  return rt_native_fits(&v.custom->native, c->name, in_dtypes, in, dtypes, ranks, g->error);
}

static bool compose(const op_custom_site *site, ir_ref *results, char *why) {
  visit v;
  return begin_visit(&v, site, why) && end_visit(&v, v.custom->given.compose(&v.call, v.made)) &&
         unwrap(&v, "result", site->custom->base.results, results, why);
}

static bool apply_batch_rule(const op_custom_site *site, uint32_t lead, ir_ref *results, char *why) {
  visit v;
  return begin_visit(&v, site, why) && end_visit(&v, v.custom->given.batch(&v.call, (int)lead, v.made)) &&
         unwrap(&v, "result", site->custom->base.results, results, why);
}

/* vjp, given cotangents of the results, or jvp, given tangents of the operands. */
static bool derive(const op_custom_site *site, bool pulls, const ir_ref *results, const ir_ref *given,
                   ir_ref *parts, char *why) {
  const ir_custom *c = &site->custom->base;
  visit v;
  if (!begin_visit(&v, site, why)) return false;
  wrap(v.graph, results, c->results, v.first);
  wrap(v.graph, given, pulls ? c->results : c->operands, v.second);
  const vf_op_description *d = &v.custom->given;
  return end_visit(&v, (pulls ? d->vjp : d->jvp)(&v.call, v.first, v.second, v.made)) &&
         unwrap(&v, pulls ? "gradient" : "tangent", pulls ? c->operands : c->results, parts, why);
}
static bool pull_rule(const op_custom_site *site, const ir_ref *results, const ir_ref *cotangents,
                      ir_ref *parts, char *why) {
  return derive(site, true, results, cotangents, parts, why);
}
static bool push_rule(const op_custom_site *site, const ir_ref *results, const ir_ref *tangents,
                      ir_ref *parts, char *why) {
  return derive(site, false, results, tangents, parts, why);
}

void fe_custom_rules(fe_custom *c) {
  c->base.types = types;
  c->base.compose = c->given.compose ? compose : NULL;
  c->base.batched = c->given.batch ? apply_batch_rule : NULL;
  c->base.pull = c->given.vjp ? pull_rule : NULL;
  c->base.push = c->given.jvp ? push_rule : NULL;
}

vf_value vf_op_size(vf_value operand, int axis) {
  fe_call c;
  ir_ref size = 0;
  if (fe_begin(&c, "op_size", &operand, 1)) {
    int rank = (int)ir_rank(c.ir, operand.id), at = axis < 0 ? axis + rank : axis;
    if (!ir_shape(c.ir, operand.id) || at < 0 || at >= rank)
      fe_refuse(&c, "there is no axis %d; the operand has rank %d", axis, rank);
    else size = ir_dim(c.ir, operand.id, (uint32_t)at);
  }
  return fe_end(&c, size);
}
