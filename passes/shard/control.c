/* Conditions, loops and checkpoints on parts: their functions are divided inside.
 *
 * A function is written for whole values. It is entered with specs of its parameters, and its nodes are made
 * on parts as those of the graph are; then its results are brought to the specs that the call has for them. A
 * carried value has one spec in all rounds: that of its initial value, or, where this is whole, the one that
 * the body gives it; where rounds of a scan only add summands to it, it is pending like these. Slices of a
 * scan are taken on each device, so the axis that is scanned is whole. Predicates are whole: they are
 * computed from the same elements on every device, so all devices take the same way, and come to the same
 * exchanges. */
#include "impl.h"

#include <string.h>

typedef struct call {
  shard_state *s;
  ir_ref node;
  ir_op op;
  uint32_t first, operands;      /* the parameters' operands are the sources from `first` on */
  uint32_t carries, sliced;      /* of the operands */
  ir_spec *of_operands, *wanted; /* wanted: of the results of the node */
  uint32_t results;
  size_t notes, collectives; /* of the program, before the call */
} call;

static bool no_memory(const call *c) {
  return ir_fail(c->s->g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
}

static void without_pending(const ir_spec *spec, ir_spec *out) {
  *out = *spec;
  ir_spec_clear(out, IR_PLACE_PENDING);
  out->joined_by = IR_OP_ADD;
}

/* ---- functions */

/* Makes the nodes of the function on parts. */
static bool enter(call *c, ir_ref func) {
  shard_state *s = c->s;
  ir_function f = ir_function_of(s->g, func);
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable(s->g, f.results, f.result_count, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) shard_forget(s, live[i]);
  for (uint32_t i = 0; i < f.param_count && good; i++) {
    ir_spec spec = c->of_operands[i];
    bool slice = i >= c->carries && i < c->carries + c->sliced;
    if (slice) shard_drop_axis(&c->of_operands[i], 0, &spec);
    shard_forget(s, f.params[i]);
    good = ir_set_spec(s->g, f.params[i], &spec) || no_memory(c);
    good = good && shard_visit(s, f.params[i]);
  }
  for (size_t i = 0; i < count && good; i++) good = s->local[live[i]] || shard_visit(s, live[i]);
  ir_free(s->g->mem, live, cap * sizeof *live);
  return good;
}

/* The function that was entered, with results under these specs. 0 after failing. */
static ir_ref leave(call *c, ir_ref func, const ir_spec *wanted, bool stacked) {
  shard_state *s = c->s;
  ir_function f = ir_function_of(s->g, func);
  size_t n = (size_t)f.result_count + f.param_count;
  ir_ref *local = ir_alloc(s->g->mem, (n + 1) * sizeof *local), made = 0;
  bool good = local || no_memory(c);
  for (uint32_t i = 0; i < f.result_count && good; i++) {
    ir_spec to = wanted[i];
    if (stacked && i >= c->carries) shard_drop_axis(&wanted[i], 0, &to);
    good = (local[i] = shard_take(s, f.results[i], &to, c->node, -1, SHARD_OTHERS)) != 0;
  }
  for (uint32_t i = 0; i < f.param_count && good; i++) local[f.result_count + i] = s->local[f.params[i]];
  if (good) made = ir_func(s->g, local, f.result_count, local + f.result_count, f.param_count);
  if (local) ir_free(s->g->mem, local, (n + 1) * sizeof *local);
  return made;
}

/* The spec that result i of the function has by itself; stacked: of all its rounds. */
static void own_spec(call *c, ir_ref func, uint32_t i, bool stacked, ir_spec *out) {
  ir_spec have = shard_spec_of(c->s, ir_function_of(c->s->g, func).results[i]), done;
  without_pending(&have, &done);
  if (stacked) shard_insert_axis(&done, 0, out);
  else *out = done;
}

static void forget_notes(call *c) {
  c->s->program->note_count = c->notes;
  c->s->program->collective_count = c->collectives;
}

/* ---- the kinds of calls */

/* Was the spec of the result given? */
static bool asked_result(const call *c, uint32_t slot, ir_spec *out) {
  const shard_state *s = c->s;
  for (size_t i = 0; i < s->asked_count; i++) {
    ir_ref node = s->asked[i];
    if (ir_src(s->g, node, 0) != c->node || (uint32_t)ir_arg_int(ir_get(s->g, node)) != slot) continue;
    ir_spec spec = shard_spec_of(s, node);
    without_pending(&spec, out);
    return true;
  }
  return false;
}

/* Both branches give results alike: as is asked for, or as the first does, or the second where the first
 * gives it whole. */
static bool branches(call *c, ir_ref *func) {
  ir_ref then = ir_called(c->s->g, c->node, 0), other = ir_called(c->s->g, c->node, 1);
  bool differs = false;
  if (!enter(c, then)) return false;
  for (uint32_t i = 0; i < c->results; i++)
    if (!asked_result(c, i, &c->wanted[i])) own_spec(c, then, i, false, &c->wanted[i]);
  if (!(func[0] = leave(c, then, c->wanted, false)) || !enter(c, other)) return false;
  for (uint32_t i = 0; i < c->results; i++) {
    ir_spec own;
    if (asked_result(c, i, &own)) continue;
    own_spec(c, other, i, false, &own);
    if (!ir_spec_is_whole(&c->wanted[i]) || ir_spec_is_whole(&own)) continue;
    c->wanted[i] = own;
    differs = true;
  }
  if (differs) {
    forget_notes(c);
    if (!enter(c, then) || !(func[0] = leave(c, then, c->wanted, false)) || !enter(c, other)) return false;
  }
  return (func[1] = leave(c, other, c->wanted, false)) != 0;
}

/* Is a carried value whole before the loop, free to be divided, and divided by the body? Then it gets that
 * spec. */
static bool adopt(call *c, ir_ref body) {
  bool adopted = false;
  for (uint32_t i = 0; i < c->carries; i++) {
    ir_spec own;
    own_spec(c, body, i, false, &own);
    ir_ref param = ir_function_of(c->s->g, body).params[i], x = ir_src(c->s->g, c->node, c->first + i);
    bool fixed = c->s->given[param] || c->s->given[x];
    if (fixed || !ir_spec_is_whole(&c->of_operands[i]) || ir_spec_is_whole(&own)) continue;
    c->of_operands[i] = own;
    adopted = true;
  }
  return adopted;
}

/* How many times the nodes of the function read the value. */
static bool count_inside(call *c, ir_ref body, ir_ref value, uint32_t *count) {
  ir_function f = ir_function_of(c->s->g, body);
  ir_ref *live = NULL;
  size_t n = 0, cap = 0;
  *count = 0;
  if (ir_reachable(c->s->g, f.results, f.result_count, &live, &n, &cap) != IR_OK) return false;
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < ir_get(c->s->g, live[i])->nsrc; k++)
      *count += ir_src(c->s->g, live[i], k) == value;
  for (uint32_t i = 0; i < f.result_count; i++) *count += f.results[i] == value;
  ir_free(c->s->g->mem, live, cap * sizeof *live);
  return true;
}

