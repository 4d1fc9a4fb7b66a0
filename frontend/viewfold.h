/* viewfold: a tracing JIT compiler for tensor programs. The C API.
 *
 * Operations on values record into a graph. A graph is compiled into a program, which runs many times:
 *
 *   vf_context *context = vf_context_create(NULL, NULL);
 *   vf_graph *graph = vf_graph_create(context, "scale", NULL);
 *   vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(2, 3));
 *   vf_output(graph, "y", vf_mul(vf_permute(x, VF_LIST(1, 0)), vf_number(graph, 0.5)));
 *   vf_program *program = vf_compile(graph, NULL);
 *   vf_program_run(program, (const void *[]){in}, (void *[]){out}, NULL, NULL);
 *
 * or the values are kept as tensors, which are computed when their elements are asked for (see "Tensors").
 *
 * Errors. Nothing here aborts, exits or prints, but for LLVM where it compiles in this process
 * (vf_compile_mode). Builders take and return values; a builder that fails notes the reason in the graph,
 * which keeps the first one, and returns the error value, which every other builder passes on. So a chain of
 * calls is checked once: vf_compile fails with that reason, and vf_graph_status and vf_graph_message tell it.
 * All other functions that can fail take a vf_error *, which may be NULL, and say by their result that they
 * failed. Every allocation may fail. NULL in place of an object is an error; functions that free an object do
 * nothing then.
 *
 * Threads. Contexts are independent of each other. In one context, a graph is for one thread at a time, and
 * so are all its tensors together (but see viewfold_buffers.h); different graphs may be built and compiled in
 * different threads, and a program may run in several at once. So is a user's allocator called in several.
 *
 * Stacks. Compiling takes up to 256 KiB of stack; in a thread that has less left, the library compiles in
 * another thread, or fails with VF_ERR_MEMORY where none can be started.
 *
 * Lifetime. Graphs, programs and tensors may be destroyed in any order, the context before them too. Programs
 * need neither the graph that they were compiled from nor its values.
 *
 * Values of enumerations never change; new ones are added behind them.
 *
 * Arrays are dense and row-major, of elements as C has them: bool is one byte, 0 or 1; f16 and bf16 are their
 * bits in 16 bits. Shapes are lists of int64_t; a rank is at most 16. Axes count from the end when negative.
 */
#ifndef VIEWFOLD_H
#define VIEWFOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VF_API __attribute__((visibility("default")))
#else
#define VF_API
#endif

#define VF_VERSION        "0.1.0"
#define VF_VERSION_NUMBER 100        /* 10000 * major + 100 * minor + patch */
VF_API const char *vf_version(void); /* of the library that runs: compare with VF_VERSION */
/* The version of the library as a number: compare with VF_VERSION_NUMBER. */
VF_API int vf_version_number(void);

typedef enum vf_status {
  VF_OK = 0,
  VF_ERR_INVALID = 1,     /* bad argument, shape, axis, dtype, syntax */
  VF_ERR_MEMORY = 2,      /* the allocator returned NULL */
  VF_ERR_IO = 3,          /* a file could not be read or written */
  VF_ERR_UNSUPPORTED = 4, /* well formed, but no backend can do it */
  VF_ERR_COMPILE = 5,     /* code generation failed, or was forbidden */
  VF_ERR_DEVICE = 6,      /* device absent or failed */
  VF_ERR_RANGE = 7,       /* an index loaded at run time was out of range */
  VF_ERR_INTERNAL = 8,    /* a broken invariant inside viewfold: please report */
  VF_ERR_VALUE = 9,       /* an operation made a NaN or an infinity, in a run that stops there */
  VF_ERR_CANCELLED = 10   /* vf_cancel, or the function of vf_set_progress, has ended it */
} vf_status;

/* The reason why a function failed; VF_OK and an empty message where it did not. */
typedef struct vf_error {
  vf_status status;
  char message[1024];
} vf_error;

typedef enum vf_dtype {
  VF_NONE = 0, /* no dtype: of the error value */
  VF_BOOL = 1,
  VF_I8 = 2,
  VF_U8 = 3,
  VF_I16 = 4,
  VF_U16 = 5,
  VF_I32 = 6,
  VF_U32 = 7,
  VF_I64 = 8,
  VF_U64 = 9,
  VF_F16 = 10,
  VF_BF16 = 11,
  VF_F32 = 12,
  VF_F64 = 13,
  VF_INDEX = 14 /* of sizes: mathematical integers, never stored */
} vf_dtype;

