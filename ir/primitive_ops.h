/* The elementwise operations that reach an emitter, by the number of their operands and the kind of dtype
 * that they compute in: an enum for each, made from the rows PRIMITIVE and MIXED of ops.def. A switch over
 * one of them without a default does not compile where an operation is missing.
 *
 *   in      ops.def: the macro, the class and the dtype rule of each row
 *   out     IR_FLOAT_x, IR_INT_x, IR_BOOL_x, IR_COMPARE_x, IR_TERNARY_x, equal to IR_OP_x; IR_COMPARISONS
 *   holds   operations on values of dtype index are those on integers; CAST and BITCAST, which have rows of
 *           their own kind, are in none */
#ifndef VIEWFOLD_IR_PRIMITIVE_OPS_H
#define VIEWFOLD_IR_PRIMITIVE_OPS_H

#include "ir.h"

/* IN_kind_rule(x): x where operations with that dtype rule compute in the kind, else nothing. DIV and FMA of
 * integers are computed in floats, so that the rules FLOAT and FLOAT_ONLY are of floats alone. */
#define IN_FLOAT_NUMBER(...)     __VA_ARGS__
#define IN_FLOAT_ROUND(...)      __VA_ARGS__
#define IN_FLOAT_FLOAT(...)      __VA_ARGS__
#define IN_FLOAT_FLOAT_ONLY(...) __VA_ARGS__
#define IN_FLOAT_BITS(...)
#define IN_FLOAT_INTEGER(...)
#define IN_FLOAT_PROMOTED(...) __VA_ARGS__
#define IN_FLOAT_COMPARE(...)
#define IN_FLOAT_BRANCHES(...)
#define IN_INT_NUMBER(...) __VA_ARGS__
#define IN_INT_ROUND(...)  __VA_ARGS__
#define IN_INT_FLOAT(...)
#define IN_INT_FLOAT_ONLY(...)
#define IN_INT_BITS(...)     __VA_ARGS__
#define IN_INT_INTEGER(...)  __VA_ARGS__
#define IN_INT_PROMOTED(...) __VA_ARGS__
#define IN_INT_COMPARE(...)
#define IN_INT_BRANCHES(...)
#define IN_BOOL_NUMBER(...)
#define IN_BOOL_ROUND(...)
#define IN_BOOL_FLOAT(...)
#define IN_BOOL_FLOAT_ONLY(...)
#define IN_BOOL_BITS(...) __VA_ARGS__
#define IN_BOOL_INTEGER(...)
#define IN_BOOL_PROMOTED(...) __VA_ARGS__
#define IN_BOOL_COMPARE(...)
#define IN_BOOL_BRANCHES(...)
/* OF_number_class(x): x where the class has that number of operands */
#define OF_1_UNARY(...) __VA_ARGS__
#define OF_1_BINARY(...)
#define OF_1_COMPARE(...)
#define OF_1_TERNARY(...)
#define OF_2_UNARY(...)
#define OF_2_BINARY(...) __VA_ARGS__
#define OF_2_COMPARE(...)
#define OF_2_TERNARY(...)

/* IS_class_class(x): x where both classes are the same */
#define IS_COMPARE_UNARY(...)
#define IS_COMPARE_BINARY(...)
#define IS_COMPARE_COMPARE(...) __VA_ARGS__
#define IS_COMPARE_TERNARY(...)
#define IS_TERNARY_UNARY(...)
#define IS_TERNARY_BINARY(...)
#define IS_TERNARY_COMPARE(...)
#define IS_TERNARY_TERNARY(...) __VA_ARGS__

#define ENUMERATORS_OF(count, kind, op, cls, dtype)                                                          \
  OF_##count##_##cls(IN_##kind##_##dtype(IR_##kind##_##op = IR_OP_##op, ))

typedef enum ir_float_unary {
#define PRIMITIVE(op, name, api, cls, text, infix, precedence, dtype, ...)                                   \
  ENUMERATORS_OF(1, FLOAT, op, cls, dtype)
#include "ops.def"
} ir_float_unary;

/* Of MIXED operations emitters see only those on integers. */
typedef enum ir_float_binary {
#define PRIMITIVE(op, name, api, cls, text, infix, precedence, dtype, ...)                                   \
  ENUMERATORS_OF(2, FLOAT, op, cls, dtype)
#include "ops.def"
} ir_float_binary;

/* On floats: the evaluator computes them, emitters get their expansions. */
typedef enum ir_mixed_binary {
#define MIXED(op, name, api, cls, text, infix, precedence, dtype, ...)                                       \
  ENUMERATORS_OF(2, FLOAT, op, cls, dtype)
#include "ops.def"
} ir_mixed_binary;

typedef enum ir_int_unary {
#define PRIMITIVE(op, name, api, cls, text, infix, precedence, dtype, ...)                                   \
  ENUMERATORS_OF(1, INT, op, cls, dtype)
#define MIXED PRIMITIVE
#include "ops.def"
} ir_int_unary;

typedef enum ir_int_binary {
#define PRIMITIVE(op, name, api, cls, text, infix, precedence, dtype, ...)                                   \
  ENUMERATORS_OF(2, INT, op, cls, dtype)
#define MIXED PRIMITIVE
#include "ops.def"
} ir_int_binary;

typedef enum ir_bool_binary {
#define PRIMITIVE(op, name, api, cls, text, infix, precedence, dtype, ...)                                   \
  ENUMERATORS_OF(2, BOOL, op, cls, dtype)
#include "ops.def"
} ir_bool_binary;

typedef enum ir_comparison {
#define PRIMITIVE(op, name, api, cls, ...) IS_COMPARE_##cls(IR_COMPARE_##op = IR_OP_##op, )
#include "ops.def"
} ir_comparison;

/* Their number, for tables indexed by op - IR_OP_EQ. */
enum {
  IR_COMPARISONS = 0
#define PRIMITIVE(op, name, api, cls, ...) IS_COMPARE_##cls(+1)
#include "ops.def"
};

typedef enum ir_ternary {
#define PRIMITIVE(op, name, api, cls, ...) IS_TERNARY_##cls(IR_TERNARY_##op = IR_OP_##op, )
#include "ops.def"
} ir_ternary;

#undef ENUMERATORS_OF

/* The operation that a sum, a difference or a product of truth values is. */
static inline ir_op ir_op_on_bool(ir_op op) {
  return op == IR_OP_ADD ? IR_OP_OR : op == IR_OP_SUB ? IR_OP_XOR : op == IR_OP_MUL ? IR_OP_AND : op;
}

#endif
