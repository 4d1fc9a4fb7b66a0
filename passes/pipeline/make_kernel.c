/* The passes of one kernel, from its tensors to its loops; or loops that an equal kernel has already. */
#include "passes/pipeline/state.h"

#include <string.h>

typedef struct making {
  const ir_mem *mem;
  made_sums sums;
  const pass_shaping *told; /* whom sums are told too; NULL: nobody */
} making;

static void note_sum(void *user, pass_sum_order order) {
  making *m = user;
  made_sums_add(m->mem, &m->sums, order);
  if (m->told) m->told->ordered(m->told->user, order);
}

/* Makes loops of the scalar expressions by the passes from `row` on. Slots are the numbers of parameters, so
 * that what is made serves equal expressions over other slots. */
static bool make_loops(pass_state *s, size_t row, int kernel) {
  const pass_options *own = s->options;
  pass_options noting = *own;
  making m = {.mem = s->g->mem, .told = own->shaping};
  pass_shaping shaping = {.user = &m, .ordered = note_sum};
  ir_ref effect = s->root;
  bool done = true;
  noting.shaping = &shaping;
  s->options = &noting;
  for (uint32_t i = 0; i < s->slots.param_count; i++) s->slots.params[i] = i;
  while (row < pass_count && done) done = pipeline_run_pass(s, &row, kernel);
  if (done) made_kernels_add(&s->made, effect, s->strategy == &s->once, s->step, &m.sums);
  made_sums_free(m.mem, &m.sums);
  s->options = own;
  return done;
}

static bool take_loops(pass_state *s, const made_kernel *made) {
  ir_step *step = s->step;
  const pass_shaping *told = s->options->shaping;
  if (made->param_count) memcpy(s->slots.params, made->params, made->param_count * sizeof *made->params);
  s->slots.param_count = made->param_count;
  pipeline_set_slots(s);
  step->kernel = made->kernel;
  step->count = made->count, step->work = made->work;
  step->flops = made->flops, step->magnitude = made->magnitude;
  for (size_t i = 0; i < made->sums.count && told; i++) told->ordered(told->user, made->sums.orders[i]);
  if (s->root) s->root = made->kernel;
  return s->root != 0;
}

static bool make_kernel(pass_state *s, int kernel) {
  if (!s->keeps_loops) return pipeline_run_passes(s, PASS_ON_KERNEL, kernel);
  size_t row = pipeline_find("fold");
  if (!pipeline_run_pass(s, &row, kernel)) return false;
  size_t bytes = s->step->slot_count * sizeof *s->step->slots;
  uint32_t *slots = ir_alloc(s->g->mem, bytes);
  if (!slots) {
    ir_fail(s->error, IR_ERR_MEMORY, "out of memory making kernels");
    return false;
  }
  if (bytes) memcpy(slots, s->step->slots, bytes);
  const made_kernel *made = made_kernels_find(&s->made, s->root, s->strategy == &s->once);
  bool done = made ? take_loops(s, made) : make_loops(s, row, kernel);
  for (uint32_t i = 0; i < s->step->slot_count && done; i++) s->step->slots[i] = slots[s->step->slots[i]];
  ir_free(s->g->mem, slots, bytes);
  return done;
}

/* What depends on constants alone is computed once (passes/schedule/run_once.h): making fast code for it
 * takes longer than it gains. Of 9.4 MB of weights in the order of tiles, gathering takes 0.41 ms and
 * transposing 0.34, but 1 ms and 4 to compile (Zen 4). */
bool pipeline_make_kernel(pass_state *s, int kernel) {
  const pass_strategy *own = s->strategy;
  if (s->options->target->hoists && !s->step->row_group.count &&
      pass_is_constant_value(&s->values, s->g, s->root))
    s->strategy = &s->once;
  bool done = make_kernel(s, kernel);
  s->strategy = own;
  return done;
}
