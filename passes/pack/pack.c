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
 * panels, and its strategy whether anything is copied. */
#include "pack.h"

#include "passes/index/affine.h"
#include "passes/index/index.h"
#include "passes/ops/check.h"
#include "passes/patterns/constant_values.h"
#include "passes/patterns/epilogue.h"
#include "passes/patterns/online_softmax.h"

#include <string.h>

/* The machine that choices are made for, a server processor of 2017 to 2023; not the one at hand, as said
 * above. */
enum {
  VECTOR_BYTES = 64,   /* of AVX-512 */
  L1_BYTES = 32 << 10, /* for each core */
  L2_BYTES = 1 << 20,  /* for each core */
  L2_WAYS = 16,        /* lines of one set of the L2 cache */
  /* pages whose addresses are translated without delay, or nearly: a first level has 64 to 96 */
  TLB_ENTRIES = 128
};
/* Half and twice MIN_REUSE, PASS_REUSE_GATHERED and L2_WAYS change no workload's loops, of
 * PACK_COPY_COST, PASS_TRANSPOSE_COST and TLB_ENTRIES those of T1 and T2 alone. */
enum {
  MIN_REUSE = 32, /* rows for which a copy of contiguous columns pays */
  /* The same where the columns of a tile stay in the L2 cache as they are: then rows of 2 KiB, one below the
   * other, still leave most of the L1 cache unused. Time as it is, by that with panels, of 19 products of 64
   * to 1,000 terms and 64 to 1,536 columns on one thread: 0.80 to 1.01 for 64 rows, 0.94 to 1.45 for 128,
   * 0.98 to 1.53 for 784; 0.88 for 64 products of 128 rows, whose copies, of 4 MiB, do not stay in the
   * caches. */
  MIN_REUSE_NEAR = 128, /* where they do */
  MIN_REUSE_FAR = 256,  /* where the copies do not stay in the caches */
  /* PASS_REUSE_GATHERED is the same for columns that are not contiguous, and for constants that are near and
   * contiguous, whose copies take memory alone: of 64 to 768 terms and 192 to 768 columns 2 to 8 rows take as
   * long either way, 64 and 197 take 0.8 and 0.92 of the time from panels */
};

enum {
  FAR_BYTES = 2 * L2_BYTES, /* of a copy: with what it copies four times a cache */
  MIN_PAIRED = 1 << 14,     /* from which on words of two integers, which two copies make, are worth these */
};

/* Factors of estimated costs. */
static const double MIN_GAIN = 1.05; /* how much better than the usual order, which has one kernel less */
/* rows that are neighbours in memory, and whose terms are lines apart, as positions of a 1 x 1 convolution: a
 * tile takes a few elements of each line. Time of a copy in rows by that as it is, of 1 x 1 convolutions on 7
 * x 7 and 13 x 13 positions (f32, AVX-512, one thread), the copy excluded: 0.88 to 0.94 */
static const double APART = 1.1;
/* vectors that are not aligned: those of 64 bytes cross a line, and take two reads of the cache */
static const double UNALIGNED = 1.25;
static const double GATHERED = PASS_GATHERED_COST; /* columns that are not contiguous */
/* the same where lanes run along terms that are contiguous in both operands: a vector of either takes part in
 * two or three multiply-adds, and the sums of the lanes are added up; 50 to 70 GFLOP/s where columns have 130
 */
static const double ALONG_TERMS = 2;
/* how much longer copying takes whose source and result do not stay in an L2 cache: transposing 1000 rows of
 * 4000 f32 takes 0.47 ns for each, 16 times as long as multiplying one */
static const double FAR_COPY = 2.5;
static const double COMBINED = 128; /* to add up the lanes of a result: four to eight cycles */

typedef struct packer {
  ir_graph *g;
  const ir_target *target;
  const pass_strategy *strategy;
  uint8_t *ends_epilogue; /* by new node: it is in an epilogue (passes/patterns/epilogue.h) */
  size_t ends_cap;
  pass_constant_values constants;
} packer;

