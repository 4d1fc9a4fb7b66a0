/* The compiler process: its limits, its threads, its requests. */
#define _GNU_SOURCE /* close_range, pidfd_open by number */
#include "runtime/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/compiler/llvm_module.h"
#include "runtime/system/pool.h"

/* The usual stack of a process's first thread, whatever the limit here: LLVM recurses along chains of
 * operations. */
enum { STACK_BYTES = 8 << 20 };

/* Limit of the bytes in standard error, the only file that the process writes. */
enum { WORDS_BYTES = 1 << 20 };

enum { EXIT_TIME = 3, EXIT_MEMORY };

typedef struct task {
  struct task *next;
  rt_wire_request head;
  uint8_t *key;
} task;

typedef struct worker {
  struct worker *next;
  struct server *server;
  clockid_t clock;           /* measures the thread's processor time */
  int64_t started;           /* reading of `clock` when the request began */
  uint32_t request, seconds; /* request in progress and its limit of processor time; 0: none */
} worker;

typedef struct server {
  const serve_faults *faults;
  rt_module module;
  pthread_mutex_t sending;
  pthread_mutex_t lock; /* guards the fields below */
  pthread_cond_t task_queued;
  task *first, **last;
  worker *workers;
  int threads, max_threads; /* compiling threads; most of them allowed */
  int busy, waiting;        /* threads that compile; tasks not yet begun */
  bool loaded;              /* LLVM is loaded, or cannot be */
} server;

