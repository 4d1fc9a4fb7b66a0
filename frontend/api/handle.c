#include "frontend/api/handle.h"

const char *fe_not(const void *handle, fe_kind kind) {
  static const char *const names[] = {"a context", "a graph", "a program", "a tensor",
                                      "a jit",     "a mesh",  "destroyed"};
  if (!handle) return "NULL";
  if ((uintptr_t)handle % sizeof(void *))
    return "no handle of viewfold; is the variable set before it is used?";
  uint32_t found = *(const uint32_t *)handle;
  if (found == (uint32_t)kind) return NULL;
  return found - FE_CONTEXT < sizeof names / sizeof *names
             ? names[found - FE_CONTEXT]
             : "no handle of viewfold, or one that was destroyed";
}
