#include "frontend/dump_kernels.h"

#include <string.h>

#include "frontend/dump_steps.h"
#include "frontend/explain_kernels.h"

static bool note_schedule(fe_kernels *k, const ir_plan *plan) {
  size_t cells = plan->step_count * plan->slot_count;
  k->steps = plan->step_count;
  k->slots = plan->slot_count;
  k->values = ir_alloc(k->mem, k->steps * sizeof *k->values);
  k->loads = ir_alloc(k->mem, cells * sizeof *k->loads);
  if (!k->values || !k->loads) {
    fe_kernels_free(k);
    return false;
  }
  memset(k->loads, 0, cells * sizeof *k->loads);
  for (size_t i = 0; i < k->steps; i++) k->values[i] = plan->steps[i].kernel;
  return true;
}

static bool note_fold(fe_kernels *k, const ir_graph *g, const ir_step *step, ir_ref root, uint32_t *loads) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool ok = ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    if (ir_op_of(g, live[i]) != IR_OP_LOAD) continue;
    int64_t param = ir_arg_int(ir_get(g, ir_src(g, live[i], 0)));
    if (param >= 0 && param < step->slot_count && step->slots[param] < k->slots) loads[step->slots[param]]++;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return ok;
}

bool fe_kernels_note(fe_kernels *k, const char *pass, const ir_graph *g, const ir_plan *plan, ir_ref root,
                     int kernel) {
  if (strcmp(pass, "schedule") == 0) return note_schedule(k, plan);
  if (strcmp(pass, "fold") != 0 || (size_t)kernel >= k->steps) return true;
  return note_fold(k, g, &plan->steps[kernel], root, k->loads + (size_t)kernel * k->slots);
}

void fe_kernels_free(fe_kernels *k) {
  ir_free(k->mem, k->values, k->steps * sizeof *k->values);
  ir_free(k->mem, k->loads, k->steps * k->slots * sizeof *k->loads);
  *k = (fe_kernels){.mem = k->mem};
}

/* printing */

typedef struct printer {
  const fe_kernels *k;
  ir_graph *g;
  const ir_parsed_graph *block;
  const ir_plan *plan;
  ir_text *out;
  uint8_t *stored; /* by node: it lies in memory */
  const fe_dump_options *options;
  fe_explained explained;
} printer;

/* Its place among the slots of its kind. */
static unsigned place_of(const ir_plan *plan, uint32_t slot) {
  unsigned place = 0;
  for (uint32_t i = 0; i < slot; i++) place += plan->slots[i].kind == plan->slots[slot].kind;
  return place;
}

/* `%x f32[3,2]` */
static void put_slot(void *user, uint32_t slot) {
  printer *p = user;
  const ir_slot *s = &p->plan->slots[slot];
  const ir_node *n = ir_get(p->g, s->value);
  size_t result = 0;
  switch (s->kind) {
  case IR_SLOT_INPUT:
    ir_textf(p->out, "%%%s ", n->op == IR_OP_INPUT ? ir_name_text(p->g, n->arg) : "buffer");
    break;
  case IR_SLOT_OUTPUT:
    while (result < p->plan->result_count && p->plan->results[result] != slot) result++;
    ir_textf(p->out, "%%%s ", result < p->block->result_count ? p->block->results[result].name : "?");
    break;
  case IR_SLOT_TEMP: ir_textf(p->out, "temporary %u ", place_of(p->plan, slot)); break;
  case IR_SLOT_DATA: ir_textf(p->out, "data %u ", place_of(p->plan, slot)); break;
  case IR_SLOT_MOVING: ir_textf(p->out, "moving %u ", place_of(p->plan, slot)); break;
  }
  ir_print_type(p->g, s->value, p->out);
}

