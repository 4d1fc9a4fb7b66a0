/* Processes that share a cache on disk and are killed.
 *
 *   prop_disk --seed S --count N [--processes P]
 *
 * In each of N iterations, P processes store, look up and prune the same keys in one small cache, and half of
 * them are killed at random moments. Every entry found must be complete and belong to the key asked for.
 * Afterwards no entry is damaged, the cache is within its limit, and temporary files that killed processes
 * left behind are counted, and removed once they are old enough. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache/walk.h"
#include "test/lib/random_graph.h"
#include "test/lib/options.h"

enum { MOST = 1024, KEYS = 40, ACTIONS = 60, LARGEST = 20000, LIMIT = 256 << 10, WAIT_NS = 4000000 };

static char directory[] = "/tmp/viewfold-prop-disk-XXXXXX";

static rt_disk *open_disk(void) { return rt_disk_open(&ir_mem_libc, directory, LIMIT, NULL); }

/* The payload that a writer stores under a key: its length and contents follow from both. Returns its
 * length. */
static size_t fill(uint8_t *payload, unsigned key, unsigned writer) {
  size_t size = 2 + (key * 7919 + writer * 104729) % (LARGEST - 2);
  payload[0] = (uint8_t)key, payload[1] = (uint8_t)writer;
  for (size_t i = 2; i < size; i++) payload[i] = (uint8_t)(key * 31 + writer * 7 + i);
  return size;
}

static bool is_right(const rt_found *found, unsigned key) {
  static uint8_t expected[LARGEST];
  return found->size >= 2 && found->payload[0] == key &&
         fill(expected, key, found->payload[1]) == found->size &&
         memcmp(expected, found->payload, found->size) == 0;
}

/* The body of a process. Returns its exit status: 0 when all is well, else the number of the check that
 * failed. */
static int work(uint64_t state) {
  static uint8_t payload[LARGEST];
  rt_disk *disk = open_disk();
  if (!disk) return 1;
  for (int i = 0; i < ACTIONS; i++) {
    unsigned key = (unsigned)(random_next(&state) % KEYS), writer = (unsigned)(random_next(&state) % 256);
    rt_found found;
    if (rt_disk_get(disk, "code", &key, sizeof key, &found)) {
      bool right = is_right(&found, key);
      rt_disk_release(&found);
      if (!right) return 2;
    }
    uint64_t what = random_next(&state) % 64;
    if (what < 32 && !rt_disk_put(disk, "code", &key, sizeof key, payload, fill(payload, key, writer)))
      return 3;
    if (what == 32) rt_disk_prune(disk, LIMIT / 2, NULL, NULL, NULL, NULL);
    if (what == 33) rt_disk_remove(disk, "code", &key, sizeof key);
  }
  rt_disk_counts counts;
  rt_disk_count(disk, &counts);
  rt_disk_close(disk);
  return counts.damaged || counts.refused ? 4 : 0;
}

/* Starts all processes, kills every other one, waits for all. Returns how many were killed before they
 * finished, or -1 when one failed. */
static int one_iteration(uint64_t *state, int processes) {
  pid_t child[MOST];
  int killed = 0;
  bool failed = false;
  for (int i = 0; i < processes; i++) {
    uint64_t own = random_next(state);
    child[i] = fork();
    if (child[i] == 0) _exit(work(own));
    if (child[i] > 0) continue;
    processes = i;
    failed = true;
  }
  for (int i = 0; i < processes; i += 2) {
    struct timespec moment = {0, (long)(random_next(state) % WAIT_NS) * 2 / processes};
    nanosleep(&moment, NULL);
    kill(child[i], SIGKILL);
  }
  for (int i = 0; i < processes; i++) {
    int status = -1;
    waitpid(child[i], &status, 0);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    killed += was_killed;
    if (status == 0 || (was_killed && i % 2 == 0)) continue;
    fprintf(stderr, "a process ended with status %#x\n", (unsigned)status);
    failed = true;
  }
  return failed ? -1 : killed;
}

static bool age(void *context, const rt_disk_item *item) {
  struct timespec then = {time(NULL) - 7200, 0}, times[] = {then, then};
  if (item->temporary) utimensat(item->shard, item->name, times, AT_SYMLINK_NOFOLLOW);
  return true;
}

static void tell(void *context, const char *path, const char *why) { fprintf(stderr, "%s: %s\n", path, why); }

/* Checks the cache on disk after an iteration and adds to *left what killed processes left behind. Returns
 * what is wrong, or NULL. */
static const char *check_cache(uint64_t *left) {
  rt_disk *disk = open_disk();
  rt_disk_stats before, after;
  rt_disk_verified seen;
  rt_disk_pruned done;
  const char *wrong = NULL;
  if (!disk || rt_disk_verify(disk, tell, NULL, &seen, NULL) ||
      rt_disk_stat(disk, tell, NULL, &before, NULL) || rt_disk_walk(disk, age, NULL, NULL, NULL, NULL) ||
      rt_disk_prune(disk, LIMIT, tell, NULL, &done, NULL) || rt_disk_stat(disk, tell, NULL, &after, NULL))
    wrong = "the cache cannot be read";
  else if (seen.damaged || seen.unread || before.ignored) wrong = "an entry is damaged";
  else if (done.temporaries != before.temporaries || done.temporary_bytes != before.temporary_bytes)
    wrong = "what was removed is not what was there";
  else if (after.temporaries || done.stuck) wrong = "something was left behind";
  else if (after.entries != before.entries - done.removed || after.bytes != before.bytes - done.removed_bytes)
    wrong = "entries were removed that were not counted";
  else if (after.bytes > LIMIT) wrong = "the cache is larger than its limit";
  if (!wrong) *left += before.temporaries;
  rt_disk_close(disk);
  return wrong;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, left = 0;
  long count = 10, done = 0, killed = 0;
  int processes = 16;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count),
               OPTION("--processes", &processes));
  const char *wrong = processes < 1 || processes > MOST ? "--processes takes a number from 1 to 1024" : NULL;
  if (!wrong && !mkdtemp(directory)) wrong = "there is no directory for the cache";
  for (uint64_t state = seed; done < count && !wrong; done++) {
    int ended = one_iteration(&state, processes);
    killed += ended > 0 ? ended : 0;
    wrong = ended < 0 ? "a process failed" : check_cache(&left);
  }
  if (wrong)
    fprintf(stderr, "round %ld: %s; --seed %" PRIu64 " --count %ld tries it again\n", done, wrong, seed,
            done);
  printf("prop_disk: %ld iterations of %d processes, %ld killed, %" PRIu64
         " temporary files left behind, seed %" PRIu64 "\n",
         done, processes, killed, left, seed);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command) != 0 || wrong;
}
