/* Chains of views: view operations change the last view, or append another view where one view cannot express
 * the result. */
#include "impl.h"

#include <string.h>

typedef struct builder {
  ir_graph *g;
  pass_view_chain *chain;
  ir_ref node;
} builder;

static bool refuse_node(const builder *b, const char *why) {
  ir_fail(b->g->error, IR_ERR_UNSUPPORTED, "%s: %s; its index expression says where it reads",
          ir_ops[ir_op_of(b->g, b->node)].text, why);
  return false;
}

bool pass_view_chain_add(ir_graph *g, pass_view_chain *c, const pass_view *view) {
  pass_view v = *view; /* a copy: *view may be in the chain, which moves */
  if (!IR_RESERVE(c->mem, c->views, c->cap, c->count + 1)) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory listing views");
    return false;
  }
  c->views[c->count++] = v;
  return true;
}

bool pass_view_chain_copy(ir_graph *g, const pass_view_chain *c, pass_view_chain *out) {
  bool done = true;
  *out = (pass_view_chain){.mem = g->mem};
  for (size_t i = 0; i < c->count && done; i++) done = pass_view_chain_add(g, out, &c->views[i]);
  return done;
}

static bool append_reshape(ir_graph *g, pass_view_chain *c, uint32_t rank, const ir_ref *shape) {
  pass_view plain;
  return view_plain(g, "reshape", rank, shape, &plain) == PASS_VIEW_DONE && pass_view_chain_add(g, c, &plain);
}

bool pass_view_chain_reshape(ir_graph *g, pass_view_chain *c, uint32_t rank, const ir_ref *shape) {
  pass_view *v = pass_view_last(c);
  pass_view_status status = pass_view_reshape(g, v, rank, shape, v);
  return status == PASS_VIEW_NONE ? append_reshape(g, c, rank, shape) : status == PASS_VIEW_DONE;
}

static bool reshape(const builder *b) {
  const ir_node *shape = ir_get(b->g, ir_shape(b->g, b->node));
  return pass_view_chain_reshape(b->g, b->chain, shape->nsrc, shape->src);
}

static bool point(const builder *b, pass_view *v) {
  ir_ref begin[IR_MAX_RANK], end[IR_MAX_RANK], position = ir_src(b->g, b->node, 1);
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(b->g, b->node));
  for (uint32_t i = 0; i < v->rank; i++) begin[i] = ir_index(b->g, 0), end[i] = v->shape[i];
  begin[axis] = position, end[axis] = pass_add_int(b->g, position, 1);
  return pass_view_shrink(b->g, v, begin, end, v->rank, v) == PASS_VIEW_DONE && reshape(b);
}

static pass_view_status flip(const builder *b, pass_view *v) {
  int64_t steps[IR_MAX_RANK];
  const ir_node *n = ir_get(b->g, b->node);
  for (uint32_t i = 0; i < v->rank; i++) steps[i] = 1;
  for (uint32_t i = 1; i < n->nsrc; i++) steps[ir_get(b->g, n->src[i])->arg] = -1;
  return pass_view_stride(b->g, v, steps, v->rank, v);
}

static bool apply_operation(const builder *b) {
  ir_graph *g = b->g;
  pass_view *v = pass_view_last(b->chain);
  const ir_node *n = ir_get(g, b->node);
  ir_ref first[IR_MAX_RANK], second[IR_MAX_RANK];
  int64_t number[IR_MAX_RANK];
  uint32_t lead = n->op == IR_OP_PAD ? 2 : 1; /* sources before the list */
  bool pairs = n->op == IR_OP_PAD || n->op == IR_OP_SHRINK,
       single = n->op == IR_OP_PERMUTE || n->op == IR_OP_STRIDE;
  for (uint32_t i = 0; i < v->rank && pairs; i++)
    first[i] = n->src[lead + 2 * i], second[i] = n->src[lead + 1 + 2 * i];
  for (uint32_t i = 0; i < v->rank && single; i++) number[i] = ir_get(g, n->src[lead + i])->arg;
  switch ((int)n->op) {
  case IR_OP_PERMUTE: return pass_view_permute(g, v, number, v->rank, v) == PASS_VIEW_DONE;
  case IR_OP_RESHAPE:
  case IR_OP_UNSQUEEZE:
  case IR_OP_SQUEEZE: return reshape(b);
  case IR_OP_EXPAND:
    return pass_view_expand(g, v, ir_get(g, ir_shape(g, b->node))->src, v->rank, v) == PASS_VIEW_DONE;
  case IR_OP_SHRINK: return pass_view_shrink(g, v, first, second, v->rank, v) == PASS_VIEW_DONE;
  case IR_OP_PAD:
    if (ir_arg_mode(n) != IR_PAD_CONSTANT)
      return refuse_node(b, "padding by elements is no view of fixed strides");
    return pass_view_pad(g, v, first, second, v->rank, v) == PASS_VIEW_DONE;
  case IR_OP_STRIDE: return pass_view_stride(g, v, number, v->rank, v) == PASS_VIEW_DONE;
  case IR_OP_FLIP: return flip(b, v) == PASS_VIEW_DONE;
  case IR_OP_POINT: return point(b, v);
  default: return refuse_node(b, "this is no view of one buffer");
  }
}

static bool is_leaf(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return n->op == IR_OP_INPUT || n->op == IR_OP_BUFFER || n->op == IR_OP_DATA || n->op == IR_OP_RESOURCE;
}

bool pass_view_chain_unmerged(ir_graph *g, ir_ref node, pass_view_chain *out) {
  *out = (pass_view_chain){.mem = g->mem};
  ir_ref *path = NULL;
  size_t length = 0, cap = 0;
  for (ir_ref r = node;; r = ir_src(g, r, 0)) {
    if (!IR_RESERVE(g->mem, path, cap, length + 1)) {
      ir_free(g->mem, path, cap * sizeof *path);
      ir_fail(g->error, IR_ERR_MEMORY, "out of memory listing views");
      return false;
    }
    path[length++] = r;
    if (is_leaf(g, r) || ir_get(g, r)->nsrc == 0) break;
  }
  builder b = {g, out, path[length - 1]};
  const ir_node *shape = ir_get(g, ir_shape(g, b.node));
  bool done = append_reshape(g, out, shape->nsrc, shape->src);
  for (size_t i = length - 1; i-- > 0 && done;) {
    b.node = path[i];
    done = apply_operation(&b);
  }
  ir_free(g->mem, path, cap * sizeof *path);
  return done;
}

bool pass_view_chain_of(ir_graph *g, ir_ref node, pass_view_chain *out) {
  return pass_view_chain_unmerged(g, node, out) && pass_view_chain_simplify(g, out);
}

void pass_view_chain_free(pass_view_chain *c) {
  if (c->mem) ir_free(c->mem, c->views, c->cap * sizeof *c->views);
  *c = (pass_view_chain){.mem = c->mem};
}

void pass_view_chain_print(const ir_graph *g, const pass_view_chain *c, ir_text *out) {
  for (size_t i = 0; i < c->count; i++) {
    pass_view_print(g, &c->views[i], out);
    ir_text_str(out, "\n");
  }
}
