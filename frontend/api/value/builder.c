/* The folder frontend/api/value. Builders of values.
 *
 *   in      values of one graph, and arguments in C
 *   out     a value, or the graph's error
 *   holds   each does what the builder of passes/ops/ does, and names the caller's function in messages */

/* One call of a builder: check the operands, note a failure in the graph, return the result as a value. */
#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"

bool fe_refuse(fe_call *c, const char *format, ...) {
  if (!c->graph || c->graph->error.status) return false;
  char text[sizeof c->graph->error.text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ir_fail(&c->graph->error, IR_ERR_INVALID, "%s: %.900s", c->who, text);
  return false;
}

/* What a builder without a graph to note its failure in was given: the epoch of the value that it returns. */
enum { GIVEN_NONE = 1, GIVEN_DESTROYED, GIVEN_OTHER, GIVEN_NOTHING = FE_GIVEN_NOTHING };

static const char *homeless(uint32_t epoch) {
  return epoch == GIVEN_NONE ? "; the builder that returned it was given no value of a graph"
         : epoch == GIVEN_DESTROYED
             ? "; the builder that returned it was given a value of a graph that is destroyed"
         : epoch == GIVEN_NOTHING ? "; vf_concat or vf_stack was given no values: takes 1 or more"
         : epoch == GIVEN_OTHER   ? "; the builder that returned it was given a value of what is no graph"
                                  : "";
}

bool fe_begin_in(fe_call *c, const char *who, vf_graph *graph) {
  const char *wrong = fe_not(graph, FE_GRAPH);
  *c = (fe_call){.graph = wrong ? NULL : graph, .who = who};
  if (wrong) {
    c->number = !graph ? GIVEN_NONE : strcmp(wrong, "destroyed") == 0 ? GIVEN_DESTROYED : GIVEN_OTHER;
    const vf_context *context = (const void *)graph;
    if (!fe_not(context, FE_CONTEXT))
      ir_say(&context->log, IR_LOG_WARNING, "%s: the graph is a context; takes what vf_graph_create returned",
             who);
    return false;
  }
  c->ir = &graph->ir;
  c->failures = fe_failures(graph->context);
  c->failed_before = graph->error.status != IR_OK;
  c->number = ++graph->calls;
  c->statement = ir_cause_next(c->ir);
  graph->error_placeable = false;
  return !c->failed_before;
}

void fe_resume(fe_call *c) { ir_cause_resume(c->ir, c->statement); }

/* How what another graph has comes into a graph. */
static const char *bring_in(const vf_graph *from, const vf_graph *to) {
  if (from->is_session)
    return "a tensor comes in as an input: an argument of vf_jit_call, or vf_input, and vf_tensor_data when "
           "it runs";
  if (to->is_session)
    return "a tensor of the session is made of what a program has written: vf_tensor_create";
  return "what another graph computes comes in as an input, vf_input, whose elements that graph's program "
         "writes";
}

/* Apart, so that checking values saves no registers for it. */
__attribute__((noinline)) static bool refuse_value(fe_call *c, const char *what, size_t number, vf_value x) {
  if (!x.graph)
    return fe_refuse(
        c, "%s %zu is no value; a value is what a builder returned, one that was given operands of a graph%s",
        what, number, homeless(x.epoch));
  if (x.graph != c->graph)
    return fe_refuse(c, "%s %zu belongs to graph @%.60s, others to @%.60s; %ss belong to one graph; %s", what,
                     number, x.graph->name, c->graph->name, what, bring_in(x.graph, c->graph));
  if (!x.id && x.epoch == FE_NOT_FOUND)
    return fe_refuse(c, "%s %zu is %s", what, number, fe_graph_missed(x.graph, (char[400]){0}, 400));
  if (x.epoch != c->graph->epoch && !c->graph->is_session)
    return fe_refuse(
        c, "%s %zu is no value that a builder of @%.60s returned; is the variable set before it is used?",
        what, number, c->graph->name);
  if (x.epoch != c->graph->epoch)
    return fe_refuse(
        c,
        "%s %zu is a value from before the session last realised a tensor; get it again with vf_tensor_value",
        what, number);
  if (x.id == 0 || x.id >= c->ir->count)
    return fe_refuse(c, "%s %zu is the error value of a failure that was cleared", what, number);
  return fe_refuse(c,
                   "%s %zu is a value of the function of a vf_vmap, which has ended, where another is being "
                   "recorded; it is one value for each index there: make it a result of that function, and "
                   "use the result of vf_vmap",
                   what, number);
}

static inline bool is_value(fe_call *c, const char *what, size_t number, const vf_value *x) {
  bool good =
      x->graph && x->graph == c->graph && x->epoch == c->graph->epoch && x->id && x->id < c->ir->count;
  if (!good || (c->ir->batches_cap && fe_vmap_has_ended(c->graph, x->id)))
    return refuse_value(c, what, number, *x);
  if (c->given_count++ < FE_FEW_GIVEN) c->given[c->given_count - 1] = x->id;
  return true;
}

bool fe_is_value(fe_call *c, const char *what, size_t number, vf_value x) {
  return is_value(c, what, number, &x);
}

bool fe_operands(fe_call *c, const vf_value *x, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!is_value(c, "operand", i + 1, &x[i])) return false;
  return true;
}

