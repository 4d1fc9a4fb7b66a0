/* Runs text tests: files of commands with the output they must give. The format is described in
 * test/README.md.
 *
 *   run_text [--bin DIR] [--accept] [--only TEXT] [--jobs N] [--keep] [--device NAME] [--except LIST]
 *            [--costs FILE] FILE|FOLDER...
 *
 * Commands see the device as VIEWFOLD_DEVICE; cases that are lines `FILE: TITLE` of LIST are skipped. A file
 * is read line by line and run as it is read. Every case gets a fresh directory, which is removed afterwards.
 * N processes run the files; the messages of a file are printed together, and a line with its seconds of
 * processor time and its name is written to the FILE of --costs. The last line is `N passed, N failed, N
 * skipped`; exit status 1 when a case failed, 2 when a test file cannot be used. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_NEWLINE "[no newline]"

/* Seconds of processor time that each process of a command may use: none uses 10 where this was measured, so
 * that a machine ten times slower stays far below. A process that sleeps for good uses none; it is stopped
 * after so many seconds of real time, 20 times what the longest takes on a fifth of a core. */
enum { PROCESSOR_LIMIT = 600, WALL_LIMIT = 1800 };

static struct {
  bool accept, keep;
  const char *only, *device;
  FILE *costs; /* NULL: not asked for */
  char root[4096];
} options;

static void *checked(void *pointer) {
  if (!pointer) {
    fprintf(stderr, "run_text: out of memory\n"), exit(2);
  }
  return pointer;
}

/* ---- lists of lines */

typedef struct {
  char **at;
  int count, room;
} lines;

static void push(lines *list, const char *text, size_t length) {
  if (list->count == list->room) {
    list->room = list->room ? 2 * list->room : 16;
    list->at = checked(realloc(list->at, (size_t)list->room * sizeof *list->at));
  }
  list->at[list->count++] = checked(strndup(text, length));
}
static void push_line(lines *list, const char *text) { push(list, text, strlen(text)); }
static void clear(lines *list) {
  for (int i = 0; i < list->count; i++) free(list->at[i]);
  free(list->at);
  *list = (lines){0};
}

/* A last line without its newline is marked, so that it differs from one that has it. */
static lines split(const char *text, size_t size) {
  lines list = {0};
  while (size) {
    const char *end = memchr(text, '\n', size);
    if (!end) {
      char *marked = NULL;
      if (asprintf(&marked, "%.*s" NO_NEWLINE, (int)size, text) < 0) checked(NULL);
      push_line(&list, marked);
      free(marked);
      break;
    }
    push(&list, text, (size_t)(end - text));
    size -= (size_t)(end + 1 - text);
    text = end + 1;
  }
  return list;
}

static char *read_all(int fd, size_t *size) {
  size_t room = 4096;
  char *text = checked(malloc(room));
  ssize_t got;
  *size = 0;
  while ((got = read(fd, text + *size, room - *size)) > 0) {
    *size += (size_t)got;
    if (*size == room) text = checked(realloc(text, room *= 2));
  }
  return text;
}

/* ---- matching: [..] stands for anything within a line, [...] on a line of its own for any number of
 * lines */

static bool line_matches(const char *pattern, const char *text) {
  const char *star = NULL, *retry = NULL;
  for (;;) {
    if (!strncmp(pattern, "[..]", 4)) {
      star = pattern += 4;
      retry = text;
    } else if (*text && *pattern == *text) {
      pattern++, text++;
    } else if (!*text && !*pattern) {
      return true;
    } else if (star && *retry) {
      pattern = star;
      text = ++retry;
    } else {
      return false;
    }
  }
}

static bool all_match(const lines *want, const lines *got) {
  int w = 0, g = 0, star = -1, retry = 0;
  for (;;) {
    if (w < want->count && !strcmp(want->at[w], "[...]")) {
      star = ++w;
      retry = g;
    } else if (w < want->count && g < got->count && line_matches(want->at[w], got->at[g])) {
      w++, g++;
    } else if (w == want->count && g == got->count) {
      return true;
    } else if (star >= 0 && retry < got->count) {
      w = star;
      g = ++retry;
    } else {
      return false;
    }
  }
}

