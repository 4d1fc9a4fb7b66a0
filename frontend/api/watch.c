#include "frontend/api/watch.h"

static bool note_rewrite(void *user, ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                         uint32_t nsrc, ir_ref result) {
  fe_watch *w = user;
  bool numbers = true; /* constant folding is not counted: it computes sizes */
  for (uint32_t i = 0; i < nsrc; i++) numbers = numbers && ir_op_of(g, src[i]) == IR_OP_CONST;
  if (numbers) return true;
  uint64_t number = atomic_fetch_add_explicit(&w->count, 1, memory_order_relaxed) + 1;
  if (number > w->limit) return false;
  if (w->tell) w->tell(&(fe_rewrite){number, g, rule, given, op, src, nsrc, result});
  return true;
}

void fe_watch_init(fe_watch *w, const fe_debug *debug) {
  *w = (fe_watch){.observer = {w, note_rewrite, true}, .limit = debug->limit, .bisects = debug->bisects};
  atomic_init(&w->count, 0);
}

const ir_observer *fe_watch_observer(const fe_watch *w) {
  return w->bisects || w->tell ? &w->observer : NULL;
}

/* Print the left side from its operation and sources. No node is made for it: a new node would change the
 * order of nodes. */
static void print_before(const fe_rewrite *r, ir_text *out) {
  const ir_op_info *info = &ir_ops[r->op];
  bool infix = *info->infix && r->nsrc > 1;
  if (!infix) ir_text_str(out, *info->infix ? info->infix : info->text);
  ir_text_str(out, "(");
  for (uint32_t i = 0; i < r->nsrc; i++) {
    if (i) ir_text_str(out, infix ? info->infix : ", ");
    ir_print_expr(r->graph, r->src[i], out);
  }
  ir_text_str(out, ")");
}

void fe_watch_print(const fe_rewrite *r, ir_text *out) {
  print_before(r, out);
  ir_text_str(out, " => ");
  ir_print_expr(r->graph, r->result, out);
  if (!r->given) return;
  ir_text_str(out, " given ");
  ir_print_expr(r->graph, r->given, out);
}
