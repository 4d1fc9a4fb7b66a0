/* Arrays that outlive runs (rt_memory), for the files of devices. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PERSISTENT_H
#define VIEWFOLD_RUNTIME_PROGRAM_PERSISTENT_H

#include "runtime/runtime.h"

/* Allocate memory->host, unless it exists. shared: a device is going to use it in place. False: memory is
 * short. */
bool rt_memory_host(const ir_mem *mem, rt_memory *memory, bool shared);

#endif
