/* Derivatives: the values at points where there is no limit to compare with, what is refused, and the size of
 * graphs. test/property/prop_grad.c compares all other values with differences. */
#include <math.h>

#include "test/lib/api.h"
#include "passes/autodiff/derive.h"
#include "passes/ops/derivative/derivative.h"
#include "test/lib/record.h"
#include "test/lib/unit.h"

static vf_error error;

static void test_every_operation_has_a_row(void **state) {
  for (int op = 0; op < IR_OP_COUNT; op++)
    if ((op_registry[op].kind != OP_KIND_NONE) != (op_registry[op].derivative != OP_DERIVATIVE_MISSING))
      fail_msg("derivative row of %s", ir_ops[op].text);
}

/* values */

enum { MOST = 64 };
typedef struct value_case {
  const char *shape, *body; /* of %x: f32 to %y */
  double x[MOST], given[MOST], want[MOST];
  int count; /* elements of x */
} value_case;
#define GRADIENT(...)                                                                                        \
  { __VA_ARGS__ }

static bool same(double a, double b) {
  return isnan(a) ? isnan(b) : fabs(a - b) <= 1e-6 * fmax(1, fabs(b)) || a == b;
}

static void check_values(const value_case *k) {
  char text[512];
  vf_context *c = api_context();
  snprintf(text, sizeof text, "graph @case(%%x: f32%s) {\n%s\nreturn %%y\n}\n", k->shape, k->body);
  vf_graph *g = api_parse(c, text);
  vf_value x = vf_graph_find(g, "x"), y = vf_graph_find(g, "y"), dx;
  float in[MOST], given[MOST] = {0}, out[MOST], forward[4 * MOST];
  int64_t shape[16];
  int rank = vf_value_shape(y, shape);
  for (int i = 0; i < MOST; i++) in[i] = (float)k->x[i], given[i] = (float)k->given[i];
  vf_value cotangent = vf_data(g, VF_F32, rank, shape, given);
  vf_vjp(1, &y, &cotangent, 1, &x, &dx);
  vf_output(g, "dx", dx);
  if (vf_graph_status(g)) fail_msg("%s: %s", k->body, vf_graph_message(g));
  api_evaluate(g, (const void *[]){in}, (void *[]){forward, out}, NULL);
  for (int i = 0; i < k->count; i++)
    if (!same(out[i], k->want[i]))
      fail_msg("%s, element %d: %g, expected %g", k->body, i, out[i], k->want[i]);
}

/* spec: F3.grad F5.U F7.U */
static void test_kinks(void **state) {
  static const value_case cases[] = {
      GRADIENT("[3]", "%y = abs %x", {-2, 0, 3}, {5, 5, 5}, {-5, 0, 5}, 3),
      GRADIENT("[3]", "%y = relu %x", {-2, 0, 3}, {5, 5, 5}, {0, 0, 5}, 3),
      GRADIENT("[4]", "%y = max %x", {1, 3, 3, 2}, {6}, {0, 3, 3, 0}, 4),
      GRADIENT("[4]", "%y = min %x", {1, 1, 1, 2}, {6}, {2, 2, 2, 0}, 4),
      GRADIENT("[2,2]", "%y = max %x axes=[0] keepdims=true", {1, 7, 1, 8}, {4, 6}, {2, 0, 2, 6}, 4),
      GRADIENT("[3]", "%y = maximum %x, 2.0", {1, 2, 3}, {4, 4, 4}, {0, 2, 4}, 3),
      GRADIENT("[3]", "%y = minimum %x, 2.0", {1, 2, 3}, {4, 4, 4}, {4, 2, 0}, 3),
      GRADIENT("[2]", "%y = maximum %x, %x", {1, 2}, {4, 6}, {4, 6}, 2),
      GRADIENT("[3]", "%t = floor %x\n%y = add %t, %x", {1.5, 2, -1}, {1, 2, 3}, {1, 2, 3}, 3),
      GRADIENT("[3]", "%i = argmax %x\n%t = cast %i dtype=f32\n%y = mul %x, %t", {1, 9, 4}, {1, 1, 1},
               {1, 1, 1}, 3),
      GRADIENT("[2]", "%t = stop_gradient %x\n%y = mul %x, %t", {3, 4}, {1, 1}, {3, 4}, 2),
  };
  CHECK_ALL(check_values, cases);
}

