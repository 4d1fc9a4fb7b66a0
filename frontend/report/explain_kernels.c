#include "frontend/report/explain_kernels.h"

#include <string.h>

#include "ir/regions.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"

/* How a value is used: by its users, and by the users of those up to the next stored value. */
typedef struct usage {
  unsigned users;
  bool repeated, masked, reduced;
  bool taken;    /* an operand of control flow */
  bool returned; /* a result of a function */
} usage;

static void out_of_memory(const fe_explained *e) { e->out->failed = true; }

static bool is_reduction(const ir_node *n) { return ir_ops[n->op].cls == IR_CLASS_REDUCE; }

static bool is_result(ir_function f, ir_ref value) {
  uint32_t i = 0;
  while (i < f.result_count && f.results[i] != value) i++;
  return i < f.result_count;
}

static usage usage_of(const fe_explained *e, ir_ref value) {
  usage u = {0};
  fe_refs above = {0};
  if (!fe_walk_above(e->walk, value, &above)) out_of_memory(e);
  for (size_t k = 1; k < above.count; k++) {
    ir_ref r = above.list[k];
    const ir_node *n = ir_get(e->g, r);
    u.taken |= ir_ops[n->op].cls == IR_CLASS_CONTROL;
    u.returned |= n->op == IR_OP_FUNC && is_result(ir_function_of(e->g, r), value);
    if (!ir_shape(e->g, r)) continue;
    for (uint32_t i = 0; i < ir_operand_count(n); i++) u.users += n->src[i] == value;
    u.repeated |= n->op == IR_OP_EXPAND || n->op == IR_OP_GATHER;
    u.masked |= n->op == IR_OP_PAD || n->op == IR_OP_CONCAT || n->op == IR_OP_STACK;
    u.reduced |= is_reduction(n);
  }
  fe_refs_free(e->walk, &above);
  return u;
}

/* The write whose updates the kernel stores into a buffer that holds its first operand; 0: there
 * is none. A kernel of such a value that writes another buffer than the value's own copies it. */
static ir_ref write_of(const fe_explained *e, size_t number) {
  ir_ref value = e->values[number];
  const ir_step *step = &e->plan->steps[number];
  bool writes = value && ir_op_of(e->g, value) == IR_OP_ASSIGN, own = false;
  for (uint32_t i = 0; i < step->stored_count && writes; i++) {
    const ir_stored *b = &e->plan->stored[step->first_stored + i];
    own |= b->node == value && b->slot == step->slots[0];
  }
  return own ? value : 0;
}

/* Does the kernel fill the buffer that the next one updates? */
static bool is_fill(const fe_explained *e, size_t number) {
  if (number + 1 >= e->plan->step_count || e->plan->steps[number + 1].kind != IR_STEP_KERNEL) return false;
  ir_ref write = write_of(e, number + 1);
  const ir_step *step = &e->plan->steps[number];
  return write && !write_of(e, number) && step->slots[0] == step[1].slots[0] &&
         ir_src(e->g, write, 0) == e->values[number];
}

/* The most bytes of the value in one iteration of the group's shared loops. */
static int64_t row_group_bytes(ir_graph *g, const ir_row_group *row_group, const ir_fused_value *v) {
  int64_t bytes = ir_dtypes[ir_dtype_of(g, v->value)].bytes * row_group->rows;
  for (uint32_t a = 0; a < ir_rank(g, v->value); a++) {
    bool shared = false, block = row_group->block && ir_has_key_block(v) && v->keys == a;
    for (uint32_t l = 0; l < row_group->loops; l++) shared |= v->axes[l] == a;
    if (!shared) bytes *= block ? row_group->block : ir_bounds_of(g, ir_dim(g, v->value, a)).hi;
  }
  return bytes;
}

static const char *const not_fused_texts[IR_NOT_FUSED_COUNT] = {
    [IR_NOT_FUSED_LOOPS] =
        "it reads what an earlier kernel computes, but not at the indices at which that is computed",
    [IR_NOT_FUSED_ROWS] =
        "the rows that it would share with the kernel that it reads from fit in no cache, or are too few",
    [IR_NOT_FUSED_TILES] = "it is a contraction that reuses what it reads for more rows than fit in a cache",
    [IR_NOT_FUSED_MASKS] = "it is split where its masks end, into loops of its own",
};

