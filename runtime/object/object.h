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

/* A program for one processor: which of the caller's arrays each of its inputs and outputs is, and the number
 * of each of its variables among the caller's. */
typedef struct rt_object_form {
  const rt_program *program;
  const uint32_t *inputs, *outputs, *variables;
} rt_object_form;

/* Several forms are programs of one graph for processors of x86-64; the object runs the first whose features
 * the processor has that it runs on. */
enum { RT_MOST_FORMS = 16 };
typedef struct rt_object_request {
  const char *name; /* of the functions: NAME_run, ... */
  cg_output want;
  const ir_mem *mem; /* of the code */
  const rt_object_form *forms;
  size_t form_count;         /* at most RT_MOST_FORMS */
  const cg_variable *bounds; /* of the caller's variables */
  size_t variable_count;
  bool shares;  /* NAME_run takes a cg_host, by whose threads loops are shared */
  bool weights; /* constants are in a file beside the object, whose address NAME_run takes */
  size_t shown; /* outputs whose sizes NAME_shapes writes: the first ones */
} rt_object_request;

typedef struct rt_object {
  cg_blob code;
  int64_t arena_bytes;  /* that NAME_run needs, whatever form it runs; -1: they depend on variables */
  int64_t worker_bytes; /* and for each worker but the first */
  cg_blob weights;      /* the file, where it was asked for */
} rt_object;

/* The name of custom operation `number` of those that the program runs, each counted once; NULL: there are
 * not as many. A program with any has NAME_run take a cg_host, whose functions are in this order. */
const char *rt_object_call(const rt_program *program, size_t number);

/* The programs must have been made in contexts with rt_options.ahead, and be bound to their constants. Free
 * out->code and out->weights with cg_blob_free. IR_ERR_UNSUPPORTED: they have steps of which no code is made,
 * or several forms are not all of x86-64; IR_ERR_RANGE: what is computed of constants has an index out of
 * range. */
ir_status rt_object_build(const rt_object_request *request, rt_object *out, ir_error *error);

#endif
