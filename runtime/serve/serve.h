/* The folder runtime/serve. The program viewfold-compile.
 *
 *   in      requests over a socket
 *   out     object files, or error messages
 *   holds   one thread listens; others compile, one for each request in progress, up to a limit */

/* The compiler process (runtime/compiler/compiler.h), seen from inside. One thread listens; others compile,
 * one for each request in progress, up to a limit. Requests beyond the limit wait and are begun in the order
 * of arrival.
 *
 *   PROGRAM --serve PARENT BYTES THREADS
 *
 * The socket is descriptor RT_WIRE_SOCKET. PARENT is the process that started this one. BYTES is the limit of
 * memory, 0 for none. THREADS is the limit of compiling threads, 0 for the number of processors the process
 * may use.
 *
 * The listening thread ends the process when the other end of the socket is closed, when the parent has ended
 * (the socket does not show that if a process forked from the parent still holds a copy), and when a request
 * has used up its processor time. If a signal or LLVM's call of exit ends the process, it first writes the
 * reason to standard error (runtime/compiler/wire.h). */
#ifndef VIEWFOLD_RUNTIME_SERVE_SERVE_H
#define VIEWFOLD_RUNTIME_SERVE_SERVE_H

#include "runtime/compiler/wire.h"

/* Hooks for tests, each of which may be NULL; the whole is NULL in the installed program. */
typedef struct serve_faults {
  void (*start)(int socket);                    /* before the greeting */
  void (*request)(const rt_wire_request *head); /* in the thread that is about to compile */
  void (*done)(const rt_wire_request *head);    /* in the same thread, before it answers */
} serve_faults;

/* The whole program: runs it with the arguments above, or with those of a user (--help, --version), and
 * returns its exit status. */
int serve_main(int argc, char **argv, const serve_faults *faults);

/* Defined in last_words.c. The request that the calling thread works on, 0 for none. */
extern _Thread_local uint32_t serve_working_on;
/* From now on, signals and calls of exit write the reason for the end of the process. False where the system
 * refuses. */
bool serve_set_last_words(void);
/* Gives the calling thread an alternate signal stack, so that a stack overflow is reported too. */
bool serve_set_signal_stack(void);
/* Writes the line that wire.h describes to standard error; async-signal-safe. `number` 0: only the reason. */
void serve_report_end(uint32_t request, const char *reason, int number);

#endif
