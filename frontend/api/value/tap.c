/* Values that are shown while a program runs. */
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/ops.h"

/* The graph computes the tap even where nobody needs its result. */
static bool note_pending(vf_graph *g, ir_ref tap) {
  fe_pending *p = &g->pending;
  if (g->is_session) return true;
  if (!IR_RESERVE(g->ir.mem, p->list, p->cap, p->count + 1)) return false;
  p->list[p->count++] = tap;
  return true;
}

static vf_value show(const char *who, vf_value x, const char *attribute, const char *text) {
  fe_call c;
  ir_ref made = 0;
  if (fe_begin(&c, who, &x, 1)) {
    ir_attr attr = {.name = attribute,
                    .name_length = strlen(attribute),
                    .kind = IR_ATTR_WORD,
                    .word = text,
                    .word_length = text ? strlen(text) : 0};
    if (!text) fe_refuse(&c, "the %s is NULL", attribute);
    else made = op_apply(c.ir, who, strlen(who), &x.id, 1, &attr, 1);
    if (made && !note_pending(c.graph, made)) made = 0;
  }
  return fe_end(&c, made);
}

vf_value vf_tap(vf_value x, const char *name) { return show("tap", x, "name", name); }
vf_value vf_print(vf_value x, const char *text) { return show("print", x, "text", text); }
