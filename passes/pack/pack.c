/* Packing: operands of contractions copied into the order in which their register tiles read them.
 *
 * Vector lanes run along a kept axis (the column) of one operand (the columns); the other operand (the rows)
 * is broadcast to them. A copy of an operand is a STORED node, a kernel of its own, into which all views of
 * the operand fold; the contraction reads it back through the inverse views.
 *
 *   panels       columns [N, K] as [N/W, K, W], where W is the columns of a tile, filled up with zeros: a
 *                tile reads its panel contiguously. The index of the copy divides the column by W, a
 *                division that a loop over tiles of W columns removes
 *   rows         [M, K], where the operand's own order has large strides along K
 *   plain        masks and elementwise work on an operand, done once and not in every tile
 *   transposed   where the last axis of the result fills lanes badly (short, or a convolution's width), or
 *                is apart in its operand, lanes run along another axis, and a copy transposes the result
 *
 * A copy of an operand that depends on constants alone takes no time: it is made once, when the program is
 * bound to them. So it pays for any number of rows, but for one, which reads each column once, only where a
 * panel, which is read in sequence, arrives faster from memory than columns of rows that are pages apart: 768
 * by 3072 f32 at 17 GB/s in place of 9.9, 3072 by 768 at 16 in place of 8.4 (AMD EPYC, one thread).
 *
 * None of this changes what is added to what in which order, but whether lanes run along the result does. So
 * shapes and views alone decide, for caches and vectors of common sizes; the target gives the width of the
 * panels, and where columns are contiguous, so that lanes run along them in either form, whether tiles are so
 * narrow that panels pay earlier; its strategy whether anything is copied. */
#include "choice.h"

#include "passes/ops/check.h"
#include "passes/patterns/constant_values.h"
#include "passes/patterns/epilogue.h"
#include "passes/patterns/online_softmax.h"

#include <string.h>

enum { MIN_PAIRED = 1 << 14 }; /* multiplications, whose pairs two copies make: as many as a launch takes */

typedef struct packer {
  ir_graph *g;
  const ir_target *target;
  const pass_strategy *strategy;
  uint8_t *ends_epilogue; /* by new node: it is in an epilogue (passes/patterns/epilogue.h) */
  size_t ends_cap;
  pass_constant_values constants;
} packer;

static ir_ref in_form(const pack_choice *k, const pass_operand *o, pack_form f, int64_t width) {
  switch (f) {
  case PACK_AS_IS: return o->value;
  case PACK_PLAIN: return pack_plain(k->c, o);
  case PACK_ROWS: return pack_rows(k->c, o);
  case PACK_PANELS: return pack_panels(k->c, o, k->column, width);
  case PACK_COLUMNS: return pack_columns(k->c, o, k->column);
  }
  return 0;
}

/* The number of terms, as passes/loops/cpu/product_tile.c counts them; 0: not known. */
static int64_t known_terms(const pass_contraction *c) {
  int64_t terms = 1, size;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!pack_has_axis(c->reduced, i)) continue;
    bool known = ir_is_const(c->g, ir_dim(c->g, ir_src(c->g, c->sum, 0), i), &size);
    terms = known && terms <= INT32_MAX ? terms * size : 0;
  }
  return terms;
}

/* What panels are chosen for. */
static pass_product product_of(const pack_choice *k) {
  const pass_contraction *c = k->c;
  pass_product p = {.dtype = c->dtype,
                    .terms = k->weights ? KEY_BLOCK : known_terms(c),
                    .rows = 1,
                    .columns = c->size[k->column]};
  uint32_t axis = pack_tile_axis(c, k->rows, k->columns);
  if (axis == IR_MAX_RANK) return p;
  int64_t step = pack_axis_stride(c, k->rows, axis);
  p.rows = pack_rows_along(c, k->rows, k->columns, axis, step);
  for (uint32_t i = 0; i < c->rank && p.terms; i++)
    if (pack_has_axis(c->reduced, i) && c->size[i] > 1 && pack_axis_stride(c, k->rows, i) == step)
      p.window = c->size[i];
  return p;
}

/* Does a kernel that copies the operand, before it is expanded to sizes that may vary, run once, when the
 * program is bound, or before a loop of many iterations? */
static bool copies_once(packer *p, const pass_contraction *c, const pass_operand *o) {
  ir_ref value = o->value;
  while (ir_op_of(p->g, value) == IR_OP_EXPAND) value = ir_src(p->g, value, 0);
  if (!pass_is_constant_value(&p->constants, p->g, value))
    return pass_is_loop_invariant(&p->constants, p->g, value);
  if (!p->target->hoists) return false;
  return pass_contraction_size(c, o->varies) <=
         IR_MAX_HOISTED_GROWTH * pass_constant_elements(&p->constants, p->g, value);
}

