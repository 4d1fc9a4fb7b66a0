/* A check of the sharding pass on data: the program of a device, evaluated on all devices of the mesh
 * (ir_eval_devices), against the graph evaluated whole. */
#ifndef VIEWFOLD_TEST_ON_MESH_H
#define VIEWFOLD_TEST_ON_MESH_H

#include "ir/eval/eval.h"

typedef struct on_mesh {
  ir_graph *g; /* with a mesh and specs; the program is made in it */
  const ir_binding_input *inputs;
  const ir_var_value *vars;
  size_t input_count, var_count;
  bool near; /* floats need not have the same bits: within 1e-3 of the largest element, and 1e-5 */
  /* results */
  bool no_value; /* the graph has none, such as for an index out of range: nothing was checked */
  long devices, parts, exchanges, uneven; /* parts of results that were compared; variables of uneven sizes */
  long signs;      /* elements that differ in the sign of a zero, or of an infinity that a zero made */
  char what[1200]; /* the error, "" if there is none */
} on_mesh;

/* roots: a TUPLE. False, with `what` set, where a device holds other elements than its part of the result. */
bool on_mesh_check(on_mesh *c, ir_ref root);

#endif
