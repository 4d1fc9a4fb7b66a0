/* prove [--seed S] [--chains N] [--limit P] [--corpus FILE]: all proofs; status 0 when everything is proven.
 * `make prove`. */
#include "test/prove/prove.h"

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
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seed") == 0) o.seed = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--chains") == 0) o.chains = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--limit") == 0) o.limit = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--corpus") == 0) o.corpus = argv[i + 1];
  }
  int failed = prove_rules(&o);
  failed += prove_termination(&o);
  failed += prove_rewrites(&o);
  printf("prove: %d failed, seed %llu\n", failed, (unsigned long long)o.seed);
  return failed != 0;
}
