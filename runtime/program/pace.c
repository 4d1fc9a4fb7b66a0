#include "runtime/program/pace.h"

void rt_pace_watch(rt_pace *pace) {
  pace->task.progress = pace->progress, pace->task.begun = pace->begun;
  pace->task.what = NULL, pace->task.told_ns = 0;
  atomic_init(&pace->task.refused, false);
  pace->budget = RT_PACE_BUDGET;
  pace->done = 0, pace->total = -1;
}

/* How many steps a run has, iterations of loops included; 0 where a loop does not say how often it runs. */
static int64_t steps_of(const rt_program *p, const rt_frame *f) {
  for (uint32_t i = 0; i < p->plan.head->steps; i++)
    if (p->plan.steps[i].kind == IR_STEP_WHILE) return 0;
  return rt_frame_steps(p, f);
}

static bool tell(rt_pace *pace, const rt_program *p, const rt_frame *f, int64_t least_ns, int64_t steps) {
  pace->done += steps;
  pace->budget -= steps + (least_ns >> RT_PACE_UNIT);
  if (pace->budget > 0) return !atomic_load_explicit(&pace->task.refused, memory_order_relaxed);
  pace->budget = RT_PACE_BUDGET;
  if (pace->total < 0) pace->total = steps_of(p, f);
  int64_t done = pace->total && pace->done > pace->total ? pace->total : pace->done;
  return ir_task_tell(&pace->task, "running", done, pace->total);
}

bool rt_pace_ends(rt_pace *pace, const rt_program *p, const rt_frame *f, int64_t least_ns, int64_t steps) {
  return ir_progress_ends(pace->progress, pace->begun) ||
         (rt_pace_is_watched(pace) && !tell(pace, p, f, least_ns, steps));
}
