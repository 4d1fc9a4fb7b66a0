/* The text of tensor graphs, and the dispatch between graphs, functions and kernels. */
#include "ir/lex/lex.h"
#include "ir/print/print.h"
#include "ir/mesh/sharding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reserves a name that is a decimal number, so that no statement gets this number. */
static void reserve_number(ir_printer *pr, const char *name, size_t length) {
  uint64_t value = 0;
  if (length == 0 || length > 10 || (name[0] == '0' && length > 1)) return;
  for (size_t i = 0; i < length; i++) {
    if (name[i] < '0' || name[i] > '9') return;
    value = value * 10 + (uint64_t)(name[i] - '0');
  }
  if (IR_RESERVE(pr->graph->mem, pr->reserved, pr->reserved_cap, pr->reserved_count + 1))
    pr->reserved[pr->reserved_count++] = value;
  else pr->out->failed = true;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sets the flags that say how each node is used. Users have larger refs, so one pass in descending order sees
 * every use before the node. */
static void mark_uses(ir_printer *pr, const ir_ref *nodes, size_t count) {
  const ir_graph *g = pr->graph;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, nodes[i]);
    uint8_t *flags = &pr->flags[nodes[i]];
    if (n->op == IR_OP_TUPLE && !*flags) continue; /* the list of results */
    if (n->op == IR_OP_FUNC) continue;             /* printed as a block of its own */
    if (n->dtype == IR_INDEX) *flags |= IR_PRINT_EXPR;
    bool inside = *flags & IR_PRINT_EXPR && !(*flags & IR_PRINT_OPERAND && n->dtype != IR_INDEX);
    uint32_t operands = inside || n->op == IR_OP_VAR ? 0 : ir_operand_count(n);
    for (uint32_t s = 0; s < n->nsrc; s++) {
      uint8_t *source = &pr->flags[n->src[s]];
      *source |= s < operands ? IR_PRINT_OPERAND : IR_PRINT_EXPR;
      if (s < operands && !ir_dtype_deduced(g, n, s)) *source |= IR_PRINT_TYPED;
    }
  }
}

/* Does the node have a line of its own? */
static bool is_line(const ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  uint8_t flags = pr->flags[ref];
  if (n->op == IR_OP_INPUT || n->op == IR_OP_VAR || n->op == IR_OP_TUPLE) return false;
  if (n->op == IR_OP_FUNC || n->op == IR_OP_RESULT || pr->names[ref] & IR_PRINT_PARAM) return false;
  if (n->op == IR_OP_CONST)
    return !n->weak && n->dtype != IR_BOOL && n->dtype != IR_INDEX && flags & IR_PRINT_OPERAND &&
           flags & IR_PRINT_TYPED;
  if (flags & IR_PRINT_OPERAND && n->dtype != IR_INDEX) return true;
  return flags & IR_PRINT_EXPR ? (flags & IR_PRINT_NAMED) != 0 : true;
}

/* Does a line define it? */
static bool is_defined(const ir_printer *pr, ir_ref ref) {
  return is_line(pr, ref) || ir_op_of(pr->graph, ref) == IR_OP_RESULT;
}

/* A line or a parameter stands between `from` and the end of the text. */
static void note_place(ir_printer *pr, ir_ref ref, size_t from) {
  if (ref == pr->focus) pr->focus_from = from, pr->focus_to = pr->out->len;
  if (pr->place) pr->place(pr->place_user, ref, from, pr->out->len);
}

