#include "frontend/cli/progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ir/timer.h"

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

/* work */

static ir_progress work = {.lasting = true, .telling = ATOMIC_FLAG_INIT};
static ir_task task;
static cli_progress line;
static int shown; /* calls of show without their hide */

static void on_interrupt(int number) {
  (void)number;
  ir_cancel(&work);
}

ir_progress *cli_work(void) {
  static bool handled;
  if (handled) return &work;
  handled = true;
  struct sigaction now,
      wanted = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND}; /* once */
  if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL) sigaction(SIGINT, &wanted, NULL);
  return &work;
}

ir_task *cli_task(void) {
  if (!task.progress) ir_task_begin(&task, cli_work());
  return &task;
}

bool cli_interrupted(void) { return ir_task_ends(cli_task()); }

static int draw(void *user, const char *what, int64_t done, int64_t total) {
  (void)user;
  if (total > 0 && done <= total)
    cli_progress_draw(&line, (double)done / (double)total, "%s: %lld of %lld", what, (long long)done,
                      (long long)total);
  else cli_progress_draw(&line, 0, "%s", what);
  return 0;
}

void cli_work_show(void) {
  if (shown++) return;
  cli_progress_open(&line);
  if (line.shown) ir_progress_set(cli_work(), draw, NULL);
}

void cli_work_hide(void) {
  if (--shown) return;
  ir_progress_set(&work, NULL, NULL);
  cli_progress_close(&line);
}

void cli_work_erase(void) {
  cli_progress_close(&line);
  line.drawn_ns = 0;
}
