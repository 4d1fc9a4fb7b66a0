/* Folding: a tensor value becomes one scalar expression over ranges, and every view disappears into index
 * expressions.
 *
 * The unit of work is a demand: the value of one tensor node at one point (an index for each axis), needed
 * only where `valid` holds. Starting from the kernel's output at (ridx0, ridx1, ...), each demand either is a
 * leaf (a load, a constant, an index) or waits for its operands at points of their own. Demands are
 * hash-consed as TUPLE(node, valid, index...), so that each is answered once, and they wait on an explicit
 * stack, so that depth needs no recursion. */
#include "fold.h"

#include "passes/index/index.h"

#include <string.h>

static void out_of_memory(folder *f) {
  f->failed = true;
  ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory folding views");
}

/* The entry of the key, or the free one where it goes. Multiplying by the golden ratio spreads refs that
 * follow one another. */
static fold_answer *answer_entry(fold_answer *table, size_t cap, ir_ref key) {
  size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (cap - 1);
  while (table[at].key && table[at].key != key) at = (at + 1) & (cap - 1);
  return &table[at];
}

static ir_ref answer_of(const folder *f, ir_ref key) {
  return f->answer_cap ? answer_entry(f->answers, f->answer_cap, key)->value : 0;
}

static bool grow_answers(folder *f) {
  enum { FIRST = 64 }; /* answers in the table at first, a power of two: most kernels have fewer nodes */
  size_t cap = f->answer_cap ? 2 * f->answer_cap : FIRST;
  fold_answer *larger = ir_alloc(f->g->mem, cap * sizeof *larger);
  if (!larger) return false;
  memset(larger, 0, cap * sizeof *larger);
  for (size_t i = 0; i < f->answer_cap; i++)
    if (f->answers[i].key) *answer_entry(larger, cap, f->answers[i].key) = f->answers[i];
  ir_free(f->g->mem, f->answers, f->answer_cap * sizeof *f->answers);
  f->answers = larger;
  f->answer_cap = cap;
  return true;
}

static void answer_demand(folder *f, ir_ref key, ir_ref value) {
  if (!value) f->failed = true;
  if (2 * f->answer_count >= f->answer_cap && !grow_answers(f)) {
    out_of_memory(f);
    return;
  }
  fold_answer *place = answer_entry(f->answers, f->answer_cap, key);
  f->answer_count += place->key == 0;
  *place = (fold_answer){key, value};
}

static ir_ref demand_key(folder *f, ir_ref node, ir_ref valid, const pass_point *p) {
  ir_ref items[IR_MAX_RANK + 2] = {node, valid};
  for (uint32_t i = 0; i < p->rank; i++) items[i + 2] = p->at[i];
  return ir_tuple(f->g, items, p->rank + 2);
}

void fold_ask(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p) {
  ir_ref key = demand_key(f, node, valid, p);
  if (!key || !IR_RESERVE(f->g->mem, f->keys, f->key_cap, f->key_count + 1)) {
    out_of_memory(f);
    return;
  }
  f->keys[f->key_count++] = key;
  fr->awaited++;
}

ir_ref fold_reply(const folder *f, const fold_frame *fr, uint32_t i) {
  return answer_of(f, f->keys[fr->first_key + i]);
}

ir_ref fold_zero(folder *f, ir_dtype dtype) {
  return ir_is_float(dtype) ? ir_float(f->g, dtype, 0) : ir_int(f->g, dtype, 0);
}

static bool is_empty(const ir_graph *g, ir_ref node) {
  const ir_node *shape = ir_get(g, ir_shape(g, node));
  int64_t size;
  for (uint32_t i = 0; i < shape->nsrc; i++)
    if (ir_is_const(g, shape->src[i], &size) && size == 0) return true;
  return false;
}

/* leaves */

ir_ref fold_param(folder *f, ir_ref node, uint32_t slot) {
  pass_slots *s = f->slots;
  uint32_t at = 0;
  while (at < s->param_count && s->params[at] != slot) at++;
  if (at == s->param_count) s->params[s->param_count++] = slot;
  const ir_node *shape = ir_get(f->g, ir_shape(f->g, node));
  ir_ref size = ir_index(f->g, 1);
  for (uint32_t i = 0; i < shape->nsrc; i++) size = pass_mul(f->g, size, shape->src[i]);
  return ir_make(f->g, IR_OP_PARAM, ir_dtype_of(f->g, node), ir_pack_arg(at, 0), &size, 1);
}