static void test_zeros(void **state) {
  static const value_case cases[] = {
      GRADIENT("[4]", "%y = prod %x", {2, 0, 3, 5}, {1}, {0, 30, 0, 0}, 4),
      GRADIENT("[4]", "%y = prod %x", {2, 0, 3, 0}, {1}, {0, 0, 0, 0}, 4),
      GRADIENT("[1]", "%y = prod %x axes=[0]", {0}, {7}, {7}, 1),
      GRADIENT("[5]", "%y = prod %x", {1, 2, 3, 4, 5}, {1}, {120, 60, 40, 30, 24}, 5),
      GRADIENT("[2]", "%y = pow %x, 2.0", {0, 3}, {1, 1}, {0, 6}, 2),
      GRADIENT("[2]", "%y = pow %x, 1.0", {0, 3}, {1, 1}, {1, 1}, 2),
      GRADIENT("[2]", "%y = pow %x, 0.0", {0, 3}, {1, 1}, {0, 0}, 2),
      GRADIENT("[2]", "%t = full shape=[2] value=0.0\n%y = pow %x, %t", {0, 3}, {1, 1}, {0, 0}, 2),
      GRADIENT("[2]", "%t = full shape=[2] value=0.0\n%y = pow %t, %x", {2, 3}, {1, 1}, {0, 0}, 2),
      GRADIENT("[0,3]", "%y = sum %x axes=[0]", {0}, {1, 2, 3}, {0}, 0),
      GRADIENT("[0,3]", "%y = prod %x axes=[0]", {0}, {1, 2, 3}, {0}, 0),
      GRADIENT("[2]", "%t = shrink %x bounds=[[1,1]]\n%y = sum %t", {1, 2}, {1}, {0, 0}, 2),
  };
  CHECK_ALL(check_values, cases);
}

