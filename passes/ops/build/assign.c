/* Writes through views. The target of a write is a tensor of positions, which count the elements of x in
 * row-major order: a chain of views and gathers of an IOTA. The same chain of x reads what the target names.
 */
#include <stdio.h>

#include <string.h>

#include "passes/ops/check.h"

const char *const op_writes[OP_WRITE_COUNT] = {"set", "add", "sub", "mul", "div",
                                               "min", "max", "and", "or",  "xor"};

/* A target, from its result down to the IOTA. */
typedef struct chain {
  const char *who; /* the operation, for messages */
  ir_ref *nodes;   /* the views, the last applied first */
  size_t count, cap;
  ir_ref leaf;
  bool gathers;
  bool pads;
  bool padded_apart; /* some padding is not yet nowhere */
  bool batches;      /* positions became those of a batch on the way, or axes again */
} chain;

enum { NOWHERE = -1 /* a position of no element: it counts none */ };

static bool is_view_of_one(const ir_node *n) {
  return ir_ops[n->op].cls == IR_CLASS_VIEW && n->op != IR_OP_CONCAT && n->op != IR_OP_STACK &&
         n->op != IR_OP_REBATCH;
}

static bool list_chain(ir_graph *g, ir_ref at, chain *c) {
  for (;; at = ir_src(g, at, 0)) {
    const ir_node *n = ir_get(g, at);
    c->leaf = at;
    if (!is_view_of_one(n) && n->op != IR_OP_GATHER) return true;
    if (!IR_RESERVE(g->mem, c->nodes, c->cap, c->count + 1)) {
      ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory listing the views of a target", c->who);
      return false;
    }
    c->nodes[c->count++] = at;
    c->gathers |= n->op == IR_OP_GATHER && !op_gathers_once(g, at);
    c->pads |= n->op == IR_OP_PAD;
    c->batches |= n->op == IR_OP_BATCH || n->op == IR_OP_UNBATCH;
    c->padded_apart |= n->op == IR_OP_PAD && ir_get(g, n->src[1])->arg != NOWHERE;
  }
}

/* what a target must be */

/* An expanded axis: the elements 0 and 1 along it are one. */
static bool refuse_expanded(ir_graph *g, ir_ref view, uint32_t axis) {
  ir_ref first[IR_MAX_RANK], second[IR_MAX_RANK], below = ir_src(g, view, 0);
  uint32_t rank = ir_rank(g, view);
  for (uint32_t i = 0; i < rank; i++) first[i] = ir_index(g, 0), second[i] = ir_index(g, i == axis);
  op_refuse(g,
            "assign: the target expands %s to %s, so that %s and %s of it name one element; a target names "
            "each element once: write to the view without the expand, to which a value broadcasts",
            OP_LIST(op_dims(g, below), rank), OP_LIST(op_dims(g, view), rank), OP_LIST(first, rank),
            OP_LIST(second, rank));
  return false;
}

/* The padding of the first padded axis next to the array, and the element that it repeats. */
static bool refuse_pad(ir_graph *g, ir_ref view) {
  const ir_node *n = ir_get(g, view);
  ir_ref first[IR_MAX_RANK], second[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, view), axis = 0;
  int64_t lo = 0, hi = 0, width = 0;
  for (; axis < rank; axis++)
    if (!ir_is_const(g, n->src[2 + 2 * axis], &lo) || !ir_is_const(g, n->src[3 + 2 * axis], &hi) || lo || hi)
      break;
  ir_is_const(g, ir_dim(g, n->src[0], axis), &width);
  int mode = ir_arg_mode(n);
  int64_t away = mode == IR_PAD_EDGE || width < 2 ? 0 : mode == IR_PAD_REFLECT ? 1 : width - 1;
  for (uint32_t i = 0; i < rank; i++) first[i] = second[i] = n->src[2 + 2 * i];
  first[axis] = ir_index(g, lo > 0 ? lo - 1 : width);
  second[axis] = ir_index(g, lo > 0 ? lo + away : width - 1 - away);
  op_refuse(
      g,
      "assign: the target pads %s with mode=%s to %s, so that %s and %s of it name one element; a target "
      "names each element once: pad with mode=constant, whose padding is dropped",
      OP_LIST(op_dims(g, n->src[0]), rank), ir_pad_modes[mode & 3], OP_LIST(op_dims(g, view), rank),
      OP_LIST(first, rank), OP_LIST(second, rank));
  return false;
}

