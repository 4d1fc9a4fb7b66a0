/* Random graphs on meshes, with values for their inputs: of every operation, with control flow and its
 * derivatives, and single operations as they are, their derivatives, and in batches. */
#ifndef VIEWFOLD_TEST_LIB_MESH_CASE_H
#define VIEWFOLD_TEST_LIB_MESH_CASE_H

#include "frontend/api/api.h"
#include "ir/eval/eval.h"
#include "test/lib/random_graph.h"

enum { MESH_CASE_INPUTS = 8 };

/* How a single operation is used. */
typedef enum mesh_case_use {
  MESH_CASE_PLAIN,
  MESH_CASE_GRADIENT,
  MESH_CASE_DIRECTION,
  MESH_CASE_BATCH,
  MESH_CASE_USES
} mesh_case_use;
extern const char *const mesh_case_uses[MESH_CASE_USES];

typedef struct mesh_case {
  ir_graph *g; /* with a mesh and specs */
  ir_ref root; /* TUPLE; 0: the operation has no derivative */
  ir_binding_input inputs[MESH_CASE_INPUTS];
  ir_var_value vars[RANDOM_VARS];
  size_t input_count, var_count;
  bool near;   /* floats need not have the bits of one device */
  size_t kind; /* of control flow (random_control.h); which single operation */
  mesh_case_use use;
  ir_error error; /* why it could not be made */
  /* what it is made of */
  random_graph random;
  ir_graph single;
  vf_graph *recorded;
} mesh_case;

/* Make a case on one of `meshes`, a list that ends with NULL; the case must not move. Free it in any case.
 * False: it could not be made. */
bool mesh_case_of_graph(mesh_case *c, uint64_t seed, const char *const *meshes);
bool mesh_case_of_control(mesh_case *c, vf_context *context, uint64_t seed, const char *const *meshes);
bool mesh_case_of_row(mesh_case *c, uint64_t seed, const char *const *meshes);
size_t mesh_case_rows(void);            /* how many single operations there are */
const char *mesh_case_row(size_t kind); /* the text of one */
void mesh_case_free(mesh_case *c);
/* What is computed of y: a TUPLE; 0: it has no derivative. */
ir_ref mesh_case_roots(ir_graph *g, ir_ref y, const ir_ref *inputs, size_t count, mesh_case_use how);

/* Prints the graph to standard error. */
void mesh_case_show(const mesh_case *c);

/* Divides x along whole axes of the mesh, each of which divides a dimension, or none. */
void mesh_case_divide(ir_graph *g, uint64_t *state, ir_ref x);
const char *mesh_case_pick(uint64_t *state, const char *const *meshes);

#endif
