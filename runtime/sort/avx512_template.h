/* Sorting unsigned integers in vectors of AVX-512; included once for each width of them (avx512.c). Before it
 * are defined: NAME(x), names of this width; KEY, the type; LANES, keys of a vector; ORDER(a, b), which
 * leaves the lesser ones in a, and ORDER_LANES(a, b, mask), where the mask has ones the greater ones;
 * PERMUTE(index, v); LANE_NUMBERS; EACH(x), x in all lanes; LEAST(a, b) and MOST(a, b); LOAD(mask, p), with
 * ones in the other lanes; STORE(p, mask, v); ABOVE(a, b) and EQUAL(a, b), masks; BLEND(mask, a, b), b where
 * the mask has ones; SIGNS(v), the highest bit of a lane in all of its bits; COMPRESS(mask, v); BEHIND(v, w),
 * v moved up by a lane, with the last lane of w as the first; TRANSPOSE(v), of LANES vectors.
 *
 * A block is a matrix of `rows` vectors, a power of two. Each lane, a column, is sorted by a bitonic network
 * (Batcher 1968) whose stages are between rows: minima and maxima of vectors alone. To sort the whole block,
 * columns are merged into runs of 2, 4, ... columns: the first stages of a merge are between lanes, the
 * others between rows of one column again. The result is in the order of columns, and is transposed when
 * stored. */

#define PAIR(a, b) ORDER(v[a], v[b])

/* A row of a block. */
SORT_INLINE __m512i NAME(row)(const KEY *block, size_t row) {
  return _mm512_loadu_si512(block + row * LANES);
}
/* Stores it. */
SORT_INLINE void NAME(put_row)(KEY *block, size_t row, __m512i v) {
  _mm512_storeu_si512(block + row * LANES, v);
}
#define EIGHT_ROWS(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7)

/* Eight rows: a network of 19 comparisons (Knuth, TAOCP 3, 5.3.4). */
SORT_INLINE void NAME(order_eight)(__m512i v[8]) {
  PAIR(0, 1);
  PAIR(2, 3);
  PAIR(4, 5);
  PAIR(6, 7);
  PAIR(0, 2);
  PAIR(1, 3);
  PAIR(4, 6);
  PAIR(5, 7);
  PAIR(1, 2);
  PAIR(5, 6);
  PAIR(0, 4);
  PAIR(3, 7);
  PAIR(1, 5);
  PAIR(2, 6);
  PAIR(1, 4);
  PAIR(3, 6);
  PAIR(2, 4);
  PAIR(3, 5);
  PAIR(3, 4);
}

/* The stages at distances `span` / 2, ..., 1 for bitonic runs of `span` rows, three in one reading. Rows from
 * `used` on have the greatest key: stages that only they would be the second of change nothing. */
SORT_TARGET static void NAME(clean)(KEY *block, size_t used, size_t span) {
  __m512i v[8];
  for (; __builtin_ctzll(span) % 3; span /= 2)
    for (size_t start = 0; start < used; start += span)
      for (size_t i = start; i < start + span / 2 && i + span / 2 < used; i++) {
        v[0] = NAME(row)(block, i), v[1] = NAME(row)(block, i + span / 2);
        PAIR(0, 1);
        NAME(put_row)(block, i, v[0]), NAME(put_row)(block, i + span / 2, v[1]);
      }
  for (; span >= 8; span /= 8) {
    size_t step = span / 8;
    for (size_t start = 0; start < used; start += span)
      for (size_t i = start; i < start + step && i + step < used; i++) {
#define GET(k) v[k] = NAME(row)(block, i + k * step);
#define PUT(k) NAME(put_row)(block, i + k * step, v[k]);
        EIGHT_ROWS(GET);
        PAIR(0, 4);
        PAIR(1, 5);
        PAIR(2, 6);
        PAIR(3, 7);
        PAIR(0, 2);
        PAIR(1, 3);
        PAIR(4, 6);
        PAIR(5, 7);
        PAIR(0, 1);
        PAIR(2, 3);
        PAIR(4, 5);
        PAIR(6, 7);
        EIGHT_ROWS(PUT);
      }
  }
}

