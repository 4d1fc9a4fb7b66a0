/* Builders of operations, one function each; part of viewfold.h. */
#ifndef VIEWFOLD_H
#include "viewfold.h" /* which includes this one in its place */
#endif
#ifndef VIEWFOLD_OPERATIONS_H
#define VIEWFOLD_OPERATIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------- elementwise */
/* Operands broadcast to one shape as NumPy's do, and promote to one dtype: bool < integers < floats; two
 * integers to the smallest that holds both (u64 with a signed one: error), f16 with bf16 to f32. Arithmetic
 * is not for bool. Integers wrap; dividing one by zero gives 0. Floats follow IEEE 754, each operation
 * rounded to its dtype. */

/* clang-format off */
/* from the rows of ir/ops.def (update: test/style.sh --derived) */

/* Not for bool. */
VF_API vf_value vf_neg(vf_value x);                                /* -x */
VF_API vf_value vf_abs(vf_value x);                                /* the absolute value */

/* In f32 for bool and integers, in f64 for those of 64 bits. */
VF_API vf_value vf_sqrt(vf_value x);                               /* the square root; NaN below 0 */
VF_API vf_value vf_rsqrt(vf_value x);                              /* 1 / sqrt(x) */
VF_API vf_value vf_exp(vf_value x);                                /* e to the power x */
VF_API vf_value vf_exp2(vf_value x);                               /* 2 to the power x */
VF_API vf_value vf_log(vf_value x);                                /* the natural logarithm */
VF_API vf_value vf_log2(vf_value x);                               /* the logarithm to base 2 */
VF_API vf_value vf_sin(vf_value x);                                /* the sine */
VF_API vf_value vf_cos(vf_value x);                                /* the cosine */
VF_API vf_value vf_tanh(vf_value x);                               /* the hyperbolic tangent */
VF_API vf_value vf_erf(vf_value x);                                /* the error function */
VF_API vf_value vf_sigmoid(vf_value x);                            /* 1 / (1 + exp(-x)) */
VF_API vf_value vf_expm1(vf_value x);                              /* exp(x) - 1, accurate near 0 */
VF_API vf_value vf_log1p(vf_value x);                              /* log(1 + x), accurate near 0 */
VF_API vf_value vf_tan(vf_value x);                                /* the tangent */
VF_API vf_value vf_asin(vf_value x);                               /* the inverse of sin, NaN beyond -1 and 1 */
VF_API vf_value vf_acos(vf_value x);                               /* the inverse of cos, NaN beyond -1 and 1 */
VF_API vf_value vf_atan(vf_value x);                               /* the inverse of tan */
VF_API vf_value vf_sinh(vf_value x);                               /* the hyperbolic sine */
VF_API vf_value vf_cosh(vf_value x);                               /* the hyperbolic cosine */
VF_API vf_value vf_asinh(vf_value x);                              /* the inverse of sinh */
VF_API vf_value vf_acosh(vf_value x);                              /* the inverse of cosh, NaN below 1 */
VF_API vf_value vf_atanh(vf_value x);                              /* the inverse of tanh: infinite at -1 and 1, NaN beyond */
VF_API vf_value vf_erfinv(vf_value x);                             /* the inverse of erf: infinite at -1 and 1, NaN beyond */

/* Not for bool. */
VF_API vf_value vf_relu(vf_value x);                               /* max(x, 0) */

/* Not for bool; integers stay as they are. */
VF_API vf_value vf_floor(vf_value x);                              /* the nearest integer that is <= x */
VF_API vf_value vf_ceil(vf_value x);                               /* the nearest integer that is >= x */
VF_API vf_value vf_trunc(vf_value x);                              /* the nearest integer towards 0 */
VF_API vf_value vf_round(vf_value x);                              /* the nearest integer, of two the even one */

/* Bit by bit on integers, logical on bool; not for floats. */
VF_API vf_value vf_bit_not(vf_value x);                            /* the complement */

