/* How much names differ, for messages that suggest one. */
#ifndef VIEWFOLD_IR_LEX_NEAREST_H
#define VIEWFOLD_IR_LEX_NEAREST_H

#include <stddef.h>

/* Insertions, deletions, replacements and exchanges of neighbours from one name to the other; UINT_MAX: one
 * of them is longer than 32 bytes. */
unsigned ir_name_distance(const char *a, size_t length, const char *b, size_t other_length);

#endif