static void put_line(ir_printer *pr, ir_ref ref) {
  const ir_node *n = ir_get(pr->graph, ref);
  bool several = ir_has_results((ir_op)n->op);
  ir_text_str(pr->out, "  ");
  size_t from = pr->out->len;
  if (several) ir_put_result_names(pr, ref);
  else ir_put_number(pr, ref);
  ir_text_str(pr->out, " = ");
  if (n->dtype == IR_INDEX || (pr->flags[ref] & IR_PRINT_EXPR && !(pr->flags[ref] & IR_PRINT_OPERAND))) {
    uint32_t named = pr->names[ref];
    pr->names[ref] = 0; /* on its own line the expression is printed in full */
    ir_put_operand(pr, ref, false);
    pr->names[ref] = named;
  } else {
    ir_put_statement(pr, ref);
  }
  ir_text_str(pr->out, " : ");
  if (several) ir_put_result_types(pr, ref);
  else ir_put_type(pr, ref);
  note_place(pr, ref, from);
  ir_text_str(pr->out, "\n");
}

static void put_params(ir_printer *pr, const ir_named *params, size_t count) {
  ir_text_str(pr->out, "(");
  for (size_t i = 0; i < count; i++) {
    if (i) ir_text_str(pr->out, ", ");
    size_t from = pr->out->len;
    if (params[i].name) {
      ir_text_str(pr->out, "%");
      ir_lex_print_name(pr->out, params[i].name, params[i].length);
    } else {
      ir_put_name(pr, params[i].ref);
    }
    ir_text_str(pr->out, params[i].reference ? ": ref " : ": ");
    ir_put_type(pr, params[i].ref);
    note_place(pr, params[i].ref, from);
  }
  ir_text_str(pr->out, ") {\n");
}

static bool inputs_of(const ir_graph *g, const ir_ref *nodes, size_t count, ir_named **list, size_t *n,
                      size_t *cap) {
  for (size_t i = 0; i < count; i++) {
    const ir_node *node = ir_get(g, nodes[i]);
    if (node->op != IR_OP_INPUT) continue;
    if (!IR_RESERVE(g->mem, *list, *cap, *n + 1)) return false;
    (*list)[(*n)++] = (ir_named){
        .name = ir_name_text(g, node->arg), .length = ir_name_length(g, node->arg), .ref = nodes[i]};
  }
  return true;
}

static void name_results(ir_printer *pr, const ir_named *results, size_t count) {
  pr->results = results;
  for (size_t i = 0; i < count; i++) {
    if (!results[i].name) continue;
    reserve_number(pr, results[i].name, results[i].length);
    if (!results[i].reference && !pr->names[results[i].ref] && is_defined(pr, results[i].ref))
      pr->names[results[i].ref] = IR_PRINT_RESULT | (uint32_t)i;
  }
}

/* Those of `locals` that are nodes of the block and no results. */
static void name_locals(ir_printer *pr, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; i < count && pr->local_count; i++) {
    size_t lo = 0, hi = pr->local_count;
    while (lo < hi) {
      size_t middle = lo + (hi - lo) / 2;
      if (pr->locals[middle].ref < nodes[i]) lo = middle + 1;
      else hi = middle;
    }
    if (lo < pr->local_count && pr->locals[lo].ref == nodes[i] && !pr->names[nodes[i]] &&
        is_defined(pr, nodes[i]))
      pr->names[nodes[i]] = IR_PRINT_LOCAL | (uint32_t)lo;
  }
}

/* Must result i have an alias line, as newest versions of references have at the end, or because its value is
 * known by another name: the name of an input, or of an earlier result? A result without a line needs none if
 * its name is its place, as in `return true`. */
static bool needs_alias(const ir_printer *pr, const ir_named *results, size_t i) {
  const ir_node *n = ir_get(pr->graph, results[i].ref);
  const char *name = results[i].name;
  uint32_t known = pr->names[results[i].ref];
  size_t length = 0;
  char place[24] = "";
  if (!name || results[i].reference) return name != NULL;
  if (n->op == IR_OP_INPUT)
    name = ir_name_text(pr->graph, n->arg), length = ir_name_length(pr->graph, n->arg);
  else if (known & IR_PRINT_RESULT) {
    const ir_named *first = &pr->results[known & ~IR_PRINT_RESULT];
    name = first->name, length = first->length;
  } else {
    length = (size_t)snprintf(place, sizeof place, "%zu", i);
    name = place;
  }
  return length != results[i].length || memcmp(name, results[i].name, length) != 0;
}

