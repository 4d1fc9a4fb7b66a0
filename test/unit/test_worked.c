/* Derivatives by worked numbers: of views, functions and whole graphs, in reverse and forward mode, evaluated
 * and compiled. The functions' own worked numbers are in test/text/spec/. */
#include <math.h>

#include "frontend/viewfold.h"
#include "test/lib/record.h"
#include "test/lib/unit.h"

enum { PORTS = 4, MOST = 32 }; /* inputs and outputs of one case; elements of all inputs, of all outputs */

/* One letter is the name of one tensor, all of them f32. In reverse mode, `given` are the cotangents of all
 * outputs and `want` the gradients of all inputs, one after another; in forward mode, the tangents and the
 * results' derivatives. */
typedef struct worked {
  bool forward;
  const char *parameters, *body, *inputs, *outputs;
  double x[MOST], given[MOST], want[MOST];
} worked;
#define REVERSE(...)                                                                                         \
  { false, __VA_ARGS__ }
#define FORWARD(...)                                                                                         \
  { true, __VA_ARGS__ }

static vf_error error;

static void must(bool ok, const worked *k, const char *why) {
  if (!ok) fail_msg("%s\n%s", k->body, why);
}

/* The values of these names, and how many elements each has. */
static int find(vf_graph *g, const char *names, vf_value *values, int *sizes) {
  int count = 0;
  for (; names[count]; count++) {
    int64_t shape[16];
    values[count] = vf_graph_find(g, (char[]){names[count], 0});
    int rank = vf_value_shape(values[count], shape);
    sizes[count] = 1;
    for (int i = 0; i < rank; i++) sizes[count] *= (int)shape[i];
  }
  return count;
}

/* Literal arrays with the shapes of these values, one after another. */
static void literals(vf_graph *g, const vf_value *like, const int *sizes, int count, const double *elements,
                     vf_value *out) {
  for (int i = 0; i < count; i++) {
    int64_t shape[16];
    float data[MOST];
    int rank = vf_value_shape(like[i], shape);
    for (int j = 0; j < sizes[i]; j++) data[j] = (float)*elements++;
    out[i] = vf_data(g, VF_F32, rank, shape, data);
  }
}

static bool near(double a, double b) {
  return isnan(a) ? isnan(b) : a == b || fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

static void check_results(const worked *k, float results[][MOST], const int *sizes, int count,
                          const char *how) {
  const double *want = k->want;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < sizes[i]; j++, want++)
      if (!near(results[i][j], *want))
        fail_msg("%s\n%s, result %d, element %d: %g, expected %g", k->body, how, i, j, results[i][j], *want);
}

static void check_worked(const worked *k) {
  char text[1024];
  int out_count = (int)strlen(k->outputs), at = 0;
  vf_context *c = vf_context_create(&(vf_options){.size = sizeof(vf_options), .flags = VF_NO_DISK}, &error);
  snprintf(text, sizeof text, "graph @case(%s) {\n%s\nreturn ", k->parameters, k->body);
  for (int i = 0; i < out_count; i++)
    snprintf(text + strlen(text), 16, "%s%%%c", i ? ", " : "", k->outputs[i]);
  strcat(text, "\n}\n");
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "case", NULL, &error);
  must(g, k, error.message);

  vf_value in[PORTS], out[PORTS], given[PORTS], made[PORTS];
  int in_sizes[PORTS], out_sizes[PORTS];
  int in_count = find(g, k->inputs, in, in_sizes);
  find(g, k->outputs, out, out_sizes);
  if (k->forward) {
    literals(g, in, in_sizes, in_count, k->given, given);
    vf_jvp(out_count, out, in_count, in, given, made);
  } else {
    literals(g, out, out_sizes, out_count, k->given, given);
    vf_vjp(out_count, out, given, in_count, in, made);
  }
  int made_count = k->forward ? out_count : in_count;
  const int *made_sizes = k->forward ? out_sizes : in_sizes;
  for (int i = 0; i < made_count; i++) vf_output(g, (char[]){'d', (char)('0' + i), 0}, made[i]);
  must(!vf_graph_status(g), k, vf_graph_message(g));

  float data[PORTS][MOST], values[PORTS][MOST], results[PORTS][MOST];
  const void *from[PORTS];
  void *to[2 * PORTS];
  for (int i = 0; i < in_count; i++, from[i - 1] = data[i - 1])
    for (int j = 0; j < in_sizes[i]; j++) data[i][j] = (float)k->x[at++];
  for (int i = 0; i < out_count; i++) to[i] = values[i];
  for (int i = 0; i < made_count; i++) to[out_count + i] = results[i];
  must(!vf_evaluate(g, from, to, NULL, &error), k, error.message);
  check_results(k, results, made_sizes, made_count, "evaluated");

  memset(results, 0, sizeof results);
  vf_program *program = vf_compile(g, &error);
  must(program && !vf_program_run(program, from, to, NULL, &error), k, error.message);
  check_results(k, results, made_sizes, made_count, "compiled");
  vf_program_destroy(program), vf_graph_destroy(g), vf_context_destroy(c);
}

