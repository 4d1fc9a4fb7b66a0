/* The reference evaluator against values worked out by hand or by NumPy's rules. */
#include "ir/eval/eval.h"

#include <math.h>

#include "test/lib/record.h"
#include "test/lib/unit.h"

static test_memory memory;
static ir_mem mem = {test_memory_hook, &memory};
static ir_error error;
static ir_graph g;
static ir_var_value vars[4];
static size_t var_count;
static ir_binding_input inputs[4];
static size_t input_count;

static int begin(void **state) {
  memory = (test_memory){0};
  error = (ir_error){0};
  var_count = input_count = 0;
  return ir_graph_init(&g, &mem, &error);
}
static int end(void **state) {
  ir_graph_free(&g);
  return memory.live != 0; /* all memory was freed */
}

/* operations as users record them: one-line cases, see record.h. Inputs hold 0, 1, 2, ... */

typedef struct evaluated {
  const char *line, *want; /* the result's type and its elements, or a part of the error's message */
} evaluated;

static void print_result(const ir_eval_result *result, ir_text *out) {
  ir_textf(out, "%s[", ir_dtypes[result->dtype].name);
  for (uint32_t k = 0; k < result->rank; k++)
    ir_textf(out, k ? ",%lld" : "%lld", (long long)result->shape[k]);
  ir_text_str(out, "]");
  for (int64_t i = 0; i < result->count; i++) {
    ir_value v = ir_value_load((char *)result->data + i * ir_dtypes[result->dtype].bytes, result->dtype);
    if (result->dtype == IR_U64) ir_textf(out, " %llu", (unsigned long long)v.i);
    else if (!ir_is_float(result->dtype)) ir_textf(out, " %lld", (long long)v.i);
    else ir_textf(out, isnan(v.f) ? " nan" : result->dtype == IR_F64 ? " %.17g" : " %.9g", v.f);
  }
}

static ir_status evaluate_recorded(recorder *r, ir_ref root, ir_eval_result *out, ir_error *failure) {
  static unsigned char counted[RECORD_INPUTS][512];
  ir_binding_input bound[RECORD_INPUTS];
  for (int i = 0; i < r->input_count; i++) {
    ir_dtype dtype = ir_dtype_of(&r->g, r->inputs[i]);
    size_t bytes = ir_dtypes[dtype].bytes;
    for (size_t k = 0; k < sizeof *counted / bytes; k++)
      ir_value_store(counted[i] + k * bytes, dtype,
                     ir_value_cast((ir_value){.i = (int64_t)k}, IR_I64, dtype));
    bound[i] = (ir_binding_input){r->inputs[i], counted[i]};
  }
  return ir_eval(&r->g, &root, 1, bound, (size_t)r->input_count, NULL, 0, out, failure);
}

static ir_status evaluate_line(const char *line, ir_text *out, ir_error *failure) {
  ir_eval_result result;
  recorder *r = record_begin();
  ir_ref made = record_line(r, line);
  if (!made) fail_msg("%s: refused: %s", line, r->error.text);
  ir_status status = evaluate_recorded(r, made, &result, failure);
  if (status == IR_OK) print_result(&result, out), ir_eval_free(&r->g, &result, 1);
  return status;
}

static void check_values(const evaluated *c) {
  ir_text found;
  ir_error failure = {0};
  ir_text_init(&found, &ir_mem_libc);
  if (evaluate_line(c->line, &found, &failure)) fail_msg("%s: %s", c->line, failure.text);
  if (strcmp(ir_text_get(&found), c->want) != 0)
    fail_msg("%s:\n  expected %s\n  found    %s", c->line, c->want, ir_text_get(&found));
  ir_text_free(&found);
}

static void check_out_of_range(const evaluated *c) {
  ir_text found;
  ir_error failure = {0};
  ir_text_init(&found, &ir_mem_libc);
  assert_int_equal(evaluate_line(c->line, &found, &failure), IR_ERR_RANGE);
  if (!strstr(failure.text, c->want)) fail_msg("%s: the message is: %s", c->line, failure.text);
}

