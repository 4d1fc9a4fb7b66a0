/* Random functions with control flow, recorded as calls of functions or written out without any. */
#ifndef VIEWFOLD_TEST_LIB_RANDOM_CONTROL_H
#define VIEWFOLD_TEST_LIB_RANDOM_CONTROL_H

#include "frontend/api/api.h"

enum { WIDTH = 3, MOST_LENGTH = 5, INPUTS = 7, OUTPUTS = 24, ELEMENTS = 32 };
enum { XS, MORE, STATE, NUMBER, WEIGHT, PREDICATE, TRIPS, WRT = PREDICATE };
enum { SCAN, COND, WHILE, CHECKPOINT, KINDS };

/* Of rank 2: [length, WIDTH]; of rank 1: [WIDTH]. Derivatives are by the first WRT. */
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
  int second; /* derivatives of gradients: none, backwards, forwards */
  bool reverse;
} control_case;
control_case control_case_make(uint64_t seed, uint64_t *state); /* state: of further choices */

/* All that is compared, in terms of the inputs; returns how many. plain: written out, of t->trips rounds. */
int control_record(const control_case *t, bool plain, const vf_value *in, vf_value *out);
int control_record_count(const control_case *t); /* how many that will be */

#endif