/* The value of a node that is read nowhere. */
static ir_ref unread_value(folder *f, ir_ref node) {
  f->leaf_index = ir_index(f->g, 0), f->leaf_valid = ir_bool(f->g, false);
  return fold_zero(f, ir_dtype_of(f->g, node));
}

static ir_ref access(folder *f, ir_ref node, ir_ref valid, const pass_point *p) {
  ir_graph *g = f->g;
  ir_ref flat = pass_flatten(g, &pass_canonical, ir_shape(g, node), p);
  valid = pass_finalize_clauses(g, valid);
  if (ir_is_false(g, valid)) return unread_value(f, node);
  f->leaf_index = flat = pass_simplify_given(g, flat, valid);
  f->leaf_valid = valid;
  ir_ref src[] = {fold_param(f, node, f->slots->slot_of[node] - 1), flat, valid,
                  fold_zero(f, ir_dtype_of(g, node))};
  return ir_make(g, IR_OP_LOAD, ir_dtype_of(g, node), 0, src, 4);
}

bool fold_in_memory(const folder *f, ir_ref node) {
  return node != f->output && node < f->slots->count && f->slots->slot_of[node];
}

ir_ref fold_filled(folder *f, ir_ref inside, ir_ref value, ir_ref fill) {
  ir_graph *g = f->g;
  const ir_node *n = ir_get(g, value);
  /* a load that gives the fill value where it is not valid needs no select around it */
  if (n->op == IR_OP_LOAD && n->src[3] == fill && !ir_is_true(g, n->src[2])) return value;
  if (n->op == IR_OP_LOAD && n->src[2] == inside)
    return ir_make(g, IR_OP_LOAD, (ir_dtype)n->dtype, 0, (ir_ref[]){n->src[0], n->src[1], inside, fill}, 4);
  return pass_where(g, inside, value, fill);
}

/* Each function below handles the demand on top of the stack: it asks for what is missing and returns 0, or
 * returns the value. */

static ir_ref fold_view(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, pass_point *p) {
  ir_graph *g = f->g;
  ir_ref operand = ir_src(g, node, 0), inside = pass_view_index(g, &pass_canonical, node, p);
  bool fills = ir_op_of(g, node) == IR_OP_PAD && !ir_is_true(g, inside);
  ir_ref fill = fills ? ir_src(g, node, 1) : 0;
  if (inside && ir_is_false(g, inside)) return fill;
  if (fr->state++ == 0) {
    fold_ask(f, fr, operand, pass_and_deferred(g, valid, inside), p);
    return 0;
  }
  return fills ? fold_filled(f, inside, fold_reply(f, fr, 0), fill) : fold_reply(f, fr, 0);
}

/* Is index `at` of the joined axis in the operand that covers start..end - 1? */
static ir_ref falls_in_operand(folder *f, ir_ref at, ir_ref start, ir_ref end) {
  return pass_and(f->g, pass_compare(f->g, IR_OP_GE, at, start), pass_compare(f->g, IR_OP_LT, at, end));
}

static ir_ref fold_join(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, pass_point *p) {
  ir_graph *g = f->g;
  const ir_node *n = ir_get(g, node);
  bool stacked = n->op == IR_OP_STACK, ask_now = fr->state++ == 0;
  uint32_t axis = (uint32_t)ir_arg_int(n), replies = 0;
  ir_ref at = p->at[axis], start = ir_index(g, 0), value = 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    ir_ref size = stacked ? ir_index(g, 1) : ir_dim(g, n->src[i], axis), end = pass_add(g, start, size);
    ir_ref here = pass_and(g, valid, falls_in_operand(f, at, start, end));
    if (here && !ir_is_false(g, here) && ask_now) {
      pass_point operand_point = *p;
      operand_point.at[axis] = pass_sub(g, at, start);
      if (stacked) {
        operand_point.rank--;
        for (uint32_t k = axis; k < operand_point.rank; k++) operand_point.at[k] = p->at[k + 1];
      }
      fold_ask(f, fr, n->src[i], here, &operand_point);
    } else if (here && !ir_is_false(g, here)) {
      ir_ref one = fold_reply(f, fr, replies++);
      value = value ? pass_where(g, pass_compare(g, IR_OP_LT, at, start), value, one) : one;
    }
    start = end;
  }
  return ask_now && fr->awaited ? 0 : value ? value : fold_zero(f, (ir_dtype)n->dtype);
}

