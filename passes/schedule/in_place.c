/* Writes in place. A write of a value that lies in memory is scheduled as a kernel that copies
 * the value to the memory of the result, and one that updates the copy. Where nothing needs the value any
 * more, both are given one slot, and the copy is left out:
 *
 *   - the value is a temporary, a reference whose newest version the result is on the way to, or what a loop
 *     carries and the result is on the way to its next value; and all
 *     steps that use it come before the copy, in the same iteration of the innermost loop around it; kernels
 *     that come later are put before it, with those that they depend on, where these do not depend on it;
 *   - the update reads of the value only the elements that it replaces, each for itself, or elements that it
 *     does not replace (passes/fold/overwritten.c). Where it reads others, what it stores is put into memory
 *     first; and so is what kernels that depend on the update need of the value (late_reads.c).
 *
 * A reference is an input that the plan changes. Where its newest version cannot be in its slot throughout,
 * it is computed in a temporary and copied to the caller's memory at the end, as a result.
 *
 * What a step reads is known before folding: the stored values that are reached from what it computes through
 * values that are not. */
#include "passes/schedule/merge.h"

#include <stdlib.h>
#include <string.h>

#include "passes/fold/fold.h"
#include "passes/schedule/late_reads.h"

/* Does step k fill the memory that the next one updates? */
static bool fills(const ir_graph *g, const ir_plan *p, size_t k) {
  const ir_step *a = &p->steps[k], *b = a + 1;
  if (k + 1 >= p->step_count || a->kind != IR_STEP_KERNEL || b->kind != IR_STEP_KERNEL) return false;
  return !a->row_group.count && !b->row_group.count && a->slots[0] == b->slots[0] &&
         ir_op_of(g, b->kernel) == IR_OP_ASSIGN && ir_src(g, b->kernel, 0) == a->kernel;
}

bool schedule_has_writes(const ir_graph *g, const ir_plan *p) {
  size_t k = 0;
  while (k < p->step_count && !fills(g, p, k)) k++;
  return k < p->step_count;
}

static void extend(in_place *f, uint32_t slot, uint32_t step) {
  usage *u = &f->slots[slot];
  if (u->first > step) u->first = step; /* UINT32_MAX: not used so far */
  if (u->last < step) u->last = step;
}

static void note(in_place *f, uint32_t slot, uint32_t step, bool writes) {
  if (IR_RESERVE(f->g->mem, f->uses, f->use_cap, f->use_count + 1))
    f->uses[f->use_count++] = (slot_use){step, slot, writes};
  else ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory scheduling writes");
}

static void use(in_place *f, uint32_t slot, uint32_t step, bool writes) {
  extend(f, slot, step);
  note(f, slot, step, writes);
}

/* The stored values that the computation of `value` reads are used by the step; `apart`, if not 0, is none of
 * them. Returns whether that one is read; false as well when memory is short, after failing. */
static bool use_reads(in_place *f, const uint32_t *slot_of, ir_ref value, uint32_t step, ir_ref apart) {
  size_t depth = 0;
  bool found = false;
  const ir_node *n = ir_get(f->g, value);
  uint32_t first = n->op == IR_OP_ASSIGN; /* its first operand is there by then */
  for (;;) {
    for (uint32_t i = first; i < ir_operand_count(n); i++) {
      ir_ref x = n->src[i];
      if (x >= f->nodes || f->seen[x] == step + 1) continue;
      f->seen[x] = step + 1;
      if (slot_of[x]) {
        if (x == apart) found = true;
        else use(f, slot_of[x] - 1, step, false);
      } else if (!IR_RESERVE(f->g->mem, f->stack, f->stack_cap, depth + 1)) {
        ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory scheduling writes");
        return false;
      } else {
        f->stack[depth++] = x;
      }
    }
    if (!depth) return found;
    n = ir_get(f->g, f->stack[--depth]);
    first = 0;
  }
}

