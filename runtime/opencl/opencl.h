/* The folder runtime/opencl. OpenCL devices.
 *
 *   in      what runtime/device.h asks of a device
 *   out     commands of a queue
 *   holds   the loader is opened when first needed; a device that lacks something says so in words */

/* OpenCL devices. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_OPENCL_H
#define VIEWFOLD_RUNTIME_OPENCL_OPENCL_H

#include "runtime/device.h"

/* The device called "opencl" (the first), "opencl:N" by number, or "opencl:PART" by part of its name.
 * IR_ERR_DEVICE: there is no loader, no platform, no such device, more than one of that name, or one that
 * lacks what every program needs; the message lists what there is. */
ir_status rt_opencl_open(const ir_mem *mem, const char *name, bool apart, rt_device **out, ir_error *error);

/* Every OpenCL device in words: a line with the name to choose it by, and indented ones. One line that says
 * why, where there are none. */
ir_status rt_opencl_text(const ir_mem *mem, ir_text *out, ir_error *error);

#endif
