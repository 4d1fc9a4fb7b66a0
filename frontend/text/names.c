#include "frontend/text/names.h"

#include <string.h>

#include "ir/lex/lex.h"

/* By name of the graph: 0: free; or else 1 more than the number that was tried last. */
typedef struct taken {
  ir_graph *graph;
  uint32_t *next;
  size_t count;
} taken;

static void take(taken *t, const char *name, size_t length) {
  int64_t id = name ? ir_name(t->graph, name, length) : -1;
  if (id >= 0 && (size_t)id < t->count && !t->next[id]) t->next[id] = 1;
}

/* The name, or, where it is taken, the name with the first number that is free. False when memory is short.
 */
static bool take_free(taken *t, ir_named *name) {
  int64_t id = ir_name(t->graph, name->name, name->length), first = id;
  ir_text text;
  ir_text_init(&text, t->graph->mem);
  while (id >= 0 && (size_t)id < t->count && t->next[id]) {
    text.len = 0;
    ir_text_add(&text, name->name, name->length);
    ir_textf(&text, "_%u", t->next[first]++);
    id = text.failed ? -1 : ir_name(t->graph, ir_text_get(&text), text.len);
  }
  ir_text_free(&text);
  if (id < 0 || (size_t)id >= t->count) return false;
  t->next[id] = 1;
  name->name = ir_name_text(t->graph, id);
  name->length = ir_name_length(t->graph, id);
  return true;
}

/* Is it a name that the text gives itself: a number, or `a` and a number, of a function's parameter? */
static bool is_counted(const char *name) {
  name += *name == 'a';
  return *name && name[strspn(name, "0123456789")] == '\0';
}

/* Is it the line at the end that says so, of the newest version of a reference? */
static bool is_version(const ir_parsed_graph *b, ir_ref ref, const char *name) {
  for (size_t i = 0; i < b->result_count; i++)
    if (b->results[i].reference && b->results[i].ref == ref && strcmp(b->results[i].name, name) == 0)
      return true;
  return false;
}

/* The node's first name; NULL: it has none. */
static const char *name_of(const fe_statements *s, const ir_graph *g, const ir_parsed_graph *b, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  bool own_line = n->op != IR_OP_INPUT && n->op != IR_OP_VAR && n->op != IR_OP_CONST && n->dtype != IR_INDEX;
  if (!own_line || ir_has_results((ir_op)n->op)) return NULL;
  ir_cause_items items = {0};
  const char *name = NULL;
  if (g->causes && ir_cause_list(g->causes, ir_cause_of(g, node), &items))
    for (size_t i = 0; i < items.count && !name; i++) {
      const ir_cause_item *at = &items.list[i];
      const char *known = at->result && !at->by ? fe_statements_name_of_result(s, at->statement) : NULL;
      if (known && !is_counted(known) && !is_version(b, node, known)) name = known;
    }
  if (g->causes) ir_cause_items_free(g->causes->mem, &items);
  return name;
}

static bool is_result(const ir_parsed_graph *b, ir_ref node) {
  for (size_t i = 0; i < b->result_count; i++)
    if (b->results[i].ref == node && b->results[i].name && !b->results[i].reference) return true;
  return false;
}

/* Counts, by node, in how many graphs and functions of the text it is a line, up to 2. False when memory is
 * short. */
static bool count_blocks(ir_graph *g, const ir_ref *roots, size_t root_count, uint8_t *blocks) {
  size_t n = 0, cap = 0, n_all = 0, cap_all = 0;
  ir_ref *nodes = NULL, *all = NULL;
  bool good = ir_reachable_inside(g, roots, root_count, &all, &n_all, &cap_all) == IR_OK;
  for (size_t k = 0; k <= n_all && good; k++) { /* the functions, and then the graph */
    if (k < n_all && ir_op_of(g, all[k]) != IR_OP_FUNC) continue;
    ir_function f = k < n_all ? ir_function_of(g, all[k]) : (ir_function){0};
    n = 0;
    good = ir_reachable(g, k < n_all ? f.results : roots, k < n_all ? f.result_count : root_count, &nodes, &n,
                        &cap) == IR_OK;
    for (size_t i = 0; i < n && good; i++) blocks[nodes[i]] += blocks[nodes[i]] < 2;
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  ir_free(g->mem, all, cap_all * sizeof *all);
  return good;
}

/* Lists those that have a name, each with its own. What is a line of several functions has none, since there
 * it is several values. */
static bool list_named(const fe_statements *s, ir_graph *g, const ir_parsed_graph *b, fe_names *out) {
  size_t size = g->count;
  ir_ref *roots = ir_alloc(g->mem, b->result_count * sizeof *roots);
  uint8_t *blocks = ir_alloc(g->mem, size);
  bool good = roots && blocks;
  if (good) memset(blocks, 0, size);
  for (size_t i = 0; i < b->result_count && good; i++) roots[i] = b->results[i].ref;
  good = good && count_blocks(g, roots, b->result_count, blocks);
  for (ir_ref node = 1; node < size && good; node++) {
    const char *name = blocks[node] == 1 ? name_of(s, g, b, node) : NULL;
    if (!name || is_result(b, node)) continue;
    good = IR_RESERVE(g->mem, out->list, out->cap, out->count + 1);
    if (good) out->list[out->count++] = (ir_named){.name = name, .length = strlen(name), .ref = node};
  }
  ir_free(g->mem, roots, b->result_count * sizeof *roots);
  ir_free(g->mem, blocks, size);
  return good;
}

bool fe_names_of(const fe_statements *s, ir_graph *g, const ir_parsed_graph *b, fe_names *out) {
  *out = (fe_names){0};
  if (!list_named(s, g, b, out)) return false;
  size_t names = g->name_count + b->param_count + b->result_count + out->count; /* and no more will be made */
  taken t = {.graph = g, .next = ir_alloc(g->mem, names * sizeof *t.next), .count = names};
  bool good = t.next != NULL;
  if (good) memset(t.next, 0, names * sizeof *t.next);
  for (size_t i = 0; i < b->param_count && good; i++) take(&t, b->params[i].name, b->params[i].length);
  for (size_t i = 0; i < b->result_count && good; i++) take(&t, b->results[i].name, b->results[i].length);
  for (size_t i = 0; i < out->count && good; i++) good = take_free(&t, &out->list[i]);
  ir_free(g->mem, t.next, names * sizeof *t.next);
  return good;
}

void fe_names_free(const ir_mem *mem, fe_names *names) {
  ir_free(mem, names->list, names->cap * sizeof *names->list);
}