/* spec: V10.grad V11.grad V12.grad V13.grad V14.grad V15.grad */
static void test_axes(void **state) {
  static const worked cases[] = {
      REVERSE("%x: f32[2,3]", "%y = unsqueeze %x axis=-1", "x", "y", {0}, {1, 2, 3, 4, 5, 6},
              {1, 2, 3, 4, 5, 6}),
      REVERSE("%x: f32[2,1,3]", "%y = squeeze %x", "x", "y", {0}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}),
      REVERSE("%x: f32[2,3]", "%y = swap_axes %x axis1=0 axis2=1", "x", "y", {0}, {1, 2, 3, 4, 5, 6},
              {1, 3, 5, 2, 4, 6}),
      REVERSE("%x: f32[2,1,3]", "%y = moveaxis %x source=0 destination=2", "x", "y", {0}, {1, 2, 3, 4, 5, 6},
              {1, 3, 5, 2, 4, 6}),
      REVERSE("%x: f32[2,1,3]", "%y = permute %x order=[1,2,0]", "x", "y", {0}, {1, 2, 3, 4, 5, 6},
              {1, 3, 5, 2, 4, 6}),
      REVERSE("%x: f32[2,2]", "%y = flip %x axis=1", "x", "y", {0}, {1, 2, 3, 4}, {2, 1, 4, 3}),
      FORWARD("%x: f32[2,2]", "%y = flip %x axis=1", "x", "y", {0}, {1, 2, 3, 4}, {2, 1, 4, 3}),
  };
  CHECK_ALL(check_worked, cases);
}

/* spec: V16.grad V17.grad V18.grad V20.grad V21.grad V22.grad V22.U V24.grad V24.U V25.grad */
static void test_elements(void **state) {
  static const worked cases[] = {
      REVERSE("%x: f32[3]", "%y = broadcast_to %x shape=[2,3]", "x", "y", {0}, {1, 2, 3, 4, 5, 6}, {5, 7, 9}),
      REVERSE("%x: f32[2,1]", "%y = broadcast_to %x shape=[2,3]", "x", "y", {0}, {1, 2, 3, 4, 5, 6}, {6, 15}),
      REVERSE("%x: f32[2,3]", "%y = reshape %x shape=[-1,2]", "x", "y", {0}, {1, 2, 3, 4, 5, 6},
              {1, 2, 3, 4, 5, 6}),
      REVERSE("%x: f32[3,4]", "%y = slice %x start=[-2,1] size=[2,2]", "x", "y", {0}, {1, 1, 1, 1},
              {0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0}),
      REVERSE("%x: f32[2], %z: f32[1]", "%y = concatenate %x, %z", "xz", "y", {0}, {1, 2, 3}, {1, 2, 3}),
      REVERSE("%x: f32[2], %z: f32[2]", "%y = stack %x, %z axis=-1", "xz", "y", {0}, {1, 2, 3, 4},
              {1, 3, 2, 4}),
      REVERSE("%x: f32[3,2]", "%i = data values=[2,0,2]\n%y = gather %x, %i", "x", "y", {0},
              {1, 2, 3, 4, 5, 6}, {3, 4, 0, 0, 6, 8}),
      REVERSE("%x: f32[2]", "%y = pad %x pads=[[1,2]] value=9", "x", "y", {0}, {1, 2, 3, 4, 5}, {2, 3}),
      FORWARD("%x: f32[2]", "%y = pad %x pads=[[1,2]] value=9", "x", "y", {0}, {5, 6}, {0, 5, 6, 0, 0}),
      REVERSE("%x: f32[2,1,2]", "%y = flatten %x start_dim=1 end_dim=2", "x", "y", {0}, {1, 2, 3, 4},
              {1, 2, 3, 4}),
  };
  CHECK_ALL(check_worked, cases);
}