/* Not for bool. */
VF_API vf_value vf_add(vf_value a, vf_value b);                    /* a + b; vf_number(graph, 2) for a number */
VF_API vf_value vf_sub(vf_value a, vf_value b);                    /* a - b */
VF_API vf_value vf_mul(vf_value a, vf_value b);                    /* a * b; vf_number(graph, 2) for a number */

/* In f32 for bool and integers, in f64 for those of 64 bits. */
VF_API vf_value vf_div(vf_value a, vf_value b);                    /* a / b */

/* Not for bool. */
VF_API vf_value vf_floordiv(vf_value a, vf_value b);               /* a / b rounded towards minus infinity */
VF_API vf_value vf_mod(vf_value a, vf_value b);                    /* a - b * floordiv(a, b), exact, of floats rounded once; the sign of b */
VF_API vf_value vf_pow(vf_value a, vf_value b);                    /* a to the power b; of integers: b >= 0 where it is a constant */

/* Of any dtype. */
VF_API vf_value vf_min(vf_value a, vf_value b);                    /* the smaller one; NaN where either is */
VF_API vf_value vf_max(vf_value a, vf_value b);                    /* the larger one; NaN where either is */

/* Of any dtype; the result is bool. */
VF_API vf_value vf_eq(vf_value a, vf_value b);                     /* a = b; false with NaN */
VF_API vf_value vf_ne(vf_value a, vf_value b);                     /* not eq(a, b); true with NaN */
VF_API vf_value vf_lt(vf_value a, vf_value b);                     /* a < b; false with NaN */
VF_API vf_value vf_le(vf_value a, vf_value b);                     /* a <= b; false with NaN */
VF_API vf_value vf_gt(vf_value a, vf_value b);                     /* a > b; false with NaN */
VF_API vf_value vf_ge(vf_value a, vf_value b);                     /* a >= b; false with NaN */

/* Bit by bit on integers, logical on bool; not for floats. */
VF_API vf_value vf_bit_and(vf_value a, vf_value b);                /* a and b */
VF_API vf_value vf_bit_or(vf_value a, vf_value b);                 /* a or b */
VF_API vf_value vf_bit_xor(vf_value a, vf_value b);                /* a xor b */

/* Integers only. A negative count gives 0, or is refused where it is a constant. */
VF_API vf_value vf_shl(vf_value a, vf_value b);                    /* a * 2^b; a count b of the width or more shifts everything out */
VF_API vf_value vf_shr(vf_value a, vf_value b);                    /* a / 2^b rounded towards minus infinity; a count b of the width or more shifts everything out */

/* The first operand is bool, the others are of any dtype. */
VF_API vf_value vf_where(vf_value a, vf_value b, vf_value c);      /* b where the bool a holds, else c */

/* Floats only. */
VF_API vf_value vf_fma(vf_value a, vf_value b, vf_value c);        /* a * b + c, rounded once */
/* end of these rows */
/* clang-format on */

/* x itself, stored in memory by a separate kernel: its users read it from there, and never compute it
 * again. */
VF_API vf_value vf_stored(vf_value x);

/* Operands become bool: != 0. */
VF_API vf_value vf_logical_and(vf_value a, vf_value b);
VF_API vf_value vf_logical_or(vf_value a, vf_value b);
VF_API vf_value vf_logical_xor(vf_value a, vf_value b);
VF_API vf_value vf_logical_not(vf_value x);
/* Float to integer truncates and saturates, NaN gives 0; integer to a narrower one wraps; to a float rounds
 * to nearest even; to bool is != 0. */
VF_API vf_value vf_cast(vf_value x, vf_dtype dtype);
/* The bits of x as another dtype of the same size; not to bool. */
VF_API vf_value vf_bitcast(vf_value x, vf_dtype dtype);

/* ---------------------------------------------------------------------------------------- views */
/* No view moves data: it changes how the values that use it compute their indices. Lists have one entry for
 * each axis of x unless said otherwise. */