/* Print why the kernel computes several values (a fused row group), or why it is apart. */
static void put_row_group(const fe_explained *e, const ir_step *step) {
  const ir_row_group *row_group = &step->row_group;
  int64_t bytes = 0;
  if (step->not_fused) ir_textf(e->out, "  apart   %s\n", not_fused_texts[step->not_fused]);
  if (!row_group->count) return;
  for (uint32_t i = 0; i < row_group->count; i++)
    if (row_group->values[i].local) bytes += row_group_bytes(e->g, row_group, &row_group->values[i]);
  ir_textf(e->out, "  group   in one loop, %lld row%s an iteration, ", (long long)row_group->rows,
           row_group->rows == 1 ? "" : "s");
  if (row_group->block)
    ir_textf(e->out, "over blocks of %lld keys with a running maximum, ", (long long)row_group->block);
  ir_text_str(e->out, "since ");
  ir_textf(e->out, "the %lld bytes that they pass on stay in a cache:", (long long)bytes);
  for (uint32_t i = 0; i < row_group->count; i++) {
    const ir_fused_value *v = &row_group->values[i];
    ir_textf(e->out, "%s %s", i ? "," : "", ir_ops[ir_op_of(e->g, v->value)].text);
    if (v->local) ir_text_str(e->out, v->slot == UINT32_MAX ? " in a local" : " in a local and in memory");
  }
  ir_text_str(e->out, "\n");
}

static void put_reason(const fe_explained *e, size_t number) {
  ir_ref value = e->values[number];
  const ir_node *n = ir_get(e->g, value);
  const ir_slot *slot = &e->plan->slots[e->plan->steps[number].slots[0]];
  ir_text_str(e->out, "  why     ");
  if (write_of(e, number)) {
    bool filled = number && is_fill(e, number - 1);
    ir_textf(e->out, "updates %s\n",
             filled ? "what the previous kernel stored"
                    : "in place an array that nothing else needs any more");
    return;
  }
  if (is_fill(e, number)) {
    ir_text_str(e->out, "the initial value of a write: the next kernel updates it\n");
    return;
  }
  if (slot->kind == IR_SLOT_OUTPUT) {
    ir_text_str(e->out, "a kernel of its own, because it is a result\n");
    return;
  }
  if (e->plan->steps[number].alternative.taken) {
    ir_text_str(e->out, "stored, because two kernels are predicted to take less time than one\n");
    return;
  }
  usage u = usage_of(e, value);
  if (slot->value != value || u.returned) {
    ir_text_str(e->out, "a kernel of its own, because it is a result of its function\n");
    return;
  }
  if (u.taken) {
    ir_text_str(e->out, "stored and not fused: control flow takes its operands from memory\n");
    return;
  }
  if (n->op == IR_OP_STORED) {
    ir_text_str(e->out,
                "stored, because its readers read elements several times, or because that is asked for\n");
    return;
  }
  if (ir_ops[n->op].cls == IR_CLASS_VIEW) {
    ir_text_str(e->out,
                "stored, because one more reshape or pad would make its index cost more than a copy\n");
    return;
  }
  ir_textf(e->out, "stored and not fused: %s ", ir_ops[n->op].text);
  if (u.repeated) ir_text_str(e->out, "would be computed again for each index at which it is repeated");
  else if (u.users > 1) ir_textf(e->out, "would be computed again for each of %u users", u.users);
  else if (is_reduction(n) && u.reduced)
    ir_text_str(e->out, "would be computed again within another reduction");
  else if (is_reduction(n) && u.masked) ir_text_str(e->out, "is read under the mask of a pad or a join");
  else ir_text_str(e->out, "contains as many operations as one kernel may have");
  ir_text_str(e->out, "\n");
}

/* Print the predicted times of the kernel and of the best alternative that it was compared with. */
static void put_alternative(const fe_explained *e, const ir_step *step) {
  enum { NS_PER_MS = 1000000 };
  const ir_alternative *a = &step->alternative;
  double stored_ms = a->stored_ns / NS_PER_MS, fused_ms = a->fused_ns / NS_PER_MS;
  if (!a->value) return;
  ir_textf(e->out, "  %s %s ", a->taken ? "stored " : "fused  ", ir_ops[ir_op_of(e->g, a->value)].text);
  ir_print_type(e->g, a->value, e->out);
  if (a->taken) ir_textf(e->out, ": %.4g ms, against %.4g ms fused, both predicted\n", stored_ms, fused_ms);
  else
    ir_textf(e->out, ": %.4g ms, against %.4g ms %sstored, both predicted\n", fused_ms, stored_ms,
             a->at_least ? "or more " : "");
}

