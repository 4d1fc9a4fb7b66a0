/* The folder passes/pipeline. What the pipeline keeps while it runs, and kernels that are made once.
 *
 *   in      a kernel step of a plan, and the rows of pass_table
 *   out     the step with its loops
 *   holds   equal kernels have the same loops, and the loops are those that each would get alone */
#ifndef VIEWFOLD_PASSES_PIPELINE_STATE_H
#define VIEWFOLD_PASSES_PIPELINE_STATE_H

#include "passes/alternatives/alternatives.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"
#include "passes/pipeline/made_kernels.h"
#include "passes/passes.h"
#include "passes/patterns/constant_values.h"
#include "passes/schedule/in_place.h"
#include "passes/strategy.h"

typedef struct pass_state {
  ir_graph *g;
  const pass_options *options;
  const pass_strategy *strategy; /* of options->target; `once` while the loops of such a kernel are made */
  pass_strategy once;            /* of kernels that run once, when a program is bound to its constants */
  pass_constant_values values;   /* where the target has such */
  const ir_ref *inputs;          /* options->inputs, or roots + 1 once these are rewritten */
  ir_ref *roots; /* results and inputs without batches and variables of one value; NULL: as given */
  ir_plan *plan;
  ir_error *error;
  uint8_t *not_fused;   /* by node up to the results: has folding refused a fused row group with this value?
                       NULL: none */
  bool refused;         /* folding refused a group with values that were not in `not_fused` yet */
  const pass_info *row; /* the row that runs */
  ir_ref root;          /* TUPLE of the graph's results, then the effect of the kernel being compiled */
  ir_ref folded;        /* the kernel's effect before its accesses were extracted; 0: it came as a text */
  ir_ref before;        /* what `root` was before the pass that the row is of */
  ir_ref verified;      /* the root that the verifier saw last: nodes do not change */
  ir_step *step;        /* the kernel's step */
  pass_slots slots;
  uint32_t *slot_of; /* slots.slot_of */
  bool keeps_loops;  /* kernels are made once: nobody looks at what a pass leaves, or has a part in it */
  made_kernels made; /* where keeps_loops: for equal kernels that follow */
  pass_known_accesses accesses;
  pass_alternatives alternatives;
  in_place *writes;
  uint8_t *stored; /* by node up to the results: must it lie in memory? NULL: none must */
} pass_state;

size_t pipeline_find(const char *name); /* the first row of the pass */
/* Runs the rows of the pass that begins with row number *i, and sets *i to the row after them. They share the
 * work that the index algebra may do, and their times are added up. kernel: the step's number; -1: the pass
 * is over the graph. */
bool pipeline_run_pass(pass_state *s, size_t *i, int kernel);
bool pipeline_run_passes(pass_state *s, int scope, int kernel); /* those of the scope */
/* Gives the step the slots of the parameters that its kernel has now. */
void pipeline_set_slots(pass_state *s);

/* accesses.c: rows of pass_table */
void pipeline_extract_accesses(pass_state *s);
void pipeline_canonical(pass_state *s);
void pipeline_coalesce_rows(pass_state *s);

/* make_kernel.c: runs the passes of a kernel on s->step. Loops of equal expressions are made once where
 * nobody but the passes decides on them (keeps_loops). */
bool pipeline_make_kernel(pass_state *s, int kernel);

#endif