static bool begin(in_place *f, ir_graph *g, ir_plan *plan, size_t nodes) {
  *f = (in_place){.g = g, .plan = plan, .nodes = nodes};
  f->slots = ir_alloc(g->mem, plan->slot_count * sizeof *f->slots);
  f->seen = ir_alloc(g->mem, nodes * sizeof *f->seen);
  if (!f->slots || !f->seen) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory scheduling writes");
    return false;
  }
  memset(f->seen, 0, nodes * sizeof *f->seen);
  for (uint32_t i = 0; i < plan->slot_count; i++) f->slots[i] = (usage){UINT32_MAX, 0, i, 0};
  return true;
}

in_place *schedule_in_place_begin(ir_graph *g, ir_plan *plan, size_t nodes, const pass_reference *references,
                                  size_t reference_count, bool loops) {
  in_place *f = ir_alloc(g->mem, sizeof *f);
  bool begun = f && begin(f, g, plan, nodes);
  if (f) f->references = references, f->reference_count = reference_count, f->loops = loops;
  if (begun) return f;
  if (!f) ir_fail(g->error, IR_ERR_MEMORY, "out of memory scheduling writes");
  schedule_in_place_free(f);
  return NULL;
}

void schedule_in_place_free(in_place *f) {
  if (!f) return;
  const ir_mem *mem = f->g->mem;
  ir_free(mem, f->slots, f->slots ? f->plan->slot_count * sizeof *f->slots : 0);
  ir_free(mem, f->seen, f->seen ? f->nodes * sizeof *f->seen : 0);
  ir_free(mem, f->stack, f->stack_cap * sizeof *f->stack);
  ir_free(mem, f->uses, f->use_cap * sizeof *f->uses);
  ir_free(mem, f->copies, f->cap * sizeof *f->copies);
  ir_free(mem, f->late, f->late_cap * sizeof *f->late);
  ir_free(mem, f, sizeof *f);
}

/* The copy that the update at step k follows, or NULL. */
static copied *copy_before(in_place *f, size_t k) {
  copied *c = f->count ? &f->copies[f->count - 1] : NULL;
  return c && c->kind == IR_STEP_KERNEL && c->end == k ? c : NULL;
}

/* Lists what step k needs of values that earlier steps copy. */
static void list_late_reads(in_place *f, uint32_t k, const uint32_t *slot_of) {
  const ir_step *steps = f->plan->steps;
  for (size_t u = f->use_count; u-- > 0 && f->uses[u].step == k;) {
    uint32_t copy = f->slots[f->uses[u].slot].copy, at = copy ? f->copies[copy - 1].at : k, count;
    ir_ref found[MOST_LATE_READS] = {0};
    if (at + 1 >= k || !schedule_late_reads(f->g, slot_of, f->nodes, steps[k].kernel, steps[at].kernel,
                                            steps[at + 1].kernel, found, &count))
      continue;
    for (uint32_t i = 0; i < (count ? count : 1); i++)
      if (IR_RESERVE(f->g->mem, f->late, f->late_cap, f->late_count + 1))
        f->late[f->late_count++] = (late_read){k, copy - 1, found[i]};
      else ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory scheduling writes");
  }
}

/* A kernel of one value; x is its first operand where it updates a copy of that. */
static void visit_kernel(in_place *f, uint32_t k, pass_slots *slots, uint32_t *slot_of) {
  const ir_step *step = &f->plan->steps[k];
  copied *before = copy_before(f, k);
  ir_ref x = before ? ir_src(f->g, step->kernel, 0) : 0;
  uint32_t own = step->slots[0], stored = slot_of[step->kernel];
  use(f, own, k, true);
  if (stored && stored != own + 1) use(f, stored - 1, k, false);
  else if (use_reads(f, slot_of, step->kernel, k, x))
    before->kept = !fold_only_overwritten(f->g, step->kernel, own, slots, slot_of);
  list_late_reads(f, k, slot_of);
}

static void visit_row_group(in_place *f, uint32_t k, const uint32_t *slot_of) {
  const ir_row_group *group = &f->plan->steps[k].row_group;
  for (uint32_t i = 0; i < group->count; i++) {
    const ir_fused_value *v = &group->values[i];
    if (v->slot != UINT32_MAX) use(f, v->slot, k, true);
    if (v->copied && slot_of[v->value]) use(f, slot_of[v->value] - 1, k, false);
    else use_reads(f, slot_of, v->value, k, 0);
  }
}

