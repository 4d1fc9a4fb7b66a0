/* `viewfold cache`: the compiled kernels kept on disk. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/options.h"
#include "runtime/cache/disk.h"

static const char help_text[] =
    "Usage: viewfold cache stat\n"
    "       viewfold cache prune [--max SIZE]\n"
    "       viewfold cache verify\n"
    "\n"
    "Compiled kernels and plans are kept on disk, so that the next process compiles nothing. The cache lies "
    "in\n"
    "VIEWFOLD_CACHE_DIR, else in viewfold under XDG_CACHE_HOME, else in ~/.cache/viewfold. It is safe to "
    "remove.\n"
    "\n"
    "  stat    how many entries there are, of which kinds, and their size; what killed processes left "
    "behind\n"
    "  prune   remove what killed processes left behind, then the entries not used for longest until at most "
    "SIZE\n"
    "          is left: a number of bytes, or one followed by K, M or G; 256M when not given, 0 empties the "
    "cache.\n"
    "          No other file is ever removed\n"
    "  verify  read every entry and report those that are damaged or cannot be read, which are never used;\n"
    "          exit status 1 if there are any\n"
    "\n"
    "The directory and what is in it must belong to you or to root, not be writable by group or others, and "
    "not be\n"
    "a symbolic link. What is otherwise is not used; VIEWFOLD_DEBUG=cache tells so when programs run.\n"
    "\n"
    "Exit status: 0; 1 when verify found a bad entry; 2 when the cache cannot be read or is not used, or "
    "prune\n"
    "could not remove a file.\n";

static const char *entries(uint64_t count) { return count == 1 ? "entry" : "entries"; }

static int by_kind(const void *a, const void *b) {
  const struct rt_disk_kind_stat *x = a, *y = b;
  return strcmp(x->kind, y->kind);
}

static void print_damaged(void *context, const char *path, const char *why) {
  (void)context;
  printf("%s: %s\n", path, why);
}

static int stat_cache(rt_disk *disk, ir_error *error) {
  rt_disk_stats stats;
  if (rt_disk_stat(disk, print_damaged, NULL, &stats, error) != IR_OK) return cli_failure("cache", error);
  qsort(stats.kind, (size_t)stats.kinds, sizeof *stats.kind, by_kind);
  printf("directory %s\n", rt_disk_directory(disk));
  for (int i = 0; i < stats.kinds; i++)
    printf("%-9s %llu %s, %llu bytes\n", stats.kind[i].kind, (unsigned long long)stats.kind[i].entries,
           entries(stats.kind[i].entries), (unsigned long long)stats.kind[i].bytes);
  if (stats.temporaries)
    printf("temporary %llu file%s, %llu bytes\n", (unsigned long long)stats.temporaries,
           stats.temporaries == 1 ? "" : "s", (unsigned long long)stats.temporary_bytes);
  printf("total     %llu %s, %llu bytes\n", (unsigned long long)stats.entries, entries(stats.entries),
         (unsigned long long)(stats.bytes + stats.temporary_bytes));
  if (stats.ignored)
    printf("ignored   %llu file%s; `viewfold cache verify` says why\n", (unsigned long long)stats.ignored,
           stats.ignored == 1 ? "" : "s");
  return CLI_OK;
}

static int prune_cache(rt_disk *disk, const char *max, ir_error *error) {
  int64_t size = (int64_t)rt_disk_max_bytes(disk);
  rt_disk_pruned done;
  rt_disk_stats stats;
  if (max && !rt_disk_read_size(max, &size))
    return cli_usage("cache", "--max takes a number of bytes, or one followed by K, M or G, found '%s'", max);
  if (rt_disk_prune(disk, size, print_damaged, NULL, &done, error) != IR_OK ||
      rt_disk_stat(disk, NULL, NULL, &stats, error) != IR_OK)
    return cli_failure("cache", error);
  printf("removed %llu %s, %llu bytes", (unsigned long long)done.removed, entries(done.removed),
         (unsigned long long)done.removed_bytes);
  if (done.temporaries)
    printf(", and %llu temporary file%s, %llu bytes", (unsigned long long)done.temporaries,
           done.temporaries == 1 ? "" : "s", (unsigned long long)done.temporary_bytes);
  printf("; %llu %s, %llu bytes are left\n", (unsigned long long)stats.entries, entries(stats.entries),
         (unsigned long long)(stats.bytes + stats.temporary_bytes));
  if (!done.stuck) return CLI_OK;
  fprintf(stderr, "viewfold cache: %llu file%s could not be removed\n", (unsigned long long)done.stuck,
          done.stuck == 1 ? "" : "s");
  return CLI_BAD_INPUT;
}

/* Could the first store make the directory? What is missing first on the way is made and removed again. errno
 * says why not. */
