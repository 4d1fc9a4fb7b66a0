#include "frontend/report/explain_writes.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/api/references.h"
#include "passes/index/affine.h"
#include "passes/index/disjoint.h"
#include "passes/index/index.h"

/* Accesses of one reference that are compared with each other: longer lists would take their square. */
enum { MOST_ACCESSES = 64 };

/* what passes leave */

static bool note_order(fe_accesses *a, const ir_mem *mem, const ir_plan *plan) {
  if (!IR_RESERVE(mem, a->scheduled, a->scheduled_cap, plan->step_count + 1)) return false;
  a->scheduled_count = plan->step_count;
  for (size_t k = 0; k < plan->step_count; k++) a->scheduled[k] = plan->steps[k].kernel;
  return true;
}

static bool is_access(const ir_graph *g, ir_ref ref) {
  ir_op op = ir_op_of(g, ref);
  return (op == IR_OP_LOAD || op == IR_OP_STORE || op == IR_OP_UPDATE) &&
         ir_op_of(g, ir_src(g, ref, 0)) == IR_OP_PARAM;
}

static bool note_accesses(fe_accesses *a, const ir_graph *g, const ir_step *step, uint32_t number,
                          ir_ref root) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool done = ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && done; i++) {
    if (!is_access(g, live[i])) continue;
    int64_t param = ir_arg_int(ir_get(g, ir_src(g, live[i], 0)));
    if (param < 0 || param >= step->slot_count) continue;
    done = IR_RESERVE(g->mem, a->list, a->cap, a->count + 1);
    if (done) a->list[a->count++] = (fe_access){live[i], number, step->slots[param]};
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return done;
}

bool fe_accesses_note(fe_accesses *a, const char *pass, const ir_graph *g, const ir_plan *plan, ir_ref root,
                      int kernel) {
  if (strcmp(pass, "schedule") == 0) return note_order(a, g->mem, plan);
  if (strcmp(pass, "fold") != 0 || kernel < 0) return true;
  return note_accesses(a, g, &plan->steps[kernel], (uint32_t)kernel, root);
}

static int by_step(const void *a, const void *b) {
  const fe_access *x = a, *y = b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return (x->effect > y->effect) - (x->effect < y->effect); /* as ir_reachable lists them */
}

void fe_accesses_renumber(fe_accesses *a, const size_t *now) {
  for (size_t i = 0; i < a->count; i++) a->list[i].step = (uint32_t)now[a->list[i].step];
  if (a->count) qsort(a->list, a->count, sizeof *a->list, by_step);
}

void fe_accesses_free(fe_accesses *a, const ir_mem *mem) {
  ir_free(mem, a->list, a->cap * sizeof *a->list);
  ir_free(mem, a->scheduled, a->scheduled_cap * sizeof *a->scheduled);
  *a = (fe_accesses){0};
}

/* one reference */

typedef struct reference {
  const fe_writes *w;
  uint32_t slot;
  fe_access list[MOST_ACCESSES];
  uint32_t version[MOST_ACCESSES]; /* that it reads, or makes */
  uint32_t count, left_out, versions;
} reference;

static bool stores(const fe_writes *w, const fe_access *a) { return ir_op_of(w->g, a->effect) != IR_OP_LOAD; }

static ir_ref index_of(const fe_writes *w, const fe_access *a) { return ir_src(w->g, a->effect, 1); }

/* The slot whose memory this one is in an iteration, where a loop changes it in place; else the slot itself.
 */
static uint32_t slot_around(const ir_plan *p, uint32_t slot) {
  enum { INIT, THIS, NEXT, RESULT, SPARE, CARRY }; /* of a carried value: ir/plan.h */
  for (size_t k = 0; k < p->step_count; k++) {
    const ir_step *s = &p->steps[k];
    if (!ir_is_loop_step(s->kind)) continue;
    const uint32_t *c = s->slots + (s->kind == IR_STEP_WHILE);
    for (uint32_t i = 0; i < s->carries; i++, c += CARRY)
      if ((c[THIS] == slot || c[NEXT] == slot) && c[SPARE] == c[RESULT] && c[INIT] == c[RESULT])
        return c[INIT];
  }
  return slot;
}

static bool is_of_reference(const reference *r, uint32_t slot) {
  uint32_t outer;
  while (slot != r->slot && (outer = slot_around(r->w->plan, slot)) != slot) slot = outer;
  return slot == r->slot;
}

/* Stores of a step make its version; loads of the same step read the one before. */
static void find_accesses(reference *r) {
  const fe_accesses *all = r->w->accesses;
  uint32_t made_by = UINT32_MAX;
  for (size_t i = 0; i < all->count; i++) {
    const fe_access *a = &all->list[i];
    if (!is_of_reference(r, a->slot)) continue;
    bool makes = stores(r->w, a);
    if (makes && a->step != made_by) r->versions++, made_by = a->step;
    if (r->count == MOST_ACCESSES) {
      r->left_out++;
      continue;
    }
    r->list[r->count] = *a;
    r->version[r->count++] = r->versions - (!makes && a->step == made_by);
  }
}

