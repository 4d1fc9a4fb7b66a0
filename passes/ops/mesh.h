/* Operations of graphs that have a mesh. Values are those of one array, of which each device has a part
 * (ir/mesh/spec.h): the operations say who has which part, or permute and reduce parts as blocks of the
 * array. So their values do not depend on how an operand happens to be divided. */
#ifndef VIEWFOLD_PASSES_OPS_MESH_H
#define VIEWFOLD_PASSES_OPS_MESH_H

#include "ir/mesh/sharding.h"
#include "ops.h"

/* Axes of the mesh as the text of a spec of rank 1, `[x.y]`, the major first; NULL: as each operation says.
 */
typedef struct op_over {
  const char *text;
  size_t length;
} op_over;

/* build/shard.c. x, divided among the devices of the graph's mesh as the text of a spec says, `[x,-]`. */
ir_ref op_shard(ir_graph *g, ir_ref x, const char *spec, size_t length);
/* x, divided as the spec says that `like`, of its shape, was given, without a pending reduction; x itself
 * where that has no spec. */
ir_ref op_shard_like(ir_graph *g, ir_ref x, ir_ref like);

/* build/collective.c. Reads the axes; false after failing. NULL: none, and a rank of 0. */
bool op_over_spec(ir_graph *g, const char *who, op_over over, ir_spec *out);
/* x, with axes of the mesh taken from where they divide it or are pending; other axes stay.
 *   ALL_REDUCE      axes: none         over NULL: all that is pending
 *   ALL_GATHER      axes: {axis}       over NULL: all that divides the axis
 *   REDUCE_SCATTER  axes: {axis}       over NULL: all that is pending; it divides the axis then, as the minor
 *   ALL_TO_ALL      axes: {to, from}   over NULL: all that divides `from`; it divides `to` then, as the minor
 */
ir_ref op_collective(ir_graph *g, ir_op op, ir_ref x, op_over over, const int64_t *axes, size_t n);

/* compose/collective.c. The parts of an axis along the axes of the mesh are blocks of equal size, in the
 * order of the devices. */
/* By the words of op_rearrange_reductions; IR_OP_ERROR where there is none. */
extern const ir_op op_block_reductions[];
/* The blocks, combined element by element by SUM PROD MEAN REDUCE_MAX REDUCE_MIN ANY ALL; all devices have
 * the result. */
ir_ref op_reduce_blocks(ir_graph *g, ir_op by, ir_ref x, op_over over, int64_t axis);
/* x, with all that is pending along `over` (NULL: all axes of the mesh) carried out, divided by their number
 * of devices. */
ir_ref op_pmean(ir_graph *g, ir_ref x, op_over over);
/* Block pairs[2 i + 1] of the result is block pairs[2 i] of x; others are 0. */
ir_ref op_ppermute(ir_graph *g, ir_ref x, op_over over, int64_t axis, const int64_t *pairs, size_t n);
/* ALL_TO_ALL whose blocks of `from` become an axis in front of it. */
ir_ref op_all_to_all_stacked(ir_graph *g, ir_ref x, op_over over, int64_t to, int64_t from);
/* 0, 1, ... i32, of which each device along the axes has its own. */
ir_ref op_axis_index(ir_graph *g, op_over over);
/* x, all of it on every device. */
ir_ref op_replicated(ir_graph *g, const char *who, ir_ref x);
/* x where it is asked for: divided as `to` says, or all of it on that device of the mesh, and so on every
 * device, since all run one program; on the program's own device where both texts are NULL. */
ir_ref op_transfer(ir_graph *g, ir_ref x, op_over to, op_over device);
/* The first block, on every device. */
ir_ref op_first_block(ir_graph *g, ir_ref x, op_over over, int64_t axis);

#endif
