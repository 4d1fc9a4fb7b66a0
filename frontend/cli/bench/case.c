/* A compiled graph with its inputs and outputs, ready to run. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/cli/bench/bench.h"

static int64_t now_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
int64_t bench_now(void) { return now_of(CLOCK_MONOTONIC); }
int64_t bench_thread_now(void) { return now_of(CLOCK_THREAD_CPUTIME_ID); }

ir_status bench_fail(ir_error *error, const vf_error *failure) {
  return ir_fail(error, (ir_status)failure->status, "%s", failure->message);
}

/* arrays */

static void put_type(const fe_array *a, char *out, size_t size) {
  int used = snprintf(out, size, "%s[", ir_dtypes[a->dtype].name);
  for (int i = 0; i < a->rank && used < (int)size; i++)
    used += snprintf(out + used, size - (size_t)used, i ? ",%lld" : "%lld", (long long)a->shape[i]);
  if (used < (int)size) snprintf(out + used, size - (size_t)used, "]");
}

bool bench_port_type(const vf_program *p, vf_port which, int number, fe_array *out, ir_error *error) {
  vf_error failure = {0};
  out->dtype = (ir_dtype)vf_port_dtype(p, which, number);
  out->rank = vf_port_rank(p, which, number);
  int64_t bytes = vf_port_shape(p, which, number, NULL, out->shape, &failure) == VF_OK
                      ? vf_port_bytes(p, which, number, NULL, &failure)
                      : -1;
  if (bytes < 0) bench_fail(error, &failure);
  else out->bytes = (size_t)bytes;
  return bytes >= 0;
}

static bool check_input(const bench_case *c, int number, ir_error *error) {
  const fe_array *given = &c->in.list[number].a;
  fe_array wanted = {0};
  char wanted_text[320], given_text[320];
  if (!bench_port_type(c->program, VF_INPUT, number, &wanted, error)) return false;
  bool known = given->dtype != IR_NONE;
  if (known ? given->dtype == wanted.dtype && given->rank == wanted.rank &&
                  memcmp(given->shape, wanted.shape, (size_t)wanted.rank * sizeof *wanted.shape) == 0
            : given->bytes == wanted.bytes)
    if (given->bytes == wanted.bytes) return true;
  put_type(&wanted, wanted_text, sizeof wanted_text);
  if (known) put_type(given, given_text, sizeof given_text);
  ir_fail(error, IR_ERR_INVALID, "input %d, %%%.60s, is %s of %zu bytes; found %s%s%zu bytes", number,
          vf_port_name(c->program, VF_INPUT, number), wanted_text, wanted.bytes, known ? given_text : "",
          known ? " of " : "", given->bytes);
  return false;
}

static bool check_inputs(const bench_case *c, ir_error *error) {
  int wanted = vf_port_count(c->program, VF_INPUT);
  if (vf_variable_count(c->program))
    ir_fail(error, IR_ERR_UNSUPPORTED, "sizes of the graph are variables, such as %.60s; fixed ones expected",
            vf_variable_name(c->program, 0));
  else if (c->in.count != (size_t)wanted)
    ir_fail(error, IR_ERR_INVALID, "the graph has %d inputs; found %zu", wanted, c->in.count);
  for (int i = 0; i < wanted && !error->status; i++) check_input(c, i, error);
  return error->status == IR_OK;
}

static bool make_outputs(bench_case *c, bool touch, ir_error *error) {
  int count = vf_port_count(c->program, VF_OUTPUT);
  c->out.list = calloc((size_t)count + 1, sizeof *c->out.list);
  c->out_data = calloc((size_t)count + 1, sizeof *c->out_data);
  c->in_data = calloc(c->in.count + 1, sizeof *c->in_data);
  bool good = c->out.list && c->out_data && c->in_data;
  for (int i = 0; i < count && good; i++) {
    bench_array *out = &c->out.list[i];
    fe_array type = {0};
    if (!bench_port_type(c->program, VF_OUTPUT, i, &type, error)) return false;
    good = bench_array_make(out, type.bytes);
    type.data = out->a.data;
    out->a = type;
    c->out.count++;
    c->out_data[i] = type.data;
    if (good && touch) memset(type.data, 0, type.bytes);
  }
  for (size_t i = 0; i < c->in.count && good; i++) c->in_data[i] = c->in.list[i].a.data;
  if (!good) ir_fail(error, IR_ERR_MEMORY, "out of memory for %d results", count);
  return good;
}

