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
 * Errors. Nothing here aborts, exits or prints. Builders take and return values; a builder that fails notes
 * the reason in the graph, where the first one stays, and returns the error value, which every other builder
 * passes on. So a chain of calls is checked once: vf_compile fails with that reason, and vf_graph_status and
 * vf_graph_message tell it. All other functions that can fail take a vf_error *, which may be NULL, and say
 * by their result that they failed. Every allocation may fail. NULL in place of an object is an error, and
 * nothing where something is to be freed.
 *
 * Threads. Contexts are independent of each other. In one context, a graph is for one thread at a time, and
 * so are all its tensors together; different graphs may be built and compiled in different threads, and a
 * program may be run in several threads at once. An allocator of one's own is therefore called from several
 * threads.
 *
 * Lifetime. Graphs, programs and tensors may be destroyed in any order, the context before them too. Programs
 * need neither the graph that they were compiled from nor its values.
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
VF_API int vf_version_number(void);

typedef enum vf_status {
  VF_OK = 0,
  VF_ERR_INVALID,     /* bad argument, shape, axis, dtype, syntax */
  VF_ERR_MEMORY,      /* the allocator returned NULL */
  VF_ERR_IO,          /* a file could not be read or written */
  VF_ERR_UNSUPPORTED, /* well formed, but no backend can do it */
  VF_ERR_COMPILE,     /* code generation failed, or was forbidden */
  VF_ERR_DEVICE,      /* device absent or failed */
  VF_ERR_RANGE,       /* an index loaded at run time was out of range */
  VF_ERR_INTERNAL     /* a broken invariant inside viewfold: please report */
} vf_status;

/* Where a function leaves why it failed; VF_OK and an empty message where it did not. */
typedef struct vf_error {
  vf_status status;
  char message[1024];
} vf_error;

