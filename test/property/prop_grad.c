/* Derivatives against differences of the values themselves.
 *
 *   prop_grad --seed S --count N
 *   prop_grad --case SEED            one random composition again, by the seed in its report
 *
 * Every differentiable operation, each reading its operands through every layout; every way of writing
 * through views; then N random compositions. For each, in f64 by the reference evaluator, away from points
 * where it is not smooth:
 * - the gradient of sum(w * y) equals finite differences of that sum to 1e-6;
 * - <J v, w> = <v, J^T w> to 1e-10, J v from forward mode;
 * - the same holds for second derivatives, reverse over reverse and forward over reverse;
 * - for some of them, the compiled gradient equals the evaluated one. */
#include "frontend/api/compile.h"
#include "frontend/text/reader.h"
#include "ir/eval/eval.h"
#include "passes/autodiff/derive.h"
#include "passes/ops/ops.h"
#include "test/lib/cases.h"
#include "test/lib/level.h"
#include "test/lib/random_graph.h"
#include "test/lib/write_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 3, MAX_ELEMENTS = 64, TEXT = 4096, SLOTS = 192 };

/* How an operand of shape [3,4] is read from a parameter. */
static const struct {
  const char *name, *shape, *view;
} layouts[] = {
    {"contiguous", "[3,4]", "reshape %%%c shape=[3,4]"},
    {"permuted", "[4,3]", "permute %%%c order=[1,0]"},
    {"sliced", "[5,7]", "shrink %%%c bounds=[[1,4],[2,6]]"},
    {"row", "[1,4]", "expand %%%c shape=[3,4]"},
    {"column", "[3,1]", "expand %%%c shape=[3,4]"},
    {"flipped", "[3,4]", "flip %%%c axes=[0,1]"},
    {"padded", "[2,2]", "pad %%%c pads=[[1,0],[1,1]] value=0.705"},
    {"strided", "[5,8]", "stride %%%c steps=[2,-2]"},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

enum { SIGNED, POSITIVE, DIVISOR, SMALL }; /* any sign; > 0; second operand > 3; magnitude up to 1 */
typedef struct operation {
  const char *text; /* computes %y from %a, %b, %c, all f64[3,4] but %y */
  int domain;
} operation;

static const operation operations[] = {
    {"%y = neg %a", SIGNED},
    {"%y = abs %a", SIGNED},
    {"%y = sqrt %a", POSITIVE},
    {"%y = rsqrt %a", POSITIVE},
    {"%y = exp %a", SIGNED},
    {"%y = exp2 %a", SIGNED},
    {"%y = log %a", POSITIVE},
    {"%y = log2 %a", POSITIVE},
    {"%y = sin %a", SIGNED},
    {"%y = cos %a", SIGNED},
    {"%y = tanh %a", SIGNED},
    {"%y = erf %a", SIGNED},
    {"%y = sigmoid %a", SIGNED},
    {"%y = expm1 %a", SIGNED},
    {"%y = log1p %a", POSITIVE},
    {"%y = erfinv %a", SMALL},
    {"%y = tan %a", SMALL},
    {"%y = asin %a", SMALL},
    {"%y = acos %a", SMALL},
    {"%y = atan %a", SIGNED},
    {"%y = sinh %a", SIGNED},
    {"%y = cosh %a", SIGNED},
    {"%y = asinh %a", SIGNED},
    {"%y = atanh %a", SMALL},
    {"%t = add %a, 1.5\n%y = acosh %t", POSITIVE},
    {"%y = relu %a", SIGNED},
    {"%y = add %a, %b", SIGNED},
    {"%y = sub %a, %b", SIGNED},
    {"%y = mul %a, %b", SIGNED},
    {"%y = mul %a, %a", SIGNED},
    {"%y = mul %a, 2.5", SIGNED},
    {"%y = div %a, %b", SIGNED},
    {"%y = mod %a, %b", DIVISOR},
    {"%y = pow %a, %b", POSITIVE},
    {"%y = pow %a, 3.0", SIGNED},
    {"%y = pow %a, 2.0", SIGNED},
    {"%y = pow %a, -1.5", POSITIVE},
    {"%y = pow 1.5, %a", SIGNED},
    {"%y = minimum %a, %b", SIGNED},
    {"%y = maximum %a, %b", SIGNED},
    {"%y = maximum %a, 0.1", SIGNED},
    {"%y = fma %a, %b, %c", SIGNED},
    {"%m = lt %a, %b\n%y = where %m, %a, %c", SIGNED},
    {"%m = lt %a, %b\n%y = where %m, 0.5, %c", SIGNED},

    {"%y = silu %a", SIGNED},
    {"%y = gelu %a", SIGNED},
    {"%y = gelu %a approximate=tanh", SIGNED},
    {"%y = softplus %a", SIGNED},
    {"%y = leaky_relu %a alpha=0.3", SIGNED},
    {"%y = elu %a alpha=0.7", SIGNED},
    {"%y = reciprocal %a", POSITIVE},
    {"%y = square %a", SIGNED},
    {"%t = sign %a\n%y = mul %t, %b", SIGNED},
    {"%y = clip %a low=-0.3 high=0.6", SIGNED},
    {"%y = attention %a, %b, %c", SIGNED},
    {"%m = reshape %b shape=[4,3]\n%n = shrink %m bounds=[[0,3],[0,3]]\n%y = attention %a, %a, %c, %n "
     "causal=true",
     SIGNED},
    {"%m = lt %b, -0.2\n%n = shrink %m bounds=[[0,3],[0,3]]\n%y = attention %a, %c, %c, %n scale=2", SIGNED},

    {"%y = permute %a order=[1,0]", SIGNED},
    {"%t = reshape %a shape=[3,4,1]\n%y = expand %t shape=[3,4,5]", SIGNED},
    {"%y = broadcast_to %a shape=[2,3,4]", SIGNED},
    {"%y = reshape %a shape=[2,6]", SIGNED},
    {"%t = unsqueeze %a axis=1\n%y = mul %t, %a", SIGNED},
    {"%t = reshape %a shape=[1,12]\n%y = squeeze %t axis=0", SIGNED},
    {"%y = shrink %a bounds=[[1,3],[0,3]]", SIGNED},
    {"%y = stride %a steps=[2,-3]", SIGNED},
    {"%y = stride %a steps=[-7,1]", SIGNED},
    {"%y = flip %a axes=[1]", SIGNED},
    {"%y = point %a index=2 axis=1", SIGNED},
    {"%y = pad %a pads=[[1,0],[2,3]] value=1.5", SIGNED},
    {"%y = pad %a pads=[[2,7],[0,6]] mode=edge", SIGNED},
    {"%y = pad %a pads=[[9,3],[5,0]] mode=reflect", SIGNED},
    {"%t = shrink %a bounds=[[1,2],[1,3]]\n%y = pad %t pads=[[1,2],[4,5]] mode=reflect", SIGNED},
    {"%y = pad %a pads=[[7,2],[3,9]] mode=wrap", SIGNED},
    {"%y = concat %a, %b, %a axis=1", SIGNED},
    {"%y = concat %a, %b, %c axis=0", SIGNED},
    {"%y = stack %a, %b, %a axis=1", SIGNED},

    {"%y = sum %a", SIGNED},
    {"%y = sum %a axes=[0] keepdims=true", SIGNED},
    {"%y = mean %a axes=[1]", SIGNED},
    {"%y = mean %a axes=[0,1] keepdims=true", SIGNED},
    {"%y = prod %a", SIGNED},
    {"%y = prod %a axes=[0]", SIGNED},
    {"%y = prod %a axes=[1] keepdims=true", SIGNED},
    {"%t = reshape %a shape=[2,2,3]\n%y = prod %t axes=[0,2]", SIGNED},
    {"%y = max %a axes=[1]", SIGNED},
    {"%y = max %a", SIGNED},
    {"%y = min %a axes=[0] keepdims=true", SIGNED},

    {"%t = permute %b order=[1,0]\n%y = matmul %a, %t", SIGNED},
    {"%t = permute %a order=[1,0]\n%y = matmul %t, %a", SIGNED},
    {"%t = reshape %b shape=[3,4,1]\n%y = matmul %a, %t", SIGNED},
    {"%t = point %b index=1 axis=0\n%y = matmul %a, %t", SIGNED},
    {"%i = data values=[2,0,2,-1] dtype=i64\n%y = gather %a, %i axis=0", SIGNED},
    {"%i = data values=[[3,0],[1,1]] dtype=u8\n%y = gather %a, %i axis=1", SIGNED},
    {"%i = data values=[9,0,-9,-1] dtype=i16\n%y = gather %a, %i axis=1 mode=clip", SIGNED},
    {"%i = data values=[9,0,-9,-1] dtype=i32\n%y = gather %a, %i axis=0 mode=fill", SIGNED},
    {"%i = const value=1 dtype=i64\n%y = gather %a, %i axis=0", SIGNED},

    {"%i = data values=[[2,0,2],[1,1,3],[0,3,0]] dtype=i64\n%y = gather %a, %i axis=1 batch=1", SIGNED},
    {"%i = data values=[[2,0,2,-1],[1,1,1,0]] dtype=i64\n%y = take_along_axis %a, %i", SIGNED},
    {"%i = data values=[2,0,2] dtype=i64\n%y = scatter %a, %i, %b", SIGNED},
    {"%i = data values=[1,1,-4,9] dtype=i64\n%y = scatter %a, %i, %b axis=1 mode=clip", SIGNED},
    {"%i = data values=[7,1,-1,1] dtype=i8\n%y = scatter %a, %i, %b axis=1 mode=fill", SIGNED},
    {"%i = data values=[[2,0,2],[1,1,3],[0,3,0]] dtype=i64\n%u = shrink %b bounds=[[0,3],[1,4]]\n"
     "%y = scatter %a, %i, %u axis=1 batch=1",
     SIGNED},
    {"%i = data values=[[2,0,2,1],[1,1,3,-1],[0,3,0,0]] dtype=i64\n%y = put_along_axis %a, %i, %b axis=1",
     SIGNED},
    {"%i = data values=[2,0,2] dtype=i64\n%y = scatter_add %a, %i, %b", SIGNED},
    {"%i = data values=[7,1,-1,1] dtype=i8\n%y = scatter_add %a, %i, %b axis=1 mode=fill", SIGNED},
    {"%i = data values=[[2,0,2,1],[1,1,0,-1]] dtype=i64\n%u = shrink %b bounds=[[0,2],[0,4]]\n"
     "%y = scatter_add_along_axis %a, %i, %u mode=clip",
     SIGNED},
    {"%u = shrink %b bounds=[[0,2],[1,3]]\n%y = slice_update %a, %u start=[1,-3]", SIGNED},
    {"%y = slice_update %a, 0.5 start=[0,2] size=[3,1]", SIGNED},
    {"%w = address %a\n%y = assign %a, %w, %b", SIGNED},
    {"%w = address %a\n%t = permute %w order=[1,0]\n%s = shrink %t bounds=[[1,3],[0,3]]\n%u = shrink %b "
     "bounds=[[0,2],[1,4]]\n%y = assign %a, %s, %u op=add",
     SIGNED},
    {"%w = address %a\n%f = flip %w axes=[1]\n%s = stride %f steps=[2,-2]\n%u = shrink %b "
     "bounds=[[1,3],[2,4]]\n%y = assign %a, %s, %u op=mul",
     SIGNED},
    {"%w = address %a\n%r = reshape %w shape=[2,6]\n%s = point %r index=1 axis=0\n%y = assign %a, %s, 0.5 "
     "op=div",
     SIGNED},
    {"%w = address %a\n%s = pad %w pads=[[1,0],[0,2]]\n%u = pad %b pads=[[0,1],[1,1]] value=0.7\n%y = assign "
     "%a, %s, %u op=sub",
     SIGNED},
    {"%w = address %a\n%i = data values=[2,0,2]\n%g = gather %w, %i axis=0\n%y = assign %a, %g, %b", SIGNED},
    {"%w = address %a\n%i = data values=[1,1,-4,9]\n%g = gather %w, %i axis=1 mode=clip\n%f = flip %g "
     "axes=[1]\n%y = assign %a, %f, %b op=add",
     SIGNED},
    {"%w = address %a\n%t = permute %w order=[1,0]\n%s = shrink %t bounds=[[1,4],[0,3]]\n%v = shrink %a "
     "bounds=[[0,3],[0,3]]\n%x = assign %a, %s, %v\n%y = assign %x, %w, %b op=mul",
     SIGNED},
    {"%y = cumsum %a axis=0", SIGNED},
    {"%y = cumsum %a axis=1 exclusive=true reverse=true", SIGNED},
    {"%y = cumprod %a axis=0 reverse=true", SIGNED},
    {"%y = cumprod %a axis=1", SIGNED},
    {"%z = data values=[[1,0,1,1],[1,1,1,1],[0,1,0,1]] dtype=f64\n%t = mul %a, %z\n%y = cumprod %t axis=1",
     SIGNED},
    {"%y = cummax %a axis=1", SIGNED},
    {"%y = cummin %a axis=0 reverse=true", SIGNED},
    {"%y = sort %a axis=1", SIGNED},
    {"%y = sort %a axis=0 descending=true", SIGNED},
    {"%y, %i = topk %a k=2", SIGNED},

    /* compositions */
    {"%y = softmax %a axis=1", SIGNED},
    {"%y = log_softmax %a axis=0", SIGNED},
    {"%y = logsumexp %a axes=[1]", SIGNED},
    {"%y = var %a axes=[0] correction=1", SIGNED},
    {"%w = data values=[[1,2,3,4],[2,1,4,3],[4,3,1,2]] dtype=f64\n%t = add %a, %w\n%y = std %t axes=[1]",
     SIGNED},
    {"%w = shrink %b bounds=[[0,1],[0,4]]\n%v = reshape %w shape=[4]\n%y = layer_norm %a, %v axis=1", SIGNED},
    {"%w = shrink %b bounds=[[1,2],[0,4]]\n%v = reshape %w shape=[4]\n%y = rms_norm %a, %v axis=1", SIGNED},
    {"%f, %g = split %a parts=2 axis=1\n%y = mul %f, %g", SIGNED},
    {"%f, %g = chunk %a chunks=2 axis=0\n%y = mul %f, %g", SIGNED},
    {"%f, %g, %h = unbind %a axis=0\n%t = mul %f, %g\n%y = sub %t, %h", SIGNED},
    {"%f, %g = minmax %a axes=[1]\n%y = mul %f, %g", SIGNED},
    {"%t = mul %a, %b\n%y = tril %t diagonal=1", SIGNED},
    {"%t = mul %a, %b\n%y = triu %t", SIGNED},
    {"%i = data values=[5,0,5,-1] dtype=i64\n%y = take %a, %i", SIGNED},
    {"%y = einsum %a, %b equation=\"ij,kj->ik\"", SIGNED},
    {"%y = einsum %a, %b, %c equation=\"ij,ij,kj->k\"", SIGNED},
    {"%x = reshape %a shape=[1,2,6]\n%w = reshape %b shape=[2,2,3]\n%y = conv %x, %w stride=[2] padding=[1]",
     SIGNED},
    {"%x = reshape %a shape=[1,2,3,2]\n%w = reshape %b shape=[2,1,3,2]\n"
     "%y = conv %x, %w padding=[1,1] dilation=[1,2] groups=2",
     SIGNED},
    {"%x = reshape %a shape=[1,2,6]\n%w = reshape %b shape=[2,2,3]\n%y = conv_transpose %x, %w stride=[2]",
     SIGNED},
    {"%x = reshape %a shape=[1,3,4]\n%y = max_pool %x kernel=[2] stride=[1]", SIGNED},
    {"%x = reshape %a shape=[1,3,4]\n%y = avg_pool %x kernel=[3] stride=[1] padding=[1]", SIGNED},
    {"%t = mul %a, %b\n%y = stored %t", SIGNED},

    /* several operations */
    {"%m = max %a axes=[1] keepdims=true\n%t = sub %a, %m\n%e = exp %t\n%s = sum %e axes=[1] keepdims=true\n"
     "%y = div %e, %s",
     SIGNED},
    {"%m = mean %a axes=[1] keepdims=true\n%t = sub %a, %m\n%q = mul %t, %t\n%v = mean %q axes=[1] "
     "keepdims=true\n"
     "%w = add %v, 0.1\n%r = rsqrt %w\n%y = mul %t, %r",
     SIGNED},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Graphs with symbolic sizes, written in full. */
static const char *const symbolic[] = {
    "graph @s(%p: f64[n=2..5,3]) {\n%y = pad %p pads=[[2,7],[1,0]] mode=edge\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = pad %p pads=[[1,2],[0,0]] value=2.0\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = mean %p axes=[0]\n return %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = prod %p axes=[0]\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = max %p axes=[0,1]\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = stride %p steps=[2,1]\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = stride %p steps=[-3,-1]\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3], %q: f64[4,3]) {\n%y = concat %q, %p, %q axis=0\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%i = data values=[0,1,0]\n%y = gather %p, %i axis=0\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3], %q: f64[3,n]) {\n%i = data values=[0,1,0]\n%t = permute %p order=[1,0]\n"
    "%u = mul %t, %t\n%y = scatter %q, %i, %u\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3], %q: f64[3,n]) {\n%i = data values=[0,1,0]\n%t = permute %q order=[1,0]\n"
    "%u = mul %t, %t\n%y = scatter_add %p, %i, %u axis=1\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3], %q: f64[3,n]) {\n%a = address %p\n%t = permute %a order=[1,0]\n"
    "%y = assign %p, %t, %q op=mul\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3], %q: f64[3,n]) {\n%t = matmul %p, %q\n%y = matmul %q, %t\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = shrink %p bounds=[[1,n],[0,2]]\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = point %p index=n-1 axis=0\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = pad %p pads=[[3,4],[1,5]] mode=wrap\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = pad %p pads=[[n,1],[0,n]] mode=wrap\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..5,3]) {\n%y = pad %p pads=[[1,n],[0,0]] mode=reflect\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = prod %p\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%t = reshape %p shape=[n*3]\n%y = stride %t steps=[-2]\nreturn %y\n}\n",
    "graph @s(%p: f64[n=2..8:2,3]) {\n%t = stride %p steps=[2,1]\n%u = stride %t steps=[3,2]\n%y = mul %u, "
    "%u\n"
    "return %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = cumsum %p axis=0 exclusive=true\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = cumprod %p axis=0\nreturn %y\n}\n",
    "graph @s(%p: f64[n=1..5,3]) {\n%y = cummax %p axis=0\nreturn %y\n}\n",
    "graph @s(%p: f64[3,n=1..5]) {\n%t = sort %p\n%y = mul %t, %t\nreturn %y\n}\n",
    "graph @s(%p: f64[1,3], %q: f64[n=2..5,3]) {\n%y = mul %p, %q\nreturn %y\n}\n",
};

typedef struct problem {
  uint64_t state;
  ir_graph g;
  ir_error error;
  ir_ref inputs[MAX_INPUTS], y;
  int input_count;
  size_t count[MAX_INPUTS];
  double data[MAX_INPUTS][MAX_ELEMENTS];
  ir_var_value var;
  size_t var_count;
  char text[TEXT];
} problem;

static long differences, products, second, compiled, failed;
static rt_context *context;
static const case_machine host = {0, NULL};
static cases given, any; /* compositions, and graphs of any dtype */

static bool complain(problem *p, const char *what, const char *detail) {
  fprintf(stderr, "%s: %s\n%s", what, detail, p->text);
  failed++;
  return false;
}

static double uniform(problem *p) { return (double)(random_next(&p->state) >> 11) * 0x1p-53; }

/* Evaluates the roots at the current data; the caller frees the results. */
static bool values(problem *p, const ir_ref *roots, size_t n, ir_eval_result *out) {
  ir_binding_input bound[MAX_INPUTS];
  ir_error error = {0};
  for (int i = 0; i < p->input_count; i++) bound[i] = (ir_binding_input){p->inputs[i], p->data[i]};
  if (ir_eval(&p->g, roots, n, bound, (size_t)p->input_count, &p->var, p->var_count, out, &error) == IR_OK)
    return true;
  return complain(p, "the evaluator failed", error.text);
}

static double scalar(problem *p, ir_ref root) {
  ir_eval_result r;
  if (!values(p, &root, 1, &r)) return NAN;
  double value = *(const double *)r.data;
  ir_eval_free(&p->g, &r, 1);
  return value;
}

/* Draws each element from an interval of its own, so that compared elements differ by at least 0.01. */
static void fill(problem *p, int domain) {
  bool taken[SLOTS] = {false};
  for (int i = 0; i < p->input_count; i++)
    for (size_t k = 0; k < p->count[i]; k++) {
      int slot;
      do slot = (int)random_between(&p->state, 0, SLOTS - 1);
      while (taken[slot]);
      taken[slot] = true;
      double value = 0.25 + 0.015 * slot + 0.004 * uniform(p);
      if (domain == DIVISOR && i == 1) value += 3;
      else if (domain != POSITIVE && random_next(&p->state) >> 63) value = -value;
      p->data[i][k] = domain == SMALL ? value / 4 : value;
    }
}

static bool parse(problem *p, int domain) {
  ir_module module = {0};
  ir_graph_init(&p->g, &ir_mem_libc, &p->error);
  if (ir_parse_module(&p->g, &fe_builder, "case", p->text, strlen(p->text), &module) != IR_OK) {
    complain(p, "no graph", p->error.text);
    return false;
  }
  const ir_parsed_graph *graph = &module.graphs[0];
  p->y = graph->results[0].ref;
  p->input_count = (int)graph->param_count;
  p->var_count = graph->var_count;
  if (graph->var_count) {
    ir_ref var = graph->vars[0];
    ir_bounds b = ir_bounds_of(&p->g, var);
    int64_t step = ir_get(&p->g, ir_src(&p->g, var, 2))->arg;
    p->var = (ir_var_value){var, step * random_between(&p->state, b.lo / step, b.hi / step)};
  }
  for (int i = 0; i < p->input_count; i++) {
    p->inputs[i] = graph->params[i].ref;
    p->count[i] = 1;
    for (uint32_t k = 0; k < ir_rank(&p->g, p->inputs[i]); k++) {
      int64_t size = 0;
      if (!ir_is_const(&p->g, ir_dim(&p->g, p->inputs[i], k), &size)) size = p->var.value;
      p->count[i] *= (size_t)size;
    }
  }
  ir_module_free(&module);
  fill(p, domain);
  return true;
}

/* Numbers of the shape of x, as a value: literals, or, where sizes are symbolic, a wave. */
static ir_ref weights(problem *p, ir_ref x) {
  ir_graph *g = &p->g;
  size_t count = 1;
  double some[512];
  bool fixed = true;
  uint32_t rank = ir_rank(g, x);
  const ir_ref *dims = ir_get(g, ir_shape(g, x))->src;
  for (uint32_t k = 0; k < rank; k++) {
    int64_t size = 1;
    fixed &= ir_is_const(g, dims[k], &size);
    count *= (size_t)size;
  }
  if (fixed && count <= sizeof some / sizeof *some) {
    for (size_t k = 0; k < count; k++) some[k] = 2 * uniform(p) - 1;
    return op_data(g, IR_F64, dims, rank, some, count * sizeof *some);
  }
  ir_ref sum = op_literal_float(g, uniform(p));
  for (uint32_t k = 0; k < rank; k++)
    sum = op_binary(
        g, IR_OP_ADD, sum,
        op_binary(g, IR_OP_MUL, op_iota(g, IR_F64, dims, rank, k), op_literal_float(g, 1 + uniform(p))));
  return op_unary(g, IR_OP_SIN, sum);
}

static ir_ref dot(ir_graph *g, ir_ref a, ir_ref b) {
  return op_reduce(g, IR_OP_SUM, op_binary(g, IR_OP_MUL, a, b), NULL, 0, false);
}

/* Compares the gradients of f with finite differences of fourth order. */
static bool by_differences(problem *p, ir_ref f, const ir_ref *gradients, const char *what) {
  static const double at[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1}, h = 1e-4;
  ir_eval_result r[MAX_INPUTS];
  bool good = values(p, gradients, (size_t)p->input_count, r);
  if (!good) return false;
  for (int i = 0; i < p->input_count && good; i++)
    for (size_t k = 0; k < p->count[i] && good; k++) {
      double middle = p->data[i][k], slope = 0, got = ((const double *)r[i].data)[k];
      for (int s = 0; s < 4; s++) {
        p->data[i][k] = middle + at[s] * h;
        slope += weight[s] * scalar(p, f);
      }
      p->data[i][k] = middle;
      slope /= 12 * h;
      differences++;
      if (fabs(got - slope) <= 1e-6 * fmax(1, fabs(slope))) continue;
      char text[200];
      snprintf(text, sizeof text, "%s, input %d, element %zu: %.12g, by differences %.12g", what, i, k, got,
               slope);
      good = complain(p, "a wrong derivative", text);
    }
  ir_eval_free(&p->g, r, (size_t)p->input_count);
  return good;
}

static bool agree(problem *p, double a, double b, const char *what) {
  products++;
  if (fabs(a - b) <= 1e-10 * fmax(1, fmax(fabs(a), fabs(b)))) return true;
  char text[200];
  snprintf(text, sizeof text, "%s: <Jv,w> = %.17g, <v,J'w> = %.17g", what, a, b);
  return complain(p, "forward and reverse mode differ", text);
}

static pass_derivative of(problem *p, const ir_ref *f) {
  return (pass_derivative){.who = "grad",
                           .outputs = f,
                           .output_count = 1,
                           .inputs = p->inputs,
                           .input_count = (size_t)p->input_count};
}

/* Checks both modes of the derivative of f, a scalar. *next is another scalar: the derivative in a direction,
 * from reverse mode. */
static bool check_scalar(problem *p, ir_ref f, ir_ref *gradients, ir_ref *next, const char *what) {
  ir_ref along[MAX_INPUTS], slope;
  pass_derivative d = of(p, &f);
  if (!pass_vjp(&p->g, &d, NULL, gradients)) return complain(p, "no gradient", p->error.text);
  *next = 0;
  for (int i = 0; i < p->input_count; i++) {
    along[i] = weights(p, p->inputs[i]);
    ir_ref part = dot(&p->g, gradients[i], along[i]);
    *next = *next ? op_binary(&p->g, IR_OP_ADD, *next, part) : part;
  }
  if (!pass_jvp(&p->g, &d, along, &slope)) return complain(p, "no tangent", p->error.text);
  ir_ref root = ir_tuple(&p->g, (ir_ref[]){f, *next, slope}, 3);
  ir_error error = {0};
  if (!root || ir_verify(&p->g, root, IR_LEVEL_TENSOR, &error) != IR_OK)
    return complain(p, "a broken graph", root ? error.text : p->error.text);
  return by_differences(p, f, gradients, what) && agree(p, scalar(p, slope), scalar(p, *next), what);
}

static bool run_compiled(problem *p, const ir_ref *gradients) {
  ir_error error = {0};
  fe_request request = {.graph = &p->g,
                        .results = ir_tuple(&p->g, gradients, (uint32_t)p->input_count),
                        .inputs = p->inputs,
                        .input_count = (size_t)p->input_count,
                        .vars = &p->var.ref,
                        .var_count = p->var_count,
                        .name = "gradient"};
  rt_program *program = NULL;
  if (fe_compile(context, &request, &program, &error) != IR_OK)
    return complain(p, "does not compile", error.text);
  void *outputs[MAX_INPUTS], *inputs[MAX_INPUTS];
  double made[MAX_INPUTS][MAX_ELEMENTS];
  ir_eval_result want[MAX_INPUTS];
  for (int i = 0; i < p->input_count; i++) outputs[i] = made[i], inputs[i] = p->data[i];
  bool good = rt_program_run(program, inputs, outputs, &p->var.value, &error) == IR_OK;
  if (!good) complain(p, "does not run", error.text);
  rt_program_release(program);
  if (!good || !values(p, gradients, (size_t)p->input_count, want)) return false;
  for (int i = 0; i < p->input_count && good; i++)
    for (size_t k = 0; k < p->count[i] && good; k++) {
      double x = ((const double *)want[i].data)[k];
      if (fabs(x - made[i][k]) > 1e-12 * fmax(1, fabs(x)))
        good = complain(p, "compiled, another gradient", "");
    }
  ir_eval_free(&p->g, want, (size_t)p->input_count);
  compiled++;
  return good;
}

static bool check(uint64_t seed, const char *text, int domain, bool compile) {
  problem p = {.state = seed};
  snprintf(p.text, sizeof p.text, "%s", text);
  bool good = parse(&p, domain);
  if (good) {
    ir_ref gradients[MAX_INPUTS], again[MAX_INPUTS], slope, curve, w = weights(&p, p.y);
    good = check_scalar(&p, dot(&p.g, p.y, w), gradients, &slope, "first derivative");
    if (good && compile) good = run_compiled(&p, gradients);
    if (good) good = check_scalar(&p, slope, again, &curve, "second derivative"), second++;
  }
  if (!good) fprintf(stderr, "(seed %" PRIu64 ")\n", seed);
  ir_graph_free(&p.g);
  return good;
}

/* Writes the graph's text: the operation, its operands read through these layouts. */
static void compose(char *text, const operation *op, const int *layout) {
  char header[256] = "", views[512] = "";
  int used = 0;
  for (int i = 0; i < MAX_INPUTS; i++) {
    char name[] = {'%', (char)('a' + i), '\0'}, line[128], view[96];
    const char *found = op->text;
    while ((found = strstr(found, name)) && found[2] >= 'a' && found[2] <= 'z') found++;
    if (!found) break;
    snprintf(header + strlen(header), sizeof header - strlen(header), "%s%%%c: f64%s", i ? ", " : "", 'p' + i,
             layouts[layout[i]].shape);
    snprintf(view, sizeof view, layouts[layout[i]].view, 'p' + i);
    snprintf(line, sizeof line, "%%%c = %s\n", 'a' + i, view);
    strcat(views, line);
    used++;
  }
  snprintf(text, TEXT, "graph @case(%s) {\n%s%s\nreturn %%y\n}\n", header, views, op->text);
}

/* Steps from f64[3,4] to f64[3,4], smooth, and bounded where the operands are. %1 and %2 are earlier values.
 */
static const char *const steps[] = {
    "%N = tanh %1",
    "%N = sigmoid %1",
    "%N = sin %1",
    "%N = mul %1, %2",
    "%N = add %1, %2",
    "%N = sub %1, %2",
    "%tN = mul %2, %2\n%uN = add %tN, 0.5\n%N = div %1, %uN",
    "%tN = permute %2 order=[1,0]\n%uN = matmul %1, %tN\n%vN = tanh %uN\n%N = matmul %vN, %2",
    "%N = flip %1 axes=[0,1]",
    "%tN = permute %1 order=[1,0]\n%N = reshape %tN shape=[3,4]",
    "%tN = shrink %1 bounds=[[0,2],[1,4]]\n%N = pad %tN pads=[[1,0],[0,1]] value=0.3",
    "%tN = pad %1 pads=[[2,1],[1,3]] mode=reflect\n%N = shrink %tN bounds=[[1,4],[2,6]]",
    "%tN = pad %1 pads=[[2,1],[1,3]] mode=edge\n%N = shrink %tN bounds=[[2,5],[4,8]]",
    "%tN = pad %1 pads=[[2,5],[1,3]] mode=wrap\n%N = stride %tN steps=[4,2]",
    "%tN = mean %1 axes=[1] keepdims=true\n%N = sub %2, %tN",
    "%tN = sum %1 axes=[0]\n%uN = tanh %tN\n%N = mul %2, %uN",
    "%tN = prod %1 axes=[1] keepdims=true\n%N = add %tN, %2",
    "%iN = data values=[2,0,2,1]\n%N = gather %1, %iN axis=1",
    "%iN = data values=[2,0,2,1]\n%N = scatter_add %1, %iN, %2 axis=1",
    "%iN = data values=[2,0,2]\n%N = scatter %1, %iN, %2",
    "%tN = shrink %2 bounds=[[0,2],[1,3]]\n%N = slice_update %1, %tN start=[1,1]",
    "%pN = address %1\n%sN = stride %pN steps=[1,-2]\n%tN = shrink %2 bounds=[[0,3],[1,3]]\n%N = assign %1, "
    "%sN, %tN op=mul",
    "%pN = address %1\n%iN = data values=[2,0,2]\n%gN = gather %pN, %iN\n%N = assign %1, %gN, %2",
    "%tN = concat %1, %2 axis=0\n%N = stride %tN steps=[-2,1]",
    "%tN = stack %1, %2 axis=1\n%uN = reshape %tN shape=[6,4]\n%N = shrink %uN bounds=[[2,5],[0,4]]",
    "%N = fma %1, %2, %1",
    "%N = cumsum %1 axis=1",
    "%tN = cumprod %1 axis=0\n%N = add %tN, %2",
    "%tN = cummax %1 axis=1\n%N = mul %tN, %2",
    "%tN = sort %1 axis=0 descending=true\n%N = sub %tN, %2",
};
enum { STEPS = sizeof steps / sizeof *steps };

static void random_text(uint64_t *state, char *text) {
  size_t used = (size_t)snprintf(text, TEXT, "graph @random(%%x0: f64[3,4], %%x1: f64[3,4]) {\n");
  int have = 2, length = (int)random_between(state, 2, 10);
  for (; have < 2 + length; have++) {
    int from[2];
    from[0] = (int)random_between(state, have > 4 ? have - 4 : 0, have - 1);
    from[1] = (int)random_between(state, 0, have - 1);
    for (const char *s = steps[random_between(state, 0, STEPS - 1)]; *s; s++) {
      if (*s == 'N') used += (size_t)snprintf(text + used, TEXT - used, s[-1] == '%' ? "x%d" : "%d", have);
      else if (s[0] == '%' && (s[1] == '1' || s[1] == '2'))
        used += (size_t)snprintf(text + used, TEXT - used, "%%x%d", from[*++s - '1']);
      else text[used++] = *s;
    }
    text[used++] = '\n';
  }
  snprintf(text + used, TEXT - used, "return %%x%d\n}\n", have - 1);
}

static bool check_composition(uint64_t seed) {
  char text[TEXT];
  uint64_t state = seed;
  random_text(&state, text);
  return check(seed, text, SMALL, given.done % 16 == 0);
}

/* Random graphs of any dtypes and sizes: the verifier and the evaluator must accept what both modes
 * record. */
static bool check_any(uint64_t seed) {
  static random_graph r;
  ir_ref inputs[RANDOM_INPUTS], tangents[RANDOM_INPUTS], outputs[RANDOM_VALUES],
      made[RANDOM_INPUTS + RANDOM_VALUES];
  ir_ref cotangents[RANDOM_VALUES];
  size_t in = 0, out = 0;
  random_graph_make(&r, seed, 6);
  ir_graph *g = &r.g;
  ir_error_clear(&r.error);
  for (int i = 0; i < r.input_count; i++)
    if (ir_is_float(ir_dtype_of(g, r.inputs[i]))) tangents[in] = r.inputs[i], inputs[in++] = r.inputs[i];
  for (int i = r.value_count - 1; i >= 0 && out < 3; i--) {
    ir_ref y = r.values[i].ref;
    if (ir_is_float(ir_dtype_of(g, y)) && ir_op_of(g, y) != IR_OP_CONST)
      cotangents[out] = y, outputs[out++] = y;
  }
  pass_derivative d = {
      .who = "any", .outputs = outputs, .output_count = out, .inputs = inputs, .input_count = in};
  bool good = pass_vjp(g, &d, cotangents, made) && pass_jvp(g, &d, tangents, made + in);
  ir_error error = {0};
  ir_ref root = good ? ir_tuple(g, made, (uint32_t)(in + out)) : 0;
  good = root && ir_verify(g, root, IR_LEVEL_TENSOR, &error) == IR_OK;
  int64_t vars[RANDOM_VARS] = {0};
  ir_binding_input bound[RANDOM_INPUTS];
  ir_var_value var[RANDOM_VARS];
  ir_eval_result values[RANDOM_INPUTS + RANDOM_VALUES];
  random_graph_sizes(&r, vars);
  for (int i = 0; i < r.var_count; i++) var[i] = (ir_var_value){r.vars[i], vars[i]};
  for (int i = 0; i < r.input_count; i++) {
    size_t bytes;
    bound[i] = (ir_binding_input){r.inputs[i], random_graph_data(&r, r.inputs[i], vars, &bytes)};
  }
  if (good) {
    ir_status status =
        ir_eval(g, made, in + out, bound, (size_t)r.input_count, var, (size_t)r.var_count, values, &error);
    if (status == IR_OK) ir_eval_free(g, values, in + out);
    good = status == IR_OK || status == IR_ERR_RANGE;
    error.status = good ? IR_OK : status;
  }
  if (good && any.done % 32 == 0) {
    rt_program *program = NULL;
    fe_request request = {.graph = g,
                          .results = root,
                          .inputs = r.inputs,
                          .input_count = (size_t)r.input_count,
                          .vars = r.vars,
                          .var_count = (size_t)r.var_count,
                          .name = "any"};
    good = fe_compile(context, &request, &program, &error) == IR_OK;
    if (good) rt_program_release(program), compiled++;
  }
  for (int i = 0; i < r.input_count; i++) free((void *)bound[i].data);
  if (!good) {
    failed++;
    fprintf(stderr, "%s%s\n(prop_graph --show %" PRIu64 ")\n", r.error.text, error.text, seed);
  }
  ir_graph_free(g);
  return good;
}

int main(int argc, char **argv) {
  given = any = cases_read(argc, argv, 200);
  if (!cases_open(&host, 1, &context)) return 1;
  char text[TEXT];
  uint64_t seed = given.seed;
  bool again = given.repeat;
  long table = 0;
  for (int o = 0; o < OPERATIONS && !again; o++)
    for (int k = 0; k < LAYOUTS && failed < 5; k += level_step(4), table++) { /* others for each operation */
      int l = (int)(((uint64_t)(o + k) + seed) % LAYOUTS);
      compose(text, &operations[o], (int[]){l, (l + o) % LAYOUTS, (3 * l + o + 1) % LAYOUTS});
      check(seed + (uint64_t)(o * LAYOUTS + l), text, operations[o].domain, k == 0);
    }
  for (size_t s = 0; s < sizeof symbolic / sizeof *symbolic && !again; s++)
    for (uint64_t k = 0; k < 4 && failed < 5; k++, table++) check(seed + k, symbolic[s], SIGNED, k == 0);
  for (size_t w = 0; w < write_case_count() && !again && failed < 5; w++) {
    bool positive;
    if (!write_case(w, text, sizeof text, &positive)) continue;
    check(seed + w, text, positive ? POSITIVE : SIGNED, w % 8 == seed % 8);
    table++;
  }
  cases_run(&given, check_composition);
  if (!again) cases_run(&any, check_any);
  cases_close(&context, 1);
  printf("prop_grad: %d operations by %d layouts and symbolic sizes (%ld cases), %ld compositions, %ld of "
         "any dtype, "
         "%ld differences, %ld products, %ld second derivatives, %ld compiled, %ld failed, seed %" PRIu64
         "\n",
         OPERATIONS, LAYOUTS, table, given.done, any.done, differences, products, second, compiled, failed,
         seed);
  return failed != 0;
}