/* the case */

ir_status bench_case_compile(bench_case *c, vf_context *context, const char *file, const char *text,
                             size_t length, ir_error *error) {
  vf_error failure = {0};
  int64_t started = bench_now();
  *c = (bench_case){.graph = vf_graph_parse(context, text, length, file, NULL, &failure)};
  c->program = c->graph ? vf_compile(c->graph, &failure) : NULL;
  c->first_ns = bench_now() - started;
  return c->program ? IR_OK : bench_fail(error, &failure);
}

ir_status bench_case_bind(bench_case *c, bench_inputs *inputs, bool touch, ir_error *error) {
  c->in = *inputs;
  *inputs = (bench_inputs){0};
  if (!check_inputs(c, error) || !make_outputs(c, touch, error)) return error->status;
  int64_t started = bench_now();
  bench_case_run(c, error);
  c->run_ns = bench_now() - started;
  c->first_ns += c->run_ns;
  return error->status;
}

ir_status bench_case_open_folder(bench_case *c, vf_context *context, const char *id, const char *folder,
                                 bool once, ir_error *error) {
  char file[PATH_MAX];
  bench_inputs inputs;
  char *own = NULL;
  size_t length = 0;
  *c = (bench_case){0};
  if (bench_folder_inputs(folder, once, &inputs, error) != IR_OK) return error->status;
  snprintf(file, sizeof file, "%s/graph.vf", folder);
  bench_folder_graph(folder, &own, &length, error);
  const bench_workload *built_in = own ? NULL : bench_workload_find(id);
  if (!error->status && !own && !built_in) bench_workload_unknown(id, error);
  if (!error->status)
    bench_case_compile(c, context, own ? file : id, own ? own : built_in->text,
                       own ? length : strlen(built_in->text), error);
  if (!error->status) bench_case_bind(c, &inputs, !once, error);
  if (error->status) bench_case_close(c);
  free(own);
  bench_inputs_free(&inputs);
  return error->status;
}

ir_status bench_case_run(const bench_case *c, ir_error *error) {
  vf_error failure;
  if (vf_program_run(c->program, c->in_data, c->out_data, NULL, &failure) == VF_OK) return IR_OK;
  return bench_fail(error, &failure);
}

void bench_case_close(bench_case *c) {
  vf_program_destroy(c->program);
  vf_graph_destroy(c->graph);
  bench_inputs_free(&c->in);
  bench_inputs_free(&c->out);
  free(c->in_data);
  free(c->out_data);
  *c = (bench_case){0};
}

/* results */

static bool put_floats(const fe_array *a, FILE *to) {
  enum { CHUNK = 4096 };
  float chunk[CHUNK];
  size_t element = ir_dtypes[a->dtype].bytes, count = a->bytes / element;
  if (a->dtype == IR_F32) return fwrite(a->data, 1, a->bytes, to) == a->bytes;
  for (size_t i = 0; i < count;) {
    size_t n = 0;
    for (; n < CHUNK && i < count; n++, i++) {
      ir_value v = ir_value_load((const char *)a->data + i * element, a->dtype);
      chunk[n] = ir_is_float(a->dtype) ? (float)v.f : a->dtype == IR_U64 ? (float)(uint64_t)v.i : (float)v.i;
    }
    if (fwrite(chunk, sizeof *chunk, n, to) != n) return false;
  }
  return true;
}

ir_status bench_case_dump(const bench_case *c, const char *path, ir_error *error) {
  FILE *to = fopen(path, "wb");
  bool good = to != NULL;
  for (size_t i = 0; i < c->out.count && good; i++) good = put_floats(&c->out.list[i].a, to);
  int reason = errno;
  if (to && fclose(to) != 0 && good) good = false, reason = errno;
  return good ? IR_OK : ir_fail(error, IR_ERR_IO, "%.800s: %s", path, strerror(reason));
}
