/* What a product costs with its operands in these forms, in multiplications. */
#include "choice.h"

/* Factors of estimated costs. */
/* vectors that are not aligned: those of 64 bytes cross a line, and take two reads of the cache */
static const double UNALIGNED = 1.25;
/* the same where lanes run along terms that are contiguous in both operands: a vector of either takes part in
 * two or three multiply-adds, and the sums of the lanes are added up; 50 to 70 GFLOP/s where columns have 130
 */
static const double ALONG_TERMS = 2;
/* how much longer copying takes whose source and result do not stay in an L2 cache: transposing 1000 rows of
 * 4000 f32 takes 0.47 ns for each, 16 times as long as multiplying one */
static const double FAR_COPY = 2.5;
static const double COMBINED = 128; /* to add up the lanes of a result: four to eight cycles */

double pack_far_copy(const pass_contraction *c, double elements) {
  return elements * ir_dtypes[c->dtype].bytes > PACK_FAR_BYTES ? FAR_COPY : 1;
}

/* Does a copy of the operand cost nothing? One of a constant is made once. It is priced all the same where
 * columns are not contiguous and rows are many, since the transposed form, which then wins, is faster: panels
 * of constant weights of 4096 by 4096 took 1.66, 1.77 and 1.61 times as long for 8, 16 and 32 rows (f32,
 * AVX-512, one thread), 0.77 and 0.51 for 2 and 4. Panels for the transposed form are not, unless the rows
 * are windows, whose alternative reads vectors that are not aligned. */
static bool copies_for_nothing(const pack_choice *k, const pass_operand *o) {
  int64_t reuse = pass_contraction_size(k->c, ~k->c->reduced & ~o->varies);
  bool transposed = k->transposed && !pack_is_window(k->c, k->rows);
  return pack_is_constant(k, o) &&
         (reuse < PASS_REUSE_GATHERED || transposed || pack_axis_stride(k->c, o, k->column) == 1);
}

double pack_copying(const pack_choice *k, const pass_operand *o, pack_form f) {
  if (f == PACK_AS_IS || copies_for_nothing(k, o)) return 0;
  bool transposes =
      f == PACK_ROWS || f == PACK_COLUMNS || (f == PACK_PANELS && pack_axis_stride(k->c, o, k->column) != 1);
  double elements = (double)pass_contraction_size(k->c, o->varies),
         base = (double)pack_elements(k->c->g, o->base);
  if (f == PACK_PLAIN && base < elements) elements = base; /* views behind the masks stay views */
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
static bool reads_terms_in_order(const pack_choice *k) {
  int64_t count, least;
  return pack_has_lanes_along_terms(k) && !pack_is_masked(k->c, k->columns) &&
         pack_longest_stride(k->c, k->columns, &count, &least) == 1 &&
         (k->rows_form == PACK_ROWS || (pack_longest_stride(k->c, k->rows, &count, &least) == 1 &&
                                        (k->rows_form == PACK_PLAIN || !pack_is_masked(k->c, k->rows))));
}

/* The estimated cost in multiplications. Vectors of a window are not aligned, and a window cannot be packed.
 */
double pack_cost(const pack_choice *k) {
  const pass_contraction *c = k->c;
  int64_t size = c->size[k->column], lanes = PACK_VECTOR_BYTES / ir_dtypes[c->dtype].bytes;
  bool in_order = pack_copies_columns(k) ||
                  (k->columns_form == PACK_PLAIN ? pack_plain_in_order(c, k->columns, k->column)
                                                 : pack_axis_stride(c, k->columns, k->column) == 1);
  int64_t vectors = vectors_of(size, lanes, in_order && !pack_copies_columns(k));
  double all = (double)pass_contraction_size(c, UINT32_MAX),
         work = all * (double)(vectors * lanes) / (double)size;
  if (pack_is_window(c, k->columns)) work *= UNALIGNED;
  if (k->rows_form == PACK_AS_IS && pack_has_rows_apart(k)) work *= PACK_APART;
  if (!in_order && reads_terms_in_order(k))
    work = ALONG_TERMS * all + COMBINED * (double)pass_contraction_size(c, ~c->reduced);
  else if (!in_order) work *= PACK_GATHERED;
  if (k->transposed) work += (double)PASS_TRANSPOSE_COST * (double)pass_contraction_size(c, ~c->reduced);
  return work + pack_copying(k, k->columns, k->columns_form) + pack_copying(k, k->rows, k->rows_form);
}

/* Are the terms contiguous in both operands, in memory? */
static bool has_terms_in_order(const pass_contraction *c) {
  int64_t count, least;
  for (int i = 0; i < 2; i++)
    if (pack_is_masked(c, &c->operand[i]) || pack_longest_stride(c, &c->operand[i], &count, &least) != 1)
      return false;
  return true;
}

/* What reading the operand as it is costs for each multiplication, beyond a load. An element of the columns
 * is computed in a vector, of which few columns fill a part, and used by the rows of a tile; one of the rows
 * is computed alone, in the time of a vector, and used by the columns of a tile. Where the columns are not
 * contiguous, lanes run along the terms: both operands are then gathered, unless they are contiguous along
 * these. */
double pack_lost_as_is(const pack_choice *k, const pass_operand *o) {
  enum { TILE_ROWS = 4 /* of the least tile */ };
  const pass_contraction *c = k->c;
  int64_t reuse = pass_contraction_size(c, ~c->reduced & ~o->varies),
          lanes = PACK_VECTOR_BYTES / ir_dtypes[c->dtype].bytes, count, least;
  bool columns = o == k->columns, apart = pack_memory_stride(c, k->columns, k->column) != 1;
  if (columns && apart && has_terms_in_order(c)) {
    double terms = (double)pass_contraction_size(c, c->reduced), along = ALONG_TERMS + COMBINED / terms;
    return (along > PACK_GATHERED ? along : PACK_GATHERED) - 1;
  }
  int64_t most = columns ? TILE_ROWS : PACK_TILE_COLUMNS;
  int64_t together = !columns ? 1 : c->size[k->column] < lanes ? c->size[k->column] : lanes;
  double each = pack_is_masked(c, o) ? (double)(PACK_MASKING * lanes) / (double)together : 0,
         lost = each / (double)(reuse < most ? reuse : most);
  bool gathered =
      columns ? apart
              : apart && k->columns_form == PACK_AS_IS && pack_longest_stride(c, o, &count, &least) > 1;
  return lost + (gathered ? PACK_GATHERED - 1 : 0);
}
