/* Views of data, backwards: gradients that consumers give, and their sum as the producer sees it. */
#include <string.h>

#include "data.h"

static bool add_gradient(fe_data_call *c, const char *axes, vf_value g) {
  vf_data_view *v = c->view;
  fe_held held;
  if (!IR_RESERVE(&v->context->mem, v->gradients, v->gradient_cap, v->gradient_count + 1)) {
    ir_fail(&c->error, IR_ERR_MEMORY, "%s: out of memory", c->who);
    return false;
  }
  if (!fe_data_hold(c, g, &held)) return false;
  fe_gradient *made = &v->gradients[v->gradient_count++];
  memcpy(made->axes, axes, strlen(axes) + 1);
  made->held = held;
  return true;
}

/* Can g be a gradient of what was got in these axes? */
static bool may_put(fe_data_call *c, const char *axes, vf_value g, fe_conversion *how) {
  vf_data_view *v = c->view;
  if (!fe_data_fits(c, "g", axes, g, how)) return false;
  if (how->kind == FE_ONE_HOT) return fe_data_refuse(c, "view 'bf' of classes has no gradient");
  vf_dtype dtype = vf_value_dtype(g), own = vf_value_dtype(fe_data_array(c));
  if ((how->kind == FE_SAME && dtype == own) || fe_data_was_got(v, how->to, dtype)) return true;
  return fe_data_refuse(c, "view '%s' has not been got in %s; a gradient is of what a consumer got", how->to,
                        vf_dtype_name(dtype));
}

vf_status vf_data_backward_put_all(vf_data_view *v, const char *axes, int count, const vf_value *g,
                                   vf_error *error) {
  fe_data_call c = {.who = "data_backward_put", .view = v};
  size_t n = fe_data_leaves_for(&c, count, g);
  for (int adds = 0; adds < 2; adds++)
    for (size_t i = 0; i < n && !c.error.status; i++) {
      char own[FE_PART_MAX];
      const char *chosen;
      fe_conversion how;
      c.view = fe_data_leaf(v, i);
      bool good = fe_data_axes_of(&c, axes, i, n, own, &chosen) && may_put(&c, chosen, g[i], &how) &&
                  (!adds || add_gradient(&c, how.to, g[i]));
      if (!good) fe_data_name_component(&c, i, n);
    }
  return fe_data_report(&c, error);
}

vf_status vf_data_backward_put(vf_data_view *v, const char *axes, vf_value g, vf_error *error) {
  return vf_data_backward_put_all(v, axes, 1, &g, error);
}

static vf_value led_back(fe_data_call *c, const fe_gradient *gradient, vf_value array) {
  fe_conversion how;
  vf_value g = fe_data_value(&gradient->held);
  if (!fe_data_is_value(c, "a gradient", g) || !fe_axes_convert(c, gradient->axes, &how))
    return (vf_value){0};
  return fe_data_lead_back(c, &how, array, fe_data_cast(c, g, vf_value_dtype(array)));
}

static vf_value sum(fe_data_call *c) {
  vf_data_view *v = c->view;
  vf_value array = fe_data_array(c), total = {0};
  if (array.id && !v->gradient_count) fe_data_refuse(c, "no gradient has been put since the array was");
  for (size_t i = 0; i < v->gradient_count && !c->error.status; i++) {
    vf_value g = led_back(c, &v->gradients[i], array);
    total = i && g.id && total.id ? fe_data_sum(c, total, g) : g;
  }
  return c->error.status ? (vf_value){0} : total;
}

vf_status vf_data_backward_get_all(vf_data_view *v, int count, vf_value *g, vf_error *error) {
  fe_data_call c = {.who = "data_backward_get", .view = v};
  size_t n = fe_data_leaves_for(&c, count, g);
  for (size_t i = 0; i < n && !c.error.status; i++) {
    c.view = fe_data_leaf(v, i);
    g[i] = sum(&c);
    if (!g[i].id) fe_data_name_component(&c, i, n);
  }
  for (size_t i = 0; i < n && c.error.status; i++) g[i] = (vf_value){0};
  return fe_data_report(&c, error);
}

vf_value vf_data_backward_get(vf_data_view *v, const char *axes, vf_dtype dtype, vf_error *error) {
  fe_data_call c = {.who = "data_backward_get", .view = v};
  vf_value array = {0}, g = {0};
  if (!v || !v->graph)
    fe_data_refuse(&c,
                   v ? "a list view has several arrays; use vf_data_backward_get_all" : "the view is NULL");
  else array = fe_data_array(&c);
  if (array.id && axes && strcmp(axes, "default") != 0 && strcmp(axes, v->axes) != 0)
    fe_data_refuse(&c, "view '%.40s' is not that of the array, '%s'; the producer gets gradients in its own",
                   axes, v->axes);
  if (array.id && dtype != VF_NONE && dtype != vf_value_dtype(array))
    fe_data_refuse(&c, "%s is not the dtype of the array, %s; the producer gets gradients in its own",
                   vf_dtype_name(dtype), vf_dtype_name(vf_value_dtype(array)));
  if (!c.error.status) g = sum(&c);
  fe_data_report(&c, error);
  return g;
}

vf_value vf_data_backward(vf_data_view *v, const char *axes, vf_value g, vf_dtype dtype, vf_error *error) {
  if (!g.id) return vf_data_backward_get(v, axes, dtype, error);
  fe_data_call c = {.who = "data_backward", .view = v};
  if (fe_data_puts_alone(&c, "g", g, dtype, error)) return (vf_value){0};
  return vf_data_backward_put(v, axes, g, error) == VF_OK ? g : (vf_value){0};
}