/* Prints the lines that differ, without the equal ones at both ends. */
static void show_difference(const char *what, const lines *want, const lines *got) {
  int head = 0, tail = 0;
  while (head < want->count && head < got->count && line_matches(want->at[head], got->at[head])) head++;
  while (tail < want->count - head && tail < got->count - head &&
         line_matches(want->at[want->count - 1 - tail], got->at[got->count - 1 - tail]))
    tail++;
  printf("  %s, from line %d:\n", what, head + 1);
  for (int i = head; i < want->count - tail; i++) printf("    -%s\n", want->at[i]);
  for (int i = head; i < got->count - tail; i++) printf("    +%s\n", got->at[i]);
}

/* ---- running one command */

typedef struct {
  lines out, err;
  int status;
  bool timed_out;
} outcome;

static volatile sig_atomic_t alarmed;
static void on_alarm(int signal_number) { (void)signal_number, alarmed = 1; }

static lines read_output(int fd) {
  size_t size;
  lseek(fd, 0, SEEK_SET);
  char *text = read_all(fd, &size);
  lines list = split(text, size);
  free(text);
  close(fd);
  return list;
}

static outcome run_command(const char *command, const char *directory) {
  outcome result = {0};
  int out = memfd_create("stdout", MFD_CLOEXEC), err = memfd_create("stderr", MFD_CLOEXEC), status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (out < 0 || err < 0 || child < 0) {
    perror("run_text"), exit(2);
  }
  if (child == 0) {
    int in = open("/dev/null", O_RDONLY);
    struct rlimit limit = {PROCESSOR_LIMIT, PROCESSOR_LIMIT + 10};
    setpgid(0, 0);
    setrlimit(RLIMIT_CPU, &limit);
    if (chdir(directory) || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(126);
  }
  setpgid(child, child);
  alarmed = 0;
  alarm(WALL_LIMIT);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    if (alarmed) result.timed_out = !kill(-child, SIGKILL);
  alarm(0);
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.out = read_output(out);
  result.err = read_output(err);
  return result;
}

/* ---- one test file */

typedef struct {
  const char *path;
  lines text;           /* the file */
  lines rewritten;      /* the file as --accept leaves it */
  char directory[4096]; /* of the case, empty between cases */
  const char *title;    /* of the case, NULL before the first */
  int title_line, preamble_end;
  char *text_name, *text_command; /* of `@text NAME: COMMAND`, NULL: there is none */
  bool failed, skipped;
  int passed_count, failed_count, skipped_count;
} test_file;

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *position) {
  (void)info, (void)type, (void)position;
  return remove(path);
}

__attribute__((format(printf, 2, 3))) static void fail(test_file *t, const char *format, ...) {
  va_list args;
  if (!t->failed)
    printf("FAIL %s:%d: %s\n", t->path, t->title_line, t->title ? t->title : "(before the first case)");
  t->failed = true;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
}

static bool starts(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }
static bool is_filler(const char *line) { return !*line || *line == '#'; }
static bool is_directive(const char *line) {
  return starts(line, "$ ") || starts(line, "== ") || starts(line, "<<< ") || starts(line, "@needs ");
}
static bool is_error_output(const char *line) {
  return starts(line, "! ") || !strcmp(line, "!") || starts(line, "? ");
}

/* Writes lines from `at` to `end` to a file of the case. */
static void write_input(test_file *t, const char *name, int at, int end) {
  char path[8192];
  snprintf(path, sizeof path, "%s/%s", t->directory, name);
  FILE *file = *t->directory ? fopen(path, "w") : NULL;
  if (!file && *t->directory) fail(t, "  line %d: cannot write %s: %s\n", at, path, strerror(errno));
  for (; file && at < end; at++) fprintf(file, "%s\n", t->text.at[at]);
  if (file) fclose(file);
}

/* `<<< NAME` to `>>>`: the lines between are a file of the case. Returns the line after. */
static int make_input(test_file *t, int at) {
  int end = at + 1;
  while (end < t->text.count && strcmp(t->text.at[end], ">>>")) end++;
  write_input(t, t->text.at[at] + 4, at + 1, end);
  if (end == t->text.count) fail(t, "  the file ends inside an input that no >>> closes\n");
  return end + 1;
}

/* `@text NAME: COMMAND`: splits the line. */
static void set_text(test_file *t, int at) {
  char *name = t->text.at[at] + 6, *colon = strstr(name, ": ");
  if (!colon) {
    fail(t, "  line %d: not `@text NAME: COMMAND`\n", at + 1);
    return;
  }
  t->text_name = checked(strndup(name, (size_t)(colon - name)));
  t->text_command = colon + 2;
}

