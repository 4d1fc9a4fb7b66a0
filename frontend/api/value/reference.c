/* References: arrays with a newest version, which the graph knows while it records. */
#include <stdio.h>
#include <string.h>

#include "frontend/api/value/updates.h"
#include "frontend/session/reference.h"
#include "passes/ops/ops.h"

size_t fe_reference_count(const vf_graph *g) {
  return g->is_session ? g->context->lazy.ref_count : g->reference_count;
}

ir_ref *fe_reference_newest(vf_graph *g, size_t number) {
  return g->is_session ? fe_session_newest(&g->context->lazy, (int)number) : &g->references[number].ref;
}

/* Where the newest version is noted; NULL after failing. */
static ir_ref *find(fe_call *c, vf_ref r) {
  vf_graph *g = c->graph;
  ir_ref *newest = NULL;
  if (r.number >= 0 && (size_t)r.number < fe_reference_count(g))
    newest = fe_reference_newest(g, (size_t)r.number);
  if (!newest && g->is_session && r.number >= 0)
    fe_refuse(c, "the reference has been released; a reference is read and written before vf_ref_release");
  else if (!newest)
    fe_refuse(c, "there is no such reference; a reference is what vf_ref_input, vf_ref_create or vf_ref_view "
                 "returned");
  return newest;
}

/* What is wrong with a target from before the session last realised. */
static bool is_current(fe_call *c, vf_ref r) {
  return r.target.epoch == r.target.graph->epoch ||
         fe_refuse(
             c, "the view of the reference gathers by elements, and is from before the session last realised "
                "a tensor; make it again with vf_ref_view");
}

/* Begin a call on a reference, with one operand or none. Returns as find does. */
static ir_ref *begin(fe_call *c, const char *who, vf_ref *r, const vf_value *operand) {
  fe_session_update_target(r);
  vf_graph *g = r->target.graph ? r->target.graph : operand ? operand->graph : NULL;
  if (!fe_begin_in(c, who, g)) return NULL;
  ir_ref *newest = r->target.graph ? find(c, *r) : NULL;
  if (newest && !is_current(c, *r)) return NULL;
  return fe_operands(c, (vf_value[]){r->target, operand ? *operand : r->target}, operand ? 2 : 1) ? newest
                                                                                                  : NULL;
}

vf_ref vf_ref_input(vf_graph *g, const char *name, vf_dtype dtype, int rank, const int64_t *shape) {
  vf_ref made = {{g, 0, 0}, -1, 0};
  vf_value input = (vf_input)(g, name, dtype, rank, shape);
  if (!vf_ok(input)) return made;
  ir_named *declared = &g->inputs[g->input_count - 1];
  declared->reference = true;
  if (!fe_graph_add(g, &g->references, &g->reference_count, &g->reference_cap, declared->name,
                    declared->length, declared->ref))
    return made;
  g->references[g->reference_count - 1].reference = true;
  made.target = (vf_address)(input);
  made.number = (int)g->reference_count - 1;
  return made;
}

vf_ref vf_ref_view(vf_ref r, vf_value target) {
  fe_call c;
  /* reading through it checks nothing that a write must have: vf_ref_update does */
  bool good = begin(&c, "ref_view", &r, &target) != NULL;
  if (good) ir_cause_withdraw(c.ir, c.statement); /* nothing is computed */
  c.statement = 0;
  r.target = fe_end(&c, good ? target.id : 0);
  r.view = good && c.graph->is_session ? fe_session_keep_target(c.graph->context, r.target.id) : 0;
  return r;
}

vf_value vf_ref_get(vf_ref r) {
  fe_call c;
  const ir_ref *newest = begin(&c, "ref_get", &r, NULL);
  ir_ref made = newest ? op_read(c.ir, r.target.id, *newest) : 0;
  if (made) c.given[0] = *newest; /* what is read, which can be told from it */
  return fe_end(&c, made);
}

/* Functions of control flow have newest versions of their own (updates.h), but for references that they make.
 */
