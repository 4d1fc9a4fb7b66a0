/* The folder runtime/cpu. The CPU as a device.
 *
 *   in      the operations of runtime/device.h
 *   out     machine code mapped into this process
 *   holds   all memory is the process's own */

/* The CPU as a device. */
#ifndef VIEWFOLD_RUNTIME_CPU_DEVICE_H
#define VIEWFOLD_RUNTIME_CPU_DEVICE_H

#include "runtime/device.h"

/* Makes the device, which its operation `close` frees. *out is NULL after the only failure, IR_ERR_MEMORY. */
ir_status rt_cpu_open(const ir_mem *mem, rt_device **out, ir_error *error);

#endif