bool schedule_in_place_visit(in_place *f, size_t k, pass_slots *slots, uint32_t *slot_of) {
  const ir_step *step = &f->plan->steps[k];
  if (!schedule_list_control(f, (uint32_t)k)) return false;
  bool made = ir_op_of(f->g, step->kernel) == IR_OP_KERNEL; /* comparing it with alternatives made it */
  uint32_t own = step->slots[0], stored = made ? 0 : slot_of[step->kernel];
  for (uint32_t i = 0; i < step->slot_count && made; i++) use(f, step->slots[i], (uint32_t)k, true);
  if (made) return true;
  if (fills(f->g, f->plan, k) && stored && stored != own + 1) {
    if (!IR_RESERVE(f->g->mem, f->copies, f->cap, f->count + 1))
      return ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory scheduling writes") == IR_OK;
    f->copies[f->count++] = (copied){
        .at = (uint32_t)k, .end = (uint32_t)k + 1, .from = stored - 1, .to = own, .kind = IR_STEP_KERNEL};
    f->slots[stored - 1].copy = (uint32_t)f->count;
    use(f, own, (uint32_t)k, true);
    note(f, stored - 1, (uint32_t)k, false);
  } else if (step->row_group.count) {
    visit_row_group(f, (uint32_t)k, slot_of);
  } else {
    visit_kernel(f, (uint32_t)k, slots, slot_of);
  }
  return f->g->error->status == IR_OK;
}

static bool is_moved(const ir_step *s, uint32_t place) {
  uint32_t first = schedule_first_carry(s), pairs = first + SCHEDULE_CARRY * s->carries;
  if (!ir_is_loop_step(s->kind) || place < first) return false;
  if (place >= pairs) return (place - pairs) % 2 == 1;
  uint32_t in = (place - first) % SCHEDULE_CARRY;
  return in == CARRY_THIS || in == CARRY_NEXT;
}

/* Does a step that is no kernel only read this slot? Of what loops slice or stack that is not asked. */
static bool only_reads(const ir_step *s, uint32_t place) {
  uint32_t first = schedule_first_carry(s);
  switch (s->kind) {
  case IR_STEP_COND: return place == 0;
  case IR_STEP_CALL: return place >= s->carries;
  case IR_STEP_WHILE:
  case IR_STEP_SCAN:
    return place >= first && place < first + SCHEDULE_CARRY * s->carries &&
           (place - first) % SCHEDULE_CARRY == CARRY_INIT;
  default: return place > 0;
  }
}

/* Steps that are no kernels use all of their slots, but for those that they set for others. */
static void use_others(in_place *f) {
  const ir_plan *p = f->plan;
  for (uint32_t k = 0; k < p->step_count; k++)
    for (uint32_t i = 0; p->steps[k].kind != IR_STEP_KERNEL && i < p->steps[k].slot_count; i++)
      if (!is_moved(&p->steps[k], i)) use(f, p->steps[k].slots[i], k, !only_reads(&p->steps[k], i));
}

/* And has it no other one's memory by now? */
static bool may_share(in_place *f, copied *c, bool strict) {
  if (c->kind != IR_STEP_COND && !schedule_is_free(f, c)) return false; /* asked first: it takes less time */
  return schedule_fits(f, c, strict) && schedule_is_free(f, c) && f->slots[c->from].is == c->from;
}

/* readers of the older version first */

enum { MOST_MOVED = 128 /* steps between a copy and the last reader: finding an order takes their square */ };

static int by_step(const void *a, const void *b) {
  const slot_use *x = a, *y = b;
  return (x->step > y->step) - (x->step < y->step);
}

/* Must step k stay behind step i? They use a slot that one of them writes. What a copy reads counts. */
static bool depends(const in_place *f, uint32_t i, uint32_t k) {
  for (size_t a = schedule_uses_of(f, i); a < f->use_count && f->uses[a].step == i; a++)
    for (size_t b = schedule_uses_of(f, k); b < f->use_count && f->uses[b].step == k; b++)
      if (f->uses[a].slot == f->uses[b].slot && (f->uses[a].writes || f->uses[b].writes)) return true;
  return false;
}

