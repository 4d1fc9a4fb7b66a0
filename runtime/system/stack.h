/* Stacks that are large enough for compiling. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_STACK_H
#define VIEWFOLD_RUNTIME_SYSTEM_STACK_H

#include <pthread.h>

#include "ir/base.h"

/* Stack bytes that compiling may take, LLVM included. Measured as the deepest touched byte of a zeroed stack
 * (test_stack.c): 70 KiB, for graphs of one operation as for 2,000 in one kernel; 81 KiB where all but LLVM
 * is built with AddressSanitizer. */
enum { RT_STACK_NEED = 256 << 10 };

/* The stack of threads that this library starts; pages that nothing touches cost nothing. */
enum { RT_STACK_OWN = 8 << 20 };

/* Bytes left on the stack below the caller's frame; SIZE_MAX where that is unknown (an unlimited stack, or
 * one of a coroutine). */
size_t rt_stack_left(void);

/* Starts a thread with at least RT_STACK_NEED of stack. Signals are for the program's own threads: this one
 * gets none but SIGBUS, since kernels read mapped files (bus_error.h). False: the system starts none. */
bool rt_thread_start(pthread_t *thread, void *(*main)(void *), void *argument);

/* Runs `work` on this thread if RT_STACK_NEED is left, otherwise on a new thread with RT_STACK_OWN, and waits
 * for it. Fails, without running it, where no such thread can be started. */
ir_status rt_stack_run(void (*work)(void *), void *user, ir_error *error);

#endif
