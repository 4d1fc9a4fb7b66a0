/* The order in which operations take their steps. */
#include "impl.h"

#include <string.h>

static void queue_op(propagate_state *s, uint32_t number) {
  if (s->ops[number].queued) return;
  s->ops[number].queued = true;
  s->queue[(s->head + s->queued++) % s->queue_cap] = number;
}

void propagate_changed(propagate_state *s, uint32_t value) {
  const propagate_value *v = &s->values[value];
  for (uint32_t i = 0; i < v->count; i++) queue_op(s, s->readers[v->first + i]);
}

/* All steps of one strength, to a fixed point. */
static bool run(propagate_state *s, uint32_t most, propagate_class cls) {
  bool good = true;
  for (size_t i = 0; i < s->op_count; i++) queue_op(s, (uint32_t)i);
  while (s->queued) {
    propagate_op *op = &s->ops[s->queue[s->head]];
    s->head = (s->head + 1) % s->queue_cap;
    s->queued--;
    op->queued = false;
    if (good && op->cls <= cls) good = propagate_step(s, op, most);
  }
  return good;
}

/* The priorities that specs have, the strongest first; returns their number. */
static uint32_t priorities(const propagate_state *s, uint32_t *out) {
  bool seen[IR_PRIORITY_MOST + 1] = {0};
  uint32_t count = 0;
  for (size_t i = 0; i < s->value_count; i++)
    for (uint32_t d = 0; d < s->values[i].spec.rank; d++)
      if (ir_spec_count(&s->values[i].spec, d)) seen[s->values[i].spec.priority[d]] = true;
  for (uint32_t p = 0; p <= IR_PRIORITY_MOST; p++)
    if (seen[p]) out[count++] = p;
  return count;
}

/* What has been found is final. */
static bool seal(propagate_state *s) {
  for (size_t i = 0; i < s->value_count; i++) {
    propagate_value *v = &s->values[i];
    if (!v->changed) continue;
    ir_spec spec;
    ir_spec_canonical(&v->spec, &spec);
    memset(spec.open, 0, sizeof spec.open), memset(spec.priority, 0, sizeof spec.priority);
    if (!ir_set_spec(s->g, v->node, &spec))
      return ir_fail(s->g->error, IR_ERR_MEMORY, "propagation: out of memory") == IR_OK;
  }
  return true;
}

bool pass_propagate(ir_graph *g, ir_ref root, const propagate_pair *alike, size_t alike_count,
                    propagate_notes *notes) {
  propagate_state s = {.g = g, .mesh = ir_graph_mesh(g), .notes = notes, .nodes = (size_t)root + 1};
  uint32_t found[IR_PRIORITY_MOST + 1];
  s.value_of = ir_alloc(g->mem, s.nodes * sizeof *s.value_of);
  bool good = s.value_of != NULL;
  if (good) memset(s.value_of, 0, s.nodes * sizeof *s.value_of);
  good = good && propagate_table(&s, root, alike, alike_count) &&
         IR_RESERVE(g->mem, s.queue, s.queue_cap, s.op_count + 1);
  if (!good && g->error->status == IR_OK) ir_fail(g->error, IR_ERR_MEMORY, "propagation: out of memory");
  uint32_t count = good ? priorities(&s, found) : 0;
  for (uint32_t p = 0; p < count && good; p++)
    for (int cls = 0; cls < PROPAGATE_CLASSES && good; cls++) good = run(&s, found[p], (propagate_class)cls);
  good = good && seal(&s);
  if (s.value_of) ir_free(g->mem, s.value_of, s.nodes * sizeof *s.value_of);
  ir_free(g->mem, s.values, s.value_cap * sizeof *s.values);
  ir_free(g->mem, s.ops, s.op_cap * sizeof *s.ops);
  ir_free(g->mem, s.terms, s.term_cap * sizeof *s.terms);
  ir_free(g->mem, s.dims, s.dim_cap * sizeof *s.dims);
  ir_free(g->mem, s.factors, s.factor_cap * sizeof *s.factors);
  ir_free(g->mem, s.readers, s.reader_cap * sizeof *s.readers);
  ir_free(g->mem, s.queue, s.queue_cap * sizeof *s.queue);
  return good;
}

void propagate_notes_free(const ir_graph *g, propagate_notes *notes) {
  ir_free(g->mem, notes->notes, notes->cap * sizeof *notes->notes);
  *notes = (propagate_notes){0};
}
