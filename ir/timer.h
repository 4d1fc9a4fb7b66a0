/* Receives the time that each phase of a compilation takes. A NULL timer measures nothing. */
#ifndef VIEWFOLD_IR_TIMER_H
#define VIEWFOLD_IR_TIMER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* `phase` is a pass or a step of code generation. The time belongs to the kernel named `symbol`; if symbol is
 * NULL, to the step of that number; if that is negative, to the graph. Called from several threads. */
typedef struct ir_timer {
  void *user;
  void (*note)(void *user, const char *phase, int step, const char *symbol, int64_t ns);
} ir_timer;

/* Nanoseconds since an unspecified moment, by a clock that is never set: for differences and deadlines. */
static inline int64_t ir_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The first *start of ir_timer_lap: the time now, or 0 where nothing is measured. */
static inline int64_t ir_timer_start(const ir_timer *timer) { return timer ? ir_now_ns() : 0; }

/* Reports the time since *start and restarts it. */
static inline void ir_timer_lap(const ir_timer *timer, int64_t *start, const char *phase, int step,
                                const char *symbol) {
  if (!timer) return;
  int64_t now = ir_now_ns();
  timer->note(timer->user, phase, step, symbol, now - *start);
  *start = ir_now_ns();
}

#endif
