/* Calls of cumulative and sorting operations from operands and attributes. */
#include "args.h"

OP_FORM(cumulative, OP_INT(axis, 0) OP_BOOL(exclusive, false) OP_BOOL(reverse, false),
        op_cumulative(a->g, a->op, a->x[0], axis, exclusive, reverse))
OP_FORM(sort, OP_INT(axis, -1) OP_BOOL(descending, false), op_sort(a->g, a->op, a->x[0], axis, descending))
OP_FORM(topk, OP_INT(k, 0) OP_INT(axis, -1) OP_BOOL(largest, true), op_topk(a->g, a->x[0], k, axis, largest))
