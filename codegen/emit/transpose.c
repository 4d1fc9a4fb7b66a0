/* Transposes of tiles in registers, by shuffles of two registers.
 *
 * A transpose of 2^w rows of 2^e <= 2^w elements begins by filling 2^e registers of 2^w elements with rows,
 * 2^(w-e) rows to a register. The place of an element then has e bits that number the register and w bits
 * that number the element in it. At first the e lowest bits of the element number are those of the column,
 * and all other bits are those of the row. Each of e exchanges swaps one bit of the register number with a
 * column bit of the element number, by two shuffles for every pair of registers. In the end the register
 * number is the column and the element number is the row.
 *
 * Which bits of the row number the registers at first, and which exchange swaps which bit, is free. It is
 * chosen so that every shuffle is one that processors have as a single instruction. Within the lanes of
 * CG_SHUFFLE_LANE_BYTES bytes into which registers are divided, it interleaves halves of such lanes: the
 * highest bit of the element number goes out and a new lowest bit comes in (unpack, zip). Above that it picks
 * whole lanes, the even or the odd ones of two registers. */
#include "codegen/emit/transpose.h"

/* Bits of a row's number: there is a row for each lane, and at most CG_MAX_LANES = 2^10 lanes. */
enum { MAX_BITS = 10 };
_Static_assert(CG_MAX_LANES == 1 << MAX_BITS, "a row for each lane");

static uint32_t log2_of(uint32_t value) {
  uint32_t bits = 0;
  while (value >> bits > 1) bits++;
  return bits;
}

/* a's elements, then b's. */
static void *concatenate(const cg_shuffles *s, void *a, void *b, uint32_t width) {
  uint32_t order[CG_MAX_LANES];
  for (uint32_t i = 0; i < 2 * width; i++) order[i] = i;
  return s->two_input(s->emitter, a, b, order, 2 * width);
}

/* One exchange: of the bits [low, high) of the element number one goes out, and the bit of the register
 * number in which a and b differ comes in. `rising`: the highest bit goes out, the others move up, and the
 * new one comes in lowest; otherwise the lowest goes out, the others move down, and the new one comes in
 * highest. The result holds the elements whose outgoing bit is `out`. */
static void *exchange_bit(const cg_shuffles *s, void *a, void *b, uint32_t width, uint32_t low, uint32_t high,
                          bool rising, uint32_t out) {
  uint32_t order[CG_MAX_LANES], bits = high - low, all = (1u << bits) - 1;
  for (uint32_t p = 0; p < width; p++) {
    uint32_t middle = p >> low & all, in = rising ? middle & 1 : middle >> (bits - 1);
    uint32_t was = rising ? middle >> 1 | out << (bits - 1) : (middle << 1 & all) | out;
    order[p] = (p & ~(all << low)) + (was << low) + in * width;
  }
  return s->two_input(s->emitter, a, b, order, width);
}

/* How the bits of a row's number are placed at first: 2^e registers, 2^(w-e) rows in each. */
typedef struct plan {
  uint32_t w, e, lane_bits; /* `lane_bits`: bits of an element's number within a 128-bit lane */
  uint32_t
      row_bit_of[MAX_BITS]; /* by exchange: the bit of the row that it swaps out of the register number */
  uint32_t upper_rows[MAX_BITS]; /* by bit of the element number, from e on: the bit of the row */
} plan;

static plan make_plan(uint32_t w, uint32_t e, uint32_t lane_bits) {
  plan p = {w, e, lane_bits, {0}, {0}};
  uint32_t exchange = 0, place = 0, upper_bits = w - lane_bits, above = e > lane_bits ? e - lane_bits : 0;
  if (e >= lane_bits) { /* rising: the bit swapped first ends highest */
    for (uint32_t i = lane_bits; i-- > 0;) p.row_bit_of[exchange++] = i;
  } else { /* falling: bits move down by e, and the bit swapped last ends highest */
    for (uint32_t i = e; i < lane_bits; i++) p.upper_rows[place++] = i - e;
    for (uint32_t i = lane_bits - e; i < lane_bits; i++) p.row_bit_of[exchange++] = i;
  }
  for (uint32_t i = above; i < upper_bits; i++) p.upper_rows[place++] = lane_bits + i - above;
  for (uint32_t i = upper_bits - above; i < upper_bits; i++) p.row_bit_of[exchange++] = lane_bits + i;
  return p;
}

/* The initial contents of register r: its rows, one after another. */
static void *fill_register(const cg_shuffles *s, const plan *p, uint32_t r, void *const *rows,
                           uint32_t bytes) {
  void *concatenated[CG_MAX_LANES];
  uint32_t count = 1u << (p->w - p->e), base = 0, width = 1u << p->e;
  for (uint32_t i = 0; i < p->e; i++) base |= (r >> i & 1) << p->row_bit_of[i];
  for (uint32_t q = 0; q < count; q++) {
    uint32_t row = base;
    for (uint32_t i = 0; i < p->w - p->e; i++) row |= (q >> i & 1) << p->upper_rows[i];
    concatenated[q] = rows[row];
  }
  uint32_t per_concat =
      s->concat_rows && width * bytes < CG_SHUFFLE_LANE_BYTES ? CG_SHUFFLE_LANE_BYTES / (width * bytes) : 1;
  if (per_concat > count) per_concat = count;
  if (per_concat > 1) {
    count /= per_concat;
    for (uint32_t q = 0; q < count; q++)
      concatenated[q] = s->concat_rows(s->emitter, concatenated + q * per_concat, per_concat, width, bytes);
    width *= per_concat;
  }
  for (; count > 1; count /= 2, width *= 2)
    for (uint32_t q = 0; q < count / 2; q++)
      concatenated[q] = concatenate(s, concatenated[2 * q], concatenated[2 * q + 1], width);
  return concatenated[0];
}

void cg_transpose(const cg_shuffles *how, void *const *rows, uint32_t row_count, uint32_t column_count,
                  uint32_t bytes, void **columns) {
  uint32_t w = log2_of(row_count), lane_elements = log2_of(CG_SHUFFLE_LANE_BYTES / bytes);
  plan p = make_plan(w, log2_of(column_count), lane_elements < w ? lane_elements : w);
  void *at[CG_MAX_LANES];
  for (uint32_t r = 0; r < column_count; r++) at[r] = fill_register(how, &p, r, rows, bytes);
  uint32_t column_bit[MAX_BITS]; /* by bit of the final register number */
  bool whole = p.e >= p.lane_bits;
  for (uint32_t s = 0; s < p.e; s++) {
    bool rising = whole && s < p.lane_bits, within = s < p.lane_bits;
    uint32_t low = within ? 0 : p.lane_bits, high = within ? p.lane_bits : p.w;
    for (uint32_t r = 0; r < column_count && s > 0 && s == p.e / 2 && how->opaque; r++)
      at[r] = how->opaque(how->emitter, at[r]);
    column_bit[s] = rising ? p.lane_bits - 1 - s : s;
    for (uint32_t r = 0; r < column_count; r++) {
      uint32_t other = r | 1u << s;
      if (other == r) continue;
      void *a = at[r], *b = at[other];
      at[r] = exchange_bit(how, a, b, row_count, low, high, rising, 0);
      at[other] = exchange_bit(how, a, b, row_count, low, high, rising, 1);
    }
  }
  for (uint32_t r = 0; r < column_count; r++) {
    uint32_t column = 0;
    for (uint32_t s = 0; s < p.e; s++) column |= (r >> s & 1) << column_bit[s];
    columns[column] = at[r];
  }
}
