#include "runtime/program/hoisted_entry.h"

#include "runtime/context.h"

static const char kind[] = "packed";

/* The part of the cache that the arrays of one program may take: more would push out the code of others, and
 * those of a program that does not fit in would push out each other at every start. */
enum { PART = 2 };

/* The key, beside which the full key has the processor and the versions of the tools. */
static bool make_key(rt_context *c, rt_digest recipe, size_t size, rt_full_key *out) {
  const uint64_t what[] = {recipe.lo, recipe.hi, size};
  return rt_full_key_make(c, what, sizeof what, out, NULL) == IR_OK;
}

static bool map(rt_disk *disk, const rt_full_key *key, size_t size, rt_disk_mapping *out) {
  if (!rt_disk_map(disk, kind, key->bytes, key->size, out)) return false;
  if (out->size == size) return true;
  rt_disk_unmap(out);
  rt_disk_remove(disk, kind, key->bytes, key->size);
  return false;
}

bool rt_hoisted_map(rt_context *c, rt_digest recipe, size_t size, rt_disk_mapping *out) {
  rt_disk *disk = rt_context_disk(c, NULL);
  rt_full_key key;
  bool found = disk && make_key(c, recipe, size, &key) && map(disk, &key, size, out);
  if (disk) rt_full_key_free(&key);
  return found;
}

bool rt_hoisted_store(rt_context *c, rt_digest recipe, const void *bytes, size_t size, rt_disk_mapping *out) {
  rt_disk *disk = rt_context_disk(c, NULL);
  rt_full_key key;
  bool found = disk && make_key(c, recipe, size, &key) &&
               rt_disk_put_mapped(disk, kind, key.bytes, key.size, bytes, size) && map(disk, &key, size, out);
  if (disk) rt_full_key_free(&key);
  return found;
}

bool rt_hoisted_fit(rt_context *c, uint64_t bytes) {
  const rt_disk *disk = rt_context_disk(c, NULL);
  return disk && bytes <= rt_disk_max_bytes(disk) / PART;
}
