/* Graphs that other graphs of the file call, as functions. */
#include "ir/parse/impl.h"

/* Makes a FUNC of a graph, with BUFFERs as parameters instead of the INPUTs, which have names that other
 * graphs may use as well. */
static ir_ref close_block(ir_parser *p, const ir_parsed_graph *block) {
  ir_graph *g = p->graph;
  size_t params = block->param_count, results = block->result_count, room = 2 * params + results;
  ir_ref *inputs = ir_alloc(g->mem, room * sizeof *inputs), *buffers = inputs + params, *roots, made = 0;
  if (!inputs) return (ir_ref)ir_parse_memory(p);
  roots = buffers + params;
  bool good = true;
  for (size_t i = 0; i < params && good; i++) {
    const ir_node *n = ir_get(g, block->params[i].ref);
    inputs[i] = block->params[i].ref;
    good = (buffers[i] = ir_make_tensor(g, IR_OP_BUFFER, (ir_dtype)n->dtype, ir_shape(g, inputs[i]),
                                        g->next_serial++, n->src, n->nsrc)) != 0;
  }
  for (size_t i = 0; i < results; i++) roots[i] = block->results[i].ref;
  if (good && ir_replace(g, inputs, buffers, params, roots, results) == IR_OK)
    made = ir_func(g, roots, (uint32_t)results, buffers, (uint32_t)params);
  ir_free(g->mem, inputs, room * sizeof *inputs);
  return made;
}

/* The caller depends on the variables of the graph that it calls: declares them with the same bounds. */
static bool declare_all(ir_parser *p, const ir_token *at, const ir_parsed_graph *block) {
  for (size_t i = 0; i < block->var_count; i++) {
    int64_t name = ir_get(p->graph, block->vars[i])->arg;
    ir_token variable = *at; /* position of the call, name of the variable */
    variable.kind = IR_TOKEN_WORD;
    variable.quoted = false;
    variable.text = ir_name_text(p->graph, name);
    variable.length = ir_name_length(p->graph, name);
    if (!ir_parse_declare(p, &variable, block->vars[i])) return false;
  }
  return true;
}

/* Lists the parameters that are references: those that the graph writes, which its results have in the same
 * order, and others. */
static bool list_references(ir_parser *p, const ir_parsed_graph *block, ir_attr *call) {
  size_t count = 0, k = 0;
  for (size_t i = 0; i < block->param_count; i++) count += block->params[i].reference;
  uint32_t *written = count ? ir_parse_alloc(p, 2 * count * sizeof *written) : NULL, *kept = written + count;
  if (!count) return true;
  if (!written) return false;
  while (k < block->result_count && !block->results[k].reference) k++;
  for (size_t i = 0; i < block->param_count; i++) {
    if (!block->params[i].reference) continue;
    if (k < block->result_count && block->params[i].name == block->results[k].name)
      written[call->written_count++] = (uint32_t)i, k++;
    else kept[call->kept_count++] = (uint32_t)i;
  }
  call->written = written, call->kept = kept;
  return true;
}

ir_ref ir_parse_function(ir_parser *p, const ir_token *name, ir_attr *call) {
  int64_t id = ir_parse_intern(p, name);
  if (id < 0) return (ir_ref)ir_parse_memory(p);
  uint32_t known = p->symbols[id].graph_known;
  ir_parsed_graph *block = known && p->module ? &p->module->graphs[known - 1] : NULL;
  if (!block || block->kind != IR_BLOCK_GRAPH)
    return (ir_ref)ir_lex_fail_at(
        &p->lex, name->line, name->column, "unknown graph, found '@%.*s', expected a graph defined above%s",
        (int)(name->length > 40 ? 40 : name->length), name->text,
        id != p->own_name ? ""
                          : "; a graph does not call itself: what is repeated is the "
                            "do=@f of while_loop or scan");
  block->called = true;
  if (!declare_all(p, name, block)) return 0;
  ir_ref func = p->symbols[id].func ? p->symbols[id].func : close_block(p, block);
  p->symbols[id].func = func;
  return func && list_references(p, block, call) ? func : 0;
}
