/* Chain expressions: one buffer and the views applied to it, in one line, such as
 *
 *   f32[3,2].permute(1,0).reshape(3,2)      f32[4].pad((1,2)).flip(0) f32[n=4..64:4,32].reshape(n//4,128)
 *
 * and the same steps given by name, for other spellings of a chain. The result is a tensor of the operation
 * registry: a view of an INPUT named x. */
#ifndef VIEWFOLD_FRONTEND_TEXT_CHAIN_H
#define VIEWFOLD_FRONTEND_TEXT_CHAIN_H

#include "ir/attr.h"

/* How the values of a step are written between its parentheses. */
typedef enum fe_form {
  FE_FORM_LIST,  /* one value per entry: permute(1,0) */
  FE_FORM_PAIRS, /* one pair per entry: pad((1,2),(0,0)) */
  FE_FORM_EACH   /* one value per parameter: point(0,2) */
} fe_form;

typedef struct fe_step {
  const char *name;
  fe_form form;
  const char *params[2]; /* attributes of the operation, in the order of the values */
} fe_step;

const fe_step *fe_step_find(const char *name, size_t length); /* NULL when there is none */
const char *fe_step_nearest(const char *name, size_t length); /* to suggest; NULL when nothing is close */

/* Apply one step to x. 0 after an error, or when x is 0. */
ir_ref fe_step_apply(ir_graph *g, const fe_step *step, ir_ref x, const ir_attr *attrs, size_t count);

/* The tensor that the text describes. 0 after an error, `FILE:LINE:COL: error: ...` in g->error. */
ir_ref fe_chain_parse(ir_graph *g, const char *file, const char *text, size_t length);

#endif