typedef enum vf_dtype {
  VF_NONE = 0, /* no dtype: of the error value */
  VF_BOOL,
  VF_I8,
  VF_U8,
  VF_I16,
  VF_U16,
  VF_I32,
  VF_U32,
  VF_I64,
  VF_U64,
  VF_F16,
  VF_BF16,
  VF_F32,
  VF_F64,
  VF_INDEX /* of sizes: mathematical integers, never stored */
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

/* -------------------------------------------------------------------------------------------------------
 * contexts */

/* new_size 0 frees, ptr NULL allocates, anything else resizes. old_size is always the true size. NULL: no
 * memory; what was at ptr is then untouched. Memory is aligned as malloc does it. */
typedef void *(*vf_allocator)(void *user, void *ptr, size_t old_size, size_t new_size);

enum {
  VF_NO_DISK = 1, /* keep nothing on disk */
  VF_NO_COMPILE =
      2, /* fail with VF_ERR_COMPILE instead of compiling: proves that everything comes from the cache */
  VF_PERF_MAP = 4 /* tell Linux perf about generated code */
};

/* What is zero takes its default: from the environment where a variable is named, else as said. */
typedef struct vf_options {
  size_t size;            /* sizeof(vf_options) */
  vf_allocator allocator; /* default: malloc and its family */
  void *allocator_user;
  int threads;    /* that one program may use; VIEWFOLD_THREADS, else every processor that we may use */
  uint32_t flags; /* VIEWFOLD_COMPILE=0 adds VF_NO_COMPILE; the word perf in VIEWFOLD_DEBUG adds VF_PERF_MAP,
                     bisect=N refuses every rewrite of an index expression after the N-th */
  const char *cache_dir; /* VIEWFOLD_CACHE_DIR, else viewfold in the user's cache directory */
  const char *device;    /* "cpu"; VIEWFOLD_DEVICE, else "cpu" */
  int64_t cache_bytes;   /* most bytes that the cache on disk may take; default 256 MiB */
} vf_options;

/* Owns caches, threads and settings. options may be NULL. NULL after failing: settings that cannot be
 * (VF_ERR_INVALID), a device that is not there (VF_ERR_DEVICE), no memory. */
VF_API vf_context *vf_context_create(const vf_options *options, vf_error *error);
VF_API void vf_context_destroy(vf_context *context);

/* Texts that functions below return are freed with this. text may be NULL. */
VF_API void vf_text_free(vf_context *context, char *text);

/* ---------------------------------------------------------------------------------------------------------
 * graphs */

/* An empty graph. name is for texts and messages; NULL stands for "graph". */
VF_API vf_graph *vf_graph_create(vf_context *context, const char *name, vf_error *error);
VF_API void vf_graph_destroy(vf_graph *graph);

/* The text form of graphs, such as a .vf file holds. file stands for it in messages, which are
 * `FILE:LINE:COL: error: ...`; which is the name of the graph wanted, NULL for the
 * first that no other graph of the text calls. */
VF_API vf_graph *vf_graph_parse(vf_context *context, const char *text, size_t length, const char *file,
                                const char *which, vf_error *error);
/* The graph as text, which vf_graph_parse reads back; free with vf_text_free. NULL after failing. */
VF_API char *vf_graph_text(vf_graph *graph, vf_error *error);
/* The graph as it stands at a stage of compilation: "graph", "kernels" (what each computes, fuses and
 * reads), "index" (views folded into index expressions), "loops", "llvm", "asm". */
VF_API char *vf_graph_dump(vf_graph *graph, const char *stage, vf_error *error);

/* The first error of the graph's builders. */
VF_API vf_status vf_graph_status(const vf_graph *graph);
VF_API const char *vf_graph_message(const vf_graph *graph); /* "" without an error; belongs to the graph */
VF_API void vf_graph_clear_error(vf_graph *graph); /* go on building; error values stay what they are */

/* Name a result. Outputs are in order of declaration; one name, one output. Returns value. */
VF_API vf_value vf_output(vf_graph *graph, const char *name, vf_value value);
/* The input, output or variable of that name; an error value (that notes no error) when there is none. */
VF_API vf_value vf_graph_find(vf_graph *graph, const char *name);

/* ---------------------------------------------------------------------------------------------------------
 * values */

VF_API bool vf_ok(vf_value value);              /* is it no error value? */
VF_API vf_dtype vf_value_dtype(vf_value value); /* a weak constant's own: i32, i64, u64 or f32 */
VF_API int vf_value_rank(vf_value value);       /* 0 for sizes; -1 for the error value */
/* The size of an axis; -1 when it depends on variables, or there is no such axis. */
VF_API int64_t vf_value_size(vf_value value, int axis);
/* All sizes into shape, which has room for them; returns the rank. */
VF_API int vf_value_shape(vf_value value, int64_t *shape);
/* The operation that makes the value, with operands and type, on one line; free with vf_text_free. NULL
 * without memory. */
VF_API char *vf_value_text(vf_value value);

/* ----------------------------------------------------------------------------------------------------------
 * leaves */

/* What a run supplies, in order of declaration. One name, one input. */
VF_API vf_value vf_input(vf_graph *graph, const char *name, vf_dtype dtype, int rank, const int64_t *shape);
/* The same with sizes that may be expressions of variables. */
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
/* An array of literal elements, which are copied. */
VF_API vf_value vf_data(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape,
                        const void *elements);
/* 0, 1, 2, ... along axis, the same along the others. Any dtype but bool. */
VF_API vf_value vf_iota(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape, int axis);
/* The scalar value everywhere. */
VF_API vf_value vf_full(vf_value value, int rank, const int64_t *shape);

/* ------------------------------------------------------------------------------------------------------ any
 * operation */

/* An operation by the name that it has in text graphs, aliases included, with its attributes as written
 * there: vf_apply(graph, "reshape", &x, 1, "shape=[n//4,128]"). Expressions may use the graph's variables.
 * attributes may be NULL. */
VF_API vf_value vf_apply(vf_graph *graph, const char *operation, const vf_value *operands, int count,
                         const char *attributes);
/* The same for operations with several results, such as split: as many as there is room for; the rest of the
 * room becomes error values. Returns how many there are, -1 after failing. */
VF_API int vf_apply_all(vf_graph *graph, const char *operation, const vf_value *operands, int count,
                        const char *attributes, int room, vf_value *results);

/* -------------------------------------------------------------------------------------------------------
 * elementwise */
/* Operands broadcast to one shape as NumPy's do, and promote to one dtype: bool < integers < floats; two
 * integers to the smallest that holds both (u64 with a signed one: error), f16 with bf16 to f32. Arithmetic
 * is not for bool. Integers wrap; dividing one by zero gives 0. Floats follow IEEE 754, each operation
 * rounded to its dtype. */

VF_API vf_value vf_neg(vf_value x);
VF_API vf_value vf_abs(vf_value x);
VF_API vf_value vf_relu(vf_value x); /* max(x, 0) */
/* In f32 for bool and integers, in f64 for those of 64 bits. */
VF_API vf_value vf_sqrt(vf_value x);
VF_API vf_value vf_rsqrt(vf_value x);
VF_API vf_value vf_exp(vf_value x);
VF_API vf_value vf_exp2(vf_value x);
VF_API vf_value vf_log(vf_value x);
VF_API vf_value vf_log2(vf_value x);
VF_API vf_value vf_sin(vf_value x);
VF_API vf_value vf_cos(vf_value x);
VF_API vf_value vf_tanh(vf_value x);
VF_API vf_value vf_erf(vf_value x);
VF_API vf_value vf_sigmoid(vf_value x);
VF_API vf_value vf_expm1(vf_value x);  /* exp(x) - 1, accurate near 0 */
VF_API vf_value vf_log1p(vf_value x);  /* log(1 + x), likewise */
VF_API vf_value vf_erfinv(vf_value x); /* the inverse of vf_erf: infinite at -1 and 1, NaN beyond */
VF_API vf_value vf_tan(vf_value x);
VF_API vf_value vf_asin(vf_value x);
VF_API vf_value vf_acos(vf_value x);
VF_API vf_value vf_atan(vf_value x);
VF_API vf_value vf_sinh(vf_value x);
VF_API vf_value vf_cosh(vf_value x);
VF_API vf_value vf_asinh(vf_value x);
VF_API vf_value vf_acosh(vf_value x);
VF_API vf_value vf_atanh(vf_value x);
/* To an integer; integers stay. vf_round: to nearest, ties to even. */
VF_API vf_value vf_floor(vf_value x);
VF_API vf_value vf_ceil(vf_value x);
VF_API vf_value vf_trunc(vf_value x);
VF_API vf_value vf_round(vf_value x);
/* x itself, put in memory by a kernel of its own: what uses it reads it there, and never computes it again.
 */
VF_API vf_value vf_stored(vf_value x);

VF_API vf_value vf_add(vf_value a, vf_value b);
VF_API vf_value vf_sub(vf_value a, vf_value b);
VF_API vf_value vf_mul(vf_value a, vf_value b);
VF_API vf_value vf_div(vf_value a, vf_value b);      /* of integers in f32, f64 for 64 bits */
VF_API vf_value vf_floordiv(vf_value a, vf_value b); /* rounds towards minus infinity */
VF_API vf_value vf_mod(vf_value a, vf_value b);      /* a - b * floordiv(a, b): the sign of b */
VF_API vf_value vf_pow(vf_value a, vf_value b);      /* of integers: b >= 0 where it is a constant */
VF_API vf_value vf_min(vf_value a, vf_value b);      /* NaN where either is */
VF_API vf_value vf_max(vf_value a, vf_value b);
VF_API vf_value vf_fma(vf_value a, vf_value b, vf_value c); /* a * b + c rounded once; floats only */

/* Results are bool. Comparisons with NaN are false, ne true. */
VF_API vf_value vf_eq(vf_value a, vf_value b);
VF_API vf_value vf_ne(vf_value a, vf_value b);
VF_API vf_value vf_lt(vf_value a, vf_value b);
VF_API vf_value vf_le(vf_value a, vf_value b);
VF_API vf_value vf_gt(vf_value a, vf_value b);
VF_API vf_value vf_ge(vf_value a, vf_value b);

/* Operands become bool: != 0. */
VF_API vf_value vf_logical_and(vf_value a, vf_value b);
VF_API vf_value vf_logical_or(vf_value a, vf_value b);
VF_API vf_value vf_logical_xor(vf_value a, vf_value b);
VF_API vf_value vf_logical_not(vf_value x);
/* Bit by bit on integers; on bool the same as above. Not for floats. */
VF_API vf_value vf_bit_and(vf_value a, vf_value b);
VF_API vf_value vf_bit_or(vf_value a, vf_value b);
VF_API vf_value vf_bit_xor(vf_value a, vf_value b);
VF_API vf_value vf_bit_not(vf_value x);
/* Integers only. A count of the width or more shifts everything out; one that is negative gives 0, or is
 * refused where it is a constant. vf_shr keeps the sign of signed integers. */
VF_API vf_value vf_shl(vf_value x, vf_value count);
VF_API vf_value vf_shr(vf_value x, vf_value count);

/* a where condition, of dtype bool, holds, else b. */
VF_API vf_value vf_where(vf_value condition, vf_value a, vf_value b);
/* Float to integer truncates and saturates, NaN gives 0; integer to a narrower one wraps; to a float rounds
 * to nearest even; to bool is != 0. */
VF_API vf_value vf_cast(vf_value x, vf_dtype dtype);
/* The same bits as another dtype of the same size; not to bool. */
VF_API vf_value vf_bitcast(vf_value x, vf_dtype dtype);

/* -----------------------------------------------------------------------------------------------------------
 * views */
/* No view moves data: it changes how the values that use it compute their indices. Lists have one entry for
 * each axis of x unless said otherwise. */

VF_API vf_value vf_permute(vf_value x, int count,
                           const int64_t *order); /* axis i of the result is axis order[i] of x */
VF_API vf_value vf_swap_axes(vf_value x, int axis1, int axis2);
VF_API vf_value vf_move_axis(vf_value x, int source, int destination);
/* The same elements in row-major order; at most one size may be -1, which is inferred. */
VF_API vf_value vf_reshape(vf_value x, int rank, const int64_t *shape);
VF_API vf_value vf_flatten(vf_value x, int first, int last); /* axes first..last become one */
/* NumPy's broadcast_to: axes are added in front, sizes of 1 grow. */
VF_API vf_value vf_expand(vf_value x, int rank, const int64_t *shape);
VF_API vf_value vf_unsqueeze(vf_value x, int axis); /* a new axis of size 1 */
VF_API vf_value vf_squeeze(vf_value x, int count,
                           const int64_t *axes); /* drop axes of size 1; VF_ALL: each that is */
/* begin, end of each axis, half-open: count is twice the rank. */
VF_API vf_value vf_shrink(vf_value x, int count, const int64_t *bounds);
/* size elements from start on; a negative start counts from the end. */
VF_API vf_value vf_slice(vf_value x, int rank, const int64_t *start, const int64_t *size);
VF_API vf_value vf_stride(vf_value x, int count,
                          const int64_t *steps); /* Python's [::step] on each axis; not 0 */
VF_API vf_value vf_flip(vf_value x, int count, const int64_t *axes); /* any number of axes */
VF_API vf_value vf_point(vf_value x, int64_t index, int axis);       /* one position of an axis, which goes */
/* Elements before and after each axis: count is twice the rank. They are zero. */
VF_API vf_value vf_pad(vf_value x, int count, const int64_t *pads);
typedef enum vf_pad_mode { VF_PAD_CONSTANT, VF_PAD_EDGE, VF_PAD_REFLECT, VF_PAD_WRAP } vf_pad_mode;
/* The same with another fill: the scalar constant value (VF_PAD_CONSTANT; its dtype must hold it), or
 * elements of x as numpy.pad has them: the nearest, those mirrored at the edge without repeating it, or those
 * of the other end, again and again where the pad is wider than the axis; value is then the error value. */
VF_API vf_value vf_pad_with(vf_value x, int count, const int64_t *pads, vf_pad_mode mode, vf_value value);
/* Operands promote to one dtype. vf_concat: equal sizes but along axis; vf_stack: equal shapes, axis is new.
 */
VF_API vf_value vf_concat(const vf_value *x, int count, int axis);
VF_API vf_value vf_stack(const vf_value *x, int count, int axis);

/* The same views with sizes that may be expressions of variables. */
VF_API vf_value vf_reshape_sized(vf_value x, int rank, const vf_value *shape);
VF_API vf_value vf_expand_sized(vf_value x, int rank, const vf_value *shape);
VF_API vf_value vf_shrink_sized(vf_value x, int count, const vf_value *bounds);
VF_API vf_value vf_pad_sized(vf_value x, int count, const vf_value *pads);
VF_API vf_value vf_full_sized(vf_value value, int rank, const vf_value *shape);

/* ----------------------------------------------------------------------------------------------- the view
 * algebra */
/* A vf_view says where an array's elements lie, apart from any array: one or more views (shape; strides;
 * offset; mask), the one next to the buffer first, each later one addressing the elements of the one before
 * in row-major order. A view reads, at position i, element offset + sum(i[k] * strides[k]) where
 * begin[k] <= i[k] < end[k] on every axis, and nothing elsewhere. Strides and offsets count elements; masks
 * are half-open pairs. Sizes, strides, offsets and masks may be expressions of the graph's variables.
 *
 * Whatever one view can say is one view, and it is canonical: axes of size 1 and axes of which the mask
 * leaves one position have stride 0, a mask that leaves everything is none, one that leaves nothing has
 * strides, offset and mask of 0. So two views of numbers are equal exactly when they read the same elements.
 * The algebra is that of tinygrad's ShapeTracker; that a chain which one view can say becomes one is
 * viewfold's.
 *
 * A vf_view is a value of its graph, like vf_value: builders note errors in the graph and pass the error
 * value on; nothing is freed. */
typedef struct vf_view {
  vf_graph *graph;
  uint32_t id;
  uint32_t epoch;
} vf_view;

/* strides NULL: row-major. mask: begin, end of each axis, 0 <= begin, end <= size; NULL: none. Refuses
 * negative sizes, ranks above 16, strides and offsets that can leave 64 bits. */
VF_API vf_view vf_view_create(vf_graph *graph, int rank, const int64_t *shape, const int64_t *strides,
                              int64_t offset, const int64_t *mask);
/* The same with expressions of variables; an offset that is the error value stands for 0. */
VF_API vf_view vf_view_create_sized(vf_graph *graph, int rank, const vf_value *shape, const vf_value *strides,
                                    vf_value offset, const vf_value *mask);
/* What a recorded value's views do to the array that they start from, batch axes first. Refuses pads by
 * elements and gathers. */
VF_API vf_view vf_view_of(vf_value x);

/* As vf_permute, vf_expand (of the same rank), ... do, and with their errors. */
VF_API vf_view vf_view_permute(vf_view view, int count, const int64_t *order);
VF_API vf_view vf_view_expand(vf_view view, int rank, const int64_t *shape);
VF_API vf_view vf_view_reshape(vf_view view, int rank, const int64_t *shape);
VF_API vf_view vf_view_shrink(vf_view view, int count, const int64_t *bounds);
VF_API vf_view vf_view_pad(vf_view view, int count, const int64_t *pads);
VF_API vf_view vf_view_stride(vf_view view, int count, const int64_t *steps); /* -1 flips */
VF_API vf_view vf_view_expand_sized(vf_view view, int rank, const vf_value *shape);
VF_API vf_view vf_view_reshape_sized(vf_view view, int rank, const vf_value *shape);
VF_API vf_view vf_view_shrink_sized(vf_view view, int count, const vf_value *bounds);
VF_API vf_view vf_view_pad_sized(vf_view view, int count, const vf_value *pads);
/* Row-major, of the same shape but for size 1 on these axes: what a reduction over them leaves. */
VF_API vf_view vf_view_reduce(vf_view view, int count, const int64_t *axes);

/* later addresses the elements of nearer, in row-major order. Refuses positions that nearer does not have. */
VF_API vf_view vf_view_chain(vf_view nearer, vf_view later);
/* The last view with neighbouring axes that are walked as one made one. */
VF_API vf_view vf_view_minify(vf_view view);
/* The view that leads back: vf_view_chain(view, it) reads an array of this shape in order. Checked to do so.
 * An error value (that notes no error) when there is none: elements are repeated or left out. */
VF_API vf_view vf_view_invert(vf_view view, int rank, const int64_t *shape);
/* Variables replaced by values. Refuses values outside their bounds, and two for one variable. */
VF_API vf_view vf_view_bind(vf_view view, int count, const vf_value *variables, const int64_t *values);

VF_API bool vf_view_ok(vf_view view);   /* is it no error value? */
VF_API int vf_view_count(vf_view view); /* views in the chain; -1 of the error value */
VF_API int vf_view_rank(vf_view view);  /* axes of the last one; -1 of the error value */
/* The number-th view from the buffer: returns its rank, or -1 when there is none or it depends on variables.
 * What is not NULL has room for 16 entries, mask for 32. */
VF_API int vf_view_get(vf_view view, int number, int64_t *shape, int64_t *strides, int64_t *offset,
                       int64_t *mask);
VF_API bool vf_view_equal(vf_view a, vf_view b); /* of one graph */
/* < 0, 0, > 0: an order for sorting, by shape, strides, offset, mask. */
VF_API int vf_view_compare(vf_view a, vf_view b);
VF_API bool vf_view_contiguous(vf_view view);  /* every element in order, from the first on */
VF_API bool vf_view_consecutive(vf_view view); /* the same, from any offset on */
VF_API int64_t vf_view_size(vf_view view);     /* elements; of variables, the most; -1 of the error value */
/* How many elements the buffer must have for those that are read; 0 where nothing is. -1 after failing. */
VF_API int64_t vf_view_real_size(vf_view view, vf_error *error);
/* How far one step along each axis moves in the buffer. known[k] is false where that depends on the position,
 * on variables, or, unless ignore_valid, where axis k decides whether anything is read. */
VF_API vf_status vf_view_real_strides(vf_view view, bool ignore_valid, int64_t *strides, bool *known,
                                      vf_error *error);
/* Sets of axes, bit k for axis k: those of real stride 1; those that decide whether anything is read. */
VF_API uint32_t vf_view_unit_axes(vf_view view, bool ignore_valid, vf_error *error);
VF_API uint32_t vf_view_masked_axes(vf_view view, vf_error *error);
/* The variables in it, as many as there is room for; returns how many there are, -1 after failing. */
VF_API int vf_view_variables(vf_view view, int room, vf_value *variables);
/* `V((4,3);(3,1);-3;((1,3),(0,3)))`, one line for each view; free with vf_text_free. */
VF_API char *vf_view_text(vf_view view, vf_error *error);
/* Where a position is read, as `viewfold index` prints it: an expression, and a line `valid: ...` unless it
 * is always. Positions are count sizes, one for each axis, or, where at is NULL, ranges ridx0, ridx1, ...;
 * free with vf_text_free. */
VF_API char *vf_view_index(vf_view view, int count, const vf_value *at, vf_error *error);

/* -------------------------------------------------------------------------------------------------------
 * batches */
/* A value may have batch axes before those of its shape: f32[7,5|10,3] has shape (10,3) in a batch of (7,5),
 * and is in memory, and for programs, an array of (7,5,10,3). Every operation is then done for each element
 * of the batch: shapes, ranks and axes never count batch axes. A result has the longest batch among its
 * operands; batches align at their ends, sizes equal or 1, and a value without is the same for every element.
 * vf_vmap is how functions get batches; the other functions here move single axes. */

VF_API int vf_value_batch_dims(vf_value value); /* how many batch axes; -1 for the error value */
/* All batch sizes, -1 where one depends on variables; returns how many. sizes NULL: only counts. */
VF_API int vf_value_batch(vf_value value, int64_t *sizes);
/* An input with batch axes: a run supplies an array of the batch's sizes, then those of the shape. */
VF_API vf_value vf_input_batched(vf_graph *graph, const char *name, vf_dtype dtype, int batch_dims,
                                 const int64_t *batch, int rank, const int64_t *shape);

/* The same elements, of which the first batch_dims axes in memory are batch axes. */
VF_API vf_value vf_rebatch(vf_value x, int batch_dims);
VF_API vf_value vf_incr_batch_dims(vf_value x); /* the first axis of the shape becomes the last batch axis */
VF_API vf_value vf_decr_batch_dims(vf_value x); /* the last batch axis becomes the first of the shape */
VF_API vf_value vf_move_axis_to_batch_dims(vf_value x, int axis); /* it becomes the first batch axis */
/* A batch axis (from the end when negative) goes to that place of the shape. */
VF_API vf_value vf_move_axis_from_batch_dims(vf_value x, int batch_axis, int logical_destination);
/* The whole batch of the result; that of x aligns at its end. */
VF_API vf_value vf_broadcast_batch_dims(vf_value x, int count, const int64_t *batch_shape);
/* Axes in memory, batch axes included; the number of batch axes stays. New axes of vf_broadcast_to_physical
 * come behind the batch. */
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
  /* Per argument the axis that is mapped, and per result where it goes; from the end when negative, or
   * VF_NOT_MAPPED: the argument is the same for every element; so is the result, which must not depend on
   * what is mapped. NULL: 0 for all. */
  const int *in_axes, *out_axes;
  int64_t axis_size; /* of the axis; -1: as the arguments say */
} vf_map;
/* function for every element along the mapped axes, stacked; called once, with values that have one axis
 * less. It may call vf_vmap and the derivatives in turn: inside, those are of each element by itself. False
 * after failing, as every builder notes it; all results are then error values: no argument, or none that is
 * mapped and no axis_size, sizes that differ, a scalar that is mapped, an axis out of range, a result that
 * depends on what is mapped and is VF_NOT_MAPPED. */
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
 * where both have names, else by position. */
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

