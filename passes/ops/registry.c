/* The registry as a table by operation. */
#include "ops.h"

const op_row op_registry[IR_OP_COUNT] = {
#define ROW(name, kind, dtype, shape) [IR_OP_##name] = {OP_KIND_##kind, OP_DTYPE_##dtype, OP_SHAPE_##shape},
#include "registry.def"
#undef ROW
};
