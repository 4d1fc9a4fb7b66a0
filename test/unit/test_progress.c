/* The line that says how far a command has come: where it is drawn, and what a compilation says on it. */
#define _GNU_SOURCE /* posix_openpt */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "frontend/cli/progress.h"
#include "test/lib/unit.h"

static const int64_t hour_ns = INT64_C(3600000000000);
static int terminal, usual;

/* Standard error becomes a new terminal, or a pipe. */
static int begin(bool as_terminal) {
  int ends[2] = {-1, -1};
  if (as_terminal) {
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
    if (ends[0] < 0 || grantpt(ends[0]) || unlockpt(ends[0])) skip();
    ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
  } else assert_int_equal(pipe(ends), 0);
  assert_true(ends[1] >= 0);
  fflush(stderr);
  usual = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  terminal = ends[0];
  return terminal;
}

/* What was drawn until now: all that comes before a mark. */
static const char *drawn(void) {
  static char text[4096];
  enum { MARK = 1 };
  size_t used = 0;
  fputc(MARK, stderr);
  fflush(stderr);
  while (used < sizeof text - 1 && read(terminal, text + used, 1) == 1 && text[used] != MARK) used++;
  text[used] = 0;
  return text;
}

static void end(void) {
  fflush(stderr);
  dup2(usual, STDERR_FILENO);
  close(usual), close(terminal);
}

static void test_line(void **state) {
  (void)state;
  cli_progress line;
  begin(true);
  cli_progress_open(&line);
  line.opened_ns += hour_ns; /* it is open for less than a second for an hour more */
  cli_progress_draw(&line, 0.5, "half");
  cli_progress_close(&line);
  const char *early = strdup(drawn());
  cli_progress_open(&line);
  line.opened_ns -= hour_ns;
  cli_progress_draw(&line, 0.5, "half of %d", 8);
  const char *late = strdup(drawn());
  cli_progress_close(&line);
  const char *closed = strdup(drawn());
  end();
  assert_string_equal(early, "");
  assert_non_null(strstr(late, "[############............] half of 8"));
  assert_string_equal(closed, "\r\033[K");
  free((void *)early), free((void *)late), free((void *)closed);
}

static void tell(const ir_timer *timer, const char *phase, int step, const char *symbol) {
  timer->note(timer->user, phase, step, symbol, 1);
}

static void count(void *user, const char *phase, int step, const char *symbol, int64_t ns) {
  (void)phase, (void)step, (void)symbol;
  *(int64_t *)user += ns;
}

static void test_compiling(void **state) {
  (void)state;
  cli_compile_progress p;
  int64_t told = 0;
  const ir_timer next = {&told, count};
  begin(false);
  const ir_timer *same = cli_compile_progress_open(&p, &next), *none = cli_compile_progress_open(&p, NULL);
  cli_compile_progress_close(&p);
  end();
  assert_ptr_equal(same, &next); /* no terminal: nothing between */
  assert_null(none);
  begin(true);
  const ir_timer *timer = cli_compile_progress_open(&p, &next);
  for (int i = 0; i < 4; i++) tell(timer, "loops", i, NULL);
  tell(timer, "close", -1, "vf_a");
  p.line.opened_ns -= hour_ns;
  tell(timer, "select", -1, "vf_b");
  const char *text = strdup(drawn());
  cli_compile_progress_close(&p);
  drawn();
  tell(timer, "close", -1, "vf_c");
  const char *after = strdup(drawn());
  end();
  assert_non_null(strstr(text, "[######..................] compiling: 1 of 4 kernels"));
  assert_string_equal(after, "");
  assert_int_equal(told, 7);
  free((void *)text), free((void *)after);
}

UNIT_TESTS(test_line, test_compiling)
