/* Which files and directories the cache on disk trusts, and what it removes: nothing is read or stored where
 * another user could have written, and only the cache's own files are unlinked. */
#include "runtime/cache/disk.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache/walk.h"
#include "test/lib/unit.h"

enum { ANOTHER = 12345 }; /* the id of a user that does not exist here */

static char place[64], cache[80];

static int make_place(void **state) {
  snprintf(place, sizeof place, "/tmp/viewfold-test-XXXXXX");
  if (!mkdtemp(place)) return 1;
  snprintf(cache, sizeof cache, "%s/c", place);
  umask(022);
  return 0;
}

static int remove_place(void **state) {
  unit_shell("chmod -R u+w %s; rm -rf %s", place, place);
  return 0;
}

/* The reports of a walk. */
typedef struct reports {
  int count;
  char path[8][300], why[8][RT_DISK_WHY];
} reports;

static void collect(void *context, const char *path, const char *why) {
  reports *r = context;
  if (r->count < 8) {
    snprintf(r->path[r->count], sizeof *r->path, "%s", path);
    snprintf(r->why[r->count], sizeof *r->why, "%s", why);
  }
  r->count++;
}

/* The same of a line of the log, `cache: PATH is not used: WHY`. */
static void collect_line(void *context, int level, const char *text) {
  static const char before[] = "cache: ", between[] = " is not used: ";
  const char *path = text + sizeof before - 1, *at = strstr(text, between);
  char name[300];
  assert_true(level == IR_LOG_WARNING || level == IR_LOG_INFO);
  if (!at) fail_msg("'%s' does not say what is not used", text);
  snprintf(name, sizeof name, "%.*s", (int)(at - path), path);
  collect(context, name, at + sizeof between - 1);
}

static void close_disk(void *disk) { rt_disk_close(disk); }

/* Closed when the running test ends. */
static rt_disk *open_disk(const char *directory, int64_t cap, reports *r) {
  ir_error error = {0};
  rt_disk *disk = rt_disk_open(&ir_mem_libc, directory, cap, &error);
  assert_non_null(disk);
  ir_log *log = unit_keep(malloc(sizeof *log), free);
  *log = (ir_log){collect_line, r, IR_LOG_INFO};
  if (r) *r = (reports){0}, rt_disk_tell(disk, log);
  return unit_keep(disk, close_disk);
}

static bool put(rt_disk *disk, const char *key) {
  return rt_disk_put(disk, "code", key, strlen(key), "v", 1);
}

static bool get(rt_disk *disk, const char *key) {
  rt_found found;
  if (!rt_disk_get(disk, "code", key, strlen(key), &found)) return false;
  assert_int_equal(found.size, 1);
  assert_memory_equal(found.payload, "v", 1);
  rt_disk_release(&found);
  return true;
}

static void entry_file(const char *key, char path[300]) {
  char hex[RT_DIGEST_HEX];
  rt_digest_hex(rt_digest_of(key, strlen(key)), hex);
  snprintf(path, 300, "%s/%.2s/%s.code", cache, hex, hex + 2);
}

static void fresh(void) { unit_shell("rm -rf %s", cache); }

static void need_root(void) {
  if (geteuid() == 0) return;
  print_message("only root can give files to another user\n");
  skip();
}

/* ---- pruning */

static const char digits30[] = "0123456789abcdef0123456789abcd";

/* Puts old files that are not the cache's: in a shard, under names like an entry's and similar ones; behind
 * links. */