/* ----------------------------------------------------------------------------------- reductions, products,
 * indirection */

/* Over the axes listed, or VF_ALL. They go, or stay with size 1 if keepdims. Sums and products of bool and
 * integers of up to 32 bits are i32, or u32 of unsigned ones; f16 and bf16 accumulate in f32. The order of
 * combination depends on the shape alone. Of nothing: sum 0, product 1, mean NaN, any false, all true; max
 * and min are refused. */
VF_API vf_value vf_sum(vf_value x, int count, const int64_t *axes, bool keepdims);
VF_API vf_value vf_prod(vf_value x, int count, const int64_t *axes, bool keepdims);
VF_API vf_value vf_mean(vf_value x, int count, const int64_t *axes,
                        bool keepdims); /* of integers in f32, f64 */
VF_API vf_value vf_reduce_max(vf_value x, int count, const int64_t *axes,
                              bool keepdims); /* NaN where there is one */
VF_API vf_value vf_reduce_min(vf_value x, int count, const int64_t *axes, bool keepdims);
VF_API vf_value vf_any(vf_value x, int count, const int64_t *axes,
                       bool keepdims); /* is any element != 0? bool */
VF_API vf_value vf_all(vf_value x, int count, const int64_t *axes, bool keepdims);
/* Position of the first largest (smallest) element along axis, or of the first NaN; i64. */
VF_API vf_value vf_argmax(vf_value x, int axis, bool keepdims);
VF_API vf_value vf_argmin(vf_value x, int axis, bool keepdims);

