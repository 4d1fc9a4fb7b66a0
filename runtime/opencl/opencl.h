/* The folder runtime/opencl. OpenCL devices.
 *
 *   in      the operations of runtime/device.h
 *   out     commands in a queue of the device
 *   holds   the loader is opened when first needed; messages say what an unsuitable device lacks */

/* OpenCL devices: opening one, and describing all. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_OPENCL_H
#define VIEWFOLD_RUNTIME_OPENCL_OPENCL_H

#include "runtime/device.h"

/* Opens the device called "opencl" (the first), "opencl:N" (by number), or "opencl:PART" (by a part of its
 * name or its platform's). IR_ERR_DEVICE: there is no loader, no platform, no such device, more than one of
 * that name, or one that lacks what every program needs; the message lists the devices. */
ir_status rt_opencl_open(const ir_mem *mem, const char *name, bool separate_arrays, rt_device **out,
                         ir_error *error);

/* Describes every OpenCL device: a line with the name that chooses it, and indented lines. Where there are
 * none, one line says why. */
ir_status rt_opencl_text(const ir_mem *mem, ir_text *out, ir_error *error);

#endif
