/* Files appear complete or not at all. */
#include "frontend/files/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/lib/unit.h"

static int start_directory = -1;
static char directory[64];

/* Every test runs inside a new, empty directory. */
static int enter(void **state) {
  strcpy(directory, "/tmp/test_atomic.XXXXXX");
  start_directory = open(".", O_RDONLY | O_DIRECTORY);
  return start_directory >= 0 && mkdtemp(directory) && chmod(directory, 0755) == 0 && chdir(directory) == 0
             ? 0
             : 1;
}

static int count_entries(void) {
  int count = 0;
  DIR *entries = opendir(".");
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
    count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
  closedir(entries);
  return count;
}

static int leave(void **state) {
  DIR *entries = opendir(".");
  for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
    if (unlink(entry->d_name) != 0) rmdir(entry->d_name);
  closedir(entries);
  int status = fchdir(start_directory);
  close(start_directory);
  return status == 0 ? rmdir(directory) : status;
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void holds(const char *path, const char *text) {
  char found[256] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  fclose(file);
  assert_string_equal(found, text);
}

static mode_t mode_of(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return status.st_mode & 07777;
}

static void write_all(const char *path, const char *text) {
  fe_atomic_file file;
  ir_error error = {0};
  assert_int_equal(fe_atomic_open(&file, path, &error), IR_OK);
  assert_int_equal(fe_atomic_write(&file, text, strlen(text), &error), IR_OK);
  assert_int_equal(fe_atomic_commit(&file, &error), IR_OK);
  fe_atomic_abandon(&file);
}

static void refused(const char *path, const char *message) {
  fe_atomic_file file;
  ir_error error = {0};
  char expected[512];
  snprintf(expected, sizeof expected, "%s: error: %s", path, message);
  assert_int_equal(fe_atomic_open(&file, path, &error), IR_ERR_IO);
  assert_string_equal(error.text, expected);
  fe_atomic_abandon(&file);
}

static void appear_at_commit(void **state) {
  fe_atomic_file file;
  ir_error error = {0};
  put("a", "before");
  assert_int_equal(fe_atomic_open(&file, "a", &error), IR_OK);
  assert_int_equal(fe_atomic_write(&file, "after", 5, &error), IR_OK);
  holds("a", "before");
  assert_int_equal(count_entries(), file.temporary[0] ? 2 : 1);
  assert_int_equal(fe_atomic_name(&file, &error), IR_OK);
  assert_int_equal(count_entries(), 2);
  holds(file.temporary, "after");
  assert_int_equal(fe_atomic_commit(&file, &error), IR_OK);
  holds("a", "after");
  assert_int_equal(count_entries(), 1);
  fe_atomic_abandon(&file);
  holds("a", "after");
}

static void vanish_when_abandoned(void **state) {
  fe_atomic_file file;
  ir_error error = {0};
  assert_int_equal(fe_atomic_open(&file, "a", &error), IR_OK);
  assert_int_equal(fe_atomic_write(&file, "after", 5, &error), IR_OK);
  fe_atomic_abandon(&file);
  assert_int_equal(count_entries(), 0);
  assert_int_equal(fe_atomic_commit(&file, &error), IR_ERR_IO);
  assert_string_equal(error.text, "a: error: cannot write the file: Bad file descriptor");
  assert_int_equal(count_entries(), 0);
}

/* What a process that is killed has not committed. */
static void go_with_the_process(void **state) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    fe_atomic_file file;
    ir_error error = {0};
    if (fe_atomic_open(&file, "a", &error) || fe_atomic_write(&file, "half", 4, &error)) _exit(1);
    _exit(file.temporary[0] ? 2 : raise(SIGKILL));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) skip(); /* files have names here */
  assert_true(WIFSIGNALED(status));
  assert_int_equal(count_entries(), 0);
}

static void keep_permissions_and_follow_links(void **state) {
  mode_t mask = umask(027);
  write_all("new", "1");
  umask(mask);
  assert_int_equal(mode_of("new"), 0640);
  put("old", "1");
  assert_int_equal(chmod("old", 0604), 0);
  assert_int_equal(mkdir("sub", 0755), 0);
  assert_int_equal(symlink("../old", "sub/link"), 0);
  write_all("sub/link", "2");
  holds("old", "2");
  assert_int_equal(mode_of("old"), 0604);
  char place[16] = "";
  assert_int_equal(readlink("sub/link", place, sizeof place), 6);
  assert_string_equal(place, "../old");
  assert_int_equal(unlink("sub/link"), 0);
}