/* NumPy's matmul: the last two axes multiply as matrices, those before broadcast; a vector gets an axis that
 * goes again. Accumulates as vf_sum does. */
VF_API vf_value vf_matmul(vf_value a, vf_value b);

typedef enum vf_gather_mode { VF_GATHER_CHECK, VF_GATHER_CLIP, VF_GATHER_FILL } vf_gather_mode;
/* x taken along axis at indices of any integer dtype, negative ones from the end; shape x[:axis] ++ indices
 * ++ x[axis+1:]. What is out of range fails the run with VF_ERR_RANGE, is moved to the nearest element, or
 * reads as 0. */
VF_API vf_value vf_gather(vf_value x, vf_value indices, int axis, vf_gather_mode mode);
/* The same where the first `batch` axes of x and of the indices are shared: equal sizes, all before axis.
 * Shape x[:axis] ++ indices[batch:] ++ x[axis+1:]. */
VF_API vf_value vf_gather_batched(vf_value x, vf_value indices, int axis, int batch, vf_gather_mode mode);
/* x with updates stored, or added, along axis at the indices, in row-major order of the updates: where an
 * index is there twice the last one stays, and sums have one order. Updates broadcast to the shape that
 * vf_gather would give, and have a dtype that that of x holds, which the result keeps; f16 and bf16
 * accumulate in f32, bool does not add up. What is out of range fails the run with VF_ERR_RANGE, whether or
 * not it would be read; goes to the nearest element; or is left out. */
