/* Exchanges between devices of several processes (test/lib/exchanges.h), which are threads with loopback
 * between them (test/lib/loopback.h). Where some device fails or ends early, or a process is cut off, the
 * runs of all processes end, with a message that says which. Reads of memory of others fail now and then, or
 * end short.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "runtime/mesh/ranks_impl.h"
#include "test/lib/cases.h"
#include "test/lib/exchanges.h"
#include "test/lib/loopback.h"
#include "test/lib/random_graph.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A process that is cut off counts as gone after this time; the others have until then to be heard. */
#define TIMEOUT_NS     ((int64_t)20 * 1000000000)
#define CUT_TIMEOUT_NS ((int64_t)300 * 1000000)

enum { MOST_PROCESSES = 6 };

typedef struct process {
  exchange_world *world;
  loopback *loopback;
  rt_post *post;
  rt_ranks *ranks;
  uint32_t number;
  uint64_t program;
  ir_status before, status;
  ir_error error;
  pthread_t thread;
} process;

static int64_t exchanges, elements, failures, cuts, strange, offering;
static atomic_int_fast64_t reads, bad_reads;
static bool reads_fail; /* in this run */

/* In place of that of the C library: processes are one here. Copies in this process, where the thread
 * sanitizer sees it. One call in eight fails, as of a process that has gone or has been closed meanwhile, and
 * one in eight copies a part of what it is asked for. */
ssize_t process_vm_readv(pid_t process, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags) {
  static atomic_uint_fast64_t calls;
  static const int failures_of_reads[] = {EPERM, ESRCH, EFAULT};
  uint64_t state = atomic_fetch_add(&calls, 1);
  int64_t way = random_between(&state, 0, 7);
  size_t most = way == 1 ? (size_t)random_between(&state, 1, 64) : SIZE_MAX, done = 0, in = 0, out = 0;
  if (process != getpid() || flags) return errno = EINVAL, -1;
  if (!reads_fail) way = 2;
  reads++;
  bad_reads += way < 2;
  if (way == 0) return errno = failures_of_reads[random_between(&state, 0, 2)], -1;
  for (unsigned long l = 0, r = 0; l < locals && r < remotes && done < most;) {
    size_t bytes = local[l].iov_len - in, there = remote[r].iov_len - out;
    bytes = bytes < there ? bytes : there;
    bytes = bytes < most - done ? bytes : most - done;
    memcpy((char *)local[l].iov_base + in, (const char *)remote[r].iov_base + out, bytes);
    done += bytes, in += bytes, out += bytes;
    if (in == local[l].iov_len) l++, in = 0;
    if (out == remote[r].iov_len) r++, out = 0;
  }
  return (ssize_t)done;
}

static void *run(void *argument) {
  process *p = argument;
  memset(&p->error, 0, sizeof p->error);
  if (p->before) ir_fail(&p->error, p->before, "process %u cannot begin", p->number);
  p->status = rt_ranks_run(p->ranks, p->program, exchanges_work, p->world, p->before, &p->error);
  return NULL;
}

static void *leave(void *argument) {
  process *p = argument;
  rt_ranks_free(p->ranks);
  rt_post_close(p->post);
  return NULL;
}

/* All processes at once: after a failure each waits for the others to leave. */
static void all_do(void *(*work)(void *), process *list, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) pthread_create(&list[i].thread, NULL, work, &list[i]);
  work(&list[0]);
  for (uint32_t i = 1; i < count; i++) pthread_join(list[i].thread, NULL);
}
static void run_all(process *list, uint32_t count) { all_do(run, list, count); }

static bool open_all(process *list, uint32_t count, int64_t timeout_ns) {
  for (uint32_t i = 0; i < count; i++) {
    ir_error error = {0};
    if (rt_post_open(loopback_of(list[i].loopback, i), timeout_ns, &list[i].post, &error) ||
        rt_ranks_make(&ir_mem_libc, &list[i].world->mesh, list[i].post, &list[i].ranks, &error)) {
      printf("%s\n", error.text);
      return false;
    }
  }
  return true;
}