static void check_need(test_file *t, const char *command) {
  if (t->skipped || !*t->directory) return;
  outcome result = run_command(command, t->directory);
  t->skipped = result.status != 0;
  if (t->skipped) printf("skip %s:%d: %s (needs: %s)\n", t->path, t->title_line, t->title, command);
  clear(&result.out), clear(&result.err);
}

static lines exceptions; /* FILE: TITLE */

static bool is_exception(const test_file *t) {
  size_t length = strlen(t->path);
  for (int i = 0; i < exceptions.count; i++) {
    const char *at = exceptions.at[i];
    if (!strncmp(at, t->path, length) && !strncmp(at + length, ": ", 2) && !strcmp(at + length + 2, t->title))
      return true;
  }
  return false;
}

static void begin_case(test_file *t, int at) {
  t->title = t->text.at[at] + 3;
  t->title_line = at + 1;
  t->failed = false, t->skipped = is_exception(t);
  const char *tmp = getenv("TMPDIR");
  char cache[8192];
  snprintf(t->directory, sizeof t->directory, "%s/viewfold-text-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(t->directory)) {
    perror("run_text: temporary directory"), exit(2);
  }
  snprintf(cache, sizeof cache, "%s/.cache", t->directory);
  setenv("VIEWFOLD_CACHE_DIR", cache, 1);
  setenv("HOME", t->directory, 1);
  for (int i = 0; i < t->preamble_end;) {
    if (starts(t->text.at[i], "@needs ")) check_need(t, t->text.at[i] + 7);
    i = starts(t->text.at[i], "<<< ") ? make_input(t, i) : i + 1;
  }
}

