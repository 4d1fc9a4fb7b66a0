/* Suggestions for mistyped words. */
#ifndef VIEWFOLD_FRONTEND_TEXT_NEAREST_H
#define VIEWFOLD_FRONTEND_TEXT_NEAREST_H

#include <stddef.h>

/* The word at the least edit distance (insertions, deletions, substitutions, transpositions of adjacent
 * letters) from what was typed; NULL when that is more than length / 3 + 1. Words of more than 32 bytes are
 * never suggested. */
const char *fe_nearest(const char *typed, size_t length, const char *const *words, size_t count);

#endif
