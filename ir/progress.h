/* How far work has come, and whether it is to go on.
 *
 * An ir_progress is what whoever waits has set: a function that is told, and a count of cancellations. An
 * ir_task is one piece of work that looks at it. Nothing here allocates or waits. */
#ifndef VIEWFOLD_IR_PROGRESS_H
#define VIEWFOLD_IR_PROGRESS_H

#include <stdatomic.h>

#include "base.h"

/* Told that `done` of `total` are done (total 0: nobody knows how many there are). Not 0: the work ends. */
typedef int (*ir_tell)(void *user, const char *what, int64_t done, int64_t total);

/* Of ir_progress.state, one word so that one load tells all. */
enum {
  IR_TOLD = 1,   /* tell is set */
  IR_OVER = 2,   /* what begins from now on is to end, too */
  IR_CANCEL = 4, /* the unit of the count of cancellations */
};

typedef struct ir_progress {
  atomic_uint state;
  bool lasting;        /* cancelling sets IR_OVER */
  atomic_flag telling; /* tell is being called: it never is in two threads at once */
  ir_tell tell;        /* ir_progress_set sets it; NULL: nobody asks */
  void *user;
} ir_progress;

/* tell NULL: nobody asks any more. While it is set, no task may begin or end in another thread. */
void ir_progress_set(ir_progress *progress, ir_tell tell, void *user);

/* Ends what is in progress. May be called in a signal handler, and from any thread. */
static inline void ir_cancel(ir_progress *p) {
  if (p->lasting) atomic_fetch_or_explicit(&p->state, IR_OVER, memory_order_relaxed);
  atomic_fetch_add_explicit(&p->state, IR_CANCEL, memory_order_relaxed);
}

/* The state that a task which begins now has to compare with. */
static inline unsigned ir_progress_begun(const ir_progress *p) {
  unsigned state = atomic_load_explicit(&p->state, memory_order_relaxed);
  return state & IR_OVER ? state ^ IR_CANCEL : state;
}
/* Is a task to end that had this state when it began? */
static inline bool ir_progress_ends(const ir_progress *p, unsigned begun) {
  return (atomic_load_explicit(&p->state, memory_order_relaxed) ^ begun) & ~(unsigned)IR_TOLD;
}

typedef struct ir_task {
  ir_progress *progress; /* NULL: the task can neither be watched nor cancelled */
  unsigned begun;        /* progress->state then */
  atomic_bool refused;   /* tell has answered that it is to end */
  int64_t told_ns;       /* of the thread that tells: when tell was called last, and with what */
  const char *what;
  int64_t done, total;
} ir_task;

void ir_task_begin(ir_task *task, ir_progress *progress); /* progress may be NULL */
/* Is the task to end? task may be NULL. */
static inline bool ir_task_ends(const ir_task *t) {
  return t && t->progress &&
         (ir_progress_ends(t->progress, t->begun) || atomic_load_explicit(&t->refused, memory_order_relaxed));
}

/* Tells how far the task is, if that is worth it: not more often than every IR_TELL_NS, and not while another
 * thread tells. False where the task is to end: fail with ir_cancelled. task may be NULL. */
#define IR_TELL_NS 20000000 /* as often as pictures of a film: more is not seen, and costs time */
bool ir_task_tell(ir_task *task, const char *what, int64_t done, int64_t total);
/* The same with what was told last: while one waits. */
bool ir_task_tell_again(ir_task *task);

/* Fails with IR_ERR_CANCELLED. */
ir_status ir_cancelled(ir_error *error);
/* Where the error is IR_ERR_CANCELLED, say what was. */
void ir_say_cancelled(ir_error *error, const char *format, ...) IR_PRINTF(2, 3);

/* No failure of what was tried, but of trying: whoever meets it gives up, instead of trying another way. */
static inline bool ir_gives_up(ir_status status) {
  return status == IR_ERR_MEMORY || status == IR_ERR_CANCELLED;
}

#endif
