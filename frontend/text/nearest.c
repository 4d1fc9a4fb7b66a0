#include "frontend/text/nearest.h"

#include <stdbool.h>
#include <string.h>

#include "ir/lex/nearest.h"

const char *fe_nearest(const char *typed, size_t length, const char *const *words, size_t count) {
  const char *found = NULL;
  unsigned close = (unsigned)length / 3, best = close + 2;
  for (size_t i = 0; i < count; i++) {
    size_t own = strlen(words[i]);
    unsigned d = ir_name_distance(typed, length, words[i], own);
    bool begins = strncmp(typed, words[i], own < length ? own : length) == 0;
    bool lacks = d == 1 && length == 2 && own == 3; /* rn for run */
    if (d > best || (d > close && !begins && !lacks) || (d == best && !(begins && found))) continue;
    best = d;
    found = words[i];
  }
  return found;
}
