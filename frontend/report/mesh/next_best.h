/* What the operations for which data moves would have cost otherwise. */
#ifndef VIEWFOLD_FRONTEND_REPORT_MESH_NEXT_BEST_H
#define VIEWFOLD_FRONTEND_REPORT_MESH_NEXT_BEST_H

#include "frontend/report/mesh/divided.h"
#include "passes/autoshard/autoshard.h"

typedef struct fe_next_best {
  autoshard_other *others; /* by note */
  ir_spec *specs;
  size_t count, spec_count;
} fe_next_best;

/* Of the notes of a program. False after failing (d->g.error); free *out in any case. */
bool fe_next_best_make(fe_next_best *out, fe_divided *d);
void fe_next_best_free(fe_next_best *n, const fe_divided *d);
/* A line for the note: the first operand that would be divided otherwise, or the result, and both times. */
void fe_next_best_put(const fe_next_best *n, const fe_divided *d, size_t note, ir_text *out);

#endif