static void end_case(test_file *t) {
  if (*t->directory && !options.keep) nftw(t->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  if (*t->directory && options.keep) printf("kept %s: %s\n", t->directory, t->title);
  if (t->title) *(t->failed ? &t->failed_count : t->skipped ? &t->skipped_count : &t->passed_count) += 1;
  *t->directory = 0;
}

/* One line of output as the file must spell it: a line that the format would interpret gets a backslash. */
static void rewrite_output(test_file *t, const char *prefix, const lines *output) {
  for (int i = 0; i < output->count; i++) {
    const char *line = output->at[i];
    bool clash = !*prefix && (is_filler(line) || is_directive(line) || *line == '\\' ||
                              is_error_output(line) || starts(line, "> "));
    char *spelled = NULL;
    if (asprintf(&spelled, "%s%s%s", *prefix && !*line ? "!" : prefix, clash ? "\\" : "", line) < 0)
      checked(NULL);
    push_line(&t->rewritten, spelled);
    free(spelled);
  }
}

static void rewrite_status(test_file *t, int status) {
  char line[32];
  snprintf(line, sizeof line, "? %d", status);
  if (status) push_line(&t->rewritten, line);
}

/* Runs a command, which the lines from `begin` to `at` give, and compares with the output expected from there
 * on. Returns the line after that. */
static int run_step(test_file *t, const char *command, int begin, int at) {
  lines out = {0}, err = {0};
  int status = 0, command_end = at, expected_end = at, next;
  for (; at < t->text.count && !is_directive(t->text.at[at]); at++) {
    const char *line = t->text.at[at];
    if (is_filler(line)) continue;
    expected_end = at + 1;
    if (starts(line, "? ")) status = atoi(line + 2);
    else if (starts(line, "! ")) push_line(&err, line + 2);
    else if (!strcmp(line, "!")) push_line(&err, "");
    else push_line(&out, line + (*line == '\\'));
  }
  next = at;
  outcome got = {0};
  if (!t->skipped && (!t->failed || options.accept)) {
    got = run_command(command, t->directory);
    bool out_ok = all_match(&out, &got.out), err_ok = all_match(&err, &got.err);
    bool differs = !out_ok || !err_ok || got.status != status;
    if (differs && !options.accept) {
      fail(t, "  line %d: $ %s\n", begin + 1, command);
      if (got.timed_out) printf("  stopped: it had not ended after %d seconds\n", WALL_LIMIT);
      if (got.status == 128 + SIGXCPU)
        printf("  stopped: it used more than %d seconds of processor time\n", PROCESSOR_LIMIT);
      if (got.status != status) printf("  exit status %d, expected %d\n", got.status, status);
      if (!out_ok) show_difference("standard output", &out, &got.out);
      if (!err_ok) show_difference("standard error", &err, &got.err);
    } else if (differs) {
      for (; begin < command_end; begin++) push_line(&t->rewritten, t->text.at[begin]);
      rewrite_output(t, "", out_ok ? &out : &got.out);
      rewrite_output(t, "! ", err_ok ? &err : &got.err);
      rewrite_status(t, got.status);
      begin = expected_end;
    }
  }
  for (int i = begin; i < next; i++) push_line(&t->rewritten, t->text.at[i]);
  clear(&out), clear(&err), clear(&got.out), clear(&got.err);
  return next;
}

/* `$ COMMAND`, its continuations and expected output. Returns the line after them. */
static int run_command_line(test_file *t, int at) {
  size_t size = 0;
  char *command = NULL;
  FILE *writer = checked(open_memstream(&command, &size));
  int begin = at;
  fputs(t->text.at[at] + 2, writer);
  while (++at < t->text.count && starts(t->text.at[at], "> ")) fprintf(writer, "\n%s", t->text.at[at] + 2);
  fclose(writer);
  int next = run_step(t, command, begin, at);
  free(command);
  return next;
}

/* The text of a case, up to the errors that the command of `@text` gives for it. Returns the line after
 * these. */
static int run_on_text(test_file *t, int begin) {
  int end = begin;
  while (end < t->text.count && !is_error_output(t->text.at[end]) && !is_directive(t->text.at[end])) end++;
  write_input(t, t->text_name, begin, end);
  return run_step(t, t->text_command, begin, end);
}

static void write_accepted(test_file *t) {
  bool same = t->rewritten.count == t->text.count;
  for (int i = 0; same && i < t->text.count; i++) same = !strcmp(t->text.at[i], t->rewritten.at[i]);
  if (same) return;
  FILE *file = fopen(t->path, "w");
  if (!file) {
    perror(t->path), exit(2);
  }
  for (int i = 0; i < t->rewritten.count; i++) fprintf(file, "%s\n", t->rewritten.at[i]);
  if (fclose(file)) {
    perror(t->path), exit(2);
  }
  printf("accepted %s\n", t->path);
}

static lines lines_of(const char *path) {
  size_t size;
  int fd = open(path, O_RDONLY);
  if (fd < 0) {
    perror(path), exit(2);
  }
  char *text = read_all(fd, &size);
  close(fd);
  lines made = split(text, size);
  free(text);
  return made;
}

static void run_file(const char *path, int *counts) {
  test_file t = {.path = path, .title_line = 1};
  t.text = lines_of(path);
  while (t.preamble_end < t.text.count && !starts(t.text.at[t.preamble_end], "== ")) t.preamble_end++;
  for (int at = 0; at < t.text.count;) {
    const char *line = t.text.at[at];
    if (starts(line, "$ ") && t.title) {
      at = run_command_line(&t, at);
      continue;
    }
    if (t.title && t.text_name && !is_directive(line) && !is_filler(line)) {
      at = run_on_text(&t, at);
      continue;
    }
    int next = at + 1;
    if (starts(line, "== ")) end_case(&t), begin_case(&t, at);
    else if (starts(line, "<<< ")) next = make_input(&t, at);
    else if (starts(line, "@needs ")) check_need(&t, line + 7);
    else if (starts(line, "@text ") && !t.title) set_text(&t, at);
    else if (!is_filler(line)) fail(&t, "  line %d: cannot be understood here: %s\n", at + 1, line);
    while (at < next && at < t.text.count) push_line(&t.rewritten, t.text.at[at++]);
  }
  if (t.failed && !t.title) t.failed_count++;
  end_case(&t);
  if (options.accept) write_accepted(&t);
  counts[0] += t.passed_count, counts[1] += t.failed_count, counts[2] += t.skipped_count;
  free(t.text_name);
  clear(&t.text), clear(&t.rewritten);
}

/* ---- all files */

static lines files;
static int find_file(const char *path, const struct stat *info, int type, struct FTW *position) {
  size_t length = strlen(path);
  (void)info, (void)position;
  if (type == FTW_F && length > 2 && !strcmp(path + length - 2, ".t") &&
      (!options.only || strstr(path, options.only)))
    push_line(&files, path);
  return 0;
}
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The environment of the cases: the built command first on PATH, no setting of the caller's. */
static void set_environment(const char *bin) {
  static const char *const unset[] = {"VIEWFOLD_DEVICE", "VIEWFOLD_THREADS", "VIEWFOLD_DEBUG",
                                      "VIEWFOLD_COMPILE"};
  char *path = NULL, *absolute = bin ? realpath(bin, NULL) : NULL;
  if (bin && !absolute) {
    perror(bin), exit(2);
  }
  if (absolute && asprintf(&path, "%s:%s", absolute, getenv("PATH")) < 0) checked(NULL);
  if (absolute) setenv("PATH", path, 1);
  for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) unsetenv(unset[i]);
  if (options.device) setenv("VIEWFOLD_DEVICE", options.device, 1);
  setenv("LC_ALL", "C", 1);
  /* also of programs that a case builds with AddressSanitizer, without lib/heap.c: LeakSanitizer crashes now
   * and then */
  const char *given = getenv("ASAN_OPTIONS");
  char *sanitizer = NULL;
  if (asprintf(&sanitizer, "%s%sdetect_leaks=0", given ? given : "", given && *given ? ":" : "") < 0)
    checked(NULL);
  setenv("ASAN_OPTIONS", sanitizer, 1);
  free(sanitizer);
  setenv("TEST_ROOT", options.root, 1);
  free(path), free(absolute);
}

