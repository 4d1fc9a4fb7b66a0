/* libFuzzer entry: no bytes harm the importer of ONNX models. */
#include "test/lib/onnx_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  model_check(bytes, size);
  return 0;
}
