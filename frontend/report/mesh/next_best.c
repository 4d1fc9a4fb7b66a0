#include "frontend/report/mesh/next_best.h"

#include <string.h>

static const double microseconds = 1e6; /* of a second */

static double seconds_of(const fe_divided *d, size_t note) {
  double picoseconds = 0;
  for (size_t i = 0; i < d->program.collective_count; i++)
    if (d->program.collectives[i].note == note) picoseconds += (double)d->program.collectives[i].cost.time;
  return picoseconds * 1e-12;
}

/* How the operation of the note has its operands and its result: as the notes say, or as they are. */
static void take_terms(const fe_divided *d, autoshard_other *o) {
  const ir_graph *g = &d->g;
  for (uint32_t t = 0; t < o->terms; t++) {
    ir_ref x = t + 1 < o->terms ? ir_src(g, o->node, t) : o->node;
    const ir_spec *spec = ir_shape(g, x) ? ir_spec_of(g, x) : NULL;
    ir_spec_init(&o->specs[t], ir_shape(g, x) ? ir_rank(g, x) : 0);
    if (spec) o->specs[t] = *spec;
  }
  for (size_t i = 0; i < d->program.note_count; i++) {
    const shard_note *n = &d->program.notes[i];
    if (n->node != o->node) continue;
    if (n->reason == SHARD_READS || n->reason == SHARD_TOTALS) o->inside += seconds_of(d, i);
    if (n->operand < 0) o->specs[o->terms - 1] = n->from, o->result = &n->to;
    else if ((uint32_t)n->operand + 1 < o->terms) o->specs[n->operand] = n->to;
  }
}

bool fe_next_best_make(fe_next_best *out, fe_divided *d) {
  const shard_program *p = &d->program;
  ir_graph *g = &d->g;
  *out = (fe_next_best){.count = p->note_count};
  for (size_t i = 0; i < p->note_count; i++)
    out->spec_count += ir_operand_count(ir_get(g, p->notes[i].node)) + 1;
  out->others = ir_alloc(g->mem, (out->count + 1) * sizeof *out->others);
  out->specs = ir_alloc(g->mem, (out->spec_count + 1) * sizeof *out->specs);
  if (!out->others || !out->specs)
    return ir_fail(g->error, IR_ERR_MEMORY, "out of memory explaining") == IR_OK;
  for (size_t i = 0, at = 0; i < p->note_count; at += out->others[i++].terms) {
    ir_ref node = p->notes[i].node;
    out->others[i] = (autoshard_other){
        .node = node, .terms = ir_operand_count(ir_get(g, node)) + 1, .specs = &out->specs[at]};
    take_terms(d, &out->others[i]);
  }
  autoshard_request request = {.root = d->refs[0], .inputs = d->refs + 1, .input_count = d->count - 1};
  return !out->count || pass_autoshard_others(g, &request, out->others, out->count);
}

void fe_next_best_free(fe_next_best *n, const fe_divided *d) {
  const ir_mem *mem = d->g.mem;
  if (n->others) ir_free(mem, n->others, (n->count + 1) * sizeof *n->others);
  if (n->specs) ir_free(mem, n->specs, (n->spec_count + 1) * sizeof *n->specs);
  *n = (fe_next_best){0};
}

void fe_next_best_put(const fe_next_best *n, const fe_divided *d, size_t note, ir_text *out) {
  const autoshard_other *o = &n->others[note];
  const ir_mesh *mesh = ir_graph_mesh(&d->g);
  if (!o->known) return;
  ir_text_str(out, "  next best:");
  for (uint32_t t = 0; t < o->terms; t++) {
    ir_text_str(out, t + 1 == o->terms ? t ? " to " : " " : t ? ", " : " ");
    ir_spec_print(mesh, &o->specs[t], out);
  }
  ir_textf(out, ", %.3g us in place of %.3g us\n", o->next * microseconds, o->now * microseconds);
}
