/* The reference evaluator against values worked out by hand or by NumPy's rules. */
#include "ir/eval/eval.h"

#include <math.h>

#include "test/lib/unit.h"

/* An allocator that counts, and fails after `left` more allocations */
typedef struct meter {
  size_t left, live, peak;
} meter;
static void *metered(void *user, void *ptr, size_t old_size, size_t new_size) {
  meter *m = user;
  if (new_size && m->left == 0) return NULL;
  if (new_size) m->left--;
  void *moved = new_size ? realloc(ptr, new_size) : NULL;
  if (!new_size) free(ptr);
  m->live += new_size - old_size;
  if (m->live > m->peak) m->peak = m->live;
  return moved;
}

static meter memory;
static ir_mem mem = {metered, &memory};
static ir_error error;
static ir_graph g;
static ir_var_value vars[4];
static size_t var_count;
static ir_binding_input inputs[4];
static size_t input_count;

static int begin(void **state) {
  memory = (meter){.left = SIZE_MAX};
  error = (ir_error){0};
  var_count = input_count = 0;
  return ir_graph_init(&g, &mem, &error);
}
static int end(void **state) {
  ir_graph_free(&g);
  return memory.live != 0; /* all memory was freed */
}

/* builders */

#define LIST(...) (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define SCALAR    (int64_t[]){0}, 0
static ir_ref shape_of(const int64_t *sizes, size_t rank) {
  ir_ref items[IR_MAX_RANK];
  for (size_t k = 0; k < rank; k++) items[k] = ir_index(&g, sizes[k]);
  return ir_tuple(&g, items, (uint32_t)rank);
}

