/* What an operation takes: the part of a value under the spec that it needs, made or moved once for all. */
#include "impl.h"

#include <string.h>

static bool no_memory(shard_state *s) {
  ir_fail(s->g->error, IR_ERR_MEMORY, "shard: out of memory");
  return false;
}

ir_spec shard_spec_of(const shard_state *s, ir_ref node) {
  const ir_spec *given = ir_spec_of(s->g, node);
  ir_spec out;
  if (given) ir_spec_canonical(given, &out);
  else ir_spec_init(&out, ir_rank(s->g, node));
  return out;
}

bool shard_note_move(shard_state *s, ir_ref node, int operand, shard_reason reason, const ir_spec *from,
                     const ir_spec *to, ir_ref exchange) {
  shard_program *p = s->program;
  if (!IR_RESERVE(p->mem, p->notes, p->note_cap, p->note_count + 1)) return no_memory(s);
  p->notes[p->note_count++] = (shard_note){node, operand, reason, *from, *to, exchange};
  return true;
}

/* Notes a value whose part `local` was added, or multiplied, up from parts. Where the spec has pending axes,
 * the devices at position 0 have it, and the others what changes nothing. */
bool shard_note_sum(shard_state *s, ir_ref x, ir_ref local, ir_op by, const ir_spec *spec) {
  shard_program *p = s->program;
  bool rounds = ir_is_float(ir_dtype_of(s->g, x)) && (by == IR_OP_ADD || by == IR_OP_MUL);
  if (!rounds) return true;
  if (!IR_RESERVE(p->mem, p->sums, p->sum_cap, p->sum_count + 1)) return no_memory(s);
  p->sums[p->sum_count++] = (shard_value){local, x, *spec};
  return true;
}

/* The part of a deferred view. Pending reductions stay. */
static ir_ref made_view(shard_state *s, ir_ref x, const ir_spec *to) {
  ir_spec from;
  ir_op summed;
  ir_ref exchange, made = shard_view_part(s, x, to, &from, &exchange, &summed);
  if (!made || !shard_note_sum(s, x, made, summed, to)) return 0;
  if (!exchange) return made;
  return shard_note_move(s, x, -1, SHARD_READS, &from, to, exchange) ? made : 0;
}

/* The part of a value that the pass has come to; of a deferred view, it is made now. */
ir_ref shard_part_of(shard_state *s, ir_ref x) {
  ir_spec spec = shard_spec_of(s, x);
  if (!s->local[x] && s->deferred[x]) s->local[x] = made_view(s, x, &spec);
  return s->local[x];
}

/* A sum that was made for one reader is there for the others. */
static bool joined_for_all(shard_state *s, ir_ref x, ir_ref local, const ir_spec *from, const ir_spec *to,
                           ir_ref made) {
  ir_spec sum = *from;
  ir_spec_clear(&sum, IR_PLACE_PENDING);
  if (!ir_spec_count(from, IR_PLACE_PENDING) || !ir_spec_same_parts(&sum, to)) return true;
  if (s->local[x] != local || s->given[x] || s->held[x] || s->readers[x] < 2) return true;
  s->local[x] = made;
  return ir_set_spec(s->g, x, to) || no_memory(s);
}

/* Did this pass make the exchange before, for another operand? nodes: of the graph, before it was asked for.
 */
static bool is_noted(const shard_state *s, ir_ref exchange, uint32_t nodes) {
  const shard_program *p = s->program;
  if (exchange >= nodes) return false; /* it is new: mostly */
  for (size_t i = p->note_count; i-- > 0;)
    if (p->notes[i].exchange == exchange) return true;
  return false;
}

/* The part of x, a node of the graph or its local counterpart, under another spec, with a note. */
ir_ref shard_bring_to(shard_state *s, ir_ref x, ir_ref local, const ir_spec *from, const ir_spec *to,
                      ir_ref node, int operand, shard_reason reason) {
  ir_ref exchange;
  size_t before = s->program->collective_count;
  uint32_t nodes = s->g->count;
  if (!local || ir_spec_same_parts(from, to)) return local;
  for (uint32_t i = s->moved[x]; i; i = s->moves[i - 1].next)
    if (s->moves[i - 1].local == local && ir_spec_same_parts(&s->moves[i - 1].to, to))
      return s->moves[i - 1].made;
  ir_ref made = shard_move_pieces(s, local, op_dims(s->g, x), from, to, &exchange);
  if (!made) return 0;
  if (exchange && is_noted(s, exchange, nodes))
    s->program->collective_count = before; /* the same node again */
  else if (!shard_note_move(s, node, operand, reason, from, to, exchange)) return 0;
  if (!IR_RESERVE(s->g->mem, s->moves, s->move_cap, s->move_count + 1)) return no_memory(s);
  s->moves[s->move_count++] = (shard_moved){local, made, *to, s->moved[x]};
  s->moved[x] = (uint32_t)s->move_count;
  shard_pending p;
  shard_sort_pending(from, to, &p);
  bool summed = reason != SHARD_QUOTIENT && p.joined.count && !p.kept.count;
  if (summed && !shard_note_sum(s, x, made, (ir_op)from->joined_by, to)) return 0;
  return joined_for_all(s, x, local, from, to, made) ? made : 0;
}

