/* Finds memory that is never freed, without a leak checker: executables of tests, the command of sanitized
 * and checked builds and their compiler module are linked with heap.c, and with the linker's --wrap for the C
 * library's allocation functions. So every block that an object file of such an executable or library
 * allocates is recorded until one of them frees it; what the C library, LLVM or a driver allocates for itself
 * is not recorded. Blocks that are left when the process ends, by returning from main or by exit, are
 * reported on standard error, and the exit status is 99.
 *
 * With HEAP_TRACE=1 in the environment the report says where each block was allocated. */
#ifndef VIEWFOLD_TEST_HEAP_H
#define VIEWFOLD_TEST_HEAP_H

#include <stddef.h>

/* Record a block, and remove it. Also for objects that are no heap blocks but must be disposed of, each named
 * by its address. Both ignore NULL; heap_forget ignores what heap_hold has not recorded. */
void heap_hold(const void *what, size_t size);
void heap_forget(const void *what);

#endif