/* Does a tile of many rows read a line of each row of columns, or less? */
static bool reads_lines(packer *p, ir_dtype dtype) {
  enum { MANY = 1 << 10 }; /* rows and columns: any number that no tile has */
  pass_product product = {.dtype = dtype, .rows = MANY, .columns = MANY};
  return p->strategy->panel_columns &&
         p->strategy->panel_columns(p->target, &product) * ir_dtypes[dtype].bytes <= IR_CACHE_LINE_BYTES;
}

/* How often an element of either operand is used, of the one that is used less. */
static int64_t least_reuse(const pass_contraction *c) {
  int64_t a = pass_contraction_size(c, ~c->reduced & ~c->operand[0].varies),
          b = pass_contraction_size(c, ~c->reduced & ~c->operand[1].varies);
  return a < b ? a : b;
}

/* The sum of the operands in their forms. */
static ir_ref packed_as(packer *p, const pack_choice *k) {
  const pass_contraction *c = k->c;
  pass_product product = product_of(k);
  int64_t width = p->strategy->panel_columns(p->target, &product);
  ir_ref columns = in_form(k, k->columns, k->columns_form, width),
         rows = in_form(k, k->rows, k->rows_form, 0);
  bool swapped = k->columns == &c->operand[0];
  ir_ref a = swapped ? columns : rows, b = swapped ? rows : columns;
  if (k->transposed) return pack_transposed_sum(c, k->column, a, b);
  return pack_sum(c, pack_product(c, a, b), c->reduced);
}

/* The sum with as many columns as fill vectors, in panels. */
static ir_ref packed_wide(packer *p, const pack_choice *k) {
  pass_contraction wide;
  ir_ref sum = pack_wide_sum(k->c, k->column, k->wide);
  if (!sum || !pass_contraction_of(p->g, sum, &wide)) return sum;
  bool swapped = k->columns == &k->c->operand[0];
  pack_choice made = *k;
  for (int i = 0; i < 2; i++) wide.operand[i].epilogue = k->c->operand[i].epilogue;
  made.c = &wide, made.columns = &wide.operand[!swapped], made.rows = &wide.operand[swapped];
  return packed_as(p, &made);
}

/* May several products of narrow integers be one term of the contraction? */
static bool reads_narrow(packer *p, const pass_contraction *c) {
  return p->strategy->panel_columns && pass_contraction_size(c, UINT32_MAX) >= MIN_PAIRED &&
         least_reuse(c) >= PASS_REUSE_GATHERED &&
         (ir_is_float(c->dtype) ? p->g->relaxed : p->target->has_dot2 || p->target->has_dot4) &&
         pass_contraction_reuses(c);
}

/* The sum with four or two products in each term; *more: what is to be added to it, or 0. */
static ir_ref narrowed(packer *p, const pass_contraction *c, ir_ref *more) {
  bool constant[2];
  ir_ref made = c->sum;
  if (ir_is_float(c->dtype)) return pack_bf16_pairs(c, p->target->has_fma2);
  for (int i = 0; i < 2 && p->target->has_dot4; i++) constant[i] = copies_once(p, c, &c->operand[i]);
  if (p->target->has_dot4) made = pack_quads(c, constant, more);
  return made == c->sum && p->target->has_dot2 && !pack_is_window(c, &c->operand[0]) &&
                 !pack_is_window(c, &c->operand[1])
             ? pack_pairs(c)
             : made;
}