VF_API vf_value vf_permute(vf_value x, int count,
                           const int64_t *order); /* axis i of the result is axis order[i] of x */
/* All axes in reverse: of a matrix, its transpose. */
VF_API vf_value vf_transpose(vf_value x);
/* The two axes exchanged. */
VF_API vf_value vf_swap_axes(vf_value x, int axis1, int axis2);
/* Axis `source` of x is axis `destination` of the result; the others keep their order. */
VF_API vf_value vf_move_axis(vf_value x, int source, int destination);
/* The elements of x, in row-major order, in another shape; at most one size may be -1, which is inferred. */
VF_API vf_value vf_reshape(vf_value x, int rank, const int64_t *shape);
VF_API vf_value vf_flatten(vf_value x, int first, int last); /* axes first..last become one */
/* NumPy's broadcast_to: axes are added in front, sizes of 1 grow. */
VF_API vf_value vf_expand(vf_value x, int rank, const int64_t *shape);
VF_API vf_value vf_unsqueeze(vf_value x, int axis); /* a new axis of size 1 */
VF_API vf_value vf_squeeze(vf_value x, int count,
                           const int64_t *axes); /* drop axes of size 1; VF_ALL: all of them */
/* begin, end of each axis, half-open: count is twice the rank. */
VF_API vf_value vf_shrink(vf_value x, int count, const int64_t *bounds);
/* size elements from start on; a negative start counts from the end. */
VF_API vf_value vf_slice(vf_value x, int rank, const int64_t *start, const int64_t *size);
VF_API vf_value vf_stride(vf_value x, int count,
                          const int64_t *steps); /* Python's [::step] on each axis; not 0 */
VF_API vf_value vf_flip(vf_value x, int count, const int64_t *axes); /* any number of axes */
VF_API vf_value vf_point(vf_value x, int64_t index,
                         int axis); /* the elements at one index of an axis, which is dropped */
/* Elements before and after each axis: count is twice the rank. They are zero. */
VF_API vf_value vf_pad(vf_value x, int count, const int64_t *pads);
typedef enum vf_pad_mode {
  VF_PAD_CONSTANT = 0,
  VF_PAD_EDGE = 1,
  VF_PAD_REFLECT = 2,
  VF_PAD_WRAP = 3
} vf_pad_mode;
/* A pad as of vf_pad with another fill: the scalar constant value (VF_PAD_CONSTANT; its dtype must hold it),
 * or elements of x as numpy.pad has them: the nearest, those mirrored at the edge without repeating it, or
 * those of the other end, repeated where the pad is wider than the axis; value is then the error value. */
VF_API vf_value vf_pad_with(vf_value x, int count, const int64_t *pads, vf_pad_mode mode, vf_value value);
/* Operands promote to one dtype. vf_concat: equal sizes except along axis; vf_stack: equal shapes, axis is
 * new. */
VF_API vf_value vf_concat(const vf_value *x, int count, int axis);
VF_API vf_value vf_stack(const vf_value *x, int count, int axis);

/* vf_reshape, vf_expand, vf_shrink and vf_pad with sizes that may be expressions of variables. */
VF_API vf_value vf_reshape_sized(vf_value x, int rank, const vf_value *shape);
VF_API vf_value vf_expand_sized(vf_value x, int rank, const vf_value *shape);
VF_API vf_value vf_shrink_sized(vf_value x, int count, const vf_value *bounds);
VF_API vf_value vf_pad_sized(vf_value x, int count, const vf_value *pads);
VF_API vf_value vf_full_sized(vf_value value, int rank, const vf_value *shape);

/* ------------------------------------------------------------ reductions, products, indirection */

