#include "frontend/report/mesh/dump_shard.h"

#include "frontend/machine/hosts.h"
#include "frontend/report/mesh/divided.h"
#include "frontend/report/dump_graph.h"
#include "frontend/report/mesh/next_best.h"
#include "ir/print/print.h"

#include <string.h>

enum {
  STEP_COLUMNS = 44,    /* of a step, before its bytes */
  PICOSECONDS = 1000000 /* of a microsecond */
};

typedef struct sharded {
  fe_divided d;
  const ir_parsed_graph *block;
  const fe_hosts *hosts; /* or NULL */
  ir_text *out;
} sharded;

static const char *const reasons[] = {
    [SHARD_ASKED] = "asked for",
    [SHARD_WHOLE] = "the operation never splits that axis",
    [SHARD_READS] = "a part reads elements of other parts",
    [SHARD_TOTALS] = "totals of the parts are combined",
    [SHARD_OTHERS] = "other operands or the result are divided like that",
    [SHARD_QUOTIENT] = "a mean is divided when its sum is known",
    [SHARD_PENDING] = "the operation does not commute with the pending reduction",
    [SHARD_RESULT] = "a result is not pending",
};

static void put_name(const sharded *s, ir_ref node, ir_text *out) {
  fe_divided_name(&s->d, s->block, node, out);
}

static void put_part(const sharded *s, const char *what, const char *name, size_t length,
                     const shard_value *v) {
  ir_textf(s->out, "# %s%%", what);
  ir_lex_print_name(s->out, name, length);
  ir_text_str(s->out, ": part ");
  ir_spec_print(ir_graph_mesh(&s->d.g), &v->spec, s->out);
  ir_text_str(s->out, " of ");
  ir_print_type(&s->d.g, v->global, s->out);
  ir_text_str(s->out, "\n");
}

/* The steps of a note. */
static void put_steps(const sharded *s, size_t note, ir_text *out) {
  const shard_program *p = &s->d.program;
  bool some = false;
  for (size_t i = 0; i < p->collective_count; i++) {
    const shard_collective *c = &p->collectives[i];
    if (c->note != note || !c->exchange) continue;
    ir_textf(out, "%s%s", some ? " and " : "", pass_reshard_names[c->kind]);
    some = true;
  }
  if (!some) ir_text_str(out, "a view");
}

/* Whose part is divided otherwise: a value, or an operand of it. */
static void put_note(const sharded *s, const shard_note *n) {
  const ir_mesh *mesh = ir_graph_mesh(&s->d.g);
  put_name(s, n->node, s->out);
  if (n->operand >= 0) ir_textf(s->out, ", operand %d", n->operand);
  ir_text_str(s->out, ": ");
  ir_spec_print(mesh, &n->from, s->out), ir_text_str(s->out, " to ");
  ir_spec_print(mesh, &n->to, s->out);
}

/* What moves, and why. */
static void put_notes(const sharded *s) {
  for (size_t i = 0; i < s->d.program.note_count; i++) {
    const shard_note *n = &s->d.program.notes[i];
    ir_text_str(s->out, "# ");
    put_note(s, n);
    ir_text_str(s->out, ", ");
    put_steps(s, i, s->out);
    ir_textf(s->out, ": %s\n", reasons[n->reason]);
  }
}

static void put_collective(const sharded *s, const shard_collective *c) {
  const ir_mesh *mesh = ir_graph_mesh(&s->d.g);
  size_t begin = s->out->len;
  ir_textf(s->out, "  %s", pass_reshard_names[c->kind]);
  uint32_t count;
  const ir_subaxis *on = ir_spec_axes(&c->on, 0, &count);
  for (uint32_t i = 0; i < count; i++)
    ir_text_str(s->out, i ? "," : " "), ir_subaxis_print(mesh, on[i], s->out);
  ir_text_str(s->out, " to "), ir_spec_print(mesh, &c->to, s->out);
  while (!s->out->failed && s->out->len - begin < STEP_COLUMNS) ir_text_str(s->out, " ");
  ir_textf(s->out, "  receives %llu, all %llu, peak %llu", (unsigned long long)c->cost.recv,
           (unsigned long long)c->cost.total, (unsigned long long)c->cost.peak);
  ir_textf(s->out, ", %.3g us", (double)c->cost.time / PICOSECONDS);
  ir_text_str(s->out, "\n");
}

/* Where two divisions contradict each other: the operation, what won, and what moves for it. */
static void put_conflicts(const sharded *s) {
  const propagate_notes *c = &s->d.program.conflicts;
  for (size_t i = 0; i < c->count; i++) {
    const propagate_note *n = &c->notes[i];
    const ir_mesh *mesh = ir_graph_mesh(&s->d.g);
    ir_text_str(s->out, i ? "" : "\n"), put_name(s, n->node, s->out);
    ir_textf(s->out, ": factor %s takes ", n->winner);
    ir_subaxis_print(mesh, n->axes[0], s->out);
    ir_textf(s->out, " before factor %s ", n->factor), ir_subaxis_print(mesh, n->axes[1], s->out);
    ir_text_str(s->out, " of "), put_name(s, n->loser, s->out);
    ir_textf(s->out, ", priority %u, %.0f bytes\n", (unsigned)n->priority, n->bytes);
  }
}

