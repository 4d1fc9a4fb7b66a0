/* Letters of axes, and how operations pass them on: a rule for each class of operations. */
#include "ir/letters.h"

#include <string.h>

ir_letters ir_letters_of(const ir_graph *g, ir_ref ref) {
  return ref < g->letters_cap ? g->letters[ref] : (ir_letters){{0}, {0}, {0}};
}

bool ir_has_letters(const ir_graph *g, ir_ref ref) {
  static const ir_letters none;
  return ref < g->letters_cap && memcmp(&g->letters[ref], &none, offsetof(ir_letters, met)) != 0;
}

int ir_letter_axis(const ir_graph *g, ir_ref ref, char letter) {
  uint32_t rank = ir_rank(g, ref);
  for (uint32_t i = 0; i < rank && letter && ref < g->letters_cap; i++)
    if (g->letters[ref].axis[i] == letter) return (int)i;
  return -1;
}

bool ir_letters_reserve(ir_graph *g) {
  size_t known = g->letters_cap;
  if (!IR_RESERVE(g->mem, g->letters, g->letters_cap, (size_t)g->count + 1)) return false;
  memset(g->letters + known, 0, (g->letters_cap - known) * sizeof *g->letters);
  return true;
}

bool ir_letters_set(ir_graph *g, ir_ref ref, const ir_letters *letters) {
  if (!ir_letters_reserve(g)) return false;
  g->letters[ref] = *letters;
  return true;
}

bool ir_letters_hold(const ir_letters *have, const ir_letters *wanted) {
  bool same = true;
  for (uint32_t i = 0; i < IR_MAX_RANK; i++)
    same = same && (!wanted->axis[i] || have->axis[i] == wanted->axis[i]) &&
           (!wanted->batch[i] || have->batch[i] == wanted->batch[i]);
  return same;
}

void ir_letters_forget(ir_graph *g) {
  ir_free(g->mem, g->letters, g->letters_cap * sizeof *g->letters);
  g->letters = NULL;
  g->letters_cap = 0;
}

/* A name for the letters, which tells a RESHAPE from others: its arg, which is 0 elsewhere. */
static int64_t name_of(ir_graph *g, const ir_letters *l) {
  char text[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < IR_MAX_RANK; i++) {
    text[i] = l->batch[i] ? l->batch[i] : '_';
    text[IR_MAX_RANK + i] = l->axis[i] ? l->axis[i] : '_';
  }
  return ir_name(g, text, sizeof text) + 1; /* 0 when memory is short */
}

static bool same_letters(const ir_letters *a, const ir_letters *b) {
  return memcmp(a->axis, b->axis, sizeof a->axis) == 0 && memcmp(a->batch, b->batch, sizeof a->batch) == 0;
}

ir_ref ir_with_letters(ir_graph *g, ir_ref ref, const ir_letters *letters) {
  ir_letters have = ir_letters_of(g, ref);
  if (same_letters(&have, letters)) return ref;
  while (ir_op_of(g, ref) == IR_OP_RESHAPE && ir_get(g, ref)->arg) ref = ir_src(g, ref, 0);
  have = ir_letters_of(g, ref);
  if (same_letters(&have, letters)) return ref;
  ir_ref src[1 + IR_MAX_RANK] = {ref};
  uint32_t rank = ir_rank(g, ref);
  for (uint32_t i = 0; i < rank; i++) src[1 + i] = ir_dim(g, ref, i);
  int64_t name = name_of(g, letters);
  ir_ref made =
      name > 0 ? ir_make_tensor(g, IR_OP_RESHAPE, ir_dtype_of(g, ref), ir_shape(g, ref), name, src, 1 + rank)
               : 0;
  return made && ir_letters_set(g, made, letters) ? made : 0;
}

/* rules */

typedef struct rule {
  ir_graph *g;
  const ir_node *n;
  ir_ref ref;
  uint32_t rank; /* of the result */
  ir_letters of; /* operand 0 */
  ir_letters out;
} rule;

/* The axis is what both say; where they differ the first stays, and the node says that they do. */
static void meet(rule *r, char *axis, char letter) {
  if (!*axis) *axis = letter;
  else if (letter && *axis != letter && !r->out.met[0]) r->out.met[0] = *axis, r->out.met[1] = letter;
}

