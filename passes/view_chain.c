/* Chains of views: what each view operation does to the last view, and where another view is needed. */
#include "view.h"

typedef struct builder {
  ir_graph *g;
  pass_view_chain *chain;
  ir_ref node;
} builder;

static bool fail(const builder *b, pass_view_status status) {
  if (status == PASS_VIEW_TOO_LARGE)
    ir_fail(b->g->error, IR_ERR_UNSUPPORTED, "%s: a stride or an offset of its view exceeds 64 bits",
            ir_ops[ir_op_of(b->g, b->node)].text);
  return status == PASS_VIEW_DONE;
}

static bool refuse(const builder *b, const char *why) {
  ir_fail(b->g->error, IR_ERR_UNSUPPORTED, "%s: %s; leave out --views for its index expression",
          ir_ops[ir_op_of(b->g, b->node)].text, why);
  return false;
}

/* A size, position or count that is known. */
static bool number(const builder *b, ir_ref ref, int64_t *value) {
  return ir_is_const(b->g, ref, value) || refuse(b, "a size that varies has no view of fixed strides");
}

/* every step-th source of the node from `first` on: attributes of its axes */
static bool numbers(const builder *b, uint32_t first, uint32_t step, uint32_t count, int64_t *out) {
  for (uint32_t i = 0; i < count; i++)
    if (!number(b, ir_src(b->g, b->node, first + i * step), &out[i])) return false;
  return true;
}

static bool shape_of(const builder *b, ir_ref tensor, int64_t *out) {
  for (uint32_t i = 0; i < ir_rank(b->g, tensor); i++)
    if (!number(b, ir_dim(b->g, tensor, i), &out[i])) return false;
  return true;
}

static bool append(const builder *b, uint32_t rank, const int64_t *shape) {
  pass_view_chain *c = b->chain;
  if (!IR_RESERVE(c->mem, c->views, c->cap, c->count + 1)) {
    ir_fail(b->g->error, IR_ERR_MEMORY, "out of memory listing views");
    return false;
  }
  return fail(b, pass_view_create(rank, shape, NULL, 0, NULL, NULL, &c->views[c->count++]));
}

static bool reshape(const builder *b, pass_view *v) {
  int64_t shape[IR_MAX_RANK];
  uint32_t rank = ir_rank(b->g, b->node);
  if (!shape_of(b, b->node, shape)) return false;
  pass_view_status status = pass_view_reshape(v, rank, shape, v);
  return status == PASS_VIEW_NONE ? append(b, rank, shape) : fail(b, status);
}

static bool point(const builder *b, pass_view *v) {
  int64_t begin[IR_MAX_RANK] = {0}, end[IR_MAX_RANK], position;
  uint32_t axis = (uint32_t)ir_arg_int(ir_get(b->g, b->node));
  if (!number(b, ir_src(b->g, b->node, 1), &position)) return false;
  for (uint32_t i = 0; i < v->rank; i++) end[i] = v->shape[i];
  begin[axis] = position, end[axis] = position + 1;
  return fail(b, pass_view_shrink(v, begin, end, v)) && reshape(b, v);
}

static bool flip(const builder *b, pass_view *v) {
  int64_t steps[IR_MAX_RANK];
  const ir_node *n = ir_get(b->g, b->node);
  for (uint32_t i = 0; i < v->rank; i++) steps[i] = 1;
  for (uint32_t i = 1; i < n->nsrc; i++) steps[ir_get(b->g, n->src[i])->arg] = -1;
  return fail(b, pass_view_stride(v, steps, v));
}

static bool permute(const builder *b, pass_view *v) {
  uint32_t order[IR_MAX_RANK];
  for (uint32_t i = 0; i < v->rank; i++) order[i] = (uint32_t)ir_get(b->g, ir_src(b->g, b->node, 1 + i))->arg;
  return fail(b, pass_view_permute(v, order, v));
}

static bool apply(const builder *b) {
  pass_view *v = &b->chain->views[b->chain->count - 1];
  int64_t first[IR_MAX_RANK], second[IR_MAX_RANK];
  const ir_node *n = ir_get(b->g, b->node);
  switch ((int)n->op) {
  case IR_OP_PERMUTE: return permute(b, v);
  case IR_OP_RESHAPE:
  case IR_OP_UNSQUEEZE:
  case IR_OP_SQUEEZE: return reshape(b, v);
  case IR_OP_EXPAND: return shape_of(b, b->node, first) && fail(b, pass_view_expand(v, first, v));
  case IR_OP_SHRINK:
    return numbers(b, 1, 2, v->rank, first) && numbers(b, 2, 2, v->rank, second) &&
           fail(b, pass_view_shrink(v, first, second, v));
  case IR_OP_PAD:
    if (ir_arg_mode(n) != IR_PAD_CONSTANT)
      return refuse(b, "padding by elements is no view of fixed strides");
    return numbers(b, 2, 2, v->rank, first) && numbers(b, 3, 2, v->rank, second) &&
           fail(b, pass_view_pad(v, first, second, v));
  case IR_OP_STRIDE: return numbers(b, 1, 1, v->rank, first) && fail(b, pass_view_stride(v, first, v));
  case IR_OP_FLIP: return flip(b, v);
  case IR_OP_POINT: return point(b, v);
  default: return refuse(b, "this is no view of one buffer");
  }
}

static bool is_leaf(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return n->op == IR_OP_INPUT || n->op == IR_OP_BUFFER || n->op == IR_OP_DATA;
}

bool pass_view_chain_of(ir_graph *g, ir_ref node, pass_view_chain *out) {
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
  int64_t shape[IR_MAX_RANK];
  bool done = shape_of(&b, b.node, shape) && append(&b, ir_rank(g, b.node), shape);
  for (size_t i = length - 1; i-- > 0 && done;) {
    b.node = path[i];
    done = apply(&b);
  }
  ir_free(g->mem, path, cap * sizeof *path);
  return done;
}

void pass_view_chain_free(pass_view_chain *c) {
  ir_free(c->mem, c->views, c->cap * sizeof *c->views);
  *c = (pass_view_chain){.mem = c->mem};
}
