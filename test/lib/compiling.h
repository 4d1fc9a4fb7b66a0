/* Contexts that compile in another process, and test doubles of that process that misbehave
 * (test/double/compile_faults.c). Every error fails the running cmocka test. */
#ifndef VIEWFOLD_TEST_COMPILING_H
#define VIEWFOLD_TEST_COMPILING_H

#include "frontend/viewfold.h"
#include "runtime/context.h"

int c_set_up(void **state); /* group set-up and tear-down: a directory for links to the doubles */
int c_tear_down(void **state);
const char *c_place(void);

/* The path of the double with this fault, which a link's name selects. */
const char *c_double(const char *fault);
/* A context without a cache on disk, whose compiler process has the fault; NULL: the real compiler process.
 * Limits, threads and memory are those of `more`. */
vf_context *c_open(const char *fault, vf_options more);
rt_compiler *c_compiler(vf_context *context);

/* The program of y = (x + number) * 2, or of the square root of that, over eight elements. NULL, with error
 * set, on failure. */
vf_program *c_compile(vf_context *context, int number, bool root, vf_error *error);
/* Compiles and runs the first of these programs. */
void c_check_works(vf_context *context, int number);
/* Compiling fails with this status and a message that contains each of the texts, up to NULL. */
void c_check_fails(vf_context *context, vf_status status, ...);

/* Checks that this process has no child, not even one that has ended and has not been waited for. */
void c_check_childless(void);
/* With the fault "loop" or "wait": has the compiler process reached that point? */
bool c_is_working(void *compiler);
/* Waits for a condition that another thread or process will establish. True as soon as it holds, false after
 * two minutes. */
bool c_wait_until(bool (*is_so)(void *user), void *user);

#endif
