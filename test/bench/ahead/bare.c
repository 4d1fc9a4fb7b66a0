/* A program without a C library, for x86-64: the status is that of the call. The stack of a process begins
 * aligned to 16 bytes; that of a function, where its return address has been pushed. */
#include "arrays.h"

__attribute__((force_align_arg_pointer)) void _start(void) {
  long status = call();
  __asm__ volatile("syscall" : : "a"(60L), "D"(status));
}
