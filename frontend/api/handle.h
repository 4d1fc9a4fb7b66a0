/* Handles that users hold. The first member of each is its kind, so that a pointer that is none of that kind
 * is refused rather than followed. That of a destroyed one is found out as well, unless its memory has come
 * to be another handle of the same kind. */
#ifndef VIEWFOLD_FRONTEND_API_HANDLE_H
#define VIEWFOLD_FRONTEND_API_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fe_kind {
  FE_CONTEXT = 0x7666c001,
  FE_GRAPH,
  FE_PROGRAM,
  FE_TENSOR,
  FE_JIT,
  FE_MESH,
  FE_GONE /* destroyed */
} fe_kind;

/* Is it a handle of that kind, and no NULL? */
static inline bool fe_is(const void *handle, fe_kind kind) {
  return handle && (uintptr_t)handle % sizeof(void *) == 0 && *(const uint32_t *)handle == (uint32_t)kind;
}

/* What it is in place of a handle of that kind, such as "NULL" or "a program"; NULL: it is one. */
const char *fe_not(const void *handle, fe_kind kind);

/* The handle is about to be freed. */
static inline void fe_handle_ends(void *handle) { *(volatile uint32_t *)handle = FE_GONE; }

#endif
