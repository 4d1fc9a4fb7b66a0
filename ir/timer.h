/* Who wants to know how long each part of a compilation takes. Nobody does where the timer is NULL. */
#ifndef VIEWFOLD_IR_TIMER_H
#define VIEWFOLD_IR_TIMER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* `part` is a pass or a part of code generation. It belongs to the kernel of that symbol, or where symbol is
 * NULL to the step of that number, or where that is negative to the graph. Called from several threads. */
typedef struct ir_timer {
  void *user;
  void (*note)(void *user, const char *phase, int step, const char *symbol, int64_t ns);
} ir_timer;

static inline int64_t ir_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t ir_timer_start(const ir_timer *timer) { return timer ? ir_now_ns() : 0; }

/* Note what ran since *start, and start again. */
static inline void ir_timer_lap(const ir_timer *timer, int64_t *start, const char *phase, int step,
                                const char *symbol) {
  if (!timer) return;
  int64_t now = ir_now_ns();
  timer->note(timer->user, phase, step, symbol, now - *start);
  *start = ir_now_ns();
}

#endif
