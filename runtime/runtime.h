/* The folder runtime. The runtime.
 *
 *   in      plans, arrays, values of variables
 *   out     results in arrays
 *   holds   a context owns all; whatever fails leaves a status and a message */

/* The runtime's public face: contexts, compiled programs, how they are found, built and run.
 *
 * A context owns everything: threads, caches, the code generator's module. Nothing is global. Contexts are
 * independent; one context may be used from several threads at once, and one program may be run from several
 * threads at once. The allocator is therefore called from several threads.
 *
 * A program comes out of the cache (rt_program_find: memory, then disk; no graph, no plan and no LLVM needed)
 * or is made from a plan (rt_program_build) and cached. Both look under the caller's key, the canonical text
 * of the graph and whatever options shaped it, joined by the runtime with everything else that code
 * generation reads: the target, the sources viewfold was built from, LLVM's build-id. */
#ifndef VIEWFOLD_RUNTIME_RUNTIME_H
#define VIEWFOLD_RUNTIME_RUNTIME_H

#include "codegen/codegen.h"
#include "ir/plan.h"
#include "ir/target.h"
#include "runtime/cache/disk.h"
#include "runtime/compiler/llvm_module.h"

typedef struct rt_context rt_context;
typedef struct rt_program rt_program;

/* Makes a relocatable object with the function `symbol` (see cg_kernel) out of a KERNEL; called from several
 * threads, each with a graph of its own. */
typedef ir_status (*rt_compile)(void *user, const ir_graph *graph, ir_ref kernel, const char *symbol,
                                const ir_target *target, cg_blob *object, ir_error *error);

/* Custom operations, which a CALL step runs. */
typedef struct rt_array { /* contiguous, row-major */
  void *data;             /* of an operand: not to be written to */
  const int64_t *dims;
  int64_t elements;
  uint32_t rank;
  ir_dtype dtype;
} rt_array;
typedef struct rt_call {
  const char *name;
  const void *attributes; /* as the graph has them, aligned to 64 bytes */
  size_t attribute_bytes;
  const rt_array *results, *operands;
  uint32_t result_count, operand_count;
} rt_call;
/* find is asked by name when a program is made, once for each step: NULL refuses the program. run is called
 * with what was found, from whatever thread runs the program and from several at once; a status that is not
 * IR_OK ends the run. */
/* OpenCL C that defines the function `symbol`, called by a work-item for each element of the first result:
 * runtime/opencl/custom_kernel.c. */
typedef struct rt_call_text {
  const char *source, *symbol;
  const struct rt_native *native; /* its parameters */
} rt_call_text;
typedef struct rt_calls {
  void *user;
  const void *(*find)(void *user, const char *name);
  ir_status (*run)(void *user, const void *found, const rt_call *call, ir_error *error);
  /* For devices that are not the CPU; NULL, or false: they use `run` as well. */
  bool (*text)(void *user, const void *found, rt_call_text *out);
} rt_calls;

/* All zero is the default. Strings are copied. */
typedef struct rt_options {
  int threads; /* that a loop may be spread over, the caller's included; 0: every processor we may use */
  const char *cache_dir;       /* NULL: as rt_disk_open chooses */
  int64_t cache_bytes;         /* cap of the cache on disk; 0: RT_DISK_DEFAULT_BYTES */
  rt_disk_report cache_report; /* told what the cache on disk ignores; NULL: nobody is */
  const char *device;          /* "cpu" (NULL as well), "opencl", "opencl:N" or "opencl:PART OF NAME" */
  const char *target;          /* settings for rt_target_override; NULL: the device as it is */
  bool no_disk;                /* keep nothing on disk */
  bool no_compile;             /* VIEWFOLD_COMPILE=0: fail instead of compiling */
  bool perf_map;               /* tell perf about generated code */
  bool apart;             /* arrays share no memory, and none is used again: for tools that watch memory */
  rt_compiling compiling; /* where the code generator runs; all zero: in this process */
  rt_compile compile;     /* NULL: the code generator's module */
  void *compile_user;
  rt_calls calls;        /* find NULL: there are no custom operations */
  const ir_timer *timer; /* of compilations; outlives the context; may be NULL */
} rt_options;

