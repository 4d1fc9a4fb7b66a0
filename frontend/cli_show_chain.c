/* The chains of views in a graph, step by step: shape, index expression, strides, rewrites. */
#include "frontend/cli_show.h"

#include <string.h>

#include "frontend/cli_index.h"
#include "ir/print.h"
#include "passes/access.h"
#include "passes/textbook.h"
#include "passes/view.h"

enum { CHAINS_MOST = 16, STEPS_HEAD = 10, STEPS_TAIL = 6, LINE_MOST = 300 };

static bool is_join(const ir_graph *g, ir_ref node) {
  return ir_op_of(g, node) == IR_OP_CONCAT || ir_op_of(g, node) == IR_OP_STACK;
}

/* A view of its first operand alone, as passes/access.h walks them. */
static bool is_step(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  if (n->op == IR_OP_GATHER)
    return ir_op_of(g, n->src[1]) == IR_OP_DATA && ir_dtype_of(g, n->src[1]) == IR_I64;
  return ir_ops[n->op].cls == IR_CLASS_VIEW && !is_join(g, node);
}

static json_t *sizes_of(show *s, const ir_graph *g, ir_ref tensor) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < ir_rank(g, tensor); i++)
    show_add(s, list, show_expression(s, g, ir_dim(g, tensor, i)));
  return list;
}

/* one step */

static json_t *numbers(show *s, const int64_t *values, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++) show_add(s, list, json_sprintf("%lld", (long long)values[i]));
  return list;
}

static json_t *one_view(show *s, const pass_view *v) {
  json_t *made = json_object();
  show_set(s, made, "shape", numbers(s, v->shape, v->rank));
  show_set(s, made, "strides", numbers(s, v->stride, v->rank));
  show_set(s, made, "offset", json_sprintf("%lld", (long long)v->offset));
  if (v->masked) {
    show_set(s, made, "begin", numbers(s, v->begin, v->rank));
    show_set(s, made, "end", numbers(s, v->end, v->rank));
  }
  return made;
}

/* A chain without strides (sizes that vary, say) has its index expression all the same. */
static void put_views(show *s, ir_graph *g, ir_ref node, json_t *step) {
  pass_view_chain chain;
  if (pass_view_chain_of(g, node, &chain)) {
    json_t *list = json_array();
    for (size_t i = 0; i < chain.count; i++) show_add(s, list, one_view(s, &chain.views[i]));
    show_set(s, step, "views", list);
  } else {
    show_set(s, step, "no_views", show_text(g->error->text, strcspn(g->error->text, ";")));
    s->failed |= g->error->status == IR_ERR_MEMORY;
  }
  pass_view_chain_free(&chain);
  ir_error_clear(g->error);
}

static void put_access(show *s, const ir_graph *g, bool made, ir_ref index, ir_ref valid, json_t *out) {
  json_t *text = made ? show_expression(s, g, index) : NULL;
  json_t *where = text ? show_expression(s, g, valid) : NULL;
  if (where) {
    show_set(s, out, "index", text);
    show_set(s, out, "valid", where);
    return;
  }
  json_decref(text);
  const char *why = made ? "the expression is longer than this page shows" : g->error->text;
  show_set(s, out, "no_index", show_text(why, strlen(why)));
  s->failed |= !made && g->error->status == IR_ERR_MEMORY;
  ir_error_clear(g->error);
}

/* Folded in a graph of its own, so that the rewrites seen are all of this step's and of no other's. */
static void put_folded(show *s, ir_ref node, ir_ref leaf, json_t *step) {
  ir_error error = {0};
  ir_graph g;
  ir_ref refs[2] = {node, leaf}, index = 0, valid = 0;
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) {
    s->failed = true;
    return;
  }
  if (ir_graph_copy(&g, &s->s.g, refs, 2, NULL) == IR_OK) {
    show_watch watch;
    show_watch_begin(&watch, s, &g);
    bool made = is_join(&g, refs[1]) ? pass_access(&g, &pass_canonical, refs[0], &index, &valid)
                                     : cli_index_fold(&g, refs[0], false, &index, &valid);
    show_watch_end(&watch, &g, step);
    put_access(s, &g, made, index, valid, step);
    json_t *raw = json_object();
    made = pass_access(&g, &pass_textbook, refs[0], &index, &valid);
    put_access(s, &g, made, index, valid, raw);
    show_set(s, step, "raw", raw);
    put_views(s, &g, refs[0], step);
  } else {
    s->failed = true;
  }
  ir_graph_free(&g);
}

