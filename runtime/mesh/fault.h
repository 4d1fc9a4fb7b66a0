/* The words of a failure on a mesh: "device 1 (x=1): WHAT; device 0 (x=0) waited for device 1 (x=1) in
 * exchange 3 (all_reduce for %q, net.vf:7)", as both engines report it, with "of process 0" behind the device
 * where there are several, and the end where some device waited. */
#ifndef VIEWFOLD_RUNTIME_MESH_FAULT_H
#define VIEWFOLD_RUNTIME_MESH_FAULT_H

#include "ir/base.h"

/* Puts the device and who waited, if `run` says so, around other words for what failed. Of long words the end
 * is missing. */
void rt_fault_wrap(const ir_error *run, ir_error *error);

#endif
