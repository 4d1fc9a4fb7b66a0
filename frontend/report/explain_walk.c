#include "frontend/report/explain_walk.h"

#include <stdlib.h>
#include <string.h>

enum { FOR_ALL = 1, FOR_SOME }; /* steps that a stored value is stored for; 0: none */

/* The number of sources that count as used: the operands of a node, all results of a function. */
static uint32_t used_by(const ir_node *n) { return n->op == IR_OP_FUNC ? n->nsrc : ir_operand_count(n); }

static bool list_users(fe_walk *w) {
  size_t edges = 0;
  memset(w->first_user, 0, (w->nodes + 1) * sizeof *w->first_user);
  for (ir_ref r = 1; r < w->nodes; r++) {
    const ir_node *n = ir_get(w->g, r);
    for (uint32_t i = 0; i < used_by(n); i++) w->first_user[n->src[i] + 1]++;
    edges += used_by(n);
  }
  if (edges > UINT32_MAX || !(w->users = ir_alloc(w->g->mem, (edges + 1) * sizeof *w->users))) return false;
  for (size_t r = 0; r < w->nodes; r++) w->first_user[r + 1] += w->first_user[r];
  for (ir_ref r = (ir_ref)w->nodes; r-- > 1;) { /* from the end of each list to its start */
    const ir_node *n = ir_get(w->g, r);
    for (uint32_t i = 0; i < used_by(n); i++) w->users[--w->first_user[n->src[i] + 1]] = r;
  }
  for (size_t r = 0; r < w->nodes; r++) w->first_user[r] = w->first_user[r + 1];
  w->first_user[w->nodes] = (uint32_t)edges;
  return true;
}

/* Which nodes the plan's values are computed from. */
static void note_planned(fe_walk *w, const ir_plan *plan) {
  memset(w->planned, 0, w->nodes);
  for (size_t i = 0; i < plan->slot_count; i++) w->planned[plan->slots[i].value] = 1;
  for (ir_ref r = (ir_ref)w->nodes; r-- > 1;) { /* sources come before what reads them */
    const ir_node *n = ir_get(w->g, r);
    for (uint32_t i = 0; i < used_by(n) && w->planned[r]; i++) w->planned[n->src[i]] = 1;
  }
}

bool fe_walk_open(fe_walk *w, const ir_graph *g, const ir_plan *plan) {
  const ir_mem *mem = g->mem;
  *w = (fe_walk){.g = g, .nodes = g->count};
  w->stored = ir_alloc(mem, w->nodes);
  w->marks = ir_alloc(mem, w->nodes);
  w->planned = ir_alloc(mem, w->nodes);
  w->first_user = ir_alloc(mem, (w->nodes + 1) * sizeof *w->first_user);
  if (!w->stored || !w->marks || !w->planned || !w->first_user || !list_users(w)) return false;
  note_planned(w, plan);
  memset(w->marks, 0, w->nodes);
  memset(w->stored, 0, w->nodes);
  for (size_t i = 0; i < plan->slot_count; i++) w->stored[plan->slots[i].value] = FOR_ALL;
  for (size_t i = 0; i < plan->step_count; i++)
    for (uint32_t k = 0; k < plan->steps[i].own_count; k++)
      w->stored[plan->steps[i].own_stored[k].node] = FOR_SOME;
  for (size_t i = 0; i < plan->stored_count; i++) w->stored[plan->stored[i].node] = FOR_ALL;
  return true;
}

void fe_walk_close(fe_walk *w) {
  const ir_mem *mem = w->g->mem;
  ir_free(mem, w->users, w->users ? ((size_t)w->first_user[w->nodes] + 1) * sizeof *w->users : 0);
  ir_free(mem, w->first_user, (w->nodes + 1) * sizeof *w->first_user);
  ir_free(mem, w->marks, w->nodes);
  ir_free(mem, w->planned, w->nodes);
  ir_free(mem, w->stored, w->nodes);
}

static bool add_node(fe_walk *w, ir_ref ref, fe_refs *out) {
  if (w->marks[ref]) return true;
  if (!IR_RESERVE(w->g->mem, out->list, out->cap, out->count + 1)) return false;
  w->marks[ref] = 1;
  out->list[out->count++] = ref;
  return true;
}

static int ascending(const void *a, const void *b) {
  ir_ref x = *(const ir_ref *)a, y = *(const ir_ref *)b;
  return (x > y) - (x < y);
}

/* Is the value in memory when the step begins? */
static bool is_read(const fe_walk *w, const ir_step *step, ir_ref value) {
  if (w->stored[value] != FOR_SOME) return w->stored[value] && !ir_in_row_group(step, value);
  for (uint32_t i = 0; i < step->own_count; i++)
    if (step->own_stored[i].node == value) return true;
  return false;
}

bool fe_walk_fused(fe_walk *w, const ir_step *step, ir_ref value, bool updates, fe_refs *out) {
  size_t kept = 0;
  bool good = add_node(w, value, out);
  for (uint32_t i = 0; i < step->row_group.count && good; i++)
    good = add_node(w, step->row_group.values[i].value, out);
  for (size_t at = 0; at < out->count && good; at++) {
    ir_ref r = out->list[at];
    const ir_node *n = ir_get(w->g, r);
    if (r != value && is_read(w, step, r)) continue;
    for (uint32_t i = r == value && updates; i < ir_operand_count(n) && good; i++)
      if (ir_shape(w->g, n->src[i])) good = add_node(w, n->src[i], out);
  }
  for (size_t i = 0; i < out->count; i++) {
    ir_ref r = out->list[i];
    ir_op op = ir_op_of(w->g, r);
    bool read = r != value && is_read(w, step, r);
    w->marks[r] = 0;
    if (!read && op != IR_OP_CONST && op != IR_OP_INPUT) out->list[kept++] = r;
  }
  out->count = kept;
  if (kept) qsort(out->list, kept, sizeof *out->list, ascending);
  return good;
}

bool fe_walk_above(fe_walk *w, ir_ref value, fe_refs *out) {
  bool good = add_node(w, value, out);
  for (size_t at = 0; at < out->count && good; at++) {
    ir_ref r = out->list[at];
    if (r != value && (!ir_shape(w->g, r) || w->stored[r] == FOR_ALL)) continue;
    for (uint32_t k = w->first_user[r]; k < w->first_user[r + 1] && good; k++)
      good = add_node(w, w->users[k], out);
  }
  for (size_t i = 0; i < out->count; i++) w->marks[out->list[i]] = 0;
  return good;
}

void fe_refs_free(const fe_walk *w, fe_refs *refs) {
  ir_free(w->g->mem, refs->list, refs->cap * sizeof *refs->list);
  *refs = (fe_refs){0};
}
