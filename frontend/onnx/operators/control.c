/* Control flow: If, Loop and Scan. A condition that is known chooses when the graph is made; loops stay
 * loops. */
#include "frontend/onnx/operators/bodies.h"

/* *tensors: none is a sequence or an optional value. */
static bool read_names(onnx_node *n, const wire_list *infos, const wire_bytes **out, bool *tensors) {
  *tensors = true;
  wire_bytes *names = wire_alloc(&n->m->arena, (infos->count + 1) * sizeof *names);
  for (size_t i = 0; names && i < infos->count; i++) {
    onnx_value_info info = {0};
    if (!wire_read(&n->m->arena, &onnx_value_info_message, n->m->whole, ((wire_bytes *)infos->items)[i],
                   &info))
      return false;
    names[i] = info.name;
    onnx_type type = {0};
    if (!wire_read(&n->m->arena, &onnx_type_message, n->m->whole, info.type, &type)) return false;
    if (type.sequence.at || type.optional.at) *tensors = false;
  }
  *out = names;
  return names != NULL;
}

bool onnx_body_read(onnx_node *n, const char *attribute, onnx_body *out) {
  const onnx_attribute *a = onnx_attribute_of(n, attribute);
  *out = (onnx_body){.n = n};
  if (!a || !a->graph.at) return onnx_refuse(n, "the attribute %s is no graph", attribute);
  if (!wire_read(&n->m->arena, &onnx_graph_message, n->m->whole, a->graph, &out->graph)) return false;
  out->input_count = (int)out->graph.inputs.count;
  out->output_count = (int)out->graph.outputs.count;
  bool ignored;
  return read_names(n, &out->graph.inputs, &out->inputs, &ignored) &&
         read_names(n, &out->graph.outputs, &out->outputs, &out->tensors);
}

bool onnx_body_record(onnx_body *b, const onnx_value *inputs, onnx_value **outputs) {
  onnx_import *m = b->n->m;
  const onnx_frame *outer = b->n->frame;
  onnx_frame *frame = wire_alloc(&m->arena, sizeof *frame);
  if (!frame || !onnx_enter(m)) return false;
  *frame = (onnx_frame){.scope = {.parent = (onnx_scope *)&outer->scope},
                        .opsets = outer->opsets,
                        .caller = outer->caller,
                        .function = outer->function};
  for (int i = 0; i < b->input_count; i++) {
    onnx_value *v = onnx_declare(m, &frame->scope, b->inputs[i]);
    if (!v) return false;
    onnx_share(v, &inputs[i]);
  }
  if (!onnx_record_graph(m, frame, &b->graph)) return false;
  for (int i = 0; i < b->output_count; i++)
    if (!(outputs[i] = onnx_find(&frame->scope, b->outputs[i])))
      return onnx_refuse(b->n, "its graph does not compute its output '%.*s'", WIRE_TEXT(b->outputs[i]));
  onnx_leave(m);
  return true;
}

static vf_value as_value(onnx_node *n, ir_ref ref) {
  return (vf_value){n->m->graph, ref, n->m->graph->epoch};
}

/* What a body gives, as a tensor of a dtype that viewfold has. */
static vf_value given(onnx_node *n, onnx_value *value) {
  if (value->narrow)
    onnx_lacks(n, "a graph in it gives '%.*s' of dtype %s; takes it cast or dequantised before",
               WIRE_TEXT(value->base.name), onnx_dtype_name(value->narrow));
  return as_value(n, onnx_value_ref(n->m, value));
}

/* If */

typedef struct branches {
  onnx_body graphs[2]; /* then, else */
} branches;

static void record_branch(onnx_body *b, vf_value *results) {
  onnx_value **outputs = wire_alloc(&b->n->m->arena, ((size_t)b->output_count + 1) * sizeof *outputs);
  if (!outputs || !onnx_body_record(b, NULL, outputs)) return;
  for (int i = 0; i < b->output_count; i++) results[i] = given(b->n, outputs[i]);
}
static void record_then(void *user, const vf_value *arguments, vf_value *results) {
  (void)arguments;
  record_branch(&((branches *)user)->graphs[0], results);
}
static void record_else(void *user, const vf_value *arguments, vf_value *results) {
  (void)arguments;
  record_branch(&((branches *)user)->graphs[1], results);
}

