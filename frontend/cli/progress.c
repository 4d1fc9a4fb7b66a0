#include "frontend/cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "ir/timer.h"

enum { WIDTH = 24, BETWEEN_NS = 100000000 };

void cli_progress_open(cli_progress *p) { *p = (cli_progress){.shown = isatty(STDERR_FILENO)}; }

void cli_progress_draw(cli_progress *p, double share, const char *format, ...) {
  int64_t now = p->shown ? ir_now_ns() : 0;
  if (!p->shown || now - p->drawn_ns < BETWEEN_NS) return;
  p->drawn_ns = now;
  int full = share < 0 ? 0 : share > 1 ? WIDTH : (int)(share * WIDTH);
  fputs("\r\033[K[", stderr);
  for (int i = 0; i < WIDTH; i++) fputc(i < full ? '#' : '.', stderr);
  fputs("] ", stderr);
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  va_end(list);
  fflush(stderr);
}

void cli_progress_close(cli_progress *p) {
  if (p->shown && p->drawn_ns) fputs("\r\033[K", stderr), fflush(stderr);
}
