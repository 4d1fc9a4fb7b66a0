/* The folder runtime/compiler. Where kernels are compiled: in this process or in another one.
 *
 *   in      a KERNEL
 *   out     an object file
 *   holds   the code is the same either way; a crash of the other process does not end this one */

/* The compiler process of a context: the program viewfold-compile, which compiles with viewfold-llvm.so as
 * this process would. If it crashes, this process goes on.
 *
 * The first request starts it; it serves all later ones and is ended with the context. Any number of requests
 * may be in progress, from several threads. The child works on as many at once as it has threads, in the
 * order of arrival. One of the threads that wait for answers reads the answers of all. A caller that needs
 * several kernels sends all requests before it awaits the first, so that no thread of the child is idle while
 * an answer travels. A child that ends, sends an invalid message or sends nothing for too long is given up:
 * the requests that caused its end fail with a message, the others are sent again to a new child.
 *
 * The child inherits almost nothing: of the descriptors one socket, the null device and a memory file for its
 * standard error; of the environment the variables in rt_compiler_environment. No signal is ignored or
 * blocked, it has a session of its own, and its working directory is /. It ends when the other end of its
 * socket is closed, and when the process that started it ends.
 *
 * A process made by fork does not use its parent's child: it starts its own. As with every lock, no other
 * thread may be compiling in the context while the process forks. */
#ifndef VIEWFOLD_RUNTIME_COMPILER_COMPILER_H
#define VIEWFOLD_RUNTIME_COMPILER_COMPILER_H

#include <pthread.h>
#include <sys/types.h>

#include "codegen/codegen.h"
#include "ir/log.h"
#include "runtime/cache/kernel_key.h"

#define RT_COMPILER_FILE "viewfold-compile"

/* Default limit of processor seconds for one request. The longest kernel of the tests, a chain of 20,000
 * operations, takes 8 on a Xeon of 2023 (Sapphire Rapids). The limit is almost forty times that: a machine a
 * tenth as fast takes 80 and stays within it. */
enum { RT_COMPILER_SECONDS = 300 };

/* The least limit of memory that may be set, in bytes: libLLVM 19 takes 12 MiB when it is loaded, a thread's
 * stack 8, a small kernel 2. */
enum { RT_COMPILER_LEAST = 32 << 20 };

/* How kernels are compiled. */
typedef struct rt_compiling {
  bool process;        /* in a compiler process */
  const char *program; /* path of the program; NULL: RT_COMPILER_FILE, beside the module */
  int seconds;         /* of processor time, for one kernel; 0: RT_COMPILER_SECONDS */
  int64_t bytes;       /* limit of its private writable memory, from RT_COMPILER_LEAST; 0: none */
  int wall;            /* seconds of silence until it is given up; 0: a multiple of `seconds` */
  const ir_log *log;   /* receives what is no failure; or NULL */
  int threads;         /* kernels that it compiles at a time; 0: as many as it may use processors */
} rt_compiling;

/* A request. The caller sets the fields of the first group; all others are 0. The request stays at its
 * address until rt_compiler_await has returned. */
typedef struct rt_compile_request {
  const rt_kernel_key *key;
  const char *symbol; /* name of the function, less than RT_SYMBOL bytes long */
  const ir_target *target;
  cg_output want;
  int level;
  const ir_timer *timer; /* may be NULL */
  ir_task *task;         /* may end it; or NULL */
  const ir_mem *mem;     /* of the output */

  /* Used by the compiler alone. */
  struct rt_compile_request *next;
  cg_blob out;
  ir_error error;
  uint32_t number;
  bool sleeps;           /* its awaiting thread sleeps while another thread reads answers */
  bool starts;           /* the child was started for this request */
  int64_t asked, lap_ns; /* ir_timer_start when asked; nanoseconds of all the child's laps */
  enum { RT_REQUEST_WAITS, RT_REQUEST_ANSWERED, RT_REQUEST_RETRY } state;
  ir_status status;
} rt_compile_request;

typedef struct rt_compiler {
  pthread_mutex_t lock;    /* guards the fields below */
  pthread_cond_t answered; /* a request was answered, or no thread reads answers any more */
  rt_compiling how;
  pid_t owner, pid; /* the process that started the child; the child, 0: none */
  int socket,
      stderr_file; /* our end of the socket pair; memory file of the child's standard error, -1: none */
  struct rt_file_id {
    dev_t device;
    ino_t file;
  } socket_id, stderr_id; /* identify both files: a program may close our descriptors, whose numbers may then
                            be reused */
  bool greeted, reading;
  uint32_t last;                /* number of the last request */
  uint32_t started;             /* children started so far */
  int64_t until;                /* by ir_now_ns: when the child is given up if it sends nothing before */
  rt_compile_request *requests; /* those for which rt_compiler_await has not returned */
} rt_compiler;

/* how->program is not copied. */
ir_status rt_compiler_init(rt_compiler *compiler, const rt_compiling *how, ir_error *error);
/* No request may be in progress. Waits for the child's end. */
void rt_compiler_free(rt_compiler *compiler);

/* Sends the request and does not wait for the answer. Each request must be awaited, by any thread. */
void rt_compiler_ask(rt_compiler *compiler, rt_compile_request *request);
/* Waits for the answer; *out as in rt_module_request. IR_ERR_COMPILE where the program is missing, cannot be
 * started or was built from other sources, and where a crash, a signal, LLVM or the limit of processor time
 * ended it; IR_ERR_MEMORY where it ran out of memory; IR_ERR_CANCELLED where the task of the request ended:
 * the child is killed then, and what others wait for is asked of a new one. */
ir_status rt_compiler_await(rt_compiler *compiler, rt_compile_request *request, cg_blob *out,
                            ir_error *error);
/* Asks and awaits. */
ir_status rt_compiler_request(rt_compiler *compiler, const cg_request *request, cg_blob *out,
                              ir_error *error);

/* Names of the environment variables that a child inherits; the last is NULL. */
extern const char *const rt_compiler_environment[];

/* Defined in child.c. rt_compiler_start and rt_compiler_end are called under the lock. */

/* How a child ended. */
typedef struct rt_ending {
  bool greeted;          /* it had sent its greeting */
  bool known, signalled; /* known: it ended by itself, and its exit status could be read */
  int code;              /* the signal, or the exit status */
  uint32_t number;       /* the request that ended it; 0: not known */
  char reason[24];       /* RT_REASON_..., as the child wrote it; "" */
  char output_tail[400]; /* the end of its standard error before that, on one line */
} rt_ending;

/* Starts a child if there is none that can be used. */
ir_status rt_compiler_start(rt_compiler *compiler, ir_error *error);
/* Ends the child and waits for its end: kills it at once, or only if it does not end by itself in time after
 * the socket is shut down. out may be NULL. */
void rt_compiler_end(rt_compiler *compiler, bool at_once, rt_ending *out);
/* Path of the program; false where it does not exist, and path is then the first place that was searched. */
bool rt_compiler_find(const rt_compiling *how, char *path, size_t size);

#endif
