/* Describes the processor. On x86-64 a feature counts when its bit of CPUID is set and the operating system
 * saves the registers it uses (XGETBV). */
#include "runtime/cpu/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

enum { LEAF_1, LEAF_7, LEAF_7_1, LEAF_EXT1, LEAF_COUNT };
enum { EAX, EBX, ECX, EDX };
enum { PLAIN, NEEDS_YMM, NEEDS_ZMM };
typedef struct feature {
  const char *name;
  uint8_t leaf, reg, bit, state;
} feature;

static const feature features[] = {
#define FEATURE(name, leaf, reg, bit, state) {name, leaf, reg, bit, state},
#include "ir/x86_features.def"
#undef FEATURE
};

typedef unsigned leaves[LEAF_COUNT][4];

static void cpuid(unsigned leaf, unsigned sub, unsigned r[4]) {
  __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]);
}

static bool bit(leaves words, int leaf, int reg, int index) { return (words[leaf][reg] >> index) & 1; }

/* Which register files the operating system saves: PLAIN, NEEDS_YMM or NEEDS_ZMM. */
static int saved_state(leaves words) {
  if (!bit(words, LEAF_1, ECX, 27)) return PLAIN;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0xe6) == 0xe6) return NEEDS_ZMM;
  return (low & 6) == 6 ? NEEDS_YMM : PLAIN;
}

/* 512-bit vectors are used only if F, CD, BW, DQ and VL are all present. */
static bool whole_avx512(leaves words) {
  return bit(words, LEAF_7, EBX, 16) && bit(words, LEAF_7, EBX, 28) && bit(words, LEAF_7, EBX, 30) &&
         bit(words, LEAF_7, EBX, 17) && bit(words, LEAF_7, EBX, 31);
}

/* Cache sizes by level from the deterministic cache parameters: leaf 0x8000001d (AMD) or 4 (Intel), same
 * layout. CPUID is slow in virtual machines (microseconds), so only the leaves that are needed are read. */
static bool caches_from_leaf(unsigned leaf, int64_t size[4]) {
  bool found = false;
  for (unsigned sub = 0; sub < 16; sub++) {
    unsigned r[4];
    cpuid(leaf, sub, r);
    unsigned type = r[EAX] & 31, level = (r[EAX] >> 5) & 7;
    if (type == 0) break;
    if (type == 2 || level < 1 || level > 3) continue;
    size[level] = (int64_t)((r[EBX] >> 22) + 1) * (((r[EBX] >> 12) & 0x3ff) + 1) * ((r[EBX] & 0xfff) + 1) *
                  ((int64_t)r[ECX] + 1);
    found = true;
    if (level == 3) break;
  }
  return found;
}

static void processor(ir_target *out, int64_t cache[4], unsigned *signature) {
  leaves words = {{0}};
  unsigned top[4], extended[4];
  cpuid(0, 0, top);
  cpuid(0x80000000u, 0, extended);
  cpuid(1, 0, words[LEAF_1]);
  *signature = words[LEAF_1][EAX];
  if (top[EAX] >= 7) {
    cpuid(7, 0, words[LEAF_7]);
    if (words[LEAF_7][EAX] >= 1) cpuid(7, 1, words[LEAF_7_1]);
  }
  if (extended[EAX] >= 0x80000001u) cpuid(0x80000001u, 0, words[LEAF_EXT1]);
  int state = saved_state(words);
  if (state == NEEDS_ZMM && !whole_avx512(words)) state = NEEDS_YMM;

  size_t used = 0;
  for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
    const feature *f = &features[i];
    if (f->state > state || !bit(words, f->leaf, f->reg, f->bit)) continue;
    used += (size_t)snprintf(out->features + used, sizeof out->features - used, "%s+%s", used ? "," : "",
                             f->name);
  }
  out->hoists = true;
  out->sorts = true;
  out->has_dot2 = true; /* every x86-64 has pmaddwd */
  bool avx2 = state >= NEEDS_YMM && bit(words, LEAF_7, EBX, 5);
  out->has_masks = avx2;
  out->vector_bytes = state == NEEDS_ZMM ? 64 : avx2 ? 32 : 16;
  out->registers = state == NEEDS_ZMM ? 32 : 16;
  out->has_fma = state >= NEEDS_YMM && bit(words, LEAF_1, ECX, 12);
  out->has_f16c = state >= NEEDS_YMM && bit(words, LEAF_1, ECX, 29);

  /* On a hybrid processor CPUID describes the core that executes it; the target must not depend on which core
   * that is. */
  bool hybrid = bit(words, LEAF_7, EDX, 15);
  if (hybrid) return;
  bool topology = bit(words, LEAF_EXT1, ECX, 22);
  if (topology && extended[EAX] >= 0x8000001du && caches_from_leaf(0x8000001du, cache)) return;
  if (top[EAX] >= 4) caches_from_leaf(4, cache);
}
#else
static void processor(ir_target *out, int64_t cache[4], unsigned *signature) {
  (void)cache, (void)signature;
#if defined(__aarch64__)
  out->registers = 32;
  out->has_fma = true;
#else
  out->registers = 16;
#endif
  out->vector_bytes = 16;
}
#endif

ir_status rt_target_machine(ir_target *out, ir_text *machine, ir_error *error) {
  memset(out, 0, sizeof *out);
  if (sizeof(void *) != 8)
    return ir_fail(error, IR_ERR_UNSUPPORTED,
                   "target: this processor has %zu-bit pointers; 64-bit ones are needed", 8 * sizeof(void *));
  int64_t cache[4] = {0};
  unsigned signature = 0;
  snprintf(out->triple, sizeof out->triple, "%s", triple());
  processor(out, cache, &signature);
  if (!cache[1] || !cache[2]) caches_from_sysfs(cache);
  int64_t l3 = cache[3] ? cache[3] : 4 << 20;
  out->l1_bytes = power_of_two_below(cache[1] ? cache[1] : 32 << 10);
  out->l2_bytes = power_of_two_below(cache[2] ? cache[2] : 512 << 10);
  out->l3_bytes = power_of_two_below(l3 < L3_UNMEASURED_BYTES ? l3 : L3_UNMEASURED_BYTES);
  out->batch_stream_threshold = BATCH_STREAM_BYTES;
  if (machine) ir_textf(machine, "signature=%x l3=%lld %s", signature, (long long)l3, out->features);
  return IR_OK;
}

ir_status rt_target_host(ir_target *out, ir_error *error) { return rt_target_machine(out, NULL, error); }