/* COLUMNS: panels of all columns, whose number is a variable, so that no panels of one width hold them. */
typedef enum form { AS_IS, PLAIN, ROWS, PANELS, COLUMNS } form;

/* Which operand has the columns, and how both are copied. */
typedef struct packing {
  const pass_contraction *c;
  uint32_t column; /* the axis of the vector lanes */
  const pass_operand *columns, *rows;
  form columns_form, rows_form;
  bool transposed;
  int64_t wide;     /* columns, with zeros behind them, that fill vectors; 0: those that there are */
  bool constant[2]; /* by operand of the contraction: it depends on constants alone */
  const pass_operand
      *weights; /* of a sum computed in blocks of terms (passes/patterns/online_softmax.h); otherwise NULL */
} packing;

static bool has_axis(uint32_t set, uint32_t axis) { return set >> axis & 1; }

/* memory order of an operand */

bool pack_is_plain(const ir_graph *g, const pass_operand *o) {
  const ir_node *n = ir_get(g, o->base);
  if (o->epilogue) return true;
  switch ((ir_class)ir_ops[n->op].cls) {
  case IR_CLASS_LEAF: return n->op != IR_OP_IOTA && n->op != IR_OP_CONST;
  case IR_CLASS_REDUCE:
  case IR_CLASS_ORDERED:
  case IR_CLASS_EXCHANGE:
  case IR_CLASS_CUSTOM: return true;
  default: return n->op == IR_OP_STORED || n->op == IR_OP_RESULT || n->op == IR_OP_ASSIGN;
  }
}

int64_t pack_axis_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  int64_t step;
  if (!has_axis(o->varies, axis)) return 0;
  if (!affine_stride(c->g, o->index, c->range[axis], &step)) return INT64_MAX;
  return step < 0 ? -step : step;
}

/* The same where it is a variable: the most, if that is not much more than the least. */
static int64_t most_stride(const pass_contraction *c, const pass_operand *o, uint32_t axis) {
  int64_t step = pack_axis_stride(c, o, axis), most;
  return step == INT64_MAX && pass_about_stride(c->g, o->index, c->range[axis], &most) ? most : step;
}

/* The stride along the longest summed axis. *count: indices of that axis; *least: the least stride along any
 * summed axis. */
static int64_t longest_stride(const pass_contraction *c, const pass_operand *o, int64_t *count,
                              int64_t *least) {
  int64_t step = 0;
  *count = 1, *least = INT64_MAX;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!has_axis(c->reduced & o->varies, i) || c->size[i] == 1) continue;
    int64_t here = most_stride(c, o, i);
    if (c->size[i] > *count) *count = c->size[i], step = here;
    if (here < *least) *least = here;
  }
  return step;
}

/* Do `count` cache lines, `step` elements apart, stay in the cache while other data stream through? A cache
 * of L2_WAYS ways has L2_BYTES / L2_WAYS / IR_CACHE_LINE_BYTES sets, most of which a step with a large power
 * of two as a factor never reaches. */
static bool stays_in_cache(const pass_contraction *c, int64_t count, int64_t step) {
  int64_t bytes = ir_dtypes[c->dtype].bytes, way = L2_BYTES / L2_WAYS, apart;
  if (step > INT32_MAX) return false;
  apart = step * bytes;
  if (apart < IR_CACHE_LINE_BYTES) return true;
  if (apart >= IR_PAGE_BYTES && count > TLB_ENTRIES) return false;
  int64_t common = apart & -apart; /* sets reached: way / the greatest power of two in the step */
  int64_t sets = common >= way ? 1 : way / (common > IR_CACHE_LINE_BYTES ? common : IR_CACHE_LINE_BYTES);
  return count <= sets * L2_WAYS / 2;
}

bool pack_is_window(const pass_contraction *c, const pass_operand *o) {
  int64_t size = pass_contraction_size(c, o->varies);
  double inside; /* where padding is what makes it larger, nothing is read several times */
  return pack_elements(c->g, o->base) < size / 2 && pack_masked_elements(c, o, &inside) < size;
}

