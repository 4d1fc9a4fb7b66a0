/* Objects of `viewfold build` in this process: linked as kernels are, and called. */
#ifndef VIEWFOLD_TEST_LIB_OBJECT_H
#define VIEWFOLD_TEST_LIB_OBJECT_H

#include "ir/target.h"
#include "runtime/image/image.h"

typedef struct built_object {
  rt_code code;
  char name[64];
} built_object;

/* bytes: an object, or C text (vf_build_options.c), which the C compiler compiles for the target, NULL: for
 * this machine. name: of the functions. False, with the reason in *error: the object refers outside itself,
 * or more. Unmap the code with rt_image_unmap. */
bool built_object_link(const void *bytes, size_t size, const char *name, const ir_target *target,
                       built_object *out, ir_error *error);
/* Are objects built as C? Where VIEWFOLD_DEVICE is c. */
bool built_as_c(void);

/* Calls NAME_run with an arena of exactly as many bytes as it asks for, `offset` bytes behind an aligned
 * address. arena_bytes: NAME_ARENA_BYTES; -1: NAME_arena_bytes tells, and sizes are given. Returns NAME_run's
 * status; -1 where there is no memory, or where the run wrote behind the arena. */
int built_object_run(const built_object *object, void *const *arrays, const int64_t *sizes,
                     int64_t arena_bytes, size_t offset);

/* The number in the line `#define MACRO NUMBER` of a header; -1: there is none. */
int64_t built_object_constant(const char *header, const char *macro);

#endif
