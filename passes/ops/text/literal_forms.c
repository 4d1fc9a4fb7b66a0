/* Calls of the leaves that text can write: constants, literal arrays, iota, filled tensors. */
#include <stdio.h>

#include "args.h"

#define AT(name) OP_ATTR_##name

/* The attribute `value` as a constant: of `dtype` where given, else of its default dtype. */
static ir_ref value_const(const op_args *a) {
  ir_value value, converted;
  ir_dtype kind = IR_NONE, dtype = IR_NONE;
  if (!op_args_literal(a, AT(value), a->at[AT(value)], &value, &kind) || !op_args_dtype(a, AT(dtype), &dtype))
    return 0;
  if (dtype == IR_NONE)
    return kind == IR_BOOL ? ir_const(a->g, kind, value)
                           : op_default_dtype(a->g, ir_make_weak(a->g, kind, value));
  if (!op_holds(dtype, value, kind, &converted))
    return op_refuse_value(a->g, a->who, dtype, value, kind, " or another dtype");
  return ir_const(a->g, dtype, converted);
}

ir_ref op_form_constant(const op_args *a) { return value_const(a); }

ir_ref op_form_full(const op_args *a) {
  op_list shape;
  ir_ref value = value_const(a);
  return value && op_args_list(a, AT(shape), &shape) ? op_full(a->g, value, shape.items, shape.n) : 0;
}

static ir_ref filled(const op_args *a, int64_t value) {
  op_list shape;
  ir_dtype dtype = IR_F32;
  if (!op_args_list(a, AT(shape), &shape) || !op_args_dtype(a, AT(dtype), &dtype)) return 0;
  ir_value converted = ir_value_cast((ir_value){.i = value}, IR_I64, dtype);
  return op_full(a->g, ir_const(a->g, dtype, converted), shape.items, shape.n);
}

ir_ref op_form_zeros(const op_args *a) { return filled(a, 0); }
ir_ref op_form_ones(const op_args *a) { return filled(a, 1); }

OP_FORM(iota, OP_ENTRIES(shape) OP_INT(axis, 0) OP_DTYPE(dtype, IR_I64),
        op_iota(a->g, dtype, shape.items, shape.n, axis))

/* An iterator over nested lists in row-major order. The nesting of the first elements gives the shape. */
typedef struct nest {
  const op_args *a;
  const ir_attr *level[IR_MAX_RANK]; /* the current list at each depth */
  size_t at[IR_MAX_RANK], size[IR_MAX_RANK];
  size_t depth;
} nest;

static bool nest_start(nest *w, const op_args *a) {
  *w = (nest){.a = a};
  const ir_attr *v = a->at[AT(values)];
  if (v->kind != IR_ATTR_LIST) return op_args_wrong(a, AT(values), v);
  while (v && v->kind == IR_ATTR_LIST) {
    if (w->depth == IR_MAX_RANK) {
      op_refuse(a->g, "%s: values nest deeper than %d lists; a tensor has at most %d axes", a->who,
                IR_MAX_RANK, IR_MAX_RANK);
      return false;
    }
    w->level[w->depth] = v;
    w->size[w->depth++] = v->count;
    v = v->count ? &v->items[0] : NULL;
  }
  return true;
}

/* Steps to the next innermost list and checks its length; false at the end or after failing. */
static bool nest_list(nest *w) {
  size_t d = w->depth - 1;
  while (w->at[d] == w->size[d]) {
    w->at[d] = 0;
    if (d-- == 0) return false;
    w->at[d]++;
  }
  for (; d + 1 < w->depth; d++) {
    const ir_attr *list = &w->level[d]->items[w->at[d]];
    if (list->kind != IR_ATTR_LIST || list->count != w->size[d + 1]) {
      char place[24 * IR_MAX_RANK] = "", found[40] = "no list";
      if (list->kind == IR_ATTR_LIST) snprintf(found, sizeof found, "one of %zu", list->count);
      size_t used = 0;
      for (size_t k = 0; k <= d && used < sizeof place; k++)
        used += (size_t)snprintf(place + used, sizeof place - used, "[%zu]", w->at[k]);
      op_refuse(w->a->g,
                "%s: values are ragged: a list of %zu was expected at depth %zu, and %s is %s; lists of one "
                "depth must have one length",
                w->a->who, w->size[d + 1], d + 1, place, found);
      return false;
    }
    w->level[d + 1] = list;
  }
  return true;
}

