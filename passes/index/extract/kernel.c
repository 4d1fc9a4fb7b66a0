/* The accesses of a kernel: their cheapest form, which is printed, and back to the canonical one, which
 * loops are made from. */
#include "cheapest.h"

/* How an access is rewritten; false when memory is short. */
typedef bool (*access_form)(ir_graph *g, pass_known_accesses *known, ir_ref *index, ir_ref *valid);

typedef struct rewriting {
  ir_graph *g;
  access_form form;
  pass_known_accesses *known;
  ir_ref *live, *map;
  size_t count, cap, nodes;
  uint8_t *below; /* by node: does an index depend on it? */
} rewriting;

static bool begin(rewriting *r, ir_ref root) {
  ir_graph *g = r->g;
  r->nodes = (size_t)root + 1;
  r->map = ir_alloc(g->mem, r->nodes * sizeof *r->map);
  r->below = ir_alloc(g->mem, r->nodes);
  if (!r->map || !r->below || ir_reachable_in_order(g, &root, 1, &r->live, &r->count, &r->cap) != IR_OK)
    return false;
  for (size_t i = 0; i < r->count; i++) r->below[r->live[i]] = 0; /* of other nodes nothing is asked */
  return true;
}

static void end(rewriting *r) {
  ir_free(r->g->mem, r->live, r->cap * sizeof *r->live);
  ir_free(r->g->mem, r->map, r->nodes * sizeof *r->map);
  ir_free(r->g->mem, r->below, r->nodes);
}

/* Marks what indices, validities and extents depend on: it stays as it is, loads included. */
static void mark(rewriting *r) {
  for (size_t i = r->count; i-- > 0;) {
    const ir_node *n = ir_get(r->g, r->live[i]);
    bool all = r->below[r->live[i]] || n->op == IR_OP_RANGE;
    for (uint32_t k = 0; k < n->nsrc; k++) {
      bool index = n->op == IR_OP_LOAD ? k == 1 || k == 2 : ir_dtype_of(r->g, n->src[k]) == IR_INDEX;
      if (all || index) r->below[n->src[k]] = 1;
    }
  }
}

/* The node with the new forms of what it depends on; 0 on failure. */
static ir_ref rewrite(rewriting *r, ir_ref ref) {
  ir_graph *g = r->g;
  const ir_node *n = ir_get(g, ref);
  ir_ref few[8], *src = few; /* a load has four operands; longer ones are rare */
  if (n->nsrc > 8 && !(src = ir_alloc(g->mem, n->nsrc * sizeof *src))) return 0;
  uint32_t count = n->nsrc;
  bool changed = false, done = true;
  for (uint32_t k = 0; k < count; k++) src[k] = r->map[n->src[k]];
  if (n->op == IR_OP_LOAD) done = r->form(g, r->known, &src[1], &src[2]);
  n = ir_get(g, ref);
  for (uint32_t k = 0; k < count; k++) changed |= src[k] != n->src[k];
  ir_ref made = !done ? 0 : changed ? ir_make(g, (ir_op)n->op, (ir_dtype)n->dtype, n->arg, src, count) : ref;
  if (src != few) ir_free(g->mem, src, count * sizeof *src);
  return made;
}

static ir_ref rewrite_accesses(ir_graph *g, ir_ref root, access_form form, pass_known_accesses *known) {
  pass_known_accesses none = {0};
  rewriting r = {.g = g, .form = form, .known = known ? known : &none};
  ir_ref made = 0;
  bool done = begin(&r, root);
  if (done) mark(&r);
  for (size_t i = 0; i < r.count && done; i++) {
    ir_ref ref = r.live[i];
    r.map[ref] = r.below[ref] ? ref : rewrite(&r, ref);
    done = r.map[ref] != 0;
  }
  if (done) made = r.map[root];
  else if (g->error->status == IR_OK) ir_fail(g->error, IR_ERR_MEMORY, "out of memory rewriting indices");
  end(&r);
  pass_known_accesses_free(g->mem, &none);
  return made;
}

/* A validity of known canonical form has an entry in which it stands for the index, too. */
static void keep_canonical_validity(ir_graph *g, pass_known_accesses *known, ir_ref valid, ir_ref canonical) {
  if (valid == canonical || cheapest_is_canonical(g, valid, canonical))
    access_keep(g->mem, &known->canonical, (pass_known_access){valid, valid, canonical, canonical});
}

static bool extract_access(ir_graph *g, pass_known_accesses *known, ir_ref *index, ir_ref *valid) {
  pass_known_access access = {.index = *index, .valid = *valid};
  if (access_known(&known->extracted, index, valid)) return true;
  if (!pass_extract_access(g, index, valid)) return false;
  access.index_to = *index, access.valid_to = *valid;
  access_keep(g->mem, &known->extracted, access);
  keep_canonical_validity(g, known, *valid, access.valid);
  return true;
}

static bool canonical_access(ir_graph *g, pass_known_accesses *known, ir_ref *index, ir_ref *valid) {
  pass_known_access access = {.index = *index, .valid = *valid};
  ir_ref same = *valid;
  if (access_known(&known->canonical, index, valid)) return true;
  if (!access_known(&known->canonical, &same, valid)) *valid = cheapest_canonical_validity(g, *valid);
  *index = *valid ? cheapest_canonical_index(g, *index, *valid) : 0;
  access.index_to = *index, access.valid_to = *valid;
  if (*index) access_keep(g->mem, &known->canonical, access);
  return *index != 0;
}

bool pass_canonical_access(ir_graph *g, ir_ref *index, ir_ref *valid) {
  *valid = cheapest_canonical_validity(g, *valid);
  *index = *valid ? cheapest_canonical_index(g, *index, *valid) : 0;
  return *index != 0;
}

ir_ref pass_extract_kernel(ir_graph *g, ir_ref root, pass_known_accesses *known) {
  return rewrite_accesses(g, root, extract_access, known);
}

ir_ref pass_canonical_kernel(ir_graph *g, ir_ref root, pass_known_accesses *known) {
  return rewrite_accesses(g, root, canonical_access, known);
}
