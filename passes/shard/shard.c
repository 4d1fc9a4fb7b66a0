/* The pass: each node of the graph on parts, sources first. */
#include "ir/cause.h"
#include "impl.h"
#include "passes/ops/custom.h"

#include <string.h>

static bool no_memory(shard_state *s) {
  ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory");
  return false;
}

/* Why an operand is not taken as it is. */
static shard_reason reason_of(const op_sharding *rule, uint32_t operand, const ir_spec *from,
                              const ir_spec *to) {
  if (!ir_spec_count(to, IR_PLACE_PENDING) && ir_spec_count(from, IR_PLACE_PENDING)) return SHARD_PENDING;
  for (uint32_t d = 0; rule && d < from->rank; d++)
    if (ir_spec_count(from, d) && !rule->terms[operand].axes[d].count) return SHARD_WHOLE;
  return rule ? SHARD_OTHERS : SHARD_WHOLE;
}

/* An operation without a rule: all of its operands whole, on every device. */
static ir_ref whole(shard_state *s, ir_ref node) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref *src = ir_alloc(g->mem, n->nsrc * sizeof *src), made = 0;
  bool good = src != NULL;
  if (!src) no_memory(s);
  for (uint32_t i = 0; i < n->nsrc && good; i++) {
    ir_ref x = n->src[i];
    src[i] = x;
    if (!ir_shape(g, x) || (!s->local[x] && !s->deferred[x])) continue;
    ir_spec to;
    ir_spec_init(&to, ir_rank(g, x));
    src[i] = shard_take(s, x, &to, node, (int)i, SHARD_WHOLE);
    good = src[i] != 0;
  }
  if (good) made = ir_remake(g, node, src, n->nsrc);
  if (src) ir_free(g->mem, src, n->nsrc * sizeof *src);
  return made;
}

/* The operation itself, on parts. */
static ir_ref on_parts(shard_state *s, ir_ref node, const op_sharding *rule, const shard_choice *choice,
                       ir_ref *operands) {
  const ir_node *n = ir_get(s->g, node);
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  bool searches = n->op == IR_OP_ARGMAX || n->op == IR_OP_ARGMIN;
  if ((cls == IR_CLASS_ORDERED || searches) && ir_spec_count(&choice->operands[0], (uint32_t)ir_arg_int(n))) {
    ir_ref made = searches ? shard_search(s, node, operands[0], &choice->operands[0])
                  : shard_is_cumulative((ir_op)n->op)
                      ? shard_cumulative(s, node, operands[0], &choice->operands[0])
                      : shard_sort_first(s, node, operands[0], &choice->operands[0]);
    return made && shard_note_move(s, node, -1, SHARD_TOTALS, &choice->operands[0], &choice->result, made)
               ? made
               : 0;
  }
  if (n->op == IR_OP_ASSIGN) return shard_write(s, node, choice, operands[0], operands[2]);
  if (cls == IR_CLASS_INDIRECT) return shard_indirect(s, node, choice, operands);
  return shard_local(s, node, rule, choice, operands);
}

/* By the factor rule. *out: the spec of the result. */
static ir_ref divided(shard_state *s, ir_ref node, const op_sharding *rule, const ir_spec *wanted,
                      ir_spec *out) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_spec specs[SHARD_OPERANDS];
  const ir_spec *at[SHARD_OPERANDS];
  ir_ref operands[SHARD_OPERANDS];
  shard_choice choice;
  for (uint32_t i = 0; i < rule->operands; i++) specs[i] = shard_spec_of(s, n->src[i]), at[i] = &specs[i];
  if (!shard_choose(s, node, rule, at, wanted, &choice)) return 0;
  bool backwards = shard_is_backwards(s, node);
  if (backwards || shard_defers_view(s, node, rule, at, &choice)) {
    if (backwards && !shard_backwards(s, node)) return 0;
    s->deferred[node] = 1;
    for (uint32_t i = 0; i < rule->operands; i++) s->held[n->src[i]] = 1;
    if (wanted && !s->given[node] && !ir_spec_is_whole(wanted))
      return *out = shard_still_pending(&specs[0], wanted), node;
    return shard_view_spec(s, node, out) ? node : 0;
  }
  if (rule->operands == 1) shard_choose_ordered(s, node, &specs[0], wanted, &choice);
  for (uint32_t i = 0; i < rule->operands; i++) {
    if (n->op == IR_OP_ASSIGN && i == 1) continue; /* positions in a part are its own (write.c) */
    shard_reason reason = reason_of(rule, i, &specs[i], &choice.operands[i]);
    operands[i] = shard_take(s, n->src[i], &choice.operands[i], node, (int)i, reason);
    if (!operands[i]) return 0;
  }
  *out = choice.result;
  if (n->op == IR_OP_MEAN && ir_spec_count(out, IR_PLACE_PENDING)) {
    ir_ref sum = shard_mean_sum(s, node, operands[0]);
    ir_spec_clear(out, IR_PLACE_PENDING);
    sum = shard_bring_to(s, node, sum, &choice.result, out, node, -1, SHARD_QUOTIENT);
    ir_ref mean = sum ? shard_mean_of_sum(s, node, sum) : 0;
    return mean && shard_note_sum(s, node, mean, IR_OP_ADD, out) ? mean : 0;
  }
  return on_parts(s, node, rule, &choice, operands);
}