VF_API vf_value vf_scatter(vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode);
VF_API vf_value vf_scatter_add(vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode);

/* Along one axis, in its order; the shape stays. The result up to each element, that included, of the
 * operations above: dtypes, accumulation and NaN are theirs. Operations backwards: vf_flip before and after;
 * without the element itself: vf_apply(..., "axis=0 exclusive=true"). Gradients of all but vf_cumsum take n^2
 * operations for n elements. */
VF_API vf_value vf_cumsum(vf_value x, int axis);
VF_API vf_value vf_cumprod(vf_value x, int axis);
VF_API vf_value vf_cummax(vf_value x, int axis);
VF_API vf_value vf_cummin(vf_value x, int axis);
/* The elements in ascending or descending order, and the positions (i64) that they had. Equal elements keep
 * their order, in either direction; zeros of either sign are equal, and so are NaNs, which are greater than
 * all numbers. An axis of at most 2^32 elements; of a variable size, the cost is that of the largest. */
VF_API vf_value vf_sort(vf_value x, int axis, bool descending);
VF_API vf_value vf_argsort(vf_value x, int axis, bool descending);
/* The first k elements of the axis as vf_sort orders it, descending if largest, into results[0]; their
 * positions into results[1]. 0 <= k <= size. Returns 2, or -1 after failing: both are then error values. */
VF_API int vf_topk(vf_value x, int k, int axis, bool largest, vf_value results[2]);

/* -----------------------------------------------------------------------------------------------
 * compositions
 */
/* Recorded as several of the operations above. Where they compute with floats, bool and integers become f32
 * (f64 of 64 bits); f16 and bf16 are computed in f32 and rounded once, at the end. */

/* exp(x) over its sum along axis, its logarithm, and the logarithm of the sum over the axes listed, or
 * VF_ALL: all shifted by the maximum, so that nothing overflows. Of -inf alone: NaN, NaN and -inf. Of
 * nothing: refused. */
VF_API vf_value vf_softmax(vf_value x, int axis);
VF_API vf_value vf_log_softmax(vf_value x, int axis);
VF_API vf_value vf_logsumexp(vf_value x, int count, const int64_t *axes, bool keepdims);
/* Activations. vf_silu: x sigmoid(x). vf_gelu: x Phi(x) by erf, or its approximation by tanh. vf_softplus:
 * log(1 + exp(x)). vf_leaky_relu, vf_elu: x where x > 0, else alpha x, alpha (exp(x) - 1). Those of -inf that
 * are 0 * -inf, of vf_silu and vf_gelu, are NaN. */
VF_API vf_value vf_silu(vf_value x);
VF_API vf_value vf_gelu(vf_value x, bool tanh_form);
VF_API vf_value vf_softplus(vf_value x);
VF_API vf_value vf_leaky_relu(vf_value x, double alpha);
VF_API vf_value vf_elu(vf_value x, double alpha);
/* 1 / x, in f32 or f64 of integers; x * x; -1, 0 or 1, NaN of NaN, in the dtype of x, a constant to
 * derivatives. */
VF_API vf_value vf_reciprocal(vf_value x);
VF_API vf_value vf_square(vf_value x);
VF_API vf_value vf_sign(vf_value x);
/* vf_min(vf_max(x, low), high); (vf_value){0} for no bound. */
VF_API vf_value vf_clip(vf_value x, vf_value low, vf_value high);
/* Attention, softmax(q k^T scale + mask) v, of q [..., n, d], k [..., m, d] and v [..., m, c] with m >= 1;
 * the axes before broadcast, and the result is [..., n, c]. mask broadcasts to [..., n, m]: bool, true where
 * a key takes part, or floats that are added; (vf_value){0} for none. causal: query i takes keys 0 to i
 * alone. scale 0 stands for 1 / sqrt(d). A query that no key is left for gets 0. */
VF_API vf_value vf_attention(vf_value q, vf_value k, vf_value v, vf_value mask, double scale, bool causal);
/* Squared deviations from the mean, summed, over max(elements - correction, 0); and the root of that.
 * correction >= 0: 0 for a population, 1 for a sample. */
VF_API vf_value vf_var(vf_value x, int count, const int64_t *axes, bool keepdims, double correction);
VF_API vf_value vf_std(vf_value x, int count, const int64_t *axes, bool keepdims, double correction);
/* Over the axes from axis to the last: (x - mean) / sqrt(variance + eps) * weight + bias, and
 * x / sqrt(mean of squares + eps) * weight. weight and bias broadcast to those axes; (vf_value){0} stands for
 * none, a bias comes with a weight. */
VF_API vf_value vf_layer_norm(vf_value x, vf_value weight, vf_value bias, int axis, double eps);
VF_API vf_value vf_rms_norm(vf_value x, vf_value weight, int axis, double eps);

/* Each line of the axis by indices of its own, as NumPy's take_along_axis and put_along_axis. x and the
 * indices have one rank; their other sizes broadcast, in the second and third to those of x, and updates to
 * what they replace. */
VF_API vf_value vf_take_along_axis(vf_value x, vf_value indices, int axis, vf_gather_mode mode);
VF_API vf_value vf_scatter_along_axis(vf_value x, vf_value indices, vf_value updates, int axis,
                                      vf_gather_mode mode);
VF_API vf_value vf_scatter_add_along_axis(vf_value x, vf_value indices, vf_value updates, int axis,
                                          vf_gather_mode mode);
