/* What an x86-64 processor says: a feature counts when its bit of CPUID is set and the operating system saves
 * the registers it uses (XGETBV). */
#include "runtime/cpu/host.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <stdio.h>

#include "ir/x86.h"

enum { EAX = IR_X86_EAX, EBX = IR_X86_EBX, ECX = IR_X86_ECX, EDX = IR_X86_EDX };
enum { LEAF_1 = IR_X86_LEAF_1, LEAF_7 = IR_X86_LEAF_7, LEAF_EXT1 = IR_X86_LEAF_EXT1 };
enum { PLAIN = IR_X86_PLAIN, NEEDS_YMM = IR_X86_NEEDS_YMM, NEEDS_ZMM = IR_X86_NEEDS_ZMM };
typedef unsigned leaves[IR_X86_LEAVES][IR_X86_REGISTERS];

static void cpuid(unsigned leaf, unsigned sub, unsigned r[IR_X86_REGISTERS]) {
  __cpuid_count(leaf, sub, r[EAX], r[EBX], r[ECX], r[EDX]);
}

static void read_leaves(leaves words) {
  for (unsigned i = 0; i < IR_X86_LEAVES; i++) {
    const ir_x86_leaf *l = &ir_x86_leaves[i];
    if (l->counter == i || words[l->counter][EAX] >= l->least) cpuid(l->leaf, l->sub, words[i]);
  }
}

static bool bit(leaves words, int leaf, int reg, int index) { return (words[leaf][reg] >> index) & 1; }

/* Which register files the operating system saves: PLAIN, NEEDS_YMM or NEEDS_ZMM. */
static unsigned saved_state(leaves words) {
  if (!bit(words, LEAF_1, ECX, IR_X86_OSXSAVE_BIT)) return PLAIN;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & NEEDS_ZMM) == NEEDS_ZMM) return NEEDS_ZMM;
  return (low & NEEDS_YMM) == NEEDS_YMM ? NEEDS_YMM : PLAIN;
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

void rt_host_processor(ir_target *out, int64_t cache[4], unsigned *signature) {
  leaves words = {{0}};
  read_leaves(words);
  *signature = words[LEAF_1][EAX];
  unsigned state = saved_state(words);
  if (state == NEEDS_ZMM && !whole_avx512(words)) state = NEEDS_YMM;

  size_t used = 0;
  out->features[0] = 0;
  for (size_t i = 0; i < ir_x86_feature_count; i++) {
    const ir_x86_feature *f = &ir_x86_features[i];
    if (f->state > state || !bit(words, (int)f->leaf, (int)f->reg, f->bit)) continue;
    used += (size_t)snprintf(out->features + used, sizeof out->features - used, "%s+%s", used ? "," : "",
                             f->name);
  }
  bool avx2 = state >= NEEDS_YMM && bit(words, LEAF_7, EBX, 5);
  out->has_masks = avx2;
  out->vector_bytes = state == NEEDS_ZMM ? 64 : avx2 ? 32 : 16;
  out->registers = state == NEEDS_ZMM ? 32 : 16;
  bool vnni = bit(words, LEAF_7, ECX, 11), avx_vnni = bit(words, IR_X86_LEAF_7_1, EAX, 4);
  out->has_dot4 = state == NEEDS_ZMM ? vnni : state >= NEEDS_YMM && avx_vnni;
  out->has_fma2 = state == NEEDS_ZMM && bit(words, IR_X86_LEAF_7_1, EAX, 5);
  out->has_fma = state >= NEEDS_YMM && bit(words, LEAF_1, ECX, 12);
  out->has_f16c = state >= NEEDS_YMM && bit(words, LEAF_1, ECX, 29);

  /* On a hybrid processor CPUID describes the core that executes it; the target must not depend on which core
   * that is. */
  bool hybrid = bit(words, LEAF_7, EDX, 15);
  if (hybrid) return;
  bool topology = bit(words, LEAF_EXT1, ECX, 22);
  if (topology && words[IR_X86_LEAF_EXT0][EAX] >= 0x8000001du && caches_from_leaf(0x8000001du, cache)) return;
  if (words[IR_X86_LEAF_0][EAX] >= 4) caches_from_leaf(4, cache);
}
#endif