/* Is the step a kernel that nothing encloses between the copy and here? */
static bool may_move(const in_place *f, uint32_t at, uint32_t k) {
  const ir_step *s = f->plan->steps;
  if (s[k].kind != IR_STEP_KERNEL) return false;
  for (uint32_t i = at; i < k; i++)
    if (schedule_end_of(f->plan, i) >= k) return false;
  return true;
}

/* Do all steps from `at` to `last` belong to the function of `at`, or to functions that they call? */
static bool in_one_function(const ir_plan *p, uint32_t at, uint32_t last) {
  for (uint32_t i = 0; i < at; i++) {
    uint32_t end = schedule_end_of(p, i), second = i + 1 + p->steps[i].function_steps[0];
    if (end >= at && (last > end || (at < second && last >= second))) return false;
  }
  return true;
}

/* Marks the steps behind the copy, up to `last`, that have to come before it. False where one of them needs
 * the update, or is no kernel, and where there are none. */
static bool mark_moved(const in_place *f, const copied *c, uint32_t last, bool *moved) {
  bool any = false;
  for (size_t u = schedule_uses_of(f, c->end + 1); u < f->use_count; u++)
    if (f->uses[u].slot == c->from && f->uses[u].step <= last) moved[f->uses[u].step - c->at] = any = true;
  for (uint32_t k = last + 1; k-- > c->at;) {
    if (!moved[k - c->at]) continue;
    if (k <= c->end || !may_move(f, c->at, k)) return false;
    for (uint32_t i = c->at; i < k; i++) moved[i - c->at] |= depends(f, i, k);
  }
  return any;
}

static void move_steps(ir_plan *p, uint32_t at, uint32_t last, const bool *moved) {
  ir_step ordered[MOST_MOVED];
  uint32_t count = 0;
  for (int first = 1; first >= 0; first--)
    for (uint32_t k = at; k <= last; k++)
      if (moved[k - at] == (first != 0)) ordered[count++] = p->steps[k];
  memcpy(p->steps + at, ordered, count * sizeof *ordered);
}

bool schedule_in_place_reorder(in_place *f, bool move) {
  bool found = false;
  uint32_t next = 0; /* steps before it have been moved */
  use_others(f);
  qsort(f->uses, f->use_count, sizeof *f->uses, by_step);
  if (!schedule_list_control(f, (uint32_t)f->plan->step_count)) return false;
  for (size_t i = f->count; i-- > 0;) { /* what later versions become decides about a reference */
    copied *c = &f->copies[i];
    if (schedule_fits(f, c, false)) f->slots[c->from].is = schedule_become(f, c->to);
  }
  for (size_t i = 0; i < f->count && move; i++) {
    copied *c = &f->copies[i];
    bool moved[MOST_MOVED] = {false};
    uint32_t last = 0;
    if (c->at < next || c->from == SCHEDULE_NO_SLOT) continue;
    if (!schedule_last_use(f, c, &last)) { /* else the condition may hand it on, once this comes first */
      if (c->kind != IR_STEP_COND && schedule_is_free(f, c)) continue;
      if (!schedule_fits(f, c, false) || schedule_is_free(f, c)) continue;
      last = f->slots[c->from].last;
    }
    if (last - c->at >= MOST_MOVED || !in_one_function(f->plan, c->at, last)) continue;
    if (!mark_moved(f, c, last, moved)) continue;
    move_steps(f->plan, c->at, last, moved);
    next = last + 1;
    found = true;
  }
  for (uint32_t i = 0; i < f->plan->slot_count; i++) f->slots[i].is = i;
  return found;
}

/* Marks an operand of a write of x that is computed of x, so that it is in memory before x changes. x itself
 * cannot be marked: a write of x to other places of x copies it. Is it marked? */
