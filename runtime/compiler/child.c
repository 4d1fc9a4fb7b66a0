/* Starting and ending the compiler process. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np, POSIX_SPAWN_SETSID, memfd_create */
#include "runtime/compiler/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/compiler/llvm_module.h"
#include "runtime/compiler/wire.h"

extern char **environ;

/* The loader needs LD_LIBRARY_PATH to find libLLVM outside the standard folders. The other variables are for
 * programs built with sanitizers: they say which findings to suppress and where reports go. */
const char *const rt_compiler_environment[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                               "LSAN_OPTIONS",    "TSAN_OPTIONS", NULL};
enum { VARIABLES = sizeof rt_compiler_environment / sizeof *rt_compiler_environment };

/* An idle child ends within one or two milliseconds after its socket is shut down, including the release of
 * its memory; PATIENCE_MS allows for a machine under load. */
enum { PATIENCE_MS = 1000, PATH_ROOM = 4096 };

bool rt_compiler_find(const rt_compiling *how, char *path, size_t size) {
  if (!how->program) return rt_module_find(RT_COMPILER_FILE, path, size);
  snprintf(path, size, "%s", how->program);
  return access(path, F_OK) == 0;
}

static ir_status fail_not_found(const rt_compiler *c, const char *path, ir_error *error) {
  char module[PATH_ROOM];
  if (c->how.program)
    return ir_fail(
        error, IR_ERR_COMPILE,
        "compile: there is no program %s, which compile_program names; name one that is there, leave it out "
        "for the one that is installed with the library, or compile in the process itself "
        "(VIEWFOLD_COMPILE=inprocess)",
        path);
  if (!rt_module_find(RT_MODULE_FILE, module, sizeof module)) return rt_module_missing(module, error);
  return ir_fail(
      error, IR_ERR_COMPILE,
      "compile: the program %s is missing; looked at %s, in viewfold/ beside it and in ../lib/viewfold/. "
      "Install it beside %s, name it in compile_program of vf_options, or compile in the process itself "
      "(VIEWFOLD_COMPILE=inprocess)",
      RT_COMPILER_FILE, path, module);
}

/* The variables of this process that rt_compiler_environment names, then NULL. */
static void choose_environment(char *list[VARIABLES]) {
  int count = 0;
  for (int i = 0; rt_compiler_environment[i]; i++) {
    size_t length = strlen(rt_compiler_environment[i]);
    char **at = environ;
    while (at && *at && (strncmp(*at, rt_compiler_environment[i], length) || (*at)[length] != '=')) at++;
    if (at && *at) list[count++] = *at;
  }
  list[count] = NULL;
}

/* Move a descriptor to a number above RT_WIRE_SOCKET, so that the dup2 actions of the child do not overwrite
 * it. -1 on failure; `fd` is closed either way. */
static int move_above_socket(int fd) {
  int moved = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, RT_WIRE_SOCKET + 1);
  if (fd >= 0) close(fd);
  return moved;
}

static int set_actions(posix_spawn_file_actions_t *actions, int socket, int stderr_file) {
  int failed = posix_spawn_file_actions_adddup2(actions, socket, RT_WIRE_SOCKET);
  if (!failed) failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (!failed) failed = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
  if (!failed) failed = posix_spawn_file_actions_adddup2(actions, stderr_file >= 0 ? stderr_file : 1, 2);
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
  if (!failed) failed = posix_spawn_file_actions_addclosefrom_np(actions, RT_WIRE_SOCKET + 1);
#endif
#endif /* without it the child closes them first of all: close_others in serve.c */
  return failed;
}

/* The child blocks and ignores no signal. It has a session of its own, so that the signals that a terminal
 * sends to its foreground process group do not reach it. */
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int failed = posix_spawnattr_setsigmask(attributes, &none);
  if (!failed) failed = posix_spawnattr_setsigdefault(attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#if defined(POSIX_SPAWN_SETSID)
  flags |= POSIX_SPAWN_SETSID;
#endif
  return failed ? failed : posix_spawnattr_setflags(attributes, flags);
}

static int spawn_child(const rt_compiler *c, const char *path, int socket, int stderr_file, pid_t *out) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char parent[24], bytes[24], threads[12], *environment[VARIABLES];
  char *arguments[] = {(char *)path, "--serve", parent, bytes, threads, NULL};
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  snprintf(bytes, sizeof bytes, "%lld", (long long)c->how.bytes);
  snprintf(threads, sizeof threads, "%d", c->how.threads);
  choose_environment(environment);
  int failed = posix_spawn_file_actions_init(&actions);
  if (!failed) {
    if (!(failed = posix_spawnattr_init(&attributes))) {
      failed = set_actions(&actions, socket, stderr_file);
      if (!failed) failed = set_attributes(&attributes);
      if (!failed) failed = posix_spawn(out, path, &actions, &attributes, arguments, environment);
      posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  return failed;
}

static bool identify_file(int fd, struct rt_file_id *out) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status)) return false;
  *out = (struct rt_file_id){status.st_dev, status.st_ino};
  return true;
}

static bool is_ours(int fd, struct rt_file_id id) {
  struct rt_file_id now;
  return identify_file(fd, &now) && now.device == id.device && now.file == id.file;
}

static void close_ours(int *fd, struct rt_file_id id) {
  if (is_ours(*fd, id)) close(*fd);
  *fd = -1;
}

static void forget_child(rt_compiler *c) {
  close_ours(&c->socket, c->socket_id);
  close_ours(&c->stderr_file, c->stderr_id);
  c->pid = 0;
  c->greeted = false;
}