/* spec: V16.grad V18.grad V22.grad V22.U */
static void test_views_and_indices(void **state) {
  static const value_case cases[] = {
      GRADIENT("[3]", "%y = broadcast_to %x shape=[2,3]", {0}, {1, 2, 3, 4, 5, 6}, {5, 7, 9}, 3),
      GRADIENT("[2,1]", "%y = broadcast_to %x shape=[2,3]", {0}, {1, 2, 3, 4, 5, 6}, {6, 15}, 2),
      GRADIENT("[3,4]", "%y = slice %x start=[-2,1] size=[2,2]", {0}, {1, 1, 1, 1},
               {0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0}, 12),
      GRADIENT("[3,2]", "%i = data values=[2,0,2]\n%y = gather %x, %i", {0}, {1, 2, 3, 4, 5, 6},
               {3, 4, 0, 0, 6, 8}, 6),
      GRADIENT("[3]", "%i = data values=[7,-7]\n%y = gather %x, %i mode=clip", {0}, {1, 2}, {2, 0, 1}, 3),
      GRADIENT("[3]", "%i = data values=[7,-1]\n%y = gather %x, %i mode=fill", {0}, {1, 2}, {0, 0, 2}, 3),
      GRADIENT("[2,3]", "%i = data values=[[2,2],[0,1]]\n%y = gather %x, %i axis=1 batch=1", {0},
               {1, 2, 3, 4}, {0, 0, 3, 3, 4, 0}, 6),
      GRADIENT("[2]", "%t = zeros shape=[3]\n%i = data values=[1,1]\n%y = scatter %t, %i, %x", {0}, {1, 2, 4},
               {0, 2}, 2),
      GRADIENT("[3]", "%t = zeros shape=[2]\n%i = data values=[-5,0,9]\n%y = scatter %t, %i, %x mode=clip",
               {0}, {1, 2}, {0, 1, 2}, 3),
      GRADIENT("[3]", "%i = data values=[1,1]\n%y = scatter %x, %i, 7.0", {0}, {1, 2, 4}, {1, 0, 4}, 3),
      GRADIENT("[3]", "%i = data values=[9,-2]\n%y = scatter %x, %i, 7.0 mode=fill", {0}, {1, 2, 4},
               {1, 0, 4}, 3),
      GRADIENT("[3]", "%i = data values=[1,1]\n%y = scatter_add %x, %i, 7.0", {0}, {1, 2, 4}, {1, 2, 4}, 3),
      GRADIENT("[2]", "%t = zeros shape=[3]\n%i = data values=[1,1]\n%y = scatter_add %t, %i, %x", {0},
               {1, 2, 4}, {2, 2}, 2),
      GRADIENT("[3,4]", "%y = slice_update %x, 0.0 start=[1,1] size=[2,2]", {0},
               {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 2, 3, 4, 5, 0, 0, 8, 9, 0, 0, 12}, 12),
      GRADIENT("[2,2]", "%t = zeros shape=[3,4]\n%y = slice_update %t, %x start=[1,1]", {0},
               {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {6, 7, 10, 11}, 4),
      GRADIENT("[5]", "%y = stride %x steps=[-2]", {0}, {1, 2, 3}, {3, 0, 2, 0, 1}, 5),
      GRADIENT("[3]", "%y = stride %x steps=[1000000000000000000]", {0}, {4}, {4, 0, 0}, 3),
      GRADIENT("[3]", "%y = pad %x pads=[[4,2]] mode=reflect", {0}, {1, 2, 4, 8, 16, 32, 64, 128, 256},
               {273, 170, 68}, 3),
      GRADIENT("[1]", "%y = pad %x pads=[[2,1]] mode=reflect", {0}, {1, 2, 4, 8}, {15}, 1),
      GRADIENT("[2,2,2,2,2,2,1,1,1,1,1,1,1,1,1,1]",
               "%y = stride %x steps=[-1,1,1,1,1,-2,1,1,1,1,1,1,1,1,1,1]", {0}, {1, 0}, {[33] = 1}, 64),
  };
  CHECK_ALL(check_values, cases);
}

/* Batch axes that were added, or moved. Where an axis is inserted after the batch, the gradient is summed
 * there, not at axis 0; an axis that came from the middle of the batch goes back there.
 *
 * spec: B3.U B7.U B9.U */
static void test_batches(void **state) {
  static const double counting[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  value_case cases[] = {
      {"[2,3]",
       "%a = rebatch %x batch_dims=1\n%b = broadcast_to_physical %a shape=[2,4,3]\n%y = rebatch %b "
       "batch_dims=0",
       {0},
       {0},
       {22, 26, 30, 70, 74, 78},
       6},
      {"[2,1]",
       "%a = rebatch %x batch_dims=1\n%b = broadcast_to_physical %a shape=[2,3]\n%y = rebatch %b "
       "batch_dims=0",
       {0},
       {0},
       {6, 15},
       2},
      {"[3]", "%y = broadcast_to_physical %x shape=[2,3]", {0}, {0}, {5, 7, 9}, 3},
      {"[2,3,2]",
       "%a = rebatch %x batch_dims=2\n%b = move_axis_from_batch_dims %a batch_axis=1 logical_destination=1\n"
       "%y = rebatch %b batch_dims=0",
       {0},
       {0},
       {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12},
       12},
      {"[3,2,2]",
       "%a = rebatch %x batch_dims=2\n%b = move_axis_from_batch_dims %a batch_axis=0 logical_destination=0\n"
       "%y = rebatch %b batch_dims=0",
       {0},
       {0},
       {1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12},
       12},
      {"[3]",
       "%a = broadcast_batch_dims %x batch_shape=[2]\n%y = rebatch %a batch_dims=0",
       {0},
       {0},
       {5, 7, 9},
       3},
      {"[2,2]",
       "%a = rebatch %x batch_dims=1\n%b = broadcast_batch_dims %a batch_shape=[2,2]\n%y = rebatch %b "
       "batch_dims=0",
       {0},
       {0},
       {6, 8, 10, 12},
       4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) memcpy(cases[i].given, counting, sizeof counting);
  CHECK_ALL(check_values, cases);
}

static void test_along_an_axis(void **state) {
  static const value_case cases[] = {
      GRADIENT("[3]", "%y = cumsum %x axis=0", {0}, {1, 2, 4}, {7, 6, 4}, 3),
      GRADIENT("[3]", "%y = cumsum %x axis=0 reverse=true exclusive=true", {0}, {1, 2, 4}, {0, 1, 3}, 3),
      GRADIENT("[3]", "%y = cumprod %x axis=0", {2, 0, 3}, {1, 1, 1}, {1, 8, 0}, 3),
      GRADIENT("[2,2]", "%y = cumprod %x axis=0 reverse=true", {2, 3, 5, 7}, {1, 2, 4, 8}, {5, 14, 6, 14}, 4),
      GRADIENT("[4]", "%y = cummax %x axis=0", {1, 3, 3, 2}, {1, 2, 4, 8}, {1, 8, 6, 0}, 4),
      GRADIENT("[4]", "%y = cummin %x axis=0", {2, 2, 1, 5}, {1, 2, 4, 8}, {2, 1, 12, 0}, 4),
      GRADIENT("[3]", "%y = cummax %x axis=0", {1, NAN, 5}, {1, 2, 4}, {1, 6, 0}, 3),
      GRADIENT("[3]", "%y = sort %x", {3, 1, 2}, {10, 20, 30}, {30, 10, 20}, 3),
      GRADIENT("[3]", "%y = sort %x descending=true", {1, 2, 1}, {1, 2, 3}, {2, 1, 3}, 3),
      GRADIENT("[3]", "%y, %i = topk %x k=2", {1, NAN, 2}, {4, 8}, {0, 4, 8}, 3),
      GRADIENT("[2]", "%s = stored %x\n%y = mul %s, %s", {3, 4}, {1, 2}, {6, 16}, 2),
  };
  CHECK_ALL(check_values, cases);
}

/* The operand has the maximal rank, so no axis can be added. */
static void test_full_rank(void **state) {
  static const value_case cases[] = {
      GRADIENT("[2,3,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "%y = cumprod %x axis=1", {1, 2, 3, 4, 5, 6},
               {1, 1, 1, 1, 1, 1}, {9, 4, 2, 36, 28, 20}, 6),
      GRADIENT("[2,3,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "%i = data values=[2,0,2]\n%y = gather %x, %i axis=1",
               {0}, {1, 2, 3, 4, 5, 6}, {2, 0, 4, 5, 0, 10}, 6),
      GRADIENT("[2,3,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "%y = prod %x axes=[1]", {1, 2, 3, 4, 5, 6}, {1, 1},
               {6, 3, 2, 30, 24, 20}, 6),
      GRADIENT("[2,2,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
               "%y = pad %x "
               "pads=[[0,0],[1,1],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,0],[0,"
               "0],[0,0]"
               "] mode=wrap",
               {0}, {1, 2, 3, 4, 5, 6, 7, 8}, {6, 4, 14, 12}, 4),
  };
  CHECK_ALL(check_values, cases);
}

/* An input that a result does not depend on gets a zero gradient, whatever it or the cotangent is. */
static void test_infinities_stay(void **state) {
  static const value_case cases[] = {
      GRADIENT("[3]", "%y = relu %x", {-1, 1, -INFINITY}, {INFINITY, 2, NAN}, {0, 2, 0}, 3),
      GRADIENT("[3]", "%y = max %x", {1, 3, 2}, {INFINITY}, {0, INFINITY, 0}, 3),
      GRADIENT("[3]", "%y = max %x", {1, NAN, 2}, {4}, {0, 4, 0}, 3),
      GRADIENT("[2,1]", "%i = data values=[1]\n%y = gather %x, %i", {0}, {INFINITY}, {0, INFINITY}, 2),
      GRADIENT("[3]", "%i = data values=[1]\n%y = scatter %x, %i, 0.0", {0}, {1, INFINITY, NAN}, {1, 0, NAN},
               3),
      GRADIENT("[2]", "%c = gt %x, 1.5\n%y = where %c, %x, 0.0", {1, 2}, {INFINITY, 3}, {0, 3}, 2),
      GRADIENT("[3]", "%y = prod %x", {INFINITY, 2, 3}, {1}, {6, INFINITY, INFINITY}, 3),
      GRADIENT("[2]", "%y = cumprod %x axis=0", {INFINITY, 2}, {1, 1}, {3, INFINITY}, 2),
      GRADIENT("[3]", "%y = cummax %x axis=0", {1, 0, 2}, {1, INFINITY, NAN}, {INFINITY, 0, NAN}, 3),
      GRADIENT("[2]", "%y = sort %x", {2, 1}, {INFINITY, NAN}, {NAN, INFINITY}, 2),
  };
  CHECK_ALL(check_values, cases);
}

/* d^n/dx^n of x^3 at 0 and elsewhere, and of a product with a zero in it. spec: AD5 */
static void test_higher(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "higher");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), y = vf_pow(x, vf_number(g, 3));
  for (int n = 0; n < 4; n++) {
    static const char *const names[] = {"d1", "d2", "d3", "d4"};
    vf_grad(vf_sum(y, VF_ALL, false), 1, &x, &y);
    vf_output(g, names[n], y);
  }
  vf_value z = vf_input(g, "z", VF_F32, VF_LIST(3)), dz, ddz;
  vf_grad(vf_prod(z, VF_ALL, false), 1, &z, &dz);
  vf_grad(vf_point(dz, 2, 0), 1, &z, &ddz);
  vf_output(g, "h", ddz);
  float at[] = {0, 2}, zs[] = {0, 5, 7}, d[4][2], h[3];
  static const float want[4][2] = {{0, 12}, {0, 12}, {6, 6}, {0, 0}};
  api_evaluate(g, (const void *[]){at, zs}, (void *[]){d[0], d[1], d[2], d[3], h}, NULL);
  for (int n = 0; n < 4; n++)
    for (int i = 0; i < 2; i++) assert_float_equal(d[n][i], want[n][i], 1e-5);
  assert_float_equal(h[0], 5, 0);
  assert_float_equal(h[1], 0, 0);
  assert_float_equal(h[2], 0, 0);
}

/* Inputs: unused, listed twice, depending on one another, of other float dtypes. spec: AD4 AD6 */
static void test_inputs(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "inputs");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), other = vf_input(g, "other", VF_F64, VF_LIST(3, 1));
  vf_value h = vf_mul(x, x), y = vf_sum(vf_mul(h, x), VF_ALL, false);
  vf_value in[] = {x, other, h, x}, d[4], t[4], slope, half = vf_cast(x, VF_F16), dh;
  vf_grad(y, 4, in, d);
  assert_int_equal(vf_value_dtype(d[1]), VF_F64);
  assert_int_equal(vf_value_size(d[1], 0), 3);
  vf_output(g, "dx", d[0]), vf_output(g, "dother", d[1]), vf_output(g, "dh", d[2]),
      vf_output(g, "again", d[3]);
  for (int i = 0; i < 4; i++)
    t[i] = vf_full(i == 1 ? vf_cast(vf_number(g, 1), VF_F64) : vf_number(g, 1), i == 1 ? 2 : 1,
                   i == 1 ? (int64_t[]){3, 1} : (int64_t[]){2});
  vf_jvp(1, &y, 4, in, t, &slope);
  vf_output(g, "slope", slope);
  vf_grad(vf_sum(half, VF_ALL, false), 1, &half, &dh);
  assert_int_equal(vf_value_dtype(dh), VF_F16);
  vf_value cast;
  vf_grad(vf_cast(vf_sum(half, VF_ALL, false), VF_F64), 1, &x, &cast);
  vf_output(g, "cast", cast);
  float at[] = {2, 3}, dx[2], dhs[2], again[2], s, cs[2];
  double none[3] = {1, 1, 1}, zeros[3] = {1, 1, 1};
  api_evaluate(g, (const void *[]){at, none}, (void *[]){dx, zeros, dhs, again, &s, cs}, NULL);
  for (int i = 0; i < 2; i++) {
    assert_float_equal(dx[i], 3 * at[i] * at[i], 1e-6);
    assert_float_equal(again[i], dx[i], 0);
    assert_float_equal(dhs[i], at[i], 0);
    assert_float_equal(cs[i], 1, 0);
  }
  for (int i = 0; i < 3; i++) assert_float_equal(zeros[i], 0, 0);
  assert_float_equal(s, 2 * (dx[0] + dx[1]) + dhs[0] + dhs[1], 1e-5); /* x twice, and h by itself */
}

