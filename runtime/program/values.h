/* Sizes as data: index expressions over the variables of a graph, as a list of operations, each of which uses
 * results of earlier ones. A plan contains such a list; it is evaluated in one pass when the variables have
 * values. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_VALUES_H
#define VIEWFOLD_RUNTIME_PROGRAM_VALUES_H

#include "ir/ir.h"

/* CONST: the number is b | c << 32. VAR: a is the index of the variable in the program. Otherwise a, b and c
 * are the list indices of the operands, as many as the operation has. */
typedef struct rt_value {
  uint32_t op; /* ir_op */
  uint32_t a, b, c;
} rt_value;

/* The result of an operation that overflows or divides by less than 1, and of every operation that uses such
 * a result. */
#define RT_NO_VALUE INT64_MIN

/* The number of operands of an operation in such a list; -1 where it may not appear. */
int rt_value_operands(uint32_t op);

/* Computes out[i] = value of list[i]. The list must have been checked (rt_plan_read). */
void rt_values_evaluate(const rt_value *list, size_t count, const int64_t *vars, int64_t *out);

typedef struct rt_value_list {
  const ir_mem *mem;
  rt_value *ops;
  size_t count, cap;
  bool failed; /* memory was short: all indices returned since are meaningless */
} rt_value_list;

/* Append one operation, whose operands are as in rt_value, or a number. They return its index in the list; 0,
 * with list->failed set, when memory is short. The owner of the list frees ops, of `cap` elements, with
 * list->mem. */
uint32_t rt_value_add(rt_value_list *list, ir_op op, uint32_t a, uint32_t b, uint32_t c);
uint32_t rt_value_number(rt_value_list *list, int64_t number);

/* Append the expressions roots[0..n) and all that they use. number_of has an entry for each ref of the graph:
 * its index in the list + 1, or 0 if it is not in the list; variables must be in the list. IR_ERR_INTERNAL
 * where a node is no index arithmetic. */
ir_status rt_values_append(rt_value_list *list, const ir_graph *graph, const ir_ref *roots, size_t n,
                           uint32_t *number_of, ir_error *error);

#endif
