/* The rule is that of the runtime, which applies it to plans in the form of files (may_hoist of
 * runtime/program/hoist.c); a test compares the two. */
#include "passes/schedule/run_once.h"

#include <string.h>

typedef struct finder {
  const ir_graph *g;
  const ir_plan *plan;
  uint8_t *writers;  /* by slot: steps that write it; 2: more than one, or it is a result */
  bool *is_constant; /* by slot: it holds constants, or what is computed of them once */
} finder;

/* Bytes of a slot; -1: not known. */
static int64_t bytes_of(const finder *f, uint32_t slot) {
  const ir_slot *s = &f->plan->slots[slot];
  int64_t elements, bytes = ir_dtypes[ir_dtype_of(f->g, s->value)].bytes;
  bool known = ir_is_const(f->g, s->elements, &elements);
  return known && elements >= 0 && elements <= INT64_MAX / bytes / IR_MAX_HOISTED_GROWTH ? elements * bytes
                                                                                         : -1;
}

static void count_writers(finder *f) {
  for (size_t i = 0; i < f->plan->result_count; i++) f->writers[f->plan->results[i]] = 2;
  for (size_t i = 0; i < f->plan->step_count; i++) {
    const ir_step *s = &f->plan->steps[i];
    uint32_t written = s->kind == IR_STEP_KERNEL ? ir_written_slots(s) : s->slot_count;
    for (uint32_t k = 0; k < written; k++)
      if (f->writers[s->slots[k]] < 2) f->writers[s->slots[k]]++;
  }
}

static bool has_variables(const finder *f, const ir_step *s) {
  const ir_node *kernel = ir_get(f->g, s->kernel);
  for (uint32_t i = 0; i < kernel->nsrc; i++)
    if (ir_op_of(f->g, kernel->src[i]) == IR_OP_VAR) return true;
  return false;
}

static bool runs_once(const finder *f, const ir_step *s) {
  int64_t ignored, in = 0, out = 0;
  uint32_t written = s->kind == IR_STEP_KERNEL ? ir_written_slots(s) : 0;
  if (!written || ir_op_of(f->g, s->kernel) != IR_OP_KERNEL || has_variables(f, s) ||
      !ir_is_const(f->g, s->count, &ignored) || !ir_is_const(f->g, s->work, &ignored))
    return false;
  for (uint32_t k = 0; k < s->slot_count; k++) {
    uint32_t slot = s->slots[k];
    ir_slot_kind kind = f->plan->slots[slot].kind;
    int64_t bytes = bytes_of(f, slot),
            elements = bytes / ir_dtypes[ir_dtype_of(f->g, f->plan->slots[slot].value)].bytes;
    if (bytes < 0 || in > INT64_MAX / 4 || out > INT64_MAX / 4) return false;
    if (k < written) {
      if (kind != IR_SLOT_TEMP || f->writers[slot] != 1) return false;
      out += elements;
    } else if (f->is_constant[slot]) in += elements;
    else if (kind != IR_SLOT_DATA) return false;
  }
  return out <= IR_MAX_HOISTED_GROWTH * in;
}

/* The steps inside of a step, which come behind it, run as often as that. */
static size_t inside(const ir_step *s) { return s->function_steps[0] + s->function_steps[1]; }

bool schedule_find_run_once(const ir_graph *g, const ir_plan *plan, bool *once) {
  size_t slots = plan->slot_count;
  uint8_t *memory = ir_alloc(plan->mem, 2 * slots + 1);
  if (!memory) return false;
  memset(memory, 0, 2 * slots + 1);
  memset(once, 0, plan->step_count * sizeof *once);
  finder f = {g, plan, memory, (bool *)(memory + slots)};
  for (size_t i = 0; i < slots; i++) f.is_constant[i] = plan->slots[i].kind == IR_SLOT_RESOURCE;
  count_writers(&f);
  for (size_t i = 0; i < plan->step_count; i += 1 + inside(&plan->steps[i])) {
    const ir_step *s = &plan->steps[i];
    once[i] = runs_once(&f, s);
    for (uint32_t k = 0; once[i] && k < ir_written_slots(s); k++) f.is_constant[s->slots[k]] = true;
  }
  ir_free(plan->mem, memory, 2 * slots + 1);
  return true;
}

/* Operations and bytes (pass_work) of all launches of a kernel up to which its code is made quickly. Measured
 * (Xeon, Sapphire Rapids): making it takes 1.5 to 5 ms less, and what it copies takes 0.08 ns more for each.
 */
static const int64_t MOST_QUICK = 1 << 24;

/* By node: the work of the kernel's launches, if all of them happen once; more than MOST_QUICK: others do. */
static void add_up(const ir_graph *g, const ir_plan *plan, const bool *once, int64_t *work) {
  for (size_t i = 0; i < plan->step_count; i++) {
    const ir_step *s = &plan->steps[i];
    int64_t own;
    if (s->kind != IR_STEP_KERNEL) continue;
    bool counts = once[i] && ir_is_const(g, s->work, &own) && own <= MOST_QUICK;
    if (!counts || work[s->kernel] > MOST_QUICK) work[s->kernel] = MOST_QUICK + 1;
    else work[s->kernel] += own;
  }
}

bool schedule_mark_run_once(ir_graph *g, ir_plan *plan) {
  size_t nodes = g->count, bytes = nodes * sizeof(int64_t);
  int64_t *work = ir_alloc(plan->mem, bytes);
  bool *once = ir_alloc(plan->mem, plan->step_count), done = false;
  if (work && once && schedule_find_run_once(g, plan, once)) {
    memset(work, 0, bytes);
    add_up(g, plan, once, work);
    done = true;
  }
  for (size_t i = 0; i < plan->step_count && done; i++) {
    ir_step *s = &plan->steps[i];
    if (!once[i] || work[s->kernel] > MOST_QUICK) continue;
    const ir_node *n = ir_get(g, s->kernel);
    int64_t arg = ir_pack_arg(ir_arg_int(n), IR_KERNEL_ONCE);
    s->kernel = ir_make(g, IR_OP_KERNEL, IR_NONE, arg, n->src, n->nsrc);
    done = s->kernel != 0;
  }
  ir_free(plan->mem, work, work ? bytes : 0);
  ir_free(plan->mem, once, once ? plan->step_count : 0);
  if (!done) ir_fail(g->error, IR_ERR_MEMORY, "out of memory finding what runs once");
  return done;
}
