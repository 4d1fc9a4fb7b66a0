#include "frontend/weights/weights.h"

#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/formats.h"
#include "frontend/weights/blocks.h"

void fe_weights_init(fe_weights *w, const ir_mem *mem, rt_context *context) {
  *w = (fe_weights){.mem = mem, .context = context};
}

void fe_weights_close(fe_weights *w) {
  for (fe_weights_file *f = w->files, *next; f; f = next) {
    next = f->next;
    rt_range_digests_close(&f->digests);
    fe_arrays_close(&f->arrays);
    ir_free(w->mem, f, f->allocated);
  }
  for (size_t i = 0; i < w->held_count; i++) rt_constant_release(w->held[i]);
  ir_free(w->mem, w->held, w->held_cap * sizeof *w->held);
  fe_weights_init(w, w->mem, w->context);
}

fe_weights_file *fe_weights_open(fe_weights *w, const char *path, size_t length, bool bytes,
                                 ir_error *error) {
  for (fe_weights_file *f = w->files; f; f = f->next)
    if (strlen(f->path) == length && memcmp(f->path, path, length) == 0 &&
        bytes == (f->arrays.format == FE_BYTES))
      return f;
  size_t size = sizeof(fe_weights_file) + length + 1;
  fe_weights_file *f = ir_alloc(w->mem, size);
  if (!f) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory opening %.200s", path);
    return NULL;
  }
  *f = (fe_weights_file){.next = w->files, .allocated = size};
  memcpy(f->path, path, length);
  f->path[length] = 0;
  ir_status status = bytes ? fe_arrays_open_bytes(f->path, w->mem, &f->arrays, error)
                           : fe_arrays_open(f->path, w->mem, &f->arrays, error);
  if (status) {
    fe_arrays_close(&f->arrays);
    ir_free(w->mem, f, size);
    return NULL;
  }
  return w->files = f;
}

/* Of an array that is read where it lies. */
static ir_status map_array(fe_weights *w, fe_weights_file *f, const fe_stored *s, rt_constant **out,
                           ir_error *error) {
  ir_error ignored = {0};
  rt_mapped_file *file = f->arrays.source.file;
  rt_digest digest;
  if (!f->digesting)
    rt_range_digests_open(&f->digests, rt_context_mem(w->context), rt_context_disk(w->context, &ignored),
                          file);
  f->digesting = true;
  ir_status status = rt_range_digest_of(&f->digests, (size_t)s->offset, (size_t)s->bytes, &digest, error);
  if (status) return status;
  return rt_constant_map(w->context, file, (size_t)s->offset, (size_t)s->bytes, digest, out, error);
}

/* Memory of constants, for whoever wants an allocator. */
static void *constant_memory(void *user, void *ptr, size_t old_size, size_t new_size) {
  void *made = new_size ? rt_constant_memory(user, new_size) : NULL;
  if (made && ptr) memcpy(made, ptr, old_size < new_size ? old_size : new_size);
  if (ptr && (made || !new_size)) rt_constant_memory_free(user, ptr, old_size);
  return made;
}

ir_status fe_weights_constant(fe_weights *w, fe_weights_file *f, size_t index, rt_constant **out,
                              ir_error *error) {
  const fe_stored *s = &f->arrays.items[index];
  fe_array array;
  *out = NULL;
  if (!s->bytes && s->encoding != FE_OTHER) return rt_constant_copy(w->context, "", 0, out, error);
  if (fe_arrays_in_place(&f->arrays, index)) return map_array(w, f, s, out, error);
  ir_mem mem = {constant_memory, w->context};
  ir_status status = fe_arrays_load(&f->arrays, index, &mem, &array, error);
  if (!status) status = rt_constant_add(w->context, array.data, array.bytes, NULL, NULL, out, error);
  if (status) fe_array_free(&mem, &array);
  return status;
}

/* nodes */