static bool is_masked(const pass_contraction *c, const pass_operand *o) {
  return !pack_is_plain(c->g, o) || !ir_is_true(c->g, o->valid);
}

/* choosing */

static bool is_constant(const packing *k, const pass_operand *o) { return k->constant[o - k->c->operand]; }

/* Weights come in blocks that stay in the caches whatever their order. */
static form form_of_weights(const packing *k) { return is_masked(k->c, k->weights) ? PLAIN : AS_IS; }

/* Does the operand come from memory each time? */
static bool is_far(const pass_contraction *c, const pass_operand *o) {
  return pass_contraction_size(c, o->varies) > FAR_BYTES / ir_dtypes[c->dtype].bytes;
}

static form form_of_columns(const packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->columns;
  if (o == k->weights) return form_of_weights(k);
  int64_t count, least, step = longest_stride(c, o, &count, &least), fixed,
                        reuse = pass_contraction_size(c, ~c->reduced & ~o->varies);
  if (k->weights && count > KEY_BLOCK) count = KEY_BLOCK;
  if (pack_is_window(c, o)) return is_masked(c, o) ? PLAIN : AS_IS;
  bool masked = is_masked(c, o), in_order = pack_axis_stride(c, o, k->column) == 1;
  if (!ir_is_const(c->g, ir_dim(c->g, o->value, k->column), &fixed))
    return reuse < PASS_REUSE_GATHERED || (in_order && !masked) ? AS_IS : in_order ? PLAIN : COLUMNS;
  if (c->rank == IR_MAX_RANK) return AS_IS;
  bool reads_well = stays_in_cache(c, count, step);
  bool suits = !masked && in_order && reads_well; /* few rows read it as fast where it is */
  if (is_constant(k, o) && reuse < 2) return suits || masked || !in_order || !is_far(c, o) ? AS_IS : PANELS;
  if (is_constant(k, o)) return suits && reuse < PASS_REUSE_GATHERED ? AS_IS : PANELS;
  if (masked && reuse < PASS_REUSE_GATHERED) return AS_IS;
  int64_t panels_pay = !reads_well ? MIN_REUSE
                       : pass_contraction_size(c, o->varies) < L2_BYTES / ir_dtypes[c->dtype].bytes * 2
                           ? MIN_REUSE_NEAR
                           : MIN_REUSE_FAR;
  bool one_panel = (reads_well || step == fixed) && fixed <= PACK_TILE_COLUMNS; /* in the order that it has */
  if (in_order && (reuse < panels_pay || one_panel)) return masked ? PLAIN : AS_IS;
  return reuse < PASS_REUSE_GATHERED ? AS_IS : PANELS;
}

/* Do the lanes run along the terms, since the columns are not contiguous where they are read? */
static bool has_lanes_along_terms(const packing *k) {
  return k->columns_form == AS_IS && pack_axis_stride(k->c, k->columns, k->column) != 1;
}

double pack_far_copy(const pass_contraction *c, double elements) {
  return elements * ir_dtypes[c->dtype].bytes > FAR_BYTES ? FAR_COPY : 1;
}

static bool copies_columns(const packing *k) {
  return k->columns_form == PANELS || k->columns_form == COLUMNS;
}

/* Are neighbouring rows neighbours in memory, so that each of their terms lies in another line, and more than
 * the L1 cache holds? */
static bool has_rows_apart(const packing *k) {
  const pass_contraction *c = k->c;
  int64_t count, least, bytes = pass_contraction_size(c, k->rows->varies) * ir_dtypes[c->dtype].bytes;
  longest_stride(c, k->rows, &count, &least);
  return copies_columns(k) && least > PACK_MAX_STRIDE && bytes > L1_BYTES && !pack_is_window(c, k->rows);
}

/* Does a copy in rows, whose terms are neighbours, take less time than tiles of rows that lie apart lose? */
static bool rows_pay(const packing *k) {
  double elements = (double)pass_contraction_size(k->c, k->rows->varies);
  return has_rows_apart(k) && PASS_TRANSPOSE_COST * pack_far_copy(k->c, elements) * elements <
                                  (APART - 1) * (double)pass_contraction_size(k->c, UINT32_MAX);
}

