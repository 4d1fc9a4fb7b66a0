/* Which operand has the columns, and along which axis they are: the lanes of the product. */
#include "choice.h"

static const double MIN_GAIN = 1.05; /* how much better than the usual order, which has one kernel less */

/* The form, or PACK_AS_IS where a small product loses less by reading the operand as it is than the copy
 * costs. */
static pack_form worth_its_launch(const pack_choice *k, const pass_operand *o, pack_form f) {
  double all = (double)pass_contraction_size(k->c, UINT32_MAX);
  if (f == PACK_AS_IS || all >= PACK_MUCH || (pack_is_constant(k, o) && pack_is_far(k->c, o))) return f;
  return pack_copying(k, o, f) + PACK_LAUNCH < all * pack_lost_as_is(k, o) ? f : PACK_AS_IS;
}

static void choose_forms(pack_choice *k) {
  k->columns_form = worth_its_launch(k, k->columns, pack_form_of_columns(k));
  k->rows_form = worth_its_launch(k, k->rows, pack_form_of_rows(k));
  if (k->columns->base != k->rows->base || k->columns->epilogue) return;
  /* a product of a value and views of it: the copy of one operand is the other's */
  if (k->rows_form == PACK_PLAIN && k->columns_form == PACK_AS_IS && pack_is_masked(k->c, k->columns))
    k->columns_form = PACK_PLAIN;
  if (k->columns_form == PACK_PLAIN && k->rows_form == PACK_AS_IS && pack_is_masked(k->c, k->rows))
    k->rows_form = PACK_PLAIN;
}

/* As many columns as fill vectors, where a product of so many takes less time than k; 0: it does not, they
 * fill vectors, or are so many that the last vector is a small part. Those that are wanted are copied from
 * its results, whose rows fill no vectors; a variable number needs no copy, as its last vector may overlap.
 * Time by that without (f32, AVX-512, one thread), rows x terms x columns: 840 x 383 x 14, of which the
 * columns are not contiguous, 0.45; 261 x 1257 x 46 0.64; 1000 x 4000 x 9 0.71; 2000 x 256 x 10, which are,
 * 0.79; 16 products of 130 x 106 x 11 0.80; 16 x 100003 x 111 0.63, 13 x 90000 x 77 0.74, 64 x
 * 20000 x 67 0.82 (Zen 4). */
static int64_t wide_columns(const pack_choice *k, const pack_choice *usual) {
  enum { MOST = 2 * PACK_TILE_COLUMNS /* of 201, 16 x 50000 x 201 takes 1.1 times */ };
  const pass_contraction *c = k->c;
  int64_t size = c->size[usual->column], lanes = PACK_VECTOR_BYTES / ir_dtypes[c->dtype].bytes,
          wide = (size + lanes - 1) / lanes * lanes;
  bool known = ir_is_const(c->g, ir_dim(c->g, usual->columns->value, usual->column), NULL);
  if (wide == size || size > (known ? MOST : PACK_TILE_COLUMNS) || k->weights ||
      pack_is_window(c, usual->columns) || pass_contraction_size(c, UINT32_MAX) < PACK_MUCH ||
      (!known && pack_has_lanes_along_terms(usual)))
    return 0;
  double times = (double)wide / (double)size, copied = known ? times : 1,
         results = known ? (double)PASS_TRANSPOSE_COST * (double)pass_contraction_size(c, ~c->reduced) : 0;
  double here = times * (double)pass_contraction_size(c, UINT32_MAX) + results + PACK_LAUNCH +
                copied * pack_copying(usual, usual->columns, known ? PACK_PANELS : usual->columns_form) +
                pack_copying(usual, usual->rows, usual->rows_form);
  return here * MIN_GAIN < pack_cost(k) ? wide : 0;
}

/* Do panels pay of columns of which a tile reads a line of each row, from memory, pages apart, that no
 * prefetcher follows? Time with panels by that without, on AVX2: 6 x 3072 x 906 0.53, 24 x 3072 x 906 0.5, 6
 * x 10000 x 300 0.29, 16 x 2000 x 1000 0.45, 3 x 4000 x 2048 0.44; 12 x 4000 x 2048 1.08 (Zen 4, one thread).
 */
