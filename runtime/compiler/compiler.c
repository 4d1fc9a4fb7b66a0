/* Requests to the compiler process, their answers, and the failures of requests that get none. */
#include "runtime/compiler/compiler.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/compiler/wire.h"

/* The limit of wall-clock time, for requests that the limit of processor time does not end because the child
 * is stopped or the machine is overloaded: WALL_FACTOR times the processor seconds, and at least WALL_LEAST
 * seconds. It is enough for a child that gets a fiftieth of a processor. */
enum { WALL_FACTOR = 50, WALL_LEAST = 600 };

/* Why a child is given up: its end of the socket is closed, it sent an invalid message, it sent nothing
 * before the wall-clock limit, or somebody does not want an answer any more. */
typedef enum fault { HUNG_UP, NONSENSE, SILENT, UNWANTED } fault;

ir_status rt_compiler_init(rt_compiler *c, const rt_compiling *how, ir_error *error) {
  *c = (rt_compiler){.how = *how, .socket = -1, .stderr_file = -1};
  if (pthread_mutex_init(&c->lock, NULL) == 0) {
    if (pthread_cond_init(&c->answered, NULL) == 0) return IR_OK;
    pthread_mutex_destroy(&c->lock);
  }
  return ir_fail(error, IR_ERR_MEMORY, "out of memory making the code generator's lock");
}

void rt_compiler_free(rt_compiler *c) {
  rt_compiler_end(c, false, NULL);
  pthread_cond_destroy(&c->answered);
  pthread_mutex_destroy(&c->lock);
}

static int seconds_of(const rt_compiler *c) { return c->how.seconds ? c->how.seconds : RT_COMPILER_SECONDS; }

static int64_t wall_of(const rt_compiler *c) {
  int64_t wall = (int64_t)seconds_of(c) * WALL_FACTOR;
  if (c->how.wall) return c->how.wall;
  return wall > WALL_LEAST ? wall : WALL_LEAST;
}

/* failures */

static void fail_request(rt_compile_request *a, ir_status status) {
  a->state = RT_REQUEST_ANSWERED;
  a->status = status;
}

static void out_of_time(const rt_compiler *c, rt_compile_request *a) {
  fail_request(
      a, ir_fail(&a->error, IR_ERR_COMPILE,
                 "compile: kernel %s takes more than %d seconds of processor time, the limit; allow more "
                 "(VIEWFOLD_COMPILE_SECONDS, compile_seconds in vf_options), or make the graph smaller",
                 a->symbol, seconds_of(c)));
}

/* Does the child's standard error end with a failed allocation, which LLVM (report_bad_alloc_error) and the
 * C++ library (std::terminate) print before they abort? */
static bool is_memory(const char *said) { return strstr(said, "out of memory") || strstr(said, "bad_alloc"); }

static void out_of_memory(const rt_compiler *c, rt_compile_request *a) {
  if (c->how.bytes)
    ir_fail(&a->error, IR_ERR_MEMORY,
            "compile: kernel %s: LLVM is out of memory; its process may have %lld bytes: allow more "
            "(VIEWFOLD_COMPILE_BYTES, compile_bytes in vf_options), or make the graph smaller",
            a->symbol, (long long)c->how.bytes);
  else
    ir_fail(&a->error, IR_ERR_MEMORY,
            "compile: kernel %s: LLVM is out of memory; free some, or make the graph smaller", a->symbol);
  fail_request(a, IR_ERR_MEMORY);
}

