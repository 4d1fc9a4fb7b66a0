/* The cache on disk: stored entries are found, by every process; damaged entries are misses and never wrong
 * results; no process sees half an entry; the cache stays within its limit; where nothing can be written,
 * nothing fails. */
#include "runtime/cache/disk.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache/walk.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static char place[64];

static int make_place(void **state) {
  snprintf(place, sizeof place, "/tmp/viewfold-test-XXXXXX");
  return mkdtemp(place) ? 0 : 1;
}

static int remove_place(void **state) {
  unit_shell("chmod -R u+w %s; rm -rf %s", place, place);
  return 0;
}

static void close_disk(void *disk) { rt_disk_close(disk); }

static rt_disk *open_disk(const char *directory, int64_t cap) {
  ir_error error = {0};
  rt_disk *disk = rt_disk_open(&ir_mem_libc, directory, cap, &error);
  assert_non_null(disk);
  return unit_keep(disk, close_disk);
}

static bool put(rt_disk *disk, const char *key, const char *payload) {
  return rt_disk_put(disk, "code", key, strlen(key), payload, strlen(payload));
}

/* 1: found and right; 0: a miss; -1: found and wrong. */
static int get(rt_disk *disk, const char *key, const char *payload) {
  rt_found found;
  if (!rt_disk_get(disk, "code", key, strlen(key), &found)) return 0;
  bool right = found.size == strlen(payload) && !memcmp(found.payload, payload, found.size) &&
               found.payload == (uint8_t *)found.map + found.offset && found.offset % RT_DISK_ALIGN == 0;
  rt_disk_release(&found);
  return right ? 1 : -1;
}

static void entry_file(const char *key, char path[256]) {
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(rt_digest_of(key, strlen(key)), hex);
  snprintf(path, 256, "%s/c/%.2s/%s.code", place, hex, hex + 2);
}

static rt_disk *reopened(int64_t cap) {
  char directory[80];
  snprintf(directory, sizeof directory, "%s/c", place);
  return open_disk(directory, cap);
}

static rt_disk *fresh(int64_t cap) {
  unit_shell("rm -rf %s/c", place);
  return reopened(cap);
}

static void finds_what_was_stored(void **state) {
  rt_disk *disk = fresh(0);
  assert_int_equal(get(disk, "key", "value"), 0);
  assert_true(put(disk, "key", "value"));
  assert_int_equal(get(disk, "key", "value"), 1);
  assert_int_equal(get(disk, "kez", "value"), 0);
  assert_int_equal(get(disk, "ke", "value"), 0);
  assert_true(put(disk, "key", "another value"));
  assert_int_equal(get(disk, "key", "another value"), 1);
  unit_release(disk);
  disk = reopened(0);
  assert_int_equal(get(disk, "key", "another value"), 1);
  rt_disk_remove(disk, "code", "key", 3);
  assert_int_equal(get(disk, "key", "another value"), 0);
  rt_disk_counts counts;
  rt_disk_count(disk, &counts);
  assert_int_equal(counts.hits, 1);
  assert_int_equal(counts.misses, 1);
}

static void sizes_of_all_kinds(void **state) {
  static const size_t sizes[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 300000};
  rt_disk *disk = fresh(0);
  char *bytes = malloc(300007);
  for (size_t i = 0; i < 300007; i++) bytes[i] = (char)(i * 2654435761u >> 13);
  for (int k = 0; k < 9; k++)
    for (int p = 0; p < 9; p++) {
      rt_found found;
      assert_true(rt_disk_put(disk, "plan", bytes, sizes[k], bytes + 7, sizes[p] ? sizes[p] - 1 : 0));
      assert_true(rt_disk_get(disk, "plan", bytes, sizes[k], &found));
      assert_int_equal(found.size, sizes[p] ? sizes[p] - 1 : 0);
      assert_memory_equal(found.payload, bytes + 7, found.size);
      assert_int_equal((uintptr_t)found.payload % RT_DISK_ALIGN, 0);
      rt_disk_release(&found);
    }
  assert_true(rt_disk_put(disk, "plan", NULL, 0, NULL, 0));
  free(bytes);
}

