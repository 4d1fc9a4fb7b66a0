/* The folder runtime/compiler. Where kernels are compiled: in this process or in another one.
 *
 *   in      a KERNEL
 *   out     an object file
 *   holds   the code is the same either way; the end of the other process is not that of this one */

/* The compiler process of a context: the program viewfold-compile, which compiles as viewfold-llvm.so does in
 * this process, and whose end is not that of this process.
 *
 * It is started by the first request, kept for those after it, and ended with the context. Any number of
 * requests may be under way, from several threads: the child works on as many as it has threads, in the order
 * in which they came, and whoever waits for an answer reads answers, for all. Many are asked for before the
 * first is waited for where many are wanted, so that no thread of the child is idle while an answer travels.
 * A child that ends by itself, that says what it must not, or that says nothing for too long is done with:
 * the requests that it was ended by fail with a message, the others are asked again of a new one.
 *
 * Nothing of this process is the child's: of its descriptors one socket, the null device and a file in memory
 * for what it writes to standard error; of its environment what rt_compiler_environment lists; no signal is
 * ignored or blocked, its session is its own and its directory is /. It ends when the other end of its socket
 * is closed, and when the process that started it ends.
 *
 * A process made by fork has no share in its parent's child: it starts its own. As with every lock, no other
 * thread may be compiling in the context while the process forks. */
#ifndef VIEWFOLD_RUNTIME_COMPILER_COMPILER_H
#define VIEWFOLD_RUNTIME_COMPILER_COMPILER_H

#include <pthread.h>
#include <sys/types.h>

#include "codegen/codegen.h"
#include "runtime/cache/kernel_key.h"

#define RT_COMPILER_FILE "viewfold-compile"

/* Processor seconds of one request. The longest kernel of the tests, a chain of 20,000 operations, takes 8 on
 * a Xeon of 2023 (Sapphire Rapids); what takes forty times as long there would, on a machine a tenth as fast,
 * be no fault yet. */
enum { RT_COMPILER_SECONDS = 300 };

/* The least limit of memory: libLLVM 19 takes 12 MiB when it is loaded, a thread's stack 8, a small kernel 2.
 */
enum { RT_COMPILER_LEAST = 32 << 20 };

/* How LLVM is run. */
typedef struct rt_compiling {
  bool process;        /* in a process of its own */
  const char *program; /* its path; NULL: RT_COMPILER_FILE where the code generator's module is looked for */
  int seconds;         /* of processor time, for one kernel; 0: RT_COMPILER_SECONDS */
  int64_t bytes;       /* of memory that only the process has and may write to, from
                          RT_COMPILER_LEAST; 0: any number */
  int wall;    /* seconds within which it must answer something; 0: many times those of processor time */
  int threads; /* kernels that it compiles at a time; 0: as many as it may use processors */
} rt_compiling;

/* A request. The caller sets what comes first, all else being 0; it stays where it is until rt_compiler_await
 * has returned. */
typedef struct rt_asked {
  const rt_kernel_key *key;
  const char *symbol; /* of the function, as long as an RT_SYMBOL */
  const ir_target *target;
  cg_output want;
  int level;
  const ir_timer *timer; /* may be NULL */
  const ir_mem *mem;     /* of the output */

  /* The compiler's own. */
  struct rt_asked *next;
  cg_blob out;
  ir_error error;
  uint32_t number;
  bool sleeps;           /* whoever awaits it, while another reads */
  bool starts;           /* the child was started for it */
  int64_t asked, lapped; /* when; nanoseconds that the parts took, as the child says */
  enum { RT_ASKED_WAITS, RT_ASKED_ANSWERED, RT_ASKED_AGAIN } state;
  ir_status status;
} rt_asked;

typedef struct rt_compiler {
  pthread_mutex_t lock;    /* of all below */
  pthread_cond_t answered; /* some request was, or nobody reads any more */
  rt_compiling how;
  pid_t owner, pid;  /* the process that started the child; the child, 0: none */
  int socket, words; /* our end of the pair; what the child wrote to standard error, -1: nobody knows */
  struct rt_file_id {
    dev_t device;
    ino_t file;
  } socket_id, words_id; /* a process may close its descriptors; their numbers are then those of others */
  bool greeted, reading;
  uint32_t last;    /* number of a request */
  uint32_t started; /* children so far */
  int64_t until;    /* the child is given up where nothing is heard of it: ir_now_ns() */
  rt_asked *asked;  /* all for which nobody's rt_compiler_await has returned */
} rt_compiler;

/* how->program is not copied. */
ir_status rt_compiler_init(rt_compiler *compiler, const rt_compiling *how, ir_error *error);
/* No request may be under way. Waits for the child's end. */
void rt_compiler_free(rt_compiler *compiler);

/* Sends the request, and does not wait. Each is to be awaited, by any thread. */
void rt_compiler_ask(rt_compiler *compiler, rt_asked *asked);
/* Waits for what was asked for: as rt_module_request. IR_ERR_COMPILE where there is no program, it cannot be
 * started or is not of these sources, and where it was ended by a crash, a signal, LLVM or the limit of
 * processor time; IR_ERR_MEMORY where that was want of memory. */
ir_status rt_compiler_await(rt_compiler *compiler, rt_asked *asked, cg_blob *out, ir_error *error);
/* Both. */
ir_status rt_compiler_request(rt_compiler *compiler, const cg_request *request, cg_blob *out,
                              ir_error *error);

/* Names of the variables that a child is given where they are set; the last is NULL. */
extern const char *const rt_compiler_environment[];

/* child.c, all under the lock. */

/* How a child came to its end. */
typedef struct rt_ending {
  bool greeted;          /* it had said what it is */
  bool known, signalled; /* known: it ended by itself, and nobody else has waited for it */
  int code;              /* the signal, or the exit status */
  uint32_t number;       /* of the request that it was ended by; 0: nobody knows */
  char reason[24];       /* RT_WORDS_... as the child says it; "" */
  char said[400];        /* the end of what was written before that, on one line */
} rt_ending;

/* Sees to it that there is a child. */
ir_status rt_compiler_start(rt_compiler *compiler, ir_error *error);
/* Ends the child, at once or when it has hung up, and waits for that. out may be NULL. */
void rt_compiler_end(rt_compiler *compiler, bool at_once, rt_ending *out);
/* Where the program is, or the first place that was looked at: false. */
bool rt_compiler_find(const rt_compiling *how, char *path, size_t size);

#endif