static void views(void **s) {
  static const evaluated cases[] = {
      {"permute f32[2,3] order=[1,0]", "f32[3,2] 0 3 1 4 2 5"},
      {"permute i32[2,3,4] order=[1,2,0]",
       "i32[3,4,2] 0 12 1 13 2 14 3 15 4 16 5 17 6 18 7 19 8 20 9 21 10 22 11 23"},
      {"permute {permute i32[2,3,4] order=[1,2,0]} order=[2,0,1]",
       "i32[2,3,4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23"},
      {"unsqueeze u8[2,3] axis=2", "u8[2,3,1] 0 1 2 3 4 5"},
      {"unsqueeze u8[2,3] axis=0", "u8[1,2,3] 0 1 2 3 4 5"},
      {"unsqueeze i16[]=[7] axis=0", "i16[1] 7"},
      {"squeeze {unsqueeze u8[2,3] axis=2} axis=2", "u8[2,3] 0 1 2 3 4 5"},
      {"expand {unsqueeze u8[2,3] axis=1} shape=[2,2,3]", "u8[2,2,3] 0 1 2 0 1 2 3 4 5 3 4 5"},
      {"expand i64[1,3] shape=[2,3]", "i64[2,3] 0 1 2 0 1 2"},
      {"expand i64[2,1] shape=[2,5]", "i64[2,5] 0 0 0 0 0 1 1 1 1 1"},
      {"expand i64[2,1] shape=[2,0]", "i64[2,0]"},
      {"reshape i64[2,3] shape=[3,2]", "i64[3,2] 0 1 2 3 4 5"},
      /* the view's elements, not the memory's */
      {"reshape {permute i64[2,3] order=[1,0]} shape=[6]", "i64[6] 0 3 1 4 2 5"},
      {"shrink f64[3,4] bounds=[[1,3],[1,3]]", "f64[2,2] 5 6 9 10"},
      {"shrink f64[3,4] bounds=[[0,3],[2,2]]", "f64[3,0]"},
      {"stride i32[5] steps=[2]", "i32[3] 0 2 4"},
      {"stride i32[5] steps=[-2]", "i32[3] 4 2 0"},
      {"stride i32[6] steps=[-2]", "i32[3] 5 3 1"},
      {"stride i32[6] steps=[-4]", "i32[2] 5 1"},
      {"stride i32[6] steps=[100]", "i32[1] 0"},
      {"stride {pad i32[3] pads=[[1,2]] value=-9} steps=[-2]", "i32[3] -9 2 0"},
      {"flip i8[4] axes=[0]", "i8[4] 3 2 1 0"},
      {"flip i8[2,2] axes=[0,1]", "i8[2,2] 3 2 1 0"},
      {"point f64[3,4] index=2 axis=1", "f64[3] 2 6 10"},
      {"point f64[3,4] index=2 axis=0", "f64[4] 8 9 10 11"},
      /* odd rows and columns; every second row from 0 and column from 1; a reversed window with strides */
      {"stride {shrink i32[5,5] bounds=[[1,5],[1,5]]} steps=[2,2]", "i32[2,2] 6 8 16 18"},
      {"stride {shrink i32[5,5] bounds=[[0,5],[1,5]]} steps=[2,2]", "i32[3,2] 1 3 11 13 21 23"},
      {"stride i32[5]=[1,2,3,4,5] steps=[-2]", "i32[3] 5 3 1"},
  };
  CHECK_ALL(check_values, cases);
}

static void pads(void **s) {
  static const evaluated cases[] = {
      {"pad i32[2,2]=[1,2,3,4] pads=[[1,0],[0,2]] value=9", "i32[3,4] 9 9 9 9 1 2 9 9 3 4 9 9"},
      {"pad f32[3] pads=[[2,1]]", "f32[6] 0 0 0 1 2 0"},
      {"pad {pad i64[2,3] pads=[[1,1],[1,1]] value=7} pads=[[1,0],[0,0]] value=8",
       "i64[5,5] 8 8 8 8 8 7 7 7 7 7 7 0 1 2 7 7 3 4 5 7 7 7 7 7 7"},
      {"shrink {pad f32[3] pads=[[2,1]] value=5} bounds=[[2,5]]", "f32[3] 0 1 2"},
      {"shrink {pad f32[3] pads=[[2,1]] value=5} bounds=[[0,2]]", "f32[2] 5 5"},
      {"pad i8[0] pads=[[1,2]] value=4", "i8[3] 4 4 4"},
      {"pad i32[4]=[1,2,3,4] pads=[[2,3]] mode=edge", "i32[9] 1 1 1 2 3 4 4 4 4"},
      {"pad i32[4]=[1,2,3,4] pads=[[2,3]] mode=reflect", "i32[9] 3 2 1 2 3 4 3 2 1"},
      {"pad i32[4]=[1,2,3,4] pads=[[2,3]] mode=wrap", "i32[9] 3 4 1 2 3 4 1 2 3"},
      /* padding longer than the axis: numpy.pad([1,2,3], (5, 5), mode) */
      {"pad i32[3]=[1,2,3] pads=[[5,5]] mode=reflect", "i32[13] 2 1 2 3 2 1 2 3 2 1 2 3 2"},
      {"pad i32[3]=[1,2,3] pads=[[5,5]] mode=wrap", "i32[13] 2 3 1 2 3 1 2 3 1 2 3 1 2"},
      {"pad i32[1]=[6] pads=[[1,2]] mode=reflect", "i32[4] 6 6 6 6"},
      {"pad i32[2,2]=[1,2,3,4] pads=[[1,0],[0,1]] mode=reflect", "i32[3,3] 3 4 3 1 2 1 3 4 3"},
  };
  CHECK_ALL(check_values, cases);
}

static void concat_and_stack(void **s) {
  static const evaluated cases[] = {
      {"concat i32[2,2] i32[1,2]=[10,11] axis=0", "i32[3,2] 0 1 2 3 10 11"},
      {"concat i32[2,2] i32[2,1]=[10,11] axis=1", "i32[2,3] 0 1 10 2 3 11"},
      {"concat i32[0,2] i32[1,2]=[10,11] axis=0", "i32[1,2] 10 11"},
      {"stack i32[2] i32[2]=[8,9] axis=0", "i32[2,2] 0 1 8 9"},
      {"stack i32[2] i32[2]=[8,9] axis=1", "i32[2,2] 0 8 1 9"},
  };
  CHECK_ALL(check_values, cases);
}

