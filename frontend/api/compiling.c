#include "frontend/api/compiling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Read a variable of the environment as a decimal number from least to most. False where it is unset or
 * empty, or after failing. */
static bool read_number(const char *name, int64_t least, int64_t most, int64_t *out, ir_error *error) {
  const char *text = getenv(name);
  char *end;
  if (!text || !*text) return false;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || number < least || number > most)
    return ir_fail(error, IR_ERR_INVALID, "%s is '%.40s'; it must be a number from %lld to %lld", name, text,
                   (long long)least, (long long)most),
           false;
  *out = number;
  return true;
}

ir_status fe_compiling_read(fe_compile_settings *out, ir_error *error) {
  const char *word = getenv("VIEWFOLD_COMPILE");
  int64_t number;
  *out = (fe_compile_settings){0};
  if (word && *word) {
    out->forbidden = strcmp(word, "0") == 0;
    out->how.process = strcmp(word, "process") == 0;
    out->given = out->how.process || strcmp(word, "inprocess") == 0;
    if (!out->given && !out->forbidden)
      return ir_fail(
          error, IR_ERR_INVALID,
          "VIEWFOLD_COMPILE is '%.40s'; it must be process, inprocess or 0, which forbids to compile", word);
  }
  if (read_number("VIEWFOLD_COMPILE_SECONDS", 1, INT32_MAX, &number, error)) out->how.seconds = (int)number;
  if (read_number("VIEWFOLD_COMPILE_BYTES", RT_COMPILER_LEAST, INT64_MAX, &number, error))
    out->how.bytes = number;
  return error->status;
}

ir_status fe_precision_read(bool *relaxed, ir_error *error) {
  const char *word = getenv("VIEWFOLD_PRECISION");
  *relaxed = word && strcmp(word, "relaxed") == 0;
  if (!word || !*word || *relaxed || strcmp(word, "exact") == 0) return IR_OK;
  return ir_fail(error, IR_ERR_INVALID, "VIEWFOLD_PRECISION is '%.40s'; it must be exact or relaxed", word);
}