/* A literal array; integers are converted to the dtype. */
static ir_ref ints(ir_dtype type, const int64_t *sizes, size_t rank, const int64_t *values, size_t count) {
  unsigned char bytes[4096] = {0};
  for (size_t i = 0; i < count; i++)
    ir_value_store(bytes + i * ir_dtypes[type].bytes, type,
                   ir_value_cast((ir_value){.i = values[i]}, IR_I64, type));
  int64_t name = ir_name(&g, (char *)bytes, count * ir_dtypes[type].bytes);
  ir_ref shape = shape_of(sizes, rank);
  return ir_make_tensor(&g, IR_OP_DATA, type, shape, name, ir_get(&g, shape)->src, (uint32_t)rank);
}
static ir_ref range(ir_dtype type, const int64_t *sizes, size_t rank) {
  int64_t values[512] = {0}, count = 1;
  for (size_t k = 0; k < rank; k++) count *= sizes[k];
  for (int64_t i = 0; i < count; i++) values[i] = i;
  return ints(type, sizes, rank, values, (size_t)count);
}
static ir_ref floats(ir_dtype type, size_t count, const double *values) {
  unsigned char bytes[1024] = {0};
  for (size_t i = 0; i < count; i++)
    ir_value_store(bytes + i * ir_dtypes[type].bytes, type, (ir_value){.f = values[i]});
  ir_ref size = ir_index(&g, (int64_t)count);
  return ir_make_tensor(&g, IR_OP_DATA, type, ir_tuple(&g, &size, 1),
                        ir_name(&g, (char *)bytes, count * ir_dtypes[type].bytes), &size, 1);
}
#define FLOATS(type, ...)                                                                                    \
  floats(type, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static ir_ref view_to(ir_op op, ir_ref shape, ir_ref x, int64_t arg, const int64_t *attrs, size_t count) {
  ir_ref src[40] = {x};
  for (size_t i = 0; i < count; i++) src[1 + i] = ir_index(&g, attrs[i]);
  return ir_make_tensor(&g, op, ir_dtype_of(&g, x), shape, arg, src, (uint32_t)(1 + count));
}
static ir_ref view(ir_op op, const int64_t *sizes, size_t rank, ir_ref x, int64_t arg, const int64_t *attrs,
                   size_t count) {
  return view_to(op, shape_of(sizes, rank), x, arg, attrs, count);
}
static ir_ref pad(const int64_t *sizes, size_t rank, ir_ref x, int mode, int64_t value, const int64_t *pads,
                  size_t count) {
  ir_dtype type = ir_dtype_of(&g, x);
  ir_ref src[40] = {x, ir_is_float(type) ? ir_float(&g, type, (double)value) : ir_int(&g, type, value)};
  for (size_t i = 0; i < count; i++) src[2 + i] = ir_index(&g, pads[i]);
  return ir_make_tensor(&g, IR_OP_PAD, type, shape_of(sizes, rank), ir_pack_arg(0, mode), src,
                        (uint32_t)(2 + count));
}
static ir_ref reduce(ir_op op, ir_dtype type, const int64_t *sizes, size_t rank, ir_ref x, bool keep,
                     const int64_t *axes, size_t count) {
  ir_ref src[20] = {x};
  bool arg = op == IR_OP_ARGMAX || op == IR_OP_ARGMIN;
  for (size_t i = 0; i < count; i++) src[1 + i] = ir_index(&g, axes[i]);
  return ir_make_tensor(&g, op, type, shape_of(sizes, rank), ir_pack_arg(arg ? axes[0] : 0, keep), src,
                        arg ? 1 : (uint32_t)(1 + count));
}
static ir_ref join(ir_op op, const int64_t *sizes, size_t rank, int64_t axis, ir_ref a, ir_ref b) {
  return ir_make_tensor(&g, op, ir_dtype_of(&g, a), shape_of(sizes, rank), axis, (ir_ref[]){a, b}, 2);
}
static ir_ref matmul(ir_dtype type, const int64_t *sizes, size_t rank, ir_ref a, ir_ref b) {
  return ir_make_tensor(&g, IR_OP_MATMUL, type, shape_of(sizes, rank), 0, (ir_ref[]){a, b}, 2);
}
static ir_ref gather(const int64_t *sizes, size_t rank, ir_ref data, ir_ref indices, int axis, int mode) {
  return ir_make_tensor(&g, IR_OP_GATHER, ir_dtype_of(&g, data), shape_of(sizes, rank),
                        ir_pack_arg(axis, mode), (ir_ref[]){data, indices}, 2);
}
static ir_ref gather_batched(const int64_t *sizes, size_t rank, ir_ref data, ir_ref indices, int axis,
                             int batch) {
  return ir_make_tensor(&g, IR_OP_GATHER, ir_dtype_of(&g, data), shape_of(sizes, rank),
                        ir_pack_args(axis, IR_GATHER_CHECK, batch), (ir_ref[]){data, indices}, 2);
}
static ir_ref scatter(ir_op op, ir_ref data, ir_ref indices, ir_ref updates, int axis, int mode, int batch) {
  return ir_make_tensor(&g, op, ir_dtype_of(&g, data), ir_shape(&g, data), ir_pack_args(axis, mode, batch),
                        (ir_ref[]){data, indices, updates}, 3);
}
static ir_ref fma3(ir_ref a, ir_ref b, ir_ref c) {
  return ir_make_tensor(&g, IR_OP_FMA, ir_dtype_of(&g, a), ir_shape(&g, a), 0, (ir_ref[]){a, b, c}, 3);
}
static ir_ref input(ir_dtype type, const int64_t *sizes, size_t rank, const void *data) {
  ir_ref shape = shape_of(sizes, rank);
  ir_ref x = ir_make_tensor(&g, IR_OP_INPUT, type, shape, ir_name(&g, "x", 1), ir_get(&g, shape)->src,
                            (uint32_t)rank);
  inputs[input_count++] = (ir_binding_input){x, data};
  return x;
}

/* expectations */

static ir_status evaluate(ir_ref root, ir_eval_result *out) {
  ir_error_clear(&error);
  return ir_eval(&g, &root, 1, inputs, input_count, vars, var_count, out, &error);
}

static void expect_ints(ir_ref root, const int64_t *sizes, size_t rank, const int64_t *values, size_t count) {
  ir_eval_result r;
  if (evaluate(root, &r)) fail_msg("%s", error.text);
  assert_int_equal(r.rank, rank);
  for (size_t k = 0; k < rank; k++) assert_int_equal(r.shape[k], sizes[k]);
  assert_int_equal(r.count, count);
  assert_int_equal(r.dtype, ir_dtype_of(&g, root));
  for (size_t i = 0; i < count; i++) {
    ir_value v = ir_value_load((char *)r.data + i * ir_dtypes[r.dtype].bytes, r.dtype);
    if (ir_is_float(r.dtype)) assert_true(v.f == (double)values[i]);
    else assert_int_equal(v.i, values[i]);
  }
  ir_eval_free(&g, &r, 1);
}

/* One axis of floats, signs of zeros included; NaN expected where NaN is given. */
static void expect_floats(ir_ref root, size_t count, const double *values) {
  ir_eval_result r;
  if (evaluate(root, &r)) fail_msg("%s", error.text);
  assert_int_equal(r.count, count);
  for (size_t i = 0; i < count; i++) {
    double v = ir_value_load((char *)r.data + i * ir_dtypes[r.dtype].bytes, r.dtype).f;
    bool same = isnan(values[i]) ? isnan(v) : v == values[i] && !signbit(v) == !signbit(values[i]);
    if (!same) fail_msg("element %zu is %a, expected %a", i, v, values[i]);
  }
  ir_eval_free(&g, &r, 1);
}
#define EXPECT_FLOATS(root, ...)                                                                             \
  expect_floats(root, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void expect_error(ir_ref root, ir_status status, const char *text) {
  ir_eval_result r = {0};
  assert_int_equal(evaluate(root, &r), status);
  assert_int_equal(error.status, status);
  assert_null(r.data);
  if (!strstr(error.text, text)) fail_msg("the message is: %s", error.text);
}

/* views */

static void permute_and_moveaxis(void **s) {
  ir_ref x = range(IR_F32, LIST(2, 3));
  expect_ints(view(IR_OP_PERMUTE, LIST(3, 2), x, 0, LIST(1, 0)), LIST(3, 2), LIST(0, 3, 1, 4, 2, 5));
  ir_ref y = range(IR_I32, LIST(2, 3, 4));
  ir_ref moved = view(IR_OP_PERMUTE, LIST(3, 4, 2), y, 0, LIST(1, 2, 0)); /* moveaxis 0 -> 2 */
  expect_ints(moved, LIST(3, 4, 2),
              LIST(0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23));
  expect_ints(view(IR_OP_PERMUTE, LIST(2, 3, 4), moved, 0, LIST(2, 0, 1)), LIST(2, 3, 4),
              LIST(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23));
}

static void axes_of_size_one(void **s) {
  ir_ref x = range(IR_U8, LIST(2, 3));
  ir_ref last = view(IR_OP_UNSQUEEZE, LIST(2, 3, 1), x, 2, SCALAR),
         first = view(IR_OP_UNSQUEEZE, LIST(1, 2, 3), x, 0, SCALAR);
  expect_ints(last, LIST(2, 3, 1), LIST(0, 1, 2, 3, 4, 5));
  expect_ints(first, LIST(1, 2, 3), LIST(0, 1, 2, 3, 4, 5));
  expect_ints(view(IR_OP_SQUEEZE, LIST(2, 3), last, 2, SCALAR), LIST(2, 3), LIST(0, 1, 2, 3, 4, 5));
  ir_ref middle = view(IR_OP_UNSQUEEZE, LIST(2, 1, 3), x, 1, SCALAR);
  expect_ints(view(IR_OP_EXPAND, LIST(2, 2, 3), middle, 0, LIST(2, 2, 3)), LIST(2, 2, 3),
              LIST(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  ir_ref scalar = ints(IR_I16, SCALAR, LIST(7));
  expect_ints(view(IR_OP_UNSQUEEZE, LIST(1), scalar, 0, SCALAR), LIST(1), LIST(7));
  expect_error(view(IR_OP_SQUEEZE, LIST(3), x, 0, SCALAR), IR_ERR_INVALID,
               "squeeze: axis 0 does not fit an operand of shape [2,3]");
}

static void expand_and_reshape(void **s) {
  ir_ref row = range(IR_I64, LIST(1, 3)), column = range(IR_I64, LIST(2, 1));
  expect_ints(view(IR_OP_EXPAND, LIST(2, 3), row, 0, LIST(2, 3)), LIST(2, 3), LIST(0, 1, 2, 0, 1, 2));
  expect_ints(view(IR_OP_EXPAND, LIST(2, 5), column, 0, LIST(2, 5)), LIST(2, 5),
              LIST(0, 0, 0, 0, 0, 1, 1, 1, 1, 1));
  expect_ints(view(IR_OP_EXPAND, LIST(2, 0), column, 0, LIST(2, 0)), LIST(2, 0), SCALAR);
  ir_ref x = range(IR_I64, LIST(2, 3));
  expect_ints(view(IR_OP_RESHAPE, LIST(3, 2), x, 0, LIST(3, 2)), LIST(3, 2), LIST(0, 1, 2, 3, 4, 5));
  ir_ref p = view(IR_OP_PERMUTE, LIST(3, 2), x, 0, LIST(1, 0));
  expect_ints(view(IR_OP_RESHAPE, LIST(6), p, 0, LIST(6)), LIST(6),
              LIST(0, 3, 1, 4, 2, 5)); /* the view's elements, not the memory's */
  expect_error(view(IR_OP_RESHAPE, LIST(4), x, 0, LIST(4)), IR_ERR_INVALID,
               "reshape: the number of elements");
  expect_error(view(IR_OP_EXPAND, LIST(4, 3), x, 0, LIST(4, 3)), IR_ERR_INVALID,
               "expand: the size 4 does not fit");
}

static void shrink_stride_flip_point(void **s) {
  ir_ref x = range(IR_F64, LIST(3, 4));
  expect_ints(view(IR_OP_SHRINK, LIST(2, 2), x, 0, LIST(1, 3, 1, 3)), LIST(2, 2), LIST(5, 6, 9, 10));
  expect_ints(view(IR_OP_SHRINK, LIST(3, 0), x, 0, LIST(0, 3, 2, 2)), LIST(3, 0), SCALAR);
  expect_error(view(IR_OP_SHRINK, LIST(2, 5), x, 0, LIST(1, 3, 0, 5)), IR_ERR_INVALID,
               "shrink: the end 5 does not fit");
  ir_ref five = range(IR_I32, LIST(5)), six = range(IR_I32, LIST(6));
  expect_ints(view(IR_OP_STRIDE, LIST(3), five, 0, LIST(2)), LIST(3), LIST(0, 2, 4));
  expect_ints(view(IR_OP_STRIDE, LIST(3), five, 0, LIST(-2)), LIST(3), LIST(4, 2, 0));
  expect_ints(view(IR_OP_STRIDE, LIST(3), six, 0, LIST(-2)), LIST(3), LIST(5, 3, 1));
  expect_ints(view(IR_OP_STRIDE, LIST(2), six, 0, LIST(-4)), LIST(2), LIST(5, 1));
  expect_ints(view(IR_OP_STRIDE, LIST(1), six, 0, LIST(100)), LIST(1), LIST(0));
  expect_error(view(IR_OP_STRIDE, LIST(6), six, 0, LIST(0)), IR_ERR_INVALID, "stride: the step 0");
  ir_ref padded = pad(LIST(6), range(IR_I32, LIST(3)), IR_PAD_CONSTANT, -9, LIST(1, 2));
  expect_ints(view(IR_OP_STRIDE, LIST(3), padded, 0, LIST(-2)), LIST(3), LIST(-9, 2, 0));
  expect_ints(view(IR_OP_FLIP, LIST(4), range(IR_I8, LIST(4)), 0, LIST(0)), LIST(4), LIST(3, 2, 1, 0));
  expect_ints(view(IR_OP_FLIP, LIST(2, 2), range(IR_I8, LIST(2, 2)), 0, LIST(0, 1)), LIST(2, 2),
              LIST(3, 2, 1, 0));
  expect_ints(view(IR_OP_POINT, LIST(3), x, 1, LIST(2)), LIST(3), LIST(2, 6, 10));
  expect_ints(view(IR_OP_POINT, LIST(4), x, 0, LIST(2)), LIST(4), LIST(8, 9, 10, 11));
  expect_error(view(IR_OP_POINT, LIST(4), x, 0, LIST(3)), IR_ERR_INVALID, "point: index 3 does not fit");
}

/* Odd rows and columns of 5x5; every second row from 0 and column from 1; a reversed window with strides */
static void windows_with_steps(void **s) {
  ir_ref x = range(IR_I32, LIST(5, 5));
  ir_ref inner = view(IR_OP_SHRINK, LIST(4, 4), x, 0, LIST(1, 5, 1, 5));
  expect_ints(view(IR_OP_STRIDE, LIST(2, 2), inner, 0, LIST(2, 2)), LIST(2, 2), LIST(6, 8, 16, 18));
  ir_ref right = view(IR_OP_SHRINK, LIST(5, 4), x, 0, LIST(0, 5, 1, 5));
  expect_ints(view(IR_OP_STRIDE, LIST(3, 2), right, 0, LIST(2, 2)), LIST(3, 2), LIST(1, 3, 11, 13, 21, 23));
  ir_ref five = ints(IR_I32, LIST(5), LIST(1, 2, 3, 4, 5));
  expect_ints(view(IR_OP_STRIDE, LIST(3), five, 0, LIST(-2)), LIST(3), LIST(5, 3, 1));
}

static void pads(void **s) {
  ir_ref x = ints(IR_I32, LIST(2, 2), LIST(1, 2, 3, 4));
  expect_ints(pad(LIST(3, 4), x, IR_PAD_CONSTANT, 9, LIST(1, 0, 0, 2)), LIST(3, 4),
              LIST(9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9));
  ir_ref three = range(IR_F32, LIST(3));
  expect_ints(pad(LIST(6), three, IR_PAD_CONSTANT, 0, LIST(2, 1)), LIST(6), LIST(0, 0, 0, 1, 2, 0));
  ir_ref once = pad(LIST(4, 5), range(IR_I64, LIST(2, 3)), IR_PAD_CONSTANT, 7, LIST(1, 1, 1, 1));
  expect_ints(pad(LIST(5, 5), once, IR_PAD_CONSTANT, 8, LIST(1, 0, 0, 0)), LIST(5, 5),
              LIST(8, 8, 8, 8, 8, 7, 7, 7, 7, 7, 7, 0, 1, 2, 7, 7, 3, 4, 5, 7, 7, 7, 7, 7, 7));
  ir_ref padded = pad(LIST(6), three, IR_PAD_CONSTANT, 5, LIST(2, 1));
  expect_ints(view(IR_OP_SHRINK, LIST(3), padded, 0, LIST(2, 5)), LIST(3), LIST(0, 1, 2));
  expect_ints(view(IR_OP_SHRINK, LIST(2), padded, 0, LIST(0, 2)), LIST(2), LIST(5, 5));
  expect_ints(pad(LIST(3), range(IR_I8, LIST(0)), IR_PAD_CONSTANT, 4, LIST(1, 2)), LIST(3), LIST(4, 4, 4));
  expect_error(pad(LIST(2), three, IR_PAD_CONSTANT, 0, LIST(-1, 0)), IR_ERR_INVALID, "pad: the padding -1");
}

static void pad_modes(void **s) {
  ir_ref x = ints(IR_I32, LIST(4), LIST(1, 2, 3, 4));
  expect_ints(pad(LIST(9), x, IR_PAD_EDGE, 0, LIST(2, 3)), LIST(9), LIST(1, 1, 1, 2, 3, 4, 4, 4, 4));
  expect_ints(pad(LIST(9), x, IR_PAD_REFLECT, 0, LIST(2, 3)), LIST(9), LIST(3, 2, 1, 2, 3, 4, 3, 2, 1));
  expect_ints(pad(LIST(9), x, IR_PAD_WRAP, 0, LIST(2, 3)), LIST(9), LIST(3, 4, 1, 2, 3, 4, 1, 2, 3));
  /* padding longer than the axis: numpy.pad([1,2,3], (5, 5), mode) */
  ir_ref y = ints(IR_I32, LIST(3), LIST(1, 2, 3));
  expect_ints(pad(LIST(13), y, IR_PAD_REFLECT, 0, LIST(5, 5)), LIST(13),
              LIST(2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2));
  expect_ints(pad(LIST(13), y, IR_PAD_WRAP, 0, LIST(5, 5)), LIST(13),
              LIST(2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2));
  expect_ints(pad(LIST(4), ints(IR_I32, LIST(1), LIST(6)), IR_PAD_REFLECT, 0, LIST(1, 2)), LIST(4),
              LIST(6, 6, 6, 6));
  ir_ref square = ints(IR_I32, LIST(2, 2), LIST(1, 2, 3, 4));
  expect_ints(pad(LIST(3, 3), square, IR_PAD_REFLECT, 0, LIST(1, 0, 0, 1)), LIST(3, 3),
              LIST(3, 4, 3, 1, 2, 1, 3, 4, 3));
  expect_error(pad(LIST(1), range(IR_I32, LIST(0)), IR_PAD_EDGE, 0, LIST(0, 1)), IR_ERR_INVALID,
               "mode=edge cannot extend");
}

static void concat_and_stack(void **s) {
  ir_ref a = range(IR_I32, LIST(2, 2)), row = ints(IR_I32, LIST(1, 2), LIST(10, 11)),
         column = ints(IR_I32, LIST(2, 1), LIST(10, 11));
  expect_ints(join(IR_OP_CONCAT, LIST(3, 2), 0, a, row), LIST(3, 2), LIST(0, 1, 2, 3, 10, 11));
  expect_ints(join(IR_OP_CONCAT, LIST(2, 3), 1, a, column), LIST(2, 3), LIST(0, 1, 10, 2, 3, 11));
  expect_ints(join(IR_OP_CONCAT, LIST(1, 2), 0, range(IR_I32, LIST(0, 2)), row), LIST(1, 2), LIST(10, 11));
  ir_ref x = ints(IR_I32, LIST(2), LIST(0, 1)), y = ints(IR_I32, LIST(2), LIST(8, 9));
  expect_ints(join(IR_OP_STACK, LIST(2, 2), 0, x, y), LIST(2, 2), LIST(0, 1, 8, 9));
  expect_ints(join(IR_OP_STACK, LIST(2, 2), 1, x, y), LIST(2, 2), LIST(0, 8, 1, 9));
  expect_error(join(IR_OP_CONCAT, LIST(3, 2), 0, a, column), IR_ERR_INVALID, "concat: operand 1");
  expect_error(join(IR_OP_STACK, LIST(2, 2), 0, x, row), IR_ERR_INVALID, "stack: operand 1");
}

/* gather */

static void gathers(void **s) {
  ir_ref index = ints(IR_I32, LIST(3), LIST(2, 0, 2));
  expect_ints(gather(LIST(3, 2), range(IR_F32, LIST(3, 2)), index, 0, 0), LIST(3, 2), LIST(4, 5, 0, 1, 4, 5));
  expect_ints(gather(LIST(2, 3), range(IR_F32, LIST(2, 3)), index, 1, 0), LIST(2, 3), LIST(2, 0, 2, 5, 3, 5));
  ir_ref square = ints(IR_I64, LIST(2, 2), LIST(3, 0, 1, 1)), four = range(IR_I32, LIST(4));
  expect_ints(gather(LIST(2, 2), four, square, 0, 0), LIST(2, 2), LIST(3, 0, 1, 1));
  expect_ints(gather(LIST(2, 2, 2), range(IR_I8, LIST(2, 4)), square, 1, 0), LIST(2, 2, 2),
              LIST(3, 0, 1, 1, 7, 4, 5, 5));
  expect_ints(gather(SCALAR, four, ints(IR_I8, SCALAR, LIST(-1)), 0, 0), SCALAR, LIST(3));
  ir_ref wild = ints(IR_I32, LIST(5), LIST(-5, -4, 3, 4, 1000));
  expect_ints(gather(LIST(5), four, wild, 0, IR_GATHER_CLIP), LIST(5), LIST(0, 0, 3, 3, 3));
  expect_ints(gather(LIST(5), ints(IR_I32, LIST(4), LIST(5, 6, 7, 8)), wild, 0, IR_GATHER_FILL), LIST(5),
              LIST(0, 5, 8, 0, 0));
  expect_ints(gather(LIST(0), four, range(IR_U16, LIST(0)), 0, 0), LIST(0), SCALAR);
  expect_ints(gather(LIST(2), range(IR_I32, LIST(0)), ints(IR_I32, LIST(2), LIST(0, 1)), 0, IR_GATHER_FILL),
              LIST(2), LIST(0, 0));
}

static void gather_out_of_range(void **s) {
  ir_ref four = range(IR_I32, LIST(4)), bad = ints(IR_I32, LIST(3), LIST(1, 9, -5));
  ir_ref taken = gather(LIST(3), four, bad, 0, IR_GATHER_CHECK);
  expect_error(taken, IR_ERR_RANGE,
               "gather: index 9 is out of range for axis 0 of size 4; it must be in -4..3");
  /* an index out of range is an error only where a result needs it, and the message names one of these */
  expect_ints(view(IR_OP_SHRINK, LIST(1), taken, 0, LIST(0, 1)), LIST(1), LIST(1));
  ir_ref last = view(IR_OP_SHRINK, LIST(1), taken, 0, LIST(2, 3));
  expect_error(last, IR_ERR_RANGE, "index -5 is out of range");
  expect_error(ir_unary(&g, IR_OP_NEG, last), IR_ERR_RANGE, "index -5");
  expect_error(pad(LIST(3), last, IR_PAD_CONSTANT, 0, LIST(1, 1)), IR_ERR_RANGE, "index -5");
  expect_error(reduce(IR_OP_SUM, IR_I32, SCALAR, taken, false, LIST(0)), IR_ERR_RANGE, "index 9");
  expect_error(matmul(IR_I32, SCALAR, taken, range(IR_I32, LIST(3))), IR_ERR_RANGE, "index 9");
  expect_error(gather(LIST(1), range(IR_I32, LIST(9)), last, 0, IR_GATHER_CHECK), IR_ERR_RANGE, "index -5");
  ir_ref condition = ir_int(&g, IR_BOOL, 0);
  expect_error(ir_where(&g, condition, last, ints(IR_I32, LIST(1), LIST(0))), IR_ERR_RANGE, "index -5");
  ir_ref huge = ints(IR_U64, LIST(1), LIST(-1));
  expect_error(gather(LIST(1), four, huge, 0, IR_GATHER_CHECK), IR_ERR_RANGE, "index 18446744073709551615");
  expect_ints(gather(LIST(1), four, huge, 0, IR_GATHER_CLIP), LIST(1), LIST(3));
  expect_error(gather(LIST(1), range(IR_I32, LIST(0)), ints(IR_I32, LIST(1), LIST(0)), 0, IR_GATHER_CLIP),
               IR_ERR_RANGE, "size 0");
}

/* spec.md, V22 and V23, and further cases by hand */
static void scatters(void **s) {
  enum { CHECK = IR_GATHER_CHECK, CLIP = IR_GATHER_CLIP, FILL = IR_GATHER_FILL };
  ir_ref x = range(IR_F32, LIST(4, 2)), at = ints(IR_I32, LIST(2), LIST(3, 1));
  expect_ints(scatter(IR_OP_SCATTER, x, at, ints(IR_F32, LIST(2, 2), LIST(100, 101, 102, 103)), 0, CHECK, 0),
              LIST(4, 2), LIST(0, 1, 102, 103, 4, 5, 100, 101));
  ir_ref wide = range(IR_I16, LIST(2, 4)), columns = ints(IR_U8, LIST(2), LIST(1, 3));
  expect_ints(
      scatter(IR_OP_SCATTER, wide, columns, ints(IR_I16, LIST(2, 2), LIST(101, 100, 103, 102)), 1, CHECK, 0),
      LIST(2, 4), LIST(0, 101, 2, 100, 4, 103, 6, 102));
  ir_ref three = range(IR_I64, LIST(3)), twice = ints(IR_I8, LIST(2), LIST(1, -2)),
         two = ints(IR_I64, LIST(2), LIST(7, 8));
  expect_ints(scatter(IR_OP_SCATTER, three, twice, two, 0, CHECK, 0), LIST(3), LIST(0, 8, 2));
  expect_ints(scatter(IR_OP_SCATTER_ADD, three, twice, two, 0, CHECK, 0), LIST(3), LIST(0, 16, 2));
  ir_ref wild = ints(IR_I32, LIST(2), LIST(-9, 3));
  expect_ints(scatter(IR_OP_SCATTER, three, wild, two, 0, CLIP, 0), LIST(3), LIST(7, 1, 8));
  expect_ints(scatter(IR_OP_SCATTER_ADD, three, wild, two, 0, FILL, 0), LIST(3), LIST(0, 1, 2));
  ir_ref zeros = ints(IR_F32, LIST(3, 2), LIST(0, 0, 0, 0, 0, 0)),
         rows = ints(IR_I64, LIST(3), LIST(2, 0, 2)), ones = ints(IR_F32, LIST(3, 2), LIST(1, 2, 3, 4, 5, 6));
  expect_ints(scatter(IR_OP_SCATTER_ADD, zeros, rows, ones, 0, CHECK, 0), LIST(3, 2), LIST(3, 4, 0, 0, 6, 8));
  /* wraps around; one index for all; no indices */
  expect_ints(scatter(IR_OP_SCATTER_ADD, ints(IR_I8, LIST(1), LIST(127)), ints(IR_I8, LIST(2), LIST(0, 0)),
                      ints(IR_I8, LIST(2), LIST(1, 1)), 0, CHECK, 0),
              LIST(1), LIST(-127));
  expect_ints(
      scatter(IR_OP_SCATTER, x, ints(IR_I8, SCALAR, LIST(2)), ints(IR_F32, LIST(2), LIST(8, 9)), 0, CHECK, 0),
      LIST(4, 2), LIST(0, 1, 2, 3, 8, 9, 6, 7));
  expect_ints(scatter(IR_OP_SCATTER, three, range(IR_I8, LIST(0)), range(IR_I64, LIST(0)), 0, CHECK, 0),
              LIST(3), LIST(0, 1, 2));
  expect_ints(scatter(IR_OP_SCATTER, range(IR_I64, LIST(0)), twice, two, 0, CHECK, 0), LIST(0), SCALAR);
  /* a row of indices for each row of data */
  ir_ref own = ints(IR_I32, LIST(2, 2), LIST(2, -4, 1, 1));
  expect_ints(gather_batched(LIST(2, 2), wide, own, 1, 1), LIST(2, 2), LIST(2, 0, 5, 5));
  expect_ints(
      scatter(IR_OP_SCATTER_ADD, wide, own, ints(IR_I16, LIST(2, 2), LIST(10, 20, 30, 40)), 1, CHECK, 1),
      LIST(2, 4), LIST(20, 1, 12, 3, 4, 75, 6, 7));
}

/* 2048 + 1 is 2048 in f16, but three ones at once are not lost. */
static void scatter_rounds_once(void **s) {
  ir_ref big = ints(IR_F16, LIST(1), LIST(2048)), ones = ints(IR_F16, LIST(3), LIST(1, 1, 1));
  expect_ints(
      scatter(IR_OP_SCATTER_ADD, big, ints(IR_I8, LIST(3), LIST(0, 0, 0)), ones, 0, IR_GATHER_CHECK, 0),
      LIST(1), LIST(2052)); /* 2051 lies between 2050 and 2052, and 2052 is even */
}

static void scatter_out_of_range(void **s) {
  ir_ref three = range(IR_I32, LIST(3)), bad = ints(IR_I32, LIST(2), LIST(0, 3)),
         two = ints(IR_I32, LIST(2), LIST(7, 8));
  ir_ref made = scatter(IR_OP_SCATTER, three, bad, two, 0, IR_GATHER_CHECK, 0);
  expect_error(made, IR_ERR_RANGE,
               "scatter: index 3 is out of range for axis 0 of size 3; it must be in -3..2");
  expect_error(view(IR_OP_SHRINK, LIST(1), made, 0, LIST(0, 1)), IR_ERR_RANGE, "index 3");
  ir_ref wrong = gather(LIST(2), range(IR_I32, LIST(1)), bad, 0, IR_GATHER_CHECK),
         good = ints(IR_I32, LIST(2), LIST(1, 1));
  expect_error(scatter(IR_OP_SCATTER, three, wrong, two, 0, IR_GATHER_CHECK, 0), IR_ERR_RANGE,
               "gather: index 3");
  expect_error(scatter(IR_OP_SCATTER, three, good, wrong, 0, IR_GATHER_CHECK, 0), IR_ERR_RANGE,
               "gather: index 3");
  ir_ref first = ints(IR_I32, LIST(2), LIST(3, 0)),
         hidden = gather(LIST(2), range(IR_I32, LIST(1)), first, 0, IR_GATHER_CHECK);
  expect_ints(scatter(IR_OP_SCATTER, three, good, hidden, 0, IR_GATHER_CHECK, 0), LIST(3), LIST(0, 0, 2));
  expect_error(scatter(IR_OP_SCATTER_ADD, three, good, hidden, 0, IR_GATHER_CHECK, 0), IR_ERR_RANGE,
               "gather: index 3");
  expect_error(scatter(IR_OP_SCATTER, three, good, three, 0, IR_GATHER_CHECK, 0), IR_ERR_INVALID,
               "scatter: the updates have shape [3], but [2] is at the indices");
}

/* elementwise */

static void expect_binary(ir_op op, ir_dtype type, int64_t a, int64_t b, int64_t want) {
  ir_value v[] = {{.i = a}, {.i = b}};
  ir_dtype result = ir_ops[op].cls == IR_CLASS_COMPARE ? IR_BOOL : type;
  int64_t got = ir_scalar_apply(op, result, type, v).i;
  if (got != want)
    fail_msg("%s %s %lld %lld is %lld", ir_ops[op].text, ir_dtypes[type].name, (long long)a, (long long)b,
             (long long)got);
}

static void integers(void **s) {
  static const struct {
    ir_op op;
    ir_dtype type;
    int64_t a, b, want;
  } cases[] = {
      {IR_OP_ADD, IR_I8, 127, 1, -128},
      {IR_OP_ADD, IR_U8, 255, 1, 0},
      {IR_OP_SUB, IR_U16, 0, 1, 65535},
      {IR_OP_MUL, IR_I16, 300, 300, 24464},
      {IR_OP_MUL, IR_I64, INT64_MAX, 2, -2},
      {IR_OP_ADD, IR_I32, INT32_MAX, 1, INT32_MIN},
      {IR_OP_NEG, IR_I32, INT32_MIN, 0, INT32_MIN},
      {IR_OP_ABS, IR_I8, -128, 0, -128},
      {IR_OP_ABS, IR_I64, INT64_MIN, 0, INT64_MIN},
      {IR_OP_NEG, IR_U8, 1, 0, 255},
      {IR_OP_NOT, IR_U8, 1, 0, 254},
      {IR_OP_NOT, IR_I8, 1, 0, -2},
      {IR_OP_NOT, IR_BOOL, 1, 0, 0},
      {IR_OP_ABS, IR_U64, -1, 0, -1},
      {IR_OP_FLOORDIV, IR_I32, 7, 2, 3},
      {IR_OP_FLOORDIV, IR_I32, -7, 2, -4},
      {IR_OP_FLOORDIV, IR_I32, 7, -2, -4},
      {IR_OP_FLOORDIV, IR_I32, -7, -2, 3},
      {IR_OP_FLOORDIV, IR_I32, -6, 2, -3},
      {IR_OP_FLOORDIV, IR_I8, -128, -1, -128},
      {IR_OP_FLOORDIV, IR_I64, INT64_MIN, -1, INT64_MIN},
      {IR_OP_FLOORDIV, IR_I32, 5, 0, 0},
      {IR_OP_FLOORDIV, IR_U64, -1, 2, INT64_MAX},
      {IR_OP_MOD, IR_I32, 7, 2, 1},
      {IR_OP_MOD, IR_I32, -7, 2, 1},
      {IR_OP_MOD, IR_I32, 7, -2, -1},
      {IR_OP_MOD, IR_I32, -7, -2, -1},
      {IR_OP_MOD, IR_I32, -6, 2, 0},
      {IR_OP_MOD, IR_I8, -128, -1, 0},
      {IR_OP_MOD, IR_I64, INT64_MIN, -1, 0},
      {IR_OP_MOD, IR_I32, -5, 0, -5},
      {IR_OP_MOD, IR_U64, -1, 10, 5},
      {IR_OP_SHL, IR_I32, 1, 31, INT32_MIN},
      {IR_OP_SHL, IR_I32, 1, 32, 0},
      {IR_OP_SHL, IR_I8, -1, 7, -128},
      {IR_OP_SHL, IR_U64, 1, 64, 0},
      {IR_OP_SHL, IR_I32, 1, -1, 0},
      {IR_OP_SHL, IR_U8, 1, 200, 0},
      {IR_OP_SHR, IR_I32, -8, 1, -4},
      {IR_OP_SHR, IR_I32, -8, 32, -1},
      {IR_OP_SHR, IR_I32, 8, 99, 0},
      {IR_OP_SHR, IR_U32, 0x80000000, 31, 1},
      {IR_OP_SHR, IR_U64, -1, 63, 1},
      {IR_OP_SHR, IR_I64, -1, -3, 0},
      {IR_OP_SHR, IR_I64, INT64_MIN, 64, -1},
      {IR_OP_DOT2, IR_I32, 0x00030002, 0x00050007, 29},
      {IR_OP_DOT2, IR_I32, (int32_t)0xffff0002u, 0x00050007, 9},
      {IR_OP_DOT2, IR_I32, (int32_t)0x80008000u, (int32_t)0x80008000u, INT32_MIN},
      {IR_OP_DOT2, IR_U32, 0x8000ffff, 0x00010001, 0xffff7fff},
      {IR_OP_DOT2, IR_I8, (int8_t)0x8f, 0x71, -57},
      {IR_OP_DOT2, IR_I64, 0x300000002, 0x500000007, 29},
      {IR_OP_AND, IR_I8, -1, 15, 15},
      {IR_OP_OR, IR_U8, 240, 15, 255},
      {IR_OP_XOR, IR_I16, -1, 1, -2},
      {IR_OP_XOR, IR_BOOL, 1, 1, 0},
      {IR_OP_MIN, IR_U64, -1, 1, 1},
      {IR_OP_MAX, IR_U64, -1, 1, -1},
      {IR_OP_MAX, IR_I64, -1, 1, 1},
      {IR_OP_MIN, IR_BOOL, 1, 0, 0},
      {IR_OP_ADD, IR_BOOL, 1, 1, 1},
      {IR_OP_LT, IR_U64, -1, 1, 0},
      {IR_OP_LT, IR_I64, -1, 1, 1},
      {IR_OP_GE, IR_U64, -1, 1, 1},
      {IR_OP_EQ, IR_BOOL, 1, 1, 1},
      {IR_OP_NE, IR_I8, 1, 1, 0},
      {IR_OP_LE, IR_I8, 1, 1, 1},
      {IR_OP_GT, IR_U8, 2, 1, 1},
      {IR_OP_FLOOR, IR_I32, -7, 0, -7},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_binary(cases[i].op, cases[i].type, cases[i].a, cases[i].b, cases[i].want);
}

/* Every pair of i8 and of u8: floor division rounds down and the remainder has the divisor's sign */
static void small_integers_exhaustively(void **s) {
  for (int a = -128; a < 128; a++)
    for (int b = -128; b < 128; b++) {
      if (b != 0) expect_binary(IR_OP_FLOORDIV, IR_I8, a, b, (int8_t)(int)floor((double)a / b));
      if (b != 0) expect_binary(IR_OP_MOD, IR_I8, a, b, a - b * (int)floor((double)a / b));
      expect_binary(IR_OP_SHR, IR_I8, a, b, b < 0 ? 0 : b < 8 ? (int)floor(a / ldexp(1, b)) : a < 0 ? -1 : 0);
      expect_binary(IR_OP_SHL, IR_U8, a & 255, b & 255, (b & 255) < 8 ? ((a & 255) << (b & 255)) & 255 : 0);
    }
}

static void float_operations(void **s) {
  ir_ref a = FLOATS(IR_F32, NAN, 1, -0.0, 0.0, 3, -INFINITY), b = FLOATS(IR_F32, 1, NAN, 0.0, -0.0, 2, 5);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_MIN, a, b), NAN, NAN, -0.0, -0.0, 2, -INFINITY);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_MAX, a, b), NAN, NAN, 0.0, 0.0, 3, 5);
  expect_ints(ir_binary(&g, IR_OP_LT, a, b), LIST(6), LIST(0, 0, 0, 0, 0, 1));
  expect_ints(ir_binary(&g, IR_OP_NE, a, b), LIST(6), LIST(1, 1, 0, 0, 1, 1));
  expect_ints(ir_binary(&g, IR_OP_GE, a, b), LIST(6), LIST(0, 0, 1, 1, 1, 0));
  ir_ref x = FLOATS(IR_F64, 7, -7, 7, -7, 5.5, 1), y = FLOATS(IR_F64, 2, 2, -2, -2, 0.5, 0);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_FLOORDIV, x, y), 3, -4, -4, 3, 11, INFINITY);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_MOD, x, y), 1, 1, -1, -1, 0, NAN);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_DIV, x, y), 3.5, -3.5, -3.5, 3.5, 11, INFINITY);
  ir_ref r = FLOATS(IR_F32, 0.5, 1.5, 2.5, -0.5, -1.5, -0.25);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_ROUND, r), 0, 2, 2, -0.0, -2, -0.0);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_FLOOR, r), 0, 1, 2, -1, -2, -1);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_CEIL, r), 1, 2, 3, -0.0, -1, -0.0);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_TRUNC, r), 0, 1, 2, -0.0, -1, -0.0);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_SQRT, FLOATS(IR_F32, 4, -1, -0.0, INFINITY)), 2, NAN, -0.0, INFINITY);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_NEG, FLOATS(IR_F32, 0.0, -0.0, 1)), -0.0, 0.0, -1);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_ABS, FLOATS(IR_F32, -0.0, -INFINITY, -1)), 0.0, INFINITY, 1);
}

