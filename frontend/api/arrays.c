/* Files of arrays: what they hold, constants from them, writing them. */
#include <stdio.h>
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
  const char *wrong = fe_not(c, FE_CONTEXT);
  fe_named_array *list = !wrong ? ir_alloc(&c->mem, count * sizeof *list) : NULL;
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "arrays: the context is %s", wrong);
  else if (!path || (!arrays && count))
    ir_fail(&failure, IR_ERR_INVALID, "arrays: the %s is NULL", !path ? "path" : "list");
  else if (!list) ir_fail(&failure, IR_ERR_MEMORY, "%.200s: out of memory", path);
  for (size_t i = 0; i < count && !failure.status; i++)
    list[i] = (fe_named_array){arrays[i].name, (ir_dtype)arrays[i].dtype, arrays[i].rank, arrays[i].shape,
                               arrays[i].elements};
  if (!failure.status) fe_arrays_write(path, list, count, &c->mem, &failure);
  if (!wrong) ir_free(&c->mem, list, count * sizeof *list);
  return fe_report(error, &failure);
}

vf_status vf_arrays_read(vf_arrays *a, size_t number, void *elements, size_t bytes, vf_error *error) {
  ir_error failure = {0};
  fe_array array = {0};
  if (!item(a, number))
    ir_fail(&failure, IR_ERR_INVALID, "arrays: there is no array %zu; there are %zu, which count from 0",
            number, vf_arrays_count(a));
  else if (fe_arrays_load(&a->file->arrays, number, &a->context->mem, &array, &failure) == IR_OK) {
    const char *name = vf_arrays_name(a, number);
    if (array.bytes != bytes || (!elements && bytes))
      ir_fail(&failure, IR_ERR_INVALID, "arrays: %.60s has %zu bytes, and memory of %zu is given",
              *name ? name : "the array", array.bytes, elements ? bytes : 0);
    else if (bytes) memcpy(elements, array.data, bytes);
    fe_array_free(&a->context->mem, &array);
  }
  return fe_report(error, &failure);
}

vf_tensor *vf_npy_read(vf_context *c, const char *path, vf_error *error) {
  ir_error failure = {0};
  vf_arrays *a = vf_arrays_open(c, path, error);
  vf_tensor *made = NULL;
  fe_array array;
  size_t index;
  if (!a) return NULL;
  if (fe_arrays_choose(&a->file->arrays, NULL, 0, &index, &failure) == IR_OK &&
      fe_arrays_load(&a->file->arrays, index, &c->mem, &array, &failure) == IR_OK) {
    made = fe_tensor_make(c, (vf_dtype)array.dtype, array.rank, array.shape, array.data, &failure);
    fe_array_free(&c->mem, &array);
  }
  size_t used = strlen(failure.text);
  if (failure.status == IR_ERR_INVALID && vf_arrays_count(a) > 1)
    snprintf(failure.text + used, sizeof failure.text - used,
             "; by vf_arrays_open, since vf_npy_read reads files of one");
  vf_arrays_close(a);
  fe_report(error, &failure);
  return made;
}

vf_status vf_npy_write(vf_tensor *tensor, const char *path, vf_error *error) {
  ir_error failure = {0};
  int64_t shape[VF_MAX_RANK];
  size_t length = path ? strlen(path) : 0;
  const char *wrong = fe_not(tensor, FE_TENSOR);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "npy: the tensor is %s", wrong);
  else if (length < 4 || strcmp(path + length - 4, ".npy") != 0)
    ir_fail(&failure, IR_ERR_INVALID, "npy: '%.200s' does not end in .npy", path ? path : "");
  if (failure.status) return fe_report(error, &failure);
  const void *elements = vf_tensor_data(tensor, error);
  if (!elements) return error ? error->status : VF_ERR_INVALID;
  const vf_named_array array = {"array", vf_tensor_dtype(tensor), vf_tensor_shape(tensor, shape), shape,
                                elements};
  return vf_arrays_write(vf_tensor_value(tensor).graph->context, path, 1, &array, error);
}
