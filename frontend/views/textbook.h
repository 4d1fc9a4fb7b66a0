/* Index arithmetic by the textbook: the rules that every system for folding views has, and no more.
 *
 * Binary nodes in the classic order: operands of + * & sorted by operation (sums, products, quotients, ...
 * ranges), the constant last; x>=c is written `(x<c)!=True`. `viewfold index --raw` prints these expressions,
 * from which folding starts; nothing is compiled from them. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_TEXTBOOK_H
#define VIEWFOLD_FRONTEND_VIEWS_TEXTBOOK_H

#include "passes/view/index_map.h"

extern const pass_arith pass_textbook;

#endif