bool fe_begin(fe_call *c, const char *who, const vf_value *x, size_t count) {
  vf_graph *graph = NULL;
  for (size_t i = 0; i < count && !graph; i++) graph = x[i].graph;
  return fe_begin_in(c, who, graph) && fe_operands(c, x, count);
}

/* Say behind the reason which call it was, and what it was called with: " (call 7: matmul %x, f32[2,3])". */
static void say_call(const fe_call *c) {
  vf_graph *g = c->graph;
  char *text = g->error.text;
  size_t at = strlen(text), room = sizeof g->error.text;
  fe_words word;
  at += (size_t)snprintf(text + at, room - at, " (call %u: %.48s", c->number, c->who);
  for (uint32_t i = 0; i < c->given_count && i < FE_FEW_GIVEN && at < room; i++)
    at += (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : " ",
                           fe_words_value(&g->statements, c->ir, c->given[i], &word));
  if (at < room)
    at += (size_t)snprintf(text + at, room - at, "%s)", c->given_count > FE_FEW_GIVEN ? ", ..." : "");
  g->said_call = true;
  g->error_placeable = at < room;
}

void vf_call_place(vf_graph *g, const char *file, int line) {
  if (!file || fe_not(g, FE_GRAPH)) return;
  if (!g->error.status) fe_statements_place(&g->statements, &g->ir, g->ended, file, line);
  if (!g->error_placeable) return;
  size_t at = strlen(g->error.text) - 1; /* of the parenthesis that say_call has written */
  snprintf(g->error.text + at, sizeof g->error.text - at, ", at %.200s:%d)", file, line);
  g->error_placeable = false;
}

static bool is_current(vf_value x) {
  return fe_is(x.graph, FE_GRAPH) && x.epoch == x.graph->epoch && x.id && x.id < x.graph->ir.count;
}

/* Apart, so that vf_at saves no registers for it. */
__attribute__((noinline)) static vf_value place_slowly(vf_value x, const char *file, int line) {
  uint32_t ended = x.id && file ? x.graph->ended : 0;
  if (ended) fe_statements_place_any(&x.graph->statements, &x.graph->ir, ended, file, line);
  else if (!x.id || !file) vf_call_place(x.graph, file, line);
  return x;
}

vf_value vf_at(vf_value x, const char *file, int line) {
  return x.id && file &&
                 (fe_statements_place_known(&x.graph->statements, x.graph->ended, file, line) ||
                  fe_statements_place_again(&x.graph->statements, &x.graph->ir, x.graph->ended, file, line))
             ? x
             : place_slowly(x, file, line);
}

vf_value vf_name(vf_value x, const char *name) {
  if (is_current(x) && name && *name) fe_statements_name(&x.graph->statements, &x.graph->ir, x.id, name);
  return x;
}

