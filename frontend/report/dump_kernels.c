#include "frontend/report/dump_kernels.h"

#include <stdio.h>
#include <string.h>

#include "frontend/report/dump_blocks.h"
#include "frontend/report/dump_steps.h"
#include "frontend/report/explain_kernels.h"
#include "frontend/report/explain_walk.h"
#include "passes/schedule/run_once.h"

static bool note_schedule(fe_kernels *k, const ir_plan *plan) {
  k->steps = plan->step_count;
  k->values = ir_alloc(k->mem, k->steps * sizeof *k->values);
  k->first = ir_alloc(k->mem, k->steps * sizeof *k->first);
  if (!k->values || !k->first) {
    fe_kernels_free(k);
    return false;
  }
  for (size_t i = 0; i < k->steps; i++) k->values[i] = plan->steps[i].kernel;
  return true;
}

static bool note_fold(fe_kernels *k, const ir_graph *g, const ir_step *step, size_t number, ir_ref root) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0, slots = step->slot_count, first = k->load_count;
  bool ok = IR_RESERVE(k->mem, k->loads, k->load_cap, first + slots + 1) &&
            ir_reachable(g, &root, 1, &live, &count, &cap) == IR_OK;
  if (ok) {
    memset(k->loads + first, 0, slots * sizeof *k->loads);
    k->first[number] = first;
    k->load_count = first + slots;
  }
  for (size_t i = 0; i < count && ok; i++) {
    if (ir_op_of(g, live[i]) != IR_OP_LOAD) continue;
    int64_t param = ir_arg_int(ir_get(g, ir_src(g, live[i], 0)));
    if (param >= 0 && (size_t)param < slots) k->loads[first + (size_t)param]++;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return ok;
}

bool fe_kernels_note(fe_kernels *k, const char *pass, const ir_graph *g, const ir_plan *plan, ir_ref root,
                     int kernel) {
  if (!fe_accesses_note(&k->accesses, pass, g, plan, root, kernel)) return false;
  if (strcmp(pass, "alternatives") == 0) return note_schedule(k, plan);
  if (strcmp(pass, "fold") != 0 || (size_t)kernel >= k->steps) return true;
  return note_fold(k, g, &plan->steps[kernel], (size_t)kernel, root);
}

bool fe_kernels_settle(fe_kernels *k, const ir_plan *plan) {
  size_t steps = plan->step_count, before = k->steps;
  ir_ref *values = ir_alloc(k->mem, steps * sizeof *values);
  size_t *first = ir_alloc(k->mem, steps * sizeof *first), *now = ir_alloc(k->mem, before * sizeof *now);
  bool good = (values && first && now) || !steps;
  for (size_t i = 0; i < steps && good; i++) {
    const ir_step *s = &plan->steps[i];
    values[i] = k->values[s->made_as];
    first[i] = k->first[s->made_as];
    if (s->kind != IR_STEP_WAIT) now[s->made_as] = i;
  }
  if (good) {
    fe_accesses_renumber(&k->accesses, now);
    ir_free(k->mem, k->values, before * sizeof *k->values);
    ir_free(k->mem, k->first, before * sizeof *k->first);
    k->values = values, k->first = first, k->steps = steps;
  } else {
    ir_free(k->mem, values, steps * sizeof *values);
    ir_free(k->mem, first, steps * sizeof *first);
  }
  ir_free(k->mem, now, before * sizeof *now);
  return good;
}

void fe_kernels_free(fe_kernels *k) {
  ir_free(k->mem, k->values, k->steps * sizeof *k->values);
  ir_free(k->mem, k->loads, k->load_cap * sizeof *k->loads);
  ir_free(k->mem, k->first, k->steps * sizeof *k->first);
  fe_accesses_free(&k->accesses, k->mem);
  fe_kernel_statements_close(&k->statements);
  *k = (fe_kernels){.mem = k->mem};
}

/* printing */

