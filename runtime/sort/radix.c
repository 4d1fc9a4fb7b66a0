/* Sorting keys on any machine: by counting, a digit of 8 bits at a time from the lowest on, which is stable
 * (LSD radix sort). All digits are counted in one reading; digits that all keys share cost nothing more. */
#include <string.h>

#include "runtime/sort/keys.h"

enum {
  DIGIT = 8,
  DIGITS = 1 << DIGIT,
  /* keys that insertion sorts: random ones take as long as with counts, which have to be cleared and added up
   * (0.4 us on Sapphire Rapids) */
  SHORT = 40
};

/* FIRST: the lowest digit that is looked at. */
#define DEFINE_SORT(name, KEY, FIRST)                                                                        \
  static void name(KEY *x, size_t n, KEY *room) {                                                            \
    size_t count[sizeof(KEY)][DIGITS];                                                                       \
    KEY *from = x, *to = room;                                                                               \
    for (size_t i = 1; i < n && n <= SHORT; i++) {                                                           \
      KEY key = x[i];                                                                                        \
      size_t k = i;                                                                                          \
      for (; k && x[k - 1] > key; k--) x[k] = x[k - 1];                                                      \
      x[k] = key;                                                                                            \
    }                                                                                                        \
    if (n <= SHORT) return;                                                                                  \
    memset(count, 0, sizeof count);                                                                          \
    for (size_t i = 0; i < n; i++)                                                                           \
      for (size_t d = FIRST; d < sizeof(KEY); d++) count[d][x[i] >> d * DIGIT & (DIGITS - 1)]++;             \
    for (size_t d = FIRST; d < sizeof(KEY); d++) {                                                           \
      size_t at = 0, *next = count[d];                                                                       \
      if (next[x[0] >> d * DIGIT & (DIGITS - 1)] == n) continue;                                             \
      for (int v = 0; v < DIGITS; v++) {                                                                     \
        size_t here = next[v];                                                                               \
        next[v] = at, at += here;                                                                            \
      }                                                                                                      \
      for (size_t i = 0; i < n; i++) to[next[from[i] >> d * DIGIT & (DIGITS - 1)]++] = from[i];              \
      KEY *other = from;                                                                                     \
      from = to, to = other;                                                                                 \
    }                                                                                                        \
    if (from != x) memcpy(x, from, n * sizeof *x);                                                           \
  }
DEFINE_SORT(sort_u32, uint32_t, 0)
DEFINE_SORT(sort_u64, uint64_t, 0)
DEFINE_SORT(sort_halves, uint64_t, sizeof(uint32_t))
DEFINE_SORT(sort_two_bytes, uint64_t, sizeof(uint64_t) - 2)
DEFINE_SORT(sort_byte, uint64_t, sizeof(uint64_t) - 1)

void rt_sort_narrow(uint64_t *x, size_t n, uint64_t *room, size_t bytes) {
  if (bytes == 1) sort_byte(x, n, room);
  else sort_two_bytes(x, n, room);
}

#define DEFINE_CODE(bits, KEY)                                                                               \
  static bool encode_##bits(KEY *to, const KEY *from, size_t n, const rt_sort_code *code) {                  \
    const KEY sign = (KEY)1 << (sizeof(KEY) * 8 - 1), flip = (KEY)code->flip, most = (KEY)code->infinity;    \
    bool special = false;                                                                                    \
    for (size_t i = 0; i < n && !code->is_float; i++) to[i] = from[i] ^ flip;                                \
    for (size_t i = 0; i < n && code->is_float; i++) {                                                       \
      KEY x = code->one_zero && from[i] == sign ? 0 : from[i];                                               \
      KEY negative = (KEY)0 - (x >> (sizeof(KEY) * 8 - 1)), nan = (KEY)0 - ((x & ~sign) > most);             \
      to[i] = ((x ^ (negative | sign)) | nan) ^ flip;                                                        \
      special |= nan || x == sign;                                                                           \
    }                                                                                                        \
    return special;                                                                                          \
  }                                                                                                          \
  static void decode_##bits(KEY *to, const KEY *from, size_t n, const rt_sort_code *code) {                  \
    const KEY sign = (KEY)1 << (sizeof(KEY) * 8 - 1), flip = (KEY)code->flip;                                \
    for (size_t i = 0; i < n; i++) {                                                                         \
      KEY x = from[i] ^ flip, negative = (x >> (sizeof(KEY) * 8 - 1)) - 1;                                   \
      to[i] = code->is_float ? x ^ (negative | sign) : x;                                                    \
    }                                                                                                        \
  }
#define DEFINE_BELOW(bits, KEY)                                                                              \
  static size_t below_##bits(const KEY *keys, size_t n, KEY bound, uint32_t *at) {                           \
    size_t count = 0;                                                                                        \
    for (size_t i = 0; i < n; i++)                                                                           \
      if (keys[i] < bound) at[count++] = (uint32_t)i;                                                        \
    return count;                                                                                            \
  }
DEFINE_BELOW(u32, uint32_t)
DEFINE_BELOW(u64, uint64_t)
DEFINE_CODE(u32, uint32_t)
DEFINE_CODE(u64, uint64_t)

static void entries_u32(uint64_t *to, const uint32_t *keys, size_t n, size_t from) {
  for (size_t i = 0; i < n; i++) to[i] = (uint64_t)keys[i] << 32 | (from + i);
}
static void entries_u64(uint64_t *x, size_t n, unsigned moved) {
  for (size_t i = 0; i < n; i++) x[i] = x[i] << moved >> 32 << 32 | i;
}
static void indices(uint64_t *to, const uint64_t *entries, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (uint32_t)entries[i];
}
static uint64_t differing(const uint64_t *keys, size_t n, uint64_t key) {
  uint64_t differ = 0;
  for (size_t i = 0; i < n; i++) differ |= keys[i] ^ key;
  return differ;
}

const rt_sort_machine rt_sort_portable = {.encode_u32 = encode_u32,
                                          .encode_u64 = encode_u64,
                                          .decode_u32 = decode_u32,
                                          .decode_u64 = decode_u64,
                                          .entries_u32 = entries_u32,
                                          .entries_u64 = entries_u64,
                                          .indices = indices,
                                          .differing = differing,
                                          .below_u32 = below_u32,
                                          .below_u64 = below_u64,
                                          .sort_u32 = sort_u32,
                                          .sort_u64 = sort_u64,
                                          .sort_halves = sort_halves};
