/* One elementwise operation on arrays, computed by the reference evaluator. Every error fails the running
 * cmocka test. */
#ifndef VIEWFOLD_TEST_OPERATION_H
#define VIEWFOLD_TEST_OPERATION_H

#include "ir/eval/eval.h"

typedef struct operation {
  ir_graph g;
  ir_error error;
  ir_ref input[2], root;
  ir_dtype type; /* of the operands */
} operation;
/* Of `count` elements; expanded: in primitive operations. Freed when the running test ends. */
operation *operation_start(ir_op op, ir_dtype type, int64_t count, bool expanded);
void operation_run(operation *o, const void *x, const void *y, void *out);

#endif
