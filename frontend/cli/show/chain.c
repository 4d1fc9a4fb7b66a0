/* The chains of views in a graph, step by step: shape, index expression, strides, rewrites. */
#include "frontend/cli/show/show.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/index.h"
#include "frontend/views/access.h"
#include "frontend/views/textbook.h"
#include "frontend/views/view.h"
#include "passes/ops/ops.h"

enum { CHAINS_MOST = 48, STEPS_HEAD = 10, STEPS_TAIL = 6, LINE_MOST = 300, EXPRESSION_MOST = 1 << 14 };

/* Is the node a view of its first operand alone, of the kinds that frontend/views/access.h handles? */
static bool is_step(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  if (n->op == IR_OP_GATHER)
    return ir_arg_small(n) == 0 && ir_op_of(g, n->src[1]) == IR_OP_DATA &&
           ir_dtype_of(g, n->src[1]) == IR_I64;
  return ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK;
}

/* one step */

static json_t *expressions(show *s, const ir_graph *g, const ir_ref *items, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++) show_add(s, list, show_expression(s, g, items[i]));
  return list;
}

static json_t *shape_of(show *s, ir_ref tensor) {
  const ir_node *shape = ir_get(&s->s.g, ir_shape(&s->s.g, tensor));
  return expressions(s, &s->s.g, shape->src, shape->nsrc);
}

static json_t *one_view(show *s, const ir_graph *g, const pass_view *v) {
  json_t *made = json_object();
  show_set(s, made, "shape", expressions(s, g, v->shape, v->rank));
  show_set(s, made, "strides", expressions(s, g, v->stride, v->rank));
  show_set(s, made, "offset", show_expression(s, g, v->offset));
  if (v->masked) {
    show_set(s, made, "begin", expressions(s, g, v->begin, v->rank));
    show_set(s, made, "end", expressions(s, g, v->end, v->rank));
  }
  return made;
}

/* A chain that has no form with strides (one with pads that repeat elements, for example) still has an index
 * expression. */
static void put_views(show *s, ir_graph *g, ir_ref node, json_t *step) {
  pass_view_chain chain;
  if (pass_view_chain_of(g, node, &chain)) {
    json_t *list = json_array();
    for (size_t i = 0; i < chain.count; i++) show_add(s, list, one_view(s, g, &chain.views[i]));
    show_set(s, step, "views", list);
  } else {
    const char *colon = strstr(g->error->text, ": "), *why = colon ? colon + 2 : g->error->text;
    show_set(s, step, "no_views", show_text(why, strcspn(why, ";")));
    s->failed |= ir_gives_up(g->error->status);
  }
  pass_view_chain_free(&chain);
  ir_error_clear(g->error);
}

static void put_access(show *s, const ir_graph *g, bool made, ir_ref index, ir_ref valid, json_t *out) {
  const char *why = made ? "the expression is longer than this page shows" : g->error->text;
  json_t *text = made ? show_expression(s, g, index) : NULL,
         *where = made ? show_expression(s, g, valid) : NULL;
  if (made && json_string_length(text) + json_string_length(where) <= EXPRESSION_MOST) {
    show_set(s, out, "index", text);
    show_set(s, out, "valid", where);
    return;
  }
  json_decref(text);
  json_decref(where);
  show_set(s, out, "no_index", show_text(why, strlen(why)));
  s->failed |= !made && ir_gives_up(g->error->status);
  ir_error_clear(g->error);
}

/* A step of a chain and the nodes below it. */
typedef struct path {
  const ir_ref *nodes; /* the step first, the leaf last */
  size_t count;
} path;

