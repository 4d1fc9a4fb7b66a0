/* Which pieces of a pending sum go together. */
#ifndef VIEWFOLD_PASSES_SHARD_MESSAGES_H
#define VIEWFOLD_PASSES_SHARD_MESSAGES_H

#include "impl.h"

enum { SHARD_CUTS = 64 };         /* places where an array may be cut; of more, the first */
enum { SHARD_MOST_MESSAGES = 8 }; /* in progress at a time, of one plan (passes/schedule) */

enum { SHARD_WORTH = 16 }; /* the part of an exchange that pieces save at least, for each costs a kernel */

/* An interval of the dimension that is cut, when the array is known there, in picoseconds, and with which
 * message it goes. */
typedef struct shard_piece {
  int64_t lo, hi;
  uint64_t ready;
  uint32_t message;
} shard_piece;

/* What moves: x, the part under `from` of an array of sizes dims, cut along d. */
typedef struct shard_cutting {
  shard_state *s;
  ir_ref x;
  const ir_ref *dims;
  const ir_spec *from, *to;
  uint32_t d, count, messages;
  shard_piece pieces[SHARD_CUTS + 1];
} shard_cutting;

/* The sizes of a part of it that has so many elements along d. */
void shard_sizes_of(const shard_cutting *c, int64_t elements, ir_ref *dims);
/* Sets the messages of all pieces, and *out to when the last has arrived. False after failing. */
bool shard_choose_messages(shard_cutting *c, uint64_t *out);

#endif