/* Can the view be a part of a target? */
static bool check_view(ir_graph *g, ir_ref view) {
  const ir_node *n = ir_get(g, view);
  if (n->op == IR_OP_GATHER && ir_arg_mode(n) == IR_GATHER_FILL) {
    op_refuse(g,
              "assign: the target gathers with mode=fill; positions of a target are checked or clipped: use "
              "mode=check or mode=clip");
    return false;
  }
  if (n->op == IR_OP_PAD && ir_arg_mode(n) != IR_PAD_CONSTANT) return refuse_pad(g, view);
  for (uint32_t i = 0; n->op == IR_OP_EXPAND && i < ir_rank(g, view); i++)
    if (ir_dim(g, n->src[0], i) != ir_dim(g, view, i) && ir_bounds_of(g, ir_dim(g, view, i)).hi > 1)
      return refuse_expanded(g, view, i);
  return true;
}

/* Is it a chain of views of the positions of x? */
static bool check_leaf(ir_graph *g, ir_ref x, ir_ref at, const chain *c) {
  const ir_node *leaf = ir_get(g, c->leaf);
  if (leaf->op != IR_OP_IOTA || leaf->dtype != IR_I64 || ir_rank(g, c->leaf) != 1) {
    ir_dtype dtype = ir_dtype_of(g, at);
    char viewed[120];
    snprintf(viewed, sizeof viewed, "%.100s, ", OP_TYPE(c->leaf));
    op_refuse(g,
              "%s: the target %s is %s%smade by %s; a target is a chain of views of the positions of x: "
              "address %%x, then views of that%s",
              c->who, OP_TYPE(at), at == c->leaf ? "" : "a view of ", at == c->leaf ? "" : viewed,
              ir_ops[leaf->op].text,
              dtype == IR_BOOL     ? "; by a mask, elements are replaced with where %mask, %u, %x"
              : ir_is_float(dtype) ? ""
                                   : "; by indices, elements are named with gather %positions, %indices");
    return false;
  }
  ir_ref count = op_numel(g, op_dims(g, x), ir_rank(g, x)), size = ir_dim(g, c->leaf, 0);
  if (!op_decided(g, IR_OP_EQ, count, size)) {
    op_refuse(g,
              "%s: the target counts %s positions; x has shape %s, %s elements; begin with address %%x, of x "
              "itself%s",
              c->who, OP_EXPR(size), OP_TYPE(x), OP_EXPR(count), OP_FACT(IR_OP_EQ, count, size));
    return false;
  }
  return true;
}

static bool check_target(ir_graph *g, ir_ref x, ir_ref at, const chain *c) {
  if (!check_leaf(g, x, at, c)) return false;
  if (c->batches && ir_batch(g, at)) {
    op_refuse(g,
              "assign: the target %s has batch axes that were axes of x, of shape %s; a target of a value is "
              "made of its own positions: address %%x, inside of vmap",
              OP_TYPE(at), OP_TYPE(x));
    return false;
  }
  for (size_t i = c->count; i-- > 0;)
    if (!check_view(g, c->nodes[i])) return false;
  return true;
}

/* the chain of another array */

/* The chain applied to x, which has as many elements as the IOTA; padding is `fill`, of the dtype of x. */
static ir_ref apply_chain(ir_graph *g, const chain *c, ir_ref x, ir_ref fill) {
  size_t from = c->count;
  bool shaped = from && ir_op_of(g, c->nodes[from - 1]) == IR_OP_RESHAPE &&
                ir_shape(g, c->nodes[from - 1]) == ir_shape(g, x);
  ir_ref size = ir_dim(g, c->leaf, 0), made = shaped ? x : op_reshape_known(g, x, &size, 1);
  if (shaped) from--;
  while (from-- > 0 && made) {
    const ir_node *n = ir_get(g, c->nodes[from]);
    ir_ref src[2 + 2 * IR_MAX_RANK]; /* as many as views have */
    memcpy(src, n->src, n->nsrc * sizeof *src);
    src[0] = made;
    if (n->op == IR_OP_PAD) src[1] = fill;
    made =
        ir_make_tensor(g, (ir_op)n->op, ir_dtype_of(g, x), ir_shape(g, c->nodes[from]), n->arg, src, n->nsrc);
  }
  return made;
}

