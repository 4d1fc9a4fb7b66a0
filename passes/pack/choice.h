/* Internal to packing: the choice of what is copied, and how. */
#ifndef VIEWFOLD_PASSES_PACK_CHOICE_H
#define VIEWFOLD_PASSES_PACK_CHOICE_H

#include "pack.h"

/* The machine that choices are made for, a server processor of 2017 to 2023; not the one at hand, as pack.c
 * says. */
enum {
  PACK_VECTOR_BYTES = 64,            /* of AVX-512 */
  PACK_L2_BYTES = 1 << 20,           /* for each core */
  PACK_FAR_BYTES = 2 * PACK_L2_BYTES /* of a copy: with what it copies four times a cache */
};
/* Factors of estimated costs. */
/* rows that are neighbours in memory, and whose terms are lines apart, as positions of a 1 x 1 convolution: a
 * tile takes a few elements of each line. Time of a copy in rows by that as it is, of 1 x 1 convolutions on 7
 * x 7 and 13 x 13 positions (f32, AVX-512, one thread), the copy excluded: 0.88 to 0.94 */
static const double PACK_APART = 1.1;
static const double PACK_GATHERED = PASS_GATHERED_COST; /* columns that are not contiguous */

/* PACK_COLUMNS: panels of all columns, whose number is a variable, so that no panels of one width hold them.
 */
typedef enum pack_form { PACK_AS_IS, PACK_PLAIN, PACK_ROWS, PACK_PANELS, PACK_COLUMNS } pack_form;

/* Which operand has the columns, and how both are copied. */
typedef struct pack_choice {
  const pass_contraction *c;
  uint32_t column; /* the axis of the vector lanes */
  const pass_operand *columns, *rows;
  pack_form columns_form, rows_form;
  bool transposed;
  int64_t wide;     /* columns, with zeros behind them, that fill vectors; 0: those that there are */
  bool reads_lines; /* a tile reads a line of each row of columns, or less */
  bool constant[2]; /* by operand of the contraction: it depends on constants alone */
  const pass_operand
      *weights; /* of a sum computed in blocks of terms (passes/patterns/online_softmax.h); otherwise NULL */
} pack_choice;

/* memory_order.c */
/* The stride along the longest summed axis. *count: indices of that axis; *least: the least stride along any
 * summed axis. */
int64_t pack_longest_stride(const pass_contraction *c, const pass_operand *o, int64_t *count, int64_t *least);
/* Do `count` cache lines, `step` elements apart, stay in the L2 cache while other data stream through? */
bool pack_stays_in_cache(const pass_contraction *c, int64_t count, int64_t step);
/* Is something computed, or are there edges or masks, where the operand is read? */
bool pack_is_masked(const pass_contraction *c, const pass_operand *o);

/* forms.c */
pack_form pack_form_of_columns(const pack_choice *k); /* of an operand that has the columns */
pack_form pack_form_of_rows(const pack_choice *k);    /* of the other one, once that is chosen */
/* Does the operand depend on constants alone, and is its copy made once? */
bool pack_is_constant(const pack_choice *k, const pass_operand *o);
/* Does the operand come from memory each time? */
bool pack_is_far(const pass_contraction *c, const pass_operand *o);
/* Do the lanes run along the terms, since the columns are not contiguous where they are read? */
bool pack_has_lanes_along_terms(const pack_choice *k);
/* Are the columns read from panels? */
bool pack_copies_columns(const pack_choice *k);
/* Are neighbouring rows neighbours in memory, so that each of their terms lies in another line, and more than
 * the L1 cache holds? */
bool pack_has_rows_apart(const pack_choice *k);

/* price.c, in multiplications */
double pack_copying(const pack_choice *k, const pass_operand *o, pack_form f); /* the copy in this form */
double pack_cost(const pack_choice *k); /* the product, with its copies */
/* What reading the operand as it is costs for each multiplication, beyond a load. */
double pack_lost_as_is(const pack_choice *k, const pass_operand *o);

/* choose.c */
/* Chooses the axis of the vector lanes: the last kept one, or another one of either operand alone; and the
 * forms. False: the product has no such axis. */
bool pack_choose_column(pack_choice *k);

#endif