/* The operands' axes, aligned at their ends, are those of the result. */
static void elementwise(rule *r, uint32_t first) {
  for (uint32_t k = first; k < ir_operand_count(r->n); k++) {
    ir_letters x = ir_letters_of(r->g, r->n->src[k]);
    uint32_t rank = ir_rank(r->g, r->n->src[k]);
    for (uint32_t i = 0; i < rank && rank <= r->rank; i++)
      meet(r, &r->out.axis[r->rank - rank + i], x.axis[i]);
  }
}

/* Axes of equal size keep their letters, from the front as far as they go, then from the back; new axes of
 * size 1 in front have none. */
static void reshaped(rule *r) {
  ir_ref x = r->n->src[0];
  uint32_t own = ir_rank(r->g, x), front = 0;
  while (front < own && front < r->rank && ir_dim(r->g, x, front) == ir_dim(r->g, r->ref, front)) front++;
  if (own < r->rank) { /* as broadcasting adds axes */
    bool ahead = true;
    for (uint32_t i = 0; i < own; i++)
      ahead = ahead && ir_dim(r->g, x, i) == ir_dim(r->g, r->ref, r->rank - own + i);
    if (ahead) front = 0;
  }
  for (uint32_t i = 0; i < front; i++) r->out.axis[i] = r->of.axis[i];
  for (uint32_t i = 1; i <= own - front && i <= r->rank - front; i++) {
    if (ir_dim(r->g, x, own - i) != ir_dim(r->g, r->ref, r->rank - i)) break;
    r->out.axis[r->rank - i] = r->of.axis[own - i];
  }
}

/* Axis `at` of the result is new, or, where drops, one of the operand is gone. */
static void moved(rule *r, int64_t at, bool drops) {
  for (uint32_t i = 0; i < r->rank; i++) {
    if (!drops && i == at) continue;
    uint32_t from = drops ? i + (i >= at) : i - (i > at);
    r->out.axis[i] = from < IR_MAX_RANK ? r->of.axis[from] : 0;
  }
}

static void reduced(rule *r) {
  uint32_t own = ir_rank(r->g, r->n->src[0]), to = 0;
  bool keeps = own == r->rank;
  for (uint32_t i = 0; i < own && to < r->rank; i++)
    if (keeps || !ir_reduces_axis(r->g, r->n, i)) r->out.axis[to++] = r->of.axis[i];
}

static void multiplied(rule *r) {
  ir_letters b = ir_letters_of(r->g, r->n->src[1]);
  uint32_t rank = ir_rank(r->g, r->n->src[0]);
  if (rank != ir_rank(r->g, r->n->src[1]) || rank < 2) return;
  char inner = r->of.axis[rank - 1];
  meet(r, &inner, b.axis[rank - 2]);
  for (uint32_t i = 0; i + 2 < rank; i++) r->out.axis[i] = r->of.axis[i], meet(r, &r->out.axis[i], b.axis[i]);
  r->out.axis[rank - 2] = r->of.axis[rank - 2];
  r->out.axis[rank - 1] = b.axis[rank - 1];
}

static void gathered(rule *r) {
  ir_letters at = ir_letters_of(r->g, r->n->src[1]);
  uint32_t axis = (uint32_t)ir_arg_int(r->n), shared = (uint32_t)ir_arg_small(r->n), to = 0;
  uint32_t own = ir_rank(r->g, r->n->src[0]), places = ir_rank(r->g, r->n->src[1]);
  bool lone = places == shared + 1; /* elements of the same axis */
  for (uint32_t i = 0; i < axis; i++) r->out.axis[to++] = r->of.axis[i];
  for (uint32_t i = shared; i < places && to < r->rank; i++)
    r->out.axis[to++] = at.axis[i] ? at.axis[i] : lone ? r->of.axis[axis] : 0;
  for (uint32_t i = axis + 1; i < own && to < r->rank; i++) r->out.axis[to++] = r->of.axis[i];
}

static void viewed(rule *r) {
  const ir_node *n = r->n;
  switch ((ir_op)n->op) {
  case IR_OP_PERMUTE:
    for (uint32_t i = 0; i < r->rank; i++) {
      int64_t from = ir_get(r->g, n->src[1 + i])->arg;
      r->out.axis[i] = from >= 0 && from < IR_MAX_RANK ? r->of.axis[from] : 0;
    }
    break;
  case IR_OP_RESHAPE: reshaped(r); break;
  case IR_OP_UNSQUEEZE: moved(r, ir_arg_int(n), false); break;
  case IR_OP_SQUEEZE:
  case IR_OP_POINT: moved(r, ir_arg_int(n), true); break;
  case IR_OP_CONCAT: elementwise(r, 0); break;
  case IR_OP_STACK:
    for (uint32_t k = 0; k < n->nsrc; k++) {
      r->of = ir_letters_of(r->g, n->src[k]);
      for (uint32_t i = 0; i + 1 < r->rank; i++)
        meet(r, &r->out.axis[i + (i >= ir_arg_int(n))], r->of.axis[i]);
    }
    break;
  default: elementwise(r, 0); /* windows, padding, steps: axes stay */
  }
}

