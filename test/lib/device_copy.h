/* The bandwidth of copies within a device's memory, by plain OpenCL. */
#ifndef VIEWFOLD_TEST_LIB_DEVICE_COPY_H
#define VIEWFOLD_TEST_LIB_DEVICE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* From one buffer of so many bytes to another, again and again for some seconds, on the device of that name
 * ("opencl", "opencl:N", "opencl:PART"). Prints a line of JSON: the best of ten rounds in GB/s, bytes read
 * and written together. False, and said why on standard error, where it cannot be done. */
bool device_copy(const char *name, size_t bytes, double seconds);

#endif