static void kinds_are_apart(void **state) {
  rt_disk *disk = fresh(0);
  rt_found found;
  assert_true(rt_disk_put(disk, "code", "k", 1, "one", 3));
  assert_true(rt_disk_put(disk, "plan", "k", 1, "two!", 4));
  assert_true(rt_disk_get(disk, "plan", "k", 1, &found));
  assert_int_equal(found.size, 4);
  rt_disk_release(&found);
  static const char *const bad[] = {"", "../x", "Code", "a b", "abcdefghijklmnop", "a/b"};
  for (int i = 0; i < 6; i++) {
    assert_false(rt_disk_put(disk, bad[i], "k", 1, "x", 1));
    assert_false(rt_disk_get(disk, bad[i], "k", 1, &found));
  }
  rt_disk_stats stats;
  ir_error error = {0};
  assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, &error), IR_OK);
  assert_int_equal(stats.entries, 2);
  assert_int_equal(stats.kinds, 2);
  assert_int_equal(stats.kind[0].entries + stats.kind[1].entries, 2);
  assert_int_equal(stats.kind[0].bytes + stats.kind[1].bytes, stats.bytes);
}

static void directory_is_private(void **state) {
  rt_disk *disk = fresh(0);
  struct stat s;
  assert_int_not_equal(stat(rt_disk_directory(disk), &s), 0); /* looking up creates nothing */
  assert_int_equal(get(disk, "k", "v"), 0);
  assert_int_not_equal(stat(rt_disk_directory(disk), &s), 0);
  assert_true(put(disk, "k", "v"));
  assert_int_equal(stat(rt_disk_directory(disk), &s), 0);
  assert_int_equal(s.st_mode & 0777, 0700);
  char path[256];
  entry_file("k", path);
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_mode & 0777, 0600);
}

