/* Rules parsed from their text. Nothing is shared with the rule compiler but the language. */
#ifndef VIEWFOLD_TEST_PROVE_RULE_TEXT_H
#define VIEWFOLD_TEST_PROVE_RULE_TEXT_H

#include "passes/index/rule.h"
#include "test/prove/obligation.h"

/* The rule as an obligation: its condition becomes facts, one for each conjunct. That a divisor is at least 1
 * is a fact on the left side, a condition of firing for a constant on the right side, and a demand for
 * anything else on the right. False after a message. */
bool rule_obligation(const pass_rule *rule, obligation *out);
/* The term of an expression whose letters stand for these terms (0 is none, n+1 is term n), or -1 after a
 * message. */
int rule_expression(obligation *o, const char *text, const int *letters);
/* The operation of a text like `x // y`, and the letters of its operands; false after a message. */
bool rule_operation(const char *text, term_op *op, char letters[4]);

#endif
