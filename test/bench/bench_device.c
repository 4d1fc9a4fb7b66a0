/* The speed of graphs on a device whose memory holds their arrays: between runs nothing is transferred to the
 * host.
 *
 *   bench_device [--device NAME] [--seconds S] [--samples N] [--range LO:HI] FILE.vf SAMPLES ...
 *   bench_device [--device NAME] --copy BYTES
 *
 * Element i of input k is lo + h/2^24 * (hi-lo) in f32, h the upper 24 bits of the 32-bit product (i+1) *
 * (2654435761 + 2k); integers are that h modulo hi-lo, plus lo. After timing, N elements of each output at (s
 * * 2654435761) modulo the number of elements, s from 0, go to the file SAMPLES, as they are stored, all of
 * them where there are fewer. One line of JSON for each graph: the number of kernels of a run, and its
 * milliseconds, best and median. Each sample is as many runs as take a tenth of S.
 *
 * --copy measures copies from one buffer of the device to another, bytes read and written together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/timer.h"
#include "frontend/api/api.h"
#include "test/lib/device_copy.h"
#include "test/lib/median.h"
#include "test/lib/options.h"

enum { ITERATIONS = 10, MOST_PORTS = 16 };

typedef struct settings {
  const char *device;
  double seconds, lo, hi;
  int64_t samples, copy;
} settings;

static double now(void) { return (double)ir_now_ns() * 1e-9; }

typedef struct bench {
  const settings *set;
  rt_context *context;
  rt_program *program, *last; /* last: a small program whose result shows that earlier runs are done */
  rt_memory in[MOST_PORTS], out[MOST_PORTS];
  int64_t in_count[MOST_PORTS], out_count[MOST_PORTS];
  ir_error error;
} bench;

static int64_t count_of(const int64_t *dims, uint32_t rank) {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; i++) count *= dims[i];
  return count;
}

static void fill(const settings *set, unsigned char *to, int64_t count, ir_dtype t, uint32_t k) {
  size_t size = ir_dtypes[t].bytes;
  uint32_t factor = 2654435761u + 2 * k;
  float lo = (float)set->lo, range = (float)(set->hi - set->lo);
  for (int64_t i = 0; i < count; i++) {
    uint32_t h = (uint32_t)(i + 1) * factor >> 8;
    ir_value v = {0};
    if (t == IR_F32) {
      float x = lo + (float)h * 0x1p-24F * range;
      memcpy(to + 4 * i, &x, 4);
      continue;
    }
    if (ir_is_float(t)) v.f = lo + (float)h * 0x1p-24F * range;
    else v.i = (int64_t)set->lo + (int64_t)h % (int64_t)(set->hi - set->lo);
    ir_value_store(to + (size_t)i * size, t, v);
  }
}

static ir_status make_arrays(bench *b) {
  int64_t dims[IR_MAX_RANK];
  size_t inputs = rt_program_input_count(b->program), outputs = rt_program_output_count(b->program);
  if (inputs > MOST_PORTS || outputs > MOST_PORTS)
    return ir_fail(&b->error, IR_ERR_UNSUPPORTED, "more than %d arrays", MOST_PORTS);
  for (size_t k = 0; k < inputs; k++) {
    rt_port port = rt_program_input(b->program, k);
    ir_status status = rt_program_input_shape(b->program, k, NULL, dims, &b->error);
    if (status != IR_OK) return status;
    b->in_count[k] = count_of(dims, port.rank);
    size_t bytes = (size_t)b->in_count[k] * ir_dtypes[port.dtype].bytes;
    status = rt_memory_make(b->context, bytes, &b->in[k], &b->error);
    void *to = status == IR_OK ? rt_memory_write(b->context, &b->in[k], &b->error) : NULL;
    if (!to) return b->error.status;
    fill(b->set, to, b->in_count[k], port.dtype, (uint32_t)k);
    status = rt_memory_place(b->context, &b->in[k], true, &b->error);
    if (status != IR_OK) return status;
  }
  for (size_t k = 0; k < outputs; k++) {
    rt_port port = rt_program_output(b->program, k);
    ir_status status = rt_program_output_shape(b->program, k, NULL, dims, &b->error);
    if (status != IR_OK) return status;
    b->out_count[k] = count_of(dims, port.rank);
    size_t bytes = (size_t)b->out_count[k] * ir_dtypes[port.dtype].bytes;
    status = rt_memory_make(b->context, bytes, &b->out[k], &b->error);
    if (status == IR_OK) status = rt_memory_place(b->context, &b->out[k], false, &b->error);
    if (status != IR_OK) return status;
  }
  return IR_OK;
}

/* Runs continue after the call that started them, in order: when the result of one more is there, all are
 * done. */
static bool all_done(bench *b) {
  rt_memory out = {0};
  bool done = rt_memory_make(b->context, sizeof(float), &out, &b->error) == IR_OK &&
              rt_memory_place(b->context, &out, false, &b->error) == IR_OK &&
              rt_program_run_placed(b->last, NULL, &out.address, NULL, &b->error) == IR_OK &&
              rt_memory_read(b->context, &out, &b->error);
  rt_memory_free(b->context, &out);
  return done;
}