/* x with the window that begins at start[count], negative from the end, replaced by the update, which
 * broadcasts to size[count]; NULL: its own size. The window lies within x. */
VF_API vf_value vf_slice_update(vf_value x, vf_value update, int count, const int64_t *start,
                                const int64_t *size);

/* Several results, which are views but for vf_minmax. They return how many there are, -1 after failing: all
 * results are then error values. vf_split: equal parts of an axis, as many as results has room for. vf_chunk:
 * the same number, the first size mod chunks of them one longer; none is empty, so there may be fewer.
 * vf_unbind: every position of an axis, which goes; as many as there is room for. vf_minmax: least and
 * greatest, as vf_reduce_min and vf_reduce_max. */
VF_API int vf_split(vf_value x, int parts, int axis, vf_value *results);
VF_API int vf_chunk(vf_value x, int chunks, int axis, vf_value *results);
VF_API int vf_unbind(vf_value x, int axis, int room, vf_value *results);
VF_API int vf_minmax(vf_value x, int count, const int64_t *axes, bool keepdims, vf_value results[2]);

VF_API vf_value vf_zeros(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape);
VF_API vf_value vf_ones(vf_graph *graph, vf_dtype dtype, int rank, const int64_t *shape);
/* start, start + step, ... before stop; step is not 0. Integers are exact, and must be of the dtype; others
 * are computed in f64 and rounded. Any dtype but bool. */
VF_API vf_value vf_arange(vf_graph *graph, vf_dtype dtype, int64_t start, int64_t stop, int64_t step);
VF_API vf_value vf_arange_real(vf_graph *graph, vf_dtype dtype, double start, double stop, double step);
/* num numbers at equal distances, both ends included; in f64, then rounded. */
VF_API vf_value vf_linspace(vf_graph *graph, vf_dtype dtype, double start, double stop, int64_t num);
/* Diagonal k of a matrix is where column - row = k. vf_eye: ones there, zeros elsewhere; vf_tril and vf_triu:
 * x with zeros above, below it, in the last two axes. */
VF_API vf_value vf_eye(vf_graph *graph, vf_dtype dtype, int64_t rows, int64_t columns, int64_t diagonal);
VF_API vf_value vf_tril(vf_value x, int64_t diagonal);
VF_API vf_value vf_triu(vf_value x, int64_t diagonal);

/* Random numbers, by Threefry-2x32 with 20 rounds (Salmon et al. 2011). What is drawn depends on the seed,
 * the shape's row-major order and nothing else: it is the same in every program, on every backend. Draws of
 * one seed are the same numbers, so give each its own. seed: a scalar of any integer dtype, modulo 2^64;
 * vf_integer, or an input that each run supplies.
 *
 * vf_uniform: low <= x < high, of 24 random bits (53 in f64). vf_normal: the inverse of its distribution
 * function at such numbers, halfway between: at most 5.5 standard deviations away (8.3 in f64). dtype is a
 * float dtype. vf_bernoulli: true with probability p, of dtype bool: where vf_uniform of f32, 0 and 1 is less
 * than p. Derivatives take draws for constants; for a mean or bounds that learn, draw with 0 and 1 and
 * compute the rest. */
VF_API vf_value vf_uniform(vf_value seed, vf_dtype dtype, int rank, const int64_t *shape, double low,
                           double high);
VF_API vf_value vf_normal(vf_value seed, vf_dtype dtype, int rank, const int64_t *shape, double mean,
                          double std);
VF_API vf_value vf_bernoulli(vf_value seed, int rank, const int64_t *shape, double p);
/* The generator itself: two random words from a key and a counter of two words each, tensors of u32 that
 * broadcast. The words of (seed modulo 2^32, seed // 2^32) and (i, 0), say, are a seed for the i-th part of a
 * program. Returns 2, -1 after failing. */
VF_API int vf_threefry2x32(const vf_value key[2], const vf_value counter[2], vf_value words[2]);

/* NumPy's einsum, "ij,jk->ik": letters label axes, ... any number of them; without -> the result has the axes
 * of ... and the letters that stand once, in ASCII's order. A label twice in a term is its diagonal; sizes of
 * a label are equal or 1. Accumulates as vf_matmul does. At most 32 operands, contracted from left to right.
 */
VF_API vf_value vf_einsum(const char *equation, const vf_value *x, int count);

/* Convolutions over count spatial axes: x is [batch, channels, spatial...], weight [channels of the result,
 * channels / groups, extents...] (of a transposed one [channels, channels of the result / groups,
 * extents...]), bias [channels of the result], or (vf_value){0} for none. Lists have one entry for each
 * spatial axis; NULL stands for stride 1, padding 0 (zeros, on both sides), output_padding 0, dilation 1.
 * Accumulate as vf_matmul does. */
VF_API vf_value vf_conv(vf_value x, vf_value weight, vf_value bias, int count, const int64_t *stride,
                        const int64_t *padding, const int64_t *dilation, int64_t groups);
VF_API vf_value vf_conv_transpose(vf_value x, vf_value weight, vf_value bias, int count,
                                  const int64_t *stride, const int64_t *padding,
                                  const int64_t *output_padding, const int64_t *dilation, int64_t groups);
/* The greatest or the mean of each window over the last count axes. stride NULL: that of kernel. Padding is
 * at most half a window; vf_max_pool never takes an element of it, vf_avg_pool counts it as zeros if
 * count_pads. */
VF_API vf_value vf_max_pool(vf_value x, int count, const int64_t *kernel, const int64_t *stride,
                            const int64_t *padding, const int64_t *dilation);
VF_API vf_value vf_avg_pool(vf_value x, int count, const int64_t *kernel, const int64_t *stride,
                            const int64_t *padding, bool count_pads);
/* ------------------------------------------------------------------------------------------------------
 * control flow */
/* Functions (vf_function) nest at most 64 deep. In lists an operand may be a constant without a dtype
 * (vf_number): it takes the dtype that the function gives back for it, or its own. Results are error values
 * after failing. */

/* results[i] = the i-th result of `then` where predicate, a bool of rank 0, holds, else of `otherwise`. Both
 * are recorded, and only the one taken is run; each result has one shape and dtype in both. "cond" in text
 * graphs. */
VF_API void vf_cond(vf_value predicate, int operand_count, const vf_value *operands, vf_function then,
                    vf_function otherwise, void *user, int result_count, vf_value *results);
/* The state, `count` values beginning with init: body gives the next one as long as condition, whose one
 * result is a bool of rank 0, holds of it; shapes and dtypes stay. At most max_trips rounds, then it ends
 * whether or not the condition holds; -1: any number. vf_vjp needs max_trips, and takes memory for as many
 * states. "while_loop" in text graphs. */
VF_API void vf_while_loop(vf_function condition, vf_function body, void *user, int count,
                          const vf_value *init, int64_t max_trips, vf_value *results);
