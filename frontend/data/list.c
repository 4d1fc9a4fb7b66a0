/* Views of several arrays. */
#include <stdio.h>
#include <string.h>

#include "data.h"

bool fe_data_reserve_components(vf_data_view *v, size_t count) {
  return IR_RESERVE(&v->context->mem, v->components, v->component_cap, count);
}

vf_data_view *vf_list_view_create(int count, vf_data_view *const *components, vf_error *error) {
  fe_data_call c = {.who = "list_view"};
  if (count < 1 || !components) fe_data_refuse(&c, "there are no components; a list has at least one");
  for (int i = 0; i < count && components && !c.error.status; i++) {
    if (!components[i]) fe_data_refuse(&c, "component %d is NULL", i);
    else if (components[i]->context != components[0]->context)
      fe_data_refuse(&c, "component %d belongs to another context than component 0", i);
  }
  if (fe_data_report(&c, error) != VF_OK) return NULL;
  vf_data_view *v = fe_data_make(components[0]->context, NULL, FE_LIST, error);
  if (!v) return NULL;
  if (!fe_data_reserve_components(v, (size_t)count)) {
    ir_fail(&c.error, IR_ERR_MEMORY, "list_view: out of memory");
    fe_data_report(&c, error);
    vf_data_view_destroy(v);
    return NULL;
  }
  memcpy(v->components, components, (size_t)count * sizeof *components);
  v->component_count = (size_t)count;
  return v;
}

size_t fe_data_leaf_count(const vf_data_view *v) {
  size_t count = v->graph ? 1 : 0;
  for (size_t i = 0; i < v->component_count; i++) count += fe_data_leaf_count(v->components[i]);
  return count;
}

vf_data_view *fe_data_leaf(vf_data_view *v, size_t number) {
  for (size_t i = 0; !v->graph;) {
    size_t inside = fe_data_leaf_count(v->components[i]);
    if (number < inside) v = v->components[i], i = 0;
    else number -= inside, i++;
  }
  return v;
}

size_t fe_data_leaves_for(fe_data_call *c, int count, const vf_value *x) {
  size_t leaves = c->view ? fe_data_leaf_count(c->view) : 0;
  if (!c->view) fe_data_refuse(c, "the view is NULL");
  else if (count < 0 || (size_t)count != leaves || !x)
    fe_data_refuse(c, "there are %d values; the view has %zu component%s, a value each", x ? count : 0,
                   leaves, leaves == 1 ? "" : "s");
  return c->error.status ? 0 : leaves;
}

void fe_data_name_component(fe_data_call *c, size_t number, size_t count) {
  char text[sizeof c->error.text];
  size_t who = strlen(c->who);
  if (count == 1 || !c->error.status || strncmp(c->error.text, c->who, who) != 0) return;
  snprintf(text, sizeof text, "%s: component %zu%.900s", c->who, number, c->error.text + who);
  memcpy(c->error.text, text, sizeof text);
}

bool fe_data_axes_of(fe_data_call *c, const char *axes, size_t number, size_t count, char out[FE_PART_MAX],
                     const char **chosen) {
  *chosen = axes;
  if (!axes || !strchr(axes, ',')) return true;
  size_t parts = 1, length;
  for (const char *a = axes; *a; a++) parts += *a == ',';
  if (parts != count)
    return fe_data_refuse(c, "view '%.80s' has %zu parts; the view has %zu component%s, a part each", axes,
                          parts, count, count == 1 ? "" : "s");
  for (; number; number--) axes = strchr(axes, ',') + 1;
  length = strcspn(axes, ",");
  if (length >= FE_PART_MAX)
    return fe_data_refuse(c, "view '%.40s' has more axes than a tensor, %d", axes, IR_MAX_RANK);
  memcpy(out, axes, length);
  out[length] = 0;
  *chosen = out;
  return true;
}

/* Have all arrays as many examples? */
static bool same_samples(fe_data_call *c, vf_data_view *v, size_t n, const int64_t *samples) {
  for (size_t i = 1; i < n; i++)
    if (samples[i] >= 0 && samples[0] >= 0 && samples[i] != samples[0]) {
      c->view = v;
      return fe_data_refuse(c, "component %zu has %lld examples, component 0 has %lld; all must have as many",
                            i, (long long)samples[i], (long long)samples[0]);
    }
  return true;
}

vf_status vf_data_put_all(vf_data_view *v, const char *axes, int count, const vf_value *x, vf_error *error) {
  fe_data_call c = {.who = "data_put", .view = v};
  fe_held held[FE_LEAVES_MAX];
  int64_t samples[FE_LEAVES_MAX];
  char own[FE_LEAVES_MAX][FE_PART_MAX];
  const char *chosen[FE_LEAVES_MAX];
  size_t n = fe_data_leaves_for(&c, count, x), kept = 0;
  if (n > FE_LEAVES_MAX) fe_data_refuse(&c, "the list has %zu components; at most %d", n, FE_LEAVES_MAX);
  for (size_t i = 0; i < n && !c.error.status; i++) {
    c.view = fe_data_leaf(v, i);
    if (fe_data_is_value(&c, "x", x[i]) && fe_data_axes_of(&c, axes, i, n, own[i], &chosen[i]) &&
        fe_axes_fit(&c, chosen[i], x[i]))
      samples[i] = vf_value_size(x[i], (int)(strchr(chosen[i], 'b') - chosen[i]));
    else fe_data_name_component(&c, i, n);
  }
  if (!c.error.status) same_samples(&c, v, n, samples);
  for (; kept < n && !c.error.status; kept++)
    if (!fe_data_hold(&c, x[kept], &held[kept])) break;
  for (size_t i = 0; i < kept; i++)
    if (c.error.status) fe_data_release(&held[i]);
    else fe_data_set(fe_data_leaf(v, i), chosen[i], held[i]);
  return fe_data_report(&c, error);
}

vf_status vf_data_get_all(vf_data_view *v, const char *axes, vf_dtype dtype, int count, vf_value *x,
                          vf_error *error) {
  fe_data_call c = {.who = "data_get", .view = v};
  size_t n = fe_data_leaves_for(&c, count, x), noted[FE_LEAVES_MAX], tried = 0;
  if (n > FE_LEAVES_MAX) fe_data_refuse(&c, "the list has %zu components; at most %d", n, FE_LEAVES_MAX);
  for (; tried < n && !c.error.status; tried++) {
    char own[FE_PART_MAX];
    const char *chosen;
    c.view = fe_data_leaf(v, tried);
    noted[tried] = c.view->fetched_count;
    bool good = fe_data_axes_of(&c, axes, tried, n, own, &chosen);
    x[tried] = good ? fe_data_get(&c, chosen, dtype) : (vf_value){0};
    if (!x[tried].id) fe_data_name_component(&c, tried, n);
  }
  for (size_t i = 0; i < n && c.error.status; i++) x[i] = (vf_value){0};
  while (tried-- > 0 && c.error.status) fe_data_leaf(v, tried)->fetched_count = noted[tried];
  return fe_data_report(&c, error);
}