/* The index expression of an integer value: the one that it was cast from, or the same constant; 0: none. */
static ir_ref as_index(ir_graph *g, ir_ref value) {
  const ir_node *n = ir_get(g, value);
  if (!ir_is_data_int((ir_dtype)n->dtype)) return 0;
  if (n->op == IR_OP_CONST && n->dtype != IR_U64) return ir_index(g, ir_const_value(g, value).i);
  if (n->op != IR_OP_CAST || ir_dtype_of(g, n->src[0]) != IR_INDEX) return 0;
  int bits = ir_dtypes[n->dtype].bytes * 8 - 1;
  ir_bounds b = ir_bounds_of(g, n->src[0]);
  return b.lo >= 0 && b.hi <= (int64_t)(((uint64_t)1 << bits) - 1) ? n->src[0] : 0;
}

/* Compares indices as such where the operands are indices, so that index passes see what depends on them. */
static ir_ref compared(ir_graph *g, const ir_node *n, const ir_ref *src) {
  ir_ref a = as_index(g, src[0]), b = as_index(g, src[1]);
  bool constants = ir_op_of(g, src[0]) == IR_OP_CONST && ir_op_of(g, src[1]) == IR_OP_CONST;
  if (a && b && !constants) return pass_compare(g, (ir_op)n->op, a, b);
  return ir_make(g, (ir_op)n->op, (ir_dtype)n->dtype, n->arg, src, n->nsrc);
}

static ir_ref fold_elementwise(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p) {
  ir_graph *g = f->g;
  const ir_node *n = ir_get(g, node);
  if (fr->state++ == 0) {
    for (uint32_t i = 0; i < n->nsrc; i++) {
      pass_point here = *p;
      if (ir_rank(g, n->src[i]) == 0) here.rank = 0; /* a scalar is the same at every point */
      fold_ask(f, fr, n->src[i], valid, &here);
    }
    return 0;
  }
  ir_ref src[3] = {0};
  for (uint32_t i = 0; i < n->nsrc; i++) src[i] = fold_reply(f, fr, i);
  if (n->op == IR_OP_STORED) return src[0];
  if (n->op == IR_OP_WHERE) return pass_where(g, src[0], src[1], src[2]);
  if (ir_ops[n->op].cls == IR_CLASS_COMPARE) return compared(g, n, src);
  return ir_make(g, (ir_op)n->op, (ir_dtype)n->dtype, n->arg, src, n->nsrc);
}

/* The operation that combines a reduction's values. For booleans it is OR (max, any, sum) or AND (min, all,
 * prod). */
static ir_op combining_op(const ir_node *n) {
  bool logical = n->dtype == IR_BOOL;
  switch ((int)n->op) {
  case IR_OP_SUM: return logical ? IR_OP_OR : IR_OP_ADD;
  case IR_OP_PROD: return logical ? IR_OP_AND : IR_OP_MUL;
  case IR_OP_ANY: return IR_OP_OR;
  case IR_OP_ALL: return IR_OP_AND;
  case IR_OP_REDUCE_MAX: return logical ? IR_OP_OR : IR_OP_MAX;
  case IR_OP_REDUCE_MIN: return logical ? IR_OP_AND : IR_OP_MIN;
  default: return (ir_op)n->op; /* argmax, argmin */
  }
}

ir_ref fold_range(folder *f, ir_ref extent) {
  int64_t size;
  if (ir_is_const(f->g, extent, &size) && size == 1) return ir_index(f->g, 0);
  return ir_make(f->g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(f->next_range++, 0), &extent, 1);
}