/* Does each round only add summands to a carried value? Then the sum waits until after the rounds: devices
 * carry what they have added, of which the first one begins with the initial value. *some: so it is. */
static bool accumulate(call *c, ir_ref body, bool *some) {
  ir_graph *g = c->s->g;
  ir_function f = ir_function_of(g, body);
  *some = false;
  for (uint32_t i = 0; i < c->carries && c->op == IR_OP_SCAN; i++) {
    ir_ref sum = f.results[i], param = f.params[i];
    bool both[2] = {true, true};
    uint32_t count;
    if (ir_op_of(g, sum) != IR_OP_ADD || c->s->given[param] || c->s->given[sum]) continue;
    ir_ref more = ir_src(g, sum, ir_src(g, sum, 0) == param);
    if (more == param || (ir_src(g, sum, 0) != param && ir_src(g, sum, 1) != param)) continue;
    ir_spec spec = shard_spec_of(c->s, more), parts;
    without_pending(&spec, &parts);
    if (!ir_spec_count(&spec, IR_PLACE_PENDING) || spec.joined_by != IR_OP_ADD || !op_defers(g, sum, both))
      continue;
    if (ir_spec_count(&c->of_operands[i], IR_PLACE_PENDING) ||
        !ir_spec_same_parts(&parts, &c->of_operands[i]))
      continue;
    if (!count_inside(c, body, param, &count)) return false;
    if (count != 1 || shard_wide(ir_dtype_of(g, sum)) != ir_dtype_of(g, sum)) continue;
    c->of_operands[i] = spec;
    *some = true;
  }
  return true;
}

/* A carried value changes twice at most. */
static bool rounds(call *c, ir_ref *func) {
  ir_graph *g = c->s->g;
  uint32_t at = c->op == IR_OP_WHILE;
  ir_ref body = ir_called(g, c->node, at);
  for (;;) {
    if (!enter(c, body)) return false;
    bool again = adopt(c, body);
    if (!again && !accumulate(c, body, &again)) return false;
    if (!again) break;
    forget_notes(c);
  }
  for (uint32_t i = 0; i < c->results; i++) {
    if (i < c->carries) c->wanted[i] = c->of_operands[i];
    else own_spec(c, body, i, true, &c->wanted[i]);
  }
  if (!(func[at] = leave(c, body, c->wanted, true))) return false;
  if (c->op != IR_OP_WHILE) return true;
  ir_spec whole;
  ir_spec_init(&whole, 0);
  ir_ref more = ir_called(g, c->node, 0);
  return enter(c, more) && (func[0] = leave(c, more, &whole, false)) != 0;
}

/* ---- the node */

/* What each operand is divided like: as the parameter, where that is given, else as it is, without what is
 * pending; and whole along a scanned axis. */