/* Merges two sorted runs of `half` rows, of rows `start` and start + apart on, the second of which are below
 * `used`: sorted together where they are neighbours. Otherwise the first run becomes the least ones, and
 * bitonic. */
SORT_INLINE void NAME(meet)(KEY *block, size_t used, size_t start, size_t apart, size_t half) {
  size_t end = start + apart + half; /* behind the second run */
  for (size_t i = end > used ? end - used : 0; i < half; i++) {
    __m512i v[2] = {NAME(row)(block, start + i), NAME(row)(block, end - 1 - i)};
    PAIR(0, 1);
    NAME(put_row)(block, start + i, v[0]);
    if (apart == half) NAME(put_row)(block, end - 1 - i, v[1]);
  }
}

/* Sorts each column of a block of so many rows, a power of two and at least eight. Rows from `used` on, a
 * multiple of eight, have the greatest key. `first` rows of the result are wanted; others may have any key.
 * Of longer runs than these, only the first ones are merged. */
SORT_TARGET static void NAME(columns)(KEY *block, size_t rows, size_t used, size_t first) {
  __m512i v[8];
  size_t kept = 8;
  while (kept < first) kept *= 2;
  for (size_t i = 0; i < used; i += 8) {
    const size_t step = 1;
    EIGHT_ROWS(GET);
    NAME(order_eight)(v);
    EIGHT_ROWS(PUT);
  }
#undef GET
#undef PUT
  for (size_t half = 8; half < rows; half *= 2) {
    size_t run = half < kept ? half : kept;
    for (size_t start = 0; start + half < used; start += 2 * half) {
      NAME(meet)(block, used, start, half, run);
      if (half >= kept) NAME(clean)(block + start * LANES, kept, kept);
    }
    if (half < kept) NAME(clean)(block, used, half);
  }
}

/* The lanes whose number has the bit. */
SORT_INLINE unsigned NAME(lanes_with)(unsigned bit) {
  return (bit == 1 ? 0xaaaau : bit == 2 ? 0xccccu : bit == 4 ? 0xf0f0u : 0xff00u) & ((1u << LANES) - 1);
}
/* Lane i of the result is lane i ^ x. */
SORT_INLINE __m512i NAME(swapped)(__m512i v, unsigned x) {
  return PERMUTE(_mm512_xor_si512(LANE_NUMBERS, EACH(x)), v);
}
/* The stages between lanes at distances `distance`, ..., 1. */
#define LANE_STAGE(bit)                                                                                      \
  do {                                                                                                       \
    __m512i other = NAME(swapped)(v, bit);                                                                   \
    ORDER_LANES(v, other, NAME(lanes_with)(bit));                                                            \
  } while (0)
SORT_INLINE __m512i NAME(clean_lanes)(__m512i v, unsigned distance) {
  if (distance >= 8) LANE_STAGE(8);
  if (distance >= 4) LANE_STAGE(4);
  if (distance >= 2) LANE_STAGE(2);
  if (distance >= 1) LANE_STAGE(1);
  return v;
}

/* Merges runs of `half` sorted columns in pairs. */
SORT_INLINE void NAME(merge_columns)(KEY *block, size_t rows, unsigned half) {
  for (size_t i = 0; i < rows / 2; i++) {
    __m512i a = NAME(row)(block, i), b = NAME(swapped)(NAME(row)(block, rows - 1 - i), 2 * half - 1);
    ORDER_LANES(a, b, NAME(lanes_with)(half));
    b = NAME(swapped)(b, 2 * half - 1);
    NAME(put_row)(block, i, NAME(clean_lanes)(a, half / 2));
    NAME(put_row)(block, rows - 1 - i, NAME(clean_lanes)(b, half / 2));
  }
  NAME(clean)(block, rows, rows);
}

