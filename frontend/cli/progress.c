#include "frontend/cli/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 24, BETWEEN_NS = 100000000, AFTER_NS = 1000000000 };

void cli_progress_open(cli_progress *p) {
  *p = (cli_progress){.shown = isatty(STDERR_FILENO), .opened_ns = ir_now_ns()};
}

void cli_progress_draw(cli_progress *p, double share, const char *format, ...) {
  int64_t now = p->shown ? ir_now_ns() : 0;
  if (!p->shown || now - p->drawn_ns < BETWEEN_NS || now - p->opened_ns < AFTER_NS) return;
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

/* The passes end with the loops of a kernel, code generation with the object that is closed. */
static void note(void *user, const char *phase, int step, const char *symbol, int64_t ns) {
  cli_compile_progress *p = user;
  if (p->next) p->next->note(p->next->user, phase, step, symbol, ns);
  pthread_mutex_lock(&p->lock);
  p->kernels += !symbol && step >= 0 && strcmp(phase, "loops") == 0;
  p->compiled += symbol && strcmp(phase, "close") == 0;
  if (p->kernels)
    cli_progress_draw(&p->line, p->compiled / (double)p->kernels, "compiling: %u of %u kernels", p->compiled,
                      p->kernels);
  else cli_progress_draw(&p->line, 0, "compiling");
  pthread_mutex_unlock(&p->lock);
}

const ir_timer *cli_compile_progress_open(cli_compile_progress *p, const ir_timer *next) {
  *p = (cli_compile_progress){.next = next, .timer = {p, note}, .lock = PTHREAD_MUTEX_INITIALIZER};
  cli_progress_open(&p->line);
  return p->line.shown ? &p->timer : next;
}

void cli_compile_progress_close(cli_compile_progress *p) {
  cli_progress_close(&p->line);
  p->line.shown = false;
}
