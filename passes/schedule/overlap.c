#include "passes/schedule/overlap.h"

#include "passes/schedule/early.h"

#include <string.h>

enum { MOST_IN_PROGRESS = 8 }; /* of which some go in pieces: a device keeps RT_TRANSFERS */

enum { WORK_PER_NS = 200 }; /* because steps of a small network took 150 to 250 a thread */
enum { PATIENCE = 2 };      /* so many times as long more, because other devices may be late: 1 waited more */
enum { MOST_ELEMENTS = INT32_MAX }; /* because sizes may have no other bound; others arrive at no time */

/* What the steps that were put off do with a slot. */
typedef enum use { UNUSED, READ, WRITTEN } use;

typedef struct overlapper {
  ir_graph *g;
  ir_plan *plan;
  bool has_references;
  ir_step *steps; /* the new list */
  size_t count, cap;
  uint8_t *put_off;   /* by slot: bits of `use` */
  bool input_put_off; /* a step that reads an input was put off */
  const ir_step *in_progress[MOST_IN_PROGRESS];
  uint32_t in_progress_count;
  ir_link link;
  /* by the link and the work of kernels, ns: when those in progress arrive, and when they surely have */
  int64_t now, arrives[MOST_IN_PROGRESS], is_there[MOST_IN_PROGRESS];
  ir_line line;
  bool failed;
} overlapper;

/* what steps do with slots */

static ir_slot_kind kind_of(const overlapper *o, uint32_t slot) { return o->plan->slots[slot].kind; }

/* Nothing moves past conditions and loops, nor past steps on moving slots, which lie in the memory of others.
 */
static bool is_barrier(const overlapper *o, const ir_step *s) {
  bool moving = false;
  for (uint32_t i = 0; i < s->slot_count; i++) moving |= kind_of(o, s->slots[i]) == IR_SLOT_ALIAS;
  return moving || s->kind == IR_STEP_COND || ir_is_loop_step(s->kind);
}

/* Does the step use the result of the exchange, or may it write where the operand lies? A reference that is
 * changed is an input, and another slot where it is written. */
static bool depends_on_exchange(const overlapper *o, const ir_step *s, const ir_step *exchange) {
  bool given = kind_of(o, exchange->slots[1]) == IR_SLOT_INPUT;
  for (uint32_t i = 0; i < s->slot_count; i++) {
    uint32_t slot = s->slots[i];
    if (slot == exchange->slots[0]) return true;
    if (i >= schedule_written_slots(s)) continue;
    if (slot == exchange->slots[1] || (given && kind_of(o, slot) == IR_SLOT_OUTPUT)) return true;
  }
  return false;
}

static bool depends(const overlapper *o, const ir_step *s) {
  for (uint32_t i = 0; i < o->in_progress_count; i++)
    if (depends_on_exchange(o, s, o->in_progress[i])) return true;
  for (uint32_t i = 0; i < s->slot_count; i++) {
    bool writes = i < schedule_written_slots(s);
    if (o->put_off[s->slots[i]] & (writes ? READ | WRITTEN : WRITTEN)) return true;
    if (writes && o->input_put_off && kind_of(o, s->slots[i]) == IR_SLOT_OUTPUT) return true;
  }
  return false;
}

static void put_off(overlapper *o, const ir_step *s) {
  for (uint32_t i = 0; i < s->slot_count; i++)
    o->input_put_off |= o->has_references && kind_of(o, s->slots[i]) == IR_SLOT_INPUT;
  for (uint32_t i = 0; i < s->slot_count; i++)
    o->put_off[s->slots[i]] |=
        i < schedule_written_slots(s) ? READ | WRITTEN : READ; /* a kernel may read what it writes */
}

/* time */

/* Nanoseconds that a kernel takes; 0: not known. */
static int64_t time_of(const overlapper *o, const ir_step *s) {
  int64_t work = 0;
  if (s->work) ir_is_const(o->g, s->work, &work);
  return work / WORK_PER_NS;
}

/* When an exchange has arrived that starts now: all that it results in is taken to come from elsewhere. */
static int64_t arrival_of(overlapper *o, const ir_step *s) {
  const ir_slot *slot = &o->plan->slots[s->slots[0]];
  if (o->link.byte <= 0) return INT64_MAX;
  int64_t elements = ir_bounds_of(o->g, slot->elements).hi;
  if (elements > MOST_ELEMENTS) return INT64_MAX;
  return ir_line_pass(&o->line, o->link, o->now, elements * ir_dtypes[ir_dtype_of(o->g, slot->value)].bytes);
}

/* the new list */

static void append(overlapper *o, const ir_step *step) {
  o->failed = o->failed || !IR_RESERVE(o->plan->mem, o->steps, o->cap, o->count + 1);
  if (!o->failed) o->steps[o->count++] = *step;
}

/* Adds the WAIT for the exchange that has been in progress longest. */
static void add_wait(overlapper *o) {
  ir_step wait = *o->in_progress[0];
  if (o->arrives[0] < INT64_MAX && o->arrives[0] > o->now) o->now = o->arrives[0];
  memmove(o->in_progress, o->in_progress + 1, --o->in_progress_count * sizeof *o->in_progress);
  memmove(o->arrives, o->arrives + 1, o->in_progress_count * sizeof *o->arrives);
  memmove(o->is_there, o->is_there + 1, o->in_progress_count * sizeof *o->is_there);
  wait.kind = IR_STEP_WAIT;
  wait.own_stored = NULL, wait.own_count = 0;
  uint32_t *slots = ir_alloc(o->plan->mem, 2 * sizeof *slots);
  if (slots) memcpy(slots, wait.slots, 2 * sizeof *slots);
  wait.slots = slots;
  o->failed = o->failed || !slots;
  append(o, &wait);
  if (o->failed) ir_free(o->plan->mem, slots, 2 * sizeof *slots);
}

