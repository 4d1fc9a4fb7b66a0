#include "frontend/api/handle.h"

const char *fe_not(const void *handle, fe_kind kind) {
  static const char *const names[] = {"a context", "a graph", "a program", "a tensor",
                                      "a jit",     "a mesh",  "destroyed"};
  static const char *const nulls[] = {
      "NULL, as vf_context_create gives where it fails: its error says why",
      "NULL, as vf_graph_create, _parse and vf_import_onnx give where they fail: their error says why",
      "NULL, as vf_compile gives where it fails: its error, or vf_graph_message of the graph, says why",
      "NULL, as vf_tensor_create and others give where they fail: their error says why",
      "NULL, as vf_jit_create gives where it fails: its error says why",
      "NULL, as vf_mesh_create gives where it fails: its error says why"};
  if (!handle) return kind - FE_CONTEXT < sizeof nulls / sizeof *nulls ? nulls[kind - FE_CONTEXT] : "NULL";
  if ((uintptr_t)handle % sizeof(void *))
    return "no handle of viewfold; is the variable set before it is used?";
  uint32_t found = *(const uint32_t *)handle;
  if (found == (uint32_t)kind) return NULL;
  return found - FE_CONTEXT < sizeof names / sizeof *names
             ? names[found - FE_CONTEXT]
             : "no handle of viewfold, or one that was destroyed";
}