/* The lanes below `count`. */
SORT_INLINE unsigned NAME(first)(size_t count) {
  return count < LANES ? (1u << count) - 1 : (1u << LANES) - 1;
}

/* Sorts `count` <= LANES lines of n <= LINE_ROWS keys, one after the other in x: a line is a column. The
 * first `wanted` keys of each are stored. */
SORT_TARGET static void NAME(lanes)(KEY *x, size_t count, size_t n, size_t wanted) {
  _Alignas(64) KEY block[LINE_ROWS * LANES];
  const __m512i none = _mm512_set1_epi32(-1);
  __m512i v[LANES];
  size_t rows = LANES, used = (n + LANES - 1) / LANES * LANES;
  while (rows < n) rows *= 2;
  for (size_t i = 0; i < used; i += LANES) {
    unsigned some = NAME(first)(n - i);
    UNROLL for (size_t k = 0; k < LANES; k++) v[k] = k < count ? LOAD(some, x + k * n + i) : none;
    TRANSPOSE(v);
    UNROLL for (size_t k = 0; k < LANES; k++) NAME(put_row)(block, i + k, v[k]);
  }
  for (size_t i = used; i < rows; i++) NAME(put_row)(block, i, none);
  NAME(columns)(block, rows, used, wanted);
  for (size_t i = 0; i < wanted; i += LANES) {
    UNROLL for (size_t k = 0; k < LANES; k++) v[k] = NAME(row)(block, i + k);
    TRANSPOSE(v);
    UNROLL for (size_t k = 0; k < LANES; k++) if (k < count)
        STORE(x + k * n + i, NAME(first)(wanted - i), v[k]);
  }
}
/* As the functions of rt_sort_machine. */
SORT_TARGET static void NAME(lines)(KEY *x, size_t count, size_t n, size_t first) {
  for (size_t k = 0; k < count; k += LANES)
    NAME(lanes)(x + k * n, count - k < LANES ? count - k : LANES, n, first);
}

/* Likewise. */
SORT_TARGET static size_t NAME(below)(const KEY *keys, size_t n, KEY bound, uint32_t *at) {
  __m512i bounds = EACH(bound);
  size_t count = 0;
  for (size_t i = 0; i < n; i += LANES)
    for (unsigned less = NAME(first)(n - i) & ABOVE(bounds, LOAD(NAME(first)(n - i), keys + i)); less;
         less &= less - 1)
      at[count++] = (uint32_t)i + (uint32_t)__builtin_ctz(less);
  return count;
}

/* Likewise: the selected keys are in `vectors` registers. All keys of a vector below the last one before it
 * go where they belong, or past the end: asking again after each would wait for it. Of sorted keys b and the
 * new one, lane i gets the middle one of b[i - 1], b[i] and it. */
SORT_INLINE void NAME(select_in)(size_t vectors, KEY *best, KEY *at, size_t first, const KEY *keys, size_t n,
                                 size_t from) {
  __m512i b[SELECT_VECTORS], p[SELECT_VECTORS], last = EACH((first - 1) % LANES);
  UNROLL for (size_t r = 0; r < vectors; r++) b[r] = NAME(row)(best, r), p[r] = NAME(row)(at, r);
  for (size_t i = 0; i < n; i += LANES) {
    __m512i v = LOAD(NAME(first)(n - i), keys + i), bound = PERMUTE(last, b[vectors - 1]);
    for (unsigned less = ABOVE(bound, v); less; less &= less - 1) {
      size_t here = i + (size_t)__builtin_ctz(less);
      __m512i key = EACH(keys[here]), index = EACH(from + here), none = _mm512_setzero_si512();
      UNROLL for (size_t r = vectors; r-- > 0;) {
        __m512i before = BEHIND(b[r], r ? b[r - 1] : none), at_before = BEHIND(p[r], r ? p[r - 1] : none);
        p[r] = BLEND(ABOVE(b[r], key), p[r], BLEND(ABOVE(before, key), index, at_before));
        b[r] = MOST(before, LEAST(b[r], key));
      }
    }
  }
  UNROLL for (size_t r = 0; r < vectors; r++) NAME(put_row)(best, r, b[r]), NAME(put_row)(at, r, p[r]);
}
SORT_TARGET static void NAME(select)(KEY *best, KEY *at, size_t first, const KEY *keys, size_t n,
                                     size_t from) {
  switch ((first - 1) / LANES) {
  case 0: NAME(select_in)(1, best, at, first, keys, n, from); break;
  case 1: NAME(select_in)(2, best, at, first, keys, n, from); break;
  case 2: NAME(select_in)(3, best, at, first, keys, n, from); break;
  default: NAME(select_in)(SELECT_VECTORS, best, at, first, keys, n, from);
  }
}

