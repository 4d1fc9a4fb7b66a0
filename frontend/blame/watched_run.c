#include "frontend/blame/watched_run.h"

#include <string.h>

#include "frontend/blame/blame_value.h"

typedef struct runner {
  const fe_watched_run *r;
  const ir_mem *mem;
  ir_binding_input *inputs; /* of the graph, then constants */
  size_t input_count;
  uint8_t *saved; /* what a run changes, one array after the other */
  size_t saved_bytes;
  uint8_t *marks, *quiet;
} runner;

static void copy_changed(const runner *x, bool back) {
  uint8_t *at = x->saved;
  for (size_t i = 0; i < x->r->changed_count; at += x->r->changed[i++].bytes) {
    const fe_changed *c = &x->r->changed[i];
    if (c->bytes) memcpy(back ? c->memory : at, back ? at : c->memory, c->bytes);
  }
}

/* The constants in the order in which the program is bound to them: that of the graph. */
static bool bind(runner *x) {
  const fe_blamed *b = x->r->blamed;
  size_t constants = rt_program_constant_count(x->r->program), live_count = 0, cap = 0, n = 0;
  ir_ref *live = NULL;
  x->input_count = b->input_count + constants;
  x->inputs = ir_alloc(x->mem, x->input_count * sizeof *x->inputs);
  bool good = x->inputs && ir_reachable(b->graph, b->roots, b->root_count, &live, &live_count, &cap) == IR_OK;
  if (good && b->input_count) memcpy(x->inputs, b->inputs, b->input_count * sizeof *x->inputs);
  for (size_t i = 0; i < live_count && good && n < constants; i++)
    if (ir_op_of(b->graph, live[i]) == IR_OP_RESOURCE) {
      x->inputs[b->input_count + n] = (ir_binding_input){live[i], rt_program_constant_data(x->r->program, n)};
      n++;
    }
  x->input_count = b->input_count + n;
  ir_free(x->mem, live, cap * sizeof *live);
  return good;
}

static bool open(runner *x) {
  for (size_t i = 0; i < x->r->changed_count; i++) x->saved_bytes += x->r->changed[i].bytes;
  x->saved = ir_alloc(x->mem, x->saved_bytes);
  x->marks = ir_alloc(x->mem, rt_program_slot_count(x->r->program));
  x->quiet = ir_alloc(x->mem, rt_program_step_count(x->r->program));
  if (!x->saved || !x->marks || !x->quiet) return false;
  memset(x->quiet, 0, rt_program_step_count(x->r->program));
  return true;
}

static void close_all(runner *x) {
  ir_free(x->mem, x->inputs,
          (x->r->blamed->input_count + rt_program_constant_count(x->r->program)) * sizeof *x->inputs);
  ir_free(x->mem, x->saved, x->saved_bytes);
  ir_free(x->mem, x->marks, rt_program_slot_count(x->r->program));
  ir_free(x->mem, x->quiet, rt_program_step_count(x->r->program));
}

/* Runs again, without looking at the step, as long as no operation is to blame. */
static void run(runner *x, ir_error *error) {
  const fe_watched_run *r = x->r;
  copy_changed(x, false);
  for (bool again = true; again;) {
    rt_watch watch = {.kinds = r->kinds, .quiet = x->quiet, .marks = x->marks};
    rt_program_run_watched(r->program, r->inputs, r->outputs, r->values, &watch, error);
    if (error->status != IR_ERR_VALUE) return;
    copy_changed(x, true);
    if (!x->inputs && !bind(x)) return;
    fe_blamed blamed = *r->blamed;
    blamed.inputs = x->inputs;
    blamed.input_count = x->input_count;
    again = fe_blame_value(&blamed, r->kinds, r->customs, error) == FE_MADE_GIVEN;
    if (again) ir_error_clear(error);
    x->quiet[watch.step] = 1;
  }
}

ir_status fe_run_watched(const fe_watched_run *r, ir_error *error) {
  runner x = {.r = r, .mem = r->blamed->graph->mem};
  if (open(&x)) run(&x, error);
  else ir_fail(error, IR_ERR_MEMORY, "graph @%.60s: out of memory for a watched run", r->blamed->name);
  close_all(&x);
  return error->status;
}
