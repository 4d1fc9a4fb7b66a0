#include "progress.h"

#include "timer.h"

void ir_progress_set(ir_progress *p, ir_tell tell, void *user) {
  p->user = user;
  p->tell = tell;
  if (tell) atomic_fetch_or_explicit(&p->state, IR_TOLD, memory_order_relaxed);
  else atomic_fetch_and_explicit(&p->state, ~(unsigned)IR_TOLD, memory_order_relaxed);
}

void ir_task_begin(ir_task *t, ir_progress *p) {
  t->progress = p;
  t->begun = p ? ir_progress_begun(p) : 0;
  t->told_ns = 0;
  t->what = NULL;
  atomic_init(&t->refused, false);
}

/* Under p->telling: with what the task has, if its time has come. */
static void tell(ir_task *t, const ir_progress *p) {
  int64_t now = ir_now_ns();
  bool first = t->told_ns == 0; /* until now nobody has looked at the clock */
  if (!t->what || (!first && now - t->told_ns < IR_TELL_NS)) return;
  t->told_ns = now;
  if (first) return;
  if (p->tell(p->user, t->what, t->done, t->total))
    atomic_store_explicit(&t->refused, true, memory_order_relaxed);
}

/* Does the caller tell now? tell_end must follow. */
static bool tell_begin(ir_task *t) {
  return t && t->progress && t->progress->tell && !ir_task_ends(t) &&
         !atomic_flag_test_and_set_explicit(&t->progress->telling, memory_order_acquire);
}

static void tell_end(ir_task *t) {
  tell(t, t->progress);
  atomic_flag_clear_explicit(&t->progress->telling, memory_order_release);
}

bool ir_task_tell(ir_task *t, const char *what, int64_t done, int64_t total) {
  if (tell_begin(t)) {
    t->what = what, t->done = done, t->total = total;
    tell_end(t);
  }
  return !ir_task_ends(t);
}

bool ir_task_tell_again(ir_task *t) {
  if (tell_begin(t)) tell_end(t);
  return !ir_task_ends(t);
}

ir_status ir_cancelled(ir_error *error) { return ir_fail(error, IR_ERR_CANCELLED, "cancelled"); }

void ir_say_cancelled(ir_error *error, const char *format, ...) {
  if (error->status != IR_ERR_CANCELLED) return;
  va_list list;
  va_start(list, format);
  ir_error_clear(error);
  ir_vfail(error, IR_ERR_CANCELLED, format, list);
  va_end(list);
}
