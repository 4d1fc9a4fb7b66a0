#include "frontend/blame/blame.h"

#include "frontend/blame/descriptor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/arith.h"
#include "runtime/mesh/fault.h"

/* Elements that the evaluator may compute in all to find an index, at about 50 ns each: less than a second.
 */
enum { MOST_ELEMENTS = 1 << 24, WORD = FE_BLAMED_WORD };

/* words */

const char *fe_blame_operand(const fe_blamed_statement *s, int number, const char *otherwise,
                             char out[FE_BLAMED_WORD]) {
  const char *at = s->direct ? strchr(s->text, ' ') : NULL;
  for (; at && number > 0; number--) at = strstr(at, ", ") ? strstr(at, ", ") + 1 : NULL;
  if (!at || *++at != '%') return otherwise;
  snprintf(out, FE_BLAMED_WORD, "%.*s", (int)strcspn(at, ", "), at);
  return out;
}

void fe_blame_statement(const fe_blamed *b, ir_ref node, fe_blamed_statement *out) {
  uint32_t number = fe_statements_first_of(b->graph, node);
  fe_words place;
  ir_text text;
  *out = (fe_blamed_statement){.direct = fe_statements_result(b->graph, node, number)};
  if (!number) return;
  ir_text_init(&text, b->graph->mem);
  fe_put_operation(b->statements, b->graph, number, &text);
  snprintf(out->text, sizeof out->text, "%s", ir_text_get(&text));
  ir_text_free(&text);
  if (*fe_words_place(b->statements, number, &place))
    snprintf(out->place.text, sizeof out->place.text, " (%.180s)", place.text);
}

static void write_place(const ir_eval_fault *f, char *out, size_t room) {
  size_t at = 0;
  out[0] = '\0';
  for (uint32_t k = 0; k < f->rank && at < room; k++)
    at += (size_t)snprintf(out + at, room - at, "%c%" PRId64, k ? ',' : '[', f->at[k]);
  if (f->rank && at < room) snprintf(out + at, room - at, "]");
}

void fe_blame_fault(const fe_blamed *b, const ir_eval_fault *f, ir_error *error) {
  if (fe_blame_descriptor(b, f, error)) return;
  fe_blamed_statement s;
  fe_blame_statement(b, f->node, &s);
  char x[WORD], indices[WORD], place[IR_MAX_RANK * 12], value[32],
      accepted[128] = "no index is valid without mode=\"fill\"";
  const char *what = ir_ops[ir_op_of(b->graph, f->node)].text;
  write_place(f, place, sizeof place);
  snprintf(value, sizeof value, f->is_unsigned ? "%" PRIu64 : "%" PRId64, f->index);
  if (f->size > 0)
    snprintf(accepted, sizeof accepted,
             "indices are %" PRId64 " to %" PRId64 ", or any with mode=\"clip\" or mode=\"fill\"",
             f->is_unsigned ? 0 : -f->size, f->size - 1);
  ir_error_clear(error);
  ir_fail(error, IR_ERR_RANGE,
          "graph @%.60s: %.300s: %s%s is %s, but axis %u of %s has %" PRId64
          " element%s%s; %s. The results are unspecified",
          b->name, *s.text ? s.text : what,
          fe_blame_operand(&s, 1, f->rank ? "an index, at " : "an index", indices), place, value, f->axis,
          fe_blame_operand(&s, 0, "what it indexes", x), f->size, f->size == 1 ? "" : "s", s.place.text,
          accepted);
}

/* search */

static int64_t size_of(const fe_blamed *b, ir_ref size) {
  int64_t value = -1;
  ir_error unused = {0};
  if (ir_is_const(b->graph, size, &value)) return value;
  ir_eval_index(b->graph, size, b->vars, b->var_count, NULL, 0, &value, &unused);
  return unused.status ? -1 : value;
}

static double elements_of(const fe_blamed *b, ir_ref node) {
  ir_ref dims[2 * IR_MAX_RANK];
  double product = 1;
  uint32_t rank = ir_shape(b->graph, node) ? ir_physical(b->graph, node, dims) : 0;
  for (uint32_t k = 0; k < rank; k++) product *= (double)size_of(b, dims[k]);
  return product;
}

static bool is_bound(const fe_blamed *b, ir_ref leaf) {
  for (size_t i = 0; i < b->input_count; i++)
    if (b->inputs[i].ref == leaf) return true;
  return false;
}

