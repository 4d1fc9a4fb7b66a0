/* The folder runtime/native. C functions of the user's.
 *
 *   in      a signature and an address, a library or source text
 *   out     calls with values as the signature says
 *   holds   a library is loaded by itself, whatever else is loaded */

/* Calling a C function of any signature, through libffi.
 *
 * A signature is what the function returns and takes, such as `int(in0, out0, i64 in0.count, f32 factor,
 * user, message)`: void, int       what it returns; an int other than 0 is a failure in0, out0       const
 * pointer to the elements of operand 0, pointer to those of result 0 TYPE in0[1]     size of axis 1 of
 * operand 0; likewise out0[1] TYPE in0.count  how many elements; in0.rank how many axes in0.shape       const
 * int64_t pointer to its sizes TYPE name       the attribute of that name user            void pointer, the
 * one of the registration message         char pointer to RT_NATIVE_MESSAGE bytes, for the reason of a
 * failure TYPE is a dtype of integers, bool, f32 or f64, or as C has them: char short int long size_t float
 * double. */
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
  uint8_t kind, dtype;   /* rt_native_kind, ir_dtype of what is passed by value */
  uint8_t from;          /* ATTRIBUTE: how its value is held, I64, F64 or BOOL */
  bool result;           /* of a result, not an operand */
  uint32_t number, axis; /* of operand, result or attribute */
} rt_native_param;

typedef struct rt_native {
  rt_native_param params[RT_NATIVE_PARAMS];
  ffi_type *types[RT_NATIVE_PARAMS];
  uint32_t count;
  bool reports; /* returns an int */
  ffi_cif cif;
} rt_native;

/* Read a signature for an operation; out stays in place as long as it is used. */
ir_status rt_native_read(const ir_custom *custom, const char *signature, rt_native *out, ir_error *error);
/* Do arrays of these ranks have the axes that the signature asks for? */
bool rt_native_fits(const rt_native *native, const char *name, const uint32_t *operand_ranks,
                    const uint32_t *result_ranks, ir_error *error);
ir_status rt_native_call(const rt_native *native, void (*function)(void), const char *name, void *user,
                         const ir_custom_call *call, const ir_custom_array *operands,
                         const ir_custom_array *results, ir_error *error);

/* The value of a parameter that is a number, as its dtype is stored. IR_ERR_INVALID: it does not fit. */
ir_status rt_native_number(const rt_native_param *param, const char *name, const ir_custom_call *call,
                           const ir_custom_array *operands, const ir_custom_array *results, uint8_t bytes[8],
                           ir_error *error);

#endif
