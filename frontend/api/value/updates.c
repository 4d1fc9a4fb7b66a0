#include "frontend/api/value/updates.h"

#include <string.h>

enum { BEFORE, AFTER, VERSIONS = 3 /* of each reference */ };

static ir_ref *version(const fe_updates *w, size_t number, int which) {
  return &w->versions[number * VERSIONS + (size_t)which];
}

bool fe_updates_begin(fe_updates *w, vf_graph *g) {
  *w = (fe_updates){.graph = g, .count = fe_reference_count(g)};
  if (!w->count) return true;
  w->versions = ir_alloc(g->ir.mem, w->count * VERSIONS * sizeof *w->versions);
  w->list = ir_alloc(g->ir.mem, w->count * sizeof *w->list);
  if (!w->versions || !w->list)
    return ir_fail(&g->error, IR_ERR_MEMORY, "out of memory recording a function") == IR_OK;
  for (size_t i = 0; i < w->count; i++) {
    const ir_ref *newest = fe_reference_newest(g, i);
    for (int which = 0; which < VERSIONS; which++) *version(w, i, which) = newest ? *newest : 0;
  }
  return true;
}

void fe_updates_free(fe_updates *w) {
  if (!w->graph) return;
  const ir_mem *mem = w->graph->ir.mem;
  ir_free(mem, w->versions, w->versions ? w->count * VERSIONS * sizeof *w->versions : 0);
  ir_free(mem, w->list, w->list ? w->count * sizeof *w->list : 0);
}

ir_ref fe_updates_before(const fe_updates *w, uint32_t place) { return *version(w, w->list[place], BEFORE); }

ir_ref fe_updates_after(const fe_updates *w, int function, uint32_t place) {
  return *version(w, w->list[place], AFTER + function);
}

static void set_newest(fe_updates *w, size_t number, ir_ref version) {
  ir_ref *newest = fe_reference_newest(w->graph, number);
  if (newest) *newest = version;
}

void fe_updates_enter(fe_updates *w, const ir_ref *params) {
  for (uint32_t i = 0; params && i < w->found; i++) set_newest(w, w->list[i], params[i]);
}

static bool is_listed(const fe_updates *w, size_t number) {
  uint32_t i = 0;
  while (i < w->found && w->list[i] != number) i++;
  return i < w->found;
}

void fe_updates_leave(fe_updates *w, int function) {
  for (size_t i = 0; i < w->count; i++) {
    const ir_ref *newest = fe_reference_newest(w->graph, i);
    ir_ref before = *version(w, i, BEFORE), after = newest ? *newest : 0;
    *version(w, i, AFTER + function) = after;
    if (!newest || !before) continue;
    if (after != before && !is_listed(w, i)) w->list[w->found++] = (uint32_t)i;
    set_newest(w, i, before);
  }
}

bool fe_updates_end(fe_updates *w, fe_call *c, ir_ref made, uint32_t first) {
  for (uint32_t i = 0; i < w->found && made; i++) {
    ir_ref newest = ir_src(c->ir, made, first + i);
    if (ir_batch(c->ir, newest) != ir_batch(c->ir, fe_updates_before(w, i)))
      return fe_refuse(c,
                       "a function writes a reference, which has no batch axes, and the operands have; each "
                       "element of the batch would leave another version: write the reference outside");
    set_newest(w, w->list[i], newest);
  }
  return made != 0;
}
