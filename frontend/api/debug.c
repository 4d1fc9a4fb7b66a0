#include "frontend/api/debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char between[] = ", \t";

static bool is_word(const char *at, size_t length, const char *word) {
  return length == strlen(word) && memcmp(at, word, length) == 0;
}

/* bisect=N */
static bool read_limit(const char *at, size_t length, fe_debug *out) {
  static const char name[] = "bisect=";
  size_t begin = sizeof name - 1;
  if (length <= begin || memcmp(at, name, begin) != 0 || at[begin] < '0' || at[begin] > '9') return false;
  char *end;
  errno = 0;
  out->limit = strtoull(at + begin, &end, 10);
  out->bisects = true;
  return end == at + length && errno == 0;
}

ir_status fe_debug_read(const char *words, fe_debug *out, ir_error *error) {
  *out = (fe_debug){.limit = UINT64_MAX};
  size_t length;
  for (const char *at = words ? words : ""; at += strspn(at, between), *at; at += length) {
    length = strcspn(at, between);
    if (is_word(at, length, "perf")) out->perf = true;
    else if (is_word(at, length, "time")) out->time = true;
    else if (is_word(at, length, "cache")) out->cache = true;
    else if (is_word(at, length, "log")) out->log = true;
    else if (is_word(at, length, "nan")) out->nan = true;
    else if (is_word(at, length, "inf")) out->inf = true;
    else if (!read_limit(at, length, out))
      return ir_fail(error, IR_ERR_INVALID,
                     "VIEWFOLD_DEBUG takes perf, time, cache, log, nan, inf and a number of rewrites, as in "
                     "bisect=17, found '%.*s'",
                     length < 40 ? (int)length : 40, at);
  }
  return IR_OK;
}

/* One write, so that lines of several threads and processes stay whole. */
static void print(const char *text) {
  char line[4096];
  int length = snprintf(line, sizeof line, "viewfold: %.4000s\n", text);
  for (ssize_t done = -1; done < 0;) {
    done = write(STDERR_FILENO, line, (size_t)length);
    if (done < 0 && errno != EINTR) return;
  }
}

static void print_all(void *user, int level, const char *text) {
  (void)user, (void)level;
  print(text);
}

/* user: not NULL where other parts are heard as well when they warn. */
static void print_cache(void *user, int level, const char *text) {
  static const char part[] = "cache: ";
  if (strncmp(text, part, sizeof part - 1) == 0 || (user && level <= IR_LOG_WARNING)) print(text);
}

ir_log fe_debug_log(const fe_debug *debug, bool is_command) {
  static const char command[] = "command";
  if (debug->log) return (ir_log){print_all, NULL, IR_LOG_INFO};
  if (debug->cache) return (ir_log){print_cache, is_command ? (void *)(uintptr_t)command : NULL, IR_LOG_INFO};
  return is_command ? (ir_log){print_all, NULL, IR_LOG_WARNING} : (ir_log){0};
}