static bool choose(onnx_node *n, onnx_body *b) {
  onnx_value **outputs = wire_alloc(&n->m->arena, ((size_t)b->output_count + 1) * sizeof *outputs);
  if (!outputs || !onnx_body_record(b, NULL, outputs)) return false;
  for (int i = 0; i < b->output_count; i++)
    if (onnx_wants(n, i)) onnx_share(n->outputs[i], outputs[i]);
  return true;
}

static bool conditional(onnx_node *n) {
  branches b;
  int64_t which;
  const onnx_known *condition = onnx_known_in(n, 0);
  if (!onnx_body_read(n, "then_branch", &b.graphs[0]) || !onnx_body_read(n, "else_branch", &b.graphs[1]))
    return false;
  int count = b.graphs[0].output_count;
  if (b.graphs[0].input_count || b.graphs[1].input_count || count != b.graphs[1].output_count)
    return onnx_refuse(n, "its branches have %d and %d outputs; takes as many, and no inputs", count,
                       b.graphs[1].output_count);
  bool tensors = b.graphs[0].tensors && b.graphs[1].tensors;
  if (!tensors && !(condition = onnx_need(n, 0, "the condition"))) return false;
  if (condition && condition->count == 1 && onnx_known_int(n->m, condition, 0, &which))
    return choose(n, &b.graphs[which == 0]);
  ir_ref predicate = onnx_in(n, 0);
  vf_value *results = wire_alloc(&n->m->arena, ((size_t)count + 1) * sizeof *results);
  if (!predicate || !results) return false;
  if (onnx_rank(n, predicate)) predicate = onnx_reshape(n, predicate, NULL, 0);
  vf_cond(as_value(n, predicate), 0, NULL, record_then, record_else, &b, count, results);
  for (int i = 0; i < count; i++)
    if (!onnx_put(n, i, results[i].id)) return false;
  return true;
}

/* Loop: the body takes the number of the iteration, the condition and the state, and gives the condition, the
 * state and values that are stacked. */

/* Iterations that are recorded one by one. */
enum { UNROLL_MOST = 1 << 12 };

typedef struct loop {
  onnx_body body;
  int states, stacks;
  bool ends_early; /* found while recording: the condition is not always true */
  ir_ref limit;    /* i64 tensor, the most iterations; 0: none */
  onnx_value **outputs;
  onnx_value *inputs;
} loop;

/* Records the body for an iteration; false after an error. */
static bool record_iteration(loop *l, ir_ref number, ir_ref condition, const vf_value *state) {
  onnx_node *n = l->body.n;
  int64_t none = 0;
  l->inputs[0] = (onnx_value){.ref = number};
  l->inputs[1] = (onnx_value){.ref = condition};
  if (!condition) {
    onnx_known *always = onnx_known_make(n->m, IR_BOOL, 0, &none);
    if (!always || !(always->elements[0].size = ir_index(n->g, 1))) return false;
    l->inputs[1].known = always;
  }
  for (int i = 0; i < l->states; i++) l->inputs[2 + i] = (onnx_value){.ref = state[i].id};
  return onnx_body_record(&l->body, l->inputs, l->outputs);
}

static void counted_body(void *user, const vf_value *arguments, vf_value *results) {
  loop *l = user;
  onnx_node *n = l->body.n;
  int64_t goes_on = 0;
  if (!record_iteration(l, arguments[l->states].id, 0, arguments)) return;
  const onnx_known *condition = onnx_value_known(n->m, l->outputs[0]);
  l->ends_early =
      !condition || condition->count != 1 || !onnx_known_int(n->m, condition, 0, &goes_on) || !goes_on;
  for (int i = 0; i < l->states + l->stacks; i++) results[i] = given(n, l->outputs[1 + i]);
}

/* The state of a loop that may end early: the number of the iteration, the condition, and the model's. */
static void early_condition(void *user, const vf_value *arguments, vf_value *results) {
  loop *l = user;
  onnx_node *n = l->body.n;
  ir_ref goes_on = arguments[1].id;
  if (l->limit)
    goes_on = op_binary(n->g, IR_OP_AND, goes_on, op_binary(n->g, IR_OP_LT, arguments[0].id, l->limit));
  results[0] = as_value(n, goes_on);
}
static void early_body(void *user, const vf_value *arguments, vf_value *results) {
  loop *l = user;
  onnx_node *n = l->body.n;
  if (!record_iteration(l, arguments[0].id, arguments[1].id, arguments + 2)) return;
  results[0] = as_value(n, onnx_with(n, IR_OP_ADD, arguments[0].id, 1));
  for (int i = 0; i <= l->states; i++) {
    ir_ref x = given(n, l->outputs[i]).id;
    if (i == 0 && x && onnx_rank(n, x)) x = onnx_reshape(n, x, NULL, 0);
    results[1 + i] = as_value(n, x);
  }
}