/* spec: V19.grad V23.grad V23.U */
static void test_updates(void **state) {
  static const worked cases[] = {
      REVERSE("%x: f32[3,4], %u: f32[2,2]", "%y = slice_update %x, %u start=[1,1] size=[2,2]", "xu", "y", {0},
              {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 2, 3, 4, 5, 0, 0, 8, 9, 0, 0, 12, 6, 7, 10, 11}),
      REVERSE("%x: f32[4,2], %u: f32[2,2]", "%i = data values=[3,1]\n%y = scatter %x, %i, %u", "xu", "y", {0},
              {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 0, 0, 5, 6, 0, 0, 7, 8, 3, 4}),
      /* the second update of element 1 is stored, and it alone has a gradient */
      REVERSE("%x: f32[3], %u: f32[2]", "%i = data values=[1,1]\n%y = scatter %x, %i, %u", "xu", "y", {0},
              {1, 2, 3}, {1, 0, 3, 0, 2}),
      FORWARD("%x: f32[3], %u: f32[2]", "%i = data values=[1,1]\n%y = scatter %x, %i, %u", "xu", "y", {0},
              {1, 2, 3, 4, 5}, {1, 5, 3}),
  };
  CHECK_ALL(check_worked, cases);
}

/* spec: F1.grad F2.grad F3.grad F12.grad AD2 */
static void test_functions(void **state) {
  static const worked cases[] = {
      REVERSE("%x: f32[2,2], %z: f32[2]", "%y = add %x, %z", "xz", "y", {0}, {1, 2, 3, 4},
              {1, 2, 3, 4, 4, 6}),
      REVERSE("%x: f32[2,2], %z: f32[2]", "%y = sub %x, %z", "xz", "y", {0}, {1, 2, 3, 4},
              {1, 2, 3, 4, -4, -6}),
      REVERSE("%x: f32[2,2], %z: f32[2,1]", "%y = mul %x, %z", "xz", "y", {1, 2, 3, 4, 5, 6}, {1, 1, 2, 1},
              {5, 5, 12, 6, 3, 10}),
      REVERSE("%x: f32[2], %z: f32[]", "%y = div %x, %z", "xz", "y", {6, 8, 2}, {1, 2}, {0.5, 1, -5.5}),
      REVERSE("%x: f32[2,2], %z: f32[2,2]", "%y = matmul %x, %z", "xz", "y", {1, 2, 3, 4, 5, 6, 7, 8},
              {1, 0, 0, 2}, {5, 7, 12, 16, 1, 6, 2, 8}),
      REVERSE("%x: f32[2,1,2], %z: f32[2]", "%y = matmul %x, %z", "xz", "y", {1, 2, 3, 4, 5, 6}, {1, 10},
              {5, 6, 50, 60, 31, 42}),
      REVERSE("%x: f32[3]", "%y = relu %x", "x", "y", {-1, 0, 2}, {5, 5, 5}, {0, 0, 5}),
      REVERSE("%x: f32[3]", "%y = abs %x", "x", "y", {-1, 0, 2}, {5, 5, 5}, {-5, 0, 5}),
      REVERSE("%x: f32[1]", "%y = sigmoid %x", "x", "y", {0}, {4}, {1}),
      REVERSE("%x: f32[2]", "%y = tanh %x", "x", "y", {0, INFINITY}, {4, 4}, {4, 0}),
      REVERSE("%x: f32[2]", "%y = exp %x", "x", "y", {0, -INFINITY}, {4, 4}, {4, 0}),
      REVERSE("%x: f32[2]", "%y = sqrt %x", "x", "y", {4, 16}, {1, 1}, {0.25, 0.125}),
      REVERSE("%x: f32[2]", "%y = log %x", "x", "y", {4, 0.5}, {1, 1}, {0.25, 2}),
      REVERSE("%x: f32[1]", "%y = neg %x", "x", "y", {3}, {4}, {-4}),
      REVERSE("%x: f32[3], %z: f32[]", "%c = gt %x, 2.0\n%y = where %c, %x, %z", "xz", "y", {1, 3, 2, 9},
              {1, 2, 4}, {0, 2, 0, 5}),
      FORWARD("%x: f32[3], %z: f32[]", "%c = gt %x, 2.0\n%y = where %c, %x, %z", "xz", "y", {1, 3, 2, 9},
              {5, 6, 7, 8}, {8, 6, 8}),
  };
  CHECK_ALL(check_worked, cases);
}

