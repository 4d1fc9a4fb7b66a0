/* Random functions with control flow, recorded as calls of functions, or expanded without any. */
#ifndef VIEWFOLD_TEST_LIB_RANDOM_CONTROL_H
#define VIEWFOLD_TEST_LIB_RANDOM_CONTROL_H

#include "frontend/api/api.h"

enum { WIDTH = 3, MOST_LENGTH = 5, INPUTS = 7, OUTPUTS = 24, ELEMENTS = 32 };
enum { XS, MORE, STATE, NUMBER, WEIGHT, PREDICATE, TRIPS, WRT = PREDICATE };
enum { SCAN, COND, WHILE, CHECKPOINT, KINDS };

/* Rank 2: [length, WIDTH]; rank 1: [WIDTH]. Derivatives are with respect to the first WRT inputs. */
typedef struct control_input {
  const char *name;
  vf_dtype dtype;
  int rank;
} control_input;
extern const control_input control_inputs[INPUTS];
extern const char *const control_kinds[KINDS];

typedef struct control_case {
  uint64_t seed;
  int kind, length, trips, bound;
  int second; /* derivatives of gradients: none, reverse mode, forward mode */
  bool reverse;
} control_case;
control_case control_case_make(uint64_t seed, uint64_t *state); /* *state continues the random sequence */

/* Records all values that are compared, from the inputs; returns their number. plain: expanded, with t->trips
 * iterations. */
int control_record(const control_case *t, bool plain, const vf_value *in, vf_value *out);
int control_record_count(const control_case *t); /* the number that control_record will return */
/* Was recording refused because a function asks for a derivative by a value from outside its vmap, through
 * another vmap? */
bool control_is_refused(const vf_graph *g);

#endif
