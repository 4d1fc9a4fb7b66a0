/* Rows of an iteration of a fused row group whose values stay in a cache.
 *
 * The values that members pass to one another, and what they read at the indices of the shared loops, should
 * stay in the L2 cache during one iteration. The cache size is a constant here, not the target's: it decides
 * which sums are computed together, and the order of summation must not depend on the machine.
 *
 * An iteration has several rows where one row is short, or where neighbours in memory belong to different
 * rows: then vector lanes run across the rows. */
#include "cpu.h"

/* The same on all processors. Half and twice PASS_GROUP_BYTES, PASS_MIN_NEIGHBOUR_ROWS and MIN_TILED_ELEMENTS
 * change no workload's loops. */
enum {
  /* times as many rows, where these are all of a line of memory: lines are read whole. Because windows of
   * 7 x 7 of 144 x 144, 20 in a line, take 0.8 ms in place of 4.0 by tens (Zen 4) */
  MORE_ROWS = 4,
  MIN_LANES = 32, /* elements of an iteration: two vectors of f32. Of fewer, a kernel for each value, whose
                     lanes run across iterations, is faster (two to six times, for 4 elements) */
  MIN_ITERATION_ELEMENTS = 512, /* of shorter rows an iteration has several: 32 vectors of f32 outweigh what
                                   its loops and the reductions over lanes cost once for each row */
  TILED_BYTES = 640 << 10,      /* bytes of an iteration with contractions, of an L2 cache of 1 MiB: more than
                                   others may fill, since tiles reuse each row while it is there */
  /* rows in an iteration with contractions, which read their other operand once for each iteration: ten tiles
   * of six rows and more */
  TILED_ROWS = 64,
  MIN_TILED_ROWS = 16, /* the same where more do not fit: nearly three tiles */
  /* bytes that contractions read in every iteration: a thread's share of an L3 cache */
  MAX_REREAD_BYTES = 8 << 20,
  MIN_TILED_ELEMENTS = 512, /* elements of a contraction in an iteration: a tile and a third, of 24 vectors
                               of f32; of fewer, most are remainder */
  /* iterations of a group, for threads to share: fewer only where there is little to do */
  MIN_ITERATIONS = 4,
  SMALL_WORK_BYTES = PASS_GROUP_BYTES / 8 /* bytes of all iterations that one thread may compute alone */
};

/* The greatest divisor of the extent up to `most`. */
static int64_t divisor_below(int64_t extent, int64_t most) {
  int64_t rows = most < extent ? most : extent;
  while (extent % rows != 0) rows--;
  return rows;
}

/* Do so many rows an iteration leave too few iterations for threads to share? */
static bool are_few(const pass_rows *of, int64_t rows) {
  int64_t iterations = of->iterations / rows, all = pass_times(of->iterations, of->bytes);
  return iterations < 2 || (iterations < MIN_ITERATIONS && all > SMALL_WORK_BYTES);
}

/* Are all rows of the innermost shared loop few enough, and the iterations that are left many enough, to take
 * all at once in place of r? */
static bool takes_all(const pass_rows *of, int64_t r, int64_t cache) {
  return !of->tiled && !of->neighbours && r * MORE_ROWS >= of->extent &&
         of->iterations / of->extent >= MIN_ITERATIONS && pass_times(of->extent, of->bytes) <= cache &&
         pass_times(of->extent, of->locals) <= of->room;
}

bool loop_choose_cache_rows(const ir_target *target, const pass_rows *of, int64_t *rows, int64_t *bytes) {
  (void)target;
  int64_t cache = of->tiled ? TILED_BYTES : PASS_GROUP_BYTES,
          fewest = of->tiled        ? MIN_TILED_ROWS
                   : of->neighbours ? PASS_MIN_NEIGHBOUR_ROWS
                                    : 1,
          r = of->tiled        ? TILED_ROWS
              : of->neighbours ? PASS_NEIGHBOUR_ROWS
                               : 1;
  while (pass_times(r, of->longest) < MIN_ITERATION_ELEMENTS) r *= 2;
  if (takes_all(of, r, cache)) r = of->extent;
  while (r > of->extent) r /= 2;
  while (r > fewest && (pass_times(r, of->bytes) > cache || pass_times(r, of->locals) > of->room)) r /= 2;
  /* Inside other shared loops the last iteration has no code of its own: loops whose extents differ between
   * iterations would have no lanes. */
  if (of->iterations > of->extent && (r = divisor_below(of->extent, r)) < fewest) return false;
  if (pass_times(r, of->longest) < MIN_LANES) return false;
  *rows = r;
  *bytes = of->tiled ? 0 : pass_times(r, of->bytes);
  if (of->tiled && (pass_times(r, of->contracted) < MIN_TILED_ELEMENTS || of->reread > MAX_REREAD_BYTES))
    return false;
  return !are_few(of, r) && of->iterations / r < PASS_FAR_TOO_MANY && pass_times(r, of->bytes) <= cache &&
         pass_times(r, of->locals) <= of->room;
}

/* Short rows of a size that varies much are as many in an iteration as make MIN_ITERATION_ELEMENTS, as of a
 * known size, and long ones few: the softmax of 64 rows of 33 elements, of 1 to 4096, took 1.5 times as long
 * as of a known number, row by row. */
int64_t loop_choose_row_elements(const pass_rows *of, int64_t *rows) {
  enum { VARIES_MUCH = 2 }; /* times: below, rows for the longest fill half an iteration with the shortest */
  int64_t most = *rows;
  if (!of->varies || of->tiled || of->neighbours || of->longest < VARIES_MUCH * of->shortest) return 0;
  while (pass_times(most, of->shortest) < MIN_ITERATION_ELEMENTS && 4 * most <= of->extent) most *= 2;
  if (most == *rows) return 0;
  *rows = most;
  return MIN_ITERATION_ELEMENTS;
}

int64_t loop_choose_block_rows(const pass_rows *of) {
  int64_t rows = TILED_ROWS;
  while (rows > MIN_TILED_ROWS && (rows > of->extent || rows * of->bytes > PASS_GROUP_BYTES ||
                                   rows * of->locals > of->room || of->iterations / rows < MIN_ITERATIONS))
    rows /= 2;
  bool fits =
      of->extent >= MIN_TILED_ROWS && rows * of->bytes <= PASS_GROUP_BYTES && rows * of->locals <= of->room;
  return fits ? rows : 0;
}