static void put_foreign(void) {
  char path[300];
  entry_file("real", path);
  unit_shell("mkdir -p %s/ab %s/outside; cp %s %s/outside/%s.code; ln -s %s/outside %s/cd", cache, place,
             path, place, digits30, place, cache);
  unit_shell("cd %s/ab; for f in notes.txt %s.code %s.code.bak %sa.code 1%s.code .left-behind .12-3-4 "
             ".viewfold-1-2.tmp "
             ".viewfold-01-2-3.tmp .viewfold-1-2-3.tmpx .viewfold-1-2-3b9aca00.tmp .viewfold-A-2-3.tmp "
             ".viewfold-f0-1-2.tmp; do echo mine > $f; done",
             cache, digits30, digits30, digits30, digits30);
  unit_shell(
      "cp %s %s/ab/ABCDEF6789abcdef0123456789abcd.code; cp %s %s/ab/0123456789abcdef0123456789abcd.Code",
      path, cache, path, cache);
  unit_shell(
      "ln -s %s/outside/%s.code %s/ab/1%.29s.code; echo mine > %s/README; mkdir %s/zz; cp %s %s/zz/%s.code",
      place, digits30, cache, digits30, cache, cache, path, cache, digits30);
  unit_shell("find %s -exec touch -h -d '3 hours ago' {} +", place);
}

enum { FOREIGN_FILES = 13 + 2 + 1 + 1, FOREIGN_LINKS = 2 };

static void foreign_is_there(void) {
  unit_shell("test $(find %s -type l | wc -l) = %d", cache, FOREIGN_LINKS);
  unit_shell("test $(find %s -type f | wc -l) = %d", cache, FOREIGN_FILES);
  unit_shell("test -f %s/outside/%s.code", place, digits30);
  unit_shell("test $(grep -lx mine %s/ab/.[0-9a-z]* %s/ab/* %s/README | wc -l) = 14", cache, cache, cache);
}

static void prunes_only_its_own(void **state) {
  fresh();
  reports r = {0};
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(put(disk, "real"));
  put_foreign();
  rt_disk_pruned done;
  rt_disk_stats stats;
  ir_error error = {0};
  assert_int_equal(rt_disk_stat(disk, collect, &r, &stats, &error), IR_OK);
  assert_int_equal(stats.entries, 1);
  assert_int_equal(stats.temporaries, 0);
  assert_int_equal(stats.ignored, 1);
  assert_int_equal(r.count, 1); /* the shard that is a link */
  assert_non_null(strstr(r.path[0], "/c/cd"));
  assert_non_null(strstr(r.why[0], "symbolic link"));
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, &done, &error), IR_OK);
  assert_int_equal(done.removed, 1);
  assert_int_equal(done.temporaries, 0);
  assert_int_equal(done.stuck, 0);
  foreign_is_there();
}

/* The same when the cache is full and prunes itself: foreign files as large as the cache do not evict its
 * entries. */
static void prunes_only_its_own_when_full(void **state) {
  static char payload[2000];
  fresh();
  rt_disk *disk = open_disk(cache, 64 << 10, NULL);
  assert_true(put(disk, "real"));
  put_foreign();
  unit_shell("head -c 100000 /dev/zero > %s/ab/2%.29s.code", cache, digits30);
  for (int i = 0; i < 300; i++) rt_disk_put(disk, "code", &i, sizeof i, payload, sizeof payload);
  rt_disk_counts counts;
  rt_disk_stats stats;
  rt_disk_count(disk, &counts);
  assert_true(counts.failed_stores < 30 &&
              counts.failed_stores == counts.refused); /* the shard that is a link */
  assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, NULL), IR_OK);
  assert_true(counts.pruned > 200);
  assert_true(stats.bytes >= 40 << 10 && stats.bytes <= (64 << 10) + (64 << 10) / 16 + 4096);
  assert_int_equal(counts.pruned + stats.entries, counts.stores);
  unit_shell("rm %s/ab/2%.29s.code", cache, digits30);
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, NULL, NULL), IR_OK);
  foreign_is_there();
}

static void damage_is_removed_only_where_it_is_ours(void **state) {
  char path[300];
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  entry_file("k", path);
  assert_true(put(disk, "k"));
  unit_shell("printf 'somebody wrote this under a name like ours, and it is longer than a header of an entry "
             "is%%200s' | "
             "tee %s > /dev/null",
             path);
  assert_false(get(disk, "k"));
  rt_disk_remove(disk, "code", "k", 1);
  assert_int_equal(access(path, F_OK), 0);
  assert_true(put(disk, "k")); /* a store replaces it all the same */
  assert_true(get(disk, "k"));
  unit_shell("printf x >> %s", path);
  assert_false(get(disk, "k"));
  assert_int_equal(access(path, F_OK), -1);
}

