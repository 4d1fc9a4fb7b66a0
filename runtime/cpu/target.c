/* Describes the processor: what it says of itself (host_ARCHITECTURE.c), or else what every processor of its
 * architecture has; its caches. */
#include "runtime/cpu/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cpu/host.h"
#include "runtime/cpu/processors.h"

enum {
  BATCH_STREAM_BYTES = 2 << 20,
  /* Of a larger last cache no more is counted on unless it was measured. In a virtual machine CPUID tells the
   * size of a cache that a hundred others share: where it said 480 MiB, copying kept up with non-temporal
   * stores up to 48 MiB, took 1.3 times as long at 64 MiB and twice at 128. What is stored through a cache
   * that does not keep it takes up to four times as long (a transposition of 64 MiB), what is stored past one
   * that would have kept it 1.2 to 1.6 times. */
  L3_UNMEASURED_BYTES = 32 << 20
};

static int64_t power_of_two_below(int64_t value) {
  int64_t power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

/* Sizes of the data and unified caches of processor 0, by level, from sysfs. Levels that cannot be read are
 * left unchanged. */
static void caches_from_sysfs(int64_t size[4]) {
  for (int index = 0; index < 8; index++) {
    static const char *const names[3] = {"level", "type", "size"};
    char text[3][32] = {{0}};
    for (int i = 0; i < 3; i++) {
      char path[96];
      snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, names[i]);
      FILE *file = fopen(path, "re");
      if (!file) return;
      if (!fgets(text[i], sizeof text[i], file)) text[i][0] = 0;
      fclose(file);
    }
    char *unit = NULL;
    long level = strtol(text[0], NULL, 10);
    int64_t bytes = strtoll(text[2], &unit, 10);
    if (*unit == 'K') bytes <<= 10;
    if (*unit == 'M') bytes <<= 20;
    if (text[1][0] != 'I' && level >= 1 && level <= 3 && bytes > 0) size[level] = bytes;
  }
}

static const char *triple(void) {
#if defined(__linux__) && defined(__GLIBC__)
#define SYSTEM "-unknown-linux-gnu"
#elif defined(__linux__)
#define SYSTEM "-unknown-linux-musl"
#elif defined(__APPLE__)
#define SYSTEM "-apple-darwin"
#elif defined(__FreeBSD__)
#define SYSTEM "-unknown-freebsd"
#else
#define SYSTEM "-unknown-none"
#endif
#if defined(__x86_64__)
  return "x86_64" SYSTEM;
#elif defined(__aarch64__)
  return "aarch64" SYSTEM;
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64" SYSTEM;
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
  return "powerpc64le" SYSTEM;
#else
  return "unknown" SYSTEM;
#endif
}

_Static_assert(sizeof(void *) == 8, "addresses of arrays and of code have 64 bits");

void rt_target_machine(ir_target *out, ir_text *machine) {
  int64_t cache[4] = {0};
  unsigned signature = 0;
  rt_processor_of_triple(triple(), out);
  rt_host_processor(out, cache, &signature);
  if (!cache[1] || !cache[2]) caches_from_sysfs(cache);
  int64_t l3 = cache[3] ? cache[3] : 4 << 20;
  out->l1_bytes = power_of_two_below(cache[1] ? cache[1] : 32 << 10);
  out->l2_bytes = power_of_two_below(cache[2] ? cache[2] : 512 << 10);
  out->l3_bytes = power_of_two_below(l3 < L3_UNMEASURED_BYTES ? l3 : L3_UNMEASURED_BYTES);
  out->batch_stream_threshold = BATCH_STREAM_BYTES;
  if (machine) ir_textf(machine, "signature=%x l3=%lld %s", signature, (long long)l3, out->features);
}

void rt_target_host(ir_target *out) { rt_target_machine(out, NULL); }
