/* Custom operations: registered by name in a context, computed by a function of the user's.
 *
 * A call is a CUSTOM node. Its operands are tensors; behind them stands a TUPLE with the sizes of all
 * results, one after the other; its arg is an interned ir_custom_call. It has no value of its own: RESULT
 * takes each result. Equal calls are one node, so an operation is a function of its operands and attributes
 * alone. */
#ifndef VIEWFOLD_IR_CUSTOM_H
#define VIEWFOLD_IR_CUSTOM_H

#include "ir.h"

enum {
  IR_CUSTOM_NAME = 48,
  IR_CUSTOM_MAX = 16
}; /* bytes of a name with its NUL; operands, results, attributes */

/* What a call says besides its operands and sizes. All bytes count for identity, so what is unused is zero.
 */
typedef struct ir_custom_call {
  char name[IR_CUSTOM_NAME];
  uint32_t operands, results, attributes;
  uint32_t batch; /* leading axes of all operands and results: a call for each element of these */
  ir_value values[IR_CUSTOM_MAX];                      /* of the attributes */
  uint8_t dtypes[IR_CUSTOM_MAX], ranks[IR_CUSTOM_MAX]; /* of the results, batch axes included */
} ir_custom_call;

/* One array of a call, dense and row-major. */
typedef struct ir_custom_array {
  ir_dtype dtype;
  uint32_t rank;
  int64_t shape[IR_MAX_RANK];
  void *data; /* operands are only read */
} ir_custom_array;

typedef struct ir_custom_attribute {
  const char *name;
  ir_dtype dtype; /* BOOL, I64 or F64 */
  bool optional;
  ir_value value; /* where it is not given */
} ir_custom_attribute;

/* A registered operation; lives as long as its context. */
typedef struct ir_custom {
  const char *name;
  uint32_t operands, results, attribute_count;
  const ir_custom_attribute *attributes;
  /* Compute the results of one element of the batch. May be called from several threads at once. NULL: it is
   * recorded as other operations. */
  ir_status (*run)(const struct ir_custom *custom, const ir_custom_call *call,
                   const ir_custom_array *operands, const ir_custom_array *results, ir_error *error);
} ir_custom;

/* The operations of a context. */
typedef struct ir_customs {
  const ir_custom *(*find)(const struct ir_customs *customs, const char *name, size_t length); /* or NULL */
} ir_customs;

/* The node of a call of these operands. dims: of all results. 0 after failing. */
ir_ref ir_custom_make(ir_graph *graph, const ir_custom_call *call, const ir_ref *operands, const ir_ref *dims,
                      uint32_t dim_count);
const ir_custom_call *ir_custom_of(const ir_graph *graph, ir_ref custom,
                                   ir_custom_call *room); /* returns room */
/* Sizes of a result, as many as its rank; it has a RESULT of that type. */
const ir_ref *ir_custom_dims(const ir_graph *graph, ir_ref custom, const ir_custom_call *call,
                             uint32_t number);
ir_ref ir_custom_result(ir_graph *graph, ir_ref custom, const ir_custom_call *call, uint32_t number);
/* Can these bytes be a call of so many operands? */
bool ir_custom_is_call(const void *bytes, size_t size, uint32_t operands);

/* custom_run.c: the call for each element of its batch. Arrays have all axes. Fails with what the operation
 * says, or because `customs` has none of that name and form. */
ir_status ir_custom_run(const ir_customs *customs, const ir_custom_call *call,
                        const ir_custom_array *operands, const ir_custom_array *results, ir_error *error);
const ir_custom *ir_custom_find(const ir_customs *customs, const ir_custom_call *call, ir_error *error);

#endif