/* Puts a temporary file of this process number and age, of `bytes` bytes. */
static void put_temporary(pid_t pid, int serial, int minutes, size_t bytes) {
  char path[300];
  snprintf(path, sizeof path, "%s/ab/.viewfold-%lx-%x-5.tmp", cache, (unsigned long)pid, serial);
  unit_shell("mkdir -p -m 0700 %s/ab; { printf vfcache1; head -c 1000000 /dev/zero; } | head -c %zu > %s; "
             "touch -d '%d minutes ago' %s",
             cache, bytes, path, minutes, path);
}

static bool is_temporary(pid_t pid, int serial) {
  char path[300];
  snprintf(path, sizeof path, "%s/ab/.viewfold-%lx-%x-5.tmp", cache, (unsigned long)pid, serial);
  return access(path, F_OK) == 0;
}

static pid_t dead_process(void) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  return child;
}

static void temporaries_are_counted_and_removed(void **state) {
  pid_t dead = dead_process(), alive = getpid();
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(put(disk, "real"));
  put_temporary(dead, 1, 0, 100);  /* just left behind */
  put_temporary(dead, 2, 2, 200);  /* old */
  put_temporary(dead, 3, 2, 0);    /* old and still empty */
  put_temporary(alive, 4, 2, 300); /* of a live process: still being written */
  put_temporary(alive, 5, 90, 400);
  rt_disk_stats stats;
  rt_disk_pruned done;
  assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, NULL), IR_OK);
  assert_int_equal(stats.entries, 1);
  assert_int_equal(stats.temporaries, 5);
  assert_int_equal(stats.temporary_bytes, 1000);
  assert_int_equal(rt_disk_prune(disk, 1 << 20, NULL, NULL, &done, NULL), IR_OK);
  assert_int_equal(done.removed, 0);
  assert_int_equal(done.temporaries, 3);
  assert_int_equal(done.temporary_bytes, 600);
  assert_true(is_temporary(dead, 1) && !is_temporary(dead, 2) && !is_temporary(dead, 3));
  assert_true(is_temporary(alive, 4) && !is_temporary(alive, 5));
  assert_true(get(disk, "real"));
  assert_int_equal(rt_disk_prune(disk, stats.bytes + 399, NULL, NULL, &done, NULL), IR_OK);
  assert_int_equal(done.removed, 1); /* 400 bytes of temporaries remain, and count */
}

/* Temporary files of killed processes count toward the limit, and are removed before any entry is. */
static void temporaries_count_toward_the_limit(void **state) {
  static char payload[1000];
  pid_t dead = dead_process();
  fresh();
  rt_disk *disk = open_disk(cache, 256 << 10, NULL);
  for (int i = 0; i < 70; i++) assert_true(rt_disk_put(disk, "code", &i, sizeof i, payload, sizeof payload));
  for (int i = 0; i < 10; i++) put_temporary(dead, i, 2, 50000);
  for (int i = 70; i < 140; i++)
    assert_true(rt_disk_put(disk, "code", &i, sizeof i, payload, sizeof payload));
  rt_disk_stats stats;
  assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, NULL), IR_OK);
  assert_int_equal(stats.temporaries, 0);
  assert_int_equal(stats.entries, 140);
}

/* An entry larger than the limit is not stored: it would only evict the others. */
static void too_large_is_not_stored(void **state) {
  static char payload[70000];
  fresh();
  rt_disk *disk = open_disk(cache, 64 << 10, NULL);
  assert_true(put(disk, "real"));
  assert_false(rt_disk_put(disk, "code", "large", 5, payload, sizeof payload));
  assert_true(get(disk, "real"));
}

/* ---- trust */