ir_ref op_view_at(ir_graph *g, ir_ref at, ir_ref x) {
  chain c = {.who = "assign"};
  ir_ref fill = x ? ir_const(g, ir_dtype_of(g, x), (ir_value){.i = 0}) : 0;
  ir_ref made = fill && list_chain(g, at, &c) ? apply_chain(g, &c, x, fill) : 0;
  ir_free(g->mem, c.nodes, c.cap * sizeof *c.nodes);
  return made;
}

ir_ref op_read(ir_graph *g, ir_ref at, ir_ref x) {
  chain c = {.who = "read"};
  ir_ref made = 0;
  x = op_default_dtype(g, x);
  if (!op_tensors(g, c.who, (ir_ref[]){at, x}, 2)) return 0;
  ir_ref fill = ir_const(g, ir_dtype_of(g, x), (ir_value){.i = 0});
  if (fill && list_chain(g, at, &c) && check_leaf(g, x, at, &c)) made = apply_chain(g, &c, x, fill);
  ir_free(g->mem, c.nodes, c.cap * sizeof *c.nodes);
  return made;
}

bool op_target_gathers(const ir_graph *g, ir_ref at) {
  while (ir_ops[ir_op_of(g, at)].cls == IR_CLASS_VIEW) at = ir_src(g, at, 0);
  return ir_op_of(g, at) == IR_OP_GATHER;
}

bool op_target_repeats(ir_graph *g, ir_ref at) {
  for (; ir_op_of(g, at) == IR_OP_GATHER || ir_ops[ir_op_of(g, at)].cls == IR_CLASS_VIEW;
       at = ir_src(g, at, 0))
    if (ir_op_of(g, at) == IR_OP_GATHER && !op_gathers_once(g, at)) return true;
  return false;
}

ir_ref op_address(ir_graph *g, const ir_ref *shape, size_t rank) {
  ir_ref dims[IR_MAX_RANK];
  if (!op_sizes(g, "address", shape, rank, dims)) return 0;
  ir_ref count = op_numel(g, dims, rank), made = count ? op_iota(g, IR_I64, &count, 1, 0) : 0;
  return made ? op_reshape_known(g, made, dims, rank) : 0;
}

/* the write */

static const ir_op combining[OP_WRITE_COUNT] = {
    [OP_WRITE_ADD] = IR_OP_ADD, [OP_WRITE_SUB] = IR_OP_SUB, [OP_WRITE_MUL] = IR_OP_MUL,
    [OP_WRITE_DIV] = IR_OP_DIV, [OP_WRITE_MIN] = IR_OP_MIN, [OP_WRITE_MAX] = IR_OP_MAX,
    [OP_WRITE_AND] = IR_OP_AND, [OP_WRITE_OR] = IR_OP_OR,   [OP_WRITE_XOR] = IR_OP_XOR};

/* Does the dtype have the operation, with results of the same dtype? */
static bool check_operation(ir_graph *g, ir_ref x, op_write op, bool gathers) {
  ir_dtype dtype = ir_dtype_of(g, x);
  bool bits = op == OP_WRITE_AND || op == OP_WRITE_OR || op == OP_WRITE_XOR,
       arithmetic = op == OP_WRITE_ADD || op == OP_WRITE_SUB || op == OP_WRITE_MUL;
  const char *need = bits && ir_is_float(dtype)                  ? "integers or truth values"
                     : op == OP_WRITE_DIV && !ir_is_float(dtype) ? "floats, since a quotient is a float"
                     : arithmetic && dtype == IR_BOOL            ? "numbers"
                                                                 : NULL;
  if (need) op_refuse(g, "assign: x has shape %s; op=%s takes %s", OP_TYPE(x), op_writes[op], need);
  else if (gathers && op > OP_WRITE_SUB)
    op_refuse(g,
              "assign: the target gathers, and may name an element of x, of shape %s, several times; op=%s "
              "takes a target without a gather; through one, op is set, add or sub",
              OP_TYPE(x), op_writes[op]);
  return g->error->status == IR_OK;
}

