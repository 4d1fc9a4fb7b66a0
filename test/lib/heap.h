/* Finds what is never freed, without a leak checker: executables of tests, the command of sanitized and
 * checked builds and their compiler module are linked with heap.c, and with the linker's --wrap for the
 * functions of the C library that allocate. So every block that an object of such an executable or library
 * asks for is known until one of them frees it (what the C library, LLVM or a driver allocate for themselves
 * is not), and those left when the process ends by returning from main or by exit are reported on standard
 * error; the exit status is then 99.
 *
 * With HEAP_TRACE=1 in the environment the report says where each block comes from. */
#ifndef VIEWFOLD_TEST_HEAP_H
#define VIEWFOLD_TEST_HEAP_H

#include <stddef.h>

/* Also for what is no block: something named by its address is there, until it is let go. Both ignore NULL,
 * and heap_forget what heap_hold was not told of. */
void heap_hold(const void *what, size_t size);
void heap_forget(const void *what);

#endif
