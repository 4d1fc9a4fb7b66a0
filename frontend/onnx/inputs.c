/* The inputs of a model, and the variables that their symbolic sizes become. */
#include <string.h>

#include "frontend/onnx/import.h"
#include "frontend/onnx/narrow.h"

/* Bounds of a size that nobody has bounded, from LOW to HIGH. With more than HIGH, products of three sizes
 * and the size of an element do not fit the 63 bits that the bytes of a tensor have to fit. */
enum { LOW = 1, HIGH = 1 << 16 };

/* Each tensor of a sequence becomes an input. */
enum { SEQUENCE_MOST = 1 << 10 };

static bool is_name_byte(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A name of the model as that of a variable: letters, digits and _. */
static const char *variable_name(onnx_import *m, wire_bytes name) {
  char *out = wire_alloc(&m->arena, name.size + 5);
  if (!out) return NULL;
  for (size_t i = 0; i < name.size; i++) out[i] = is_name_byte(name.at[i]) ? (char)name.at[i] : '_';
  if (ir_variable_name_ok(out, name.size)) return out;
  memmove(out + 4, out, name.size + 1);
  return memcpy(out, "dim_", 4);
}

void onnx_note_limit(onnx_import *m, ir_ref size, int64_t most) {
  const ir_node *n = ir_get(m->g, size);
  if (n->op != IR_OP_VAR || most < 1 || ir_bounds_of(m->g, size).hi <= most) return;
  const char *name = ir_name_text(m->g, n->arg);
  size_t i = 0;
  while (i < m->limit_count && strcmp(m->limits[i].name, name)) i++;
  if (strlen(name) >= sizeof m->limits->name) return;
  if (i == m->limit_count) {
    if (!IR_RESERVE(m->g->mem, m->limits, m->limit_cap, m->limit_count + 1)) return;
    m->limits[m->limit_count++].most = most;
    memcpy(m->limits[i].name, name, strlen(name) + 1);
  }
  if (m->limits[i].most > most) m->limits[i].most = most;
}

static ir_ref make_variable(onnx_import *m, wire_bytes name) {
  int64_t low = LOW, high = HIGH;
  const char *given = onnx_string(m, name);
  for (int i = 0; given && m->options && i < m->options->size_count; i++) {
    const vf_import_size *s = &m->options->sizes[i];
    if (!s->name || strcmp(s->name, given)) continue;
    low = s->low, high = s->high;
    if (low < 0 || low > high) {
      onnx_fail(m, IR_ERR_INVALID, "the size '%s' is to be %lld to %lld; takes 0 <= low <= high", given,
                (long long)low, (long long)high);
      return 0;
    }
  }
  const char *variable = given ? variable_name(m, name) : NULL;
  if (!variable) return 0;
  for (size_t i = 0; i < m->limit_count; i++)
    if (strcmp(m->limits[i].name, variable) == 0 && m->limits[i].most < high && m->limits[i].most >= low)
      high = m->limits[i].most;
  return low == high ? ir_index(m->g, low) : vf_variable(m->graph, variable, low, high, 1).id;
}

static ir_ref variable_called(onnx_import *m, wire_bytes name) {
  onnx_value *v = (onnx_value *)onnx_scope_find(&m->variables, name);
  if (!v && !(v = onnx_declare(m, &m->variables, name))) return 0;
  if (!v->ref) v->ref = make_variable(m, name);
  return v->ref;
}

static wire_bytes trimmed(wire_bytes text) {
  while (text.size && text.at[0] == ' ') text.at++, text.size--;
  while (text.size && text.at[text.size - 1] == ' ') text.size--;
  return text;
}

/* The end of the first word of a sum, or of a product, where operators have blanks around them. */
static size_t word_end(wire_bytes text, const char *operators) {
  size_t i = 1;
  while (i + 1 < text.size &&
         !(strchr(operators, text.at[i]) && text.at[i - 1] == ' ' && text.at[i + 1] == ' '))
    i++;
  return i + 1 < text.size ? i : text.size;
}

static ir_ref factor(onnx_import *m, wire_bytes text) {
  int64_t value = 0;
  text = trimmed(text);
  if (!text.size) return 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.at[i] < '0' || text.at[i] > '9' || value > HIGH) return variable_called(m, text);
    value = 10 * value + (text.at[i] - '0');
  }
  return ir_index(m->g, value);
}

static ir_ref product(onnx_import *m, wire_bytes text) {
  ir_ref all = ir_index(m->g, 1);
  while (text.size && all) {
    size_t end = word_end(text, "*");
    all = pass_mul(m->g, all, factor(m, (wire_bytes){text.at, end}));
    text = end < text.size ? (wire_bytes){text.at + end + 1, text.size - end - 1} : (wire_bytes){0};
  }
  return all;
}

