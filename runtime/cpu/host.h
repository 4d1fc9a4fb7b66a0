/* What the processor that this process runs on says of itself, by architecture. */
#ifndef VIEWFOLD_RUNTIME_CPU_HOST_H
#define VIEWFOLD_RUNTIME_CPU_HOST_H

#include "ir/target.h"

/* *out describes what every processor of the architecture has: adds what this one has beyond that. cache:
 * sizes by level in bytes, 0 where the processor does not say. *signature: tells models of processors apart.
 */
void rt_host_processor(ir_target *out, int64_t cache[4], unsigned *signature);

/* The features of an AArch64 processor, by the words AT_HWCAP and AT_HWCAP2 of the auxiliary vector of Linux.
 */
void rt_aarch64_features(uint64_t hwcap, uint64_t hwcap2, ir_target *out);

#endif