/* Each operation is rounded to its own format: an f32 operation is not a double operation, and fma rounds
 * once. */
static void rounding(void **s) {
  ir_ref big = FLOATS(IR_F32, 0x1p24), one = FLOATS(IR_F32, 1);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_SUB, ir_binary(&g, IR_OP_ADD, big, one), big), 0);
  ir_ref x = FLOATS(IR_F32, 1 + 0x1p-12), minus = FLOATS(IR_F32, -(1 + 0x1p-11));
  EXPECT_FLOATS(fma3(x, x, minus), 0x1p-24);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_ADD, ir_binary(&g, IR_OP_MUL, x, x), minus), 0);
  ir_ref half = FLOATS(IR_F16, 2048), unit = FLOATS(IR_F16, 1);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_ADD, half, unit), 2048);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_MUL, half, FLOATS(IR_F16, 32)), INFINITY);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_ADD, FLOATS(IR_BF16, 256), FLOATS(IR_BF16, 1)), 256);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_MUL, FLOATS(IR_F32, 0x1p-149), FLOATS(IR_F32, 0.5)), 0);
  EXPECT_FLOATS(ir_binary(&g, IR_OP_MUL, FLOATS(IR_F32, 0x1p-126), FLOATS(IR_F32, 0.5)), 0x1p-127);
}

