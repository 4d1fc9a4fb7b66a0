/* A sample of `make prove`: every rule is proven by the solver and tried at up to COUNT points, each conjunct
 * of each condition is dropped to see that it is needed, the termination measure is checked, and so are the
 * rewrites of COUNT/100 random chains.
 *
 *   prop_rules --seed S --count N */
#include "test/prove/prove.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  prove_options o = {.seed = 1, .limit = 100000, .solver_budget = 10000000, .processes = 2};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seed") == 0) o.seed = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--count") == 0) o.limit = strtoull(argv[i + 1], NULL, 10);
  }
  o.sample = o.limit;
  o.chains = o.limit / 100;
  int failed = prove_rules(&o) + prove_termination(&o) + prove_rewrites(&o);
  printf("prop_rules: %" PRIu64 " points of each rule, rewrites of %" PRIu64
         " chains, %d failed, seed %" PRIu64 "\n",
         o.limit, o.chains, failed, o.seed);
  return failed != 0;
}
