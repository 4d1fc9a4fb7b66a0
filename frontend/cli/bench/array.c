/* Memory for the arrays of a benchmark. */
#include <stdlib.h>
#include <sys/mman.h>

#include "frontend/cli/bench/bench.h"

enum { LINE_BYTES = 64, HUGE_PAGE = 2 << 20, MANY_BYTES = 256 << 10 };

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/* First touch of fresh memory is several times faster on huge pages, and so are strides through it. */
static bool map_huge(bench_array *out, size_t bytes) {
  size_t room = round_up(bytes, HUGE_PAGE) + HUGE_PAGE;
  if (room < bytes) return false;
  void *region = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) return false;
  out->region = region;
  out->region_bytes = room;
  out->a.data = (char *)region + (HUGE_PAGE - (uintptr_t)region % HUGE_PAGE) % HUGE_PAGE;
  madvise(out->a.data, round_up(bytes, HUGE_PAGE), MADV_HUGEPAGE); /* without effect is no failure */
  return true;
}

bool bench_array_make(bench_array *out, size_t bytes) {
  *out = (bench_array){.a.bytes = bytes};
  if (bytes >= MANY_BYTES) return map_huge(out, bytes);
  return posix_memalign(&out->a.data, LINE_BYTES, round_up(bytes + 1, LINE_BYTES)) == 0;
}

void bench_array_free(bench_array *array) {
  if (array->region) munmap(array->region, array->region_bytes);
  else free(array->a.data);
  *array = (bench_array){0};
}
