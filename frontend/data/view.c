/* Views of data: what they hold, and going forwards. */
#include "data.h"

#include <stdio.h>
#include <string.h>

#include "passes/ops/check.h"

const char *const fe_data_class_names[] = {"a data", "an image", "a sequence", "a class", "a list"};

/* failures */

bool fe_data_refuse(fe_data_call *c, const char *format, ...) {
  char text[sizeof c->error.text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ir_fail(&c->error, IR_ERR_INVALID, "%s: %.900s", c->who, text);
  return false;
}

vf_status fe_data_report(const fe_data_call *c, vf_error *error) { return fe_report(error, &c->error); }

bool fe_data_is_value(fe_data_call *c, const char *what, vf_value x) {
  vf_graph *g = c->view->graph;
  if (x.graph == g && g->error.status)
    return fe_data_refuse(c, "the graph has failed before: %.300s", g->error.text);
  if (x.graph && !x.id && x.epoch == FE_NOT_FOUND)
    return fe_data_refuse(c, "%s is %s", what, fe_graph_missed(x.graph, (char[400]){0}, 400));
  if (!x.graph || x.id == 0)
    return fe_data_refuse(c, "%s is the error value of a failure that was cleared", what);
  if (x.graph != g)
    return fe_data_refuse(c, "%s belongs to graph @%.60s, the view to @%.60s; they belong to one graph", what,
                          x.graph->name, g->name);
  if (x.epoch != g->epoch || x.id >= g->ir.count)
    return fe_data_refuse(
        c, "%s is a value from before the session last realised a tensor; get it again with vf_tensor_value",
        what);
  return ir_shape(&g->ir, x.id) || fe_data_refuse(c, "%s is a size; a view is of a tensor", what);
}

/* what outlives the session's values */

bool fe_data_hold(fe_data_call *c, vf_value x, fe_held *out) {
  vf_error error = {0};
  *out = (fe_held){.value = x};
  if (!x.graph->is_session) return true;
  out->tensor = vf_tensor_keep(x, &error);
  if (!out->tensor) ir_fail(&c->error, (ir_status)error.status, "%s: %.900s", c->who, error.message);
  return out->tensor != NULL;
}

vf_value fe_data_value(const fe_held *held) {
  return held->tensor ? vf_tensor_value(held->tensor) : held->value;
}

void fe_data_release(fe_held *held) {
  vf_tensor_release(held->tensor);
  *held = (fe_held){.tensor = NULL};
}

vf_value fe_data_array(fe_data_call *c) {
  vf_data_view *v = c->view;
  if (!v->axes[0]) {
    fe_data_refuse(c, "nothing has been put; put an array with its axes first");
    return (vf_value){0};
  }
  vf_value x = v->is_ref ? (vf_ref_get)(v->ref) : fe_data_value(&v->input);
  return fe_data_is_value(c, "the array of the view", x) ? x : (vf_value){0};
}

/* a view's life */

vf_data_view *fe_data_make(vf_context *context, vf_graph *graph, fe_data_class class, vf_error *error) {
  ir_error failure = {0};
  vf_data_view *v = ir_alloc(&context->mem, sizeof *v);
  if (v) *v = (vf_data_view){.context = context, .graph = graph, .class = class};
  if (v) fe_context_retain(context);
  else ir_fail(&failure, IR_ERR_MEMORY, "out of memory making a view of data");
  fe_report(error, &failure);
  return v;
}

static vf_data_view *make(vf_graph *graph, fe_data_class class, vf_error *error) {
  const char *wrong = fe_not(graph, FE_GRAPH);
  if (!wrong) return fe_data_make(graph->context, graph, class, error);
  ir_error failure = {0};
  ir_fail(&failure, IR_ERR_INVALID, "data_view: the graph is %s", wrong);
  fe_report(error, &failure);
  return NULL;
}

vf_data_view *vf_data_view_create(vf_graph *g, vf_error *error) { return make(g, FE_DATA, error); }
vf_data_view *vf_image_view_create(vf_graph *g, vf_error *error) { return make(g, FE_IMAGE, error); }
vf_data_view *vf_sequence_view_create(vf_graph *g, vf_error *error) { return make(g, FE_SEQUENCE, error); }
vf_data_view *vf_class_view_create(vf_graph *g, vf_error *error) { return make(g, FE_CLASS, error); }

static vf_data_view *make_with(fe_data_class class, const char *axes, vf_value x, vf_error *error) {
  vf_data_view *v = make(x.graph, class, error);
  if (!v || vf_data_put(v, axes, x, error) == VF_OK) return v;
  vf_data_view_destroy(v);
  return NULL;
}

vf_data_view *vf_data_view_of(const char *axes, vf_value x, vf_error *error) {
  return make_with(FE_DATA, axes, x, error);
}
vf_data_view *vf_image_view_of(const char *axes, vf_value x, vf_error *error) {
  return make_with(FE_IMAGE, axes, x, error);
}
vf_data_view *vf_sequence_view_of(const char *axes, vf_value x, vf_error *error) {
  return make_with(FE_SEQUENCE, axes, x, error);
}
vf_data_view *vf_class_view_of(const char *axes, vf_value x, vf_error *error) {
  return make_with(FE_CLASS, axes, x, error);
}

void fe_data_forget(vf_data_view *v) {
  for (size_t i = 0; i < v->gradient_count; i++) fe_data_release(&v->gradients[i].held);
  v->gradient_count = v->fetched_count = 0;
}

void fe_data_set(vf_data_view *v, const char *axes, fe_held input) {
  fe_data_forget(v);
  fe_data_release(&v->input);
  v->input = input;
  v->is_ref = false;
  if (axes != v->axes) memcpy(v->axes, axes, strlen(axes) + 1);
}

void vf_data_flush(vf_data_view *view) {
  for (size_t i = 0; view && i < fe_data_leaf_count(view); i++)
    fe_data_set(fe_data_leaf(view, i), "", (fe_held){0});
}

void vf_data_view_destroy(vf_data_view *v) {
  if (!v) return;
  const ir_mem *mem = &v->context->mem;
  if (v->graph) fe_data_set(v, "", (fe_held){0});
  vf_data_set_classes(v, 0, NULL, NULL);
  ir_free(mem, v->fetched, v->fetched_cap * sizeof *v->fetched);
  ir_free(mem, v->gradients, v->gradient_cap * sizeof *v->gradients);
  for (size_t i = 0; i < v->component_count && v->owns_components; i++)
    vf_data_view_destroy(v->components[i]);
  ir_free(mem, v->components, v->component_cap * sizeof *v->components);
  vf_context *context = v->context;
  ir_free(mem, v, sizeof *v);
  fe_context_release(context);
}

/* forwards */

bool fe_data_is_list(fe_data_call *c, const char *instead) {
  if (c->view && c->view->graph) return false;
  if (!c->view) fe_data_refuse(c, "the view is NULL");
  else fe_data_refuse(c, "a list view has several arrays; use %s", instead);
  return true;
}

vf_status vf_data_put(vf_data_view *v, const char *axes, vf_value x, vf_error *error) {
  fe_data_call c = {.who = "data_put", .view = v};
  fe_held held;
  if (!fe_data_is_list(&c, "vf_data_put_all") && fe_data_is_value(&c, "x", x) && fe_axes_fit(&c, axes, x) &&
      fe_data_hold(&c, x, &held))
    fe_data_set(v, axes, held);
  return fe_data_report(&c, error);
}

vf_status vf_data_put_ref(vf_data_view *v, const char *axes, vf_ref ref, vf_error *error) {
  fe_data_call c = {.who = "data_put_ref", .view = v};
  if (fe_data_is_list(&c, "it for each component")) return fe_data_report(&c, error);
  vf_value x = fe_data_is_value(&c, "the reference", ref.target) ? (vf_ref_get)(ref) : (vf_value){0};
  if (!c.error.status && fe_data_is_value(&c, "the reference", x) && fe_axes_fit(&c, axes, x)) {
    fe_data_set(v, axes, (fe_held){.tensor = NULL});
    v->ref = ref;
    v->is_ref = true;
  }
  return fe_data_report(&c, error);
}

static fe_fetched *find_fetched(const vf_data_view *v, const char *axes, vf_dtype dtype) {
  for (size_t i = 0; i < v->fetched_count; i++)
    if ((dtype == VF_NONE || v->fetched[i].dtype == dtype) && strcmp(v->fetched[i].axes, axes) == 0)
      return &v->fetched[i];
  return NULL;
}

/* What has been got of this array; NULL: nothing. A one-hot form is made anew, for the number of classes may
 * be another. */
static const fe_fetched *find_made(const vf_data_view *v, const fe_conversion *how, vf_dtype dtype,
                                   vf_value array) {
  const fe_fetched *f = how->kind == FE_ONE_HOT ? NULL : find_fetched(v, how->to, dtype);
  return f && f->array.id == array.id && f->array.epoch == array.epoch ? f : NULL;
}

static bool note_fetched(fe_data_call *c, const char *axes, vf_value array, vf_value made) {
  vf_data_view *v = c->view;
  vf_dtype dtype = vf_value_dtype(made);
  fe_fetched *f = find_fetched(v, axes, dtype);
  if (!f && !IR_RESERVE(&v->context->mem, v->fetched, v->fetched_cap, v->fetched_count + 1)) {
    ir_fail(&c->error, IR_ERR_MEMORY, "%s: out of memory", c->who);
    return false;
  }
  if (!f) f = &v->fetched[v->fetched_count++];
  memcpy(f->axes, axes, strlen(axes) + 1);
  f->dtype = dtype, f->array = array, f->made = made;
  return true;
}

bool fe_data_is_dtype(fe_data_call *c, vf_dtype dtype) {
  return (unsigned)dtype < VF_INDEX ||
         fe_data_refuse(c, "%d is no dtype of elements; one is, as VF_F32, and the device is the context's",
                        (int)dtype);
}

/* "bchw:f32" as axes and a dtype, which agrees with the one that is given beside. False after failing. */
static bool read_dtype(fe_data_call *c, const char **axes, vf_dtype *dtype, char own[FE_AXES_MAX]) {
  const char *colon = *axes ? strchr(*axes, ':') : NULL;
  if (!colon) return fe_data_is_dtype(c, *dtype);
  vf_dtype named = vf_dtype_parse(colon + 1);
  size_t length = (size_t)(colon - *axes);
  if (named == VF_NONE || named == VF_INDEX)
    return fe_data_refuse(c,
                          "view '%.40s' has the dtype '%.40s', which is none of elements; one is, as f32, "
                          "and the device is the context's",
                          *axes, colon + 1);
  if (*dtype != VF_NONE && *dtype != named)
    return fe_data_refuse(c, "view '%.40s' has the dtype %s, and %s is given beside; one of them is enough",
                          *axes, vf_dtype_name(named), vf_dtype_name(*dtype));
  if (length >= FE_AXES_MAX)
    return fe_data_refuse(c, "view '%.40s' has more axes than a tensor, %d", *axes, IR_MAX_RANK);
  memcpy(own, *axes, length);
  own[length] = 0;
  *axes = length ? own : NULL;
  *dtype = named;
  return true;
}

vf_value fe_data_get(fe_data_call *c, const char *axes, vf_dtype dtype) {
  fe_conversion how;
  char own[FE_AXES_MAX];
  if (!read_dtype(c, &axes, &dtype, own) || !fe_axes_convert(c, axes, &how)) return (vf_value){0};
  vf_value array = fe_data_array(c), none = {0};
  if (!array.id) return none;
  const fe_fetched *f = find_made(c->view, &how, dtype == VF_NONE ? vf_value_dtype(array) : dtype, array);
  if (f) return f->made;
  vf_value x = fe_data_cast(c, fe_data_convert(c, &how, array), dtype);
  return x.id && note_fetched(c, how.to, array, x) ? x : none;
}

vf_value vf_data_get(vf_data_view *v, const char *axes, vf_dtype dtype, vf_error *error) {
  fe_data_call c = {.who = "data_get", .view = v};
  vf_value x = {0};
  if (!fe_data_is_list(&c, "vf_data_get_all")) x = fe_data_get(&c, axes, dtype);
  fe_data_report(&c, error);
  return x;
}

bool fe_data_puts_alone(fe_data_call *c, const char *what, vf_value x, vf_dtype dtype, vf_error *error) {
  if (dtype == VF_NONE || dtype == vf_value_dtype(x)) return false;
  fe_data_refuse(c, "%s is put, of %s, and %s is asked for; a call puts or gets, not both", what,
                 vf_dtype_name(vf_value_dtype(x)), vf_dtype_name(dtype));
  fe_data_report(c, error);
  return true;
}

vf_value vf_data_forward(vf_data_view *v, const char *axes, vf_value x, vf_dtype dtype, vf_error *error) {
  if (!x.id) return vf_data_get(v, axes, dtype, error);
  fe_data_call c = {.who = "data_forward", .view = v};
  if (fe_data_puts_alone(&c, "x", x, dtype, error)) return (vf_value){0};
  return vf_data_put(v, axes, x, error) == VF_OK ? x : (vf_value){0};
}

/* the array itself */

vf_value vf_data_input(vf_data_view *v, vf_error *error) {
  fe_data_call c = {.who = "data_input", .view = v};
  vf_value x = {0};
  if (!fe_data_is_list(&c, "it for each component")) x = fe_data_array(&c);
  fe_data_report(&c, error);
  return x;
}

vf_value vf_data_transpose(vf_data_view *v, const char *axes, vf_error *error) {
  fe_data_call c = {.who = "data_transpose", .view = v};
  fe_conversion how = {.kind = FE_PERMUTE};
  vf_value x = {0};
  if (!fe_data_is_list(&c, "it for each component")) x = fe_data_array(&c);
  if (x.id && fe_axes_fit(&c, axes, x)) {
    for (const char *a = axes; *a && !c.error.status; a++)
      if (!strchr(v->axes, *a))
        fe_data_refuse(&c, "view '%s' has the axis '%c', which '%s' lacks; both must have the same", axes, *a,
                       v->axes);
    memcpy(how.from, v->axes, sizeof how.from);
    memcpy(how.to, axes, strlen(axes) + 1);
  }
  x = x.id && !c.error.status ? fe_data_convert(&c, &how, x) : (vf_value){0};
  fe_data_report(&c, error);
  return x;
}

static bool has_shape_of(fe_data_call *c, const char *what, vf_value x, vf_value like) {
  ir_graph *g = &x.graph->ir;
  bool same = ir_rank(g, x.id) == ir_rank(g, like.id);
  for (uint32_t i = 0; same && i < ir_rank(g, x.id); i++)
    same = op_decided(g, IR_OP_EQ, ir_dim(g, x.id, i), ir_dim(g, like.id, i));
  return same || fe_data_refuse(c, "%s has shape %s, the view %s; both must be equal", what, OP_TYPE(x.id),
                                OP_TYPE(like.id));
}

bool fe_data_fits(fe_data_call *c, const char *what, const char *axes, vf_value x, fe_conversion *how) {
  if (!fe_data_is_value(c, what, x) || !fe_axes_convert(c, axes, how)) return false;
  vf_value array = fe_data_array(c);
  const fe_fetched *f = array.id ? find_made(c->view, how, VF_NONE, array) : NULL;
  vf_value like = f ? f->made : array.id ? fe_data_convert(c, how, array) : array;
  return like.id && has_shape_of(c, what, x, like);
}

bool fe_data_was_got(const vf_data_view *v, const char *axes, vf_dtype dtype) {
  return find_fetched(v, axes, dtype) != NULL;
}

/* questions */

int64_t vf_data_sample_count(const vf_data_view *v) {
  vf_data_view *leaf = v && fe_data_leaf_count(v) ? fe_data_leaf((vf_data_view *)v, 0) : NULL;
  fe_data_call c = {.who = "data_sample_count", .view = leaf};
  vf_value x = leaf ? fe_data_array(&c) : (vf_value){0};
  return x.id ? vf_value_size(x, (int)(strchr(leaf->axes, 'b') - leaf->axes)) : -1;
}

int64_t vf_data_sample_size(const vf_data_view *v) {
  fe_data_call c = {.who = "data_sample_size", .view = (vf_data_view *)v};
  vf_value x = v && v->graph ? fe_data_array(&c) : (vf_value){0};
  int64_t size = x.id ? 1 : -1;
  for (int i = 0; x.id && v->axes[i] && size >= 0; i++) {
    int64_t n = v->axes[i] == 'b' ? 1 : vf_value_size(x, i);
    size = n < 0 || (n && size > INT64_MAX / n) ? -1 : size * n;
  }
  return size;
}

const char *vf_data_axes(const vf_data_view *v) { return v ? v->axes : ""; }
int vf_data_components(const vf_data_view *v) { return v ? (int)v->component_count : 0; }
vf_data_view *vf_data_component(const vf_data_view *v, int number) {
  return v && number >= 0 && (size_t)number < v->component_count ? v->components[number] : NULL;
}
