/* Calls of operations of meshes. */
#include "args.h"
#include "passes/ops/compose/compose.h"
#include "passes/ops/mesh.h"

#define AT(name) OP_ATTR_##name

ir_ref op_form_shard(const op_args *a) {
  const ir_attr *to = a->at[AT(to)];
  if (to->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(to), to);
  return op_shard(a->g, a->x[0], to->word, to->word_length);
}

/* The text of an attribute, which may be absent; false after failing. */
static bool text_of(const op_args *a, int which, op_over *out) {
  const ir_attr *given = a->at[which];
  *out = (op_over){0};
  if (!given) return true;
  if (given->kind != IR_ATTR_WORD) return op_args_wrong(a, which, given);
  *out = (op_over){given->word, given->word_length};
  return true;
}

/* `axes` or `axis` as numbers of axes; false after failing. */
static bool axes_of(const op_args *a, int64_t *axes, size_t *count) {
  op_list list;
  bool given;
  if (!op_args_axes(a, &list, &given)) return false;
  *count = given ? list.n : 0;
  for (size_t i = 0; i < *count; i++)
    if (!ir_is_const(a->g, list.items[i], &axes[i]))
      return op_refuse(a->g, "%s: axis %zu is not a number", a->who, i) != 0;
  return true;
}

#define OVER                                                                                                 \
  op_over over;                                                                                              \
  if (!text_of(a, AT(over), &over)) return 0;

ir_ref op_form_all_reduce(const op_args *a) {
  int64_t axes[OP_LIST_MAX];
  size_t count;
  int reduce = 1; /* sum */
  OVER if (!axes_of(a, axes, &count) || !op_args_choice(a, AT(reduce), op_rearrange_reductions,
                                                        OP_REARRANGE_REDUCTIONS, &reduce)) return 0;
  if (op_block_reductions[reduce] == IR_OP_ERROR)
    return op_refuse(a->g, "%s: reduce is none; blocks are combined by one of sum mean max min prod any all",
                     a->who);
  if (count == 1) return op_reduce_blocks(a->g, op_block_reductions[reduce], a->x[0], over, axes[0]);
  if (count > 1 || a->at[AT(reduce)])
    return op_refuse(
        a->g, "%s: %s; `reduce` combines the blocks of one axis, and what is pending is carried out as it is",
        a->who, count > 1 ? "several axes" : "reduce without an axis");
  return op_collective(a->g, IR_OP_ALL_REDUCE, a->x[0], over, NULL, 0);
}

ir_ref op_form_axis_collective(const op_args *a) {
  int64_t axes[OP_LIST_MAX];
  size_t count;
  OVER if (!axes_of(a, axes, &count)) return 0;
  if (count != 1)
    return op_refuse(a->g, "%s: %s; takes one, which comes together or is divided", a->who,
                     count ? "several axes" : "axis is missing");
  return op_collective(a->g, a->op, a->x[0], over, axes, 1);
}

ir_ref op_form_all_to_all(const op_args *a) {
  int64_t axes[OP_LIST_MAX];
  size_t count;
  bool tiled = true, split = a->at[AT(split)], concat = a->at[AT(concat)];
  OVER if (!axes_of(a, axes, &count) || !op_args_bool(a, AT(tiled), &tiled)) return 0;
  if (split && concat && !count) {
    if (!op_args_int(a, AT(split), &axes[0]) || !op_args_int(a, AT(concat), &axes[1])) return 0;
    count = 2;
  }
  if (count != 2 || (a->at[AT(axes)] && (split || concat)))
    return op_refuse(
        a->g, "%s: takes split, the axis that is divided, and concat, the one that comes together", a->who);
  if (!tiled) return op_all_to_all_stacked(a->g, a->x[0], over, axes[0], axes[1]);
  return op_collective(a->g, IR_OP_ALL_TO_ALL, a->x[0], over, axes, 2);
}

OP_FORM(pmean, OVER, op_pmean(a->g, a->x[0], over))

/* Pairs of numbers, as many as there are devices. */
static bool read_pairs(const op_args *a, const ir_attr *list, int64_t *out) {
  for (size_t i = 0; i < list->count; i++) {
    const ir_attr *pair = &list->items[i];
    if (pair->kind != IR_ATTR_LIST || pair->count != 2) return op_args_wrong(a, AT(pairs), pair);
    for (size_t k = 0; k < 2; k++)
      if (pair->items[k].kind != IR_ATTR_EXPR || !ir_is_const(a->g, pair->items[k].expr, &out[2 * i + k]))
        return op_args_wrong(a, AT(pairs), &pair->items[k]);
  }
  return true;
}

ir_ref op_form_ppermute(const op_args *a) {
  const ir_attr *list = a->at[AT(pairs)];
  int64_t axis = 0;
  OVER if (!op_args_int(a, AT(axis), &axis)) return 0;
  if (list->kind != IR_ATTR_LIST) return (ir_ref)op_args_wrong(a, AT(pairs), list);
  size_t bytes = (2 * list->count + 1) * sizeof(int64_t);
  int64_t *pairs = ir_alloc(a->g->mem, bytes);
  if (!pairs) return ir_fail(a->g->error, IR_ERR_MEMORY, "%s: out of memory", a->who), 0;
  ir_ref made = read_pairs(a, list, pairs) ? op_ppermute(a->g, a->x[0], over, axis, pairs, list->count) : 0;
  ir_free(a->g->mem, pairs, bytes);
  return made;
}

OP_FORM(axis_index, OVER, op_axis_index(a->g, over))
OP_FORM(gather_all_axes, , op_replicated(a->g, a->who, a->x[0]))

ir_ref op_form_transfer_to(const op_args *a) {
  op_over to, device;
  return text_of(a, AT(to), &to) && text_of(a, AT(device), &device) ? op_transfer(a->g, a->x[0], to, device)
                                                                    : 0;
}

ir_ref op_form_distributed_broadcast(const op_args *a) {
  int64_t axis = 0;
  OVER if (!op_args_int(a, AT(axis), &axis)) return 0;
  if (a->at[AT(axis)]) return op_first_block(a->g, a->x[0], over, axis);
  if (over.text)
    return op_refuse(a->g, "%s: over without an axis; the first block of an axis is sent, or all of x",
                     a->who);
  return op_replicated(a->g, a->who, a->x[0]);
}