/* Likewise. */
SORT_TARGET static bool NAME(encode)(KEY *to, const KEY *from, size_t n, const rt_sort_code *code) {
  const __m512i sign = EACH((KEY)1 << (sizeof(KEY) * 8 - 1)), ones = _mm512_set1_epi32(-1);
  const __m512i flip = EACH((KEY)code->flip), infinity = EACH((KEY)code->infinity);
  unsigned special = 0;
  for (size_t i = 0; i < n; i += LANES) {
    unsigned some = NAME(first)(n - i);
    __m512i x = LOAD(some, from + i), key = x;
    if (code->is_float) {
      if (code->one_zero) x = BLEND(EQUAL(x, sign), x, _mm512_setzero_si512());
      unsigned nan = ABOVE(_mm512_andnot_si512(sign, x), infinity);
      special |= some & (nan | EQUAL(x, sign));
      key = _mm512_xor_si512(x, _mm512_or_si512(SIGNS(x), sign));
      key = BLEND(nan, key, ones);
    }
    STORE(to + i, some, _mm512_xor_si512(key, flip));
  }
  return special != 0;
}
/* Likewise. */
SORT_TARGET static void NAME(decode)(KEY *to, const KEY *from, size_t n, const rt_sort_code *code) {
  const __m512i sign = EACH((KEY)1 << (sizeof(KEY) * 8 - 1)), flip = EACH((KEY)code->flip);
  for (size_t i = 0; i < n; i += LANES) {
    unsigned some = NAME(first)(n - i);
    __m512i x = _mm512_xor_si512(LOAD(some, from + i), flip), negative = SIGNS(x);
    if (code->is_float)
      x = _mm512_xor_si512(x, _mm512_or_si512(_mm512_xor_si512(negative, _mm512_set1_epi32(-1)), sign));
    STORE(to + i, some, x);
  }
}

/* Are n keys sorted as one block? Of twice BLOCK_ROWS rows where they fill seven of eight: two blocks, and
 * the partition, take longer then. */
SORT_INLINE bool NAME(is_block)(size_t n) {
  size_t most = (size_t)BLOCK_ROWS * LANES;
  return n <= most || (n <= 2 * most && n > 2 * most - most / 4);
}

/* Sorts them. */
SORT_TARGET static void NAME(block)(KEY *x, size_t n) {
  _Alignas(64) KEY block[2 * BLOCK_ROWS * LANES];
  size_t rows = LANES;
  while (rows * LANES < n) rows *= 2;
  for (size_t i = 0; i < rows; i++) {
    size_t at = i * LANES;
    NAME(put_row)(block, i, LOAD(at < n ? NAME(first)(n - at) : 0, x + (at < n ? at : 0)));
  }
  NAME(columns)(block, rows, (n + LANES * 8 - 1) / (LANES * 8) * 8, rows);
  NAME(merge_columns)(block, rows, 1);
  NAME(merge_columns)(block, rows, 2);
  NAME(merge_columns)(block, rows, 4);
  if (LANES > 8) NAME(merge_columns)(block, rows, LANES / 2);
  for (size_t i = 0; i < rows; i += LANES) {
    __m512i v[LANES];
    UNROLL for (size_t k = 0; k < LANES; k++) v[k] = NAME(row)(block, i + k);
    TRANSPOSE(v);
    UNROLL for (size_t k = 0; k < LANES; k++) {
      size_t at = k * rows + i;
      if (at < n) STORE(x + at, NAME(first)(n - at), v[k]);
    }
  }
}