static void casts(void **s) {
  ir_ref x = FLOATS(IR_F64, 300, -1.9, NAN, INFINITY, -INFINITY, 127.9);
  expect_ints(ir_cast(&g, x, IR_I8), LIST(6), LIST(127, -1, 0, 127, -128, 127));
  expect_ints(ir_cast(&g, x, IR_U8), LIST(6), LIST(255, 0, 0, 255, 0, 127));
  expect_ints(ir_cast(&g, x, IR_U64), LIST(6), LIST(300, 0, 0, -1, 0, 127));
  expect_ints(ir_cast(&g, x, IR_BOOL), LIST(6), LIST(1, 1, 1, 1, 1, 1));
  ir_ref y = ints(IR_I32, LIST(4), LIST(300, -1, 65536, 0));
  expect_ints(ir_cast(&g, y, IR_U8), LIST(4), LIST(44, 255, 0, 0));
  expect_ints(ir_cast(&g, y, IR_BOOL), LIST(4), LIST(1, 1, 1, 0));
  expect_ints(ir_cast(&g, y, IR_I64), LIST(4), LIST(300, -1, 65536, 0));
  EXPECT_FLOATS(ir_cast(&g, ints(IR_I32, LIST(2), LIST(16777217, -16777219)), IR_F32), 16777216, -16777220);
  EXPECT_FLOATS(ir_cast(&g, ints(IR_U64, LIST(1), LIST(-1)), IR_F32), 0x1p64);
  EXPECT_FLOATS(ir_cast(&g, FLOATS(IR_F32, 65519, 65520, 0x1p-25, 0x1.8p-25), IR_F16), 65504, INFINITY, 0,
                0x1p-24);
}