static void put_where(const fe_writes *w, ir_ref index) {
  int64_t lo, hi;
  ir_text_str(w->out, " at ");
  ir_print_expr(w->g, index, w->out);
  if (index_interval(w->g, index, &lo, &hi) && lo >= 0)
    lo == hi ? ir_textf(w->out, ", element %lld", (long long)lo)
             : ir_textf(w->out, ", elements %lld to %lld", (long long)lo, (long long)hi);
}

static void put_access(const reference *r, uint32_t i) {
  const fe_writes *w = r->w;
  const fe_access *a = &r->list[i];
  const ir_node *n = ir_get(w->g, a->effect);
  bool adds = n->op == IR_OP_UPDATE && n->arg;
  ir_textf(w->out, "  %s  kernel %zu: version %u", stores(w, a) ? "writes" : "reads ", w->numbers[a->step],
           r->version[i]);
  put_where(w, index_of(w, a));
  ir_text_str(w->out, adds ? ", to which it adds" : "");
  ir_text_str(w->out, a->slot == r->slot ? "\n" : ", in each round of a loop\n");
}

/* relations of two accesses */

static bool meet(const fe_writes *w, const fe_access *a, const fe_access *b) {
  return index_relate(w->g, index_of(w, a), index_of(w, b)).meeting == INDEX_MAY_MEET;
}

/* Do the kernels of steps i and k, of which one stores there, read or write elements that the other one
 * stores? *apart: of two accesses that never meet, why. */
static bool steps_meet(const reference *r, uint32_t i, uint32_t k, index_relation *apart) {
  const fe_writes *w = r->w;
  for (uint32_t a = 0; a < r->count; a++)
    for (uint32_t b = 0; b < r->count; b++) {
      const fe_access *x = &r->list[a], *y = &r->list[b];
      if (x->step != i || y->step != k || (!stores(w, x) && !stores(w, y))) continue;
      *apart = index_relate(w->g, index_of(w, x), index_of(w, y));
      if (apart->meeting == INDEX_MAY_MEET) return true;
    }
  return false;
}

static bool step_stores(const reference *r, uint32_t step) {
  for (uint32_t i = 0; i < r->count; i++)
    if (r->list[i].step == step && stores(r->w, &r->list[i])) return true;
  return false;
}

/* Was the kernel of step i behind that of step k before writes in place were looked for? */
static bool was_moved(const fe_writes *w, uint32_t i, uint32_t k) {
  const fe_accesses *a = w->accesses;
  size_t first = 0, last = a->scheduled_count;
  while (first < a->scheduled_count && a->scheduled[first] != w->values[i]) first++;
  while (last > 0 && a->scheduled[last - 1] != w->values[k]) last--;
  return last > 0 && first < a->scheduled_count && first > last - 1;
}

static void put_apart(const fe_writes *w, uint32_t i, uint32_t k, index_relation why) {
  ir_textf(w->out, "  apart   kernels %zu and %zu: ", w->numbers[i], w->numbers[k]);
  if (why.meeting == INDEX_APART) ir_text_str(w->out, "all elements of one are before those of the other\n");
  else ir_textf(w->out, "their elements leave other remainders, divided by %lld\n", (long long)why.modulus);
}

static void put_order(const reference *r, uint32_t i, uint32_t k) {
  const fe_writes *w = r->w;
  bool first = step_stores(r, i), second = step_stores(r, k);
  ir_textf(w->out, "  order   kernel %zu before kernel %zu, which %s\n", w->numbers[i], w->numbers[k],
           first && second      ? "writes some of the same elements"
           : first              ? "reads what it writes"
           : was_moved(w, i, k) ? "replaces what it reads; it was put there"
                                : "replaces what it reads");
}

/* The steps that access the reference, in order. */
static uint32_t list_steps(const reference *r, uint32_t *steps) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < r->count; i++)
    if (!count || steps[count - 1] != r->list[i].step) steps[count++] = r->list[i].step;
  return count;
}

static void put_pairs(const reference *r) {
  uint32_t steps[MOST_ACCESSES], count = list_steps(r, steps);
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < k; i++) {
      index_relation apart = {INDEX_MAY_MEET, 0};
      if (!step_stores(r, steps[i]) && !step_stores(r, steps[k])) continue;
      if (steps_meet(r, steps[i], steps[k], &apart)) put_order(r, steps[i], steps[k]);
      else put_apart(r->w, steps[i], steps[k], apart);
    }
}

/* what a kernel reads of what it replaces */

