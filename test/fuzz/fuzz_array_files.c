/* libFuzzer entry: no bytes harm the readers of files of arrays. */
#include "test/lib/array_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  file_check(bytes, size);
  return 0;
}
