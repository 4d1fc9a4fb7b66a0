/* prove [--seed S] [--chains N] [--limit P] [--corpus FILE]: all proofs; status 0 when everything is proven.
 * `make prove`. */
#include "test/prove/prove.h"
#include "test/lib/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  prove_options o = {.seed = 1,
                     .limit = 100000000,
                     .sample = 20000000,
                     .chains = 100000,
                     .wholes = 200,
                     .solver_budget = 10000000};
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  o.processes = cores < 1 ? 1 : cores > 16 ? 16 : (int)cores;
  OPTIONS_READ(argc, argv, OPTION("--seed", &o.seed), OPTION("--chains", &o.chains),
               OPTION("--limit", &o.limit), OPTION("--corpus", &o.corpus));
  int failed = prove_rules(&o);
  failed += prove_termination(&o);
  failed += prove_rewrites(&o);
  printf("prove: %d failed, seed %llu\n", failed, (unsigned long long)o.seed);
  return failed != 0;
}