static void directory_from_the_environment(void **state) {
  static const struct {
    const char *own, *xdg, *home, *expected;
  } cases[] = {
      {"/a/b", "/x", "/h", "/a/b"},
      {NULL, "/x", "/h", "/x/viewfold"},
      {"", "relative", "/h", "/h/.cache/viewfold"},
      {NULL, NULL, "/h", "/h/.cache/viewfold"},
      {NULL, NULL, NULL, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const names[] = {"VIEWFOLD_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    const char *const values[] = {cases[i].own, cases[i].xdg, cases[i].home};
    for (int n = 0; n < 3; n++) {
      if (values[n]) setenv(names[n], values[n], 1);
      else unsetenv(names[n]);
    }
    rt_disk *disk = open_disk(NULL, 0);
    assert_string_equal(rt_disk_directory(disk), cases[i].expected);
    unit_release(disk);
  }
  rt_disk *disk = open_disk(NULL, 0); /* no directory: a cache without entries */
  assert_false(put(disk, "k", "v"));
  assert_int_equal(get(disk, "k", "v"), 0);
  rt_disk_stats stats;
  assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, NULL), IR_OK);
  assert_int_equal(stats.entries, 0);
  unit_release(disk);
  char longest[5000];
  memset(longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  ir_error error = {0};
  assert_null(rt_disk_open(&ir_mem_libc, longest, 0, &error));
  assert_string_equal(error.text, "cache: the directory's name is longer than 3583 bytes");
}

static const char long_value[] =
    "a payload long enough to have a middle, and a second half that comes after the middle";

static void damaged_entries_are_misses(void **state) {
  rt_disk *disk = fresh(0);
  char path[256];
  uint8_t good[1024], bad[1024];
  entry_file("the key", path);
  assert_true(put(disk, "the key", long_value));
  size_t size = unit_read_file(path, good, sizeof good);
  size_t key_end = sizeof(rt_disk_head) + 7, payload = size - strlen(long_value);
  const size_t magic = offsetof(rt_disk_head, version);
  for (size_t at = 0; at < size; at++)
    for (int bit = 0; bit < 8; bit++) {
      memcpy(bad, good, size);
      bad[at] ^= (uint8_t)(1 << bit);
      unit_write_file(path, bad, size);
      bool padding = at >= key_end && at < payload, ours = at >= magic;
      assert_int_equal(get(disk, "the key", long_value), padding ? 1 : 0);
      /* damaged entries are removed, unless they do not look like the library's own */
      assert_int_equal(access(path, F_OK), padding || !ours ? 0 : -1);
    }
  for (size_t length = 0; length < size; length++) {
    unit_write_file(path, good, length);
    assert_int_equal(get(disk, "the key", long_value), 0);
    assert_int_equal(access(path, F_OK), length < magic ? 0 : -1);
  }
  memcpy(bad, good, size);
  bad[size] = 0;
  unit_write_file(path, bad, size + 1);
  assert_int_equal(get(disk, "the key", long_value), 0);
  assert_true(put(disk, "the key", long_value));
  assert_int_equal(get(disk, "the key", long_value), 1);
  rt_disk_counts counts;
  rt_disk_count(disk, &counts);
  assert_true(counts.damaged > size);
}

/* Misses: an entry under another's name (as with an equal digest), under a name of another kind, others'
 * files, and names that are no regular files. spec: H3.U */
static void foreign_entries_are_misses(void **state) {
  rt_disk *disk = fresh(0);
  char path[256], other[256], plan[256];
  entry_file("k1", path);
  entry_file("k2", other);
  assert_true(put(disk, "k1", "one") && put(disk, "k2", "two"));
  unit_shell("cp %s %s", path, other);
  assert_int_equal(get(disk, "k2", "two"), 0);
  assert_int_equal(get(disk, "k1", "one"), 1);
  snprintf(plan, sizeof plan, "%.*splan", (int)strlen(path) - 4, path);
  unit_shell("cp %s %s", path, plan);
  rt_found found;
  assert_false(rt_disk_get(disk, "plan", "k1", 2, &found));
  chmod(path, 0622);
  assert_int_equal(get(disk, "k1", "one"), 0);
  chmod(path, 0600);
  assert_int_equal(get(disk, "k1", "one"), 1);
  if (geteuid() == 0) {
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(get(disk, "k1", "one"), 0);
    assert_int_equal(access(path, F_OK), 0);
  }
  unit_shell("mv %s %s/aside; ln -s %s/aside %s", path, place, place, path);
  assert_int_equal(get(disk, "k1", "one"), 0);
  unit_shell("rm %s; mkfifo %s", path, path);
  assert_int_equal(get(disk, "k1", "one"), 0);
  unit_shell("rm %s; mkdir %s", path, path);
  assert_int_equal(get(disk, "k1", "one"), 0);
  assert_false(put(disk, "k1", "one")); /* a directory is in the way */
  unit_shell("rmdir %s", path);
  assert_true(put(disk, "k1", "one"));
  assert_int_equal(get(disk, "k1", "one"), 1);
}

static void unwritable_places_are_silent(void **state) {
  rt_disk *disk = open_disk("/proc/viewfold", 0);
  assert_false(put(disk, "k", "v"));
  assert_int_equal(get(disk, "k", "v"), 0);
  rt_disk_counts counts;
  rt_disk_count(disk, &counts);
  assert_int_equal(counts.failed_stores, 1);
  assert_int_equal(counts.stores, 0);
  unit_release(disk);
  char file[80];
  snprintf(file, sizeof file, "%s/file", place);
  unit_write_file(file, (const uint8_t *)"x", 1);
  disk = open_disk(file, 0); /* not a directory */
  assert_false(put(disk, "k", "v"));
  assert_int_equal(get(disk, "k", "v"), 0);
}

/* A store that runs out of space leaves nothing behind. */
static void full_disks_leave_nothing(void **state) {
  pid_t child = fork();
  if (child == 0) {
    rt_disk *disk = fresh(0);
    bool first = put(disk, "k0", "v");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    char big[5000];
    memset(big, 'x', sizeof big);
    bool stored = rt_disk_put(disk, "code", "k1", 2, big, sizeof big);
    rt_found found;
    bool seen = rt_disk_get(disk, "code", "k1", 2, &found);
    unit_release(disk);
    _exit(!first || stored || seen);
  }
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  unit_shell("test $(find %s/c -type f | wc -l) = 1", place);
}

static void set_age(const char *key, int hours) {
  char path[256];
  entry_file(key, path);
  struct timespec t[2] = {{time(NULL) - hours * 3600, 0}, {time(NULL) - hours * 3600, 0}};
  assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void prunes_what_was_not_used(void **state) {
  rt_disk *disk = fresh(0);
  char key[16], path[256];
  for (int i = 0; i < 10; i++) {
    snprintf(key, sizeof key, "key %d", i);
    assert_true(put(disk, key, "v"));
    set_age(key, 100 - i);
  }
  assert_int_equal(get(disk, "key 0", "v"), 1); /* the oldest becomes the newest */
  struct stat s;
  entry_file("key 0", path);
  assert_int_equal(stat(path, &s), 0);
  assert_true(time(NULL) - s.st_mtime < 3600); /* it was a hundred hours old */
  rt_disk_pruned done;
  ir_error error = {0};
  assert_int_equal(rt_disk_prune(disk, 3 * s.st_size, NULL, NULL, &done, &error), IR_OK);
  assert_int_equal(done.removed, 7);
  for (int i = 0; i < 10; i++) {
    snprintf(key, sizeof key, "key %d", i);
    assert_int_equal(get(disk, key, "v"), i == 0 || i >= 8);
  }
  assert_int_equal(done.removed_bytes, 7 * s.st_size);
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, &done, &error), IR_OK);
  assert_int_equal(done.removed, 3);
  assert_int_equal(done.stuck, 0);
  unit_shell("test -z \"$(find %s/c -type f)\"", place);
}

