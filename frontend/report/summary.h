/* Arrays as one line of text. */
#ifndef VIEWFOLD_FRONTEND_REPORT_SUMMARY_H
#define VIEWFOLD_FRONTEND_REPORT_SUMMARY_H

#include "frontend/files/npy.h"
#include "ir/base.h"

/* One line, the same on every machine: `y: f32[2,2] = [[0.0, 1.0], [2.0, 3.0]]`, or for more than 16 elements
 * `y: f32[64,64] min -1.0 max 3.5 mean 0.25 first 0.0 1.0 ...`, min, max and mean without the NaNs, which are
 * counted. */
void fe_summary(const char *name, const fe_array *array, ir_text *out);
/* The elements alone: `[0.0, 1.5]`. */
void fe_summary_elements(const fe_array *array, ir_text *out);

#endif
