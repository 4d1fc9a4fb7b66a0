/* The form in which one operand of a product is read: as it is, or as a copy. */
#include "choice.h"

#include "passes/patterns/online_softmax.h"

enum { L1_BYTES = 32 << 10 }; /* for each core of the machine that choices are made for (choice.h) */
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
  /* Bytes of columns that come from memory, of which a tile reads a short piece of each row: there
   * PASS_REUSE_GATHERED rows are enough, as a copy reads whole rows. Time with panels by that without, of 8,
   * 16, 24 and 30 rows: 2048 x 4096 0.89, 0.79, 0.64, 0.66; 2000 x 3000 0.51, 0.84, 0.80, 0.90; of 16 MiB,
   * 2048 x 2048, 0.73, 0.93, 0.70, 0.87; of less, 2000 x 1500, 1.2, 1.3, 0.98, 1.0; 24 rows by 20000 x 256
   * 0.34 (Zen 4, one thread) */
  FROM_MEMORY_BYTES = 16 << 20,
  /* PASS_REUSE_GATHERED is the same for columns that are not contiguous, and for constants that are near and
   * contiguous, whose copies take memory alone: of 64 to 768 terms and 192 to 768 columns 2 to 8 rows take as
   * long either way, 64 and 197 take 0.8 and 0.92 of the time from panels */
};

bool pack_is_constant(const pack_choice *k, const pass_operand *o) { return k->constant[o - k->c->operand]; }

/* Weights come in blocks that stay in the caches whatever their order. */
static pack_form form_of_weights(const pack_choice *k) {
  return pack_is_masked(k->c, k->weights) ? PACK_PLAIN : PACK_AS_IS;
}

/* Does the operand come from memory each time? */
bool pack_is_far(const pass_contraction *c, const pass_operand *o) {
  return pass_contraction_size(c, o->varies) > PACK_FAR_BYTES / ir_dtypes[c->dtype].bytes;
}

/* Rows for which a copy of contiguous columns in panels pays. */
static int64_t least_rows(const pass_contraction *c, const pass_operand *o, bool reads_well) {
  int64_t elements = pass_contraction_size(c, o->varies), bytes = ir_dtypes[c->dtype].bytes;
  if (reads_well) return elements < PACK_L2_BYTES / bytes * 2 ? MIN_REUSE_NEAR : MIN_REUSE_FAR;
  return elements < FROM_MEMORY_BYTES / bytes ? MIN_REUSE : PASS_REUSE_GATHERED;
}

pack_form pack_form_of_columns(const pack_choice *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->columns;
  if (o == k->weights) return form_of_weights(k);
  int64_t count, least, step = pack_longest_stride(c, o, &count, &least), fixed,
                        reuse = pass_contraction_size(c, ~c->reduced & ~o->varies);
  if (k->weights && count > KEY_BLOCK) count = KEY_BLOCK;
  if (pack_is_window(c, o)) return pack_is_masked(c, o) ? PACK_PLAIN : PACK_AS_IS;
  bool masked = pack_is_masked(c, o), in_order = pack_axis_stride(c, o, k->column) == 1;
  if (!ir_is_const(c->g, ir_dim(c->g, o->value, k->column), &fixed))
    return reuse < PASS_REUSE_GATHERED || (in_order && !masked) ? PACK_AS_IS
           : in_order                                           ? PACK_PLAIN
                                                                : PACK_COLUMNS;
  if (c->rank == IR_MAX_RANK) return PACK_AS_IS;
  bool reads_well = pack_stays_in_cache(c, count, step);
  bool suits = !masked && in_order && reads_well; /* few rows read it as fast where it is */
  if (pack_is_constant(k, o) && reuse < 2)
    return suits || masked || !in_order || !pack_is_far(c, o) ? PACK_AS_IS : PACK_PANELS;
  if (pack_is_constant(k, o)) return suits && reuse < PASS_REUSE_GATHERED ? PACK_AS_IS : PACK_PANELS;
  if (masked && reuse < PASS_REUSE_GATHERED) return PACK_AS_IS;
  int64_t panels_pay = least_rows(c, o, reads_well);
  bool one_panel = (reads_well || step == fixed) && fixed <= PACK_TILE_COLUMNS; /* in the order that it has */
  if (in_order && (reuse < panels_pay || one_panel)) return masked ? PACK_PLAIN : PACK_AS_IS;
  return reuse < PASS_REUSE_GATHERED ? PACK_AS_IS : PACK_PANELS;
}

/* Do the lanes run along the terms, since the columns are not contiguous where they are read? */
bool pack_has_lanes_along_terms(const pack_choice *k) {
  return k->columns_form == PACK_AS_IS && pack_axis_stride(k->c, k->columns, k->column) != 1;
}

bool pack_copies_columns(const pack_choice *k) {
  return k->columns_form == PACK_PANELS || k->columns_form == PACK_COLUMNS;
}

/* Are neighbouring rows neighbours in memory, so that each of their terms lies in another line, and more than
 * the L1 cache holds? */
bool pack_has_rows_apart(const pack_choice *k) {
  const pass_contraction *c = k->c;
  int64_t count, least, bytes = pass_contraction_size(c, k->rows->varies) * ir_dtypes[c->dtype].bytes;
  pack_longest_stride(c, k->rows, &count, &least);
  return pack_copies_columns(k) && least > PACK_MAX_STRIDE && bytes > L1_BYTES && !pack_is_window(c, k->rows);
}

/* Does a copy in rows, whose terms are neighbours, take less time than tiles of rows that lie apart lose? */
static bool rows_pay(const pack_choice *k) {
  double elements = (double)pass_contraction_size(k->c, k->rows->varies);
  return pack_has_rows_apart(k) && PASS_TRANSPOSE_COST * pack_far_copy(k->c, elements) * elements <
                                       (PACK_APART - 1) * (double)pass_contraction_size(k->c, UINT32_MAX);
}

pack_form pack_form_of_rows(const pack_choice *k) {
  const pass_contraction *c = k->c;
  const pass_operand *o = k->rows;
  if (o == k->weights) return form_of_weights(k);
  int64_t count, least, step = pack_longest_stride(c, o, &count, &least);
  bool gathered = pack_has_lanes_along_terms(k) && step > 1 && !pack_is_window(c, o);
  if (gathered &&
      PASS_TRANSPOSE_COST < (PACK_GATHERED - 1) * (double)pass_contraction_size(c, ~c->reduced & ~o->varies))
    return PACK_ROWS;
  if (rows_pay(k)) return PACK_ROWS;
  if (least <= PACK_MAX_STRIDE || pack_is_window(c, o) || pack_stays_in_cache(c, count, step))
    return pack_is_masked(c, o) ? PACK_PLAIN : PACK_AS_IS;
  return PACK_ROWS;
}
