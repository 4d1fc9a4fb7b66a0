/* The folder runtime. Running compiled programs.
 *
 *   in      plans, arrays, values of variables
 *   out     results in arrays
 *   holds   a context owns everything; every failure leaves a status and a message */

/* The runtime's interface: contexts and compiled programs, how programs are found in the cache, built and
 * run.
 *
 * A context owns everything: threads, caches, the code generator's module. Nothing is global. Contexts are
 * independent; one context may be used from several threads at once, and one program may be run from several
 * threads at once. The allocator is therefore called from several threads.
 *
 * A program is found in the cache (rt_program_find: in memory, then on disk; this needs no graph, no plan and
 * no LLVM) or is built from a plan (rt_program_build) and cached. Both use the caller's key, the canonical
 * text of the graph and of the options that shaped it. The runtime appends everything else that code
 * generation reads: the target, the sources viewfold was built from, LLVM's build-id. */
#ifndef VIEWFOLD_RUNTIME_RUNTIME_H
#define VIEWFOLD_RUNTIME_RUNTIME_H

#include "codegen/codegen.h"
#include "ir/log.h"
#include "ir/plan.h"
#include "ir/target.h"
#include "runtime/cache/digest.h"
#include "runtime/cache/disk.h"
#include "runtime/compiler/llvm_module.h"
#include "runtime/system/mapped_file.h"

struct rt_transport; /* runtime/mesh/transport.h */
struct rt_post;      /* runtime/mesh/post.h */
typedef struct rt_context rt_context;
typedef struct rt_program rt_program;

/* Compiles a KERNEL to a relocatable object with the function `symbol` (see cg_kernel). Called from several
 * threads, each with its own graph. */
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
  const void *attributes; /* the bytes in the graph, aligned to 64 bytes */
  size_t attribute_bytes;
  const rt_array *results, *operands;
  uint32_t result_count, operand_count;
} rt_call;
/* OpenCL C source that defines the function `symbol`, which one work-item calls for each element of the first
 * result: runtime/opencl/custom_kernel.c. */
typedef struct rt_call_text {
  const char *source, *symbol;
  const struct rt_native *native; /* its parameters */
} rt_call_text;
/* find is called with the operation's name when a program is made, once for each CALL step; NULL refuses the
 * program. run is called with what find returned, from whatever thread runs the program, possibly from
 * several at once; a status other than IR_OK ends the run. */
typedef struct rt_calls {
  void *user;
  const void *(*find)(void *user, const char *name);
  ir_status (*run)(void *user, const void *found, const rt_call *call, ir_error *error);
  /* For devices other than the CPU. Where it is NULL or returns false, they use `run` too. */
  bool (*text)(void *user, const void *found, rt_call_text *out);
} rt_calls;

/* All zero is the default. Strings are copied. */
typedef struct rt_options {
  int threads; /* that a loop may be divided among, the caller's included; 0: as many as the processors we may
                  use */
  const char *cache_dir; /* NULL: as rt_disk_open chooses */
  int64_t cache_bytes;   /* cap of the cache on disk; 0: rt_disk_limit */
  const ir_log *log;     /* receives what is no failure; must outlive the context; may be NULL */
  const char *device;    /* "cpu" (NULL as well), "opencl", "opencl:N" or "opencl:PART OF NAME" */
  const char *target;    /* settings for rt_target_override; NULL: the device as it is */
  bool no_disk;          /* use no cache on disk */
  bool ahead; /* programs are there to be built as objects for the target (runtime/object/object.h), which may
                 be another machine: what runs here has this machine's instructions, and no disk is used */
  bool no_compile;        /* VIEWFOLD_COMPILE=0: fail instead of compiling */
  bool perf_map;          /* list generated code for perf */
  bool separate_arrays;   /* no two arrays share memory and no block is reused, so that memory checkers see
                             errors */
  rt_compiling compiling; /* where the code generator runs; all zero: in this process */
  rt_compile compile;     /* NULL: the code generator's module */
  void *compile_user;
  rt_calls calls;        /* find NULL: there are no custom operations */
  const ir_timer *timer; /* of compilations; must outlive the context; may be NULL */
  ir_progress *progress; /* of runs, which it may end; must outlive the context; may be NULL */
} rt_options;

