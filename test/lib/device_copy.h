/* The bandwidth of copies within a device's memory, measured with plain OpenCL. */
#ifndef VIEWFOLD_TEST_LIB_DEVICE_COPY_H
#define VIEWFOLD_TEST_LIB_DEVICE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* Copies one buffer of that size to another repeatedly for some seconds, on the device of that name
 * ("opencl", "opencl:N", "opencl:PART"). Prints a line of JSON: the best of ten repetitions in GB/s, counting
 * bytes read and written. False, with the reason on standard error, on failure. */
bool device_copy(const char *name, size_t bytes, double seconds);

#endif