/* More elements than the greatest f16. */
static void test_narrow(void **state) {
  enum { MANY = 70000 };
  static uint16_t in[MANY], mean[MANY], max[MANY];
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "narrow");
  vf_value x = vf_input(g, "x", VF_F16, VF_LIST(MANY)), d;
  vf_grad(vf_mean(x, VF_ALL, false), 1, &x, &d);
  vf_output(g, "mean", d);
  vf_grad(vf_reduce_max(x, VF_ALL, false), 1, &x, &d);
  vf_output(g, "max", d);
  api_evaluate(g, (const void *[]){in}, (void *[]){mean, max}, NULL);
  assert_int_equal(mean[7], 240); /* 2^-24 * 240 is nearest to 1/70000 */
  assert_int_equal(max[MANY - 1], 240);
}

static void refused(vf_graph *g, vf_value result, const char *message) {
  assert_false(vf_ok(result));
  api_check_reason(vf_graph_message(g), message);
  assert_int_equal(vf_graph_status(g), VF_ERR_INVALID);
  vf_graph_clear_error(g);
}

/* spec: AD6 */
static void test_refused(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "refused");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), i = vf_input(g, "i", VF_I32, VF_LIST(2)), d[2];
  vf_value y = vf_sum(x, VF_ALL, false), n = vf_variable(g, "n", 1, 8, 1), one = vf_number(g, 1),
           both[] = {x, i};
  vf_grad(y, 2, both, d);
  assert_false(vf_ok(d[0]));
  refused(g, d[1],
          "grad: input 2 has shape i32[2]; only floats have derivatives: cast it to a float dtype first");
  vf_grad(vf_sum(i, VF_ALL, false), 1, &x, d);
  refused(g, d[0],
          "grad: output 1 has shape i32[]; only floats have derivatives: cast it to a float dtype first");
  vf_grad(x, 1, &x, d);
  refused(g, d[0],
          "grad: output 1 has shape f32[2]; without cotangents every output is a scalar: give them, or sum");
  vf_vjp(1, &x, &y, 1, &x, d);
  refused(g, d[0],
          "vjp: cotangent 1 has shape f32[]; the value that it is for has f32[2]; both must have the same "
          "shape and dtype");
  vf_jvp(1, &y, 1, &x, &i, d);
  refused(g, d[0],
          "jvp: tangent 1 has shape i32[2]; the value that it is for has f32[2]; both must have the same "
          "shape and dtype");
  vf_grad(y, 1, &one, d);
  refused(g, d[0],
          "grad: input 1 is a constant, f32[]; a constant does not vary: use an input, or expand it");
  vf_grad(y, 1, &n, d);
  refused(g, d[0], "grad: input 1 is an expression of sizes, not a tensor");
  vf_grad(y, 1, NULL, d);
  refused(g, d[0], "grad: the list of inputs is NULL");
  vf_jvp(1, &y, 1, &x, NULL, d);
  refused(g, d[0], "jvp: the list of tangents is NULL");
  vf_grad(y, 0, NULL, NULL); /* nothing is asked for */
  assert_int_equal(vf_graph_status(g), VF_OK);
  vf_grad((vf_value){0}, 1, &x, d);
  assert_false(vf_ok(d[0]));
}

