/* Mapped files that are written to, shortened, replaced and removed while they are read; the handler of
 * SIGBUS among other handlers; digests of ranges that are kept on disk. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache/range_digests.h"
#include "runtime/system/bus_error.h"
#include "runtime/system/pool.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

enum { PAGES = 64, STRIDE = 64 };
static char folder[200], path[300];
static size_t page, size;
static uint8_t *contents;

static int set_up(void **state) {
  page = (size_t)sysconf(_SC_PAGESIZE);
  size = PAGES * page;
  contents = malloc(size);
  for (size_t i = 0; i < size; i++) contents[i] = (uint8_t)(1 + i % 251);
  if (!test_folder_make(folder, sizeof folder)) return 1;
  snprintf(path, sizeof path, "%s/file", folder);
  return 0;
}

static int tear_down(void **state) {
  free(contents);
  test_folder_remove(folder);
  return 0;
}

static rt_mapped_file *map_new(void) {
  ir_error error = {0};
  rt_mapped_file *f;
  unlink(path);
  unit_write_file(path, contents, size);
  if (rt_mapped_open(&ir_mem_libc, path, &f, &error)) fail_msg("%s", error.text);
  assert_int_equal(rt_mapped_identity(f)->size, size);
  return f;
}

static void expect_refused(const rt_mapped_file *f, const char *why) {
  ir_error error = {0};
  assert_int_equal(rt_mapped_check(f, &error), IR_ERR_IO);
  assert_non_null(strstr(error.text, path));
  assert_non_null(strstr(error.text, why));
}

static void test_unchanged(void **state) {
  ir_error error = {0};
  rt_mapped_file *f = map_new();
  assert_memory_equal(rt_mapped_bytes(f), contents, size);
  assert_int_equal(rt_mapped_check(f, &error), IR_OK);
  char other[320];
  snprintf(other, sizeof other, "%s.other", path);
  assert_int_equal(rename(path, other), 0); /* other names of the same file */
  assert_int_equal(link(other, path), 0);
  assert_int_equal(chmod(path, 0600), 0);
  assert_int_equal(rt_mapped_check(f, &error), IR_OK);
  unlink(path), unlink(other);
  unit_write_file(path, "x", 1); /* another file of its name */
  assert_int_equal(rt_mapped_check(f, &error), IR_OK);
  assert_memory_equal(rt_mapped_bytes(f), contents, size);
  rt_mapped_release(f);
}

static void test_written_to(void **state) {
  rt_mapped_file *f = map_new(); /* opening it waits for a tick of the clock */
  int fd = open(path, O_WRONLY);
  assert_int_equal(pwrite(fd, "new", 3, 100), 3);
  close(fd);
  expect_refused(f, "was changed after it was opened");
  rt_mapped_release(f);
}

static void test_shortened(void **state) {
  rt_mapped_file *f = map_new();
  const volatile uint8_t *bytes = rt_mapped_bytes(f);
  assert_int_equal(truncate(path, (off_t)page), 0);
  expect_refused(f, "was changed");
  assert_int_equal(bytes[page - 1], contents[page - 1]);
  for (size_t i = page; i < size; i++) assert_int_equal(bytes[i], 0);
  expect_refused(f, "has become shorter");
  assert_int_equal(truncate(path, (off_t)size), 0); /* what was read is wrong all the same */
  expect_refused(f, "has become shorter");
  rt_mapped_release(f);
}

/* Threads of a pool block the signals of the program, but not this one. */
static void add_up(void *user, int worker, int64_t begin, int64_t end) {
  const volatile uint8_t *bytes = user;
  (void)worker;
  unsigned sum = 0;
  for (int64_t i = begin; i < end; i++) sum += bytes[i * STRIDE];
  (void)sum;
}

static void test_threads(void **state) {
  ir_error error = {0};
  rt_pool *pool = rt_pool_create(&ir_mem_libc, 4, &error);
  for (int i = 0; i < 20; i++) {
    rt_mapped_file *f = map_new();
    assert_int_equal(truncate(path, (off_t)(page * (size_t)i)), 0);
    rt_pool_run(pool, add_up, (void *)(uintptr_t)rt_mapped_bytes(f), (int64_t)size / STRIDE, 16,
                RT_POOL_LONG);
    expect_refused(f, "has become shorter");
    rt_mapped_release(f);
  }
  rt_pool_destroy(pool);
}

/* other handlers */

static sigjmp_buf back;
static volatile sig_atomic_t seen;
static void jump(int number, siginfo_t *info, void *context) {
  (void)number, (void)info, (void)context;
  seen = seen + 1;
  siglongjmp(back, 1);
}

/* Reads the last page of a file of this test's own, which has become shorter. */
static void read_behind_end(void) {
  char own[320];
  snprintf(own, sizeof own, "%s.own", path);
  unit_write_file(own, contents, size);
  int fd = open(own, O_RDWR);
  volatile uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  assert_int_equal(ftruncate(fd, 0), 0);
  close(fd);
  if (sigsetjmp(back, 1) == 0) (void)map[size - 1];
  munmap((void *)(uintptr_t)map, size);
}

