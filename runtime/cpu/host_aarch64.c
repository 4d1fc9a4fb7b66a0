/* What an AArch64 processor and its system say, by the auxiliary vector. */
#include <stdio.h>
#include <string.h>

#include "runtime/cpu/host.h"

enum { HWCAP, HWCAP2, WORDS };
typedef struct feature {
  const char *name;
  int word, bit;
} feature;

static const feature features[] = {
#define FEATURE(name, word, bit) {name, word, bit},
#include "runtime/cpu/aarch64_features.def"
#undef FEATURE
};
enum { FEATURES = sizeof features / sizeof *features };

void rt_aarch64_features(uint64_t hwcap, uint64_t hwcap2, ir_target *out) {
  uint64_t words[WORDS] = {hwcap, hwcap2};
  size_t used = 0;
  out->features[0] = 0;
  for (int i = 0, next; i < FEATURES; i = next) {
    bool has = true;
    for (next = i; next < FEATURES && !strcmp(features[next].name, features[i].name); next++)
      has &= words[features[next].word] >> features[next].bit & 1;
    if (has)
      used += (size_t)snprintf(out->features + used, sizeof out->features - used, "%s+%s", used ? "," : "",
                               features[i].name);
  }
}

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

enum { HWCAP_CPUID_BIT = 11 }; /* the system answers reads of identification registers */

void rt_host_processor(ir_target *out, int64_t cache[4], unsigned *signature) {
  (void)cache;
  uint64_t hwcap = getauxval(AT_HWCAP);
  rt_aarch64_features(hwcap, getauxval(AT_HWCAP2), out);
  if (!(hwcap >> HWCAP_CPUID_BIT & 1)) return;
  uint64_t midr; /* implementer, part, variant and revision, in the lower 32 bits */
  __asm__("mrs %0, midr_el1" : "=r"(midr));
  *signature = (unsigned)midr;
}
#endif