/* Reads nothing from the system but the cap of the cache: the target and the caches are examined when first
 * needed. options may be NULL. IR_ERR_INVALID where the cap is no size. */
ir_status rt_context_create(const ir_mem *mem, const rt_options *options, rt_context **out, ir_error *error);
/* A context with the same settings as another, in which programs are made ahead of time (rt_options.ahead)
 * for the target; NULL: this machine. */
ir_status rt_context_create_ahead(const rt_context *like, const char *target, rt_context **out,
                                  ir_error *error);
/* The context for another device, named as in rt_options, with the same settings, caches and progress; the
 * context itself for its own device. It belongs to the context. IR_ERR_DEVICE: there is no such device. */
ir_status rt_context_beside(rt_context *context, const char *device, rt_context **out, ir_error *error);
/* Meshes made from now on are of this process and of those that the transport reaches; they do the same. A
 * process that is silent for timeout_ns while others wait for it counts as gone. Takes the transport over,
 * also where it fails: IR_ERR_INVALID: the context has joined already. rt_context_destroy leaves the others.
 */
ir_status rt_context_join(rt_context *context, struct rt_transport *transport, int64_t timeout_ns,
                          ir_error *error);
struct rt_post *rt_context_post(const rt_context *context); /* NULL: it has joined no processes */
void rt_context_destroy(rt_context *context); /* every program must have been released; NULL is allowed */
const ir_mem *rt_context_mem(const rt_context *context);
const ir_target *rt_context_target(rt_context *context, ir_error *error); /* NULL on failure */
/* Can this process run what the context's target describes? False where rt_options.target asks for more than
 * the processor has: IR_ERR_UNSUPPORTED names it. */
ir_status rt_context_runs_here(rt_context *context, ir_error *error);
/* Has the target settings that were measured on this machine, and kept? */
bool rt_context_measured(rt_context *context);
/* Keep such settings on disk, for the contexts that are made after this one. False where that cannot be. */
bool rt_context_keep_measured(rt_context *context, const char *settings);
rt_disk *rt_context_disk(rt_context *context, ir_error *error); /* NULL: none, or failure */
int rt_context_threads(rt_context *context);
bool rt_context_is_remote(const rt_context *context);        /* does a device run its programs? */
const ir_timer *rt_context_timer(const rt_context *context); /* NULL: none */
rt_module *
rt_context_codegen(rt_context *context); /* for printing assembler or LLVM IR; loaded at the first use */

/* A constant: an array with an owner, known by its bytes (runtime/constants.h). A context has one for equal
 * bytes. */
typedef struct rt_constant rt_constant;
typedef struct rt_constants rt_constants;
typedef void (*rt_release)(const void *bytes, void *user);
enum { RT_CONSTANT_NAME = 80 }; /* characters of a name: 32 digits, a size, a number, and NUL */

/* Gives the caller a use of the constant with these bytes, which nobody may change until release(bytes, user)
 * is called: once, at the last release of the constant, or at once where the context has the same bytes
 * already. On failure it is not called. release NULL: the bytes are memory of rt_constant_memory. */
ir_status rt_constant_add(rt_context *context, const void *bytes, size_t size, rt_release release, void *user,
                          rt_constant **out, ir_error *error);
/* Memory for the elements of a constant, aligned to cache lines; NULL: it is short. */
void *rt_constant_memory(rt_context *context, size_t size);
void rt_constant_memory_free(rt_context *context, void *memory, size_t size); /* accepts NULL */
/* The same of a copy. */
ir_status rt_constant_copy(rt_context *context, const void *bytes, size_t size, rt_constant **out,
                           ir_error *error);
/* The same of bytes of a mapped file, of which the digest is known: they are not read, unless the context has
 * others of this digest. The constant keeps the file mapped. */
ir_status rt_constant_map(rt_context *context, rt_mapped_file *file, size_t offset, size_t size,
                          rt_digest digest, rt_constant **out, ir_error *error);
/* The same of a constant of another context, which must outlive it. */
ir_status rt_constant_share(rt_context *context, rt_constant *constant, rt_constant **out, ir_error *error);
struct ir_box; /* ir/mesh/spec.h */
/* The box `part` of a constant whose elements of `bytes` bytes are those of the box `whole`, which begins at
 * 0, as a constant of the context, of the size of the box `room`, which begins where `part` does: it maps the
 * constant's file, or is a copy, with zeros outside of `part`. No other bytes are read. */