static ir_ref packed(packer *p, ir_ref sum) {
  ir_graph *g = p->g;
  pass_contraction c;
  if (!pass_contraction_of(g, sum, &c)) return sum;
  pass_rescaled rescaled;
  bool in_blocks = pass_rescaled_of(g, sum, &rescaled);
  ir_ref once = in_blocks ? sum : pack_without_repeats(&c);
  if (once != sum) {
    const ir_node *shape = ir_get(g, ir_shape(g, sum));
    once = packed(p, once);
    return once ? op_grow(g, once, shape->src, shape->nsrc) : 0;
  }
  if (p->strategy->panel_columns && !in_blocks && pass_contraction_reuses(&c)) {
    ir_ref joined = pack_join_rows(&c);
    if (joined != sum) return joined ? packed(p, joined) : 0;
    const ir_node *shape = ir_get(g, ir_shape(g, sum));
    ir_ref merged = pack_merge_axes(&c);
    if (merged != sum) return merged ? op_reshape_known(g, packed(p, merged), shape->src, shape->nsrc) : 0;
  }
  if (!(in_blocks && ir_is_float(c.dtype)) && reads_narrow(p, &c)) {
    ir_ref more = 0, pairs = narrowed(p, &c, &more);
    if (more) {
      pairs = packed(p, pairs);
      return pairs ? ir_binary(g, IR_OP_ADD, pairs, more) : 0;
    }
    if (pairs != sum && (!(sum = pairs) || !pass_contraction_of(g, sum, &c))) return sum;
  }
  for (int i = 0; i < 2; i++)
    c.operand[i].epilogue = c.operand[i].base < p->ends_cap && p->ends_epilogue[c.operand[i].base];
  pack_choice k = {.c = &c};
  for (int i = 0; i < 2; i++) k.constant[i] = copies_once(p, &c, &c.operand[i]);
  if (!pass_contraction_reuses(&c)) {
    if (!p->strategy->panel_columns) return sum;
    bool streams =
        (k.constant[0] || k.constant[1]) && pack_choose_column(&k) && k.columns_form == PACK_PANELS;
    return streams && !k.transposed && !k.wide ? packed_as(p, &k) : pack_windowed_sum(&c, k.constant);
  }
  k.reads_lines = reads_lines(p, c.dtype);
  if (in_blocks && !rescaled.late && rescaled.depth) k.weights = &c.operand[rescaled.path[0].through];
  if (p->strategy->panel_columns && pack_choose_column(&k))
    return k.wide ? pack_narrow_result(&c, k.column, packed_wide(p, &k)) : packed_as(p, &k);
  return pack_sum(&c, pack_product(&c, c.operand[0].value, c.operand[1].value), c.reduced);
}

/* Packs a sum; late factors of a sum in blocks of terms are applied after it. `live`: the nodes of the graph,
 * of which `was` has become `sum`. */
static ir_ref pack_sum_node(packer *p, ir_ref sum, ir_ref was, const ir_ref *live, size_t count) {
  ir_graph *g = p->g;
  pass_rescaled rescaled;
  pass_late late;
  if (!pass_rescaled_of(g, was, &rescaled) || !rescaled.late || !pass_owns_terms(g, &rescaled, live, count) ||
      !pass_rescaled_of(g, sum, &rescaled) || !pass_split_late_factors(g, &rescaled, &late))
    return packed(p, sum);
  return pass_apply_late_factors(g, &late, packed(p, late.sum));
}

static bool mark_epilogue(packer *p, ir_ref node) {
  size_t cap = p->ends_cap;
  if (!IR_RESERVE(p->g->mem, p->ends_epilogue, p->ends_cap, (size_t)node + 1)) return false;
  memset(p->ends_epilogue + cap, 0, p->ends_cap - cap);
  p->ends_epilogue[node] = 1;
  return true;
}

static bool pack_all(packer *p, ir_ref *map, const ir_ref *live, size_t count, const uint8_t *epilogues) {
  ir_graph *g = p->g;
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    bool sum = ir_op_of(g, live[i]) == IR_OP_SUM;
    ir_ref made = ir_remake_mapped(g, live[i], map);
    ir_cause before = ir_cause_enter(g, live[i]);
    if (made && sum) made = pack_sum_node(p, made, live[i], live, count);
    ir_cause_leave(g, before, live[i], made);
    if (ir_gives_up(g->error->status)) made = 0; /* what is known of an operand may be incomplete */
    good = (map[live[i]] = made) != 0 && (!(epilogues[live[i]] & PASS_EPILOGUE) || mark_epilogue(p, made));
  }
  return good;
}

ir_ref pass_pack_copies(ir_graph *g, ir_ref results, const ir_target *target, const pass_strategy *strategy) {
  packer p = {.g = g, .target = target, .strategy = strategy};
  ir_ref *live = NULL, *map = ir_alloc(g->mem, ((size_t)results + 1) * sizeof *map), root = 0;
  uint8_t *epilogues = ir_alloc(g->mem, (size_t)results + 1);
  size_t count = 0, cap = 0;
  if (map && epilogues && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) {
    pass_epilogues(g, live, count, NULL, 0, epilogues);
    if (pass_constant_values_in_loops(&p.constants, g, live, count) &&
        pack_all(&p, map, live, count, epilogues))
      root = map[results];
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory packing the operands of a product");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, map, map ? ((size_t)results + 1) * sizeof *map : 0);
  ir_free(g->mem, epilogues, epilogues ? (size_t)results + 1 : 0);
  ir_free(g->mem, p.ends_epilogue, p.ends_cap);
  pass_constant_values_free(&p.constants, g);
  return root;
}
