/* Contexts that compile in another process, and doubles of that process that do what it must not
 * (test/double/compile_faults.c). Everything fails the running cmocka test on error. */
#ifndef VIEWFOLD_TEST_COMPILING_H
#define VIEWFOLD_TEST_COMPILING_H

#include "frontend/viewfold.h"
#include "runtime/context.h"

int c_set_up(void **state); /* group set-up and tear-down: a directory for links to the double */
int c_tear_down(void **state);
const char *c_place(void);

/* The path of the double with this fault. */
const char *c_double(const char *fault);
/* A context without a cache on disk whose process has the fault; NULL: none, it is the one that is installed.
 * Of `more`, what is said of limits, threads and memory. */
vf_context *c_open(const char *fault, vf_options more);
rt_compiler *c_compiler(vf_context *context);

/* The program of y = (x + number) * 2, or of the same its square root, over eight elements. NULL, with
 * error set, after failing. */
vf_program *c_compile(vf_context *context, int number, bool root, vf_error *error);
/* Compiles and runs the first. */
void c_check_works(vf_context *context, int number);
/* Compiling fails with this status and a message that holds each of the texts, up to NULL. */
void c_check_fails(vf_context *context, vf_status status, ...);

/* This process has no child, not even one that nobody has waited for. */
void c_check_childless(void);
/* Waits for what another thread or process is about to do: true as soon as it is so, false after two minutes.
 */
/* Of the compiler of a context whose process has the fault "loop" or "wait": it has come to that. */
bool c_is_working(void *compiler);
/* Waits for what another thread or process is about to do: true as soon as it is so, false after two minutes.
 */
bool c_wait_until(bool (*is_so)(void *user), void *user);

#endif
