/* Whether a run goes on: asked before each step, between the parts of a long one, and at its end. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PACE_H
#define VIEWFOLD_RUNTIME_PROGRAM_PACE_H

#include "runtime/program/program.h"

/* A run asks before each kernel that is divided among threads, each custom operation, and each RT_PACE_STEPS
 * short steps, of which none takes more than RT_SPLIT_WORK: a step of 10 ns has no time for more. */
enum { RT_PACE_STEPS = 16 }; /* a power of two; some 100 us of short steps at most */
static inline bool rt_pace_asks(uint32_t count) { return (count & (RT_PACE_STEPS - 1)) == 0; }

/* Where somebody is told how far the run is, `budget` is what may pass until the clock is read: a step takes
 * a unit, and its least_ns. */
enum {
  RT_PACE_UNIT = 14,   /* 2^14 ns: more than most steps take that are not split [0.2 to 10 us in the bench] */
  RT_PACE_BUDGET = 64, /* 1 ms: reading the clock takes 20 ns */
  RT_PACE_PART = 4000000 /* ns that a part of a long step surely takes: a person sees nothing of it */
};

typedef struct rt_pace {
  ir_progress *progress;
  unsigned begun; /* progress->state then; IR_TOLD: the fields below are set */
  int64_t budget;
  int64_t done, total; /* steps, as rt_cost counts them; total -1: not asked yet, 0: not known */
  ir_task task;
} rt_pace;

/* Defined in pace.c: where somebody is told. */
void rt_pace_watch(rt_pace *pace);
/* Defined in pace.c. In the thread of the run, after so many steps, and before one that surely takes so long:
 * is the run to end? */
bool rt_pace_ends(rt_pace *pace, const rt_program *program, const rt_frame *frame, int64_t least_ns,
                  int64_t steps);

/* Of a run that begins now. */
static inline void rt_pace_begin(rt_pace *pace, const rt_program *p) {
  pace->progress = p->progress;
  pace->begun = ir_progress_begun(p->progress);
  if (pace->begun & IR_TOLD) rt_pace_watch(pace);
}

/* Is somebody told how far the run is? */
static inline bool rt_pace_is_watched(const rt_pace *pace) { return pace->begun & IR_TOLD; }

/* From any thread: is the run to end? */
static inline bool rt_pace_ended(const rt_pace *pace) {
  return ir_progress_ends(pace->progress, pace->begun) ||
         (rt_pace_is_watched(pace) && atomic_load_explicit(&pace->task.refused, memory_order_relaxed));
}

/* Fails: the run has been cancelled. */
static inline ir_status rt_pace_cancelled(const rt_program *p, ir_error *error) {
  return ir_fail(error, IR_ERR_CANCELLED, "graph @%s: the run was cancelled; its results are unspecified",
                 rt_program_name(p));
}

#endif