/* Where each element is named once, an operation is the store of its result. `set` and `add` stay, but for
 * narrow floats, whose sums are rounded once. */
static bool is_combined(op_write op, bool gathers, ir_dtype dtype) {
  if (gathers) return false;
  return op > OP_WRITE_SUB || (op != OP_WRITE_SET && (dtype == IR_F16 || dtype == IR_BF16));
}

/* u, and 1 where the target is padding: there a divisor that is dropped may be 0, as the padding that is read
 * is, and the derivative of a dropped quotient would be no number. */
static ir_ref divisor(ir_graph *g, const chain *c, ir_ref x, ir_ref u) {
  if (!c->pads) return u;
  ir_ref all = op_grow(g, ir_bool(g, true), op_dims(g, x), ir_rank(g, x));
  ir_ref named = all ? apply_chain(g, c, all, ir_bool(g, false)) : 0;
  return named ? op_where(g, named, u, op_literal_float(g, 1)) : 0;
}

/* The write of u, which has the dtype of x, through a checked chain. */
static ir_ref make_write(ir_graph *g, ir_ref x, ir_ref at, ir_ref u, op_write op, const chain *c) {
  ir_dtype dtype = ir_dtype_of(g, x);
  if (c->padded_apart) {
    ir_ref nowhere = ir_int(g, IR_I64, NOWHERE);
    at = nowhere ? apply_chain(g, c, c->leaf, nowhere) : 0;
  }
  if (is_combined(op, c->gathers, dtype)) {
    ir_ref fill = ir_const(g, dtype, (ir_value){.i = 0}), old = fill ? apply_chain(g, c, x, fill) : 0;
    if (op == OP_WRITE_DIV) u = divisor(g, c, x, u);
    u = old && u ? op_binary(g, combining[op], old, u) : 0;
  } else if (op == OP_WRITE_SUB) {
    u = op_unary(g, IR_OP_NEG, u);
  }
  bool adds = !is_combined(op, c->gathers, dtype) && op != OP_WRITE_SET;
  ir_ref src[3] = {x, at, u};
  return at && u ? op_make(g, IR_OP_ASSIGN, dtype, op_dims(g, x), ir_rank(g, x),
                           ir_pack_arg(0, adds ? IR_WRITE_ADD : IR_WRITE_SET), src, 3)
                 : 0;
}

ir_ref op_assign(ir_graph *g, ir_ref x, ir_ref at, ir_ref u, op_write op) {
  chain c = {.who = "assign"};
  ir_ref made = 0;
  x = op_default_dtype(g, x);
  if (!op_tensors(g, "assign", (ir_ref[]){x, at, u}, 3)) return 0;
  if (list_chain(g, at, &c) && check_target(g, x, at, &c) && check_operation(g, x, op, c.gathers) &&
      (u = op_fit_update(g, "assign", x, u, op_dims(g, at), ir_rank(g, at))) != 0)
    made = make_write(g, x, at, u, op, &c);
  ir_free(g->mem, c.nodes, c.cap * sizeof *c.nodes);
  return made;
}

ir_ref op_next_version(ir_graph *g, ir_ref x, ir_ref newest) {
  ir_ref at = newest;
  while (ir_is_scatter(ir_op_of(g, at))) at = ir_src(g, at, 0);
  /* what a loop or a condition leaves may be in the memory of x as well */
  if ((at == x && newest != x) || ir_op_of(g, at) == IR_OP_RESULT) return newest;
  ir_ref whole = op_address(g, op_dims(g, x), ir_rank(g, x));
  return whole ? op_assign(g, x, whole, newest, OP_WRITE_SET) : 0;
}