/* Over the axes listed, or VF_ALL. The axes are dropped, or stay with size 1 if keepdims. Sums and products
 * of bool and integers of up to 32 bits are i32, or u32 of unsigned ones; f16 and bf16 accumulate in f32. The
 * order of combination depends on the shape alone. Of no elements: sum 0, product 1, mean NaN, any false, all
 * true; max and min are refused. */
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
/* Index of the first largest (smallest) element along axis, or of the first NaN; i64. */
VF_API vf_value vf_argmax(vf_value x, int axis, bool keepdims);
VF_API vf_value vf_argmin(vf_value x, int axis, bool keepdims);

/* NumPy's matmul: the last two axes multiply as matrices, those before broadcast; a vector gets an axis that
 * the result does not have. Accumulates as vf_sum does. */
VF_API vf_value vf_matmul(vf_value a, vf_value b);

typedef enum vf_gather_mode { VF_GATHER_CHECK = 0, VF_GATHER_CLIP = 1, VF_GATHER_FILL = 2 } vf_gather_mode;
/* x taken along axis at indices of any integer dtype, negative ones from the end; shape x[:axis] ++ indices
 * ++ x[axis+1:]. By mode, an index out of range fails the run with VF_ERR_RANGE, stands for the nearest
 * element, or reads 0. */
VF_API vf_value vf_gather(vf_value x, vf_value indices, int axis, vf_gather_mode mode);
/* A gather whose first `batch` axes are those of x and of the indices alike: equal sizes, all before axis.
 * Shape x[:axis] ++ indices[batch:] ++ x[axis+1:]. */
VF_API vf_value vf_gather_batched(vf_value x, vf_value indices, int axis, int batch, vf_gather_mode mode);
/* x with updates stored, or added, along axis at the indices, in row-major order of the updates: where an
 * index occurs twice the last update stays, and sums have one order. Updates broadcast to the shape that
 * vf_gather would give, and have a dtype that promotes to that of x, which the result has; f16 and bf16
 * accumulate in f32, bool does not add up. By mode, an index out of range fails the run with VF_ERR_RANGE,
 * whether or not its element would be read; stands for the nearest element; or is left out. */
VF_API vf_value vf_scatter(vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode);
VF_API vf_value vf_scatter_add(vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode);

/* Writes through views: x with the elements that a target names replaced by those of u, or combined with
 * them. A target is vf_address(x), the positions of the elements of x, i64, in its shape, or any chain of
 * views and gathers of that: what the chain would read of x. It names no element twice, except that a gather
 * may: then VF_WRITE_SET keeps the last in row-major order of u, VF_WRITE_ADD and VF_WRITE_SUB count all, in
 * that order, and other operations are refused. Padding is nowhere. u broadcasts to the shape of the target
 * and promotes to the dtype of x. Quotients are of floats, bits of integers and truth values. */
typedef enum vf_write_op {
  VF_WRITE_SET = 0,
  VF_WRITE_ADD = 1,
  VF_WRITE_SUB = 2,
  VF_WRITE_MUL = 3,
  VF_WRITE_DIV = 4,
  VF_WRITE_MIN = 5,
  VF_WRITE_MAX = 6,
  VF_WRITE_AND = 7,
  VF_WRITE_OR = 8,
  VF_WRITE_XOR = 9
} vf_write_op;
VF_API vf_value vf_address(vf_value x);
VF_API vf_value vf_assign(vf_value x, vf_value target, vf_value u, vf_write_op op);

/* What the target names of an array with as many elements as the one whose positions it counts: the same view
 * of x. vf_read(target, gradient) is the part of a gradient that belongs to a view. Padding reads 0. */
VF_API vf_value vf_read(vf_value target, vf_value x);

/* A reference: an array with an identity, or a view of one. vf_ref_input: an input that a run changes in the
 * caller's memory; vf_ref_create: an array of the session. It has a newest version, which each update
 * replaces; what was read before stays what it was. An update is seen by all views of the reference, whenever
 * they were made. `target` is as in vf_assign. Functions that vf_cond, loops and vf_checkpoint call read and
 * write it as well, conditions of loops only read: the newest version is a part of the state, or the taken
 * branch's. In a function of vf_vmap each element of the batch writes its own part, through a view of the
 * positions that it got as a mapped argument (r.target). */
