/* The line that says how far a command has come: where it is drawn, and when work is told on it. */
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

/* Work tells on a terminal alone, while it is shown. */
static void test_work(void **state) {
  (void)state;
  begin(false);
  cli_work_show();
  bool tells = cli_work()->tell != NULL;
  cli_work_hide();
  end();
  assert_false(tells);
  begin(true);
  cli_work_show();
  cli_work_show();
  cli_work_hide();
  ir_tell tell = cli_work()->tell; /* it is still shown once */
  if (tell) tell(NULL, "compiling kernels", 1, 4);
  const char *early = strdup(drawn());
  cli_work_hide();
  end();
  assert_non_null(tell);
  assert_string_equal(early, ""); /* it has not taken a second */
  assert_null(cli_work()->tell);
  free((void *)early);
}

UNIT_TESTS(test_line, test_work)
