/* The number of processors this process may use. Source: sched_getaffinity(2), cgroups(7): cpu.max (version
 * 2), cpu.cfs_quota_us and cpu.cfs_period_us (version 1). */
#define _GNU_SOURCE /* CPU_COUNT_S */
#include "runtime/system/pool.h"

#include <unistd.h>

#if defined(__linux__)
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The beginning of a small file as text, "" when there is none. */
static const char *slurp(const char *path, char *text, size_t size) {
  text[0] = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  ssize_t got = read(fd, text, size - 1);
  close(fd);
  text[got > 0 ? got : 0] = 0;
  return text;
}

static int affinity(void) {
  cpu_set_t set[8]; /* 8192 processors */
  memset(set, 0, sizeof set);
  if (sched_getaffinity(0, sizeof set, set)) return 0;
  return CPU_COUNT_S(sizeof set, set);
}

/* quota/period in processors, rounded up, and at most `most`; `most` when there is no limit. */
static int limit(long quota, long period, int most) {
  if (quota <= 0 || period <= 0) return most;
  long cores = (quota - 1) / period + 1;
  return cores < most ? (int)cores : most;
}

static int group_limit(const char *mount, const char *group, bool version2, int most) {
  char path[1024], text[64];
  if (version2) {
    snprintf(path, sizeof path, "%s%s/cpu.max", mount, group);
    char *end;
    long quota = strtol(slurp(path, text, sizeof text), &end, 10);
    return end == text ? most : limit(quota, strtol(end, NULL, 10), most);
  }
  snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", mount, group);
  long quota = strtol(slurp(path, text, sizeof text), NULL, 10);
  if (quota <= 0) return most;
  snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", mount, group);
  return limit(quota, strtol(slurp(path, text, sizeof text), NULL, 10), most);
}

/* The least limit of the group and its parents. In a container the named group may not be visible, but the
 * root of the visible hierarchy is then the group itself. */
static int hierarchy_limit(const char *mount, char *group, bool version2, int most) {
  for (;;) {
    most = group_limit(mount, group, version2, most);
    char *slash = strrchr(group, '/');
    if (!slash) return most;
    *slash = 0;
  }
}

static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return true;
  return false;
}

int rt_cores_quota(const char *root, int most) {
  char text[4096], path[256], two[256], one[256];
  snprintf(path, sizeof path, "%.200s/proc/self/cgroup", root);
  snprintf(two, sizeof two, "%.200s/sys/fs/cgroup", root);
  snprintf(one, sizeof one, "%.200s/sys/fs/cgroup/cpu", root);
  slurp(path, text, sizeof text);
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group || strlen(group) > 512) continue;
    *group++ = 0;
    controllers++;
    if (!strcmp(group, "/")) group[0] = 0;
    if (!*controllers) most = hierarchy_limit(two, group, true, most);
    if (has_word(controllers, "cpu")) most = hierarchy_limit(one, group, false, most);
  }
  return most;
}
#else
int rt_cores_quota(const char *root, int most) {
  (void)root;
  return most;
}
#endif

int rt_pool_default_threads(void) {
#if defined(__linux__)
  int count = affinity();
#else
  int count = 0;
#endif
  if (count < 1) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (count > 1) count = rt_cores_quota("", count);
  return count < 1 ? 1 : count;
}
