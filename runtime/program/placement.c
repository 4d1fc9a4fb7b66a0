/* Decides where intermediates lie (buffer reuse). Each temporary has a home: memory of its own in the arena;
 * or the memory of another temporary, which it inherits because the kernel that first writes it is the last
 * to read the other one (ir/in_place.h); or the buffer of a result, which hosts it until the result is
 * written.
 *
 * A result that inherits the memory of a temporary is in use from the temporary's first step on, and so can
 * host fewer temporaries. Both variants are therefore tried, results that inherit and results that do not.
 * The second is chosen if the step that needs the most memory needs at least an eighth less. */
#include <string.h>

#include "runtime/program/program.h"

/* A result hosts only temporaries of at least LEAST_HOSTED bytes: smaller ones are better off in the arena,
 * where they reuse memory that is in the caches already. */
enum { LEAST_HOSTED = 64 << 10, MOST_HOSTS = 64, MOST_HOSTED = 64 };
#define NONE UINT32_MAX

typedef struct placer {
  rt_program *p;
  rt_span *written;      /* by result: live range of its buffer */
  uint32_t *inherits;    /* by temporary: the one whose memory it inherits, or itself */
  uint32_t *next_hosted; /* by temporary: the next one hosted by the same result, or NONE */
  uint32_t *order;       /* temporaries, largest first */
  int64_t *live_delta;   /* by step: change of the live bytes against the step before */
  bool results_inherit;  /* results inherit memory as well */
} placer;

static uint32_t end_of(const rt_program *p, uint32_t step) { return step + rt_inside(&p->plan.steps[step]); }

/* Finds the innermost step around each step (around[i]); NONE at the top level. */
static void find_around(rt_program *p) {
  uint32_t at = NONE;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    while (at != NONE && end_of(p, at) < i) at = p->parent_step[at];
    p->parent_step[i] = at;
    if (rt_inside(&p->plan.steps[i])) at = i;
  }
}

/* Extends the live range of a buffer that step i uses. A value that exists when a loop begins must exist in
 * each of its iterations: so the range extends to the last step of the outermost loop around i that begins no
 * earlier than the range. */
static void extend_life(const rt_program *p, rt_span *life, uint32_t i) {
  if (life->first == NONE) life->first = i;
  if (life->last < i) life->last = i;
  for (uint32_t at = i; at != NONE && life->first <= at; at = p->parent_step[at])
    if (rt_is_loop(&p->plan.steps[at]) && life->last < end_of(p, at)) life->last = end_of(p, at);
}

/* Computes live ranges, from the first step that uses a buffer to the last; a temporary that is also a result
 * lives to the end. */
static void find_lives(placer *f) {
  rt_program *p = f->p;
  const rt_plan *plan = &p->plan;
  for (size_t i = 0; i < p->temp_count; i++) p->lives[i] = (rt_span){.first = NONE};
  for (uint32_t k = 0; k < plan->head->results; k++) f->written[k] = (rt_span){.first = NONE};
  for (uint32_t i = 0; i < plan->head->steps; i++) {
    if (p->sends[i] != NONE) { /* what is received meanwhile */
      uint32_t result = plan->step_slots[plan->steps[p->sends[i]].slots];
      extend_life(p, &p->lives[p->number_in_kind[result]], i);
    }
    if (p->receives[i] != NONE && plan->steps[i].kind == IR_STEP_KERNEL) { /* what is sent meanwhile */
      uint32_t operand = plan->step_slots[plan->steps[p->receives[i]].slots + 1];
      if (p->kinds[operand] == IR_SLOT_TEMP) extend_life(p, &p->lives[p->number_in_kind[operand]], i);
    }
    for (uint32_t k = 0; k < plan->steps[i].slot_count; k++) {
      uint32_t slot = plan->step_slots[plan->steps[i].slots + k];
      if (p->kinds[slot] == IR_SLOT_TEMP) extend_life(p, &p->lives[p->number_in_kind[slot]], i);
      if (p->kinds[slot] == IR_SLOT_OUTPUT && p->number_in_kind[slot] != NONE)
        extend_life(p, &f->written[p->number_in_kind[slot]], i);
    }
  }
  for (uint32_t k = 0; k < plan->head->results; k++)
    if (p->kinds[plan->results[k]] == IR_SLOT_TEMP) p->lives[p->number_in_kind[plan->results[k]]].last = NONE;
}

static uint32_t own_home(uint32_t temp) { return (uint32_t)IR_SLOT_TEMP << RT_SOURCE_SHIFT | temp; }

static uint32_t root_of(const placer *f, uint32_t temp) {
  while (f->inherits[temp] != temp) temp = f->inherits[temp];
  return temp;
}

/* inheriting: kernels that write in place */

static bool same_size(const rt_program *p, uint32_t a, uint32_t b) {
  const rt_plan_slot *x = &p->plan.slots[a], *y = &p->plan.slots[b];
  return x->elements == y->elements && ir_dtypes[x->dtype].bytes == ir_dtypes[y->dtype].bytes;
}

