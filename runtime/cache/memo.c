/* A hash table with chaining, whose items are also in a doubly linked list in order of last use. */
#include "runtime/cache/memo.h"

#include <string.h>

#include "runtime/cache/digest.h"

enum { FIRST_BUCKETS = 64 };

struct rt_memo_item {
  rt_memo_item *next; /* in its bucket */
  rt_memo_item *newer, *older;
  rt_digest digest;
  void *value;
  size_t weight, key_size;
  uint8_t key[];
};

void rt_memo_init(rt_memo *m, const ir_mem *mem, size_t max_weight, void (*drop)(void *value)) {
  *m = (rt_memo){.mem = mem, .drop = drop, .max_weight = max_weight};
}

static void list_remove(rt_memo *m, rt_memo_item *item) {
  *(item->newer ? &item->newer->older : &m->newest) = item->older;
  *(item->older ? &item->older->newer : &m->oldest) = item->newer;
}

static void list_add(rt_memo *m, rt_memo_item *item) {
  item->newer = NULL;
  item->older = m->newest;
  *(m->newest ? &m->newest->newer : &m->oldest) = item;
  m->newest = item;
}

static rt_memo_item **bucket_of(const rt_memo *m, rt_digest digest) {
  return &m->buckets[digest.lo & (m->bucket_count - 1)];
}

static void remove_item(rt_memo *m, rt_memo_item *item) {
  rt_memo_item **at = bucket_of(m, item->digest);
  while (*at != item) at = &(*at)->next;
  *at = item->next;
  list_remove(m, item);
  m->count--;
  m->weight -= item->weight;
  m->drop(item->value);
  ir_free(m->mem, item, sizeof *item + item->key_size);
}

void rt_memo_free(rt_memo *m) {
  while (m->oldest) remove_item(m, m->oldest);
  ir_free(m->mem, m->buckets, m->bucket_count * sizeof *m->buckets);
  m->buckets = NULL;
  m->bucket_count = 0;
}

void *rt_memo_find(rt_memo *m, const void *key, size_t size) {
  if (!m->bucket_count) return NULL;
  rt_digest digest = rt_digest_of(key, size);
  for (rt_memo_item *item = *bucket_of(m, digest); item; item = item->next) {
    if (!rt_digest_equal(item->digest, digest) || item->key_size != size || memcmp(item->key, key, size))
      continue;
    list_remove(m, item);
    list_add(m, item);
    return item->value;
  }
  return NULL;
}

/* Double the buckets when there are as many items as buckets. Where memory is short, chains grow longer
 * instead; false only if there are no buckets at all. */
static bool grow_buckets(rt_memo *m) {
  if (m->count < m->bucket_count) return true;
  size_t wanted = m->bucket_count ? 2 * m->bucket_count : FIRST_BUCKETS;
  rt_memo_item **buckets = ir_alloc(m->mem, wanted * sizeof *buckets);
  if (!buckets) return m->bucket_count > 0;
  memset(buckets, 0, wanted * sizeof *buckets);
  ir_free(m->mem, m->buckets, m->bucket_count * sizeof *m->buckets);
  m->buckets = buckets;
  m->bucket_count = wanted;
  for (rt_memo_item *item = m->oldest; item; item = item->newer) {
    rt_memo_item **head = bucket_of(m, item->digest);
    item->next = *head;
    *head = item;
  }
  return true;
}

bool rt_memo_put(rt_memo *m, const void *key, size_t size, void *value, size_t weight) {
  if (weight > m->max_weight || !grow_buckets(m)) return false;
  rt_memo_item *item = ir_alloc(m->mem, sizeof *item + size);
  if (!item) return false;
  *item =
      (rt_memo_item){.digest = rt_digest_of(key, size), .value = value, .weight = weight, .key_size = size};
  memcpy(item->key, key, size);
  while (m->weight > m->max_weight - weight) remove_item(m, m->oldest);
  rt_memo_item **head = bucket_of(m, item->digest);
  item->next = *head;
  *head = item;
  list_add(m, item);
  m->count++;
  m->weight += weight;
  return true;
}