static form form_of_rows(const packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->rows;
  if (o == k->weights) return form_of_weights(k);
  int64_t count, least, step = longest_stride(c, o, &count, &least);
  bool gathered = has_lanes_along_terms(k) && step > 1 && !pack_is_window(c, o);
  if (gathered &&
      PASS_TRANSPOSE_COST < (GATHERED - 1) * (double)pass_contraction_size(c, ~c->reduced & ~o->varies))
    return ROWS;
  if (rows_pay(k)) return ROWS;
  if (least <= PACK_MAX_STRIDE || pack_is_window(c, o) || stays_in_cache(c, count, step))
    return is_masked(c, o) ? PLAIN : AS_IS;
  return ROWS;
}

/* Does a copy of the operand cost nothing? One of a constant is made once. It is priced all the same where
 * columns are not contiguous and rows are many, since the transposed form, which then wins, is faster: panels
 * of constant weights of 4096 by 4096 took 1.66, 1.77 and 1.61 times as long for 8, 16 and 32 rows (f32,
 * AVX-512, one thread), 0.77 and 0.51 for 2 and 4. Panels for the transposed form are not, unless the rows
 * are windows, whose alternative reads vectors that are not aligned. */
static bool copies_for_nothing(const packing *k, const pass_operand *o) {
  int64_t reuse = pass_contraction_size(k->c, ~k->c->reduced & ~o->varies);
  bool transposed = k->transposed && !pack_is_window(k->c, k->rows);
  return is_constant(k, o) &&
         (reuse < PASS_REUSE_GATHERED || transposed || pack_axis_stride(k->c, o, k->column) == 1);
}

static double copying(const packing *k, const pass_operand *o, form f) {
  if (f == AS_IS || copies_for_nothing(k, o)) return 0;
  bool transposes = f == ROWS || f == COLUMNS || (f == PANELS && pack_axis_stride(k->c, o, k->column) != 1);
  double elements = (double)pass_contraction_size(k->c, o->varies),
         base = (double)pack_elements(k->c->g, o->base);
  if (f == PLAIN && base < elements) elements = base; /* views behind the masks stay views */
  return (transposes ? (double)PASS_TRANSPOSE_COST : (double)PACK_COPY_COST) * pack_far_copy(k->c, elements) *
         elements;
}

/* Vectors that columns take: those that fill no whole vector are one narrower vector for each power of two in
 * their number, or, of a few vectors in memory, these overlap at equal distances (passes/loops/emit_nest.c).
 */
static int64_t vectors_of(int64_t size, int64_t lanes, bool overlap) {
  int64_t widest = lanes, vectors = size / lanes;
  while (widest > size) widest /= 2;
  int64_t together = (size + widest - 1) / widest;
  if (overlap && together > 1 && together * lanes <= PACK_TILE_COLUMNS &&
      (size - widest) % (together - 1) == 0)
    return together;
  for (int64_t remainder = size % lanes; remainder; remainder &= remainder - 1) vectors++;
  return vectors;
}

/* Do the lanes run along terms that are contiguous in both operands, as they are in memory? */
static bool reads_terms_in_order(const packing *k) {
  int64_t count, least;
  return has_lanes_along_terms(k) && !is_masked(k->c, k->columns) &&
         longest_stride(k->c, k->columns, &count, &least) == 1 &&
         (k->rows_form == ROWS || (longest_stride(k->c, k->rows, &count, &least) == 1 &&
                                   (k->rows_form == PLAIN || !is_masked(k->c, k->rows))));
}

/* The estimated cost in multiplications. Vectors of a window are not aligned, and a window cannot be packed.
 */
