/* Custom operations of a program, each name once. */
#include "runtime/object/object.h"

#include <string.h>

#include "runtime/program/program.h"

static const char *name_of(const rt_program *p, const rt_plan_step *s) { return p->plan.names + s->kernel; }

const char *rt_object_call(const rt_program *p, size_t number) {
  const rt_plan_step *steps = p->plan.steps;
  for (uint32_t i = 0, k; i < p->plan.head->steps; i++) {
    if (steps[i].kind != IR_STEP_CALL) continue;
    for (k = 0; k < i; k++) /* not named before */
      if (steps[k].kind == IR_STEP_CALL && !strcmp(name_of(p, &steps[k]), name_of(p, &steps[i]))) break;
    if (k == i && number-- == 0) return name_of(p, &steps[i]);
  }
  return NULL;
}
