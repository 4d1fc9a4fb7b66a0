/* Parts of a batch, and copies of views. */
#include <string.h>

#include "data.h"
#include "passes/ops/check.h"

static bool is_kind_of(fe_data_call *c, const vf_data_view *v, const vf_data_view *reuse) {
  if (reuse->class != v->class || reuse->graph != v->graph || reuse->component_count != v->component_count)
    return fe_data_refuse(
        c, "the view to reuse is %s view%s; it has to be of the class and the graph of the view",
        fe_data_class_names[reuse->class],
        reuse->class == v->class ? " of another graph, or of other components" : "");
  if (reuse == v) return fe_data_refuse(c, "the view to reuse is the view itself");
  if (reuse->axes[0] && strcmp(reuse->axes, v->axes) != 0)
    return fe_data_refuse(c, "the view to reuse has the axes '%s', the view '%s'; both must have the same",
                          reuse->axes, v->axes);
  for (size_t i = 0; i < v->component_count; i++)
    if (!is_kind_of(c, v->components[i], reuse->components[i])) return false;
  return true;
}

static bool keep_classes(fe_data_call *c, const vf_data_view *v, vf_data_view *to) {
  vf_error error = {0};
  if (v->class_count &&
      vf_data_set_classes(to, v->class_count, (const char *const *)v->labels, &error) != VF_OK)
    ir_fail(&c->error, (ir_status)error.status, "%s: %.900s", c->who, error.message);
  return c->error.status == IR_OK;
}

/* A view of the same class without an array; a list has new components, which are its own. NULL after
 * failing. */
static vf_data_view *alike(fe_data_call *c, const vf_data_view *v) {
  vf_data_view *made = fe_data_make(v->context, v->graph, v->class, NULL);
  bool good = made && fe_data_reserve_components(made, v->component_count);
  if (made) made->owns_components = true;
  for (size_t i = 0; i < v->component_count && good; i++) {
    vf_data_view *component = alike(c, v->components[i]);
    if (component) made->components[made->component_count++] = component;
    else good = false;
  }
  if (good && keep_classes(c, v, made)) return made;
  if (!c->error.status) ir_fail(&c->error, IR_ERR_MEMORY, "%s: out of memory", c->who);
  vf_data_view_destroy(made);
  return NULL;
}

/* What becomes of the array of each component. */
typedef struct part_of {
  enum { WHOLE, WINDOW, TAKEN } how;
  int64_t start, stop;
  vf_value indices;
} part_of;

static vf_value part(fe_data_call *c, const part_of *p) {
  const char *axes = c->view->axes;
  vf_value x = fe_data_array(c);
  int64_t b = strchr(axes, 'b') - axes;
  if (!x.id || p->how == WHOLE) return x;
  if (p->how == WINDOW) {
    int64_t count = vf_value_size(x, (int)b);
    if (p->start >= 0 && p->start <= p->stop && (count < 0 || p->stop <= count))
      return fe_data_window(c, x, b, p->start, p->stop);
    fe_data_refuse(c, "examples %lld to %lld do not lie in 0..%lld; a range is half-open, and counts from 0",
                   (long long)p->start, (long long)p->stop, (long long)count);
    return (vf_value){0};
  }
  vf_dtype dtype = vf_value_dtype(p->indices);
  bool good = fe_data_is_value(c, "indices", p->indices);
  if (good && (ir_is_float((ir_dtype)dtype) || dtype == VF_BOOL || vf_value_rank(p->indices) != 1)) {
    ir_graph *g = &x.graph->ir;
    good = fe_data_refuse(c, "indices are %s; they are integers along one axis", OP_TYPE(p->indices.id));
  }
  return good ? fe_data_take(c, x, p->indices, b) : (vf_value){0};
}

/* `to` becomes parts of the components of v; all of them or none. */
static void fill(fe_data_call *c, vf_data_view *v, vf_data_view *to, const part_of *p) {
  fe_held held[FE_LEAVES_MAX];
  size_t n = fe_data_leaf_count(v), kept = 0;
  if (n > FE_LEAVES_MAX) fe_data_refuse(c, "the list has %zu components; at most %d", n, FE_LEAVES_MAX);
  for (; kept < n && !c->error.status; kept++) {
    c->view = fe_data_leaf(v, kept);
    held[kept] = (fe_held){.tensor = NULL};
    if (p->how == WHOLE && !c->view->axes[0]) continue;
    vf_value x = part(c, p);
    if (x.id && fe_data_hold(c, x, &held[kept])) continue;
    fe_data_name_component(c, kept, n);
    break;
  }
  for (size_t i = 0; i < kept; i++)
    if (c->error.status) fe_data_release(&held[i]);
    else fe_data_set(fe_data_leaf(to, i), fe_data_leaf(v, i)->axes, held[i]);
  c->view = v;
}

static vf_data_view *part_view(fe_data_call *c, vf_data_view *v, vf_data_view *reuse, const part_of *p,
                               vf_error *error) {
  vf_data_view *to = NULL;
  if (!v) fe_data_refuse(c, "the view is NULL");
  else if (!reuse) to = alike(c, v);
  else if (is_kind_of(c, v, reuse)) to = reuse;
  if (to) fill(c, v, to, p);
  fe_data_report(c, error);
  if (c->error.status && !reuse) vf_data_view_destroy(to);
  return c->error.status ? NULL : to;
}

vf_data_view *vf_data_index(vf_data_view *v, vf_value indices, vf_data_view *reuse, vf_error *error) {
  fe_data_call c = {.who = "data_index", .view = v};
  return part_view(&c, v, reuse, &(part_of){.how = TAKEN, .indices = indices}, error);
}

vf_data_view *vf_data_sub(vf_data_view *v, int64_t start, int64_t stop, vf_data_view *reuse,
                          vf_error *error) {
  fe_data_call c = {.who = "data_sub", .view = v};
  return part_view(&c, v, reuse, &(part_of){.how = WINDOW, .start = start, .stop = stop}, error);
}

vf_data_view *vf_data_clone(vf_data_view *v, vf_error *error) {
  fe_data_call c = {.who = "data_clone", .view = v};
  return part_view(&c, v, NULL, &(part_of){.how = WHOLE}, error);
}

int64_t vf_data_iterate(vf_data_view *v, int64_t batch, int64_t *at, vf_data_view *reuse, vf_error *error) {
  fe_data_call c = {.who = "data_iterate", .view = v};
  int64_t count = v ? vf_data_sample_count(v) : -1, n = 0;
  if (!v || !at || !reuse)
    fe_data_refuse(&c, "%s is NULL", !v ? "the view" : !at ? "the position" : "the part");
  else if (batch < 1) fe_data_refuse(&c, "a batch has %lld examples; it has at least 1", (long long)batch);
  else if (count < 0)
    fe_data_refuse(&c, "the number of examples is not known: nothing has been put, or it varies");
  else if (*at < 0 || *at > count)
    fe_data_refuse(&c, "position %lld does not lie in 0..%lld", (long long)*at, (long long)count);
  else n = count - *at < batch ? count - *at : batch;
  if (n && !c.error.status)
    part_view(&c, v, reuse, &(part_of){.how = WINDOW, .start = *at, .stop = *at + n}, error);
  else fe_data_report(&c, error);
  if (c.error.status) return -1;
  *at += n;
  return n;
}