static ir_ref fold_reduce(folder *f, fold_frame *fr, ir_ref node, ir_ref valid, const pass_point *p) {
  ir_graph *g = f->g;
  const ir_node *n = ir_get(g, node);
  if (fr->state++ == 0) {
    pass_point inner = {.rank = ir_rank(g, n->src[0])};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < inner.rank; i++) {
      bool reduced = ir_reduces_axis(g, n, i);
      inner.at[i] =
          reduced ? fr->ranges[fr->range_count++] = fold_range(f, ir_dim(g, n->src[0], i)) : p->at[kept++];
    }
    fold_ask(f, fr, n->src[0], valid, &inner);
    return 0;
  }
  bool positional = n->op == IR_OP_ARGMAX || n->op == IR_OP_ARGMIN;
  ir_ref src[IR_MAX_RANK + 2] = {fold_reply(f, fr, 0)};
  uint32_t count = 1;
  if (positional && ir_op_of(g, fr->ranges[0]) != IR_OP_RANGE) return ir_int(g, (ir_dtype)n->dtype, 0);
  if (positional) src[count++] = fr->ranges[0];
  for (uint32_t i = 0; i < fr->range_count; i++)
    if (ir_op_of(g, fr->ranges[i]) == IR_OP_RANGE) src[count++] = fr->ranges[i];
  if (count == 1) { /* every reduced axis has one element; a float sum still starts from +0 */
    bool adds = combining_op(n) == IR_OP_ADD && ir_is_float((ir_dtype)n->dtype);
    return adds ? ir_binary(g, IR_OP_ADD, src[0], fold_zero(f, (ir_dtype)n->dtype)) : src[0];
  }
  return ir_make(g, IR_OP_REDUCE, (ir_dtype)n->dtype, ir_pack_arg(combining_op(n), 0), src, count);
}

static ir_ref fold_demand(folder *f, fold_frame *fr) {
  ir_graph *g = f->g;
  const ir_node *key = ir_get(g, fr->key);
  ir_ref node = key->src[0], valid = key->src[1];
  pass_point p = {.rank = key->nsrc - 2};
  memcpy(p.at, key->src + 2, p.rank * sizeof *p.at);
  const ir_node *n = ir_get(g, node);
  if (n->dtype == IR_INDEX) return node; /* a size is the same at every point */
  if (n->op == IR_OP_CONST) return ir_const(g, (ir_dtype)n->dtype, (ir_value){.i = n->arg});
  if (ir_is_false(g, valid) || is_empty(g, node)) return unread_value(f, node);
  ir_ref local = f->row_group ? fold_local(f, node, valid, &p) : 0;
  if (local || f->failed) return local;
  if (fold_in_memory(f, node)) return access(f, node, valid, &p);
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_VIEW:
    return n->op == IR_OP_CONCAT || n->op == IR_OP_STACK ? fold_join(f, fr, node, valid, &p)
                                                         : fold_view(f, fr, node, valid, &p);
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY: return fold_elementwise(f, fr, node, valid, &p);
  case IR_CLASS_REDUCE: return fold_reduce(f, fr, node, valid, &p);
  case IR_CLASS_INDIRECT: return fold_gather(f, fr, node, valid, &p);
  case IR_CLASS_LEAF:
    if (n->op == IR_OP_IOTA) return ir_make(g, IR_OP_CAST, (ir_dtype)n->dtype, 0, &p.at[ir_arg_int(n)], 1);
    break;
  case IR_CLASS_CONTRACT:
  case IR_CLASS_ORDERED:
  case IR_CLASS_EXCHANGE:
  case IR_CLASS_CONTROL:
  case IR_CLASS_CUSTOM:
  case IR_CLASS_LOOP:
  case IR_CLASS_META: break;
  }
  ir_fail(g->error, IR_ERR_INTERNAL, "fold: %s reached folding without being lowered or stored",
          ir_ops[n->op].text);
  f->failed = true;
  return 0;
}

static void push_demand(folder *f, ir_ref key) {
  if (!key || !IR_RESERVE(f->g->mem, f->stack, f->stack_cap, f->depth + 1)) {
    out_of_memory(f);
    return;
  }
  f->stack[f->depth++] = (fold_frame){.key = key, .first_key = f->key_count};
}

ir_ref fold_at(folder *f, ir_ref node, const pass_point *p) {
  ir_ref root = demand_key(f, node, ir_bool(f->g, true), p);
  push_demand(f, root);
  while (f->depth && !f->failed) {
    fold_frame *top = &f->stack[f->depth - 1];
    size_t asked = f->key_count;
    ir_ref key = top->key, value = answer_of(f, key);
    if (!value) value = fold_demand(f, top);
    if (value) {
      answer_demand(f, key, value);
      f->key_count = top->first_key;
      f->depth--;
    } else if (f->key_count == asked) {
      f->failed = true; /* a builder has failed and said why */
    }
    for (size_t k = asked, end = f->key_count; k < end && !f->failed; k++)
      if (!answer_of(f, f->keys[k])) push_demand(f, f->keys[k]);
  }
  return f->failed ? 0 : answer_of(f, root);
}