/* A size as exporters write it: a name, or a sum of products such as `past + 2 * length`. */
static ir_ref size_called(onnx_import *m, wire_bytes text) {
  ir_ref sum = 0;
  bool minus = false;
  text = trimmed(text);
  if (word_end(text, "+-*") == text.size) return variable_called(m, text);
  while (text.size) {
    size_t end = word_end(text, "+-");
    ir_ref term = product(m, (wire_bytes){text.at, end});
    sum = !sum ? term : minus ? pass_sub(m->g, sum, term) : pass_add(m->g, sum, term);
    if (!sum) return 0;
    minus = end < text.size && text.at[end] == '-';
    text = end < text.size ? (wire_bytes){text.at + end + 1, text.size - end - 1} : (wire_bytes){0};
  }
  return sum;
}

/* Sizes without a name are called INPUT_AXIS. */
static ir_ref unnamed_size(onnx_import *m, wire_bytes input, size_t axis) {
  char *name = wire_alloc(&m->arena, input.size + 4);
  if (!name) return 0;
  memcpy(name, input.at, input.size);
  name[input.size] = '_';
  size_t used = input.size + 1;
  if (axis >= 10) name[used++] = (char)('0' + axis / 10 % 10);
  name[used++] = (char)('0' + axis % 10);
  return size_called(m, (wire_bytes){(const uint8_t *)name, used});
}

/* The shape that the caller gives an input; NULL: none. */
static const vf_import_shape *shape_given(const onnx_import *m, const char *input) {
  for (int i = 0; m->options && i < m->options->shape_count; i++)
    if (m->options->shapes[i].name && strcmp(m->options->shapes[i].name, input) == 0)
      return &m->options->shapes[i];
  return NULL;
}

/* Gives a size of the model the value that it has in a given shape. */
static bool fix_size(onnx_import *m, const vf_import_shape *given, size_t axis, const onnx_dim *dim) {
  int64_t size = given->shape[axis], other = 0;
  if (size < 0 || (!dim->param.size && dim->value >= 0 && dim->value != size))
    return onnx_fail(m, IR_ERR_INVALID, "the input '%s' is to have %lld on axis %zu; the model has %lld",
                     given->name, (long long)size, axis, (long long)dim->value);
  wire_bytes name = trimmed(dim->param);
  if (!name.size || word_end(name, "+-*") < name.size) return true; /* no name, or a sum of names */
  onnx_value *v = (onnx_value *)onnx_scope_find(&m->variables, name);
  if (!v && !(v = onnx_declare(m, &m->variables, name))) return false;
  if (!v->ref) v->ref = ir_index(m->g, size);
  return (ir_is_const(m->g, v->ref, &other) && other == size) ||
         onnx_fail(m, IR_ERR_INVALID,
                   "the input '%s' is to have %lld on axis %zu, '%.*s', which is %lld by another input",
                   given->name, (long long)size, axis, WIRE_TEXT(name), (long long)other);
}

static bool fix_sizes(onnx_import *m, const vf_import_shape *given, wire_bytes type_shape) {
  onnx_shape shape = {0};
  if (!type_shape.at) return true;
  if (!wire_read(&m->arena, &onnx_shape_message, m->whole, type_shape, &shape)) return false;
  if (shape.dims.count != (size_t)given->rank)
    return onnx_fail(m, IR_ERR_INVALID, "the input '%s' is to have %d axes; the model has %zu", given->name,
                     given->rank, shape.dims.count);
  for (size_t i = 0; i < shape.dims.count; i++) {
    onnx_dim dim = {.value = -1};
    if (!wire_read(&m->arena, &onnx_dim_message, m->whole, ((wire_bytes *)shape.dims.items)[i], &dim) ||
        !fix_size(m, given, i, &dim))
      return false;
  }
  return true;
}

/* Of tensor `number` of a sequence, -1 of none: tensors of a sequence have sizes of their own, and the size N
 * of it is N_NUMBER. given: the shape that the caller gives, NULL of none. */