ir_status rt_constant_part(rt_context *context, rt_constant *constant, const struct ir_box *whole,
                           const struct ir_box *part, const struct ir_box *room, size_t bytes,
                           rt_constant **out, ir_error *error);
/* The file that the bytes are mapped from; NULL: they are in memory. What was computed from them holds if
 * rt_mapped_check of it, asked afterwards, says so. */
rt_mapped_file *rt_constant_file(const rt_constant *constant);
/* A use of the constant of this name, which may end in `/` and more; NULL: there is none. */
rt_constant *rt_constant_find(rt_context *context, const char *name);
void rt_constant_retain(rt_constant *constant);  /* one more use */
void rt_constant_release(rt_constant *constant); /* gives up a use; accepts NULL */
/* The name is valid as long as the constant is in use, and so are its bytes. */
const char *rt_constant_name(const rt_constant *constant);
const void *rt_constant_bytes(const rt_constant *constant);
size_t rt_constant_size(const rt_constant *constant);

/* The elements of an array that outlives runs, on the context's device, on the host, or on both. All zero: no
 * memory. */
typedef struct rt_memory {
  size_t bytes;
  void *host;    /* the elements in the host's memory, aligned to 64 bytes; NULL: not allocated yet */
  void *address; /* device address for rt_program_run_placed, set by rt_memory_place */
  void *block;   /* allocation that contains `host` */
  size_t block_bytes;
  bool host_current;   /* the host's elements are current: equal to the device's, or the device has none */
  const void *adopted; /* by rt_memory_adopt: rt_memory_free calls release(adopted, user) */
  rt_release release;
  void *user;
} rt_memory;
ir_status rt_memory_make(rt_context *context, size_t bytes, rt_memory *out, ir_error *error);
/* The same of elements that somebody else owns, aligned as their dtype requires, and that no program may
 * write. release may be NULL. */
void rt_memory_adopt(rt_context *context, const void *elements, size_t bytes, rt_release release, void *user,
                     rt_memory *out);
/* Host memory to write the elements to, before any other use of the memory. NULL: memory is short. */
void *rt_memory_write(rt_context *context, rt_memory *memory, ir_error *error);
/* The current elements, on the host. No program may write the memory from now on. NULL on failure. */
const void *rt_memory_read(rt_context *context, rt_memory *memory, ir_error *error);
/* Ensures that memory->address is valid. keep: it holds the elements; otherwise a program is going to write
 * them. */
ir_status rt_memory_place(rt_context *context, rt_memory *memory, bool keep, ir_error *error);
void rt_memory_free(rt_context *context, rt_memory *memory); /* sets *memory to all zero */

/* Is this a well-formed device name? The machine need not have such a device. */
bool rt_device_is_name(const char *name);

/* Describes the devices that programs may run on: a line with the device's name, then indented lines. */
ir_status rt_devices_text(rt_context *context, ir_text *out, ir_error *error);

/* Counts of look-ups of programs by result, and of programs and kernels kept in memory. */
typedef struct rt_lookups {
  int64_t from_memory, from_disk, misses;
  int64_t invalidations; /* entries on disk that were removed as unusable */
  int64_t programs, kernels;
} rt_lookups;
rt_lookups rt_context_lookups(rt_context *context);

/* IR_ERR_UNSUPPORTED: the context's device cannot compute this graph, which is given as it was recorded. */
ir_status rt_context_accepts(rt_context *context, const char *name, const ir_graph *graph, ir_ref results,
                             const ir_ref *inputs, size_t count, ir_error *error);

/* Finds the program of this key; *out is NULL where it is not cached (IR_OK too). */
ir_status rt_program_find(rt_context *context, const void *key, size_t key_size, rt_program **out,
                          ir_error *error);

/* Builds the program of a plan. Kernels come from memory, from disk, or are compiled on as many threads as
 * there are kernels; the program is cached under `key` (key_size 0: not cached). `name` is the graph's, for
 * messages. IR_ERR_COMPILE where a kernel is not cached and the context forbids compiling. */
ir_status rt_program_build(rt_context *context, const char *name, const ir_graph *graph, const ir_plan *plan,
                           const void *key, size_t key_size, rt_program **out, ir_error *error);

