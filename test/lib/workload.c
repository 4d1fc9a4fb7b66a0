/* Each graph has inputs and outputs of f32 and at most one variable, and runs in microseconds. */
#include "test/lib/workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PORTS = 8 };

static vf_value input(vf_graph *g, const char *name, int rank, const int64_t *shape) {
  return vf_input(g, name, VF_F32, rank, shape);
}

static void elementwise(vf_graph *g) {
  vf_value x = input(g, "x", VF_LIST(6, 40)), y = input(g, "y", VF_LIST(40));
  vf_value sum = vf_add(vf_mul(x, vf_number(g, 0.5)), vf_exp(y));
  vf_output(g, "out", vf_where(vf_lt(x, y), vf_tanh(sum), vf_sqrt(vf_abs(sum))));
}

static void softmax(vf_graph *g) { vf_output(g, "out", vf_softmax(input(g, "x", VF_LIST(9, 70)), -1)); }

static void product(vf_graph *g) {
  vf_value a = input(g, "a", VF_LIST(33, 20)), b = input(g, "b", VF_LIST(20, 47));
  vf_output(g, "out", vf_matmul(a, b));
}

static void attention(vf_graph *g) {
  vf_value q = input(g, "q", VF_LIST(2, 80, 8)), k = input(g, "k", VF_LIST(2, 80, 8));
  vf_output(g, "out", vf_attention(q, k, input(g, "v", VF_LIST(2, 80, 8)), (vf_value){0}, 0, true));
}

static void convolution(vf_graph *g) {
  vf_value x = input(g, "x", VF_LIST(1, 3, 12, 12)), weight = input(g, "weight", VF_LIST(4, 3, 3, 3));
  vf_value bias = input(g, "bias", VF_LIST(4));
  vf_output(g, "out", vf_conv(x, weight, bias, 2, (int64_t[]){2, 1}, (int64_t[]){1, 1}, NULL, 1));
}

static void recurrence(void *user, const vf_value *in, vf_value *out) {
  const vf_value *weight = user;
  out[0] = vf_tanh(vf_add(vf_matmul(in[0], *weight), in[1]));
  out[1] = vf_sum(out[0], VF_ALL, false);
}

static void scan(vf_graph *g) {
  vf_value weight = input(g, "weight", VF_LIST(6, 6)), xs = input(g, "xs", VF_LIST(5, 6)), state, sums, slope;
  vf_value zero = vf_zeros(g, VF_F32, VF_LIST(6));
  vf_scan(recurrence, &weight, 1, &zero, 1, &xs, 1, -1, false, &state, &sums);
  vf_grad(vf_add(vf_sum(state, VF_ALL, false), vf_sum(sums, VF_ALL, false)), 1, &weight, &slope);
  vf_output(g, "state", state);
  vf_output(g, "slope", slope);
}

static void symbolic(vf_graph *g) {
  vf_value n = vf_variable(g, "n", 4, 4096, 4);
  vf_value x = vf_input_sized(g, "x", VF_F32, 2, (vf_value[]){n, vf_integer(g, 6)});
  vf_value rows = vf_apply(g, "reshape", &x, 1, "shape=[n//4,4,6]");
  vf_value part = vf_permute(vf_pad(rows, VF_LIST(0, 0, 1, 0, 0, 2)), VF_LIST(2, 0, 1));
  vf_output(g, "sums", vf_sum(part, VF_LIST(0, 2), false));
  vf_output(g, "scaled", vf_mul(vf_flip(x, VF_LIST(0)), vf_reduce_max(x, VF_LIST(0), true)));
}

/* A reference that is changed in place: in the order of its loops, of what is saved of it, at indices that it
 * is not told of; and one of which all is copied, since its old elements and the new ones are needed at once.
 */
static void writes(vf_graph *g) {
  vf_ref a = vf_ref_input(g, "a", VF_F32, VF_LIST(6, 5)), b = vf_ref_input(g, "b", VF_F32, VF_LIST(7));
  vf_value u = input(g, "u", VF_LIST(5)), two = vf_data(g, VF_I64, VF_LIST(2), (int64_t[]){4, -1});
  vf_ref_set(vf_ref_view(a, vf_shrink(a.target, VF_LIST(1, 6, 0, 5))),
             vf_shrink(vf_ref_get(a), VF_LIST(0, 5, 0, 5)));
  vf_ref_update(vf_ref_view(a, vf_gather(a.target, two, 0, VF_GATHER_CHECK)), u, VF_WRITE_ADD);
  vf_ref square = vf_ref_view(a, vf_shrink(a.target, VF_LIST(0, 5, 0, 5)));
  vf_ref_update(square, vf_permute(vf_ref_get(square), VF_LIST(1, 0)), VF_WRITE_MUL);
  vf_value old = vf_ref_get(b);
  vf_ref_set(vf_ref_view(b, vf_shrink(b.target, VF_LIST(1, 6))), u);
  vf_output(g, "out", vf_sub(old, vf_ref_get(b)));
}

