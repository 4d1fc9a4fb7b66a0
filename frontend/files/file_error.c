#include "frontend/files/file_error.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 240 };

ir_status fe_file_fail(ir_error *error, ir_status status, const char *name, const char *format, ...) {
  char message[sizeof error->text - NAME_MOST];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  size_t length = strlen(name);
  bool cut = length > NAME_MOST;
  return ir_fail(error, status, "%s%s: error: %s", cut ? "..." : "", cut ? name + length - NAME_MOST : name,
                 message);
}
