/* The folder runtime/sort. Sorting.
 *
 *   in      an array, and the axis along which it is sorted
 *   out     its elements in order, or the indices that they had
 *   holds   stable, and the same bits on every machine and for any number of threads */

/* Elements become keys, unsigned integers in their order, which are sorted: an array of keys for the elements
 * themselves; of keys above indices, in 64 bits, for indices, so that no two are equal and the sort is stable
 * by itself. NaN is greater than all numbers. */
#ifndef VIEWFOLD_RUNTIME_SORT_SORT_H
#define VIEWFOLD_RUNTIME_SORT_SORT_H

#include "ir/ir.h"
#include "runtime/sort/keys.h"
#include "runtime/system/pool.h"

/* Lines of `size` elements, at most 2^32: element i of line (j, k) is at (j * size + i) * inner + k, j <
 * outer and k < inner, in the operand and in the result. */
typedef struct rt_sort {
  const void *x;
  void *out; /* of x's dtype, or of I64 where `positions` */
  ir_dtype dtype;
  bool descending; /* the order of the reversed comparison, so that equal elements stay as they are */
  bool positions;  /* the indices in place of the elements */
  int64_t outer, size, inner;
  int64_t first; /* of each line so many elements of the result are wanted; others may have any value */
} rt_sort;

/* Bytes that each thread needs. */
size_t rt_sort_room(const rt_sort *sort, const rt_sort_machine *machine);
/* room: `each` bytes for each thread of the pool, at least as many as it needs, aligned to 64. */
void rt_sort_run(const rt_sort *sort, const rt_sort_machine *machine, rt_pool *pool, uint8_t *room,
                 size_t each);

#endif
