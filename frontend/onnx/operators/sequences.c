/* Sequences and optional values. They are no values of the graph: which tensors they hold is known when it is
 * made. */
#include "frontend/onnx/operators/bodies.h"

enum { LENGTH_MOST = 1 << 16 };

static bool is_sequence(const onnx_node *n, int input) {
  return onnx_has(n, input) && n->inputs[input]->sequence;
}

static const onnx_sequence *sequence_in(onnx_node *n, int input) {
  if (is_sequence(n, input)) return n->inputs[input]->sequence;
  onnx_refuse(n, "input %d is no sequence; takes one", input);
  return NULL;
}

/* A new sequence; its items are the caller's to fill in. NULL after an error. */
static onnx_sequence *make(onnx_node *n, int64_t count) {
  if (count > LENGTH_MOST) {
    onnx_lacks(n, "a sequence of %lld tensors; takes at most %d", (long long)count, LENGTH_MOST);
    return NULL;
  }
  onnx_sequence *s = wire_alloc(&n->m->arena, sizeof *s);
  const onnx_value **items = s ? wire_alloc(&n->m->arena, ((size_t)count + 1) * sizeof(onnx_value *)) : NULL;
  if (!items) return NULL;
  *s = (onnx_sequence){.items = items, .count = (int)count};
  return s;
}

/* A value without a name, of a tensor; NULL after an error. */
static const onnx_value *item_of(onnx_node *n, ir_ref ref, int64_t narrow) {
  onnx_value *v = ref ? wire_alloc(&n->m->arena, sizeof *v) : NULL;
  if (v) v->ref = ref, v->narrow = narrow;
  return v;
}

static bool put(onnx_node *n, int output, const onnx_sequence *s) {
  if (s && onnx_wants(n, output)) n->outputs[output]->sequence = s;
  return s != NULL;
}

/* A place from the beginning, or with a negative number from the end; `more` is how many there are behind the
 * last.
 */
static bool place_in(onnx_node *n, int input, int count, int more, int *out) {
  int64_t at = count + more - 1;
  if (onnx_has(n, input) && !onnx_scalar(n, input, "the position", &at)) return false;
  if (at < 0 && onnx_has(n, input)) at += count;
  *out = (int)at;
  return (at >= 0 && at < count + more) ||
         onnx_refuse(n, "position %lld of a sequence of %d tensors; takes %d to %d", (long long)at, count,
                     -count, count + more - 1);
}

static bool empty(onnx_node *n) { return put(n, 0, make(n, 0)); }

static bool construct(onnx_node *n) {
  onnx_sequence *s = make(n, n->input_count);
  for (int i = 0; s && i < n->input_count; i++) {
    if (!onnx_has(n, i) || is_sequence(n, i)) return onnx_refuse(n, "input %d is no tensor; takes one", i);
    s->items[i] = n->inputs[i];
  }
  return put(n, 0, s);
}

static bool insert(onnx_node *n) {
  const onnx_sequence *from = sequence_in(n, 0);
  int at;
  if (!from || !place_in(n, 2, from->count, 1, &at)) return false;
  onnx_sequence *s = make(n, (int64_t)from->count + 1);
  for (int i = 0; s && i < s->count; i++) s->items[i] = i == at ? n->inputs[1] : from->items[i - (i > at)];
  return put(n, 0, s);
}

static bool erase(onnx_node *n) {
  const onnx_sequence *from = sequence_in(n, 0);
  int at;
  if (!from || !place_in(n, 1, from->count, 0, &at)) return false;
  onnx_sequence *s = make(n, from->count - 1);
  for (int i = 0; s && i < s->count; i++) s->items[i] = from->items[i + (i >= at)];
  return put(n, 0, s);
}

static bool item_at(onnx_node *n) {
  const onnx_sequence *from = sequence_in(n, 0);
  int at;
  if (!from || !place_in(n, 1, from->count, 0, &at)) return false;
  if (onnx_wants(n, 0)) onnx_share(n->outputs[0], from->items[at]);
  return true;
}

static bool length(onnx_node *n) {
  const onnx_sequence *from = sequence_in(n, 0);
  onnx_known *k = from ? onnx_known_make(n->m, IR_I64, 0, NULL) : NULL;
  if (k) k->elements[0].size = ir_index(n->g, from->count);
  return onnx_put_known(n, 0, k);
}

/* Pieces of given sizes, or of one size, the last of which may be smaller; of size 1 without the axis unless
 * keepdims says that it stays. */
static bool split(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  const int64_t *sizes = NULL;
  int64_t whole, each = 1, used = 0;
  int count = 0, axis = x ? onnx_axis(n, "axis", 0, onnx_rank(n, x)) : -1;
  if (axis < 0 || !onnx_numbers(n, "the split", 1, &sizes, &count)) return false;
  bool equal = !sizes || (n->inputs[1]->known && n->inputs[1]->known->rank == 0),
       drop = !sizes && !onnx_int(n, "keepdims", 1);
  if (!ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)axis), &whole))
    return onnx_lacks(n, "a symbolic size along axis %d; takes a number there", axis);
  if (sizes && equal) each = count == 1 ? sizes[0] : 0;
  if (equal && each < 1) return onnx_refuse(n, "pieces of size %lld; takes at least 1", (long long)each);
  onnx_sequence *s = make(n, equal ? (whole + each - 1) / each : count);
  for (int i = 0; s && i < s->count; i++) {
    int64_t end = used + (equal ? each : sizes[i]);
    if (equal && end > whole) end = whole;
    ir_ref piece = onnx_cut(n, x, axis, ir_index(n->g, used), ir_index(n->g, end)), at = ir_index(n->g, axis);
    if (drop) piece = op_squeeze(n->g, piece, &at, 1);
    if (!(s->items[i] = item_of(n, piece, onnx_narrow_in(n, 0)))) return false;
    used = end;
  }
  if (s && used != whole)
    return onnx_refuse(n, "pieces of %lld in all along an axis of %lld; takes sizes that add up to that",
                       (long long)used, (long long)whole);
  return put(n, 0, s);
}

