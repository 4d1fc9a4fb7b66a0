/* The folder runtime/native. C functions that a user supplies.
 *
 *   in      a signature and an address, a library or source text
 *   out     calls that pass values as the signature says
 *   holds   each library is loaded separately, whatever else is loaded */

/* Calling a C function of any signature, through libffi.
 *
 * A signature says what the function returns and takes, such as `int(in0, out0, i64 in0.count, f32 factor,
 * user, message)`:
 *
 *   void, int        what it returns; an int other than 0 is a failure
 *   in0, out0        const pointer to the elements of operand 0; pointer to those of result 0
 *   TYPE in0         the same of an operand that must have this dtype; likewise out0
 *   TYPE in0[1]      size of axis 1 of operand 0; likewise out0[1]
 *   TYPE in0.count   number of its elements; in0.rank: number of its axes
 *   in0.shape        const int64_t pointer to its sizes
 *   TYPE name        the attribute of that name
 *   user             void pointer, given when the operation was registered
 *   message          char pointer to RT_NATIVE_MESSAGE bytes, for the reason of a failure
 *
 * TYPE is an integer dtype, bool, f32 or f64, or a C type: char short int long size_t float double. */
#ifndef VIEWFOLD_RUNTIME_NATIVE_NATIVE_H
#define VIEWFOLD_RUNTIME_NATIVE_NATIVE_H

#include <ffi.h>

#include "ir/custom.h"

enum { RT_NATIVE_PARAMS = 32, RT_NATIVE_MESSAGE = 256 };

typedef enum rt_native_kind {
  RT_NATIVE_DATA,
  RT_NATIVE_SIZE,
  RT_NATIVE_COUNT,
  RT_NATIVE_RANK,
  RT_NATIVE_SHAPE,
  RT_NATIVE_ATTRIBUTE,
  RT_NATIVE_USER,
  RT_NATIVE_MESSAGE_AT
} rt_native_kind;

typedef struct rt_native_param {
  uint8_t kind, dtype; /* rt_native_kind; ir_dtype of a parameter passed by value, or of DATA; IR_NONE: any */
  uint8_t from;        /* of an ATTRIBUTE: the dtype of its stored value, I64, F64 or BOOL */
  bool result;         /* refers to a result, not an operand */
  uint32_t number, axis; /* index of the operand, result or attribute */
} rt_native_param;

typedef struct rt_native {
  rt_native_param params[RT_NATIVE_PARAMS];
  ffi_type *types[RT_NATIVE_PARAMS];
  uint32_t count;
  bool reports; /* returns an int, the status */
  ffi_cif cif;
} rt_native;

/* Parse the signature of an operation. *out must stay at its address as long as it is used. */
ir_status rt_native_read(const ir_custom *custom, const char *signature, rt_native *out, ir_error *error);
/* Do arrays of these ranks have the axes that the signature refers to, and the dtypes that it says? */
bool rt_native_fits(const rt_native *native, const char *name, const ir_dtype *operand_dtypes,
                    const uint32_t *operand_ranks, const ir_dtype *result_dtypes,
                    const uint32_t *result_ranks, ir_error *error);
ir_status rt_native_call(const rt_native *native, void (*function)(void), const char *name, void *user,
                         const ir_custom_call *call, const ir_custom_array *operands,
                         const ir_custom_array *results, ir_error *error);

/* The value of a numeric parameter, stored in the format of its dtype. IR_ERR_INVALID: it does not fit. */
ir_status rt_native_number(const rt_native_param *param, const char *name, const ir_custom_call *call,
                           const ir_custom_array *operands, const ir_custom_array *results, uint8_t bytes[8],
                           ir_error *error);

#endif