/* The batch: those of operands align at their ends. */
static void batched(rule *r) {
  uint32_t lead = ir_batch_rank(r->g, r->ref), own;
  for (uint32_t k = 0; k < ir_operand_count(r->n); k++) {
    ir_letters x = ir_letters_of(r->g, r->n->src[k]);
    own = ir_batch_rank(r->g, r->n->src[k]);
    for (uint32_t i = 0; i < own && own <= lead; i++) meet(r, &r->out.batch[lead - own + i], x.batch[i]);
  }
}

/* The letters of all axes in memory, of which the first `lead` are the batch's. */
static void split_batch(rule *r, const char *all, uint32_t lead, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (i < lead) r->out.batch[i] = all[i];
    else if (i - lead < IR_MAX_RANK) r->out.axis[i - lead] = all[i];
}

/* An axis becomes the first of the batch, or the first of the batch an axis; or other axes are the batch. */
static void rebatched(rule *r) {
  ir_ref x = r->n->src[0];
  uint32_t own = ir_batch_rank(r->g, x), lead = ir_batch_rank(r->g, r->ref), rank = ir_rank(r->g, x);
  uint32_t at = (uint32_t)(int32_t)r->n->arg;
  if (r->n->op == IR_OP_REBATCH) {
    char all[2 * IR_MAX_RANK] = {0};
    memcpy(all, r->of.batch, own);
    memcpy(all + own, r->of.axis, rank);
    split_batch(r, all, lead, own + rank);
  } else if (r->n->op == IR_OP_BATCH) {
    r->out.batch[0] = at < rank ? r->of.axis[at] : 0;
    for (uint32_t i = 0; i < own && own < lead; i++) r->out.batch[lead - own + i] = r->of.batch[i];
    moved(r, at, true);
  } else {
    moved(r, at, false);
    bool has = own == (uint32_t)(r->n->arg >> 32 & 255);
    if (has && at < r->rank) r->out.axis[at] = r->of.batch[0];
    for (uint32_t i = 0; i < lead; i++) r->out.batch[i] = own >= lead ? r->of.batch[own - lead + i] : 0;
  }
}

/* Of two axes with one letter the second has none. */
static void once(rule *r) {
  for (uint32_t i = 0; i < r->rank; i++)
    for (uint32_t k = 0; k < i; k++)
      if (r->out.axis[k] == r->out.axis[i]) r->out.axis[i] = 0;
}

void ir_letters_derive(ir_graph *g, ir_ref ref) {
  rule r = {.g = g, .n = ir_get(g, ref), .ref = ref, .rank = ir_rank(g, ref)};
  bool any = false;
  for (uint32_t k = 0; k < ir_operand_count(r.n) && !any; k++) any = ir_has_letters(g, r.n->src[k]);
  if (!any) return;
  r.of = ir_letters_of(g, r.n->src[0]);
  ir_op op = (ir_op)r.n->op;
  switch (ir_ops[op].cls) {
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY: elementwise(&r, 0); break;
  case IR_CLASS_REDUCE: reduced(&r); break;
  case IR_CLASS_CONTRACT: multiplied(&r); break;
  case IR_CLASS_VIEW:
    if (op == IR_OP_REBATCH || op == IR_OP_BATCH || op == IR_OP_UNBATCH) rebatched(&r);
    else viewed(&r);
    break;
  case IR_CLASS_INDIRECT:
    if (op == IR_OP_GATHER) gathered(&r);
    else memcpy(r.out.axis, r.of.axis, sizeof r.out.axis);
    break;
  case IR_CLASS_ORDERED: memcpy(r.out.axis, r.of.axis, sizeof r.out.axis); break;
  default: return;
  }
  if (op != IR_OP_REBATCH && op != IR_OP_BATCH && op != IR_OP_UNBATCH) batched(&r);
  once(&r);
  g->letters[ref] = r.out;
}
