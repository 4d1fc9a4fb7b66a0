/* The text of a tensor graph's functions: their order, their names, and the results of the nodes that call
 * them. */
#include "ir/custom.h"
#include "ir/lex/lex.h"
#include "ir/print/print.h"

#include <string.h>

/* order
 *
 * Lines stand in the order in which their nodes were made, which is the order in which reading the text makes
 * them. What functions contain is listed in the order of the operands that refer to it: a node that several
 * blocks contain was made for the first of them, whichever that was. Sources of a node in a function are in
 * it, too. */

typedef struct visit {
  ir_ref ref;
  uint32_t next; /* source to visit */
} visit;

typedef struct listing {
  const ir_printer *pr;
  uint8_t *seen;
  visit *stack;
  size_t room;
  ir_ref *nodes;
  size_t count;
} listing;

/* Lists a node after those of its sources that functions contain. */
static bool list_from(listing *l, ir_ref root) {
  const ir_graph *g = l->pr->graph;
  size_t depth = 0;
  for (ir_ref below = root; below || depth;) {
    if (below && !l->seen[below] && (below == root || l->pr->inside[below])) {
      if (!ir_reserve(g->mem, (void **)&l->stack, &l->room, depth + 1, sizeof *l->stack)) return false;
      l->seen[below] = 1;
      l->stack[depth++] = (visit){below, 0};
    }
    if (!depth) break;
    visit *top = &l->stack[depth - 1];
    const ir_node *n = ir_get(g, top->ref);
    below = n->op != IR_OP_FUNC && top->next < n->nsrc ? n->src[top->next++] : 0;
    if (below) continue;
    l->nodes[l->count++] = top->ref;
    depth--;
  }
  return true;
}

bool ir_list_nodes(ir_printer *pr, const ir_ref *roots, size_t n, ir_ref **nodes, size_t *count,
                   size_t *cap) {
  const ir_mem *mem = pr->graph->mem;
  ir_ref *live = NULL;
  size_t live_count = 0, live_cap = 0;
  listing l = {.pr = pr};
  bool good = ir_reachable(pr->graph, roots, n, &live, &live_count, &live_cap) == IR_OK &&
              IR_RESERVE(mem, *nodes, *cap, live_count) && (l.seen = ir_alloc(mem, pr->limit)) != NULL;
  l.nodes = *nodes;
  for (size_t i = 0; i < live_count && good; i++) l.seen[live[i]] = 0;
  for (size_t i = 0; i < live_count && good; i++)
    if (!pr->inside[live[i]]) good = list_from(&l, live[i]);
  for (size_t i = 0; i < n && good; i++)
    if (!l.seen[roots[i]]) good = list_from(&l, roots[i]);
  *count = l.count;
  ir_free(mem, l.seen, pr->limit);
  ir_free(mem, l.stack, l.room * sizeof *l.stack);
  ir_free(mem, live, live_cap * sizeof *live);
  return good;
}

/* names */

static bool list_block(ir_printer *pr, const ir_ref *roots, size_t n, bool function, ir_ref **nodes,
                       size_t *count, size_t *cap);

/* Lists a function after those that it calls: a text may name only graphs above it. */
static bool list_function(ir_printer *pr, ir_ref func) {
  const ir_graph *g = pr->graph;
  if (pr->names[func]) return true;
  ir_function f = ir_function_of(g, func);
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  bool good = list_block(pr, f.results, f.result_count, true, &nodes, &count, &cap) &&
              IR_RESERVE(g->mem, pr->functions, pr->function_cap, pr->function_count + 1);
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  if (!good) return false;
  pr->functions[pr->function_count++] = func;
  pr->names[func] = (uint32_t)pr->function_count;
  return true;
}

/* Lists the functions that the nodes call, in the order of these nodes, which does not depend on when the
 * functions were made. */
static bool list_below(ir_printer *pr, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(pr->graph, nodes[i]);
    if (ir_ops[n->op].cls != IR_CLASS_CONTROL) continue;
    for (uint32_t k = 0; k < ir_called_count(n); k++)
      if (!list_function(pr, ir_called(pr->graph, nodes[i], k))) return false;
  }
  return true;
}

/* Lists the functions below a block, and marks its nodes if it is a function. */
static bool list_block(ir_printer *pr, const ir_ref *roots, size_t n, bool function, ir_ref **nodes,
                       size_t *count, size_t *cap) {
  if (ir_reachable_in_order(pr->graph, roots, n, nodes, count, cap) != IR_OK) return false;
  for (size_t i = 0; i < *count && function; i++) pr->inside[(*nodes)[i]] = 1;
  return list_below(pr, *nodes, *count);
}

