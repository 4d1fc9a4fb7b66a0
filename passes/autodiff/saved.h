/* What the reverse of a scan keeps of an iteration. */
#ifndef VIEWFOLD_PASSES_AUTODIFF_SAVED_H
#define VIEWFOLD_PASSES_AUTODIFF_SAVED_H

#include "control.h"

/* Appends to `kept` values, each made of the states and of other parameters and of no cotangent, from which
 * the gradients can be computed without the states: of no more bytes than the states. A state of which
 * nothing smaller would do is kept itself. states, cotangents: parameters of one function, in which the
 * gradients are. False when memory is short, after failing. */
bool pass_saved_values(const pass_refs *gradients, const pass_refs *cotangents, const pass_refs *states,
                       pass_refs *kept);

#endif