static void fail_crashed(const rt_compiler *c, rt_compile_request *a, const rt_ending *e) {
  char path[600], how[80];
  int signal = 0;
  const char *symbol = a->symbol, *colon = *e->output_tail ? ": " : "";
  rt_compiler_find(&c->how, path, sizeof path);
  if (sscanf(e->reason, RT_REASON_SIGNAL "%d", &signal) != 1 && e->signalled) signal = e->code;
  if (signal) snprintf(how, sizeof how, "signal %d, %.50s", signal, strsignal(signal));
  else if (e->known) snprintf(how, sizeof how, "exit status %d", e->code);
  else snprintf(how, sizeof how, "how is not known");
  if (signal == SIGKILL)
    ir_fail(&a->error, IR_ERR_COMPILE,
            "compile: kernel %s: the process that compiles it was killed (%s)%s%s; the system does so where "
            "memory is short: free some, or compile again",
            symbol, how, colon, e->output_tail);
  else if (!e->greeted)
    ir_fail(&a->error, IR_ERR_COMPILE,
            "compile: kernel %s: the program %s ended as soon as it was started (%s)%s%s; install the one "
            "that belongs to this library, or compile in the process itself (VIEWFOLD_COMPILE=inprocess)",
            symbol, path, how, colon, e->output_tail);
  else
    ir_fail(&a->error, IR_ERR_COMPILE,
            "compile: kernel %s: LLVM ended its process (%s)%s%s; this is a fault of LLVM or of viewfold: "
            "please report it with the graph. Other graphs can be compiled; a change of this one may help",
            symbol, how, colon, e->output_tail);
  fail_request(a, IR_ERR_COMPILE);
}

static void fail_silent(const rt_compiler *c, rt_compile_request *a) {
  fail_request(
      a,
      ir_fail(
          &a->error, IR_ERR_COMPILE,
          "compile: kernel %s: the process that compiles it has not answered within %lld seconds; it may be "
          "stopped, or the machine has no time for it: compile again, or allow more "
          "(VIEWFOLD_COMPILE_SECONDS)",
          a->symbol, (long long)wall_of(c)));
}

static void fail_nonsense(const rt_compiler *c, rt_compile_request *a) {
  char path[600];
  rt_compiler_find(&c->how, path, sizeof path);
  fail_request(
      a, ir_fail(&a->error, IR_ERR_COMPILE,
                 "compile: kernel %s: the program %s does not answer as viewfold-compile of this build does; "
                 "install library and program together, or compile in the process itself "
                 "(VIEWFOLD_COMPILE=inprocess)",
                 a->symbol, path));
}

static rt_compile_request *oldest(rt_compile_request *list) {
  rt_compile_request *found = NULL;
  for (; list; list = list->next)
    if (list->state == RT_REQUEST_WAITS && (!found || list->number < found->number)) found = list;
  return found;
}

static void fail_unwanted(rt_compile_request *a) {
  if (ir_task_ends(a->task)) fail_request(a, ir_cancelled(&a->error));
  else a->state = RT_REQUEST_RETRY;
}

/* Under the lock: ends the child and decides what becomes of every waiting request. Where the child named the
 * request that ended it, that one fails; where the child was silent, the oldest fails; and those whose task
 * has ended. The other requests are then sent again (RT_REQUEST_RETRY). In all other cases every waiting
 * request fails. */
static void finish_requests(rt_compiler *c, fault why) {
  rt_ending ending;
  rt_compiler_end(c, why != HUNG_UP, &ending);
  rt_compile_request *slowest = oldest(c->requests);
  bool named = false;
  if (why != UNWANTED)
    ir_say(c->how.log, IR_LOG_INFO, "compiler: the process has ended; the next kernel starts another one");
  for (rt_compile_request *a = c->requests; a; a = a->next)
    named |= a->state == RT_REQUEST_WAITS && a->number == ending.number;
  for (rt_compile_request *a = c->requests; a; a = a->next) {
    if (a->state != RT_REQUEST_WAITS) continue;
    if (why == UNWANTED) fail_unwanted(a);
    else if (why == HUNG_UP && named && a->number != ending.number) a->state = RT_REQUEST_RETRY;
    else if (why == SILENT && a != slowest) a->state = RT_REQUEST_RETRY;
    else if (why == SILENT) fail_silent(c, a);
    else if (why == NONSENSE) fail_nonsense(c, a);
    else if (strcmp(ending.reason, RT_REASON_TIME) == 0) out_of_time(c, a);
    else if (strcmp(ending.reason, RT_REASON_MEMORY) == 0 || is_memory(ending.output_tail))
      out_of_memory(c, a);
    else fail_crashed(c, a, &ending);
  }
}

/* answers */

static bool receive_greeting(rt_compiler *c, int64_t until, fault *why) {
  rt_wire_greeting mine, other;
  rt_wire_greet(&mine);
  *why = HUNG_UP;
  if (!rt_wire_receive(c->socket, &other, sizeof other, until)) return false;
  *why = NONSENSE;
  return c->greeted = memcmp(&mine, &other, sizeof mine) == 0;
}