/* How many constants the program reads. A program that reads any runs only when it is bound to them. */
size_t rt_program_constant_count(const rt_program *program);
size_t rt_program_constant_bytes(const rt_program *program, size_t number); /* that constant `number` has */
/* A program of its own, with the code of `program` and these constants, in the order of the RESOURCE nodes
 * among the inputs that it was compiled with; it uses the constants until it is released. IR_ERR_INVALID:
 * they are of another number or of other sizes. of_parts: as many programs as this are bound to parts of the
 * same arrays: what they store in the cache has to fit together, and this one gives up the constants in
 * memory that no step reads any more, so that it cannot be bound again; 0: it is the only one. */
ir_status rt_program_bind(rt_program *program, rt_constant *const *constants, size_t count, uint32_t of_parts,
                          rt_program **out, ir_error *error);

/* The same for a bound program, with another constant in the place of number `number`. */
ir_status rt_program_rebind(const rt_program *program, size_t number, rt_constant *constant, rt_program **out,
                            ir_error *error);

/* rt_program_find and rt_program_build give the caller one reference. The context must outlive all
 * references. rt_program_release accepts NULL. */
void rt_program_retain(rt_program *program);
void rt_program_release(rt_program *program);

/* Runs the program once. inputs and outputs are buffers in the order of rt_program_input and
 * rt_program_output, contiguous, row-major, aligned as their dtype requires; outputs overlap no other buffer.
 * vars are the values of the variables in the order of rt_program_variable (NULL when there are none).
 * IR_ERR_INVALID: a value outside its declared bounds, or sizes too large; IR_ERR_RANGE: an index loaded at
 * run time was out of range, the outputs are unspecified. */
ir_status rt_program_run(const rt_program *program, void *const *inputs, void *const *outputs,
                         const int64_t *vars, ir_error *error);

/* As rt_program_run, with the addresses of rt_memory_place instead of pointers. The run may still be in
 * progress after the call. The rt_memory functions wait for it, and report failures that came too late for
 * this call. */
ir_status rt_program_run_placed(const rt_program *program, void *const *inputs, void *const *outputs,
                                const int64_t *vars, ir_error *error);

/* Launches of a recorded run that a device has in progress at a time. */
enum { RT_PENDING = 64 };

/* As rt_program_run, and measures each step of the plan: nanoseconds by the step's number, in an array of
 * rt_program_step_count. The time of a step that runs several times is the sum; a step with steps inside
 * includes theirs; a step without work has 0. */
ir_status rt_program_run_timed(const rt_program *program, void *const *inputs, void *const *outputs,
                               const int64_t *vars, int64_t *ns_by_step, ir_error *error);

/* A step of a recorded run: when it ran, by ir_now_ns. On a device that measures itself the times are its
 * own, moved so that the first launch begins when it was sent. */
typedef struct rt_event {
  int64_t start_ns, ns;
  uint32_t step; /* of the plan */
} rt_event;
/* What recorded runs note; the arrays are the caller's. By step: the sum of the times, and how often it ran
 * (NULL: not counted). Events in the order in which steps end, up to event_cap of them. */
typedef struct rt_recording {
  int64_t *ns_by_step, *times_by_step;
  rt_event *events;
  size_t event_count, event_cap;
  /* of the device: launches whose times are not known yet */
  struct {
    void *event;
    int64_t sent_ns;
    uint32_t step;
  } pending[RT_PENDING];
  size_t pending_count;
  int64_t clock_ns; /* to add to the device's times; 0: not known */
} rt_recording;
/* As rt_program_run_timed, adding to what the recording holds. */
ir_status rt_program_run_recorded(const rt_program *program, void *const *inputs, void *const *outputs,
                                  const int64_t *vars, rt_recording *recording, ir_error *error);
size_t rt_program_step_count(const rt_program *program); /* steps of the plan that it was built from */
bool rt_program_is_kernel(const rt_program *program, size_t step);
/* The name of a kernel in the cache, of a custom operation, or of what another step does ("scan"); valid as
 * long as the program. */
const char *rt_program_step_name(const rt_program *program, size_t step);