/* bytes and operations */

static ir_ref elements_of(ir_graph *g, ir_ref tensor) {
  const ir_node *shape = ir_get(g, ir_shape(g, tensor));
  ir_ref count = ir_index(g, 1);
  for (uint32_t i = 0; i < shape->nsrc; i++) count = pass_mul(g, count, shape->src[i]);
  return count;
}

static ir_ref operations_of(const fe_explained *e, const ir_step *step, ir_ref value) {
  ir_ref total = ir_index(e->g, 0);
  fe_refs fused = {0};
  if (!fe_walk_fused(e->walk, step, value, ir_op_of(e->g, value) == IR_OP_ASSIGN, &fused)) out_of_memory(e);
  for (size_t i = fused.count; i-- > 0;) {
    const ir_node *n = ir_get(e->g, fused.list[i]);
    ir_class cls = (ir_class)ir_ops[n->op].cls;
    if (cls == IR_CLASS_REDUCE) total = pass_add(e->g, total, elements_of(e->g, n->src[0]));
    if (cls == IR_CLASS_UNARY || cls == IR_CLASS_BINARY || cls == IR_CLASS_COMPARE || cls == IR_CLASS_TERNARY)
      total = pass_add(e->g, total, elements_of(e->g, fused.list[i]));
  }
  fe_refs_free(e->walk, &fused);
  return total;
}

/* Does the kernel read what it replaces as part of an update, and not by a load? */
static bool adds_in_updates(ir_graph *g, ir_ref kernel) {
  ir_ref update;
  return affine_find_range(g, kernel, IR_OP_UPDATE, &update, 1) && ir_arg_int(ir_get(g, update)) == IR_OP_ADD;
}

fe_kernel_work fe_work_of(const fe_explained *e, size_t number) {
  const ir_step *l = &e->plan->steps[number];
  ir_ref read = fe_bytes_read(e, number), written = ir_index(e->g, 0), write = write_of(e, number);
  uint32_t outputs = ir_written_slots(l);
  for (uint32_t i = 0; i < outputs; i++) {
    const ir_slot *s = &e->plan->slots[l->slots[i]];
    int64_t bytes = (int64_t)ir_dtypes[ir_dtype_of(e->g, s->value)].bytes;
    written = pass_add(e->g, written, pass_mul_int(e->g, s->elements, bytes));
  }
  if (write) {
    ir_ref updates = ir_src(e->g, write, 2);
    written =
        pass_mul_int(e->g, elements_of(e->g, updates), (int64_t)ir_dtypes[ir_dtype_of(e->g, updates)].bytes);
    if (adds_in_updates(e->g, l->kernel)) read = pass_add(e->g, read, written);
  }
  return (fe_kernel_work){read, written, operations_of(e, l, e->values[number])};
}

static void put_work(const fe_explained *e, size_t number) {
  fe_kernel_work work = fe_work_of(e, number);
  ir_text_str(e->out, "  moves   ");
  ir_print_expr(e->g, work.read, e->out);
  ir_text_str(e->out, " bytes to read, ");
  ir_print_expr(e->g, work.written, e->out);
  ir_text_str(e->out, " to write; ");
  ir_print_expr(e->g, work.operations, e->out);
  ir_text_str(e->out, " operations as written\n");
}

/* loops */

/* Print how often the nodes in the body of this loop are evaluated; loop 0: once. */
static void put_times(const fe_explained *e, const ir_regions *r, ir_ref loop) {
  ir_ref times = ir_index(e->g, 1);
  ir_ref innermost = loop;
  for (; loop; loop = ir_region_of(r, loop))
    times = pass_mul(e->g, times, ir_src(e->g, ir_src(e->g, loop, 0), 0));
  if (!innermost) {
    ir_text_str(e->out, "once");
    return;
  }
  ir_text_str(e->out, "in the loop of ");
  ir_print_expr(e->g, ir_src(e->g, innermost, 0), e->out);
  ir_text_str(e->out, ", ");
  ir_print_expr(e->g, times, e->out);
  ir_text_str(e->out, " times");
}