static void bitcasts(void **s) {
  expect_ints(ir_bitcast(&g, FLOATS(IR_F32, 1, -0.0), IR_U32), LIST(2), LIST(0x3f800000, 0x80000000));
  ir_ref nan = ints(IR_U32, LIST(1), LIST(0x7f800123)); /* a signalling NaN survives the round trip */
  expect_ints(ir_bitcast(&g, ir_bitcast(&g, nan, IR_F32), IR_U32), LIST(1), LIST(0x7f800123));
  expect_ints(ir_bitcast(&g, ints(IR_I16, LIST(1), LIST(-1)), IR_U16), LIST(1), LIST(65535));
  expect_error(ir_bitcast(&g, nan, IR_U8), IR_ERR_INVALID, "bitcast: u32 and u8 differ in size");
}

static void broadcasting(void **s) {
  ir_ref x = range(IR_I32, LIST(2, 3)), two = ir_int(&g, IR_I32, 2);
  expect_ints(ir_binary(&g, IR_OP_MUL, x, two), LIST(2, 3), LIST(0, 2, 4, 6, 8, 10));
  expect_ints(ir_binary(&g, IR_OP_SUB, two, x), LIST(2, 3), LIST(2, 1, 0, -1, -2, -3));
  ir_ref column = range(IR_I32, LIST(2, 1)), row = range(IR_I32, LIST(3));
  ir_ref sum = ir_make_tensor(&g, IR_OP_ADD, IR_I32, shape_of(LIST(2, 3)), 0, (ir_ref[]){column, row}, 2);
  expect_ints(sum, LIST(2, 3), LIST(0, 1, 2, 1, 2, 3));
  ir_ref none = ir_make_tensor(&g, IR_OP_ADD, IR_I32, shape_of(LIST(2, 0)), 0,
                               (ir_ref[]){column, range(IR_I32, LIST(0))}, 2);
  expect_ints(none, LIST(2, 0), SCALAR);
  expect_error(ir_binary(&g, IR_OP_ADD, x, range(IR_I32, LIST(2))), IR_ERR_INVALID,
               "add: shapes [2,3] and [2] do not broadcast");
  ir_ref condition = ints(IR_BOOL, LIST(2), LIST(1, 0));
  expect_ints(ir_where(&g, condition, ints(IR_I8, LIST(2), LIST(5, 6)), ir_int(&g, IR_I8, -1)), LIST(2),
              LIST(5, -1));
}

