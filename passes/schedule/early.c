#include "passes/schedule/early.h"

#include <stdlib.h>
#include <string.h>

#include "ir/exchange.h"

enum { NONE = UINT32_MAX }; /* no step, or the end of a list: no number that these have */

/* One that a step depends on, or that has read a slot, and the next of the list. */
typedef struct link {
  uint32_t step, next;
} link;

typedef struct slot_use {
  uint32_t writer;  /* the last step that has written it */
  uint32_t readers; /* those that have read it since, a list of links */
} slot_use;

typedef struct exchange {
  double work; /* of all steps that it depends on */
  uint32_t step;
} exchange;

typedef struct orderer {
  const ir_graph *g;
  const ir_mem *mem;
  const ir_step **list;
  uint32_t count;
  link *links;
  size_t link_count, link_cap;
  const ir_plan *plan;
  bool has_references;
  slot_use *slots;
  slot_use inputs;  /* all of them, of which outputs may be the next versions */
  uint32_t *before; /* by step: those that it depends on, a list of links */
  uint32_t *mark;   /* by step: the last exchange that needs it, 1 + its number */
  uint32_t *stack;
  exchange *exchanges;
  uint32_t exchange_count;
  const ir_step **ordered;
} orderer;

/* dependences */

static bool add_link(orderer *o, uint32_t step, uint32_t *list) {
  if (!IR_RESERVE(o->mem, o->links, o->link_cap, o->link_count + 1)) return false;
  o->links[o->link_count] = (link){step, *list};
  *list = (uint32_t)o->link_count++;
  return true;
}

static bool note_read(orderer *o, uint32_t step, slot_use *slot) {
  return (slot->writer == NONE || add_link(o, slot->writer, &o->before[step])) &&
         add_link(o, step, &slot->readers);
}

static bool note_write(orderer *o, uint32_t step, slot_use *slot) {
  bool good = slot->writer == NONE || slot->writer == step || add_link(o, slot->writer, &o->before[step]);
  for (uint32_t i = slot->readers; i != NONE && good; i = o->links[i].next)
    if (o->links[i].step != step) good = add_link(o, o->links[i].step, &o->before[step]);
  slot->writer = step;
  slot->readers = NONE;
  return good;
}

/* What writes an output comes behind what has read an input, and before what reads one later. */
static bool note_inputs(orderer *o, uint32_t step, uint32_t written) {
  const ir_step *s = o->list[step];
  bool reads = false, writes = false;
  for (uint32_t k = 0; k < s->slot_count; k++) {
    ir_slot_kind kind = o->plan->slots[s->slots[k]].kind;
    reads |= kind == IR_SLOT_INPUT;
    writes |= kind == IR_SLOT_OUTPUT && k < written;
  }
  return (!reads || note_read(o, step, &o->inputs)) && (!writes || note_write(o, step, &o->inputs));
}

static bool find_dependences(orderer *o) {
  uint32_t call = NONE;
  bool good = true;
  o->inputs = (slot_use){NONE, NONE};
  for (uint32_t i = 0; i < o->count && good; i++) {
    const ir_step *s = o->list[i];
    for (uint32_t k = 0; k < s->slot_count; k++) o->slots[s->slots[k]] = (slot_use){NONE, NONE};
    o->before[i] = NONE;
  }
  for (uint32_t i = 0; i < o->count && good; i++) {
    const ir_step *s = o->list[i];
    uint32_t written = schedule_written_slots(s);
    for (uint32_t k = written; k < s->slot_count && good; k++) good = note_read(o, i, &o->slots[s->slots[k]]);
    for (uint32_t k = 0; k < written && good; k++) good = note_write(o, i, &o->slots[s->slots[k]]);
    good = good && (!o->has_references || note_inputs(o, i, written));
    if (s->kind != IR_STEP_CALL) continue; /* these keep their order: a print is one */
    if (call != NONE) good = good && add_link(o, call, &o->before[i]);
    call = i;
  }
  return good;
}

/* order */

