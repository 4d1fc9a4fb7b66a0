/* For each kernel: its loops are made, and its time predicted (passes/cost/kernel_time.h). Where that is much
 * more than the least that its bytes and operations take, the values that promise most are stored for trial,
 * one at a time: the loops of the kernel that computes the value, and of the one that reads it, are made and
 * their times added up. The best one stays if it is better by a margin, since times are estimates; then the
 * two kernels that came of it are looked at in the same way.
 *
 * Bits. Storing a value keeps each of its elements. But loops decide in what order a sum of floats is added
 * up: an alternative counts only if all its sums have the order that they have in one kernel (order.c). So
 * the results are those of one kernel, on every machine, whatever is chosen on it.
 *
 * A value that is stored here is in memory for the kernel that it was fused into, and for those after it that
 * gain by it. Others are as they were. */
#include "alternatives.h"

#include "passes/cost/kernel_time.h"
#include "passes/patterns/contraction.h"
#include "passes/schedule/schedule.h"

#include <string.h>

/* How many times what it could take a kernel is predicted to take, to be compared with alternatives:
 * predicted times are within a factor of 1.5 of those measured for nearly all kernels. */
static const double FAR = 1.6;
/* The same where a kernel takes longer by LONG_NS. A convolution whose result is added to a transposed value
 * was 1.44 times as far off, and takes 0.86 of the time with a copy of that value. */
static const double FAR_LONG = 1.3;
static const double LONG_NS = 50000; /* to make loops for trial costs little where so much is lost */
/* The same where values are tried though none promises anything: what a kernel loses then is not told from
 * the graph, such as lanes. Of the workloads and 120 random graphs of 20 to 200 operations, 2 in its place
 * changes seven, to 0.89 to 1.00 of the time (Zen 4, one thread), but the passes take 3 to 10 % longer;
 * without such trials seven change, one of them to 1.48 times. */
static const double VERY_FAR = 4;
/* How many times an alternative's time: what was predicted to gain 1.13 and 1.16 times gained 1.3 and 1.8. */
static const double MIN_GAIN = 1.1;
static const double ALIKE = 1.05;  /* times that differ by less are alike */
static const double MIN_NS = 1000; /* what is gained at least: a run of a program takes so long by itself */

/* A value on trial: the kernel that computes it, unless an earlier step does, and the one that reads it. */
typedef struct trial {
  ir_stored value; /* node 0: none */
  bool made;       /* an earlier step has stored it */
  alternatives_piece below, reader;
  double ns; /* of both */
} trial;

static void out_of_memory(pass_alternatives *a) {
  ir_fail(a->g->error, IR_ERR_MEMORY, "out of memory comparing kernels with alternatives");
}

bool pass_alternatives_begin(pass_alternatives *a) {
  a->mark = ir_alloc(a->g->mem, a->nodes * sizeof *a->mark);
  a->fused.nodes = ir_alloc(a->g->mem, ALTERNATIVES_FUSED * sizeof *a->fused.nodes);
  if (a->mark) memset(a->mark, 0, a->nodes * sizeof *a->mark);
  if (!a->mark || !a->fused.nodes) out_of_memory(a);
  return a->mark && a->fused.nodes;
}

void pass_alternatives_free(pass_alternatives *a) {
  const ir_mem *mem = a->g->mem;
  for (size_t i = 0; i < a->inserted_count; i++) ir_step_free(mem, &a->inserted[i].step);
  ir_free(mem, a->inserted, a->inserted_cap * sizeof *a->inserted);
  ir_free(mem, a->fused.nodes, a->fused.nodes ? ALTERNATIVES_FUSED * sizeof *a->fused.nodes : 0);
  ir_free(mem, a->mark, a->mark ? a->nodes * sizeof *a->mark : 0);
}

/* steps */

static void *copied(const ir_mem *mem, const void *from, size_t bytes) {
  void *to = ir_alloc(mem, bytes);
  if (to && bytes) memcpy(to, from, bytes);
  return to;
}

