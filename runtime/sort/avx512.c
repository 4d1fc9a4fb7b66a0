/* Sorting keys in vectors of AVX-512: quicksort, whose partitions compress vectors, down to blocks, which
 * networks sort (after Bramas 2017). The code is in avx512_template.h, for keys of 32 and of 64 bits. */
#include "runtime/sort/keys.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

enum {
  BLOCK_ROWS = 64, /* of 64 bytes: a block has 4 KiB. With 32 rows a million keys of 32 bits take 2 % longer,
                      with 128 10 %; of 64 bits 2 % and 5 % */
  SELECT_VECTORS = 4, /* of selected keys: with as many indices half of the registers */
  LINE_ROWS = 256     /* 16 KiB, so that a block and its lines stay in the L1 cache */
};
#define SORT_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt")))
#define SORT_INLINE SORT_TARGET static inline __attribute__((always_inline))

/* gcc unrolls no loop by itself at -O2, and arrays that are indexed in loops are in memory. */
#define UNROLL _Pragma("GCC unroll 16")

/* Transposition by steps that swap the off-diagonal quarters of squares of 2, 4, 8 and 16. */
SORT_INLINE void transpose_16(__m512i v[16]) {
  __m512i t[16];
  UNROLL
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  UNROLL
  for (int i = 0; i < 8; i++) {
    int square = i / 2 * 4, of = i % 2;
    v[square + 2 * of] = _mm512_unpacklo_epi64(t[square + of], t[square + of + 2]);
    v[square + 2 * of + 1] = _mm512_unpackhi_epi64(t[square + of], t[square + of + 2]);
  }
  UNROLL
  for (int i = 0; i < 8; i++) {
    int at = i % 4 + i / 4 * 8;
    t[at] = _mm512_shuffle_i32x4(v[at], v[at + 4], 0x88);
    t[at + 4] = _mm512_shuffle_i32x4(v[at], v[at + 4], 0xdd);
  }
  UNROLL
  for (int i = 0; i < 8; i++) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}
SORT_INLINE void transpose_8(__m512i v[8]) {
  __m512i t[8];
  UNROLL
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
  }
  UNROLL
  for (int i = 0; i < 4; i++) {
    int at = i % 2 + i / 2 * 4;
    v[at] = _mm512_shuffle_i64x2(t[at], t[at + 2], 0x88);
    v[at + 2] = _mm512_shuffle_i64x2(t[at], t[at + 2], 0xdd);
  }
  UNROLL
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_i64x2(v[i], v[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i64x2(v[i], v[i + 4], 0xdd);
  }
  UNROLL
  for (int i = 0; i < 8; i++) v[i] = t[i];
}

#define NAME(x) x##_u32
#define KEY     uint32_t
#define LANES   16
#define LEAST   _mm512_min_epu32
#define MOST    _mm512_max_epu32
#define ORDER(a, b)                                                                                          \
  do {                                                                                                       \
    __m512i least = _mm512_min_epu32(a, b);                                                                  \
    b = _mm512_max_epu32(a, b);                                                                              \
    a = least;                                                                                               \
  } while (0)
#define ORDER_LANES(a, b, mask)                                                                              \
  do {                                                                                                       \
    __m512i least = _mm512_min_epu32(a, b), most = _mm512_max_epu32(a, b);                                   \
    a = _mm512_mask_blend_epi32((__mmask16)(mask), least, most);                                             \
    b = _mm512_mask_blend_epi32((__mmask16)(mask), most, least);                                             \
  } while (0)
#define PERMUTE(index, v) _mm512_permutexvar_epi32(index, v)
#define LANE_NUMBERS      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define EACH(x)           _mm512_set1_epi32((int)(x))
#define LOAD(mask, p)     _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), (__mmask16)(mask), p)
#define STORE(p, mask, v) _mm512_mask_storeu_epi32(p, (__mmask16)(mask), v)
#define ABOVE(a, b)       _mm512_cmpgt_epu32_mask(a, b)
#define COMPRESS(mask, v) _mm512_maskz_compress_epi32((__mmask16)(mask), v)
#define BEHIND(v, w)      _mm512_alignr_epi32(v, w, 15)
#define TRANSPOSE(v)      transpose_16(v)
#define EQUAL(a, b)       _mm512_cmpeq_epi32_mask(a, b)
#define BLEND(mask, a, b) _mm512_mask_blend_epi32((__mmask16)(mask), a, b)
#define SIGNS(v)          _mm512_srai_epi32(v, 31)
#include "avx512_template.h"

#define NAME(x) x##_u64
#define KEY     uint64_t
#define LANES   8
#define LEAST   _mm512_min_epu64
#define MOST    _mm512_max_epu64
#define ORDER(a, b)                                                                                          \
  do {                                                                                                       \
    __mmask8 swap = _mm512_cmplt_epu64_mask(b, a);                                                           \
    __m512i least = _mm512_mask_blend_epi64(swap, a, b);                                                     \
    b = _mm512_mask_blend_epi64(swap, b, a);                                                                 \
    a = least;                                                                                               \
  } while (0)
