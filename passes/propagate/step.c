/* One step of an operation: collect, resolve, update. */
#include "impl.h"

#include <string.h>

/* What divides a factor, and who holds it. */
typedef struct candidate {
  propagate_axes axes;
  uint32_t priority, term; /* the first term that has these axes */
  double bytes;            /* of the largest value that would have to be divided otherwise without them */
} candidate;

typedef struct step {
  propagate_state *s;
  propagate_op *op;
  candidate factors[OP_FACTORS_MAX];
  uint32_t most;
} step;

static const propagate_term *term_at(const step *t, uint32_t i) {
  return &t->s->terms[t->op->first_term + i];
}
static propagate_value *value_at(const step *t, uint32_t i) { return &t->s->values[term_at(t, i)->value]; }
static const propagate_dim *dim_at(const step *t, uint32_t term, uint32_t d) {
  return &t->s->dims[term_at(t, term)->first + d];
}
static uint32_t common(const propagate_axes *a, const propagate_axes *b) {
  uint32_t n = 0;
  while (n < a->count && n < b->count && ir_subaxes_equal(a->axes[n], b->axes[n])) n++;
  return n;
}

static bool note(step *t, uint32_t winner, uint32_t loser, const candidate *won, const candidate *lost) {
  propagate_notes *notes = t->s->notes;
  ir_graph *g = t->s->g;
  if (t->op->noted || ir_op_of(g, t->op->node) == IR_OP_SHARD) return true; /* a constraint is meant */
  if (!IR_RESERVE(g->mem, notes->notes, notes->cap, notes->count + 1))
    return ir_fail(g->error, IR_ERR_MEMORY, "propagation: out of memory") == IR_OK;
  t->op->noted = true;
  propagate_note *n = &notes->notes[notes->count++];
  *n = (propagate_note){.node = t->op->node,
                        .priority = (uint16_t)lost->priority,
                        .loser = value_at(t, lost->term)->node,
                        .bytes = lost->bytes};
  memcpy(n->winner, t->s->factors[t->op->first_factor + winner].name, sizeof n->winner);
  memcpy(n->factor, t->s->factors[t->op->first_factor + loser].name, sizeof n->factor);
  n->axes[0] = won->axes.axes[0], n->axes[1] = lost->axes.axes[0];
  return true;
}

/* A factor has one candidate, and a value brings another. */
static bool resolve(step *t, uint32_t factor, const candidate *new) {
  candidate *have = &t->factors[factor];
  if (!new->axes.count) return true;
  uint32_t same = common(&have->axes, &new->axes);
  bool extends = same == have->axes.count, within = same == new->axes.count;
  if (!have->axes.count || (extends && !within && new->priority <= have->priority)) {
    double bytes = have->bytes > new->bytes ? have->bytes : new->bytes;
    *have = *new;
    have->bytes = bytes;
    return true;
  }
  if (extends || within) {
    if (within && !extends && new->priority < have->priority) *have = *new;
    if (new->bytes > have->bytes) have->bytes = new->bytes;
    return true;
  }
  candidate old = *have;
  bool wins = new->priority < have->priority || (new->priority == have->priority &&new->bytes > have->bytes);
  if (wins) *have = *new;
  return note(t, factor, factor, wins ? new : &old, wins ? &old : new);
}

static bool collect(step *t) {
  propagate_axes of[sizeof((propagate_dim *)0)->factors];
  for (uint32_t i = 0; i < t->op->terms; i++) {
    const propagate_value *v = value_at(t, i);
    for (uint32_t d = 0; d < term_at(t, i)->rank; d++) {
      uint32_t count;
      const ir_subaxis *axes = ir_spec_axes(&v->spec, d, &count);
      const propagate_dim *dim = dim_at(t, i, d);
      if (!count || !dim->count || v->spec.priority[d] > t->most) continue;
      propagate_expand(t->s, t->op, dim, axes, count, of);
      for (uint32_t k = 0; k < dim->count; k++) {
        candidate new = {.axes = of[k], .priority = v->spec.priority[d], .term = i, .bytes = v->bytes};
        if (!resolve(t, dim->factors[k], &new)) return false;
      }
    }
  }
  return true;
}

