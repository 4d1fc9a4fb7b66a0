/* The table of programs and kernels, where every key has the same digest: an entry is found only under its
 * own key. */
#include "runtime/cache/digest.h"

static rt_digest one_digest(const void *bytes, size_t size) { return (rt_digest){.lo = 7, .hi = 7}; }
#define rt_digest_of one_digest
#include "runtime/cache/memo.c"
#include "test/lib/unit.h"

enum { KEYS = 100 };
static int dropped[KEYS];
static void drop(void *value) { ++*(int *)value; }

/* spec: H3.U */
static void equal_digests_are_not_equal_keys(void **state) {
  rt_memo memo;
  char key[16];
  rt_memo_init(&memo, &ir_mem_libc, KEYS, drop);
  for (int i = 0; i < KEYS; i++) {
    int length = snprintf(key, sizeof key, "program %d", i);
    assert_null(rt_memo_find(&memo, key, (size_t)length));
    assert_true(rt_memo_put(&memo, key, (size_t)length, &dropped[i], 1));
  }
  for (int i = 0; i < KEYS; i++) {
    int length = snprintf(key, sizeof key, "program %d", i);
    assert_ptr_equal(rt_memo_find(&memo, key, (size_t)length), &dropped[i]);
  }
  assert_null(rt_memo_find(&memo, "program", 7)); /* a prefix of a key */
  assert_null(rt_memo_find(&memo, "program 100", 11));
  rt_memo_free(&memo);
  for (int i = 0; i < KEYS; i++) assert_int_equal(dropped[i], 1);
}

/* The least recently used entry is evicted, whatever its digest. spec: H5 */
static void least_recently_used_leaves(void **state) {
  static int gone[4];
  rt_memo memo;
  rt_memo_init(&memo, &ir_mem_libc, 3, drop);
  for (int i = 0; i < 3; i++) assert_true(rt_memo_put(&memo, "abc" + i, 1, &gone[i], 1));
  assert_ptr_equal(rt_memo_find(&memo, "a", 1), &gone[0]);
  assert_true(rt_memo_put(&memo, "d", 1, &gone[3], 1));
  assert_null(rt_memo_find(&memo, "b", 1));
  assert_int_equal(gone[1], 1);
  assert_ptr_equal(rt_memo_find(&memo, "a", 1), &gone[0]);
  assert_ptr_equal(rt_memo_find(&memo, "c", 1), &gone[2]);
  rt_memo_free(&memo);
}

UNIT_TESTS(equal_digests_are_not_equal_keys, least_recently_used_leaves)
