/* Packing: operands of contractions laid out in memory as their register tiles read them.
 *
 * A contraction has one operand along whose kept axis the lanes run (the columns), and one that is broadcast
 * to them (the rows). A copy of an operand is a STORED node, a kernel of its own, into which all views of the
 * operand fold; the contraction reads it back through the inverse views.
 *
 *   panels   columns [N, K] as [N/W, K, W], W the columns of a tile, filled up with zeros: a tile reads its
 *            panel from end to end. The index of the copy divides the column by W, which a loop over tiles of
 *            W columns does away with
 *   rows     [M, K], where the operand's own order walks over memory with large steps along K
 *   plain    masks and elementwise work in front of an operand, done once and not in every tile
 *   turned   where the last axis of the result fills lanes badly (short, or a convolution's width) the lanes
 *            run along an axis of the other operand, and the result is turned back by a copy
 *
 * None of this changes what is added to what in which order, but whether lanes run along the result does. So
 * shapes and views alone decide, for caches and vectors of common sizes; the machine gives the width of the
 * panels. Where lanes are work-items nothing is copied: what a group reads again it keeps in its locals
 * (passes/loops/gpu/shared_memory.c). */
#include "pack.h"

#include "passes/index/affine.h"
#include "passes/patterns/epilogue.h"
#include "passes/patterns/online_softmax.h"

#include <string.h>

enum {
  MIN_WORK = 1 << 20,     /* multiplications that are worth a copy */
  MIN_REUSE = 32,         /* rows over which a copy of columns pays that lie side by side as they are */
  MIN_REUSE_GATHERED = 8, /* the same for columns that do not */
  FEW_TERMS = 32,         /* of which an error of one rounding each is within that of any sum */
  VECTOR = 64,            /* bytes */
  CACHE = 1 << 20,        /* the second-level cache: bytes, ways, bytes of a line */
  WAYS = 16,
  LINE = 64,
  PAGE = 4096,
  TLB_ENTRIES = 128, /* pages that are found at once, or nearly */
  COPY = 8,          /* multiplications in lanes that take as long as copying an element */
  TURN = 20          /* the same when neighbours in memory change */
};

static const double CLEARLY = 1.05; /* better than the usual order, which has one kernel less */
static const double UNALIGNED = 1.1, GATHERED = 4;

typedef struct packer {
  ir_graph *g;
  const ir_target *target;
  uint8_t *ends_tail; /* by node made: the end of a tail, or in one (passes/patterns/epilogue.h) */
  size_t ends_cap;
} packer;

typedef enum form { AS_IS, PLAIN, ROWS, PANELS } form;

/* Which operand has the columns, and how both are read. */
typedef struct packing {
  const pass_contraction *c;
  uint32_t column; /* the axis of the lanes */
  const pass_operand *across, *down;
  form across_form, down_form;
  bool turned;
  const pass_operand
      *weights; /* of a sum whose terms come in blocks (passes/patterns/online_softmax.h); otherwise NULL */
} packing;

static bool has(uint32_t set, uint32_t axis) { return set >> axis & 1; }

/* how an operand lies in memory */

static bool is_plain(const ir_graph *g, const pass_operand *o) {
  const ir_node *n = ir_get(g, o->base);
  if (o->tail) return true;
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_LEAF: return n->op != IR_OP_IOTA && n->op != IR_OP_CONST;
  case IR_CLASS_REDUCE:
  case IR_CLASS_ORDERED:
  case IR_CLASS_CUSTOM: return true;
  default: return n->op == IR_OP_STORED || n->op == IR_OP_RESULT || ir_scatters((ir_op)n->op);
  }
}

/* Elements between neighbours along the axis; a huge number where that is not the same everywhere. */
static int64_t step_along(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  int64_t step;
  if (!has(o->along, axis)) return 0;
  if (!loop_stride(c->g, o->index, c->range[axis], &step)) return INT64_MAX;
  return step < 0 ? -step : step;
}

