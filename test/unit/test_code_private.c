/* Code runs from memory that nobody else can change: a program still gives the right results after the cache
 * file that it was loaded from is changed. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/lib/plans.h"
#include "test/lib/unit.h"

enum { N = 64 };

/* An empty cache that then holds one program, "kept". */
static void keep_one(void) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, N));
  rt_context *c = p_context_with((rt_options){0});
  unit_release(p_build(c, m, "kept"));
  unit_release(c);
}

/* Permissions and name of the mapping that backs an address; "" where no file does. */
static void backing(const void *address, char permissions[5], char name[300]) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "re");
  permissions[0] = name[0] = 0;
  if (!maps) return;
  while (fgets(line, sizeof line, maps)) {
    unsigned long low, high;
    char found[5], path[300] = "";
    if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %299s", &low, &high, found, path) >= 3 &&
        (uintptr_t)address >= low && (uintptr_t)address < high) {
      memcpy(permissions, found, sizeof found);
      memcpy(name, path, sizeof path);
    }
  }
  fclose(maps);
}

static void truncate_it(const char *path) { assert_int_equal(truncate(path, 0), 0); }
static void overwrite_it(const char *path) {
  struct stat s;
  uint8_t trap[4096];
  int fd = open(path, O_WRONLY);
  assert_true(fd >= 0 && fstat(fd, &s) == 0);
  memset(trap, 0xcc, sizeof trap); /* int3 */
  for (off_t at = 0; at < s.st_size; at += (off_t)sizeof trap)
    assert_true(pwrite(fd, trap, sizeof trap, at) == (ssize_t)sizeof trap);
  close(fd);
}
static void remove_it(const char *path) { assert_int_equal(unlink(path), 0); }

/* The file is changed before the program has run, so that loading alone has touched its pages. */
static void runs_on(void (*harm)(const char *path)) {
  char path[256];
  keep_one();
  p_cache_file("plan", path);
  rt_context *c = p_context_with((rt_options){.no_compile = true});
  rt_program *p = p_find(c, "kept");
  assert_non_null(p);
  assert_int_equal(rt_program_stats(p).from_disk, 2);
  harm(path);
  p_check_two_kernels(p, N, NULL, 0);
  p_check_two_kernels(p, N, NULL, 5);
}

static void runs_on_when_truncated(void **state) { runs_on(truncate_it); }
static void runs_on_when_overwritten(void **state) { runs_on(overwrite_it); }
static void runs_on_when_removed(void **state) { runs_on(remove_it); }

static void no_file_backs_code(void **state) {
  char permissions[5], name[300];
  keep_one();
  rt_context *c = p_context_with((rt_options){0});
  rt_program *found = p_find(c, "kept");
  assert_non_null(found);
  backing(found->code.base, permissions, name);
  assert_string_equal(permissions, "r-xp");
  assert_string_equal(name, "");
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, N));
  rt_program *built = p_build(c, m, "built");
  backing(built->code.base, permissions, name);
  assert_string_equal(permissions, "r-xp");
  assert_string_equal(name, "");
}

static void count_copies(void *user, int level, const char *text) {
  static const char said[] = ": the system lets no memory become executable that was written; the code is a "
                             "copy in a sealed memory file";
  *(int *)user += level == IR_LOG_INFO && strstr(text, said) != NULL;
}

/* Finds the program, looks at the mapping and runs it, in a process that may not make memory executable;
 * without cmocka. */
static int find_and_run(const char *directory) {
  int copies = 0;
  ir_log log = {count_copies, &copies, IR_LOG_INFO};
  rt_options options = {.threads = 1, .cache_dir = directory, .no_compile = true, .log = &log};
  float x[N], y[N], out[N];
  char permissions[5], name[300];
  ir_error error = {0};
  rt_context *c;
  rt_program *p = NULL;
  for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1, out[i] = -1;
  if (rt_context_create(&ir_mem_libc, &options, &c, &error)) return 2;
  if (rt_program_find(c, "kept", 4, &p, &error) || !p) return 3;
  backing(p->code.base, permissions, name);
  if (strcmp(permissions, "r-xp") != 0) return 4;
  if (rt_program_run(p, (void *[]){x, y}, (void *[]){out}, NULL, &error)) return 5;
  for (int i = 0; i < N; i++)
    if (out[i] != x[i] * 6 + y[i]) return 6;
  if (copies != 1) return 7;
  rt_program_release(p);
  rt_context_destroy(c);
  return 0;
}

/* Some systems let no anonymous memory become executable; Linux does it on request since 6.3. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif
enum { CANNOT = 77 };

static void runs_where_memory_cannot_become_executable(void **state) {
  int status;
  keep_one();
  pid_t child = fork();
  if (child == 0)
    _exit(prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) ? CANNOT : find_and_run(p_place()));
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
    print_message("this kernel has no PR_SET_MDWE\n");
    skip();
  }
  assert_int_equal(status, 0);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, runs_on_when_truncated, runs_on_when_overwritten,
                   runs_on_when_removed, no_file_backs_code, runs_where_memory_cannot_become_executable)
