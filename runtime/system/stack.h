/* Stacks that suffice for compiling. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_STACK_H
#define VIEWFOLD_RUNTIME_SYSTEM_STACK_H

#include <pthread.h>

#include "ir/base.h"

/* What compiling may take, LLVM included. Measured as the deepest touched byte of a zeroed stack
 * (test_stack.c): 70 KiB, for graphs of one operation as for 2,000 in one kernel; 81 KiB where all but LLVM
 * is built with AddressSanitizer. */
enum { RT_STACK_NEED = 256 << 10 };

/* A stack for a thread of our own; pages that nothing touches cost nothing. */
enum { RT_STACK_OWN = 8 << 20 };

/* Bytes below the caller's frame, SIZE_MAX where nobody can tell (an unlimited stack, one of a coroutine). */
size_t rt_stack_left(void);

/* Threads that are made with the attributes have at least RT_STACK_NEED. */
bool rt_stack_attributes(pthread_attr_t *attributes);

/* Do the work here if RT_STACK_NEED is left, otherwise in a thread with RT_STACK_OWN, and wait for it. Fails,
 * with the work not done, where there can be no such thread. */
ir_status rt_stack_run(void (*work)(void *), void *user, ir_error *error);

#endif