static void expect(const char *directory, bool used, const char *path, const char *why) {
  reports r;
  rt_disk *disk = open_disk(directory, 0, &r);
  rt_disk_counts counts;
  assert_int_equal(get(disk, "k"), used);
  bool told = r.count == 1;
  if (told != (why != NULL)) fail_msg("%d lines, the first: %s", r.count, r.why[0]);
  if (why && !strstr(r.why[0], why)) fail_msg("'%s' does not say '%s'", r.why[0], why);
  if (path && strcmp(r.path[0], path) != 0) fail_msg("'%s' is told, '%s' is meant", r.path[0], path);
  rt_disk_count(disk, &counts);
  assert_int_equal(counts.refused, !used);
}

static void modes_decide(void **state) {
  static const struct {
    int mode;
    const char *why;
  } cases[] = {{0700, NULL},
               {0755, NULL},
               {0770, "its group may write to it (mode 0770), even if that is the user's own; chmod go-w it"},
               {0775, "its group may write to it (mode 0775)"},
               {0707, "others may write to it (mode 0707); chmod go-w it"},
               {01777, "others may write to it (mode 1777)"}};
  char entry[300], shard[300];
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(put(disk, "k"));
  unit_release(disk);
  entry_file("k", entry);
  snprintf(shard, sizeof shard, "%.*s", (int)(strrchr(entry, '/') - entry), entry);
  const char *const paths[] = {cache, shard, entry};
  for (int p = 0; p < 3; p++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      assert_int_equal(chmod(paths[p], (mode_t)cases[i].mode), 0);
      bool used = !cases[i].why;
      expect(cache, used, used ? NULL : paths[p], cases[i].why);
      disk = open_disk(cache, 0, NULL);
      assert_int_equal(put(disk, "other"), p != 0 || used);
      if (p == 1) assert_int_equal(put(disk, "k"), used);
      rt_disk_stats stats;
      ir_error error = {0};
      assert_int_equal(rt_disk_stat(disk, NULL, NULL, &stats, &error), p || used ? IR_OK : IR_ERR_IO);
      if (!p && !used) assert_non_null(strstr(error.text, cases[i].why));
      assert_int_equal(rt_disk_prune(disk, 1 << 20, NULL, NULL, NULL, &error), p || used ? IR_OK : IR_ERR_IO);
      unit_release(disk);
      assert_int_equal(chmod(paths[p], p < 2 ? 0700 : 0600), 0);
    }
  expect(cache, true, NULL, NULL);
}

/* Directories that other users may write to are neither written nor pruned. */
static void untrusted_is_left_alone(void **state) {
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(put(disk, "k"));
  unit_shell("chmod 0777 %s; find %s -type f -exec touch -d '3 hours ago' {} +", cache, cache);
  rt_disk_pruned done;
  ir_error error = {0};
  assert_false(put(disk, "other"));
  rt_disk_remove(disk, "code", "k", 1);
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, &done, &error), IR_ERR_IO);
  assert_int_equal(done.removed, 0);
  unit_shell("test $(find %s -type f | wc -l) = 1", cache);
  unit_shell("chmod 0700 %s", cache);
  assert_true(get(disk, "k"));
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, &done, NULL), IR_OK);
  assert_int_equal(done.removed, 1);
}

static void of_another_user_is_ignored(void **state) {
  char entry[300], shard[300];
  need_root();
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(put(disk, "k"));
  unit_release(disk);
  entry_file("k", entry);
  snprintf(shard, sizeof shard, "%.*s", (int)(strrchr(entry, '/') - entry), entry);
  const char *const paths[] = {cache, shard, entry};
  for (int p = 0; p < 3; p++) {
    assert_int_equal(chown(paths[p], ANOTHER, ANOTHER), 0);
    expect(cache, false, paths[p],
           "belongs to user 12345; it must belong to user 0, who runs this, or to root");
    assert_int_equal(chown(paths[p], 0, 0), 0);
  }
  expect(cache, true, NULL, NULL);
  /* root's cache may be read by everybody, and pruned by root alone */
  assert_int_equal(chmod(place, 0755), 0);
  unit_shell("find %s -type d -exec chmod 0755 {} +; find %s -type f -exec chmod 0644 {} +", cache, cache);
  assert_int_equal(seteuid(ANOTHER), 0);
  disk = open_disk(cache, 0, NULL);
  bool found = get(disk, "k"), stored = put(disk, "k");
  rt_disk_pruned done;
  ir_status status = rt_disk_prune(disk, 0, NULL, NULL, &done, NULL);
  unit_release(disk);
  assert_int_equal(seteuid(0), 0);
  assert_true(found && !stored);
  assert_int_equal(status, IR_OK);
  assert_int_equal(done.removed, 0);
  assert_int_equal(done.stuck, 1);
}

