#include "runtime/program/tuned.h"

#include <string.h>

#include "runtime/cache/digest.h"
#include "runtime/cache/walk.h"
#include "runtime/context.h"

static const char kind[] = "tuned", stamp_kind[] = "tuning", stamp_key[] = "stamp";

/* the stamp */

static uint64_t read_stamp(rt_disk *disk) {
  rt_found found;
  uint64_t stamp = 0;
  if (!rt_disk_get(disk, stamp_kind, stamp_key, sizeof stamp_key, &found)) return 0;
  if (found.size == sizeof stamp) memcpy(&stamp, found.payload, sizeof stamp);
  rt_disk_release(&found);
  return stamp;
}

static void set_stamp(rt_context *c, uint64_t stamp) {
  pthread_mutex_lock(&c->lock);
  c->tuned = stamp;
  c->tuned_known = true;
  pthread_mutex_unlock(&c->lock);
}

uint64_t rt_tuned_stamp(rt_context *c) {
  rt_disk *disk = rt_context_disk(c, NULL);
  if (!disk) return 0;
  pthread_mutex_lock(&c->lock);
  bool known = c->tuned_known;
  uint64_t stamp = c->tuned;
  pthread_mutex_unlock(&c->lock);
  if (!known) set_stamp(c, stamp = read_stamp(disk));
  return stamp;
}

/* Stores a new stamp, a digest of the old one and of the change; never 0. */
static bool advance_stamp(rt_context *c, rt_disk *disk, const rt_full_key *key, const char *text) {
  rt_digest all[] = {
      {read_stamp(disk), 0}, rt_digest_of(key->bytes, key->size), rt_digest_of(text, strlen(text))};
  uint64_t stamp = rt_digest_of(all, sizeof all).lo | 1;
  set_stamp(c, stamp);
  return rt_disk_put(disk, stamp_kind, stamp_key, sizeof stamp_key, &stamp, sizeof stamp);
}

/* entries */

/* The entry of a key, of which the caller releases both, the full key also where there is none. */
static bool find_entry(rt_context *c, rt_disk *disk, const rt_kernel_key *key, rt_full_key *full,
                       rt_found *found) {
  *full = (rt_full_key){0};
  return disk && rt_full_key_make(c, key->bytes, key->size, full, NULL) == IR_OK &&
         rt_disk_get(disk, kind, full->bytes, full->size, found);
}

bool rt_tuned_get(rt_context *c, const rt_kernel_key *key, ir_text *out) {
  rt_full_key full;
  rt_found found;
  bool there = find_entry(c, rt_context_disk(c, NULL), key, &full, &found);
  rt_full_key_free(&full);
  if (!there) return false;
  ir_text_add(out, (const char *)found.payload, found.size);
  rt_disk_release(&found);
  return !out->failed;
}

bool rt_tuned_put(rt_context *c, const rt_kernel_key *key, const char *text) {
  rt_disk *disk = rt_context_disk(c, NULL);
  rt_full_key full = {0};
  bool kept = disk && rt_full_key_make(c, key->bytes, key->size, &full, NULL) == IR_OK &&
              rt_disk_put(disk, kind, full.bytes, full.size, text, strlen(text)) &&
              advance_stamp(c, disk, &full, text);
  rt_full_key_free(&full);
  return kept;
}

bool rt_tuned_forget(rt_context *c, const rt_kernel_key *key) {
  rt_disk *disk = rt_context_disk(c, NULL);
  rt_full_key full;
  rt_found found;
  bool there = find_entry(c, disk, key, &full, &found);
  if (there) {
    rt_disk_release(&found);
    rt_disk_remove(disk, kind, full.bytes, full.size);
    advance_stamp(c, disk, &full, "");
  }
  rt_full_key_free(&full);
  return there;
}

/* all entries */

typedef struct listing {
  const ir_mem *mem;
  void (*visit)(void *user, const char *text);
  void *user;
  uint64_t removed;
} listing;

static bool list_item(void *context, const rt_disk_item *item) {
  listing *l = context;
  rt_entry_view view;
  if (strcmp(item->kind, kind) != 0 ||
      rt_disk_entry_read(item->shard, item->name, item->kind, NULL, 0, &view) != RT_ENTRY_GOOD)
    return true;
  ir_text text;
  ir_text_init(&text, l->mem);
  ir_text_add(&text, (const char *)view.found.payload, view.found.size);
  if (!text.failed) l->visit(l->user, ir_text_get(&text));
  ir_text_free(&text);
  rt_disk_release(&view.found);
  return true;
}

bool rt_tuned_list(rt_context *c, void (*visit)(void *user, const char *text), void *user) {
  rt_disk *disk = rt_context_disk(c, NULL);
  listing l = {.mem = &c->mem, .visit = visit, .user = user};
  return !disk || rt_disk_walk(disk, list_item, &l, NULL, NULL, NULL) == IR_OK;
}

static bool remove_item(void *context, const rt_disk_item *item) {
  listing *l = context;
  char why[RT_DISK_WHY];
  if (strcmp(item->kind, kind) == 0) l->removed += rt_disk_unlink(item->shard, item->name, why);
  return true;
}

bool rt_tuned_forget_all(rt_context *c, uint64_t *count) {
  rt_disk *disk = rt_context_disk(c, NULL);
  listing l = {.mem = &c->mem};
  *count = 0;
  if (!disk || !*rt_disk_directory(disk)) return true;
  bool good = rt_disk_walk(disk, remove_item, &l, NULL, NULL, NULL) == IR_OK;
  rt_disk_remove(disk, stamp_kind, stamp_key, sizeof stamp_key);
  set_stamp(c, 0);
  *count = l.removed;
  return good;
}