static void recent_use_is_not_written_down(void **state) {
  rt_disk *disk = fresh(0);
  char path[256];
  assert_true(put(disk, "k", "v"));
  entry_file("k", path);
  struct timespec t[2] = {{time(NULL) - 1800, 0}, {time(NULL) - 1800, 0}};
  utimensat(AT_FDCWD, path, t, 0);
  assert_int_equal(get(disk, "k", "v"), 1);
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_mtime, t[0].tv_sec);
}

static void stays_under_its_cap(void **state) {
  rt_disk *disk = fresh(64 << 10);
  static char payload[2000];
  for (int i = 0; i < 300; i++) assert_true(rt_disk_put(disk, "code", &i, sizeof i, payload, sizeof payload));
  rt_disk_stats stats;
  ir_error error = {0};
  assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, &error), IR_OK);
  assert_true(stats.bytes <= (64 << 10) + (64 << 10) / 16 + 4096);
  assert_true(stats.bytes >= 40 << 10);
  rt_disk_counts counts;
  rt_disk_count(disk, &counts);
  assert_int_equal(counts.pruned + stats.entries, 300);
}

typedef struct reports {
  int count;
  char why[8][80];
} reports;
static void collect(void *context, const char *path, const char *why) {
  reports *r = context;
  if (r->count < 8) snprintf(r->why[r->count], 80, "%s", why);
  r->count++;
}

static void verify_names_what_is_bad(void **state) {
  rt_disk *disk = fresh(0);
  char path[256], other[256];
  rt_disk_verified done;
  ir_error error = {0};
  reports r = {0};
  assert_int_equal(rt_disk_verify(disk, collect, &r, &done, &error), IR_OK);
  assert_int_equal(done.checked + done.damaged + done.unread, 0);
  for (int i = 0; i < 20; i++) assert_true(rt_disk_put(disk, "code", &i, sizeof i, "value", 5));
  assert_true(put(disk, "k1", "v1") && put(disk, "k2", "v2"));
  assert_int_equal(rt_disk_verify(disk, collect, &r, &done, &error), IR_OK);
  assert_int_equal(done.checked, 22);
  assert_int_equal(done.damaged, 0);
  entry_file("k1", path);
  entry_file("k2", other);
  unit_shell("cp %s %s; printf x >> %s", path, other, path);
  assert_int_equal(rt_disk_verify(disk, collect, &r, &done, &error), IR_OK);
  assert_int_equal(done.checked, 22);
  assert_int_equal(done.damaged, 2);
  assert_int_equal(done.unread, 0);
  assert_int_equal(r.count, 2);
  bool swapped = !strcmp(r.why[0], "not as long as it says");
  assert_string_equal(r.why[swapped], "the key does not match its name");
  assert_string_equal(r.why[!swapped], "not as long as it says");
  assert_int_equal(access(path, F_OK), 0);
}

/* As an ordinary user, whom root's files and directories do not concern. */
static void what_is_not_ours_is_told(void **state) {
  rt_disk *disk = fresh(0);
  for (int i = 0; i < 3; i++) assert_true(rt_disk_put(disk, "code", &i, sizeof i, "value", 5));
  bool root = geteuid() == 0;
  unit_shell("chmod 0755 %s", place);
  unit_shell("find %s/c -type d -exec chmod 0555 {} + && find %s/c -type f -exec chmod 0%d00 {} +", place,
             place, root ? 4 : 0);
  if (root) assert_int_equal(seteuid(65534), 0);
  rt_disk_verified seen;
  rt_disk_pruned done;
  reports r = {0};
  ir_error error = {0};
  ir_status verified = rt_disk_verify(disk, collect, &r, &seen, &error);
  ir_status pruned = rt_disk_prune(disk, 0, collect, &r, &done, &error);
  if (root) assert_int_equal(seteuid(0), 0);
  assert_int_equal(verified, IR_OK);
  assert_int_equal(pruned, IR_OK);
  assert_int_equal(seen.checked, 3);
  assert_int_equal(seen.unread, 3);
  assert_int_equal(seen.damaged, 0);
  assert_int_equal(done.stuck, 3);
  assert_int_equal(done.removed, 0);
  assert_int_equal(r.count, 6);
  assert_string_equal(r.why[0], "cannot be opened");
  assert_string_equal(r.why[3], "cannot be opened");
  unit_shell("find %s/c -type d -exec chmod 0755 {} +; chmod 0700 %s", place, place);
}