static void say_why_not(void **state) {
  static char long_name[300], long_path[5000], expected[5200];
  assert_int_equal(mkdir("sub", 0755), 0);
  put("file", "1");
  assert_int_equal(symlink("nowhere", "dangling"), 0);
  refused("", "cannot open the file for writing: No such file or directory");
  refused("sub", "cannot open the file for writing: Is a directory");
  refused("new/", "cannot open the file for writing: Is a directory");
  refused("none/a", "cannot write to its folder: No such file or directory");
  refused("file/a", "cannot open the file for writing: Not a directory");
  refused("dangling", "cannot open the file for writing: No such file or directory");
  memset(long_name, 'n', sizeof long_name - 1);
  memset(long_path, 'n', sizeof long_path - 1);
  fe_atomic_file file;
  for (int n = 0; n < 2; n++) {
    ir_error error = {0};
    const char *path = n ? long_path : long_name;
    snprintf(expected, sizeof expected, "...%s: error: cannot open the file for writing: File name too long",
             path + strlen(path) - 240);
    assert_int_equal(fe_atomic_open(&file, path, &error), IR_ERR_IO);
    assert_string_equal(error.text, expected);
  }
  assert_int_equal(chmod("file", 0444), 0);
  if (geteuid() == 0) print_message("the superuser may write everywhere: permissions are not tested\n");
  else refused("file", "cannot open the file for writing: Permission denied");
  assert_int_equal(count_entries(), 3);
}

/* The disk is full half way: the old file is unchanged, and no other file is left. */
static void leave_nothing_after_a_failed_write(void **state) {
  static const char bytes[20000];
  struct rlimit old, small;
  put("a", "before");
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 10000;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  fe_atomic_file file;
  ir_error error = {0};
  ir_status opened = fe_atomic_open(&file, "a", &error);
  ir_status written = opened == IR_OK ? fe_atomic_write(&file, bytes, sizeof bytes, &error) : opened;
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  assert_int_equal(opened, IR_OK);
  assert_int_equal(written, IR_ERR_IO);
  assert_string_equal(error.text, "a: error: cannot write the file: File too large");
  holds("a", "before");
  assert_int_equal(count_entries(), 1);
}

static void leave_nothing_after_a_failed_rename(void **state) {
  fe_atomic_file file;
  ir_error error = {0};
  assert_int_equal(fe_atomic_open(&file, "a", &error), IR_OK);
  assert_int_equal(mkdir("a", 0755), 0);
  assert_int_equal(fe_atomic_commit(&file, &error), IR_ERR_IO);
  assert_string_equal(error.text, "a: error: cannot rename the temporary file: Is a directory");
  assert_int_equal(count_entries(), 1);
}

static void write_directly_what_cannot_be_replaced(void **state) {
  fe_atomic_file file;
  ir_error error = {0};
  write_all("/dev/null", "gone");
  if (access("/dev/full", W_OK) == 0) {
    assert_int_equal(fe_atomic_open(&file, "/dev/full", &error), IR_OK);
    assert_int_equal(fe_atomic_write(&file, "x", 1, &error), IR_ERR_IO);
    assert_string_equal(error.text, "/dev/full: error: cannot write the file: No space left on device");
  }
  assert_int_equal(mkfifo("pipe", 0644), 0);
  int reader = open("pipe", O_RDONLY | O_NONBLOCK);
  char found[8] = "";
  assert_true(reader >= 0);
  write_all("pipe", "through");
  assert_int_equal(read(reader, found, sizeof found), 7);
  assert_string_equal(found, "through");
  close(reader);
  assert_int_equal(count_entries(), 1);
}

/* Standard output redirected to a file: /dev/stdout appends to it and does not replace it. */
static void continue_standard_output(void **state) {
  fflush(stdout);
  int saved = dup(STDOUT_FILENO), target = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(saved >= 0 && target >= 0);
  assert_true(dup2(target, STDOUT_FILENO) >= 0);
  fe_atomic_file file;
  ir_error error = {0};
  bool done = write(STDOUT_FILENO, "one ", 4) == 4 && fe_atomic_open(&file, "/dev/stdout", &error) == IR_OK &&
              fe_atomic_write(&file, "two ", 4, &error) == IR_OK &&
              fe_atomic_commit(&file, &error) == IR_OK && write(STDOUT_FILENO, "three", 5) == 5;
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(target);
  assert_string_equal(error.text, "");
  assert_true(done);
  holds("out", "one two three");
}

UNIT_TESTS_EACH(enter, leave, appear_at_commit, vanish_when_abandoned, go_with_the_process,
                keep_permissions_and_follow_links, say_why_not, leave_nothing_after_a_failed_write,
                leave_nothing_after_a_failed_rename, write_directly_what_cannot_be_replaced,
                continue_standard_output)