static int64_t read_clock(clockid_t clock) {
  struct timespec t = {0, 0};
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* one request */

typedef struct laps {
  uint32_t count;
  rt_wire_lap list[RT_WIRE_LAPS];
} laps;

static void note_phase(void *user, const char *part, int step, const char *symbol, int64_t ns) {
  laps *l = user;
  (void)step, (void)symbol;
  for (uint64_t i = 0; i < RT_WIRE_LAPS && l->count < RT_WIRE_LAPS; i++)
    if (strcmp(rt_wire_phases[i], part) == 0) l->list[l->count++] = (rt_wire_lap){i, ns};
}

static ir_status compile_task(server *s, const task *t, const ir_timer *timer, cg_blob *out,
                              ir_error *error) {
  ir_graph graph;
  rt_kernel_key key = {.bytes = t->key, .size = (size_t)t->head.key_bytes};
  cg_request request = {&graph,        0,    t->head.symbol, &t->head.target, (cg_output)t->head.want,
                        t->head.level, timer};
  if (ir_graph_init(&graph, &ir_mem_libc, error)) return error->status;
  int64_t start = ir_timer_start(timer);
  ir_status status = rt_kernel_key_read(&key, &graph, &request.kernel, error);
  ir_timer_lap(timer, &start, "read", -1, request.symbol);
  if (!status) rt_module_request(&s->module, &request, out, error);
  ir_graph_free(&graph);
  return error->status;
}

static void work_on(server *s, task *t) {
  laps taken = {0};
  ir_timer timer = {&taken, note_phase};
  ir_error error = {0};
  cg_blob object = {0};
  if (s->faults && s->faults->request) s->faults->request(&t->head);
  ir_status status = compile_task(s, t, t->head.timed ? &timer : NULL, &object, &error);
  if (s->faults && s->faults->done) s->faults->done(&t->head);
  rt_wire_answer head;
  memset(&head, 0, sizeof head);
  head.magic = RT_WIRE_MAGIC;
  head.number = t->head.number;
  head.status = (int32_t)status;
  head.size = status ? strlen(error.text) : object.size;
  head.scratch = object.scratch;
  head.in_place = object.in_place;
  head.uses = object.uses;
  head.laps = taken.count;
  struct iovec parts[] = {{&head, sizeof head},
                          {taken.list, taken.count * sizeof *taken.list},
                          {status ? error.text : object.bytes, (size_t)head.size}};
  pthread_mutex_lock(&s->sending);
  if (!rt_wire_send(RT_WIRE_SOCKET, parts, 3, INT64_MAX)) _exit(0); /* the parent has closed the socket */
  pthread_mutex_unlock(&s->sending);
  if (object.bytes) cg_blob_free(&object);
  free(t->key);
  free(t);
}

/* threads */

static void *worker_main(void *user);

/* Under the lock: start one more thread. False where that fails. */
static bool add_worker(server *s) {
  pthread_attr_t attributes;
  pthread_t thread;
  worker *w = malloc(sizeof *w);
  if (!w) return false;
  *w = (worker){.next = s->workers, .server = s};
  bool made = pthread_attr_init(&attributes) == 0;
  if (made) {
    made = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
           pthread_create(&thread, &attributes, worker_main, w) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (made) s->workers = w, s->threads++;
  else free(w);
  return made;
}

/* Under the lock: start a thread for each waiting task, up to s->max_threads threads in all. None is started
 * before LLVM is loaded: where memory is limited, stacks use what LLVM leaves. */
static void add_workers(server *s) {
  while (s->loaded && s->waiting + s->busy > s->threads && s->threads < s->max_threads && add_worker(s)) {
  } /* on failure the existing threads do all the work */
}

static void load_llvm(server *s) {
  rt_module_load(&s->module, NULL); /* a failure shows again at the first request */
  pthread_mutex_lock(&s->lock);
  s->loaded = true;
  add_workers(s);
  pthread_mutex_unlock(&s->lock);
}

/* A compiling thread. The first one loads LLVM while the first request is on its way. */
static void *worker_main(void *user) {
  worker *w = user;
  server *s = w->server;
  serve_set_signal_stack();
  if (!w->next) load_llvm(s);
  pthread_mutex_lock(&s->lock);
  bool clocked = pthread_getcpuclockid(pthread_self(), &w->clock) == 0;
  for (;;) {
    while (!s->first) pthread_cond_wait(&s->task_queued, &s->lock);
    task *t = s->first;
    if (!(s->first = t->next)) s->last = &s->first;
    s->waiting--, s->busy++;
    w->seconds = clocked ? t->head.seconds : 0; /* without a clock the parent's wall-clock limit applies */
    w->started = clocked ? read_clock(w->clock) : 0;
    w->request = serve_working_on = t->head.number;
    pthread_mutex_unlock(&s->lock);
    work_on(s, t);
    pthread_mutex_lock(&s->lock);
    w->request = serve_working_on = 0;
    s->busy--;
  }
  return NULL;
}

/* listening */

static bool is_request(const rt_wire_request *head) {
  return head->magic == RT_WIRE_MAGIC && head->key_bytes <= SIZE_MAX / 2 && head->number &&
         head->want >= CG_OBJECT && head->want <= CG_LLVM && head->level >= 0 && head->level <= 3 &&
         memchr(head->symbol, 0, sizeof head->symbol) &&
         memchr(head->target.triple, 0, sizeof head->target.triple) &&
         memchr(head->target.features, 0, sizeof head->target.features);
}

/* Reads a request and queues it for a compiling thread. False: the parent has closed the socket, or sent an
 * invalid request. */
static bool read_request(server *s) {
  rt_wire_request head;
  if (!rt_wire_receive(RT_WIRE_SOCKET, &head, sizeof head, INT64_MAX) || !is_request(&head)) return false;
  task *t = calloc(1, sizeof *t);
  if (!t || !(t->key = malloc((size_t)head.key_bytes + 1))) {
    serve_report_end(head.number, RT_REASON_MEMORY, 0);
    _exit(EXIT_MEMORY);
  }
  t->head = head;
  if (!rt_wire_receive(RT_WIRE_SOCKET, t->key, (size_t)head.key_bytes, INT64_MAX)) return false;
  pthread_mutex_lock(&s->lock);
  *s->last = t;
  s->last = &t->next;
  s->waiting++;
  add_workers(s);
  pthread_cond_signal(&s->task_queued);
  pthread_mutex_unlock(&s->lock);
  return true;
}

/* Milliseconds until a request in progress may exceed its limit of processor time; -1: there is none. Ends
 * the process if one has exceeded it. */
static int read_clocks(server *s) {
  int64_t least = INT64_MAX;
  pthread_mutex_lock(&s->lock);
  for (const worker *w = s->workers; w; w = w->next) {
    if (!w->request || !w->seconds) continue;
    int64_t left = (int64_t)w->seconds * 1000000000 - (read_clock(w->clock) - w->started);
    if (left <= 0) {
      serve_report_end(w->request, RT_REASON_TIME, 0);
      _exit(EXIT_TIME);
    }
    if (left < least) least = left;
  }
  bool waiting = s->first != NULL; /* tasks whose processor time has not begun to count */
  pthread_mutex_unlock(&s->lock);
  if (least == INT64_MAX) return waiting ? 10 : -1;
  return least > (int64_t)1000000000 * 1000 ? 1000000 : (int)(least / 1000000) + 1;
}

static int listen_to(server *s, int parent) {
  struct pollfd watched[] = {{RT_WIRE_SOCKET, POLLIN, 0}, {parent, POLLIN, 0}};
  for (;;) {
    int found = poll(watched, 2, read_clocks(s));
    if (found < 0 && errno != EINTR) return 1;
    if (found <= 0) continue;
    if (watched[1].revents) return 0;
    if (watched[0].revents && !read_request(s)) return 0;
  }
}

/* the process */

static void close_others(void) {
#if defined(SYS_close_range)
  if (syscall(SYS_close_range, RT_WIRE_SOCKET + 1, ~0u, 0) == 0) return;
#endif
  for (long fd = sysconf(_SC_OPEN_MAX) < 65536 ? sysconf(_SC_OPEN_MAX) : 65536; --fd > RT_WIRE_SOCKET;)
    close((int)fd);
}

static bool set_limit(int what, int64_t most) {
  struct rlimit limit;
  if (getrlimit(what, &limit)) return false;
  if (limit.rlim_max == RLIM_INFINITY || (rlim_t)most < limit.rlim_max) limit.rlim_max = (rlim_t)most;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(what, &limit) == 0;
}

/* A descriptor that becomes readable when the parent ends (pidfd_open), -1 where the system has none. The
 * parent may have ended before the call, and its number may belong to another process, so getppid is compared
 * afterwards. */
static int watch_parent(pid_t parent) {
  int fd = -1;
#if defined(SYS_pidfd_open)
  fd = (int)syscall(SYS_pidfd_open, parent, 0);
#endif
  if (getppid() != parent) _exit(0);
  return fd;
}

static int serve_requests(pid_t parent, int64_t bytes, int threads, const serve_faults *faults) {
  static server s;
  rt_wire_greeting greeting;
  ir_error error = {0};
  close_others();
  int watched = watch_parent(parent);
  bool good = chdir("/") == 0 && set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_FSIZE, WORDS_BYTES) &&
              (!bytes || set_limit(RLIMIT_DATA, bytes)) && serve_set_last_words();
  signal(SIGXFSZ, SIG_IGN); /* then writing past the limit fails instead of raising a signal */
  s.faults = faults;
  s.last = &s.first;
  if (!good || pthread_mutex_init(&s.lock, NULL) || pthread_mutex_init(&s.sending, NULL) ||
      pthread_cond_init(&s.task_queued, NULL) || rt_module_init(&s.module, NULL, &error))
    return 1;
  if (faults && faults->start) faults->start(RT_WIRE_SOCKET);
  rt_wire_greet(&greeting);
  struct iovec part = {&greeting, sizeof greeting};
  if (!rt_wire_send(RT_WIRE_SOCKET, &part, 1, INT64_MAX)) return 0;
  pthread_mutex_lock(&s.lock);
  good = add_worker(&s);
  pthread_mutex_unlock(&s.lock);
  int most = threads > 0 ? threads : rt_pool_default_threads(); /* while LLVM is loaded */
  pthread_mutex_lock(&s.lock);
  s.max_threads = most;
  pthread_mutex_unlock(&s.lock);
  return good ? listen_to(&s, watched) : EXIT_MEMORY;
}

static const char help_text[] =
    "viewfold-compile: compiles kernels for viewfold, which starts it and speaks with it.\n"
    "\n"
    "It is not meant to be called by hand: the command viewfold starts it where kernels are to be compiled, "
    "and so does\n"
    "the library where VIEWFOLD_COMPILE=process or an option of its context asks for that. A crash of LLVM "
    "here does not\n"
    "end the process that wants the kernel.\n"
    "\n"
    "  --help     this text\n"
    "  --version  the version\n";

int serve_main(int argc, char **argv, const serve_faults *faults) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help_text, stdout) < 0;
  if (argc == 2 && strcmp(argv[1], "--version") == 0)
    return printf("viewfold-compile %s\n", VIEWFOLD_VERSION) < 0;
  if (argc != 5 || strcmp(argv[1], "--serve") != 0 || fcntl(RT_WIRE_SOCKET, F_GETFD) < 0) {
    fputs("viewfold-compile: viewfold starts this program by itself; --help says what it is for\n", stderr);
    return 2;
  }
  _exit(serve_requests((pid_t)strtol(argv[2], NULL, 10), strtoll(argv[3], NULL, 10), atoi(argv[4]), faults));
}