/* body once for each position of the first axis of all xs, from the last one if reverse. Its arguments are
 * the state, beginning with init, and a slice of each xs, without that axis; its results are the next state,
 * of the same shapes and dtypes, and ys_count values, which are stacked along a new first axis, each at its
 * position. length: that of the first axes, or -1; needed where there are no xs. Of length 0 the state is
 * init and the stacks have no elements. vf_vjp takes memory for as many states. "scan" in text graphs. */
VF_API void vf_scan(vf_function body, void *user, int carry_count, const vf_value *init, int xs_count,
                    const vf_value *xs, int ys_count, int64_t length, bool reverse, vf_value *carries,
                    vf_value *ys);
/* The results of f, whose values vf_vjp computes again from the operands instead of keeping them.
 * "checkpoint" in text graphs. */
VF_API void vf_checkpoint(vf_function f, void *user, int operand_count, const vf_value *operands,
                          int result_count, vf_value *results);

/* ------------------------------------------------------------------------------------------------------
 * derivatives */
/* These record further values of the same graph: they compile with the rest, and have derivatives themselves.
 * Inputs are any values of the graph that outputs may depend on, of a float dtype and no constants; a result
 * has the shape and dtype of what it belongs to. Where there is no derivative: abs and relu have 0 at 0; a
 * maximum or minimum of equal elements shares equally among them; rounding, comparisons, positions (argmax),
 * integers and bool pass nothing on. A gather adds up what each index picked; of what a scatter stores in one
 * place, the last update alone has a derivative. In the session, what is
 * realised is an array and depends on nothing.
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
/* x, bit by bit, which derivatives take for a constant. "stop_gradient" in text graphs. */
VF_API vf_value vf_stop_gradient(vf_value x);

/* -------------------------------------------------------------------------------------------------------
 * custom operations */
/* An operation of one's own: registered in a context by name, it is used like any other: in text graphs, by
 * vf_apply and vf_apply_all, under vf_vjp and vf_jvp, in compiled programs and by vf_evaluate. It is a
 * function of its operands and attributes alone: equal uses may become one call, and what nobody needs is not
 * called. */

/* The value of an attribute: of VF_I64 and VF_BOOL in i, of VF_F64 in f. */
typedef union vf_op_scalar {
  int64_t i;
  double f;
} vf_op_scalar;

typedef struct vf_op_attribute {
  const char *name;
  vf_dtype dtype; /* VF_BOOL, VF_I64 or VF_F64 */
  bool optional;
  vf_op_scalar value; /* where it is optional and not given */
} vf_op_attribute;

/* One use of the operation, for the functions below. They record into the graph, and return false after
 * failing: for a reason that a builder has noted in the graph, or that they write to `message`, which has
 * room for 256 bytes. */
typedef struct vf_op_call {
  vf_graph *graph;
  void *user; /* of the description */
  const vf_value *operands;
  const vf_op_scalar *attributes; /* as the description lists them */
  char *message;
} vf_op_call;

/* What a result is: sizes are expressions of variables and integers, such as vf_integer makes and vf_op_size
 * takes from an operand. */
typedef struct vf_op_type {
  vf_dtype dtype;
  int rank;
  vf_value shape[16];
} vf_op_type;
VF_API vf_value vf_op_size(vf_value operand, int axis); /* the size of an axis, as an expression */

/* Which operands may be summands of a sum over devices that is still to be taken, so that the results are,
 * too: none; the one there is; all together; one while the others are not; the first. */
typedef enum vf_op_partial {
  VF_PARTIAL_NEVER,
  VF_PARTIAL_ALWAYS,
  VF_PARTIAL_ALL,
  VF_PARTIAL_ONE,
  VF_PARTIAL_FIRST
} vf_op_partial;

/* What is zero is absent. Strings and lists are copied. Exactly one of function, source and compose says what
 * the operation computes (opencl may stand beside function or source).
 *
 * signature says how `function`, cast to void (*)(void), or the function `symbol` (default: name) in the C
 * text `source` is called: what it returns, void or int (not 0: it has failed, and so has the run, with
 * VF_ERR_DEVICE), and what it takes, such as "int(in0, out0, i64 in0.count, f32 factor, user, message)": in0,
 * out0        const pointer to the elements of operand 0, pointer to those of result 0; all of these are to
 * be written TYPE in0[1]      size of axis 1 of operand 0; TYPE in0.count: number of its elements; TYPE
 * in0.rank; in0.shape: const int64_t pointer to its sizes; the same of results TYPE name        the attribute
 * of that name user             void pointer message          char pointer to 256 bytes, for the reason of a
 * failure TYPE is a dtype (not f16 or bf16), or char, short, int, long, size_t, float, double. A function may
 * be called from several threads at once. A source is compiled by the system's `cc` at its first use, and
 * kept in the cache on disk. */
typedef struct vf_op_description {
  size_t size;           /* sizeof(vf_op_description) */
  const char *name;      /* letters, digits and _, at most 47; no operation has it */
  int operands, results; /* 0 to 16, 1 to 16 */
  int attribute_count;   /* at most 16 */
  const vf_op_attribute *attributes;
  void *user;
  void (*release)(void *user); /* called when the context goes */
  /* dtype and shape of every result; NULL: those of the first operand. */
  bool (*shape)(const vf_op_call *call, vf_op_type *results);
  void (*function)(void);
  const char *signature;
  const char *source, *symbol;
  const char *opencl; /* for devices that run it; the CPU does not */
  /* Records the results with other builders: batches and derivatives follow. */
  bool (*compose)(const vf_op_call *call, vf_value *results);
  /* What the cotangents of all results add to that of each operand, of its shape and dtype; the error value
   * stands for none. vf_vjp and vf_grad need it. */
  bool (*vjp)(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
              vf_value *gradients);
  /* How the results vary when the operands vary by the tangents. vf_jvp needs it. */
  bool (*jvp)(const vf_op_call *call, const vf_value *results, const vf_value *tangents, vf_value *varied);
  const char *sharding; /* factors of axes, such as "m k, k n -> m n": docs/operations.md */
  vf_op_partial partial;
  int64_t flops; /* for each element of all results */
} vf_op_description;

/* VF_ERR_INVALID: a name that is taken or is no name, counts out of range, a signature or sharding rule that
 * cannot be read, not exactly one way to compute. Programs that use the operation are kept on disk by its
 * name: a process that runs one registers it first. */
VF_API vf_status vf_register_op(vf_context *context, const vf_op_description *description, vf_error *error);

/* -------------------------------------------------------------------------------------------------------
 * programs */

/* Compile what the outputs need, through the caches in memory and on disk. NULL after failing: for the reason
 * noted in the graph by a builder, if any; without outputs (VF_ERR_INVALID); for what compiling comes to
 * (VF_ERR_COMPILE, VF_ERR_UNSUPPORTED, VF_ERR_MEMORY). */
VF_API vf_program *vf_compile(vf_graph *graph, vf_error *error);
VF_API void vf_program_destroy(vf_program *program); /* after the last run has returned */