static void elementary_functions_go_through_their_definitions(void **s) {
  ir_ref x = FLOATS(IR_F32, 0, 1, -INFINITY);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_EXP2, x), 1, 2, 0);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_RELU, x), 0, 1, 0);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_RSQRT, FLOATS(IR_F64, 4, 0)), 0.5, INFINITY);
  EXPECT_FLOATS(ir_unary(&g, IR_OP_EXP, FLOATS(IR_F16, 0, 20)), 1, INFINITY);
  expect_ints(ir_binary(&g, IR_OP_POW, ints(IR_I32, LIST(2), LIST(3, -2)), ir_int(&g, IR_I32, 3)), LIST(2),
              LIST(27, -8));
}

/* reductions */

static void sums(void **s) {
  ir_ref x = range(IR_F32, LIST(2, 3));
  expect_ints(reduce(IR_OP_SUM, IR_F32, SCALAR, x, false, LIST(0, 1)), SCALAR, LIST(15));
  expect_ints(reduce(IR_OP_SUM, IR_F32, LIST(3), x, false, LIST(0)), LIST(3), LIST(3, 5, 7));
  expect_ints(reduce(IR_OP_SUM, IR_F32, LIST(2, 1), x, true, LIST(1)), LIST(2, 1), LIST(3, 12));
  expect_ints(reduce(IR_OP_SUM, IR_F32, LIST(2, 3), x, false, SCALAR), LIST(2, 3), LIST(0, 1, 2, 3, 4, 5));
  expect_ints(reduce(IR_OP_PROD, IR_F32, LIST(2), x, false, LIST(1)), LIST(2), LIST(0, 60));
  expect_ints(reduce(IR_OP_SUM, IR_I32, SCALAR, ints(IR_I8, LIST(3), LIST(127, 127, 127)), false, LIST(0)),
              SCALAR, LIST(381));
  expect_ints(reduce(IR_OP_SUM, IR_I32, SCALAR, ints(IR_BOOL, LIST(3), LIST(1, 0, 1)), false, LIST(0)),
              SCALAR, LIST(2));
  expect_ints(reduce(IR_OP_SUM, IR_U32, SCALAR, ints(IR_U32, LIST(2), LIST(0xffffffff, 2)), false, LIST(0)),
              SCALAR, LIST(1));
  expect_ints(reduce(IR_OP_PROD, IR_I64, SCALAR, ints(IR_I64, LIST(2), LIST(INT64_MAX, 2)), false, LIST(0)),
              SCALAR, LIST(-2));
  expect_ints(reduce(IR_OP_SUM, IR_F16, SCALAR, FLOATS(IR_F16, 2048, 1, 1, 1, 1), false, LIST(0)), SCALAR,
              LIST(2052));
  EXPECT_FLOATS(reduce(IR_OP_SUM, IR_F32, SCALAR, FLOATS(IR_F32, 0x1p24, 1, 1), false, LIST(0)), 0x1p24 + 2);
  EXPECT_FLOATS(reduce(IR_OP_SUM, IR_F32, SCALAR, FLOATS(IR_F32, INFINITY, -INFINITY), false, LIST(0)), NAN);
  EXPECT_FLOATS(reduce(IR_OP_SUM, IR_F64, SCALAR, FLOATS(IR_F64, -0.0), false, LIST(0)), 0.0);
}

static void means(void **s) {
  EXPECT_FLOATS(reduce(IR_OP_MEAN, IR_F32, LIST(2), range(IR_F32, LIST(2, 3)), false, LIST(1)), 1, 4);
  EXPECT_FLOATS(reduce(IR_OP_MEAN, IR_F32, SCALAR, ints(IR_I32, LIST(2), LIST(1, 2)), false, LIST(0)), 1.5);
  EXPECT_FLOATS(reduce(IR_OP_MEAN, IR_F64, SCALAR, ints(IR_I64, LIST(3), LIST(1, 0, 0)), false, LIST(0)),
                1.0 / 3);
  EXPECT_FLOATS(reduce(IR_OP_MEAN, IR_F16, SCALAR, FLOATS(IR_F16, 60000, 60000), false, LIST(0)), 60000);
}

static void extremes(void **s) {
  ir_ref x = ints(IR_I32, LIST(2, 3), LIST(3, 9, 9, -1, -5, -5));
  expect_ints(reduce(IR_OP_REDUCE_MAX, IR_I32, LIST(2), x, false, LIST(1)), LIST(2), LIST(9, -1));
  expect_ints(reduce(IR_OP_REDUCE_MIN, IR_I32, LIST(3), x, false, LIST(0)), LIST(3), LIST(-1, -5, -5));
  expect_ints(reduce(IR_OP_ARGMAX, IR_I64, LIST(2), x, false, LIST(1)), LIST(2), LIST(1, 0));
  expect_ints(reduce(IR_OP_ARGMIN, IR_I64, LIST(2, 1), x, true, LIST(1)), LIST(2, 1), LIST(0, 1));
  expect_ints(reduce(IR_OP_ARGMAX, IR_I64, LIST(3), x, false, LIST(0)), LIST(3), LIST(0, 0, 0));
  EXPECT_FLOATS(reduce(IR_OP_REDUCE_MAX, IR_F32, SCALAR, FLOATS(IR_F32, 1, NAN, 3), false, LIST(0)), NAN);
  EXPECT_FLOATS(reduce(IR_OP_REDUCE_MIN, IR_F32, SCALAR, FLOATS(IR_F32, 0.0, -0.0), false, LIST(0)), -0.0);
  expect_ints(reduce(IR_OP_ARGMAX, IR_I64, SCALAR, FLOATS(IR_F32, 1, NAN, 3, NAN), false, LIST(0)), SCALAR,
              LIST(1));
  expect_ints(reduce(IR_OP_ARGMIN, IR_I64, SCALAR, FLOATS(IR_F32, 1, -INFINITY, NAN), false, LIST(0)), SCALAR,
              LIST(2));
  expect_ints(reduce(IR_OP_ARGMIN, IR_I64, SCALAR, FLOATS(IR_F64, 0.0, -0.0), false, LIST(0)), SCALAR,
              LIST(0));
  expect_ints(reduce(IR_OP_REDUCE_MAX, IR_U64, SCALAR, ints(IR_U64, LIST(2), LIST(1, -1)), false, LIST(0)),
              SCALAR, LIST(-1));
  expect_ints(reduce(IR_OP_REDUCE_MAX, IR_BOOL, SCALAR, ints(IR_BOOL, LIST(2), LIST(0, 1)), false, LIST(0)),
              SCALAR, LIST(1));
  expect_ints(
      reduce(IR_OP_ANY, IR_BOOL, LIST(2), ints(IR_BOOL, LIST(2, 2), LIST(0, 1, 0, 0)), false, LIST(1)),
      LIST(2), LIST(1, 0));
  expect_ints(reduce(IR_OP_ALL, IR_BOOL, LIST(2), ints(IR_I32, LIST(2, 2), LIST(2, 1, 0, 7)), false, LIST(1)),
              LIST(2), LIST(1, 0));
}

