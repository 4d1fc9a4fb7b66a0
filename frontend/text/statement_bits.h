/* What the bits of a statement mean. */
#ifndef VIEWFOLD_FRONTEND_TEXT_STATEMENT_BITS_H
#define VIEWFOLD_FRONTEND_TEXT_STATEMENT_BITS_H

#include "frontend/text/statements.h"

/* A statement: the index of its site; how many operands it has, WRITTEN in the text, or ELSEWHERE, in
 * `given`; for each operand, how many steps to first sources there are to it from that source of its result.
 */
enum { SITE_BITS = FE_SITE_BITS, COUNT_BITS = 3, STEP_BITS = 2, STEPS_MOST = (1 << STEP_BITS) - 1 };
enum { SITES_MOST = (1 << SITE_BITS) - 1 };
#define SEVERAL ((fe_statement)1 << 31)
enum { ELSEWHERE = FE_FEW_GIVEN + 1, WRITTEN, SHIFTED /* two, of which the first is the second source */ };

#endif