bool alternatives_copy_step(pass_alternatives *a, const ir_step *from, const ir_stored *also, ir_step *to) {
  const ir_mem *mem = a->g->mem;
  const ir_row_group *row_group = &from->row_group;
  *to = *from;
  to->own_count += also != NULL;
  to->slots = copied(mem, from->slots, from->slot_count * sizeof *from->slots);
  to->row_group.values = copied(mem, row_group->values, row_group->count * sizeof *row_group->values);
  to->own_stored = ir_alloc(mem, to->own_count * sizeof *to->own_stored);
  if (!to->slots || !to->row_group.values || !to->own_stored) {
    ir_step_free(mem, to);
    *to = (ir_step){0};
    out_of_memory(a);
    return false;
  }
  if (from->own_count) memcpy(to->own_stored, from->own_stored, from->own_count * sizeof *to->own_stored);
  if (also) to->own_stored[from->own_count] = *also;
  return true;
}

bool alternatives_step_of(pass_alternatives *a, const ir_step *from, ir_stored value, bool own, ir_step *to) {
  ir_step plain = *from;
  plain.slots = &value.slot, plain.slot_count = 1;
  plain.row_group = (ir_row_group){0};
  plain.kernel = value.node;
  plain.not_fused = IR_NOT_FUSED_NONE;
  plain.alternative = (ir_alternative){0};
  return alternatives_copy_step(a, &plain, own ? &value : NULL, to);
}

void alternatives_show_own(pass_alternatives *a, const ir_step *step, bool stored) {
  for (uint32_t i = 0; i < step->own_count; i++)
    a->slot_of[step->own_stored[i].node] = stored ? step->own_stored[i].slot + 1 : 0;
}

/* pieces */

void alternatives_free_piece(pass_alternatives *a, alternatives_piece *p) {
  ir_step_free(a->g->mem, &p->step);
  ir_step_free(a->g->mem, &p->shaped);
  *p = (alternatives_piece){.ns = -1};
}

static void note_order(void *user, pass_sum_order sum) { alternatives_order_add(user, sum); }

bool alternatives_shape(pass_alternatives *a, size_t number, alternatives_piece *p) {
  pass_shaping shaping = {.user = &p->order, .ordered = note_order};
  p->ns = -1;
  p->order.count = 0;
  if (!alternatives_copy_step(a, &p->step, NULL, &p->shaped)) return false;
  alternatives_show_own(a, &p->step, true);
  bool good = a->lower(a->user, &p->shaped, number, &shaping);
  alternatives_show_own(a, &p->step, false);
  return good;
}

bool alternatives_time(pass_alternatives *a, alternatives_piece *p) {
  pass_kernel_time time;
  if (p->ns < 0 && p->shaped.kernel && pass_kernel_time_of(a->g, p->shaped.kernel, a->target, &time))
    p->ns = time.ns;
  return p->ns >= 0;
}

/* trials */

static void free_trial(pass_alternatives *a, trial *t) {
  alternatives_free_piece(a, &t->below);
  alternatives_free_piece(a, &t->reader);
  *t = (trial){0};
}

/* The slot of a value that an earlier step of the same function has stored; false: none has. */
static bool made_before(const pass_alternatives *a, const ir_step *reader, ir_stored *value) {
  for (size_t i = a->inserted_count; i-- > 0;) {
    const ir_step *s = &a->inserted[i].step;
    if (!s->own_count) continue;
    if (s->first_stored != reader->first_stored || s->stored_count != reader->stored_count) return false;
    const ir_stored *made = &s->own_stored[s->own_count - 1];
    if (made->node != value->node) continue;
    value->slot = made->slot;
    return true;
  }
  return false;
}

/* Does the trial take less time, or, as times are estimates, about as much with less memory? */
static bool is_better(pass_alternatives *a, const trial *t, const trial *best) {
  const ir_graph *g = a->g;
  ir_ref one = t->value.node, other = best->value.node;
  double bytes = pass_elements(a->g, one) * ir_dtypes[ir_dtype_of(g, one)].bytes,
         others = pass_elements(a->g, other) * ir_dtypes[ir_dtype_of(g, other)].bytes;
  return t->ns * (bytes < others ? 1 : ALIKE) < best->ns * (bytes > others ? 1 : ALIKE);
}

/* Can the value, which takes so long or more, gain something? If not, that is what the step says of
 * alternatives, unless one is made. */