static void empty_reductions(void **s) {
  ir_ref none = range(IR_F32, LIST(2, 0));
  EXPECT_FLOATS(reduce(IR_OP_SUM, IR_F32, LIST(2), none, false, LIST(1)), 0, 0);
  EXPECT_FLOATS(reduce(IR_OP_PROD, IR_F32, LIST(2), none, false, LIST(1)), 1, 1);
  EXPECT_FLOATS(reduce(IR_OP_MEAN, IR_F32, LIST(2), none, false, LIST(1)), NAN, NAN);
  expect_ints(reduce(IR_OP_ANY, IR_BOOL, LIST(2), none, false, LIST(1)), LIST(2), LIST(0, 0));
  expect_ints(reduce(IR_OP_ALL, IR_BOOL, LIST(2), none, false, LIST(1)), LIST(2), LIST(1, 1));
  expect_ints(reduce(IR_OP_PROD, IR_I32, SCALAR, range(IR_I32, LIST(0)), false, LIST(0)), SCALAR, LIST(1));
  expect_ints(reduce(IR_OP_SUM, IR_F32, LIST(0), none, false, LIST(0)), LIST(0), SCALAR);
  expect_ints(reduce(IR_OP_REDUCE_MAX, IR_F32, LIST(0), none, false, LIST(0)), LIST(0),
              SCALAR); /* there is no result that would need an element */
  expect_error(reduce(IR_OP_REDUCE_MAX, IR_F32, LIST(2), none, false, LIST(1)), IR_ERR_INVALID,
               "max: an operand of shape [2,0] has no elements");
  expect_error(reduce(IR_OP_ARGMIN, IR_I64, LIST(2), none, false, LIST(1)), IR_ERR_INVALID,
               "argmin: an operand of shape [2,0]");
}

static void matmuls(void **s) {
  ir_ref a = range(IR_F32, LIST(2, 3)), b = range(IR_F32, LIST(3, 2)), v = range(IR_F32, LIST(3)),
         w = range(IR_F32, LIST(2));
  expect_ints(matmul(IR_F32, LIST(2, 2), a, b), LIST(2, 2), LIST(10, 13, 28, 40));
  expect_ints(matmul(IR_F32, LIST(2), a, v), LIST(2), LIST(5, 14));
  expect_ints(matmul(IR_F32, LIST(3), w, a), LIST(3), LIST(3, 4, 5));
  expect_ints(matmul(IR_F32, SCALAR, v, v), SCALAR, LIST(5));
  ir_ref batch = range(IR_F32, LIST(2, 1, 1, 2)),
         other = range(IR_F32, LIST(3, 2, 1)); /* batches [2,1] and [3] */
  expect_ints(matmul(IR_F32, LIST(2, 3, 1, 1), batch, other), LIST(2, 3, 1, 1), LIST(1, 3, 5, 3, 13, 23));
  expect_ints(matmul(IR_F32, LIST(3, 1), w, other), LIST(3, 1), LIST(1, 3, 5));
  expect_ints(matmul(IR_F32, LIST(2, 2), range(IR_F32, LIST(2, 0)), range(IR_F32, LIST(0, 2))), LIST(2, 2),
              LIST(0, 0, 0, 0));
  ir_ref i8 = ints(IR_I8, LIST(2), LIST(127, 127));
  expect_ints(matmul(IR_I32, SCALAR, i8, i8), SCALAR, LIST(32258));
  expect_ints(matmul(IR_F16, SCALAR, FLOATS(IR_F16, 256, 1), FLOATS(IR_F16, 8, 4)), SCALAR, LIST(2052));
  expect_error(matmul(IR_F32, LIST(2, 3), a, a), IR_ERR_INVALID,
               "matmul: shapes [2,3] and [2,3] do not match");
  expect_error(matmul(IR_F32, LIST(2), a, ir_float(&g, IR_F32, 1)), IR_ERR_INVALID, "rank 0");
}

/* leaves and sizes */

static void leaves(void **s) {
  ir_ref shape = shape_of(LIST(2, 3));
  for (int type = IR_BOOL; type < IR_INDEX; type++) {
    ir_ref iota = ir_make_tensor(&g, IR_OP_IOTA, (ir_dtype)type, shape, 1, ir_get(&g, shape)->src, 2);
    if (type == IR_BOOL) expect_ints(iota, LIST(2, 3), LIST(0, 1, 1, 0, 1, 1));
    else expect_ints(iota, LIST(2, 3), LIST(0, 1, 2, 0, 1, 2));
    if (type == IR_BOOL) continue;
    ir_ref three =
        ir_is_float((ir_dtype)type) ? ir_float(&g, (ir_dtype)type, 3) : ir_int(&g, (ir_dtype)type, 3);
    expect_ints(ir_binary(&g, IR_OP_ADD, iota, three), LIST(2, 3), LIST(3, 4, 5, 3, 4, 5));
    expect_ints(three, SCALAR, LIST(3));
  }
  float data[] = {1, 2, 3};
  ir_ref x = input(IR_F32, LIST(3), data);
  expect_ints(ir_binary(&g, IR_OP_ADD, x, x), LIST(3), LIST(2, 4, 6));
  expect_ints(x, LIST(3), LIST(1, 2, 3));
  input_count = 0;
  expect_error(x, IR_ERR_INVALID, "input %x of type f32[3] has no data");
}

static void symbolic_sizes(void **s) {
  ir_ref n = ir_var(&g, "n", 1, 2, 64, 2),
         half = ir_make(&g, IR_OP_FLOORDIV, IR_INDEX, 0, (ir_ref[]){n, ir_index(&g, 2)}, 2);
  ir_ref shape = ir_tuple(&g, &n, 1), pair[] = {half, ir_index(&g, 2)};
  ir_ref x = ir_make_tensor(&g, IR_OP_IOTA, IR_I32, shape, 0, &n, 1);
  ir_ref folded =
      ir_make_tensor(&g, IR_OP_RESHAPE, IR_I32, ir_tuple(&g, pair, 2), 0, (ir_ref[]){x, pair[0], pair[1]}, 3);
  ir_ref sum = ir_make_tensor(&g, IR_OP_SUM, IR_I32, ir_tuple(&g, &half, 1), 0,
                              (ir_ref[]){folded, ir_index(&g, 1)}, 2);
  vars[var_count++] = (ir_var_value){n, 6};
  expect_ints(sum, LIST(3), LIST(1, 5, 9));
  vars[0].value = 4;
  expect_ints(sum, LIST(2), LIST(1, 5));
  expect_ints(ir_binary(&g, IR_OP_MUL, x, ir_make_tensor(&g, IR_OP_CAST, IR_I32, shape_of(SCALAR), 0, &n, 1)),
              LIST(4), LIST(0, 4, 8, 12));
  vars[0].value = 66;
  expect_error(sum, IR_ERR_INVALID, "variable n = 66 is outside its declared range 2..64");
  vars[0].value = 5;
  expect_error(sum, IR_ERR_INVALID, "variable n = 5 is not a multiple of its declared divisor 2");
  var_count = 0;
  expect_error(sum, IR_ERR_INVALID, "variable n has no value");
}

