/* The loops with which limits are measured, in a version for each vector extension: none, AVX2, AVX-512. */
#include "frontend/cli/bench/limits.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
  SUMS = 12,  /* independent chains of multiply-adds: more than latency times ports of any processor */
  AHEAD = 512 /* floats from a load to what it prefetches, as in generated code
                 (passes/loops/cpu/nontemporal.c) */
};

/* Two rows of 16 KiB at a time, as sums of rows read them (passes/loops/cpu/lanes.c); what is left of fewer
 * is not read. FETCH is a prefetch of a line, or nothing. */
#define ROWS(NAME, TARGET, VECTOR, LANES, LOAD, STORE, FETCH, SET, ADD)                                      \
  TARGET static void NAME(float *to, const float *from, size_t n) {                                          \
    enum { ROW = 4096, LINE = 16 };                                                                          \
    VECTOR sum[2][2 * LINE / LANES], all = SET(0);                                                           \
    for (size_t k = 0; k < 4 * LINE / LANES; k++)                                                            \
      sum[k / (2 * LINE / LANES)][k % (2 * LINE / LANES)] = SET(0);                                          \
    for (const float *row = from; row + 2 * ROW <= from + n; row += 2 * ROW)                                 \
      for (size_t i = 0; i < ROW; i += 2 * LINE)                                                             \
        for (size_t r = 0; r < 2; r++) {                                                                     \
          for (size_t k = 0; k < 2; k++) FETCH(row + r * ROW + i + k * LINE + AHEAD);                        \
          for (size_t k = 0; k < 2 * LINE / LANES; k++)                                                      \
            sum[r][k] = ADD(sum[r][k], LOAD(row + r * ROW + i + k * LANES));                                 \
        }                                                                                                    \
    for (size_t k = 0; k < 4 * LINE / LANES; k++)                                                            \
      all = ADD(all, sum[k / (2 * LINE / LANES)][k % (2 * LINE / LANES)]);                                   \
    STORE(to, all);                                                                                          \
  }
#define NO_FETCH(AT)   (void)(AT)
#define NEAR_FETCH(AT) __builtin_prefetch((AT), 0, 3)

/* Places follow from numbers by products and exclusive ors, which do not wait for each other, and in which no
 * prefetcher finds a stride. */
static void read_lines(float *to, const float *from, size_t n) {
  enum { LINE = 16 };
  uint32_t lines = (uint32_t)(n / LINE);
  float sum[4] = {0, 0, 0, 0};
  for (uint32_t i = 0; i < lines; i++) {
    uint32_t x = (i + 1) * 0x9e3779b1u;
    x = (x ^ x >> 15) * 0x85ebca6bu;
    sum[i & 3] += from[(size_t)((uint64_t)(x ^ x >> 13) * lines >> 32) * LINE];
  }
  *to = sum[0] + sum[1] + sum[2] + sum[3];
}

/* Of every fourth page all elements, in an order that odd multiples of their numbers give; no gather is
 * known. */
enum { PAGE = 1024, PAGES = 4, PLACES_FACTOR = 2654435 };

static void plain_places(float *to, const float *from, size_t n) {
  float sum[4] = {0, 0, 0, 0};
  for (const float *page = from; page + PAGE <= from + n; page += PAGES * PAGE)
    for (uint32_t i = 0; i < PAGE; i++) sum[i & 3] += page[i * PLACES_FACTOR % PAGE];
  *to = sum[0] + sum[1] + sum[2] + sum[3];
}

/* n is a multiple of BENCH_CHUNK, and buffers are aligned to a vector. STREAM is a non-temporal store,
 * PREFETCH a non-temporal prefetch, which may be of an address behind the array. */