/* May requests be sent to the existing child? If not, it has ended or cannot be reached. */
static bool is_usable(const rt_compiler *c) {
  struct pollfd one = {c->socket, POLLIN, 0};
  for (const rt_compile_request *a = c->requests; a; a = a->next)
    if (a->state == RT_REQUEST_WAITS) return true; /* its reader notices the child's end */
  if (!is_ours(c->socket, c->socket_id)) return false;
  return poll(&one, 1, 0) <= 0 || (!c->greeted && !(one.revents & POLLHUP)); /* that is the greeting */
}

ir_status rt_compiler_start(rt_compiler *c, ir_error *error) {
  char path[PATH_ROOM];
  int pair[2] = {-1, -1};
  if (c->pid && c->owner == getpid()) {
    if (is_usable(c)) return IR_OK;
    rt_compiler_end(c, true, NULL);
  } else if (c->pid) {
    forget_child(c);
    c->reading = false;
    c->requests = NULL;
  }
  if (!rt_compiler_find(&c->how, path, sizeof path)) return fail_not_found(c, path, error);
  int made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), failed = made ? errno : 0;
  if (!failed && ((pair[0] = move_above_socket(pair[0])) < 0 || (pair[1] = move_above_socket(pair[1])) < 0))
    failed = errno;
  if (!failed && fcntl(pair[0], F_SETFL, O_NONBLOCK)) failed = errno;
  c->socket = pair[0];
  c->stderr_file = failed ? -1 : move_above_socket(memfd_create("viewfold-compile", MFD_CLOEXEC));
  identify_file(c->socket, &c->socket_id);
  identify_file(c->stderr_file, &c->stderr_id);
  if (!failed) failed = spawn_child(c, path, pair[1], c->stderr_file, &c->pid);
  if (pair[1] >= 0) close(pair[1]);
  if (!failed) {
    c->owner = getpid();
    c->started++;
    return IR_OK;
  }
  forget_child(c);
  return ir_fail(
      error, failed == ENOMEM ? IR_ERR_MEMORY : IR_ERR_COMPILE,
      "compile: the program %s cannot be started: %s; it must be an executable file, and the process may "
      "need more descriptors or processes than its limits allow. Or compile in the process itself "
      "(VIEWFOLD_COMPILE=inprocess)",
      path, strerror(failed));
}

/* Reads from the child's standard error the line that says why it ended, and the end of the text before that
 * line. */
static void read_report(int stderr_file, rt_ending *out) {
  char text[2 * sizeof out->output_tail + sizeof out->reason + sizeof RT_REASON_PREFIX + 32];
  off_t end = stderr_file >= 0 ? lseek(stderr_file, 0, SEEK_END) : 0;
  off_t from = end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;
  ssize_t size = end > 0 ? pread(stderr_file, text, sizeof text - 1, from) : 0;
  size_t length = size > 0 ? (size_t)size : 0;
  text[length] = '\0';
  for (char *at = text; (at = strstr(at, RT_REASON_PREFIX)); at++) {
    char reason[sizeof out->reason];
    unsigned number;
    if (sscanf(at + strlen(RT_REASON_PREFIX), "%u: %23[^\n]", &number, reason) != 2) continue;
    out->number = number;
    memcpy(out->reason, reason, sizeof reason);
    length = (size_t)(at - text);
    break; /* the first such line: other threads of the child may report the same failure after it */
  }
  while (length && (text[length - 1] == '\n' || text[length - 1] == ' ')) length--;
  size_t start = length < sizeof out->output_tail ? 0 : length - sizeof out->output_tail + 1;
  for (size_t i = start; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    out->output_tail[i - start] = byte < 32 || byte > 126 ? ' ' : text[i];
  }
  out->output_tail[length - start] = '\0';
}

/* Waits without blocking: 1 where the child has ended, 0 where it runs, -1 where that cannot be known: the
 * process ignores SIGCHLD, or another part of it waits for all its children. */
static int scan_for_end(const rt_compiler *c, int *status) {
  pid_t found;
  while ((found = waitpid(c->pid, status, WNOHANG)) < 0 && errno == EINTR) {}
  return found == c->pid ? 1 : found == 0 ? 0 : -1;
}

/* The same, waiting for at most PATIENCE_MS. While the socket is open, poll returns as soon as the child
 * closes its end: a process closes its descriptors after it has released its memory, just before it can be
 * waited for. */
static int wait_for_end(const rt_compiler *c, int *status) {
  const struct timespec moment = {0, 50000};
  int64_t until = ir_now_ns() + (int64_t)PATIENCE_MS * 1000000;
  struct pollfd one = {c->socket, 0, 0};
  if (is_ours(c->socket, c->socket_id)) {
    shutdown(c->socket, SHUT_WR);
    poll(&one, 1, PATIENCE_MS);
  }
  int found;
  while ((found = scan_for_end(c, status)) == 0 && ir_now_ns() < until) nanosleep(&moment, NULL);
  return found;
}

void rt_compiler_end(rt_compiler *c, bool at_once, rt_ending *out) {
  rt_ending own;
  if (!out) out = &own;
  memset(out, 0, sizeof *out);
  out->greeted = c->greeted;
  if (!c->pid) return;
  if (c->owner == getpid()) {
    int status = 0, found = at_once ? scan_for_end(c, &status) : wait_for_end(c, &status);
    out->known = found == 1;
    if (found == 0) { /* nobody has waited for it yet, so its number cannot belong to another process */
      kill(c->pid, SIGKILL);
      while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {}
    }
    out->signalled = out->known && WIFSIGNALED(status);
    out->code = out->signalled ? WTERMSIG(status) : WEXITSTATUS(status);
    read_report(is_ours(c->stderr_file, c->stderr_id) ? c->stderr_file : -1, out);
  }
  forget_child(c);
}