static bool counted(onnx_node *n, loop *l, ir_ref trips, vf_value *init, vf_value *results) {
  vf_value numbers = as_value(n, op_iota(n->g, IR_I64, &trips, 1, 0));
  if (!numbers.id) return false;
  vf_scan(counted_body, l, l->states, init, 1, &numbers, l->stacks, -1, false, results, results + l->states);
  return n->m->error->status == IR_OK;
}

static bool early(onnx_node *n, loop *l, ir_ref condition, vf_value *init, vf_value *results) {
  vf_value *state = wire_alloc(&n->m->arena, ((size_t)l->states + 2) * sizeof *state);
  vf_value *made = wire_alloc(&n->m->arena, ((size_t)l->states + 2) * sizeof *state);
  if (!state || !made) return false;
  if (l->stacks && ((onnx_has(n, 0) && !onnx_need(n, 0, "the number of iterations")) ||
                    (onnx_has(n, 1) && !onnx_need(n, 1, "the condition"))))
    return false;
  if (l->stacks)
    return onnx_lacks(
        n, "it may end early and stacks results, whose size then depends on data; takes a number of "
           "iterations that is known, with a condition that is true");
  if (condition && onnx_rank(n, condition)) condition = onnx_reshape(n, condition, NULL, 0);
  state[0] = as_value(n, op_const(n->g, IR_I64, (ir_value){.i = 0}));
  state[1] = as_value(n, condition ? condition : ir_bool(n->g, true));
  for (int i = 0; i < l->states; i++) state[2 + i] = init[i];
  vf_while_loop(early_condition, early_body, l, l->states + 2, state, -1, made);
  for (int i = 0; i < l->states; i++) results[i] = made[2 + i];
  return n->m->error->status == IR_OK;
}

/* A state that is no tensor: the iterations are recorded one after another. */
static bool unrolled(onnx_node *n, loop *l, int64_t trips, bool always) {
  int64_t goes_on = always;
  ir_ref **stacked = wire_alloc(&n->m->arena, ((size_t)l->stacks + 1) * sizeof(ir_ref *));
  int count = 0;
  if (!stacked || trips > UNROLL_MOST)
    return stacked &&
           onnx_lacks(n, "%lld iterations over sequences; takes at most %d", (long long)trips, UNROLL_MOST);
  for (int k = 0; k < l->stacks; k++)
    if (!(stacked[k] = wire_alloc(&n->m->arena, ((size_t)trips + 1) * sizeof(ir_ref)))) return false;
  for (int i = 0; i < l->states; i++) onnx_share(&l->inputs[2 + i], n->inputs[2 + i]);
  for (; count < trips && goes_on; count++) {
    for (int k = 0; k < 2; k++) { /* the number of the iteration, and that it is carried out */
      onnx_known *known = onnx_known_make(n->m, k ? IR_BOOL : IR_I64, 0, NULL);
      if (!known || !(known->elements[0].size = ir_index(n->g, k ? 1 : count))) return false;
      l->inputs[k] = (onnx_value){.known = known};
    }
    if (!onnx_body_record(&l->body, l->inputs, l->outputs)) return false;
    const onnx_known *condition = onnx_value_known(n->m, l->outputs[0]);
    if (!condition || condition->count != 1 || !onnx_known_int(n->m, condition, 0, &goes_on))
      return onnx_lacks(
          n, "a condition that depends on data, with sequences in the state; takes one that is known");
    for (int i = 0; i < l->states; i++) onnx_share(&l->inputs[2 + i], l->outputs[1 + i]);
    for (int k = 0; k < l->stacks; k++)
      if (!(stacked[k][count] = given(n, l->outputs[1 + l->states + k]).id)) return false;
  }
  for (int i = 0; i < l->states; i++)
    if (onnx_wants(n, i)) onnx_share(n->outputs[i], &l->inputs[2 + i]);
  for (int k = 0; k < l->stacks; k++)
    if (onnx_wants(n, l->states + k) &&
        !onnx_put(n, l->states + k, op_stack(n->g, stacked[k], (size_t)count, 0)))
      return false;
  return true;
}

static bool holds_sequence(const onnx_node *n) {
  bool found = false;
  for (int i = 2; i < n->input_count; i++)
    found = found || (n->inputs[i] && (n->inputs[i]->sequence || n->inputs[i]->absent));
  return found;
}

