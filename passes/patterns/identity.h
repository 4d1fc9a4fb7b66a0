/* Neutral elements of the operations that reductions combine by. */
#ifndef VIEWFOLD_PASSES_PATTERNS_IDENTITY_H
#define VIEWFOLD_PASSES_PATTERNS_IDENTITY_H

#include "ir/ir.h"

/* The neutral element of ADD, MUL, MAX, MIN, AND or OR in the dtype. */
ir_ref pass_identity(ir_graph *g, ir_op op, ir_dtype t);

#endif