/* Copy the path to another graph. An input takes the place of the leaf, so that any leaf counts as memory. */
static ir_ref copy_path(show *s, ir_graph *g, path p) {
  const ir_graph *from = &s->s.g;
  ir_ref *copies = NULL, made = 0;
  size_t count = 0, cap = 0;
  for (size_t i = p.count;
       i-- > 0;) { /* from the leaf on: the shape and, of a view, the sources behind its operand */
    const ir_node *n = ir_get(from, p.nodes[i]);
    uint32_t attributes = i + 1 == p.count ? 0 : n->nsrc - 1;
    if (!IR_RESERVE(g->mem, copies, cap, count + 1 + attributes)) return 0;
    copies[count++] = ir_shape(from, p.nodes[i]);
    if (attributes) memcpy(copies + count, n->src + 1, attributes * sizeof *copies);
    count += attributes;
  }
  if (ir_graph_copy(g, from, copies, count, NULL) == IR_OK) {
    const ir_node *shape = ir_get(g, copies[0]);
    made = op_input(g, "x", 1, ir_dtype_of(from, p.nodes[p.count - 1]), shape->src, shape->nsrc);
  }
  for (size_t i = p.count - 1, at = 1; i-- > 0 && made;) {
    const ir_node *n = ir_get(from, p.nodes[i]);
    ir_ref shape = copies[at];
    copies[at] = made; /* in front of the attributes */
    made = ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, shape, n->arg, copies + at, n->nsrc);
    at += n->nsrc;
  }
  ir_free(g->mem, copies, cap * sizeof *copies);
  return made;
}

/* Fold the path in a separate graph, so that exactly the rewrites of this step are seen. */
static void put_folded(show *s, path p, json_t *step) {
  ir_error error = {0};
  ir_graph g;
  ir_ref node = 0, index = 0, valid = 0;
  if (ir_graph_init(&g, &ir_mem_libc, &error) == IR_OK) node = copy_path(s, &g, p);
  if (node) {
    show_watch watch;
    show_watch_begin(&watch, s, &g);
    bool made = cli_index_fold(&g, node, false, &index, &valid);
    show_watch_end(&watch, &g, step);
    put_access(s, &g, made, index, valid, step);
    json_t *raw = json_object();
    made = pass_access(&g, &pass_textbook, node, &index, &valid);
    put_access(s, &g, made, index, valid, raw);
    show_set(s, step, "raw", raw);
    put_views(s, &g, node, step);
  } else {
    s->failed = true;
  }
  ir_graph_free(&g);
}

/* The name and the operation of the node's line; where it has none, its expression. */
static void put_line(show *s, const show_listing *l, ir_ref node, json_t *out) {
  uint32_t number = l->line_of[node];
  if (!number) {
    json_t *text = show_expression(s, &s->s.g, node);
    show_set(s, out, "name", text);
    show_set(s, out, "operation", json_incref(text));
    return;
  }
  show_words w = show_words_of(l, number - 1);
  size_t length = w.operation_length > LINE_MOST ? LINE_MOST : w.operation_length;
  show_set(s, out, "name", show_text(w.name, w.name_length));
  if (length) show_set(s, out, "operation", show_text(w.operation, length));
}

static json_t *one_step(show *s, const show_listing *l, path p) {
  json_t *step = json_object();
  if (p.count > 1) put_line(s, l, p.nodes[0], step);
  show_set(s, step, "shape", shape_of(s, p.nodes[0]));
  put_folded(s, p, step);
  return step;
}

/* one chain */

/* A parameter has only a name; any other leaf is the result of an operation. */
static json_t *buffer_of(show *s, const show_listing *l, ir_ref leaf) {
  const ir_node *n = ir_get(&s->s.g, leaf);
  json_t *made = json_object();
  put_line(s, l, leaf, made);
  show_set(s, made, "dtype", json_string(ir_dtypes[n->dtype].name));
  show_set(s, made, "bytes", json_integer(ir_dtypes[n->dtype].bytes));
  show_set(s, made, "shape", shape_of(s, leaf));
  return made;
}