pass_point fold_output_point(folder *f, ir_ref node) {
  pass_point p = {.rank = ir_rank(f->g, node)};
  for (uint32_t i = 0; i < p.rank; i++) {
    f->next_range = i;
    p.at[i] = fold_range(f, ir_dim(f->g, node, i));
  }
  f->next_range = p.rank;
  return p;
}

void fold_discard_answers(folder *f) {
  if (f->answers) memset(f->answers, 0, f->answer_cap * sizeof *f->answers);
  f->answer_count = 0;
}

void folder_free(folder *f) {
  ir_free(f->g->mem, f->answers, f->answer_cap * sizeof *f->answers);
  ir_free(f->g->mem, f->stack, f->stack_cap * sizeof *f->stack);
  ir_free(f->g->mem, f->keys, f->key_cap * sizeof *f->keys);
}

/* Drops parameters that no access uses, and renumbers the others. */
static ir_ref move_params_up(ir_graph *g, ir_ref store, pass_slots *slots) {
  ir_ref *live = NULL, *from = NULL;
  size_t count = 0, cap = 0, from_cap = 0;
  uint32_t used = 0, room = slots->param_count;
  bool done = store && ir_reachable(g, &store, 1, &live, &count, &cap) == IR_OK &&
              IR_RESERVE(g->mem, from, from_cap, 2 * (size_t)room);
  for (uint32_t slot = 0; slot < room && done; slot++)
    for (size_t i = 0; i < count; i++) {
      const ir_node *n = ir_get(g, live[i]);
      if (n->op != IR_OP_PARAM || ir_arg_int(n) != slot) continue;
      from[used] = live[i];
      from[room + used] = ir_make(g, IR_OP_PARAM, (ir_dtype)n->dtype, ir_pack_arg(used, 0), n->src, 1);
      slots->params[used++] = slots->params[slot];
    }
  if (done && used < room) store = pass_substitute(g, store, from, from + room, used);
  slots->param_count = used;
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, from, from_cap * sizeof *from);
  return done ? store : 0;
}

/* Repeats as long as rebuilding simplifies the store and leaves further parameters unused. */
ir_ref pass_drop_params(ir_graph *g, ir_ref store, pass_slots *slots) {
  uint32_t before;
  do {
    before = slots->param_count;
    store = move_params_up(g, store, slots);
  } while (store && slots->param_count < before);
  return store;
}

static ir_ref fold_store(folder *f, ir_ref value, ir_ref param) {
  value = fold_over_sum_axes(f, value);
  if (!value) return 0;
  pass_point p = fold_output_point(f, value);
  ir_ref index = pass_flatten(f->g, &pass_canonical, ir_shape(f->g, value), &p),
         result = fold_at(f, value, &p);
  return ir_make(f->g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){param, index, result}, 3);
}

ir_ref pass_fold(ir_graph *g, ir_ref value, uint32_t target, pass_slots *slots) {
  bool own = slots->slot_of[value] == target + 1; /* otherwise the target gets a copy */
  bool updates = own && ir_op_of(g, value) == IR_OP_ASSIGN;
  folder f = {.g = g, .slots = slots, .output = own ? value : 0};
  slots->param_count = 0;
  ir_ref param = fold_param(&f, value, target);
  ir_ref effect = updates ? fold_assign(&f, value, param) : fold_store(&f, value, param);
  folder_free(&f);
  return pass_drop_params(g, effect, slots);
}

bool pass_fold_chain(ir_graph *g, ir_ref chain, ir_ref *index, ir_ref *valid) {
  pass_index_begin(g);
  ir_ref leaf = chain;
  while (ir_ops[ir_op_of(g, leaf)].cls == IR_CLASS_VIEW) leaf = ir_src(g, leaf, 0);
  size_t count = (size_t)leaf + 1;
  uint32_t *slot_of = ir_alloc(g->mem, count * sizeof *slot_of), param;
  if (!slot_of) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory folding views");
    return false;
  }
  memset(slot_of, 0, count * sizeof *slot_of);
  slot_of[leaf] = 1;
  pass_slots slots = {.slot_of = slot_of, .count = count, .params = &param};
  folder f = {.g = g, .slots = &slots, .leaf_index = ir_index(g, 0), .leaf_valid = ir_bool(g, false)};
  pass_point p = fold_output_point(&f, chain);
  bool done = fold_at(&f, chain, &p) != 0;
  *index = f.leaf_index, *valid = f.leaf_valid;
  folder_free(&f);
  ir_free(g->mem, slot_of, count * sizeof *slot_of);
  return done && *index && *valid;
}