static void gathers(void **s) {
  static const evaluated cases[] = {
      {"gather f32[3,2] i32[3]=[2,0,2] axis=0", "f32[3,2] 4 5 0 1 4 5"},
      {"gather f32[2,3] i32[3]=[2,0,2] axis=1", "f32[2,3] 2 0 2 5 3 5"},
      {"gather i32[4] i64[2,2]=[3,0,1,1] axis=0", "i32[2,2] 3 0 1 1"},
      {"gather i8[2,4] i64[2,2]=[3,0,1,1] axis=1", "i8[2,2,2] 3 0 1 1 7 4 5 5"},
      {"gather i32[4] i8[]=[-1] axis=0", "i32[] 3"},
      {"gather i32[4] i32[5]=[-5,-4,3,4,1000] axis=0 mode=clip", "i32[5] 0 0 3 3 3"},
      {"gather i32[4] u64[1]=[-1] axis=0 mode=clip", "i32[1] 3"},
      {"gather i32[4]=[5,6,7,8] i32[5]=[-5,-4,3,4,1000] axis=0 mode=fill", "i32[5] 0 5 8 0 0"},
      {"gather i32[4] u16[0] axis=0", "i32[0]"},
      {"gather i32[0] i32[2]=[0,1] axis=0 mode=fill", "i32[2] 0 0"},
      /* a row of indices for each row of data */
      {"gather i16[2,4] i32[2,2]=[2,-4,1,1] axis=1 batch=1", "i16[2,2] 2 0 5 5"},
  };
  CHECK_ALL(check_values, cases);
}

/* An index out of range is an error only where a result needs it, and the message names one of these. */
#define TAKEN "{gather i32[4] i32[3]=[1,9,-5] axis=0}"
#define LAST  "{shrink " TAKEN " bounds=[[2,3]]}"

static void gather_out_of_range(void **s) {
  static const evaluated good[] = {{"shrink " TAKEN " bounds=[[0,1]]", "i32[1] 1"}};
  CHECK_ALL(check_values, good);
  static const evaluated bad[] = {
      {"stored " TAKEN, "gather: index 9 is out of range for axis 0 of size 4; it must be in -4..3"},
      {"stored " LAST, "index -5 is out of range"},
      {"neg " LAST, "index -5"},
      {"pad " LAST " pads=[[1,1]]", "index -5"},
      {"sum " TAKEN, "index 9"},
      {"matmul " TAKEN " i32[3]", "index 9"},
      {"gather i32[9] " LAST " axis=0", "index -5"},
      {"where bool[1]=[0] " LAST " i32[1]", "index -5"},
      {"gather i32[4] u64[1]=[-1] axis=0", "index 18446744073709551615"},
  };
  CHECK_ALL(check_out_of_range, bad);
}

/* spec.md, V22 and V23, and further cases by hand */
static void scatters(void **s) {
  static const evaluated cases[] = {
      {"scatter f32[4,2] i32[2]=[3,1] f32[2,2]=[100,101,102,103]", "f32[4,2] 0 1 102 103 4 5 100 101"},
      {"scatter i16[2,4] u8[2]=[1,3] i16[2,2]=[101,100,103,102] axis=1", "i16[2,4] 0 101 2 100 4 103 6 102"},
      {"scatter i64[3] i8[2]=[1,-2] i64[2]=[7,8]", "i64[3] 0 8 2"},
      {"scatter_add i64[3] i8[2]=[1,-2] i64[2]=[7,8]", "i64[3] 0 16 2"},
      {"scatter i64[3] i32[2]=[-9,3] i64[2]=[7,8] mode=clip", "i64[3] 7 1 8"},
      {"scatter_add i64[3] i32[2]=[-9,3] i64[2]=[7,8] mode=fill", "i64[3] 0 1 2"},
      {"scatter_add f32[3,2]=[0,0,0,0,0,0] i64[3]=[2,0,2] f32[3,2]=[1,2,3,4,5,6]", "f32[3,2] 3 4 0 0 6 8"},
      /* wraps around; one index for all; no indices */
      {"scatter_add i8[1]=[127] i8[2]=[0,0] i8[2]=[1,1]", "i8[1] -127"},
      {"scatter f32[4,2] i8[]=[2] f32[2]=[8,9]", "f32[4,2] 0 1 2 3 8 9 6 7"},
      {"scatter i64[3] i8[0] i64[0]", "i64[3] 0 1 2"},
      /* a row of indices for each row of data */
      {"scatter_add i16[2,4] i32[2,2]=[2,-4,1,1] i16[2,2]=[10,20,30,40] axis=1 batch=1",
       "i16[2,4] 20 1 12 3 4 75 6 7"},
      /* 2048 + 1 is 2048 in f16, but three ones at once are not lost: 2051 lies between 2050 and 2052, and
       * 2052 is even */
      {"scatter_add f16[1]=[2048] i8[3]=[0,0,0] f16[3]=[1,1,1]", "f16[1] 2052"},
  };
  CHECK_ALL(check_values, cases);
}

