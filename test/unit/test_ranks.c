/* Devices of several processes: what is refused, and what is said of processes that fail. The processes are
 * threads, with queues between them (test/lib/loopback.h). */
#include "test/lib/unit.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <string.h>

#include "frontend/viewfold.h"
#include "runtime/mesh/gather.h"
#include "runtime/mesh/ranks.h"
#include "runtime/mesh/route.h"
#include "runtime/runtime.h"
#include "test/lib/loopback.h"
#include "test/lib/sanitized.h"

enum { PROCESSES = 2, ELEMENTS = 4 };
#define SECOND ((int64_t)1000000000)

typedef struct process {
  rt_post *post;
  rt_ranks *ranks;
  const rt_routes *routes;
  rt_device_work work;
  uint64_t program;
  float part[ELEMENTS], whole[PROCESSES * ELEMENTS];
  ir_status status;
  ir_error error;
  ir_error own; /* what the exchange itself said, which the process does not */
  pthread_t thread;
} process;

typedef struct team {
  ir_mesh mesh;
  loopback *between;
  rt_routes routes;
  process list[PROCESSES];
} team;

/* Device d is of process d, has part d of a row, and needs all of it. */
static team *make_team(int64_t timeout_ns) {
  team *t = calloc(1, sizeof *t);
  ir_error error = {0};
  ir_mesh_init(&t->mesh, &ir_mem_libc);
  assert_true(ir_mesh_add(&t->mesh, "x", 1, PROCESSES, &error));
  t->between = loopback_make(PROCESSES, 1);
  assert_int_equal(rt_routes_make(&ir_mem_libc, PROCESSES, 1, &t->routes, &error), IR_OK);
  for (int d = 0; d < PROCESSES; d++) {
    t->routes.of[d].own = (ir_box){.rank = 1, .lo = {d * ELEMENTS}, .hi = {(d + 1) * ELEMENTS}};
    t->routes.of[d].needed = (ir_box){.rank = 1, .hi = {PROCESSES * ELEMENTS}};
  }
  assert_int_equal(rt_routes_find(&t->mesh, &ir_mem_libc, sizeof(float), &t->routes, &error), IR_OK);
  for (uint32_t i = 0; i < PROCESSES; i++) {
    process *p = &t->list[i];
    p->routes = &t->routes;
    p->program = 1;
    assert_int_equal(rt_post_open(loopback_of(t->between, i), timeout_ns, &p->post, &error), IR_OK);
    assert_int_equal(rt_ranks_make(&ir_mem_libc, &t->mesh, p->post, &p->ranks, &error), IR_OK);
  }
  return t;
}

static void *leave(void *user) {
  process *p = user;
  rt_ranks_free(p->ranks);
  rt_post_close(p->post);
  return NULL;
}

/* All at once: after a failure each waits for the others to leave. */
static void free_team(team *t) {
  for (int i = 1; i < PROCESSES; i++)
    assert_int_equal(pthread_create(&t->list[i].thread, NULL, leave, &t->list[i]), 0);
  leave(&t->list[0]);
  for (int i = 1; i < PROCESSES; i++) pthread_join(t->list[i].thread, NULL);
  loopback_free(t->between);
  rt_routes_free(&ir_mem_libc, &t->routes);
  ir_mesh_free(&t->mesh);
  free(t);
}

static ir_status exchange(void *user, rt_endpoint *endpoint, ir_error *error) {
  process *p = user;
  rt_transfer t = {
      .routes = p->routes, .part = p->part, .box = p->whole, .bytes = sizeof(float), .kind = "all_gather"};
  ir_status status = endpoint->engine->start(endpoint, &t, error);
  if (!status) status = endpoint->engine->wait(endpoint, &t, error);
  if (status) p->own = *error;
  return status;
}
static ir_status fail_first(void *user, rt_endpoint *endpoint, ir_error *error) {
  (void)user;
  (void)endpoint;
  return ir_fail(error, IR_ERR_RANGE, "an index is out of range");
}

static void *run_one(void *user) {
  process *p = user;
  memset(&p->error, 0, sizeof p->error);
  p->status = rt_ranks_run(p->ranks, p->program, p->work ? p->work : exchange, p, IR_OK, &p->error);
  return NULL;
}

static void run_team(team *t) {
  for (int i = 1; i < PROCESSES; i++)
    assert_int_equal(pthread_create(&t->list[i].thread, NULL, run_one, &t->list[i]), 0);
  run_one(&t->list[0]);
  for (int i = 1; i < PROCESSES; i++) pthread_join(t->list[i].thread, NULL);
}

