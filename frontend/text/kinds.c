/* Kinds of files by their first bytes. */
#include "frontend/text/kinds.h"

#include <stdbool.h>
#include <string.h>

#define PICKLE                                                                                               \
  "a pickle of Python, as of torch.save of old; torch.onnx.export writes models, numpy.save arrays"

static const struct {
  const char *begin;
  size_t length;
  const char *name; /* NULL: a text */
  const char *words;
} kinds[] = {
    {"\x93NUMPY", 6, "an array of NumPy",
     "an array of NumPy, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy"},
    {"PK\x03\x04", 4, "an archive, as of .npz and of torch.save; torch.onnx.export writes models",
     "an archive, as of .npz, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy"},
    {"\x89HDF", 4, "an HDF5 file, as of Keras",
     "an HDF5 file, not a text of graphs; graphs are given arrays, as in --in x=FILE.npy"},
    {"GGUF", 4, "a GGUF file, which holds weights without a graph",
     "a GGUF file of weights, not a text of graphs; a text reads it by %w = data file=\"FILE.gguf\" "
     "name=\"w\""},
    {"\xff\xfe", 2, NULL, "text in UTF-16, not UTF-8; save it as UTF-8"},
    {"\xfe\xff", 2, NULL, "text in UTF-16, not UTF-8; save it as UTF-8"},
    {"\xef\xbb\xbf", 3, NULL, "text that begins with a byte order mark; save it as UTF-8 without one"},
    {"\x80\x02", 2, PICKLE, PICKLE},
    {"\x80\x03", 2, PICKLE, PICKLE},
    {"\x80\x04", 2, PICKLE, PICKLE},
    {"\x80\x05", 2, PICKLE, PICKLE},
    {"\x7f"
     "ELF",
     4, "an object file or a program",
     "an object file or a program, not a text of graphs; `viewfold build` makes it of a text"},
};

const char *fe_kind_name(const char *bytes, size_t length) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (length >= kinds[i].length && memcmp(bytes, kinds[i].begin, kinds[i].length) == 0)
      return kinds[i].name;
  return NULL;
}

/* A ModelProto begins with its version, a number below 128, and with the producer, or with the graph. */
static bool is_onnx(const char *b, size_t length) {
  return length > 3 && b[0] == '\x08' && b[1] > 0 && strchr("\x12\x1a\x22\x2a\x32\x3a\x42", b[2]) && b[2];
}

const char *fe_other_kind(const char *bytes, size_t length) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (length >= kinds[i].length && memcmp(bytes, kinds[i].begin, kinds[i].length) == 0)
      return kinds[i].words;
  return is_onnx(bytes, length) ? "an ONNX model, not a text of graphs; give it a name that ends in .onnx"
                                : NULL;
}