static bool pays_of_lines(const pack_choice *k, int64_t reuse, int64_t bytes) {
  enum {
    FEW = 3,          /* because 2 x 2000 x 1000 takes 2.6 times as long in panels */
    FAR = 7 << 20,    /* bytes: of 6 MB 20 x 1500 x 1000 takes 1.6 times, of 4 MB 6 x 1000 x 1000 2.2 times */
    MIN_TERMS = 1500, /* because 6 x 300 x 10000 takes 2.9 times, 20 x 1000 x 4000 1.9 times */
    MIN_COLUMNS = 64, /* because 12 x 60000 x 40 takes 1.4 times */
    MIN_RESULTS = 384 /* of 3 x 20000 x 100 it takes 1.8 times, of 6 x 20000 x 100 0.4 times */
  };
  int64_t columns = k->c->size[k->column];
  return k->reads_lines && reuse >= FEW && bytes >= FAR && columns >= MIN_COLUMNS &&
         reuse * columns >= MIN_RESULTS && pass_contraction_size(k->c, k->c->reduced) >= MIN_TERMS;
}

/* Do panels pay though rows of columns that lie near one another stay in an L2 cache, since so many come from
 * memory, again for each tile of columns? Not against lanes along the rows, which read the columns as they
 * are: those of 64 x 3984 x 865 take 11 ms. Time with panels by that without, of 10 MB and more: 130 x 6000 x
 * 700 0.49, 60 x 5000 x 999 0.56, 64 x 8000 x 500 0.66; 100 x 20000 x 200 0.99, 50 x 40000 x 120 1.05; 64 x
 * 3072 x 768, of 9 MB, 1.05; of 5 MB 240 x 2000 x 777 0.71, 150 x 2000 x 777 0.8 (Zen 4, one thread). */
static bool pays_from_memory(const pack_choice *k) {
  enum {
    FEW = 48,              /* rows: of 40, 40 x 3000 x 1000 takes 1.2 times as long in panels */
    MANY = 128,            /* rows, each of which uses a copy again */
    FAR_OF_FEW = 10 << 20, /* bytes: of 9 MB 64 x 3072 x 768 takes 1.05 times */
    FAR_OF_MANY = 5 << 20, /* bytes: of 4 MB 200 x 1000 x 800 takes 1.05 times */
    MIN_COLUMNS = 192      /* of 120, 100 x 40000 x 120 takes 1.1 times */
  };
  const pass_contraction *c = k->c;
  int64_t reuse = pass_contraction_size(c, ~c->reduced & ~k->columns->varies),
          bytes = pass_contraction_size(c, k->columns->varies) * ir_dtypes[c->dtype].bytes;
  return !k->transposed && !k->wide && !k->weights && k->columns_form == PACK_AS_IS &&
         c->rank < IR_MAX_RANK && ir_is_const(c->g, ir_dim(c->g, k->columns->value, k->column), NULL) &&
         !pack_is_masked(c, k->columns) && !pack_is_window(c, k->columns) &&
         pack_axis_stride(c, k->columns, k->column) == 1 &&
         (pays_of_lines(k, reuse, bytes) || (reuse >= FEW && c->size[k->column] >= MIN_COLUMNS &&
                                             bytes >= (reuse < MANY ? FAR_OF_FEW : FAR_OF_MANY)));
}

/* Chooses the axis of the vector lanes: the last kept one, or another one of either operand alone. */
bool pack_choose_column(pack_choice *k) {
  const pass_contraction *c = k->c;
  const pass_operand *a = &c->operand[0], *b = &c->operand[1];
  uint32_t last = c->rank;
  while (last > 0 && (pack_has_axis(c->reduced, last - 1) || c->size[last - 1] == 1)) last--;
  if (last-- == 0 || pack_has_axis(a->varies, last) == pack_has_axis(b->varies, last)) return false;
  k->column = last;
  k->columns = pack_has_axis(a->varies, last) ? a : b, k->rows = pack_has_axis(a->varies, last) ? b : a;
  choose_forms(k);
  const pack_choice usual = *k;
  for (uint32_t i = k->weights ? 0 : c->rank; i-- > 0;) { /* transposed, all blocks would exist at once */
    if (i == last || pack_has_axis(c->reduced, i) || c->size[i] == 1 ||
        pack_has_axis(a->varies, i) == pack_has_axis(b->varies, i))
      continue;
    pack_choice other = usual;
    other.columns = pack_has_axis(a->varies, i) ? a : b, other.rows = pack_has_axis(a->varies, i) ? b : a;
    other.column = i, other.transposed = true;
    choose_forms(&other);
    if (pack_cost(&other) * MIN_GAIN < pack_cost(k)) *k = other;
  }
  int64_t wide = wide_columns(k, &usual);
  if (wide) *k = usual;
  if (wide && ir_is_const(c->g, ir_dim(c->g, k->columns->value, last), NULL))
    k->wide = wide, k->columns_form = PACK_PANELS;
  if (pays_from_memory(k)) k->columns_form = PACK_PANELS;
  return true;
}
