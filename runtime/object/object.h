/* The folder runtime/object. Programs as object files.
 *
 *   in      a program that was made ahead of time
 *   out     an object file that needs nothing else to run
 *   holds   it computes the same bits as the program */

/* A program becomes an object: what its runs would look up in tables is written down as sizes, buffers and
 * steps (codegen/program.h), of which the code generator's module makes code. */
#ifndef VIEWFOLD_RUNTIME_OBJECT_OBJECT_H
#define VIEWFOLD_RUNTIME_OBJECT_OBJECT_H

#include "codegen/program.h"
#include "runtime/runtime.h"

typedef struct rt_object_request {
  const char *name; /* of the functions: NAME_run, ... */
  cg_output want;
  const ir_mem *mem; /* of the code */
  /* which of the caller's arrays each input and output of the program is; and the caller's variables, with
   * the number of each variable of the program among them */
  const uint32_t *inputs, *outputs, *variables;
  const cg_variable *bounds;
  size_t variable_count;
  bool shares;  /* NAME_run takes a cg_host, by whose threads loops are shared */
  bool weights; /* constants are in a file beside the object, whose address NAME_run takes */
  size_t shown; /* outputs whose sizes NAME_shapes writes: the first ones */
} rt_object_request;

typedef struct rt_object {
  cg_blob code;
  int64_t arena_bytes;  /* that NAME_run needs; -1: they depend on variables */
  int64_t worker_bytes; /* and for each worker but the first */
  cg_blob weights;      /* the file, where it was asked for */
} rt_object;

/* The name of custom operation `number` of those that the program runs, each counted once; NULL: there are
 * not as many. A program with any has NAME_run take a cg_host, whose functions are in this order. */
const char *rt_object_call(const rt_program *program, size_t number);

/* The program must have been made in a context with rt_options.ahead, and be bound to its constants. Free
 * out->code and out->weights with cg_blob_free. IR_ERR_UNSUPPORTED: it has steps of which no code is made;
 * IR_ERR_RANGE: what it computes of its constants has an index out of range. */
ir_status rt_object_build(const rt_program *program, const rt_object_request *request, rt_object *out,
                          ir_error *error);

#endif
