/* Names of a graph, as hash tables. */
#include <stdio.h>
#include <string.h>

#include "frontend/onnx/import.h"

static uint32_t hash_of(wire_bytes name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < name.size; i++) hash = (hash ^ name.at[i]) * 16777619u;
  return hash;
}

onnx_named *onnx_scope_find(const onnx_scope *s, wire_bytes name) {
  if (!s->bucket_count) return NULL;
  uint32_t hash = hash_of(name);
  onnx_named *item = s->buckets[hash & (s->bucket_count - 1)];
  while (item && (item->hash != hash || !wire_equal(item->name, name))) item = item->next;
  return item;
}

static bool grow(wire_arena *arena, onnx_scope *s) {
  size_t count = s->bucket_count ? 2 * s->bucket_count : 16;
  onnx_named **buckets = wire_alloc(arena, count * sizeof(onnx_named *));
  if (!buckets) return false;
  for (size_t i = 0; i < s->bucket_count; i++)
    for (onnx_named *item = s->buckets[i], *next; item; item = next) {
      next = item->next;
      item->next = buckets[item->hash & (count - 1)];
      buckets[item->hash & (count - 1)] = item;
    }
  s->buckets = buckets;
  s->bucket_count = count;
  return true;
}

bool onnx_scope_add(wire_arena *arena, onnx_scope *s, wire_bytes name, onnx_named *item) {
  if (s->count >= s->bucket_count && !grow(arena, s)) return false;
  *item = (onnx_named){.name = name, .hash = hash_of(name)};
  onnx_named **bucket = &s->buckets[item->hash & (s->bucket_count - 1)];
  item->next = *bucket;
  *bucket = item;
  s->count++;
  return true;
}

onnx_value *onnx_find(const onnx_scope *s, wire_bytes name) {
  onnx_named *found = NULL;
  for (; s && !found; s = s->parent) found = onnx_scope_find(s, name);
  return (onnx_value *)found;
}

onnx_value *onnx_declare(onnx_import *m, onnx_scope *s, wire_bytes name) {
  if (onnx_scope_find(s, name)) {
    onnx_fail(m, IR_ERR_INVALID, "the name '%.*s' is that of two values; takes names that differ",
              WIRE_TEXT(name));
    return NULL;
  }
  onnx_value *value = wire_alloc(&m->arena, sizeof *value);
  return value && onnx_scope_add(&m->arena, s, name, &value->base) ? value : NULL;
}

void onnx_share(onnx_value *to, const onnx_value *from) {
  onnx_named kept = to->base;
  *to = *from;
  to->base = kept;
}

wire_bytes onnx_numbered(onnx_import *m, wire_bytes name, int number) {
  size_t room = name.size + 16;
  char *text = wire_alloc(&m->arena, room);
  if (!text) return (wire_bytes){0};
  return (wire_bytes){(uint8_t *)text, (size_t)snprintf(text, room, "%.*s_%d", WIRE_TEXT(name), number)};
}

const char *onnx_string(onnx_import *m, wire_bytes text) {
  char *copy = wire_alloc(&m->arena, text.size + 1);
  if (copy && text.size) memcpy(copy, text.at, text.size);
  return copy;
}