static void says(const process *p, ir_status status, const char *text) {
  assert_int_equal(p->status, status);
  assert_string_equal(p->error.text, text);
}

/* A run brings the parts; after one that failed on a device the next is as the first. */
static void test_runs(void **state) {
  (void)state;
  team *t = make_team(600 * SECOND);
  const char *failed =
      "device 1 (x=1) of process 1: an index is out of range; device 0 (x=0) waited for device 1 (x=1) "
      "in exchange 1 (all_gather)";
  for (int round = 0; round < 3; round++) {
    for (int d = 0; d < PROCESSES; d++)
      for (int i = 0; i < ELEMENTS; i++) t->list[d].part[i] = (float)(100 * round + 10 * d + i);
    t->list[1].work = round == 1 ? fail_first : NULL;
    run_team(t);
    if (round == 1) {
      assert_string_equal(t->list[0].own.text, "another device has failed");
      says(&t->list[0], IR_ERR_RANGE, failed);
      says(&t->list[1], IR_ERR_RANGE, "device 1 (x=1) of process 1: an index is out of range");
      continue;
    }
    for (int p = 0; p < PROCESSES; p++) {
      assert_int_equal(t->list[p].status, IR_OK);
      for (int i = 0; i < PROCESSES * ELEMENTS; i++)
        assert_true(t->list[p].whole[i] == (float)(100 * round + 10 * (i / ELEMENTS) + i % ELEMENTS));
    }
  }
  free_team(t);
}

/* Gathering results counts nothing, and does not touch what the run before it counted. */
static void *gather_one(void *user) {
  process *p = user;
  void *parts[PROCESSES] = {p->part, p->part};
  ir_box boxes[PROCESSES];
  for (int d = 0; d < PROCESSES; d++) boxes[d] = p->routes->of[d].own;
  rt_mesh_array list[2];
  for (int i = 0; i < 2; i++)
    list[i] = (rt_mesh_array){sizeof(float), p->routes->of[0].needed, boxes, parts, p->whole};
  memset(&p->error, 0, sizeof p->error);
  p->status = rt_ranks_gather(p->ranks, list, 2, &p->error);
  return NULL;
}

static rt_traffic counted[PROCESSES];
static ir_status exchange_counted(void *user, rt_endpoint *endpoint, ir_error *error) {
  endpoint->traffic = &counted[endpoint->device];
  return exchange(user, endpoint, error);
}

static void test_gather_counts_nothing(void **state) {
  (void)state;
  team *t = make_team(600 * SECOND);
  for (int p = 0; p < PROCESSES; p++) t->list[p].work = exchange_counted;
  run_team(t);
  for (int p = 0; p < PROCESSES; p++) {
    assert_int_equal(t->list[p].status, IR_OK);
    assert_int_equal(counted[p].bytes, ELEMENTS * sizeof(float));
  }
  pthread_create(&t->list[1].thread, NULL, gather_one, &t->list[1]);
  gather_one(&t->list[0]);
  pthread_join(t->list[1].thread, NULL);
  for (int p = 0; p < PROCESSES; p++) {
    assert_int_equal(t->list[p].status, IR_OK);
    assert_int_equal(counted[p].times, 1);
    assert_int_equal(counted[p].bytes, ELEMENTS * sizeof(float));
  }
  free_team(t);
}

static void test_another_program(void **state) {
  (void)state;
  team *t = make_team(600 * SECOND);
  t->list[1].program = 2;
  run_team(t);
  for (int i = 0; i < PROCESSES; i++) {
    assert_int_equal(t->list[i].status, IR_ERR_INVALID);
    assert_non_null(
        strstr(t->list[i].error.text,
               "runs another program, on another mesh or with other sizes, in run 1: all processes run "
               "the same programs in the same order"));
  }
  free_team(t);
}

/* Process 1 never runs. */
static void test_gone(void **state) {
  (void)state;
  team *t = make_team(SECOND / 10);
  loopback_cut(t->between, 1);
  run_one(&t->list[0]);
  says(&t->list[0], IR_ERR_DEVICE,
       "device 0 (x=0) of process 0: exchange 1 (all_gather): process 1, which has device 1 (x=1), has not "
       "been heard of "
       "for 0.1 s");
  free_team(t);
}

