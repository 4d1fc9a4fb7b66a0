/* Where the buffers of a run lie: aligned as their elements, and outputs apart from all others. */
#ifndef VIEWFOLD_FRONTEND_API_OVERLAP_H
#define VIEWFOLD_FRONTEND_API_OVERLAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/base.h"

/* A pair of ports of which the second one is an output; numbers as in the lists of vf_program_run. */
typedef struct fe_overlap_pair {
  bool with_input;
  size_t first, output;
} fe_overlap_pair;

/* Do two buffers overlap? One of 0 bytes overlaps nothing. */
bool fe_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes);
/* Finds such a pair among the buffers, of which bytes has the sizes: inputs, then outputs. A buffer of 0
 * bytes overlaps nothing. */
bool fe_overlap_find(const void *const *inputs, size_t input_count, void *const *outputs, size_t output_count,
                     const size_t *bytes, fe_overlap_pair *out);

/* Lists of buffers, and values of variables, that lately were found good by a program, so that a run with the
 * same ones need not look again. Any thread may read and note: `version` is odd while one writes, for which
 * others do not wait. */
enum { FE_LONG_LIST = 4 };  /* because a branch more costs as much as comparing so many */
enum { FE_GOOD_LISTS = 2 }; /* because two sets of buffers often take turns, as inputs and as outputs */
typedef struct fe_good_lists {
  _Atomic uint32_t version, missed; /* version / 2 lists were noted so far */
  _Atomic uintptr_t buffers[];      /* FE_GOOD_LISTS lists: inputs, then outputs, then values */
} fe_good_lists;

/* The list of a run. Values are noted where a pointer has room for one (FE_NOTES_VALUES). */
typedef struct fe_run_list {
  const void *const *inputs;
  void *const *outputs;
  const int64_t *values;
  size_t input_count, output_count, value_count;
} fe_run_list;
enum { FE_NOTES_VALUES = sizeof(uintptr_t) >= sizeof(int64_t) };

/* For lists of `count` buffers and values; NULL when memory is short. Freed with the same count. */
fe_good_lists *fe_good_lists_make(const ir_mem *mem, size_t count);
void fe_good_lists_free(fe_good_lists *good, const ir_mem *mem, size_t count);
/* This is good: values are accepted, and buffers for these overlap nowhere, each one given and aligned. */
void fe_good_lists_note(fe_good_lists *good, fe_run_list list);

/* 0: the buffers are those kept. */
static inline uintptr_t fe_good_differ(const void *const *list, const _Atomic uintptr_t *kept, size_t count) {
  uintptr_t differ = 0;
  for (size_t i = 0; i < count; i++)
    differ |= (uintptr_t)list[i] ^ atomic_load_explicit(&kept[i], memory_order_acquire);
  return differ;
}

/* Is this known to be good? Loads and compares alone. What was read
 * while another thread wrote is not believed: then the version has become another one. */
static inline bool fe_good_lists_know(const fe_good_lists *good, fe_run_list list) {
  size_t inputs = list.input_count, outputs = list.output_count, values = list.value_count;
  const _Atomic uintptr_t *at = good->buffers;
  uint32_t version = atomic_load_explicit(&good->version, memory_order_acquire);
  for (uint32_t k = 0; k < FE_GOOD_LISTS && k < version / 2; k++, at += inputs + outputs + values) {
    if (inputs >= FE_LONG_LIST && atomic_load_explicit(at, memory_order_acquire) != (uintptr_t)*list.inputs)
      continue;
    uintptr_t differ = fe_good_differ(list.inputs, at, inputs);
    if (differ) continue;
    differ = fe_good_differ((const void *const *)list.outputs, at + inputs, outputs);
    for (size_t i = 0; i < values; i++)
      differ |=
          (uintptr_t)list.values[i] ^ atomic_load_explicit(&at[inputs + outputs + i], memory_order_acquire);
    if (!differ)
      return !(version & 1) && atomic_load_explicit(&good->version, memory_order_relaxed) == version;
  }
  return false;
}

#endif
