#include "frontend/cli/check/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nodes {
  ir_ref *list;
  size_t count, cap;
} nodes;

/* The tensors that the result is computed from, itself included, operands first; no leaves. */
static bool list_values(const ir_graph *g, ir_ref result, nodes *out) {
  size_t kept = 0;
  out->count = 0;
  if (ir_reachable(g, &result, 1, &out->list, &out->count, &out->cap) != IR_OK) return false;
  for (size_t i = 0; i < out->count; i++) {
    ir_ref node = out->list[i];
    bool value = ir_shape(g, node) && !ir_batch_rank(g, node) && ir_dtype_of(g, node) != IR_INDEX;
    if (value && ir_ops[ir_op_of(g, node)].cls != IR_CLASS_LEAF) out->list[kept++] = node;
  }
  out->count = kept;
  return true;
}

/* A parameter in place of the node. False: it is refused, or memory is short. */
static bool cut(ir_graph *g, const check_graph *from, ir_ref node, check_graph *out) {
  char name[16];
  snprintf(name, sizeof name, "c%zu", from->count);
  int64_t id = ir_name(g, name, strlen(name));
  *out = (check_graph){.result = from->result};
  if (id < 0 || !IR_RESERVE(g->mem, out->params, out->cap, from->count + 1)) return false;
  ir_ref input = ir_make_tensor(g, IR_OP_INPUT, ir_dtype_of(g, node), ir_shape(g, node), id, NULL, 0);
  if (from->count) memcpy(out->params, from->params, from->count * sizeof *out->params);
  out->params[from->count] = (ir_named){.name = ir_name_text(g, id), .length = strlen(name), .ref = input};
  out->count = from->count + 1;
  return input && ir_replace(g, &node, &input, 1, &out->result, 1) == IR_OK;
}

/* Parameters that the result does not depend on are left out. */
static void drop_unused(const ir_graph *g, check_graph *graph) {
  nodes live = {0};
  size_t kept = 0;
  if (ir_reachable(g, &graph->result, 1, &live.list, &live.count, &live.cap) != IR_OK) return;
  for (size_t i = 0; i < graph->count; i++) {
    size_t at = ir_find_ref(live.list, live.count, graph->params[i].ref);
    if (at < live.count && live.list[at] == graph->params[i].ref) graph->params[kept++] = graph->params[i];
  }
  graph->count = kept;
  ir_free(g->mem, live.list, live.cap * sizeof *live.list);
}

/* Cuts off one value, if that can be. */
static bool cut_one(ir_graph *g, check_graph *graph, const nodes *values, check_shows *shows, void *user) {
  for (size_t i = values->count; i-- > 0;) {
    check_graph smaller;
    if (values->list[i] == graph->result) continue;
    bool good = cut(g, graph, values->list[i], &smaller) && shows(user, &smaller);
    if (good) {
      ir_free(g->mem, graph->params, graph->cap * sizeof *graph->params);
      *graph = smaller;
      return true;
    }
    ir_free(g->mem, smaller.params, smaller.cap * sizeof *smaller.params);
  }
  return false;
}

bool check_shrink(ir_graph *g, check_graph *graph, check_shows *shows, void *user) {
  nodes values = {0};
  bool good = list_values(g, graph->result, &values), found = false;
  for (size_t i = 0; good && i < values.count && !found; i++) {
    check_graph earlier = *graph;
    earlier.result = values.list[i];
    found = shows(user, &earlier);
    if (found) graph->result = values.list[i];
  }
  while (good) {
    good = list_values(g, graph->result, &values);
    if (!good || !cut_one(g, graph, &values, shows, user)) break;
  }
  drop_unused(g, graph);
  ir_free(g->mem, values.list, values.cap * sizeof *values.list);
  return good;
}