/* A realised h is an array: no gradient passes through it to x, wherever h was used. */
static void test_session(void **state) {
  vf_context *c = api_context();
  float xs[] = {1, 2};
  vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(2), xs, &error);
  vf_tensor *h = vf_tensor_keep(vf_mul(vf_tensor_value(x), vf_tensor_value(x)), &error);
  vf_tensor *y =
      vf_tensor_keep(vf_sum(vf_mul(vf_tensor_value(h), vf_tensor_value(h)), VF_ALL, false), &error);
  assert_non_null(vf_tensor_data(h, &error));
  vf_value in[] = {vf_tensor_value(x), vf_tensor_value(h)}, d[2];
  vf_grad(vf_tensor_value(y), 2, in, d);
  vf_tensor *dx = vf_tensor_keep(d[0], &error), *dh = vf_tensor_keep(d[1], &error);
  if (!dx || !dh) fail_msg("%s", error.message);
  vf_tensor *both[] = {dx, dh};
  assert_int_equal(vf_tensor_realise(both, 2, &error), VF_OK);
  assert_float_equal(((const float *)vf_tensor_data(dx, NULL))[1], 0, 0);
  assert_float_equal(((const float *)vf_tensor_data(dh, NULL))[1], 8, 0);
  vf_tensor_release(x), vf_tensor_release(h), vf_tensor_release(y), vf_tensor_release(dx),
      vf_tensor_release(dh);
}

