/* The inputs, attributes and outputs of a node. */
#include <stdio.h>
#include <string.h>

#include "frontend/onnx/import.h"

static bool refuse(onnx_node *n, ir_status status, const char *format, va_list args) {
  ir_vfail(n->m->error, status, format, args);
  return false;
}

bool onnx_refuse(onnx_node *n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  refuse(n, IR_ERR_INVALID, format, args);
  va_end(args);
  return false;
}

bool onnx_lacks(onnx_node *n, const char *format, ...) {
  va_list args;
  va_start(args, format);
  refuse(n, IR_ERR_UNSUPPORTED, format, args);
  va_end(args);
  return false;
}

/* inputs */

bool onnx_has(const onnx_node *n, int input) { return input < n->input_count && n->inputs[input]; }

ir_ref onnx_in(onnx_node *n, int input) {
  if (!onnx_has(n, input)) return (ir_ref)onnx_refuse(n, "input %d is left out, which must be given", input);
  return onnx_value_ref(n->m, n->inputs[input]);
}

ir_ref onnx_optional(onnx_node *n, int input) { return onnx_has(n, input) ? onnx_in(n, input) : 0; }

const onnx_known *onnx_known_in(onnx_node *n, int input) {
  return onnx_has(n, input) ? onnx_value_known(n->m, n->inputs[input]) : NULL;
}

/* Notes which input of the model had to be known. */
static const char *ask_for(onnx_import *m, ir_ref input) {
  const char *name = ir_name_text(m->g, ir_get(m->g, input)->arg);
  if (!m->asked) return name;
  snprintf(m->asked->name, sizeof m->asked->name, "%s", name);
  m->asked->dtype = ir_dtype_of(m->g, input);
  return name;
}

const onnx_known *onnx_need(onnx_node *n, int input, const char *what) {
  const onnx_known *known = onnx_known_in(n, input);
  ir_ref of = 0;
  if (known || n->m->error->status) return known;
  if (!onnx_has(n, input)) {
    onnx_refuse(n, "input %d, %s, is left out, which must be given", input, what);
    return NULL;
  }
  if ((known = onnx_value_evaluated(n->m, n->inputs[input], &of))) return known;
  if (of)
    onnx_lacks(n,
               "%s is %sthe model's input '%s'; the importer must know its elements: give them as a fixed "
               "value of that input",
               what, of == n->inputs[input]->ref ? "" : "computed from ", ask_for(n->m, of));
  else
    onnx_lacks(n, "%s is computed from the model's inputs; takes constants and what follows from sizes",
               what);
  return NULL;
}

bool onnx_scalar(onnx_node *n, int input, const char *what, int64_t *out) {
  const onnx_known *known = onnx_need(n, input, what);
  if (!known) return false;
  if (known->count != 1) return onnx_refuse(n, "%s has %zu elements; takes one", what, known->count);
  return onnx_known_int(n->m, known, 0, out) ||
         onnx_lacks(n, "%s depends on a symbolic size; takes a number", what);
}

/* outputs */

bool onnx_wants(const onnx_node *n, int output) { return output < n->output_count && n->outputs[output]; }

bool onnx_put(onnx_node *n, int output, ir_ref value) {
  if (value && onnx_wants(n, output)) n->outputs[output]->ref = value;
  return value != 0;
}

bool onnx_put_known(onnx_node *n, int output, const onnx_known *known) {
  if (known && onnx_wants(n, output)) n->outputs[output]->known = known;
  return known != NULL;
}

bool onnx_put_all(onnx_node *n, ir_ref tuple) {
  if (!tuple) return false;
  const ir_node *all = ir_get(n->g, tuple);
  if (all->op != IR_OP_TUPLE) return onnx_put(n, 0, tuple);
  for (uint32_t i = 0; i < all->nsrc; i++)
    if (!onnx_put(n, (int)i, all->src[i])) return false;
  return true;
}

/* attributes */

const onnx_attribute *onnx_attribute_of(onnx_node *n, const char *name) {
  for (int i = 0; i < n->attribute_count; i++)
    if (wire_is(n->attributes[i].name, name)) return &n->attributes[i];
  return NULL;
}

int64_t onnx_int(onnx_node *n, const char *name, int64_t otherwise) {
  const onnx_attribute *a = onnx_attribute_of(n, name);
  return a ? a->i : otherwise;
}

double onnx_real(onnx_node *n, const char *name, double otherwise) {
  const onnx_attribute *a = onnx_attribute_of(n, name);
  return a ? (double)a->f : otherwise;
}

wire_bytes onnx_text(onnx_node *n, const char *name) {
  const onnx_attribute *a = onnx_attribute_of(n, name);
  return a ? a->s : (wire_bytes){0};
}

bool onnx_text_is(onnx_node *n, const char *name, const char *text, const char *otherwise) {
  const onnx_attribute *a = onnx_attribute_of(n, name);
  wire_bytes is = a ? a->s : (wire_bytes){(const uint8_t *)otherwise, strlen(otherwise)};
  return wire_is(is, text);
}

bool onnx_wrap(onnx_node *n, int64_t axis, int rank, int *out) {
  int64_t from = axis < 0 ? axis + rank : axis;
  *out = (int)from;
  return (from >= 0 && from < rank) ||
         onnx_refuse(n, "axis %lld; the tensor has %d axes", (long long)axis, rank);
}

int onnx_axis(onnx_node *n, const char *name, int64_t otherwise, int rank) {
  int axis;
  return onnx_wrap(n, onnx_int(n, name, otherwise), rank, &axis) ? axis : -1;
}

bool onnx_list(onnx_node *n, const char *name, int input, const ir_ref **items, int *count) {
  const onnx_attribute *a = onnx_attribute_of(n, name);
  const onnx_known *known = NULL;
  *items = NULL;
  *count = 0;
  if (!a && !onnx_has(n, input < 0 ? n->input_count : input)) return true;
  if (!a && !(known = onnx_need(n, input, name))) return false;
  if (known && ir_is_float(known->dtype)) return onnx_refuse(n, "%s is of floats; takes integers", name);
  size_t size = a ? a->ints.count : known->count;
  if (size > ONNX_KNOWN_MOST) return onnx_refuse(n, "%s has %zu entries", name, size);
  ir_ref *list = wire_alloc(&n->m->arena, (size + 1) * sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < size; i++) {
    list[i] = a ? ir_index(n->g, ((const int64_t *)a->ints.items)[i]) : known->elements[i].size;
    if (!list[i]) return false;
  }
  *items = list;
  *count = (int)size;
  return true;
}

bool onnx_numbers(onnx_node *n, const char *name, int input, const int64_t **items, int *count) {
  const ir_ref *list;
  *items = NULL;
  if (!onnx_list(n, name, input, &list, count)) return false;
  int64_t *numbers = list ? wire_alloc(&n->m->arena, ((size_t)*count + 1) * sizeof *numbers) : NULL;
  if (!list) return true;
  for (int i = 0; numbers && i < *count; i++)
    if (!ir_is_const(n->g, list[i], &numbers[i]))
      return onnx_lacks(n, "entry %d of %s depends on a symbolic size; takes numbers", i, name);
  *items = numbers;
  return numbers != NULL;
}
