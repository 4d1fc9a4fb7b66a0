/* Object files that LLVM makes of its own text, for each processor whose objects the linker knows. A test
 * that uses them is linked with LLVM. */
#ifndef VIEWFOLD_TEST_LIB_LLVM_OBJECT_H
#define VIEWFOLD_TEST_LIB_LLVM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/* OBJECT_HOST: the one that this process runs on; OBJECT_MACHINES where it is none. */
typedef enum object_machine {
  OBJECT_X86_64,
  OBJECT_AARCH64,
  OBJECT_RISCV64,
  OBJECT_MACHINES,
#if defined(__x86_64__)
  OBJECT_HOST = OBJECT_X86_64
#elif defined(__aarch64__)
  OBJECT_HOST = OBJECT_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
  OBJECT_HOST = OBJECT_RISCV64
#else
  OBJECT_HOST = OBJECT_MACHINES
#endif
} object_machine;

typedef struct object {
  uint8_t *bytes; /* exactly `size` of them, of malloc, so that a sanitizer sees reads past the end */
  size_t size;
} object;

/* Around all tests of a file. */
int object_start(void **state);
int object_stop(void **state);

/* Compiles the text of a module for a machine of the table; skips the test where it is none. */
object object_compile(object_machine machine, const char *ir);

/* A module with one of each kind: constants of several sizes, a table, a jump table, calls. Its functions:
 * int look(int64_t), int choose(int, int), void scale(float *), double wide(double). */
extern const char object_of_all_kinds[];

#endif