static double cost(const packing *k) {
  const pass_contraction *c = k->c;
  int64_t size = c->size[k->column], lanes = VECTOR_BYTES / ir_dtypes[c->dtype].bytes;
  bool in_order =
      copies_columns(k) || (k->columns_form == PLAIN ? pack_plain_in_order(c, k->columns, k->column)
                                                     : pack_axis_stride(c, k->columns, k->column) == 1);
  int64_t vectors = vectors_of(size, lanes, in_order && !copies_columns(k));
  double all = (double)pass_contraction_size(c, UINT32_MAX),
         work = all * (double)(vectors * lanes) / (double)size;
  if (pack_is_window(c, k->columns)) work *= UNALIGNED;
  if (k->rows_form == AS_IS && has_rows_apart(k)) work *= APART;
  if (!in_order && reads_terms_in_order(k))
    work = ALONG_TERMS * all + COMBINED * (double)pass_contraction_size(c, ~c->reduced);
  else if (!in_order) work *= GATHERED;
  if (k->transposed) work += (double)PASS_TRANSPOSE_COST * (double)pass_contraction_size(c, ~c->reduced);
  return work + copying(k, k->columns, k->columns_form) + copying(k, k->rows, k->rows_form);
}

/* Are the terms contiguous in both operands, in memory? */
static bool has_terms_in_order(const pass_contraction *c) {
  int64_t count, least;
  for (int i = 0; i < 2; i++)
    if (is_masked(c, &c->operand[i]) || longest_stride(c, &c->operand[i], &count, &least) != 1) return false;
  return true;
}

/* What reading the operand as it is costs for each multiplication, beyond a load. An element of the columns
 * is computed in a vector, of which few columns fill a part, and used by the rows of a tile; one of the rows
 * is computed alone, in the time of a vector, and used by the columns of a tile. Where the columns are not
 * contiguous, lanes run along the terms: both operands are then gathered, unless they are contiguous along
 * these. */
static double lost_as_is(const packing *k, const pass_operand *o) {
  enum { TILE_ROWS = 4 /* of the least tile */ };
  const pass_contraction *c = k->c;
  int64_t reuse = pass_contraction_size(c, ~c->reduced & ~o->varies),
          lanes = VECTOR_BYTES / ir_dtypes[c->dtype].bytes, count, least;
  bool columns = o == k->columns, apart = pack_memory_stride(c, k->columns, k->column) != 1;
  if (columns && apart && has_terms_in_order(c)) {
    double terms = (double)pass_contraction_size(c, c->reduced), along = ALONG_TERMS + COMBINED / terms;
    return (along > GATHERED ? along : GATHERED) - 1;
  }
  int64_t most = columns ? TILE_ROWS : PACK_TILE_COLUMNS;
  int64_t together = !columns ? 1 : c->size[k->column] < lanes ? c->size[k->column] : lanes;
  double each = is_masked(c, o) ? (double)(PACK_MASKING * lanes) / (double)together : 0,
         lost = each / (double)(reuse < most ? reuse : most);
  bool gathered =
      columns ? apart : apart && k->columns_form == AS_IS && longest_stride(c, o, &count, &least) > 1;
  return lost + (gathered ? GATHERED - 1 : 0);
}

/* The form, or AS_IS where a small product loses less by reading the operand as it is than the copy costs. */
static form worth_its_launch(const packing *k, const pass_operand *o, form f) {
  double all = (double)pass_contraction_size(k->c, UINT32_MAX);
  if (f == AS_IS || all >= PACK_MUCH || (is_constant(k, o) && is_far(k->c, o))) return f;
  return copying(k, o, f) + PACK_LAUNCH < all * lost_as_is(k, o) ? f : AS_IS;
}

static void choose_forms(packing *k) {
  k->columns_form = worth_its_launch(k, k->columns, form_of_columns(k));
  k->rows_form = worth_its_launch(k, k->rows, form_of_rows(k));
  if (k->columns->base != k->rows->base || k->columns->epilogue) return;
  /* a product of a value and views of it: the copy of one operand is the other's */
  if (k->rows_form == PLAIN && k->columns_form == AS_IS && is_masked(k->c, k->columns))
    k->columns_form = PLAIN;
  if (k->columns_form == PLAIN && k->rows_form == AS_IS && is_masked(k->c, k->rows)) k->rows_form = PLAIN;
}