static bool could_gain(const pass_alternatives *a, alternatives_piece *fused, ir_ref value, double least) {
  ir_alternative *of = &fused->step.alternative;
  if (alternatives_gain(a, fused, least)) return true;
  if (!of->value) *of = (ir_alternative){value, fused->ns, least, false, .at_least = true};
  return false;
}

/* Stores the value for trial. False where that cannot be compared, changes the order of a sum, or is no
 * better than `best`: of two kernels, the one that reads the value is made first, and tells it alone for
 * most.
 */
static bool try_value(pass_alternatives *a, size_t number, alternatives_piece *fused, ir_ref value,
                      const trial *best, trial *t) {
  *t = (trial){.value = {value, (uint32_t)a->plan->slot_count + a->reserved}};
  t->made = made_before(a, &fused->step, &t->value);
  if (!alternatives_reader_of(a, &fused->step, &t->value, &t->reader.step) ||
      !alternatives_shape(a, number, &t->reader))
    return false;
  if (!alternatives_order_keeps(&fused->order, &t->reader.order) || !alternatives_time(a, &t->reader))
    return false;
  t->ns = t->reader.ns;
  if (!could_gain(a, fused, value, t->ns) || (best->value.node && !is_better(a, t, best))) return false;
  if (t->made) return true;
  if (!alternatives_step_of(a, &fused->step, t->value, true, &t->below.step) ||
      !alternatives_shape(a, number, &t->below) ||
      !alternatives_order_keeps(&fused->order, &t->below.order) || !alternatives_time(a, &t->below))
    return false;
  t->ns += t->below.ns;
  return !best->value.node || is_better(a, t, best);
}

bool alternatives_list(pass_alternatives *a, const alternatives_piece *fused) {
  alternatives_show_own(a, &fused->step, true);
  bool listed = alternatives_find_fused(a, &fused->step);
  alternatives_show_own(a, &fused->step, false);
  return listed;
}

bool alternatives_is_far(pass_alternatives *a, alternatives_piece *fused) {
  if (!alternatives_time(a, fused)) return false;
  double least = a->fused.least_ns, lost = fused->ns - least;
  return a->always || (lost > MIN_NS && fused->ns > (lost > LONG_NS ? FAR_LONG : FAR) * least);
}

/* The best of the values that promise most; none: value.node is 0. */
static void best_trial(pass_alternatives *a, size_t number, alternatives_piece *fused, trial *best) {
  ir_ref values[ALTERNATIVES_TRIED];
  bool promise;
  *best = (trial){0};
  if (!alternatives_list(a, fused)) return;
  uint32_t count = alternatives_candidates(a, values, ALTERNATIVES_TRIED, &promise);
  if (!count || !alternatives_is_far(a, fused)) return;
  if (!promise && !a->always && fused->ns <= VERY_FAR * a->fused.least_ns) return;
  for (uint32_t i = 0; i < count && !a->g->error->status; i++) {
    trial t;
    if (!could_gain(a, fused, values[i], a->always ? 0 : alternatives_least_stored(a, values[i]))) continue;
    if (try_value(a, number, fused, values[i], best, &t)) {
      free_trial(a, best);
      *best = t;
    } else {
      free_trial(a, &t);
    }
  }
}

double alternatives_least_of(pass_alternatives *a, size_t number, alternatives_piece *p) {
  trial t;
  best_trial(a, number, p, &t);
  double ns = t.value.node && alternatives_gain(a, p, t.ns) ? t.ns : p->ns;
  free_trial(a, &t);
  return ns;
}

/* the plan */

bool alternatives_add_slot(pass_alternatives *a, ir_ref value) {
  ir_plan *p = a->plan;
  ir_ref elements = pass_slot_elements(a->g, value);
  if (!elements || !IR_RESERVE(p->mem, p->slots, p->slot_cap, p->slot_count + 1)) {
    out_of_memory(a);
    return false;
  }
  p->slots[p->slot_count++] = (ir_slot){IR_SLOT_TEMP, value, elements};
  return true;
}

/* The step that the plan gets of the piece, which is then empty. */
static ir_step taken(pass_alternatives *a, alternatives_piece *p) {
  ir_step *kept = a->keeps && p->shaped.kernel ? &p->shaped : &p->step, step = *kept;
  step.alternative = p->step.alternative;
  *kept = (ir_step){0};
  alternatives_free_piece(a, p);
  return step;
}

