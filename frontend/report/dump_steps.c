#include "frontend/report/dump_steps.h"

#include <string.h>

static const char *const functions[IR_STEP_KINDS][2] = {
    [IR_STEP_COND] = {"then", "else"}, [IR_STEP_WHILE] = {"while", "do"}, [IR_STEP_SCAN] = {"do", ""}};

size_t fe_kernel_number(const ir_plan *plan, size_t step) {
  size_t count = 0;
  for (size_t i = 0; i < step; i++) count += plan->steps[i].kind == IR_STEP_KERNEL;
  return count;
}

/* One step */

typedef struct printer {
  const ir_graph *g;
  const ir_plan *plan;
  void (*put_slot)(void *user, uint32_t slot);
  void *user;
  ir_text *out;
} printer;

static void put_slots(const printer *p, const char *before, const uint32_t *slots, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    ir_text_str(p->out, i ? ", " : before);
    p->put_slot(p->user, slots[i]);
  }
}

static void put_loop(const printer *p, const ir_step *s) {
  int64_t most;
  const uint32_t *slots = s->slots;
  if (s->kind == IR_STEP_WHILE) {
    put_slots(p, "while ", slots++, 1);
    bool known = ir_is_const(p->g, s->count, &most), endless = known && most < 0;
    ir_text_str(p->out, endless ? ", any trip count" : ", trip count at most ");
    if (!endless) ir_print_expr(p->g, s->count, p->out);
  } else {
    ir_text_str(p->out, s->reverse ? "scan from the last slice, trip count " : "scan, trip count ");
    ir_print_expr(p->g, s->count, p->out);
  }
  ir_text_str(p->out, "\n");
  for (uint32_t k = 0; k < s->carries; k++, slots += 5) {
    put_slots(p, "  carries ", slots + 1, 1);
    put_slots(p, " from ", slots, 1);
    put_slots(p, " to ", slots + 3, 1);
    if (slots[4] == slots[3]) {
      ir_text_str(p->out, ", in place\n");
      continue;
    }
    put_slots(p, ", written to ", slots + 2, 1);
    put_slots(p, ", alternating with ", slots + 4, 1);
    ir_text_str(p->out, "\n");
  }
  for (; slots < s->slots + s->slot_count; slots += 2) {
    put_slots(p, "  moves   ", slots + 1, 1);
    put_slots(p, " along ", slots, 1);
    ir_text_str(p->out, "\n");
  }
}

void fe_put_step(const ir_graph *g, const ir_plan *plan, size_t number,
                 void (*put_slot)(void *user, uint32_t slot), void *user, ir_text *out) {
  const ir_step *s = &plan->steps[number];
  printer p = {g, plan, put_slot, user, out};
  switch (s->kind) {
  case IR_STEP_COPY:
    put_slots(&p, "copy -> ", s->slots, 1);
    put_slots(&p, "\n  reads   ", s->slots + 1, 1);
    break;
  case IR_STEP_COND:
    put_slots(&p, "cond of ", s->slots, 1);
    put_slots(&p, "\n  writes  ", s->slots + 1, s->slot_count - 1);
    break;
  case IR_STEP_WHILE:
  case IR_STEP_SCAN: put_loop(&p, s); return;
  case IR_STEP_CALL:
    ir_textf(out, "call %s", s->name < 0 ? "?" : ir_name_text(g, s->name));
    put_slots(&p, "\n  writes  ", s->slots, s->carries);
    put_slots(&p, "\n  reads   ", s->slots + s->carries, s->slot_count - s->carries);
    break;
  case IR_STEP_SORT:
  case IR_STEP_ARGSORT:
    ir_textf(out, "%s axis %u%s", ir_step_names[s->kind], s->axis, s->reverse ? " descending" : "");
    if (s->count != ir_dim(g, plan->slots[s->slots[0]].value, s->axis)) {
      ir_text_str(out, ", the first ");
      ir_print_expr(g, s->count, out);
    }
    put_slots(&p, " -> ", s->slots, 1);
    put_slots(&p, "\n  reads   ", s->slots + 1, 1);
    break;
  case IR_STEP_EXCHANGE:
    ir_textf(out, "exchange %s", ir_name_text(g, ir_get(g, s->kernel)->arg));
    put_slots(&p, " -> ", s->slots, 1);
    put_slots(&p, "\n  reads   ", s->slots + 1, 1);
    break;
  case IR_STEP_WAIT:
    ir_textf(out, "wait for exchange %s", ir_name_text(g, ir_get(g, s->kernel)->arg));
    put_slots(&p, " -> ", s->slots, 1);
    break;
  case IR_STEP_KERNEL:
  case IR_STEP_KINDS: break;
  }
  ir_text_str(out, "\n");
}

/* All steps */

static void put_indented(const ir_text *block, unsigned depth, ir_text *out) {
  const char *line = ir_text_get(block), *end;
  for (; *line; line = end) {
    end = strchr(line, '\n');
    end = end ? end + 1 : line + strlen(line);
    for (unsigned i = 0; i < depth; i++) ir_text_str(out, "    ");
    ir_text_add(out, line, (size_t)(end - line));
  }
}

/* Recursive: functions nest at most IR_MAX_DEPTH deep. */
static void put_range(const ir_plan *plan, size_t first, size_t end, unsigned depth,
                      void (*put)(void *user, size_t step, ir_text *out), void *user, ir_text *out) {
  for (size_t i = first; i < end && !out->failed;) {
    const ir_step *s = &plan->steps[i];
    ir_text block;
    ir_text_init(&block, plan->mem);
    put(user, i++, &block);
    out->failed |= block.failed;
    ir_text_str(out, "\n");
    put_indented(&block, depth, out);
    ir_text_free(&block);
    for (int f = 0; f < 2; i += s->function_steps[f++]) {
      if (!functions[s->kind][f] || !functions[s->kind][f][0]) continue;
      for (unsigned k = 0; k < depth; k++) ir_text_str(out, "    ");
      ir_textf(out, "  %s%s\n", functions[s->kind][f], s->function_steps[f] ? "" : ": nothing");
      put_range(plan, i, i + s->function_steps[f], depth + 1, put, user, out);
    }
  }
}

void fe_put_steps(const ir_plan *plan, void (*put)(void *user, size_t step, ir_text *out), void *user,
                  ir_text *out) {
  put_range(plan, 0, plan->step_count, 0, put, user, out);
}

void fe_put_place(const ir_plan *plan, size_t step, ir_text *out) {
  const char *between = "# in ";
  for (size_t i = 0; i < step;) {
    const ir_step *s = &plan->steps[i];
    size_t second = i + 1 + s->function_steps[0], end = second + s->function_steps[1];
    if (step >= end) {
      i = end;
      continue;
    }
    ir_textf(out, "%s%s: %s", between, ir_step_names[s->kind], functions[s->kind][step >= second]);
    between = ", in ";
    i = step >= second ? second : i + 1;
  }
  if (*between == ',') ir_text_str(out, "\n");
}
