/* The number of processors that the process may use: the affinity mask, and quotas of control groups, read
 * from a tree of files that the test writes. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/system/pool.h"
#include "test/lib/unit.h"

static char root[64];

static int make_root(void **state) {
  snprintf(root, sizeof root, "/tmp/viewfold-cores-XXXXXX");
  return mkdtemp(root) ? 0 : 1;
}
static int remove_root(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void put(const char *path, const char *text) {
  char command[512];
  snprintf(command, sizeof command, "mkdir -p $(dirname %s/%s)", root, path);
  assert_int_equal(system(command), 0);
  snprintf(command, sizeof command, "%s/%s", root, path);
  FILE *f = fopen(command, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void no_limit(void **state) {
  assert_int_equal(rt_cores_quota(root, 8), 8); /* there are no files */
  put("proc/self/cgroup", "0::/\n");
  assert_int_equal(rt_cores_quota(root, 8), 8);
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  assert_int_equal(rt_cores_quota(root, 8), 8);
  put("sys/fs/cgroup/cpu.max", "nonsense\n");
  assert_int_equal(rt_cores_quota(root, 8), 8);
}

static void version_2(void **state) {
  put("proc/self/cgroup", "0::/system/ours\n");
  put("sys/fs/cgroup/system/ours/cpu.max", "250000 100000\n");
  assert_int_equal(rt_cores_quota(root, 8), 3); /* rounded up */
  assert_int_equal(rt_cores_quota(root, 2), 2);
  put("sys/fs/cgroup/system/ours/cpu.max", "1000 100000\n");
  assert_int_equal(rt_cores_quota(root, 8), 1); /* at least one */
  put("sys/fs/cgroup/system/ours/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/system/cpu.max", "400000 100000\n"); /* a parent's limit applies as well */
  assert_int_equal(rt_cores_quota(root, 8), 4);
}

static void a_container_sees_its_group_as_the_root(void **state) {
  put("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  put("sys/fs/cgroup/cpu.max", "150000 100000\n");
  assert_int_equal(rt_cores_quota(root, 8), 2);
}

static void version_1(void **state) {
  put("proc/self/cgroup", "12:cpuset:/\n5:cpu,cpuacct:/ours\n1:name=systemd:/\n");
  put("sys/fs/cgroup/cpu/ours/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu/ours/cpu.cfs_period_us", "100000\n");
  assert_int_equal(rt_cores_quota(root, 8), 3);
  put("sys/fs/cgroup/cpu/ours/cpu.cfs_quota_us", "-1\n");
  assert_int_equal(rt_cores_quota(root, 8), 8);
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "25000\n");
  assert_int_equal(rt_cores_quota(root, 8), 2);
  put("proc/self/cgroup", "5:cpuacct:/ours\n"); /* not the controller with the limit */
  assert_int_equal(rt_cores_quota(root, 8), 8);
}

static void the_affinity_mask_counts(void **state) {
  pid_t child = fork();
  if (child == 0) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    int first = 0;
    if (sched_getaffinity(0, sizeof all, &all)) _exit(2);
    while (!CPU_ISSET(first, &all)) first++;
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one)) _exit(3);
    _exit(rt_pool_default_threads() == 1 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

UNIT_TESTS_EACH(make_root, remove_root, no_limit, version_2, a_container_sees_its_group_as_the_root,
                version_1, the_affinity_mask_counts)