/* The summed axis with the most positions, and the least step along any. */
static int64_t longest_step(const pass_contraction *c, const pass_operand *o, int64_t *count,
                            int64_t *least) {
  int64_t step = 0;
  *count = 1, *least = INT64_MAX;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!has(c->reduced & o->along, i) || c->size[i] == 1) continue;
    int64_t here = step_along(c, o, i);
    if (c->size[i] > *count) *count = c->size[i], step = here;
    if (here < *least) *least = here;
  }
  return step;
}

/* Do `count` pieces of memory, `step` elements apart, stay in the cache while others pass through? A cache of
 * WAYS ways has CACHE / WAYS / LINE sets, of which a power of two in the step leaves out most. */
static bool stays_in_cache(const pass_contraction *c, int64_t count, int64_t step) {
  int64_t bytes = ir_dtypes[c->dtype].bytes, way = CACHE / WAYS, apart;
  if (step > INT32_MAX) return false;
  apart = step * bytes;
  if (apart < LINE) return true;
  if (apart >= PAGE && count > TLB_ENTRIES) return false;
  int64_t common = apart & -apart; /* sets that are met: way / the greatest power of two in the step */
  int64_t sets = common >= way ? 1 : way / (common > LINE ? common : LINE);
  return count <= sets * WAYS / 2;
}

/* Does the operand read most elements of its base several times? */
static bool is_window(const pass_contraction *c, const pass_operand *o) {
  return pack_elements(c->g, o->base) < pass_contraction_size(c, o->along) / 2;
}

static bool is_masked(const pass_contraction *c, const pass_operand *o) {
  return !is_plain(c->g, o) || !ir_is_true(c->g, o->valid);
}

/* choosing */

/* Weights come in blocks that lie in the caches whatever their order. */
static form form_of_weights(const packing *k) { return is_masked(k->c, k->weights) ? PLAIN : AS_IS; }

static form form_across(const packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->across;
  if (o == k->weights) return form_of_weights(k);
  int64_t count, least, step = longest_step(c, o, &count, &least), fixed,
                        reuse = pass_contraction_size(c, ~c->reduced & ~o->along);
  if (k->weights && count > KEY_BLOCK) count = KEY_BLOCK;
  if (is_window(c, o)) return is_masked(c, o) ? PLAIN : AS_IS;
  if (!ir_is_const(c->g, ir_dim(c->g, o->value, k->column), &fixed) || c->rank == IR_MAX_RANK) return AS_IS;
  bool beside = !is_masked(c, o) && step_along(c, o, k->column) == 1;
  if (beside && (reuse < MIN_REUSE || stays_in_cache(c, count, step))) return AS_IS;
  return reuse < MIN_REUSE_GATHERED ? AS_IS : PANELS;
}

static form form_down(const packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->down;
  if (o == k->weights) return form_of_weights(k);
  int64_t count, least, step = longest_step(c, o, &count, &least);
  if (least <= PACK_NEAR || is_window(c, o) || stays_in_cache(c, count, step))
    return is_masked(c, o) ? PLAIN : AS_IS;
  return ROWS;
}

static double copying(const packing *k, const pass_operand *o, form f) {
  if (f == AS_IS) return 0;
  bool turns = f == ROWS || (f == PANELS && step_along(k->c, o, k->column) != 1);
  return (turns ? (double)TURN : (double)COPY) * (double)pass_contraction_size(k->c, o->along);
}

/* In multiplications. Lanes that are left over are done in halves of vectors; those of a window are not
 * aligned, and cannot be packed. */
static double cost(const packing *k) {
  const pass_contraction *c = k->c;
  int64_t size = c->size[k->column], lanes = VECTOR / ir_dtypes[c->dtype].bytes, vectors = size / lanes;
  for (int64_t rest = size % lanes; rest; rest &= rest - 1) vectors++;
  double all = (double)pass_contraction_size(c, UINT32_MAX),
         work = all * (double)(vectors * lanes) / (double)size;
  bool apart = k->across_form != PANELS && step_along(c, k->across, k->column) != 1;
  if (is_window(c, k->across)) work *= UNALIGNED;
  if (apart) work *= GATHERED;
  if (k->turned) work += (double)TURN * (double)pass_contraction_size(c, ~c->reduced);
  return work + copying(k, k->across, k->across_form) + copying(k, k->down, k->down_form);
}