static void read_exceptions(const char *path) { exceptions = lines_of(path); }

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

/* Files are distributed to `jobs` processes as these become free; each writes to its own memory file. */
static int run_files(int jobs, int *total) {
  int(*counts)[4] = mmap(NULL, (size_t)files.count * sizeof *counts + 1, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int *output = checked(calloc((size_t)files.count + 1, sizeof *output)), running = 0, worst = 0;
  pid_t *process = checked(calloc((size_t)files.count + 1, sizeof *process));
  if (counts == MAP_FAILED) {
    perror("run_text"), exit(2);
  }
  for (int next = 0; next < files.count || running;) {
    if (next < files.count && running < jobs) {
      output[next] = memfd_create("output", MFD_CLOEXEC);
      fflush(stdout);
      if ((process[next] = fork()) < 0) {
        perror("run_text"), exit(2);
      }
      if (process[next] == 0) {
        dup2(output[next], 1), dup2(output[next], 2);
        run_file(files.at[next], counts[next]);
        fflush(stdout);
        _exit(0);
      }
      next++, running++;
      continue;
    }
    int status;
    struct rusage used;
    pid_t ended = wait4(-1, &status, 0, &used);
    for (int i = 0; i < next; i++) {
      if (process[i] != ended) continue;
      size_t size;
      lseek(output[i], 0, SEEK_SET);
      char *text = read_all(output[i], &size);
      fwrite(text, 1, size, stdout);
      free(text);
      close(output[i]);
      if (status) worst = 2;
      if (options.costs)
        fprintf(options.costs, "%.2f %s\n", seconds(used.ru_utime) + seconds(used.ru_stime), files.at[i]);
      for (int k = 0; k < 3; k++) total[k] += counts[i][k];
      running--;
    }
  }
  free(output), free(process);
  return worst;
}

int main(int argc, char **argv) {
  const char *bin = NULL;
  int jobs = 1, total[3] = {0}, i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (!strcmp(argv[i], "--accept")) options.accept = true;
    else if (!strcmp(argv[i], "--keep")) options.keep = true;
    else if (!strcmp(argv[i], "--bin") && i + 1 < argc) bin = argv[++i];
    else if (!strcmp(argv[i], "--only") && i + 1 < argc) options.only = argv[++i];
    else if (!strcmp(argv[i], "--jobs") && i + 1 < argc) jobs = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--device") && i + 1 < argc) options.device = argv[++i];
    else if (!strcmp(argv[i], "--except") && i + 1 < argc) read_exceptions(argv[++i]);
    else if (!strcmp(argv[i], "--costs") && i + 1 < argc) options.costs = fopen(argv[++i], "we");
    else break;
  }
  if (i == argc || argv[i][0] == '-') {
    fprintf(stderr, "usage: run_text [--bin DIR] [--accept] [--keep] [--only TEXT] [--jobs N] [--device "
                    "NAME] [--except LIST] [--costs FILE]\n"
                    "                FILE|FOLDER...\n");
    return 2;
  }
  if (!getcwd(options.root, sizeof options.root)) return perror("run_text"), 2;
  set_environment(bin);
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  for (; i < argc; i++)
    if (nftw(argv[i], find_file, 16, FTW_PHYS)) return perror(argv[i]), 2;
  if (files.count) qsort(files.at, (size_t)files.count, sizeof *files.at, by_name);
  int worst = run_files(jobs > 0 ? jobs : 1, total);
  clear(&files), clear(&exceptions);
  if (options.costs) fclose(options.costs);
  printf("%d passed, %d failed, %d skipped\n", total[0], total[1], total[2]);
  return worst ? worst : total[1] > 0;
}