static double work_of(const orderer *o, uint32_t step) {
  int64_t work;
  ir_ref of = o->list[step] ? o->list[step]->work : 0; /* NULL: it has its place */
  return of && ir_is_const(o->g, of, &work) ? 1 + (double)work : 1;
}

/* Marks what an exchange needs, itself included, and adds up its work. */
static double mark_needed(orderer *o, uint32_t step, uint32_t mark) {
  uint32_t depth = 0;
  double work = 0;
  o->mark[step] = mark;
  for (o->stack[depth++] = step; depth;) {
    uint32_t at = o->stack[--depth];
    work += work_of(o, at);
    for (uint32_t i = o->before[at]; i != NONE; i = o->links[i].next) {
      if (o->mark[o->links[i].step] == mark) continue;
      o->mark[o->links[i].step] = mark;
      o->stack[depth++] = o->links[i].step;
    }
  }
  return work;
}

static int compare(const void *a, const void *b) {
  const exchange *x = a, *y = b;
  return x->work < y->work ? -1 : x->work > y->work ? 1 : x->step < y->step ? -1 : 1;
}

static void order(orderer *o) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < o->count; i++) {
    if (o->list[i]->kind != IR_STEP_EXCHANGE) continue;
    bool numbered = ir_exchange_is_numbered(o->g, o->list[i]->kernel);
    o->exchanges[o->exchange_count] = (exchange){.step = i};
    if (!numbered) o->exchanges[o->exchange_count].work = mark_needed(o, i, o->exchange_count + 1);
    o->exchange_count++;
  }
  qsort(o->exchanges, o->exchange_count, sizeof *o->exchanges, compare);
  memset(o->mark, 0, o->count * sizeof *o->mark);
  for (uint32_t x = 0; x < o->exchange_count; x++) {
    uint32_t step = o->exchanges[x].step;
    if (!o->list[step]) continue; /* another one needed it */
    mark_needed(o, step, x + 1);
    for (uint32_t i = 0; i <= step; i++)
      if (o->mark[i] == x + 1 && o->list[i]) o->ordered[count++] = o->list[i], o->list[i] = NULL;
  }
  for (uint32_t i = 0; i < o->count; i++)
    if (o->list[i]) o->ordered[count++] = o->list[i];
  memcpy(o->list, o->ordered, count * sizeof *o->list);
}

bool schedule_early(const ir_graph *g, const ir_plan *plan, bool has_references, const ir_step **list,
                    size_t count) {
  uint32_t exchanges = 0;
  for (size_t i = 0; i < count; i++) exchanges += list[i]->kind == IR_STEP_EXCHANGE;
  if (!exchanges) return true;
  orderer o = {.g = g,
               .mem = plan->mem,
               .plan = plan,
               .has_references = has_references,
               .list = list,
               .count = (uint32_t)count};
  o.slots = ir_alloc(o.mem, plan->slot_count * sizeof *o.slots);
  o.before = ir_alloc(o.mem, count * sizeof *o.before);
  o.mark = ir_alloc(o.mem, count * sizeof *o.mark);
  o.stack = ir_alloc(o.mem, count * sizeof *o.stack);
  o.exchanges = ir_alloc(o.mem, exchanges * sizeof *o.exchanges);
  o.ordered = ir_alloc(o.mem, count * sizeof *o.ordered);
  bool good = o.slots && o.before && o.mark && o.stack && o.exchanges && o.ordered;
  if (good) memset(o.mark, 0, count * sizeof *o.mark);
  good = good && find_dependences(&o);
  if (good) order(&o);
  ir_free(o.mem, o.links, o.link_cap * sizeof *o.links);
  ir_free(o.mem, o.slots, plan->slot_count * sizeof *o.slots);
  ir_free(o.mem, o.before, count * sizeof *o.before);
  ir_free(o.mem, o.mark, count * sizeof *o.mark);
  ir_free(o.mem, o.stack, count * sizeof *o.stack);
  ir_free(o.mem, o.exchanges, exchanges * sizeof *o.exchanges);
  ir_free(o.mem, o.ordered, count * sizeof *o.ordered);
  return good;
}