VF_API const char *vf_status_text(vf_status status); /* "out of memory" */
VF_API const char *vf_dtype_name(vf_dtype dtype);    /* "f32"; "none" for what is no dtype */
VF_API size_t vf_dtype_bytes(vf_dtype dtype);        /* of one element; 0 for VF_NONE and VF_INDEX */
VF_API vf_dtype vf_dtype_parse(const char *name);    /* VF_NONE when there is none of that name */

/* A list for functions that take `int count, const int64_t *list`, such as VF_LIST(480, 640). */
#ifdef __cplusplus
}
struct vf_list {
  template <class... T> explicit vf_list(T... t) : items{static_cast<int64_t>(t)...}, count(sizeof...(t)) {}
  const int64_t *list() const { return items; }
  int64_t items[64];
  int count;
};
extern "C" {
#define VF_LIST(...) vf_list(__VA_ARGS__).count, vf_list(__VA_ARGS__).list()
#else
#define VF_LIST(...)                                                                                         \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#endif
#define VF_ALL 0, NULL /* in place of a list: every axis; the shape of a scalar */
typedef struct vf_context vf_context;
typedef struct vf_graph vf_graph;
typedef struct vf_program vf_program;
typedef struct vf_tensor vf_tensor;
/* A value of a graph, passed by value: a tensor, or an expression of sizes. Valid as long as its graph. All
 * zero, or a zero id, is the error value. */
typedef struct vf_value {
  vf_graph *graph;
  uint32_t id;
  uint32_t epoch;
} vf_value;

/* ------------------------------------------------------------------------------------- contexts */

/* new_size 0 frees, ptr NULL allocates, anything else resizes. old_size is always the true size. NULL: no
 * memory; the memory at ptr is then untouched. Memory is aligned as by malloc. */
typedef void *(*vf_allocator)(void *user, void *ptr, size_t old_size, size_t new_size);

enum {
  VF_NO_DISK = 1,    /* keep nothing on disk */
  VF_NO_COMPILE = 2, /* fail with VF_ERR_COMPILE instead of compiling: proves that all comes from the cache */
  VF_PERF_MAP = 4,   /* tell Linux perf about generated code */
  VF_STOP_AT_NAN = 8,  /* runs fail with VF_ERR_VALUE where an operation makes a NaN, or */
  VF_STOP_AT_INF = 16, /* an infinity, from inputs without one (see viewfold_inspect.h) */
  VF_RELAXED = 32      /* convolutions may have larger errors, products of bf16 subnormal numbers as 0 */
};

/* Where LLVM generates code. In another process, a crash or fatal error of LLVM, a lack of memory and a
 * compilation that exceeds its time become a status of the call that compiles. In this process LLVM ends the
 * process then, and no function of this header can promise otherwise while it compiles. A custom operation
 * given as C source is always compiled by `cc`, a separate process; an OpenCL driver compiles in the process
 * that it chooses. */
typedef enum vf_compile_mode {
  VF_COMPILE_DEFAULT = 0, /* VIEWFOLD_COMPILE=process or inprocess, else in this process */
  VF_COMPILE_IN_PROCESS = 1,
  VF_COMPILE_PROCESS = 2 /* one for the context, from its first compilation until it is destroyed */
} vf_compile_mode;

/* A value that vf_tap or vf_print shows while a program runs; valid during the call. */
typedef struct vf_tapped {
  size_t size;      /* sizeof(vf_tapped) */
  const char *name; /* of vf_tap; "" of vf_print */
  const char *text; /* of vf_print, with the elements in it; NULL of vf_tap */
  vf_dtype dtype;
  int rank, batch_dims; /* the first batch_dims axes are those of the batches that the value is in */
  const int64_t *shape;
  const void *elements;
} vf_tapped;
/* Called in a thread that runs a program, in several at once where several run. It must not run, compile or
 * record. */
typedef void (*vf_tap_function)(void *user, const vf_tapped *tapped);

/* A member that is zero takes its default: from the environment where a variable is named, else as said. */
typedef struct vf_options {
  size_t size;            /* sizeof(vf_options) */
  vf_allocator allocator; /* default: malloc and its family */
  void *allocator_user;
  int threads; /* that one program may use; VIEWFOLD_THREADS, else every processor that the process may use */
  uint32_t flags; /* VIEWFOLD_COMPILE=0 adds VF_NO_COMPILE, VIEWFOLD_PRECISION=relaxed VF_RELAXED, the words
                     perf, nan and inf in VIEWFOLD_DEBUG VF_PERF_MAP, VF_STOP_AT_NAN and VF_STOP_AT_INF; log
                     and cache there are for vf_set_log */
  const char *cache_dir; /* VIEWFOLD_CACHE_DIR, else viewfold in the user's cache directory; used only where
                            nobody but the user and root may write */
  const char *device;    /* "cpu", "c" (by the C compiler), "opencl" (the first), "opencl:N", "opencl:PART OF
                            NAME"; VIEWFOLD_DEVICE, else "cpu" */
  int64_t cache_bytes;   /* most bytes that the cache on disk may take; VIEWFOLD_CACHE_BYTES, else 256 MiB */
  int compile_mode;      /* a vf_compile_mode; the members below are for VF_COMPILE_PROCESS */
  int compile_seconds;   /* of processor time for one kernel; VIEWFOLD_COMPILE_SECONDS, else 300 */
  int64_t compile_bytes; /* of its private memory, at least 32 MiB; VIEWFOLD_COMPILE_BYTES, else no limit */
  const char
      *compile_program; /* default: viewfold-compile beside the library, in viewfold/ or ../lib/viewfold/ */
  vf_tap_function tap;  /* receives what vf_tap and vf_print show (viewfold_inspect.h) */
  void *tap_user;
  /* a processor, as "x86-64-v3", and `name=value` settings, as for `viewfold run --target`;
   * VF_ERR_UNSUPPORTED: this machine cannot run what is compiled for it (vf_build can) */
  const char *target;
} vf_options;

/* Owns caches, threads and settings. options may be NULL. NULL after failing: invalid settings
 * (VF_ERR_INVALID), no such device (VF_ERR_DEVICE), no memory. */
VF_API vf_context *vf_context_create(const vf_options *options, vf_error *error);
VF_API void vf_context_destroy(vf_context *context);

/* Texts that functions below return are freed with this. text may be NULL. */
VF_API void vf_text_free(vf_context *context, char *text);

/* --------------------------------------------------------------------------------------- graphs */

/* An empty graph. name is for texts and messages; NULL stands for "graph". */
VF_API vf_graph *vf_graph_create(vf_context *context, const char *name, vf_error *error);
VF_API void vf_graph_destroy(vf_graph *graph);

/* Parse the text form of graphs, as in a .vf file. file stands for the text in messages, which are
 * `FILE:LINE:COL: error: ...`. which: the name of the graph to return; NULL: the first that no other graph of
 * the text calls. */
VF_API vf_graph *vf_graph_parse(vf_context *context, const char *text, size_t length, const char *file,
                                const char *which, vf_error *error);
/* The graph as text, which vf_graph_parse reads back; free with vf_text_free. NULL after failing. */
VF_API char *vf_graph_text(vf_graph *graph, vf_error *error);
/* The graph as it stands at a stage of compilation: "graph", "kernels" (what each computes, fuses and
 * reads), "index" (views folded into index expressions), "loops", "llvm", "asm", "opencl", "c". */
VF_API char *vf_graph_dump(vf_graph *graph, const char *stage, vf_error *error);

/* The first error of the graph's builders. */
VF_API vf_status vf_graph_status(const vf_graph *graph);
VF_API const char *vf_graph_message(const vf_graph *graph); /* "" without an error; belongs to the graph */
VF_API void vf_graph_clear_error(vf_graph *graph); /* go on building; error values stay what they are */

/* Name a result. Outputs are in order of declaration; one name, one output. Returns value. */
VF_API vf_value vf_output(vf_graph *graph, const char *name, vf_value value);
/* The input, output or variable of that name; an error value (that notes no error) when there is none. */
VF_API vf_value vf_graph_find(vf_graph *graph, const char *name);

/* --------------------------------------------------------------------------------------- values */

VF_API bool vf_ok(vf_value value);              /* false for the error value */
VF_API vf_dtype vf_value_dtype(vf_value value); /* of a scalar without a dtype (vf_number, vf_integer) the one
                                                   that it has alone: i32, i64, u64 or f32 */
VF_API int vf_value_rank(vf_value value);       /* 0 for sizes; -1 for the error value */
/* The size of an axis; -1 when it depends on variables, or there is no such axis. */
VF_API int64_t vf_value_size(vf_value value, int axis);
/* All sizes into shape, which has room for them; returns the rank. */
VF_API int vf_value_shape(vf_value value, int64_t *shape);
/* Call the value by a name in messages; inputs and variables have theirs. Returns it. */
VF_API vf_value vf_name(vf_value value, const char *name);
/* The operation that makes the value, with operands and type, on one line; free with vf_text_free. NULL
 * without memory. */
VF_API char *vf_value_text(vf_value value);

/* --------------------------------------------------------------------------------------- leaves */

/* An array that a run supplies. Inputs are in order of declaration, and their names differ. */
VF_API vf_value vf_input(vf_graph *graph, const char *name, vf_dtype dtype, int rank, const int64_t *shape);
/* An input as of vf_input, whose sizes may be expressions of variables. */
VF_API vf_value vf_input_sized(vf_graph *graph, const char *name, vf_dtype dtype, int rank,
                               const vf_value *shape);
/* A size that a run supplies, lo <= size <= hi and a multiple of divisor (>= 1). Sizes can be added,
 * subtracted, multiplied, divided (vf_floordiv, vf_mod; the divisor is known to be >= 1) and compared by
 * vf_min and vf_max, among themselves and with vf_integer. */
VF_API vf_value vf_variable(vf_graph *graph, const char *name, int64_t lo, int64_t hi, int64_t divisor);

/* Scalars without a dtype of their own: they take that of the other operand. Alone, a number is f32, an
 * integer i32 or, where it does not fit, i64. An integer is also a size. */
VF_API vf_value vf_number(vf_graph *graph, double value);
VF_API vf_value vf_integer(vf_graph *graph, int64_t value);
VF_API vf_value vf_boolean(vf_graph *graph, bool value); /* of dtype bool */
/* A scalar of the dtype; element is one stored element. */
VF_API vf_value vf_constant(vf_graph *graph, vf_dtype dtype, const void *element);
/* An array of these elements, which are copied, unless the context holds an equal array already. Of more than
 * 1,024 bytes only a digest is part of the graph: it takes no time to print and to compile, and programs for
 * other elements of the same shape are the same code (viewfold_model.h). */
VF_API vf_value vf_data(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape,
                        const void *elements);
/* 0, 1, 2, ... along axis, the same along the others. Any dtype but bool. */
VF_API vf_value vf_iota(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape, int axis);
/* The scalar value everywhere. */
VF_API vf_value vf_full(vf_value value, int rank, const int64_t *shape);

/* -------------------------------------------------------------------------------- any operation */

/* An operation by the name that it has in text graphs, aliases included, with its attributes as written
 * there: vf_apply(graph, "reshape", &x, 1, "shape=[n//4,128]"). Expressions may use the graph's variables.
 * attributes may be NULL. */
VF_API vf_value vf_apply(vf_graph *graph, const char *operation, const vf_value *operands, int count,
                         const char *attributes);
/* As vf_apply, of an operation with several results, such as split, for `room` of which there is room;
 * entries without a result become error values. Returns how many results there are, -1 after failing. */
VF_API int vf_apply_all(vf_graph *graph, const char *operation, const vf_value *operands, int count,
                        const char *attributes, int room, vf_value *results);

/* -------------------------------------------------------------------------------------- batches */
/* A value may have batch axes before those of its shape: f32[7,5|10,3] has shape (10,3) in a batch of (7,5),
 * and is in memory, and for programs, an array of (7,5,10,3). Every operation is then done for each element
 * of the batch: shapes, ranks and axes never count batch axes. A result has the longest batch among its
 * operands; batches align at their ends, sizes equal or 1, and a value without batch axes is the same for
 * every element. vf_vmap is how functions get batches; the other functions here move single axes. */

VF_API int vf_value_batch_dims(vf_value value); /* how many batch axes; -1 for the error value */
/* All batch sizes, -1 where one depends on variables; returns how many. sizes NULL: only counts. */
VF_API int vf_value_batch(vf_value value, int64_t *sizes);
/* An input with batch axes: a run supplies an array of the batch's sizes, then those of the shape. */
VF_API vf_value vf_input_batched(vf_graph *graph, const char *name, vf_dtype dtype, int batch_dims,
                                 const int64_t *batch, int rank, const int64_t *shape);

/* The elements of x, of which the first batch_dims axes in memory are batch axes. */
VF_API vf_value vf_rebatch(vf_value x, int batch_dims);
VF_API vf_value vf_incr_batch_dims(vf_value x); /* the first axis of the shape becomes the last batch axis */
VF_API vf_value vf_decr_batch_dims(vf_value x); /* the last batch axis becomes the first of the shape */
VF_API vf_value vf_move_axis_to_batch_dims(vf_value x, int axis); /* it becomes the first batch axis */
/* A batch axis (from the end when negative) goes to that place of the shape. */
VF_API vf_value vf_move_axis_from_batch_dims(vf_value x, int batch_axis, int logical_destination);
/* batch_shape: the whole batch of the result; the batch of x aligns at its end. */
VF_API vf_value vf_broadcast_batch_dims(vf_value x, int count, const int64_t *batch_shape);
/* Operations on axes in memory, batch axes included; the number of batch axes stays. New axes of
 * vf_broadcast_to_physical come behind the batch. */
VF_API vf_value vf_unsqueeze_physical(vf_value x, int axis);
VF_API vf_value vf_squeeze_physical(vf_value x, int axis);
VF_API vf_value vf_broadcast_to_physical(vf_value x, int rank, const int64_t *shape);
VF_API vf_value vf_moveaxis_physical(vf_value x, int source, int destination);

/* A function that records: it gets arguments, calls builders, and sets every result. It is called while the
 * builder that takes it runs, once or more. Other values of the graph may be used in it: under vf_vmap they
 * are the same for every element, control flow passes them to it as well. It realises no tensor. What fails
 * inside is noted in the graph. */
typedef void (*vf_function)(void *user, const vf_value *arguments, vf_value *results);

#define VF_NOT_MAPPED (-2147483647 - 1)
typedef struct vf_map {
  size_t size; /* sizeof(vf_map) */
  int arguments, results;
  /* Per argument the axis that is mapped, per result where it goes, below 0 from the end; NULL: 0 for all.
   * VF_NOT_MAPPED: the same for every element; a result must not depend on a mapped argument. */
  const int *in_axes, *out_axes;
  int64_t axis_size; /* of the axis; -1: as the arguments say */
  const char *over;  /* mesh axes that divide it, as "[x]"; NULL: none */
} vf_map;
/* Apply function to every element along the mapped axes, and stack the results. function is called once, with
 * values that have one axis less. It may call vf_vmap and the derivatives in turn: inside, those are of each
 * element by itself. False after failing, with the reason noted in the graph and error values for all
 * results: no argument, or none that is mapped and no axis_size, sizes that differ, a scalar that is mapped,
 * an axis out of range, a result that depends on a mapped argument and is VF_NOT_MAPPED. */
VF_API bool vf_vmap(vf_graph *graph, const vf_map *map, vf_function function, void *user,
                    const vf_value *arguments, vf_value *results);

/* A value (count VF_LEAF), or a list of trees, which may have names. */
enum { VF_LEAF = -1 };
typedef struct vf_tree {
  int count;                /* of children, or VF_LEAF */
  vf_value value;           /* of a leaf */
  struct vf_tree *children; /* NULL where there are none */
  const char *const *keys;  /* one for each child, or NULL */
} vf_tree;
/* A prefix of such a tree: where it is a leaf, its axis is for every value below. Children are found by name
 * where both have names, else by index. */
typedef struct vf_axes {
  int count;
  int axis; /* of a leaf */
  const struct vf_axes *children;
  const char *const *keys;
} vf_axes;
/* The function sets the values of the leaves of results, which has the form that the caller gave it. */
typedef void (*vf_tree_function)(void *user, const vf_tree *arguments, vf_tree *results);
/* vf_vmap of a function of trees, of at most 32 levels. in_axes, out_axes NULL: 0 for all. */
VF_API bool vf_vmap_tree(vf_graph *graph, vf_tree_function function, void *user, const vf_tree *arguments,
                         const vf_axes *in_axes, const vf_axes *out_axes, int64_t axis_size,
                         vf_tree *results);

/* --------------------------------------------------------------------------------- control flow */
/* Functions (vf_function) nest at most 64 deep. In lists an operand may be a constant without a dtype
 * (vf_number): it takes the dtype that the function gives back for it, or its own; a function is then
 * recorded again. The lists together have at least one value, from which the graph is known. Arguments are
 * values inside the function alone. Results are error values after failing. Under vf_vmap functions are of
 * single elements, and each element of the batch takes its own branch and number of iterations; results have
 * the batch of all operands together. */

/* results[i] = the i-th result of `then` where predicate, a bool of rank 0, holds, else of `otherwise`. Both
 * are recorded, and only the chosen one is run; each result has the same shape and dtype in both. "cond" in
 * text graphs. */
VF_API void vf_cond(vf_value predicate, int operand_count, const vf_value *operands, vf_function then,
                    vf_function otherwise, void *user, int result_count, vf_value *results);
/* A loop on a state of `count` values, which begins with init. While condition, whose one result is a bool of
 * rank 0, holds for the state, body computes the next state, of the same shapes and dtypes. The loop ends
 * after max_trips iterations whether or not the condition holds; -1: any number. vf_vjp needs max_trips, and
 * takes memory for as many states. "while_loop" in text graphs. */
VF_API void vf_while_loop(vf_function condition, vf_function body, void *user, int count,
                          const vf_value *init, int64_t max_trips, vf_value *results);
/* body once for each index of the first axis of all xs, from the last one if reverse. Its arguments are the
 * state, beginning with init, and a slice of each xs, without that axis; its results are the next state, of
 * the same shapes and dtypes, and ys_count values, which are stacked along a new first axis, each at that
 * index. length: the size of the first axes, or -1; needed where there are no xs. With length 0 the state is
 * init and the stacks have no elements. vf_vjp takes memory for `length` states, or for smaller values from
 * which the derivative of an iteration can be computed. "scan" in text graphs. */
VF_API void vf_scan(vf_function body, void *user, int carry_count, const vf_value *init, int xs_count,
                    const vf_value *xs, int ys_count, int64_t length, bool reverse, vf_value *carries,
                    vf_value *ys);
/* The results of f, whose intermediate values vf_vjp recomputes from the operands instead of keeping them.
 * "checkpoint" in text graphs. */
VF_API void vf_checkpoint(vf_function f, void *user, int operand_count, const vf_value *operands,
                          int result_count, vf_value *results);

/* ---------------------------------------------------------------------------------- derivatives */
/* These record further values of the same graph, which are compiled with it and have derivatives themselves.
 * Inputs are any values of the graph that outputs may depend on, of a float dtype, and no vf_number; a result
 * has the shape and dtype of what it belongs to. Where there is no derivative: abs and relu have 0 at 0; a
 * maximum or minimum of equal elements shares equally among them; rounding, comparisons, indices (argmax),
 * integers and bool have derivative 0. The gradient of a gather adds up over equal indices; of several
 * updates that a scatter stores in one place, only the last has a derivative. In the session, a realised
 * value is an array and depends on nothing.
 *
 * Lists of `count` values; what fails is noted in the graph, as by every builder, and all results are then
 * error values: an input or an output that is no float, a cotangent or tangent of another shape or dtype than
 * what it belongs to, a size that must be known and is not. */

/* Reverse mode: gradients[i] = the sum over outputs of cotangent times derivative by inputs[i], zeros where
 * no output depends on it. cotangents NULL: 1 for every output, which must then be scalars. */
VF_API void vf_vjp(int output_count, const vf_value *outputs, const vf_value *cotangents, int input_count,
                   const vf_value *inputs, vf_value *gradients);
/* Forward mode: results[i] = how outputs[i] varies when the inputs vary by the tangents. */
VF_API void vf_jvp(int output_count, const vf_value *outputs, int input_count, const vf_value *inputs,
                   const vf_value *tangents, vf_value *results);
/* The gradients of a scalar (rank 0): vf_vjp of one output with cotangent 1. */
VF_API void vf_grad(vf_value output, int input_count, const vf_value *inputs, vf_value *gradients);
/* x, bit by bit; a constant for derivatives. "stop_gradient" in text graphs. */
VF_API vf_value vf_stop_gradient(vf_value x);

/* ------------------------------------------------------------------------------------- programs */

/* Compile what the outputs need, through the caches in memory and on disk. NULL after failing: for the reason
 * noted in the graph by a builder, if any; without outputs (VF_ERR_INVALID); because compiling fails
 * (VF_ERR_COMPILE, VF_ERR_UNSUPPORTED, VF_ERR_MEMORY). */
VF_API vf_program *vf_compile(vf_graph *graph, vf_error *error);
VF_API void vf_program_destroy(vf_program *program); /* after the last run has returned */

/* Run. inputs, outputs and variables are in order of declaration (vf_port_name); each buffer has the bytes
 * that vf_port_bytes says, is aligned as its elements are, and outputs overlap nothing. Lists without entries
 * may be NULL. References (vf_ref_input) are inputs that the run changes. VF_ERR_INVALID: a variable's value
 * is outside its range, sizes are too large, a buffer is NULL or not aligned, an output overlaps another one
 * or an input that is read, or a reference that is written overlaps anything; VF_ERR_RANGE: an index was out
 * of range; the outputs are then unspecified, a reference has what was written before, where in range. */
VF_API vf_status vf_program_run(const vf_program *program, const void *const *inputs, void *const *outputs,
                                const int64_t *variables, vf_error *error);

/* What vf_program_run does, computed by the reference evaluator: slow, plain, without compiling anything. It
 * is what compiled programs are tested against. */
VF_API vf_status vf_evaluate(vf_graph *graph, const void *const *inputs, void *const *outputs,
                             const int64_t *variables, vf_error *error);

/* Ports: the inputs and outputs of a program. Names and shapes belong to the program. */
typedef enum vf_port { VF_INPUT = 0, VF_OUTPUT = 1 } vf_port;
VF_API int vf_port_count(const vf_program *program, vf_port port);
VF_API const char *vf_port_name(const vf_program *program, vf_port port,
                                int number); /* NULL when there is none */
VF_API vf_dtype vf_port_dtype(const vf_program *program, vf_port port,
                              int number);                                    /* VF_NONE when there is none */
VF_API int vf_port_rank(const vf_program *program, vf_port port, int number); /* -1 when there is none */
/* The sizes for these values of the variables, into shape, which has room for the rank. */
VF_API vf_status vf_port_shape(const vf_program *program, vf_port port, int number, const int64_t *variables,
                               int64_t *shape, vf_error *error);
/* -1 after failing. */
VF_API int64_t vf_port_bytes(const vf_program *program, vf_port port, int number, const int64_t *variables,
                             vf_error *error);

/* How many variables a run takes the values of; 0 for NULL. */
VF_API int vf_variable_count(const vf_program *program);
VF_API const char *vf_variable_name(const vf_program *program, int number); /* NULL when there is none */
/* False when there is none. The pointers may be NULL. */
VF_API bool vf_variable_range(const vf_program *program, int number, int64_t *lo, int64_t *hi,
                              int64_t *divisor);

/* -------------------------------------------------------------------------------------- tensors */
/* A tensor is a value of the context's session, a graph that never ends, and computed when its elements are
 * first asked for: it is then realised, and what is recorded from it starts from its elements.
 *
 *   vf_tensor *x = vf_tensor_create(context, VF_F32, VF_LIST(3), data, NULL);
 *   vf_value two = vf_number(vf_session(context, NULL), 2);
 *   vf_tensor *y = vf_tensor_keep(vf_mul(vf_tensor_value(x), two), &error);
 *   const float *elements = vf_tensor_data(y, &error);
 *
 * Values of the session are valid until something is realised, tensors until they are released: get new
 * values with vf_tensor_value. Using an older one is an error that says so. Memory that no tensor needs is
 * freed as the session goes on. The session has no inputs, outputs and variables. */

/* The session's graph, for constants. NULL when memory is short. */
VF_API vf_graph *vf_session(vf_context *context, vf_error *error);

/* A realised tensor. elements are copied; NULL: all zero. */
VF_API vf_tensor *vf_tensor_create(vf_context *context, vf_dtype dtype, int rank, const int64_t *shape,
                                   const void *elements, vf_error *error);
/* Keep a value of the session. NULL after failing: a builder failed in the session, here or before. The
 * reason moves from the session to *error. */
VF_API vf_tensor *vf_tensor_keep(vf_value value, vf_error *error);
VF_API vf_value vf_tensor_value(const vf_tensor *tensor);

/* The elements, realising the tensor if need be. They stay in place until the tensor is released. NULL after
 * failing. */
VF_API const void *vf_tensor_data(vf_tensor *tensor, vf_error *error);
/* Realise several tensors by one program, which computes what they share once. */
VF_API vf_status vf_tensor_realise(vf_tensor *const *tensors, int count, vf_error *error);
VF_API bool vf_tensor_is_realised(const vf_tensor *tensor);

/* VF_NONE for NULL. */
VF_API vf_dtype vf_tensor_dtype(const vf_tensor *tensor);
VF_API int vf_tensor_rank(const vf_tensor *tensor); /* -1 for NULL */
VF_API int vf_tensor_shape(const vf_tensor *tensor,
                           int64_t *shape); /* has room for the rank, which is returned */
/* The bytes of its elements, realised or not; 0 for NULL. */
VF_API size_t vf_tensor_bytes(const vf_tensor *tensor);

/* One more reference, which needs a release of its own. Does nothing for NULL. */
VF_API void vf_tensor_retain(vf_tensor *tensor);
VF_API void
vf_tensor_release(vf_tensor *tensor); /* the last release of create, keep and each retain frees it */

/* Free now what no tensor needs. Invalidates the values of the session, as realising does. */
VF_API vf_status vf_session_collect(vf_context *context, vf_error *error);

/* --------------------------------------------------- functions of tensors, compiled when called */

/* A function that records the results of `inputs`, which are inputs of a separate graph; `statics` are as
 * given to the call. Called once for each signature: the dtypes and shapes of the tensors, and the values of
 * the statics. It declares no inputs, outputs and variables, and uses no values of other graphs: what it
 * needs of the session is an input. What fails is noted in the graph, as by every builder. */
typedef enum vf_static_kind { VF_STATIC_INTEGER = 0, VF_STATIC_REAL = 1, VF_STATIC_TEXT = 2 } vf_static_kind;
typedef struct vf_static {
  vf_static_kind kind;
  int64_t integer;
  double real;
  const char *text;
} vf_static;
typedef void (*vf_traced)(void *user, vf_graph *graph, const vf_value *inputs, const vf_static *statics,
                          vf_value *results);

/* Axis `axis` of input `input` may have any size lo..hi that divisor divides: one program serves them all.
 * Axes of one name have one size in each call. A call with another size is compiled for its sizes alone (a
 * fallback). divisor 0 stands for 1. */
typedef struct vf_dynamic {
  int input, axis;
  const char *name; /* of the variable that traced sees */
  int64_t lo, hi, divisor;
} vf_dynamic;

typedef struct vf_jit_options {
  size_t size;      /* sizeof(vf_jit_options) */
  const char *name; /* for messages; default "jit" */
  vf_traced function;
  void *user;
  int inputs, statics, results; /* how many of each; results >= 1 */
  int capacity;                 /* programs kept: the least recently used one goes; default 64 */
  int dynamic_count;
  const vf_dynamic *dynamic; /* copied, names too */
} vf_jit_options;
typedef struct vf_jit vf_jit;

/* NULL after failing: no function, invalid counts, a dynamic axis of no input, two axes of one name with
 * different bounds (VF_ERR_INVALID), no memory. */
VF_API vf_jit *vf_jit_create(vf_context *context, const vf_jit_options *options, vf_error *error);
VF_API void vf_jit_destroy(vf_jit *jit);

/* Call it: inputs are tensors of the context, which are realised; results are new tensors, realised, to be
 * released by the caller, all NULL after failing. A signature is compared in full; statics compare by value,
 * NaN equal to itself. Fails as builders, vf_compile and vf_program_run do. One thread at a time may use the
 * tensors of a context, and so its jits. */
VF_API vf_status vf_jit_call(vf_jit *jit, vf_tensor *const *inputs, const vf_static *statics,
                             vf_tensor **results, vf_error *error);

typedef struct vf_jit_stats {
  size_t size;                          /* sizeof(vf_jit_stats), set by the caller */
  int64_t hits, misses;                 /* calls whose program was kept, and not */
  int64_t fallbacks;                    /* misses for a size outside the declared bounds */
  int64_t evictions;                    /* programs that made room for others */
  int64_t entries;                      /* programs kept now */
  int64_t trace_ns, compile_ns, run_ns; /* all calls together */
} vf_jit_stats;
VF_API bool vf_jit_statistics(const vf_jit *jit,
                              vf_jit_stats *stats); /* false when an argument is NULL or size too small */

/* The context's programs, of graphs and of the session alike. */
typedef struct vf_cache_stats {
  size_t size;                            /* sizeof(vf_cache_stats), set by the caller */
  int64_t memory_hits, disk_hits, misses; /* programs looked for and found in memory, on disk, nowhere */
  int64_t invalidations;                  /* damaged or foreign entries on disk that were discarded */
  int64_t programs, kernels;              /* in memory now */
} vf_cache_stats;
VF_API bool vf_cache_statistics(vf_context *context,
                                vf_cache_stats *stats); /* false when an argument is NULL or size too small */

#ifdef __cplusplus
}
#endif
/* Further headers: operations, views, meshes, and more. */
#include "viewfold_operations.h"
#include "viewfold_data.h"
#include "viewfold_view.h"
#include "viewfold_mesh.h"
#include "viewfold_custom.h"
#include "viewfold_model.h"
#include "viewfold_build.h"
#include "viewfold_inspect.h"
#include "viewfold_log.h"
#include "viewfold_buffers.h"
#include "viewfold_places.h" /* the last: its macros have the names of the functions */

#endif
