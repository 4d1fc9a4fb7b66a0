/* Forms of accesses that were found before in the same graph: layers of a network repeat theirs. */
#include "cheapest.h"

#include <string.h>

/* Entries of a table, powers of two. One that comes to the place of another replaces it. */
enum { FEWEST = 16 /* at first: accesses of one kernel; it doubles */ };
enum { MOST = 1024 /* the largest of 24 networks has 290 different accesses */ };

static pass_known_access *entry_of(const pass_access_table *t, ir_ref index, ir_ref valid) {
  uint32_t hash =
      (index * 0x9e3779b1u ^ valid) * 0x85ebca6bu; /* multipliers of 2^32/phi and of MurmurHash3 */
  return &t->entries[hash / (UINT32_MAX / t->cap + 1)];
}

bool access_known(const pass_access_table *t, ir_ref *index, ir_ref *valid) {
  if (!t->cap) return false;
  const pass_known_access *at = entry_of(t, *index, *valid);
  if (at->index != *index || at->valid != *valid) return false;
  *index = at->index_to, *valid = at->valid_to;
  return true;
}

static void free_entries(const ir_mem *mem, pass_access_table *t) {
  ir_free(mem, t->entries, t->cap * sizeof *t->entries);
}

/* Where memory is short it stays as it is. */
static void grow(const ir_mem *mem, pass_access_table *t) {
  pass_access_table grown = {.cap = t->cap ? 2 * t->cap : FEWEST, .kept = t->kept};
  if (!(grown.entries = ir_alloc(mem, grown.cap * sizeof *grown.entries))) return;
  memset(grown.entries, 0, grown.cap * sizeof *grown.entries);
  for (uint32_t i = 0; i < t->cap; i++) {
    const pass_known_access *at = &t->entries[i];
    if (at->index) *entry_of(&grown, at->index, at->valid) = *at;
  }
  free_entries(mem, t);
  *t = grown;
}

void access_keep(const ir_mem *mem, pass_access_table *t, pass_known_access access) {
  if (2 * ++t->kept > t->cap && t->cap < MOST) grow(mem, t);
  if (t->cap) *entry_of(t, access.index, access.valid) = access;
}

void pass_known_accesses_free(const ir_mem *mem, pass_known_accesses *known) {
  free_entries(mem, &known->extracted);
  free_entries(mem, &known->canonical);
  *known = (pass_known_accesses){0};
}