/* The spec `to`, with what is pending in `have`, along whose axes nothing is divided yet. */
ir_spec shard_still_pending(const ir_spec *have, const ir_spec *to) {
  ir_spec out;
  uint32_t count, pending;
  const ir_subaxis *late = ir_spec_axes(have, IR_PLACE_PENDING, &pending);
  ir_spec_init(&out, to->rank);
  for (uint32_t d = 0; d < to->rank; d++) {
    const ir_subaxis *axes = ir_spec_axes(to, d, &count);
    bool free = true;
    for (uint32_t i = 0; i < count && free; i++) {
      for (uint32_t k = 0; k < pending; k++) free &= !ir_subaxes_overlap(axes[i], late[k]);
      if (free) ir_spec_push(&out, d, axes[i]);
    }
  }
  for (uint32_t k = 0; k < pending; k++) ir_spec_push(&out, IR_PLACE_PENDING, late[k]);
  out.joined_by = have->joined_by;
  return out;
}

/* The part of a deferred view of the spec `have`, made under another spec at once. */
ir_ref shard_make_under(shard_state *s, ir_ref x, const ir_spec *have, const ir_spec *to, ir_ref node,
                        int operand, shard_reason reason) {
  ir_spec at = shard_still_pending(have, to);
  return shard_bring_to(s, x, made_view(s, x, &at), &at, to, node, operand, reason);
}

/* Are there parts of the one that need elements of several parts of the other? */
static bool must_move(const ir_spec *from, const ir_spec *to) {
  for (uint32_t d = 0; d < from->rank; d++)
    if (!shard_is_prefix(from, to, d)) return true;
  return false;
}

/* Below views of it, the pending value that others read as well, or that has no more elements: one sum serves
 * all views of it. Else x itself. */
static ir_ref pending_below(const shard_state *s, ir_ref x) {
  ir_graph *g = s->g;
  ir_ref below = x;
  for (;;) {
    bool view = s->local[below] && ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW &&
                !shard_is_joined(ir_op_of(g, below));
    ir_ref next = view ? ir_src(g, below, 0) : 0;
    if (!next || !s->local[next]) break;
    bool summed = !ir_spec_count(ir_spec_of(g, next), IR_PLACE_PENDING); /* for another reader */
    if (!summed && !shard_same_pending(ir_spec_of(g, below), ir_spec_of(g, next))) break;
    below = next;
  }
  return s->readers[below] > 1 || shard_bytes(s->g, below) <= shard_bytes(s->g, x) ? below : x;
}

/* A view of such a value: the sum is made once, and the view of that. */
static ir_ref joined_below(shard_state *s, ir_ref x, ir_ref below, const ir_spec *to, ir_ref node,
                           int operand, shard_reason reason) {
  ir_graph *g = s->g;
  ir_ref kept[SHARD_SUNK];
  ir_spec old = shard_spec_of(s, below), sum = old, at = shard_spec_of(s, x);
  uint32_t count = 0;
  ir_spec_clear(&sum, IR_PLACE_PENDING), ir_spec_clear(&at, IR_PLACE_PENDING);
  sum.joined_by = at.joined_by = IR_OP_ADD;
  ir_ref joined = shard_bring_to(s, below, s->local[below], &old, &sum, node, operand, reason),
         local = s->local[below];
  if (!joined) return 0;
  old = shard_spec_of(s, below);
  if (!ir_set_spec(g, below, &sum)) return 0;
  s->local[below] = joined;
  for (ir_ref v = x; v != below && count < SHARD_SUNK; v = ir_src(g, v, 0), count++)
    kept[count] = s->local[v], s->local[v] = 0, s->deferred[v] = 1;
  ir_ref made = shard_make_under(s, x, &at, to, node, operand, reason);
  shard_unsink(s, x, kept, count);
  s->local[below] = local;
  return ir_set_spec(g, below, &old) ? made : 0;
}

static uint32_t views_between(const ir_graph *g, ir_ref x, ir_ref below) {
  uint32_t count = 0;
  for (; x != below; x = ir_src(g, x, 0)) count++;
  return count;
}

/* The part of an operand under a spec. A view of a smaller array is made again of what it is a view of. */
ir_ref shard_take(shard_state *s, ir_ref x, const ir_spec *to, ir_ref node, int operand,
                  shard_reason reason) {
  ir_spec from = shard_spec_of(s, x);
  if (!s->local[x] && s->deferred[x] && s->readers[x] == 1)
    return shard_make_under(s, x, &from, to, node, operand, reason);
  ir_ref local = shard_part_of(s, x), kept[SHARD_SUNK];
  if (local && ir_spec_count(&from, IR_PLACE_PENDING) && !ir_spec_count(to, IR_PLACE_PENDING)) {
    ir_ref below = pending_below(s, x);
    uint32_t views = views_between(s->g, x, below);
    if (views && views <= SHARD_SUNK) return joined_below(s, x, below, to, node, operand, reason);
  }
  uint32_t sunk = local && must_move(&from, to) ? shard_sink(s, x, kept) : 0;
  if (!sunk) return shard_bring_to(s, x, local, &from, to, node, operand, reason);
  local = shard_make_under(s, x, &from, to, node, operand, reason);
  shard_unsink(s, x, kept, sunk);
  return local;
}
