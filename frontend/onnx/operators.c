/* Which operators there are. */
#include "frontend/onnx/import.h"

static const onnx_operator *const families[] = {
    onnx_elementwise, onnx_shaping,   onnx_slicing,    onnx_indexing,  onnx_reducing, onnx_normalizing,
    onnx_windows,     onnx_resizing,  onnx_quantizing, onnx_recurrent, onnx_control,  onnx_signals,
    onnx_losses,      onnx_attending, onnx_training,   onnx_sampling,  onnx_regions,  onnx_sequences,
    onnx_random,      onnx_states,    onnx_dependent};

const onnx_operator *onnx_operator_find(wire_bytes name) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    for (const onnx_operator *row = families[i]; row->name; row++)
      if (wire_is(name, row->name)) return row;
  return NULL;
}

const onnx_operator *onnx_microsoft_find(wire_bytes name) {
  static const onnx_operator *const own[] = {onnx_microsoft, onnx_transformers};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    for (const onnx_operator *row = own[i]; row->name; row++)
      if (wire_is(name, row->name)) return row;
  return NULL;
}

/* What the operators that viewfold lacks would need. */
static const struct {
  const char *name, *why;
} missing[] = {
    {"StringNormalizer", "strings"}, {"StringConcat", "strings"},
    {"StringSplit", "strings"},      {"RegexFullMatch", "strings"},
    {"TfIdfVectorizer", "strings"},  {"ImageDecoder", "a decoder of picture files"},
};

const char *onnx_operator_missing(wire_bytes name) {
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    if (wire_is(name, missing[i].name)) return missing[i].why;
  return NULL;
}
