/* The folder runtime/cpu. The CPU as a device.
 *
 *   in      what runtime/device.h asks of a device
 *   out     machine code mapped into this process
 *   holds   memory is that of the process */

/* The CPU as a device. */
#ifndef VIEWFOLD_RUNTIME_CPU_DEVICE_H
#define VIEWFOLD_RUNTIME_CPU_DEVICE_H

#include "runtime/device.h"

ir_status rt_cpu_open(const ir_mem *mem, rt_device **out, ir_error *error);

#endif
