#include "frontend/cli/test_data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/onnx/onnx.h"

typedef struct cli_test_tensor {
  char name[256], path[4096];
} cli_test_tensor;

ir_status cli_test_data_open(cli_test_data *d, const char *folder, const char *kind, ir_error *error) {
  struct stat info;
  *d = (cli_test_data){0};
  if (stat(folder, &info))
    return ir_fail(
        error, IR_ERR_IO,
        "%.200s: error: cannot open the folder: %s; --check alone compares with the reference evaluator",
        folder, strerror(errno));
  if (!S_ISDIR(info.st_mode)) return ir_fail(error, IR_ERR_INVALID, "%.200s: error: not a folder", folder);
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

/* The place of an element, as `[1,2]`. */
static void put_place(const fe_array *a, size_t at, ir_text *out) {
  size_t index[IR_MAX_RANK];
  for (int k = a->rank; k-- > 0; at /= (size_t)a->shape[k]) index[k] = at % (size_t)a->shape[k];
  for (int k = 0; k < a->rank; k++) ir_textf(out, k ? ",%zu" : "[%zu", index[k]);
  if (a->rank) ir_text_str(out, "]");
}

static void put_element(const fe_array *a, size_t at, ir_text *out) {
  ir_print_value(out, ir_value_load((const char *)a->data + at * ir_dtypes[a->dtype].bytes, a->dtype),
                 a->dtype);
}

static void put_type(const fe_array *a, ir_text *out) {
  ir_textf(out, "%s[", ir_dtypes[a->dtype].name);
  for (int k = 0; k < a->rank; k++) ir_textf(out, k ? ",%lld" : "%lld", (long long)a->shape[k]);
  ir_text_str(out, "]");
}

static bool compare(const char *name, const fe_array *got, const fe_array *want, ir_text *out) {
  bool same = got->dtype == want->dtype && got->rank == want->rank;
  for (int i = 0; same && i < want->rank; i++) same = got->shape[i] == want->shape[i];
  ir_textf(out, "check %s: ", name);
  if (!same) {
    ir_text_str(out, "FAILED: it is ");
    put_type(got, out);
    ir_text_str(out, ", expected is ");
    put_type(want, out);
    ir_text_str(out, "\n");
    return false;
  }
  size_t count = want->bytes / ir_dtypes[want->dtype].bytes, wrong = 0, first = 0;
  for (size_t i = count; i-- > 0;)
    if (!is_close(got, want, i)) first = i, wrong++;
  if (!wrong) ir_textf(out, "%zu elements, as expected\n", count);
  else {
    ir_textf(out, "FAILED: %zu of %zu elements differ from the expected ones; the first: %s", wrong, count,
             name);
    put_place(want, first, out);
    ir_text_str(out, " is ");
    put_element(got, first, out);
    ir_text_str(out, ", expected is ");
    put_element(want, first, out);
    ir_text_str(out, "\n");
  }
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
      ir_textf(out, "check %s: FAILED: the model has no such output; its outputs are", name);
      for (k = 0; k < block->result_count; k++) ir_textf(out, k ? ", %s" : " %s", block->results[k].name);
      ir_text_str(out, "\n");
      good = false;
    }
    fe_array_free(&ir_mem_libc, &want);
  }
  return good;
}
