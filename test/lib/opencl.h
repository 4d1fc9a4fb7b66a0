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

#endif