/* Reads nothing from the system: what costs time is looked up when first needed. options may be NULL. */
ir_status rt_context_create(const ir_mem *mem, const rt_options *options, rt_context **out, ir_error *error);
void rt_context_destroy(rt_context *context); /* every program must have been released; NULL is allowed */
const ir_mem *rt_context_mem(const rt_context *context);
const ir_target *rt_context_target(rt_context *context, ir_error *error); /* NULL on failure */
rt_disk *rt_context_disk(rt_context *context, ir_error *error);           /* NULL: none, or failure */
int rt_context_threads(rt_context *context);
const ir_timer *rt_context_timer(const rt_context *context); /* NULL: none */
rt_module *
rt_context_codegen(rt_context *context); /* for printing assembler or LLVM IR; loaded at the first use */

/* Elements that live between runs, on the context's device or on the host, or both. All zero: none. */
typedef struct rt_memory {
  size_t bytes;
  void *host;    /* elements as plain memory, aligned to 64 bytes; NULL: not there yet */
  void *address; /* for rt_program_run_placed, after rt_memory_place */
  void *block;   /* of host, as allocated */
  size_t block_bytes;
  bool fresh; /* the host's elements are those of the device, or the device has none */
} rt_memory;
ir_status rt_memory_make(rt_context *context, size_t bytes, rt_memory *out, ir_error *error);
/* Where to write elements, before anything else is done with the memory. NULL: memory is short. */
void *rt_memory_write(rt_context *context, rt_memory *memory, ir_error *error);
/* Elements, up to date and to stay so: the memory is written by no program any more. NULL after failing. */
const void *rt_memory_read(rt_context *context, rt_memory *memory, ir_error *error);
/* Sees to it that memory->address is there. keep: with the elements; else they will be written there. */
ir_status rt_memory_place(rt_context *context, rt_memory *memory, bool keep, ir_error *error);
void rt_memory_free(rt_context *context, rt_memory *memory); /* *memory becomes none */

/* Could a device be called so, on some machine? */
bool rt_device_is_name(const char *name);

/* Plain text about the devices that programs may run on: one line that names the device, indented lines below
 * it. */
ir_status rt_devices_text(rt_context *context, ir_text *out, ir_error *error);

/* What became of looking for programs, and what is kept in memory. */
typedef struct rt_lookups {
  int64_t from_memory, from_disk, misses;
  int64_t invalidations; /* entries on disk that were thrown away */
  int64_t programs, kernels;
} rt_lookups;
rt_lookups rt_context_lookups(rt_context *context);

/* IR_ERR_UNSUPPORTED: a graph, as it was recorded, that the context's device does not compute. */
ir_status rt_context_accepts(rt_context *context, const char *name, const ir_graph *graph, ir_ref results,
                             const ir_ref *inputs, size_t count, ir_error *error);

/* The program of this key, or *out NULL where it is not cached (IR_OK all the same). */
ir_status rt_program_find(rt_context *context, const void *key, size_t key_size, rt_program **out,
                          ir_error *error);

/* Make the program of a plan: kernels come from memory, from disk, or are compiled, on as many threads as
 * there are kernels; the whole is cached under `key` (key_size 0: not cached). `name` is the graph's, for
 * messages. IR_ERR_COMPILE where a kernel is missing and the context forbids compiling. */
ir_status rt_program_build(rt_context *context, const char *name, const ir_graph *graph, const ir_plan *plan,
                           const void *key, size_t key_size, rt_program **out, ir_error *error);

/* find and build give the caller one reference each; the context must outlive it. NULL is allowed. */
void rt_program_retain(rt_program *program);
void rt_program_release(rt_program *program);

