#include "frontend/text/reader.h"

#include <string.h>

#include "frontend/files/file_error.h"
#include "frontend/files/text_file.h"
#include "passes/index/index.h"
#include "passes/ops/ops.h"

/* the builder */

static ir_ref canonical(void *user, ir_graph *g, ir_op op, const ir_ref *src, uint32_t n) {
  uint32_t floor = g->count; /* the operands are canonical already */
  return pass_simplify_new(g, ir_expr_raw(user, g, op, src, n), floor);
}

static ir_ref apply_named(void *user, ir_graph *g, const char *name, size_t length, const ir_ref *operands,
                          size_t operand_count, const ir_attr *attrs, size_t attr_count, int line,
                          int column) {
  (void)user, (void)line, (void)column;
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
  if (none.status == IR_ERR_MEMORY) ir_fail(error, IR_ERR_MEMORY, "%s", none.text);
}

static bool proven_equal(ir_graph *g, ir_ref a, ir_ref b) { return pass_proves(g, IR_OP_EQ, a, b); }

const ir_builder fe_builder = {
    .expr = canonical, .apply = apply_named, .learn = learn_bounds, .same_size = proven_equal};

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

ir_status fe_parse_graphs(ir_graph *g, const char *name, const char *text, size_t length, ir_module *module) {
  if (ir_parse_module(g, &fe_builder, name, text, length, module) == IR_OK && !check_params(g, name, module))
    ir_module_free(module);
  return g->error->status;
}

ir_status fe_read_graphs(ir_graph *g, const char *path, ir_module *module) {
  ir_text text;
  ir_text_init(&text, g->mem);
  *module = (ir_module){.mem = g->mem};
  if (fe_text_read(path, FE_GRAPH_MOST, &text, g->error) == IR_OK)
    fe_parse_graphs(g, fe_text_name(path), text.data, text.len, module);
  ir_text_free(&text);
  return g->error->status;
}
