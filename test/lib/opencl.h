/* For tests of OpenCL devices: PoCL through the shim (test/opencl/shim.h). Call opencl_begin
 * before this process's first call of OpenCL. */
#ifndef VIEWFOLD_TEST_LIB_OPENCL_H
#define VIEWFOLD_TEST_LIB_OPENCL_H

#include <stdbool.h>

/* Makes the loader find only the shim. NULL, or the reason why nothing can be tested. */
const char *opencl_begin(void);
/* Changes the shim's settings and restarts its counts. */
void opencl_set(const char *format, ...) __attribute__((format(printf, 1, 2)));
long opencl_count(const char *call); /* calls since opencl_set */
long opencl_buffers(void);           /* number of live buffers */

/* A main that runs these tests (unit.h), or says why it cannot. */
#define OPENCL_TESTS(set_up, tear_down, ...)                                                                 \
  int main(void) {                                                                                           \
    const char *missing = opencl_begin();                                                                    \
    if (!missing) return UNIT_RUN(set_up, tear_down, __VA_ARGS__);                                           \
    printf("ok 1 # SKIP %s\n", missing);                                                                     \
    return 0;                                                                                                \
  }

#endif
