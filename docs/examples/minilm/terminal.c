#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* for TIOCGWINSZ */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <unistr.h>
#include <uniwidth.h>

enum {
  LINE = 1000, /* bytes of a query */
  END = 4,     /* Ctrl-D */
  BREAK = 3,   /* Ctrl-C */
  CLEAR = 21,  /* Ctrl-U */
  ESCAPE = 27, /* begins what arrow keys send */
  DELETE = 127 /* what the backspace key sends */
};
static const char prompt[] = "search: ";

/* -------------------------------------------------------------------------------------- the terminal */
static struct termios usual;

static void restore(void) { tcsetattr(STDIN_FILENO, TCSANOW, &usual); }
static void restore_and_end(int number) {
  restore();
  signal(number, SIG_DFL);
  raise(number);
}

/* Keys arrive one by one, unseen, until the program ends, in whatever way it does. */
static bool set_raw(void) {
  static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  if (tcgetattr(STDIN_FILENO, &usual) != 0) return false;
  struct termios raw = usual;
  raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= (tcflag_t) ~(IXON | ISTRIP);
  raw.c_cc[VMIN] = 1, raw.c_cc[VTIME] = 0;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], restore_and_end);
  atexit(restore);
  return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

/* Columns and rows; 80 and 24 where nobody knows. */
static struct winsize window(void) {
  struct winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) return size;
  return (struct winsize){.ws_col = 80, .ws_row = 24};
}

/* As much of a text as fits into so many columns, without what would move the cursor. The columns. */
static int put(line text, int room) {
  int used = 0;
  for (size_t at = 0; at < text.length;) {
    ucs4_t c;
    const uint8_t *here = (const uint8_t *)text.text + at;
    int bytes = u8_mbtouc(&c, here, text.length - at), width = uc_width(c, "UTF-8");
    at += (size_t)bytes;
    if (width < 0 || c == 0xfffd) continue;
    if (used + width > room) break;
    fwrite(here, 1, (size_t)bytes, stdout);
    used += width;
  }
  return used;
}

/* The query with answers below it; the cursor is behind the query afterwards. */
static void draw(line query, const answer *answers, int count) {
  int width = window().ws_col, rows = window().ws_row;
  if (count > rows - 2) count = rows > 2 ? rows - 2 : 0;
  printf("\r\033[J\n");
  for (int i = 0; i < count; i++) {
    printf("\r%6.3f  ", answers[i].score);
    put(answers[i].sentence, width - 9);
    printf("\n");
  }
  printf("\033[%dA\r%s", count + 1, prompt);
  put(query, width - (int)sizeof prompt);
  fflush(stdout);
}

/* ---------------------------------------------------------------------------------------------- keys */
/* The next byte that was typed; -1 at the end. With `now`, also -1 when none is there. */
static int next_key(bool now) {
  unsigned char key;
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  if (now && poll(&input, 1, 0) <= 0) return -1;
  ssize_t count;
  do count = read(STDIN_FILENO, &key, 1);
  while (count < 0 && errno == EINTR);
  return count == 1 ? key : -1;
}

/* Keys that are not characters send ESC, [ or O, and a text that ends with a byte of 64 to 126. */
static void skip_sequence(void) {
  int key = next_key(true);
  if (key != '[' && key != 'O') return;
  while ((key = next_key(true)) >= 0 && key < 64) continue;
}

/* False at the end. */
static bool take_key(int key, char *text, size_t *length) {
  if (key < 0 || key == BREAK || key == END) return false;
  if (key == ESCAPE) skip_sequence();
  if (key == CLEAR || key == '\n') *length = 0;
  if (key == DELETE || key == '\b')
    while (*length && (text[--*length] & 0xc0) == 0x80) continue; /* a whole character */
  else if (key >= ' ' && *length < LINE) text[(*length)++] = (char)key;
  return true;
}

bool terminal_search(library *library, int best, vf_error *error) {
  char text[LINE];
  size_t length = 0;
  int count = 0;
  answer *answers = malloc((size_t)best * sizeof *answers);
  bool good = answers && set_raw();
  if (!good) snprintf(error->message, sizeof error->message, "the terminal cannot be set up");
  while (good) {
    count = length ? library_search(library, text, length, best, answers, error) : 0;
    good = count >= 0;
    if (!good) break;
    draw((line){text, length}, answers, count);
    bool more = take_key(next_key(false), text, &length);
    for (int key; more && (key = next_key(true)) >= 0;) more = take_key(key, text, &length);
    if (!more) break;
  }
  printf("\r\033[J");
  free(answers);
  return good;
}
