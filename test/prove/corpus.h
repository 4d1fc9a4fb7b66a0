/* Chains of views to fold: the chains of a file, and random ones. */
#ifndef VIEWFOLD_TEST_PROVE_CORPUS_H
#define VIEWFOLD_TEST_PROVE_CORPUS_H

#include "ir/ir.h"

/* Told of each folded chain twice, of its canonical pair and of the one that is printed: `found` (index,
 * valid) must be equal to `textbook`, the textbook rules' pair. */
typedef struct corpus_listener {
  ir_observer observer;
  void (*folded)(void *user, ir_graph *g, const ir_ref textbook[2], const ir_ref found[2]);
} corpus_listener;

/* Folds every chain of a file of JSON lines ({"base":[...],"ops":[["name",[...]],...]}) with the observer
 * watching. Returns how many, or -1 when there is no such file. */
long corpus_fold(const char *path, const corpus_listener *listener);
/* Folds the random chain of this number. */
/* whole: also tell the listener the folded pairs. */
void random_chain_fold(uint64_t seed, uint64_t number, const corpus_listener *listener, bool whole);

#endif