static void sizes_that_cannot_be(void **s) {
  ir_ref n = ir_var(&g, "n", 1, 0, INT64_MAX, 1),
         less = ir_make(&g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){n, ir_index(&g, -10)}, 2);
  ir_ref square[] = {n, n}, twice = ir_make(&g, IR_OP_MUL, IR_INDEX, 0, square, 2);
  vars[var_count++] = (ir_var_value){n, 3};
  ir_ref negative = ir_make_tensor(&g, IR_OP_IOTA, IR_I32, ir_tuple(&g, &less, 1), 0, &less, 1);
  expect_error(negative, IR_ERR_INVALID, "iota: axis 0 has the negative size -7");
  vars[0].value = (int64_t)1 << 40;
  expect_error(ir_make_tensor(&g, IR_OP_IOTA, IR_I32, ir_tuple(&g, square, 2), 0, square, 2), IR_ERR_INVALID,
               "is larger than memory");
  expect_error(ir_make_tensor(&g, IR_OP_IOTA, IR_I32, ir_tuple(&g, &twice, 1), 0, &twice, 1), IR_ERR_INVALID,
               "overflows 64 bits");
  ir_ref x = range(IR_I32, LIST(2)),
         wrong = ir_make_tensor(&g, IR_OP_NEG, IR_I32, shape_of(LIST(3)), 0, &x, 1);
  expect_error(wrong, IR_ERR_INVALID, "neg: the result has shape [2], but [3] is recorded");
  expect_error(0, IR_ERR_INVALID, "the error value");
  expect_error(shape_of(LIST(3)), IR_ERR_INVALID, "result 0 is tuple, not a tensor");
  ir_ref loop = ir_make_tensor(&g, IR_OP_CARRY, IR_I32, shape_of(SCALAR), 0, &x, 1);
  expect_error(loop, IR_ERR_UNSUPPORTED, "carry: node");
}

/* index expressions */

static ir_ref ix(ir_op op, ir_ref a, ir_ref b) {
  return ir_make(&g, op, ir_ops[op].cls == IR_CLASS_COMPARE ? IR_BOOL : IR_INDEX, 0, (ir_ref[]){a, b}, 2);
}

static void index_expressions(void **s) {
  ir_ref n = ir_var(&g, "n", 1, 1, 100, 1), extent = ir_index(&g, 4), out[3];
  ir_ref r0 = ir_make(&g, IR_OP_RANGE, IR_INDEX, 0, &extent, 1),
         r1 = ir_make(&g, IR_OP_RANGE, IR_INDEX, 1, &n, 1);
  ir_ref terms[] = {ix(IR_OP_MUL, r0, n), r1, ir_index(&g, -5)};
  ir_ref sum = ir_make(&g, IR_OP_ADD, IR_INDEX, 0, terms, 3); /* r0*n + r1 - 5 */
  out[0] = ix(IR_OP_FLOORDIV, sum, ir_index(&g, 3));
  out[1] = ix(IR_OP_MOD, sum, ir_index(&g, 3));
  ir_ref clauses[] = {ix(IR_OP_LT, sum, ir_index(&g, 4)), ix(IR_OP_GE, sum, ir_index(&g, 0)),
                      ix(IR_OP_NE, r0, r1)};
  ir_ref all = ir_make(&g, IR_OP_AND, IR_BOOL, 0, clauses, 3),
         none = ir_make(&g, IR_OP_NOT, IR_BOOL, 0, &all, 1);
  ir_ref least = ix(IR_OP_MAX, ix(IR_OP_MIN, sum, ir_index(&g, 2)), ir_index(&g, -1));
  out[2] = ir_make(&g, IR_OP_WHERE, IR_INDEX, 0, (ir_ref[]){none, ir_index(&g, -100), least}, 3);
  ir_var_value value = {n, 7};
  ir_index_program p;
  assert_int_equal(ir_index_compile(&g, out, 3, &value, 1, &p, &error), IR_OK);
  for (int64_t a = 0; a < 4; a++)
    for (int64_t b = 0; b < 7; b++) {
      int64_t got[3], want = a * 7 + b - 5;
      assert_int_equal(ir_index_run(&p, (int64_t[]){a, b}, 2, got, &error), IR_OK);
      assert_int_equal(got[0], (int64_t)floor((double)want / 3));
      assert_int_equal(got[1], want - 3 * (int64_t)floor((double)want / 3));
      bool valid = want < 4 && want >= 0 && a != b;
      assert_int_equal(got[2], valid ? want < 2 ? want : 2 : -100);
    }
  int64_t one;
  assert_int_equal(ir_index_run(&p, (int64_t[]){0}, 1, (int64_t[3]){0}, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, "the range of axis 1 has no value"));
  ir_index_free(&p);
  ir_error_clear(&error);
  assert_int_equal(ir_eval_index(&g, sum, &value, 1, (int64_t[]){1, 2}, 2, &one, &error), IR_OK);
  assert_int_equal(one, 4);
  assert_int_equal(ir_eval_index(&g, sum, NULL, 0, (int64_t[]){1, 2}, 2, &one, &error), IR_ERR_INVALID);
  ir_error_clear(&error);
  assert_int_equal(
      ir_eval_index(&g, ix(IR_OP_MOD, ir_index(&g, 5), ir_index(&g, 0)), NULL, 0, NULL, 0, &one, &error),
      IR_ERR_INVALID);
  assert_string_equal(error.text,
                      "index expression: 5 % 0 has a divisor below 1; divisors must be at least 1");
  ir_error_clear(&error);
  assert_int_equal(ir_eval_index(&g, ir_float(&g, IR_F32, 1), NULL, 0, NULL, 0, &one, &error),
                   IR_ERR_UNSUPPORTED);
}

/* evaluation order, memory, identical nodes */

static void several_results(void **s) {
  ir_ref x = range(IR_I32, LIST(2)), roots[] = {ir_unary(&g, IR_OP_NEG, x), x, x};
  ir_eval_result r[3];
  assert_int_equal(ir_eval(&g, roots, 3, NULL, 0, NULL, 0, r, &error), IR_OK);
  assert_int_equal(((int32_t *)r[0].data)[1], -1);
  assert_int_equal(((int32_t *)r[1].data)[1], 1);
  assert_true(r[1].data != r[2].data);
  ir_eval_free(&g, r, 3);
}

static void long_chains_keep_little(void **s) {
  enum { LENGTH = 100000, SIZE = 64 };
  ir_ref shape = shape_of(LIST(SIZE)),
         x = ir_make_tensor(&g, IR_OP_IOTA, IR_I32, shape, 0, ir_get(&g, shape)->src, 1);
  ir_ref first = x, one = ir_int(&g, IR_I32, 1);
  for (int i = 0; i < LENGTH; i++) x = ir_binary(&g, i % 2 ? IR_OP_ADD : IR_OP_XOR, x, i % 2 ? one : first);
  memory.peak = memory.live;
  size_t before = memory.live;
  ir_eval_result r;
  if (evaluate(x, &r)) fail_msg("%s", error.text);
  assert_int_equal(r.count, SIZE);
  ir_eval_free(&g, &r, 1);
  assert_int_equal(memory.live, before);
  assert_true(memory.peak - before <
              (size_t)LENGTH * 250); /* far less than LENGTH * SIZE * 4, the size of all buffers together */
}

static void unused_operands_are_not_evaluated(void **s) {
  float data[] = {4};
  ir_ref unbound = ir_make_tensor(&g, IR_OP_INPUT, IR_F32, shape_of(LIST(1)), ir_name(&g, "u", 1),
                                  (ir_ref[]){ir_index(&g, 1)}, 1);
  ir_ref x = input(IR_F32, LIST(1), data);
  assert_true(ir_unary(&g, IR_OP_NEG, unbound) != 0);
  expect_ints(ir_unary(&g, IR_OP_SQRT, x), LIST(1), LIST(2));
}

/* Allocation i fails, for every i: an error, no leak, and for the last i success. */
static void every_allocation_may_fail(void **s) {
  ir_ref x = range(IR_F32, LIST(3, 3)), index = ints(IR_I32, LIST(2), LIST(0, -1));
  ir_ref taken = gather(LIST(2, 3), x, index, 0, IR_GATHER_CHECK);
  ir_ref y = matmul(IR_F32, LIST(2, 3), ir_unary(&g, IR_OP_EXP, taken), x);
  ir_ref z = reduce(IR_OP_SUM, IR_F32, LIST(3), pad(LIST(3, 3), y, IR_PAD_EDGE, 0, LIST(1, 0, 0, 0)), false,
                    LIST(0));
  size_t before = memory.live;
  for (size_t allowed = 0;; allowed++) {
    memory.left = allowed;
    ir_eval_result r = {0};
    ir_status status = evaluate(z, &r);
    memory.left = SIZE_MAX;
    if (status == IR_OK) {
      ir_eval_free(&g, &r, 1);
      assert_true(allowed > 20);
      break;
    }
    assert_int_equal(status, IR_ERR_MEMORY);
    assert_int_equal(memory.live, before);
  }
}

UNIT_TESTS_EACH(begin, end, permute_and_moveaxis, axes_of_size_one, expand_and_reshape,
                shrink_stride_flip_point, windows_with_steps, pads, pad_modes, concat_and_stack, gathers,
                gather_out_of_range, scatters, scatter_rounds_once, scatter_out_of_range, integers,
                small_integers_exhaustively, float_operations, rounding, casts, bitcasts, broadcasting,
                elementary_functions_go_through_their_definitions, sums, means, extremes, empty_reductions,
                matmuls, leaves, symbolic_sizes, sizes_that_cannot_be, index_expressions, several_results,
                long_chains_keep_little, unused_operands_are_not_evaluated, every_allocation_may_fail)
