/* Letters of axes: what an axis is, b the examples of a batch, c channels. An annotation of values, kept in a
 * side table: a node may have a letter for some of its axes, those of its batch included, each once. It is no
 * part of the node's identity and follows from the operands, except where it was set: of an INPUT, and of a
 * RESHAPE to the same shape, which stands for the same value with other letters. A graph in which none was
 * set has no table. */
#ifndef VIEWFOLD_IR_LETTERS_H
#define VIEWFOLD_IR_LETTERS_H

#include "ir.h"

typedef struct ir_letters {
  char axis[IR_MAX_RANK], batch[IR_MAX_RANK]; /* 0: none */
  char met[2]; /* letters of operands that differ on one axis of the node; 0: none do */
} ir_letters;

/* Of a node; all 0 where it has none. */
ir_letters ir_letters_of(const ir_graph *graph, ir_ref ref);
bool ir_has_letters(const ir_graph *graph, ir_ref ref);
/* The axis of that letter; -1: there is none. */
int ir_letter_axis(const ir_graph *graph, ir_ref ref, char letter);
/* False when memory is short. */
bool ir_letters_set(ir_graph *graph, ir_ref ref, const ir_letters *letters);
/* The value with these letters: the node itself where it has them; else a RESHAPE to its shape, or to that of
 * what it renames. 0 when memory is short. */
ir_ref ir_with_letters(ir_graph *graph, ir_ref ref, const ir_letters *letters);
/* Room for the letters of the next node; false when memory is short. */
bool ir_letters_reserve(ir_graph *graph);
/* Derives those of a node that has just been made from its operands'. There is room for them. */
void ir_letters_derive(ir_graph *graph, ir_ref ref);
/* The same letters, but for the axes? Those that are missing in `wanted` do not count. */
bool ir_letters_hold(const ir_letters *have, const ir_letters *wanted);
void ir_letters_forget(ir_graph *graph); /* all of them */

#endif