static bool loop_node(onnx_node *n) {
  loop l = {0};
  int64_t holds = 1;
  ir_ref of;
  for (int i = 0; i < 2; i++)
    if (onnx_has(n, i)) onnx_value_evaluated(n->m, n->inputs[i], &of);
  const onnx_known *trips = onnx_known_in(n, 0), *condition = onnx_known_in(n, 1);
  if (!onnx_body_read(n, "body", &l.body)) return false;
  l.states = n->input_count > 2 ? n->input_count - 2 : 0;
  l.stacks = l.body.output_count - 1 - l.states;
  if (l.body.input_count != l.states + 2 || l.stacks < 0)
    return onnx_refuse(n,
                       "its body has %d inputs and %d outputs for %d values of the state; takes 2 inputs "
                       "more than these, and at least 1 output more",
                       l.body.input_count, l.body.output_count, l.states);
  size_t room = (size_t)(l.states + l.stacks) + 2;
  vf_value *init = wire_alloc(&n->m->arena, room * sizeof *init),
           *results = wire_alloc(&n->m->arena, room * sizeof *results);
  l.inputs = wire_alloc(&n->m->arena, room * sizeof *l.inputs);
  l.outputs = wire_alloc(&n->m->arena, room * sizeof *l.outputs);
  if (!init || !results || !l.inputs || !l.outputs) return false;
  if (holds_sequence(n)) {
    int64_t number, first = 1;
    if (!onnx_scalar(n, 0, "the number of iterations", &number) ||
        (onnx_has(n, 1) && !onnx_scalar(n, 1, "the condition", &first)))
      return false;
    return unrolled(n, &l, number, first != 0);
  }
  for (int i = 0; i < l.states; i++)
    if (!(init[i] = as_value(n, onnx_in(n, 2 + i))).id) return false;
  bool always = !onnx_has(n, 1) ||
                (condition && condition->count == 1 && onnx_known_int(n->m, condition, 0, &holds) && holds);
  bool done = trips && trips->count == 1 && always && !ir_is_float(trips->dtype);
  if (done && !counted(n, &l, pass_max(n->g, trips->elements[0].size, ir_index(n->g, 0)), init, results))
    return false;
  if (!done || l.ends_early) {
    ir_ref given = onnx_optional(n, 1);
    l.limit = onnx_optional(n, 0);
    if (l.limit && onnx_rank(n, l.limit)) l.limit = onnx_reshape(n, l.limit, NULL, 0);
    if (n->m->error->status || !early(n, &l, given, init, results)) return false;
  }
  for (int i = 0; i < l.states + l.stacks; i++)
    if (onnx_wants(n, i) && !onnx_put(n, i, results[i].id)) return false;
  return true;
}

/* Scan: the body takes the state and a slice of each sequence. */

typedef struct scan {
  onnx_body body;
  int states, slices;
  const int64_t *reverse; /* of operator set 8: which sequences are taken from the end */
  int reverse_count;
} scan;

static void scan_body(void *user, const vf_value *arguments, vf_value *results) {
  scan *s = user;
  onnx_node *n = s->body.n;
  size_t room = (size_t)(s->body.input_count + s->body.output_count) + 1;
  onnx_value *inputs = wire_alloc(&n->m->arena, room * sizeof *inputs);
  onnx_value **outputs = wire_alloc(&n->m->arena, room * sizeof *outputs);
  if (!inputs || !outputs) return;
  for (int i = 0; i < s->body.input_count; i++) inputs[i].ref = arguments[i].id;
  if (!onnx_body_record(&s->body, inputs, outputs)) return;
  for (int i = 0; i < s->body.output_count; i++) results[i] = given(n, outputs[i]);
}

static int64_t entry(const int64_t *list, int count, int i) { return list && i < count ? list[i] : 0; }

static ir_ref flipped(onnx_node *n, ir_ref x, int64_t reverse) {
  ir_ref first = ir_index(n->g, 0);
  return reverse && x ? op_flip(n->g, x, &first, 1) : x;
}

/* Of one element of the batch: all arguments are slices. */
static void batched_scan_body(void *user, const vf_value *arguments, vf_value *results) {
  scan *s = user;
  onnx_node *n = s->body.n;
  vf_value *xs = wire_alloc(&n->m->arena, ((size_t)s->slices + 1) * sizeof *xs);
  if (!xs) return;
  for (int i = 0; i < s->slices; i++)
    xs[i] = as_value(n, flipped(n, arguments[s->states + i].id, entry(s->reverse, s->reverse_count, i)));
  vf_scan(scan_body, s, s->states, arguments, s->slices, xs, s->body.output_count - s->states, -1, false,
          results, results + s->states);
}

