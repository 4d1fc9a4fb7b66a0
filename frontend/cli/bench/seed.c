/* Pseudorandom inputs of a workload: the same ones whenever it is measured. */
#include <stdlib.h>

#include "frontend/cli/bench/bench.h"
#include "frontend/cli/bind.h"

static uint64_t seed_of(const char *id, size_t number) {
  uint64_t seed = number;
  for (; *id; id++) seed = (seed ^ (unsigned char)*id) * 0x100000001b3;
  return seed;
}

/* Read one range of a list, LO:HI for floats or a bound alone for integers, and advance to the next. The last
 * range of the list holds for all that follow. */
static bool read_range(const char **at, double *low, double *high) {
  char *end;
  *low = strtod(*at, &end);
  bool floats = *end == ':';
  *high = floats ? strtod(end + 1, &end) : *low;
  if (*end) *at = end + 1;
  return floats;
}

static bool fill_array(fe_array *a, uint64_t seed, const char **ranges) {
  double low, high;
  size_t count = a->bytes / ir_dtypes[a->dtype].bytes;
  bool floats = read_range(ranges, &low, &high);
  if (a->dtype != (floats ? IR_F32 : IR_I32)) return false;
  for (size_t i = 0; i < count; i++) {
    double unit =
        (double)(cli_random(&seed) >> 40) * 0x1p-24; /* multiples of 2^-24, so that no value is subnormal */
    if (floats) ((float *)a->data)[i] = (float)(low + (high - low) * unit);
    else ((int32_t *)a->data)[i] = (int32_t)(high * unit);
  }
  return true;
}

ir_status bench_seed_inputs(const bench_workload *w, const vf_program *program, bench_inputs *out,
                            ir_error *error) {
  size_t count = (size_t)vf_port_count(program, VF_INPUT);
  const char *ranges = w->ranges;
  *out = (bench_inputs){.list = calloc(count + 1, sizeof *out->list)};
  for (; out->list && out->count < count; out->count++) {
    bench_array *input = &out->list[out->count];
    fe_array type = {0};
    if (!bench_port_type(program, VF_INPUT, (int)out->count, &type, error)) break;
    if (!bench_array_make(input, type.bytes)) break;
    type.data = input->a.data;
    input->a = type;
    if (!fill_array(&input->a, seed_of(w->id, out->count), &ranges)) {
      ir_fail(error, IR_ERR_INTERNAL, "%s: no range of input %zu fits its dtype, %s", w->id, out->count,
              ir_dtypes[type.dtype].name);
      out->count++;
      break;
    }
  }
  if (out->list && out->count == count && !error->status) return IR_OK;
  bench_inputs_free(out);
  return error->status ? error->status
                       : ir_fail(error, IR_ERR_MEMORY, "out of memory for inputs of %s", w->id);
}