static void test_left(void **state) {
  (void)state;
  team *t = make_team(600 * SECOND);
  rt_ranks_free(t->list[1].ranks);
  rt_post_close(t->list[1].post);
  t->list[1].ranks = NULL;
  t->list[1].post = NULL;
  run_one(&t->list[0]);
  says(&t->list[0], IR_ERR_DEVICE,
       "device 0 (x=0) of process 0: exchange 1 (all_gather): process 1, which has device 1 (x=1), has left "
       "the mesh");
  free_team(t);
}

/* A mesh x=devices; processes: of the devices, NULL: as they follow one another. */
static void refuses(rt_post *post, int64_t devices, const uint32_t *processes, ir_status status,
                    const char *text) {
  ir_mesh mesh;
  ir_mesh_device places[PROCESSES];
  ir_error error = {0};
  rt_ranks *ranks;
  ir_mesh_init(&mesh, &ir_mem_libc);
  assert_true(ir_mesh_add(&mesh, "x", 1, devices, &error));
  for (int i = 0; i < PROCESSES && processes; i++)
    places[i] = (ir_mesh_device){.name = "cpu", .rank = processes[i]};
  if (processes) assert_true(ir_mesh_place(&mesh, places, PROCESSES, &error));
  assert_int_equal(rt_ranks_make(&ir_mem_libc, &mesh, post, &ranks, &error), status);
  assert_string_equal(error.text, text);
  assert_null(ranks);
  ir_mesh_free(&mesh);
}

static void test_refused(void **state) {
  (void)state;
  team *t = make_team(600 * SECOND);
  refuses(t->list[0].post, PROCESSES, (uint32_t[]){0, 2}, IR_ERR_INVALID,
          "device 1 of the mesh is of process 2; there are 2, from 0 on");
  refuses(t->list[1].post, PROCESSES, (uint32_t[]){0, 0}, IR_ERR_INVALID,
          "process 1 has no device of the mesh, which has 2 on 2 processes; each process has one at least");
  refuses(t->list[0].post, 1024, NULL, IR_ERR_UNSUPPORTED,
          "a mesh with 512 devices of one process, which has at most 256");
  free_team(t);
}

/* No room for the stack of another thread. */
static void test_no_thread(void **state) {
  (void)state;
#if defined(TEST_SANITIZED)
  skip(); /* its own memory does not fit */
#endif
  loopback *between = loopback_make(2, 1);
  rt_post *post = NULL;
  ir_error error = {0};
  unsigned long pages = 0;
  struct rlimit before, tight;
  FILE *statm = fopen("/proc/self/statm", "r");
  if (!statm || fscanf(statm, "%lu", &pages) != 1) skip();
  fclose(statm);
  getrlimit(RLIMIT_AS, &before);
  tight = before;
  tight.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20);
  setrlimit(RLIMIT_AS, &tight);
  ir_status status = rt_post_open(loopback_of(between, 0), SECOND, &post, &error);
  setrlimit(RLIMIT_AS, &before);
  assert_int_equal(status, IR_ERR_DEVICE);
  assert_string_equal(error.text, "the system starts no thread for a mesh of processes");
  loopback_free(between);
}

static void test_joins_once(void **state) {
  (void)state;
  loopback *between = loopback_make(2, 1);
  rt_options options = {.no_disk = true, .threads = 1};
  ir_error error = {0};
  rt_context *c;
  assert_int_equal(rt_context_create(&ir_mem_libc, &options, &c, &error), IR_OK);
  assert_null(rt_context_post(c));
  assert_int_equal(rt_context_join(c, loopback_of(between, 0), SECOND, &error), IR_OK);
  assert_non_null(rt_context_post(c));
  assert_int_equal(rt_context_join(c, loopback_of(between, 1), SECOND, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, "the context has joined other processes already");
  rt_context_destroy(c);
  loopback_free(between);
}

static void test_join_nothing(void **state) {
  (void)state;
  vf_error error = {0};
  assert_int_equal(vf_processes_join(NULL, 0, &error), VF_ERR_INVALID);
  assert_string_equal(
      error.message,
      "processes_join: the context is NULL, as vf_context_create gives where it fails: its error says why");
  assert_int_equal(vf_process_count(NULL), 1);
  assert_int_equal(vf_process_number(NULL), 0);
}

UNIT_TESTS(test_no_thread, test_runs, test_gather_counts_nothing, test_another_program, test_gone, test_left,
           test_refused, test_joins_once, test_join_nothing)