typedef struct printer {
  const fe_kernels *k;
  ir_graph *g, *home;
  const ir_parsed_graph *block;
  const ir_plan *plan;
  ir_text *out;
  fe_walk walk;
  uint32_t *places; /* by slot: its index among the slots of its kind; of an output, the first result in it */
  size_t *numbers;  /* by step: how many kernels come before */
  bool *once;       /* by step: the kernel runs once */
  const fe_dump_options *options;
  fe_explained explained;
} printer;

/* An intermediate: "%h " where a statement names it, "temporary 2 of %y " of a part of a named value. */
static void put_temporary(printer *p, uint32_t number, ir_ref value) {
  const fe_statements *s = p->options->statements;
  const char *name = s ? fe_statements_name_of(s, p->g, value) : NULL;
  uint32_t part_of = s && !name ? fe_statements_of(p->g, value) : 0;
  if (name) {
    ir_textf(p->out, "%%%s ", name);
    return;
  }
  ir_textf(p->out, "temporary %u ", number);
  const char *whole = part_of ? fe_statements_name_of_result(s, part_of) : NULL;
  if (whole) ir_textf(p->out, "of %%%s ", whole);
}

/* `%x f32[3,2]` */
static void put_slot(void *user, uint32_t slot) {
  printer *p = user;
  const ir_slot *s = &p->plan->slots[slot];
  const ir_node *n = ir_get(p->g, s->value);
  unsigned place = p->places[slot];
  switch (s->kind) {
  case IR_SLOT_INPUT:
    ir_textf(p->out, "%%%s ", n->op == IR_OP_INPUT ? ir_name_text(p->g, n->arg) : "buffer");
    break;
  case IR_SLOT_OUTPUT:
    ir_textf(p->out, "%%%s ", place < p->block->result_count ? p->block->results[place].name : "?");
    break;
  case IR_SLOT_TEMP: put_temporary(p, place, s->value); break;
  case IR_SLOT_DATA: ir_textf(p->out, "data %u ", place); break;
  case IR_SLOT_ALIAS: ir_textf(p->out, "moving %u ", place); break;
  case IR_SLOT_RESOURCE: ir_textf(p->out, "resource %u ", place); break;
  case IR_SLOT_KINDS: break;
  }
  ir_print_type(p->g, s->value, p->out);
}

/* Print the operations that are fused into a kernel; consecutive equal ones are counted. */
static void put_fused(printer *p, const ir_step *step, ir_ref value) {
  ir_graph *g = p->g;
  fe_refs fused = {0};
  bool any = false;
  if (!fe_walk_fused(&p->walk, step, value, false, &fused)) p->out->failed = true;
  ir_text_str(p->out, "  fuses  ");
  for (size_t i = 0, same; i < fused.count; i += same, any = true) {
    const char *name = ir_ops[ir_op_of(g, fused.list[i])].text;
    for (same = 1;
         i + same < fused.count && strcmp(ir_ops[ir_op_of(g, fused.list[i + same])].text, name) == 0;)
      same++;
    if (same > 1) ir_textf(p->out, " %s x%zu", name, same);
    else ir_textf(p->out, " %s", name);
  }
  ir_text_str(p->out, any                                 ? "\n"
                      : ir_op_of(g, value) == IR_OP_CONST ? " nothing: a constant\n"
                                                          : " nothing: a copy\n");
  fe_refs_free(&p->walk, &fused);
}

/* The statements that the step is for. */
static void put_statements(printer *p, size_t number) {
  const fe_statements *s = p->options->statements;
  ir_cause_items items = {0};
  uint32_t last = 0;
  const char *before = "  for     ";
  if (!s) return;
  if (!fe_step_statements(&p->k->statements, &p->walk, p->plan, number, p->k->values[number], &items))
    p->out->failed = true;
  for (size_t i = 0; i < items.count; i++) {
    uint32_t asked = fe_statements_whole(s, items.list[i].statement);
    if (asked == last && !items.list[i].by) continue;
    ir_text_str(p->out, before);
    if (items.list[i].by) ir_text_str(p->out, "the derivative of ");
    fe_put_statement(s, p->home, asked, p->out);
    ir_text_str(p->out, "\n");
    before = "          ";
    last = asked;
  }
  ir_cause_items_free(p->k->mem, &items);
}

