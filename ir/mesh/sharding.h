/* How the values of a graph are divided among the devices of its mesh: a spec (spec.h) for some of its
 * values, kept in a side table. It is no part of a node's identity and changes no value. The operation SHARD
 * is the same as a node of its own, which passes keep; collectives say what changes in a spec. A graph
 * without a mesh has no table.
 *
 * A spec has one entry for each axis of the value's shape; of its batch axes it says nothing. */
#ifndef VIEWFOLD_IR_MESH_SHARDING_H
#define VIEWFOLD_IR_MESH_SHARDING_H

#include "spec.h"

typedef struct ir_sharding {
  ir_mesh mesh;
  ir_spec *specs;
  size_t spec_count, spec_cap;
  uint32_t *of; /* by node: the number of its spec, from 1; 0: none */
  size_t of_cap;
} ir_sharding;

const ir_mesh *ir_graph_mesh(const ir_graph *graph); /* NULL: there is none */
/* The mesh is copied. Specs that the graph has stay: the axes that they name must be those of the mesh, which
 * the caller guarantees. False when memory is short. */
bool ir_graph_set_mesh(ir_graph *graph, const ir_mesh *mesh);
/* The spec that the value was given; NULL: none. Valid until another one is given. */
const ir_spec *ir_spec_of(const ir_graph *graph, ir_ref ref);
/* Gives the value a spec, in place of what it had. The graph has a mesh. False when memory is short. */
bool ir_set_spec(ir_graph *graph, ir_ref ref, const ir_spec *spec);
/* Is the operation its operand, divided in a certain way? */
static inline bool ir_only_divides(ir_op op) {
  return op == IR_OP_SHARD || op == IR_OP_ALL_REDUCE || op == IR_OP_ALL_GATHER ||
         op == IR_OP_REDUCE_SCATTER || op == IR_OP_ALL_TO_ALL;
}
/* The spec that the arg of such a node is the text of. */
bool ir_shard_spec(const ir_graph *graph, ir_ref node, ir_spec *out);
/* The mesh and the specs of what was copied; map: by node of src, its copy or 0. False when memory is
 * short. */
bool ir_sharding_copy(ir_graph *dst, const ir_graph *src, const ir_ref *map, size_t count);
void ir_sharding_drop(ir_graph *graph, ir_ref ref); /* the node is removed */
void ir_sharding_forget(ir_graph *graph);           /* the mesh and all specs */

#endif
