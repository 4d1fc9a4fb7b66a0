/* Chains of views to fold: those of a file, and random ones. */
#ifndef VIEWFOLD_TEST_PROVE_CORPUS_H
#define VIEWFOLD_TEST_PROVE_CORPUS_H

#include "ir/ir.h"

/* Fold every chain of a file of JSON lines ({"base":[...],"ops":[["name",[...]],...]}) with the observer
 * watching; how many, or -1 when there is no such file. */
long corpus_fold(const char *path, const ir_observer *observer);
/* Fold the random chain of this number. */
void random_chain_fold(uint64_t seed, uint64_t number, const ir_observer *observer);

#endif