static bool register_scale(vf_context *context, vf_error *error) {
  static const vf_op_attribute factor = {.name = "factor", .dtype = VF_F64};
  static const char source[] = "void scale(const float *in, float *out, long count, double factor) {\n"
                               "  for (long i = 0; i < count; i++) out[i] = (float)(in[i] * factor);\n"
                               "}\n";
  const vf_op_description description = {.size = sizeof description,
                                         .name = "scale",
                                         .operands = 1,
                                         .results = 1,
                                         .attribute_count = 1,
                                         .attributes = &factor,
                                         .source = source,
                                         .signature = "void(in0, out0, i64 in0.count, f64 factor)"};
  return vf_register_op(context, &description, error) == VF_OK;
}

static void custom(vf_graph *g) {
  vf_value x = input(g, "x", VF_LIST(4, 5)), y = vf_apply(g, "scale", &x, 1, "factor=2.5");
  vf_output(g, "out", vf_sum(y, VF_LIST(0), false));
}

const test_workload test_workloads[] = {
    {"elementwise", elementwise, NULL, {0}}, {"softmax", softmax, NULL, {0}},
    {"product", product, NULL, {0}},         {"attention", attention, NULL, {0}},
    {"convolution", convolution, NULL, {0}}, {"scan", scan, NULL, {0}},
    {"symbolic", symbolic, NULL, {12}},      {"custom", custom, register_scale, {0}},
    {"writes", writes, NULL, {0}},
};
const int test_workload_count = sizeof test_workloads / sizeof *test_workloads;

bool test_workload_prepare(const test_workload *w, vf_context *context, vf_error *error) {
  return !w->prepare || w->prepare(context, error);
}

const test_workload *test_workload_find(const char *name) {
  for (int i = 0; i < test_workload_count; i++)
    if (!strcmp(test_workloads[i].name, name)) return &test_workloads[i];
  return NULL;
}

vf_graph *test_workload_record(const test_workload *w, vf_context *context, vf_error *error) {
  vf_graph *g = vf_graph_create(context, w->name, error);
  if (!g) return NULL;
  w->record(g);
  if (vf_graph_status(g) == VF_OK) return g;
  error->status = vf_graph_status(g);
  snprintf(error->message, sizeof error->message, "%s", vf_graph_message(g));
  vf_graph_destroy(g);
  return NULL;
}

/* The addresses of the ports' elements in at[]; returns the bytes of all, -1 if they do not fit or are
 * unknown. */
static int64_t place(const test_workload *w, const vf_program *p, vf_port port, float *elements, void **at,
                     vf_error *error) {
  int64_t used = 0;
  int count = vf_port_count(p, port);
  for (int i = 0; i < count && i < MOST_PORTS; i++) {
    int64_t bytes = vf_port_bytes(p, port, i, w->variables, error);
    if (bytes < 0) return -1;
    at[i] = elements + used / (int64_t)sizeof(float);
    used += bytes;
  }
  return used <= (int64_t)sizeof(((test_result *)0)->elements) ? used : -1;
}

static void fill(test_result *in) {
  for (size_t i = 0; i < sizeof in->elements / sizeof *in->elements; i++)
    in->elements[i] = (float)((int)(i * 7 % 31) - 15) / 16;
}

typedef struct buffers {
  void *inputs[MOST_PORTS], *outputs[MOST_PORTS];
  int64_t input_size, output_size;
} buffers;

static bool place_all(const test_workload *w, const vf_program *p, test_result *in, test_result *out,
                      buffers *b, vf_error *error) {
  fill(in);
  memset(out, 0, sizeof *out);
  b->input_size = place(w, p, VF_INPUT, in->elements, b->inputs, error);
  if (b->input_size < 0) return false; /* the next call clears the error */
  b->output_size = place(w, p, VF_OUTPUT, out->elements, b->outputs, error);
  return b->output_size >= 0 && b->input_size + b->output_size <= (int64_t)sizeof out->elements;
}

/* Behind the outputs, what the inputs hold after the run. */
static void add_inputs(const buffers *b, const test_result *in, test_result *out) {
  memcpy((char *)out->elements + b->output_size, in->elements, (size_t)b->input_size);
  out->size = (size_t)(b->output_size + b->input_size);
}

vf_status test_workload_run(const test_workload *w, const vf_program *p, test_result *out, vf_error *error) {
  static _Thread_local test_result in, unchanged;
  buffers b;
  if (!place_all(w, p, &in, out, &b, error)) return error->status ? error->status : VF_ERR_INVALID;
  vf_status status = vf_program_run(p, (const void *const *)b.inputs, b.outputs, w->variables, error);
  fill(&unchanged);
  if (status == VF_ERR_MEMORY && memcmp(in.elements, unchanged.elements, (size_t)b.input_size)) {
    snprintf(error->message, sizeof error->message, "a run that failed for want of memory changed an input");
    return error->status = VF_ERR_INTERNAL;
  }
  add_inputs(&b, &in, out);
  return status;
}

bool test_workload_agrees(const test_workload *w, vf_graph *g, const vf_program *p,
                          const test_result *result) {
  static _Thread_local test_result in, wanted;
  buffers b;
  vf_error error;
  if (!place_all(w, p, &in, &wanted, &b, &error) ||
      vf_evaluate(g, (const void *const *)b.inputs, b.outputs, w->variables, &error))
    return false;
  add_inputs(&b, &in, &wanted);
  for (size_t i = 0; i < result->size / sizeof(float); i++)
    if (!(fabsf(result->elements[i] - wanted.elements[i]) <= 1e-4f * (1 + fabsf(wanted.elements[i]))))
      return false;
  return result->size > 0 && result->size == wanted.size;
}
