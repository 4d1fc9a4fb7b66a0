/* The mesh that the programs of a jit run on, and how it divides their inputs. */
#ifndef VIEWFOLD_FRONTEND_SESSION_JIT_MESH_H
#define VIEWFOLD_FRONTEND_SESSION_JIT_MESH_H

#include "frontend/api/mesh/mesh.h"
#include "ir/mesh/spec.h"

typedef struct fe_jit_mesh {
  const ir_mem *mem; /* NULL: there is no mesh */
  ir_mesh mesh;
  ir_spec *specs; /* by input */
  bool *given;    /* by input: has it a spec? */
  int inputs;
  unsigned flags; /* of vf_compile_on */
} fe_jit_mesh;

/* specs: one text for each input, NULL for one without; the list may be NULL. Nothing to free after failing.
 */
ir_status fe_jit_mesh_make(const vf_mesh *mesh, const char *const *specs, int inputs, unsigned flags,
                           const ir_mem *mem, fe_jit_mesh *out, ir_error *error);
void fe_jit_mesh_free(fe_jit_mesh *mesh);
/* Gives the graph the mesh; failures are the graph's error. Nothing without a mesh. */
void fe_jit_mesh_begin(const fe_jit_mesh *mesh, vf_graph *graph);
/* Gives input number `input` of the jit its spec, if it has one; failures are the graph's error. */
void fe_jit_mesh_divide(const fe_jit_mesh *mesh, const char *jit, vf_graph *graph, int input, vf_value value);

#endif