typedef struct vf_ref {
  vf_value target; /* positions of the elements that it names, in its shape: views of it make views of it */
  int number, view;
} vf_ref;
/* In a run its memory is an input, and may overlap nothing else; it holds the newest version afterwards. */
VF_API vf_ref vf_ref_input(vf_graph *graph, const char *name, vf_dtype dtype, int rank, const int64_t *shape);
/* The view that target, views or gathers of r.target, makes: vf_ref_view(r, vf_permute(r.target, ...)). */
VF_API vf_ref vf_ref_view(vf_ref r, vf_value target);
VF_API vf_value vf_ref_get(vf_ref r); /* what the reference or view holds now; padding reads 0 */
/* The elements become u, or are combined with it. Returns the newest version of the whole. */
VF_API vf_value vf_ref_set(vf_ref r, vf_value u);
VF_API vf_value vf_ref_update(vf_ref r, vf_value u, vf_write_op op);
/* A reference of the session: elements are copied; NULL: all zero. Updates are pending until it, or any
 * tensor, is realised: then one program changes the reference in its memory, on its device, and computes the
 * tensors that still need its old elements. While a tensor has the elements themselves, the reference gets
 * new memory instead. Unlike values, a reference and its views stay valid when something is realised, except
 * for views through a gather; vf_ref_target(r) is then what r.target was. After a run that failed for an
 * index out of range it holds what the steps before left. After failing vf_ok(r.target) is false. */
VF_API vf_ref vf_ref_create(vf_context *context, vf_dtype dtype, int rank, const int64_t *shape,
                            const void *elements, vf_error *error);
VF_API vf_value vf_ref_target(vf_ref r);
/* Frees it, with all views; what is recorded from it stays. Once. Does nothing for references of graphs. */
VF_API void vf_ref_release(vf_ref r);
/* Compute what is pending, of all references. The first failure of a builder in the session is reported here,
 * too. */
VF_API vf_status vf_ref_realise(vf_ref r, vf_error *error);
/* Computes what is pending, as vf_ref_realise, and gives the elements of the whole array, valid until
 * something is realised or r released. */
VF_API const void *vf_ref_data(vf_ref r, vf_error *error);

/* What a view takes of one axis. Positions are 0-based and count from the end where they are negative. The
 * encoded form is that of ND4J's and SameDiff's descriptors: a point 0,1,1,position,1; an interval
 * 1,2,1,start,end,stride,inclusive; all 2,0,1,1; a new axis 3,1,1,0,1 or 3,1,10,1, of which the second and
 * third number are not looked at. */
typedef enum vf_index_kind {
  VF_INDEX_POINT = 0,    /* one position: the axis goes */
  VF_INDEX_INTERVAL = 1, /* every stride-th from start to end, without end unless inclusive */
  VF_INDEX_ALL = 2,      /* the whole axis */
  VF_INDEX_NEW_AXIS = 3  /* an axis of size 1, and none is taken */
} vf_index_kind;
typedef struct vf_index {
  int64_t numbers[7]; /* encoded */
  int count;          /* of these; 0: values[0] is the encoded form */
  int kind;           /* -1: read off the encoded form */
  vf_value values[2]; /* in place of position, or start and end, unless error values */
  int64_t window;     /* elements from start on; 0: up to end */
  vf_value length;    /* declared number of elements, unless the error value */
} vf_index;
VF_API vf_index vf_index_point(int64_t position);
VF_API vf_index vf_index_interval(int64_t start, int64_t end, int64_t stride, bool inclusive);
VF_API vf_index vf_index_all(void);
VF_API vf_index vf_index_new_axis(void);
VF_API vf_index vf_index_encoded(int count, const int64_t *numbers);
/* Descriptors whose numbers are values of the graph, integer scalars: the position; start and end, which are
 * a known distance apart (v and v + 3) and of one sign; or `length` elements from start on. */
