/* What was made once, by what it was made of: layers that are alike have the same tables, and what is made of
 * these is made once. */
#include "problem.h"

#include <string.h>

static uint64_t hash_of(const uint64_t *words, size_t count) {
  uint64_t h = count;
  for (size_t i = 0; i < count; i++) h = (h ^ words[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  return h;
}

static bool grow(choice_store *s) {
  size_t cap = s->table_cap ? 2 * s->table_cap : 1024;
  uint32_t *table = ir_alloc(s->mem, cap * sizeof *table);
  if (!table) return false;
  memset(table, 0, cap * sizeof *table);
  for (size_t i = 0; i < s->count; i++) {
    size_t at = s->items[i].hash & (cap - 1);
    while (table[at]) at = (at + 1) & (cap - 1);
    table[at] = (uint32_t)i + 1;
  }
  ir_free(s->mem, s->table, s->table_cap * sizeof *table);
  s->table = table, s->table_cap = cap;
  return true;
}

bool choice_word(choice_store *s, uint64_t word) {
  if (!IR_RESERVE(s->mem, s->key, s->key_cap, s->key_count + 1)) return false;
  s->key[s->key_count++] = word;
  return true;
}

bool choice_words_of(choice_store *s, const double *numbers, size_t count) {
  if (!IR_RESERVE(s->mem, s->key, s->key_cap, s->key_count + count)) return false;
  if (count) memcpy(s->key + s->key_count, numbers, count * sizeof *numbers);
  s->key_count += count;
  return true;
}

uint32_t choice_make(choice_store *s, size_t bytes, bool *fresh) {
  size_t count = s->key_count;
  uint64_t hash = hash_of(s->key, count);
  s->key_count = 0;
  if (2 * s->count >= s->table_cap && !grow(s)) return UINT32_MAX;
  size_t at = hash & (s->table_cap - 1);
  for (; s->table[at]; at = (at + 1) & (s->table_cap - 1)) {
    const choice_made *m = &s->items[s->table[at] - 1];
    if (m->hash != hash || m->words != count || memcmp(m->key, s->key, count * sizeof *s->key)) continue;
    *fresh = false;
    return s->table[at] - 1;
  }
  if (!IR_RESERVE(s->mem, s->items, s->cap, s->count + 1)) return UINT32_MAX;
  choice_made *m = &s->items[s->count];
  *m = (choice_made){ir_alloc(s->mem, count * sizeof *m->key), count, hash, ir_alloc(s->mem, bytes), bytes};
  s->count++;
  if (!m->key || !m->value) return UINT32_MAX;
  memcpy(m->key, s->key, count * sizeof *m->key);
  s->table[at] = (uint32_t)s->count;
  *fresh = true;
  return (uint32_t)s->count - 1;
}

void choice_store_free(choice_store *s) {
  for (size_t i = 0; i < s->count; i++) {
    ir_free(s->mem, s->items[i].key, s->items[i].words * sizeof *s->items[i].key);
    ir_free(s->mem, s->items[i].value, s->items[i].bytes);
  }
  ir_free(s->mem, s->items, s->cap * sizeof *s->items);
  ir_free(s->mem, s->table, s->table_cap * sizeof *s->table);
  ir_free(s->mem, s->key, s->key_cap * sizeof *s->key);
  *s = (choice_store){.mem = s->mem};
}