/* As many columns as fill vectors, where a product of so many takes less time than k; 0: it does not, they
 * fill vectors, or are so many that the last vector is a small part. Those that are wanted are copied from
 * its results, whose rows fill no vectors; a variable number needs no copy, as its last vector may overlap.
 * Time by that without (f32, AVX-512, one thread), rows x terms x columns: 840 x 383 x 14, of which the
 * columns are not contiguous, 0.45; 261 x 1257 x 46 0.64; 1000 x 4000 x 9 0.71; 2000 x 256 x 10, which are,
 * 0.79; 16 products of 130 x 106 x 11 0.80. */
static int64_t wide_columns(const packing *k, const packing *usual) {
  const pass_contraction *c = k->c;
  int64_t size = c->size[usual->column], lanes = VECTOR_BYTES / ir_dtypes[c->dtype].bytes,
          wide = (size + lanes - 1) / lanes * lanes;
  bool known = ir_is_const(c->g, ir_dim(c->g, usual->columns->value, usual->column), NULL);
  if (wide == size || size > PACK_TILE_COLUMNS || k->weights || pack_is_window(c, usual->columns) ||
      pass_contraction_size(c, UINT32_MAX) < PACK_MUCH || (!known && has_lanes_along_terms(usual)))
    return 0;
  double times = (double)wide / (double)size, copied = known ? times : 1,
         results = known ? (double)PASS_TRANSPOSE_COST * (double)pass_contraction_size(c, ~c->reduced) : 0;
  double here = times * (double)pass_contraction_size(c, UINT32_MAX) + results + PACK_LAUNCH +
                copied * copying(usual, usual->columns, known ? PANELS : usual->columns_form) +
                copying(usual, usual->rows, usual->rows_form);
  return here * MIN_GAIN < cost(k) ? wide : 0;
}

