/* libFuzzer entry: no bytes harm the .npy reader, and an array that was read is the same after writing and
 * reading it. */
#include "frontend/files/npy.h"

#include "frontend/files/npy_header.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool holds) {
  if (!holds) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ir_error error = {0};
  fe_array first, second;
  ir_status status = fe_npy_parse(bytes, size, "fuzz.npy", &ir_mem_libc, &first, &error);
  check(status == error.status && (status == IR_OK) == (first.data != NULL));
  if (status != IR_OK) {
    check(strncmp(error.text, "fuzz.npy: error: ", 17) == 0);
    return 0;
  }
  size_t expected = 0;
  check(fe_shape_bytes(first.dtype, first.rank, first.shape, &expected) && expected == first.bytes);
  check(first.bytes < size);
  char *file = malloc(FE_NPY_HEADER_ROOM + first.bytes);
  if (file) {
    size_t start = fe_npy_header_format(file, first.dtype, first.rank, first.shape);
    check(start % 64 == 0 && start <= FE_NPY_HEADER_ROOM);
    memcpy(file + start, first.data, first.bytes);
    check(fe_npy_parse(file, start + first.bytes, "again.npy", &ir_mem_libc, &second, &error) == IR_OK);
    check(second.dtype == first.dtype && second.rank == first.rank && second.bytes == first.bytes);
    check(memcmp(second.shape, first.shape, sizeof first.shape) == 0);
    check(memcmp(second.data, first.data, first.bytes) == 0);
    fe_array_free(&ir_mem_libc, &second);
    free(file);
  }
  fe_array_free(&ir_mem_libc, &first);
  return 0;
}