/* place/up -> real, place/real/c; and the like */
static void links_in_the_path(void **state) {
  char path[200], link[100];
  unit_shell(
      "rm -rf %s/*; mkdir -m 0700 %s/real %s/open; ln -s %s/real/c %s/own; ln -s real %s/up; ln -s up/../up "
      "%s/twice; "
      "ln -s loop %s/loop; ln -s ../real %s/open/up; ln -s missing %s/gone",
      place, place, place, place, place, place, place, place, place, place);
  snprintf(path, sizeof path, "%s/real/c", place);
  rt_disk *disk = open_disk(path, 0, NULL);
  assert_true(put(disk, "k"));
  unit_release(disk);
  snprintf(path, sizeof path, "%s/own", place); /* the directory itself is a link */
  expect(path, false, path, "is a symbolic link; name the directory that it leads to");
  snprintf(link, sizeof link, "%s/own/.//", place);
  expect(link, false, path, "is a symbolic link");
  snprintf(path, sizeof path, "%s/up/c", place); /* a parent directory is a link */
  expect(path, true, NULL, NULL);
  snprintf(path, sizeof path, "%s/./twice//c/", place);
  expect(path, true, NULL, NULL);
  snprintf(path, sizeof path, "%s/loop/c", place);
  disk = open_disk(path, 0, NULL);
  assert_false(get(disk, "k") || put(disk, "k"));
  unit_release(disk);
  snprintf(path, sizeof path, "%s/open/up/c", place); /* a link in a directory that others may write to */
  static const struct {
    int mode;
    bool used;
  } modes[] = {{0700, true}, {0777, false}, {0770, false}, {01777, true}, {01770, true}};
  snprintf(link, sizeof link, "%s/open", place);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    assert_int_equal(chmod(link, (mode_t)modes[i].mode), 0);
    snprintf(link, sizeof link, "%s/open/up", place);
    expect(path, modes[i].used, modes[i].used ? NULL : link,
           modes[i].used ? NULL : "is a symbolic link in a directory that others may change");
    snprintf(link, sizeof link, "%s/open", place);
  }
  snprintf(path, sizeof path, "%s/open/c", place); /* such a directory without a link is accepted */
  unit_shell("chmod 0777 %s/open", place);
  disk = open_disk(path, 0, NULL);
  assert_true(put(disk, "k") && get(disk, "k"));
  unit_release(disk);
  snprintf(path, sizeof path, "%s/gone/c", place); /* created where the link leads to */
  disk = open_disk(path, 0, NULL);
  assert_true(put(disk, "k") && get(disk, "k"));
  unit_release(disk);
  unit_shell("test -d %s/missing/c", place);
}

static void links_of_another_user(void **state) {
  char path[200], link[100];
  need_root();
  unit_shell(
      "rm -rf %s/*; mkdir -m 0700 %s/real; ln -s real %s/up; mkdir -m 0755 %s/his; ln -s ../real %s/his/up",
      place, place, place, place, place);
  snprintf(path, sizeof path, "%s/up/c", place);
  snprintf(link, sizeof link, "%s/up", place);
  rt_disk *disk = open_disk(path, 0, NULL);
  assert_true(put(disk, "k"));
  unit_release(disk);
  assert_int_equal(lchown(link, ANOTHER, ANOTHER), 0);
  expect(path, false, link, "is a symbolic link that belongs to user 12345");
  snprintf(path, sizeof path, "%s/his/up/c", place); /* our link in a directory of another user */
  snprintf(link, sizeof link, "%s/his/up", place);
  expect(path, true, NULL, NULL);
  unit_shell("chown 12345 %s/his", place);
  expect(path, false, link, "is a symbolic link in a directory that others may change");
}