/* Seconds that `count` runs take, one after the other, until all are done; negative after a failure. */
static double runs(bench *b, long count) {
  void *in[MOST_PORTS], *out[MOST_PORTS];
  for (int k = 0; k < MOST_PORTS; k++) in[k] = b->in[k].address, out[k] = b->out[k].address;
  double begin = now();
  for (long i = 0; i < count; i++)
    if (rt_program_run_placed(b->program, in, out, NULL, &b->error) != IR_OK) return -1;
  return all_done(b) ? now() - begin : -1;
}

static ir_status measure(bench *b, double ms[2]) {
  double iteration[ITERATIONS], once = runs(b, 1);
  if (once >= 0) once = runs(b, 1);
  if (once < 0) return b->error.status;
  long count = (long)(b->set->seconds / ITERATIONS / (once > 1e-6 ? once : 1e-6)) + 1;
  for (int r = 0; r < ITERATIONS; r++) {
    double seconds = runs(b, count);
    if (seconds < 0) return b->error.status;
    iteration[r] = 1e3 * seconds / (double)count;
  }
  median(iteration, ITERATIONS);
  ms[0] = iteration[0], ms[1] = iteration[ITERATIONS / 2];
  return IR_OK;
}

static ir_status write_samples(bench *b, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return ir_fail(&b->error, IR_ERR_INVALID, "%s cannot be written", path);
  for (size_t k = 0; k < rt_program_output_count(b->program); k++) {
    size_t size = ir_dtypes[rt_program_output(b->program, k).dtype].bytes;
    int64_t count = b->out_count[k];
    const unsigned char *from = rt_memory_read(b->context, &b->out[k], &b->error);
    if (!from) {
      fclose(file);
      return b->error.status;
    }
    if (count <= b->set->samples) fwrite(from, size, (size_t)count, file);
    else
      for (int64_t s = 0; s < b->set->samples; s++)
        fwrite(from + (uint64_t)s * 2654435761u % (uint64_t)count * size, size, 1, file);
  }
  fclose(file);
  return IR_OK;
}

static char *file_text(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  FILE *copy = file ? open_memstream(&text, size) : NULL;
  for (int c; copy && (c = fgetc(file)) != EOF;) fputc(c, copy);
  if (copy) fclose(copy);
  if (file) fclose(file);
  return text;
}

static ir_status compile(vf_context *context, const char *text, size_t size, rt_program **out,
                         ir_error *error) {
  vf_error refused = {0};
  vf_graph *graph = vf_graph_parse(context, text, size, NULL, NULL, &refused);
  if (!graph) return ir_fail(error, IR_ERR_INVALID, "%s", refused.message);
  fe_request request;
  ir_status status = IR_ERR_INVALID;
  if (fe_graph_request(graph, &request, error)) {
    status = fe_compile(context->runtime, &request, out, error);
    fe_graph_request_free(graph, &request);
  }
  vf_graph_destroy(graph);
  return status;
}

static ir_status compile_file(bench *b, vf_context *context, const char *path) {
  static const char last[] = "graph @last() {\n  %y = iota shape=[1] dtype=f32\n  return %y\n}\n";
  size_t size;
  char *text = file_text(path, &size);
  if (!text) return ir_fail(&b->error, IR_ERR_INVALID, "%s cannot be read", path);
  ir_status status = compile(context, text, size, &b->program, &b->error);
  free(text);
  return status != IR_OK ? status : compile(context, last, sizeof last - 1, &b->last, &b->error);
}

static bool one(const settings *set, vf_context *context, const char *path, const char *samples) {
  bench b = {.set = set, .context = context->runtime};
  double ms[2] = {0};
  ir_status status = compile_file(&b, context, path);
  if (status == IR_OK) status = make_arrays(&b);
  if (status == IR_OK) status = measure(&b, ms);
  if (status == IR_OK) status = write_samples(&b, samples);
  if (status == IR_OK)
    printf("{\"graph\": \"%s\", \"kernels\": %" PRIu32 ", \"ms\": %.6f, \"median_ms\": %.6f}\n", path,
           rt_program_stats(b.program).launches, ms[0], ms[1]);
  else printf("{\"graph\": \"%s\", \"status\": %d, \"error\": \"%s\"}\n", path, (int)status, b.error.text);
  fflush(stdout);
  for (int k = 0; k < MOST_PORTS; k++) {
    rt_memory_free(b.context, &b.in[k]);
    rt_memory_free(b.context, &b.out[k]);
  }
  rt_program_release(b.program);
  rt_program_release(b.last);
  return status == IR_OK;
}

int main(int argc, char **argv) {
  settings set = {.seconds = 1, .lo = -1, .hi = 1, .samples = 4096};
  const char *range = "";
  int i =
      OPTIONS_READ(argc, argv, OPTION("--device", &set.device), OPTION("--seconds", &set.seconds),
                   OPTION("--samples", &set.samples), OPTION("--copy", &set.copy), OPTION("--range", &range));
  sscanf(range, "%lf:%lf", &set.lo, &set.hi);
  if (set.copy) return device_copy(set.device, (size_t)set.copy, set.seconds) ? 0 : 1;
  vf_options options = {.size = sizeof options, .device = set.device};
  vf_error error = {0};
  vf_context *context = vf_context_create(&options, &error);
  if (!context) return fprintf(stderr, "%s\n", error.message), 1;
  bool good = true;
  for (; i + 1 < argc; i += 2) good = one(&set, context, argv[i], argv[i + 1]) && good;
  vf_context_destroy(context);
  return !good;
}