/* The operations between the value and what its kernel reads, operands first. */
static void put_fused(printer *p, const ir_step *step, ir_ref value) {
  ir_graph *g = p->g;
  size_t size = (size_t)value + 1;
  uint8_t *inside = ir_alloc(p->k->mem, size);
  const char *before = NULL;
  unsigned times = 0;
  bool any = false;
  if (!inside) {
    p->out->failed = true;
    return;
  }
  memset(inside, 0, size);
  inside[value] = 1;
  for (uint32_t i = 0; i < step->slab.count; i++) inside[step->slab.values[i].value] = 1;
  for (ir_ref r = value; r > 0; r--) {
    const ir_node *n = ir_get(g, r);
    if (!inside[r] || (r != value && p->stored[r] && !ir_in_slab(step, r))) {
      inside[r] = 0;
      continue;
    }
    for (uint32_t i = 0; i < ir_operand_count(n); i++)
      if (ir_shape(g, n->src[i])) inside[n->src[i]] = 1;
  }
  ir_text_str(p->out, "  fuses  ");
  for (ir_ref r = 1; r <= value + 1; r++) {
    bool shown = r <= value && inside[r] && ir_op_of(g, r) != IR_OP_CONST && ir_op_of(g, r) != IR_OP_INPUT;
    const char *name = r > value ? "" : ir_ops[ir_op_of(g, r)].text;
    if (r <= value && !shown) continue;
    if (before && strcmp(before, name) != 0) {
      ir_textf(p->out, times > 1 ? " %s x%u" : " %s", before, times);
      any = true;
      times = 0;
    }
    before = name;
    times++;
  }
  ir_text_str(p->out, any                                 ? "\n"
                      : ir_op_of(g, value) == IR_OP_CONST ? " nothing: a constant\n"
                                                          : " nothing: a copy\n");
  ir_free(p->k->mem, inside, size);
}

static void put_kernel(printer *p, size_t number) {
  const ir_step *l = &p->plan->steps[number];
  const uint32_t *loads = p->k->loads + number * p->k->slots;
  ir_textf(p->out, "kernel %zu -> ", fe_kernel_number(p->plan, number));
  uint32_t outputs = ir_written_slots(l);
  for (uint32_t i = 0; i < outputs; i++) {
    if (i) ir_text_str(p->out, ", ");
    put_slot(p, l->slots[i]);
  }
  ir_text_str(p->out, "\n");
  put_fused(p, l, p->k->values[number]);
  for (uint32_t i = outputs; i < l->slot_count; i++) {
    ir_text_str(p->out, "  reads   ");
    put_slot(p, l->slots[i]);
    ir_textf(p->out, ", in %u place%s\n", loads[l->slots[i]], loads[l->slots[i]] == 1 ? "" : "s");
  }
  ir_text_str(p->out, "  threads share a loop of ");
  ir_print_expr(p->g, l->count, p->out);
  ir_text_str(p->out, "; work about ");
  ir_print_expr(p->g, l->work, p->out);
  ir_text_str(p->out, " (bytes and operations)\n");
}

/* One step, without those inside it. */
static void put_step(void *user, size_t number, ir_text *out) {
  printer *p = user;
  p->out = p->explained.out = out;
  if (p->plan->steps[number].kind != IR_STEP_KERNEL) {
    fe_put_step(p->g, p->plan, number, put_slot, p, out);
    return;
  }
  put_kernel(p, number);
  if (p->options->why) fe_explain_kernel(&p->explained, number);
  if (p->options->why && p->options->more) p->options->more(p->options->more_user, &p->explained, number);
}

void fe_kernels_print(const fe_kernels *k, ir_graph *g, const ir_parsed_graph *block, const ir_plan *plan,
                      ir_text *out, const fe_dump_options *options) {
  unsigned temporaries = 0;
  size_t nodes = g->count, kernels = fe_kernel_number(plan, plan->step_count);
  printer p = {
      .k = k, .g = g, .block = block, .plan = plan, .stored = ir_alloc(k->mem, nodes), .options = options};
  if (!p.stored) {
    out->failed = true;
    return;
  }
  memset(p.stored, 0, nodes);
  for (size_t i = 0; i < plan->stored_count; i++) p.stored[plan->stored[i].node] = 1;
  for (size_t i = 0; i < plan->slot_count; i++) {
    temporaries += plan->slots[i].kind == IR_SLOT_TEMP;
    p.stored[plan->slots[i].value] = 1;
  }
  ir_textf(out, "graph @%s: %zu kernel%s, %u temporar%s\n", block->name, kernels, kernels == 1 ? "" : "s",
           temporaries, temporaries == 1 ? "y" : "ies");
  p.explained = (fe_explained){g, plan, k->values, p.stored, nodes, options->target, out};
  fe_put_steps(plan, put_step, &p, out);
  ir_free(k->mem, p.stored, nodes);
}
