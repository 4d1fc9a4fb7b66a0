/* The part of `viewfold explain` about references: which kernels read and write which version, where, which
 * of these meet, and what is ordered or saved for that. */
#ifndef VIEWFOLD_FRONTEND_REPORT_EXPLAIN_WRITES_H
#define VIEWFOLD_FRONTEND_REPORT_EXPLAIN_WRITES_H

#include "ir/parse/parse.h"
#include "ir/plan.h"
#include "passes/passes.h"

/* A load or a store of a kernel, with its views folded. */
typedef struct fe_access {
  ir_ref effect; /* LOAD, STORE or UPDATE */
  uint32_t step, slot;
} fe_access;

typedef struct fe_accesses {
  fe_access *list; /* in the order of steps */
  size_t count, cap;
  ir_ref *scheduled; /* the tensor of each kernel step, before writes in place were looked for */
  size_t scheduled_count, scheduled_cap;
} fe_accesses;

/* To be called from a pass_observer: notes what is lost in later passes. False when memory is short. */
bool fe_accesses_note(fe_accesses *accesses, const char *pass, const ir_graph *g, const ir_plan *plan,
                      ir_ref root, int kernel);
/* Counts steps as in the finished plan: now[] is the number there of each step that was noted. */
void fe_accesses_renumber(fe_accesses *accesses, const size_t *now);
void fe_accesses_free(fe_accesses *accesses, const ir_mem *mem);

typedef struct fe_writes {
  const fe_accesses *accesses;
  ir_graph *g;
  const ir_parsed_graph *block;
  const ir_plan *plan;
  const ir_ref *values;  /* by step: the tensor that the kernel computes */
  const size_t *numbers; /* by step: how many kernels come before */
  ir_text *out;
} fe_writes;

/* Appends a paragraph for each reference that the graph writes. */
void fe_explain_references(const fe_writes *w);

#endif