static bool make_tables(ir_printer *pr) {
  const ir_mem *mem = pr->graph->mem;
  pr->links = ir_alloc(mem, pr->limit * sizeof *pr->links);
  pr->inside = ir_alloc(mem, pr->limit);
  if (pr->links) memset(pr->links, 0, pr->limit * sizeof *pr->links);
  if (pr->inside) memset(pr->inside, 0, pr->limit);
  return pr->links && pr->inside;
}

bool ir_list_functions(ir_printer *pr, const char *name, size_t name_length, const ir_ref *roots, size_t n) {
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  ir_text_add(&pr->function_name, name, name_length);
  ir_text_str(&pr->function_name, "_f");
  pr->function_stem = pr->function_name.len;
  bool good =
      make_tables(pr) && list_block(pr, roots, n, false, &nodes, &count, &cap) && !pr->function_name.failed;
  ir_free(pr->graph->mem, nodes, cap * sizeof *nodes);
  return good;
}

void ir_put_function_name(ir_printer *pr, ir_ref func) {
  ir_text_str(pr->out, "@");
  if (func >= pr->limit || !pr->names[func]) { /* in a message about a single node */
    ir_textf(pr->out, "%u", func);
    return;
  }
  pr->function_name.len = pr->function_stem;
  ir_textf(&pr->function_name, "%u", pr->names[func] - 1);
  ir_lex_print_name(pr->out, ir_text_get(&pr->function_name), pr->function_name.len);
}

/* results */

void ir_link_results(ir_printer *pr, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; pr->links && i < count; i++) pr->links[nodes[i]] = 0;
  for (size_t i = 0; pr->links && i < count; i++) {
    if (ir_op_of(pr->graph, nodes[i]) != IR_OP_RESULT) continue;
    uint32_t *last = &pr->links[ir_src(pr->graph, nodes[i], 0)];
    pr->links[nodes[i]] = *last;
    *last = nodes[i];
  }
}

/* The RESULT node of that number, or 0 if the result is unused. */
static ir_ref result_node(const ir_printer *pr, ir_ref control, uint32_t number) {
  ir_ref at = pr->links ? pr->links[control] : 0;
  while (at && ir_arg_int(ir_get(pr->graph, at)) != number) at = pr->links[at];
  return at;
}

void ir_put_result_names(ir_printer *pr, ir_ref control) {
  for (uint32_t i = 0; i < ir_result_count(pr->graph, control); i++) {
    ir_ref result = result_node(pr, control, i);
    if (i) ir_text_str(pr->out, ", ");
    if (result) ir_put_number(pr, result);
    else ir_textf(pr->out, "%%%u", ir_next_number(pr));
  }
}

/* The batch of all results: that of any RESULT, or 0 if there is none. */
static ir_ref batch_of(const ir_printer *pr, ir_ref control) {
  return pr->links && pr->links[control] ? ir_batch(pr->graph, pr->links[control]) : 0;
}

static void put_like(ir_printer *pr, ir_ref control, ir_ref like, bool stacked) {
  const ir_graph *g = pr->graph;
  const ir_node *n = ir_get(g, control), *own = ir_get(g, ir_shape(g, like));
  ir_ref dims[IR_MAX_RANK + 1];
  uint32_t rank = own->nsrc < IR_MAX_RANK ? own->nsrc : IR_MAX_RANK;
  if (stacked) dims[0] = n->src[ir_operand_count(n) + 1];
  if (rank) memcpy(dims + stacked, own->src, rank * sizeof *dims);
  ir_text_str(pr->out, ir_dtypes[ir_dtype_of(g, like)].name);
  ir_put_dims(pr, batch_of(pr, control), dims, rank + stacked);
}

static void put_custom_types(ir_printer *pr, ir_ref custom) {
  ir_custom_call call;
  ir_custom_of(pr->graph, custom, &call);
  for (uint32_t i = 0; i < call.results; i++) {
    ir_textf(pr->out, "%s%s", i ? ", " : "", ir_dtypes[call.dtypes[i]].name);
    ir_put_dims(pr, batch_of(pr, custom), ir_custom_dims(pr->graph, custom, &call, i), call.ranks[i]);
  }
}

void ir_put_result_types(ir_printer *pr, ir_ref control) {
  if (ir_op_of(pr->graph, control) == IR_OP_CUSTOM) {
    put_custom_types(pr, control);
    return;
  }
  for (uint32_t i = 0; i < ir_result_count(pr->graph, control); i++) {
    bool stacked;
    ir_ref result = result_node(pr, control, i), like = ir_result_like(pr->graph, control, i, &stacked);
    if (i) ir_text_str(pr->out, ", ");
    if (result) ir_put_type(pr, result);
    else put_like(pr, control, like, stacked);
  }
}
