#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE = 4096 }; /* bytes of a text, which may hold a path */

void ir_say(const ir_log *log, ir_log_level level, const char *format, ...) {
  char text[LINE];
  va_list arguments;
  int before = errno;
  if (!ir_log_wants(log, level)) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log->receive(log->user, (int)level, text);
  errno = before;
}
