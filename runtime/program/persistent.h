/* Elements between runs, as devices see them. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PERSISTENT_H
#define VIEWFOLD_RUNTIME_PROGRAM_PERSISTENT_H

#include "runtime/runtime.h"

/* Make room on the host, if there is none. shared: a device is to use it in place. False: memory is short. */
bool rt_memory_host(const ir_mem *mem, rt_memory *memory, bool shared);

#endif
