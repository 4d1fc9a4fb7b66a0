/* What programs and the cache counted. */
#include <string.h>

#include "frontend/api/api.h"

bool fe_copy_sized(void *to, size_t room, const void *from, size_t size) {
  if (!to || room <= sizeof(size_t)) return false;
  memcpy(to, from, room < size ? room : size);
  memcpy(to, &room, sizeof room);
  return true;
}

bool vf_program_stats(const vf_program *p, vf_stats *out) {
  if (!p || !out) return false;
  rt_stats s = rt_program_stats(fe_program_runtime(p));
  vf_stats stats = {sizeof stats,  s.launches,  s.kernels,   s.compiled,
                    s.from_memory, s.from_disk, s.compile_ns};
  return fe_copy_sized(out, out->size, &stats, sizeof stats);
}

bool vf_cache_statistics(vf_context *c, vf_cache_stats *out) {
  if (!c || !out) return false;
  rt_lookups l = rt_context_lookups(c->runtime);
  vf_cache_stats stats = {sizeof stats,    l.from_memory, l.from_disk, l.misses,
                          l.invalidations, l.programs,    l.kernels};
  return fe_copy_sized(out, out->size, &stats, sizeof stats);
}