/* spec: F4.grad F5.grad F5.U F6.grad F16.grad F17.grad F18.grad F19.grad */
static void test_reductions(void **state) {
  static const worked cases[] = {
      REVERSE("%x: f32[2]", "%y = softmax %x", "x", "y", {7, 7}, {1, 3}, {-0.5, 0.5}),
      REVERSE("%x: f32[2,2]", "%y = softmax %x axis=0", "x", "y", {7, 1, 7, 1}, {1, 0, 3, 4},
              {-0.5, -1, 0.5, 1}),
      REVERSE("%x: f32[2,2]", "%y = reduce_sum %x axis=1", "x", "y", {0}, {1, 2}, {1, 1, 2, 2}),
      REVERSE("%x: f32[2,2]", "%y = reduce_sum %x axes=[] ", "x", "y", {0}, {1, 2, 3, 4}, {1, 2, 3, 4}),
      REVERSE("%x: f32[2,2]", "%y = reduce_max %x axis=1 keepdims=true", "x", "y", {1, 2, 3, 3}, {4, 6},
              {0, 4, 3, 3}),
      REVERSE("%x: f32[4]", "%y = reduce_min %x", "x", "y", {1, 5, 1, 1}, {6}, {2, 0, 2, 2}),
      REVERSE("%x: f32[4]", "%y = mean %x", "x", "y", {0}, {6}, {1.5, 1.5, 1.5, 1.5}),
      REVERSE("%x: f32[4]", "%y, %z = split %x parts=2", "x", "yz", {0}, {1, 2, 3, 4}, {1, 2, 3, 4}),
      REVERSE("%x: f32[5]", "%u, %v, %w = chunk %x chunks=3", "x", "uvw", {0}, {1, 2, 3, 4, 5},
              {1, 2, 3, 4, 5}),
      REVERSE("%x: f32[2,2]", "%y, %z = unbind %x axis=1", "x", "yz", {0}, {1, 2, 3, 4}, {1, 3, 2, 4}),
      REVERSE("%x: f32[4]", "%y, %z = minmax %x", "x", "yz", {3, 1, 3, 2}, {5, 8}, {4, 5, 4, 0}),
  };
  CHECK_ALL(check_worked, cases);
}

/* spec: F7.U AD1 AD4 AD7 */
static void test_graphs(void **state) {
  static const worked cases[] = {
      /* a comparison has no derivative, and the product has that of its other factor */
      REVERSE("%x: f32[3]", "%c = gt %x, 1.0\n%m = cast %c dtype=f32\n%y = mul %x, %m", "x", "y", {0, 1, 2},
              {5, 6, 7}, {0, 0, 7}),
      /* %t reaches no output, %z no result */
      REVERSE("%x: f32[2], %z: f32[2]", "%t = mul %x, %z\n%y = mul %x, 3.0", "xz", "y", {1, 2, 3, 4}, {1, 1},
              {3, 3, 0, 0}),
      /* of two results of one operation only one has a cotangent */
      REVERSE("%x: f32[4]", "%y, %z = split %x parts=2", "x", "z", {0}, {3, 4}, {0, 0, 3, 4}),
      /* an operand used twice counts twice, in reverse and forward mode */
      REVERSE("%x: f32[2]", "%y = mul %x, %x", "x", "y", {3, 5}, {1, 1}, {6, 10}),
      FORWARD("%x: f32[2]", "%y = mul %x, %x", "x", "y", {3, 5}, {1, 10}, {6, 100}),
      FORWARD("%x: f32[2], %z: f32[]", "%y = mul %x, %z\n%w = sum %y", "xz", "yw", {3, 5, 2}, {1, 10, 100},
              {302, 520, 822}),
      FORWARD("%x: f32[2,2], %z: f32[2,2]", "%y = matmul %x, %z", "xz", "y", {1, 2, 3, 4, 5, 6, 7, 8},
              {1, 0, 0, 0, 0, 0, 0, 1}, {5, 8, 0, 4}),
  };
  CHECK_ALL(check_worked, cases);
}

UNIT_TESTS(test_axes, test_updates, test_elements, test_functions, test_reductions, test_graphs)
