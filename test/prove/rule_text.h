/* Rules from their text. Nothing is shared with the rule compiler but the language. */
#ifndef VIEWFOLD_TEST_PROVE_RULE_TEXT_H
#define VIEWFOLD_TEST_PROVE_RULE_TEXT_H

#include "passes/index/rule.h"
#include "test/prove/obligation.h"

/* The rule as an obligation: its condition is facts, one part per conjunct; that divisors of the left side
 * are at least 1 is a fact, of constants on the right a condition of firing, of anything else on the right a
 * demand. False after a message. */
bool rule_obligation(const pass_rule *rule, obligation *out);
/* An expression whose letters stand for these terms (0 is none, n+1 is term n); its term, or -1 after a
 * message. */
int rule_expression(obligation *o, const char *text, const int *letters);
/* The operation of `x // y`, and the letters of its operands; false after a message. */
bool rule_operation(const char *text, term_op *op, char letters[4]);

#endif
