/* Index arithmetic by the textbook: the rules that every system for folding views has, and no more.
 *
 * Binary nodes in the classic order: operands of + * & sorted by operation (sums, products, quotients, ...
 * ranges), the constant last; there is no >=, which reads `(x<c)!=True`. It shows what folding starts from
 * (`viewfold index --raw`); nothing is compiled from it. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_TEXTBOOK_H
#define VIEWFOLD_FRONTEND_VIEWS_TEXTBOOK_H

#include "passes/view/index_map.h"

extern const pass_arith pass_textbook;

#endif