/* The part of an INPUT or BUFFER, which is given to the device. */
static ir_ref leaf(shard_state *s, ir_ref node, const ir_spec *spec) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref dims[IR_MAX_RANK];
  if (!shard_local_shape(s, op_dims(g, node), spec, dims)) return 0;
  ir_ref shape = ir_tuple(g, dims, spec->rank);
  return shape == ir_shape(g, node) ? node : ir_leaf(g, (ir_op)n->op, (ir_dtype)n->dtype, 0, shape, n->arg);
}

/* The value itself, under the spec that a constraint asks for. */
static ir_ref constraint(shard_state *s, ir_ref node, ir_spec *out) {
  ir_ref x = ir_src(s->g, node, 0);
  ir_spec from = shard_spec_of(s, x), to;
  const ir_spec *found = ir_spec_of(s->g, node); /* open dimensions may have gained axes */
  if (ir_op_of(s->g, node) != IR_OP_SHARD) {
    if (!shard_collective_spec(s, node, &from, &to)) return 0;
  } else if (found) {
    to = *found;
  } else if (!ir_shard_spec(s->g, node, &to)) {
    return no_memory(s);
  }
  ir_spec_canonical(&to, out);
  if (out->rank < from.rank) { /* of batch axes, which were added in front, it says nothing */
    return op_refuse(s->g, "shard: the spec has %u dimensions; the value has %u", (unsigned)out->rank,
                     (unsigned)from.rank);
  }
  return shard_take(s, x, out, node, 0, SHARD_ASKED);
}

/* The part that an exchange made, with a note. */
static ir_ref permuted(shard_state *s, ir_ref node, const ir_spec *spec, ir_ref made) {
  if (!made || !shard_note_exchange(s, spec, spec, made)) return 0;
  return shard_note_move(s, node, 0, SHARD_READS, spec, spec, made) ? made : 0;
}

static ir_ref make_local(shard_state *s, ir_ref node, const ir_spec *wanted, ir_spec *out) {
  ir_graph *g = s->g;
  ir_op op = ir_op_of(g, node);
  op_sharding rule;
  ir_spec_init(out, ir_rank(g, node));
  if (op == IR_OP_INPUT || op == IR_OP_BUFFER) {
    if (wanted) *out = *wanted;
    return leaf(s, node, out);
  }
  if (ir_only_divides(op)) return constraint(s, node, out);
  if (op == IR_OP_GATHER && ir_op_of(g, ir_src(g, node, 1)) == IR_OP_DATA) {
    ir_ref x = ir_src(g, node, 0), made;
    *out = shard_spec_of(s, x);
    if (shard_known_gather(s, node, out, shard_part_of(s, x), &made)) return permuted(s, node, out, made);
  }
  if (ir_ops[op].cls == IR_CLASS_CONTROL) return shard_call(s, node);
  if (op_custom_divides(g, node)) return shard_custom(s, node);
  if (op == IR_OP_RESULT) return shard_call_result(s, node, out);
  if (!op_sharding_known(g, node)) return whole(s, node);
  if (!op_sharding_of(g, node, &rule)) return 0;
  ir_ref made = divided(s, node, &rule, wanted, out);
  op_sharding_free(&rule);
  return made;
}

/* A view that is made where it is read: now, where it was given a spec, or several read it. */
static bool defer(shard_state *s, ir_ref node, const ir_spec *wanted, const ir_spec *have) {
  if (!wanted && !ir_set_spec(s->g, node, have)) return no_memory(s);
  if (wanted) s->local[node] = shard_make_under(s, node, have, wanted, node, -1, SHARD_ASKED);
  else if (s->readers[node] > 1) shard_part_of(s, node);
  return s->local[node] || (!wanted && s->readers[node] <= 1);
}

