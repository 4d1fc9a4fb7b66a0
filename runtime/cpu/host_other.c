/* Processors that are not asked: they have what every one of the architecture has. */
#include "runtime/cpu/host.h"

#if !(defined(__x86_64__) && defined(__GNUC__)) && !(defined(__aarch64__) && defined(__linux__))
void rt_host_processor(ir_target *out, int64_t cache[4], unsigned *signature) {
  (void)out, (void)cache, (void)signature;
}
#endif
