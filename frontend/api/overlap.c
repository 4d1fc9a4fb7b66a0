#include "frontend/api/overlap.h"

#include <string.h>

/* With a and b not empty: one begins within the other. Both differences are modulo 2^64, so that a negative
 * one is larger than any size. */
static inline bool overlap(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes) {
  return a - b < b_bytes || b - a < a_bytes;
}

bool fe_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  return a_bytes && b_bytes && overlap((uintptr_t)a, a_bytes, (uintptr_t)b, b_bytes);
}

/* pairs */

static inline size_t find(uintptr_t output, size_t output_bytes, const void *const *buffers,
                          const size_t *bytes, size_t count) {
  size_t i = 0;
  while (i < count && (!bytes[i] || !overlap(output, output_bytes, (uintptr_t)buffers[i], bytes[i]))) i++;
  return i;
}

static bool find_pair(const void *const *inputs, size_t input_count, void *const *outputs,
                      size_t output_count, const size_t *bytes, fe_overlap_pair *out) {
  const size_t *output_bytes = bytes + input_count;
  for (size_t k = 0; k < output_count; k++) {
    uintptr_t at = (uintptr_t)outputs[k];
    if (!output_bytes[k]) continue;
    size_t i = find(at, output_bytes[k], inputs, bytes, input_count);
    bool with_input = i < input_count;
    if (!with_input) i = find(at, output_bytes[k], (const void *const *)outputs, output_bytes, k);
    *out = (fe_overlap_pair){with_input, i, k};
    if (with_input || i < k) return true;
  }
  return false;
}

/* none at all */

typedef struct extent {
  uintptr_t at, end; /* at < end */
} extent;
enum { SORTED = 64 }; /* because so many are sorted by insertion in 1 us, and take 1 KiB of the stack */

/* Inserts an extent among those before it, which are sorted and apart. Is it apart from all of them? */
static bool insert(extent *list, size_t count, extent e) {
  size_t i = count;
  for (; i > 0 && list[i - 1].at > e.at; i--) list[i] = list[i - 1];
  list[i] = e;
  return (i == 0 || list[i - 1].end <= e.at) && (i == count || e.end <= list[i + 1].at);
}

static bool meets(const extent *list, size_t count, uintptr_t at, uintptr_t end) {
  if (at >= list[count - 1].end || end <= list[0].at) return false;
  size_t low = 0, high = count; /* of those that begin before `end` the last one ends last */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (list[middle].at < end) low = middle + 1;
    else high = middle;
  }
  return low && list[low - 1].end > at;
}

static bool meet_any(const extent *list, size_t count, const void *const *buffers, const size_t *bytes,
                     size_t n) {
  bool met = false;
  for (size_t i = 0; i < n; i++) {
    uintptr_t at = (uintptr_t)buffers[i];
    met |= bytes[i] && (at + bytes[i] < at || meets(list, count, at, at + bytes[i]));
  }
  return met;
}

/* Certainly none, as the outputs' addresses ascend, and every input is before or behind all of them: so do
 * buffers that are allocated one after the other. */
static bool in_order(const void *const *inputs, size_t input_count, void *const *outputs, size_t output_count,
                     const size_t *bytes) {
  const size_t *output_bytes = bytes + input_count;
  uintptr_t low = (uintptr_t)outputs[0], end = low;
  bool wrong = false;
  for (size_t k = 0; k < output_count; k++) {
    uintptr_t at = (uintptr_t)outputs[k];
    wrong |= at < end || at + output_bytes[k] < at;
    end = at + output_bytes[k];
  }
  for (size_t i = 0; i < input_count; i++) wrong |= overlap(low, end - low, (uintptr_t)inputs[i], bytes[i]);
  return !wrong;
}

enum { MANY_PAIRS = 8 }; /* because fewer are compared in less time than sorting takes */

/* Certainly none: the outputs, SORTED at a time, are sorted, and each other buffer is looked up among them.
 */
static bool all_apart(const void *const *inputs, size_t input_count, void *const *outputs,
                      size_t output_count, const size_t *bytes) {
  const size_t *output_bytes = bytes + input_count;
  for (size_t k = 0; k < output_count;) {
    extent list[SORTED];
    size_t count = 0;
    for (; k < output_count && count < SORTED; k++) {
      uintptr_t at = (uintptr_t)outputs[k], end = at + output_bytes[k];
      if (at != end && (end < at || !insert(list, count++, (extent){at, end}))) return false;
    }
    if (count &&
        (meet_any(list, count, inputs, bytes, input_count) ||
         meet_any(list, count, (const void *const *)outputs + k, output_bytes + k, output_count - k)))
      return false;
  }
  return true;
}

bool fe_overlap_find(const void *const *inputs, size_t input_count, void *const *outputs, size_t output_count,
                     const size_t *bytes, fe_overlap_pair *out) {
  bool many = input_count * output_count >= MANY_PAIRS;
  if (!output_count || in_order(inputs, input_count, outputs, output_count, bytes)) return false;
  return !(many && all_apart(inputs, input_count, outputs, output_count, bytes)) &&
         find_pair(inputs, input_count, outputs, output_count, bytes, out);
}

/* lists that were good */

enum { NOTED = 16 }; /* misses for each list noted; because others each time cost 15 % more with 4 */

static size_t size_of(size_t count) {
  return sizeof(fe_good_lists) + FE_GOOD_LISTS * count * sizeof(_Atomic uintptr_t);
}

fe_good_lists *fe_good_lists_make(const ir_mem *mem, size_t count) {
  fe_good_lists *good = ir_alloc(mem, size_of(count));
  if (good) memset(good, 0, size_of(count));
  return good;
}

void fe_good_lists_free(fe_good_lists *good, const ir_mem *mem, size_t count) {
  ir_free(mem, good, size_of(count));
}

void fe_good_lists_note(fe_good_lists *good, fe_run_list list) {
  uint32_t missed = atomic_load_explicit(&good->missed, memory_order_relaxed);
  atomic_store_explicit(&good->missed, missed + 1, memory_order_relaxed); /* about as many */
  if (missed % NOTED) return;
  uint32_t version = atomic_load_explicit(&good->version, memory_order_relaxed);
  if (version & 1 || !atomic_compare_exchange_strong_explicit(&good->version, &version, version + 1,
                                                              memory_order_acquire, memory_order_relaxed))
    return;
  size_t count = list.input_count + list.output_count + list.value_count;
  _Atomic uintptr_t *to = good->buffers + version / 2 % FE_GOOD_LISTS * count;
  for (size_t i = 0; i < list.input_count; i++)
    atomic_store_explicit(to++, (uintptr_t)list.inputs[i], memory_order_release);
  for (size_t i = 0; i < list.output_count; i++)
    atomic_store_explicit(to++, (uintptr_t)list.outputs[i], memory_order_release);
  for (size_t i = 0; i < list.value_count; i++)
    atomic_store_explicit(to++, (uintptr_t)list.values[i], memory_order_release);
  atomic_store_explicit(&good->version, version + 2, memory_order_release);
}
