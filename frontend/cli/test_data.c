#include "frontend/cli/test_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/onnx/onnx.h"

typedef struct cli_test_tensor {
  char name[256], path[4096];
} cli_test_tensor;

ir_status cli_test_data_open(cli_test_data *d, const char *folder, const char *kind, ir_error *error) {
  *d = (cli_test_data){0};
  for (;;) {
    if (!IR_RESERVE(&ir_mem_libc, d->items, d->cap, d->count + 1))
      return ir_fail(error, IR_ERR_MEMORY, "out of memory listing %.200s", folder);
    cli_test_tensor *t = &d->items[d->count];
    int length = snprintf(t->path, sizeof t->path, "%s/%s_%zu.pb", folder, kind, d->count);
    if (length < 0 || (size_t)length >= sizeof t->path || access(t->path, R_OK)) return IR_OK;
    fe_array array;
    if (onnx_read_tensor(t->path, &ir_mem_libc, t->name, &array, error) != IR_OK) return error->status;
    fe_array_free(&ir_mem_libc, &array);
    d->count++;
  }
}

void cli_test_data_close(cli_test_data *d) {
  ir_free(&ir_mem_libc, d->items, d->cap * sizeof *d->items);
  *d = (cli_test_data){0};
}

ir_status cli_test_data_inputs(const cli_test_data *d, cli_pairs *inputs, ir_error *error) {
  for (size_t i = 0; i < d->count; i++) {
    const cli_test_tensor *t = &d->items[i];
    if (!*t->name)
      return ir_fail(error, IR_ERR_INVALID, "%s: error: the tensor has no name of an input", t->path);
    if (cli_pairs_find(inputs, t->name)) continue;
    if (!IR_RESERVE(&ir_mem_libc, inputs->items, inputs->cap, inputs->count + 1))
      return ir_fail(error, IR_ERR_MEMORY, "out of memory listing inputs");
    inputs->items[inputs->count++] = (cli_pair){t->name, t->path, strlen(t->name)};
  }
  return IR_OK;
}

/* comparing */

static double real_of(const fe_array *a, size_t i) {
  return ir_value_load((const char *)a->data + i * ir_dtypes[a->dtype].bytes, a->dtype).f;
}

static bool is_close(const fe_array *got, const fe_array *want, size_t i) {
  size_t size = ir_dtypes[want->dtype].bytes;
  if (!ir_is_float(want->dtype))
    return memcmp((const char *)got->data + i * size, (const char *)want->data + i * size, size) == 0;
  double a = real_of(got, i), b = real_of(want, i);
  if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) return (isnan(a) && isnan(b)) || a == b;
  return fabs(a - b) <= 1e-7 + 1e-3 * fabs(b);
}

static bool compare(const char *name, const fe_array *got, const fe_array *want, ir_text *out) {
  bool same = got->dtype == want->dtype && got->rank == want->rank;
  for (int i = 0; same && i < want->rank; i++) same = got->shape[i] == want->shape[i];
  ir_textf(out, "check %s: ", name);
  if (!same) {
    ir_text_str(out, "FAILED: dtype or shape differs from the expected one\n");
    return false;
  }
  size_t count = want->bytes / ir_dtypes[want->dtype].bytes, wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += !is_close(got, want, i);
  if (wrong) ir_textf(out, "FAILED: %zu of %zu elements differ from the expected ones\n", wrong, count);
  else ir_textf(out, "%zu elements, as expected\n", count);
  return wrong == 0;
}

bool cli_test_data_compare(const cli_test_data *d, const ir_parsed_graph *block, const fe_array *outputs,
                           ir_text *out, ir_error *error) {
  bool good = true;
  for (size_t i = 0; i < d->count; i++) {
    char name[256];
    fe_array want;
    size_t k = 0;
    if (onnx_read_tensor(d->items[i].path, &ir_mem_libc, name, &want, error) != IR_OK) return false;
    while (k < block->result_count && strcmp(block->results[k].name, name)) k++;
    if (!*name) k = i;
    if (k < block->result_count) good &= compare(block->results[k].name, &outputs[k], &want, out);
    else {
      ir_textf(out, "check %s: FAILED: the model has no such output\n", name);
      good = false;
    }
    fe_array_free(&ir_mem_libc, &want);
  }
  return good;
}