/* Opens the file of an origin, and finds the array. One at an offset is of the type that is given. */
static fe_weights_file *find_array(fe_weights *w, const ir_origin *o, ir_dtype dtype, int rank,
                                   const int64_t *shape, size_t *index, ir_error *error) {
  ir_text path;
  ir_text_init(&path, w->mem);
  if (!o->file_length || o->file[0] != '/') ir_text_add(&path, o->base, o->base_length);
  ir_text_add(&path, o->file, o->file_length);
  fe_weights_file *f = NULL;
  if (path.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory opening a file");
  else if (memchr(path.data ? path.data : "", 0, path.len))
    ir_fail(error, IR_ERR_INVALID, "the name of a file has a zero byte");
  else f = fe_weights_open(w, ir_text_get(&path), path.len, o->bytes, error);
  ir_text_free(&path);
  if (!f) return NULL;
  ir_status status =
      o->bytes ? fe_arrays_add_bytes(&f->arrays, o->offset, dtype, rank, shape, index, error)
               : fe_arrays_choose(&f->arrays, o->name_length ? o->name : NULL, o->name_length, index, error);
  return status ? NULL : f;
}

static bool is_blocks(const fe_stored *s) { return s->encoding == FE_Q8_0 || s->encoding == FE_Q4_0; }

static bool is_stored_as(const fe_stored *s, ir_dtype dtype, const int64_t *shape, int rank) {
  return s->dtype == dtype && s->rank == rank &&
         (rank == 0 || memcmp(s->shape, shape, (size_t)rank * sizeof *shape) == 0);
}

static uint64_t bytes_of(ir_dtype dtype, const int64_t *shape, int rank) {
  uint64_t bytes = ir_dtypes[dtype].bytes;
  for (int i = 0; i < rank; i++) {
    if (shape[i] < 0 || (shape[i] && bytes > INT64_MAX / (uint64_t)shape[i])) return UINT64_MAX;
    bytes *= (uint64_t)shape[i];
  }
  return bytes;
}

ir_status fe_weights_resolve(fe_weights *w, const ir_graph *g, ir_ref resource, rt_constant **out,
                             ir_error *error) {
  ir_origin o;
  size_t index;
  char label[FE_LABEL];
  int64_t shape[IR_MAX_RANK] = {0};
  const ir_node *n = ir_get(g, resource);
  *out = NULL;
  if (!ir_resource_origin(g, resource, &o)) return ir_fail(error, IR_ERR_INTERNAL, "a constant of no file");
  for (uint32_t i = 0; i < n->nsrc; i++) ir_is_const(g, n->src[i], &shape[i]);
  fe_weights_file *f = find_array(w, &o, (ir_dtype)n->dtype, (int)n->nsrc, shape, &index, error);
  if (!f) return error->status;
  const fe_stored *s = &f->arrays.items[index];
  bool same = o.raw ? is_blocks(s) && s->bytes == bytes_of((ir_dtype)n->dtype, shape, (int)n->nsrc)
                    : is_stored_as(s, (ir_dtype)n->dtype, shape, (int)n->nsrc);
  if (!same)
    return fe_file_fail(error, IR_ERR_INVALID, f->arrays.source.name,
                        "%s is of another dtype or shape than when the graph was made",
                        fe_arrays_label(label, fe_arrays_name(&f->arrays, index), s->name_length));
  return fe_weights_constant(w, f, index, out, error);
}

/* A node for the array, or for its bytes as elements of another type. */
ir_ref fe_weights_node(fe_weights *w, ir_graph *g, fe_weights_file *f, size_t index, const ir_origin *origin,
                       ir_dtype dtype, const int64_t *shape, int rank) {
  ir_ref dims[IR_MAX_RANK];
  rt_constant *constant = NULL;
  uint64_t bytes = bytes_of(dtype, shape, rank);
  for (int i = 0; i < rank; i++) dims[i] = ir_index(g, shape[i]);
  if (w->context) {
    if (!IR_RESERVE(w->mem, w->held, w->held_cap, w->held_count + 1)) {
      ir_fail(g->error, IR_ERR_MEMORY, "out of memory for a constant");
      return 0;
    }
    if (fe_weights_constant(w, f, index, &constant, g->error) != IR_OK) return 0;
    w->held[w->held_count++] = constant;
  }
  return op_resource_from(g, dtype, dims, (size_t)rank, constant ? rt_constant_name(constant) : "", origin,
                          (size_t)bytes);
}

static void put_type(ir_text *out, ir_dtype dtype, const int64_t *shape, int rank) {
  ir_textf(out, "%s[", ir_dtypes[dtype].name);
  for (int i = 0; i < rank; i++) ir_textf(out, i ? ",%lld" : "%lld", (long long)shape[i]);
  ir_text_str(out, "]");
}

static ir_ref refuse_declared(ir_graph *g, const fe_weights_file *f, size_t index, ir_dtype dtype,
                              const int64_t *shape, int rank) {
  const fe_stored *s = &f->arrays.items[index];
  ir_text stored, said;
  char label[FE_LABEL];
  ir_text_init(&stored, g->mem);
  ir_text_init(&said, g->mem);
  put_type(&stored, s->dtype, s->shape, s->rank);
  put_type(&said, dtype, shape, rank);
  fe_file_fail(g->error, IR_ERR_INVALID, f->arrays.source.name, "%s is %.200s (%s); %.200s is declared",
               fe_arrays_label(label, fe_arrays_name(&f->arrays, index), s->name_length),
               ir_text_get(&stored), s->type, ir_text_get(&said));
  ir_text_free(&stored);
  ir_text_free(&said);
  return 0;
}

ir_ref fe_weights_value(fe_weights *w, ir_graph *g, const ir_origin *origin, const fe_declared *declared) {
  size_t index;
  if (origin->bytes && (!declared->dtype || declared->rank < 0)) {
    ir_fail(g->error, IR_ERR_INVALID, "data: an array at an offset has shape and dtype");
    return 0;
  }
  fe_weights_file *f =
      find_array(w, origin, declared->dtype, declared->rank, declared->shape, &index, g->error);
  if (!f) return 0;
  const fe_stored *s = &f->arrays.items[index];
  ir_dtype dtype = declared->dtype ? declared->dtype : s->dtype;
  int rank = declared->rank >= 0 ? declared->rank : s->rank;
  const int64_t *shape = declared->rank >= 0 ? declared->shape : s->shape;
  ir_origin o = *origin;
  if (s->encoding == FE_OTHER) {
    fe_array none;
    fe_arrays_load(&f->arrays, index, g->mem, &none, g->error); /* says why not */
    return 0;
  }
  if (!is_stored_as(s, dtype, shape, rank)) {
    o.raw = is_blocks(s) && bytes_of(dtype, shape, rank) == s->bytes;
    return o.raw ? fe_weights_node(w, g, f, index, &o, dtype, shape, rank)
                 : refuse_declared(g, f, index, dtype, shape, rank);
  }
  return is_blocks(s) ? fe_blocks_value(w, g, f, index, &o)
                      : fe_weights_node(w, g, f, index, &o, dtype, shape, rank);
}
