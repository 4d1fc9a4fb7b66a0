#include "frontend/text/reader.h"

#include <stdio.h>
#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/text_file.h"
#include "ir/mesh/sharding.h"
#include "frontend/text/kinds.h"
#include "runtime/runtime.h"
#include "passes/index/index.h"
#include "passes/ops/custom.h"
#include "passes/ops/ops.h"

/* The user data of the builder, where `data file=` is read. */
typedef struct fe_reading {
  const char *name; /* of the text's file */
  fe_weights *weights;
} fe_reading;

/* the builder */

static ir_ref canonical(void *user, ir_graph *g, ir_op op, const ir_ref *src, uint32_t n) {
  uint32_t floor = g->count; /* the operands are canonical already */
  return pass_simplify_new(g, ir_expr_raw(user, g, op, src, n), floor);
}

static const ir_attr *attribute(const ir_attr *attrs, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (attrs[i].name_length == strlen(name) && memcmp(attrs[i].name, name, attrs[i].name_length) == 0)
      return &attrs[i];
  return NULL;
}

static ir_ref refuse_data(ir_graph *g, const char *why) {
  ir_fail(g->error, IR_ERR_INVALID, "data: %s", why);
  return 0;
}

/* The attributes `shape` and `dtype`, where they are given. */
static bool read_declared(ir_graph *g, const ir_attr *shape, const ir_attr *dtype, fe_declared *out) {
  *out = (fe_declared){.dtype = IR_NONE, .rank = -1};
  if (dtype && dtype->kind == IR_ATTR_WORD) out->dtype = ir_dtype_parse(dtype->word, dtype->word_length);
  if (dtype && (out->dtype == IR_NONE || out->dtype == IR_INDEX))
    return refuse_data(g, "dtype is one of bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64");
  if (!shape) return true;
  bool good = shape->kind == IR_ATTR_LIST && shape->count <= IR_MAX_RANK;
  out->rank = good ? (int)shape->count : 0;
  for (int i = 0; i < out->rank && good; i++)
    good = shape->items[i].kind == IR_ATTR_EXPR && ir_is_const(g, shape->items[i].expr, &out->shape[i]);
  return good || refuse_data(g, "shape of an array of a file is a list of at most 16 numbers");
}

/* data file="w.safetensors" name="encoder.weight", and shape and dtype to be checked; or of any file
 * data file="w.bin" offset=128 shape=[2,3] dtype=f32
 * which may have a name, too. */
static ir_ref file_data(fe_reading *r, ir_graph *g, const ir_attr *attrs, size_t count) {
  const ir_attr *file = attribute(attrs, count, "file"), *name = attribute(attrs, count, "name"),
                *shape = attribute(attrs, count, "shape"), *dtype = attribute(attrs, count, "dtype"),
                *offset = attribute(attrs, count, "offset");
  fe_declared declared;
  int64_t at = 0;
  if (count != 1u + (name != NULL) + (shape != NULL) + (dtype != NULL) + (offset != NULL))
    return refuse_data(g, "beside file there may be name, offset, shape and dtype");
  if (offset && (offset->kind != IR_ATTR_EXPR || !ir_is_const(g, offset->expr, &at)))
    return refuse_data(g, "offset is a number of bytes");
  if (file->kind != IR_ATTR_WORD || (name && name->kind != IR_ATTR_WORD))
    return refuse_data(g, "file and name are strings, as in file=\"w.safetensors\" name=\"weight\"");
  if (!read_declared(g, shape, dtype, &declared)) return 0;
  const char *slash = strrchr(r->name, '/');
  ir_origin origin = {.base = r->name,
                      .base_length = slash ? (size_t)(slash - r->name) + 1 : 0,
                      .file = file->word,
                      .file_length = file->word_length,
                      .bytes = offset != NULL,
                      .offset = at};
  if (name) origin.name = name->word, origin.name_length = name->word_length;
  ir_error outer = *g->error;
  ir_ref made = fe_weights_value(r->weights, g, &origin, &declared);
  char *placed = made ? NULL : strstr(g->error->text, ": error: ");
  if (!outer.status && placed) /* the place in the text comes before it */
    memmove(placed + strlen(": "), placed + strlen(": error: "), strlen(placed + strlen(": error: ")) + 1);
  return made;
}

static ir_ref apply_named(void *user, ir_graph *g, const char *name, size_t length, const ir_ref *operands,
                          size_t operand_count, const ir_attr *attrs, size_t attr_count, int line,
                          int column) {
  (void)line, (void)column;
  bool data = length == 4 && memcmp(name, "data", 4) == 0;
  if (user && data && !operand_count && attribute(attrs, attr_count, "file"))
    return file_data(user, g, attrs, attr_count);
  return op_apply(g, name, length, operands, operand_count, attrs, attr_count);
}

/* Building an expression again, which is in canonical form, gives the same node, and records what its
 * operands say about its bounds. A kernel has no divisor below 1. What cannot be built says nothing. */