/* Eight processes store and look up the same and different keys. Payloads contain their key and writer, and
 * are long, so that half an entry would be noticed. */
enum { PROCESSES = 8, KEYS = 12, PAYLOAD = 20000 };

static void fill(char *payload, int key, int writer) {
  for (int i = 0; i < PAYLOAD; i++) payload[i] = (char)(key * 31 + writer * 7 + i);
}

static int one_process(int writer, int iterations) {
  static char payload[PAYLOAD], expected[PAYLOAD];
  rt_disk *disk = reopened(0);
  unsigned random = (unsigned)writer * 7919 + 1;
  int hits = 0;
  for (int iteration = 0; iteration < iterations; iteration++) {
    random = random * 1103515245 + 12345;
    int key = (int)(random >> 16) % KEYS;
    rt_found found;
    if (rt_disk_get(disk, "code", &key, sizeof key, &found)) {
      bool right = false;
      for (int w = 0; w < PROCESSES && !right && found.size == PAYLOAD; w++) {
        fill(expected, key, w);
        right = !memcmp(found.payload, expected, PAYLOAD);
      }
      rt_disk_release(&found);
      if (!right) return 1;
      hits++;
    }
    if (random >> 28 < 8) {
      fill(payload, key, writer);
      if (!rt_disk_put(disk, "code", &key, sizeof key, payload, PAYLOAD)) return 2;
    }
    if (random >> 20 == 5) rt_disk_prune(disk, PAYLOAD * 3, NULL, NULL, NULL, NULL);
  }
  rt_disk_counts counts;
  rt_disk_count(disk, &counts);
  unit_release(disk);
  return counts.damaged ? 3 : hits ? 0 : 4;
}

static void processes_never_see_halves(void **state) {
  unit_release(fresh(0));
  pid_t child[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    child[i] = fork();
    if (child[i] == 0) _exit(one_process(i, 400));
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_int_equal(status, 0);
  }
  unit_shell("test -z \"$(find %s/c -name '.*' -type f)\"", place); /* no temporary file is left */
}

static void short_of_memory(void **state) {
  test_budget budget = {0, 0};
  ir_mem mem = {test_budget_hook, &budget};
  ir_error error = {0};
  assert_null(rt_disk_open(&mem, place, 0, &error));
  assert_int_equal(error.status, IR_ERR_MEMORY);
  unit_release(fresh(0));
  budget.left = 1;
  char directory[80];
  snprintf(directory, sizeof directory, "%s/c", place);
  ir_error_clear(&error);
  rt_disk *disk = rt_disk_open(&mem, directory, 0, &error);
  assert_non_null(disk);
  assert_true(put(disk, "k", "v")); /* needs no memory */
  assert_int_equal(get(disk, "k", "v"), 1);
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, NULL, &error), IR_ERR_MEMORY);
  assert_int_equal(get(disk, "k", "v"), 1);
  rt_disk_close(disk);
}

static void digest_is_the_published_one(void **state) {
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(rt_digest_of("", 0), hex);
  assert_string_equal(hex, "99aa06d3014798d86001c324468d497f"); /* XXH3-128 of nothing, seed 0 */
}

UNIT_TESTS_BETWEEN(make_place, remove_place, finds_what_was_stored, sizes_of_all_kinds, kinds_are_apart,
                   directory_is_private, directory_from_the_environment, damaged_entries_are_misses,
                   foreign_entries_are_misses, unwritable_places_are_silent, full_disks_leave_nothing,
                   prunes_what_was_not_used, recent_use_is_not_written_down, stays_under_its_cap,
                   verify_names_what_is_bad, what_is_not_ours_is_told, processes_never_see_halves,
                   short_of_memory, digest_is_the_published_one)
