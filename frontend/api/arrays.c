/* Files of arrays: what they hold, constants from them, writing them. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/session/lazy.h"
#include "frontend/weights/weights.h"

struct vf_arrays {
  vf_context *context;
  fe_weights weights;
  fe_weights_file *file;
};

vf_arrays *vf_arrays_open(vf_context *c, const char *path, vf_error *error) {
  ir_error failure = {0};
  vf_arrays *a = NULL;
  if (!c || !path) {
    ir_fail(&failure, IR_ERR_INVALID, "arrays: the %s is NULL", c ? "path" : "context");
  } else if (!(a = ir_alloc(&c->mem, sizeof *a))) {
    ir_fail(&failure, IR_ERR_MEMORY, "%.200s: out of memory", path);
  } else {
    *a = (vf_arrays){.context = c};
    fe_weights_init(&a->weights, &c->mem, c->runtime);
    a->file = fe_weights_open(&a->weights, path, strlen(path), false, &failure);
    fe_context_retain(c);
    if (!a->file) {
      vf_arrays_close(a);
      a = NULL;
    }
  }
  fe_report(error, &failure);
  return a;
}

void vf_arrays_close(vf_arrays *a) {
  if (!a) return;
  vf_context *c = a->context;
  fe_weights_close(&a->weights);
  ir_free(&c->mem, a, sizeof *a);
  fe_context_release(c);
}

static const fe_stored *item(const vf_arrays *a, size_t number) {
  return a && number < a->file->arrays.count ? &a->file->arrays.items[number] : NULL;
}

const char *vf_arrays_format(const vf_arrays *a) { return a ? fe_format_name(a->file->arrays.format) : NULL; }
size_t vf_arrays_count(const vf_arrays *a) { return a ? a->file->arrays.count : 0; }
const char *vf_arrays_name(const vf_arrays *a, size_t number) {
  return item(a, number) ? fe_arrays_name(&a->file->arrays, number) : NULL;
}
const char *vf_arrays_type(const vf_arrays *a, size_t number) {
  const fe_stored *s = item(a, number);
  return s ? s->type : NULL;
}
vf_dtype vf_arrays_dtype(const vf_arrays *a, size_t number) {
  const fe_stored *s = item(a, number);
  return s ? (vf_dtype)s->dtype : VF_NONE;
}
int vf_arrays_shape(const vf_arrays *a, size_t number, int64_t shape[VF_MAX_RANK]) {
  const fe_stored *s = item(a, number);
  if (!s) return -1;
  if (shape) memcpy(shape, s->shape, (size_t)s->rank * sizeof *shape);
  return s->rank;
}
size_t vf_arrays_find(const vf_arrays *a, const char *name) {
  size_t found = a && name ? fe_arrays_find(&a->file->arrays, name, strlen(name)) : SIZE_MAX;
  return found == SIZE_MAX ? vf_arrays_count(a) : found;
}

/* A session holds arrays itself. */
static ir_ref session_value(fe_call *c, vf_graph *g, vf_arrays *a, const char *name) {
  const ir_mem *mem = &g->context->mem;
  fe_arrays *arrays = &a->file->arrays;
  ir_ref dims[VF_MAX_RANK], made = 0;
  fe_array array;
  size_t index;
  if (fe_arrays_choose(arrays, name, name ? strlen(name) : 0, &index, &g->error) != IR_OK ||
      fe_arrays_load(arrays, index, mem, &array, &g->error) != IR_OK)
    return 0;
  for (int i = 0; i < array.rank; i++) dims[i] = ir_index(c->ir, array.shape[i]);
  made = fe_lazy_buffer(g->context, array.dtype, dims, (size_t)array.rank, array.data, &g->error);
  fe_array_free(mem, &array);
  return made;
}

vf_value vf_arrays_constant(vf_graph *g, vf_arrays *a, const char *name) {
  fe_call c;
  ir_ref made = 0;
  bool good = fe_begin_in(&c, "constant", g);
  if (good && !a) good = fe_refuse(&c, "the file of arrays is NULL");
  if (good && a->context != g->context) good = fe_refuse(&c, "the file was opened in another context");
  if (good && g->is_session) return fe_end(&c, session_value(&c, g, a, name));
  if (good) {
    ir_ref first = g->ir.count;
    const char *path = a->file->path;
    ir_origin origin = {.base = "", .file = path, .file_length = strlen(path)};
    if (name) origin.name = name, origin.name_length = strlen(name);
    made = fe_weights_value(&a->weights, c.ir, &origin, &(fe_declared){.dtype = IR_NONE, .rank = -1});
    if (made && !fe_graph_use_constants(g, first)) {
      ir_fail(&g->error, IR_ERR_MEMORY, "out of memory for a constant");
      made = 0;
    }
  }
  return fe_end(&c, made);
}

vf_status vf_arrays_write(vf_context *c, const char *path, size_t count, const vf_named_array *arrays,
                          vf_error *error) {
  ir_error failure = {0};
  fe_named_array *list = c ? ir_alloc(&c->mem, count * sizeof *list) : NULL;
  if (!c || !path || (!arrays && count))
    ir_fail(&failure, IR_ERR_INVALID, "arrays: the %s is NULL", !c ? "context" : !path ? "path" : "list");
  else if (!list) ir_fail(&failure, IR_ERR_MEMORY, "%.200s: out of memory", path);
  for (size_t i = 0; i < count && !failure.status; i++)
    list[i] = (fe_named_array){arrays[i].name, (ir_dtype)arrays[i].dtype, arrays[i].rank, arrays[i].shape,
                               arrays[i].elements};
  if (!failure.status) fe_arrays_write(path, list, count, &c->mem, &failure);
  if (c) ir_free(&c->mem, list, count * sizeof *list);
  return fe_report(error, &failure);
}