/* Run once. inputs and outputs are buffers in the order of rt_program_input and rt_program_output,
 * contiguous, row-major, aligned as their dtype asks; outputs overlap nothing. vars are the values of
 * rt_program_variable's, in order (NULL when there are none). IR_ERR_INVALID: a value outside its declared
 * bounds, or sizes too large; IR_ERR_RANGE: an index loaded at run time was out of range, the outputs are
 * unspecified. */
ir_status rt_program_run(const rt_program *program, void *const *inputs, void *const *outputs,
                         const int64_t *vars, ir_error *error);

/* The same with addresses, of rt_memory_place, in place of pointers. The run may still be going on
 * afterwards: what is asked of the memories waits for it, and tells of failures that come too late for this
 * call. */
ir_status rt_program_run_placed(const rt_program *program, void *const *inputs, void *const *outputs,
                                const int64_t *vars, ir_error *error);

/* The same, and how long each step of the plan took: nanoseconds by number of the step, in room for
 * rt_program_step_count. A step that is run several times has them added up; one with steps inside has theirs
 * as well; one with nothing to do has 0. */
ir_status rt_program_run_timed(const rt_program *program, void *const *inputs, void *const *outputs,
                               const int64_t *vars, int64_t *ns_by_step, ir_error *error);
size_t rt_program_step_count(const rt_program *program); /* of the plan that the program was built from */
bool rt_program_is_kernel(const rt_program *program, size_t step);

typedef struct rt_port {
  const char *name; /* of an input; "" for outputs and for buffers */
  ir_dtype dtype;
  uint32_t rank;
} rt_port;
typedef struct rt_variable {
  const char *name;
  int64_t lo, hi, divisor;
} rt_variable;

const char *rt_program_name(const rt_program *program);
size_t
rt_program_input_count(const rt_program *program); /* inputs that results depend on, in order of slots */
size_t rt_program_output_count(const rt_program *program);
size_t rt_program_variable_count(const rt_program *program);
rt_port rt_program_input(const rt_program *program, size_t number);
rt_port rt_program_output(const rt_program *program, size_t number);
rt_variable rt_program_variable(const rt_program *program, size_t number);

/* dims has room for the port's rank. Fails like rt_program_run on bad values of variables. */
ir_status rt_program_input_shape(const rt_program *program, size_t number, const int64_t *vars, int64_t *dims,
                                 ir_error *error);
ir_status rt_program_output_shape(const rt_program *program, size_t number, const int64_t *vars,
                                  int64_t *dims, ir_error *error);

/* What one run costs. bytes: size of every buffer of every kernel, counted once each time it runs. flops:
 * arithmetic operations on floats as the kernels are written, a fused multiply-add being two. Of a choice the
 * larger number of each of the two branches counts. A while loop counts with the most rounds that it was
 * declared to have, and as one round where none were: the predicate once more than that. Custom operations
 * count with their bytes alone. steps: kernels, copies and calls that run, and rounds of loops. */
typedef struct rt_cost {
  int64_t bytes, flops, steps;
  int64_t temp_bytes;  /* of the arena: intermediates, and what threads have to themselves */
  int64_t given_bytes; /* of inputs that are read, and of results */
} rt_cost;
ir_status rt_program_cost(const rt_program *program, const int64_t *vars, rt_cost *out, ir_error *error);

/* Of one kernel step, each time it runs: the operations as above, and how many threads can share it, 1 where
 * that is not worth it. Zeros for a step that is no kernel. */
typedef struct rt_step_cost {
  int64_t flops;
  int threads;
} rt_step_cost;
ir_status rt_program_step_cost(const rt_program *program, const int64_t *vars, size_t step, rt_step_cost *out,
                               ir_error *error);

/* Where the program came from. All kernels of a program found on disk count as from disk. */
typedef struct rt_stats {
  uint32_t launches,
      kernels; /* steps that launch a kernel, each once however often it runs; different kernels */
  uint32_t compiled, from_memory, from_disk;
  int64_t compile_ns; /* wall time of compiling and linking */
} rt_stats;
rt_stats rt_program_stats(const rt_program *program);

#endif