VF_API vf_index vf_index_point_at(vf_value position);
VF_API vf_index vf_index_interval_at(vf_value start, vf_value end, int64_t stride, bool inclusive);
VF_API vf_index vf_index_window(vf_value start, int64_t length, int64_t stride);
/* An encoded descriptor that is a value of the graph, an i64 array of one axis: its kind is fixed when
 * recorded, and so is the number of elements of an interval, an integer or an expression of size variables;
 * (vf_value){0} where its numbers show it, and of other kinds. */
VF_API vf_index vf_index_given(vf_value descriptor, vf_index_kind kind, vf_value length);

/* The part of x that the descriptors take: they walk its axes from left to right, and axes that none is left
 * for are taken whole. NumPy's x[1, None, 0:3:2] is {vf_index_point(1), vf_index_new_axis(),
 * vf_index_interval(0, 3, 2, false)}. Nothing is copied. First and last element of an interval lie in the
 * axis; one without elements is none. Positions that vary are checked before anything is written through the
 * view; where one is out of range, or a kind or length differs, the run fails with VF_ERR_RANGE. A view of
 * vf_address(x) is a target of vf_assign. */
VF_API vf_value vf_create_view(vf_value x, int count, const vf_index *descriptors);
VF_API vf_ref vf_ref_create_view(vf_ref r, int count, const vf_index *descriptors);

/* Along one axis, in its order; the shape stays. The result up to each element, that included, of the
 * operations above: dtypes, accumulation and NaN are theirs. From the last element to the first: vf_flip
 * before and after; without the element itself: vf_apply(..., "axis=0 exclusive=true"). Gradients of all but
 * vf_cumsum take n^2 operations for n elements. */
VF_API vf_value vf_cumsum(vf_value x, int axis);
VF_API vf_value vf_cumprod(vf_value x, int axis);
VF_API vf_value vf_cummax(vf_value x, int axis);
VF_API vf_value vf_cummin(vf_value x, int axis);
/* The elements in ascending or descending order, and the indices (i64) that they had. Equal elements keep
 * their order, in either direction; zeros of either sign are equal, and so are NaNs, which are greater than
 * all numbers. An axis of at most 2^32 elements; of a variable size, the cost is that of the largest. */
VF_API vf_value vf_sort(vf_value x, int axis, bool descending);
VF_API vf_value vf_argsort(vf_value x, int axis, bool descending);
/* The first k elements of the axis as vf_sort orders it, descending if largest, into results[0]; their
 * indices into results[1]. 0 <= k <= size. Returns 2, or -1 after failing: both are then error values. */
VF_API int vf_topk(vf_value x, int k, int axis, bool largest, vf_value results[2]);

/* --------------------------------------------------------------------------------- compositions */
/* Recorded as several of the operations above. Where they compute with floats, bool and integers become f32
 * (f64 of 64 bits); f16 and bf16 are computed in f32 and rounded once, at the end. */

/* vf_softmax: exp(x) over its sum along axis. vf_log_softmax: its logarithm. vf_logsumexp: the logarithm of
 * the sum of exp(x) over the axes listed, or VF_ALL. All are shifted by the maximum, so that nothing
 * overflows. Of -inf alone: NaN, NaN and -inf. An axis without elements is refused. */
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
/* vf_reciprocal: 1 / x, of integers in f32 or f64. vf_square: x * x. vf_sign: -1, 0 or 1, NaN of NaN, in the
 * dtype of x; a constant for derivatives. */
