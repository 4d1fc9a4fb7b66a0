/* Chains of views to fold: those of a file, and random ones. */
#ifndef VIEWFOLD_TEST_PROVE_CORPUS_H
#define VIEWFOLD_TEST_PROVE_CORPUS_H

#include "ir/ir.h"

/* What a chain was folded to (index, valid) should be what textbook rules make of it. */
typedef struct corpus_listener {
  ir_observer observer;
  void (*folded)(void *user, ir_graph *g, const ir_ref textbook[2], const ir_ref found[2]);
} corpus_listener;

/* Fold every chain of a file of JSON lines ({"base":[...],"ops":[["name",[...]],...]}) with the observer
 * watching; how many, or -1 when there is no such file. */
long corpus_fold(const char *path, const corpus_listener *listener);
/* Fold the random chain of this number. */
/* whole: tell what it was folded to. */
void random_chain_fold(uint64_t seed, uint64_t number, const corpus_listener *listener, bool whole);

#endif
