/* Exchanges between devices that are threads (test/lib/exchanges.h), of parts that are copied, or read where
 * they are. Where some device fails or ends early, all end, with the message that says which. */
#include "runtime/mesh/threads_impl.h"
#include "test/lib/cases.h"
#include "test/lib/exchanges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t exchanges, elements, failures;

/* A device whose part is copied waits for none that needs it. */
static bool as_expected(const exchange_world *w, bool copies, ir_status status, const ir_error *error) {
  bool fails = w->fails < w->mesh.device_count;
  bool good = !fails     ? !status
              : !w->ends ? status == IR_ERR_VALUE && strstr(error->text, "it has failed")
              : exchanges_missed(w, !copies)
                  ? status == IR_ERR_INVALID && strstr(error->text, "has ended before")
                  : !status;
  if (!good) printf("status %d: %s\n", status, error->text);
  failures += fails;
  return good && (fails || exchanges_arrived(w, &elements));
}

static bool check(uint64_t seed) {
  exchange_world *w = malloc(sizeof *w);
  rt_threads *threads = NULL;
  ir_error error = {0};
  bool copies = seed % 2;
  bool good = exchanges_make(w, seed) && rt_threads_make(&ir_mem_libc, &w->mesh, exchanges_pick(w, 0, 3) == 0,
                                                         &threads, &error) == IR_OK;
  if (good && !copies) threads->copied_bytes = 0;
  if (good) good = as_expected(w, copies, rt_threads_run(threads, exchanges_work, w, &error), &error);
  rt_threads_free(threads);
  exchanges += w->count;
  exchanges_free(w);
  free(w);
  return good;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 1000);
  cases_run(&c, check);
  printf("%ld meshes, %lld exchanges, %lld elements, %lld devices that failed or ended early\n", c.done,
         (long long)exchanges, (long long)elements, (long long)failures);
  return c.failed != 0;
}
