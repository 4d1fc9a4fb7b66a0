/* The array of a view becomes another: one that a consumer made, of another dtype, or given anew. */
#include <string.h>

#include "data.h"
#include "passes/ops/check.h"

/* Does the conversion keep every element of the array? */
static bool is_bijection(fe_data_call *c, const fe_conversion *how, vf_value array) {
  if (how->kind == FE_ONE_HOT) return fe_data_refuse(c, "view 'bf' of classes cannot be led back to ids");
  if (how->kind != FE_FIRST) return true;
  ir_graph *g = &array.graph->ir;
  const char *at = strchr(how->from, 't');
  if (!at || op_decided(g, IR_OP_EQ, ir_dim(g, array.id, (uint32_t)(at - how->from)), ir_index(g, 1)))
    return true;
  return fe_data_refuse(c,
                        "view '%s' leaves classes of '%s' out; the array has shape %s; replace it in a view "
                        "that has all of it",
                        how->to, how->from, OP_TYPE(array.id));
}

/* What the array becomes where consumers of a view see x, or the write to the reference that it is. */
typedef struct replacement {
  fe_conversion how;
  fe_held held;
} replacement;

static bool may_replace(fe_data_call *c, const char *axes, vf_value x, fe_conversion *how) {
  vf_data_view *v = c->view;
  if (!fe_data_fits(c, "x", axes, x, how)) return false;
  if (v->gradient_count)
    return fe_data_refuse(c, "%zu gradients of the array are pending; get them, and put or flush it first",
                          v->gradient_count);
  if (!fe_data_was_got(v, how->to, VF_NONE))
    return fe_data_refuse(c, "view '%s' has not been got; what is replaced is what a consumer saw", how->to);
  vf_value array = fe_data_array(c);
  return array.id && is_bijection(c, how, array);
}

/* The next array, held; nothing yet where it is a reference. */
static bool prepare(fe_data_call *c, vf_value x, replacement *r) {
  if (c->view->is_ref) return true;
  vf_value array = fe_data_array(c), next = fe_data_lead_back(c, &r->how, array, x);
  next = fe_data_cast(c, next, vf_value_dtype(array));
  return next.id && fe_data_hold(c, next, &r->held);
}

/* Writes x through the view of a reference. */
static bool write_ref(fe_data_call *c, const fe_conversion *how, vf_value x) {
  vf_data_view *v = c->view;
  vf_value target = fe_data_convert(c, how, v->ref.target);
  if (!target.id) return false;
  vf_value next = (vf_ref_set)((vf_ref_view)(v->ref, target), x);
  if (!next.id)
    ir_fail(&c->error, (ir_status)v->graph->error.status, "%s: %.900s", c->who, v->graph->error.text);
  return next.id != 0;
}

/* All arrays or none, unless memory is short while several references are written. */
vf_status vf_data_replace_all(vf_data_view *v, const char *axes, int count, const vf_value *x,
                              vf_error *error) {
  fe_data_call c = {.who = "data_replace", .view = v};
  replacement made[FE_LEAVES_MAX] = {0};
  size_t n = fe_data_leaves_for(&c, count, x);
  if (n > FE_LEAVES_MAX) fe_data_refuse(&c, "the list has %zu components; at most %d", n, FE_LEAVES_MAX);
  for (int round = 0; round < 3; round++)
    for (size_t i = 0; i < n && !c.error.status; i++) {
      char own[FE_PART_MAX];
      const char *chosen;
      c.view = fe_data_leaf(v, i);
      bool good = round == 0 ? fe_data_axes_of(&c, axes, i, n, own, &chosen) &&
                                   may_replace(&c, chosen, x[i], &made[i].how)
                  : round == 1 ? prepare(&c, x[i], &made[i])
                               : !c.view->is_ref || write_ref(&c, &made[i].how, x[i]);
      if (!good) fe_data_name_component(&c, i, n);
    }
  for (size_t i = 0; i < n; i++) {
    vf_data_view *leaf = fe_data_leaf(v, i);
    if (c.error.status) fe_data_release(&made[i].held);
    else if (leaf->is_ref) fe_data_forget(leaf);
    else fe_data_set(leaf, leaf->axes, made[i].held);
  }
  return fe_data_report(&c, error);
}

vf_status vf_data_replace(vf_data_view *v, const char *axes, vf_value x, vf_error *error) {
  fe_data_call c = {.who = "data_replace", .view = v};
  if (fe_data_is_list(&c, "vf_data_replace_all")) return fe_data_report(&c, error);
  return vf_data_replace_all(v, axes, 1, &x, error);
}

vf_status vf_data_set_input(vf_data_view *v, vf_value x, vf_error *error) {
  fe_data_call c = {.who = "data_set_input", .view = v};
  fe_held held;
  if (fe_data_is_list(&c, "it for each component")) return fe_data_report(&c, error);
  if (!v->axes[0]) fe_data_refuse(&c, "nothing has been put; put an array with its axes first");
  else if (fe_data_is_value(&c, "x", x) && fe_axes_fit(&c, v->axes, x) && fe_data_hold(&c, x, &held))
    fe_data_set(v, v->axes, held);
  return fe_data_report(&c, error);
}

vf_status vf_data_type(vf_data_view *v, vf_dtype dtype, vf_error *error) {
  fe_data_call c = {.who = "data_type", .view = v};
  fe_held held[FE_LEAVES_MAX];
  size_t n = v ? fe_data_leaf_count(v) : 0, kept = 0;
  if (!v) fe_data_refuse(&c, "the view is NULL");
  else if (n > FE_LEAVES_MAX) fe_data_refuse(&c, "the list has %zu components; at most %d", n, FE_LEAVES_MAX);
  else if (dtype == VF_NONE) fe_data_refuse(&c, "there is no dtype; say which one, as VF_F32");
  else fe_data_is_dtype(&c, dtype);
  for (; kept < n && !c.error.status; kept++) {
    c.view = fe_data_leaf(v, kept);
    vf_value x = fe_data_array(&c);
    if (x.id) x = fe_data_cast(&c, x, dtype);
    if (x.id && fe_data_hold(&c, x, &held[kept])) continue;
    fe_data_name_component(&c, kept, n);
    break;
  }
  for (size_t i = 0; i < kept; i++)
    if (c.error.status) fe_data_release(&held[i]);
    else fe_data_set(fe_data_leaf(v, i), fe_data_leaf(v, i)->axes, held[i]);
  return fe_data_report(&c, error);
}