/* Chooses the axis of the vector lanes: the last kept one, or another one of either operand alone. */
static bool choose_column(packing *k) {
  const pass_contraction *c = k->c;
  const pass_operand *a = &c->operand[0], *b = &c->operand[1];
  uint32_t last = c->rank;
  while (last > 0 && (has_axis(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  if (last-- == 0 || has_axis(a->varies, last) == has_axis(b->varies, last)) return false;
  k->column = last;
  k->columns = has_axis(a->varies, last) ? a : b, k->rows = has_axis(a->varies, last) ? b : a;
  choose_forms(k);
  const packing usual = *k;
  for (uint32_t i = k->weights ? 0 : c->rank; i-- > 0;) { /* transposed, all blocks would exist at once */
    if (i == last || has_axis(c->reduced, i) || c->size[i] == 1 ||
        has_axis(a->varies, i) == has_axis(b->varies, i))
      continue;
    packing other = usual;
    other.columns = has_axis(a->varies, i) ? a : b, other.rows = has_axis(a->varies, i) ? b : a;
    other.column = i, other.transposed = true;
    choose_forms(&other);
    if (cost(&other) * MIN_GAIN < cost(k)) *k = other;
  }
  int64_t wide = wide_columns(k, &usual);
  if (wide) *k = usual;
  if (wide && ir_is_const(c->g, ir_dim(c->g, k->columns->value, last), NULL))
    k->wide = wide, k->columns_form = PANELS;
  return true;
}

static ir_ref in_form(const packing *k, const pass_operand *o, form f, int64_t width) {
  switch (f) {
  case AS_IS: return o->value;
  case PLAIN: return pack_plain(k->c, o);
  case ROWS: return pack_rows(k->c, o);
  case PANELS: return pack_panels(k->c, o, k->column, width);
  case COLUMNS: return pack_columns(k->c, o, k->column);
  }
  return 0;
}

/* The number of terms, as passes/loops/cpu/product_tile.c counts them; 0: not known. */
static int64_t known_terms(const pass_contraction *c) {
  int64_t terms = 1, size;
  for (uint32_t i = 0; i < c->rank; i++) {
    if (!has_axis(c->reduced, i)) continue;
    bool known = ir_is_const(c->g, ir_dim(c->g, ir_src(c->g, c->sum, 0), i), &size);
    terms = known && terms <= INT32_MAX ? terms * size : 0;
  }
  return terms;
}

/* What panels are chosen for. */
static pass_product product_of(const packing *k) {
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
    if (has_axis(c->reduced, i) && c->size[i] > 1 && pack_axis_stride(c, k->rows, i) == step)
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
  int64_t below = pass_constant_bytes(&p->constants, p->g, value) / ir_dtypes[c->dtype].bytes;
  return pass_contraction_size(c, o->varies) <= IR_MAX_HOISTED_GROWTH * below;
}

/* How often an element of either operand is used, of the one that is used less. */
static int64_t least_reuse(const pass_contraction *c) {
  int64_t a = pass_contraction_size(c, ~c->reduced & ~c->operand[0].varies),
          b = pass_contraction_size(c, ~c->reduced & ~c->operand[1].varies);
  return a < b ? a : b;
}

/* The sum of the operands in their forms. */
static ir_ref packed_as(packer *p, const packing *k) {
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
static ir_ref packed_wide(packer *p, const packing *k) {
  pass_contraction wide;
  ir_ref sum = pack_wide_sum(k->c, k->column, k->wide);
  if (!sum || !pass_contraction_of(p->g, sum, &wide)) return sum;
  bool swapped = k->columns == &k->c->operand[0];
  packing made = *k;
  for (int i = 0; i < 2; i++) wide.operand[i].epilogue = k->c->operand[i].epilogue;
  made.c = &wide, made.columns = &wide.operand[!swapped], made.rows = &wide.operand[swapped];
  return packed_as(p, &made);
}

/* May several products of narrow integers be one term of the contraction? */
static bool reads_narrow(packer *p, const pass_contraction *c) {
  return p->strategy->panel_columns && pass_contraction_size(c, UINT32_MAX) >= MIN_PAIRED &&
         least_reuse(c) >= PASS_REUSE_GATHERED && (p->target->has_dot2 || p->target->has_dot4) &&
         pass_contraction_reuses(c) && !pack_is_window(c, &c->operand[0]) &&
         !pack_is_window(c, &c->operand[1]);
}

/* The sum with four or two products in each term; *more: what is to be added to it, or 0. */
static ir_ref narrowed(packer *p, const pass_contraction *c, ir_ref *more) {
  bool constant[2];
  for (int i = 0; i < 2; i++) constant[i] = copies_once(p, c, &c->operand[i]);
  ir_ref made = p->target->has_dot4 ? pack_quads(c, constant, more) : c->sum;
  return made == c->sum && p->target->has_dot2 ? pack_pairs(c) : made;
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
  if (reads_narrow(p, &c)) {
    ir_ref more = 0, pairs = narrowed(p, &c, &more);
    if (more) {
      pairs = packed(p, pairs);
      return pairs ? ir_binary(g, IR_OP_ADD, pairs, more) : 0;
    }
    if (pairs != sum && (!(sum = pairs) || !pass_contraction_of(g, sum, &c))) return sum;
  }
  for (int i = 0; i < 2; i++)
    c.operand[i].epilogue = c.operand[i].base < p->ends_cap && p->ends_epilogue[c.operand[i].base];
  packing k = {.c = &c};
  for (int i = 0; i < 2; i++) k.constant[i] = copies_once(p, &c, &c.operand[i]);
  if (!pass_contraction_reuses(&c)) {
    if (!p->strategy->panel_columns) return sum;
    bool streams = (k.constant[0] || k.constant[1]) && choose_column(&k) && k.columns_form == PANELS;
    return streams && !k.transposed && !k.wide ? packed_as(p, &k) : pack_windowed_sum(&c, k.constant);
  }
  if (in_blocks && !rescaled.late && rescaled.depth) k.weights = &c.operand[rescaled.path[0].through];
  if (p->strategy->panel_columns && choose_column(&k))
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