static void test_earlier_handler(void **state) {
  struct sigaction mine = {.sa_flags = SA_SIGINFO}, before, now;
  mine.sa_sigaction = jump;
  sigaction(SIGBUS, &mine, &before);
  rt_mapped_file *f = map_new(), *second;
  ir_error error = {0};
  assert_int_equal(rt_mapped_open(&ir_mem_libc, path, &second, &error), IR_OK);
  seen = 0;
  read_behind_end();
  assert_int_equal(seen, 1); /* it still has what is its own */
  assert_int_equal(truncate(path, 0), 0);
  assert_int_equal(rt_mapped_bytes(f)[size - 1], 0);
  assert_int_equal(seen, 1);
  rt_mapped_release(f);
  assert_int_equal(rt_mapped_bytes(second)[size - 1], 0);
  rt_mapped_release(second);
  sigaction(SIGBUS, &before, &now);
  assert_true(now.sa_sigaction == jump); /* nothing is mapped any more */
}

static struct sigaction earlier;
static void pass_on(int number, siginfo_t *info, void *context) {
  seen = seen + 1;
  earlier.sa_sigaction(number, info, context);
}

/* A handler that is installed later and passes signals on; files that are opened after that close no circle.
 */
static void test_later_handler(void **state) {
  struct sigaction first = {.sa_flags = SA_SIGINFO}, mine = {.sa_flags = SA_SIGINFO}, before;
  first.sa_sigaction = jump;
  sigaction(SIGBUS, &first, &before);
  rt_mapped_file *f = map_new(), *second;
  mine.sa_sigaction = pass_on;
  sigaction(SIGBUS, &mine, &earlier);
  ir_error error = {0};
  assert_int_equal(rt_mapped_open(&ir_mem_libc, path, &second, &error), IR_OK);
  assert_int_equal(truncate(path, 0), 0);
  seen = 0;
  assert_int_equal(rt_mapped_bytes(f)[size - 1], 0);
  assert_int_equal(rt_mapped_bytes(second)[0], 0);
  assert_int_equal(seen, 2);
  read_behind_end();
  assert_int_equal(seen, 4);
  signal(SIGBUS, SIG_DFL); /* one that was taken away comes back with the next file */
  rt_mapped_file *third = map_new();
  assert_int_equal(truncate(path, 0), 0);
  assert_int_equal(rt_mapped_bytes(third)[size - 1], 0);
  rt_mapped_release(f), rt_mapped_release(second), rt_mapped_release(third);
  sigaction(SIGBUS, &before, NULL);
}

/* Without a handler of its own, a program ends as it would without ours: by another process's signal, and by
 * its own fault. */
static void expect_end(void (*act)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    freopen("/dev/null", "w", stderr);
    rt_mapped_file *f = map_new();
    act();
    rt_mapped_release(f);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}
static void send_signal(void) { kill(getpid(), SIGBUS); }
static void test_standard_action(void **state) {
  expect_end(send_signal);
  expect_end(read_behind_end);
}

static void test_refused(void **state) {
  ir_error error = {0};
  rt_mapped_file *f;
  unlink(path);
  assert_int_equal(rt_mapped_open(&ir_mem_libc, path, &f, &error), IR_ERR_IO);
  assert_non_null(strstr(error.text, "No such file"));
  ir_error_clear(&error);
  assert_int_equal(rt_mapped_open(&ir_mem_libc, folder, &f, &error), IR_ERR_INVALID);
  ir_error_clear(&error);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(rt_mapped_open(&ir_mem_libc, path, &f, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, "not a regular file"));
  unlink(path);
  ir_error_clear(&error);
  unit_write_file(path, "", 0);
  assert_int_equal(rt_mapped_open(&ir_mem_libc, path, &f, &error), IR_OK);
  assert_int_equal(rt_mapped_identity(f)->size, 0);
  assert_int_equal(rt_mapped_check(f, &error), IR_OK);
  rt_mapped_release(f);
}

/* digests */

/* Digests some ranges; how many of them were read. */
static size_t digest(rt_disk *disk, size_t first, size_t count) {
  ir_error error = {0};
  rt_range_digests d;
  rt_mapped_file *f;
  if (rt_mapped_open(&ir_mem_libc, path, &f, &error)) fail_msg("%s", error.text);
  rt_range_digests_open(&d, &ir_mem_libc, disk, f);
  for (size_t i = first; i < first + count; i++) {
    rt_digest found, want = rt_digest_of(rt_mapped_bytes(f) + 16 * i, 16);
    assert_int_equal(rt_range_digest_of(&d, 16 * i, 16, &found, &error), IR_OK);
    assert_true(rt_digest_equal(found, want));
  }
  size_t read = d.read;
  rt_range_digests_close(&d);
  rt_mapped_release(f);
  return read;
}