/* The loop of a node that is the range of one; 0: it is none. */
static ir_ref loop_at(const fe_explained *e, const ir_regions *r, size_t i) {
  return ir_op_of(e->g, r->order[i]) == IR_OP_RANGE ? r->loop_of[r->order[i]] : 0;
}

/* Are the loops few, or each inside of the one before? */
static bool fit_on_line(const fe_explained *e, const ir_regions *r) {
  enum { FEW = 8 };
  ir_ref before = 0;
  bool chain = true;
  unsigned count = 0;
  for (size_t i = 0; i < r->count; i++) {
    ir_ref loop = loop_at(e, r, i);
    if (!loop) continue;
    chain &= !before || ir_region_of(r, loop) == before;
    before = loop, count++;
  }
  return chain || count <= FEW;
}

/* Prints the loops inside of `around`, with what is inside of them. Recursive: loops nest at most as deep as
 * a kernel has axes and levels. */
static void put_nest(const fe_explained *e, const ir_regions *r, ir_ref around, unsigned depth, bool line,
                     bool *any) {
  for (size_t i = 0; i < r->count; i++) {
    ir_ref loop = loop_at(e, r, i);
    if (!loop || ir_region_of(r, loop) != around) continue;
    int binding = ir_arg_mode(ir_get(e->g, loop));
    ir_text_str(e->out, !*any ? "  loops   " : line ? ", " : "\n          ");
    for (unsigned k = 0; k < depth && !line; k++) ir_text_str(e->out, "  ");
    ir_print_expr(e->g, r->order[i], e->out);
    ir_text_str(e->out, " of ");
    ir_print_expr(e->g, ir_src(e->g, r->order[i], 0), e->out);
    if (binding != IR_SERIAL) ir_textf(e->out, " %s", ir_bindings[binding]);
    *any = true;
    put_nest(e, r, loop, depth + 1, line, any);
  }
}

/* The loops of a kernel, on one line or as a nest. */
static void put_loops(const fe_explained *e, const ir_regions *r) {
  bool any = false;
  put_nest(e, r, 0, 0, fit_on_line(e, r), &any);
  ir_text_str(e->out, any ? "\n" : "  loops   none\n");
}

static bool is_division(const ir_node *n) {
  return n->dtype == IR_INDEX && (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD);
}

static void put_divisions(const fe_explained *e, const ir_regions *r) {
  unsigned count = 0;
  for (size_t i = 0; i < r->count; i++) {
    if (!is_division(ir_get(e->g, r->order[i]))) continue;
    ir_text_str(e->out, "  divides ");
    ir_print_expr(e->g, r->order[i], e->out);
    ir_text_str(e->out, ", ");
    put_times(e, r, ir_region_of(r, r->order[i]));
    ir_text_str(e->out, "\n");
    count++;
  }
  if (!count) ir_text_str(e->out, "  divides nowhere\n");
}

static void put_masks(const fe_explained *e, const ir_regions *r) {
  unsigned count = 0;
  for (size_t i = 0; i < r->count; i++) {
    const ir_node *n = ir_get(e->g, r->order[i]);
    if (n->op != IR_OP_LOAD || ir_is_true(e->g, n->src[2])) continue;
    ir_textf(e->out, "  tests   a load of p%lld where ", (long long)ir_arg_int(ir_get(e->g, n->src[0])));
    ir_print_expr(e->g, n->src[2], e->out);
    ir_text_str(e->out, ", ");
    put_times(e, r, ir_region_of(r, n->src[2]));
    ir_text_str(e->out, "\n");
    count++;
  }
  if (!count) ir_text_str(e->out, "  tests   nothing: no mask is left\n");
}

void fe_explain_kernel(const fe_explained *e, size_t number) {
  ir_regions regions;
  put_reason(e, number);
  put_alternative(e, &e->plan->steps[number]);
  put_row_group(e, &e->plan->steps[number]);
  put_work(e, number);
  if (ir_regions_find(e->g, e->plan->steps[number].kernel, &regions) != IR_OK) {
    out_of_memory(e);
    return;
  }
  put_loops(e, &regions);
  put_divisions(e, &regions);
  put_masks(e, &regions);
  fe_explain_copies(e, number, &regions);
  fe_explain_code(e, number, &regions);
  if (e->module) fe_explain_listing(e, number);
  ir_regions_free(&regions);
}