static void choose_forms(packing *k) { k->across_form = form_across(k), k->down_form = form_down(k); }

/* The axis of the lanes: the last kept one, or one of the other operand. */
static bool choose_column(packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *a = &c->operand[0], *b = &c->operand[1];
  uint32_t last = c->rank;
  while (last > 0 && (has(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  if (last-- == 0 || has(a->along, last) == has(b->along, last)) return false;
  k->column = last;
  k->across = has(a->along, last) ? a : b, k->down = has(a->along, last) ? b : a;
  choose_forms(k);
  packing other = *k;
  other.across = k->down, other.down = k->across, other.turned = true;
  for (uint32_t i = k->weights ? 0 : c->rank; i-- > 0;) { /* turned, all blocks would be there at once */
    if (has(c->reduced, i) || !has(other.across->along, i) || has(other.down->along, i)) continue;
    other.column = i;
    choose_forms(&other);
    if (cost(&other) * CLEARLY < cost(k)) *k = other;
  }
  return true;
}

static ir_ref in_form(const packing *k, const pass_operand *o, form f, int64_t width) {
  switch (f) {
  case AS_IS: return o->value;
  case PLAIN: return pack_plain(k->c, o);
  case ROWS: return pack_rows(k->c, o);
  case PANELS: return pack_panels(k->c, o, k->column, width);
  }
  return 0;
}

/* A window of few terms that nothing else is multiplied with (a convolution channel by channel): masks in
 * front of it are done before. */
static ir_ref windowed_sum(const pass_contraction *c) {
  ir_ref made[2];
  bool windows = false;
  for (int i = 0; i < 2; i++) {
    const pass_operand *o = &c->operand[i];
    bool window = is_window(c, o);
    made[i] = window && !ir_is_true(c->g, o->valid) ? pack_plain(c, o) : o->value;
    windows |= window;
  }
  return windows ? pack_sum(c, pack_product(c, made[0], made[1]), c->reduced) : c->sum;
}

/* As passes/loops/register_tile.c counts them; 0: not known. */
static int64_t known_terms(const pass_contraction *c) {
  int64_t terms = 1, size;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!has(c->reduced, i)) continue;
    bool known = ir_is_const(c->g, ir_dim(c->g, ir_src(c->g, c->sum, 0), i), &size);
    terms = known && terms <= INT32_MAX ? terms * size : 0;
  }
  return terms;
}

/* Panels of a tile's width, or of the vectors that hold all columns. */
static int64_t panel_width(const packing *k, pass_tile tile) {
  int64_t vectors = (k->c->size[k->column] + tile.lanes - 1) / tile.lanes;
  return tile.lanes * (vectors < tile.columns ? vectors : tile.columns);
}

static ir_ref packed(packer *p, ir_ref sum) {
  ir_graph *g = p->g;
  pass_contraction c;
  if (!pass_contraction_of(g, sum, &c)) return sum;
  bool much = !p->target->lanes && pass_contraction_size(&c, UINT32_MAX) >= MIN_WORK;
  if (much && p->target->has_dot2 && pass_contraction_reuses(&c) && !is_window(&c, &c.operand[0]) &&
      !is_window(&c, &c.operand[1])) {
    ir_ref pairs = pack_pairs(&c);
    if (pairs != sum && (!(sum = pairs) || !pass_contraction_of(g, sum, &c))) return sum;
  }
  for (int i = 0; i < 2; i++)
    c.operand[i].tail = c.operand[i].base < p->ends_cap && p->ends_tail[c.operand[i].base];
  if (!pass_contraction_reuses(&c))
    return much && pass_contraction_size(&c, c.reduced) <= FEW_TERMS ? windowed_sum(&c) : sum;
  pass_rescaled rescaled;
  packing k = {.c = &c};
  if (pass_rescaled_of(g, sum, &rescaled) && !rescaled.late && rescaled.depth)
    k.weights = &c.operand[rescaled.path[0].through];
  ir_ref a = c.operand[0].value, b = c.operand[1].value;
  if (much && choose_column(&k)) {
    pass_tile tile = pass_tile_of(p->target, c.dtype, k.weights ? KEY_BLOCK : known_terms(&c));
    ir_ref across = in_form(&k, k.across, k.across_form, panel_width(&k, tile)),
           down = in_form(&k, k.down, k.down_form, 0);
    bool swapped = k.across == &c.operand[0];
    a = swapped ? across : down, b = swapped ? down : across;
    if (k.turned) return pack_turned_sum(&c, k.column, a, b);
  }
  return pack_sum(&c, pack_product(&c, a, b), c.reduced);
}

/* Sums in blocks of terms take late factors afterwards. `live` are the nodes of the graph, of which `was` has
 * become `sum`. */
static ir_ref packed_in_time(packer *p, ir_ref sum, ir_ref was, const ir_ref *live, size_t count) {
  ir_graph *g = p->g;
  pass_rescaled rescaled;
  pass_late late;
  if (!pass_rescaled_of(g, was, &rescaled) || !rescaled.late || !pass_owns_terms(g, &rescaled, live, count) ||
      !pass_rescaled_of(g, sum, &rescaled) || !pass_take_late(g, &rescaled, &late))
    return packed(p, sum);
  return pass_put_late(g, &late, packed(p, late.sum));
}

static bool mark_tail(packer *p, ir_ref node) {
  size_t cap = p->ends_cap;
  if (!IR_RESERVE(p->g->mem, p->ends_tail, p->ends_cap, (size_t)node + 1)) return false;
  memset(p->ends_tail + cap, 0, p->ends_cap - cap);
  p->ends_tail[node] = 1;
  return true;
}

static bool pack_all(packer *p, ir_ref *map, const ir_ref *live, size_t count, const uint8_t *tails) {
  ir_graph *g = p->g;
  ir_ref *src = NULL;
  size_t src_cap = 0;
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    const ir_node *n = ir_get(g, live[i]);
    bool changed = false, tail = tails[live[i]] & PASS_TAIL;
    if (!(good = IR_RESERVE(g->mem, src, src_cap, n->nsrc))) break;
    for (uint32_t s = 0; s < n->nsrc; s++) changed |= (src[s] = map[n->src[s]]) != n->src[s];
    ir_ref made = changed ? ir_remake(g, live[i], src, n->nsrc) : live[i];
    if (made && n->op == IR_OP_SUM) made = packed_in_time(p, made, live[i], live, count);
    if (g->error->status == IR_ERR_MEMORY) made = 0; /* what was found out about an operand may be wrong */
    good = (map[live[i]] = made) != 0 && (!tail || mark_tail(p, made));
  }
  ir_free(g->mem, src, src_cap * sizeof *src);
  return good;
}

ir_ref pass_pack(ir_graph *g, ir_ref results, const ir_target *target) {
  packer p = {.g = g, .target = target};
  ir_ref *live = NULL, *map = ir_alloc(g->mem, ((size_t)results + 1) * sizeof *map), root = 0;
  uint8_t *tails = ir_alloc(g->mem, (size_t)results + 1);
  size_t count = 0, cap = 0;
  if (map && tails && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) {
    pass_tails(g, live, count, NULL, 0, tails);
    if (pack_all(&p, map, live, count, tails)) root = map[results];
  }
  if (root) root = pack_reuse(g, root);
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory packing the operands of a product");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? ((size_t)results + 1) * sizeof *map : 0);
  ir_free(g->mem, tails, tails ? (size_t)results + 1 : 0);
  ir_free(g->mem, p.ends_tail, p.ends_cap);
  return root;
}