static json_t *one_chain(show *s, const show_listing *l, ir_ref node) {
  ir_graph *g = &s->s.g;
  ir_ref *nodes = NULL;
  size_t length = 0, cap = 0;
  json_t *made = json_object(), *steps = json_array();
  for (ir_ref r = node;; r = ir_src(g, r, 0)) {
    if (!IR_RESERVE(g->mem, nodes, cap, length + 1)) {
      s->failed = true;
      break;
    }
    nodes[length++] = r;
    if (!is_step(g, r)) break;
  }
  if (length) show_set(s, made, "buffer", buffer_of(s, l, nodes[length - 1]));
  for (size_t i = 0; i < length; i++) { /* from the leaf on */
    if (i == STEPS_HEAD && length > STEPS_HEAD + STEPS_TAIL) {
      size_t left_out = length - STEPS_HEAD - STEPS_TAIL;
      show_add(s, steps, json_pack("{s:I}", "left_out", (json_int_t)left_out));
      i += left_out;
    }
    show_add(s, steps, one_step(s, l, (path){nodes + length - 1 - i, i + 1}));
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  show_set(s, made, "steps", steps);
  return made;
}

/* Find the nodes that end a chain: views that no other view reads. live is in topological order. */
static bool find_ends(const ir_graph *g, const ir_ref *live, size_t count, uint8_t *ends) {
  bool any = false;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, live[i]);
    if (!is_step(g, live[i])) continue;
    ends[live[i]] ^= 1; /* it was 1 if a view reads this node */
    any |= ends[live[i]];
    ends[n->src[0]] = 1;
  }
  for (size_t i = 0; i < count; i++)
    if (!is_step(g, live[i])) ends[live[i]] = 0;
  return any;
}

/* Does the chain view memory? Constants and iota are computed where they are used. */
static bool reads_memory(const ir_graph *g, ir_ref node) {
  while (is_step(g, node)) node = ir_src(g, node, 0);
  return ir_op_of(g, node) != IR_OP_CONST && ir_op_of(g, node) != IR_OP_IOTA;
}

/* A graph that is nothing but a buffer has one chain, without views. */
static ir_ref lone_buffer(const ir_graph *g, ir_ref results) {
  const ir_node *n = ir_get(g, results);
  return n->nsrc == 1 && ir_op_of(g, n->src[0]) == IR_OP_INPUT ? n->src[0] : 0;
}

/* What the views of a chain are: chains of one digest have the same pictures. */
static uint64_t digest_of(const ir_graph *g, ir_ref node) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (;; node = ir_src(g, node, 0)) {
    const ir_node *n = ir_get(g, node);
    bool step = is_step(g, node);
    const uint64_t what[] = {step ? n->op : 0, n->dtype, step ? (uint64_t)n->arg : 0, ir_shape(g, node)};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) sum = (sum ^ what[i]) * 0x100000001b3u;
    for (uint32_t i = 1; step && i < n->nsrc; i++) sum = (sum ^ n->src[i]) * 0x100000001b3u;
    if (!step) return sum;
    sum ^= sum >> 29;
  }
}

static void add_chain(show *s, const show_listing *l, ir_ref node, json_t *known, json_t *made,
                      size_t *left) {
  char key[24];
  snprintf(key, sizeof key, "%016llx", (unsigned long long)digest_of(&s->s.g, node));
  json_t *nodes = json_object_get(known, key);
  if (!nodes && json_array_size(made) == CHAINS_MOST) {
    ++*left;
    return;
  }
  if (!nodes) {
    json_t *chain = one_chain(s, l, node);
    nodes = json_array();
    show_add(s, made, chain);
    show_set(s, chain, "nodes", nodes);
    show_set(s, known, key, json_incref(nodes));
  }
  if (l->line_of[node]) show_add(s, nodes, json_integer(l->line_of[node] - 1));
}

json_t *show_chains(show *s, const show_listing *l, ir_ref results) {
  ir_graph *g = &s->s.g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, size = (size_t)results + 1, left_out = 0;
  json_t *made = json_array(), *known = json_object();
  uint8_t *ends = ir_alloc(g->mem, size);
  if (ends && ir_reachable(g, &results, 1, &live, &count, &cap) == IR_OK) {
    memset(ends, 0, size);
    if (!find_ends(g, live, count, ends) && lone_buffer(g, results)) ends[lone_buffer(g, results)] = 1;
    for (size_t i = 0; i < count; i++)
      if (ends[live[i]] && reads_memory(g, live[i])) add_chain(s, l, live[i], known, made, &left_out);
    if (left_out) show_add(s, made, json_pack("{s:I}", "left_out", (json_int_t)left_out));
  } else {
    s->failed = true;
  }
  json_decref(known);
  ir_free(g->mem, ends, size);
  ir_free(g->mem, live, cap * sizeof *live);
  return made;
}
