#include "runtime/cache/range_digests.h"

#include <string.h>
#include <time.h>

#include "runtime/system/bus_error.h"

enum { FIRST_SLOTS = 64 /* of the table; it doubles when it is half full */ };
/* ns since the last write: the coarsest times, those of FAT, are of two seconds */
static const int64_t settled_ns = INT64_C(2000000000);
static const char kind[] = "digest";
/* Bytes of a file that are resident because they are digested: less than a program takes, and so many that
 * the system calls between them take no time. Without it, the first import of a model has all of its weights
 * in memory, of which a run may need a few rows. */
enum { PART = 4 << 20 };

static rt_range_digest *slot_of(const rt_range_digests *d, uint64_t offset, uint64_t size) {
  uint64_t key[2] = {offset, size};
  size_t at = (size_t)rt_digest_of(key, sizeof key).lo;
  rt_range_digest *item;
  do item = &d->items[at++ & (d->slots - 1)];
  while (item->size && (item->offset != offset || item->size != size));
  return item;
}

static bool add(rt_range_digests *d, const rt_range_digest *item) {
  if (2 * d->count >= d->slots) {
    rt_range_digests wider = *d;
    wider.slots = d->slots ? 2 * d->slots : FIRST_SLOTS;
    wider.items = ir_alloc(d->mem, wider.slots * sizeof *wider.items);
    if (!wider.items) return false;
    memset(wider.items, 0, wider.slots * sizeof *wider.items);
    for (size_t i = 0; i < d->slots; i++)
      if (d->items[i].size) *slot_of(&wider, d->items[i].offset, d->items[i].size) = d->items[i];
    ir_free(d->mem, d->items, d->slots * sizeof *d->items);
    *d = wider;
  }
  rt_range_digest *slot = slot_of(d, item->offset, item->size);
  d->count += !slot->size;
  *slot = *item;
  return true;
}

/* Adds what the disk has. A payload that is no list of ranges is left out: the entry is of this user's cache,
 * but may be of another version. */
static void take_stored(rt_range_digests *d) {
  const rt_file_identity *key = rt_mapped_identity(d->file);
  rt_found found;
  if (!d->disk || !rt_disk_get(d->disk, kind, key, sizeof *key, &found)) return;
  for (size_t at = 0; found.size - at >= sizeof(rt_range_digest) && at < found.size;) {
    rt_range_digest item;
    memcpy(&item, found.payload + at, sizeof item);
    at += sizeof item;
    if (!item.size || item.offset > key->size || item.size > key->size - item.offset || !add(d, &item)) break;
  }
  rt_disk_release(&found);
}

void rt_range_digests_open(rt_range_digests *d, const ir_mem *mem, rt_disk *disk, rt_mapped_file *file) {
  *d = (rt_range_digests){.mem = mem, .disk = disk, .file = file};
  rt_mapped_retain(file);
  take_stored(d);
}

static bool is_settled(const rt_file_identity *identity) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t latest =
      identity->changed_ns > identity->modified_ns ? identity->changed_ns : identity->modified_ns;
  return latest < now.tv_sec * INT64_C(1000000000) + now.tv_nsec - settled_ns;
}

typedef struct range {
  rt_mapped_file *file;
  size_t offset;
} range;

static void leave(void *user, size_t offset, size_t size) {
  const range *r = user;
  rt_mapped_leave(r->file, r->offset + offset, size);
}

ir_status rt_range_digest_of(rt_range_digests *d, size_t offset, size_t size, rt_digest *out,
                             ir_error *error) {
  const rt_range_digest *known = d->count && size ? slot_of(d, offset, size) : NULL;
  if (known && known->size) {
    *out = known->digest;
    return rt_mapped_check(d->file, error);
  }
  bool settled = is_settled(rt_mapped_identity(d->file)); /* before reading */
  sigset_t before;
  rt_guard_enter(&before);
  *out = rt_digest_in_parts(rt_mapped_bytes(d->file) + offset, size, PART, leave, &(range){d->file, offset});
  rt_guard_leave(&before);
  if (rt_mapped_check(d->file, error) != IR_OK) return error->status;
  d->read++;
  if (settled && size) d->changed |= add(d, &(rt_range_digest){offset, size, *out});
  return IR_OK;
}

static void store(rt_range_digests *d) {
  const rt_file_identity *key = rt_mapped_identity(d->file);
  ir_text list;
  ir_text_init(&list, d->mem);
  for (size_t i = 0; i < d->slots; i++)
    if (d->items[i].size) ir_text_add(&list, (const char *)&d->items[i], sizeof d->items[i]);
  if (!list.failed) rt_disk_put(d->disk, kind, key, sizeof *key, list.data, list.len);
  ir_text_free(&list);
}

void rt_range_digests_close(rt_range_digests *d) {
  if (!d->file) return;
  if (d->changed && d->disk) store(d);
  ir_free(d->mem, d->items, d->slots * sizeof *d->items);
  rt_mapped_release(d->file);
  *d = (rt_range_digests){0};
}