static void put_loops(const fe_writes *w, const ir_node *update) {
  const char *between = " in the order of ";
  for (uint32_t i = 4; i < update->nsrc; i++) {
    int64_t step;
    bool known = affine_stride(w->g, update->src[1], update->src[i], &step);
    ir_text_str(w->out, between);
    ir_print_expr(w->g, update->src[i], w->out);
    if (known && step) ir_text_str(w->out, step < 0 ? " downwards" : " upwards");
    between = ", ";
  }
}

static void put_own_reads(const reference *r, const fe_access *store) {
  const fe_writes *w = r->w;
  const ir_node *n = ir_get(w->g, store->effect);
  bool same = false, apart = false, before = false;
  for (uint32_t i = 0; i < r->count; i++) {
    const fe_access *a = &r->list[i];
    if (a->step != store->step || stores(w, a)) continue;
    if (index_of(w, a) == index_of(w, store)) same = true;
    else if (!meet(w, a, store)) apart = true;
    else before = true;
  }
  if (same && !before)
    ir_textf(w->out, "  order   kernel %zu reads each element before it replaces it\n",
             w->numbers[store->step]);
  if (apart)
    ir_textf(w->out, "  apart   kernel %zu reads elements that it does not replace\n",
             w->numbers[store->step]);
  if (!before) return;
  ir_textf(w->out, "  order   kernel %zu reads each element before it replaces it,", w->numbers[store->step]);
  put_loops(w, n);
  ir_text_str(w->out, "\n");
}

/* Prints the temporaries that hold elements, or what is computed of them, for the write that replaces these.
 */
static void put_saved(const reference *r, const fe_access *store) {
  const fe_writes *w = r->w;
  for (uint32_t i = 0; i < r->count; i++) {
    const fe_access *a = &r->list[i];
    const ir_step *from = &w->plan->steps[a->step], *to = &w->plan->steps[store->step];
    uint32_t slot = from->slot_count ? from->slots[0] : 0;
    if (a->step >= store->step || stores(w, a) || !meet(w, a, store) ||
        w->plan->slots[slot].kind != IR_SLOT_TEMP)
      continue;
    bool read = false;
    for (uint32_t k = 0; k < to->slot_count; k++) read |= to->slots[k] == slot;
    const ir_slot *s = &w->plan->slots[slot];
    if (!read) continue;
    ir_text_str(w->out, "  saved   ");
    ir_print_expr(w->g, pass_mul_int(w->g, s->elements, ir_dtypes[ir_dtype_of(w->g, s->value)].bytes),
                  w->out);
    ir_textf(w->out, " bytes by kernel %zu, which kernel %zu needs of what it replaces\n",
             w->numbers[a->step], w->numbers[store->step]);
  }
}

/* Prints why the newest version is in memory of its own. */
static void put_copied(const reference *r, uint32_t slot) {
  const fe_writes *w = r->w;
  const fe_accesses *all = w->accesses;
  uint32_t written = UINT32_MAX;
  for (size_t i = 0; i < all->count; i++) {
    if (written == UINT32_MAX && all->list[i].slot == slot && stores(w, &all->list[i]))
      written = all->list[i].step;
  }
  ir_text_str(w->out, "  copied  all of it: the newest version is computed in memory of its own\n");
  for (uint32_t i = 0; i < r->count; i++)
    if (written != UINT32_MAX && r->list[i].step > written + 1) {
      ir_textf(w->out, "  copied  since kernel %zu still reads version 0\n", w->numbers[r->list[i].step]);
      return;
    }
}

static void put_reference(const fe_writes *w, uint32_t input, uint32_t result) {
  reference r = {.w = w, .slot = input};
  bool here = result == input;
  find_accesses(&r);
  ir_textf(w->out, "\nreference %%%s ", w->block->params[input].name);
  ir_print_type(w->g, w->plan->slots[input].value, w->out);
  ir_text_str(w->out, here ? ", changed in place\n" : "\n");
  for (uint32_t i = 0; i < r.count; i++) put_access(&r, i);
  put_pairs(&r);
  for (uint32_t i = 0; i < r.count; i++) {
    if (!stores(w, &r.list[i])) continue;
    put_own_reads(&r, &r.list[i]);
    put_saved(&r, &r.list[i]);
  }
  if (!here) put_copied(&r, result);
  if (r.left_out) ir_textf(w->out, "  and %u more places that read or write it\n", r.left_out);
}

void fe_explain_references(const fe_writes *w) {
  const ir_parsed_graph *b = w->block;
  pass_reference *list = ir_alloc(w->g->mem, (b->param_count + 1) * sizeof *list);
  if (!list) {
    w->out->failed = true;
    return;
  }
  size_t count = fe_list_references(b->params, b->param_count, b->results, b->result_count, list);
  for (size_t i = 0; i < count; i++) put_reference(w, list[i].input, w->plan->results[list[i].result]);
  ir_free(w->g->mem, list, (b->param_count + 1) * sizeof *list);
}
