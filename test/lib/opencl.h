/* For tests of OpenCL devices: PoCL through the shim (test/opencl/shim.h). Everything before the first call
 * of OpenCL in this process. */
#ifndef VIEWFOLD_TEST_LIB_OPENCL_H
#define VIEWFOLD_TEST_LIB_OPENCL_H

#include <stdbool.h>

/* The loader will find the shim alone. NULL, or why there is nothing to test with. */
const char *opencl_begin(void);
void opencl_set(const char *format, ...) __attribute__((format(printf, 1, 2))); /* settings; counts begin */
long opencl_count(const char *call);                                            /* since then */
long opencl_buffers(void);                                                      /* alive */

#endif