/* May each parameter through which the step reads this slot lie in the memory of its first slot? */
static bool may_lie_in_place(const rt_program *p, const rt_plan_step *s, uint32_t slot, uint32_t in_place) {
  const uint32_t *slots = p->plan.step_slots + s->slots;
  for (uint32_t i = 0; i < s->slot_count; i++)
    if (slots[i] == slot && (i == 0 || i > 31 || !(in_place >> i & 1))) return false;
  return true;
}

/* Lets the step's first buffer, which it is the first to write, inherit the memory of `from`, which it is the
 * last to read. False if that is impossible. */
static bool inherit_memory(placer *f, uint32_t step, uint32_t to, uint32_t from) {
  rt_program *p = f->p;
  uint32_t root = root_of(f, p->number_in_kind[from]), number = p->number_in_kind[to];
  rt_span *old = &p->lives[root];
  if (old->last != step || p->homes[root] != own_home(root)) return false;
  if (p->kinds[to] == IR_SLOT_TEMP) {
    if (p->lives[number].first != step || number == root) return false;
    f->inherits[number] = root;
    old->last = p->lives[number].last;
    return true;
  }
  if (!f->results_inherit || p->kinds[to] != IR_SLOT_OUTPUT || f->written[number].first != step ||
      p->parent_step[step] != NONE)
    return false;
  f->written[number].first = old->first;
  p->homes[root] = (uint32_t)IR_SLOT_OUTPUT << RT_SOURCE_SHIFT | number;
  return true;
}

static void write_in_place(placer *f) {
  const rt_program *p = f->p;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    rt_entry entry;
    if (s->kind != IR_STEP_KERNEL || s->slot_count < 2 ||
        !rt_image_entry(p->code.base, p->code.size, s->kernel, &entry) || !entry.terms.in_place)
      continue;
    const uint32_t *slots = p->plan.step_slots + s->slots;
    for (uint32_t k = 1; k < s->slot_count; k++)
      if (p->kinds[slots[k]] == IR_SLOT_TEMP && same_size(p, slots[0], slots[k]) &&
          may_lie_in_place(p, s, slots[k], entry.terms.in_place) && inherit_memory(f, i, slots[0], slots[k]))
        break;
  }
}

/* hosting: temporaries in the buffers of results */

/* The bytes of a slot, or -1 where they depend on variables. */
static int64_t bytes_of(const rt_program *p, uint32_t slot) {
  const rt_plan_slot *s = &p->plan.slots[slot];
  const rt_value v = p->plan.values[s->elements];
  int64_t elements = (int64_t)((uint64_t)v.c << 32 | v.b), bytes = (int64_t)ir_dtypes[s->dtype].bytes;
  return v.op != IR_OP_CONST || elements < 0 || elements > INT64_MAX / bytes ? -1 : elements * bytes;
}

/* Does the temporary fit into the result, with the alignment of its elements? */
static bool fits_result(const rt_program *p, uint32_t temp, uint32_t result) {
  uint32_t a = p->temps[temp], b = p->plan.results[result];
  const rt_plan_slot *x = &p->plan.slots[a], *y = &p->plan.slots[b];
  if (ir_dtypes[x->dtype].bytes > ir_dtypes[y->dtype].bytes) return false;
  int64_t bytes = bytes_of(p, a);
  return x->elements == y->elements ? bytes < 0 || bytes >= LEAST_HOSTED
                                    : bytes >= LEAST_HOSTED && bytes <= bytes_of(p, b);
}

/* A result can host temporaries until the first step that writes it, if that step is in no loop: otherwise a
 * hosted temporary could be written after the result. */
static bool is_host(const placer *f, uint32_t result) {
  const rt_program *p = f->p;
  uint32_t slot = p->plan.results[result];
  return p->kinds[slot] == IR_SLOT_OUTPUT && p->number_in_kind[slot] == result &&
         f->written[result].first != NONE && p->parent_step[f->written[result].first] == NONE;
}

static bool host_temporary(placer *f, uint32_t temp, uint32_t result, uint32_t *first) {
  rt_program *p = f->p;
  const rt_span *life = &p->lives[temp];
  uint32_t hosted = 0;
  if (life->last >= f->written[result].first || !fits_result(p, temp, result)) return false;
  for (uint32_t g = *first; g != NONE; g = f->next_hosted[g], hosted++)
    if (hosted == MOST_HOSTED || (life->first <= p->lives[g].last && p->lives[g].first <= life->last))
      return false;
  f->next_hosted[temp] = *first;
  *first = temp;
  p->homes[temp] = (uint32_t)IR_SLOT_OUTPUT << RT_SOURCE_SHIFT | result;
  return true;
}