static void age(void) { /* no program can set the time of the last change: it has to pass */
  struct timespec t = {2, 100000000};
  nanosleep(&t, NULL);
}

static void test_digests(void **state) {
  char cache[320];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  rt_disk *disk = rt_disk_open(&ir_mem_libc, cache, 0, NULL);
  rt_mapped_release(map_new());
  assert_int_equal(digest(disk, 0, 5), 5);
  assert_int_equal(digest(disk, 0, 5), 5); /* the file is too new */
  age();
  assert_int_equal(digest(disk, 0, 200), 200);
  assert_int_equal(digest(disk, 0, 200), 0);
  assert_int_equal(digest(disk, 100, 150), 50); /* what is new is added */
  assert_int_equal(digest(disk, 0, 250), 0);
  assert_int_equal(digest(NULL, 0, 250), 250);
  struct timespec times[2];
  struct stat old;
  assert_int_equal(stat(path, &old), 0);
  times[0] = old.st_atim, times[1] = old.st_mtim;
  int fd = open(path, O_WRONLY);
  assert_int_equal(pwrite(fd, "new", 3, 0), 3);
  close(fd);
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0); /* hides the write from all but st_ctim */
  assert_int_equal(digest(disk, 0, 250), 250);
  rt_disk_close(disk);
}

static void test_damaged_digests(void **state) {
  char cache[320];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  rt_disk *disk = rt_disk_open(&ir_mem_libc, cache, 0, NULL);
  ir_error error = {0};
  rt_mapped_file *f = map_new();
  rt_file_identity key = *rt_mapped_identity(f);
  rt_range_digest outside[] = {{0, 16, {1, 2}}, {size, 16, {1, 2}}, {16, 16, {1, 2}}};
  assert_true(rt_disk_put(disk, "digest", &key, sizeof key, outside, sizeof outside - 5));
  rt_range_digests d;
  rt_range_digests_open(&d, &ir_mem_libc, disk, f);
  rt_digest found;
  assert_int_equal(rt_range_digest_of(&d, 16, 16, &found, &error), IR_OK);
  assert_int_equal(d.read, 1); /* the list ends at what cannot be */
  assert_int_equal(truncate(path, 0), 0);
  assert_int_equal(rt_range_digest_of(&d, 32, 16, &found, &error), IR_ERR_IO);
  rt_range_digests_close(&d);
  rt_mapped_release(f);
  rt_disk_close(disk);
}

/* KiB of the mapping at `bytes` that are in this process's memory, as the system says; -1 where it does not.
 */
static long resident(const uint8_t *bytes) {
  char line[512], begin[40];
  long found = -1;
  bool here = false;
  FILE *maps = fopen("/proc/self/smaps", "r");
  snprintf(begin, sizeof begin, "%lx-", (unsigned long)(uintptr_t)bytes);
  while (maps && found < 0 && fgets(line, sizeof line, maps)) {
    here |= strncmp(line, begin, strlen(begin)) == 0;
    if (here) sscanf(line, "Rss: %ld kB", &found);
  }
  if (maps) fclose(maps);
  return found;
}

/* Large ranges have the digest of their bytes, and are not left in memory. */
static void test_large_ranges(void **state) {
  (void)state;
  enum { LARGE = 24 << 20 };
  uint8_t *bytes = malloc(LARGE);
  assert_non_null(bytes);
  for (size_t i = 0; i < LARGE; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
  unlink(path);
  unit_write_file(path, bytes, LARGE);
  static const size_t ranges[][2] = {{0, LARGE},   {1, LARGE - 1}, {4095, 4 << 20}, {8 << 20, (4 << 20) + 1},
                                     {5, 8 << 20}, {77, 240}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    ir_error error = {0};
    rt_mapped_file *f;
    rt_range_digests d;
    rt_digest found, want = rt_digest_of(bytes + ranges[i][0], ranges[i][1]);
    if (rt_mapped_open(&ir_mem_libc, path, &f, &error)) fail_msg("%s", error.text);
    rt_range_digests_open(&d, &ir_mem_libc, NULL, f);
    assert_int_equal(rt_range_digest_of(&d, ranges[i][0], ranges[i][1], &found, &error), IR_OK);
    assert_true(rt_digest_equal(found, want));
    assert_true(resident(rt_mapped_bytes(f)) < LARGE / 4 / 1024);
    assert_memory_equal(rt_mapped_bytes(f), bytes, LARGE); /* it comes back */
    rt_range_digests_close(&d);
    rt_mapped_release(f);
  }
  free(bytes);
}

UNIT_TESTS_BETWEEN(set_up, tear_down, test_unchanged, test_written_to, test_shortened, test_threads,
                   test_earlier_handler, test_later_handler, test_standard_action, test_refused, test_digests,
                   test_damaged_digests, test_large_ranges)
