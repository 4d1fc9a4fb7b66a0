/* Suggestions for mistyped words. */
#ifndef VIEWFOLD_FRONTEND_TEXT_NEAREST_H
#define VIEWFOLD_FRONTEND_TEXT_NEAREST_H

#include <stddef.h>

/* The word that takes the fewest edits (insertions, deletions, substitutions, swaps of neighbours) to make
 * from what was typed; NULL when even that takes more than a third of its letters. Words are shorter than 32
 * bytes. */
const char *fe_nearest(const char *typed, size_t length, const char *const *words, size_t count);

#endif