/* "%h, %y (lines 2-5)", of the statements that the kernel is for. */
static void set_brief(printer *p, size_t number) {
  enum { NAMES = 4 };
  const fe_statements *s = p->options->statements;
  ir_cause_items items = {0};
  char *out = p->explained.brief;
  size_t room = sizeof p->explained.brief, at = 0;
  uint32_t first = 0, last = 0;
  *out = '\0';
  if (!s || !fe_step_statements(&p->k->statements, &p->walk, p->plan, number, p->k->values[number], &items))
    items.count = 0;
  for (size_t i = 0; i < items.count && at < room; i++) {
    const char *name = fe_statements_name_of_result(s, items.list[i].statement);
    uint32_t line = fe_statements_line(s, items.list[i].statement);
    if (line && (!first || line < first)) first = line;
    if (line > last) last = line;
    const char *mark = items.list[i].by ? "d" : ""; /* of a derivative */
    int shown = items.count > 2 ? 24 : 45;          /* bytes of a name, so that four have room */
    ir_text words;
    ir_text_init(&words, p->out->mem);
    if (i < NAMES && !name && !line) fe_put_statement(s, p->home, items.list[i].statement, &words);
    if (i < NAMES && words.len)
      at += (size_t)snprintf(out + at, room - at, "%s%s%.60s", i ? ", " : "", mark, ir_text_get(&words));
    else if (i < NAMES && name)
      at += (size_t)snprintf(out + at, room - at, "%s%s%%%.*s", i ? ", " : "", mark, shown, name);
    else if (i == NAMES) at += (size_t)snprintf(out + at, room - at, ", ...");
    ir_text_free(&words);
  }
  if (first && at < room && first == last) snprintf(out + at, room - at, "%s(line %u)", at ? " " : "", first);
  else if (first && at < room) snprintf(out + at, room - at, "%s(lines %u-%u)", at ? " " : "", first, last);
  ir_cause_items_free(p->k->mem, &items);
}

static void put_kernel(printer *p, size_t number) {
  const ir_step *l = &p->plan->steps[number];
  const uint32_t *loads = p->k->loads + p->k->first[number];
  ir_textf(p->out, "kernel %zu -> ", p->numbers[number]);
  uint32_t outputs = ir_written_slots(l);
  for (uint32_t i = 0; i < outputs; i++) {
    if (i) ir_text_str(p->out, ", ");
    put_slot(p, l->slots[i]);
  }
  ir_text_str(p->out, "\n");
  put_statements(p, number);
  if (p->once[number])
    ir_text_str(p->out,
                "  once    when the program is made: it reads constants alone, and its result is kept\n");
  put_fused(p, l, p->k->values[number]);
  for (uint32_t i = outputs; i < l->slot_count; i++) {
    ir_text_str(p->out, "  reads   ");
    put_slot(p, l->slots[i]);
    ir_textf(p->out, ", in %u place%s\n", loads[i], loads[i] == 1 ? "" : "s");
  }
  ir_text_str(p->out, "  threads share a loop of ");
  ir_print_expr(p->g, l->count, p->out);
  ir_text_str(p->out, "; work about ");
  ir_print_expr(p->g, l->work, p->out);
  ir_text_str(p->out, " (bytes and operations)\n");
  fe_put_blocks(p->g, p->plan, number, put_slot, p, p->out);
}

/* Print one step, without the steps inside it. */
static void put_step(void *user, size_t number, ir_text *out) {
  printer *p = user;
  p->out = p->explained.out = out;
  if (p->plan->steps[number].kind != IR_STEP_KERNEL) {
    fe_put_step(p->g, p->plan, number, put_slot, p, out);
    put_statements(p, number);
    return;
  }
  put_kernel(p, number);
  if (p->options->why) set_brief(p, number), p->explained.kernel = p->numbers[number];
  if (p->options->why) fe_explain_kernel(&p->explained, number);
  if (p->options->why && p->options->explain_callback)
    p->options->explain_callback(p->options->explain_user, &p->explained, number);
}

