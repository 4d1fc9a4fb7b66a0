/* A table from byte strings to objects that drops the least recently used ones. It has no lock: callers hold
 * their own. */
#ifndef VIEWFOLD_RUNTIME_CACHE_MEMO_H
#define VIEWFOLD_RUNTIME_CACHE_MEMO_H

#include "ir/base.h"

typedef struct rt_memo_item rt_memo_item;
typedef struct rt_memo {
  const ir_mem *mem;
  void (*drop)(void *value);
  size_t max_weight, weight;
  rt_memo_item **buckets;
  size_t bucket_count, count;
  rt_memo_item *newest, *oldest;
} rt_memo;

/* drop is called for each value that is removed from the table. */
void rt_memo_init(rt_memo *memo, const ir_mem *mem, size_t max_weight, void (*drop)(void *value));
void rt_memo_free(rt_memo *memo);
void *rt_memo_find(rt_memo *memo, const void *key, size_t size); /* NULL: not there */

/* Add a value under a key that is not in the table yet, after dropping the least recently used values until
 * the sum of all weights is at most max_weight. False, with nothing changed, when memory is short or the
 * value alone weighs more than max_weight. */
bool rt_memo_put(rt_memo *memo, const void *key, size_t size, void *value, size_t weight);

#endif