/* Operator set 8: everything has a batch as its first axis, for each element of which there is a scan; the
 * first input would say how long the sequences are. */
static bool batched_scan(onnx_node *n) {
  scan s = {.slices = (int)onnx_int(n, "num_scan_inputs", 0)};
  int count = n->input_count - 1;
  if (!onnx_body_read(n, "body", &s.body)) return false;
  s.states = count - s.slices;
  if (onnx_has(n, 0)) return onnx_lacks(n, "sequences of several lengths; takes the first input left out");
  if (s.slices < 1 || s.states < 0 || s.body.input_count != count || s.body.output_count < s.states)
    return onnx_refuse(n, "its body has %d inputs and %d outputs for %d inputs, of which %d are sequences",
                       s.body.input_count, s.body.output_count, count, s.slices);
  if (!onnx_numbers(n, "directions", -1, &s.reverse, &s.reverse_count)) return false;
  vf_value *x = wire_alloc(&n->m->arena, ((size_t)count + 1) * sizeof *x),
           *results = wire_alloc(&n->m->arena, ((size_t)s.body.output_count + 1) * sizeof *results);
  if (!x || !results) return false;
  for (int i = 0; i < count; i++)
    if (!(x[i] = as_value(n, onnx_in(n, i + 1))).id) return false;
  vf_scan(batched_scan_body, &s, 0, NULL, count, x, s.body.output_count, -1, false, NULL, results);
  for (int i = 0; i < s.body.output_count; i++)
    if (!onnx_put(n, i, results[i].id)) return false;
  return true;
}

static bool scan_node(onnx_node *n) {
  scan s = {0};
  const int64_t *axes, *out_axes, *reverse, *out_reverse;
  int axis_count, out_axis_count, reverse_count, out_reverse_count;
  if (n->opset < 9) return batched_scan(n);
  if (!onnx_body_read(n, "body", &s.body)) return false;
  int64_t slices = onnx_int(n, "num_scan_inputs", 0);
  if (slices < 1 || slices > n->input_count || s.body.input_count != n->input_count ||
      s.body.output_count < n->input_count - slices)
    return onnx_refuse(n, "its body has %d inputs and %d outputs for %d inputs, of which %lld are sequences",
                       s.body.input_count, s.body.output_count, n->input_count, (long long)slices);
  s.slices = (int)slices, s.states = n->input_count - s.slices;
  int stacks = s.body.output_count - s.states;
  if (!onnx_numbers(n, "scan_input_axes", -1, &axes, &axis_count) ||
      !onnx_numbers(n, "scan_output_axes", -1, &out_axes, &out_axis_count) ||
      !onnx_numbers(n, "scan_input_directions", -1, &reverse, &reverse_count) ||
      !onnx_numbers(n, "scan_output_directions", -1, &out_reverse, &out_reverse_count))
    return false;
  size_t room = (size_t)(n->input_count + s.body.output_count) + 1;
  vf_value *x = wire_alloc(&n->m->arena, room * sizeof *x),
           *results = wire_alloc(&n->m->arena, room * sizeof *results);
  if (!x || !results) return false;
  for (int i = 0; i < n->input_count; i++) {
    ir_ref given = onnx_in(n, i);
    if (!given) return false;
    if (i >= s.states) {
      given = op_move_axis(n->g, given, entry(axes, axis_count, i - s.states), 0);
      given = flipped(n, given, entry(reverse, reverse_count, i - s.states));
    }
    if (!given) return false;
    x[i] = as_value(n, given);
  }
  vf_scan(scan_body, &s, s.states, x, s.slices, x + s.states, stacks, -1, false, results, results + s.states);
  for (int i = 0; i < s.body.output_count; i++) {
    ir_ref made = results[i].id;
    if (i >= s.states && made) {
      made = flipped(n, made, entry(out_reverse, out_reverse_count, i - s.states));
      made = op_move_axis(n->g, made, 0, entry(out_axes, out_axis_count, i - s.states));
    }
    if (!onnx_put(n, i, made)) return false;
  }
  return true;
}

const onnx_operator onnx_control[] = {{"If", conditional, NULL, 0, 1, 1},
                                      {"Loop", loop_node, NULL, 0, 2, 255},
                                      {"Scan", scan_node, NULL, 0, 1, 255},
                                      {0}};
