/* Calls of convolutions and pooling from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#include <stddef.h>

#define AT(name) OP_ATTR_##name

static int64_t *field(op_window *w, size_t offset) { return (int64_t *)((char *)w + offset); }

static bool whole(const op_args *a, int attr, const ir_attr *item, int64_t *out) {
  return (item->kind == IR_ATTR_EXPR && item->expr && ir_is_const(a->g, item->expr, out)) ||
         op_args_wrong(a, attr, item);
}

/* Reads one number for all axes, or a list with one per axis; false after failing. */
static bool read_per_axis(const op_args *a, int attr, op_window *w, size_t axes, size_t offset) {
  const ir_attr *v = a->at[attr];
  if (!v) return true;
  if (v->kind == IR_ATTR_LIST && v->count != axes) {
    op_refuse(a->g, "%s: a list of %zu is given for %zu spatial ax%s; x has rank %u; each axis takes one",
              a->who, v->count, axes, axes == 1 ? "is" : "es", ir_rank(a->g, a->x[0]));
    return false;
  }
  for (size_t i = 0; i < axes; i++)
    if (!whole(a, attr, v->kind == IR_ATTR_LIST ? &v->items[i] : v, field(&w[i], offset))) return false;
  return true;
}

/* As read_per_axis, where an entry may also be a pair. */
static bool padding(const op_args *a, op_window *w, size_t axes) {
  const ir_attr *v = a->at[AT(padding)];
  ir_attr singles[IR_MAX_RANK];
  op_args part = *a;
  if (!v) return true;
  for (int side = 0; side < 2; side++) {
    ir_attr list = *v;
    bool pairs = v->kind == IR_ATTR_LIST && v->count <= IR_MAX_RANK;
    for (size_t i = 0; pairs && i < v->count; i++) {
      const ir_attr *item = &v->items[i];
      if (item->kind == IR_ATTR_LIST && item->count != 2) return op_args_wrong(a, AT(padding), item);
      singles[i] = item->kind == IR_ATTR_LIST ? item->items[side] : *item;
    }
    if (pairs) list.items = singles;
    part.at[AT(padding)] = &list;
    if (!read_per_axis(&part, AT(padding), w, axes,
                       side ? offsetof(op_window, after) : offsetof(op_window, before)))
      return false;
  }
  return true;
}

static bool windows(const op_args *a, op_window *w, size_t axes) {
  for (size_t i = 0; i < axes; i++) w[i] = (op_window){.extent = 1, .stride = 1, .dilation = 1};
  if (!read_per_axis(a, AT(kernel), w, axes, offsetof(op_window, extent))) return false;
  for (size_t i = 0; i < axes && a->at[AT(kernel)]; i++)
    w[i].stride = w[i].extent; /* pooling: adjacent windows */
  return read_per_axis(a, AT(stride), w, axes, offsetof(op_window, stride)) && padding(a, w, axes) &&
         read_per_axis(a, AT(output_padding), w, axes, offsetof(op_window, extra)) &&
         read_per_axis(a, AT(dilation), w, axes, offsetof(op_window, dilation));
}

/* The number of axes of x except batch and channels. */
static size_t spatial(const op_args *a) {
  uint32_t rank = ir_shape(a->g, a->x[0]) ? ir_rank(a->g, a->x[0]) : 0;
  return rank > 2 ? rank - 2 : 0;
}

ir_ref op_form_conv(const op_args *a) {
  static const char *const precisions[] = {"exact", "relaxed"};
  op_window w[IR_MAX_RANK];
  int64_t groups = 1;
  int relaxed = a->g->relaxed;
  size_t axes = spatial(a);
  if (!windows(a, w, axes) || !op_args_int(a, AT(groups), &groups) ||
      !op_args_choice(a, AT(precision), precisions, 2, &relaxed))
    return 0;
  return op_conv_within(a->g, a->x, a->n, w, axes, groups, relaxed);
}

ir_ref op_form_conv_transpose(const op_args *a) {
  op_window w[IR_MAX_RANK];
  int64_t groups = 1;
  size_t axes = spatial(a);
  if (!windows(a, w, axes) || !op_args_int(a, AT(groups), &groups)) return 0;
  return op_conv_transpose(a->g, a->x, a->n, w, axes, groups);
}

/* The number of axes that the kernel lists. */
static size_t pooled(const op_args *a) {
  const ir_attr *kernel = a->at[AT(kernel)];
  if (kernel->kind != IR_ATTR_LIST) return spatial(a);
  return kernel->count <= IR_MAX_RANK ? kernel->count : IR_MAX_RANK;
}

ir_ref op_form_max_pool(const op_args *a) {
  op_window w[IR_MAX_RANK];
  size_t axes = pooled(a);
  return windows(a, w, axes) ? op_max_pool(a->g, a->x[0], w, axes) : 0;
}

ir_ref op_form_avg_pool(const op_args *a) {
  op_window w[IR_MAX_RANK];
  bool count_pads = true;
  size_t axes = pooled(a);
  if (!windows(a, w, axes) || !op_args_bool(a, AT(count_pads), &count_pads)) return 0;
  return op_avg_pool(a->g, a->x[0], w, axes, count_pads);
}
