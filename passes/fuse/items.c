/* The items that fused row groups are made of: one for each value that would have a kernel of its own, and
 * one for each call, with what it reads and by which of its own axes. */
#include "row_group.h"

#include "passes/lower/lower.h"
#include "passes/patterns/contraction.h"

#include <stdlib.h>

/* Nodes of one kernel: more than MAX_WALK of stored.c, at which fusion ends; see add_item for more. */
enum { MAX_FUSED_NODES = 1024 };

static int descending(const void *a, const void *b) {
  ir_ref x = *(const ir_ref *)a, y = *(const ir_ref *)b;
  return x > y ? -1 : x < y;
}

bool fuse_in_memory(const scheduler *s, ir_ref r) {
  return schedule_is_leaf(ir_op_of(s->g, r)) || s->flags[r] & SCHEDULE_STORED;
}

bool fuse_is_panels(const ir_graph *g, ir_ref r) {
  return ir_op_of(g, r) == IR_OP_STORED && ir_get(g, r)->arg == PASS_PANELS;
}

size_t fuse_nodes_of(scheduler *s, ir_ref value, ir_ref *out, size_t room) {
  size_t count = 1;
  out[0] = value;
  s->sharing.walk++;
  s->sharing.seen[value] = s->sharing.walk;
  for (size_t next = 0; next < count; next++) {
    const ir_node *n = ir_get(s->g, out[next]);
    if (next && fuse_in_memory(s, out[next])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      ir_ref operand = n->src[k];
      if (!ir_shape(s->g, operand) || s->sharing.seen[operand] == s->sharing.walk) continue;
      if (count == room) return 0;
      s->sharing.seen[operand] = s->sharing.walk;
      out[count++] = operand;
    }
  }
  qsort(out, count, sizeof *out, descending);
  return count;
}

int64_t fuse_item_of(const fuse_plan *p, ir_ref node) {
  const scheduler *s = p->s;
  if (ir_op_of(s->g, node) == IR_OP_RESULT) node = ir_src(s->g, node, 0);
  return node < s->nodes && p->item_of[node] ? (int64_t)p->item_of[node] - 1 : FUSE_NO_ITEM;
}

static bool add_read(fuse_plan *p, ir_ref node, const view_axes *axes, int64_t elements) {
  const ir_mem *mem = p->s->g->mem;
  if (!IR_RESERVE(mem, p->reads, p->read_cap, p->read_count + 1)) return false;
  p->reads[p->read_count++] = (fuse_read){node, *axes, elements};
  return true;
}

/* Records the sum if it can be rescaled. It belongs to the last item. */
static bool add_sum(fuse_plan *p, ir_ref node) {
  pass_rescaled rescaled;
  if (!pass_rescaled_of(p->s->g, node, &rescaled)) return true;
  if (!IR_RESERVE(p->s->g->mem, p->sums, p->sum_cap, p->sum_count + 1)) return false;
  p->sums[p->sum_count++] = (fuse_sum){rescaled, p->count - 1};
  return true;
}

/* Is it a contraction as packing leaves it, with one rounding for each term of floats? Sums of squares, and
 * of products with a constant, are none: they read their operand once. */
static bool is_contraction(const ir_graph *g, const ir_node *n) {
  if (n->op != IR_OP_SUM) return false;
  const ir_node *term = ir_get(g, n->src[0]);
  if (term->nsrc > 1 && (term->src[0] == term->src[1] || ir_op_of(g, term->src[1]) == IR_OP_CONST))
    return false;
  if (ir_is_float((ir_dtype)n->dtype)) return term->op == IR_OP_FMA || term->op == IR_OP_FMA2;
  return term->op == IR_OP_MUL || term->op == IR_OP_DOT2 || term->op == IR_OP_DOT4;
}

/* Kernels with masks and without reductions are split where masks begin and end, in loops of their own
 * (passes/domain/peel.c). */
static bool is_peeled(const scheduler *s, const ir_ref *nodes, size_t count) {
  bool masks = false, reduces = false;
  for (size_t i = 0; i < count; i++) {
    ir_op op = ir_op_of(s->g, nodes[i]);
    if (i && fuse_in_memory(s, nodes[i])) continue;
    masks |= op == IR_OP_PAD || op == IR_OP_CONCAT || op == IR_OP_STACK;
    reduces |= ir_ops[op].cls == IR_CLASS_REDUCE;
  }
  return masks && !reduces;
}

/* Does it only bring rows into memory that lie across it? A kernel of its own does that in register tiles,
 * and uses up each cache line that it reads; row by row, elements are read one by one. log_softmax of 8680
 * rows of 32, each across 8 others, takes 0.2 ms in place of 0.8 (Zen 4). */
static bool is_transposing_copy(ir_graph *g, ir_ref value) {
  while (ir_op_of(g, value) == IR_OP_STORED) value = ir_src(g, value, 0);
  return ir_op_of(g, value) == IR_OP_PERMUTE && lower_transposes(g, value);
}

static bool has_elements(ir_graph *g, ir_ref value) {
  for (uint32_t a = 0; a < ir_rank(g, value); a++)
    if (ir_bounds_of(g, ir_dim(g, value, a)).hi < 1) return false;
  return ir_rank(g, value) > 0;
}

/* Elements of the operand that the kernel needs: `known` so far, and those that `needed` elements of the node
 * are made of; at most all. A node that is neither a reduction nor ordered needs one of them for each of its
 * elements. */
