/* Edit distance with transpositions of adjacent letters (optimal string alignment). */
#include "frontend/text/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 32 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

static unsigned distance(const char *a, size_t n, const char *b, size_t m) {
  unsigned row[LONGEST + 1][LONGEST + 1];
  for (size_t i = 0; i <= n; i++) row[i][0] = (unsigned)i;
  for (size_t j = 0; j <= m; j++) row[0][j] = (unsigned)j;
  for (size_t i = 1; i <= n; i++)
    for (size_t j = 1; j <= m; j++) {
      unsigned best = least(row[i - 1][j], row[i][j - 1]) + 1;
      best = least(best, row[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = least(best, row[i - 2][j - 2] + 1);
      row[i][j] = best;
    }
  return row[n][m];
}

const char *fe_nearest(const char *typed, size_t length, const char *const *words, size_t count) {
  const char *found = NULL;
  unsigned close = (unsigned)length / 3, best = close + 2;
  for (size_t i = 0; i < count && length <= LONGEST; i++) {
    size_t own = strlen(words[i]);
    unsigned d = own <= LONGEST ? distance(typed, length, words[i], own) : best;
    bool begins = strncmp(typed, words[i], least((unsigned)own, (unsigned)length)) == 0;
    bool lacks = d == 1 && length == 2 && own == 3; /* rn for run */
    if (d > best || (d > close && !begins && !lacks) || (d == best && !(begins && found))) continue;
    best = d;
    found = words[i];
  }
  return found;
}