static bool concat(onnx_node *n) {
  const onnx_sequence *from = sequence_in(n, 0);
  ir_ref *all = from ? wire_alloc(&n->m->arena, ((size_t)from->count + 1) * sizeof *all) : NULL;
  int64_t axis = onnx_int(n, "axis", 0);
  if (!all) return false;
  if (!from->count) return onnx_refuse(n, "a sequence without tensors; takes at least one");
  for (int i = 0; i < from->count; i++) {
    onnx_value *item = wire_alloc(&n->m->arena, sizeof *item);
    if (!item) return false;
    onnx_share(item, from->items[i]);
    if (item->narrow != from->items[0]->narrow)
      return onnx_refuse(n, "tensors of several dtypes; takes tensors of one");
    if (!(all[i] = onnx_value_ref(n->m, item))) return false;
  }
  return onnx_put_narrow(n, 0,
                         onnx_int(n, "new_axis", 0) ? op_stack(n->g, all, (size_t)from->count, axis)
                                                    : op_concat(n->g, all, (size_t)from->count, axis),
                         from->items[0]->narrow);
}

/* The graph for each tensor of the first sequence, and those of other ones at the same place. */
static bool map(onnx_node *n) {
  const onnx_sequence *first = sequence_in(n, 0);
  onnx_body b;
  if (!first || !onnx_body_read(n, "body", &b)) return false;
  if (b.input_count != n->input_count || b.output_count < n->output_count)
    return onnx_refuse(n, "its graph has %d inputs and %d outputs; takes as many as the node, %d and %d",
                       b.input_count, b.output_count, n->input_count, n->output_count);
  onnx_value *given = wire_alloc(&n->m->arena, ((size_t)n->input_count + 1) * sizeof *given);
  onnx_sequence **made = wire_alloc(&n->m->arena, ((size_t)n->output_count + 1) * sizeof(onnx_sequence *));
  if (!given || !made) return false;
  for (int k = 0; k < n->output_count; k++)
    if (!(made[k] = make(n, first->count))) return false;
  for (int i = 0; i < first->count; i++) {
    onnx_value **results = wire_alloc(&n->m->arena, ((size_t)b.output_count + 1) * sizeof(onnx_value *));
    for (int k = 0; results && k < n->input_count; k++) {
      if (!onnx_has(n, k)) return onnx_refuse(n, "input %d is left out", k);
      const onnx_sequence *s = n->inputs[k]->sequence;
      if (s && s->count != first->count)
        return onnx_refuse(n, "sequences of %d and %d tensors", first->count, s->count);
      onnx_share(&given[k], s ? s->items[i] : n->inputs[k]);
    }
    if (!results || !onnx_body_record(&b, given, results)) return false;
    for (int k = 0; k < n->output_count; k++) made[k]->items[i] = results[k];
  }
  for (int k = 0; k < n->output_count; k++)
    if (!put(n, k, made[k])) return false;
  return true;
}

/* optional values */

static bool optional(onnx_node *n) {
  if (!onnx_wants(n, 0)) return true;
  if (onnx_has(n, 0)) onnx_share(n->outputs[0], n->inputs[0]);
  else n->outputs[0]->absent = true;
  return true;
}

static bool has_element(onnx_node *n) {
  onnx_known *k = onnx_known_make(n->m, IR_BOOL, 0, NULL);
  if (k) k->elements[0].size = ir_index(n->g, onnx_has(n, 0) && !n->inputs[0]->absent);
  return onnx_put_known(n, 0, k);
}

static bool get_element(onnx_node *n) {
  if (!onnx_has(n, 0) || n->inputs[0]->absent)
    return onnx_refuse(n, "the optional value has no element; takes one that has");
  return optional(n);
}

/* clang-format off */
const onnx_operator onnx_sequences[] = {
    {"SequenceEmpty", empty, NULL, 0, 0, 0}, {"SequenceConstruct", construct, NULL, 0, 1, 255},
    {"SequenceInsert", insert, NULL, 0, 2, 3}, {"SequenceErase", erase, NULL, 0, 1, 2},
    {"SequenceAt", item_at, NULL, 0, 2, 2}, {"SequenceLength", length, NULL, 0, 1, 1},
    {"SplitToSequence", split, NULL, 0, 1, 2}, {"ConcatFromSequence", concat, NULL, 0, 1, 1},
    {"SequenceMap", map, NULL, 0, 1, 255}, {"Optional", optional, NULL, 0, 0, 1},
    {"OptionalHasElement", has_element, NULL, 0, 0, 1}, {"OptionalGetElement", get_element, NULL, 0, 1, 1}, {0}};
/* clang-format on */
