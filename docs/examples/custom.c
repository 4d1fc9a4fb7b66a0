/* Operations of one's own: a C function with a derivative, C source text, and one composed of other
 * operations. */
#include <stdio.h>
#include <string.h>

#include <viewfold.h>

/* A leaky step: x where it is positive, slope * x elsewhere. Returns 0; anything else would fail the run. */
static int leak(const float *x, float *y, int64_t count, float slope) {
  for (int64_t i = 0; i < count; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
  return 0;
}

/* Its derivative, recorded with other operations: the cotangent times 1 or the slope. */
static bool leak_vjp(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                     vf_value *gradients) {
  vf_value x = call->operands[0], slope = vf_number(call->graph, call->attributes[0].f);
  (void)results;
  gradients[0] =
      vf_mul(cotangents[0], vf_where(vf_gt(x, vf_number(call->graph, 0)), vf_number(call->graph, 1), slope));
  return true;
}

/* Least and greatest of a vector, as two scalars. */
static const char range_source[] = "void range(const float *x, long n, float *least, float *greatest) {\n"
                                   "  *least = *greatest = x[0];\n"
                                   "  for (long i = 1; i < n; i++) {\n"
                                   "    if (x[i] < *least) *least = x[i];\n"
                                   "    if (x[i] > *greatest) *greatest = x[i];\n"
                                   "  }\n"
                                   "}\n";
static bool range_shape(const vf_op_call *call, vf_op_type *results) {
  if (vf_value_rank(call->operands[0]) != 1) {
    snprintf(call->message, 256, "takes a vector, not rank %d", vf_value_rank(call->operands[0]));
    return false;
  }
  results[0].dtype = results[1].dtype = VF_F32; /* and rank 0 */
  return true;
}

/* The operand brought into 0..1: no function of its own, so nothing else to say. */
static bool unit(const vf_op_call *call, vf_value *results) {
  vf_value ends[2];
  vf_apply_all(call->graph, "range", call->operands, 1, NULL, 2, ends);
  results[0] = vf_div(vf_sub(call->operands[0], ends[0]), vf_sub(ends[1], ends[0]));
  return true;
}

static bool add_operations(vf_context *context, vf_error *error) {
  const vf_op_attribute slope = {"slope", VF_F64, true, {0}};
  vf_op_description d = {.size = sizeof d, .name = "leak", .operands = 1, .results = 1};
  d.attribute_count = 1;
  d.attributes = &slope;
  d.function = (void (*)(void))leak;
  d.signature = "int(in0, out0, i64 in0.count, float slope)";
  d.vjp = leak_vjp;
  d.sharding = "d[:] -> d[:]";
  if (vf_register_op(context, &d, error)) return false;

  vf_op_description r = {.size = sizeof r, .name = "range", .operands = 1, .results = 2};
  r.shape = range_shape;
  r.source = range_source;
  r.signature = "void(in0, long in0.count, out0, out1)";
  if (vf_register_op(context, &r, error)) return false;

  vf_op_description u = {.size = sizeof u, .name = "unit", .operands = 1, .results = 1};
  u.compose = unit;
  return vf_register_op(context, &u, error) == VF_OK;
}

static const char text[] = "graph @main(%x: f32[4]) {\n"
                           "  %y = leak %x slope=0.25\n"
                           "  %z = unit %y\n"
                           "  return %y, %z\n"
                           "}\n";

int main(void) {
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  if (!context || !add_operations(context, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  vf_graph *graph = vf_graph_parse(context, text, strlen(text), "main", NULL, &error);
  if (!graph) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  vf_value x = vf_graph_find(graph, "x"), gradient;
  vf_grad(vf_sum(vf_graph_find(graph, "y"), VF_ALL, false), 1, &x, &gradient);
  vf_output(graph, "gradient", gradient);

  vf_program *program = vf_compile(graph, &error);
  const float in[4] = {-4, -2, 1, 3};
  float y[4], z[4], slopes[4];
  const void *inputs[] = {in};
  void *outputs[] = {y, z, slopes};
  if (!program || vf_program_run(program, inputs, outputs, NULL, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (int i = 0; i < 4; i++) printf("%g %g %g\n", (double)y[i], (double)z[i], (double)slopes[i]);
  vf_program_destroy(program);
  vf_graph_destroy(graph);
  vf_context_destroy(context);
  return 0;
}
