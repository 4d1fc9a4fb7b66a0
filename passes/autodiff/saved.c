/* What the reverse of a scan keeps of an iteration, where it does not need the whole state.
 *
 * Gradients are computed from parameters and from cotangents. What depends on a state and on no cotangent can
 * be computed when the scan goes forwards, and kept in place of the state: the elements that a write
 * replaces, in place of the array. Each state is cut off from the cotangents where the least has to be kept:
 * a value itself, or, if these have fewer bytes together, what the values that are computed from it need.
 * That is a minimum cut but for values that are computed from two others, whose bytes count twice. */
#include "saved.h"

#include <string.h>

#include "ir/arith.h"

typedef struct kept_value {
  int64_t bytes;   /* to keep instead of it; while users are counted, what these need */
  bool derived;    /* depends on a cotangent */
  bool used_later; /* a value that does, or a gradient, is computed from it */
  bool cut;        /* is kept itself, if it is wanted */
  bool wanted;
} kept_value;

typedef struct saver {
  ir_graph *g;
  ir_ref *nodes; /* what the gradients are made of, ascending */
  size_t count, cap;
  kept_value *values; /* by place in nodes */
} saver;

static const int64_t MOST = INT64_MAX / 4; /* bytes of what cannot be kept; no sum of two overflows */

static size_t place_of(const saver *s, ir_ref ref) {
  size_t at = ir_find_ref(s->nodes, s->count, ref);
  return at < s->count && s->nodes[at] == ref ? at : s->count;
}

static int64_t bytes_of(ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  if (n->dtype == IR_NONE || n->dtype == IR_INDEX || n->weak || ir_batch_rank(g, ref)) return MOST;
  int64_t bytes = ir_dtypes[n->dtype].bytes;
  for (uint32_t i = 0; i < ir_rank(g, ref); i++)
    if (!ir_mul_ok(bytes, ir_bounds_of(g, ir_dim(g, ref, i)).hi, &bytes) || bytes > MOST) return MOST;
  return bytes;
}

/* Calls `visit` for the place of each different operand. */
static void for_operands(saver *s, size_t at, void (*visit)(kept_value *of, const kept_value *user)) {
  const ir_node *n = ir_get(s->g, s->nodes[at]);
  for (uint32_t i = 0; i < ir_operand_count(n); i++) {
    uint32_t first = 0;
    while (n->src[first] != n->src[i]) first++;
    size_t operand = place_of(s, n->src[i]);
    if (first == i && operand < s->count) visit(&s->values[operand], &s->values[at]);
  }
}

static void count_user(kept_value *of, const kept_value *user) {
  if (user->derived) of->used_later = true;
  else of->bytes = of->bytes + user->bytes < MOST ? of->bytes + user->bytes : MOST;
}

static void mark_derived(saver *s, const pass_refs *cotangents) {
  for (size_t i = 0; i < cotangents->count; i++) {
    size_t at = place_of(s, cotangents->at[i]);
    if (at < s->count) s->values[at].derived = true;
  }
  for (size_t i = 0; i < s->count; i++) {
    const ir_node *n = ir_get(s->g, s->nodes[i]);
    for (uint32_t k = 0; k < ir_operand_count(n) && !s->values[i].derived; k++) {
      size_t operand = place_of(s, n->src[k]);
      s->values[i].derived = operand < s->count && s->values[operand].derived;
    }
  }
}

static void choose_cuts(saver *s) {
  for (size_t i = s->count; i-- > 0;) {
    kept_value *v = &s->values[i];
    int64_t own = bytes_of(s->g, s->nodes[i]);
    v->cut = v->used_later || own <= v->bytes;
    if (v->cut) v->bytes = own;
    for_operands(s, i, count_user);
  }
}

static void want_user(saver *s, size_t at) {
  const ir_node *n = ir_get(s->g, s->nodes[at]);
  for (uint32_t k = 0; k < ir_operand_count(n) && !s->values[at].derived; k++) {
    size_t operand = place_of(s, n->src[k]);
    if (operand < s->count && s->values[operand].wanted && !s->values[operand].cut)
      s->values[at].wanted = true;
  }
}

static void list_cuts(saver *s, const pass_refs *states, pass_refs *kept) {
  for (size_t i = 0; i < states->count; i++) {
    size_t at = place_of(s, states->at[i]);
    if (at < s->count) s->values[at].wanted = true;
  }
  for (size_t i = 0; i < s->count; i++) {
    want_user(s, i);
    if (s->values[i].wanted && s->values[i].cut) pass_refs_add(kept, s->nodes[i]);
  }
}

bool pass_saved_values(const pass_refs *gradients, const pass_refs *cotangents, const pass_refs *states,
                       pass_refs *kept) {
  saver s = {.g = kept->g};
  const ir_mem *mem = s.g->mem;
  bool good = ir_reachable(s.g, gradients->at, gradients->count, &s.nodes, &s.count, &s.cap) == IR_OK;
  good = good && (s.values = ir_alloc(mem, s.count * sizeof *s.values));
  if (good) {
    memset(s.values, 0, s.count * sizeof *s.values);
    for (size_t i = 0; i < gradients->count; i++) s.values[place_of(&s, gradients->at[i])].used_later = true;
    mark_derived(&s, cotangents);
    choose_cuts(&s);
    list_cuts(&s, states, kept);
  } else {
    ir_fail(s.g->error, IR_ERR_MEMORY, "out of memory deriving a scan");
  }
  ir_free(mem, s.values, s.values ? s.count * sizeof *s.values : 0);
  ir_free(mem, s.nodes, s.cap * sizeof *s.nodes);
  return good && !kept->failed;
}