/* Watching a run for NaNs and infinities: after each step, what it has written is looked at. */
enum { RT_WATCH_NAN = 1, RT_WATCH_INF = 2 };
typedef struct rt_watch {
  unsigned kinds;
  const uint8_t *quiet; /* by step: it is not looked at; or NULL */
  uint8_t *marks;       /* by slot of the plan (rt_program_slot_count): scratch of the run */
  size_t step;          /* of a run that failed with IR_ERR_VALUE: the step that made one */
} rt_watch;
/* As rt_program_run. IR_ERR_VALUE: a kernel, or a custom operation, wrote a NaN, or an infinity, of a kind
 * that no array has that it reads; the run has ended there. */
ir_status rt_program_run_watched(const rt_program *program, void *const *inputs, void *const *outputs,
                                 const int64_t *vars, rt_watch *watch, ir_error *error);
size_t rt_program_slot_count(const rt_program *program);
/* The elements of constant `number` of a bound program. */
const void *rt_program_constant_data(const rt_program *program, size_t number);
/* The kinds that an array has. *first: the index of the first element of one of these, if there is any. */
unsigned rt_watched_kinds(const void *elements, int64_t count, ir_dtype dtype, unsigned kinds,
                          int64_t *first);

typedef struct rt_port {
  const char *name; /* of an input; "" for outputs and for buffers */
  ir_dtype dtype;
  uint32_t rank;
} rt_port;
typedef struct rt_variable {
  const char *name;
  int64_t lo, hi, divisor;
} rt_variable;

/* The name of the graph; how many inputs, outputs and variables there are; and each of them, by a number
 * below that count. Strings are valid as long as the program. */
const char *rt_program_name(const rt_program *program);
size_t rt_program_input_count(const rt_program *program); /* inputs that results depend on, by slot number */
size_t rt_program_output_count(const rt_program *program);
size_t rt_program_variable_count(const rt_program *program);
rt_port rt_program_input(const rt_program *program, size_t number);
rt_port rt_program_output(const rt_program *program, size_t number);
rt_variable rt_program_variable(const rt_program *program, size_t number);

/* Writes the sizes of the axes to dims, which has room for the port's rank. Fails like rt_program_run on bad
 * values of variables. */
ir_status rt_program_input_shape(const rt_program *program, size_t number, const int64_t *vars, int64_t *dims,
                                 ir_error *error);
ir_status rt_program_output_shape(const rt_program *program, size_t number, const int64_t *vars,
                                  int64_t *dims, ir_error *error);

/* The cost of one run. bytes: the sizes of all buffers of all kernels, counted each time a kernel runs.
 * flops: arithmetic operations on floats as the kernels are written; a fused multiply-add is two. A
 * conditional counts the larger number of its two branches, for each of the sums. A while loop counts its
 * declared maximum number of iterations, or one iteration if none is declared; its predicate counts once more
 * than that. Custom operations count their bytes only. steps: kernels, copies and calls that run, and
 * iterations of loops. */
typedef struct rt_cost {
  int64_t bytes, flops, steps;
  int64_t temp_bytes;   /* of the arena: intermediates, and the scratch of threads */
  int64_t caller_bytes; /* of the inputs that are read and of the results */
} rt_cost;
ir_status rt_program_cost(const rt_program *program, const int64_t *vars, rt_cost *out, ir_error *error);

/* The cost of one run of a kernel step: its flops as above, and the number of threads that can share it, 1
 * where sharing is not worth it. Zeros for a step that is no kernel. */
typedef struct rt_step_cost {
  int64_t flops;
  int threads;
} rt_step_cost;
ir_status rt_program_step_cost(const rt_program *program, const int64_t *vars, size_t step, rt_step_cost *out,
                               ir_error *error);

/* Where the buffers of a run lie in the arena of intermediates: by slot of the plan, bytes from its
 * beginning; SIZE_MAX: elsewhere. Of the first `count` slots. */
ir_status rt_program_places(const rt_program *program, const int64_t *vars, size_t *offsets, size_t count,
                            ir_error *error);

/* Where the kernels of a program came from. All kernels of a program found on disk count as from disk. */
typedef struct rt_stats {
  uint32_t launches, kernels; /* steps that launch a kernel, each counted once; different kernels */
  uint32_t compiled, from_memory, from_disk;
  int64_t compile_ns; /* wall time of compiling and linking */
} rt_stats;
rt_stats rt_program_stats(const rt_program *program);

#endif
