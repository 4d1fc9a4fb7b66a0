#include "cause.h"

#include <stdlib.h>
#include <string.h>

void ir_causes_open(ir_causes *o, ir_graph *g) {
  *o = (ir_causes){.mem = g->mem};
  g->causes = o;
  for (ir_ref node = 0; node < g->count; node++) *ir_cause_at(g, node) = 0;
}

void ir_causes_free(ir_causes *o) {
  if (!o->mem) return;
  ir_free(o->mem, o->sets, o->set_cap * sizeof *o->sets);
  *o = (ir_causes){.mem = o->mem};
}

/* sets */

static ir_cause make_set(ir_causes *o, ir_cause_kind kind, ir_cause a, ir_cause b) {
  uint32_t *recent = &o->recent[(a * 31 + b * 7 + kind) % IR_CAUSES_RECENT];
  const ir_cause_set *like = *recent ? &o->sets[*recent - 1] : NULL;
  if (like && like->a == a && like->b == b && like->kind == kind) return IR_CAUSE_SET | (*recent - 1);
  if (o->set_count >= IR_CAUSE_RESULT || !IR_RESERVE(o->mem, o->sets, o->set_cap, o->set_count + 1)) return a;
  o->sets[o->set_count++] = (ir_cause_set){a, b, kind};
  *recent = (uint32_t)o->set_count;
  return IR_CAUSE_SET | (*recent - 1);
}

ir_cause ir_cause_union(ir_causes *o, ir_cause a, ir_cause b) {
  if (!a || a == b || (!(b & IR_CAUSE_SET) && a == (b | IR_CAUSE_RESULT))) return a ? a : b;
  if (!b || (!(a & IR_CAUSE_SET) && b == (a | IR_CAUSE_RESULT))) return b ? b : a;
  const ir_cause_set *in_a = a & IR_CAUSE_SET ? &o->sets[a & ~IR_CAUSE_SET] : NULL,
                     *in_b = b & IR_CAUSE_SET ? &o->sets[b & ~IR_CAUSE_SET] : NULL;
  if (in_a && in_a->kind == IR_CAUSE_UNION && (in_a->a == b || in_a->b == b)) return a;
  if (in_b && (in_b->kind == IR_CAUSE_UNION || in_b->kind == IR_CAUSE_PART) &&
      (in_b->a == a || (in_b->kind == IR_CAUSE_UNION && in_b->b == a)))
    return in_b->kind == IR_CAUSE_PART ? a : b;
  if (in_a && in_a->kind == IR_CAUSE_PART && in_a->a == b) return b;
  return make_set(o, IR_CAUSE_UNION, a, b);
}

static ir_cause part_of(ir_causes *o, ir_cause a) {
  if (!(a & IR_CAUSE_SET)) return a & ~IR_CAUSE_RESULT;
  ir_cause_kind kind = (ir_cause_kind)o->sets[a & ~IR_CAUSE_SET].kind;
  return kind == IR_CAUSE_UNION ? make_set(o, IR_CAUSE_PART, a, 0) : a; /* others have no results */
}

/* nodes */

static bool is_given(const ir_graph *g, ir_ref node) { return ir_cause_is_given(ir_op_of(g, node)); }

static bool is_plain_part(ir_cause cause) { return !(cause & (IR_CAUSE_SET | IR_CAUSE_RESULT)); }

static bool is_part(const ir_causes *o, ir_cause cause) {
  return cause & IR_CAUSE_SET ? o->sets[cause & ~IR_CAUSE_SET].kind != IR_CAUSE_UNION : is_plain_part(cause);
}

/* The derivative that is a cause, or the latest of those that are parts of one; NULL: it is none. */
static const ir_cause_set *latest_derivative(const ir_causes *o, ir_cause cause) {
  const ir_cause_set *s = cause & IR_CAUSE_SET ? &o->sets[cause & ~IR_CAUSE_SET] : NULL;
  if (s && s->kind == IR_CAUSE_PART && s->a & IR_CAUSE_SET) {
    s = &o->sets[s->a & ~IR_CAUSE_SET];
    s = s->kind == IR_CAUSE_UNION && s->b & IR_CAUSE_SET ? &o->sets[s->b & ~IR_CAUSE_SET] : NULL;
  }
  return s && s->kind == IR_CAUSE_DERIVATIVE ? s : NULL;
}

/* The first statement of a cause. */
static uint32_t first_statement(const ir_causes *o, ir_cause cause) {
  while (cause & IR_CAUSE_SET) cause = o->sets[cause & ~IR_CAUSE_SET].a;
  return cause & ~IR_CAUSE_RESULT;
}

/* A part of a derivative of one statement that several ask for: what reads it may be of another statement, so
 * it keeps the statement, and gets all that ask. A value that is recorded again has more statements than
 * before; the first stays. */
static bool is_asked_again(const ir_causes *o, ir_cause own, ir_cause current) {
  const ir_cause_set *a = latest_derivative(o, own), *b = latest_derivative(o, current);
  return a && b && first_statement(o, a->a) == first_statement(o, b->a);
}

void ir_cause_again(ir_graph *g, ir_ref node) {
  ir_causes *o = g->causes;
  ir_cause *own = ir_cause_at(g, node);
  if (!*own || *own == o->current || !is_part(o, *own)) return;
  if (!is_asked_again(o, *own, o->current)) *own = 0;
  else if (latest_derivative(o, *own) != latest_derivative(o, o->current))
    *own = part_of(o, make_set(o, IR_CAUSE_UNION, *own, o->current));
}

