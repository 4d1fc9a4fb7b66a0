/* Entries of the cache on disk that are mapped: all processes map one file, whose payload is read only where
 * its stamp does not tell that it is whole; what happens to the file afterwards ends nobody. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cache/mapped_entry.h"
#include "runtime/cache/walk.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

enum { SIZE = 3 * 4096 + 100 };
static char folder[200], payload[SIZE];
static const char key[] = "a key";

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < SIZE; i++) payload[i] = (char)(i * 31 + i / 256);
  return !test_folder_make(folder, sizeof folder);
}

static int tear_down(void **state) {
  (void)state;
  test_folder_remove(folder);
  return 0;
}

static void close_disk(void *disk) { rt_disk_close(disk); }

static rt_disk *reopened(int64_t cap) {
  char directory[300];
  ir_error error = {0};
  snprintf(directory, sizeof directory, "%s/c", folder);
  rt_disk *disk = rt_disk_open(&ir_mem_libc, directory, cap, &error);
  assert_non_null(disk);
  return unit_keep(disk, close_disk);
}

static rt_disk *fresh(int64_t cap) {
  unit_shell("rm -rf %s/c", folder);
  return reopened(cap);
}

static const char *entry_file(void) {
  static char path[300];
  char shard[RT_DISK_SHARD], name[RT_DISK_NAME];
  rt_disk_entry_name(rt_digest_of(key, sizeof key), "packed", shard, name);
  snprintf(path, sizeof path, "%s/c/%s/%s", folder, shard, name);
  return path;
}

static bool put(rt_disk *disk) { return rt_disk_put_mapped(disk, "packed", key, sizeof key, payload, SIZE); }

static bool map(rt_disk *disk, rt_disk_mapping *out) {
  return rt_disk_map(disk, "packed", key, sizeof key, out);
}

/* 1: found and right; 0: a miss; -1: found and wrong. */
static int get(rt_disk *disk) {
  rt_disk_mapping found;
  if (!map(disk, &found)) return 0;
  bool right = found.size == SIZE && !memcmp(found.payload, payload, SIZE) &&
               (uintptr_t)found.payload % RT_DISK_ALIGN == 0;
  rt_disk_unmap(&found);
  return right ? 1 : -1;
}

static struct stat status_of(const char *path) {
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  return s;
}

/* Writes bytes of the file where it is. keep: and gives it the time of its last write again. */
static void overwrite(size_t offset, const void *bytes, size_t size, bool keep) {
  struct stat before = status_of(entry_file());
  int fd = open(entry_file(), O_WRONLY);
  assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
  if (keep) assert_int_equal(futimens(fd, (struct timespec[]){before.st_atim, before.st_mtim}), 0);
  close(fd);
}

static rt_disk_head read_head(void) {
  rt_disk_head head;
  assert_int_equal(unit_read_file(entry_file(), &head, sizeof head), sizeof head);
  return head;
}

static void one_file_for_all(void **state) {
  (void)state;
  rt_disk *disk = fresh(0), *other = reopened(0);
  rt_disk_mapping first;
  assert_int_equal(get(disk), 0);
  assert_true(put(disk));
  struct stat before = status_of(entry_file());
  assert_true(map(disk, &first));
  assert_true(put(other)); /* as a process does that has computed the same meanwhile */
  assert_int_equal(status_of(entry_file()).st_ino, before.st_ino);
  assert_int_equal(status_of(entry_file()).st_nlink, 1);
  assert_int_equal(get(other), 1);
  /* removed, and stored anew: another file, and what was mapped stays */
  rt_disk_remove(other, "packed", key, sizeof key);
  assert_int_equal(get(other), 0);
  assert_true(put(other));
  assert_int_equal(get(other), 1);
  unit_shell("rm -r %s/c", folder);
  assert_memory_equal(first.payload, payload, SIZE);
  assert_false(rt_guard_damaged(first.guard));
  rt_disk_unmap(&first);
}

/* A process that writes to what it has mapped would change what others read. */
static void nobody_writes(void **state) {
  (void)state;
  rt_disk *disk = fresh(0);
  rt_disk_mapping found;
  assert_true(put(disk) && map(disk, &found));
  pid_t child = fork();
  if (!child) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile char *)(uintptr_t)found.payload = 1;
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  rt_disk_unmap(&found);
}

/* Each bit of the head, and some of the payload, is wrong; the file is shorter or longer. */
static void damaged_entries_are_misses(void **state) {
  (void)state;
  rt_disk *disk = fresh(0);
  static uint8_t good[2 * SIZE], bad[2 * SIZE];
  assert_true(put(disk));
  size_t size = unit_read_file(entry_file(), good, sizeof good);
  size_t key_end = sizeof(rt_disk_head) + sizeof key, begin = size - SIZE;
  size_t magic_end = offsetof(rt_disk_head, version), stamp = offsetof(rt_disk_head, stamp);
  for (size_t at = 0; at<size; at += at> begin ? 997 : 1) {
    memcpy(bad, good, size);
    bad[at] ^= (uint8_t)(1 << at % 8);
    unit_write_file(entry_file(), bad, size);
    bool harmless = (at >= stamp && at < sizeof(rt_disk_head)) || (at >= key_end && at < begin);
    assert_int_equal(get(disk), harmless);
    assert_int_equal(access(entry_file(), F_OK), harmless || at < magic_end ? 0 : -1);
  }
  for (size_t length = 0; length < size; length += length < begin ? 7 : 4099) {
    unit_write_file(entry_file(), good, length);
    assert_int_equal(get(disk), 0);
  }
  unit_write_file(entry_file(), good, size + 1);
  assert_int_equal(get(disk), 0);
  assert_true(put(disk)); /* the damaged one has been removed */
  assert_int_equal(get(disk), 1);
}