static int64_t also_needed(ir_graph *g, int64_t known, ir_ref node, ir_ref operand, int64_t needed) {
  int64_t all = fuse_elements(g, operand);
  bool one =
      ir_ops[ir_op_of(g, node)].cls != IR_CLASS_REDUCE && ir_ops[ir_op_of(g, node)].cls != IR_CLASS_ORDERED;
  if (!one || needed > all) needed = all;
  return known > all - needed ? all : known + needed;
}

/* Fills in what the kernel of the item's value reads, and what is fused into it. */
static bool read_item(fuse_plan *p, fuse_item *item) {
  scheduler *s = p->s;
  ir_graph *g = s->g;
  ir_ref nodes[MAX_FUSED_NODES];
  view_axes axes[MAX_FUSED_NODES];
  int64_t needed[MAX_FUSED_NODES] = {0};
  unsigned never = s->strategy->never_fused;
  size_t count = fuse_nodes_of(s, item->node, nodes, MAX_FUSED_NODES);
  item->first_read = (uint32_t)p->read_count;
  item->joins = count > 0 && !(s->not_fused && s->not_fused[item->node]) &&
                ir_op_of(g, item->node) != IR_OP_ASSIGN && has_elements(g, item->node) &&
                !(never & PASS_MASKED_KERNELS && is_peeled(s, nodes, count)) &&
                !fuse_is_panels(g, item->node) && !is_transposing_copy(g, item->node);
  for (size_t i = 0; i < count; i++) s->sharing.place[nodes[i]] = (ir_ref)i; /* its places are used up */
  axes[0] = view_no_axes;
  needed[0] = fuse_elements(g, item->node);
  for (uint32_t a = 0; a < ir_rank(g, item->node); a++) axes[0].loop[a] = (int8_t)a;
  for (size_t i = 1; i < count; i++) axes[i].loop[0] = INT8_MIN; /* not reached yet */
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, nodes[i]);
    if (i && fuse_in_memory(s, nodes[i])) {
      if (!add_read(p, nodes[i], &axes[i], needed[i])) return false;
      continue;
    }
    if (n->op == IR_OP_SUM && !add_sum(p, nodes[i])) return false;
    item->reduces |= ir_ops[n->op].cls == IR_CLASS_REDUCE;
    if (is_contraction(g, n)) {
      item->product = item->contracts ? 0 : nodes[i];
      item->product_axes = axes[i];
      item->contracts = true;
    }
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      if (!ir_shape(g, n->src[k])) continue;
      ir_ref place = s->sharing.place[n->src[k]];
      view_axes below, *known = &axes[place];
      needed[place] = also_needed(g, needed[place], nodes[i], n->src[k], needed[i]);
      if (!view_axes_below(g, nodes[i], k, &axes[i], &below)) return false;
      if (known->loop[0] == INT8_MIN) *known = below;
      else view_axes_intersect(known, &below);
    }
  }
  item->read_count = (uint32_t)p->read_count - item->first_read;
  item->joins &= !(never & PASS_CONTRACTION_KERNELS && item->contracts);
  return true;
}

/* An item with more than MAX_FUSED_NODES nodes has no list of reads: it may read anything. */
static bool add_item(fuse_plan *p, ir_ref node) {
  scheduler *s = p->s;
  const ir_node *n = ir_get(s->g, node);
  if (!IR_RESERVE(s->g->mem, p->items, p->item_cap, p->count + 1)) return false;
  fuse_item *item = &p->items[p->count];
  *item = (fuse_item){.node = node};
  p->item_of[node] = ++p->count;
  if (!schedule_is_call((ir_op)n->op) && !schedule_is_step((ir_op)n->op)) return read_item(p, item);
  item->first_read = (uint32_t)p->read_count;
  for (uint32_t k = 0; k < ir_operand_count(n); k++)
    if (!add_read(p, n->src[k], &view_no_axes, fuse_elements(s->g, n->src[k]))) return false;
  item->read_count = (uint32_t)p->read_count - item->first_read;
  return true;
}

bool fuse_find_items(fuse_plan *p) {
  scheduler *s = p->s;
  for (size_t i = 0; i < s->count; i++) {
    ir_ref r = s->live[i];
    ir_op op = ir_op_of(s->g, r);
    bool stored = !schedule_is_leaf(op) && ir_shape(s->g, r) && s->flags[r] & SCHEDULE_STORED;
    if ((stored || schedule_is_call(op)) && !add_item(p, r)) return false;
  }
  size_t bytes = p->count * sizeof *p->group_of;
  p->group_of = ir_alloc(s->g->mem, bytes);
  p->before = ir_alloc(s->g->mem, bytes);
  p->read_outside = ir_alloc(s->g->mem, p->count);
  p->deferred = ir_alloc(s->g->mem, p->count);
  if (!p->group_of || !p->before || !p->read_outside || !p->deferred) return false;
  for (uint32_t i = 0; i < p->count; i++) {
    p->group_of[i] = p->before[i] = FUSE_NO_GROUP;
    p->read_outside[i] = p->deferred[i] = 0;
  }
  for (uint32_t k = 0; k < s->result_count; k++) {
    int64_t item = fuse_item_of(p, s->results[k]);
    if (item < 0) continue;
    p->read_outside[item] = p->items[item].result = true;
    p->items[item].readers++;
  }
  for (size_t k = 0; k < p->read_count; k++) {
    int64_t item = fuse_item_of(p, p->reads[k].node);
    if (item >= 0) p->items[item].readers++;
  }
  return true;
}