static void wait_for_all(overlapper *o) {
  while (o->in_progress_count && !o->failed) add_wait(o);
}

static void copy_step(overlapper *o, const ir_step *s) {
  append(o, s);
  if (s->kind == IR_STEP_KERNEL) o->now += time_of(o, s);
  if (s->kind != IR_STEP_EXCHANGE) return;
  int64_t at = arrival_of(o, s);
  o->arrives[o->in_progress_count] = at;
  o->is_there[o->in_progress_count] = at < INT64_MAX ? at + PATIENCE * (at - o->now) : at;
  o->in_progress[o->in_progress_count++] = s;
  if (is_barrier(o, s)) wait_for_all(o);
}

/* Copies the steps list[0..count), which hold no functions, and keeps in the list those that are to come
 * after the next WAIT; returns how many these are. */
static size_t copy_ready(overlapper *o, const ir_step **list, size_t count) {
  size_t kept = 0;
  bool wanted = false; /* does an exchange depend on one that is in progress? */
  memset(o->put_off, 0, o->plan->slot_count * sizeof *o->put_off);
  o->input_put_off = false;
  for (size_t i = 0; i < count && !o->failed; i++) {
    bool exchanges = list[i]->kind == IR_STEP_EXCHANGE;
    if (wanted && !exchanges && o->in_progress_count && o->is_there[0] <= o->now) {
      memmove(list + kept, list + i, (count - i) * sizeof *list);
      return kept + count - i;
    }
    if ((exchanges && o->in_progress_count == MOST_IN_PROGRESS) || depends(o, list[i])) {
      wanted |= exchanges;
      put_off(o, list[i]);
      list[kept++] = list[i];
    } else {
      copy_step(o, list[i]);
    }
  }
  return kept;
}

/* The steps between two barriers. */
static void copy_between(overlapper *o, const ir_step **list, size_t count) {
  o->failed = o->failed || !schedule_early(o->g, o->plan, o->has_references, list, count);
  while (!o->failed && (count = copy_ready(o, list, count))) add_wait(o);
  wait_for_all(o);
}

/* Copies the steps [first, end) of a function; returns how many they are now. `list` has room for all. */
static size_t copy_function(overlapper *o, const ir_step **list, size_t first, size_t end) {
  size_t from = o->count, waiting = 0;
  for (size_t i = first; i < end && !o->failed;) {
    const ir_step *s = &o->plan->steps[i];
    size_t inside = s->function_steps[0] + (size_t)s->function_steps[1], at;
    i += 1 + inside;
    if (!is_barrier(o, s)) {
      list[waiting++] = s;
      continue;
    }
    copy_between(o, list, waiting);
    waiting = 0;
    at = o->count;
    copy_step(o, s);
    if (!inside || o->failed) continue;
    size_t second = i - s->function_steps[1], counts[2];
    counts[0] = copy_function(o, list, i - inside, second);
    counts[1] = copy_function(o, list, second, i);
    for (int k = 0; k < 2; k++) o->steps[at].function_steps[k] = (uint32_t)counts[k];
  }
  copy_between(o, list, waiting);
  return o->count - from;
}

static void drop_copies(overlapper *o) {
  for (size_t i = 0; i < o->count; i++)
    if (o->steps[i].kind == IR_STEP_WAIT) ir_free(o->plan->mem, o->steps[i].slots, 2 * sizeof(uint32_t));
  ir_free(o->plan->mem, o->steps, o->cap * sizeof *o->steps);
}

ir_status schedule_overlap(ir_graph *g, ir_plan *plan, bool has_references, ir_link link, ir_error *error) {
  size_t exchanges = 0, count = plan->step_count;
  for (size_t i = 0; i < count; i++) {
    plan->steps[i].made_as = (uint32_t)i;
    exchanges += plan->steps[i].kind == IR_STEP_EXCHANGE;
  }
  if (!exchanges) return IR_OK;
  if (count + exchanges > IR_MAX_STEPS)
    return ir_fail(
        error, IR_ERR_UNSUPPORTED,
        "control flow: functions written out wherever they are called make more than %d steps; call "
        "functions fewer times inside one another",
        IR_MAX_STEPS);
  const ir_step **list = ir_alloc(plan->mem, count * sizeof *list);
  overlapper o = {.g = g,
                  .plan = plan,
                  .has_references = has_references,
                  .link = link,
                  .put_off = ir_alloc(plan->mem, plan->slot_count)};
  o.failed = !list || !o.put_off;
  if (!o.failed) copy_function(&o, list, 0, count);
  ir_free(plan->mem, list, count * sizeof *list);
  ir_free(plan->mem, o.put_off, plan->slot_count);
  if (o.failed) {
    drop_copies(&o);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory");
  }
  ir_free(plan->mem, plan->steps,
          plan->step_cap * sizeof *plan->steps); /* the new list owns what they hold */
  plan->steps = o.steps;
  plan->step_count = o.count;
  plan->step_cap = o.cap;
  return IR_OK;
}
