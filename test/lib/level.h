/* How many of the similar cases a test tries: all in the soak tests, some in `make test` (test/run.sh sets
 * TEST_LEVEL), and fewer of these under a sanitizer or in an emulator, with which each takes several times as
 * long. */
#ifndef VIEWFOLD_TEST_LEVEL_H
#define VIEWFOLD_TEST_LEVEL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Is it `make test`, or no level at all? */
static inline bool level_is_test(void) {
  const char *level = getenv("TEST_LEVEL");
  return !level || !*level || !strcmp(level, "test");
}

/* Of cases 0, 1, 2, ... the test tries the multiples of the result, which is `step` or more, or 1. */
static inline int level_step(int step) {
  int slower = getenv("EMULATOR") ? 4 : 1;
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  slower = 4;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  slower = 4;
#endif
  return level_is_test() ? slower * step : 1;
}

#endif
