/* A program as one object: its kernels, the arrays that it reads, and a function that runs its steps.
 *
 * The steps become code, not data with a reader: addresses and sizes that are constants are operands of
 * instructions, and control flow is branches.
 *
 * The object defines, for a program called NAME, and refers to nothing outside itself:
 *
 *   int NAME_run(void *const *arrays, [const int64_t *sizes,] void *arena
 *                [, const void *weights] [, const cg_host *host])
 *   int NAME_shapes(const int64_t *sizes, int64_t *dims)      with variables
 *   int64_t NAME_arena_bytes(const int64_t *sizes)            with variables; -1 for sizes that it refuses
 *
 * `sizes` is there where the program has variables, `weights` where they are not in the object, `host` where
 * loops of kernels may be shared by threads. The functions return an ir_status: IR_OK, IR_ERR_INVALID (sizes
 * outside their bounds, or too large), IR_ERR_RANGE (an index out of range: results are unspecified). All
 * else is local to the object. A program may be there in several forms, of which the processor that the
 * object runs on decides. */
#ifndef VIEWFOLD_CODEGEN_PROGRAM_H
#define VIEWFOLD_CODEGEN_PROGRAM_H

#include "codegen/codegen.h"
#include "ir/plan.h"

/* What a caller gives to have loops shared by its threads; it may give NULL, and parallel_for may be NULL:
 * then one thread runs them. parallel_for calls body(argument, worker, begin, end) for parts of 0 to count,
 * as many as it likes, each of at least `grain` iterations but for the last, and returns when all have
 * returned. worker is below `workers`, and differs between calls that are in progress. */
typedef void (*cg_body)(void *argument, int64_t worker, int64_t begin, int64_t end);
typedef struct cg_call_array {
  void *data; /* of an operand: not to be written to */
  const int64_t *dims;
  int64_t elements;
  uint32_t rank, dtype; /* an ir_dtype */
} cg_call_array;
typedef struct cg_host {
  void *user;
  void (*parallel_for)(void *user, cg_body body, void *argument, int64_t count, int64_t grain);
  int (*calls[])(void *user, const struct cg_call_array *results, const struct cg_call_array *operands,
                 const void *attributes); /* custom operations, by number; not 0: it has failed */
} cg_host;

/* A size: an operation on earlier ones of the list. CONST: the number is b | c << 32; VAR: a is the number of
 * the variable; else a, b, c are numbers of sizes. One that overflows, or divides by less than 1, is refused
 * when the program runs, if it is used. */
typedef struct cg_size {
  uint32_t op; /* ir_op */
  uint32_t a, b, c;
} cg_size;

typedef struct cg_variable {
  int64_t lo, hi, divisor;
} cg_variable;

/* Where a buffer is. */
typedef enum cg_where {
  CG_ARRAY,  /* arrays[number] of the caller */
  CG_ARENA,  /* in the arena, behind as many bytes as size `number` says */
  CG_DATA,   /* data[number] */
  CG_WEIGHT, /* in the weights, behind as many bytes as size `number` says */
  CG_MOVING  /* at an address that a loop sets */
} cg_where;

/* What a custom operation is told of a buffer. */
typedef struct cg_shape {
  ir_dtype dtype;
  uint32_t rank;
  uint32_t axes, elements; /* the first of its sizes in cg_program.axes; a size */
} cg_shape;

typedef struct cg_buffer {
  cg_where where;
  uint32_t number;
  uint32_t bytes; /* a size: how many it has */
  cg_shape shape; /* of a CALL */
} cg_buffer;

typedef struct cg_bytes {
  const void *bytes;
  size_t size;
} cg_bytes;

/* A step of a plan (ir/plan.h): its buffers are those from `buffers` on, in the order that ir_step_kind says.
 */
typedef struct cg_step {
  ir_step_kind kind;
  bool reverse;    /* of a SCAN */
  uint32_t kernel; /* of a KERNEL, or a CALL: its number */
  uint32_t count;  /* a size, as in ir_step */
  uint32_t grain;  /* of a KERNEL, a size: iterations worth a thread's time; as many as there are: it is not
                      shared */
  uint32_t buffers, buffer_count;
  uint32_t variables, variable_count; /* of a KERNEL: those that it reads, from cg_program.step_variables */
  uint32_t inside[2];                 /* how many of the following steps its functions have */
  uint32_t carries;                   /* of a CALL: results */
  cg_bytes attributes;                /* of a CALL */
} cg_step;

typedef struct cg_source {
  const ir_graph *graph;
  ir_ref kernel;
  const char *symbol;
} cg_source;

/* Two sizes that must be equal. */
typedef struct cg_equal {
  uint32_t a, b;
} cg_equal;

typedef struct cg_program {
  const char *name;
  const cg_size *sizes;
  size_t size_count;
  const cg_variable *variables;
  size_t variable_count;
  const uint32_t *step_variables;
  const cg_source *kernels;
  size_t kernel_count;
  const cg_bytes *data;
  size_t data_count;
  const cg_buffer *buffers;
  size_t moving_count; /* numbers of moving buffers */
  const cg_step *steps;
  size_t step_count;
  const cg_buffer *copies; /* pairs: to, from; copied at the end */
  size_t copy_count;
  const uint32_t *limited; /* sizes that must not be negative, and not larger than memory can hold */
  size_t limited_count;
  const uint32_t *known; /* sizes that must have a value */
  size_t known_count;
  const cg_equal *equal;
  size_t equal_count;
  const uint32_t *axes; /* the sizes of axes of buffers */
  const uint32_t *dims; /* what NAME_shapes writes */
  size_t dim_count;
  bool weights;         /* the functions take the address of weights */
  bool shares;          /* the functions take a cg_host */
  uint32_t scratch;     /* a size: bytes of the arena before the kernels' scratch memory */
  int64_t scratch_each; /* bytes of that for each worker */
  uint32_t arena;       /* a size: bytes of the arena, whose first byte is at a multiple of CG_ARENA_ALIGN */
} cg_program;

/* The arena begins at the first multiple of CG_ARENA_ALIGN in the caller's memory, which is so much larger.
 */
enum { CG_ARENA_ALIGN = 64 };

/* The program as it is for one processor. */
typedef struct cg_form {
  const cg_program *program;
  const ir_target *target;
  int64_t weights; /* bytes of the file of weights before those of this form */
} cg_form;

/* Several forms are of x86-64: the functions run the first of which the processor that they run on has all
 * features, or return IR_ERR_UNSUPPORTED where it has those of none. Which one that is they ask the processor
 * once, and keep in a byte of the object. Names, variables and the functions' parameters are those of the
 * first program. */
struct cg_program_request {
  const cg_form *forms;
  size_t form_count;
  cg_output want;
  int level;
  const ir_timer *timer;
};
typedef struct cg_program_request cg_program_request;

/* codegen/c/program.c: a program of one form as a C file, in memory of `mem`, which is compiled as cg_c says.
 * Its functions are those of the object. */
ir_status cg_c_program(const cg_program_request *request, const ir_mem *mem, cg_blob *out, ir_error *error);

#endif