/* Every collective with its bytes, under what asks for it. */
static void put_collectives(const sharded *s, const fe_next_best *next) {
  const shard_program *p = &s->d.program;
  unsigned long long count = 0, recv = p->recv, total = 0;
  for (size_t i = 0; i < p->collective_count; i++)
    if (p->collectives[i].exchange) count++, total += p->collectives[i].cost.total;
  ir_textf(s->out, "graph @%.*s on ", (int)s->block->name_length, s->block->name);
  ir_mesh_print(ir_graph_mesh(&s->d.g), s->out);
  ir_textf(s->out, ": %llu collective%s; a device receives %llu bytes at most, all of them %llu\n", count,
           count == 1 ? "" : "s", recv, total);
  if (s->hosts) fe_hosts_put(s->hosts, ir_graph_mesh(&s->d.g), s->out);
  if (s->d.kept) ir_text_str(s->out, "latency and bandwidth as viewfold mesh calibrate measured them\n");
  else if (count && !shard_mesh_is_calibrated(ir_graph_mesh(&s->d.g)))
    ir_text_str(s->out, "latency and bandwidth are not known: 1 us and 10 GB/s are assumed\n");
  for (size_t i = 0, k = 0; i < p->note_count; i++) {
    ir_text_str(s->out, "\n"), put_note(s, &p->notes[i]);
    ir_textf(s->out, ": %s\n", reasons[p->notes[i].reason]);
    for (; k < p->collective_count && p->collectives[k].note == i; k++) put_collective(s, &p->collectives[k]);
    fe_next_best_put(next, &s->d, i, s->out);
  }
}

static void put_why(sharded *s) {
  fe_next_best next = {0};
  if (shard_count_costs(&s->d.g, &s->d.program) && fe_next_best_make(&next, &s->d))
    put_collectives(s, &next), put_conflicts(s);
  fe_next_best_free(&next, &s->d);
}

/* A graph of these values under the names of the block. */
static void put_graph(sharded *s, bool local) {
  const ir_parsed_graph *b = s->block;
  ir_graph *g = &s->d.g;
  size_t count = b->param_count + b->result_count;
  ir_named *names = ir_alloc(g->mem, count * sizeof *names);
  if (!names) {
    s->out->failed = true;
    return;
  }
  for (size_t i = 0; i < count; i++) {
    bool param = i < b->param_count;
    const shard_value *v = param ? &s->d.program.inputs[i] : &s->d.program.results[i - b->param_count];
    names[i] = param ? b->params[i] : b->results[i - b->param_count];
    names[i].ref = local ? v->local : v->global;
  }
  ir_print_named(g, b->name, b->name_length, names, b->param_count, names + b->param_count, b->result_count,
                 s->out);
  ir_free(g->mem, names, count * sizeof *names);
}

/* The program of a device: what its parameters and results are parts of, and what its variables are. */
static void put_program(sharded *s) {
  const ir_parsed_graph *b = s->block;
  static const char *const of_axis[] = {"coordinate", "weight of the devices before", "weight"};
  const shard_program *p = &s->d.program;
  struct ir_sharding *specs = s->d.g.sharding;
  ir_text_str(s->out, "# "), ir_mesh_print(ir_graph_mesh(&s->d.g), s->out), ir_text_str(s->out, "\n");
  for (size_t i = 0; i < b->param_count; i++)
    put_part(s, "", b->params[i].name, b->params[i].length, &p->inputs[i]);
  for (size_t i = 0; i < b->result_count; i++)
    put_part(s, "result ", b->results[i].name, b->results[i].length, &p->results[i]);
  for (size_t i = 0; i < p->variable_count; i++) {
    const shard_variable *v = &p->variables[i];
    ir_text_str(s->out, "# "), ir_print_expr(&s->d.g, v->var, s->out);
    if (v->kind == SHARD_VALUE) ir_text_str(s->out, " = "), ir_print_expr(&s->d.g, v->value, s->out);
    else ir_textf(s->out, ": the %s along %s", of_axis[v->kind], ir_graph_mesh(&s->d.g)->axes[v->axis].name);
    ir_text_str(s->out, "\n");
  }
  s->d.g.sharding = NULL; /* parts have no specs */
  put_graph(s, true);
  s->d.g.sharding = specs;
}

static bool make(sharded *s, ir_graph *g, const fe_dump_options *o, ir_error *error) {
  bool one = o->stage == FE_STAGE_SPMD && o->one_device;
  const ir_mesh *mesh = ir_graph_mesh(g);
  if (one && mesh && o->device >= mesh->device_count) {
    ir_fail(error, IR_ERR_INVALID, "no device %lld; mesh @%s has devices 0 to %u", (long long)o->device,
            mesh->name, (unsigned)mesh->device_count - 1);
    return false;
  }
  return fe_divided_make(&s->d, g, s->block, one ? o->device : SHARD_ALL, o->context, error);
}

void fe_dump_shard(ir_graph *g, const ir_parsed_graph *block, const fe_dump_options *options, ir_text *out,
                   ir_error *error) {
  sharded s = {.block = block, .hosts = options->hosts, .out = out};
  ir_error *noted = g->error;
  g->error = error;
  if (make(&s, g, options, error)) {
    if (options->stage == FE_STAGE_SHARD && options->why) {
      put_why(&s);
    } else if (options->stage == FE_STAGE_SHARD) put_notes(&s), put_graph(&s, false);
    else put_program(&s);
  }
  g->error = noted;
  fe_divided_free(&s.d);
}