static bool can_be_made(const char *directory) {
  char path[PATH_MAX];
  struct stat found;
  size_t length = strlen(directory);
  if (length >= sizeof path) return true; /* refused where it is opened */
  memcpy(path, directory, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] && path[i] != '/') continue;
    char end = path[i];
    path[i] = 0;
    if (stat(path, &found) != 0) {
      if (errno != ENOENT) return true; /* said where it is opened */
      if (mkdir(path, 0700) != 0) return errno == EEXIST;
      (void)!rmdir(path);
      return true;
    }
    path[i] = end;
  }
  return true;
}

static int verify_cache(rt_disk *disk, ir_error *error) {
  rt_disk_verified done;
  if (rt_disk_verify(disk, print_damaged, NULL, &done, error) != IR_OK) return cli_failure("cache", error);
  printf("%llu %s checked, %llu damaged", (unsigned long long)done.checked, entries(done.checked),
         (unsigned long long)done.damaged);
  if (done.unread) printf(", %llu not to be read", (unsigned long long)done.unread);
  printf("\n");
  return done.damaged || done.unread ? CLI_CHECK_FAILED : CLI_OK;
}

static int fail_unmade(const char *directory, const char *why) {
  fprintf(stderr,
          "viewfold cache: %s is not used: %s; name a directory that can be made and written in "
          "VIEWFOLD_CACHE_DIR\n",
          directory, why);
  return CLI_BAD_INPUT;
}

static bool removes_all(const char *action) {
  static const char *const words[] = {"clear", "clean", "purge", "remove", "rm", "delete", "reset", "flush"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(action, words[i]) == 0) return true;
  return false;
}

int cli_cache(int argc, char **argv) {
  const char *action = NULL, *max = NULL;
  const cli_option option = {"--max", "a size such as 64M", cli_last, &max};
  int status =
      cli_read_word(help_text, &option, 1, &action, "one action at a time, found '%s' as well", argc, argv);
  if (status != CLI_END) return status;
  if (!action) return cli_usage("cache", "no action given; expected stat, prune or verify");
  bool prune = strcmp(action, "prune") == 0, verify = strcmp(action, "verify") == 0;
  if (!prune && !verify && strcmp(action, "stat") != 0)
    return cli_usage("cache", "unknown action '%s'; expected stat, prune or verify%s", action,
                     removes_all(action) ? "; `viewfold cache prune --max 0` removes all" : "");
  if (max && !prune) return cli_usage("cache", "--max belongs to prune");
  ir_error error = {0};
  rt_disk *disk = rt_disk_open(&ir_mem_libc, NULL, 0, &error);
  if (!disk) return cli_failure("cache", &error);
  if (!*rt_disk_directory(disk))
    status =
        cli_usage("cache", "there is no cache: VIEWFOLD_CACHE_DIR, XDG_CACHE_HOME and HOME are all unset");
  else if (!can_be_made(rt_disk_directory(disk)))
    status = fail_unmade(rt_disk_directory(disk), strerror(errno));
  else if (prune) status = prune_cache(disk, max, &error);
  else status = verify ? verify_cache(disk, &error) : stat_cache(disk, &error);
  rt_disk_close(disk);
  return status;
}