static bool is_repeated(const ir_named *results, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (results[k].ref == results[i].ref && results[k].name && results[k].length == results[i].length &&
        memcmp(results[k].name, results[i].name, results[i].length) == 0)
      return true;
  return false;
}

static void put_alias(ir_printer *pr, const ir_named *result) {
  ir_text_str(pr->out, "  %");
  ir_lex_print_name(pr->out, result->name, result->length);
  ir_text_str(pr->out, " = ");
  ir_put_operand(pr, result->ref, false);
  ir_text_str(pr->out, " : ");
  ir_put_type(pr, result->ref);
  ir_text_str(pr->out, "\n");
}

static void put_results(ir_printer *pr, const ir_named *results, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (needs_alias(pr, results, i) && !is_repeated(results, i)) put_alias(pr, &results[i]);
  ir_text_str(pr->out, "  return");
  for (size_t i = 0; i < count && !results[i].reference; i++) { /* references come last */
    ir_text_str(pr->out, i ? ", " : " ");
    if (needs_alias(pr, results, i)) {
      ir_text_str(pr->out, "%");
      ir_lex_print_name(pr->out, results[i].name, results[i].length);
    } else {
      ir_put_operand(pr, results[i].ref, false);
    }
  }
}

/* What put_block prints: a graph or a function. */
typedef struct block {
  const char *name; /* NULL: the name of `func` */
  size_t name_length;
  ir_ref func;
  const ir_named *params, *results;
  size_t param_count, result_count;
} block;

static void put_block(ir_printer *pr, const block *b, const ir_ref *nodes, size_t count) {
  for (size_t i = 0; i < b->result_count; i++)
    pr->flags[b->results[i].ref] |= IR_PRINT_OPERAND | IR_PRINT_TYPED;
  mark_uses(pr, nodes, count);
  for (size_t i = 0; i < count; i++)
    if (pr->flags[nodes[i]] & IR_PRINT_EXPR && ir_op_of(pr->graph, nodes[i]) != IR_OP_FUNC)
      ir_measure(pr, nodes[i]);
  for (size_t i = 0; i < b->param_count; i++)
    if (b->params[i].name) reserve_number(pr, b->params[i].name, b->params[i].length);
    else pr->names[b->params[i].ref] = IR_PRINT_PARAM | (uint32_t)i;
  ir_link_results(pr, nodes, count);
  name_results(pr, b->results, b->result_count);
  name_locals(pr, nodes, count);
  if (pr->reserved_count) qsort(pr->reserved, pr->reserved_count, sizeof *pr->reserved, ascending);
  if (pr->place) pr->place(pr->place_user, b->func, pr->out->len, pr->out->len);
  ir_text_str(pr->out, "graph ");
  if (b->name) {
    ir_text_str(pr->out, "@");
    ir_lex_print_name(pr->out, b->name, b->name_length);
  } else {
    ir_put_function_name(pr, b->func);
  }
  put_params(pr, b->params, b->param_count);
  for (size_t i = 0; i < count; i++)
    if (is_line(pr, nodes[i])) put_line(pr, nodes[i]);
  put_results(pr, b->results, b->result_count);
  ir_text_str(pr->out, "\n}\n");
}