/* Has an operand batch axes that neither this level nor the caller has added? The result has them from there.
 */
static bool has_batch_of_others(const fe_call *c) {
  const vf_graph *g = c->graph;
  for (uint32_t i = 0; i < c->given_count && i < FE_FEW_GIVEN; i++)
    if (fe_graph_has_other_batch(g, c->given[i])) return true;
  return false;
}

vf_value fe_end(fe_call *c, ir_ref made) {
  if (!c->graph) return (vf_value){.epoch = c->number};
  vf_graph *g = c->graph;
  if (!made && !g->error.status && fe_failures(g->context) == c->failures)
    ir_fail(&g->error, IR_ERR_INTERNAL, "%s: recording failed without a reason", c->who);
  if (!made && !g->error.status) ir_fail(&g->error, IR_ERR_MEMORY, "%s: out of memory", c->who);
  if (!c->failed_before) fe_report_as_memory(g->context, c->failures, &g->error);
  if (g->error.status && !ir_gives_up(g->error.status) && !c->failed_before && !g->said_call) say_call(c);
  g->ended = fe_statements_end(&g->statements, c->ir, c->statement, c->who, made, c->given, c->given_count);
  if (g->ir.batches_cap && !has_batch_of_others(c)) fe_graph_note_batch(g, made);
  return g->error.status ? (vf_value){g, 0, g->epoch} : fe_vmap_value(g, made);
}

int fe_end_all(fe_call *c, ir_ref made, int room, vf_value *results) {
  if (room > 0 && !results) made = (ir_ref)fe_refuse(c, "the array for %d results is NULL", room);
  vf_value all = fe_end(c, made);
  bool tuple = all.id && ir_op_of(c->ir, all.id) == IR_OP_TUPLE;
  int count = !all.id ? -1 : tuple ? (int)ir_get(c->ir, all.id)->nsrc : 1;
  for (int i = 0; i < room && results; i++) {
    results[i] = all;
    if (tuple || i >= count)
      results[i] = fe_vmap_value(all.graph, i < count ? ir_src(c->ir, all.id, (uint32_t)i) : 0);
  }
  return count;
}

ir_ref fe_as_size(ir_graph *g, ir_ref value) {
  const ir_node *n = ir_get(g, value);
  if (n->dtype == IR_INDEX) return value;
  return n->op == IR_OP_CONST && n->weak && n->dtype == IR_I64 ? ir_index(g, n->arg) : 0;
}

static bool check_list(fe_call *c, const char *what, int count, bool given) {
  if (count < 0 || count > FE_LIST_MAX)
    return fe_refuse(c, "%s has %d entries; a tensor has at most %d axes", what, count, IR_MAX_RANK);
  return count == 0 || given ||
         fe_refuse(c, "%s of %d entries is NULL; VF_LIST(1, 0) writes a list of integers, and how many", what,
                   count);
}

bool fe_list(fe_call *c, const char *what, int count, const int64_t *list, ir_ref out[FE_LIST_MAX]) {
  if (!check_list(c, what, count, list != NULL)) return false;
  for (int i = 0; i < count; i++) {
    if (list[i] == (int64_t)(intptr_t)c->graph) /* the first member of a vf_value */
      return fe_refuse(
          c,
          "entry %d of %s is the address of the graph, as in an array of vf_value; takes int64_t, "
          "and functions whose name ends in _sized, such as vf_input_sized, take vf_value",
          i, what);
    if (!(out[i] = ir_index(c->ir, list[i]))) return false;
  }
  return true;
}

bool fe_list_sized(fe_call *c, const char *what, int count, const vf_value *list, ir_ref out[FE_LIST_MAX]) {
  if (!check_list(c, what, count, list != NULL) || !fe_operands(c, list, (size_t)count)) return false;
  for (int i = 0; i < count; i++)
    if (!(out[i] = fe_as_size(c->ir, list[i].id)))
      return fe_refuse(c, "entry %d of %s is a tensor; takes variables, integers and expressions of them", i,
                       what);
  return true;
}