/* An axis that two factors want goes to the one of the stronger priority, then of the larger value, then of
 * the earlier operand. */
static bool separate(step *t) {
  for (uint32_t a = 0; a < t->op->factors; a++)
    for (uint32_t b = a + 1; b < t->op->factors; b++) {
      candidate *x = &t->factors[a], *y = &t->factors[b];
      for (uint32_t i = 0; i < x->axes.count; i++)
        for (uint32_t k = 0; k < y->axes.count; k++) {
          if (!ir_subaxes_overlap(x->axes.axes[i], y->axes.axes[k])) continue;
          bool equal = x->priority == y->priority;
          bool first = equal ? x->bytes > y->bytes || (x->bytes == y->bytes && x->term <= y->term)
                             : x->priority < y->priority;
          if (!(first ? note(t, a, b, x, y) : note(t, b, a, y, x))) return false;
          if (first) y->axes.count = (uint8_t)k;
          else x->axes.count = (uint8_t)i;
        }
    }
  return true;
}

/* Is the axis taken in the value, outside of that dimension? */
static bool is_taken(const ir_spec *spec, uint32_t dim, ir_subaxis x) {
  for (uint32_t p = 0; p < IR_PLACES; p++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, p, &count);
    for (uint32_t i = 0; i < count && p != dim; i++)
      if (ir_subaxes_overlap(axes[i], x)) return true;
  }
  return false;
}

static bool update_dim(step *t, uint32_t term, uint32_t d) {
  propagate_value *v = value_at(t, term);
  const propagate_dim *dim = dim_at(t, term, d);
  propagate_axes all[OP_FACTORS_MAX];
  ir_subaxis axes[IR_SUBAXES];
  uint32_t have, priority = IR_PRIORITY_MOST;
  if (!dim->count || !v->spec.open[d]) return false;
  for (uint32_t k = 0; k < dim->count; k++) {
    const candidate *c = &t->factors[dim->factors[k]];
    all[dim->factors[k]] = c->axes;
    if (c->axes.count && c->priority < priority) priority = c->priority;
  }
  uint32_t count = propagate_join(t->s, t->op, dim, all, axes);
  const ir_subaxis *old = ir_spec_axes(&v->spec, d, &have);
  for (uint32_t i = 0; i < count; i++)
    if (is_taken(&v->spec, d, axes[i])) count = i;
  if (count <= have) {
    bool longer = count == have && count && axes[count - 1].size > old[count - 1].size;
    if (!longer) return false;
  }
  for (uint32_t i = 0; i < have; i++) {
    bool begins =
        ir_subaxes_equal(old[i], axes[i]) || (i + 1 == have && old[i].axis == axes[i].axis &&
                                              old[i].pre == axes[i].pre && axes[i].size % old[i].size == 0);
    if (!begins) return false;
  }
  ir_spec_clear(&v->spec, d);
  for (uint32_t i = 0; i < count; i++) ir_spec_push(&v->spec, d, axes[i]);
  v->spec.priority[d] = (uint16_t)priority;
  return v->changed = true;
}

bool propagate_step(propagate_state *s, propagate_op *op, uint32_t most) {
  step t;
  t.s = s, t.op = op, t.most = most;
  for (uint32_t i = 0; i < op->factors; i++) t.factors[i].axes.count = 0, t.factors[i].bytes = 0;
  if (!collect(&t) || !separate(&t)) return false;
  for (uint32_t k = 0; k < op->terms; k++) {
    uint32_t i = k == 0 ? op->terms - 1u : k - 1; /* the result first */
    bool changed = false;
    for (uint32_t d = 0; d < term_at(&t, i)->rank; d++) changed |= update_dim(&t, i, d);
    if (changed) propagate_changed(s, term_at(&t, i)->value);
  }
  return true;
}