/* size */

static void test_long_chains(void **state) {
  enum { LENGTH = 100000 };
  recorder *r = record_begin();
  ir_ref dim = ir_index(&r->g, 3), x = op_input(&r->g, "x", 1, IR_F32, &dim, 1), y = x, made;
  for (int i = 0; i < LENGTH; i++) y = op_unary(&r->g, i % 2 ? IR_OP_SIN : IR_OP_TANH, y);
  for (int i = 0; i < LENGTH; i++)
    y = op_binary(&r->g, IR_OP_ADD, y, op_binary(&r->g, IR_OP_MUL, x, op_literal_float(&r->g, i)));
  y = op_reduce(&r->g, IR_OP_SUM, y, NULL, 0, false);
  pass_derivative of = {.who = "vjp", .outputs = &y, .output_count = 1, .inputs = &x, .input_count = 1};
  assert_true(pass_vjp(&r->g, &of, NULL, &made));
  assert_true(pass_jvp(&r->g, &of, &x, &made));
}

static void test_many_operands(void **state) {
  enum { WIDTH = 20000 };
  recorder *r = record_begin();
  ir_ref dim = ir_index(&r->g, 2), x = op_input(&r->g, "x", 1, IR_F32, &dim, 1), made;
  ir_ref *parts = malloc(WIDTH * sizeof *parts);
  for (int i = 0; i < WIDTH; i++) parts[i] = op_binary(&r->g, IR_OP_MUL, x, op_literal_float(&r->g, i));
  ir_ref y = op_reduce(&r->g, IR_OP_SUM, op_concat(&r->g, parts, WIDTH, 0), NULL, 0, false);
  pass_derivative of = {.who = "vjp", .outputs = &y, .output_count = 1, .inputs = &x, .input_count = 1};
  assert_true(pass_vjp(&r->g, &of, NULL, &made));
  assert_true(pass_jvp(&r->g, &of, &x, &made));
  free(parts);
}

