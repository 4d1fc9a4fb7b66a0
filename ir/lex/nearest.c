/* Edit distance with transpositions of adjacent letters (optimal string alignment). */
#include "ir/lex/nearest.h"

#include <limits.h>

enum { LONGEST = 32 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

unsigned ir_name_distance(const char *a, size_t n, const char *b, size_t m) {
  unsigned row[LONGEST + 1][LONGEST + 1];
  if (n > LONGEST || m > LONGEST) return UINT_MAX;
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