#define WRONG "{gather i32[1] i32[2]=[0,3] axis=0}"
#define MADE  "{scatter i32[3] i32[2]=[0,3] i32[2]=[7,8]}"

static void scatter_out_of_range(void **s) {
  static const evaluated good[] = {
      {"scatter i32[3] i32[2]=[1,1] {gather i32[1] i32[2]=[3,0] axis=0}", "i32[3] 0 0 2"}};
  CHECK_ALL(check_values, good);
  static const evaluated bad[] = {
      {"stored " MADE, "scatter: index 3 is out of range for axis 0 of size 3; it must be in -3..2"},
      {"shrink " MADE " bounds=[[0,1]]", "index 3"},
      {"scatter i32[3] " WRONG " i32[2]=[7,8]", "gather: index 3"},
      {"scatter i32[3] i32[2]=[1,1] " WRONG, "gather: index 3"},
      {"scatter_add i32[3] i32[2]=[1,1] {gather i32[1] i32[2]=[3,0] axis=0}", "gather: index 3"},
  };
  CHECK_ALL(check_out_of_range, bad);
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
      {IR_OP_DOT4, IR_I32, 0x04030201, 0x08070605, 70},
      {IR_OP_DOT4, IR_I32, (int32_t)0xff000080u, (int32_t)0x80000001u, -32512},
      {IR_OP_DOT4, IR_U32, 0x000000ff, 0x000000ff, 0xffffff01},
      {IR_OP_DOT4, IR_I8, (int8_t)0xff, (int8_t)0xff, -12},
      {IR_OP_DOT4, IR_I64, 0x0004000300020001, 0x0008000700060005, 70},
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

/* infinities, NaN and zeros of both signs */
#define A "f32[6]=[nan,1,-0.0,0.0,3,-inf]"
#define B "f32[6]=[1,nan,0.0,-0.0,2,5]"
#define X "f64[6]=[7,-7,7,-7,5.5,1]"
#define Y "f64[6]=[2,2,-2,-2,0.5,0]"
#define R "f32[6]=[0.5,1.5,2.5,-0.5,-1.5,-0.25]"

static void float_operations(void **s) {
  static const evaluated cases[] = {
      {"min " A " " B, "f32[6] nan nan -0 -0 2 -inf"},
      {"max " A " " B, "f32[6] nan nan 0 0 3 5"},
      {"lt " A " " B, "bool[6] 0 0 0 0 0 1"},
      {"ne " A " " B, "bool[6] 1 1 0 0 1 1"},
      {"ge " A " " B, "bool[6] 0 0 1 1 1 0"},
      {"floordiv " X " " Y, "f64[6] 3 -4 -4 3 11 inf"},
      {"mod " X " " Y, "f64[6] 1 1 -1 -1 0 nan"},
      {"div " X " " Y, "f64[6] 3.5 -3.5 -3.5 3.5 11 inf"},
      {"round " R, "f32[6] 0 2 2 -0 -2 -0"},
      {"floor " R, "f32[6] 0 1 2 -1 -2 -1"},
      {"ceil " R, "f32[6] 1 2 3 -0 -1 -0"},
      {"trunc " R, "f32[6] 0 1 2 -0 -1 -0"},
      {"sqrt f32[4]=[4,-1,-0.0,inf]", "f32[4] 2 nan -0 inf"},
      {"neg f32[3]=[0.0,-0.0,1]", "f32[3] -0 0 -1"},
      {"abs f32[3]=[-0.0,-inf,-1]", "f32[3] 0 inf 1"},
      /* by their definitions in other operations */
      {"exp2 f32[3]=[0,1,-inf]", "f32[3] 1 2 0"},
      {"relu f32[3]=[0,1,-inf]", "f32[3] 0 1 0"},
      {"rsqrt f64[2]=[4,0]", "f64[2] 0.5 inf"},
      {"exp f16[2]=[0,20]", "f16[2] 1 inf"},
      {"pow i32[2]=[3,-2] 3", "i32[2] 27 -8"},
  };
  CHECK_ALL(check_values, cases);
}

/* Each operation is rounded to its own format: an f32 operation is not a double operation, and fma rounds
 * once. 1 + 2^-12, -(1 + 2^-11), 2^-149, 2^-126 */
#define NEAR_1 "f32[1]=[1.000244140625]"
#define MINUS  "f32[1]=[-1.00048828125]"

static void rounding(void **s) {
  static const evaluated cases[] = {
      {"sub {add f32[1]=[16777216] f32[1]=[1]} f32[1]=[16777216]", "f32[1] 0"},
      {"fma " NEAR_1 " " NEAR_1 " " MINUS, "f32[1] 5.96046448e-08"},
      {"add {mul " NEAR_1 " " NEAR_1 "} " MINUS, "f32[1] 0"},
      {"add f16[1]=[2048] f16[1]=[1]", "f16[1] 2048"},
      {"mul f16[1]=[2048] f16[1]=[32]", "f16[1] inf"},
      {"add bf16[1]=[256] bf16[1]=[1]", "bf16[1] 256"},
      {"mul f32[1]=[1.40129846e-45] f32[1]=[0.5]", "f32[1] 0"},
      {"mul f32[1]=[1.17549435e-38] f32[1]=[0.5]", "f32[1] 5.87747175e-39"},
  };
  CHECK_ALL(check_values, cases);
}

#define FLOATS "f64[6]=[300,-1.9,nan,inf,-inf,127.9]"
#define INTS   "i32[4]=[300,-1,65536,0]"

static void casts(void **s) {
  static const evaluated cases[] = {
      {"cast " FLOATS " dtype=i8", "i8[6] 127 -1 0 127 -128 127"},
      {"cast " FLOATS " dtype=u8", "u8[6] 255 0 0 255 0 127"},
      {"cast " FLOATS " dtype=u64", "u64[6] 300 0 0 18446744073709551615 0 127"},
      {"cast " FLOATS " dtype=bool", "bool[6] 1 1 1 1 1 1"},
      {"cast " INTS " dtype=u8", "u8[4] 44 255 0 0"},
      {"cast " INTS " dtype=bool", "bool[4] 1 1 1 0"},
      {"cast " INTS " dtype=i64", "i64[4] 300 -1 65536 0"},
      {"cast i32[2]=[16777217,-16777219] dtype=f32", "f32[2] 16777216 -16777220"},
      {"cast u64[1]=[-1] dtype=f32", "f32[1] 1.84467441e+19"},
      /* 2^-25, which is half of the least f16, and 1.5 times that */
      {"cast f32[4]=[65519,65520,2.98023224e-08,4.47034836e-08] dtype=f16",
       "f16[4] 65504 inf 0 5.96046448e-08"},
      {"bitcast f32[2]=[1,-0.0] dtype=u32", "u32[2] 1065353216 2147483648"},
      /* a signalling NaN survives the round trip */
      {"bitcast {stored {bitcast u32[1]=[0x7f800123] dtype=f32}} dtype=u32", "u32[1] 2139095331"},
      {"bitcast i16[1]=[-1] dtype=u16", "u16[1] 65535"},
  };
  CHECK_ALL(check_values, cases);
}

static void broadcasting(void **s) {
  static const evaluated cases[] = {
      {"mul i32[2,3] 2", "i32[2,3] 0 2 4 6 8 10"},
      {"sub 2 i32[2,3]", "i32[2,3] 2 1 0 -1 -2 -3"},
      {"where bool[2]=[1,0] i8[2]=[5,6] -1", "i8[2] 5 -1"},
  };
  CHECK_ALL(check_values, cases);
}

/* reductions */

static void sums(void **s) {
  static const evaluated cases[] = {
      {"sum f32[2,3] axes=[0,1]", "f32[] 15"},
      {"sum f32[2,3] axes=[0]", "f32[3] 3 5 7"},
      {"sum f32[2,3] axes=[1] keepdims=true", "f32[2,1] 3 12"},
      {"sum f32[2,3] axes=[]", "f32[2,3] 0 1 2 3 4 5"},
      {"prod f32[2,3] axes=[1]", "f32[2] 0 60"},
      {"sum i8[3]=[127,127,127]", "i32[] 381"},
      {"sum bool[3]=[1,0,1]", "i32[] 2"},
      {"sum u32[2]=[0xffffffff,2]", "u32[] 1"},
      {"prod i64[2]=[9223372036854775807,2]", "i64[] -2"},
      {"sum f16[5]=[2048,1,1,1,1]", "f16[] 2052"},
      {"sum f32[3]=[16777216,1,1]", "f32[] 16777218"},
      {"sum f32[2]=[inf,-inf]", "f32[] nan"},
      {"sum f64[1]=[-0.0]", "f64[] 0"},
      {"mean f32[2,3] axes=[1]", "f32[2] 1 4"},
      {"mean i32[2]=[1,2]", "f32[] 1.5"},
      {"mean i64[3]=[1,0,0]", "f64[] 0.33333333333333331"},
      {"mean f16[2]=[60000,60000]", "f16[] 60000"},
  };
  CHECK_ALL(check_values, cases);
}

#define MIXED "i32[2,3]=[3,9,9,-1,-5,-5]"

static void extremes(void **s) {
  static const evaluated cases[] = {
      {"max " MIXED " axes=[1]", "i32[2] 9 -1"},
      {"min " MIXED " axes=[0]", "i32[3] -1 -5 -5"},
      {"argmax " MIXED " axis=1", "i64[2] 1 0"},
      {"argmin " MIXED " axis=1 keepdims=true", "i64[2,1] 0 1"},
      {"argmax " MIXED " axis=0", "i64[3] 0 0 0"},
      {"max f32[3]=[1,nan,3]", "f32[] nan"},
      {"min f32[2]=[0.0,-0.0]", "f32[] -0"},
      {"argmax f32[4]=[1,nan,3,nan] axis=0", "i64[] 1"},
      {"argmin f32[3]=[1,-inf,nan] axis=0", "i64[] 2"},
      {"argmin f64[2]=[0.0,-0.0] axis=0", "i64[] 0"},
      {"max u64[2]=[1,-1]", "u64[] 18446744073709551615"},
      {"max bool[2]=[0,1]", "bool[] 1"},
      {"any bool[2,2]=[0,1,0,0] axes=[1]", "bool[2] 1 0"},
      {"all i32[2,2]=[2,1,0,7] axes=[1]", "bool[2] 1 0"},
  };
  CHECK_ALL(check_values, cases);
}

static void empty_reductions(void **s) {
  static const evaluated cases[] = {
      {"sum f32[2,0] axes=[1]", "f32[2] 0 0"},
      {"prod f32[2,0] axes=[1]", "f32[2] 1 1"},
      {"mean f32[2,0] axes=[1]", "f32[2] nan nan"},
      {"any bool[2,0] axes=[1]", "bool[2] 0 0"},
      {"all bool[2,0] axes=[1]", "bool[2] 1 1"},
      {"prod i32[0]", "i32[] 1"},
      {"sum f32[2,0] axes=[0]", "f32[0]"},
      {"max f32[2,0] axes=[0]", "f32[0]"}, /* there is no result that would need an element */
  };
  CHECK_ALL(check_values, cases);
}

static void matmuls(void **s) {
  static const evaluated cases[] = {
      {"matmul f32[2,3] f32[3,2]", "f32[2,2] 10 13 28 40"},
      {"matmul f32[2,3] f32[3]", "f32[2] 5 14"},
      {"matmul f32[2] f32[2,3]", "f32[3] 3 4 5"},
      {"matmul f32[3] f32[3]", "f32[] 5"},
      {"matmul f32[2,1,1,2] f32[3,2,1]", "f32[2,3,1,1] 1 3 5 3 13 23"}, /* batches [2,1] and [3] */
      {"matmul f32[2] f32[3,2,1]", "f32[3,1] 1 3 5"},
      {"matmul f32[2,0] f32[0,2]", "f32[2,2] 0 0 0 0"},
      {"matmul i8[2]=[127,127] i8[2]=[127,127]", "i32[] 32258"},
      {"matmul f16[2]=[256,1] f16[2]=[8,4]", "f16[] 2052"},
  };
  CHECK_ALL(check_values, cases);
}

/* nodes that recording does not make: operands that broadcast, and shapes and attributes that do not fit */

#define LIST(...) (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define SCALAR    (int64_t[]){0}, 0
static ir_ref shape_of(const int64_t *sizes, size_t rank) {
  ir_ref items[IR_MAX_RANK];
  for (size_t k = 0; k < rank; k++) items[k] = ir_index(&g, sizes[k]);
  return ir_tuple(&g, items, (uint32_t)rank);
}

/* 0, 1, 2, ... */
static ir_ref range(ir_dtype type, const int64_t *sizes, size_t rank) {
  unsigned char bytes[1024];
  int64_t count = 1, each = ir_dtypes[type].bytes;
  for (size_t k = 0; k < rank; k++) count *= sizes[k];
  for (int64_t i = 0; i < count; i++)
    ir_value_store(bytes + i * each, type, ir_value_cast((ir_value){.i = i}, IR_I64, type));
  ir_ref shape = shape_of(sizes, rank);
  int64_t name = ir_name(&g, (char *)bytes, (size_t)(count * each));
  return ir_make_tensor(&g, IR_OP_DATA, type, shape, name, ir_get(&g, shape)->src, (uint32_t)rank);
}

/* Of x and further operands, up to the first that is 0, and attributes; of the dtype of x. */
static ir_ref node(ir_op op, const int64_t *sizes, size_t rank, int64_t arg, const ir_ref *operands,
                   const int64_t *attrs, size_t count) {
  ir_ref src[16];
  uint32_t n = 0;
  for (; operands[n]; n++) src[n] = operands[n];
  for (size_t i = 0; i < count; i++) src[n++] = ir_index(&g, attrs[i]);
  return ir_make_tensor(&g, op, ir_dtype_of(&g, operands[0]), shape_of(sizes, rank), arg, src, n);
}
#define OF(...)                                                                                              \
  (ir_ref[]) { __VA_ARGS__, 0 }

static ir_ref input(ir_dtype type, const int64_t *sizes, size_t rank, const void *data) {
  ir_ref shape = shape_of(sizes, rank);
  ir_ref x = ir_make_tensor(&g, IR_OP_INPUT, type, shape, ir_name(&g, "x", 1), ir_get(&g, shape)->src,
                            (uint32_t)rank);
  inputs[input_count++] = (ir_binding_input){x, data};
  return x;
}

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

static void expect_error(ir_ref root, ir_status status, const char *text) {
  ir_eval_result r = {0};
  assert_int_equal(evaluate(root, &r), status);
  assert_int_equal(error.status, status);
  assert_null(r.data);
  assert_string_equal(error.text, text);
}

static void nodes_not_recorded(void **s) {
  ir_ref x = range(IR_I32, LIST(2, 3)), column = range(IR_I32, LIST(2, 1)), row = range(IR_I32, LIST(3)),
         two = range(IR_I32, LIST(2)), six = range(IR_I32, LIST(6)), none = range(IR_I32, LIST(2, 0)),
         zero = range(IR_I32, LIST(0)), three = ir_int(&g, IR_I32, 3);
  expect_ints(node(IR_OP_ADD, LIST(2, 3), 0, OF(column, row), SCALAR), LIST(2, 3), LIST(0, 1, 2, 1, 2, 3));
  expect_ints(node(IR_OP_ADD, LIST(2, 0), 0, OF(column, zero), SCALAR), LIST(2, 0), SCALAR);
  expect_ints(ir_make_tensor(&g, IR_OP_MEAN, IR_F32, shape_of(LIST(2)), 0, (ir_ref[]){x, ir_index(&g, 1)}, 2),
              LIST(2), LIST(1, 4));
  const struct {
    ir_ref node;
    const char *text;
  } cases[] = {
      {ir_binary(&g, IR_OP_ADD, x, two),
       "add: shapes [2,3] and [2] do not broadcast; sizes must be equal or 1"},
      {node(IR_OP_SQUEEZE, LIST(3), 0, OF(x), SCALAR),
       "squeeze: axis 0 does not fit an operand of shape [2,3]"},
      {node(IR_OP_RESHAPE, LIST(4), 0, OF(x), LIST(4)),
       "reshape: the number of elements 4 does not fit an operand of shape [2,3]"},
      {node(IR_OP_EXPAND, LIST(4, 3), 0, OF(x), LIST(4, 3)),
       "expand: the size 4 does not fit an operand of shape [2,3]"},
      {node(IR_OP_SHRINK, LIST(1, 5), 0, OF(x), LIST(1, 2, 0, 5)),
       "shrink: the end 5 does not fit an operand of shape [2,3]"},
      {node(IR_OP_STRIDE, LIST(6), 0, OF(six), LIST(0)),
       "stride: the step 0 does not fit an operand of shape [6]"},
      {node(IR_OP_POINT, LIST(2), 1, OF(x), LIST(3)),
       "point: index 3 does not fit an operand of shape [2,3]"},
      {node(IR_OP_PAD, LIST(2), ir_pack_arg(0, IR_PAD_CONSTANT), OF(row, three), LIST(-1, 0)),
       "pad: the padding -1 does not fit an operand of shape [3]"},
      {node(IR_OP_PAD, LIST(1), ir_pack_arg(0, IR_PAD_EDGE), OF(zero, three), LIST(0, 1)),
       "pad: axis 0 has size 0, which mode=edge cannot extend; use mode=constant"},
      {node(IR_OP_CONCAT, LIST(3, 3), 0, OF(x, column), SCALAR),
       "concat: operand 1 does not fit an operand of shape [2,3]"},
      {node(IR_OP_STACK, LIST(2, 2), 0, OF(two, row), SCALAR),
       "stack: operand 1 does not fit an operand of shape [2]"},
      {node(IR_OP_SCATTER, LIST(3), ir_pack_args(0, IR_GATHER_CHECK, 0), OF(row, two, row), SCALAR),
       "scatter: the updates have shape [3], but [2] is at the indices"},
      {ir_bitcast(&g, x, IR_U8), "bitcast: i32 and u8 differ in size"},
      {node(IR_OP_REDUCE_MAX, LIST(2), 0, OF(none), LIST(1)),
       "max: an operand of shape [2,0] has no elements to choose from"},
      {ir_make_tensor(&g, IR_OP_ARGMIN, IR_I64, shape_of(LIST(2)), ir_pack_arg(1, 0), &none, 1),
       "argmin: an operand of shape [2,0] has no elements to choose from"},
      {node(IR_OP_MATMUL, LIST(2, 3), 0, OF(x, x), SCALAR),
       "matmul: shapes [2,3] and [2,3] do not match; the last axis of the left must equal the second last of "
       "the right, and batch axes must be equal or 1"},
      {node(IR_OP_MATMUL, LIST(2), 0, OF(x, three), SCALAR),
       "matmul: an operand has rank 0; it needs at least one axis"},
      {node(IR_OP_SUM, LIST(2), 0, OF(x), LIST(2)),
       "sum: axis 2 of an operand of rank 2; takes 0 to the rank less 1, each once"},
      {node(IR_OP_CUMSUM, LIST(2, 3), 2, OF(x), SCALAR),
       "cumsum: axis 2 of an operand of rank 2; takes 0 to the rank less 1, each once"},
      {node(IR_OP_GATHER, LIST(2), ir_pack_arg(2, IR_GATHER_CHECK), OF(x, two), SCALAR),
       "gather: axis 2 of data of rank 2 with indices of i32 and rank 1, of which 0 axes are shared; takes "
       "an axis from that number on, less than the rank of the data, and axes that are shared of equal "
       "sizes"},
      {node(IR_OP_ASSIGN, LIST(6), 0, OF(six, two, row), SCALAR),
       "assign: the value has shape [3], but the target has [2]"},
      {ir_make_tensor(&g, IR_OP_CONCAT, IR_I32, shape_of(LIST(2)), 0, NULL, 0),
       "concat: at least one operand is needed"},
      {ir_make_tensor(&g, IR_OP_IOTA, IR_I32, shape_of(LIST(2)), 1, (ir_ref[]){ir_index(&g, 2)}, 1),
       "iota: axis 1 of a shape of rank 1"},
      {ir_make_tensor(&g, IR_OP_DATA, IR_I32, shape_of(LIST(2)), ir_name(&g, "four", 4),
                      (ir_ref[]){ir_index(&g, 2)}, 1),
       "data: 4 bytes are given for 8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_error(cases[i].node, IR_ERR_INVALID, cases[i].text);
  expect_error(node(IR_OP_GATHER, LIST(2), ir_pack_arg(0, IR_GATHER_CLIP), OF(zero, two), SCALAR),
               IR_ERR_RANGE, "gather: index 0 is out of range: axis 0 has size 0, so that no index is valid");
  /* scattering into nothing: indices are not looked at */
  expect_ints(node(IR_OP_SCATTER, LIST(0), ir_pack_args(0, IR_GATHER_CHECK, 0), OF(zero, two, two), SCALAR),
              LIST(0), SCALAR);
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
  expect_error(input(IR_F32, LIST((int64_t)1 << 32, (int64_t)1 << 31), data), IR_ERR_INVALID,
               "input: f32[4294967296,2147483648] is larger than memory can be addressed");
  input_count = 0;
  expect_error(x, IR_ERR_INVALID,
               "input %x of type f32[3] has no data; bind every input that a result depends on");
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
  expect_error(sum, IR_ERR_INVALID, "variable n has no value; bind every variable that a size depends on");
}

static void sizes_that_cannot_be(void **s) {
  ir_ref n = ir_var(&g, "n", 1, 0, INT64_MAX, 1),
         less = ir_make(&g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){n, ir_index(&g, -10)}, 2);
  ir_ref square[] = {n, n}, twice = ir_make(&g, IR_OP_MUL, IR_INDEX, 0, square, 2);
  vars[var_count++] = (ir_var_value){n, 3};
  ir_ref negative = ir_make_tensor(&g, IR_OP_IOTA, IR_I32, ir_tuple(&g, &less, 1), 0, &less, 1);
  expect_error(negative, IR_ERR_INVALID, "iota: axis 0 has the negative size -7; sizes must be at least 0");
  vars[0].value = (int64_t)1 << 40;
  expect_error(
      ir_make_tensor(&g, IR_OP_IOTA, IR_I32, ir_tuple(&g, square, 2), 0, square, 2), IR_ERR_INVALID,
      "iota: a result of type i32[1099511627776,1099511627776] is larger than memory can be addressed");
  expect_error(ir_make_tensor(&g, IR_OP_IOTA, IR_I32, ir_tuple(&g, &twice, 1), 0, &twice, 1), IR_ERR_INVALID,
               "index expression: 1099511627776 * 1099511627776 overflows 64 bits");
  ir_ref x = range(IR_I32, LIST(2)),
         wrong = ir_make_tensor(&g, IR_OP_NEG, IR_I32, shape_of(LIST(3)), 0, &x, 1);
  expect_error(wrong, IR_ERR_INVALID, "neg: the result has shape [2], but [3] is recorded for node 19");
  expect_error(0, IR_ERR_INVALID, "evaluate: result 0 is the error value, not a tensor");
  expect_error(shape_of(LIST(3)), IR_ERR_INVALID, "evaluate: result 0 is tuple, not a tensor");
  ir_ref loop = ir_make_tensor(&g, IR_OP_CARRY, IR_I32, shape_of(SCALAR), 0, &x, 1);
  expect_error(loop, IR_ERR_UNSUPPORTED, "carry: node 21 is no tensor operation");
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
  assert_string_equal(error.text, "index expression: the range of axis 1 has no value, only 1 are given");
  ir_index_free(&p);
  ir_error_clear(&error);
  assert_int_equal(ir_index_compile(&g, (ir_ref[]){0}, 1, NULL, 0, &p, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, "index expression: the error value has no value");
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
  recorder *r = record_begin();
  ir_ref z = record_line(r, "sum {pad {matmul {exp {gather f32[3,3] i32[2]=[0,-1] axis=0}} f32[3,3]} "
                            "pads=[[1,0],[0,0]] mode=edge} axes=[0]");
  long before = r->budget.live;
  for (long allowed = 0;; allowed++) {
    r->budget.left = allowed;
    ir_eval_result out = {0};
    ir_status status = evaluate_recorded(r, z, &out, &(ir_error){0});
    if (status == IR_OK) {
      ir_eval_free(&r->g, &out, 1);
      assert_true(allowed > 20);
      break;
    }
    assert_int_equal(status, IR_ERR_MEMORY);
    assert_int_equal(r->budget.live, before);
  }
}

UNIT_TESTS_EACH(begin, end, views, pads, concat_and_stack, gathers, gather_out_of_range, scatters,
                scatter_out_of_range, integers, small_integers_exhaustively, float_operations, rounding,
                casts, broadcasting, sums, extremes, empty_reductions, matmuls, nodes_not_recorded, leaves,
                symbolic_sizes, sizes_that_cannot_be, index_expressions, several_results,
                long_chains_keep_little, unused_operands_are_not_evaluated, every_allocation_may_fail)