/* Sorts temporaries by size, largest first: a result can host only a few at a time. */
static void sort_by_size(placer *f) {
  rt_program *p = f->p;
  for (uint32_t i = 0; i < p->temp_count; i++) f->order[i] = i;
  for (size_t gap = p->temp_count / 2; gap > 0; gap /= 2)
    for (size_t i = gap; i < p->temp_count; i++) {
      uint32_t temp = f->order[i];
      int64_t bytes = bytes_of(p, p->temps[temp]);
      size_t k = i;
      for (; k >= gap && bytes_of(p, p->temps[f->order[k - gap]]) < bytes; k -= gap)
        f->order[k] = f->order[k - gap];
      f->order[k] = temp;
    }
}

static void use_results(placer *f) {
  rt_program *p = f->p;
  uint32_t hosts[MOST_HOSTS], first[MOST_HOSTS], count = 0;
  for (uint32_t k = 0; k < p->plan.head->results && count < MOST_HOSTS; k++)
    if (is_host(f, k)) hosts[count] = k, first[count++] = NONE;
  if (!count || !p->temp_count) return;
  sort_by_size(f);
  for (size_t i = 0; i < p->temp_count; i++) {
    uint32_t temp = f->order[i];
    if (f->inherits[temp] != temp || p->homes[temp] != own_home(temp) || p->within[temp] != NONE) continue;
    for (uint32_t k = 0; k < count; k++)
      if (host_temporary(f, temp, hosts[k], &first[k])) break;
  }
}

static void finalize_homes(placer *f) {
  rt_program *p = f->p;
  for (uint32_t i = 0; i < p->temp_count; i++) {
    p->homes[i] = p->homes[root_of(f, i)];
    p->own_memory_count += p->homes[i] == own_home(i);
  }
}

static uintptr_t lay_out_placer(placer *f, uintptr_t at) {
  f->written = rt_lay_out(&at, f->p->plan.head->results, sizeof *f->written);
  f->inherits = rt_lay_out(&at, f->p->temp_count, sizeof *f->inherits);
  f->next_hosted = rt_lay_out(&at, f->p->temp_count, sizeof *f->next_hosted);
  f->order = rt_lay_out(&at, f->p->temp_count, sizeof *f->order);
  f->live_delta = rt_lay_out(&at, (size_t)f->p->plan.head->steps + 1, sizeof *f->live_delta);
  return at;
}

/* The bytes of temporaries with memory of their own, plus scratch memory, at the step that needs the most; -1
 * where they depend on variables. */
static int64_t most_at_once(placer *f) {
  const rt_program *p = f->p;
  uint32_t steps = p->plan.head->steps;
  int64_t threads = rt_pool_threads(p->pool), now = 0, most = 0;
  memset(f->live_delta, 0, ((size_t)steps + 1) * sizeof *f->live_delta);
  for (uint32_t i = 0; i < p->temp_count; i++) {
    int64_t bytes = bytes_of(p, p->temps[i]);
    if (p->homes[root_of(f, i)] != own_home(i) || p->lives[i].first == NONE) continue;
    if (bytes < 0 || bytes > INT64_MAX / 2 / (int64_t)p->temp_count) return -1;
    f->live_delta[p->lives[i].first] += bytes;
    if (p->lives[i].last < steps) f->live_delta[p->lives[i].last + 1] -= bytes;
  }
  for (uint32_t i = 0; i < steps; i++) {
    int64_t scratch = p->plan.steps[i].kind == IR_STEP_KERNEL ? (int64_t)rt_scratch_of(p, i) : 0;
    if (scratch > INT64_MAX / 2 / threads) return -1;
    now += f->live_delta[i];
    if (now + scratch * threads > most) most = now + scratch * threads;
  }
  return most;
}

static int64_t try_to_place(placer *f, bool results) {
  rt_program *p = f->p;
  f->results_inherit = results;
  for (uint32_t i = 0; i < p->temp_count; i++)
    f->inherits[i] = i, f->next_hosted[i] = NONE, p->homes[i] = own_home(i);
  find_lives(f);
  write_in_place(f);
  rt_place_operands(p, f->inherits);
  use_results(f);
  return most_at_once(f);
}

ir_status rt_place(rt_program *p, ir_error *error) {
  const ir_mem *mem = rt_context_mem(p->context);
  placer f = {.p = p};
  size_t size = (size_t)lay_out_placer(&f, 0) + 1; /* never 0 */
  void *memory = ir_alloc(mem, size);
  if (!memory) return ir_fail(error, IR_ERR_MEMORY, "out of memory making a program");
  lay_out_placer(&f, (uintptr_t)memory);
  find_around(p);
  rt_find_senders(p);
  rt_find_receivers(p);
  int64_t usual = try_to_place(&f, true), other = usual > 0 ? try_to_place(&f, false) : -1;
  if (usual > 0 && (other < 0 || other > usual / 8 * 7)) try_to_place(&f, true);
  finalize_homes(&f);
  ir_free(mem, memory, size);
  return IR_OK;
}
