/* Other programs that are measured along with viewfold: workers that answer the requests of worker.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/cli/bench/bench.h"

extern char **environ;
enum { PATIENCE_MS = 120000 };

/* The command with {threads} replaced; free() it. */
static char *fill_in(const char *command, int threads) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  const char *mark = "{threads}", *at = command;
  for (const char *next; (next = strstr(at, mark)); at = next + strlen(mark)) {
    ir_text_add(&text, at, (size_t)(next - at));
    ir_textf(&text, "%d", threads);
  }
  ir_text_str(&text, at);
  char *made = text.failed ? NULL : strdup(ir_text_get(&text));
  ir_text_free(&text);
  return made;
}

static bool spawn_peer(const char *command, int in, int out, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  char *words[] = {(char[]){"sh"}, (char[]){"-c"}, NULL, NULL};
  words[2] = strdup(command);
  bool good = words[2] && posix_spawn_file_actions_init(&actions) == 0;
  if (good) {
    good = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO) == 0 &&
           posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
           posix_spawn(pid, "/bin/sh", &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  free(words[2]);
  return good;
}

bool bench_peer_start(bench_peer *p, const char *worker, int threads) {
  int to[2] = {-1, -1}, from[2] = {-1, -1}, length = (int)strcspn(worker, "=");
  char *line = fill_in(worker + length + 1, threads);
  *p = (bench_peer){.pid = -1};
  snprintf(p->name, sizeof p->name, "%.*s", length, worker);
  if (line && pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0 &&
      spawn_peer(line, to[0], from[1], &p->pid))
    p->to = to[1], p->from = from[0];
  bool good = p->to > 0;
  free(line);
  for (int i = 0; i < 2; i++) {
    if (to[i] >= 0 && !(good && i == 1)) close(to[i]);
    if (from[i] >= 0 && !(good && i == 0)) close(from[i]);
  }
  return good;
}

static void end_peer(bench_peer *p) {
  if (p->pid < 0) return;
  kill(p->pid, SIGKILL);
  waitpid(p->pid, NULL, 0);
  close(p->to);
  close(p->from);
  p->pid = -1;
}

/* Read one line into p->line. False at the end of the stream, without memory, or when nothing comes for
 * PATIENCE_MS. */
static bool read_line(bench_peer *p) {
  for (size_t length = 0;;) {
    struct pollfd wait = {.fd = p->from, .events = POLLIN};
    if (length + 4096 > p->room) {
      char *more = realloc(p->line, p->room + 65536);
      if (!more) return false;
      p->line = more;
      p->room += 65536;
    }
    if (poll(&wait, 1, PATIENCE_MS) <= 0) return false;
    ssize_t got = read(p->from, p->line + length, p->room - length - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    length += (size_t)got;
    p->line[length] = '\0';
    if (p->line[length - 1] != '\n') continue;
    p->line[length - 1] = '\0';
    return true;
  }
}

const char *bench_peer_ask(bench_peer *p, const char *format, ...) {
  va_list args;
  if (p->pid < 0) return NULL;
  va_start(args, format);
  int written = vdprintf(p->to, format, args);
  va_end(args);
  if (written > 0 && read_line(p)) return p->line;
  end_peer(p);
  return NULL;
}

void bench_peer_stop(bench_peer *p) {
  if (p->pid >= 0) bench_peer_ask(p, "quit\n");
  end_peer(p);
  free(p->line);
  p->line = NULL;
}
