/* A check of the sharding pass on data: the program of a device, evaluated on all devices of the mesh
 * (ir_eval_devices), against the graph evaluated whole. */
#ifndef VIEWFOLD_TEST_ON_MESH_H
#define VIEWFOLD_TEST_ON_MESH_H

#include "ir/eval/eval.h"
#include "passes/shard/shard.h"

typedef struct on_mesh {
  ir_graph *g; /* with a mesh and specs; the program is made in it */
  const ir_binding_input *inputs;
  const ir_var_value *vars;
  size_t input_count, var_count;
  bool near; /* floats need not have the same bits: within 1e-3 of the largest element, and 1e-5 */
  /* results */
  bool no_value; /* the graph has none, such as for an index out of range: nothing was checked */
  long devices, parts, exchanges, uneven; /* parts of results that were compared; variables of uneven sizes */
  long collectives; /* steps that move something: of one exchange there may be several */
  long settled;     /* sums of other bits than on one device: 0 where results have the bits of one device */
  char what[1200];  /* the error, "" if there is none */
} on_mesh;

/* roots: a TUPLE. False, with `what` set, where a device holds other elements than its part of the result.
 *
 * Parts of a sum are added up in another order than on one device, so it may have other bits, within the
 * bound of sums, and what is computed from it may differ by any amount: a zero has another sign, and its
 * quotients are other infinities. So where results differ, each such sum is compared within its bound with
 * what one device computes from the sums before it, and then results, bit for bit, with what one device
 * computes from these sums. */
bool on_mesh_check(on_mesh *c, ir_ref root);

/* on_mesh_sums.c: parts[device * stride + i] is what a device has of sum i. Leaves in inputs[] the sums, and
 * behind them the inputs of the check; *out is to be zeros, and freed in any case. */
typedef struct on_mesh_sums {
  ir_binding_input *inputs, *all;
  size_t count;
} on_mesh_sums;
bool on_mesh_settle(on_mesh *c, const shard_value *sums, size_t sum_count, const ir_eval_result *parts,
                    size_t stride, on_mesh_sums *out);
void on_mesh_sums_free(on_mesh_sums *sums, size_t input_count);
bool on_mesh_fail(on_mesh *c, const shard_value *v, int64_t device, const char *why);
int64_t on_mesh_element(const ir_box *box, const int64_t *shape, int64_t i);

#endif
