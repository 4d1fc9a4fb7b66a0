/* XXH3-128 of libxxhash, compiled in, so that a starting process has one shared object less to load. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/cache/digest.h"

rt_digest rt_digest_of(const void *bytes, size_t size) {
  XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return (rt_digest){hash.low64, hash.high64};
}

rt_digest rt_digest_in_parts(const void *bytes, size_t size, size_t part,
                             void (*done)(void *user, size_t offset, size_t size), void *user) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (size_t at = 0; at < size; at += part) {
    size_t count = size - at < part ? size - at : part;
    XXH3_128bits_update(&state, (const char *)bytes + at, count);
    done(user, at, count);
  }
  XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return (rt_digest){hash.low64, hash.high64};
}

void rt_digest_hex(rt_digest digest, char text[RT_DIGEST_HEX]) {
  static const char digit[] = "0123456789abcdef";
  for (int i = 0; i < 16; i++) {
    text[15 - i] = digit[(digest.hi >> (4 * i)) & 15];
    text[31 - i] = digit[(digest.lo >> (4 * i)) & 15];
  }
  text[32] = 0;
}

bool rt_digest_read(const char *text, rt_digest *out) {
  uint64_t half[2] = {0, 0};
  for (int i = 0; i < 32; i++) {
    char c = text[i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    half[i / 16] = half[i / 16] << 4 | (unsigned)digit;
  }
  *out = (rt_digest){half[1], half[0]};
  return true;
}