static void divide_operands(call *c) {
  shard_state *s = c->s;
  ir_function f = ir_function_of(s->g, ir_called(s->g, c->node, c->op == IR_OP_WHILE));
  for (uint32_t i = 0; i < c->operands; i++) {
    ir_spec have = shard_spec_of(s, ir_src(s->g, c->node, c->first + i));
    bool slice = i >= c->carries && i < c->carries + c->sliced;
    without_pending(&have, &c->of_operands[i]);
    if (slice) ir_spec_clear(&c->of_operands[i], 0);
    if (!s->given[f.params[i]]) continue;
    ir_spec asked = shard_spec_of(s, f.params[i]), done;
    if (c->op == IR_OP_SCAN && i < c->carries) done = asked; /* summands may be carried */
    else without_pending(&asked, &done);
    if (slice) shard_insert_axis(&done, 0, &c->of_operands[i]);
    else c->of_operands[i] = done;
  }
}

/* The node on the operands' parts, with these functions. */
static ir_ref remade(call *c, const ir_ref *func) {
  shard_state *s = c->s;
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, c->node);
  ir_ref *src = ir_alloc(g->mem, n->nsrc * sizeof *src), made = 0;
  bool good = src || no_memory(c);
  for (uint32_t i = 0; i < n->nsrc && good; i++) src[i] = n->src[i];
  if (good && c->first) { /* the predicate of a condition */
    ir_spec whole;
    ir_spec_init(&whole, 0);
    good = (src[0] = shard_take(s, n->src[0], &whole, c->node, 0, SHARD_WHOLE)) != 0;
  }
  for (uint32_t i = 0; i < c->operands && good; i++) {
    bool slice = i >= c->carries && i < c->carries + c->sliced;
    src[c->first + i] = shard_take(s, n->src[c->first + i], &c->of_operands[i], c->node, (int)(c->first + i),
                                   slice ? SHARD_WHOLE : SHARD_OTHERS);
    good = src[c->first + i] != 0;
  }
  for (uint32_t i = 0; i < ir_called_count(n) && good; i++) src[ir_operand_count(n) + i] = func[i];
  if (good) made = ir_remake(g, c->node, src, n->nsrc);
  if (src) ir_free(g->mem, src, n->nsrc * sizeof *src);
  return made;
}

/* Keeps the specs of the results for the nodes that select them. */
static bool keep_results(call *c) {
  shard_state *s = c->s;
  for (uint32_t i = 0; i < c->results; i++)
    if (!shard_keep_result(s, c->node, i, &c->wanted[i])) return false;
  return true;
}

bool shard_keep_result(shard_state *s, ir_ref node, uint32_t slot, const ir_spec *spec) {
  if (!IR_RESERVE(s->g->mem, s->results, s->result_cap, s->result_count + 1))
    return ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory") == IR_OK;
  s->results[s->result_count++] = (shard_result){node, slot, *spec};
  return true;
}

ir_ref shard_call(shard_state *s, ir_ref node) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  call c = {.s = s, .node = node, .op = (ir_op)n->op, .first = n->op == IR_OP_COND};
  c.operands = ir_operand_count(n) - c.first;
  c.results = ir_result_count(g, node);
  c.notes = s->program->note_count, c.collectives = s->program->collective_count;
  if (n->op == IR_OP_WHILE) c.carries = (uint32_t)ir_arg_int(n);
  if (n->op == IR_OP_SCAN) c.carries = ir_scan_of(n).carries, c.sliced = ir_scan_of(n).sliced;
  ir_ref func[2] = {0}, made = 0;
  size_t room = (size_t)c.operands + c.results + 1;
  if (!(c.of_operands = ir_alloc(g->mem, room * sizeof *c.of_operands))) return no_memory(&c), 0;
  c.wanted = c.of_operands + c.operands;
  divide_operands(&c);
  if (c.op == IR_OP_COND ? branches(&c, func) : rounds(&c, func)) made = remade(&c, func);
  if (made && !keep_results(&c)) made = 0;
  ir_free(g->mem, c.of_operands, room * sizeof *c.of_operands);
  return made;
}

ir_ref shard_call_result(shard_state *s, ir_ref node, ir_spec *out) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref dims[IR_MAX_RANK];
  size_t i = s->result_count; /* the last: a function may be entered several times */
  while (i > 0 && (s->results[i - 1].node != n->src[0] || s->results[i - 1].slot != (uint32_t)ir_arg_int(n)))
    i--;
  if (i == 0) ir_spec_init(out, ir_rank(g, node)); /* of a call on whole values */
  else *out = s->results[i - 1].spec;
  if (!shard_local_shape(s, op_dims(g, node), out, dims)) return 0;
  ir_ref shape = ir_tuple(g, dims, out->rank);
  return shape ? ir_result(g, s->local[n->src[0]], (uint32_t)ir_arg_int(n), (ir_dtype)n->dtype, shape) : 0;
}
