/* Custom operations: registered by name in a context and computed by a function that the user supplies.
 *
 * A call is a CUSTOM node. Its operands are tensors; after them comes a TUPLE with the sizes of all results,
 * one result after the other; its arg is an interned ir_custom_call. It has no value of its own: RESULT nodes
 * select its results. Equal calls are one node, so an operation must be a function of its operands and
 * attributes alone. */
#ifndef VIEWFOLD_IR_CUSTOM_H
#define VIEWFOLD_IR_CUSTOM_H

#include "ir.h"

enum {
  IR_CUSTOM_NAME = 48,
  IR_CUSTOM_MAX = 16
}; /* bytes of a name with its NUL; operands, results, attributes */

enum { IR_CUSTOM_TEXT = 8 * IR_CUSTOM_MAX }; /* bytes of a text attribute with its NUL, if it is the first */

/* A call without its operands and sizes. All bytes count for identity, so unused ones are zero. */
typedef struct ir_custom_call {
  char name[IR_CUSTOM_NAME];
  uint32_t operands, results, attributes;
  uint32_t batch; /* number of leading batch axes; the operation runs once per element of these */
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
  ir_dtype dtype; /* BOOL, I64 or F64; NONE: a text, which ends with NUL and takes all values from here on */
  bool optional;
  ir_value value; /* default of an optional one */
} ir_custom_attribute;

/* A registered operation; lives as long as its context. */
typedef struct ir_custom {
  const char *name;
  uint32_t operands, results, attribute_count;
  const ir_custom_attribute *attributes;
  bool effect; /* it does more than compute: it is no value that a loop computes once for all iterations */
  bool whole;  /* it runs once for all elements of the batch, with the batch axes in front */
  /* Computes the results for one element of the batch. May be called from several threads at once. NULL: the
   * operation is a composition, which is recorded as the operations that it consists of. */
  ir_status (*run)(const struct ir_custom *custom, const ir_custom_call *call,
                   const ir_custom_array *operands, const ir_custom_array *results, ir_error *error);
} ir_custom;

/* The operations of a context. */
typedef struct ir_customs {
  const ir_custom *(*find)(const struct ir_customs *customs, const char *name, size_t length); /* or NULL */
} ir_customs;

/* The node of a call with these operands. dims: the sizes of all results. 0 on failure. */
ir_ref ir_custom_make(ir_graph *graph, const ir_custom_call *call, const ir_ref *operands, const ir_ref *dims,
                      uint32_t dim_count);
const ir_custom_call *ir_custom_of(const ir_graph *graph, ir_ref custom,
                                   ir_custom_call *room); /* copied to *room */
/* The sizes of a result, as many as its rank; ir_custom_result makes the RESULT node of that type. */
const ir_ref *ir_custom_dims(const ir_graph *graph, ir_ref custom, const ir_custom_call *call,
                             uint32_t number);
ir_ref ir_custom_result(ir_graph *graph, ir_ref custom, const ir_custom_call *call, uint32_t number);
/* Has the operation of this CUSTOM node, or of the one that this RESULT is of, an effect? */
bool ir_custom_has_effect(const ir_graph *graph, ir_ref node);
/* The text that begins at value number `at` of the attributes. */
const char *ir_custom_text(const ir_custom_call *call, uint32_t at);
/* Can these bytes be an ir_custom_call with that many operands? */
bool ir_custom_is_call(const void *bytes, size_t size, uint32_t operands);

/* custom_run.c: runs a call for each element of its batch. Arrays have all axes, the batch axes included.
 * Fails with the operation's own message, or when `customs` has no operation of that name, operand, result
 * and attribute count. */
ir_status ir_custom_run(const ir_customs *customs, const ir_custom_call *call,
                        const ir_custom_array *operands, const ir_custom_array *results, ir_error *error);

#endif