static void directories_come_and_go(void **state) {
  char old[512];
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  for (int i = 0; i < 3; i++) {
    assert_false(get(disk, "k"));
    assert_true(put(disk, "k") && get(disk, "k"));
    unit_shell("rm -r %s", cache);
  }
  unit_release(disk);
  assert_non_null(getcwd(old, sizeof old)); /* by a relative name */
  assert_int_equal(chdir(place), 0);
  disk = open_disk("a/./b//c/", 0, NULL);
  bool good = put(disk, "k") && get(disk, "k");
  unit_release(disk);
  assert_int_equal(chdir(old), 0);
  assert_true(good);
  unit_shell("test $(stat -c %%a %s/a/b/c) = 700", place);
}

/* A daemon closes all descriptors, and opens others under the same numbers. */
static void closed_descriptors(void **state) {
  fresh();
  pid_t child = fork();
  if (child == 0) {
    rt_disk *disk = open_disk(cache, 0, NULL);
    bool good = put(disk, "k") && get(disk, "k");
    for (int fd = 3; fd < 64; fd++) close(fd);
    for (int fd = 3; fd < 20; fd++) open(fd % 2 ? "/" : "/dev/null", O_RDONLY);
    good = good && get(disk, "k") && put(disk, "l") && get(disk, "l");
    _exit(!good);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* ---- files that change while they are read */

enum { BYTES = 300000, READS = 400 };

static void change_in_place(const char *path, const uint8_t *bytes, size_t size) {
  for (unsigned i = 0;; i++) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) continue;
    if (pwrite(fd, bytes, size, 0) < 0 || ftruncate(fd, i % 3 ? 4096 : 0)) _exit(1);
    if (i % 2 && pwrite(fd, "xxxx", 4, BYTES / 2) < 0) _exit(1);
    close(fd);
  }
}

static void files_change_while_read(void **state) {
  static uint8_t payload[BYTES], file[BYTES + 4096];
  char path[300];
  fresh();
  for (int i = 0; i < BYTES; i++) payload[i] = (uint8_t)(i * 2654435761u >> 13);
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(rt_disk_put(disk, "code", "k", 1, payload, BYTES));
  entry_file("k", path);
  FILE *from = fopen(path, "rb");
  assert_non_null(from);
  size_t size = fread(file, 1, sizeof file, from);
  fclose(from);
  pid_t child = fork();
  if (child == 0) change_in_place(path, file, size);
  bool good = true;
  for (int i = 0; i < READS && good; i++) {
    rt_found found;
    if (!rt_disk_get(disk, "code", "k", 1, &found)) continue;
    good = found.size == BYTES && memcmp(found.payload, payload, BYTES) == 0;
    rt_disk_release(&found);
  }
  kill(child, SIGKILL);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && good);
}

/* A file whose header promises more than the file holds: no memory is allocated for it. */
static void a_hole_is_not_read(void **state) {
  char path[300];
  fresh();
  rt_disk *disk = open_disk(cache, 0, NULL);
  assert_true(put(disk, "k"));
  entry_file("k", path);
  unit_shell("truncate -s 1T %s", path);
  assert_false(get(disk, "k"));
  assert_int_equal(access(path, F_OK), -1);
}

UNIT_TESTS_BETWEEN(make_place, remove_place, prunes_only_its_own, prunes_only_its_own_when_full,
                   damage_is_removed_only_where_it_is_ours, temporaries_are_counted_and_removed,
                   temporaries_count_toward_the_limit, too_large_is_not_stored, modes_decide,
                   untrusted_is_left_alone, of_another_user_is_ignored, links_in_the_path,
                   links_of_another_user, directories_come_and_go, closed_descriptors,
                   files_change_while_read, a_hole_is_not_read)
