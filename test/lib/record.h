/* Records operations from one-line cases, for the tests of the operation registry.
 *
 * A case is `name operands... attributes...`: an operand is a type (an input, named a, b, c in order), an
 * array as in i32[2]=[7,-1], a literal, an index expression in parentheses, or an operation in braces;
 * attributes are as in text graphs; sizes may use the variables n in 1..8, m in 4..64 in steps of 4, z in
 * 0..5. */
#ifndef VIEWFOLD_TEST_RECORD_H
#define VIEWFOLD_TEST_RECORD_H

#include "passes/ops/ops.h"
#include "test/lib/memory.h"

enum { RECORD_INPUTS = 26 };

typedef struct recorder {
  ir_mem mem;
  ir_error error;
  ir_graph g;
  test_budget budget;
  ir_ref inputs[RECORD_INPUTS];
  int input_count;
} recorder;

/* A graph whose allocator fails after `budget` allocations (-1: never). */
bool record_start(recorder *r, long budget);
recorder *record_begin(void);  /* with all memory, stopped when the running test ends */
void record_stop(recorder *r); /* checks that nothing stays allocated */
ir_ref record_line(recorder *r, const char *line);

/* `nodes` is the text of the recorded expression, `op(sources;arg)` */
typedef struct record_accepted {
  const char *line, *type, *nodes;
} record_accepted;
typedef struct record_refused {
  const char *line, *message;
} record_refused;

/* Records each line in graphs whose memory ends after 0, 1, 2, ... allocations, until there is enough: then
 * record(r, line) must return `accepted`; where memory ended before, false comes with an error. */
void record_short_of_memory(bool (*record)(recorder *r, const char *line), const char *const *lines,
                            size_t count, bool accepted);

void check_accepted(const record_accepted *c);
void check_refused(const record_refused *c); /* the message must be equal */

#define CHECK_ALL(check, cases)                                                                              \
  for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) check(&(cases)[i])

#endif