static bool differentiates(recorder *r, const char *line) {
  ir_ref y = record_line(r, line), x = 0, gradient = 0, tangent = 0;
  for (uint32_t k = 1; k < r->g.count && !x; k++)
    if (ir_op_of(&r->g, k) == IR_OP_INPUT && ir_is_float(ir_dtype_of(&r->g, k))) x = k;
  y = x ? op_reduce(&r->g, IR_OP_SUM, y, NULL, 0, false) : 0;
  pass_derivative of = {.who = "vjp", .outputs = &y, .output_count = 1, .inputs = &x, .input_count = 1};
  return y && pass_vjp(&r->g, &of, NULL, &gradient) && pass_jvp(&r->g, &of, &gradient, &tangent);
}

static void test_any_allocation_may_fail(void **state) {
  static const char *const lines[] = {
      "prod f32[4,5] axes=[1]",
      "max f32[n,3] axes=[0]",
      "gather f32[4] i32[2]",
      "gather f32[4,3] i32[4,2] axis=1 batch=1",
      "scatter f32[4] i32[2] f32[2]",
      "scatter_add f32[4] i32[2] f32[2]",
      "put_along_axis f32[4,2] i32[4,1] f32[4,1] axis=1",
      "concat f32[2] f32[3] axis=0",
      "pad f32[3] pads=[[2,4]] mode=reflect",
      "matmul f32[2,3] f32[3,2]",
      "stride f32[2,5] steps=[-1,3]",
      "pow f32[3] f32[3]",
      "where bool[3] f32[3] 1",
  };
  record_short_of_memory(differentiates, lines, sizeof lines / sizeof *lines, true);
}