VF_API vf_value vf_reciprocal(vf_value x);
VF_API vf_value vf_square(vf_value x);
VF_API vf_value vf_sign(vf_value x);
/* vf_min(vf_max(x, low), high); (vf_value){0} for no bound. */
VF_API vf_value vf_clip(vf_value x, vf_value low, vf_value high);
/* Attention, softmax(q k^T scale + mask) v, of q [..., n, d], k [..., m, d] and v [..., m, c] with m >= 1;
 * the axes before broadcast, and the result is [..., n, c]. mask broadcasts to [..., n, m]: bool, true where
 * a key takes part, or floats that are added; (vf_value){0} for none. causal: query i attends to keys 0 to i
 * alone. scale 0 stands for 1 / sqrt(d). The result of a query without keys is 0. */
VF_API vf_value vf_attention(vf_value q, vf_value k, vf_value v, vf_value mask, double scale, bool causal);
/* vf_var: the sum of squared deviations from the mean over max(elements - correction, 0). vf_std: its square
 * root. correction >= 0: 0 for a population, 1 for a sample. */
VF_API vf_value vf_var(vf_value x, int count, const int64_t *axes, bool keepdims, double correction);
VF_API vf_value vf_std(vf_value x, int count, const int64_t *axes, bool keepdims, double correction);
/* Over the axes from axis to the last. vf_layer_norm: (x - mean) / sqrt(variance + eps) * weight + bias.
 * vf_rms_norm: x / sqrt(mean of squares + eps) * weight. weight and bias broadcast to those axes;
 * (vf_value){0} stands for none, a bias comes with a weight. */
VF_API vf_value vf_layer_norm(vf_value x, vf_value weight, vf_value bias, int axis, double eps);
VF_API vf_value vf_rms_norm(vf_value x, vf_value weight, int axis, double eps);

/* Each line along the axis has its own indices, as in NumPy's take_along_axis and put_along_axis. x and the
 * indices have one rank; their other sizes broadcast, those of the scatters to the sizes of x, and updates to
 * the elements that they replace. */
VF_API vf_value vf_take_along_axis(vf_value x, vf_value indices, int axis, vf_gather_mode mode);
VF_API vf_value vf_scatter_along_axis(vf_value x, vf_value indices, vf_value updates, int axis,
                                      vf_gather_mode mode);
VF_API vf_value vf_scatter_add_along_axis(vf_value x, vf_value indices, vf_value updates, int axis,
                                          vf_gather_mode mode);
/* x with the window that begins at start[count], negative from the end, replaced by the update, which
 * broadcasts to size[count]; NULL: its own size. The window lies within x. */
VF_API vf_value vf_slice_update(vf_value x, vf_value update, int count, const int64_t *start,
                                const int64_t *size);

/* Several results, which are views except those of vf_minmax. They return how many there are, -1 after
 * failing: all results are then error values. vf_split: equal parts of an axis, as many as results has room
 * for. vf_chunk: the same number, the first size mod chunks of them one longer; none is empty, so there may
 * be fewer. vf_unbind: the elements at each index of an axis, which is dropped; the first `room` of them.
 * vf_minmax: least and greatest, as vf_reduce_min and vf_reduce_max. */
VF_API int vf_split(vf_value x, int parts, int axis, vf_value *results);
VF_API int vf_chunk(vf_value x, int chunks, int axis, vf_value *results);
VF_API int vf_unbind(vf_value x, int axis, int room, vf_value *results);
VF_API int vf_minmax(vf_value x, int count, const int64_t *axes, bool keepdims, vf_value results[2]);

/* All zero, all one (true), of any dtype that a tensor has. Sizes are at least 0. */
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

/* Random numbers, by Threefry-2x32 with 20 rounds (Salmon et al. 2011). The numbers depend on the seed, the
 * shape's row-major order and nothing else: they are the same in every program, on every backend. Draws with
 * one seed are the same numbers, so each needs another seed. seed: a scalar of any integer dtype, modulo
 * 2^64; vf_integer, or an input that each run supplies.
 *
 * vf_uniform: low <= x < high, of 24 random bits (53 in f64). vf_normal: the inverse of its distribution
 * function at such numbers, each plus half their distance: at most 5.5 standard deviations from the mean (8.3
 * in f64). dtype is a float dtype. vf_bernoulli: true with probability p, of dtype bool: where vf_uniform of
 * f32, 0 and 1 is less than p. Draws are constants for derivatives; for a mean or bounds that are learned,
 * draw with 0 and 1 and compute the rest. */
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
 * of ... and the letters that occur once, in ASCII's order. A label twice in a term is its diagonal; sizes of
 * a label are equal or 1. Accumulates as vf_matmul does. At most 32 operands, contracted from left to right.
 */