/* Print the kernel of this number alone, outside of what it is in; each is explained for the callback. */
static void put_only(printer *p, size_t only, ir_text *out) {
  for (size_t i = 0; i < p->plan->step_count && !out->failed; i++) {
    if (p->plan->steps[i].kind != IR_STEP_KERNEL) continue;
    ir_text kernel;
    ir_text_init(&kernel, p->k->mem);
    put_step(p, i, &kernel);
    if (p->numbers[i] == only) ir_textf(out, "\n%s", ir_text_get(&kernel));
    out->failed |= kernel.failed;
    ir_text_free(&kernel);
  }
}

/* Fill the tables by slot and by step. */
static bool open_printer(printer *p) {
  const ir_plan *plan = p->plan;
  size_t slots = plan->slot_count;
  uint32_t kinds[IR_SLOT_KINDS] = {0};
  p->places = ir_alloc(p->k->mem, (slots + 1) * sizeof *p->places);
  p->numbers = ir_alloc(p->k->mem, (plan->step_count + 1) * sizeof *p->numbers);
  p->once = ir_alloc(p->k->mem, plan->step_count + 1);
  if (!fe_walk_open(&p->walk, p->g, plan) || !p->places || !p->numbers || !p->once) return false;
  memset(p->once, 0, plan->step_count + 1);
  if (p->options->target->hoists && !schedule_find_run_once(p->g, plan, p->once)) return false;
  for (size_t i = 0; i < slots; i++) {
    p->places[i] = kinds[plan->slots[i].kind]++;
    if (plan->slots[i].kind == IR_SLOT_OUTPUT) p->places[i] = UINT32_MAX;
  }
  for (size_t i = plan->result_count; i-- > 0;)
    if (plan->slots[plan->results[i]].kind == IR_SLOT_OUTPUT) p->places[plan->results[i]] = (uint32_t)i;
  p->numbers[0] = 0;
  for (size_t i = 0; i < plan->step_count; i++)
    p->numbers[i + 1] = p->numbers[i] + (plan->steps[i].kind == IR_STEP_KERNEL);
  return true;
}

void fe_kernels_print(const fe_kernels *k, ir_graph *g, ir_graph *home, const ir_parsed_graph *block,
                      const ir_plan *plan, ir_text *out, const fe_dump_options *options) {
  unsigned temporaries = 0, once = 0;
  printer p = {.k = k, .g = g, .home = home, .block = block, .plan = plan, .options = options};
  if (open_printer(&p)) {
    size_t kernels = p.numbers[plan->step_count];
    for (size_t i = 0; i < plan->slot_count; i++) temporaries += plan->slots[i].kind == IR_SLOT_TEMP;
    for (size_t i = 0; i < plan->step_count; i++) once += p.once[i];
    ir_textf(out, "graph @%s: %zu kernel%s, %u temporar%s", block->name, kernels, kernels == 1 ? "" : "s",
             temporaries, temporaries == 1 ? "y" : "ies");
    if (once) ir_textf(out, "; %u of the kernels run once, when the program is made", once);
    ir_text_str(out, "\n");
    p.explained = (fe_explained){.g = g,
                                 .plan = plan,
                                 .values = k->values,
                                 .walk = &p.walk,
                                 .target = options->target,
                                 .module = options->module,
                                 .code = options->code,
                                 .out = out,
                                 .once = p.once};
    if (options->why && (!options->only || *options->only == FE_NO_KERNEL))
      fe_explain_references(&(fe_writes){&k->accesses, g, block, plan, k->values, p.numbers, out});
    if (options->only) put_only(&p, *options->only, out);
    else fe_put_steps(plan, put_step, &p, out);
  } else {
    out->failed = true;
  }
  fe_walk_close(&p.walk);
  ir_free(k->mem, p.places, (plan->slot_count + 1) * sizeof *p.places);
  ir_free(k->mem, p.numbers, (plan->step_count + 1) * sizeof *p.numbers);
  ir_free(k->mem, p.once, plan->step_count + 1);
}
