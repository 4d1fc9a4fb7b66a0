/* Forms of accesses that were found before in the same graph: layers of a network repeat theirs. */
#include "cheapest.h"

#include <string.h>

/* Entries of a table, a power of two: the largest of 24 networks has 290 different accesses. One that comes
 * to the place of another replaces it. */
enum { KNOWN = 1024 };

static pass_known_access *entry_of(pass_known_access *table, ir_ref index, ir_ref valid) {
  uint32_t hash =
      (index * 0x9e3779b1u ^ valid) * 0x85ebca6bu; /* multipliers of 2^32/phi and of MurmurHash3 */
  return &table[hash / (UINT32_MAX / KNOWN + 1)];
}

bool access_known(pass_known_access *table, ir_ref *index, ir_ref *valid) {
  if (!table) return false;
  const pass_known_access *at = entry_of(table, *index, *valid);
  if (at->index != *index || at->valid != *valid) return false;
  *index = at->index_to, *valid = at->valid_to;
  return true;
}

void access_keep(const ir_mem *mem, pass_known_access **table, pass_known_access access) {
  if (!*table) {
    if (!(*table = ir_alloc(mem, KNOWN * sizeof **table))) return;
    memset(*table, 0, KNOWN * sizeof **table);
  }
  *entry_of(*table, access.index, access.valid) = access;
}

void pass_known_accesses_free(const ir_mem *mem, pass_known_accesses *known) {
  ir_free(mem, known->extracted, known->extracted ? KNOWN * sizeof *known->extracted : 0);
  ir_free(mem, known->canonical, known->canonical ? KNOWN * sizeof *known->canonical : 0);
  *known = (pass_known_accesses){0};
}