/* What is compared with its digest, and what is not. */
static void stamps(void **state) {
  (void)state;
  if (!rt_disk_boot().lo) skip(); /* the system does not tell one boot from another: all is compared */
  rt_disk *disk = fresh(0);
  assert_true(put(disk));
  if (read_head().stamp.modified_ns % 1000000000 != status_of(entry_file()).st_mtim.tv_nsec)
    skip(); /* the file system has no nanoseconds */
  size_t last = (size_t)status_of(entry_file()).st_size - 1;
  char was = payload[SIZE - 1], wrong = (char)(was + 1);
  /* whole, as its stamp tells: the payload is not read, which shows where it was changed in secret */
  overwrite(last, &wrong, 1, true);
  assert_int_equal(get(disk), -1);
  overwrite(last, &was, 1, true);
  assert_int_equal(get(disk), 1);
  /* written to: it is read, once */
  overwrite(last, &was, 1, false);
  assert_int_equal(get(disk), 1);
  overwrite(last, &wrong, 1, true);
  assert_int_equal(get(disk), -1);
  overwrite(last, &wrong, 1, false);
  assert_int_equal(get(disk), 0);
  assert_int_equal(access(entry_file(), F_OK), -1);
  /* a copy with the same times is another file */
  assert_true(put(disk));
  unit_shell("cp -p %s %s/copy; mv %s/copy %s", entry_file(), folder, folder, entry_file());
  overwrite(last, &wrong, 1, true);
  assert_int_equal(get(disk), 0);
  /* another boot, after which pages may be lost that were written before a crash */
  assert_true(put(disk));
  rt_disk_head head = read_head();
  head.stamp.boot.lo ^= 1;
  overwrite(0, &head, sizeof head, true);
  assert_int_equal(get(disk), 1);
  assert_int_equal(read_head().stamp.boot.lo, head.stamp.boot.lo ^ 1); /* stamped anew */
  overwrite(0, &head, sizeof head, true);
  overwrite(last, &wrong, 1, true);
  assert_int_equal(get(disk), 0);
}

/* A use is noted by the hour, as for other entries; the stamp is current afterwards. */
static void uses_are_noted(void **state) {
  (void)state;
  rt_disk *disk = fresh(0);
  assert_true(put(disk));
  rt_disk_head head = read_head();
  struct timespec old = {time(NULL) - 7000, 5};
  head.stamp.modified_ns = old.tv_sec * INT64_C(1000000000) + old.tv_nsec;
  overwrite(0, &head, sizeof head, true);
  assert_int_equal(utimensat(AT_FDCWD, entry_file(), (struct timespec[]){old, old}, 0), 0);
  assert_int_equal(get(disk), 1);
  struct stat now = status_of(entry_file());
  assert_true(now.st_mtime > old.tv_sec + 6000);
  assert_int_equal(read_head().stamp.modified_ns,
                   now.st_mtim.tv_sec * INT64_C(1000000000) + now.st_mtim.tv_nsec);
}

/* Zeros are read, and the guard tells. */
static void shortened_while_mapped(void **state) {
  (void)state;
  rt_disk *disk = fresh(0);
  rt_disk_mapping found;
  assert_true(put(disk) && map(disk, &found));
  assert_int_equal(truncate(entry_file(), 4096), 0);
  assert_int_equal(found.payload[SIZE - 1], 0);
  assert_true(rt_guard_damaged(found.guard) && rt_guards_damaged());
  assert_int_equal(get(disk), 0);
  rt_disk_unmap(&found);
}

/* Entries count toward the limit, and are removed while they are mapped. */
static void limited(void **state) {
  (void)state;
  rt_disk *disk = fresh(SIZE / 2);
  assert_false(put(disk));
  disk = fresh(0);
  rt_disk_mapping found;
  rt_disk_pruned pruned;
  assert_true(put(disk) && map(disk, &found));
  assert_int_equal(rt_disk_prune(disk, 0, NULL, NULL, &pruned, NULL), IR_OK);
  assert_int_equal(pruned.removed, 1);
  assert_int_equal(get(disk), 0);
  assert_memory_equal(found.payload, payload, SIZE);
  rt_disk_unmap(&found);
  rt_disk *nowhere = rt_disk_open(&ir_mem_libc, "/proc/viewfold", 0, NULL);
  assert_false(put(nowhere));
  assert_int_equal(get(nowhere), 0);
  rt_disk_close(nowhere);
}

UNIT_TESTS_BETWEEN(set_up, tear_down, one_file_for_all, nobody_writes, damaged_entries_are_misses, stamps,
                   uses_are_noted, shortened_while_mapped, limited)
