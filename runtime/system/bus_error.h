/* Reads of mapped files that have become shorter, or that a disk cannot give. The system answers such a read
 * with SIGBUS, which ends the process. While a range is guarded, a handler of that signal puts pages of zeros
 * in the place of the rest of the range, notes that the range is damaged, and lets the read go on.
 *
 * The handler is the process's, so its state is too: this is the one part of the library with writable global
 * data (test/style.sh). It is installed with the first guarded range and removed with the last. Signals that
 * concern no guarded range go to the action that was there before. A handler that a program installs later
 * gets all signals, and should pass on those that it does not know, as this one does; one that does not,
 * takes the guard away. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_BUS_ERROR_H
#define VIEWFOLD_RUNTIME_SYSTEM_BUS_ERROR_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct rt_guard rt_guard;

/* A thread that has blocked the signal would end the process by such a read: around reading, the signal is
 * let through. rt_guard_enter notes what was blocked; rt_guard_leave blocks it again. */
void rt_guard_enter(sigset_t *before);
void rt_guard_leave(const sigset_t *before);

/* Guards `size` > 0 bytes, which are mapped at a page's begin. NULL when memory is short. */
rt_guard *rt_guard_add(const void *begin, size_t size);
/* Has a part of the range been replaced by zeros? */
bool rt_guard_damaged(const rt_guard *guard);
/* Has that happened to any range since the process began? Costs no more than reading a variable. */
bool rt_guards_damaged(void);
/* To be called before the range is unmapped, when nobody reads it any more. */
void rt_guard_remove(rt_guard *guard);

#endif
