/* Sizes as data: index expressions of a graph's variables, as a list of operations in which each uses earlier
 * ones. What a plan keeps of its graph, evaluated in one pass when variables get values. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_VALUES_H
#define VIEWFOLD_RUNTIME_PROGRAM_VALUES_H

#include "ir/ir.h"

/* CONST: the number is b | c << 32. VAR: a is its place among the program's variables. Otherwise a, b, c are
 * numbers of earlier operations, as many as the operation takes. */
typedef struct rt_value {
  uint32_t op; /* ir_op */
  uint32_t a, b, c;
} rt_value;

/* Result of what overflowed or divided by less than 1, and of everything made of it. */
#define RT_NO_VALUE INT64_MIN

/* The operands that an operation takes here; -1 where it may not appear. */
int rt_value_operands(uint32_t op);

/* out[i] = value of list[i]. The list has been checked (rt_plan_read). */
void rt_values_evaluate(const rt_value *list, size_t count, const int64_t *vars, int64_t *out);

typedef struct rt_value_list {
  const ir_mem *mem;
  rt_value *ops;
  size_t count, cap;
  bool failed; /* memory was short: numbers are meaningless from then on */
} rt_value_list;

uint32_t rt_value_add(rt_value_list *list, ir_op op, uint32_t a, uint32_t b, uint32_t c);
uint32_t rt_value_number(rt_value_list *list, int64_t number);

/* Append what roots[0..n) need. number_of has one entry per ref of the graph: number + 1 of what is in the
 * list already, else 0; variables must be there. IR_ERR_INTERNAL for what is no expression of variables. */
ir_status rt_values_append(rt_value_list *list, const ir_graph *graph, const ir_ref *roots, size_t n,
                           uint32_t *number_of, ir_error *error);

#endif