VF_API vf_value vf_einsum(const char *equation, const vf_value *x, int count);

/* Letters of axes: an annotation of values, which operations check and pass on where it is given, and which
 * costs nothing where it is not. In text it is part of a type, f32[b=8,c=3]. Axes that meet, elementwise, in
 * products and joins, have one letter, or one of them none; an axis of a result has the letter of the axis
 * that it comes from. Of two axes with one letter, as in a product of a matrix with its transpose, the second
 * has none; and axes that a reshape splits or joins have none. Kernels do not know of letters.
 *
 * vf_name_axes: x with a letter for each axis, or _ for none, in place of those that it has. An input that
 * nothing has used has them itself. */
VF_API vf_value vf_name_axes(vf_value x, const char *letters);
/* The letters, _ where there is none, and a 0 behind them into letters, which has room; returns the rank, -1
 * for the error value. */
VF_API int vf_value_letters(vf_value x, char *letters);
/* The axis with that letter, for any function that takes an axis: vf_softmax(x, vf_axis(x, 'c')). Notes an
 * error in the graph, and returns 0, where there is none. */
VF_API int vf_axis(vf_value x, char letter);
/* The axes with these letters, for any function that takes `int count, const int64_t *axes`:
 * vf_sum(x, VF_BY(x, "hw"), false). */
enum { VF_MOST_AXES = 16 };
VF_API const int64_t *vf_axes_by(vf_value x, const char *letters, int64_t *axes); /* axes, filled */
VF_API int vf_letter_count(const char *letters);                                  /* at most VF_MOST_AXES */
#ifdef __cplusplus
}
struct vf_by {
  vf_by(vf_value x, const char *letters) : items{} { vf_axes_by(x, letters, items); }
  int64_t items[VF_MOST_AXES];
};
extern "C" {
#define VF_BY(x, letters) vf_letter_count(letters), vf_by(x, letters).items
#else
#define VF_BY(x, letters) vf_letter_count(letters), vf_axes_by(x, letters, (int64_t[VF_MOST_AXES]){0})
#endif

/* Splits, reorders, joins, repeats and reduces axes by letters, as in einops: "bhwc" to "bchw", "bhwc" to
 * "b(hw)c", "b(hp=2)c" to "bhpc". A pattern tells the axes of an array in order: letters, each once, with a
 * size, as in p=2, where none follows from the shape; numbers, axes of that size without a name; groups in
 * ( ), one axis each, its first letter outermost; ... for any others, which stay in order. What `to` alone
 * has is repeated, and has its size. A view: nothing is computed before it is read. Errors name the letter.
 * vf_rearrange_reduce reduces what `from` alone has, by "sum", "mean", "max", "min", "prod", "any" or "all",
 * with the dtypes of vf_sum and the others. */
VF_API vf_value vf_rearrange(vf_value x, const char *from, const char *to);
VF_API vf_value vf_rearrange_reduce(vf_value x, const char *from, const char *to, const char *reduce);

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
 * at most half a window; vf_max_pool ignores it, vf_avg_pool counts it as zeros if count_pads. */
VF_API vf_value vf_max_pool(vf_value x, int count, const int64_t *kernel, const int64_t *stride,
                            const int64_t *padding, const int64_t *dilation);
VF_API vf_value vf_avg_pool(vf_value x, int count, const int64_t *kernel, const int64_t *stride,
                            const int64_t *padding, bool count_pads);

#ifdef __cplusplus
}
#endif
#endif