/* The next element, NULL at the end or after failing. */
static const ir_attr *nest_next(nest *w) {
  size_t d = w->depth - 1;
  do {
    if (!nest_list(w)) return NULL;
  } while (w->size[d] == 0);
  const ir_attr *item = &w->level[d]->items[w->at[d]++];
  if (item->kind != IR_ATTR_LIST) return item;
  op_refuse(w->a->g,
            "%s: values are ragged: a list stands where a number was expected; lists of one depth must have "
            "one length",
            w->a->who);
  return NULL;
}

/* The dtype of all elements together where none is given: bool, or the common default dtype of the literals.
 * False after failing. */
static bool nest_dtype(const op_args *a, size_t *count, ir_dtype *dtype) {
  nest w;
  ir_dtype own = IR_NONE;
  *count = 0;
  if (!nest_start(&w, a)) return false;
  for (const ir_attr *v; (v = nest_next(&w)); (*count)++) {
    ir_value value;
    ir_dtype kind;
    if (!op_args_literal(a, AT(values), v, &value, &kind)) return false;
    bool wide = kind == IR_I64 && (value.i < INT32_MIN || value.i > INT32_MAX);
    ir_dtype t = kind == IR_F64 ? IR_F32 : kind == IR_I64 && !wide ? IR_I32 : kind;
    if (own == IR_NONE) own = t;
    else own = op_promote(own, t) != IR_NONE ? op_promote(own, t) : IR_U64;
  }
  if (*dtype == IR_NONE) *dtype = own == IR_NONE ? IR_F32 : own;
  return a->g->error->status == IR_OK;
}

static bool nest_store(const op_args *a, ir_dtype dtype, unsigned char *out) {
  nest w;
  if (!nest_start(&w, a)) return false;
  for (const ir_attr *v; (v = nest_next(&w)); out += ir_dtypes[dtype].bytes) {
    ir_value value, converted;
    ir_dtype kind;
    if (!op_args_literal(a, AT(values), v, &value, &kind)) return false;
    if (!op_holds(dtype, value, kind, &converted)) {
      op_refuse_value(a->g, a->who, dtype, value, kind, " or another dtype");
      return false;
    }
    ir_value_store(out, dtype, converted);
  }
  return true;
}

ir_ref op_form_data(const op_args *a) {
  op_list shape;
  nest w;
  size_t count;
  ir_dtype dtype = IR_NONE;
  if (!op_args_dtype(a, AT(dtype), &dtype) || !nest_dtype(a, &count, &dtype) || !nest_start(&w, a)) return 0;
  if (a->at[AT(shape)]) {
    if (!op_args_list(a, AT(shape), &shape)) return 0;
  } else {
    shape.n = w.depth;
    for (size_t i = 0; i < w.depth; i++) shape.items[i] = ir_index(a->g, (int64_t)w.size[i]);
  }
  size_t bytes = count * ir_dtypes[dtype].bytes;
  unsigned char *elements = ir_alloc(a->g->mem, bytes);
  if (!elements)
    return ir_fail(a->g->error, IR_ERR_MEMORY, "%s: out of memory for %zu elements", a->who, count), 0;
  ir_ref made =
      nest_store(a, dtype, elements) ? op_data(a->g, dtype, shape.items, shape.n, elements, bytes) : 0;
  ir_free(a->g->mem, elements, bytes);
  return made;
}