/* The elements that computing the roots takes; more than may be where a leaf has no value. */
static double work(const fe_blamed *b, const ir_ref *roots, size_t n, bool *loops) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  double sum = 0, trips = 1;
  if (ir_reachable_inside(b->graph, roots, n, &live, &count, &cap) != IR_OK) sum = MOST_ELEMENTS + 1.0;
  for (size_t i = 0; i < count; i++) {
    const ir_node *node = ir_get(b->graph, live[i]);
    bool leaf = node->op == IR_OP_INPUT || node->op == IR_OP_RESOURCE;
    if (leaf && !is_bound(b, live[i])) sum = MOST_ELEMENTS + 1.0;
    double each = elements_of(b, live[i]);
    if (ir_ops[node->op].cls == IR_CLASS_CONTRACT || ir_ops[node->op].cls == IR_CLASS_REDUCE)
      each += elements_of(b, node->src[0]) * (ir_ops[node->op].cls == IR_CLASS_CONTRACT ? each : 1);
    if (node->op == IR_OP_WHILE || node->op == IR_OP_SCAN) trips *= 64;
    *loops |= node->op == IR_OP_WHILE;
    sum += each;
  }
  ir_free(b->graph->mem, live, cap * sizeof *live);
  return sum * trips;
}

/* Evaluate the roots; does an index fail? */
static bool try_roots(const fe_blamed *b, const ir_ref *roots, size_t n, ir_eval_result *out, bool *computed,
                      ir_eval_fault *fault) {
  ir_error unused = {0};
  bool loops = false;
  *computed = false;
  if (work(b, roots, n, &loops) > MOST_ELEMENTS) return false;
  ir_status status = ir_eval_finding(b->graph, roots, n, b->inputs, b->input_count, b->vars, b->var_count,
                                     loops, out, fault, &unused);
  *computed = status == IR_OK;
  return status == IR_ERR_RANGE && fault->node;
}

/* Is one of the indices of the node out of range? */
static bool try_indices(const fe_blamed *b, ir_ref node, ir_eval_fault *fault) {
  const ir_node *n = ir_get(b->graph, node);
  ir_eval_result indices;
  bool computed, found = try_roots(b, &n->src[1], 1, &indices, &computed, fault);
  if (!computed) return found;
  int64_t axis = ir_arg_int(n), size = size_of(b, ir_dim(b->graph, n->src[0], (uint32_t)axis));
  for (int64_t i = 0; i < indices.count && !found; i++) {
    int64_t index =
        ir_value_load((char *)indices.data + (size_t)i * ir_dtypes[indices.dtype].bytes, indices.dtype).i;
    bool huge = indices.dtype == IR_U64 && index < 0;
    found = huge || index < -size || index >= size;
    if (!found) continue;
    *fault = (ir_eval_fault){.node = node, .index = index, .size = size, .axis = (uint32_t)axis};
    fault->is_unsigned = ir_dtypes[indices.dtype].kind == IR_KIND_UNSIGNED;
    fault->rank = indices.rank;
    for (int64_t k = indices.rank, at = i; k-- > 0; at /= indices.shape[k])
      fault->at[k] = at % indices.shape[k];
  }
  ir_eval_free(b->graph, &indices, 1);
  return found;
}

static bool search(const fe_blamed *b, ir_eval_fault *fault) {
  bool computed, found = false;
  ir_eval_result *results = ir_alloc(b->graph->mem, b->root_count * sizeof *results);
  if (!results) return false;
  found = try_roots(b, b->roots, b->root_count, results, &computed, fault);
  if (computed) ir_eval_free(b->graph, results, b->root_count);
  ir_free(b->graph->mem, results, b->root_count * sizeof *results);
  if (found || computed) return found;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable(b->graph, b->roots, b->root_count, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count && !found; i++)
      found = fe_statements_checks(b->graph, live[i]) && try_indices(b, live[i], fault);
  ir_free(b->graph->mem, live, cap * sizeof *live);
  return found;
}

void fe_blame_index(const fe_blamed *b, ir_error *error) {
  ir_eval_fault fault = {0};
  if (error->status != IR_ERR_RANGE) return;
  if (search(b, &fault)) {
    ir_error run = *error;
    fe_blame_fault(b, &fault, error);
    rt_fault_wrap(&run, error);
    return;
  }
  size_t at = strlen(error->text), room = sizeof error->text;
  int said = 0;
  for (ir_ref node = 1; node < b->graph->count && said < 3 && at < room; node++) {
    fe_blamed_statement s;
    if (!fe_statements_checks(b->graph, node)) continue;
    fe_blame_statement(b, node, &s);
    if (!*s.text || strstr(error->text, s.text)) continue;
    at += (size_t)snprintf(error->text + at, room - at, "%s%.200s", said++ ? "; " : ". Such indices are in ",
                           s.text);
  }
}