bool shard_visit(shard_state *s, ir_ref node) {
  ir_graph *g = s->g;
  if (!ir_shape(g, node) && !ir_has_results(ir_op_of(g, node))) return true; /* sizes, functions, lists */
  const ir_spec *hint = ir_spec_of(g, node);
  if (hint && !s->given[node] && ir_only_divides(ir_op_of(g, node))) hint = NULL; /* it says what it is */
  bool given = hint && s->given[node];
  ir_spec wanted, have;
  if (hint) ir_spec_canonical(hint, &wanted);
  ir_cause before = ir_cause_enter(g, node);
  ir_ref made = make_local(s, node, hint ? &wanted : NULL, &have);
  if (made && s->deferred[node]) {
    bool good = defer(s, node, given ? &wanted : NULL, &have);
    ir_cause_leave(g, before, node, s->local[node]);
    return good;
  }
  if (given && made) {
    made = shard_bring_to(s, node, made, &have, &wanted, node, -1, SHARD_ASKED);
    have = wanted;
  }
  s->local[node] = ir_cause_leave(g, before, node, made);
  if (!s->local[node]) return false;
  return !ir_shape(g, node) || given || ir_set_spec(g, node, &have) || no_memory(s);
}

/* A result has no pending reduction, unless its spec says so. as: the reference that it is the next version
 * of; 0: it is of none. */
static bool put_result(shard_state *s, ir_ref node, ir_ref as, shard_value *out) {
  ir_spec from = shard_spec_of(s, node), to = as ? shard_spec_of(s, as) : from;
  if (!as && !s->given[node]) ir_spec_clear(&to, IR_PLACE_PENDING), to.joined_by = IR_OP_ADD;
  ir_ref local = shard_take(s, node, &to, node, -1, SHARD_RESULT);
  *out = (shard_value){local, node, to};
  return local != 0;
}

/* The input that result i is the next version of; 0: of none. */
static ir_ref reference_of(const shard_request *r, uint32_t result) {
  for (size_t i = 0; i < r->reference_count; i++)
    if (r->references[i].result == result) return r->inputs[r->references[i].input];
  return 0;
}

static bool fill(shard_state *s, const shard_request *r) {
  ir_graph *g = s->g;
  shard_program *p = s->program;
  const ir_node *list = ir_get(g, r->root);
  ir_ref *locals = ir_alloc(g->mem, list->nsrc * sizeof *locals);
  bool good = locals != NULL;
  for (uint32_t i = 0; i < list->nsrc && good; i++) {
    good = put_result(s, list->src[i], reference_of(r, i), &p->results[i]);
    if (good) locals[i] = p->results[i].local;
  }
  for (size_t i = 0; i < r->input_count && good; i++) {
    ir_ref input = r->inputs[i];
    ir_spec spec = shard_spec_of(s, input);
    ir_ref local = input < s->nodes && s->local[input] ? s->local[input] : leaf(s, input, &spec);
    p->inputs[i] = (shard_value){local, input, spec};
    good = local != 0;
  }
  if (good) p->root = ir_tuple(g, locals, list->nsrc);
  if (locals) ir_free(g->mem, locals, list->nsrc * sizeof *locals);
  else no_memory(s);
  return good && p->root;
}

void shard_forget(shard_state *s, ir_ref node) {
  s->local[node] = 0, s->deferred[node] = 0, s->held[node] = 0, s->moved[node] = 0;
  if (!s->given[node]) ir_sharding_drop(s->g, node);
}

static void begin(shard_state *s) {
  memset(s->local, 0, s->nodes * sizeof *s->local);
  memset(s->readers, 0, s->nodes * sizeof *s->readers);
  memset(s->ends, 0, s->nodes * sizeof *s->ends);
  memset(s->moved, 0, s->nodes * sizeof *s->moved);
  memset(s->deferred, 0, s->nodes);
  memset(s->held, 0, s->nodes);
  s->given[0] = 0;
  for (ir_ref i = 1; i < s->nodes; i++)
    s->given[i] = ir_spec_of(s->g, i) || ir_only_divides(ir_op_of(s->g, i));
}

static void count_reads(shard_state *s, ir_ref node) {
  const ir_node *n = ir_get(s->g, node);
  for (uint32_t i = 0; i < n->nsrc; i++) s->readers[n->src[i]]++;
  if (ir_only_divides((ir_op)n->op)) s->held[n->src[0]] = 1; /* what a collective does depends on the spec */
}

/* Results of conditions and loops, the specs of which are known before the call is made. */
static bool note_asked(shard_state *s, ir_ref node) {
  if (ir_op_of(s->g, node) != IR_OP_RESULT || !s->given[node]) return true;
  if (!IR_RESERVE(s->g->mem, s->asked, s->asked_cap, s->asked_count + 1)) return no_memory(s);
  s->asked[s->asked_count++] = node;
  return true;
}

