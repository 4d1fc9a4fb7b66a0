/* The folder runtime/serve. The program viewfold-compile.
 *
 *   in      requests over a socket
 *   out     objects, or what went wrong
 *   holds   one thread listens; as many compile as there are requests at once, up to a limit */

/* The compiler process (runtime/compiler/compiler.h), from inside: one thread that listens, and as many that
 * compile as there are requests at once, up to a limit. Requests beyond it wait, and are begun in the order
 * in which they came.
 *
 *   PROGRAM --serve PARENT BYTES THREADS     the socket is descriptor RT_WIRE_SOCKET; PARENT is the process
 * that started it; BYTES is the limit of memory, 0 for none; THREADS is how many compile at most, 0 for as
 * many as there are processors for it
 *
 * The listener ends the process when the socket is hung up, when the parent has ended (which the socket does
 * not say where a process that the parent forked has a copy of it), and when a request has had its processor
 * time. What ends it otherwise, a signal or LLVM's call of exit, leaves its reason on standard error
 * (runtime/compiler/wire.h). */
#ifndef VIEWFOLD_RUNTIME_SERVE_SERVE_H
#define VIEWFOLD_RUNTIME_SERVE_SERVE_H

#include "runtime/compiler/wire.h"

/* What a test does instead of, or before, what the process does. NULL for a process that does its work. */
typedef struct serve_faults {
  void (*start)(int socket);                    /* before the greeting */
  void (*request)(const rt_wire_request *head); /* in the thread that is about to compile */
  void (*done)(const rt_wire_request *head);    /* in the same thread, before it answers */
} serve_faults;

/* The exit status of the program: of arguments as above, or of a user's. */
int serve_main(int argc, char **argv, const serve_faults *faults);

/* last_words.c. The request that the calling thread works on, 0 for none. */
extern _Thread_local uint32_t serve_working_on;
/* From now on: reasons for the process's end. False where the system refuses. */
bool serve_set_last_words(void);
/* Of a thread: signals, too, where its stack is used up. */
bool serve_set_signal_stack(void);
/* Written at once, from whatever context. */
void serve_last_words(uint32_t request, const char *reason, int number);

#endif
