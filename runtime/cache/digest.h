/* The 128-bit digest that names cache entries and detects damaged payloads: XXH3-128 of the bytes, seed 0. It
 * is fast but not cryptographic: a look-up by digest must compare the whole key as well. */
#ifndef VIEWFOLD_RUNTIME_CACHE_DIGEST_H
#define VIEWFOLD_RUNTIME_CACHE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_digest {
  uint64_t lo, hi;
} rt_digest;

#define RT_DIGEST_HEX 33 /* 32 lower-case hexadecimal digits, high half first, and NUL */

/* bytes may be NULL where size is 0. */
rt_digest rt_digest_of(const void *bytes, size_t size);
/* The same, read in parts of at most `part` bytes; done(user, offset, size) is called after each. */
rt_digest rt_digest_in_parts(const void *bytes, size_t size, size_t part,
                             void (*done)(void *user, size_t offset, size_t size), void *user);
/* The digest as it appears in names of files. */
void rt_digest_hex(rt_digest digest, char text[RT_DIGEST_HEX]);
/* Reads what it writes, whatever follows; false where that is something else. */
bool rt_digest_read(const char *text, rt_digest *out);
/* Are all 128 bits the same? */
static inline bool rt_digest_equal(rt_digest a, rt_digest b) { return a.lo == b.lo && a.hi == b.hi; }

#endif