/* Prints a function as a block, then clears its nodes' table entries: the same nodes may be used outside. */
static bool put_function(ir_printer *pr, ir_ref func) {
  const ir_graph *g = pr->graph;
  ir_function f = ir_function_of(g, func);
  size_t both = f.param_count + f.result_count, count = 0, cap = 0;
  ir_ref *nodes = NULL;
  ir_named *all = ir_alloc(g->mem, both * sizeof *all);
  bool ok = all && ir_list_nodes(pr, f.results, both, &nodes, &count, &cap);
  if (ok) { /* parameters follow results, in f as in `all` */
    for (size_t i = 0; i < both; i++) all[i] = (ir_named){.ref = f.results[i]};
    block b = {.func = func,
               .params = all + f.result_count,
               .param_count = f.param_count,
               .results = all,
               .result_count = f.result_count};
    put_block(pr, &b, nodes, count);
    for (size_t i = 0; i < count; i++) {
      pr->flags[nodes[i]] = 0, pr->sizes[nodes[i]] = 0, pr->links[nodes[i]] = 0;
      if (ir_op_of(g, nodes[i]) != IR_OP_FUNC) pr->names[nodes[i]] = 0;
    }
    pr->next_number = 0;
    pr->reserved_count = pr->reserved_at = 0;
  }
  ir_free(g->mem, all, both * sizeof *all);
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return ok;
}

/* Prints the functions, if there are any, and then lists the nodes in the order that texts with functions
 * have. */
static bool put_functions(ir_printer *pr, const char *name, size_t name_length, const ir_ref *roots, size_t n,
                          ir_ref **nodes, size_t *count, size_t *cap) {
  size_t i = 0;
  while (i < *count && !ir_has_results(ir_op_of(pr->graph, (*nodes)[i]))) i++;
  if (i == *count) return true;
  bool ok = ir_list_functions(pr, name, name_length, roots, n);
  for (i = 0; i < pr->function_count && ok; i++) ok = put_function(pr, pr->functions[i]);
  return ok && ir_list_nodes(pr, roots, n, nodes, count, cap);
}

/* Prints a graph after its functions. params NULL: the INPUT nodes in order of creation. A result without a
 * name gets a number. */
static void put_graph(ir_printer *pr, const char *name, size_t name_length, const ir_named *params,
                      size_t param_count, const ir_named *results, size_t result_count) {
  const ir_graph *g = pr->graph;
  ir_ref *nodes = NULL, *roots = ir_alloc(g->mem, result_count * sizeof *roots);
  ir_named *inputs = NULL;
  size_t count = 0, cap = 0, input_count = 0, input_cap = 0;
  for (size_t i = 0; roots && i < result_count; i++) roots[i] = results[i].ref;
  if (ir_graph_mesh(g)) ir_mesh_print(ir_graph_mesh(g), pr->out), ir_text_str(pr->out, "\n");
  bool ok = roots && ir_reachable(g, roots, result_count, &nodes, &count, &cap) == IR_OK &&
            (params || inputs_of(g, nodes, count, &inputs, &input_count, &input_cap)) &&
            put_functions(pr, name, name_length, roots, result_count, &nodes, &count, &cap);
  if (ok) {
    block b = {.name = name,
               .name_length = name_length,
               .params = params ? params : inputs,
               .param_count = params ? param_count : input_count,
               .results = results,
               .result_count = result_count};
    put_block(pr, &b, nodes, count);
  }
  pr->out->failed = pr->out->failed || !ok;
  ir_free(g->mem, roots, result_count * sizeof *roots);
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  ir_free(g->mem, inputs, input_cap * sizeof *inputs);
}

/* A single function, for messages about its nodes. */
static void put_single_function(ir_printer *pr, ir_ref func) {
  ir_function f = ir_function_of(pr->graph, func);
  bool ok = ir_list_functions(pr, "x", 1, f.results, f.result_count) && put_function(pr, func);
  pr->out->failed = pr->out->failed || !ok;
}