static bool mark_stored(in_place *f, ir_ref operand, ir_ref x, uint8_t *stored) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool reads = operand != x && ir_reachable(f->g, &operand, 1, &live, &count, &cap) == IR_OK;
  size_t at = reads ? ir_find_ref(live, count, x) : 0;
  reads = reads && at < count && live[at] == x;
  ir_free(f->g->mem, live, cap * sizeof *live);
  if (reads) stored[operand] = 1;
  return reads;
}

/* What the update stores, and the indices of its target. */
static bool mark_overlapping(in_place *f, ir_ref write, uint8_t *stored) {
  const ir_graph *g = f->g;
  const ir_node *n = ir_get(g, write);
  bool found = mark_stored(f, n->src[2], n->src[0], stored);
  for (ir_ref at = n->src[1]; ir_get(g, at)->nsrc && ir_op_of(g, at) != IR_OP_IOTA; at = ir_src(g, at, 0))
    if (ir_op_of(g, at) == IR_OP_GATHER) found |= mark_stored(f, ir_src(g, at, 1), n->src[0], stored);
  return found;
}

/* Is what each step behind the update, up to `last`, needs of the value known? */
static bool knows_late_reads(const in_place *f, size_t copy, uint32_t last) {
  const copied *c = &f->copies[copy];
  for (size_t u = schedule_uses_of(f, c->end + 1); u < f->use_count && f->uses[u].step <= last; u++) {
    size_t i = 0;
    if (f->uses[u].slot != c->from) continue;
    while (i < f->late_count && (f->late[i].copy != copy || f->late[i].step != f->uses[u].step)) i++;
    if (i == f->late_count) return false;
  }
  return true;
}

/* Marks what later kernels need of values that are to be overwritten. */
static bool mark_late_reads(in_place *f, uint8_t *stored) {
  bool found = false;
  for (size_t i = f->count; i-- > 0;) {
    copied *c = &f->copies[i];
    uint32_t last = UINT32_MAX;
    if (c->from == SCHEDULE_NO_SLOT || !schedule_last_use(f, c, &last)) {
      if (!schedule_fits(f, c, false)) continue;
      f->slots[c->from].is =
          schedule_become(f, c->to); /* what later versions become decides about a reference */
      if (schedule_is_free(f, c)) continue;
    }
    if (!f->late_count || !knows_late_reads(f, i, last)) continue;
    for (size_t k = 0; k < f->late_count; k++)
      if (f->late[k].copy == i && f->late[k].value) stored[f->late[k].value] = 1, found = true;
  }
  for (uint32_t i = 0; i < f->plan->slot_count; i++) f->slots[i].is = i;
  return found;
}

bool schedule_in_place_overlaps(in_place *f, uint8_t *stored) {
  bool found = mark_late_reads(f, stored);
  for (size_t i = f->count; i-- > 0;) {
    copied *c = &f->copies[i];
    bool shares = may_share(f, c, false);
    if (c->from != SCHEDULE_NO_SLOT)
      extend(f, c->from, c->at); /* earlier writes of the same value have to leave it as it is */
    if (!shares) continue;
    f->slots[c->from].is =
        schedule_become(f, c->to); /* as if the copy were left out: what later versions become counts */
    if (c->kept) found |= mark_overlapping(f, f->plan->steps[c->end].kernel, stored);
    for (size_t k = schedule_next_inside(f, c, 0); k < f->count; k = schedule_next_inside(f, c, k + 1))
      if (f->copies[k].kept) found |= mark_overlapping(f, f->plan->steps[f->copies[k].end].kernel, stored);
  }
  for (uint32_t i = 0; i < f->plan->slot_count; i++) f->slots[i].is = i;
  return found;
}

/* All iterations change one buffer, that of the result: the carried value has no other. */
static void carry_in_place(in_place *f, const copied *c, uint32_t to) {
  ir_plan *p = f->plan;
  uint32_t *slots = p->steps[schedule_loop_around(p, c->at)].slots + schedule_find_carry(f, c, to);
  p->slots[slots[CARRY_SPARE]].elements = ir_index(f->g, 0);
  slots[CARRY_SPARE] = slots[CARRY_RESULT];
  f->slots[to].is = c->from;
}

/* Copies are taken last to first, so that a value may give its memory to a later version, which has its
 * result's. */
