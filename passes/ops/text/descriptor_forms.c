/* Calls of the builders of index descriptors, and of views that are made with them. */
#include "args.h"
#include "passes/ops/compose/descriptor.h"

#define AT(name) OP_ATTR_##name

/* One entry for each descriptor. */
static bool list_of(const op_args *a, int attr, const char *name, op_list *list) {
  if (!a->at[attr]) return true;
  if (!op_args_list(a, attr, list)) return false;
  if (list->n == a->n - 1) return true;
  op_refuse(a->g, "%s: %s lists %zu numbers for %zu descriptors; each takes one", a->who, name, list->n,
            a->n - 1);
  return false;
}

ir_ref op_form_create_view(const op_args *a) {
  op_descriptor d[OP_INDEX_MOST];
  op_list kinds = {.n = 0}, lengths = {.n = 0};
  if (a->n - 1 > OP_INDEX_MOST)
    return op_refuse(a->g, "%s: %zu descriptors given; takes at most %d", a->who, a->n - 1, OP_INDEX_MOST);
  if (!list_of(a, AT(kinds), "kinds", &kinds) || !list_of(a, AT(lengths), "lengths", &lengths)) return 0;
  for (size_t i = 0; i + 1 < a->n; i++) {
    int64_t kind = OP_INDEX_READ;
    d[i] = (op_descriptor){.value = a->x[i + 1], .length = lengths.n ? lengths.items[i] : 0};
    if (kinds.n &&
        (!ir_is_const(a->g, kinds.items[i], &kind) || kind < OP_INDEX_READ || kind >= OP_INDEX_KINDS))
      return op_args_wrong(a, AT(kinds), &a->at[AT(kinds)]->items[i]);
    d[i].kind = (int)kind;
  }
  return op_create_view(a->g, a->x[0], d, a->n - 1);
}

OP_FORM(index_point, , op_index_point(a->g, a->x[0]))
OP_FORM(index_interval, , op_index_interval(a->g, a->x[0], a->x[1], a->x[2], a->x[3]))
OP_FORM(index_window, OP_INT(length, 0) OP_INT(stride, 1), op_index_window(a->g, a->x[0], length, stride))
OP_FORM(index_all, , op_index_all(a->g))
OP_FORM(index_new_axis, , op_index_new_axis(a->g))
