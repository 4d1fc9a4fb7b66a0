/* What the examples of docs/tutorial.md share. */
#ifndef TUTORIAL_H
#define TUTORIAL_H

#include <stdio.h>
#include <string.h>
#include <viewfold.h>

/* Print an array as `y: f32[3,2] = [[0, 1.5], [0.5, 2], [1, 2.5]]`. */
void print_array(const char *name, vf_dtype dtype, int rank, const int64_t *shape, const void *elements);

/* Run the program on the inputs and print every output. sizes: values of the variables, NULL where there are
 * none. */
void run_and_print(const vf_program *program, const void *const *inputs, const int64_t *sizes);

/* Print the message and end the process with status 1. */
void stop(const vf_error *error);

#endif
