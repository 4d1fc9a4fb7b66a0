/* Arrays of keys: unsigned integers in the order of the elements. What sorts them is a table of functions for
 * each kind of machine; the result is the same. */
#ifndef VIEWFOLD_RUNTIME_SORT_KEYS_H
#define VIEWFOLD_RUNTIME_SORT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  RT_SORT_SPARE = 16, /* keys that `room` has more than the array: a vector of AVX-512 */
  RT_SORT_FIRST = 64, /* keys that are selected in registers, at most */
  RT_SORT_LINES = 16, /* lines that are sorted together, where they are short */
  /* of fewer each is sorted alone: four of 256 keys take 1.3 to 2 times as long together, six the same,
   * twelve of 20 half (Zen 4) */
  RT_SORT_LEAST_LINES = 6
};

/* How keys follow from the bits of elements, in the upper bits of a key: bits ^ flip for integers. Floats
 * have the sign complemented and, where they are negative, the other bits too, and all NaNs have the greatest
 * key, before `flip`. one_zero: -0 has the key of 0, so that it cannot be decoded. */
typedef struct rt_sort_code {
  bool is_float, one_zero;
  uint64_t flip, infinity;
} rt_sort_code;

typedef struct rt_sort_machine {
  /* Keys of n elements, and back; to and from may be one array. encode: is one of them a NaN or -0? These are
   * the elements that others are equal to which differ in bits. */
  bool (*encode_u32)(uint32_t *to, const uint32_t *from, size_t n, const rt_sort_code *code);
  bool (*encode_u64)(uint64_t *to, const uint64_t *from, size_t n, const rt_sort_code *code);
  void (*decode_u32)(uint32_t *to, const uint32_t *from, size_t n, const rt_sort_code *code);
  void (*decode_u64)(uint64_t *to, const uint64_t *from, size_t n, const rt_sort_code *code);
  /* Entries, a key's upper 32 bits above an index: of keys whose elements have the indices from `from` on; in
   * place, of keys that are first moved up by so many bits, with the indices from 0 on. */
  void (*entries_u32)(uint64_t *to, const uint32_t *keys, size_t n, size_t from);
  void (*entries_u64)(uint64_t *x, size_t n, unsigned moved);
  void (*indices)(uint64_t *to, const uint64_t *entries, size_t n); /* the lower halves */
  /* The bits in which some key differs from the one given. */
  uint64_t (*differing)(const uint64_t *keys, size_t n, uint64_t key);
  /* Sort n keys, ascending. room: n + RT_SORT_SPARE keys. */
  void (*sort_u32)(uint32_t *x, size_t n, uint32_t *room);
  void (*sort_u64)(uint64_t *x, size_t n, uint64_t *room);
  /* The same for keys that are in the order of their lower halves where the upper halves are equal. */
  void (*sort_halves)(uint64_t *x, size_t n, uint64_t *room);
  /* The indices of the keys that are less than the bound, ascending, in `at`; how many they are. */
  size_t (*below_u32)(const uint32_t *keys, size_t n, uint32_t bound, uint32_t *at);
  size_t (*below_u64)(const uint64_t *keys, size_t n, uint64_t bound, uint32_t *at);
  /* Of an array that comes in pieces, the first of whose n keys has the index `from`: `best` has the `first`
   * least keys so far, ascending, and `at` their indices, in the order of the indices where keys are equal.
   * Both have RT_SORT_FIRST places; before the first piece `best` has the greatest key in each. It is never
   * selected: places that have it at the end have no index. 0 < first <= most_first. */
  size_t most_first_u32, most_first_u64;
  void (*select_u32)(uint32_t *best, uint32_t *at, size_t first, const uint32_t *keys, size_t n, size_t from);
  void (*select_u64)(uint64_t *best, uint64_t *at, size_t first, const uint64_t *keys, size_t n, size_t from);
  /* Sort `count` lines of n keys each, one line after the other, n <= most_in_line. Of each line the first
   * `first` keys are wanted; others have any value then. */
  size_t most_in_line;
  void (*lines_u32)(uint32_t *x, size_t count, size_t n, size_t first);
  void (*lines_u64)(uint64_t *x, size_t count, size_t n, size_t first);
} rt_sort_machine;

/* radix.c: as sort_halves, by the highest byte alone, or the highest two, which are all of a narrow element.
 * On every machine: 300 to 10^6 keys take 0.2 to 0.85 times as long as in vectors of AVX-512, but for 1000 of
 * two bytes. */
void rt_sort_narrow(uint64_t *x, size_t n, uint64_t *room, size_t bytes);

extern const rt_sort_machine rt_sort_portable; /* radix.c */
/* avx512.c; NULL: not on this machine. */
const rt_sort_machine *rt_sort_avx512(void);

#endif