/* A tree of parameters gives what the list of its leaves does. */
static void test_trees(void **state) {
  (void)state;
  vf_graph *g = api_graph(api_context(), "trees");
  vf_value w = vf_input(g, "w", VF_F32, VF_LIST(3)), b = vf_input(g, "b", VF_F32, VF_ALL), listed[2];
  vf_tree layer[2] = {{.count = VF_LEAF, .value = w}, {.count = VF_LEAF, .value = b}}, slopes[2],
          all = {.count = 2, .children = layer}, got = {.count = 2, .children = slopes},
          one = {.count = 1, .children = slopes};
  vf_value y = vf_sum(vf_mul(vf_exp(w), b), VF_ALL, false);
  memcpy(slopes, layer, sizeof slopes);
  assert_true(vf_grad_tree(y, &all, &got));
  vf_grad(y, 2, (vf_value[]){w, b}, listed);
  for (int i = 0; i < 2; i++) assert_int_equal(slopes[i].value.id, listed[i].id);
  assert_false(vf_grad_tree(y, &all, &one));
  api_check_reason(
      vf_graph_message(g),
      "grad: the tree of gradients has 1 leaves, that of parameters 2; both must have the same form");
  vf_graph_clear_error(g);
  assert_false(vf_grad_tree(y, NULL, &got));
  assert_non_null(strstr(vf_graph_message(g), "grad: the tree of parameters is NULL"));
}

UNIT_TESTS(test_every_operation_has_a_row, test_trees, test_kinks, test_zeros, test_views_and_indices,
           test_along_an_axis, test_batches, test_full_rank, test_infinities_stay, test_higher, test_inputs,
           test_narrow, test_refused, test_session, test_long_chains, test_many_operands,
           test_any_allocation_may_fail)