/* An estimate of the median: of 8 vectors the median of each lane, and of those the median. */
SORT_TARGET static KEY NAME(pivot)(const KEY *x, size_t n) {
  __m512i v[8];
  KEY medians[LANES];
#define GET(k) v[k] = _mm512_loadu_si512(x + k * (n / 8));
  EIGHT_ROWS(GET);
#undef GET
  NAME(order_eight)(v);
  for (unsigned half = 1; half < LANES; half *= 2) {
    __m512i other = NAME(swapped)(v[4], 2 * half - 1);
    ORDER_LANES(v[4], other, NAME(lanes_with)(half));
    v[4] = NAME(clean_lanes)(v[4], half / 2);
  }
  _mm512_storeu_si512(medians, v[4]);
  return medians[LANES / 2];
}

/* Moves the keys that are at most `most` to the front and returns how many there are. The others go through
 * room, of n + LANES keys. */
SORT_TARGET static size_t NAME(partition)(KEY *x, size_t n, KEY *room, KEY most) {
  __m512i bound = EACH(most);
  size_t front = 0, back = 0, i = 0;
  for (; i + LANES <= n; i += LANES) { /* what is stored at `front` has been read: front <= i */
    __m512i v = _mm512_loadu_si512(x + i);
    unsigned above = ABOVE(v, bound);
    _mm512_storeu_si512(x + front, COMPRESS(~above, v));
    _mm512_storeu_si512(room + back, COMPRESS(above, v));
    back += (size_t)__builtin_popcount(above);
    front = i + LANES - back;
  }
  for (; i < n; i++) {
    KEY key = x[i];
    if (key > most) room[back++] = key;
    else x[front++] = key;
  }
  memcpy(x + front, room, back * sizeof *x);
  return front;
}

/* Quicksort down to blocks. Ranges wait on a stack, the shorter one of two goes first, so the stack is never
 * higher than the logarithm of n. A range that was divided too often without becoming short is left to
 * a radix sort, whose time does not depend on the keys. */
SORT_TARGET static void NAME(sort)(KEY *x, size_t n, KEY *room) {
  struct {
    KEY *x;
    size_t n;
    int divisions;
  } stack[64], now = {x, n, 2 * (64 - __builtin_clzll(n | 1))};
  int height = 0;
  for (;;) {
    while (!NAME(is_block)(now.n) && now.divisions) {
      KEY pivot = NAME(pivot)(now.x, now.n);
      size_t low = NAME(partition)(now.x, now.n, room, pivot), high = now.n - low;
      now.divisions--;
      if (!high && pivot) { /* the pivot is the greatest key */
        low = NAME(partition)(now.x, now.n, room, pivot - 1);
        now.n = low;
        continue;
      }
      KEY *upper = now.x + low;
      bool low_first = low <= high;
      stack[height].x = low_first ? upper : now.x;
      stack[height].n = low_first ? high : low;
      stack[height++].divisions = now.divisions;
      now.x = low_first ? now.x : upper;
      now.n = low_first ? low : high;
    }
    if (NAME(is_block)(now.n)) NAME(block)(now.x, now.n);
    else rt_sort_portable.NAME(sort)(now.x, now.n, room);
    if (!height) return;
    height--;
    now.x = stack[height].x, now.n = stack[height].n, now.divisions = stack[height].divisions;
  }
}

#undef NAME
#undef KEY
#undef LANES
#undef ORDER
#undef LEAST
#undef MOST
#undef ORDER_LANES
#undef PERMUTE
#undef LANE_NUMBERS
#undef EACH
#undef LOAD
#undef STORE
#undef ABOVE
#undef COMPRESS
#undef BEHIND
#undef EQUAL
#undef BLEND
#undef SIGNS
#undef TRANSPOSE
#undef PAIR
#undef EIGHT_ROWS