/* "%1 = permute %0 order=[1,0] : f32[2,3]", each part that is there; a constant has none but itself. */
static void put_line(show *s, ir_ref root, ir_ref node, json_t *out) {
  ir_text line;
  ir_text_init(&line, &ir_mem_libc);
  ir_print_line(&s->s.g, root, node, &line);
  const char *text = ir_text_get(&line), *assigned = strstr(text, " = "),
             *operation = assigned ? assigned + 3 : text;
  size_t length = strlen(operation);
  for (const char *type = strstr(operation, " : "); type; type = strstr(type + 1, " : "))
    length = (size_t)(type - operation);
  if (assigned) show_set(s, out, "name", show_text(text, (size_t)(assigned - text)));
  show_set(s, out, "operation", show_text(operation, length < LINE_MOST ? length : LINE_MOST));
  s->failed |= line.failed;
  ir_text_free(&line);
}

static json_t *one_step(show *s, ir_ref root, ir_ref node, ir_ref leaf) {
  json_t *step = json_object();
  if (node != leaf) put_line(s, root, node, step);
  show_set(s, step, "shape", sizes_of(s, &s->s.g, node));
  put_folded(s, node, leaf, step);
  return step;
}

/* one chain */

static json_t *buffer_of(show *s, ir_ref root, ir_ref leaf) {
  const ir_graph *g = &s->s.g;
  const ir_node *n = ir_get(g, leaf);
  json_t *made = json_object();
  if (n->op == IR_OP_INPUT) {
    show_set(s, made, "name",
             json_sprintf("%%%s",
                          json_string_value(show_text(ir_name_text(g, n->arg), ir_name_length(g, n->arg)))));
  } else {
    put_line(s, root, leaf, made);
  }
  show_set(s, made, "dtype", json_string(ir_dtypes[n->dtype].name));
  show_set(s, made, "bytes", json_integer(ir_dtypes[n->dtype].bytes));
  show_set(s, made, "shape", sizes_of(s, g, leaf));
  return made;
}

static json_t *one_chain(show *s, ir_ref root, ir_ref node) {
  ir_graph *g = &s->s.g;
  ir_ref *path = NULL;
  size_t length = 0, cap = 0;
  json_t *made = json_object(), *steps = json_array();
  for (ir_ref r = node;; r = ir_src(g, r, 0)) {
    if (!IR_RESERVE(g->mem, path, cap, length + 1)) {
      s->failed = true;
      break;
    }
    path[length++] = r;
    if (!is_step(g, r)) break;
  }
  if (length) show_set(s, made, "buffer", buffer_of(s, root, path[length - 1]));
  for (size_t i = 0; i < length; i++) { /* from the leaf on */
    if (i == STEPS_HEAD && length > STEPS_HEAD + STEPS_TAIL) {
      size_t left_out = length - STEPS_HEAD - STEPS_TAIL;
      show_add(s, steps, json_pack("{s:I}", "left_out", (json_int_t)left_out));
      i += left_out;
    }
    show_add(s, steps, one_step(s, root, path[length - 1 - i], path[length - 1]));
  }
  ir_free(g->mem, path, cap * sizeof *path);
  show_set(s, made, "steps", steps);
  return made;
}

/* Which nodes end a chain: views that no other view reads. live is in topological order. */
static bool find_ends(const ir_graph *g, const ir_ref *live, size_t count, uint8_t *ends) {
  bool any = false;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, live[i]);
    if (!is_step(g, live[i])) continue;
    ends[live[i]] ^= 1; /* 1 before: a view reads it */
    any |= ends[live[i]];
    ends[n->src[0]] = 1;
  }
  for (size_t i = 0; i < count; i++)
    if (!is_step(g, live[i])) ends[live[i]] = 0;
  return any;
}

/* A graph that is nothing but a buffer has one chain, without views. */
static ir_ref lone_buffer(const ir_graph *g, ir_ref results) {
  const ir_node *n = ir_get(g, results);
  return n->nsrc == 1 && ir_op_of(g, n->src[0]) == IR_OP_INPUT ? n->src[0] : 0;
}

json_t *show_chains(show *s, ir_ref results) {
  ir_graph *g = &s->s.g;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, size = (size_t)results + 1, left_out = 0;
  json_t *made = json_array();
  uint8_t *ends = ir_alloc(g->mem, size);
  if (ends && ir_reachable(g, &results, 1, &live, &count, &cap) == IR_OK) {
    memset(ends, 0, size);
    if (!find_ends(g, live, count, ends) && lone_buffer(g, results)) ends[lone_buffer(g, results)] = 1;
    for (size_t i = 0; i < count; i++) {
      if (!ends[live[i]]) continue;
      if (json_array_size(made) < CHAINS_MOST) show_add(s, made, one_chain(s, results, live[i]));
      else left_out++;
    }
    if (left_out) show_add(s, made, json_pack("{s:I}", "left_out", (json_int_t)left_out));
  } else {
    s->failed = true;
  }
  ir_free(g->mem, ends, size);
  ir_free(g->mem, live, cap * sizeof *live);
  return made;
}