static bool may_write(fe_call *c, vf_ref r) {
  const vf_graph *g = c->graph;
  if (g->recording && (size_t)r.number >= g->outer_references)
    return fe_refuse(c, "the reference was made inside of the function of a condition or a loop, which ends; "
                        "make it outside");
  return !g->recording_level ||
         fe_refuse(c, "a reference is not written inside of the function of a condition or a loop that vmap "
                      "records for a batch; pass its value to the function, return the next one and write "
                      "that");
}

/* The update with axes of 1 in front, as many as the target has axes. */
static ir_ref aligned_update(ir_graph *g, ir_ref u, ir_ref target) {
  while (u && ir_rank(g, u) < ir_rank(g, target)) u = op_unsqueeze(g, u, 0);
  return u;
}

/* A batch writes one array: its axes are axes of the target, and of the update, as if all elements of the
 * batch were written one after the other. */
static bool unbatch_target(fe_call *c, ir_ref *target, ir_ref *u) {
  ir_graph *g = c->ir;
  if (ir_batch(g, *u)) *u = aligned_update(g, *u, *target);
  for (uint32_t level = c->graph->level; level >= 1 && *target && *u; level--) {
    if (!(c->graph->levels >> (level - 1) & 1)) continue;
    ir_ref size = c->graph->level_sizes[level];
    uint32_t lead = ir_batch_rank(g, *target);
    bool mapped = lead >= level && ir_src(g, ir_batch(g, *target), lead - level) == size;
    if (!mapped && !op_is_one(g, size)) /* a batch of one element is left out */
      return fe_refuse(c, "the elements of a batch would all write the same positions of the reference; give "
                          "vmap its positions (target), and write the view that the mapped ones make");
    *target = op_unbatch(g, *target, size, 0, level);
    if (ir_batch(g, *u)) *u = op_unbatch(g, *u, size, 0, level);
  }
  return *target && *u;
}

/* What messages of assign call x is the reference, and its positions are the target. */
static void say_reference(ir_error *error) {
  static const char *const words[][2] = {
      {"; x has shape ", "; the reference has shape "},
      {"a target is a chain of views of the positions of x: address %x, then views of that",
       "a target is r.target, or views of it, as in vf_ref_view(r, vf_flip(r.target, VF_LIST(0)))"},
  };
  char text[sizeof error->text];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char *at = strstr(error->text, words[i][0]);
    if (!at) continue;
    snprintf(text, sizeof text, "%s%s", words[i][1], at + strlen(words[i][0]));
    snprintf(at, sizeof error->text - (size_t)(at - error->text), "%s", text);
  }
}

/* The input that the reference is of, whose name messages say. */
static ir_ref find_input(const vf_graph *g, vf_ref r) {
  for (size_t i = 0; i < g->input_count; i++)
    if (g->inputs[i].name == g->references[r.number].name) return g->inputs[i].ref;
  return r.target.id;
}

static vf_value update(const char *who, vf_ref r, vf_value u, vf_write_op op) {
  fe_call c;
  ir_ref made = 0, *newest = begin(&c, who, &r, &u);
  if (newest && may_write(&c, r) &&
      ((unsigned)op < OP_WRITE_COUNT ||
       fe_refuse(&c, "there is no operation %d; takes one of vf_write_op, such as VF_WRITE_ADD", (int)op)))
    if (unbatch_target(&c, &r.target.id, &u.id))
      made = op_assign(c.ir, *newest, r.target.id, u.id, (op_write)op);
  if (made && ir_batch(c.ir, made) != ir_batch(c.ir, *newest)) {
    fe_refuse(&c, "the value has batch axes that the reference lacks; sum or unbatch it first");
    made = 0;
  }
  if (made) *newest = made;
  else if (newest && !c.failed_before) {
    op_rename_error(&c.graph->error, who);
    say_reference(&c.graph->error);
    if (!c.graph->is_session && c.graph->references[r.number].name) c.given[0] = find_input(c.graph, r);
  }
  return fe_end(&c, made);
}

vf_value vf_ref_update(vf_ref r, vf_value u, vf_write_op op) { return update("ref_update", r, u, op); }
vf_value vf_ref_set(vf_ref r, vf_value u) { return update("ref_set", r, u, VF_WRITE_SET); }