static void learn_bounds(void *user, ir_graph *g, ir_ref node) {
  (void)user;
  const ir_node *n = ir_get(g, node);
  ir_error *error = g->error, none = {0};
  g->error = &none;
  if (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) ir_bounds_tighten(g, n->src[1], 1, INT64_MAX);
  pass_rebuild(g, node, n->src, n->nsrc);
  g->error = error;
  if (ir_gives_up(none.status)) ir_fail(error, none.status, "%s", none.text);
}

static bool proven_equal(ir_graph *g, ir_ref a, ir_ref b) { return pass_proves(g, IR_OP_EQ, a, b); }

static bool is_known(ir_graph *g, const char *name, size_t length) {
  return op_known(name, length) || op_custom_find(g, name, length);
}

const ir_builder fe_builder = {.expr = canonical,
                               .apply = apply_named,
                               .learn = learn_bounds,
                               .same_size = proven_equal,
                               .known = is_known,
                               .put_attributes = op_put_attributes,
                               .result_names = op_result_names};

/* Check the types of parameters by op_input_batched: the parser declares them without a check. */
static bool check_params(ir_graph *g, const char *name, const ir_module *module) {
  for (size_t i = 0; i < module->count; i++) {
    const ir_parsed_graph *block = &module->graphs[i];
    for (size_t k = 0; k < block->param_count && block->kind == IR_BLOCK_GRAPH; k++) {
      const ir_named *param = &block->params[k];
      ir_ref dims[2 * IR_MAX_RANK];
      uint32_t lead = ir_batch_rank(g, param->ref);
      ir_physical(g, param->ref, dims);
      if (op_input_batched(g, param->name, param->length, ir_dtype_of(g, param->ref), dims, lead, dims + lead,
                           ir_rank(g, param->ref)))
        continue;
      char reason[sizeof g->error->text];
      ir_status status = g->error->status;
      memcpy(reason, g->error->text, sizeof reason);
      ir_error_clear(g->error);
      fe_file_fail(g->error, status, name, "parameter %%%.60s of @%.60s: %.600s", param->name, block->name,
                   reason);
      return false;
    }
  }
  return true;
}

/* Are the devices of the mesh that the text declares some that can be? */
static bool check_devices(ir_graph *g, const char *name) {
  const ir_mesh *mesh = ir_graph_mesh(g);
  for (uint32_t d = 0; mesh && mesh->devices && d < mesh->device_count; d++) {
    if (rt_device_is_name(mesh->devices[d].name)) continue;
    fe_file_fail(g->error, IR_ERR_INVALID, name,
                 "device %u of the mesh is \"%.80s\"; there are cpu, c, opencl, opencl:NUMBER and "
                 "opencl:PART OF NAME",
                 d, mesh->devices[d].name);
    return false;
  }
  return true;
}

/* What the statements of a graph say, and their names: of a statement with several results, each is noted. */
static void note_statements(fe_statements *s, ir_graph *g, const char *file, const ir_parsed_graph *block) {
  for (size_t i = 0; i < block->value_count; i++) {
    const ir_defined *d = &block->values[i];
    bool several = i + 1 < block->value_count && block->values[i + 1].statement == d->statement,
         further = i > 0 && block->values[i - 1].statement == d->statement;
    if (!further) fe_statements_write(s, g, d->statement, d->text, several, file, d->line);
    fe_statements_name_result(s, g, d->statement, d->ref, d->name);
  }
}

ir_status fe_parse_graphs_with(ir_graph *g, const char *name, const char *text, size_t length,
                               fe_weights *weights, fe_statements *statements, ir_module *module) {
  fe_reading reading = {name, weights};
  ir_builder builder = fe_builder;
  builder.user = &reading;
  if (ir_parse_module(g, &builder, name, text, length, module) == IR_OK && !check_params(g, name, module))
    ir_module_free(module);
  if (!g->error->status && !check_devices(g, name)) ir_module_free(module);
  for (size_t i = 0; i < module->count && statements; i++)
    note_statements(statements, g, name, &module->graphs[i]);
  return g->error->status;
}

ir_status fe_parse_graphs(ir_graph *g, const char *name, const char *text, size_t length, ir_module *module) {
  fe_weights weights;
  fe_weights_init(&weights, g->mem, NULL);
  ir_status status = fe_parse_graphs_with(g, name, text, length, &weights, NULL, module);
  fe_weights_close(&weights);
  return status;
}

ir_status fe_read_graphs(ir_graph *g, const char *path, fe_statements *statements, ir_module *module) {
  ir_text text;
  ir_text_init(&text, g->mem);
  *module = (ir_module){.mem = g->mem};
  fe_weights weights;
  fe_weights_init(&weights, g->mem, NULL);
  const char *other = NULL;
  if (fe_text_read(path, FE_GRAPH_MOST, &text, g->error) == IR_OK) other = fe_other_kind(text.data, text.len);
  if (other) fe_file_fail(g->error, IR_ERR_INVALID, fe_text_name(path), "it is %s", other);
  else if (!g->error->status)
    fe_parse_graphs_with(g, fe_text_name(path), text.data, text.len, &weights, statements, module);
  fe_weights_close(&weights);
  ir_text_free(&text);
  return g->error->status;
}