/* Run. inputs, outputs and variables are in order of declaration (vf_port_name); each buffer has the bytes
 * that vf_port_bytes says, is aligned as its elements are, and outputs overlap nothing. Lists without entries
 * may be NULL. VF_ERR_INVALID: a variable's value is outside its declared range, or sizes are too large;
 * VF_ERR_RANGE: an index was out of range, the outputs are then unspecified. */
VF_API vf_status vf_program_run(const vf_program *program, const void *const *inputs, void *const *outputs,
                                const int64_t *variables, vf_error *error);

/* What vf_program_run does, computed by the reference evaluator: slow, plain, without compiling anything. It
 * is what compiled programs are tested against. */
VF_API vf_status vf_evaluate(vf_graph *graph, const void *const *inputs, void *const *outputs,
                             const int64_t *variables, vf_error *error);

/* Ports: the inputs and outputs of a program. Names and shapes belong to the program. */
typedef enum vf_port { VF_INPUT, VF_OUTPUT } vf_port;
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

VF_API int vf_variable_count(const vf_program *program);
VF_API const char *vf_variable_name(const vf_program *program, int number); /* NULL when there is none */
/* False when there is none. The pointers may be NULL. */
VF_API bool vf_variable_range(const vf_program *program, int number, int64_t *lo, int64_t *hi,
                              int64_t *divisor);

/* Where the program came from. */
typedef struct vf_stats {
  size_t size;                               /* sizeof(vf_stats), set by the caller */
  uint32_t launches;                         /* kernels run by one run; in a loop or a branch, once */
  uint32_t kernels;                          /* different ones */
  uint32_t compiled, from_memory, from_disk; /* of the different ones */
  int64_t compile_ns;
} vf_stats;
VF_API bool vf_program_stats(const vf_program *program,
                             vf_stats *stats); /* false when an argument is NULL or size too small */

/* What one run costs: bytes of all buffers of all kernels, operations on floats (a fused multiply-add is
 * two), bytes of intermediates. A scan counts once for each of its rounds; of a choice the dearer branch
 * counts; a while loop counts as if it ran as often as its bound allows, and one round where it has none. */
typedef struct vf_cost {
  size_t size; /* sizeof(vf_cost), set by the caller */
  int64_t bytes, flops, temp_bytes;
} vf_cost;
VF_API vf_status vf_program_cost(const vf_program *program, const int64_t *variables, vf_cost *cost,
                                 vf_error *error);

/* --------------------------------------------------------------------------------------------------------
 * tensors */
/* A tensor is a value of the context's session, a graph that never ends, and computed when its elements are
 * first asked for: it is then realised, and what is recorded from it starts from its elements.
 *
 *   vf_tensor *x = vf_tensor_create(context, VF_F32, VF_LIST(3), data, NULL);
 *   vf_tensor *y = vf_tensor_keep(vf_mul(vf_tensor_value(x), vf_number(vf_session(context, NULL), 2)),
 * &error); const float *elements = vf_tensor_data(y, &error);
 *
 * Values of the session are valid until something is realised, tensors until they are released: take values
 * again with vf_tensor_value. Using an older one is an error that says so. Memory of what no tensor needs is
 * given back as the session goes on. The session has no inputs, outputs and variables. */

/* The session's graph, for constants. NULL when memory is short. */
VF_API vf_graph *vf_session(vf_context *context, vf_error *error);

/* A realised tensor. elements are copied; NULL: all zero. */
VF_API vf_tensor *vf_tensor_create(vf_context *context, vf_dtype dtype, int rank, const int64_t *shape,
                                   const void *elements, vf_error *error);
/* Keep a value of the session. NULL after failing: then, or before, a builder failed in the session; the
 * reason is told here and forgotten there. */
VF_API vf_tensor *vf_tensor_keep(vf_value value, vf_error *error);
VF_API vf_value vf_tensor_value(const vf_tensor *tensor);

/* The elements, realising the tensor if need be. They stay in place until the tensor is released. NULL after
 * failing. */
VF_API const void *vf_tensor_data(vf_tensor *tensor, vf_error *error);
/* Realise several tensors by one program, which computes what they share once. */
VF_API vf_status vf_tensor_realise(vf_tensor *const *tensors, int count, vf_error *error);
VF_API bool vf_tensor_is_realised(const vf_tensor *tensor);

VF_API vf_dtype vf_tensor_dtype(const vf_tensor *tensor);
VF_API int vf_tensor_rank(const vf_tensor *tensor); /* -1 for NULL */
VF_API int vf_tensor_shape(const vf_tensor *tensor,
                           int64_t *shape); /* has room for the rank, which is returned */
VF_API size_t vf_tensor_bytes(const vf_tensor *tensor);

VF_API void vf_tensor_retain(vf_tensor *tensor);
VF_API void
vf_tensor_release(vf_tensor *tensor); /* the last release of create, keep and each retain frees it */

/* Give back now what no tensor needs. Ends the values of the session, like realising. */
VF_API vf_status vf_session_collect(vf_context *context, vf_error *error);

/* -------------------------------------------------------------------------------------------------------
 * functions of tensors, compiled when called */

/* A function that records the results of `inputs`, which are inputs of a graph of its own; `statics` are as
 * given to the call. Called once for each signature: the dtypes and shapes of the tensors, and the values of
 * the statics. What fails is noted in the graph, as by every builder. */
typedef enum vf_static_kind { VF_STATIC_INTEGER, VF_STATIC_REAL, VF_STATIC_TEXT } vf_static_kind;
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
  int capacity;                 /* programs kept: what was not used for longest goes; default 64 */
  int dynamic_count;
  const vf_dynamic *dynamic; /* copied, names too */
} vf_jit_options;
typedef struct vf_jit vf_jit;

/* NULL after failing: no function, counts that cannot be, a dynamic axis of no input, two axes of one name
 * with different bounds (VF_ERR_INVALID), no memory. */
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
  int64_t evictions;                    /* programs that had to go */
  int64_t entries;                      /* programs kept now */
  int64_t trace_ns, compile_ns, run_ns; /* all calls together */
} vf_jit_stats;
VF_API bool vf_jit_statistics(const vf_jit *jit,
                              vf_jit_stats *stats); /* false when an argument is NULL or size too small */

/* The context's programs, of graphs and of the session alike. */
typedef struct vf_cache_stats {
  size_t size;                            /* sizeof(vf_cache_stats), set by the caller */
  int64_t memory_hits, disk_hits, misses; /* programs looked for and found in memory, on disk, nowhere */
  int64_t invalidations;                  /* damaged or foreign entries on disk that were thrown away */
  int64_t programs, kernels;              /* in memory now */
} vf_cache_stats;
VF_API bool vf_cache_statistics(vf_context *context,
                                vf_cache_stats *stats); /* false when an argument is NULL or size too small */

#ifdef __cplusplus
}
#endif
#endif