#define ORDER_LANES(a, b, mask)                                                                              \
  do {                                                                                                       \
    __mmask8 swap = (__mmask8)(_mm512_cmplt_epu64_mask(b, a) ^ (mask));                                      \
    __m512i chosen = _mm512_mask_blend_epi64(swap, a, b);                                                    \
    b = _mm512_mask_blend_epi64(swap, b, a);                                                                 \
    a = chosen;                                                                                              \
  } while (0)
#define PERMUTE(index, v) _mm512_permutexvar_epi64(index, v)
#define LANE_NUMBERS      _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define EACH(x)           _mm512_set1_epi64((long long)(x))
#define LOAD(mask, p)     _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), (__mmask8)(mask), p)
#define STORE(p, mask, v) _mm512_mask_storeu_epi64(p, (__mmask8)(mask), v)
#define ABOVE(a, b)       _mm512_cmpgt_epu64_mask(a, b)
#define COMPRESS(mask, v) _mm512_maskz_compress_epi64((__mmask8)(mask), v)
#define BEHIND(v, w)      _mm512_alignr_epi64(v, w, 7)
#define TRANSPOSE(v)      transpose_8(v)
#define EQUAL(a, b)       _mm512_cmpeq_epi64_mask(a, b)
#define BLEND(mask, a, b) _mm512_mask_blend_epi64((__mmask8)(mask), a, b)
#define SIGNS(v)          _mm512_srai_epi64(v, 63)
#include "avx512_template.h"

/* As the functions of rt_sort_machine, eight entries at a time. */
SORT_INLINE __mmask8 first_of(size_t n) { return (__mmask8)(n < 8 ? (1u << n) - 1 : UINT8_MAX); }
SORT_INLINE __m512i index_from(size_t from) {
  return _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64((long long)from));
}
SORT_TARGET static void entries_u32(uint64_t *to, const uint32_t *keys, size_t n, size_t from) {
  for (size_t i = 0; i < n; i += 8) {
    __mmask8 some = first_of(n - i);
    __m512i key = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(some, keys + i));
    __m512i entry = _mm512_or_si512(_mm512_slli_epi64(key, 32), index_from(from + i));
    _mm512_mask_storeu_epi64(to + i, some, entry);
  }
}
SORT_TARGET static void entries_u64(uint64_t *x, size_t n, unsigned moved) {
  const __m128i up = _mm_cvtsi32_si128((int)moved);
  for (size_t i = 0; i < n; i += 8) {
    __mmask8 some = first_of(n - i);
    __m512i key = _mm512_sll_epi64(_mm512_maskz_loadu_epi64(some, x + i), up);
    __m512i entry = _mm512_mask_blend_epi32(0x5555, key, index_from(i));
    _mm512_mask_storeu_epi64(x + i, some, entry);
  }
}
SORT_TARGET static void indices(uint64_t *to, const uint64_t *entries, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    __mmask8 some = first_of(n - i);
    __m512i entry = _mm512_maskz_loadu_epi64(some, entries + i);
    _mm512_mask_storeu_epi64(to + i, some, _mm512_maskz_mov_epi32(0x5555, entry));
  }
}
SORT_TARGET static uint64_t differing(const uint64_t *keys, size_t n, uint64_t key) {
  const __m512i all = _mm512_set1_epi64((long long)key);
  __m512i differ = _mm512_setzero_si512();
  for (size_t i = 0; i < n; i += 8)
    differ = _mm512_or_si512(differ,
                             _mm512_xor_si512(all, _mm512_mask_loadu_epi64(all, first_of(n - i), keys + i)));
  return (uint64_t)_mm512_reduce_or_epi64(differ);
}

static const rt_sort_machine machine = {.encode_u32 = encode_u32,
                                        .encode_u64 = encode_u64,
                                        .decode_u32 = decode_u32,
                                        .decode_u64 = decode_u64,
                                        .sort_u32 = sort_u32,
                                        .sort_u64 = sort_u64,
                                        .sort_halves = sort_u64,
                                        .entries_u32 = entries_u32,
                                        .entries_u64 = entries_u64,
                                        .indices = indices,
                                        .differing = differing,
                                        .below_u32 = below_u32,
                                        .below_u64 = below_u64,
                                        .most_first_u32 = SELECT_VECTORS * 16,
                                        .most_first_u64 = SELECT_VECTORS * 8,
                                        .select_u32 = select_u32,
                                        .select_u64 = select_u64,
                                        .most_in_line = LINE_ROWS,
                                        .lines_u32 = lines_u32,
                                        .lines_u64 = lines_u64};

/* The processor has the instructions, and the system saves their registers. */
const rt_sort_machine *rt_sort_avx512(void) {
  bool here = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return here ? &machine : NULL;
}
#else
const rt_sort_machine *rt_sort_avx512(void) { return NULL; }
#endif