void ir_causes_copy(ir_graph *dst, const ir_graph *src, const ir_ref *map, uint32_t count) {
  ir_causes *to = dst->causes;
  const ir_causes *from = src->causes;
  if (!to || !from) return;
  if (!IR_RESERVE(to->mem, to->sets, to->set_cap, from->set_count)) {
    dst->causes = NULL; /* none is better than some that mean others */
    return;
  }
  if (from->set_count) memcpy(to->sets, from->sets, from->set_count * sizeof *to->sets);
  to->set_count = from->set_count;
  to->statements = from->statements;
  for (ir_ref ref = 1; ref < count; ref++)
    if (map[ref]) *ir_cause_at(dst, map[ref]) = *ir_cause_at(src, ref);
}

/* recording */

static void add_result(ir_graph *g, ir_ref made, uint32_t statement) {
  ir_cause own = ir_cause_of(g, made), result = statement | IR_CAUSE_RESULT;
  if (own == result || (own && own != statement && is_given(g, made))) return;
  *ir_cause_at(g, made) = own == statement ? result : ir_cause_union(g->causes, own, result);
}

void ir_cause_results(ir_graph *g, ir_ref made, uint32_t statement) {
  if (!g->causes || !made || !statement) return;
  const ir_node *n = ir_get(g, made);
  if (n->op != IR_OP_TUPLE) add_result(g, made, statement);
  for (uint32_t i = 0; n->op == IR_OP_TUPLE && i < n->nsrc; i++) add_result(g, n->src[i], statement);
}

/* rewriting */

ir_cause ir_cause_enter(ir_graph *g, ir_ref node) {
  if (!g->causes) return 0;
  ir_cause before = g->causes->current, own = ir_cause_of(g, node);
  if (own) g->causes->current = part_of(g->causes, own);
  return before;
}

ir_ref ir_cause_leave(ir_graph *g, ir_cause before, ir_ref node, ir_ref made) {
  if (!g->causes) return made;
  ir_cause own = ir_cause_of(g, node);
  g->causes->current = before;
  if (made && made != node && own && ir_shape(g, made) && !is_given(g, made))
    *ir_cause_at(g, made) = ir_cause_union(g->causes, ir_cause_of(g, made), own);
  return made;
}

/* The statement that asks for what is made now. */
static ir_cause asking(const ir_causes *o, ir_cause current) {
  while (current & IR_CAUSE_SET) {
    const ir_cause_set *s = &o->sets[current & ~IR_CAUSE_SET];
    current = s->kind == IR_CAUSE_DERIVATIVE ? s->b : s->a;
  }
  return current;
}

ir_cause ir_cause_enter_derivative(ir_graph *g, ir_ref node) {
  ir_cause before = ir_cause_enter(g, node);
  if (g->causes && ir_cause_of(g, node))
    g->causes->current =
        make_set(g->causes, IR_CAUSE_DERIVATIVE, g->causes->current, asking(g->causes, before));
  return before;
}

/* listing */

bool ir_cause_add(const ir_mem *mem, ir_cause_item item, ir_cause_items *out) {
  size_t at = 0;
  while (at < out->count && (out->list[at].statement < item.statement ||
                             (out->list[at].statement == item.statement && out->list[at].by < item.by)))
    at++;
  if (at < out->count && out->list[at].statement == item.statement && out->list[at].by == item.by) {
    out->list[at].result |= item.result;
    return true;
  }
  if (!IR_RESERVE(mem, out->list, out->cap, out->count + 1)) return false;
  memmove(out->list + at + 1, out->list + at, (out->count - at) * sizeof *out->list);
  out->list[at] = item;
  out->count++;
  return true;
}

typedef struct entry {
  ir_cause cause;
  uint32_t by;
  bool part;
} entry;

/* The statements of a cause are listed in the order in which they are met, in time that grows with the sets
 * below it: each set is entered once for each way of using it. */
bool ir_cause_list(const ir_causes *o, ir_cause cause, ir_cause_items *out) {
  entry *stack = NULL;
  size_t count = 0, cap = 0, seen_count = 0, seen_cap = 0;
  entry *seen = NULL;
  bool good = IR_RESERVE(o->mem, stack, cap, 1);
  if (good && cause) stack[count++] = (entry){cause, 0, false};
  while (count && good) {
    entry at = stack[--count];
    if (!(at.cause & IR_CAUSE_SET)) {
      bool result = at.cause & IR_CAUSE_RESULT && !at.part && !at.by;
      good = ir_cause_add(o->mem, (ir_cause_item){at.cause & ~IR_CAUSE_RESULT, at.by, result}, out);
      continue;
    }
    bool known = false;
    for (size_t i = 0; i < seen_count && !known; i++)
      known = seen[i].cause == at.cause && seen[i].by == at.by && seen[i].part == at.part;
    if (known) continue;
    const ir_cause_set *s = &o->sets[at.cause & ~IR_CAUSE_SET];
    good = IR_RESERVE(o->mem, stack, cap, count + 2) && IR_RESERVE(o->mem, seen, seen_cap, seen_count + 1);
    if (!good) break;
    seen[seen_count++] = at;
    entry a = {s->a, at.by, at.part || s->kind == IR_CAUSE_PART};
    if (s->kind == IR_CAUSE_DERIVATIVE && !a.by) a.by = s->b & ~IR_CAUSE_RESULT;
    if (s->kind == IR_CAUSE_UNION) stack[count++] = (entry){s->b, at.by, at.part};
    stack[count++] = a;
  }
  ir_free(o->mem, stack, cap * sizeof *stack);
  ir_free(o->mem, seen, seen_cap * sizeof *seen);
  return good;
}

void ir_cause_items_free(const ir_mem *mem, ir_cause_items *items) {
  ir_free(mem, items->list, items->cap * sizeof *items->list);
  *items = (ir_cause_items){0};
}