static void put_root(ir_printer *pr, const char *name, size_t length, ir_ref root) {
  const ir_node *n = ir_get(pr->graph, root);
  if (n->op == IR_OP_FUNC) {
    put_single_function(pr, root);
    return;
  }
  if (n->op != IR_OP_TUPLE && n->dtype == IR_NONE) {
    ir_put_kernel(pr, name, length, root);
    return;
  }
  uint32_t count = n->op == IR_OP_TUPLE ? n->nsrc : 1;
  ir_named *results = ir_alloc(pr->graph->mem, count * sizeof *results);
  if (results) {
    for (uint32_t i = 0; i < count; i++)
      results[i] = (ir_named){.ref = n->op == IR_OP_TUPLE ? n->src[i] : root};
    put_graph(pr, name, length, NULL, 0, results, count);
    ir_free(pr->graph->mem, results, count * sizeof *results);
  } else {
    pr->out->failed = true;
  }
}

void ir_print_graph(const ir_graph *g, const char *name, ir_ref root, ir_text *out) {
  ir_printer pr;
  if (ir_printer_init(&pr, g, out)) put_root(&pr, name, strlen(name), root);
  ir_printer_free(&pr);
}

void ir_print_named(const ir_graph *g, const char *name, size_t name_length, const ir_named *params,
                    size_t param_count, const ir_named *results, size_t result_count, ir_text *out) {
  static const ir_named none;
  ir_printer pr;
  if (ir_printer_init(&pr, g, out))
    put_graph(&pr, name, name_length, params ? params : &none, param_count, results, result_count);
  ir_printer_free(&pr);
}

void ir_print_with_names(const ir_graph *g, const ir_parsed_graph *block, const ir_named *names,
                         size_t name_count, ir_text *out) {
  static const ir_named none;
  ir_printer pr;
  if (ir_printer_init(&pr, g, out)) {
    pr.locals = names;
    pr.local_count = name_count;
    put_graph(&pr, block->name, block->name_length, block->params ? block->params : &none, block->param_count,
              block->results, block->result_count);
  }
  ir_printer_free(&pr);
}

void ir_print_parsed(const ir_graph *g, const ir_parsed_graph *block, ir_text *out) {
  ir_printer pr;
  if (block->kind == IR_BLOCK_GRAPH) {
    ir_print_named(g, block->name, block->name_length, block->params, block->param_count, block->results,
                   block->result_count, out);
  } else {
    if (ir_printer_init(&pr, g, out)) put_root(&pr, block->name, block->name_length, block->root);
    ir_printer_free(&pr);
  }
}

void ir_print_parsed_places(const ir_graph *g, const ir_parsed_graph *block, ir_print_place *place,
                            void *user, ir_text *out) {
  ir_printer pr;
  if (ir_printer_init(&pr, g, out)) {
    pr.place = place;
    pr.place_user = user;
    put_graph(&pr, block->name, block->name_length, block->params, block->param_count, block->results,
              block->result_count);
  }
  ir_printer_free(&pr);
}

/* The line of `node` alone, from the listing of `root`, or of `block` if it is not NULL. */
static void put_focus(const ir_graph *g, const ir_parsed_graph *block, ir_ref root, ir_ref node,
                      ir_text *out) {
  ir_printer pr;
  ir_text all;
  ir_text_init(&all, g->mem);
  if (ir_printer_init(&pr, g, &all)) {
    pr.focus = ir_op_of(g, node) == IR_OP_RESULT ? ir_src(g, node, 0) : node;
    if (block) put_graph(&pr, "x", 1, block->params, block->param_count, block->results, block->result_count);
    else put_root(&pr, "x", 1, root);
  }
  if (!all.failed && pr.focus_to > pr.focus_from)
    ir_text_add(out, all.data + pr.focus_from, pr.focus_to - pr.focus_from);
  else ir_print_expr(g, node, out);
  ir_printer_free(&pr);
  ir_text_free(&all);
}

void ir_print_line(const ir_graph *g, ir_ref root, ir_ref node, ir_text *out) {
  put_focus(g, NULL, root, node, out);
}

void ir_print_parsed_line(const ir_graph *g, const ir_parsed_graph *block, ir_ref node, ir_text *out) {
  put_focus(g, block, 0, node, out);
}