static bool insert_before(pass_alternatives *a, size_t number, alternatives_piece *p) {
  if (!IR_RESERVE(a->g->mem, a->inserted, a->inserted_cap, a->inserted_count + 1)) {
    out_of_memory(a);
    return false;
  }
  a->inserted[a->inserted_count++] = (struct alternatives_insertion){number, taken(a, p)};
  return true;
}

bool alternatives_gain(const pass_alternatives *a, const alternatives_piece *fused, double ns) {
  return a->always || (fused->ns > MIN_GAIN * ns && fused->ns - ns > MIN_NS / 2);
}

/* Puts the trial's kernels in place of the last piece of the list. */
static bool take_trial(pass_alternatives *a, alternatives_piece *pieces, uint32_t *count, trial *t) {
  alternatives_piece *last = &pieces[*count - 1];
  ir_alternative chosen = {t->value.node, last->ns, t->ns, true, false};
  alternatives_free_piece(a, last);
  *last = t->reader;
  if (t->made) return true;
  t->below.step.alternative = chosen;
  pieces[(*count)++] = t->below;
  return alternatives_add_slot(a, t->value.node);
}

bool pass_alternatives_compare(pass_alternatives *a, size_t number) {
  alternatives_piece pieces[ALTERNATIVES_APART + ALTERNATIVES_STORED] = {
      {.ns = -1}}; /* those that run first come last */
  uint32_t count = 1, stored = 0;
  ir_step *step = &a->plan->steps[number];
  if (step->row_group.block || !alternatives_copy_step(a, step, NULL, &pieces[0].step))
    return !a->g->error->status;
  bool good = alternatives_shape(a, number, &pieces[0]), shaped = good;
  if (good && !alternatives_apart(a, number, pieces, &count)) good = false;
  while (good && count) {
    alternatives_piece *last = &pieces[count - 1];
    trial t = {0};
    if (stored < ALTERNATIVES_STORED) best_trial(a, number, last, &t);
    if (t.value.node && alternatives_gain(a, last, t.ns)) {
      stored++;
      good = take_trial(a, pieces, &count, &t);
      continue;
    }
    if (t.value.node && !last->step.alternative.taken)
      last->step.alternative = (ir_alternative){t.value.node, last->ns, t.ns, false, false};
    free_trial(a, &t);
    if (count == 1) break;
    good = insert_before(a, number, last);
    count--;
  }
  if (good) {
    ir_step_free(a->g->mem, step);
    *step = taken(a, &pieces[0]);
  }
  for (uint32_t i = 0; i < count; i++) alternatives_free_piece(a, &pieces[i]);
  return good || (!shaped && !a->g->error->status);
}

/* The number of steps inserted before or at the step. */
static uint32_t inserted_to(const pass_alternatives *a, size_t from, size_t to) {
  uint32_t count = 0;
  for (size_t i = 0; i < a->inserted_count; i++)
    count += a->inserted[i].before >= from && a->inserted[i].before < to;
  return count;
}

bool pass_alternatives_insert(pass_alternatives *a) {
  ir_plan *p = a->plan;
  size_t at = p->step_count, left = a->inserted_count;
  if (!left) return true;
  if (p->step_count + left > IR_MAX_STEPS ||
      !IR_RESERVE(p->mem, p->steps, p->step_cap, p->step_count + left)) {
    out_of_memory(a);
    return false;
  }
  for (size_t i = 0; i < p->step_count; i++) {
    size_t first = i + 1, second = first + p->steps[i].function_steps[0],
           end = second + p->steps[i].function_steps[1];
    if (end == first) continue;
    p->steps[i].function_steps[0] += inserted_to(a, first, second);
    p->steps[i].function_steps[1] += inserted_to(a, second, end);
  }
  for (size_t to = p->step_count + left; at-- > 0;) {
    p->steps[--to] = p->steps[at];
    while (left && a->inserted[left - 1].before == at) p->steps[--to] = a->inserted[--left].step;
  }
  p->step_count += a->inserted_count;
  a->inserted_count = 0;
  return true;
}