static void share(in_place *f, uint8_t *gone) {
  ir_plan *p = f->plan;
  for (size_t i = f->count; i-- > 0;) {
    copied *c = &f->copies[i];
    uint32_t to = schedule_become(f, c->to);
    bool shares = !c->kept && may_share(f, c, true);
    if (c->from != SCHEDULE_NO_SLOT)
      extend(f, c->from, c->at); /* earlier writes of the same value have to leave it as it is */
    if (!shares) continue;
    gone[c->at] = c->kind == IR_STEP_KERNEL;
    for (size_t k = schedule_next_inside(f, c, 0); k < f->count; k = schedule_next_inside(f, c, k + 1))
      gone[f->copies[k].at] = f->copies[k].kind == IR_STEP_KERNEL;
    if (p->slots[c->from].kind == IR_SLOT_ALIAS) {
      carry_in_place(f, c, to);
      continue;
    }
    bool reference = p->slots[c->from].kind == IR_SLOT_INPUT;
    uint32_t left = reference ? to : c->from;
    f->slots[left].is = reference ? c->from : to;
    p->slots[left].elements = ir_index(f->g, 0);
    if (reference) p->slots[left].kind = IR_SLOT_TEMP;
  }
}

/* The newest version of a reference that is not in its slot: a run must not store it there before its end. */
static void keep_apart(in_place *f) {
  ir_plan *p = f->plan;
  for (size_t i = 0; i < f->reference_count; i++) {
    uint32_t result = f->references[i].result, slot = p->results[result], sharing = 0;
    for (size_t k = 0; k < p->result_count; k++) sharing += p->results[k] == slot;
    if (sharing == 1 && p->slots[slot].kind == IR_SLOT_OUTPUT) p->slots[slot].kind = IR_SLOT_TEMP;
  }
}

static void remove_steps(ir_plan *p, const uint8_t *gone) {
  for (size_t k = 0; k < p->step_count; k++) /* inner counts are read before they change: outer steps first */
    for (uint32_t b = 0, at = (uint32_t)k + 1; b < 2; b++) {
      uint32_t inside = p->steps[k].function_steps[b];
      for (uint32_t i = at; i < at + inside; i++) p->steps[k].function_steps[b] -= gone[i];
      at += inside;
    }
  size_t kept = 0;
  for (size_t k = 0; k < p->step_count; k++) {
    if (gone[k]) ir_step_free(p->mem, &p->steps[k]);
    else p->steps[kept++] = p->steps[k];
  }
  p->step_count = kept;
}

bool schedule_in_place_end(in_place *f) {
  ir_plan *p = f->plan;
  size_t steps = p->step_count;
  uint8_t *gone = ir_alloc(f->g->mem, steps);
  if (!gone) return ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory scheduling writes") == IR_OK;
  memset(gone, 0, steps);
  share(f, gone);
  for (size_t i = 0; i < p->result_count; i++) p->results[i] = schedule_become(f, p->results[i]);
  keep_apart(f);
  for (size_t k = 0; k < steps; k++) {
    ir_step *s = &p->steps[k];
    for (uint32_t i = 0; i < s->slot_count; i++)
      if (!is_moved(s, i)) s->slots[i] = schedule_become(f, s->slots[i]);
    for (uint32_t i = 0; i < s->own_count; i++)
      s->own_stored[i].slot = schedule_become(f, s->own_stored[i].slot);
    for (uint32_t i = 0; i < s->row_group.count; i++) {
      ir_fused_value *v = &s->row_group.values[i];
      if (v->slot != UINT32_MAX) v->slot = schedule_become(f, v->slot);
    }
  }
  for (size_t k = 0; k < steps; k++) /* functions of conditions that leave what has become the result */
    if (p->steps[k].kind == IR_STEP_COPY && p->steps[k].slots[0] == p->steps[k].slots[1]) gone[k] = 1;
  for (size_t i = 0; i < p->stored_count; i++) p->stored[i].slot = schedule_become(f, p->stored[i].slot);
  remove_steps(p, gone);
  ir_free(f->g->mem, gone, steps);
  return f->g->error->status == IR_OK;
}
