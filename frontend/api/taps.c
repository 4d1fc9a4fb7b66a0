#include "frontend/api/taps.h"

#include <string.h>

#include "frontend/files/npy_header.h"
#include "frontend/report/summary.h"
#include "passes/ops/ops.h"

/* what a run does */

static void copy_array(const ir_custom_array *from, const ir_custom_array *to) {
  size_t bytes = ir_dtypes[from->dtype].bytes;
  for (uint32_t k = 0; k < from->rank; k++) bytes *= (size_t)from->shape[k];
  if (bytes) memcpy(to->data, from->data, bytes);
}

/* Put the elements in place of {}, or behind the text where it has none. */
static void put_message(const char *format, const fe_array *a, ir_text *out) {
  const char *place = strstr(format, "{}");
  size_t before = place ? (size_t)(place - format) : strlen(format);
  ir_textf(out, "%.*s%s", (int)before, format, place || !before ? "" : " ");
  fe_summary_elements(a, out);
  if (place) ir_text_str(out, place + 2);
}

static ir_status show(const fe_tap_op *op, const ir_custom_call *call, const ir_custom_array *x,
                      ir_error *error) {
  const fe_taps *all = op->all;
  bool prints = op == &all->ops[FE_PRINT];
  const char *words = ir_custom_text(call, 0);
  vf_tapped tapped = {.size = sizeof tapped,
                      .name = prints ? "" : words,
                      .dtype = (vf_dtype)x->dtype,
                      .rank = (int)x->rank,
                      .batch_dims = (int)call->batch,
                      .shape = x->shape,
                      .elements = x->data};
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  if (prints) {
    fe_array a = {.dtype = x->dtype, .rank = (int)x->rank, .data = x->data};
    memcpy(a.shape, x->shape, x->rank * sizeof *x->shape);
    if (fe_shape_bytes(a.dtype, a.rank, a.shape, &a.bytes)) put_message(words, &a, &text);
    tapped.text = ir_text_get(&text);
  }
  if (text.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory printing a value");
  else all->function(all->user, &tapped);
  ir_text_free(&text);
  return error->status;
}

static ir_status run_tap(const ir_custom *base, const ir_custom_call *call, const ir_custom_array *operands,
                         const ir_custom_array *results, ir_error *error) {
  const fe_tap_op *op = (const fe_tap_op *)base;
  copy_array(&operands[0], &results[0]);
  return op->all->function ? show(op, call, &operands[0], error) : IR_OK;
}

static ir_status run_after(const ir_custom *base, const ir_custom_call *call, const ir_custom_array *operands,
                           const ir_custom_array *results, ir_error *error) {
  (void)base, (void)call, (void)error;
  copy_array(&operands[0], &results[0]);
  return IR_OK;
}

/* derivatives: those of the identity */

static bool pull(const op_custom_site *site, const ir_ref *results, const ir_ref *cotangents, ir_ref *parts,
                 char *why) {
  (void)results, (void)why;
  parts[0] = cotangents[0];
  for (uint32_t i = 1; i < site->custom->base.operands; i++) parts[i] = 0;
  return true;
}

static bool push(const op_custom_site *site, const ir_ref *results, const ir_ref *tangents, ir_ref *parts,
                 char *why) {
  (void)site, (void)results, (void)why;
  parts[0] = tangents[0];
  return true;
}

/* the operations */

static const ir_custom_attribute tap_name = {"name", IR_NONE, false, {0}},
                                 print_text = {"text", IR_NONE, false, {0}};

static op_custom operation(const char *name, uint32_t operands, const ir_custom_attribute *attribute) {
  return (op_custom){.base = {.name = name,
                              .operands = operands,
                              .results = 1,
                              .attribute_count = attribute != NULL,
                              .attributes = attribute,
                              .effect = attribute != NULL,
                              .whole = operands == 1,
                              .run = operands == 1 ? run_tap : run_after},
                     .sharding = operands == 1 ? "d[:] -> d[:]" : NULL,
                     .partial = OP_PARTIAL_NEVER,
                     .pull = pull,
                     .push = push};
}

static const ir_custom *find_tap(const ir_customs *base, const char *name, size_t length) {
  return fe_taps_find((const fe_taps *)base, name, length);
}

void fe_taps_init(fe_taps *t, vf_tap_function function, void *user) {
  *t = (fe_taps){.base = {find_tap}, .function = function, .user = user};
  t->ops[FE_TAP].base = operation("tap", 1, &tap_name);
  t->ops[FE_PRINT].base = operation("print", 1, &print_text);
  t->ops[FE_AFTER].base = operation("after", 2, NULL);
  for (int i = 0; i < FE_TAP_OPS; i++) t->ops[i].all = t;
}

static const ir_custom *find_silent(const ir_customs *base, const char *name, size_t length) {
  const fe_silent *s = (const fe_silent *)base;
  const ir_custom *own = fe_taps_find(&s->taps, name, length);
  return own || !s->customs ? own : s->customs->find(s->customs, name, length);
}

void fe_silent_init(fe_silent *s, const ir_customs *customs) {
  *s = (fe_silent){.base = {find_silent}, .customs = customs};
  fe_taps_init(&s->taps, NULL, NULL);
}

const ir_custom *fe_taps_find(const fe_taps *t, const char *name, size_t length) {
  for (int i = 0; i < FE_TAP_OPS; i++) {
    const ir_custom *c = &t->ops[i].base.base;
    if (strlen(c->name) == length && memcmp(c->name, name, length) == 0) return c;
  }
  return NULL;
}

bool fe_taps_has(const fe_taps *t, const void *custom) {
  bool has = false;
  for (int i = 0; i < FE_TAP_OPS; i++) has |= custom == &t->ops[i];
  return has;
}

/* as calls of programs */

static ir_custom_array array_of(const rt_array *a) {
  ir_custom_array out = {.dtype = a->dtype, .rank = a->rank, .data = a->data};
  if (a->rank) memcpy(out.shape, a->dims, a->rank * sizeof *out.shape);
  return out;
}

ir_status fe_custom_call(const ir_customs *customs, const rt_call *step, ir_error *error) {
  ir_custom_array in[IR_CUSTOM_MAX], out[IR_CUSTOM_MAX];
  ir_custom_call call;
  if (!ir_custom_is_call(step->attributes, step->attribute_bytes, step->operand_count))
    return ir_fail(error, IR_ERR_INTERNAL, "the plan describes a custom call wrongly");
  memcpy(&call, step->attributes, sizeof call);
  if (call.results != step->result_count)
    return ir_fail(error, IR_ERR_INTERNAL, "the plan lacks a result of a custom call");
  for (uint32_t i = 0; i < call.operands; i++) in[i] = array_of(&step->operands[i]);
  for (uint32_t i = 0; i < call.results; i++) out[i] = array_of(&step->results[i]);
  return ir_custom_run(customs, &call, in, out, error);
}

static const void *find_call(void *user, const char *name) { return fe_taps_find(user, name, strlen(name)); }
static ir_status run_call(void *user, const void *found, const rt_call *step, ir_error *error) {
  (void)found; /* ir_custom_run looks it up by name, and checks its form */
  return fe_custom_call(&((fe_taps *)user)->base, step, error);
}

rt_calls fe_taps_calls(fe_taps *t) { return (rt_calls){t, find_call, run_call, NULL}; }

/* taps whose results nobody needs */

static bool is_reached(const ir_ref *live, size_t count, ir_ref ref) {
  size_t at = ir_find_ref(live, count, ref);
  return at < count && live[at] == ref;
}

bool fe_pending_keep(ir_graph *g, const fe_pending *pending, size_t first, uint32_t level,
                     const ir_ref *results, size_t count, ir_ref *result) {
  ir_ref *live = NULL;
  size_t live_count = 0, cap = 0;
  if (first >= pending->count) return true;
  if (ir_reachable(g, results, count, &live, &live_count, &cap) != IR_OK) return false;
  for (size_t i = first; i < pending->count && *result; i++) {
    ir_ref tap = pending->list[i];
    bool inner = ir_batch_rank(g, tap) > level; /* batch axes that the result does not have */
    if (is_reached(live, live_count, tap) || (inner && level)) continue;
    if (inner && !(tap = op_rebatch(g, tap, 0))) *result = 0;
    if (*result) *result = op_apply(g, "after", 5, (ir_ref[]){*result, tap}, 2, NULL, 0);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return *result != 0;
}
