/* One given way to divide an operation, for whoever compares such ways (passes/autoshard). */
#ifndef VIEWFOLD_PASSES_SHARD_STRATEGY_H
#define VIEWFOLD_PASSES_SHARD_STRATEGY_H

#include "ir/mesh/sharding.h"
#include "passes/ops/sharding/sharding.h"

/* In place of the factor that an axis of the mesh divides. */
enum {
  SHARD_NOWHERE = -1, /* no number of a factor: devices along the axis do the same */
  SHARD_LATE = -2     /* nor is this one: operands stay pending along it, and so does the result */
};

typedef struct shard_strategy {
  int8_t factor_of[IR_MESH_AXES]; /* by axis of the mesh: the factor that it divides, or one of the above */
  uint32_t late;                  /* operands that are pending along the axes that are SHARD_LATE, as bits */
} shard_strategy;

/* The specs that operands have to have, and that of the result, which is pending along contracted factors.
 * False where the operation cannot be divided like that, or after failing (g->error). */
bool shard_strategy_specs(ir_graph *g, ir_ref node, const op_sharding *rule, const shard_strategy *strategy,
                          ir_spec *operands, ir_spec *result);

/* parts.c: the spec without an axis, and with one that is whole. */
void shard_drop_axis(const ir_spec *spec, uint32_t axis, ir_spec *out);
void shard_insert_axis(const ir_spec *spec, uint32_t axis, ir_spec *out);

/* The spec that a collective, whose operand has the spec `from`, leaves. False where it cannot be done, or
 * after failing. */
bool shard_strategy_collective(ir_graph *g, ir_ref node, const ir_spec *from, ir_spec *result);

#endif