/* Receives the bytes of an answer. Where there is no memory for them they are received and dropped, so that
 * the next answer can be read. */
static bool receive_bytes(rt_compiler *c, rt_compile_request *a, const rt_wire_answer *answer,
                          int64_t until) {
  size_t size = (size_t)answer->size;
  const ir_mem *mem = a->mem;
  char *bytes = ir_alloc(mem, size + 1), drain[4096];
  for (size_t done = 0; done < size;) {
    size_t part = bytes || size - done < sizeof drain ? size - done : sizeof drain;
    if (!rt_wire_receive(c->socket, bytes ? bytes + done : drain, part, until)) {
      ir_free(mem, bytes, size + 1);
      return false;
    }
    done += part;
  }
  if (!bytes) {
    a->status = ir_fail(&a->error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", size);
    return true;
  }
  bytes[size] = '\0';
  a->status = (ir_status)answer->status;
  if (a->status) {
    ir_fail(&a->error, a->status, "%s", bytes);
    ir_free(mem, bytes, size + 1);
  } else {
    a->out = (cg_blob){.mem = mem,
                       .bytes = bytes,
                       .size = size,
                       .scratch = answer->scratch,
                       .in_place = answer->in_place,
                       .uses = answer->uses};
  }
  return true;
}

static bool is_answer(const rt_wire_answer *answer) {
  return answer->magic == RT_WIRE_MAGIC && answer->laps <= RT_WIRE_LAPS && answer->status >= IR_OK &&
         answer->status <= IR_ERR_INTERNAL &&
         answer->size <= (answer->status ? sizeof((ir_error *)0)->text : RT_WIRE_MOST);
}

static rt_compile_request *find_request(rt_compiler *c, uint32_t number) {
  pthread_mutex_lock(&c->lock);
  rt_compile_request *a = c->requests;
  while (a && (a->number != number || a->state != RT_REQUEST_WAITS)) a = a->next;
  pthread_mutex_unlock(&c->lock);
  return a;
}

/* Does anybody not want an answer any more? */
static bool any_unwanted(rt_compiler *c) {
  bool found = false;
  pthread_mutex_lock(&c->lock);
  for (rt_compile_request *a = c->requests; a && !found; a = a->next)
    found = a->state == RT_REQUEST_WAITS && ir_task_ends(a->task);
  pthread_mutex_unlock(&c->lock);
  return found;
}

/* Waits for the beginning of an answer, until somebody does not want his. Tells that the task waits. */
static bool await_bytes(rt_compiler *c, ir_task *task, int64_t until, fault *why) {
  *why = UNWANTED;
  while (!rt_wire_ready(c->socket, ir_now_ns() + IR_TELL_NS) && ir_now_ns() < until)
    if (!ir_task_tell_again(task) || any_unwanted(c)) return false;
  return true;
}

/* Receives an answer; *out is its request. On failure *why says what is wrong. */
static bool receive_answer(rt_compiler *c, int64_t until, rt_compile_request **out, fault *why) {
  rt_wire_answer answer;
  rt_wire_lap laps[RT_WIRE_LAPS];
  if (!c->greeted && !receive_greeting(c, until, why)) return false;
  *why = HUNG_UP;
  if (!rt_wire_receive(c->socket, &answer, sizeof answer, until)) return false;
  *why = NONSENSE;
  rt_compile_request *a = *out = is_answer(&answer) ? find_request(c, answer.number) : NULL;
  if (!a) return false;
  *why = HUNG_UP;
  if (!rt_wire_receive(c->socket, laps, answer.laps * sizeof *laps, until) ||
      !receive_bytes(c, a, &answer, until))
    return false;
  const ir_timer *timer = a->timer;
  for (uint32_t i = 0; timer && i < answer.laps; i++) {
    if (laps[i].phase < RT_WIRE_LAPS)
      timer->note(timer->user, rt_wire_phases[laps[i].phase], -1, a->symbol, laps[i].ns);
    a->lap_ns += laps[i].ns;
  }
  return true;
}

/* requests */

/* A child that does not take a request has ended, or hangs. Then the socket is shut down, and the thread that
 * reads answers finds out which. */
static void send_request(rt_compiler *c, rt_compile_request *a) {
  rt_wire_request head;
  memset(&head, 0, sizeof head); /* padding too: all of it is sent */
  head.magic = RT_WIRE_MAGIC;
  head.key_bytes = a->key->size;
  head.number = a->number;
  head.seconds = (uint32_t)seconds_of(c);
  head.want = (int32_t)a->want;
  head.level = a->level;
  head.timed = a->timer != NULL;
  head.target = *a->target;
  snprintf(head.symbol, sizeof head.symbol, "%s", a->symbol);
  struct iovec parts[] = {{&head, sizeof head}, {a->key->bytes, a->key->size}};
  if (!rt_wire_send(c->socket, parts, 2, c->until)) shutdown(c->socket, SHUT_RDWR);
}

static void reset_deadline(rt_compiler *c) { c->until = ir_now_ns() + wall_of(c) * 1000000000; }

/* Under the lock: starts a child if there is none, and sends the request. */
static void ask_child(rt_compiler *c, rt_compile_request *a) {
  uint32_t started = c->started;
  a->state = RT_REQUEST_ANSWERED;
  if ((a->status = rt_compiler_start(c, &a->error))) return;
  a->starts |= c->started != started;
  a->state = RT_REQUEST_WAITS;
  a->number = ++c->last;
  reset_deadline(c);
  send_request(c, a);
}

void rt_compiler_ask(rt_compiler *c, rt_compile_request *a) {
  a->asked = ir_timer_start(a->timer);
  pthread_mutex_lock(&c->lock);
  ask_child(c, a);
  a->next = c->requests;
  c->requests = a;
  pthread_mutex_unlock(&c->lock);
}

static void dequeue_request(rt_compiler *c, rt_compile_request *a) {
  rt_compile_request **at = &c->requests;
  while (*at && *at != a) at = &(*at)->next;
  if (*at) *at = a->next;
}

/* Under the lock: waits until a's state is decided. Reads answers, for all requests, while no other thread
 * does. */
static void await_answer(rt_compiler *c, rt_compile_request *a) {
  while (a->state == RT_REQUEST_WAITS) {
    if (c->reading) {
      a->sleeps = true;
      pthread_cond_wait(&c->answered, &c->lock);
      a->sleeps = false;
      continue;
    }
    fault why;
    rt_compile_request *answered = NULL;
    int64_t until = c->until;
    c->reading = true;
    pthread_mutex_unlock(&c->lock);
    bool good = await_bytes(c, a->task, until, &why) && receive_answer(c, until, &answered, &why);
    if (!good && why == HUNG_UP && ir_now_ns() >= until) why = SILENT;
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    if (good) answered->state = RT_REQUEST_ANSWERED, reset_deadline(c);
    else finish_requests(c, why);
    if (!good || answered->sleeps || answered == a) pthread_cond_broadcast(&c->answered);
  }
}

/* A request is sent again only after another request ended the child and failed, so the loop ends. */
ir_status rt_compiler_await(rt_compiler *c, rt_compile_request *a, cg_blob *out, ir_error *error) {
  pthread_mutex_lock(&c->lock);
  for (await_answer(c, a); a->state == RT_REQUEST_RETRY; await_answer(c, a)) ask_child(c, a);
  dequeue_request(c, a);
  pthread_mutex_unlock(&c->lock);
  if (a->timer && a->starts) /* the time outside the child's laps: the start of the child, and loading LLVM */
    a->timer->note(a->timer->user, "load", -1, NULL, ir_now_ns() - a->asked - a->lap_ns);
  *out = a->out;
  return a->status ? ir_fail(error, a->status, "%s", a->error.text) : IR_OK;
}

ir_status rt_compiler_request(rt_compiler *c, const cg_request *request, cg_blob *out, ir_error *error) {
  const ir_mem *mem = request->graph->mem;
  rt_kernel_key key;
  *out = (cg_blob){0};
  ir_status status = rt_kernel_key_make(mem, request->graph, request->kernel, &key, error);
  if (!status) {
    rt_compile_request pending = {.key = &key,
                                  .symbol = request->symbol,
                                  .target = request->target,
                                  .want = request->want,
                                  .level = request->level,
                                  .timer = request->timer,
                                  .mem = mem};
    rt_compiler_ask(c, &pending);
    status = rt_compiler_await(c, &pending, out, error);
  }
  rt_kernel_key_free(mem, &key);
  return status;
}