static bool read_dims(onnx_import *m, wire_bytes input, int number, const vf_import_shape *given,
                      const onnx_tensor_type *type, ir_ref *dims, int *rank) {
  onnx_shape shape = {0};
  if (given) {
    *rank = given->rank;
    for (int i = 0; i < given->rank; i++) dims[i] = ir_index(m->g, given->shape[i]);
    return true;
  }
  if (!wire_read(&m->arena, &onnx_shape_message, m->whole, type->shape, &shape)) return false;
  if (shape.dims.count > IR_MAX_RANK)
    return onnx_fail(m, IR_ERR_UNSUPPORTED, "the input '%.*s' has %zu axes; takes at most %d",
                     WIRE_TEXT(input), shape.dims.count, IR_MAX_RANK);
  *rank = (int)shape.dims.count;
  for (size_t i = 0; i < shape.dims.count; i++) {
    onnx_dim dim = {.value = -1};
    if (!wire_read(&m->arena, &onnx_dim_message, m->whole, ((wire_bytes *)shape.dims.items)[i], &dim))
      return false;
    if (dim.param.size && number >= 0) dim.param = onnx_numbered(m, dim.param, number);
    if (dim.param.size) dims[i] = size_called(m, dim.param);
    else if (dim.value >= 0) dims[i] = ir_index(m->g, dim.value);
    else dims[i] = unnamed_size(m, input, i);
    if (!dims[i])
      return onnx_fail(m, IR_ERR_INVALID, "the input '%.*s' has a size '%.*s', which is no sum of names",
                       WIRE_TEXT(input), WIRE_TEXT(dim.param));
  }
  return true;
}

/* What an input is: a tensor, a sequence of them, or perhaps nothing. */
typedef struct input_type {
  onnx_tensor_type tensor;
  bool sequence, optional;
} input_type;

static bool read_type(onnx_import *m, wire_bytes name, wire_bytes bytes, const vf_import_shape *given,
                      input_type *out) {
  onnx_type type = {0};
  onnx_element_type inner = {0};
  if (!wire_read(&m->arena, &onnx_type_message, m->whole, bytes, &type)) return false;
  wire_bytes within = type.sequence.at ? type.sequence : type.optional;
  if (type.sequence.at ? !out->sequence : type.optional.at && !out->optional && !out->sequence) {
    if (!wire_read(&m->arena, &onnx_element_type_message, m->whole, within, &inner)) return false;
    *(type.sequence.at ? &out->sequence : &out->optional) = true;
    return read_type(m, name, inner.type, given, out);
  }
  const char *kind = within.at        ? "a sequence of what is no tensor"
                     : type.map.at    ? "a map"
                     : type.sparse.at ? "a sparse tensor"
                                      : NULL;
  if (kind)
    return onnx_fail(m, IR_ERR_UNSUPPORTED,
                     "the input '%.*s' is %s; takes tensors, sequences and optional values", WIRE_TEXT(name),
                     kind);
  if (!wire_read(&m->arena, &onnx_tensor_type_message, m->whole, type.tensor, &out->tensor)) return false;
  if (onnx_dtype(out->tensor.dtype) == IR_NONE && !onnx_narrow_of(out->tensor.dtype))
    return onnx_fail(
        m, IR_ERR_UNSUPPORTED,
        "the input '%.*s' is of dtype %s; takes bool, integers of 2 to 64 bits and floats of 4 to 64",
        WIRE_TEXT(name), onnx_dtype_name(out->tensor.dtype));
  return (given && !out->sequence) || out->tensor.shape.at ||
         onnx_fail(m, IR_ERR_UNSUPPORTED,
                   "the input '%.*s' has no shape; takes one whose sizes may be symbolic, or one that is "
                   "given (vf_import_options.shapes; --in)",
                   WIRE_TEXT(name));
}

/* An input whose value the caller has given: known, and a constant. */
static bool use_value(onnx_import *m, const vf_import_value *given, const onnx_tensor_type *type,
                      onnx_value *v) {
  if (given->dtype != (vf_dtype)onnx_dtype(type->dtype))
    return onnx_fail(m, IR_ERR_INVALID, "the value of the input '%s' is of dtype %s; the model's is %s",
                     given->name, vf_dtype_name(given->dtype), onnx_dtype_name(type->dtype));
  v->ref = vf_data(m->graph, given->dtype, given->rank, given->shape, given->elements).id;
  onnx_known *k = v->ref ? onnx_known_make(m, (ir_dtype)given->dtype, given->rank, given->shape) : NULL;
  if (!k) return false;
  size_t size = vf_dtype_bytes(given->dtype);
  for (size_t i = 0; i < k->count; i++) {
    ir_value value = ir_value_load((const char *)given->elements + i * size, k->dtype);
    if (ir_is_float(k->dtype)) k->elements[i].real = value.f;
    else if (!(k->elements[i].size = ir_index(m->g, value.i))) return false;
  }
  v->known = k;
  return true;
}