static bool all_say(const process *list, uint32_t count, uint32_t but, ir_status status, const char *text) {
  for (uint32_t i = 0; i < count; i++)
    if (i != but && (list[i].status != status || (text && !strstr(list[i].error.text, text)))) {
      printf("process %u: status %d, not %d \"%s\": %s\n", i, list[i].status, status, text ? text : "",
             list[i].error.text);
      return false;
    }
  return true;
}

/* A run as the world says. */
static bool runs(exchange_world *w, process *list, uint32_t count) {
  bool fails = w->fails < w->mesh.device_count;
  run_all(list, count);
  failures += fails;
  if (!fails) return all_say(list, count, count, IR_OK, NULL) && exchanges_arrived(w, &elements);
  if (!w->ends) return all_say(list, count, count, IR_ERR_VALUE, "it has failed");
  return exchanges_missed(w, list->ranks->offered_bytes == 0)
             ? all_say(list, count, count, IR_ERR_INVALID, "has ended before")
             : all_say(list, count, count, IR_OK, NULL);
}

/* Runs that come to nothing: a process that cannot begin, one with another program, one that is cut off. */
static bool fails_to_run(exchange_world *w, process *list, uint32_t count) {
  uint32_t which = (uint32_t)exchanges_pick(w, 0, count - 1);
  w->fails = MOST_DEVICES;
  switch (exchanges_pick(w, 0, 2)) {
  case 0:
    strange++;
    list[which].before = IR_ERR_IO;
    run_all(list, count);
    list[which].before = IR_OK;
    return all_say(list, count, count, IR_ERR_IO, "cannot begin");
  case 1:
    strange++;
    list[which].program++;
    run_all(list, count);
    list[which].program--;
    return all_say(list, count, count, IR_ERR_INVALID, "another program");
  default:
    cuts++;
    loopback_cut(list[which].loopback, which);
    run_all(list, count);
    return all_say(list, count, which, IR_ERR_DEVICE, "has not been heard of") &&
           all_say(list + which, 1, 1, IR_ERR_DEVICE, "has not been heard of");
  }
}

/* In one of two meshes all messages are offered; some processes cannot read from some others, and reads fail,
 * but where a device ends early, whose readers those wait for that have offered something. */
static void draw_offers(exchange_world *w, process *list, uint32_t count) {
  bool offers = exchanges_pick(w, 0, 1), ends = w->fails < w->mesh.device_count && w->ends;
  offering += offers;
  reads_fail = !ends;
  for (uint32_t i = 0; i < count && offers; i++) {
    list[i].ranks->offered_bytes = 0;
    for (uint32_t k = 0; k < count; k++)
      if (!ends && !exchanges_pick(w, 0, 4))
        atomic_store(&list[i].ranks->knowledge[k].memory, RANK_MEMORY_CLOSED);
  }
}

static bool check(uint64_t seed) {
  exchange_world *w = malloc(sizeof *w);
  bool good = exchanges_make(w, seed);
  uint32_t most = w->mesh.device_count < MOST_PROCESSES ? w->mesh.device_count : MOST_PROCESSES;
  uint32_t count = (uint32_t)exchanges_pick(w, 1, most);
  process list[MOST_PROCESSES] = {0};
  bool cut = count > 1 && exchanges_pick(w, 0, 9) == 0;
  loopback *between = loopback_make(count, seed);
  for (uint32_t i = 0; i < count; i++)
    list[i] = (process){.world = w, .loopback = between, .number = i, .program = 77};
  good = good && open_all(list, count, cut ? CUT_TIMEOUT_NS : TIMEOUT_NS);
  if (good) draw_offers(w, list, count);
  if (good && cut) good = fails_to_run(w, list, count);
  else good = good && runs(w, list, count);
  all_do(leave, list, count);
  loopback_free(between);
  exchanges += w->count;
  exchanges_free(w);
  free(w);
  return good;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 1000);
  cases_run(&c, check);
  printf("%ld meshes, %lld exchanges, %lld elements, %lld devices that failed or ended early, "
         "%lld processes cut off, %lld that ran something else; messages were offered in %lld meshes, "
         "%lld reads, %lld of them failed or ended short\n",
         c.done, (long long)exchanges, (long long)elements, (long long)failures, (long long)cuts,
         (long long)strange, (long long)offering, (long long)reads, (long long)bad_reads);
  return c.failed != 0;
}