#define KIT(NAME, TARGET, VECTOR, LANES, LOAD, STORE, STREAM, PREFETCH, SET, ADD, MULTIPLY_ADD, FENCE,       \
            PLACES, GATHERED)                                                                                \
  TARGET static void NAME##_read(float *to, const float *from, size_t n) {                                   \
    VECTOR sum[4] = {SET(0), SET(0), SET(0), SET(0)};                                                        \
    for (size_t i = 0; i < n; i += 4 * LANES)                                                                \
      for (size_t k = 0; k < 4; k++) sum[k] = ADD(sum[k], LOAD(from + i + k * LANES));                       \
    STORE(to, ADD(ADD(sum[0], sum[1]), ADD(sum[2], sum[3])));                                                \
  }                                                                                                          \
  TARGET static void NAME##_read_nontemporal(float *to, const float *from, size_t n) {                       \
    VECTOR sum[4] = {SET(0), SET(0), SET(0), SET(0)};                                                        \
    for (size_t i = 0; i < n; i += 4 * LANES)                                                                \
      for (size_t k = 0; k < 4; k++) {                                                                       \
        PREFETCH(from + i + k * LANES + AHEAD);                                                              \
        sum[k] = ADD(sum[k], LOAD(from + i + k * LANES));                                                    \
      }                                                                                                      \
    STORE(to, ADD(ADD(sum[0], sum[1]), ADD(sum[2], sum[3])));                                                \
  }                                                                                                          \
  ROWS(NAME##_rows, TARGET, VECTOR, LANES, LOAD, STORE, NO_FETCH, SET, ADD)                                  \
  ROWS(NAME##_rows_ahead, TARGET, VECTOR, LANES, LOAD, STORE, NEAR_FETCH, SET, ADD)                          \
  TARGET static void NAME##_copy(float *to, const float *from, size_t n) {                                   \
    for (size_t i = 0; i < n; i += LANES) STORE(to + i, LOAD(from + i));                                     \
  }                                                                                                          \
  TARGET static void NAME##_copy_nontemporal(float *to, const float *from, size_t n) {                       \
    for (size_t i = 0; i < n; i += LANES) STREAM(to + i, LOAD(from + i));                                    \
    FENCE();                                                                                                 \
  }                                                                                                          \
  TARGET static void NAME##_fill(float *to, const float *from, size_t n) {                                   \
    VECTOR value = LOAD(from);                                                                               \
    for (size_t i = 0; i < n; i += LANES) STORE(to + i, value);                                              \
  }                                                                                                          \
  TARGET static void NAME##_fill_nontemporal(float *to, const float *from, size_t n) {                       \
    VECTOR value = LOAD(from);                                                                               \
    for (size_t i = 0; i < n; i += LANES) STREAM(to + i, value);                                             \
    FENCE();                                                                                                 \
  }                                                                                                          \
  TARGET static void NAME##_multiply_add(float *to, const float *from, size_t n) {                           \
    VECTOR sum[SUMS], a = LOAD(from), total = SET(0);                                                        \
    for (int k = 0; k < SUMS; k++) sum[k] = ADD(a, SET((float)k));                                           \
    for (size_t i = 0; i < n; i += SUMS * LANES)                                                             \
      for (int k = 0; k < SUMS; k++) sum[k] = MULTIPLY_ADD(sum[k], a, a);                                    \
    for (int k = 0; k < SUMS; k++) total = ADD(total, sum[k]);                                               \
    STORE(to, total);                                                                                        \
  }                                                                                                          \
  static const bench_kit NAME##_kit = {{NAME##_read, NAME##_read_nontemporal, NAME##_rows,                   \
                                        NAME##_rows_ahead, NAME##_copy, NAME##_copy_nontemporal,             \
                                        NAME##_fill, NAME##_fill_nontemporal, NAME##_multiply_add, PLACES,   \
                                        GATHERED, read_lines}};

typedef float plain __attribute__((vector_size(16)));
#define PLAIN_LOAD(AT)              (*(const plain *)(AT))
#define PLAIN_STORE(AT, X)          (*(plain *)(AT) = (X))
#define PLAIN_SET(X)                ((plain){(X), (X), (X), (X)})
#define PLAIN_ADD(X, Y)             ((X) + (Y))
#define PLAIN_MULTIPLY_ADD(X, Y, Z) ((X) * (Y) + (Z))
#define PLAIN_PREFETCH(AT)          __builtin_prefetch((AT), 0, 0)
#define PLAIN_FENCE()
KIT(plain, , plain, 4, PLAIN_LOAD, PLAIN_STORE, PLAIN_STORE, PLAIN_PREFETCH, PLAIN_SET, PLAIN_ADD,
    PLAIN_MULTIPLY_ADD, PLAIN_FENCE, plain_places, plain_places)

#if defined(__x86_64__)
KIT(avx2, __attribute__((target("avx2,fma"))), __m256, 8, _mm256_load_ps, _mm256_store_ps, _mm256_stream_ps,
    PLAIN_PREFETCH, _mm256_set1_ps, _mm256_add_ps, _mm256_fmadd_ps, _mm_sfence, plain_places, plain_places)

/* The same places, as vectors: READ is the vector of what is there. */
#define AVX512_PLACES(NAME, READ)                                                                            \
  __attribute__((target("avx512f"))) static void NAME(float *to, const float *from, size_t n) {              \
    int at[16] __attribute__((aligned(64)));                                                                 \
    for (int k = 0; k < 16; k++) at[k] = k * PLACES_FACTOR;                                                  \
    __m512i number = _mm512_load_si512(at), step = _mm512_set1_epi32(16 * PLACES_FACTOR),                    \
            last = _mm512_set1_epi32(PAGE - 1);                                                              \
    __m512 sum = _mm512_setzero_ps();                                                                        \
    for (const float *page = from; page + PAGE <= from + n; page += PAGES * PAGE)                            \
      for (int i = 0; i < PAGE; i += 16, number = _mm512_add_epi32(number, step)) {                          \
        __m512i place = _mm512_and_si512(number, last);                                                      \
        sum = _mm512_add_ps(sum, READ);                                                                      \
      }                                                                                                      \
    _mm512_store_ps(to, sum);                                                                                \
  }
#define AVX512_SINGLY                                                                                        \
  (_mm512_store_si512(at, place),                                                                            \
   _mm512_set_ps(page[at[15]], page[at[14]], page[at[13]], page[at[12]], page[at[11]], page[at[10]],         \
                 page[at[9]], page[at[8]], page[at[7]], page[at[6]], page[at[5]], page[at[4]], page[at[3]],  \
                 page[at[2]], page[at[1]], page[at[0]]))
AVX512_PLACES(avx512_places, AVX512_SINGLY)
AVX512_PLACES(avx512_gathered, _mm512_i32gather_ps(place, page, 4))
KIT(avx512, __attribute__((target("avx512f"))), __m512, 16, _mm512_load_ps, _mm512_store_ps, _mm512_stream_ps,
    PLAIN_PREFETCH, _mm512_set1_ps, _mm512_add_ps, _mm512_fmadd_ps, _mm_sfence, avx512_places,
    avx512_gathered)

const bench_kit *bench_kit_here(void) {
  if (__builtin_cpu_supports("avx512f")) return &avx512_kit;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2_kit : &plain_kit;
}
#else
const bench_kit *bench_kit_here(void) { return &plain_kit; }
#endif