/* number: as in read_dims */
static bool make_input(onnx_import *m, wire_bytes text, int number, const onnx_tensor_type *type,
                       onnx_value *v) {
  ir_ref dims[IR_MAX_RANK];
  vf_value sizes[IR_MAX_RANK];
  int rank = 0;
  const char *name = onnx_string(m, text);
  for (int i = 0; name && m->options && i < m->options->value_count; i++)
    if (m->options->values[i].name && strcmp(m->options->values[i].name, name) == 0)
      return use_value(m, &m->options->values[i], type, v);
  const vf_import_shape *given = name && number < 0 ? shape_given(m, name) : NULL;
  if (!name || !read_dims(m, text, number, given, type, dims, &rank)) return false;
  for (int i = 0; i < rank; i++) sizes[i] = (vf_value){m->graph, dims[i], m->graph->epoch};
  const onnx_narrow *narrow = onnx_narrow_of(type->dtype);
  ir_dtype dtype = narrow ? onnx_narrow_storage(narrow) : onnx_dtype(type->dtype);
  v->ref = vf_input_sized(m->graph, name, (vf_dtype)dtype, rank, sizes).id;
  v->narrow = narrow ? type->dtype : 0;
  v->input = v;
  return v->ref != 0;
}

/* The size that the options give something of that name; -1: none. */
static int64_t given_count(const onnx_import *m, wire_bytes name) {
  for (int i = 0; m->options && i < m->options->size_count; i++) {
    const vf_import_size *s = &m->options->sizes[i];
    if (s->name && wire_is(name, s->name) && s->low == s->high && s->low >= 0) return s->low;
  }
  return -1;
}

/* Tensors NAME_0, NAME_1, ... */
static bool make_sequence(onnx_import *m, wire_bytes name, const onnx_tensor_type *type, onnx_value *v) {
  int64_t count = given_count(m, name);
  if (count < 0 || count > SEQUENCE_MOST)
    return onnx_fail(m, IR_ERR_UNSUPPORTED,
                     "the input '%.*s' is a sequence; takes one whose length, to %d, is given as the size "
                     "'%.*s' of the import",
                     WIRE_TEXT(name), SEQUENCE_MOST, WIRE_TEXT(name));
  onnx_sequence *s = wire_alloc(&m->arena, sizeof *s);
  const onnx_value **items = s ? wire_alloc(&m->arena, ((size_t)count + 1) * sizeof(onnx_value *)) : NULL;
  for (int64_t i = 0; items && i < count; i++) {
    onnx_value *item = wire_alloc(&m->arena, sizeof *item);
    if (!item || !make_input(m, onnx_numbered(m, name, (int)i), (int)i, type, item)) return false;
    items[i] = item;
  }
  if (!items) return false;
  *s = (onnx_sequence){.items = items, .count = (int)count};
  v->sequence = s;
  return true;
}

static bool declare_input(onnx_import *m, onnx_frame *frame, const onnx_value_info *info) {
  input_type type = {0};
  const char *name = onnx_string(m, info->name);
  if (!name || !read_type(m, info->name, info->type, shape_given(m, name), &type)) return false;
  onnx_value *v = onnx_declare(m, &frame->scope, info->name);
  if (!v) return false;
  if (type.optional && given_count(m, info->name) == 0 && !type.sequence) return v->absent = true;
  return type.sequence ? make_sequence(m, info->name, &type.tensor, v)
                       : make_input(m, info->name, -1, &type.tensor, v);
}

/* Sizes that given shapes have, before any input is declared that has them too. */
static bool fix_given(onnx_import *m, const wire_list *inputs) {
  if (!m->options || !m->options->shape_count) return true;
  for (size_t i = 0; i < inputs->count; i++) {
    onnx_value_info info = {0};
    input_type type = {0};
    if (!wire_read(&m->arena, &onnx_value_info_message, m->whole, ((wire_bytes *)inputs->items)[i], &info))
      return false;
    const char *name = onnx_string(m, info.name);
    const vf_import_shape *given = name ? shape_given(m, name) : NULL;
    if (!name) return false;
    if (!given) continue;
    if (given->rank < 0 || given->rank > IR_MAX_RANK)
      return onnx_fail(m, IR_ERR_INVALID, "the input '%s' is to have %d axes; takes at most %d", name,
                       given->rank, IR_MAX_RANK);
    if (!read_type(m, info.name, info.type, given, &type)) return false;
    if (type.sequence)
      return onnx_fail(m, IR_ERR_UNSUPPORTED, "the input '%s' is a sequence; takes shapes of tensors", name);
    if (!fix_sizes(m, given, type.tensor.shape)) return false;
  }
  return true;
}

bool onnx_declare_inputs(onnx_import *m, onnx_frame *frame, const onnx_graph_proto *graph) {
  if (!fix_given(m, &graph->inputs)) return false;
  for (size_t i = 0; i < graph->inputs.count; i++) {
    onnx_value_info info = {0};
    if (!wire_read(&m->arena, &onnx_value_info_message, m->whole, ((wire_bytes *)graph->inputs.items)[i],
                   &info))
      return false;
    if (onnx_scope_find(&frame->scope, info.name)) continue; /* an initialiser: a constant */
    if (!declare_input(m, frame, &info)) return false;
  }
  return true;
}
