/* Private to codegen/c/: the state of emitting a program (codegen/program.h) as C, and the functions that its
 * files share. */
#ifndef VIEWFOLD_CODEGEN_C_PROGRAM_H
#define VIEWFOLD_CODEGEN_C_PROGRAM_H

#include "codegen/c/c.h"

/* A size: a number, or a variable s0, s1, ... of the function, beside which r0, r1, ... says that it has no
 * value. */
typedef struct cc_size {
  bool known, refused; /* refused: a number that is none, such as a quotient by 0 */
  int64_t number;
} cc_size;

typedef struct cc_runner {
  const cg_program *p;
  cc_file *file;
  ir_text *out; /* the file's body */
  ir_error *error;
  cg_blob *terms; /* of the kernels, by number: what their callers have to know; no bytes */
  cc_size *sizes;
  bool *reads_data;      /* which of the program's data its steps name */
  uint32_t depth, loops; /* blocks that are open; loops so far */
} cc_runner;

/* program.c: lines of the function: a statement, without the semicolon; one that opens a block; one that
 * closes it, and may open another ("} else {"), whose depth the caller counts. */
void cc_say(cc_runner *r, const char *format, ...) IR_PRINTF(2, 3);
void cc_begin(cc_runner *r, const char *format, ...) IR_PRINTF(2, 3);
void cc_end(cc_runner *r, const char *text);

/* program_sizes.c: the text of a size; declares all sizes; returns `otherwise` from the function where there
 * is one that the program has to refuse. */
typedef struct cc_size_text {
  char text[40];
} cc_size_text;
cc_size_text cc_size_of(const cc_runner *r, uint32_t size);
void cc_put_sizes(cc_runner *r, const char *otherwise);

/* program_steps.c: the steps, then the copies; the arrays of the program, as data0, data1, ... */
void cc_put_steps(cc_runner *r);
void cc_put_data(cc_runner *r);

#endif
