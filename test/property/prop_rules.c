/* A sample of `make prove`: every rule is proven by the solver and tried at up to COUNT points, each conjunct
 * of each condition is dropped to see that it is needed, the termination measure is checked, and so are the
 * rewrites of COUNT/100 random chains.
 *
 *   prop_rules --seed S --count N */
#include "test/prove/prove.h"
#include "test/lib/cases.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 100000);
  prove_options o = {
      .seed = given.seed, .limit = (uint64_t)given.count, .solver_budget = 10000000, .processes = 2};
  o.sample = o.limit;
  o.chains = o.limit / 100;
  int failed = prove_rules(&o) + prove_termination(&o) + prove_rewrites(&o);
  printf("prop_rules: %" PRIu64 " points of each rule, rewrites of %" PRIu64
         " chains, %d failed, seed %" PRIu64 "\n",
         o.limit, o.chains, failed, o.seed);
  return failed != 0;
}
