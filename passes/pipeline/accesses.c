/* Which form the accesses of a kernel have: the one that is printed, and the one that loops are made of. */
#include "passes/domain/domain.h"

#include "passes/cost/cost.h"
#include "passes/index/index.h"
#include "passes/lower/lower.h"
#include "passes/pipeline/state.h"

/* The search takes up to half of the time of all passes: where nobody looks on it is made when it is needed.
 */
void pipeline_extract_accesses(pass_state *s) {
  s->folded = s->root;
  if (s->options->observer) s->root = pass_extract_kernel(s->g, s->root, &s->accesses);
}

/* Splits the domain of an effect by the rows up to pipeline_coalesce_rows; 0 after failing. */
static ir_ref split_domain(pass_state *s, ir_ref effect) {
  s->root = effect;
  for (size_t i = pipeline_find("crop"); s->root && pass_table[i].run != pipeline_coalesce_rows; i++) {
    pass_index_begin(s->g);
    if (pass_table[i].machines & s->strategy->steps) pass_table[i].run(s);
  }
  return s->root;
}

static bool divides(const pass_state *s, ir_ref effect) {
  return effect && ir_get(s->g, effect)->holds & IR_HOLDS_DIVISION;
}

/* Loops are made of the accesses as they were folded. Only where these divide in them, of what the cheapest
 * forms lead back to: that may divide less. Either is the same whether someone looks on or not. */
void pipeline_canonical(pass_state *s) {
  bool watched = s->options->observer != NULL;
  ir_ref extracted = s->root, folded = watched && s->folded ? pass_elementary(s->g, s->folded) : extracted;
  s->step->work = folded ? pass_work(s->g, folded) : 0;
  s->step->flops = folded ? pass_flops(s->g, folded) : 0;
  bool back = !s->folded || (watched && folded && divides(s, split_domain(s, folded)));
  s->root = back ? pass_canonical_kernel(s->g, extracted, &s->accesses) : folded;
}

/* The same behind the step before, where nobody looks on. */
static void canonical_of_divided(pass_state *s) {
  if (s->options->observer || !s->folded || !divides(s, s->root)) return;
  ir_ref split = s->root, found = pass_extract_kernel(s->g, s->folded, &s->accesses);
  if (found) found = pass_elementary(s->g, found);
  if (found) found = pass_canonical_kernel(s->g, found, &s->accesses);
  s->root = !found ? 0 : found == pass_elementary(s->g, s->folded) ? split : split_domain(s, found);
}

void pipeline_coalesce_rows(pass_state *s) {
  canonical_of_divided(s);
  if (s->root) s->root = pass_coalesce_rows(s->g, s->root, s->options->target);
}