/* Specs for what is open. References are divided alike before and after. */
static bool propagate(shard_state *s, const shard_request *r) {
  ir_graph *g = s->g;
  propagate_pair *alike = ir_alloc(g->mem, r->reference_count * sizeof *alike);
  bool good = alike || no_memory(s);
  for (size_t i = 0; i < r->reference_count && good; i++)
    alike[i] =
        (propagate_pair){r->inputs[r->references[i].input], ir_src(g, r->root, r->references[i].result)};
  good = good && pass_propagate(g, r->root, alike, r->reference_count, &s->program->conflicts);
  ir_free(g->mem, alike, r->reference_count * sizeof *alike);
  return good;
}

static void free_state(shard_state *s) {
  const ir_mem *mem = s->g->mem;
  ir_free(mem, s->local, s->nodes * sizeof *s->local);
  ir_free(mem, s->asked, s->asked_cap * sizeof *s->asked);
  ir_free(mem, s->given, s->nodes);
  ir_free(mem, s->ends, s->nodes * sizeof *s->ends);
  ir_free(mem, s->deferred, s->nodes);
  ir_free(mem, s->held, s->nodes);
  ir_free(mem, s->readers, s->nodes * sizeof *s->readers);
  ir_free(mem, s->moved, s->nodes * sizeof *s->moved);
  ir_free(mem, s->moves, s->move_cap * sizeof *s->moves);
  ir_free(mem, s->backwards, s->backwards_cap * sizeof *s->backwards);
  shard_plans_free(s);
  ir_free(mem, s->named, s->named_cap * sizeof *s->named);
  ir_free(mem, s->results, s->result_cap * sizeof *s->results);
  ir_free(mem, s->parts, s->part_cap * sizeof *s->parts);
}

bool pass_shard(ir_graph *g, const shard_request *r, shard_program *out) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  *out =
      (shard_program){.mem = g->mem, .input_count = r->input_count, .result_count = ir_get(g, r->root)->nsrc};
  shard_state s = {.g = g,
                   .mesh = ir_graph_mesh(g),
                   .program = out,
                   .device = r->device,
                   .numbers = r->numbers,
                   .tells = r->tells,
                   .divides_constants = r->divides_constants,
                   .nodes = (size_t)r->root + 1};
  if (!s.mesh) return op_refuse(g, "shard: the graph has no mesh") != 0;
  out->inputs = ir_alloc(g->mem, r->input_count * sizeof *out->inputs);
  out->results = ir_alloc(g->mem, out->result_count * sizeof *out->results);
  s.local = ir_alloc(g->mem, s.nodes * sizeof *s.local);
  s.given = ir_alloc(g->mem, s.nodes);
  s.ends = ir_alloc(g->mem, s.nodes * sizeof *s.ends);
  s.deferred = ir_alloc(g->mem, s.nodes);
  s.held = ir_alloc(g->mem, s.nodes);
  s.readers = ir_alloc(g->mem, s.nodes * sizeof *s.readers);
  s.moved = ir_alloc(g->mem, s.nodes * sizeof *s.moved);
  bool good = out->inputs && out->results && s.local && s.ends && s.given && s.deferred && s.held &&
              s.readers && s.moved;
  if (good) begin(&s);
  else no_memory(&s);
  good = good && ir_reachable(g, &r->root, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) count_reads(&s, live[i]), shard_note_ends(&s, live[i]);
  for (ir_ref i = 1; i < s.nodes && good; i++) good = note_asked(&s, i);
  good = good && propagate(&s, r);
  for (size_t i = 0; i < count && good; i++) good = shard_visit(&s, live[i]);
  good = good && fill(&s, r);
  ir_free(g->mem, live, cap * sizeof *live);
  free_state(&s);
  if (!good) shard_program_free(out);
  return good;
}

void shard_program_free(shard_program *p) {
  if (!p->mem) return;
  ir_free(p->mem, p->inputs, p->input_count * sizeof *p->inputs);
  ir_free(p->mem, p->results, p->result_count * sizeof *p->results);
  ir_free(p->mem, p->variables, p->variable_cap * sizeof *p->variables);
  ir_free(p->mem, p->notes, p->note_cap * sizeof *p->notes);
  ir_free(p->mem, p->conflicts.notes, p->conflicts.cap * sizeof *p->conflicts.notes);
  ir_free(p->mem, p->sums, p->sum_cap * sizeof *p->sums);
  ir_free(p->mem, p->constants, p->constant_cap * sizeof *p->constants);
  ir_free(p->mem, p->exchanges, p->exchange_cap * sizeof *p->exchanges);
  ir_free(p->mem, p->collectives, p->collective_cap * sizeof *p->collectives);
  *p = (shard_program){.mem = p->mem};
}
